#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The manual's reference of array descriptions, in Markdown: tools/update-plans writes it."""

from .array_description import ANTENNA, ANTENNA_PLACES, TOP
from .array_model import Input, Source
from .description_keys import keys_of, values_of
from .pulses import Pulsar, Pulse

HEAD = """# Keys of array descriptions

Every key of an [array description](../flowgraphs.md#array-descriptions): what it means, which
values it takes, and its default.

This page is made of the fields of `Antenna`, `Input`, `Source` and their like, as the checks of
files are, in `python/aperture/arrays`: `tools/update-plans` writes it.

ITRF and WGS84 agree within some centimetres: places in either are taken as they are.
"""

#: heading, what is below it, and its keys
SECTIONS = (
    ("At the top", "The site is latitude, longitude and height, or itrf.", TOP),
    (
        "antennas",
        f"An antenna has one of {', '.join(f'`{key}`' for key in ANTENNA_PLACES)}.",
        ANTENNA,
    ),
    ("inputs", "An input is one antenna and one polarisation.", keys_of(Input)),
    (
        "sources",
        "A source has `azimuth` and `elevation` (with `distance` where it is near), or `ra` and "
        "`dec`, or `body`, or `tle`.",
        keys_of(Source),
    ),
    ("pulsars of a source", "A pulsar has `mean_flux` or `peak_flux`.", keys_of(Pulsar)),
    ("pulses of a source", "A pulse has `fluence` or `peak_flux`.", keys_of(Pulse)),
)


def reference():
    """Returns the page."""
    lines = []
    for heading, about, keys in SECTIONS:
        lines += [
            f"\n## {heading}\n",
            f"{about}\n",
            "| key | meaning | values | default |",
            "|---|---|---|---|",
            *(_row(key, about) for key, about in keys.items()),
        ]
    return HEAD + "\n".join(lines) + "\n"


def _row(key, about):
    if about.needed:
        default = "needed"
    elif about.default in (None, (), []):
        default = ""
    else:
        default = (
            f"`{about.default.real if isinstance(about.default, complex) else about.default:g}`"
        )
    values = values_of(about) if about.group is None else f"{about.allowed}: see below"
    entries = (f"`{key}`", about.meaning.rstrip("."), values, default)
    return "| " + " | ".join(entry.replace("|", "\\|") for entry in entries) + " |"


if __name__ == "__main__":
    print(reference(), end="")
