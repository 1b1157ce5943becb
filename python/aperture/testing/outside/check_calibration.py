#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Checks the files of write_calibration.py with pyuvdata: check_calibration.py FOLDER

Runs in the venv of tools/outside-venv, which has no GNU Radio and nothing of this module.
"""

import sys
import unittest
import warnings
from pathlib import Path

import numpy as np
from astropy.utils import iers
from pyuvdata import UVCal, UVData
from pyuvdata.utils import uvcalibrate

# nothing is downloaded: what comes with the pinned astropy-iers-data is enough for these dates
iers.conf.auto_download = False
iers.conf.auto_max_age = None

FOLDER = Path(".")


class check_calibration(unittest.TestCase):
    def read(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            calibration = UVCal.from_file(FOLDER / "cal.calh5")
            self.assertTrue(calibration.check(check_extra=True, run_check_acceptability=True))
        return calibration

    def test_header(self):
        calibration = self.read()
        self.assertEqual(calibration.cal_type, "gain")
        self.assertEqual(calibration.gain_convention, "divide")
        self.assertEqual(calibration.ref_antenna_name, "A9")
        self.assertEqual(list(calibration.jones_array), [-5, -6])
        self.assertEqual(list(calibration.telescope.antenna_names), ["A9", "A10", "B2", "C"])
        # integrations of 2000 spectra of 16 us, a second apart
        np.testing.assert_allclose(
            (calibration.time_range[0] - 2460310.5) * 86400, [-0.016, 2.016], atol=1e-3
        )

    def test_uvcalibrate(self):
        """pyuvdata's arithmetic with the file is ours, and makes the visibilities those of the
        source."""
        expected = np.load(FOLDER / "corrected.npz")
        inputs = list(expected["inputs"])
        data = UVData.from_file(FOLDER / "raw.uvh5")
        raw = data.copy()
        with warnings.catch_warnings():
            # the warning that nobody said how Stokes parameters are defined
            warnings.filterwarnings("ignore", message=".*pol_convention.*")
            uvcalibrate(data, self.read(), time_check=True)
        model = np.load(FOLDER / "model.npy")
        numbers = dict(zip(data.telescope.antenna_names, data.telescope.antenna_numbers))
        worst, before, seen = 0, 0, 0
        for i, one in enumerate(inputs):
            for j, two in enumerate(inputs[: i + 1]):
                if one[-1] != two[-1] or one[:-1] == two[:-1]:
                    continue
                # (ant_1, ant_2) is conj(x_1) x_2, and V[i,j] is x_i conj(x_j)
                key = (
                    int(numbers[two[:-1]]),
                    int(numbers[one[:-1]]),
                    {"x": "nn", "y": "ee"}[one[-1]],
                )
                found, flags = data.get_data(key), data.get_flags(key)
                np.testing.assert_array_equal(flags[:, [7, 8, 30]], True)
                there = ~flags
                ours = expected["products"][:, :, i * (i + 1) // 2 + j]
                np.testing.assert_allclose(found[there], ours[there], rtol=1e-5)
                over = model[:, i * (i + 1) // 2 + j]
                worst = max(
                    worst, np.abs(np.angle((found.mean(0) / over)[there[0]], deg=True)).max()
                )
                before = max(
                    before,
                    np.abs(np.angle((raw.get_data(key).mean(0) / over)[there[0]], deg=True)).max(),
                )
                self.assertLess(flags.mean(), 0.2)
                seen += 1
        self.assertEqual(seen, 12)
        # coherence 20/21 of 6000 spectra: 0.23 degrees on a baseline, less after the fit
        self.assertLess(worst, 2)
        self.assertGreater(before, 100)

    def test_written_again(self):
        """Lets pyuvdata write a file again for read_calibration.py."""
        self.read().write_calh5(FOLDER / "again.calh5", clobber=True)


if __name__ == "__main__":
    FOLDER = Path(sys.argv.pop())
    unittest.main()
