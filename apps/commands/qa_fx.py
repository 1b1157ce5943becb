#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

import contextlib
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from unittest import mock

import h5py
import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.builder import f_engines, levels
from gnuradio.aperture.builder.flowgraph import sizes_of
from gnuradio.aperture.builder.input import open_input
from gnuradio.aperture.commands import fx
from gnuradio.aperture.testing import observations, reference, zooming
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import words
from gnuradio.aperture.testing.qa_tools import DEVICE, PATIENCE
from gnuradio.aperture.testing.recordings import noise, small_array, visibilities, write_dada
from gnuradio.aperture.testing.tiers import ALL

HERE = os.path.dirname(os.path.abspath(__file__))
APP = os.path.join(HERE, "..", "aperture_fx")
DATA = os.environ.get("APERTURE_DATA", os.path.join(HERE, "..", "..", "..", "shared", "data"))
RECORDING = os.path.join(DATA, "effelsberg-b2016+28.dada")

# UTC_START of recordings.py and the 100 s of OBS_OFFSET, 4 bytes a sample
FIRST_SAMPLE = 2456475.5 + (1 * 3600 + 37 * 60 + 40 + 100) / 86400


def run(*arguments):
    """Exit code, stdout and stderr of main() in this process, on DEVICE unless said otherwise."""
    return observations.run(fx, "--device", DEVICE, *arguments)


