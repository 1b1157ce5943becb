#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Recordings that are read from a time on."""

import re

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.commands import beams_command, fx
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.testing import observations
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import words
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.testing.recordings import noise, small_array, visibilities

# s, which is 48 spectra of 32 channels at 64 kHz
INTEGRATION = 0.024
SAMPLES, RATE = 40_000, 64_000


class qa_start(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        noise(SAMPLES).tofile(self.path("a.sc8"))
        save_array(small_array(sample_rate=RATE), self.path("array.yaml"))

    def run_on(self, command, output, *more, source=None):
        """Exit code, stdout and stderr, with a recording that begins at 12:00:00.25 UTC."""
        if source is None:
            source = (
                f"raw:{self.path('a.sc8')},inputs=2,rate={RATE},freq=408e6,"
                "time=2024-06-01T12:00:00.25Z"
            )
        if source.startswith("raw"):
            more = ["--array", self.path("array.yaml"), *more]
        return observations.run(
            command,
            *("--device", DEVICE, "--input", source, "-o", self.path(output)),
            *words("--channels 32"),
            *more,
        )

    def correlated(self, *more):
        sizes = ("--integration", INTEGRATION, "--spectra-per-frame", 16)
        code, _, error = self.run_on(fx, "out.uvh5", *sizes, *more)
        self.assertEqual(code, 0, error)
        return visibilities(self.path("out.uvh5"))

    def test_visibilities(self):
        """From a time on, they are those of the whole recording, at the same times."""
        whole = self.correlated("--gain", 3)
        for start in ("0.24", "24e-2", "2024-06-01T12:00:00.49Z", "2024-06-01T14:00:00.49+02:00"):
            found = self.correlated("--gain", 3, "--start", start)
            for name in ("visdata", "nsamples", "times"):
                np.testing.assert_array_equal(found[name], whole[name][10:], start)
        found = self.correlated("--gain", 3, "--start", 0.24, "--duration", 0.12 + 7 * 32 / RATE)
        np.testing.assert_array_equal(found["visdata"], whole["visdata"][10:15])

    def test_between_samples(self):
        """The first sample is the one at or after the time."""
        for start in (f"{1000 / RATE:.9f}", f"{999.5 / RATE:.9f}"):
            found = self.correlated("--gain", 1, "--start", start)
            first = found["times"][0] - (48 - 1) / 2 * 32 / RATE / 86400
            # the middle of the first window
            expected = 2460463.0 + (0.25 + (1000 + (8 * 32 - 1) / 2) / RATE) / 86400
            self.assertAlmostEqual(first * 86400, expected * 86400, delta=1e-4)

    def test_powers(self):
        """The same of aperture_beams."""
        more = words(f"--beams grid:az=80,el=40 --integration {INTEGRATION / 6}")
        found, values = [], []
        for start in ((), ("--start", 0.24)):
            code, _, error = self.run_on(
                beams_command, "out.fil", *more, "--format", "fc32", *start
            )
            self.assertEqual(code, 0, error)
            found.append(FilterbankFile(self.path("out.fil")))
            values.append(found[-1].read())
        begins = [file.header["tstart"] for file in found]
        self.assertAlmostEqual((begins[1] - begins[0]) * 86400, 0.24, delta=1e-5)
        np.testing.assert_allclose(values[1], values[0][60:], rtol=1e-5)

    def test_refused(self):
        """A time outside names the recording's span; other inputs are read from their beginning."""
        save_array(small_array(), self.path("line.yaml"))
        span = (
            "the recording lasts from 2024-06-01T12:00:00.250000Z to "
            "2024-06-01T12:00:00.875000Z, 625 ms"
        )
        for start, problem in (
            ("0.625", span),
            ("1e6", span),
            ("2024-06-01T12:00:00.2Z", span),
            ("2024-06-01T12:00:00.875Z", span),
            ("-1", "expected seconds from the recording's beginning, or UTC"),
            ("0.624", "leaves too little: the input has 64 samples, one spectrum of 32 channels"),
            ("noon", "expected seconds from the recording's beginning, or UTC"),
            ("nan", "expected seconds from the recording's beginning, or UTC"),
        ):
            code, _, error = self.run_on(fx, "out.uvh5", f"--start={start}")
            self.assertNotEqual(code, 0)
            self.assertRegex(error, f"--start:? {re.escape(start)}: {re.escape(problem)}")
        code, _, error = self.run_on(
            fx, "out.uvh5", "--start", 1, source="sim:" + self.path("line.yaml")
        )
        self.assertEqual(code, 1)
        self.assertIn("--start 1: a simulation is read from its beginning only: sim:", error)


if __name__ == "__main__":
    gr_unittest.run(qa_start)
