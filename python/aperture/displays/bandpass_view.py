#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The contents of a display of bandpasses: the spectra and levels of all inputs; no Qt."""

import time as host
from dataclasses import dataclass

import numpy as np

from ..streams.levels import RANGES, Range, mean_power

#: complex values of a frame that are looked at, at most: some milliseconds
MOST_VALUES = 1 << 20
#: parts of the spectra that are missing from which an input wants attention, and is wrong
MISSING = 1e-9, 5e-2
#: the same for values that are clamped, where the voltages have no range of their own: samples
#: before the channeliser
CLAMPED = 1e-3, 1e-2
GOOD, WARN, BAD, NEUTRAL = range(4)
LEVELS = {
    "good": GOOD,
    "low": WARN,
    "high": WARN,
    "too low": BAD,
    "too high": BAD,
    "no signal": BAD,
}
#: dB that all curves are given at least
LEAST_SPAN = 6.0


@dataclass(frozen=True)
class InputState:
    """
    The state of one input. decibels: power [channel]; rms: of the real and imaginary parts; level:
    a word on it, "" where there is none to be said; clamped, missing: parts of all, None: not
    known; grades: GOOD, WARN, BAD or NEUTRAL of level, clamped, missing.
    """

    name: str
    decibels: np.ndarray
    rms: float
    level: str
    clamped: float | None
    missing: float | None
    grades: tuple

    @property
    def grade(self):
        """The worst of them."""
        return max((grade for grade in self.grades if grade != NEUTRAL), default=NEUTRAL)


@dataclass(frozen=True)
class Bandpasses:
    """
    The bandpasses that are shown. inputs: InputStates; frequencies: Hz [channel], None: not known;
    low, high: dB that all curves lie between; range: of levels in steps, None where there are none;
    words: a sentence.
    """

    inputs: list
    frequencies: np.ndarray | None
    low: float
    high: float
    range: Range | None
    words: str


def parts_of(data, type, shape):
    """float32 [channel][input][time][re, im] of a frame's bytes; shape: the first three."""
    if type == "fc32":
        return data.view(np.float32).reshape(*shape, 2)
    if type == "sc4":
        signed = data.view(np.int8).reshape(shape)
        # re is in the high four bits, with its sign; im is shifted there for its own
        components = np.stack([signed >> 4, (signed << 4).astype(np.int8) >> 4], -1)
        return np.maximum(components, -7).astype(np.float32)  # -8 is read so
    return data.view(np.int8).reshape(*shape, 2).astype(np.float32)


