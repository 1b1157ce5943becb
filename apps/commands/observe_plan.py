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
from ..plan.plan import NAMED, fields_for
from ..plan.schema import json_schema
from ..plan.yaml_plans import load_plan
from .running import error_text

PROGRAM = OBSERVE
#: field -> how else blocks and engines call it
OTHER_NAMES = {"engines.spectra_per_frame": ("frame",)}


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
        if isinstance(error, ParameterError):
            if error.where:
                return error
            field = self._field_called(error.field)
            if field is not None:
                return self.plan.error(field, error.problem)
        return ParameterError("", error_text(error), self.path)

    def _field_called(self, parameter):
        """The field that has the name of a block's parameter; None where there is none. Of several,
        the one that the file has."""
        found = [
            field.name
            for section, fields in fields_for(PROGRAM).items()
            if section not in NAMED
            for field in fields.values()
            if parameter in (field.key, *OTHER_NAMES.get(field.name, ()))
        ]
        found.sort(key=lambda name: name not in self.plan.source.keys)
        return found[0] if found else None
