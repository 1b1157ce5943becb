#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Beams as the page knows them: their names and where they look, as plain values."""

from ..arrays.array_description import load_array
from ..pointing import as_beams
from ..power_file_sink import row_names


def beams_section(array, beams, products="power"):
    """
    The list of describe()["beams"], an entry for each row of powers that `beam_power` or
    `power_detector` gives: dictionaries of `name` and `direction`, a text.

    Parameters
    ----------
    array : ArrayDescription, or str
        The array, as for `pointing`.
    beams : list
        The beams, as for `pointing`, the incoherent ones behind the others.
    products : str
        Products of the block. With "power", an array with two polarisations has two rows for each
        beam.

    Raises
    ------
    ValueError
        A parameter is not allowed.
    """
    array = load_array(array) if isinstance(array, str) else array
    beams = as_beams(array, beams)
    names = row_names(array, beams, products)
    each = len(names) // len(beams)
    return [
        {"name": name, "direction": direction_text(beams[row // each])}
        for row, name in enumerate(names)
    ]


def direction_text(beam):
    """Returns where a beam looks; of an incoherent one, that it sees all that its antennas see."""
    return "all that its antennas see" if beam.incoherent else str(beam)
