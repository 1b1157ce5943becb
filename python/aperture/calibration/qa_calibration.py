#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The calibration's object and its file: formula, grids of channels, what is not allowed."""

import os

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.calibration.calibration import (
    Band,
    Calibration,
    CalibrationError,
    InputCalibration,
    Quality,
)
from gnuradio.aperture.calibration.calibration_file import (
    calibration_text,
    load_calibration,
    save_calibration,
)
from gnuradio.aperture.testing.folders import InFolder

CHANNELS = 21
FIRST, WIDTH = 1.4e9, 1e5


def calibration_of(**arguments):
    rng = np.random.default_rng(3)
    inputs = []
    for name in ("Ax", "Bx", 'a "b" #é y'):
        bandpass = rng.uniform(0.5, 2, CHANNELS) * np.exp(1j * rng.uniform(-3.1, 3.1, CHANNELS))
        flagged = rng.uniform(size=CHANNELS) < 0.3
        inputs.append(
            InputCalibration(
                name,
                rng.uniform(-1e-7, 1e-7),
                rng.uniform(-3, 3),
                bandpass,
                flagged,
                rng.uniform(1, 2, CHANNELS),
                rng.uniform(20, 40, CHANNELS),
                Quality(100.0, 1.1, 0.01),
            )
        )
    values = dict(
        array='test: "1"',
        band=Band(FIRST, WIDTH, CHANNELS),
        inputs=inputs,
        source="az=1,el=2",
        references=["Ax"],
        measured=(1704067200.25, 1704067210.5),
        valid=(1704060000.0, 1704070000.0),
        quality={"x": Quality(90.0, 1.0, 0.002)},
        history="a \\ test: #",
    )
    return Calibration(**{**values, **arguments})


