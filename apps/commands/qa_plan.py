#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Plans of observations: round trip, errors, and the same files as from options."""

import os

import h5py
from gnuradio import gr_unittest

from gnuradio.aperture.commands import beams_command, fx
from gnuradio.aperture.plan.yaml_plans import plan_text
from gnuradio.aperture.testing.observations import Observations, run, words
from gnuradio.aperture.testing.qa_tools import DEVICE


class qa_plan(Observations, gr_unittest.TestCase):
    FX = (
        *words(
            "--channels 32 --duration 0.2 --integration 0.0512 --taps 5 --seed 3 --window "
            "kaiser(7.5) --spectra-per-frame 64 --no-overwrite --track"
        ),
        "Cas A",
        "--phase-centers",
        "az=180, el=45",
        "--device",
        DEVICE,
    )
    BEAMS = (
        *words(
            "--beams grid:az=170,el=55 --incoherent --channels 32 --duration 0.2 "
            "--products power --sum-channels 2 --nbits 8 --taper gaussian --phase-error "
            f"0.5 --format fc32 --device {DEVICE}"
        ),
    )

    def test_round_trip(self):
        """A plan that is written and read is the same."""
        for command, given in ((fx, self.FX), (beams_command, self.BEAMS)):
            parser = command.parser()
            given = [
                *words("--input sim:y8 -o"),
                "a: #\u00e4'\"x",
                *map(str, given),
                *words("--voltages v-{channel}.sigmf-meta --voltage-channels 3,5-6"),
            ]
            plan = parser.parse_args(given).plan
            name = self.path("plan.yml")
            with open(name, "w", encoding="utf-8") as file:
                file.write(plan_text(plan))
            self.assertEqual(command.parser().parse_args(["--plan", name]).plan, plan)
            # an option takes the place of what the plan says
            changed = command.parser().parse_args(["--plan", name, "--taps", "9"]).plan
            self.assertEqual(changed, plan.replaced({"engines.taps": 9}))

    def test_the_files_are_those_of_the_options(self):
        def contents(name):
            if name.endswith(".fil"):
                with open(name, "rb") as file:
                    return file.read()
            with h5py.File(name, "r") as file:
                return {
                    path: file[path][()].tobytes()
                    for path in (
                        "Data/visdata",
                        "Data/nsamples",
                        "Header/time_array",
                        "Header/freq_array",
                    )
                }

        for folder in ("options", "plan"):
            os.mkdir(self.path(folder))
        for command, given, ending in ((fx, self.FX, ".uvh5"), (beams_command, self.BEAMS, ".fil")):
            source, plan = self.array(), self.path("plan" + ending + ".yml")
            # the file's own name is in a filterbank file
            names = [self.path(f"{folder}/out{ending}") for folder in ("options", "plan")]
            arguments = ["--input", source, *given]
            code, _, err = run(command, *arguments, "-o", names[0])
            self.assertEqual(code, 0, err)
            self.assertEqual(
                run(command, *arguments, "-o", names[1], "--write-plan", plan), (0, "", "")
            )
            self.assertFalse(os.path.exists(names[1]))
            code, _, err = run(command, "--plan", plan)
            self.assertEqual(code, 0, err)
            self.assertEqual(contents(names[0]), contents(names[1]))
            # a plan that is there is kept
            code, _, err = run(command, *arguments, "-o", names[1], "--write-plan", plan)
            self.assertEqual((code, err.count("\n")), (1, 1))
            self.assertIn("File exists", err)

    def test_errors(self):
        """File, line, section and key, value, and what is allowed."""
        name = self.path("plan.yml")
        for text, told in (
            (
                "inputs: {}",
                "plan.yml:1: inputs: not known; allowed: input, array, engines, "
                "calibration, outputs, device",
            ),
            (
                "engines:\n  chanels: 4",
                "plan.yml:2: engines.chanels: not known; allowed: channels, taps, ",
            ),
            ("engines: 4", "plan.yml:1: engines: '4' is not allowed; it must be a mapping of"),
            ("- 4", "is not allowed; it must be a mapping of input, array"),
            (
                "input:\n  duration: -1",
                "plan.yml:2: input.duration: -1: expected a number of seconds above 0, up to 1e9, "
                "or inf",
            ),
            ("input: {seed: x}", "input.seed: x: expected a whole number from 0"),
            ("input: {source: [a]}", "input.source: ['a'] is not allowed; it must be one "),
            ("engines: {channels: 7}", "engines.channels: 7: expected an even number from 4"),
            ("engines: {taps: 65}", "engines.taps: 65: expected a whole number from 1 to 64"),
            ("engines: {format: sc4}", "engines.format: 'sc4' is not allowed; it must be sc8"),
            ("engines: {integration: inf}", "engines.integration: inf: expected"),
            (
                "engines: {phase_error: 100}",
                "engines.phase_error: 100: expected a number from 0.001 to 90",
            ),
            ("engines: {products: X}", "engines.products: 'X' is not allowed; it must be "),
            ("outputs: {nbits: 3}", "outputs.nbits: 3 is not allowed; it must be 1, 2, 4, 8, 16"),
            ("outputs: {nbits: x}", "outputs.nbits: 'x' is not allowed; it must be 1, 2, 4, 8"),
            (
                "outputs: {overwrite: no}",
                "outputs.overwrite: 'no' is not allowed; it must be true or false",
            ),
            ("device: {name: gpu}", "device.name: gpu: expected auto, cpu, cuda or cuda:N"),
            ("a: [", "not YAML"),
            ("input: {seed: 1, seed: 2}", "given twice"),
        ):
            with open(name, "w") as file:
                file.write(text)
            code, out, err = run(beams_command, "--plan", name)
            self.assertEqual((code, out), (2, ""), text)
            self.assertIn(told, err.splitlines()[-1])
        os.mkfifo(self.path("fifo.yml"))
        for arguments, told in (
            (("--plan", self.path("absent.yml")), "there is no such file"),
            (("--plan", self.path("fifo.yml")), "there is no such file"),
            (("--pla", name, "--input", "sim:y8", "-o", "x.uvh5"), "in full"),
        ):
            code, _, err = run(fx, *arguments)
            self.assertEqual(code, 2)
            self.assertIn(told, err)
        # an option that there is not, in one line, though others are missing then
        for command, word, told in (
            (fx, "--imput", "; --input may be meant"),
            (beams_command, "--beems=a.beams", "; --beams may be meant"),
            (fx, "--quux", ""),
        ):
            code, _, err = run(command, word, "sim:y8", "-o", "x.uvh5")
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertIn(f"error: {word.split('=')[0]}: there is no such option{told} (", err)
        # a missing key is said to be missing
        with open(name, "w") as file:
            file.write("input: {source: sim:y8}")
        code, _, err = run(fx, "--plan", name)
        self.assertEqual(code, 2)
        self.assertIn("the following arguments are required: -o/--output (aperture_fx ", err)


if __name__ == "__main__":
    gr_unittest.run(qa_plan)
