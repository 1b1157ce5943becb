#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Directions, delays, time and places on the Earth.

Positions are (east, north, up) in metres, directions unit vectors in the same frame, azimuth
runs from north through east. Angles are in degrees, times are UTC seconds since 1970 (as
`rx_time` counts them). Arguments may be arrays; the last axis of a vector has its components.

Nothing is downloaded: UT1 and the place of the pole come from the table in earth_rotation_table.py.
While that is measured, directions on the sky are good to 0.05 arc seconds (without refraction);
after its end UT1 is off by what it has drifted since, 15 arc seconds for each second (see
earth_rotation.direction_error).
"""

import warnings

import numpy as np

SPEED_OF_LIGHT = 299792458.0  # m/s
#: rad/s; IERS Conventions 2010, 5.15: 1.00273781191135448 revolutions in 86400 s of UT1
EARTH_ROTATION_RATE = 2 * np.pi * 1.00273781191135448 / 86400
WGS84 = 1  #: number of this ellipsoid in ERFA


# --- directions and delays -----------------------------------------------------------------------


def direction(azimuth, elevation):
    """Unit vectors [...][east, north, up] towards azimuth and elevation."""
    az, el = np.radians(azimuth), np.radians(elevation)
    return np.stack(
        np.broadcast_arrays(np.cos(el) * np.sin(az), np.cos(el) * np.cos(az), np.sin(el)), axis=-1
    )


def azimuth_elevation(direction):
    """Azimuth (0 to 360) and elevation of vectors [...][east, north, up] of any length."""
    east, north, up = np.moveaxis(np.asarray(direction, dtype=float), -1, 0)
    return (
        np.degrees(np.arctan2(east, north)) % 360,
        np.degrees(np.arctan2(up, np.hypot(east, north))),
    )


def delays(positions, direction, distance=np.inf):
    """Returns by how many seconds later than at the origin a wave arrives: tau = -r.s/c, and for a
    source at a distance d tau = (|d s - r| - d)/c, the difference of the paths.

    positions: [antenna][east, north, up]; direction: unit vectors [...][east, north, up] towards
    the source; distance: its metres [...] from the origin. Returns [...][antenna].
    """
    positions = np.asarray(positions, dtype=float)
    along = np.asarray(direction, dtype=float) @ positions.T
    curvature = 1 / np.asarray(distance, dtype=float)[..., None]
    if not np.any(curvature):
        return -along / SPEED_OF_LIGHT
    # the difference of two long paths, without the loss of its digits
    squares = np.sum(positions**2, axis=-1)
    path = np.sqrt(np.maximum(1 - 2 * curvature * along + curvature**2 * squares, 0))
    return (curvature * squares - 2 * along) / (path + 1) / SPEED_OF_LIGHT


def longest_baseline(positions):
    """Metres between the two that are the furthest apart of positions [antenna][3]."""
    places = np.unique(np.asarray(positions, float), axis=0)
    return max(
        (float(np.linalg.norm(places - place, axis=1).max()) for place in places), default=0.0
    )


def fraunhofer_distance(positions, frequency):
    """
    Metres from which on a wave is plane across an array: 2 D^2 f/c.

    D is the longest baseline of positions [antenna][east, north, up]. There the
    wavefront strays from a plane by a sixteenth of a wave at the edge, seen from the middle of D;
    the origin of positions may be elsewhere.
    """
    return 2 * longest_baseline(positions) ** 2 * frequency / SPEED_OF_LIGHT


def rotate_with_sky(direction, latitude, seconds):
    """Returns where a source in `direction` is after `seconds` of the Earth's rotation.

    Rotates about the pole (0, cos latitude, sin latitude), from east over south to west.
    Precession, nutation and aberration move a source against that by 0.5 arc seconds a day at most.
    direction: [3]; seconds: any shape. Returns [...][3].
    """
    direction = np.asarray(direction, dtype=float)
    pole = np.array([0, np.cos(np.radians(latitude)), np.sin(np.radians(latitude))])
    angle = -EARTH_ROTATION_RATE * np.asarray(seconds, dtype=float)[..., None]
    along = pole * (pole @ direction)
    return along + (direction - along) * np.cos(angle) + np.cross(pole, direction) * np.sin(angle)


# --- the sky -------------------------------------------------------------------------------------


def julian_parts(time):
    """UTC seconds since 1970 as ERFA wants them: days, a whole number plus 1/2 and the rest."""
    from .earth_rotation import MJD_ZERO_JD, day_and_fraction

    midnight, fraction = day_and_fraction(np.asarray(time, dtype=float))
    return MJD_ZERO_JD + midnight, fraction


def _erfa(function, *arguments):
    import erfa

    with warnings.catch_warnings():
        # ERFA warns of years that may have leap seconds which it does not know
        warnings.simplefilter("ignore", erfa.ErfaWarning)
        return getattr(erfa, function)(*arguments)


def _observer(time, latitude, longitude, height):
    """The arguments of ERFA's atco13 and atoc13 from utc1 on. Pressure 0: no refraction."""
    from .earth_rotation import pole, ut1_minus_utc

    day, fraction = julian_parts(time)
    return (
        day,
        fraction,
        ut1_minus_utc(day, fraction),
        np.radians(longitude),
        np.radians(latitude),
        height,
        *pole(day, fraction),
        0.0,
        0.0,
        0.0,
        1.0,
    )


