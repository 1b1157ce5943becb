# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Receivers, as SoapySDR's driver aperture_test (tests/soapy) plays them: the commands on them find
what they hide.
"""

import json
import os
import unittest

import numpy as np

from places import BUILD, main, run

PLUGINS = BUILD / "tests/soapy"
RATE = 2.4e6


def need_receivers(test):
    """Skips a test without SoapySDR; fails it with APERTURE_REQUIRE_OUTSIDE=1."""
    try:
        import SoapySDR  # noqa: F401
        from gnuradio import soapy  # noqa: F401
        missing = "" if list(PLUGINS.glob("*.so")) else "libsoapysdr-dev"
    except ImportError:
        missing = "python3-soapysdr"
    if missing and os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1":
        test.fail(f"{missing} is not installed")
    elif missing:
        test.skipTest(f"{missing} is not installed")


def environment(connected=None):
    """That of a program which finds the played receivers."""
    found = {**os.environ, "SOAPY_SDR_PLUGIN_PATH": str(PLUGINS)}
    found.pop("APERTURE_TEST_RECEIVERS", None)
    if connected is not None:
        found["APERTURE_TEST_RECEIVERS"] = connected
    return found


READ = """
import sys, numpy as np, SoapySDR
from SoapySDR import SOAPY_SDR_RX, SOAPY_SDR_CF32
results = []
for arguments, count in zip(sys.argv[2::2], sys.argv[3::2]):
    device = SoapySDR.Device(arguments)
    device.setSampleRate(SOAPY_SDR_RX, 0, 2.4e6)
    device.setFrequency(SOAPY_SDR_RX, 0, 100e6)
    device.setGainMode(SOAPY_SDR_RX, 0, False)
    device.setGain(SOAPY_SDR_RX, 0, 30)
    stream = device.setupStream(SOAPY_SDR_RX, SOAPY_SDR_CF32)
    device.activateStream(stream)
    samples, events, done = np.zeros(int(count), np.complex64), [], 0
    while done < len(samples):
        part = samples[done:done + 9973]
        status = device.readStream(stream, [part], len(part), timeoutUs=1000)
        if status.ret <= 0:
            events.append((done, status.ret, 0))
            if status.ret != SoapySDR.SOAPY_SDR_OVERFLOW:
                break
        else:
            if not events or events[-1][1] < 0:
                events.append((done, 0, status.timeNs))
            done += status.ret
    device.deactivateStream(stream)
    device.closeStream(stream)
    stream = device = None  # it has one user at a time
    results += [samples[:done], np.array(events, np.int64)]
