#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`drx:`, recordings of the Long Wavelength Array's beams."""

from ...formats.drx import read_streams
from ...formats.recordings import check_recording
from ...parameters.rules import whole_reader
from ..input_format import InputFormat, Option
from ..line_up import signals_of_pieces
from ..recordings import listed


class Drx(InputFormat):
    kind = "drx"
    summary = "DRX of the Long Wavelength Array; each polarisation of a tuning is an input"
    names = "FILE[,FILE...]"
    options = {
        "tuning": Option(
            whole_reader(0, 7),
            "tuning that is read; must be given where there are more than one, as they have "
            "frequencies of their own",
            "N",
        ),
        "beam": Option(
            whole_reader(0, 7), "beam that is read; must be given where there are more", "N"
        ),
    }

    def open(self, request):
        for name in request.names:
            check_recording(name)
        streams = [
            stream
            for stream in read_streams(request.names)
            if request.values.get("tuning", stream.tuning) == stream.tuning
            and request.values.get("beam", stream.beam) == stream.beam
        ]
        if len(streams) != 1:
            found = streams or read_streams(request.names)
            there = ", ".join(
                f"beam {stream.beam} tuning {stream.tuning} at {stream.frequency / 1e6:.9g} MHz"
                for stream in found
            )
            raise request.error(f"it has {there}: tuning= and beam= must choose one of them")
        (stream,) = streams
        layout = [(number, 0, 1) for number in range(len(stream.polarizations))]
        return signals_of_pieces(
            request,
            listed(request.names),
            list(request.names),
            stream.pieces,
            layout,
            stream.rate,
            stream.start,
            dict(coding=stream.coding, complex=True, center_frequency=stream.frequency),
            warnings=stream.warnings,
            telescope="LWA1",
        )


FORMAT = Drx()
