# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the arrays that tests observe with."""

from ..arrays.array_model import Antenna, ArrayDescription, Input


def make_array(
    places, inputs="x", rate=1e6, center=1e8, site=(52.0, 5.0, 10.0), name="test", sources=()
):
    """
    Returns an ArrayDescription.

    places: a list of Antenna, or {name: (east, north, up)}
    inputs: a list of Input, or the letters of the polarisations that every antenna has
    rate, center: Hz; site: latitude, longitude, height
    """
    antennas = places
    if isinstance(places, dict):
        antennas = [Antenna(*named) for named in places.items()]
    if isinstance(inputs, str):
        inputs = [Input(antenna.name, letter) for antenna in antennas for letter in inputs]
    return ArrayDescription(name, *site, antennas, inputs, rate, center, list(sources))
