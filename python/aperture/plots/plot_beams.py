#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Plots of filterbank files and of beams by aperture_plot: waterfalls, light curves, patterns."""

import os
import warnings

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

from ..arrays import geometry
from ..arrays.array_description import load_array
from ..beams.beams import coherent, load_beams, offset
from ..beams.weights import array_factor, beam_weights, live_beams
from ..formats.filterbank.reader import FilterbankError, FilterbankFile
from ..parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD, utc_text
from .style import COLOURS, PlotError, decibels

AMPLITUDE_MAP = "viridis"
SIGNED_MAP = "RdBu_r"
MAX_TIMES = 800
MAX_LINES = 8
FLOOR = -40.0  # dB: lowest level of a pattern
#: a file does not say whether they are Stokes parameters or products of the polarisations
PRODUCT_NAMES = {1: ("power",), 4: ("I or XX", "Q or YY", "U or Re XY*", "V or Im XY*")}


def time_unit(seconds):
    """A unit of time and its size in seconds for values up to `seconds`."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if abs(seconds) >= 2 * size:
            return unit, size
    return "µs", 1e-6


def utc(mjd):
    """Modified Julian date to text, to a second."""
    return utc_text((mjd - UNIX_EPOCH_MJD) * SECONDS_PER_DAY, between=" ") + " UTC"


# --- filterbank files ----------------------------------------------------------------------------


def read_beams(filenames):
    """
    Powers of all beams in files of one observation.

    Returns
    -------
    names : list of str
        [beam]
    powers : float [beam][time][product][channel]
        Neighbours in time averaged to what a picture can show.
    seconds : float [time]
        Middles, from the start.
    files : list of FilterbankFile
    """
    try:
        files = [FilterbankFile(name) for name in filenames]
    except FilterbankError as error:
        raise PlotError(str(error)) from None
    first = files[0]
    for file in files:
        if file.samples == 0:
            raise PlotError(f"{file.filename}: no samples in it")
        if (file.ifs, file.header.get("nbeams"), file.interval) != (
            first.ifs,
            first.header.get("nbeams"),
            first.interval,
        ) or not np.array_equal(file.frequencies, first.frequencies):
            raise PlotError(
                f"{file.filename}: other channels, IFs, beams or intervals than those "
                f"of {first.filename}"
            )
        later = (file.start - first.start) * SECONDS_PER_DAY
        if abs(later) > first.interval:
            raise PlotError(
                f"{file.filename}: begins {later:.6g} s later than {first.filename}: "
                "beams of one observation are drawn together"
            )
    names, powers = [], []
    length = min(file.samples for file in files)
    # filterbank_sink calls that beam 0 which is all of them, each with so many IFs; of other
    # programs' beams, one is 0
    inside = first.header.get("nbeams", 1)
    if inside < 1 or first.ifs % inside or any(file.header.get("ibeam", 1) for file in files):
        inside = 1
    products = first.ifs // inside
    for file in files:
        mean, each = file.averaged(MAX_TIMES, count=length)
        for beam in range(inside):
            name = f"beam {beam}" if inside > 1 else file.header.get("source_name", file.filename)
            names.append(
                f"{os.path.basename(file.filename)}: {name}"
                if inside > 1 and len(files) > 1
                else name
            )
            powers.append(mean[:, beam * products : (beam + 1) * products])
    seconds = (np.arange(len(powers[0])) + 0.5) * each * first.interval
    return names, np.array(powers), seconds, files


def without_nan(function, values, **arguments):
    """numpy.nanmean or such; where all are NaN, so is the result, which is no warning here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(values, **arguments)


