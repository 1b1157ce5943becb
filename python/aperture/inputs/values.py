#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Options that several kinds of inputs have."""

import re
from fractions import Fraction

from ..formats.recordings import HIGHEST_FREQUENCY, HIGHEST_RATE, LOWEST_RATE

_DECIMAL = re.compile(
    r"([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,2})?)"
    r"(?: ?([kMG]?)Hz)?"
)
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


def hertz(low, high, least):
    """
    Reads a number of Hz from low to high as the Fraction that is written, 0.1 as a tenth; with
    kHz, MHz or GHz behind it likewise.

    A number below `least` that is not 0 is refused where no Hz stands behind it: nobody receives
    with so few, and most who write 2.4 mean MHz.
    """

    def read(text):
        found = _DECIMAL.fullmatch(text)
        value = found and Fraction(found[1]) * _PREFIXES[found[2] or ""]
        if value is None or not low <= value <= high:
            raise ValueError(
                f"expected a number from {low:g} to {high:g} Hz, or with kHz, MHz or GHz behind it"
            )
        if 0 < value < least and not text.endswith("Hz"):
            raise ValueError(
                f"that is {float(value):g} Hz, and MHz may be meant: write {text}MHz, "
                f"{float(value):g}e6, or {text}Hz if it is right"
            )
        return value

    return read


RATE = hertz(LOWEST_RATE, HIGHEST_RATE, 1000)
CENTER = hertz(0, HIGHEST_FREQUENCY, 10_000)
