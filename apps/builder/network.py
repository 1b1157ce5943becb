#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The ends of flowgraphs of a correlator on several hosts: F-engines send voltages of their inputs
in heaps, and X-engines receive those of their channels.

    role f: source -> f_engine -> spead_sink
    role x: spead_source -> xengine -> uvh5_sink
"""

import dataclasses
import math
from fractions import Fraction

from ..parameters.sample_types import SAMPLE_TYPES
from ..parameters.times import read_time
from ..plan.texts import Part as Share
from ..spead_sink import spead_sink
from ..spead_source import spead_source
from ..streams.silent_block import silent
from .part import Part

PACKET = 8192  # bytes of payload
LARGEST_PACKET = 9200  # bytes
SILENCE = 3.0  # s, after which a host is not waited for at the end
FEWEST_CHUNKS, MOST_CHUNKS = 2, 1 << 14
MOST_WINDOW = 1 << 30  # bytes of the frames of a window


def polarizations_of(description):
    """2 where each antenna has two inputs, one after the other; else 1. All hosts find the same."""
    inputs = description.inputs
    pairs = len(inputs) % 2 == 0 and all(
        a.antenna == b.antenna for a, b in zip(inputs[::2], inputs[1::2])
    )
    return 2 if pairs else 1


def sync_of(plan, signals):
    """Seconds since 1970 at timestamp 0."""
    if plan.network.sync_time is not None:
        return read_time(plan.network.sync_time)
    if signals.sync_time is not None:
        return signals.sync_time
    if signals.live or signals.endless:
        raise plan.error(
            "network.sync_time",
            "must be given, as this input does not say from when its hosts count samples",
        )
    seconds, fraction = signals.start_time
    return seconds + Fraction(fraction)


class Split:
    """
    The split that all hosts agree on.

    Attributes: `whole`, Sizes of all channels; `inputs`, of the array; `first` and `count`, of the
    inputs of an F-engine, or of the channels of an X-engine; `sync`, seconds since 1970 at
    timestamp 0; `sizes`, Sizes of what this host has.
    """

    def __init__(self, plan, signals, sizes):
        self.whole, self.inputs, self.sizes = sizes, signals.inputs, sizes
        self.sync = sync_of(plan, signals)
        self._rate = signals.sample_rate
        self.polarizations = polarizations_of(signals.description)
        if plan.network.role == "f":
            field, share, total = "network.inputs", plan.network.inputs, signals.inputs
            multiple = self.polarizations
        else:
            field, share, total = "network.channels", plan.network.channels, sizes.channels
            multiple = 1
        try:
            self.first, self.count = (share or Share(0, 1)).range_of("", total, multiple)
        except ValueError as error:
            raise plan.error(field, str(error).removeprefix(": ")) from None
        if plan.network.role == "x":
            self.sizes = dataclasses.replace(sizes, channels=self.count, spectra=None)

    def heaps(self, plan):
        """Returns the common parameters of spead_sink and spead_source."""
        return dict(
            kind="voltages",
            sample_rate=self._rate,
            sync_time=self.sync,
            polarizations=self.polarizations,
            taps=self.whole.taps,
            samples_per_spectrum=self.whole.hop,
            spectra_per_frame=self.whole.spectra_per_frame,
            spectra_per_heap=plan.network.spectra_per_heap,
            interface=plan.network.interface,
        )


class Sender(Part):
    """Sends the voltages of this host's inputs; signals: those that its F-engine has."""

    def __init__(self, plan, signals, split):
        super().__init__()
        whole = signals.inputs == split.inputs
        number = split.first // split.polarizations
        self.sink = silent(
            spead_sink,
            address=plan.network.to,
            inputs=signals.inputs,
            first_input=split.first if whole else 0,
            sent_inputs=split.count if whole else 0,
            senders=list(range(number, number + split.count // split.polarizations)),
            channels=split.whole.channels,
            packet_size=PACKET,
            rate_factor=plan.network.rate_factor,
            **split.heaps(plan),
        )
        self.blocks, self.last = {"sender": self.sink}, [self.sink]

    def connect(self, flowgraph, front):
        flowgraph.connect(front.frames, self.sink)

    def integrations(self):
        return self.sink.counts().get("heaps", 0)


class Receiver:
    """
    The frames of this host's channels, as they come from F-engines: it has the methods of a
    FrontEnd. signals: of the whole array.
    """

    tracker, flagging, live = None, {}, False

    def __init__(self, plan, signals, split):
        whole, self._samples = split.whole, split.whole.spectra_per_frame * split.whole.hop
        center = signals.center_frequency
        if signals.real and signals.inverted:
            # the middle of the band is in channel n // 2 - 1
            center += whole.sample_rate / whole.hop
        size = split.count * split.inputs * whole.spectra_per_frame * SAMPLE_TYPES["sc8"].size
        chunks = max(
            FEWEST_CHUNKS,
            min(
                math.ceil(plan.network.window / whole.frame_length),
                MOST_CHUNKS,
                MOST_WINDOW // size,
            ),
        )
        self.source = self.stream = self.frames = silent(
            spead_source,
            address=plan.network.listen,
            center_frequency=center,
            inputs=split.inputs,
            channels=split.count,
            first_channel=split.first,
            total_channels=whole.channels,
            window=chunks,
            align=whole.frames,
            packet_size=LARGEST_PACKET,
            silence=SILENCE,
            **split.heaps(plan),
        )
        self.blocks = {"receiver": self.source}

    def connect(self, flowgraph, followers):
        """Does nothing: whoever takes frames connects with them."""

    def set_gains(self, gains):
        """Does nothing: F-engines have used them."""

    def progress(self):
        """A number that grows as long as data come."""
        return self.source.nitems_written(0)

    def samples_done(self):
        """Samples of each input that came."""
        return self.source.nitems_written(0) * self._samples

    def losses(self):
        """Returns what was missing so far; "" if nothing."""
        missing = self.source.counts().get("missing", 0)
        return f"{missing} heaps missing" if missing else ""
