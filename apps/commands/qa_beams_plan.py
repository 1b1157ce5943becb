#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

from gnuradio import gr_unittest

from gnuradio.aperture.commands.beams_plan import cut_frames, make_beams_plan
from gnuradio.aperture.commands.fx_plan import MAX_FRAME


def plan(**changes):
    """20 MHz, 32 inputs, 1024 channels of sc8: a spectrum is 64 KiB and takes 51.2 us."""
    return make_beams_plan(
        **{
            **dict(
                inputs=32,
                sample_rate=20e6,
                real=False,
                taps=8,
                bytes_per_value=2,
                channels=1024,
                samples=None,
                duration=None,
            ),
            **changes,
        }
    )


class qa_beams_plan(gr_unittest.TestCase):
    def test_one_divides_the_other(self):
        for integrated in (1, 2, 7, 20, 97, 128, 1000, 4999, 100003):
            for spectrum in (16, 4096, 65536, 1 << 20, 9 << 20):
                for spectra in (None, 1, 50, 12345):
                    for multiple in (1, 16):
                        found, times, frames = cut_frames(integrated, spectrum, spectra, multiple)
                        what = (integrated, spectrum, spectra, multiple, found, times, frames)
                        self.assertEqual(times % multiple, 0, what)
                        if frames > 1:
                            self.assertEqual(found, times * frames, what)
                        else:
                            self.assertEqual(times % found, 0, what)
                        if integrated * spectrum <= 8 << 20:
                            self.assertEqual(found, integrated, what)
                        if times > 16 and times > integrated * multiple:
                            self.assertLessEqual(times * spectrum, MAX_FRAME, what)

    def test_sizes(self):
        found = plan(integration=1e-3)
        self.assertEqual((found.integrated, found.frames), (20, 1))
        self.assertEqual(found.spectra_per_frame, 120)  # 7.5 MiB
        self.assertAlmostEqual(found.integration, 20 * 51.2e-6)
        self.assertIn("instead of 0.001 s: 20 spectra", found.notes[0])
        found = plan(integration=1.024e-3)
        self.assertEqual((found.integrated, found.notes), (20, ()))
        found = plan(integration=0.5)
        self.assertEqual(found.integrated, found.spectra_per_frame * found.frames)
        self.assertAlmostEqual(found.integration, 0.5, delta=0.005)
        # the shortest there is
        self.assertEqual(plan(integration=1e-6).integrated, 1)

    def test_short_frames_where_weights_hold_shortly(self):
        for hold, integration, multiple in (
            (0.04, 1e-3, 1),
            (0.04, 0.5, 1),
            (0.4, 1e-3, 16),
            (0.011, 2e-4, 16),
            (0.011, 4.7e-3, 16),
        ):
            found = plan(weights_hold=hold, integration=integration, multiple=multiple, inputs=2)
            self.assertLessEqual(found.frame_length, hold / 4)
            self.assertGreater(found.frame_length, hold / 8)
            self.assertEqual(found.spectra_per_frame % multiple, 0)
            self.assertTrue(
                found.integrated % found.spectra_per_frame == 0
                or found.spectra_per_frame % found.integrated == 0
            )
            self.assertAlmostEqual(found.integration / integration, 1, delta=0.15)
        # calls for shorter ones cost too much: 2 ms or 1 MB are allowed, and so is a multiple
        # half of an integration, 0.6 MB
        self.assertEqual(plan(weights_hold=1e-6).spectra_per_frame, 10)
        self.assertLessEqual(plan(weights_hold=1e-6, inputs=2).frame_length, 2.1e-3)
        self.assertEqual(plan(weights_hold=1e-6, inputs=128, multiple=16).spectra_per_frame, 16)

    def test_whole_integrations_of_a_simulation(self):
        found = plan(duration=0.1, integration=1e-3)
        self.assertEqual(found.spectra % 20, 0)
        self.assertAlmostEqual(found.spectra * 51.2e-6, 0.1, delta=20 * 51.2e-6)
        found = plan(duration=1e-3, integration=1.0)
        self.assertEqual(found.integrated, found.spectra)

    def test_recordings(self):
        found = plan(samples=1024 * 107, integration=1e-3)
        self.assertEqual((found.spectra, found.integrated), (100, 20))
        self.assertEqual(found.spectra_per_frame, 100)  # not longer than the recording
        with self.assertRaisesRegex(ValueError, "taps"):
            plan(samples=1024 * 7)
        # 64 channels would do for 100 spectra of a short one
        self.assertLess(plan(samples=20000, channels=None).channels, 1024)


if __name__ == "__main__":
    gr_unittest.run(qa_beams_plan)
