#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Timing models: files, the barycentre, and the polynomials that predict the phase."""

import unittest
from decimal import Decimal, getcontext
from types import SimpleNamespace

import numpy as np

from gnuradio.aperture.arrays.array_description import load_array
from gnuradio.aperture.transients.barycentre import (
    SUN_TIME,
    barycentric_time,
    delays,
    topocentric_tdb,
)
from gnuradio.aperture.transients.par_file import ParError, parse_par
from gnuradio.aperture.transients.phase_model import par_segments, period_segments

getcontext().prec = 60
SITE = load_array("best-2")
TIMES = np.array([1577934245, 1583020800, 1593561600, 1640995199, 1700000000])
PAR = """
# a fast pulsar
PSR            J0000+5434
RAJ            03:32:59.4096  1  0.0001
DECJ           +54:34:43.329  1
F0             641.92822119876543210 1 1e-14
F1             -4.331D-14
F2             1.5e-25
PEPOCH         55500.123456789
DM             26.7641
EPHEM          DE440
UNITS          TDB
CLK            TT(BIPM2021)
START          54000
F3             0.0
"""


def astropy_times(seconds, fraction):
    """Returns times of a site that astropy has, without downloads."""
    from astropy.coordinates import EarthLocation
    from astropy.time import Time
    from astropy.utils import iers

    iers.conf.auto_download = False
    iers.conf.auto_max_age = None
    location = EarthLocation.from_geodetic(SITE.longitude, SITE.latitude, SITE.height)
    return Time(seconds, fraction, format="unix", scale="utc", location=location)


def roemer_of(seconds, place):
    """Seconds that light takes from the site to the barycentre, of a star at ra and dec in
    radians."""
    from astropy.coordinates import get_body_barycentric

    times = astropy_times(seconds, 0.0)
    earth = get_body_barycentric("earth", times, ephemeris="builtin").xyz.to_value("m").T
    site = times.location.get_gcrs_posvel(times)[0].xyz.to_value("m").T
    ra, dec = place
    towards = np.array([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])
    return (earth + site) @ towards / 299792458.0


def star(**changes):
    return SimpleNamespace(
        **{
            **dict(
                ra=53.2475, dec=54.5787, pm_ra=0.0, pm_dec=0.0, parallax=0.0, position_epoch=51544.5
            ),
            **changes,
        }
    )


