#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Receivers as one source, whose outputs are lined up."""

import math
import time
import weakref
from dataclasses import dataclass

import numpy as np
from gnuradio import blocks, gr

from .. import aperture_python
from ..noise_switch import noise_switch

SEARCH = 0.4  # s of samples, and of offsets, that are looked through
MOST_SEARCH = 1 << 28  # samples, as stream_align has it
FEWEST_SEARCH = 1 << 12
FOLLOW = 1.0  # s between measurements of receivers on clocks of their own
SETTLE = 0.05  # s at the start that say nothing of levels
HELD = 1.0  # s of samples that wait while levels are measured
MOST_HELD = 1 << 24  # samples
STORM, STORM_SPAN = 20, 2.0  # losses in so many seconds that leave nothing to be lined up
LEAD = 0.5  # s from now to the start of receivers that start at a time


@dataclass
class Receiver:
    """
    A device that is set up. name: of the user's; block: GNU Radio's source of it; channels: its
    outputs; rate, frequency: Hz, that hold; driver: sets what may be set while it runs.
    """

    name: str
    block: object
    channels: int
    rate: float
    frequency: float
    driver: object


@dataclass(frozen=True)
class InputState:
    """
    The state of an input. receiver: its name; aligned: whether its offset is known; offset: samples
    that it was delayed by, less those of the first input; phase: rad that were added to it; snr:
    signal-to-noise of the last measurement by correlation, 0 without one; slips: jumps that were
    mended; missing: samples that are sent as zeros; losses: how often its driver said that samples
    were lost; reason: why it was not found by correlation, where it was not; ppm: by how many
    millionths its clock is faster than that of the first input, not a number where nobody knows.
    """

    receiver: str
    aligned: bool
    offset: float
    phase: float
    snr: float
    slips: int
    missing: int
    losses: int
    reason: str = ""
    ppm: float = math.nan


def input_states(names, align, losses):
    """An InputState of each input of a stream_align; names, losses: [input]."""
    return [
        InputState(*entry)
        for entry in zip(
            names,
            align.aligned(),
            align.offsets(),
            align.phases(),
            align.snr(),
            align.slips(),
            align.zeros(),
            losses,
            align.reasons(),
            align.clock_ppm(),
        )
    ]


