#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what a snapshot at ten items a second costs the chain that it looks at.

    tools/run python3 bench/snapshot.py [DEVICE [CHAIN [SECONDS [ROUNDS]]]]

Beside it stands what one more reader of the edge costs that only drops the items, discard.

CHAIN: fx (F-engine and X-engine, on samples out of the device's memory, sc8 of 4 inputs) or copy (a
block that only copies frames of a megabyte). It runs as fast as it can; a snapshot on the edge of
frames, read by a thread, comes and goes from one round to the next. The rates are those in the
second half of SECONDS; of each pair of rounds there is a ratio. Prints the medians, how far ratios
scatter, and the snapshot's part of the processors' time, which does not depend on what else the
machine does.
"""

import pathlib
import statistics
import sys
import threading
import time

import numpy as np
from gnuradio import aperture, gr

CHANNELS, INPUTS, SPECTRA = 1024, 4, 128
FRAME = 2 * CHANNELS * INPUTS * SPECTRA  # bytes
SNAPSHOTS = 10  # a second


def seconds_of_threads():
    """Name of a thread and its number to the seconds that it had a processor."""
    found = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        name = (task / "comm").read_text().strip(), task.name
        found[name] = int((task / "schedstat").read_text().split()[0]) / 1e9
    return found


def noise():
    """Samples [time][input] of sc8 as bytes."""
    rng = np.random.default_rng(1)
    return rng.integers(-60, 60, (1 << 20, INPUTS, 2), dtype=np.int8).tobytes()


def correlated(top, source, device):
    """Correlates a source's samples; returns the block whose output are frames, and the last one,
    of which an item is made of 8 frames."""
    engine = aperture.f_engine(
        channels=CHANNELS,
        inputs=INPUTS,
        inputs_per_port=INPUTS,
        input_type="sc8",
        output_type="sc8",
        spectra_per_frame=SPECTRA,
        device=device,
    )
    correlator = aperture.xengine(
        channels=CHANNELS,
        inputs=INPUTS,
        spectra_per_frame=SPECTRA,
        type="sc8",
        integration=8,
        device=device,
    )
    end = aperture.discard(8 * CHANNELS * INPUTS * (INPUTS + 1) // 2, device)
    top.connect(source, engine, correlator, end)
    return engine, end


def fx_chain(top, device):
    """Connects it; returns the block whose output are frames, the last one, and how many frames an
    item there is made of."""
    source = aperture.replay(noise(), 2 * INPUTS, repeats=0, rate=1e6, device=device)
    return *correlated(top, source, device), 8


def copy_chain(top, device):
    """Builds the same chain from copies."""
    source = aperture.replay(bytes(16 * FRAME), FRAME, repeats=0, device=device)
    copy, end = aperture.copy(FRAME, device=device), aperture.discard(FRAME, device)
    top.connect(source, copy, end)
    return copy, end, 1


def frames_a_second(device, chain, seconds, looks):
    """Returns the frames a second of the chain, with a snapshot or without; the items that were
    read; and the part of the time of all threads that the snapshot's thread and its reader took."""
    top = gr.top_block()
    if chain == "fx":
        frames, end, frames_in_item = fx_chain(top, device)
    else:
        frames, end, frames_in_item = copy_chain(top, device)
    read, stop = [], threading.Event()
    if looks == "discard":
        top.connect(frames, aperture.discard(FRAME, device))
    elif looks:
        look = aperture.snapshot(FRAME, rate=SNAPSHOTS, device=device)
        top.connect(frames, look)

        def reader():
            while not stop.wait(1 / SNAPSHOTS):
                item = look.read()
                if item is not None:
                    read.append(item.serial)

        thread = threading.Thread(target=named, args=("reader", reader))
        thread.start()
    top.start()
    time.sleep(seconds / 2)
    before, begin, busy = end.items(), time.monotonic(), seconds_of_threads()
    time.sleep(seconds / 2)
    rate = (end.items() - before) * frames_in_item / (time.monotonic() - begin)
    used = {name: spent - busy.get(name, 0) for name, spent in seconds_of_threads().items()}
    part = sum(
        spent for name, spent in used.items() if name[0].startswith(("snapshot", "reader"))
    ) / sum(used.values())
    top.stop()
    top.wait()
    stop.set()
    if looks == "snapshot":
        thread.join()
    return rate, len(set(read)), part


def named(name, function):
    """Runs it with a name of the thread that the system knows."""
    pathlib.Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name)
    function()


def main(device="cpu", chain="fx", seconds="4", rounds="9"):
    kinds = ["", "snapshot", "discard"]
    parts, rates = [], {kind: [] for kind in kinds}
    frames_a_second(device, chain, 1, "snapshot")
    for number in range(int(rounds)):
        # in both orders, for machines that become slower or faster
        for looks in kinds if number % 2 else kinds[::-1]:
            rate, read, part = frames_a_second(device, chain, float(seconds), looks)
            rates[looks].append(rate)
            if looks == "snapshot":
                parts.append(part)
            if looks == "snapshot" and read < float(seconds) * SNAPSHOTS / 2:
                print(f"only {read} items were read")
    for looks in kinds:
        middle = statistics.median(rates[looks])
        ratios = [with_it / without for with_it, without in zip(rates[looks], rates[""])]
        ratio = statistics.median(ratios)
        error = 1.4826 * statistics.median(abs(one - ratio) for one in ratios)
        print(
            f"{device}, {chain}, {'with ' + looks if looks else 'alone'}: {middle:.1f} frames of "
            f"{FRAME / 1e6:.2f} MB a second, {middle * FRAME / 1e9:.2f} GB/s, "
            f"{ratio:.4f} +- {error / len(ratios) ** 0.5:.4f} of alone"
        )
    print(
        f"{device}, {chain}: the snapshot and its reader take "
        f"{100 * statistics.median(parts):.3f} % of the processors' time"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
