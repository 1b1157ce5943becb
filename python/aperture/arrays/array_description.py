#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The array description: which antenna, polarisation and place each input has.

One YAML file, read by everything that needs to know:

    name: lab
    latitude: 52.0             # degrees, WGS84
    longitude: 5.0             # degrees, east is positive
    height: 10                 # metres above the ellipsoid
    sample_rate: 2.4e6         # Hz: samples a second of each input
    center_frequency: 1420.4e6 # Hz: sky frequency in the middle of the band
    antennas:
      - {name: A, position: [0, 0, 0]}      # metres east, north, up of the site
      - {name: B, position: [10, 0, 0]}
    inputs:                    # in the order of the samples
      - {antenna: A, polarization: x}       # x, y, l or r
      - {antenna: B, polarization: x, gain: [0.9, 0.1], cable_delay: 25e-9}
    sources:                   # for the simulator; may be left out
      - {name: Sun, azimuth: 180, elevation: 35, flux: 1}
      - {name: Cas A, ra: 350.85, dec: 58.815, flux: 0.5}
      - {name: Moon, body: moon, flux: 0.1}
      - {name: PSR, ra: 53.25, dec: 54.58, dm: 26.76,
         pulsars: [{period: 0.7145, width: 0.006, mean_flux: 0.1}]}
      - {name: burst, azimuth: 0, elevation: 80, dm: 50,
         pulses: [{time: 2.5, width: 0.002, fluence: 0.01}]}

All keys, with the values that each takes, are in docs/reference/array-description.md, which is made
of the parts' fields (array_model.py, pulses.py) and of the keys here that are no fields.

