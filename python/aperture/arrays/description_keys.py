#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The keys of array descriptions: each field of a part, such as an antenna, is a Parameter.

A part is a dataclass whose annotations are made by the functions here. The reader of files, the
checks of numbers and the manual's reference (reference.py) are made of them.
"""

import dataclasses

from ..parameters.description import REQUIRED, Anything, Number, Parameter, Text
from ..parameters.rules import interval_text
from ..parameters.yaml_reader import Scalar
from .description_error import as_number

NAME_RULE = "1 to 64 printable characters without blanks around them"


def _number(value):
    """A float where the text is one; else the value as it is, for the field's rule to refuse."""
    if isinstance(value, Scalar) and not value.quoted:
        try:
            return float(str(value))
        except ValueError:
            pass
    return value


def _numbers(value):
    return [_number(part) for part in value] if isinstance(value, list) else _number(value)


def _gain(value):
    parts = _numbers(value)
    if isinstance(parts, list) and len(parts) == 2:
        if all(isinstance(part, float) for part in parts):
            return complex(*parts)
        return value
    return parts


def Quantity(meaning, least, most, unit="", **more):
    """A number from `least` to `most`."""
    return Number(meaning, least, most, unit=unit, reader=_number, **more)


def Name(meaning):
    """A name: it ends up in files, plots and command lines."""
    return Text(meaning, allowed=NAME_RULE)


def Place(meaning, rule):
    """Three coordinates."""
    return Anything(meaning, reader=_numbers, allowed=rule)


def Gain(meaning, rule):
    """A complex factor."""
    return Anything(meaning, reader=_gain, allowed=rule)


def Time(meaning):
    """Seconds, or [whole seconds, fraction]."""
    return Anything(
        meaning, reader=_numbers, allowed="seconds, or [whole seconds, fraction of 0 to below 1]"
    )


def Parts(meaning, kind):
    """A list of mappings, each made into an object of the dataclass `kind`."""
    return Anything(meaning, group=kind, allowed="a list of mappings")


def keys_of(part):
    """The Parameters {key: parameter} of the fields of a dataclass that have one."""
    found = {}
    for field in dataclasses.fields(part):
        if not isinstance(field.type, Parameter):
            continue
        default = field.default
        if default is dataclasses.MISSING:
            factory = field.default_factory
            default = REQUIRED if factory is dataclasses.MISSING else factory()
        found[field.name] = dataclasses.replace(field.type, name=field.name, default=default)
    return found


def check_numbers(part):
    """Makes floats of a part's numbers; raises ArrayDescriptionError for one out of its limits."""
    for key, about in keys_of(type(part)).items():
        value = getattr(part, key)
        if about.kind == "float" and not (value is None and about.default is None):
            object.__setattr__(
                part,
                key,
                as_number(key, value, about.least, about.most, about.unit, above=about.open),
            )


def values_of(about):
    """The values that a key takes, in words."""
    if about.allowed or about.kind != "float":
        return about.allowed or about.rule
    return interval_text("a number", about.least, about.most, about.unit, about.open)
