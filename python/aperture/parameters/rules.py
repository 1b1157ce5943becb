#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Rules that parameters, and fields of files that users write, have in common.

Each function returns the value that its rule allows, and raises `error` (a class, made of a field
and a problem) for another one; errors name the parameter, its value and what is allowed.
"""

import math
import re
import sys
import unicodedata
from numbers import Integral, Real

from .errors import ParameterError

INT32 = 2**31 - 1
LONGEST_LINE = 4096
LARGEST_ITEM = INT32  # bytes: GNU Radio counts them with an int
HIGHEST = sys.float_info.max
#: names that can stand everywhere: in files' names, addresses and command lines
NAME_PATTERN, NAME_RULE = "[A-Za-z0-9_-]{1,64}", "1 to 64 letters, digits, _ and -"


def refuse(name, value, rule, error=ParameterError):
    """Raises the error (a class) for a value that its rule does not allow."""
    # NumPy 2 writes the type of a number beside it
    shown = repr(value.item() if getattr(value, "shape", None) == () else value)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    raise error(name, f"{shown} is not allowed; it must be {rule}")


def is_number(value, low=-HIGHEST, high=HIGHEST):
    """Returns whether it is a real number, no truth value, in an interval; NaN is in none."""
    return isinstance(value, Real) and not isinstance(value, bool) and low <= value <= high


def is_whole(value, low=-HIGHEST, high=HIGHEST):
    """Returns whether it is an integer, no truth value, in an interval."""
    return isinstance(value, Integral) and is_number(value, low, high)


def short(value):
    """The text of a limit: integers in full, other numbers without a plus in the exponent."""
    return str(value) if isinstance(value, int) else re.sub(r"e\+?(-?)0?", r"e\1", f"{value:g}")


def interval_text(kind, low, high, unit="", above=False):
    """Returns what is allowed: "a number from 0 to 90 degrees", "a whole number above 0"."""
    unit = unit and f" {unit}"
    if low == -HIGHEST and high == HIGHEST:
        return kind + (f" of{unit}" if unit else "")
    if above:
        most = "" if high == HIGHEST else f", up to {short(high)}"
        return f"{kind} above {short(low)}{most}{unit}"
    if high == HIGHEST:
        return f"{kind} of {short(low)}{unit} or more"
    return f"{kind} from {short(low)} to {short(high)}{unit}"


def as_number(
    name,
    value,
    low=-HIGHEST,
    high=HIGHEST,
    unit="",
    *,
    above=False,
    rule=None,
    error=ParameterError,
):
    """The value as a float: a finite number from `low` (with `above`, more than that) to `high`;
    rule: what is said instead of that."""
    if not is_number(value, low, high) or (above and value == low):
        refuse(name, value, rule or interval_text("a number", low, high, unit, above), error)
    return float(value)


def as_whole(name, value, low, high=INT32, unit="", *, error=ParameterError):
    """The value as an int: a whole number from `low` to `high`."""
    if not is_whole(value, low, high):
        refuse(name, value, interval_text("a whole number", low, high, unit), error)
    return int(value)


def one_of(name, value, choices, *, error=ParameterError):
    """The value, which must be one of some that can be written in a line."""
    if value not in choices:
        refuse(name, value, ", ".join(map(str, choices)), error)
    return value


def names_of(values, count, what):
    """A list of `count` different texts, one for each `what`; None or empty: numbers from 0 on."""
    if values is None or len(values) == 0:
        return [str(number) for number in range(count)]
    found = [str(value) for value in values]
    if len(found) != count or len(set(found)) != count:
        refuse("names", found, f"a list of {count} different names, one for each {what}")
    return found


def whole_numbers(name, values, count):
    """A list of different whole numbers below `count`, one at least; None: all."""
    if values is None:
        return list(range(count))
    try:
        values = list(values)
    except TypeError:
        refuse(name, values, "None or a list of whole numbers")
    if not values:
        refuse(name, values, "at least one")
    found = [as_whole(name, value, 0, count - 1) for value in values]
    if len(set(found)) < len(found):
        refuse(name, values, "each of them once")
    return found


def is_name(text):
    """Returns whether it is a text as NAME_RULE says."""
    return isinstance(text, str) and re.fullmatch(NAME_PATTERN, text) is not None


def check_line(field, text, error=ParameterError):
    """Refuses a text that is no line, or a longer one than anybody writes: a control character in a
    name of a file, or in what an error repeats, does harm wherever it is shown."""
    wrong = [letter for letter in text if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]
    if wrong or len(text) > LONGEST_LINE:
        rule = f"a line of at most {LONGEST_LINE} letters without control characters"
        refuse(field, text, rule, error)


def check_mapping(field, values, known, needed=(), *, error=ParameterError):
    """Refuses what is no mapping, or has a key that is not known or lacks one that is needed."""
    if not isinstance(values, dict):
        refuse(field, values, f"a mapping of {', '.join(known)}", error)
    prefix = f"{field}." if field else ""
    for key in values:
        if key not in known:
            raise error(f"{prefix}{key}", f"not known; allowed: {', '.join(known)}")
    for key in needed:
        if key not in values:
            raise error(prefix + key, "missing")


def inputs_of(array, inputs=None):
    """Returns how many inputs an array has; those that are given, too, must be as many."""
    if inputs is not None and inputs != len(array.inputs):
        refuse("inputs", inputs, f"{len(array.inputs)}, as array {array.name!r} has so many")
    return len(array.inputs)


def item_bytes(name, element, **counts):
    """
    Bytes of an item of elements of so many bytes; counts: how many there are of what, for example
    channels=4, inputs=2. An item that is too large is the error of the parameter `name`, and says
    how many of it an item can have, if it is one of the counts.
    """
    size = math.prod(map(int, counts.values())) * element
    if size > LARGEST_ITEM:
        made = " x ".join(f"{count} {what}" for what, count in counts.items())
        most = LARGEST_ITEM * int(counts.get(name, 0)) // size
        raise ParameterError(
            name,
            f"an item would be {made} x {element} bytes = {size} bytes: at most {LARGEST_ITEM} "
            "are allowed" + (f", that is {most} {name} of this size" if most else ""),
        )
    return size


def number_reader(low=-HIGHEST, high=HIGHEST, unit="", above=False):
    """A function that reads a number as as_number() allows it; ValueError: what it expects."""

    def read(text):
        try:
            return as_number("", float(text), low, high, unit, above=above)
        except ValueError:
            allowed = interval_text("a number", low, high, unit, above)
            raise ValueError(f"expected {allowed}") from None

    return read


def whole_reader(low, high, even=False):
    """A function that reads a whole (or even) number; ValueError: what it expects."""

    def read(text):
        value = int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", text) else None
        if value is None or not low <= value <= high or (even and value % 2):
            kind = "an even number" if even else "a whole number"
            raise ValueError(f"expected {interval_text(kind, low, high)}")
        return value

    return read


def numbers_reader(highest, between, once=True):
    """A function that reads whole numbers and ranges of them, whose ends are included, with a sign
    between: 0+2+8-15; once: each must be another one."""

    def read(text):
        found = []
        for part in text.split(between):
            match = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
            if not first <= last <= highest:
                raise ValueError(
                    f"expected whole numbers from 0 to {highest} or ranges of them, such as "
                    f"0{between}2{between}8-15"
                )
            found += range(first, last + 1)
        if once and len(set(found)) < len(found):
            raise ValueError("expected each number once")
        return found

    return read


def seconds_reader(endless=False, most=HIGHEST):
    """A function that reads seconds above 0; endless: inf is allowed, too."""
    bound = "" if most == HIGHEST else f", up to {short(most)}"
    expected = f"expected a number of seconds above 0{bound}" + (
        f"{bound and ','} or inf" if endless else ""
    )

    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (0 < value <= most or (endless and value == math.inf)):
            raise ValueError(expected)
        return value

    return read


def device_name(text):
    """The name of a device: auto, cpu, cuda, cuda:N."""
    number = text.partition(":")[2]
    # emulated devices are for tests
    if text not in ("auto", "cpu", "cuda", "emulated") and not (
        text.startswith(("cuda:", "emulated:")) and number.isdecimal()
    ):
        raise ValueError("expected auto, cpu, cuda or cuda:N")
    return text
