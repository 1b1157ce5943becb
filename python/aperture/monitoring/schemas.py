#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The part of JSON Schema that commands are described with, and what checks values by it."""

import math
import re

#: the form of ids, names and models
ID = "^[A-Za-z0-9_-]{1,64}$"


class InvalidValue(ValueError):
    """A value that its schema does not allow; the message says where and what is allowed."""


def number(least=None, most=None, about=""):
    """The schema of a finite number."""
    return _described({"type": "number", "minimum": least, "maximum": most}, about)


def integer(least=None, most=None, about=""):
    """The schema of a whole number."""
    return _described({"type": "integer", "minimum": least, "maximum": most}, about)


def text(most, about="", pattern=None, choices=None):
    """The schema of a text."""
    return _described(
        {"type": "string", "minLength": 1, "maxLength": most, "pattern": pattern, "enum": choices},
        about,
    )


def array(items, least, most, about=""):
    """The schema of a list."""
    return _described({"type": "array", "items": items, "minItems": least, "maxItems": most}, about)


def mapping(required, about="", **properties):
    """The schema of an object that has no other keys."""
    return _described(
        {
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
        about,
    )


def either(*schemas):
    """The schema of what one or several others allow."""
    return {"anyOf": list(schemas)}


def _described(schema, about):
    made = {key: value for key, value in schema.items() if value is not None}
    return {**made, "description": about} if about else made


def check(value, schema, where="value"):
    """Raises InvalidValue unless a value, of json.loads(), is what a schema of this module allows.
    The value itself is not repeated in the message."""
    if "anyOf" in schema:
        failures = []
        for one in schema["anyOf"]:
            try:
                return check(value, one, where)
            except InvalidValue as error:
                failures.append(str(error))
        raise InvalidValue("; or ".join(dict.fromkeys(failures)))
    return _CHECKS[schema["type"]](value, schema, where)


def _number(value, schema, where):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidValue(f"{where}: must be a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidValue(f"{where}: must be finite")
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if not least <= value <= most:
        raise InvalidValue(f"{where}: must be from {least:g} to {most:g}")


def _integer(value, schema, where):
    # 1.0 is one, too, as JSON Schema has it
    if isinstance(value, bool) or not (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    ):
        raise InvalidValue(f"{where}: must be a whole number")
    _number(value, schema, where)


def _text(value, schema, where):
    if not isinstance(value, str):
        raise InvalidValue(f"{where}: must be a text")
    if not schema.get("minLength", 0) <= len(value) <= schema["maxLength"]:
        raise InvalidValue(
            f"{where}: must have {schema.get('minLength', 0)} to {schema['maxLength']} letters"
        )
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidValue(f"{where}: must be one of {', '.join(schema['enum'])}")
    # $ of Python matches before a last line feed, too
    if "pattern" in schema and not re.fullmatch(schema["pattern"].strip("^$"), value):
        raise InvalidValue(f"{where}: must be like {schema['pattern']}")


def _array(value, schema, where):
    if not isinstance(value, list):
        raise InvalidValue(f"{where}: must be a list")
    if not schema["minItems"] <= len(value) <= schema["maxItems"]:
        raise InvalidValue(
            f"{where}: must have {schema['minItems']} to {schema['maxItems']} entries"
        )
    for place, entry in enumerate(value):
        check(entry, schema["items"], f"{where}[{place}]")


def _mapping(value, schema, where):
    if not isinstance(value, dict):
        raise InvalidValue(f"{where}: must be an object")
    for key in value:
        if key not in schema["properties"]:
            raise InvalidValue(
                f"{where}: has a key that is not known; allowed: {', '.join(schema['properties'])}"
            )
    for key in schema["required"]:
        if key not in value:
            raise InvalidValue(f"{where}.{key}: missing")
    for key, entry in value.items():
        check(entry, schema["properties"][key], f"{where}.{key}")


_CHECKS = {
    "number": _number,
    "integer": _integer,
    "string": _text,
    "array": _array,
    "object": _mapping,
}
