#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Images, steps of the gain, walking phases and carriers: found where they are, and not elsewhere.

SEEDS recordings without a fault give no alarm, which bounds the rate of false alarms at 3 / SEEDS
with a confidence of 95 % (the rule of three), for each check.
"""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.doctor.faults import (
    LEAST_IMAGE,
    SURE,
    carrier_of,
    image_of,
    pieces_of,
    powers_of,
    steps_of,
    walk_of,
)
from gnuradio.aperture.doctor.pairs import Pair
from gnuradio.aperture.doctor.recordings import _lines
from gnuradio.aperture.doctor.samples import Samples

SEEDS, COUNT, RATE = 100, 1 << 16, 1e6


def noise(rng, count=COUNT):
    return rng.normal(size=(count, 2)).astype(np.float32).view(np.complex64)[:, 0]


def both(a, b):
    """Samples of two inputs."""
    parts = np.stack([values.view(np.float32).reshape(-1, 2) for values in (a, b)], axis=1)
    return Samples(parts, np.zeros((2, len(parts)), bool))


def levels(values):
    parts = values.view(np.float32).reshape(-1, 2)
    return powers_of(parts, *pieces_of(len(parts), 1024))


def clear_image(values):
    image, sigma = image_of(values - values.mean())
    return image if image > max(LEAST_IMAGE, SURE * sigma) else 0.0


class qa_faults(gr_unittest.TestCase):
    def pair(self, coherence, lag=0):
        return Pair(0, 1, True, offset=lag, coherence=coherence, lag=lag)

    def test_no_false_alarms(self):
        """Noise of a shaped band, with a strong carrier in each input that is none of the other's,
        and a coherence of 0.3 to 0.9: nothing is found."""
        alarms = {"image": 0, "steps": 0, "walk": 0, "carrier": 0}
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            common, coherence = noise(rng), rng.uniform(0.3, 0.9)
            taps = rng.normal(size=5)
            inputs, tones = [], rng.uniform(-0.45, 0.45, 2)
            for tone in tones:
                own = noise(rng)
                values = np.sqrt(coherence) * common + np.sqrt(1 - coherence) * own
                values = np.convolve(values, taps, "same")
                values += 0.5 * np.std(values) * np.exp(2j * np.pi * tone * np.arange(COUNT))
                inputs.append((values * rng.uniform(0.1, 3)).astype(np.complex64))
            alarms["image"] += any(clear_image(values) for values in inputs)
            alarms["steps"] += any(bool(steps_of(levels(values))) for values in inputs)
            walk = walk_of(both(*inputs), self.pair(coherence), RATE)
            alarms["walk"] += walk is None or walk.walks or walk.wanders
            if abs(tones[0] - tones[1]) > 0.005:
                found = [_lines(values, RATE) for values in inputs]
                alarms["carrier"] += carrier_of(*inputs, *found, RATE) is not None
        self.assertEqual(alarms, dict.fromkeys(alarms, 0))

    def test_images(self):
        """The amplitude of an image is that of the gain and the angle by which components differ,
        within its deviation."""
        for seed, (gain, angle) in enumerate(((0.1, 0.0), (0.0, 0.06), (-0.05, 0.04), (0.5, 0.2))):
            rng = np.random.default_rng(seed)
            x = noise(rng) + 2 * np.exp(2j * np.pi * 0.2 * np.arange(COUNT))
            y = x.real + 1j * (1 + gain) * (np.cos(angle) * x.imag + np.sin(angle) * x.real)
            # y = a x + k conj(x)
            a = (1 + (1 + gain) * np.exp(1j * angle)) / 2
            k = (1 - (1 + gain) * np.exp(-1j * angle)) / 2
            found, sigma = image_of(y.astype(np.complex64))
            expected = abs(k / a) / (1 + abs(k / a) ** 2)
            self.assertLess(abs(found - expected), 5 * sigma + 0.05 * expected)
            self.assertGreater(clear_image(y), 0)

    def test_steps(self):
        """Steps of either direction are found where they are, with their size; bursts and slopes
        are none."""
        for seed, (at, jump) in enumerate(((20000, 3.0), (45000, -1.5), (30000, 12.0))):
            values = noise(np.random.default_rng(seed))
            values[at:] *= 10 ** (jump / 20)
            ((piece, found),) = steps_of(levels(values))
            self.assertLess(abs(piece * 1024 - at), 2 * 1024)
            self.assertAlmostEqual(found, jump, delta=0.5)
        values = noise(np.random.default_rng(9))
        values[30000:31500] *= 5
        self.assertEqual(steps_of(levels(values)), [])
        values = noise(np.random.default_rng(9)) * np.linspace(1, 2, COUNT).astype(np.float32)
        self.assertEqual(steps_of(levels(values)), [])

    def test_walks(self):
        """Rates from a tenth of a cycle on are found within their deviation, a wandering phase is
        told apart, and inputs some samples apart are compared at one time."""
        seconds = COUNT / RATE
        for seed, cycles in enumerate((0.2, -1.0, 7.3)):
            rng = np.random.default_rng(seed)
            a, b = noise(rng), noise(rng)
            turning = np.exp(2j * np.pi * cycles * np.arange(COUNT) / COUNT)
            b = (np.roll(a, -31) * turning + 0.5 * b).astype(np.complex64)
            walk = walk_of(both(a, b), self.pair(0.9, 31), RATE)
            # the phase to be added to the second one walks the other way
            self.assertLess(abs(walk.rate + cycles / seconds), 5 * walk.sigma)
            self.assertEqual((walk.walks, walk.wanders), (True, False))
        rng = np.random.default_rng(5)
        a = noise(rng)
        steps = np.cumsum(rng.normal(size=COUNT)) * 6 / np.sqrt(COUNT)
        steps -= np.linspace(0, steps[-1], COUNT)
        walk = walk_of(both(a, (a * np.exp(1j * steps)).astype(np.complex64)), self.pair(1.0), RATE)
        self.assertTrue(walk.wanders)
        # too faint for its pieces
        self.assertIsNone(walk_of(both(a, noise(rng)), self.pair(0.01), RATE))

    def test_carriers(self):
        rng = np.random.default_rng(1)
        tone = np.exp(2j * np.pi * 0.137531 * np.arange(COUNT))
        a, b = (noise(rng) + 0.8 * tone * turn for turn in (1, 1j))
        lines = [_lines(values, RATE) for values in (a, b)]
        place, share, coherence = carrier_of(a, b, *lines, RATE)
        self.assertAlmostEqual(place, 137531, delta=1000)
        self.assertAlmostEqual(share, 0.64 / 2.64, delta=0.03)
        self.assertGreater(coherence, 0.99)
        # at the same place, of two transmitters that have nothing to do with each other
        b = noise(rng) + 0.8 * np.exp(
            1j * (2 * np.pi * 0.1375 * np.arange(COUNT) + np.cumsum(rng.normal(size=COUNT)) * 0.05)
        )
        self.assertIsNone(carrier_of(a, b, lines[0], _lines(b, RATE), RATE))


if __name__ == "__main__":
    gr_unittest.run(qa_faults)
