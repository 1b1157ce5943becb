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
import tempfile
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

try:
    from gnuradio import aperture
except ImportError:
    dirname, filename = os.path.split(os.path.abspath(__file__))
    sys.path.append(os.path.join(dirname, "bindings"))
    from gnuradio import aperture

from gnuradio.aperture.testing.qa_tools import PATIENCE, comes_true, run_chain

DEVICES = ("cpu", "emulated")
ITEMS = 100003


def samples(count=ITEMS, seed=1):
    random = np.random.default_rng(seed)
    return (random.standard_normal(count) + 1j * random.standard_normal(count)).astype(np.complex64)


class conjugate(aperture.device_block):
    def __init__(self, device):
        super().__init__("conjugate", [np.complex64], [np.complex64], device=device, arrays="cupy")

    def work(self, inputs, outputs):
        np.conjugate(inputs[0], out=outputs[0])


class difference(aperture.device_block):
    """y[n] = sum of 3 items from 2n on, less the one 4 before these."""

    def __init__(self, device):
        super().__init__(
            "difference",
            [np.float32],
            [np.float32, (np.int16, 2)],
            device=device,
            arrays="cupy",
            decimation=2,
            interpolation=3,
            history=5,
        )

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
        super().__init__("source", [], [np.int32], device=device, arrays="cupy")
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
        super().__init__("sink", [np.int32], None, device=device, arrays="cupy")

    def start(self):
        self.parts = []

    def work(self, inputs, outputs):
        count = max(1, len(inputs[0]) - 3)  # leaves some to the next call
        self.parts.append(inputs[0][:count].copy())
        return count


class calling(aperture.device_block):
    """Does in work() what the test wants, after a copy."""

    def __init__(self, device, function):
        super().__init__("calling", [np.complex64], [np.complex64], device=device)
        self.function = function

        self.received = []

    def receive(self, message):
        self.received.append(pmt.to_python(message))

    def work(self, inputs, outputs):
        outputs[0][...] = inputs[0]
        return self.function(self, inputs, outputs)


class doing(aperture.device_block):
    """Does in work() what the test wants, and nothing else."""

    most_idle = 0

    def __init__(self, function, inputs=(np.complex64,), outputs=(np.complex64,), **others):
        super().__init__("doing", list(inputs), list(outputs), **others)
        self.function = function

    def work(self, inputs, outputs):
        return self.function(self, inputs, outputs)


