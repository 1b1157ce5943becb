#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Blocks of others among ours on a device: random flowgraphs of stock blocks, Python's device
blocks and copies, and the cases of GNU Radio's issues about custom buffers.
"""

import importlib.util
import os
import subprocess
import sys
import threading
import time

import numpy as np
from gnuradio import blocks, filter, gr, gr_unittest

try:
    from gnuradio import aperture
except ImportError:
    dirname, filename = os.path.split(os.path.abspath(__file__))
    sys.path.append(os.path.join(dirname, "bindings"))
    from gnuradio import aperture
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.qa_tools import run_chain

DEVICE = "emulated" if qa_tools.DEVICE == "cpu" else qa_tools.DEVICE
if DEVICE.startswith("cuda") and importlib.util.find_spec("cupy") is None:
    print("skipped: blocks in Python on a GPU need CuPy here")
    sys.exit(77)  # SKIP_RETURN_CODE in CMakeLists.txt
#: a second one, where there is one
OTHER = {"emulated": "emulated:1"}.get(DEVICE, DEVICE)
ITEMS = 50021
FLOWGRAPHS = 24


def threads(most=0):
    """Returns how many there are, when they have come down to `most`: the kernel still lists one
    that was joined for a moment."""
    qa_tools.comes_true(lambda: len(os.listdir("/proc/self/task")) <= most)
    return len(os.listdir("/proc/self/task"))


def resident():
    """MB that the process holds."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class negate(aperture.device_block):
    """y = -x."""

    def __init__(self, device=DEVICE):
        super().__init__("negate", [np.int32], [np.int32], device=device, arrays="cupy")

    def work(self, inputs, outputs):
        self.xp.negative(inputs[0], out=outputs[0])


class lagged(aperture.device_block):
    """y[n] = x[n] + 3 x[n - lag]: with history."""

    def __init__(self, lag, device=DEVICE):
        super().__init__(
            "lagged", [np.int32], [np.int32], device=device, arrays="cupy", history=lag + 1
        )
        self.lag = lag

    def work(self, inputs, outputs):
        x = inputs[0]
        outputs[0][...] = x[self.lag :] + 3 * x[: -self.lag]


class split(aperture.device_block):
    """Three outputs: x, 2 x, and pairs of (x, x + 1)."""

    def __init__(self):
        super().__init__(
            "split", [np.int32], [np.int32, np.int32, (np.int32, 2)], device=DEVICE, arrays="cupy"
        )

    def work(self, inputs, outputs):
        x = inputs[0]
        outputs[0][...] = x
        outputs[1][...] = 2 * x
        outputs[2][:, 0] = x
        outputs[2][:, 1] = x + 1


class total(aperture.device_block):
    """y = x0 + x1."""

    def __init__(self):
        super().__init__("total", [np.int32, np.int32], [np.int32], device=DEVICE, arrays="cupy")

    def work(self, inputs, outputs):
        self.xp.add(inputs[0], inputs[1], out=outputs[0])


class inside(gr.hier_block2):
    """A hierarchical block: stock, ours and theirs in a row; y = -2 x."""

    def __init__(self):
        signature = gr.io_signature(1, 1, 4)
        super().__init__("inside", signature, signature)
        self.connect(
            self,
            negate(),
            blocks.multiply_const_ii(2),
            aperture.copy(item_size=4, device=DEVICE),
            self,
        )


def delayed(x, lag):
    return np.concatenate([np.zeros(lag, x.dtype), x])[: len(x)]


# the kinds of nodes in a random flowgraph: makes the block, how many inputs it reads, and for each
# of its outputs of one item what it is of the inputs
def kinds(random):
    lag = int(random.integers(1, 300))
    return [
        (lambda: blocks.add_const_ii(5), 1, [lambda x: x + 5]),
        (lambda: aperture.copy(item_size=4, device=DEVICE), 1, [lambda x: x]),
        (lambda: aperture.copy(item_size=4, device="cpu"), 1, [lambda x: x]),
        (negate, 1, [lambda x: -x]),
        (lambda: negate(OTHER), 1, [lambda x: -x]),
        (lambda: lagged(lag, OTHER), 1, [lambda x: x + 3 * delayed(x, lag)]),
        (lambda: lagged(lag), 1, [lambda x: x + 3 * delayed(x, lag)]),
        (split, 1, [lambda x: x, lambda x: 2 * x]),
        (inside, 1, [lambda x: -2 * x]),
        (total, 2, [np.add]),
        (lambda: blocks.add_ii(), 2, [np.add]),
        # GNU Radio's delay also delivers the last items
        (lambda: blocks.delay(4, lag), 1, [lambda x: np.pad(x, (lag, 0))]),
    ]


