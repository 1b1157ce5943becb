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

gain is a voltage factor, a number or [re, im], 1 if not given; cable_delay is in seconds, 0 if not
given. A source has azimuth (from north through east) and elevation and stands still, or ICRS
right ascension and declination and moves, all in degrees, or it is a body of the solar system (sun,
moon, mercury, ... neptune), which moves as that does; flux is its power in an input in units of the
receiver noise, 1 if not given (0 of a source with pulses, which come on top). `pulsars` is a list
of trains of pulses (period, width, mean_flux or peak_flux, period_derivative, epoch, phase),
`pulses` one of single pulses (time, width, fluence or peak_flux), and `dm`, `scattering_time`,
`scattering_frequency` and `scattering_index` say what the interstellar medium does to them:
pulses.py. Times are seconds since 1970, UTC, or below 10^8 s since the first sample; also
[whole seconds, fraction].

Instead of inputs, `polarizations: xy` gives each antenna one input for each of these letters,
antenna by antenna (A x, A y, B x, ...); with neither of the two each antenna has one input, x.

The classes and their rules are in array_model.py.
"""

import dataclasses
import os
from pathlib import Path

from ..parameters import rules
from ..parameters.ascii_text import quoted
from ..parameters.input_files import find_file, look_for, looked_in
from ..parameters.regular_file import open_text
from ..parameters.yaml_reader import Scalar, YamlReader
from .array_model import (
    POLARIZATIONS,
    Antenna,
    ArrayDescription,
    ArrayDescriptionError,
    Input,
    Source,
    refuse,
)
from .pulses import Pulsar, Pulse

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


def _as_number(value):
    """A float where the text is one; else the value as it is, for the field's rule to refuse."""
    if isinstance(value, Scalar) and not value.quoted:
        try:
            return float(str(value))
        except ValueError:
            pass
    return value


def _as_gain(value):
    if isinstance(value, list) and len(value) == 2:
        parts = [_as_number(part) for part in value]
        if all(isinstance(part, float) for part in parts):
            return complex(*parts)
    return _as_number(value)


def _as_position(value):
    return [_as_number(part) for part in value] if isinstance(value, list) else value


def _as_time(value):
    return [_as_number(part) for part in value] if isinstance(value, list) else _as_number(value)


def _as_is(value):
    return value


# the keys of each part of a file, how each is read, and whether it can be left out
_TOP = {
    "name": (_as_is, True),
    "latitude": (_as_number, True),
    "longitude": (_as_number, True),
    "height": (_as_number, True),
    "sample_rate": (_as_number, True),
    "center_frequency": (_as_number, True),
    "antennas": (_as_is, True),
    "inputs": (_as_is, False),
    "polarizations": (_as_is, False),
    "sources": (_as_is, False),
}
_ANTENNA = {"name": (_as_is, True), "position": (_as_position, True)}
_INPUT = {
    "antenna": (_as_is, True),
    "polarization": (_as_is, True),
    "gain": (_as_gain, False),
    "cable_delay": (_as_number, False),
}
_SOURCE = {
    "name": (_as_is, True),
    "azimuth": (_as_number, False),
    "elevation": (_as_number, False),
    "ra": (_as_number, False),
    "dec": (_as_number, False),
    "body": (_as_is, False),
    "flux": (_as_number, False),
    "dm": (_as_number, False),
    "scattering_time": (_as_number, False),
    "scattering_frequency": (_as_number, False),
    "scattering_index": (_as_number, False),
    "pulsars": (_as_is, False),
    "pulses": (_as_is, False),
}
_PULSAR = {
    "period": (_as_number, True),
    "width": (_as_number, True),
    "mean_flux": (_as_number, False),
    "peak_flux": (_as_number, False),
    "period_derivative": (_as_number, False),
    "epoch": (_as_time, False),
    "phase": (_as_number, False),
}
_PULSE = {
    "time": (_as_time, True),
    "width": (_as_number, True),
    "fluence": (_as_number, False),
    "peak_flux": (_as_number, False),
}
#: the parts of an entry that are lists of mappings themselves
_PARTS = {"pulsars": (_PULSAR, Pulsar), "pulses": (_PULSE, Pulse)}


class _Reader(YamlReader):
    """Makes an ArrayDescription of a file."""

    kind, key = "an array description", "antennas"

    def read(self, file):
        return self.with_line(self.description, self.tree(file))

    def fields(self, path, values, known):
        """The values of a mapping, read as its table `known` says."""
        needed = [key for key, (_, is_needed) in known.items() if is_needed]
        rules.check_mapping(path, values, known, needed, error=ArrayDescriptionError)
        return {key: known[key][0](value) for key, value in values.items()}

    def entries(self, path, values, known, kind):
        """A list of mappings, each made into a `kind`."""
        if not isinstance(values, list):
            refuse(path, values, f"a list of mappings of {', '.join(known)}")
        made = []
        for index, entry in enumerate(values):
            place = f"{path}[{index}]"
            arguments = self.fields(place, entry, known)
            for key, (part, of) in _PARTS.items():
                if key in arguments:
                    arguments[key] = self.entries(f"{place}.{key}", arguments[key], part, of)
            try:
                made.append(kind(**arguments))
            except ArrayDescriptionError as error:
                raise ArrayDescriptionError(
                    f"{place}.{error.field}" if error.field else place, error.problem
                ) from None
        return made

    def description(self, tree):
        values = self.fields("", tree, _TOP)
        values["antennas"] = self.entries("antennas", values["antennas"], _ANTENNA, Antenna)
        values["sources"] = self.entries("sources", values.get("sources", []), _SOURCE, Source)
        if "inputs" in values and "polarizations" in values:
            raise ArrayDescriptionError(
                "polarizations", "not allowed beside inputs, which have their own"
            )
        letters = values.pop("polarizations", "x")
        if "inputs" in values:
            values["inputs"] = self.entries("inputs", values["inputs"], _INPUT, Input)
        else:
            if (
                not isinstance(letters, str)
                or not letters
                or len(set(letters)) < len(letters)
                or not set(letters) <= set(POLARIZATIONS)
            ):
                refuse(
                    "polarizations", letters, "letters out of x, y, l and r, each once, such as xy"
                )
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
        values = self.fields("", tree, {"sources": (_as_is, True)})
        return self.entries("sources", values["sources"], _SOURCE, Source), True


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
    for key, (_, kind) in _PARTS.items():
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
    lines += [
        f"  - {{name: {quoted(antenna.name)}, position: {_written_list(antenna.position)}}}"
        for antenna in description.antennas
    ]
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
        else:
            pair = ("ra", "dec") if source.moving else ("azimuth", "elevation")
            place = ", ".join(f"{key}: {_written(getattr(source, key))}" for key in pair)
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
