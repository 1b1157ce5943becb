#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Names of files in plans: endings, and what stands in braces."""

from gnuradio import gr_unittest

from gnuradio.aperture.plan.names import problem_of


class qa_names(gr_unittest.TestCase):
    def test_endings_and_braces(self):
        for name in ("a.fil", "{beam}.fil", "b.x/{time}-{beam}.fil", ".a.fil"):
            self.assertIsNone(problem_of(name, (".fil",), ("beam", "time")))
        for name, text in (
            ("", "expected the name of a file that ends in .fil, such as out.fil"),
            (".", "this is a folder; expected"),
            ("/tmp", "this is a folder"),
            ("/nowhere/", "this is a folder"),
            ("x.ms", "expected the name of a file that ends in .fil"),
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
            self.assertIn(text, problem_of(name, (".fil",), ("beam", "time")))
        self.assertRegex(
            problem_of("{beam}.uvh5", (".uvh5",), ("time",)),
            "{beam} is not known; .*may stand: {time}",
        )


if __name__ == "__main__":
    gr_unittest.run(qa_names)
