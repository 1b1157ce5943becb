#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The last seconds of an array's voltages are kept in memory, and a timer has some of them written
into files, while the stream goes on. A candidate of a pulse search, or a button, would do the same.
Run it with tools/run python3 examples/voltage_dump.py [FOLDER [DUMPS]].
"""

import os
import sys
import time

from gnuradio import aperture, blocks, gr

RATE, CHANNELS, SPECTRA = 2.4e6, 64, 100
BEFORE, AFTER = 0.02, 0.01  # s of the stream, around the newest sample


def main(arguments):
    folder, count = (*arguments, ".", "3")[:2] if len(arguments) < 2 else arguments[:2]
    top = gr.top_block()
    source = aperture.array_source("two-dish", inputs_per_port=2)
    throttle = blocks.throttle(2 * gr.sizeof_gr_complex, RATE)  # not faster than real dishes
    f_engine = aperture.f_engine(
        channels=CHANNELS, inputs=2, inputs_per_port=2, spectra_per_frame=SPECTRA
    )
    ring = aperture.voltage_ring(
        os.path.join(folder, "dump-{id}-{time}-{channel}.sigmf-meta"),
        channels=CHANNELS,
        inputs=2,
        spectra_per_frame=SPECTRA,
        array="two-dish",
        names=["east", "west"],
        size=200e6,
        selected_channels=[10, 32],
    )
    top.connect(source, throttle, f_engine, ring)
    top.start()
    while ring.items() * SPECTRA * CHANNELS < BEFORE * RATE:
        time.sleep(0.01)
    for number in range(int(count)):
        time.sleep(0.5)
        ring.trigger(f"timer-{number + 1}", before=BEFORE, after=AFTER)
        while sum(ring.counts().values()) <= number:
            time.sleep(0.01)
    top.stop()
    top.wait()
    for dump in ring.dumps():
        first = dump["recordings"][0]
        print(
            f"{dump['id']}: {first['samples']} samples of each channel and input from "
            f"{first['start']['utc']}, in {len(dump['files'])} files; "
            f"{'nothing' if dump['complete'] else dump['missing']} is missing"
        )
    return ring


if __name__ == "__main__":
    main(sys.argv[1:])
