#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Two figures of the beamformer of BEST-2 (Magro, Zarb Adami, Hickish 2014), redrawn from
simulated data: figure 5, the pattern of a beam, and figure 7, a source that drifts through a row of
beams.

    tools/run python3 examples/best2_figures.py FOLDER

Pattern: instead of moving a source about a beam, many beams look at and around one source. The
response of a flat array depends on the difference of the two directions' horizontal parts alone, so
that each beam is put where it stands to the source as the beam in the middle stands to a place.

Drift: Cas A passes the meridian through eight beams that stand side by side. For
an hour and more of its way to fit into a minute of computing, the band is narrowed to 1 kHz:
phases and delays are those of the real array.
"""

import argparse
import os
from dataclasses import replace

import matplotlib
import numpy as np
from gnuradio import aperture, blocks, gr

from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.beams.beams import Beam, grid, offset
from gnuradio.aperture.beams.weights import array_factor, beam_weights
from gnuradio.aperture.plots import plot_beams
from gnuradio.aperture.plots.style import decibels

matplotlib.use("Agg")
import matplotlib.pyplot as plt

CENTRE = Beam("beam", azimuth=0.0, elevation=75.7)
DRIFT_RATE = 1000.0  # Hz


def powers_of(array, source, beams, channels, samples, spectra_per_frame, spectra, start):
    """float [integration][beam][channel] of a simulated source."""
    inputs = len(array.inputs)
    feed = aperture.array_source(
        array, [source], samples=samples, start_time=start, inputs_per_port=inputs
    )
    points = aperture.pointing(array, beams, channels, item_size=8 * inputs)
    power = aperture.beam_power(
        channels=channels,
        inputs=inputs,
        beams=len(beams),
        spectra_per_frame=spectra_per_frame,
        type="fc32",
        spectra=spectra,
    )
    sink = blocks.vector_sink_f(len(beams) * channels)
    flowgraph = gr.top_block()
    flowgraph.connect(
        feed,
        points,
        aperture.pfb_channelizer(channels=channels, inputs=inputs, inputs_per_port=inputs),
        aperture.corner_turn(
            channels=channels,
            inputs=inputs,
            inputs_per_port=inputs,
            spectra_per_frame=spectra_per_frame,
            type="fc32",
        ),
        power,
        sink,
    )
    flowgraph.msg_connect(points, "weights", power, "weights")
    flowgraph.run()
    return np.array(sink.data(), float).reshape(-1, len(beams), channels)


def draw_pattern(array, filename):
    """Figure 5: 61 x 61 beams about a source, and the array factor beside it."""
    side, spacing, channels, times = 61, 0.16, 16, 128
    # channels as wide as those of the instrument, which has 1024
    array = replace(array, sample_rate=array.sample_rate * channels / 1024)
    line = (np.arange(side) - side // 2) * spacing
    extent = (line[0] - spacing / 2, line[-1] + spacing / 2) * 2
    east, north = np.meshgrid(line, line)
    middle = geometry.direction(CENTRE.azimuth, CENTRE.elevation)
    looks = 2 * middle - geometry.direction(*offset(CENTRE.azimuth, CENTRE.elevation, east, north))
    looks[:, 2] = np.sqrt(1 - np.sum(looks[:, :2] ** 2, axis=1))
    beams = [
        Beam(f"beam {number}", *map(float, place))
        for number, place in enumerate(np.transpose(geometry.azimuth_elevation(looks)))
    ]
    # a source so strong that the receivers' noise is nothing beside it even where a beam hardly
    # sees it
    source = aperture.Source("test", CENTRE.azimuth, CENTRE.elevation, flux=1e6)
    found = powers_of(
        array, source, beams, channels, (times + 7) * channels, times, times, 1704067200
    )[0]
    seen = found[:, channels // 2].reshape(side, side)
    model = plot_beams.pattern(array, CENTRE, east, north, array.center_frequency)

    figure, axes = plt.subplots(
        1, 3, figsize=(17, 5.4), width_ratios=(1, 1, 1.1), layout="constrained"
    )
    for axis, levels, title in (
        (axes[0], seen / seen.max(), "beams about a simulated source"),
        (axes[1], model, "array factor"),
    ):
        picture = plot_beams.draw_pattern(axis, decibels(levels), extent, -30)
        axis.set_title(title, loc="left")
    figure.colorbar(picture, ax=axes[:2], label="power (dB)", shrink=0.8)
    fine = np.linspace(line[0], line[-1], 1001)
    half = side // 2
    for number, (label, values, e, n) in enumerate(
        (
            ("east to west", seen[half], fine, 0 * fine),
            ("north to south", seen[:, half], 0 * fine, fine),
        )
    ):
        curve = plot_beams.pattern(array, CENTRE, e, n, array.center_frequency)
        axes[2].plot(
            fine,
            decibels(curve),
            color=plot_beams.COLOURS[number],
            lw=1,
            label=f"{label}: array factor",
        )
        axes[2].plot(
            line,
            decibels(values / seen.max()),
            ".",
            color=plot_beams.COLOURS[number],
            label="simulated data",
        )
    axes[2].set_ylim(-32, 1)
    axes[2].set_xlim(line[0], line[-1])
    axes[2].set_xlabel("offset (° on the sky)")
    axes[2].set_ylabel("power (dB)")
    axes[2].set_title("cuts through the middle", loc="left")
    axes[2].grid(alpha=0.3)
    axes[2].legend(fontsize=8, loc="lower center", ncol=2, framealpha=1)
    figure.suptitle(
        f"Beam of BEST-2 at elevation {CENTRE.elevation}°, "
        f"{array.center_frequency / 1e6:.0f} MHz: 32 receivers"
    )
    figure.savefig(filename, dpi=100, bbox_inches="tight", pad_inches=0.15)
    plt.close(figure)
    inside = model > 0.01
    return np.abs(10 * np.log10(seen / seen.max() / model))[inside].max()


def draw_drift(array, filename, seconds=4800):
    """Figure 7: a source in transit through a row of eight beams."""
    array = replace(array, sample_rate=DRIFT_RATE)
    channels, times = 8, 25
    each = 100 * times  # spectra in an integration of 20 s
    row = grid(replace(CENTRE, name="beam"), 8, 1, 0.8)
    # the source passes the meridian in the middle of the time
    transit = 1704067200 + seconds / 2
    ra, dec = geometry.azel_to_radec(
        CENTRE.azimuth, CENTRE.elevation, transit, array.latitude, array.longitude, array.height
    )
    source = aperture.Source("Cas A", ra=float(ra), dec=float(dec), flux=0.5)
    samples = int(seconds * DRIFT_RATE) + 7 * channels
    found = powers_of(array, source, row, channels, samples, times, each, 1704067200)
    curves = found[: int(seconds * DRIFT_RATE) // channels // each, :, 1:].mean(axis=2).T
    minutes = ((np.arange(curves.shape[1]) + 0.5) * each * channels / DRIFT_RATE - seconds / 2) / 60

    figure, axes = plt.subplots(2, 1, figsize=(11, 8), layout="constrained", height_ratios=(2, 1))
    fine = np.linspace(-seconds / 120, seconds / 120, 400)
    places = geometry.direction(
        *geometry.radec_to_azel(
            ra, dec, transit + 60 * fine, array.latitude, array.longitude, array.height
        )
    )
    weights = beam_weights(array, row, [array.center_frequency])
    factor = array_factor(array, weights, places, [array.center_frequency])[0]
    for number, curve in enumerate(curves):
        colour = plt.get_cmap("viridis")(number / 8.5)
        axes[0].plot(minutes, curve, ".", ms=4, color=colour, label=row[number].name)
        # noise of power 1 and the source's
        axes[0].plot(fine, 1 + source.flux * np.abs(factor[number]) ** 2, color=colour, lw=0.8)
    axes[0].set_ylabel("power (noise of an input: 1)")
    axes[0].set_title("Simulated data (dots) and array factor (lines)", loc="left", fontsize=10)
    axes[0].set_xlim(minutes[0], minutes[-1])
    axes[0].grid(alpha=0.3)
    axes[0].legend(fontsize=8, ncol=4, loc="upper center")
    axes[0].set_ylim(0, 1.25 * curves.max())
    picture = axes[1].imshow(
        decibels(curves),
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap="viridis",
        extent=(minutes[0], minutes[-1], -0.5, 7.5),
    )
    axes[1].set_xlabel("time from transit (min)")
    axes[1].set_ylabel("beam, from west")
    figure.colorbar(picture, ax=axes[1], label="power (dB)")
    figure.suptitle("A source drifts through a row of eight beams of BEST-2, 0.8° apart")
    figure.savefig(filename, dpi=100, bbox_inches="tight", pad_inches=0.15)
    plt.close(figure)
    return [float(minutes[np.argmax(curve)]) for curve in curves]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        default=".",
        help="for best2-pattern.png and best2-drift.png (default: this one)",
    )
    folder = parser.parse_args().folder
    os.makedirs(folder, exist_ok=True)
    best2 = aperture.load_array("best-2")
    worst = draw_pattern(best2, os.path.join(folder, "best2-pattern.png"))
    print(f"pattern: within {worst:.3f} dB of the array factor where that is above -20 dB")
    peaks = draw_drift(best2, os.path.join(folder, "best2-drift.png"))
    print(
        "drift: the beams see most at",
        ", ".join(f"{peak:.1f}" for peak in peaks),
        "minutes from transit",
    )
