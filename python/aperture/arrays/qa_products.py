#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

from gnuradio import aperture, gr_unittest


class qa_products(gr_unittest.TestCase):
    def setUp(self):
        self.array = aperture.load_array("y8")
        self.names = self.array.input_names

    def test_names(self):
        """Every pair of names gives the numbers that the names have in the description."""
        for a, name_a in enumerate(self.names):
            for b, name_b in enumerate(self.names):
                self.assertEqual(aperture.products(self.array, [(name_a, name_b)]), [(a, b)])

    def test_numbers_and_mixtures(self):
        last = len(self.names) - 1
        pairs = [(0, last), (self.names[last], 0), [last, self.names[1]]]
        self.assertEqual(aperture.products(self.array, pairs), [(0, last), (last, 0), (last, 1)])

    def test_array_by_name(self):
        pair = (self.names[1], self.names[0])
        self.assertEqual(aperture.products("y8", [pair]), [(1, 0)])

    def test_for_select(self):
        """The result is what select takes, and what it says it has."""
        pairs = aperture.products(self.array, [(self.names[3], self.names[1]), (2, 2)])
        block = aperture.select(16, len(self.names), pairs)
        self.assertEqual([tuple(pair) for pair in block.products()], [(3, 1), (2, 2)])

    def test_errors(self):
        for wrong in ("nonesuch", len(self.names), -1):
            with self.assertRaisesRegex((ValueError, KeyError), str(wrong)):
                aperture.products(self.array, [(0, wrong)])
        for wrong in ("xy", (1,), (0, 1, 2)):
            with self.assertRaisesRegex(ValueError, "a pair of inputs"):
                aperture.products(self.array, [wrong])


if __name__ == "__main__":
    gr_unittest.run(qa_products)
