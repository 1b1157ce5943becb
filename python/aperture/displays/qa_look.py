#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Marks of the displays' axes."""

import math
import os
import sys

from gnuradio import gr_unittest

try:
    from gnuradio.aperture.displays import look
except ImportError:
    dirname, filename = os.path.split(os.path.abspath(__file__))
    sys.path.append(os.path.join(dirname, "..", "bindings"))
    from gnuradio.aperture.displays import look


class qa_look(gr_unittest.TestCase):
    def test_marks_of_utc(self):
        """An axis of any length that moves on with the time has marks all the while."""
        begin = 1704067200.0
        for length in (0.7, 3, 8.5, 59, 61, 300, 3599, 7200, 86000, 200000):
            for step in range(50):
                low = begin + step * length / 17
                spacing = look.utc_spacing(length, 6)
                count = math.floor((low + length) / spacing) - math.ceil(low / spacing) + 1
                self.assertTrue(2 <= count <= 7, (length, step, spacing, count))
                self.assertTrue(spacing in look.UTC_SPACINGS or spacing % 86400 == 0)

    def test_marks_of_a_short_axis(self):
        self.assertEqual(look.utc_spacing(8, 3), 5)
        self.assertEqual(look.utc_spacing(9, 6), 2)
        self.assertEqual(look.utc_spacing(7 * 86400, 3), 3 * 86400)


if __name__ == "__main__":
    gr_unittest.run(qa_look)
