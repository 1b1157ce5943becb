#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Passes, and the command that tells what is up, against astropy and skyfield."""

from types import SimpleNamespace

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.commands import sky
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run
from gnuradio.aperture.testing.satellites import EPOCH, ORBITS
from gnuradio.aperture.tracking.directions import parse_direction
from gnuradio.aperture.tracking.passes import galactic_plane, passes

SITE = SimpleNamespace(latitude=52.1, longitude=11.6, height=80.0)
START = 1577934245.0  # 2020-01-02T03:04:05Z: the Earth's orientation then is known everywhere
DAY = 86400.0
#: by skyfield 1.55 (find_events above 5 degrees, ORBITS["station"], from EPOCH on for 12 hours):
#: seconds after EPOCH, elevation, azimuth, of rise, greatest elevation and set
SKYFIELD = (
    (40.6, 5.0, 276.75),
    (272.7, 26.479, 210.83),
    (503.7, 5.0, 144.71),
    (5987.9, 5.0, 236.37),
    (6022.1, 5.187, 228.52),
    (6056.2, 5.0, 220.68),
)


def altitudes(name, times):
    """Elevations and azimuths in degrees by astropy, without refraction."""
    from astropy import units
    from astropy.coordinates import AltAz, EarthLocation, SkyCoord, get_body
    from astropy.time import Time
    from astropy.utils import iers

    iers.conf.auto_download = False
    location = EarthLocation.from_geodetic(SITE.longitude, SITE.latitude, SITE.height)
    moments = Time(times, format="unix", location=location)
    if name in ("sun", "moon"):
        place = get_body(name, moments, location, ephemeris="builtin")
    else:
        place = SkyCoord(name, unit=(units.hourangle, units.deg), frame="icrs")
    seen = place.transform_to(AltAz(obstime=moments, location=location))
    return seen.alt.deg, seen.az.deg


