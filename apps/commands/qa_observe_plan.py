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
import signal

import numpy as np
import yaml
from gnuradio import gr_unittest

from gnuradio.aperture.commands import observe
from gnuradio.aperture.commands.observe_plan import Configuration, schema_of
from gnuradio.aperture.plan.plan import FIELDS
from gnuradio.aperture.plan.yaml_plans import plan_text
from gnuradio.aperture.testing.fed_server import write_token
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run
from gnuradio.aperture.testing.qa_tools import PATIENCE

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
    (
        "roll_seconds: 3600",
        "roll_seconds: 0",
        10,
        "outputs.roll_seconds",
        "from 1 to 1e9 seconds",
        True,
    ),
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
    ("5 GB", '"5 GB\\n"', 11, "outputs.least_free_bytes", "without control characters", False),
    ("duration: 2.5", "duration: 1e300", 4, "input.duration", "up to 1e9, or inf", True),
    ("duration: 2.5", "duration: nan", 4, "input.duration", "above 0", True),
    ("integration: 0.5", "integration: 1e300", 5, "engines.integration", "up to 1e9", True),
    ("seconds: 20", "seconds: 1e300", 17, "ring.seconds", "up to 1e9", True),
    (
        "vis-{time}.uvh5",
        "{time}" + 300 * "v" + ".uvh5",
        9,
        "outputs.file",
        "the name of this file has more than",
        False,
    ),
    # names that become too long
    (
        "vis-{time}.uvh5",
        "{time}" + 225 * "v" + ".uvh5",
        9,
        "outputs.file",
        "the name of this file has more than",
        False,
    ),
    (
        "dump-{id}-{time}.dada",
        "{id}-{time}" + 180 * "v" + ".dada",
        17,
        "ring.file",
        "the name of this file has more than",
        False,
    ),
    ("vis-{time}.uvh5", "nowhere/v-{time}.uvh5", 9, "outputs.file", "no folder", False),
    ("vis-{time}.uvh5", "/proc/v-{time}.uvh5", 9, "outputs.file", "no file can be made", False),
    ("beams-{time}.fil", "b\\0-{time}.fil", 15, "beams.file", "control characters", False),
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


SECRET = "hunter2"
#: values that nobody means
HOSTILE = (
    "0", "-1", "1e300", "1e-300", "nan", "inf", "-inf", "1" * 400, "65536", "2147483648",
    "cuda:99", "/dev/zero", "/dev/stdin", "/proc/self/mem", "/etc/passwd", "/nowhere/x", "..",
    "/", "", " ", "x" * 300, "x" * 5000, "a\nb", "a\0b", "\x1b[31m", "é" * 200, "{time}", "{id}",
    "{}", "{{", "%s%n", "'", '"', "sim:/etc/passwd", "sim:/dev/zero", "raw:/dev/zero,rate=1,freq=1",
    "dada:/etc/passwd", "udp:0.0.0.0:0", "dm=0:1e300", "dm=0:1e9:1e-9", "0.5,dm=1e300",
    "grid:az=0,el=60,columns=1000000,spacing=1", "grid:ra=0,dec=90,width=180", "0-65535",
)  # fmt: skip


