#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Blocks in Python on a GPU, with CuPy, beside the same in C++ and in CuPy alone.

    check_device_block.py [timing]

Exit code 77: there is no GPU or no CuPy.
"""

import gc
import sys
import time

import numpy as np
from gnuradio import aperture, blocks, gr

try:
    import cupy
except ImportError:
    print("skipped: CuPy is not installed")
    sys.exit(77)
if "cuda:0" not in aperture.devices():
    print("skipped: there is no GPU")
    sys.exit(77)

failures = 0


def check(what, right, text=""):
    global failures
    failures += not right
    print(f"{'ok    ' if right else 'FAILED'} {what} {text if not right else ''}")


def samples(count, seed=1):
    random = np.random.default_rng(seed)
    return (random.standard_normal(count) + 1j * random.standard_normal(count)).astype(np.complex64)


class with_cupy(aperture.device_block):
    def __init__(self, device="cuda"):
        super().__init__("with_cupy", [np.complex64], [np.complex64], device=device, arrays="cupy")

    def work(self, inputs, outputs):
        cupy.conjugate(inputs[0], out=outputs[0])


class by_dlpack(aperture.device_block):
    """Gives its work to CuPy's own stream; a slow kernel shows a lost order."""

    def __init__(self, device="cuda"):
        super().__init__("by_dlpack", [np.complex64], [np.complex64], device=device)
        self.other = None

    def work(self, inputs, outputs):
        if self.other is None:
            self.other = cupy.cuda.Stream(non_blocking=True)
            self.busy = cupy.ones((2048, 2048), np.float32)
        with self.other:
            self.busy @ self.busy
            x = cupy.from_dlpack(inputs[0])
            y = cupy.from_dlpack(outputs[0])
            cupy.conjugate(x, out=y)


class by_assignment(aperture.device_block):
    def __init__(self, device="cuda"):
        super().__init__("by_assignment", [np.complex64], [np.complex64], device=device)

    def work(self, inputs, outputs):
        outputs[0][...] = cupy.from_dlpack(inputs[0]).conj()


class by_interface(aperture.device_block):
    def __init__(self, device="cuda"):
        super().__init__("by_interface", [np.complex64], [np.complex64], device=device)

    def work(self, inputs, outputs):
        with cupy.cuda.ExternalStream(self.stream.handle):
            cupy.conjugate(cupy.asarray(inputs[0]), out=cupy.asarray(outputs[0]))


def right_data():
    x = samples(3000017)
    for kind in (with_cupy, by_dlpack, by_assignment, by_interface):
        chain = [
            blocks.vector_source_c(x),
            aperture.copy(item_size=8, device="cuda"),
            kind(),
            kind(),
            aperture.copy(item_size=8, device="cuda"),
            kind(),
        ]
        tap, end = blocks.vector_sink_c(), blocks.vector_sink_c()
        top = gr.top_block()
        top.connect(*chain, end)
        top.connect(chain[2], tap)
        for start in range(3):
            top.run()
            wrong = sum(
                int((np.array(part.data(), np.complex64) != x.conj()).sum())
                if len(part.data()) == len(x)
                else len(x)
                for part in (tap, end)
            )
            check(
                f"{kind.__name__}, start {start}: {2 * len(x)} items",
                wrong == 0,
                f"{wrong} wrong; {[b.error() for b in chain if hasattr(b, 'error')]}",
            )
            for part in (tap, end):
                part.reset()
            chain[0].rewind()


def errors():
    kept = []

    def error_of(function):
        class block(aperture.device_block):
            def work(self, inputs, outputs):
                return function(self, inputs, outputs)

        b = block("block", [np.complex64], [np.complex64], device="cuda")
        top = gr.top_block()
        top.connect(blocks.null_source(8), b, blocks.null_sink(8))
        top.run()
        return b.error()

    def expired(self, inputs, outputs):
        if kept:
            cupy.from_dlpack(kept[0])
        kept.append(inputs[0])
        outputs[0][...] = inputs[0]

    cases = [
        (lambda s, x, y: cupy.asarray(x[0]) and None, "the stream was forgotten"),
        (
            lambda s, x, y: y[0].copy_from(np.zeros(len(y[0]), np.complex64)),
            "this is an array on the host; it must be on cuda:0",
        ),
        (lambda s, x, y: y[0].copy_from(cupy.zeros(3, np.complex64)), "the shape is (3,)"),
        (
            lambda s, x, y: y[0].copy_from(cupy.zeros(len(y[0]), np.complex128)),
            "the elements are <c16, the output's are <c8",
        ),
        (
            lambda s, x, y: y[0].copy_from(cupy.zeros(2 * len(y[0]), np.complex64)[::2]),
            "not contiguous",
        ),
        (lambda s, x, y: x[0].copy_from(y[0]), "must not be written"),
        (lambda s, x, y: 2 * x[0], 'arrays="cupy"'),
        (lambda s, x, y: y.__setitem__(0, x[0]), "would replace the array"),
        (lambda s, x, y: None, "outputs[0] and written none"),
        (
            lambda s, x, y: (s.stream.handle, np.asarray(x[0])) and None,
            "does not become one of NumPy",
        ),
        (expired, "used after work() has returned"),
    ]
    for function, text in cases:
        error = error_of(function)
        check(f"error: {text}", text in error, f"got: {error}")


