#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The contents of a display of calibrated spectra: means, velocities, and what is wrong; no Qt."""

from dataclasses import dataclass

import numpy as np

from ..plots.style import minus_signs
from ..spectrometry import kelvin as scales
from ..spectrometry.velocity import lsr_correction, velocities

#: parts of the band, on both sides of its middle, in which lines are looked for
INNER = 0.4
#: channels of the median that a spike stands out of, by how many standard deviations, and which
#: part of that it has lost two channels away
NEIGHBOURS, SPIKE, STEEP = 25, 8.0, 0.7
#: seconds for which one correction of velocities is good
FRESH = 10.0
#: integrations whose temperatures are drawn over time
HISTORY = 600


@dataclass(frozen=True)
class ShownSpectrum:
    """
    The spectra that are drawn. places: km/s or, without a line, MHz [channel]; kelvin: mean
    [input][channel]; baseline: of each input, a straight line [input][channel]; power: dB of the
    newest power above its median [input][channel]; times: seconds since 1970, and system: kelvin
    [integration][input]; words: a sentence; wrong: texts of what is wrong; corrected: whether
    velocities are in the LSRK; measured: whether kelvin are those of hot and cold.
    """

    places: np.ndarray
    frequencies: np.ndarray
    kelvin: np.ndarray
    baseline: np.ndarray
    power: np.ndarray
    times: np.ndarray
    system: np.ndarray
    words: str
    wrong: tuple
    corrected: bool
    measured: bool


