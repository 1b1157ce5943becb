#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The colours of an image of the sky."""

import functools

import numpy as np

COLOUR_MAP = "inferno"


@functools.cache
def _table():
    """uint8 [level][red, green, blue, alpha]."""
    from matplotlib import colormaps  # 0.1 s, which what only computes need not wait for

    return (colormaps[COLOUR_MAP](np.arange(256) / 255) * 255).round().astype(np.uint8)


def limits(image, dynamic_range=0.0):
    """The values of the lowest and of the highest colour: dynamic_range in dB below the maximum,
    or with 0 from the median on, below which there is nothing but sidelobes and noise."""
    high = float(np.nanmax(image))
    low = float(np.nanmedian(image))
    if dynamic_range:
        high = max(high, 1e-30)
        low = high * 10 ** (-dynamic_range / 10)
    return low, high if high > low else low + 1e-30


def colours(image, low, high, dynamic_range=0.0):
    """
    uint8 [x][y][red, green, blue, alpha] of an image [x][y]; clear where it is NaN.

    Linear from low to high, or logarithmic where dynamic_range (dB) is not 0.
    """
    values = np.nan_to_num(image, nan=low)
    if dynamic_range:
        values = 1 + 10 / dynamic_range * np.log10(np.maximum(values / high, 1e-30))
    else:
        values = (values - low) / (high - low)
    found = _table()[(np.clip(values, 0, 1) * 255).astype(np.uint8)]
    found[np.isnan(image)] = 0
    return found
