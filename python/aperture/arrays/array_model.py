#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The parts of an array description, and the rules for each of their fields."""

from dataclasses import dataclass, field
from numbers import Complex, Integral

import numpy as np

from ..parameters import rules
from .bodies import BODIES
from .description_error import ArrayDescriptionError, as_number, refuse
from .geometry import enu_to_ecef_rotation, geodetic_to_ecef, height_above_ellipsoid
from .pulses import Pulsar, Pulse

POLARIZATIONS = "xylr"


def _text(field, value):
    """A name: it ends up in files, plots and command lines."""
    if not (
        isinstance(value, str)
        and 1 <= len(value) <= 64
        and value.isprintable()
        and value == value.strip()
    ):
        refuse(field, value, "1 to 64 printable characters without blanks around them")
    return str(value)


#: m; antennas that are further from the site are held against the ground,
FAR = 1e5
#: the lowest and highest ground, in metres above the ellipsoid
GROUND = (-2000.0, 9000.0)


@dataclass(frozen=True)
class Antenna:
    """An antenna. name; position: (east, north, up) of the site, in metres."""

    name: str
    position: tuple

    def __post_init__(self):
        object.__setattr__(self, "name", _text("name", self.name))
        rule = "three numbers: metres east, north and up, each within 2e7"
        try:
            position = tuple(self.position)
        except TypeError:
            position = ()
        if isinstance(self.position, str) or len(position) != 3:
            refuse("position", self.position, rule)
        object.__setattr__(
            self,
            "position",
            tuple(
                as_number("position", coordinate, -2e7, 2e7, rule=rule) for coordinate in position
            ),
        )


@dataclass(frozen=True)
class Input:
    """An input of an array. antenna: its name; polarization: x, y, l or r; gain: complex factor of
    the voltage; cable_delay: seconds."""

    antenna: str
    polarization: str
    gain: complex = 1 + 0j
    cable_delay: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "antenna", _text("antenna", self.antenna))
        if not (
            isinstance(self.polarization, str)
            and len(self.polarization) == 1
            and self.polarization in POLARIZATIONS
        ):
            refuse("polarization", self.polarization, "x, y, l or r")
        object.__setattr__(self, "polarization", str(self.polarization))
        gain = self.gain
        number = isinstance(gain, Complex) and not isinstance(gain, bool)
        if not number or not abs(gain) <= 1e15:
            refuse("gain", gain, "a number or [re, im], of magnitude up to 1e15")
        object.__setattr__(self, "gain", complex(gain))
        object.__setattr__(
            self, "cable_delay", as_number("cable_delay", self.cable_delay, -1, 1, "seconds")
        )

    @property
    def name(self):
        """Antenna and polarisation: "A1x"."""
        return self.antenna + self.polarization


@dataclass(frozen=True)
class Target:
    """A direction with a name: azimuth and elevation, or ra and dec (ICRS), in degrees, or a body
    of the solar system."""

    name: str
    azimuth: float | None = None
    elevation: float | None = None
    ra: float | None = None
    dec: float | None = None
    body: str | None = None

    def __post_init__(self):
        object.__setattr__(self, "name", _text("name", self.name))
        given = [
            key
            for key in ("azimuth", "elevation", "ra", "dec", "body")
            if getattr(self, key) is not None
        ]
        if given == ["body"]:
            if self.body not in BODIES:
                refuse("body", self.body, ", ".join(BODIES))
            return
        if given not in (["azimuth", "elevation"], ["ra", "dec"]):
            raise ArrayDescriptionError(
                "",
                f"{type(self).__name__.lower()} {self.name!r} has "
                f"{', '.join(given) or 'no direction'}; it must have azimuth and elevation "
                "(stands still), or ra and dec, or body (moves with the sky)",
            )
        limits = {"azimuth": (-360, 360), "elevation": (0, 90), "ra": (0, 360), "dec": (-90, 90)}
        for key in given:
            low, high = limits[key]
            object.__setattr__(self, key, as_number(key, getattr(self, key), low, high, "degrees"))

    @property
    def moving(self):
        """Rotates with the sky (ra and dec, or a body) or stands still (azimuth and elevation)."""
        return self.azimuth is None


@dataclass(frozen=True)
class Source(Target):
    """A point source; flux: steady power in an input in units of its receiver noise (None: 1, or
    0 of a source with pulses).

    pulsars, pulses: lists of Pulsar and Pulse; dm: their dispersion measure, pc/cm^3;
    scattering_time: s, at scattering_frequency (Hz; None: the centre frequency), with the power
    scattering_index of the frequency."""

    flux: float | None = None
    pulsars: tuple = ()
    pulses: tuple = ()
    dm: float = 0.0
    scattering_time: float = 0.0
    scattering_frequency: float | None = None
    scattering_index: float = -4.0

    def __post_init__(self):
        super().__post_init__()
        for key, kind in (("pulsars", Pulsar), ("pulses", Pulse)):
            object.__setattr__(self, key, tuple(_list_of(key, getattr(self, key), kind)))
        if self.flux is None:
            object.__setattr__(self, "flux", 0.0 if self.pulsars or self.pulses else 1.0)
        for key, low, high, unit in (
            ("flux", 0, 1e15, "times the receiver noise"),
            ("dm", 0, 1e6, "pc/cm^3"),
            ("scattering_time", 0, 1e3, "seconds"),
            ("scattering_frequency", 1, 1e15, "Hz"),
            ("scattering_index", -20, 20, ""),
        ):
            if getattr(self, key) is not None:
                object.__setattr__(self, key, as_number(key, getattr(self, key), low, high, unit))


