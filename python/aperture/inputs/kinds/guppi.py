#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`guppi:`, recordings of GUPPI raw."""

from ...formats.guppi.reader import (
    channels_of,
    end_of,
    pieces_of,
    read_stream,
    samples_of,
    streams_of,
)
from ...formats.recordings import check_recording
from ...parameters.rules import whole_reader
from ..channels import signals_of_channels
from ..input_format import InputFormat, Option
from ..line_up import signals_of, signals_of_pieces
from ..recordings import READERS


class Guppi(InputFormat):
    kind = "guppi"
    summary = "recordings of GUPPI raw: all channels, or one that the filter bank cuts up"
    names = "FILE[,FILE...]"
    packages = "formats"
    modules = ("baseband",)
    options = {
        "channel": Option(
            whole_reader(0, 1 << 20),
            "coarse channel, from 0 on, that alone is read, as samples for the filter bank; "
            "default: all, as they are",
            "N",
        ),
        "npol": Option(
            whole_reader(1, 2),
            "polarisations of each antenna, where NPOL 2 may be two "
            "of them (rawspec) or the two components of one (baseband); default: "
            "what PIPERBLK and PKTIDX say",
            "1|2",
        ),
        "readers": READERS,
    }

    def open(self, request):
        npol = request.values.get("npol")
        streams = []
        for names in streams_of(request.names):
            for name in names:
                check_recording(name)
            streams.append((read_stream(names, npol), names))
        # the voltages of a single channel can only be cut up
        if "channel" not in request.values and any(stream.channels > 1 for stream, _ in streams):
            return signals_of_channels(
                request, [channels_of(stream, names) for stream, names in streams]
            )
        in_time = sorted((stream for stream, _ in streams), key=lambda stream: stream.start)
        if any(later.start < end_of(before) for before, later in zip(in_time, in_time[1:])):
            return self._side_by_side(request, streams)
        stream, names = streams[0]
        if len(streams) > 1:
            # files of whatever names that follow each other are one stream
            names = list(request.names)
            stream = read_stream(names, npol)
        channel = self._channel(request, stream)
        what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        pieces, layout = pieces_of(stream, channel)
        if not pieces:
            raise ValueError(
                f"{names[0]}: has no samples of channel {channel}: its only block ends before it"
            )
        return signals_of_pieces(
            request,
            what,
            names,
            pieces,
            layout,
            stream.rate,
            stream.start,
            dict(
                coding=stream.coding,
                complex=stream.complex,
                center_frequency=stream.frequency(channel),
                inverted=stream.width < 0,
            ),
            warnings=stream.warnings,
            unused=stream.unused,
            telescope=str(stream.header.get("TELESCOP", "")),
            antennas=stream.antenna_names(),
        )

    def _side_by_side(self, request, streams):
        """The Signals of one channel of files of the same time, which are of antennas."""
        recordings = [
            entry
            for stream, names in streams
            for entry in samples_of(stream, names, self._channel(request, stream))
        ]
        antennas = [name for entry in recordings for name in entry.antennas or [""]]
        known = all(antennas) and len(set(antennas)) == len(antennas)
        if not known:
            antennas = [f"A{number + 1}" for number in range(len(recordings))]
        return signals_of(request, recordings, within=False, antennas=antennas)

    @staticmethod
    def _channel(request, stream):
        channel = request.values.get("channel", 0)
        if channel >= stream.channels:
            last = stream.channels - 1
            shown = stream.channels if stream.channels <= 8 else 1
            listed = ", ".join(
                f"{index} at {stream.frequency(index) / 1e6:.9g} MHz" for index in range(shown)
            )
            raise request.error(
                f"there is no channel {channel}; channel= chooses one of {listed}"
                + (
                    f" to {last} at {stream.frequency(last) / 1e6:.9g} MHz"
                    if shown < stream.channels
                    else ""
                )
            )
        return channel


FORMAT = Guppi()
