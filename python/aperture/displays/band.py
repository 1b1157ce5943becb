#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""What the items of an edge say of their time and their channels; no Qt."""

import time as host
from dataclasses import dataclass

import numpy as np
import pmt

from .. import tags


@dataclass(frozen=True)
class Channels:
    """The channels of an edge in Hz: the frequency of the first one, and their width."""
    first: float
    width: float
    count: int

    def frequencies(self):
        """Hz [channel]."""
        return self.first + self.width * np.arange(self.count)

    @property
    def middle(self):
        """Hz: the middle of the band."""
        return self.first + self.width * (self.count - 1) / 2


def channels_of(item, count):
    """
    The Channels of a snapshot_item with so many of them, by rx_freq (of channel count // 2) and
    bandwidth; None where the stream does not say its bandwidth.
    """
    width = item.tags.get(tags.bandwidth)
    if width is None or not pmt.is_number(width) or pmt.is_complex(width):
        return None
    width = pmt.to_double(width) / count
    if not 0 < width < np.inf:
        return None
    return Channels((item.frequency or 0.0) - width * (count // 2), width, count)


class Times:
    """
    Times of the middles of items that are read in order.

    They are UTC seconds since 1970, as the tags of the stream say it; by the host's clock, where
    they say nothing, and `told` is False.
    """

    def __init__(self):
        self.told = True
        self._first = self._number = None

    def of(self, item):
        """Seconds, of a snapshot_item."""
        half = 0.5 / item.rate if item.rate else 0.0
        self.told = item.time is not None
        if self.told:
            return item.time[0] + item.time[1] + half
        if not item.rate:
            return host.time()
        if self._first is None or item.number < self._number:
            self._first, self._number = host.time(), item.number
        return self._first + (item.number - self._number) / item.rate + half


def on_grid(times, step, most):
    """
    Where times lie on a grid that ends with the last of them.

    Parameters
    ----------
    times : float [row]
        Ascending.
    step : float
        Of the grid.
    most : int
        Places of the grid, at most.

    Returns
    -------
    int [row], its places from 0 on, negative for those too long ago; and the number of places
    """
    back = np.rint((times[-1] - times) / step).astype(np.int64)
    kept = back[back < most]
    length = int(kept.max()) + 1
    return length - 1 - back, length


def usual_step(times, interval=None):
    """Seconds from one of the times to the next where none is missing: the interval that the stream
    says, unless most of them lie further apart."""
    steps = np.diff(times)
    steps = steps[steps > 0]
    middle = float(np.median(steps)) if len(steps) else None
    if interval is None or (middle is not None and middle > 1.5 * interval):
        return middle or interval or 1.0
    return interval


def with_breaks(times, step, *curves):
    """Times and curves over them, with a NaN wherever items are missing, so that no line is drawn
    across."""
    after = np.flatnonzero(np.diff(times) > 1.5 * step) + 1
    middles = (times[after - 1] + times[after]) / 2 if len(after) else []
    return [np.insert(times, after, middles),
            *[np.insert(np.asarray(curve, float), after, np.nan) for curve in curves]]
