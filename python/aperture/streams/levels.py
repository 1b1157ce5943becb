#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The level that voltages of few bits should have, and the one that they have."""

from dataclasses import dataclass

import numpy as np

#: steps of 8 bits, of the real and of the imaginary part
TARGET_RMS = 20.0
#: channels with more power than so many times that which nine in ten channels stay below
#: (interference) do not count: one strong carrier would hide the level of all others
INTERFERENCE = 10.0
#: limit of the power, outside of the channel of frequency 0 and the two on both sides of it, into
#: which the filter lets less of a constant: where there is less, there is no noise
NOISE = 1e-8
BESIDE = 2
#: fewer channels than these, without those, do not tell
FEWEST_CHANNELS = 8


@dataclass(frozen=True)
class Range:
    """
    A range of rms in steps: target is best, good from low to high, useless below lowest and above
    highest; limit: the largest value of a part; clamped: parts of the values that may be beyond it:
    of a level that is high, and of one that is too high.
    """

    lowest: float
    low: float
    target: float
    high: float
    highest: float
    limit: int
    clamped: tuple

    def judge(self, rms):
        """ "good", "low", "too low", "high" or "too high"; "no signal" of 0."""
        if not rms > 0:
            return "no signal"
        if rms < self.low:
            return "low" if rms >= self.lowest else "too low"
        if rms > self.high:
            return "high" if rms <= self.highest else "too high"
        return "good"


#: With 8 bits rounding adds 0.1 % to the power at 8 steps and 2 % at 2; at 40 steps one in 700
#: parts is beyond the limit, at 60 one in 30. With 4 bits both are about 2 % at 2 and at 3 steps.
RANGES = {
    "sc8": Range(2.0, 8.0, TARGET_RMS, 40.0, 60.0, 127, (5e-3, 5e-2)),
    "sc4": Range(0.8, 1.5, 2.4, 3.2, 4.5, 7, (5e-2, 1.5e-1)),
}


def mean_power(power):
    """The mean of powers [channel] without those of interference; 0 where there are none."""
    power = power[np.isfinite(power)]
    if not len(power):
        return 0.0
    return float(np.mean(power[power <= INTERFERENCE * np.percentile(power, 90)]))


def without_noise(power, there=True):
    """
    Returns which inputs have no noise, as no receiver gives it: it is stuck, or off.

    Parameters
    ----------
    power : array
        [channel][input], of all channels that are filtered, or a range of them.
    there : array of bool
        The measured levels, of the same shape, or [input] where they are those of all channels.

    Returns
    -------
    array of bool
        [input], whether all is 0, or of a signal that does not change, which is in the channel of
        frequency 0. False where nothing was measured.
    """
    there = np.asarray(there)
    if there.ndim == 2:
        measured = lambda part: np.count_nonzero(there[part], axis=0)
    else:
        measured = lambda part: there * len(power[part])
    if not there.all():
        power = np.where(there, power, 0)
    everywhere = slice(None)
    total, channels = power.sum(axis=0, dtype=float), len(power)
    found = (total == 0) & (measured(everywhere) > 0)
    # channels of frequency 0 of complex samples, of real ones, and of these where the band is
    # inverted
    for zero in {0, channels // 2, channels - 1}:
        near = slice(max(0, zero - BESIDE), zero + BESIDE + 1)
        found |= (
            (total > 0)
            & (total - power[near].sum(axis=0, dtype=float) < NOISE * total)
            & (measured(everywhere) - measured(near) >= FEWEST_CHANNELS)
        )
    return found
