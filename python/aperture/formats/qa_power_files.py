#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of powers that other programs wrote: every value, band, beam and product, and what
contradicts itself."""

import os
import shutil
import struct
from itertools import product
from unittest import mock

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.formats.power_files import PowerRecording, open_power_file
from gnuradio.aperture.formats.powers import Bytes, PowerFileError
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.power_files import STYLES, sigproc_header, word, write_sigproc

LOW, WIDTH = 1400.0, 0.5  # MHz


class qa_power_files(InFolder, gr_unittest.TestCase):
    def values(self, bits, samples, ifs, channels, signed=False):
        random = np.random.default_rng(bits + samples)
        if bits == 32:
            return random.standard_normal((samples, ifs, channels)).astype(np.float32)
        low = -(1 << bits - 1) if signed else 0
        return random.integers(low, low + (1 << bits), (samples, ifs, channels))

    def write(self, name="a.fil", values=None, bits=8, **more):
        values = self.values(bits, 5, 1, 8) if values is None else values
        write_sigproc(self.path(name), values, bits, LOW, WIDTH, **more)
        return self.path(name)

    def read(self, *names, first=0, count=None, **more):
        recording = PowerRecording([self.path(name) for name in names], **more)
        count = recording.samples - first if count is None else count
        found = np.full((count, *recording.shape), 77, np.float32)
        recording.read_into(first, found)
        return recording, found

    def test_bits(self):
        """Values of every size, with and without a sign, in bands that rise and fall, of one to
        four IFs whose channels fill whole bytes or not."""
        for bits, falling, ifs, channels in product(
            (1, 2, 4, 8, 16, 32), (True, False), (1, 2, 4), (8, 14, 24)
        ):
            if bits * ifs * channels % 8:
                continue
            for signed in (False, True) if bits in (8, 16) else (False,):
                with self.subTest(bits=bits, falling=falling, ifs=ifs, channels=channels):
                    values = self.values(bits, 37, ifs, channels, signed)
                    self.write(values=values, bits=bits, falling=falling)
                    recording, found = self.read("a.fil", first=3, products="all")
                    np.testing.assert_array_equal(found.reshape(34, ifs, channels), values[3:])
                    file = recording.files[0]
                    np.testing.assert_allclose(
                        file.frequencies, 1e6 * (LOW + WIDTH * np.arange(channels))
                    )
                    self.assertEqual(file.warnings, [])
                    self.assertEqual(
                        recording.center_frequency, 1e6 * (LOW + WIDTH * (channels // 2))
                    )

    def test_headers(self):
        """Headers as other programs write them say the same."""
        values = self.values(8, 5, 1, 8)
        for style in STYLES:
            with self.subTest(style=style):
                more = {"nsamples": 5} if "nsamples" in STYLES[style] else {}
                self.write(values=values, style=style, **more)
                recording, found = self.read("a.fil")
                np.testing.assert_array_equal(found[:, 0], values)
                self.assertEqual(recording.warnings, [])
                self.assertEqual(recording.source, "B0329+54")
                self.assertEqual(recording.telescope, "Parkes")
                self.assertEqual(recording.begin, (1577858400, 0.0))
                self.assertEqual(recording.clock(3), (1577858400, 0.0035))
                if "src_raj" in STYLES[style]:
                    ra, dec = recording.directions[0]
                    self.assertAlmostEqual(ra, 15 * (3 + 32 / 60 + 59.37 / 3600), places=9)
                    self.assertAlmostEqual(dec, 54 + 34 / 60 + 43.57 / 3600, places=9)
                else:
                    self.assertEqual(recording.directions, [None])

    def test_products(self):
        """The total power of two polarisations is their sum, of Stokes parameters the first, and
        of coherencies the sum of the first two; beams in one file are those of nbeams."""
        two, four = self.values(8, 5, 2, 8), self.values(8, 5, 4, 8)
        self.write("two.fil", two)
        recording, found = self.read("two.fil")
        self.assertEqual((recording.products, recording.shape), ("I", (1, 1, 8)))
        np.testing.assert_array_equal(found[:, 0, 0], two.sum(axis=1))
        recording, found = self.read("two.fil", products="all")
        self.assertEqual((recording.products, recording.names), ("power", ["two x", "two y"]))
        np.testing.assert_array_equal(found[:, :, 0], two)
        self.write("four.fil", four)
        np.testing.assert_array_equal(self.read("four.fil")[1][:, 0, 0], four[:, 0])
        recording, found = self.read("four.fil", order="coherency")
        np.testing.assert_array_equal(found[:, 0, 0], four[:, :2].sum(axis=1))
        recording, found = self.read("four.fil", products="all", order="coherency")
        self.assertEqual((recording.products, recording.shape), ("coherency", (1, 4, 8)))
        np.testing.assert_array_equal(found[:, 0], four)
        self.write("beams.fil", four, nbeams=4, ibeam=0)
        recording, found = self.read("beams.fil")
        self.assertEqual(recording.names, [f"beams-{i}" for i in range(4)])
        np.testing.assert_array_equal(found[:, :, 0], four)
        self.write("three.fil", self.values(8, 5, 3, 8))
        with self.assertRaisesRegex(
            PowerFileError, "three.fil: 3 products are not understood: 1, 2"
        ):
            self.read("three.fil")

    def test_side_by_side(self):
        """Several files are beams of one recording, as long as the shortest; what does not fit
        names two files and the difference."""
        values = self.values(8, 9, 1, 8)
        self.write("a.fil", values)
        self.write("b.fil", values[:7] // 2)
        self.write("c.fil", self.values(8, 9, 2, 8))
        recording, found = self.read("a.fil", "b.fil")
        self.assertEqual((recording.samples, recording.names), (7, ["a", "b"]))
        np.testing.assert_array_equal(found[:, 0], values[:7])
        np.testing.assert_array_equal(found[:, 1], values[:7] // 2)
        self.assertEqual(
            recording.warnings,
            ["b.fil has 7 samples, others up to 9: what all of them have is taken"],
        )
        for more, text in (
            (dict(tsamp=1.1e-3), r"intervals 0.0011 s and 0.001 s"),
            (dict(fch1=1404.0), r"frequencies of channel \d 1\d\d\d.* MHz and 14"),
            (dict(tstart=58849.25 + 0.01 / 86400), r"d.fil begins 0.0[01]\d* s later than .*a"),
            (dict(tstart=0.0), "times unknown and known"),
        ):
            with self.subTest(text=text):
                self.write("d.fil", values, **more)
                with self.assertRaisesRegex(PowerFileError, text):
                    self.read("a.fil", "d.fil")
        self.write("d.fil", self.values(8, 9, 1, 16))
        text = "d.fil and .*a.fil do not fit: channels 16 and 8"
        with self.assertRaisesRegex(PowerFileError, text):
            self.read("a.fil", "d.fil")
        with self.assertRaisesRegex(PowerFileError, "c.fil and .*a.fil do not fit: products pair"):
            self.read("a.fil", "c.fil")
        # two files of one name are two beams, with two names; the same one twice is a mistake
        os.mkdir(self.path("other"))
        shutil.copy(self.path("a.fil"), self.path("other"))
        self.assertEqual(self.read("a.fil", "other/a.fil")[0].names, ["a-0", "a-1"])
        os.symlink(self.path("a.fil"), self.path("link.fil"))
        for again in ("a.fil", "link.fil"):
            with self.assertRaisesRegex(PowerFileError, f"{again}: is named twice.* each of them"):
                self.read("a.fil", again)
        for none in ("", " , ", []):
            with self.assertRaisesRegex(PowerFileError, "filenames: .* expected the name of a fil"):
                PowerRecording(none)

    def test_many_files(self):
        """Files beyond those that stay open are opened for each read."""
        values = [self.values(8, samples, 1, 8) for samples in (5, 6, 7)]
        names = [f"{number}.fil" for number in range(3)]
        for name, each in zip(names, values):
            self.write(name, each)
        with mock.patch.object(Bytes, "MOST_OPEN", len(Bytes._open) + 1):
            _, found = self.read(*names)
        np.testing.assert_array_equal(found[:, :, 0], np.hstack([each[:5] for each in values]))

    def test_contradictions(self):
        """The header is held against the file, and against itself."""
        values = self.values(8, 9, 1, 8)
        for more, text in (
            (
                dict(nsamples=12),
                "the header says 12 samples (nsamples), the file has 9: it was cut "
                "off, or is still written",
            ),
            (
                dict(nsamples=4),
                "the header says 4 samples (nsamples), the file has 9: all of them are taken",
            ),
            (
                dict(nsamples=-1),
                "the header says -1 samples (nsamples), the file has 9: all of them are taken",
            ),
            (
                dict(nbeams=2, ibeam=0),
                "nbeams is 2 and ibeam 0, but nifs is 1, which must be a multiple where all beams "
                "are in one file: it is read as one beam",
            ),
            (dict(tstart=0.0), "tstart is 0, before 1970: the time of the samples is not known"),
            (dict(src_raj=256000.0), "src_raj 256000 and src_dej 543443.57 are no direction"),
            (dict(data_type=2), "data_type is 2, and that of a filterbank file is 1"),
        ):
            with self.subTest(text=text):
                self.write(values=values, **more)
                recording, found = self.read("a.fil")
                self.assertEqual(recording.warnings, ["a.fil: " + text])
                np.testing.assert_array_equal(found[:, 0], values)
        for count, warnings in (
            (9, ["a.fil: none of 9 samples all over it has a finite number"]),
            (8, []),
        ):
            values = np.ones((9, 1, 8), np.float32)
            values[:count] = np.nan
            self.write(values=values, bits=32)
            self.assertEqual(self.read("a.fil")[0].warnings, warnings)
        path = self.write(values=self.values(4, 9, 1, 8), bits=4, signed=1)
        with open(path, "ab") as file:
            file.write(b"12")
        self.assertEqual(
            self.read("a.fil")[0].warnings,
            [
                "a.fil: 2 bytes behind the last whole sample, of 4 bytes, are left out",
                "a.fil: signed is 1, and samples of 4 bits have no sign",
            ],
        )

    def test_refused(self):
        """Broken files are refused by name, and so is one that is cut while it is read."""
        for name, content, text in (
            ("empty.fil", b"", "empty.fil: the file is empty"),
            ("text.fil", b"HEADER", "text.fil: neither a filterbank file"),
            (
                "none.fil",
                sigproc_header(nchans=8, nbits=8, foff=-1.0),
                "none.fil: there are no samples",
            ),
            (
                "odd.fil",
                sigproc_header(nchans=3, nbits=2, foff=-1.0),
                "6 bits: a sample has whole bytes",
            ),
            (
                "three.fil",
                sigproc_header(nchans=8, nbits=3, foff=-1.0),
                "3 bits, 1 IFs, 8 channels: 1, 2, 4",
            ),
            (
                "key.fil",
                word("HEADER_START") + word("colour") + struct.pack("<i", 1) + word("HEADER_END"),
                "key.fil: keyword 'colour' is not known",
            ),
            *(
                (
                    f"{key}.fil",
                    sigproc_header(nchans=8, nbits=8, **{"foff": -1.0, key: value}) + bytes(80),
                    f"{key}.fil: {key} is {value:g}: expected {allowed}".replace("+", "."),
                )
                for key, value, allowed in (
                    ("fch1", 1e10, "-1e.09 to 1e.09 MHz"),
                    ("fch1", float("nan"), "-1e.09 to 1e.09 MHz"),
                    ("foff", 0.0, "-1e.06 to 1e.06 MHz, not 0"),
                    ("tsamp", -1.0, "1e-12 to 100000 s"),
                    ("tsamp", 0.0, "1e-12 to 100000 s"),
                    ("tstart", 1e6, "-700000 to 800000 days"),
                )
            ),
        ):
            with self.subTest(name=name):
                with open(self.path(name), "wb") as file:
                    file.write(content)
                with self.assertRaisesRegex(PowerFileError, text):
                    self.read(name)
        path = self.write()
        recording = PowerRecording(path)
        os.truncate(path, os.path.getsize(path) - 9)
        with self.assertRaisesRegex(PowerFileError, "shorter while it was read: sample 3 of 5"):
            recording.read_into(0, np.empty((5, 1, 1, 8), np.float32))
        with self.assertRaises(FileNotFoundError):
            open_power_file(self.path("nothing.fil"))


if __name__ == "__main__":
    gr_unittest.run(qa_power_files)
