#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Reads filterbank files of SIGPROC."""

import os
import struct

import numpy as np

from ...parameters.input_files import find_file
from .header import KEYWORDS, NEEDED

MOST_CHANNELS = 1 << 24  # in a file that is read; more are a broken header


class FilterbankError(ValueError):
    """A file that is not a filterbank file; the message is for the user."""


class FilterbankFile:
    """A filterbank file, opened for reading, of 8, 16 or 32 bits; integers are unsigned unless
    `signed` says otherwise.

    Attributes: `header`, a dictionary, in which `fchannel` is a list; `frequencies` [channel], Hz,
    ascending; `width` of a channel, Hz; `samples`; `ifs`; `interval`, s; `start`, modified Julian
    date.
    """

    def __init__(self, filename):
        self.filename = filename = find_file(filename)
        with open(filename, "rb") as file:
            self.header = self._read_header(file)
            self._begin = file.tell()
        frequencies = () if "fchannel" in self.header else ("fch1", "foff")
        absent = [key for key in (*frequencies, *NEEDED) if key not in self.header]
        if absent:
            raise FilterbankError(f"{filename}: the header lacks {', '.join(absent)}")
        kinds = (
            {8: np.int8, 16: np.int16, 32: np.float32}
            if self.header.get("signed")
            else {8: np.uint8, 16: np.uint16, 32: np.float32}
        )
        channels, self.ifs = self.header["nchans"], self.header.get("nifs", 1)
        if (
            self.header["nbits"] not in kinds
            or not 1 <= channels <= MOST_CHANNELS
            or not 1 <= self.ifs <= MOST_CHANNELS
        ):
            raise FilterbankError(
                f"{filename}: {self.header['nbits']} bits, {self.ifs} IFs, "
                f"{channels} channels: 8, 16 or 32 bits are understood, and 1 to "
                f"{MOST_CHANNELS} IFs and channels"
            )
        for key in ("fch1", "foff", "tsamp", "tstart"):
            value = self.header.get(key, 1.0)
            # the Julian dates of the years 0 to 3000; frequencies in MHz
            low, high = {"tsamp": (1e-15, 1e15), "tstart": (-7e5, 8e5)}.get(key, (-1e12, 1e12))
            if not low <= value <= high or (key == "foff" and value == 0):
                raise FilterbankError(f"{filename}: {key} is {value:g}, which makes no sense")
        self._kind = np.dtype(kinds[self.header["nbits"]])
        self._sample = channels * self.ifs * self._kind.itemsize
        self.samples = (os.path.getsize(filename) - self._begin) // self._sample
        self.interval, self.start = self.header["tsamp"], self.header.get("tstart", 0.0)
        frequencies = 1e6 * self._frequencies(channels)
        self._direction = -1 if frequencies[-1] < frequencies[0] else 1
        self.frequencies = frequencies[:: self._direction]
        self.width = (
            1e6 * abs(self.header["foff"])
            if "foff" in self.header
            else float(np.median(np.diff(self.frequencies)))
            if channels > 1
            else 0.0
        )

    def _frequencies(self, channels):
        """[channel], MHz, as the file has them: in a table, or at equal distances."""
        table = self.header.get("fchannel")
        if table is None:
            return self.header["fch1"] + self.header["foff"] * np.arange(channels)
        table = np.array(table)
        steps = np.diff(table)
        if (
            len(table) != channels
            or not np.isfinite(table).all()
            or not ((steps > 0).all() or (steps < 0).all())
        ):
            raise FilterbankError(
                f"{self.filename}: {len(table)} frequencies (fchannel) of "
                f"{channels} channels: expected one of each, rising or falling "
                "throughout"
            )
        return table

    def _read_header(self, file):
        def value(kind):
            data = file.read(struct.calcsize("<" + kind))
            if len(data) < struct.calcsize("<" + kind):
                raise EOFError
            return struct.unpack("<" + kind, data)[0]

        def string(shortest=1):
            length = value("i")
            if not shortest <= length <= 256:
                raise ValueError
            return value(f"{length}s").decode("utf-8", "replace")

        def long():
            low, place = value("I"), file.tell()
            high = value("i")
            if high in (0, -1):
                return low | high << 32
            # the length of the next keyword follows
            file.seek(place)
            return low

        readers = {"s": lambda: string(0), "l": long, "": lambda: True}

        header, begun = {}, False
        try:
            if string() != "HEADER_START":
                raise ValueError
            begun = True
            while (key := string()) != "HEADER_END":
                kind = KEYWORDS.get(key)
                if kind is None:
                    raise FilterbankError(f"{self.filename}: keyword {key!r} is not known")
                found = readers[kind]() if kind in readers else value(kind)
                if key == "fchannel":
                    header.setdefault(key, []).append(found)
                else:
                    header[key] = found
        except FilterbankError:
            raise
        except (ValueError, EOFError) as error:
            if begun and isinstance(error, EOFError):
                raise FilterbankError(f"{self.filename}: the file ends within its header") from None
            raise FilterbankError(f"{self.filename}: not a filterbank file of SIGPROC") from None
        return header

    def read(self, first=0, count=None):
        """float32 [sample][if][channel], channels in ascending order."""
        count = self.samples - first if count is None else min(count, self.samples - first)
        data = np.fromfile(
            self.filename,
            self._kind,
            max(0, count) * self._sample // self._kind.itemsize,
            offset=self._begin + first * self._sample,
        )
        data = data.reshape(-1, self.ifs, len(self.frequencies))
        return data[..., :: self._direction].astype(np.float32)

    def averaged(self, most, count=None):
        """The first `count` samples (None: all) as by read(), float64, neighbours averaged so that
        there are at most `most`; and the number of samples in each. What is no finite number does
        not count; NaN: nothing else is there."""
        count = self.samples if count is None else min(count, self.samples)
        each = max(1, -(-count // most))
        found = np.empty((count // each, self.ifs, len(self.frequencies)))
        for index in range(len(found)):
            part = self.read(index * each, each)
            there = np.isfinite(part)
            sums = np.sum(part, axis=0, dtype=np.float64, where=there)
            with np.errstate(invalid="ignore"):
                found[index] = sums / there.sum(axis=0)
        return found, each
