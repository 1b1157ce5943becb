#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The colours of an image of the sky, and its picture as PNG."""

import functools
import io

import numpy as np

COLOUR_MAP = "inferno"


@functools.cache
def _colour_map():
    from matplotlib import colormaps  # 0.1 s, which what only computes need not wait for

    return colormaps[COLOUR_MAP]


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
    if dynamic_range:
        values = 1 + 10 / dynamic_range * np.log10(np.maximum(image / high, 1e-30))
    else:
        values = (image - low) / (high - low)
    return _colour_map()(values, bytes=True)


def png(image, low, high):
    """The bytes of a PNG, a byte a pixel, of an image [x][y], x to the right and y up, in colours
    from low to high; clear where it is NaN."""
    from PIL import Image  # drawing on the screen needs no Pillow

    values = np.nan_to_num((np.asarray(image, float) - low) / (high - low), nan=0.0)
    # level 0 is what is clear, and as a colour of the sky is left to level 1
    levels = np.where(np.isnan(image), 0, np.clip(values, 0, 1) * 254 + 1).astype(np.uint8)
    picture = Image.fromarray(levels.T[::-1])
    picture.putpalette(_colour_map()(np.arange(256), bytes=True)[:, :3].tobytes())
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=0)
    return file.getvalue()
