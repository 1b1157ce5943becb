#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Which error a wrong parameter raises, and what a YAML reader does with the errors of fields."""

import io

from gnuradio import aperture, gr_unittest
from gnuradio.aperture.arrays.array_model import Antenna
from gnuradio.aperture.files.growing_file import check_path, file_name
from gnuradio.aperture.parameters.errors import ParameterError, refuse
from gnuradio.aperture.parameters.yaml_reader import YamlReader


class FieldError(ParameterError):
    """An error of a format of this test's own."""


class qa_parameters(gr_unittest.TestCase):
    def raised_by(self, function, *arguments):
        with self.assertRaises(ParameterError) as caught:
            function(*arguments)
        return caught.exception

    def test_refuse(self):
        error = self.raised_by(refuse, "channels", -3, "above 0")
        self.assertIs(type(error), ParameterError)
        self.assertIsInstance(error, ValueError)
        self.assertEqual(str(error), "channels: -3 is not allowed; it must be above 0")
        self.assertEqual((error.field, error.where), ("channels", None))
        error = self.raised_by(refuse, "names", "x" * 1000, "short", FieldError)
        self.assertIs(type(error), FieldError)
        self.assertLess(len(str(error)), 140)

    def test_kinds(self):
        """Only what is wrong in a description is an ArrayDescriptionError."""
        for function, *arguments in ((file_name, 3), (check_path, "/tmp/", False),
                                     (aperture.load_array, 3), (aperture.load_beams, "", "y8"),
                                     (aperture.load_beams, "grid:az=1,wrong=2", "y8")):
            self.assertIs(type(self.raised_by(function, *arguments)), ParameterError)
        self.assertIs(type(self.raised_by(Antenna, "A", 3)), aperture.ArrayDescriptionError)

    def test_yaml_reader(self):
        """Its own errors, and those of fields, are of its class and have the line."""
        for text, line in (("a: [", 1), ("a: 1\nb: 2\na: 3", 3), ("a: 1\n<<: 2", 2)):
            error = self.raised_by(YamlReader("F", FieldError).tree, io.StringIO(text))
            self.assertIs(type(error), FieldError)
            self.assertEqual(error.where, f"F:{line}")
        reader = YamlReader("F", FieldError)
        reader.tree(io.StringIO("a: 1\nb:\n  - c: 5"))
        error = self.raised_by(reader.with_line, refuse, "b[0].c", 5, "less", FieldError)
        self.assertEqual(str(error), "F:3: b[0].c: 5 is not allowed; it must be less")


if __name__ == "__main__":
    gr_unittest.run(qa_parameters)
