#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The beginning of the flowgraphs of all commands: an input, what follows it, and an F-engine."""

from .. import f_engine
from .engines import channelizer_parameters, connect_input
from .several_devices import FEngines, devices_of
from .tracking import make_tracker, most_delay


class FrontEnd:
    """
    source -> blocks that follow the stream -> f_engine, all inputs in one port.

    Attributes: `source`, `f_engine`, `tracker` (of --track, or None), and `flagging`, what the
    F-engine was given for flags, empty where nothing flags. With --devices, `f_engine` is FEngines.
    """

    def __init__(self, signals, plan, options, calibrator, flagging=None):
        self._signals, self.flagging = signals, flagging or {}
        self.source = signals.source(plan.samples or 0)
        self.tracker = make_tracker(options, signals, plan.channels, self.source)
        delays = {}
        if self.tracker:
            delays["most_delay"] = most_delay(
                signals.description, plan.sample_rate
            ) + calibrator.most_delay(plan.sample_rate)
        parameters = dict(
            output_type=options.format,
            spectra_per_frame=plan.spectra_per_frame,
            gain=0 if options.format == "fc32" else 1,
            **channelizer_parameters(signals, plan, options),
            **delays,
            **self.flagging,
        )
        self._names = devices_of(options)
        self.f_engine = (
            FEngines(self._names, signals, **parameters) if self._names else f_engine(**parameters)
        )
        self.f_engine.set_log_level("warning")  # lost samples, for example

    def connect(self, flowgraph, *followers):
        """Connects these blocks. followers: more blocks that follow the stream, or None."""
        if self._names:
            self.f_engine.connect(flowgraph, self.source, [self.tracker, *followers], self.tracker)
            return
        connect_input(
            flowgraph, self.source, [self.tracker, *followers], self.f_engine, self._signals.ports
        )
        if self.tracker:
            flowgraph.msg_connect(self.tracker, "delays", self.f_engine, "delays")

    def parts(self):
        """The blocks."""
        engines = self.f_engine.engines if self._names else [self.f_engine]
        return [block for block in (self.source, self.tracker, *engines) if block]
