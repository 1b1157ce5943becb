# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""bench/writers.py writes what it says it measures."""

import sys
import tempfile
import unittest

from places import SOURCE, main

sys.path.insert(0, str(SOURCE / "bench"))

import writers

SIZE = 3e6  # bytes of a row
ITEM = 4e6  # bytes, of the largest one
#: groups that need packages which may not be there
OTHERS = ("ms", "uvfits")


class TestBenchWriters(unittest.TestCase):
    def test_cases(self):
        """Each row writes so many bytes, and what comes before the first time is left out."""
        for case in writers.CASES:
            if case.group in OTHERS or "1000 beams" in case.text:
                continue
            with self.subTest(case.text), tempfile.TemporaryDirectory() as folder:
                seconds, part = case.write(folder, SIZE)
                written = sum(path.stat().st_size for path in writers.files_in(folder))
            self.assertGreater(seconds, 0)
            self.assertTrue(0 < part <= 1)
            self.assertTrue(0.6 * SIZE < part * written < SIZE + ITEM, (part, written))

    def test_plain(self):
        """write(2) writes files of the same sizes."""
        with tempfile.TemporaryDirectory() as folder:
            self.assertGreater(writers.plain(folder, [5, 3_000_000]), 0)
            sizes = sorted(path.stat().st_size for path in writers.files_in(folder))
        self.assertEqual(sizes, [5, 3_000_000])

    def test_measures(self):
        """A row has the rates of both for the same bytes."""
        calls = []

        def write(folder, size):
            calls.append(size)
            with open(f"{folder}/x", "wb") as file:
                file.write(bytes(4_000_000))
            return 2.0, 0.5

        with tempfile.TemporaryDirectory() as folder:
            found = writers.measure(writers.Case("x", "x", write), folder, 4e6, 3)
        self.assertEqual(calls, 3 * [4e6])
        self.assertEqual((found["writer"], found["files"]), (1.0, 1))
        self.assertGreater(found["write"], 0)


if __name__ == "__main__":
    main()
