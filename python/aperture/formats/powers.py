#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common parts of files of powers: products, and samples of less than a byte."""

import functools
import math
from fractions import Fraction

import numpy as np

from ..parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD, whole_and_fraction

#: samples that are unpacked at once, as bytes of float32: they stay in the cache
AT_ONCE = 1 << 20
#: products of a file -> those of it whose sum is the total power
TOTAL = {
    "power": (0,),
    "I": (0,),
    "pair": (0, 1),  # the powers of two polarisations
    "IQUV": (0,),
    "coherency": (0, 1),
}


class PowerFileError(ValueError):
    """A file that is no file of powers, or makes no sense; the message is for the user."""


def time_of_date(days):
    """(Whole seconds, fraction) since 1970, UTC, of a modified Julian date, exactly; None of one
    before 1970."""
    seconds = (Fraction(days) - UNIX_EPOCH_MJD) * SECONDS_PER_DAY
    return None if seconds < 0 else whole_and_fraction(seconds)


@functools.cache
def _values(bits, high_first, reverse):
    """The values in each of the 256 bytes, float32 [byte][value]."""
    shifts = bits * np.arange(8 // bits)
    if high_first != reverse:
        shifts = shifts[::-1]
    return (np.arange(256)[:, np.newaxis] >> shifts & (1 << bits) - 1).astype(np.float32)


def unpack(data, bits, to, *, high_first=False, reverse=False):
    """
    Unpacks values of 1, 2 or 4 bits.

    Parameters
    ----------
    data : uint8 [...][byte]
    bits : int
    to : float32 [row][value], contiguous
        Each row begins with the first bits of a byte of `data`; or else all of them follow on each
        other, and a row has any number of values.
    high_first : bool
        The first value is in the highest bits of its byte.
    reverse : bool
        The last value of a row comes first.
    """
    each = 8 // bits
    rows, values = to.shape
    if values % each == 0:
        data = data.reshape(rows, values // each)
        if reverse:
            data = data[:, ::-1]
        found, table = to.reshape(rows, -1, each), _values(bits, high_first, reverse)
        at_once = max(1, AT_ONCE // (4 * values))
        for first in range(0, rows, at_once):
            part = slice(first, first + at_once)
            # mode: with it NumPy needs no copy of what it gives
            np.take(table, data[part], axis=0, out=found[part], mode="clip")
        return
    found = _values(bits, high_first, False)[data.reshape(-1)].reshape(-1)[: rows * values]
    found = found.reshape(rows, values)
    to[:] = found[:, ::-1] if reverse else found


def convert(values, to, *, reverse=False):
    """Copies values of any type [row][value] to float32 of that shape, the last of a row first if
    `reverse`, by parts that stay in the cache."""
    at_once = max(1, AT_ONCE // (4 * max(1, values.shape[1])))
    if reverse:
        values = values[:, ::-1]
    for first in range(0, len(values), at_once):
        part = slice(first, first + at_once)
        np.copyto(to[part], values[part], casting="unsafe")


class PowerFile:
    """
    A file of powers, [sample][row][product][channel].

    Attributes
    ----------
    filename : str
    frequencies : array
        Of the channels, Hz, ascending.
    width : float
        From one channel to the next, Hz.
    samples : int
    rows : int
        Beams in the file.
    products : str
        A key of TOTAL; None of four products of which the file does not say what they are.
    interval : float
        From one sample to the next, s.
    begin : (int, float)
        When the first sample begins, UTC since 1970; None: the file does not say.
    source, telescope : str
        Empty where the file does not say.
    direction : (float, float)
        ICRS right ascension and declination, degrees; None: the file does not say.
    jumps : tuple
        (Sample, seconds by which it and what follows are late), of samples before which some are
        missing.
    barycentric : bool
        Times are those at the barycentre of the solar system.
    warnings : list of str
        What contradicts itself.
    """

    rows, products, source, telescope = 1, "I", "", ""
    begin = direction = None
    jumps = ()
    barycentric = False

    @property
    def count_of_products(self):
        """The number of products of a beam."""
        return {"power": 1, "I": 1, "pair": 2}.get(self.products, 4)

    def read_into(self, first, to):
        """Puts samples from `first` on into float32 [sample][row][product][channel], channels
        ascending. Raises OSError, or PowerFileError where the file has become shorter."""
        raise NotImplementedError

    def clock(self, sample):
        """(Whole seconds, fraction) of the middle of a sample."""
        whole, part = self.begin or (0, 0.0)
        jumped = max((late for item, late in self.jumps if item <= sample), default=0)
        late = Fraction(part) + jumped + (sample + Fraction(1, 2)) * Fraction(self.interval)
        return whole + math.floor(late), float(late - math.floor(late))
