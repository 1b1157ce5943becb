#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""JSON from outside: no deeper, no larger than is needed, and nothing that JSON does not have."""

import json
import math

DEEPEST = 8


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
    depth, inside, escaped = 0, False, False
    for letter in text:
        if inside:
            if escaped:
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter == '"':
                inside = False
        elif letter == '"':
            inside = True
        elif letter in "[{":
            depth += 1
            if depth > DEEPEST:
                raise InvalidJson(f"body: is nested deeper than {DEEPEST}")
        elif letter in "]}":
            depth -= 1


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
