#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_fx --flag: what the engines are given, and what is in the file and the report."""

import contextlib
import io
import tempfile
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.builder.flags import choose_slice, flagging_parameters
from gnuradio.aperture.commands import fx
from gnuradio.aperture.parameters.errors import ParameterError
from gnuradio.aperture.testing.observations import words


def parameters_of(*arguments, channels=64, spectra=512):
    options = fx.parser().parse_args(["--input", "sim:y8", "-o", "x.uvh5", *arguments])
    sizes = SimpleNamespace(channels=channels, spectra_per_frame=spectra)
    return flagging_parameters(options.plan, sizes)


class qa_flags(gr_unittest.TestCase):
    def test_parameters(self):
        self.assertEqual(parameters_of(), {})
        found = parameters_of("--flag", "--bad-channels", "3,60-62", "--grow-channels", "2")
        self.assertEqual(
            found,
            dict(
                spectra_per_slice=256,
                kurtosis_false_alarms=0.0027,
                time_sum_sigma=0.0,
                channel_sum_sigma=0.0,
                bad_channels=[3, 60, 61, 62],
                grown_slices=0,
                grown_channels=2,
            ),
        )
        self.assertEqual(
            parameters_of("--flag-time", "6", "--flag-slice", "16")["spectra_per_slice"], 16
        )

    def test_slices(self):
        for spectra, least, expected in (
            (512, 64, 256),
            (256, 64, 256),
            (96, 64, 96),
            (7, 1, 7),
            (1000, 64, 250),
            (30, 64, 30),
        ):
            self.assertEqual(choose_slice(spectra, least), expected)

    def test_refused(self):
        for arguments, text in (
            (("--flag", "--flag-slice", "100"), "--flag-slice 100: a frame has 512"),
            (("--flag", "--flag-slice", "32"), "needs slices of at least 64"),
            (("--bad-channels", "64"), "--bad-channels 64: the channels are 0 to 63"),
        ):
            with self.assertRaisesRegex(ParameterError, text):
                parameters_of(*arguments)
        options = fx.parser().parse_args("--input sim:y8 -o x.uvh5 --grow-slices 1".split())
        with self.assertRaisesRegex(ParameterError, "^--grow-slices 1: needs --flag, --flag"):
            options.plan.check()

    def test_file_and_report(self):
        """A bad channel has no weight, others nearly all of theirs; the plan says it likewise."""
        with tempfile.TemporaryDirectory() as folder:
            plan, path = Path(folder, "plan.yml"), Path(folder, "a.uvh5")
            arguments = [
                *words(
                    "--input sim:two-dish --duration 0.05 --channels 64 --device cpu -o "
                    f"{path} --flag --bad-channels 5-6"
                )
            ]
            self.assertEqual(fx.main([*arguments, "--write-plan", str(plan)]), 0)
            self.assertIn("flagging:", plan.read_text())
            text = io.StringIO()
            with contextlib.redirect_stdout(text):
                self.assertEqual(fx.main(["--plan", str(plan)]), 0)
            self.assertIn("flagged", text.getvalue())
            with h5py.File(path) as file:
                fractions = file["Data/nsamples"][()].mean(axis=(0, 2))
                flags = file["Data/flags"][()].all(axis=(0, 2))
        bad = np.isin(np.arange(64), (5, 6))
        np.testing.assert_array_equal(flags, bad)
        self.assertTrue((fractions[~bad] > 0.5).all())


if __name__ == "__main__":
    gr_unittest.run(qa_flags)
