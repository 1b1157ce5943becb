#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Rules between fields of plans: each says the option, or file, line and field, by where the value
came from."""

from gnuradio import gr_unittest

from gnuradio.aperture.parameters.errors import ParameterError
from gnuradio.aperture.plan.fields import BEAMS, FX, OBSERVE
from gnuradio.aperture.plan.plan import PlanError
from gnuradio.aperture.plan.plan_parser import PlanParser
from gnuradio.aperture.plan.yaml_plans import load_plan
from gnuradio.aperture.testing.folders import InFolder

#: program, words of its command line, what is said, field
BY_OPTIONS = (
    (FX, "-o x.fil", "-o x.fil: expected the name of a file that ends in .uvh5", "outputs.file"),
    (FX, "-o x.ms", None, None),
    (
        FX,
        "-o x.ms --phase-centers sun;zenith",
        "-o x.ms: expected a name with {phase_center} in it, such as x-{phase_center}.ms, as",
        "outputs.file",
    ),
    (FX, "-o x-{phase_center}.ms --phase-centers sun;zenith", None, None),
    (FX, "-o x.ms --phase-centers sun", None, None),
    (FX, "-o {beam}.uvh5", "-o {beam}.uvh5: {beam} is not known", "outputs.file"),
    (FX, "-o x.uvh5 --scale kelvin", "--scale kelvin: needs --calibration", "calibration.scale"),
    (FX, "-o {time}.uvh5 --measure-calibration noise --measure-every 60", None, None),
    (
        FX,
        "-o x.uvh5 --measure-every 60",
        "--measure-every 60: needs --measure-calibration",
        "calibration.every",
    ),
    (
        FX,
        "-o x.uvh5 --measure-calibration noise",
        "-o x.uvh5: expected {time} in the name with --measure-calibration",
        "outputs.file",
    ),
    (
        FX,
        "-o {time}.uvh5 --measure-calibration sun --calibration cal.yml",
        "--calibration cal.yml: not with --measure-calibration: its place would be taken",
        "calibration.file",
    ),
    (
        FX,
        "-o {time}.uvh5 --measure-calibration noise --track sun",
        "--track sun: not with --measure-calibration: what delays do that follow it",
        "tracking.direction",
    ),
    (
        FX,
        "-o {time}.uvh5 --measure-calibration noise --calibrate sink",
        "--calibrate sink: not with --measure-calibration, which the F-engine applies",
        "calibration.by",
    ),
    (
        FX,
        "-o {time}.uvh5 --measure-calibration noise --upchannelise 4",
        "--upchannelise 4: not with --measure-calibration: the channels of F-engine and",
        "engines.upchannelise",
    ),
    (
        FX,
        "-o {time}.uvh5 --measure-calibration noise --devices cpu,cpu",
        "--devices cpu,cpu: not with --measure-calibration: one device",
        "device.names",
    ),
    (
        FX,
        "--role f --to a:1 --measure-calibration noise",
        "--role f: not with --measure-calibration: the loop is that of one host",
        "network.role",
    ),
    (
        FX,
        "-o x.uvh5 --grow-channels 2",
        "--grow-channels 2: needs --flag, --flag-time, --flag-channels or --bad-channels",
        "flagging.grown_channels",
    ),
    (FX, "-o x.uvh5 --to a:1", "--to: needs a --role of a part", "network.to"),
    (FX, "--role f", "--role f: needs --to, the addresses of", "network.role"),
    (FX, "-o x.uvh5 --role x", "--role x: needs --listen, the", "network.role"),
    (
        FX,
        "--role f --to a:1 --format fc32",
        "--format fc32: between hosts voltages are sc8",
        "engines.format",
    ),
    (
        FX,
        "--role f --to a:1 --oversampling 4/3",
        "--oversampling 4/3: between hosts channels are critically sampled",
        "engines.oversampling",
    ),
    (FX, "--role f --to a:1 --zoom 1e6,4", "--zoom 1e6,4: not with --role f", "input.zoom"),
    (
        FX,
        "--zoom-passband 0.9 -o x.uvh5",
        "--zoom-passband 0.9: needs --zoom",
        "input.zoom_passband",
    ),
    (
        FX,
        "--role f --to a:1 --upchannelise 4",
        "--upchannelise 4: between hosts channels are not split",
        "engines.upchannelise",
    ),
    (FX, "-o x.uvh5 --fine-taps 4", "--fine-taps 4: needs --upchannelise", "engines.fine_taps"),
    (FX, "-o x.uvh5 --coarse-taps 8", "--coarse-taps 8: needs --upchann", "engines.coarse_taps"),
    (FX, "-o x.uvh5 --upchannelise 4", None, None),
    (
        FX,
        "--role f --to a:1 --flag-time 6",
        "--flag-time: flags do not go between hosts",
        "flagging.time_sum_sigma",
    ),
    (FX, "--role f --to a:1 --devices cpu,cpu", "--devices cpu,cpu: not with --role f", None),
    (
        FX,
        "-o x.uvh5 --devices cpu,cpu --voltages {input}.raw",
        "--devices: is not allowed with --voltages",
        "device.names",
    ),
    (FX, "-o x.uvh5 --voltages x.fil", "--voltages x.fil: expected the name", "voltages.file"),
    (FX, "-o x.uvh5 --input soapy:", "--input soapy:: rate is missing", "input.source"),
    (FX, "-o x.uvh5 --input sim:y8,start=x", "--input sim:y8,start=x: start=x: ", "input.source"),
    (BEAMS, "--beams a", "-o: is missing, and so are --search, --fold and --vdif", "beams.file"),
    (BEAMS, "--beams a --search dm=0:9", None, None),
    (
        BEAMS,
        "--beams a -o a.fil --dump x.dada",
        "--dump: is of --search, which is not given",
        "search.dump",
    ),
    (BEAMS, "--beams a -o a.uvh5", "-o a.uvh5: expected the name of", "beams.file"),
    (
        BEAMS,
        "--beams a -o a.fil --fold 1 --profiles b",
        "--profiles b: expected the name",
        "fold.file",
    ),
)
#: lines of a plan of aperture_observe, what is said, line, field
BY_FILES = (
    ("outputs: {file: 'x-{time}.uvh5'}", None, 0, None),
    ("", "outputs.file: is missing, and so are beams.directions, ring.file and", 1, None),
    ("outputs: {file: x.uvh5}", "outputs.file: 'x.uvh5' is not allowed; it must be a", 2, None),
    ("calibration: {scale: kelvin}", "calibration.scale: kelvin: needs calibration.file", 2, None),
    (
        "ring: {file: 'a-{id}-{time}.raw'}\nengines:\n  spectra_per_frame: 64\n"
        "beams: {directions: a, file: '{time}.fil'}",
        "engines.spectra_per_frame: is not allowed with beams",
        4,
        "engines.spectra_per_frame",
    ),
    (
        "calibration: {file: a, by: sink}\nbeams: {directions: a, file: '{time}.fil'}",
        "calibration.by: 'sink' is not allowed with beams",
        2,
        None,
    ),
    (
        "voltages: {file: '{time}{input}.raw'}\nbeams:\n  nbits: 8\n  integration: 0.1",
        "beams.integration: needs beams.directions",
        5,
        None,
    ),
    (
        "network: {role: x, listen: 'a:1'}\nring: {file: '{id}{time}.raw'}",
        "outputs.file: is missing",
        1,
        None,
    ),
    (
        "network: {role: f, to: 'a:1'}\nring: {file: '{id}{time}.raw'}",
        "ring.file: is not allowed for a host that has a part",
        3,
        None,
    ),
    (
        "outputs: {file: 'x-{time}.uvh5'}\nmonitoring: {listen: 'a:b'}",
        "monitoring.listen: 'a:b' is not allowed",
        3,
        None,
    ),
)


class qa_plan_rules(InFolder, gr_unittest.TestCase):
    def test_options(self):
        for program, words, text, field in BY_OPTIONS:
            with self.subTest(words=words):
                given = [] if "--input" in words else ["--input", "sim:two-dish"]
                plan = PlanParser(program, "").parse_args([*given, *words.split()]).plan
                if text is None:
                    plan.check()
                    continue
                with self.assertRaises(PlanError) as caught:
                    plan.check()
                self.assertEqual(text, str(caught.exception)[: len(text)])
                if field:
                    self.assertEqual(field, caught.exception.field)

    def test_files(self):
        path = str(self.folder / "lab.yml")
        for lines, text, line, field in BY_FILES:
            with self.subTest(lines=lines):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"input: {{source: 'sim:two-dish'}}\n{lines}\n")
                plan = load_plan(path, OBSERVE)
                if text is None:
                    plan.check()
                    continue
                with self.assertRaises(ParameterError) as caught:
                    plan.check()
                said = f"{path}:{line}: {text}"
                self.assertEqual(said, str(caught.exception)[: len(said)])
                self.assertEqual(field or text.split(":")[0], caught.exception.field)

    def test_both(self):
        """An option beside a plan is called by its name, and the plan's field by its own."""
        path = str(self.folder / "plan.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("input: {source: 'sim:two-dish'}\nnetwork: {role: f}\n")
        plan = PlanParser(FX, "").parse_args(["--plan", path, "--format", "fc32"]).plan
        with self.assertRaisesRegex(PlanError, "^--format fc32: between hosts"):
            plan.check()
        plan = PlanParser(FX, "").parse_args(["--plan", path, "--channels", "64"]).plan
        with self.assertRaisesRegex(PlanError, "plan.yml:2: network.role: f: needs network.to, "):
            plan.check()


if __name__ == "__main__":
    gr_unittest.run(qa_plan_rules)
