#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Offsets between receivers: found where they are, as well as noise allows, and nowhere else.

With APERTURE_LONG_TESTS=1 the start offsets of 10^7 samples are tried as well: that takes
minutes, most of which goes into making the samples.
"""

import os
import time
import unittest

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import measure_offsets
from gnuradio.aperture.testing.receivers import Receiver, Receivers

LONG = os.environ.get("APERTURE_LONG_TESTS") == "1"


def white(rng, *shape):
    """Complex noise of power 1."""
    parts = rng.standard_normal((*shape, 2), dtype=np.float32) * np.float32(np.sqrt(0.5))
    return parts.view(np.complex64)[..., 0]


def brute_force(reference, other, most_lag):
    """Delay in samples and phase of the largest correlation: float64, one FFT of everything, and
    then a maximum on an ever finer grid of delays."""
    count = len(reference)
    points = 1 << (2 * count).bit_length()
    product = np.fft.fft(reference.astype(complex), points) * np.conj(
        np.fft.fft(other.astype(complex), points)
    )
    lags = np.arange(-most_lag, most_lag + 1)
    whole = int(lags[np.argmax(abs(np.fft.ifft(product)[lags]))])
    late, early = max(whole, 0), max(-whole, 0)
    a = reference[late : count - early].astype(complex)
    b = other[early : count - late].astype(complex)
    product = np.fft.fft(a) * np.conj(np.fft.fft(b))
    frequencies = np.fft.fftfreq(len(a))
    middle, width = 0.0, 1.0
    for _ in range(6):
        grid = middle + np.linspace(-width, width, 21)
        sums = np.array([np.sum(product * np.exp(2j * np.pi * frequencies * d)) for d in grid])
        best = np.argmax(abs(sums))
        middle, width = grid[best], width / 7
    return whole + middle, np.angle(sums[best])


def deviations(offset, truth):
    """Errors of delay and phase at the time of a result, in standard deviations."""
    delay = offset.lag + offset.fraction - truth["delay"]
    phase = np.remainder(offset.phase - truth["phase"] + np.pi, 2 * np.pi) - np.pi
    return np.array([delay / offset.sigma_delay, phase / offset.sigma_phase])


class qa_measure_offsets(gr_unittest.TestCase):
    def trial(self, count, share, seed, starts, **search):
        """Some receivers on one clock; returns the result and the receivers."""
        rng = np.random.default_rng(seed)
        receivers = Receivers(
            [
                Receiver(
                    start=start,
                    phase=rng.uniform(-3, 3),
                    gain=10 ** rng.uniform(-1, 1),
                    share=share,
                )
                for start in starts
            ],
            seed=seed,
        )
        samples = [receivers.samples(i, 0, count) for i in range(len(starts))]
        return measure_offsets(samples, **search), receivers

    def test_against_brute_force(self):
        for count, share, start, seed in (
            (1009, 0.6, 200.4, 1),
            (4093, 0.3, -1999.7, 2),
            (30011, 0.1, 12000.1, 3),
        ):
            receivers = Receivers(
                [
                    Receiver(share=share, start=1e6),
                    Receiver(share=share, start=1e6 + start, phase=0.4),
                ],
                seed=seed,
            )
            samples = [receivers.samples(i, 0, count) for i in range(2)]
            offset = measure_offsets(samples, reference=0).inputs[1]
            delay, phase = brute_force(*samples, count // 2)
            self.assertTrue(offset.found)
            # both see the same noise, and weigh it nearly alike
            self.assertAlmostEqual(
                offset.lag + offset.fraction, delay, delta=1.5 * offset.sigma_delay
            )
            self.assertAlmostEqual(offset.phase, phase, delta=1.5 * offset.sigma_phase)

    def test_errors_are_as_the_bound_says(self):
        """Repeated trials: none beyond 4.5 standard deviations, and chi^2 within 4 sigma of its
        own, but for 15% that the weights cost where a channel has few windows."""
        for count, share, trials in (
            (1009, 0.5, 60),
            (1009, 0.9, 60),
            (4001, 0.3, 60),
            (20011, 0.06, 40),
            (50021, 0.6, 20),
        ):
            found = []
            for seed in range(trials):
                start = np.random.default_rng([seed, 9]).uniform(-150, 150)
                result, receivers = self.trial(
                    count, share, seed, (0.0, start), reference=0, most_lag=200
                )
                offset = result.inputs[1]
                self.assertTrue(offset.found)
                found.append(deviations(offset, receivers.truth(1)))
                self.assertAlmostEqual(
                    offset.gain / receivers.truth(1)["gain"], 1, delta=6 / np.sqrt(count)
                )
                self.assertAlmostEqual(offset.coherence, share, delta=5 / np.sqrt(count) + 0.03)
            found = np.array(found)
            self.assertLess(abs(found).max(), 4.5, (count, share))
            spread = 4 * np.sqrt(2 / trials)
            for squares in np.mean(found**2, axis=0):
                self.assertLess(squares, (1 + spread) * 1.15**2, (count, share))
                self.assertGreater(squares, 1 - spread, (count, share))

    def test_all_baselines(self):
        """Five inputs: better than two alone, and as good as their bound."""
        found, sigmas = [], []
        for seed in range(12):
            starts = (0.0, 31.4, -200.7, 0.2, 77.5)
            result, receivers = self.trial(20011, 0.08, seed, starts, most_lag=400, reference=2)
            self.assertEqual(result.reference, 2)
            for i in (0, 1, 3, 4):
                offset = result.inputs[i]
                found.append(deviations(offset, receivers.truth(i, 2)))
                sigmas.append(offset.sigma_phase)
            self.assertTrue(0 < result.closure_delay < 0.1)
            self.assertTrue(0 < result.closure_phase < 0.2)
        found = np.array(found)
        self.assertLess(abs(found).max(), 4.5)
        self.assertLess(np.mean(found**2), 1.5)
        # two inputs: sqrt((1 - g^2) / (2 N g^2)), N of the band's nine tenths
        alone = np.sqrt((1 - 0.08**2) / (2 * 0.9 * 20011)) / 0.08
        self.assertLess(np.mean(sigmas), 0.85 * alone)

    def test_false_alarms(self):
        """20000 searches of noise alone that are set to 1%: as many as Poisson allows."""
        rng, count, searches = np.random.default_rng(11), 1000, 20000
        found = 0
        for _ in range(searches // 100):
            for samples in white(rng, 100, 2, count):
                found += measure_offsets(samples, most_lag=100, false_alarms=0.01).inputs[1].found
        expected = 0.01 * searches
        self.assertLess(abs(found - expected), 3 * np.sqrt(expected), found)

    def test_false_alarms_of_narrow_bands(self):
        """The noise of a fifth of the band, of which neighbouring lags have much in common: few
        independent samples, and fewer independent lags than lags."""
        rng, count, searches = np.random.default_rng(12), 1000, 5000
        found, inside = 0, abs(np.fft.fftfreq(1024)) < 0.1
        for _ in range(searches // 100):
            narrow = np.fft.ifft(np.fft.fft(white(rng, 100, 2, 1024)) * inside)
            for samples in narrow[:, :, :count].astype(np.complex64):
                found += measure_offsets(samples, most_lag=300, false_alarms=0.01).inputs[1].found
        expected = 0.01 * searches
        self.assertLess(abs(found - expected), 3 * np.sqrt(expected), found)

    def test_threshold(self):
        """The threshold is that of the closed form; 5.1 for 2 10^7 lags."""
        rng = np.random.default_rng(1)
        result = measure_offsets(white(rng, 2, 100003), most_lag=50000)
        lags = 200001  # half samples are searched as well
        expected = np.sqrt(-np.log(-np.expm1(np.log1p(-1e-4) / lags)))
        self.assertAlmostEqual(result.threshold, expected, delta=0.005)
        self.assertEqual(result.inputs[1].reason, "these inputs do not correlate: offset unknown")
        self.assertEqual(result.reference, -1)

    def test_too_faint_is_refused(self):
        """At half the threshold nothing is found, at twice the threshold everything is."""
        for seed in range(10):
            for factor in (0.5, 2):
                share = factor * 4.5 / np.sqrt(0.9 * 50021)
                result, receivers = self.trial(50021, share, seed, (0.0, 7000.5))
                offset = result.inputs[1 - max(result.reference, 0)]
                self.assertEqual(offset.found, factor == 2)

    def test_lines_do_not_correlate(self):
        """The receivers' own offset and a carrier are common to all lags, and say nothing."""
        rng = np.random.default_rng(2)
        count = 50021
        samples = (
            white(rng, 2, count)
            + np.float32(0.5)
            + 0.3 * np.exp(2j * np.pi * 0.123 * np.arange(count))
        )
        self.assertFalse(measure_offsets(samples).inputs[1].found)
        common = white(rng, count + 333)
        samples += 0.5 * np.stack([common[:count], common[333:]])
        offset = measure_offsets(samples, reference=0).inputs[1]
        self.assertTrue(offset.found)
        self.assertEqual(offset.lag, 333)

    def test_strong_lines(self):
        """Carriers and direct current of 20 to 60 dB above all noise are no more than weak ones."""
        rng = np.random.default_rng(12)
        count = 50021
        times = np.arange(count)
        common = white(rng, count + 333)
        for level in (10, 100, 1000):
            for line in (
                1,
                np.exp(2j * np.pi * 0.123 * times),
                np.exp(2j * np.pi * (0.3 + 1e-8 * times) * times),
            ):
                samples = white(rng, 2, count) + level * np.complex64(line)
                self.assertFalse(measure_offsets(samples).inputs[1].found, level)
                samples += 0.5 * np.stack([common[:count], common[333:]])
                offset = measure_offsets(samples, reference=0).inputs[1]
                self.assertEqual((offset.found, offset.lag), (True, 333))
                self.assertLess(abs(offset.fraction), 5 * offset.sigma_delay)
                self.assertLess(abs(offset.phase), 5 * offset.sigma_phase)
        alone = np.stack([np.exp(0.3j * times), np.exp(0.3j * times + 1j)])
        self.assertIn("carriers", measure_offsets(alone).inputs[1].reason)

    def test_start_offset_of_a_million(self):
        """10^6 overlapping samples, in about a second."""
        for start in (1000001.3, -999998.8):
            receivers = Receivers(
                [Receiver(share=0.1, start=-1e7), Receiver(share=0.1, start=start - 1e7, phase=2.0)]
            )
            samples = [receivers.samples(i, 0, 2000003) for i in range(2)]
            began = time.monotonic()
            result = measure_offsets(samples, most_lag=1100000, reference=0)
            print(f"2 10^6 lags: {time.monotonic() - began:.2f} s")
            self.assertLess(abs(deviations(result.inputs[1], receivers.truth(1))).max(), 4)

    @unittest.skipUnless(LONG, "APERTURE_LONG_TESTS=1 runs it: minutes")
    def test_start_offset_of_ten_million(self):
        """10^7 overlapping samples of the coherence 0.05: 0.02 samples and 1 degree."""
        for start in (9999999.6, -10000000.0):
            receivers = Receivers(
                [
                    Receiver(share=0.05, start=5.4),
                    Receiver(share=0.05, start=5.4 + start, phase=2.0),
                ]
            )
            samples = [receivers.samples(i, 0, 20000000) for i in range(2)]
            began = time.monotonic()
            result = measure_offsets(samples, most_lag=10000000, reference=0)
            offset, truth = result.inputs[1], receivers.truth(1)
            print(f"2 10^7 lags: {time.monotonic() - began:.1f} s, {offset}, {truth}")
            self.assertGreater(result.threshold, 5.1)
            self.assertLess(abs(deviations(offset, truth)).max(), 4)
            self.assertAlmostEqual(offset.lag + offset.fraction, truth["delay"], delta=0.02)
            self.assertAlmostEqual(np.degrees(offset.phase), np.degrees(truth["phase"]), delta=1)

    def test_separate_crystals(self):
        """Delay and phase with their rates, of errors of the crystals of up to 100 ppm."""
        rate, frequency = 2.4e6, 1.42e9
        for ppm, share, start in ((3.3, 0.5, 20000.7), (-97.1, 0.7, -301.2), (0.01, 0.9, 40.0)):
            most = 100e-6 if abs(ppm) > 5 else 5e-6
            receivers = Receivers(
                [
                    Receiver(share=share, phase=1.0, ppm=0.2),
                    Receiver(share=share, start=start, ppm=ppm),
                ],
                sample_rate=rate,
                center_frequency=frequency,
            )
            samples = [receivers.samples(i, 0, 400009) for i in range(2)]
            result = measure_offsets(
                samples,
                reference=0,
                most_delay_rate=most,
                most_lag=30000,
                most_phase_rate=2 * np.pi * most * frequency / rate,
            )
            offset = result.inputs[1]
            self.assertTrue(offset.found, offset.reason)
            truth = receivers.truth(1, 0, offset.time)
            self.assertLess(abs(deviations(offset, truth)).max(), 4.5, (ppm, share))
            for name in ("delay_rate", "phase_rate"):
                error = (getattr(offset, name) - truth[name]) / getattr(offset, "sigma_" + name)
                self.assertLess(abs(error), 4.5, (name, ppm, share))
            self.assertLess(offset.phase_wander, 0.05)

    def test_separate_crystals_that_do_not_correlate(self):
        samples = white(np.random.default_rng(5), 2, 100003)
        result = measure_offsets(samples, most_delay_rate=1e-5, most_phase_rate=0.01)
        self.assertIn("do not correlate", result.inputs[1].reason)

    def test_samples_of_any_size(self):
        """Floats whose squares are none: the same is found as of usual ones, bit by bit but for
        what float32 rounds."""
        receivers = Receivers(
            [Receiver(share=0.6, start=1e6), Receiver(share=0.6, start=1e6 + 37.3, phase=0.4)],
            seed=5,
        )
        samples = [receivers.samples(i, 0, 5003) for i in range(2)]
        usual = measure_offsets(samples, reference=0).inputs[1]
        self.assertTrue(usual.found)
        for sizes in (
            (1e18, 1e18),
            (1e-20, 1e-20),
            (1e18, 1),
            (1, 1e-20),
            (1e-20, 1e18),
            (1e37, 1e-37),
        ):
            scaled = [s * np.float32(size) for s, size in zip(samples, sizes)]
            found = measure_offsets(scaled, reference=0).inputs[1]
            self.assertTrue(found.found, (sizes, found.reason))
            self.assertEqual(found.lag, usual.lag)
            for name in ("fraction", "phase", "coherence"):
                self.assertAlmostEqual(getattr(found, name), getattr(usual, name), 4)
            self.assertAlmostEqual(found.gain * sizes[1] / sizes[0] / usual.gain, 1, 4)

    def test_errors(self):
        good = white(np.random.default_rng(1), 2, 1000)
        bad = good.copy()
        bad[1, 500] = np.nan
        for samples, search, text in (
            (good[:1], {}, "inputs: 1"),
            (good[:, :100], {}, "samples: 100"),
            (np.zeros((2, 0)), {}, "samples: 0"),
            (bad, {}, "samples of input 1: NaN"),
            ([good[0], good[1][1:]], {}, "samples of input 1: a length of 999"),
            ([good, good], {}, "samples of input 0: 2 axes"),
            (3, {}, "samples: "),
            ([["a"], ["b"]], {}, "samples of input 0: not"),
            (good, {"most_lag": 990}, "most_lag: 990"),
            (good, {"reference": 2}, "reference: 2"),
            (good, {"false_alarms": 0.0}, "false_alarms: 0"),
            (good, {"most_delay_rate": 0.1}, "most_delay_rate: 0.1"),
            (good, {"most_phase_rate": -1.0}, "most_phase_rate: -1"),
        ):
            with self.assertRaises(ValueError) as caught:
                measure_offsets(samples, **search)
            self.assertIn(text, str(caught.exception))
        good[1] = 0
        self.assertIn("zero throughout", measure_offsets(good).inputs[1].reason)


if __name__ == "__main__":
    gr_unittest.run(qa_measure_offsets)
