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
from ..parameters.description import Text
from .bodies import BODIES
from .description_error import ArrayDescriptionError, as_number, refuse
from .description_keys import NAME_RULE, Gain, Name, Parts, Place, Quantity, check_numbers
from .geometry import enu_to_ecef_rotation, geodetic_to_ecef, height_above_ellipsoid
from .pulses import Pulsar, Pulse
from .satellites import satellite, two_lines

POLARIZATIONS = "xylr"
#: mounts of antennas, in the words of measurement sets and UVH5
MOUNTS = (
    "fixed",
    "alt-az",
    "equatorial",
    "x-y",
    "phased",
    "orbiting",
    "alt-az+nasmyth-r",
    "alt-az+nasmyth-l",
    "other",
    "bizarre",
)
PLACE_RULE = "three numbers: metres east, north and up, each within 2e7"
VELOCITY_RULE = "three numbers: metres a second east, north and up, each within 1e5"
GAIN_RULE = "a number or [re, im], of magnitude up to 1e15"


def _text(field, value):
    """A name: it ends up in files, plots and command lines."""
    if not (
        isinstance(value, str)
        and 1 <= len(value) <= 64
        and value.isprintable()
        and value == value.strip()
    ):
        refuse(field, value, NAME_RULE)
    return str(value)


def _three(field, value, most, rule):
    """Three numbers within `most`, a tuple."""
    try:
        values = tuple(value)
    except TypeError:
        values = ()
    if isinstance(value, str) or len(values) != 3:
        refuse(field, value, rule)
    return tuple(as_number(field, number, -most, most, rule=rule) for number in values)


#: m; antennas that are further from the site are held against the ground,
FAR = 1e5
#: the lowest and highest ground, in metres above the ellipsoid
GROUND = (-2000.0, 9000.0)


@dataclass(frozen=True)
class Antenna:
    """An antenna. name; position: (east, north, up) of the site, in metres; diameter: of its dish,
    in metres, and mount: one of MOUNTS, both None if not known."""

    name: Name("The antenna's name.")
    position: Place("Metres to the east, to the north and up, from the site.", PLACE_RULE)
    diameter: Quantity(
        "Diameter of its dish, or the width of a station that points as one.",
        0,
        1e4,
        "metres",
        open=True,
    ) = None
    mount: Text("How it is mounted and moved, written in capitals or not.", *MOUNTS) = None

    def __post_init__(self):
        object.__setattr__(self, "name", _text("name", self.name))
        object.__setattr__(self, "position", _three("position", self.position, 2e7, PLACE_RULE))
        check_numbers(self)
        if self.mount is not None:
            mount = self.mount.lower() if isinstance(self.mount, str) else self.mount
            object.__setattr__(
                self, "mount", rules.one_of("mount", mount, MOUNTS, error=ArrayDescriptionError)
            )


@dataclass(frozen=True)
class Input:
    """An input of an array. antenna: its name; polarization: x, y, l or r; gain: complex factor of
    the voltage; cable_delay: seconds."""

    antenna: Name("Name of its antenna.")
    polarization: Text(
        "Its polarisation: x has its electric field to the north, y to the east; l and r are "
        "circular.",
        *POLARIZATIONS,
    )
    gain: Gain("Factor of the voltage.", GAIN_RULE) = 1 + 0j
    cable_delay: Quantity("By how much its signal comes later.", -1, 1, "seconds") = 0.0

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
            refuse("gain", gain, GAIN_RULE)
        object.__setattr__(self, "gain", complex(gain))
        check_numbers(self)

    @property
    def name(self):
        """Antenna and polarisation: "A1x"."""
        return self.antenna + self.polarization


#: the keys that say where a target is, of which it has those of one line
_PLACES = (
    ("azimuth", "elevation"),
    ("azimuth", "elevation", "distance"),
    ("ra", "dec"),
    ("body",),
    ("tle",),
)


