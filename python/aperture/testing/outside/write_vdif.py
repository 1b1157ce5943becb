#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes the files that check_vdif.py checks with baseband: write_vdif.py FOLDER"""

import sys
from pathlib import Path

import numpy as np
from gnuradio import aperture

from gnuradio.aperture import tags
from gnuradio.aperture.testing.qa_tools import ByteSource, run_chain

START, FRACTION = 1704067200 + 86399, 0.75  # a quarter of a second before a day ends
RATE = 160e3
#: name -> bits, complex, inputs, channels of a frame, data bytes, EDV
CASES = {
    "one": (1, False, 2, 1, 1000, 0),
    "two": (2, False, 2, 1, 8000, 1),
    "four": (4, True, 2, 1, 1000, 0),
    "eight": (8, False, 4, 2, 1000, 3),
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    for name, (bits, is_complex, inputs, channels, size, edv) in CASES.items():
        parts = 2 if is_complex else 1
        values = rng.normal(size=(80000, inputs, parts)).astype(np.float32)
        values *= np.arange(1, inputs + 1, dtype=np.float32)[:, None]
        found = [
            (0, tags.rx_time, (START, FRACTION)),
            (0, tags.rx_rate, RATE),
            # a frame of each thread is invalid: one in the middle
            (0, tags.missing, {tags.input: 0, tags.first: 45000, tags.count: 1}),
            (0, tags.missing, {tags.input: inputs - 1, tags.first: 45000, tags.count: 1}),
        ]
        source = ByteSource(values.view(np.uint8).reshape(len(values), -1), found)
        sink = aperture.vdif_sink(
            str(folder / f"{name}.vdif"),
            inputs=inputs,
            type="fc32" if is_complex else "f32",
            sample_rate=RATE,
            bits=bits,
            station="Ef",
            data_bytes=size,
            inputs_per_frame=channels,
            edv=edv,
            level=1.0,
        )
        run_chain(source, sink)
        if sink.error() is not None:
            raise SystemExit(sink.error())
        np.savez(
            folder / f"{name}.npz",
            values=values[..., 0] + 1j * values[..., 1] if is_complex else values[..., 0],
            start=START,
            fraction=FRACTION,
            rate=RATE,
            invalid=45000,
            **dict(zip(("bits", "is_complex", "inputs", "channels", "size", "edv"), CASES[name])),
        )


if __name__ == "__main__":
    main()
