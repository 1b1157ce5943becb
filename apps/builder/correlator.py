#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The correlator of a flowgraph: from frames to a file of visibilities."""

import os

from .. import exchange, join_channels, snapshot, xengine
from ..parameters.sample_types import SAMPLE_TYPES
from ..streams.input_statistics import frames_a_second
from ..streams.silent_block import silent
from ..uvh5_sink import uvh5_sink
from .f_engines import numbered
from .part import Part

#: most bytes of the frames that wait to be measured
MEASURED_BYTES = 64 << 20
#: the place where a calibration is applied -> the parameter of the sink
CALIBRATE = {"f-engine": "applied", "sink": "apply", "nobody": "note"}


def history(program, plan, sizes, flagging, note="", gains=None):
    """
    Returns in one line how a file was made.

    program: its name, and what else is to stand in front; flagging: as FrontEnd has it; note: what
    is to stand behind; gains: of each input, or None.
    """
    # the format wants UTF-8, and a name of a file may be anything
    source = os.fsencode(plan.input.source).decode("utf-8", "backslashreplace")
    texts = [
        f"{program}: {source}, {sizes.channels} channels, {sizes.made_by(plan.engines.window)}, "
        f"{plan.engines.format}"
    ]
    if plan.tracking.direction is not None:
        texts.append(f"delays tracked {plan.tracking.tracked}")
    if flagging:
        values = [f"{name} {value}" for name, value in flagging.items() if value]
        texts.append("flagged by " + ", ".join(values))
    if gains is not None:
        texts.append("gains " + " ".join(f"{gain:.6g}" for gain in gains))
    return ", ".join([*texts, *([note] if note else [])])


def make_sink(plan, field, **parameters):
    """The uvh5_sink of a plan, whose file a field of it names; parameters: beside the plan's."""
    with plan.giving(filename=field, compression="outputs.compression"):
        return silent(
            uvh5_sink,
            overwrite=plan.outputs.overwrite,
            tracked=plan.tracking.direction,
            compression=plan.outputs.compression,
            calibration=plan.calibration.file or "",
            calibrate=CALIBRATE[plan.calibration.by],
            scale=plan.calibration.scale,
            **parameters,
        )


class Correlator(Part):
    """
    xengine -> uvh5_sink, and a `snapshot` that takes some of the frames, for the statistics of the
    inputs.

    On several devices, X-engines of ranges of channels stand between `exchange` and
    `join_channels`, and the statistics are those of the channels of the first device.

    signals: of the whole array; program, note: as history() has them.
    """

    def __init__(self, plan, signals, sizes, flagging, program, note):
        super().__init__()
        self._history = program, plan, sizes, flagging, note
        devices = plan.device.several or [plan.device.name]
        shared = dict(
            inputs=signals.inputs,
            spectra_per_frame=sizes.spectra_per_frame,
            type=plan.engines.format,
        )
        masked = flagging.get("spectra_per_slice", 0)
        counts = [
            exchange.range_of(part, len(devices), sizes.channels)[1] for part in range(len(devices))
        ]
        self.engines = [
            xengine(
                channels=count,
                integration=sizes.frames,
                integration_unit="frames",
                spectra_per_slice=masked,
                device=device,
                **shared,
            )
            for device, count in zip(devices, counts)
        ]
        self.exchanges, self.joins = [], []
        if len(devices) > 1:
            self.exchanges = [
                exchange(
                    channels=sizes.channels,
                    input_devices=devices,
                    output_devices=devices,
                    spectra_per_slice=slice_,
                    **shared,
                )
                for slice_ in ([0, masked] if masked else [0])
            ]
            self.joins = [
                join_channels(sizes.channels, signals.inputs, len(devices), kind)
                for kind in ("fc32", "u32")[: len(self.exchanges)]
            ]
        frame = counts[0] * signals.inputs * sizes.spectra_per_frame
        frame *= SAMPLE_TYPES[plan.engines.format].size
        self.tap = snapshot(
            item_size=frame,
            depth=max(1, min(4, MEASURED_BYTES // frame)),
            device=devices[0],
            rate=frames_a_second(counts[0], signals.inputs, sizes.spectra_per_frame),
        )
        self.sink = make_sink(
            plan,
            "outputs.file",
            filename=plan.outputs.file,
            array=signals.description,
            channels=sizes.channels,
            history=history(*self._history),
            phase_centers=plan.tracking.centers or None,
            statistics=self.tap,
            statistics_type=plan.engines.format,
            statistics_channels=counts[0],
            counts=bool(flagging),
        )
        for block in (*self.engines, *self.exchanges):
            block.set_log_level("warning")
        self.blocks = {
            **numbered("xengine", self.engines),
            "snapshot": self.tap,
            "visibilities": self.sink,
        }
        self.sinks, self.last = {"outputs.file": self.sink}, [self.sink]
        self.others = [*self.exchanges, *self.joins]

    def connect(self, flowgraph, front):
        """Takes frames and masks of the F-engines."""
        ports = 2 if front.flagging else 1
        if not self.exchanges:
            for port in range(ports):
                flowgraph.connect(
                    (front.frames, port), (self.engines[0], port), (self.sink, port)
                )
            flowgraph.connect(front.frames, self.tap)
            return
        for port, (crossing, join) in enumerate(zip(self.exchanges, self.joins)):
            for number, (before, behind) in enumerate(zip(front.f_engines.engines, self.engines)):
                flowgraph.connect(
                    (before, port), (crossing, number), (behind, port), (join, number)
                )
            flowgraph.connect((join, 0), (self.sink, port))
        flowgraph.connect((self.exchanges[0], 0), self.tap)

    def take_gains(self, gains):
        self.sink.take_gains(gains, history(*self._history, gains))

    def integrations(self):
        return self.sink.integrations()

    def progress(self):
        return self.sink.integrations() + self.sink.left_out()

    def implementation(self):
        """Returns the implementation of the first engine, and of the exchange."""
        crossing = [f"exchange {each.implementation()}" for each in self.exchanges[:1]]
        return ", ".join([self.engines[0].implementation(), *crossing])
