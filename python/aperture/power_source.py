#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that reads powers from files."""

import numpy as np
import pmt

from . import tags
from .formats.power_files import ORDERS, PowerRecording
from .parameters.description import Anything, Integer, Text
from .parameters.rules import item_bytes, refuse
from .streams.python_block import python_block, vector_of
from .streams.tag_values import time_value


class power_source(python_block):
    """
    Reads powers from filterbank files of SIGPROC (.fil), of 1, 2, 4, 8, 16 or 32 bits, and from
    PSRFITS files in search mode.

    Out: `[beam][product][channel]` of f32, as `beam_power` makes them, an item a sample of the
    file, channels in ascending order of frequency, with the tags rx_time (the middle of the
    sample), rx_rate, rx_freq, bandwidth, spectra and counted (both 1). Several files are beams side
    by side, of one band, interval and start. The shape of the items is that of
    `PowerRecording(filenames, ...).shape`; `beams`, `channels` say it for a flowgraph that was
    drawn, and are held against the files.

    With the products `total` an item has the total power of each beam: the sum of two
    polarisations, the first of I, Q, U and V. What contradicts itself in the headers is logged at
    the start. Where samples of PSRFITS are missing, rx_time jumps; powers of weight 0 are NaN. A
    file without a time begins in 1970, and rx_time is marked as approximate. A file
    that becomes shorter while it is read ends the stream with an error.

    Raises:
        ValueError, OSError: A parameter is not allowed; a file cannot be read, or two do not fit.
    """

    def __init__(
        self,
        filenames: Anything(
            "Names of the files, a list, or a text with commas between them; or a PowerRecording."
        ),
        products: Text(
            "total: the total power of each beam; all: all products.", "total", "all"
        ) = "total",
        order: Text(
            "The products of files of four that do not say which they are.", *ORDERS
        ) = ORDERS[0],
        beams: Integer("Beams of all files together; 0: as many as there are.", 0, 65536) = 0,
        channels: Integer("Channels of the files; 0: as many as there are.", 0, 1 << 24) = 0,
        samples: Integer("Samples after which the stream ends; 0: all that are there.", 0) = 0,
    ):
        self._recording = (
            filenames
            if isinstance(filenames, PowerRecording)
            else PowerRecording(filenames, products, order)
        )
        self.shape = self._recording.shape
        for name, said, found in (
            ("beams", beams, self.shape[0]),
            ("channels", channels, self.shape[2]),
        ):
            if said not in (0, found):
                refuse(name, said, f"{found}, as many as are in the files, or 0")
        axes = dict(zip(("beams", "products", "channels"), self.shape))
        size = item_bytes("channels", 4, **axes)
        self._end = min(samples or self._recording.samples, self._recording.samples)
        self._next, self._finished = 0, False
        super().__init__("power_source", in_sig=None, out_sig=[vector_of(np.float32, size // 4)])

    def finish(self):
        """Ends the stream where it is."""
        self._finished = True

    def samples(self):
        """Returns the samples that are read in all."""
        return self._end

    def recording(self):
        """Returns what is read, a PowerRecording."""
        return self._recording

    # ---- inside

    def _start(self):
        self._next, self._finished = 0, False
        for text in self._recording.warnings:
            self.logger.warn(text)

    def _work(self, _, output_items):
        out = output_items[0]
        if self._next >= self._end or self._finished:
            return -1
        count = min(len(out), self._end - self._next)
        self._recording.read_into(self._next, out[:count].reshape(count, *self.shape))
        if self._next == 0:
            self._tag()
        for sample in self._recording.jumps:
            if self._next <= sample < self._next + count:
                item = self.nitems_written(0) + sample - self._next
                time = time_value(self._recording.clock(sample))
                self.add_item_tag(0, item, pmt.intern(tags.rx_time), time)
        self._next += count
        return count

    def _tag(self):
        recording = self._recording
        found = {
            tags.rx_time: time_value(recording.clock(0)),
            tags.rx_rate: pmt.from_double(1 / recording.interval),
            tags.rx_freq: pmt.from_double(recording.center_frequency),
            tags.bandwidth: pmt.from_double(recording.bandwidth),
            tags.spectra: pmt.from_uint64(1),
            tags.counted: pmt.init_u64vector(1, [1]),
        }
        if recording.begin is None:
            found[tags.approximate] = pmt.PMT_T
        for key, value in found.items():
            self.add_item_tag(0, self.nitems_written(0), pmt.intern(key), value)
