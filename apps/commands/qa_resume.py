#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Runs of aperture_fx and aperture_beams that were stopped, and go on."""

import os
import re
import signal
import subprocess
import sys
import unittest
from unittest import mock

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.commands import beams_command, fx
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.testing import observations
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import words
from gnuradio.aperture.testing.qa_tools import DEVICE, ON_GPU, PATIENCE, comes_true
from gnuradio.aperture.testing.recordings import noise, small_array
from gnuradio.aperture.testing.tiers import ALL

#: aperture_fx with a sink that takes its time, so that there is one to stop it
SLOW = """
import sys, time
from gnuradio.aperture import uvh5_sink
from gnuradio.aperture.commands.fx import main
write = uvh5_sink._write
uvh5_sink._write = lambda sink, *items: (time.sleep(1e-3 * len(items[0])), write(sink, *items))[1]
sys.exit(main(sys.argv[1:]))
"""
#: the same of aperture_beams
SLOW_BEAMS = """
import sys, time
from gnuradio.aperture import filterbank_sink
from gnuradio.aperture.commands.beams_command import main
add = filterbank_sink._add_piece
filterbank_sink._add_piece = lambda sink, powers, lost: (
    time.sleep(2e-4 * len(powers)), add(sink, powers, lost)
)[1]
sys.exit(main(sys.argv[1:]))
"""
RATE, CHANNELS = 64_000, 32
# 60 integrations of 48 spectra, and a part of one
SAMPLES = (60 * 48 + 7 + 13) * CHANNELS
#: more than is in flight, and is written when a run is interrupted
LONG, LONG_SAMPLES = 3501, (3500 * 48 + 7 + 13) * CHANNELS
#: times as many samples of beams, since the rings of a GPU hold more
SIZE = 16 if ON_GPU else 1


