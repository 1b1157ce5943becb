#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Reading PSRDADA files. All comparisons are exact: nothing here is computed in floats."""

import os
import time
from datetime import datetime, timezone
from fractions import Fraction
from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import dada_source, tags
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import run_chain

DATA = os.environ.get("APERTURE_DATA", Path(__file__).resolve().parents[2] / "../shared/data")
EXAMPLE = Path(DATA, "effelsberg-b2016+28.dada")

HEADER = {
    "HEADER": "DADA",
    "HDR_VERSION": "1.0",
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
    "TELESCOPE": "Test dish",
}

INTEGERS = {8: np.dtype("<i1"), 16: np.dtype("<i2")}


def unix(text):
    return int(datetime.strptime(text + "+0000", "%Y-%m-%d-%H:%M:%S%z").timestamp())


class qa_dada_source(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1)

    def write(self, data=b"", name="test.dada", drop=(), **keys):
        """A file with a header and data; the keys given replace those of HEADER."""
        header = {key: value for key, value in {**HEADER, **keys}.items() if key not in drop}
        text = "# a comment\n" + "".join(
            f"{key}   {value}   # a comment\n" for key, value in header.items()
        )
        data = data.tobytes() if isinstance(data, np.ndarray) else data
        path = self.folder / name
        path.write_bytes(text.encode().ljust(4096, b"\0") + data)
        return str(path)

    def integers(self, bits, *shape):
        """All values that there are, the lowest one too."""
        return self.rng.integers(-1 << (bits - 1), 1 << (bits - 1), shape, INTEGERS[bits])

    def run_source(self, source, dtype, shape):
        """Everything that a source sends, as [item][...], and its tags."""
        vlen = int(np.prod(shape)) * dtype.itemsize
        sink = blocks.vector_sink_b(vlen)
        self.top = gr.top_block()
        self.top.connect(source, sink)
        self.top.run()
        data = np.array(sink.data(), np.uint8).view(dtype).reshape(-1, *shape)
        return data, {pmt.symbol_to_string(tag.key): (tag.offset, tag.value) for tag in sink.tags()}

    def first_time(self, path, **arguments):
        source = dada_source(path, **arguments)
        _, found = self.run_source(source, INTEGERS[8], (2, 2))
        offset, value = found[tags.rx_time]
        self.assertEqual(offset, 0)
        result = pmt.to_uint64(pmt.tuple_ref(value, 0)), pmt.to_double(pmt.tuple_ref(value, 1))
        self.assertEqual(source.start_time(), result)
        return result

    def expect_error(self, kind, path, *words, **arguments):
        with self.assertRaises(kind) as caught:
            dada_source(path, **arguments)
        message = str(caught.exception)
        for word in (path, *words):
            self.assertIn(word, message)
        self.assertEqual(message.count("\n"), 0)

    # ---- samples

    def test_types(self):
        for bits in (8, 16):
            for dimensions in (1, 2):
                for inputs in (1, 2, 3):
                    data = self.integers(bits, 1001, inputs, dimensions)
                    path = self.write(
                        data,
                        NBIT=bits,
                        NDIM=dimensions,
                        NPOL=inputs,
                        TSAMP="0.0625" if dimensions == 2 else "0.03125",
                    )
                    source = dada_source(filename=path)
                    self.assertEqual(source.type(), ("s", "sc")[dimensions - 1] + str(bits))
                    self.assertEqual(source.inputs(), inputs)
                    self.assertEqual(source.samples(), 1001)
                    self.assertEqual(source.sample_rate(), 16e6 * (3 - dimensions))
                    self.assertEqual(source.warning(), "")
                    self.assertFalse(source.inverted())
                    out, _ = self.run_source(source, INTEGERS[bits], (inputs, dimensions))
                    np.testing.assert_array_equal(out, data)
                    self.assertEqual(source.clamped(), [0] * inputs)

    def test_high_bytes_first(self):
        for bits, kind in ((8, "i1"), (16, "i2"), (32, "f4")):
            data = self.rng.integers(-100, 100, (1001, 2, 2)) * (1 if bits == 8 else 300)
            for endian, order in (("BIG", ">"), ("big", ">"), ("LITTLE", "<"), ("unset", "<")):
                source = dada_source(
                    self.write(data.astype(order + kind), NBIT=bits, ENDIAN=endian)
                )
                out, _ = self.run_source(source, np.dtype("<" + kind), (2, 2))
                np.testing.assert_array_equal(out, data)
        self.expect_error(
            ValueError, self.write(data, ENDIAN="middle"), "ENDIAN middle:", "LITTLE or BIG"
        )

    def test_antennas(self):
        """NANT antennas of NPOL polarisations, in the order that is taken or said."""
        data = self.integers(8, 1000, 6, 2)
        for keys, warned in (
            ({"NANT": 3, "NPOL": 2}, True),
            ({"NANT": 6, "NPOL": 1}, True),
            ({"NANT": 3, "NPOL": 2, "ORDER": "TAFP"}, False),
            ({"NANT": 3, "NPOL": 2, "ORDER": "tap"}, False),
            ({"NANT": 6, "NPOL": 1, "ORDER": "TFTAP"}, False),
            ({"NANT": 1, "NPOL": 6, "ORDER": "TAFTP"}, False),
            ({"NPOL": 6, "ORDER": "TFP"}, False),
        ):
            source = dada_source(self.write(data, **keys))
            self.assertEqual((source.inputs(), source.samples()), (6, 1000))
            self.assertEqual("NANT" in source.warning(), warned, source.warning())
            out, _ = self.run_source(source, INTEGERS[8], (6, 2))
            np.testing.assert_array_equal(out, data)
        for keys in (
            {"NANT": 3, "NPOL": 2, "ORDER": "TAFTP"},
            {"NPOL": 6, "ORDER": "FPT"},
            {"NANT": 3, "NPOL": 2, "ORDER": "TPA"},
            {"NPOL": 1, "ORDER": "S"},
        ):
            self.expect_error(
                ValueError,
                self.write(data, **keys),
                f"ORDER {keys['ORDER']}:",
                "time is the slowest axis",
            )
        self.expect_error(ValueError, self.write(data, NANT=40000, NPOL=2), "NANT 40000:", "80000")

    def test_bytes_per_second(self):
        """BYTES_PER_SECOND tells of inputs that no other key does."""
        data = self.integers(8, 1000, 2, 2)
        for said, warned in (
            ("64000000", False),
            ("64000000.000000", False),
            ("unset", False),
            ("384000000", True),
        ):
            source = dada_source(self.write(data, BYTES_PER_SECOND=said))
            self.assertEqual(f"BYTES_PER_SECOND {said} is not" in source.warning(), warned)

    def test_floats(self):
        """NBIT 32: floats, and the imaginary parts of an inverted band have the other sign."""
        data = self.rng.normal(size=(1001, 3, 2)).astype("<f4")
        for bandwidth, sign in (("16", 1), ("-16", -1)):
            source = dada_source(self.write(data, NBIT=32, NPOL=3, BW=bandwidth))
            self.assertEqual((source.type(), source.inputs()), ("fc32", 3))
            out, _ = self.run_source(source, data.dtype, (3, 2))
            np.testing.assert_array_equal(out, data * np.float32([1, sign]))
        source = dada_source(self.write(data, NBIT=32, NPOL=6, NDIM=1, TSAMP="0.03125"))
        self.assertEqual(source.type(), "f32")

    def test_inverted_complex(self):
        for bits in (8, 16):
            data = self.integers(bits, 50000, 3, 2)
            lowest = -1 << (bits - 1)
            data[17, 1, 1] = lowest
            path = self.write(data, NBIT=bits, NPOL=3, BW="-16")
            source = dada_source(path)
            self.assertFalse(source.inverted())
            self.assertEqual(source.bandwidth(), 16e6)
            out, _ = self.run_source(source, INTEGERS[bits], (3, 2))
            wide = data.astype(int) * [1, -1]
            np.testing.assert_array_equal(out, np.minimum(wide, -lowest - 1))
            expected = np.count_nonzero(data[:, :, 1] == lowest, axis=0)
            self.assertGreater(expected[1], 0)
            self.assertEqual(source.clamped(), list(expected))

    def test_inverted_real(self):
        data = self.integers(8, 999, 2, 1)
        source = dada_source(self.write(data, NDIM=1, BW="-16", TSAMP="0.03125"))
        self.assertTrue(source.inverted())
        out, found = self.run_source(source, INTEGERS[8], (2, 1))
        np.testing.assert_array_equal(out, data)
        self.assertEqual(pmt.to_double(found[tags.rx_freq][1]), 1400.5e6)
        self.assertEqual(source.center_frequency(), 1400.5e6)

    def test_tags(self):
        for sign, dimensions in (("", 2), ("-", 2), ("", 1)):
            path = self.write(
                self.integers(8, 100, 2, dimensions),
                NDIM=dimensions,
                BW=sign + "16",
                TSAMP="0.0625" if dimensions == 2 else "0.03125",
            )
            source = dada_source(path)
            _, found = self.run_source(source, INTEGERS[8], (2, dimensions))
            self.assertEqual(set(found), {tags.rx_time, tags.rx_freq, tags.rx_rate})
            self.assertEqual({offset for offset, _ in found.values()}, {0})
            self.assertEqual(pmt.to_double(found[tags.rx_freq][1]), 1400.5e6)
            self.assertEqual(pmt.to_double(found[tags.rx_rate][1]), 16e6 * (3 - dimensions))

    def test_header(self):
        source = dada_source(self.write(self.integers(8, 1, 2, 2), SOURCE="J0437-4715"))
        header = source.header()
        self.assertEqual(header["TELESCOPE"], "Test dish")
        self.assertEqual(header["SOURCE"], "J0437-4715")
        self.assertEqual(header["BW"], "16")

    def test_part(self):
        data = self.integers(8, 1000, 2, 2)
        path = self.write(data)
        for begin, samples, expected in (
            (0, 0, data),
            (7, 0, data[7:]),
            (7, 13, data[7:20]),
            (999, 1, data[999:]),
            (0, 1000, data),
        ):
            source = dada_source(path, begin=begin, samples=samples)
            self.assertEqual(source.samples(), len(expected))
            out, _ = self.run_source(source, INTEGERS[8], (2, 2))
            np.testing.assert_array_equal(out, expected)
        for arguments in (
            dict(begin=-1),
            dict(begin=1000),
            dict(samples=-1),
            dict(begin=7, samples=994),
        ):
            with self.assertRaises(ValueError) as caught:
                dada_source(path, **arguments)
            key, value = list(arguments.items())[-1]
            self.assertIn(key, str(caught.exception))
            self.assertIn(str(value), str(caught.exception))

    def test_repeat(self):
        data = self.integers(8, 1000, 2, 2)
        source = dada_source(self.write(data), repeat=True, begin=990, samples=7)
        head = blocks.head(4, 45)
        sink = blocks.vector_sink_b(4)
        run_chain(source, head, sink)
        out = np.array(sink.data(), np.uint8).view("i1").reshape(-1, 2, 2)
        np.testing.assert_array_equal(out, np.tile(data[990:997], (7, 1, 1))[:45])
        # the clock goes on: no second rx_time
        self.assertEqual({tag.offset for tag in sink.tags()}, {0})

    # ---- how the stream ends and begins

    def test_restart(self):
        data = self.integers(8, 100000, 2, 2)
        source = dada_source(self.write(data, BW="-16"))
        sink = blocks.vector_sink_b(4)
        top = gr.top_block()
        top.connect(source, sink)
        for _ in range(2):
            sink.reset()
            top.run()
            out = np.array(sink.data(), np.uint8).view("i1").reshape(-1, 2, 2)
            np.testing.assert_array_equal(out[:, :, 0], data[:, :, 0])
            self.assertEqual(len(sink.tags()), 3)
            self.assertEqual(sum(source.clamped()), np.count_nonzero(data[:, :, 1] == -128))

    def test_finish(self):
        source = dada_source(self.write(self.integers(8, 1000, 2, 2)), repeat=True)
        sink = blocks.null_sink(4)
        top = gr.top_block()
        top.connect(source, sink)
        for _ in range(2):
            top.start()
            while sink.nitems_read(0) == 0:
                time.sleep(0.001)
            source.finish()
            top.wait()  # the test's time limit ends it if the stream does not
        # all that was sent has arrived
        self.assertEqual(sink.nitems_read(0), source.nitems_written(0))
        # before the start: it ends at once, and only once
        source.finish()
        top.run()
        self.assertEqual(source.nitems_written(0), 0)

    # ---- time

    def test_start_times(self):
        data = self.integers(8, 10, 2, 2)
        second = unix("2020-02-29-23:59:59")
        for keys, seconds, fraction in (
            ({}, second, 0),
            ({"UTC_START": "2020-02-29-23:59:59.123456789"}, second, Fraction("0.123456789")),
            ({"UTC_START": "2020-02-29T23:59:59Z"}, second, 0),
            ({"PICOSECONDS": "123456789012"}, second, Fraction(123456789012, 10**12)),
            ({"UTC_START": "2020-02-29-23:59:59.5", "PICOSECONDS": "500000000000"}, second + 1, 0),
            ({"UTC_START": "unset", "MJD_START": "58908.5"}, unix("2020-02-29-12:00:00"), 0),
            ({"MJD_START": "58908.999988425925926"}, second, 0),
        ):
            path = self.write(data, **keys)
            self.assertEqual(self.first_time(path), (seconds, float(fraction)), keys)
            self.assertEqual(dada_source(path).warning(), "")
        # a date that rounds to a second, without UTC_START
        path = self.write(data, drop=["UTC_START"], MJD_START="58908.99998843")
        self.assertEqual(self.first_time(path), (second, 0.0))

    def test_offsets(self):
        # against fractions: the first sample is OBS_OFFSET / 4 + begin intervals after the start
        data = self.integers(8, 1000, 2, 2)
        second = unix("2020-02-29-23:59:59")
        for bandwidth, interval, rate in (
            ("16", "0.0625", Fraction(16 * 10**6)),
            ("24", "0.041666667", Fraction(24 * 10**6)),
            ("13.3333", "0.075", Fraction(10**6 * 1000, 75)),
            ("0.1953125", "5.12", Fraction(10**8, 512)),
            ("1e3", "1e-3", Fraction(10**9)),
        ):
            for offset in (0, 4, 6400000000, 4 * (2**60 + 12345)):
                for begin in (0, 999):
                    path = self.write(data, BW=bandwidth, TSAMP=interval, OBS_OFFSET=offset)
                    late = (offset // 4 + begin) / rate
                    seconds, fraction = self.first_time(path, begin=begin)
                    self.assertEqual(seconds, second + int(late), (bandwidth, offset, begin))
                    # the reader counts attoseconds; their conversion to a double and its
                    # division are rounded once each
                    self.assertLessEqual(
                        abs(Fraction(fraction) - (late - int(late))),
                        2**-53 + 10**-18,
                        (bandwidth, offset, begin),
                    )

    def test_leap_seconds(self):
        """A file that begins an hour behind a leap second, of a recording that began an hour before
        it; ERFA knows when they were."""
        import erfa

        steps = [
            (int(step["year"]), int(step["month"]))
            for step in erfa.leap_seconds.get()
            if (step["year"], step["month"]) > (1972, 1)
        ]
        self.assertGreaterEqual(len(steps), 27)
        data = self.integers(8, 10, 2, 2)
        for year, month in steps:
            midnight = unix(f"{year}-{month:02}-01-00:00:00")
            start = datetime.fromtimestamp(midnight - 3600, timezone.utc)
            start = start.strftime("%Y-%m-%d-%H:%M:%S")
            for late, expected in ((3599, -1), (3601, 0), (7201, 3600)):
                path = self.write(data, UTC_START=start, OBS_OFFSET=late * 64000000)
                self.assertEqual(self.first_time(path), (midnight + expected, 0.0))

    def test_contradictory_start(self):
        path = self.write(self.integers(8, 10, 2, 2), MJD_START="58908.5")
        source = dada_source(path)
        self.assertIn("MJD_START 58908.5", source.warning())
        self.assertIn("UTC_START 2020-02-29-23:59:59:", source.warning())
        self.assertEqual(source.start_time()[0], unix("2020-02-29-23:59:59"))

    # ---- files that are not as they should be

    def test_truncated(self):
        data = self.integers(8, 1000, 3, 2)
        for cut, words in (
            (0, ()),
            (1, ("1 of 6000 bytes", "last 5 bytes", "999 samples")),
            (600, ("600 of 6000 bytes", "900 samples")),
            (-600, ("FILE_SIZE is 6000, and 6600 bytes are behind", "1100 samples")),
        ):
            data = self.integers(8, 1100 if cut < 0 else 1000, 3, 2)
            path = self.write(data.tobytes()[: 6000 - cut], NPOL=3, FILE_SIZE=6000)
            source = dada_source(path)
            for word in words:
                self.assertIn(word, source.warning())
            self.assertEqual(source.warning() == "", not words)
            out, _ = self.run_source(source, INTEGERS[8], (3, 2))
            np.testing.assert_array_equal(out, data[: (6000 - cut) // 6])
            self.assertEqual(source.error(), "")

    def test_file_size_with_header(self):
        """Some recorders count the header in FILE_SIZE: 10096 bytes, 6000 of them samples."""
        data = self.integers(8, 1000, 3, 2)
        for cut, words in ((0, ()), (600, ("4696 of 10096 bytes", "or 600 if", "900 samples"))):
            path = self.write(data.tobytes()[: 6000 - cut], NPOL=3, FILE_SIZE=10096)
            source = dada_source(path)
            for word in words:
                self.assertIn(word, source.warning())
            self.assertEqual(source.warning() == "", not words)
            out, _ = self.run_source(source, INTEGERS[8], (3, 2))
            np.testing.assert_array_equal(out, data[: (6000 - cut) // 6])

    def test_shortened_while_reading(self):
        path = self.write(self.integers(8, 1000, 2, 2))
        source = dada_source(path)
        os.truncate(path, 4096 + 402)
        out, _ = self.run_source(source, INTEGERS[8], (2, 2))
        self.assertEqual(len(out), 100)
        self.assertIn(path, source.error())
        self.assertIn("4498", source.error())

    def test_bad_headers(self):
        data = self.integers(8, 10, 2, 2)
        for key, value, *rules in (
            ("NBIT", "4", "8, 16 or 32"),
            ("NBIT", "64", "8, 16 or 32"),
            ("NBIT", "eight", "integer"),
            ("NBIT", "8.5", "integer"),
            ("NDIM", "3", "1 to 2"),
            ("NPOL", "0", "1 to"),
            ("NPOL", "99999999999999999999", "1 to"),
            ("NCHAN", "64", "must be 1"),
            ("FREQ", "L-band", "MHz"),
            ("FREQ", "nan", "MHz"),
            ("BW", "0", "MHz"),
            ("FREQ", "-1", "from 0 to 1e9"),
            ("TSAMP", "2e6", "from 0.001 to 1e6"),
            ("BW", "inf", "MHz"),
            ("TSAMP", "-0.0625", "microseconds"),
            ("TSAMP", "0", "microseconds"),
            ("TSAMP", "1e300", "microseconds"),
            ("TSAMP", "0.03125", "BW 16", "0.1%"),
            ("TSAMP", "0.0626", "BW 16", "0.1%"),
            ("UTC_START", "yesterday", "yyyy-mm-dd"),
            ("UTC_START", "2019-02-29-00:00:00", "yyyy-mm-dd"),
            ("MJD_START", "unknown", "Julian"),
            ("MJD_START", "0", "1970"),
            ("PICOSECONDS", "1000000000000", "999999999999"),
            ("OBS_OFFSET", "-4", "0 to"),
            ("OBS_OFFSET", "6", "multiple", "4 bytes"),
            ("FILE_SIZE", "big", "integer"),
            ("HDR_SIZE", "0", "1 to"),
            ("HDR_SIZE", "5000", "4136 bytes"),
        ):
            path = self.write(data, **{key: value})
            self.expect_error(ValueError, path, f"{key} {value}:", *rules)
        for key in (
            "NBIT",
            "NDIM",
            "NPOL",
            "NCHAN",
            "FREQ",
            "BW",
            "TSAMP",
            "UTC_START",
            "HDR_SIZE",
        ):
            self.expect_error(ValueError, self.write(data, drop=[key]), f"{key} is missing: must")

    def test_no_samples(self):
        self.expect_error(ValueError, self.write(b""), "0 bytes", "at least one sample")
        self.expect_error(ValueError, self.write(b"abc"), "3 bytes", "at least one sample")

    def test_no_file(self):
        self.expect_error(RuntimeError, str(self.folder / "absent.dada"), "No such file")
        self.expect_error(RuntimeError, str(self.folder), "cannot be read")
        empty = self.folder / "empty.dada"
        empty.touch()
        self.expect_error(ValueError, str(empty), "HDR_SIZE is missing")
        noise = self.folder / "noise.dada"
        noise.write_bytes(bytes(self.integers(8, 10000)))
        self.expect_error(ValueError, str(noise), "HDR_SIZE is missing")

    def test_errors_of_names_that_are_not_utf_8(self):
        """Texts of errors are whole, and name the file as Python names it."""
        name = os.fsencode(self.folder) + b"/n\xff.dada"
        with self.assertRaisesRegex(RuntimeError, "^.*/n\udcff.dada: cannot be read: No such"):
            dada_source(name)
        with open(name, "w") as file:
            file.write("no header")
        with self.assertRaisesRegex(ValueError, "^.*/n\udcff.dada: HDR_SIZE is missing: must be"):
            dada_source(name)

    # ---- a recording of the Effelsberg telescope

    def test_example(self):
        if not EXAMPLE.exists():
            self.skipTest(f"{EXAMPLE} is not there")
        source = dada_source(str(EXAMPLE))
        self.assertEqual(source.header()["TELESCOPE"], "Effelsberg")
        self.assertEqual((source.type(), source.inputs(), source.samples()), ("sc8", 2, 16000))
        self.assertEqual((source.sample_rate(), source.center_frequency()), (16e6, 320e6))
        self.assertEqual(source.warning(), "")
        # OBS_OFFSET is 100 s
        self.assertEqual(source.start_time(), (unix("2013-07-02-01:39:20"), 0.0))
        out, _ = self.run_source(source, INTEGERS[8], (2, 2))
        np.testing.assert_array_equal(
            out, np.fromfile(EXAMPLE, "i1", offset=4096).reshape(-1, 2, 2)
        )


if __name__ == "__main__":
    gr_unittest.run(qa_dada_source)
