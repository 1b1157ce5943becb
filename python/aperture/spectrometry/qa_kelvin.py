#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Kelvin of powers, against the powers that a receiver of known temperature gives."""

import unittest

import numpy as np

from gnuradio.aperture.spectrometry import kelvin
from gnuradio.aperture.spectrometry.switching import SwitchedSpectra, in_reference
from gnuradio.aperture.spectrometry.velocity import HYDROGEN

CHANNELS, STEP, WIDTH = 40, 0.125, 2e6


class Receiver:
    """Two inputs with a bandpass and a temperature each, and a sky with a line."""

    def __init__(self):
        rng = np.random.default_rng(4)
        self.gain = rng.uniform(0.5, 2.0, (2, CHANNELS))
        self.noise = np.array([[90.0], [140.0]]) * rng.uniform(0.99, 1.01, (2, CHANNELS))
        self.sky = 8.0 + 60.0 * np.exp(-(((np.arange(CHANNELS) - 17) / 2.0) ** 2))

    def power(self, kelvin_, drift=1.0):
        return drift * self.gain * (kelvin_ + self.noise)


def spectra(mode, notices=None, **options):
    values = dict(
        integration=2.0,
        period=1.0,
        settling=0.0,
        t_hot=295.0,
        t_cold=9.0,
        t_load=300.0,
        t_receiver=100.0,
        notify=lambda event, found: notices.append((event, found)) if notices is not None else None,
    )
    return SwitchedSpectra(mode, **{**values, **options})


def feed(made, power, start, seconds, frequency=lambda time: HYDROGEN):
    """Gives items of STEP seconds to a SwitchedSpectra; power, frequency: functions of the time of
    their middle. Returns what comes out."""
    found = []
    for number in range(round(seconds / STEP)):
        begin = start + number * STEP
        middle = begin + STEP / 2
        one = made.take(power(middle), begin, begin + STEP, frequency(middle), WIDTH)
        found += [one] if one is not None else []
    return found


