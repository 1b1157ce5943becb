#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sun, Moon and planets, as seen from a place on the Earth.

The ephemerides are those that astropy calls builtin: ERFA's epv00 (Earth), plan94 (planets, Simon
et al. 1994) and moon98 (Moon, Meeus 1998). The Sun is good to 0.02 arc seconds, the Moon to about
5, Venus and Mars to 10, Jupiter and Saturn to 80. No file is needed.
"""

import numpy as np

from ..parameters.times import SECONDS_PER_DAY
from . import geometry
from .earth_rotation import MJD_ZERO_JD, TT_MINUS_TAI, day_and_fraction, day_length, tai_minus_utc

#: number of a planet as plan94 has them
_PLANETS = {
    "mercury": 1,
    "venus": 2,
    "mars": 4,
    "jupiter": 5,
    "saturn": 6,
    "uranus": 7,
    "neptune": 8,
}
#: the bodies that can be tracked
BODIES = ("sun", "moon", *_PLANETS)
AU = 149597870700.0  # m
_LIGHT_DAYS_PER_AU = AU / geometry.SPEED_OF_LIGHT / SECONDS_PER_DAY


def _place(body, tt):
    """Barycentric [...][3] of a body in au; tt: two parts of a Julian date."""
    import erfa

    heliocentric, barycentric = erfa.epv00(*tt)
    earth = barycentric["p"]
    sun = earth - heliocentric["p"]
    if body == "sun":
        return sun
    if body == "moon":
        return earth + erfa.moon98(*tt)["p"]
    return sun + erfa.plan94(*tt, _PLANETS[body])["p"]


def body_radec(body, time, latitude, longitude, height=0.0):
    """
    ICRS right ascension (0 to 360) and declination of a body, in degrees.

    As seen from a place on the Earth, whose parallax moves the Moon by up to a degree, where the
    light that arrives left it; without aberration, which `geometry.radec_to_azel` adds as for a
    star.

    Parameters
    ----------
    body : str
        One of `BODIES`.
    time : float or array of float
        UTC seconds since 1970.
    """
    import erfa

    midnight, fraction = day_and_fraction(np.asarray(time, float))
    seconds = fraction * day_length(midnight) + tai_minus_utc(midnight) + TT_MINUS_TAI
    tt = MJD_ZERO_JD + midnight, seconds / SECONDS_PER_DAY
    observer = geometry.observer_place(time, latitude, longitude, height)
    travel = np.zeros(np.shape(time))
    # the light of Neptune is on its way for 4 hours, in which it moves by 3e-4 of its distance
    for _ in range(4):
        towards = _place(body, (tt[0], tt[1] - travel)) - observer
        travel = np.linalg.norm(towards, axis=-1) * _LIGHT_DAYS_PER_AU
    ra, dec = erfa.c2s(towards)
    return np.degrees(ra) % 360, np.degrees(dec)
