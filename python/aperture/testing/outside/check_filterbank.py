#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Checks of blimpy on the files of write_filterbank.py: check_filterbank.py FOLDER"""

import sys
import unittest
from pathlib import Path

import numpy as np
from blimpy import Waterfall


class FilterbankTest(unittest.TestCase):
    def setUp(self):
        self.cases = [(path.stem, np.load(path)) for path in sorted(FOLDER.glob("*.npz"))]
        self.assertEqual(len(self.cases), 12)

    def files(self):
        """Name of the case, what is expected, the file, and the beams in it."""
        for name, case in self.cases:
            beams = case["items"].shape[1]
            for number, file in enumerate(case["files"]):
                inside = range(beams) if len(case["files"]) == 1 else [number]
                yield name, case, Waterfall(str(FOLDER / str(file))), list(inside)

    def test_values(self):
        for name, case, file, beams in self.files():
            expected = case["items"][:, beams]
            # [time][if][channel], from the highest channel down
            found = file.data[..., ::-1].reshape(expected.shape)
            if case["nbits"] == 32:
                np.testing.assert_array_equal(found, expected, name)
                continue
            offset, step = case["offset"][beams], case["step"][beams]
            inside = (found > 0) & (found < 255)
            self.assertGreater(inside.mean(), 0.999)
            off = np.abs(offset + step * found.astype(float) - expected) / step
            # half a step, and the rounding of a float
            self.assertLess(off[inside].max(), 0.5 + 1e-3, name)

    def test_header(self):
        for name, case, file, beams in self.files():
            header = file.header
            channels = len(case["frequencies"])
            np.testing.assert_allclose(
                file.get_freqs()[::-1], case["frequencies"] / 1e6, rtol=1e-12, err_msg=name
            )
            self.assertEqual(
                (header["nchans"], header["nbits"], header["telescope_id"]),
                (channels, int(case["nbits"]), 4),
            )
            self.assertEqual(header["tsamp"], float(case["interval"]))
            # a double is good to 0.6 us in a modified Julian date
            self.assertAlmostEqual((header["tstart"] - float(case["start"])) * 86400, 0, delta=1e-6)
            self.assertEqual(header["nifs"], case["items"].shape[2] * len(beams))
            if np.isfinite(case["ra"][beams[0]]):
                # blimpy has these as angles
                self.assertAlmostEqual(header["src_raj"].deg, case["ra"][beams[0]], delta=1e-6)
                self.assertAlmostEqual(header["src_dej"].deg, case["dec"][beams[0]], delta=1e-6)


if __name__ == "__main__":
    FOLDER = Path(sys.argv.pop())
    unittest.main()
