#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Directions of simulated sources, against the Cramér-Rao bound."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.direction_finding.estimators import (
    Finder,
    ambiguity,
    covariance,
    line_of,
    number_of_sources,
)
from gnuradio.aperture.testing.tiers import ALL

C = 299792458.0
FREQUENCY = 400e6
WAVE = C / FREQUENCY
SNR, SNAPSHOTS = 10.0, 100
#: with --all as many trials as the bound is asked to hold for
TRIALS = 1000 if ALL else 100
#: the rms of so few trials is itself uncertain, by 1/sqrt(2 n): three of these deviations
LIMIT = 1.1 + (0.0 if ALL else 3 * 1.1 / np.sqrt(2 * TRIALS))


def circle(count, spacing=0.45):
    """Places on a circle, neighbours being `spacing` waves apart; the first in the north."""
    radius = spacing * WAVE / 2 / np.sin(np.pi / count)
    angles = 2 * np.pi * np.arange(count) / count
    return radius * np.stack([np.sin(angles), np.cos(angles), 0 * angles], axis=1)


def line(count, azimuth=90.0, spacing=0.45):
    """Places on a line towards an azimuth."""
    angle = np.radians(azimuth)
    steps = (np.arange(count) - 1.3) * spacing * WAVE
    return np.stack([steps * np.sin(angle), steps * np.cos(angle), 0 * steps], axis=1)


def phases(places, azimuth, elevation=0.0):
    """Steering vectors [antenna][source] by the definition: an antenna towards it hears it
    earlier."""
    angle = np.radians(np.atleast_1d(azimuth))
    height = np.radians(np.broadcast_to(elevation, angle.shape))
    level = np.cos(height)
    towards = np.stack([level * np.sin(angle), level * np.cos(angle), np.sin(height)])
    return np.exp(2j * np.pi / WAVE * (places @ towards))


def voltages(rng, places, azimuths, power=SNR, snapshots=SNAPSHOTS, coherent=False, elevation=0.0):
    """[antenna][snapshot] of sources of equal power in noise of power 1, and the sources' own."""

    def noise(count):
        return (rng.normal(size=(count, snapshots)) + 1j * rng.normal(size=(count, snapshots))) / (
            2**0.5
        )

    sent = np.sqrt(power) * noise(len(np.atleast_1d(azimuths)))
    if coherent:
        sent[1:] = sent[0] * np.exp(1j)
    return phases(places, azimuths, elevation) @ sent + noise(len(places)), sent


def bound(places, azimuths, sent):
    """The bound of Stoica & Nehorai 1989 (IEEE Trans. ASSP 37, 720, theorem 4.1) in degrees
    [source], for these signals and noise of power 1."""
    a = phases(places, azimuths)
    step = 1e-5
    d = (phases(places, azimuths + step) - phases(places, azimuths - step)) / np.radians(2 * step)
    away = np.eye(len(a)) - a @ np.linalg.inv(a.conj().T @ a) @ a.conj().T
    # the sum over all moments of 2 re(X^H D^H P D X), with X the diagonal matrix of `sent`
    information = 2 * (d.conj().T @ away @ d * (sent.conj() @ sent.T)).real
    return np.degrees(np.sqrt(np.diag(np.linalg.inv(information))))


def sky_bound(places, azimuth, elevation, sent):
    """The same for one source of which azimuth and elevation are unknown: degrees of both."""
    step = 1e-5
    a = phases(places, azimuth, elevation)
    d = np.hstack(
        [
            phases(places, azimuth + i, elevation + j) - phases(places, azimuth - i, elevation - j)
            for i, j in ((step, 0), (0, step))
        ]
    ) / np.radians(2 * step)
    away = np.eye(len(a)) - a @ a.conj().T / len(a)
    information = 2 * np.sum(np.abs(sent) ** 2) * (d.conj().T @ away @ d).real
    return np.degrees(np.sqrt(np.diag(np.linalg.inv(information))))


def matrix_of(x):
    return x @ x.conj().T / x.shape[1]