class qa_calibration(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "cal.yml")

    def test_round_trip(self):
        """A file has all of it, magnitudes to 7 digits and phases to a millionth."""
        for more in ({}, {"valid": None, "measured": None, "quality": {}, "references": []}):
            written = calibration_of(**more)
            save_calibration(written, self.path)
            found = aperture.load_calibration(self.path)
            self.assertEqual(os.listdir(self.folder), ["cal.yml"])
            for key in (
                "array",
                "band",
                "source",
                "references",
                "reference_frequency",
                "measured",
                "valid",
                "quality",
                "history",
                "names",
            ):
                self.assertEqual(getattr(found, key), getattr(written, key), key)
            for one, two in zip(found.inputs, written.inputs):
                self.assertEqual(
                    (one.delay, one.phase, one.quality), (two.delay, two.phase, two.quality)
                )
                np.testing.assert_allclose(one.bandpass, two.bandpass, rtol=2e-6)
                np.testing.assert_array_equal(one.flagged, two.flagged)
                np.testing.assert_allclose(one.kelvin, two.kelvin, rtol=1e-6)
                np.testing.assert_allclose(
                    one.receiver_temperature, two.receiver_temperature, rtol=1e-6
                )
            # the text is written as it was read
            self.assertEqual(calibration_text(found), calibration_text(written))

    def test_corrections(self):
        """The formula, and products of the X-engine that are multiplied with it."""
        calibration = calibration_of(reference_frequency=1.4005e9)
        frequencies = FIRST + WIDTH * np.arange(CHANNELS)
        for name, entry in zip(calibration.names, calibration.inputs):
            expected = entry.bandpass * np.exp(
                1j * (entry.phase - 2 * np.pi * (frequencies - 1.4005e9) * entry.delay)
            )
            np.testing.assert_allclose(calibration.corrections(frequencies, [name])[0], expected)
            # delays and phases of the F-engine, whose own frequency f_c is another
            again = calibration.bandpasses(frequencies, [name])[0] * np.exp(
                1j
                * (
                    calibration.phases(1.4009e9, [name])[0]
                    - 2 * np.pi * (frequencies - 1.4009e9) * calibration.delays([name])[0]
                )
            )
            np.testing.assert_allclose(again, expected)
        voltages = np.random.default_rng(1).standard_normal((3, CHANNELS, 2)) @ [1, 1j]
        names = ["Bx", "Ax", calibration.names[2]]
        corrected = voltages * calibration.corrections(frequencies, names)
        a, b = np.tril_indices(3)
        np.testing.assert_allclose(
            calibration.apply((voltages[a] * voltages[b].conj()).T, frequencies, names),
            (corrected[a] * corrected[b].conj()).T,
        )

    def test_other_channels(self):
        """Finer and fewer channels are interpolated; those that it does not reach are refused."""
        place = np.linspace(0, 1, CHANNELS)
        smooth = (1 + place) * np.exp(0.3j * place)
        calibration = Calibration(
            "t", Band(FIRST, WIDTH, CHANNELS), [InputCalibration("Ax", 40e-9, 1.0, smooth)]
        )
        finer = FIRST - 0.4 * WIDTH + WIDTH / 8 * np.arange(8 * CHANNELS - 3)
        there = (finer - FIRST) / (WIDTH * (CHANNELS - 1))
        expected = (1 + there) * np.exp(
            1j * (0.3 * there + 1.0 - 2 * np.pi * (finer - FIRST - 10 * WIDTH) * 40e-9)
        )
        inside = (there >= 0) & (there <= 1)
        # the second derivative (2 0.3 + 0.09 2 = 0.8 at most) of a line over 1/20: 0.8/8/400
        np.testing.assert_allclose(
            calibration.corrections(finer)[0][inside], expected[inside], atol=3e-4
        )
        # beyond the last centre, as that
        np.testing.assert_allclose(np.abs(calibration.corrections(finer)[0][:3]), 1.0)
        for frequency in (FIRST - 1.1 * WIDTH, FIRST + 21.1 * WIDTH):
            with self.assertRaisesRegex(
                CalibrationError,
                "frequencies: the calibration is for 21 "
                "channels of 100 kHz from 1400 to 1402 MHz, and 1 of 2",
            ):
                calibration.corrections([FIRST, frequency])

    def test_kelvin(self):
        calibration = calibration_of()
        frequencies = FIRST + WIDTH * np.arange(CHANNELS)
        for entry, row in zip(
            calibration.inputs, calibration.corrections(frequencies, scale="kelvin")
        ):
            np.testing.assert_allclose(np.abs(row) ** 2, entry.kelvin)
            np.testing.assert_allclose(
                np.angle(row / calibration.corrections(frequencies, [entry.name])[0]), 0, atol=1e-12
            )
        without = Calibration("t", Band(FIRST, WIDTH, 3), [InputCalibration("Ax")])
        self.assertFalse(without.has_kelvin)
        with self.assertRaisesRegex(
            CalibrationError,
            "scale: kelvin is not known for input Ax of the calibration: it must have been "
            "measured with a hot and a cold load",
        ):
            without.corrections([FIRST], scale="kelvin")
        with self.assertRaisesRegex(CalibrationError, "scale: 'Jy' is not allowed"):
            without.corrections([FIRST], scale="Jy")

    def test_warnings(self):
        dead = InputCalibration("Cx", bandpass=np.zeros(CHANNELS))
        calibration = calibration_of(inputs=[dead], references=[])
        self.assertEqual(
            calibration.warnings(1704065000),
            [
                "the calibration has no correction for Cx, where no signal was found or which were "
                "left out: it is 0 there"
            ],
        )
        self.assertRegex(
            calibration.warnings(1704080000)[0],
            "valid from 2023-12-31T22:00:00.000Z to 2024-01-01T00:46:40.000Z",
        )
        self.assertRegex(
            calibration.warnings(1704065000, 1704080000)[0], "^the calibration is valid"
        )

    def test_wrong_values(self):
        for make, text in (
            (lambda: calibration_of(array=3), "array: 3 is not allowed"),
            (lambda: calibration_of(inputs=[]), "inputs: "),
            (lambda: calibration_of(references=["Q"]), r"references\[0\]: 'Q' is not allowed"),
            (lambda: calibration_of(measured=(5.0, 4.0)), "measured: "),
            (
                lambda: calibration_of(inputs=[InputCalibration("Ax"), InputCalibration("Ax")]),
                r"inputs\[1\].name: 'Ax' is not allowed",
            ),
            (
                lambda: calibration_of(inputs=[InputCalibration("Ax", bandpass=[1, 2])]),
                r"inputs\[0\].bandpass: '2 values' is not allowed; it must be 21",
            ),
            (lambda: Band(1e9, 0.0, 3), "width: 0.0 is not allowed"),
            (lambda: Band(1e9, 1.0, 0), "channels: 0 is not allowed"),
            (lambda: InputCalibration("Ax", delay=2.0), "delay: 2.0 is not allowed"),
            (lambda: InputCalibration("Ax", phase=np.nan), "phase: nan is not allowed"),
            (lambda: Band.of([1e9, 1.1e9, 1.3e9], 1e8), "frequencies: channels of"),
            (lambda: load_calibration(3), "calibration: 3 is not allowed"),
        ):
            with self.assertRaisesRegex(CalibrationError, text):
                make()

    def test_bad_files(self):
        """One error each, which names file, line and field."""
        good = calibration_text(calibration_of())
        bandpass = "      " + good.partition("bandpass: >-\n      ")[2].partition("\n")[0]
        for before, after, text in (
            ("calibration: 1", "calibration: 2", "1: calibration: '2' is not allowed|1: calib"),
            ("calibration: 1\n", "", "calibration: missing"),
            ("array: ", "arrays: ", "2: arrays: not known; allowed: calibration, array"),
            ("width: 100000.0", "width: -1", "5: band.width: -1.0 is not allowed"),
            ("width: 100000.0", "width: wide", "5: band.width: 'wide' is not allowed"),
            (
                "channels: 21",
                "channels: 22",
                r"bandpass: '21 values' is not allowed; it must "
                "be 22",
            ),
            ("channels: 21", "channels: 2.5", "5: band.channels: '2.5' is not allowed"),
            (", channels: 21", "", "5: band.channels: missing"),
            ('references: ["Ax"]', 'references: ["Q"]', r"4: references\[0\]: 'Q'"),
            ('references: ["Ax"]', "references: Ax", "4: references: 'Ax' is not allowed"),
            ("2024-01-01T00:00:00.250Z", "yesterday", r"7: measured\[0\]: 'yesterday'"),
            ("2024-01-01T00:00:00.250Z", "2024-13-01T00:00:00Z", r"7: measured\[0\]: '2024-13"),
            ("2024-01-01T00:00:00.250Z", "2025-01-01T00:00:00.250Z", "7: measured: "),
            ('  - name: "Bx"', '  - name: "Ax"', r"inputs\[1\].name: 'Ax' is not allowed"),
            ('  - name: "Bx"\n', "  -\n", r"inputs\[1\].name: missing"),
            ("    delay: ", "    delays: ", r"inputs\[0\].delays: not known"),
            ("    phase: ", "    phase: .nan #", r"inputs\[0\].phase: "),
            ("inputs:\n", "inputs: none\nhistory2:\n", "not known|inputs: 'none'"),
            (
                "signal_to_noise: 100",
                "signal_to_noise: good",
                r"inputs\[0\].quality.signal_to_noise: 'good' is not allowed",
            ),
            (
                bandpass,
                bandpass.replace("~", ":", 1),
                r"inputs\[0\].bandpass: '.*' is not "
                "allowed; it must be a magnitude and a phase",
            ),
            (bandpass, bandpass.replace("~", "~x", 1), r"inputs\[0\].bandpass: 'x.*a number"),
            (bandpass, "      -1~0 " + bandpass.split(None, 1)[1], "a magnitude of 0 or above"),
            (bandpass, "      nan~0 " + bandpass.split(None, 1)[1], "a magnitude of 0 or abo"),
            (bandpass, "", r"inputs\[0\].bandpass: '13 values' is not allowed; it must be 21"),
            ('    flagged: "', '    flagged: "3-1 ', r"inputs\[0\].flagged: '3-1'"),
            (
                '    flagged: "',
                '    flagged: "99 ',
                r"inputs\[0\].flagged: 99 is not "
                "allowed; it must be a channel, 0 to 20",
            ),
            ("    kelvin: >-\n", "    kelvin: >-\n      x ", r"inputs\[0\].kelvin: 'x'"),
            ("band: {", "band: [", "not YAML"),
            (good, "", "calibration: missing"),
            (good, "[1, 2]", "calibration: missing: this is not a calibration"),
            (good, "[calibration, secret]", "calibration: missing: this is not a calibration$"),
            (good, "calibration: \x00", "not a text file|not YAML"),
        ):
            with self.subTest(before=before[:40], after=after[:40]):
                self.assertIn(before, good)
                with open(self.path, "w", encoding="utf-8") as file:
                    file.write(good.replace(before, after, 1))
                with self.assertRaisesRegex(CalibrationError, text) as caught:
                    load_calibration(self.path)
                self.assertTrue(str(caught.exception).startswith(self.path))
                self.assertNotIn("\n", str(caught.exception))
        with open(self.path, "wb") as file:
            file.write(b"calibration: \xff")
        with self.assertRaisesRegex(CalibrationError, "not a text file"):
            load_calibration(self.path)
        with self.assertRaises(FileNotFoundError):
            load_calibration(self.path + ".not")

    def test_file_that_cannot_be_written(self):
        path = str(self.folder / "no" / "cal.yml")
        with self.assertRaises(OSError) as caught:
            save_calibration(calibration_of(), path)
        self.assertEqual(caught.exception.filename, path)
        # a pipe stays a pipe
        pipe = str(self.folder / "pipe.yml")
        os.mkfifo(pipe)
        with self.assertRaisesRegex(OSError, "not a file"):
            save_calibration(calibration_of(), pipe)
        self.assertEqual(os.listdir(self.folder), ["pipe.yml"])


if __name__ == "__main__":
    gr_unittest.run(qa_calibration)
