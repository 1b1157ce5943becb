#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`drf:`, recordings of Digital RF."""

from ...formats.digital_rf_files import channels_in, open_channel
from ...parameters.rules import numbers_reader
from ..input_format import InputFormat, Option
from ..packaged_recordings import signals_of_packages
from ..recordings import INVERTED, center_of, listed
from ..values import CENTER


def read_names(text):
    found = text.split("+")
    if not all(found) or len(set(found)) < len(found):
        raise ValueError("expected names of channels with + between them, each once")
    return found


class DigitalRf(InputFormat):
    kind = "drf"
    summary = "Digital RF; each sub-channel of each channel is an input"
    names = "FOLDER[,FOLDER...]"
    packages = "digitalrf"
    options = {
        "channel": Option(
            read_names,
            "channels that are read; default: all, in the order of their names",
            "NAME[+NAME...]",
        ),
        "subchannel": Option(
            numbers_reader(65535, "+"),
            "sub-channels of each channel that are read, from 0 on; default: all",
            "N[+N...]",
        ),
        "freq": Option(
            CENTER,
            "sky frequency of the middle of the band; default: what the metadata of the channel "
            "say (center_frequencies), that of --array, or 0",
            "HZ",
        ),
        "inverted": INVERTED,
    }

    def open(self, request):
        values, recordings, readers = request.values, [], {}
        center = float(values["freq"]) if "freq" in values else None
        for top in request.names:
            for channel in channels_in(top, values.get("channel")):
                found, reader = open_channel(top, channel, values.get("subchannel"), center)
                found.inverted = values.get("inverted") == "yes"
                recordings.append(found)
                readers[reader.name] = reader
        inputs, told = sum(entry.inputs for entry in recordings), []
        if any(entry.center_frequency is None for entry in recordings):
            what, rate = listed([entry.name for entry in recordings]), float(recordings[0].rate)
            center, told = center_of(request, what, "Digital RF", inputs, rate)
        for entry in recordings:
            if entry.center_frequency is None:
                entry.center_frequency = center
        return signals_of_packages(request, recordings, readers, list(request.names), told)


FORMAT = DigitalRf()
