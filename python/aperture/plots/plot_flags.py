#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The flagged and missing parts of a UVH5 file, over time and channel."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lost:
    """The flagged or missing part of a file. lost: the fraction that was flagged or missing, mean
    of the autocorrelations, float [time][channel]; times: Julian dates of the middle of each
    row."""

    lost: np.ndarray
    times: np.ndarray

    @property
    def by_channel(self):
        """True if it differs from channel to channel, as flagged data do; channels that were lost
        from the start to the end, such as dead ones, do not count."""
        alive = self.lost[:, self.lost.min(axis=0) < 1]
        return bool(alive.size and np.ptp(alive, axis=1).max() > 1e-6)


def lost_of(file, most_times=200):
    """
    Returns the lost part of a file.

    Parameters
    ----------
    file : VisibilityFile
    most_times : int
        Neighbouring integrations are averaged to this many.

    Returns
    -------
    Lost, or None where the file has no autocorrelations. Weights (nsamples) of files of other
    programs, which may be any, are taken as parts of the largest one.
    """
    autos = file.autos()
    if not autos:
        return None
    columns = {}
    for auto in autos:
        columns.setdefault(auto.first, []).append(file.polarizations.index(auto.polarization))
    bins = min(most_times, len(file.times))
    bin_of = np.arange(len(file.times)) * bins // len(file.times)
    there = np.zeros((bins, len(file.frequencies)))
    rows, most = np.zeros(bins), 0.0
    step = max(1, 8_000_000 // (len(file.frequencies) * len(file.polarizations)))
    for start in range(0, len(file.first), step):
        stop = min(start + step, len(file.first))
        chosen = [
            row
            for row in range(start, stop)
            if file.first[row] == file.second[row] and int(file.first[row]) in columns
        ]
        if not chosen:
            continue
        weights = file.rows(start, stop)[1]
        for row in chosen:
            at = bin_of[file.integration_of[row]]
            of_inputs = weights[row - start][:, columns[int(file.first[row])]]
            there[at] += of_inputs.mean(axis=1)
            rows[at] += 1
            most = max(most, float(of_inputs.max(initial=0)))
    largest = 1.0 if most <= 1 else most
    lost = 1 - there / np.maximum(rows, 1)[:, np.newaxis] / largest
    times = np.array([file.times[bin_of == number].mean() for number in range(bins)])
    return Lost(np.clip(lost, 0, 1), times)


def draw_lost(axis, found, frequencies, unit, seconds_to_edge):
    """
    The fraction over time and frequency, as a picture with its scale.

    Parameters
    ----------
    found : Lost
    frequencies : array of float
        Frequencies of the channels, in `unit`.
    seconds_to_edge : float
        Length of an integration.
    """
    seconds = (found.times - found.times[0]) * 86400
    step = float(np.median(np.diff(seconds))) if len(seconds) > 1 else seconds_to_edge
    width = abs(frequencies[1] - frequencies[0]) if len(frequencies) > 1 else 1.0
    image = axis.imshow(
        100 * found.lost,
        aspect="auto",
        origin="lower",
        cmap="magma_r",
        interpolation="nearest",
        vmin=0,
        vmax=max(1.0, 100 * float(found.lost.max())),
        extent=(
            frequencies[0] - width / 2,
            frequencies[-1] + width / 2,
            seconds[0],
            seconds[-1] + step,
        ),
    )
    axis.set_title(
        f"Flagged or missing: {100 * found.lost.mean():.3g} % of all inputs",
        loc="left",
        fontsize=10,
    )
    axis.set_xlabel(f"frequency ({unit})")
    axis.ticklabel_format(axis="x", useOffset=False)
    axis.set_ylabel("time (s)")
    axis.figure.colorbar(image, ax=axis, label="%", pad=0.01)
