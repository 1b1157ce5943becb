#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Fringes of many baselines at once, integration by integration.

displays.fringe_record looks longer at each of a few; this is for a process that must not take
processors from the data: all baselines together cost a few milliseconds.
"""

from collections import deque

import numpy as np

from ...displays.fringe_record import ODDS, LiveFringe
from ...visibilities.lags import coherence, lags, without_edge

#: points of a lag spectrum for each 1/bandwidth
OVERSAMPLING = 4
#: part of the mean of lag spectra that an integration is, and integrations of a rate
NEW, WINDOW = 0.125, 16


class Fringes:
    """
    Keeps the fringes of pairs of inputs.

    Parameters
    ----------
    pairs : list of (int, int)
        Inputs, the smaller one first.
    history : int
        Integrations that are kept in `points`.

    Attributes
    ----------
    points : dict
        pair -> deque of [time, coherence, phase in degrees, delay in seconds]
    """

    def __init__(self, pairs, history):
        self.points = {pair: deque(maxlen=history) for pair in pairs}
        first, second = (np.array([pair[place] for pair in pairs], int) for place in (0, 1))
        self._cross = second * (second + 1) // 2 + first
        self._autos = [number * (number + 3) // 2 for number in (first, second)]
        self._phasors = deque(maxlen=WINDOW)
        self._times = deque(maxlen=WINDOW)
        self._power = self._channels = None

    def add(self, time, channels, values):
        """
        Takes an integration, and returns a LiveFringe for each pair, None where there is nothing.

        Parameters
        ----------
        time : float
            Seconds since 1970, of its middle.
        channels : Channels
        values : complex [channel][product]
        """
        if channels != self._channels or (self._times and time <= self._times[-1]):
            self._power = None
            self._phasors.clear()
            self._times.clear()
            for points in self.points.values():
                points.clear()
            self._channels = channels
        # [pair][channel], conj(first) times second
        spectra = without_edge(
            coherence(values[:, self._cross], *[values[:, auto] for auto in self._autos]).T
        )
        delays, amplitudes = lags(spectra, channels.width, OVERSAMPLING)
        power = np.abs(amplitudes) ** 2
        self._power = power if self._power is None else self._power + NEW * (power - self._power)
        delays = self._peaks(delays)
        offsets = channels.frequencies() - channels.middle
        straight = spectra * np.exp(2j * np.pi * delays[:, np.newaxis] * offsets)
        good = np.isfinite(straight)
        counts = good.sum(axis=1)
        phasors = np.where(good, straight, 0).sum(axis=1) / np.maximum(counts, 1)
        scatter = np.sqrt(
            (np.abs(np.where(good, straight - phasors[:, np.newaxis], 0)) ** 2).sum(axis=1)
            / np.maximum(counts, 1)
        )
        self._phasors.append(np.where(counts > 0, phasors, np.nan))
        self._times.append(time)
        noise = scatter / np.sqrt(np.maximum(counts, 1))
        rates, rate_errors = self._rates(noise)
        span = 2 * np.pi * max(float(offsets.std()), 1e-30)
        found = []
        for place, (_pair, points) in enumerate(self.points.items()):
            if not counts[place]:
                found.append(None)
                continue
            size = abs(phasors[place])
            limit = noise[place] * np.sqrt(np.log(max(counts[place], 2)) + ODDS)
            error = noise[place] / np.sqrt(2) / max(size, 1e-30)
            phase = float(np.angle(phasors[place]))
            points.append(
                [
                    round(time, 3),
                    round(float(size), 4),
                    round(np.degrees(phase), 2),
                    float(f"{delays[place]:.5g}"),
                ]
            )
            found.append(
                LiveFringe(
                    float(size),
                    float(delays[place]),
                    float(rates[place]),
                    error / span,
                    float(rate_errors[place]),
                    phase,
                    bool(size > limit),
                    float(limit),
                    channels.period,
                )
            )
        return found

    def _peaks(self, delays):
        """Seconds [pair]: where lag spectra are highest, by a parabola through three points."""
        count = len(delays)
        highest = np.argmax(self._power, axis=1)
        rows = np.arange(len(highest))
        low, middle, high = (self._power[rows, (highest + step) % count] for step in (-1, 0, 1))
        bend = low - 2 * middle + high
        shift = np.where(bend < 0, 0.5 * (low - high) / np.where(bend < 0, bend, -1), 0.0)
        return (
            delays[highest] + shift * (delays[1] - delays[0])
            if count > 1
            else np.zeros(len(highest))
        )

    def _rates(self, noise):
        """Hz [pair] by which phases grow, and standard deviations; NaN of too few integrations."""
        phasors, times = np.array(self._phasors), np.array(self._times)
        nothing = np.full(phasors.shape[1], np.nan)
        if len(times) < 3:
            return nothing, nothing
        centred = times - times.mean()
        phases = np.unwrap(np.angle(np.nan_to_num(phasors)), axis=0)
        slopes = centred @ (phases - phases.mean(axis=0)) / (centred @ centred)
        errors = noise / np.sqrt(2) / np.maximum(np.abs(phasors[-1]), 1e-30)
        return slopes / (2 * np.pi), errors / np.sqrt(centred @ centred) / (2 * np.pi)
