#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""--voltages of aperture_fx and aperture_beams: what is written beside a file is what it was made
of."""

import json
import os

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays.array_description import load_array
from gnuradio.aperture.builder.voltages import pairs_of
from gnuradio.aperture.commands import beams_command, fx
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.plan.texts import numbers_of
from gnuradio.aperture.testing.observations import Observations, array_of, run, words
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.testing.voltage_files import read_guppi, read_sigmf


class qa_voltages(Observations, gr_unittest.TestCase):
    def run_command(self, command, *arguments):
        code, out, err = run(command, *arguments, "--device", DEVICE)
        self.assertEqual(code, 0, err)
        return out

    def test_fx(self):
        """The visibilities are the products of the voltages in the files, exactly."""
        out = self.run_command(
            fx,
            *words(
                f"--input {self.array(letters='xy')} --channels 32 --duration 0.1 "
                f"--integration 0.1 -o {self.path('v.uvh5')} --voltages"
            ),
            self.path("v-{input}.raw"),
        )
        self.assertRegex(out, r"voltages +\S*v-A0.0000.raw .* 10 files")
        voltages = {}
        for number in range(10):
            blocks = [block for _, block in read_guppi(self.path(f"v-A{number}.0000.raw"))]
            data = np.concatenate(blocks, axis=1).astype(float)
            # [channel][time][polarisation]
            voltages[f"A{number}"] = data[..., 0] + 1j * data[..., 1]
        with h5py.File(self.path("v.uvh5")) as file:
            header = file["Header"]
            names = [name.decode() for name in header["antenna_names"]]
            codes = list(header["polarization_array"])
            for row in range(len(header["ant_1_array"])):
                one, two = (voltages[names[header[f"ant_{i}_array"][row]]] for i in (1, 2))
                for code, p, q in ((-5, 0, 0), (-6, 1, 1), (-7, 0, 1)):
                    expected = (one[:, :, p].conj() * two[:, :, q]).sum(axis=1)
                    found = file["Data/visdata"][row, :, codes.index(code)]
                    # mean over the spectra, in single precision
                    np.testing.assert_allclose(found * one.shape[1], expected, rtol=1e-6, atol=1)

    def test_fx_sigmf(self):
        self.run_command(
            fx,
            *words(
                f"--input {self.array()} --channels 32 --duration 0.05 --format fc32 -o "
                f"{self.path('v.uvh5')} --voltages"
            ),
            self.path("v-{channel}.sigmf-meta"),
            "--voltage-channels",
            "3,16",
        )
        for channel, frequency in ((3, 1.5e8 - 13 * 31250), (16, 1.5e8)):
            meta, data = read_sigmf(self.path(f"v-{channel:02d}.sigmf-meta"))
            self.assertEqual(meta["global"]["aperture:names"], [f"A{i}x" for i in range(10)])
            self.assertEqual(meta["captures"][0]["core:frequency"], frequency)
            power = np.mean(np.abs(data) ** 2, axis=0)
            with h5py.File(self.path("v.uvh5")) as file:
                autos = np.flatnonzero(
                    file["Header/ant_1_array"][()] == file["Header/ant_2_array"][()]
                )
                np.testing.assert_allclose(
                    file["Data/visdata"][()].real[autos, channel, 0], power, rtol=1e-5
                )

    def test_beams(self):
        """The powers are those of the voltages."""
        for format, name, tolerance in (
            ("fc32", "v-{beam}-{channel}.sigmf-meta", 1e-5),
            # rounding to 8 bits adds 1/6 to a power of some 800
            ("sc8", "v-{beam}.raw", 0.03),
        ):
            out = self.run_command(
                beams_command,
                *words(
                    f"--input {self.array()} --channels 32 --duration 0.05 --beams "
                    f"grid:az=170,el=55,columns=2,spacing=5,name=b --incoherent --format {format} "
                    "--products power --integration 0.005 -o"
                ),
                self.path("b-{beam}.fil"),
                *words(f"--voltages {self.path(name)} --voltage-channels 4-6"),
            )
            self.assertIn("voltages", out)
            for beam in range(2):
                powers = FilterbankFile(self.path(f"b-b_{beam}.fil")).read()[:, 0, 4]
                if format == "sc8":
                    data = np.concatenate(
                        [block for _, block in read_guppi(self.path(f"v-b_{beam}.0000.raw"))],
                        axis=1,
                    )[0, :, 0].astype(float)
                    square = (data**2).sum(axis=-1)
                else:
                    _, data = read_sigmf(self.path(f"v-b_{beam}-04.sigmf-meta"))
                    square = np.abs(data[:, 0]) ** 2
                each = round(0.005 * 31250)
                expected = square[: len(powers) * each].reshape(-1, each).mean(axis=1)
                np.testing.assert_allclose(powers, expected, rtol=tolerance)

    def test_pairs(self):
        both = array_of("xy")
        self.assertEqual(pairs_of(both), (2, list(range(20)), [f"A{i}" for i in range(10)]))
        both.inputs[:2] = both.inputs[1::-1]
        self.assertEqual(pairs_of(both)[1][:4], [1, 0, 2, 3])
        self.assertEqual(pairs_of(load_array("two-dish"))[0], 1)
        self.assertEqual(numbers_of("3, 7,500-503"), [3, 7, 500, 501, 502, 503])

    def test_refused(self):
        source = self.array()
        for command, arguments, text in (
            (fx, ["--voltages", "v.dat"], "--voltages v.dat: expected .*sigmf-meta or .raw"),
            (fx, ["--voltages", "v-{beam}.raw"], r"\{beam\} is not known"),
            (fx, ["--voltages", "v.raw"], r"--voltages: .*\{input\} in it"),
            (
                fx,
                ["--voltages", "v-{input}.raw", "--format", "fc32"],
                "--format with --voltages: .* 8 bits",
            ),
            (
                fx,
                ["--voltages", "v-{input}.raw", "--voltage-channels", "30-32"],
                "--voltage-channels: 32 is not allowed",
            ),
            (
                fx,
                ["--voltages", "v-{input}.raw", "--voltage-channels", "9-3"],
                "9-3: expected whole numbers from 0 to 65536",
            ),
            (beams_command, ["--voltages", "v.raw", "--normalise", "signal"], "need noise"),
            (beams_command, ["--voltages", os.path.join("none", "v.raw")], "no folder"),
        ):
            more = ["--beams", "grid:az=170,el=55"] if command is beams_command else []
            code, _, err = run(
                command,
                *words(
                    f"--input {source} --channels 32 --duration 0.05 -o "
                    f"{self.path('x.fil' if more else 'x.uvh5')}"
                ),
                *more,
                *arguments,
                "--device",
                DEVICE,
            )
            self.assertIn(code, (1, 2))
            self.assertRegex(err, text)
        self.assertFalse(os.path.exists(self.path("x.uvh5")))

    def test_plan(self):
        plan = self.path("plan.yml")
        with open(plan, "w", encoding="utf-8") as file:
            file.write(
                f"voltages: {{file: {json.dumps(self.path('v-{channel}.sigmf-meta'))}, "
                'channels: "7-8"}\n'
            )
        self.run_command(
            fx,
            *words(
                f"--plan {plan} --input {self.array()} --channels 32 --duration 0.02 -o "
                f"{self.path('v.uvh5')}"
            ),
        )
        self.assertEqual(
            sorted(name for name in os.listdir(self.folder) if "sigmf" in name),
            [f"v-{i:02d}.sigmf-{kind}" for i in (7, 8) for kind in ("data", "meta")],
        )


if __name__ == "__main__":
    gr_unittest.run(qa_voltages)
