#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The texts of angles and places on the sky, for people."""

import numpy as np


def angle_unit(width):
    """A unit for angles up to `width` radians, and its size in radians."""
    for unit, size in (("°", 1.0), ("′", 1 / 60), ("″", 1 / 3600)):
        if width >= 2 * np.radians(size):
            return unit, float(np.radians(size))
    return "mas", float(np.radians(1 / 3.6e6))


def angle_text(angle, digits=3):
    """An angle in radians with a unit that fits it."""
    unit, size = angle_unit(angle)
    return f"{angle / size:.{digits}g}{' ' if unit == 'mas' else ''}{unit}"


def hours_text(ra, dec, cell):
    """ICRS coordinates in hours and degrees, with the digits that pixels of `cell` radians give."""
    digits = int(np.clip(np.ceil(-np.log10(np.degrees(cell) * 3600)), 0, 6))
    seconds = round(ra % 360 / 15 * 3600, digits + 1) % 86400
    angle = round(abs(dec) * 3600, digits)
    width = digits + 3 if digits else 2
    return (
        f"{int(seconds // 3600):02d}h{int(seconds // 60 % 60):02d}m"
        f"{seconds % 60:0{digits + 4}.{digits + 1}f}s {'-' if dec < 0 else '+'}"
        f"{int(angle // 3600):02d}°{int(angle // 60 % 60):02d}′"
        f"{angle % 60:0{width}.{digits}f}″"
    ).replace(" -", " −")
