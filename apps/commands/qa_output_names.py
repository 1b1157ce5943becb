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

from gnuradio.aperture.commands.output_names import check_output_name, check_writable
from gnuradio.aperture.commands.running import CommandError


class qa_output_names(gr_unittest.TestCase):
    def test_endings_and_braces(self):
        for name in ("a.fil", "{beam}.fil", "b.x/{time}-{beam}.fil", ".a.fil"):
            check_output_name(name, ".fil", ["beam", "time"])
        for name, text in (
            ("", "-o '': expected the name of a file that ends in .fil, such as out.fil"),
            (".", "-o .: this is a folder; expected"),
            ("/tmp", "-o /tmp: this is a folder"),
            ("/nowhere/", "-o /nowhere/: this is a folder"),
            ("x.ms", "-o x.ms: expected the name of a file that ends in .fil"),
            ("b.h5", "this command writes no other format"),
            ("b", "no other format"),
            (".fil", "no other format"),
            ("a.FIL", "no other format"),
            (
                "b{beem}.fil",
                "{beem} is not known; in braces may stand: {beam} (the name of a "
                "beam), {time} (the UTC time of the first "
                "integration)",
            ),
            ("b{.fil", "{.fil is not known"),
            ("b}.fil", "} is not known"),
            ("{}.fil", "{} is not known"),
            ("{{beam}.fil", "{.fil is not known"),
        ):
            with self.assertRaises(CommandError) as caught:
                check_output_name(name, ".fil", ["beam", "time"])
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(CommandError, "{beam} is not known; .*may stand: {time}"):
            check_output_name("{beam}.uvh5", ".uvh5", ["time"])

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
