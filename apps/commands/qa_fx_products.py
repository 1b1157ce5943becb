#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Products of a correlation: each file is what the correlation of all inputs, at the shortest
integration, gives where it is averaged in float64."""

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays.array_description import load_array
from gnuradio.aperture.builder.products import inputs_named
from gnuradio.aperture.commands import fx
from gnuradio.aperture.plan.plan_parser import PlanParser
from gnuradio.aperture.testing import observations
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import DEVICE

COMMON = "--input sim:y8 --duration 0.12 --channels 64 --taps 4".split()


def run(*arguments):
    """Exit code, stdout and stderr of aperture_fx."""
    return observations.run(fx, "--device", DEVICE, *arguments)


def read(path):
    """
    The visibilities of a file by (time, antenna, antenna): time in units of 1 ms from the first
    row's; values complex [channel][polarisation], nsamples of the same shape, seconds.
    """
    with h5py.File(path) as file:
        header = file["Header"]
        names = [name.decode() for name in header["antenna_names"]]
        first, second = header["ant_1_array"][:], header["ant_2_array"][:]
        return {
            (time, names[a], names[b]): (values, samples, length)
            for time, a, b, values, samples, length in zip(
                header["time_array"][:] * 86400,
                first,
                second,
                file["Data/visdata"][:].astype(complex),
                file["Data/nsamples"][:].astype(float),
                header["integration_time"][:],
            )
        }


def averaged(rows, first, second, begin, end):
    """The mean of the rows of a baseline whose middles are from one time to another, weighted by
    their samples and lengths, in float64; and the seconds that were there."""
    found = [
        row
        for (time, a, b), row in rows.items()
        if (a, b) == (first, second) and begin < time < end
    ]
    weights = np.array([samples * length for _, samples, length in found])
    values = np.array([values for values, _, _ in found])
    total = weights.sum(axis=0)
    means = (values * weights).sum(axis=0) / np.where(total > 0, total, 1)
    return means, total


class qa_fx_products(InFolder, gr_unittest.TestCase):
    def check_averages(self, path, fine, antennas):
        """A file has the averages of `fine`, of all pairs of these antennas."""
        rows = read(path)
        self.assertEqual({name for _, a, b in rows for name in (a, b)}, set(antennas))
        times = len({time for time, _, _ in rows})
        self.assertEqual(len(rows), times * len(antennas) * (len(antennas) + 1) // 2)
        for (time, a, b), (values, samples, length) in rows.items():
            means, there = averaged(fine, a, b, time - length / 2, time + length / 2)
            # fp32
            scale = np.abs(means).max()
            np.testing.assert_allclose(values, means, rtol=0, atol=2e-6 * scale)
            np.testing.assert_allclose(samples, there / length, rtol=1e-6)
        return times

    def test_fast(self):
        """A fast file of three antennas and that of all, against one in which all is fast."""
        fine, slow, fast = (self.path(name) for name in ("fine.uvh5", "all.uvh5", "quick.uvh5"))
        code, _, errors = run(*COMMON, "--integration", "0.004", "--gain", "30", "-o", fine)
        self.assertEqual(code, 0, errors)
        code, text, errors = run(
            *COMMON,
            *("--integration", "0.04", "--gain", "30", "-o", slow),
            *("--fast", f"E1+N1x+4-5,integration=0.004,file={fast}"),
        )
        self.assertEqual(code, 0, errors)
        self.assertIn("fast", text)
        self.assertIn(fast, text)
        rows = read(fine)
        antennas = load_array("y8").antennas
        self.assertEqual(self.check_averages(slow, rows, [each.name for each in antennas]), 3)
        chosen = ["E1", "N1", "E2", "E3"]
        self.assertEqual(self.check_averages(fast, rows, chosen), 30)
        # the integrations are the same, bit for bit
        for key, (values, samples, length) in read(fast).items():
            others, _, of = rows[key]
            np.testing.assert_array_equal(values, others)
            np.testing.assert_allclose([length, samples.min()], [of, 1])

    def test_flags(self):
        """Masks of the chosen inputs go along: counts are those of the correlation of all."""
        paths = [self.path("all.uvh5"), self.path("all-fast.uvh5")]
        code, _, errors = run(
            *COMMON,
            *("--integration", "0.012", "--gain", "30", "--flag", "0.05", "--bad-channels", "3"),
            *("--spectra-per-frame", "250", "--fast", "N2+W1,integration=0.012", "-o", paths[0]),
        )
        self.assertEqual(code, 0, errors)
        whole, some = map(read, paths)
        self.assertLess(len(some), len(whole))
        lowest = 1.0
        for key, (values, samples, _) in some.items():
            np.testing.assert_array_equal(values, whole[key][0])
            np.testing.assert_array_equal(samples, whole[key][1])
            lowest = min(lowest, samples[4:].min())
            self.assertEqual(samples[3].max(), 0)
        self.assertLess(lowest, 1)

    def test_plan(self):
        """Options and a plan are the same, and go to a file and back."""
        words = ["--input", "sim:y8", "-o", "all.uvh5", "--fast", "N1,integration=0.01"]
        written = self.path("plan.yml")
        plan = PlanParser("aperture_fx", "").parse_args([*words]).plan
        product = plan.products["fast"]
        self.assertEqual((product.fast, product.inputs, product.integration), (True, "N1", 0.01))
        code, _, errors = run(*words, "--write-plan", written)
        self.assertEqual(code, 0, errors)
        again = PlanParser("aperture_fx", "").parse_args(["--plan", written]).plan
        self.assertEqual(again.products, plan.products)

    def test_inputs_named(self):
        array = load_array("y8")
        names = list(array.input_names)
        of_first = [i for i, entry in enumerate(array.inputs) if entry.antenna == "N1"]
        self.assertEqual(inputs_named(array, "N1"), of_first)
        self.assertEqual(inputs_named(array, f"{names[5]}+2"), [2, 5])
        self.assertEqual(inputs_named(array, "0-3+7"), [0, 1, 2, 3, 7])
        for text, wrong in (
            ("N1+B7", "'B7' is no input or antenna"),
            ("0-99", "'0-99' is no input"),
            ("0-3+2", "is named twice, the second time by '2'"),
        ):
            with self.assertRaisesRegex(ValueError, wrong):
                inputs_named(array, text)

    def test_refused(self):
        """One error, of the option, or of the line of the plan."""
        here = self.path("all.uvh5")
        for words, text in (
            (["--fast", "N1"], "--fast: integration: is missing"),
            (["--fast", "N1,integration=-1"], "integration: -1"),
            (["--fast", "N1,depth=3"], "'depth=3' is not allowed: inputs first"),
            (["--fast", "B7,integration=0.01"], "--fast: inputs: 'B7' is no input"),
            (["--fast", f"N1,integration=0.01,file={here}"], "is that of -o, too"),
            (["--fast", "N1,integration=0.01,file=x.ms"], "--fast: file x.ms"),
            (["--fast", "N1,integration=0.01", "--resume"], "--fast: not with --resume"),
            (
                ["--integration", "0.01", "--fast", "N1,integration=0.0073"],
                "cannot be had within 1 %",
            ),
        ):
            code, _, errors = run(*COMMON, *words, "-o", here)
            self.assertIn(text, errors.replace(str(self.folder) + "/", ""), words)
            self.assertNotEqual(code, 0)
        path = self.path("plan.yml")
        with open(path, "w") as file:
            file.write("products:\n  quick:\n    fast: true\n    inputs: N1\n")
        code, _, errors = run(*COMMON, "--plan", path, "-o", self.path("all.uvh5"))
        self.assertEqual(code, 1)
        self.assertIn(f"{path}:", errors)
        self.assertIn("products.quick.integration: is missing", errors)


if __name__ == "__main__":
    gr_unittest.run(qa_fx_products)
