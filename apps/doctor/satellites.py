#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of satellites' elements (TLE): which are damaged, decayed or old."""

import re
import time

from ..arrays.satellites import MOST_AGE, satellite
from ..parameters.errors import ParameterError
from ..parameters.times import utc_text
from ..tracking import tle_file
from .findings import Examination, names, notice, problem

_TEXT = re.compile(r"tle=([^,]+)|(.+\.(?:tle|3le))", re.IGNORECASE)
MOST = 8  # satellites that are named


def is_of_satellites(text):
    """Returns whether a text names a file of elements: tle=FILE, or one that ends in .tle, .3le."""
    return _TEXT.fullmatch(text) is not None


def _some(entries):
    more = len(entries) - MOST
    return names(entries[:MOST]) + (f" and {more} more" if more > 0 else "")


def examine_satellites(text):
    """The Examination of a file of elements, as of now."""
    match = _TEXT.fullmatch(text)
    entries, now = tle_file.read(match[1] or match[2]), time.time()
    things, damaged, decayed, old = [], [], [], []
    for entry in entries:
        thing = {"name": entry.name, "number": entry.number}
        try:
            found = satellite(entry.lines)
        except ParameterError as error:
            damaged.append(entry)
            thing["summary"] = error.problem
            things.append(thing)
            continue
        age = float(found.age(now))
        thing.update(epoch=utc_text(found.epoch) + "Z", age_days=round(age, 2))
        thing["summary"] = f"satellite {entry.number}, elements of {utc_text(found.epoch)} UTC"
        things.append(thing)
        try:
            found.seen(now, 0.0, 0.0)
        except ParameterError as error:
            decayed.append(entry)
            thing["summary"] = error.problem
        if abs(age) > MOST_AGE:
            old.append((abs(age), entry))
    findings = []
    if damaged:
        findings.append(
            problem(
                "elements-damaged",
                damaged,
                f"The elements of {_some(damaged)} are damaged, and no direction can be made of "
                "them.",
                "Fetch the file again; editors and mails that wrap lines or cut blanks damage it.",
            )
        )
    if decayed:
        findings.append(
            problem(
                "elements-decayed",
                decayed,
                f"Of {_some(decayed)} there is no place today: the orbit has decayed, or the "
                "elements are too old to say.",
                "Fetch newer elements; without any the satellite is gone.",
            )
        )
    if old:
        oldest = max(old, key=lambda pair: pair[0])[0]
        findings.append(
            notice(
                "elements-old",
                [entry for _, entry in old],
                f"The elements of {_some([entry for _, entry in old])} are up to {oldest:.0f} days "
                f"from today: after {MOST_AGE:.0f} days a low orbit may be wrong by degrees.",
                "Fetch newer elements, or look with them at recordings of their time alone.",
            )
        )
    return Examination("satellites", things, findings)
