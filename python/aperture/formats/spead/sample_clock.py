#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Timestamps of SPEAD: samples of the digitisers since a time that all of an array agree upon."""

from fractions import Fraction
from math import floor, isfinite

from ...parameters.rules import refuse
from ...parameters.times import whole_and_fraction

TIMESTAMP_BITS = 48


def as_fraction(name, value, low, high):
    """A number from low to high, exactly as it is written: 0.1 as a text is a tenth."""
    try:
        found = Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        refuse(name, value, f"a number from {float(low):g} to {float(high):g}")
    if not low <= found <= high:
        refuse(name, value, f"a number from {float(low):g} to {float(high):g}")
    return found


class SampleClock:
    """
    rx_time of timestamps, and the other way round, exactly.

    Parameters
    ----------
    sync_time : number or str
        Seconds since 1970 at timestamp 0.
    sample_rate : number or str
        Hz, timestamps a second.
    offset : number
        Timestamps from the one that a heap has to the time of its first item: the heaps of
        MeerKAT have the time of the first sample that a spectrum was made of, and rx_time is that
        of the middle.
    """

    def __init__(self, sync_time, sample_rate, offset=0):
        self.sync = as_fraction("sync_time", sync_time, 0, 2**40)
        self.rate = as_fraction("sample_rate", sample_rate, Fraction(1, 1000), 10**13)
        self._offset = Fraction(offset)

    def seconds(self, timestamp):
        """Seconds since 1970 and fraction of a timestamp."""
        return whole_and_fraction(self.sync + (timestamp + self._offset) / self.rate)

    def timestamp(self, seconds, fraction):
        """The nearest timestamp, and by how many it is beside it, of an rx_time."""
        if not isfinite(fraction):
            raise ValueError(f"tags: rx_time {seconds}, {fraction} is not a time")
        exact = (seconds - self.sync + Fraction(fraction)) * self.rate - self._offset
        nearest = floor(exact + Fraction(1, 2))
        return nearest, float(exact - nearest)
