#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Messages that ask for a dump. What is in them may come from anywhere, and is checked."""

import math
from dataclasses import dataclass
from fractions import Fraction

import pmt

from .. import tags
from ..parameters.rules import NAME_RULE, is_name
from ..parameters.times import END_OF_TIME

MOST_NUMBERS = 1 << 16  # most inputs or channels in a list
#: numbers of a candidate that the dump's description repeats
CANDIDATE = ("dm", "width", "snr", "beam", "beams")
#: key of a number by which the sender of a message is told what became of it
ASKED = "asked"
VECTORS = {
    "u8vector": pmt.u8vector_elements,
    "s8vector": pmt.s8vector_elements,
    "u16vector": pmt.u16vector_elements,
    "s16vector": pmt.s16vector_elements,
    "u32vector": pmt.u32vector_elements,
    "s32vector": pmt.s32vector_elements,
    "u64vector": pmt.u64vector_elements,
    "s64vector": pmt.s64vector_elements,
}


@dataclass(frozen=True)
class Trigger:
    """
    A request for a dump.

    id: checked; start, end: exact seconds since 1970, UTC, or, if `relative`, seconds after the
    newest item's end when it is taken; inputs, channels: numbers, or None for the ring's;
    candidate: what the message says of a candidate, numbers by key.
    """

    id: str
    start: Fraction
    end: Fraction
    relative: bool = False
    inputs: tuple | None = None
    channels: tuple | None = None
    candidate: tuple = ()


class Refused(ValueError):
    """A message, or what it asks for, is not allowed; `id` if that could be read."""

    def __init__(self, text, id=None):
        super().__init__(text)
        self.id = id


def asked_of(message):
    """Returns the number under ASKED in a message; None: there is none."""
    if not pmt.is_dict(message) or pmt.is_null(message):
        return None
    number = _entries(message).get(ASKED)
    return None if number is None else _whole(number)


def read_trigger(message):
    """
    The Trigger of a message.

    Parameters
    ----------
    message : pmt
        A dictionary, or a pair of anything and a dictionary, as buttons send it.

    Raises
    ------
    Refused
    """
    if pmt.is_pair(message) and not pmt.is_dict(message):
        message = pmt.cdr(message)
    if not pmt.is_dict(message) or pmt.is_null(message):
        raise Refused("a trigger is a dictionary with id, start and end")
    found = _entries(message)
    name = _id(found.get("id"))
    try:
        if "start" in found or "end" in found:
            start, end = (_time(key, found.get(key)) for key in ("start", "end"))
            relative = False
        else:
            if "before" not in found:
                raise Refused("start, end: a trigger has both of them, or `before` and `after`")
            start = -_seconds("before", found["before"])
            end = _seconds("after", found["after"]) if "after" in found else Fraction(0)
            relative = True
        if not start < end:
            raise Refused(f"end: {float(end):.15g} s is not after start, {float(start):.15g} s")
        return Trigger(
            name,
            start,
            end,
            relative,
            _numbers("inputs", found.get("inputs")),
            _numbers("channels", found.get("channels")),
            _candidate(found),
        )
    except Refused as error:
        error.id = name
        raise


def _entries(message):
    items, found = pmt.dict_items(message), {}
    for number in range(pmt.length(items)):
        item = pmt.nth(number, items)
        if pmt.is_symbol(pmt.car(item)):
            found[pmt.symbol_to_string(pmt.car(item))] = pmt.cdr(item)
    return found


def _shown(value):
    if value is None:
        return "nothing"
    text = pmt.write_string(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _id(value):
    name = pmt.symbol_to_string(value) if value is not None and pmt.is_symbol(value) else None
    if not is_name(name):
        raise Refused(f"id: {_shown(value)!r} is not allowed: {NAME_RULE}")
    return name


def _time(key, value):
    """Exact seconds of tuple(uint64, double)."""
    if value is not None and pmt.is_tuple(value) and pmt.length(value) == 2:
        whole, part = pmt.tuple_ref(value, 0), pmt.tuple_ref(value, 1)
        seconds = _whole(whole)
        if seconds is not None and pmt.is_number(part) and not pmt.is_complex(part):
            fraction = pmt.to_double(part)
            if 0 <= seconds < END_OF_TIME and math.isfinite(fraction) and abs(fraction) <= 1e9:
                return seconds + Fraction(fraction)
    raise Refused(
        f"{key}: {_shown(value)} is not allowed: a tuple of whole seconds since 1970 "
        "(an integer, before the year 10000) and a finite fraction"
    )


def _seconds(key, value):
    if pmt.is_number(value) and not pmt.is_complex(value):
        seconds = pmt.to_double(value)
        if 0 <= seconds < END_OF_TIME:  # not of NaN
            return Fraction(seconds)
    raise Refused(f"{key}: {_shown(value)} is not allowed: seconds, at least 0")


def _numbers(key, value):
    """Whole numbers of a vector, a list or one number; None: nothing was said."""
    if value is None or pmt.is_null(value):
        return None
    found = None
    for kind, elements in VECTORS.items():
        if getattr(pmt, f"is_{kind}")(value):
            found = elements(value) if pmt.length(value) <= MOST_NUMBERS else None
            break
    else:
        if pmt.is_integer(value) or pmt.is_uint64(value):
            found = [_whole(value)]
        elif pmt.is_vector(value) and pmt.length(value) <= MOST_NUMBERS:
            found = [_whole(pmt.vector_ref(value, i)) for i in range(pmt.length(value))]
        elif pmt.is_tuple(value) and pmt.length(value) <= MOST_NUMBERS:
            found = [_whole(pmt.tuple_ref(value, i)) for i in range(pmt.length(value))]
        elif pmt.is_pair(value) and not pmt.is_dict(value):
            found = []
            while pmt.is_pair(value) and len(found) <= MOST_NUMBERS:
                found.append(_whole(pmt.car(value)))
                value = pmt.cdr(value)
    if not found or None in found or len(found) > MOST_NUMBERS:
        raise Refused(
            f"{key}: {_shown(value)} is not allowed: a vector of whole numbers, at least one"
        )
    return tuple(int(number) for number in found)


def _whole(value):
    if pmt.is_uint64(value):
        return pmt.to_uint64(value)
    return pmt.to_long(value) if pmt.is_integer(value) else None


def _candidate(found):
    numbers = []
    for key in CANDIDATE:
        value = found.get(key)
        if value is not None and pmt.is_number(value) and not pmt.is_complex(value):
            number = pmt.to_double(value)
            if math.isfinite(number):
                numbers.append((key, number))
    try:
        numbers.append((tags.time, float(_time(tags.time, found.get(tags.time)))))
    except Refused:
        pass
    return tuple(numbers)
