#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""An array as the page knows it: its description as plain values, and back."""

from ..arrays.array_description import Antenna, ArrayDescription, Input


def array_section(description):
    """The dictionary of an ArrayDescription for describe()["array"]: what JSON can hold."""
    return {
        "name": description.name,
        "latitude": description.latitude,
        "longitude": description.longitude,
        "height": description.height,
        "sample_rate": description.sample_rate,
        "center_frequency": description.center_frequency,
        "antennas": [
            {"name": antenna.name, "position": [float(x) for x in antenna.position]}
            for antenna in description.antennas
        ],
        "inputs": [
            {"name": name, "antenna": entry.antenna, "polarization": entry.polarization}
            for entry, name in zip(description.inputs, description.input_names)
        ],
    }


def array_of(section, inputs=None):
    """The ArrayDescription of such a dictionary, with these inputs (numbers) only; None where it is
    not whole."""
    try:
        chosen = (
            section["inputs"]
            if inputs is None
            else [section["inputs"][number] for number in inputs]
        )
        return ArrayDescription(
            name=section["name"],
            latitude=section["latitude"],
            longitude=section["longitude"],
            height=section["height"],
            sample_rate=section["sample_rate"],
            center_frequency=section["center_frequency"],
            antennas=[
                Antenna(antenna["name"], tuple(antenna["position"]))
                for antenna in section["antennas"]
            ],
            inputs=[Input(entry["antenna"], entry["polarization"]) for entry in chosen],
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return None
