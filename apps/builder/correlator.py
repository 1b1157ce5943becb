#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The correlator of a flowgraph: from frames to a file of visibilities."""

import os
from dataclasses import replace

from .. import exchange, join_channels, snapshot, visibility_averager, xengine
from ..delay_tracker import delay_tracker
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
    if plan.input.zoomed is not None:
        texts.append("zoom of {:.10g} Hz, decimation {}".format(*plan.input.zoomed))
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
            compression=plan.outputs.compression,
            calibration=plan.calibration.file or "",
            calibrate=CALIBRATE[plan.calibration.by],
            scale=plan.calibration.scale,
            **parameters,
        )


def rotates_before(plan, signals):
    """Returns whether phases may be rotated to the plan's phase centres before they are averaged,
    which delays that follow samples do."""
    return bool(
        plan.tracking.centers
        and not signals.channels
        and plan.engines.upchannelise is None
        and plan.network.role == "fx"
        and plan.device.several is None
        and not plan.outputs.resume
    )


def make_trackers(plan, signals, sizes, stream, centers):
    """A delay_tracker for each phase centre, for a visibility_averager. Cable delays, which tracking
    alone takes out, are those of the F-engine's tracker, or none."""
    array = signals.description
    if plan.tracking.direction is None:
        array = replace(array, inputs=[replace(each, cable_delay=0.0) for each in array.inputs])
    return [
        silent(
            delay_tracker,
            array=array,
            direction=direction,
            channels=sizes.channels,
            real=signals.real,
            inverted=signals.inverted,
            item_size=stream.output_signature().sizeof_stream_item(0),
        )
        for direction in centers
    ]


def connect_trackers(flowgraph, trackers, averager, front):
    """Connects the trackers of phase centres, and that of the F-engine, to an averager."""
    for number, tracker in enumerate(trackers):
        port = f"delays{number}" if len(trackers) > 1 else "delays"
        flowgraph.msg_connect(tracker, "delays", averager, port)
    if trackers and front.tracker:
        flowgraph.msg_connect(front.tracker, "delays", averager, "tracked")


class Correlator(Part):
    """
    xengine -> uvh5_sink, with a visibility_averager between them where products take shorter
    integrations of the X-engine; and a `snapshot` that takes some of the frames, for the statistics of the
    inputs.

    On several devices, X-engines of ranges of channels stand between `exchange` and
    `join_channels`, and the statistics are those of the channels of the first device.

    signals: of the whole array; stream: the block whose samples F-engines read, or None; program,
    note: as history() has them; loop: a CalibrationLoop, or None. `visibilities` is the block that sends
    those of all inputs. `sinks_of_centers` are the sinks, one for each phase centre that is
    rotated to before averages are made, else `sink` alone.
    """

    def __init__(self, plan, signals, sizes, flagging, stream, program, note, loop=None):
        super().__init__()
        self._loop = loop
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
                integration=sizes.engine_frames,
                integration_unit="frames",
                spectra_per_slice=masked,
                device=device,
                **shared,
            )
            for device, count in zip(devices, counts)
        ]
        self.visibilities = loop.block if loop and loop.switched else self.engines[0]
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
        self._averagers, self._trackers = [], []
        if sizes.averaged > 1:
            if rotates_before(plan, signals):
                self._trackers = make_trackers(plan, signals, sizes, stream, plan.tracking.centers)
            self._averagers = [
                visibility_averager(
                    channels=sizes.channels,
                    inputs=signals.inputs,
                    integration=sizes.averaged,
                    centers=len(self._trackers),
                    counts=bool(flagging),
                    device=devices[0],
                )
            ]
        centers = plan.tracking.centers
        self.sinks_of_centers = [
            make_sink(
                plan,
                "outputs.file",
                filename=plan.outputs.file,
                array=signals.description,
                channels=sizes.channels,
                history=history(*self._history),
                statistics=self.tap if number == 0 else None,
                statistics_type=plan.engines.format,
                statistics_channels=counts[0],
                counts=bool(flagging),
                **about,
            )
            for number, about in enumerate(
                [{"tracked": center} for center in centers]
                if self._trackers
                else [{"tracked": plan.tracking.direction, "phase_centers": centers or None}]
            )
        ]
        self.sink = self.sinks_of_centers[0]
        for block in (*self.engines, *self.exchanges, *self._averagers):
            block.set_log_level("warning")
        self.blocks = {
            **numbered("xengine", self.engines),
            "snapshot": self.tap,
            **numbered("visibilities", self.sinks_of_centers),
        }
        if loop:
            self.blocks["calibrator"] = loop.block
        self.sinks = numbered("outputs.file", self.sinks_of_centers)
        self.last = list(self.sinks_of_centers)
        self.others = [*self.exchanges, *self.joins, *self._averagers, *self._trackers]

    def connect(self, flowgraph, front):
        """Takes frames and masks of the F-engines."""
        ports = 2 if front.flagging else 1
        if not self.exchanges:
            chain = [front.frames, self.engines[0], *self._averagers]
            if self._loop:
                self._loop.connect(flowgraph, front.frames)
                if self._loop.switched:
                    chain.insert(2, self._loop.block)
                else:
                    flowgraph.connect(self.engines[0], self._loop.block)
            for port in range(ports):
                flowgraph.connect(*((block, port) for block in chain))
                for number, sink in enumerate(self.sinks_of_centers):
                    out = port * len(self.sinks_of_centers) + number
                    flowgraph.connect((chain[-1], out), (sink, port))
            if self._trackers:
                connect_trackers(flowgraph, self._trackers, self._averagers[0], front)
            flowgraph.connect(front.frames, self.tap)
            return
        for port, (crossing, join) in enumerate(zip(self.exchanges, self.joins)):
            for number, (before, behind) in enumerate(zip(front.f_engines.engines, self.engines)):
                flowgraph.connect(
                    (before, port), (crossing, number), (behind, port), (join, number)
                )
            flowgraph.connect((join, 0), (self.sink, port))
        flowgraph.connect((self.exchanges[0], 0), self.tap)

    def followers(self):
        return self._trackers

    def take_gains(self, gains):
        for sink in self.sinks_of_centers:
            sink.take_gains(gains, history(*self._history, gains))

    def problems(self):
        return (self._loop.problems() if self._loop else []), False

    def files(self):
        """Paths of the files."""
        return [path for sink in self.sinks_of_centers for path in sink.files()]

    def integrations(self):
        return self.sink.integrations()

    def progress(self):
        return self.sink.integrations() + self.sink.left_out()

    def implementation(self):
        """Returns the implementation of the first engine, and of the exchange."""
        crossing = [f"exchange {each.implementation()}" for each in self.exchanges[:1]]
        return ", ".join([self.engines[0].implementation(), *crossing])
