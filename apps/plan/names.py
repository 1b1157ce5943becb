#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Names of files in plans: their endings, and what may stand in braces."""

import os
import re

from ..files.growing_file import check_path
from .fields import OBSERVE

LONGEST_ID = 64  # letters of what takes the place of {id}

#: endings of files of visibilities; all but the first are made of it
VISIBILITIES = (".uvh5", ".ms", ".uvfits")
#: endings of files of powers: of SIGPROC, and of PSRFITS in search mode
FILTERBANK, SEARCH_MODE = (".fil",), (".sf",)
TABLES = (".ecsv", ".csv")
PROFILES = (".fits", ".ar")
#: fields in braces -> what each becomes
BRACES = {
    "beam": "the name of a beam",
    "time": "the UTC time of the first integration",
    "phase_center": "the name of a phase centre",
    "input": "the name of an input or antenna",
    "bin": "the number of a bin of a pulsar's phase",
    "channel": "the number of a channel",
    "id": "the name of a candidate",
}
#: fields in braces -> why a service has to have them
REASONS = {"time": "files follow on each other", "id": "a dump must not replace another"}


def is_measurement_set(path):
    """Returns whether a folder is one of casacore's tables, which a new one may replace."""
    return path.endswith(".ms") and os.path.isfile(os.path.join(path, "table.dat"))


def problem_of(name, endings, braces):
    """
    Returns what is wrong with the name of a file to be written; None: nothing.

    Parameters
    ----------
    name : str
    endings : tuple of str
        Endings of the files that can be written: a file of another format is not written under the
        ending of that format.
    braces : tuple of str
        Those of BRACES that may stand in braces.
    """
    wanted = (
        f"expected the name of a file that ends in {' or '.join(endings)}, such as out{endings[0]}"
    )
    if not name:
        return wanted
    is_folder = os.path.isdir(name) and not is_measurement_set(name)
    if is_folder or os.path.basename(name) in ("", ".", ".."):
        return f"this is a folder; {wanted}"
    if os.path.splitext(name)[1] not in endings:
        return f"{wanted}; this command writes no other format"
    for found in re.findall(r"\{[^{}]*\}?|\}", re.sub(r"\{(%s)\}" % "|".join(braces), "", name)):
        allowed = ", ".join(f"{{{field}}} ({BRACES[field]})" for field in braces)
        return f"{found} is not known; in braces may stand: {allowed}"
    return None


def problem_of_place(name):
    """Returns why no file of a name, with BRACES in it, could be made where it is to be; None: it
    could."""
    # the length of what takes the place of the others is known later
    path = name.replace("{id}", "x" * LONGEST_ID)
    try:
        check_path(path, overwrite=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        shown = name if len(name) <= 80 else name[:77] + "..."
        return f"{shown}: {reason}; it must be a name under which a file can be made"
    return None


def check_file_name(plan, field, endings, braces, needed=("time",)):
    """Refuses what a field has as the name of a file; needed: those of the braces that must be
    there where files follow on each other for months."""
    name = plan.value(field)
    if name is None:
        return
    problem = problem_of(name, endings, braces)
    if problem is not None:
        raise plan.error(field, problem, shown=name or "''")
    for brace in needed if plan.program == OBSERVE else ():
        if f"{{{brace}}}" not in name:
            raise plan.error(
                field,
                f"{name!r} is not allowed; it must be a name with {{{brace}}} in it: "
                f"{REASONS[brace]}",
            )
    if plan.program == OBSERVE:
        problem = problem_of_place(name)
        if problem is not None:
            raise plan.error(field, problem)
