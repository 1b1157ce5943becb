#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Types of argparse for what is given on command lines; an error says what is allowed."""

import argparse
import re

from ..parameters import rules
from ..parameters.rules import HIGHEST


def argument(read, named=False):
    """An argparse type of a function that reads a text and raises ValueError; named: the error's
    message names what is wrong by itself."""

    def convert(text):
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(
                str(error) if named else f"{text}: {getattr(error, 'problem', error)}"
            ) from None

    return convert


def whole_number(low, high, even=False):
    """An argparse type: a whole (or even) number from low to high."""
    return argument(rules.whole_reader(low, high, even))


def number(low, high=HIGHEST, unit="", above=False):
    """An argparse type: a number from low (or, with `above`, above it) to high."""
    return argument(rules.number_reader(low, high, unit, above))


def positive_seconds(endless):
    """An argparse type: seconds above 0, `inf` where endless is true."""
    return argument(rules.seconds_reader(endless))


#: an argparse type: auto, cpu, cuda, cuda:N
device_name = argument(rules.device_name)


def numbers(text):
    """An argparse type: a slice, as FIRST:LAST, either of which may be left out."""
    found = re.fullmatch(r"(\d*):(\d*)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: expected FIRST:LAST, such as 10:20")
    first, last = (int(part) if part else None for part in found.groups())
    if None not in (first, last) and last < first:
        raise argparse.ArgumentTypeError(f"{text}: the first is behind the last")
    return slice(first, None if last is None else last + 1)


def names(text):
    """An argparse type: names separated by commas -> a tuple of them."""
    found = tuple(part.strip() for part in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text}: expected names separated by commas")
    return found
