#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`raw:`, files of nothing but samples, as rtl_sdr, hackrf_transfer and GNU Radio's File Sink
write them."""

import os
from fractions import Fraction

from ...formats.recordings import Piece, Recording, check_recording, time_of_file
from ...parameters.rules import whole_reader
from ...parameters.times import read_time
from ..aligned_recordings import ALIGN_OPTIONS, aligned
from ..input_format import InputFormat, Option, one_of, split_at
from ..line_up import signals_of
from ..recordings import INVERTED, READERS
from ..values import CENTER, RATE

#: type -> (coding, whether it is complex)
TYPES = {
    "cu8": ("u8", True),
    "sc8": ("s8", True),
    "sc16": ("s16", True),
    "sc16_be": ("s16_be", True),
    "fc32": ("f32", True),
    "fc32_be": ("f32_be", True),
    "u8": ("u8", False),
    "s8": ("s8", False),
    "s16": ("s16", False),
    "s16_be": ("s16_be", False),
    "f32": ("f32", False),
    "f32_be": ("f32_be", False),
}
#: ending of a name -> type, where none is given
ENDINGS = {
    ".cu8": "cu8",
    ".cs8": "sc8",
    ".cs16": "sc16",
    ".cf32": "fc32",
    ".cfile": "fc32",
    **{f".{name}": name for name in TYPES},
}
BYTES = {"u8": 1, "s8": 1, "s16": 2, "f32": 4}  # size of a component
MOST_INPUTS = 65536


def times(text):
    """Fractions, one for all files or one for each, with semicolons between them."""
    return [read_time(part.strip()) for part in split_at(text, ";")]


class Raw(InputFormat):
    kind = "raw"
    summary = "files of samples without a header, as rtl_sdr writes them"
    names = "FILE[,FILE...]"
    options = {
        "type": Option(
            one_of(*TYPES),
            "type of the samples: cu8 (complex of unsigned bytes, as rtl_sdr writes), "
            "sc8, sc16, fc32 (complex), u8, s8, s16, f32 (real); with _be high bytes "
            "come first; default: the ending of the file's name, as .cu8",
            "TYPE",
        ),
        "rate": Option(RATE, "samples a second of each input; must be given", "HZ"),
        "freq": Option(CENTER, "sky frequency of the middle of the band; must be given", "HZ"),
        "inputs": Option(
            whole_reader(1, MOST_INPUTS),
            "inputs in each file, interleaved sample by sample; default: 1",
            "N",
        ),
        "time": Option(
            times,
            "time of the first sample, in UTC as 2024-06-01T12:30:00.25Z or in "
            "seconds since 1970; with files that began at different times one for "
            "each, with semicolons between; default: from when the file was written",
            "TIME",
        ),
        "skip": Option(
            whole_reader(0, 1 << 40),
            "size of a header in each file that is not read; default: 0",
            "BYTES",
        ),
        "inverted": INVERTED,
        **ALIGN_OPTIONS,
        "readers": READERS,
    }

    def open(self, request):
        values = request.values
        for key, example in (("rate", "2.4e6"), ("freq", "1420.4e6")):
            if key not in values:
                raise request.error(
                    f"{key} is missing: a raw file does not say it; add ,{key}={example}, in Hz"
                )
        starts = values.get("time", [None])
        if len(starts) not in (1, len(request.names)):
            raise request.error(
                f"time has {len(starts)} times: expected one, or one for each of "
                f"the {len(request.names)} files"
            )
        starts = starts * len(request.names) if len(starts) == 1 else starts
        names, types = request.names, {self._type(request, name) for name in request.names}
        if len(types) > 1:
            raise request.error(
                f"files of {' and '.join(sorted(types))} cannot be read together; "
                "type= says what all of them are"
            )
        (kind,) = types
        coding, is_complex = TYPES[kind]
        inputs, skip = values.get("inputs", 1), values.get("skip", 0)
        item = BYTES[coding.partition("_")[0]] * (2 if is_complex else 1) * inputs
        recordings = []
        for name, start in zip(names, starts):
            samples, warnings = self._length(name, skip, item)
            recordings.append(
                Recording(
                    name,
                    inputs,
                    coding,
                    is_complex,
                    values["rate"],
                    float(values["freq"]),
                    [Piece(name, skip, samples, start)],
                    values.get("inverted") == "yes",
                    warnings=warnings,
                )
            )
        warnings = []
        if starts[0] is None:
            longest = max(entry.pieces[0].samples for entry in recordings)
            start, text = time_of_file(names[0], Fraction(longest) / values["rate"], "time=")
            warnings = [text]
            for entry in recordings:
                entry.approximate = True
                (piece,) = entry.pieces
                entry.pieces = [Piece(piece.file, piece.byte, piece.samples, start)]
            if len(names) > 1 and values.get("align") != "correlation":
                warnings.append(f"{', '.join(names)}: taken to have begun at the same moment")
        if values.keys() & ALIGN_OPTIONS.keys():
            return aligned(request, recordings, warnings)
        return signals_of(request, recordings, warnings)

    @staticmethod
    def _type(request, name):
        kind = request.values.get("type") or ENDINGS.get(os.path.splitext(name)[1].lower())
        if kind is None:
            raise request.error(
                f"type is missing, and {name} does not end in it; add ,type=cu8 "
                f"for what rtl_sdr writes, or one of {', '.join(TYPES)}"
            )
        return kind

    @staticmethod
    def _length(name, skip, item):
        """Samples of each input, and warnings."""
        check_recording(name)
        size = os.path.getsize(name)
        samples, rest = divmod(max(0, size - skip), item)
        if samples == 0:
            raise ValueError(
                f"{name}: has {size} bytes"
                + (f", {skip} of them skipped" if skip else "")
                + f": at least one sample of {item} bytes must be there"
            )
        return samples, [
            f"{name}: the last {rest} bytes are not the {item} of a whole sample of each input"
        ] if rest else []


FORMAT = Raw()
