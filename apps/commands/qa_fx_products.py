#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Products of a correlation: each file is what the correlation of all inputs, at the shortest
integration, gives where it is averaged in float64."""

import re
from dataclasses import replace

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays.array_description import Input, Source, load_array, save_array
from gnuradio.aperture.arrays.pulses import Pulsar
from gnuradio.aperture.builder.products import inputs_named
from gnuradio.aperture.commands import fx
from gnuradio.aperture.files.file_names import name_text
from gnuradio.aperture.folder import phase_segments
from gnuradio.aperture.plan.plan_parser import PlanParser
from gnuradio.aperture.testing import observations
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.tracking.directions import parse_direction
from gnuradio.aperture.tracking.phase_center import place_at
from gnuradio.aperture.tracking.smearing import FINE_CYCLES

COMMON = "--input sim:y8 --duration 0.12288 --channels 64 --taps 4".split()


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


def averaged(rows, first, second, begin, end, channels=1, chosen=None):
    """
    The mean of the rows of a baseline whose middles are from one time to another, weighted by their
    samples and lengths, in float64, and the seconds that were there. channels: that become one;
    chosen(time, values): None where a row is left out, or what is taken for it.
    """
    found = []
    for (time, a, b), (values, samples, length) in rows.items():
        if (a, b) == (first, second) and begin < time < end:
            taken = values if chosen is None else chosen(time, values)
            if taken is not None:
                found.append((taken, samples * length))
    shape = (-1, *next(iter(rows.values()))[0].shape)
    values, weights = (np.reshape([row[i] for row in found], shape) for i in range(2))
    shape = len(values), shape[1] // channels, channels, shape[2]
    values, weights = values.reshape(shape), weights.reshape(shape)
    total = weights.sum(axis=(0, 2))
    means = (values * weights).sum(axis=(0, 2)) / np.where(total > 0, total, 1)
    return means, total / channels


def averaged_count(text):
    """The integrations of the X-engine of which one is averaged, by what a run says."""
    return int(re.search(r"each of (\d+) of the X-engine", text)[1])


def found_power(rows, antenna):
    """The mean power of an antenna."""
    return np.mean(
        [values[2:-2] for (_, a, b), (values, _, _) in rows.items() if a == b == antenna]
    ).real


class qa_fx_products(InFolder, gr_unittest.TestCase):
    def check_rows(self, path, fine, channels=1, chosen=None, tolerance=2e-6):
        """Each row of a file is the average of those of `fine`, which it covers; returns rows."""
        rows = read(path)
        for (time, a, b), (values, samples, length) in rows.items():
            of = None if chosen is None else lambda *row, a=a, b=b: chosen(a, b, *row)
            means, there = averaged(fine, a, b, time - length / 2, time + length / 2, channels, of)
            # fp32
            scale = max(np.abs(means).max(), 1e-30)
            np.testing.assert_allclose(values, means, rtol=0, atol=tolerance * scale)
            np.testing.assert_allclose(samples, there / length, rtol=1e-6)
        return rows

    def check_averages(self, path, fine, antennas, **more):
        """A file has the averages of `fine`, of all pairs of these antennas."""
        rows = self.check_rows(path, fine, **more)
        self.assertEqual({name for _, a, b in rows for name in (a, b)}, set(antennas))
        times = len({time for time, _, _ in rows})
        self.assertEqual(len(rows), times * len(antennas) * (len(antennas) + 1) // 2)
        return times

    def make(self, plan, *more):
        """Runs a plan, and the correlation at the integrations of its X-engine, and returns its
        rows."""
        path = self.path("plan.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(plan)
        code, text, errors = run("--plan", path, *more)
        self.assertEqual(code, 0, errors)
        return text

    def test_fast(self):
        """A fast file of three antennas and that of all, against one in which all is fast."""
        fine, slow, fast = (self.path(name) for name in ("fine.uvh5", "all.uvh5", "quick.uvh5"))
        code, _, errors = run(*COMMON, "--integration", "0.004096", "--gain", "30", "-o", fine)
        self.assertEqual(code, 0, errors)
        code, text, errors = run(
            *COMMON,
            *("--integration", "0.04096", "--gain", "30", "-o", slow),
            *("--fast", f"E1+N1x+4-5,integration=0.004096,file={fast}"),
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

    def test_averages(self):
        """Averages in time and channels, of some inputs and baselines, beside longer ones."""
        fine = self.path("fine.uvh5")
        code, _, errors = run(*COMMON, "--integration", "0.004096", "--gain", "30", "-o", fine)
        self.assertEqual(code, 0, errors)
        slow = self.path("all.uvh5")
        self.make(
            "products:\n"
            "  three: {inputs: E1+N1+W1, integration: 0.008192, average_channels: 4}\n"
            "  pairs: {baselines: W1-E3+N1-N1, integration: 0.012288}\n"
            "  cross: {baselines: N2-E3, integration: 0.024576}\n",
            *COMMON,
            *("--integration", "0.024576", "--gain", "30", "-o", slow),
        )
        rows = read(fine)
        antennas = [each.name for each in load_array("y8").antennas]
        self.assertEqual(self.check_averages(slow, rows, antennas), 5)
        three = self.path("all-three.uvh5")
        self.assertEqual(self.check_averages(three, rows, ["E1", "N1", "W1"], channels=4), 15)
        found = self.check_rows(self.path("all-pairs.uvh5"), rows)
        self.assertEqual({(a, b) for _, a, b in found}, {("E3", "W1"), ("N1", "N1")})
        self.assertEqual(len(found), 20)
        found = self.check_rows(self.path("all-cross.uvh5"), rows)
        self.assertEqual([(a, b) for _, a, b in found], [("E3", "N2")] * 5)
        with h5py.File(three) as file, h5py.File(fine) as all_of_them:
            frequencies = all_of_them["Header/freq_array"][:]
            np.testing.assert_allclose(
                file["Header/freq_array"][:], frequencies.reshape(-1, 4).mean(axis=1), rtol=1e-12
            )

    def test_baseline_averaging(self):
        """Rows of baselines have lengths of their own, as long as the loss allows, and flags go
        along."""
        fine, path = self.path("fine.uvh5"), self.path("all-averaged.uvh5")
        flags = "--gain 30 --spectra-per-frame 256 --flag 0.05 --bad-channels 3".split()
        code, _, errors = run(*COMMON, *flags, "--integration", "0.004096", "-o", fine)
        self.assertEqual(code, 0, errors)
        code, text, errors = run(
            *(*COMMON, *flags, "--integration", "0.02048", "-o", self.path("all.uvh5")),
            *("--baseline-averaging", "1e-5,integration=0.004096"),
        )
        self.assertEqual(code, 0, errors)
        self.assertIn("averaged", text)
        rows = self.check_rows(path, read(fine))
        array = load_array("y8")
        lengths = {}
        for (_, a, b), (_, _, length) in rows.items():
            lengths.setdefault((a, b), set()).add(round(length / 0.004096))
        positions = {each.name: np.array(each.position) for each in array.antennas}
        for (a, b), found in lengths.items():
            longest = max(found)
            self.assertLessEqual(found, {longest, 30 % longest})
            self.assertIn(longest, (1, 2, 4, 8, 16))
            # cycles of the phase at most, and what an average over them loses
            omega, top = 7.2921e-5, 1422.4e6
            latitude = np.radians(array.latitude)
            pole = [0, np.cos(latitude), np.sin(latitude)]
            length = np.linalg.norm(np.cross(positions[a] - positions[b], pole))
            cycles = omega * length * top / 299792458 * longest * 0.004096
            self.assertLess(1 - np.sinc(cycles), 1.01e-5)
        self.assertEqual(max(lengths["N1", "N1"]), 16)
        self.assertLess(max(lengths["E3", "N3"]), 16)
        with h5py.File(path) as file:
            header = file["Header"]
            self.assertEqual(header["Nbls"][()], 36)
            self.assertEqual(header["Nblts"][()], len(header["time_array"]))
            self.assertNotEqual(header["Nblts"][()], 36 * header["Ntimes"][()])
            self.assertEqual(header["Ntimes"][()], len(set(header["time_array"][:])))
            self.assertFalse(np.any(np.diff(header["time_array"][:]) < 0))

    def test_averages_that_end_early(self):
        """Times are counted once, and rows that came are averages of what was there, wherever the
        input ends within the longest averages."""
        fine, path = self.path("fine.uvh5"), self.path("all-averaged.uvh5")
        for count in (1, 4, 9, 28):
            common = [*COMMON, "--gain", "30", "--duration", 0.004096 * count]
            code, _, errors = run(*common, "--integration", "0.004096", "-o", fine)
            self.assertEqual(code, 0, errors)
            code, _, errors = run(
                *(*common, "--integration", "0.004096", "-o", self.path("all.uvh5")),
                *("--baseline-averaging", "1e-5"),
            )
            self.assertEqual(code, 0, errors)
            of_all = read(fine)
            with h5py.File(path) as file:
                header, there = file["Header"], file["Data/nsamples"][:].any(axis=(1, 2))
                times = header["time_array"][:] * 86400
                self.assertEqual(header["Ntimes"][()], len(set(times)))
                # rows of several lengths have no order of which all programs know
                self.assertNotIn("blt_order", header)
                spans = header["integration_time"][:] / 0.004096
                total = sum(spans[there & (header["ant_1_array"][:] == header["ant_2_array"][:])])
                self.assertAlmostEqual(total, 8 * count, places=5)
                np.testing.assert_array_equal(file["Data/flags"][:].all(axis=(1, 2)), ~there)
            for (time, a, b), (values, samples, length) in read(path).items():
                if samples.any():
                    means, found = averaged(of_all, a, b, time - length / 2, time + length / 2)
                    scale = np.abs(means).max()
                    np.testing.assert_allclose(values, means, rtol=0, atol=2e-6 * scale)
                    np.testing.assert_allclose(samples, found / length, rtol=1e-6)

    def test_gate(self):
        """A pulsar is in its gate; gate and bins have the integrations whose middle is in them."""
        par, period = self.path("p.par"), 0.0512
        with open(par, "w") as file:
            file.write("PSR P\nRAJ 23:23:24\nDECJ 58:48:54\nF0 19.53125\nPEPOCH 60310\nUNITS TDB\n")
        array = load_array("y8")
        start = (1704067200, 0.0)
        (segment, *_) = phase_segments(
            par=par, array=array, start_time=(start[0] - 60, 0.0), hours=1.0
        )
        phase = lambda time: float(segment.at(*time)[0] % 1)
        # the middle of the pulse is at a phase of 0.45
        pulses = Pulsar(
            period=period, width=0.1 * period, mean_flux=2.0, epoch=start, phase=phase(start) - 0.45
        )
        source = Source("P", ra=350.85, dec=58.815, flux=0.0, pulsars=[pulses])
        save_array(replace(array, sources=[source]), self.path("pulsar.yml"))
        common = [f"sim:{self.path('pulsar.yml')}" if w == "sim:y8" else w for w in COMMON]
        common[common.index("--duration") + 1] = "0.3072"
        fine = self.path("fine.uvh5")
        code, _, errors = run(*common, "--integration", "0.00256", "--gain", "30", "-o", fine)
        self.assertEqual(code, 0, errors)
        slow = self.path("all.uvh5")
        self.make(
            f"products:\n  on: {{inputs: E1+N1, gate: {par}, phases: 0.35-0.55}}\n"
            f"  five: {{inputs: E1+N1, gate: {par}, bins: 5}}\n"
            "  fast: {fast: true, inputs: E1, integration: 0.00128}\n",
            *common,
            *("--integration", "0.1024", "--gain", "30", "-o", slow),
        )
        rows = read(fine)

        def within(begin, end):
            def chosen(a, b, time, values):
                since = time - (start[0] / 86400 + 2440587.5) * 86400
                here = phase((start[0], since))
                # Julian dates are good to 40 us
                self.assertGreater(abs((here - begin + 0.5) % 1 - 0.5), 1e-3)
                self.assertGreater(abs((here - end + 0.5) % 1 - 0.5), 1e-3)
                return values if begin < here < end else None

            return chosen

        powers = []
        for name, begin, end in (
            ("on", 0.35, 0.55),
            *((f"five-{n}", n / 5, (n + 1) / 5) for n in range(5)),
        ):
            found = self.check_rows(self.path(f"all-{name}.uvh5"), rows, chosen=within(begin, end))
            self.assertEqual(len(found), 9)
            powers.append(
                np.mean([values for (_, a, b), (values, _, _) in found.items() if a == b])
            )
        # noise of 1, and in the gate most of a pulse of mean flux 2 over a fifth of the period
        noise = min(powers)
        self.assertGreater(powers[0] / noise, 6)
        self.assertLess(powers[4 + 1] / noise, 1.3)

    def test_phase_centers(self):
        """Phases are rotated before they are averaged: a source loses no more than a shorter
        integration does, where it would have been averaged out."""
        places = {"A": (0.0, 0.0, 0.0), "B": (20e3, 2400.0, 30.0), "C": (-700.0, 1900.0, -2.0)}
        near, far = "350.85, 58.815", "341.3, 58.815"  # 5 degrees apart
        sources = [Source("far", ra=341.3, dec=58.815, flux=2.0)]
        inputs = [Input(name, "x", cable_delay=delay) for name, delay in zip("ABC", (0, 2e-8, 0))]
        array = make_array(
            places, inputs, rate=2e4, center=1.4e9, site=(34.0, -107.0, 2124.0), sources=sources
        )
        save_array(array, self.path("far.yml"))
        common = f"--input sim:{self.path('far.yml')} --duration 8 --channels 16 --taps 4".split()
        common += ["--gain", "15"]
        slow = self.path("all.uvh5")
        text = self.make(
            f"products:\n  two: {{phase_centers: '{near};{far}', integration: 4}}\n"
            "tracking: {direction: '351, 59'}\n",
            *(*common, "--integration", "4", "-o", slow),
        )
        self.assertIn("two", text)
        fine = self.path("fine.uvh5")
        seconds = 4 / averaged_count(text)
        code, _, errors = run(
            *(*common, "--track", "351, 59", "--integration", seconds, "-o", fine)
        )
        self.assertEqual(code, 0, errors)
        rows, tracked = read(fine), parse_direction("351, 59")
        for center in (near, far):
            direction = parse_direction(center)
            name = name_text(direction.name)

            def rotated(a, b, time, values, direction=direction, before=tracked):
                seconds = time - 2440587.5 * 86400
                towards = [
                    place_at(each, seconds, array).to_uvw[2] if each else np.zeros(3)
                    for each in (direction, before)
                ]
                baseline = np.subtract(places[b], places[a])
                delay = baseline @ (towards[0] - towards[1]) / 299792458
                frequencies = 1.4e9 + (np.arange(16) - 8) * 2e4 / 16
                return values * np.exp(-2j * np.pi * frequencies * delay)[:, np.newaxis]

            # delays are straight lines good to 0.1 degrees for each of two trackers
            found = self.check_rows(
                self.path(f"all-two-{name}.uvh5"), rows, chosen=rotated, tolerance=4e-3
            )
        # the last one is that of the source
        loss = 1 - np.sinc(FINE_CYCLES)
        for (_, a, b), (values, _, _) in found.items():
            if a != b:
                power = found_power(found, a)
                mean = np.mean(values[2:-2])
                self.assertLess(abs(np.angle(mean)), 0.05)
                # the power has 1 of noise and 2 of the source
                self.assertGreater(mean.real, (1 - loss) * power * 2 / 3 * 0.97)
        # the option does the same with the file of all inputs
        code, _, errors = run(
            *(*common, "--track", "351, 59", "--integration", "4", "-o"),
            *(self.path("{phase_center}.uvh5"), "--phase-centers", f"{near};{far}"),
        )
        self.assertEqual(code, 0, errors)
        others = read(self.path(f"{name}.uvh5"))
        self.assertEqual(others.keys(), found.keys())
        for key, (values, samples, _) in found.items():
            np.testing.assert_array_equal(others[key][0], values)
            np.testing.assert_array_equal(others[key][1], samples)
        code, _, errors = run(
            *(*common, "--integration", "4", "-o", self.path("no.uvh5")),
            *("--phase-centers", f"{near};{far}"),
        )
        self.assertIn("{phase_center} in it", errors)
        # cable delays stay where nothing is tracked, as in a file that is rotated afterwards
        code, text, errors = run(
            *(*common, "--integration", "4", "--phase-centers", far, "-o", self.path("u.uvh5"))
        )
        self.assertEqual(code, 0, errors)
        code, _, errors = run(
            *(*common, "--integration", 4 / averaged_count(text), "-o", self.path("v.uvh5"))
        )
        self.assertEqual(code, 0, errors)

        def from_zenith(a, b, time, values):
            return rotated(a, b, time, values, direction, None)

        self.check_rows(
            self.path("u.uvh5"), read(self.path("v.uvh5")), chosen=from_zenith, tolerance=4e-3
        )
        # in the file of all inputs it is averaged out on the longest baseline
        lost = [
            np.abs(np.mean(values[2:-2])) / found_power(found, a)
            for (_, a, b), (values, _, _) in read(slow).items()
            if (a, b) == ("A", "B")
        ]
        self.assertLess(max(lost), 0.55)

    def test_flags(self):
        """Masks of the chosen inputs go along: counts are those of the correlation of all."""
        paths = [self.path("all.uvh5"), self.path("all-fast.uvh5")]
        code, _, errors = run(
            *COMMON,
            *("--integration", "0.012288", "--gain", "30", "--flag", "0.05", "--bad-channels", "3"),
            *("--spectra-per-frame", "256", "--fast", "N2+W1,integration=0.012288", "-o", paths[0]),
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
        with open(self.path("no.par"), "w") as file:
            file.write("PSR P\nRAJ 23:23:24\nDECJ 58:48:54\nPEPOCH 60310\nF0 0\n")
        for words, text in (
            (["--fast", "N1"], "--fast: integration: is missing"),
            (["--fast", "N1,integration=-1"], "integration: -1"),
            (["--fast", "N1,depth=3"], "'depth=3' is not allowed: inputs first"),
            (["--fast", "B7,integration=0.01"], "--fast: inputs: 'B7' is no input"),
            (["--fast", f"N1,integration=0.01,file={here}"], "is that of -o, too"),
            (["--fast", "N1,integration=0.01,file=x.ms"], "--fast: file x.ms"),
            (["--fast", "N1,integration=0.01", "--resume"], "--fast: not with --resume"),
            (["--fast", "N1,integration=0.01"] * 2, "argument --fast: is given twice"),
            (
                ["--baseline-averaging", "0.02,radius=1"],
                "radius 1: needs --track, or phase_centers",
            ),
            (["--gate", f"{self.path('none')},bins=2"], "--gate: gate none: No such file"),
            (["--gate", f"{self.path('no.par')},bins=2"], "--gate: gate no.par: no.par:5: F0"),
            (
                "--integration 0.01 --fast N1,integration=0.0073 --spectra-per-frame 456".split(),
                "cannot be had within 1 %",
            ),
        ):
            code, _, errors = run(*COMMON, *words, "-o", here)
            self.assertIn(text, errors.replace(str(self.folder) + "/", ""), words)
            self.assertNotEqual(code, 0)
        path, par = self.path("plan.yml"), self.path("p.par")
        with open(par, "w") as file:
            file.write("PSR P\nRAJ 23:23:24\nDECJ 58:48:54\nF0 20\nPEPOCH 60310\nUNITS TDB\n")
        for entries, text in (
            (f"gate: {par}", "products.one.gate: needs phases (0.4-0.5) or bins"),
            ("phases: 0.1-0.2", "products.one.phases: needs gate"),
            (f"gate: {par}, phases: 0.1-0.1", "products.one.phases: 0.1-0.1: expected FROM-TO"),
            (f"gate: {par}, phases: 1-0", "products.one.phases: 1-0: expected FROM-TO"),
            (f"gate: {par}, bins: 4, file: a.uvh5", "must have {bin} in it"),
            ("phase_centers: sun;moon, file: a.uvh5", "must have {phase_center} in it"),
            ("radius: 1", "products.one.radius: needs loss"),
            ("loss: 1e-15", "products.one.loss"),
            ("average_channels: 7", "average_channels: 7: expected a divisor of the 64 channels"),
            ("baselines: N1-N9", "products.one.baselines: 'N1-N9' is no baseline of y8"),
            ("baselines: N1-N2+N2-N1", "'N2-N1' is named twice"),
            ("baselines: N1-N2, inputs: N1", "products.one.baselines: not together with inputs"),
            ("fast: true, integration: 0.01, loss: 0.1", "products.one.loss: not of a fast"),
        ):
            with open(path, "w") as file:
                file.write(f"products:\n  one: {{{entries}}}\n")
            code, _, errors = run(*COMMON, "--plan", path, "-o", self.path("all.uvh5"))
            self.assertNotEqual(code, 0)
            self.assertIn(f"{path}:2: ", errors)
            self.assertIn(text, errors)
        # names that are the same once what stands in braces is known
        first, second = (self.path(f"q-{end}.uvh5") for end in ("{bin}", 1))
        with open(path, "w") as file:
            file.write(f"products:\n  one: {{file: '{first}', gate: {par}, bins: 2}}\n")
            file.write(f"  two: {{file: {second}, inputs: N1}}\n")
        code, _, errors = run(*COMMON, "--plan", path, "-o", self.path("all.uvh5"))
        self.assertEqual(code, 1)
        self.assertIn(f"{path}:3: products.two.file: {second}: is that of products.one", errors)
        with open(path, "w") as file:
            file.write("products:\n  quick:\n    fast: true\n    inputs: N1\n")
        code, _, errors = run(*COMMON, "--plan", path, "-o", self.path("all.uvh5"))
        self.assertEqual(code, 1)
        self.assertIn(f"{path}:", errors)
        self.assertIn("products.quick.integration: is missing", errors)


if __name__ == "__main__":
    gr_unittest.run(qa_fx_products)
