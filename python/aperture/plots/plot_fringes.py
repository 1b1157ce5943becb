#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures of fringes: phases and closure phases over time, delay and rate, u and v."""

import numpy as np
from matplotlib import pyplot as plt

from ..arrays.geometry import SPEED_OF_LIGHT
from ..visibilities.fringes import (
    closure_phase,
    delay_rate_spectrum,
    find_fringe,
    mean_over_channels,
    without_delay,
)
from ..visibilities.lags import without_edge
from .style import COLOURS, decimals, delay_text, delay_unit, minus_signs, rounded
from .time_axis import DAY, SMALL, dates_of, time_axis


def fringe_text(fringe, several):
    """Returns what a Fringe is, in words; several: integrations, without which there is no rate."""
    if not fringe.clear:
        return "no clear fringe"
    text = "delay " + delay_text(fringe.delay, fringe.delay_error, fringe.period, with_error=True)
    if several:
        digits = decimals(fringe.rate_error * 1e3)
        text += (
            f", rate {rounded(fringe.rate * 1e3, digits)} ± "
            f"{rounded(fringe.rate_error * 1e3, digits)} mHz"
        )
    return minus_signs(text)


def coverage_figure(file):
    """u and v of all rows, at the lowest and the highest frequency; None without positions."""
    header = file.header(["uvw_array"])
    if "uvw_array" not in header:
        return None
    uvw = np.asarray(header["uvw_array"], float).reshape(-1, 3)
    crosses = file.first != file.second
    figure, axis = plt.subplots(figsize=(6, 5.6), layout="constrained")
    for frequency, colour in (
        (file.frequencies[-1], COLOURS[1]),
        (file.frequencies[0], COLOURS[0]),
    ):
        u, v = uvw[crosses, :2].T * frequency / SPEED_OF_LIGHT
        axis.plot(
            np.concatenate([u, -u]),
            np.concatenate([v, -v]),
            ".",
            ms=3,
            color=colour,
            label=f"{frequency / 1e6:.6g} MHz",
        )
    axis.set_xlabel("u (wavelengths, east)")
    axis.set_ylabel("v (wavelengths, north)")
    axis.set_aspect("equal", "datalim")
    axis.invert_xaxis()
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def baseline_figure(panels, index, times, longitude, zone):
    """
    One baseline: amplitude and phase over time and frequency, its phase over time, its delay and
    rate. panels: as aperture_plot has them; times: Julian dates [time]; longitude, zone: as
    time_axis has them.

    Returns
    -------
    figure, Fringe
    """
    values = panels.values[index]
    size = {"GHz": 1e9, "MHz": 1e6, "kHz": 1e3}[panels.unit]
    width = (
        (panels.frequencies[1] - panels.frequencies[0]) * size
        if len(panels.frequencies) > 1
        else 1.0
    )
    inside = without_edge(values)
    fringe = find_fringe(inside, width, panels.step)
    figure, axes = plt.subplots(2, 2, figsize=(11, 6.4), layout="constrained")
    numbers, half = dates_of(times), panels.step / 2 / DAY
    extent = (numbers[0] - half, numbers[-1] + half, panels.frequencies[0], panels.frequencies[-1])
    finite = np.abs(values[np.isfinite(values)])
    common = dict(aspect="auto", origin="lower", interpolation="nearest", extent=extent)
    for axis, shown, limits, colours, text in (
        (
            axes[0, 0],
            np.abs(values),
            (0, np.percentile(finite, 99.5) if len(finite) else 1),
            "viridis",
            "correlation" if panels.is_coherence else "amplitude",
        ),
        (
            axes[0, 1],
            np.angle(np.where(np.isfinite(values), values, 1), deg=True),
            (-180, 180),
            "twilight",
            "phase (°)",
        ),
    ):
        shown = np.where(np.isfinite(values), shown, np.nan)
        picture = axis.imshow(shown.T, vmin=limits[0], vmax=limits[1], cmap=colours, **common)
        axis.set_facecolor("0.6")
        axis.set_ylabel(f"frequency ({panels.unit})", fontsize=8)
        axis.ticklabel_format(axis="y", useOffset=False)
        time_axis(axis, times, longitude, zone)
        _bar(figure, picture, axis, text)
    lined_up = without_delay(inside, panels.frequencies * size, fringe.delay)
    phase = np.angle(mean_over_channels(lined_up))
    known = np.isfinite(phase)
    phase[known] = np.unwrap(phase[known])
    axes[1, 0].plot(numbers, np.degrees(phase), ".-", lw=1, ms=3, color=COLOURS[0])
    axes[1, 0].set_ylabel("phase at the band's centre (°, unwrapped)", fontsize=8)
    axes[1, 0].grid(alpha=0.3)
    time_axis(axes[1, 0], times, longitude, zone)
    _draw_fringe(figure, axes[1, 1], inside, width, panels.step, fringe)
    return figure, fringe


def _bar(figure, picture, axis, text):
    bar = figure.colorbar(picture, ax=axis)
    bar.set_label(text, fontsize=8)
    bar.ax.tick_params(labelsize=SMALL)


def _draw_fringe(figure, axis, values, width, step, fringe):
    """Delay and rate spectrum around its peak, with the peak marked and named."""
    delays, rates, spectrum = delay_rate_spectrum(values, width, step)
    power = np.abs(spectrum)
    near = np.abs(delays - fringe.delay) <= max(12 / (width * values.shape[1]), delays.max() / 50)
    around = np.abs(rates - fringe.rate) <= 12 / (step * values.shape[0])
    size, unit = delay_unit(delays[near])
    if len(rates) == 1:
        axis.plot(delays[near] / size, power[0, near], color=COLOURS[0])
        axis.set_ylabel("amplitude", fontsize=8)
        axis.axvline(fringe.delay / size, ls=":", color=COLOURS[1])
    else:
        picture = axis.imshow(
            power[np.ix_(around, near)],
            aspect="auto",
            origin="lower",
            cmap="viridis",
            extent=(*delays[near][[0, -1]] / size, *rates[around][[0, -1]] * 1e3),
        )
        axis.plot(fringe.delay / size, fringe.rate * 1e3, "o", ms=12, mfc="none", mec="white")
        axis.set_ylabel("fringe rate (mHz)", fontsize=8)
        _bar(figure, picture, axis, "amplitude")
    axis.set_xlabel(f"delay ({unit})", fontsize=8)
    axis.set_title(fringe_text(fringe, len(rates) > 1), fontsize=9)
    axis.tick_params(labelsize=7)


def closure_figure(file, read, found, times, longitude, zone):
    """Closure phases of triangles over time; read: a pair of antennas to [time][channel]."""
    figure, axis = plt.subplots(figsize=(11, 3.6), layout="constrained")
    largest = 0.0
    for number, (a, b, c) in enumerate(found):
        phase = closure_phase(read(a, b), read(b, c), read(a, c))
        largest = max(largest, np.nanmax(np.abs(phase), initial=0))
        axis.plot(
            dates_of(times),
            phase,
            ".-",
            lw=0.8,
            ms=4,
            color=COLOURS[number % len(COLOURS)],
            label="–".join(file.names[antenna] for antenna in (a, b, c)),
        )
    if largest > 90:
        axis.set_ylim(-185, 185)
        axis.set_yticks(range(-180, 181, 90))
    else:
        # the noise about 0 is seen, with room for the legend
        axis.set_ylim(-1.2 * max(largest, 0.5), 1.9 * max(largest, 0.5))
    axis.set_ylabel("closure phase (°)")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, ncol=6, loc="upper center")
    time_axis(axis, times, longitude, zone)
    return figure
