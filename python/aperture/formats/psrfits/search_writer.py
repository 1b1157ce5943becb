#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes powers in PSRFITS's search mode, some samples at a time: a row of the table SUBINT."""

import numpy as np

from ... import stored_powers
from .primary import FITS_BLOCK

#: products of the power detector -> how PSRFITS calls them
POLARIZATIONS = {"power": "AA", "I": "AA+BB", "IQUV": "IQUV", "coherency": "AABBCRCI"}
#: bits of a number -> type of a FITS column; of less than 8 bits a byte has several
COLUMNS = {1: "B", 2: "B", 4: "B", 8: "B", 16: "I", 32: "E"}
# columns of a row beside its powers, s and degrees, in the order that the standard has and that
# `your` counts on
TIMES = "TSUBINT", "OFFS_SUB", "LST_SUB"
DIRECTIONS = "RA_SUB", "DEC_SUB", "GLON_SUB", "GLAT_SUB"
ANGLES = "FD_ANG", "POS_ANG", "PAR_ANG", "TEL_AZ", "TEL_ZEN"
#: bits -> the step, in standard deviations, with which as many levels at equal distances have the
#: least error of Gaussian noise (Max 1960, IRE Trans. Inf. Theory 6, 7)
STEPS = {1: 1.596, 2: 0.9957, 4: 0.3352}
#: numbers of 16 bits that are used: the others are for what a float of the offset rounds away
USED_OF_16_BITS = 65500


def levels_of(bits, lowest, highest, mean, deviation):
    """
    The levels of a row, such that power = offset + step * number: with 8 and 16 bits all powers are
    within, with fewer they are best for noise, and what is beyond is clamped.

    Parameters
    ----------
    bits : int
        A key of COLUMNS.
    lowest, highest, mean, deviation : array [product][channel]
        As stored_powers.describe() gives them.

    Returns
    -------
    offset, step : float32 [product][channel]
    """
    if bits == 32:
        return np.zeros(mean.shape, np.float32), np.ones(mean.shape, np.float32)
    lowest, highest = np.asarray(lowest, float), np.asarray(highest, float)
    span = highest - lowest
    if bits < 8:
        step = STEPS[bits] * deviation
        offset = mean - step * (2**bits - 1) / 2
    elif bits == 8:
        # a float that is rounded down would clamp the highest
        step, offset = span / 255 * (1 + 2**-23), lowest
    else:
        offset = (lowest + highest) / 2
        # steps much finer than the rounding of the offset would shift numbers beyond their range
        digits = np.spacing(np.maximum(np.abs(lowest), np.abs(highest)).astype(np.float32))
        step = np.maximum(span / USED_OF_16_BITS, digits / 16)
    varies = (span > 0) & (step > 0)
    step = np.where(varies, step, 1.0).astype(np.float32)
    return np.where(varies, offset, mean).astype(np.float32), step


def _card(key, value):
    return f"{key:8}= {value:>20}".ljust(80).encode("ascii")


