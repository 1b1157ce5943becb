#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Numbers with units, as texts."""

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def with_prefix(value, unit):
    """Returns, for example, 16 Msample/s for 1.6e7 and "sample/s"; three to four digits."""
    for size, letter in PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.4g} {letter}{unit}"
    return f"{value:.3g} {unit}"


def seconds_text(seconds, digits=6):
    """A length of time with the unit that fits it."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.{digits}g} {unit}"
    return f"{seconds * 1e9:.{digits}g} ns"
