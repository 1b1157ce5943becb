#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The manual's reference of plans, in Markdown: tools/update-plans writes it."""

import dataclasses
import textwrap

from .fields import PROGRAMS, fields_in, written
from .plan import NAMED_FIELDS, Plan, about_section, fields_for
from .texts import Search as Terms
from .yaml_plans import FORMER

HEAD = """# Fields of plans

Each section and key of a [plan](../plans.md): the option that is its shorthand where there is one,
what it means, which values it takes, and its default. A key without programs is one of all programs
that have the section.

This page is made of the descriptions in `apps/plan`, as options, checks and the JSON schema are:
`tools/update-plans` writes it.
"""


def reference():
    """Returns the page."""
    sections = []
    for entry in dataclasses.fields(Plan):
        programs = entry.metadata.get("programs", ())
        if not programs:
            continue
        fields = {}
        for program in programs:
            fields |= fields_for(program)[entry.name]
        order = NAMED_FIELDS.get(entry.name) or entry.type.__dataclass_fields__
        about = about_section(entry.name)
        sections += [
            f"\n## {entry.name}",
            f"{about[0].upper()}{about[1:]}. Of {_words(programs)}.\n",
            "| key | option | meaning | values | default | of |",
            "|---|---|---|---|---|---|",
            *(_row(fields[key], programs) for key in order),
        ]
        if entry.name == "search":
            sections += [
                "\n`trials` is made of terms with commas between them, each once:\n",
                "| term | | meaning | values | default | |",
                "|---|---|---|---|---|---|",
                *(_row(field, programs) for field in fields_in("search", Terms).values()),
            ]
    sections += ["\n## Keys of older plans\n"]
    for program, names in FORMER.items():
        pairs = ", ".join(f"`{former}` as `{name}`" for former, name in names.items())
        sections += textwrap.wrap(f"`{program}` also reads {pairs}.", 180)
    return HEAD + "\n".join(sections) + "\n"


def _row(field, programs):
    """The line of a field; programs: that have its section."""
    default = "needed" if field.about.needed else f"`{written(field.default)}`"
    own = field.place.programs or programs
    entries = (
        f"`{field.key}`",
        ", ".join(f"`{option}`" for option in field.place.options),
        field.about.meaning,
        field.allowed or field.place.metavar or "text",
        field.place.otherwise or ("" if field.default in (None, "") else default),
        "" if own == programs else _words(own),
    )
    return "| " + " | ".join(entry.replace("|", "\\|") for entry in entries) + " |"


def _words(programs):
    return ", ".join(f"`{program}`" for program in PROGRAMS if program in programs)


if __name__ == "__main__":
    print(reference(), end="")
