#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what a voltage ring costs the chain whose frames it keeps: without it, idle, and always
dumping.

    tools/run python3 bench/voltage_ring.py [DEVICE [CHAIN [RATE [SECONDS [ROUNDS [FOLDER]]]]]]

CHAIN: fx (F-engine and X-engine, on samples of 4 inputs out of the device's memory, sc8) or copy (a
block that only copies frames of a megabyte). RATE: frames a second at which it runs: then frames or
samples come from the host, held back by a clock as by a receiver; 0: as fast as it can. "discard"
has one more reader of the frames that only drops them, in place of the ring. "dumping"
asks for the newest part of the ring again and again; files (DADA, all channels) are removed when
they are whole, in FOLDER. Prints the medians, the ratio to the chain without the ring
in the same round, what a processor is given for each frame, which does not depend on what else the
machine does, and what the dumps wrote and lacked.
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

from snapshot import CHANNELS, FRAME, INPUTS, SPECTRA, correlated, noise

HOP = CHANNELS * SPECTRA  # samples of an input in a frame
RING = 128 << 20


def dump_all_the_time(ring, stop):
    """Keeps two dumps going, each of a quarter of what is in the ring."""
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


def seconds_of_threads():
    """Seconds that a processor was given to the chain, to the ring's block, and to its dumps."""
    found = {"chain": 0.0, "ring": 0.0, "dumps": 0.0, "asking": 0.0}
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            spent = int((task / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            continue
        found[
            "ring"
            if name.startswith("item_ring")
            else "dumps"
            if name == "voltage_dumps"
            else "asking"
            if name.startswith("python3")
            else "chain"
        ] += spent
    return found


def held_back(top, source, size, rate):
    """The source, behind a clock where a rate is given."""
    if not rate:
        return source
    clock = blocks.throttle(size, rate, True)
    top.connect(source, clock)
    return clock


def fx_chain(top, device, rate):
    """Connects it; returns the block whose output are frames, and the last one."""
    source = aperture.replay(
        noise(),
        2 * INPUTS,
        repeats=0,
        rate=1e6,
        start_time=(1704067200, 0.0),
        center_frequency=1e9,
        device="cpu" if rate else device,
    )
    return correlated(top, held_back(top, source, 2 * INPUTS, rate * HOP), device)


def copy_chain(top, device, rate):
    """Builds the same chain from copies."""
    frames = np.random.default_rng(1).integers(0, 255, 16 * FRAME, dtype=np.uint8)
    source = aperture.replay(
        frames.tobytes(),
        FRAME,
        repeats=0,
        rate=1e6 / HOP,
        start_time=(1704067200, 0.0),
        center_frequency=1e9,
        bandwidth=1e6,
        device="cpu" if rate else device,
    )
    copy, end = aperture.copy(FRAME, device=device), aperture.discard(FRAME, device)
    top.connect(held_back(top, source, FRAME, rate), copy, end)
    return copy, end


def frames_a_second(device, chain, seconds, kind, folder, rate):
    """Returns frames a second of the chain; bytes a second that dumps wrote, how many there were
    and how many lacked something; milliseconds of a processor for each frame of the chain, the ring
    and the dumps."""
    top = gr.top_block()
    frames, end = (fx_chain if chain == "fx" else copy_chain)(top, device, rate)
    weight = 8 if chain == "fx" else 1
    stop, thread, ring = threading.Event(), None, None
    if kind == "discard":
        top.connect(frames, aperture.discard(FRAME, device))
    elif kind:
        ring = aperture.voltage_ring(
            f"{folder}/b-{{id}}-{{time}}.dada",
            channels=CHANNELS,
            inputs=INPUTS,
            spectra_per_frame=SPECTRA,
            type="sc8",
            size=RING if device == "cpu" else 32 * RING,
            device=device,
            disk_limit=None,
        )
        ring._dumping.set_log_level("off")
        top.connect(frames, ring)
        if kind == "dumping":
            thread = threading.Thread(target=dump_all_the_time, args=(ring, stop))
    top.start()
    if thread:
        thread.start()
    time.sleep(seconds / 2)
    before, begin = end.items(), time.monotonic()
    wrote, busy = ring.bytes_written() if ring else 0, seconds_of_threads()
    time.sleep(seconds / 2)
    took = time.monotonic() - begin
    count = (end.items() - before) * weight
    found = count / took
    spent = [
        1e3 * (now - busy[name]) / max(1, count)
        for name, now in seconds_of_threads().items()
        if name != "asking"
    ]
    wrote = (ring.bytes_written() - wrote) / took if ring else 0
    stop.set()
    if thread:
        thread.join()
    top.stop()
    top.wait()
    lacking = sum(not dump["complete"] for dump in ring.dumps()[:-2]) if ring else 0
    done = len(ring.dumps()) if ring else 0
    return found, wrote, done, lacking, spent


def main(device="cpu", chain="fx", rate="0", seconds="4", rounds="5", folder=None):
    kinds = ["", "discard", "idle", "dumping"]
    rates, wrote, dumps, lacking = {kind: [] for kind in kinds}, [], 0, 0
    spent = {kind: [] for kind in kinds}
    made = folder or tempfile.mkdtemp(prefix="voltage_ring")
    frames_a_second(device, chain, 1, "idle", made, float(rate))
    for number in range(int(rounds)):
        for kind in kinds if number % 2 else kinds[::-1]:
            found, bytes_a_second, done, lack, each = frames_a_second(
                device, chain, float(seconds), kind, made, float(rate)
            )
            rates[kind].append(found)
            spent[kind].append(each)
            if kind == "dumping":
                wrote.append(bytes_a_second)
                dumps, lacking = dumps + done, lacking + lack
    for kind in kinds:
        middle = statistics.median(rates[kind])
        ratios = [one / alone for one, alone in zip(rates[kind], rates[""])]
        print(
            f"{device}, {chain}, {kind or 'without'}: {middle:.1f} frames a second of "
            f"{FRAME / 1e6:.2f} MB, {middle * FRAME / 1e9:.3f} GB/s, "
            f"{statistics.median(ratios):.3f} of without "
            f"({min(ratios):.3f} to {max(ratios):.3f}); of a processor for each frame: "
            + ", ".join(
                f"{name} {statistics.median(each):.3f} ms"
                for name, each in zip(("chain", "ring", "dumps"), zip(*spent[kind]))
            )
        )
    print(
        f"{device}: dumps wrote {statistics.median(wrote) / 1e9:.3f} GB/s; of {dumps}, {lacking} "
        "lacked something"
    )
    if folder is None:
        shutil.rmtree(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