def inner_channels(channels):
    """Returns whether each of so many channels is away from the band's edges."""
    return np.abs(np.arange(channels) - channels // 2) < INNER * channels


def baseline_of(values, inner):
    """A straight line through what is no line of a spectrum [channel]: a fit to the inner channels
    that leaves out, four times over, what is 2.5 standard deviations away."""
    place = np.linspace(-1, 1, len(values))
    used = inner & np.isfinite(values)
    if used.sum() < 4:
        return np.full(len(values), np.nan)
    # lines are above: the lower half is a better beginning than all
    used &= values <= np.median(values[used])
    for _ in range(4):
        line = np.polyval(np.polyfit(place[used], values[used], 1), place)
        left = values - line
        spread = 1.4826 * np.median(np.abs(left[used])) + 1e-12
        again = inner & np.isfinite(values) & (np.abs(left) < 2.5 * spread)
        if again.sum() < 4:
            break
        used = again
    return line


def spikes_of(values, inner):
    """Numbers of channels of a spectrum [channel] that stand alone above their neighbours, as
    carriers do and lines of the sky do not."""
    padded = np.pad(values, NEIGHBOURS // 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, NEIGHBOURS)
    left = values - np.median(windows, axis=-1)
    used = inner & np.isfinite(left)
    if not used.any():
        return np.array([], int)
    spread = 1.4826 * np.median(np.abs(left[used]))
    aside = np.pad(values, 2, mode="edge")
    steep = values - np.maximum(aside[:-4], aside[4:]) > STEEP * left
    return np.flatnonzero(used & (left > SPIKE * spread) & steep & (spread > 0))


class SpectrumView:
    """
    Averages spectra, and says what is in them.

    Parameters
    ----------
    names : list of str
        Names of the inputs.
    averaging : float
        Seconds of the newest spectra that are averaged; 0: all of them.
    rest : float
        Hz, of the line; 0: the axis is of frequency.
    direction : Direction or None
        Where the antenna points; None: velocities are as observed.
    array : ArrayDescription
        Its place counts.
    """

    def __init__(self, names, averaging, rest, direction, array):
        self._names, self._rest = list(names), rest
        self._direction, self._array = direction, array
        self.set_averaging(averaging)
        self._faults = {}
        self._measured = ""
        self.forget()

    def set_averaging(self, averaging):
        """Sets seconds; 0: all."""
        self._averaging = float(averaging)

    def set_direction(self, direction):
        """The antenna points elsewhere: the mean begins anew."""
        self._direction = direction
        self.forget()

    def forget(self):
        """Begins the mean anew."""
        self._spectra, self._times, self._system = [], [], []
        self._band = self._corrected = None

    def add_fault(self, key, text):
        """Takes what is wrong; a later one of the same key replaces it."""
        self._faults[key] = text

    def drop_fault(self, key):
        """Forgets a fault."""
        self._faults.pop(key, None)

    @property
    def faults(self):
        """Texts of what is wrong."""
        return list(self._faults.values())

    def add_measured(self, target, seconds, y=None, receiver=None):
        """Takes what was measured of a load: y and receiver (K) of each input, once both were."""
        self._faults.pop("loads", None)
        text = f"{target} load, {seconds:.1f} s"
        if receiver is not None and len(receiver):
            text += ": " + ", ".join(
                f"receiver {value:.1f} K (Y = {ratio:.2f})" for value, ratio in zip(receiver, y)
            )
        self._measured = text

    @property
    def measuring(self):
        """The text on the load that was measured last."""
        return self._measured

    def add(self, spectrum, mode="total"):
        """Takes a spectrometry.switching.Spectrum."""
        band = spectrum.frequency, spectrum.bandwidth, spectrum.kelvin.shape, spectrum.measured
        if band != self._band:
            self.forget()
            self._band = band
        self._mode = mode
        self._spectra.append(spectrum)
        self._times.append((spectrum.begin + spectrum.end) / 2)
        self._system.append(spectrum.system)
        del self._times[:-HISTORY], self._system[:-HISTORY]
        if self._averaging:
            oldest = spectrum.end - self._averaging
            self._spectra = [one for one in self._spectra if one.begin >= oldest] or [spectrum]
        elif len(self._spectra) > 1:
            # the mean of all is one spectrum, however long it takes
            first, last = self._spectra
            both = first.seconds + last.seconds
            mean = (first.kelvin * first.seconds + last.kelvin * last.seconds) / both
            self._spectra = [
                type(last)(**{**vars(last), "kelvin": mean, "seconds": both, "begin": first.begin})
            ]

    def picture(self):
        """A ShownSpectrum; None before anything has come."""
        if not self._spectra:
            return None
        weights = np.array([one.seconds for one in self._spectra])
        values = np.array([one.kelvin for one in self._spectra])
        mean = np.tensordot(weights, values, 1) / weights.sum()
        last = self._spectra[-1]
        channels = mean.shape[1]
        width = last.bandwidth / channels
        frequencies = last.frequency + (np.arange(channels) - channels // 2) * width
        inner = inner_channels(channels)
        baseline = np.array([baseline_of(row, inner) for row in mean])
        places = frequencies / 1e6
        if self._rest:
            places = velocities(frequencies, self._correction(last.end), self._rest)
        with np.errstate(divide="ignore", invalid="ignore"):
            power = 10 * np.log10(last.power / scales.middle(last.power))
        wrong = list(self._faults.values())
        wrong += self._spikes(mean, inner, frequencies)
        if not last.measured:
            wrong.append("kelvin are assumed, for hot and cold were not measured yet")
        noise = scales.radiometer_noise(
            float(np.nanmedian(last.system)), width, float(weights.sum()), self._mode
        )
        return ShownSpectrum(
            places,
            frequencies,
            np.where(inner, mean, np.nan),
            np.where(inner, baseline, np.nan),
            np.where(np.isfinite(power), power, np.nan),
            np.array(self._times),
            np.array(self._system),
            self._words(mean - baseline, inner, places, last, float(weights.sum()), noise),
            tuple(wrong),
            bool(self._rest and self._direction is not None),
            last.measured,
        )

    def _correction(self, time):
        if self._direction is None:
            return 0.0
        if self._corrected is None or abs(self._corrected[0] - time) > FRESH:
            value = float(lsr_correction(self._direction, time, self._array))
            self._corrected = time, value
        return self._corrected[1]

    def _spikes(self, mean, inner, frequencies):
        found = []
        for name, row in zip(self._names, mean):
            spikes = spikes_of(row, inner)
            if not len(spikes):
                continue
            where = ", ".join(f"{frequencies[number] / 1e6:.4f}" for number in spikes[:3])
            if len(spikes) > 3:
                where += f" and {len(spikes) - 3} more"
            own = len(spikes) == 1 and spikes[0] == len(row) // 2
            cause = "the receiver's own, in the middle of its band" if own else "interference"
            found.append(f"input {name}: a spike at {where} MHz: {cause}")
        return found

    def _words(self, above, inner, places, last, seconds, noise):
        texts = []
        for number, name in enumerate(self._names):
            row = np.where(inner, above[number], -np.inf)
            row = np.where(np.isfinite(row), row, -np.inf)
            highest = int(np.argmax(row))
            text = f"{name}: " if len(self._names) > 1 else ""
            unit = "km/s" if self._rest else "MHz"
            if row[highest] > 5 * noise:
                digits = 1 if self._rest else 4
                text += f"a line of {row[highest]:.1f} K at {places[highest]:.{digits}f} {unit}, "
            else:
                text += "no line, "
            texts.append(text + f"T_sys {last.system[number]:.0f} K")
        texts.append(f"noise {noise:.2g} K after {seconds:.0f} s")
        return minus_signs("; ".join(texts))