class qa_kelvin(unittest.TestCase):
    def setUp(self):
        self.receiver = Receiver()

    def test_hot_and_cold(self):
        """Gain and temperature of the receiver come back, and Y is the ratio of the powers."""
        found = kelvin.hot_and_cold(
            self.receiver.power(295.0), self.receiver.power(9.0), 295.0, 9.0
        )
        np.testing.assert_allclose(found.gain, self.receiver.gain)
        np.testing.assert_allclose(found.receiver, self.receiver.noise)
        np.testing.assert_allclose(
            found.y, np.median((295 + self.receiver.noise) / (9 + self.receiver.noise), axis=1)
        )

    def test_loads_that_contradict(self):
        power = self.receiver.power(100.0)
        for hot, cold, words in (
            (power, power, "input 0: hot equals cold"),
            (0.5 * power, power, "hot equals cold"),
            (np.vstack([2 * power[:1], power[1:]]), power, "input 1: hot equals cold"),
            (50 * power, power, "more than 295 K / 9 K"),
            (np.zeros_like(power), np.zeros_like(power), "hot equals cold"),
        ):
            with self.assertRaisesRegex(kelvin.KelvinError, words):
                kelvin.hot_and_cold(hot, cold, 295.0, 9.0)

    def measured(self, made, start=1000.0):
        for target, temperature in (("hot", 295.0), ("cold", 9.0)):
            made.look_at(target)
            self.assertEqual(feed(made, lambda _: self.receiver.power(temperature), start, 4.0), [])
            start += 4.0
        made.look_at("sky")
        return start

    def test_total_power(self):
        """Before hot and cold one gain is assumed; after them the sky comes back."""
        notices = []
        made = spectra("total", notices)
        sky = lambda _: self.receiver.power(self.receiver.sky)
        first = feed(made, sky, 992.0, 6.0)
        self.assertEqual([one.measured for one in first], [False] * 2)
        # the median channel has 9 K by assumption
        np.testing.assert_allclose(np.median(first[0].kelvin, axis=1), 9.0, atol=1e-9)
        start = self.measured(made)
        found = feed(made, sky, start, 8.0)
        # one second is left out, and the last item waits for the next one
        self.assertEqual(len(found), 3)
        for one in found:
            np.testing.assert_allclose(one.kelvin, np.tile(self.receiver.sky, (2, 1)))
            self.assertEqual((one.end - one.begin, one.seconds, one.measured), (2.0, 2.0, True))
        self.assertEqual(found[0].begin, start + 1.0)
        expected = np.median(self.receiver.sky + self.receiver.noise, axis=1)
        np.testing.assert_allclose(found[0].system, expected, rtol=1e-9)
        last = [values for event, values in notices if event == "measured"][-1]
        np.testing.assert_allclose(last["receiver"], np.median(self.receiver.noise, axis=1))

    def test_load_switching(self):
        """A drift of the gain is in total power, and cancels against the load."""
        drift = lambda time: 1 + 0.1 * np.sin(time / 30)
        found = {}
        for mode in ("total", "load"):
            made = spectra(mode)
            # hot and cold are measured while the switch is at the antenna
            start = 1000.0
            for target, value in (("hot", 295.0), ("cold", 9.0), ("sky", self.receiver.sky)):
                made.look_at(target)
                power = lambda time: self.receiver.power(
                    300.0 if mode == "load" and in_reference(time, 1.0) else value,
                    drift(time) if target == "sky" else 1.0,
                )
                got = feed(made, power, start, 20.0)
                start += 20.0
            found[mode] = got
        self.assertGreater(len(found["load"]), 7)
        worst = {
            mode: max(np.abs(one.kelvin - self.receiver.sky).max() for one in got)
            for mode, got in found.items()
        }
        self.assertGreater(worst["total"], 10)
        # the receiver's temperature is that of the median channel: 1 % of 140 K, times the ratio
        self.assertLess(worst["load"], 2.5)

    def test_items_across_a_switch(self):
        """Items that have both, and those that settle, are left out."""
        made = spectra("load", settling=0.1)
        made.set_scale(kelvin.Scale(self.receiver.gain, self.receiver.noise, np.ones(2)))
        power = lambda time: self.receiver.power(300.0 if in_reference(time, 1.0) else 8.0)

        def mixed(time):
            # items are 0.125 s from 1000.05 on: those across a switch have garbage
            across = in_reference(time - STEP / 2, 1.0) != in_reference(time + STEP / 2, 1.0)
            late = in_reference(time - STEP / 2 - 0.1, 1.0) != in_reference(time, 1.0)
            return np.full((2, CHANNELS), 1e6) if across or late else power(time)

        found = feed(made, mixed, 1000.05, 9.0)
        self.assertGreater(len(found), 2)
        for one in found:
            np.testing.assert_allclose(one.kelvin, 8.0, atol=2.5)
            self.assertLess(one.seconds, 1.0)

    def test_frequency_switching(self):
        """A line stays at its place, folded, and whatever is the same in both is gone."""
        shift = 12
        throw = shift * WIDTH / CHANNELS
        made = spectra("frequency", period=1.0)
        made.set_scale(kelvin.Scale(self.receiver.gain, self.receiver.noise, np.ones(2)))
        tuned = lambda time: HYDROGEN + (throw if in_reference(time, 1.0) else 0.0)

        def power(time):
            moved = np.zeros(CHANNELS)
            if in_reference(time, 1.0):
                moved[: CHANNELS - shift] = self.receiver.sky[shift:] - 8
            else:
                moved = self.receiver.sky - 8
            return self.receiver.power(8 + moved)

        found = feed(made, power, 1000.0, 9.0, tuned)
        self.assertGreater(len(found), 2)
        line = self.receiver.sky - 8
        # channel by channel: the line is in the signal here, and in the reference `shift` below
        sky = 8 + line[None] + self.receiver.noise
        other = np.copy(8 + self.receiver.noise)
        other[:, : CHANNELS - shift] += line[shift:]
        system = np.median(other, axis=1)
        for one in found:
            self.assertEqual(one.frequency, HYDROGEN)
            for number in range(2):
                for channel in range(CHANNELS):
                    expected = (sky / other)[number, channel] - 1
                    if channel >= shift:
                        expected += (other / sky)[number, channel - shift] - 1
                        expected /= 2
                    expected *= system[number]
                    self.assertAlmostEqual(one.kelvin[number, channel], expected, delta=1e-9)
            np.testing.assert_allclose(one.kelvin[:, 17], line[17], rtol=0.03)
            self.assertLess(np.abs(one.kelvin[:, 23]).max(), 0.5)

    def test_what_is_wrong_is_told(self):
        sky = lambda _: self.receiver.power(self.receiver.sky)
        hot_load = lambda time: self.receiver.power(8.0 if in_reference(time, 1.0) else 300.0)
        for mode, power, tuned, words in (
            ("load", sky, HYDROGEN, "no switching is seen: the load has 100.0 %"),
            ("load", hot_load, HYDROGEN, "interchanged"),
            ("frequency", sky, HYDROGEN, "no switching is seen: .* one frequency"),
            ("total", sky, 1410e6, "1409.000 to 1411.000 MHz, does not contain the hydrogen line"),
        ):
            notices = []
            feed(spectra(mode, notices), power, 1000.0, 12.0, lambda _: tuned)
            reasons = [found["reason"] for event, found in notices if event == "fault"]
            # each of them once
            self.assertEqual(len(reasons), 1, (mode, reasons))
            self.assertRegex(reasons[0], words)
        notices = []
        feed(spectra("load", notices, period=0.2), sky, 1000.0, 1.0)
        self.assertRegex(notices[0][1]["reason"], "an item lasts 0.125 s, and half a cycle 0.1 s")
        notices = []
        made = spectra("total", notices)
        for target in ("hot", "cold", "sky"):
            made.look_at(target)
            feed(made, sky, 1000.0, 3.0)
        self.assertIn("hot equals cold", notices[-1][1]["reason"])
        self.assertIsNone(made.scale)


if __name__ == "__main__":
    unittest.main()
