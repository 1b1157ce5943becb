# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two minutes of tools/soak: nothing grows, and every integration is accounted for."""

import json
import unittest

from places import SOURCE, fresh_folder, main, run


class TestSoak(unittest.TestCase):
    def test_two_minutes(self):
        folder = fresh_folder("soak")
        status, output = run(
            SOURCE / "tools/soak",
            2 / 60,
            "--lost-every",
            12,
            "--folder",
            folder,
            "--report",
            folder / "report.json",
        )
        self.assertEqual(0, status, output)
        found = json.loads((folder / "report.json").read_text())
        self.assertEqual([], found["problems"])
        # a machine with much to do comes to fewer
        self.assertGreater(found["restarts"], 2)
        self.assertGreater(found["integrations"], 20)
        self.assertGreater(found["done"]["GET /metrics 200"], 10)
        # only the report is left
        self.assertEqual(["report.json"], [path.name for path in folder.iterdir()])


if __name__ == "__main__":
    main()