class BandpassView:
    """
    Averages powers, and judges levels.

    Parameters
    ----------
    names : list of str
        Names of the inputs.
    channels : int
    type : str
        Type of the voltages: sc8 and sc4, whose levels are in steps, or fc32.
    averaging : float
        Seconds: what is older than that counts less and less.
    """

    def __init__(self, names, channels, type, averaging):
        self._names, self._channels, self._type = list(names), channels, type
        self.set_averaging(averaging)
        self._range = RANGES.get(type)
        self.forget()

    def set_averaging(self, averaging):
        """Sets seconds; 0: the newest only."""
        self._averaging = float(averaging)

    def forget(self):
        """Forgets all that has come."""
        self._power = self._clamped = self._missing = None
        self._frequencies, self._when = None, None
        self._counts, self._counted = None, None

    def add_frame(self, data, spectra, frequencies):
        """
        Adds a frame [channel][input][time].

        Parameters
        ----------
        data : uint8 [byte]
        spectra : int
            Spectra of the frame.
        frequencies : [channel] or None
            Hz.
        """
        inputs, size = len(self._names), len(data) // (self._channels * len(self._names) * spectra)
        count = int(np.clip(MOST_VALUES // (self._channels * inputs), 1, spectra))
        values = data.reshape(self._channels, inputs, spectra, size)
        if count < spectra:
            # a piece of each row, which is what memory gives fast
            begin = (spectra - count) // 2
            values = np.ascontiguousarray(values[:, :, begin : begin + count])
        values = parts_of(values.reshape(-1), self._type, (self._channels, inputs, count))
        power = np.einsum("citk,citk->cit", values, values)
        there = power.any(axis=0)  # [input][spectrum]
        used = np.maximum(there.sum(axis=1), 1)
        clamped = None
        if self._range is not None:
            full = (np.abs(values) >= self._range.limit).any(axis=3)
            clamped = full.sum(axis=(0, 2)) / (used * self._channels)
        self._add(power.sum(axis=2) / used, clamped, 1 - there.mean(axis=1), frequencies)

    def add_visibilities(self, values, counted, spectra, frequencies):
        """
        Adds an integration [channel][product] of the X-engine, divided by what it counted.

        Parameters
        ----------
        counted : [product] or [1], or None
            Spectra that are in each product.
        spectra : int or None
            Spectra that the integration spans.
        """
        inputs = np.arange(len(self._names))
        autos = inputs * (inputs + 3) // 2
        missing = None
        if counted is not None and spectra:
            counted = np.broadcast_to(counted, values.shape[1:])[autos]
            missing = 1 - counted / spectra
        self._add(values[:, autos].real, None, missing, frequencies)

    def add_counts(self, counts):
        """Takes a message `counts` of the F-engine: a dictionary of spectra, channels, clamped,
        clamped_samples and missing, which count from the start on."""
        size = len(self._names)
        if any(len(counts[key]) != size for key in ("clamped", "clamped_samples", "missing")):
            raise ValueError(
                f"a message counts is of {len(counts['missing'])} inputs, and not of {size}"
            )
        before = self._counts
        self._counts = counts
        if before is None or counts["spectra"] <= before["spectra"]:
            return
        spectra = counts["spectra"] - before["spectra"]
        new = {
            key: np.subtract(counts[key], before[key], dtype=float)
            for key in ("clamped", "clamped_samples", "missing")
        }
        all_clamped = (new["clamped"] + new["clamped_samples"]) / (spectra * counts["channels"])
        self._counted = np.clip(all_clamped, 0, 1), np.clip(new["missing"] / spectra, 0, 1)

    def _add(self, power, clamped, missing, frequencies):
        now = host.monotonic()
        power = np.asarray(power, float).T  # [input][channel]
        tuned = (frequencies is None) != (self._frequencies is None) or (
            frequencies is not None and not np.array_equal(frequencies, self._frequencies)
        )
        part = 1.0
        if self._power is not None and not tuned and self._averaging > 0:
            part = 1 - np.exp(-max(now - self._when, 1e-3) / self._averaging)
        # inputs that have sent nothing change nothing
        alive = power.any(axis=1)
        if part == 1.0:
            self._power = power
        else:
            was = self._power.any(axis=1)
            weight = np.where(was, part, 1.0) * alive
            self._power = self._power + weight[:, np.newaxis] * (power - self._power)
        self._alive = alive
        self._clamped = self._mixed(self._clamped, clamped, part)
        self._missing = self._mixed(self._missing, missing, part)
        self._frequencies, self._when = frequencies, now

    @staticmethod
    def _mixed(before, new, part):
        if new is None or before is None:
            return new
        return before + part * (np.asarray(new) - before)

    def picture(self, dynamic_range=0.0):
        """The Bandpasses as they are now, or None before anything has come."""
        if self._power is None:
            return None
        clamped, missing = self._clamped, self._missing
        if self._counted is not None:
            clamped, missing = self._counted
        inputs = [
            self._state(
                number,
                None if clamped is None else float(clamped[number]),
                None if missing is None else float(missing[number]),
            )
            for number in range(len(self._names))
        ]
        return Bandpasses(
            inputs,
            self._frequencies,
            *decibel_span([state.decibels for state in inputs], dynamic_range),
            self._range,
            self._words(inputs),
        )

    def _state(self, number, clamped, missing):
        power = self._power[number]
        decibels = np.full(len(power), np.nan)
        np.log10(power, out=decibels, where=power > 0)
        rms = float(np.sqrt(mean_power(power) / 2)) if self._alive[number] else 0.0
        level = self._range.judge(rms) if self._range is not None else "" if rms else "no signal"
        limits = CLAMPED if self._range is None else self._range.clamped
        grades = LEVELS.get(level, NEUTRAL), graded(clamped, limits), graded(missing, MISSING)
        return InputState(self._names[number], 10 * decibels, rms, level, clamped, missing, grades)

    def _words(self, inputs):
        """A sentence on all inputs."""
        count = len(inputs)
        ones = [state for state in inputs if state.grade in (WARN, BAD)]
        several = {1: "the input", 2: "both inputs"}.get(count, f"all {count} inputs")
        if not ones:
            if self._range is None:
                return (
                    f"{several}: nothing clamped, nothing missing"
                    if inputs[0].missing is not None
                    else several
                )
            return f"{several}: a good level"
        if (
            count > 1
            and len(ones) == count
            and len({state.level for state in ones}) == 1
            and all(state.grades[2] not in (WARN, BAD) for state in ones)
        ):
            # inputs that clamp for one reason, such as the gain of all
            worst = max(ones, key=lambda state: state.clamped or 0)
            return f"{several}: {self._complaint(worst)}"
        ones.sort(key=lambda state: -state.grade)
        if count == 1:
            return f"the input: {self._complaint(ones[0])}"
        said = [f"{state.name}: {self._complaint(state)}" for state in ones[:2]]
        more = f", and {len(ones) - 2} more" if len(ones) > 2 else ""
        return f"{len(ones)} of {count} inputs: {'; '.join(said)}{more}"

    def _complaint(self, state):
        found = []
        if state.grades[2] in (WARN, BAD):
            found.append(f"{percent(state.missing)} missing")
        if state.grades[0] in (WARN, BAD):
            found.append(
                "no signal"
                if state.level == "no signal"
                else f"level {state.level} ({state.rms:.2g} steps, {self._range.target:g} are best)"
            )
        if state.grades[1] in (WARN, BAD):
            found.append(f"{percent(state.clamped)} clamped")
        return ", ".join(found)


def decibel_span(curves, dynamic_range=0.0):
    """Lowest and highest dB of curves, without what one channel in fifty does; so much below the
    highest, if a dynamic range is given."""
    values = np.concatenate(curves)
    values = values[np.isfinite(values)]
    if not len(values):
        return -LEAST_SPAN, 0.0
    high = float(values.max()) + 1
    if dynamic_range:
        return high - dynamic_range, high
    low = min(float(np.percentile(values, 2)) - 2, high - LEAST_SPAN)
    return low, high


def graded(part, limits):
    """GOOD, WARN or BAD of a part of all, by the two limits; NEUTRAL if it is not known."""
    if part is None:
        return NEUTRAL
    return GOOD if part < limits[0] else WARN if part < limits[1] else BAD


def percent(part):
    """A part of all in per cent, with the digits that a student reads."""
    value = 100 * part
    return (
        "0 %"
        if value == 0
        else "< 0.01 %"
        if value < 0.01
        else f"{value:.2g} %"
        if value < 99.5
        else "100 %"
    )


def outline(decibels, columns):
    """
    Points of a curve for so many columns of pixels: where channels are more, the lowest and the
    highest of each column, so that one channel with interference is seen.

    Returns place (0 to 1, middle of the channel) and dB, of one or two points a column.
    """
    channels = len(decibels)
    if channels <= 2 * columns:
        return (np.arange(channels) + 0.5) / channels, decibels
    edges = np.arange(columns) * channels // columns
    low = np.fmin.reduceat(decibels, edges)
    high = np.fmax.reduceat(decibels, edges)
    places = np.repeat((np.arange(columns) + 0.5) / columns, 2)
    return places, np.stack([low, high], 1).ravel()
