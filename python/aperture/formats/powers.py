#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common parts of files of powers: products, times, and the reading of samples."""

import math
import os
import weakref
from fractions import Fraction

import numpy as np

from ..parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD, whole_and_fraction

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


class Bytes:
    """
    The bytes of a file that is read in pieces, for each of which opening it would take longer than
    reading. Of many files only the first MOST_OPEN stay open: a process has 1024 as a rule.

    Raises OSError.
    """

    MOST_OPEN = 256
    _open = weakref.WeakSet()

    def __init__(self, filename):
        self._filename, self._file = filename, None
        if len(self._open) < self.MOST_OPEN:
            self._file = os.open(filename, os.O_RDONLY | os.O_CLOEXEC)
            self._open.add(self)
            weakref.finalize(self, os.close, self._file)

    def read(self, place, count):
        """uint8 [byte], `count` of them from a place on, fewer where the file ends; raises
        OSError that names the file."""
        found = np.empty(count, np.uint8)
        view, done = memoryview(found), 0
        file = self._file
        try:
            if self._file is None:
                file = os.open(self._filename, os.O_RDONLY | os.O_CLOEXEC)
            while done < count and (got := os.preadv(file, [view[done:]], place + done)):
                done += got
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._filename) from None
        finally:
            if self._file is None and file is not None:
                os.close(file)
        return found[:done]


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
