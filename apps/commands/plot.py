#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_plot: one picture of a UVH5 file, of filterbank files, of folded profiles, or of the
beams of an array.

plot_beams.py and plot_profiles.py draw the latter ones. For a UVH5 file: on top the bandpass of
each input and, of arrays, a matrix of all pairs of inputs; where some channels were flagged, how
much of them over time; below, for each baseline, amplitude and
phase over frequency (and time, where there are several integrations) and its lags. Amplitudes are
correlation coefficients where the file has the autocorrelations. A file of one antenna shows the
coherence of its two polarisations.
"""

import os
import warnings
from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.ticker import MaxNLocator

from ..arguments.command_parser import CommandParser
from ..arrays.array_description import shipped_arrays
from ..arrays.earth_rotation import sidereal_time, unix_seconds
from ..arrays.geometry import SPEED_OF_LIGHT
from ..files.growing_file import check_path
from ..formats.uvh5.reader import VisibilityFile, check_uvh5
from ..parameters.regular_file import check_regular
from ..parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_JD, utc_text
from ..plots.picture import save_picture
from ..plots.plot_beams import filterbank_figure, pattern_figure
from ..plots.plot_flags import draw_lost, lost_of
from ..plots.plot_profiles import ENDINGS, profile_figure
from ..plots.style import PlotError, decibels, delay_text
from ..plots.time_axis import Zone, clock_text
from ..visibilities.lags import (
    coherence,
    correlation_matrix,
    find_products,
    finer_lags,
    peak_of,
    root_mean_square_lags,
    spread,
    without_edge,
)
from .running import run_command

MAX_PANELS = 28  # the baselines of 8 antennas; more would be too small to read
MAX_MATRIX = 128  # inputs; a pixel each
AMPLITUDE_MAP = "viridis"
PHASE_MAP = "twilight"  # cyclic: -180 and +180 degrees look the same
# Okabe and Ito's colours, told apart by colour-blind readers too, without the yellow
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--")
FLAGGED = "0.6"  # a grey that neither map has
SMALL = 7


@dataclass
class Panels:
    """The data that are drawn for the baselines, all arrays [product][time][channel] or
    [.][delay]."""

    products: list
    values: np.ndarray  # complex; coherences, or visibilities without autocorrelations
    is_coherence: bool
    seconds: np.ndarray  # [time], middles, from the start of the file's first integration
    step: float  # seconds between them
    frequencies: np.ndarray  # [channel], in the unit
    unit: str  # unit of the frequencies
    delays: np.ndarray  # [delay], seconds
    lags: np.ndarray  # [product][delay], root mean square over time
    channel_width: float  # Hz


def frequency_unit(frequencies):
    """A unit and its size in Hz in which the frequencies have few digits."""
    top = np.max(np.abs(frequencies))
    return ("GHz", 1e9) if top >= 1e10 else ("MHz", 1e6) if top >= 1e5 else ("kHz", 1e3)


def time_unit(seconds):
    """A unit of time and its size in seconds for values up to `seconds`."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= 2 * size:
            return unit, size
    return "ns", 1e-9


def edges(centres, step):
    """First and last edge of equally wide cells, for imshow's extent."""
    return centres[0] - step / 2, centres[-1] + step / 2


def lag_range(panels, lengths, bandwidth):
    """Half the width of the lag plots in seconds: what the baselines' lengths allow and a fifth
    more, every clear peak, and beside these the width of a peak, 1/bandwidth. For files without
    positions 6 such widths."""
    width = 1 / bandwidth
    wanted = 1.2 * max(lengths) / SPEED_OF_LIGHT + width if lengths else 6 * width
    for lag in panels.lags:
        if is_clear(lag):
            wanted = max(wanted, 1.2 * abs(panels.delays[np.argmax(lag)]) + width)
    return min(wanted, np.max(np.abs(panels.delays)))


def is_clear(lag):
    """Returns whether a peak stands out of the lag amplitudes [delay] of a baseline."""
    return np.max(lag) > 8 * np.median(lag) > 0


