#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Blocks in Python: those made within connect(...) live and go with their flowgraph; no exception
gets lost."""

import gc
import resource
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path

import numpy as np
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import filterbank_sink, pointing, references, uvh5_sink
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.streams.python_block import printable, python_block, text_of
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.qa_tools import PATIENCE, comes_true, gr_tags, run_chain

ARRAY = make_array({"A": (0.0, 0.0, 0.0)})
BEAMS = [Beam("zenith", 0.0, 90.0)]


class counter(python_block):
    """Counts items; raises what it is told where it is told."""

    def __init__(self, **errors):
        super().__init__("counter", [np.complex64], None)
        self.count, self.errors, self.memory = 0, errors, None

    def _raise(self, where):
        if where in self.errors:
            raise self.errors[where]

    def _start(self):
        self._raise("start")

    def _work(self, input_items, output_items):
        if self.count:
            self._raise("work")
        self.count += len(input_items[0])
        return len(input_items[0])

    def _stop(self):
        self._raise("stop")


class hierarchy(gr.hier_block2):
    """A block of blocks whose inner one only C++ knows."""

    def __init__(self, inner):
        gr.hier_block2.__init__(
            self, "hierarchy", gr.io_signature(1, 1, 8), gr.io_signature(0, 0, 0)
        )
        self.connect(self, inner())


class qa_python_block(gr_unittest.TestCase):
    # ---- how long they live

    def test_made_within_connect(self):
        for inside in (False, True):
            references = []

            def noted():
                block = counter()
                references.append(weakref.ref(block))
                return block

            for _ in range(20):
                head = blocks.head(8, 10_000)
                top = gr.top_block()
                top.connect(blocks.null_source(8), head, hierarchy(noted) if inside else noted())
                gc.collect()
                top.run()
                head.reset()
                top.run()
                self.assertEqual(references[-1]().count, 20_000)
                self.assertIsNone(references[-1]().error())
            del top, head
            gc.collect()
            self.assertEqual([reference() for reference in references], [None] * 20)

    def test_all_of_ours(self):
        folder = tempfile.TemporaryDirectory(prefix="qa_python_block")
        self.addCleanup(folder.cleanup)
        for make, size in (
            (lambda: uvh5_sink(Path(folder.name, "a.uvh5"), ARRAY, 1), 8),
            (lambda: filterbank_sink(Path(folder.name, "a.fil"), ARRAY, BEAMS, 1, "power"), 4),
            (lambda: pointing(ARRAY, BEAMS, 4), 8),
        ):
            top = gr.top_block()
            block = make()
            reference = weakref.ref(block)
            top.connect(blocks.null_source(size), blocks.head(size, 0), block)
            del block
            gc.collect()
            top.run()
            self.assertIsNone(reference().error())
            del top
            gc.collect()
            self.assertIsNone(reference())

    def test_only_messages(self):
        top = gr.top_block()
        debug = blocks.message_debug()
        block = pointing(ARRAY, BEAMS, 4)
        reference = weakref.ref(block)
        top.connect(blocks.null_source(8), block)
        top.msg_connect(block, "weights", debug, "store")
        del block
        top.start()
        # a stream that ends may take the message with it that is on its way
        comes_true(debug.num_messages, 30)
        top.stop()
        top.wait()
        self.assertEqual(debug.num_messages(), 1)
        del top
        gc.collect()
        self.assertIsNone(reference())

    def test_interrupt_in_a_collection(self):
        """A Ctrl-C that comes while garbage is collected is not lost in what we do then."""
        program = """
import _thread, functools, gc, signal
from gnuradio import aperture, blocks, gr
class one(aperture.device_block):
    def work(self, inputs, outputs):
        pass
top = gr.top_block()
top.connect(blocks.null_source(8), one("one", ["c8"], None, device="cpu"))
# an object that notes an interrupt without any code in Python, which would handle it at once:
# getattr(number, "start", ...) calls interrupt_main(number)
class Number(int):
    start = stop = property(_thread.interrupt_main)
interrupt = functools.partial(getattr, Number(signal.SIGINT))
gc.callbacks.insert(0, interrupt)
try:
    gc.collect()
    gc.callbacks.remove(interrupt)
    print("lost")
except KeyboardInterrupt:
    gc.callbacks.remove(interrupt)
    print("interrupted")
