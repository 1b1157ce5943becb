#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`dada:`, recordings of PSRDADA."""

import os
from fractions import Fraction

from ... import aperture_python
from ...formats.recordings import Piece, Recording, check_recording
from ...parameters.times import elapsed, exact, utc_after
from ...streams.silent_block import silent
from ..input_format import InputFormat, Option, one_of
from ..line_up import signals_of
from ..recordings import describe
from ..signals import Signals

#: the keys that may differ between the files of one observation
OF_ONE_FILE = {
    "OBS_OFFSET",
    "FILE_NUMBER",
    "FILE_NAME",
    "FILE_SIZE",
    "OBS_OVERLAP",
    "MJD_START",
    "TRANSFER_SIZE",
    "BYTES_PER_SECOND",
}


def open_file(filename):
    """The dada_source of a file, which complains about its header, and does not run."""
    check_recording(filename)
    # a name need not be UTF-8, which text would become on its way to C++
    return silent(aperture_python.dada_source, filename=os.fsencode(filename))


class Dada(InputFormat):
    kind = "dada"
    summary = "PSRDADA recordings; files that continue each other, or side by side"
    names = "FILE[,FILE...]"
    options = {
        "type": Option(
            one_of("f32", "s32"),
            "type of components with NBIT 32: the format does not say whether they "
            "are floats or integers; default: f32",
            "f32|s32",
        )
    }

    def open(self, request):
        if len(request.names) > 1 or request.values:
            return self._open_several(request)
        (name,) = request.names
        first = open_file(name)
        description, more = describe(
            request,
            name,
            first.header().get("TELESCOPE", ""),
            first.inputs(),
            first.sample_rate(),
            first.center_frequency(),
            antennas=_antennas(first.header()),
        )

        def source(samples):
            return silent(aperture_python.dada_source, filename=os.fsencode(name), samples=samples)

        return Signals(
            description,
            first.type(),
            first.sample_rate(),
            first.center_frequency(),
            first.samples(),
            source,
            first.start_time(),
            first.inverted(),
            files=[name],
            warnings=[text for text in [first.warning()] if text] + more,
        )

    def _open_several(self, request):
        parts = []
        for name in request.names:
            made = open_file(name)
            parts.append((made.header(), self._recording(request, name, made)))
        recordings = []
        for header, part in sorted(parts, key=lambda entry: entry[1].pieces[0].start):
            for before, recording in recordings:
                known = _known_samples(before, recording, header, part)
                if known is not None:
                    recording.pieces.append(_without(known, header, part))
                    recording.warnings += part.warnings
                    break
            else:
                recordings.append((header, part))
        # inputs in the order of the names, whichever began first
        order = {id(part): index for index, (_, part) in enumerate(parts)}
        kept = sorted((part for _, part in recordings), key=lambda part: order[id(part)])
        return signals_of(request, kept, polarizations=True)

    @staticmethod
    def _recording(request, name, made):
        header = made.header()
        bits, is_complex = int(header["NBIT"]), int(header["NDIM"]) == 2
        # a suffix as recording_source names it; dada_source has refused other orders
        order = "_be" if bits > 8 and header.get("ENDIAN", "").upper() == "BIG" else ""
        coding = {8: "s8", 16: "s16", 32: "f32"}[bits] + order
        if "type" in request.values:
            if bits != 32:
                raise ValueError(f"{name}: NBIT {bits}: must be 32 where type= is given")
            coding = request.values["type"] + order
        seconds, fraction = made.start_time()
        return Recording(
            name,
            made.inputs(),
            coding,
            is_complex,
            # 1/TSAMP, which need not be a decimal number
            Fraction(made.sample_rate()).limit_denominator(10**6),
            made.center_frequency(),
            [Piece(name, int(header["HDR_SIZE"]), made.samples(), seconds + exact(fraction))],
            float(header["BW"]) < 0,
            header.get("TELESCOPE", ""),
            antennas=_antennas(header),
            warnings=[text for text in [made.warning()] if text],
        )


def _antennas(header):
    """Names of the antennas that a header counts (NANT), None where it does not."""
    number = int(header["NANT"]) if header.get("NANT", "unset") != "unset" else 1
    return [f"A{i + 1}" for i in range(number)] if number > 1 else None


def _bytes_of_item(header):
    """Bytes of one sample of each input."""
    return (
        int(header["NBIT"])
        // 8
        * int(header["NDIM"])
        * int(header["NPOL"])
        * len(_antennas(header) or "1")
    )


def _overlap(header):
    text = header.get("OBS_OVERLAP", "")
    return int(text) if text.isdecimal() else 0


def _known_samples(header, recording, later_header, later):
    """
    Returns how many samples of a file an earlier one of the same observation has already, where it
    goes on at the end of that, or by OBS_OVERLAP before; None where it is not of those that do.
    """

    def observation(values):
        return {key: value for key, value in values.items() if key not in OF_ONE_FILE}

    if observation(header) != observation(later_header):
        return None
    last, next_ = recording.pieces[-1], later.pieces[0]
    end = utc_after(last.start, last.samples / recording.rate)
    known = round(elapsed(next_.start, end) * recording.rate) if next_.start < end else 0
    if known == 0:
        return 0
    declared = max(_overlap(header), _overlap(later_header))
    if not declared or known >= min(last.samples, next_.samples):
        return None
    if known * _bytes_of_item(header) > declared:
        raise ValueError(
            f"{next_.file}: its first {known} samples, {known * _bytes_of_item(header)} bytes, are "
            f"of the time of {last.file}, but OBS_OVERLAP is {declared}: expected as many bytes"
        )
    return known


def _without(known, header, recording):
    """The piece of a file without so many samples at its beginning."""
    piece = recording.pieces[0]
    return Piece(
        piece.file,
        piece.byte + known * _bytes_of_item(header),
        piece.samples - known,
        utc_after(piece.start, known / recording.rate),
    )


FORMAT = Dada()
