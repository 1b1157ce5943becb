#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Statistics of the voltages of each input, from some of the frames that the F-engine makes."""

import time as host
from dataclasses import dataclass

import numpy as np

from ..parameters.rules import one_of, refuse
from ..parameters.sample_types import FRAME_TYPES, SAMPLE_TYPES

AVERAGED = ("rms_re", "rms_im", "kurtosis", "clamped")
FEWEST_SPECTRA = 32  # spectra of a frame: fewer give no kurtosis
VALUES = 1 << 19  # values of a frame that are measured, if that is more spectra
LONGEST_WAIT = 0.5  # s, for the first frame of a short stream


@dataclass
class InputStatistics:
    """
    Statistics of the first spectra of one frame.

    time: seconds since 1970 of their middle; spectra: how many; and [input] of float32: rms_re,
    rms_im, root mean squares of the real and imaginary parts over all channels, in steps of the
    voltages (sc8, sc4) or as they are; kurtosis: the mean over the channels of the spectral
    kurtosis, 1 for noise (see `spectral_kurtosis`); clamped, missing: fractions of the voltages
    with a component at the end of its range, and of the spectra that are missing. They are NaN
    for an input without spectra.
    """

    time: float
    spectra: int
    rms_re: np.ndarray
    rms_im: np.ndarray
    kurtosis: np.ndarray
    clamped: np.ndarray
    missing: np.ndarray


def spectral_kurtosis(power, count):
    """
    (M + 1)/(M - 1) · (M Σp²/(Σp)² - 1) of M powers, 1 on average for Gaussian noise, whatever M is;
    larger for what comes and goes, and down to 0 for a steady carrier (Nita and Gary 2010, PASP
    122, 595).

    Parameters
    ----------
    power : array
        [...][time], 0 where missing.
    count : array
        [...], powers that are there.

    Returns
    -------
    array [...], NaN of less than two powers, or where all are 0
    """
    first, second = power.sum(axis=-1), (power**2).sum(axis=-1)
    known = (count > 1) & (first > 0)
    many = np.where(known, count, 2)
    ratio = many * second / np.where(known, first, 1) ** 2
    return np.where(known, (many + 1) / (many - 1) * (ratio - 1), np.nan)


def components(voltages, type):
    """Real and imaginary parts, float32, of voltages of a frame as its bytes have them."""
    if type == "fc32":
        return voltages.real, voltages.imag
    if type == "sc8":
        parts = voltages.view(np.int8).reshape(*voltages.shape, 2).astype(np.float32)
        return parts[..., 0], parts[..., 1]
    signed = lambda bits: np.maximum((bits ^ 8).astype(np.int8) - 8, -7).astype(np.float32)
    return signed(voltages >> 4), signed(voltages & 15)


def measure(voltages, type, time):
    """
    The InputStatistics of voltages [channel][input][time] of a frame. A spectrum that is 0 in all
    channels is missing.
    """
    re, im = components(voltages, type)
    there = ((re != 0) | (im != 0)).any(axis=0)  # [input][time]
    count = there.sum(axis=-1)
    values = len(voltages) * count
    power = re**2 + im**2

    def fraction(sums):
        return np.divide(sums, values, out=np.full(len(count), np.nan), where=values > 0)

    most = SAMPLE_TYPES[type].largest
    kurtosis = spectral_kurtosis(power.astype(float), count[np.newaxis])
    known = np.isfinite(kurtosis)
    channels = known.sum(axis=0)
    single = lambda array: np.asarray(array, np.float32)
    return InputStatistics(
        time,
        voltages.shape[-1],
        single(np.sqrt(fraction((re**2).sum(axis=(0, 2), dtype=float)))),
        single(np.sqrt(fraction((im**2).sum(axis=(0, 2), dtype=float)))),
        single(
            np.divide(
                np.where(known, kurtosis, 0).sum(axis=0),
                channels,
                out=np.full(len(count), np.nan),
                where=channels > 0,
            )
        ),
        single(fraction((np.maximum(np.abs(re), np.abs(im)) >= most).sum(axis=(0, 2)))),
        single(1 - count / voltages.shape[-1]),
    )