"""
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE
        )
        self.assertEqual(done.stdout.split(), ["interrupted"], done.stderr)

    def test_users_reference(self):
        """A block that the user has kept goes from flowgraph to flowgraph."""
        block = counter()
        for number in range(1, 4):
            top = gr.top_block()
            top.connect(blocks.null_source(8), blocks.head(8, 100), block)
            top.run()
            del top
            gc.collect()
            self.assertEqual(block.count, 100 * number)
        reference = weakref.ref(block)
        del block
        gc.collect()
        self.assertIsNone(reference())

    def test_locked_and_disconnected(self):
        top = gr.top_block()
        source = blocks.null_source(8)
        first = counter()
        top.connect(source, first)
        top.start()
        self.addCleanup(lambda: top and top.stop())
        references = [weakref.ref(first)]
        for _ in range(5):
            top.lock()
            top.disconnect(source, references[-1]())
            first = counter()
            references.append(weakref.ref(first))
            top.connect(source, first)
            del first
            top.unlock()
            gc.collect()
            comes_true(lambda: references[-1]().count, 20)
            self.assertGreater(references[-1]().count, 0)
        top.stop()
        top.wait()
        top = None
        gc.collect()
        self.assertEqual({reference() for reference in references}, {None})

    def test_ended(self):
        """A block in C++ and one in Python: not connected, while they run, and at their end."""
        for finite in (True, False):
            top, sink = gr.top_block(), counter()
            source = blocks.vector_source_c(np.ones(100), repeat=not finite)
            self.assertFalse(references.ended(source) or references.ended(sink))
            top.connect(source, sink)
            top.start()
            self.addCleanup(top.stop)
            self.assertTrue(comes_true(lambda: sink.count >= 100))
            if finite:
                for block in (source, sink):
                    self.assertTrue(comes_true(lambda: references.ended(block)))
            else:
                self.assertFalse(references.ended(source) or references.ended(sink))
                top.stop()
            top.wait()
        with self.assertRaisesRegex(TypeError, "block of blocks"):
            references.ended(hierarchy(counter))

    def test_memory(self):
        """100 flowgraphs, each with a block of 8 MB."""
        for _ in range(100):
            block = counter()
            block.memory = np.ones(1_000_000)
            top = gr.top_block()
            top.connect(blocks.null_source(8), blocks.head(8, 100), block)
            del block
            top.run()
            del top
        with open("/proc/self/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * resource.getpagesize()
        # 100 blocks are 800 MB; GNU Radio and Python are 100
        self.assertLess(resident, 500e6)

    # ---- exceptions

    def test_any_exception_ends_the_flowgraph(self):
        for where in ("start", "work", "stop"):
            for error, text in (
                (ValueError("channels: 3"), "channels: 3"),
                (TypeError("no\nway"), "TypeError: no way"),
                (KeyError("a"), "KeyError: 'a'"),
                (MemoryError(), "MemoryError"),
                (ValueError(), "ValueError"),
                (AssertionError(), "AssertionError"),
                (OverflowError("inf"), "OverflowError: inf"),
                (
                    OSError(28, "No space left on device", "a\udcff"),
                    r"a\udcff: No space left on device",
                ),
                (
                    UnicodeEncodeError("utf-8", "a\udcff", 1, 2, "surrogates"),
                    r"'utf-8' codec can't encode character '\udcff' in position 1: "
                    "surrogates",
                ),
            ):
                block = counter(**{where: error})
                top = gr.top_block()
                top.connect(
                    *[blocks.null_source(8)]
                    + ([blocks.head(8, 10_000)] if where == "stop" else []),
                    block,
                )
                top.start()
                # an endless stream, which nothing else would end
                until = time.monotonic() + 20
                while block.error() is None and time.monotonic() < until and where != "stop":
                    time.sleep(0.001)
                top.wait()
                self.assertEqual(block.error(), text)
                # the next start is a new one
                block.errors = {}
                if where == "stop":
                    top.run()
                    self.assertIsNone(block.error())

    def test_the_first_one_is_told_once(self):
        block = counter(work=ValueError("first"), stop=ValueError("second"))
        logged = []

        class log:
            error = staticmethod(logged.append)

        block.logger = log
        run_chain(blocks.null_source(8), block)
        self.assertEqual(logged, ["first"])
        self.assertEqual(block.error(), "first")

    def test_tags_beyond_all_numbers(self):
        """A time or rate of 1e308 is one message of pointing, not a stream that never ends."""
        for rate, frequency, text in (
            (1e308, 1e8, "rx_rate"),
            (1e-308, 1e8, "rx_rate"),
            (5e-324, 1e8, "rx_rate"),
            (1e6, 1e308, "rx_freq"),
            (1e6, -1e308, "rx_freq"),
            (1e6, float("nan"), "rx_freq"),
        ):
            start = {"rx_rate": rate, "rx_time": (1704067200, 0.5), "rx_freq": frequency}
            found = gr_tags(0, start)
            array = make_array({"A": (0.0, 0.0, 0.0), "B": (1e4, 0.0, 0.0)})
            block = pointing(array, [Beam("moving", ra=10.0, dec=80.0)], 4)
            top = gr.top_block()
            top.connect(blocks.vector_source_c([0] * 100, True, 1, found), block)
            top.start()
            comes_true(lambda: block.error() is not None, 20)
            top.stop()
            top.wait()
            self.assertRegex(block.error(), f"{text}.*not allowed")
            self.assertNotIn("\n", block.error())

    def test_printable(self):
        self.assertEqual(printable("Ω\udcff"), r"Ω\udcff")
        self.assertEqual(text_of(OSError(2, "No such directory", "a")), "a: No such directory")


if __name__ == "__main__":
    gr_unittest.run(qa_python_block)
