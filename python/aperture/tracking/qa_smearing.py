#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.tracking.smearing import (
    FINE_CYCLES,
    MOST_CYCLES,
    Smearing,
    half_power_radius,
    kept,
)

LIGHT = 299792458.0
DAY = 86164.0905  # s, of a revolution of the Earth


def equatorial(positions, latitude):
    """Metres along X (to the meridian at declination 0), Y (east) and Z (the pole)."""
    lat = np.radians(latitude)
    east, north, up = np.asarray(positions, float).T
    return np.stack(
        [-np.sin(lat) * north + np.cos(lat) * up, east, np.cos(lat) * north + np.sin(lat) * up],
        axis=-1,
    )


def towards(hour_angle, declination):
    """Unit vectors [...][X, Y, Z] towards a source; hour angles run to the west."""
    return np.stack(
        np.broadcast_arrays(
            np.cos(declination) * np.cos(hour_angle),
            -np.cos(declination) * np.sin(hour_angle),
            np.sin(declination),
        ),
        axis=-1,
    )


class qa_smearing(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(5)
        self.positions = self.rng.normal(size=(7, 3)) * (300, 200, 4)
        self.latitude, self.frequency = 41.3, 1.61e9
        self.places = equatorial(self.positions, self.latitude)
        lat = np.radians(self.latitude)
        self.zenith = np.array([np.cos(lat), 0, np.sin(lat)])

    def average(self, hour_angle, declination, seconds, centre=None):
        """|mean over time of the visibility|, [pair], of the sky that is rotated step by step."""
        turn = np.linspace(-0.5, 0.5, 2001) * 2 * np.pi * seconds / DAY
        source = towards(hour_angle + turn, declination)
        if centre is not None:
            source = source - towards(centre[0] + turn, centre[1])
        path = source @ (self.places[:, None] - self.places).reshape(-1, 3).T
        weights = np.ones(len(turn))
        weights[[0, -1]] = 0.5
        phasors = np.exp(2j * np.pi * self.frequency / LIGHT * path)
        return np.abs(weights @ phasors) / weights.sum()

    def directions(self, count):
        hour_angle = self.rng.uniform(-np.pi, np.pi, count)
        declination = np.arcsin(self.rng.uniform(-1, 1, count))
        up = towards(hour_angle, declination) @ self.zenith > 0
        return np.stack([hour_angle[up], declination[up]], axis=-1)

    def test_time(self):
        """No source above the horizon loses more of any baseline than is said, and one on the
        equator of the sky loses that: within 0.001, for what the second order does in 2 s."""
        smearing = Smearing(self.positions, self.latitude, self.frequency)
        for cycles in (FINE_CYCLES, MOST_CYCLES, 0.7):
            seconds = cycles / smearing.fringe_frequency
            expected = kept(cycles)
            for direction in self.directions(60):
                least = self.average(*direction, seconds).min()
                self.assertGreaterEqual(least, expected - 1e-4)
            baseline = self.places[smearing.fastest.first] - self.places[smearing.fastest.second]
            # fastest where b is seen across: the projection of s on the equator is across b's
            hour_angle = -np.arctan2(baseline[1], baseline[0]) + np.pi / 2
            if towards(hour_angle, 0.0) @ self.zenith < 0:
                hour_angle += np.pi
            self.assertAlmostEqual(self.average(hour_angle, 0, seconds).min(), expected, delta=1e-3)

    def test_time_off_the_centre(self):
        """At an angle from a tracked direction nothing loses more than is said, and some place
        loses nearly that."""
        angle = half_power_radius(3.0, self.frequency)
        self.assertAlmostEqual(np.degrees(angle), 0.6 * np.degrees(LIGHT / 1.61e9 / 3.0), places=9)
        smearing = Smearing(self.positions, self.latitude, self.frequency, angle)
        seconds = MOST_CYCLES / smearing.fringe_frequency
        least = []
        for hour_angle in np.linspace(-np.pi, np.pi, 25):
            # at the pole the offset is across the axis, and every hour angle is seen
            centre = (0.0, np.pi / 2)
            place = (hour_angle, np.pi / 2 - angle)
            least.append(self.average(*place, seconds, centre).min())
        self.assertGreaterEqual(min(least), kept(MOST_CYCLES) - 1e-4)
        self.assertLess(min(least), kept(MOST_CYCLES) + 0.01)
        for hour_angle, declination in self.directions(40):
            if abs(declination) + angle < np.pi / 2:
                place = (hour_angle, declination + angle)
                least = self.average(*place, seconds, (hour_angle, declination)).min()
                self.assertGreaterEqual(least, kept(MOST_CYCLES) - 1e-4)

    def test_bandwidth(self):
        """A channel's average of a source along the longest baseline keeps what is said, others
        keep more."""
        smearing = Smearing(self.positions, self.latitude, self.frequency)
        for cycles in (FINE_CYCLES, MOST_CYCLES, 1.4):
            offsets = (np.arange(4000) + 0.5) / 4000 - 0.5
            frequencies = self.frequency + offsets * cycles / smearing.delay
            first, second = smearing.longest.first, smearing.longest.second
            along = self.positions[first] - self.positions[second]
            along /= np.linalg.norm(along)
            for source in (along, *self.rng.normal(size=(40, 3))):
                source = source / np.linalg.norm(source)
                delays = (self.positions[:, None] - self.positions).reshape(-1, 3) @ source / LIGHT
                amplitudes = np.abs(
                    np.exp(2j * np.pi * np.multiply.outer(frequencies, delays)).mean(axis=0)
                )
                if np.allclose(source, along):
                    pair = first * len(self.positions) + second
                    self.assertAlmostEqual(amplitudes[pair], kept(cycles), delta=1e-6)
                if cycles < 1:
                    self.assertGreaterEqual(amplitudes.min(), kept(cycles) - 1e-6)

    def test_small_arrays(self):
        """One antenna, and antennas in one place, lose nothing."""
        for positions in ([[0, 0, 0]], [[3, 4, 5], [3, 4, 5]]):
            smearing = Smearing(positions, 0.0, 1e9)
            self.assertEqual((smearing.fringe_frequency, smearing.delay), (0.0, 0.0))


if __name__ == "__main__":
    gr_unittest.run(qa_smearing)
