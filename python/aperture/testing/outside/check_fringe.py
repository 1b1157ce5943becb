#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Correlates the VDIF of two simulated stations, which baseband reads, and looks whether delay, rate
and phase of the fringe are those of the geometry: check_fringe.py FOLDER

Nothing here is of gr-aperture. A wave of frequency f that comes later by tau has the phase
-2 pi f tau, and a real sample of the upper sideband that of the sky at its band's beginning.
"""

import json
import sys
import unittest
import warnings
from pathlib import Path

import numpy as np
from astropy import units
from astropy.time import Time
from baseband import vdif

FOLDER = Path(sys.argv.pop())
LIGHT = 299792458.0
POINTS = 4000  # samples of a transform: 1 ms
KEPT_BY_2_BITS = 0.8825
warnings.simplefilter("ignore")


def read(name, rate):
    """Samples of a station, and the time of the first one."""
    with vdif.open(str(FOLDER / f"{name}.vdif"), "rs", sample_rate=rate * units.Hz) as file:
        if file.header0.station != name:
            raise AssertionError(f"station {file.header0.station}")
        return file.read().astype(float), file.start_time


class CheckFringe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.told = told = json.loads((FOLDER / "fringe.json").read_text())
        cls.rate = 2 * told["width"]
        (one, start), (other, begin) = (read(name, cls.rate) for name in told["stations"])
        # both begin at a whole sample of one second
        shift = ((begin - start) * cls.rate * units.Hz).to_value(units.one)
        cls.beside = abs(shift - round(shift))
        shift = round(shift)
        one, other = one[max(0, shift) :], other[max(0, -shift) :]
        count = min(len(one), len(other)) // POINTS
        spectra = [
            np.fft.rfft(each[: count * POINTS].reshape(count, POINTS), axis=1)
            for each in (one, other)
        ]
        #: [time][frequency]: the second station's times the first one's conjugate
        cls.cross = spectra[1] * spectra[0].conj()
        cls.power = np.sqrt(np.mean(np.abs(spectra[0]) ** 2) * np.mean(np.abs(spectra[1]) ** 2))
        first = start + max(0, shift) / cls.rate * units.s
        middle = Time(told["middle"] // 1, told["middle"] % 1, format="unix")
        cls.times = (first - middle).to_value(units.s) + (np.arange(count) + 0.5) * (
            POINTS / cls.rate
        )
        cls.frequencies = np.arange(POINTS // 2 + 1) * cls.rate / POINTS
        # the flat part, without the edges of the filter
        cls.inner = (cls.frequencies > 0.04 * told["width"]) & (
            cls.frequencies < 0.96 * told["width"]
        )

    def expected(self):
        """Delay of the second station in seconds at times [time], by the geometry."""
        near, far = (np.array(place) for place in self.told["stations"].values())
        table = np.array(self.told["directions"])
        delays = -(table[:, 1:] @ (far - near)) / LIGHT
        return np.polyval(np.polyfit(table[:, 0], delays, 3), self.times)

    def fringe(self):
        """Delay (s), rate (s/s) and phase (rad) at the middle of the data, at the band's middle,
        as they are found without a model."""
        cross = self.cross * self.inner
        # the delay is where the lags have most power, over all times
        lags = np.fft.irfft(cross, 16 * POINTS, axis=1)
        best = int(np.argmax(np.sum(lags**2, axis=0)))
        best -= 16 * POINTS * (best > 8 * POINTS)
        delay = best / (16 * self.rate)
        middle = self.told["width"] / 2
        for _ in range(4):
            turned = cross * np.exp(2j * np.pi * (self.frequencies - middle) * delay)
            # the rate by the phases of the band over time
            band = turned.sum(axis=1)
            step = self.times[1] - self.times[0]
            fringes = np.fft.fft(band, 64 * len(band))
            hertz = np.fft.fftfreq(64 * len(band), step)[np.argmax(np.abs(fringes))]
            here = self.times - self.times.mean()
            stopped = band * np.exp(-2j * np.pi * hertz * here)
            phases = np.angle(stopped * np.exp(-1j * np.angle(stopped.sum())))
            hertz += np.polyfit(here, phases, 1)[0] / (2 * np.pi)
            stopped = turned * np.exp(-2j * np.pi * hertz * here)[:, None]
            profile = stopped.sum(axis=0)[self.inner]
            slope = np.angle(profile * np.exp(-1j * np.angle(profile.sum())))
            delay -= np.polyfit(self.frequencies[self.inner], slope, 1)[0] / (2 * np.pi)
        sky = self.told["first"] + middle
        return delay, -hertz / sky, np.angle(stopped.sum()), stopped

    def test_fringe(self):
        self.assertLess(self.beside, 1e-6)
        self.assertGreater(len(self.times), 500)
        delay, rate, phase, _ = self.fringe()
        expected = self.expected()
        sky = self.told["first"] + self.told["width"] / 2
        print(f"delay {delay * 1e9:.3f} ns, expected {expected.mean() * 1e9:.3f} ns")
        slope = np.polyfit(self.times - self.times.mean(), expected, 1)[0]
        print(f"rate {rate * sky:.5f} Hz, expected {slope * sky:.5f} Hz")
        turns = (phase / (2 * np.pi) + sky * expected.mean() + 0.5) % 1 - 0.5
        print(f"phase {np.degrees(phase):.2f} deg, {360 * turns:.2f} deg from the expected one")
        # 1 ns of 8 us is five times the noise of 2 MHz in 0.6 s, 0.2 ns
        self.assertGreater(abs(expected.mean()), 2e-6)
        self.assertLess(abs(delay - expected.mean()), 3e-9)
        self.assertGreater(abs(slope * sky), 0.1)
        self.assertLess(abs(rate - slope) * sky, 0.01)
        self.assertLess(abs(360 * turns), 2)

    def test_amplitude(self):
        """Two bits keep 0.88 of the correlation of the two beams."""
        *_, stopped = self.fringe()
        delays = self.expected()
        # the part of a transform that both have of the same wave
        overlap = 1 - abs(delays.mean()) * self.rate / POINTS
        found = abs(stopped.sum()) / (self.power * len(self.times) * self.inner.sum())
        signal = self.told["flux"] * self.told["antennas"]
        expected = KEPT_BY_2_BITS * signal / (1 + signal)
        print(f"correlation {found / overlap:.4f}, expected {expected:.4f}")
        self.assertLess(abs(found / overlap / expected - 1), 0.04)


if __name__ == "__main__":
    unittest.main()
