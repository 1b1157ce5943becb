#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""spectrum_display without its window: means, velocities, baselines, spikes, and what it says."""

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.displays.spectrum_view import SpectrumView, baseline_of, spikes_of
from gnuradio.aperture.spectrometry.switching import Spectrum
from gnuradio.aperture.spectrometry.velocity import HYDROGEN, lsr_correction
from gnuradio.aperture.testing.qa_tools import comes_true

CHANNELS, WIDTH, START = 200, 2e6, 1718967600.0
INNER = np.abs(np.arange(CHANNELS) - CHANNELS // 2) < 0.4 * CHANNELS


def spectrum(values, begin=START, seconds=1.0, frequency=HYDROGEN, measured=True):
    """A Spectrum of so many kelvin [input][channel]."""
    values = np.atleast_2d(values)
    power = np.full(values.shape, 2.0)
    system = np.full(len(values), 120.0)
    return Spectrum(
        values, power, system, begin, begin + seconds, seconds, frequency, WIDTH, measured
    )


class qa_spectrum_display(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(8)
        self.place = np.arange(CHANNELS)
        self.line = 40 * np.exp(-(((self.place - 120) / 6.0) ** 2))
        self.noise = lambda: 0.3 * self.rng.standard_normal(CHANNELS)

    def test_means(self):
        """Means are weighted by their lengths, of all spectra or of the newest."""
        for averaging, expected in ((0.0, 23 / 6), (3.5, 6.0), (6.0, 23 / 6)):
            view = SpectrumView(["a"], averaging, 0.0, None, aperture.load_array("one-dish"))
            self.assertIsNone(view.picture())
            begin = START
            for value, seconds in ((1.0, 1.0), (2.0, 2.0), (6.0, 3.0)):
                view.add(spectrum(np.full(CHANNELS, value), begin, seconds))
                begin += seconds
            shown = view.picture()
            np.testing.assert_allclose(shown.kelvin[0, INNER], expected)
            self.assertTrue(np.isnan(shown.kelvin[0, ~INNER]).all())
            np.testing.assert_allclose(shown.places, shown.frequencies / 1e6)
        # a receiver that is tuned, and kelvin that are calibrated, begin anew
        view.add(spectrum(np.full(CHANNELS, 9.0), begin, 1.0, HYDROGEN + 1e5))
        np.testing.assert_allclose(view.picture().kelvin[0, INNER], 9.0)

    def test_velocities(self):
        direction = aperture.parse_direction("l=30, b=0")
        array = aperture.load_array("one-dish")
        view = SpectrumView(["a"], 0.0, HYDROGEN, direction, array)
        view.add(spectrum(10 + self.line + self.noise()))
        shown = view.picture()
        # channel 100 is at rest, for the observer
        expected = float(lsr_correction(direction, START + 1, array))
        self.assertAlmostEqual(shown.places[100], expected, delta=0.01)
        # channel 120 is 200 kHz higher: what it shows comes nearer
        expected -= 299792.458 * 0.2e6 / HYDROGEN
        self.assertAlmostEqual(shown.places[120], expected, delta=0.02)
        self.assertRegex(
            shown.words, r"a line of (39|40|41)\.\d K at −(19|2\d)\.\d km/s, T_sys 120 K"
        )
        self.assertIn("noise 1.2 K after 1 s", shown.words)
        self.assertTrue(shown.corrected)

    def test_baseline(self):
        """A straight line below lines, however strong they are."""
        slope = 10 + 0.02 * self.place
        for strength in (0.0, 1.0, 5.0):
            found = baseline_of(slope + strength * self.line + self.noise(), INNER)
            np.testing.assert_allclose(found[INNER], slope[INNER], atol=0.4)
        self.assertTrue(np.isnan(baseline_of(np.full(CHANNELS, np.nan), INNER)).all())

    def test_spikes(self):
        """Carriers are told, lines are not."""
        quiet = 10 + self.line + self.noise()
        self.assertEqual(list(spikes_of(quiet, INNER)), [])
        loud = quiet.copy()
        loud[[40, 130]] += 20
        self.assertEqual(list(spikes_of(loud, INNER)), [40, 130])
        view = SpectrumView(["x", "y"], 0.0, HYDROGEN, None, aperture.load_array("one-dish"))
        middle = quiet.copy()
        middle[100] += 30
        view.add(spectrum([loud, middle], measured=False))
        shown = view.picture()
        self.assertRegex(shown.wrong[0], r"input x: a spike at 1419\.8058, .* MHz: interference")
        self.assertRegex(shown.wrong[1], "input y: .*1420.4058 MHz: the receiver's own")
        self.assertIn("kelvin are assumed", shown.wrong[2])

    def test_messages(self):
        """Spectra and faults come as messages, and buttons become some."""
        top = gr.top_block()
        source = aperture.hydrogen_source(
            "zenith", sample_rate=200e3, center_frequency=1420.4e6, gain=25.0, samples=300_000
        )
        block = aperture.spectrometer(64, 0.3)
        display = aperture.spectrum_display(direction="zenith")
        pressed = blocks.message_debug()
        top.connect(source, block, blocks.null_sink(256))
        top.msg_connect(block, "spectra", display, "spectra")
        top.msg_connect(block, "status", display, "status")
        top.msg_connect(display, "look", pressed, "store")
        top.start()
        comes_true(lambda: display.update()[0] is not None and display.update()[2])
        display.look_at("hot")
        comes_true(pressed.num_messages)
        top.stop()
        top.wait()
        self.assertEqual(pmt.symbol_to_string(pressed.get_message(0)), "hot")
        shown, _, wrong = display.update()
        self.assertEqual(shown.kelvin.shape, (1, 64))
        self.assertRegex(" ".join(wrong), "of the samples are clipped")
        self.assertIsNone(display.error())

    def test_what_was_measured(self):
        display = aperture.spectrum_display(inputs=2)
        for values in (
            {"event": "measured", "target": "hot", "seconds": 4.0},
            {"event": "fault", "fault": "loads", "reason": "hot equals cold"},
        ):
            display._hear(pmt.to_pmt(values))
        self.assertEqual(display.update()[1:], ("hot load, 4.0 s", ["hot equals cold"]))
        measured = pmt.to_pmt({"event": "measured", "target": "cold", "seconds": 3.0})
        for key, value in (("y", [3.5, 2.5]), ("receiver", [100.0, 150.0])):
            measured = pmt.dict_add(measured, pmt.intern(key), pmt.init_f64vector(2, value))
        display._hear(measured)
        text = "cold load, 3.0 s: receiver 100.0 K (Y = 3.50), receiver 150.0 K (Y = 2.50)"
        self.assertEqual(display.update()[1:], (text, []))

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(inputs=0), "inputs: 0"),
            (dict(direction="nowhere"), "direction: 'nowhere'"),
            (dict(averaging=-1), "averaging: -1"),
            (dict(names=["a", "b"]), "names"),
            (dict(rest_frequency=-1), "rest_frequency: -1"),
            (dict(array="none"), "array|none"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex((ValueError, OSError), message):
                    aperture.spectrum_display(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_spectrum_display)
