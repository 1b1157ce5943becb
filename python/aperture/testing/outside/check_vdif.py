#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""VDIF of vdif_sink as baseband reads it: check_vdif.py FOLDER"""

import sys
import unittest
import warnings
from pathlib import Path

import numpy as np
from astropy import units
from astropy.time import Time
from baseband import vdif
from baseband.base.encoding import EIGHT_BIT_1_SIGMA, FOUR_BIT_1_SIGMA

FOLDER = Path(sys.argv.pop())
#: the unit of the codes in rms, as docs/vlbi.md has it
STEPS = {1: 1.0, 2: 0.98, 4: 0.3534, 8: 0.03087}
# ERFA calls dates in the future dubious
warnings.simplefilter("ignore")


def decoded(values, bits):
    """Returns what baseband makes of real numbers whose rms is 1, by its own levels."""
    units_of = values.astype(np.float64) / STEPS[bits]
    if bits == 1:
        return np.where(units_of >= 0, 1.0, -1.0)
    if bits == 2:
        return np.where(np.abs(units_of) >= 1, 3.316505, 1.0) * np.where(units_of >= 0, 1, -1)
    most = (1 << bits - 1) - 1
    whole = np.clip(np.rint(units_of), -most, most)
    return whole / FOUR_BIT_1_SIGMA if bits == 4 else (whole + 0.5) / EIGHT_BIT_1_SIGMA


class Check(unittest.TestCase):
    def check(self, name):
        found = np.load(FOLDER / f"{name}.npz")
        bits, inputs, channels = (int(found[key]) for key in ("bits", "inputs", "channels"))
        parts = 2 if found["is_complex"] else 1
        samples = int(found["size"]) * 8 // (bits * parts * channels)
        rate = float(found["rate"]) * units.Hz
        start = Time(int(found["start"]), float(found["fraction"]), format="unix")
        path = str(FOLDER / f"{name}.vdif")
        # the rate is that of the header where it has one, else that of the frames of a second
        with vdif.open(path, "rs", squeeze=False) as file:
            self.assertAlmostEqual((file.sample_rate / rate).to_value(units.one), 1, 9)
        with vdif.open(path, "rs", sample_rate=rate, squeeze=False, fill_value=np.nan) as file:
            # from the first whole frame on
            self.assertEqual(file.sample_shape, (inputs // channels, channels))
            lead = round(((file.start_time - start) * rate).to_value(units.one))
            self.assertLess(lead, samples)
            self.assertLess(
                abs((file.start_time - start).to_value(units.ns) - lead * 1e9 / rate.value), 1
            )
            self.assertEqual(file.header0.station, "Ef")
            self.assertEqual(file.header0.edv, int(found["edv"]))
            if file.header0.edv == 3:
                self.assertTrue(file.header0["sideband"])
            data = file.read()
        self.assertGreater(len(data), len(found["values"]) - 2 * samples)
        values = found["values"][lead : lead + len(data)].reshape(data.shape)
        expected = decoded(values.real, bits)
        if parts == 2:
            expected = expected + 1j * decoded(values.imag, bits)
        at = (int(found["invalid"]) - lead) // samples
        expected[at * samples : (at + 1) * samples] = np.nan
        wrong = ~np.isclose(data, expected, rtol=1e-6, equal_nan=True)
        # values are divided by the step in single precision
        self.assertLess(np.count_nonzero(wrong), 1e-5 * wrong.size + 1)
        self.assertTrue(np.isnan(data).any())

    def test_one(self):
        self.check("one")

    def test_two(self):
        self.check("two")

    def test_four(self):
        self.check("four")

    def test_eight(self):
        self.check("eight")


if __name__ == "__main__":
    unittest.main()
