#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The error of array descriptions."""

from ..parameters import errors


class ArrayDescriptionError(errors.ParameterError):
    """An error in an array description: in a field of it, or of one of its parts."""


def refuse(field, value, rule):
    """Raises the error for a value of a description that its rule does not allow."""
    errors.refuse(field, value, rule, ArrayDescriptionError)