def start_app(*arguments, **options):
    """The program as a process of its own, on DEVICE unless said otherwise."""
    return subprocess.Popen(
        [sys.executable, APP, "--device", DEVICE, *map(str, arguments)],
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


class qa_fx(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.output = self.path("out.uvh5")

    def recording(self):
        """The Effelsberg recording, or where that is not there noise with its header; and the
        samples int8 [time][polarisation][2]."""
        filename = RECORDING
        if not os.path.exists(filename):
            filename = self.path("made-up.dada")
            write_dada(filename, noise(16000))
        with open(filename, "rb") as file:
            data = np.frombuffer(file.read()[4096:], np.int8)
        return filename, data.reshape(-1, 2, 2)

    def simulation(self, **changes):
        filename = self.path("line.yaml")
        save_array(small_array(**changes), filename)
        return "sim:" + filename

    def spectra(self, samples, channels, taps=8, window="hann", oversampling=1):
        """complex128 [input][spectrum][channel] of the reference model"""
        values = reference.decode(samples, "sc8")[0].T
        h = reference.prototype(channels, taps, window)
        return reference.pfb(values, channels, h, oversampling=oversampling)

    def check_one_dish(self, found, expected, atol):
        """Checks the visibilities of one dish. found: from visibilities(); expected:
        [integration][channel][product of two inputs]"""
        hands = list(found["polarization_array"])
        # conj(x) y is V[1,0]
        for number, product in (
            (-5, expected[..., 0]),
            (-6, expected[..., 2]),
            (-7, expected[..., 1]),
            (-8, expected[..., 1].conj()),
        ):
            np.testing.assert_allclose(
                found["visdata"][:, 0, :, hands.index(number)], product, atol=atol
            )

    # samples that are wrong

    def raw(self, *samples):
        """Files of complex64, or of bytes, and their --input."""
        names = []
        for number, values in enumerate(samples):
            names.append(self.path(f"{number}.{'cf32' if values.dtype.kind == 'c' else 'cu8'}"))
            values.tofile(names[-1])
        return f"raw:{','.join(names)},rate=1e6,freq=1420.4e6,time=1717243200"

    def test_wrong_samples(self):
        """
        NaN and one sample of 3e38, where the levels of 8 bits are measured and behind: spectra that
        NaN is in are missing, others are as they would be, and the gains are those of the noise.
        """
        rng = np.random.default_rng(2)
        samples = (
            (1e-3 * rng.normal(size=(2, 100000, 2))).astype(np.float32).view(np.complex64)[..., 0]
        )
        clean = self.raw(*samples)
        options = ("--channels", "64", "--integration", "0.02048")
        code, _, errors = run("--input", clean, "-o", self.path("clean.uvh5"), *options)
        self.assertEqual(code, 0, errors)
        samples[0, [1000, 1003, 60000]] = np.nan, np.inf, np.nan
        samples[1, 5000] = 3e38
        for form in ("sc8", "fc32"):
            code, text, errors = run(
                "--input", self.raw(*samples), "-o", self.output, "--format", form, *options
            )
            self.assertEqual(code, 0, errors)
            found = visibilities(self.output)
            self.assertTrue(np.isfinite(found["visdata"]).all())
            np.testing.assert_array_equal(found["flags"], found["nsamples"] == 0)
            # samples 1000 to 1003 are in 8 spectra, or in 9 where they lie across, as 60000 in 8
            lost = np.round(312 * (1 - found["nsamples"][0, 0, 0]))
            self.assertIn(lost, (8, 9))
            if form == "sc8":
                good = visibilities(self.path("clean.uvh5"))
                autos = np.median(np.abs(found["visdata"][:, [0, 2]]), axis=(0, 2, 3))
                np.testing.assert_allclose(
                    autos, np.median(np.abs(good["visdata"][:, [0, 2]]), axis=(0, 2, 3)), rtol=0.1
                )

    def test_stuck_receiver(self):
        """Every byte alike, 127 or another: it is said, it has no gain of its own, and its products
        are flagged; the other input's are not."""
        rng = np.random.default_rng(3)
        noise = np.rint(rng.normal(127.5, 15, 200000)).astype(np.uint8)
        for level in (127, 90):
            code, _, errors = run(
                *words(
                    f"--input {self.raw(np.full(200000, level, np.uint8), noise)} --channels 64 -o "
                    f"{self.output}"
                )
            )
            self.assertEqual(code, 0, errors)
            self.assertIn("input A1x does not change where the gain is measured", errors)
            found = visibilities(self.output)
            flagged = found["flags"].all(axis=(0, 2, 3))
            np.testing.assert_array_equal(flagged, [True, True, False])
            self.assertFalse(found["flags"][:, 2].any())
            level = np.median(found["visdata"][:, 2].real)
            np.testing.assert_allclose(level, 2 * 20**2, rtol=0.1)

    # the main job

    def test_recording_equals_the_reference_model(self):
        filename, samples = self.recording()
        code, text, warnings = run(
            "--input", "dada:" + filename, "--format", "fc32", "-o", self.output
        )
        self.assertEqual((code, warnings), (0, ""), text)
        # 16000 samples: 128 channels give 125 - 7 spectra, one integration
        spectra = self.spectra(samples, 128)
        blocks, missing = reference.corner_turn(spectra, 118)
        expected, counted = reference.correlate(blocks, 1, missing)
        self.assertTrue(np.all(counted == 118))
        found = visibilities(self.output)
        # fp32 filter and FFT: relative errors of a few 1e-7 of the rms, which averages
        self.check_one_dish(found, expected, 1e-5 * np.abs(expected).max())
        self.assertTrue(np.all(found["nsamples"] == 1))
        self.assertFalse(np.any(found["flags"]))
        np.testing.assert_allclose(
            found["freq_array"].ravel(), 320e6 + (np.arange(128) - 64) * 125e3
        )
        np.testing.assert_allclose(found["integration_time"], 118 * 128 / 16e6)
        # the middle of the 15992... samples: Julian dates resolve 40 us
        middle = (8 * 128 - 1) / 2 + 117 / 2 * 128
        self.assertLess(abs(found["times"][0] - FIRST_SAMPLE - middle / 16e6 / 86400) * 86400, 1e-4)
        self.assertEqual(found["telescope_name"], b"Effelsberg")
        for expected_text in (
            "128 channels",
            "spectra       118 of each input",
            "missing       0 spectra",
            "integrations  1 of 944 µs",
        ):
            self.assertIn(expected_text, text)

    def test_oversampled_channels(self):
        """More spectra a second, of channels that are as far apart as before."""
        filename, samples = self.recording()
        code, text, _ = run(
            *words(f"--input dada:{filename} --format fc32 --channels 64 --oversampling 4/3"),
            *("-o", self.output),
        )
        self.assertEqual(code, 0, text)
        # a spectrum every 48 of 16000 samples, and the first takes 512
        count = (16000 - 512) // 48 + 1
        spectra = self.spectra(samples, 64, oversampling="4/3")
        self.assertEqual(spectra.shape[1], count)
        blocks, missing = reference.corner_turn(spectra, count)
        expected, _ = reference.correlate(blocks, 1, missing)
        found = visibilities(self.output)
        self.check_one_dish(found, expected, 1e-5 * np.abs(expected).max())
        np.testing.assert_allclose(
            found["freq_array"].ravel(), 320e6 + (np.arange(64) - 32) * 250e3
        )
        np.testing.assert_allclose(found["channel_width"], 250e3)
        np.testing.assert_allclose(found["integration_time"], count * 48 / 16e6)
        self.assertIn("channels      64 of 250 kHz, 8 taps, hann, oversampled by 4/3", text)
        self.assertIn(f"spectra       {count} of each input", text)
        for ratio, message in (("5/3", "38.4 samples"), ("0.5", "at least 1")):
            code, _, error = run(
                *words(f"--input dada:{filename} --channels 64 --oversampling {ratio} -o x.uvh5")
            )
            self.assertEqual(code, 1)
            self.assertIn(f"--oversampling {ratio}: ", error)
            self.assertIn(message, error)

    def test_channels_that_are_split(self):
        """The visibilities of a filter bank in each channel, with its frequencies and times; of
        oversampled channels, and of others."""
        filename, samples = self.recording()
        for ratio, points, taps in (("4/3", 8, 24), ("1", 6, 8)):
            code, text, _ = run(
                *words(f"--input dada:{filename} --format fc32 --channels 16 --taps {taps}"),
                *words(f"--oversampling {ratio} --upchannelise 6 --fine-taps 4 -o {self.output}"),
            )
            self.assertEqual(code, 0, text)
            spectra = reference.upchannelise(
                self.spectra(samples, 16, taps, oversampling=ratio),
                6,
                reference.prototype(points, 4),
                ratio,
                reference.prototype(16, taps),
                taps,
            )
            hop = 96  # samples, with any ratio
            window = taps * 16 + (4 * points - 1) * hop // points
            count = (16000 - window) // hop + 1
            self.assertEqual(spectra.shape[1], count)
            blocks, missing = reference.corner_turn(spectra, count)
            expected, _ = reference.correlate(blocks, 1, missing)
            found = visibilities(self.output)
            self.check_one_dish(found, expected, 1e-5 * np.abs(expected).max())
            # half a channel of 1 MHz below that of a channel that is not split
            np.testing.assert_allclose(
                found["freq_array"].ravel(), 320e6 - 0.5e6 + (np.arange(96) - 48) * 1e6 / 6
            )
            np.testing.assert_allclose(found["channel_width"], 1e6 / 6)
            np.testing.assert_allclose(found["integration_time"], count * hop / 16e6)
            self.assertIn("96 of 166.7 kHz", text)
            self.assertIn("each channel split into 6, 4 taps", text)
            self.assertIn(f"spectra       {count} of each input", text)

    def test_channels_that_cannot_be_split(self):
        filename, _ = self.recording()
        for options, message in (
            ("--oversampling 4/3 --upchannelise 7", "--upchannelise 7: .*4/3.*a multiple of 3"),
            ("--upchannelise 1", "--upchannelise: 1: expected .*2 to 4096"),
            ("--fine-taps 4", "--fine-taps 4: needs --upchannelise"),
            ("--upchannelise 4 --coarse-taps 8", "--coarse-taps 8: is for recorded channels"),
            ("--upchannelise 4 --devices cpu,cpu", "--devices cpu,cpu: must not be given"),
            ("--channels 64 --upchannelise 4096", "window|one spectrum of 262144 channels"),
        ):
            with self.subTest(options):
                code, _, error = run(*words(f"--input dada:{filename} -o x.uvh5 {options}"))
                self.assertNotEqual(code, 0)
                self.assertRegex(error, message)

    def test_zoom(self):
        """A part of the band, as the model of a zoom and then of a filter bank has it."""
        filename, samples = self.recording()
        code, text, _ = run(
            *words(f"--input dada:{filename} --format fc32 --channels 16 --zoom -2.5e6,4"),
            *("-o", self.output),
        )
        self.assertEqual(code, 0, text)
        stages = aperture.zoom(decimation=4, inputs=2).stages()
        values = reference.decode(samples, "sc8")[0].T
        part = zooming.zoom(values, -2.5e6, 16e6, stages)
        spectra = reference.pfb(part, 16, reference.prototype(16, 8))
        blocks, missing = reference.corner_turn(spectra, spectra.shape[1])
        expected, _ = reference.correlate(blocks, 1, missing)
        found = visibilities(self.output)
        self.check_one_dish(found, expected, 1e-5 * np.abs(expected).max())
        np.testing.assert_allclose(
            found["freq_array"].ravel(), 317.5e6 + (np.arange(16) - 8) * 250e3
        )
        self.assertIn("4 Msample/s (1/4 of the band, -2500000 Hz)", text)
        for part, message in (("7e6,4", "from -6400000 to 6400000 Hz"), ("0,4000", "filter takes")):
            code, _, error = run(
                *words(f"--input dada:{filename} --zoom {part} -o x.uvh5 --channels 16")
            )
            self.assertEqual(code, 1)
            self.assertIn(f"--zoom {part}: ", error)
            self.assertIn(message, error)

    def test_zoom_of_a_tracked_simulation(self):
        """The same phases as in the channels of the whole band, in 8 bits, with tracked delays."""
        found = {}
        for name, more in (("whole", "--channels 512"), ("part", "--channels 64 --zoom -1e6,8")):
            code, text, _ = run(
                *words("--input sim:y8 --duration 0.1 --integration 0.1 --track az=140,el=60"),
                *words(more),
                *("-o", self.path(f"{name}.uvh5")),
            )
            self.assertEqual(code, 0, text)
            found[name] = visibilities(self.path(f"{name}.uvh5"))
        whole, part = found["whole"], found["part"]
        channels = np.searchsorted(whole["freq_array"].ravel(), part["freq_array"].ravel())
        np.testing.assert_array_equal(
            whole["freq_array"].ravel()[channels], part["freq_array"].ravel()
        )
        inner = slice(7, 58)  # 80 %
        a = whole["visdata"][0][:, channels[inner], 0]
        b = part["visdata"][0][:, inner, 0]
        scale = np.sqrt(np.sum(np.abs(a) ** 2, axis=1) * np.sum(np.abs(b) ** 2, axis=1))
        alike = np.sum(a * b.conj(), axis=1) / scale
        # 8 bits, and the filter's delay, by which the integrations differ: 0.3 % of their samples
        self.assertGreater(np.abs(alike).min(), 0.995)
        self.assertLess(np.abs(np.angle(alike)).max(), 0.01)

    def test_8_bits_equal_the_reference_model(self):
        filename, samples = self.recording()
        spectra = self.spectra(samples, 100, 6, "hamming")
        # independent of levels.gains_for() but for its definition; the data have no carriers
        gains = 20 / np.sqrt(np.mean(np.abs(spectra) ** 2, axis=(1, 2)) / 2)
        code, text, _ = run(
            *words(
                f"--input dada:{filename} --channels 100 --taps 6 --window hamming "
                f"--integration 1e-3 -o {self.output}"
            )
        )
        self.assertEqual(code, 0)
        printed = [
            float(value)
            for value in re.search(r"gain for an rms of 20 steps: (.*)", text)[1].split(" to ")
        ]
        np.testing.assert_allclose(printed, [gains.min(), gains.max()], rtol=2e-2)

        options = fx.parser().parse_args(
            [
                *words(
                    f"--input dada:{filename} --window hamming --taps 6 --channels 100 "
                    f"--integration 1e-3 --device {DEVICE} -o {self.output}"
                )
            ]
        )
        signals = open_input(options.plan)
        sizes = sizes_of(options.plan, signals)
        used = levels.measure_gains(options.plan, signals, sizes)
        voltages = reference.quantise(spectra * used.astype(np.float32)[:, None, None])[0]
        blocks, missing = reference.corner_turn(voltages, sizes.spectra_per_frame)
        expected, counted = reference.correlate(blocks, sizes.frames, missing)
        found = visibilities(self.output)["visdata"][:, 0]
        # A voltage in 1e4 may be rounded to the other side, by 1 of some 20 steps (60 at most)
        self.assertLess(np.mean(found[..., 0] != expected[..., 0]), 0.05)
        self.check_one_dish(
            visibilities(self.output), expected, 2 * 2 * 60 / sizes.spectra_per_frame
        )
        # the wanted rms is there: re and im at 20 make 800
        self.assertAlmostEqual(np.mean(found[..., 0].real), 800, delta=40)
        self.check_statistics(text, voltages)

    def check_statistics(self, text, voltages):
        """Checks the statistics in the file and in the table against voltages
        [input][spectrum][channel][re, im]."""
        with h5py.File(self.output) as file:
            found = {name: values[()] for name, values in file["InputStatistics"].items()}
        self.assertGreater(len(found["spectra"]), 0)
        rms = np.sqrt((voltages[..., 0].astype(float) ** 2).mean(axis=(1, 2)))
        np.testing.assert_allclose(found["rms_re"].mean(axis=0), rms, rtol=0.05)
        np.testing.assert_allclose(found["kurtosis"].mean(axis=0), 1, atol=0.1)
        # only what the last frame has too few, on a GPU, where frames are longer
        missing = max(0, 1 - voltages.shape[1] / found["spectra"].sum())
        self.assertEqual(found["missing"].max(), missing)
        shown = re.search(
            r"input +gain +rms +kurtosis +clamped +missing\n +(\S+) +\S+ +([\d.]+), "
            r"([\d.]+) +([\d.]+) ",
            text,
        )
        self.assertEqual(shown[1].encode(), found["inputs"][0])
        self.assertAlmostEqual(float(shown[2]), rms[0], delta=0.05 * rms[0])

    def test_no_spectrum_is_lost_at_the_end(self):
        filename, samples = self.recording()
        # 64 channels: 250 - 7 = 243 spectra in integrations of 40: 6 and one of 3
        code, text, _ = run(
            *words(
                f"--input dada:{filename} --channels 64 --format fc32 --integration "
                f"{40 * 64 / 16e6} --spectra-per-frame 10 -o {self.output}"
            )
        )
        self.assertEqual(code, 0)
        found = visibilities(self.output)
        self.assertEqual(len(found["times"]), 7)
        np.testing.assert_allclose(found["nsamples"][:6], 1)
        # the last frame of 10 was padded; float32
        np.testing.assert_allclose(found["nsamples"][6], 3 / 10, rtol=1e-6)
        seconds = found["integration_time"].reshape(7, -1)[:, 0]
        np.testing.assert_allclose(seconds, [160e-6] * 6 + [40e-6])
        blocks, missing = reference.corner_turn(self.spectra(samples, 64), 10)
        expected, counted = reference.correlate(blocks, 4, missing)
        self.assertEqual(list(counted[:, 0]), [40] * 6 + [3])
        self.check_one_dish(found, expected, 1e-5 * np.abs(expected).max())
        self.assertIn("integrations  7 of 160 µs (4 x 10 spectra)", text)

    def test_real_samples_and_inverted_bands(self):
        random = np.random.default_rng(5)
        # coloured, so that reversed channels differ
        real = np.convolve(random.normal(size=4001) * 20, [1, 0.7], "same")
        real = np.clip(np.rint(real), -127, 127)[:, None]
        pair = noise(2100, 1).astype(float)
        rotated = 0.7 * pair[:-1, :, ::-1] * (-1, 1)  # 0.7i times the sample before
        pair[1:] += rotated
        pair = np.rint(pair)
        for samples, bandwidth, hop in (
            (real, 16, 20),
            (real, -16, 20),
            (pair, 16, 10),
            (pair, -16, 10),
        ):
            with self.subTest(bandwidth=bandwidth, hop=hop):
                filename = self.path("band.dada")
                write_dada(filename, samples, bandwidth=bandwidth)
                code, text, error = run(
                    *words(
                        f"--input dada:{filename} --channels 10 --taps 3 --format fc32 -o "
                        f"{self.output}"
                    )
                )
                self.assertEqual(code, 0, error)
                kind = "s8" if hop == 20 else "sc8"
                expected = reference.pfb(
                    reference.decode(samples, kind)[0].T,
                    10,
                    reference.prototype(hop, 3),
                    bandwidth < 0,
                )
                self.assertIn(f"spectra       {len(samples) // hop - 2} of each input", text)
                power = np.mean(np.abs(expected[0]) ** 2, axis=0)
                self.assertGreater(abs(power[2] - power[7]), 0.1 * power[2])
                found = visibilities(self.output)
                # fp32 filter and FFT
                np.testing.assert_allclose(found["visdata"][0, 0, :, 0].real, power, rtol=1e-5)
                frequencies = found["freq_array"].ravel()
                self.assertTrue(np.all(np.diff(frequencies) > 0))
                # complex: the middle of the band is channel 5; real: channel 0 is its lowest end,
                # or if inverted the last one is its highest
                lowest = 312e6 + (1.6e6 if hop == 20 and bandwidth < 0 else 0)
                np.testing.assert_allclose(frequencies[0], lowest)

    def test_simulation_shows_the_source(self):
        code, text, _ = run(
            *words(
                f"--input {self.simulation(sample_rate=1e6, antennas=3)} --duration 0.5 "
                f"--integration 0.25 --channels 50 -o {self.output}"
            )
        )
        self.assertEqual(code, 0, text)
        found = visibilities(self.output)
        self.assertEqual(found["visdata"].shape[:3], (2, 6, 50))
        self.assertTrue(np.all(found["nsamples"] == 1))
        # the direction east of a source at azimuth 80 and elevation 40 degrees
        east = np.sin(np.radians(80)) * np.cos(np.radians(40))
        frequencies = found["freq_array"].ravel()
        pairs = list(zip(found["ant_1_array"][:6], found["ant_2_array"][:6]))
        autos = [
            np.mean(found["visdata"][:, pairs.index((a, a)), :, 0].real, axis=0) for a in range(3)
        ]
        for auto in autos:
            # an rms of 20 steps in re and im; 20000 values in the gain, 10000 in a channel
            np.testing.assert_allclose(auto[1:], 800, rtol=0.06)  # [0]: see below
        for a in range(3):
            for b in range(a + 1, 3):
                delay = -15.0 * (b - a) * east / 299792458.0
                rho = np.mean(found["visdata"][:, pairs.index((a, b)), :, 0], axis=0) / np.sqrt(
                    autos[a] * autos[b]
                )
                rotated = rho * np.exp(2j * np.pi * frequencies * delay)
                # S/(1+S) = 1/3, noise 1/sqrt(10000) in each of 50 channels; without the edge
                # channel, which the source does not fill
                self.assertLess(np.abs(rotated[1:] - 1 / 3).max(), 0.05)
                self.assertLess(abs(np.mean(rotated[1:]) - 1 / 3), 0.01)

    def test_start_of_a_simulation(self):
        """The Sun of a noon is seen, and tracked; at midnight it is not there."""
        filename = self.path("noon.yaml")
        with open(filename, "w", encoding="utf-8") as file:
            file.write(
                "name: noon\nlatitude: 52\nlongitude: 5\nheight: 0\nsample_rate: 1e5\n"
                "center_frequency: 1415e6\n"
                "antennas:\n  - {name: A, position: [0, 0, 0]}\n"
                "  - {name: B, position: [10, 0, 0]}\n"
                "sources:\n  - {name: Sun, body: sun}\n"
            )
        for start, seconds, coherence in (
            ("2024-06-21T11:41:30.5Z", 1718970090.5, 0.5),
            ("2024-06-21T23:41", 1719013260, 0),
        ):
            code, text, _ = run(
                *words(
                    f"--input sim:{filename},start={start} --duration 1 --channels 20 --track sun "
                    f"-o {self.output}"
                )
            )
            self.assertEqual(code, 0, text)
            found = visibilities(self.output)
            times = (found["time_array"] - 2440587.5) * 86400
            self.assertLess(np.abs(times - seconds - 0.5).max(), 0.01)
            pairs = list(zip(found["ant_1_array"], found["ant_2_array"]))
            cross, *autos = (
                found["visdata"][0, pairs.index(pair), 1:, 0].mean()
                for pair in ((0, 1), (0, 0), (1, 1))
            )
            # 95000 values: 0.003
            self.assertLess(abs(cross / np.sqrt(np.prod(autos)) - coherence), 0.015)

    def test_tracking(self):
        """
        A source that stands still in the simulator is tracked as such: all phases are zero, and the
        file says what was tracked. The same phases come of an untracked run whose phases are
        rotated to it, but for the coherence that a delay of 46 ns costs in windows of 50 us.
        """
        common = (
            *words(
                f"--input {self.simulation(sample_rate=1e6, antennas=3)} --duration 0.5 "
                "--integration 0.25 --channels 50 --format fc32"
            ),
        )
        code, text, warnings = run(*common, "--track", "az=80, el=40", "-o", self.output)
        self.assertEqual((code, warnings), (0, ""), text)
        self.assertRegex(text, "tracking az 80.000° el 40.000°: azimuth 80.0°, elevation 40.0°")
        self.assertRegex(text, r"tracked +az 80.000° el 40.000°, 1 models of the delays")
        # the last input to hear the source is not delayed by the delays in force
        delays = [float(x) for x in re.findall(r" ([-\d.e]+) ns$", text, re.MULTILINE)]
        self.assertEqual(len(delays), 3, text)
        self.assertEqual(min(delays), 0)
        self.assertGreater(max(delays), 20)
        plain = self.path("{phase_center}.uvh5")
        code, text, _ = run(*common, "--phase-centers", "az=80, el=40; zenith", "-o", plain)
        self.assertEqual(code, 0, text)
        tracked, rotated, zenith = (
            visibilities(name)
            for name in (
                self.output,
                self.path("az_80.000_el_40.000.uvh5"),
                self.path("zenith.uvh5"),
            )
        )
        self.assertIn(b"delays tracked az 80.000", tracked["history"])
        crosses = tracked["ant_1_array"][:6] != tracked["ant_2_array"][:6]
        for found in (tracked, rotated):
            means = found["visdata"][:, crosses, 1:].mean(axis=(0, 2))
            # 20000 spectra of 49 channels, coherence 1/3: 0.1 degrees
            self.assertLess(np.abs(np.angle(means, deg=True)).max(), 1)
        np.testing.assert_array_equal(tracked["uvw_array"], rotated["uvw_array"])
        self.assertGreater(
            np.abs(np.angle(zenith["visdata"][:, crosses, 1:].mean(axis=(0, 2)), deg=True)).max(),
            20,
        )

    def test_tracking_below_the_horizon(self):
        code, text, warnings = run(
            *words(
                f"--input {self.simulation()} --duration 0.1 --channels 16 --format fc32 "
                f"--track B0833-45 -o {self.output}"
            )
        )
        self.assertEqual(code, 0, text)
        self.assertRegex(warnings, "B0833-45 is below the horizon at the start")

    def test_untracked(self):
        """Integrations in which fringes on the sky go through cycles are reported, and which would
        be short enough; what is tracked, or near, has none."""
        far = small_array(antennas=3)
        far.antennas = [
            replace(antenna, position=(3e4 * i, 0.0, 0.0)) for i, antenna in enumerate(far.antennas)
        ]
        save_array(far, self.path("far.yaml"))
        # w b f / c, across the Earth's axis
        cycles = 7.2921e-5 * 6e4 * far.center_frequency / 299792458 * 0.1
        self.assertGreater(cycles, 0.5)
        common = (
            *words(
                f"--duration 0.1 --integration 0.1 --channels 16 --format fc32 -o {self.output}"
            ),
        )
        for source, more, told in (
            (self.path("far.yaml"), (), True),
            (self.path("far.yaml"), ("--track", "zenith"), False),
            (self.simulation()[4:], (), False),
        ):
            code, text, warnings = run("--input", "sim:" + source, *common, *more)
            self.assertEqual(code, 0, text)
            self.assertEqual(
                f"makes up to {cycles:.2g} cycles in an integration" in warnings, told, warnings
            )

    def test_a_seed_repeats_a_simulation(self):
        data = []
        for seed in (3, 3, 4):
            code, _, _ = run(
                *words(
                    f"--input {self.simulation()} --duration 0.1 --channels 16 --seed {seed} -o "
                    f"{self.output}"
                )
            )
            self.assertEqual(code, 0)
            data.append(visibilities(self.output)["visdata"])
        np.testing.assert_array_equal(data[0], data[1])
        self.assertTrue(np.any(data[0] != data[2]))

    def test_array_of_a_recording(self):
        filename, _ = self.recording()
        description = small_array(sample_rate=16e6)
        save_array(description, self.path("array.yaml"))
        code, _, warnings = run(
            "--input", "dada:" + filename, "--array", self.path("array.yaml"), "-o", self.output
        )
        self.assertEqual(code, 0)
        self.assertRegex(warnings, "centre frequency 408000000 Hz.*320000000 Hz, which is used")
        found = visibilities(self.output)
        self.assertEqual(set(found["ant_1_array"]) | set(found["ant_2_array"]), {0, 1})
        self.assertAlmostEqual(found["freq_array"].ravel()[64], 320e6)

        save_array(small_array(antennas=3), self.path("array.yaml"))
        code, _, error = run(
            "--input", "dada:" + filename, "--array", self.path("array.yaml"), "-o", self.output
        )
        self.assertEqual(code, 1)
        self.assertRegex(error, "array.yaml: it has 3 inputs, .* has 2")

    def test_a_name_with_the_time(self):
        filename = self.path("a.dada")
        write_dada(filename, noise(3000))
        pattern, path = self.path("v-{time}.uvh5"), self.path("v-20130702T013920Z.uvh5")
        second = path.replace(".uvh5", "-2.uvh5")
        names = ["a.dada", os.path.basename(path), os.path.basename(second)]
        for more, code, file, count in (
            ((), 0, path, 2),
            (("--no-overwrite",), 1, None, 2),
            ((), 0, second, 3),
        ):
            found, text, error = run("--input", "dada:" + filename, "-o", pattern, *more)
            self.assertEqual(found, code, error)
            if code == 0:
                self.assertRegex(text, rf"file +{file}, ")
            else:
                self.assertIn("exists", error)
            self.assertEqual(sorted(os.listdir(self.folder), key=len), names[:count])

    def test_duration_of_a_recording(self):
        filename, _ = self.recording()
        code, text, _ = run(
            "--input", "dada:" + filename, "--duration", 5e-4, "--channels", 64, "-o", self.output
        )
        self.assertEqual(code, 0)
        self.assertIn(f"spectra       {125 - 7} of each input", text)
        code, _, warnings = run("--input", "dada:" + filename, "--duration", 2, "-o", self.output)
        self.assertEqual(code, 0)
        self.assertIn("--duration 2: the recording ends after 1 ms", warnings)

    def test_unknown_telescope(self):
        filename = self.path("a.dada")
        write_dada(filename, noise(3000, 3), telescope="Nowhere")
        code, _, warnings = run("--input", "dada:" + filename, "-o", self.output)
        self.assertEqual(code, 0)
        self.assertIn("telescope 'Nowhere' is not known: taken to be at latitude 0°", warnings)
        self.assertIn("3 streams: taken to be antennas A1 to A3", warnings)
        self.assertEqual(visibilities(self.output)["latitude"], 0)

    def test_what_is_read_is_not_replaced(self):
        write_dada(self.path("a.dada"), noise(3000))
        save_array(small_array(), self.path("array.yaml"))
        os.symlink(self.path("a.dada"), self.path("a.uvh5"))
        os.symlink(self.path("array.yaml"), self.path("array.uvh5"))
        for arguments, option in (
            (["dada:" + self.path("a.dada"), "-o", "a.uvh5"], "--input"),
            (
                [
                    "dada:" + self.path("a.dada"),
                    *words(f"--array {self.path('array.yaml')} -o array.uvh5"),
                ],
                "--array",
            ),
            (["sim:" + self.path("array.yaml"), "-o", "array.uvh5"], "--input"),
        ):
            read = [self.path("a.dada"), self.path("array.yaml")]
            before = [os.stat(path).st_size for path in read]
            code, _, error = run("--input", *arguments[:-1], self.path(arguments[-1]))
            self.assertEqual(code, 1)
            self.assertIn(f": is the file that {option} names, and would be replaced", error)
            self.assertEqual([os.stat(path).st_size for path in read], before)

    def test_samples_that_are_no_numbers(self):
        """A file of something else, read as floats, is no observation."""
        random = np.random.default_rng(3)
        with open(self.path("a.cf32"), "wb") as file:
            file.write(random.bytes(400000))
        code, _, error = run(
            "--input", f"raw:{self.path('a.cf32')},rate=1e6,freq=1e9", "-o", self.output
        )
        self.assertEqual(code, 1)
        self.assertRegex(
            error,
            r"input \S+: samples are not finite numbers: is the type right "
            r"that --input says\?\n$",
        )
        self.assertNotIn("RuntimeWarning", error)

    # inputs without a signal

    def test_a_dead_input_is_said(self):
        samples = noise(3000)
        samples[:, 1] = 0
        write_dada(self.path("a.dada"), samples)
        code, text, warnings = run("--input", "dada:" + self.path("a.dada"), "-o", self.output)
        self.assertEqual(code, 0)
        self.assertIn("Effelsbergy does not change", warnings)

    # Ctrl-C

    def wait_for_data(self, process, integrations=2, seconds=PATIENCE):
        """Until the file has integrations, or the process has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and process.poll() is None:
            with (
                contextlib.suppress(OSError, KeyError, RuntimeError),
                h5py.File(self.output, "r", locking=False) as file,
            ):
                if file["Header/Ntimes"][()] >= integrations:
                    return
            time.sleep(0.1)
        self.fail("no data: " + str(process.communicate() if process.poll() is not None else ""))

    def interrupted(self, duration):
        """Ends a run by Ctrl-C when there are data; its exit status, output and errors."""
        process = start_app(
            *words(
                f"--input {self.simulation(sample_rate=2e5)} --duration {duration} "
                f"--integration 0.5 --channels 64 -o {self.output}"
            )
        )
        try:
            self.wait_for_data(process)
            process.send_signal(signal.SIGINT)
            text, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return process.returncode, text, errors

    def test_interrupt_writes_all_that_was_in_flight(self):
        code, text, errors = self.interrupted("inf")
        self.assertEqual((code, errors), (0, ""))
        found = visibilities(self.output)
        said = int(re.search(r"integrations +(\d+) of", text)[1])
        self.assertEqual(len(found["times"]), said)
        self.assertGreaterEqual(said, 3)
        # every spectrum that the F-engine made is in the file
        spectra = int(re.search(r"spectra +(\d+) of each", text)[1])
        spanned = found["integration_time"].reshape(said, -1)[:, 0] * 2e5 / 64
        counted = np.rint(found["nsamples"][:, 0, 0, 0] * spanned)
        self.assertEqual(counted.sum(), spectra)
        self.assertTrue(np.all(found["nsamples"][:-1] == 1))

    def test_interrupt_of_a_finite_input_is_no_success(self):
        code, text, errors = self.interrupted("3600")
        self.assertEqual(code, 130)
        self.assertIn("interrupted before the end of the input", errors)
        self.assertEqual(
            len(visibilities(self.output)["times"]),
            int(re.search(r"integrations +(\d+) of", text)[1]),
        )

    # the text that the user sees

    def test_progress_on_a_terminal(self):
        leader, follower = pty.openpty()
        process = start_app(
            *words(f"--input {self.simulation()} --duration 5 --channels 64 -o {self.output}"),
            stderr=follower,
        )
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a pty
            while piece := os.read(leader, 4096):
                shown += piece
        text, _ = process.communicate(timeout=PATIENCE)
        os.close(leader)
        self.assertEqual(process.returncode, 0, shown)
        self.assertRegex(shown.decode(), r"\r\[[#-]+\] +\d+ % .*sample/s, \S+ x real time")
        for row in (
            "inputs",
            "channels",
            "integrations",
            "spectra",
            "missing",
            "clamped",
            "gain",
            "rate",
            "real time",
            "device",
            "file",
        ):
            self.assertRegex(text, rf"\n  {row} ")
        # the name of the GPU, where it is one
        self.assertRegex(text, r"\n  device +(cpu|cuda:0 \(.+\)): F-engine \w.*, X-engine \w")

    def test_help(self):
        code, text, _ = run("--help")
        self.assertEqual(code, 0)
        for option in (
            *words(
                "--input --array --channels --taps --window --spectra-per-frame --format "
                "--integration --duration --device --seed -o"
            ),
        ):
            self.assertIn(option, text)

    def test_help_of_inputs(self):
        """--help has a line of each kind, --help-input what may be said of one."""
        with mock.patch.dict(os.environ, COLUMNS="80"):
            code, text, _ = run("--help")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"\n  sim:ARRAY.yaml +a simulated array: .*\n")
        self.assertRegex(text, r"\n  dada:FILE\S* +PSRDADA recordings")
        code, text, _ = run("--help-input", "sim")
        self.assertEqual(code, 0)
        self.assertRegex(
            text,
            r"^sim:ARRAY.yaml\[,key=value...\]\n  a simulated array.*\n"
            "  start=TIME +time of the first sample in UTC",
        )
        self.assertEqual(run("--help-input", "wav")[0], 2)

    # errors: exit code, one line, no traceback

    def check_error(self, code, pattern, *arguments, output=None):
        found, text, error = run(*arguments, "-o", self.output if output is None else output)
        self.assertEqual(found, code, text + error)
        self.assertNotIn("Traceback", error)
        lines = [line for line in error.splitlines() if "error:" in line]
        self.assertEqual(len(lines), 1, error)
        self.assertRegex(lines[0], pattern)
        return text

    def test_argument_errors(self):
        recording = ("--input", "dada:" + self.recording()[0])
        for arguments, pattern in (
            (("--channels", "7"), "--channels: 7: expected an even number from 4 to 65536"),
            (("--channels", "x"), "--channels: x: expected an even number"),
            (("--taps", "65"), "--taps: 65: expected a whole number from 1 to 64"),
            (("--format", "sc4"), "--format: .*'sc4'.*sc8.*fc32"),
            (("--integration", "-1"), "--integration: -1: expected a number of seconds"),
            (("--integration", "inf"), "--integration: inf: expected"),
            (("--integration", "nan"), "--integration: nan: expected"),
            (("--duration", "0"), "--duration: 0: expected .* or inf"),
            (("--spectra-per-frame", "0"), "--spectra-per-frame: 0: expected"),
            (("--track", "Cas B"), "--track: direction: 'Cas B' is not known"),
            (("--phase-centers", "sun;12:70:00 +1"), "--phase-centers: .*60 minutes"),
            (("--phase-centers", "sun;Sun"), "--phase-centers: .*different.*'Sun' is named twice"),
            (("--device", "gpu"), "--device: gpu: expected auto, cpu, cuda or cuda:N"),
        ):
            with self.subTest(arguments=arguments):
                self.check_error(2, pattern, *recording, *arguments)

    def test_input_errors(self):
        recording = ("--input", "dada:" + self.recording()[0])
        absent = self.path("absent.dada")
        fifo = self.path("fifo.dada")
        os.mkfifo(fifo)
        with open(self.path("text.dada"), "w") as file:
            file.write("no header")
        for arguments, pattern in (
            (("--input", "file.dada"), "--input file.dada: expected KIND:NAME, where KIND"),
            (("--input", "dada:" + absent), "absent.dada"),
            (("--input", "dada:" + self.path("text.dada")), "text.dada"),
            (("--input", "sim:nowhere"), "nowhere"),
            (("--input", self.simulation(), "--array", "x"), "--array x: a simulation has"),
            ((*recording, "--seed", "1"), "--seed 1: only simulations"),
            ((*recording, "--window", "welch"), "window: 'welch' is not allowed"),
            (
                (*recording, "--spectra-per-frame", str(1 << 24)),
                f"--spectra-per-frame {1 << 24}: .* at most 2147483647: expected at most",
            ),
            (("--input", f"dada:{self.folder}"), "this is a folder; a recording must be"),
            (("--input", "dada:" + fifo), "this is a FIFO; a recording must be a file"),
            ((*recording, "--channels", "4096"), "the input has 16000 samples"),
        ):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.check_error(1, pattern, *arguments), "")
        self.assertFalse(os.path.exists(self.output))

    def test_output_errors(self):
        recording = ("--input", "dada:" + self.recording()[0])
        self.check_error(1, "nowhere", *recording, output=self.path("nowhere/out.uvh5"))
        self.check_error(1, re.escape(str(self.folder)), *recording, output=self.folder)
        os.symlink("/dev/full", self.path("full.uvh5"))
        with open(self.path("old.uvh5"), "w"):
            pass
        for output, pattern, *more in (
            ("", "-o '': expected the name of a file that ends in .uvh5"),
            ("x.h5", "-o x.h5: expected .* that ends in .uvh5 or .ms"),
            ("x.fits", "-o x.fits: "),
            ("{beam}.uvh5", "{beam} is not known; in braces may stand: {time}"),
            ("/proc/x.uvh5", "/proc/x.uvh5: no file can be made in its folder"),
            (self.path("full.uvh5"), "full.uvh5: there is something that is not a file"),
            (self.path("old.uvh5"), "--no-overwrite keeps it", "--no-overwrite"),
        ):
            text = self.check_error(1, pattern, *recording, *more, output=output)
            self.assertEqual(text, "")  # nothing has been computed
        self.assertEqual(os.path.getsize(self.path("old.uvh5")), 0)

    def test_time_in_the_name(self):
        """The report says what the file is called in the end."""
        recording = self.path("t.dada")
        write_dada(recording, noise(3000))
        code, text, error = run("--input", "dada:" + recording, "-o", self.path("v-{time}.uvh5"))
        self.assertEqual((code, error), (0, ""))
        (name,) = [name for name in os.listdir(self.folder) if name.startswith("v-")]
        self.assertRegex(name, r"^v-\d{8}T\d{6}Z.uvh5$")
        self.assertIn(f"{self.path(name)}, ", text)

    def test_names_that_are_not_utf_8(self):
        """The names of the recording, of the file, and in messages need not be UTF-8."""
        folder = os.fsencode(self.folder)
        recording = os.path.join(folder, b"r\xff.dada")
        write_dada(recording, noise(3000))
        output = os.fsdecode(os.path.join(folder, b"o\xfe.uvh5"))
        recording = os.fsdecode(recording)
        process = start_app("--input", "dada:" + recording, "-o", output)
        text, error = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, error), (0, ""))
        found = visibilities(output)
        self.assertIn(rb"r\xff.dada, 16 channels", found["history"])
        self.assertRegex(text, r"file +.*o\\udcfe.uvh5, ")
        for name, message in (
            (recording + "x", "No such file"),
            (os.fsdecode(os.path.join(folder, b"text\xff")), "HDR_SIZE is missing"),
        ):
            if "text" in name:
                with open(name, "w") as file:
                    file.write("no header")
            process = start_app("--input", "dada:" + name, "-o", output)
            text, error = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, text), (1, ""))
            self.assertRegex(error, r"^aperture_fx: error: .*\\udcff.*: " + message + "[^\n]*\n$")

    # the data never depend on who looks

    def leftovers(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("."))

    def test_output_that_nobody_reads(self):
        arguments = ("--input", self.simulation(), "--duration", 1, "--channels", 64)
        code, _, _ = run(*arguments, "-o", self.path("expected.uvh5"))
        self.assertEqual(code, 0)
        expected = visibilities(self.path("expected.uvh5"))["visdata"]
        reader, writer = os.pipe()
        os.close(reader)
        with open("/dev/full", "w") as full:
            ways = (
                dict(preexec_fn=lambda: (os.close(1), os.close(2))),
                dict(stdout=writer, stderr=full),
                dict(stdout=full),
                dict(stdout=writer),
            )
            for streams in ways if ALL else ways[:2]:
                with self.subTest(streams=streams):
                    process = start_app(*arguments, "-o", self.output, **streams)
                    _, error = process.communicate(timeout=PATIENCE)
                    self.assertEqual((process.returncode, error or ""), (0, ""))
                    np.testing.assert_array_equal(visibilities(self.output)["visdata"], expected)
                    self.assertEqual(self.leftovers(), [])
                    os.unlink(self.output)
        os.close(writer)

    def test_a_terminal_that_is_closed(self):
        """A progress bar on a closed terminal fails with EIO, and nothing happens; SIGHUP ends the
        input."""
        leader, follower = pty.openpty()
        process = start_app(
            *words(
                f"--input {self.simulation(sample_rate=2e5)} --duration inf --integration "
                f"0.5 --channels 64 -o {self.output}"
            ),
            stderr=follower,
            stdout=follower,
        )
        os.close(follower)
        try:
            self.wait_for_data(process)
            os.close(leader)
            with h5py.File(self.output, "r", locking=False) as file:
                there = int(file["Header/Ntimes"][()])
            self.wait_for_data(process, there + 20)
            process.send_signal(signal.SIGHUP)
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0)
        self.assertGreaterEqual(len(visibilities(self.output)["times"]), there + 20)
        self.assertEqual(self.leftovers(), [])

    def test_a_file_that_cannot_grow(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

        # memory that a GPU shares with the host is a file to the system, and would not fit, either
        process = start_app(
            *words(
                f"--input {self.simulation()} --duration 60 --integration 0.5 --channels 256 "
                f"--device cpu -o {self.output}"
            ),
            preexec_fn=limit,
        )
        text, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(errors, "^aperture_fx: error: .*out.uvh5: File too large\n$")
        self.assertNotIn("integrations  ", text)
        # integrations that were written before are there
        self.assertGreater(len(visibilities(self.output)["times"]), 3)

    def test_an_error_of_a_device_is_an_error_of_the_command(self):
        """Here one that ends a running flowgraph: memory that does not fit."""

        def large(make):
            def made(**parameters):
                block = make(**{**parameters, "device": "emulated"})
                block.set_min_output_buffer(10**6)
                return block

            return made

        with mock.patch.object(f_engines, "f_engine", large(f_engines.f_engine)):
            self.check_error(
                1,
                "emulated: [0-9]+ bytes of device memory were asked for",
                "--input",
                self.simulation(),
            )
        self.assertFalse(os.path.exists(self.output))

    def test_no_gpu(self):
        if any(device.startswith("cuda") for device in aperture.devices()):
            self.skipTest("there is a GPU")
        self.check_error(
            1,
            "device: 'cuda' was asked for.*found: cpu",
            *words(f"--input {self.simulation()} --device cuda"),
        )

    def test_the_exit_code_reaches_the_shell(self):
        process = start_app("--input", "sim:nowhere", "-o", self.output)
        _, error = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(error.count("\n"), 1, error)


if __name__ == "__main__":
    gr_unittest.run(qa_fx)
