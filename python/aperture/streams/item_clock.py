#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The time of each item of a stream, as its tags say it."""

import time as host

import pmt

from .. import tags
from ..parameters.rules import as_number
from ..parameters.times import FIRST_TIME
from .tag_values import tag_value

LOWEST_RATE, HIGHEST_RATE = 1.0, 1e15  # items a second of a stream of samples


def seconds_of(rx_time):
    """Seconds of the value of an rx_time; None if it is none (the F-engine ignores such, too)."""
    try:
        time = pmt.to_uint64(pmt.tuple_ref(rx_time, 0)) + pmt.to_double(pmt.tuple_ref(rx_time, 1))
    except (ValueError, RuntimeError):
        return None
    return time if 0 <= time < 2**63 else None


class ItemClock:
    """
    Follows rx_time and rx_rate of a stream. Where rx_time does not come from a clock, or there is
    none, the host's clock at the first item is taken.

    rate: items a second, until the stream says it.
    """

    def __init__(self, rate):
        self._rate = rate
        self._anchor = None  # an item and its time
        self._epoch = None  # time in the tag rx_time

    @property
    def running(self):
        """True if it knows a time: from begin() on."""
        return self._anchor is not None

    def begin(self, item):
        """An item that was received just now, as far as one knows."""
        self._anchor = item, host.time()

    def at(self, item):
        """UTC seconds since 1970 of an item; a double is good to 0.2 us."""
        return self._anchor[1] + (item - self._anchor[0]) / self._rate

    def take(self, item, found):
        """The tags of an item, key to value; returns by how many seconds its time jumps."""
        expected = self.at(item)
        if tags.rx_rate in found:
            rate = tag_value(found, tags.rx_rate, pmt.to_double)
            as_number("rx_rate", rate, LOWEST_RATE, HIGHEST_RATE, "items a second")
            self._anchor = item, expected
            self._rate = rate
        time = seconds_of(found.get(tags.rx_time, pmt.PMT_NIL))
        if time is not None:
            if self._epoch is None:
                # one that counts from the start of the source gets an epoch
                self._epoch = 0.0 if time >= FIRST_TIME else host.time() - time
            self._anchor = item, time + self._epoch
        return self._anchor[1] - expected if time is not None else 0.0
