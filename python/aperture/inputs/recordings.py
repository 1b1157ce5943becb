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
from .input_format import InputError


def describe(
    request,
    what,
    telescope,
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
            f"array {name}: it has {len(description.inputs)} inputs, {what} has {inputs}"
        )
    return description, [
        f"{name}: {quantity} {there:.10g} Hz, but {what} says {here:.10g} Hz, which is used"
        for quantity, here, there in (
            ("sample rate", sample_rate, description.sample_rate),
            ("centre frequency", center_frequency, description.center_frequency),
        )
        if not math.isclose(here, there, rel_tol=1e-9)
    ]
