# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays streams of items for blocks that follow a clock, and keeps what these say."""

import numpy as np
import pmt
from gnuradio import gr

from .qa_tools import to_pmt


class stream(gr.sync_block):
    """Items of a byte with tags (item, key, value), at most so many in one call."""

    def __init__(self, items, found, at_once, hook=None):
        gr.sync_block.__init__(self, "stream", None, [np.uint8])
        self._left, self._found, self._at_once, self._hook = items, found, at_once, hook

    def work(self, inputs, outputs):
        if self._left == 0:
            return -1
        first, count = self.nitems_written(0), min(len(outputs[0]), self._at_once, self._left)
        if self._hook is not None and self._hook(first) is False:
            return 0
        for item, key, value in self._found:
            if first <= item < first + count:
                self.add_item_tag(0, item, pmt.intern(key), value)
        self._left -= count
        outputs[0][:count] = (first + np.arange(count)) % 251
        return count


class caller(gr.sync_block):
    """Passes a stream on, and calls a function, once, when an item has come. GNU Radio's gateway
    holds no reference to it."""

    def __init__(self, item_size, item, function):
        gr.sync_block.__init__(self, "caller", [(np.uint8, item_size)], [(np.uint8, item_size)])
        self._item, self._function = item, function
        self.set_max_noutput_items(997)

    def work(self, input_items, output_items):
        if self._function and self.nitems_read(0) >= self._item:
            function, self._function = self._function, None
            function()
        output_items[0][:] = input_items[0]
        return len(input_items[0])


def clock(item, seconds, fraction=0.0, rate=None):
    """Returns the tags of an item that comes at that time, from which on the rate is this one."""
    found = [(item, "rx_time", to_pmt((seconds, fraction)))]
    return found + ([(item, "rx_rate", to_pmt(float(rate)))] if rate else [])


class Log:
    """A logger that keeps what a block says."""

    def __init__(self):
        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)
