#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Types of argparse for what is given on command lines; an error says what is allowed."""

import argparse
import math


def allowed(convert, **schema):
    """Says in JSON schema's words what a type of argparse allows; returns the type."""
    convert.json_schema = schema
    return convert


def whole_number(low, high, even=False):
    """An argparse type: a whole (or even) number from low to high."""

    def convert(text):
        kind = "an even number" if even else "a whole number"
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high or (even and value % 2):
            raise argparse.ArgumentTypeError(f"{text}: expected {kind} from {low} to {high}")
        return value

    return allowed(
        convert, type="integer", minimum=low, maximum=high, **({"multipleOf": 2} if even else {})
    )


def number(low, high, unit=""):
    """An argparse type: a number from low to high."""

    def convert(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text}: expected {low:g} to {high:g} {unit}".strip())
        return value

    return allowed(convert, type="number", minimum=low, maximum=high)


def positive_seconds(endless):
    """An argparse type: seconds above 0, `inf` where endless is true."""

    def convert(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not value > 0 or (math.isinf(value) and not endless):
            rule = "a number of seconds above 0" + (" or inf" if endless else "")
            raise argparse.ArgumentTypeError(f"{text}: expected {rule}")
        return value

    seconds = {"type": "number", "exclusiveMinimum": 0}
    return allowed(convert, **({"anyOf": [seconds, {"enum": ["inf"]}]} if endless else seconds))


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
