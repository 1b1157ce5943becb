#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Reading the samples of recordings: codings, layouts, gaps and times. All comparisons are exact;
what is expected is computed by NumPy from the same bytes.
"""

import os
import time
from fractions import Fraction

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import recording_source, tags
from gnuradio.aperture.testing.folders import InFolder

#: type -> of a component
COMPONENTS = {
    "s8": np.int8,
    "s16": np.int16,
    "f32": np.float32,
    "sc8": np.int8,
    "sc16": np.int16,
    "fc32": np.float32,
}


def levels(bits, bytes_of_file):
    """Components of 1, 2 or 4 bits, the first one in the lowest bits of a byte."""
    codes = np.unpackbits(np.frombuffer(bytes_of_file, np.uint8), bitorder="little")
    codes = codes.reshape(-1, bits) @ (1 << np.arange(bits))
    return np.array(
        {1: [-20, 20], 2: [-30, -9, 9, 30], 4: [7 * (code - 8) for code in range(16)]}[bits],
        np.int8,
    )[codes]


class qa_recording_source(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1)

    def write(self, data, name="test.raw"):
        path = self.folder / name
        path.write_bytes(bytes(data) if not isinstance(data, np.ndarray) else data.tobytes())
        return str(path)

    def bytes(self, count):
        return self.rng.integers(0, 256, count, np.uint8)

    def run_source(self, source, ports=1):
        """Returns what each port sends, as components [item][input of the port][re, im]; their
        tags."""
        dtype = np.dtype(COMPONENTS[source.type()])
        dimensions = 2 if "c" in source.type() else 1
        inputs = source.inputs_per_port()
        self.assertEqual(source.inputs(), ports * inputs)
        sinks = [blocks.vector_sink_b(inputs * dimensions * dtype.itemsize) for _ in range(ports)]
        top = gr.top_block()
        for port, sink in enumerate(sinks):
            top.connect((source, port), sink)
        top.run()
        data = [
            np.array(sink.data(), np.uint8).view(dtype).reshape(-1, inputs, dimensions)
            for sink in sinks
        ]
        return (
            (data, [list(sink.tags()) for sink in sinks])
            if ports > 1
            else (data[0], sinks[0].tags())
        )

    def gaps(self, found):
        """(input, first, count) of each `missing` tag."""
        gaps = []
        for tag in found:
            if pmt.symbol_to_string(tag.key) == tags.missing:
                value = pmt.to_python(tag.value)
                self.assertEqual(value["first"], tag.offset)
                gaps.append((value["input"], tag.offset, value["count"]))
        return sorted(gaps)

    def times(self, found):
        """(item, whole seconds, fraction) of each rx_time tag."""
        return [
            (
                tag.offset,
                pmt.to_uint64(pmt.tuple_ref(tag.value, 0)),
                pmt.to_double(pmt.tuple_ref(tag.value, 1)),
            )
            for tag in found
            if pmt.symbol_to_string(tag.key) == tags.rx_time
        ]

    def refused(self, kind, *words, **parameters):
        with self.assertRaises(kind) as caught:
            recording_source(**parameters)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    # ---- codings

    def test_codings(self):
        samples, inputs = 10007, 3
        for is_complex in (False, True):
            components = samples * inputs * (1 + is_complex)
            for coding, dtype, of_file, expected_type in (
                ("u8", "u1", lambda v: np.minimum(np.rint(v - 127.5), 127), "s8"),
                ("offset8", "u1", lambda v: v.astype(int) - 128, "s8"),
                ("s8", "i1", lambda v: v, "s8"),
                ("u16", "<u2", lambda v: v.astype(int) - 32768, "s16"),
                ("u16_be", ">u2", lambda v: v.astype(int) - 32768, "s16"),
                ("s16", "<i2", lambda v: v, "s16"),
                ("s16_be", ">i2", lambda v: v, "s16"),
                ("u32", "<u4", lambda v: v.astype(np.int64) - 2**31, "f32"),
                ("u32_be", ">u4", lambda v: v.astype(np.int64) - 2**31, "f32"),
                ("s32", "<i4", lambda v: v, "f32"),
                ("s32_be", ">i4", lambda v: v, "f32"),
                ("f32", "<f4", lambda v: v, "f32"),
                ("f32_be", ">f4", lambda v: v, "f32"),
                ("f64", "<f8", lambda v: v, "f32"),
                ("f64_be", ">f8", lambda v: v, "f32"),
            ):
                kind = np.dtype(dtype)
                if kind.kind == "f":
                    data = (1e3 * self.rng.normal(size=components)).astype(kind)
                else:
                    limits = np.iinfo(kind)
                    data = self.rng.integers(
                        limits.min, limits.max, components, kind.newbyteorder("="), endpoint=True
                    ).astype(kind)
                # not at the beginning of the file, and not to its end
                path = self.write(b"xyz" + data.tobytes() + b"end")
                source = recording_source(
                    [path],
                    [(0, 3, samples, 0, 0)],
                    coding=coding,
                    complex=is_complex,
                    inputs=inputs,
                )
                prefix = {"s8": "sc8", "s16": "sc16", "f32": "fc32"} if is_complex else {}
                self.assertEqual(source.type(), prefix.get(expected_type, expected_type))
                out, _ = self.run_source(source)
                np.testing.assert_array_equal(
                    out.ravel(), of_file(data).astype(COMPONENTS[expected_type]), coding
                )
                self.assertEqual(source.error(), "")

    def test_few_bits(self):
        for bits in (1, 2, 4):
            data = self.bytes(30011)
            path = self.write(data)
            every = levels(bits, data)
            for is_complex, inputs in ((False, 1), (False, 3), (True, 1), (True, 5)):
                width = inputs * (1 + is_complex)
                samples = len(every) // width
                expected = every[: samples * width].reshape(samples, width)
                source = recording_source(
                    [path],
                    [(0, 0, samples, 0, 0)],
                    coding=f"offset{bits}",
                    complex=is_complex,
                    inputs=inputs,
                    begin=7,
                )
                self.assertEqual(source.type(), "sc8" if is_complex else "s8")
                # from within a byte on
                out, _ = self.run_source(source)
                np.testing.assert_array_equal(out.reshape(-1, width), expected[7:])

    def test_not_numbers(self):
        """
        NaN and infinity, alone, in rows, near each other and over the ends of blocks: zeros and
        gaps, with what lies between two of them less than 64 samples apart; other inputs, and
        files that are read as others, keep what they have.
        """
        samples = 300007
        for coding, dtype in (("f32", "<f4"), ("f32_be", ">f4"), ("f64", "<f8"), ("f64_be", ">f8")):
            for is_complex, inputs, apart in ((True, 1, False), (False, 3, False), (True, 2, True)):
                with self.subTest(coding=coding, complex=is_complex, inputs=inputs, apart=apart):
                    data = self.rng.normal(size=(samples, inputs, 1 + is_complex)).astype(dtype)
                    data[1000:1010, 0] = np.nan
                    data[1073, 0, -1] = np.inf  # 63 samples behind, and 64 behind that
                    data[1138, 0, 0] = -np.inf
                    data[32760:65540, inputs - 1] = np.nan
                    data[samples - 1, inputs - 1, 0] = np.nan
                    if dtype[1:] == "f8":
                        data[5000, 0, 0] = 1e39  # infinite as a float
                    values = data.astype(COMPONENTS["f32"])
                    good = np.isfinite(values).all(axis=-1)
                    covered = ~good
                    for number in range(inputs):
                        bad = np.flatnonzero(~good[:, number])
                        for first, second in zip(bad, bad[1:]):
                            if second - first <= 64:
                                covered[first:second, number] = True
                    order = np.ascontiguousarray(data.swapaxes(0, 1)) if apart else data
                    path = self.write(b"xyz" + order.tobytes())
                    each = samples * (1 + is_complex) * data.itemsize
                    pieces = (
                        [(0, 3 + each * i, samples, 0, i) for i in range(inputs)]
                        if apart
                        else [(0, 3, samples, 0, 0)]
                    )
                    layout = [(i, 0, 1) for i in range(inputs)] if apart else []
                    source = recording_source(
                        [path],
                        pieces,
                        coding=coding,
                        complex=is_complex,
                        inputs=inputs,
                        layout=layout,
                    )
                    out, found = self.run_source(source)
                    np.testing.assert_array_equal(
                        out, np.where(covered[..., np.newaxis], 0, values)
                    )
                    tagged = np.zeros((samples, inputs), bool)
                    for number, first, count in self.gaps(found):
                        tagged[first : first + count, number] = True
                    np.testing.assert_array_equal(tagged, covered)
                    self.assertEqual(source.missing(), covered.sum(axis=0).tolist())
                    self.assertEqual(source.not_numbers(), (~good).sum(axis=0).tolist())
        # in nearly all samples: the tags are few
        data = self.rng.normal(size=(samples, 1)).astype(np.float32)
        data[::2] = np.nan
        out, found = self.run_source(
            recording_source(
                [self.write(data)], [(0, 0, samples, 0, 0)], coding="f32", complex=False
            )
        )
        self.assertLess(np.count_nonzero(out), 50)  # at the ends of blocks
        self.assertLess(len(self.gaps(found)), 50)

    # ---- layouts

    def test_layouts(self):
        """Columns of pieces, in any order, from several sets, in one port and in many."""
        samples = 40009
        wide = self.rng.integers(-128, 128, (samples, 5, 2), np.int8)  # [time][column]
        blocked = self.rng.integers(-128, 128, (3, samples, 2), np.int8)  # [row][time]
        single = self.rng.integers(-128, 128, (samples, 1, 2), np.int8)
        files = [
            self.write(wide, "wide"),
            self.write(blocked, "blocked"),
            self.write(single, "single"),
        ]
        pieces = [(0, 0, samples, 0, 0), (1, 0, samples, 0, 1), (2, 0, samples, 0, 2)]
        layout = [(0, 4, 5), (2, 0, 1), (1, 2 * samples, 1), (0, 1, 5), (1, 0, 1), (0, 1, 5)]
        expected = np.stack(
            [wide[:, 4], single[:, 0], blocked[2], wide[:, 1], blocked[0], wide[:, 1]], 1
        )
        for inputs_per_port in (0, 1, 2, 3):
            source = recording_source(
                files, pieces, inputs=6, layout=layout, inputs_per_port=inputs_per_port
            )
            ports = 6 // (inputs_per_port or 6)
            out, found = self.run_source(source, ports)
            out = np.concatenate(out, 1) if ports > 1 else out
            np.testing.assert_array_equal(out, expected)
            for of_port in found if ports > 1 else [found]:
                self.assertEqual(len(of_port), 3)

    def test_numbers_of_inputs(self):
        """Interleaving by shuffles (1, 2, 4) and without, in samples of 1 to 8 bytes."""
        samples = 5003
        for coding, is_complex, size in (
            ("s8", False, 1),
            ("s8", True, 2),
            ("s16", True, 4),
            ("f32", True, 8),
        ):
            for inputs in (1, 2, 3, 4, 7, 8):
                files, expected = [], []
                for i in range(inputs):
                    if coding == "f32":
                        data = self.rng.normal(size=samples * 2).astype(np.float32).view(np.uint8)
                    else:
                        data = self.bytes(samples * size)
                    files.append(self.write(data, f"{i}.raw"))
                    expected.append(data.reshape(samples, size))
                source = recording_source(
                    files,
                    [(i, 0, samples, 0, i) for i in range(inputs)],
                    coding=coding,
                    complex=is_complex,
                    inputs=inputs,
                    layout=[(i, 0, 1) for i in range(inputs)],
                )
                out, _ = self.run_source(source)
                np.testing.assert_array_equal(
                    np.ascontiguousarray(out).view(np.uint8).reshape(samples, inputs, size),
                    np.stack(expected, 1),
                )

    def test_readers(self):
        """
        One to 64 ports of two files whose samples go on across their ends, read by 1, 2 and 7
        threads, as they are and conjugated: the same samples, counts and tags.
        """
        for coding, dtype, inputs, inputs_per_port in (
            ("s8", np.int8, 1, 1),
            ("s8", np.int8, 13, 1),
            ("s8", np.int8, 16, 16),
            ("s16_be", ">i2", 16, 1),
            ("s8", np.int8, 63, 3),
            ("s8", np.int8, 64, 1),
        ):
            limits = np.iinfo(dtype)
            samples = 600_000 // (2 * inputs * np.dtype(dtype).itemsize)
            data = self.rng.integers(
                limits.min, limits.max, (samples, inputs, 2), endpoint=True
            ).astype(dtype)
            lowest = data[..., 1] == limits.min
            first = samples * 3 // 7
            files = [
                self.write(b"head" + data[:first].tobytes(), "a"),
                self.write(b"x" + data[first:].tobytes(), "b"),
            ]
            lost = 5003
            pieces = [(0, 4, first, 0, 0), (1, 1, samples - first, first + lost, 0)]
            for inverted in (False, True):
                expected = data.astype(int)
                if inverted:
                    expected[..., 1] = np.minimum(-expected[..., 1], limits.max)
                expected = np.insert(expected, [first] * lost, 0, axis=0)
                for readers in (1, 2, 7):
                    with self.subTest(coding=coding, inputs=inputs, readers=readers):
                        source = recording_source(
                            files,
                            pieces,
                            coding=coding,
                            inputs=inputs,
                            inputs_per_port=inputs_per_port,
                            inverted=inverted,
                            rate=(10**6, 1),
                            readers=readers,
                        )
                        ports = inputs // inputs_per_port
                        out, found = self.run_source(source, ports)
                        out, found = (out, found) if ports > 1 else ([out], [found])
                        np.testing.assert_array_equal(np.concatenate(out, 1), expected)
                        self.assertEqual(source.clamped(), (inverted * lowest.sum(axis=0)).tolist())
                        self.assertEqual(source.missing(), [lost] * inputs)
                        for tags_of_port in found:
                            self.assertEqual(
                                sum(count for _, _, count in self.gaps(tags_of_port)),
                                lost * inputs_per_port,
                            )

    # ---- gaps and times

    def test_gaps(self):
        """Two inputs whose pieces are not the same: each has its own gaps."""
        a, b = (self.rng.integers(-100, 100, (1000, 2), np.int8) for _ in range(2))
        files = [self.write(a, "a"), self.write(b, "b")]
        #   a: 10..109, 300..649; b: 0..199, 200..299, 640..999
        pieces = [
            (0, 20, 100, 10, 0),
            (1, 0, 200, 0, 1),
            (1, 400, 100, 200, 1),
            (0, 600, 350, 300, 0),
            (1, 1280, 360, 640, 1),
        ]
        expected = np.zeros((1000, 2, 2), np.int8)
        for i, data, ranges in ((0, a, ((10, 110), (300, 650))), (1, b, ((0, 300), (640, 1000)))):
            for first, end in ranges:
                expected[first:end, i] = data[first:end]
        lost = [(0, 0, 10), (0, 110, 190), (0, 650, 350), (1, 300, 340)]
        for begin, samples in ((0, 0), (0, 1000), (5, 700), (299, 342), (301, 1)):
            source = recording_source(
                files, pieces, inputs=2, layout=[(0, 0, 1), (1, 0, 1)], begin=begin, samples=samples
            )
            end = begin + samples if samples else 1000
            self.assertEqual(source.samples(), end - begin)
            out, found = self.run_source(source)
            np.testing.assert_array_equal(out, expected[begin:end])
            here = [
                (i, max(first, begin) - begin, min(first + n, end) - max(first, begin))
                for i, first, n in lost
                if first < end and first + n > begin
            ]
            self.assertEqual(self.gaps(found), here)
            self.assertEqual(
                source.missing(), [sum(n for i, _, n in here if i == j) for j in (0, 1)]
            )
        # in ports of their own, each counts its inputs from 0
        source = recording_source(
            files, pieces, inputs=2, layout=[(0, 0, 1), (1, 0, 1)], inputs_per_port=1
        )
        out, found = self.run_source(source, 2)
        for i in (0, 1):
            np.testing.assert_array_equal(out[i], expected[:, i : i + 1])
            self.assertEqual(self.gaps(found[i]), [(0, *gap[1:]) for gap in lost if gap[0] == i])

    def test_long_gap(self):
        """More than a minute without samples of any input is left out, and the time jumps."""
        data = self.rng.integers(-100, 100, (300, 1), np.int8)
        path = self.write(data)
        rate = Fraction(10, 3)
        for seconds, skipped in ((59, 0), (61, 1)):
            second = 100 + int(seconds * rate)
            source = recording_source(
                [path],
                [(0, 0, 100, 0, 0), (0, 100, 200, second, 0)],
                complex=False,
                rate=(10, 3),
                start_time=(1600000000, 0.25),
                center_frequency=1e9,
            )
            self.assertEqual(source.samples(), second + 200)
            out, found = self.run_source(source)
            expected = [(0, 1600000000, 0.25)]
            if skipped:
                np.testing.assert_array_equal(out[:, 0], data)
                late = Fraction(1, 4) + second / rate
                expected.append((100, 1600000000 + int(late), float(late - int(late))))
                self.assertEqual(self.gaps(found), [])
                self.assertEqual(len(found), 6)
            else:
                self.assertEqual(len(out), second + 200)
                self.assertEqual(self.gaps(found), [(0, 100, second - 100)])
            self.assertEqual(self.times(found), expected)

    def test_times(self):
        path = self.write(self.bytes(1000))
        for numerator, denominator in ((10**7, 1), (10**9, 75), (1, 3), (2**40 + 1, 2**20)):
            rate = Fraction(numerator, denominator)
            # a piece far from the clock's zero
            for first in (0, 12345678901):
                source = recording_source(
                    [path],
                    [(0, 0, 500, first, 0)],
                    rate=(numerator, denominator),
                    start_time=(1234567890, 0.5),
                    center_frequency=1.4e9,
                    begin=first + 17,
                )
                _, found = self.run_source(source)
                late = Fraction(1, 2) + (first + 17) / rate
                ((item, seconds, fraction),) = self.times(found)
                self.assertEqual((item, seconds), (0, 1234567890 + int(late)))
                # whole attoseconds, converted to a double
                self.assertLessEqual(abs(Fraction(fraction) - (late - int(late))), 2**-53 + 10**-18)
                self.assertEqual(source.start_time(), (seconds, fraction))
                values = {pmt.symbol_to_string(tag.key): tag.value for tag in found}
                self.assertEqual(pmt.to_double(values[tags.rx_rate]), float(rate))
                self.assertEqual(pmt.to_double(values[tags.rx_freq]), 1.4e9)

    def test_inverted(self):
        for coding, lowest in (("s8", -128), ("s16", -32768), ("f32", None)):
            dtype = np.dtype(COMPONENTS[coding])
            data = (
                self.rng.normal(size=(5000, 3, 2)).astype(dtype)
                if lowest is None
                else self.rng.integers(lowest, -lowest, (5000, 3, 2), dtype)
            )
            if lowest:
                data[5, 1, 1] = lowest
            for inputs_per_port in (3, 1):
                source = recording_source(
                    [self.write(data)],
                    [(0, 0, 5000, 0, 0)],
                    inputs=3,
                    coding=coding,
                    inverted=True,
                    inputs_per_port=inputs_per_port,
                )
                self.assertFalse(source.inverted())
                out, _ = self.run_source(source, 3 // inputs_per_port)
                out = np.concatenate(out, 1) if inputs_per_port == 1 else out
                wide = data.astype(float) * [1, -1]
                np.testing.assert_array_equal(
                    out, np.minimum(wide, -lowest - 1) if lowest else wide
                )
                self.assertEqual(
                    source.clamped(), [np.count_nonzero(data[:, i, 1] == lowest) for i in range(3)]
                )
        source = recording_source(
            [self.write(self.bytes(100))], [(0, 0, 100, 0, 0)], complex=False, inverted=True
        )
        self.assertTrue(source.inverted())

    # ---- how the stream begins and ends

    def test_repeat_and_restart(self):
        data = self.rng.integers(-100, 100, (1000, 2), np.int8)
        source = recording_source(
            [self.write(data)],
            [(0, 0, 400, 0, 0), (0, 1000, 500, 500, 0)],
            begin=350,
            samples=201,
            repeat=True,
            rate=(1000, 1),
        )
        expected = data.copy()
        expected[400:500] = 0
        head, sink = blocks.head(2, 1000), blocks.vector_sink_b(2)
        top = gr.top_block()
        top.connect(source, head, sink)
        for _ in range(2):
            sink.reset()
            head.reset()
            top.run()
            out = np.array(sink.data(), np.uint8).view(np.int8).reshape(-1, 2)
            np.testing.assert_array_equal(out, np.tile(expected[350:551], (5, 1))[:1000])
            self.assertEqual(self.times(sink.tags())[0][0], 0)
            self.assertEqual(len(self.times(sink.tags())), 1)
            self.assertEqual(
                [gap for gap in self.gaps(sink.tags()) if gap[1] < 900],
                [(0, 50 + 201 * i, 100) for i in range(5) if 50 + 201 * i < 900],
            )

    def test_finish(self):
        source = recording_source([self.write(self.bytes(1000))], [(0, 0, 500, 0, 0)], repeat=True)
        sink = blocks.null_sink(2)
        top = gr.top_block()
        top.connect(source, sink)
        for _ in range(2):
            top.start()
            while sink.nitems_read(0) == 0:
                time.sleep(0.001)
            source.finish()
            top.wait()  # the test's time limit ends it if the stream does not
        self.assertEqual(sink.nitems_read(0), source.nitems_written(0))

    def test_many_files(self):
        """More files than are open at a time, alternately."""
        inputs, samples = 3, 100
        data = self.bytes(inputs * samples * 200).reshape(200, inputs, samples)
        files = [
            self.write(part, f"{i}-{k}")
            for i, parts in enumerate(data)
            for k, part in enumerate(parts)
        ]
        pieces = [
            (i * inputs + k, 0, samples, i * samples, k) for i in range(200) for k in range(inputs)
        ]
        source = recording_source(
            files, pieces, inputs=inputs, complex=False, layout=[(k, 0, 1) for k in range(inputs)]
        )
        out, _ = self.run_source(source)
        np.testing.assert_array_equal(
            out[:, :, 0], data.view(np.int8).transpose(0, 2, 1).reshape(-1, inputs)
        )

    def test_shortened_while_reading(self):
        """All that can still be read is sent, then the stream ends and says why."""
        for coding, complex_samples, width in (
            ("s8", True, 1),
            ("u8", True, 1),
            ("offset2", False, 1),
            ("s8", True, 3),
        ):
            data = self.bytes(30000)
            path = self.write(data)
            inputs = 1 if width == 1 else 2
            samples = 2000
            source = recording_source(
                [path],
                [(0, 0, samples, 0, 0)],
                coding=coding,
                complex=complex_samples,
                inputs=inputs,
                layout=[(0, 0, width), (0, 2, width)][:inputs],
            )
            os.truncate(path, 200)
            out, _ = self.run_source(source)
            left = {"offset2": 800}.get(coding, 100 // width)
            self.assertEqual(len(out), left, (coding, width))
            self.assertIn(
                f"{path}: cannot be read at byte 200: the file became shorter", source.error()
            )
        os.unlink(path)
        source = recording_source([self.write(data)], [(0, 0, 100, 0, 0)])
        os.unlink(path)
        out, _ = self.run_source(source)
        self.assertEqual(len(out), 0)
        self.assertIn(f"{path}: cannot be read at byte 0: No such file", source.error())

    # ---- what is refused

    def test_refused(self):
        path = self.write(self.bytes(1000))
        fitting = {"files": [path], "pieces": [(0, 0, 500, 0, 0)]}
        for changes, *words in (
            ({"files": []}, "files: an empty list", "at least one"),
            ({"pieces": []}, "pieces: an empty list", "at least one"),
            ({"pieces": [(0, 0, 500, 0)]}, "pieces[0]: (0, 0, 500, 0)", "(file, byte, "),
            ({"pieces": [(1, 0, 500, 0, 0)]}, "pieces[0]", "of a file from 0 to 0"),
            ({"pieces": [(0, 0, 500, 0, 1)]}, "pieces[0]", "of a set from 0 to 0"),
            ({"pieces": [(0, 0, 0, 0, 0)]}, "pieces[0]", "at least one sample"),
            ({"pieces": [(0, -1, 1, 0, 0)]}, "pieces[0]: (0, -1, 1, 0, 0)", "byte 0"),
            ({"pieces": [(0, 0, 1, -1, 0)]}, "pieces[0]", "sample 0"),
            ({"pieces": [(0, 2, 500, 0, 0)]}, "pieces[0]", path, "1000 bytes", "byte 1002"),
            ({"pieces": [(0, 2**63 - 1, 1, 0, 0)]}, "pieces[0]", "up to 2^63"),
            ({"pieces": [(0, 0, 2**62, 0, 0)]}, "pieces[0]", "up to 2^63"),
            ({"pieces": [(0, 0, 2**62 + 1, 0, 0)]}, "pieces[0]", "below 2^62"),
            (
                {"pieces": [(0, 0, 5, 0, 0), (0, 8, 5, 4, 0)]},
                "pieces[1]: (0, 8, 5, 4, 0)",
                "behind the last sample",
                "4",
            ),
            ({"coding": "s9"}, "coding: s9", "offset1, offset2, offset4, offset8, u8, s8"),
            ({"inputs": 0}, "inputs: 0", "65536"),
            ({"inputs_per_port": -1}, "inputs_per_port: -1", "0 to 65536"),
            ({"inputs": 3, "inputs_per_port": 2}, "inputs_per_port: 2", "inputs, 3"),
            ({"layout": [(0, 0, 1), (0, 0, 1)]}, "layout: 2 rows", "each of the 1 inputs"),
            ({"layout": [(0, 0)]}, "layout[0]: (0, 0)", "(set, offset, stride)"),
            ({"layout": [(1, 0, 1)]}, "layout[0]", "a set below"),
            ({"layout": [(0, -1, 1)]}, "layout[0]", "offset of 0"),
            ({"layout": [(0, 0, 0)]}, "layout[0]", "stride of 1"),
            ({"layout": [(0, 2**40, 1)]}, "layout[0]", "2^40"),
            ({"rate": (0, 1)}, "rate: 0/1", "from 1 to 10^18"),
            ({"rate": (1, -3)}, "rate: 1/-3", "from 1 to 10^18"),
            ({"start_time": (0, 1.0)}, "start_time: 0 s and 1 s", "below 1"),
            ({"center_frequency": float("nan")}, "center_frequency: nan", "finite"),
            ({"begin": -1}, "begin: -1", "at least 0"),
            ({"begin": 500}, "begin: 500"),
            ({"samples": -1}, "samples: -1"),
            ({"begin": 7, "samples": 494}, "samples: 494"),
        ):
            self.refused(ValueError, *words, **{**fitting, **changes})
        for name, reason in (
            (str(self.folder / "absent"), "No such file"),
            (str(self.folder), "it is a folder"),
            ("/dev/null", "not a file"),
        ):
            self.refused(
                RuntimeError,
                f"{name}: cannot be read: ",
                reason,
                files=[path, name],
                pieces=[(0, 0, 500, 0, 0)],
            )
        fifo = str(self.folder / "fifo")
        os.mkfifo(fifo)
        self.refused(RuntimeError, "not a file", files=[fifo], pieces=[(0, 0, 1, 0, 0)])


if __name__ == "__main__":
    gr_unittest.run(qa_recording_source)
