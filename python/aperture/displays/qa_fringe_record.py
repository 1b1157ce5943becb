#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""FringeRecord: coherence, delay and rate of closed forms, with noise and without; gaps."""

import unittest

import numpy as np

from gnuradio.aperture.displays.band import Channels, on_grid, usual_step, with_breaks
from gnuradio.aperture.displays.fringe_record import (
    FringeRecord,
    LiveFringe,
    fringe_text,
    product_index,
)
from gnuradio.aperture.monitoring.server.fringes import Fringes
from gnuradio.aperture.visibilities.fringes import find_fringe
from gnuradio.aperture.visibilities.lags import without_edge

START = 1700000000.0
CHANNELS = Channels(1419.2e6, 9375.0, 257)


def integration(time, delays, rates, coherence, channels=CHANNELS, rng=None, count=1000):
    """
    Visibilities [channel][product] of one signal that reaches input i later by delays[i] and whose
    phase there grows by rates[i] Hz; noise as of `count` spectra, where there is a generator.
    """
    inputs = len(delays)
    values = np.zeros((channels.count, inputs * (inputs + 1) // 2), complex)
    f = channels.frequencies() - channels.middle
    gains = np.linspace(1, 3, inputs)
    for a in range(inputs):
        for b in range(a + 1):
            value = coherence * np.exp(
                -2j * np.pi * f * (delays[a] - delays[b])
                + 2j * np.pi * (rates[a] - rates[b]) * (time - START)
            )
            if rng is not None and a != b:
                noise = rng.standard_normal((2, channels.count))
                value = value + (noise[0] + 1j * noise[1]) / np.sqrt(2 * count)
            values[:, product_index(a, b)] = gains[a] * gains[b] * (1 if a == b else value)
    return values


class TestFringeRecord(unittest.TestCase):
    def record(self, delays, rates, coherence, times, pairs, step=0.5, **options):
        record = FringeRecord(len(delays), pairs, **options)
        for time in times:
            record.add(time, step, CHANNELS, integration(time, delays, rates, coherence))
        return record

    def test_closed_form(self):
        """Without noise, delay, rate and coherence are those of the signal, in both orders."""
        delays, rates = (0.0, 12.4e-9, -731e-9), (0.0, 0.0137, -0.21)
        times = START + 0.5 * np.arange(41)
        pairs = [(0, 1), (1, 2), (2, 1)]
        record = self.record(delays, rates, 0.31, times, pairs)
        for first, second in pairs:
            with self.subTest(pair=(first, second)):
                fringe = record.fringe((first, second))
                self.assertTrue(fringe.clear)
                # 1e-6 of 1/bandwidth, 415 ns: what the last parabola leaves
                self.assertAlmostEqual(fringe.delay, delays[second] - delays[first], delta=1e-12)
                # the parabola's on a grid of an eighth of 1/8 s
                self.assertAlmostEqual(fringe.rate, rates[second] - rates[first], delta=3e-4)
                self.assertAlmostEqual(fringe.coherence, 0.31, delta=2e-4)
                time, coherence, phase = record.curves((first, second))
                np.testing.assert_allclose(time, times)
                np.testing.assert_allclose(coherence, 0.31, rtol=1e-5)
                # unwrapped: up to 36 degrees an integration, 1500 in all
                slope = 360 * (rates[second] - rates[first])
                np.testing.assert_allclose(phase - phase[0], slope * (times - times[0]), atol=0.01)

    def test_left_out_unevenly(self):
        """Two or three integrations in a row are missing where a display had no time for them."""
        times = START + 0.5 * np.cumsum([2, 3] * 12)
        fringe = self.record((0.0, 12e-9), (0.0, 0.0853), 0.31, times, [(0, 1)]).fringe((0, 1))
        self.assertAlmostEqual(fringe.rate, 0.0853, delta=3e-4)
        self.assertAlmostEqual(fringe.coherence, 0.31, delta=2e-3)

    def test_agrees_with_plots(self):
        """With noise, the fringe is the one that aperture_plot finds in the same integrations, and
        true within its errors."""
        rng = np.random.default_rng(8)
        record = FringeRecord(2, [(0, 1)])
        spectra = []
        for time in START + 0.5 * np.arange(16):
            values = integration(time, (0, 83e-9), (0, 0.12), 0.2, rng=rng)
            record.add(time, 0.5, CHANNELS, values)
            spectra.append(values[:, 1] / 3)
        fringe = record.fringe((0, 1))
        plotted = find_fringe(without_edge(spectra), CHANNELS.width, 0.5)
        self.assertTrue(fringe.clear)
        # the rate that is taken out first makes no difference to the delay of the peak
        self.assertLess(abs(fringe.delay - plotted.delay), plotted.delay_error)
        self.assertLess(abs(fringe.rate - plotted.rate), plotted.rate_error)
        self.assertLess(abs(fringe.delay - 83e-9), 4 * fringe.delay_error)
        self.assertLess(abs(fringe.rate - 0.12), 4 * fringe.rate_error)
        # 16 * 257 values, each with a scatter of sqrt(1/1000)
        error = np.sqrt(1 / 1000 / 2 / (16 * 257))
        self.assertLess(abs(fringe.coherence - 0.2), 4 * error)
        for stated, span in ((fringe.delay_error, 257 * 9375), (fringe.rate_error, 8)):
            self.assertAlmostEqual(
                stated * 2 * np.pi * span / np.sqrt(12) * 0.2 / error, 1, delta=0.1
            )

    def test_edge(self):
        """The first channel has both ends of the band in it, with other phases: the delay is true
        within its error nevertheless, also that of the monitoring page."""
        rng = np.random.default_rng(4)
        channels = Channels(1418.8e6, 37500.0, 64)
        record, page = FringeRecord(2, [(0, 1)]), Fringes([(0, 1)], 10)
        for time in START + 0.5 * np.arange(16):
            values = integration(time, (0, 101e-9), (0, 0.0), 0.91, channels, rng, 18000)
            offset = 64 * 37500.0 / 2
            # a half of the channel is at each end, where the mean of the phasors is a cosine
            values[0, 1] = 3 * 0.91 * np.cos(2 * np.pi * offset * 101e-9)
            record.add(time, 0.5, channels, values)
            (live,) = page.add(time, channels, values)
        fringe = record.fringe((0, 1))
        self.assertLess(fringe.delay_error, 0.1e-9)
        self.assertLess(abs(fringe.delay - 101e-9), 4 * fringe.delay_error)
        # a parabola through three points of the transform, and the newest integrations
        self.assertLess(abs(live.delay - 101e-9), 0.5e-9)
        self.assertEqual((fringe.period, live.period), (1 / 37500.0, 1 / 37500.0))

    def test_noise(self):
        """Noise is no fringe, at most once in 1000; a fringe of twice the limit is one."""
        rng = np.random.default_rng(3)
        for coherence, clear in ((0.0, False), (0.006, True)):
            record = FringeRecord(2, [(0, 1)])
            seen = []
            for number, time in enumerate(START + 0.5 * np.arange(60)):
                record.add(
                    time,
                    0.5,
                    CHANNELS,
                    integration(time, (0, 83e-9), (0, 0.12), coherence, rng=rng),
                )
                if number >= 16:
                    seen.append(record.fringe((0, 1)).clear)
            self.assertEqual(set(seen), {clear})

    def test_gaps(self):
        """Missing integrations, and those in which nothing was counted, are gaps."""
        there = [number for number in range(30) if not 10 <= number < 17]
        record = FringeRecord(2, [(0, 1)])
        for number in there:
            values = integration(START + number, (0, 5e-8), (0, 0.1), 0.5)
            if number == 20:
                values[:] = 0
            record.add(START + number, 1.0, CHANNELS, values)
        picture, begin, step = record.waterfall((0, 1))
        self.assertEqual((picture.shape, begin, step), ((30, 257), START - 0.5, 1.0))
        missing = [not np.isfinite(row).any() for row in picture]
        self.assertEqual([i for i in range(30) if missing[i]], [10, 11, 12, 13, 14, 15, 16, 20])
        times, coherence, phase = record.curves((0, 1))
        self.assertEqual(np.isnan(coherence).sum(), 2)
        self.assertEqual(len(times), 24)
        self.assertTrue(record.fringe((0, 1)).clear)
        self.assertAlmostEqual(record.fringe((0, 1)).rate, 0.1, delta=1e-3)

    def test_sparse(self):
        """Integrations of a stream that is too fast are drawn without gaps where they were seen."""
        record = FringeRecord(2, [(0, 1)])
        for number in range(0, 300, 10):
            record.add(
                START + number * 1e-3, 1e-3, CHANNELS, integration(START, (0, 5e-8), (0, 0), 0.5)
            )
        picture, _, step = record.waterfall((0, 1))
        self.assertAlmostEqual(step, 0.01, delta=1e-6)
        self.assertEqual(len(picture), 30)
        self.assertFalse(np.isnan(record.curves((0, 1))[1]).any())

    def test_begins_anew(self):
        """Another band, or a time before, forgets what was."""
        for time, channels in ((START + 3, Channels(1e9, 9375.0, 257)), (START, CHANNELS)):
            record = self.record((0, 1e-8), (0, 0), 0.5, START + np.arange(3.0), [(0, 1)])
            self.assertEqual(len(record.curves((0, 1))[0]), 3)
            record.add(time, 1.0, channels, integration(START, (0, 1e-8), (0, 0), 0.5))
            self.assertEqual(len(record.curves((0, 1))[0]), 1)

    def test_bounded(self):
        """The record keeps `history` integrations, and only baselines that are followed."""
        record = self.record(
            (0, 1e-8, 0), (0, 0, 0), 0.5, START + np.arange(50.0), [(0, 2)], history=7
        )
        self.assertEqual(len(record.curves((0, 2))[0]), 7)
        self.assertEqual(len(record.waterfall((0, 2))[0]), 7)
        record.follow((1, 2))
        self.assertIsNone(record.fringe((1, 2)))
        self.assertEqual(record.baselines, [(0, 2), (1, 2)])
        record.leave((0, 2))
        self.assertEqual(record.baselines, [(1, 2)])

    def test_text(self):
        fringe = LiveFringe(0.312, 12.4e-9, 3.1 / 360, 0.2e-9, 0.1 / 360, 0.0, True, 0.01)
        self.assertEqual(
            fringe_text(("1", "2"), fringe),
            "inputs 1 and 2: coherence 0.31, delay +12.4 ns, phase rotating +3.1°/s",
        )
        still = LiveFringe(0.312, -1.24e-6, 0.01 / 360, 2e-9, 0.1 / 360, 0.0, True, 0.01)
        self.assertEqual(
            fringe_text(("A", "B"), still),
            "inputs A and B: coherence 0.31, delay −1.240 µs, phase standing still",
        )
        vague = LiveFringe(0.312, -985e-9, np.nan, 0.7e-6, np.inf, 0.0, True, 0.01)
        self.assertEqual(
            fringe_text(("A", "B"), vague), "inputs A and B: coherence 0.31, delay −1.0 µs"
        )
        far = LiveFringe(0.312, -46.667e-6, np.nan, 1e-9, np.inf, 0.0, True, 0.01, 256 / 2.4e6)
        self.assertEqual(
            fringe_text(("A", "B"), far),
            "inputs A and B: coherence 0.31, delay −46.667 µs (or n · 106.667 µs more or less)",
        )
        one = LiveFringe(0.312, 0.0, np.nan, 2e-9, np.inf, 0.0, True, 0.01)
        self.assertEqual(
            fringe_text(("A", "B"), one), "inputs A and B: coherence 0.31, delay +0 ns"
        )
        noise = LiveFringe(0.0123, 0.0, 1.0, 1.0, 1.0, 0.0, False, 0.0212)
        self.assertEqual(
            fringe_text(("A", "B"), noise), "inputs A and B: no clear fringe, coherence below 0.021"
        )
        self.assertEqual(fringe_text(("A", "B"), None), "inputs A and B: no data")

    def test_grid(self):
        times = np.array([0.0, 1.01, 1.99, 5.0])
        self.assertEqual(usual_step(times, 1.0), 1.0)
        self.assertEqual(usual_step(times[:1]), 1.0)
        self.assertEqual(usual_step(times[:1], 0.25), 0.25)
        places, length = on_grid(times, 1.0, 100)
        self.assertEqual((places.tolist(), length), ([0, 1, 2, 5], 6))
        places, length = on_grid(times, 1.0, 5)
        self.assertEqual((places.tolist(), length), ([-1, 0, 1, 4], 5))
        broken, curve = with_breaks(times, 1.0, [1, 2, 3, 4])
        np.testing.assert_allclose(broken, [0, 1.01, 1.99, (1.99 + 5) / 2, 5])
        np.testing.assert_array_equal(curve, [1, 2, 3, np.nan, 4])


if __name__ == "__main__":
    unittest.main()
