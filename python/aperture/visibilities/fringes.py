#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Fringes of baselines: delay and rate, phases over time, closure phases."""

from dataclasses import dataclass

import numpy as np

from .lags import vertex, without_edge

OVERSAMPLING = 8
#: the peak over the median of the spectrum's amplitudes; 1e6 cells of noise reach 4.5
CLEAR = 6.0


@dataclass(frozen=True)
class Fringe:
    """
    The peak of a delay and rate spectrum.

    delay: seconds, positive where the signal reaches the second input later; rate: Hz, of the
    phase at the band's centre; delay_error, rate_error: their standard deviations by the peak's
    signal-to-noise ratio; amplitude: of the visibilities there; clear: whether it stands out;
    period: seconds, 1/channel width, by a multiple of which the delay may be another one.
    """

    delay: float
    rate: float
    delay_error: float
    rate_error: float
    amplitude: float
    clear: bool
    period: float = np.inf


def delay_rate_spectrum(values, channel_width, step):
    """
    Fourier transform of visibilities over frequency and time.

    D(t, r) = 1/n sum V(f, s) exp(2 pi i (f t - r s)) over those n that are not flagged: of
    V ~ exp(-2 pi i f (t_2 - t_1) + 2 pi i r s) the peak lies at t_2 - t_1 and r.

    Parameters
    ----------
    values : complex [time][channel]
        NaN where flagged.
    channel_width, step : float
        Hz, s.

    Returns
    -------
    delays [delay] in s, rates [rate] in Hz, both ascending; complex [rate][delay]
    """
    good = np.isfinite(values)
    times, channels = values.shape
    shape = [length * OVERSAMPLING if length > 1 else 1 for length in (times, channels)]
    spectrum = np.fft.fft(np.where(good, values, 0), shape[0], axis=0)
    spectrum = np.fft.ifft(spectrum, shape[1], axis=1) * shape[1] / max(1, good.sum())
    return (
        np.fft.fftshift(np.fft.fftfreq(shape[1], channel_width)),
        np.fft.fftshift(np.fft.fftfreq(shape[0], step)),
        np.fft.fftshift(spectrum),
    )


def find_fringe(values, channel_width, step):
    """The Fringe of visibilities [time][channel], as delay_rate_spectrum() takes them."""
    delays, rates, spectrum = delay_rate_spectrum(values, channel_width, step)
    power = np.abs(spectrum)
    row, column = np.unravel_index(np.argmax(power), power.shape)
    place = []
    for axis, index in ((rates, row), (delays, column)):
        line = power[:, column] if axis is rates else power[row]
        offset = vertex(*line[index - 1 : index + 2]) if 0 < index < len(axis) - 1 else 0.0
        spacing = axis[1] - axis[0] if len(axis) > 1 else 0.0
        place.append(axis[index] + offset * spacing)
    top, median = power[row, column], np.median(power)
    # the median amplitude of noise is sqrt(2 ln 2) sigma of each component
    ratio = top / (median / np.sqrt(2 * np.log(2))) if median > 0 else np.inf
    spans = [
        max(length - 1, 1) * unit / np.sqrt(12)
        for length, unit in zip(values.shape, (step, channel_width))
    ]
    errors = [
        1 / (2 * np.pi * span * ratio) if length > 1 else np.inf
        for span, length in zip(spans, values.shape)
    ]
    return Fringe(
        float(place[1]),
        float(place[0]),
        errors[1],
        errors[0],
        float(top),
        bool(top > CLEAR * median > 0) or median == 0 < top,
        1 / channel_width if values.shape[1] > 1 else np.inf,
    )


def refine_delay(values, channel_width, delay):
    """
    The delay of the highest lag amplitude near one that is off by less than half of 1/bandwidth.

    Spectra are transformed at three delays around it, and a parabola laid through the mean powers;
    twice, so that what remains is far below the noise.

    Parameters
    ----------
    values : complex [time][channel]
        NaN where flagged.
    channel_width : float
        Hz.
    delay : float
        Seconds.
    """
    channels = values.shape[-1]
    filled = np.where(np.isfinite(values), values, 0)
    places = np.arange(channels) - (channels - 1) / 2
    for step in (0.25, 0.02):
        spacing = step / (channels * channel_width)
        delays = delay + spacing * np.array([-1, 0, 1])
        power = np.sum(
            np.abs(filled @ np.exp(2j * np.pi * channel_width * np.outer(places, delays))) ** 2,
            axis=0,
        )
        delay += spacing * np.clip(vertex(*power), -1, 1)
    return float(delay)


def without_delay(values, frequencies, delay):
    """Visibilities [time][channel] with a delay taken out, so that channels can be averaged."""
    middle = (frequencies[0] + frequencies[-1]) / 2
    return values * np.exp(2j * np.pi * (frequencies - middle) * delay)


def mean_over_channels(values):
    """Mean [time] over the channels that are not flagged; NaN where there are none."""
    good = np.isfinite(values)
    sums, counts = np.where(good, values, 0).sum(axis=-1), good.sum(axis=-1)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan, complex), where=counts > 0)


def triangles(pairs, most=6):
    """At most so many (a, b, c), a < b < c, of which all three pairs (a, b), (b, c), (a, c) are
    there; evenly chosen."""
    there = set(pairs)
    antennas = sorted({antenna for pair in there for antenna in pair})
    found = [
        (a, b, c)
        for i, a in enumerate(antennas)
        for j, b in enumerate(antennas[i + 1 :])
        if (a, b) in there
        for c in antennas[i + j + 2 :]
        if (b, c) in there and (a, c) in there
    ]
    chosen = np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).round().astype(int))
    return [found[index] for index in chosen] if found else []


def closure_phase(first, second, third):
    """Degrees [time] of V_ab V_bc V_ac*, visibilities [time][channel] of a triangle, averaged over
    channels: neither delays nor phases of the antennas change it."""
    return np.angle(mean_over_channels(without_edge(first * second * np.conj(third))), deg=True)