def taps():
    """Edges that are tapped while a chain runs at full speed had all items."""
    data = np.arange(3000, dtype=np.complex64)
    first = aperture.replay(item_size=8, data=data.tobytes(), repeats=0, device="cuda")
    chain = [aperture.copy(item_size=8, device="cuda"), with_cupy()]
    last = aperture.discard(item_size=8, device="cuda")
    top = gr.top_block()
    top.connect(first, *chain, last)
    top.start()
    wrong = looks = 0
    begin = time.monotonic()
    while time.monotonic() - begin < 2:
        for block, _sign in ((first, 1), (chain[0], 1), (chain[1], -1)):
            for arrays in ("numpy", "cupy"):
                count = (1, 1000, 400000)[looks % 3]
                taken = aperture.tap(block, items=count, dtype=np.complex64, arrays=arrays)
                values = taken.get() if arrays == "cupy" else taken
                expected = (taken.offset + np.arange(len(values))) % 3000
                wrong += int((np.asarray(values) != expected).sum())
                looks += 1
    first.finish()
    top.wait()
    check(f"tap: {looks} looks", wrong == 0 and looks > 100, f"{wrong} wrong")
    taken = aperture.tap(chain[1], items=1000, dtype=np.complex64)
    check(
        "tap: after the end",
        taken.offset + 1000 == last.items()
        and bool((taken == (taken.offset + np.arange(1000)) % 3000).all()),
    )


def rate(make, count, megabytes, seconds=2.0):
    """Bytes a second through an edge of `count` blocks in a row, and the blocks."""
    items = megabytes * (1 << 20) // 8
    chain = [make() for _ in range(count)]
    data = np.zeros(items, np.complex64)
    first = aperture.replay(item_size=8, data=data.tobytes(), repeats=0, device="cuda")
    last = aperture.discard(item_size=8, device="cuda")
    for block in [first] + chain:
        block.set_min_output_buffer(4 * items)
    top = gr.top_block()
    top.connect(first, *chain, last)
    top.start()
    time.sleep(0.5)
    before, begin = last.items(), time.monotonic()
    time.sleep(seconds)
    moved = (last.items() - before) / (time.monotonic() - begin)
    first.finish()
    top.wait()
    errors = [block.error() for block in chain if block.error()]
    check(f"{count} x {type(chain[0]).__name__}, {megabytes} MiB", not errors, str(errors))
    return 8 * moved / 1e9, chain


class copies(aperture.device_block):
    def __init__(self):
        super().__init__("copies", [np.complex64], [np.complex64], device="cuda")

    def work(self, inputs, outputs):
        outputs[0][...] = inputs[0]


class copies_by_cupy(aperture.device_block):
    def __init__(self):
        super().__init__(
            "copies_by_cupy", [np.complex64], [np.complex64], device="cuda", arrays="cupy"
        )

    def work(self, inputs, outputs):
        outputs[0][...] = inputs[0]


def cupy_alone(count, megabytes, seconds=1.0):
    """The same copies in CuPy, one stream."""
    arrays = [cupy.zeros(megabytes * (1 << 20) // 8, np.complex64) for _ in range(count + 1)]
    cupy.cuda.Device().synchronize()
    begin, rounds = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        for _ in range(10):
            for a, b in zip(arrays, arrays[1:]):
                b[...] = a
        cupy.cuda.Device().synchronize()
        rounds += 10
    return rounds * arrays[0].nbytes / (time.monotonic() - begin) / 1e9


def timing():
    print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    print(
        "8 blocks in a row, GB/s an edge: C++ copy, Python copy, Python with CuPy, CuPy alone; "
        "us a call with the GIL"
    )
    for megabytes in (8, 64):
        plain, _ = rate(lambda: aperture.copy(item_size=8, device="cuda"), 8, megabytes)
        own, chain = rate(copies, 8, megabytes)
        lib, other = rate(copies_by_cupy, 8, megabytes)
        # the median of blocks: the first call of a process loads libraries
        held = [
            1e6 * np.median([b.seconds() / max(1, b.calls()) for b in c]) for c in (chain, other)
        ]
        print(
            f"{megabytes:3d} MiB: {plain:7.1f} {own:7.1f} {lib:7.1f} "
            f"{cupy_alone(8, megabytes):7.1f}; {held[0]:.1f} {held[1]:.1f} us",
            flush=True,
        )
        gc.collect()
    for kind in (copies, copies_by_cupy, with_cupy):
        got, chain = rate(kind, 1, 8, 1.0)
        held = 1e6 * chain[0].seconds() / chain[0].calls()
        print(f"one block alone, 8 MiB, {kind.__name__}: {got:.1f} GB/s, {held:.1f} us", flush=True)


if "timing" in sys.argv[1:]:
    timing()
else:
    right_data()
    taps()
    errors()
print(f"{failures} failed")
sys.exit(failures > 0)
