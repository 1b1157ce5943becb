#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""VDIF as Python reads and computes it; nothing here comes from the library."""

from dataclasses import dataclass

import numpy as np

from .packets import HALF_YEARS


@dataclass(frozen=True)
class Frame:
    """A frame: fields of its header, `time` of the second since 1970, and codes
    [sample][channel][component]."""

    invalid: bool
    legacy: bool
    epoch: int
    second: int
    number: int
    version: int
    channels: int
    bits: int
    complex: bool
    thread: int
    station: int
    extended: tuple
    size: int
    codes: np.ndarray
    data: bytes

    @property
    def time(self):
        """Seconds since 1970, without leap seconds since the epoch."""
        return HALF_YEARS[self.epoch] + self.second


def read_frames(data):
    """The frames of bytes, one after another."""
    frames, place = [], 0
    while place < len(data):
        w = np.frombuffer(data[place : place + 32], "<u4").astype(np.int64)
        size = int(w[2] & 0xFFFFFF) * 8
        bits, channels = int(w[3] >> 26 & 31) + 1, 1 << int(w[2] >> 24 & 31)
        is_complex = bool(w[3] >> 31)
        payload = data[place + 32 : place + size]
        # one bit at a time, the lowest of a byte first
        each = np.unpackbits(np.frombuffer(payload, np.uint8), bitorder="little")
        codes = (each.reshape(-1, bits) << np.arange(bits)).sum(axis=1)
        frames.append(
            Frame(
                bool(w[0] >> 31),
                bool(w[0] >> 30 & 1),
                int(w[1] >> 24 & 63),
                int(w[0] & 0x3FFFFFFF),
                int(w[1] & 0xFFFFFF),
                int(w[2] >> 29),
                channels,
                bits,
                is_complex,
                int(w[3] >> 16 & 1023),
                int(w[3] & 0xFFFF),
                tuple(map(int, w[4:])),
                size,
                codes.reshape(-1, channels, 2 if is_complex else 1),
                payload,
            )
        )
        place += size
    return frames


def codes_of(values, rms, bits, step):
    """The codes of real numbers of an rms, by the rules of vdif_sink's page, in float64."""
    units = np.asarray(values, np.float64) / (step * rms)
    if bits == 1:
        return (units >= 0).astype(int)
    if bits == 2:
        return (units >= -1).astype(int) + (units >= 0) + (units >= 1)
    most = (1 << bits - 1) - 1
    return np.clip(np.rint(units), -most, most).astype(int) + most + 1
