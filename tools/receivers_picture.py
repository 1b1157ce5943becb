#!/usr/bin/env python3
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
tools/run tools/receivers_picture.py PICTURE

Draws what comes of the receivers of docs/receivers.md, of which doubles stand in for hardware:
coherence and phase of each input with the first one over time, as aperture_fx writes them.
tools/pictures runs it.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")

import h5py
import numpy as np
from matplotlib import pyplot

from gnuradio.aperture.testing.heimdall_server import HeimdallServer, frame

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("APERTURE_BUILD", SOURCE / "build"))
BAND = "rate=2.4e6,freq={frequency},gain=30"
SAMPLES = 1 << 15
#: name of the double of a pair of receivers, which have a part of what they hear in common
PAIR = (
    "driver=aperture_test,paced=0,coherence=0.9,serial=1{all};"
    "driver=aperture_test,paced=0,coherence=0.9,serial=2{all}{second},"
)
#: title -> (kind, arguments of both, arguments of the second, options, frequency)
PAIRS = {
    "two dongles on one clock": ("soapy", "", "", "", "1420.4e6"),
    "two dongles, clock_error=3": ("soapy", "", ",ppm=2", ",clock_error=3", "100e6"),
    "two USRPs on PPS": (
        "uhd",
        ",type=soapy,hwtime=true",
        "",
        ",clock=external,time=external",
        "1420.4e6",
    ),
}


def visibilities(path):
    """(s [time], coherence [time][input], phase in degrees [time][input]) of the inputs after the
    first one, with it, of the middle of the band."""
    with h5py.File(path) as file:
        data = file["Data/visdata"][:].reshape(file["Header/ant_1_array"].shape[0], -1)
        there = file["Data/nsamples"][:].reshape(len(data), -1)[:, 0]
        pairs = list(zip(file["Header/ant_1_array"][:], file["Header/ant_2_array"][:]))
        times = file["Header/time_array"][:]
    inputs = max(max(pair) for pair in pairs) + 1

    def product(a, b):
        rows = [i for i, pair in enumerate(pairs) if pair == (a, b)]
        found = data[rows, 20:-20].mean(axis=1)
        return np.where(there[rows] > 0, found, np.nan), times[rows]

    powers = [product(i, i)[0].real for i in range(inputs)]
    with np.errstate(invalid="ignore"):  # missing ones are not a number
        found = [product(0, i)[0] / np.sqrt(powers[0] * powers[i]) for i in range(1, inputs)]
    seconds = (product(0, 0)[1] - times.min()) * 86400
    crossed = np.array(found).T
    return seconds, np.abs(crossed), np.angle(crossed, deg=True)


def correlate(asked, folder, *words):
    path = folder / "x.uvh5"
    command = ["aperture_fx", "--input", asked, "--channels=256", "--integration=0.05"]
    subprocess.run(
        [*command, "-o", str(path), *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "SOAPY_SDR_PLUGIN_PATH": str(BUILD / "tests/soapy")},
    )
    found = visibilities(path)
    path.unlink()
    return found


def kraken(folder):
    """Five channels that hear a source of a coherence of 0.9, on five cables; the noise source is
    on in between, which is missing."""
    rng = np.random.default_rng(3)
    phases = np.exp(2j * np.pi * np.array([0, 0.1, 0.25, -0.15, 0.4]))[:, np.newaxis]
    noise = lambda *shape: (rng.normal(size=(*shape, 2)) @ [1, 1j]).astype(np.complex64)
    samples = np.sqrt(0.9) * phases * noise(SAMPLES) + np.sqrt(0.1) * noise(5, SAMPLES)
    frames = [frame(samples, index, noise=int(60 <= index < 80)) for index in range(150)]
    with HeimdallServer(frames) as server:
        asked = f"heimdall:127.0.0.1:{server.port},control={server.control_port},freq=1420.4e6"
        return correlate(asked, folder, "--duration=1.5")


def main():
    (picture,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        found = {"KrakenSDR": kraken(folder)}
        for title, (kind, both, second, options, frequency) in PAIRS.items():
            devices = PAIR.format(all=both, second=second)
            asked = f"{kind}:{devices}{BAND.format(frequency=frequency)}{options}"
            found[title] = correlate(asked, folder, "--duration=1.5")
    figure, axes = pyplot.subplots(2, len(found), figsize=(10, 4.4), sharex=True, sharey="row")
    for (title, (seconds, coherence, phase)), (above, below) in zip(found.items(), axes.T):
        above.plot(seconds, coherence, ".-", markersize=3, linewidth=0.8)
        below.plot(seconds, phase, ".", markersize=3)
        above.set_title(title, fontsize=10)
        below.set_xlabel("time (s)")
        for one in (above, below):
            one.grid(alpha=0.3)
    axes[0, 0].set(ylabel="coherence", ylim=(0, 1.05))
    axes[1, 0].set(ylabel="phase (°)", ylim=(-190, 190), yticks=(-180, -90, 0, 90, 180))
    figure.tight_layout()
    figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main()
