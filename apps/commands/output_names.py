#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The names that -o may give to files."""

import os
import re

from ..files.growing_file import check_path
from .running import CommandError

#: fields in braces -> what each becomes
FIELDS = {
    "beam": "the name of a beam",
    "time": "the UTC time of the first integration",
    "phase_center": "the name of a phase centre",
    "input": "the name of an input or antenna",
    "channel": "the number of a channel",
    "id": "the name of a candidate",
}


def check_output_name(name, endings, fields, option="-o"):
    """
    Refuses what is not the name of a file of this kind.

    Parameters
    ----------
    name : str
        The name that -o was given.
    endings : str, or tuple of str
        Endings of the files that the command can write: a file of another format is not written
        under the ending of that format.
    fields : list of str
        Those of FIELDS that may stand in braces.
    option : str
        Option that names the file.

    Raises
    ------
    CommandError
    """
    endings = (endings,) if isinstance(endings, str) else endings
    wanted = (
        f"expected the name of a file that ends in {' or '.join(endings)}, such as out{endings[0]}"
    )
    if not name:
        raise CommandError(f"{option} '': {wanted}")
    ending = os.path.splitext(name)[1]
    is_folder = os.path.isdir(name) and not is_measurement_set(name)
    if is_folder or os.path.basename(name) in ("", ".", ".."):
        raise CommandError(f"{option} {name}: this is a folder; {wanted}")
    if ending not in endings:
        raise CommandError(f"{option} {name}: {wanted}; this command writes no other format")
    for found in re.findall(r"\{[^{}]*\}?|\}", re.sub(r"\{(%s)\}" % "|".join(fields), "", name)):
        allowed = ", ".join(f"{{{field}}} ({FIELDS[field]})" for field in fields)
        raise CommandError(f"{option} {name}: {found} is not known; in braces may stand: {allowed}")


def is_measurement_set(path):
    """Returns whether a folder is one of casacore's tables, which a new one may replace."""
    return path.endswith(".ms") and os.path.isfile(os.path.join(path, "table.dat"))


def check_writable(path, overwrite):
    """Refuses, before anything is computed, a file that could not be written in the end."""
    if not overwrite and os.path.lexists(path):
        raise CommandError(f"-o {path}: the file exists, and --no-overwrite keeps it")
    if not is_measurement_set(path):
        check_path(path, overwrite)
