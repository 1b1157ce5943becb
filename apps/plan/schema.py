#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A JSON schema of plans, with which editors complete them."""

from .plan import NAMED, about_section, fields_for, needed_by

DRAFT = "http://json-schema.org/draft-07/schema#"


def json_schema(program, title):
    """Returns the JSON schema of a program's plans."""
    sections, needed = {}, {}
    for name in needed_by(program):
        section, key = name.split(".")
        needed.setdefault(section, []).append(key)
    for name, fields in fields_for(program).items():
        keys = {
            "type": "object",
            "additionalProperties": False,
            "properties": {key: field.schema() for key, field in fields.items()},
        }
        section = {"type": "object", "additionalProperties": keys} if name in NAMED else keys
        sections[name] = section | {"description": about_section(name)}
        if name in needed:
            sections[name]["required"] = needed[name]
    return {
        "$schema": DRAFT,
        "title": title,
        "type": "object",
        "additionalProperties": False,
        "properties": sections,
        "required": list(needed),
    }
