#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files that are there, and are to be written."""

import os
import tempfile

from gnuradio import gr_unittest

from gnuradio.aperture.builder.input import check_writable
from gnuradio.aperture.parameters.errors import ParameterError
from gnuradio.aperture.plan.fields import FX
from gnuradio.aperture.plan.plan import Plan


class qa_input(gr_unittest.TestCase):
    def test_files_that_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "a.fil")
            keeping = Plan(program=FX).replaced({"outputs.overwrite": False})
            check_writable(keeping, "outputs.file", [name])
            os.symlink("/nowhere", name)
            with self.assertRaisesRegex(
                ParameterError, "^-o .*a.fil: the file exists, and --no-overwrite keeps it"
            ):
                check_writable(keeping, "outputs.file", [name])
            os.unlink(name)
            with open(name, "w"):
                pass
            check_writable(Plan(program=FX), "outputs.file", [name])
            with self.assertRaisesRegex(ParameterError, "--no-overwrite keeps it"):
                check_writable(keeping, "outputs.file", [name])


if __name__ == "__main__":
    gr_unittest.run(qa_input)
