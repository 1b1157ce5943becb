#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_beams --search: a simulated burst becomes a candidate, and its voltages are dumped."""

import csv
import glob
import json
import os
from dataclasses import replace
from datetime import datetime, timezone
from types import SimpleNamespace

from gnuradio import gr_unittest

from gnuradio.aperture.array_source import DEFAULT_START_TIME
from gnuradio.aperture.arrays.array_description import Source, load_array, save_array
from gnuradio.aperture.arrays.pulses import Pulse
from gnuradio.aperture.builder.search import Searching
from gnuradio.aperture.commands import beams_command
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.testing.observations import Observations, array_of, run, words
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.transients.dispersion import delay

#: s from the first sample, when it passes through the middle of the band; pc/cm^3; s
TIME, DM, WIDTH = 0.9, 20.0, 0.004
BEFORE = float(delay(DM, 1.5e8))


class qa_beams_search(Observations, gr_unittest.TestCase):
    def burst(self):
        """Ten antennas, 0.4 MHz at 150 MHz, and a pulse that takes 20 ms through the band."""
        array = replace(
            array_of(gains=False),
            sample_rate=4e5,
            sources=[
                Source(
                    "burst",
                    azimuth=170.0,
                    elevation=55.0,
                    dm=DM,
                    pulses=[Pulse(DEFAULT_START_TIME + TIME - BEFORE, WIDTH, peak_flux=0.6)],
                )
            ],
        )
        save_array(array, self.path("array.yaml"))
        return "sim:" + self.path("array.yaml")

    def run_command(self, *arguments, source=None):
        return run(
            beams_command,
            "--input",
            source or self.burst(),
            *words(
                f"--channels 32 --duration 2.0 --integration 0.0008 --device {DEVICE} --beams "
                "grid:az=170,el=55,columns=3,spacing=20,name=b"
            ),
            *arguments,
        )

    def rows(self, name):
        with open(self.path(name)) as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))

    def test_burst(self):
        """A burst is found in the right beam, at its time and DM; with a picture and its
        voltages."""
        code, out, err = self.run_command(
            "-o",
            self.path("{beam}.fil"),
            *words("--search dm=0:40:0.5,baseline=0.5,window=0.5 --dump"),
            self.path("burst-{id}-{time}.dada"),
        )
        self.assertEqual((code, err), (0, ""))
        best = max(self.rows("beams-candidates.ecsv"), key=lambda row: float(row["snr"]))
        self.assertEqual(best["beam"], "1")
        self.assertAlmostEqual(float(best["dm"]), DM, delta=2)
        when = datetime.fromisoformat(best["time"][:26]).replace(tzinfo=timezone.utc)
        seen = when.timestamp() + float(delay(float(best["dm"]), 1.5e8))
        self.assertAlmostEqual(seen - DEFAULT_START_TIME, TIME, delta=WIDTH)
        self.assertGreater(float(best["snr"]), 15)
        self.assertTrue(os.path.exists(self.path(best["picture"])))
        self.assertIn("1 written, 0 failed, 0 refused", out)
        (dump,) = glob.glob(self.path(f"burst-{best['id']}*.dada"))
        self.assertGreater(os.path.getsize(dump), 100000)
        self.assertTrue(os.path.exists(self.path("b_2.fil")))

    def test_recording(self):
        """A recording comes as fast as it is read, and each candidate has its voltages and its
        picture, whole."""
        self.burst()
        array = replace(
            load_array(self.path("array.yaml")),
            sources=[
                Source(
                    "bursts",
                    azimuth=170.0,
                    elevation=55.0,
                    dm=DM,
                    pulses=[
                        Pulse(DEFAULT_START_TIME + 0.7 + 0.6 * i - BEFORE, WIDTH, peak_flux=0.6)
                        for i in range(4)
                    ],
                )
            ],
        )
        save_array(array, self.path("array.yaml"))
        code, out, err = run(
            beams_command,
            *words(
                f"--input sim:{self.path('array.yaml')} --channels 32 --duration 3.5 "
                f"--integration 0.0008 --device {DEVICE} --beams grid:az=170,el=55,name=b "
                "--search dm=0:40:0.5,baseline=0.5,window=0.5 --candidates "
                f"{self.path('c.csv')} --pictures 3 --dump"
            ),
            self.path("burst-{id}-{time}.dada"),
        )
        self.assertEqual((code, err), (0, ""))
        rows = self.rows("c.csv")
        self.assertEqual(len(rows), 4)
        self.assertIn("4 written, 0 failed, 0 refused", out)
        # in a minute of the recording
        self.assertIn("3 with a picture", out)
        for row in rows:
            (name,) = glob.glob(self.path(f"burst-{row['id']}*.json"))
            with open(name) as file:
                said = json.load(file)
            self.assertEqual((said["complete"], said["missing"]), (True, []), row["id"])

    def test_short_ring(self):
        """A ring that is too short is reported before, and what was lost after."""
        code, out, err = self.run_command(
            *words(
                "--search dm=0:40:0.5,baseline=0.5,window=0.5 --candidates "
                f"{self.path('c.csv')} --dump"
            ),
            self.path("b-{id}-{time}.dada"),
            "--dump-seconds",
            0.06,
        )
        self.assertEqual(code, 0)
        self.assertIn("note: --dump-seconds 0.06: the search takes up to", out)
        for hold in (False, True):
            ring = SimpleNamespace(
                problems=lambda: ["dump a: full", "dump b: late"],
                counts=lambda: {"written": 3, "failed": 1, "refused": 1},
            )
            texts, failed = Searching.problems(
                SimpleNamespace(ring=ring, _hold=hold, _name="--dump")
            )
            self.assertEqual(
                texts, ["--dump: 2 of 5 dumps were not written: dump a: full (and 1 more)"]
            )
            self.assertEqual(failed, hold)

    def test_noise(self):
        """No candidate of noise; no filterbank file either, and from a plan."""
        source = replace(array_of(gains=False), sample_rate=4e5, sources=[])
        save_array(source, self.path("noise.yaml"))
        code, _, err = self.run_command(
            *words(
                f"--search dm=0:40,baseline=0.5 --candidates {self.path('none.csv')} "
                f"--pictures 0 --write-plan {self.path('plan.yml')}"
            ),
            source="sim:" + self.path("noise.yaml"),
        )
        self.assertEqual((code, err), (0, ""))
        code, out, err = run(beams_command, "--plan", self.path("plan.yml"))
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"candidates +0 in .*none.csv")
        self.assertEqual(self.rows("none.csv"), [])

    def test_interrupt(self):
        """Ctrl-C leaves a table with what was found, and filterbank files, whole."""
        out = self.interrupt(
            lambda: os.path.exists(self.path("table.csv")) and self.rows("table.csv"),
            *words(
                f"--input {self.burst()} --integration 0.0008 --beams grid:az=170,el=55,name=b -o"
            ),
            self.path("{beam}.fil"),
            *words(
                f"--candidates {self.path('table.csv')} --search "
                "dm=0:40:0.5,baseline=0.5,window=0.5"
            ),
        )
        found = self.rows("table.csv")
        self.assertRegex(out, rf"candidates +{len(found)} in ")
        self.assertAlmostEqual(max(float(row["snr"]) for row in found), float(found[0]["snr"]))
        self.assertTrue(all(os.path.getsize(self.path(row["picture"])) for row in found))
        self.assertGreater(FilterbankFile(self.path("b.fil")).samples, TIME / 0.0008)

    def test_errors(self):
        for arguments, message in (
            (("--search", "0:3:1"), "argument --search: '0:3:1' is not allowed: dm=LOW"),
            (("--search", "dm=3:0:1"), "argument --search: dm: '3:0:1' is not allowed"),
            (("--search", "dm=0:1,threshold=x"), "threshold: x: expected a number from 1 to 1e6"),
            (("--search", "dm=0:1,zero_dm=1"), "zero_dm: 1: expected yes or no"),
            (("--search", "threshold=7"), "lacks dm=LOW:HIGH:STEP"),
            (("--dump", "x.dada", "--fold", "1"), "--dump: is of --search, which is not"),
            (("--search", "dm=0:1", "--dump", "x.fil"), "--dump x.fil: expected the name"),
            (("--search", "dm=0:1", "--candidates", "x"), "--candidates x: expected"),
            ((), "-o: is missing, and so are --search, --fold and --vdif: nothing is done"),
        ):
            code, _, err = self.run_command(*arguments)
            self.assertIn(message, err)
            self.assertIn(code, (1, 2))


if __name__ == "__main__":
    gr_unittest.run(qa_beams_search)
