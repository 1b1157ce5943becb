#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The file of a calibration.

    calibration: 1                     # the version of the format
    array: "lab"
    source: "noise"
    references: ["Ax"]                 # inputs whose delay and phase are 0, one a polarisation
    band: {first: 1419200000.0, width: 37500.0, channels: 64}   # Hz, centre of channel 0
    reference_frequency: 1420400000.0  # Hz, where phases hold
    measured: [2024-01-01T00:00:00.000Z, 2024-01-01T00:00:10.000Z]
    valid: [2024-01-01T00:00:00.000Z, 2024-01-02T00:00:00.000Z]  # may be left out
    quality: {x: {signal_to_noise: 210.0, chi_squared: 1.01, misfit: 0.002}}
    history: "aperture_calibrate lab.uvh5"
    unit: Jy                           # for calibrated visibilities; default: the source's power
    inputs:
      - name: "Bx"
        delay: -2.5e-08                # s by which it is to be delayed
        phase: 0.61                    # rad, added
        quality: {signal_to_noise: 210.0, chi_squared: 1.0, misfit: 0.001}
        flagged: "0 31-33"             # channels that neighbours stand for
        bandpass: >-                   # magnitude and phase in rad of each channel's factor
          1.0213~0.0121 1.0207~0.0119 ...
        kelvin: >-                     # K for a unit of power, each channel
          ...
        receiver_temperature: >-       # K
          ...

