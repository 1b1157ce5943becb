#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The command aperture_beams."""

import os
from dataclasses import replace
from unittest import mock

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import pointing
from gnuradio.aperture.array_source import DEFAULT_START_TIME
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input, Source, save_array
from gnuradio.aperture.builder import beams as beams_part
from gnuradio.aperture.commands import beams_command
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.formats.power_files import PowerRecording
from gnuradio.aperture.testing.observations import Observations, array_of, run, words
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.testing.recordings import noise, write_dada
from gnuradio.aperture.testing.tiers import long_test


class qa_beams_command(Observations, gr_unittest.TestCase):
    def test_a_beam_on_a_source(self):
        # the noise of ten inputs adds up in power, a source in voltage; 6400 values of mean 1
        for format, normalise, gains, expected in (
            ("fc32", "signal", True, 2 + 1 / 10),
            ("fc32", "noise", False, 2 * 10 + 1),
            # an rms of 20 steps in both parts is the noise and the source of an input
            ("sc8", "noise", True, (2 * 10 + 1) * 800 / 3),
        ):
            out = self.observe(
                *words(f"--beams grid:az=170,el=55 --format {format} --normalise {normalise}"),
                source=self.array(gains=gains),
            )
            file = FilterbankFile(self.path("out.fil"))
            self.assertAlmostEqual(file.read()[:, 0, 1:].mean() / expected, 1, delta=0.08)
            self.assertIn("beams         1, 0 of which follow the sky", out)
            self.assertIn("real time", out)
            # 0.2 s in integrations of 31 spectra, 0.992 ms
            self.assertEqual(file.samples, 202)

    def test_products(self):
        source = self.array(letters="xy", gains=False)
        grid = "grid:az=170,el=55,columns=3,spacing=2,name=b"
        for products, ifs in ((None, 1), ("IQUV", 4), ("coherency", 4)):
            self.observe(
                "--beams",
                grid,
                *(["--products", products] if products else []),
                "--format",
                "fc32",
                source=source,
                output="b-{beam}.fil",
            )
            powers = [
                FilterbankFile(self.path(f"b-b_{i}.fil")).read()[..., 1:].mean(axis=(0, 2))
                for i in range(3)
            ]
            self.assertEqual({len(power) for power in powers}, {ifs})
            # the source is unpolarised: 2 x (20 + 1) in I, half of it in XX and YY
            expected = {1: [42], 4: [42, 0, 0, 0] if products == "IQUV" else [21, 21, 0, 0]}[ifs]
            np.testing.assert_allclose(powers[1], expected, atol=1.5)
            self.assertLess(powers[0][0], 30)
        self.observe("--beams", grid, "--products", "power", source=source, output="p-{beam}.fil")
        self.assertTrue(os.path.exists(self.path("p-b_0_y.fil")))

    def test_search_mode(self):
        """The same powers as in filterbank files come into PSRFITS, within half a step of a row."""
        grid = ["--beams", "grid:az=170,el=55,columns=2,spacing=2,name=b", "--products", "IQUV"]
        found = {}
        for name, more in (("b.fil", []), ("{beam}.sf", []), ("h-{beam}.sf", ["--nbits", "32"])):
            source = self.array(letters="xy", gains=False)
            out = self.observe(*grid, *more, "--format", "fc32", source=source, output=name)
            self.assertIn("beams         2", out)
            names = [name.replace("{beam}", f"b_{i}") for i in range(2)]
            recording = PowerRecording([self.path(each) for each in dict.fromkeys(names)], "all")
            found[name] = np.empty((recording.samples, *recording.shape), np.float32)
            recording.read_into(0, found[name])
            self.assertEqual(recording.warnings, [])
            found[name, "begin"] = sum(recording.begin)
        right, eight, floats = (found[name] for name in ("b.fil", "{beam}.sf", "h-{beam}.sf"))
        np.testing.assert_array_equal(floats, right)
        self.assertEqual(eight.shape, right.shape)
        self.assertAlmostEqual(found["b.fil", "begin"], found["{beam}.sf", "begin"], delta=1e-6)
        # steps are 1/255 of what a row of 202 samples spans
        span = np.ptp(right, axis=0)
        self.assertLess((np.abs(eight - right) / span).max(), 0.501 / 255)
        self.assertGreater((np.abs(eight - right) / span).max(), 0.45 / 255)

    def test_beams_from_a_file_that_move_and_stand(self):
        with open(self.path("beams.yaml"), "w") as file:
            file.write(
                "beams:\n  - {name: moves, ra: 10, dec: 60}\n"
                "  - {name: stays, azimuth: 170, elevation: 55}\n"
            )
        out = self.observe(
            *words(
                f"--beams {self.path('beams.yaml')} --nbits 8 --sum-channels 4 --phase-error 0.001"
            )
        )
        self.assertIn("beams         2, 1 of which follow the sky", out)
        self.assertIn("ra 10.0000° dec +60.0000°, follows", out)
        file = FilterbankFile(self.path("out.fil"))
        self.assertEqual((len(file.frequencies), file.header["nbits"], file.ifs), (8, 8, 2))

    @long_test
    def test_slow_streams_keep_the_phase_error(self):
        """
        Frames of 8 MB would last 2.6 s here, and weights hold for 32 ms at least: the power, a
        source of flux 5 and the noise of one of eight inputs, would be far too low.
        """
        array = array_of()
        array.antennas = [Antenna(f"A{i}", (100.0 * i * i, 150.0 * i, 0.0)) for i in range(8)]
        array.inputs = [Input(f"A{i}", "x") for i in range(8)]
        array.sample_rate = 5e4
        ra, dec = geometry.azel_to_radec(170.0, 55.0, DEFAULT_START_TIME, 52.0, 5.0, 10.0)
        array.sources = [Source("s", ra=float(ra), dec=float(dec), flux=5.0)]
        save_array(array, self.path("slow.yaml"))
        arguments = [
            *words(
                f"--input sim:{self.path('slow.yaml')} --channels 16 --format fc32 --normalise "
                f"signal --duration 4 --device {DEVICE} -o {self.path('out.fil')} --beams "
                f"grid:ra={ra},dec={dec} --integration 0.01"
            )
        ]
        code, out, err = run(beams_command, *arguments)
        self.assertEqual((code, err), (0, ""))
        # 2e5 values: four deviations, and a loss of 0.03%
        power = FilterbankFile(self.path("out.fil")).read()[..., 1:].mean()
        self.assertAlmostEqual(power / (5 + 1 / 8), 1, delta=0.01)
        self.assertRegex(out, r"sent \d+ times, phases wrong by (1|0\.\d+)° at most")
        # a limit that cannot be kept is reported; the integration has 28 spectra, and a frame 7
        arguments += ["--phase-error", 0.001, "--duration", 1, "--integration", 0.00896]
        code, out, err = run(beams_command, *arguments)
        self.assertEqual(code, 0)
        self.assertRegex(
            err,
            "warning: --phase-error 0.001: weights hold for .*, frames last .*: "
            "phases are wrong by up to 0.0[0-9]*°\n",
        )

    def test_sub_arrays_and_incoherent_beams_beside_the_others(self):
        """One flowgraph: a beam that tracks, one that stands still, sub-arrays, sums of powers."""
        ra, dec = geometry.azel_to_radec(170.0, 55.0, DEFAULT_START_TIME, 52.0, 5.0, 10.0)
        with open(self.path("beams.yaml"), "w") as file:
            file.write(f"""beams:
  - {{name: field, incoherent: true}}
  - {{name: tracks, ra: {float(ra)}, dec: {float(dec)}}}
  - {{name: some, incoherent: true, antennas: [A1, A8, A5]}}
  - {{name: stays, azimuth: 170, elevation: 55}}
  - {{name: four, azimuth: 170, elevation: 55, antennas: [A0, A3, A5, A9]}}
""")
        # beams of n antennas, normalised to the noise of one: 2 n + 1; sums of n powers: 3 n
        expected = {"tracks": 21, "stays": 21, "four": 9, "field": 30, "some": 9, "incoherent": 3}
        for letters, products in (("x", "power"), ("xy", "IQUV"), ("xy", "coherency")):
            out = self.observe(
                *words(
                    f"--beams {self.path('beams.yaml')} --format fc32 --products {products} "
                    "--incoherent A2"
                ),
                source=self.array(letters=letters, gains=False),
                output=products + "-{beam}.fil",
            )
            self.assertIn("6, 1 of which follow the sky, 3 incoherent", out)
            for name, level in expected.items():
                file = FilterbankFile(self.path(f"{products}-{name}.fil"))
                found = file.read()[..., 1:].mean(axis=(0, 2)) / level
                # 6200 values of noise and source: 5 deviations
                np.testing.assert_allclose(
                    found,
                    {"power": [1], "IQUV": [2, 0, 0, 0], "coherency": [1, 1, 0, 0]}[products],
                    atol=0.13,
                    err_msg=f"{products} {name}",
                )

    def test_incoherent_beams_alone(self):
        with open(self.path("beams.yaml"), "w") as file:
            file.write("beams: [{name: field, incoherent: true}]\n")
        self.observe(
            "--beams", self.path("beams.yaml"), "--format", "fc32", source=self.array(gains=False)
        )
        file = FilterbankFile(self.path("out.fil"))
        self.assertAlmostEqual(file.read()[..., 1:].mean(), 30, delta=2)

    def test_weights_are_for_the_channels_of_a_recording(self):
        """The weights are for the frequencies in the file, also of an inverted band, real or
        complex, and of channels that are split."""
        split = "--channels 8 --upchannelise 6 --fine-taps 2"
        for dimensions, more in ((1, ""), (2, ""), (1, split), (2, split)):
            for bandwidth in (16, -16):
                write_dada(
                    self.path("a.dada"),
                    np.ones((4000, 2, dimensions), int).squeeze(),
                    bandwidth=bandwidth,
                )
                made = []

                def make(**given):
                    made.append(pointing(**given))
                    return made[-1]

                with mock.patch.object(beams_part, "pointing", make):
                    self.observe(
                        *words(f"--beams grid:az=170,el=55 --format fc32 --duration 1e-4 {more}"),
                        source="dada:" + self.path("a.dada"),
                    )
                np.testing.assert_allclose(
                    FilterbankFile(self.path("out.fil")).frequencies,
                    made[0].frequencies(),
                    rtol=1e-12,
                )

    def test_an_input_that_begins_with_zeros(self):
        """Is said, and has the weight of the others when it comes alive."""
        samples = noise(100000, rms=1.5)
        samples[:50000, 1] = 0
        write_dada(self.path("a.dada"), samples)
        array = array_of()
        array.antennas = [Antenna("A", (0.0, 0.0, 0.0)), Antenna("B", (15.0, 0.0, 0.0))]
        array.inputs = [Input("A", "x"), Input("B", "x")]
        save_array(array, self.path("two.yaml"))
        code, _, err = run(
            beams_command,
            *words(
                f"--input dada:{self.path('a.dada')} --array {self.path('two.yaml')} "
                f"--channels 32 --device {DEVICE} -o {self.path('out.fil')} --beams "
                f"grid:az=0,el=90 --integration 1e-4"
            ),
        )
        self.assertEqual(code, 0)
        self.assertRegex(
            err,
            "aperture_beams: warning: input Bx does not change where the gain is "
            "measured .*: its gain is 13",
        )
        powers = FilterbankFile(self.path("out.fil")).read().mean(axis=(1, 2))
        # the power of two inputs of 20 steps rms with weights of 1/sqrt(2), which share a fifth of
        # it
        np.testing.assert_allclose(powers[2:28], 800 / 2, rtol=0.1)
        np.testing.assert_allclose(powers[34:60], 800 * 1.2, rtol=0.1)

    def test_beams_below_the_horizon_are_said(self):
        for beams, names in (
            (
                "grid:ra=0,dec=-60,columns=5,spacing=1",
                "'beam 0', 'beam 1', 'beam 2', 'beam 3' and 1 more",
            ),
            ("grid:ra=0,dec=-60", "'beam'"),
            ("grid:ra=0,dec=85", None),
            ("grid:az=0,el=0", None),
        ):
            code, _, err = run(
                beams_command,
                *words(
                    f"--input {self.array()} --channels 32 --format fc32 --duration 0.01 --device "
                    f"{DEVICE} -o {self.path('out.fil')} --beams {beams}"
                ),
            )
            self.assertEqual(code, 0)
            self.assertEqual(
                err,
                ""
                if names is None
                else f"aperture_beams: warning: below the horizon at the start: {names}\n",
            )

    def test_beams_of_dead_inputs_are_said(self):
        array = array_of("xy")
        dead = [
            replace(entry, gain=0)
            if entry.antenna in ("A1", "A2") or (entry.antenna, entry.polarization) == ("A3", "y")
            else entry
            for entry in array.inputs
        ]
        save_array(replace(array, inputs=dead), self.path("dead.yaml"))
        with open(self.path("beams.yaml"), "w") as file:
            file.write("beams:\n")
            for name, antennas in (("none", "A1, A2"), ("x", "A1, A3"), ("one", "A0, A1")):
                file.write(
                    f"  - {{name: {name}, azimuth: 0, elevation: 80, antennas: [{antennas}]}}\n"
                )
        code, _, err = run(
            beams_command,
            *words(
                f"--input sim:{self.path('dead.yaml')} --channels 32 --format fc32 --duration "
                f"0.01 --device {DEVICE} -o {self.path('out.fil')} --beams "
                f"{self.path('beams.yaml')}"
            ),
        )
        self.assertEqual(
            (code, err),
            (
                0,
                "aperture_beams: warning: zeros, as all inputs of a "
                "polarisation have a gain of 0: 'none', 'x'\n",
            ),
        )

    def test_an_error_of_pointing_is_an_error_of_the_command(self):
        def refuse(*_):
            raise ValueError("no weights today")

        with mock.patch.object(pointing, "_follow", refuse):
            code, _, err = run(
                beams_command,
                *words(
                    f"--input {self.array()} --channels 32 --format fc32 --duration 0.01 --device "
                    f"{DEVICE} -o {self.path('out.fil')} --beams grid:ra=0,dec=85"
                ),
            )
        self.assertEqual((code, err), (1, "aperture_beams: error: no weights today\n"))

    def test_names_with_the_time(self):
        out = self.observe(
            *words("--beams grid:az=170,el=55,columns=2,spacing=2,name=b --format fc32"),
            output="{time}-{beam}.fil",
        )
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".fil"))
        self.assertEqual(len(names), 2)
        for number, name in enumerate(names):
            self.assertRegex(name, rf"^\d{{8}}T\d{{6}}Z-b_{number}\.fil$")
            self.assertIn(name, out)

    def test_a_name_of_a_beam_is_no_path(self):
        """`..` in the place of a folder does not lead out of it."""
        with open(self.path("beams.yaml"), "w") as file:
            file.write("beams: [{name: .., azimuth: 1, elevation: 60}]")
        os.makedirs(self.path("out/beam"))
        self.observe(
            "--beams", self.path("beams.yaml"), "--format", "fc32", output="out/{beam}/z.fil"
        )
        self.assertEqual(os.listdir(self.path("out/beam")), ["z.fil"])
        self.assertNotIn("z.fil", os.listdir(self.folder))

    def test_errors(self):
        source = self.array()
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        with open(self.path("old.fil"), "w"):
            pass
        for arguments, code, text in (
            (["--beams", "grid:az=1"], 1, "beam 'beam' has azimuth"),
            (["--beams", "/nowhere.yaml"], 1, "/nowhere.yaml"),
            (["--beams", ""], 1, "beams: '' is not allowed; it must be the name of a file"),
            (
                ["--beams", "grid:az=1,el=1", "--duration", "1e300"],
                2,
                "--duration: 1e300: expected a number of seconds above 0, up to 1e9",
            ),
            (
                ["--beams", "grid:az=1,el=1", "-o", self.path("x" * 245 + ".fil")],
                1,
                ".fil: the name of this file has more than 246 bytes",
            ),
            (["--beams", "grid:az=1,el=1", "--products", "IQUV"], 1, "one polarisation"),
            (["--beams", "grid:az=1,el=1", "--incoherent", "A1+B7"], 1, "'B7'"),
            (["--beams", "grid:az=1,el=1,antennas=B7"], 1, "beams[0].beam 'beam': antennas: 'B7'"),
            (["--beams", "grid:az=1,el=1", "--sum-channels", "3"], 1, "--sum-channels 3"),
            (["--beams", "grid:az=1,el=1", "-o", "/nowhere/x.fil"], 1, "no folder"),
            (["--beams", "grid:az=1,el=1", "-o", ""], 1, "-o '': expected the name of"),
            (["--beams", "grid:az=1,el=1", "-o", "b.h5"], 1, "that ends in .fil"),
            (["--beams", "grid:az=1,el=1", "-o", "b{beem}.fil"], 1, "{beem} is not known"),
            (["--beams", fifo], 1, "this is a FIFO; the description of beams must be a file"),
            (["--beams", "grid:az=1,el=1", "--window", "hanning"], 1, "'hanning' is not allowed"),
            (
                ["--beams", "grid:az=1,el=1", "--no-overwrite", "-o", self.path("old.fil")],
                1,
                "--no-overwrite keeps it",
            ),
            (
                ["--beams", "grid:az=1,el=1", "-o", "/proc/{beam}.fil"],
                1,
                "/proc/beam.fil: no file can be made in its folder",
            ),
            (["--beams", "grid:az=1,el=1", "--nbits", "16"], 1, "--nbits 16: a filterbank file"),
            (["--beams", "grid:az=1,el=1", "--nbits", "3"], 2, "--nbits"),
            (
                ["--beams", "grid:az=1,el=1,columns=2,spacing=1", "-o", "x.sf"],
                1,
                "-o x.sf: PSRFITS has a file for each of 2 beams: expected {beam} in its name",
            ),
            ([], 2, "--beams"),
        ):
            found, out, err = run(
                beams_command,
                *words(f"--input {source} --channels 32 -o {self.path('x.fil')}"),
                *arguments,
            )
            self.assertEqual(found, code, err)
            self.assertEqual(out, "")  # nothing has been said or computed
            self.assertIn(text, err)
            self.assertNotIn("Traceback", err)
            self.assertFalse(os.path.exists(self.path("x.fil")))

    def test_what_is_read_is_not_replaced(self):
        source = self.array()
        write_dada(self.path("a.dada"), noise(1000, 1))
        for target, name in (
            ("a.dada", "b-one.fil"),
            ("a.dada", "a.fil"),
            ("array.yaml", "array.fil"),
            ("beams.yaml", "beams.fil"),
        ):
            os.symlink(self.path(target), self.path(name))
        with open(self.path("beams.yaml"), "w") as file:
            file.write("beams: [{name: one, azimuth: 1, elevation: 60}]")
        recording, beams = "dada:" + self.path("a.dada"), self.path("beams.yaml")
        before = {name: os.stat(self.path(name)).st_size for name in os.listdir(self.folder)}
        for given, output, option in (
            (source, "array.fil", "--input"),
            (recording, "a.fil", "--input"),
            (recording, "b-{beam}.fil", "--input"),
            (recording, f"../{os.path.basename(self.folder)}/a.fil", "--input"),
            (source, "beams.fil", "--beams"),
        ):
            code, _, err = run(
                beams_command,
                *words(
                    f"--input {given} --beams {beams} --channels 32 --device {DEVICE} --duration "
                    f"1e-4 -o {self.path(output)}"
                ),
            )
            self.assertEqual(code, 1)
            self.assertRegex(err, f"-o .*: is the file that {option} names, and would be replaced")
        self.assertEqual(
            {name: os.stat(self.path(name)).st_size for name in os.listdir(self.folder)}, before
        )

    def test_interrupt(self):
        path = self.path("x.fil")
        out = self.interrupt(
            lambda: os.path.exists(path) and os.path.getsize(path) > 10000,
            *words(f"--input {self.array()} --beams grid:az=170,el=55 --format fc32 -o {path}"),
        )
        self.assertIn("integrations", out)
        self.assertGreater(FilterbankFile(path).samples, 50)


if __name__ == "__main__":
    gr_unittest.run(qa_beams_command)
