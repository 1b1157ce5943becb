#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`guppi:`, recordings of GUPPI raw."""

from ...formats.guppi.reader import channels_of, following, pieces_of, read_stream, streams_of
from ...formats.recordings import check_recording
from ...parameters.rules import whole_reader
from ..channels import signals_of_channels
from ..input_format import InputFormat, Option
from ..line_up import signals_of_pieces


class Guppi(InputFormat):
    kind = "guppi"
    summary = "recordings of GUPPI raw: all channels, or one that the filter bank cuts up"
    names = "FILE[,FILE...]"
    packages = "formats"
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
    }

    def open(self, request):
        npol = request.values.get("npol")
        if "channel" not in request.values:
            streams = []
            for names in streams_of(request.names):
                for name in names:
                    check_recording(name)
                streams.append((read_stream(names, npol), names))
            # the voltages of a single channel can only be cut up
            if any(stream.channels > 1 for stream, _ in streams):
                return signals_of_channels(
                    request, [channels_of(stream, names) for stream, names in streams]
                )
        # NAME.0000.raw brings those that follow it
        names = following(request.names[0]) if len(request.names) == 1 else list(request.names)
        for name in names:
            check_recording(name)
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
