#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common parts of files of voltages, whatever their format."""

from dataclasses import dataclass

import numpy as np

SIGMF_ENDINGS = (".sigmf-meta", ".sigmf-data")
GUPPI_ENDING = ".raw"
DADA_ENDING = ".dada"
VOLTAGE_ENDINGS = (SIGMF_ENDINGS[0], GUPPI_ENDING)
DUMP_ENDINGS = (*VOLTAGE_ENDINGS, DADA_ENDING)


@dataclass(frozen=True)
class Moment:
    """A time: whole seconds since 1970, UTC, and a fraction."""

    seconds: int
    fraction: float

    def later(self, seconds):
        """This many seconds later."""
        whole = int(seconds // 1)
        fraction = self.fraction + (seconds - whole)
        return Moment(self.seconds + whole + int(fraction // 1), fraction % 1)

    def since(self, other):
        """Seconds from another one to this one."""
        return (self.seconds - other.seconds) + (self.fraction - other.fraction)


@dataclass(frozen=True)
class Recording:
    """
    The description of a file's voltages.

    frequencies: Hz, of each channel in it; width: Hz, of a channel; rate: samples a second of a
    channel; start: Moment of the first sample; names: of each input or beam in it; source: of
    which antenna or beam they are; channel: number of the first channel; telescope: a name, or "";
    site: latitude and longitude in degrees and height in metres, or None; description: for people;
    settings: texts on settings that hold from the start, each with its time.
    """

    frequencies: tuple
    width: float
    rate: float
    start: Moment
    names: tuple
    source: str
    channel: int
    telescope: str
    site: tuple | None
    description: str
    settings: tuple = ()


def components(dtype):
    """
    Returns bits of a component, and components of a sample, of voltages in memory; unsigned
    integers stand for complex ones of half as many bits, re first.
    """
    return (4 * dtype.itemsize, 2) if dtype.kind in "uc" else (8 * dtype.itemsize, 1)


def sc4_to_sc8():
    """Returns the sc8 of each byte of sc4: uint16 [256], re in the low byte; -8 becomes -7."""
    value = np.arange(256)
    signed = lambda bits: np.maximum(np.where(bits > 7, bits - 16, bits), -7)
    parts = np.stack([signed(value >> 4), signed(value & 15)], axis=-1).astype(np.int8)
    return parts.view(np.uint16)[:, 0].copy()
