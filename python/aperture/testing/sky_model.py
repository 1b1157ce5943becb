#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""An independent model of geometric delays, in float64, for tests.

It goes from the sky to the ground by another way than the code under test: by matrices, from the
positions of antennas in geocentric axes, with the aberration of the observer's whole velocity, and
without any azimuth. UT1 and the pole are given by the caller, who takes them from astropy's table
and not from that of gr-aperture.
"""

import erfa
import numpy as np

C = 299792458.0
EARTH_RADIUS, FLATTENING = 6378137.0, 1 / 298.257223563
DAY = 86400.0
AU = 149597870700.0


def apparent_direction(ra, dec, utc, tt, ut1, pole, latitude, longitude, height):
    """
    Unit vector [3] in geocentric axes (ITRS) towards a star, as an antenna sees it.

    Parameters
    ----------
    ra, dec : float
        ICRS, degrees.
    utc, tt, ut1 : tuple of float
        Two parts of a Julian date, each.
    pole : tuple of float
        x and y of the pole, radians.
    latitude, longitude, height : float
        Degrees and metres, of the observer.
    """
    star = erfa.s2c(np.radians(ra), np.radians(dec))
    heliocentric, barycentric = erfa.epv00(*tt)
    # deflection by the Sun, of a star at any distance
    distance = np.linalg.norm(heliocentric["p"])
    star = erfa.ldsun(star, heliocentric["p"] / distance, distance)
    # to the Earth's axes
    celestial = erfa.pnm06a(*tt)
    sidereal = erfa.gst06a(*ut1, *tt)
    spin = erfa.rz(sidereal, np.eye(3))
    wobble = erfa.pom00(*pole, erfa.sp00(*tt))
    to_ground = wobble @ spin @ celestial
    # the observer's velocity: that of the Earth, and that of the ground
    eccentricity2 = FLATTENING * (2 - FLATTENING)
    lat, lon = np.radians([latitude, longitude])
    normal = EARTH_RADIUS / np.sqrt(1 - eccentricity2 * np.sin(lat) ** 2)
    place = np.array(
        [
            (normal + height) * np.cos(lat) * np.cos(lon),
            (normal + height) * np.cos(lat) * np.sin(lon),
            (normal * (1 - eccentricity2) + height) * np.sin(lat),
        ]
    )
    rate = 2 * np.pi * 1.00273781191135448 / DAY
    ground = np.cross([0, 0, rate], wobble.T @ place)  # m/s, before the pole's motion
    velocity = (barycentric["v"] * AU / DAY + (spin @ celestial).T @ ground) / C
    seen = erfa.ab(star, velocity, distance, np.sqrt(1 - velocity @ velocity))
    return to_ground @ seen


def antenna_places(array):
    """Geocentric [input][3] of the inputs of an array, relative to its site, in metres."""
    lat, lon = np.radians([array.latitude, array.longitude])
    east = np.array([-np.sin(lon), np.cos(lon), 0])
    up = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    north = np.cross(up, east)
    return array.input_positions() @ np.array([east, north, up])


def geometric_delays(array, ra, dec, time):
    """
    Seconds [input] by which a wave comes later than at the site, at an astropy Time.

    UT1 and the pole are those of the table that astropy has at the moment.
    """
    from astropy.utils import iers

    table = iers.earth_orientation_table.get()
    pole = [float(value.to_value("rad")) for value in table.pm_xy(time)]
    towards = apparent_direction(
        ra,
        dec,
        (time.utc.jd1, time.utc.jd2),
        (time.tt.jd1, time.tt.jd2),
        (time.ut1.jd1, time.ut1.jd2),
        pole,
        array.latitude,
        array.longitude,
        array.height,
    )
    return -(antenna_places(array) @ towards) / C
