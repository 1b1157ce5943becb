#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Plain values, as JSON has them, of what GNU Radio's messages hold."""

import math
from numbers import Integral, Real

import numpy as np
import pmt

#: limits of lists and dictionaries, of letters of texts, and of depth
MOST_ELEMENTS, MOST_LETTERS, DEEPEST = 4096, 2000, 6


def plain(value, depth=0):
    """
    Returns what JSON can hold of a value: numbers (None where they are not finite), texts, lists
    and dictionaries; a complex number is [re, im]. What is too long is cut off.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value[:MOST_LETTERS].encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (complex, np.complexfloating)):
        return [plain(float(value.real)), plain(float(value.imag))]
    if depth >= DEEPEST:
        return None
    if isinstance(value, np.ndarray):
        return [plain(entry, depth + 1) for entry in value.ravel()[:MOST_ELEMENTS].tolist()]
    if isinstance(value, dict):
        return {
            plain(str(key)): plain(entry, depth + 1)
            for key, entry in list(value.items())[:MOST_ELEMENTS]
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(entry, depth + 1) for entry in list(value)[:MOST_ELEMENTS]]
    return plain(str(value))


#: types of uniform vectors
_VECTORS = [
    (getattr(pmt, f"is_{kind}vector"), getattr(pmt, f"{kind}vector_elements"))
    for kind in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64", "c32", "c64")
]


def plain_message(message, depth=0):
    """Returns what JSON can hold of a PMT: dictionaries, pairs and tuples as dictionaries and
    lists."""
    if pmt.is_null(message) or depth >= DEEPEST:
        return None
    if pmt.is_symbol(message):
        return plain(pmt.symbol_to_string(message))
    if pmt.is_bool(message):
        return pmt.to_bool(message)
    if pmt.is_uint64(message):
        return pmt.to_uint64(message)
    if pmt.is_number(message):
        return plain(pmt.to_python(message))
    for is_one, elements in _VECTORS:
        if is_one(message):
            return [plain(value) for value in list(elements(message))[:MOST_ELEMENTS]]
    if pmt.is_pair(message):
        return _plain_pairs(message, depth)
    if pmt.is_tuple(message) or pmt.is_vector(message):
        part = pmt.tuple_ref if pmt.is_tuple(message) else pmt.vector_ref
        return [
            plain_message(part(message, place), depth + 1)
            for place in range(min(pmt.length(message), MOST_ELEMENTS))
        ]
    return plain(str(message))


def _plain_pairs(message, depth):
    """A dictionary (a list of pairs with keys that are symbols), a list, or one pair."""
    entries, rest = [], message
    while pmt.is_pair(rest) and len(entries) < MOST_ELEMENTS:
        entries.append(pmt.car(rest))
        rest = pmt.cdr(rest)
    if not pmt.is_null(rest):
        return [
            plain_message(pmt.car(message), depth + 1),
            plain_message(pmt.cdr(message), depth + 1),
        ]
    if all(pmt.is_pair(entry) and pmt.is_symbol(pmt.car(entry)) for entry in entries):
        # the newest of a key stands first
        return {
            plain(pmt.symbol_to_string(pmt.car(entry))): plain_message(pmt.cdr(entry), depth + 1)
            for entry in reversed(entries)
        }
    return [plain_message(entry, depth + 1) for entry in entries]
