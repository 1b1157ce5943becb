#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A slow model of zoom in float64, written from docs/zoom.md: what tests compare with."""

import math
from fractions import Fraction

import numpy as np

#: dB that the stages are designed for
DESIGNED = 82.5


def taps_of(decimation, count):
    """Taps of one stage: a sinc with Kaiser's window for the designed attenuation, sum 1."""
    k = np.arange(count) - count // 2
    h = np.sinc(k / decimation) * np.kaiser(count + 2, 0.1102 * (DESIGNED - 8.7))[1:-1]
    return h / h.sum()


def whole_filter(stages):
    """The one filter that stages (decimation, taps) are together, at the rate of the samples."""
    whole, hop = np.ones(1), 1
    for decimation, count in stages:
        spread = np.zeros((count - 1) * hop + 1)
        spread[::hop] = taps_of(decimation, count)
        whole = np.convolve(whole, spread)
        hop *= decimation
    return whole


def phasors(frequency, rate, first, count, quarters=0):
    """exp(-2 pi i (f/rate + quarters/4) n) of samples n, with exact phases."""
    step = Fraction(frequency) / Fraction(rate) + Fraction(quarters, 4)
    cycles = [float((step * n) % 1) for n in range(first, first + count)]
    return np.exp(-2j * np.pi * np.array(cycles))


def zoom(values, frequency, rate, stages, inverted=False, first=0):
    """
    Returns what zoom makes of samples [input][time], which may be real: complex [input][time].

    stages: (decimation, taps) of each
    first: number of the first sample, for the oscillator
    """
    real = not np.iscomplexobj(values)
    quarters = (-1 if inverted else 1) if real else 0
    if inverted and not real:
        values = np.conj(values)
    h = whole_filter(stages) * (2 if real else 1)
    hop = math.prod(decimation for decimation, _ in stages)
    mixed = values * phasors(frequency, rate, first, values.shape[1], quarters)
    count = max(0, (values.shape[1] - len(h)) // hop + 1)
    windows = np.lib.stride_tricks.sliding_window_view(mixed, len(h), axis=1)[:, ::hop]
    return windows[:, :count] @ h
