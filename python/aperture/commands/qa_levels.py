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
from gnuradio.aperture.commands import levels


class qa_levels(gr_unittest.TestCase):

    def test_interference_does_not_set_the_gain(self):
        random = np.random.default_rng(8)
        shape = (200, 3, 64)
        spectra = 3 * (random.normal(size=shape) + 1j * random.normal(size=shape))
        spectra[:, 1, 7] += 1e4
        spectra[50:, 0] = 0  # lost
        spectra[:, 2] = 0    # dead
        gains = levels.gains_for(spectra.astype(np.complex64))
        # 50 x 64 complex values: 0.9 %
        np.testing.assert_allclose(gains[:2], 20 / 3, rtol=0.03)
        self.assertTrue(np.isnan(gains[2]))

    def test_gains_of_dead_inputs(self):
        nan = np.nan
        for gains, filled, texts in (
                ([3.0, 5.0], [3.0, 5.0], []),
                ([3.0, nan, 5.0, 9.0], [3.0, 5.0, 5.0, 9.0],
                 ["input b is zero where the gain is measured: its gain is 5, as that of the "
                  "others"]),
                ([nan, nan], [1.0, 1.0], [f"input {name} is zero where the gain is measured: its "
                                          "gain is 1" for name in "ab"])):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found, told = levels.fill_gains(np.array(gains), "abcd"[:len(gains)])
            np.testing.assert_array_equal(found, filled)
            self.assertEqual(told, texts)


if __name__ == '__main__':
    gr_unittest.run(qa_levels)
