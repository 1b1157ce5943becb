#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of powers of any format, one or several side by side."""

import os

import numpy as np

from ..parameters.input_files import find_file
from ..parameters.regular_file import check_regular
from ..parameters.times import exact, whole_and_fraction
from .filterbank.header import HEADER_START
from .filterbank.reader import FilterbankFile
from .powers import TOTAL, PowerFileError
from .psrfits.search_file import FITS_START, SearchFile

#: frequencies of channels at equal distances differ from a line by less than this part of one
STRAIGHT = 0.01
#: the orders of four products of a file that does not say which it has
ORDERS = ("IQUV", "coherency")


def open_power_file(path):
    """
    The PowerFile of a file, which its first bytes tell.

    Raises
    ------
    PowerFileError
        It is none that is known, or makes no sense.
    ValueError, OSError
        It is no file on a disk, or cannot be read.
    """
    path = find_file(path)
    check_regular(path, "a recording of powers")
    with open(path, "rb") as file:
        begin = file.read(len(HEADER_START))
    if not begin:
        raise PowerFileError(f"{path}: the file is empty")
    if begin == HEADER_START:
        return FilterbankFile(path)
    if begin.startswith(FITS_START):
        return SearchFile(path)
    raise PowerFileError(f"{path}: neither a filterbank file of SIGPROC nor PSRFITS")


def as_names(files):
    """Names of files, a list, of one or a list of them; commas in a text stand between names."""
    found = files.split(",") if isinstance(files, str) else [os.fspath(name) for name in files]
    found = [name.strip() for name in found if name.strip()]
    if not found:
        raise PowerFileError(
            f"filenames: {files!r} is not allowed: expected the name of a file of powers, or of "
            "several"
        )
    return found


