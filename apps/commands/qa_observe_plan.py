#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Configurations of aperture_observe: what is wrong with one is said with file, line and field,
before anything starts, and by the JSON schema where that can say it."""

import json
import os

import yaml
from gnuradio import gr_unittest

from gnuradio.aperture.commands import observe
from gnuradio.aperture.commands.observe_plan import Configuration, schema_of
from gnuradio.aperture.plan.plan import FIELDS
from gnuradio.aperture.plan.yaml_plans import plan_text
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run

GOOD = """\
instrument: {name: lab}
input:
  source: "sim:two-dish"
  duration: 2.5
engines: {channels: 64, taps: 4, integration: 0.5}
tracking:
  direction: "Cas A"
outputs:
  file: "vis-{time}.uvh5"
  roll_seconds: 3600
  least_free_bytes: 5 GB
  when_full: oldest
beams:
  directions: "grid:az=180,el=60"
  file: "beams-{time}.fil"
search: {trials: "dm=0:50", pictures: 0}
ring: {file: "dump-{id}-{time}.dada", seconds: 20}
service: {restart: true, watchdog: 30}
device: {name: cpu}
"""

# replaced text, its replacement, line and field of the message, a part of it, and whether the
# schema sees it, too
SPOILT = (
    ("channels: 64", "channels: 63", 5, "engines.channels", "expected an even number", True),
    ("channels: 64", "channels: many", 5, "engines.channels", "expected an even number", True),
    ("taps: 4", "tops: 4", 5, "engines.tops", "not known; allowed: channels", True),
    ("engines:", "motors:", 5, "motors", "not known; allowed: instrument, input", True),
    ("integration: 0.5", "integration: -1", 5, "engines.integration", "seconds above 0", True),
    ("integration: 0.5", "integration: inf", 5, "engines.integration", "seconds above 0", True),
    ("name: lab", "name: ../lab", 1, "instrument.name", "letters, digits, _ and -", True),
    ("  duration: 2.5", "  duration: [1]", 4, "input.duration", "one value", True),
    ("sim:two-dish", "zim:two-dish", 3, "input.source", "expected KIND:NAME", False),
    ("sim:two-dish", "sim:two-dish,start=now", 3, "input.source", "expected UTC as 2024", False),
    ('  source: "sim:two-dish"\n', "", 2, "input.source", "is missing", True),
    ('"Cas A"', '"Kas A"', 7, "tracking.direction", "Kas A", False),
    ("vis-{time}.uvh5", "vis.uvh5", 9, "outputs.file", "{time}", False),
    ("vis-{time}.uvh5", "vis-{time}.ms", 9, "outputs.file", "ends in .uvh5", False),
    ("vis-{time}.uvh5", "vis-{time}-{beam}.uvh5", 9, "outputs.file", "{beam} is not known", False),
    ("vis-{time}.uvh5", "vis-{time.__class__}.uvh5", 9, "outputs.file", "not", False),
    ("roll_seconds: 3600", "roll_seconds: 0", 10, "outputs.roll_seconds", "above 0", True),
    ("5 GB", "5 bananas", 11, "outputs.least_free_bytes", "expected bytes", True),
    ("when_full: oldest", "when_full: newest", 12, "outputs.when_full", "stop, oldest", True),
    (
        '  file: "beams-{time}.fil"\nsearch: {trials: "dm=0:50", pictures: 0}\n',
        "",
        13,
        "beams.file",
        "nothing is done",
        False,
    ),
    ('  directions: "grid:az=180,el=60"\n', "", 14, "beams.file", "needs beams.directions", False),
    ("dm=0:50", "dm=50", 16, "search.trials", "", False),
    ("pictures: 0", "pictures: -1", 16, "search.pictures", "0 to 6000", False),
    ("pictures: 0", 'candidates: "c.ecsv"', 16, "search.candidates", "{time}", False),
    (
        "pictures: 0}",
        'pictures: 0}\nfold: {by: "0.5", file: "p.fits"}',
        17,
        "fold.file",
        "{time}",
        False,
    ),
    ("pictures: 0", 'dump: "d-{id}.dada"', 16, "search.dump", "beside a section ring", False),
    ("dump-{id}-{time}.dada", "dump-{id}.txt", 17, "ring.file", "ends in", False),
    ("dump-{id}-{time}.dada", "dump-{time}.dada", 17, "ring.file", "{id}", False),
    ("seconds: 20", "seconds: soon", 17, "ring.seconds", "seconds above 0", True),
    ("restart: true", "restart: maybe", 18, "service.restart", "true or false", True),
    ("watchdog: 30", "watchdog: -1", 18, "service.watchdog", "expected a number from 0 to", True),
    (
        "device: {name: cpu}",
        'device: {names: "emulated:0,emulated:1"}',
        19,
        "device.names",
        "not allowed with beams.directions",
        False,
    ),
    ("device: {name: cpu}", 'device: {names: "gpu:0"}', 19, "device.names", "gpu:0", False),
    (
        "device: {name: cpu}",
        "monitoring: {listen: everywhere}",
        19,
        "monitoring.listen",
        "ADDRESS:PORT",
        False,
    ),
    (
        "device: {name: cpu}",
        'monitoring: {listen: "0.0.0.0:80"}',
        19,
        "monitoring.token_file",
        "missing",
        False,
    ),
    ("name: cpu", "name: gpu", 19, "device.name", "auto, cpu, cuda", True),
    ("device: {name: cpu}", "input: {}", 19, "input", "given twice, first on line 2", False),
    ("device: {name: cpu}", "device: {name: cpu", 20, "", "not YAML", False),
    ("device: {name: cpu}", "- 1", 19, "", "not YAML", False),
)


def validate(text):
    """Returns whether the schema allows a file."""
    import jsonschema

    try:
        jsonschema.validate(yaml.safe_load(text), schema_of(), jsonschema.Draft7Validator)
    except jsonschema.ValidationError:
        return False
    return True


class qa_observe_plan(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "lab.yml")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_a_good_one(self):
        self.write(GOOD)
        self.assertEqual(
            (0, f"{self.path}: nothing is wrong with it\n", ""), run(observe, "--check", self.path)
        )
        self.assertTrue(validate(GOOD))
        options = Configuration(self.path).options
        self.assertEqual(
            (64, 4, 0.5, "Cas A"),
            (options.channels, options.taps, options.integration, options.track),
        )
        self.assertEqual(
            (5 * 10**9, "oldest", True, 30.0),
            (options.least_free, options.when_full, options.restart, options.watchdog),
        )
        # keys that are left out have the defaults of the other commands' options
        self.assertEqual(
            ("hann", "sc8", True, 32),
            (options.window, options.format, options.overwrite, options.nbits),
        )

    def test_spoilt_ones(self):
        for before, after, line, field, text, seen in SPOILT:
            with self.subTest(after=after, field=field):
                self.assertEqual(1, GOOD.count(before))
                spoilt = GOOD.replace(before, after)
                self.write(spoilt)
                code, out, err = run(observe, self.path)
                self.assertEqual((2, ""), (code, out))
                start = f"aperture_observe: error: {self.path}:{line}: "
                self.assertEqual(
                    start + (f"{field}: " if field else ""),
                    err[: len(start) + len(field) + (2 if field else 0)],
                )
                self.assertIn(text, err)
                self.assertEqual(1, err.count("\n"))
                if seen:
                    self.assertFalse(validate(spoilt), "the schema allows it")

    def test_no_file(self):
        for arguments, text in (
            ((self.path,), "No such file"),
            ((), "CONFIG.yml is missing"),
            ((os.path.dirname(self.path),), "is no file"),
        ):
            code, _, err = run(observe, *arguments)
            self.assertEqual(2, code)
            self.assertIn(text, err)

    def test_a_plan_of_aperture_fx_is_one(self):
        """A plan that aperture_fx writes is one of aperture_observe, but for names without
        {time}."""
        from gnuradio.aperture.commands import fx

        options = fx.parser().parse_args(
            "--input sim:y8 -o y8-{time}.uvh5 --track sun --flag --integration 2".split()
        )
        text = "\n".join(
            line for line in plan_text(options.plan).splitlines() if "keep_uvh5" not in line
        )
        self.write(text)
        self.assertEqual(
            0, run(observe, "--check", self.path)[0], run(observe, "--check", self.path)
        )
        self.assertTrue(validate(text))

    def test_schema(self):
        code, out, _ = run(observe, "--schema")
        self.assertEqual(0, code)
        schema = json.loads(out)
        import jsonschema

        jsonschema.Draft7Validator.check_schema(schema)
        for name, section in schema["properties"].items():
            self.assertIn("description", section, name)
            for key, value in section.get("properties", {}).items():
                self.assertTrue(value["description"], f"{name}.{key}")
                self.assertNotIn("%(", value["description"], f"{name}.{key}")
                self.assertTrue({"type", "enum", "anyOf"} & set(value), f"{name}.{key}")

    def test_bytes(self):
        for text, value in (("2e9", 2 * 10**9), ("1.5 GB", 15 * 10**8), ("0", 0), ("7B", 7)):
            self.assertEqual(value, FIELDS["outputs.roll_bytes"].read(text))


if __name__ == "__main__":
    gr_unittest.run(qa_observe_plan)
