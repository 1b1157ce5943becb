#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Errors of wrong parameters, of fields in YAML, and where input files are looked for."""

import io
import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.arrays.array_model import Antenna
from gnuradio.aperture.calibration.sources import sky_model
from gnuradio.aperture.files.growing_file import check_path, file_name
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.parameters import input_files, rules
from gnuradio.aperture.parameters.description import Integer, Number
from gnuradio.aperture.parameters.errors import ParameterError
from gnuradio.aperture.parameters.yaml_reader import YamlReader
from gnuradio.aperture.streams.python_block import text_of
from gnuradio.aperture.transients.par_file import read_par


class FieldError(ParameterError):
    """An error of a format of this test's own."""


#: the readers of input files by name, and the name that each is tried with
READERS = {
    "array.yml": aperture.load_array,
    "beams.yml": lambda name: aperture.load_beams(name, "y8"),
    "model.yml": sky_model,
    "timing.par": read_par,
    "calibration.yml": aperture.load_calibration,
    "calibration.calh5": aperture.load_calibration,
    "a.uvh5": VisibilityFile,
    "a.fil": FilterbankFile,
    "a.dada": lambda name: open_input(f"dada:{name}"),
    "b.dada": lambda name: aperture.dada_source(filename=name),
    "c.dada": aperture.dada_source,
    "a.vdif": lambda name: open_input(f"vdif:{name}"),
    "a.raw": lambda name: open_input(f"guppi:{name}"),
    "a.sigmf-meta": lambda name: open_input(f"sigmf:{name}"),
    "a.pcap": lambda name: open_input(f"pcap:{name},samples=8,rate=1e6,freq=1e9,time=0"),
    "b.pcap": lambda name: aperture.packet_source(files=[name]),
}