def peak_text(panels, index, peak):
    """Returns a text on the delay of a clear peak, in seconds, with the digits that it may have."""
    lag, width = panels.lags[index], panels.channel_width
    # the ratio of find_fringe(), whose integrations are averaged as powers
    ratio = np.max(lag) / (np.median(lag) / np.sqrt(2 * np.log(2)))
    span = width * panels.values.shape[2] / np.sqrt(12)
    error = 1 / (2 * np.pi * span * ratio * np.sqrt(len(panels.seconds)))
    return f"peak at {delay_text(peak, error, 1 / width)}"


def read_panels(file, products, integrations):
    """Reads the products and the autocorrelations that normalise them."""
    available = set(file.autos())
    needed = sorted(
        {auto for product in products for auto in file.autos_of(product)},
        key=lambda auto: (auto.first, auto.polarization),
    )
    is_coherence = bool(products) and all(auto in available for auto in needed)
    values, times = file.read(products + (needed if is_coherence else []), integrations)
    if is_coherence:
        place = {auto: len(products) + index for index, auto in enumerate(needed)}
        autos = [file.autos_of(product) for product in products]
        values = np.array(
            [
                coherence(values[i], values[place[a]], values[place[b]])
                for i, (a, b) in enumerate(autos)
            ]
        )
    delays, magnitudes = root_mean_square_lags(without_edge(values), file.channel_width)
    unit, size = frequency_unit(file.frequencies)
    seconds = (times - file.start) * SECONDS_PER_DAY
    step = float(np.median(np.diff(seconds))) if len(seconds) > 1 else file.integration_time or 1.0
    return Panels(
        products,
        values,
        is_coherence,
        seconds,
        step,
        file.frequencies / size,
        unit,
        delays,
        magnitudes,
        file.channel_width,
    )


