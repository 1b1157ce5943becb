#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A JSON schema of plans, made of the table of their sections and of what the options allow."""

import argparse

from .plan import Named

DRAFT = "http://json-schema.org/draft-07/schema#"


def json_schema(schema, actions, title, descriptions, required):
    """
    Returns the JSON schema of a plan.

    Parameters
    ----------
    schema : dict
        section -> key -> attribute of the options, or a Named.
    actions : dict
        attribute -> action of argparse.
    title : str
    descriptions : dict
        section -> what it is about.
    required : dict
        section -> keys that must be there.

    Returns
    -------
    dict
    """
    sections = {}
    for name, keys in schema.items():
        section = (
            {"type": "object", "additionalProperties": _named(keys)}
            if isinstance(keys, Named)
            else {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    key: _property(actions[attribute]) for key, attribute in keys.items()
                },
            }
        )
        if name in descriptions:
            section["description"] = descriptions[name]
        if name in required:
            section["required"] = required[name]
        sections[name] = section
    return {
        "$schema": DRAFT,
        "title": title,
        "type": "object",
        "additionalProperties": False,
        "properties": sections,
        "required": list(required),
    }


def _named(keys):
    """Returns the schema of each name of a section of names."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            key: {"type": ["string", "number"], "description": text} for key, text in keys.items()
        },
    }


def _property(action):
    """Returns the schema of a key, and what it is for."""
    found = {**_type(action), "description": _help(action)}
    default = action.default
    if isinstance(default, (bool, int, float, str)) and default is not argparse.SUPPRESS:
        found["default"] = default
    return found


def _type(action):
    if action.nargs == 0:
        return {"type": "boolean"}
    if action.choices is not None:
        return {"enum": list(action.choices)}
    told = getattr(action.type, "json_schema", None)
    if told is not None:
        return told
    if action.type in (int, float):
        return {"type": "integer" if action.type is int else "number"}
    # a text may look like a number: "5" is a list of bad channels
    return {"type": ["string", "number"]}


def _help(action):
    values = {key: value for key, value in vars(action).items() if value is not argparse.SUPPRESS}
    if values.get("choices") is not None:
        values["choices"] = ", ".join(map(str, values["choices"]))
    return (action.help or "") % {**values, "prog": "aperture_observe"}
