#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Options that several kinds of inputs have."""

import re
from fractions import Fraction

LOWEST_RATE, HIGHEST_RATE = 1, 10**12   # Hz, as array descriptions have them
HIGHEST_FREQUENCY = 10**15
_DECIMAL = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?")


def exact_number(low, high, unit):
    """Reads a number from low to high as the Fraction that is written, 0.1 as a tenth."""
    def read(text):
        value = Fraction(text) if _DECIMAL.fullmatch(text) else None
        if value is None or not low <= value <= high:
            raise ValueError(f"expected a number from {low:g} to {high:g} {unit}")
        return value
    return read


RATE = exact_number(LOWEST_RATE, HIGHEST_RATE, "Hz")
CENTER = exact_number(0, HIGHEST_FREQUENCY, "Hz")
