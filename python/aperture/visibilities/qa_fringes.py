#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Fringes: delays, rates and closure phases that are known."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.plots import style
from gnuradio.aperture.plots.plot_fringes import fringe_text
from gnuradio.aperture.visibilities import fringes


class qa_fringes(gr_unittest.TestCase):
    def fringe(self, delay, rate, noise, seed=1):
        """Visibilities [time][channel] of 1 with noise, some of them flagged."""
        rng = np.random.default_rng(seed)
        frequency, time = 25e3 * np.arange(61), 0.5 * np.arange(47)
        values = np.exp(2j * np.pi * (rate * time[:, None] - frequency * delay) + 1.1j)
        values += noise * (rng.normal(size=values.shape) + 1j * rng.normal(size=values.shape))
        values[:, [4, 30]] = np.nan
        values[13] = np.nan
        return values

    def test_peak(self):
        """Delay and rate of a signal that comes later to the second input; the errors are those of
        what many trials give."""
        exact = fringes.find_fringe(self.fringe(3.7e-6, -0.0213, 0), 25e3, 0.5)
        self.assertAlmostEqual(exact.delay * 1e6, 3.7, 2)
        self.assertAlmostEqual(exact.rate, -0.0213, 4)
        self.assertAlmostEqual(exact.amplitude, 1, 2)
        found = [
            fringes.find_fringe(self.fringe(3.7e-6, -0.0213, 1.0, seed), 25e3, 0.5)
            for seed in range(40)
        ]
        self.assertTrue(all(fringe.clear for fringe in found))
        for name, truth in (("delay", 3.7e-6), ("rate", -0.0213)):
            values = np.array([getattr(fringe, name) for fringe in found])
            error = np.mean([getattr(fringe, name + "_error") for fringe in found])
            # 40 trials give the standard deviation to 11 %; the sidelobes count as noise
            self.assertLess(abs(np.std(values) / error - 1), 0.5, name)
            self.assertLess(abs(values.mean() - truth), 4 * error / np.sqrt(40) + 0.02 * error)
        noise = fringes.find_fringe(self.fringe(0, 0, 1.0) - self.fringe(0, 0, 0), 25e3, 0.5)
        self.assertFalse(noise.clear)

    def test_spectrum_is_the_sum(self):
        values = self.fringe(1e-6, 0.03, 0.5)
        delays, rates, spectrum = fringes.delay_rate_spectrum(values, 25e3, 0.5)
        good = np.isfinite(values)
        frequency, time = 25e3 * np.arange(61), 0.5 * np.arange(47)
        for row, column in ((0, 0), (100, 300), (188, 244)):
            phasor = np.exp(2j * np.pi * (frequency * delays[column] - time[:, None] * rates[row]))
            expected = (values * phasor)[good].sum() / good.sum()
            self.assertAlmostEqual(spectrum[row, column], expected, 10)

    def test_closure(self):
        """Phases of antennas do not change it; that of the structure of a source stays."""
        rng = np.random.default_rng(2)
        phases = rng.uniform(-np.pi, np.pi, (3, 5, 7))
        ab, bc, ac = (np.exp(1j * (phases[j] - phases[i])) for i, j in ((0, 1), (1, 2), (0, 2)))
        np.testing.assert_allclose(
            fringes.closure_phase(ab, bc, ac * np.exp(-0.3j)), np.degrees(0.3), atol=1e-9
        )
        pairs = [(a, b) for a in range(5) for b in range(a + 1, 5) if (a, b) != (1, 3)]
        found = fringes.triangles(pairs, 100)
        self.assertEqual(
            found, [(0, 1, 2), (0, 1, 4), (0, 2, 3), (0, 2, 4), (0, 3, 4), (1, 2, 4), (2, 3, 4)]
        )
        self.assertEqual(len(fringes.triangles(pairs, 3)), 3)
        self.assertEqual(fringes.triangles([(0, 1)]), [])

    def test_texts(self):
        for values, text in (
            ((-3.24e-8, 2e-10), "−32.4 ± 0.2 ns"),
            ((9.85e-7, 7e-7), "1.0 ± 0.7 µs"),
            ((1.2e-8, 3e-8), "10 ± 30 ns"),
            ((3e-11, 2e-10), "0.0 ± 0.2 ns"),
        ):
            self.assertEqual(style.delay_text(*values, with_error=True), text)
        # an eighth of the lags that there are, and a little more
        self.assertEqual(style.delay_text(-1.2e-5, 1e-8, 1.067e-4), "−12.00 µs")
        self.assertEqual(
            style.delay_text(-4.66667e-5, 1e-8, 1.0666667e-4),
            "−46.67 µs (or n · 106.67 µs more or less)",
        )
        fringe = fringes.Fringe(3.7e-6, -0.0213, 1e-8, 2e-4, 1.0, True)
        self.assertEqual(fringe_text(fringe, True), "delay 3.70 ± 0.01 µs, rate −21.3 ± 0.2 mHz")
        self.assertEqual(fringe_text(fringe, False), "delay 3.70 ± 0.01 µs")


if __name__ == "__main__":
    gr_unittest.run(qa_fringes)
