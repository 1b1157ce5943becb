#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Checks the places of satellites by skyfield: check_satellites.py FOLDER"""

import json
import sys
import unittest
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from astropy.time import Time
from astropy.utils import iers
from skyfield.api import EarthSatellite, load, wgs84

LIGHT = 299792.458  # km/s
AU = 149597870.7  # km
iers.conf.auto_download = False
# the table comes with the environment, and is as old as that
iers.conf.auto_max_age = None


def towards(azimuth, elevation):
    az, el = np.radians(azimuth), np.radians(elevation)
    return np.array([np.cos(el) * np.sin(az), np.cos(el) * np.cos(az), np.sin(el)])


class SatellitesTest(unittest.TestCase):
    def test_places(self):
        """0.001 degrees and 1 km; with the Earth's rotation and its pole as the IERS has them, and
        the time that the light takes, which skyfield leaves to who asks."""
        found = json.loads((FOLDER / "satellites.json").read_text())
        self.assertEqual(len(found["cases"]), 15)
        unix = np.array(found["times"])
        moments = Time(unix, format="unix")
        table = iers.IERS_Auto.open()
        rotation = table.ut1_utc(moments).to_value("s")
        self.assertLess(np.ptp(rotation), 0.005)
        scale = load.timescale(delta_t=37 + 32.184 - float(rotation.mean()))
        pole = table.pm_xy(moments)
        scale.polar_motion_table = (moments.tt.jd, *(axis.to_value("arcsec") for axis in pole))
        times = scale.from_datetimes(
            [datetime.fromtimestamp(second, timezone.utc) for second in unix]
        )
        for case in found["cases"]:
            satellite = EarthSatellite(*case["lines"].split("\n"), ts=scale)
            site = wgs84.latlon(case["site"][0], case["site"][1], case["site"][2])
            here, travel = site.at(times), np.zeros(len(unix))
            for _ in range(3):
                left = satellite.at(scale.tt_jd(times.tt - travel / 86400)).position.km
                path = left - here.position.km
                travel = np.linalg.norm(path, axis=0) / LIGHT
            seen = (satellite - site).at(times)
            seen = type(seen)(path / AU, None, t=times, center=site, target=-1)
            seen._ephemeris = None  # there is none to bend light with
            elevation, azimuth, _ = seen.altaz()
            expected = towards(azimuth.degrees, elevation.degrees)
            ours = towards(case["azimuth"], case["elevation"])
            off = np.degrees(np.linalg.norm(ours - expected, axis=0)).max()
            self.assertLess(off, 1e-3, case["name"])
            away = np.abs(np.array(case["distance"]) / 1e3 - np.linalg.norm(path, axis=0)).max()
            self.assertLess(away, 1.0, case["name"])


if __name__ == "__main__":
    FOLDER = Path(sys.argv.pop())
    unittest.main()
