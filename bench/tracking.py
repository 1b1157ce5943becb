#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what it costs aperture_fx to follow the sky: the same recording with a direction that is
tracked, and without, by turns, on one machine that may be loaded.

    tools/run python3 bench/tracking.py [FOLDER] [--inputs 2 8] [--megabytes 400] [--turns 5]

The recording, 8-bit complex samples in one file, stands in a folder (a RAM disk is best). A row is
a number of inputs: seconds of processors and of a clock that the run without takes, its rate in
megasamples a second of all inputs, and what the same with `--track` takes in addition, in percent;
medians of the turns. Each is the difference of runs over all of the file and over a tenth of it, so
that the start of a run, which loads the positions of the sky, stands beside it, in seconds.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from gnuradio.aperture.arrays.array_description import Input, save_array
from gnuradio.aperture.testing.arrays import make_array

RATE, CENTER, CHANNELS = 4e6, 1.4e9, 256
SHORT = 0.1  # part of the recording of a run that shows what the start takes
ROOT = Path(__file__).resolve().parents[1]


def array_of(inputs, path):
    """An array of dishes some hundred metres apart, which needs a model each few seconds."""
    places = {f"A{i}": (40.0 * i, 11.0 * i * (i % 3), 0.0) for i in range(inputs)}
    array = make_array(
        places, inputs=[Input(name, "x") for name in places], rate=RATE, center=CENTER
    )
    save_array(array, path)


def run(command):
    """Seconds of processors and of a clock that a command takes."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--inputs", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--megabytes", type=int, default=400, help="of the recording")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path, help="the table, for programs")
    options = parser.parse_args()
    rows = [measure(options, inputs) for inputs in options.inputs]
    print(
        f"{RATE / 1e6:g} MHz, {CHANNELS} channels, {options.megabytes} MB, {options.device}, ",
        end="",
    )
    print(f"{options.turns} turns, medians; {os.cpu_count()} processors")
    print(
        "| inputs | CPU s | wall s | Msample/s | --track: CPU % | wall % | start, CPU s | "
        "least, most CPU % |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            "| " + " | ".join(f"{value:.4g}" for value in row[:-2]) + " | "
            f"{row[-2]:+.1f}, {row[-1]:+.1f} |"
        )
    if options.json:
        options.json.write_text(json.dumps({"command": sys.argv, "rows": rows}, indent=1))


def measure(options, inputs):
    """A row: inputs, seconds of processors and of a clock, Msample/s, and what is added."""
    recording = options.folder / "bench-tracking.sc8"
    array = options.folder / "bench-tracking.yml"
    written = options.folder / "bench-tracking.uvh5"
    samples = options.megabytes * 1_000_000 // (2 * inputs)
    noise = np.random.default_rng(1).normal(0, 20, 2 * inputs * samples // 16)
    piece = np.clip(np.rint(noise), -127, 127).astype(np.int8).tobytes()
    try:
        recording.write_bytes(piece * 16)
        array_of(inputs, array)
        command = [
            sys.executable,
            str(ROOT / "apps" / "aperture_fx"),
            *(
                "--input",
                f"raw:{recording},rate={RATE},freq={CENTER},inputs={inputs},time=1700000000",
            ),
            *("--array", str(array), "--channels", str(CHANNELS), "--integration", "0.5"),
            *("--device", options.device, "--gain", "1", "--output", str(written)),
        ]
        tracked = [*command, "--track", "Cas A"]
        short = ["--duration", str(SHORT * samples / RATE)]
        run(tracked)  # warms up: files of the page cache, and plans of FFTW
        # [turn][plain, tracked, and both of a short run][CPU, wall]
        turns = np.array(
            [
                [run(each) for each in (command, tracked, [*command, *short], [*tracked, *short])]
                for _ in range(options.turns)
            ]
        )
    finally:
        for path in (recording, array, written):
            path.unlink(missing_ok=True)
    streams = turns[:, :2] - turns[:, 2:]
    added = 100 * (streams[:, 1] / streams[:, 0] - 1)
    start = np.median(turns[:, 3, 0] - turns[:, 2, 0])
    cpu, wall = np.median(streams[:, 0], axis=0)
    rate = (1 - SHORT) * samples * inputs / wall / 1e6
    return [
        float(value) for value in (inputs, cpu, wall, rate, *np.median(added, axis=0), start)
    ] + [float(added[:, 0].min()), float(added[:, 0].max())]


if __name__ == "__main__":
    main()
