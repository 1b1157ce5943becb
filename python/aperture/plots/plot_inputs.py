#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures and a table of the statistics of the inputs that a UVH5 file of ours has."""

import numpy as np
from matplotlib import pyplot as plt

from .style import COLOURS
from .time_axis import dates_of, time_axis

MOST_LINES = 14
#: heads of the table's columns
HEAD = ("input", "rms re, im", "kurtosis", "lowest, highest", "clamped", "missing")


def percent(fraction):
    """A fraction as text; what is more than nothing is never 0."""
    return "0" if fraction == 0 else f"{100 * fraction:.3g} %"


def statistics_rows(found):
    """Rows of the table, texts; found: as VisibilityFile.statistics() gives it."""
    weights = found["spectra"][:, np.newaxis] * (1 - found["missing"])
    total = np.maximum(weights.sum(axis=0), 1e-30)

    def mean(values):
        return np.nansum(np.nan_to_num(values) * weights, axis=0) / total

    re, im = (np.sqrt(mean(found[name] ** 2)) for name in ("rms_re", "rms_im"))
    kurtosis, clamped = mean(found["kurtosis"]), mean(found["clamped"])
    missing = (found["missing"] * found["spectra"][:, np.newaxis]).sum(axis=0) / found[
        "spectra"
    ].sum()
    rows = []
    for number, name in enumerate(found["inputs"]):
        values = found["kurtosis"][:, number]
        values = values[np.isfinite(values)]
        if not len(values):
            rows.append((name, "-", "-", "-", "-", percent(missing[number])))
            continue
        rows.append(
            (
                name,
                f"{re[number]:.4g}, {im[number]:.4g}",
                f"{kurtosis[number]:.3f}",
                f"{values.min():.3f}, {values.max():.3f}",
                percent(clamped[number]),
                percent(missing[number]),
            )
        )
    return rows


def statistics_figure(found, longitude, zone):
    """Rms and kurtosis of the inputs over time."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    rms = np.sqrt((found["rms_re"] ** 2 + found["rms_im"] ** 2) / 2)
    numbers, names = dates_of(found["times"]), found["inputs"]
    for axis, values, text in (
        (axes[0], rms, "rms of re and im (steps)"),
        (axes[1], found["kurtosis"], "spectral kurtosis (noise: 1)"),
    ):
        if len(names) <= MOST_LINES:
            for number, name in enumerate(names):
                axis.plot(
                    numbers,
                    values[:, number],
                    ".-",
                    lw=0.8,
                    ms=4,
                    color=COLOURS[number % len(COLOURS)],
                    ls="-" if number < len(COLOURS) else "--",
                    label=name,
                )
        else:
            known = np.where(np.isfinite(values).any(axis=1, keepdims=True), values, 0)
            axis.fill_between(
                numbers,
                np.nanmin(known, axis=1),
                np.nanmax(known, axis=1),
                color=COLOURS[5],
                alpha=0.4,
                lw=0,
                label=f"all {len(names)} inputs",
            )
            axis.plot(
                numbers,
                np.nanmedian(known, axis=1),
                ".-",
                lw=1,
                ms=4,
                color=COLOURS[0],
                label="median",
            )
        axis.set_ylabel(text, fontsize=8)
        axis.grid(alpha=0.3)
        time_axis(axis, found["times"], longitude, zone)
    axes[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8)
    return figure
