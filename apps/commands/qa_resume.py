#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Runs of aperture_fx that were stopped, and go on."""

import os
import re
import signal
import subprocess
import sys

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.commands import fx
from gnuradio.aperture.testing import observations
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import words
from gnuradio.aperture.testing.qa_tools import DEVICE, PATIENCE, comes_true
from gnuradio.aperture.testing.recordings import noise, small_array

#: aperture_fx with a sink that takes its time, so that there is one to stop it
SLOW = """
import sys, time
from gnuradio.aperture import uvh5_sink
from gnuradio.aperture.commands.fx import main
write = uvh5_sink._write
uvh5_sink._write = lambda sink, *items: (time.sleep(0.03), write(sink, *items))[1]
sys.exit(main(sys.argv[1:]))
"""
RATE, CHANNELS = 64_000, 32
# 60 integrations of 40 spectra, and a part of one
SAMPLES = (60 * 40 + 7 + 13) * CHANNELS
#: more than is in flight, and is written when a run is interrupted
LONG, LONG_SAMPLES = 3501, (3500 * 40 + 7 + 13) * CHANNELS


class qa_resume(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        noise(SAMPLES).tofile(self.path("a.sc8"))
        save_array(small_array(sample_rate=RATE), self.path("array.yaml"))

    def words(self, output, *more, array="array.yaml"):
        return [
            *("--device", DEVICE, "-o", self.path(output), "--array", self.path(array)),
            *(
                "--input",
                f"raw:{self.path('a.sc8')},inputs=2,rate={RATE},freq=408e6,time=1000000000",
            ),
            *words(f"--channels {CHANNELS} --spectra-per-frame 8 --integration 0.02"),
            *map(str, more),
        ]

    def correlate(self, output, *more, **arguments):
        """Runs it in this process; its stdout."""
        code, out, error = observations.run(fx, *self.words(output, *more, **arguments))
        self.assertEqual(code, 0, error)
        return out

    def contents(self, output):
        """{name: value} of all datasets but the statistics, which measure some frames only."""
        found = {}
        with h5py.File(self.path(output), "r") as file:
            file.visititems(
                lambda name, entry: (
                    found.update({name: entry[()]})
                    if isinstance(entry, h5py.Dataset) and "Statistics" not in name
                    else None
                )
            )
        return found

    def expect_same(self, output, expected):
        found = self.contents(output)
        self.assertEqual(found.keys(), expected.keys())
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, name)

    def count(self, output):
        """Integrations in a file that may be growing."""
        try:
            with h5py.File(self.path(output), "r", locking=False) as file:
                return int(file["Header/Ntimes"][()])
        except OSError:
            return 0

    def stop(self, output, number, least, *more):
        """Runs it as a process of its own until it has written some integrations, then stops it by
        a signal. Returns how many there are."""
        process = subprocess.Popen(
            [sys.executable, "-c", SLOW, *self.words(output, *more)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            self.assertTrue(
                comes_true(lambda: self.count(output) >= least or process.poll() is not None)
            )
            process.send_signal(number)
            error = process.communicate(timeout=PATIENCE)[1]
        finally:
            process.kill()
        expected = 130 if number == signal.SIGTERM else -number
        self.assertEqual(process.returncode, expected, error)
        return self.count(output)

    def test_stopped(self):
        """By SIGTERM and SIGKILL, once and again: all that is in the file then is what one run
        writes, bit for bit, and nothing of it was written twice."""
        samples = noise(SAMPLES)
        np.tile(samples, (LONG_SAMPLES // SAMPLES + 1, 1, 1))[:LONG_SAMPLES].tofile(
            self.path("a.sc8")
        )
        self.correlate("whole.uvh5")
        expected = self.contents("whole.uvh5")
        self.assertEqual(expected["Header/Ntimes"], LONG)
        for number in (signal.SIGTERM, signal.SIGKILL):
            path = self.path("out.uvh5")
            first = self.stop("out.uvh5", number, 1)
            self.assertLess(first, LONG)
            second = self.stop("out.uvh5", number, first + 1, "--resume")
            self.assertLess(second, LONG)
            self.assertGreater(second, first)
            out = self.correlate("out.uvh5", "--resume")
            kept = int(re.search(r"goes on behind its first (\d+) integrations", out)[1])
            self.assertIn(second - kept, (0, 1))
            self.expect_same("out.uvh5", expected)
            self.assertEqual([name for name in os.listdir(self.folder) if ".lock" in name], [])
            os.unlink(path)

    def test_parts(self):
        """A last integration that is a part is made whole, wherever the run ended."""
        more = ("--compression", "gzip", "--gain", 1.2)
        self.correlate("whole.uvh5", *more)
        expected = self.contents("whole.uvh5")
        for spectra in (1, 39, 40, 41, 40 * 17 + 3):
            duration = (spectra + 7) * CHANNELS / RATE
            self.correlate("out.uvh5", "--duration", duration, *more)
            out = self.correlate("out.uvh5", "--resume", *more)
            self.assertIn(f"first {spectra // 40} integrations", out)
            self.expect_same("out.uvh5", expected)
            os.unlink(self.path("out.uvh5"))
        # without a file it begins
        self.assertIn("first 0 integrations", self.correlate("out.uvh5", "--resume", *more))
        self.expect_same("out.uvh5", expected)

    def test_nothing_is_left(self):
        self.correlate("out.uvh5", "--start", 0.1, "--duration", 0.4 + 7 * CHANNELS / RATE)
        before = self.contents("out.uvh5")
        out = self.correlate(
            "out.uvh5", "--start", 0.1, "--duration", 0.4 + 7 * CHANNELS / RATE, "--resume"
        )
        self.assertRegex(
            out, r"nothing is left to do: \S+out.uvh5: every integration is there \(20\)"
        )
        self.expect_same("out.uvh5", before)

    def test_tracked(self):
        """Delays are good to 0.1 degrees, wherever their lines begin."""
        for track in ("az=80, el=40", "Cas A"):
            more = ("--track", track, "--gain", 1.2)
            self.correlate("whole.uvh5", *more)
            self.correlate("out.uvh5", *more, "--duration", 0.3)
            self.correlate("out.uvh5", *more, "--resume")
            whole, found = (self.contents(name) for name in ("whole.uvh5", "out.uvh5"))
            np.testing.assert_array_equal(found["Header/time_array"], whole["Header/time_array"])
            np.testing.assert_array_equal(found["Data/nsamples"], whole["Data/nsamples"])
            power = np.abs(whole["Data/visdata"]).max()
            off = np.abs(found["Data/visdata"] - whole["Data/visdata"]).max()
            self.assertLess(off / power, 5e-3)

    def test_another_plan(self):
        """The file stays as it is, and the error names what contradicts it."""
        save_array(small_array(sample_rate=RATE, antennas=2), self.path("array.yaml"))
        other = small_array(sample_rate=RATE)
        other.name = "elsewhere"
        save_array(other, self.path("other.yaml"))
        self.correlate("out.uvh5", "--duration", 0.3, "--gain", 1.2)
        before = self.contents("out.uvh5")
        for more, problem, arguments in (
            (("--channels", 16), "it has 32 channels, but this plan makes 16", {}),
            (("--integration", 0.04), r"its integration 0 is of 0.02 s", {}),
            (("--start", 0.1), r"its integration 0 is of 0.02 s and -0.0999\d* s from where", {}),
            (("--gain", 3), "GAINS is 'A1x:1.2.*', and by the plan 'A1x:3 A2x:3'", {}),
            (("--window", "rect"), r"Header/history is '.* hann, .*by the plan '.* rect", {}),
            (
                (),
                "Header/telescope_name is 'line', and by the plan 'elsewhere'",
                {"array": "other.yaml"},
            ),
            (("--compression", "lzf"), "Data/visdata is .*filters", {}),
        ):
            code, _, error = observations.run(
                fx, *self.words("out.uvh5", "--resume", "--gain", 1.2, *more, **arguments)
            )
            self.assertEqual(code, 1, more)
            self.assertRegex(error, "out.uvh5: .*" + problem)
            self.expect_same("out.uvh5", before)
        with open(self.path("none.uvh5"), "w") as file:
            file.write("no HDF5")
        code, _, error = observations.run(fx, *self.words("none.uvh5", "--resume"))
        self.assertEqual(code, 1)
        self.assertRegex(error, "none.uvh5: it is no file of visibilities that can go on")
        for name, value in (("Nbls", 0), ("Nbls", 1000), ("Ntimes", 7), ("Ntimes", 10**15)):
            with h5py.File(self.path("out.uvh5"), "r+") as file:
                kept = file[f"Header/{name}"][()]
                file[f"Header/{name}"][()] = value
            code, _, error = observations.run(fx, *self.words("out.uvh5", "--resume"))
            self.assertEqual(code, 1, (name, value))
            self.assertRegex(error, r"out\.uvh5: it")
            with h5py.File(self.path("out.uvh5"), "r+") as file:
                file[f"Header/{name}"][()] = kept

    def test_broken(self):
        """Datasets that no run writes are refused in a line, and the file stays as it is."""
        self.correlate("out.uvh5", "--duration", 0.1)
        with open(self.path("out.uvh5"), "rb") as file:
            good = file.read()
        count = len(self.contents("out.uvh5")["Header/time_array"])
        for name, value, problem in (
            ("Header/time_array", np.zeros((count, 2)), r"integrations have times \[\d+, 2\]"),
            ("Header/time_array", np.full(count, b"x"), "could not convert string to float"),
            ("Header/time_array", np.full(count, np.inf), "a time is no finite number"),
            ("Header/integration_time", np.full(count, b"x"), "could not convert"),
            ("Header/integration_time", np.zeros(1), r"and lengths \[1\]"),
            ("Data/nsamples", np.zeros((0, CHANNELS, 1)), "last integration has no nsamples"),
        ):
            with open(self.path("out.uvh5"), "wb") as file:
                file.write(good)
            with h5py.File(self.path("out.uvh5"), "r+") as file:
                del file[name]
                file[name] = value
            before = self.contents("out.uvh5")
            code, _, error = observations.run(fx, *self.words("out.uvh5", "--resume"))
            self.assertEqual((code, error.count("\n")), (1, 1), (name, error))
            self.assertRegex(error, r"out\.uvh5: it is no file of .* that can go on: .*" + problem)
            self.expect_same("out.uvh5", before)

    def test_refused(self):
        """Outputs and inputs that cannot go on are named."""
        save_array(small_array(sample_rate=RATE), self.path("line.yaml"))
        for more, problem in (
            (("-o", self.path("v-{time}.uvh5")), r"-o \S+: --resume goes on with one file"),
            (("--no-overwrite",), "--no-overwrite: not with --resume"),
            (("--flag",), "--flag .*: not with --resume: what is flagged depends on"),
            (("--voltages", "v.raw"), "--voltages v.raw: not with --resume"),
            (("--input", "sim:" + self.path("line.yaml")), "--resume: sim:.* is not read twice"),
        ):
            words_ = self.words("out.uvh5", "--resume", *more)
            if more[0] == "--input":
                number = words_.index("--array")
                del words_[number : number + 2]
            code, _, error = observations.run(fx, *words_)
            self.assertNotEqual(code, 0, more)
            self.assertRegex(error, problem)


if __name__ == "__main__":
    gr_unittest.run(qa_resume)
