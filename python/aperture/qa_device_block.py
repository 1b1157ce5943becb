#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Blocks in Python on the CPU and on the emulated device; tests/gpu/python has them on a GPU."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

try:
    from gnuradio import aperture
except ImportError:
    dirname, filename = os.path.split(os.path.abspath(__file__))
    sys.path.append(os.path.join(dirname, "bindings"))
    from gnuradio import aperture

from gnuradio.aperture.testing.qa_tools import PATIENCE, comes_true

DEVICES = ("cpu", "emulated")
ITEMS = 100003


def samples(count=ITEMS, seed=1):
    random = np.random.default_rng(seed)
    return (random.standard_normal(count) + 1j * random.standard_normal(count)).astype(np.complex64)


class conjugate(aperture.device_block):
    def __init__(self, device):
        super().__init__("conjugate", [np.complex64], [np.complex64], device=device)

    def work(self, inputs, outputs):
        np.conjugate(inputs[0], out=outputs[0])


class difference(aperture.device_block):
    """y[n] = sum of 3 items from 2n on, less the one 4 before these."""

    def __init__(self, device):
        super().__init__("difference", [np.float32], [np.float32, (np.int16, 2)], device=device,
                         decimation=2, interpolation=3, history=5)

    def work(self, inputs, outputs):
        x = inputs[0]
        steps = len(outputs[0]) // 3
        assert len(x) == 2 * steps + 4 and outputs[1].shape == (3 * steps, 2)
        new = x[4:].reshape(steps, 2)
        old = x[:-4].reshape(steps, 2)
        outputs[0][...] = np.column_stack([new, new[:, 0] - old[:, 0]]).ravel()
        outputs[1][:, 0] = 7
        outputs[1][:, 1] = outputs[0]


class source(aperture.device_block):
    def __init__(self, device, most):
        super().__init__("source", [], [np.int32], device=device)
        self.most = most

    def start(self):
        self.sent = 0

    def work(self, inputs, outputs):
        count = min(len(outputs[0]), self.most - self.sent, 1001)
        if count == 0:
            return -1
        outputs[0][:count] = np.arange(self.sent, self.sent + count)
        self.sent += count
        return count


class sink(aperture.device_block):
    def __init__(self, device):
        super().__init__("sink", [np.int32], None, device=device)

    def start(self):
        self.parts = []

    def work(self, inputs, outputs):
        count = max(1, len(inputs[0]) - 3)  # leaves some to the next call
        self.parts.append(inputs[0][:count].copy())
        return count


class calling(aperture.device_block):
    """Does in work() what the test wants, and otherwise copies."""

    def __init__(self, device, function):
        super().__init__("calling", [np.complex64], [np.complex64], device=device)
        self.function = function

        self.received = []

    def receive(self, message):
        self.received.append(pmt.to_python(message))

    def work(self, inputs, outputs):
        outputs[0][...] = inputs[0]
        return self.function(self, inputs, outputs)


