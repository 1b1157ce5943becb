#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Satellites of the Earth, from two-line element sets (TLE), as seen from a place on it.

Orbits are those of SGP4 (Vallado et al. 2006, Revisiting Spacetrack Report #3, AIAA 2006-6753),
computed by the package sgp4 in the frame TEME, which the sidereal time of 1982 and the place of the
pole take to the ground (the same, appendix C). A satellite is seen where it was when its light left
it, with the aberration by the Earth's rotation, as stars are in geometry.py.

The elements themselves are good to about a kilometre at their epoch, 0.1 degrees for a satellite
1000 km away, and lose 1 to 3 km with each day of a low orbit: MOST_AGE days from their epoch on
they are said to be old.
"""

import functools
from dataclasses import dataclass

import numpy as np

from ..parameters.times import SECONDS_PER_DAY, utc_text
from . import geometry
from .description_error import ArrayDescriptionError, refuse
from .earth_rotation import pole, unix_seconds, ut1_minus_utc

#: days from their epoch, before or after it, from which on elements are called old
MOST_AGE = 7.0
LENGTH = 69  # characters of each of the two lines
RULE = "the two lines of a satellite's elements (TLE), of 69 characters each"

#: reasons for which SGP4 has no place, by its numbers
_PROBLEMS = {
    1: "its eccentricity leaves 0 to 1",
    2: "its mean motion is below 0",
    3: "its perturbed eccentricity leaves 0 to 1",
    4: "its orbit has no size",
    6: "its orbit has decayed: it is below the ground",
}


def checksum(line):
    """The last digit that a line of elements must have: of the sum of its digits, a minus sign
    counting as 1."""
    return sum(int(sign) if sign.isdigit() else sign == "-" for sign in line[: LENGTH - 1]) % 10


def two_lines(text):
    """
    The two lines of a TLE, without blanks around them.

    text: the lines, and above them if wanted a line with the satellite's name.

    Raises ArrayDescriptionError that says which line is wrong.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 3:
        del lines[0]
    if len(lines) != 2:
        refuse("tle", text, RULE)
    for number, line in enumerate(lines, 1):
        if not (line.isascii() and len(line) == LENGTH and line.startswith(f"{number} ")):
            refuse("tle", line, f"line {number} of a satellite's elements: {LENGTH} characters")
        if line[-1] != str(checksum(line)):
            raise ArrayDescriptionError(
                "tle",
                f"line {number} of satellite {line[2:7].strip()} has the checksum {line[-1]}, but "
                f"its characters give {checksum(line)}: it is damaged",
            )
    if lines[0][2:7] != lines[1][2:7]:
        raise ArrayDescriptionError(
            "tle", f"line 1 is of satellite {lines[0][2:7]}, line 2 of {lines[1][2:7]}"
        )
    return tuple(lines)


@dataclass(frozen=True)
class Apparent:
    """
    The place of satellites in the sky.

    towards: unit vectors [...][east, north, up]; distance: metres [...].
    """

    towards: np.ndarray
    distance: np.ndarray


class Satellite:
    """
    A satellite of the Earth.

    number: that of the catalogue; epoch: of its elements, UTC seconds since 1970; perigee: metres
    above the equator of the point of its orbit that is the nearest.

    Parameters
    ----------
    tle : str
        The two lines, in one text.

    Raises
    ------
    ArrayDescriptionError
        The lines are damaged, or have no orbit.
    ModuleNotFoundError
        The package sgp4 is missing.
    """

    def __init__(self, tle):
        try:
            from sgp4.api import WGS72, Satrec
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "satellites need the package sgp4 (Debian's python3-sgp4), which is not installed",
                name=error.name,
            ) from None
        lines = two_lines(tle)
        self.number = lines[0][2:7].strip()
        try:
            self._orbit = Satrec.twoline2rv(*lines, WGS72)
        except ValueError as error:
            raise ArrayDescriptionError(
                "tle", f"the elements of satellite {self.number} cannot be read: {error}"
            ) from None
        self.epoch = (
            float(unix_seconds(self._orbit.jdsatepoch)) + SECONDS_PER_DAY * self._orbit.jdsatepochF
        )
        self.perigee = max(1e3 * self._orbit.altp * self._orbit.radiusearthkm, 1e5)
        self._in_space(np.array(self.epoch))

    def _in_space(self, time):
        """Positions and velocities [...][3], m and m/s in TEME, at times."""
        day, fraction = geometry.julian_parts(time)
        shape = np.shape(time)
        if 0 in shape:
            return np.empty((*shape, 3)), np.empty((*shape, 3))
        days = np.broadcast_to(day, shape).ravel().astype(float)
        errors, places, velocities = self._orbit.sgp4_array(
            days, np.broadcast_to(fraction, shape).ravel().astype(float)
        )
        if errors.any():
            first = int(np.flatnonzero(errors)[0])
            when = utc_text(float(np.ravel(time)[first]))
            raise ArrayDescriptionError(
                "tle",
                f"satellite {self.number} has no place at {when} UTC: "
                f"{_PROBLEMS.get(int(errors[first]), 'SGP4 cannot compute its orbit')} (elements "
                f"of {utc_text(self.epoch)})",
            )
        return 1e3 * places.reshape(*shape, 3), 1e3 * velocities.reshape(*shape, 3)

    def seen(self, time, latitude, longitude, height=0.0):
        """
        Returns the place in the sky that it has from a place on the ground: Apparent.

        time: UTC seconds since 1970, a float or an array of them.

        Raises ArrayDescriptionError where it has no orbit at one of the times.
        """
        time = np.asarray(time, float)
        place, velocity = self._in_space(time)
        to_ground = _to_ground(time)
        ground = geometry.geodetic_to_ecef(latitude, longitude, height)
        axes = geometry.enu_to_ecef_rotation(latitude, longitude)
        travel = np.zeros(time.shape)
        # the second time the distance is wrong by less than a metre
        for _ in range(2):
            left = place - velocity * travel[..., None]
            path = np.einsum("...ij,...j->...i", to_ground, left) - ground
            distance = np.linalg.norm(path, axis=-1)
            travel = distance / geometry.SPEED_OF_LIGHT
        towards = (path / distance[..., None]) @ axes
        # the ground moves to the east
        towards[..., 0] += (
            geometry.EARTH_ROTATION_RATE * np.hypot(*ground[:2]) / geometry.SPEED_OF_LIGHT
        )
        return Apparent(towards / np.linalg.norm(towards, axis=-1, keepdims=True), distance)

    def age(self, time):
        """Days since the epoch of its elements; before it below 0."""
        return (np.asarray(time, float) - self.epoch) / SECONDS_PER_DAY


