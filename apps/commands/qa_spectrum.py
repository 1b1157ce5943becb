#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_spectrum: its files, read by astropy, against the model of the sky; what it refuses."""

import contextlib
import errno
import io
import os
import re
from unittest import mock

import numpy as np
from astropy.table import QTable
from gnuradio import gr_unittest

from gnuradio.aperture.commands import spectrum
from gnuradio.aperture.formats.power_files import PowerRecording
from gnuradio.aperture.spectrometry import galaxy
from gnuradio.aperture.spectrometry.spectrum_file import LOADS, write_table
from gnuradio.aperture.testing.folders import InFolder

SKY = "hydrogen:l=120,b=0,rate=500e3,freq=1420.5e6,drift=0"
#: options of all runs; the band is 105 km/s wide
WITH = ("--channels", "64", "--direction", "l=120, b=0", "--integration", "0.5")


def run(*arguments):
    """Exit code, and what was printed and warned of."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = spectrum.main(["--input", SKY, *WITH, *arguments])
    return code, out.getvalue(), errors.getvalue()


class qa_spectrum(InFolder, gr_unittest.TestCase):
    def test_files(self):
        """Loads are measured once and used again; table, picture, series and filterbank agree."""
        loads, table, series = (self.path(f"{name}.ecsv") for name in ("loads", "mean", "series"))
        code, text, errors = run(
            *("--hot", f"{SKY},target=hot", "--cold", f"{SKY},target=cold"),
            *("--load-duration", "4", "--loads", loads, "--duration", "1"),
        )
        self.assertEqual((code, errors), (0, ""))
        self.assertRegex(text, r"receiver (99|100|101)\.\d K \(Y = 3\.5\d\d\)")
        picture, filterbank = self.path("mean.png"), self.path("all.fil")
        code, text, errors = run(
            *("--loads", loads, "--duration", "4", "-o", table, "-o", picture, "-o", filterbank),
            *("--over-time", series),
        )
        self.assertEqual((code, errors), (0, ""))
        self.assertIn("LSRK", text)
        found = QTable.read(table)
        speeds = found["velocity"].to_value("km/s")
        kelvin = found["temperature"].to_value("K")
        inner = slice(8, -8)
        expected = 10 + galaxy.brightness(120.0, 0.0, speeds)
        # noise of hot, cold and sky in 7.8 kHz, and channels of 1.6 km/s that cut steep edges
        self.assertLess(np.abs(kelvin - expected)[inner].mean(), 2.0)
        # the radiometer equation, of the table's own system temperature in each channel
        noise = (100 + expected) / np.sqrt(500e3 / 64 * found.meta["seconds"])
        np.testing.assert_allclose(
            found["uncertainty"].to_value("K")[inner], noise[inner], rtol=0.1
        )
        self.assertEqual(found.meta["velocity_frame"], "LSRK")
        frequencies = found["frequency"].to_value("Hz")
        self.assertEqual(frequencies[32], 1420.5e6)
        # each frequency has its velocity by the correction that is in the table
        there = 299792.458 * (1 - frequencies / found.meta["rest_frequency_hz"])
        there += found.meta["velocity_correction_km_s"]
        np.testing.assert_allclose(speeds, there, atol=0.02)
        times = QTable.read(series)
        self.assertEqual(len(times), 8)
        np.testing.assert_allclose(np.diff(times["time"].to_value("s")), 0.5, atol=0.05)
        powers = PowerRecording([filterbank])
        self.assertEqual(powers.shape, (1, 1, 64))
        values = np.empty((powers.samples, 1, 1, 64), np.float32)
        powers.read_into(0, values)
        self.assertEqual(len(values), 8)
        np.testing.assert_allclose(values.mean(axis=(0, 1, 2))[inner], kelvin[inner], rtol=0.01)
        with open(picture, "rb") as file:
            self.assertEqual(file.read(4), b"\x89PNG")
        # Y stays: what the cold sky has more, the receiver has less
        code, text, errors = run("--loads", loads, "--t-cold", "15", "--duration", "1")
        self.assertEqual((code, errors), (0, ""))
        receiver, y = map(float, re.search(r"receiver (.*) K \(Y = (.*)\)", text).groups())
        self.assertAlmostEqual(receiver, (290 - 15 * y) / (y - 1), delta=0.2)

    def loads(self, inputs, **meta):
        """A file of loads of a receiver of 100 K, 64 channels."""
        path = self.path("made.ecsv")
        columns = {
            f"{name}_{number}": (np.full(64, power), "")
            for name, power in (("hot", 390.0), ("cold", 110.0))
            for number in range(inputs)
        }
        meta = {"t_hot": 290.0, "t_cold": 10.0, **meta}
        write_table(path, LOADS, columns, meta, overwrite=True)
        return path

    def test_other_loads(self):
        """Loads of other inputs are refused, and those of another band are told."""
        code, _, errors = run("--duration", "1", "--loads", self.loads(2))
        self.assertEqual(code, 1)
        self.assertRegex(errors, "made.ecsv: loads of 2 inputs, and --input hydrogen.* has 1")
        for center, warned in ((1420.5e6, False), (1419.5e6, True)):
            loads = self.loads(1, band_hz=[center, 500e3])
            code, _, errors = run("--duration", "1", "--loads", loads)
            self.assertEqual(code, 0, errors)
            self.assertEqual("band 1419.5 ± 0.25 MHz, and" in errors, warned)
        for meta in ({"t_hot": "warm"}, {"band_hz": [1.0]}):
            code, _, errors = run("--duration", "1", "--loads", self.loads(1, **meta))
            self.assertEqual(code, 1)
            self.assertRegex(errors, "made.ecsv: is damaged")

    def test_full_disk(self):
        """The files that were there stay as they are, and the error names them."""
        for name in ("a.ecsv", "a.png"):
            path = self.path(name)
            with open(path, "w") as file:
                file.write("the last one")
            full = OSError(errno.ENOSPC, "No space left on device")
            with mock.patch("gnuradio.aperture.files.checked_file.os.fsync", side_effect=full):
                code, _, errors = run("--duration", "1", "-o", path)
            self.assertEqual(code, 1)
            self.assertIn(f"error: {path}: No space left on device", errors)
            with open(path) as file:
                self.assertEqual(file.read(), "the last one")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.ecsv", "a.png"])

    def test_what_is_wrong_is_told(self):
        """Faults that the block has seen are warnings; without loads the scale is assumed."""
        code, text, errors = run("--duration", "1.5", "--mode", "load", "--period", "0.5")
        self.assertEqual(code, 0)
        self.assertIn("assumed: no loads were measured", text)
        self.assertRegex(errors, "warning: no switching is seen")

    def test_refused(self):
        existing = self.path("there.ecsv")
        with open(existing, "w") as file:
            file.write("a b\n1 2\n")
        for arguments, words in (
            (("-o", self.path("a.txt")), "its ending is to be one of .ecsv, .fil"),
            (("-o", existing, "--no-overwrite"), "there.ecsv: the file exists"),
            (("--loads", existing), "there.ecsv: (is not a table in ECSV|None is not)"),
            (("--hot", SKY), "--hot and --cold go together"),
            (("--t-hot", "5"), "--t-hot 5: is to be above --t-cold, 10"),
            (("--duration", "0.01"), "is too short for a spectrum"),
            (("--input", "hydrogen:nowhere"), "nowhere"),
            (("--hot", SKY, "--cold", SKY, "--load-duration", "0.5"), "hot equals cold"),
        ):
            with self.subTest(arguments=arguments):
                code, _, errors = run(*arguments)
                self.assertEqual(code, 1)
                self.assertRegex(errors, words)


if __name__ == "__main__":
    gr_unittest.run(qa_spectrum)
