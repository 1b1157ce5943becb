# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to load the package: GNU Radio Companion and every script pay for it."""

import json
import unittest

from places import main, run_or_fail

#: what only some of the package's modules need, and is large
HEAVY = ("PyQt5", "astropy", "erfa", "h5py", "matplotlib", "pyqtgraph", "scipy")
MOST_MEGABYTES = 15
#: s of a processor; it takes 0.05 s
LONGEST = 0.5

# in a process of its own, where nothing has been loaded
PROGRAM = """
import json, re, sys, time

def megabytes():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

from gnuradio import gr
loaded, before, start = set(sys.modules), megabytes(), time.process_time()
from gnuradio import aperture
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "megabytes": megabytes() - before,
                  "modules": sorted(set(sys.modules) - loaded)}))
"""


class TestImport(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        output = run_or_fail(cls("test_modules"), "python3", "-c", PROGRAM)
        cls.cost = json.loads(output.strip().splitlines()[-1])

    def test_modules(self):
        """No module is loaded that is large and that most flowgraphs do without."""
        packages = {name.partition(".")[0] for name in self.cost["modules"]}
        self.assertIn("gnuradio.aperture", self.cost["modules"])
        self.assertEqual(packages & set(HEAVY), set())

    def test_memory(self):
        """`import gnuradio.aperture` adds at most 15 MB to what gnuradio.gr takes."""
        self.assertLess(self.cost["megabytes"], MOST_MEGABYTES)

    def test_time(self):
        """It takes a fraction of a second."""
        self.assertLess(self.cost["seconds"], LONGEST)


if __name__ == "__main__":
    main()
