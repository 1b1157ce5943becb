#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""JSON from outside: no deeper, no larger than is needed, and nothing that JSON does not have."""

import itertools
import json
import math
import re

DEEPEST = 8
#: within a text brackets are letters
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)


class InvalidJson(ValueError):
    """A text that is not taken; the message says why, without repeating it."""


def load(data):
    """The value of UTF-8 bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidJson("body: is not UTF-8") from None
    check_depth(text)
    try:
        return json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except InvalidJson:
        raise
    except (ValueError, RecursionError):
        raise InvalidJson("body: is not JSON") from None


def check_depth(text):
    """Refuses what is nested deeper than DEEPEST, before a parser follows it."""
    brackets = re.findall(r"[][{}]", TEXT.sub("", text))
    steps = [1 if bracket in "[{" else -1 for bracket in brackets]
    if max(itertools.accumulate(steps), default=0) > DEEPEST:
        raise InvalidJson(f"body: is nested deeper than {DEEPEST}")


def _once(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidJson("body: has a key twice")
    return found


def _constant(_):
    raise InvalidJson("body: numbers must be finite")


def _float(text):
    number = float(text)
    if not math.isfinite(number):
        raise InvalidJson("body: numbers must be finite")
    return number


def _int(text):
    if len(text) > 20:
        raise InvalidJson("body: a whole number has more than 20 digits")
    return int(text)
