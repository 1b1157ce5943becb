#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Times and numbers of headers as fractions, which are exact."""

import re
from datetime import datetime, timezone
from fractions import Fraction
from functools import lru_cache

import numpy as np

from .errors import ParameterError
from .rules import is_number, refuse

#: the forms of a time, for messages
TIME_RULE = "UTC as 2024-06-01T12:30:00.25Z, or seconds since 1970, from 1970 to 9999"
END_OF_TIME = 253402300800  # 10000-01-01T00:00:00Z
FIRST_TIME = 1e8  # a time before it (March 1973) counts from the start of a device or a simulation
SECONDS_PER_DAY = 86400
#: 1970-01-01, 0 h, as a modified Julian date and as a Julian date
UNIX_EPOCH_MJD, UNIX_EPOCH_JD = 40587, 2440587.5
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T t](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?)?"
    r"\s*(?:[Zz]|([+-])(\d\d):?(\d\d))?"
)
_SECONDS = re.compile(r"\d{1,12}(\.\d{0,18})?")


def exact(number):
    """The decimal number that is meant by a float or an integer (0.1 is a tenth), as a Fraction."""
    return Fraction(repr(number) if isinstance(number, float) else number)


def read_time(text):
    """
    Seconds since 1970 as a Fraction, of a text as TIME_RULE says; raises ValueError.

    A time without a zone is UTC; the leap second 23:59:60 is the first second of the next minute,
    as computers count.
    """
    if _SECONDS.fullmatch(text):
        seconds = Fraction(text)
    else:
        found = _ISO.fullmatch(text)
        if not found:
            raise ValueError(f"expected {TIME_RULE}")
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        digits, sign, hours, minutes = found.groups()[6:]
        if second > 60 or int(hours or 0) > 23 or int(minutes or 0) > 59:
            raise ValueError(f"expected {TIME_RULE}")
        try:
            whole = datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
        except ValueError:
            raise ValueError(f"expected {TIME_RULE}") from None
        ahead = 3600 * int(hours or 0) + 60 * int(minutes or 0)
        seconds = Fraction(int(whole.timestamp()) + second - (ahead if sign == "+" else -ahead))
        if digits:
            seconds += Fraction(int(digits), 10 ** len(digits))
    if not 0 <= seconds < END_OF_TIME:
        raise ValueError(f"expected {TIME_RULE}")
    return seconds


@lru_cache(maxsize=1)
def leap_seconds():
    """Seconds since 1970 of the midnights before which there was a leap second, in order."""
    import erfa  # not needed by those who only connect blocks

    steps = erfa.leap_seconds.get()
    return [
        int(datetime(int(step["year"]), int(step["month"]), 1, tzinfo=timezone.utc).timestamp())
        for step in steps
        if (step["year"], step["month"]) > (1972, 1)
    ]


def elapsed(start, end):
    """Seconds that passed from a time to a later one, both Fractions of seconds since 1970: one
    more for each leap second between them, which has the number of the second after it."""
    return end - start + sum(start < leap <= end for leap in leap_seconds())


def utc_after(start, seconds):
    """The time, a Fraction of seconds since 1970, at which so many seconds have passed since an
    earlier one; see elapsed()."""
    time = start + seconds
    for leap in leap_seconds():
        # within the leap second it has the number of the next one
        if start < leap and time >= leap + 1:
            time -= 1
    return time


def resolution(text):
    """The unit of the last digit of a time, s."""
    digits = re.search(r"[.,](\d+)", text)
    return Fraction(1, 10 ** len(digits[1])) if digits else Fraction(1)


def exact_seconds(time):
    """Seconds since 1970 as a Fraction, of a number or of (whole seconds, fraction)."""
    return sum(map(Fraction, time)) if isinstance(time, (tuple, list)) else Fraction(time)


def utc_text(time, digits=0, between="T"):
    """UTC of a time as of exact_seconds(), to so many decimal digits: 2024-06-01T12:30:00.25."""
    whole, part = divmod(round(exact_seconds(time) * 10**digits), 10**digits)
    text = str(np.datetime64(whole, "s")).replace("T", between)
    return text + (f".{part:0{digits}d}" if digits else "")


def time_text(seconds):
    """A Fraction of seconds since 1970 as UTC, to microseconds."""
    return utc_text(seconds, 6).removesuffix(".000000") + "Z"


def whole_and_fraction(time):
    """A time as of exact_seconds() as (int, float), the float below 1."""
    whole, rest = divmod(exact_seconds(time), 1)
    return (whole, float(rest)) if float(rest) < 1 else (whole + 1, 0.0)


def as_time(name, value, *, error=ParameterError):
    """Seconds since 1970, or (whole seconds, fraction), of a parameter as (int, float)."""
    parts = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if all(is_number(part, 0, END_OF_TIME - 1) for part in parts):
        if len(parts) == 1 or (len(parts) == 2 and parts[0] == int(parts[0]) and parts[1] < 1):
            return whole_and_fraction(parts)
    return refuse(
        name,
        value,
        "seconds since 1970, before the year 10000, a number or (whole seconds, fraction of 0 to "
        "below 1)",
        error,
    )


def length_text(seconds):
    """A length of time with the unit that fits it."""
    for size, unit in ((Fraction(1), "s"), (Fraction(1, 10**3), "ms"), (Fraction(1, 10**6), "µs")):
        if abs(seconds) >= size:
            return f"{float(seconds / size):.6g} {unit}"
    return f"{float(seconds * 10**9):.6g} ns"