class TestBarycentre(unittest.TestCase):
    def test_time(self):
        """TDB at the site against astropy's: 20 ns (of which 11 are those of its two doubles' sum
        in days)."""
        day, rest = topocentric_tdb(TIMES, np.full(5, 0.25), SITE)
        tdb = astropy_times(TIMES, 0.25).tdb
        difference = ((tdb.jd1 - 2400000.5 - day) + tdb.jd2) * 86400 - np.asarray(rest, float)
        np.testing.assert_array_less(np.abs(difference), 2e-8)

    def test_roemer(self):
        """The light's way by astropy's places of the Earth (the same ephemeris) and of the site:
        0.5 us, of which 0.2 are the 2 ms between TDB and TT on the Earth's way. Its
        light_travel_time() takes aberration off the place of the site: 2.2 us at most."""
        from astropy import units
        from astropy.coordinates import SkyCoord

        roemer, _ = delays(TIMES[:3], np.zeros(3), star(), SITE)
        expected = roemer_of(TIMES[:3], np.radians([53.2475, 54.5787]))
        self.assertGreater(np.ptp(expected), 100)
        np.testing.assert_array_less(np.abs(roemer - expected), 5e-7)
        target = SkyCoord(53.2475 * units.deg, 54.5787 * units.deg, frame="icrs")
        other = astropy_times(TIMES[:3], 0.0).light_travel_time(
            target, "barycentric", ephemeris="builtin"
        )
        np.testing.assert_array_less(np.abs(roemer - other.to_value("s")), 2.7e-6)

    def test_shapiro(self):
        """Against astropy's place of the Sun: 10 ns; a star beside the Sun is the latest."""
        from astropy.coordinates import get_body_barycentric, get_sun

        times = astropy_times(TIMES, 0.0)
        _, shapiro = delays(TIMES, np.zeros(5), star(), SITE)
        sun = get_body_barycentric("sun", times, ephemeris="builtin").xyz.to_value("au").T
        earth = get_body_barycentric("earth", times, ephemeris="builtin").xyz.to_value("au").T
        ra, dec = np.radians([53.2475, 54.5787])
        towards = np.array([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])
        r = earth - sun
        expected = 2 * SUN_TIME * np.log(np.linalg.norm(r, axis=1) + r @ towards)
        np.testing.assert_array_less(np.abs(shapiro - expected), 1e-8)
        self.assertAlmostEqual(SUN_TIME * 1e6, 4.925, 3)
        place = get_sun(times[0])
        late = [
            delays(TIMES[:1], np.zeros(1), star(ra=place.ra.deg + off, dec=place.dec.deg), SITE)[1][
                0
            ]
            for off in (1, 10, 90, 180)
        ]
        self.assertEqual(sorted(late), late)
        self.assertLess(late[0], -50e-6)

    def test_motion(self):
        """Proper motion and parallax have their closed forms: of a star 10 pc away the wave front
        is curved by r^2 / 2d, 10 us of 500 s; 1 arc second a year over 20 years moves the delay by
        its part of 500 s."""
        base, _ = delays(TIMES, np.zeros(5), star(), SITE)
        near, _ = delays(TIMES, np.zeros(5), star(parallax=100.0), SITE)
        along = base / 499.004784
        curved = -(0.97 - along**2) / (2 * 10 * 206264.8) * 499.004784
        np.testing.assert_allclose(near - base, curved, atol=1.2e-5 * 0.06 + 8e-6)
        self.assertLess(np.max(near - base), 0)
        years = 20.0
        dec = 54.5787 + years / 3600
        epoch = 40587 + TIMES[0] / 86400 - years * 365.25
        moved, _ = delays(TIMES[:1], np.zeros(1), star(pm_dec=1000.0, position_epoch=epoch), SITE)
        there, _ = delays(TIMES[:1], np.zeros(1), star(dec=dec), SITE)
        self.assertLess(abs(moved[0] - there[0]), 1e-7)
        self.assertGreater(abs(moved[0] - base[0]), 1e-3)

    def test_tcb(self):
        """The result agrees with astropy's conversion of the same moment to 1 us."""
        from astropy.time import Time

        day, rest = barycentric_time(TIMES, np.zeros(5), star(), SITE)
        day2, rest2 = barycentric_time(TIMES, np.zeros(5), star(), SITE, units="TCB")
        tcb = Time(day, np.asarray(rest, float) / 86400, format="mjd", scale="tdb").tcb
        difference = ((tcb.jd1 - 2400000.5 - day2) + tcb.jd2) * 86400 - np.asarray(rest2, float)
        np.testing.assert_array_less(np.abs(difference), 1e-6)
        self.assertGreater(np.min(np.asarray(rest2 - rest, float)), 10)


