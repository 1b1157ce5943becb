#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The text of an input, how it is read, and which kinds there are."""

import importlib.util
import inspect
from unittest import mock

from gnuradio import gr_unittest

from gnuradio.aperture.inputs import input_format, registry
from gnuradio.aperture.inputs.input_format import InputError, InputFormat, Option, one_of, split_at
from gnuradio.aperture.packages import environment
from gnuradio.aperture.parameters.rules import number_reader, whole_reader
from gnuradio.aperture.parameters.times import read_time, whole_and_fraction


class Made(InputFormat):
    kind = "made"
    summary = "made for a test"
    names = "FILE[,FILE...]"
    options = {
        "rate": Option(number_reader(0, 1e12, "Hz", above=True), "samples a second", "HZ"),
        "type": Option(one_of("u8", "s8"), "of the samples", "TYPE"),
        "skip": Option(
            whole_reader(0, 1 << 40), "bytes of a header that is not read, of every file", "BYTES"
        ),
    }

    def open(self, request):
        return request


class qa_inputs(gr_unittest.TestCase):
    def check(self, text, problem, format=Made()):
        with self.assertRaises(InputError) as caught:
            format.parse(text)
        self.assertEqual(str(caught.exception), f"input made:{text}: {problem}")

    def test_texts(self):
        request = Made().parse("a.bin,rate=2.4e6,/b/c=d.bin,type=u8")
        self.assertEqual(request.names, ("a.bin", "/b/c=d.bin"))
        self.assertEqual(request.values, {"rate": 2.4e6, "type": "u8"})
        self.assertEqual(request.text, "made:a.bin,rate=2.4e6,/b/c=d.bin,type=u8")
        self.assertEqual(Made().parse("a\\,b.bin,c\\d.bin").names, ("a,b.bin", "c\\d.bin"))
        self.assertEqual(split_at("a;b\\;c", ";"), ["a", "b;c"])

    def test_what_is_wrong_in_a_text(self):
        for text, problem in (
            ("", "expected made:FILE[,FILE...]"),
            ("rate=1", "expected made:FILE[,FILE...]"),
            (
                "a,,b",
                "there is nothing between two commas, or at an end; expected made:FILE[,FILE...]",
            ),
            ("a,rate=1,rate=2", "rate is given twice"),
            ("a,rate=0", "rate=0: expected a number above 0, up to 1e12 Hz"),
            ("a,rate=nan", "rate=nan: expected a number above 0, up to 1e12 Hz"),
            ("a,type=u16", "type=u16: expected u8 or s8"),
            ("a,skip=1.5", "skip=1.5: expected a whole number from 0 to 1099511627776"),
        ):
            with self.subTest(text=text):
                self.check(text, problem)

    def test_times(self):
        for text, time in (
            ("2024-06-21T11:00:00", (1718967600, 0.0)),
            ("2024-06-21 11:00:00.25Z", (1718967600, 0.25)),
            ("2024-06-21", (1718928000, 0.0)),
        ):
            self.assertEqual(whole_and_fraction(read_time(text)), time)
        for text in ("", "now", "2024-06-21T25:00", "1969-12-31", "2024-06-21T11:00:00+2:00"):
            with self.assertRaisesRegex(ValueError, "expected UTC as 2024"):
                read_time(text)

    def test_kinds(self):
        """Every module of `kinds` has one kind, and says what it is in one line."""
        kinds = registry.kinds()
        self.assertTrue({"sim", "dada"} <= set(kinds))
        for kind, entry in kinds.items():
            self.assertEqual(entry.kind, kind)
            self.assertRegex(entry.summary, r"^[^\n]{10,80}$")
            self.assertIn(f"  {kind}:{entry.names}", registry.kinds_text())
            self.assertEqual(inspect.getmodule(type(entry)).__name__.split(".")[-1], kind)
            text = registry.options_text(kind)
            for key, option in entry.options.items():
                self.assertIn(f"  {key}={option.shown} ", text)
                self.assertTrue(option.help)
        with self.assertRaisesRegex(
            InputError,
            r"^input wav:x: expected KIND:NAME, where KIND is "
            "dada, .*sim",
        ):
            registry.find_kind("wav:x")
        for text, meant in (
            ("s.dada", "dada:s.dada"),
            ("y8", "sim:y8"),
            ("a/b.yml", "sim:a/b.yml"),
            ("a.cu8,b.cu8,rate=2.4e6", "raw:a.cu8,b.cu8,rate=2.4e6"),
        ):
            with self.assertRaisesRegex(InputError, f"; {meant} may be meant$"):
                registry.find_kind(text)

    def test_table_of_options(self):
        with mock.patch.object(registry, "kinds", lambda: {"made": Made()}):
            self.assertEqual(
                registry.options_text("made"),
                (
                    "made:FILE[,FILE...][,key=value...]\n"
                    "  made for a test\n"
                    "  rate=HZ     samples a second\n"
                    "  type=TYPE   of the samples\n"
                    "  skip=BYTES  bytes of a header that is not read, of every file"
                ),
            )

    def test_what_goes_beside_a_text(self):
        with self.assertRaisesRegex(InputError, "^seed 3: only simulations have one"):
            registry.open_input("dada:x", seed=3)
        with self.assertRaisesRegex(InputError, "^array y8: a simulation has its array in its"):
            registry.open_input("sim:y8", array="y8")
        self.assertEqual(input_format.Request("a:b", ()).seed, None)

    def test_missing_packages(self):
        """A kind whose packages are missing names the command that installs them."""
        needy = Made()
        needy.packages = "imaging"
        with (
            mock.patch.object(registry, "kinds", lambda: {"made": needy}),
            mock.patch("importlib.util.find_spec", return_value=None),
            self.assertRaisesRegex(environment.PackageError, "this needs ducc0 .* installs"),
        ):
            registry.open_input("made:x")

    def test_one_of_the_packages(self):
        """A kind that needs some of a group's packages opens without the others."""
        there = importlib.util.find_spec("json")
        lacks = lambda name: None if name == "sigmf" else there
        with (
            mock.patch("importlib.util.find_spec", lacks),
            mock.patch.object(environment, "make_importable"),
        ):
            with self.assertRaisesRegex(FileNotFoundError, "none.m5b"):
                registry.open_input("mark5b:none.m5b,nchan=8,date=2014")
            with self.assertRaisesRegex(environment.PackageError, "needs sigmf from"):
                registry.open_input("sigmf:none.sigmf-meta")


if __name__ == "__main__":
    gr_unittest.run(qa_inputs)
