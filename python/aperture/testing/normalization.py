#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A slow model of power_normalizer in float64, written from docs/power-normalizer.md: what tests
compare with.
"""

import numpy as np

FIRST_VALUES = 5
OUTLIER = 10
SEGMENT_AGREEMENT = 4
VARIANCE_AGREEMENT = 12
NEIGHBOURS = 16
MOST_OF_SUM = 3


def lower_median(values):
    """The middle one of the values, the lower one of two."""
    return np.sort(np.asarray(values, dtype=float))[(len(values) - 1) // 2]


def segment_moments(values, before, segment):
    """
    (mean, variance) of a column in a segment, None where there are too few values.

    before: the (mean, variance) of the bandpass before, or None
    """
    values = values[np.isfinite(values)]
    if before is None or before[1] <= 0:
        inner = values[:0]
    else:
        inner = values[abs(values - before[0]) <= OUTLIER * np.sqrt(before[1])]
    used = inner if 2 * len(inner) >= len(values) else values
    if len(used) < 2 or 4 * len(used) < segment:
        return None
    return used.mean(), used.var(ddof=1)


def agreement(history, segment):
    """Returns what some (mean, variance) agree about, or None."""
    past = np.array([entry for entry in history if entry is not None])
    if not len(past):
        return None
    means, variances = past.T
    mean, variance = lower_median(means), lower_median(variances)
    kept = abs(means - mean) <= SEGMENT_AGREEMENT * np.sqrt(variance / segment)
    kept &= variances <= variance * (1 + VARIANCE_AGREEMENT / np.sqrt(segment))
    return (means[kept].mean(), variances[kept].mean()) if kept.any() else (mean, variance)


class Baseline:
    """Running means and variances of columns."""

    def __init__(self, columns, segment, segments):
        self.segment, self.segments = segment, segments
        self.history = [[] for _ in range(columns)]
        self.now = [None] * columns

    def add(self, values):
        """float64 [item][column], NaN where there is none"""
        for column, past in enumerate(self.history):
            past.append(segment_moments(values[:, column], self.now[column], self.segment))
            del past[: -self.segments]
            self.now[column] = agreement(past, self.segment)


def good_channels(bandpass, items, threshold, bad):
    """Returns the good channels of a beam: bool [channel]."""
    channels = len(bandpass)
    good = np.array([entry is not None and entry[1] > 0 for entry in bandpass])
    good[list(bad)] = False
    if not threshold or not good.any():
        return good
    mean = np.array([entry[0] if entry else 0 for entry in bandpass])
    variance = np.array([entry[1] if entry else 0 for entry in bandpass])
    off = np.zeros((2, channels))
    for k in np.flatnonzero(good):
        near = slice(max(0, k - NEIGHBOURS), k + NEIGHBOURS + 1)
        rms = np.sqrt(lower_median(variance[near][good[near]]))
        off[0, k] = (mean[k] - lower_median(mean[near][good[near]])) / rms
        off[1, k] = np.sqrt(variance[k]) / rms - 1
    usual = [max(1.4826 * lower_median(abs(row[good])), items**-0.5) for row in off]
    return good & (off[0] <= threshold * usual[0]) & (off[1] <= threshold * usual[1])


def normalize(
    powers,
    present=None,
    *,
    segment,
    segments=32,
    cell_threshold=20,
    channel_threshold=8,
    spectrum_threshold=8,
    zero_dm=False,
    bad_channels=(),
    steps=None,
):
    """
    powers float64 [item][beam][channel] -> what power_normalizer makes of them, and its counts
    {name: [beam]}. present: bool [item][beam].
    """
    items, beams, channels = powers.shape
    present = np.ones((items, beams), dtype=bool) if present is None else present
    out = np.zeros(powers.shape)
    counts = {name: [0] * beams for name in ("missing", "channel", "spectrum", "cell", "clamped")}
    for beam in range(beams):
        bandpass = Baseline(channels, segment, segments)
        broad = Baseline(1, segment, segments)
        for number, first in enumerate(range(0, items, segment)):
            part = slice(first, min(items, first + segment))
            x = np.where(present[part, beam, None], powers[part, beam], np.nan)
            bandpass.add(x)
            window = min(number + 1, segments) * segment
            good = good_channels(bandpass.now, window, channel_threshold, bad_channels)
            sums = np.full((len(x), 1), np.nan)
            for i, row in enumerate(x):
                if not present[first + i, beam]:
                    counts["missing"][beam] += channels
                    continue
                counts["channel"][beam] += channels - good.sum()
                y = np.zeros(channels)
                for k in np.flatnonzero(good):
                    y[k] = (row[k] - bandpass.now[k][0]) / np.sqrt(bandpass.now[k][1])
                flagged = good & ~np.isfinite(y)
                y[flagged] = 0
                if cell_threshold:
                    half = np.concatenate([[False], y > cell_threshold / 2, [False]])
                    flagged |= (y > cell_threshold) & ~half[:-2] & ~half[2:]
                y[flagged] = 0
                left = good & ~flagged
                if not left.any():
                    counts["cell"][beam] += good.sum()
                    continue
                sums[i] = np.clip(y, -MOST_OF_SUM, MOST_OF_SUM).sum() / np.sqrt(left.sum())
                mean, variance = broad.now[0] or (0, 1)
                most = spectrum_threshold * np.sqrt(max(variance, 1))
                if spectrum_threshold and abs(sums[i] - mean) > most:
                    counts["spectrum"][beam] += good.sum()
                    continue
                counts["cell"][beam] += flagged.sum()
                if zero_dm:
                    y -= y.sum() / left.sum()
                out[first + i, beam] = np.where(left, y, 0)
            broad.add(sums)
        if steps:
            scaled = np.rint(out[:, beam] * steps)
            counts["clamped"][beam] = int((abs(scaled) > 127).sum())
            out[:, beam] = np.clip(scaled, -127, 127)
    return out, {name: [int(n) for n in row] for name, row in counts.items()}
