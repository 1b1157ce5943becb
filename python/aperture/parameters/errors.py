#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The error that all parameters share."""


class ParameterError(ValueError):
    """A parameter, or a field of a file that a user writes, has a value that is not allowed.

    field: for example "filename" or "inputs[3].antenna"; problem: what is wrong and what is
    allowed; where: "FILE:LINE", or None if it does not come from a file.
    """

    def __init__(self, field, problem, where=None):
        super().__init__(": ".join(part for part in (where, field, problem) if part))
        self.field = field
        self.problem = problem
        self.where = where


class NotNow(ValueError):
    """Something is asked for that is not allowed at present, and may be at another time."""


class ParameterTypeError(TypeError):
    """A parameter has a value of a type that is not allowed."""

    def __init__(self, field, problem):
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
