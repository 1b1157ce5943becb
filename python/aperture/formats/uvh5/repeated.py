#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Streams of zlib that say that something is repeated, composed without looking at all of it.

zlib itself takes as long for a constant as for other data. Here it is asked once, for the number of
repetitions, how "and so on" is said behind a few of them; that does not depend on what is repeated.
"""

import functools
import struct
import zlib

import numpy as np

BASE = 65521  # modulus of Adler's checksum
FEWEST = 8  # bytes of repetitions in front, which zlib needs to refer to them
MOST_TRIES = 64
LONGEST_STORED = 65535  # bytes
HEADER, LAST = b"\x78\x01", b"\x03\x00"  # stream's header, and empty block that ends it


@functools.lru_cache(64)
def _and_so_on(width, count):
    """
    Returns how many repetitions of so many bytes are to be stored, and the part of a stream that
    follows and repeats them up to `count`; None if zlib cannot say it without the bytes themselves.
    """
    one, other = bytes(range(width)), bytes(range(255, 255 - width, -1))
    first = min(count, -(-FEWEST // width))
    # zlib gives bytes themselves where one or two are left over
    for stored in range(first, min(count, first + MOST_TRIES) + 1):
        if stored * width > LONGEST_STORED:
            break
        if stored == count:
            return stored, b""
        made = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=one * stored)
        part = made.compress(one * (count - stored)) + made.flush(zlib.Z_SYNC_FLUSH)
        read = zlib.decompressobj(-15, zdict=other * stored).decompress(part)
        if read == other * (count - stored):
            return stored, part
    return None


def _checksum(patterns, count):
    """Adler's checksum of the patterns, [row][byte], of which each is repeated."""
    rows, width = patterns.shape
    size = rows * count * width
    values = patterns.astype(np.int64)
    total = (1 + count * int(values.sum())) % BASE
    # the weight of a byte is how many come from it on
    start = size - count * width * np.arange(rows)[:, np.newaxis] - np.arange(width)
    weight = (count * start - width * (count * (count - 1) // 2)) % BASE
    return (int((weight * values).sum()) + size) % BASE << 16 | total


def deflate_repeated(patterns, count):
    """
    A stream of zlib, as HDF5's filter gzip has it.

    Parameters
    ----------
    patterns : array
        [row][...], of which each row is repeated on its own.
    count : int
        How often.
    """
    patterns = np.ascontiguousarray(patterns)
    patterns = patterns.reshape(len(patterns), -1).view(np.uint8)
    found = _and_so_on(patterns.shape[1], count)
    if found is None:
        repeated = np.repeat(patterns[:, np.newaxis], count, axis=1)
        return zlib.compress(repeated, 1)
    stored, rest = found
    length = stored * patterns.shape[1]
    head = struct.pack("<BHH", 0, length, length ^ 0xFFFF)  # begins a block that is stored
    rows = np.empty((len(patterns), len(head) + length + len(rest)), np.uint8)
    rows[:, : len(head)] = np.frombuffer(head, np.uint8)
    rows[:, len(head) : len(head) + length] = np.tile(patterns, stored)
    rows[:, len(head) + length :] = np.frombuffer(rest, np.uint8)
    return HEADER + rows.tobytes() + LAST + struct.pack(">I", _checksum(patterns, count))
