# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/design/scale.md are those of bench/scale.py, whose sums are right."""

import sys
import unittest

from places import SOURCE, main

sys.path.insert(0, str(SOURCE / "bench"))

import scale


class TestScale(unittest.TestCase):
    def test_page(self):
        text = scale.PAGE.read_text()
        self.assertEqual(scale.filled(text), text, "bench/scale.py --write brings it up to date")

    def test_known(self):
        """The page agrees with what others say of these arrays."""
        arrays = {array.name: array for array in scale.ARRAYS}
        # one 10 GbE link (arXiv 1412.4907)
        self.assertAlmostEqual(8 * arrays["BEST-2"].voltages, 5.12e9)
        # 64 x 2 digitisers of 17.12 Gbit/s
        meerkat = arrays["MeerKAT, 64 antennas"]
        self.assertAlmostEqual(8 * meerkat.raw, 64 * 2 * 17.12e9)
        self.assertAlmostEqual(meerkat.x_gpus * scale.XENGINE[64] * 1e12, 8 * 8256 * 856e6)

    def test_measured(self):
        """The rates are those of docs/performance.md."""
        page = (SOURCE / "docs/performance.md").read_text()
        for antennas, rate in scale.XENGINE.items():
            self.assertRegex(page, rf"\n\| {antennas} \| [^|]+\| [\d.]+ \| [\d.]+ \| {rate} \|")
        for (_, _channels), rate in scale.FENGINE.items():
            self.assertRegex(page, rf"\b{rate}\b")
        self.assertIn("51.6", page)


if __name__ == "__main__":
    main()
