#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Passes: when directions are above the horizon, or another elevation, of a place on the ground.

Elevations are as in directions.azimuth_elevation(), without refraction, which lifts what is on the
horizon by half a degree: at radio frequencies it comes up to 3 minutes earlier. Satellites are
looked for every SATELLITE_STEP seconds, and each maximum between is found, however short its pass.
"""

from dataclasses import dataclass

import numpy as np

from ..arrays import geometry
from .directions import Direction, azimuth_elevation

STEP = 300.0  # s, between elevations of what moves with the sky
SATELLITE_STEP = 20.0  # s
_GOLDEN = (np.sqrt(5) - 1) / 2
#: s; times of rise, set and maximum are found within it
_PRECISION = 0.05


@dataclass(frozen=True)
class Moment:
    """A time, UTC seconds since 1970, and azimuth and elevation (degrees) then."""

    time: float
    azimuth: float
    elevation: float


@dataclass(frozen=True)
class Pass:
    """
    A time in which a direction is above an elevation.

    rise, set: Moment; None where it is up at the begin or at the end of what was asked for;
    highest: the Moment of its greatest elevation in between.
    """

    rise: Moment | None
    highest: Moment
    set: Moment | None


def _moment(direction, time, array):
    azimuth, elevation = azimuth_elevation(direction, time, array)
    return Moment(float(time), float(azimuth), float(elevation))


def _maximum(height, low, high):
    """The time between two at which height(time) is the greatest, by golden section."""
    while high - low > _PRECISION:
        step = _GOLDEN * (high - low)
        if height(high - step) > height(low + step):
            high = low + step
        else:
            low = high - step
    return (low + high) / 2


def _crossing(height, low, high):
    """The time between two, on different sides of 0, at which height(time) is 0, by bisection."""
    rising = height(high) > 0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if (height(middle) > 0) == rising:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def times_of(direction, start, seconds):
    """Times [time], UTC seconds since 1970, at which a direction's elevation is sampled."""
    step = SATELLITE_STEP if direction.tle is not None else STEP
    return start + np.linspace(0, seconds, max(3, int(np.ceil(seconds / step)) + 1))


def passes(direction, array, start, seconds, lowest=0.0):
    """
    The passes of a direction, in order: a list of Pass.

    Parameters
    ----------
    direction : Direction
    array : ArrayDescription
        Its site counts.
    start, seconds : float
        UTC seconds since 1970, and for how long.
    lowest : float
        Elevation in degrees from which on it is up.
    """

    def height(time):
        return azimuth_elevation(direction, time, array)[1] - lowest

    times = times_of(direction, start, seconds)
    heights = height(times)
    tops = 1 + np.flatnonzero((heights[1:-1] >= heights[:-2]) & (heights[1:-1] > heights[2:]))
    tops = [_maximum(height, times[top - 1], times[top + 1]) for top in tops]
    order = np.argsort(np.concatenate([times, tops]))
    heights = np.concatenate([heights, [height(top) for top in tops]])[order]
    times = np.concatenate([times, tops])[order]
    up = heights > 0
    edges = np.flatnonzero(up[1:] != up[:-1])
    bounds = [0, *(edges + 1), len(times)]
    found = []
    for first, end in zip(bounds[:-1], bounds[1:]):
        if not up[first]:
            continue
        best = times[first + int(np.argmax(heights[first:end]))]
        rise = None if first == 0 else _crossing(height, times[first - 1], times[first])
        last = None if end == len(times) else _crossing(height, times[end - 1], times[end])
        found.append(
            Pass(
                None if rise is None else _moment(direction, rise, array),
                _moment(direction, best, array),
                None if last is None else _moment(direction, last, array),
            )
        )
    return found


@dataclass(frozen=True)
class Plane:
    """
    The galactic plane at times.

    times: UTC seconds since 1970 [time]; elevation, azimuth, longitude: [time], of its highest
    point: degrees, the last its galactic longitude.
    """

    times: np.ndarray
    azimuth: np.ndarray
    elevation: np.ndarray
    longitude: np.ndarray


def galactic_plane(array, start, seconds):
    """The Plane, as seen from an array's site, every STEP seconds."""
    times = times_of(Direction("plane", azimuth=0.0, elevation=0.0), start, seconds)
    # a pole at right angles to a circle: its highest point is away from where the pole is
    ra, dec = (float(angle) for angle in geometry.galactic_to_radec(0.0, 90.0))
    towards = geometry.direction(
        *azimuth_elevation(Direction("pole", ra=ra, dec=dec), times, array)
    )
    # the part of the zenith at right angles to the pole
    highest = np.array([0.0, 0.0, 1.0]) - towards[:, 2:] * towards
    highest /= np.maximum(np.linalg.norm(highest, axis=-1, keepdims=True), 1e-12)
    azimuth, elevation = geometry.azimuth_elevation(highest)
    ra, dec = geometry.azel_to_radec(
        azimuth, elevation, times, array.latitude, array.longitude, array.height
    )
    longitude = geometry.radec_to_galactic(ra, dec)[0] % 360
    return Plane(times, azimuth, elevation, longitude)