def hostile_plan(rng, folder):
    """A plan of which some values are HOSTILE, of keys that the schema has."""
    plan = {
        "input": {"source": "sim:two-dish", "duration": "1"},
        "engines": {"channels": "64"},
        "outputs": {"file": f"{folder}/v-{{time}}.uvh5"},
    }
    more = {
        "beams": {"directions": "grid:az=180,el=60", "file": f"{folder}/b-{{time}}.fil"},
        "search": {"trials": "dm=0:5", "candidates": f"{folder}/c-{{time}}.ecsv"},
        "fold": {"by": "0.5", "file": f"{folder}/p-{{time}}.fits"},
        "vdif": {"to": f"{folder}/s-{{time}}-{{beam}}.vdif"},
        "products": {
            "one": {"integration": "0.25"},
            "two": {"fast": "true", "integration": "0.02"},
        },
        "ring": {"file": f"{folder}/d-{{id}}-{{time}}.dada", "seconds": "1"},
        "voltages": {"file": f"{folder}/w-{{time}}-{{channel}}.sigmf-meta", "channels": "1"},
    }
    for name, keys in more.items():
        if rng.random() < 0.4 and (name not in ("search", "fold", "vdif") or "beams" in plan):
            plan[name] = keys
    properties = {
        (name, key): about
        for name, section in schema_of()["properties"].items()
        for key, about in section.get("properties", {}).items()
    }
    of_product = schema_of()["properties"]["products"]["additionalProperties"]["properties"]
    properties |= {("products", key): about for key, about in of_product.items()}
    for _ in range(rng.integers(1, 4)):
        # most of what is drawn is of a section that is there
        there = [place for place in properties if place[0] in plan or rng.random() < 0.2]
        name, key = there[rng.integers(len(there))]
        about = properties[name, key]
        # limits of numbers are allowed, and may still be too much for what they mean
        values = [about[limit] for limit in ("minimum", "maximum") if limit in about]
        values += [2 * about["exclusiveMinimum"] + 1e-9] if "exclusiveMinimum" in about else []
        values += about.get("enum", []) + [True, False] * (about.get("type") == "boolean")
        if not values or rng.random() < 0.3:
            values = HOSTILE
        keys = plan.setdefault(name, {})
        if name == "products":
            keys = keys.setdefault(("one", "two", "three")[rng.integers(3)], {})
        keys[key] = (
            str(values[rng.integers(len(values))]).replace("True", "true").replace("False", "false")
        )
    return yaml.safe_dump(plan)


