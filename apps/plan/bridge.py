#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A plan as the options of a command, for code that still takes these, and the other way round."""

import argparse
import dataclasses

from .fields import OBSERVE
from .plan import FIELDS, Plan, Source, fields_for

#: fields of aperture_observe that have no option -> attribute
_KEYS = {
    "instrument.name": "name",
    "ring.file": "ring",
    "ring.seconds": "ring_seconds",
    "ring.most_bytes": "ring_bytes",
    "ring.by_search": "ring_by_search",
    "outputs.least_free_bytes": "least_free",
}
#: sections whose fields have attributes that two sections would share
_SHARED = {
    "beams.integration": "beam_integration",
    "beams.file": "beam_file",
    "beams.voltages": "beam_voltages",
    "beams.voltage_channels": "beam_voltage_channels",
}


def attribute_of(field, program):
    """The attribute of the options for a field, section.key."""
    if program == OBSERVE and field in _SHARED:
        return _SHARED[field]
    if field in _KEYS:
        return _KEYS[field]
    section, key = field.split(".")
    options = FIELDS[field].place.options
    if not options:
        return f"monitoring_{key}" if section == "monitoring" else key
    return options[-1].removeprefix("--").replace("-", "_").removeprefix("no_")


def attributes_for(program):
    """{section.key: attribute} of a program."""
    return {
        field.name: attribute_of(field.name, program)
        for section, fields in fields_for(program).items()
        if section != "hosts"
        for field in fields.values()
    }


def options_of(plan, **more):
    """The options of a plan; more: attributes beside them."""
    found = {
        attribute: plan.value(name) if plan.value(name) is not None else FIELDS[name].default
        for name, attribute in attributes_for(plan.program).items()
    }
    return argparse.Namespace(**found, plan=plan, host=plan.host, **more)


def plan_of(options, program):
    """The plan of options that a command of the name `program` has read."""
    values, given = {}, set()
    for name, attribute in attributes_for(program).items():
        value = getattr(options, attribute, None)
        if value != FIELDS[name].default:
            values[name] = value
            given.add(name)
    plan = Plan(program=program, source=Source(options=frozenset(given)))
    return dataclasses.replace(plan.replaced(values), host=getattr(options, "host", None))
