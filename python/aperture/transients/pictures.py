#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures of candidates: the dedispersed waterfall, dispersion measure over time."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..parameters.times import utc_text
from .dispersion import delay

BINS = 256  # bins of time in a picture
BINS_IN_WIDTH = 6  # bins in the candidate's width
TRIALS = 64  # rows of dispersion measures
MOST_CHANNELS = 256  # the most that are drawn


class Cutout:
    """
    The powers that a picture needs: of `count` samples from `first` seconds after the time at which
    the pulse's middle passes the highest channel. `bin` samples become one of the picture.
    """

    def __init__(self, candidate, frequencies, sample_time):
        self.frequencies, self.sample_time = frequencies, sample_time
        self.bin = max(1, round(candidate.width / BINS_IN_WIDTH / sample_time))
        step = self.bin * sample_time
        # a pulse is smeared over a quarter of the picture where its trial is at the edge
        over_band = delay(1.0, frequencies[0], frequencies[-1])
        spread = BINS / 4 * step / over_band if over_band > 0 else max(candidate.dm, 1.0)
        self.dms = np.linspace(max(0.0, candidate.dm - spread), candidate.dm + spread, TRIALS)
        self.first = -BINS / 2 * step
        longest = delay(self.dms[-1], frequencies[0], frequencies[-1])
        self.count = BINS * self.bin + int(np.ceil(longest / step) + 1) * self.bin


def dedispersed(bins, dm, frequencies, step):
    """Bins [time][channel], each channel moved by its delay after the highest one: the first BINS
    times. What is not there is NaN."""
    moved = np.full((BINS, bins.shape[1]), np.nan)
    shifts = np.rint(delay(dm, frequencies, frequencies[-1]) / step).astype(int)
    for channel, shift in enumerate(shifts):
        there = bins[shift : shift + BINS, channel]
        moved[: len(there), channel] = there
    return moved


def planes(powers, candidate, cutout):
    """
    Returns what a picture shows.

    Parameters
    ----------
    powers : array [time][channel]
        cutout.count samples, or fewer where the end is not there; NaN: nothing is there.

    Returns
    -------
    (array [BINS][channel], array [TRIALS][BINS])
        The waterfall at the candidate's dispersion measure, each channel less its median and in
        units of its rms; and the S/N over dispersion measure and time. NaN: nothing is there.
    """
    step = cutout.bin * cutout.sample_time
    count = len(powers) // cutout.bin
    bins = powers[: count * cutout.bin].reshape(count, cutout.bin, -1).mean(axis=1, dtype=float)
    level = np.nanmedian(bins, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(bins - level), axis=0)
    bins = (bins - level) / np.where(spread > 0, spread, np.inf)
    waterfall = dedispersed(bins, candidate.dm, cutout.frequencies, step)
    plane = np.empty((TRIALS, BINS))
    for trial, dm in enumerate(cutout.dms):
        moved = dedispersed(bins, dm, cutout.frequencies, step)
        there = np.isfinite(moved).sum(axis=1)
        plane[trial] = np.nansum(moved, axis=1) / np.sqrt(np.maximum(there, 1))
    # a bin is as wide as the pulse
    width = max(1, round(candidate.width / step))
    kernel = np.ones(width) / np.sqrt(width)
    plane = np.stack([np.convolve(row, kernel, "same") for row in plane])
    return waterfall, plane


def draw(path, powers, candidate, cutout):
    """Draws powers [time][channel], as `planes`, into a file of the ending's format."""
    waterfall, plane = planes(powers, candidate, cutout)
    step = cutout.bin * cutout.sample_time
    scale, unit = (1e3, "ms") if BINS * step < 1 else (1.0, "s")
    times = (cutout.first + (np.arange(BINS) + 0.5) * step) * scale
    ends = [times[0] - step * scale / 2, times[-1] + step * scale / 2]
    mega = cutout.frequencies * 1e-6

    figure = Figure(figsize=(7, 8), layout="constrained")
    FigureCanvasAgg(figure)
    top, middle, bottom = figure.subplots(
        3, 1, sharex=True, gridspec_kw={"height_ratios": [1, 2, 2]}
    )
    there = np.isfinite(waterfall).sum(axis=1)
    top.plot(times, np.nansum(waterfall, axis=1) / np.sqrt(np.maximum(there, 1)), lw=0.8)
    top.set_ylabel("S/N of a bin")
    top.grid(alpha=0.3)
    together = max(1, -(-waterfall.shape[1] // MOST_CHANNELS))
    drawn = waterfall[:, : waterfall.shape[1] // together * together]
    drawn = drawn.reshape(BINS, -1, together).mean(axis=2)
    middle.imshow(
        drawn.T,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        extent=[*ends, mega[0], mega[-1] if len(mega) > 1 else mega[0] + 1],
        vmin=-1 / np.sqrt(together),
        vmax=4 / np.sqrt(together),
        cmap="viridis",
    )
    middle.set_ylabel("frequency (MHz)")
    bottom.imshow(
        plane,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        extent=[*ends, cutout.dms[0], cutout.dms[-1]],
        cmap="viridis",
    )
    bottom.axhline(candidate.dm, color="w", lw=0.5, alpha=0.6)
    bottom.set_ylabel("DM (pc/cm³)")
    bottom.set_xlabel(f"{unit} at {mega[-1]:.6g} MHz, around the pulse")
    figure.suptitle(
        f"{candidate.id}\n{utc_text(candidate.time, 9)} UTC, DM {candidate.dm:.6g}, "
        f"S/N {candidate.snr:.1f}, {candidate.width * 1e3:.4g} ms, beam "
        f"{candidate.beam}, seen by {candidate.beams}",
        fontsize=9,
    )
    figure.savefig(path, dpi=110)
