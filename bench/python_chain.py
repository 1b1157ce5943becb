#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what a block in Python costs a chain on a GPU: F-engine and X-engine (sc8), by turns with
nothing between them, with a block in C++ that copies, and with one in Python that sets the voltages
of channels with known interference to zero by CuPy. Prints the time that a frame takes in each, in
the Python block's kernel alone (events of CUDA, calls as long), and how much of the rate of the
chain without the block, its kernel's time added, the one with it reaches. On the CPU and on the
emulated device it shows only that everything works.

    tools/run python3 bench/python_chain.py
    tools/run python3 bench/python_chain.py --device emulated --inputs 4 --channels 64 --calls 2
"""

import argparse
import json
import statistics
import time

import numpy as np
from gnuradio import aperture, gr

SAMPLES = 1 << 20  # samples of each input, repeated


class channel_mask(aperture.device_block):
    """Sets the voltages of some channels to zero: 8 bytes at a time, of whatever type."""

    def __init__(self, options):
        length = options.inputs * options.spectra * 2 // 8
        frame = (np.int64, (options.channels, length))
        super().__init__("channel_mask", [frame], [frame], device=options.device, arrays="cupy")
        self.good = np.full((options.channels, 1), -1, np.int64)
        self.good[:: options.channels // 16] = 0
        self.mask = None

    def work(self, inputs, outputs):
        if self.mask is None:
            self.mask = self.xp.asarray(self.good)
        self.xp.bitwise_and(inputs[0], self.mask, out=outputs[0])


def noise(inputs):
    """Samples of an rms of 20 steps, interleaved, as bytes."""
    random = np.random.default_rng(1)
    some = np.clip(np.rint(random.normal(0, 20, 2 * SAMPLES)), -127, 127).astype(np.int8)
    return b"".join(np.roll(some, 1001 * i).tobytes() for i in range(inputs))


def measure(options, data, frames, middle):
    """Seconds that a frame takes in the chain, and the block in its middle."""
    width = options.inputs_per_port
    engine = aperture.f_engine(
        channels=options.channels,
        inputs=options.inputs,
        inputs_per_port=width,
        input_type="sc8",
        output_type="sc8",
        spectra_per_frame=options.spectra,
        device=options.device,
    )
    correlator = aperture.xengine(
        channels=options.channels,
        inputs=options.inputs,
        type="sc8",
        spectra_per_frame=options.spectra,
        integration=options.integration,
        device=options.device,
    )
    products = options.channels * options.inputs * (options.inputs + 1) // 2
    end = aperture.discard(item_size=8 * products, device=options.device)
    block = {
        "nothing": lambda: None,
        "python": lambda: channel_mask(options),
        "copy": lambda: aperture.copy(
            item_size=2 * options.channels * options.inputs * options.spectra, device=options.device
        ),
    }[middle]()
    engines = [engine, block, correlator] if block else [engine, correlator]
    top = gr.top_block()
    for port in range(options.inputs // width):
        source = aperture.replay(
            item_size=2 * width, data=data, repeats=0, rate=1e6, device=options.device
        )
        source.set_min_output_buffer(2 * frames * options.spectra * options.channels)
        top.connect(source, (engine, port))
    for one in engines[:-1]:  # half of a ring is the longest call
        one.set_min_output_buffer(2 * frames)
    top.connect(*engines, end)

    def wait_for(items):
        limit = time.monotonic() + 120
        while end.nitems_read(0) < items:
            if time.monotonic() > limit:
                raise SystemExit(
                    "the flowgraph stands still: "
                    + "; ".join(b.error() for b in engines if b.error())
                )
            time.sleep(0.0001)
        return end.nitems_read(0), time.monotonic()

    top.start()
    wait_for(1)
    found = aperture.tap(correlator, dtype=np.complex64).reshape(options.channels, -1)
    time.sleep(options.seconds / 2)  # rings are full, and calls as long as they will be
    begin, started = wait_for(end.nitems_read(0) + 1)
    time.sleep(options.seconds)
    last, ended = wait_for(max(end.nitems_read(0), begin) + 1)
    top.stop()
    top.wait()
    errors = [one.error() for one in [*engines, end] if one.error()]
    if errors:
        raise SystemExit("; ".join(errors))
    zero = ~found.any(axis=1)
    expected = block.good[:, 0] == 0 if middle == "python" else np.zeros(options.channels, bool)
    if (zero != expected).any():
        raise SystemExit(f"{middle}: channels {np.flatnonzero(zero)} of the visibilities are zero")
    return (ended - started) / ((last - begin) * options.integration), block


def kernel_alone(options, frames):
    """Seconds that the block's kernel takes for a frame, in calls of so many, on two rings."""
    import cupy

    block = channel_mask(options)
    block.xp = cupy
    shape = (2, frames, options.channels, options.inputs * options.spectra * 2 // 8)
    read = (cupy.arange(np.prod(shape)) * 0x5DEECE66D).reshape(shape)
    written = cupy.zeros_like(read)
    # until all calls are enqueued
    wait = cupy.RawKernel(
        'extern "C" __global__ void wait(long long cycles)\n{\n'
        "    const long long start = clock64();\n"
        "    while (clock64() - start < cycles)\n        ;\n}\n",
        "wait",
    )
    calls, times = 64, []
    for _ in range(7):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        wait((1,), (1,), (np.int64(20_000_000),))
        begin.record()
        for call in range(calls):
            block.work([read[call % 2]], [written[call % 2]])
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3 / (calls * frames))
    return statistics.median(times[1:])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="of all blocks (default: cuda)")
    parser.add_argument("--inputs", type=int, default=64)
    parser.add_argument("--inputs-per-port", type=int, help="default: 16, or all of fewer")
    parser.add_argument("--channels", type=int, default=1024)
    parser.add_argument("--spectra", type=int, default=256, help="of a frame")
    parser.add_argument("--integration", type=int, default=16, help="frames of an integration")
    parser.add_argument(
        "--calls",
        type=int,
        nargs="+",
        default=[1, 4, 16],
        metavar="FRAMES",
        help="frames that a call has at most, half of what a ring holds (default: 1 4 16)",
    )
    parser.add_argument("--seconds", type=float, default=1, help="of a measurement")
    parser.add_argument("--turns", type=int, default=3, help="measurements of each chain")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    gr.logging().set_default_level(gr.log_levels.warn)
    options.inputs_per_port = options.inputs_per_port or min(16, options.inputs)
    if options.inputs % options.inputs_per_port:
        parser.error(
            f"--inputs-per-port: {options.inputs_per_port} does not divide {options.inputs} inputs"
        )
    if options.channels % 16 or options.inputs * options.spectra % 4:
        parser.error("--channels must be a multiple of 16, inputs times spectra one of 4")
    on_gpu = options.device.startswith("cuda")
    if on_gpu:
        import cupy

        print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), "CuPy", cupy.__version__)
    samples = options.inputs * options.channels * options.spectra
    print(
        f"{options.inputs} inputs, {options.channels} channels, frames of "
        f"{2 * samples / (1 << 20):g} MiB; us a frame"
    )
    print("frames a call   nothing      copy    python    kernel   reached   held a call")

    data, rows = noise(options.inputs_per_port), []
    for frames in options.calls:
        all_times, held, length = {"nothing": [], "copy": [], "python": []}, [], []
        for _ in range(options.turns):
            for middle, times in all_times.items():
                seconds, block = measure(options, data, frames, middle)
                times.append(seconds)
                if middle == "python":
                    held.append(block.seconds() / block.calls())
                    length.append(block.nitems_read(0) / block.calls())
        row = {middle: statistics.median(times) for middle, times in all_times.items()}
        frames_a_call = round(statistics.median(length))
        row["kernel"] = kernel_alone(options, max(1, frames_a_call)) if on_gpu else 0
        reached = (row["nothing"] + row["kernel"]) / row["python"]
        rows.append(
            dict(row, frames=frames, all=all_times, reached=reached, held=held, length=length)
        )
        print(
            f"{frames:13d}"
            + "".join(f"{1e6 * row[what]:10.1f}" for what in row)
            + f"{reached:10.3f}{1e6 * statistics.median(held):8.1f} us of "
            f"{statistics.median(length):.1f} frames   "
            f"({samples / row['nothing'] / 1e9:.1f} and {samples / row['python'] / 1e9:.1f} "
            "Gsample/s)",
            flush=True,
        )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
