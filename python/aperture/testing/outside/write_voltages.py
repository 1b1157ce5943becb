#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes the files that check_voltages.py checks with the sigmf package, baseband and blimpy:
write_voltages.py FOLDER"""

import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
from gnuradio import aperture, blocks, gr

from gnuradio.aperture import tags
from gnuradio.aperture.testing.qa_tools import ByteSource, comes_true, gr_tag, gr_tags, run_chain

START, FRACTION = 1704067200, 0.123456789
WIDTH, FREQUENCY = 15625.0, 1.42e9


def write(folder, filename, frames, missing=(), **arguments):
    """Writes voltages into files. frames: [frame][channel][input][time](re, im); missing: (frame,
    input, first, count)"""
    channels, inputs, spectra = frames.shape[1:4]
    values = {
        tags.rx_time: (START, FRACTION),
        tags.rx_freq: FREQUENCY,
        tags.rx_rate: WIDTH / spectra,
        tags.bandwidth: WIDTH * channels,
    }
    found = gr_tags(0, values)
    for frame, number, first, count in missing:
        value = {tags.input: number, tags.first: first, tags.count: count}
        found.append(gr_tag(frame, tags.missing, value))
    data = np.ascontiguousarray(frames).view(np.uint8).reshape(len(frames), -1)
    source = blocks.vector_source_b(data.ravel().tolist(), False, data.shape[1], found)
    sink = aperture.voltage_sink(
        folder / filename, channels, inputs, spectra, array="two-dish", **arguments
    )
    run_chain(source, sink)
    if sink.error() is not None:
        raise SystemExit(sink.error())


def dump(folder, frames):
    """Frames 2 to 4 of these as DADA files out of a ring: all in one, and a channel of each."""
    channels, inputs, spectra = frames.shape[1:4]
    data = np.ascontiguousarray(frames).view(np.uint8).reshape(len(frames), -1)
    # the last frame waits until the dumps are written: a ring whose stream has ended takes none
    written = threading.Event()
    source = ByteSource(
        data,
        [
            (0, tags.rx_time, (START, FRACTION)),
            (0, tags.rx_freq, FREQUENCY),
            (0, tags.rx_rate, WIDTH / spectra),
            (0, tags.bandwidth, WIDTH * channels),
        ],
        gates={len(data) - 1: written},
    )
    rings = [
        aperture.voltage_ring(
            str(folder / name),
            channels=channels,
            inputs=inputs,
            spectra_per_frame=spectra,
            type="sc8",
            array="two-dish",
            names=["left", "right"],
            size=4 * data.size,
        )
        for name in ("{id}-{time}.dada", "{id}-{time}-{channel}-{input}.dada")
    ]
    top, start = gr.top_block(), Fraction(FRACTION)
    for ring in rings:
        top.connect(source, ring)
    top.start()
    for number, ring in enumerate(rings):
        ring.trigger(
            f"ring{number}",
            *(
                (START, float(start + Fraction(frame * spectra) / Fraction(WIDTH)))
                for frame in (2, 5)
            ),
        )
    comes_true(lambda: all(sum(ring.counts().values()) for ring in rings))
    written.set()
    top.wait()
    for ring in rings:
        if ring.counts() != {"written": 1, "failed": 0, "refused": 0}:
            raise SystemExit(f"dumps: {ring.counts()}, {ring.dumps()}")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    frames = rng.integers(-127, 128, (7, 6, 2, 40, 2)).astype(np.int8)
    floats = rng.normal(size=(3, 2, 3, 25, 2)).astype(np.float32)
    np.savez(
        folder / "frames.npz",
        frames=frames,
        floats=floats,
        start=START,
        fraction=FRACTION,
        width=WIDTH,
        frequency=FREQUENCY,
    )
    write(
        folder,
        "pair.raw",
        frames,
        type="sc8",
        selected_channels=None,
        polarizations=2,
        names=["Cas A"],
        blocks_per_file=3,
        missing=[(2, 0, 80, 40), (2, 1, 80, 10)],
    )
    write(
        folder,
        "one-{input}.raw",
        frames,
        type="sc8",
        selected_channels=[1, 2, 3],
        selected_inputs=[1],
    )
    write(
        folder,
        "bytes-{channel}.sigmf-meta",
        frames,
        type="sc8",
        selected_channels=[4],
        names=["left", "right"],
        missing=[(1, 1, 50, 9)],
    )
    for path in folder.glob("ring*"):
        path.unlink()
    dump(folder, frames)
    write(folder, "floats.sigmf-meta", floats, type="fc32", kind="beams", selected_channels=[1])


if __name__ == "__main__":
    main()
