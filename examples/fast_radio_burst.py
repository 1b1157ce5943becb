#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A simulated fast radio burst: from the voltages of eight antennas to a candidate, whose trigger has
these voltages written.

    tools/run python3 examples/fast_radio_burst.py FOLDER

A burst comes from one of nine directions; its voltages are dispersed by DM 350. Nine beams look at
them. Their powers are normalised, dedispersed and searched, and the burst becomes a line in a table
with a picture. The candidate asks the ring, which holds the last seconds of all antennas, for what
came while it swept through the band. With the dumped voltages a beam is formed once more, which is
drawn at a higher resolution than the search had.
"""

import argparse
import os
from dataclasses import replace

import matplotlib
import numpy as np
from gnuradio import aperture, gr

from gnuradio.aperture.arrays.array_description import Source
from gnuradio.aperture.arrays.geometry import SPEED_OF_LIGHT, direction
from gnuradio.aperture.arrays.pulses import Pulse
from gnuradio.aperture.beams.beams import load_beams
from gnuradio.aperture.transients.dispersion import channel_frequencies, delay
from gnuradio.aperture.transients.trials import plan_trials

matplotlib.use("Agg")
import matplotlib.pyplot as plt

START = 1704067200  # 2024-01-01T00:00:00Z
RATE, CENTER = 1e6, 408e6  # Hz
DM, WIDTH, SEEN = 350.0, 1e-3, 1.2  # pc/cm^3; s; s after the start, in the middle of the band
CHANNELS, FRAME, SPECTRA = 64, 1000, 4
BEAM = 5  # the beam, of nine, with the burst


def observe(array, beams, folder):
    """Runs the flowgraph; the table and the ring's description of the dump."""
    inputs = len(array.inputs)
    time = SPECTRA * CHANNELS / RATE
    band = dict(channels=CHANNELS, center_frequency=CENTER, bandwidth=RATE, sample_time=time)
    plan = plan_trials("100:600:2", CHANNELS, CENTER, RATE, time)
    trials = dict(
        band, beams=len(beams), dms=plan.dms, decimations=plan.decimations, times_per_item=512
    )
    feed = aperture.array_source(
        array, samples=int(2.2 * RATE), start_time=START, inputs_per_port=inputs
    )
    points = aperture.pointing(array, beams, CHANNELS, item_size=8 * inputs)
    frames = aperture.f_engine(
        channels=CHANNELS, inputs=inputs, inputs_per_port=inputs, spectra_per_frame=FRAME
    )
    power = aperture.beam_power(
        channels=CHANNELS,
        inputs=inputs,
        beams=len(beams),
        type="fc32",
        spectra_per_frame=FRAME,
        spectra=SPECTRA,
    )
    normal = aperture.power_normalizer(
        channels=CHANNELS, beams=len(beams), sample_time=time, window=0.5
    )
    dedisperse = aperture.dedisperser(**trials)
    search = aperture.pulse_search(baseline=0.5, widest=64, **trials)
    table = aperture.candidate_sink(
        os.path.join(folder, "bursts.ecsv"), beams=len(beams), seconds=3, **band
    )
    ring = aperture.voltage_ring(
        os.path.join(folder, "burst-{id}-{time}.dada"),
        type="fc32",
        channels=CHANNELS,
        inputs=inputs,
        spectra_per_frame=FRAME,
        array=array,
        seconds=3,
        rate=RATE / CHANNELS / FRAME,
    )
    flowgraph = gr.top_block()
    flowgraph.connect(feed, points)
    flowgraph.connect(feed, frames, power, normal, dedisperse, search)
    flowgraph.connect(normal, table)
    flowgraph.connect(frames, ring)
    flowgraph.msg_connect(points, "weights", power, "weights")
    flowgraph.msg_connect(search, "candidates", table, "candidates")
    flowgraph.msg_connect(search, "candidates", ring, "trigger")
    flowgraph.run()
    for block in (table, ring):
        if block.error():
            raise SystemExit(block.error())
    return ring.dumps()