def _to_ground(time):
    """Matrices [...][3][3] from TEME to geocentric axes that rotate with the Earth."""
    import erfa

    day, fraction = geometry.julian_parts(time)
    angle = erfa.gmst82(day, fraction + ut1_minus_utc(day, fraction) / SECONDS_PER_DAY)
    motion = erfa.pom00(*pole(day, fraction), 0.0)
    zero, cosine, sine = np.zeros(time.shape), np.cos(angle), np.sin(angle)
    rotation = np.stack(
        [
            np.stack([cosine, sine, zero], axis=-1),
            np.stack([-sine, cosine, zero], axis=-1),
            np.stack([zero, zero, zero + 1], axis=-1),
        ],
        axis=-2,
    )
    return motion @ rotation


@functools.lru_cache(maxsize=1024)
def satellite(tle):
    """The Satellite of a TLE, made once."""
    return Satellite(tle)


def age_warning(name, tle, time):
    """Returns what a user is to be told of the age of elements at a time; None if all is well."""
    age = float(satellite(tle).age(time))
    if abs(age) <= MOST_AGE:
        return None
    side = "before the" if age > 0 else "after the"
    return (
        f"the elements of {name} are of {utc_text(satellite(tle).epoch)}, {abs(age):.1f} days "
        f"{side} time {utc_text(time)}: after {MOST_AGE:.0f} days a low orbit may be wrong by "
        "degrees"
    )