class TestParFile(unittest.TestCase):
    def test_reading(self):
        model = parse_par(PAR)
        self.assertEqual((model.name, model.units, model.dm), ("J0000+5434", "TDB", 26.7641))
        self.assertAlmostEqual(model.ra, 53.24754, 7)
        self.assertAlmostEqual(model.dec, 54.578702500, 8)
        self.assertEqual(model.epoch[0], 55500)
        self.assertAlmostEqual(float(model.epoch[1]), 0.123456789 * 86400, 9)
        if np.finfo(np.longdouble).eps < 1e-18:
            self.assertLess(
                abs(
                    Decimal(np.format_float_positional(model.frequency, 25))
                    - Decimal("641.92822119876543210")
                ),
                Decimal("1e-16"),
            )
        old = parse_par("PSR B0329+54\nRA 3:32\nDEC -54\nP 0.7145\nP1 2.05\nPEPOCH 46473\n")
        self.assertAlmostEqual(float(1 / old.frequency), 0.7145, 12)
        self.assertAlmostEqual(float(-old.frequency_derivative / old.frequency**2), 2.05e-15, 20)
        self.assertEqual(old.dec, -54)

    def test_ecliptic(self):
        """Ecliptic coordinates against astropy's mean ecliptic of J2000, whose equinox is 0.02
        arc seconds from the ICRS's; a motion of 100 mas a year over 10 years against the places
        at its ends."""
        from astropy import units
        from astropy.coordinates import BarycentricMeanEcliptic, SkyCoord

        equatorial = PAR[PAR.index("RAJ") : PAR.index("F0")]
        model = lambda text: parse_par(PAR.replace(equatorial, text))
        for longitude, latitude in ((256.668695, 30.70036), (12.5, -71.25), (359.9, 0.0)):
            found = model(f"ELONG {longitude}\nELAT {latitude}\nPMELONG 80\nPMELAT -60\n")
            expected = SkyCoord(
                longitude * units.deg, latitude * units.deg, frame=BarycentricMeanEcliptic()
            ).icrs
            place = SkyCoord(found.ra * units.deg, found.dec * units.deg, frame="icrs")
            self.assertLess(place.separation(expected).to_value("arcsec"), 0.05)
            years = 10 / 3600e3
            along = 80 * years / np.cos(np.radians(latitude))
            later = model(
                f"LAMBDA {longitude + along}\nBETA {latitude - 60 * years}\nECL IAU2005\n"
            )
            shift = (later.ra - found.ra) * np.cos(np.radians(found.dec)) / years
            np.testing.assert_allclose(
                [shift, (later.dec - found.dec) / years], [found.pm_ra, found.pm_dec], atol=0.01
            )
        other = model("ELONG 256.668695\nELAT 30.70036\nECL IAU1976\n")
        self.assertGreater(abs(other.dec - model("ELONG 256.668695\nELAT 30.70036\n").dec), 1e-6)
        with self.assertRaisesRegex(ParError, "ECL: 'J2000' is not allowed; it must be one of"):
            model("ELONG 3\nELAT 4\nECL J2000\n")

    def test_dispersion_measure(self):
        """DM1 changes it by so much a year of 365.25 days, a DMX within its days."""
        model = parse_par(
            PAR + "DM1 2e-3\nDMEPOCH 55000\nDMX 6.5\nDMX_0001 1e-2 1\nDMXR1_0001 56000\n"
            "DMXR2_0001 56010.5\nDMXEP_0001 56005\n"
        )
        for day, more in ((56000, 0.01), (56010, 0.01), (56010.5, 0.0), (55999.9, 0.0)):
            expected = 26.7641 + 2e-3 * (day - 55000) / 365.25 + more
            self.assertAlmostEqual(model.dm_at(day), expected, 12)
        self.assertEqual(parse_par(PAR).dm_at(58000), 26.7641)

    def test_receivers(self):
        """Weights and offsets of receivers, of which there are many, say nothing of the phase."""
        lines = "".join(
            f"{key} -f {receiver} 1.1\n"
            for receiver in ("L-wide", "S-wide")
            for key in ("T2EFAC", "T2EQUAD", "ECORR", "JUMP", "DMEFAC", "DMJUMP")
        )
        lines += (
            "JUMP MJD 55000 56000 1e-3 1\nTNEF -be A 1.2\nTNRedAmp -13.5\nTNRedGam 3\nJUMP_3 0\n"
        )
        self.assertEqual(parse_par(PAR + lines), parse_par(PAR))

    def test_refused(self):
        """An unsupported or wrong line is refused by its number."""
        for old, new, rule in (
            ("F3             0.0", "F3 1e-30", "par:15: F3: not supported"),
            (
                "F3             0.0",
                "BINARY T2",
                "par:15: BINARY: 'T2' is not supported; it must be BT",
            ),
            ("F3             0.0", "BINARY BT\nPB 1", "par:15: BINARY: BT: A1 is missing"),
            ("UNITS          TDB", "UNITS TCB\nBINARY BT", "par:13: BINARY: its orbit.*TCB"),
            ("F3             0.0", "A1 1.2", "par:15: A1: not supported"),
            ("F3             0.0", "DM2 1e-3", "par:15: DM2: not supported"),
            ("F3             0.0", "ELAT 3", "par:4: RAJ: given beside ecliptic coordinates"),
            ("F3             0.0", "DMX_0001 1e-3\nDMXR1_0001 55000", "DMXR2_0001: missing"),
            ("F3             0.0", "GLEP_1 55000", "par:15: GLEP_1: not supported"),
            ("F3             0.0", "F0 3", "par:15: F0: given a second time.*line 6"),
            ("UNITS          TDB", "UNITS UTC", "par:12: UNITS: 'UTC' is not allowed"),
            ("-4.331D-14", "x", "par:7: F1: 'x' is not allowed"),
            ("641.92822119876543210", "-1", "par:6: F0: '-1' is not allowed"),
            ("03:32:59.4096", "03:62:00", "par:4: RAJ: '03:62:00' is not allowed"),
            ("+54:34:43.329", "95", "par:5: DECJ: '95' is not allowed"),
            ("PEPOCH         55500.123456789\n", "", "par: PEPOCH: missing"),
            (
                "RAJ            03:32:59.4096  1  0.0001\n",
                "ELONG 3\n",
                "par:5: DECJ: given beside ecliptic coordinates",
            ),
        ):
            self.assertIn(old, PAR)
            with self.assertRaisesRegex(ParError, rule):
                parse_par(PAR.replace(old, new))

    def test_segments(self):
        """Polynomials against the model itself, at times between their nodes: 1e-6 revolutions of
        1.5 ms, and of the frequency by differences. The whole revolutions are right, too."""
        for units in ("TDB", "TCB"):
            model = parse_par(PAR.replace("UNITS          TDB", f"UNITS {units}"))
            start = int(TIMES[2])
            segments = par_segments(model, SITE, (start, 0.5), 10000)
            self.assertEqual(len(segments), 3)
            for number, segment in enumerate(segments):
                self.assertEqual(segment.start, (start + 3600 * number, 0.0))
                seconds = segment.start[0] + np.linspace(0, 3599, 97).astype(int)
                fraction = np.full(97, 0.37)
                expected = model.phase(*barycentric_time(seconds, fraction, model, SITE, units))
                revolutions, frequency = segment.at(seconds, fraction)
                off = np.asarray(revolutions + segment.turns - expected, float)
                np.testing.assert_array_less(np.abs(off), 1e-6)
                later = model.phase(*barycentric_time(seconds + 10, fraction, model, SITE, units))
                np.testing.assert_array_less(
                    np.abs(np.asarray((later - expected) / 10 - frequency, float)), 1e-5
                )

    def test_independent(self):
        """Phases of an hour against astropy and 60 digits: within 1 us of 641 revolutions/s."""
        model = parse_par(PAR)
        start = int(TIMES[1])
        segment = par_segments(model, SITE, start, 3000)[0]
        seconds = start + np.arange(10, 3600, 450)
        times = astropy_times(seconds, 0.0)
        roemer = roemer_of(
            seconds, np.radians([15 * (3 + 32 / 60 + 59.4096 / 3600), 54 + 34 / 60 + 43.329 / 3600])
        )
        arrived = times.tdb
        revolutions, _ = segment.at(seconds)
        _, shapiro = delays(seconds, np.zeros(len(seconds)), model, SITE)
        for number in range(len(seconds)):
            day = Decimal(float(arrived.jd1[number])) - Decimal("2400000.5")
            dt = (day - Decimal("55500.123456789") + Decimal(float(arrived.jd2[number]))) * 86400
            dt += Decimal(float(roemer[number])) + Decimal(float(shapiro[number]))
            phase = dt * (
                Decimal("641.92822119876543210")
                + dt * (Decimal("-4.331e-14") / 2 + dt * Decimal("1.5e-25") / 6)
            )
            found = Decimal(segment.turns) + Decimal(
                np.format_float_positional(revolutions[number], 25)
            )
            self.assertLess(abs(phase - found), Decimal("641.9e-6"))

    def test_period(self):
        """A year of a pulsar of 1 ms, in 60 digits: 1e-5 revolutions."""
        period, derivative, epoch = 0.001000123456789, 1.7e-19, (1704067200, 0.1234567)
        (segment,) = period_segments(period, derivative, epoch, 12.375)
        for seconds, fraction in ((epoch[0] + 31557600, 0.987), (epoch[0] - 31557600, 0.5)):
            dt = Decimal(seconds - epoch[0]) + Decimal(fraction) - Decimal(epoch[1])
            p = Decimal(period)
            expected = Decimal(12.375) + dt / p - Decimal(derivative) * dt * dt / (2 * p * p)
            revolutions, _ = segment.at(seconds, fraction)
            found = Decimal(segment.turns) + Decimal(np.format_float_positional(revolutions, 25))
            self.assertLess(abs(found - expected), Decimal("1e-5"))


if __name__ == "__main__":
    unittest.main()