class qa_observe_plan(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "lab.yml")

    def path_in(self, name):
        """The name of a file in the folder."""
        return str(self.folder / name)

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_a_good_one(self):
        self.write(GOOD)
        self.assertEqual(
            (0, f"{self.path}: nothing is wrong with it\n", ""), run(observe, "--check", self.path)
        )
        self.assertTrue(validate(GOOD))
        plan = Configuration(self.path).plan
        engines, outputs, service = plan.engines, plan.outputs, plan.service
        self.assertEqual(
            (64, 4, 0.5, "Cas A"),
            (engines.channels, engines.taps, engines.integration, plan.tracking.direction),
        )
        self.assertEqual(
            (5 * 10**9, "oldest", True, 30.0),
            (outputs.least_free_bytes, outputs.when_full, service.restart, service.watchdog),
        )
        # keys that are left out have the defaults of the other commands' options
        self.assertEqual(
            ("hann", "sc8", True, 32),
            (engines.window, engines.format, outputs.overwrite, plan.beams.bits),
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

    def check(self, text):
        """Returns what --check says of a plan; it may not take long."""
        self.write(text)

        def late(*_):
            raise AssertionError("--check takes too long")

        before = signal.signal(signal.SIGALRM, late)
        signal.alarm(int(PATIENCE))
        try:
            code, out, err = run(observe, "--check", self.path)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        return code, out + err

    def refused(self, text, field, words):
        """A plan is refused in one line that names the file, the field, and what is allowed."""
        with self.subTest(field=field, words=words):
            code, said = self.check(text)
            self.assertEqual(2, code, said)
            self.assertRegex(said, rf"^aperture_observe: error: {self.path}:\d+: {field}: ")
            self.assertIn(words, said)
            self.assertEqual(1, said.count("\n"), said)
            self.assertNotIn(SECRET, said)

    def test_what_cannot_start_is_refused(self):
        """Plans that would fail at their start, or take for ever, are refused by --check, and
        nothing that is in other files is told."""
        names = ("fifo", "secret", "other", "large")
        fifo, secret, other, large = (self.path_in(name) for name in names)
        os.mkfifo(fifo)
        # files such as /etc/passwd, and a mapping of YAML
        for name, text in (
            (secret, f"root:{SECRET}:0:0\nsys:{SECRET}:1:1\n"),
            (secret + ".par", f"{SECRET} 1\n{SECRET} 2\n"),
            (other, f"{SECRET}: 1\n"),
        ):
            with open(name, "w", encoding="ascii") as file:
                file.write(text)
        with open(large, "wb") as file:
            file.truncate(1 << 40)
        good = f"""\
input: {{source: "sim:two-dish", duration: 1}}
outputs: {{file: "{self.folder}/v-{{time}}.uvh5"}}
"""
        code, said = self.check(good)
        self.assertEqual((0, f"{self.path}: nothing is wrong with it\n"), (code, said))
        beams = f'beams: {{directions: "%s", file: "{self.folder}/b-{{time}}.fil"}}\n'
        self.refused(
            good + beams % "grid:az=0,el=60,columns=1000000,spacing=1",
            "beams.directions",
            "1000000 is not allowed; it must be a whole number from 1 to 4096",
        )
        self.refused(
            good + "engines: {window: foo}\n",
            "engines.window",
            "'foo' is not allowed; it must be hann",
        )
        self.refused(
            good + "tracking: {phase_centers: 'sun;moon'}\n", "outputs.file", "{phase_center} in it"
        )
        for name in ("cuda:99", "emulated:99"):
            self.refused(good + f'device: {{name: "{name}"}}\n', "device.name", name)
        ring = f'ring: {{file: "{self.folder}/{{id}}-{{time}}.dada", seconds: %s}}\n'
        self.refused(good + ring % "1e9", "ring.seconds", "bytes")
        self.refused(
            good + 'monitoring: {listen: "192.0.2.1:8080", token_file: %s, proxy: "127.0.0.1", '
            'hosts: "a.example"}\n' % write_token(self.folder),
            "monitoring.listen",
            "192.0.2.1",
        )
        for path in (
            fifo,
            "/dev/zero",
            str(self.folder),
            self.path_in("nowhere"),
            secret,
            other,
            large,
        ):
            for field, text in (
                ("monitoring.token_file", good + f"monitoring: {{token_file: '{path}'}}\n"),
                ("input.source", good.replace("sim:two-dish", f"sim:{path}")),
                ("input.source", good.replace("sim:two-dish", f"dada:{path}")),
                ("input.source", good.replace("sim:two-dish", f"sigmf:{path}")),
                ("input.source", good.replace("sim:two-dish", f"guppi:{path}")),
                ("input.source", good.replace("sim:two-dish", f"vdif:{path}")),
                ("calibration.file", good + f"calibration: {{file: '{path}'}}\n"),
                ("beams.directions", good + beams % path),
                (
                    "array.description",
                    good.replace("sim:two-dish", "udp:127.0.0.1:4000,samples=64,rate=1e6,freq=1e9")
                    + f"array: {{description: '{path}'}}\n",
                ),
            ):
                self.refused(text, field, path)
        self.refused(
            good + beams % "grid:az=0,el=60" + f"fold: {{by: '{secret}.par'}}\n",
            "fold.by",
            f"{secret}.par",
        )

    def test_hostile_plans(self):
        """Plans with values that nobody means, drawn from the schema: each is refused in one line
        and in bounded time, or can be started."""
        rng = np.random.default_rng(int(os.environ.get("APERTURE_SEED", "1")))
        for number in range(int(os.environ.get("APERTURE_EXAMPLES", "12"))):
            text = hostile_plan(rng, str(self.folder))
            with self.subTest(number=number, text=text):
                code, said = self.check(text)
                self.assertEqual(1, said.count("\n"), said)
                self.assertNotIn("Traceback", said)
                self.assertIn(code, (0, 2), said)
                if code == 2:
                    start = rf"^aperture_observe: error: {self.path}:\d+: [a-z_]+\.[a-z_.]+: "
                    self.assertRegex(said, start)

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
        text = plan_text(options.plan)
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
            self.assertEqual(value, FIELDS["outputs.least_free_bytes"].read(text))


if __name__ == "__main__":
    gr_unittest.run(qa_observe_plan)
