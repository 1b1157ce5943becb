#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A part of the band of an input: the Signals that a zoom makes of those of the whole band."""

from dataclasses import dataclass, fields, replace

from .. import zoom
from ..inputs.signals import Signals
from ..parameters.errors import ParameterError
from ..parameters.times import whole_and_fraction
from ..streams.silent_block import silent


@dataclass
class ZoomedSignals(Signals):
    """
    Signals of a part of the band. The block that `source` makes sends the whole band: zoom() makes
    the one that belongs behind it.

    whole : Signals
        Of the whole band.
    parameters : dict
        Of the block zoom, but for its device.
    length : int
        Samples of the whole band that one of the part is made of.
    """

    whole: Signals | None = None
    parameters: dict | None = None
    length: int = 1

    def zoom(self, device, **changes):
        """Makes the block."""
        return silent(zoom, **{**self.parameters, **changes}, device=device)

    def before(self, count):
        return (count - 1) * self.parameters["decimation"] + self.length


def zoomed(plan, signals):
    """
    Returns the Signals of the part of the band that a plan names, or, without one, those given.

    Raises ParameterError where the part cannot be had.
    """
    section = plan.input
    if section.zoomed is None:
        return signals
    refuse = lambda problem: plan.error("input.zoom", problem, shown=True)
    if signals.channels:
        raise refuse(f"the {signals.channels} channels of the input are as recorded")
    frequency, decimation = section.zoomed
    parameters = dict(
        frequency=frequency,
        decimation=decimation,
        passband=section.zoom_passband,
        inputs=signals.inputs,
        inputs_per_port=signals.inputs // signals.ports,
        input_type=signals.sample_type,
        inverted=signals.inverted,
    )
    try:
        length = silent(zoom, **parameters, device="cpu").length()
    except ParameterError as error:
        raise refuse(error.problem) from None
    rate = signals.sample_rate / decimation
    room = (signals.bandwidth - section.zoom_passband * rate) / 2
    if not abs(frequency) <= room * (1 + 1e-9):
        raise refuse(
            f"the passband of {section.zoom_passband * rate:.10g} Hz must lie within the band of "
            f"{signals.bandwidth:.10g} Hz: expected a frequency from {-room:.10g} to {room:.10g} Hz"
        )
    samples = signals.samples
    if samples is not None:
        if samples < length:
            raise refuse(f"the input has {samples} samples, and the filter takes {length}")
        samples = (samples - length) // decimation + 1
    taken = lambda count: count and (count - 1) * decimation + length
    source_from, part = signals.source_from, signals.part
    return ZoomedSignals(
        **{
            **{field.name: getattr(signals, field.name) for field in fields(Signals)},
            "description": replace(
                signals.description, center_frequency=signals.center_frequency + frequency
            ),
            "sample_type": "fc32",
            "sample_rate": rate,
            "center_frequency": signals.center_frequency + frequency,
            "samples": samples,
            "source": lambda count: signals.source(taken(count)),
            "start_time": whole_and_fraction(signals.time_of((length - 1) // 2)),
            "inverted": False,
            "part": None if part is None else lambda *inputs: zoomed(plan, part(*inputs)),
            "source_from": None
            if source_from is None
            else lambda count, first: source_from(taken(count), first * decimation),
        },
        whole=signals,
        parameters=parameters,
        length=length,
    )
