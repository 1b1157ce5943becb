#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Device blocks among GNU Radio's own: every edge can be tapped, and nothing is converted."""

import os

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.testing.qa_tools import DEVICE, comes_true

#: a device with memory of its own
ON_DEVICE = DEVICE if DEVICE.startswith("cuda") else "emulated"


def device_copy(item_size):
    return aperture.copy(item_size=item_size, device=ON_DEVICE)


class first_items(gr.sync_block):
    """Keeps the first items of an endless stream."""

    def __init__(self):
        gr.sync_block.__init__(self, "first_items", [np.int32], None)
        self.items, self.count = np.zeros(5000, np.int32), 0

    def work(self, input_items, output_items):
        kept = input_items[0][: len(self.items) - self.count]
        self.items[self.count : self.count + len(kept)] = kept
        self.count += len(kept)
        return len(input_items[0])


class qa_device(gr_unittest.TestCase):
    def setUp(self):
        self.top = gr.top_block()
        self.sent = np.random.default_rng(5).integers(-(2**31), 2**31, 1000000).tolist()

    def tearDown(self):
        self.top = None

    def source(self):
        return blocks.vector_source_i(self.sent)

    def sink(self):
        return blocks.vector_sink_i(1, len(self.sent))

    def assert_sent(self, *sinks):
        for sink in sinks:
            self.assertEqual(len(sink.data()), len(self.sent))
            self.assertTrue(np.array_equal(sink.data(), self.sent))

    def test_every_edge_is_tapped(self):
        """source -> copy -> copy -> sink, and a sink and another copy on each edge."""
        source, first, second = self.source(), device_copy(4), device_copy(4)
        sinks = []
        self.top.connect(source, first, second)
        for block in (source, first, second):
            sinks += [self.sink(), self.sink(), self.sink()]
            self.top.connect(block, sinks[-3])
            self.top.connect(block, sinks[-2])
            self.top.connect(block, device_copy(4), sinks[-1])
        self.top.run()
        self.assert_sent(*sinks)

    def test_stock_blocks_around(self):
        """Blocks with history, decimation and several ports before and behind a device."""
        source, sink = self.source(), blocks.vector_sink_i(1, len(self.sent))
        keep, delay = blocks.keep_m_in_n(4, 3, 5, 1), blocks.delay(4, 7)
        add, wide = blocks.add_ii(1), blocks.stream_to_vector(4, 10)
        narrow = blocks.vector_to_stream(4, 10)
        self.top.connect(source, device_copy(4), keep, device_copy(4), (add, 0))
        self.top.connect(keep, delay, device_copy(4), (add, 1))
        self.top.connect(add, device_copy(4), wide, device_copy(40), narrow, sink)
        self.top.run()
        kept = np.array(self.sent).reshape(-1, 5)[:, 1:4].ravel()
        expected = kept.copy()
        expected[7:] += kept[:-7]
        expected = expected.astype(np.int32)[: len(expected) // 10 * 10]
        self.assertTrue(np.array_equal(sink.data(), expected))

    def test_devices_do_not_mix_with_the_cpu_by_accident(self):
        """A copy on the CPU is a host block: it reads and feeds device edges like any."""
        sinks = [self.sink(), self.sink()]
        source = self.source()
        on_host = aperture.copy(item_size=4, device="cpu")
        self.top.connect(source, device_copy(4), on_host, device_copy(4), sinks[0])
        self.top.connect(on_host, sinks[1])
        self.top.run()
        self.assert_sent(*sinks)

    def test_inside_a_hier_block(self):
        class Wrapped(gr.hier_block2):
            def __init__(self):
                gr.hier_block2.__init__(
                    self, "wrapped", gr.io_signature(1, 1, 4), gr.io_signature(2, 2, 4)
                )
                first, second = device_copy(4), device_copy(4)
                self.connect(self, first, (self, 0))
                self.connect(first, second, (self, 1))

        sinks = [self.sink(), self.sink()]
        wrapped = Wrapped()
        self.top.connect(self.source(), wrapped)
        self.top.connect((wrapped, 0), sinks[0])
        self.top.connect((wrapped, 1), sinks[1])
        self.top.run()
        self.assert_sent(*sinks)

    def test_start_stop_start(self):
        source, sink, tap = self.source(), self.sink(), self.sink()
        copy = device_copy(4)
        self.top.connect(source, copy, sink)
        self.top.connect(source, tap)
        for _ in range(3):
            for block in (source, sink, tap):
                block.rewind() if block is source else block.reset()
            self.top.run()
            self.assert_sent(sink, tap)

    def test_taps_come_and_go(self):
        """lock() and unlock() while it runs."""
        source = blocks.vector_source_i([1, 2, 3, 4], True)
        copy, end = device_copy(4), blocks.null_sink(4)
        self.top.connect(source, copy, end)
        self.top.start()
        for _ in range(5):
            tap, other, on_other = first_items(), device_copy(4), first_items()
            self.top.lock()
            self.top.connect(copy, tap)
            self.top.connect(copy, other, on_other)
            self.top.unlock()
            self.assertTrue(
                comes_true(lambda ends=(tap, on_other): min(end.count for end in ends) >= 1000),
                "nothing flows",
            )
            self.top.lock()
            self.top.disconnect(copy, tap)
            self.top.disconnect(copy, other, on_other)
            self.top.unlock()
            for sink in (tap, on_other):
                self.assertTrue((np.diff(sink.items[: sink.count]) % 4 == 1).all())
        self.top.stop()
        self.top.wait()
        self.assertEqual(copy.error(), "")

    def test_dropped_in_the_middle(self):
        """Flowgraphs that nobody stops before they are forgotten leave nothing behind."""

        def threads():
            return len(os.listdir("/proc/self/task"))

        before = None
        for _ in range(10):
            top = gr.top_block()
            source = blocks.vector_source_i([1, 2, 3], True)
            end = blocks.null_sink(4)
            top.connect(source, device_copy(4), device_copy(4), end)
            top.start()
            comes_true(lambda end=end: end.nitems_read(0) > 0)
            top.stop()
            top.wait()
            del top, source, end
            before = before or threads()
            # the kernel lists a thread for a moment after it was joined
            comes_true(lambda most=before: threads() <= most)
            self.assertLessEqual(threads(), before)


if __name__ == "__main__":
    gr_unittest.run(qa_device)
