#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_fx --devices: one file, bit for bit that of one device."""

import os

import h5py
import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.calibration.calibration import Band, Calibration, InputCalibration
from gnuradio.aperture.calibration.calibration_file import save_calibration
from gnuradio.aperture.commands import fx
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run, words
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.testing.recordings import small_array

#: several devices of the kind under test
KIND = "emulated" if DEVICE == "cpu" else DEVICE.partition(":")[0]
FOUND = sum(name.startswith("cuda") for name in aperture.devices()) if KIND == "cuda" else 3


def several(count):
    """The option --devices of so many."""
    return ",".join(f"{KIND}:{number % FOUND}" for number in range(count))


class qa_several_devices(InFolder, gr_unittest.TestCase):
    def contents(self, path):
        with h5py.File(path) as file:
            found = {
                f"{group}/{name}": value[()]
                for group in ("Header", "Data")
                for name, value in file[group].items()
                if isinstance(value, h5py.Dataset)
            }
        del found["Header/history"]  # names nothing but the time, and the gains
        return found

    def check(self, description, count, *options, rows=0):
        """Runs it on one device and on several, and compares all but the first `rows` of the
        data."""
        array = self.path("array.yml")
        save_array(description, array)
        common = [
            *words(
                f"--input sim:{array} --channels 30 --integration 0.0192 --duration 0.1 "
                "--spectra-per-frame 64"
            ),
            *options,
        ]
        code, text, errors = run(
            fx,
            *common,
            "--device",
            "cpu" if KIND != "cuda" else "cuda",
            "-o",
            self.path("one.uvh5"),
        )
        self.assertEqual(code, 0, errors)
        code, text, errors = run(
            fx, *common, "--devices", several(count), "-o", self.path("several.uvh5")
        )
        self.assertEqual(code, 0, errors)
        one, both = self.contents(self.path("one.uvh5")), self.contents(self.path("several.uvh5"))
        self.assertEqual(one.keys(), both.keys())
        self.assertGreater(one["Header/Ntimes"], 2)
        self.assertTrue(np.any(one["Data/visdata"]))
        for name, value in one.items():
            if name in ("Header/freq_array", "Header/channel_width"):
                np.testing.assert_allclose(both[name], value, rtol=1e-14)
            elif name.startswith("Data/"):
                np.testing.assert_array_equal(both[name][rows:], value[rows:], name)
            else:
                np.testing.assert_array_equal(both[name], value, name)
        return text

    def test_bit_for_bit(self):
        text = self.check(small_array(antennas=5), 2)
        self.assertIn(
            ", ".join(name.replace("emulated:0", "emulated") for name in several(2).split(",")),
            text,
        )
        self.assertIn("rms", text)  # statistics of the first device's channels

    def test_with_delays_and_flags(self):
        """More devices than go into the inputs; what is tracked; masks and their counts."""
        text = self.check(
            small_array(antennas=5),
            3,
            "--track",
            "az=40, el=70",
            *words("--flag 0.01 --format fc32"),
        )
        self.assertIn("flagged", text)

    def test_with_a_calibration(self):
        """Each F-engine has the delays, phases and bandpasses of its own inputs."""
        array, rng = small_array(antennas=5), np.random.default_rng(3)
        made = [
            InputCalibration(
                entry.name,
                delay=rng.uniform(0, 4e-5),
                phase=rng.uniform(-3, 3),
                bandpass=rng.uniform(0.5, 2, 30) * np.exp(1j * rng.uniform(-3, 3, 30)),
            )
            for entry in array.inputs
        ]
        width = array.sample_rate / 30
        band = Band(array.center_frequency - 15 * width, width, 30)
        save_calibration(Calibration(array.name, band, made), self.path("cal.yml"))
        # the 15 products of the first integration differ: an engine's first spectrum depends on the
        # delays of its other inputs
        more = words("--format fc32 --track zenith")
        self.check(array, 3, "--calibration", self.path("cal.yml"), *more, rows=15)

    def test_plan(self):
        code, _, errors = run(
            fx,
            *words(
                f"--input sim:two-dish -o {self.path('x.uvh5')} --devices {several(2)} "
                f"--write-plan {self.path('p.yml')}"
            ),
        )
        self.assertEqual(code, 0, errors)
        with open(self.path("p.yml"), encoding="utf-8") as file:
            self.assertIn(f'names: "{several(2)}"', file.read())

    def test_refused(self):
        common = ["--input", "sim:two-dish", "-o", self.path("x.uvh5")]
        for text, options in (
            ("3 devices are more than the 2 inputs", ["--devices", several(3)]),
            ("not allowed with --voltages", ["--devices", several(2), "--voltages", "{input}.raw"]),
            ("expected auto, cpu, cuda or cuda:N", ["--devices", "cpu,gpu"]),
        ):
            code, _, errors = run(fx, *common, *options)
            self.assertNotEqual(code, 0)
            self.assertIn(text, errors)
        self.assertFalse(os.path.exists(self.path("x.uvh5")))


if __name__ == "__main__":
    gr_unittest.run(qa_several_devices)
