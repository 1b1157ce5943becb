#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_doctor on recordings: a healthy pair of inputs, and each fault made in one of them."""

import json
import re
from unittest import mock

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.commands import doctor as command
from gnuradio.aperture.doctor import pairs, recordings
from gnuradio.aperture.doctor.findings import NOTICE, PROBLEM
from gnuradio.aperture.doctor.recordings import examine_recording, input_text
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run
from gnuradio.aperture.testing.receivers import Receiver, Receivers
from gnuradio.aperture.testing.recordings import noise, write_dada

RATE = 1e6
COUNT = 100003
TIME = "2024-06-01T12:00:00Z"


class qa_recordings(InFolder, gr_unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # two receivers on one clock that see one source; the second begins 3000.25 samples later
        receivers = Receivers([Receiver(), Receiver(start=0.25, phase=0.5)], RATE, seed=3)
        cls.pair = [receivers.samples(number, 0, COUNT) for number in range(2)]
        later = Receivers([Receiver(), Receiver(start=3000.25)], RATE, seed=3)
        cls.later = later.samples(1, 0, COUNT)

    def write(self, name, samples, kind="sc8", rms=20):
        """A raw file; returns its name."""
        path = self.path(f"{name}.{kind}")
        parts = np.asarray(samples, np.complex64).view(np.float32)
        if kind == "fc32":
            parts.tofile(path)
        else:
            # the power is 1, that of a component a half
            steps = np.rint(parts * (rms * np.sqrt(2)) + (127.5 if kind == "cu8" else 0))
            low, high, of = {
                "cu8": (0, 255, np.uint8),
                "sc8": (-128, 127, np.int8),
                "sc16": (-2048, 2047, np.int16),
            }[kind]
            np.clip(steps, low, high).astype(of).tofile(path)
        return path

    def text(self, *files, **values):
        values = {"rate": RATE, "freq": 1.42e9, "time": TIME, **values}
        return (
            "raw:" + ",".join(files) + "".join(f",{key}={value}" for key, value in values.items())
        )

    def examine(self, *files, seconds=1.0, **values):
        return examine_recording(self.text(*files, **values), seconds)

    def found(self, examination, kind=PROBLEM):
        return {
            finding.name: finding
            for finding in examination.findings
            if finding.kind == kind and finding.name != "reader"
        }

    def only(self, examination):
        """The one problem there is."""
        self.assertEqual(len(examination.problems), 1, examination.problems)
        return examination.problems[0]

    def pair_with(self, second, kind="sc8", **options):
        """An examination of a healthy input and another one."""
        return self.examine(
            self.write("a", self.pair[0], kind), self.write("b", second, kind, **options)
        )

    def test_healthy(self):
        """The findings on a good pair are what was put into it, in each type."""
        for kind in ("sc8", "sc16", "cu8", "fc32"):
            examination = self.pair_with(self.pair[1], kind)
            # the one finding: nobody says where the antennas are, or that two files began together
            self.assertEqual({finding.name for finding in examination.findings}, {"reader"}, kind)
            recording, a, b = examination.things
            self.assertIn("2 inputs of", recording["summary"])
            self.assertIn(
                "1 Msample/s, centre 1420 MHz, from 2024-06-01T12:00:00Z, 100.003 ms",
                recording["summary"],
            )
            # half of the power is common; sign and size as the receivers' own truth has them
            self.assertRegex(
                b["summary"],
                r"coherence 0\.5\d?, offset \+0\.2\d samples, "
                r"phase -2[789]°",
            )
            self.assertEqual(a["clamped"], 0)

    def test_simulated(self):
        """The shipped array, without a file."""
        self.assertEqual(examine_recording("sim:two-dish", 0.02).problems, [])

    def test_one_begins_later(self):
        finding = self.only(self.pair_with(self.later))
        self.assertEqual((finding.name, finding.of), ("offset", ("A1x", "A2x")))
        self.assertRegex(
            finding.what,
            r"^A2x begins 3\.0002\d* ms \(3000\.2 samples\) later than "
            "A1x, ",
        )
        self.assertIn("Stream Align", finding.remedy)
        # the other way round
        finding = self.only(
            self.examine(self.write("a", self.later), self.write("b", self.pair[0]))
        )
        self.assertRegex(finding.what, "^A1x begins 3.* later than A2x, ")
        # once the files say when they began, nothing is wrong with that
        examination = self.examine(
            self.write("a", self.pair[0]),
            self.write("b", self.later),
            time="2024-06-01T12:00:00Z;2024-06-01T12:00:00.003Z",
        )
        self.assertNotIn("offset", self.found(examination))

    def long_pair(self, count, late=0):
        """Two inputs of which half of the power is common; the second begins so many samples
        later."""
        rng = np.random.default_rng(7)

        def normal(size):
            return rng.normal(size=(size, 2)).astype(np.float32).view(np.complex64)[:, 0] / 2

        common = normal(count + late)
        return common[:count] + normal(count), common[late:] + normal(count)

    def test_lost(self):
        """A buffer that one of two lost on the way, anywhere in the recording."""
        pair = self.long_pair(400000, late=20)
        for which, at, count in (
            (1, 300000, 5000),
            (0, 300000, 5000),
            (1, 220000, 60000),
            (0, 350000, 300),
            (1, 30000, 3),
        ):
            samples = list(pair)
            samples[which] = np.delete(samples[which], np.s_[at : at + count])
            with self.subTest(which=which, at=at, count=count):
                files = [self.write(name, part) for name, part in zip("ab", samples)]
                found = self.found(self.examine(*files))
                # the end of the shorter file is missing, too
                self.assertEqual(set(found) - {"missing"}, {"lost", "offset"})
                self.assertEqual(found["lost"].of, (("A1x", "A2x")[which],))
                self.assertIn(f" lost {count} samples ", found["lost"].what)
                place = re.search(
                    r"\) ([\d.]+) (m?s) after .*within ([\d.]+) (m?s)", found["lost"].what
                ).groups()
                when, within = (
                    float(value) * {"s": 1e6, "ms": 1e3}[unit]
                    for value, unit in (place[:2], place[2:])
                )
                self.assertLess(abs(when - at), within)
                self.assertLess(within, 40000)
        twice = np.delete(pair[1], [*range(100000, 100400), *range(300000, 300400)])
        examination = self.examine(self.write("a", pair[0]), self.write("b", twice))
        self.assertEqual(
            [finding.what[:23] for finding in examination.problems if finding.name == "lost"],
            ["A2x lost 400 samples (4"] * 2,
        )

    def test_one_begins_much_later(self):
        """By more than half of the samples in which it is sought first."""
        a, b = self.long_pair(400000, late=140000)
        with mock.patch.object(pairs, "COMPARED", 1 << 18):
            found = self.found(self.examine(self.write("a", a), self.write("b", b)))
        self.assertEqual(list(found), ["offset"])
        self.assertRegex(found["offset"].what, r"A2x begins 140 ms \(140000\.\d samples\) later")

    def test_part(self):
        """The report says what was not examined, and why."""
        files = [self.write(name, samples) for name, samples in zip("ab", self.pair)]
        notice = self.found(self.examine(*files, seconds=0.06), NOTICE)["part"]
        self.assertIn(
            "Only the first 60 ms were looked at: nothing is said of the 40.003 ms", notice.what
        )
        self.assertIn("--seconds 1 ", notice.remedy)
        with mock.patch.object(recordings, "MOST_BYTES", 6 * 50000):
            notice = self.found(self.examine(*files, seconds=0.06), NOTICE)["part"]
        self.assertIn("first 50 ms were looked at, as more does not fit", notice.what)
        status, out, _ = run(command, self.text(*files), "--seconds", "0.06")
        self.assertEqual(status, 0)
        self.assertIn("\nNothing wrong was found in the first 60 ms.", out)

    def test_nothing_in_common(self):
        """Two of two may be of a faint source; one of three is an odd one out."""
        rng = np.random.default_rng(1)
        other = rng.normal(size=(COUNT, 2)).astype(np.float32).view(np.complex64)[:, 0]
        other *= np.sqrt(0.5)
        examination = self.pair_with(other)
        self.assertEqual(self.found(examination), {})
        self.assertEqual(list(self.found(examination, NOTICE)), ["nothing-in-common"])
        files = [
            self.write(str(number), samples)
            for number, samples in enumerate((self.pair[0], self.pair[1], other, self.pair[1] * 1j))
        ]
        finding = self.only(self.examine(*files))
        self.assertEqual((finding.name, finding.of), ("nothing-in-common", ("A1x", "A3x")))

    def test_two_clocks(self):
        """Crystals that differ by 3 ppm rotate by 4260 Hz at 1420 MHz; by 0.01 ppm, by 14 Hz."""
        for ppm, cycles in ((3, r"4\.26e\+03"), (0.01, r"14\.\d")):
            receivers = Receivers([Receiver(), Receiver(start=0.25, ppm=ppm)], RATE, seed=3)
            problems = self.found(self.pair_with(receivers.samples(1, 0, COUNT)))
            self.assertEqual(list(problems), ["two-clocks"])
            self.assertRegex(problems["two-clocks"].what, f"{cycles} cycles a second: .* {ppm} ppm")

    def test_common_carrier(self):
        """Two inputs with one carrier and nothing else in common."""
        rng = np.random.default_rng(4)
        tone = np.exp(2j * np.pi * 0.137531 * np.arange(COUNT))
        own = [rng.normal(size=(COUNT, 2)) @ [1, 1j] / 2 for _ in range(2)]
        files = [self.write(name, values + 0.4 * tone) for name, values in zip("ab", own)]
        finding = self.only(self.examine(*files))
        self.assertEqual((finding.name, finding.of), ("carrier", ("A1x", "A2x")))
        self.assertRegex(finding.what, "at 1420.14 MHz, with 2[0-9]% .* carrier has no delay")

    def test_image(self):
        x = self.pair[1]
        finding = self.only(self.pair_with(x + 0.1 * np.conj(x)))
        self.assertEqual((finding.name, finding.of), ("image", ("A2x",)))
        self.assertIn("I/Q image of -20 dB", finding.what)
        notices = self.found(self.pair_with(x + 0.03 * np.conj(x)), NOTICE)
        self.assertEqual(list(notices), ["image"])

    def test_gain_steps(self):
        samples = self.pair[1].copy()
        samples[60000:] *= 1.5
        finding = self.only(self.pair_with(samples, rms=15))
        self.assertEqual((finding.name, finding.of), ("gain-steps", ("A2x",)))
        self.assertRegex(finding.what, r"changes by \+3\.[0-9] dB (5[89]|6[0-2])\.?\d* ms after")

    def test_phase_walks(self):
        """A third of a cycle in a tenth of a second is more than the sky makes on one place."""
        walking = self.pair[1] * np.exp(2j * np.pi * np.arange(COUNT) / COUNT / 3)
        finding = self.only(self.pair_with(walking))
        self.assertEqual((finding.name, finding.of), ("phase-walks", ("A1x", "A2x")))
        self.assertRegex(finding.what, r"walks by -1[12]\d° in 100.003 ms, 3\.\d cycles a second")

    def test_reversed(self):
        finding = self.only(self.pair_with(np.conj(self.pair[1])))
        self.assertEqual((finding.name, finding.of), ("reversed", ("A1x", "A2x")))

    def test_identical(self):
        finding = self.only(self.pair_with(self.pair[0]))
        self.assertEqual((finding.name, finding.of), ("identical", ("A1x", "A2x")))
        finding = self.only(self.pair_with(-self.pair[0]))
        self.assertEqual(finding.name, "opposite")
        # the same receiver, recorded from a little later on
        finding = self.only(
            self.examine(self.write("a", self.pair[0][:-77]), self.write("b", self.pair[0][77:]))
        )
        self.assertEqual(finding.name, "identical")
        self.assertIn("77 samples apart", finding.what)

    def test_clamped(self):
        """Clamped samples are found with 8 bits, with the 12 bits of a converter in 16, and with
        floats."""
        for kind, rms in (("sc8", 90), ("cu8", 90), ("sc16", 1500)):
            problems = self.found(self.pair_with(self.pair[1], kind, rms=rms))
            self.assertEqual(list(problems), ["clamped"], kind)
            self.assertEqual(problems["clamped"].of, ("A2x",))
        parts = np.clip(self.pair[1].view(np.float32), -1, 1)
        self.assertEqual(
            self.only(self.pair_with(parts.view(np.complex64), "fc32")).name, "clamped"
        )

    def test_carrier_is_not_clamped(self):
        """The extremes of a carrier pile up without being cut."""
        carrier = np.exp(2j * np.pi * 0.137531 * np.arange(COUNT))
        problems = self.found(self.pair_with(0.1 * self.pair[1] + carrier, "sc16", rms=50))
        self.assertEqual(list(problems), ["interference"])
        # 137.5 kHz above the centre, to a channel
        self.assertIn("at 1420.14 MHz", problems["interference"].what)

    def test_interference(self):
        carrier = 0.3 * np.exp(-2j * np.pi * 0.2 * np.arange(COUNT))
        examination = self.pair_with(self.pair[1] + carrier)
        self.assertEqual(self.found(examination), {})
        finding = self.found(examination, NOTICE)["interference"]
        self.assertIn("a narrow line with 8% of the power, at 1419.8 MHz", finding.what)

    def test_silent(self):
        finding = self.only(self.pair_with(np.zeros(COUNT)))
        self.assertEqual((finding.name, finding.of), ("silent", ("A2x",)))
        self.assertIn("is zero throughout", finding.what)
        finding = self.only(self.pair_with(np.full(COUNT, 1 - 1j), rms=10))
        self.assertIn("is stuck at 14 -14i throughout", finding.what)

    def test_zeros(self):
        """Lost samples that were filled up without a word."""
        samples = self.pair[1].copy()
        samples[30000:32000] = 0
        finding = self.only(self.pair_with(samples))
        self.assertEqual(finding.name, "zeros")
        self.assertIn("2.0% of the samples of A2x", finding.what)

    def test_missing(self):
        """Missing samples are found by the times of the files."""
        examination = self.examine(
            self.write("a", self.pair[0]),
            self.write("b", self.pair[1]),
            time="2024-06-01T12:00:00Z;2024-06-01T12:00:00.01Z",
        )
        problems = self.found(examination)
        self.assertIn("missing", problems)
        # both begin at one time in truth, 10000 samples before what is said of the second
        self.assertRegex(problems["offset"].what, "^A1x begins 9.99.* later than A2x, ")
        self.assertIn(
            "its first 10000 samples are missing",
            " ".join(finding.what for finding in examination.findings),
        )

    def test_levels(self):
        finding = self.only(self.pair_with(self.pair[1], rms=0.7))
        self.assertEqual((finding.name, finding.of), ("too-low", ("A2x",)))
        notices = self.found(self.pair_with(self.pair[1], rms=5), NOTICE)
        self.assertEqual(list(notices), ["low"])
        notices = self.found(self.pair_with(self.pair[1] / 30, "fc32"), NOTICE)
        self.assertEqual((list(notices), notices["unequal"].of), (["unequal"], ("A2x",)))

    def test_offset_of_zero(self):
        """A constant; unsigned bytes that were read as signed ones are far from it."""
        notices = self.found(self.pair_with(self.pair[1] + 0.2), NOTICE)
        self.assertEqual(list(notices), ["dc-offset"])
        self.assertEqual(self.only(self.pair_with(self.pair[1] + 2, rms=10)).name, "dc-offset")

    def test_one_component(self):
        self.assertIn("one-component", self.found(self.pair_with(self.pair[1].real)))

    def test_not_numbers(self):
        """Bytes that are read as floats."""
        name = self.write("a", self.pair[0], "cu8")
        self.assertIn("not-numbers", self.found(self.examine(name, type="fc32")))

    def test_times_and_frequencies(self):
        files = [self.write(name, samples) for name, samples in zip("ab", self.pair)]
        for values, expected in (
            ({"time": "5"}, "time"),
            ({"time": "9000-01-01"}, "time"),
            ({"freq": "0"}, "frequency"),
        ):
            self.assertEqual(self.only(self.examine(*files, **values)).name, expected)
        # a few samples, at no frequency, of what has nothing in common
        few = [
            self.write(
                f"{name}3",
                noise(4999, 1, 0.7, seed)[:, 0].astype(np.float32).view(np.complex64)[:, 0],
            )
            for seed, name in enumerate("ab")
        ]
        examination = self.examine(*few, freq="0")
        self.assertEqual(list(self.found(examination)), ["frequency"])
        short = [self.write(f"{name}2", samples[:20000]) for name, samples in zip("ab", self.pair)]
        self.assertEqual(list(self.found(self.examine(*short), NOTICE)), ["short"])

    def test_real_samples(self):
        """DADA of real samples: offsets are counted in these, and the band may be reversed."""
        name = self.path("real.dada")
        rng = np.random.default_rng(5)
        common, own = rng.normal(size=COUNT + 100), rng.normal(size=(COUNT, 2))
        first, later = common[:COUNT], common[40 : COUNT + 40]
        for second, expected in (
            (later, ["offset"]),
            (later * (-1) ** np.arange(COUNT), ["reversed", "offset"]),
        ):
            samples = 12 * (np.stack([first, second], axis=1) + own)
            write_dada(name, np.clip(np.rint(samples), -127, 127))
            problems = self.found(examine_recording(input_text(name), 1))
            self.assertEqual(list(problems), expected)
            self.assertIn("(40.0 samples) later", problems["offset"].what)

    def test_dada(self):
        """Two polarisations that share a fifth of their power."""
        name = self.path("recording.dada")
        write_dada(name, noise(70001))
        examination = examine_recording(input_text(name), 1)
        self.assertEqual(examination.problems, [])
        self.assertIn("coherence 0.20", examination.things[2]["summary"])

    # the command

    def test_command(self):
        good = [self.write(name, samples) for name, samples in zip("ab", self.pair)]
        # the kind follows from the ending
        text = self.text(*good).removeprefix("raw:")
        status, out, err = run(command, text)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("Recording:\n  the recording: 2 inputs of sc8", out)
        self.assertIn("\n  A2x: rms 2", out)
        self.assertIn("Nothing wrong was found.", out)
        self.assertLess(max(map(len, out.splitlines())), 100)
        bad = self.text(good[0], good[0])
        status, out, err = run(command, bad, "--json", "--seconds", "0.05")
        self.assertEqual((status, err), (1, ""))
        self.assertEqual(json.loads(out)["findings"][-1]["name"], "identical")
        self.assertIn("50 ms were looked at", json.loads(out)["recording"][0]["summary"])

    def test_cannot_be_read(self):
        missing = self.path("none.dada")
        for arguments, error in (
            ((missing,), "none.dada: No such file"),
            (("a.cu8",), "rate is missing"),
            ((self.text(missing, type="sc8"), "--seconds", "0"), "--seconds 0"),
            (("sim:nowhere",), "nowhere"),
        ):
            status, out, err = run(command, *arguments)
            self.assertEqual((status, out), (1, ""), arguments)
            self.assertIn(error, err)


if __name__ == "__main__":
    gr_unittest.run(qa_recordings)
