#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The times and channels of an edge's items, as its tags give them; no Qt."""

import time as host

import numpy as np
import pmt

from .. import tags
from .axes import Channels, on_grid, usual_step, with_breaks  # noqa: F401 (for importers)


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
