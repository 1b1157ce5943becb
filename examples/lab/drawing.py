#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Style of the lab's pictures."""

import io

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from PIL import Image

BLUE, ORANGE, GREEN, GREY = "#1b6ca8", "#d1600e", "#2e8b57", "#888888"
QUARTERS = [-180, -90, 0, 90, 180]
plt.rcParams.update(
    {
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "lines.markersize": 3,
        "legend.fontsize": 8,
        "legend.framealpha": 0.9,
    }
)


def panels(columns, rows=1, size=(7.6, 3.0), **options):
    """A figure and its axes."""
    return plt.subplots(rows, columns, figsize=size, layout="constrained", **options)


def save(figure, path):
    """Writes a picture; a PNG of 64 colours, which is a quarter as large."""
    if not str(path).endswith(".png"):
        figure.savefig(path)
    else:
        memory = io.BytesIO()
        figure.savefig(memory, dpi=100, format="png")
        Image.open(memory).convert("RGB").quantize(64).save(path, optimize=True)
    plt.close(figure)


def phase_axis(axis, label="phase (°)"):
    axis.set(ylim=(-190, 190), yticks=QUARTERS, ylabel=label)


def band(baseline, title=""):
    """Coherence and phase along the band, and the delay as a slope."""
    from observing import line

    figure, (left, right) = panels(2)
    offsets, coherence = baseline.along_band()
    megahertz = (baseline.frequency + offsets) / 1e6
    left.plot(megahertz, np.abs(coherence), ".-", color=BLUE)
    left.set(ylim=(0, 1.05), xlabel="frequency (MHz)", ylabel="coherence", title=title)
    right.plot(megahertz, np.degrees(np.angle(coherence)), ".", color=ORANGE)
    slope, error, middle = line(offsets, np.angle(coherence))
    fit = np.angle(np.exp(1j * (middle + slope * offsets)), deg=True)
    fit[:-1][np.abs(np.diff(fit)) > 180] = np.nan
    right.plot(
        megahertz,
        fit,
        "-",
        color=GREY,
        linewidth=1,
        label=f"delay {-slope / 2e-9 / np.pi:.2f} ± {error / 2e-9 / np.pi:.2f} ns".replace(
            "-", "−"
        ),
    )
    phase_axis(right)
    right.set(xlabel="frequency (MHz)")
    right.legend(loc="upper right")
    return figure


def fringes(baseline, expected=None, title=""):
    """
    The mean coherence over time: real and imaginary part, and phase, with the expected phase
    [time] (radians) but for a constant.
    """
    figure, (left, right) = panels(2)
    minutes = (baseline.times - baseline.times[0]) / 60
    mean = baseline.mean()
    left.plot(minutes, mean.real, color=BLUE, linewidth=1, label="real part")
    left.plot(minutes, mean.imag, color=ORANGE, linewidth=1, label="imaginary part")
    most = 1.6 * np.abs(mean).max()
    left.set(ylim=(-most, most), xlabel="minutes", ylabel="coherence", title=title)
    left.legend(loc="upper right", ncols=2)
    phases(right, minutes, np.angle(mean), BLUE, "measured")
    if expected is not None:
        offset = np.angle(np.mean(mean * np.exp(-1j * expected)))
        curve(right, minutes, expected + offset, GREY, "expected")
        right.legend(loc="upper right")
    phase_axis(right)
    right.set(xlabel="minutes")
    return figure


def phases(axis, x, radians, colour, label=None):
    """Phases as points."""
    axis.plot(x, np.degrees(np.angle(np.exp(1j * radians))), ".", color=colour, label=label)


def curve(axis, x, radians, colour, label=None):
    """Phases as a curve that is broken where it wraps."""
    wrapped = np.degrees(np.angle(np.exp(1j * radians)))
    wrapped[:-1][np.abs(np.diff(wrapped)) > 180] = np.nan
    axis.plot(x, wrapped, "-", color=colour, linewidth=1, label=label)
