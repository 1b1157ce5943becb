#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`dada:`, recordings of PSRDADA."""

import os
from fractions import Fraction

from ... import aperture_python
from ...formats.dada.channels import LATEST, channels_in, channels_of
from ...formats.dada.observation import antennas_of, known_samples, without
from ...formats.recordings import Piece, Recording, check_recording
from ...parameters.rules import whole_reader
from ...parameters.times import exact
from ...streams.silent_block import silent
from ..aligned_recordings import ALIGN_OPTIONS, aligned
from ..channels import signals_of_channels
from ..input_format import InputFormat, Option, one_of
from ..recordings import READERS, signals_of_block


def open_file(filename):
    """The dada_source of a file, which complains about its header, and does not run."""
    check_recording(filename)
    # a name need not be UTF-8, which text would become on its way to C++
    made = silent(aperture_python.dada_source, filename=os.fsencode(filename))
    if made.start_time()[0] >= LATEST:
        raise ValueError(
            f"{filename}: OBS_OFFSET {made.header().get('OBS_OFFSET', 0)}: must be such that the "
            "file begins before the year 10000"
        )
    return made


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
        ),
        "heap": Option(
            whole_reader(1, 1 << 24),
            "spectra of a block of channels, where ORDER has two T, as MeerKAT's TAFTP; default: "
            "as many as have RESOLUTION bytes",
            "N",
        ),
        **ALIGN_OPTIONS,
        "readers": READERS,
    }

    def open(self, request):
        for name in request.names:
            check_recording(name)
        to_align = sorted(request.values.keys() & ALIGN_OPTIONS.keys())
        if any(channels_in(name) > 1 for name in request.names):
            if to_align:
                raise request.error(f"{to_align[0]}: recorded channels are not lined up")
            integers = request.values.get("type") == "s32"
            heap = request.values.get("heap")
            return signals_of_channels(
                request, [channels_of(name, integers, heap) for name in request.names]
            )
        if "heap" in request.values:
            raise request.error("heap: the files have one channel")
        if len(request.names) > 1 or "type" in request.values or to_align:
            return self._open_several(request)
        (name,) = request.names
        first = open_file(name)
        return signals_of_block(
            request,
            name,
            aperture_python.dada_source,
            dict(filename=os.fsencode(name)),
            [name],
            [text for text in [first.warning()] if text],
            telescope=first.header().get("TELESCOPE", ""),
            antennas=antennas_of(first.header()),
        )

    def _open_several(self, request):
        parts = []
        for name in request.names:
            made = open_file(name)
            parts.append((made.header(), self._recording(request, name, made)))
        recordings = []
        for header, part in sorted(parts, key=lambda entry: entry[1].pieces[0].start):
            for before, recording in recordings:
                known = known_samples(before, recording, header, part)
                if known is not None:
                    recording.pieces.append(without(known, header, part))
                    recording.warnings += part.warnings
                    break
            else:
                recordings.append((header, part))
        # inputs in the order of the names, whichever began first
        order = {id(part): index for index, (_, part) in enumerate(parts)}
        kept = sorted((part for _, part in recordings), key=lambda part: order[id(part)])
        return aligned(request, kept, polarizations=True)

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
            antennas=antennas_of(header),
            warnings=[text for text in [made.warning()] if text],
        )


FORMAT = Dada()
