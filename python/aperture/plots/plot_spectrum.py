#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures of calibrated spectra."""

import matplotlib.pyplot as plt
import numpy as np

from .style import COLOURS

#: integrations from which on their means are drawn over time
MANY = 30


def spectrum_figure(speeds, kelvin, names, title, label, series, noise, measured):
    """
    A figure of a spectrum over velocity, and of the band over time.

    Parameters
    ----------
    speeds : float [channel]
        km/s.
    kelvin : float [input][channel]
    names : list of str
        Of the inputs.
    title, label : str
        Of the figure, and of the axis of velocities.
    series : tuple of float [integration], float [integration][input]
        Seconds since 1970, and the mean kelvin of the band.
    noise : float
        Kelvin, of a channel.
    measured : bool
        Whether the kelvin are those of hot and cold.
    """
    times, means = series
    rows = 2 if len(times) >= MANY else 1
    figure, axes = plt.subplots(
        rows, 1, figsize=(7.0, 3.6 * rows), layout="constrained", squeeze=False
    )
    axis = axes[0, 0]
    for number, (name, values) in enumerate(zip(names, kelvin)):
        axis.plot(speeds, values, color=COLOURS[number % len(COLOURS)], lw=0.9, label=name)
    if np.min(speeds) < 0 < np.max(speeds):
        axis.axvline(0, color="#A0A0A0", lw=0.8, zorder=0)
    axis.set_xlabel(label)
    axis.set_ylabel(
        "antenna temperature (K)" if measured else "antenna temperature (K, not calibrated)"
    )
    axis.set_title(title, fontsize=10)
    axis.grid(alpha=0.25)
    axis.text(
        0.99,
        0.97,
        f"noise of a channel {noise:.2g} K",
        transform=axis.transAxes,
        ha="right",
        va="top",
        fontsize=8,
    )
    if len(names) > 1:
        axis.legend(fontsize=8)
    if rows == 2:
        axis = axes[1, 0]
        for number in range(means.shape[1]):
            axis.plot(
                (times - times[0]) / 60, means[:, number], color=COLOURS[number % len(COLOURS)]
            )
        axis.set_xlabel("minutes")
        axis.set_ylabel("mean of the band (K)")
        axis.grid(alpha=0.25)
        axis.margins(x=0)
    figure.align_ylabels(np.ravel(axes))
    return figure