class qa_estimators(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(54)

    def rms(self, places, azimuth, trials=TRIALS, **options):
        """Root mean square error over the bound."""
        finder = Finder(places, sources=1, **options)
        errors, bounds = [], []
        for _ in range(trials):
            x, sent = voltages(self.rng, places, azimuth)
            found = finder.find([matrix_of(x)], [FREQUENCY], [SNAPSHOTS])
            errors.append((found.azimuths[0] - azimuth + 180) % 360 - 180)
            bounds.append(bound(places, np.array([azimuth]), sent)[0])
        return np.sqrt(np.mean(np.square(errors))) / np.sqrt(np.mean(np.square(bounds)))

    def test_bound(self):
        """One source of 10 dB in an element, 100 snapshots: 1.1 times the bound at most."""
        for places, azimuth in (
            (circle(5), 77.3),
            (circle(3), 301.0),
            (circle(16, 0.4), 180.2),
            (line(3), 20.5),
            (line(8, 30.0), 320.0),
        ):
            for method in ("music", "capon"):
                ratio = self.rms(places, azimuth, method=method)
                self.assertLess(ratio, LIMIT, (len(places), method))
                self.assertGreater(ratio, 0.7)
        self.assertLess(self.rms(line(8), 20.0, smoothing="forward-backward"), LIMIT)

    def test_sky_bound(self):
        """Azimuth and elevation of one source: 1.1 times the bounds at most."""
        trials = TRIALS if ALL else 60
        limit = 1.1 if ALL else 1.1 + 3 * 1.1 / np.sqrt(2 * trials)
        tilted = circle(6) + np.array([0, 0, 1]) * WAVE * np.arange(6)[:, None] / 20
        for places, azimuth, elevation, method in (
            (circle(5), 77.3, 30.4, "music"),
            (circle(5), 301.0, 60.3, "capon"),
            (circle(5), 359.7, 45.0, "music"),
            (circle(16, 0.4), 5.2, 47.0, "capon"),
            (tilted, 190.0, 38.0, "music"),
        ):
            finder = Finder(places, sources=1, method=method, search="sky")
            errors, bounds = [], []
            for _ in range(trials):
                x, sent = voltages(self.rng, places, azimuth, elevation=elevation)
                found = finder.find([matrix_of(x)], [FREQUENCY], [SNAPSHOTS])
                errors.append(
                    (
                        (found.azimuths[0] - azimuth + 180) % 360 - 180,
                        found.elevations[0] - elevation,
                    )
                )
                bounds.append(sky_bound(places, azimuth, elevation, sent))
            errors, bounds = (np.mean(np.square(each), axis=0) for each in (errors, bounds))
            for ratio in np.sqrt(errors / bounds):
                self.assertLess(ratio, limit, (len(places), elevation, method))
                self.assertGreater(ratio, 0.6)

    def test_sky(self):
        """Two sources at elevations of their own, the horizon and the zenith; a line is refused."""
        places = circle(7)
        finder = Finder(places, search="sky")
        x, _ = voltages(
            self.rng, places, np.array([40.0, 200.0]), 30.0, 2000, elevation=np.array([20.0, 60.0])
        )
        found = finder.find([matrix_of(x)], [FREQUENCY], [2000])
        order = np.argsort(found.azimuths)
        np.testing.assert_allclose(found.azimuths[order], [40, 200], atol=1)
        np.testing.assert_allclose(found.elevations[order], [20, 60], atol=1)
        np.testing.assert_allclose(found.powers, 30, rtol=0.1)
        self.assertEqual(found.spectrum.shape, (len(found.heights), len(found.grid)))
        for height in (0.0, 89.9):
            a = phases(places, 130.0, height)
            found = Finder(places, sources=2, search="sky").find(
                [a @ a.conj().T + 1e-3 * np.eye(7)], [FREQUENCY], [100]
            )
            self.assertAlmostEqual(found.elevations[0], height, delta=0.1)
            if not height:
                self.assertAlmostEqual(found.azimuths[0], 130.0, delta=0.05)
        with self.assertRaisesRegex(ValueError, "search.*azimuth for antennas on a line"):
            Finder(line(4), search="sky")
        self.assertIn("level plane", ambiguity(circle(5), FREQUENCY, "sky"))
        self.assertIn("two sides", ambiguity(circle(5)[:, [0, 2, 1]], FREQUENCY, "sky"))
        lifted = circle(5) + np.outer(np.arange(5), [0, 0, 0.1])
        self.assertEqual(ambiguity(lifted, FREQUENCY, "sky"), "")

    def resolved(self, places, first, trials, apart, **options):
        """The fraction of trials in which two sources are each within half of their distance."""
        finder, good = Finder(places, **options), 0
        truth = np.array([first, first + apart])
        for _ in range(trials):
            x, _ = voltages(self.rng, places, truth)
            found = finder.find([matrix_of(x)], [FREQUENCY], [SNAPSHOTS]).azimuths
            found = np.sort((found - first + 180) % 360 - 180 + first)
            good += len(found) == 2 and bool(np.all(np.abs(found - truth) < apart / 2))
        return good / trials

    def test_two_sources(self):
        """Two equal ones a beam (wave over diameter) apart are told apart in 95 %."""
        for places, first in ((circle(5), 40.0), (line(8, 90.0), -3.0), (circle(8, 0.4), 200.0)):
            width = np.linalg.norm(places[:, None] - places, axis=-1).max()
            apart = float(np.degrees(WAVE / width))
            with self.subTest(len(places)):
                self.assertGreaterEqual(self.resolved(places, first, TRIALS, apart), 0.95)

    def test_number_of_sources(self):
        """MDL counts right in 95 %; AIC sees a few too many, and a weak one that MDL does not."""
        places, trials = circle(7), 100
        for azimuths in ([], [10.0], [10.0, 120.0], [10.0, 120.0, 250.0]):
            right = {"mdl": 0, "aic": 0}
            for _ in range(trials):
                x, _ = voltages(self.rng, places, np.array(azimuths))
                for criterion in right:
                    count = number_of_sources(matrix_of(x), SNAPSHOTS, criterion)
                    right[criterion] += count == len(azimuths)
            self.assertGreaterEqual(right["mdl"], 95, azimuths)
            self.assertGreaterEqual(right["aic"], 70, azimuths)
        weak = {"mdl": 0, "aic": 0}
        for _ in range(trials):
            x, _ = voltages(self.rng, places, np.array([50.0]), power=0.1)
            for criterion in weak:
                weak[criterion] += number_of_sources(matrix_of(x), SNAPSHOTS, criterion) > 0
        self.assertGreater(weak["aic"], weak["mdl"])

    def test_coherent_sources(self):
        """A transmitter and its reflection are one source to MUSIC, and two after smoothing."""
        places, truth = line(9, 90.0), np.array([-20.0, 15.0])
        good = {"none": 0, "spatial": 0}
        for smoothing in good:
            finder = Finder(places, smoothing=smoothing)
            for _ in range(40):
                x, _ = voltages(self.rng, places, truth, snapshots=400, coherent=True)
                found = finder.find([matrix_of(x)], [FREQUENCY], [400]).azimuths
                found = np.sort((found + 180) % 360 - 180)
                good[smoothing] += len(found) == 2 and bool(np.all(np.abs(found - truth) < 4))
        self.assertGreaterEqual(good["spatial"], 38)
        self.assertLess(good["none"], 10)

    def test_powers(self):
        places = circle(5)
        x, _ = voltages(self.rng, places, np.array([40.0, 200.0]), snapshots=20000)
        found = Finder(places).find([matrix_of(x)], [FREQUENCY], [20000])
        np.testing.assert_allclose(found.powers, SNR, rtol=0.05)
        self.assertAlmostEqual(found.noise, 1, delta=0.05)
        self.assertEqual(found.sources, 2)
        self.assertEqual(found.grid[np.argmax(found.spectrum)] in (40.0, 200.0), True)

    def test_bands(self):
        """Two bands, each with the wave of its own frequency, agree on one direction."""
        places, matrices = circle(5), []
        for scale in (0.9, 1.1):
            x, _ = voltages(self.rng, places * scale, np.array([130.0]))
            matrices.append(matrix_of(x))
        frequencies = FREQUENCY * np.array([0.9, 1.1])
        found = Finder(places, sources=1).find(matrices, frequencies, [SNAPSHOTS] * 2)
        self.assertAlmostEqual(found.azimuths[0], 130.0, delta=2.0)

    def test_nothing(self):
        """Noise alone has no direction."""
        x, _ = voltages(self.rng, circle(5), np.array([]))
        found = Finder(circle(5)).find([matrix_of(x)], [FREQUENCY], [SNAPSHOTS])
        self.assertEqual((found.sources, len(found.azimuths)), (0, 0))
        self.assertEqual(len(found.spectrum), 360)

    def test_products(self):
        """The products of the X-engine become x x^H."""
        x = self.rng.normal(size=3) + 1j * self.rng.normal(size=3)
        products = np.array([x[a] * np.conj(x[b]) for a in range(3) for b in range(a + 1)])
        np.testing.assert_allclose(covariance(products, 3), np.outer(x, x.conj()))

    def test_lines_and_ambiguity(self):
        self.assertIsNone(line_of(circle(5)))
        found = line_of(line(4, 90.0)[[2, 0, 3, 1]])
        np.testing.assert_allclose(found.axis, [1, 0, 0], atol=1e-9)
        self.assertEqual(list(found.order), [1, 3, 0, 2])
        self.assertAlmostEqual(found.spacing, 0.45 * WAVE)
        self.assertIsNone(line_of([[0, 0, 0], [1, 0, 0], [3, 0, 0]]).spacing)
        self.assertEqual(ambiguity(circle(5, 0.5), FREQUENCY), "")
        self.assertIn("ambiguous", ambiguity(circle(5, 0.51), FREQUENCY))
        self.assertRegex(ambiguity(line(5, spacing=0.6), FREQUENCY), "ambiguous.*two sides")
        self.assertRegex(ambiguity(line(5, spacing=0.5), FREQUENCY), "^a line")

    def test_refuses(self):
        for options, text in (
            (dict(positions=circle(5)[:2]), "antennas: 2.*3 to 16"),
            (dict(positions=circle(17)), "antennas: 17.*3 to 16"),
            (dict(positions=circle(5)[[0, 0, 1]]), "two in one place"),
            (dict(positions=circle(5), method="esprit"), "method.*music, capon"),
            (dict(positions=circle(5), smoothing="spatial"), "smoothing.*equal spacings"),
            (dict(positions=circle(5), sources=5), "sources: 5.*0 .* to 4"),
            (dict(positions=circle(5), criterion="bic"), "criterion.*mdl, aic"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                Finder(**options)


if __name__ == "__main__":
    gr_unittest.run(qa_estimators)