class other_library:
    """An array that is not NumPy's, as far as DLPack says."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class qa_device_block(gr_unittest.TestCase):
    def run_chain(self, *chain):
        top = gr.top_block()
        top.connect(*chain)
        self.run_to_its_end(top)
        return top

    def run_to_its_end(self, top):
        thread = threading.Timer(PATIENCE, lambda: os._exit(9))  # a flowgraph that hangs
        thread.start()
        try:
            top.run()
        finally:
            thread.cancel()

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
                    # items that the sink left at the end are not offered again once the source is
                    # done
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
                    found.extend(
                        (tag.offset, pmt.to_long(tag.value))
                        for tag in block.get_tags_in_window(0, 0, count)
                    )

                found = []
                block.tag_first = tag_first
                tags = [
                    gr.tag_utils.python_to_tag((i, pmt.intern("n"), pmt.from_long(i)))
                    for i in range(0, 5000, 501)
                ]
                end = blocks.vector_sink_c()
                run_chain(blocks.vector_source_c(samples(5000), False, 1, tags), block, end)
                self.assertEqual(found, [(i, i) for i in range(0, 5000, 501)])
                calls = [tag for tag in end.tags() if pmt.symbol_to_string(tag.key) == "call"]
                self.assertEqual(sum(pmt.to_long(tag.value) for tag in calls), 5000)

    def test_errors_end_the_flowgraph(self):
        def fails(self, inputs, outputs):
            if self.nitems_read(0) > 5000:
                raise KeyError("what is missing")

        cases = [
            (fails, "KeyError: 'what is missing'"),
            (lambda *_: 10**9, r"work\(\) returned 1000000000: it must be a multiple of 1"),
            (lambda *_: "three", r"work\(\) returned 'three': it must be a number"),
            (lambda self, x, y: x[0].__setitem__(..., y[0]), "(read-only|not be written)"),
            (lambda *_: sys.exit("on purpose"), "SystemExit: on purpose"),
        ]
        for device in DEVICES:
            for function, text in cases:
                with self.subTest(device=device, text=text):
                    block = calling(device, function)
                    self.run_chain(blocks.null_source(8), block, blocks.null_sink(8))
                    self.assertRegex(block.error(), text)

    def error_of(self, *arguments, source=None, **others):
        """Returns the error of a block that does what it is told."""
        block = doing(*arguments, **others)
        sizes = [
            [signature.itemsize for signature in side()] for side in (block.in_sig, block.out_sig)
        ]
        top = gr.top_block()
        top.connect(source or blocks.null_source(sizes[0][0]), block)
        for port, size in enumerate(sizes[1]):
            top.connect((block, port), blocks.null_sink(size))
        self.run_to_its_end(top)
        return block.error()

    def test_what_a_gpu_refuses(self):
        """Another type, another shape, an array on the host, one that was kept: on all devices."""
        kept = []

        def keeps(self, inputs, outputs):
            kept.append(inputs[0])
            outputs[0][...] = kept[0]

        def copies(self, inputs, outputs):
            outputs[0][...] = inputs[0]

        def of_host(self, inputs, outputs):
            outputs[0][...] = np.zeros(len(outputs[0]), np.complex64)

        single = [np.float32]
        cases = [
            (copies, dict(outputs=single), "the elements are .*c.*, the output's are .*f"),
            (copies, dict(inputs=single), "the elements are .*f.*, the output's are .*c"),
            (copies, dict(outputs=[np.complex128]), "the elements are "),
            (copies, dict(outputs=[(np.complex64, 3)]), r"the shape is \(\d+,\), the out"),
            (copies, dict(inputs=[(np.complex64, 3)]), r"the shape is \(\d+, 3\), the o"),
            (of_host, {}, "this is an array on the host"),
            (keeps, {}, "used after work\\(\\) has returned"),
        ]
        for device in DEVICES:
            for function, others, text in cases:
                with self.subTest(device=device, text=text):
                    kept.clear()
                    self.assertRegex(self.error_of(function, device=device, **others), text)

    def test_arrays_of_the_device_have_no_arithmetic(self):
        """With arrays="device" the emulated device has what a GPU has; the error says what has
        it."""
        cases = [
            lambda self, x, y: 2 * x[0],
            lambda self, x, y: np.conjugate(x[0], out=y[0]),
            lambda self, x, y: abs(x[0]),
            lambda self, x, y: x[0][3],
            lambda self, x, y: np.add(np.ones(3), y[0]),
        ]
        for number, function in enumerate(cases):
            with self.subTest(number=number):
                self.assertRegex(
                    self.error_of(function, device="emulated"),
                    'of an array on emulated: .* arrays="cupy"',
                )
        for function in (lambda self, x, y: np.asarray(x[0]), lambda self, x, y: float(x[0])):
            self.assertIn("TypeError", self.error_of(function, device="emulated"))
        # a host's array is none of the device's, whatever is asked of it
        self.assertIn(
            'arrays="cupy"',
            self.error_of(lambda self, x, y: y[0].__setitem__(slice(None), 0), device="cpu"),
        )

    def test_arithmetic_on_the_cpu(self):
        """Results that NumPy computes from the inputs are of the device, for any kind of
        function."""
        x = samples(1000)

        def work(self, inputs, outputs):
            y = np.fft.ifft(np.fft.fft(inputs[0])).astype(np.complex64)
            outputs[0][...] = np.where(y.real > 0, inputs[0], -inputs[0].conj().copy())
            outputs[0][:1] += 0 * outputs[0][:1]
            np.copyto(outputs[1], np.concatenate([inputs[0], inputs[0]])[: len(y)])

        block = doing(work, device="cpu", outputs=[np.complex64] * 2)
        ends = [blocks.vector_sink_c() for _ in range(2)]
        top = gr.top_block()
        top.connect(blocks.vector_source_c(x), block, ends[0])
        top.connect((block, 1), ends[1])
        top.run()
        self.assertEqual(block.error(), "")
        np.testing.assert_array_equal(ends[0].data(), np.where(x.real > 0, x, -x.conj()))
        np.testing.assert_array_equal(ends[1].data(), x)

    def test_a_library_on_the_emulated_device(self):
        """DLPack takes inputs to a library, and brings its arrays to outputs."""
        x = samples(5000)

        def work(self, inputs, outputs):
            outputs[0][...] = other_library(np.from_dlpack(inputs[0]).conj())

        block, end = doing(work, device="emulated"), blocks.vector_sink_c()
        self.run_chain(blocks.vector_source_c(x), block, end)
        self.assertEqual(block.error(), "")
        np.testing.assert_array_equal(end.data(), x.conj())

    def test_no_imaginary_part_is_lost(self):
        """Arrays of NumPy, which only warns, lose no imaginary part, either."""
        for device in DEVICES:
            for arrays in ("cupy", "numba"):
                with self.subTest(device=device, arrays=arrays):
                    error = self.error_of(
                        lambda self, x, y: y[0].__setitem__(slice(None), x[0]),
                        outputs=[np.float32],
                        device=device,
                        arrays=arrays,
                    )
                    self.assertIn("imaginary part would be lost", error)

    def test_misuse(self):
        """A misuse that would be silent, or hang, is one error."""

        def forgets(self, inputs, outputs):
            outputs[0][...] = inputs[0]

        cases = [
            (lambda self, x, y: y.__setitem__(0, x[0]), {}, "write outputs[0][...] = ..."),
            (forgets, dict(outputs=[np.complex64] * 2), "outputs[1] and written none"),
            (lambda *_: None, {}, "outputs[0] and written none"),
            (lambda self, x, y: self.consume(0, 5), {}, "consume() is not for"),
            (lambda self, x, y: self.consume_each(5), {}, "consume_each() is not for"),
            (
                lambda *_: 0,
                {},
                "work() has taken and made nothing for 0 s, though its inputs have ended",
            ),
        ]
        for device in DEVICES:
            for arrays in ("device", "cupy"):
                for function, others, text in cases:
                    with self.subTest(device=device, arrays=arrays, text=text):
                        self.assertIn(
                            text,
                            self.error_of(
                                function,
                                source=blocks.vector_source_c(samples(1000)),
                                device=device,
                                arrays=arrays,
                                **others,
                            ),
                        )

    def test_errors_say_where(self):
        """Type, file and line of an exception; its traceback where it is asked for."""
        folder = tempfile.TemporaryDirectory(prefix="qa_device_block")
        self.addCleanup(folder.cleanup)
        program = Path(folder.name, "own_block.py")
        program.write_text("""\