class PowerRecording:
    """
    Files of powers that were recorded together, each of other beams.

    Parameters
    ----------
    filenames : str, or list of str
    products : str
        total: the total power of each beam; all: what is in the files.
    order : str
        One of ORDERS, of files of four products that do not say which they are.

    Attributes
    ----------
    files : list of PowerFile
    names : list of str
        Of the beams, all different.
    directions : list
        For each of them, (right ascension, declination), ICRS, degrees, or None.
    products : str
        power, I, IQUV or coherency; of power each polarisation is a beam.
    shape : (int, int, int)
        Beams, products, channels.
    center_frequency, bandwidth : float
        Hz; of channel n // 2, and of all n.
    interval : float
        From one sample to the next, s.
    samples : int
        Those that all files have.
    begin : (int, float) or None
        When the first sample begins, UTC since 1970.
    source, telescope : str
    warnings : list of str

    Raises
    ------
    PowerFileError
        A file cannot be read, or two of them do not fit: both are named, and the difference.
    OSError
    """

    def __init__(self, filenames, products="total", order=ORDERS[0]):
        self.files = [open_power_file(name) for name in as_names(filenames)]
        first, known = self.files[0], set()
        for file in self.files:
            if (place := os.path.realpath(file.filename)) in known:
                raise PowerFileError(
                    f"{file.filename}: is named twice; files side by side are beams of one "
                    "recording, expected each of them once"
                )
            known.add(place)
        self.warnings = [
            f"{os.path.basename(file.filename)}: {text}"
            for file in self.files
            for text in file.warnings
        ]
        kinds = [self._products(file, order) for file in self.files]
        for file, kind in zip(self.files, kinds):
            self._check(file, first, kind, kinds[0])
        self._total = TOTAL[kinds[0]] if products == "total" else None
        if self._total is not None:
            self.products = "power" if kinds[0] == "power" else "I"
        else:
            self.products = "power" if kinds[0] == "pair" else kinds[0]
        letters = ("x", "y") if self._total is None and kinds[0] == "pair" else ("",)
        self.names, self.directions = [], []
        for file, stem in zip(self.files, self._stems()):
            for row in range(file.rows):
                beam = stem if file.rows == 1 else f"{stem}-{row}"
                self.names += [f"{beam} {letter}".strip() for letter in letters]
                self.directions += [file.direction] * len(letters)
        count = {"power": 1, "I": 1}.get(self.products, 4)
        self.shape = (len(self.names), count, len(first.frequencies))
        self.center_frequency = float(first.frequencies[len(first.frequencies) // 2])
        self.bandwidth = first.width * len(first.frequencies)
        self.interval, self.begin = float(first.interval), first.begin
        self.source, self.telescope = first.source, first.telescope
        self.barycentric = any(file.barycentric for file in self.files)
        lengths = [file.samples for file in self.files]
        self.samples, self._first = min(lengths), 0
        if self.samples == 0:
            shortest = self.files[lengths.index(0)]
            raise PowerFileError(f"{shortest.filename}: there are no samples in it")
        if max(lengths) > self.samples:
            shortest = self.files[lengths.index(self.samples)]
            self.warnings.append(
                f"{os.path.basename(shortest.filename)} has {self.samples} samples, others up to "
                f"{max(lengths)}: what all of them have is taken"
            )

    @staticmethod
    def _products(file, order):
        if file.products is None:
            return order
        if file.products not in TOTAL:
            raise PowerFileError(
                f"{file.filename}: {file.ifs // file.rows} products are not understood: 1, 2 "
                "(the polarisations) or 4 are, of each beam"
            )
        return file.products

    @staticmethod
    def _check(file, first, kind, kind_of_first):
        """Refuses a file that does not fit the first one, or into a band of equal channels."""

        def differ(what, here, there, unit=""):
            raise PowerFileError(
                f"{file.filename} and {first.filename} do not fit: {what} {here}{unit} and "
                f"{there}{unit}; files side by side are beams of one recording"
            )

        frequencies = file.frequencies
        count = len(frequencies)
        line = frequencies[0] + np.arange(count) * file.width
        if count > 1 and np.abs(frequencies - line).max() > STRAIGHT * file.width:
            raise PowerFileError(
                f"{file.filename}: its channels are not at equal distances, which a search and a "
                "folding need"
            )
        if count != len(first.frequencies):
            differ("channels", count, len(first.frequencies))
        if np.abs(frequencies - first.frequencies).max() > STRAIGHT * first.width:
            away = np.abs(frequencies - first.frequencies).argmax()
            differ(
                f"frequencies of channel {away}",
                f"{frequencies[away] / 1e6:.9g}",
                f"{first.frequencies[away] / 1e6:.9g}",
                " MHz",
            )
        if abs(file.interval - first.interval) * max(file.samples, 1) > 0.5 * first.interval:
            differ("intervals", f"{file.interval:.12g}", f"{first.interval:.12g}", " s")
        if (file.begin is None) != (first.begin is None):
            differ(
                "times", file.begin and "known" or "unknown", first.begin and "known" or "unknown"
            )
        if file.begin is not None:
            late = (file.begin[0] - first.begin[0]) + (file.begin[1] - first.begin[1])
            # starts are written to a microsecond or so
            if abs(late) > max(0.5 * first.interval, 2e-6):
                raise PowerFileError(
                    f"{file.filename} begins {late:.6g} s later than {first.filename}: files side "
                    "by side are beams of one recording"
                )
        if file.jumps != first.jumps:
            shown = [f"samples {[item for item, _ in each.jumps]}" for each in (file, first)]
            differ("samples are missing before", *shown)
        if kind != kind_of_first:
            differ("products", kind, kind_of_first)

    def _stems(self):
        """Names of the files, all different."""
        found = [os.path.splitext(os.path.basename(file.filename))[0] for file in self.files]
        if len(set(found)) < len(found):
            found = [f"{stem}-{number}" for number, stem in enumerate(found)]
        return found

    def skip(self, samples):
        """Begins so many samples later, of which one at least must be left."""
        seconds, part = self.clock(samples)
        if self.begin is not None:
            self.begin = whole_and_fraction(seconds + exact(part) - exact(self.interval) / 2)
        self._first += samples
        self.samples -= samples

    def read_into(self, first, to):
        """Puts samples from `first` on into float32 [sample][beam][product][channel]. Raises
        OSError, PowerFileError."""
        row, first = 0, first + self._first
        for file in self.files:
            rows = file.rows * (len(self.names) // sum(each.rows for each in self.files))
            part = to[:, row : row + rows]
            row += rows
            shape = (len(to), file.rows, file.count_of_products, to.shape[-1])
            if part.size == np.prod(shape) and part.flags.c_contiguous:
                file.read_into(first, part.reshape(shape))
                continue
            whole = np.empty(shape, np.float32)
            file.read_into(first, whole)
            if self._total is None:
                part[:] = whole.reshape(part.shape)
            elif len(self._total) == 1:
                part[:, :, 0] = whole[:, :, self._total[0]]
            else:
                np.add(*(whole[:, :, product] for product in self._total), out=part[:, :, 0])

    @property
    def jumps(self):
        """Samples before which some are missing."""
        found = [sample - self._first for sample, _ in self.files[0].jumps]
        return [sample for sample in found if sample > 0]

    def clock(self, sample):
        """(Whole seconds, fraction) of the middle of a sample."""
        return self.files[0].clock(self._first + sample)