The classes and their rules are in array_model.py.
"""

import dataclasses
import os
from functools import partial
from pathlib import Path

import numpy as np

from ..parameters import rules
from ..parameters.ascii_text import quoted
from ..parameters.description import Anything, Text
from ..parameters.input_files import find_file, look_for, looked_in
from ..parameters.regular_file import open_text
from ..parameters.yaml_reader import YamlReader
from .array_model import (
    POLARIZATIONS,
    Antenna,
    ArrayDescription,
    ArrayDescriptionError,
    Input,
    Source,
)
from .description_error import as_number, refuse
from .description_keys import Place, keys_of
from .geometry import ecef_to_geodetic, enu_to_ecef_rotation, geodetic_to_ecef

_SHIPPED = Path(__file__).parent / "descriptions"


def shipped_arrays():
    """Names of the descriptions that come with gr-aperture."""
    return sorted(path.stem for path in _SHIPPED.glob("*.yml"))


def find_array(path_or_shipped_name):
    """Path of an array description: that of a file, which is looked for as find_file() does, or
    of one that comes with gr-aperture.

    Raises FileNotFoundError that lists the latter.
    """
    if not isinstance(path_or_shipped_name, (str, os.PathLike)):
        rules.refuse(
            "array",
            path_or_shipped_name,
            "an ArrayDescription, or the name of a file "
            f"or of a shipped description: {', '.join(shipped_arrays())}",
        )
    path = look_for(path_or_shipped_name)
    if path is not None and os.path.isfile(path):
        return Path(path)
    shipped = shipped_arrays()
    if str(path_or_shipped_name) in shipped:
        return _SHIPPED / f"{path_or_shipped_name}.yml"
    searched = looked_in(path_or_shipped_name)
    raise FileNotFoundError(
        f"array: {str(path_or_shipped_name)!r} is neither a file nor the name "
        f"of a shipped description: {', '.join(shipped)}"
        + (f"; files are looked for{searched}" if searched else "")
    )


def load_array(path_or_shipped_name):
    """Reads an array description (format: at the top of this module); an ArrayDescription is
    returned as it is.

    Raises ArrayDescriptionError (a ValueError) that names file, line, field and what is allowed;
    FileNotFoundError.
    """
    if isinstance(path_or_shipped_name, ArrayDescription):
        return path_or_shipped_name
    path = find_array(path_or_shipped_name)
    with open_text(path, _Reader.kind) as file:
        return _Reader(str(path), ArrayDescriptionError).read(file)


def read_sources(path):
    """The sources of an array description, or of a file that has nothing else, and whether it has
    nothing else.

    Raises ArrayDescriptionError that names file, line, field and what is allowed; OSError.
    """
    path = find_file(path)
    with open_text(path, _SourcesReader.kind) as file:
        return _SourcesReader(str(path), ArrayDescriptionError).read_sources(file)


#: the fields of a source that are lists of mappings themselves
_PARTS = {key: about.group for key, about in keys_of(Source).items() if about.group}
#: m from the centre of the Earth: the poles are at 6.357e6, the equator is at 6.378e6
_FROM_CENTRE = (6.3e6, 6.5e6)
_SITE = ("latitude", "longitude", "height")

#: keys of an antenna, one of which says where it is
ANTENNA_PLACES = {
    "position": keys_of(Antenna)["position"],
    "itrf": Place(
        "Geocentric x, y and z (ITRF), in metres from the centre of the Earth.",
        "three numbers: metres along the geocentric axes, 6.3e6 to 6.5e6 from the centre of the "
        "Earth",
    ),
    "xyz": Place(
        "Place along the same axes, in metres from the site: x towards longitude 0 at the "
        "equator, y towards longitude 90, z towards the north pole.",
        "three numbers: metres from the site along the geocentric axes, each within 6e6",
    ),
}
#: keys of a file that are no fields of an ArrayDescription
TOP_KEYS = {
    "itrf": Place(
        "The site's geocentric x, y and z (ITRF), instead of latitude, longitude and height.",
        ANTENNA_PLACES["itrf"].allowed,
    ),
    "polarizations": Text(
        "Instead of inputs: each antenna has an input for each letter, antenna by antenna (A x, "
        "A y, B x, ...); x if there are no inputs either.",
        allowed="letters out of x, y, l and r, each once, such as xy",
    ),
    **{
        key: dataclasses.replace(
            keys_of(Antenna)[key], meaning=f"The {key} of antennas that do not say theirs."
        )
        for key in ("diameter", "mount")
    },
}


def _readable(part, others, optional=()):
    """Keys of a mapping that becomes a `part`: its fields, and others; optional: fields that need
    not be there."""
    known = keys_of(part)
    for key in optional:
        known[key] = dataclasses.replace(known[key], default=None)
    known |= {
        key: dataclasses.replace(about, name=key, default=None) for key, about in others.items()
    }
    return known


TOP = _readable(ArrayDescription, TOP_KEYS, (*_SITE, "inputs"))
ANTENNA = _readable(Antenna, ANTENNA_PLACES)


def _coordinates(field, values, about, low, high):
    """Three numbers, of which the distance from the origin is within limits."""
    if (
        not isinstance(values, list)
        or len(values) != 3
        or not all(rules.is_number(value) for value in values)
        or not low <= np.linalg.norm(values) <= high
    ):
        refuse(field, values, about.allowed)
    return np.array(values, dtype=np.float64)


class _Reader(YamlReader):
    """Makes an ArrayDescription of a file."""

    kind, key = "an array description", "antennas"

    def read(self, file):
        return self.with_line(self.description, self.tree(file))

    def fields(self, path, values, known):
        """The values of a mapping, read as its keys `known` say."""
        needed = [key for key, about in known.items() if about.needed]
        rules.check_mapping(path, values, known, needed, error=ArrayDescriptionError)
        return {
            key: known[key].reader(value) if known[key].reader else value
            for key, value in values.items()
        }

    def entries(self, path, values, kind, known=None, make=None):
        """A list of mappings of keys `known`, each made into a `kind` (by `make`)."""
        known = known or keys_of(kind)
        if not isinstance(values, list):
            refuse(path, values, f"a list of mappings of {', '.join(known)}")
        made = []
        for index, entry in enumerate(values):
            place = f"{path}[{index}]"
            arguments = self.fields(place, entry, known)
            for key in arguments.keys() & _PARTS.keys():
                arguments[key] = self.entries(f"{place}.{key}", arguments[key], _PARTS[key])
            try:
                made.append((make or kind)(**arguments))
            except ArrayDescriptionError as error:
                raise ArrayDescriptionError(
                    f"{place}.{error.field}" if error.field else place, error.problem
                ) from None
        return made

    def site(self, values):
        """Replaces the site's geocentric place by latitude, longitude and height."""
        given = [key for key in _SITE if key in values]
        place = values.pop("itrf", None)
        if place is None:
            if len(given) < len(_SITE):
                missing = next(key for key in _SITE if key not in values)
                raise ArrayDescriptionError(
                    missing, "missing; latitude, longitude and height are needed, or itrf"
                )
            for key in _SITE:
                about = TOP[key]
                values[key] = as_number(key, values[key], about.least, about.most, about.unit)
            return
        if given:
            raise ArrayDescriptionError(
                "itrf", f"not allowed beside {', '.join(given)}: both say where the site is"
            )
        place = _coordinates("itrf", place, TOP["itrf"], *_FROM_CENTRE)
        values.update(zip(_SITE, ecef_to_geodetic(place), strict=True))

    def antenna(self, site, usual, **arguments):
        """An Antenna of the keys of its mapping; site: latitude, longitude and height; usual:
        diameter and mount of those that do not say theirs."""
        given = [key for key in ANTENNA_PLACES if key in arguments]
        if len(given) != 1:
            raise ArrayDescriptionError(
                "" if given else "position",
                f"antenna {arguments['name']!r} has {' and '.join(given)}; it must have one of "
                f"{', '.join(ANTENNA_PLACES)}"
                if given
                else f"missing; an antenna must have one of {', '.join(ANTENNA_PLACES)}",
            )
        if given != ["position"]:
            key = given[0]
            limits = _FROM_CENTRE if key == "itrf" else (0, 6e6)
            place = _coordinates(key, arguments.pop(key), ANTENNA_PLACES[key], *limits)
            origin = geodetic_to_ecef(*site) if key == "itrf" else np.zeros(3)
            arguments["position"] = tuple((place - origin) @ enu_to_ecef_rotation(*site[:2]))
        return Antenna(**{**usual, **arguments})

    def description(self, tree):
        values = self.fields("", tree, TOP)
        self.site(values)
        usual = {key: values.pop(key) for key in ("diameter", "mount") if key in values}
        Antenna("any", (0, 0, 0), **usual)  # an error names the key at the top
        values["antennas"] = self.entries(
            "antennas",
            values["antennas"],
            Antenna,
            ANTENNA,
            partial(self.antenna, [values[key] for key in _SITE], usual),
        )
        values["sources"] = self.entries("sources", values.get("sources", []), Source)
        if "inputs" in values and "polarizations" in values:
            raise ArrayDescriptionError(
                "polarizations", "not allowed beside inputs, which have their own"
            )
        letters = values.pop("polarizations", "x")
        if "inputs" in values:
            values["inputs"] = self.entries("inputs", values["inputs"], Input)
        else:
            if (
                not isinstance(letters, str)
                or not letters
                or len(set(letters)) < len(letters)
                or not set(letters) <= set(POLARIZATIONS)
            ):
                refuse("polarizations", letters, TOP_KEYS["polarizations"].allowed)
            values["inputs"] = [
                Input(antenna.name, letter) for antenna in values["antennas"] for letter in letters
            ]
        return ArrayDescription(**values)


