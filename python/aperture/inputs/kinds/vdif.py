#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`vdif:`, recordings of the VLBI Data Interchange Format."""

from ... import aperture_python
from ...formats.recordings import check_recording
from ...formats.vdif.channels import channels_of
from ...formats.vdif.reader import read_stream
from ...parameters.rules import numbers_reader
from ...parameters.times import whole_and_fraction
from ..channels import signals_of_channels
from ..input_format import InputFormat, Option, one_of
from ..recordings import INVERTED, READERS, center_of, encoded, listed, signals_of_block
from ..values import CENTER, RATE

MOST_INPUTS = 65536


class Vdif(InputFormat):
    kind = "vdif"
    summary = "VDIF recordings of VLBI; each channel of each thread is an input"
    names = "FILE[,FILE...]"
    packages = "formats"
    options = {
        "thread": Option(
            numbers_reader(1023, "+"),
            "threads that are read; default: all, in the order of their numbers",
            "N[+N...]",
        ),
        "channel": Option(
            numbers_reader(65535, "+"),
            "channels of each thread that are read; default: all",
            "N[+N...]",
        ),
        "rate": Option(
            RATE,
            "samples a second of a channel; default: what the headers say, or how "
            "many frames a second has",
            "HZ",
        ),
        "freq": Option(
            CENTER,
            "sky frequency of the middle of the band of each channel, which "
            "VDIF does not say; default: that of --array, or 0",
            "HZ",
        ),
        "inverted": INVERTED,
        "band": Option(
            one_of("rising", "falling"),
            "channels of a thread are neighbours of a band, whose sky frequency rises or falls "
            "with their numbers, and are read as they are; freq= is then the middle of all of "
            "them; default: each channel is an input",
            "rising|falling",
        ),
        "readers": READERS,
    }

    def open(self, request):
        values = request.values
        for name in request.names:
            check_recording(name)
        if "band" in values:
            return self._open_band(request)
        stream = read_stream(request.names, values.get("rate"))
        what = listed(request.names)
        selected = self._selected(request, stream)
        warnings = []
        rate = stream.frames_per_second * stream.samples
        warnings += [f"{what}: {text}" for text in stream.warnings]
        if stream.counted:
            seconds = (
                f"{stream.counted} seconds"
                if stream.counted > 1
                else "a single second, whose last ones may be missing"
            )
            warnings.append(
                f"{what}: {rate} samples a second were found by counting the frames of "
                f"{seconds}, since no header says it; rate= would"
            )
        center, told = center_of(request, what, "VDIF", len(selected), float(rate))
        warnings += told
        parameters = dict(
            files=encoded(request.names),
            frame_bytes=stream.frame_bytes,
            legacy=stream.legacy,
            bits=stream.bits,
            complex=stream.complex,
            channels=stream.channels,
            station=stream.station,
            frames_per_second=stream.frames_per_second,
            selected=selected,
            first_frame=[stream.epoch, *stream.first],
            start_time=whole_and_fraction(stream.start),
            center_frequency=center,
            inverted=values.get("inverted") == "yes",
        )
        return signals_of_block(
            request,
            what,
            aperture_python.vdif_source,
            parameters,
            request.names,
            warnings,
            stream.frames * stream.samples,
        )

    @staticmethod
    def _open_band(request):
        """The Signals of files whose channels are those of a band: of stations side by side."""
        values, recordings, warnings = request.values, [], []
        if "channel" in values:
            raise request.error("channel= is not allowed with band=: --select-channels chooses")
        if "freq" not in values:
            warnings.append(
                f"{listed(request.names)}: VDIF does not say at which frequency it was recorded: "
                "0 Hz is taken for the middle of the band; freq= says it"
            )
        for name in request.names:
            stream = read_stream([name], values.get("rate"))
            threads = values.get("thread", stream.threads)
            warnings += [f"{name}: {text}" for text in stream.warnings]
            recordings += [
                entry
                for entry in channels_of(
                    name,
                    stream,
                    float(values.get("freq", 0)),
                    values["band"] == "falling",
                    values.get("inverted") == "yes",
                )
                if entry.part in threads
            ]
        if not recordings:
            raise request.error("there are no such threads")
        return signals_of_channels(request, recordings, warnings)

    @staticmethod
    def _selected(request, stream):
        """(thread, channel) of each input."""
        threads = request.values.get("thread", stream.threads)
        channels = request.values.get("channel", range(stream.channels))
        for thread in threads:
            if thread not in stream.threads:
                raise request.error(
                    f"there is no thread {thread}: expected some of "
                    + ", ".join(map(str, stream.threads))
                )
        for channel in channels:
            if channel >= stream.channels:
                raise request.error(
                    f"there is no channel {channel}: expected some of 0 to {stream.channels - 1}"
                )
        if len(threads) * len(channels) > MOST_INPUTS:
            raise request.error(
                f"{len(threads)} threads of {len(channels)} channels are more than "
                f"{MOST_INPUTS} inputs; thread= and channel= choose"
            )
        return [(thread, channel) for thread in threads for channel in channels]


FORMAT = Vdif()
