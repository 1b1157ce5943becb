#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Gains of the inputs."""

import warnings

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.builder import levels


class qa_levels(gr_unittest.TestCase):
    def test_interference_does_not_set_the_gain(self):
        random = np.random.default_rng(8)
        shape = (200, 3, 64)
        spectra = 3 * (random.normal(size=shape) + 1j * random.normal(size=shape))
        spectra[:, 1, 7] += 1e4
        spectra[50:, 0] = 0  # lost
        spectra[:, 2] = 0  # dead
        gains = levels.gains_for(spectra.astype(np.complex64))
        # 50 x 64 complex values: 0.9 %
        np.testing.assert_allclose(gains[:2], 20 / 3, rtol=0.03)
        self.assertTrue(np.isnan(gains[2]))

    def test_wrong_samples_and_stuck_receivers(self):
        """One sample of 3e38, under the prototypes of eight spectra, changes no gain by more than
        the spectra that are left out do; a constant, through a filter with side lobes and float's
        rounding, has none."""
        random = np.random.default_rng(9)
        for channels in (16, 64, 255):
            shape = (100, 3, channels)
            spectra = 3 * (random.normal(size=shape) + 1j * random.normal(size=shape))
            spectra[20:28, 0] += 3e37 * random.normal(size=(8, channels))
            spectra[:, 2] *= 1e-8 / 3
            middle = channels // 2
            for distance, level in enumerate((0, -44.4, -74.9, -90, -100.3)):
                for channel in (middle - distance, middle + distance):
                    spectra[:, 2, channel] += 28 * 10 ** (level / 20)
            gains = levels.gains_for(spectra.astype(np.complex64))
            np.testing.assert_allclose(gains[:2], 20 / 3, rtol=6 / np.sqrt(100 * channels))
            self.assertTrue(np.isnan(gains[2]))
        # a carrier in noise 70 dB below it is no constant, wherever it lies
        for channel in (0, 32, 63, 5):
            spectra = random.normal(size=(100, 1, 64)) + 1j * random.normal(size=(100, 1, 64))
            spectra[:, 0, channel] += 3e4
            self.assertFalse(np.isnan(levels.gains_for(spectra)[0]))

    def test_gains_of_dead_inputs(self):
        nan = np.nan
        for gains, filled, texts in (
            ([3.0, 5.0], [3.0, 5.0], []),
            (
                [3.0, nan, 5.0, 9.0],
                [3.0, 5.0, 5.0, 9.0],
                [
                    "input b does not change where the gain is measured (a receiver that is stuck, "
                    "or off?): its gain is 5, as that of the others"
                ],
            ),
            (
                [nan, nan],
                [1.0, 1.0],
                [
                    f"input {name} does not change where the gain is measured (a receiver that is "
                    "stuck, or off?): its gain is 1"
                    for name in "ab"
                ],
            ),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found, told = levels.fill_gains(np.array(gains), "abcd"[: len(gains)])
            np.testing.assert_array_equal(found, filled)
            self.assertEqual(told, texts)


if __name__ == "__main__":
    gr_unittest.run(qa_levels)