np.savez(sys.argv[1], *results)
"""


class TestPlayedReceivers(unittest.TestCase):
    """The driver itself: what it hides is what its description says."""

    def setUp(self):
        need_receivers(self)

    def read(self, *arguments_and_counts):
        """[(samples, events)] of receivers with these arguments."""
        path = BUILD / "tests/read.npz"
        words = []
        for arguments, count in arguments_and_counts:
            words += [f"driver=aperture_test,paced=0,{arguments}", count]
        status, output = run("python3", "-c", READ, path, *words, env=environment())
        self.assertEqual(status, 0, output)
        with np.load(path) as found:
            parts = [found[f"arr_{i}"] for i in range(2 * len(arguments_and_counts))]
        return list(zip(parts[::2], parts[1::2]))

    def test_offset(self):
        """Start, phase and level are those that are hidden; the crystal's error is on top."""
        count, start, phase, ppm = 1 << 17, 1234.375, 2.0, 3.0
        (a, _), (b, _), (c, _) = self.read(
            ("serial=1", 2 * count), (f"serial=2,start={start},phase={phase},level=0.05", count),
            (f"serial=2,start={start},phase=0,level=0.1,ppm={ppm}", count))
        # the sum of 2 count squares that are exponentially distributed: six deviations
        self.assertAlmostEqual(np.mean(np.abs(b)**2) / 0.05**2, 1, delta=6 / np.sqrt(count) + 0.08)
        frequency = np.fft.fftfreq(count)
        inner = np.abs(frequency) < 0.45
        whole = int(start)
        spectrum = np.fft.fft(a[whole:whole + count])
        shift = np.exp(2j * np.pi * frequency * (start - whole))
        cross = (np.fft.fft(b) * (spectrum * shift).conj())[inner]
        # what lies across the ends of the block: half the filter's 64 taps of 2^17 samples, 1e-3
        ratio = cross.mean() / np.mean(np.abs(spectrum[inner])**2)
        np.testing.assert_allclose(ratio, 0.5 * np.exp(1j * phase), atol=1e-3)

        # within a short part at the end, the crystal has drifted so far
        part, end = 1 << 12, count - (1 << 12)
        drift = end * (1 / (1 + 1e-6 * ppm) - 1)
        spectrum = np.fft.fft(a[whole + end:whole + end + part])
        frequency = np.fft.fftfreq(part)
        inner = np.abs(frequency) < 0.45
        shift = np.exp(2j * np.pi * frequency * (start - whole + drift))
        # 300 Hz at 100 MHz, by which the phase turns within the part
        time = (start + end + np.arange(part)) / RATE
        oscillator = np.exp(-2j * np.pi * 100e6 * (1 - 1 / (1 + 1e-6 * ppm)) * time)
        cross = (np.fft.fft(c[end:] * oscillator.conj()) * (spectrum * shift).conj())[inner]
        ratio = cross.mean() / np.mean(np.abs(spectrum[inner])**2)
        # 64 of 4096 samples lie across the ends
        np.testing.assert_allclose(ratio, 1, atol=0.03)

    def test_losses(self):
        """Lost samples lack, are told or not, and a clock that counts knows of those it told."""
        (whole, _), (true, events), (counts, counted) = self.read(
            ("serial=1", 20000),
            ("serial=1,hwtime=true,losses=5000:300/9000:41:silent", 9000),
            ("serial=1,hwtime=counts,losses=5000:300/9000:41:silent", 9000))
        expected = np.r_[whole[:5000], whole[5300:9000], whole[9041:9341]]
        np.testing.assert_array_equal(true, expected)
        np.testing.assert_array_equal(counts, expected)
        self.assertEqual([tuple(event[:2]) for event in events], [(0, 0), (5000, -4), (5000, 0)])
        self.assertEqual(events[2][2] - events[0][2], round(5300 / RATE * 1e9))
        self.assertEqual(events[0][2], 1800000000 * 10**9)
        self.assertEqual([event[2] for event in counted], [0, 0, round(5300 / RATE * 1e9)])

    def test_failures(self):
        """A receiver ends with an error of its stream, or falls silent."""
        for what, expected in (("error", -2), ("silence", -1)):
            (samples, events), = self.read((f"serial=1,fails=1000:{what}", 5000))
            self.assertEqual(len(samples), 1000)
            self.assertEqual(tuple(events[-1][:2]), (1000, expected))


class TestDoctor(unittest.TestCase):
    """aperture_doctor receivers with drivers that are there."""

    def setUp(self):
        need_receivers(self)

    def findings(self, connected, seconds=0.7):
        """{name of a finding: text} of these receivers, and the things that were found."""
        status, output = run("aperture_doctor", "receivers", "--json", f"--seconds={seconds}",
                             env=environment(connected))
        found = json.loads(output[output.index("{"):])
        self.assertEqual(status, 0 if found["healthy"] else 1)
        texts = {finding["name"]: finding["what"] for finding in found["findings"]}
        return texts, [thing["name"] for thing in found["receivers"]
                       if thing.get("driver") == "aperture_test"]

    def test_receivers(self):
        """Two healthy receivers, but for what each must be told."""
        found, names = self.findings("serial=1,agc=0;serial=2")
        self.assertEqual(names, ["Played receiver 1", "Played receiver 2"])
        self.assertIn("Played receiver 2 is set to automatic gain", found["automatic-gain"])
        self.assertNotIn("Played receiver 1", found["automatic-gain"])
        self.assertIn("own-clocks", found)
        self.assertNotIn("losses", found)

    def test_what_is_wrong(self):
        """Losses, a receiver that is silent, and one that fails, each by its name."""
        found, _ = self.findings("serial=1,storm=500000:100;serial=2,fails=0:silence")
        self.assertRegex(found["losses"], r"Played receiver 1 .* reported \d+ losses")
        self.assertIn("Played receiver 2 does not run: it opens, but no samples come",
                      found["does-not-run"])
        found, _ = self.findings("serial=1;serial=2,fails=100000:error")
        self.assertIn("Played receiver 2 does not run: reading samples failed (STREAM_ERROR)",
                      found["does-not-run"])

    def test_equal_serials(self):
        """Drivers open receivers by their serial numbers; two with one number are one."""
        found, _ = self.findings("serial=1;serial=1,label=the other", seconds=0)
        self.assertIn("Played receiver 1 and the other have the same serial number, 1",
                      found["equal-serials"])


if __name__ == "__main__":
    main()