import numpy as np, sys
from gnuradio import aperture, blocks, gr

def deeper(x):
    raise ValueError("deliberately,\\nin two lines")  # line 5

class own(aperture.device_block):
    def __init__(self):
        super().__init__("own", [np.complex64], [np.complex64], device=sys.argv[1], arrays="cupy")
    def work(self, inputs, outputs):
        np.apply_along_axis(deeper, 0, inputs[0])

top, block = gr.top_block(), own()
top.connect(blocks.vector_source_c(range(10)), block, blocks.null_sink(8))
top.run()
print(block.error())
""")
        for device in DEVICES:
            for asked in (False, True):
                with self.subTest(device=device, asked=asked):
                    environment = {**os.environ, "APERTURE_TRACEBACK": "1" if asked else ""}
                    done = subprocess.run(
                        [sys.executable, program, device],
                        env=environment,
                        timeout=PATIENCE,
                        capture_output=True,
                        text=True,
                    )
                    text = f"ValueError: deliberately, in two lines ({program}, line 5)"
                    self.assertIn(text + "\n", done.stdout)
                    self.assertEqual(done.stderr.count("Traceback"), int(asked), done.stderr)
                    self.assertEqual("in work" in done.stderr, asked)

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
        cases = [
            (
                dict(in_sig=[np.complex64], out_sig=None, arrays="cuda"),
                "arrays: 'cuda' is not allowed; it must be device, cupy, torch, numba",
            ),
            (dict(in_sig=[], out_sig=[]), "out_sig: "),
            (
                dict(in_sig=np.float32, out_sig=[]),
                "in_sig: <class 'numpy.float32'> is not "
                "allowed; it must be a list with an entry for each port",
            ),
            (dict(in_sig=[], out_sig="float32"), "out_sig: 'float32' is not allowed"),
            (dict(in_sig=["nonsense"], out_sig=[]), "in_sig[0]: 'nonsense'"),
            (dict(in_sig=[(np.float32, 0)], out_sig=[]), "in_sig[0]: "),
            (dict(in_sig=[np.object_], out_sig=[]), "in_sig[0]: "),
            (dict(in_sig=[(np.float32, (1 << 20, 1 << 10))], out_sig=[]), "4294967296 bytes"),
            (dict(in_sig=[np.int8], out_sig=[], history=0), "history: 0 is not allowed"),
            (dict(in_sig=[np.int8], out_sig=[], device="gpu"), "device: 'gpu' is not known"),
        ]
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
                # a leak would show once a start at least; the kernel lists joined threads for a
                # moment
                self.assertTrue(
                    comes_true(lambda most=threads + 10: len(os.listdir("/proc/self/task")) < most),
                    "threads stay behind",
                )

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
                done = subprocess.run(
                    [sys.executable, "-c", program, device],
                    timeout=PATIENCE,
                    capture_output=True,
                    text=True,
                )
                self.assertIn("ends", done.stdout)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    gr_unittest.run(qa_device_block)
