#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The calibration of a plan, which F-engines apply: one that is known, or one that is measured
while it runs."""

import math
from dataclasses import replace

import numpy as np

from ..beams.weights import channel_frequencies
from ..calibration.calibration_file import load_calibration
from ..calibration.messages import apply_calibration
from ..calibrator import calibrator
from ..parameters.regular_file import check_regular
from ..plan.signal_sections import METHODS
from ..streams.silent_block import silent
from ..streams.stream_band import Band, StreamBand


def frequencies_of(signals, channels):
    """Sky frequencies [channel], Hz, of the channels that an F-engine makes of signals."""
    band = StreamBand(
        Band(signals.center_frequency, signals.bandwidth), signals.real, signals.inverted
    ).of_channels(channels)
    return channel_frequencies(channels, band.center, band.width)


class Calibrator:
    """
    The calibration of a plan, for F-engines of so many channels; nothing without one.

    calibration: the Calibration, or None; by_engines: whether F-engines apply it; warnings: for
    the user.
    """

    def __init__(self, plan, signals, channels):
        section = plan.calibration
        self.calibration, self.warnings, self._scale = None, [], section.scale
        self.by_engines = section.by == "f-engine"
        if section.file is None:
            return
        check_regular(section.file, "a calibration")
        self.calibration = load_calibration(section.file)
        self._names = signals.description.input_names
        self._frequencies = frequencies_of(signals, channels)
        # complains about what it does not have
        self.calibration.bandpasses(self._frequencies, self._names, section.scale)
        start = sum(signals.start_time)
        self.warnings = [f"{section.file}: {text}" for text in self.calibration.warnings(start)]
        if section.by != "nobody":
            # tracked delays and weights of beams are for what it makes of the array
            signals.description = calibrated_array(signals.description, self.calibration)

    def most_delay(self, sample_rate):
        """Samples by which it delays an input at most, either way."""
        if self.calibration is None:
            return 0
        return math.ceil(float(np.max(np.abs(self.calibration.delays()))) * sample_rate)

    def set(self, block, first=0, count=None):
        """Sets it in an F-engine or a channeliser that was not yet started, of `count` inputs from
        `first` on; None: of all."""
        if self.calibration is not None and self.by_engines:
            names = self._names[first:][:count]
            apply_calibration(self.calibration, block, names, self._frequencies, self._scale)


def calibrated_array(array, calibration):
    """Returns the array after its calibration: without cable delays, with gains of 1, or 0 of
    inputs that are dead, or that the calibration did not find."""
    return replace(
        array,
        inputs=[
            replace(
                entry,
                cable_delay=0.0,
                gain=1.0 if entry.gain != 0 and calibration.of(entry.name).found else 0.0,
            )
            for entry in array.inputs
        ],
    )


def check_switched(plan):
    """Refuses what would have the noise source in it without a flag."""
    called = f"{plan.naming('calibration.measure')} and a noise source that is switched"
    unflagged = [
        ("beams.directions", "powers"),
        ("voltages.file", "voltages"),
        ("ring.file", "voltages"),
        *(
            (f"products.{name}.integration", "integrations of its own X-engine")
            for name, product in plan.products.items()
            if product.fast
        ),
    ]
    for name, what in unflagged:
        if plan.value(name) is not None:
            raise plan.error(
                name, f"not with {called}: it would be in the {what}, which have no flags for it"
            )
    if plan.flagging.wanted:
        name = next(f"flagging.{n}" for n in METHODS if getattr(plan.flagging, n) is not None)
        raise plan.error(
            name, f"not with {called}: channels are counted one by one, also where the source is on"
        )


class CalibrationLoop:
    """
    The calibration that a plan measures while it runs: X-engine -> calibrator, whose messages the
    F-engine takes, and the switch of the receivers' noise source, where they have one.

    source: of the flowgraph; block: the calibrator; switched: whether it stands between X-engine and
    sinks, since it flags what has the noise source.
    """

    def __init__(self, plan, signals, sizes, source):
        section = plan.calibration
        self._switch = None
        if section.measure == "noise":
            self._switch = getattr(source, "noise_switch", None)
        self.switched = self._switch is not None
        if self.switched:
            check_switched(plan)
        with plan.giving(source="calibration.measure"):
            self.block = silent(
                calibrator,
                array=signals.description,
                channels=sizes.channels,
                source=section.measure,
                integrations=section.integrations,
                every=section.every,
                noise_source="message" if self.switched else "none",
                noise_settle=section.noise_settle,
                noise_patience=section.noise_patience,
                scale="level",
            )

    def connect(self, flowgraph, f_engine):
        """Connects its messages; f_engine: the block that applies them."""
        for port in ("delays", "gains"):
            flowgraph.msg_connect(self.block, port, f_engine, port)
        if self.switched:
            flowgraph.msg_connect(self.block, "noise", self._switch, "noise")

    def problems(self):
        """Returns what the user is to know, as texts."""
        if self.block.measurements():
            return []
        return [f"no calibration was measured: {self.block.why_not()}"]


def calibration_loop(plan, signals, sizes, source):
    """The CalibrationLoop of a plan; None: it has none."""
    if plan.calibration.measure is None:
        return None
    return CalibrationLoop(plan, signals, sizes, source)
