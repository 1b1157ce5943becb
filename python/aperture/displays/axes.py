#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The axes of displays, frequencies and times: NumPy alone, also for what has no GNU Radio."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Channels:
    """The channels of an edge in Hz: the frequency of the first one, and their width."""

    first: float
    width: float
    count: int

    def frequencies(self):
        """Hz [channel]."""
        return self.first + self.width * np.arange(self.count)

    @property
    def middle(self):
        """Hz: the middle of the band."""
        return self.first + self.width * (self.count - 1) / 2

    @property
    def period(self):
        """Seconds by which delays repeat themselves: of a phase that is known in single channels,
        nobody can say how often it has gone round from one to the next."""
        return 1 / self.width if self.count > 1 and self.width > 0 else np.inf


def on_grid(times, step, most):
    """
    Returns where times lie on a grid that ends with the last of them.

    Parameters
    ----------
    times : float [row]
        Ascending.
    step : float
        Step of the grid.
    most : int
        Places of the grid, at most.

    Returns
    -------
    int [row], its places from 0 on, negative for those too long ago; and the number of places
    """
    back = np.rint((times[-1] - times) / step).astype(np.int64)
    kept = back[back < most]
    length = int(kept.max()) + 1
    return length - 1 - back, length


def usual_step(times, interval=None):
    """Seconds from one of the times to the next where none is missing: the interval that the stream
    says, unless most of them lie further apart."""
    steps = np.diff(times)
    steps = steps[steps > 0]
    middle = float(np.median(steps)) if len(steps) else None
    if interval is None or (middle is not None and middle > 1.5 * interval):
        return middle or interval or 1.0
    return interval


def with_breaks(times, step, *curves):
    """Times and curves over them, with a NaN wherever items are missing, so that no line is drawn
    across."""
    after = np.flatnonzero(np.diff(times) > 1.5 * step) + 1
    middles = (times[after - 1] + times[after]) / 2 if len(after) else []
    return [
        np.insert(times, after, middles),
        *[np.insert(np.asarray(curve, float), after, np.nan) for curve in curves],
    ]
