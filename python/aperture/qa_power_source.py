#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block power_source: items and tags of files, and its end."""

import os

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.power_files import write_sigproc

CHANNELS, SAMPLES = 12, 5001


class qa_power_source(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.values = np.random.default_rng(4).integers(0, 4, (2, SAMPLES, 1, CHANNELS))
        for name, values in zip("ab", self.values):
            write_sigproc(self.path(name), values, 2, 1400.0, 0.5)
        self.names = [self.path("a"), self.path("b")]

    def run_source(self, source, beams=2):
        size = beams * CHANNELS
        sink, top = blocks.vector_sink_f(size), gr.top_block()
        top.connect(source, sink)
        top.run()
        tags = {}
        for tag in sink.tags():
            tags.setdefault(tag.offset, {})[pmt.symbol_to_string(tag.key)] = tag.value
        return np.array(sink.data()).reshape(-1, beams, 1, CHANNELS), tags, (top, sink)

    def test_items(self):
        """All samples of two files, once in each run, with tags on the first item."""
        source = aperture.power_source(self.names)
        data, tags, (top, sink) = self.run_source(source)
        right = self.values.swapaxes(0, 1)
        np.testing.assert_array_equal(data, right)
        (found,) = tags.values()
        time = found.pop("rx_time")
        self.assertEqual(pmt.to_uint64(pmt.tuple_ref(time, 0)), 1577858400)
        self.assertAlmostEqual(pmt.to_double(pmt.tuple_ref(time, 1)), 0.0005, places=12)
        self.assertEqual(pmt.u64vector_elements(found.pop("counted")), [1])
        self.assertEqual(pmt.to_uint64(found.pop("spectra")), 1)
        self.assertEqual(
            {key: pmt.to_double(value) for key, value in found.items()},
            {"rx_rate": 1000.0, "rx_freq": 1403e6, "bandwidth": 6e6},
        )
        sink.reset()
        top.run()
        self.assertEqual(len(sink.data()), right.size)

    def test_length(self):
        """The number of samples can be limited; a size that the files do not have is refused."""
        source = aperture.power_source(",".join(self.names), samples=77)
        self.assertEqual(source.samples(), 77)
        data, _, _ = self.run_source(source)
        np.testing.assert_array_equal(data, self.values.swapaxes(0, 1)[:77])
        with self.assertRaisesRegex(ValueError, "beams.*3.*2, as many as are in the files, or 0"):
            aperture.power_source(self.names, beams=3)
        with self.assertRaisesRegex(ValueError, "channels.*13.*12, as many as are in the files"):
            aperture.power_source(self.names, channels=13)

    def test_unknown_time(self):
        """A file that does not say when it begins has a time that is marked as a guess."""
        write_sigproc(self.path("a"), self.values[0], 2, 1400.0, 0.5, tstart=0.0)
        _, tags, _ = self.run_source(aperture.power_source(self.path("a")), 1)
        self.assertTrue(pmt.to_bool(tags[0]["rx_time_approximate"]))

    def test_cut(self):
        """A file that is cut while it is read ends the stream with an error."""
        source = aperture.power_source(self.names)
        os.truncate(self.names[1], os.path.getsize(self.names[1]) - 1000)
        self.run_source(source)
        self.assertRegex(source.error(), "b: it has become shorter while it was read")

    def test_to_a_file_and_back(self):
        """filterbank_sink writes what is read, with the same times and frequencies."""
        source = aperture.power_source(self.path("a"))
        sink = aperture.filterbank_sink(
            self.path("c.fil"), channels=CHANNELS, beams=[aperture.Beam("z", ra=1.0, dec=2.0)]
        )
        top = gr.top_block()
        top.connect(source, sink)
        top.run()
        self.assertIsNone(sink.error())
        first, second = FilterbankFile(self.path("a")), FilterbankFile(self.path("c.fil"))
        np.testing.assert_array_equal(second.read(), self.values[0])
        np.testing.assert_allclose(second.frequencies, first.frequencies, rtol=1e-12)
        # days in a double are good to 1 us
        self.assertAlmostEqual(second.start, first.start, delta=1e-6 / 86400)
        self.assertEqual(second.interval, first.interval)


if __name__ == "__main__":
    gr_unittest.run(qa_power_source)
