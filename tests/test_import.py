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
#: of what GNU Radio and NumPy take of a processor, on whatever machine; it is 0.8 of that
LONGEST = 2.5

# in a process of its own, where nothing has been loaded
PROGRAM = """
import json, re, sys, time

def megabytes():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

start = time.process_time()
import numpy
from gnuradio import gr
loaded, before, middle = set(sys.modules), megabytes(), time.process_time()
from gnuradio import aperture
share = (time.process_time() - middle) / (middle - start)
print(json.dumps({"share": share, "megabytes": megabytes() - before,
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
        """It takes about as long as what it needs of others."""
        self.assertLess(self.cost["share"], LONGEST)


if __name__ == "__main__":
    main()
