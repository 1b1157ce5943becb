#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""PSRFITS in search mode, as astropy writes it: every number of bits, scales, offsets, weights,
times, and rows that are missing."""

import os
from itertools import product

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.formats.power_files import PowerRecording
from gnuradio.aperture.formats.powers import PowerFileError
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.power_files import write_psrfits

START = 1577858400  # STT_IMJD, STT_SMJD
ROWS, BLOCK = 3, 20


class qa_search_file(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(6)

    def rows(self, bits, products=1, channels=8, signed=False):
        shape = (ROWS, BLOCK, products, channels)
        if bits == 32:
            return self.random.standard_normal(shape).astype(np.float32)
        signed = signed or bits == 16
        low = -(1 << bits - 1) if signed else 0
        return self.random.integers(low, low + (1 << bits), shape)

    def write(self, rows, bits, **more):
        write_psrfits(self.path("a.sf"), rows, bits, 1400.0, 0.5, **more)

    def read(self, first=0, **more):
        recording = PowerRecording(self.path("a.sf"), **more)
        found = np.full((recording.samples - first, *recording.shape), 77, np.float32)
        recording.read_into(first, found)
        return recording, found

    def test_bits(self):
        """Numbers of every size, signed or not, with scales and offsets of each row, product and
        channel, a ZERO_OFF, and a band that rises or falls."""
        for bits, falling, products, signed in product(
            (1, 2, 4, 8, 16, 32), (True, False), (1, 2, 4), (False, True)
        ):
            if signed and bits not in (2, 4, 8):
                continue
            with self.subTest(bits=bits, falling=falling, products=products, signed=signed):
                rows = self.rows(bits, products, signed=signed)
                scale = self.random.uniform(0.5, 2, (ROWS, products, 8)).astype(np.float32)
                offset = self.random.uniform(-9, 9, (ROWS, products, 8)).astype(np.float32)
                zero = 2**bits / 2 - 0.5 if bits < 16 else 0.0
                self.write(
                    rows,
                    bits,
                    falling=falling,
                    scale=scale,
                    offset=offset,
                    ZERO_OFF=zero,
                    SIGNINT=int(signed),
                )
                recording, found = self.read(7, products="all")
                right = (rows - zero) * scale[:, np.newaxis].astype(float) + offset[:, np.newaxis]
                np.testing.assert_allclose(
                    found.reshape(-1, products, 8),
                    right.reshape(-1, products, 8)[7:],
                    rtol=1e-6,
                    atol=1e-5,
                )
                self.assertEqual(recording.warnings, [])
                np.testing.assert_allclose(
                    recording.files[0].frequencies, 1e6 * (1400 + 0.5 * np.arange(8))
                )

    def test_header(self):
        """The header says time, direction, source and products."""
        rows = self.rows(8, 4)
        self.write(rows, 8, POL_TYPE="AABBCRCI")
        recording, found = self.read()
        np.testing.assert_array_equal(
            found.reshape(-1, 8), rows[:, :, :2].sum(axis=2).reshape(-1, 8)
        )
        self.assertEqual((recording.begin, recording.source), ((START, 0.25), "B0329+54"))
        self.assertEqual(recording.telescope, "Parkes")
        ra, dec = recording.directions[0]
        self.assertAlmostEqual(ra, 15 * (3 + 32 / 60 + 59.37 / 3600), places=9)
        self.assertAlmostEqual(dec, -(54 + 34 / 60 + 43.57 / 3600), places=9)
        # a file that follows on another begins where that ends
        self.write(rows, 8, NSUBOFFS=5, offsets=(5.5 + np.arange(ROWS)) * BLOCK * 1e-3)
        self.assertAlmostEqual(self.read()[0].clock(0)[1], 0.25 + 0.1 + 0.0005, places=9)
        # NSUBOFFS counts where a writer leaves OFFS_SUB empty
        self.write(rows, 8, NSUBOFFS=5, offsets=np.zeros(ROWS))
        self.assertAlmostEqual(self.read()[0].clock(0)[1], 0.25 + 0.1 + 0.0005, places=9)

    def test_weights(self):
        """Powers of weight 0 are NaN, in their row and channel; other weights change none."""
        rows = self.rows(8)
        weights = np.ones((ROWS, 8))
        weights[1, 2], weights[2, 5] = 0, 0.25
        self.write(rows, 8, weights=weights)
        found = self.read()[1].reshape(ROWS, BLOCK, 8)
        self.assertTrue(np.isnan(found[1, :, 2]).all())
        found[1, :, 2] = rows[1, :, 0, 2]
        np.testing.assert_array_equal(found, rows[:, :, 0])

    def test_missing_rows(self):
        """Rows that are missing are said, and are a jump of rx_time; those that come too early
        follow on each other."""
        rows, length = self.rows(8), BLOCK * 1e-3
        self.write(rows, 8, offsets=np.array([0.5, 1.5, 4.5]) * length)
        recording, found = self.read()
        self.assertEqual(
            recording.warnings,
            ["a.sf: 40 samples are missing, the first behind sample 40 (OFFS_SUB)"],
        )
        source, sink = aperture.power_source(self.path("a.sf")), blocks.vector_sink_f(8)
        top = gr.top_block()
        top.connect(source, sink)
        top.run()
        np.testing.assert_array_equal(np.reshape(sink.data(), found.shape), found)
        times = {
            tag.offset: pmt.to_double(pmt.tuple_ref(tag.value, 1))
            for tag in sink.tags()
            if pmt.symbol_to_string(tag.key) == "rx_time"
        }
        self.assertEqual(list(times), [0, 40])
        self.assertAlmostEqual(times[40] - times[0], 0.08, places=9)
        self.write(rows, 8, offsets=np.array([0.5, 1.5, 1.7]) * length)
        self.assertRegex(self.read()[0].warnings[0], "OFFS_SUB of row 2 is 0.034 s, before the end")

    def test_contradictions(self):
        """Contradictions are said, and a broken file is refused in a line."""
        rows = self.rows(8)
        for more, text in (
            (
                dict(PRIMARY_OBSFREQ=1500.0),
                "OBSFREQ is 1500 MHz, and the middle of DAT_FREQ 1401.75",
            ),
            (dict(POL_TYPE="AABBCRCI"), "POL_TYPE is AABBCRCI and NPOL 1: the latter is taken"),
            (dict(PRIMARY_STT_IMJD=0), "STT_IMJD is 0, and must be a number from 40587 to"),
            (dict(PRIMARY_STT_SMJD="*"), r"STT_SMJD is \*, and must be a number from 0 to 86400"),
            (dict(PRIMARY_STT_OFFS=1e300), "STT_OFFS is 1e.300, and must .* is not known"),
            (dict(NSUBOFFS=1e300, offsets=[0, 0, 0]), "begins .* s after the start, before 1970"),
            (dict(offsets=[0.01, 1e300, 0.05]), "OFFS_SUB of row 1 is 1e.300 s, and must be at"),
            (dict(offsets=[np.nan, 0.03, 0.05]), "OFFS_SUB of row 0 is nan s, and must be at most"),
            (dict(NSUBOFFS=5), "OFFS_SUB of the first row is 0.01 s, and NSUBOFFS of 5 rows says"),
        ):
            with self.subTest(text=text):
                self.write(rows, 8, **more)
                self.assertRegex(self.read()[0].warnings[0], text)
        for more, text in (
            (dict(PRIMARY_OBS_MODE="PSR"), "OBS_MODE is 'PSR', and powers are in files of SEARCH"),
            (dict(PRIMARY_FITSTYPE="IMAGE"), "not PSRFITS"),
            (dict(NSBLK=21), "DATA has 160 bytes in a row; 21 samples of 1 products, 8 channels"),
            (dict(NBITS=3), "3 bits, 8 channels"),
            (dict(TBIN=0.0), "of 0 s in a row"),
            (dict(NCHAN=8.5), "a.sf: NCHAN of the table SUBINT is 8.5: expected a whole number"),
            (dict(NCHAN="*"), "NCHAN of the table SUBINT is missing, or is no number"),
        ):
            with self.subTest(text=text):
                self.write(rows, 8, **more)
                with self.assertRaisesRegex(PowerFileError, text):
                    self.read()
        self.write(rows, 8)
        size = os.path.getsize(self.path("a.sf"))
        recording = PowerRecording(self.path("a.sf"))
        # without the last row, and the zeros that fill the last block
        begin = recording.files[0]._begin
        row = recording.files[0]._kind.itemsize
        os.truncate(self.path("a.sf"), begin + 2 * row + 5)
        self.assertLess(begin + 2 * row + 5, size)
        with self.assertRaisesRegex(PowerFileError, "shorter while it was read: row 2 of 3"):
            recording.read_into(0, np.empty((60, 1, 1, 8), np.float32))
        recording, found = self.read()
        self.assertRegex(recording.warnings[0], "the header says 3 rows .NAXIS2., the file has 2")
        np.testing.assert_array_equal(found.reshape(2, BLOCK, 8), rows[:2, :, 0])
        with open(self.path("a.sf"), "r+b") as file:
            file.truncate(3000)
        with self.assertRaisesRegex(PowerFileError, "a.sf: "):
            self.read()
        # cards that no keyword and no number of a writer could make
        for before, after, text in (
            (
                b"NAXIS2  =                    3",
                b"NAXIS2  =                   -3",
                "has -3 rows .NAXIS2",
            ),
            (b"NSBLK   =", b"NSBLK   = zz", "read as FITS: Unparsable card .NSBLK"),
            (b"TFORM7  = '160B", b"TFORM7  = '-10B", "read as FITS: Format '-10B'"),
        ):
            self.write(rows, 8)
            with open(self.path("a.sf"), "r+b") as file:
                data = file.read()
                file.seek(data.index(before))
                file.write(after)
            with self.assertRaisesRegex(PowerFileError, text):
                self.read()


if __name__ == "__main__":
    gr_unittest.run(qa_search_file)