class qa_device_block(gr_unittest.TestCase):
    def run_chain(self, *chain):
        top = gr.top_block()
        top.connect(*chain)
        thread = threading.Timer(PATIENCE, lambda: os._exit(9))  # a flowgraph that hangs
        thread.start()
        try:
            top.run()
        finally:
            thread.cancel()
        return top

    def test_between_blocks_of_all_kinds(self):
        x = samples()
        for device in DEVICES:
            with self.subTest(device=device):
                taken, end = blocks.vector_sink_c(), blocks.vector_sink_c()
                top = gr.top_block()
                first = aperture.copy(item_size=8, device=device)
                last = aperture.copy(item_size=8, device=device)
                own, other = conjugate(device), conjugate(device)
                top.connect(blocks.vector_source_c(x), first, own, other, last, end)
                top.connect(own, taken)  # host and device read this edge
                for _ in range(3):
                    top.run()
                    np.testing.assert_array_equal(taken.data(), x.conj())
                    np.testing.assert_array_equal(end.data(), x)
                    self.assertEqual(own.error(), "")
                    self.assertGreater(own.calls(), 0)
                    taken.reset()
                    end.reset()
                    top.disconnect_all()
                    top.connect(blocks.vector_source_c(x), first, own, other, last, end)
                    top.connect(own, taken)

    def test_rates_history_and_vectors(self):
        x = np.arange(2 * 3001, dtype=np.float32) ** 2 % 1009
        before = np.concatenate([np.zeros(4, np.float32), x])
        expected = np.column_stack([x[0::2], x[1::2], x[0::2] - before[:-4][0::2]]).ravel()
        for device in DEVICES:
            with self.subTest(device=device):
                block = difference(device)
                floats, vectors = blocks.vector_sink_f(), blocks.vector_sink_s(2)
                top = gr.top_block()
                top.connect(blocks.vector_source_f(x), block, floats)
                top.connect((block, 1), vectors)
                top.run()
                self.assertEqual(block.error(), "")
                np.testing.assert_array_equal(floats.data(), expected)
                pairs = np.array(vectors.data()).reshape(-1, 2)
                np.testing.assert_array_equal(pairs[:, 0], 7)
                np.testing.assert_array_equal(pairs[:, 1], expected.astype(np.int16))

    def test_source_and_sink(self):
        for device in DEVICES:
            with self.subTest(device=device):
                one, end = source(device, ITEMS), sink(device)
                top = gr.top_block()
                top.connect(one, end)
                for _ in range(2):
                    top.run()
                    self.assertEqual(one.error() + end.error(), "")
                    received = np.concatenate(end.parts)
                    # what the sink left at the end is not offered again once the source is done
                    self.assertGreaterEqual(len(received), ITEMS - 3)
                    np.testing.assert_array_equal(received, np.arange(len(received)))

    def test_messages(self):
        for device in DEVICES:
            with self.subTest(device=device):
                block = calling(device, lambda *_: None)
                block.message_port_register_in(pmt.intern("in"))
                block.set_msg_handler(pmt.intern("in"), block.receive)
                top = gr.top_block()
                top.connect(blocks.null_source(8), block, blocks.null_sink(8))
                top.start()
                block.gateway._post(pmt.intern("in"), pmt.from_long(5))
                # messages that a block has not handled are lost at the end of a flowgraph
                comes_true(lambda block=block: block.received)
                top.stop()
                top.wait()
                self.assertEqual(block.received, [5])

    def test_tags(self):
        for device in DEVICES:
            with self.subTest(device=device):
                block = calling(device, lambda self, x, y: self.tag_first(len(x[0])))

                def tag_first(count, block=block):
                    at = block.nitems_written(0)
                    block.add_item_tag(0, at, pmt.intern("call"), pmt.from_long(count))
                    found.extend((tag.offset, pmt.to_long(tag.value)) for tag in
                                 block.get_tags_in_window(0, 0, count))
                found = []
                block.tag_first = tag_first
                tags = [gr.tag_utils.python_to_tag((i, pmt.intern("n"), pmt.from_long(i)))
                        for i in range(0, 5000, 501)]
                end = blocks.vector_sink_c()
                top = gr.top_block()
                top.connect(blocks.vector_source_c(samples(5000), False, 1, tags), block, end)
                top.run()
                self.assertEqual(found, [(i, i) for i in range(0, 5000, 501)])
                calls = [tag for tag in end.tags() if pmt.symbol_to_string(tag.key) == "call"]
                self.assertEqual(sum(pmt.to_long(tag.value) for tag in calls), 5000)

    def test_errors_end_the_flowgraph(self):
        def fails(self, inputs, outputs):
            if self.nitems_read(0) > 5000:
                raise KeyError("what is missing")

        cases = [(fails, "KeyError: 'what is missing'"),
                 (lambda *_: 10**9, "work() returned 1000000000: it must be a multiple of 1"),
                 (lambda *_: "three", "work() returned 'three': it must be a number"),
                 (lambda self, x, y: x[0].__setitem__(0, 1), "read-only"),
                 (lambda self, x, y: np.add(x[0], np.ones(3), out=y[0]), "broadcast")]
        for device in DEVICES:
            for function, text in cases:
                with self.subTest(device=device, text=text):
                    block = calling(device, function)
                    self.run_chain(blocks.null_source(8), block, blocks.null_sink(8))
                    self.assertIn(text, block.error())

    def test_embedded_in_grc(self):
        """GNU Radio Companion takes the source of such a block for an Embedded Python Block."""
        from gnuradio.grc.core.utils import epy_block_io
        found = epy_block_io.extract("""
import numpy as np
from gnuradio import aperture

class blk(aperture.device_block):
    def __init__(self, channels=5, factor=2.0):
        super().__init__("Scale", [(np.complex64, (channels, 3))],
                         [(np.float32, channels), np.int16])
        self.factor = factor
""")
        self.assertEqual((found.name, found.cls), ("Scale", "blk"))
        self.assertEqual(found.params, [("channels", "5"), ("factor", "2.0")])
        self.assertEqual(found.sinks, [("0", "complex", 15)])
        self.assertEqual(found.sources, [("0", "float", 5), ("1", "short", 1)])
        self.assertEqual(found.callbacks, ["factor"])

    def test_parameters(self):
        cases = [(dict(in_sig=[np.complex64], out_sig=None, arrays="cuda"),
                  "arrays: 'cuda' is not allowed; it must be device, cupy, torch, numba"),
                 (dict(in_sig=[], out_sig=[]), "out_sig: "),
                 (dict(in_sig=["nonsense"], out_sig=[]), "in_sig[0]: 'nonsense'"),
                 (dict(in_sig=[(np.float32, 0)], out_sig=[]), "in_sig[0]: "),
                 (dict(in_sig=[np.object_], out_sig=[]), "in_sig[0]: "),
                 (dict(in_sig=[(np.float32, (1 << 20, 1 << 10))], out_sig=[]), "4294967296 bytes"),
                 (dict(in_sig=[np.int8], out_sig=[], history=0), "history: 0 is not allowed"),
                 (dict(in_sig=[np.int8], out_sig=[], device="gpu"), "device: 'gpu' is not known")]
        for arguments, text in cases:
            with self.subTest(text=text), self.assertRaises(ValueError) as raised:
                aperture.device_block("name", **arguments)
            self.assertIn(text, str(raised.exception))

    def test_lives_as_long_as_its_flowgraph(self):
        for device in DEVICES:
            with self.subTest(device=device):
                end = blocks.vector_sink_c()
                top = gr.top_block()
                top.connect(blocks.vector_source_c(samples(1000)), conjugate(device), end)
                gc.collect()
                top.run()
                np.testing.assert_array_equal(end.data(), samples(1000).conj())
                block = conjugate(device)
                gone = weakref.ref(block)
                top.connect(blocks.vector_source_c(samples(10)), block, blocks.null_sink(8))
                del block
                gc.collect()
                self.assertIsNotNone(gone())
                del top
                gc.collect()
                gc.collect()
                self.assertIsNone(gone())

    def test_many_starts(self):
        for device in DEVICES:
            with self.subTest(device=device):
                block = conjugate(device)
                top = gr.top_block()
                top.connect(blocks.null_source(8), block, blocks.null_sink(8))
                threads = None
                for number in range(50):
                    top.start()
                    time.sleep(0.002)
                    top.stop()
                    top.wait()
                    if number == 5:
                        threads = len(os.listdir("/proc/self/task"))
                self.assertEqual(block.error(), "")
                # of a leak there would be one a start at least; the kernel lists those that were
                # joined for a moment
                self.assertTrue(comes_true(lambda most=threads + 10: len(
                    os.listdir("/proc/self/task")) < most), "threads stay behind")

    def test_python_ends_while_it_runs(self):
        program = """
import numpy as np, sys, threading
from gnuradio import aperture, blocks, gr
works = threading.Event()
class busy(aperture.device_block):
    def __init__(self):
        super().__init__("busy", [np.complex64], [np.complex64], device=sys.argv[1])
    def work(self, inputs, outputs):
        outputs[0][...] = inputs[0]
        works.set()
top = gr.top_block()
top.connect(blocks.null_source(8), busy(), busy(), blocks.null_sink(8))
top.start()
works.wait()
print("ends")
"""
        for device in DEVICES:
            with self.subTest(device=device):
                done = subprocess.run([sys.executable, "-c", program, device],
                                      timeout=PATIENCE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
                self.assertIn("ends", done.stdout)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    gr_unittest.run(qa_device_block)
