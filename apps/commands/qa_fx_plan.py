#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

from gnuradio import gr_unittest

from gnuradio.aperture.commands import fx_plan


def plan_for(**changes):
    parameters = dict(
        inputs=2, sample_rate=16e6, real=False, taps=8, bytes_per_value=2, samples=160_000_000
    )
    parameters.update(changes)
    return fx_plan.make_plan(**parameters)


class qa_fx_plan(gr_unittest.TestCase):
    # channels

    def test_short_inputs_get_fewer_channels(self):
        # 16000 samples, 8 taps: 128 channels give 125 - 7 = 118 spectra, 256 give 55
        self.assertEqual(fx_plan.choose_channels(16000, False, 8), 128)
        # twice the samples a spectrum
        self.assertEqual(fx_plan.choose_channels(16000, True, 8), 64)
        # 107 spectra's worth of samples are enough, one sample less is not
        self.assertEqual(fx_plan.choose_channels(107 * 1024, False, 8), 1024)
        self.assertEqual(fx_plan.choose_channels(107 * 1024 - 1, False, 8), 512)
        self.assertEqual(fx_plan.choose_channels(None, False, 8), 1024)
        self.assertEqual(fx_plan.choose_channels(10, False, 8), 4)

    def test_the_choice_is_said(self):
        plan = plan_for(samples=16000)
        self.assertEqual(
            (plan.channels, plan.spectra, plan.spectra_per_frame, plan.frames), (128, 118, 118, 1)
        )
        self.assertEqual(len(plan.notes), 1)
        self.assertIn("128 channels", plan.notes[0])
        self.assertEqual(plan_for(samples=16000, channels=128).notes, ())

    def test_too_short(self):
        with self.assertRaisesRegex(ValueError, "16000 samples.*8 taps x 2048 = 16384"):
            plan_for(samples=16000, channels=1024, real=True)
        # 2000 samples more are one spectrum
        self.assertEqual(plan_for(samples=16384, channels=1024, real=True).spectra, 1)

    # frames

    def test_multiples(self):
        """Blocks for a GPU: of a multiple of 16 spectra, integrations as near as those allow."""
        self.assertEqual(fx_plan.choose_times(118, 512, 16), (128, 1))
        for spectra in (2049, 3906, 15625, 65537, 1000003):
            for size in (512, 4096, 131072, 4 << 20):
                times, frames = fx_plan.choose_times(spectra, size, 16)
                self.assertEqual(times % 16, 0)
                self.assertLess(abs(times * frames - spectra), 16)

    def test_frames_have_1_to_128_MB_and_fill_an_integration(self):
        for spectrum_bytes in (16, 512, 4096, 250_000, 3_000_000, 100_000_000, 300_000_000):
            for spectra in (1, 2, 97, 118, 4096, 15625, 65537, 1_000_003):
                times, frames = fx_plan.choose_times(spectra, spectrum_bytes)
                size, whole = times * spectrum_bytes, spectra * spectrum_bytes
                self.assertGreaterEqual(min(times, frames), 1)
                if spectrum_bytes <= fx_plan.MAX_FRAME:
                    self.assertLessEqual(size, fx_plan.MAX_FRAME)
                else:
                    self.assertEqual(times, 1)
                self.assertGreaterEqual(size, min(whole, fx_plan.MIN_FRAME))
                # half a spectrum a frame is the most that rounding can make
                self.assertLessEqual(abs(times * frames - spectra), frames / 2)
        # exactly, where there is a divisor: 15625 = 5^6
        times, frames = fx_plan.choose_times(15625, 4096)
        self.assertEqual(times * frames, 15625)
        # 8 MiB, a multiple of 2 MiB, where powers of two allow it
        self.assertEqual(fx_plan.choose_times(65536, 4096), (2048, 32))

    # integrations

    def test_default_integration(self):
        # 10 s at 16 MHz: one second is 15625 spectra of 1024 channels
        plan = plan_for()
        self.assertEqual((plan.channels, plan.spectra_per_frame * plan.frames), (1024, 15625))
        self.assertAlmostEqual(plan.integration, 1.0, places=12)
        self.assertEqual(plan.notes, ())
        # an input shorter than that: all of it, and nothing to explain
        plan = plan_for(samples=1_600_000)
        self.assertEqual(plan.spectra_per_frame * plan.frames, plan.spectra)
        self.assertEqual(plan.spectra, 1562 - 7)
        self.assertEqual(plan.notes, ())

    def test_rounding_is_said(self):
        plan = plan_for(integration=0.1)
        # 1562.5 spectra
        self.assertEqual(plan.spectra_per_frame * plan.frames, 1562)
        self.assertIn("0.099968 s instead of 0.1 s: rounded to", plan.notes[0])
        plan = plan_for(integration=20.0, channels=1000)
        self.assertEqual(plan.spectra_per_frame * plan.frames, plan.spectra)
        self.assertIn("instead of 20 s: the input is shorter", plan.notes[0])
        plan = plan_for(spectra_per_frame=4000)
        self.assertEqual((plan.spectra_per_frame, plan.frames), (4000, 4))
        self.assertIn("1.024 s instead of 1 s: rounded to 4 frames of 4000 spectra", plan.notes[0])

    def test_simulations_get_the_samples_of_their_last_spectra(self):
        plan = plan_for(samples=None, duration=2.0, inputs=8, integration=0.5, channels=1000)
        self.assertEqual(plan.spectra, 32000)
        self.assertEqual(plan.samples, 32_007_000)
        self.assertEqual(plan.spectra_per_frame * plan.frames * 4, plan.spectra)
        # 0.1 s is 390.625 spectra of 1024 channels at 4 MHz: ten integrations of 391
        plan = plan_for(samples=None, duration=1.0, sample_rate=4e6, integration=0.1)
        self.assertEqual((plan.spectra_per_frame * plan.frames, plan.spectra), (391, 3910))
        # 2.5 integrations stay what they are: 976.5625 spectra
        plan = plan_for(samples=None, duration=0.25, sample_rate=4e6, integration=0.1)
        self.assertEqual((plan.spectra_per_frame * plan.frames, plan.spectra), (391, 977))
        # rounding up a short integration, or to a long frame, does not make the whole longer:
        # 0.01 s is 156 spectra of 256 channels
        for changes, integrated in (
            (dict(integration=1e-9), 1),
            (dict(integration=1e-4), 2),
            (dict(spectra_per_frame=100), 200),
            (dict(spectra_per_frame=100000), 100000),
        ):
            plan = plan_for(samples=None, duration=0.01, sample_rate=4e6, channels=256, **changes)
            self.assertEqual(plan.spectra_per_frame * plan.frames, integrated)
            self.assertLessEqual(abs(plan.spectra - 156), 56)
            if "integration" in changes:
                self.assertEqual(plan.spectra % integrated, 0)
        endless = plan_for(samples=None)
        self.assertIsNone(endless.spectra)
        self.assertIsNone(endless.samples)
        self.assertAlmostEqual(endless.integration, 1.0)


if __name__ == "__main__":
    gr_unittest.run(qa_fx_plan)
