#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The correlator of the commands: from the frames of an F-engine to a file of visibilities."""

import os

from .. import snapshot, xengine
from ..parameters.sample_types import SAMPLE_TYPES
from ..streams.input_statistics import frames_a_second
from ..streams.silent_block import silent
from ..tracking.directions import parse_direction
from ..uvh5_sink import uvh5_sink
from .several_devices import XEngines, devices_of

#: most bytes of the frames that wait to be measured
MEASURED_BYTES = 64 << 20
#: the place where a calibration is applied -> the parameter of the sink
CALIBRATE = {"f-engine": "applied", "sink": "apply", "nobody": "note"}


def history(program, options, plan, flagging, gains=None):
    """Returns the command that made the file, in one line. program: its name, and what else is to
    stand in front."""
    # the format wants UTF-8, and a name of a file may be anything
    source = os.fsencode(options.input).decode("utf-8", "backslashreplace")
    text = (
        f"{program}: {source}, {plan.channels} channels, {options.taps} taps, "
        f"{options.window}, {options.format}"
    )
    if options.track is not None:
        text += f", delays tracked {parse_direction(options.track)}"
    if flagging:
        text += ", flagged by " + ", ".join(
            f"{name} {value}" for name, value in flagging.items() if value
        )
    if gains is not None:
        text += ", gains " + " ".join(f"{gain:.6g}" for gain in gains)
    return text


class Correlating:
    """
    xengine -> uvh5_sink, and a `snapshot` that takes some of the frames, for the statistics of the
    inputs.

    filename: of the UVH5 file; flagging: as FrontEnd has it; f_engine: that of FrontEnd; note: of
    the file's history, behind all else. With --devices, the correlator is XEngines, and the
    statistics are those of the channels of the first device. Attributes: `correlator`, `tap`,
    `sink`.
    """

    def __init__(self, program, signals, plan, options, filename, flagging, f_engine=None, note=""):
        self._program, self._plan, self._options = program, plan, options
        self._note = note
        self.flagging = flagging
        masked = flagging.get("spectra_per_slice", 0)
        parameters = dict(
            channels=plan.channels,
            inputs=signals.inputs,
            spectra_per_frame=plan.spectra_per_frame,
            type=options.format,
            integration=plan.frames,
            integration_unit="frames",
            device=options.device,
        )
        self._several = bool(devices_of(options))
        self.correlator = (
            XEngines(f_engine, masked, **parameters)
            if self._several
            else xengine(spectra_per_slice=masked, **parameters)
        )
        channels = self.correlator.channels if self._several else plan.channels
        each = SAMPLE_TYPES[options.format].size
        frame = channels * signals.inputs * plan.spectra_per_frame * each
        self.tap = snapshot(
            item_size=frame,
            depth=max(1, min(4, MEASURED_BYTES // frame)),
            device=options.device,
            rate=frames_a_second(channels, signals.inputs, plan.spectra_per_frame),
        )
        self.sink = silent(
            uvh5_sink,
            filename=filename,
            array=signals.description,
            channels=plan.channels,
            overwrite=options.overwrite,
            history=self.history(),
            tracked=options.track,
            phase_centers=options.plan.tracking.centers or None,
            compression=options.compression,
            statistics=self.tap,
            statistics_type=options.format,
            statistics_channels=channels,
            calibration=options.calibration or "",
            calibrate=CALIBRATE[options.calibrate],
            scale=options.scale,
            counts=bool(flagging),
        )
        self.correlator.set_log_level("warning")

    def history(self, gains=None):
        """Returns the command that made the file, in one line."""
        text = history(self._program, self._options, self._plan, self.flagging, gains)
        return ", ".join(filter(None, [text, self._note]))

    def connect(self, flowgraph, frames):
        """Takes the frames of an F-engine."""
        if self._several:
            self.correlator.connect(flowgraph, self.sink)
            flowgraph.connect((self.correlator.exchanges[0], 0), self.tap)
            return
        flowgraph.connect(frames, self.correlator, self.sink)
        if self.flagging:
            flowgraph.connect((frames, 1), (self.correlator, 1))
            flowgraph.connect((self.correlator, 1), (self.sink, 1))
        flowgraph.connect(frames, self.tap)

    def take_gains(self, gains):
        """Notes the gain of each input."""
        self.sink.take_gains(gains, self.history(gains))

    def parts(self):
        """The blocks that may fail."""
        correlator = self.correlator.parts() if self._several else [self.correlator]
        return [*correlator, self.sink]
