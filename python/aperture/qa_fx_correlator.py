#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""fx_correlator: the same numbers as the blocks inside; messages; sources without tags."""

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.fx_correlator import samples_in_item, spectra_in_frame
from gnuradio.aperture.testing.qa_tools import DEVICE, ByteSink, comes_true, from_pmt, tags_of

DEVICES = sorted({"cpu", "emulated", DEVICE})
CHANNELS, SAMPLES = 62, 200_000


class qa_fx_correlator(gr_unittest.TestCase):
    def correlate(self, chain, source=None):
        """Visibilities [integration][channel][product] and tags of a chain of blocks behind a
        simulated array."""
        top = gr.top_block()
        source = source or aperture.array_source(samples=SAMPLES)
        sink = ByteSink(CHANNELS * 3 * 8)
        for port in range(2):
            top.connect((source, port), (chain[0], port))
        top.connect(*chain, sink)
        top.run()
        self.assertEqual([block.error() for block in chain], [""] * len(chain))
        return sink.data().view(np.complex64).reshape(-1, CHANNELS, 3), sink.tags

    def test_same_as_the_blocks_inside(self):
        for device in DEVICES:
            with self.subTest(device=device):
                got, tags = self.correlate([aperture.fx_correlator(CHANNELS, 0.02, device=device)])
                # 10^6 bytes of 62 channels and two inputs would be 1057 spectra
                separate = [
                    aperture.f_engine(channels=CHANNELS, spectra_per_frame=1024, device=device),
                    aperture.xengine(
                        channels=CHANNELS,
                        spectra_per_frame=1024,
                        integration=0.02,
                        integration_unit="seconds",
                        device=device,
                    ),
                ]
                expected, expected_tags = self.correlate(separate)
                self.assertGreater(len(expected), 2)
                np.testing.assert_array_equal(got, expected)
                self.assertEqual([str(tag) for tag in tags], [str(tag) for tag in expected_tags])

    def test_sources_without_tags(self):
        """With a rate and a frequency, samples of any source have times and channels."""
        rng = np.random.default_rng(6)
        noise = rng.standard_normal((SAMPLES, 2)).astype(np.float32).view(np.complex64)[:, 0]
        source = gr.hier_block2("source", gr.io_signature(0, 0, 0), gr.io_signature(2, 2, 8))
        vector = blocks.vector_source_c(noise.tolist())
        for port in range(2):
            source.connect(vector, (source, port))
        correlator = aperture.fx_correlator(CHANNELS, 0.01, sample_rate=1e6, center_frequency=1.4e9)
        # 0.01 s are 161 spectra: an eighth is 20
        got, tags = self.correlate([correlator], source)
        self.assertEqual(tags_of(tags, "rx_freq"), [(0, 1.4e9)])
        self.assertEqual(tags_of(tags, "bandwidth")[0], (0, 1e6))
        # frames of 16 spectra, of which ten are 9.92 ms
        self.assertAlmostEqual(tags_of(tags, "rx_rate")[0][1], 1e6 / 62 / 160, delta=1e-6)
        # both inputs are one signal
        np.testing.assert_allclose(got[:, :, 1], got[:, :, 0], rtol=1e-5)

    def test_messages(self):
        """Delays and gains go to the F-engine, and what it says of them comes out."""
        refused = pmt.dict_add(pmt.make_dict(), pmt.intern("gain"), pmt.intern("much"))
        source = aperture.array_source(samples=0)
        for port in ("gains", "delays"):
            with self.subTest(port=port):
                top = gr.top_block()
                correlator = aperture.fx_correlator(CHANNELS, 0.01)
                status, strobe = blocks.message_debug(), blocks.message_strobe(refused, 1)
                for number in range(2):
                    top.connect((source, number), (correlator, number))
                top.connect(correlator, blocks.null_sink(CHANNELS * 3 * 8))
                top.msg_connect(strobe, "strobe", correlator, port)
                top.msg_connect(correlator, "status", status, "store")
                top.start()
                comes_true(status.num_messages)
                top.stop()
                top.wait()
                self.assertEqual(from_pmt(status.get_message(0))["event"], "refused")

    def test_integration_while_it_runs(self):
        correlator = aperture.fx_correlator(CHANNELS, 0.02)
        correlator.set_integration(0.04)
        _, tags = self.correlate([correlator])
        spectra = [value for _, value in tags_of(tags, "spectra")]
        # 0.04 s of 2.4 MHz are 1548 spectra: two frames are nearest
        self.assertEqual(spectra[0], 2048)

    def test_frames(self):
        """A frame is about a megabyte, and an eighth of an integration where that is shorter."""
        self.assertEqual(spectra_in_frame(1024, 2, 0.5), 64)
        self.assertEqual(spectra_in_frame(65536, 64, 0.5), 16)
        self.assertEqual(spectra_in_frame(4, 2, 0.5), 1024)
        # 47 spectra a second: of 23, two
        self.assertEqual(spectra_in_frame(1024, 2, 0.5, 48000 / 1024), 2)
        self.assertEqual(spectra_in_frame(1024, 2, 0.01, 48000 / 1024), 1)
        self.assertEqual(samples_in_item("s12", 1, 3), 2)
        self.assertEqual(samples_in_item("s10", 1, 5), 4)
        self.assertEqual(samples_in_item("s10", 4, 5), 1)
        self.assertEqual(samples_in_item("sc8", 2, 4), 1)

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(channels=7), "channels: 7 .*even"),
            (dict(inputs=0), "inputs: 0"),
            (dict(integration=0), "integration: 0"),
            (dict(sample_rate=-1), "sample_rate: -1"),
            (dict(center_frequency=float("nan")), "center_frequency: nan"),
            (dict(input_type="c8"), "input_type: 'c8'"),
            (dict(device="toaster"), "toaster"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.fx_correlator(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_fx_correlator)
