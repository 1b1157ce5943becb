#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The model in float64 that pulse_search is compared with: the best boxcar of all, chances,
items."""

import math

import numpy as np


def best_boxcar(values, widest):
    """
    The largest sum / sqrt(width) of all boxcars of 1 to `widest` values, wherever they start.

    Parameters
    ----------
    values : float64 array [time]
        Baseline 0, rms 1.

    Returns
    -------
    (float, int, int)
        S/N, width, and the place behind the last value.
    """
    sums = np.concatenate([[0], np.cumsum(np.asarray(values, np.float64))])
    best = (-math.inf, 0, 0)
    for width in range(1, min(widest, len(values)) + 1):
        snr = (sums[width:] - sums[:-width]) / math.sqrt(width)
        place = int(np.argmax(snr))
        if snr[place] > best[0]:
            best = (float(snr[place]), width, place + width)
    return best


def chance(shape, sigmas):
    """
    Returns how likely a sum of `shape` exponentially distributed powers (chi^2 of 2 shape degrees
    of freedom) lies more than some standard deviations above its mean: the upper incomplete gamma
    function, which is a finite sum where the shape is whole.
    """
    level = shape + sigmas * math.sqrt(shape)
    count = np.arange(shape)
    log_factorials = np.concatenate([[0], np.cumsum(np.log(np.arange(1, shape)))])
    terms = count * math.log(level) - log_factorials - level
    return float(np.exp(terms).sum())


def items_of(series, times_per_item, decimations=None):
    """
    Series [beam][trial] of float arrays, each of times / decimation values -> uint8
    [item][byte] as dedisperser sends them.
    """
    items = []
    count = len(series[0][0]) * (decimations[0] if decimations else 1) // times_per_item
    for item in range(count):
        parts = []
        for beam in series:
            for trial, values in enumerate(beam):
                each = times_per_item // (decimations[trial] if decimations else 1)
                parts.append(np.asarray(values[item * each : (item + 1) * each], np.float32))
        items.append(np.concatenate(parts).view(np.uint8))
    return np.stack(items)
