#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of nothing but samples, lined up by their times; written by NumPy, compared exactly."""

import os
from datetime import datetime, timezone
from fractions import Fraction

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import tags
from gnuradio.aperture.inputs.input_format import InputError
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.parameters.times import (
    exact,
    read_time,
    resolution,
    time_text,
    whole_and_fraction,
)
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.played_inputs import check_after, read_all

BAND = ",rate=1e6,freq=1420.4e6"


class qa_raw(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(11)

    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.tobytes())
        return path

    def test_types(self):
        """Every type, with one and three inputs, behind a header of an odd number of bytes."""
        for name, kind, low, given, offset in (
            ("cu8", "u1", 0, "sc8", 127.5),
            ("sc8", "i1", -128, "sc8", 0),
            ("sc16", "<i2", -32768, "sc16", 0),
            ("sc16_be", ">i2", -32768, "sc16", 0),
            ("fc32", "<f4", None, "fc32", 0),
            ("fc32_be", ">f4", None, "fc32", 0),
            ("u8", "u1", 0, "s8", 127.5),
            ("s8", "i1", -128, "s8", 0),
            ("s16", "<i2", -32768, "s16", 0),
            ("s16_be", ">i2", -32768, "s16", 0),
            ("f32", "<f4", None, "f32", 0),
            ("f32_be", ">f4", None, "f32", 0),
        ):
            for inputs in (1, 3):
                with self.subTest(name=name, inputs=inputs):
                    shape = (1001, inputs) + ((2,) if "c" in name else ())
                    data = (
                        self.rng.normal(size=shape)
                        if low is None
                        else self.rng.integers(low, low + 256 ** int(kind[-1]), shape)
                    ).astype(kind)
                    path = self.write("a.bin", b"seven b" + data.tobytes())
                    signals = open_input(
                        f"raw:{path},type={name},inputs={inputs},skip=7,time=1e9,".replace(
                            "1e9", "1000000000"
                        )
                        + BAND[1:]
                    )
                    self.assertEqual(
                        (signals.sample_type, signals.inputs, signals.samples),
                        (given, inputs, 1001),
                    )
                    self.assertEqual(
                        (signals.sample_rate, signals.center_frequency), (1e6, 1420.4e6)
                    )
                    self.assertEqual(signals.start_time, (1000000000, 0.0))
                    self.assertEqual(signals.files, [path])
                    out, _ = read_all(signals)
                    np.testing.assert_array_equal(
                        out, np.minimum(np.rint(data - offset), 127) if offset else data
                    )

    def test_bytes_have_no_common_offset(self):
        """
        Two dongles with nothing in common: the mean of each, and of their product, is that of
        noise, at all levels from 1.5 steps on; what rounding adds is a quarter of a step squared.
        """
        samples = 400000
        for rms in (1.5, 4, 30):
            with self.subTest(rms=rms):
                names = [
                    self.write(
                        f"{name}.cu8",
                        np.clip(np.rint(self.rng.normal(127.5, rms, (samples, 2))), 0, 255).astype(
                            np.uint8
                        ),
                    )
                    for name in "ab"
                ]
                out, _ = read_all(open_input(f"raw:{names[0]},{names[1]},time=1000" + BAND))
                power = np.mean(out.astype(float) ** 2, axis=(0, 2))
                # the samples' own rounding adds a twelfth
                np.testing.assert_allclose(power, rms**2 + 1 / 12 + 1 / 4, rtol=0.01)
                error = 5 * np.sqrt(power.max() / samples)
                self.assertLess(np.abs(out.mean(axis=0)).max(), error)  # 0.5 without it

    def test_endings(self):
        data = self.rng.integers(-128, 128, (100, 2), np.int8)
        for ending, kind in (
            ("cu8", "sc8"),
            ("cs8", "sc8"),
            ("CS16", "sc16"),
            ("cfile", "fc32"),
            ("s16", "s16"),
            ("f32", "f32"),
        ):
            signals = open_input(f"raw:{self.write('a.' + ending, data.tobytes() * 8)}" + BAND)
            self.assertEqual(signals.sample_type, kind)

    def test_files_side_by_side(self):
        """Two files of two inputs each; the second began 1.25 ms later and ends later."""
        a, b = (self.rng.integers(-128, 128, (5000, 2, 2), np.int8) for _ in "ab")
        signals = open_input(
            f"raw:{self.write('a.sc8', a)},{self.write('b.sc8', b)},inputs=2,time="
            "2024-02-29T12:00:00.5Z;2024-02-29T12:00:00.50125Z" + BAND
        )
        self.assertEqual((signals.inputs, signals.samples), (4, 6250))
        check_after(self, signals, 1, 1249, 1250, 5001, 6249)
        out, found = read_all(signals)
        expected = np.zeros((6250, 4, 2), np.int8)
        expected[:5000, :2] = a
        expected[1250:, 2:] = b
        np.testing.assert_array_equal(out, expected)
        missing = [
            (offset, value["input"], value["count"])
            for offset, key, value in found
            if key == tags.missing
        ]
        self.assertEqual(
            sorted(missing), [(0, 2, 1250), (0, 3, 1250), (5000, 0, 1250), (5000, 1, 1250)]
        )
        noon = int(datetime(2024, 2, 29, 12, tzinfo=timezone.utc).timestamp())
        self.assertEqual(signals.start_time, (noon, 0.5))
        self.assertIn((0, tags.rx_time, (noon, 0.5)), found)
        text = "\n".join(signals.warnings)
        self.assertRegex(text, "b.sc8: begins 1.25 ms after .*a.sc8: its first 1250 samples are")
        self.assertRegex(text, "a.sc8: ends 1.25 ms before .*b.sc8: its last 1250 samples are")
        self.assertIn("antennas A1 to A4, polarisation x", text)
        # the times the other way round give the same samples in the other order
        signals = open_input(
            f"raw:{self.write('b.sc8', b)},{self.write('a.sc8', a)},inputs=2,time="
            "2024-02-29T12:00:00.50125Z;2024-02-29T12:00:00.5Z" + BAND
        )
        np.testing.assert_array_equal(read_all(signals)[0], expected[:, [2, 3, 0, 1]])

    def test_between_samples(self):
        """A remainder between the samples of two files is told with its length."""
        data = self.rng.integers(-128, 128, (100, 2), np.int8)
        names = f"raw:{self.write('a.sc8', data)},{self.write('b.sc8', data)}"
        signals = open_input(names + ",time=1000000000.25;1000000000.2500072" + BAND)
        self.assertRegex(
            "\n".join(signals.warnings),
            r"b.sc8: begins \+0.2 of a sample beside the "
            "samples of .*a.sc8: this delay of 200 ns remains",
        )
        self.assertEqual(signals.samples, 107)
        for apart, said in ((3600, "3600 s"), (3 * 31557600, "9.46728e.07 s")):
            with self.assertRaisesRegex(
                ValueError, f"b.sc8: begins {said} after .*a.sc8 has ended: files are read side"
            ):
                open_input(f"{names},time=1000000000;{1000000000 + apart}{BAND}")

    def test_without_times(self):
        data = self.rng.integers(-128, 128, (100000, 2), np.int8)
        path = self.write("a.sc8", data)
        os.utime(path, (1700000000, 1700000000))
        signals = open_input(f"raw:{path},{self.write('b.sc8', data)}" + BAND)
        self.assertEqual(signals.start_time, (1699999999, 0.9))
        text = "\n".join(signals.warnings)
        self.assertIn("a.sc8: does not say when it began: 2023-11-14T22:13:19.900000Z is", text)
        self.assertIn("taken to have begun at the same moment", text)
        for more, guessed in (("", [(0, True)]), (",time=1700000000", [])):
            _, found = read_all(open_input(f"raw:{path}{more}" + BAND))
            self.assertEqual(
                [(item, value) for item, key, value in found if key == "rx_time_approximate"],
                guessed,
            )

    def test_inverted(self):
        data = self.rng.integers(-127, 128, (1000, 1, 2), np.int8)
        path = self.write("a.sc8", data)
        out, _ = read_all(open_input(f"raw:{path},inverted=yes" + BAND))
        np.testing.assert_array_equal(out, data * np.array([1, -1]))
        self.assertFalse(open_input(f"raw:{path},inverted=yes" + BAND).inverted)
        self.assertTrue(open_input(f"raw:{path},type=s8,inverted=yes" + BAND).inverted)

    def test_part(self):
        data = self.rng.integers(-128, 128, (1000, 1, 2), np.int8)
        signals = open_input(f"raw:{self.write('a.sc8', data)}" + BAND)
        np.testing.assert_array_equal(read_all(signals, 17)[0], data[:17])

    def test_units(self):
        """Rates and frequencies have units, and are exact."""
        path = self.write("a.sc8", bytes(2000))
        for rate, frequency, hertz in (
            ("2.4MHz", "1.4204 GHz", (2.4e6, 1420.4e6)),
            ("0.1 kHz", "0", (100, 0)),
            ("5Hz", "60Hz", (5, 60)),
        ):
            signals = open_input(f"raw:{path},rate={rate},freq={frequency}")
            self.assertEqual((signals.sample_rate, signals.center_frequency), hertz)

    def test_a_file_that_is_not_whole(self):
        signals = open_input(f"raw:{self.write('a.sc16', bytes(4003))}" + BAND)
        self.assertEqual(signals.samples, 1000)
        self.assertRegex(
            signals.warnings[0] + signals.warnings[1],
            "a.sc16: the last 3 bytes are not the 4 of a whole sample",
        )

    def test_errors(self):
        path = self.write("a.bin", bytes(100))
        empty = self.write("empty.cu8", b"")
        for error, text, problem in (
            (
                InputError,
                f"{path},freq=1e9",
                "rate is missing: a raw file does not say it; add ,rate=2.4e6, in Hz",
            ),
            (InputError, f"{path},rate=1e6", "freq is missing"),
            (
                InputError,
                path + BAND,
                "type is missing, and .*a.bin does not end in it; add "
                ",type=cu8 for what rtl_sdr writes",
            ),
            (InputError, f"{path},type=u16{BAND}", "type=u16: expected cu8, sc8"),
            (InputError, f"{path},type=u8,rate=0", "rate=0: expected a number from 1 to 1e.12"),
            # megahertz are meant
            (
                InputError,
                f"{path},rate=2.4,freq=1e9",
                "rate=2.4: that is 2.4 Hz, and MHz may "
                "be meant: write 2.4MHz, 2.4e6, or 2.4Hz if it is right",
            ),
            (InputError, f"{path},rate=2.4e6,freq=1420.4", "write 1420.4MHz, 1420.4e6, or "),
            (InputError, f"{path},rate=1e99", "rate=1e99: expected a number"),
            (InputError, f"{path},time=noon", "time=noon: expected UTC as 2024"),
            (InputError, f"{path},type=u8,time=5;6{BAND}", "time has 2 times: expected one"),
            (InputError, f"{path},{empty},type=u8,inputs=0", "inputs=0: expected a whole"),
            (ValueError, f"{empty}{BAND}", "empty.cu8: has 0 bytes: at least one sample of 2"),
            (
                ValueError,
                f"{path},type=u8,skip=100{BAND}",
                "a.bin: has 100 bytes, 100 of them skipped: at least one",
            ),
            (ValueError, f"{self.folder},type=u8{BAND}", "this is a folder"),
            (FileNotFoundError, f"{path}x,type=u8{BAND}", "No such file"),
            (
                InputError,
                f"{self.write('a.sc8', b'ab')},{empty}{BAND}",
                "files of cu8 and sc8 cannot be read together",
            ),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(error, problem):
                open_input("raw:" + text)

    def test_times(self):
        """Against Python's own, and exact where that is not."""
        for text, seconds in (
            ("2024-02-29T12:34:56.000000000000000001Z", Fraction(1, 10**18)),
            ("2024-02-29 12:34:56,25", Fraction(1, 4)),
            ("2024-02-29T12:34:56Z", 0),
            ("2024-02-29T14:34:56+02:00", 0),
            ("2024-02-29T06:04:56-0630", 0),
            ("2024-02-29T12:34Z", -56),
        ):
            noon = datetime(2024, 2, 29, 12, 34, 56, tzinfo=timezone.utc).timestamp()
            self.assertEqual(read_time(text), int(noon) + seconds)
        self.assertEqual(read_time("2016-12-31T23:59:60Z"), read_time("2017-01-01T00:00:00Z"))
        self.assertEqual(read_time("1700000000.1"), Fraction(17000000001, 10))
        for text in (
            "",
            "2024-13-01T00:00:00Z",
            "2024-02-30",
            "1969-12-31T23:59:59Z",
            "-1",
            "2024-01-01T24:00:00Z",
            "1e9",
            "99999999999999",
            "2024-01-01T00:00:61Z",
        ):
            with self.assertRaises(ValueError, msg=text):
                read_time(text)
        self.assertEqual(resolution("2024-02-29T12:34:56.25Z"), Fraction(1, 100))
        self.assertEqual(exact(0.1), Fraction(1, 10))
        self.assertEqual(time_text(Fraction(3, 2)), "1970-01-01T00:00:01.500000Z")
        # the nearest pair whose fraction is below 1
        self.assertEqual(whole_and_fraction(2 - Fraction(1, 10**30)), (2, 0.0))


if __name__ == "__main__":
    gr_unittest.run(qa_raw)
