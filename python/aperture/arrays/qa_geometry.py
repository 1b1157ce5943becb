#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

import subprocess
import sys
import warnings
from datetime import datetime

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays import earth_rotation_table as table
from gnuradio.aperture.arrays import geometry

ARCSECOND = 1 / 3600
C = 299792458.0
SITE = (-26.7033, 116.6708, 377.8)
TIME = 1577934245.75  # 2020-01-02T03:04:05.75Z: the Earth's orientation then is known everywhere


def separation(az1, el1, az2, el2):
    """Degrees between two directions on the sky."""
    chord = np.linalg.norm(geometry.direction(az1, el1) - geometry.direction(az2, el2), axis=-1)
    return np.degrees(2 * np.arcsin(chord / 2))


def astropy_objects():
    """Site and time as astropy has them; nothing is fetched."""
    from astropy.coordinates import EarthLocation
    from astropy.time import Time
    from astropy.utils import iers

    iers.conf.auto_download = False
    location = EarthLocation.from_geodetic(SITE[1], SITE[0], SITE[2])
    return location, Time(TIME, format="unix", location=location)


class qa_geometry(gr_unittest.TestCase):
    def test_direction(self):
        """North, east, south and up are where they should be."""
        for az, el, expected in (
            (0, 0, (0, 1, 0)),
            (90, 0, (1, 0, 0)),
            (180, 0, (0, -1, 0)),
            (17, 90, (0, 0, 1)),
            (90, 45, (0.5**0.5, 0, 0.5**0.5)),
        ):
            np.testing.assert_allclose(geometry.direction(az, el), expected, atol=1e-15)

    def test_direction_round_trip(self):
        az, el = np.meshgrid(np.linspace(0, 350, 8), np.linspace(-80, 80, 5))
        back = geometry.azimuth_elevation(7 * geometry.direction(az, el))
        np.testing.assert_allclose(back, (az, el), atol=1e-12)

    def test_delay_sign(self):
        """An antenna that is nearer to the source hears it earlier: a negative delay."""
        positions = [[10, 0, 0], [0, 20, 0], [0, 0, 30], [0, 0, 0]]
        east = geometry.delays(positions, geometry.direction(90, 0))
        np.testing.assert_allclose(east, [-10 / C, 0, 0, 0], atol=1e-22)
        sky = geometry.direction([90, 0, 0], [0, 0, 90])
        np.testing.assert_allclose(
            geometry.delays(positions, sky),
            [[-10 / C, 0, 0, 0], [0, -20 / C, 0, 0], [0, 0, -30 / C, 0]],
            atol=1e-22,
        )

    def test_sky_turns_westward(self):
        """The delay of an eastern antenna in transit, in the south, grows by b w cos(dec)/c."""
        latitude, dec, baseline = 40.0, 10.0, 1000.0
        transit = geometry.direction(180, 90 - latitude + dec)
        before, after = (
            geometry.delays([[baseline, 0, 0]], geometry.rotate_with_sky(transit, latitude, t))[0]
            for t in (-0.5, 0.5)
        )
        rate = baseline * geometry.EARTH_ROTATION_RATE * np.cos(np.radians(dec)) / C
        np.testing.assert_allclose(after - before, rate, rtol=1e-8)

    def test_rotation_is_that_of_the_sky(self):
        """Over 6 hours: 1 arc second is what aberration and refraction-free precession may do."""
        ra, dec = 201.365, -43.019
        times = TIME + np.linspace(0, 6 * 3600, 13)
        az, el = geometry.radec_to_azel(ra, dec, times, *SITE)
        rotated = geometry.rotate_with_sky(geometry.direction(az[0], el[0]), SITE[0], times - TIME)
        self.assertLess(separation(az, el, *geometry.azimuth_elevation(rotated)).max(), ARCSECOND)
        self.assertGreater(separation(az, el, az[0], el[0]).max(), 45)

    def test_azel_against_astropy(self):
        """0.06 arc seconds: the fortnightly tide in UT1; the motion of the pole was 0.35 then."""
        from astropy import units
        from astropy.coordinates import AltAz, SkyCoord

        location, time = astropy_objects()
        ra, dec = np.meshgrid(np.linspace(0, 330, 12), [-80, -30, 20, 60])
        expected = SkyCoord(ra, dec, unit=units.deg).transform_to(
            AltAz(obstime=time, location=location)
        )
        az, el = geometry.radec_to_azel(ra, dec, TIME, *SITE)
        self.assertLess(
            separation(az, el, expected.az.deg, expected.alt.deg).max(), 0.06 * ARCSECOND
        )

    def test_proper_motion(self):
        """Barnard's star moves by 10.4 arc seconds a year; astropy gives the motion on the sky."""
        from astropy import units
        from astropy.coordinates import AltAz, SkyCoord
        from astropy.time import Time

        location, time = astropy_objects()
        star = SkyCoord(
            269.452 * units.deg,
            4.693 * units.deg,
            pm_ra_cosdec=-802.8 * units.mas / units.yr,
            pm_dec=10362.5 * units.mas / units.yr,
            distance=1e6 * units.pc,
            obstime=Time("J2000"),
        )
        expected = star.apply_space_motion(time).transform_to(
            AltAz(obstime=time, location=location)
        )
        az, el = geometry.radec_to_azel(269.452, 4.693, TIME, *SITE, pm_ra=-802.8, pm_dec=10362.5)
        self.assertLess(separation(az, el, expected.az.deg, expected.alt.deg), 0.06 * ARCSECOND)

    def test_days_with_a_leap_second(self):
        """
        These days are 86401 s long. Directions agree with astropy's within 0.06 arc seconds (the
        fortnightly tide), and with ERFA's, given the dates that astropy makes of the calendar,
        within 1e-4: a double of seconds since 1970 is rounded to 0.2 us, in which the sky rotates
        by 4e-6.
        """
        import erfa
        from astropy import units
        from astropy.coordinates import AltAz, SkyCoord
        from astropy.time import Time

        location, _ = astropy_objects()
        ra, dec = (grid.ravel() for grid in np.meshgrid([10.0, 130.0, 250.0], [-80, -30, 20]))
        for calendar in (
            "2016-12-30T23:59:59",
            "2016-12-31T00:00:00",
            "2016-12-31T12:00:00",
            "2016-12-31T23:56:40",
            "2016-12-31T23:59:59.999998",
            "2017-01-01T00:00:00",
            "2017-01-01T00:03:20",
            "2015-06-30T23:56:40",
            "2015-06-30T01:02:03",
            "2015-07-01T00:00:00.5",
        ):
            with self.subTest(calendar):
                moment = Time(calendar, scale="utc", location=location)
                seconds = datetime.fromisoformat(f"{calendar}+00:00").timestamp()
                az, el = geometry.radec_to_azel(ra, dec, seconds, *SITE)
                expected = SkyCoord(ra, dec, unit=units.deg).transform_to(
                    AltAz(obstime=moment, location=location)
                )
                off = separation(az, el, expected.az.deg, expected.alt.deg)
                self.assertLess(off.max(), 0.06 * ARCSECOND)
                # UT1 as we have it, but from TAI, which knows no leap seconds
                tai = moment.tai
                ut1_minus_tai = (
                    np.interp(
                        tai.mjd,
                        table.FIRST + table.STEP * np.arange(len(table.UT1_MINUS_TAI)),
                        table.UT1_MINUS_TAI,
                    )
                    * 1e-4
                )
                pole = np.radians(
                    [
                        np.interp(
                            tai.mjd, table.FIRST + table.STEP * np.arange(len(values)), values
                        )
                        / 3600e3
                        for values in (table.POLE_X, table.POLE_Y)
                    ]
                )
                leap_seconds = round((Time(calendar, scale="tai") - moment).sec)
                azimuth, zenith_distance = erfa.atco13(
                    np.radians(ra),
                    np.radians(dec),
                    0,
                    0,
                    0,
                    0,
                    moment.jd1,
                    moment.jd2,
                    ut1_minus_tai - leap_seconds,
                    np.radians(SITE[1]),
                    np.radians(SITE[0]),
                    SITE[2],
                    *pole,
                    0,
                    0,
                    0,
                    1,
                )[:2]
                off = separation(az, el, np.degrees(azimuth), 90 - np.degrees(zenith_distance))
                self.assertLess(off.max(), 1e-4 * ARCSECOND)
                lst = float(geometry.local_sidereal_time(seconds, SITE[1]))
                self.assertAlmostEqual(
                    lst, moment.sidereal_time("apparent").deg, delta=0.1 * ARCSECOND
                )

    def test_azel_round_trip(self):
        """1e-9 degrees: ERFA's two ways, each iterated, agree to micro arc seconds."""
        ra, dec = np.meshgrid(np.linspace(1, 350, 12), [-80, -30, 20, 60])
        back = geometry.azel_to_radec(*geometry.radec_to_azel(ra, dec, TIME, *SITE), TIME, *SITE)
        np.testing.assert_allclose(back, (ra, dec), atol=1e-7)

    def test_sidereal_time_against_astropy(self):
        location, time = astropy_objects()
        expected = time.sidereal_time("apparent").deg
        self.assertAlmostEqual(
            float(geometry.local_sidereal_time(TIME, SITE[1])), expected, delta=0.1 * ARCSECOND
        )

    def test_transit(self):
        """A star whose right ascension of date is the sidereal time is on the meridian. Within 0.5
        degrees: precession since 2000 moves right ascensions by a third of a degree."""
        lst = float(geometry.local_sidereal_time(TIME, SITE[1]))
        az, el = geometry.radec_to_azel(lst, 0.0, TIME, *SITE)
        self.assertLess(separation(az, el, 0, 90 + SITE[0]), 0.5)

    def test_beyond_the_table(self):
        """In 2060 there is an answer, without a warning, and it is right to UT1's drift: 2 arc
        minutes are 8 s."""
        time = 2840140800.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            az, el = geometry.radec_to_azel(30.0, 40.0, time, *SITE)
            lst = geometry.local_sidereal_time(time, SITE[1])
        # Meeus, Astronomical Algorithms, 12.4: mean sidereal time at Greenwich
        days = time / 86400 + 2440587.5 - 2451545
        mean = (280.46061837 + 360.98564736629 * days + 0.000387933 * (days / 36525) ** 2) + SITE[1]
        self.assertLess(abs((lst - mean + 180) % 360 - 180), 2 / 60)
        self.assertTrue(np.isfinite(az) and np.isfinite(el))

    def test_ground_against_astropy(self):
        """1e-6 m: a nanometre's rounding of 6.4e6 m in doubles, and room."""
        location, _ = astropy_objects()
        np.testing.assert_allclose(
            geometry.geodetic_to_ecef(*SITE),
            [location.x.value, location.y.value, location.z.value],
            atol=1e-6,
        )

    def test_enu_axes(self):
        """Up is away from the ellipsoid; north leads to higher latitude, east to higher longitude:
        each within what the Earth's curvature does over a metre (1e-7 m)."""
        latitude, longitude, height = SITE
        origin = geometry.geodetic_to_ecef(*SITE)
        small = 1e-5  # degrees: about a metre
        for axis, place in enumerate(
            (
                (latitude, longitude + small, height),
                (latitude + small, longitude, height),
                (latitude, longitude, height + 1),
            )
        ):
            step = geometry.geodetic_to_ecef(*place) - origin
            unit = np.eye(3)[axis] * np.linalg.norm(step)
            np.testing.assert_allclose(geometry.enu_to_ecef(unit, *SITE) - origin, step, atol=1e-6)

    def test_enu_round_trip(self):
        positions = np.random.default_rng(2).normal(size=(3, 5, 3)) * 1000
        back = geometry.ecef_to_enu(geometry.enu_to_ecef(positions, *SITE), *SITE)
        np.testing.assert_allclose(back, positions, atol=1e-8)  # rounding of 6.4e6 m

    def test_import_is_quick(self):
        """astropy takes a second to import; those who only connect blocks do not wait for it."""
        code = (
            "import sys; from gnuradio import aperture; "
            "sys.exit(any(name in sys.modules for name in ('astropy', 'erfa')))"
        )
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


if __name__ == "__main__":
    gr_unittest.run(qa_geometry)
