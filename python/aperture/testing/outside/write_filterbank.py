#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes the files that check_filterbank.py checks with blimpy: write_filterbank.py FOLDER

This part runs with GNU Radio's Python, the other in the venv of tools/outside-venv. What the
numbers in a file are to be goes into a NumPy file beside it.
"""

import sys
from pathlib import Path

import numpy as np
from gnuradio import aperture, blocks

from gnuradio.aperture import tags
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.qa_tools import gr_tags, run_chain

BEAMS = [
    aperture.Beam("zenith", 0.0, 90.0),
    aperture.Beam("Cas A", ra=350.85, dec=58.815),
    aperture.Beam("south", ra=12.5, dec=-0.4),
]
START = 1704067200
RATE, BANDWIDTH, FREQUENCY = 1000.0, 1.6e6, 1.42e9


def array_of(polarizations):
    return make_array(
        {"1": (0.0, 0.0, 0.0)},
        inputs=polarizations,
        rate=BANDWIDTH,
        center=FREQUENCY,
        site=(-33.0, 148.26, 414.8),
        name="Parkes",
    )


def write(folder, name, items, products, nbits, polarizations, filename):
    """Writes powers into filterbank files. items: [integration][beam][product][channel]"""
    start = {
        tags.rx_time: (START, 0.125),
        tags.rx_rate: RATE,
        tags.rx_freq: FREQUENCY,
        tags.bandwidth: BANDWIDTH,
        tags.spectra: 10,
    }
    found = gr_tags(0, start)
    source = blocks.vector_source_f(items.ravel().tolist(), False, items[0].size, found)
    sink = aperture.filterbank_sink(
        str(folder / filename),
        array_of(polarizations),
        BEAMS,
        items.shape[3],
        products=products,
        nbits=nbits,
    )
    run_chain(source, sink)
    if sink.error() is not None:
        raise SystemExit(sink.error())
    offset, step = sink.levels() or (np.zeros(items.shape[1:]), np.zeros(items.shape[1:]))
    np.savez(
        folder / f"{name}.npz",
        items=items,
        offset=offset,
        step=step,
        nbits=nbits,
        files=[Path(path).name for path in sink.files()],
        frequencies=FREQUENCY
        + (np.arange(items.shape[3]) - items.shape[3] // 2) * BANDWIDTH / items.shape[3],
        interval=1 / RATE,
        # the first integration begins half a spectrum of its ten before
        start=60310 + (0.125 - 0.5 / RATE / 10) / 86400,
        ra=[beam.ra if beam.moving else np.nan for beam in BEAMS],
        dec=[beam.dec if beam.moving else np.nan for beam in BEAMS],
    )


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        old.unlink()
    rng = np.random.default_rng(1)
    for nbits in (32, 8):
        for products, count, letters in (("power", 1, "x"), ("I", 1, "xy"), ("IQUV", 4, "xy")):
            powers = rng.normal(size=(150, 3, count, 16)).astype(np.float32)
            powers[:, :, 0] += 30
            for kind, place in (("one", ""), ("each", "-{beam}")):
                label = f"{products}-{nbits}-{kind}"
                write(target, label, powers, products, nbits, letters, f"{label}{place}.fil")
