#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The random groups of UVFITS files, some rows at a time.

pyuvdata reads and writes such a file as a whole. Here files of some rows are made of a large one,
and a large one of files of some rows, as bytes: what the numbers mean is left to pyuvdata. A row is
a record of PCOUNT parameters and the visibilities of a baseline of an integration, all of one type,
big-endian (FITS standard 4.0, section 6).
"""

import os

import numpy as np
from astropy.io import fits

BLOCK = 2880  # bytes, of which a FITS file has a whole number
AT_ONCE = 1 << 20  # bytes that are read
#: axes of a file of parameters of which there is but one place: STOKES, FREQ
SHORT_AXES = (3, 4)


class GroupsError(ValueError):
    """A file whose rows cannot be taken as they are."""


def _padded(size):
    return -(-size // BLOCK) * BLOCK


class Groups:
    """
    The random groups of a file.

    Attributes: `count`, rows; `parameters`, their names, as often as they are there.

    Raises GroupsError: it has none, or they are not described as UVFITS has them.
    """

    def __init__(self, path):
        self.path = path
        with fits.open(path, memmap=True) as file:
            header = self.header = file[0].header.copy()
            info = file[0].fileinfo()
        self.begin = info["datLoc"]
        axes = [int(header[f"NAXIS{axis}"]) for axis in range(1, 1 + header["NAXIS"])]
        if not header.get("GROUPS") or len(axes) < 6 or axes[0] != 0 or min(axes[1:]) < 1:
            raise GroupsError(f"{path}: its first table has no random groups of UVFITS")
        self.count, self._axes = int(header["GCOUNT"]), axes
        self.type = np.dtype({-32: ">f4", -64: ">f8", 16: ">i2", 32: ">i4"}[header["BITPIX"]])
        self.parameters = [
            str(header[f"PTYPE{place}"]).strip().upper() for place in range(1, 1 + header["PCOUNT"])
        ]
        self.row = (header["PCOUNT"] + int(np.prod(axes[1:]))) * self.type.itemsize
        self.end = self.begin + _padded(self.row * self.count)
        if os.path.getsize(path) < self.begin + self.row * self.count:
            raise GroupsError(f"{path}: it ends before its {self.count} rows (GCOUNT)")

    @property
    def shape(self):
        """The properties that rows must have alike to be in one file."""
        return self._axes, self.type, self.parameters

    def copy(self, rows, path):
        """Makes a file of some rows (ascending numbers), with all other tables."""
        with open(self.path, "rb") as source, open(path, "wb") as target:
            self._begin(source, target, len(rows))
            # runs of rows that follow on each other
            starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
            for first, count in zip(rows[starts], np.diff(np.append(starts, len(rows)))):
                for data in self._read(source, int(first), int(count)):
                    target.write(data)
            self._finish(source, target)

    def copy_parameters(self, path):
        """Makes a file of all rows that has one of the channels and polarisations."""
        short = {f"NAXIS{axis}": 1 for axis in SHORT_AXES}
        axes = [short.get(f"NAXIS{axis}", size) for axis, size in enumerate(self._axes, 1)]
        kept = len(self.parameters) + int(np.prod(axes[1:]))
        with open(self.path, "rb") as source, open(path, "wb") as target:
            self._begin(source, target, self.count, **short)
            for data in self._read(source, 0, self.count):
                values = np.frombuffer(data, self.type).reshape(-1, self.row // self.type.itemsize)
                target.write(np.ascontiguousarray(values[:, :kept]).data)
            self._finish(source, target)

    def _read(self, source, first, count):
        """Bytes of rows that follow on each other, in pieces of whole rows."""
        source.seek(self.begin + first * self.row)
        most = max(1, AT_ONCE // self.row)
        for start in range(0, count, most):
            yield source.read(min(most, count - start) * self.row)

    def _begin(self, source, target, count, **changed):
        source.seek(0)
        target.write(with_numbers(source.read(self.begin), GCOUNT=count, **changed))

    def _finish(self, source, target):
        """Pads the rows, and adds the tables behind them."""
        target.write(bytes(_padded(target.tell()) - target.tell()))
        source.seek(self.end)
        while data := source.read(AT_ONCE):
            target.write(data)


def with_numbers(header, **numbers):
    """The bytes of a header with other whole numbers under some keys."""
    cards = bytearray(header)
    for key, value in numbers.items():
        start = next(
            start
            for start in range(0, len(cards), 80)
            if cards[start : start + 10] == f"{key:8}= ".encode()
        )
        cards[start + 10 : start + 30] = f"{value:>20}".encode()
    return bytes(cards)


class GrowingGroups:
    """
    A file of the rows of others, which come one after the other.

    Header and tables are those of the first one, and times count from its midnight.

    path: where it is written.
    """

    def __init__(self, path):
        self._path, self._file, self._first = path, None, None
        self._count, self._tables = 0, b""

    def add(self, path):
        """Adds all rows of a file. GroupsError: they are of another kind than the first ones."""
        groups = Groups(path)
        with open(path, "rb") as source:
            if self._first is None:
                self._first = groups
                self._file = open(self._path, "wb")
                self._file.write(source.read(groups.begin))
                source.seek(groups.end)
                self._tables = source.read()
            elif groups.shape != self._first.shape:
                raise GroupsError(
                    "rows have other parameters or axes than those before: "
                    f"{', '.join(groups.parameters)} instead of {', '.join(self._first.parameters)}"
                )
            for data in groups._read(source, 0, groups.count):
                self._file.write(self._moved(groups, data))
        self._count += groups.count

    def _moved(self, groups, data):
        """Rows whose times count from the first file's midnight. A time is the sum of the
        parameters DATE: in single precision, of two."""
        places = [place for place, name in enumerate(groups.parameters) if name == "DATE"]
        zero = lambda header: sum(header[f"PZERO{place + 1}"] for place in places)
        days = zero(groups.header) - zero(self._first.header)
        if days == 0:
            return data
        values = np.frombuffer(data, groups.type).copy()
        rows = values.reshape(-1, groups.row // groups.type.itemsize)
        left = rows[:, places].astype(float).sum(axis=1) + days
        for place in places:
            rows[:, place] = left
            left = left - rows[:, place]
        return values.data

    def finish(self):
        """Makes the file whole, and closes it."""
        self._file.write(bytes(_padded(self._file.tell()) - self._file.tell()))
        self._file.write(self._tables)
        self._file.close()
        with open(self._path, "r+b") as file:
            header = with_numbers(file.read(self._first.begin), GCOUNT=self._count)
            file.seek(0)
            file.write(header)

    def close(self):
        """Gives up what was not finished."""
        if self._file is not None:
            self._file.close()
