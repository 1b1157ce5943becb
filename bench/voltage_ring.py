#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
What a voltage ring costs the chain whose frames it keeps: without it, idle, and always dumping.

    tools/run python3 bench/voltage_ring.py [DEVICE [SECONDS [ROUNDS [FOLDER [RATE]]]]]

The chain is an F-engine and an X-engine on samples of 4 inputs out of the device's memory, sc8.
RATE: frames a second at which it runs (a clock that holds the source back, as a receiver does); 0:
as fast as it can. "discard" has one more reader of the frames that only drops them, in place of the
ring. "dumping" asks for the newest part of the ring again and again; files (DADA, all channels) are
removed when they are whole, in FOLDER. Prints the medians, the ratio to the chain without the ring
in the same round, and what the dumps wrote and lacked.
"""

import pathlib
import shutil
import statistics
import sys
import tempfile
import threading
import time

import numpy as np
from gnuradio import aperture, blocks, gr

CHANNELS, INPUTS, SPECTRA = 1024, 4, 128
FRAME = 2 * CHANNELS * INPUTS * SPECTRA  # bytes
HOP = CHANNELS * SPECTRA                 # samples of an input in a frame
RING = 512 << 20


def dump_all_the_time(ring, stop):
    """Two dumps at any time, each of a quarter of what is in the ring."""
    number = 0
    while not stop.is_set():
        there = min(ring.items(), ring.capacity())
        if ring.pending() < 2 and there > 8:
            number += 1
            try:
                ring.trigger(f"d{number}", before=there / 4 * HOP / 1e6)
            except RuntimeError:
                return
        for dump in ring.dumps():
            for path in (*dump["files"], dump["description"]):
                pathlib.Path(path or "/nonexistent").unlink(missing_ok=True)
        time.sleep(0.002)


def frames_a_second(device, seconds, kind, folder, rate):
    """Of the chain; GB that dumps wrote, and how many of them lacked something."""
    top = gr.top_block()
    rng = np.random.default_rng(1)
    samples = rng.integers(-60, 60, (1 << 20, INPUTS, 2), dtype=np.int8)
    source = aperture.replay(samples.tobytes(), 2 * INPUTS, repeats=0, rate=1e6,
                             start_time=(1704067200, 0.0), center_frequency=1e9, device=device)
    engine = aperture.f_engine(channels=CHANNELS, inputs=INPUTS, inputs_per_port=INPUTS,
                               input_type="sc8", output_type="sc8", spectra_per_frame=SPECTRA,
                               device=device)
    correlator = aperture.xengine(channels=CHANNELS, inputs=INPUTS, spectra_per_frame=SPECTRA,
                                  type="sc8", integration=8, device=device)
    end = aperture.discard(8 * CHANNELS * INPUTS * (INPUTS + 1) // 2, device)
    if rate:
        top.connect(source, blocks.throttle(2 * INPUTS, rate * HOP, True), engine)
    else:
        top.connect(source, engine)
    top.connect(engine, correlator, end)
    stop, thread, ring = threading.Event(), None, None
    if kind == "discard":
        top.connect(engine, aperture.discard(FRAME, device))
    elif kind:
        ring = aperture.voltage_ring(
            f"{folder}/b-{{id}}-{{time}}.dada", channels=CHANNELS, inputs=INPUTS,
            spectra_per_frame=SPECTRA, type="sc8", size=RING, device=device, disk_limit=None)
        ring._dumping.set_log_level("off")
        top.connect(engine, ring)
        if kind == "dumping":
            thread = threading.Thread(target=dump_all_the_time, args=(ring, stop))
    top.start()
    if thread:
        thread.start()
    time.sleep(seconds / 2)
    before, begin = end.items(), time.monotonic()
    wrote = ring.bytes_written() if ring else 0
    time.sleep(seconds / 2)
    took = time.monotonic() - begin
    found = (end.items() - before) * 8 / took
    wrote = (ring.bytes_written() - wrote) / took if ring else 0
    stop.set()
    if thread:
        thread.join()
    top.stop()
    top.wait()
    lacking = sum(not dump["complete"] for dump in ring.dumps()[:-2]) if ring else 0
    done = len(ring.dumps()) if ring else 0
    return found, wrote, done, lacking


def main(device="cpu", seconds="4", rounds="5", folder=None, rate="0"):
    kinds = ["", "discard", "idle", "dumping"]
    rates, wrote, dumps, lacking = {kind: [] for kind in kinds}, [], 0, 0
    made = folder or tempfile.mkdtemp(prefix="voltage_ring")
    frames_a_second(device, 1, "idle", made, float(rate))
    for number in range(int(rounds)):
        for kind in kinds if number % 2 else kinds[::-1]:
            found, bytes_a_second, done, lack = frames_a_second(device, float(seconds), kind, made,
                                                                float(rate))
            rates[kind].append(found)
            if kind == "dumping":
                wrote.append(bytes_a_second)
                dumps, lacking = dumps + done, lacking + lack
    for kind in kinds:
        middle = statistics.median(rates[kind])
        ratios = [one / alone for one, alone in zip(rates[kind], rates[""])]
        print(f"{device}, {kind or 'without'}: {middle:.1f} frames a second of {FRAME / 1e6:.2f} "
              f"MB, {middle * FRAME / 1e9:.3f} GB/s, {statistics.median(ratios):.3f} of without "
              f"({min(ratios):.3f} to {max(ratios):.3f})")
    print(f"{device}: dumps wrote {statistics.median(wrote) / 1e9:.3f} GB/s; of {dumps}, {lacking} "
          "lacked something")
    if folder is None:
        shutil.rmtree(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
