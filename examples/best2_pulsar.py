#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Figure 6 of the paper on BEST-2 (Magro, Zarb Adami, Hickish 2014), redrawn from simulated data:
PSR B0329+54, 200 pulses folded through a tracking beam.

    tools/run python3 examples/best2_pulsar.py FOLDER

A pulsar like it (best-2-pulsar.yml) goes through all 32 receivers: its voltages are dispersed, and
arrive as the Earth's rotation and its way about the Sun have them. The beam follows it, the powers
are folded by a timing model, B0329+54.par, and written as PSRFITS. For 200 pulses to fit into
seconds of computing the band is narrowed to 10 kHz; the pulsar is brighter by as much.
"""

import argparse
import os
from dataclasses import replace

import matplotlib
import numpy as np
from gnuradio import aperture, gr

from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.folder import phase_segments
from gnuradio.aperture.plots.plot_profiles import draw_profile, over_time
from gnuradio.aperture.transients.folding import profile, signal_to_noise
from gnuradio.aperture.transients.par_file import read_par

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RATE = 10e3  # Hz
START = 1704045600  # 2023-12-31T18:00:00Z: it is high in the north-east
PULSES, CHANNELS, BINS = 200, 8, 256
TIMES = 125  # spectra in a frame: 0.1 s
BRIGHTER = 2.0  # factor over the description


def simulated(source, segment):
    """The source with the period and phase that the timing model has at the first sample."""
    revolutions, frequency = segment.at(START)
    period = 1 / float(frequency)
    return replace(
        source,
        pulsars=tuple(
            replace(
                part,
                period=period,
                period_derivative=0.0,
                mean_flux=BRIGHTER * part.mean_flux,
                phase=part.phase + float(revolutions % 1),
            )
            for part in source.pulsars
        ),
    ), period


def observe(array, source, par, segments, filename, seconds):
    """Runs the flowgraph: voltages, a tracking beam, its powers, profiles, the file."""
    inputs = len(array.inputs)
    beams = [Beam(source.name, ra=source.ra, dec=source.dec)]
    feed = aperture.array_source(
        array, [source], samples=int(seconds * RATE), start_time=START, inputs_per_port=inputs
    )
    points = aperture.pointing(array, beams, CHANNELS, item_size=8 * inputs)
    frames = aperture.f_engine(
        channels=CHANNELS, inputs=inputs, inputs_per_port=inputs, spectra_per_frame=TIMES
    )
    power = aperture.beam_power(
        channels=CHANNELS, inputs=inputs, beams=1, spectra_per_frame=TIMES, type="fc32", spectra=1
    )
    fold = aperture.folder(segments, channels=CHANNELS, bins=BINS, subintegration=10.0)
    sink = aperture.psrfits_sink(
        filename,
        array=array,
        beams=beams,
        channels=CHANNELS,
        bins=BINS,
        source=source.name,
        dm=source.dm,
        par=segments,
    )
    flowgraph = gr.top_block()
    flowgraph.connect(feed, points)
    flowgraph.connect(feed, frames, power, fold, sink)
    flowgraph.connect((fold, 1), (sink, 1))
    flowgraph.msg_connect(points, "weights", power, "weights")
    flowgraph.run()
    if sink.error() is not None:
        raise SystemExit(sink.error())
    return sink.profiles()


def draw(folded, source, period, filename):
    """The profile with the model of the simulation, and how it came over time."""
    values = np.roll(profile(folded), BINS // 2)
    phases = (np.arange(BINS) + 0.5) / BINS - 0.5
    sigma = lambda part: part.width / period / np.sqrt(8 * np.log(2))
    shape = sum(
        part.mean
        * np.exp(
            -(((phases + part.phase - source.pulsars[0].phase + 0.5) % 1 - 0.5) ** 2)
            / (2 * sigma(part) ** 2)
        )
        / (sigma(part) * np.sqrt(2 * np.pi))
        for part in source.pulsars
    )
    # the beam adds 32 voltages in phase, and the receivers' noise 32 powers
    model = 1 + 32 * shape
    model = model / model.mean() - 1
    figure, axes = plt.subplots(2, 1, figsize=(9, 8), layout="constrained", sharex=True)
    draw_profile(axes[0], values, label="simulated data")
    axes[0].plot(phases + 0.5, 100 * model, color="black", lw=0.8, label="what was simulated")
    axes[0].set_xlim(0, 1)
    axes[0].legend(fontsize=9)
    axes[0].set_title(
        f"{PULSES} pulses, S/N {signal_to_noise(values):.0f} in a bin", loc="left", fontsize=10
    )
    shown = np.roll(over_time(folded, folded.dm), BINS // 2, axis=1)
    axes[1].imshow(
        100 * shown,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=(0, 1, 0, float(np.sum(folded.lengths))),
        cmap="viridis",
    )
    axes[1].set_ylabel("time (s)")
    axes[1].set_xlabel("phase (revolutions from half of one before the model's)")
    figure.suptitle(
        f"PSR {source.name} through a tracking beam of BEST-2, simulated: "
        f"{period:.6f} s at the telescope"
    )
    figure.savefig(filename, dpi=100, bbox_inches="tight", pad_inches=0.15)
    plt.close(figure)
    off = values - model
    noise = 1.4826 * np.median(np.abs(off - np.median(off)))
    return phases[np.argmax(values)], signal_to_noise(values), noise, np.abs(off).max()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        default=".",
        help="for best2-pulsar.png and B0329+54.fits (default: this one)",
    )
    folder = parser.parse_args().folder
    os.makedirs(folder, exist_ok=True)
    best2 = replace(aperture.load_array("best-2-pulsar"), sample_rate=RATE)
    timing = read_par(os.path.join(os.path.dirname(os.path.abspath(__file__)), "B0329+54.par"))
    predicted = phase_segments(timing, array=best2, start_time=START, hours=0.5)
    pulsar, apparent = simulated(best2.sources[0], predicted[0])
    found = observe(
        best2, pulsar, timing, predicted, os.path.join(folder, "B0329+54.fits"), PULSES * apparent
    )
    phase, ratio, scatter, worst = draw(
        found, pulsar, apparent, os.path.join(folder, "best2-pulsar.png")
    )
    print(
        f"pulsar: the profile peaks at phase {phase:.4f}, S/N {ratio:.0f}; it is within "
        f"{worst / scatter:.1f} deviations of what was simulated"
    )
