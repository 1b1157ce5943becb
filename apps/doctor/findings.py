#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The findings of an examination, whatever is examined."""

from dataclasses import dataclass

PROBLEM = "problem"  # something is wrong, and somebody has to do something
NOTICE = "notice"  # nothing is wrong as far as can be told, but it is worth knowing


@dataclass(frozen=True)
class Finding:
    """
    Something that was found.

    kind: PROBLEM or NOTICE; name: a short name for programs, such as "equal-serials"; what: what is
    so, and what comes of it; remedy: what to do about it; commands: what to type for that, line by
    line; of: names of the things that it is about.
    """

    kind: str
    name: str
    what: str
    remedy: str = ""
    commands: tuple = ()
    of: tuple = ()


@dataclass(frozen=True)
class Examination:
    """All that was found: things, each a dictionary with a `name`, findings about them, where it
    was sought, as " in the first 10 s", if not everywhere, and lines of at most 79 letters that
    people see instead of the things."""

    subject: str
    things: list
    findings: list
    where: str = ""
    lines: tuple = ()

    @property
    def problems(self):
        return [finding for finding in self.findings if finding.kind == PROBLEM]


def names(things):
    """ "A, B and C", of things with a name, or texts."""
    texts = [getattr(entry, "name", entry) for entry in things]
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " and " + texts[-1]


def are(things):
    return "is" if len(things) == 1 else "are"


def problem(name, things, what, remedy, *commands):
    return Finding(
        PROBLEM,
        name,
        what,
        remedy,
        commands,
        tuple(getattr(entry, "name", entry) for entry in things),
    )


def notice(name, things, what, remedy="", *commands):
    return Finding(
        NOTICE,
        name,
        what,
        remedy,
        commands,
        tuple(getattr(entry, "name", entry) for entry in things),
    )
