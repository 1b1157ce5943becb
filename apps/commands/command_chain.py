#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The base of the commands' flowgraphs: an input, an F-engine, a sink, and levels."""

import numpy as np
from gnuradio import gr

from .engines import losses_text
from .levels import fill_gains, measure_gains, samples_for_gains
from .terminal import warn


class CommandChain(gr.top_block):
    """
    A flowgraph of a command: source -> (what follows it) -> f_engine -> ... -> sink.

    A derived class makes and connects `source`, `f_engine`, `sink`, which is asked for what was
    written, and `voltages`, one more or None. gains: those of the inputs, None of fc32.
    """

    def __init__(self, program, signals, plan, options):
        super().__init__(program)
        self._program = program
        self._signals, self._plan, self._options = signals, plan, options
        self.gains = None
        self._say = None  # while levels of receivers are still to be measured

    def parts(self):
        """All blocks that may fail."""
        raise NotImplementedError

    def take_gains(self, gains):
        """Uses the gain of each input for what stands behind the F-engine."""
        raise NotImplementedError

    def level(self, calibrate, say):
        """
        Measures the gains for 8 bits and uses them, a recording's at once; receivers cannot be
        read twice, so theirs are measured from their first samples while they run, and nothing
        leaves them before. calibrate(channelizer) sets what else voltages are multiplied with, or
        is None; say(gains) tells the user. A --gain is used instead.
        """
        if getattr(self._options, "gain", None) is not None:
            self._use(np.full(self._signals.inputs, self._options.gain))
            return
        self._calibrate = calibrate
        if self._signals.live:
            self._say = say
            self.source.keep_first(samples_for_gains(self._signals, self._plan))
        else:
            self._use(measure_gains(self._signals, self._plan, self._options, calibrate))
            say(self.gains)

    def _use(self, measured):
        self.gains, warnings = fill_gains(measured, self._signals.description.input_names)
        for text in warnings:
            warn(self._program, text)
        for number, gain in enumerate(self.gains):
            self.f_engine.set_gain(complex(gain), number)
        self.take_gains(self.gains)

    def start(self, *arguments):
        if self._signals.live:
            self.source.prepare()
        super().start(*arguments)

    def adjust(self):
        """Looks after receivers; to be called from time to time while it runs."""
        if self._signals.live:
            self.source.watch()
        samples = self.source.first_samples() if self._say else None
        if samples is None:
            return
        say, self._say = self._say, None
        if samples.shape[1] < self._plan.taps * self._plan.hop:
            self.stop()  # the input ended before its first spectrum
            return
        self._use(measure_gains(self._signals, self._plan, self._options, self._calibrate, samples))
        say(self.gains)
        self.source.release()

    def ended(self):
        """Returns whether all that comes has been written."""
        return all(sink.detail().done() for sink in (self.sink, self.voltages) if sink)

    def integrations(self):
        """Returns how many were written."""
        return self.sink.integrations()

    def samples_done(self):
        """Samples of each input that the F-engine has taken."""
        # at the end it reads on into what it needs for delays, which nobody has sent
        return min(self.f_engine.nitems_read(0), self.source.nitems_written(0))

    def losses(self):
        """Returns what was missing or clamped so far, as text."""
        return losses_text(self.f_engine)

    def problems(self):
        """Returns what the user is to know of what was lost, as texts, and whether it makes the run
        a failed one."""
        return [], False

    def errors(self):
        """Returns what went wrong while it ran, as texts."""
        return [
            text
            for block in self.parts()
            for text in [getattr(block, "error", lambda: "")()]
            if text
        ]