def voltages_of(dump):
    """The dumped voltages, complex64 [time][channel][input], and seconds after START."""
    recording = dump["recordings"][0]
    data = np.fromfile(recording["files"][0], dtype=np.complex64, offset=4096)
    begin = recording["start"]
    return data.reshape(recording["samples"], CHANNELS, -1), begin["seconds"] - START + begin[
        "fraction"
    ]


def beam_of(voltages, array, beam):
    """The antennas' voltages, added in phase: [time][channel]."""
    places = {antenna.name: antenna.position for antenna in array.antennas}
    towards = direction(beam.azimuth, beam.elevation)
    late = -np.array([places[entry.antenna] for entry in array.inputs]) @ towards / SPEED_OF_LIGHT
    frequencies = channel_frequencies(CHANNELS, CENTER, RATE)
    weights = np.exp(2j * np.pi * frequencies[:, None] * late)
    return np.einsum("tki,ki->tk", voltages, weights) / np.sqrt(len(late))


def draw(powers, begin, found, filename):
    """The waterfall of a beam from the dump, and the pulse, lined up channel by channel."""
    step = CHANNELS / RATE
    frequencies = channel_frequencies(CHANNELS, CENTER, RATE)
    shifts = np.rint(delay(found["dm"], frequencies, frequencies[-1]) / step).astype(int)
    count = len(powers) - shifts.max()
    lined_up = np.stack([powers[s : s + count, k] for k, s in enumerate(shifts)], axis=1)
    series = np.convolve(lined_up.mean(axis=1), np.ones(8) / 8, "valid")
    noise = 1.4826 * np.median(abs(series - np.median(series)))
    series = (series - np.median(series)) / noise
    figure, axes = plt.subplots(2, 1, figsize=(9, 7), layout="constrained", sharex=True)
    axes[0].plot(1e3 * (begin + step * (3.5 + np.arange(len(series)))), series, lw=0.8)
    axes[0].set_ylabel("S/N in 0.5 ms")
    axes[0].set_title(f"dedispersed with DM {found['dm']:g}", loc="left", fontsize=10)
    rows = len(powers) // 8
    shown = powers[: 8 * rows].reshape(rows, 8, CHANNELS).mean(axis=1).T
    axes[1].imshow(
        shown,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        vmin=0,
        vmax=np.percentile(shown, 99.7),
        extent=(
            1e3 * begin,
            1e3 * (begin + step * len(powers)),
            (CENTER - RATE / 2) / 1e6,
            (CENTER + RATE / 2) / 1e6,
        ),
    )
    axes[1].set_ylabel("frequency (MHz)")
    axes[1].set_xlabel("ms after the start")
    figure.suptitle("A simulated burst, from the voltages that its candidate had written")
    figure.savefig(filename, dpi=100)
    plt.close(figure)
    return series.max()


def main(folder):
    array = replace(aperture.load_array("y8"), sample_rate=RATE, center_frequency=CENTER)
    beams = load_beams("grid:az=40,el=75,columns=3,rows=3,spacing=0.3", array)
    at = beams[BEAM]
    before = float(delay(DM, CENTER))
    burst = Source(
        "burst",
        azimuth=at.azimuth,
        elevation=at.elevation,
        dm=DM,
        pulses=[Pulse(START + SEEN - before, WIDTH, peak_flux=0.4)],
    )
    dumps = observe(replace(array, sources=[burst]), beams, folder)
    if not dumps:
        raise SystemExit("no candidate was found")
    dump = max(dumps, key=lambda one: one["candidate"]["snr"])
    found = dump["candidate"]
    voltages, begin = voltages_of(dump)
    powers = abs(beam_of(voltages, array, beams[int(found["beam"])])) ** 2
    ratio = draw(powers, begin, found, os.path.join(folder, "burst.png"))
    print(
        f"burst: beam {int(found['beam'])} of {len(beams)}, DM {found['dm']:g}, S/N "
        f"{found['snr']:.1f} in {1e3 * found['width']:.2f} ms; {len(voltages)} spectra of "
        f"{voltages.shape[2]} antennas dumped, S/N {ratio:.1f} in their beam"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        default=".",
        help="for table, pictures and voltages (default: this one)",
    )
    wanted = parser.parse_args().folder
    os.makedirs(wanted, exist_ok=True)
    main(wanted)
