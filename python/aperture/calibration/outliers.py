#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Channels whose gains stand out of their neighbours', as those with interference do."""

import numpy as np

LINES = 7  # channels to either side through which lines are drawn
REACH = 5  # parabolas go through as many
OUTLIER = 6.0  # times the usual distance from what neighbours say
LEAST_OUTLIER = 0.02  # parts of the gain; a value that is closer is no outlier
MOST_DISTANCE = 0.5  # parts of the gain; a value that is further is always an outlier
SUPPORT = 5  # neighbours that it takes
STEPS = 4  # in which the fit to neighbours loses its outliers


def nan_median(values, axis=-1):
    """Median along an axis without nan; nan where there is nothing else; without warnings."""
    values = np.moveaxis(np.asarray(values, float), axis, -1)
    count = np.isfinite(values).sum(axis=-1)
    ordered = np.sort(values, axis=-1)  # nan last
    low = np.take_along_axis(ordered, np.maximum((count - 1) // 2, 0)[..., None], -1)[..., 0]
    high = np.take_along_axis(ordered, np.minimum(count // 2, values.shape[-1] - 1)[..., None], -1)[
        ..., 0
    ]
    return np.where(count > 0, (low + high) / 2, np.nan)


def running_median(values, length):
    """Median of `length` neighbours (odd) along the last axis without nan; of those that are there
    at the ends."""
    reach = length // 2
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(reach, reach)], constant_values=np.nan)
    return nan_median(np.lib.stride_tricks.sliding_window_view(padded, length, axis=-1))


def _first_guess(values):
    """
    Returns a guess of each channel from its neighbours, complex [input][channel]: the median of
    straight lines through two of them, one on either side, at the ends both on one. A few that are
    wrong make no difference; where the values bend, it is off.
    """
    channels = values.shape[-1]
    guesses = []
    for step in range(1, LINES + 1):
        low, high = np.arange(channels) - step, np.arange(channels) + step
        inside = (low >= 0) & (high < channels)
        first = np.where(inside, low, np.where(low < 0, high, low))
        second = np.where(inside, high, np.where(low < 0, high + step, low - step))
        share = np.where(inside, 0.5, 2.0)
        there = (first >= 0) & (first < channels) & (second >= 0) & (second < channels)
        line = (
            share * values[:, first.clip(0, channels - 1)]
            + (1 - share) * values[:, second.clip(0, channels - 1)]
        )
        guesses.append(np.where(there, line, np.nan))
    guesses = np.array(guesses)
    return nan_median(guesses.real, 0) + 1j * nan_median(guesses.imag, 0)


def parabolas(values, weights):
    """
    The value at each channel of a parabola through its neighbours, weighted least squares, complex
    [input][channel]; nan where there are too few.
    """
    channels = values.shape[-1]
    length = min(2 * REACH + 1, channels)
    starts = np.clip(np.arange(channels) - length // 2, 0, channels - length)
    places = starts[:, None] + np.arange(length)
    away = (places - np.arange(channels)[:, None]) / REACH
    powers = away[..., None] ** np.arange(3)  # [channel][neighbour][power]
    weight = weights[:, places]  # [input][channel][neighbour]
    filled = np.where(weights > 0, np.nan_to_num(values), 0)[:, places]
    matrix = np.einsum("ikn,knp,knq->ikpq", weight, powers, powers)
    right = np.einsum("ikn,knp->ikp", weight * filled, powers)
    enough = (weight > 0).sum(axis=-1) >= SUPPORT
    matrix[~enough] = np.eye(3)
    matrix += 1e-9 * np.eye(3)  # neighbours all on one place of few
    fit = np.linalg.solve(matrix, right[..., None])[..., 0, 0]
    return np.where(enough, fit, np.nan)


def _distances(values, guess):
    """Returns how far values are from a guess, as parts of it, and the distance beyond which they
    are unusual."""
    with np.errstate(all="ignore"):
        away = np.abs(values - guess) / np.maximum(np.abs(guess), np.abs(values))
    # a steep edge of a filter is no interference: what is usual there is what counts
    usual = np.maximum(running_median(away, 4 * REACH + 1), nan_median(away)[:, None])
    limit = np.maximum(LEAST_OUTLIER, OUTLIER * np.nan_to_num(usual))
    # at the ends, where neighbours are on one side only, any bend looks larger
    place = np.arange(values.shape[-1])
    limit = limit * (1 + np.maximum(0, 1 - np.minimum(place, place[::-1]) / REACH))
    limit = np.minimum(limit, MOST_DISTANCE)
    return np.nan_to_num(away, nan=0.0), limit


def stand_out(values):
    """
    Channels that stand out of their neighbours in any input: bool [channel].

    values: complex [input][channel], smooth over the channels but for noise, nan where there is
    nothing.
    """
    channels = values.shape[-1]
    if channels <= 2 * LINES:
        return np.zeros(channels, bool)
    there = np.isfinite(values)
    away, limit = _distances(values, _first_guess(values))
    weights = (there & (away <= limit)).astype(float)
    for _ in range(STEPS):
        # a parabola does not follow every bend: what it leaves of the neighbours is not smooth only
        # where a channel stands out
        fit = parabolas(values, weights)
        left = _first_guess(np.where(weights > 0, values - fit, np.nan))
        away, limit = _distances(values, fit + np.where(np.isfinite(left), left, 0))
        weights = (there & (away <= limit)).astype(float)
    return np.any(there & (away > limit), axis=0)
