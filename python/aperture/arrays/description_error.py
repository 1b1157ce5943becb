#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The error of array descriptions, and the rules that raise it."""

from functools import partial

from ..parameters import rules
from ..parameters.errors import ParameterError


class ArrayDescriptionError(ParameterError):
    """A field of an array description, or of one of its parts, is wrong."""


as_number = partial(rules.as_number, error=ArrayDescriptionError)
refuse = partial(rules.refuse, error=ArrayDescriptionError)
