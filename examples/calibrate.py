#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
An array that nobody has calibrated, and the same after it heard a noise source.

Five antennas have cables of up to 100 ns more or less, amplifiers that rotate the phase, and
filters with a shape of their own. First a noise source is switched to all of them:
aperture_calibrate finds what is hidden. Then they look at a source on the sky, without the
calibration and with it.

    tools/run python3 examples/calibrate.py [FOLDER]

Writes into FOLDER (default: calibrate): noise.uvh5, cal.yml, and two pictures, before-after.png of
the noise source and sky.png, the phases of all baselines on the sky against what the geometry says.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from gnuradio import aperture, filter, gr

from gnuradio.aperture.commands import calibrate
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile

RATE, FREQUENCY, CHANNELS = 4e6, 1420.4e6, 64
PLACES = {"A": (0, 0, 0), "B": (21, 3, 0), "C": (-14, 33, 0), "D": (45, -12, 0), "E": (8, -50, 0)}
CABLES = (0, 62e-9, -100e-9, 100e-9, -31e-9)  # s
GAINS = (1, 0.7 - 0.4j, -1.2 + 0.3j, 0.2 + 0.9j, 1.1j)
FILTERS = ([1], [1, 0.3j], [0.9, -0.2, 0.1j], [1, 0, 0.2], [0.2j, 1])
AZIMUTH, ELEVATION = 150, 50  # degrees, of the source on the sky


def array_of(places, source):
    """The array, with what is hidden in it, and one source."""
    return aperture.ArrayDescription(
        name="five antennas",
        latitude=52.0,
        longitude=5.0,
        height=10.0,
        antennas=[aperture.Antenna(name, place) for name, place in places.items()],
        inputs=[
            aperture.Input(name, "x", gain, cable)
            for name, gain, cable in zip(places, GAINS, CABLES)
        ],
        sample_rate=RATE,
        center_frequency=FREQUENCY,
        sources=[source],
    )


def observe(array, path, seconds, **sink):
    """Correlates what the antennas of an array give, through their filters, into a UVH5 file."""
    flowgraph = gr.top_block()
    source = aperture.array_source(array, samples=int(seconds * RATE))
    f_engine = aperture.f_engine(channels=CHANNELS, inputs=5, spectra_per_frame=512)
    for port, taps in enumerate(FILTERS):
        flowgraph.connect((source, port), filter.fir_filter_ccc(1, taps), (f_engine, port))
    flowgraph.connect(
        f_engine,
        aperture.xengine(channels=CHANNELS, inputs=5, spectra_per_frame=512, integration=20),
        aperture.uvh5_sink(str(path), array, CHANNELS, **sink),
    )
    flowgraph.run()


def phases_on_the_sky(path):
    """
    Degrees [baseline][channel] of a file's phases less those of the source's geometry, and the
    names of the baselines.
    """
    s = aperture.geometry.direction(AZIMUTH, ELEVATION)
    with VisibilityFile(path) as file:
        products = file.crosses()
        values = file.read(products, max_times=1)[0][:, 0]
        places = np.array([PLACES[file.names[number]] for number in range(5)])
        # conj(x_1) x_2, and x is late by -r.s/c
        ahead = np.array([(places[p.second] - places[p.first]) @ s / 299792458 for p in products])
        model = np.exp(2j * np.pi * np.outer(ahead, file.frequencies))
        return np.angle(values / model, deg=True), [file.label(p) for p in products]


def draw(path, before, after, names):
    """Both, baseline by baseline, beside each other."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    for axis, phases, title in zip(axes, (before, after), ("without", "with the calibration")):
        for row, name in zip(phases, names):
            axis.plot(row, ".", ms=3, label=name)
        axis.set_title(title)
        axis.set_xlabel("channel")
        axis.set_yticks(range(-180, 181, 90))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("phase against geometry (°)")
    axes[1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, markerscale=3)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(folder):
    """Returns the rms of the phases in degrees, before and after."""
    folder.mkdir(parents=True, exist_ok=True)
    noise = aperture.Source("noise source", azimuth=0, elevation=90, flux=30)
    # noise that comes to all inputs at once, as if they were at one place
    bench = array_of(dict.fromkeys(PLACES, (0, 0, 0)), noise)
    # antennas at one place are written some millimetres apart, of which a warning tells
    gr.logging().set_default_level(gr.log_levels.err)
    observe(bench, folder / "noise.uvh5", 1.0)
    code = calibrate.main(
        [
            str(folder / "noise.uvh5"),
            "-o",
            str(folder / "cal.yml"),
            "--reference",
            "Ax",
            "--plot",
            str(folder / "before-after.png"),
        ]
    )
    if code:
        raise SystemExit(code)
    sky = array_of(PLACES, replace(noise, name="sky", azimuth=AZIMUTH, elevation=ELEVATION, flux=2))
    observe(sky, folder / "sky.uvh5", 0.2)
    observe(sky, folder / "calibrated.uvh5", 0.2, calibration=str(folder / "cal.yml"))
    before, names = phases_on_the_sky(folder / "sky.uvh5")
    after, _ = phases_on_the_sky(folder / "calibrated.uvh5")
    draw(folder / "sky.png", before, after, names)
    # the simulator leaves out the outer percent of the band, where channel 0 is
    rms = [float(np.sqrt(np.mean(phases[:, 1:] ** 2))) for phases in (before, after)]
    print(
        f"on the sky: phases of {rms[0]:.1f} degrees rms without, {rms[1]:.2f} with the "
        f"calibration; pictures: {folder / 'before-after.png'}, {folder / 'sky.png'}"
    )
    return rms


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path("calibrate"),
        help="for the files (default: %(default)s)",
    )
    main(parser.parse_args().folder)
