#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Edges between several GPUs: random flowgraphs of copies on all of them and of stock blocks, and
rates from one GPU to another. Run by hand:

    tools/run python3 tests/gpu/python/check_device_edges.py [timing]
"""

import sys
import time

import numpy as np
from gnuradio import aperture, blocks, gr

ITEMS = 200_003


def random_flowgraph(seed, devices):
    random = np.random.default_rng(seed)
    size = int(random.choice([1, 125, 4096, 50001]))  # ints of an item
    items = max(40, ITEMS // size)
    x = random.integers(-1000, 1000, items * size, dtype=np.int32)
    top = gr.top_block()
    outputs = [((blocks.vector_source_i(x.tolist(), False, size), 0), x)]
    for _ in range(int(random.integers(4, 12))):
        endpoint, values = outputs[random.integers(len(outputs))]
        if random.random() < 0.25 and size == 1:
            block = blocks.add_const_ii(3)
            values = values + 3
        else:
            block = aperture.copy(item_size=4 * size, device=str(random.choice(devices)))
        top.connect(endpoint, block)
        outputs.append(((block, 0), values))
    sinks = []
    for endpoint, values in outputs[1:]:
        sink = blocks.vector_sink_i(size)
        top.connect(endpoint, sink)
        sinks.append((sink, values))
    return top, sinks


def rate(devices, megabytes, count=2000):
    """GB/s of the last edge of a chain of copies, calls of so many megabytes at most."""
    size = 1 << 20
    top = gr.top_block()
    source = aperture.replay(
        data=np.arange(megabytes * size, dtype=np.uint8),
        item_size=size,
        repeats=count * 8 // megabytes,
        device=devices[0],
    )
    chain = [source] + [aperture.copy(item_size=size, device=d) for d in devices[:-1]]
    for block in chain:
        block.set_min_output_buffer(4 * megabytes)
        block.set_max_noutput_items(megabytes)
    end = aperture.discard(item_size=size, device=devices[-1])
    top.connect(*chain, end)
    start = time.monotonic()
    top.run()
    return source.nitems_written(0) * size / (time.monotonic() - start) / 1e9


def main():
    devices = [name for name in aperture.devices() if name.startswith("cuda")]
    print("devices:", ", ".join(devices))
    if len(devices) < 2:
        sys.exit("check_device_edges: there are fewer than two GPUs here")
    failed = 0
    for seed in range(60):
        top, sinks = random_flowgraph(seed, devices + ["cpu"])
        top.run()
        wrong = [
            i for i, (sink, values) in enumerate(sinks) if not np.array_equal(sink.data(), values)
        ]
        if wrong:
            failed += 1
            print(f"flowgraph {seed}: sinks {wrong} of {len(sinks)} are wrong")
    print(f"random flowgraphs: {failed} of 60 failed")
    if "timing" in sys.argv[1:]:
        one, two = devices[:2]
        for megabytes in (8, 64):
            for chain in ([one, one], [one, two], [one, one, two], [one, two, one]):
                rates = sorted(rate(chain, megabytes) for _ in range(3))
                print(f"{megabytes:3} MiB  {' -> '.join(chain):28} {rates[1]:7.1f} GB/s")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
