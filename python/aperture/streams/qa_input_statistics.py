#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Statistics of voltages against closed forms, and on their way through a flowgraph."""

from types import SimpleNamespace

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import ParameterError
from gnuradio.aperture.streams.input_statistics import (
    StatisticsReader,
    frames_a_second,
    measure,
    spectra_measured,
    spectral_kurtosis,
)

START = 1704067200


class qa_input_statistics(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(3)

    def bytes_of(self, re, im):
        """sc8 voltages as uint16."""
        return np.stack([re, im], axis=-1).astype(np.int8).view(np.uint16)[..., 0]

    def test_kurtosis(self):
        """1 for noise whatever the number of powers is, 0 for a carrier, and in between what
        the definition gives."""
        for count in (2, 7, 100):
            power = self.rng.exponential(size=(400000 // count, count))
            found = spectral_kurtosis(power, np.full(len(power), count))
            # the variance of M powers is about 4/M, that of 2 is 1/3
            self.assertAlmostEqual(found.mean(), 1, delta=4 * 2 / np.sqrt(400000))
        self.assertEqual(spectral_kurtosis(np.ones((1, 9)), np.array([9]))[0], 0)
        # missing powers are zeros that do not count
        self.assertEqual(spectral_kurtosis(np.array([[3.0, 0, 3, 3]]), np.array([3]))[0], 0)
        # on in one of five: (6/4) (5 * 1 / 1 - 1)
        self.assertAlmostEqual(
            spectral_kurtosis(np.array([[0, 0, 2.0, 0, 0]]), np.array([5]))[0], 6
        )
        self.assertTrue(np.isnan(spectral_kurtosis(np.zeros((2, 5)), np.array([5, 1]))).all())

    def test_measure(self):
        channels, spectra = 6, 4000
        shape = (channels, 4, spectra)
        scale = np.array([1, 2, 3, 0])[:, np.newaxis]
        re, im = (np.rint(self.rng.normal(size=shape) * rms * scale) for rms in (20, 10))
        re[:, 0, :3], im[:, 0, :2] = 127, -127
        re[:, 1, 100:200] = im[:, 1, 100:200] = 0  # missing
        re, im = np.clip(re, -127, 127), np.clip(im, -127, 127)
        for type, voltages in (
            ("sc8", self.bytes_of(re, im)),
            ("fc32", (re + 1j * im).astype(np.complex64)),
        ):
            row = measure(voltages, type, 5.0)
            np.testing.assert_allclose(row.missing, [0, 0.025, 0, 1], atol=1e-7)
            there = re[:, 1][:, (re[:, 1] != 0).any(axis=0)]
            np.testing.assert_allclose(row.rms_re[1], np.sqrt((there**2).mean()), rtol=1e-5)
            np.testing.assert_allclose(row.rms_im[2], np.sqrt((im[:, 2] ** 2).mean()), rtol=1e-5)
            self.assertTrue(np.isnan([row.rms_re[3], row.kurtosis[3], row.clamped[3]]).all())
            power = re[:, 2] ** 2 + im[:, 2] ** 2
            expected = (
                (spectra + 1)
                / (spectra - 1)
                * (spectra * (power**2).sum(axis=1) / power.sum(axis=1) ** 2 - 1)
            )
            self.assertAlmostEqual(row.kurtosis[2], expected.mean(), 5)
            clamped = (np.maximum(np.abs(re[:, 0]), np.abs(im[:, 0])) == 127).mean()
            self.assertAlmostEqual(row.clamped[0], clamped if type == "sc8" else 0, 7)
        self.assertGreater(clamped, 0.0007)

    def test_sc4(self):
        signed = [0, 1, 2, 3, 4, 5, 6, 7, -7, -7, -6, -5, -4, -3, -2, -1]
        bytes_ = np.arange(256, dtype=np.uint8).reshape(1, 1, 256)
        row = measure(bytes_, "sc4", 0.0)
        # byte 0 is a missing spectrum
        rms = np.sqrt(16 * np.sum(np.square(signed)) / 255)
        np.testing.assert_allclose([row.rms_re[0], row.rms_im[0]], rms, rtol=1e-6)
        self.assertAlmostEqual(row.clamped[0], (256 - 13**2) / 255, 6)

    def reader(self, frames, type="sc8", time=(START, 0.5)):
        items = [
            SimpleNamespace(
                data=np.ascontiguousarray(frame).view(np.uint8).ravel(),
                serial=i + 1,
                time=time and (time[0] + i, time[1]),
                rate=2.0,
            )
            for i, frame in enumerate(frames)
        ]
        taken = SimpleNamespace(
            read_after=lambda serial: [item for item in items if item.serial > serial]
        )
        return StatisticsReader(taken, *frames[0].shape[:2], type)

    def test_reader(self):
        frames = [self.bytes_of(*self.rng.integers(-100, 101, (2, 3, 2, 50))) for _ in range(3)]
        reader = self.reader(frames)
        rows = reader.take()
        self.assertEqual(reader.take(), [])
        # 50 spectra in half a second, of which the middle is 24.5 spectra behind the first one
        np.testing.assert_allclose(
            [row.time for row in rows], START + 0.5 + np.arange(3) + 0.245, rtol=0, atol=1e-6
        )
        parts = np.concatenate(frames, axis=-1).view(np.int8).reshape(3, 2, 150, 2).astype(float)
        mean = reader.mean()
        self.assertEqual(mean.spectra, 150)
        np.testing.assert_allclose(
            mean.rms_re, np.sqrt((parts[..., 0] ** 2).mean(axis=(0, 2))), rtol=1e-6
        )
        np.testing.assert_allclose(
            mean.kurtosis, np.mean([row.kurtosis for row in rows], axis=0), rtol=1e-6
        )
        reader.restart()
        self.assertIsNone(reader.mean())
        self.assertEqual(self.reader(frames, time=None).take(), [])
        with self.assertRaisesRegex(ValueError, "is no frame of 3 channels and 2 inputs of fc32"):
            self.reader([frame[..., :49] for frame in frames], "fc32").take()
        with self.assertRaisesRegex(ParameterError, "statistics_type"):
            self.reader(frames, "s8")
        with self.assertRaisesRegex(ParameterError, "a snapshot of the frames"):
            StatisticsReader(5, 1, 1, "sc8")

    def test_cost(self):
        """At most a million voltages a second are measured, but of large arrays."""
        for channels, inputs, spectra in ((64, 2, 10000), (1024, 16, 512), (1024, 1024, 16)):
            count = spectra_measured(channels, inputs, spectra)
            self.assertLessEqual(count, spectra)
            self.assertLessEqual(
                channels * inputs * count * frames_a_second(channels, inputs, spectra), 1 << 20
            )


if __name__ == "__main__":
    gr_unittest.run(qa_input_statistics)
