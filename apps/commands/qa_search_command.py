#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_search: pulses and a pulsar in files that another program could have written."""

import csv
import os
from contextlib import chdir
from datetime import datetime, timezone

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.commands import search_command
from gnuradio.aperture.formats.psrfits.profiles import read_profiles
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run, words
from gnuradio.aperture.testing.power_files import dispersed_pulses, write_sigproc
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.transients.folding import profile

LOW, WIDTH, CHANNELS, INTERVAL, SAMPLES = 1200.0, 4.0, 64, 1e-3, 8000
FREQUENCIES = LOW + WIDTH * np.arange(CHANNELS)
START = 1577858400
#: s at infinite frequency, pc/cm^3
TIMES, DM = (2.5, 3.5, 4.5, 5.5), 60.0
SEARCH = "--search dm=0:120,baseline=0.5,window=0.5,threshold=8"


class qa_search_command(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.enterContext(chdir(self.folder))

    def file(self, name, pulses, bits=2, seed=1, samples=SAMPLES, **more):
        powers = dispersed_pulses(samples, FREQUENCIES, INTERVAL, pulses, seed)
        # steps of one rms: with 2 bits a good part of all powers is 0
        levels = np.clip(np.floor(powers + 2**bits / 2), 0, 2**bits - 1).astype(int)
        write_sigproc(name, levels[:, np.newaxis], bits, LOW, WIDTH, **more)

    def search(self, *arguments):
        return run(search_command, *arguments, "--device", DEVICE)

    def rows(self, name):
        with open(name) as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))

    def test_pulses(self):
        """Pulses of one of two beams side by side, with 2 bits: all of them, each with its beam,
        time, DM and picture."""
        self.file("a.fil", [])
        self.file("b.fil", [(time, DM, 0.004, 1.3) for time in TIMES], seed=2)
        code, out, err = self.search("a.fil", "b.fil", *words(SEARCH))
        self.assertEqual((code, err), (0, ""))
        self.assertIn("a.fil ... b.fil: 2 beams, 64 channels, 256 MHz around 1.328 GHz", out)
        self.assertRegex(out, r"samples +8000 of 1 ms")
        rows = self.rows("a-candidates.ecsv")
        self.assertEqual(len(rows), 4)
        self.assertIn("4 in a-candidates.ecsv, 4 with a picture", out)
        for row, time in zip(sorted(rows, key=lambda row: row["time"]), TIMES):
            self.assertEqual(row["beam"], "1")
            self.assertAlmostEqual(float(row["dm"]), DM, delta=3)
            when = datetime.fromisoformat(row["time"][:26]).replace(tzinfo=timezone.utc)
            # the DM found and the true one agree in the middle of the band
            middle = (float(row["dm"]) - DM) / 2.41e-4 / FREQUENCIES.mean() ** 2
            self.assertAlmostEqual(when.timestamp() + middle - START, time, delta=0.003)
            self.assertGreater(float(row["snr"]), 10)
            self.assertGreater(os.path.getsize(row["picture"]), 10000)

    def test_folding(self):
        """A pulsar's profile, from a plan: powers of 0 of few bits count as others do."""
        pulses = [(time, 0.0, 0.02, 0.5) for time in np.arange(0.03, 4, 0.1)]
        self.file("p.fil", pulses, samples=4000, falling=False)
        code, _, err = self.search(
            "p.fil", *words("--fold 0.1,dm=0 --fold-bins 20 --write-plan plan.yml")
        )
        self.assertEqual((code, err), (0, ""))
        code, out, err = self.search("--plan", "plan.yml", "--duration", "2")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, "folded +with a period of 0.1 s: 1 sub-integration, 2 s")
        folded = read_profiles("p-profiles.fits")
        np.testing.assert_allclose(folded.channels, FREQUENCIES * 1e6)
        self.assertEqual((folded.source, folded.start), ("B0329+54", (START, INTERVAL / 2)))
        # a stretch of it begins at its own time
        for start in ("1.2", "2020-01-01T06:00:01.2Z"):
            code, out, err = self.search(
                "--plan", "plan.yml", "--start", start, "--duration", "1", "--profiles", "late.fits"
            )
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, "from 2020-01-01T06:00:01.2.*Z, 1 s")
            late = read_profiles("late.fits")
            self.assertEqual(late.start[0], START + 1)
            self.assertAlmostEqual(late.start[1], 0.2 + INTERVAL / 2, places=9)
            self.assertEqual(np.argmax(profile(late)), 6)
        # the independent model: the mean of the file's own powers in each bin
        powers = dispersed_pulses(4000, FREQUENCIES, INTERVAL, pulses)[:2000]
        levels = np.clip(np.floor(powers + 2), 0, 3)
        bins = (np.arange(2000) * 20 // 100) % 20
        right = np.array([levels[bins == number].mean(axis=0) for number in range(20)])
        np.testing.assert_allclose(folded.powers[0, 0].T, right, atol=1e-3)
        self.assertEqual(np.argmax(profile(folded)), np.argmax(right.mean(axis=1)))

    def test_refused(self):
        """Requests that make no sense are refused in a line, before anything is read."""
        self.file("a.fil", [], samples=100, barycentric=1)
        self.file("b.fil", [], samples=100, fch1=1400.0)
        with open("psr.par", "w") as file:
            file.write("PSR J0000+0000\nRAJ 00:00:00\nDECJ 60:00:00\nF0 1\nPEPOCH 60310\nDM 1\n")
        os.mkfifo("pipe.fil")
        for arguments, text in (
            ("pipe.fil --fold 1", "pipe.fil: this is a FIFO; a recording of powers must be a file"),
            ("a.fil", "--search: is missing, and so is --fold: nothing is done with the powers"),
            ("none.fil --fold 1", "none.fil: No such file in "),
            ("a.fil,b.fil --fold 1", "b.fil and .*a.fil do not fit: frequencies of channel"),
            ("psr.par --fold 1", "psr.par: neither a filterbank file"),
            ("a.fil --fold psr.par", "--fold psr.par: the times of the file are those at the bary"),
            ("a.fil --fold 1 --start 9", "--start 9: the recording lasts from 2020.* on, 100 ms"),
            ("a.fil --fold 1 --profiles x.fil", "--profiles x.fil: expected the name of a file"),
        ):
            with self.subTest(arguments=arguments):
                code, _, err = self.search(*words(arguments))
                self.assertEqual(code, 1)
                self.assertEqual(err.count("\n"), 1)
                self.assertRegex(err, text)
        self.assertEqual(self.search("--fold", "1")[0], 2)

    def test_said(self):
        """A header that contradicts its file is told, and the file is searched."""
        self.file("a.fil", [], samples=1000, nsamples=2000, tstart=0.0)
        code, out, err = self.search("a.fil", *words(f"{SEARCH} --duration 3"))
        self.assertEqual(code, 0)
        self.assertIn("a.fil: the header says 2000 samples (nsamples), the file has 1000", err)
        self.assertIn("a.fil: tstart is 0, before 1970", err)
        self.assertIn("--duration 3: the recording ends after 1 s", err)
        self.assertIn("from a time that is not known, 1 s", out)
        self.assertRegex(out, r"samples +1000 of 1 ms")


if __name__ == "__main__":
    gr_unittest.run(qa_search_command)
