#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Times of arrival at the barycentre of the solar system.

The ephemeris of the Earth is ERFA's epv00, which astropy calls builtin: no file is needed, and its
barycentric place is within 13 km (45 us of light) of JPL's DE405 from 1900 to 2100, mostly within
5 km. That error changes over months; within an observation it is a constant.
"""

import warnings

import numpy as np

from ..arrays import geometry
from ..arrays.bodies import AU
from ..arrays.earth_rotation import (
    MILLI_ARC_SECOND,
    MJD_ZERO_JD,
    TT_MINUS_TAI,
    day_and_fraction,
    day_length,
    tai_minus_utc,
    ut1_minus_utc,
)
from ..parameters.times import SECONDS_PER_DAY

#: s; G M of the Sun over c^3 (IAU 2015 nominal)
SUN_TIME = 1.32712440e20 / geometry.SPEED_OF_LIGHT**3
LIGHT_SECONDS_PER_AU = AU / geometry.SPEED_OF_LIGHT
PARSEC = 648000 / np.pi  # au
J2000 = 51544.5  # MJD
DAYS_OF_YEAR = 365.25


def directions(longitude, latitude):
    """Unit vectors towards a place on a sphere (radians), and to the east and north there."""
    (sin, cos), (sin2, cos2) = ((np.sin(x), np.cos(x)) for x in (longitude, latitude))
    return (
        np.array([cos2 * cos, cos2 * sin, sin2]),
        np.array([-sin, cos, 0.0]),
        np.array([-sin2 * cos, -sin2 * sin, cos2]),
    )


def _star(place, mjd):
    """Unit vectors [...][3] of a star with proper motion (a straight line) at dates."""
    towards, east, north = directions(*np.radians([place.ra, place.dec]))
    motion = MILLI_ARC_SECOND * (place.pm_ra * east + place.pm_dec * north)
    years = (np.asarray(mjd, float) - place.position_epoch) / DAYS_OF_YEAR
    moved = towards + years[..., None] * motion
    return moved / np.linalg.norm(moved, axis=-1, keepdims=True)


def topocentric_tdb(seconds, fraction, site):
    """
    Barycentric dynamical time (TDB) at a place on the ground.

    Parameters
    ----------
    seconds, fraction : int array, float array
        UTC since 1970.
    site : ArrayDescription, or anything with latitude, longitude (degrees) and height (m)

    Returns
    -------
    day, rest : int array, longdouble array
        The modified Julian date in TDB, and seconds of that day (0 to a little above 86400).
    """
    import erfa

    midnight, part = day_and_fraction(np.asarray(seconds, np.int64), np.asarray(fraction, float))
    utc = np.mod(np.asarray(seconds, np.int64), int(SECONDS_PER_DAY))
    shift = np.asarray(tai_minus_utc(midnight) + TT_MINUS_TAI, float)
    x, y, z = geometry.geodetic_to_ecef(site.latitude, site.longitude, site.height) * 1e-3
    tt = (
        MJD_ZERO_JD + midnight,
        part * day_length(midnight) / SECONDS_PER_DAY + shift / SECONDS_PER_DAY,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", erfa.ErfaWarning)
        ut1 = part + ut1_minus_utc(MJD_ZERO_JD + midnight, part) / SECONDS_PER_DAY
        # the argument may be TT: TDB differs from it by 2 ms
        more = erfa.dtdb(*tt, np.mod(ut1, 1), np.radians(site.longitude), np.hypot(x, y), z)
    rest = np.longdouble(0) + utc + np.asarray(fraction, np.longdouble) + shift + more
    return np.asarray(midnight, np.int64), rest


def delays(seconds, fraction, place, site):
    """
    Returns by how much earlier a wave of a star arrives at the barycentre than at the site.

    Parameters
    ----------
    seconds, fraction : int array, float array
        UTC since 1970.
    place : anything with ra, dec (degrees, ICRS), pm_ra, pm_dec (mas a year, on the sky),
        position_epoch (MJD) and parallax (mas)
    site : as of topocentric_tdb()

    Returns
    -------
    roemer, shapiro : float array
        Seconds that are to be added: of the light's way (Roemer delay, with the parallax), and of
        the Sun's mass, without the constant.
    """
    import erfa

    time = np.asarray(seconds, float) + np.asarray(fraction, float)
    midnight, part = day_and_fraction(np.asarray(seconds, np.int64), np.asarray(fraction, float))
    observer = geometry.observer_place(time, site.latitude, site.longitude, site.height)
    star = _star(place, midnight + part)
    along = np.sum(observer * star, axis=-1)
    roemer = along * LIGHT_SECONDS_PER_AU
    if place.parallax:
        distance = PARSEC * 1e3 / place.parallax  # au
        roemer = (
            roemer
            - (np.sum(observer**2, axis=-1) - along**2) / (2 * distance) * LIGHT_SECONDS_PER_AU
        )
    heliocentric, barycentric = erfa.epv00(MJD_ZERO_JD + midnight, part)
    from_sun = observer - (barycentric["p"] - heliocentric["p"])
    distance = np.linalg.norm(from_sun, axis=-1)
    shapiro = 2 * SUN_TIME * np.log(distance + np.sum(from_sun * star, axis=-1))
    return roemer, shapiro


def barycentric_time(seconds, fraction, place, site, units="TDB"):
    """
    Returns when a wave that arrives at a site arrives at the barycentre, at infinite frequency.

    Parameters
    ----------
    seconds, fraction, place, site
        As of delays().
    units : str
        Units of the result: TDB, or TCB.

    Returns
    -------
    day, rest : int array, longdouble array
        The result of topocentric_tdb().
    """
    import erfa

    day, rest = topocentric_tdb(seconds, fraction, site)
    roemer, shapiro = delays(seconds, fraction, place, site)
    rest = rest + roemer + shapiro
    if units == "TCB":
        parts = erfa.tdbtcb(MJD_ZERO_JD + day, np.asarray(rest / SECONDS_PER_DAY, float))
        # the conversion adds little: as a difference it loses nothing
        added = (parts[0] - (MJD_ZERO_JD + day)) + (
            parts[1] - np.asarray(rest / SECONDS_PER_DAY, float)
        )
        rest = rest + added * SECONDS_PER_DAY
    return day, rest
