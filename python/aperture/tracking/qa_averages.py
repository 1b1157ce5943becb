#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Lengths of averages: beside fringes that turn in small steps, and errors."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.tracking.averages import (
    average_lengths,
    fringe_frequencies,
    phase_bins,
    products_of,
    time_loss,
)

LIGHT = 299792458.0
OMEGA = 2 * np.pi / 86164.0905
PLACES = {"A": (0, 0, 0), "B": (30, 0, 0), "C": (30, 400, 2), "D": (-900, 50, 7), "E": (0, 1, 0)}


def rotated(vectors, angle):
    """About Z, the Earth's axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack(
        [c * vectors[..., 0] - s * vectors[..., 1], s * vectors[..., 0] + c * vectors[..., 1]]
        + [vectors[..., 2]],
        axis=-1,
    )


class qa_averages(gr_unittest.TestCase):
    def setUp(self):
        self.array = make_array(PLACES, inputs="x", center=150e6)
        self.pairs = [(a, b) for a in range(5) for b in range(a + 1)]

    def fringes(self, seconds, radius, steps=100):
        """
        The worst loss over many places of a source and a phase centre, by the mean of a fringe that
        is computed step by step, [product].
        """
        lat = np.radians(self.array.latitude)
        east, north, up = self.array.input_positions().T
        places = np.stack(
            [-np.sin(lat) * north + np.cos(lat) * up, east, np.cos(lat) * north + np.sin(lat) * up],
            axis=-1,
        )
        rng = np.random.default_rng(2)
        a, b = np.transpose(self.pairs)
        worst = np.zeros(len(a))
        for _ in range(300):
            center = rng.standard_normal(3)
            center /= np.linalg.norm(center)
            aside = np.cross(center, rng.standard_normal(3))
            aside /= np.linalg.norm(aside)
            source = np.cos(radius) * center + np.sin(radius) * aside
            angles = -OMEGA * seconds * (np.arange(steps) + 0.5) / steps
            path = np.stack([rotated(source - center, angle) for angle in angles])
            phases = 2 * np.pi * 150e6 / LIGHT * (path @ (places[a] - places[b]).T)
            worst = np.maximum(worst, 1 - np.abs(np.exp(1j * phases).mean(0)))
        return worst

    def test_loss(self):
        """No source loses more than is said, and some lose nearly as much."""
        said = time_loss(self.array, self.pairs, 150e6, 60.0, 10.0)
        worst = self.fringes(60.0, np.radians(10.0))
        self.assertTrue((worst <= said + 1e-4).all())
        long = said > 0.005
        self.assertGreater(long.sum(), 3)
        self.assertTrue((worst[long] > 0.9 * said[long]).all())
        self.assertEqual(said[0], 0)

    def test_lengths(self):
        """The longest power of two that loses no more; the next one does."""
        lengths = average_lengths(self.array, self.pairs, 150e6, 1.0, 0.02, 5.0, most=256)
        self.assertEqual(lengths[0], 256)  # an autocorrelation
        self.assertGreater(len(set(lengths)), 2)
        for pair, length in zip(self.pairs, lengths):
            lost = [
                time_loss(self.array, [pair], 150e6, seconds, 5.0)[0]
                for seconds in (length, 2 * length)
            ]
            self.assertLessEqual(lost[0], 0.02)
            self.assertTrue(length == 256 or lost[1] > 0.02)
        # phases change faster where nothing is tracked
        self.assertGreater(
            fringe_frequencies(self.array, [(3, 0)], 150e6)[0],
            5 * fringe_frequencies(self.array, [(3, 0)], 150e6, 10.0)[0],
        )

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "integration: '?60 s.*inputs 3 and 2"):
            average_lengths(self.array, self.pairs, 150e6, 60.0, 0.001, 10.0)
        for change, words in [
            (dict(loss=0), "loss"),
            (dict(radius=200.0), "radius"),
            (dict(products=[(5, 0)]), "5"),
        ]:
            given = dict(products=self.pairs, frequency=1e8, integration=1.0, loss=0.1) | change
            with self.assertRaisesRegex(ValueError, words):
                average_lengths(self.array, **given)

    def test_products_and_bins(self):
        self.assertEqual(products_of([7, 2, 4]), [(7, 7), (2, 7), (2, 2), (4, 7), (4, 2), (4, 4)])
        with self.assertRaisesRegex(ValueError, "inputs"):
            products_of([1, 1])
        self.assertEqual(phase_bins(4), [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)])


if __name__ == "__main__":
    gr_unittest.run(qa_averages)
