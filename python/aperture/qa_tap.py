#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Looks at edges from outside; tests/gpu/python/check_device_block.py does it on a GPU."""

import contextlib
import functools
import importlib.util
import os
import sys
import threading
import time

import numpy as np
import pmt
from gnuradio import analog, blocks, gr, gr_unittest

try:
    from gnuradio import aperture
except ImportError:
    dirname, filename = os.path.split(os.path.abspath(__file__))
    sys.path.append(os.path.join(dirname, "bindings"))
    from gnuradio import aperture

from gnuradio.aperture.testing.qa_tools import PATIENCE, run_chain

DEVICES = ("cpu", "emulated")

#: taps a flowgraph that runs: its first item may come late on a machine with other work
tap = functools.partial(aperture.tap, timeout=PATIENCE)


class counter(gr.sync_block):
    """Puts out pairs, the number of the item and its square, modulo 2^32."""

    def __init__(self, most=None, chunk=10**6):
        gr.sync_block.__init__(self, "counter", [], [(np.uint32, 2)])
        self.most, self.chunk = most, chunk
        #: the source does not send its last item before
        self.may_end = threading.Event()

    def start(self):
        self.sent = 0
        return True

    def work(self, inputs, outputs):
        out = outputs[0]
        count = min(len(out), self.chunk)
        if self.most is not None:
            count = min(count, self.most - self.sent - (self.sent < self.most - 1))
            if self.sent == self.most - 1:
                self.may_end.wait()
        if count == 0:
            return -1
        out[...] = 0xDEADBEEF  # all the room that it was given is its own
        out[:count] = expected(self.sent, count)
        for offset in range(-(-self.sent // 1000) * 1000, self.sent + count, 1000):
            self.add_item_tag(0, offset, pmt.intern("number"), pmt.from_uint64(offset))
        self.sent += count
        return count


def expected(first, count):
    numbers = np.arange(first, first + count, dtype=np.uint64)
    return np.column_stack([numbers, numbers**2]).astype(np.uint32)


class stamps(gr.sync_block):
    """Large items, of which only both ends are written, so that it overtakes who copies them."""

    def __init__(self):
        gr.sync_block.__init__(self, "stamps", [], [(np.uint64, 1 << 15)])
        self.sent = 0

    def work(self, inputs, outputs):
        count = min(2, len(outputs[0]))
        numbers = np.arange(self.sent, self.sent + count)
        outputs[0][:count, 0] = outputs[0][:count, -1] = numbers
        self.sent += count
        time.sleep(1e-4)
        return count


@contextlib.contextmanager
def running(top, let_end=lambda: None):
    """A flowgraph, until the end of a `with`: its blocks in Python must live as long."""
    top.start()
    try:
        yield
    finally:
        let_end()
        top.stop()
        top.wait()


class same(aperture.device_block):
    def __init__(self, device):
        super().__init__(
            "same",
            [(np.uint32, 2)],
            [(np.uint32, 2), (np.int16, (2, 2))],
            device=device,
            arrays="cupy",
        )

    def work(self, inputs, outputs):
        outputs[0][...] = inputs[0]
        outputs[1][...] = inputs[0].view(np.int16).reshape(-1, 2, 2)


class qa_tap(gr_unittest.TestCase):
    def setUp(self):
        self.watch = threading.Timer(4 * PATIENCE, lambda: os._exit(9))  # a flowgraph that hangs
        self.watch.start()

    def tearDown(self):
        self.watch.cancel()

    def check(self, taken):
        np.testing.assert_array_equal(taken, expected(taken.offset, len(taken)))
        for tag in taken.tags:
            self.assertEqual(pmt.to_uint64(tag.value), tag.offset)
            self.assertTrue(taken.offset <= tag.offset < taken.offset + len(taken))

    def test_every_edge_of_a_fan_out(self):
        """While it runs and after its end, each start: what is said was there."""
        items = 300000
        for device in DEVICES:
            with self.subTest(device=device):
                first, middle = counter(items, 777), same(device)
                last = aperture.copy(item_size=8, device=device)
                ends = [blocks.null_sink(8) for _ in range(4)]
                top = gr.top_block()
                top.connect(first, middle, last, ends[0])
                top.connect(first, ends[1])
                top.connect(middle, ends[2])
                top.connect((middle, 1), ends[3])
                for _ in range(2):
                    first.may_end.clear()
                    with running(top, first.may_end.set):
                        seen = [0, 0, 0]
                        while seen[2] < items:
                            for i, block in enumerate((first, middle, last)):
                                for count in (1, 100):
                                    taken = tap(block, items=count, dtype=np.uint32)
                                    self.check(taken)
                                    end = taken.offset + len(taken)
                                    self.assertEqual(len(taken), min(count, end))
                                    self.assertGreaterEqual(end, seen[i])
                                    seen[i] = end
                            # now each edge was looked at while it was there
                            first.may_end.set()
                        top.wait()
                    for block in (first, middle, last):
                        taken = aperture.tap(block, items=100, dtype=np.uint32)
                        self.check(taken)
                        self.assertEqual(taken.offset + 100, items)

    def test_at_a_high_rate(self):
        """The writer never waits, and overtakes the copies now and then."""
        for device in DEVICES:
            with self.subTest(device=device):
                first = blocks.vector_source_i(np.arange(4096, dtype=np.int32), True)
                copied = aperture.copy(item_size=4, device=device)
                top = gr.top_block()
                top.connect(first, copied, blocks.null_sink(4))
                with running(top):
                    for _ in range(200):
                        for block in (first, copied):
                            taken = tap(block, items=1500, dtype=np.int32)
                            # fewer where the writer was faster again and again
                            self.assertGreater(len(taken), 0)
                            np.testing.assert_array_equal(
                                taken, (taken.offset + np.arange(len(taken))) % 4096
                            )

    def test_items_are_whole(self):
        block = stamps()
        top = gr.top_block()
        top.connect(block, blocks.null_sink(1 << 18))
        block.set_max_output_buffer(4)
        with running(top):
            for _ in range(300):
                taken = tap(block, items=2)
                self.assertEqual(taken[0, 0], taken.offset)
                np.testing.assert_array_equal(taken[:, 0], taken[:, -1])

    def test_types_and_shapes(self):
        with_time = aperture.array_source("two-dish", inputs_per_port=2, samples=40000)
        chain = {
            with_time: (np.complex64, (2,)),
            aperture.pfb_channelizer(
                channels=32, inputs=2, inputs_per_port=2, output_type="sc8", gain=20
            ): (np.int8, (2, 32, 2)),
            aperture.corner_turn(
                channels=32,
                inputs=2,
                inputs_per_port=2,
                spectra_per_frame=16,
                type="sc8",
                first_channel=8,
                selected_channels=16,
            ): (np.int8, (16, 2, 16, 2)),
            aperture.beamformer(channels=16, inputs=2, beams=4, spectra_per_frame=16, type="sc8"): (
                np.complex64,
                (16, 4, 16),
            ),
            aperture.power_detector(
                channels=16,
                beams=4,
                spectra_per_frame=16,
                products="IQUV",
                spectra=16,
                summed_channels=2,
            ): (np.float32, (2, 4, 8)),
            blocks.multiply_const_vff([1.0] * 64): (np.float32, (64,)),
        }
        run_chain(*chain, blocks.null_sink(256))
        for block, (kind, shape) in chain.items():
            if getattr(block, "device_name", lambda: "cpu")() != "cpu":
                continue  # the memory is gone
            with self.subTest(block=type(block).__name__):
                taken = aperture.tap(block)
                self.assertEqual((taken.dtype, taken.shape), (np.dtype(kind), shape))
                self.assertEqual(aperture.tap(block, items=2).shape, (2, *shape))
        # a result has no place in the stream
        taken = aperture.tap(with_time)
        self.assertEqual(taken.offset, 39999)
        self.assertIsNone((taken + 1).offset)

    def test_hierarchical_blocks(self):
        correlator = aperture.fx_correlator(
            channels=32, integration=0.001, inputs_per_port=2, sample_rate=1e6
        )
        source = aperture.input_source("sim:two-dish")
        top = gr.top_block()
        top.connect(source, correlator, blocks.null_sink(32 * 3 * 8))
        with running(top):
            self.assertEqual(tap(correlator).shape, (32, 3))
            self.assertEqual(tap(source).shape, (2,))

    def test_names_of_types(self):
        """GNU Radio's names say what comes out of a block."""
        from gnuradio.aperture.streams.item_formats import item_format

        for block, size, expected in (
            (blocks.multiply_cc(), 8, (np.complex64, ())),
            (analog.quadrature_demod_cf(1), 4, (np.float32, ())),
            (blocks.complex_to_float(), 4, (np.float32, ())),
            (blocks.add_const_vcc([1] * 3), 24, (np.complex64, (3,))),
            (blocks.head(8, 1), 8, None),
            (blocks.multiply_cc(), 7, None),
        ):
            found = item_format(block, 0, size)
            self.assertEqual(found, expected and (np.dtype(expected[0]), expected[1]))

    def test_waits_for_the_first_item(self):
        class late(gr.sync_block):
            def __init__(self):
                gr.sync_block.__init__(self, "late", [], [np.float32])

            def work(self, inputs, outputs):
                time.sleep(0.3)
                outputs[0][:1] = 5
                return 1

        block, never = late(), blocks.keep_one_in_n(4, 10**6)
        top = gr.top_block()
        top.connect(block, never, blocks.null_sink(4))
        with running(top):
            self.assertEqual(tap(block), 5)
            with self.assertRaisesRegex(RuntimeError, "in_n0 has put out no item in 0.1 s"):
                aperture.tap(never, dtype=np.float32, timeout=0.1)
        top = gr.top_block()
        top.connect(blocks.vector_source_f([1, 2]), never, blocks.null_sink(4))
        top.run()
        with self.assertRaisesRegex(RuntimeError, "has ended, and has put out no item"):
            aperture.tap(never, dtype=np.float32)

    def test_errors(self):
        source, sink = blocks.null_source(8), blocks.null_sink(8)
        copied = aperture.copy(item_size=8, device="emulated")
        with self.assertRaisesRegex(RuntimeError, "has no items yet: its flowgraph has not been"):
            aperture.tap(source)
        top = gr.top_block()
        top.connect(source, copied, sink)
        with running(top):
            cases = [
                (dict(block=sink), "block: null_sink0 is not allowed, as it has no output"),
                (dict(block=top), "name the block within it"),
                (dict(block=source, port=1), "port: 1 is not allowed: the outputs of "),
                (dict(block=source), "dtype: what the items of null_source are is not known"),
                (dict(block=source, dtype=np.dtype("S3")), "dtype: "),
                (dict(block=source, dtype=np.float32, shape=3), "shape: (3,) is not allowed"),
                (dict(block=source, dtype=np.float32, items=0), "items: 0 is not allowed"),
                (dict(block=source, dtype=np.float32, items=10**9), "items: 1000000000 is"),
                (dict(block=source, arrays="list"), "arrays: 'list' is not allowed"),
            ]
            for arguments, text in cases:
                with self.subTest(text=text), self.assertRaises(ValueError) as raised:
                    aperture.tap(**arguments)
                self.assertIn(text, str(raised.exception))
            self.assertEqual(tap(source, dtype=np.float32).shape, (2,))
            self.assertEqual(tap(source, dtype=np.int16, shape=(2, 2)).shape, (2, 2))
            while copied.nitems_written(0) == 0:
                time.sleep(0.001)
        # nobody has looked at it while it ran
        with self.assertRaisesRegex(RuntimeError, "look at it while it runs"):
            aperture.tap(copied, dtype=np.complex64)

    @gr_unittest.unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_torch(self):
        import torch

        for device in DEVICES:
            block = aperture.copy(item_size=8, device=device)
            top = gr.top_block()
            top.connect(
                blocks.vector_source_c(np.arange(5000) * (1 - 2j), True), block, blocks.null_sink(8)
            )
            with running(top):
                taken = tap(block, items=10, dtype=np.complex64, arrays="torch")
                self.assertEqual(taken.dtype, torch.complex64)
                items = np.arange(taken.offset, taken.offset + len(taken)) % 5000
                np.testing.assert_array_equal(taken.numpy(), items * (1 - 2j))


if __name__ == "__main__":
    gr_unittest.run(qa_tap)
