#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Fringes of the last integrations of some baselines, for fringe_display; no Qt."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..plots.style import decimals, delay_text, minus_signs, rounded
from ..visibilities.fringes import find_fringe, mean_over_channels, refine_delay, without_delay
from ..visibilities.lags import coherence, lags, without_edge
from .axes import on_grid, usual_step, with_breaks

#: points of a lag spectrum for each 1/bandwidth
OVERSAMPLING = 8
#: places of the grid in which the rotation of the phase is searched
MOST_PLACES = 512
#: steps of that grid by which times may lie beside it
OFF_GRID = 0.1
#: natural logarithm of the odds against the highest of as many cells of noise: 1 in 1000
ODDS = 7.0


def product_index(a, b):
    """Returns the index of the product of inputs a and b in an integration [channel][product],
    whatever their order: that of the larger input with the conjugate of the smaller."""
    a, b = max(a, b), min(a, b)
    return a * (a + 1) // 2 + b


@dataclass(frozen=True)
class LiveFringe:
    """
    The newest fringe of a baseline.

    coherence: 0 to 1, over the whole band, without the delay; delay: seconds, positive where the
    signal reaches the second input later; rate: Hz, by which the phase grows, NaN where too few
    integrations are there; *_error: standard deviations; phase: radians, newest; clear: whether it
    stands out of the noise, for which `limit` is the coherence; period: seconds, 1/channel width,
    by a multiple of which the delay may be another one.
    """

    coherence: float
    delay: float
    rate: float
    delay_error: float
    rate_error: float
    phase: float
    clear: bool
    limit: float
    period: float = np.inf


#: decimals at most: more would flicker
MOST_DECIMALS = 3


def live_delay(fringe):
    """The delay of a LiveFringe, as a window says it: "+12.4 ns"."""
    return delay_text(fringe.delay, fringe.delay_error, fringe.period, most=MOST_DECIMALS)


def fringe_text(names, fringe):
    """Returns what a LiveFringe is, in a student's words; names: of both inputs."""
    begin = f"inputs {names[0]} and {names[1]}: "
    if fringe is None:
        return begin + "no data"
    if not fringe.clear:
        return begin + f"no clear fringe, coherence below {fringe.limit:.2g}"
    text = begin + (f"coherence {fringe.coherence:.2f}, delay {live_delay(fringe)}")
    if np.isfinite(fringe.rate):
        degrees = 360 * fringe.rate
        digits = decimals(360 * fringe.rate_error, MOST_DECIMALS)
        text += (
            ", phase standing still"
            if abs(degrees) < 2 * 360 * fringe.rate_error
            else f", phase rotating {rounded(degrees, digits, '+')}°/s"
        )
    return minus_signs(text)


class _Baseline:
    """The last integrations of a pair of inputs: coherences, lag powers and phasors."""

    def __init__(self, history, window):
        self.times = deque(maxlen=history)
        self.spectra = deque(maxlen=history)  # coherence, complex64 [channel]
        self.phasors = deque(maxlen=history)  # means over channels, without the delay
        self.phases = deque(maxlen=history)  # phases of the phasors, radians, unwrapped
        self.lag_powers = deque(maxlen=window)
        self.delay = None


