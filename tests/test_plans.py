#!/usr/bin/env python3
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that are made of the sections of plans are in step with them, and so are documents."""

import json
import re
import tempfile
import unittest
from pathlib import Path

from gnuradio.aperture.arrays.array_description import ANTENNA, TOP
from gnuradio.aperture.arrays.reference import reference as array_reference
from gnuradio.aperture.plan.fields import OBSERVE, PROGRAMS
from gnuradio.aperture.plan.plan import FIELDS, NAMED_FIELDS, fields_for
from gnuradio.aperture.plan.reference import reference
from gnuradio.aperture.plan.schema import json_schema
from gnuradio.aperture.plan.yaml_plans import load_plan
from places import SOURCE, main

DOCS = SOURCE / "docs"


class TestPlans(unittest.TestCase):
    def test_reference(self):
        """The manual has all fields, as the sections say; otherwise: tools/update-plans."""
        page = (DOCS / "reference/plans.md").read_text(encoding="utf-8")
        self.assertEqual(page, reference())
        for field in (
            *FIELDS.values(),
            *(field for fields in NAMED_FIELDS.values() for field in fields.values()),
        ):
            section = page.split(f"\n## {field.section}\n")[1].split("\n## ")[0]
            rows = re.findall(rf"^\| `{field.key}` \|.*$", section, re.MULTILINE)
            self.assertGreaterEqual(len(rows), 1, field.name)
            for text in (*field.place.options, field.about.meaning.replace("|", "\\|")):
                self.assertIn(text, rows[0], field.name)

    def test_array_reference(self):
        """The manual has all keys of array descriptions; otherwise: tools/update-plans."""
        page = (DOCS / "reference/array-description.md").read_text(encoding="utf-8")
        self.assertEqual(page, array_reference())
        for key in (*TOP, *ANTENNA, "cable_delay", "scattering_index", "mean_flux", "fluence"):
            self.assertRegex(page, rf"(?m)^\| `{key}` \| \S")

    def test_schema(self):
        """The schema beside the examples is that of the sections; otherwise: tools/update-plans."""
        path = SOURCE / "examples/instruments/aperture_observe.schema.json"
        self.assertEqual(
            json.loads(path.read_text(encoding="utf-8")),
            json_schema(OBSERVE, f"Configuration of {OBSERVE}"),
        )

    def test_documents(self):
        """Plans in documents have sections and keys that there are."""
        found = 0
        for page in sorted(DOCS.glob("*.md")):
            for text in re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
                if re.match(r"beams:\n +-", text):
                    continue  # a file of beams
                names = set(re.findall(r"^(\w+):", text, re.MULTILINE))
                programs = [each for each in PROGRAMS if names and names <= set(fields_for(each))]
                if not programs:
                    continue
                found += 1
                with self.subTest(page=page.name, text=text), tempfile.TemporaryDirectory() as tmp:
                    path = Path(tmp, "plan.yml")
                    path.write_text(text, encoding="utf-8")
                    load_plan(str(path), programs[-1])
        self.assertGreater(found, 4)


if __name__ == "__main__":
    main()
