#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The configuration of aperture_observe: a plan in one YAML file that is checked before anything
starts."""

from ..inputs.input_format import InputError
from ..parameters.errors import ParameterError
from ..plan.fields import OBSERVE
from ..plan.schema import json_schema
from ..plan.yaml_plans import load_plan

PROGRAM = OBSERVE


def schema_of():
    """The JSON schema of the file."""
    return json_schema(PROGRAM, f"Configuration of {PROGRAM}")


class Configuration:
    """
    A file that was read and checked.

    host: which one of the section `hosts` is meant.

    Attributes: `path`, `host`; `plan`, of this host; `sections`, section -> key -> text, as
    written.

    Raises
    ------
    ParameterError
        Something in it is not allowed: file, line, field, and what is.
    OSError
        It cannot be read.
    """

    def __init__(self, path, host=None):
        self.path, self.host = path, host
        self.plan = load_plan(path, PROGRAM).of_host(host)
        self.plan.check()
        self.sections = self.plan.source.tree

    def error(self, error):
        """Returns an error that came later, with the file, and the line where it is of a field."""
        if isinstance(error, InputError):
            return self.plan.input_error(error)
        if isinstance(error, ParameterError) and error.where:
            return error
        return ParameterError("", str(error), self.path)