def _list_of(field, values, kind):
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        refuse(field, values, f"a list of {kind.__name__}")
    values = list(values)
    for index, value in enumerate(values):
        if not isinstance(value, kind):
            refuse(f"{field}[{index}]", value, f"of class {kind.__name__}")
    return values


def _all_different(field, key, names):
    places = {}
    for index, name in enumerate(names):
        if name in places:
            raise ArrayDescriptionError(
                f"{field}[{index}].{key}",
                f"{name!r} is not allowed; {field}[{places[name]}] is the same already",
            )
        places[name] = index


def _short_list(names):
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")


@dataclass
class ArrayDescription:
    """An array: its site, antennas, inputs, and for the simulator sources.

    latitude, longitude: degrees, WGS84; height: metres above the ellipsoid; antennas, inputs,
    sources: lists of Antenna, Input, Source; sample_rate: samples a second of each input;
    center_frequency: sky frequency in the middle of the band, Hz.

    Raises ArrayDescriptionError (a ValueError) that names field, value and what is allowed.
    """

    name: str
    latitude: float
    longitude: float
    height: float
    antennas: list
    inputs: list
    sample_rate: float
    center_frequency: float
    sources: list = field(default_factory=list)

    def __post_init__(self):
        self.validate()

    def validate(self):
        """Checks all fields; to be called after one was changed."""
        self.name = _text("name", self.name)
        for key, low, high, unit in (
            ("latitude", -90, 90, "degrees"),
            ("longitude", -180, 360, "degrees"),
            ("height", -12000, 100000, "metres"),
            ("sample_rate", 1, 1e12, "Hz"),
            ("center_frequency", 0, 1e15, "Hz"),
        ):
            setattr(self, key, as_number(key, getattr(self, key), low, high, unit))
        self.antennas = _list_of("antennas", self.antennas, Antenna)
        self.inputs = _list_of("inputs", self.inputs, Input)
        self.sources = _list_of("sources", self.sources, Source)
        for key in ("antennas", "inputs"):
            if not getattr(self, key):
                refuse(key, [], "a list of one at least")
        _all_different("antennas", "name", [antenna.name for antenna in self.antennas])
        self._check_heights()
        _all_different("sources", "name", [source.name for source in self.sources])
        antennas = [antenna.name for antenna in self.antennas]
        for index, entry in enumerate(self.inputs):
            if entry.antenna not in antennas:
                refuse(
                    f"inputs[{index}].antenna",
                    entry.antenna,
                    f"the name of an antenna: {_short_list(antennas)}",
                )
        _all_different("inputs", "polarization", self.input_names)

    def _check_heights(self):
        """Refuses antennas that are far away and not on the ground, as those are whose positions
        are on a plane: east and north of a map, without the curvature of the Earth."""
        places = np.array([antenna.position for antenna in self.antennas])
        far = np.linalg.norm(places, axis=1) > FAR
        if not far.any():
            return
        heights = height_above_ellipsoid(
            geodetic_to_ecef(self.latitude, self.longitude, self.height)
            + places @ enu_to_ecef_rotation(self.latitude, self.longitude).T
        )
        wrong = np.flatnonzero(far & ((heights < GROUND[0]) | (heights > GROUND[1])))
        if len(wrong):
            index = wrong[0]
            refuse(
                f"antennas[{index}].position",
                places[index].tolist(),
                f"a place on the ground: {np.linalg.norm(places[index]) / 1e3:.4g} km from the "
                f"site it is {heights[index] / 1e3:.4g} km above the ellipsoid, as `up` has to "
                "fall with the curvature of the Earth",
            )

    @property
    def input_names(self):
        """Names of the inputs, in order: antenna and polarisation, "A1x"."""
        return [entry.name for entry in self.inputs]

    def find_input(self, name_or_number):
        """Number of an input, of its name or number (also as a string of digits).

        Raises ParameterError where there is no such input.
        """
        names = self.input_names
        if isinstance(name_or_number, str) and name_or_number in names:
            return names.index(name_or_number)
        number = name_or_number
        if isinstance(number, str) and number.isascii() and number.isdigit():
            number = int(number)
        if isinstance(number, Integral) and 0 <= number < len(names):
            return int(number)
        return rules.refuse(
            "input", name_or_number, f"0 to {len(names) - 1}, or one of {_short_list(names)}"
        )

    def antenna_of(self, name_or_number):
        """The Antenna that an input belongs to."""
        wanted = self.inputs[self.find_input(name_or_number)].antenna
        return next(antenna for antenna in self.antennas if antenna.name == wanted)

    def input_positions(self):
        """float64 [input][east, north, up]: where the antenna of each input is, in metres."""
        positions = {antenna.name: antenna.position for antenna in self.antennas}
        return np.array([positions[entry.antenna] for entry in self.inputs], dtype=np.float64)
