#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Powers of the last spectra of an edge, for waterfall_display; no Qt."""

from collections import deque

import numpy as np

from ..parameters.sample_types import SAMPLE_TYPES
from .band import on_grid, usual_step

#: NumPy's type of a value of an edge, and how many of it a value has
#: what is shown, beside masks
TYPES = ("f32", "fc32", "sc8")


def occupancy(data, slices, rows, channels):
    """Percent of the slices of a mask [channel][row][byte] that are flagged, [row][channel]."""
    flags = np.unpackbits(
        data.view(np.uint8).reshape(channels, rows, -1), axis=-1, bitorder="little", count=slices
    )
    return 100 * flags.mean(axis=-1).T


def powers(data, sample_type, rows, channels):
    """
    Powers float64 [row][channel] of the bytes of an item.

    For fc32 and sc8 the square of the magnitude, for f32 the values themselves, which are powers
    already.
    """
    values = data.view(SAMPLE_TYPES[sample_type].component).astype(np.float64)
    if sample_type == "f32":
        return values.reshape(rows, channels)
    return np.sum(values.reshape(rows, channels, 2) ** 2, axis=-1)


class WaterfallRecord:
    """
    Keeps the lines of a waterfall of all rows of an edge's items [row][channel].

    Parameters
    ----------
    rows, channels : int
        Rows and channels of an item.
    history : int
        Lines that are kept.
    """

    def __init__(self, rows, channels, history=200):
        self._rows, self._count, self._history = rows, channels, history
        self.channels = None  # the Channels of the newest line, None where they are not known
        self.clear()

    def clear(self):
        """Forgets all lines."""
        self._times = deque(maxlen=self._history)
        self._lines = deque(maxlen=self._history)
        self._follows = deque(maxlen=self._history)
        self._interval = None

    def add(self, time, interval, channels, values, follows=True):
        """
        A line.

        Parameters
        ----------
        time : float
            Seconds since 1970.
        interval : float or None
            Seconds from one to the next if none is left out.
        channels : Channels or None
        values : float [row][channel]
            Powers; NaN where there are none.
        follows : bool
            The stream has no gap between the line before and this one, of an edge of which lines
            are samples (no interval).
        """
        if channels != self.channels or (self._times and time <= self._times[-1]):
            self.clear()
        self.channels, self._interval = channels, interval
        self._times.append(time)
        self._follows.append(follows)
        self._lines.append(np.asarray(values, np.float32))

    @property
    def newest_time(self):
        """Seconds since 1970, of the newest line; None before the first."""
        return self._times[-1] if self._times else None

    def spectrum(self, row):
        """Powers [channel] of the newest line."""
        return self._lines[-1][row]

    def picture(self, row):
        """Powers [time][channel] of a row on an even grid of times, NaN where lines are missing;
        the begin of the first in seconds, and the length of the grid's step."""
        if not self._times:
            return np.zeros((0, self._count), np.float32), 0.0, 1.0
        times = np.array(self._times)
        step = usual_step(times, self._interval)
        places, length = on_grid(times, step, self._history)
        values = np.full((length, self._count), np.nan, np.float32)
        for place, line in zip(places, self._lines):
            if place >= 0:
                values[place] = line[row]
        if self._interval is None:
            # lines are as far apart as drawing takes, which is no gap of the stream
            for before, after, follows in zip(places, places[1:], list(self._follows)[1:]):
                if follows and before >= 0:
                    values[before + 1 : after] = values[before]
        return values, float(times[-1] - (length - 0.5) * step), step


def levels_of(values):
    """The values of the first and the last colour: nearly the lowest and the highest, so that a
    single strong channel does not make all others dark."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = np.percentile(finite, [1, 99.5])
    if high - low < 1e-3 * max(abs(high), 1.0):
        # one level all over
        margin = max(abs(high) * 0.1, 1.0)
        return float(low - margin), float(high + margin)
    return float(low), float(high)