def draw_bandpasses(axis, file, autos, power, unit, size):
    """Autocorrelations in dB, one line each up to eight inputs, else all behind their median."""
    frequencies = file.frequencies / size
    levels = decibels(power)
    if len(autos) <= 8:
        for index, (auto, level) in enumerate(zip(autos, levels)):
            axis.plot(
                frequencies,
                level,
                lw=1,
                color=COLOURS[index % len(COLOURS)],
                ls=LINES[index // len(COLOURS)],
                label=file.label(auto),
            )
    else:
        for index, level in enumerate(levels):
            axis.plot(
                frequencies,
                level,
                lw=0.6,
                color=COLOURS[5],
                alpha=0.5,
                label=None if index else f"{len(autos)} inputs",
            )
        axis.plot(
            frequencies, np.nanmedian(levels, axis=0), lw=1.5, color=COLOURS[6], label="median"
        )
        _name_outliers(axis, file, autos, levels, frequencies)
    # A dead channel (an empty band edge, a DC notch) must not flatten all others.
    finite = levels[np.isfinite(levels)]
    if len(finite):
        low, high = np.percentile(finite, [2, 100])
        margin = max(1.0, 0.1 * (high - low))
        axis.set_ylim(max(finite.min(), low - 3 * margin) - margin, high + margin)
    axis.set_xlim(frequencies[0], frequencies[-1])
    axis.set_xlabel(f"frequency ({unit})")
    # a narrow band shows the digits that are all the same, too: no "+1.42e3" at the end
    axis.ticklabel_format(axis="x", useOffset=False)
    axis.set_ylabel(
        f"power (dB above 1 {file.unit})" if file.unit else "power (dB, not calibrated)"
    )
    axis.set_title("Bandpasses (autocorrelations)", loc="left", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, ncol=4, loc="lower center")


def _name_outliers(axis, file, autos, levels, frequencies):
    """Writes the names of up to five inputs that are more than 3 dB off the median."""
    difference = np.nanmedian(levels - np.nanmedian(levels, axis=0), axis=1)
    for index in np.argsort(-np.abs(np.nan_to_num(difference)))[:5]:
        if abs(difference[index]) > 3:
            axis.annotate(
                file.label(autos[index]),
                (frequencies[-1], levels[index][-1]),
                fontsize=SMALL,
                color=COLOURS[1],
                ha="right",
            )


def draw_matrix(figure, place, file, integration):
    """Correlation coefficients (below the diagonal) and phases (above) of all pairs."""
    parts = place.subgridspec(1, 3, width_ratios=(20, 1, 1), wspace=0.3)
    axis = figure.add_subplot(parts[0], anchor="E")
    matrix, inputs = correlation_matrix(file, integration)
    below = np.tril(np.ones(matrix.shape, bool), -1)
    amplitude = np.where(below, np.abs(matrix), np.nan)
    phase = np.where(below.T, np.angle(matrix, deg=True), np.nan)
    finite = amplitude[np.isfinite(amplitude)]
    top = max(finite.max() if len(finite) else 0, 1e-6)
    shown = axis.imshow(amplitude, cmap=AMPLITUDE_MAP, vmin=0, vmax=top, interpolation="nearest")
    phases = axis.imshow(phase, cmap=PHASE_MAP, vmin=-180, vmax=180, interpolation="nearest")
    names = [file.names[antenna] + p for antenna, p in inputs]
    every = max(1, -(-len(names) // 16))
    for which in (axis.xaxis, axis.yaxis):
        which.set_ticks(range(0, len(names), every), names[::every], fontsize=SMALL)
    axis.tick_params(axis="x", rotation=90)
    axis.set_title(
        "All pairs: correlation (below) and phase (above)\n"
        f"integration {integration} (from 0); highest lag of the whole band",
        loc="left",
        fontsize=9,
    )
    for part, picture, text, ticks in (
        (parts[1], shown, "correlation", None),
        (parts[2], phases, "phase (°)", range(-180, 181, 90)),
    ):
        bar = figure.colorbar(picture, cax=figure.add_subplot(part), ticks=ticks)
        bar.set_label(text, fontsize=8)
        bar.ax.tick_params(labelsize=SMALL)


def draw_lags(axis, panels, index, span, length):
    """Lag amplitudes to +-`span` seconds, with the delays that a baseline of `length` metres
    (None: unknown) allows in grey, and a clear peak named. Returns the unit of the delays."""
    unit, size = time_unit(span)
    delays, lag = finer_lags(panels.delays, panels.lags[index], span)
    if length:
        allowed = length / SPEED_OF_LIGHT / size
        axis.axvspan(-allowed, allowed, color="0.92", lw=0)
    axis.plot(delays / size, lag, lw=0.9, color=COLOURS[0])
    if is_clear(panels.lags[index]):
        peak = peak_of(delays, lag)
        axis.axvline(peak / size, lw=0.7, ls=":", color=COLOURS[1])
        axis.text(
            0.98,
            0.93,
            peak_text(panels, index, peak),
            transform=axis.transAxes,
            ha="right",
            va="top",
            fontsize=SMALL,
            color=COLOURS[1],
        )
    axis.set_xlim(-span / size, span / size)
    axis.set_ylim(0, 1.05 * max(np.max(panels.lags), 1e-12))
    axis.grid(alpha=0.3)
    return unit


def draw_baseline(axes, panels, index, title, span, length, top, columns, first_column):
    """One baseline: amplitude (up to `top`), phase and lags (to +-`span` seconds) in the three
    axes; length: metres. Returns the two images of a waterfall, or None where there is one
    integration."""
    values = panels.values[index]
    low, high = panels.frequencies[0], panels.frequencies[-1]
    amplitude, phase = np.abs(values), np.angle(values, deg=True)
    phase = np.where(np.isfinite(values), phase, np.nan)
    axes[0].set_title(title, fontsize=8, pad=3)
    images = None
    if len(values) > 1:
        unit, size = time_unit(panels.seconds[-1] + panels.step)
        start, stop = edges(panels.seconds / size, panels.step / size)
        place = dict(
            extent=(low, high, start, stop), aspect="auto", origin="lower", interpolation="nearest"
        )
        images = (
            axes[0].imshow(amplitude, cmap=AMPLITUDE_MAP, vmin=0, vmax=top, **place),
            axes[1].imshow(phase, cmap=PHASE_MAP, vmin=-180, vmax=180, **place),
        )
        names = (f"amplitude\ntime ({unit})", f"phase\ntime ({unit})")
        for axis in axes[:2]:
            axis.set_facecolor(FLAGGED)
    else:
        axes[0].plot(panels.frequencies, amplitude[0], lw=0.8, color=COLOURS[0])
        axes[0].set_ylim(0, top)
        axes[1].plot(panels.frequencies, phase[0], ".", ms=2.5, color=COLOURS[1])
        axes[1].set_ylim(-190, 190)
        axes[1].set_yticks(range(-180, 181, 90))
        names = ("correlation" if panels.is_coherence else "amplitude", "phase (°)")
        for axis in axes[:2]:
            axis.grid(alpha=0.3)
    unit = draw_lags(axes[2], panels, index, span, length)
    axes[0].tick_params(labelbottom=False)
    axes[1].set_xlabel(f"frequency ({panels.unit})", fontsize=SMALL, labelpad=1)
    axes[2].set_xlabel(f"delay ({unit})", fontsize=SMALL, labelpad=1)
    for axis, name in zip(axes, (*names, "lag amplitude")):
        axis.tick_params(labelsize=SMALL, labelleft=first_column)
        axis.xaxis.set_major_locator(MaxNLocator(4 if columns > 3 else 8, prune="both"))
        axis.ticklabel_format(axis="x", useOffset=False)
        if first_column:
            axis.set_ylabel(name, fontsize=8)
    for axis in axes[:2]:
        axis.set_xlim(low, high)
    return images


def columns_for(count):
    """Columns of the grid of baselines: wide panels for few, seven columns for 28."""
    return max(1, min(count, 7, int(np.ceil(np.sqrt(1.75 * count)))) if count > 3 else count)


def split_cell(place):
    """The places of amplitude, phase and lags in the cell of one baseline."""
    outer = place.subgridspec(2, 1, height_ratios=(2, 0.8), hspace=0.22)
    spectra = outer[0].subgridspec(2, 1, hspace=0.08)
    return spectra[0], spectra[1], outer[1]


def draw_grid(figure, place, file, panels):
    """All baselines' panels in the grid cell `place` of the figure."""
    count = len(panels.products)
    columns = columns_for(count)
    rows = -(-count // columns)
    waterfalls = len(panels.seconds) > 1
    grid = place.subgridspec(
        rows,
        columns + waterfalls,
        hspace=0.22,
        wspace=0.12 if columns > 1 else 0.05,
        width_ratios=[1] * columns + [0.03] * waterfalls,
    )
    lengths = [length for length in map(file.length, panels.products) if length]
    span = lag_range(panels, lengths, file.channel_width * len(file.frequencies))
    amplitudes = np.abs(panels.values)
    finite = amplitudes[np.isfinite(amplitudes)]
    # A bright pixel must not darken a waterfall; of a spectrum the peaks are to be seen.
    top = 1.02 * np.percentile(finite, 99.5 if waterfalls else 100) if len(finite) else 0
    top = max(top, 1e-12)
    images = None
    for index, product in enumerate(panels.products):
        row, column = divmod(index, columns)
        axes = [figure.add_subplot(part) for part in split_cell(grid[row, column])]
        length = file.length(product)
        title = file.label(product) + (f"   {length:.4g} m" if length else "")
        images = draw_baseline(axes, panels, index, title, span, length, top, columns, column == 0)
    if images:
        parts = split_cell(grid[0, columns])
        texts = ("correlation" if panels.is_coherence else "amplitude", "phase (°)")
        for i, ticks in enumerate((None, range(-180, 181, 90))):
            bar = figure.colorbar(images[i], cax=figure.add_subplot(parts[i]), ticks=ticks)
            bar.set_label(texts[i], fontsize=8)
            bar.ax.tick_params(labelsize=SMALL)


def describe(file, panels, shown, total, integration, zone):
    """Title lines: what the file is, and what of it is shown; zone: of the local time."""
    unit, size = frequency_unit(file.frequencies)
    width = file.channel_width * len(file.frequencies)
    centre = file.frequencies[len(file.frequencies) // 2]
    per = f" of {file.integration_time:.4g} s" if file.integration_time else ""
    count = len(file.times)
    line = (
        f"{len(file.antennas)} antenna{'s'[: len(file.antennas) > 1]}, "
        f"{len(file.autos())} inputs, {centre / size:.6g} {unit}, {width / 1e6:.4g} MHz in "
        f"{len(file.frequencies)} channels, {count} integration{'s'[: count > 1]}{per}, "
        f"from {utc(file.start)} UTC"
    )
    notes = []
    if shown < total:
        notes.append(f"{shown} of {total} baselines, evenly spread in length")
    if integration is not None:
        notes.append(f"integration {integration}")
    elif len(panels.seconds) < count:
        notes.append(f"averaged in time to {len(panels.seconds)} steps of {panels.step:.3g} s")
    if len(panels.seconds) > 1 and not np.all(np.isfinite(panels.values)):
        notes.append("grey: flagged")
    seconds = float(unix_seconds(file.start))
    line += f", {zone.text(seconds)[11:]}" if zone.offset(seconds) else ""
    if file.site is not None:
        line += f", LST {clock_text(sidereal_time(file.start, file.site[1]) * 43200 / np.pi, 1)}"
    return line + ("\n" + "; ".join(notes) if notes else "")


def utc(julian_date):
    """Julian date to text, to a millisecond (a double is good to 0.04), whole seconds without."""
    seconds = float(julian_date - UNIX_EPOCH_JD) * SECONDS_PER_DAY
    return utc_text(seconds, 3, " ").removesuffix(".000")


def make_figure(file, baselines=None, integration=None, zone=None):
    """The whole picture as a matplotlib figure.

    baselines: names as in `--baselines`, default: all, or an even choice of MAX_PANELS;
    integration: number of the only one to show, from 0, negative from the end; zone: of the local
    time, None: the system's.
    """
    if integration is not None:
        count = len(file.times)
        if not -count <= integration < count:
            raise PlotError(f"--integration {integration}: the file has {count}, 0 to {count - 1}")
        integration %= count
    candidates = find_products(file, baselines) if baselines else file.crosses()
    products = spread(candidates, MAX_PANELS, file)
    chosen = None if integration is None else [integration]
    panels = read_panels(file, products, chosen)
    autos = file.autos()
    power = _mean_over_time(file, autos, chosen)
    with_matrix = 3 <= len(autos) <= MAX_MATRIX

    columns = columns_for(len(products))
    rows = -(-len(products) // columns)
    width = max(13.0, 3.0 * columns + 1)
    cell = 5.5 if rows == 1 else 4.4
    lost = lost_of(file)
    with_lost = lost is not None and lost.by_channel
    top, gap = 7.4 if with_lost else 4.6, 0.9
    height = top + gap + cell * rows + 1.4
    figure = plt.figure(figsize=(width, height))
    outer = figure.add_gridspec(
        2,
        1,
        height_ratios=(top, max(cell * rows, 0.01)),
        hspace=gap / ((top + cell * rows) / 2),
        left=0.8 / width,
        right=1 - 0.75 / width,
        top=1 - 1.05 / height,
        bottom=0.5 / height,
    )
    unit, size = frequency_unit(file.frequencies)
    place = outer[0]
    if with_lost:
        halves = place.subgridspec(2, 1, height_ratios=(4.2, 2.3), hspace=0.42)
        place = halves[0]
        draw_lost(
            figure.add_subplot(halves[1]),
            lost,
            file.frequencies / size,
            unit,
            file.integration_time or 1.0,
        )
    if with_matrix:
        upper = place.subgridspec(1, 2, width_ratios=(width - 8.2, 6.5), wspace=0.08)
        shown = integration if integration is not None else len(file.times) // 2
        draw_matrix(figure, upper[1], file, shown)
        bandpasses = figure.add_subplot(upper[0])
    else:
        bandpasses = figure.add_subplot(place)
    if len(autos):
        draw_bandpasses(bandpasses, file, autos, power, unit, size)
    else:
        bandpasses.text(0.5, 0.5, "no autocorrelations in the file", ha="center")
        bandpasses.set_axis_off()
    if products:
        draw_grid(figure, outer[1], file, panels)
    figure.suptitle(
        file.telescope.replace("$", r"\$"),
        x=0.8 / width,
        y=1 - 0.15 / height,
        ha="left",
        va="top",
        fontsize=14,
        fontweight="bold",
    )
    figure.text(
        0.8 / width,
        1 - 0.45 / height,
        describe(file, panels, len(products), len(candidates), integration, zone or Zone()),
        va="top",
        fontsize=9,
    )
    return figure


def _mean_over_time(file, autos, chosen):
    """Autocorrelations [input][channel], averaged over the chosen integrations."""
    if not autos:
        return np.zeros((0, len(file.frequencies)))
    return file.read(autos, chosen, max_times=1)[0][:, 0].real


def parser():
    """The command line of aperture_plot."""
    result = CommandParser(
        prog="aperture_plot",
        description="Makes a picture. Of visibilities in a UVH5 file: bandpasses, and for each "
        "baseline amplitude and phase over frequency and time and the lags (the Fourier "
        "transform over frequency; a peak at a positive delay: the signal reaches the second "
        "antenna later). Flagged data are left out. Of a filterbank file: waterfall, light curve "
        "and bandpass; of several, or of one with several beams, the light curves of all beams. Of "
        "folded profiles (PSRFITS): the profile, over frequency and over time. Of "
        "an array description with --beams: the pattern of the first beam, and where the others "
        "are.",
    )
    result.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="one UVH5 file, filterbank files (.fil), one file of folded profiles "
        "(.fits), or an array description",
    )
    result.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="PNG",
        help="picture to write; its ending chooses the format (png, pdf, svg); "
        "html: of a UVH5 file, a report with fringes, closure phases and u, v "
        "coverage",
    )
    result.add_argument(
        "--baselines",
        metavar="A-B,...",
        help="pairs of antennas (A1-A2: both polarisations) or of inputs "
        f"(A1x-A2y); default: all, of more than {MAX_PANELS} an even choice",
    )
    result.add_argument(
        "--integration",
        type=int,
        metavar="N",
        help="only this one, from 0; negative numbers count from the end",
    )
    result.add_argument(
        "--time-zone",
        metavar="ZONE",
        help="zone of the local time beside UTC, an IANA name such as Europe/Berlin "
        "(default: the system's)",
    )
    result.add_argument(
        "--beams", metavar="BEAMS", help="beams of an array: as in aperture_beams --help"
    )
    result.add_argument(
        "--field",
        type=float,
        metavar="DEGREES",
        help="width of a pattern on the sky (default: some side lobes)",
    )
    result.add_argument(
        "--dm",
        type=float,
        metavar="DM",
        help="dispersion measure with which the channels of folded profiles are lined up "
        "(default: that of the file)",
    )
    result.add_argument(
        "--dpi",
        type=int,
        default=100,
        metavar="N",
        help="dots per inch, 30 to 600 (default: %(default)s)",
    )
    return result


#: options that choose what is shown -> the kinds of pictures that have them
CHOICES = {
    "field": "the pattern of an array",
    "dm": "folded profiles",
    "baselines": "a UVH5 file",
    "integration": "a UVH5 file",
    "time_zone": "a UVH5 file",
}


def refuse_choices(options, kind):
    """Refuses choices of other kinds of pictures."""
    for name, of in CHOICES.items():
        if of != kind and getattr(options, name) is not None:
            raise PlotError(
                f"--{name.replace('_', '-')} {getattr(options, name)}: chooses what is "
                f"shown of {of}, not of {kind}"
            )


def check_output(path):
    """Refuses what could not be written, before anything is drawn."""
    # without an ending, matplotlib would take another name
    formats = [*FigureCanvasBase.get_supported_filetypes(), "html"]
    if os.path.splitext(path)[1][1:].lower() not in formats:
        raise PlotError(f"-o {path}: its ending is to be a format: {', '.join(sorted(formats))}")
    try:
        check_path(path, overwrite=True)
    except OSError as error:
        raise PlotError(f"-o {path}: {error.strerror}") from None


def choose_figure(options):
    """The picture that fits what the files are."""
    files = options.files
    for name in files:
        check_uvh5(name, "what is drawn")
    if options.beams is not None:
        refuse_choices(options, "the pattern of an array")
        for name in files:
            if name.endswith((".fil", ".uvh5")):
                raise PlotError(
                    f"{name}: --beams {options.beams} goes with an array description, "
                    "a YAML file or a shipped name, not with what was observed"
                )
        if len(files) > 1:
            raise PlotError(f"--beams: one array description, not {len(files)} files")
        if options.field is not None and not 0 < options.field <= 180:
            raise PlotError(f"--field {options.field:g}: expected above 0 to 180 degrees")
        check_regular(os.path.expanduser(options.beams), "the description of beams")
        return pattern_figure(files[0], options.beams, options.field)
    if all(name.endswith(".fil") for name in files):
        refuse_choices(options, "filterbank files")
        return filterbank_figure(files)
    if files[0].lower().endswith(ENDINGS):
        refuse_choices(options, "folded profiles")
        if len(files) > 1:
            raise PlotError(f"{files[1]}: one file of folded profiles at a time")
        if options.dm is not None and not 0 <= options.dm <= 1e6:
            raise PlotError(f"--dm {options.dm:g}: expected 0 to 1e6 pc/cm^3")
        return profile_figure(files[0], options.dm)
    if files[0].endswith((".yml", ".yaml")) or files[0] in shipped_arrays():
        raise PlotError(
            f"{files[0]}: an array description is drawn with its beams: add --beams, "
            "for example --beams grid:az=180,el=60"
        )
    refuse_choices(options, "a UVH5 file")
    if len(files) > 1:
        raise PlotError(
            f"{files[1]}: one UVH5 file at a time; several files are filterbank files, named .fil"
        )
    zone = Zone(options.time_zone)
    with VisibilityFile(files[0]) as file:
        return make_figure(file, options.baselines, options.integration, zone)


def report(options):
    """Writes the report of one UVH5 file."""
    from .report import make_report, write_report  # pictures do without it

    refuse_choices(options, "a UVH5 file")
    name = options.files[0]
    if len(options.files) > 1 or options.beams is not None or name.endswith(".fil"):
        raise PlotError(f"-o {options.output}: a report is of one UVH5 file")
    check_uvh5(name, "what is drawn")
    zone = Zone(options.time_zone)
    with VisibilityFile(name) as file:
        write_report(
            options.output, make_report(file, options, read_panels, make_figure, utc, zone)
        )


def draw(options):
    """Does what the options say; returns the exit code."""
    if not 30 <= options.dpi <= 600:
        raise PlotError(f"--dpi {options.dpi}: expected 30 to 600")
    check_output(options.output)
    with warnings.catch_warnings():
        # a letter of a name that the font lacks, or a value too large to be drawn
        warnings.simplefilter("ignore")
        if options.output.lower().endswith(".html"):
            report(options)
            return 0
        figure = choose_figure(options)
        try:
            # the layouts leave the edge no room for some labels
            save_picture(
                figure, options.output, dpi=options.dpi, bbox_inches="tight", pad_inches=0.15
            )
        except (OSError, ValueError) as error:
            raise PlotError(f"-o {options.output}: {error}") from None
    return 0


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command("aperture_plot", parser(), draw, arguments)