class qa_resume(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        noise(SAMPLES).tofile(self.path("a.sc8"))
        save_array(small_array(sample_rate=RATE), self.path("array.yaml"))

    def words(
        self, output, *more, array="array.yaml", sizes="--spectra-per-frame 16 --integration 0.024"
    ):
        return [
            *("--device", DEVICE, "-o", self.path(output), "--array", self.path(array)),
            *(
                "--input",
                f"raw:{self.path('a.sc8')},inputs=2,rate={RATE},freq=408e6,time=1000000000",
            ),
            *words(f"--channels {CHANNELS} {sizes}"),
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

    def stop(self, output, number, least, *more, program=SLOW, count=None, **arguments):
        """Runs it as a process of its own until it has written some integrations, then stops it by
        a signal. Returns how many there are."""
        count = count or self.count
        process = subprocess.Popen(
            [sys.executable, "-c", program, *self.words(output, *more, **arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            self.assertTrue(
                comes_true(lambda: count(output) >= least or process.poll() is not None)
            )
            process.send_signal(number)
            error = process.communicate(timeout=PATIENCE)[1]
        finally:
            process.kill()
        expected = 130 if number == signal.SIGTERM else -number
        self.assertEqual(process.returncode, expected, error)
        return count(output)

    def test_channels_that_are_split(self):
        """Both filters go on where they were."""
        sizes = "--spectra-per-frame 16 --integration 0.048 --upchannelise 3 --oversampling 4/3"
        self.correlate("whole.uvh5", sizes=sizes)
        self.correlate("a.uvh5", "--duration", 0.5, sizes=sizes)
        self.assertLess(0, self.count("a.uvh5"))
        self.assertLess(self.count("a.uvh5"), self.count("whole.uvh5"))
        self.correlate("a.uvh5", "--resume", sizes=sizes)
        self.expect_same("a.uvh5", self.contents("whole.uvh5"))

    @unittest.skipIf(ON_GPU, "the rings of a GPU hold the whole run, which then ends as a whole")
    def test_stopped(self):
        """By SIGKILL, then by SIGTERM as it goes on, with --all by SIGKILL once more: the file then
        has what one run writes, bit for bit, and nothing of it was written twice."""
        samples = noise(SAMPLES)
        np.tile(samples, (LONG_SAMPLES // SAMPLES + 1, 1, 1))[:LONG_SAMPLES].tofile(
            self.path("a.sc8")
        )
        self.correlate("whole.uvh5")
        expected = self.contents("whole.uvh5")
        self.assertEqual(expected["Header/Ntimes"], LONG)
        count, more = 0, ()
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)[: 3 if ALL else 2]:
            before, count = count, self.stop("out.uvh5", number, count + 1, *more)
            self.assertTrue(before < count < LONG, (number, before, count))
            more = ("--resume",)
        out = self.correlate("out.uvh5", "--resume")
        kept = int(re.search(r"goes on behind its first (\d+) integrations", out)[1])
        self.assertIn(count - kept, (0, 1))
        self.expect_same("out.uvh5", expected)
        self.assertEqual([name for name in os.listdir(self.folder) if ".lock" in name], [])

    def test_parts(self):
        """A last integration that is a part is made whole, wherever the run ended."""
        more = ("--compression", "gzip", "--gain", 1.2)
        self.correlate("whole.uvh5", *more)
        expected = self.contents("whole.uvh5")
        for spectra in (1, 47, 48, 49, 48 * 17 + 3):
            duration = (spectra + 7) * CHANNELS / RATE
            self.correlate("out.uvh5", "--duration", duration, *more)
            out = self.correlate("out.uvh5", "--resume", *more)
            self.assertIn(f"first {spectra // 48} integrations", out)
            self.expect_same("out.uvh5", expected)
            os.unlink(self.path("out.uvh5"))
        # without a file it begins
        self.assertIn("first 0 integrations", self.correlate("out.uvh5", "--resume", *more))
        self.expect_same("out.uvh5", expected)

    def test_nothing_is_left(self):
        self.correlate("out.uvh5", "--start", 0.1, "--duration", 0.48 + 7 * CHANNELS / RATE)
        before = self.contents("out.uvh5")
        out = self.correlate(
            "out.uvh5", "--start", 0.1, "--duration", 0.48 + 7 * CHANNELS / RATE, "--resume"
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
            (("--integration", 0.048), r"its integration 0 is of 0.024 s", {}),
            (("--start", 0.1), r"its integration 0 is of 0.024 s and -0.1000\d* s from where", {}),
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
            ("Header/time_array", np.zeros((count, 2)), r"time_array has the shape \[\d+, 2\]"),
            ("Header/time_array", np.full(count, b"x"), "could not convert string to float"),
            ("Header/time_array", np.full(count, np.inf), "time_array has a value that is no fin"),
            ("Header/integration_time", np.full(count, b"x"), "could not convert"),
            ("Header/integration_time", np.zeros(1), r"integration_time has the shape \[1\]"),
            (
                "Header/integration_time",
                np.where(np.arange(count) == 5, 0.036, 0.024),
                "integration_time of integration 1 is 0.024, and in its row 2 0.036",
            ),
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

    # ---- beams

    def beams(self, output, *more, **arguments):
        """Runs aperture_beams in this process; its stdout. Weights of one beam follow the sky."""
        with open(self.path("beams.yaml"), "w") as file:
            file.write(
                "beams:\n  - {name: moves, ra: 10, dec: 60}\n"
                "  - {name: stays, azimuth: 170, elevation: 55}\n"
            )
        code, out, error = observations.run(
            beams_command, *self.beam_words(output, *more, **arguments)
        )
        self.assertEqual(code, 0, error)
        return out

    def beam_words(self, output, *more, integration=0.002):
        # weights are made some ten times in a second
        more = ("--beams", self.path("beams.yaml"), "--phase-error", 0.01, *more)
        return self.words(output, *more, sizes=f"--integration {integration}")

    def powers(self, output="{beam}.fil"):
        """The bytes of the files of both beams."""
        found = []
        for beam in ("moves", "stays"):
            with open(self.path(output.replace("{beam}", beam)), "rb") as file:
                found.append(file.read())
        return found

    def count_powers(self, output):
        """Samples that both files have."""
        try:
            return min(
                FilterbankFile(self.path(output.replace("{beam}", beam))).samples
                for beam in ("moves", "stays")
            )
        except (OSError, ValueError):
            return 0

    def test_beams_stopped(self):
        """By SIGTERM, and again by SIGKILL: files are those of one run, byte for byte."""
        samples = noise(SAMPLES)
        np.tile(samples, (40 * SIZE, 1, 1)).tofile(self.path("a.sc8"))
        longer = dict(integration=0.002 * SIZE)
        self.beams("{beam}.fil", **longer)
        expected, most = self.powers(), self.count_powers("{beam}.fil")
        self.assertGreater(most, 24000)
        for beam in ("moves", "stays"):
            os.unlink(self.path(beam + ".fil"))
        slow = dict(program=SLOW_BEAMS, count=self.count_powers)
        words = self.beam_words("{beam}.fil", **longer)
        with mock.patch.object(self, "words", lambda output, *more: [*words, *more]):
            first = self.stop("{beam}.fil", signal.SIGTERM, 1, **slow)
            second = self.stop("{beam}.fil", signal.SIGKILL, first + 1, "--resume", **slow)
        self.assertLess(first, second)
        self.assertLess(second, most)
        out = self.beams("{beam}.fil", "--resume", **longer)
        kept = int(re.search(r"goes on behind its first (\d+) integrations", out)[1])
        self.assertIn(second - kept, (0, 1))
        self.assertEqual(self.powers(), expected)

    def test_beams_parts(self):
        """One file, or two, that end anywhere, with part of a sample behind the last one, go on."""
        for output, more in (("{beam}.fil", ()), ("all.fil", ("--format", "fc32"))):
            names = {output.replace("{beam}", beam) for beam in ("moves", "stays")}
            files = lambda names=names: [self.read(name) for name in sorted(names)]
            self.beams(output, *more)
            whole = files()
            sample = 4 * CHANNELS * (3 - len(names))
            for left in (sample, sample + 3, 100 * sample, 500 * sample + 1):
                for name, data in zip(sorted(names), whole):
                    with open(self.path(name), "wb") as file:
                        file.write(data[: len(data) - left])
                    left += sample  # files of beams end in different places
                self.beams(output, *more, "--resume")
                self.assertEqual(files(), whole)
            self.assertIn("nothing is left to do", self.beams(output, *more, "--resume"))
            self.assertEqual(files(), whole)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_beams_refused(self):
        """Another plan leaves the files as they are; what cannot go on is named."""
        self.beams("{beam}.fil", "--duration", 0.3)
        before = self.powers()
        for more, problem in (
            (("--channels", 16), "its samples of so many seconds are|its channels are 32"),
            (("--start", 0.1), "moves.fil: it begins -0.1 s from where this plan begins"),
            (("--nbits", 8), "--nbits 8: not with --resume: files of 8 bits do not hold"),
            (("-o", self.path("{time}-{beam}.fil")), "--resume goes on with files whose names are"),
            (("--search", "dm=0:10:1"), "--search .*: not with --resume: what is found depends"),
            (("--fold", "0.01"), "--fold .*: not with --resume: profiles"),
        ):
            code, _, error = observations.run(
                beams_command, *self.beam_words("{beam}.fil", "--resume", *more)
            )
            self.assertNotEqual(code, 0, more)
            self.assertRegex(error, problem)
            self.assertEqual(self.powers(), before)
        # a header of the second file that says something else
        text = self.read("stays.fil")
        with open(self.path("stays.fil"), "wb") as file:
            file.write(text.replace(b"source_name\x05\0\0\0stays", b"source_name\x05\0\0\0slays"))
        before = self.powers()
        code, _, error = observations.run(beams_command, *self.beam_words("{beam}.fil", "--resume"))
        self.assertEqual(code, 1)
        self.assertRegex(error, "/stays.fil: source_name is 'slays', and by the plan 'stays'")
        self.assertEqual(self.powers(), before)

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