class qa_passes(InFolder, gr_unittest.TestCase):
    def test_against_astropy(self):
        """Rises and sets are as many as on a grid of 5 minutes, each where astropy sees it."""
        times = START + np.arange(0, DAY, 300.0)
        for name, place in (
            ("sun", "sun"),
            ("moon", "moon"),
            ("Tau A", "05:34:31.94 +22:00:52.2"),
            ("Vir A", "12:30:49.423 +12:23:28.04"),
            ("Sgr A*", "17:45:40.041 -29:00:28.12"),
        ):
            elevation = altitudes(place, times)[0]
            for lowest in (0.0, 10.0):
                found = passes(parse_direction(name), SITE, START, DAY, lowest)
                up = elevation > lowest
                rises = np.flatnonzero(~up[:-1] & up[1:])
                sets = np.flatnonzero(up[:-1] & ~up[1:])
                for side, there in (("rise", rises), ("set", sets)):
                    ours = [getattr(each, side) for each in found if getattr(each, side)]
                    self.assertEqual(len(ours), len(there), name)
                    for moment, index in zip(ours, there):
                        self.assertTrue(times[index] - 1 < moment.time < times[index + 1] + 1, name)
                    if ours:
                        at, azimuth = altitudes(place, [moment.time for moment in ours])
                        # 0.004 degrees a second is as fast as the sky moves
                        np.testing.assert_allclose(at, lowest, atol=0.005, err_msg=name)
                        off = np.array([moment.azimuth for moment in ours]) - azimuth
                        self.assertLess(np.abs(off).max(), 0.01, name)
                if up.any():
                    best = max(found, key=lambda each: each.highest.elevation).highest
                    # within 2.5 minutes of what is highest it is 0.2 degrees lower at most
                    self.assertTrue(-1e-3 < best.elevation - elevation.max() < 0.2, name)
                    self.assertLess(abs(best.time - times[elevation.argmax()]), 301)
                    at = altitudes(place, [best.time])[0]
                    np.testing.assert_allclose(at, best.elevation, atol=1e-3, err_msg=name)
        self.assertEqual([], passes(parse_direction("Pic A"), SITE, START, DAY))
        (always,) = passes(parse_direction("Cas A"), SITE, START, DAY)
        self.assertEqual((always.rise, always.set), (None, None))

    def test_satellites(self):
        """Passes are within a second of skyfield's, which leaves out the time that light takes."""
        look = parse_direction({"name": "s", "tle": ORBITS["station"]})
        found = passes(look, SITE, EPOCH, DAY / 2, 5.0)
        events = [moment for each in found for moment in (each.rise, each.highest, each.set)]
        self.assertEqual(len(events), len(SKYFIELD))
        for moment, (time, elevation, azimuth) in zip(events, SKYFIELD):
            self.assertLess(abs(moment.time - EPOCH - time), 1.0)
            self.assertLess(abs(moment.elevation - elevation), 0.05)
            self.assertLess(abs(moment.azimuth - azimuth), 0.5)

    def test_short_passes(self):
        """A pass of a few seconds above an elevation that is nearly reached is found."""
        look = parse_direction({"name": "s", "tle": ORBITS["station"]})
        for each in passes(look, SITE, EPOCH, DAY / 4):
            lowest = each.highest.elevation - 0.002
            found = passes(look, SITE, EPOCH, DAY / 4, lowest)
            near = [one for one in found if abs(one.highest.time - each.highest.time) < 10]
            self.assertEqual(len(near), 1)

    def test_galactic_plane(self):
        """The highest point of the plane, against places on it every 0.25 degrees."""
        from astropy import units
        from astropy.coordinates import AltAz, EarthLocation, SkyCoord
        from astropy.time import Time

        plane = galactic_plane(SITE, START, DAY)
        location = EarthLocation.from_geodetic(SITE.longitude, SITE.latitude, SITE.height)
        circle = SkyCoord(np.arange(0, 360, 0.25), 0, unit=units.deg, frame="galactic")
        for index in range(0, len(plane.times), 181):
            moment = Time(plane.times[index], format="unix", location=location)
            seen = circle.transform_to(AltAz(obstime=moment, location=location))
            best = int(seen.alt.deg.argmax())
            self.assertLess(abs(seen.alt.deg[best] - plane.elevation[index]), 0.02)
            off = (circle.l.deg[best] - plane.longitude[index] + 180) % 360 - 180
            self.assertLess(abs(off), 0.4)

    def test_command(self):
        """The table has all that was asked for, and a picture comes; what cannot be is refused."""
        with open(self.path("s.tle"), "w") as file:
            file.write(f"ISS (ZARYA)\n{ORBITS['station']}\n")
        at = ["--at", "2026-10-27T12:00:00Z", "--place=52.1,11.6,80"]
        code, out, err = run(
            sky, *[*at, "--satellites", self.path("s.tle"), "-o", self.path("a.png")]
        )
        self.assertEqual(code, 0, err)
        for word in ("Sun", "Moon", "Cas A", "B0329+54", "galactic plane", "ISS (ZARYA)", "LST"):
            self.assertIn(word, out)
        self.assertRegex(out, r"Cas A +always up")
        from PIL import Image

        with Image.open(self.path("a.png")) as picture:
            self.assertEqual(picture.size, (1000, 560))
        code, out, err = run(sky, *[*at, "--source", "sun", "--hours", "1", "--lowest", "80"])
        self.assertRegex(out, r"Sun +not up")
        self.assertNotIn("Moon", out)
        for options, problem in (
            ([], "ARRAY|array"),
            (["y8", "--place", "1,2"], "not allowed with"),
            (["--place=95,1"], "latitude.*-90 to 90"),
            (["--place=1"], "expected LATITUDE"),
            ([*at, "-o", self.path("a.txt")], "its ending"),
            ([*at, "--satellites", self.path("none.tle")], "No such file"),
            ([*at, "--satellites", ""], "--satellites: .. is not allowed; it must be FILE, or"),
            ([*at, "--source", "Cas B"], "Cas B"),
        ):
            code, out, err = run(sky, *options)
            self.assertNotEqual(code, 0)
            self.assertRegex(err, problem)
        with open(self.path("many.tle"), "w") as file:
            file.write(f"{ORBITS['station']}\n" * 51)
        code, out, err = run(sky, *[*at, "--satellites", self.path("many.tle")])
        self.assertRegex(err, "has 51 satellites, of which 50 at most")


if __name__ == "__main__":
    gr_unittest.run(qa_passes)
