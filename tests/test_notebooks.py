# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/notebooks: they run from top to bottom, and are kept without outputs."""

import ast
import os
import re
import sys
import unittest

from gnuradio.aperture.testing.tiers import long_test
from places import PATIENCE, SOURCE, main

# the kernel complains of Python's own modules otherwise
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"

NOTEBOOKS = SOURCE / "examples/notebooks"

try:
    import ipykernel  # noqa: F401 (what runs the cells)
    import nbclient
    import nbformat
except ImportError as error:
    print(f"{error}: tools/setup test installs python3-nbclient and python3-ipykernel")
    sys.exit(1 if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1" else 77)


class TestNotebooks(unittest.TestCase):
    def run_notebook(self, name, pictures):
        """Runs all cells, and returns what they print; so many pictures are drawn."""
        notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
        nbclient.NotebookClient(
            notebook,
            timeout=PATIENCE,
            kernel_name="python3",
            resources={"metadata": {"path": str(NOTEBOOKS)}},
        ).execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        self.assertEqual(sum("image/png" in output.get("data", {}) for output in outputs), pictures)
        return "".join(output.get("text", "") for output in outputs)

    def test_without_outputs(self):
        names = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
        self.assertEqual(names, {"first_fringes", "own_block", "live_spectrum"})
        for path in NOTEBOOKS.glob("*.ipynb"):
            for cell in nbformat.read(path, as_version=4).cells:
                self.assertFalse(cell.get("outputs") or cell.get("execution_count"), path)
                # pages are as wide as those of docs/
                self.assertLessEqual(max(map(len, cell.source.split("\n"))), 120, path)
                if cell.cell_type == "code":
                    # lines for the notebook's kernel are no Python
                    ast.parse(re.sub(r"^%", "# %", cell.source, flags=re.MULTILINE))

    @long_test
    def test_first_fringes(self):
        """Coherence and phase are those of the simulated source."""
        said = re.search(
            r"coherence ([\d.]+), phase off by (-?[\d.]+) ", self.run_notebook("first_fringes", 3)
        )
        # half a second of 2.4 MHz: 1e-3
        self.assertAlmostEqual(float(said[1]), 0.5, delta=0.01)
        self.assertAlmostEqual(float(said[2]), 0, delta=1)

    @long_test
    def test_own_block(self):
        said = self.run_notebook("own_block", 1)
        # a fifth of the rate above the middle: 12.8 channels, which the prototype spreads over two
        self.assertRegex(said, r"blanked channels: \[(44 )?45\]")
        self.assertAlmostEqual(int(re.search(r"channels: (\d+)", said)[1]), 32, delta=5)
        self.assertIn("no error", said)

    @long_test
    def test_live_spectrum(self):
        said = self.run_notebook("live_spectrum", 1)
        found = float(re.search(r"strongest on average: (-?[\d.]+) MHz", said)[1])
        self.assertAlmostEqual(found, 0.3, delta=0.002)


if __name__ == "__main__":
    main()
