#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Satellites: places against those of skyfield, and elements that are damaged, old or decayed."""

from types import SimpleNamespace

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Source, load_array, save_array
from gnuradio.aperture.arrays.satellites import age_warning, satellite, two_lines
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.satellites import EPOCH, ORBITS, elements
from gnuradio.aperture.tracking.directions import (
    Direction,
    age_warnings,
    azimuth_elevation,
    distance,
    parse_direction,
)

SITE = SimpleNamespace(latitude=52.1, longitude=11.6, height=80.0)
#: by skyfield 1.55 with the IERS's UT1 and pole, and the time that light takes: orbit, UTC seconds
#: since 1970, azimuth, elevation (degrees), distance (m); check_directions.py repeats that in full
SEEN = (
    ("station", 1793102400, 279.9318, 2.1937, 2119728),
    ("station", 1793126840, 187.5830, -44.3708, 9477082),
    ("station", 1793162889, 161.5018, 0.5931, 2281922),
    ("navigation", 1793102400, 166.8143, -26.3011, 28850054),
    ("navigation", 1793126840, 23.8518, 8.1732, 24851082),
    ("geostationary", 1793102400, 111.8819, 7.6116, 40846598),
    ("geostationary", 1793162889, 111.8422, 7.6018, 40840211),
    ("molniya", 1793102400, 215.4126, -16.7860, 10693959),
    ("molniya", 1793126840, 319.8395, 72.2547, 38320535),
    ("weather", 1793126840, 357.8839, -33.5802, 8452029),
)


class qa_satellites(InFolder, gr_unittest.TestCase):
    def test_places(self):
        """Within 0.0003 degrees and 1 km; 0.001 degrees is what is asked for, and without the time
        that light takes places are off by that."""
        for orbit, time, azimuth, elevation, away in SEEN:
            look = parse_direction({"name": orbit, "tle": ORBITS[orbit]})
            found = geometry.direction(*azimuth_elevation(look, float(time), SITE))
            expected = geometry.direction(azimuth, elevation)
            self.assertLess(np.degrees(np.linalg.norm(found - expected)), 3e-4, orbit)
            self.assertLess(abs(float(distance(look, float(time), SITE)) - away), 1e3, orbit)

    def test_many_times_are_one_by_one(self):
        times = EPOCH + np.arange(6).reshape(2, 3) * 1000.5
        seen = satellite(ORBITS["station"]).seen(times, 52.1, 11.6, 80.0)
        for place in np.ndindex(2, 3):
            one = satellite(ORBITS["station"]).seen(times[place], 52.1, 11.6, 80.0)
            np.testing.assert_allclose(seen.towards[place], one.towards, atol=1e-12)
            np.testing.assert_allclose(seen.distance[place], one.distance, atol=1e-3)

        self.assertEqual(satellite(ORBITS["station"]).seen([], 52.1, 11.6).towards.shape, (0, 3))

    def test_damaged(self):
        first, second = ORBITS["station"].split("\n")
        for text, problem in (
            (first, "the two lines"),
            (f"{first}\n{second}\n{second}\n{second}", "the two lines"),
            (f"{second}\n{first}", "line 1 of a satellite"),
            (f"{first[:-1]}\n{second}", "line 1 of a satellite"),
            (f"{first}\n{second.replace('130.0', '131.0')}", "line 2.*25544.*checksum 1.*give 2"),
            (f"{first}\n{ORBITS['weather'].split()[-1]}", "line 2 of a satellite"),
            (f"{first}\n" + ORBITS["weather"].split("\n")[1], "line 1 is of.*25544, line 2.*33591"),
        ):
            with self.assertRaisesRegex(ValueError, f"(?s)tle.*{problem}", msg=text):
                parse_direction({"name": "s", "tle": text})
        self.assertEqual(two_lines(f"NAME\r\n {first} \r\n{second}\r\n"), (first, second))

    def test_decayed(self):
        """17 revolutions a day are below the ground."""
        with self.assertRaisesRegex(ValueError, "tle.*satellite 00099 .*decayed"):
            parse_direction({"tle": elements(99, 26300.0, 51.6, 0.0, 0.0, 0.0, 0.0, 17.5)})
        with self.assertRaisesRegex(ValueError, "tle.*satellite 00098 .*eccentricity|decayed"):
            parse_direction({"tle": elements(98, 26300.0, 51.6, 0.0, 0.99, 0.0, 0.0, 15.0)})

    def test_age(self):
        for days, text in (
            (6.9, None),
            (-6.9, None),
            (30.0, "30.0 days before"),
            (-8, "8.0 days af"),
        ):
            found = age_warning("ISS", ORBITS["station"], EPOCH + days * 86400)
            self.assertEqual(found is None, text is None)
            if text:
                self.assertIn(f"elements of ISS are of 2026-10-27T12:00:00, {text}", found)

    def test_ages(self):
        """The oldest of several old elements are named, and the others counted."""
        looks = [Direction(name, tle=ORBITS[name]) for name in ("station", "weather", "molniya")]
        self.assertEqual(age_warnings(looks, EPOCH), [])
        (text,) = age_warnings([*looks, parse_direction("Cas A")], EPOCH + 30 * 86400)
        self.assertRegex(text, "^the elements of weather are .*; those of 2 more are old, too$")

    def test_descriptions(self):
        """Satellites, and transmitters nearby, are written and read again."""
        array = make_array({"A": (0, 0, 0), "B": (3, 0, 0)})
        array.sources = [
            Source("sat", tle=ORBITS["station"]),
            Source("car", azimuth=10.0, elevation=1.0, distance=50.0, velocity=(3, -4, 0)),
            Source("hill", azimuth=20.0, elevation=2.0, distance=5000.0),
        ]
        save_array(array, self.path("a.yml"))
        self.assertEqual(load_array(self.path("a.yml")).sources, array.sources)
        with self.assertRaisesRegex(ValueError, "velocity.*without a distance"):
            Source("s", azimuth=0.0, elevation=0.0, velocity=(1, 2, 3))
        with self.assertRaisesRegex(ValueError, "velocity.*three numbers"):
            Source("s", azimuth=0.0, elevation=0.0, distance=1.0, velocity=(1, 2))
        with self.assertRaisesRegex(ValueError, "distance.*above 0"):
            Source("s", azimuth=0.0, elevation=0.0, distance=0.0)
        with self.assertRaisesRegex(ValueError, "has distance, ra, dec|has ra, dec, distance"):
            Source("s", ra=0.0, dec=0.0, distance=1.0)


if __name__ == "__main__":
    gr_unittest.run(qa_satellites)
