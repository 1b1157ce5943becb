#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Telescopes that recordings name."""

from gnuradio import gr_unittest

from gnuradio.aperture.arrays import telescopes


class qa_telescopes(gr_unittest.TestCase):
    def test_telescopes(self):
        name, latitude, longitude, height = telescopes.find_telescope("EFFELSBERG_100m")
        self.assertEqual(name, "Effelsberg")
        self.assertAlmostEqual(latitude, 50.5248, places=3)
        self.assertAlmostEqual(longitude, 6.8836, places=3)
        self.assertIsNone(telescopes.find_telescope("Nowhere"))
        for alias, name in telescopes.ALIASES.items():
            self.assertEqual(telescopes.find_telescope(alias.upper())[0], name)
        for latitude, longitude, height in telescopes.TELESCOPES.values():
            self.assertTrue(-90 < latitude < 90 and -180 < longitude < 180 and 0 < height < 5000)
        description, warnings = telescopes.array_of_recording("Effelsberg", 2, 1e6, 1e9)
        self.assertEqual((description.input_names, warnings), (["Effelsbergx", "Effelsbergy"], []))


if __name__ == "__main__":
    gr_unittest.run(qa_telescopes)