def radec_to_azel(ra, dec, time, latitude, longitude, height=0.0, pm_ra=0.0, pm_dec=0.0):
    """Azimuth (0 to 360) and elevation of a star at ICRS right ascension and declination.

    As seen from the ground: precession, nutation, annual and diurnal aberration, and the motion of
    the pole (ERFA's atco13). pm_ra, pm_dec: proper motion in milli arc seconds a year on the sky
    (along a circle of declination that is the change of ra times cos dec), since 2000.
    """
    from .earth_rotation import MILLI_ARC_SECOND

    declination = np.radians(dec)
    azimuth, zenith_distance = _erfa(
        "atco13",
        np.radians(ra),
        declination,
        np.asarray(pm_ra) * MILLI_ARC_SECOND / np.maximum(np.cos(declination), 1e-9),
        np.asarray(pm_dec) * MILLI_ARC_SECOND,
        0.0,
        0.0,
        *_observer(time, latitude, longitude, height),
    )[:2]
    return np.degrees(azimuth) % 360, 90 - np.degrees(zenith_distance)


def azel_to_radec(azimuth, elevation, time, latitude, longitude, height=0.0):
    """ICRS right ascension (0 to 360) and declination; the inverse of radec_to_azel()."""
    ra, dec = _erfa(
        "atoc13",
        "A",
        np.radians(azimuth),
        np.radians(90 - np.asarray(elevation)),
        *_observer(time, latitude, longitude, height),
    )
    return np.degrees(ra) % 360, np.degrees(dec)


def radec_to_galactic(ra, dec):
    """Galactic longitude (0 to 360) and latitude of ICRS right ascension and declination."""
    longitude, latitude = _erfa("icrs2g", np.radians(ra), np.radians(dec))
    return np.degrees(longitude) % 360, np.degrees(latitude)


def galactic_to_radec(longitude, latitude):
    """ICRS right ascension (0 to 360) and declination; the inverse of radec_to_galactic()."""
    ra, dec = _erfa("g2icrs", np.radians(longitude), np.radians(latitude))
    return np.degrees(ra) % 360, np.degrees(dec)


def observer_place(time, latitude, longitude, height=0.0):
    """Barycentric place [...][3] of an observer on the ground, in astronomical units (ICRS)."""
    astrom, _ = _erfa("apco13", *_observer(time, latitude, longitude, height))
    return astrom["eb"]


def local_sidereal_time(time, longitude):
    """Apparent sidereal time, in degrees (0 to 360), at a longitude (east is positive)."""
    from .earth_rotation import sidereal_time

    day, fraction = julian_parts(time)
    return np.degrees(sidereal_time(day, longitude, fraction))


#: rows: the galactic axes in ICRS (The Hipparcos and Tycho Catalogues 1997, volume 1, 1.5.11)
GALACTIC_AXES = np.array(
    [
        [-0.0548755604, -0.8734370902, -0.4838350155],
        [+0.4941094279, -0.4448296300, +0.7469822445],
        [-0.8676661490, -0.1980763734, +0.4559837762],
    ]
)


def galactic(ra, dec):
    """Galactic longitude (0 to 360) and latitude of ICRS directions, all in degrees."""
    ra, dec = np.radians(ra), np.radians(dec)
    there = np.stack([np.cos(ra) * np.cos(dec), np.sin(ra) * np.cos(dec), np.sin(dec)])
    x, y, z = np.tensordot(GALACTIC_AXES, there, 1)
    return np.degrees(np.arctan2(y, x)) % 360, np.degrees(np.arcsin(np.clip(z, -1, 1)))


def parallactic_angle(azimuth, elevation, latitude):
    """The angle from the direction of the north celestial pole to that of the zenith, through east,
    as seen in a direction, all in degrees: above 0 west of the meridian."""
    azimuth, elevation, latitude = map(np.radians, (azimuth, elevation, latitude))
    return np.degrees(
        np.arctan2(
            -np.sin(azimuth) * np.cos(latitude),
            np.sin(latitude) * np.cos(elevation)
            - np.cos(latitude) * np.sin(elevation) * np.cos(azimuth),
        )
    )


# --- the ground ----------------------------------------------------------------------------------


def geodetic_to_ecef(latitude, longitude, height):
    """Geocentric x, y, z [3] in metres of a place on WGS84's ellipsoid."""
    return _erfa("gd2gc", WGS84, np.radians(longitude), np.radians(latitude), height)


def ecef_to_geodetic(place):
    """Latitude, longitude (degrees) and height (m) on WGS84's ellipsoid of geocentric x, y, z."""
    longitude, latitude, height = _erfa("gc2gd", WGS84, np.asarray(place, float))
    return float(np.degrees(latitude)), float(np.degrees(longitude)), float(height)


def height_above_ellipsoid(places):
    """Metres of geocentric places [...][3] above WGS84's ellipsoid."""
    return _erfa("gc2gd", WGS84, np.asarray(places, float))[2]


def enu_to_ecef_rotation(latitude, longitude):
    """Matrix [3][3] that takes (east, north, up) to geocentric axes: its columns are those."""
    lat, lon = np.radians(latitude), np.radians(longitude)
    return np.array(
        [
            [-np.sin(lon), -np.sin(lat) * np.cos(lon), np.cos(lat) * np.cos(lon)],
            [np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat) * np.sin(lon)],
            [0.0, np.cos(lat), np.sin(lat)],
        ]
    )


def enu_to_ecef(positions, latitude, longitude, height):
    """Geocentric [...][x, y, z] of positions [...][east, north, up] about a site."""
    return (
        geodetic_to_ecef(latitude, longitude, height)
        + np.asarray(positions, dtype=float) @ enu_to_ecef_rotation(latitude, longitude).T
    )


def ecef_to_enu(positions, latitude, longitude, height):
    """Positions [...][east, north, up] about a site of geocentric [...][x, y, z]."""
    return (
        np.asarray(positions, dtype=float) - geodetic_to_ecef(latitude, longitude, height)
    ) @ enu_to_ecef_rotation(latitude, longitude)
