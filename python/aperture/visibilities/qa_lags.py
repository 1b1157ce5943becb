#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The arrays that are plotted of visibilities, without drawing."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.formats.uvh5.reader import Product, VisibilityFile
from gnuradio.aperture.plots import style
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.visibility_files import write_array
from gnuradio.aperture.visibilities import lags


class qa_lags(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.uvh5 = self.path("a.uvh5")

    def test_lags_of_a_delay_are_the_dirichlet_kernel(self):
        channels, width, delay = 31, 12.5e3, 7.3e-6
        spectrum = 0.4 * np.exp(-2j * np.pi * width * np.arange(channels) * delay + 1j)
        delays, found = lags.lags(spectrum, width)
        x = np.pi * width * (delays - delay)
        expected = 0.4 * np.abs(np.sin(channels * x) / (channels * np.sin(x)))
        # float64 FFT of 248 points
        np.testing.assert_allclose(np.abs(found), expected, atol=1e-12)
        self.assertLess(abs(delays[np.argmax(np.abs(found))] - delay), 1 / (16 * channels * width))

    def test_finer_lags_end_where_lags_do(self):
        """Lags repeat themselves: the last one is the first one, and so is each finer lag
        between."""
        channels, width = 31, 12.5e3
        delay = 0.49 / width
        delays, found = lags.lags(np.exp(-2j * np.pi * width * np.arange(channels) * delay), width)
        finer, magnitudes = lags.finer_lags(delays, np.abs(found), 3 / width)
        self.assertAlmostEqual(finer[-1] * width, 0.5, places=9)
        x = np.pi * width * (finer - delay)
        expected = np.abs(np.sin(channels * x) / (channels * np.sin(x)))
        np.testing.assert_allclose(magnitudes, expected, atol=3e-3)

    def test_lags_leave_flagged_channels_out(self):
        spectrum = np.full(20, 0.5 + 0j)
        spectrum[[3, 4, 11]] = np.nan
        delays, found = lags.lags(spectrum, 1e3)
        self.assertAlmostEqual(abs(found[np.flatnonzero(delays == 0)[0]]), 0.5, places=12)
        self.assertTrue(np.all(np.isfinite(found)))
        self.assertFalse(np.any(lags.lags(np.full(20, np.nan + 0j), 1e3)[1]))

    def test_lags_over_time_are_a_root_mean_square(self):
        random = np.random.default_rng(1)
        values = random.normal(size=(3, 7, 40000)) + 1j * random.normal(size=(3, 7, 40000))
        delays, found = lags.root_mean_square_lags(values, 100.0)
        whole = np.sqrt(np.mean(np.abs(lags.lags(values[1], 100.0)[1]) ** 2, axis=0))
        np.testing.assert_allclose(found[1], whole, rtol=1e-10)
        # Fringes that rotate by half a cycle an integration must not cancel.
        values = np.ones((1, 4, 16)) * np.array([1, -1, 1, -1])[:, None] + 0j
        delays, found = lags.root_mean_square_lags(values, 1.0)
        self.assertAlmostEqual(found[0][np.flatnonzero(delays == 0)[0]], 1.0, places=12)

    def test_coherence_and_decibels(self):
        found = lags.coherence(
            np.array([3 + 4j, 1, 1]), np.array([25.0, 0, np.nan]), np.array([4.0, 1, 1])
        )
        self.assertAlmostEqual(found[0], 0.3 + 0.4j)
        self.assertTrue(np.all(np.isnan(found[1:])))
        levels = style.decibels([100.0, 0.5, 0.0, -1.0])
        np.testing.assert_allclose(levels[:2], [20, -3.0103], atol=1e-4)
        self.assertTrue(np.all(np.isnan(levels[2:])))

    def test_matrix_has_correlation_and_phase_at_band_centre(self):
        frequencies = write_array(
            self.uvh5, 3, ("xx", "yy", "xy", "yx"), channels=50, correlation=0.2
        )
        centre = (frequencies[0] + frequencies[-1]) / 2
        with VisibilityFile(self.uvh5) as file:
            matrix, inputs = lags.correlation_matrix(file, 0)
        self.assertEqual(inputs, [(a, p) for a in range(3) for p in "xy"])
        for i, (a, _) in enumerate(inputs):
            for j, (b, _) in enumerate(inputs[:i]):
                # The grid of lags has steps of a half: it misses the peak by at most a quarter
                # of the resolution, where the Dirichlet kernel is 0.90
                self.assertLess(abs(abs(matrix[j, i]) - 0.19), 0.011)
                phase = np.angle(matrix[j, i] * np.exp(2j * np.pi * centre * 30e-9 * (a - b)))
                self.assertLess(abs(phase), 1e-4)
                self.assertEqual(matrix[i, j], np.conj(matrix[j, i]))
        np.testing.assert_allclose(np.diag(matrix), 1, atol=1e-6)

    def test_products_by_name(self):
        write_array(self.uvh5, 3, ("xx", "yy", "xy", "yx"))
        with VisibilityFile(self.uvh5) as file:
            self.assertEqual(
                lags.find_products(file, "A1-A3, A3y-A2x"),
                [Product(0, 2, "xx"), Product(0, 2, "yy"), Product(1, 2, "xy")],
            )
            self.assertEqual(
                lags.find_products(file, "A3-A1"), [Product(0, 2, "xx"), Product(0, 2, "yy")]
            )
            self.assertEqual(lags.find_products(file, "A2-A2"), [Product(1, 1, "xy")])
            self.assertEqual(file.label(Product(1, 2, "xy")), "A2x–A3y")
            self.assertEqual(file.length(Product(0, 2, "xx")), 14)
            for wrong in ("A1-A4", "A1", "", "A1x-A2"):
                with self.assertRaisesRegex(ValueError, "--baselines"):
                    lags.find_products(file, wrong)
            chosen = lags.spread(file.crosses(), 4, file)
        lengths = [abs(product.first - product.second) for product in chosen]
        self.assertEqual((len(chosen), lengths[0], lengths[-1]), (4, 1, 2))


if __name__ == "__main__":
    gr_unittest.run(qa_lags)
