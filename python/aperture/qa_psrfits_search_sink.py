#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""PSRFITS in search mode, read back by astropy and by power_source's reader."""

import errno
import os
import shutil
import warnings
from fractions import Fraction
from itertools import product
from unittest import mock

import numpy as np
from astropy.coordinates import CIRS, AltAz, EarthLocation, SkyCoord
from astropy.io import fits
from astropy.time import Time, TimeDelta
from astropy.utils import iers
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.files.checked_file import CheckedFile
from gnuradio.aperture.formats.power_files import PowerRecording
from gnuradio.aperture.qa_filterbank_sink import BEAMS, array_of, tags_of
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import run_chain

COUNTS = {"power": 1, "I": 1, "IQUV": 4, "coherency": 4}
LATER = dict(frequency=None, bandwidth=None, rate=None, spectra=None)


def numbers_of(table, row):
    """The numbers of a row, [sample][product][channel], by the standard: high bits come first."""
    header, data = table.header, table.data["DATA"][row]
    bits, shape = header["NBITS"], (header["NSBLK"], header["NPOL"], header["NCHAN"])
    if bits >= 8:
        return np.asarray(data, float).reshape(shape)
    single = np.unpackbits(np.asarray(data, np.uint8).reshape(-1)).reshape(-1, bits)
    return (single @ (1 << np.arange(bits)[::-1])).reshape(shape).astype(float)


