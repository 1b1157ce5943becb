#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Directions: how they are written, and where the bodies are."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Source
from gnuradio.aperture.arrays.bodies import BODIES, body_radec
from gnuradio.aperture.beams.beams import beams_of
from gnuradio.aperture.beams.weights import beam_directions
from gnuradio.aperture.calibration.sources import sky_model
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.satellites import EPOCH, ORBITS
from gnuradio.aperture.tracking.directions import (
    Direction,
    angular_rate,
    azimuth_elevation,
    catalogue,
    icrs,
    motions,
    parse_direction,
    unit_vectors,
)
from gnuradio.aperture.tracking.phase_center import parse_phase_centers

SITE = (-26.7033, 116.6708, 377.8)
TIME = 1577934245.75  # 2020-01-02T03:04:05.75Z: the Earth's orientation then is known everywhere
ARRAY = make_array({"A": (0.0, 0.0, 0.0)}, site=SITE)


class qa_directions(gr_unittest.TestCase):
    def test_long_text(self):
        """A message of a million characters is not repeated in the answer."""
        with self.assertRaises(ValueError) as caught:
            parse_direction("x" * 10**6)
        self.assertLess(len(str(caught.exception)), 400)

    def test_coordinates(self):
        expected = 350.85, 58.815
        for text in (
            "23:23:24 +58:48:54",
            "23:23:24.0,+58:48:54.00",
            "23h23m24s +58d48m54s",
            "23h23m24s+58°48′54″",
            "23 23 24 +58 48 54",
            "350.85, 58.815",
            "350.85 +58.815",
            "350.85d +58.815°",
            "23:23.4 58:48.9",
            "23.39h 58.815",
            (350.85, 58.815),
            {"ra": 350.85, "dec": 58.815},
        ):
            found = parse_direction(text)
            self.assertTrue(found.moving)
            np.testing.assert_allclose(
                (found.ra, found.dec), expected, atol=1e-9, err_msg=repr(text)
            )
        south = parse_direction("00:00:01 −00:00:36")
        np.testing.assert_allclose((south.ra, south.dec), (15 / 3600, -0.01), atol=1e-12)

    def test_minutes_with_a_fraction(self):
        self.assertAlmostEqual(parse_direction("1:30.5 2").ra, 15 * (1 + 30.5 / 60))

    def test_astropy(self):
        from astropy import units
        from astropy.coordinates import SkyCoord

        found = parse_direction(SkyCoord(l=111.7 * units.deg, b=-2.1 * units.deg, frame="galactic"))
        self.assertLess(abs(found.ra - 350.85) + abs(found.dec - 58.815), 0.3)

    def test_horizontal(self):
        for text in (
            "az=190.5, el=45",
            "azimuth 190.5 elevation 45",
            "azel 190.5 45",
            "AZ: 190.5° EL: 45°",
            "altaz: 190.5,45",
            {"azimuth": 190.5, "elevation": 45},
        ):
            found = parse_direction(text)
            self.assertFalse(found.moving)
            self.assertEqual((found.azimuth, found.elevation), (190.5, 45))

    def test_distance(self):
        for text in (
            "az=190.5, el=4, distance=1200",
            "azel 190.5 4 d=1.2 km",
            {"azimuth": 190.5, "elevation": 4, "distance": 1200},
        ):
            found = parse_direction(text)
            self.assertEqual((found.azimuth, found.elevation, found.distance), (190.5, 4, 1200))
        self.assertIn("1200 m away", str(parse_direction("az=1, el=2, distance=1200")))
        with self.assertRaisesRegex(ValueError, "phase_centers.*far away"):
            parse_phase_centers("az=1, el=2, distance=12")
        with self.assertRaisesRegex(ValueError, "source.*far away"):
            sky_model("az=1, el=2, distance=12")

    def test_motions(self):
        """The change of unit vectors a second, against their difference in 2 s."""
        looks = [Direction(name, tle=tle) for name, tle in ORBITS.items()]
        looks += [parse_direction("Cas A"), parse_direction("az=10, el=20, distance=50")]
        before, after = (unit_vectors(looks, EPOCH + step, ARRAY) for step in (-1, 1))
        found = motions(looks, EPOCH, ARRAY)
        np.testing.assert_allclose(found, (after - before) / 2, atol=1e-6)
        for look, motion in zip(looks, found):
            self.assertLessEqual(np.linalg.norm(motion), angular_rate(look, EPOCH, ARRAY))

    def test_names(self):
        for names, known in (
            (("Cas A", "casa", "CAS_A", "3C461", "cassiopeia a"), "Cas A"),
            (("PSR B0329+54", "b0329+54", "0329+54", "J0332+5434", "PSR J0332+5434"), "B0329+54"),
            (("vela", "B0833−45", "PSRJ0835-4510"), "B0833-45"),
            (("M87", "m 87", "Vir A"), "Vir A"),
        ):
            for name in names:
                self.assertEqual(parse_direction(name).name, known)
        self.assertEqual(parse_direction("SUN"), Direction("Sun", body="sun"))
        for name in (
            "Cyg A",
            "Tau A",
            "Her A",
            "Hyd A",
            "Cen A",
            "B0950+08",
            "B1133+16",
            "B1642-03",
            "B1749-28",
            "B1929+10",
            "B2016+28",
        ):
            self.assertEqual(parse_direction(name).name, name)

    def test_names_of_pulsars_fit_their_positions(self):
        """B and J names have hours, minutes and degrees of 1950 and 2000 in them."""
        import re

        seen = 0
        for direction in catalogue():
            if re.fullmatch(r"B\d{4}[+-]\d\d", direction.name):
                hours = int(direction.name[1:3]) + int(direction.name[3:5]) / 60
                # 50 years of precession: 2.6 minutes, a fifth of a degree
                self.assertLess(abs(direction.ra / 15 - hours), 6 / 60, direction.name)
                self.assertLess(abs(direction.dec - float(direction.name[5:])), 1.3, direction.name)
                seen += 1
        self.assertGreater(seen, 10)

    def test_errors(self):
        for value, text in (
            ("", "must be a name"),
            ("Cas B", "'Cas B' is not known"),
            ("23:70:24 +58", "right ascension.*60 minutes"),
            ("25:00:00 +1", "right ascension.*24 hours"),
            ("12:00:00 +95", "declination.*90 degrees"),
            ("12:00:00 4h", "declination.*degrees such as"),
            ("az=10", "must be a name"),
            ("az 10 el 91", "elevation.*0 to 90"),
            ("1 2 3", "not known"),
            ((1,), "must be a name"),
            (None, "must be a name"),
            ({"ra": 1}, "must have azimuth"),
            ({"direction": "sun"}, "'direction' is not allowed"),
            ({"body": "pluto"}, "body.*sun, moon"),
            ((400, 10), "ra.*0 to 360"),
            ((float("nan"), 1), "ra.*0 to 360"),
        ):
            with self.assertRaisesRegex(ValueError, f"(?s)direction.*{text}", msg=repr(value)):
                parse_direction(value)

    def test_bodies_against_astropy(self):
        """
        The bodies agree with astropy's builtin ephemeris, seen from the site, within 0.1 arc
        seconds: the tide in UT1, and the deflection by the Sun of bodies that are not behind it.
        """
        from astropy.coordinates import AltAz, EarthLocation, get_body
        from astropy.time import Time
        from astropy.utils import iers

        iers.conf.auto_download = False
        location = EarthLocation.from_geodetic(SITE[1], SITE[0], SITE[2])
        for seconds in (TIME, TIME + 200 * 86400 + 12345):
            time = Time(seconds, format="unix", location=location)
            for body in BODIES:
                expected = get_body(body, time, location, ephemeris="builtin").transform_to(
                    AltAz(obstime=time, location=location)
                )
                found = azimuth_elevation(Direction(body, body=body), seconds, ARRAY)
                chord = np.linalg.norm(
                    geometry.direction(*found)
                    - geometry.direction(expected.az.deg, expected.alt.deg)
                )
                self.assertLess(np.degrees(chord) * 3600, 0.1, body)

    def test_bodies_at_several_times(self):
        times = TIME + np.arange(3) * 1000.0
        for body in BODIES:
            np.testing.assert_allclose(
                body_radec(body, times, *SITE),
                np.transpose([body_radec(body, time, *SITE) for time in times]),
                atol=1e-12,
            )

    def test_icrs_of_what_stands_still(self):
        direction = Direction("fixed", azimuth=40.0, elevation=50.0)
        ra, dec = icrs(direction, TIME, ARRAY)[:2]
        np.testing.assert_allclose(
            geometry.radec_to_azel(ra, dec, TIME, *SITE), (40, 50), atol=1e-8
        )

    def test_of_targets(self):
        source = Source("s", ra=10.0, dec=20.0, flux=3.0)
        found = parse_direction(source)
        self.assertEqual((found.name, found.ra, found.dec), ("s", 10.0, 20.0))
        self.assertTrue(found.same_as(parse_direction((10, 20))))
        self.assertFalse(found.same_as(parse_direction("sun")))

    def test_beams(self):
        """The same texts point beams."""
        beams = beams_of(
            ARRAY,
            ["sun", {"direction": "B1133+16", "name": "psr"}, {"azimuth": 10, "elevation": 20}],
        )
        self.assertEqual([beam.name for beam in beams], ["Sun", "psr", "beam"])
        looks = beam_directions(ARRAY, beams, TIME)
        for beam, look in zip(beams, looks):
            np.testing.assert_allclose(
                look, geometry.direction(*azimuth_elevation(beam, TIME, ARRAY)), atol=1e-14
            )
        with self.assertRaisesRegex(ValueError, r"beams\[0\].ra: 1.0.*beside direction"):
            beams_of(ARRAY, [{"direction": "sun", "ra": 1}])
        with self.assertRaisesRegex(ValueError, r"beams\[0\].direction: 'sum' is not known"):
            beams_of(ARRAY, ["sum"])
        with self.assertRaisesRegex(ValueError, r"beams\[0\].direction: 'Sun'.*grid"):
            beams_of(ARRAY, [{"direction": "sun", "columns": 3, "spacing": 1}])


if __name__ == "__main__":
    gr_unittest.run(qa_directions)
