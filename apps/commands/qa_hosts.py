#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Hosts in a plan, and what each of them takes of it."""

import contextlib
import io
import os
import tempfile

from gnuradio import gr_unittest

from gnuradio.aperture.commands.fx import parser
from gnuradio.aperture.parameters.errors import ParameterError
from gnuradio.aperture.plan.texts import Part

PLAN = """
input: {source: "sim:y8"}
network: {spectra_per_heap: 32}
hosts:
  b: {role: x, channels: 1/2, address: "10.0.0.4:7148", output: b.uvh5}
  f0: {role: f, inputs: 0/2}
  f1: {role: f, inputs: 1/2, device: cpu, input: "sim:y16"}
  a: {role: x, channels: 0/2, address: "10.0.0.3:7148", output: a.uvh5}
"""


class qa_hosts(gr_unittest.TestCase):
    def options(self, host, plan=PLAN, *more):
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(plan)
            file.flush()
            found = parser().parse_args(["--plan", file.name, "--host", host, *more])
        return found.plan.of_host(host)

    def test_taken(self):
        """Each host finds its part; F-engines send to X-engines in the order of the channels."""
        f1, a = self.options("f1"), self.options("a")
        self.assertEqual(
            (
                f1.network.role,
                f1.network.inputs,
                f1.device.name,
                f1.input.source,
                f1.network.to,
                f1.network.spectra_per_heap,
            ),
            ("f", Part(1, 2), "cpu", "sim:y16", "10.0.0.3:7148,10.0.0.4:7148", 32),
        )
        self.assertEqual(
            (
                a.network.role,
                a.network.channels,
                a.network.listen,
                a.outputs.file,
                a.device.name,
                a.input.source,
            ),
            ("x", Part(0, 2), "10.0.0.3:7148", "a.uvh5", "auto", "sim:y8"),
        )
        f1.check()
        a.check()
        self.assertEqual(Part(1, 2).range_of("--inputs-of", 16, 2), (8, 8))

    def test_written(self):
        """A plan that was written says the same."""
        with tempfile.TemporaryDirectory() as folder:
            plan, again = os.path.join(folder, "a.yml"), os.path.join(folder, "b.yml")
            with open(plan, "w") as file:
                file.write(PLAN)
            first = parser()
            first.write_plan(
                first.parse_args(["--plan", plan, "--host", "a", "--write-plan", again])
            )
            with open(again) as file:
                text = file.read()
        self.assertEqual(self.options("a", text).hosts, self.options("a").hosts)
        self.assertIn("hosts:\n", text)

    def test_refused(self):
        """Errors name the host, the key, its value and what is allowed."""
        for plan, text in (
            (PLAN.replace("channels: 1/2", "channels: 0/2"), "hosts.a.channels: 0/2 does not"),
            (PLAN.replace('address: "10.0.0.4:7148", ', ""), "hosts.b: has no address"),
            (
                PLAN.replace("channels: 1/2", "channels: 1/3").replace(
                    "channels: 0/2", "channels: 0/3"
                ),
                "hosts: 2 of 3 parts",
            ),
        ):
            with self.assertRaises(ParameterError) as caught:
                self.options("f0", plan)
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(ParameterError, "--host c: the plan has b, f0, f1, a"):
            self.options("c")
        for before, after, text in (
            ("inputs: 0/2", "input_s: 0/2", ":6: hosts.f0.input_s: not known"),
            ("1/2, address", "2/2, address", ":5: hosts.b.channels: 2/2: expected"),
            ("role: f, inputs: 0/2", "role: g", ":6: hosts.f0.role: 'g' is not allowed"),
        ):
            said = io.StringIO()
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(said):
                self.options("a", PLAN.replace(before, after))
            self.assertIn(text, said.getvalue())
        for more, text in (
            (["--format", "fc32"], "--format fc32"),
            (["--flag"], "--flag"),
            (["--voltages", "v.raw"], "--voltages"),
            (["--devices", "cuda:0,cuda:1"], "cuda:1: not with hosts.a.role x: "),
        ):
            with self.assertRaisesRegex(ParameterError, text):
                self.options("a", PLAN, *more).check()
        for arguments, text in (
            (["--to", "10.0.0.1:7148"], "--to"),
            (["--role", "f"], "needs --to"),
            (["--role", "x"], "--listen"),
        ):
            with self.assertRaisesRegex(ParameterError, text):
                parser().parse_args(["--input", "sim:y8", "-o", "x.uvh5", *arguments]).plan.check()
        with self.assertRaisesRegex(ValueError, "8 cannot be divided into 3"):
            Part(0, 3).range_of("--inputs-of", 8)


if __name__ == "__main__":
    gr_unittest.run(qa_hosts)
