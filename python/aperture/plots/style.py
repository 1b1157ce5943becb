#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Colours and units that pictures and displays share; no drawing."""

import numpy as np

#: Okabe and Ito's colours, told apart by colour-blind readers too, without the yellow
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

#: of times, the largest first: seconds, name
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))


def delay_unit(seconds):
    """The unit in which delays (also an array of them, by the largest) are written: its length in
    seconds, and its name; nanoseconds for those below a picosecond."""
    largest = np.abs(seconds).max(initial=0)
    return next((unit for unit in UNITS if largest >= unit[0]), UNITS[3])


def minus_signs(text):
    """The text with minus signs in the place of hyphens."""
    return text.replace("-", "−")
