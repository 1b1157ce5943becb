#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Channels, frames and integrations that are chosen for any instrument."""

import math
import random
import re

from gnuradio import gr_unittest

from gnuradio.aperture.builder import sizes
from gnuradio.aperture.builder.frames import MAX_FRAME
from gnuradio.aperture.builder.sizes import MIN_FRAME, choose_sizes
from gnuradio.aperture.parameters.errors import ParameterError

#: the rule, with room for the rounding of numbers in texts
TOLERANCE = 0.01 * (1 + 1e-6)


def plan_for(**changes):
    """Two inputs, 16 MHz, ten seconds."""
    parameters = dict(
        inputs=2, sample_rate=16e6, real=False, taps=8, bytes_per_value=2, samples=160_000_000
    )
    parameters.update(changes)
    return choose_sizes(**parameters)


def beams_for(**changes):
    """20 MHz, 32 inputs, 1024 channels of sc8: a spectrum is 64 KiB and takes 51.2 us."""
    parameters = dict(
        inputs=32,
        sample_rate=20e6,
        real=False,
        taps=8,
        bytes_per_value=2,
        channels=1024,
        correlates=False,
        detects=True,
    )
    parameters.update(changes)
    return choose_sizes(**parameters)


class qa_sizes(gr_unittest.TestCase):
    # channels

    def test_short_inputs_get_fewer_channels(self):
        # 16000 samples, 8 taps: 128 channels give 125 - 7 = 118 spectra, 256 give 55
        self.assertEqual(sizes.choose_channels(16000, False, 8), 128)
        # twice the samples a spectrum
        self.assertEqual(sizes.choose_channels(16000, True, 8), 64)
        # 107 spectra's worth of samples are enough, one sample less is not
        self.assertEqual(sizes.choose_channels(107 * 1024, False, 8), 1024)
        self.assertEqual(sizes.choose_channels(107 * 1024 - 1, False, 8), 512)
        self.assertEqual(sizes.choose_channels(None, False, 8), 1024)
        self.assertEqual(sizes.choose_channels(10, False, 8), 4)

    def test_the_choice_is_said(self):
        found = plan_for(samples=16000)
        self.assertEqual(
            (found.channels, found.spectra, found.spectra_per_frame, found.frames),
            (128, 118, 118, 1),
        )
        self.assertEqual(len(found.notes), 1)
        self.assertIn("128 channels", found.notes[0])
        self.assertEqual(plan_for(samples=16000, channels=128).notes, ())

    def test_too_short(self):
        with self.assertRaisesRegex(ValueError, "16000 samples.*8 taps x 2048 = 16384"):
            plan_for(samples=16000, channels=1024, real=True)
        # 2000 samples more are one spectrum
        self.assertEqual(plan_for(samples=16384, channels=1024, real=True).spectra, 1)

    # integrations of visibilities

    def test_default_integration(self):
        # 10 s at 16 MHz: one second is 15625 spectra of 1024 channels, 5^6
        found = plan_for()
        self.assertEqual((found.channels, found.visibilities), (1024, 15625))
        self.assertAlmostEqual(found.integration, 1.0, places=12)
        self.assertEqual(found.notes, ())
        # an input shorter than that: all of it, and nothing to explain
        found = plan_for(samples=1_600_000)
        self.assertEqual(found.visibilities, found.spectra)
        self.assertEqual(found.spectra, 1562 - 7)
        self.assertEqual(found.notes, ())
        # 8 MiB, a multiple of 2 MiB, where powers of two allow it
        found = plan_for(sample_rate=65536 * 1024, samples=None)
        self.assertEqual((found.spectra_per_frame, found.frames), (2048, 32))

    def test_rounding_is_said(self):
        found = plan_for(integration=0.1)
        # 1562.5 spectra
        self.assertEqual(found.visibilities, 1562)
        self.assertIn("0.099968 s instead of 0.1 s: rounded to", found.notes[0])
        found = plan_for(integration=20.0, channels=1000)
        self.assertEqual(found.visibilities, found.spectra)
        self.assertIn("instead of 20 s: the input is shorter", found.notes[0])
        # nobody asked for a second
        found = plan_for(spectra_per_frame=4000)
        self.assertEqual((found.spectra_per_frame, found.frames), (4000, 4))
        self.assertIn("1.024 s instead of 1 s: rounded to 4 frames of 4000 spectra", found.notes[0])

    def test_frames_are_fast_where_no_length_is_exact(self):
        """2 s of 20 MHz are 39062.5 spectra. The nearest multiple of 16 is 16 x 2441, a prime: frames
        of 16 spectra, where kernels sum 32 at a time. As good within 0.1 % is 64 x 610."""
        found = plan_for(
            sample_rate=20e6, inputs=64, channels=1024, integration=2.0, multiple=16, samples=None
        )
        self.assertEqual((found.spectra_per_frame, found.frames), (64, 610))
        # a length that can be had exactly is not changed
        found = plan_for(
            sample_rate=20e6, inputs=64, channels=1000, integration=2.0, multiple=16, samples=None
        )
        self.assertEqual((found.visibilities, found.notes), (40000, ()))

    def test_what_cannot_be_is_refused_with_what_can(self):
        """1 s is 15625 spectra, and 3 frames of 4000 are 0.768 s, 4 of them 1.024 s."""
        with self.assertRaisesRegex(
            ParameterError,
            "^engines.integration: cannot be had within 1 %: frames are 4000 spectra of "
            "6.4e-05 s, and .*; expected 0.768 or 1.024 s$",
        ):
            plan_for(spectra_per_frame=4000, integration=1.0)
        # frames of a GPU; 1562 spectra are 97.6 times 16
        with self.assertRaisesRegex(ParameterError, "multiples of 640 .* 0.08192 or 0.12288 s$"):
            plan_for(integration=0.1, multiple=640)
        self.assertEqual(plan_for(integration=0.1, multiple=16).visibilities, 1568)
        # no integration is shorter than a spectrum
        with self.assertRaisesRegex(ParameterError, "engines.* whole spectra .* 6.4e-05 s$"):
            plan_for(integration=1e-9)
        # nobody sees it: where nothing is written, or by F-engines of a host
        self.assertEqual(plan_for(integration=1e-9, firm=False).visibilities, 1)

    def test_frames_fit_integrations_that_are_no_multiples_of_each_other(self):
        # 62500 spectra a second: 0.25 s are 12.5 of 0.02 s, and both have whole frames of 0.01 s
        four = dict(sample_rate=4e6, channels=64, inputs=8, samples=10**7)
        for lengths in ([0.02], [0.02, 0.05], [0.02, 0.125], [0.05, 0.02, 0.15]):
            shorter = [(f"products.p{n}.integration", each) for n, each in enumerate(lengths)]
            found = plan_for(**four, integration=0.25, shorter=shorter)
            self.assertAlmostEqual(found.integration, 0.25, delta=0.25 * TOLERANCE)
            for name, each in shorter:
                length = found.frames_of(name, each) * found.frame_length
                self.assertAlmostEqual(length, each, delta=each * TOLERANCE)
        # a chosen frame stays
        with self.assertRaisesRegex(ParameterError, "engines.integration: .*1250 spectra: 0.24 s"):
            plan_for(**four, integration=0.25, shorter=[("x", 0.02)], spectra_per_frame=1250)

    def test_simulations_get_the_samples_of_their_last_spectra(self):
        found = plan_for(samples=None, duration=2.0, inputs=8, integration=0.5, channels=1000)
        self.assertEqual(found.spectra, 32000)
        self.assertEqual(found.samples, 32_007_000)
        self.assertEqual(found.visibilities * 4, found.spectra)
        # 0.1 s is 390.625 spectra of 1024 channels at 4 MHz: ten integrations of 391
        found = plan_for(samples=None, duration=1.0, sample_rate=4e6, integration=0.1)
        self.assertEqual((found.visibilities, found.spectra), (391, 3910))
        # 2.5 integrations stay what they are: 976.5625 spectra
        found = plan_for(samples=None, duration=0.25, sample_rate=4e6, integration=0.1)
        self.assertEqual((found.visibilities, found.spectra), (391, 977))
        # frames that are long do not make the whole longer: 0.01 s is 156 spectra of 256 channels
        for frame, integrated in ((100, 200), (100000, 100000)):
            found = plan_for(
                samples=None, duration=0.01, sample_rate=4e6, channels=256, spectra_per_frame=frame
            )
            self.assertEqual(found.visibilities, integrated)
            self.assertLessEqual(abs(found.spectra - 156), 56)
        endless = plan_for(samples=None)
        self.assertIsNone(endless.spectra)
        self.assertIsNone(endless.samples)
        self.assertAlmostEqual(endless.integration, 1.0)

    # integrations of powers

    def test_powers_are_parts_of_a_frame(self):
        found = beams_for()
        self.assertEqual((found.powers, found.spectra_per_frame), (20, 120))  # 7.5 MiB
        self.assertAlmostEqual(found.power_integration, 20 * 51.2e-6)
        self.assertIn("instead of 0.001 s: 20 spectra", found.notes[0])
        found = beams_for(power_integration=1.024e-3)
        self.assertEqual((found.powers, found.notes), (20, ()))
        with self.assertRaisesRegex(
            ParameterError, "^beams.integration: .*expected 0.0009728 or 0.001024 s$"
        ):
            beams_for(power_integration=1e-3)
        # whole frames
        found = beams_for(power_integration=0.5)
        self.assertEqual(found.powers % found.spectra_per_frame, 0)
        self.assertAlmostEqual(found.power_integration, 0.5, delta=0.005)

    def test_recordings_and_simulations_of_beams(self):
        found = beams_for(samples=1024 * 107)
        self.assertEqual((found.spectra, found.powers), (100, 20))
        self.assertEqual(found.spectra_per_frame, 100)  # not longer than the recording
        # 64 channels would do for 100 spectra of a short one
        self.assertLess(beams_for(samples=20000, channels=None).channels, 1024)
        found = beams_for(duration=0.1)
        self.assertEqual(found.spectra % 20, 0)
        self.assertAlmostEqual(found.spectra * 51.2e-6, 0.1, delta=20 * 51.2e-6)
        found = beams_for(duration=1e-3, power_integration=1.0)
        self.assertEqual(found.powers, found.spectra)

    def test_short_frames_where_weights_hold_shortly(self):
        for hold, multiple in ((0.04, 1), (0.4, 16), (0.011, 16)):
            found = beams_for(weights_hold=hold, multiple=multiple, inputs=2)
            self.assertLessEqual(found.frame_length, hold / 4)
            self.assertGreater(found.frame_length, hold / 8)
            self.assertEqual(found.spectra_per_frame % multiple, 0)
        # calls for shorter ones cost too much: 2 ms or 1 MB are allowed, and so is a multiple
        self.assertEqual(beams_for(weights_hold=1e-6).spectra_per_frame, 10)
        self.assertLessEqual(beams_for(weights_hold=1e-6, inputs=2).frame_length, 2.1e-3)

    # both together

    def test_both_fit_into_each_other(self):
        """Plans of 0.5 s gave 0.387 s once, and 1 s became 1.161 s."""
        for asked in (0.5, 1.0):
            for powers in (1e-3, 2e-3, 1e-2):
                found = plan_for(
                    samples=None,
                    inputs=8,
                    sample_rate=4e6,
                    channels=512,
                    integration=asked,
                    detects=True,
                    power_integration=0.128e-3 * round(powers / 0.128e-3),
                )
                self.assertLessEqual(abs(found.integration - asked), TOLERANCE * asked)
                self.assertEqual(found.spectra_per_frame % found.powers, 0)
        # exactly, as there are divisors: 100 spectra of powers, 5000 of visibilities
        found = plan_for(
            sample_rate=1e6,
            samples=None,
            channels=100,
            integration=0.5,
            detects=True,
            power_integration=1e-2,
        )
        self.assertEqual((found.visibilities, found.powers, found.notes), (5000, 100, ()))

    def test_a_short_integration_is_one_frame(self):
        """Visibilities of 781.25 spectra and powers of 31.25: 25 times 31 are near enough, but not
        26 times; and one frame has all of them."""
        found = plan_for(
            inputs=8,
            sample_rate=2e5,
            channels=64,
            detects=True,
            samples=None,
            integration=0.25,
            power_integration=0.01,
        )
        self.assertEqual((found.visibilities, found.powers), (775, 31))
        self.assertEqual(found.spectra_per_frame, 775)

    def test_a_default_bends(self):
        """Powers of about 1 ms take another length where that fits what was asked for."""
        common = dict(inputs=100, sample_rate=123456789.0, channels=4096, bytes_per_value=8)
        found = plan_for(**common, multiple=16, integration=0.3, detects=True, samples=None)
        self.assertAlmostEqual(found.integration, 0.3, delta=0.003)
        self.assertLessEqual(found.spectra_per_frame * 100 * 4096 * 8, MAX_FRAME)
        self.assertTrue(0.5e-3 < found.power_integration < 2e-3)

    def random_case(self, rng):
        """The parameters of an instrument, and of what it integrates."""
        any_of = rng.choice
        case = dict(
            inputs=any_of([2, 3, 4, 7, 8, 16, 31, 32, 64, 100, 256, 1000, 1024]),
            channels=any_of([16, 30, 64, 100, 128, 256, 1000, 1024, 4096, 4098, 8192, 32768, None]),
            sample_rate=any_of([1e5, 250e3, 1e6, 2.4e6, 4e6, 16e6, 20e6, 123456789.0, 1.712e9]),
            real=rng.random() < 0.3,
            taps=any_of([4, 8]),
            bytes_per_value=any_of([2, 8]),
            # on a GPU, with slices of flags, and heaps of a network
            multiple=any_of([1, 1, 1, 16, 16, 48, 64, 100]),
            **any_of([{}, {}, dict(samples=10**6 + 7), dict(samples=10**8), dict(duration=2.5)]),
        )
        seconds = lambda low, high: any_of(
            [
                any_of([n for n in (1e-3, 2e-3, 5e-3, 1e-2, 0.1, 0.25, 0.5, 1.0, 2.0, 10.0)
                        if low <= n <= high]),
                math.exp(rng.uniform(math.log(low), math.log(high))),
            ]
        )  # fmt: skip
        kind = any_of(["visibilities", "powers", "both", "both"])
        if kind != "powers":
            case["integration"] = any_of([None, seconds(50e-6, 10)])
        if kind != "visibilities":
            case["power_integration"] = any_of([None, seconds(50e-6, 1)])
            case["weights_hold"] = any_of([math.inf, 0.011, 0.04, 0.4, 10])
        return dict(case, correlates=kind != "powers", detects=kind != "visibilities")

    def check_rules(self, case, found):
        """The rules that hold whatever is asked for."""
        times, spectrum = found.spectra_per_frame, found.hop / found.sample_rate
        size = times * case["inputs"] * found.channels * case["bytes_per_value"]
        self.assertEqual(times % case["multiple"], 0)
        for field, seconds, count in (
            ("integration", case.get("integration"), found.visibilities),
            ("power_integration", case.get("power_integration"), found.powers),
        ):
            if count is None:
                continue
            fits = count % times == 0 or (field[0] == "p" and times % count == 0)
            self.assertTrue(fits, (times, count))
            whole = found.spectra is not None and (seconds or 1) > found.spectra * spectrum
            if seconds is not None and not whole:
                self.assertLessEqual(abs(getattr(found, field) - seconds), TOLERANCE * seconds)
        # 1 to 128 MB, where they can be: one ring holds four of them
        if times > case["multiple"]:
            self.assertLessEqual(size, MAX_FRAME)
        counts = [count for count in (found.visibilities, found.powers) if count is not None]
        hold = case.get("weights_hold", math.inf)
        # a frame that is a divisor may be half as long
        short = size < MIN_FRAME / 2 and times * spectrum < 1e-3
        self.assertFalse(
            short and times < 0.98 * min(counts) and math.isinf(hold), (times, counts, size)
        )

    def check_refusal(self, case, error):
        """All that a refusal offers can be had, one at a time, or both together."""
        found = re.match(
            r"(\w+)\.integration: .* expected ([\d.e+-]+)(?: or ([\d.e+-]+))? s"
            r"(?:, (or|with) beams\.integration of ([\d.e+-]+)(?: or ([\d.e+-]+))? s)?$",
            str(error),
        )
        self.assertTrue(found, error)
        names = {"engines": "integration", "beams": "power_integration"}
        first = [{names[found[1]]: float(text)} for text in (found[2], found[3]) if text]
        second = [{"power_integration": float(text)} for text in (found[5], found[6]) if text]
        offers = first + second
        if found[4] == "with":
            offers = [{**first[0], **other} for other in second]
        for offer in offers:
            self.check_rules({**case, **offer}, choose_sizes(**{**case, **offer}))

    def test_any_instrument(self):
        """Every plan obeys the rules, or is refused with what can be had."""
        rng = random.Random(20261128)
        refused = chosen = 0
        for _ in range(1000):
            case = self.random_case(rng)
            with self.subTest(**case):
                try:
                    found = choose_sizes(**case)
                except ParameterError as error:
                    refused += 1
                    self.check_refusal(case, error)
                except ValueError as error:
                    self.assertIn("--channels or --taps must be less", str(error))
                else:
                    chosen += 1
                    self.check_rules(case, found)
        self.assertGreater(min(refused, chosen), 200)


if __name__ == "__main__":
    gr_unittest.run(qa_sizes)
