#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block that closes the loop: what the F-engine gives becomes flat while it runs."""

import os
import tempfile

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.arrays.array_model import Input, Source
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.qa_tools import DEVICE

CHANNELS, RATE = 32, 2e6


def bench(flux=30.0):
    """Three receivers on one noise source, with unequal cables and gains."""
    return make_array(
        dict.fromkeys("ABC", (0.0, 0.0, 0.0)),
        inputs=[
            Input("A", "x"),
            Input("B", "x", 0.6 - 0.5j, 100e-9),
            Input("C", "x", -1.1 + 0.2j, -77e-9),
        ],
        rate=RATE,
        center=1.42e9,
        name="bench",
        sources=[Source("noise", azimuth=0.0, elevation=90.0, flux=flux)],
    )


class Loop(gr.top_block):
    """source -> f_engine -> xengine -> calibrator, which sets the F-engine, of so many
    integrations."""

    def __init__(self, length, flux=30.0, **options):
        super().__init__()
        array = bench(flux)
        source = aperture.array_source(
            array, samples=(length * 1000 + 7) * CHANNELS, inputs_per_port=3
        )
        self.f_engine = aperture.f_engine(
            channels=CHANNELS, inputs=3, inputs_per_port=3, spectra_per_frame=250, device=DEVICE
        )
        correlator = aperture.xengine(
            channels=CHANNELS, inputs=3, spectra_per_frame=250, integration=4, device=DEVICE
        )
        self.calibrator = aperture.calibrator(array, CHANNELS, **options)
        self.sink = blocks.vector_sink_c(CHANNELS * 6)
        self.status = blocks.message_debug()
        self.connect(source, self.f_engine, correlator, self.calibrator)
        self.connect(correlator, self.sink)
        self.msg_connect(self.calibrator, "delays", self.f_engine, "delays")
        self.msg_connect(self.calibrator, "gains", self.f_engine, "gains")
        self.msg_connect(self.calibrator, "status", self.status, "store")

    def visibilities(self):
        """Returns visibilities of B-A, C-A and C-B, [integration][channel][product]."""
        return np.reshape(self.sink.data(), (-1, CHANNELS, 6))[:, :, [1, 3, 4]]

    def events(self):
        """Returns the messages of status."""
        found = [self.status.get_message(i) for i in range(self.status.num_messages())]
        return [
            pmt.symbol_to_string(pmt.dict_ref(one, pmt.intern("event"), pmt.PMT_NIL))
            for one in found
        ]


class qa_calibrator(gr_unittest.TestCase):
    def check_flat(self, visibilities, part=0.12):
        """1 but for the noise: of 1000 spectra, and of what was measured; channel 0 has none."""
        self.assertLess(np.abs(np.angle(visibilities[:, 1:], deg=True)).max(), 2.5)
        mean = np.abs(visibilities[:, 1:]).mean(axis=0)
        np.testing.assert_allclose(mean, 1, atol=part)

    def test_loop(self):
        """Once: all that comes after it is flat, and the block has the calibration."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cal.yml")
            loop = Loop(100, integrations=8, lead=0.05, reference="Ax", filename=path)
            loop.run()
            self.assertIsNone(loop.calibrator.error())
            self.assertEqual(loop.events(), ["calibrated"])
            self.assertEqual(loop.calibrator.measurements(), 1)
            calibration = loop.calibrator.calibration()
            self.assertEqual(aperture.load_calibration(path).names, ["Ax", "Bx", "Cx"])
        np.testing.assert_allclose(calibration.delays(), [0, -100e-9, 77e-9], atol=0.5e-9)
        found = loop.visibilities()
        self.assertEqual(len(found), 100)
        self.assertGreater(np.abs(np.angle(found[:8, 1:], deg=True)).max(), 30)
        # 8 integrations of 16 ms, 50 ms lead, and what may be late
        self.check_flat(found[60:])
        # the settings are a model of their own
        self.assertEqual({setting["model"] for setting in loop.f_engine.delays()}, {"calibration"})

    def test_again_and_again(self):
        """Each measurement is of what is left: they do not add up to twice the cables."""
        loop = Loop(160, integrations=4, lead=0.02, every=0.1, reference="Ax")
        loop.run()
        self.assertGreater(loop.calibrator.measurements(), 2)
        self.assertEqual(set(loop.events()), {"calibrated"})
        np.testing.assert_allclose(
            loop.calibrator.calibration().delays(), [0, -100e-9, 77e-9], atol=1e-9
        )
        self.check_flat(loop.visibilities()[-20:], 0.25)

    def test_no_source(self):
        """Nothing is set by noise that inputs do not share."""
        loop = Loop(20, flux=0.0, integrations=2)
        loop.run()
        self.assertEqual(set(loop.events()), {"not_calibrated"})
        self.assertIsNone(loop.calibrator.calibration())
        self.assertEqual(list(loop.f_engine.delays()), [])

    def test_command(self):
        """A message begins a measurement, another one is refused."""
        loop = Loop(60, integrations=2, lead=0.0)
        block = loop.calibrator.to_basic_block()
        for command in ("dance", "measure"):
            block._post(
                pmt.intern("command"),
                pmt.dict_add(pmt.make_dict(), pmt.intern("command"), pmt.intern(command)),
            )
        # the message of GRC's buttons
        block._post(pmt.intern("command"), pmt.cons(pmt.intern("command"), pmt.intern("measure")))
        loop.run()
        self.assertEqual(sorted(set(loop.events())), ["calibrated", "refused"])
        self.assertEqual(loop.events().count("refused"), 1)

    def test_errors(self):
        for options, text in (
            ({"channels": 0}, "channels: 0 is not allowed"),
            ({"inputs": 3}, "inputs: 3 is not allowed; it must be 2"),
            ({"integrations": 0}, "integrations: 0 is not allowed"),
            ({"every": -1.0}, "every: -1.0 is not allowed"),
            ({"lead": float("nan")}, "lead: nan is not allowed"),
            ({"source": "nowhere"}, "source: 'nowhere' is not known"),
            ({"reference": "Q"}, "input: 'Q' is not allowed"),
            ({"channels": 1 << 27}, "channels: an item would be 134217728 channels"),
        ):
            with self.subTest(**options), self.assertRaisesRegex(ValueError, text):
                aperture.calibrator(**options)


if __name__ == "__main__":
    gr_unittest.run(qa_calibrator)
