#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures of folded profiles, and what they are made of."""

import contextlib
import io
import os
import tempfile
import unittest
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from gnuradio.aperture.commands.plot import main
from gnuradio.aperture.formats.psrfits.profiles import read_profiles, write_profiles
from gnuradio.aperture.plots.plot_profiles import over_frequency, over_time, profile_figure
from gnuradio.aperture.transients.dispersion import delay
from gnuradio.aperture.transients.folding import (
    FoldedProfiles,
    dedispersed,
    profile,
    rotate,
    signal_to_noise,
)

PERIOD, DM, BINS, CHANNELS = 0.5, 30.0, 63, 9


def model(subints=3):
    """A pulse at phase 0.25 at infinite frequency, of a bandpass, without noise; some is
    missing."""
    channels = 400e6 + 1e6 * np.arange(CHANNELS)
    late = delay(DM, channels) / PERIOD
    phases = (np.arange(BINS) + 0.5) / BINS
    off = (phases - 0.25 - late[:, None] + 0.5) % 1 - 0.5
    shape = 1 + 0.5 * np.exp(-(off**2) / (2 * 0.02**2))
    bandpass = np.linspace(1, 3, CHANNELS)[:, None]
    powers = np.broadcast_to(bandpass * shape, (subints, 1, CHANNELS, BINS)).copy()
    counts = np.full(powers.shape, 100.0)
    powers[1, :, 4] = counts[1, :, 4] = 0  # nothing came
    return FoldedProfiles(
        powers=powers,
        counts=counts,
        times=[(1704067200 + 10 * i, 0.25) for i in range(subints)],
        lengths=np.full(subints, 10.0),
        frequencies=np.full(subints, 1 / PERIOD),
        channels=channels,
        dm=DM,
        source="B0000+00",
        beam="zenith",
    )


class TestProfiles(unittest.TestCase):
    def test_rotate(self):
        """Whole bins are shifted as they are; sums stay; there and back is nothing."""
        rng = np.random.default_rng(3)
        for bins in (16, 17):
            values = rng.random((3, bins))
            np.testing.assert_allclose(
                rotate(values, 5 / bins), np.roll(values, -5, axis=-1), atol=1e-12
            )
            shifted = rotate(values, [0.1, 0.33, 0.71])
            np.testing.assert_allclose(shifted.sum(axis=-1), values.sum(axis=-1))

    def test_dedispersed(self):
        """Channels are lined up at the phase of infinite frequency; what is missing is left out."""
        folded = model()
        values = profile(folded)
        self.assertEqual(np.argmax(values), 15)  # (15 + 0.5) / 63 is nearest to 0.25
        self.assertLess(abs(values.mean()), 1e-12)
        # 0.5 of what is under it, less the mean of the pulse
        self.assertAlmostEqual(
            values.max() - values.min(), 0.5 / (1 + 0.5 * 0.02 * 2.5066), delta=0.02
        )  # the peak is between bins
        wrong = profile(folded, 0.0)
        self.assertLess(wrong.max(), 0.8 * values.max())
        self.assertEqual(dedispersed(folded).shape, folded.powers.shape)
        shown, weights = over_frequency(folded, DM)
        np.testing.assert_array_equal(np.argmax(shown, axis=1), 15)
        self.assertEqual(weights[4], 200)
        np.testing.assert_array_equal(np.argmax(over_time(folded, DM), axis=1), 15)

    def test_signal_to_noise(self):
        rng = np.random.default_rng(4)
        values = rng.standard_normal(4000)
        values[17] += 30
        self.assertAlmostEqual(signal_to_noise(values), 30 + values[17] - 30, delta=2)

    def test_file(self):
        """Profiles come back from PSRFITS; a damaged or foreign file is one clear error."""
        folded = model()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.fits")
            write_profiles(path, folded)
            read = read_profiles(path)
            np.testing.assert_allclose(read.powers, folded.powers, atol=1.5 / 60000)
            np.testing.assert_array_equal(read.counts, folded.counts)
            for (a, b), (c, d) in zip(read.times, folded.times):
                self.assertLess(abs(a - c + b - d), 1e-9)
            self.assertEqual((read.source, read.beam, read.dm), ("B0000+00", "zenith", DM))
            with open(path, "rb") as file:
                data = file.read()
            for damaged in (b"", data[:2880], data[:20000], b"x" * 5000):
                with open(path, "wb") as file:
                    file.write(damaged)
                with self.assertRaisesRegex(ValueError, "p.fits: "):
                    read_profiles(path)

    def test_title(self):
        """The name once, and the time when the first sub-integration began, of a file that says
        when that was and of one that does not."""
        begins = {
            None: "2023-12-31 23:59:55",
            (1704067197, 0.9999): "2023-12-31 23:59:58",
            (1704067195, 0.2): "2023-12-31 23:59:55",
        }
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.fits")
            for start, text in begins.items():
                for source, beam, name in (
                    ("B0329+54", "PSR B0329+54 x", "PSR B0329+54 x"),
                    ("B0329+54", "zenith", "B0329+54 zenith"),
                ):
                    write_profiles(path, replace(model(), start=start, source=source, beam=beam))
                    figure = profile_figure(path)
                    title = (
                        figure.get_suptitle()
                        if hasattr(figure, "get_suptitle")
                        else figure._suptitle.get_text()
                    )
                    plt.close(figure)
                    self.assertIn(f" from {text} UTC", title)
                    self.assertTrue(title.startswith(f"{name}: period"), title)

    def test_command(self):
        """aperture_plot draws it, with another DM if asked, and refuses what does not fit."""
        with tempfile.TemporaryDirectory() as folder:
            path, picture = (os.path.join(folder, name) for name in ("p.fits", "p.png"))
            write_profiles(path, model())
            for more in ([], ["--dm", "0"]):
                self.assertEqual(main([path, "-o", picture, "--dpi", "40", *more]) or 0, 0)
                self.assertGreater(os.path.getsize(picture), 5000)
            for arguments in (
                [path, path, "-o", picture],
                [path, "-o", picture, "--dm", "-1"],
                [path, "-o", picture, "--integration", "3"],
            ):
                said = io.StringIO()
                with contextlib.redirect_stderr(said):
                    self.assertNotEqual(main(arguments), 0)
                self.assertIn("aperture_plot", said.getvalue())


if __name__ == "__main__":
    unittest.main()
