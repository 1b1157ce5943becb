# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The way back: what voltage_sink writes is what our own inputs read, sample by sample, with its time
and frequency.
"""

import unittest

from places import enter_environment, fresh_folder, main

enter_environment("formats")

import numpy as np
from gnuradio import aperture, blocks

from gnuradio.aperture import tags
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.testing.qa_tools import gr_tags, run_chain

START, FRACTION = 1704067200, 0.25
WIDTH, FREQUENCY = 15625.0, 1.42e9
CHANNELS, SPECTRA, FRAMES = 6, 64, 7


class TestVoltages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("voltages")

    def write(self, filename, inputs, **arguments):
        """int8 [channel][time][input][re, im] of what was written."""
        rng = np.random.default_rng(5)
        frames = rng.integers(-127, 128, (FRAMES, CHANNELS, inputs, SPECTRA, 2)).astype(np.int8)
        values = {
            tags.rx_time: (START, FRACTION),
            tags.rx_freq: FREQUENCY,
            tags.rx_rate: WIDTH / SPECTRA,
            tags.bandwidth: WIDTH * CHANNELS,
        }
        found = gr_tags(0, values)
        data = frames.view(np.uint8).reshape(FRAMES, -1)
        source = blocks.vector_source_b(data.ravel().tolist(), False, data.shape[1], found)
        sink = aperture.voltage_sink(
            self.folder / filename, CHANNELS, inputs, SPECTRA, type="sc8", **arguments
        )
        run_chain(source, sink)
        self.assertIsNone(sink.error())
        self.files = sink.files()
        return np.concatenate(list(frames), axis=2).transpose(0, 2, 1, 3)

    def check(self, text, expected, channel):
        """Checks what an input's source sends; expected: [time][input][re, im]."""
        signals = open_input(text)
        self.assertEqual(signals.sample_type, "sc8")
        self.assertEqual(signals.inputs, expected.shape[1])
        self.assertAlmostEqual(signals.sample_rate, WIDTH, 9)
        self.assertAlmostEqual(
            signals.center_frequency, FREQUENCY + (channel - CHANNELS // 2) * WIDTH, 3
        )
        self.assertEqual(signals.start_time[0], START)
        self.assertAlmostEqual(signals.start_time[1], FRACTION, 9)
        sink = blocks.vector_sink_b(2 * signals.inputs)
        run_chain(signals.source(0), sink)
        data = np.array(sink.data(), np.uint8).view(np.int8).reshape(expected.shape)
        np.testing.assert_array_equal(data, expected)

    def test_guppi(self):
        expected = self.write(
            "pair.raw", 2, polarizations=2, selected_channels=None, blocks_per_file=3
        )
        self.assertEqual(len(self.files), 3)
        for channel in (0, 4):
            self.check(
                f"guppi:{','.join(self.files)},channel={channel}", expected[channel], channel
            )

    def test_sigmf(self):
        expected = self.write("interleaved-{channel}.sigmf-meta", 3, selected_channels=[1, 5])
        for channel in (1, 5):
            self.check(
                f"sigmf:{self.folder}/interleaved-{channel}.sigmf-meta", expected[channel], channel
            )
        # a recording each
        expected = self.write("one-{input}.sigmf-meta", 2, selected_channels=[4])
        self.check(
            f"sigmf:{self.folder}/one-0.sigmf-meta,{self.folder}/one-1.sigmf-meta", expected[4], 4
        )


if __name__ == "__main__":
    main()
