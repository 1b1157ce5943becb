#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that reads recordings whose files packages of others decode."""

import numpy as np
import pmt

from .. import tags
from ..parameters.sample_types import SAMPLE_TYPES
from ..parameters.times import exact_seconds, utc_after, whole_and_fraction
from ..streams.python_block import python_block, text_of, vector_of
from ..streams.tag_values import missing_value, time_value

BYTES = 1 << 22  # size of the output's buffer, and the most that one call reads
MOST_GAP = 60  # s; a longer gap of all inputs is left out, as recording_source does
NEAR = 64  # samples; what lies between two of no value that are closer is missing, too


class packaged_source(python_block):
    """
    Reads recordings side by side that packages decode, from where each has its samples.

    An item is one sample, or with `channels` one spectrum, of each input, in one port. Samples
    that are not there, or not a number, are zeros with tags `missing`. Tags, gaps, and what
    happens with `inverted` are those of recording_source.

    Parameters
    ----------
    rows : list of list of tuple
        For each recording, its (reader, first, samples, number) in order and without overlaps:
        samples of a reader from one of them on, the first of which has a number on the clock.
        reader.open() gives an object with read(first, count), components of the samples
        [count][inputs (times channels)][re, im or real], and close().
    inputs : list of int
        Of each recording.
    coding : str
        Type of what is read.
    rate : Fraction
        Samples, or spectra, a second.
    start_time : number or (int, float)
        Seconds since 1970 of number 0.
    center_frequency : float
        Hz, of the middle of the band; of channels, of channel n/2.
    inverted : bool
        The sky frequency falls where that of the baseband rises.
    channels : int
        Of each input; 0: samples.
    width : float
        Hz, of a channel.
    type : str
        Type of what is sent, of the voltages of channels sc8 or fc32; "": as read.
    begin, samples : int
        First one that is read, and how many; 0: all to the last one.
    """

    def __init__(
        self,
        rows,
        inputs,
        coding,
        rate,
        start_time,
        center_frequency,
        inverted=False,
        channels=0,
        width=0.0,
        type="",
        begin=0,
        samples=0,
    ):
        self._rows, self._of_rows, self._coding, self._rate = rows, inputs, coding, rate
        self._inputs, self._channels, self._width = sum(inputs), channels, width
        self._center, self._inverted = center_frequency, inverted
        self._start_time = exact_seconds(start_time)
        self._begin = begin
        last = max(row[-1][3] + row[-1][2] for row in rows)
        self._end = min(begin + samples, last) if samples else last
        self._type = type or coding
        self._components = 2 if self._type in ("fc32", "sc16", "sc8") else 1
        self._gains = np.ones(self._inputs, np.complex64)
        each = self._inputs * max(1, channels)
        super().__init__(
            "packaged_source",
            in_sig=None,
            out_sig=[vector_of(np.uint8, each * SAMPLE_TYPES[self._type].size)],
        )
        self._item = each * SAMPLE_TYPES[self._type].size
        self.set_min_output_buffer(max(4, BYTES // self._item))
        self._opened, self._finished = {}, False
        self._reset()

    # ---- what it reads

    def inputs(self):
        """Returns the number of inputs."""
        return self._inputs

    def channels(self):
        """Returns the channels of each input; 0: it sends samples."""
        return self._channels

    def type(self):
        """Returns the type of what is sent."""
        return self._type

    def sample_rate(self):
        """Returns the samples, or spectra, a second of each input."""
        return float(self._rate)

    def center_frequency(self):
        """Returns the sky frequency of the middle of the band, in Hz."""
        return self._center

    def inverted(self):
        """Returns whether the band of real samples is reversed; complex ones are conjugated
        here."""
        return self._inverted and self._components == 1

    def samples(self):
        """Returns the samples, or spectra, of each input that are sent."""
        return self._end - self._begin

    def start_time(self):
        """Returns the time of the first one: seconds since 1970 and their fraction."""
        return whole_and_fraction(self._time_of(self._begin))

    def missing(self):
        """Returns, for each input, how many were sent as zeros because they were not there."""
        return self._missing.tolist()

    def not_numbers(self):
        """Returns zeros: what is no number stands for what is missing."""
        return [0] * self._inputs

    def clamped(self):
        """Returns, for each input, the voltages that did not fit into 8 bits."""
        return self._clamped.tolist()

    def set_gain(self, gain, input=-1):
        """Sets what the voltages of an input, or with -1 of all, are multiplied with."""
        self._gains[slice(None) if input < 0 else input] = gain

    def gains(self):
        """Returns the gain of each input."""
        return self._gains.tolist()

    def error(self):
        """Says why reading ended before its time; empty if it did not."""
        return super().error() or ""

    def finish(self):
        """Ends the stream: blocks behind it get all that was sent, and then end as well."""
        self._finished = True

    # ---- inside

    def _reset(self):
        self._next, self._places = self._begin, [0] * len(self._rows)
        self._missing = np.zeros(self._inputs, np.int64)
        self._clamped = np.zeros(self._inputs, np.int64)
        self._told = False  # true once the clock was tagged

    def _time_of(self, number):
        return utc_after(self._start_time, number / self._rate)

    def _start(self):
        # lock and unlock of a flowgraph come through here, too; the stream goes on then
        if self.nitems_written(0) == 0:
            self._reset()

    def _stop(self):
        self._finished = False
        for opened in self._opened.values():
            opened.close()
        self._opened = {}

    def _say(self, error):
        names = {reader.name for row in self._rows for reader, *_ in row}
        text = text_of(error)
        return text if any(name in text for name in names) else f"{', '.join(names)}: {text}"

    def _work(self, _, output_items):
        if self._finished or self._next >= self._end:
            return -1
        jumped = self._leave_gap_out()
        room = min(len(output_items[0]), max(1, BYTES // self._item))
        count = min(room, self._end - self._next)
        if count <= 0:
            return -1
        item = self.nitems_written(0)
        if jumped or not self._told:
            self._tag_clock(item)
        lost = np.ones((count, self._inputs), bool)
        shape = (count, self._inputs, max(1, self._channels), self._components)
        number = SAMPLE_TYPES[self._coding].component
        same = self._type == self._coding
        out = output_items[0][:count].reshape(-1).view(SAMPLE_TYPES[self._type].component)
        out = out.reshape(shape)
        samples = out if same else np.empty(shape, number)
        samples[...] = 0
        for row in range(len(self._rows)):
            self._read_row(row, samples, lost)
        if lost.any():
            self._tag_missing(item, lost, samples)
        if self._inverted and self._components == 2:
            im = samples[..., 1]
            largest = SAMPLE_TYPES[self._coding].largest
            np.negative(np.maximum(im, -largest) if largest < np.inf else im, out=im)
        if not same or np.any(self._gains != 1):
            self._convert(samples, out)
        self._next += count
        return count

    def _leave_gap_out(self):
        """Goes on to the next samples of any input if they are far; returns whether it did."""
        ahead = []
        for index, row in enumerate(self._rows):
            place = self._places[index]
            while place < len(row) and row[place][3] + row[place][2] <= self._next:
                place += 1
            self._places[index] = place
            if place < len(row):
                ahead.append(row[place][3])
        if not ahead or min(ahead) - self._next <= MOST_GAP * self._rate:
            return False
        self._next = min(min(ahead), self._end)
        return True

    def _read_row(self, row, samples, lost):
        """Reads what a recording has of some samples."""
        first = sum(self._of_rows[:row])
        places = slice(first, first + self._of_rows[row])
        begin, end = self._next, self._next + len(samples)
        for reader, at, count, number in self._rows[row][self._places[row] :]:
            low, high = max(begin, number), min(end, number + count)
            if number >= end:
                break
            if low >= high:
                continue
            if reader.name not in self._opened:
                self._opened[reader.name] = reader.open()
            read = self._opened[reader.name].read(at + low - number, high - low)
            part = slice(low - begin, high - begin)
            samples[part, places] = read.reshape(samples[part, places].shape)
            if read.dtype.kind == "f":
                lost[part, places] = ~np.isfinite(samples[part, places]).all((2, 3))
            else:
                lost[part, places] = False

    def _tag_clock(self, item):
        found = {
            tags.rx_time: time_value(whole_and_fraction(self._time_of(self._next))),
            tags.rx_freq: pmt.from_double(self._center),
            tags.rx_rate: pmt.from_double(float(self._rate)),
        }
        if self._channels:
            found[tags.bandwidth] = pmt.from_double(self._width * self._channels)
            found[tags.samples_per_item] = pmt.from_uint64(self._channels)
        for key, value in found.items():
            self.add_item_tag(0, item, pmt.intern(key), value)
        self._told = True

    def _tag_missing(self, item, lost, samples):
        """Makes what is lost zeros, with tags."""
        for number in np.flatnonzero(lost.any(0)).tolist():
            edges = np.flatnonzero(np.diff(np.concatenate([[0], lost[:, number], [0]])))
            begins, ends = edges[::2], edges[1::2]
            apart = begins[1:] - ends[:-1] >= NEAR
            begins = begins[np.concatenate([[True], apart])]
            ends = ends[np.concatenate([apart, [True]])]
            for begin, end in zip(begins.tolist(), ends.tolist()):
                samples[begin:end, number] = 0
                value = missing_value(number, item + begin, end - begin)
                self.add_item_tag(0, item + begin, pmt.intern(tags.missing), value)
                self._missing[number] += end - begin

    def _convert(self, samples, out):
        """Voltages times their gains, as what is sent."""
        values = np.ascontiguousarray(samples, np.float32).view(np.complex64)[..., 0]
        values = values * self._gains[:, None]
        values = values[..., None].view(np.float32)
        if self._type == "sc8":
            rounded = np.rint(values)
            over = np.abs(rounded) > 127
            self._clamped += over.any(-1).sum((0, 2))
            values = np.clip(rounded, -127, 127)
        out[...] = values
