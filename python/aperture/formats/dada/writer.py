#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of PSRDADA, [time][channel][polarisation]; dada_source reads the samples of one channel."""

import re
from fractions import Fraction

import numpy as np

from ...files.checked_file import PartFile
from ...parameters.ascii_text import ascii_text
from ...parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD, utc_text
from ..voltages import components

HEADER_BYTES = 4096
NOT_TOLD = "LOST_MORE"  # key: runs for which the header has no room
MOST_SETTINGS = 4  # keys SETTING_0 and so on


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
        Type of a sample, as components() takes it.
    overwrite : bool
        True if an existing file is replaced.
    """

    def __init__(self, path, recording, dtype, overwrite=True):
        self._recording, self._dtype = recording, np.dtype(dtype)
        self._samples, self._lost = 0, 0
        self._runs, self._last = [], {}  # all, and those that the next ones may continue
        self._file = PartFile(path, overwrite)
        self.paths = [self._file.path]
        try:
            self._file.add(header_bytes(self._header()))
        except BaseException:
            self._file.abandon()
            raise

    def _header(self):
        recording, (bits, dimensions) = self._recording, components(self._dtype)
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
            **{
                f"SETTING_{number}": clean(text)
                for number, text in enumerate(recording.settings[:MOST_SETTINGS])
            },
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
        last = self._last.get((number, reason))
        if last is not None and last[0] + last[1] == first:
            last[1] += count
            return
        self._last[number, reason] = run = [first, count, number, reason]
        self._runs.append(run)

    def finish(self):
        """The file has its name, one of no samples vanishes; OSError: it has not."""
        if not self._samples:
            self._file.abandon()
            self.paths = []
            return
        values = self._header()
        room = 2048 - sum(len(text) + 20 for text in self._recording.settings[:MOST_SETTINGS])
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
