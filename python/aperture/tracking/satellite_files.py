#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""All satellites of files of elements (TLE), as directions."""

from ..parameters.errors import ParameterError
from ..parameters.rules import refuse
from . import tle_file
from .directions import Direction, parse_direction

MOST_SATELLITES = 50  # satellites of a file; more of them are no help to who looks


def satellites_of(texts, field="satellites"):
    """
    Directions of the satellites in files, and what is to be told of those that are left out.

    Parameters
    ----------
    texts : list of str
        Each FILE, for all of its satellites, or FILE,NAME, for one by its name or number.
    field : str
        The name of the texts in errors.

    Returns
    -------
    list of Direction
    list of str
        A text for each satellite whose elements are damaged, with its file and line.

    Raises
    ------
    ParameterError
        A file has none that can be used, or too many; the one that is named is damaged.
    OSError
        A file cannot be read.
    """
    found, damaged = [], []
    for text in texts:
        path, comma, _ = text.partition(",")
        if not path.strip():
            refuse(field, text, "FILE, or FILE,NAME")
        if comma:
            found.append(parse_direction(f"tle={text}", field))
            continue
        entries = tle_file.read(path)
        if len(entries) > MOST_SATELLITES:
            raise ParameterError(
                field,
                f"{text}: has {len(entries)} satellites, of which {MOST_SATELLITES} at most are "
                f"shown; {path},NAME takes one",
            )
        problems = []
        for entry in entries:
            try:
                found.append(Direction(entry.name, tle=entry.lines))
            except ParameterError as error:
                problems.append(f"{path}:{entry.line}: {entry.name} is left out: {error}")
        if len(problems) == len(entries):
            raise ParameterError(field, f"{problems[0]}; no other satellite is in this file")
        damaged += problems
    return found, damaged
