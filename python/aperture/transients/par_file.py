#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Timing models of pulsars, as TEMPO, TEMPO2 and PINT write them into .par files.

Taken: F0, F1, F2 (or P0, P1), PEPOCH, DM, DM1, DMEPOCH and DMX, a position with proper motion in
equatorial (RAJ, DECJ, PMRA, PMDEC) or ecliptic coordinates (ELONG, ELAT, PMELONG, PMELAT, ECL),
POSEPOCH, PX, UNITS (TDB or TCB, TDB if it is missing) and EPHVER (2 or 5, which say the same); and
a BINARY, whose orbit PINT computes (orbit.py). What only describes how the model was found is
passed over, as T2EFAC and JUMP of any number of receivers, and so is EPHEM (the ephemeris is
ERFA's: barycentre.py) and CLK (UTC as it comes). TZRMJD is not used: phase 0 is at PEPOCH, at the
barycentre. All else, glitches and further derivatives, is refused with its line, unless its value
is 0 and means that there is none of it.
"""

import os
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np

from ..parameters import errors
from ..parameters.input_files import find_file
from ..parameters.regular_file import open_text
from .barycentre import DAYS_OF_YEAR, directions
from .orbit import ORBITAL, Orbit, OrbitError

#: keys that say how the model was found, or for whom
IGNORED = frozenset(
    (
        "PSR PSRJ PSRB PSRNAME EPHEM CLK CLOCK START FINISH NTOA NITS TRES CHI2 CHI2R CHI2RED "
        "MODE INFO TZRMJD TZRFRQ TZRSITE DILATEFREQ PLANET_SHAPIRO T2CMETHOD TIMEEPH "
        "CORRECT_TROPOSPHERE DMDATA SOLARN0 NE_SW RM EPHVER UNITS DMX S400 S1400 DIST AGE "
        "TRACK BADTOA NTOAS DM_SERIES SWM BINARYMODEL"
    ).split()
)
#: keys of how times of arrival were weighted, or set off against each other, for each receiver, and
#: the noise; there may be many of them
OF_TIMES = re.compile(
    r"(T2|DM|TN)?(EFAC|EQUAD|ECORR|EF|EQ)|TNGLOBALE[FQ]|(DM)?JUMP(_?\d+)?|"
    r"RN(AMP|IDX)|TN(RED|DM)(AMP|GAM|C)|DMX(EP|F1|F2)_\d+"
)
#: keys whose 0 means that there is none
NONE_IF_ZERO = re.compile(
    r"F([3-9]|1[0-9])|DM[2-9]|PMRV|SINI|A1|FD[0-9]|WAVE_OM|GLPH_.*|"
    r"GLF[0-2]_.*"
)
TAKEN = (
    "F0",
    "F1",
    "F2",
    "P0",
    "P",
    "P1",
    "PDOT",
    "PEPOCH",
    "DM",
    "DM1",
    "DMEPOCH",
    "RAJ",
    "RA",
    "DECJ",
    "DEC",
    "PMRA",
    "PMDEC",
    "ELONG",
    "LAMBDA",
    "ELAT",
    "BETA",
    "PMELONG",
    "PMLAMBDA",
    "PMELAT",
    "PMBETA",
    "ECL",
    "POSEPOCH",
    "PX",
    "BINARY",
)
#: a piece of the dispersion measure: DMX_0001 from DMXR1_0001 to DMXR2_0001
DMX = re.compile(r"DMX(R1|R2)?_(\d+)")
ECLIPTIC = ("ELONG", "LAMBDA", "ELAT", "BETA")
#: obliquity of the ecliptic, arc seconds, by the names of ECL, as in PINT's ecliptic.dat
OBLIQUITY = {
    "IERS2010": 84381.406,
    "IAU2005": 84381.406,
    "IERS2003": 84381.4059,
    "IERS1992": 84381.412,
    "DE403": 84381.412,
    "IAU1976": 84381.448,
}


class ParError(errors.ParameterError):
    """An error in a .par file: its line, the key, and what is allowed."""


@dataclass(frozen=True)
class TimingModel:
    """A pulsar's spin and place.

    frequency, frequency_derivative, second_derivative: longdouble, revolutions/s^(1, 2, 3) at
    `epoch`; epoch: (MJD, seconds of the day, longdouble), in `units` (TDB or TCB) at the
    barycentre; ra, dec: degrees, ICRS, at `position_epoch` (MJD); pm_ra, pm_dec: mas a year on the
    sky; parallax: mas; dm: pc/cm^3 at `dm_epoch` (MJD), dm_rate: pc/cm^3 a year, dm_pieces: (first
    MJD, last MJD, pc/cm^3) of what is added in a range of days; orbit: an Orbit, None of a single
    pulsar.
    """

    name: str
    frequency: np.longdouble
    epoch: tuple
    ra: float
    dec: float
    frequency_derivative: np.longdouble = np.longdouble(0)
    second_derivative: np.longdouble = np.longdouble(0)
    dm: float = 0.0
    dm_rate: float = 0.0
    dm_epoch: float = 0.0
    dm_pieces: tuple = ()
    pm_ra: float = 0.0
    pm_dec: float = 0.0
    position_epoch: float = 0.0
    parallax: float = 0.0
    units: str = "TDB"
    orbit: Orbit | None = None

    def dm_at(self, day):
        """Returns the dispersion measure at a day (MJD), pc/cm^3."""
        rate = self.dm_rate * (day - self.dm_epoch) / DAYS_OF_YEAR
        return self.dm + rate + sum(dm for first, last, dm in self.dm_pieces if first <= day < last)

    def phase(self, day, rest):
        """Returns revolutions, longdouble, at barycentric times (MJD, seconds of the day) in
        `units`."""
        if self.orbit is not None:
            rest = np.asarray(rest, np.longdouble) - self.orbit.delay(day, rest)
        t = (np.asarray(day, np.int64) - self.epoch[0]) * np.longdouble(86400) + (
            np.asarray(rest, np.longdouble) - self.epoch[1]
        )
        return t * (
            self.frequency + t * (self.frequency_derivative / 2 + t * self.second_derivative / 6)
        )


class _Reader:
    def __init__(self, name, text):
        self.name = name
        self.values, self.lines = {}, {}
        if "PEPOCH" not in text.upper():
            # another kind of file, of which no error repeats anything
            self.refuse("PEPOCH", "missing")
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split("#")[0].split()
            if not words or words[0] == "C":
                continue
            key = words[0].upper()
            if OF_TIMES.fullmatch(key):
                continue
            if key in self.values:
                self.refuse(key, f"given a second time, first on line {self.lines[key]}", number)
            self.lines[key] = number
            self.values[key] = words[1] if len(words) > 1 else ""

    def refuse(self, key, problem, line=None):
        line = line or self.lines.get(key)
        raise ParError(key, problem, f"{self.name}:{line}" if line else self.name)

    def text_number(self, key):
        """Returns the text of a number, with e for FORTRAN's D."""
        return re.sub("[dD]", "e", self.values[key])

    def number(self, key, default, low=-1e300, high=1e300, kind=float):
        if key not in self.values:
            return kind(default)
        try:
            value = Decimal(self.text_number(key))
            if not value.is_finite() or not low <= value <= high:
                raise InvalidOperation
        except InvalidOperation:
            self.refuse(
                key,
                f"{self.values[key]!r} is not allowed; it must be a number, {low:g} to {high:g}",
            )
        return kind(self.text_number(key))

    def date(self, key):
        """MJD, and the seconds of that day."""
        self.number(key, 0, 15020, 100000)
        value = Decimal(self.text_number(key))
        day = int(value)
        return day, np.longdouble(str((value - day) * 86400))

    def angle(self, keys, limit, factor):
        """Degrees, of hours or degrees, minutes and seconds."""
        key = next((key for key in keys if key in self.values), None)
        if key is None:
            self.refuse(keys[0], "missing")
        text = self.values[key]
        match = re.fullmatch(r"([+-]?)(\d+)(?::(\d+(?:\.\d*)?))?(?::(\d+(?:\.\d*)?))?", text)
        if match:
            parts = [float(part or 0) for part in match.groups()[1:]]
            value = parts[0] + parts[1] / 60 + parts[2] / 3600
            if parts[1] < 60 and parts[2] < 60 and value <= limit:
                return factor * (-value if match.group(1) == "-" else value)
        return self.refuse(
            key,
            f"{text!r} is not allowed; it must be such as "
            f"{'03:32:59.4' if factor == 15 else '+54:34:43.3'}",
        )

    def units(self):
        given = {
            "EPHVER": {"2": "TDB", "TEMPO": "TDB", "5": "TCB", "TEMPO2": "TCB"},
            "UNITS": {"TDB": "TDB", "TCB": "TCB", "SI": "TCB"},
        }
        units = "TDB"
        for key, allowed in given.items():  # UNITS has the last word
            if key in self.values:
                units = allowed.get(self.values[key].upper())
                if units is None:
                    self.refuse(
                        key,
                        f"{self.values[key]!r} is not allowed; it must be one of "
                        f"{', '.join(allowed)}",
                    )
        return units

    def check_keys(self):
        for key, text in self.values.items():
            if key in IGNORED or key in TAKEN or DMX.fullmatch(key):
                continue
            if "BINARY" in self.values and ORBITAL.fullmatch(key):
                continue
            zero = re.fullmatch(r"[+-]?0*\.?0*([eEdD][+-]?\d+)?", text) is not None
            if not (text and zero and NONE_IF_ZERO.fullmatch(key)):
                self.refuse(key, "not supported: taken are " + ", ".join(TAKEN))

    def spin(self):
        """F0, F1 and F2."""
        if "F0" in self.values:
            return tuple(
                self.number(key, 0, *limits, kind=np.longdouble)
                for key, limits in (("F0", (1e-6, 1e5)), ("F1", ()), ("F2", ()))
            )
        period = next((key for key in ("P0", "P") if key in self.values), None)
        if period is None:
            self.refuse("F0", "missing")
        p = self.number(period, 0, 1e-5, 1e6, np.longdouble)
        rate = self.number("P1" if "P1" in self.values else "PDOT", 0, kind=np.longdouble)
        if abs(rate) > 1e-9:  # TEMPO takes it for units of 1e-15
            rate = rate * np.longdouble("1e-15")
        # F2 of a period that changes evenly
        return 1 / p, -rate / p**2, 2 * rate**2 / p**3

    def equatorial(self):
        """Position and proper motion, as fields of TimingModel."""
        return dict(
            ra=self.angle(("RAJ", "RA"), 24, 15),
            dec=self.angle(("DECJ", "DEC"), 90, 1),
            pm_ra=self.number("PMRA", 0),
            pm_dec=self.number("PMDEC", 0),
        )

    def ecliptic(self):
        """Position and proper motion of ecliptic coordinates, which are equatorial ones,
        rotated about the equinox by the obliquity."""
        for key in ("RAJ", "RA", "DECJ", "DEC", "PMRA", "PMDEC"):
            if key in self.values:
                self.refuse(key, "given beside ecliptic coordinates: a pulsar has one position")
        either = lambda *keys: next((key for key in keys if key in self.values), keys[0])
        longitude, latitude = either("ELONG", "LAMBDA"), either("ELAT", "BETA")
        for key in (longitude, latitude):
            if key not in self.values:
                self.refuse(key, "missing")
        name = self.values.get("ECL", "IERS2010").upper()
        if name not in OBLIQUITY:
            self.refuse("ECL", f"{name!r} is not allowed; it must be one of {', '.join(OBLIQUITY)}")
        sin, cos = (f(np.radians(OBLIQUITY[name] / 3600)) for f in (np.sin, np.cos))
        turn = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]])
        towards, east, north = directions(
            *np.radians([self.number(longitude, 0, -360, 360), self.number(latitude, 0, -90, 90)])
        )
        moving = (
            self.number(either("PMELONG", "PMLAMBDA"), 0) * east
            + self.number(either("PMELAT", "PMBETA"), 0) * north
        )
        towards, moving = turn @ towards, turn @ moving
        ra, dec = np.arctan2(towards[1], towards[0]) % (2 * np.pi), np.arcsin(towards[2])
        _, east, north = directions(ra, dec)
        return dict(
            ra=float(np.degrees(ra)),
            dec=float(np.degrees(dec)),
            pm_ra=float(moving @ east),
            pm_dec=float(moving @ north),
        )

    def dm_pieces(self):
        """Returns what DMX adds: (first MJD, last MJD, pc/cm^3)."""
        found = {}
        for key in self.values:
            match = DMX.fullmatch(key)
            if match:
                found.setdefault(match[2], {})[match[1] or ""] = key
        for number, keys in found.items():
            for part in {"", "R1", "R2"} - set(keys):
                self.refuse(f"DMX{part}_{number}", f"missing, beside {next(iter(keys.values()))}")
        return tuple(
            (
                self.number(keys["R1"], 0, 15020, 100000),
                self.number(keys["R2"], 0, 15020, 100000),
                self.number(keys[""], 0, -1e6, 1e6),
            )
            for keys in found.values()
        )

    def orbit(self):
        """The Orbit of a BINARY, or None."""
        if "BINARY" not in self.values:
            return None
        if self.units() != "TDB":
            self.refuse("BINARY", "its orbit is computed in TDB, and UNITS are TCB")
        lines = tuple((key, self.text_number(key)) for key in self.values if ORBITAL.fullmatch(key))
        try:
            return Orbit(self.values["BINARY"].upper(), lines)
        except OrbitError as error:
            return self.refuse("BINARY", str(error))

    def model(self):
        self.check_keys()
        if "PEPOCH" not in self.values:
            self.refuse("PEPOCH", "missing")
        f0, f1, f2 = self.spin()
        epoch = self.date("PEPOCH")
        names = [
            self.values[key] for key in ("PSR", "PSRJ", "PSRB", "PSRNAME") if self.values.get(key)
        ]
        position_epoch = self.number("POSEPOCH", epoch[0], 15020, 100000)
        return TimingModel(
            name=names[0] if names else "pulsar",
            frequency=f0,
            frequency_derivative=f1,
            second_derivative=f2,
            epoch=epoch,
            **(
                self.ecliptic()
                if any(key in self.values for key in ECLIPTIC)
                else self.equatorial()
            ),
            dm=self.number("DM", 0, 0, 1e6),
            dm_rate=self.number("DM1", 0, -1e6, 1e6),
            dm_epoch=self.number("DMEPOCH", float(self.values["PEPOCH"]), 15020, 100000),
            dm_pieces=self.dm_pieces(),
            position_epoch=position_epoch,
            parallax=self.number("PX", 0),
            units=self.units(),
            orbit=self.orbit(),
        )


def read_par(path):
    """
    Reads a .par file: a TimingModel.

    Raises
    ------
    ParError
        A ValueError that names file, line, key and what is allowed.
    OSError
        The file cannot be read.
    """
    path = find_file(path)
    with open_text(path, "a timing model", errors="replace") as file:
        return _Reader(os.fspath(path), file.read(1 << 20)).model()


def parse_par(text, name="par"):
    """A TimingModel of the text of a .par file; errors as of read_par()."""
    return _Reader(name, text).model()
