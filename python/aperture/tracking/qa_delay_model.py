#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Delays towards directions, against an independent model."""

import math

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays import earth_rotation, geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.satellites import EPOCH, ORBITS
from gnuradio.aperture.testing.sky_model import geometric_delays
from gnuradio.aperture.tracking.delay_model import LONGEST_INTERVAL, DelayModel
from gnuradio.aperture.tracking.directions import Direction, parse_direction

C = 299792458.0
START = 1577934245.75  # 2020-01-02T03:04:05.75Z: astropy's own table of the Earth's rotation has it


def array_of(extent=3000.0, latitude=40.0, inputs=7, cables=False):
    rng = np.random.default_rng(1)
    places = [
        Antenna(f"A{i}", tuple(rng.uniform(-extent, extent, 3) * (1, 1, 0.01)))
        for i in range(inputs)
    ]
    return make_array(
        places,
        inputs=[
            Input(place.name, "x", cable_delay=1e-7 * i * cables) for i, place in enumerate(places)
        ],
        center=1.4e9,
        site=(latitude, -105.0, 2000.0),
    )


class qa_delay_model(gr_unittest.TestCase):
    def test_against_an_independent_model(self):
        """
        Within 0.06 arc seconds of rotation: the fortnightly tide in UT1, which the table of the
        Earth's rotation does not have; the model takes UT1 and the pole from astropy's.
        """
        from astropy.time import Time
        from astropy.utils import iers

        iers.conf.auto_download = False
        limit = np.radians(0.06 / 3600) / C
        for latitude in (40.0, -70.0, 0.0):
            array = array_of(latitude=latitude)
            radius = np.linalg.norm(array.input_positions(), axis=1)
            for ra, dec in ((10.0, 60.0), (100.0, -30.0), (200.0, 5.0), (300.0, 88.0)):
                model = DelayModel(array, Direction("s", ra=ra, dec=dec))
                times = START + np.array([0, 3601.5, 100 * 86400 + 0.25])
                found = model.delays(times)
                for time, delays in zip(times, found):
                    expected = geometric_delays(
                        array, ra, dec, Time(time, format="unix", scale="utc")
                    )
                    error = np.abs(delays - expected)
                    self.assertTrue(np.all(error < limit * radius), (latitude, ra, dec))
        # a model that left out the aberration would be off by 20 arc seconds, 300 times as much

    def test_compensation(self):
        """The residual in each channel is the same for all inputs, cables included."""
        array = array_of(cables=True)
        direction = parse_direction("Cas A")
        model = DelayModel(array, direction)
        frequencies = 1.4e9 + 1e5 * np.arange(-3, 4)
        azimuth, elevation = geometry.radec_to_azel(
            direction.ra, direction.dec, START, array.latitude, array.longitude, array.height
        )
        tau = geometry.delays(array.input_positions(), geometry.direction(azimuth, elevation)) + [
            entry.cable_delay for entry in array.inputs
        ]
        delay = model.compensation(START)
        self.assertEqual(delay.min(), 0)
        phases = (
            -2 * np.pi * frequencies[:, None] * tau
            - 2 * np.pi * 1.4e9 * delay
            - 2 * np.pi * (frequencies - 1.4e9)[:, None] * delay
        )
        rotated = np.exp(1j * (phases - phases[:, :1]))
        np.testing.assert_allclose(rotated, 1, atol=1e-6)

    def test_sign(self):
        """A source in the east comes to the eastern antenna first, which must wait."""
        array = make_array(
            {"E": (300.0, 0, 0), "W": (-300.0, 0, 0)}, center=1e9, site=(0.0, 0.0, 0.0), name="pair"
        )
        for azimuth, expected in ((90.0, (600 / C * 0.5, 0)), (270.0, (0, 600 / C * 0.5))):
            ra, dec = geometry.azel_to_radec(azimuth, 60.0, START, 0.0, 0.0)
            found = DelayModel(array, Direction("s", ra=float(ra), dec=float(dec)))
            np.testing.assert_allclose(found.compensation(START), expected, atol=1e-15)
            # the source moves to the west: the eastern antenna's delay becomes shorter
            segment = found.segment(START, START + 1)
            self.assertLess(segment.rates[0] - segment.rates[1], 0)

    def test_interpolation(self):
        """A line between two exact delays is off by less than was asked for, and not much less."""
        array = array_of()
        for error in (0.1, 5.0):
            worst = 0.0
            for ra, dec in ((0.0, 0.0), (0.0, 60.0), (90.0, 30.0)):
                model = DelayModel(array, Direction("s", ra=ra, dec=dec))
                interval = model.interval(1.4e9, error)
                self.assertLess(interval, LONGEST_INTERVAL)
                for hour in range(0, 24, 3):
                    begin = START + 3600 * hour
                    segment = model.segment(begin, begin + interval)
                    times = begin + np.linspace(0, interval, 9)
                    line = segment.delays + segment.rates * (times - begin)[:, None]
                    off = line - model.compensation(times)
                    off -= off[:, :1]  # relative to the first input
                    worst = max(worst, 360 * 1.4e9 * np.ptp(off, axis=1).max())
            self.assertLess(worst, error)
            self.assertGreater(worst, 0.3 * error)

    def test_interpolation_of_satellites(self):
        """The same for a satellite 750 km away and one that stands all but still, at each place of
        its orbit."""
        array = array_of(extent=300.0)
        for orbit in ("station", "molniya"):
            model = DelayModel(array, Direction(orbit, tle=ORBITS[orbit]))
            for begin in EPOCH + np.arange(0, 86400, 3571.0):
                interval = model.interval(1.4e9, 1.0, begin)
                segment = model.segment(begin, begin + interval)
                times = begin + np.linspace(0, interval, 9)
                off = segment.delays + segment.rates * (times - begin)[:, None]
                off -= model.compensation(times)
                off -= off[:, :1]
                # the clock of doubles is good to 0.2 us, a delay to 1e-16 s
                self.assertLess(360 * 1.4e9 * np.ptp(off, axis=1).max(), 1.0)

    def test_near(self):
        """Delays are the differences of paths, of a transmitter between and around antennas, and of
        one so far away that these differ in the last digits only."""
        array = array_of(extent=30.0)
        places = array.input_positions()
        for away in (0.5, 20.0, 1e3, 1e7):
            look = Direction("t", azimuth=123.0, elevation=10.0, distance=away)
            place = np.longdouble(away) * geometry.direction(123.0, 10.0)
            paths = np.sqrt(((place - places.astype(np.longdouble)) ** 2).sum(axis=-1)) - away
            np.testing.assert_allclose(
                DelayModel(array, look).delays(0.0) * C,
                paths.astype(float),
                atol=3e-12 * max(1, away / 1e3),
            )
        far = geometry.fraunhofer_distance(places, 1e9)
        self.assertAlmostEqual(
            far, 2 * geometry.longest_baseline(places) ** 2 / (C / 1e9), places=6
        )
        # there the edge of an aperture is a sixteenth of a wave behind a plane wave
        edge = [[geometry.longest_baseline(places) / 2, 0, 0]]
        self.assertAlmostEqual(
            float(geometry.delays(edge, [0, 1.0, 0], far)[0]) * 1e9, 1 / 16, places=5
        )

    def test_intervals(self):
        model = DelayModel(array_of(), Direction("s", ra=0.0, dec=0.0))
        self.assertEqual(model.interval(0.0, 0.1), LONGEST_INTERVAL)
        self.assertAlmostEqual(model.interval(4e9, 0.1), model.interval(1e9, 0.1) / 2)
        self.assertAlmostEqual(model.interval(1e9, 0.4), model.interval(1e9, 0.1) * 2)
        fixed = DelayModel(array_of(), Direction("z", azimuth=0.0, elevation=50.0))
        self.assertEqual(fixed.interval(1e9, 0.1), math.inf)
        segment = fixed.segment(START, math.inf)
        np.testing.assert_array_equal(segment.rates, 0)
        np.testing.assert_array_equal(segment.delays, fixed.compensation(START))

    def test_longest_baseline(self):
        self.assertEqual(geometry.longest_baseline([[0, 0, 0]]), 0)
        self.assertEqual(
            geometry.longest_baseline([[0, 0, 0], [3, 4, 0], [0, 0, 0], [3, -4, 0]]), 8
        )

    def test_error_is_stated(self):
        """0.05 arc seconds where the Earth's rotation was measured, and more and more later."""
        days = np.array([59000, 61335, 61335 + 90, 61700, 62500, 70000]) + 2400000.5
        errors = [earth_rotation.direction_error(day) for day in days]
        self.assertLess(errors[1], 0.06)
        self.assertEqual(sorted(errors), errors)
        self.assertIn("arc seconds", earth_rotation.warning(days[-1]))
        self.assertIn(f"{errors[-1]:.2g}", earth_rotation.warning(days[-1]))
        self.assertIsNone(earth_rotation.warning(days[0]))


if __name__ == "__main__":
    gr_unittest.run(qa_delay_model)
