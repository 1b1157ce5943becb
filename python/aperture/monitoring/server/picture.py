#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures as PNG, of colours by number."""

import struct
import zlib

import numpy as np

#: stops of matplotlib's "inferno" (CC0), which displays of the sky have, too
STOPS = """
000004 040312 0b0724 150b37 210c4a 2f0a5b 3d0965 4a0c6b 57106e 64156e 71196e 7d1e6d 8a226a
972766 a32c61 b0315b bc3754 c73e4c d24644 db503b e45a31 eb6628 f1731d f68013 f98e09 fb9d07
fcac11 fbbc21 f9cb35 f5db4c f2ea69 f3f68a fcffa4
"""


def palette():
    """uint8 [level 0 to 254][red, green, blue]; 255 is what is clear."""
    stops = np.array(
        [[int(stop[place : place + 2], 16) for place in (0, 2, 4)] for stop in STOPS.split()], float
    )
    places = np.linspace(0, len(stops) - 1, 255)
    return (
        np.stack(
            [np.interp(places, np.arange(len(stops)), stops[:, colour]) for colour in range(3)], 1
        )
        .round()
        .astype(np.uint8)
    )


def png(image, low, high):
    """
    The bytes of a picture of an image [x][y], x to the right and y up, in colours from low to
    high; clear where it is NaN.
    """
    values = np.nan_to_num((np.asarray(image, float) - low) / (high - low), nan=0.0)
    levels = (np.clip(values, 0, 1) * 254).astype(np.uint8)
    levels[np.isnan(image)] = 255
    rows = np.ascontiguousarray(levels.T[::-1])
    height, width = rows.shape
    lines = np.zeros((height, width + 1), np.uint8)  # each line begins with its filter, none
    lines[:, 1:] = rows
    colours = np.concatenate([palette(), np.zeros((1, 3), np.uint8)])
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", colours.tobytes()),
            _chunk(b"tRNS", bytes([255] * 255 + [0])),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