class FringeRecord:
    """
    Keeps what fringe_display draws.

    Parameters
    ----------
    inputs : int
        Inputs of an integration.
    baselines : list of (int, int)
        Pairs of inputs that are followed: first and second, in this order.
    history : int
        Integrations that are kept.
    window : int
        Newest integrations of which delay, coherence and rate are taken.
    """

    def __init__(self, inputs, baselines, history=300, window=16):
        self._inputs, self._history, self._window = inputs, history, window
        self._channels = None
        self._interval = None
        self._baselines = {}
        for pair in baselines:
            self.follow(pair)

    @property
    def baselines(self):
        """The pairs of inputs that are followed."""
        return list(self._baselines)

    @property
    def channels(self):
        """The Channels of the newest integration; None before the first."""
        return self._channels

    def follow(self, pair):
        """Follows a pair of inputs from now on, too."""
        if pair not in self._baselines:
            self._baselines[pair] = _Baseline(self._history, self._window)

    def leave(self, pair):
        """Follows a pair no more."""
        self._baselines.pop(pair, None)

    def clear(self):
        """Forgets all integrations."""
        for pair in self._baselines:
            self._baselines[pair] = _Baseline(self._history, self._window)

    def add(self, time, interval, channels, visibilities):
        """
        An integration.

        Parameters
        ----------
        time : float
            Seconds since 1970, of its middle.
        interval : float or None
            Seconds from one integration to the next, if the stream says it.
        channels : Channels
        visibilities : complex [channel][product]
            Products, autocorrelations included, in any units; zeros where nothing was counted.
        """
        newest = next((kept.times[-1] for kept in self._baselines.values() if kept.times), None)
        if channels != self._channels or (newest is not None and time <= newest):
            # another band, or a flowgraph that begins anew: the old does not belong to it
            self.clear()
        self._channels, self._interval = channels, interval
        for (first, second), kept in self._baselines.items():
            self._add(kept, time, self._coherence(visibilities, first, second))

    @staticmethod
    def _coherence(visibilities, first, second):
        """Complex [channel], conj(first) times second."""
        cross = visibilities[:, product_index(first, second)]
        if first > second:
            cross = np.conj(cross)
        autos = [visibilities[:, product_index(number, number)] for number in (first, second)]
        return coherence(cross.astype(np.complex128), *autos)

    def _add(self, kept, time, spectrum):
        kept.times.append(time)
        kept.spectra.append(spectrum.astype(np.complex64))
        spectrum = without_edge(spectrum)
        if not np.isfinite(spectrum).any():
            kept.phasors.append(complex(np.nan, np.nan))
            kept.phases.append(np.nan)
            return
        width = self._channels.width
        delays, amplitudes = lags(spectrum, width, OVERSAMPLING)
        kept.lag_powers.append(np.abs(amplitudes) ** 2)
        # the highest of the window, as one integration may be all noise
        power = np.mean(kept.lag_powers, axis=0)
        newest = without_edge(list(kept.spectra)[-len(kept.lag_powers) :])
        kept.delay = refine_delay(newest, width, delays[np.argmax(power)])
        phasor = complex(
            mean_over_channels(without_delay(spectrum, self._channels.frequencies(), kept.delay))
        )
        before = next((phase for phase in reversed(kept.phases) if np.isfinite(phase)), None)
        phase = np.angle(phasor)
        if before is not None:
            phase = before + np.angle(np.exp(1j * (phase - before)))
        kept.phasors.append(phasor)
        kept.phases.append(phase)

    def _step(self, kept):
        return usual_step(np.array(kept.times), self._interval)

    def curves(self, pair):
        """UTC seconds, coherences and unwrapped phases in degrees of the integrations of a pair,
        NaN where some are missing; empty before the first."""
        kept = self._baselines[pair]
        if not kept.times:
            return [np.zeros(0)] * 3
        return with_breaks(
            np.array(kept.times), self._step(kept), np.abs(kept.phasors), np.degrees(kept.phases)
        )

    def lag_spectrum(self, pair):
        """Delays in seconds and the root mean square of the coherence there, of the newest
        integrations of a pair."""
        kept = self._baselines[pair]
        if not kept.lag_powers:
            return np.zeros(0), np.zeros(0)
        points = len(kept.lag_powers[0])
        delays = np.fft.fftshift(np.fft.fftfreq(points, self._channels.width))
        return delays, np.sqrt(np.mean(kept.lag_powers, axis=0))

    def waterfall(self, pair):
        """Complex coherences [time][channel] on an even grid of times, NaN where integrations are
        missing; the begin of the first in UTC seconds, and the length of the grid's step."""
        kept = self._baselines[pair]
        if not kept.times:
            return np.zeros((0, 0), complex), 0.0, 1.0
        times, step = np.array(kept.times), self._step(kept)
        places, length = on_grid(times, step, self._history)
        values = np.full((length, self._channels.count), np.nan, np.complex64)
        for place, spectrum in zip(places, kept.spectra):
            if place >= 0:
                values[place] = spectrum
        return values, float(times[-1] - (length - 0.5) * step), step

    def fringe(self, pair):
        """The LiveFringe of a pair; None without data."""
        kept = self._baselines[pair]
        if not kept.lag_powers:
            return None
        times = np.array(kept.times)[-self._window :]
        spectra = without_edge(list(kept.spectra)[-self._window :]).astype(complex)
        straight = without_delay(spectra, self._channels.frequencies(), kept.delay)
        rate = self._rate(times, mean_over_channels(straight))
        rotated = (
            straight
            * np.exp(-2j * np.pi * (0 if np.isnan(rate) else rate) * (times - times[-1]))[:, None]
        )
        good = rotated[np.isfinite(rotated)]
        mean = good.mean()
        scatter = np.sqrt(np.mean(np.abs(good - mean) ** 2))
        # |mean| of noise alone has this root mean square; the highest of all delays and rates,
        # of which there are as many as values, has a square larger by the logarithm of these
        noise = scatter / np.sqrt(len(good))
        limit = noise * np.sqrt(np.log(len(good)) + ODDS)
        # standard deviation of the mean's phase, and of its slopes over frequency and time
        error = noise / np.sqrt(2) / max(abs(mean), 1e-30)
        spans = [values.std() for values in (self._channels.frequencies(), times)]
        errors = [error / (2 * np.pi * span) if span > 0 else np.inf for span in spans]
        return LiveFringe(
            float(abs(mean)),
            kept.delay,
            rate,
            errors[0],
            errors[1],
            float(np.angle(mean)),
            bool(abs(mean) > limit),
            float(limit),
            self._channels.period,
        )

    def _rate(self, times, phasors):
        """Hz, by which the phase of phasors grows; NaN of fewer than three, or of such that lie too
        far apart."""
        step = usual_step(times, self._interval)
        apart = (times - times[-1]) / step
        if self._interval and np.abs(apart - np.rint(apart)).max() > OFF_GRID:
            step = self._interval  # some are left out, and not evenly
        places, length = on_grid(times, step, MOST_PLACES)
        seen = (places >= 0) & np.isfinite(phasors)
        if seen.sum() < 3:
            return np.nan
        line = np.full((length, 1), np.nan, complex)
        line[places[seen], 0] = phasors[seen]
        return find_fringe(line, 1.0, step).rate