`calibration`, `array`, `band` and `inputs` with their names are needed. Numbers of channels stand
in one text, separated by blanks: as lists, files of large arrays would take minutes to read.
"""

import os
import re

import numpy as np

from ..files.checked_file import whole_file
from ..parameters.ascii_text import quoted
from ..parameters.input_files import find_file
from ..parameters.regular_file import open_text
from ..parameters.rules import check_mapping
from ..parameters.times import TIME_RULE, read_time, utc_text
from ..parameters.yaml_reader import Scalar, YamlReader
from .calibration import Band, Calibration, CalibrationError, InputCalibration, Quality, refuse

VERSION = 1
A_LINE = 8  # numbers


def _number(field, value):
    try:
        if isinstance(value, Scalar) and not value.quoted:
            return float(value)
    except ValueError:
        pass
    return refuse(field, value, "a number")


def _whole(field, value):
    if not (isinstance(value, Scalar) and value.isascii() and value.isdigit()):
        refuse(field, value, "a whole number")
    return int(value)


def _text(field, value):
    if not isinstance(value, str):
        refuse(field, value, "a text")
    return str(value)


def _texts(field, values):
    if not isinstance(values, list):
        refuse(field, values, "a list of texts")
    return [_text(f"{field}[{index}]", value) for index, value in enumerate(values)]


def _time(field, value):
    text = _text(field, value)
    try:
        return float(read_time(text))
    except ValueError:
        return refuse(field, value, TIME_RULE)


def _span(field, values):
    if not isinstance(values, list) or len(values) != 2:
        refuse(field, values, "a list of two times")
    return tuple(_time(f"{field}[{index}]", value) for index, value in enumerate(values))


def _mapping(field, values, known, needed=()):
    """A mapping, with each value as its entry in `known` reads it."""
    check_mapping(field, values, known, needed, error=CalibrationError)
    prefix = f"{field}." if field else ""
    return {key: known[key](prefix + key, value) for key, value in values.items()}


def _band(field, values):
    known = {"first": _number, "width": _number, "channels": _whole}
    made = _mapping(field, values, known, known)
    try:
        return Band(**made)
    except CalibrationError as error:
        raise CalibrationError(f"{field}.{error.field}", error.problem) from None


def _quality(field, values):
    return Quality(
        **_mapping(
            field, values, dict.fromkeys(("signal_to_noise", "chi_squared", "misfit"), _number)
        )
    )


def _qualities(field, values):
    return _mapping(field, values, dict.fromkeys("xylr", _quality))


def _reals(field, value):
    """Returns the numbers in one text; the error names only the first word that is none."""
    words = _text(field, value).split()
    try:
        return np.array(words, float)
    except ValueError:
        for index, word in enumerate(words):
            try:
                float(word)
            except ValueError:
                refuse(f"{field}", word, f"a number (it is the one of channel {index})")
        raise


def _complexes(field, value):
    words = _text(field, value).split()
    parts = [word.split("~") for word in words]
    for index, part in enumerate(parts):
        if len(part) != 2:
            refuse(
                field,
                words[index],
                f"a magnitude and a phase, such as 1.02~-0.17 (it is that of channel {index})",
            )
    magnitudes = _reals(field, " ".join(part[0] for part in parts))
    phases = _reals(field, " ".join(part[1] for part in parts))
    if len(magnitudes) and not np.all(magnitudes >= 0):
        refuse(field, magnitudes.min(), "a magnitude of 0 or above")
    with np.errstate(invalid="ignore"):
        return magnitudes * np.exp(1j * phases)


def _ranges(field, value):
    """Channels as in "0 31-33" -> [(0, 0), (31, 33)]."""
    found = []
    for word in _text(field, value).split():
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", word)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            refuse(field, word, "a channel, or a range of them such as 31-33")
        found.append((int(match[1]), int(match[2] or match[1])))
    return found


_INPUT = {
    "name": _text,
    "delay": _number,
    "phase": _number,
    "quality": _quality,
    "flagged": _ranges,
    "bandpass": _complexes,
    "kelvin": _reals,
    "receiver_temperature": _reals,
}


def _inputs(field, values):
    if not isinstance(values, list):
        refuse(field, values, f"a list of mappings of {', '.join(_INPUT)}")
    return [
        _mapping(f"{field}[{index}]", entry, _INPUT, ("name",))
        for index, entry in enumerate(values)
    ]


_TOP = {
    "calibration": _whole,
    "array": _text,
    "source": _text,
    "references": _texts,
    "band": _band,
    "reference_frequency": _number,
    "measured": _span,
    "valid": _span,
    "quality": _qualities,
    "history": _text,
    "unit": _text,
    "inputs": _inputs,
}


class _Reader(YamlReader):
    """Makes a Calibration of a file."""

    kind, key = "a calibration", "calibration"

    def read(self, file):
        return self.with_line(self._calibration, self.tree(file))

    @staticmethod
    def _calibration(tree):
        values = _mapping("", tree, _TOP, ("calibration", "array", "band", "inputs"))
        version = values.pop("calibration")
        if version != VERSION:
            refuse("calibration", version, f"{VERSION}, the version of the format")
        channels = values["band"].channels
        made = []
        for index, entry in enumerate(values["inputs"]):
            field = f"inputs[{index}]"
            flagged = np.zeros(channels, bool)
            for first, last in entry.pop("flagged", ()):
                if last >= channels:
                    refuse(f"{field}.flagged", last, f"a channel, 0 to {channels - 1}")
                flagged[first : last + 1] = True
            try:
                made.append(InputCalibration(flagged=flagged, **entry))
            except CalibrationError as error:
                raise CalibrationError(f"{field}.{error.field}", error.problem) from None
        return Calibration(**{**values, "inputs": made})


def load_calibration(path):
    """
    Reads the file of a calibration: its format is at the top of this module; the name of one of
    pyuvdata's UVCal ends in .calh5.

    Raises CalibrationError (a ValueError) that names file, line, field and what is allowed;
    OSError.
    """
    if not isinstance(path, (str, os.PathLike)):
        refuse("calibration", path, "a Calibration, or the name of its file")
    path = find_file(path)
    if path.endswith(".calh5"):
        # not at the top: to load h5py takes as long as to load all else of gnuradio.aperture
        from .uvcal import load_uvcal

        return load_uvcal(path)
    with open_text(path, _Reader.kind) as file:
        return _Reader(path, CalibrationError).read(file)


def _float(value):
    """Returns a text that reads back as the same number, also by YAML 1.1's rules (a point before
    the exponent)."""
    text = repr(float(value))
    mantissa, e, exponent = text.partition("e")
    return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"


def _folded(key, words, indent):
    """A text of many words as a block of lines."""
    lines = [" ".join(words[start : start + A_LINE]) for start in range(0, len(words), A_LINE)]
    return [f"{indent}{key}: >-"] + [f"{indent}  {line}" for line in lines]


def _quality_text(quality):
    return (
        "{"
        + ", ".join(
            f"{key}: {value:.6g}" for key, value in vars(quality).items() if np.isfinite(value)
        )
        + "}"
    )


def _ranges_text(flagged):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flagged.astype(int), [0]])))
    return " ".join(
        f"{first}-{end - 1}" if end - first > 1 else str(first)
        for first, end in edges.reshape(-1, 2)
    )


def calibration_text(calibration):
    """A calibration as the text of its file."""
    span = {key: getattr(calibration, key) for key in ("measured", "valid")}
    band = calibration.band
    lines = [
        f"calibration: {VERSION}",
        f"array: {quoted(calibration.array)}",
        f"source: {quoted(calibration.source)}",
        f"references: [{', '.join(map(quoted, calibration.references))}]",
        f"band: {{first: {_float(band.first)}, width: {_float(band.width)}, channels: "
        f"{band.channels}}}",
        f"reference_frequency: {_float(calibration.reference_frequency)}",
    ]
    lines += [
        f"{key}: [{utc_text(times[0], 3)}Z, {utc_text(times[1], 3)}Z]"
        for key, times in span.items()
        if times is not None
    ]
    if calibration.unit:
        lines.append(f"unit: {calibration.unit}")
    if calibration.quality:
        lines.append("quality:")
        lines += [
            f"  {letter}: {_quality_text(quality)}"
            for letter, quality in calibration.quality.items()
        ]
    lines += [f"history: {quoted(calibration.history)}", "inputs:"]
    for entry in calibration.inputs:
        lines += [
            f"  - name: {quoted(entry.name)}",
            f"    delay: {_float(entry.delay)}",
            f"    phase: {_float(entry.phase)}",
            f"    quality: {_quality_text(entry.quality)}",
        ]
        if entry.flagged.any():
            lines.append(f"    flagged: {quoted(_ranges_text(entry.flagged))}")
        lines += _folded(
            "bandpass",
            [
                f"{abs(value):.7g}~{np.angle(value):.6f}".replace("~-0.000000", "~0.000000")
                for value in entry.bandpass
            ],
            "    ",
        )
        for key in ("kelvin", "receiver_temperature"):
            values = getattr(entry, key)
            if values is not None:
                lines += _folded(key, [f"{value:.7g}" for value in values], "    ")
    return "\n".join(lines) + "\n"


def save_calibration(calibration, path):
    """Writes the file of a calibration, complete or not at all. Raises OSError that names it."""
    with whole_file(path) as name, open(name, "w", encoding="utf-8") as file:
        file.write(calibration_text(calibration))
