#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The plan of an observation: a YAML file with sections, for which options are shorthands.

    input: {source: "sim:y8", duration: 10.0}
    engines: {channels: 512, integration: 0.5}
    calibration: {file: "cal.yml"}
    outputs: {file: "y8.uvh5"}
    device: {name: cpu}

A key is what the option of its entry in the schema is, with the same rule, and an option that is
given beside a plan takes its place. Names of files are relative to the folder in which the command
is started.
"""

import argparse
import json
import os

from ..arguments.command_parser import CommandParser
from ..parameters.ascii_text import quoted
from ..parameters.errors import ParameterError
from ..parameters.rules import check_mapping, refuse
from ..parameters.yaml_reader import YamlReader

#: section -> key -> attribute of the options
INPUT_SCHEMA = {
    "input": {"source": "input", "duration": "duration", "seed": "seed"},
    "array": {"description": "array"},
    "engines": {
        "channels": "channels",
        "taps": "taps",
        "window": "window",
        "format": "format",
        "integration": "integration",
    },
    "calibration": {"file": "calibration"},
    "outputs": {"file": "output", "overwrite": "overwrite"},
    "device": {"name": "device"},
}


def extend(schema, **sections):
    """A schema with more keys in some of its sections, each given as a dictionary."""
    return {
        name: keys if isinstance(keys, Named) else {**keys, **sections.get(name, {})}
        for name, keys in schema.items()
    }


class Named(dict):
    """
    A section whose keys are names of the user's choice, each a mapping of some keys to texts.
    attribute: of the options, which gets {name: {key: text}}, or None; keys: key -> what it means.
    """

    def __init__(self, attribute, **keys):
        super().__init__(keys)
        self.attribute = attribute


class PlanReader(YamlReader):
    """Reads a plan into a dictionary of options. sections: what the file says, as texts."""

    def read(self, file, schema, actions):
        self.sections = self.tree(file)
        return self.with_line(self._options, self.sections, schema, actions)

    def _options(self, tree, schema, actions):
        found = {}
        check_mapping("", tree, schema)
        for section, keys in tree.items():
            if isinstance(schema[section], Named):
                found[schema[section].attribute] = self._named(section, keys, schema[section])
                continue
            check_mapping(section, keys, schema[section])
            for key, value in keys.items():
                found[schema[section][key]] = self._value(
                    f"{section}.{key}", value, actions[schema[section][key]]
                )
        return found

    def _named(self, section, names, known):
        """{name: {key: text}} of a section of names."""
        if not isinstance(names, dict):
            refuse(section, names, "a mapping of names")
        found = {}
        for name, keys in names.items():
            found[str(name)] = {}
            check_mapping(f"{section}.{name}", keys, known)
            for key, value in keys.items():
                if not isinstance(value, str):
                    refuse(f"{section}.{name}.{key}", value, "one value")
                found[str(name)][str(key)] = str(value)
        return found

    def _value(self, field, value, action):
        """A value by the rule of its option."""
        if action.nargs == 0:
            if value not in ("true", "false"):
                refuse(field, value, "true or false")
            return value == "true"
        if not isinstance(value, str):
            refuse(field, value, "one value")
        try:
            value = (action.type or str)(value)
        except argparse.ArgumentTypeError as error:
            raise ParameterError(field, str(error)) from None
        except ValueError:
            refuse(field, value, ", ".join(map(str, action.choices or ["a number"])))
        if action.choices and value not in action.choices:
            refuse(field, value, ", ".join(map(str, action.choices)))
        return value


class PlanParser(CommandParser):
    """A command line whose options are shorthands for a plan; schema: as INPUT_SCHEMA."""

    def __init__(self, schema, **arguments):
        super().__init__(**arguments)
        self.schema = schema
        self.add_argument(
            "--plan",
            metavar="FILE.yml",
            help="take what this file says; options take the place of what it says",
        )
        self.add_argument(
            "--write-plan",
            metavar="FILE.yml",
            help="write the plan of these options into a new file, and do no more",
        )

    def parse_args(self, args=None, namespace=None):
        """Parses as argparse does, with what a plan says as defaults."""
        first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        first.add_argument("--plan")
        plan = first.parse_known_args(args)[0].plan
        if plan is not None:
            actions = {action.dest: action for action in self._actions}
            if not os.path.isfile(plan):
                self.error(f"--plan {plan}: there is no such file")  # a FIFO would wait
            try:
                with open(plan, encoding="utf-8") as file:
                    found = PlanReader(plan, ParameterError).read(file, self.schema, actions)
            except ParameterError as error:
                self.error(str(error))  # the error names the file
            except (OSError, ValueError) as error:
                self.error(f"--plan {plan}: {error}")
            self.set_defaults(**found)
            for name in found:
                if name in actions:
                    actions[name].required = False
        options = super().parse_args(args, namespace)
        if options.plan != plan:
            self.error("--plan must be written in full")  # not as --pla, which argparse allows
        return options

    def plan_text(self, options):
        """The plan of parsed options as YAML; what has no value is left to the command, again."""
        sections = []
        for section, keys in self.schema.items():
            if isinstance(keys, Named):
                sections += self._named_text(section, getattr(options, keys.attribute, None))
                continue
            values = {key: getattr(options, name) for key, name in keys.items()}
            lines = [
                f"  {key}: {self._written(value)}"
                for key, value in values.items()
                if value is not None
            ]
            sections += [f"{section}:", *lines] if lines else []
        return "\n".join(sections) + "\n"

    def _named_text(self, section, names):
        """The lines of a section of names."""
        if not names:
            return []
        entry = lambda keys: ", ".join(
            f"{key}: {self._written(value)}" for key, value in keys.items()
        )
        return [
            f"{section}:",
            *(f"  {self._written(name)}: {{{entry(keys)}}}" for name, keys in names.items()),
        ]

    @staticmethod
    def _written(value):
        if isinstance(value, str):
            return quoted(value)
        return json.dumps(value) if isinstance(value, bool) else repr(value)

    def write_plan(self, options):
        """Writes the file of --write-plan, which must not be there."""
        with open(options.write_plan, "x", encoding="utf-8") as file:
            file.write(self.plan_text(options))
