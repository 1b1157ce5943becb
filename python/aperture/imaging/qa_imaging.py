#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Weights of visibilities in an image, and what is fitted to one."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.imaging.dirty_image import Field, find_peak, fit_beam
from gnuradio.aperture.imaging.weighting import UVDensity, Weighting, parse_weighting


class qa_imaging(gr_unittest.TestCase):
    def test_names(self):
        for text, robustness, name in (
            ("natural", None, "natural"),
            ("Uniform", -np.inf, "uniform"),
            ("briggs", 0, "Briggs 0"),
            ("briggs=-0.5", -0.5, "Briggs -0.5"),
        ):
            found = parse_weighting(text)
            self.assertEqual((found.robustness, str(found)), (robustness, name))
        for text in ("", "best", "natural=1", "briggs=2.1", "briggs=nan", "briggs=x"):
            with self.assertRaisesRegex(ValueError, "is not allowed: natural, uniform"):
                parse_weighting(text)

    def test_density(self):
        """The density agrees with a loop over pairs: those in one cell, with u, v and -u, -v as
        one, share it."""
        rng = np.random.default_rng(3)
        u, v = rng.uniform(-90, 90, (2, 40, 3))
        u[3], v[3] = -u[5], -v[5]
        v[7:9], u[7], u[8] = 0.0, 33.0, -33.0
        weights = rng.uniform(0, 1, u.shape)
        weights[11] = 0
        density = UVDensity(0.1, 130)
        for part in (slice(0, 13), slice(13, None)):
            density.add(u[part], v[part], weights[part])
        cells = np.rint(np.stack([u, v], -1).reshape(-1, 2) * 0.1)
        flat = weights.ravel()
        sums = np.array(
            [
                flat[(cells == cell).all(axis=1) | (cells == -cell).all(axis=1)].sum()
                for cell in cells
            ]
        )
        uniform = np.divide(flat, sums, out=np.zeros_like(flat), where=flat > 0)
        found = density.weigh(Weighting(-np.inf), u, v, weights).ravel()
        np.testing.assert_allclose(found, uniform, rtol=1e-12)
        # the squares of the sums, once for each cell: a visibility has its part of one
        mean = np.sum(uniform * sums**2) / flat.sum()
        for robustness in (-2, 0.5, 2):
            expected = flat / (1 + sums * (5 * 10.0**-robustness) ** 2 / mean)
            found = density.weigh(Weighting(robustness), u, v, weights).ravel()
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        self.assertIs(density.weigh(Weighting(), u, v, weights), weights)

    def test_beam_and_peak(self):
        """The beam and peak of a Gaussian are found, at an angle from north through east."""
        field = Field(None, 64, 1e-3)
        l, m = field.cosines()
        for angle in (0.0, 37.0, 90.0, 151.0):
            rotation = np.radians(angle)

            def gaussian(east, north):
                along = (l[:, None] - east) * np.sin(rotation) + (m - north) * np.cos(rotation)
                across = (l[:, None] - east) * np.cos(rotation) - (m - north) * np.sin(rotation)
                return np.exp(-4 * np.log(2) * ((along / 0.012) ** 2 + (across / 0.007) ** 2))

            beam = fit_beam(gaussian(0, 0).astype(np.float32), field.cell)
            self.assertAlmostEqual(beam.major, 0.012, 6)
            self.assertAlmostEqual(beam.minor, 0.007, 6)
            self.assertAlmostEqual((beam.angle - angle + 90) % 180 - 90, 0, 2)
            value, east, north = find_peak(gaussian(0.0052, -0.0113), field)
            self.assertGreater(value, 0.97)
            # parabolas along both axes, through a pixel beside the middle of a tilted Gaussian
            self.assertAlmostEqual(east, 0.0052, delta=2e-4)
            self.assertAlmostEqual(north, -0.0113, delta=2e-4)
        # fringes have no end
        fringes = np.broadcast_to(np.cos(2 * np.pi * l / 0.016)[:, None], (64, 64))
        beam = fit_beam(fringes.astype(np.float32), field.cell)
        self.assertGreaterEqual(beam.major, 0.063)
        self.assertAlmostEqual(beam.minor, 0.016 / 2, delta=0.003)
        self.assertLess(min(beam.angle, 180 - beam.angle), 1)


if __name__ == "__main__":
    gr_unittest.run(qa_imaging)
