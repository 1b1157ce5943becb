#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Plans as YAML: read with line and field in each error, and written."""

import os

from ..parameters.errors import ParameterError
from ..parameters.rules import check_line, check_mapping, refuse
from ..parameters.yaml_reader import YamlReader
from .fields import BEAMS, written
from .plan import NAMED, NAMED_FIELDS, SECTIONS, Plan, Source, fields_for

#: program -> key as it was written once, and may be -> field that it is: aperture_beams had no
#: section `beams`
FORMER = {
    BEAMS: {
        "engines.beams": "beams.directions",
        **{
            f"engines.{key}": f"beams.{key}"
            for key in (
                "incoherent",
                "products",
                "sum_channels",
                "taper",
                "normalise",
                "phase_error",
                "integration",
            )
        },
        "outputs.file": "beams.file",
        "outputs.nbits": "beams.nbits",
        "voltages.file": "beams.voltages",
        "voltages.channels": "beams.voltage_channels",
    }
}


class PlanReader(YamlReader):
    """Reads the plan of a program."""

    def __init__(self, path, program):
        super().__init__(path, ParameterError)
        self._program, self._former = program, FORMER.get(program, {})

    def read(self, file):
        """The plan of a file; it is not checked whether what it says contradicts itself."""
        tree = self.tree(file)
        return self.with_line(self._plan, tree)

    def _plan(self, tree):
        offered = fields_for(self._program)
        former = {}
        for name in self._former:
            section, key = name.split(".")
            former.setdefault(section, []).append(key)
        check_mapping("", tree, dict.fromkeys([*offered, *former]))
        values, keys, more = {}, {}, {}
        for section, entries in tree.items():
            if section in NAMED:
                more[section] = self._named(section, entries)
                continue
            check_mapping(section, entries, [*offered.get(section, ()), *former.get(section, ())])
            if section == "monitoring":
                more[section] = SECTIONS[section]()
            for key, text in entries.items():
                name = f"{section}.{key}"
                field = self._former.get(name, name)
                if field in values:
                    raise ParameterError(name, f"given twice, first as {keys[field]}")
                values[field] = self._value(name, fields_of(offered, field), text)
                keys[field] = name
        source = Source(keys=keys, reader=self, tree=tree)
        return Plan(program=self._program, source=source, **more).replaced(values)

    def _named(self, section, names):
        """{name: Host or Product} of a section of several."""
        fields = NAMED_FIELDS[section]
        if not isinstance(names, dict):
            refuse(section, names, "a mapping of names")
        found = {}
        for name, entries in names.items():
            check_mapping(f"{section}.{name}", entries, fields)
            found[str(name)] = NAMED[section](
                **{
                    key: self._value(f"{section}.{name}.{key}", fields[key], text)
                    for key, text in entries.items()
                }
            )
        return found

    @staticmethod
    def _value(name, field, text):
        if not isinstance(text, str):
            refuse(name, text, "one value")
        check_line(name, text)
        try:
            return field.read(text)
        except ValueError as error:
            raise ParameterError(name, str(error)) from None


def fields_of(offered, name):
    """The Field of a name, section.key."""
    section, key = name.split(".")
    return offered[section][key]


def load_plan(path, program):
    """
    The plan in a file; program: that is to run it.

    Raises
    ------
    ParameterError
        Something in it is not allowed: file, line, field, and what is.
    OSError
        It cannot be read.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise ParameterError("", "is no file", path)  # a FIFO would wait
    reader = PlanReader(path, program)
    with open(path, encoding="utf-8") as file:
        return reader.read(file)


def plan_text(plan):
    """
    The plan as YAML, for any program that has its sections.

    What has no value is left to the program, again, and so is a field of some programs only that
    has its default: the others would refuse it.
    """
    lines = []
    for section, fields in fields_for(plan.program).items():
        found = getattr(plan, section)
        if section in NAMED:
            entries = [
                f"  {written(name)}: {{{', '.join(_entries(fields, one))}}}"
                for name, one in found.items()
            ]
        else:
            entries = [f"  {entry}" for entry in _entries(fields, found)] if found else []
        lines += [f"{section}:", *entries] if entries else []
    return "\n".join(lines) + "\n"


def _entries(fields, section):
    return [
        f"{key}: {written(value)}"
        for key, field in fields.items()
        if (value := getattr(section, key)) is not None
        and (field.place.programs is None or value != field.default)
    ]
