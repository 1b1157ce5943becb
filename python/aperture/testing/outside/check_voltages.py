#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of voltages as the sigmf package, baseband and blimpy read them: check_voltages.py
FOLDER"""

import sys
import unittest
from pathlib import Path

import numpy as np
from astropy import units
from astropy.time import Time
from baseband import dada, guppi
from baseband.helpers import sequentialfile
from blimpy.guppi import GuppiRaw
from sigmf import SigMFFile, sigmffile

FOLDER = Path(sys.argv.pop())


class Check(unittest.TestCase):
    def setUp(self):
        found = np.load(FOLDER / "frames.npz")
        self.frames = found["frames"]
        self.floats = found["floats"].view(np.complex64)[..., 0]
        self.start = Time(int(found["start"]), float(found["fraction"]), format="unix")
        self.width, self.frequency = float(found["width"]), float(found["frequency"])

    def complex_frames(self):
        """complex64 [channel][input][time], all frames one after another."""
        values = self.frames[..., 0] + 1j * self.frames[..., 1]
        return np.concatenate(list(values), axis=-1)

    def test_baseband(self):
        expected = self.complex_frames()
        names = [str(FOLDER / f"pair.{i:04d}.raw") for i in range(3)]
        with sequentialfile.open(names, "rb") as raw, guppi.open(raw, "rs") as file:
            self.assertEqual(file.shape, (280, 2, 6))
            self.assertLess(abs((file.start_time - self.start).to_value(units.ns)), 1)
            self.assertAlmostEqual(file.sample_rate.to_value(units.Hz), self.width, 9)
            self.assertAlmostEqual(
                (file.stop_time - file.start_time).to_value(units.s), 280 / self.width, 9
            )
            np.testing.assert_array_equal(file.read(), expected.transpose(2, 1, 0))
            self.assertGreater(file.header0.sideband, 0)
        with guppi.open(FOLDER / "one-1.0000.raw", "rs") as file:
            self.assertEqual(file.shape, (280, 3))
            np.testing.assert_array_equal(file.read(), expected[1:4, 1].T)

    def test_dada(self):
        """[time][channel][polarisation]; baseband takes channels for the fastest axis, so that it
        is told of one of them, or of one polarisation."""
        expected = self.complex_frames()[:, :, 80:200]
        files = sorted(FOLDER.glob("ring1-*.dada"))
        self.assertEqual(len(files), 12)
        start = self.start + 80 / self.width * units.s
        for path in files:
            channel, name = path.stem.split("-")[-2:]
            with dada.open(path, "rs") as file:
                self.assertLess(abs((file.start_time - start).to_value(units.ns)), 1)
                self.assertAlmostEqual(file.sample_rate.to_value(units.Hz), self.width, 6)
                np.testing.assert_array_equal(
                    file.read(), expected[int(channel), ["left", "right"].index(name)]
                )
                self.assertAlmostEqual(
                    float(file.header0["FREQ"]) * 1e6,
                    self.frequency + (int(channel) - 3) * self.width,
                    3,
                )
        (path,) = FOLDER.glob("ring0-*.dada")
        with dada.open(path, "rb") as file:
            header = file.read_header()
            self.assertEqual((header["NPOL"], header["NCHAN"], header["NDIM"]), (2, 6, 2))
            self.assertEqual(header["FILE_SIZE"], path.stat().st_size - 4096)
            self.assertAlmostEqual(header["BW"] * 1e6, 6 * self.width, 6)
            data = np.frombuffer(file.read(), np.int8).reshape(-1, 6, 2, 2)
        np.testing.assert_array_equal(data[..., 0] + 1j * data[..., 1], expected.transpose(2, 0, 1))

    def test_blimpy(self):
        first = 0
        for number in range(3):
            raw = GuppiRaw(str(FOLDER / f"pair.{number:04d}.raw"))
            self.assertEqual(raw.n_blocks, 3 if number < 2 else 1)
            for _ in range(raw.n_blocks):
                header, x, y = raw.read_next_data_block_int8()
                for polarization, values in enumerate((x, y)):
                    np.testing.assert_array_equal(values, self.frames[first][:, polarization])
                # channels 0 to 5 of six, number 3 is at the frequency of the stream
                self.assertAlmostEqual(header["OBSFREQ"] * 1e6, self.frequency - self.width / 2, 3)
                self.assertEqual(header["SRC_NAME"], "Cas A")
                self.assertEqual(header["DROPBLK"], 50 / 80 if first == 2 else 0)
                first += 1
        self.assertEqual(first, 7)

    def check_sigmf(self, name, expected, frequency):
        """Checks a recording of SigMF. expected: [time][input]"""
        file = sigmffile.fromfile(str(FOLDER / name), autoscale=False)
        file.validate()
        data = file.read_samples()
        np.testing.assert_array_equal(np.reshape(data, expected.shape), expected)
        self.assertEqual(file.get_global_field(SigMFFile.SAMPLE_RATE_KEY), self.width)
        self.assertEqual(file.num_channels, expected.shape[1])
        (capture,) = file.get_captures()
        self.assertAlmostEqual(capture[SigMFFile.FREQUENCY_KEY], frequency, 3)
        when = Time(capture[SigMFFile.DATETIME_KEY][:-1], format="isot", scale="utc")
        self.assertLess(abs((when - self.start).to_value(units.ns)), 1)
        return file

    def test_sigmf(self):
        file = self.check_sigmf(
            "bytes-4.sigmf-meta", self.complex_frames()[4].T, self.frequency + self.width
        )
        (annotation,) = file.get_annotations()
        self.assertEqual(
            (
                annotation["core:sample_start"],
                annotation["core:sample_count"],
                annotation["core:label"],
            ),
            (50, 9, "missing"),
        )
        self.assertIn("right", annotation["core:comment"])
        floats = np.concatenate(list(self.floats), axis=-1)
        self.check_sigmf("floats.sigmf-meta", floats[1].T, self.frequency)


if __name__ == "__main__":
    unittest.main()
