# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measures what it costs to load the package, for which GNU Radio Companion and every script pay; and
what is said where the system is not as it should be.
"""

import json
import os
import sys
import unittest

from places import SOURCE, fresh_folder, main, run, run_or_fail

#: large packages that only some of the package's modules need
HEAVY = ("PyQt5", "astropy", "erfa", "h5py", "matplotlib", "pyqtgraph", "scipy")
#: modules take half more in Python 3.13 than in 3.11: 18 and 12 MB
MOST_MEGABYTES = 15 if sys.version_info < (3, 12) else 20
#: factor over the time that GNU Radio and NumPy take, on any machine; it is 0.8 of that
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


def own_folders():
    """The environment, without what leads GNU Radio's files elsewhere than into HOME."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "GR_")) and name != "APPDATA"
    }


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
        """`import gnuradio.aperture` adds at most MOST_MEGABYTES to what gnuradio.gr takes."""
        self.assertLess(self.cost["megabytes"], MOST_MEGABYTES)

    def test_time(self):
        """The import takes about as long as that of the packages it needs."""
        self.assertLess(self.cost["share"], LONGEST)

    def test_another_numpy(self):
        """A newer NumPy before the system's: one sentence with what to do, from every command."""
        folder = fresh_folder("another_numpy") / "lib/site-packages"
        (folder / "numpy").mkdir(parents=True)
        (folder / "numpy/__init__.py").write_text('__version__ = "9.1.0"\n')
        environment = {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
        programs = [path for path in (SOURCE / "apps").glob("aperture_*") if "." not in path.name]
        self.assertGreater(len(programs), 8)
        for program in programs:
            status, output = run(sys.executable, program, "--help", env=environment)
            self.assertEqual(status, 1, output)
            self.assertRegex(
                output,
                rf"^{program.name}: error: NumPy 9\.1\.0 in {folder} comes "
                r"before the \d\S+ that GNU Radio was built with, .* -m pip "
                r"uninstall numpy. .*\n$",
            )
        status, output = run(sys.executable, "-c", "from gnuradio import aperture", env=environment)
        self.assertEqual(status, 1)
        self.assertIn("\nImportError: NumPy 9.1.0 in", output)

    def test_plans_of_gnuradio(self):
        """GNU Radio keeps FFTW's plans in HOME for all of its programs: those of a process in which
        our blocks planned first are read by others, and theirs by ours."""
        folder = fresh_folder("plans")
        theirs = "from gnuradio import fft; fft.fft_vcc({}, True, [], False, 1)"
        ours = "from gnuradio import aperture; kept = aperture.array_source('y8', samples=1000)"
        environment = {**own_folders(), "HOME": str(folder)}
        for points, program in enumerate((theirs, f"{ours}; {theirs}", theirs), 90):
            output = run_or_fail(
                self, sys.executable, "-c", program.format(points), env=environment
            )
            self.assertNotIn("import_wisdom", output)
        self.assertTrue(list(folder.rglob("*fftw_wisdom")))

    def test_home_that_cannot_be_written(self):
        """GNU Radio wants its folder there: one sentence with what to do."""
        folder = fresh_folder("home")
        command = [
            sys.executable,
            SOURCE / "apps/aperture_fx",
            "--input",
            "sim:two-dish",
            "--duration",
            "0.01",
            "--device",
            "cpu",
            "-o",
            folder / "a.uvh5",
        ]
        # nobody can make a folder there, not even root
        status, output = run(*command, env={**own_folders(), "HOME": "/proc/self"})
        self.assertEqual(status, 1)
        self.assertRegex(
            output,
            r"aperture_fx: error: GNU Radio keeps settings in /proc/self/\S*gnuradio, and HOME is "
            r"/proc/self: set HOME to .*\n$",
        )


if __name__ == "__main__":
    main()
