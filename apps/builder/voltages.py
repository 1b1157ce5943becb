#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Voltages of a flowgraph: files of them, and a ring of the last ones, which is dumped."""

from gnuradio import gr

from ..parameters.errors import ParameterError
from ..streams.silent_block import silent
from ..voltage_ring import voltage_ring
from ..voltage_sink import voltage_sink
from .part import Part


def pairs_of(array):
    """
    Returns how the inputs of an array are written.

    Returns
    -------
    polarizations : int
        2 where each antenna has both, else 1.
    inputs : list of int
        Their order, such that those of an antenna follow on each other.
    names : list of str
        Names of the antennas, or of the inputs.
    """
    antennas = {}
    for number, entry in enumerate(array.inputs):
        antennas.setdefault(entry.antenna, []).append((entry.polarization in "yl", number))
    if all(sorted(first for first, _ in each) == [False, True] for each in antennas.values()):
        return (
            2,
            [number for each in antennas.values() for _, number in sorted(each)],
            list(antennas),
        )
    return 1, list(range(len(array.inputs))), list(array.input_names)


def make_voltage_sink(plan, sizes, array, section, **parameters):
    """
    The voltage_sink of a plan.

    section: names of the fields of the file and of its channels; parameters: beside those of the
    plan.
    """
    file, channels = section
    try:
        return silent(
            voltage_sink,
            filename=plan.value(file),
            channels=sizes.channels,
            spectra_per_frame=sizes.spectra_per_frame,
            type=plan.engines.format,
            array=array,
            overwrite=plan.outputs.overwrite,
            **parameters,
        )
    except ParameterError as error:
        if error.field == "type":
            called = plan.naming(file)
            raise plan.error("engines.format", error.problem, shown=f"with {called}") from None
        raise plan.of_parameters(error, filename=file, selected_channels=channels) from None


class InputVoltages(Part):
    """Files of the voltages of all inputs; description: of what they are."""

    def __init__(self, plan, signals, sizes, description):
        super().__init__()
        polarizations, order, names = pairs_of(signals.description)
        self.sink = make_voltage_sink(
            plan,
            sizes,
            signals.description,
            ("voltages.file", "voltages.channels"),
            selected_channels=plan.voltages.selected,
            inputs=signals.inputs,
            polarizations=polarizations,
            selected_inputs=order,
            names=names,
            description=description,
        )
        self.blocks = {"voltages": self.sink}
        self.sinks, self.last = {"voltages.file": self.sink}, [self.sink]

    def connect(self, flowgraph, front):
        flowgraph.connect(front.frames, self.sink)


def make_ring(plan, signals, sizes, fields, seconds, **more):
    """The voltage_ring that keeps frames for so many seconds; fields: of the plan, those that name
    its files and its length; more: of its parameters."""
    gr.logging().set_default_level(gr.log_levels.off)
    try:
        return voltage_ring(
            filename=plan.value(fields[0]),
            kind="inputs",
            type=plan.engines.format,
            channels=sizes.channels,
            inputs=signals.inputs,
            spectra_per_frame=sizes.spectra_per_frame,
            seconds=seconds,
            rate=1 / sizes.frame_length,
            array=signals.description,
            names=list(signals.description.input_names),
            device=plan.device.first,
            **more,
        )
    except ValueError as error:
        named, _, problem = str(error).partition(": ")
        if named == "size":
            raise plan.error(fields[1], problem, shown=f"{seconds:g}") from None
        if named == "filename":
            raise plan.error(fields[0], problem, shown=True) from None
        raise
    finally:
        gr.logging().set_default_level(gr.log_levels.err)


class Ring(Part):
    """The last voltages of all inputs, written when a trigger comes; description: of the files."""

    def __init__(self, plan, signals, sizes, description):
        super().__init__()
        self.ring = make_ring(
            plan,
            signals,
            sizes,
            ("ring.file", "ring.seconds"),
            plan.ring.seconds,
            disk_limit=plan.ring.most_bytes,
            description=description,
        )
        self.blocks = {"ring": self.ring}

    def connect(self, flowgraph, front):
        flowgraph.connect(front.frames, self.ring)

    def release(self):
        self.ring.release()
