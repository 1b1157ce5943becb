#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Reads powers in PSRFITS's search mode."""

import contextlib
import math
import os
import warnings
from fractions import Fraction

import numpy as np

from ... import stored_powers
from ...parameters.input_files import find_file
from ...parameters.times import END_OF_TIME, SECONDS_PER_DAY, UNIX_EPOCH_MJD, whole_and_fraction
from ..powers import Bytes, PowerFile, PowerFileError

#: the bytes at the begin of every FITS file
FITS_START = b"SIMPLE  ="
BITS = (1, 2, 4, 8, 16, 32)
MOST_CHANNELS = 1 << 24
MOST_OFFSET = 1e10  # s, of OFFS_SUB
#: keys of the start -> least and most
START = {
    "STT_IMJD": (UNIX_EPOCH_MJD, END_OF_TIME // SECONDS_PER_DAY + UNIX_EPOCH_MJD - 1),
    "STT_SMJD": (0, SECONDS_PER_DAY),
    "STT_OFFS": (-SECONDS_PER_DAY, SECONDS_PER_DAY),
}
#: POL_TYPE of one product -> whether it is one polarisation
ONE = {"AA", "BB", "XX", "YY", "LL", "RR"}
#: POL_TYPE -> products
SEVERAL = {
    "AABB": "pair",
    "XXYY": "pair",
    "LLRR": "pair",
    "IQUV": "IQUV",
    "STOKES": "IQUV",
    "AABBCRCI": "coherency",
    "XXYYCRCI": "coherency",
    "LLRRCRCI": "coherency",
}


@contextlib.contextmanager
def _quiet():
    """Lets astropy warn nobody of files that are cut off, which are told of here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class PsrfitsError(PowerFileError):
    """A file that has no powers in PSRFITS's search mode; the message is for the user."""


class SearchFile(PowerFile):
    """
    A PSRFITS file in search mode, opened for reading, of 1, 2, 4, 8 or 16 bits, or of floats.

    A power is (number - ZERO_OFF) * DAT_SCL + DAT_OFFS, as the standard has it (Hotan, van Straten
    and Manchester 2004, PASA 21, 302); numbers are two's complement where SIGNINT is 1, and the
    first of several in a byte is in its highest bits. Where DAT_WTS is 0 nothing was received: NaN.
    Other weights change no power. Rows that are missing (OFFS_SUB jumps) are a jump of the time.

    Attributes: those of PowerFile; `bits`; `ifs`, products.
    """

    def __init__(self, filename):
        from astropy.io import fits
        from astropy.io.fits import VerifyError

        self.filename = filename = find_file(filename)
        self.warnings = []
        self._scales = None, {}  # the row that was read last, and what scales it
        self._bytes = Bytes(filename)
        try:
            with _quiet(), fits.open(filename, memmap=True) as file:
                primary = file[0].header
                if str(primary.get("FITSTYPE", "")).strip() != "PSRFITS":
                    raise PsrfitsError(f"{filename}: not PSRFITS: FITSTYPE is missing")
                mode = str(primary.get("OBS_MODE", "")).strip()
                if mode not in ("SEARCH", "SRCH"):
                    raise PsrfitsError(
                        f"{filename}: OBS_MODE is {mode!r}, and powers are in files of SEARCH"
                    )
                table = file["SUBINT"]
                self._begin, self._rows = table.fileinfo()["datLoc"], table.header["NAXIS2"]
                if self._rows < 0:
                    self._refuse(
                        f"the table SUBINT has {self._rows} rows (NAXIS2), expected 0 or more"
                    )
                # a copy, as the header goes with the file
                self._take_table(table.header.copy(), table.columns)
                self._take_primary(primary)
        except PsrfitsError:
            raise
        # astropy's words of a file that it cannot read
        except (ArithmeticError, LookupError, TypeError, ValueError, OSError, VerifyError) as error:
            if getattr(error, "filename", None) is not None:
                raise
            self._refuse(f"cannot be read as FITS: {' '.join(str(error).split())}")

    def _refuse(self, text):
        raise PsrfitsError(f"{self.filename}: {text}")

    def _take_table(self, header, columns):
        number = lambda key, default=None: self._number(header, key, default)
        whole = lambda key, default=None: self._whole(header, key, default)
        self.bits, channels = whole("NBITS"), whole("NCHAN")
        self.ifs, self._block = whole("NPOL", 1), whole("NSBLK")
        self.interval = number("TBIN")
        self._zero = number("ZERO_OFF", 0.0)
        self._signed = int(number("SIGNINT", 0)) == 1
        if (
            self.bits not in BITS
            or not 1 <= channels <= MOST_CHANNELS
            or not 1 <= self.ifs <= 4
            or not 1 <= self._block <= 1 << 31
            or not 1e-15 <= self.interval <= 1e15
        ):
            self._refuse(
                f"{self.bits} bits, {channels} channels, {self.ifs} products, {self._block} "
                f"samples of {self.interval:g} s in a row: 1, 2, 4, 8, 16 or 32 bits are "
                f"understood, 1 to {MOST_CHANNELS} channels, 1 to 4 products"
            )
        kind = columns.dtype.newbyteorder(">")
        if kind.itemsize != header["NAXIS1"] or "DATA" not in kind.names:
            self._refuse("the table SUBINT has no column DATA, or columns that are not its rows")
        self._kind = kind
        self._data = kind.fields["DATA"][1]
        bits = self.ifs * channels * self.bits
        self._sample = bits // 8
        has = kind["DATA"].itemsize
        if bits % 8 or has != self._sample * self._block:
            self._refuse(
                f"DATA has {has} bytes in a row; {self._block} samples of {self.ifs} products, "
                f"{channels} channels and {self.bits} bits are {bits * self._block / 8:.10g}"
            )
        wrong = columns["DATA"].format.lstrip("0123456789")[:1]
        if wrong not in {8: "B", 16: "IB", 32: "E"}.get(self.bits, "B"):
            self._refuse(f"DATA is of the type {wrong!r}, and of {self.bits} bits it is another")
        if columns["DATA"].bzero not in (None, "", 0) and self.bits == 16:
            self._zero -= float(columns["DATA"].bzero)
        self._channels = channels
        there = (os.path.getsize(self.filename) - self._begin) // kind.itemsize
        if there < self._rows:
            self.warnings.append(
                f"the header says {self._rows} rows (NAXIS2), the file has {there}: it was cut "
                "off, or is still written"
            )
            self._rows = there
        self.samples = self._rows * self._block
        said = number("NSTOT", 0)
        if 0 <= self.samples - said < self._block:
            # the last row has fewer
            self.samples = int(said)
        kinds = "".join(str(header.get("POL_TYPE", "")).split()).upper()
        if self.ifs == 1:
            self.products = "power" if kinds in ONE else "I"
        elif self.ifs == 2:
            self.products = "pair"
        else:
            self.products = SEVERAL.get(kinds) if self.ifs == 4 else ""
        if kinds in SEVERAL and {"pair": 2}.get(SEVERAL[kinds], 4) != self.ifs:
            self.warnings.append(f"POL_TYPE is {kinds} and NPOL {self.ifs}: the latter is taken")
        self._blocks_before = number("NSUBOFFS", 0)

    def _number(self, header, key, default=None):
        value = header.get(key, default)
        # "*" and texts stand for what is not known
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            if default is None:
                self._refuse(f"{key} of the table SUBINT is missing, or is no number")
            return default
        return value

    def _whole(self, header, key, default=None):
        value = self._number(header, key, default)
        if value != int(value):
            self._refuse(f"{key} of the table SUBINT is {value:g}: expected a whole number")
        return int(value)

    def _fields(self, number, names):
        """Columns of a row of the table: name -> array; those that are not there are left out."""
        found = {}
        for name in names:
            if name not in self._kind.names:
                continue
            kind, place = self._kind.fields[name][:2]
            place += self._begin + number * self._kind.itemsize
            data = self._bytes.read(place, kind.itemsize)
            if len(data) < kind.itemsize:
                self._say_shorter(number)
            found[name] = np.frombuffer(data, kind.base).astype(float)
        return found

    def _say_shorter(self, row):
        self._refuse(
            f"it has become shorter while it was read: row {row} of {self._rows} is not there "
            "any more"
        )

    def _take_primary(self, header):
        """Takes what the primary header and the first row say: times, frequencies, direction."""
        self.source = str(header.get("SRC_NAME", "")).strip()
        self.telescope = str(header.get("TELESCOP", "")).strip()
        self.direction = self._direction(header.get("RA", ""), header.get("DEC", ""))
        if self._rows == 0:
            self.frequencies, self.width = np.arange(self._channels) + 1.0, 1.0
            return
        frequencies = 1e6 * self._fields(0, ["DAT_FREQ"]).get("DAT_FREQ", np.zeros(0))
        middle, width = (self._number(header, key, 0.0) for key in ("OBSFREQ", "OBSBW"))
        if len(frequencies) != self._channels or not (frequencies > 0).all():
            if not middle or not width:
                self._refuse("DAT_FREQ has no frequencies, nor do OBSFREQ and OBSBW say them")
            each = width / self._channels
            frequencies = 1e6 * (
                middle + each * (np.arange(self._channels) - (self._channels - 1) / 2)
            )
        steps = np.diff(frequencies)
        if self._channels > 1 and not ((steps > 0).all() or (steps < 0).all()):
            self._refuse("DAT_FREQ neither rises nor falls throughout")
        self._reverse = bool(self._channels > 1 and steps[0] < 0)
        self.frequencies = frequencies[::-1] if self._reverse else frequencies
        self.width = float(np.median(np.abs(steps))) if self._channels > 1 else abs(width) * 1e6
        band = self.width * self._channels
        if middle and abs(self.frequencies.mean() - 1e6 * middle) > 0.01 * band:
            self.warnings.append(
                f"OBSFREQ is {middle:.10g} MHz, and the middle of DAT_FREQ "
                f"{self.frequencies.mean() / 1e6:.10g} MHz: the latter is taken"
            )
        late, start = self._times(), self._start(header)
        if start is None:
            return
        if 0 <= start + late < END_OF_TIME:
            self.begin = whole_and_fraction(start + late)
        else:
            self.warnings.append(
                f"the first row begins {float(late):.10g} s after the start, before 1970 or after "
                "9999: the time of the samples is not known"
            )

    def _start(self, header):
        """Returns the start, s since 1970, exactly; None: the header does not say it."""
        values = [header.get(key, 0) for key in START]
        for value, (key, (low, high)) in zip(values, START.items()):
            if not isinstance(value, (int, float)) or not low <= value <= high:
                self.warnings.append(
                    f"{key} is {value}, and must be a number from {low} to {high}: the time of the "
                    "samples is not known"
                )
                return None
        day, *seconds = map(Fraction, values)
        return (day - UNIX_EPOCH_MJD) * SECONDS_PER_DAY + sum(seconds)

    def _times(self):
        """Returns when the first row begins after the start, s, and finds the jumps of others."""
        length = self._block * Fraction(self.interval)
        counted = Fraction(self._blocks_before) * length
        offsets = [
            self._fields(number, ["OFFS_SUB"]).get("OFFS_SUB", np.zeros(1))[0]
            for number in range(self._rows)
        ]
        if (np.array(offsets) == 0).all():
            return counted
        wrong = np.flatnonzero(~(np.abs(offsets) <= MOST_OFFSET))
        if len(wrong):
            self.warnings.append(
                f"OFFS_SUB of row {wrong[0]} is {offsets[wrong[0]]:.10g} s, and must be at most "
                f"{MOST_OFFSET:g}: rows are taken to follow on each other"
            )
            return counted
        begins = [Fraction(float(value)) - length / 2 for value in offsets]
        half = Fraction(self.interval) / 2
        if self._blocks_before and abs(begins[0] - counted) > half:
            self.warnings.append(
                f"OFFS_SUB of the first row is {offsets[0]:.10g} s, and NSUBOFFS of "
                f"{self._blocks_before:g} rows says {float(counted + length / 2):.10g} s: the "
                "former is taken"
            )
        jumps, late = [], Fraction(0)
        for number, begin in enumerate(begins):
            away = begin - begins[0] - number * length - late
            if away < -half:
                self.warnings.append(
                    f"OFFS_SUB of row {number} is {offsets[number]:.10g} s, before the end of "
                    "the row before it: rows are taken to follow on each other"
                )
                return begins[0]
            if away > half:
                late += round(away / Fraction(self.interval)) * Fraction(self.interval)
                jumps.append((number * self._block, late))
        if jumps:
            lost = round(late / Fraction(self.interval))
            self.warnings.append(
                f"{lost} samples are missing, the first behind sample {jumps[0][0]} (OFFS_SUB)"
            )
        self.jumps = tuple(jumps)
        return begins[0]

    @staticmethod
    def _direction(ra, dec):
        """Degrees of hh:mm:ss and dd:mm:ss; None of what is no direction."""
        try:
            found = []
            for text, most, factor in ((ra, 24, 15), (dec, 90, 1)):
                words = [float(word) for word in str(text).strip().lstrip("+-").split(":")]
                value = sum(word / 60**place for place, word in enumerate(words))
                sign = -1 if str(text).strip().startswith("-") else 1
                if not 0 <= value <= most:
                    return None
                found.append(factor * sign * value)
        except ValueError:
            return None
        return tuple(found)

    def read_into(self, first, to):
        values, done = to.reshape(len(to), -1), 0
        while done < len(to):
            row, sample = divmod(first + done, self._block)
            count = min(self._block - sample, len(to) - done)
            place = self._begin + row * self._kind.itemsize + self._data + sample * self._sample
            data = self._bytes.read(place, count * self._sample)
            if len(data) < count * self._sample:
                self._say_shorter(row)
            if self._scales[0] != row:
                self._scales = row, self._scaling(row)
            stored_powers.unpack(
                data,
                self.bits,
                values[done : done + count].reshape(-1, self._channels),
                **self._scales[1],
                signed=self._signed or self.bits == 16,
                big_endian=True,
                descending=self._reverse,
            )
            done += count

    def _scaling(self, row):
        """Levels of a row of the table, as arguments of stored_powers.unpack(); empty where numbers
        are powers."""
        found = self._fields(row, ("DAT_WTS", "DAT_SCL", "DAT_OFFS"))
        order = slice(None, None, -1 if self._reverse else 1)
        # [product][channel]; of some writers one of each channel
        each = lambda name, default: (
            np.broadcast_to(found[name].reshape(-1, self._channels), (self.ifs, self._channels))
            if name in found and found[name].size in (self._channels, self.ifs * self._channels)
            else np.full((self.ifs, self._channels), default)
        )[:, order]
        scale, offset = each("DAT_SCL", 1.0), each("DAT_OFFS", 0.0)
        weights = found.get("DAT_WTS")
        if weights is not None and weights.size == self._channels and (weights == 0).any():
            offset = np.where((weights == 0)[order], np.nan, offset)
        if (scale == 1).all() and not offset.any() and not self._zero:
            return {}
        # a scale that is too large for a float is infinite
        with np.errstate(over="ignore"):
            return dict(
                zero=self._zero,
                scale=np.ascontiguousarray(scale, np.float32),
                offset=np.ascontiguousarray(offset, np.float32),
            )
