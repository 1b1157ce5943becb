#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Velocities in the local standard of rest against astropy, and the galaxy against its formulas."""

import unittest

import numpy as np
from astropy import units
from astropy.coordinates import FK4, AltAz, EarthLocation, SkyCoord, SpectralCoord
from astropy.time import Time
from astropy.utils import iers
from scipy.integrate import trapezoid

from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import load_array
from gnuradio.aperture.spectrometry import galaxy
from gnuradio.aperture.spectrometry.velocity import (
    HYDROGEN,
    SUN_IN_LSRK,
    frequencies_of,
    lsr_correction,
    velocities,
)
from gnuradio.aperture.tracking.directions import parse_direction

iers.conf.auto_download = False
TIMES = 1577934245.0 + 86400 * np.array([0.0, 0.3, 61.7, 150.2, 244.9])  # 2020, in astropy's tables
PLACES = ("l=30, b=0", "l=210, b=-20", "12:30:00 +12:00:00", "az=170, el=30")


class qa_velocity(unittest.TestCase):
    def setUp(self):
        self.array = load_array("one-dish")
        self.site = EarthLocation(
            lat=self.array.latitude * units.deg,
            lon=self.array.longitude * units.deg,
            height=self.array.height * units.m,
        )

    def test_motion_of_the_sun(self):
        """20 km/s towards 18h +30 degrees in the equator and equinox of B1900."""
        apex = SkyCoord("18h", "30d", frame=FK4(equinox="B1900", obstime="B1900")).icrs
        np.testing.assert_allclose(SUN_IN_LSRK, 20 * apex.cartesian.xyz.value, atol=5e-3)

    def test_correction_against_astropy(self):
        """radial_velocity_correction() to the barycentre, and then the Sun's motion."""
        for text in PLACES:
            direction = parse_direction(text)
            for time in TIMES:
                when = Time(time, format="unix")
                if direction.moving:
                    place = SkyCoord(direction.ra, direction.dec, unit="deg")
                else:
                    place = SkyCoord(
                        AltAz(
                            az=direction.azimuth * units.deg,
                            alt=direction.elevation * units.deg,
                            obstime=when,
                            location=self.site,
                        )
                    ).icrs
                    place = SkyCoord(place.ra, place.dec)
                barycentric = place.radial_velocity_correction(
                    "barycentric", obstime=when, location=self.site
                ).to_value("km/s")
                expected = barycentric + SUN_IN_LSRK @ place.cartesian.xyz.value
                found = lsr_correction(direction, time, self.array)
                # a velocity and a redshift differ by v^2/c = 0.003 km/s
                self.assertAlmostEqual(float(found), expected, delta=0.01, msg=text)

    def test_against_spectral_coord(self):
        """Frequencies are carried into the frame LSRK as astropy does it, of a source far away."""
        direction = parse_direction(PLACES[0])
        observed = HYDROGEN + np.array([-9e5, -1e5, 0.0, 4e5])
        for time in TIMES[:2]:
            when = Time(time, format="unix")
            place = SkyCoord(
                direction.ra * units.deg, direction.dec * units.deg, distance=1e6 * units.kpc
            )
            lines = SpectralCoord(
                observed * units.Hz, observer=self.site.get_itrs(obstime=when), target=place
            )
            expected = lines.with_observer_stationary_relative_to("lsrk").to(
                "km/s", doppler_rest=HYDROGEN * units.Hz, doppler_convention="radio"
            )
            found = velocities(observed, lsr_correction(direction, time, self.array))
            np.testing.assert_allclose(found, expected.value, atol=0.02)

    def test_there_and_back(self):
        speeds = np.linspace(-300, 300, 7)
        there = frequencies_of(speeds, 27.3)
        np.testing.assert_allclose(velocities(there, 27.3), speeds, atol=1e-9)
        # 1 km/s is 4.738 kHz, and what goes away has a lower frequency
        self.assertAlmostEqual(float(frequencies_of(1.0)) - HYDROGEN, -4738.0, delta=1)

    def test_galactic_against_astropy(self):
        for l, b in ((0.0, 0.0), (30.0, 5.0), (200.0, -70.0)):
            expected = SkyCoord(l, b, unit="deg", frame="galactic").icrs
            ra, dec = geometry.galactic_to_radec(l, b)
            # astropy's pole of the galaxy and ERFA's differ by 0.02 arc seconds
            self.assertAlmostEqual(float(ra), expected.ra.deg, delta=2e-5)
            self.assertAlmostEqual(float(dec), expected.dec.deg, delta=2e-5)
            np.testing.assert_allclose(geometry.radec_to_galactic(ra, dec), (l, b), atol=1e-6)
            text = f"l={l:g}, b={b:g}"
            np.testing.assert_allclose(
                (parse_direction(text).ra, parse_direction(f"galactic {l:g} {b:g}").dec),
                (expected.ra.deg, expected.dec.deg),
                atol=2e-5,
            )
        with self.assertRaisesRegex(ValueError, "latitude"):
            parse_direction("l=30, b=95")

    def test_galaxy(self):
        """The fastest gas is that of the tangent point, and all of it is in its column density."""
        for l in (20.0, 40.0, 60.0):
            speeds, kelvin = galaxy.profile(l, 0.0)
            fastest = speeds[kelvin > 0.5 * kelvin[speeds > 0].max()].max()
            tangent = galaxy.SUN_SPEED * (1 - np.sin(np.radians(l)))
            self.assertLess(abs(fastest - tangent - galaxy.SIGMA), galaxy.SIGMA, msg=l)
        # far from the plane the gas is thin: a layer of density n and an rms height h has the
        # column n h sqrt(pi/2)/sin b
        speeds, kelvin = galaxy.profile(90.0, 60.0)
        column = 1.823e18 * trapezoid(-galaxy.SPIN * np.log1p(-kelvin / galaxy.SPIN), speeds)
        expected = galaxy.DENSITY * galaxy.LAYER * np.sqrt(np.pi / 2) / np.sin(np.radians(60))
        self.assertAlmostEqual(column / (expected * 3.0857e21), 1, delta=0.02)
        # gas before and behind the galaxy's middle has no velocity along the line of sight
        speeds, kelvin = galaxy.profile(0.0, 0.0)
        self.assertLess(kelvin[np.abs(speeds) > 5 * galaxy.SIGMA].max(), 0.01)


if __name__ == "__main__":
    unittest.main()
