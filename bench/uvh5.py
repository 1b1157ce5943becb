#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what uvh5_sink takes of a processor, beside what h5py takes for the same visibilities alone
and what write(2) takes for as many bytes, in turns, to the same place.

    tools/run python3 bench/uvh5.py [FOLDER] [--inputs 2 8 64] [--megabytes 300] [--turns 5]

A row is a number of inputs (of two polarisations), with counts of masks or without, and
integrations that are short (1 ms, published once a second) or long (1 s, each published). Times are
those of the thread that writes, of the block's work() as a flowgraph calls it, without the first
integration. Prints megabytes of visibilities a processor second, and milliseconds an integration,
medians of the turns. `beside` is what is left of an integration when it is taken off what h5py's
rate would take twice: what it may take, and does where that is below 0.
"""

import argparse
import json
import os
import statistics
import time
from pathlib import Path

import h5py
import numpy as np
import pmt
from gnuradio import gr

from gnuradio.aperture import tags, uvh5_sink
from gnuradio.aperture.arrays.array_description import Input
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.qa_tools import to_pmt

SPECTRA = 100
#: inputs -> channels, of items of 0.02 to 70 MB
CHANNELS = {2: 1024, 8: 1024, 64: 1024, 256: 256, 512: 64}
NAME = "bench-uvh5.tmp"


class measured(uvh5_sink):
    """A sink that is called as by a flowgraph, with the states that it is given."""

    def described(self, port, count):
        return [self.found]


def array_of(inputs):
    antennas = max(1, inputs // 2)
    return make_array(
        {f"A{i}": (10.0 * i, 0.1 * i * i, 0.0) for i in range(antennas)},
        inputs=[Input(f"A{i}", letter) for i in range(antennas) for letter in "xy"],
    )


def visibilities(inputs, channels):
    """Two integrations [channel][product], which are written in turns."""
    shape = (2, channels, inputs * (inputs + 1) // 2, 2)
    values = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    values = values.view(np.complex64)[..., 0]
    # powers are positive: noise, and no receiver that is stuck
    powers = np.arange(inputs) * (np.arange(inputs) + 3) // 2
    values[..., powers] = np.abs(values[..., powers])
    return values


def of_sink(path, items, inputs, masks, length, count):
    """Seconds of the sink's thread, an integration."""
    channels = items.shape[1]
    sink = measured(path, array_of(inputs), channels, counts=masks)
    sink.logger = gr.logger("bench")
    state = {
        tags.rx_freq: 1e9,
        tags.bandwidth: SPECTRA * channels / length,
        tags.spectra: SPECTRA,
        tags.counted: np.array([SPECTRA], np.uint64),
    }
    counts = np.random.default_rng(2).integers(1, SPECTRA, items[0].shape, endpoint=True)
    counts = counts.astype(np.uint32).reshape(1, -1)
    sink.start()
    try:
        for number in range(count + 1):
            if number == 1:
                before = time.thread_time()
            begin = {} if number else {tags.rx_time: (1704067200, 0.0)}
            sink.found = {key: as_tag(key, value) for key, value in (begin | state).items()}
            given = [items[number % 2].reshape(1, -1)]
            if sink.work(given + [counts] * masks, []) != 1:
                raise RuntimeError(sink.error())
        taken = time.thread_time() - before
    finally:
        sink.stop()
    return taken / count


def as_tag(key, value):
    """The value of a tag as the X-engine sends it."""
    if key == tags.spectra:
        return pmt.from_uint64(value)
    if key == tags.counted:
        return pmt.init_u64vector(len(value), value.tolist())
    return to_pmt(value)


def of_h5py(path, items, inputs, count):
    """Seconds of h5py, an integration, which is a chunk of one dataset."""
    shape = items.shape[1:]
    with h5py.File(path, "w") as file:
        data = file.create_dataset(
            "visdata", (0, *shape), items.dtype, maxshape=(None, *shape), chunks=(1, *shape)
        )
        for number in range(count + 1):
            if number == 1:
                before = time.thread_time()
            data.resize(number + 1, axis=0)
            data[number] = items[number % 2]
        return (time.thread_time() - before) / count


def of_write(path, items, inputs, count):
    """Seconds of write(2), an integration."""
    with open(path, "wb", buffering=0) as file:
        for number in range(count + 1):
            if number == 1:
                before = time.thread_time()
            left = memoryview(items[number % 2]).cast("B")
            while len(left):
                left = left[file.write(left) :]
        return (time.thread_time() - before) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="/dev/shm", type=Path)
    parser.add_argument("--inputs", type=int, nargs="+", default=list(CHANNELS))
    parser.add_argument("--megabytes", type=float, default=300)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    path, rows = options.folder / NAME, []
    print(f"{options.folder}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(
        "inputs channels masks  length | MB/s: sink   h5py  write | ms: sink   h5py  write beside"
    )
    for inputs in options.inputs:
        items = visibilities(inputs, CHANNELS.get(inputs, 1024))
        size = items[0].nbytes / 1e6
        count = int(max(4, min(300, options.megabytes / size)))
        for masks in (False, True):
            for length in (1e-3, 1.0):
                found = {"sink": [], "h5py": [], "write": []}
                for _ in range(options.turns):
                    for name, call in (
                        ("sink", lambda: of_sink(path, items, inputs, masks, length, count)),
                        ("h5py", lambda: of_h5py(path, items, inputs, count)),
                        ("write", lambda: of_write(path, items, inputs, count)),
                    ):
                        found[name].append(1e3 * call())
                        path.unlink()
                ms = {name: statistics.median(each) for name, each in found.items()}
                row = {
                    "inputs": inputs,
                    "channels": items.shape[1],
                    "masks": masks,
                    "length": length,
                    "megabytes": size,
                    "ms": ms,
                    "megabytes_a_second": {name: 1e3 * size / each for name, each in ms.items()},
                    "beside": ms["sink"] - 2 * ms["h5py"],
                }
                rows.append(row)
                rates = " ".join(f"{1e3 * size / each:6.0f}" for each in ms.values())
                times = " ".join(f"{each:6.2f}" for each in ms.values())
                print(
                    f"{inputs:6} {items.shape[1]:8} {'yes' if masks else 'no':>5} {length:5.3g} s |"
                    f"     {rates} |   {times} {row['beside']:6.2f}",
                    flush=True,
                )
    print(json.dumps({"folder": str(options.folder), "rows": rows}))


if __name__ == "__main__":
    main()
