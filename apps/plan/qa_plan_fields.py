#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Fields of plans: each is in the options, in YAML and back, and in the schema; errors name file,
line and field."""

import contextlib
import io
import itertools

from gnuradio import gr_unittest

from gnuradio.aperture.parameters.errors import ParameterError
from gnuradio.aperture.plan.fields import BEAMS, FX, OBSERVE, SEARCH
from gnuradio.aperture.plan.plan import FIELDS, NAMED, NAMED_FIELDS, SECTIONS, Plan, fields_for
from gnuradio.aperture.plan.plan_parser import PlanParser
from gnuradio.aperture.plan.schema import json_schema
from gnuradio.aperture.plan.texts import Part
from gnuradio.aperture.plan.yaml_plans import FORMER, load_plan, plan_text
from gnuradio.aperture.testing.folders import InFolder

PROGRAMS = FX, BEAMS, OBSERVE, SEARCH
#: texts of fields whose values have a form of their own
TEXTS = {
    "instrument.name": "lab-1",
    "input.duration": "inf",
    "input.start": "2024-06-01T12:30:00.25Z",
    "engines.channels": "62",
    "device.name": "cuda:3",
    "device.names": "cpu,cuda:1",
    "outputs.roll_bytes": "1.5 GB",
    "outputs.least_free_bytes": "7 kB",
    "flagging.bad_channels": "3,60-62",
    "input.select_channels": "3:12",
    "input.zoom": "-2.5e6,16",
    "input.zoom_passband": "0.9",
    "flagging.kurtosis_false_alarms": "0.25",
    "tracking.direction": "az=180, el=45",
    "tracking.phase_centers": "sun;350.85, 58.815",
    "voltages.channels": "0-7",
    "network.channels": "1/2",
    "network.inputs": "0/3",
    "network.listen": "10.0.0.3:7148",
    "network.to": "10.0.0.3:7148,10.0.0.4:7148",
    "network.sync_time": "2024-01-01T00:00:00Z",
    "beams.voltage_channels": "5",
    "vdif.passband": "0.75",
    "search.trials": "dm=0:50,threshold=9",
    "fold.by": "0.7145,dm=26.76",
    "ring.most_bytes": "2e9",
    "products.phase_centers": "sun;350.85, 58.815",
    "products.phases": "0.4-0.5",
    "products.loss": "0.25",
    "hosts.channels": "0/2",
    "hosts.inputs": "1/2",
    "hosts.address": "10.0.0.4:7148",
    "hosts.device": "cuda",
}


def text_of(field):
    """A text of a field, whose value is not its default."""
    if field.name in TEXTS:
        return TEXTS[field.name]
    about = field.about
    if about.choices:
        return str(next(choice for choice in about.choices if choice != field.default))
    if about.kind == "bool":
        return "false" if field.default else "true"
    if about.kind in ("int", "float"):
        return "23"
    return "a: #\u00e4'\"x"


def filled(program):
    """The plan of a program in which no field has its default."""
    values = {
        field.name: field.read(text_of(field))
        for section, fields in fields_for(program).items()
        if section not in NAMED
        for field in fields.values()
    }
    named = {
        section: {
            "a: b": NAMED[section](
                **{key: field.read(text_of(field)) for key, field in fields.items()}
            )
        }
        for section, fields in NAMED_FIELDS.items()
        if section in fields_for(program)
    }
    return Plan(program=program).replaced(values, **named), values


class qa_plan_fields(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "plan.yml")

    def load(self, text, program=OBSERVE):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        return load_plan(self.path, program)

    def test_every_field_is_somewhere(self):
        """Each section and each field belongs to a program, and each of these has some."""
        offered = {
            field.name
            for program in PROGRAMS
            for section, fields in fields_for(program).items()
            if section not in NAMED
            for field in fields.values()
        }
        self.assertEqual(offered, set(FIELDS))
        self.assertGreater(len(FIELDS), 80)
        named = (fields.items() for fields in NAMED_FIELDS.values())
        for name, field in itertools.chain(FIELDS.items(), *named):
            self.assertTrue(field.about.meaning, name)

    def test_round_trip(self):
        """YAML that is written and read again is the same plan, field by field."""
        for program in PROGRAMS:
            plan, values = filled(program)
            again = self.load(plan_text(plan), program)
            for name, value in values.items():
                self.assertNotEqual(value, FIELDS[name].default, name)
                self.assertEqual(again.value(name), value, name)
            self.assertEqual(again, plan)
            self.assertEqual(plan_text(again), plan_text(plan))

    def test_options(self):
        """Each option gives the value that its field has in YAML, over that of a plan."""
        for program in (FX, BEAMS):
            parser = PlanParser(program, "")
            plan, values = filled(program)
            words = []
            for name, value in values.items():
                options = FIELDS[name].place.options
                if not options:
                    continue
                for option in options:
                    self.assertIn(option, parser.format_help())
                words.append(options[0])
                if not isinstance(value, bool):
                    words.append(text_of(FIELDS[name]))
            found = parser.parse_args(words).plan
            for name in values:
                if FIELDS[name].place.options:
                    self.assertEqual(found.value(name), values[name], name)
                    self.assertEqual(found.naming(name), FIELDS[name].place.options[0])
            other = plan.replaced({"engines.taps": 5, "input.source": "sim:y8"})
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(plan_text(other))
            both = parser.parse_args(["--plan", self.path, *words]).plan
            self.assertEqual(both.engines.taps, 23)
            self.assertEqual(parser.parse_args(["--plan", self.path]).plan.engines.taps, 5)

    def test_defaults(self):
        """A plan of nothing has the defaults of all fields, which --help and the schema say."""
        for program in PROGRAMS:
            plan = Plan(program=program)
            properties = json_schema(program, "")["properties"]
            self.assertEqual(list(properties), list(fields_for(program)))
            for section, fields in fields_for(program).items():
                if section in NAMED:
                    self.assertEqual(
                        list(fields),
                        list(properties[section]["additionalProperties"]["properties"]),
                    )
                    continue
                entries = properties[section]["properties"]
                self.assertEqual(list(fields), list(entries))
                for key, field in fields.items():
                    if section != "monitoring":
                        self.assertEqual(plan.value(field.name), field.default)
                    if field.default not in (None, ""):
                        self.assertEqual(entries[key]["default"], field.default)

    def test_schema(self):
        """The schema allows what is read, and refuses what is of another type."""
        import jsonschema
        import yaml

        for program in PROGRAMS:
            schema = json_schema(program, "title")
            jsonschema.Draft7Validator.check_schema(schema)
            plan, _ = filled(program)
            tree = yaml.safe_load(plan_text(plan))
            jsonschema.validate(tree, schema, jsonschema.Draft7Validator)
            for section, keys in tree.items():
                for key in keys:
                    spoilt = {**tree, section: {**keys, key: [1]}}
                    with self.assertRaises(jsonschema.ValidationError, msg=f"{section}.{key}"):
                        jsonschema.validate(spoilt, schema, jsonschema.Draft7Validator)

    def test_errors(self):
        """Each field of each section refuses what is no value, with file, line and field."""
        for section, kind in {**SECTIONS, **NAMED}.items():
            host = "  f0:\n" if section in NAMED else ""
            prefix = f"{section}.f0" if host else section
            for key in kind.__dataclass_fields__:
                program = next(
                    (p for p in PROGRAMS if key in fields_for(p).get(section, ())), OBSERVE
                )
                other = "device: {name: cpu}" if program == SEARCH else "input: {source: a}"
                text = f"{other}\n{section}:\n{host}   {key}: [1]\n"
                if section == "input":
                    text = f"\ninput:\n   {key}: [1]\n"
                with self.assertRaises(ParameterError) as caught:
                    self.load(text, program)
                self.assertEqual(
                    str(caught.exception).split(" ['1']")[0],
                    f"{self.path}:{4 if host else 3}: {prefix}.{key}:",
                )
                self.assertEqual(caught.exception.field, f"{prefix}.{key}")

    def test_former_keys(self):
        """Plans of aperture_beams from before it had sections of beams are read as they were."""
        former = self.load(
            "engines: {beams: x.yml, integration: 0.5, sum_channels: 4, channels: 64}\n"
            "outputs: {file: a.fil, nbits: 8}\nvoltages: {file: v.raw, channels: '3'}\n",
            BEAMS,
        )
        beams = former.beams
        self.assertEqual(
            (beams.directions, beams.integration, beams.sum_channels, beams.file, beams.nbits),
            ("x.yml", 0.5, 4, "a.fil", 8),
        )
        self.assertEqual((beams.voltages, beams.voltage_channels), ("v.raw", "3"))
        self.assertIsNone(former.engines.integration)
        self.assertEqual(former.naming("beams.file"), "outputs.file")
        for name in FORMER[BEAMS].values():
            self.assertIn(name, FIELDS)
        with self.assertRaisesRegex(
            ParameterError, ":2: beams.file: given twice, first as outputs.file"
        ):
            self.load("outputs: {file: a.fil}\nbeams: {file: b.fil}\n", BEAMS)

    def test_hosts(self):
        """The plan of a host has what it says of itself, and errors say where that stands."""
        plan = self.load(
            "input: {source: 'sim:y8'}\n"
            "hosts:\n"
            "  b: {role: x, channels: 1/2, address: '10.0.0.4:7148', output: b.uvh5}\n"
            "  f1: {role: f, inputs: 1/2, device: cpu, input: 'sim:y16'}\n"
            "  a: {role: x, channels: 0/2, address: '10.0.0.3:7148'}\n",
            FX,
        )
        f1, a = plan.of_host("f1"), plan.of_host("a")
        self.assertEqual(
            (f1.network.role, f1.network.inputs, f1.device.name, f1.input.source, f1.network.to),
            ("f", Part(1, 2), "cpu", "sim:y16", "10.0.0.3:7148,10.0.0.4:7148"),
        )
        self.assertEqual((a.network.listen, a.device.name), ("10.0.0.3:7148", "auto"))
        f1.check()
        error = f1.error("input.source", "is not there")
        self.assertEqual(str(error), f"{self.path}:4: hosts.f1.input: is not there")
        self.assertEqual(error.field, "input.source")
        with self.assertRaisesRegex(ParameterError, "--host c: the plan has b, f1, a"):
            plan.of_host("c")

    def test_wrong_options(self):
        """An error of an option is one line that names it."""
        for words, text in (
            ("--channels 63", "argument --channels: 63: expected an even number from 4 to 65536"),
            ("--seed 1 --taps 65", "argument --taps: 65: expected a whole number from 1 to 64"),
            ("--duration -1", "argument --duration: -1: expected a number of seconds above 0"),
            ("--plan nowhere.yml", "--plan nowhere.yml: there is no such file"),
            ("--taps 5", "the following arguments are required: --input"),
        ):
            said = io.StringIO()
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(said):
                PlanParser(FX, "").parse_args(words.split())
            self.assertIn(text, said.getvalue())
            self.assertEqual(1, said.getvalue().count("\n"))


if __name__ == "__main__":
    gr_unittest.run(qa_plan_fields)
