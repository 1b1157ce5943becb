#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The part of JSON Schema that commands are described with, and what checks values by it."""

import math
import re

from jsonschema import Draft7Validator, ValidationError
from jsonschema.validators import extend

from ..parameters.rules import NAME_PATTERN

#: the form of ids, names and models
ID = f"^{NAME_PATTERN}$"


class InvalidValue(ValueError):
    """A value that its schema does not allow; the message says where and what is allowed."""


def number(least, most, about=""):
    """The schema of a finite number."""
    return _described({"type": "number", "minimum": least, "maximum": most}, about)


def integer(least, most, about=""):
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
    return _described({"type": "array", "minItems": least, "maxItems": most, "items": items}, about)


def mapping(required, about="", **properties):
    """The schema of an object that has no other keys."""
    return _described(
        {
            "type": "object",
            "additionalProperties": False,
            "required": list(required),
            "properties": properties,
        },
        about,
    )


def either(*schemas):
    """The schema of what one or several others allow."""
    return {"anyOf": list(schemas)}


def _described(schema, about):
    made = {key: value for key, value in schema.items() if value is not None}
    return {**made, "description": about} if about else made


def _any_of(validator, schemas, value, _):
    """This anyOf stops at the first error of each schema: a long list may have thousands."""
    errors = [next(validator.descend(value, one), None) for one in schemas]
    if all(errors):
        yield ValidationError("", context=errors)


def _pattern(_, pattern, value, __):
    """This pattern does not take a last line feed, which $ of Python matches before."""
    if isinstance(value, str) and not re.fullmatch(pattern.strip("^$"), value):
        yield ValidationError("")


_Validator = extend(
    Draft7Validator,
    {"anyOf": _any_of, "pattern": _pattern},
    type_checker=Draft7Validator.TYPE_CHECKER.redefine(
        "number", lambda _, value: type(value) in (int, float) and abs(value) < math.inf
    ),
)
#: the rule in the message for a wrong value, by the key of the schema
_ALLOWED = {
    "type": "must be of type {type}",
    "enum": "must be one of {enum}",
    "pattern": "must be like {pattern}",
    "required": "must have {required}",
    "additionalProperties": "has a key that is not known; allowed: {properties}",
    **dict.fromkeys(("minimum", "maximum"), "must be from {minimum:g} to {maximum:g}"),
    **dict.fromkeys(("minLength", "maxLength"), "must have {minLength} to {maxLength} letters"),
    **dict.fromkeys(("minItems", "maxItems"), "must have {minItems} to {maxItems} entries"),
}


def check(value, schema, where="value"):
    """Raises InvalidValue unless a value, of json.loads(), is what a schema of this module allows.
    The value itself is not repeated in the message."""
    for error in _Validator(schema).iter_errors(value):
        raise InvalidValue("; or ".join(dict.fromkeys(_messages(error, where))))


def _messages(error, where):
    """Returns the place of each wrong value and what is allowed there, in each schema that was
    tried."""
    if error.validator == "anyOf":
        return [text for each in error.context for text in _messages(each, where)]
    said = {
        key: ", ".join(words) if isinstance(words, (list, dict)) else words
        for key, words in error.schema.items()
    }
    return [f"{where}{error.json_path[1:]}: {_ALLOWED[error.validator].format_map(said)}"]
