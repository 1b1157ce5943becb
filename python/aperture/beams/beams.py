#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The directions of beams: one by one, in rows, in grids, and as tilings of a primary beam.

A YAML file has them as a list, each with azimuth (from north through east) and elevation, where
it stands still, or with ra and dec (ICRS), where it moves with the sky, all in degrees, or with
`direction`, a text such as sun, Cas A, "23:23:24 +58:48:54" or "tle=FILE, NAME"
(tracking/directions.py). `distance` (metres) beside azimuth and elevation focuses a beam on a
transmitter nearby:

    beams:
      - {name: zenith, azimuth: 0, elevation: 90}
      - {name: Cas A, ra: 350.85, dec: 58.815}
      - {name: core, ra: 350.85, dec: 58.815, antennas: [N1, E1, W1]}  # a sub-array
      - {name: row, azimuth: 180, elevation: 60, columns: 8, rows: 1, spacing: 1.5}
      - {name: all, ra: 350.85, dec: 58.815, width: 0.3, overlap: 0.5}
      - {direction: sun}
      - {name: field, incoherent: true}

`columns`, `rows` (1 if left out) and `spacing` (degrees on the sky) make a grid about that place,
row 0 lowest, column 0 at the smallest azimuth, or of ra and dec in the south and the west. `width`
makes a tiling: as many beams as fill a circle of that diameter (that of the primary beam), its
rim as well, such that neighbours meet where their power is `overlap` (0.5 if left out) of its
maximum. Beams of
both are named after the entry, with a number. `incoherent` makes a beam that is the sum of the
powers of its inputs and sees all that an antenna sees; its direction, which ends up in files and
nowhere else, may be left out (the zenith). In lists of beams these come behind the others, as they
do in the block `beam_power`.

