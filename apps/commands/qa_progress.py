#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The progress bar and the tables of the commands."""

import io
from unittest import mock

from gnuradio import gr_unittest

from gnuradio.aperture.commands import progress, tables


class terminal(io.StringIO):
    def isatty(self):
        return True


class qa_progress(gr_unittest.TestCase):
    def test_progress_bar_is_for_terminals(self):
        stream = io.StringIO()
        progress.ProgressBar(stream, 1000, 1e3).show(500)
        self.assertEqual(stream.getvalue(), "")

        stream, now = terminal(), 7.0
        with mock.patch.object(progress.time, "monotonic", lambda: now):
            bar = progress.ProgressBar(stream, 1000, 1e3)
            now += 0.05
            bar.show(500)
            bar.show(750, "ending")
            bar.clear()
        first, second, empty = stream.getvalue().split("\r")[1:4]
        self.assertRegex(first, r"^\[#+-+\]  50 % .*sample/s, \S+ x real time, 1 s left")
        self.assertLessEqual(abs(first.count("#") - first.count("-")), 1)
        self.assertRegex(second, r"  75 % .*ending")
        self.assertEqual(empty.strip(), "")
        self.assertLess(max(map(len, (first, second))), 80)

        stream = terminal()
        progress.ProgressBar(stream, None, 1e3).show(1500)
        self.assertIn("1.5 s of signal", stream.getvalue())

    def test_losses(self):
        """Losses are in the bar, and in the line that a log gets each minute."""
        stream = terminal()
        progress.ProgressBar(stream, None, 1e3).show(1500, "", "3 missing")
        self.assertIn("x real time, 3 missing", stream.getvalue())

        stream = io.StringIO()
        bar = progress.ProgressBar(stream, None, 1e3)
        begin = progress.time.monotonic()
        with mock.patch.object(progress.time, "monotonic", lambda: begin + later):
            for later in (1, 59, 61, 62, 121):
                bar.show(1000 * later, "", "3 missing")
        lines = stream.getvalue().splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r"^61.0 s of signal, 1000 sample/s, 1 x real time, 3 missing$")
        bar.clear()
        self.assertEqual(len(stream.getvalue().splitlines()), 2)

    def test_numbers_with_units(self):
        self.assertEqual(tables.with_prefix(16e6, "sample/s"), "16 Msample/s")
        self.assertEqual(tables.with_prefix(2.4414e4, "Hz"), "24.41 kHz")
        self.assertEqual(tables.with_prefix(0.5, "Hz"), "0.5 Hz")
        self.assertEqual(tables.seconds_text(0.000944), "944 µs")
        self.assertEqual(tables.seconds_text(3600), "3600 s")
        self.assertEqual(
            tables.table([("a", "1"), ("long", "22", "3")]), "  a     1\n  long  22  3"
        )


if __name__ == "__main__":
    gr_unittest.run(qa_progress)
