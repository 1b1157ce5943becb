#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Axes of time: where marks are, and what they say in UTC, local and sidereal time."""

import os
import time
from unittest import mock

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays.earth_rotation import sidereal_time
from gnuradio.aperture.plots.style import PlotError
from gnuradio.aperture.plots.time_axis import DAY, Zone, clock_text, dates_of, step_for, time_axis

START = 1704067200  # 2024-01-01
JULIAN = 2460310.5


class qa_time_axis(gr_unittest.TestCase):
    def test_steps(self):
        for span, step in (
            (0.004, 0.001),
            (0.3, 0.1),
            (2.4, 0.5),
            (4, 1),
            (20, 5),
            (61, 15),
            (290, 60),
            (7200, 1800),
            (DAY, 21600),
            (7 * DAY, 2 * DAY),
        ):
            self.assertAlmostEqual(step_for(span, 5), step, 9)
            self.assertLessEqual(span / step_for(span, 5), 5 + 1e-9)

    def test_texts(self):
        for seconds, step, text in (
            (3723, 60, "01:02"),
            (3723, 1, "01:02:03"),
            (3723.456, 0.001, "01:02:03.456"),
            (3723.2, 0.5, "01:02:03.2"),
            (86399.9999, 0.01, "00:00:00.00"),
            (DAY + 5, 5, "00:00:05"),
            (-3600, 60, "23:00"),
        ):
            self.assertEqual(clock_text(seconds, step), text)

    def test_zones(self):
        berlin = Zone("Europe/Berlin")
        # summer time begins in the last night of March, at 1:00 UTC
        change = 1711846800
        self.assertEqual([berlin.offset(change - 1), berlin.offset(change)], [3600, 7200])
        self.assertEqual([berlin.name(change - 1), berlin.name(change)], ["CET", "CEST"])
        self.assertEqual(berlin.text(START), "2024-01-01 01:00:00 CET")
        self.assertEqual(Zone("Asia/Kathmandu").offset(START), 20700)
        for name in ("Europe/Nowhere", "", "../x", "a\0b"):
            with self.assertRaisesRegex(PlotError, "--time-zone .*: no such zone"):
                Zone(name)
        try:
            with mock.patch.dict(os.environ, TZ="America/Lima"):
                time.tzset()
                self.assertEqual(Zone().offset(START), -5 * 3600)
        finally:
            time.tzset()

    def marks(self, axis):
        """Places and texts of the marks that are seen."""
        low, high = sorted(axis.get_view_interval())
        return [
            (place, label.get_text())
            for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels())
            if low - 1e-9 <= place <= high + 1e-9
        ]

    def test_axis(self):
        times = JULIAN + np.arange(31) / DAY
        for zone, second in ((Zone("Asia/Kathmandu"), "\n05:45:"), (Zone("UTC"), "")):
            figure, axis = plt.subplots()
            axis.plot(dates_of(times), np.zeros(31))
            axis.set_xlim(*dates_of(times)[[0, -1]])
            time_axis(axis, times, 10.0, zone)
            figure.canvas.draw()
            self.assertEqual(
                [text for _, text in self.marks(axis.xaxis)],
                [f"00:00:{s:02d}" + (second and f"{second}{s:02d}") for s in range(0, 31, 10)],
            )
            for number, (place, _) in enumerate(self.marks(axis.xaxis)):
                self.assertAlmostEqual(place * DAY, START + 10 * number, 4)
            self.assertEqual(
                axis.get_xlabel(), "UTC, 2024-01-01" + ("; below it +0545" if second else "")
            )
            (upper,) = axis.child_axes
            hours = np.degrees(sidereal_time(times[0], 10.0)) / 15
            for place, text in self.marks(upper.xaxis):
                h, m, s = map(int, text.split(":"))
                self.assertAlmostEqual((h * 3600 + m * 60 + s) / 3600, place % 24, 6)
                self.assertLess(0, (place - hours) * 3600)
            plt.close(figure)


if __name__ == "__main__":
    gr_unittest.run(qa_time_axis)
