#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The reading of files of powers: how fast each number of bits becomes floats, on one core.

    tools/run python3 bench/power_files.py
    tools/run python3 bench/power_files.py --picture search-files.png

A file of 1024 channels, a falling band, in the cache of the system is read by calls of 64 samples,
as a flowgraph does. The bound is NumPy's conversion of bytes in memory to floats, in the same
order, of calls of the same size. With --picture nothing is measured: a burst in a file of 2 bits is
searched by aperture_search, whose picture of it is kept.
"""

import argparse
import glob
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np

from gnuradio.aperture.formats.power_files import PowerRecording
from gnuradio.aperture.testing.power_files import dispersed_pulses, write_psrfits, write_sigproc

CHANNELS, SAMPLES, CALL, ROUNDS = 1024, 8192, 64, 7


def rate_of(read):
    """Values a second of a function that reads all of a file: the median of some rounds."""
    read()
    found = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        read()
        found.append(time.process_time() - begin)
    return CHANNELS * SAMPLES / statistics.median(found)


def reading(path):
    """A function that reads a file by calls of some samples."""
    recording = PowerRecording(path)
    out = np.empty((CALL, *recording.shape), np.float32)

    def read():
        for first in range(0, recording.samples, CALL):
            recording.read_into(first, out)

    return read


def measure(folder):
    """Prints a row for each kind of file."""
    random = np.random.default_rng(1)
    data = random.integers(0, 256, (SAMPLES, CHANNELS), np.uint8)
    out = np.empty((CALL, CHANNELS), np.float32)

    def convert():
        for first in range(0, SAMPLES, CALL):
            np.copyto(out, data[first : first + CALL, ::-1])

    bound = rate_of(convert)
    print(f"bound, bytes in memory to floats: {bound / 1e6:.0f} million values/s")
    print("file       bits  Mvalues/s  MB/s of the file  of the bound")
    for kind, bits in [("SIGPROC", n) for n in (1, 2, 4, 8, 16, 32)] + [
        ("PSRFITS", n) for n in (1, 2, 4, 8, 16)
    ]:
        path = os.path.join(folder, "a")
        values = random.integers(0, 2 ** min(bits, 15), (SAMPLES, 1, CHANNELS))
        if kind == "SIGPROC":
            write_sigproc(path, values, bits, 1400.0, 0.25)
        else:
            rows = values.reshape(8, -1, 1, CHANNELS)
            write_psrfits(path, rows, bits, 1400.0, 0.25, scale=1.5, offset=3.0)
        rate = rate_of(reading(path))
        print(
            f"{kind:9} {bits:5} {rate / 1e6:10.0f} {rate * bits / 8e6:17.0f} {rate / bound:13.2f}"
        )


def draw(folder, picture):
    """Writes a file with a burst, and keeps the picture that aperture_search draws of it."""
    frequencies = 1280.0 + np.arange(256)
    powers = dispersed_pulses(8000, frequencies, 1e-3, [(3.0, 350.0, 0.003, 0.7)])
    levels = np.clip(np.floor(powers + 2), 0, 3).astype(int)
    write_sigproc(os.path.join(folder, "burst.fil"), levels[:, np.newaxis], 2, 1280.0, 1.0)
    command = "aperture_search burst.fil --search dm=0:600,threshold=10 --device cpu"
    subprocess.run(command.split(), cwd=folder, check=True)
    (found,) = glob.glob(os.path.join(folder, "burst-candidates-pictures/*.png"))
    shutil.copy(found, picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n\n", 1)[0])
    parser.add_argument("--picture", metavar="FILE.png")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.picture:
            draw(folder, options.picture)
        else:
            measure(folder)


if __name__ == "__main__":
    main()
