#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Directions that can be followed, and how people write them.

sun, moon, mercury, venus, mars, jupiter, saturn, uranus, neptune, zenith
Cas A, M 87, 3C 461, B0329+54, PSR J0332+5434      (catalogue.yml)
23:23:24 +58:48:54      23h23m24s +58d48m54s       (ICRS right ascension, declination)
350.85, 58.815          350.85d +58.815d           (the same in degrees)
az=180, el=45           azel 180 45                (degrees; azimuth from north through east)
l=30, b=0               galactic 30 0              (degrees; galactic longitude and latitude)
az=180, el=4, distance=120                         (a transmitter nearby: its metres from the site)
tle=weather.txt, NOAA 19                           (a satellite in a file of elements: tle_file.py)
"""

import functools
import re
from dataclasses import dataclass, fields
from numbers import Real
from pathlib import Path

import numpy as np

from ..arrays import geometry
from ..arrays.array_model import Target
from ..arrays.bodies import BODIES, body_radec
from ..arrays.satellites import age_warning, satellite
from ..parameters.errors import ParameterError
from ..parameters.rules import refuse
from . import tle_file

CATALOGUE = Path(__file__).parent / "catalogue.yml"

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_DECIMAL = re.compile(rf"({_NUMBER})\s*(h|d|deg|°)?", re.IGNORECASE)
_SEXAGESIMAL = re.compile(
    rf"(\d+)\s*([h:d°\s])\s*({_NUMBER})\s*(?:[m:'′\s]\s*(?:({_NUMBER})\s*"
    r"(?:s|\"|″|'')?)?)?",
    re.IGNORECASE,
)
_HORIZONTAL = re.compile(
    rf"(?:azel\s*:?|altaz\s*:?)?\s*(?:az|azimuth)?\s*[=:]?\s*([+-]?{_NUMBER})\s*(?:d|deg|°)?"
    rf"(?:\s*,\s*|\s+)(?:el|elevation|alt|altitude)?\s*[=:]?\s*([+-]?{_NUMBER})\s*(?:d|deg|°)?"
    rf"(?:(?:\s*,\s*|\s+)(?:d|distance)\s*[=:]?\s*({_NUMBER})\s*(k?m)?)?",
    re.IGNORECASE,
)
_GALACTIC = re.compile(
    rf"(?:galactic\s*:?\s*|(?=l\s*=))(?:l\s*=)?\s*([+-]?{_NUMBER})\s*(?:d|deg|°)?(?:\s*,\s*|\s+)"
    rf"(?:b\s*=)?\s*([+-]?{_NUMBER})\s*(?:d|deg|°)?",
    re.IGNORECASE,
)
RULE = (
    "a name (sun, moon, a planet, Cas A, B0329+54, ...), ICRS right ascension and declination "
    "such as '23:23:24 +58:48:54' or '350.85, 58.815' (degrees), galactic 'l=30, b=0', "
    "'az=180, el=45', with 'distance=120' (metres) where it is near, or 'tle=FILE, NAME' (a "
    "satellite)"
)
#: metres a second; no satellite is faster against the ground
_FASTEST = 12e3
_STEP = 0.1  # s, in which the motion of a satellite is taken


@dataclass(frozen=True)
class Direction(Target):
    """
    A direction with a name that can be followed.

    azimuth and elevation stand still, at a distance in metres where that is not None; ra and dec
    (ICRS, at the epoch 2000.0) move with the sky, with the proper motion pm_ra, pm_dec (milli arc
    seconds a year on the sky); body: one of `arrays.bodies.BODIES`; tle: the two lines of a
    satellite's elements. Angles are in degrees.
    """

    pm_ra: float = 0.0
    pm_dec: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        for key in ("pm_ra", "pm_dec"):
            value = getattr(self, key)
            if not isinstance(value, Real) or not -1e5 <= value <= 1e5:
                refuse(key, value, "-1e5 to 1e5 milli arc seconds a year")
        if (self.pm_ra or self.pm_dec) and self.ra is None:
            refuse("pm_ra, pm_dec", (self.pm_ra, self.pm_dec), "left out where there is no ra")

    def __str__(self):
        if self.body is not None:
            return self.name
        if self.tle is not None:
            return f"{self.name} (satellite {satellite(self.tle).number})"
        if self.moving:
            place = f"ra {self.ra:.5f}° dec {self.dec:+.5f}°"
        else:
            place = _horizontal_name(self.azimuth, self.elevation, self.distance)
        return self.name if self.name == place else f"{self.name} ({place})"

    def place(self):
        """Returns the arguments with which Direction, and what derives from it, looks there: a
        dictionary."""
        return {
            entry.name: getattr(self, entry.name)
            for entry in fields(Direction)
            if entry.name != "name"
        }

    def same_as(self, other):
        """Returns whether it is the same direction, whatever its name."""
        return other is not None and self.place() == other.place()


# --- where they are ------------------------------------------------------------------------------


def _horizontal_name(azimuth, elevation, distance=None):
    near = "" if distance is None else f", {distance:.6g} m away"
    return f"az {azimuth:.3f}° el {elevation:.3f}°{near}"


def _site(array):
    return array.latitude, array.longitude, array.height


def icrs(direction, time, array):
    """
    ICRS right ascension, declination (degrees) and proper motion of a direction at times.

    For one that stands still, or a satellite, it is what is there at that time; for a body as
    `body_radec` has it.

    Parameters
    ----------
    direction : Direction
    time : float or array of float
        UTC seconds since 1970.
    array : ArrayDescription
        Its site counts.
    """
    if direction.body is not None:
        return (*body_radec(direction.body, time, *_site(array)), 0.0, 0.0)
    if direction.ra is not None:
        return direction.ra, direction.dec, direction.pm_ra, direction.pm_dec
    place = azimuth_elevation(direction, time, array)
    return (*geometry.azel_to_radec(*place, time, *_site(array)), 0.0, 0.0)


def azimuth_elevation(direction, time, array):
    """Azimuth and elevation, in degrees, of a direction at times as those of icrs()."""
    if not direction.moving:
        shape = np.shape(time)
        return np.full(shape, direction.azimuth), np.full(shape, direction.elevation)
    if direction.tle is not None:
        seen = satellite(direction.tle).seen(time, *_site(array))
        return geometry.azimuth_elevation(seen.towards)
    ra, dec, pm_ra, pm_dec = icrs(direction, time, array)
    return geometry.radec_to_azel(ra, dec, time, *_site(array), pm_ra=pm_ra, pm_dec=pm_dec)


def distance(direction, time, array):
    """
    Metres from the site to a direction at times as those of icrs(): finite for satellites, and
    where the direction has a distance.

    Bodies of the solar system are at infinity: the curvature of the Moon's wavefronts is b^2/(2 x
    384000 km), 1.3 mm at a baseline b of 1 km.
    """
    if direction.tle is not None:
        return satellite(direction.tle).seen(time, *_site(array)).distance
    return np.full(np.shape(time), np.inf if direction.distance is None else direction.distance)


def unit_vectors(directions, time, array):
    """
    Unit vectors [direction][east, north, up] of a list of directions at one time.

    time: UTC seconds since 1970; None where none of them moves.
    """
    if time is None and any(entry.moving for entry in directions):
        refuse("time", time, "seconds since 1970, because directions move")
    # stars together, since a tiling has thousands of beams
    stars = [index for index, entry in enumerate(directions) if entry.ra is not None]
    places = np.array(
        [
            (0.0, 0.0) if entry.ra is not None else azimuth_elevation(entry, time, array)
            for entry in directions
        ],
        dtype=float,
    ).reshape(-1, 2)
    if stars:
        ra, dec, pm_ra, pm_dec = np.transpose(
            [icrs(directions[index], time, array) for index in stars]
        )
        places[stars] = np.transpose(
            geometry.radec_to_azel(ra, dec, time, *_site(array), pm_ra=pm_ra, pm_dec=pm_dec)
        )
    return geometry.direction(places[:, 0], places[:, 1])


def distances(directions, time, array):
    """Metres [direction] as distance() has them, at one time as that of unit_vectors()."""
    return np.array([float(distance(entry, time or 0.0, array)) for entry in directions])


def angular_rate(direction, time, array):
    """
    Radians a second by which a direction moves at most, in the time from `time` on in which it
    moves by one radian at that rate. 0 where it stands still.

    Of a satellite at the distance d that is 2 v/d, v being as fast as any is: within d/(2 v) it
    comes no nearer than d/2. time None: at any time.
    """
    if direction.tle is not None:
        if time is None:
            return _FASTEST / satellite(direction.tle).perigee
        return 2 * _FASTEST / float(distance(direction, time, array))
    return geometry.EARTH_ROTATION_RATE if direction.moving else 0.0


def motions(directions, time, array):
    """Changes of unit_vectors() a second, [direction][east, north, up], at one time."""
    latitude = np.radians(array.latitude)
    pole = np.array([0.0, np.cos(latitude), np.sin(latitude)])
    moving = np.array([[entry.moving] for entry in directions])
    # the sky rotates against the Earth: from east over south to west
    found = (
        -geometry.EARTH_ROTATION_RATE
        * moving
        * np.cross(pole, unit_vectors(directions, time, array))
    )
    for index, entry in enumerate(directions):
        if entry.tle is not None:
            before, after = (
                unit_vectors([entry], time + step, array)[0] for step in (-_STEP, _STEP)
            )
            found[index] = (after - before) / (2 * _STEP)
    return found


def age_warnings(directions, time):
    """
    Returns what a user is to be told of the elements of satellites among directions, at a time: a
    list of texts, one at most. A file of old elements has many of them, of which the oldest is
    named.
    """
    old = [
        (abs(float(satellite(entry.tle).age(time))), text)
        for entry in directions
        if entry.tle is not None and (text := age_warning(entry.name, entry.tle, time))
    ]
    if not old:
        return []
    _, text = max(old)
    others = f"; those of {len(old) - 1} more are old, too" if len(old) > 1 else ""
    return [text + others]


# --- how they are written ------------------------------------------------------------------------


def _plain(name):
    """A name without what makes no difference in it."""
    text = re.sub(r"[\s_]+", "", name.lower().replace("−", "-").replace("–", "-"))
    return text.removeprefix("psr")


def _angle(field, text, hours):
    """Degrees of one angle without its sign; hours: whether colons and blanks stand for hours."""
    rule = (
        "hours such as 23:23:24 or 23h23m24s, or degrees such as 350.85"
        if hours
        else "degrees such as +58:48:54, +58d48m54s or 58.815"
    )
    if match := _DECIMAL.fullmatch(text):
        value, unit = float(match[1]), (match[2] or "d").lower()
    elif match := _SEXAGESIMAL.fullmatch(text):
        minutes, seconds = float(match[3]), float(match[4] or 0)
        if minutes >= 60 or seconds >= 60:
            refuse(field, text, "an angle of less than 60 minutes and 60 seconds")
        value = float(match[1]) + minutes / 60 + seconds / 3600
        unit = match[2].lower()
        unit = ("h" if hours else "d") if unit in ": " or unit.isspace() else unit
    else:
        refuse(field, text, rule)
    if unit == "h":
        if not hours:
            refuse(field, text, rule)
        value *= 15
    return value


def _coordinates(field, text):
    """Right ascension and declination of a text in degrees; None if it does not look like them."""
    text = text.replace("−", "-").replace("–", "-").strip()
    if not re.match(r"[+-]?\s*[\d.]", text):
        return None
    if "," in text:
        parts = [part.strip() for part in text.split(",")]
    else:
        match = re.fullmatch(r"(.*?[^+-])([+-].*)", text)
        parts = [match[1].strip(), match[2].strip()] if match else text.split()
    if len(parts) != 2 or not all(parts):
        return None
    ra = _angle(f"{field}, right ascension", parts[0].removeprefix("+").strip(), True)
    sign, rest = (-1 if parts[1][0] == "-" else 1), parts[1].lstrip("+-").strip()
    dec = sign * _angle(f"{field}, declination", rest, False)
    if not 0 <= ra <= 360:
        refuse(f"{field}, right ascension", parts[0], "0 to 360 degrees, or 0 to 24 hours")
    if not -90 <= dec <= 90:
        refuse(f"{field}, declination", parts[1], "-90 to 90 degrees")
    return ra, dec


@functools.cache
def _catalogue():
    """Names and aliases, plain, to Direction."""
    import yaml

    found = {_plain(body): Direction(body.capitalize(), body=body) for body in BODIES}
    found["zenith"] = Direction("zenith", azimuth=0.0, elevation=90.0)
    with open(CATALOGUE, encoding="utf-8") as file:
        entries = yaml.safe_load(file)["sources"]
    for entry in entries:
        ra, dec = _coordinates("position", entry["position"])
        pm_ra, pm_dec = entry.get("motion", (0.0, 0.0))
        direction = Direction(entry["name"], ra=ra, dec=dec, pm_ra=pm_ra, pm_dec=pm_dec)
        for name in (entry["name"], *entry.get("also", ())):
            for plain in {_plain(name), re.sub(r"^[bj](?=\d{4}[+-])", "", _plain(name))}:
                if plain in found:
                    raise ValueError(f"{CATALOGUE}: {name!r} is there twice")
                found[plain] = direction
    return found


def catalogue():
    """All directions that have a name: bodies, the zenith, and those of the catalogue."""
    return list(dict.fromkeys(_catalogue().values()))


def _of_text(field, text):
    known = _catalogue()
    if (found := known.get(_plain(text))) is not None:
        return found
    if re.match(r"\s*(az|alt)", text, re.IGNORECASE):
        match = _HORIZONTAL.fullmatch(text.strip())
        if match is None:
            refuse(field, text, RULE)
        azimuth, elevation = float(match[1]), float(match[2])
        distance = match[3] and float(match[3]) * (1e3 if (match[4] or "").lower() == "km" else 1)
        return Direction(
            _horizontal_name(azimuth, elevation, distance),
            azimuth=azimuth,
            elevation=elevation,
            distance=distance,
        )
    if match := _GALACTIC.fullmatch(text.replace("−", "-").replace("–", "-").strip()):
        longitude, latitude = float(match[1]), float(match[2])
        if not -90 <= latitude <= 90 or not -360 <= longitude <= 360:
            refuse(field, text, "galactic longitude -360 to 360 and latitude -90 to 90 degrees")
        ra, dec = (float(value) for value in geometry.galactic_to_radec(longitude, latitude))
        return Direction(f"l {longitude:g}° b {latitude:+g}°", ra=ra, dec=dec)
    if (found := tle_file.find(field, text)) is not None:
        return Direction(found.name, tle=found.lines)
    place = _coordinates(field, text)
    if place is None:
        shown = text if len(text) <= 80 else text[:77] + "..."
        raise ParameterError(field, f"{shown!r} is not known; it must be {RULE}")
    ra, dec = place
    return Direction(f"ra {ra:.5f}° dec {dec:+.5f}°", ra=ra, dec=dec)


def parse_direction(value, field="direction"):
    """
    A Direction of whatever a user gives.

    Parameters
    ----------
    value : Direction, str, pair of float, dict or an object of astropy
        A text as at the top of this module; (ra, dec) in degrees; a dictionary of azimuth and
        elevation, or of ra and dec, and if wanted of name; a SkyCoord.
    field : str
        The field's name in messages.

    Raises
    ------
    ParameterError
        A ValueError that says what is allowed.
    """
    try:
        if isinstance(value, Direction):
            return value
        if isinstance(value, Target):
            place = {entry.name: getattr(value, entry.name) for entry in fields(Target)}
            return Direction(**place)
        if isinstance(value, str):
            if not value.strip():
                refuse(field, value, RULE)
            return _of_text(field, value)
        if isinstance(value, dict):
            values = {str(key): entry for key, entry in value.items()}
            unknown = set(values) - {entry.name for entry in fields(Direction)}
            if unknown:
                refuse(
                    field,
                    sorted(unknown)[0],
                    "a dictionary of name, and of ra and dec, azimuth and elevation, or tle",
                )
            name = values.pop("name", None)
            if name is None:
                # in whatever order they come
                name = (
                    ", ".join(
                        f"{entry.name} {values[entry.name]}"
                        for entry in fields(Direction)
                        if entry.name in values
                    )
                    or "direction"
                )
            return Direction(name[:64], **values)
        if hasattr(value, "icrs"):
            place = value.icrs
            value = float(place.ra.deg), float(place.dec.deg)
        if isinstance(value, (tuple, list)) and len(value) == 2:
            ra, dec = value
            return Direction(f"ra {float(ra):.5f}° dec {float(dec):+.5f}°", ra=ra, dec=dec)
    except ParameterError as error:
        if error.field == field or error.field.startswith(field + ","):
            raise
        raise ParameterError(
            f"{field}, {error.field}" if error.field else field, error.problem
        ) from None
    except (TypeError, ValueError):
        pass
    return refuse(field, value, RULE)