class _SourcesReader(_Reader):
    """Makes Sources of a file."""

    kind, key = "a list of sources", "sources"

    def read_sources(self, file):
        """The sources of a file, which may have no more than them, and whether it has not."""
        return self.with_line(self._sources, self.tree(file))

    def _sources(self, tree):
        if "antennas" in tree:
            return self.description(tree).sources, False
        known = {"sources": Anything("")}
        rules.check_mapping("", tree, known, known, error=ArrayDescriptionError)
        return self.entries("sources", tree["sources"], Source), True


def _written(value):
    """A number such that it reads back the same, also by YAML 1.1's rules (a point, a sign)."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"


def _written_list(values):
    return "[" + ", ".join(_written(value) for value in values) + "]"


def _written_parts(kind, parts):
    """Mappings of what differs from the default of each field."""
    written = []
    for part in parts:
        items = [
            f"{key}: {_written_list(value) if isinstance(value, tuple) else _written(value)}"
            for key, value in (
                (field.name, getattr(part, field.name)) for field in dataclasses.fields(kind)
            )
            if value is not None
        ]
        written.append("{" + ", ".join(items) + "}")
    return "[" + ", ".join(written) + "]"


def _written_pulses(source):
    for key, kind in _PARTS.items():
        if getattr(source, key):
            yield f"{key}: {_written_parts(kind, getattr(source, key))}"
    for key, usual in (
        ("dm", 0),
        ("scattering_time", 0),
        ("scattering_frequency", None),
        ("scattering_index", -4),
    ):
        if getattr(source, key) != usual:
            yield f"{key}: {_written(getattr(source, key))}"


def save_array(description, path):
    """Writes an array description; load_array() reads back an equal one.

    Raises OSError that names the file.
    """
    description.validate()
    lines = [f"name: {quoted(description.name)}"]
    lines += [
        f"{key}: {_written(getattr(description, key))}"
        for key in ("latitude", "longitude", "height", "sample_rate", "center_frequency")
    ]
    lines.append("antennas:")
    for antenna in description.antennas:
        line = f"name: {quoted(antenna.name)}, position: {_written_list(antenna.position)}"
        if antenna.diameter is not None:
            line += f", diameter: {_written(antenna.diameter)}"
        if antenna.mount is not None:
            line += f", mount: {antenna.mount}"
        lines.append(f"  - {{{line}}}")
    lines.append("inputs:")
    for entry in description.inputs:
        line = f"antenna: {quoted(entry.antenna)}, polarization: {entry.polarization}"
        if entry.gain != 1:
            line += f", gain: {_written_list((entry.gain.real, entry.gain.imag))}"
        if entry.cable_delay != 0:
            line += f", cable_delay: {_written(entry.cable_delay)}"
        lines.append(f"  - {{{line}}}")
    if description.sources:
        lines.append("sources:")
    for source in description.sources:
        if source.body is not None:
            place = f"body: {source.body}"
        elif source.tle is not None:
            place = f"tle: {quoted(source.tle)}"
        else:
            keys = ("azimuth", "elevation", "distance", "ra", "dec")
            given = {key: getattr(source, key) for key in keys}
            place = ", ".join(
                f"{key}: {_written(value)}" for key, value in given.items() if value is not None
            )
        if source.velocity is not None:
            place += f", velocity: {_written_list(source.velocity)}"
        flux = _written(source.flux)
        lines.append(
            f"  - {{name: {quoted(source.name)}, {place}, flux: {flux}"
            + "".join(f", {text}" for text in _written_pulses(source))
            + "}"
        )
    path = os.fspath(path)
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except OSError as error:  # a full disk's error does not say which file
        raise OSError(error.errno, error.strerror, path) from None
