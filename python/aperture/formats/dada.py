#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes voltages as a PSRDADA file: a header of text, then [time][channel][polarisation]."""

import re
from fractions import Fraction

import numpy as np

from ..files.checked_file import PartFile
from ..parameters.ascii_text import ascii_text
from ..parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD, utc_text

HEADER_BYTES = 4096
#: type of a sample -> NBIT and NDIM
KINDS = {
    np.dtype(np.uint16): (8, 2),
    np.dtype(np.uint32): (16, 2),
    np.dtype(np.complex64): (32, 2),
    np.dtype(np.int8): (8, 1),
    np.dtype(np.int16): (16, 1),
    np.dtype(np.float32): (32, 1),
}
NOT_TOLD = "LOST_MORE"  # key: runs for which the header has no room


def header_bytes(values):
    """A header of these keys, of HEADER_BYTES."""
    text = "".join(f"{key:<16} {value}\n" for key, value in values.items())
    data = re.sub(r"[^\n -~]", "_", ascii_text(text)).encode("ascii")
    if len(data) > HEADER_BYTES:
        raise ValueError(f"header: {len(data)} bytes are more than {HEADER_BYTES}")
    return data.ljust(HEADER_BYTES, b"\0")


def megahertz(hertz):
    """Returns MHz with all digits that a double has, but not more: 0.1 stays 0.1."""
    return np.format_float_positional(float(Fraction(repr(float(hertz))) / 10**6), trim="-")


class DadaWriter:
    """
    One file: voltages of neighbouring channels, of some inputs or beams as polarisations.

    It has its name when it is whole. What is missing is zeros: the header counts it in
    LOST_SAMPLES, and names the runs, LOST_0 and so on, as long as there is room: first sample,
    count, input (or all) and why.

    Parameters
    ----------
    path : str
    recording : Recording
        The recording; with real samples its `width` is that of the band, half their rate.
    dtype : numpy.dtype
        Type of a sample: one of KINDS, where unsigned integers are complex ones of half as many
        bits.
    overwrite : bool
        True if an existing file is replaced.
    """

    def __init__(self, path, recording, dtype, overwrite=True):
        self._recording, self._dtype = recording, np.dtype(dtype)
        self._samples, self._lost, self._runs = 0, 0, []
        self._file = PartFile(path, overwrite)
        self.paths = [self._file.path]
        try:
            self._file.add(header_bytes(self._header()))
        except BaseException:
            self._file.abandon()
            raise

    def _header(self):
        recording, (bits, dimensions) = self._recording, KINDS[self._dtype]
        channels, inputs = len(recording.frequencies), len(recording.names)
        start = recording.start
        picoseconds = min(round(Fraction(start.fraction) * 10**12), 10**12 - 1)
        date = (
            Fraction(start.seconds * 10**12 + picoseconds, SECONDS_PER_DAY * 10**12)
            + UNIX_EPOCH_MJD
        )
        clean = lambda text: re.sub(r"#", "_", text)[:200].strip() or "unknown"
        middle = (recording.frequencies[0] + recording.frequencies[-1]) / 2
        return {
            "HEADER": "DADA",
            "HDR_VERSION": "1.0",
            "DADA_VERSION": "1.0",
            "HDR_SIZE": HEADER_BYTES,
            "INSTRUMENT": "gr-aperture",
            "TELESCOPE": clean(recording.telescope),
            "SOURCE": clean(recording.source),
            "FREQ": megahertz(middle),
            "BW": megahertz(channels * recording.width),
            "TSAMP": np.format_float_positional(1e6 / recording.rate, trim="-"),
            "NBIT": bits,
            "NDIM": dimensions,
            "NPOL": inputs,
            "NCHAN": channels,
            "ORDER": "TFP",
            "RESOLUTION": self._dtype.itemsize * inputs * channels,
            "FIRST_CHANNEL": recording.channel,
            "UTC_START": utc_text(start.seconds, between="-"),
            "PICOSECONDS": picoseconds,
            "MJD_START": f"{date.numerator // date.denominator}.{int(date % 1 * 10**19):019d}",
            "OBS_OFFSET": 0,
            "FILE_SIZE": self._samples * self._dtype.itemsize * inputs * channels,
            "LOST_SAMPLES": self._lost,
        }

    def add(self, voltages, missing=()):
        """
        Adds voltages to the file.

        Parameters
        ----------
        voltages : array
            [time][channel][input], contiguous.
        missing : list of (input, first, count) or (input, first, count, reason)
            Samples that are zeros; an input of None: of all.
        """
        self._file.add(voltages)
        inputs = len(self._recording.names)
        for number, first, count, *reason in missing:
            self._lost += count * (inputs if number is None else 1)
            self._note(
                "all" if number is None else number,
                self._samples + first,
                count,
                *(reason or ["missing"]),
            )
        self._samples += len(voltages)

    def _note(self, number, first, count, reason):
        for run in reversed(self._runs[-inputs_at_once(self._recording) :]):
            if run[2:] == [number, reason] and run[0] + run[1] == first:
                run[1] += count
                return
        self._runs.append([first, count, number, reason])

    def finish(self):
        """The file has its name, one of no samples vanishes; OSError: it has not."""
        if not self._samples:
            self._file.abandon()
            self.paths = []
            return
        values, room = self._header(), 2048
        for place, run in enumerate(self._runs):
            text = " ".join(map(str, run))
            room -= len(text) + 20
            if room < 0:
                values[NOT_TOLD] = len(self._runs) - place
                break
            values[f"LOST_{place}"] = text
        try:
            self._file.rewrite_begin(header_bytes(values))
        except BaseException:
            self._file.abandon()
            raise
        self._file.finish()


def inputs_at_once(recording):
    """Returns how many runs of missing samples may be going on at once."""
    return 2 * len(recording.names) + 2