@dataclass(frozen=True)
class Target:
    """A direction with a name: azimuth and elevation in degrees, and the distance of a transmitter
    nearby in metres, or ra and dec (ICRS) in degrees, or a body of the solar system, or a
    satellite of the Earth."""

    name: Name("The name of the source.")
    azimuth: Quantity(
        "Direction from north through east, of one that stands still.", -360, 360, "degrees"
    ) = None
    elevation: Quantity("Height above the horizon, beside azimuth.", 0, 90, "degrees") = None
    ra: Quantity("Right ascension (ICRS), of one that moves with the sky.", 0, 360, "degrees") = (
        None
    )
    dec: Quantity("Declination (ICRS), beside ra.", -90, 90, "degrees") = None
    body: Text("A body of the solar system, which moves as that does.", *BODIES) = None
    distance: Quantity(
        "Distance from the site of a transmitter nearby, beside azimuth and elevation; without it "
        "waves are plane.",
        0,
        1e12,
        "metres",
        open=True,
    ) = None
    tle: Text(
        "A satellite of the Earth: the two lines of its elements.",
        allowed="two lines of 69 characters",
    ) = None

    def __post_init__(self):
        object.__setattr__(self, "name", _text("name", self.name))
        keys = dict.fromkeys(key for place in _PLACES for key in place)
        given = tuple(key for key in keys if getattr(self, key) is not None)
        if given not in _PLACES:
            raise ArrayDescriptionError(
                "",
                f"{type(self).__name__.lower()} {self.name!r} has "
                f"{', '.join(given) or 'no direction'}; it must have azimuth and elevation "
                "(stands still; with distance, if it is near), or ra and dec, or body (moves with "
                "the sky), or tle (a satellite)",
            )
        if self.body is not None and self.body not in BODIES:
            refuse("body", self.body, ", ".join(BODIES))
        check_numbers(self)
        if self.tle is not None:
            if not isinstance(self.tle, str):
                refuse("tle", self.tle, "a text")
            object.__setattr__(self, "tle", "\n".join(two_lines(self.tle)))
            satellite(self.tle)

    @property
    def moving(self):
        """Moves (ra and dec, a body, a satellite) or stands still (azimuth and elevation)."""
        return self.azimuth is None


@dataclass(frozen=True)
class Source(Target):
    """A point source; flux: steady power in an input in units of its receiver noise (None: 1, or
    0 of a source with pulses).

    pulsars, pulses: lists of Pulsar and Pulse; dm: their dispersion measure, pc/cm^3;
    scattering_time: s, at scattering_frequency (Hz; None: the centre frequency), with the power
    scattering_index of the frequency; velocity: (east, north, up) in m/s of one with a distance,
    from the first sample on."""

    flux: Quantity(
        "Its steady power in an input; 1 if not given, 0 of a source with pulses.",
        0,
        1e15,
        "times the receiver noise",
    ) = None
    pulsars: Parts("Trains of pulses, which come on top of the flux.", Pulsar) = ()
    pulses: Parts("Single pulses, which come on top of the flux.", Pulse) = ()
    dm: Quantity("Dispersion measure of its pulses.", 0, 1e6, "pc/cm^3") = 0.0
    scattering_time: Quantity(
        "Exponential decay by which scattering widens its pulses, at scattering_frequency.",
        0,
        1e3,
        "seconds",
    ) = 0.0
    scattering_frequency: Quantity(
        "Frequency of scattering_time; the centre frequency if not given.", 1, 1e15, "Hz"
    ) = None
    scattering_index: Quantity(
        "Power of the frequency with which the scattering time goes.", -20, 20
    ) = -4.0
    velocity: Place(
        "Metres a second to the east, to the north and up, of a transmitter with a distance, from "
        "the first sample on.",
        VELOCITY_RULE,
    ) = None

    def __post_init__(self):
        super().__post_init__()
        if self.velocity is not None:
            if self.distance is None:
                refuse("velocity", self.velocity, "left out of a source without a distance")
            object.__setattr__(
                self, "velocity", _three("velocity", self.velocity, 1e5, VELOCITY_RULE)
            )
        for key, kind in (("pulsars", Pulsar), ("pulses", Pulse)):
            object.__setattr__(self, key, tuple(_list_of(key, getattr(self, key), kind)))
        if self.flux is None:
            object.__setattr__(self, "flux", 0.0 if self.pulsars or self.pulses else 1.0)


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

    name: Name("The array's name.")
    latitude: Quantity(
        "Latitude of the site, which is the origin of all positions: WGS84.", -90, 90, "degrees"
    )
    longitude: Quantity("Longitude of the site; east is positive.", -180, 360, "degrees")
    height: Quantity(
        "Height of the site above the ellipsoid, as GPS gives it, and not above the sea.",
        -12000,
        100000,
        "metres",
    )
    antennas: Parts("The antennas, one at least.", Antenna)
    inputs: Parts(
        "The inputs in the order of the samples; without them each antenna has one for each of "
        "the polarizations.",
        Input,
    )
    sample_rate: Quantity("Samples a second of each input.", 1, 1e12, "Hz")
    center_frequency: Quantity("Sky frequency in the middle of the band.", 0, 1e15, "Hz")
    sources: Parts("Sources, for the simulator.", Source) = field(default_factory=list)

    def __post_init__(self):
        self.validate()

    def validate(self):
        """Checks all fields; to be called after one was changed."""
        self.name = _text("name", self.name)
        check_numbers(self)
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
