#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Reads filterbank files of SIGPROC."""

import os
import struct

import numpy as np

from ... import stored_powers
from ...parameters.input_files import find_file
from ..powers import Bytes, PowerFile, PowerFileError, time_of_date
from .header import KEYWORDS, NEEDED, degrees_of, telescope_name

MOST_CHANNELS = 1 << 24  # in a file that is read; more are a broken header
#: bits of a number -> whether it may have a sign that `signed` tells of
BITS = {1: False, 2: False, 4: False, 8: True, 16: True, 32: False}
#: limits of values: keyword -> (lowest, highest, unit)
LIMITS = {
    "fch1": (-1e9, 1e9, "MHz"),
    "foff": (-1e6, 1e6, "MHz"),
    "tsamp": (1e-12, 1e5, "s"),
    "tstart": (-7e5, 8e5, "days, a modified Julian date of the years 0 to 3000"),
}
LOOKED_AT = 16  # samples, all over the file, of which one must be a number


class FilterbankError(PowerFileError):
    """A file that is not a filterbank file; the message is for the user."""


class FilterbankFile(PowerFile):
    """A filterbank file, opened for reading, of 1, 2, 4, 8, 16 or 32 bits. Integers are unsigned
    unless `signed` says otherwise, 32 bits are floats, and the first of several values in a byte
    is in its lowest bits, as SIGPROC and PRESTO write them.

    Attributes: those of PowerFile; `header`, a dictionary, in which `fchannel` is a list, and
    `header_bytes`, its length; `ifs`;
    `start`, modified Julian date. IFs are those of `nbeams` beams, one after the other, where
    `ibeam` is 0, as filterbank_sink writes several beams into one file; otherwise products.
    """

    def __init__(self, filename):
        self.filename = filename = find_file(filename)
        self.warnings = []
        with open(filename, "rb") as file:
            self.header = self._read_header(file)
            self.header_bytes = self._begin = file.tell()
        frequencies = () if "fchannel" in self.header else ("fch1", "foff")
        absent = [key for key in (*frequencies, *NEEDED) if key not in self.header]
        if absent:
            raise FilterbankError(f"{filename}: the header lacks {', '.join(absent)}")
        self._bits = self.header["nbits"]
        channels, self.ifs = self.header["nchans"], self.header.get("nifs", 1)
        if (
            self._bits not in BITS
            or not 1 <= channels <= MOST_CHANNELS
            or not 1 <= self.ifs <= MOST_CHANNELS
        ):
            raise FilterbankError(
                f"{filename}: {self.header['nbits']} bits, {self.ifs} IFs, "
                f"{channels} channels: 1, 2, 4, 8, 16 or 32 bits are understood, and 1 to "
                f"{MOST_CHANNELS} IFs and channels"
            )
        for key, (low, high, unit) in LIMITS.items():
            value = self.header.get(key, 1.0)
            if not low <= value <= high or (key == "foff" and value == 0):
                raise FilterbankError(
                    f"{filename}: {key} is {value:g}: expected {low:g} to {high:g} {unit}"
                    + (", not 0" if key == "foff" else "")
                )
        self._signed = BITS[self._bits] and bool(self.header.get("signed"))
        bits = channels * self.ifs * self._bits
        if bits % 8:
            raise FilterbankError(
                f"{filename}: {channels} channels of {self.ifs} IFs of {self._bits} bits are "
                f"{bits} bits: a sample has whole bytes"
            )
        self._sample = bits // 8
        size = os.path.getsize(filename) - self._begin
        self.samples = size // self._sample
        self._bytes = Bytes(filename)
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
        self._describe(size)

    def _describe(self, size):
        """Takes what the header says of the sky and the beams, and holds it against the file, of
        so many bytes behind the header."""
        header, say = self.header, self.warnings.append
        self.source = header.get("source_name", "")
        self.telescope = telescope_name(header.get("telescope_id", 0))
        self.barycentric = bool(header.get("barycentric") or header.get("pulsarcentric"))
        if 1 < header.get("nbeams", 1) <= self.ifs and header.get("ibeam", 1) == 0:
            self.rows = header["nbeams"] if self.ifs % header["nbeams"] == 0 else 1
        self.products = {1: "I", 2: "pair", 4: None}.get(self.ifs // self.rows, "")
        self.begin = time_of_date(self.start)
        if self.begin is None:
            say(f"tstart is {self.start:g}, before 1970: the time of the samples is not known")
        packed = header.get("src_raj", 0.0), header.get("src_dej", 0.0)
        if any(packed):
            found = degrees_of(packed[0], True), degrees_of(packed[1], False)
            if None in found or packed[0] < 0 or abs(found[1]) > 90:
                say(f"src_raj {packed[0]:.10g} and src_dej {packed[1]:.10g} are no direction")
            else:
                self.direction = found
        said = header.get("nsamples", 0)
        if said > self.samples:
            say(
                f"the header says {said} samples (nsamples), the file has {self.samples}: it was "
                "cut off, or is still written"
            )
        elif said < self.samples and said != 0:
            say(
                f"the header says {said} samples (nsamples), the file has {self.samples}: all of "
                "them are taken"
            )
        if size % self._sample:
            say(
                f"{size % self._sample} bytes behind the last whole sample, of {self._sample} "
                "bytes, are left out"
            )
        beams = header.get("nbeams", 1)
        if beams < 0 or (beams > 1 and header.get("ibeam", 1) == 0 and self.rows != beams):
            say(
                f"nbeams is {beams} and ibeam {header.get('ibeam', 1)}, but nifs is {self.ifs}, "
                "which must be a multiple where all beams are in one file: it is read as one beam"
            )
        if self._bits == 32 and self.samples and not self._has_numbers():
            say(f"none of {min(LOOKED_AT, self.samples)} samples all over it has a finite number")
        if header.get("data_type", 1) not in (0, 1):
            say(f"data_type is {header['data_type']}, and that of a filterbank file is 1")
        if header.get("signed") and self._bits < 8:
            say(f"signed is {header['signed']}, and samples of {self._bits} bits have no sign")
        if "fchannel" in header and "fch1" in header and "foff" in header:
            table = np.array(header["fchannel"])
            line = header["fch1"] + header["foff"] * np.arange(len(table))
            if np.abs(table - line).max() > 0.01 * abs(header["foff"]):
                say("fchannel contradicts fch1 and foff: the former is taken")

    def _has_numbers(self):
        """Returns whether a sample among a few, all over the file, has a finite number."""
        places = {int(at) for at in np.linspace(0, self.samples - 1, LOOKED_AT)}
        return any(np.isfinite(self.read(at, 1)).any() for at in sorted(places))

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

    def read_into(self, first, to):
        count = len(to) * self._sample
        data = self._bytes.read(self._begin + first * self._sample, count)
        if len(data) < count:
            raise FilterbankError(
                f"{self.filename}: it has become shorter while it was read: sample "
                f"{first + len(data) // self._sample} of {self.samples} is not there any more"
            )
        stored_powers.unpack(
            data,
            self._bits,
            to.reshape(-1, len(self.frequencies)),
            signed=self._signed,
            descending=self._direction < 0,
        )

    def read(self, first=0, count=None):
        """float32 [sample][if][channel], channels in ascending order."""
        count = self.samples - first if count is None else min(count, self.samples - first)
        found = np.empty((max(0, count), self.ifs, len(self.frequencies)), np.float32)
        self.read_into(first, found)
        return found

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
