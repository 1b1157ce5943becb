#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Colours and units that pictures and displays share."""

import numpy as np

#: Okabe and Ito's colours, told apart by colour-blind readers too, without the yellow
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

#: units of times, the largest first: seconds, name
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))


class PlotError(ValueError):
    """A file or an argument that cannot be plotted; the message is for the user."""


def decibels(power):
    """10 log10 of a power of any shape; NaN where it is not positive."""
    power = np.asarray(power, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(power > 0, 10 * np.log10(power), np.nan)


def delay_unit(seconds):
    """The unit in which delays (also an array of them, by the largest) are written: its length in
    seconds, and its name; nanoseconds for those below a picosecond."""
    largest = np.abs(seconds).max(initial=0)
    return next((unit for unit in UNITS if largest >= unit[0]), UNITS[3])


def decimals(error, most=6):
    """Decimals that a value with this standard deviation deserves, negative ones before the point;
    1 of an error that is not known."""
    if not np.isfinite(error) or error <= 0:
        return 1
    return int(np.clip(np.ceil(-np.log10(error)), -3, most))


def rounded(value, digits, sign=""):
    """A number with so many decimals, as decimals() gives them; sign "+": of positive ones too."""
    return f"{round(value, digits) + 0.0:{sign}.{max(digits, 0)}f}"


def delay_text(delay, error, period=np.inf, with_error=False, most=6):
    """
    A delay in seconds, in the unit and with the digits that its standard deviation allows:
    "+12.4 ns", or with the error "12.4 ± 0.2 ns".

    period: 1/channel width, by a multiple of which each delay may be another one. That is told of
    delays that are larger than an eighth of it: what is far apart may be farther.
    """
    known = np.isfinite(error) and error > 0
    size, unit = delay_unit(max(abs(delay), 10 * error if known else 0))
    digits = decimals(error / size, most)
    text = (
        f"{rounded(delay / size, digits)} ± {rounded(error / size, digits)} {unit}"
        if with_error
        else f"{rounded(delay / size, digits, '+')} {unit}"
    )
    if abs(delay) > period / 8:
        text += f" (or n · {rounded(period / size, max(digits, 1))} {unit} more or less)"
    return minus_signs(text)


def minus_signs(text):
    """The text with minus signs in the place of hyphens."""
    return text.replace("-", "−")
