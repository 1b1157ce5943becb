#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The picture of a calibration: visibilities before and after it, baseline by baseline."""

import matplotlib.pyplot as plt
import numpy as np

from ..visibilities.lags import spread

MOST_BASELINES = 12  # more would be too small to read
BEFORE, AFTER = "#D55E00", "#0072B2"  # Okabe and Ito's, told apart by colour-blind readers
FLAGGED = "0.85"
HEIGHT = 3.0  # inches, of a baseline


def calibration_figure(file, products, before, after, flagged, title):
    """
    Phase and magnitude against channel before and after a calibration, as a matplotlib figure.

    file: the VisibilityFile; products: list of Product, of which at most MOST_BASELINES, evenly
    spread in length, are drawn; before, after: complex [product][channel], over the model, so that
    after it 1 is what should be there; flagged: bool [product][channel], channels that could not
    be measured.
    """
    shown = spread(products, MOST_BASELINES, file)
    columns = 1 if len(shown) <= 4 else 2
    rows = -(-len(shown) // columns)
    figure = plt.figure(figsize=(6.2 * columns + 0.8, HEIGHT * rows + 1.4))
    grid = figure.add_gridspec(rows, columns, hspace=0.18, wspace=0.2)
    channels = np.arange(before.shape[-1])
    for index, product in enumerate(shown):
        row, column = divmod(index, columns)
        number = products.index(product)
        phase, size = (
            figure.add_subplot(part) for part in grid[row, column].subgridspec(2, 1, hspace=0.08)
        )
        last = index + columns >= len(shown)
        out = flagged[number]
        for values, colour, name in ((before, BEFORE, "before"), (after, AFTER, "after")):
            line = np.where(out, np.nan, values[number])
            phase.plot(channels, np.angle(line, deg=True), ".", ms=3, color=colour, label=name)
            # before, the magnitude has units of its own
            level = np.nanmedian(np.abs(line)) if name == "before" else 1.0
            size.plot(channels, np.abs(line) / (level or 1.0), lw=1, color=colour)
        for axis in (phase, size):
            _shade(axis, out)
            axis.grid(alpha=0.3)
            axis.margins(x=0.01)
        length = file.length(product)
        left = np.where(out, np.nan, after[number])
        rms = np.sqrt(np.nanmean(np.angle(left, deg=True) ** 2)) if np.any(~out) else np.nan
        phase.set_title(
            file.label(product)
            + (f", {length:.4g} m" if length else "")
            + f": {rms:.2g}° rms after",
            fontsize=9,
            loc="left",
            pad=3,
        )
        phase.tick_params(labelbottom=False)
        size.tick_params(labelbottom=last)
        if last:
            size.set_xlabel("channel", fontsize=9)
        phase.set_ylim(-190, 190)
        phase.set_yticks(range(-180, 181, 90))
        size.set_ylim(0, 2)
        if column == 0:
            phase.set_ylabel("phase (°)", fontsize=9)
            size.set_ylabel("magnitude", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncol=2, fontsize=10, markerscale=3)
    more = "" if len(shown) == len(products) else f" ({len(shown)} of {len(products)} baselines)"
    height = figure.get_figheight()
    figure.subplots_adjust(top=1 - 0.85 / height, bottom=0.5 / height)
    figure.text(
        0.06,
        1 - 0.12 / height,
        file.telescope.replace("$", r"\$") + more,
        va="top",
        fontsize=13,
        fontweight="bold",
    )
    figure.text(0.06, 1 - 0.40 / height, title.replace("$", r"\$"), va="top", fontsize=9)
    return figure


def _shade(axis, flagged):
    """Marks channels that could not be measured."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flagged.astype(int), [0]])))
    for first, end in edges.reshape(-1, 2):
        axis.axvspan(first - 0.5, end - 0.5, color=FLAGGED, lw=0)