def relative(powers):
    """Powers [...][time][channel] over their median in time, channel by channel; NaN where that
    is not positive."""
    median = without_nan(np.nanmedian, powers, axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(median > 0, powers / median, np.nan)


def _limits(values, low=1, high=99.5):
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    bottom, top = np.percentile(finite, [low, high])
    return (bottom, top) if top > bottom else (bottom - 0.5, top + 0.5)


def draw_waterfall(axis, powers, seconds, frequencies, signed=False):
    """Time against frequency: of a power over the median of each channel, of what may be negative
    (signed) as it is. powers: [time][channel]; seconds: of the middles; frequencies: Hz."""
    unit, size = time_unit(seconds[-1])
    shown = powers if signed else relative(powers)
    low, high = _limits(shown)
    if signed:
        high = max(abs(low), abs(high))
        low = -high
    step = seconds[1] - seconds[0] if len(seconds) > 1 else 2 * seconds[0]
    width = frequencies[1] - frequencies[0] if len(frequencies) > 1 else 1.0
    extent = (
        (seconds[0] - step / 2) / size,
        (seconds[-1] + step / 2) / size,
        (frequencies[0] - width / 2) / 1e6,
        (frequencies[-1] + width / 2) / 1e6,
    )
    picture = axis.imshow(
        shown.T,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=extent,
        vmin=low,
        vmax=high,
        cmap=SIGNED_MAP if signed else AMPLITUDE_MAP,
    )
    axis.set_xlabel(f"time ({unit})")
    axis.set_ylabel("frequency (MHz)")
    axis.ticklabel_format(axis="y", useOffset=False)
    return picture


def draw_light_curves(axis, curves, seconds, names, ylabel="power / median"):
    """Draws powers over time. curves: [beam][time]."""
    unit, size = time_unit(seconds[-1])
    for number, (name, curve) in enumerate(zip(names, curves)):
        axis.plot(
            seconds / size,
            curve,
            lw=1,
            color=COLOURS[number % len(COLOURS)],
            ls="-" if number < len(COLOURS) else "--",
            label=name,
            marker="." if len(curve) == 1 else "",
        )  # a line of one point is not seen
    axis.set_xlim(0, (seconds[-1] + seconds[0]) / size)
    axis.set_xlabel(f"time ({unit})")
    axis.set_ylabel(ylabel)
    axis.grid(alpha=0.3)
    if len(curves) > 1:
        # above the curves, in the width
        columns = max(1, min(8, 100 // (6 + max(map(len, names)))))
        axis.legend(
            fontsize=8, ncol=columns, loc="lower right", bbox_to_anchor=(1, 1), frameon=False
        )


def one_beam_figure(name, powers, seconds, file):
    """Waterfall of each product, with light curve and bandpass. powers: [time][product][channel]"""
    products = powers.shape[1]
    labels = PRODUCT_NAMES.get(products, tuple(f"IF {i}" for i in range(products)))[:4]
    figure = plt.figure(figsize=(12, 3.2 + 2.8 * len(labels)))
    grid = figure.add_gridspec(
        len(labels) + 1,
        3,
        width_ratios=(6, 1.2, 0.12),
        hspace=0.35,
        wspace=0.12,
        height_ratios=[1] + [1.4] * len(labels),
        left=0.08,
        right=0.93,
        top=0.92,
        bottom=0.07,
    )
    top = figure.add_subplot(grid[0, 0])
    curve = without_nan(np.nanmean, relative(powers[:, 0]), axis=-1)
    draw_light_curves(top, [curve], seconds, [name])
    top.set_title("Mean of all channels", loc="left", fontsize=10)
    frequencies = file.frequencies
    for number, label in enumerate(labels):
        axis = figure.add_subplot(grid[number + 1, 0])
        shown, more = powers[:, number], "" if number else " / median of each channel"
        if number and file.header["nbits"] == 8:
            # the file does not say where zero was
            shown = shown - without_nan(np.nanmedian, shown, axis=0)
            more = " - median of each channel (steps)"
        picture = draw_waterfall(axis, shown, seconds, frequencies, number > 0)
        axis.set_title(label + more, loc="left", fontsize=10)
        side = figure.add_subplot(grid[number + 1, 1])
        mean = without_nan(np.nanmean, powers[:, number], axis=0)  # the powers as in the file
        side.plot(mean if number else decibels(mean), frequencies / 1e6, lw=1, color=COLOURS[0])
        side.set_ylim(axis.get_ylim())
        side.tick_params(labelleft=False)
        side.set_xlabel("mean" if number else "mean (dB)", fontsize=8)
        # few and small, for they stand beside those of the waterfall and of the colours
        side.tick_params(axis="x", labelsize=8)
        side.xaxis.set_major_locator(MaxNLocator(2))
        side.ticklabel_format(axis="x", scilimits=(-2, 3), useMathText=True)
        side.xaxis.get_offset_text().set_size(8)
        side.grid(alpha=0.3)
        figure.colorbar(picture, cax=figure.add_subplot(grid[number + 1, 2]))
    figure.suptitle(f"{name}: {_about(file, 1)}", x=0.08, ha="left", fontsize=11)
    return figure


def _about(file, beams):
    width = file.width / 1e6 * len(file.frequencies)
    unit, size = time_unit(file.samples * file.interval)
    return (
        f"{np.mean(file.frequencies) / 1e6:.6g} MHz, {width:.4g} MHz in "
        f"{len(file.frequencies)} channels, {file.samples * file.interval / size:.4g} {unit} "
        f"from {utc(file.start)}" + (f", {beams} beams" if beams > 1 else "")
    )


def many_beams_figure(names, powers, seconds, file):
    """Light curves of all beams. powers: [beam][time][product][channel]; the first product."""
    curves = without_nan(np.nanmean, powers[:, :, 0], axis=-1)
    # the same scale for all, so that a source is seen to go from beam to beam
    curves = curves / without_nan(np.nanmedian, curves)
    figure, axes = plt.subplots(2, 1, figsize=(12, 8), layout="constrained")
    shown = range(len(names))
    if len(names) > MAX_LINES:
        shown = np.sort(np.argsort(-without_nan(np.nanmax, curves, axis=1))[:MAX_LINES])
    draw_light_curves(axes[0], curves[list(shown)], seconds, [names[i] for i in shown])
    if len(names) > MAX_LINES:
        axes[0].set_title(f"The {MAX_LINES} of {len(names)} that saw most", loc="left", fontsize=10)
    unit, size = time_unit(seconds[-1])
    low, high = _limits(decibels(curves), 0, 100)
    picture = axes[1].imshow(
        decibels(curves),
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=AMPLITUDE_MAP,
        vmin=low,
        vmax=high,
        extent=(0, (seconds[-1] + seconds[0]) / size, -0.5, len(names) - 0.5),
    )
    axes[1].set_xlabel(f"time ({unit})")
    axes[1].set_ylabel("beam")
    if len(names) <= 24:
        axes[1].set_yticks(range(len(names)), names, fontsize=8)
    figure.colorbar(picture, ax=axes, label="power (dB over the median of all)", pad=0.02)
    figure.suptitle(_about(file, len(names)), x=0.05, ha="left", fontsize=11)
    return figure


def filterbank_figure(filenames):
    """The picture of filterbank files."""
    names, powers, seconds, files = read_beams(filenames)
    if len(names) == 1:
        return one_beam_figure(names[0], powers[0], seconds, files[0])
    return many_beams_figure(names, powers, seconds, files[0])


# --- patterns ------------------------------------------------------------------------------------


def pattern(array, beam, east, north, frequency, taper="none"):
    """
    Power of a beam over its maximum, where sources are off its direction.

    Parameters
    ----------
    array : ArrayDescription
    beam : Beam
        A beam with azimuth and elevation.
    east, north : array of float
        Offsets in degrees along great circles, towards larger azimuth and elevation.
    frequency : float
        Hz.

    Returns
    -------
    float of the shape of east; NaN below the horizon.
    """
    weights = beam_weights(array, [beam], [frequency], taper=taper)[:, :1]
    azimuth, elevation = offset(beam.azimuth, beam.elevation, east, north)
    factor = array_factor(array, weights, geometry.direction(azimuth, elevation), [frequency])[0, 0]
    middle = array_factor(
        array, weights, geometry.direction([beam.azimuth], [beam.elevation]), [frequency]
    )[0, 0]
    power = np.abs(factor / middle) ** 2
    return np.where(elevation >= 0, power, np.nan).reshape(np.shape(east))


def draw_pattern(axis, levels, extent, floor=FLOOR):
    """A map of levels [north][east] in dB, with contours 3 and 10 dB below the maximum."""
    picture = axis.imshow(
        np.maximum(levels, floor),
        origin="lower",
        extent=extent,
        vmin=floor,
        vmax=0,
        cmap=AMPLITUDE_MAP,
        interpolation="bilinear",
    )
    styles = {
        level: style
        for level, style in ((-10, "--"), (-3, "-"))
        if np.nanmin(levels) < level < np.nanmax(levels)
    }
    if styles:
        axis.contour(
            levels,
            levels=list(styles),
            origin="lower",
            extent=extent,
            colors="white",
            linewidths=0.8,
            linestyles=list(styles.values()),
        )
    axis.set_xlabel("offset in azimuth (° on the sky)")
    axis.set_ylabel("offset in elevation (°)")
    return picture


def _field(array, beam):
    """Degrees on the sky that show the main beam and some side lobes in both directions."""
    positions = array.input_positions()
    size = max(np.ptp(positions, axis=0)[:2].max(), 1.0)
    wave = geometry.SPEED_OF_LIGHT / array.center_frequency
    return float(np.clip(16 * np.degrees(wave / size), 0.01, 120))


def draw_half_power(axis, array, beam, looks, line, frequency, taper):
    """
    The contour at half the power of one beam, and of none of its grating lobes.

    looks: unit vectors [north][east][3] that the picture shows; line: degrees along both its axes.
    """
    centre = geometry.direction(beam.azimuth, beam.elevation)
    near = looks @ centre > np.cos(np.radians(np.ptp(line) / 7))
    if not near.any():
        return  # outside of the picture
    # the rows and columns of the picture in which it is
    rows, columns = (
        slice(found[0], found[-1] + 1)
        for found in (np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0)))
    )
    near = near[rows, columns]
    looks = np.concatenate([looks[rows, columns].reshape(-1, 3), [centre]])
    weights = beam_weights(array, [beam], [frequency], taper=taper)[:, :1]
    power = np.abs(array_factor(array, weights, looks, [frequency])[0, 0]) ** 2
    levels = np.where(near, decibels(power[:-1] / power[-1]).reshape(near.shape), np.nan)
    if min(levels.shape) > 1 and np.nanmin(levels) < -3 < np.nanmax(levels):
        axis.contour(
            line[columns],
            line[rows],
            levels,
            levels=[-3],
            colors=COLOURS[4],
            linewidths=0.8,
            linestyles="solid",
        )


def pattern_figure(array_name, beams_text, field=None, taper="none"):
    """Map of the first beam's pattern, half-power contours of all beams, and cuts."""
    array = load_array(array_name)
    beams = load_beams(beams_text, array)
    beams = coherent(beams)
    if not beams:
        raise PlotError(f"--beams {beams_text}: incoherent beams have no pattern")
    if any(beam.moving for beam in beams):
        raise PlotError(
            f"--beams {beams_text}: patterns are drawn of beams with azimuth and elevation"
        )
    if array.center_frequency == 0:
        raise PlotError(f"{array_name}: center_frequency is 0: patterns are those of a frequency")
    main = beams[0]
    for beam, live in zip(beams, live_beams(array, beams)[:, 0]):
        if not live:
            raise PlotError(
                f"--beams {beams_text}: all inputs of beam {beam.name!r} have a gain of 0"
            )
    field = _field(array, main) if field is None else field
    line = np.linspace(-field / 2, field / 2, 301)
    east, north = np.meshgrid(line, line)
    frequency = array.center_frequency
    extent = (line[0], line[-1]) * 2
    figure, axes = plt.subplots(
        1, 2, figsize=(14, 6.2), width_ratios=(1.15, 1), layout="constrained"
    )
    picture = draw_pattern(
        axes[0], decibels(pattern(array, main, east, north, frequency, taper)), extent
    )
    axes[0].autoscale(False)  # scaling takes long with many contours
    looks = geometry.direction(*offset(main.azimuth, main.elevation, east, north))
    for beam in beams[1:]:
        draw_half_power(axes[0], array, beam, looks.reshape(*east.shape, 3), line, frequency, taper)
    figure.colorbar(picture, ax=axes[0], label="power (dB)", shrink=0.9)
    axes[0].set_title(
        f"{main.name} at azimuth {main.azimuth:.5g}°, elevation "
        f"{main.elevation:.5g}°, {frequency / 1e6:.5g} MHz",
        loc="left",
        fontsize=10,
    )
    edges = (frequency - array.sample_rate / 2, frequency + array.sample_rate / 2)
    for number, (label, e, n) in enumerate(
        (("azimuth", line, 0 * line), ("elevation", 0 * line, line))
    ):
        axes[1].plot(
            line,
            decibels(pattern(array, main, e, n, frequency, taper)),
            color=COLOURS[number],
            lw=1.2,
            label=f"in {label}",
        )
        for edge, style in zip(edges, (":", "--")):
            axes[1].plot(
                line,
                decibels(pattern(array, main, e, n, edge, taper)),
                ls=style,
                lw=0.8,
                color=COLOURS[number],
                label=f"in {label}, {edge / 1e6:.5g} MHz",
            )
    axes[1].set_ylim(FLOOR, 1)
    axes[1].set_xlim(line[0], line[-1])
    axes[1].set_xlabel("offset (° on the sky)")
    axes[1].set_ylabel("power (dB)")
    axes[1].set_title(
        "Cuts through the maximum, at the centre and the edges of the band", loc="left", fontsize=10
    )
    axes[1].grid(alpha=0.3)
    axes[1].legend(fontsize=8, ncol=2, loc="lower center", framealpha=1)
    figure.suptitle(
        f"{array.name}: {len(array.inputs)} inputs, {len(beams)} beam{'s'[: len(beams) > 1]}",
        x=0.06,
        ha="left",
        fontsize=12,
    )
    return figure
