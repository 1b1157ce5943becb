#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Names of files with fields in them: {time}, {beam} where there is a file for each beam, and
{phase_center} where there is one for each phase centre."""

import os
import re
from collections import Counter

from ..parameters.rules import refuse
from ..parameters.times import utc_text

FIELD = re.compile(r"\{(\w+)\}")
TIME = "{time}"
PHASE_CENTER = "{phase_center}"
#: the longest text that takes the place of {time}
LONGEST_TIME = "20240101T123456Z-9999"


def check_fields(filename, allowed):
    """Refuses a name with a {word} that is none of those allowed."""
    for field in FIELD.findall(filename):
        if field not in allowed:
            refuse(
                "filename",
                filename,
                "a name in which "
                + " and ".join(f"{{{word}}}" for word in allowed)
                + f" may stand; {{{field}}} means nothing",
            )


def check_different(filename, paths, what):
    """Refuses a name that gives two of `what` one file."""
    twice = [path for path, count in Counter(paths).items() if count > 1]
    if twice:
        refuse("filename", filename, f"such that no two {what} have one file: {twice[0]}")


def time_text(seconds):
    """Whole seconds since 1970 as UTC in the short form of ISO 8601, 20240101T123456Z, which all
    file systems take, and which sorts by time."""
    return utc_text(int(seconds)).replace("-", "").replace(":", "") + "Z"


def is_taken(path):
    """Returns whether there is anything of a name, or a hidden file that becomes one of it."""
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.lexists(path) or os.path.lexists(os.path.join(folder, f".{name}.part"))


def names_at(patterns, seconds, taken, overwrite=True, is_there=is_taken):
    """
    The paths of files that begin at a time, seconds since 1970.

    Where one of them is among those that are taken, or is there, as is_there(path) says, {time}
    becomes the time and a number from 2 on: a file of an earlier run that began in the same second
    is never replaced. There must be a {time} in each pattern where any is taken; of patterns
    without, and where `overwrite` is False, so that a file that is there is an error, the disk is
    not looked at.
    """
    text, number = time_text(seconds), 1
    names = [pattern.replace(TIME, text) for pattern in patterns]
    look = overwrite and all(TIME in pattern for pattern in patterns)
    while set(names) & set(taken) or (look and any(map(is_there, names))):
        number += 1
        names = [pattern.replace(TIME, f"{text}-{number}") for pattern in patterns]
    return names


def name_text(name):
    """Returns what a name that comes from a file becomes in the name of a file: never a path, `..`
    or hidden."""
    return re.sub(r"[^\w.+-]+", "_", name).lstrip("._").rstrip("_") or "beam"


def check_text(name, text):
    """Refuses what is no text that a file can hold."""
    try:
        text.encode("utf-8")
    except (AttributeError, UnicodeEncodeError):
        refuse(name, text, "a text that UTF-8 can hold")
