#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Voltages in a plan: files of them that are written beside what a command makes."""

import os

from ..parameters.errors import ParameterError
from ..plan.texts import numbers_of
from ..streams.silent_block import silent
from ..voltage_sink import voltage_sink
from .running import CommandError
from .tables import with_prefix

#: parameter of the block -> option of the commands
OPTIONS = {
    "filename": "--voltages",
    "selected_channels": "--voltage-channels",
    "type": "--format with --voltages",
}


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


def make_voltage_sink(options, plan, array, **parameters):
    """The block for --voltages, or None; parameters: of voltage_sink, beside those of the plan."""
    if options.voltages is None:
        return None
    channels = options.voltage_channels
    try:
        return silent(
            voltage_sink,
            filename=options.voltages,
            channels=plan.channels,
            spectra_per_frame=plan.spectra_per_frame,
            type=options.format,
            array=array,
            selected_channels=None if channels is None else numbers_of(channels),
            overwrite=options.overwrite,
            **parameters,
        )
    except ParameterError as error:
        if error.field not in OPTIONS:
            raise
        raise CommandError(f"{OPTIONS[error.field]}: {error.problem}") from None


def make_input_voltages(options, plan, signals, description):
    """The block for --voltages of inputs, or None; description: of what they are."""
    polarizations, order, names = pairs_of(signals.description)
    return make_voltage_sink(
        options,
        plan,
        signals.description,
        inputs=signals.inputs,
        polarizations=polarizations,
        selected_inputs=order,
        names=names,
        description=description,
    )


def voltages_row(sink):
    """A row of the table at the end."""
    files = sink.files()
    size = sum(os.path.getsize(path) for path in files)
    text = files[0] if len(files) == 1 else f"{files[0]} ... {files[-1]}, {len(files)} files"
    return "voltages", f"{text}, {with_prefix(size, 'B')}"
