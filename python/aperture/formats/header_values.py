#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Values of headers, which are texts under keys."""

from fractions import Fraction


class HeaderValues:
    """
    Reads values of a header; what is missing or not allowed is a ValueError that names the file,
    the key, its value and what is allowed.

    name: of the file; values: key -> text; unset: texts that stand where there is no value.
    """

    def __init__(self, name, values, unset=()):
        self.name, self.values, self._unset = name, values, unset

    def has(self, key):
        """Returns whether there is a value."""
        return key in self.values and self.values[key] not in self._unset

    def text(self, key, default=""):
        """Returns a value as it is written."""
        return self.values[key] if self.has(key) else default

    def error(self, key, rule):
        """A ValueError about a value; rule: what it must be, or do."""
        said = f"{key} {self.values[key]}" if key in self.values else f"{key} is missing"
        return ValueError(f"{self.name}: {said}: {rule}")

    def number(self, key, low, high, what, default=None):
        """A Fraction from low to high; what: it must be, in words."""
        if default is not None and not self.has(key):
            return default
        try:
            value = Fraction(self.values[key])
            if low <= value <= high:
                return value
        except (KeyError, ValueError, ZeroDivisionError):
            pass
        raise self.error(key, f"must be {what}")

    def whole(self, key, low, high, default=None):
        """A whole number from low to high."""
        if default is not None and not self.has(key):
            return default
        rule = f"a whole number from {low} to {high}"
        value = self.number(key, low, high, rule)
        if value.denominator != 1:
            raise self.error(key, f"must be {rule}")
        return int(value)

    def digits(self, key):
        """Returns the number of digits of a number as it is written."""
        mantissa = self.values[key].lower().partition("e")[0]
        return len("".join(filter(str.isdigit, mantissa)).strip("0"))
