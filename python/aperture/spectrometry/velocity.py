#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Velocities of spectral lines, in the local standard of rest.

The velocity of a line of rest frequency f0 that is seen at f is radio astronomers' c (1 - f/f0),
positive where the gas goes away. It is told in the kinematic local standard of rest (LSRK): the
Sun moves in it with 20 km/s towards 18h +30 degrees of 1900. The ephemeris of the Earth is ERFA's,
which is astropy's, too.
"""

import numpy as np

from ..arrays import geometry
from ..tracking.directions import icrs

#: Hz, of the hyperfine transition of neutral hydrogen
HYDROGEN = 1420.405751768e6
KM_S = geometry.SPEED_OF_LIGHT / 1e3
#: km/s, ICRS: 20 km/s towards 18h +30 degrees, in the equator and equinox of B1900 (FK4)
SUN_IN_LSRK = np.array([0.28999706839034606, -17.317264789717928, 10.00141199546947])
_AU = 149597870.700  # km
_HALF = 30.0  # s, on both sides of a time, over which the observer's place is differenced


def observer_velocity(time, array):
    """
    The observer's velocity in the LSRK, [...][3] in km/s along ICRS: the Earth's rotation, its
    motion about the Sun, and the Sun's. time: UTC seconds since 1970, of any shape.
    """
    time = np.asarray(time, float)
    site = array.latitude, array.longitude, array.height
    before, after = (geometry.observer_place(time + step, *site) for step in (-_HALF, _HALF))
    return (after - before) * (_AU / (2 * _HALF)) + SUN_IN_LSRK


def lsr_correction(direction, time, array):
    """
    The difference, in km/s, that makes a velocity as it is observed one in the LSRK, by addition.

    Parameters
    ----------
    direction : Direction
        Where the antenna points; of one that stands still, what is there at that time.
    time : float or array of float
        UTC seconds since 1970.
    array : ArrayDescription
        Its site counts.
    """
    ra, dec = (np.radians(value) for value in icrs(direction, time, array)[:2])
    towards = np.stack(
        np.broadcast_arrays(np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)), -1
    )
    return np.sum(observer_velocity(time, array) * towards, axis=-1)


def velocities(frequencies, correction=0.0, rest=HYDROGEN):
    """
    Velocities in km/s of frequencies (Hz) as they are observed. correction: as of lsr_correction();
    0 gives velocities as the observer sees them. It is exact to v/c of itself, 0.01 km/s.
    """
    return KM_S * (1 - np.asarray(frequencies) / rest * (1 - np.asarray(correction) / KM_S))


def frequencies_of(speeds, correction=0.0, rest=HYDROGEN):
    """The frequencies at which velocities are observed: the inverse of velocities()."""
    return rest * (1 - np.asarray(speeds) / KM_S) / (1 - np.asarray(correction) / KM_S)
