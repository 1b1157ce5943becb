#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

from fractions import Fraction

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.transients import (
    DISPERSION_CONSTANT,
    TrialLayout,
    channel_frequencies,
    delay,
    parse_range,
    plan_trials,
    rounded_delays,
)

# the band and rate of BEST-2
BAND = dict(channels=1024, center_frequency=408e6, bandwidth=20e6)
SAMPLE_TIME = 51.2e-6


class qa_trials(gr_unittest.TestCase):
    def test_delay(self):
        """Closed forms: 4.149 ms at 1 GHz and 1 pc/cm^3; additive; infinite reference."""
        self.assertAlmostEqual(DISPERSION_CONSTANT, 4149.377593, places=6)
        self.assertAlmostEqual(float(delay(1, 1e9)), 4.149377593e-3, places=12)
        self.assertAlmostEqual(
            float(delay(30, 4e8, 5e8)), float(delay(30, 4e8) - delay(30, 5e8)), places=12
        )
        self.assertGreater(float(delay(30, 4e8, 5e8)), 0)

    def test_channel_frequencies(self):
        np.testing.assert_allclose(channel_frequencies(5, 100.0, 10.0), [96, 98, 100, 102, 104])
        np.testing.assert_allclose(channel_frequencies(4, 100.0, 8.0), [96, 98, 100, 102])

    def test_rounded_delays(self):
        """The delays agree with exact fractions, which know no rounding."""
        dms, decimations = [0, 12.5, 86.3], [1, 1, 4]
        found = rounded_delays(dms, 7, 400e6, 10e6, SAMPLE_TIME, decimations)
        sample = Fraction(SAMPLE_TIME)
        for row, (dm, decimation) in enumerate(zip(dms, decimations)):
            for k in range(7):
                f = 400 + Fraction(k - 3) * 10 / 7
                r = 400 + Fraction(30, 7)
                exact = Fraction(10000) / Fraction("2.41") * Fraction(dm) * (1 / f**2 - 1 / r**2)
                expected = round(exact / sample / decimation) * decimation
                self.assertEqual(found[row, k], expected)
        self.assertEqual(found[:, -1].tolist(), [0, 0, 0])
        self.assertGreater(found[2, 0], 1000)

    def test_range(self):
        dms = parse_range("0:86.4:0.1")
        self.assertEqual(len(dms), 864)
        self.assertEqual((dms[0], dms[3], dms[-1]), (0.0, 0.3, 86.3))
        self.assertEqual(parse_range("5:6:0.4"), [5.0, 5.4, 5.8])

    def test_by_step(self):
        """Decimations grow as the smearing within a channel (4 items at 86) and the step allow."""
        plan = plan_trials("0:86.4:0.1", sample_time=SAMPLE_TIME, **BAND)
        self.assertEqual(len(plan), 864)
        self.assertEqual(sorted(set(plan.decimations)), [1, 2, 4])
        self.assertEqual(plan.decimations, sorted(plan.decimations))
        for decimation, smearing in zip(plan.decimations, plan.smearings):
            self.assertTrue(decimation == 1 or decimation * SAMPLE_TIME <= smearing)
            self.assertGreater(2 * decimation * SAMPLE_TIME, smearing)
        # 8.3 us DM b / f^3, in MHz and GHz, with the step of 0.1 off by 0.025
        self.assertAlmostEqual(
            plan.smearings[-1] * 1e6,
            np.hypot(8.2988 * 86.3 * 20 / 1024, 8.2988 * 0.025 * 20) / 0.408**3,
            delta=1,
        )
        plain = plan_trials([3, 1, 2], sample_time=SAMPLE_TIME, most_decimation=1, **BAND)
        self.assertEqual((plain.dms, plain.decimations), ([1, 2, 3], [1, 1, 1]))

    def test_by_tolerance(self):
        """Half a step widens a pulse by the tolerance, and steps grow with smearing."""
        plan = plan_trials("0:500", sample_time=SAMPLE_TIME, tolerance=1.25, **BAND)
        self.assertEqual(plan.dms[0], 0)
        self.assertLess(plan.dms[-1], 500)
        over_band = float(delay(1, 398e6, 418e6))
        for i in (0, 100, len(plan) - 2):
            step = plan.dms[i + 1] - plan.dms[i]
            width = np.hypot(SAMPLE_TIME, 8.2988e-6 * plan.dms[i] * 20 / 1024 / 0.408**3)
            self.assertAlmostEqual(np.hypot(width, over_band * step / 2) / width, 1.25, delta=0.01)
        finer = plan_trials("0:500", sample_time=SAMPLE_TIME, tolerance=1.05, **BAND)
        self.assertGreater(len(finer), 1.9 * len(plan))

    def test_errors(self):
        for wrong, name in (
            (dict(dm="1:0:1"), "dm"),
            (dict(dm="0:1:0"), "dm"),
            (dict(dm="a:b"), "dm"),
            (dict(dm="0:1:1e-9"), "dm"),
            (dict(dm=[]), "dm"),
            (dict(dm=[-1]), "dm"),
            (dict(dm="0:9", tolerance=1), "tolerance"),
            (dict(sample_time=0), "sample_time"),
            (dict(pulse_width=-1), "pulse_width"),
            (dict(most_decimation=3), "most_decimation"),
            (dict(center_frequency=1e6), "center_frequency"),
        ):
            parameters = dict(BAND, dm="0:1:0.1", sample_time=SAMPLE_TIME)
            parameters.update(wrong)
            with self.assertRaisesRegex(ValueError, f"^{name}: .* is not allowed"):
                plan_trials(**parameters)

    def test_layout(self):
        layout = TrialLayout(beams=2, times_per_item=8, dms=[0, 1, 2], decimations=[1, 4, 2])
        self.assertEqual(layout.beam_values, 8 + 2 + 4)
        self.assertEqual(layout.item_bytes, 4 * 2 * 14)
        items = np.arange(3 * 2 * 14)
        parts = layout.split(items)
        self.assertEqual([part.shape for part in parts], [(2, 24), (2, 6), (2, 12)])
        # item 1, beam 1, trial 1
        self.assertEqual(parts[1][1, 2:4].tolist(), [28 + 14 + 8, 28 + 14 + 9])
        self.assertEqual(TrialLayout(1, 8, [0, 1]).beam_values, 16)


if __name__ == "__main__":
    gr_unittest.run(qa_trials)
