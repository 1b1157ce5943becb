#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Headers of GUPPI raw, cards in the manner of FITS, and names of the files of a sequence."""

import glob
import re

from ...parameters.ascii_text import ascii_text
from ..voltages import GUPPI_ENDING

CARD = 80  # bytes
MOST_HEADER = 1 << 18  # bytes
_NUMBERED = re.compile(rf"(.*)\.(\d{{4,}}){re.escape(GUPPI_ENDING)}", re.DOTALL)


def numbered(path, number):
    """The name of one file of the sequence NAME.raw."""
    return f"{path[: -len(GUPPI_ENDING)]}.{number:04d}{GUPPI_ENDING}"


def number_of(name):
    """(NAME.raw, the number) of NAME.0000.raw; None for other names."""
    found = _NUMBERED.fullmatch(name)
    return (found[1] + GUPPI_ENDING, int(found[2])) if found else None


def sequence(path):
    """The files of a sequence that are there, in order."""
    names = glob.glob(f"{glob.escape(path[: -len(GUPPI_ENDING)])}.*{GUPPI_ENDING}")
    numbers = {name: number_of(name) for name in names}
    found = {name: entry[1] for name, entry in numbers.items() if entry and entry[0] == path}
    return sorted(found, key=found.get)


def card(key, value):
    """A line of a header. What readers that split at = and quotes stumble over is not in it."""
    if isinstance(value, str):
        text = re.sub(r"[^ -<>-~]|'", "_", ascii_text(value))[: CARD - 12]
        text = f"'{text:<8}'"
    elif isinstance(value, float):
        # a point, without which some readers take it for a whole number
        text = f"{value:.16G}"
        if "." not in text:
            text = text.replace("E", ".0E") if "E" in text else text + ".0"
        text = f"{text:>20}"
    else:
        text = f"{value:>20d}"
    return f"{key:<8}= {text}".ljust(CARD)


def header_bytes(values):
    """A header of these keys. There is no padding behind it: readers do not agree from where it is
    counted."""
    return ("".join(card(*each) for each in values.items()) + "END".ljust(CARD)).encode("ascii")


def parse_header(text):
    """
    Keywords and values of the cards at the beginning of some bytes, and the bytes of the header
    without padding; None if they are no whole header.
    """
    values = {}
    for begin in range(0, min(len(text), MOST_HEADER), CARD):
        card = text[begin : begin + CARD]
        if len(card) >= 3 and card[:3] == b"END" and not card[3:].strip(b" \0"):
            return (values, begin + CARD) if values else None
        if len(card) < CARD or card[8:9] != b"=" or not all(32 <= byte < 127 for byte in card):
            return None
        key, value = card[:8].decode().strip(), card[9:].decode()
        quoted = re.match(r"\s*'((?:[^']|'')*)'", value)
        values[key] = (
            quoted[1].replace("''", "'").strip() if quoted else value.partition("/")[0].strip()
        )
    return None
