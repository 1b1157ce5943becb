#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Which level voltages of few bits should have, and which they have."""

from dataclasses import dataclass

import numpy as np

#: steps of 8 bits, of the real and of the imaginary part
TARGET_RMS = 20.0
#: channels with more power than so many times that which nine in ten channels stay below
#: (interference) do not count: one strong carrier would hide the level of all others
INTERFERENCE = 10.0


@dataclass(frozen=True)
class Range:
    """
    Of rms in steps: target is best, good from low to high, useless below lowest and above highest;
    limit: the largest value of a part; clamped: parts of the values that may be beyond it: of a
    level that is high, and of one that is too high.
    """
    lowest: float
    low: float
    target: float
    high: float
    highest: float
    limit: int
    clamped: tuple

    def judge(self, rms):
        """"good", "low", "too low", "high" or "too high"; "no signal" of 0."""
        if not rms > 0:
            return "no signal"
        if rms < self.low:
            return "low" if rms >= self.lowest else "too low"
        if rms > self.high:
            return "high" if rms <= self.highest else "too high"
        return "good"


#: Of 8 bits rounding adds 0.1 % to the power at 8 steps and 2 % at 2; at 40 steps one in 700 parts
#: is beyond the limit, at 60 one in 30. Of 4 bits both are about 2 % at 2 and at 3 steps.
RANGES = {"sc8": Range(2.0, 8.0, TARGET_RMS, 40.0, 60.0, 127, (5e-3, 5e-2)),
          "sc4": Range(0.8, 1.5, 2.4, 3.2, 4.5, 7, (5e-2, 1.5e-1))}


def mean_power(power):
    """The mean of powers [channel] without those of interference; 0 where there are none."""
    power = power[np.isfinite(power)]
    if not len(power):
        return 0.0
    return float(np.mean(power[power <= INTERFERENCE * np.percentile(power, 90)]))