def read(path):
    """Primary header, table, and powers [row][sample][product][channel], ascending, float64."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fits.open(path, memmap=False) as file:
            primary, table = file[0].header, file["SUBINT"]
            table.verify("exception")
            shape = (table.header["NPOL"], table.header["NCHAN"])
            rows = [
                numbers_of(table, row) * np.reshape(table.data["DAT_SCL"][row], shape)
                + np.reshape(table.data["DAT_OFFS"][row], shape)
                for row in range(table.header["NAXIS2"])
            ]
    order = slice(None, None, -1 if table.header["CHAN_BW"] < 0 else 1)
    return primary, table, np.reshape(rows, (-1, table.header["NSBLK"], *shape))[..., order]


class qa_psrfits_search_sink(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(1)

    def powers(self, samples, products=1, channels=8, beams=1):
        """Powers about means of each channel, that may be negative but in the first product."""
        found = self.random.normal(size=(samples, beams, products, channels))
        found *= self.random.uniform(1, 50, (products, channels))
        found[:, :, 0] += 1e3 * self.random.uniform(1, 2, channels)
        return found.astype(np.float32)

    def run_sink(self, items, found, name="a.sf", prepare=None, counts=None, **arguments):
        arguments = {"products": "I", "row_samples": 20, "beams": BEAMS[:1]} | arguments
        array = arguments.pop("array", None) or array_of()
        source = blocks.vector_source_f(items.ravel().tolist(), False, items[0].size, found)
        at_once = arguments.pop("at_once", 13)
        sink = aperture.psrfits_search_sink(
            self.path(name), array, channels=items.shape[3], counts=counts is not None, **arguments
        )
        # calls that end anywhere in a row
        sink.set_max_noutput_items(at_once)
        if prepare:
            prepare(sink)
        if counts is None:
            run_chain(source, sink)
        else:
            second = blocks.vector_source_i(counts.ravel().tolist(), False, counts[0].size)
            top = gr.top_block()
            top.connect(source, (sink, 0))
            top.connect(second, (sink, 1))
            top.run()
        return sink

    def test_read_back(self):
        """All numbers of bits, products and orders of channels, with the levels of each row."""
        for bits, products, descending, channels in product(
            (1, 2, 4, 8, 16, 32), ("power", "I", "IQUV", "coherency"), (False, True), (8, 6)
        ):
            if bits * channels * COUNTS[products] % 8:
                continue
            with self.subTest(bits=bits, products=products, descending=descending):
                items = self.powers(60, COUNTS[products], channels)
                array = array_of("x" if products == "power" else "xy")
                arguments = dict(products=products, nbits=bits, descending=descending, array=array)
                sink = self.run_sink(items, tags_of(0), **arguments)
                self.assertEqual((sink.error(), sink.integrations()), (None, 60))
                primary, table, rows = read(self.path("a.sf"))
                kinds = {"power": "AA", "I": "AA+BB", "IQUV": "IQUV", "coherency": "AABBCRCI"}
                header = table.header
                self.assertEqual(header["POL_TYPE"], kinds[products])
                self.assertEqual((header["NAXIS2"], header["NSTOT"]), (3, 60))
                sign = -1 if descending else 1
                width = sign / channels
                self.assertAlmostEqual(header["CHAN_BW"], width, places=12)
                self.assertAlmostEqual(primary["OBSBW"], sign * 1.0, places=12)
                # channel n // 2 is at rx_freq
                frequencies = 100 + (np.arange(channels) - channels // 2) / channels
                for shown in table.data["DAT_FREQ"]:
                    np.testing.assert_allclose(shown[::sign], frequencies, rtol=1e-14)
                self.assertAlmostEqual(primary["OBSFREQ"], frequencies.mean(), places=12)
                powers = items[:, 0].reshape(rows.shape)
                step = np.reshape(table.data["DAT_SCL"], (3, 1, *rows.shape[2:]))[..., ::sign]
                if bits == 32:
                    np.testing.assert_array_equal(rows, powers)
                else:
                    # half a step, and the rounding of a float
                    away = np.abs(rows - powers) / step - 1e-4 * np.abs(powers) / 1e3
                    if bits >= 8:
                        span = np.ptp(powers, axis=1, keepdims=True)
                        np.testing.assert_allclose(step, span / {8: 255, 16: 65500}[bits], 1e-4)
                        self.assertLess(away.max(), 0.501)
                    else:
                        # powers beyond the levels have the outermost one
                        outer = (2**bits - 1) / 2 * step
                        mean = powers.mean(axis=1, keepdims=True, dtype=float)
                        inside = np.abs(powers - mean) < outer + step / 2 * 0.99
                        self.assertLess(away[inside].max(), 0.501)
                        np.testing.assert_allclose(
                            np.abs(rows - mean)[~inside],
                            np.broadcast_to(outer, rows.shape)[~inside],
                            rtol=1e-3,
                        )
                        # the least error of Gaussian noise (Max 1960): 0.363, 0.119, 0.0115
                        error = np.mean((rows - powers) ** 2) / np.mean((powers - mean) ** 2)
                        self.assertAlmostEqual(
                            error / {1: 0.363, 2: 0.119, 4: 0.0115}[bits], 1, delta=0.5
                        )
                # our reader
                recording = PowerRecording(self.path("a.sf"), products="all")
                found = np.empty((60, *recording.shape), np.float32)
                recording.read_into(0, found)
                self.assertEqual(recording.warnings, [])
                self.assertEqual(recording.files[0].products, "I" if products == "I" else products)
                np.testing.assert_allclose(
                    found.reshape(rows.shape), rows, rtol=0, atol=2e-7 * np.abs(rows).max()
                )

    def test_constant_powers(self):
        """Powers that do not vary, that are large, or that vary by the last digit of a float."""
        items = np.full((20, 1, 1, 8), 1e30, np.float32)
        items[:, 0, 0, 1] = 0
        items[::2, 0, 0, 2] = np.nextafter(np.float32(1e30), np.float32(np.inf))
        items[:, 0, 0, 3] = np.linspace(-3e38, 3e38, 20)
        for bits in (8, 16):
            self.run_sink(items, tags_of(0), nbits=bits)
            _, table, rows = read(self.path("a.sf"))
            away = np.abs(rows[0] - items[:, 0].astype(float))
            np.testing.assert_array_less(
                away.max(axis=(0, 1))[[0, 1, 2, 4]], np.spacing(np.float32(1e30))
            )
            self.assertLess(away[..., 3].max(), 3e38 / (200 if bits == 8 else 50000))

    def test_a_file_for_each_beam(self):
        """Rows of all beams are of the same times; the header has what is the beam's."""
        items = self.powers(45, 1, beams=6)
        sink = self.run_sink(
            items, tags_of(0), "{beam}.sf", beams=BEAMS, products="power", nbits=32
        )
        self.assertIsNone(sink.error())
        names = ["A_x", "A_y", "Cas_A_1_x", "Cas_A_1_y", "c_x", "c_y"]
        self.assertEqual(sink.files(), [self.path(f"{name}.sf") for name in names])
        for number, path in enumerate(sink.files()):
            primary, table, rows = read(path)
            np.testing.assert_array_equal(rows.reshape(60, 8)[:45], items[:, number, 0])
            self.assertEqual(table.header["POL_TYPE"], ("AA", "BB")[number % 2])
            self.assertEqual((table.header["NAXIS2"], table.header["NSTOT"]), (3, 45))
            # the mean fills the last row
            np.testing.assert_allclose(
                rows[2, 5:].mean(axis=0), items[40:, number].mean(axis=0), rtol=1e-6
            )
            self.assertEqual(primary["TELESCOP"], "Effelsberg")
            self.assertEqual(primary["TRK_MODE"], "TRACK" if number in (2, 3) else "DRIFT")
            self.assertEqual(PowerRecording(path).samples, 45)
        primary, table, _ = read(sink.files()[2])
        self.assertEqual((primary["RA"], primary["DEC"]), ("23:23:24.0000", "+58:48:54.0000"))
        site = EarthLocation.from_geodetic(6.9, 50.5, 400.0)
        start = Time(primary["STT_IMJD"] + primary["STT_OFFS"] / 86400, format="mjd", scale="utc")
        for row in table.data:
            time = start + TimeDelta(row["OFFS_SUB"], format="sec")
            sky = SkyCoord(350.85, 58.815, unit="deg")
            # nothing is downloaded, and this day may be later than the tables of UT1
            with iers.conf.set_temp("auto_download", False):
                with iers.conf.set_temp("iers_degraded_accuracy", "ignore"):
                    down = sky.transform_to(AltAz(obstime=time, location=site))
                    sidereal = time.sidereal_time("apparent", site.lon)
                    pole = SkyCoord(0, 90, unit="deg", frame=CIRS(obstime=time, location=site))
                    pole = pole.transform_to(AltAz(obstime=time, location=site))
            for name, value in (
                ("LST_SUB", sidereal.hour * 3600),
                ("RA_SUB", 350.85),
                ("DEC_SUB", 58.815),
                ("GLON_SUB", sky.galactic.l.deg),
                ("GLAT_SUB", sky.galactic.b.deg),
                ("TEL_AZ", down.az.deg),
                ("TEL_ZEN", 90 - down.alt.deg),
                # azimuth rises clockwise on the sky, the way from zenith to pole
                ("PAR_ANG", down.position_angle(pole).wrap_at("180d").deg),
            ):
                self.assertAlmostEqual(row[name], value, delta=0.05, msg=name)

    def test_times(self):
        """The start and the middles of rows are exact; new files have starts of their own."""
        rate = 1 / 0.003
        for roll, lengths in (
            (dict(seconds=1.0), (340, 340, 320)),  # 333.3 samples, in whole rows
            (dict(size=16 * (160 + 236) + 100), (320, 320, 320, 40)),
        ):
            items = self.powers(1000)
            time = (1704067200, 0.0 + 0.003 / 50 / 2)
            sink = self.run_sink(
                items,
                tags_of(0, time, rate=rate),
                "{time}.sf",
                prepare=lambda sink, roll=roll: sink.set_roll_over(**roll),
                nbits=32 if "seconds" in roll else 8,
                at_once=100,
            )
            self.assertIsNone(sink.error())
            first = 0
            found = []
            for path in sink.files():
                primary, table, rows = read(path)
                count = table.header["NSTOT"]
                found.append(count)
                start = (
                    (primary["STT_IMJD"] - 40587) * 86400
                    + primary["STT_SMJD"]
                    + Fraction(primary["STT_OFFS"])
                )
                self.assertAlmostEqual(float(start - 1704067200), first * 0.003, delta=1e-9)
                self.assertLess(primary["STT_OFFS"], 1)
                np.testing.assert_allclose(
                    table.data["OFFS_SUB"], (np.arange(len(rows)) + 0.5) * 0.06, rtol=1e-12
                )
                self.assertEqual((table.header["TBIN"], table.header["NSUBOFFS"]), (0.003, 0))
                np.testing.assert_allclose(table.data["TSUBINT"], 0.06)
                clock = PowerRecording(path).clock(0)
                self.assertAlmostEqual(clock[0] - 1704067200 + clock[1], first * 0.003 + 0.0015)
                if "seconds" in roll:
                    np.testing.assert_array_equal(
                        rows.reshape(-1, 8)[:count], items[first : first + count, 0, 0]
                    )
                first += count
            self.assertEqual(tuple(found), lengths)
            for path in sink.files():
                os.unlink(path)

    def test_missing(self):
        """Samples that are missing are the mean of the row; of a whole row, the weight is 0."""
        items = self.powers(80)
        there = dict(time=None, **LATER)
        tagged = tags_of(0) + tags_of(10, **there, counted=[0]) + tags_of(15, **there, counted=[9])
        # 25 samples are left out behind 35: the rest of a row, and a whole one
        tagged += tags_of(35, (1704067200, 0.25 + 0.60), **LATER)
        items[50, 0, 0, 3] = np.nan
        sink = self.run_sink(items, tagged, nbits=32)
        self.assertEqual((sink.error(), sink.integrations(), sink.filled()), (None, 105, 30))
        _, table, rows = read(self.path("a.sf"))
        lost = np.zeros(105, int)
        for first, count, number in np.loadtxt(self.path("a.sf.missing"), int):
            self.assertEqual(number, -1)
            lost[first : first + count] += 1
        self.assertEqual(np.flatnonzero(lost).tolist(), [*range(10, 15), *range(35, 60)])
        self.assertEqual(lost.max(), 1)
        right = np.full((120, 8), np.nan)
        right[:35], right[60:105] = items[:35, 0, 0], items[35:, 0, 0]
        right[10:15] = np.nan
        right = right.reshape(6, 20, 8)
        mean = np.nanmean(right[[0, 1, 1, 3, 4, 5]], axis=1, keepdims=True)
        np.testing.assert_allclose(rows[:, :, 0], np.where(np.isnan(right), mean, right), rtol=1e-6)
        weights = np.repeat([[1], [1], [0], [1], [1], [1]], 8, axis=1)
        np.testing.assert_array_equal(table.data["DAT_WTS"], weights)
        recording = PowerRecording(self.path("a.sf"))
        found = np.empty((105, 1, 1, 8), np.float32)
        recording.read_into(0, found)
        self.assertTrue(np.isnan(found[40:60]).all() and np.isfinite(found[60:]).all())

    def test_flagged(self):
        """A channel of which nothing was counted in a row has the weight 0 there."""
        items, counts = self.powers(60), np.full((60, 1, 8), 5, np.uint32)
        counts[20:40, 0, 3] = counts[45, 0, 6] = 0
        items[20:40, 0, 0, 3] = items[45, 0, 0, 6] = 1e9
        sink = self.run_sink(items, tags_of(0), nbits=32, counts=counts)
        self.assertIsNone(sink.error())
        self.assertAlmostEqual(sink.flagged(), 21 / 480)
        _, table, rows = read(self.path("a.sf"))
        weights = np.ones((3, 8))
        weights[1, 3] = 0
        np.testing.assert_array_equal(table.data["DAT_WTS"], weights)
        self.assertLess(rows.max(), 1e4)
        self.assertAlmostEqual(
            rows[2, 5, 0, 6] / np.delete(items[40:60, 0, 0, 6], 5).mean(), 1, places=5
        )

    def test_full_disk(self):
        """A row that does not fit is not there at all, and those before it are."""
        items, write, written = self.powers(100), os.write, []

        def full(descriptor, data):
            size = memoryview(data).nbytes
            written.append(size)
            if sum(written) > 18000:
                if size > 10:  # a part of it fits
                    write(descriptor, memoryview(data)[: size // 2])
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(descriptor, data)

        with mock.patch("gnuradio.aperture.files.checked_file.os.write", full):
            sink = self.run_sink(items, tags_of(0), nbits=32)
        self.assertEqual(sink.error(), f"{self.path('a.sf')}: No space left on device")
        _, table, rows = read(self.path("a.sf"))
        self.assertGreater(len(rows), 0)
        self.assertLess(len(rows), 5)
        self.assertEqual(sink.integrations(), 20 * len(rows))
        np.testing.assert_array_equal(rows.reshape(-1, 8), items[: 20 * len(rows), 0, 0])
        self.assertEqual(os.path.getsize(self.path("a.sf")) % 2880, 0)

    def test_killed(self):
        """A file has the rows that its header says, after each change that is made to it."""
        items, seen = self.powers(100), []

        def watched(name):
            real = getattr(CheckedFile, name)

            def call(file, *data, **more):
                real(file, *data, **more)
                copy = shutil.copy(file.name, self.path("copy.sf"))
                with fits.open(copy) as now:
                    count = 20 * now["SUBINT"].header["NAXIS2"]
                if count:
                    found = np.empty((count, 1, 1, 8), np.float32)
                    PowerRecording(copy).read_into(0, found)
                    np.testing.assert_array_equal(found, items[:count])
                seen.append((name, count))

            return call

        patches = {name: watched(name) for name in ("add", "rewrite_begin")}
        with mock.patch.multiple(CheckedFile, **patches):
            sink = self.run_sink(items, tags_of(0), nbits=32)
        self.assertIsNone(sink.error())
        right = [("add", 0)]
        for row in range(5):
            right += [("add", 20 * row), ("rewrite_begin", 20 * row + 20)]
        self.assertEqual(seen, right)

    def test_left_out(self):
        """Files end at once, in the middle of a row, where nothing is to be recorded any more."""
        items = self.powers(50)
        sink = aperture.psrfits_search_sink(
            self.path("{time}.sf"), array_of(), BEAMS[:1], 8, "I", nbits=32, row_samples=20
        )

        class Driven(type(sink)):
            taken = 0
            nitems_read = lambda self, port: self.taken
            get_tags_in_window = lambda self, port, *range: [] if self.taken else tags_of(0)

        sink.__class__ = Driven
        sink.start()
        for recording, count in ((True, 25), (False, 15), (True, 10)):
            sink.set_recording(recording)
            part = items[sink.taken : sink.taken + count]
            self.assertEqual(sink.work([part.reshape(count, -1)], []), count)
            sink.taken += count
        sink.stop()
        self.assertEqual((sink.error(), sink.left_out(), sink.integrations()), (None, 15, 35))
        for path, part in zip(sink.files(), (slice(0, 25), slice(40, 50)), strict=True):
            recording = PowerRecording(path)
            found = np.empty((recording.samples, 1, 1, 8), np.float32)
            recording.read_into(0, found)
            np.testing.assert_array_equal(found, items[part])
            begin = recording.begin[0] - 1704067200 + recording.begin[1]
            self.assertAlmostEqual(begin, 0.2499 + 0.01 * part.start, places=9)

    def test_refused(self):
        for arguments, text in (
            (dict(nbits=3), "nbits: 3 is not allowed; it must be 1, 2, 4, 8, 16, 32"),
            (dict(nbits=1, channels=7), "nbits: 1 .* so many that 1 products of 7 channels are"),
            (dict(beams=BEAMS), "filename: .* a name with {beam} in it: there is a file for each"),
            (dict(row_samples=1 << 24, channels=1024), "row_samples: .* at most 1048576: rows"),
            (dict(products="IQUV", array=array_of("x")), "products: 'IQUV' .* one polarisation"),
        ):
            arguments = {"array": array_of("x"), "beams": BEAMS[:1], "channels": 8} | arguments
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, text):
                aperture.psrfits_search_sink(self.path("a.sf"), **arguments)


if __name__ == "__main__":
    gr_unittest.run(qa_psrfits_search_sink)
