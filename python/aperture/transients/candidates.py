#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Candidates of pulses: what a message says, and a table of them on a disk."""

import contextlib
from dataclasses import dataclass

import numpy as np
import pmt

from ..files.sample_file import SampleFile
from ..parameters.rules import NAME_RULE, is_name
from ..parameters.times import END_OF_TIME, utc_text
from ..streams.tag_values import dict_value, time_of

#: column -> type of ECSV, unit, meaning
COLUMNS = {
    "id": ("string", None, "time, beam and dispersion measure"),
    "time": ("string", None, "UTC of the middle at infinite frequency"),
    "dm": ("float64", "pc / cm3", "dispersion measure of the trial"),
    "width": ("float64", "s", "width of the boxcar"),
    "snr": ("float64", None, "largest signal-to-noise ratio"),
    "beam": ("int64", None, "beam that has it"),
    "beams": ("int64", None, "beams that saw it"),
    "start": ("string", None, "UTC before which it is not in the band"),
    "end": ("string", None, "UTC behind which it is not in the band"),
    "reason": ("string", None, "why it was rejected"),
    "picture": ("string", None, "file beside the table"),
}


@dataclass(frozen=True)
class Candidate:
    """
    A candidate in a message of pulse_search: times are (seconds, fraction), UTC; `time` is that of
    the middle at infinite frequency, `width` seconds, `dm` pc/cm^3.
    """

    id: str
    time: tuple
    dm: float
    width: float
    snr: float
    beam: int
    beams: int
    start: tuple
    end: tuple
    reason: str = ""

    @classmethod
    def of_message(cls, message):
        """
        Reads a message, a dictionary of PMT.

        Raises
        ------
        ValueError
            It is no such dictionary, or an entry is missing or not what it should be.
        """
        if not pmt.is_dict(message):
            raise ValueError(f"a candidate must be a dictionary, and this is {message}")
        return cls(
            _text(message, "id"),
            _time(message, "time"),
            _number(message, "dm"),
            _number(message, "width"),
            _number(message, "snr"),
            int(_number(message, "beam")),
            int(_number(message, "beams")),
            _time(message, "start"),
            _time(message, "end"),
            _text(message, "reason") if pmt.dict_has_key(message, pmt.intern("reason")) else "",
        )

    def row(self, picture=""):
        """The texts of COLUMNS."""
        return [
            self.id,
            utc_text(self.time, 9),
            repr(self.dm),
            repr(self.width),
            f"{self.snr:.7g}",
            str(self.beam),
            str(self.beams),
            utc_text(self.start, 9),
            utc_text(self.end, 9),
            self.reason or '""',
            picture or '""',
        ]


def _entry(message, key):
    value = dict_value(message, key)
    if pmt.is_null(value):
        raise ValueError(f"a candidate has no {key}")
    return value


def _number(message, key):
    value = _entry(message, key)
    number = pmt.to_double(value) if pmt.is_number(value) and not pmt.is_complex(value) else np.nan
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(f"{key} of a candidate is {value}: it must be a number from 0 on")
    return number


def _text(message, key):
    value = _entry(message, key)
    text = pmt.symbol_to_string(value) if pmt.is_symbol(value) else ""
    if not is_name(text):
        raise ValueError(f"{key} of a candidate is {value}: it must be a text of {NAME_RULE}")
    return text


def _time(message, key):
    value = _entry(message, key)
    if pmt.is_tuple(value) and pmt.length(value) == 2:
        # a time of another kind, or below 0, raises one of these
        with contextlib.suppress(ValueError, RuntimeError):
            time = time_of(value)
            if time[0] < END_OF_TIME:
                return time
    raise ValueError(
        f"{key} of a candidate is {value}: it must be a tuple of whole seconds since "
        "1970 and a fraction"
    )


def header(ecsv):
    """Returns the beginning of a table: ECSV 1.0, or a line of names."""
    lines = []
    if ecsv:
        lines += ["# %ECSV 1.0", "# ---", "# datatype:"]
        for name, (kind, unit, meaning) in COLUMNS.items():
            unit = f"unit: {unit}, " if unit else ""
            lines.append(f"# - {{name: {name}, {unit}datatype: {kind}, description: '{meaning}'}}")
        lines.append("# delimiter: ','")
        lines.append("# schema: astropy-2.0")
    return ("\n".join([*lines, ",".join(COLUMNS)]) + "\n").encode()


class CandidateTable:
    """
    A table on a disk to which a line is added for each candidate. A line is there as a whole or,
    when the disk is full, not at all; nobody else can write the file meanwhile.

    Parameters
    ----------
    path : str
        The file: .ecsv, with types and units, or .csv. Both are read by astropy.table.
    overwrite : bool
        True if an existing file is replaced.

    Attributes: `path`; `size`, bytes.

    Raises
    ------
    OSError
        The file cannot be written, or is there.
    """

    def __init__(self, path, overwrite=True):
        self.path = path
        self._file = SampleFile(path, overwrite=overwrite)
        beginning = header(path.endswith(".ecsv"))
        try:
            self._file.begin(beginning)
        except OSError:
            self._file.close()
            raise
        self.size = len(beginning)

    def add(self, candidate, picture=""):
        line = (",".join(candidate.row(picture)) + "\n").encode()
        self._file.add(line)
        self.size += len(line)

    def close(self):
        self._file.close()