def spectra_measured(channels, inputs, spectra_per_frame):
    """Returns how many spectra at the start of a frame are measured."""
    return min(spectra_per_frame, max(FEWEST_SPECTRA, VALUES // (channels * inputs)))


def frames_a_second(channels, inputs, spectra_per_frame):
    """Returns how many frames a second are measured, 2 at most, such that it takes about a
    hundredth of a core."""
    values = channels * inputs * spectra_measured(channels, inputs, spectra_per_frame)
    return min(2.0, 2.0 * VALUES / values)


class StatisticsReader:
    """
    Measures the frames that a `snapshot` takes.

    Parameters
    ----------
    snapshot : snapshot
        A snapshot of frames [channel][input][time].
    channels, inputs : int
        Channels and inputs of a frame.
    type : str
        sc8, sc4 or fc32.

    Raises
    ------
    ParameterError
    """

    def __init__(self, snapshot, channels, inputs, type):
        if not hasattr(snapshot, "read_after"):
            refuse("statistics", snapshot, "a snapshot of the frames, or None")
        one_of("statistics_type", type, FRAME_TYPES)
        self._snapshot, self._type = snapshot, type
        self._shape = (channels, inputs)
        self._serial, self._sums = 0, None

    def take(self):
        """A list of InputStatistics of the frames that were taken since the last call."""
        rows = []
        for item in self._snapshot.read_after(self._serial):
            self._serial = item.serial
            data = np.frombuffer(item.data, np.uint8)
            kind = SAMPLE_TYPES[self._type]
            spectra, rest = divmod(len(data), kind.size * self._shape[0] * self._shape[1])
            if rest or not spectra:
                raise ValueError(
                    f"statistics: an item of {len(data)} bytes is no frame of "
                    f"{self._shape[0]} channels and {self._shape[1]} inputs of "
                    f"{self._type}"
                )
            if item.time is None or item.rate is None:
                continue
            count = spectra_measured(*self._shape, spectra)
            voltages = data.view(kind.number).reshape(*self._shape, spectra)[..., :count]
            middle = sum(item.time) + (count - 1) / 2 / (item.rate * spectra)
            rows.append(measure(np.ascontiguousarray(voltages), self._type, middle))
        for row in rows:
            self._add(row)
        return rows

    def _add(self, row):
        """Sums over spectra that are there, for mean()."""
        weight = row.spectra * (1 - row.missing.astype(float))
        values = {"weight": weight, "spectra": row.spectra, "time": row.time}
        for name in AVERAGED:
            value = np.nan_to_num(getattr(row, name).astype(float))
            values[name] = weight * (value**2 if name.startswith("rms") else value)
        if self._sums is not None:
            values = {
                name: value + self._sums[name] if name != "time" else value
                for name, value in values.items()
            }
        self._sums = values

    def take_last(self):
        """Takes the statistics as take() does, at the end of a stream; it waits a little for the
        first frame of all."""
        rows, until = self.take(), host.monotonic() + LONGEST_WAIT
        while self._sums is None and host.monotonic() < until:
            host.sleep(0.01)
            rows = self.take()
        return rows

    def restart(self):
        """Forgets what was measured; the next frames count."""
        self._sums = None

    def mean(self):
        """Returns the mean of all frames so far: an InputStatistics (with the time of the last
        one); None: there were none."""
        if self._sums is None:
            return None
        total = self._sums["weight"]
        means = {
            name: np.divide(
                self._sums[name], total, out=np.full(len(total), np.nan), where=total > 0
            )
            for name in AVERAGED
        }
        spectra = self._sums["spectra"]
        return InputStatistics(
            self._sums["time"],
            spectra,
            np.sqrt(means["rms_re"]),
            np.sqrt(means["rms_im"]),
            means["kurtosis"],
            means["clamped"],
            1 - total / spectra,
        )
