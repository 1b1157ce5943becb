#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Text as files hold it: ASCII, for FITS has no other, and programs that read other formats end
with an error where a name has a degree sign.

A text that only people and this module read is quoted without loss; one in a field of another
program's format becomes what is like it.
"""

import json
import unicodedata

#: characters that NFKD does not take apart -> the ASCII that is like them
LIKENESS = str.maketrans(
    {
        "°": " deg",
        "′": "'",
        "″": '"',
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "−": "-",
        "–": "-",
        "—": "-",
        "×": "x",
        "·": ".",
        "±": "+-",
        "µ": "u",
        "μ": "u",
        "ß": "ss",
        "æ": "ae",
        "Æ": "AE",
        "ø": "o",
        "Ø": "O",
        "œ": "oe",
        "Œ": "OE",
        "ð": "d",
        "Ð": "D",
        "þ": "th",
        "Þ": "Th",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "ı": "i",
    }
)


def ascii_text(text):
    """The text in ASCII: é becomes e, ° becomes deg, and what has no likeness ?."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text.translate(LIKENESS))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return plain.translate(LIKENESS).encode("ascii", "replace").decode()


def escaped(text):
    """The text in ASCII, another one for each text: é becomes \\xe9."""
    return text.encode("ascii", "backslashreplace").decode()


def ascii_names(names):
    """Names that differ, in ASCII, in which they differ too."""
    found = [ascii_text(name) for name in names]
    return [
        name if found.count(name) == 1 else escaped(original)
        for name, original in zip(found, names)
    ]


def find_name(name, names):
    """
    The place of a name in a list of them, or None. One of the two may come from a file, in which it
    is what ascii_names() makes of it.
    """
    for spelled in (str, escaped, ascii_text):
        places = [place for place, other in enumerate(names) if spelled(other) == spelled(name)]
        if len(places) == 1:
            return places[0]
    return None


def quoted(text):
    """The text in quotes for YAML, in ASCII, and without loss."""
    # a character beyond 16 bits is two escapes in JSON, and one in YAML
    return "".join(
        json.dumps(letter)[1:-1] if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
        for letter in text
    ).join('""')