class SearchWriter:
    """
    A file that grows by rows, and is whole after each of them: the header says how many there are
    when one is there.

    Parameters
    ----------
    file : CheckedFile
        Locked; what is in it goes.
    primary : PrimaryHDU
    bits, row_samples : int
    interval : float
        s.
    products : str
        A value of POLARIZATIONS.
    frequencies : array
        Of the channels, ascending, Hz.
    width : float
        From one channel to the next, Hz.
    descending : bool
        The highest channel comes first in the file.

    Raises OSError.
    """

    def __init__(
        self,
        file,
        primary,
        *,
        bits,
        row_samples,
        interval,
        products,
        frequencies,
        width,
        descending,
    ):
        self._file, self._bits, self._descending = file, bits, descending
        self._samples, self._interval = row_samples, interval
        count = {"IQUV": 4, "AABBCRCI": 4}.get(products, 1)
        channels = len(frequencies)
        self._row = np.zeros((), self._kind(count, channels))
        self._row["DAT_FREQ"] = self._shown(frequencies) / 1e6
        self._row["TSUBINT"] = row_samples * interval
        self._data = np.empty(row_samples * count * channels * bits // 8, np.uint8)
        self._rows, self._padding = 0, 0
        # the mean of the last row takes the place of powers of a row that has none
        self._mean = np.zeros((count, channels))
        self._header = bytearray(
            primary.header.tostring().encode("ascii")
            + self._table(products, frequencies, width, count).tostring().encode("ascii")
        )
        self._places = {
            key: self._header.index(f"{key:8}= ".encode("ascii"), FITS_BLOCK)
            for key in ("NAXIS2", "NSTOT")
        }
        file.begin(self._header)

    @staticmethod
    def _kind(products, channels):
        return np.dtype(
            [
                *((name, ">f8") for name in TIMES + DIRECTIONS),
                *((name, ">f4") for name in ANGLES),
                ("DAT_FREQ", ">f8", (channels,)),
                ("DAT_WTS", ">f4", (channels,)),
                *((name, ">f4", (products, channels)) for name in ("DAT_OFFS", "DAT_SCL")),
            ]
        )

    @classmethod
    def bytes_beside(cls, products, channels):
        """Bytes of a row beside its powers."""
        return cls._kind(products, channels).itemsize

    def _shown(self, values):
        """Values of channels in the order of the file."""
        return values[..., ::-1] if self._descending else values

    def _table(self, products, frequencies, width, count):
        """The header of the table SUBINT, without rows."""
        from astropy.io import fits

        channels = len(frequencies)
        cells = f"{count * channels}E"
        numbers = self._samples * count * channels
        column = f"{numbers * min(self._bits, 8) // 8}{COLUMNS[self._bits]}"
        columns = [
            *(fits.Column(name, "1D", unit="s") for name in TIMES),
            *(fits.Column(name, "1D", unit="deg") for name in DIRECTIONS),
            *(fits.Column(name, "1E", unit="deg") for name in ANGLES),
            fits.Column("DAT_FREQ", f"{channels}D", unit="MHz"),
            fits.Column("DAT_WTS", f"{channels}E"),
            fits.Column("DAT_OFFS", cells),
            fits.Column("DAT_SCL", cells),
            # readers of less than 8 bits count on bytes without axes
            fits.Column(
                "DATA",
                column,
                dim=f"({channels},{count},{self._samples})" if self._bits >= 8 else None,
            ),
        ]
        header = fits.BinTableHDU.from_columns(columns, nrows=0, name="SUBINT").header
        header.update(
            {
                "INT_TYPE": "TIME",
                "INT_UNIT": "SEC",
                "SCALE": "FluxDen",
                "POL_TYPE": products,
                "NPOL": count,
                "TBIN": self._interval,
                "NBIN": 1,
                "NBIN_PRD": 1,
                "PHS_OFFS": 0.0,
                "NBITS": self._bits,
                "ZERO_OFF": 0.0,
                "SIGNINT": int(self._bits == 16),
                "NSUBOFFS": 0,
                "NCHAN": channels,
                "CHAN_BW": width / 1e6 * (-1 if self._descending else 1),
                "REFFREQ": float(np.mean(frequencies)) / 1e6,
                "DM": 0.0,
                "RM": 0.0,
                "NCHNOFFS": 0,
                "NSBLK": self._samples,
                "NSTOT": 0,
                "EPOCHS": "MIDTIME",
            }
        )
        return header

    def add(self, powers, samples, columns):
        """
        Adds a row; on a full disk nothing of it, with an OSError that names the file.

        Parameters
        ----------
        powers : float32 [sample][product][channel]
            As many samples as a row has. What is no number is missing: the mean of its channel in
            the row takes its place, and where there is none in any product, the weight of the
            channel is 0 and its power the mean of the row before.
        samples : int
            Those that are there, of the last row fewer than all.
        columns : dict
            Others of the row, in its middle: LST_SUB, and those of DIRECTIONS and ANGLES that are
            not 0.
        """
        finite, *cells = stored_powers.describe(powers)
        weights = np.ones(powers.shape[2])
        if not finite:
            there = np.isfinite(powers)
            counts = there.sum(axis=0)
            sums = np.sum(powers, axis=0, dtype=float, where=there)
            mean = np.where(counts > 0, sums / np.maximum(counts, 1), self._mean)
            np.copyto(powers, mean.astype(np.float32), where=~there)
            weights = (counts > 0).any(axis=0)
            _, *cells = stored_powers.describe(powers)
        self._mean = cells[2]
        offset, step = levels_of(self._bits, *cells)
        stored_powers.pack(
            powers.reshape(-1, powers.shape[2]),
            self._bits,
            self._data,
            offset.astype(float),
            step.astype(float),
            signed=self._bits == 16,
            big_endian=True,
            descending=self._descending,
        )
        row = self._row
        row["OFFS_SUB"] = (self._rows + 0.5) * self._samples * self._interval
        for name, value in columns.items():
            row[name] = value
        row["DAT_WTS"] = self._shown(weights)
        row["DAT_OFFS"], row["DAT_SCL"] = self._shown(offset), self._shown(step)
        end = len(self._header) + (self._rows + 1) * (row.nbytes + self._data.nbytes)
        padding = -end % FITS_BLOCK
        self._file.add(row.tobytes(), self._data, bytes(padding), over=self._padding)
        self._padding = padding
        # a reader finds the rows that the header says
        total = self._rows * self._samples + samples
        self._rows += 1
        for key, value in (("NAXIS2", self._rows), ("NSTOT", total)):
            place = self._places[key]
            self._header[place : place + 80] = _card(key, value)
        self._file.rewrite_begin(self._header)
