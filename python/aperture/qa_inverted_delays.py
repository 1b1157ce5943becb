#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Cable delays of receivers whose band is inverted, real samples: the delay that is set by hand, and
the one that aperture_calibrate measures, are the same, and both line the inputs up.

A cable of the delay tau multiplies the sky frequency f by exp(-2 pi i f tau). In an inverted band f
is at the baseband frequency TOP - f, and what is there is the conjugate.
"""

import os
import tempfile

import numpy as np
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture.calibration.messages import apply_calibration
from gnuradio.aperture.commands import calibrate
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.observations import run
from gnuradio.aperture.testing.qa_tools import EPOCH, ByteSource, rx_time

CHANNELS, RATE = 32, 4e6
WIDTH = RATE / 2 / CHANNELS  # Hz, of a channel: 100 ns rotate it 2.25 degrees from one to the next
CENTER = 1.42e9  # Hz
TOP = CENTER + RATE / 4
NAMES = ["Ax", "Bx", "Cx"]
CABLES = np.array([0.0, 100e-9, -77e-9])
SPECTRA = 20000
FREQUENCIES = CENTER + WIDTH + (np.arange(CHANNELS) - CHANNELS // 2) * WIDTH


def bench():
    return make_array(dict.fromkeys("ABC", (0.0, 0.0, 0.0)), rate=RATE, center=CENTER, name="bench")


def samples():
    """float32 [input][time] of one noise source, 30 times as strong as the receivers."""
    rng = np.random.default_rng(7)
    count = (SPECTRA + 7) * 2 * CHANNELS
    noise = np.fft.rfft(rng.standard_normal((4, count)))
    sky = TOP - np.fft.rfftfreq(count, 1 / RATE)
    delayed = np.sqrt(30) * noise[0] * np.exp(2j * np.pi * sky * CABLES[:, None])
    return np.fft.irfft(delayed + noise[1:], count).astype(np.float32)


class qa_inverted_delays(gr_unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.samples = samples()
        cls.array = bench()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def observe(self, name, prepare=lambda f_engine: None):
        """Name of a UVH5 file, and the phases, degrees, of B-A and C-A in its channels."""
        path = os.path.join(self.folder.name, name)
        top = gr.top_block()
        f_engine = aperture.f_engine(
            channels=CHANNELS,
            inputs=3,
            input_type="f32",
            inverted=True,
            spectra_per_frame=500,
            device="cpu",
        )
        prepare(f_engine)
        tags = [(0, "rx_time", rx_time(EPOCH)), (0, "rx_rate", RATE), (0, "rx_freq", CENTER)]
        sources = [
            ByteSource(values.view(np.uint8).reshape(-1, 4), tags, 50000) for values in self.samples
        ]
        for port, source in enumerate(sources):
            top.connect(source, (f_engine, port))
        xengine = aperture.xengine(
            channels=CHANNELS, inputs=3, spectra_per_frame=500, integration=4, device="cpu"
        )
        sink = aperture.uvh5_sink(path, self.array, CHANNELS)
        top.connect(f_engine, xengine, sink)
        top.run()
        self.assertFalse(sink.error())
        with VisibilityFile(path) as file:
            np.testing.assert_allclose(file.frequencies, FREQUENCIES)
            values, counted = file.read(file.crosses()[:2])
        # without the ends of the band, and the integrations in which delayed inputs miss spectra
        return path, np.angle(values[:, 1:-1].mean(axis=1)[:, 1:-1], deg=True)

    def test_measured_and_set(self):
        path, raw = self.observe("raw.uvh5")
        self.assertGreater(np.abs(raw).max(), 20)
        made = os.path.join(self.folder.name, "bench.yml")
        code, _, error = run(calibrate, path, "-o", made, "--reference", "Ax")
        self.assertEqual((code, error), (0, ""))
        calibration = aperture.load_calibration(made)

        # the F-engine's f_c is the channel n/2 of increasing sky frequency
        middle = CENTER + WIDTH
        delays = CABLES.max() - CABLES
        phases = -2 * np.pi * middle * delays
        measured = calibration.delays(NAMES) - calibration.delays(NAMES)[0]
        np.testing.assert_allclose(measured, delays - delays[0], atol=0.2e-9)
        # the phase of the delay that was measured
        measured = calibration.phases(middle, NAMES)
        wanted = phases - phases[0]
        away = np.angle(np.exp(1j * (measured - measured[0] - wanted)), deg=True)
        self.assertLess(np.abs(away).max(), 0.5)

        def by_hand(f_engine):
            f_engine.set_delays(delays, phases=phases)

        def by_calibration(f_engine):
            apply_calibration(calibration, f_engine, NAMES, FREQUENCIES)

        for name, prepare in (("set.uvh5", by_hand), ("calibrated.uvh5", by_calibration)):
            _, left = self.observe(name, prepare)
            # the noise of 0.2 rad / sqrt(20000) is 0.1 degrees in a channel
            self.assertLess(np.abs(left).max(), 0.6, name)

    def test_tracker(self):
        """The tracker's phases are for the same frequency."""
        tracker = aperture.delay_tracker(
            array=self.array, channels=CHANNELS, real=True, inverted=True
        )
        self.assertAlmostEqual(tracker.center_frequency(), CENTER + WIDTH, 3)


if __name__ == "__main__":
    gr_unittest.run(qa_inverted_delays)
