#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""PSRDADA recordings of several files, and of 32 bits."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.played_inputs import check_after, read_all

HEADER = {
    "HDR_SIZE": "4096",
    "FREQ": "1400.5",
    "BW": "16",
    "TSAMP": "0.0625",
    "NBIT": "8",
    "NDIM": "2",
    "NPOL": "2",
    "NCHAN": "1",
    "UTC_START": "2020-02-29-23:59:59",
    "OBS_OFFSET": "0",
    "TELESCOPE": "Effelsberg",
}


class qa_dada(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(5)

    def write(self, name, data, **keys):
        path = self.path(name)
        text = "".join(f"{key} {value}\n" for key, value in {**HEADER, **keys}.items())
        with open(path, "wb") as file:
            file.write(text.encode().ljust(4096, b"\0") + data.tobytes())
        return path

    def test_32_bits(self):
        floats = self.rng.normal(size=(1001, 2, 2)).astype("<f4")
        path = self.write("a.dada", floats, NBIT=32)
        for text in ("", ",type=f32"):
            signals = open_input(f"dada:{path}{text}")
            self.assertEqual((signals.sample_type, signals.samples), ("fc32", 1001))
            np.testing.assert_array_equal(read_all(signals)[0], floats)
            check_after(self, signals, 1, 1000)
        integers = self.rng.integers(-(2**31), 2**31, (1001, 2), dtype="<i4")
        path = self.write("b.dada", integers, NBIT=32, NDIM=1, BW=-8)
        signals = open_input(f"dada:{path},type=s32")
        self.assertEqual((signals.sample_type, signals.inverted), ("f32", True))
        np.testing.assert_array_equal(read_all(signals)[0], integers.astype("<f4"))
        path = self.write("c.dada", integers)
        with self.assertRaisesRegex(ValueError, "c.dada: NBIT 8: must be 32 where type= is given"):
            open_input(f"dada:{path},type=s32")

    def test_files_that_continue_each_other(self):
        """Named in any order; a file that is lost becomes missing samples."""
        data = self.rng.integers(-127, 128, (4000, 2, 2), np.int8)
        names = [
            self.write(
                f"{i}.dada", data[1000 * i : 1000 * (i + 1)], OBS_OFFSET=4000 * i, FILE_NUMBER=i
            )
            for i in range(4)
        ]
        signals = open_input("dada:" + ",".join([names[2], names[0], names[1], names[3]]))
        self.assertEqual((signals.inputs, signals.samples, signals.warnings), (2, 4000, []))
        self.assertEqual([entry.polarization for entry in signals.description.inputs], ["x", "y"])
        np.testing.assert_array_equal(read_all(signals)[0], data)
        self.assertEqual(sorted(signals.files), names)
        signals = open_input(f"dada:{names[0]},{names[3]}")
        check_after(self, signals, 1, 1500, 3001)
        out, _ = read_all(signals)
        np.testing.assert_array_equal(out[3000:], data[3000:])
        self.assertFalse(np.any(out[1000:3000]))
        self.assertRegex(signals.warnings[0], r"0.dada: 2000 samples \(125 µs\) are missing")

    def test_files_that_overlap(self):
        """Samples that OBS_OVERLAP says are in two files are read once."""
        for kind, keys in (
            ("i1", {}),
            (">i2", {"NBIT": 16, "ENDIAN": "BIG"}),
            ("<f4", {"NBIT": 32}),
        ):
            data = self.rng.integers(-127, 128, (4000, 2, 2)).astype(kind)
            each = data[0].nbytes
            ends = ((0, 1000), (900, 2300), (2200, 2900), (2900, 4000))
            names = [
                self.write(
                    f"{i}.dada",
                    data[begin:end],
                    OBS_OFFSET=each * begin,
                    OBS_OVERLAP=100 * each,
                    FILE_NUMBER=i,
                    **keys,
                )
                for i, (begin, end) in enumerate(ends)
            ]
            signals = open_input("dada:" + ",".join(names[::-1]))
            self.assertEqual((signals.inputs, signals.samples, signals.warnings), (2, 4000, []))
            np.testing.assert_array_equal(read_all(signals)[0], data)
        early = self.write(
            "early.dada", data[:500], OBS_OFFSET=each * 850, OBS_OVERLAP=100 * each, **keys
        )
        with self.assertRaisesRegex(
            ValueError,
            "early.dada: its first 150 samples, 2400 bytes, "
            "are of the time of .*0.dada, but OBS_OVERLAP is 1600",
        ):
            open_input(f"dada:{names[0]},{early}")

    def test_impossible_offset(self):
        data = self.rng.integers(-127, 128, (1000, 2, 2), np.int8)
        path = self.write("far.dada", data, OBS_OFFSET=1 << 62, BW="0.01", TSAMP="100")
        with self.assertRaisesRegex(ValueError, f"far.dada: OBS_OFFSET {1 << 62}: must be such"):
            open_input(f"dada:{path}")

    def test_antennas(self):
        data = self.rng.integers(-127, 128, (1000, 6, 2), np.int8)
        names = [
            self.write(
                f"{i}.dada",
                data[500 * i : 500 * (i + 1)],
                NANT=3,
                ORDER="TAFP",
                OBS_OFFSET=6000 * i,
            )
            for i in range(2)
        ]
        for text, expected in ((names[0], data[:500]), (",".join(names), data)):
            signals = open_input(f"dada:{text}")
            self.assertEqual(
                signals.description.input_names, ["A1x", "A1y", "A2x", "A2y", "A3x", "A3y"]
            )
            np.testing.assert_array_equal(read_all(signals)[0], expected)

    def test_leap_second(self):
        """Files of one recording on both sides of a leap second, without a gap."""
        data = self.rng.integers(-127, 128, (400, 2, 2), np.int8)
        slow = {"BW": "0.00005", "TSAMP": "20000", "UTC_START": "2016-12-31-23:59:57"}
        names = [
            self.write(f"{i}.dada", data[100 * i : 100 * (i + 1)], OBS_OFFSET=400 * i, **slow)
            for i in range(4)
        ]
        for name, expected in zip(names, (57, 59, 60, 62)):
            self.assertEqual(open_input(f"dada:{name}").start_time, (1483228740 + expected, 0.0))
        for part in (names, [*names[:1], *names[2:]]):
            signals = open_input("dada:" + ",".join(part))
            self.assertEqual((signals.samples, signals.start_time), (400, (1483228797, 0.0)))
            self.assertRegex(
                signals.warnings[-1],
                "a leap second ends at 2017-01-01T00:00:00Z, within it: .* 1 s late",
            )
            self.assertEqual(signals.inputs, 2)
            out, _ = read_all(signals)
            right = data.copy()
            if len(part) < 4:
                right[100:200] = 0
            np.testing.assert_array_equal(out, right)

    def test_files_side_by_side(self):
        a, b = (self.rng.integers(-127, 128, (1000, 2, 2), np.int8) for _ in "ab")
        late = self.write("a.dada", a, OBS_OFFSET=400)
        signals = open_input(f"dada:{late},{self.write('b.dada', b)}")
        out, _ = read_all(signals)
        expected = np.zeros((1100, 4, 2), np.int8)
        expected[100:, :2], expected[:1000, 2:] = a, b
        np.testing.assert_array_equal(out, expected)
        other = self.write("c.dada", b, FREQ=1400)
        with self.assertRaisesRegex(
            ValueError,
            "c.dada: has a centre frequency of 1400000000 Hz, but .*a.dada has 1400500000 Hz",
        ):
            open_input(f"dada:{late},{other}")


if __name__ == "__main__":
    gr_unittest.run(qa_dada)
