#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Types of argparse for what is given on command lines; an error says what is allowed."""

import argparse
import math

from ..parameters.rules import HIGHEST, number_reader, whole_reader


def allowed(convert, **schema):
    """Says in JSON schema's words what a type of argparse allows; returns the type."""
    convert.json_schema = schema
    return convert


def argument(read, kept=False, named=False, **schema):
    """An argparse type of a function that reads a text and raises ValueError; kept: the text stays
    as it is; named: the error's message names what is wrong by itself."""

    def convert(text):
        try:
            value = read(text)
        except ValueError as error:
            problem = error if named else f"{text}: {getattr(error, 'problem', error)}"
            raise argparse.ArgumentTypeError(str(problem)) from None
        return text if kept else value

    return allowed(convert, **schema) if schema else convert


def whole_number(low, high, even=False):
    """An argparse type: a whole (or even) number from low to high."""
    schema = {"multipleOf": 2} if even else {}
    read = whole_reader(low, high, even)
    return argument(read, type="integer", minimum=low, maximum=high, **schema)


def number(low, high=HIGHEST, unit="", above=False):
    """An argparse type: a number from low (or, with `above`, above it) to high."""
    schema = {"exclusiveMinimum" if above else "minimum": low}
    if high < HIGHEST:
        schema["maximum"] = high
    return argument(number_reader(low, high, unit, above), type="number", **schema)


def positive_seconds(endless):
    """An argparse type: seconds above 0, `inf` where endless is true."""
    seconds = {"type": "number", "exclusiveMinimum": 0}

    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not value > 0 or (math.isinf(value) and not endless):
            raise ValueError(
                "expected a number of seconds above 0" + (" or inf" if endless else "")
            )
        return value

    return argument(read, **({"anyOf": [seconds, {"enum": ["inf"]}]} if endless else seconds))


def device_name(text):
    """An argparse type: auto, cpu, cuda, cuda:N."""
    number = text.partition(":")[2]
    # emulated devices are for tests
    if text not in ("auto", "cpu", "cuda", "emulated") and not (
        text.startswith(("cuda:", "emulated:")) and number.isdecimal()
    ):
        raise argparse.ArgumentTypeError(f"{text}: expected auto, cpu, cuda or cuda:N")
    return text


allowed(device_name, type="string", pattern="^(auto|cpu|cuda(:[0-9]+)?)$")
