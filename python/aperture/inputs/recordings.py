#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common parts of recordings of all formats."""

import math
import os

from ..arrays.array_description import ArrayDescription, load_array
from ..arrays.telescopes import array_of_recording
from ..parameters.rules import whole_reader
from ..streams.silent_block import silent
from .input_format import InputError, Option, one_of
from .signals import Signals

INVERTED = Option(
    one_of("yes", "no"),
    "yes: the sky frequency falls where that of the baseband rises (lower sideband); default: no",
    "yes|no",
)

READERS = Option(
    whole_reader(1, 256),
    "threads that read the files; default: one for each core that may be used, at most 16",
    "N",
)


def describe(
    request,
    what,
    telescope="",
    *,
    inputs,
    sample_rate,
    center_frequency,
    place=None,
    polarizations=True,
    antennas=None,
):
    """
    The array description of a recording.

    Parameters
    ----------
    request : Request
    what : str
        Name of the recording in messages.
    telescope : str
        Name of the telescope in the recording; may be empty.
    inputs : int
    sample_rate, center_frequency : float
        Hz, as the recording says.
    place : tuple, optional
        Latitude, longitude (degrees) and height (m), where the recording says it.
    polarizations : bool
        True if two inputs are taken to be the polarisations of one antenna.
    antennas : list of str, optional
        Names of the antennas, where the recording tells of them: each has as many inputs.

    Returns
    -------
    description : ArrayDescription
        The description of the request, or one made of what the recording says.
    warnings : list of str
    """

    def made():
        # headers hold impossible names, too, which keep nobody from reading
        name = "".join(filter(str.isprintable, telescope))[:64].strip()
        description, warnings = array_of_recording(
            name, inputs, sample_rate, center_frequency, place, polarizations, antennas
        )
        return description, [f"{what}: {text}" for text in warnings]

    return describe_with(request, what, made, inputs, sample_rate, center_frequency)


def describe_with(request, what, made, inputs, sample_rate, center_frequency):
    """Describes a recording as describe() does, with made() in the place of what it says:
    (description, warnings)."""
    if request.array is None:
        return made()
    array = request.array
    description = array if isinstance(array, ArrayDescription) else load_array(array)
    name = description.name if isinstance(array, ArrayDescription) else os.fspath(array)
    if len(description.inputs) != inputs:
        raise InputError(
            "array", name, f"it has {len(description.inputs)} inputs, {what} has {inputs}"
        )
    return description, [
        f"{name}: {quantity} {there:.10g} Hz, but {what} says {here:.10g} Hz, which is used"
        for quantity, here, there in (
            ("sample rate", sample_rate, description.sample_rate),
            ("centre frequency", center_frequency, description.center_frequency),
        )
        if not math.isclose(here, there, rel_tol=1e-9)
    ]


def center_of(request, what, format, inputs, sample_rate):
    """
    The sky frequency, Hz, of the middle of a band that a format does not say: that of freq=, of the
    request's array, or 0.

    what, format: names of the recording and of its format in messages; inputs, sample_rate: as of
    describe(). Returns it, and a list of warnings.
    """
    if "freq" in request.values:
        return float(request.values["freq"]), []
    center = 0.0
    if request.array is not None:
        described, _ = describe(
            request, what, inputs=inputs, sample_rate=sample_rate, center_frequency=0.0
        )
        center = described.center_frequency
    return center, [
        f"{what}: {format} does not say at which frequency it was recorded: "
        "0 Hz is taken; freq= or --array says it"
    ] if not center else []


def encoded(names):
    """Names of files as they go to C++: a name need not be UTF-8."""
    return [os.fsencode(name) for name in names]


def listed(names):
    """The first names, for messages."""
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def signals_of_block(
    request, what, block, parameters, files, warnings=(), samples=0, unused=0.0, **about
):
    """
    The Signals of a block that reads recordings.

    Parameters
    ----------
    request : Request
    what : str
        The recording's name in messages.
    block : callable
        Makes the block from the parameters, a dictionary, and `samples`.
    files, warnings : sequences of str
        Those of Signals.
    samples : int
        How many of each input are read where all are asked for, 0: those that are there.
    unused : float
        That of Signals.
    about
        What else describe() takes.
    """

    readers = request.values.get("readers")
    parameters = dict(parameters, **({"readers": readers} if readers else {}))

    def source(count, first=0):
        read = count or (max(samples - first, 0) if samples else 0)
        return silent(block, **parameters, begin=first, samples=read)

    made = source(0)
    rate, center = made.sample_rate(), made.center_frequency()
    description, more = describe(
        request, what, inputs=made.inputs(), sample_rate=rate, center_frequency=center, **about
    )
    return Signals(
        description,
        made.type(),
        rate,
        center,
        made.samples(),
        source,
        made.start_time(),
        made.inverted(),
        files=list(files),
        warnings=[*warnings, *more],
        unused=unused,
        source_from=source,
    )