class qa_parameters(gr_unittest.TestCase):
    def raised_by(self, function, *arguments):
        with self.assertRaises(ParameterError) as caught:
            function(*arguments)
        return caught.exception

    def test_descriptions(self):
        """A described parameter says its rule, and refuses what that does not allow."""
        for about, rule, allowed, refused in (
            (Integer("", 4, 64, even=True), "4 to 64", (4, 64), (3, 5, 66)),
            (Integer("", choices=(8, 32)), "8 or 32", (8, 32), (16,)),
            (Number("", 0, 10, open=True, unit="s"), "above 0 and at most 10 s", (1, 10), (0, 11)),
        ):
            self.assertEqual(about.rule, rule)
            for value in allowed:
                about.check(value)
            for value in refused:
                with self.assertRaises(ParameterError):
                    about.check(value)

    def test_readers(self):
        """Texts of seconds and devices."""
        seconds, endless = rules.seconds_reader(False, 1e9), rules.seconds_reader(True)
        self.assertEqual((seconds("1e9"), endless("inf"), endless("0.5")), (1e9, float("inf"), 0.5))
        for read, text, expected in (
            (seconds, "inf", "a number of seconds above 0, up to 1e9"),
            (seconds, "nan", "a number of seconds above 0, up to 1e9"),
            (endless, "0", "a number of seconds above 0 or inf"),
            (rules.seconds_reader(True, 10), "11", "a number of seconds above 0, up to 10, or inf"),
            (rules.device_name, "cuda:x", "auto, cpu, cuda or cuda:N"),
        ):
            with self.assertRaisesRegex(ValueError, f"^expected {expected}$"):
                read(text)
        self.assertEqual(rules.device_name("cuda:12"), "cuda:12")

    def test_rules(self):
        """Each rule returns what it allows, and names the rest with what is allowed."""
        self.assertEqual(rules.as_number("lead", np.float32(2), 0, 5), 2.0)
        self.assertIs(type(rules.as_whole("inputs", np.int16(3), 1)), int)
        self.assertEqual(rules.whole_numbers("channels", None, 3), [0, 1, 2])
        self.assertEqual(rules.item_bytes("channels", 8, channels=3, products=10), 240)
        self.assertEqual(rules.numbers_reader(9, "+")("0+2+4-6"), [0, 2, 4, 5, 6])
        for rule, text in (
            (
                lambda: rules.as_number("lead", True, 0, 1e6, "seconds"),
                "lead: True is not allowed; it must be a number from 0 to 1e6 seconds",
            ),
            (
                lambda: rules.as_number("rate", 0, 0, unit="Hz", above=True),
                "rate: 0 is not allowed; it must be a number above 0 Hz",
            ),
            (
                lambda: rules.as_number("size", float("inf"), 1e-5, unit="bytes"),
                "size: inf is not allowed; it must be a number of 1e-5 bytes or more",
            ),
            (
                lambda: rules.as_whole("inputs", 2.0, 1, 64),
                "inputs: 2.0 is not allowed; it must be a whole number from 1 to 64",
            ),
            (
                lambda: rules.one_of("nbits", 16, (8, 32)),
                "nbits: 16 is not allowed; it must be 8, 32",
            ),
            (
                lambda: rules.whole_numbers("channels", [1, 1], 3),
                "channels: [1, 1] is not allowed; it must be each of them once",
            ),
            (
                lambda: rules.item_bytes("channels", 8, channels=2**28, products=1),
                "channels: an item would be 268435456 channels x 1 products x 8 bytes = "
                "2147483648 bytes: at most 2147483647 are allowed, that is 268435455 channels of "
                "this size",
            ),
            (
                lambda: rules.item_bytes("beams", 8, channels=2**28, products=1),
                "beams: an item would be 268435456 channels x 1 products x 8 bytes = "
                "2147483648 bytes: at most 2147483647 are allowed",
            ),
        ):
            with self.assertRaises(ParameterError) as caught:
                rule()
            self.assertEqual(str(caught.exception), text)

    def test_refuse(self):
        error = self.raised_by(rules.refuse, "channels", -3, "above 0")
        self.assertIs(type(error), ParameterError)
        self.assertIsInstance(error, ValueError)
        self.assertEqual(str(error), "channels: -3 is not allowed; it must be above 0")
        self.assertEqual((error.field, error.where), ("channels", None))
        error = self.raised_by(rules.refuse, "names", "x" * 1000, "short", FieldError)
        self.assertIs(type(error), FieldError)
        self.assertLess(len(str(error)), 140)

    def test_kinds(self):
        """Only what is wrong in a description is an ArrayDescriptionError."""
        for function, *arguments in (
            (file_name, 3),
            (check_path, "/tmp/", False),
            (aperture.load_array, 3),
            (aperture.load_beams, "", "y8"),
            (aperture.load_beams, "grid:az=1,wrong=2", "y8"),
        ):
            self.assertIs(type(self.raised_by(function, *arguments)), ParameterError)
        self.assertIs(type(self.raised_by(Antenna, "A", 3)), aperture.ArrayDescriptionError)

    def test_yaml_reader(self):
        """Errors of the reader, and of fields, are of its class and have the line."""
        for text, line in (("a: [", 1), ("a: 1\nb: 2\na: 3", 3), ("a: 1\n<<: 2", 2)):
            error = self.raised_by(YamlReader("F", FieldError).tree, io.StringIO(text))
            self.assertIs(type(error), FieldError)
            self.assertEqual(error.where, f"F:{line}")
        reader = YamlReader("F", FieldError)
        reader.tree(io.StringIO("a: 1\nb:\n  - c: 5"))
        error = self.raised_by(reader.with_line, rules.refuse, "b[0].c", 5, "less", FieldError)
        self.assertEqual(str(error), "F:3: b[0].c: 5 is not allowed; it must be less")

    def started(self, working, script):
        """Names are looked for as in a script of this name that was started in a folder."""
        before = os.getcwd()
        os.chdir(working)
        self.addCleanup(os.chdir, before)
        patch = mock.patch.object(sys.modules["__main__"], "__file__", str(script))
        patch.start()
        self.addCleanup(patch.stop)

    def folders(self):
        """Two empty ones, the second for a script."""
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        folders = [Path(made.name) / name for name in ("working", "script")]
        for folder in folders:
            folder.mkdir()
        return folders

    def test_input_files(self):
        """A name is that of a file in the working folder, or else of one beside the script; where
        both are there and differ, a warning says which one it is."""
        working, script = self.folders()
        self.started(working, script / "flowgraph.py")
        find = input_files.find_file
        with mock.patch.object(input_files, "_warn") as warned:
            with self.assertRaisesRegex(FileNotFoundError, f"in {working}, .*or in {script}, "):
                find("a")
            (script / "a").write_text("one")
            self.assertEqual(find("a"), str(script / "a"))
            self.assertEqual(find(b"a"), os.fsencode(script / "a"))
            self.assertEqual(find(Path("a")), str(script / "a"))
            (working / "a").write_text("one")
            self.assertEqual(find("a"), "a")
            warned.assert_not_called()
            (working / "a").write_text("two")
            self.assertEqual(find("a"), "a")
            warned.assert_called_once_with(str(working / "a"), str(script / "a"))
            # a complete path is taken as it is, and a command that is no script has no files
            self.assertEqual(find(f"{script}/none"), f"{script}/none")
            self.started(working, script / "aperture_fx")
            self.assertEqual(find("b"), "b")

    def test_input_files_of_examples(self):
        """GNU Radio Companion starts installed examples in the folder of temporary files: what they
        read is found beside their .grc, and nothing of it by flowgraphs elsewhere."""
        working, prefix = self.folders()
        lab = prefix / "share/gnuradio/examples/gr-aperture/lab"
        lab.mkdir(parents=True)
        (lab / "sun.yml").write_text("one")
        package = prefix / "lib/python3/dist-packages/gnuradio/aperture/parameters/input_files.py"
        folders = input_files._example_folders(package)
        self.assertEqual(folders, [str(lab), str(lab.parent)])
        self.assertEqual(input_files._example_folders(working / "input_files.py"), [])
        self.started(working, working / "flowgraph.py")
        find = input_files.find_file
        with mock.patch.object(input_files, "_example_folders", lambda: folders):
            with self.assertRaisesRegex(FileNotFoundError, f" in {working}: "):
                find("sun.yml")
            with mock.patch.object(tempfile, "tempdir", str(working)):
                self.assertEqual(find("sun.yml"), str(lab / "sun.yml"))
                self.assertEqual(find(b"sun.yml"), os.fsencode(lab / "sun.yml"))
                with self.assertRaisesRegex(FileNotFoundError, "beside the installed examples"):
                    find("moon.yml")
                (working / "sun.yml").write_text("two")
                self.assertEqual(find("sun.yml"), "sun.yml")

    def test_readers_of_input_files(self):
        """All of them find what is beside the flowgraph, and nothing is looked for elsewhere."""
        working, script = self.folders()
        self.started(working, script / "flowgraph.py")
        for name, reader in READERS.items():
            for there in (False, True):
                if there:
                    # none of the readers can use this file
                    (script / name).write_text("?")
                with self.subTest(name=name, there=there):
                    with self.assertRaises((ValueError, OSError, RuntimeError)) as caught:
                        reader(name)
                    said = text_of(caught.exception)
                    self.assertEqual(
                        "o such file" not in said and "neither a file" not in said, there, said
                    )


if __name__ == "__main__":
    gr_unittest.run(qa_parameters)
