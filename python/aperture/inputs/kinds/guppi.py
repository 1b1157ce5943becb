#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`guppi:`, recordings of GUPPI raw."""

import os

from ... import aperture_python
from ...formats.guppi.reader import pieces_of, read_stream, sequence
from ...formats.recordings import check_recording
from ...parameters.rules import whole_reader
from ...parameters.times import whole_and_fraction
from ...streams.silent_block import silent
from ..input_format import InputFormat, Option
from ..recordings import describe
from ..signals import Signals

LARGEST_TERM = 10**18  # largest term of a rate as a fraction


class Guppi(InputFormat):
    kind = "guppi"
    summary = "recordings of GUPPI raw; each polarisation of a channel is an input"
    names = "FILE[,FILE...]"
    packages = "formats"
    options = {
        "channel": Option(
            whole_reader(0, 1 << 20),
            "coarse channel that is read, from 0 on; must be given where there are more than one",
            "N",
        ),
        "npol": Option(
            whole_reader(1, 2),
            "polarisations of each antenna, where NPOL 2 may be two "
            "of them (rawspec) or the two components of one (baseband); default: "
            "what PIPERBLK and PKTIDX say",
            "1|2",
        ),
    }

    def open(self, request):
        # NAME.0000.raw brings those that follow it
        names = sequence(request.names[0]) if len(request.names) == 1 else list(request.names)
        for name in names:
            check_recording(name)
        stream = read_stream(names, request.values.get("npol"))
        channel = self._channel(request, stream)
        what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        pieces, layout = pieces_of(stream, channel)
        if not pieces:
            raise ValueError(
                f"{names[0]}: has no samples of channel {channel}: its only block ends before it"
            )
        rate = stream.rate
        if max(rate.numerator, rate.denominator) > LARGEST_TERM:
            rate = rate.limit_denominator(10**6)
        center = stream.frequency(channel)
        parameters = dict(
            # a name need not be UTF-8, which text would become on its way to C++
            files=[os.fsencode(name) for name in names],
            pieces=pieces,
            coding=f"s{stream.bits}",
            complex=stream.complex,
            inputs=len(layout),
            layout=layout,
            rate=(rate.numerator, rate.denominator),
            start_time=whole_and_fraction(stream.start),
            center_frequency=center,
            inverted=stream.width < 0,
        )

        def source(samples):
            return silent(aperture_python.recording_source, samples=samples, **parameters)

        made = source(0)
        description, more = describe(
            request,
            what,
            str(stream.header.get("TELESCOP", "")),
            len(layout),
            float(rate),
            center,
            antennas=stream.antenna_names(),
        )
        return Signals(
            description,
            made.type(),
            float(rate),
            center,
            made.samples(),
            source,
            made.start_time(),
            made.inverted(),
            files=names,
            warnings=[*stream.warnings, *more],
            unused=stream.unused,
        )

    @staticmethod
    def _channel(request, stream):
        channel = request.values.get("channel", 0 if stream.channels == 1 else None)
        if channel is None or channel >= stream.channels:
            last = stream.channels - 1
            problem = (
                f"it has {stream.channels} channels"
                if channel is None
                else f"there is no channel {channel}"
            )
            shown = stream.channels if stream.channels <= 8 else 1
            listed = ", ".join(
                f"{index} at {stream.frequency(index) / 1e6:.9g} MHz" for index in range(shown)
            )
            raise request.error(
                f"{problem}; channel= chooses one of {listed}"
                + (
                    f" to {last} at {stream.frequency(last) / 1e6:.9g} MHz"
                    if shown < stream.channels
                    else ""
                )
            )
        return channel


FORMAT = Guppi()
