#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The base of blocks that follow the sky and send settings ahead of a stream."""

import math
import threading

import numpy as np
from gnuradio import gr

from .arrays import earth_rotation
from .arrays.array_description import load_array
from .parameters.rules import LARGEST_ITEM, as_number, as_whole, inputs_of
from .streams.item_clock import ItemClock
from .streams.python_block import python_block, vector_of
from .streams.stream_band import Band, StreamBand
from .tracking.directions import age_warnings

LONGEST_LEAD = 3600.0  # s, for which all settings are made at the start
MAX_CHANNELS = 1 << 24  # the most that blocks take


class following_block(python_block):
    """
    Follows the time and the band of a stream, which it passes on where its output is connected, and
    sends settings that hold from a time, `lead` seconds ahead of the stream.

    Subclasses have

    - _send(begin): sends the settings that hold from a time on, and says by _sent() until when;
      self._due is None if they hold at once;
    - _take_band(item, found): takes the tags of an item, key to value, for what is sent from there
      on;
    - _clear(): as here, and what else begins with a run.
    """

    def __init__(
        self, name, array, channels, lead, item_size, inputs, real, inverted, samples_per_item
    ):
        self._array = array = load_array(array)
        self._channels = as_whole("channels", channels, 1, MAX_CHANNELS)
        as_whole("item_size", item_size, 1, LARGEST_ITEM)
        self._samples = as_whole("samples_per_item", samples_per_item, 1)
        self._lead = as_number("lead", lead, 0, LONGEST_LEAD, "seconds")
        inputs_of(array, inputs)
        self._real, self._inverted = bool(real), bool(inverted)
        self._lock = threading.RLock()
        self._time = None  # UTC seconds since 1970 up to which the stream has come
        items = [vector_of(np.uint8, item_size)]
        super().__init__(name, items, gr.py_io_signature(0, 1, items))

    def updates(self):
        """Returns how many messages with settings it has sent since the start."""
        return self._updates

    def _clear(self):
        self._due = None  # from when on the next settings hold; None: at once
        self._later = []  # times of the settings that do not hold yet
        self._clock = ItemClock(self._array.sample_rate / self._samples)
        self._stream = StreamBand(
            Band(self._array.center_frequency, self._array.sample_rate / (2 if self._real else 1)),
            self._real,
            self._inverted,
            self._samples,
        )
        self._asked = False  # true once the Earth's rotation was asked for
        self._aged = False  # true once elements of satellites were said to be old
        self._updates = 0

    def _start(self):
        with self._lock:
            self._clear()

    def _come(self, count):
        """Follows the next items: sends what holds from a time before theirs, and the lead."""
        begin = self._read_tags(count)
        self._follow(begin, self._clock.at(self.nitems_read(0) + count) + self._lead)

    def _read_tags(self, count):
        """Follows what the stream says in these items, up to the last that does, which it
        returns."""
        begin = self.nitems_read(0)
        if not self._clock.running:
            self._clock.begin(begin)
        found = self.tags_by_item(0, count)
        found = {begin + item: found[item] for item in sorted(found)}
        for item in found:
            if item > begin:
                # earlier items are for the clock and the band up to there
                self._follow(begin, self._clock.at(item))
                begin = item
            if abs(self._clock.take(item, found[item])) > self._lead / 2:
                self._due = None
            self._take_band(item, found[item])
        return begin

    def _follow(self, item, until):
        """The stream has come to an item: sends all settings that hold from a time before
        `until`."""
        self._time = self._clock.at(item)
        if self._due is None:
            self._send(self._time)
        while self._due < until:
            self._send(self._due)

    def _end_of(self, begin, length):
        """Returns until when settings hold that hold from a time on, for so many seconds if nothing
        that was sent ahead says otherwise."""
        # after a change, what was sent ahead is sent once more, for the same times
        self._later = [time for time in self._later if time > self._time]
        return min([begin + length] + [time for time in self._later if time > begin])

    def _sent(self, end):
        """Notes that settings were sent that hold until a time, which may be infinite."""
        self._updates += 1
        self._due = end
        if not math.isinf(end) and end not in self._later:
            self._later.append(end)

    def _warn_of_sky(self, directions, time):
        """Warns once a run where the Earth's rotation is not known well, and once where the
        elements of satellites are old."""
        if not self._asked:
            self._asked = True
            whole = math.floor(time)
            if text := earth_rotation.warning(earth_rotation.julian_date(whole, time - whole)):
                self.logger.warn(text)
        if not self._aged:
            for text in age_warnings(directions, time):
                self._aged = True
                self.logger.warn(text)