class LiveSource(gr.hier_block2):
    """
    Receivers as one source: a port for each input, of fc32, lined up.

    receivers: list of Receiver, of one rate; samples: of each input, 0: without end; clock_error:
    ppm; most_offset, search: s; follow_clock: as the options of receivers are; noise: a function
    that switches a noise source, of True or False, None: there is none; noise_every: s, 0: at the
    start and after each tuning alone. It has no message port of its own: a block that has one that
    is connected within is never freed, nor would its receivers be.
    """

    def __init__(
        self,
        receivers,
        samples=0,
        clock_error=0.0,
        most_offset=SEARCH,
        search=SEARCH,
        follow_clock=False,
        noise=None,
        noise_every=0,
    ):
        inputs = sum(receiver.channels for receiver in receivers)
        gr.hier_block2.__init__(
            self,
            "receivers",
            gr.io_signature(0, 0, 0),
            gr.io_signature(inputs, inputs, gr.sizeof_gr_complex),
        )
        self._receivers = receivers
        # lists with an entry for each input
        self._names, self._tags, self._drivers = [], [], []
        self.rate = receivers[0].rate

        def length(seconds):
            return int(min(max(seconds * self.rate, FEWEST_SEARCH), MOST_SEARCH))

        self.align = aperture_python.stream_align(
            inputs=inputs,
            clock_error=clock_error,
            interval=FOLLOW if clock_error else noise_every,
            noise_source="message" if noise else "none",
            search_samples=length(search),
            most_offset=length(most_offset),
            follow_clock=follow_clock,
            # one alone has nothing to be lined up with
            method="auto" if inputs > 1 else "time",
        )
        #: the noise_switch of the noise source, to whose port `noise` others may be connected, too;
        #: None: there is none
        self.noise_switch = None
        if noise:
            # blocks in Python may live a while longer, and must not keep the receivers open
            self._noise, held = noise, weakref.ref(noise)
            self.noise_switch = noise_switch(by="call", call=lambda on: held()(on))
            self.msg_connect(self.align, "noise", self.noise_switch, "noise")
        for receiver in receivers:
            for channel in range(receiver.channels):
                self._names.append(
                    receiver.name + (f" channel {channel}" if receiver.channels > 1 else "")
                )
                said = aperture_python.receiver_tags(
                    item_size=8, rate=receiver.rate, center_frequency=receiver.frequency
                )
                self._tags.append(said)
                self._drivers.append(receiver.driver)
                self.connect((receiver.block, channel), said)
        self._ends = []
        for port, said in enumerate(self._tags):
            self.connect(said, (self.align, port))
            if samples:
                self._ends.append(blocks.head(gr.sizeof_gr_complex, samples))
                self.connect((self.align, port), self._ends[-1], (self, port))
            else:
                self.connect((self.align, port), (self, port))
        self._kept, self._wanted = [], 0
        self._settle = int(SETTLE * self.rate)
        self._ended = False
        self._error = ""
        self._progress = {}  # port: (items, since when)
        self._losses = []  # (when, of each port)

    # ---- levels

    def keep_first(self, count):
        """Keeps `count` samples of each input, from after the receivers have settled, and holds the
        output back until release(): to be called before the start."""
        waiting = int(min(HELD * self.rate, MOST_HELD))
        for said in self._tags:
            # the samples that come meanwhile
            said.set_min_output_buffer(max(waiting, 2 * count))
            # a block that ends would end its source for all others
            tap = blocks.copy(gr.sizeof_gr_complex)
            sink = blocks.vector_sink_c(1, self._settle + count)
            self.connect(said, tap, sink)
            self._kept.append((tap, sink))
        self._wanted = count
        self.align.hold_back()

    def first_samples(self):
        """Returns the samples that are kept, complex64 [input][sample]; None until all have come,
        or the stream was ended."""
        counts = [sink.nitems_read(0) - self._settle for _, sink in self._kept]
        if min(counts) < self._wanted and not self._ended:
            return None
        for tap, _ in self._kept:
            tap.set_enabled(False)
        count = max(0, min(*counts, self._wanted))
        return np.array(
            [np.array(sink.data(), np.complex64)[self._settle :][:count] for _, sink in self._kept]
        )

    def release(self):
        """Lets the output go."""
        self.align.release()

    # ---- what a source has

    def nitems_written(self, port):
        """Samples that have gone out."""
        return (self._ends[port] if self._ends else self.align).nitems_written(
            0 if self._ends else port
        )

    def finish(self):
        """Ends the stream, so that all blocks behind this one write what they have."""
        self._ended = True
        for said in self._tags:
            said.finish()

    def error(self):
        """Returns why it ended, "" if nothing went wrong."""
        return self._error or next(filter(None, (d.error() for d in self._drivers)), "")

    def prepare(self):
        """Lets receivers that can do so start at one time; to be called just before the start."""
        times = [receiver.driver.now() for receiver in self._receivers]
        if all(now is not None for now in times):
            for receiver in self._receivers:
                receiver.driver.start_at(times[0] + LEAD)

    def measure(self):
        """Measures all inputs anew, with the noise source on where it has a switch."""
        self.align.measure()

    def tune(self, frequency):
        """Tunes all receivers while they run; the samples say so from where it holds."""
        for receiver in self._receivers:
            for channel in range(receiver.channels):
                receiver.driver.set("freq", channel, frequency)
        port = 0
        for receiver in self._receivers:
            for channel in range(receiver.channels):
                if not receiver.driver.tags_tuning:
                    self._tags[port].set_center_frequency(receiver.driver.get("freq", channel))
                port += 1

    # ---- how it goes

    def states(self):
        """An InputState of each input."""
        return input_states(self._names, self.align, [said.losses() for said in self._tags])

    def watch(self):
        """Watches receivers, to be called from time to time while it runs: ends the stream, with an
        error(), where a receiver sends nothing any more, or loses so much that nothing is left."""
        if self.error():
            return
        problem = self._silent() or self._storming()
        if problem:
            self._error = problem
            self.finish()

    def _silent(self):
        now = time.monotonic()
        idle = []
        for port, said in enumerate(self._tags):
            items = said.nitems_written(0)
            # samples that wait here wait for another input, or have no time
            waiting = said.waiting()
            if self._progress.get(port, (None,))[0] != items or waiting:
                self._progress[port] = items, now
            elif now - self._progress[port][1] > self._drivers[port].patience:
                idle.append(port)
        if not idle:
            return ""
        names = " and ".join(self._names[port] for port in idle)
        if all(self._progress[port][0] == 0 for port in idle):
            return (
                f"no samples come from {names}: aperture_doctor receivers looks for what is wrong"
            )
        seconds = min(self._progress[port][0] for port in idle) / self.rate
        return f"{names} stopped sending after {seconds:.1f} s (unplugged? its driver failed?)"

    def _storming(self):
        now = time.monotonic()
        self._losses = [entry for entry in self._losses if now - entry[0] <= STORM_SPAN]
        self._losses.append((now, [said.losses() for said in self._tags]))
        first, last = self._losses[0], self._losses[-1]
        lost = [b - a for a, b in zip(first[1], last[1])]
        if max(lost) < STORM:
            return ""
        name = self._names[lost.index(max(lost))]
        return (
            f"{name} loses samples all the time, {max(lost)} times in "
            f"{last[0] - first[0]:.1f} s: the bus or this computer is too slow for "
            f"{self.rate / 1e6:.10g} Msample/s; lower the rate, or give it a bus of its own"
        )