On the command line an entry is written as grid:az=180,el=60,columns=8,spacing=1.5
"""

import math
import os
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import geometry
from ..arrays.array_description import ArrayDescription, load_array
from ..parameters.errors import ParameterError
from ..parameters.input_files import find_file
from ..parameters.regular_file import open_text
from ..parameters.rules import check_mapping, refuse
from ..parameters.yaml_reader import YamlReader
from ..tracking.directions import Direction, azimuth_elevation, parse_direction
from .weights import array_factor, beam_masks, beam_weights, find_polarizations

MAX_BEAMS = 4096  # the most that blocks take


@dataclass(frozen=True)
class Beam(Direction):
    """The direction of a beam; antennas: names of those it adds (a sub-array), None: all;
    incoherent: it adds powers instead of voltages, and has no weights."""

    antennas: tuple | None = None
    incoherent: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.antennas is not None:
            if not (
                isinstance(self.antennas, (list, tuple))
                and all(isinstance(name, str) for name in self.antennas)
            ):
                refuse("antennas", self.antennas, "a list of names")
            object.__setattr__(self, "antennas", tuple(self.antennas))
        if not isinstance(self.incoherent, bool):
            refuse("incoherent", self.incoherent, "true or false")


def in_order(beams):
    """Beams in the order of beam_power: the incoherent ones behind the others."""
    return sorted(beams, key=lambda beam: beam.incoherent)


def coherent(beams):
    """Returns the beams that have weights."""
    return [beam for beam in beams if not beam.incoherent]


# --- grids ---------------------------------------------------------------------------------------


def offset(longitude, latitude, east, north):
    """Longitudes and latitudes of places `east` and `north` (arrays) of one, all in degrees,
    along great circles."""
    lon, lat = np.radians(longitude), np.radians(latitude)
    centre = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    eastward = np.array([-np.sin(lon), np.cos(lon), 0.0])
    northward = np.cross(centre, eastward)
    east, north = np.radians(np.ravel(east)), np.radians(np.ravel(north))
    distance = np.hypot(east, north)
    stretch = np.sinc(distance / np.pi)  # sin(d)/d
    places = (
        np.cos(distance)[:, None] * centre
        + (stretch * east)[:, None] * eastward
        + (stretch * north)[:, None] * northward
    )
    return (
        np.degrees(np.arctan2(places[:, 1], places[:, 0])) % 360,
        np.degrees(np.arctan2(places[:, 2], np.hypot(places[:, 0], places[:, 1]))),
    )


def _beams_at(centre, east, north):
    """Beams at offsets [number] in degrees from a Beam, in its own coordinates."""
    if centre.body is not None or centre.tle is not None:
        refuse(
            "direction",
            centre.name,
            "ra and dec, or azimuth and elevation, for a grid "
            "or a tiling, which would not move with the body",
        )
    keys = ("ra", "dec") if centre.moving else ("azimuth", "elevation")
    places = offset(*(getattr(centre, key) for key in keys), east, north)
    digits = len(str(max(0, len(places[0]) - 1)))
    found = []
    for number, place in enumerate(zip(*places)):
        if not centre.moving and place[1] < 0:
            refuse(
                keys[1],
                round(float(place[1]), 3),
                f"above the horizon for all beams of {centre.name!r}",
            )
        found.append(
            replace(
                centre,
                name=f"{centre.name} {number:0{digits}}",
                **dict(zip(keys, map(float, place))),
            )
        )
    return found


def grid(centre, columns, rows=1, spacing=1.0):
    """
    Beams in `rows` of `columns` about a place.

    Parameters
    ----------
    centre : Beam
    columns, rows : int
        1 or more. Column 0 is at the smallest azimuth or right ascension, row 0 lowest.
    spacing : float
        Degrees along great circles.
    """
    for name, value in (("columns", columns), ("rows", rows)):
        if not (isinstance(value, (int, np.integer)) and 1 <= value <= MAX_BEAMS):
            refuse(name, value, f"a whole number from 1 to {MAX_BEAMS}")
    if columns * rows > MAX_BEAMS:
        refuse("columns x rows", f"{columns} x {rows}", f"at most {MAX_BEAMS} beams")
    if not (isinstance(spacing, (int, float)) and 0 < spacing <= 90):
        refuse("spacing", spacing, "above 0, at most 90 degrees")
    if max(columns - 1, rows - 1) * spacing >= 180:
        refuse("spacing", spacing, f"less than 180 degrees over {max(columns, rows)} beams")
    north, east = np.meshgrid(
        (np.arange(rows) - (rows - 1) / 2) * spacing,
        (np.arange(columns) - (columns - 1) / 2) * spacing,
        indexing="ij",
    )
    return _beams_at(centre, east, north)


def _meeting_points(array, centre, level, limit, time):
    """Half the axes of the ellipse on which a beam's power is `level` of its maximum.

    limit: degrees, where to stop looking. They are those at the highest frequency of the band,
    where beams are smallest. Returns a matrix [axis][east, north] in degrees, by which of azimuth
    and elevation offsets; the axes are those of the antennas as seen from there.
    """
    frequency = np.array([array.center_frequency + array.sample_rate / 2])
    weights = beam_weights(array, [centre], frequency, normalise="none")[:, :1]
    azimuth = np.radians(centre.azimuth)
    eastward = np.array([np.cos(azimuth), -np.sin(azimuth), 0.0])
    upward = np.cross(eastward, geometry.direction(centre.azimuth, centre.elevation))
    used = array.input_positions()[weights[0, 0] != 0]
    seen = (used - used.mean(axis=0)) @ np.transpose([eastward, upward])
    axes = np.linalg.eigh(seen.T @ seen)[1].T

    def power(axis, degrees):
        places = offset(centre.azimuth, centre.elevation, axis[0] * degrees, axis[1] * degrees)
        return (
            np.abs(array_factor(array, weights, geometry.direction(*places), frequency)[0, 0]) ** 2
        )

    found = []
    for axis in axes:
        # fine enough not to step over the main beam of the longest baseline
        extent = max(np.ptp(seen @ axis), 1e-9)
        width = np.degrees(geometry.SPEED_OF_LIGHT / frequency[0] / extent)
        steps = int(min(100_000, max(2, math.ceil(limit / (width / 50)))))
        degrees = np.linspace(0, limit, steps + 1)
        relative = power(axis, degrees)
        relative = relative / relative[0]
        below = np.flatnonzero(relative < level)
        if len(below):
            after = below[0]
            half = np.interp(
                -level, -relative[after - 1 : after + 1], degrees[after - 1 : after + 1]
            )
        else:
            half = limit  # the antennas are in a row: the beam is a fan
        found.append(axis * half)
    return np.array(found)


def _lattice(steps, radius):
    """
    Returns for beams that are steps [axis][east, north] apart: two vectors that make the lattice,
    and the corners, in turn, of the cell around a beam in which it is the nearest one; both in
    steps.

    Hexagonal, but where a beam is as long as the circle is wide: there are rows of such fans.
    """
    if np.any(np.linalg.norm(steps, axis=1) >= 2 * radius * (1 - 1e-9)):
        return np.eye(2), np.array([[0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]])
    angles = np.radians(30 + 60 * np.arange(6))
    return (
        np.array([[1.0, 0.0], [0.5, math.sqrt(3) / 2]]),
        np.transpose([np.cos(angles), np.sin(angles)]) / math.sqrt(3),
    )


def _distances(places, cell):
    """Returns distances from (0, 0) to cells with corners [corner][2] around places [place][2]; 0
    inside of them."""
    begins = places[:, None] + cell
    sides = np.roll(cell, -1, axis=0) - cell
    along = -np.sum(begins * sides, axis=-1) / np.sum(sides * sides, axis=-1)
    nearest = begins + np.clip(along, 0, 1)[..., None] * sides
    # seen from inside, all sides go round one way
    signs = np.sign(begins[..., 0] * sides[:, 1] - begins[..., 1] * sides[:, 0])
    inside = np.abs(signs.sum(axis=1)) == len(cell)
    return np.where(inside, 0.0, np.hypot(*np.moveaxis(nearest, -1, 0)).min(axis=1))


def tile(array, centre, width, overlap=0.5, time=None):
    """
    Beams that fill a circle, such as the primary beam of an antenna.

    Parameters
    ----------
    array : ArrayDescription
        Its antennas make the shape of the beams.
    centre : Beam
    width : float
        Diameter of the circle in degrees.
    overlap : float
        The power, as a fraction of the maximum, half way from a beam to each of its six neighbours
        (of an array whose beam is not an ellipse: about so); fraction^(4/3) in the middle of three
        beams, nowhere in the circle less. That is at the top of the band; further down beams are
        wider.
    time : float
        UTC seconds since 1970 for which the tiling is made, where the beams are to move with the
        sky (whose projection of the array, and with it the shape of the beams, changes).
    """
    if not (isinstance(width, (int, float)) and 1e-6 <= width <= 180):
        refuse("width", width, "1e-6 to 180 degrees")
    if not (isinstance(overlap, (int, float)) and 0 < overlap < 1):
        refuse("overlap", overlap, "between 0 and 1")
    place = centre
    if centre.moving:
        if time is None:
            refuse("time", time, "seconds since 1970, because the beams move with the sky")
        azimuth, elevation = azimuth_elevation(centre, time, array)
        if elevation < 0:
            refuse(
                "ra, dec",
                (centre.ra, centre.dec),
                f"above the horizon at the time of the tiling, not at {elevation:.1f} degrees",
            )
        place = Beam(centre.name, float(azimuth), float(elevation), antennas=centre.antennas)
    radius = width / 2
    steps = 2 * _meeting_points(array, place, overlap, radius, time)
    points, corners = _lattice(steps, radius)
    lattice, cell = points @ steps, corners @ steps
    span = [
        int(math.ceil(radius * norm)) + 1 for norm in np.linalg.norm(np.linalg.inv(lattice), axis=0)
    ]
    if (2 * span[0] + 1) * (2 * span[1] + 1) > 64 * MAX_BEAMS:
        refuse("width", width, f"such that there are at most {MAX_BEAMS} beams")
    i, j = np.meshgrid(np.arange(-span[0], span[0] + 1), np.arange(-span[1], span[1] + 1))
    offsets = np.stack([i.ravel(), j.ravel()], axis=1) @ lattice
    # a cell without a beam of its own would be a hole in the circle
    inside = offsets[_distances(offsets, cell) < radius * (1 - 1e-9)]
    if len(inside) > MAX_BEAMS:
        refuse("width", width, f"such that there are at most {MAX_BEAMS} beams, not {len(inside)}")
    inside = inside[
        np.lexsort((np.arctan2(inside[:, 1], inside[:, 0]).round(6), np.hypot(*inside.T).round(6)))
    ]
    beams = _beams_at(place, *inside.T)
    if not centre.moving:
        return beams
    places = geometry.azel_to_radec(
        np.array([beam.azimuth for beam in beams]),
        np.array([beam.elevation for beam in beams]),
        time,
        array.latitude,
        array.longitude,
        array.height,
    )
    return [
        Beam(beam.name, ra=float(ra), dec=float(dec), antennas=centre.antennas)
        for beam, ra, dec in zip(beams, *places)
    ]


# --- files and command lines ---------------------------------------------------------------------

_NUMBERS = ("azimuth", "elevation", "distance", "ra", "dec", "spacing", "width", "overlap")
_COUNTS = ("columns", "rows")
_FIELDS = ("name", "direction", *_NUMBERS, *_COUNTS, "antennas", "incoherent")
#: booleans as YAML has them
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}
_SHORT = {"az": "azimuth", "el": "elevation"}


def _name(field, value):
    # numbers are legal names
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        refuse(field, value, "a text")
    return str(value)


def _convert(field, key, value):
    if key in ("name", "direction"):
        return _name(field, value)
    if key == "antennas":
        return (
            tuple(_name(field, name) for name in value)
            if isinstance(value, (list, tuple))
            else value
        )
    if key == "incoherent":
        return _BOOLEANS.get(value.lower(), value) if isinstance(value, str) else value
    try:
        if isinstance(value, bool):
            raise ValueError
        if key in _COUNTS:
            return (
                int(value)
                if not isinstance(value, float)
                else refuse(field, value, "a whole number")
            )
        return float(value)
    except (TypeError, ValueError):
        refuse(field, value, "a whole number" if key in _COUNTS else "a number")


def _beams_of(field, entry, array, time):
    """The beams of one entry, a mapping or the text of a direction."""
    if isinstance(entry, str):
        entry = {"direction": entry}
    check_mapping(field, entry, _FIELDS)
    values = {key: _convert(f"{field}.{key}", key, value) for key, value in entry.items()}
    tiling = {key: values.pop(key) for key in ("width", "overlap") if key in values}
    lattice = {key: values.pop(key) for key in (*_COUNTS, "spacing") if key in values}
    if tiling and lattice:
        refuse(
            field,
            ", ".join((*tiling, *lattice)),
            "either a grid (columns, rows, spacing) or a tiling (width, overlap)",
        )
    if values.get("incoherent") is True:
        if tiling or lattice:
            refuse(
                field,
                ", ".join((*tiling, *lattice)),
                "left out of an incoherent beam, which looks everywhere",
            )
        if not {"azimuth", "elevation", "ra", "dec", "direction"} & set(values):
            values.update(azimuth=0.0, elevation=90.0)
        values.setdefault("name", "incoherent")
    try:
        if "direction" in values:
            place = sorted({"azimuth", "elevation", "distance", "ra", "dec"} & set(values))
            if place:
                refuse(place[0], values[place[0]], "left out beside direction")
            direction = parse_direction(values.pop("direction"))
            values = {"name": direction.name, **direction.place(), **values}
        centre = Beam(values.pop("name", "beam"), **values)
        if tiling:
            if "width" not in tiling:
                raise ParameterError("width", "missing")
            return tile(array, centre, time=time, **tiling)
        if lattice:
            if "spacing" not in lattice:
                raise ParameterError("spacing", "missing")
            return grid(centre, **{"columns": 1, **lattice})
        beam_masks(array, [centre])  # complains about antennas
    except ParameterError as error:
        raise ParameterError(
            f"{field}.{error.field}" if error.field else field, error.problem
        ) from None
    return [centre]


def beams_of(array, entries, time=None):
    """
    Beams from entries as in a file.

    Parameters
    ----------
    array : ArrayDescription, or what load_array() takes
    entries : list of dict
        Mappings with the keys of the top of this module.
    time : float
        UTC seconds since 1970, for tilings that move with the sky.

    Returns
    -------
    list of Beam
        As in_order() has them.

    Raises
    ------
    ParameterError
        A ValueError that names the field.
    """
    if not isinstance(array, ArrayDescription):
        array = load_array(array)
    if not isinstance(entries, (list, tuple)) or not entries:
        refuse("beams", entries, f"a list of mappings of {', '.join(_FIELDS)}")
    beams = in_order(
        beam
        for number, entry in enumerate(entries)
        for beam in _beams_of(f"beams[{number}]", entry, array, time)
    )
    most = MAX_BEAMS // len(find_polarizations(array))
    count = len(coherent(beams))
    if max(count, len(beams) - count) > most:
        refuse("beams", max(count, len(beams) - count), f"at most {most}")
    names = set()
    for number, beam in enumerate(beams):
        if beam.name in names:
            # entries without a name
            beams[number] = beam = replace(beam, name=f"{beam.name} ({number})")
        names.add(beam.name)
    return beams


class _BeamsReader(YamlReader):
    kind, key = "a description of beams", "beams"


def load_beams(text, array, time=None):
    """
    Beams from a YAML file, or from `grid:KEY=VALUE,...`.

    Parameters
    ----------
    text : str
        A path, or `grid:` and the keys of one entry (`az` and `el` are azimuth and elevation).
    array, time
        As in `beams_of`.

    Raises
    ------
    ParameterError, OSError
    """
    text = os.fspath(text)
    if not text:
        refuse("beams", text, "the name of a file, or grid:KEY=VALUE,...")
    if text.startswith("grid:"):
        entry = {}
        for part in text[len("grid:") :].split(","):
            key, equals, value = (word.strip() for word in part.partition("="))
            key = _SHORT.get(key, key)
            if not equals or key in entry:
                refuse(
                    "beams",
                    text,
                    "grid:KEY=VALUE,... with each key once, such as "
                    "grid:az=180,el=60,columns=8,spacing=1.5",
                )
            entry[key] = value.split("+") if key == "antennas" else value
        return beams_of(array, [entry], time)
    reader = _BeamsReader(text, ParameterError)
    with open_text(find_file(text), _BeamsReader.kind) as file:
        tree = reader.tree(file)
    if set(tree) != {"beams"}:
        raise ParameterError("beams", "a file of beams has this one key, with a list", text)
    return reader.with_line(beams_of, array, tree["beams"], time)