class qa_foreign_blocks(gr_unittest.TestCase):
    def setUp(self):
        # a flowgraph that hangs must not hang the tests
        self.watch = threading.Timer(4 * qa_tools.PATIENCE, lambda: os._exit(9))
        self.watch.daemon = True
        self.watch.start()

    def tearDown(self):
        self.watch.cancel()

    def random_flowgraph(self, seed):
        """\\returns the flowgraph, and sinks with what they are to receive"""
        random = np.random.default_rng(seed)
        x = random.integers(-1000, 1000, ITEMS, dtype=np.int32)
        top = gr.top_block()
        outputs = [((blocks.vector_source_i(x.tolist()), 0), x)]  # (endpoint, items)
        names = []
        for _ in range(int(random.integers(3, 9))):
            make, inputs, results = random.choice(np.array(kinds(random), dtype=object))
            first = outputs[random.integers(len(outputs))]
            # A block that ends because one of its inputs does marks the buffers of all of them
            # as done, and then GNU Radio also ends other readers of a longer one as soon as
            # they have nothing to read, stock blocks and all: its inputs are of one length.
            alike = [output for output in outputs if len(output[1]) == len(first[1])]
            read = [first] + [alike[i] for i in random.integers(0, len(alike), inputs - 1)]
            block = make()
            names.append(block.name())
            for port, (endpoint, _) in enumerate(read):
                top.connect(endpoint, (block, port))
            if isinstance(block, split):
                top.connect((block, 2), blocks.null_sink(8))
            outputs += [
                ((block, port), result(*(items for _, items in read)))
                for port, result in enumerate(results)
            ]
        sinks = []
        for endpoint, items in outputs[1:]:
            sink = blocks.vector_sink_i()
            if random.random() < 0.3:  # the sink reads a device's edge by way of another copy
                top.connect(endpoint, aperture.copy(item_size=4, device=DEVICE), sink)
            else:
                top.connect(endpoint, sink)
            sinks.append((sink, items))
        return top, sinks, names

    def test_random_flowgraphs(self):
        for seed in range(FLOWGRAPHS):
            top, sinks, names = self.random_flowgraph(seed)
            with self.subTest(seed=seed, blocks=names):
                top.run()
                for sink, items in sinks:
                    np.testing.assert_array_equal(sink.data(), items)

    def test_fifty_restarts(self):
        """A flowgraph with everything in it restarts fifty times: no wrong item, nothing that stays
        behind."""
        x = np.random.default_rng(1).integers(-1000, 1000, 20011, dtype=np.int32)
        source = qa_tools.ByteSource(x.view(np.uint8).reshape(-1, 4))
        sink, other = blocks.vector_sink_i(), blocks.vector_sink_i()
        top, two = gr.top_block(), split()
        top.connect(source, blocks.add_const_ii(1), two, negate(), inside(), sink)
        top.connect((two, 1), lagged(7), other)
        top.connect((two, 2), blocks.null_sink(8))
        for number in range(50):
            if number % 5 == 4:  # stopped in the middle
                gate = source.gates[12000] = threading.Event()
                top.start()
                qa_tools.comes_true(lambda least=4000 * (number % 3): sink.nitems_read(0) >= least)
                top.stop()
                gate.set()
                top.wait()
                source.gates.clear()
            sink.reset()
            other.reset()
            top.run()
            np.testing.assert_array_equal(sink.data(), 2 * (x + 1))
            doubled = 2 * (x + 1)
            np.testing.assert_array_equal(other.data(), doubled + 3 * delayed(doubled, 7))
            if number == 9:
                before = threads(2**31), len(os.listdir("/proc/self/fd")), resident()
        self.assertLessEqual(threads(before[0]), before[0])
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), before[1])
        self.assertLess(resident(), before[2] + 40)  # a ring of 2 MiB a start would be 80

    def test_lock_and_unlock_in_the_middle(self):
        """Readers come and go while items flow; what stays connected loses none."""
        count = 3_000_000
        source = blocks.vector_source_i(np.arange(count, dtype=np.int32).tolist())
        first, second, sink = negate(), lagged(1), blocks.vector_sink_i()
        top = gr.top_block()
        top.connect(source, blocks.throttle(4, 3e6), first, second, sink)
        top.start()
        for _ in range(4):
            more = negate()
            end = blocks.null_sink(4)
            time.sleep(0.05)
            top.lock()
            top.connect(first, more, end)
            top.unlock()
            time.sleep(0.05)
            top.lock()
            top.disconnect(first, more, end)
            top.unlock()
        top.wait()
        received = np.array(sink.data())
        x = -np.arange(count, dtype=np.int32)
        # the runtime zeroes histories and drops what is in flight where it reconnects: between
        # two reconnections the items are in order and none is missing
        steps = np.flatnonzero(np.diff(received) != -4)
        self.assertGreater(len(received), count // 2)
        self.assertLess(len(steps), 40)
        self.assertTrue(np.all(np.isin(received, np.concatenate([x, x + 3 * delayed(x, 1)]))))

    def test_errors_in_the_middle(self):
        """An exception of a block in Python ends a branched flowgraph, and it starts again."""

        class failing(negate):
            fails = True

            def work(self, inputs, outputs):
                if self.fails and self.nitems_read(0) > 30000:
                    raise RuntimeError("broken in the middle")
                super().work(inputs, outputs)

        x = np.arange(100000, dtype=np.int32)
        source, bad = blocks.vector_source_i(x.tolist()), failing()
        good, end, side = negate(), blocks.vector_sink_i(), blocks.vector_sink_i()
        top = gr.top_block()
        top.connect(source, good, bad, aperture.copy(item_size=4, device=DEVICE), end)
        top.connect(good, side)
        top.run()
        self.assertIn("broken in the middle", bad.error())
        np.testing.assert_array_equal(end.data(), x[: len(end.data())])
        bad.fails = False
        source.rewind()
        end.reset()
        side.reset()
        top.run()
        self.assertEqual(bad.error(), "")
        np.testing.assert_array_equal(end.data(), x)
        np.testing.assert_array_equal(side.data(), -x)

    # ---- GNU Radio's issues

    def test_issue_8001_several_outputs(self):
        """A custom buffer out of bounds in block_executor: several outputs, unlike readers."""
        x = np.random.default_rng(2).integers(-1000, 1000, 300_007, dtype=np.int32)
        for readers in ("host", "device", "both"):
            with self.subTest(readers=readers):
                top, block = gr.top_block(), split()
                top.connect(blocks.vector_source_i(x.tolist()), block)
                sinks = [blocks.vector_sink_i(), blocks.vector_sink_i(), blocks.vector_sink_i(2)]
                for port, (sink, size) in enumerate(zip(sinks, (4, 4, 8))):
                    if readers == "host" or (readers == "both" and port == 1):
                        top.connect((block, port), sink)
                    else:
                        top.connect(
                            (block, port), aperture.copy(item_size=size, device=DEVICE), sink
                        )
                top.run()
                np.testing.assert_array_equal(sinks[0].data(), x)
                np.testing.assert_array_equal(sinks[1].data(), 2 * x)
                np.testing.assert_array_equal(
                    np.array(sinks[2].data()).reshape(-1, 2), np.column_stack([x, x + 1])
                )

    def test_issue_6350_qt_sink(self):
        """A sink of gr-qtgui behind a block on a device froze after a few calls."""
        program = """
import sys
from PyQt5 import Qt
from gnuradio import aperture, blocks, gr, qtgui
app = Qt.QApplication(sys.argv)
top = gr.top_block()
sink = qtgui.time_sink_c(1024, 1e6, "", 1, None)
copy = aperture.copy(item_size=8, device=sys.argv[1])
probe = blocks.probe_rate(8)
top.connect(blocks.null_source(8), blocks.head(8, 3_000_000), copy, sink)
top.start()
timer = Qt.QTimer()
def look():
    if sink.to_basic_block() and copy.nitems_written(0) >= 3_000_000:
        top.wait()
        print("all", sink.nitems_read(0))
        app.quit()
timer.timeout.connect(look)
timer.start(20)
app.exec_()
"""
        done = subprocess.run(
            [sys.executable, "-c", program, DEVICE],
            text=True,
            timeout=qa_tools.PATIENCE,
            capture_output=True,
            env=dict(os.environ, QT_QPA_PLATFORM="offscreen"),
        )
        self.assertIn("all 3000000", done.stdout, done.stderr)

    def test_issues_5634_and_5701_history(self):
        """History of 100 on a custom buffer froze the flowgraph, or gave wrong items."""
        x = np.random.default_rng(3).integers(-1000, 1000, 500_009, dtype=np.int32)
        for chunk in (0, 101, 4095):  # items of a call, at most; 0: whatever fits
            with self.subTest(chunk=chunk):
                source, block, sink = (
                    blocks.vector_source_i(x.tolist()),
                    lagged(99),
                    blocks.vector_sink_i(),
                )
                if chunk:
                    source.set_max_noutput_items(chunk)
                    block.gateway.set_max_noutput_items(chunk)
                run_chain(source, block, sink)
                np.testing.assert_array_equal(sink.data(), x + 3 * delayed(x, 99))

    def test_history_of_stock_blocks_behind_a_device(self):
        """A stock FIR filter reads its history from the host's copy of a device's ring."""
        taps = np.random.default_rng(4).standard_normal(64).astype(np.float32)
        x = np.random.default_rng(5).standard_normal(200_003).astype(np.float32)
        results = []
        for device in ("cpu", DEVICE):
            sink = blocks.vector_sink_f()
            run_chain(
                blocks.vector_source_f(x.tolist()),
                aperture.copy(item_size=4, device=device),
                filter.fir_filter_fff(3, taps),
                aperture.copy(item_size=4, device=device),
                sink,
            )
            results.append(np.array(sink.data()))
        # the filter does not make an item of what is left at the end
        expected = np.convolve(x, taps)[: len(x) // 3 * 3 : 3]
        np.testing.assert_allclose(results[1], expected, atol=1e-4)
        np.testing.assert_allclose(results[1], results[0], atol=1e-5)


if __name__ == "__main__":
    gr_unittest.run(qa_foreign_blocks)
