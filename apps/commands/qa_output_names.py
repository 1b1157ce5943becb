#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Names of files that commands write."""

import os
import tempfile

from gnuradio import gr_unittest

from gnuradio.aperture.commands.output_names import check_writable
from gnuradio.aperture.commands.running import CommandError


class qa_output_names(gr_unittest.TestCase):
    def test_files_that_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "a.fil")
            check_writable(name, False)
            os.symlink("/nowhere", name)
            with self.assertRaisesRegex(CommandError, "a.fil: the file exists, and --no-overwrite"):
                check_writable(name, False)
            os.unlink(name)
            with open(name, "w"):
                pass
            check_writable(name, True)
            with self.assertRaisesRegex(CommandError, "--no-overwrite keeps it"):
                check_writable(name, False)


if __name__ == "__main__":
    gr_unittest.run(qa_output_names)
