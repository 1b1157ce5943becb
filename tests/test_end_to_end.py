# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""bench/end_to_end.py measures what it says, leaves nothing behind, and its tables are right."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from places import SOURCE, main

sys.path.insert(0, str(SOURCE / "bench"))

import end_to_end
import gpu_meters


def rates(clock, processor):
    return {"rate": clock, "by_processor": processor}


def row(inputs, integration, clock, processor):
    return {
        "inputs": inputs,
        "integration": integration,
        **rates(clock, processor),
        "bounds": {
            "copy_to_host": rates(20e9, 5e9),
            "kernels": rates(200e9, 1e9),
            "h5py": rates(3e9, 2e9),
            "write": rates(4e9, 4e9),
        },
        "of_bounds": rates(clock / 3e9, processor / 1e9),
    }


class TestEndToEnd(unittest.TestCase):
    def test_run(self):
        """The smallest run on a CPU: rows for both lengths of integrations, or none where the
        recording is shorter, and the row with --track."""
        with tempfile.TemporaryDirectory() as folder:
            found = Path(folder) / "found.json"
            done = subprocess.run(
                [
                    sys.executable,
                    SOURCE / "bench/end_to_end.py",
                    *("--quick", "--device", "cpu", "--inputs", "2", "--folder", folder),
                    *("--integrations", "0.02", "0.04", "10"),
                    *("--gigabytes", "0.01", "--most", "0.02"),
                    *("--kernel-seconds", "0.1", "--json", found),
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            # nothing else stays
            self.assertEqual(os.listdir(folder), [found.name])
            figures = json.loads(found.read_text())
        self.assertIn("2 inputs, 10 s: the recording is shorter", done.stdout)
        first, second = figures["rows"]
        self.assertEqual((first["inputs"], first["integration"]), (2, 0.02))
        self.assertEqual((second["inputs"], second["integration"]), (2, 0.04))
        # samples of an integration of 20 ms at 20 MHz
        self.assertAlmostEqual(first["frames"] * first["spectra"] * 1024, 0.02 * 20e6, delta=4000)
        bounds = {"copy_to_host", "kernels", "h5py", "write"}
        self.assertEqual(set(first["bounds"]), bounds)
        for each in (first, second, figures["track"], *first["bounds"].values()):
            for kind in end_to_end.KINDS:
                self.assertGreater(each[kind], 0)
        # the visibilities of an integration are as many bytes however long it is
        for name in ("h5py", "write"):
            one, two = (each["bounds"][name]["rate"] for each in (first, second))
            self.assertAlmostEqual(two / one, 2)
        self.assertRegex(done.stdout, r"\n\| 2 \| ([\d.]+ \(\d+ %\) \| ){2}– \|")
        self.assertRegex(done.stdout, r"\n\| 2 \| 0.04 s \| [\d.]+ \| [\d.]+ \| \d+ % \|\n")

    def test_report(self):
        """The rate is that of the report of aperture_fx."""
        text = "rate 1 Gsample/s of each input, 2.5 Gsample/s of all"
        self.assertEqual(end_to_end.speed_in(text), 2.5e9)
        self.assertEqual(end_to_end.speed_in("812.5 Msample/s of all\n"), 812.5e6)
        self.assertIsNone(end_to_end.speed_in("rate  too short to measure\n"))

    def test_tables(self):
        rows = [row(2, 0.1, 1e9, 0.25e9), row(2, 2.0, 1.5e9, 0.5e9), row(64, 0.1, 0.6e9, 0.1e9)]
        lines = end_to_end.rates_table(rows, [0.1, 2.0], "rate").splitlines()
        self.assertEqual(
            lines[0],
            "| inputs | aperture_fx, 0.1 s | aperture_fx, 2 s | kernels, 0.1 s | kernels, 2 s | "
            "h5py, 0.1 s | h5py, 2 s | write, 0.1 s | write, 2 s | copy to host |",
        )
        self.assertEqual(
            lines[2:],
            [
                "| 2 | 1.00 (33 %) | 1.50 (50 %) | 200 | 200 | 3.00 | 3.00 | 4.00 | 4.00 | 20.0 |",
                "| 64 | 0.600 (20 %) | – | 200 | – | 3.00 | – | 4.00 | – | 20.0 |",
            ],
        )
        self.assertIn("| 2 | 0.250 (25 %) |", end_to_end.rates_table(rows, [0.1], "by_processor"))

    def test_operations(self):
        """An X-engine has 8 operations for each of n(n+1)/2 products of a spectrum's n inputs."""
        self.assertEqual(end_to_end.useful_operations(64 * 1000, 64), 8 * 64 * 65 // 2 * 1000)

    def test_power(self):
        """The mean power is that of the readings within the time."""
        energy = object.__new__(gpu_meters.Energy)
        energy._readings = [(0.0, 100.0), (1.0, 200.0), (2.0, 900.0), (3.0, 1600.0), (9.0, 1601.0)]
        self.assertEqual(energy.watts(0.5, 3.5), 700.0)
        self.assertIsNone(energy.watts(3.5, 10.0))

    def test_no_driver(self):
        """Without a GPU's driver, one is asked for in vain in one line."""
        with self.assertRaisesRegex(gpu_meters.MeterError, "libthere-is-none.so.1"):
            gpu_meters.library("libthere-is-none.so.1")


if __name__ == "__main__":
    main()
