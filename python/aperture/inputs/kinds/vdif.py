#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`vdif:`, recordings of the VLBI Data Interchange Format."""

from fractions import Fraction

from ... import aperture_python
from ...formats.recordings import Piece, Recording, check_recording
from ...formats.vdif.channels import channels_of
from ...formats.vdif.reader import name_of_station, read_stream, stations_of
from ...parameters.rules import numbers_reader
from ...parameters.times import whole_and_fraction
from ..channels import signals_of_channels
from ..input_format import InputFormat, Option, one_of
from ..line_up import agree, line_up
from ..recordings import INVERTED, READERS, center_of, encoded, listed, signals_of_block
from ..values import CENTER, RATE

MOST_INPUTS = 65536


class Vdif(InputFormat):
    kind = "vdif"
    summary = "VDIF recordings of VLBI; each channel of each thread is an input"
    names = "FILE[,FILE...]"
    packages = "formats"
    modules = ("baseband",)
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
        "width": Option(
            RATE,
            "with band=: from a channel to the next, where they are oversampled; default: as many "
            "Hz as spectra come a second",
            "HZ",
        ),
        "readers": READERS,
    }

    def open(self, request):
        values = request.values
        for name in request.names:
            check_recording(name)
        if "band" in values:
            return self._open_band(request)
        if "width" in values:
            raise request.error("width= belongs to band=: samples are not those of channels")
        groups = stations_of(request.names, values.get("rate"))
        streams = [read_stream(names, values.get("rate")) for names in groups]
        what, first = listed(request.names), streams[0]
        selected = [
            (*place, number)
            for number, (stream, names) in enumerate(zip(streams, groups))
            for place in self._selected(request, stream, listed(names))
        ]
        if len(selected) > MOST_INPUTS:
            raise request.error(
                f"{len(selected)} channels of threads are more than {MOST_INPUTS} inputs; "
                "thread= and channel= choose"
            )
        rate = first.frames_per_second * first.samples
        center, told = center_of(request, what, "VDIF", len(selected), float(rate))
        recordings = [
            self._recording(listed(names), stream, center, values.get("inverted") == "yes")
            for stream, names in zip(streams, groups)
        ]
        agree(recordings)
        start, rows, more = line_up(recordings)
        numbers = [row[0][1] for row in rows]
        warnings = [text for entry in recordings for text in entry.warnings] + told + more
        files = [name for names in groups for name in names]
        parameters = dict(
            files=encoded(files),
            frame_bytes=first.frame_bytes,
            legacy=first.legacy,
            bits=first.bits,
            complex=first.complex,
            channels=first.channels,
            station=first.station,
            frames_per_second=first.frames_per_second,
            selected=selected,
            first_frame=[first.epoch, *first.first],
            first_sample=numbers[0],
            others=[
                (
                    len(names),
                    stream.frame_bytes,
                    stream.legacy,
                    stream.channels,
                    stream.frames_per_second,
                    stream.station,
                    stream.epoch,
                    *stream.first,
                    number,
                )
                for stream, names, number in list(zip(streams, groups, numbers))[1:]
            ],
            start_time=whole_and_fraction(start),
            center_frequency=center,
            inverted=values.get("inverted") == "yes",
        )
        return signals_of_block(
            request,
            what,
            aperture_python.vdif_source,
            parameters,
            files,
            warnings,
            max(
                number + stream.frames * stream.samples for stream, number in zip(streams, numbers)
            ),
            antennas=self._antennas(streams, selected),
        )

    @staticmethod
    def _recording(what, stream, center, inverted):
        """A Recording of the files of a station, for agree() and line_up()."""
        rate = stream.frames_per_second * stream.samples
        warnings = [f"{what}: {text}" for text in stream.warnings]
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
        return Recording(
            what,
            1,
            f"integers of {stream.bits} bits",
            stream.complex,
            Fraction(rate),
            center,
            [Piece(what, 0, stream.frames * stream.samples, stream.start)],
            inverted,
            warnings=warnings,
        )

    @staticmethod
    def _antennas(streams, selected):
        """Names of stations that have one or two inputs each; None: of a single one, or others."""
        if len(streams) == 1:
            return None
        counts = {sum(place[2] == number for place in selected) for number in range(len(streams))}
        names = [name_of_station(stream.station) for stream in streams]
        if len(counts) > 1 or max(counts) > 2:
            return None
        distinct = all(names) and len(set(names)) == len(names)
        return names if distinct else [f"A{number + 1}" for number in range(len(names))]

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
                    float(values["width"]) if "width" in values else None,
                )
                if entry.part in threads
            ]
        if not recordings:
            raise request.error("there are no such threads")
        return signals_of_channels(request, recordings, warnings)

    @staticmethod
    def _selected(request, stream, what):
        """(thread, channel) of each input of a station."""
        threads = request.values.get("thread", stream.threads)
        channels = request.values.get("channel", range(stream.channels))
        for thread in threads:
            if thread not in stream.threads:
                raise request.error(
                    f"{what}: there is no thread {thread}: expected some of "
                    + ", ".join(map(str, stream.threads))
                )
        for channel in channels:
            if channel >= stream.channels:
                raise request.error(
                    f"{what}: there is no channel {channel}: expected some of 0 to "
                    f"{stream.channels - 1}"
                )
        return [(thread, channel) for thread in threads for channel in channels]


FORMAT = Vdif()
