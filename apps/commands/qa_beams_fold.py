#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_beams --fold: profiles of a simulated pulsar, by a period and by a timing model."""

import importlib
import math
import os
import signal
import threading
from dataclasses import replace
from unittest import mock

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.array_source import DEFAULT_START_TIME
from gnuradio.aperture.arrays.array_description import Source, save_array
from gnuradio.aperture.arrays.pulses import Pulsar
from gnuradio.aperture.commands import beams_command, progress
from gnuradio.aperture.formats.psrfits.profiles import read_profiles
from gnuradio.aperture.testing.observations import Observations, array_of, run, words
from gnuradio.aperture.testing.qa_tools import DEVICE, comes_true
from gnuradio.aperture.transients.folding import profile, signal_to_noise

PERIOD = 0.04
#: the block's name is that of its module
SINK = importlib.import_module("gnuradio.aperture.psrfits_sink")


class qa_beams_fold(Observations, gr_unittest.TestCase):
    def pulsar(self):
        """Ten antennas, 0.2 MHz at 150 MHz, and a pulsar whose pulses are as strong as noise."""
        array = replace(
            array_of(gains=False),
            sample_rate=2e5,
            sources=[
                Source(
                    "psr",
                    azimuth=170.0,
                    elevation=55.0,
                    dm=0.5,
                    pulsars=[Pulsar(PERIOD, 0.002, peak_flux=1.0, phase=0.3)],
                )
            ],
        )
        save_array(array, self.path("array.yaml"))
        return "sim:" + self.path("array.yaml")

    def run_command(self, *arguments):
        return run(
            beams_command,
            *words(
                f"--input {self.pulsar()} --channels 16 --duration 0.8 --format fc32 "
                f"--integration 0.00048 --device {DEVICE} --beams "
                "grid:az=170,el=55,columns=3,spacing=20,name=b"
            ),
            *arguments,
        )

    def test_period(self):
        """In the beam that looks at it, at the phase that it has, beside a filterbank file."""
        code, out, err = self.run_command(
            "-o",
            self.path("{beam}.fil"),
            *words(f"--fold {PERIOD},dm=0.5 --subintegration 0.4 --fold-bins 40"),
        )
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"folded +with a period of 0.04 s: 2 sub-integrations, 800.*ms, S/N")
        self.assertTrue(os.path.exists(self.path("b_1.fil")))
        found = {name: read_profiles(self.path(f"{name}.fits")) for name in ("b_0", "b_1", "b_2")}
        ratios = {name: signal_to_noise(profile(folded)) for name, folded in found.items()}
        # ratios of 800 powers of 3 spectra and 16 channels
        self.assertGreater(ratios["b_1"], 40)
        self.assertLess(max(ratios["b_0"], ratios["b_2"]), ratios["b_1"] / 2)
        # without a .par file, what the beam looks at; the picture begins when the data do
        self.assertEqual({folded.source for folded in found.values()}, {"b 0", "b 1", "b 2"})
        for folded in found.values():
            self.assertEqual(folded.start[0], DEFAULT_START_TIME)
        # the pulsar's phase is 0.3 at the first sample, with which the profile begins
        phase = (np.argmax(profile(found["b_1"])) + 0.5) / 40
        self.assertAlmostEqual(phase, 0.7, delta=0.04)

    def test_model_alone(self):
        """A .par file is enough, without a filterbank file, and from a plan."""
        with open(self.path("psr.par"), "w") as file:
            file.write(
                f"PSR J0000+0000\nRAJ 00:00:00\nDECJ 60:00:00\nF0 {1 / PERIOD}\n"
                "PEPOCH 60310\nDM 0.5\n"
            )
        code, _, err = self.run_command(
            *words(f"--fold {self.path('psr.par')} --profiles"),
            self.path("p-{beam}.fits"),
            "--write-plan",
            self.path("plan.yml"),
        )
        self.assertEqual((code, err), (0, ""))
        code, out, err = run(beams_command, "--plan", self.path("plan.yml"))
        self.assertEqual((code, err), (0, ""))
        self.assertIn("by " + self.path("psr.par"), out)
        folded = read_profiles(self.path("p-b_1.fits"))
        self.assertGreater(signal_to_noise(profile(folded)), 40)
        self.assertFalse([name for name in os.listdir(self.folder) if name.endswith(".fil")])

    def test_interrupt(self):
        """Ctrl-C leaves all profiles up to then, with the sub-integration that it broke off."""
        path = self.path("b.fits")

        def ready():
            return os.path.exists(path) and len(read_profiles(path).times) > 1

        def interrupt():
            comes_true(ready, pause=0.02)
            os.kill(os.getpid(), signal.SIGINT)

        helper = threading.Thread(target=interrupt)
        # in this process, whose sink writes more often than every half minute, and which says
        # nothing of its progress however slow the machine is
        with (
            mock.patch.object(SINK, "WRITE_INTERVAL", 0.2),
            mock.patch.object(progress, "LINE_PERIOD", math.inf),
        ):
            helper.start()
            code, out, err = run(
                beams_command,
                *words(
                    f"--input {self.pulsar()} --channels 32 --duration inf --format fc32 "
                    f"--integration 0.00048 --device {DEVICE} --beams grid:az=170,el=55,name=b "
                    f"--profiles {path} --fold {PERIOD},dm=0.5 --subintegration 0.4 --fold-bins 40"
                ),
            )
        helper.join()
        self.assertEqual((code, err), (0, ""))
        self.assertIn("sub-integrations", out)
        self.assertGreater(signal_to_noise(profile(read_profiles(path))), 40)

    def test_errors(self):
        for arguments, message in (
            ((), "-o: is missing, and so are --search, --fold and --vdif: nothing is done"),
            (("--fold", "x"), "argument --fold: 'x' is not allowed: a period from"),
            (("--fold", "0.5,d=3"), "argument --fold: '0.5,d=3' is not allowed"),
            (("--fold", "none.par"), "none.par"),
            (("--fold", "1", "--profiles", "x.fil"), "--profiles x.fil: expected the name"),
            (("--fold", "1", "--profiles", "x.fits"), "a name with {beam} in it"),
        ):
            code, _, err = self.run_command(*arguments)
            self.assertIn(message, err)
            self.assertIn(code, (1, 2))


if __name__ == "__main__":
    gr_unittest.run(qa_beams_fold)
