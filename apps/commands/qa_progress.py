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

    def test_what_is_left(self):
        """By the share that is done; nothing where the end is not known, or was asked for."""
        for total, note, expected in (
            (400_000, "", ", 6 min left$"),
            (40_000_000, "", r", 10 h 11 min left$"),
            (None, "", "real time$"),
            (61_000, "", "real time$"),
            (400_000, "ending", "real time$"),
        ):
            stream = io.StringIO()
            bar = progress.ProgressBar(stream, total, 1e3)
            begin = progress.time.monotonic()
            with mock.patch.object(progress.time, "monotonic", lambda: begin + 61):
                bar.show(61_000 if total != 40_000_000 else 66_500, note)
            self.assertRegex(stream.getvalue().rstrip("\n"), expected)
        for seconds, text in (
            (0.2, "1 s"),
            (118.2, "119 s"),
            (119.5, "2 min"),
            (121, "3 min"),
            (7201, "2 h 01 min"),
        ):
            self.assertEqual(progress.left_text(seconds), f"{text} left")

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
