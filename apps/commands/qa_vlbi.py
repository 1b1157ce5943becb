#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""--vdif of aperture_beams: the samples are those of the beams, in frames of VDIF."""

import socket

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.array_source import DEFAULT_START_TIME
from gnuradio.aperture.commands import beams_command
from gnuradio.aperture.testing.observations import Observations, run, words
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.testing.vdif_files import read_frames

BANK = "--channels 32 --oversampling 32/27 --taps 24"


class qa_vlbi(Observations, gr_unittest.TestCase):
    def run_command(self, *arguments):
        code, out, err = run(beams_command, *arguments, "--device", DEVICE)
        self.assertEqual(code, 0, err)
        return out, err

    def frames(self, name):
        with open(self.path(name), "rb") as file:
            return read_frames(file.read())

    def test_file(self):
        """Spectra of the samples have the power of the beam's channels, in order of the sky, and
        times are those of the simulation."""
        out, err = self.run_command(
            *words(
                f"--input {self.array(letters='xy')} {BANK} --duration 0.3 --format fc32 "
                "--beams grid:az=170,el=55 --station Ef "
                "--vdif-bits 8 --vdif-bandwidth 500e3 --vdif"
            ),
            self.path("v.vdif"),
        )
        self.assertIn("VDIF: 149.75 to 150.25 MHz, upper sideband, 1 MHz of 8 bits", out)
        self.assertRegex(out, r"VDIF +\S*v.vdif, \d+ bytes")
        self.assertNotIn("critically", err)
        frames = self.frames("v.vdif")
        # 8000 bytes at 1 MHz are whole frames: 125 a second, less the filters' ends
        self.assertEqual({f.size for f in frames}, {8032})
        self.assertEqual({(f.bits, f.station) for f in frames}, {(8, ord("E") << 8 | ord("f"))})
        self.assertEqual([f.thread for f in frames[:4]], [0, 1, 0, 1])
        self.assertFalse(any(f.invalid for f in frames))
        first = frames[0].time + frames[0].number * 0.008 - DEFAULT_START_TIME
        self.assertTrue(0 <= first < 0.02, first)
        count = len(frames) // 2
        self.assertGreaterEqual(count, 33)
        for thread in (0, 1):
            codes = np.concatenate([f.codes.ravel() for f in frames if f.thread == thread])
            values = codes.astype(float) - 128
            spectra = np.abs(np.fft.rfft(values[: len(values) // 64 * 64].reshape(-1, 64))) ** 2
            # 32 frequencies of 15.625 kHz, two for each channel of 31.25 kHz
            found = spectra.mean(axis=0)[:32].reshape(-1, 2).mean(axis=1)
            # the noise is white: the band is flat where the filter passes it
            np.testing.assert_allclose(found[1:-1] / found[1:-1].mean(), 1, atol=0.15)
            # the rms is 1 / 0.03087 steps
            self.assertAlmostEqual(values.std() * 0.03087, 1, delta=0.03)

    def test_several_beams(self):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(receiver.close)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(60)
        shared = words(
            f"--input {self.array()} {BANK} --duration 0.1 --beams "
            "grid:az=170,el=55,columns=2,spacing=5,name=b --vdif-bandwidth 250e3"
        )
        self.run_command(*shared, "--vdif", self.path("{beam}.vdif"))
        files = [self.frames(f"b_{i}.vdif") for i in range(2)]
        self.assertTrue(files[0] and len(files[0]) == len(files[1]))
        self.assertNotEqual(files[0][0].data, files[1][0].data)
        port = receiver.getsockname()[1]
        out, _ = self.run_command(*shared, "--vdif", f"udp:127.0.0.1:{port}")
        self.assertIn(f"VDIF          127.0.0.1:{port}", out)
        for number in range(len(files[0])):
            for beam in range(2):
                (frame,) = read_frames(receiver.recv(9000))
                self.assertEqual(frame.data, files[beam][number].data)

    def test_critical(self):
        """Critically sampled channels are warned of."""
        _, err = self.run_command(
            *words(
                f"--input {self.array()} --channels 32 --duration 0.1 --beams grid:az=170,el=55 "
                f"--vdif {self.path('v.vdif')}"
            )
        )
        self.assertRegex(err, "--vdif: --oversampling 1: critically sampled .*--oversampling 32/27")

    def test_refused(self):
        source = self.array()
        for arguments, text in (
            ("--vdif v.raw", "--vdif v.raw: expected .*vdif"),
            ("--vdif v.vdif --vdif-bandwidth 2e6", "--vdif-bandwidth .*1000000 in all"),
            ("--vdif v.vdif --vdif-frequency 1e9", "--vdif-frequency 1000000000: the channels"),
            ("--vdif v.vdif --vdif-bandwidth 333333", "--vdif-bandwidth 333333"),
            ("--vdif v.vdif --station Eff", "--station.*two ASCII characters"),
            ("--vdif udp:nowhere:1", "--vdif.*in digits"),
            ("--vdif-bandwidth 500 -o x.fil", "--vdif-bandwidth 500: is of --vdif, which is not"),
            ("--vdif-bits 8 -o x.fil", "--vdif-bits 8: is of --vdif, which is not given"),
            ("--vdif v.vdif --vdif-bits 3", "--vdif-bits"),
            ("--vdif v.vdif --upchannelise 4", "--vdif: not with --upchannelise"),
        ):
            with self.subTest(arguments):
                code, _, err = run(
                    beams_command,
                    *words(f"--input {source} {BANK} --duration 0.05 --beams grid:az=170,el=55"),
                    *words(arguments.replace(" v.vdif", " " + self.path("v.vdif"))),
                    "--device",
                    DEVICE,
                )
                self.assertNotEqual(code, 0)
                self.assertRegex(err, text)


if __name__ == "__main__":
    gr_unittest.run(qa_vlbi)
