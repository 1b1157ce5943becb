#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of satellites' elements (TLE), and how a satellite in them is named.

    tle=stations.txt, ISS (ZARYA)      by its name
    tle=stations.txt, 25544            by its number
    tle=iss.txt                        the only one that is in the file

A file has three lines for each satellite, as CelesTrak and Space-Track give them: its name (after
"0 ", if wanted), and the two lines of elements; or only the latter.
"""

import re
from dataclasses import dataclass

from ..parameters.errors import ParameterError
from ..parameters.input_files import find_file
from ..parameters.regular_file import open_text

_TEXT = re.compile(r"\s*tle\s*[=:]\s*([^,]+?)\s*(?:,\s*(.+?)\s*)?", re.IGNORECASE)
MOST_NAMES = 8  # names in an error


@dataclass(frozen=True)
class Elements:
    """Elements of a satellite in a file. name: its own, or "satellite NUMBER"; number: that of
    the catalogue, a text; lines: the two lines; line: number of the first of these in the file."""

    name: str
    number: str
    lines: str
    line: int


def _plain(name):
    return re.sub(r"[\s_-]+", "", name).lower()


def read(path):
    """
    The list of Elements in a file.

    Checksums are not looked at here: one damaged satellite is no reason to lose the others.

    Raises
    ------
    ParameterError
        There are none, or a line of a pair is missing.
    OSError
        The file cannot be read.
    """
    with open_text(find_file(path), "a file of satellites' elements", errors="replace") as file:
        lines = [(number, line.rstrip()) for number, line in enumerate(file, 1) if line.strip()]
    found, name = [], None
    lines = iter(lines)
    for number, line in lines:
        if not re.match(r"1 [\w ]{5}", line):
            name = re.sub(r"^0 ", "", line).strip()
            continue
        second = next(lines, (number, ""))[1]
        if not second.startswith("2 "):
            raise ParameterError(
                "tle", f"{path}:{number}: the second line of these elements is missing"
            )
        catalogue_number = line[2:7].strip()
        name = (name or f"satellite {catalogue_number}")[:64]
        found.append(Elements(name, catalogue_number, f"{line}\n{second}", number))
        name = None
    if not found:
        raise ParameterError("tle", f"{path}: no elements of satellites are in this file")
    return found


def find(field, text):
    """
    The Elements that a text as at the top of this module names; None: it is no such text.

    Raises ParameterError where the file, or the satellite in it, is not there.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    path, wanted = match.groups()
    try:
        known = read(path)
    except OSError as error:
        raise ParameterError(field, f"{path}: {error.strerror or error}") from None
    if wanted is None and len(known) == 1:
        return known[0]
    fitting = [
        entry
        for entry in known
        if wanted is not None
        and (_plain(entry.name) == _plain(wanted) or entry.number.lstrip("0") == wanted.lstrip("0"))
    ]
    # a name without what is in brackets behind it
    fitting = fitting or [
        entry
        for entry in known
        if wanted is not None and _plain(re.sub(r"\(.*", "", entry.name)) == _plain(wanted)
    ]
    if len({entry.lines for entry in fitting}) == 1:
        return fitting[0]
    names = ", ".join(entry.name for entry in (fitting or known)[:MOST_NAMES])
    more = len(fitting or known) - MOST_NAMES
    problem = (
        "several are of this name"
        if fitting
        else f"{wanted!r} is not in it"
        if wanted
        else "which of its satellites is meant"
    )
    raise ParameterError(
        field,
        f"{path}: {problem}: it has {names}{f' and {more} more' if more > 0 else ''}, of which "
        "one is to be named by 'tle=FILE, NAME' or by its number",
    )
