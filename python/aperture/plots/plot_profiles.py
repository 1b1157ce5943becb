#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures of folded profiles: over phase, frequency and time."""

import matplotlib.pyplot as plt
import numpy as np

from ..formats.psrfits.profiles import read_profiles
from ..parameters.times import utc_text
from ..transients.dispersion import delay
from ..transients.folding import combined, dedispersed, flattened, profile, signal_to_noise
from .style import COLOURS, PlotError

#: rows of a picture over frequency; more are averaged
MAX_ROWS = 256
#: endings of files of folded profiles
ENDINGS = (".fits", ".psrfits", ".rf", ".sf", ".ar")


def begin_of(folded):
    """When the first sub-integration begins, (whole seconds, fraction), of what may not say so."""
    if folded.start is not None:
        return folded.start
    begin = folded.times[0][1] - folded.lengths[0] / 2
    return folded.times[0][0] + int(np.floor(begin)), float(begin % 1)


def _averaged_rows(values, weights, most):
    """[row][bin] to at most so many rows, and how many became one."""
    each = -(-len(values) // most)
    if each == 1:
        return values
    edges = np.arange(0, len(values), each)
    total = np.add.reduceat(weights, edges)
    summed = np.add.reduceat(values * weights[:, None], edges)
    return summed / np.maximum(total, 1e-300)[:, None]


def over_frequency(folded, dm, product=0):
    """Returns the pulsed power over phase and frequency, [channel][bin]; weights [channel]."""
    powers = dedispersed(folded, dm)[:, product]
    counts = np.broadcast_to(folded.counts, folded.powers.shape)[:, product]
    weights = counts.mean(axis=-1)
    mean, _ = combined(flattened(powers, counts), weights[..., None], axis=0)
    return mean, weights.sum(axis=0)


def over_time(folded, dm, product=0):
    """Returns the pulsed power over phase and time, [subintegration][bin]."""
    powers = dedispersed(folded, dm)[:, product]
    counts = np.broadcast_to(folded.counts, folded.powers.shape)[:, product]
    return combined(flattened(powers, counts), counts.mean(axis=-1)[..., None], axis=1)[0]


def _image(axis, values, low, high, ylabel):
    """[row][bin] over two revolutions, in colours from the quietest to the brightest."""
    finite = values[np.isfinite(values)]
    limits = np.percentile(finite, (5, 99.7)) if len(finite) else (0, 1)
    picture = axis.imshow(
        np.concatenate([values, values], axis=1),
        aspect="auto",
        origin="lower",
        extent=(0, 2, low, high),
        interpolation="nearest",
        cmap="viridis",
        vmin=limits[0],
        vmax=max(limits[1], limits[0] + 1e-12),
    )
    axis.set_ylabel(ylabel)
    axis.ticklabel_format(axis="y", useOffset=False)
    return picture


def draw_profile(axis, values, colour=COLOURS[0], label=None):
    """A profile over two revolutions, as steps of its bins, in per cent of the mean power."""
    edges = np.arange(2 * len(values) + 1) / len(values)
    axis.stairs(
        100 * np.concatenate([values, values]), edges, color=colour, label=label, baseline=None
    )
    axis.set_xlim(0, 2)
    axis.set_ylabel("power over the mean (%)")
    axis.grid(alpha=0.3)


def profile_figure(filename, dm=None):
    """The picture of a file of folded profiles; dm: with which channels are lined up, None: that
    of the file. Raises PlotError, OSError."""
    try:
        folded = read_profiles(filename)
    except ValueError as error:
        raise PlotError(str(error)) from None
    dm = folded.dm if dm is None else dm
    values = profile(folded, dm)
    figure = plt.figure(figsize=(12, 9), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.6))
    top = figure.add_subplot(grid[0, :])
    draw_profile(top, values)
    top.set_title(
        f"Sum of {len(folded.channels)} channels and {len(folded.times)} "
        f"sub-integrations, S/N {signal_to_noise(values):.1f} in a bin",
        loc="left",
        fontsize=10,
    )
    width = np.ptp(folded.channels) / max(1, len(folded.channels) - 1)
    bottom = (folded.channels[0] - width / 2) / 1e6, (folded.channels[-1] + width / 2) / 1e6
    left = figure.add_subplot(grid[1, 0], sharex=top)
    shown, weights = over_frequency(folded, dm)
    picture = _image(
        left, 100 * _averaged_rows(shown, weights, MAX_ROWS), *bottom, "frequency (MHz)"
    )
    figure.colorbar(picture, ax=left, label="power over the mean (%)")
    right = figure.add_subplot(grid[1, 1], sharex=top)
    seconds = float(np.sum(folded.lengths))
    unit, size = ("min", 60.0) if seconds >= 120 else ("s", 1.0)
    picture = _image(right, 100 * over_time(folded, dm), 0, seconds / size, f"time ({unit})")
    figure.colorbar(picture, ax=right, label="power over the mean (%)")
    for axis in (top, left, right):
        axis.set_xlabel("phase (revolutions)")
    sweep = abs(float(delay(dm, folded.channels[0], folded.channels[-1])))
    name = folded.beam if folded.source in folded.beam else f"{folded.source} {folded.beam}".strip()
    begin = utc_text(begin_of(folded), between=" ")
    figure.suptitle(
        f"{name}: period {folded.period:.9g} s, {len(values)} bins, "
        f"{np.mean(folded.channels) / 1e6:.6g} MHz, {seconds / size:.4g} {unit} from "
        f"{begin} UTC\nlined up with DM {dm:g} pc/cm³ ({sweep * 1e3:.4g} ms over "
        "the band), phase at infinite frequency".replace("$", r"\$"),
        x=0.05,
        ha="left",
        fontsize=11,
    )
    return figure
