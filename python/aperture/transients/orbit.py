#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The orbit of a pulsar in a binary: the time that light takes across it, computed by PINT.

PINT's models of binaries take the keys of a .par file as TEMPO, TEMPO2 and PINT write them. Only
these are used of it, so that neither its ephemerides nor its corrections of clocks are needed.
"""

import functools
import io
import re
from dataclasses import dataclass

import numpy as np

from ..packages.environment import GROUPS, make_importable, missing_modules

#: names of models, as .par files have them. Others need the place of the Earth (DDK), or no other
#: program has them.
MODELS = ("BT", "DD", "DDS", "DDH", "ELL1", "ELL1H")
#: keys of a .par file that are of the orbit
ORBITAL = re.compile(
    r"PB|PBDOT|XPBDOT|FB\d+|A1|A1DOT|XDOT|ECC|E|EDOT|T0|TASC|OM|OMDOT|EPS[12](DOT)?|M2|SINI|"
    r"SHAPMAX|H3|H4|STIGMA?|NHARMS|GAMMA|DR|DTH|A0|B0"
)
#: the model of what PINT wants beside the orbit, and does not use here
REST = "PSR pulsar\nRAJ 0\nDECJ 0\nF0 1\nPEPOCH 55000\nUNITS TDB\n"


class OrbitError(ValueError):
    """A binary that cannot be computed; the message says why."""


@functools.lru_cache(maxsize=16)
def _binary(model, lines):
    """PINT's component of a binary."""
    make_importable("timing")
    if missing_modules("timing"):
        raise OrbitError(
            f"{model}: orbits are computed by {GROUPS['timing'].modules[0]}, which is missing: "
            "aperture_packages timing"
        )
    # not at the top: it takes seconds, and few pulsars need it
    from loguru import logger
    from pint.models import get_model

    logger.disable("pint")  # PINT logs each default
    text = REST + f"BINARY {model}\n" + "".join(f"{key} {value}\n" for key, value in lines)
    try:
        components = get_model(io.StringIO(text)).components
    except Exception as error:  # classes are many, for a key that is missing or no number
        raise OrbitError(f"{model}: PINT says: {' '.join(str(error).split())}") from error
    return next(each for name, each in components.items() if name.startswith("Binary"))


@dataclass(frozen=True)
class Orbit:
    """
    An orbit. model: one of MODELS; lines: (key, value) of a .par file.

    Raises
    ------
    OrbitError
        There is no such model, PINT is missing, or it refuses the values.
    """

    model: str
    lines: tuple

    def __post_init__(self):
        if self.model not in MODELS:
            names = f"{', '.join(MODELS[:-1])} or {MODELS[-1]}"
            raise OrbitError(f"{self.model!r} is not supported; it must be {names}")
        given = {key for key, _ in self.lines}
        for keys in (("PB", "FB0"), ("A1",)):  # PINT has defaults of them
            if not given & set(keys):
                raise OrbitError(f"{self.model}: {' or '.join(keys)} is missing")
        _binary(self.model, self.lines)

    def delay(self, day, rest):
        """Returns the seconds, longdouble, by which pulses come later than from the middle of mass,
        at barycentric times (MJD, seconds of the day) in TDB."""
        from astropy import units

        component = _binary(self.model, self.lines)
        component.update_binary_object(None)
        time = np.asarray(day, np.longdouble) + np.asarray(rest, np.longdouble) / 86400
        binary = component.binary_instance
        binary.update_input(barycentric_toa=np.atleast_1d(time) * units.day)
        found = np.asarray(binary.binary_delay().to_value("s"), np.longdouble)
        return found.reshape(np.shape(time))
