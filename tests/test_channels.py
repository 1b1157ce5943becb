# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Recordings of channels that others have made, from the file to visibilities and powers: small files
packed by NumPy, and what NumPy makes of the same voltages.
"""

import unittest

from places import enter_environment, fresh_folder, main

enter_environment("formats")

import numpy as np
from astropy import units as u
from baseband import vdif

from gnuradio.aperture.commands import beams_command, fx
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.testing import observations, reference
from gnuradio.aperture.testing.channel_files import (
    products,
    random_voltages,
    spectra_of,
    write_dada_channels,
    write_drx,
    write_guppi,
    write_vdif,
)
from gnuradio.aperture.testing.mutilation import check_reader, mutilate
from gnuradio.aperture.testing.played_inputs import read_all
from gnuradio.aperture.testing.recordings import visibilities
from gnuradio.aperture.testing.tiers import ALL


class TestChannels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("channels")
        cls.rng = np.random.default_rng(53)

    def path(self, name):
        return str(self.folder / name)

    def made(self, *shape, bits=8):
        return random_voltages(self.rng, shape, bits)

    def correlate(self, text, *options, output="out.uvh5", code=0):
        """Returns what aperture_fx says, and the visibilities of its file."""
        found, out, err = observations.run(
            fx, "--device", "cpu", "--input", text, "-o", self.path(output), *options
        )
        self.assertEqual(found, code, err)
        return out + err, visibilities(self.path(output)) if not code else None

    def check(self, found, spectra, integration, rounding=0):
        """Holds visibilities against those of voltages [time][input][channel]."""
        letters = {(0, 0): -5, (1, 1): -6, (0, 1): -7, (1, 0): -8}
        hands = list(found["polarization_array"])
        inputs = spectra.shape[1]
        antennas = inputs // 2 if len(hands) == 4 else inputs
        parts = inputs // antennas
        rows = list(zip(found["ant_1_array"], found["ant_2_array"]))
        numbers = list(found["antenna_numbers"])
        for number, data in enumerate(found["visdata"]):
            part = spectra[number * integration : (number + 1) * integration]
            expected = products(part)
            for row, (one, two) in enumerate(rows[: data.shape[0]]):
                for (p, q), hand in letters.items():
                    if max(p, q) >= parts:
                        continue
                    b, a = (numbers.index(one) * parts + p, numbers.index(two) * parts + q)
                    # the product (ant_1, ant_2, pq) is conj(x_p of ant_1) x_q of ant_2
                    value = (
                        expected[:, a * (a + 1) // 2 + b]
                        if a >= b
                        else expected[:, b * (b + 1) // 2 + a].conj()
                    )
                    # sums of integers are exact, those of floats are not
                    np.testing.assert_allclose(
                        data[row, :, hands.index(hand)],
                        value,
                        rtol=2e-7,
                        atol=rounding * np.abs(expected).max() + 1e-6,
                    )

    # ---- channels that are split further

    def test_split(self):
        """Recorded channels, an odd number of them, have a filter bank each; spectra over a block
        that is lost are missing."""
        blocks = self.made(6, 2, 5, 100, 1)
        path = self.path("split.raw")
        write_guppi(path, blocks, 8, lost=(3,), NPOL=2)
        text, found = self.correlate(
            f"guppi:{path}", *"--upchannelise 4 --fine-taps 3 --format fc32".split()
        )
        voltages = np.moveaxis(spectra_of(blocks).astype(complex), 1, 0)
        fine = reference.upchannelise(voltages, 4, reference.prototype(4, 3))
        first = np.arange(fine.shape[1]) * 4
        lost = (first < 400) & (first + 12 > 300)
        fine[:, lost] = 0
        self.check(found, np.moveaxis(fine, 0, 1), len(first), 1e-6)
        np.testing.assert_allclose(found["nsamples"], 1 - lost.mean())
        coarse = np.sort(visibilities(self.plain(path))["freq_array"].ravel())
        expected = coarse[:, None] + (np.arange(4) - 2) * np.diff(coarse)[0] / 4
        np.testing.assert_allclose(found["freq_array"].ravel(), expected.ravel())
        self.assertIn("as recorded, each channel split into 4, 3 taps", text)

    def test_split_oversampled(self):
        """The ratio of oversampled channels is that of their header."""
        blocks = self.made(4, 2, 3, 100, 1)
        path = self.path("over.raw")
        write_guppi(path, blocks, 8, NPOL=2, TBIN=1e-4 * 27 / 32)
        voltages = np.moveaxis(spectra_of(blocks).astype(complex), 1, 0)
        # the shape of a filter of three channels hardly differs from that of many
        coarse = reference.prototype(4, 12, "hamming")
        for more, window, shape in (
            ("--coarse-taps 12 --window hamming", "hamming", (coarse, 12)),
            ("", "hann", (None, 1)),
        ):
            text, found = self.correlate(
                f"guppi:{path}", *f"--upchannelise 27 --fine-taps 3 --format fc32 {more}".split()
            )
            h = reference.prototype(32, 3, window)
            fine = reference.upchannelise(voltages, 27, h, "32/27", *shape)
            self.assertEqual(fine.shape[1], 10)
            self.check(found, np.moveaxis(fine, 0, 1), 10, 1e-6)
        np.testing.assert_allclose(found["channel_width"], 1e4 / 27)
        np.testing.assert_allclose(found["integration_time"], 10 * 27 * 1e-4, rtol=1e-6)
        self.assertIn("each channel split into 27, 3 taps", text)
        said, _, error = observations.run(
            fx, "--device", "cpu", "--input", f"guppi:{path}", "--upchannelise", "4", "-o", "x.uvh5"
        )
        self.assertEqual(said, 1)
        self.assertIn("--upchannelise 4: ", error)
        self.assertIn("it must be a multiple of 27", error)

    def plain(self, path):
        """The file of visibilities of recorded channels as they are."""
        self.correlate(f"guppi:{path}", "--format", "fc32", output="plain.uvh5")
        return self.path("plain.uvh5")

    # ---- GUPPI raw

    def test_guppi(self):
        """All bits and conventions of NPOL, to visibilities; a block that is not there is counted,
        and the others are where they belong."""
        for bits, antennas, parts, keys in (
            (8, 1, 2, {}),
            (8, 3, 2, {"NPOL": 2}),
            (8, 2, 1, {"NPOL": 2}),
            (4, 2, 2, {"NPOL": 4}),
            (4, 3, 1, {"NPOL": 1}),
            (2, 2, 2, {"NPOL": 2}),
            (16, 2, 2, {}),
        ):
            with self.subTest(bits=bits, antennas=antennas, parts=parts, keys=keys):
                blocks = self.made(5, antennas, 6, 100, parts, bits=bits)
                if bits == 2 and parts == 2:
                    keys = {**keys, "NPOL": 2}
                path = self.path(f"a-{bits}-{antennas}-{parts}.raw")
                write_guppi(path, blocks, bits, lost=(2,), **keys)
                form = "fc32" if bits == 16 else "sc8"
                text, found = self.correlate(
                    f"guppi:{path}", *"--integration 0.025 --format".split(), form
                )
                spectra = spectra_of(blocks)
                spectra[200:300] = 0
                self.check(found, spectra, 250, 1e-6 if bits == 16 else 0)
                np.testing.assert_allclose(found["nsamples"], 200 / 250)
                self.assertIn(f"{100 * antennas * parts} spectra of all inputs", text)
                self.assertIn("as recorded", text)
                np.testing.assert_allclose(
                    found["freq_array"].ravel(), 1400.475e6 + 1e4 * np.arange(6)
                )
                # the first spectrum is that of STT_OFFS
                middle = 58908.5 + 2400000 - 0.5 + 0.5 + (3600.5 + 0.0125) / 86400
                self.assertLess(abs(found["times"][0] - middle) * 86400, 1e-4)

    def test_gain_of_wide_voltages(self):
        """Voltages of 16 bits become 8 with a gain that is measured, for an rms of 20 steps."""
        blocks = self.made(4, 2, 6, 500, 1, bits=16)
        write_guppi(self.path("wide.raw"), blocks, 16)
        text, found = self.correlate(f"guppi:{self.path('wide.raw')}", "--integration", "0.2")
        self.assertIn("gain for an rms of 20 steps", text)
        expected = products(spectra_of(blocks))
        autos = expected[:, [0, 2]]
        got = found["visdata"][0]
        same = [0, 2] if got.shape[0] == 3 else [0, 3]
        ratio = got[same, :, 0].T / autos
        np.testing.assert_allclose(ratio / ratio.mean(axis=0), 1, rtol=0.01)
        np.testing.assert_allclose(got[same, :, 0].mean(axis=1), 800, rtol=0.05)

    def test_side_by_side(self):
        """Nodes that have a part of the band each, and antennas with files of their own, named in
        whatever order: places come from the headers."""
        blocks = self.made(4, 4, 12, 50, 2)
        names = []
        for node in range(3):
            for pair in range(2):
                part = blocks[:, 2 * pair : 2 * pair + 2, 4 * node : 4 * node + 4]
                names.append(self.path(f"node{node}-{pair}.0000.raw"))
                write_guppi(
                    names[-1],
                    part,
                    lost=(1,) if (node, pair) == (1, 1) else (),
                    OBSFREQ=1400.5 + 0.04 * node,
                    ANTNMS00=f"'{2 * pair}a,{2 * pair}b'",
                )
        order = [4, 1, 0, 3, 2, 5]
        text, found = self.correlate(
            "guppi:" + ",".join(names[i] for i in order), "--integration", "0.02"
        )
        # the antennas of the file that is named first come first
        spectra = spectra_of(blocks)
        spectra[50:100, 4:] = 0
        self.check(found, spectra, 200)
        self.assertEqual(
            [name.decode() for name in found["antenna_names"]], ["0a", "0b", "2a", "2b"]
        )
        np.testing.assert_allclose(
            found["freq_array"].ravel(), 1400.485e6 + 1e4 * np.arange(12), rtol=1e-12
        )
        self.assertIn("200 spectra of all inputs", text)
        for options, low, high in (("3:9", 3, 9), ("0:0", 0, 0), ("11:11", 11, 11)):
            _, found = self.correlate(
                "guppi:" + ",".join(names),
                *f"--integration 0.02 --select-channels {options}".split(),
            )
            # the channels from 4 to 7 have lost spectra
            there = spectra if low < 8 and high > 3 else spectra_of(blocks)
            self.check(found, there[:, :, low : high + 1], 200)
            np.testing.assert_allclose(
                found["freq_array"].ravel(), 1400.485e6 + 1e4 * np.arange(low, high + 1)
            )

    def test_no_place(self):
        """Files that do not fit: two of them are named, and the difference."""
        blocks = self.made(3, 1, 4, 50, 2)
        write_guppi(self.path("n0.raw"), blocks, OBSFREQ=1400)
        first = self.path("n0.raw")
        for keys, bits, *words in (
            ({"OBSFREQ": 1400.05}, 8, "n1.raw", "no neighbours of", "n0.raw", "0.01 MHz"),
            ({"OBSFREQ": 1400.03}, 8, "n1.raw", "overlap with", "n0.raw", "0.01 MHz"),
            ({"TELESCOP": "GBT", "OBSFREQ": 1400.04}, 8, "n1.raw", "GBT", "n0.raw", "Effelsberg"),
            ({}, 4, "n1.raw", "voltages of s4_be", "n0.raw", "s8"),
            ({"TBIN": 2e-4, "OBSBW": 0.02}, 8, "n1.raw", "0.005 MHz", "n0.raw", "0.01 MHz"),
        ):
            write_guppi(
                self.path("n1.raw"), np.clip(blocks, -7, 7), bits, **{"OBSFREQ": 1400, **keys}
            )
            with self.assertRaises(ValueError) as caught:
                open_input(f"guppi:{first},{self.path('n1.raw')}")
            for word in words:
                self.assertIn(word, str(caught.exception))
        # a file that follows goes on, one of the same time is another antenna
        write_guppi(self.path("n1.raw"), blocks, OBSFREQ=1400, STT_OFFS=0.515)
        signals = open_input(f"guppi:{self.path('n1.raw')},{first}")
        self.assertEqual((signals.inputs, signals.samples), (2, 4 * 300))
        write_guppi(self.path("n1.raw"), blocks, OBSFREQ=1400)
        signals = open_input(f"guppi:{first},{self.path('n1.raw')}")
        self.assertEqual((signals.inputs, signals.samples), (4, 4 * 150))

    def test_resume(self):
        """A run that was stopped goes on, and its file is as if it had not been."""
        blocks = self.made(10, 2, 4, 50, 1)
        write_guppi(self.path("resume.raw"), blocks, lost=(6,))
        options = "--integration 0.005", f"guppi:{self.path('resume.raw')}"
        self.correlate(options[1], *f"{options[0]} --duration 0.022".split())
        self.correlate(options[1], *f"{options[0]} --resume".split())
        found = visibilities(self.path("out.uvh5"))
        spectra = spectra_of(blocks)
        spectra[300:350] = 0
        self.assertEqual(len(found["visdata"]), 10)
        whole = [*range(6), *range(7, 10)]
        part = {**found, "visdata": found["visdata"][whole]}
        self.check(part, np.concatenate([spectra[:300], spectra[350:]]), 50)
        self.assertFalse(found["nsamples"][6].any())

    def test_stations(self):
        """One channel, for the filter bank, of stations with files of their own, one of which
        begins later."""
        blocks = self.made(5, 2, 4, 50, 2)
        names = [self.path(f"station{number}.raw") for number in range(2)]
        for number, name in enumerate(names):
            own, offset = blocks[number:, number : number + 1], 0.5 + 0.005 * number
            write_guppi(name, own, TELESCOP=f"'S{number}'", STT_OFFS=offset)
        signals = open_input(f"guppi:{','.join(names)},channel=2")
        self.assertEqual((signals.samples, signals.channels), (250, 0))
        self.assertEqual(signals.description.input_names, ["S0x", "S0y", "S1x", "S1y"])
        self.assertEqual(signals.center_frequency, 1400.505e6)
        data, tags = read_all(signals)
        expected = blocks[:, :, 2].transpose(0, 2, 1, 3, 4).reshape(250, 4, 2)
        expected[:50, 2:] = 0
        np.testing.assert_array_equal(data, expected)
        gaps = [(tag["input"], tag["count"]) for _, key, tag in tags if key == "missing"]
        self.assertEqual(sorted(gaps), [(2, 50), (3, 50)])
        write_guppi(names[1], blocks[:, 1:], OBSFREQ=1400.6)
        with self.assertRaisesRegex(
            ValueError, "station1.raw: has a centre frequency of .*station0"
        ):
            open_input(f"guppi:{','.join(names)},channel=2")

    def test_cut_off(self):
        """The last block is not whole: its spectra lack channels, and a warning counts them."""
        blocks = self.made(3, 1, 4, 50, 2)
        write_guppi(self.path("cut.raw"), blocks)
        with open(self.path("cut.raw"), "r+b") as file:
            file.truncate(file.seek(0, 2) - 1)
        signals = open_input(f"guppi:{self.path('cut.raw')}")
        self.assertEqual(signals.samples, 4 * 100)
        self.assertIn("50 spectra that do not have all channels", " ".join(signals.warnings))
        data, _ = read_all(signals)
        expected = spectra_of(blocks)[:100]
        np.testing.assert_array_equal(data[..., 0] + 1j * data[..., 1], expected)
        _, found = self.correlate(
            f"guppi:{self.path('cut.raw')}", *"--start 0.00195 --integration 0.004".split()
        )
        self.check(found, expected[20:], 40)

    def test_beams(self):
        """A beam at the zenith of antennas at one place adds voltages; powers and a search."""
        blocks = self.made(6, 3, 8, 500, 2)
        write_guppi(self.path("beams.raw"), blocks, OBSBW=-0.08)
        found, out, err = observations.run(
            beams_command,
            *f"--device cpu --input guppi:{self.path('beams.raw')} --beams grid:az=0,el=90".split(),
            *f"--integration 0.005 -o {self.path('b.fil')} --search dm=0:50".split(),
        )
        self.assertEqual(found, 0, err)
        self.assertIn("8 of 10 kHz", out)
        file = FilterbankFile(self.path("b.fil"))
        self.assertEqual(file.samples, 60)
        np.testing.assert_allclose(file.frequencies, 1400.465e6 + 1e4 * np.arange(8))
        spectra = spectra_of(blocks)[:, :, ::-1].reshape(60, 50, 3, 2, 8)
        expected = np.sum(np.abs(spectra.sum(axis=2)) ** 2, axis=(1, 2))
        ratio = file.read()[:, 0] / expected
        np.testing.assert_allclose(ratio, ratio.mean(), rtol=1e-5)

    # ---- oversampled channels

    def oversampled(self):
        """
        Noise and a tone of two antennas, of which the second has all 3 samples later, through an
        oversampled filter bank by its definition: 32 channels of 10 kHz, a spectrum every 27
        samples, as [block][antenna][channel][time][polarisation][re, im] of 8 bits.
        """
        channels, hop, taps, spectra = 32, 27, 24, 1600
        length = taps * channels
        count = spectra * hop + length + 3
        wave = self.rng.normal(size=(count, 2)) @ [1, 1j]
        wave += np.exp(2j * np.pi * 5.3 / channels * np.arange(count))
        place = np.arange(length)
        prototype = np.sinc((place - (length - 1) / 2) / channels) * np.hanning(length + 2)[1:-1]
        number = np.arange(channels) - channels // 2
        bank = prototype[:, None] * np.exp(-2j * np.pi * np.outer(place, number) / channels)
        steps = hop * np.arange(spectra)
        rotation = np.exp(-2j * np.pi * np.outer(steps, number) / channels)
        found = []
        for late in (0, 3):
            windows = wave[3 - late + steps[:, None] + place]
            found.append(windows @ bank * rotation)
        voltages = np.stack(found)  # [antenna][time][channel]
        voltages *= 20 / np.sqrt(np.mean(np.abs(voltages) ** 2) / 2)
        parts = np.stack([voltages.real, voltages.imag], -1)
        parts = np.clip(np.rint(parts), -127, 127).astype(np.int8)
        return parts.reshape(2, 4, 400, channels, 2).transpose(1, 0, 3, 2, 4)[..., None, :]

    def test_oversampled(self):
        """Spectra come faster than channels are apart, as MWA's and SKA-Low's: frequencies are
        those of the channels, and times those of the spectra, in visibilities and powers."""
        blocks = self.oversampled()
        interval = 27 / 320e3
        write_guppi(self.path("over.raw"), blocks, TBIN=8.4375e-05, OBSBW=0.32)
        text, found = self.correlate(
            f"guppi:{self.path('over.raw')}", "--integration", f"{400 * interval}"
        )
        self.assertIn("oversampled by 32/27: spectra come at 11851.8519 Hz", text)
        self.assertIn("32 of 10 kHz", text)
        self.check(found, spectra_of(blocks), 400)
        frequencies = found["freq_array"].ravel()
        np.testing.assert_allclose(np.diff(frequencies), 1e4, rtol=1e-9)
        np.testing.assert_allclose(found["integration_time"], 400 * interval, rtol=1e-9)
        times = np.unique(found["times"]) * 86400
        np.testing.assert_allclose(np.diff(times), 400 * interval, atol=1e-4)
        np.testing.assert_allclose(found["nsamples"], 1)
        # the tone is 5.3 channels above the middle, the second antenna 3 samples later
        pairs = list(zip(found["ant_1_array"], found["ant_2_array"]))
        numbers = list(found["antenna_numbers"])
        visibilities = found["visdata"].mean(axis=0)[..., 0]
        auto = visibilities[pairs.index((numbers[0], numbers[0]))]
        self.assertEqual(int(np.argmax(auto.real)), 16 + 5)
        cross = visibilities[pairs.index((numbers[0], numbers[1]))]
        offsets = frequencies - frequencies[16]
        # a delay of 3 samples, within a hundredth of one, by channels without the tone
        noise = np.arange(32) != 21
        slope, _ = np.polyfit(offsets[noise], np.unwrap(np.angle(cross))[noise], 1)
        self.assertAlmostEqual(-slope / (2 * np.pi) * 320e3, 3, delta=0.02)
        found, out, err = observations.run(
            beams_command,
            *f"--device cpu --input guppi:{self.path('over.raw')} --beams grid:az=0,el=90".split(),
            *f"--integration {100 * interval} -o {self.path('over.fil')}".split(),
        )
        self.assertEqual(found, 0, err)
        file = FilterbankFile(self.path("over.fil"))
        self.assertEqual(file.samples, 16)
        self.assertAlmostEqual(file.interval / (100 * interval), 1, delta=1e-9)
        np.testing.assert_allclose(file.frequencies, frequencies, rtol=1e-9)
        spectra = spectra_of(blocks).reshape(16, 100, 2, 1, 32)
        expected = np.sum(np.abs(spectra.sum(axis=2)) ** 2, axis=(1, 2))
        ratio = file.read()[:, 0] / expected
        np.testing.assert_allclose(ratio, ratio.mean(), rtol=1e-5)

    def test_oversampled_formats(self):
        """PSRDADA and VDIF of oversampled channels; ratios that are none are refused."""
        blocks = self.oversampled()
        voltages = blocks.transpose(0, 3, 1, 2, 4, 5).reshape(1600, 2, 32, 1, 2)
        write_dada_channels(self.path("over.dada"), voltages, "TFA", BW=0.32, TSAMP=84.375)
        signals = open_input(f"dada:{self.path('over.dada')}")
        self.assertEqual((signals.channel_width, signals.bandwidth), (1e4, 32e4))
        self.assertAlmostEqual(signals.sample_rate, 32 * 32e4 / 27, delta=1e-3)
        later = signals.after(32 * 540).start_time
        start = signals.start_time
        self.assertAlmostEqual(later[0] - start[0] + later[1] - start[1], 540 * 27 / 32e4)
        codes = self.rng.integers(0, 16, (4, 1, 10, 32, 2))
        write_vdif(self.path("over.vdif"), codes)
        text = f"vdif:{self.path('over.vdif')},band=rising,freq=1e9,rate=10kHz"
        signals = open_input(f"{text},width=8437.5Hz")
        self.assertIn("oversampled by 32/27", " ".join(signals.warnings))
        self.assertEqual((signals.sample_rate, signals.bandwidth), (32e4, 27e4))
        for wrong, said in (
            (f"{text},width=5kHz", "width= is 5000 Hz, but spectra come at 10000 Hz"),
            (f"{text},width=11kHz", "width= is 11000 Hz, but spectra come at 10000 Hz"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                open_input(wrong)
        write_guppi(self.path("odd.raw"), blocks, TBIN=8.43e-05, OBSBW=0.32)
        with self.assertRaisesRegex(ValueError, "TBIN 8.43e-05: disagrees .* such as 27/32"):
            open_input(f"guppi:{self.path('odd.raw')}")

    # ---- PSRDADA

    def test_dada(self):
        """Orders, bits and ends of bytes; blocks as MeerKAT has them; a falling band."""
        for order, antennas, bits, block, more in (
            ("TFP", 1, 8, None, {}),
            ("TFAP", 2, 8, None, {}),
            ("FTP", 1, 8, None, {}),
            ("FTP", 1, 8, 50, {}),
            ("PFT", 1, 8, None, {}),
            ("TAFTP", 3, 8, 20, {}),
            ("TFTP", 1, 4, 20, {}),
            ("FTP", 1, 16, None, {"big": True}),
            ("TFP", 1, 32, None, {"NBIT": -32}),
            ("AFTP", 2, 32, 100, {"big": True}),
            ("TFP", 1, 8, None, {"BW": -0.06}),
            ("PFT", 1, 8, None, {"BW": -0.06}),
        ):
            with self.subTest(order=order, bits=bits, block=block, more=more):
                made = self.made(200, antennas, 6, 2, bits=16 if bits == 32 else bits)
                path = self.path("a.dada")
                write_dada_channels(path, made, order, bits, block, **more)
                signals = open_input(f"dada:{path}")
                self.assertEqual((signals.channels, signals.samples), (6, 6 * 200))
                self.assertEqual(signals.inputs, 2 * antennas)
                self.assertEqual(signals.start_time, (1583024400, 0.5))
                self.assertAlmostEqual(signals.center_frequency, 1400.505e6, 3)
                data, _ = read_all(signals)
                expected = made.transpose(0, 1, 3, 2, 4).reshape(200, 2 * antennas, 6, 2)
                if "BW" in more:
                    expected = expected[:, :, ::-1] * [1, -1]
                np.testing.assert_array_equal(data, expected)

    def test_dada_to_visibilities(self):
        """Two files that continue each other, with spectra missing between them, side by side with
        another antenna; and where MJD_START contradicts UTC_START."""
        made = self.made(400, 2, 6, 2)
        names = [self.path(f"{name}.dada") for name in "abc"]
        for name, first, last, antenna, more in (
            (names[0], 0, 150, 0, {}),
            (names[1], 200, 400, 0, {}),
            (names[2], 0, 400, 1, {"MJD_START": "58909.0510"}),
        ):
            part = made[first:last, antenna : antenna + 1]
            offset = first * 6 * 2 * 2
            write_dada_channels(name, part, "TFP", OBS_OFFSET=offset, **more)
        text, found = self.correlate("dada:" + ",".join(names), "--integration", "0.04")
        spectra = (made[..., 0] + 1j * made[..., 1]).transpose(0, 1, 3, 2).reshape(400, 4, 6)
        spectra[150:200, :2] = 0
        self.check(found, spectra, 400)
        self.assertIn("MJD_START 58909.0510 is", text)
        self.assertIn("100 spectra of all inputs", text)

    def test_dada_refused(self):
        """Headers that contradict themselves."""
        made, path = self.made(100, 1, 6, 2), self.path("r.dada")
        for order, keys, *words in (
            ("TFP", {"ORDER": "TF"}, "ORDER TF", "each once"),
            ("TFP", {"ORDER": "TFX"}, "ORDER TFX"),
            ("TFP", {"ORDER": "TFTP"}, "RESOLUTION is missing", "heap="),
            ("TFP", {"NBIT": 2}, "NBIT 2", "4, 8, 16, 32 or -32"),
            ("TFP", {"NDIM": 1}, "NDIM 1", "must be 2"),
            ("TFP", {"ENDIAN": "MIDDLE"}, "ENDIAN MIDDLE"),
            ("TFP", {"TSAMP": 50}, "TSAMP 50", "disagrees with BW"),
            ("TFP", {"UTC_START": "yesterday"}, "UTC_START yesterday"),
            ("TFP", {"OBS_OFFSET": 3}, "OBS_OFFSET 3", "24 bytes"),
            ("TFP", {"OBS_OFFSET": 24 << 57}, "OBS_OFFSET", "before the year 10000"),
            ("TFP", {"NANT": 65536}, "NANT 65536"),
            ("TFP", {"OBS_OVERLAP": 24}, "OBS_OVERLAP 24"),
            ("TFP", {"NPOL": 100000}, "NPOL 100000"),
        ):
            write_dada_channels(path, made, order, **keys)
            with self.assertRaises(ValueError) as caught:
                open_input(f"dada:{path}")
            for word in words:
                self.assertIn(word, str(caught.exception))
        write_dada_channels(path, made, "TFP", FILE_SIZE=5000, BYTES_PER_SECOND=7)
        said = " ".join(open_input(f"dada:{path}").warnings)
        self.assertIn("2600 of 5000 bytes (FILE_SIZE)", said)
        self.assertIn("BYTES_PER_SECOND 7 is not the 240000", said)
        write_dada_channels(path, made, "TFP", FILE_SIZE=1200)
        said = " ".join(open_input(f"dada:{path}").warnings)
        self.assertIn("FILE_SIZE is 1200, and 2400 bytes are behind the header", said)
        # three parts of each antenna are no two polarisations: each is a stream of its own
        made = self.made(1, 2, 6, 100, 3)[0].transpose(2, 0, 1, 3, 4)
        write_dada_channels(path, made, "TAFP")
        signals = open_input(f"dada:{path}")
        self.assertEqual((signals.inputs, len(signals.description.inputs)), (6, 6))

    # ---- VDIF, DRX

    def test_vdif(self):
        """Frames of a spectrum of 1024 channels as CHIME's, and of several; two stations side by
        side; losses. The baseband package decodes the same."""
        for spectra in (1, 4):
            frames = 2100 if spectra == 1 else 300
            channels = 32 if spectra == 1 else 8
            made = self.rng.integers(0, 16, (2, frames, 2, spectra, channels, 2))
            names = [self.path(f"{name}-{spectra}.vdif") for name in "ab"]
            for number, name in enumerate(names):
                write_vdif(
                    name,
                    made[number],
                    station=number + 7,
                    lost=((100, 1), (150, 0), (150, 1)) if number else (),
                    invalid=((200, 0),) if not number else (),
                )
            rate = 1000 * spectra
            signals = open_input(
                f"vdif:{','.join(names)},band=falling,freq=600e6,rate={rate / 1e3}kHz"
            )
            self.assertEqual((signals.channels, signals.inputs), (channels, 4))
            self.assertAlmostEqual(signals.center_frequency, 600e6 + rate / 2, 3)
            data, tags = read_all(signals)
            values = 7 * (made.astype(int) - 8)
            expected = values.transpose(1, 3, 0, 2, 4, 5).reshape(-1, 4, channels, 2)
            lost = []
            for frame, inputs in ((100, (3,)), (150, (2, 3)), (200, (0,))):
                for number in inputs:
                    expected[frame * spectra : (frame + 1) * spectra, number] = 0
                    lost.append((number, frame * spectra, spectra))
            np.testing.assert_array_equal(data, expected[:, :, ::-1])
            found = [
                (tag["input"], tag["first"], tag["count"])
                for _, key, tag in tags
                if key == "missing"
            ]
            self.assertEqual(sorted(found), sorted(lost))
            self.assertEqual(
                [entry.polarization for entry in signals.description.inputs], list("xyxy")
            )
            with vdif.open(
                names[1], "rs", sample_rate=rate * u.Hz, squeeze=False, fill_value=0
            ) as file:
                file.seek(151 * spectra)
                decoded = file.read(9 * spectra)
            scaled = np.rint(decoded * 2.95 * 7)
            part = data[151 * spectra : 160 * spectra, 2:, ::-1]
            np.testing.assert_array_equal(part[..., 0] + 1j * part[..., 1], scaled)

    def test_vdif_damaged_times(self):
        """A damaged second costs its frame alone: the first one, the last one, one behind a gap."""
        made = self.rng.integers(0, 16, (3000, 2, 1, 16, 2))
        path, size = self.path("damaged.vdif"), 32 + 16
        gap = [(frame, thread) for frame in range(1000, 1700) for thread in (0, 1)]
        for frame, thread, second in (
            (500, 0, 2),
            (2000, 1, 0),
            (1700, 0, 2),
            (2999, 1, 1),
            (0, 1, 1),
        ):
            write_vdif(path, made, lost=gap)
            frames = [(f, t) for f in range(3000) for t in (0, 1) if (f, t) not in gap]
            with open(path, "r+b") as file:
                file.seek(size * frames.index((frame, thread)))
                file.write(second.to_bytes(4, "little"))
            signals = open_input(f"vdif:{path},band=rising,freq=1e9,rate=1kHz")
            self.assertIn("1 frames have damaged headers", " ".join(signals.warnings))
            expected = 7 * (made[:, :, 0] - 8)
            for entry in (*gap, (frame, thread)):
                expected[entry] = 0
            data, _ = read_all(signals)
            np.testing.assert_array_equal(data, expected[: len(data)])
            self.assertGreaterEqual(len(data), 2999)

    def test_readers(self):
        """Several threads read what one does."""
        made = self.rng.integers(0, 16, (700, 2, 4, 16, 2))
        path = self.path("readers.vdif")
        write_vdif(path, made, lost=((10, 1),))
        name = f"vdif:{path},band=rising,freq=1e9,rate=4kHz"
        expected, tags = read_all(open_input(name))
        for readers in (1, 7):
            signals = open_input(f"{name},readers={readers}")
            data, found = read_all(signals)
            np.testing.assert_array_equal(data, expected)
            self.assertEqual(found, tags)

    def test_drx(self):
        """Two tunings and two polarisations; one frame is not there."""
        made = self.made(12, 2, 2, 4096, bits=4)
        path = self.path("beam.drx")
        write_drx(path, made, lost=((5, 1, 0),))
        with self.assertRaisesRegex(ValueError, "tuning 1 at 38 MHz, beam 1 tuning 2 at 74 MHz"):
            open_input(f"drx:{path}")
        with self.assertRaisesRegex(ValueError, "tuning= and beam= must choose"):
            open_input(f"drx:{path},tuning=3")
        signals = open_input(f"drx:{path},tuning=2")
        self.assertEqual((signals.sample_type, signals.sample_rate), ("sc8", 19.6e6))
        self.assertEqual(signals.start_time, (1_600_000_000, 0.0))
        self.assertAlmostEqual(signals.center_frequency, 74e6, 0)
        data, tags = read_all(signals)
        expected = made[:, 1].transpose(0, 2, 1, 3).reshape(-1, 2, 2)
        expected[5 * 4096 : 6 * 4096, 0] = 0
        np.testing.assert_array_equal(data, expected)
        found = [(tag["input"], tag["count"]) for _, key, tag in tags if key == "missing"]
        self.assertEqual(found, [(0, 4096)])
        with open(path, "r+b") as file:
            file.seek(4128 * 9)
            file.write(b"\0\0")
        said = " ".join(open_input(f"drx:{path},tuning=1").warnings)
        self.assertIn("4128 bytes are in no frame", said)
        # one time that is damaged takes no other frame with it
        for tag in (0, 40, 1 << 63, (1 << 64) - 1):
            write_drx(path, made)
            with open(path, "r+b") as file:
                file.seek(4128 * 5 + 16)
                file.write(tag.to_bytes(8, "big"))
            signals = open_input(f"drx:{path},tuning=1")
            said = " ".join(signals.warnings)
            self.assertIn("tuning 1: 1 frames have times that do not fit", said)
            self.assertIn("1 frames of polarisation 1 are missing", said)
            expected = made[:, 0].transpose(0, 2, 1, 3).reshape(-1, 2, 2).copy()
            expected[4096 : 2 * 4096, 1] = 0
            np.testing.assert_array_equal(read_all(signals)[0], expected)
        with open(path, "r+b") as file:
            for frame in range(48):
                file.seek(4128 * frame + 16)
                file.write(bytes(8))
        with self.assertRaisesRegex(ValueError, "tuning 1: no frame has a time tag since 1970"):
            open_input(f"drx:{path},tuning=1")
        with open(path, "wb") as file:
            file.write(bytes(10000))
        with self.assertRaisesRegex(ValueError, "has no frame of DRX"):
            open_input(f"drx:{path}")
        # samples of 8 bits; other frames of the array have the same sync word
        made = self.made(6, 1, 2, 4096)
        write_drx(path, made, bits=8)
        signals = open_input(f"drx:{path}")
        data, _ = read_all(signals)
        np.testing.assert_array_equal(data, made[:, 0].transpose(0, 2, 1, 3).reshape(-1, 2, 2))
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            data[4 :: 32 + 8192] = bytes([2]) * 12
            file.seek(0)
            file.write(data)
        with self.assertRaisesRegex(ValueError, "has no frame of DRX: .* a beam and a tuning"):
            open_input(f"drx:{path}")

    def test_mutilated(self):
        """Files that are spoilt, mostly in their headers: one line says why they cannot be read, or
        they are; nothing hangs."""
        files = 250 if ALL else 15
        made, codes = self.made(4, 1, 6, 40, 2), self.rng.integers(0, 16, (1200, 2, 1, 8, 2))
        times = made[0].transpose(2, 0, 1, 3, 4)
        for kind, write, head, options in (
            ("guppi", lambda path: write_guppi(path, made), 1800, ""),
            ("dada", lambda path: write_dada_channels(path, times, "TFP"), 600, ""),
            ("vdif", lambda path: write_vdif(path, codes), 80, ",band=rising,freq=1e9,rate=1kHz"),
            (
                "drx",
                lambda path: write_drx(path, self.made(3, 2, 2, 4096, bits=4)),
                64,
                ",tuning=1",
            ),
        ):
            path, rng, read = self.folder / f"spoilt.{kind}", np.random.default_rng(8), 0
            write(path)
            good, text = path.read_bytes(), f"{kind}:{path}{options}"
            for number in range(files):
                what, spoilt = mutilate(good, rng, head)
                path.write_bytes(spoilt)
                told = f"{kind} {number}, {what}"
                read += check_reader(
                    self, lambda text=text: open_input(text), str(path), spoilt, told
                )
            self.assertGreater(read, 0.2 * files, kind)

    def test_refused(self):
        """Options that need an F-engine are refused."""
        write_guppi(self.path("r.raw"), self.made(3, 1, 4, 50, 2))
        text = f"guppi:{self.path('r.raw')}"
        with self.assertRaisesRegex(ValueError, "r.raw: is named twice; expected each file once"):
            open_input(f"{text},{self.path('r.raw')}")
        for options, *words in (
            ("--channels 8", "--channels", "the 4 channels of the input are as recorded"),
            ("--taps 4", "--taps", "the 4 channels of the input are as recorded"),
            ("--track sun", "--track", "--phase-centers"),
            ("--select-channels 2:4", "--select-channels 2:4", "0 to 3"),
            ("--select-channels 3:2", "--select-channels", "FIRST:LAST"),
            ("--devices cpu,cpu", "--devices", "one device"),
        ):
            found, _, err = observations.run(
                fx, "--input", text, "-o", self.path("no.uvh5"), *options.split()
            )
            self.assertNotEqual(found, 0)
            for word in words:
                self.assertIn(word, err)
        found, _, err = observations.run(
            fx, *f"--input {text},channel=1 --select-channels 0:1 -o".split(), self.path("no.uvh5")
        )
        self.assertNotEqual(found, 0)
        self.assertIn("has samples, and not channels", err)


if __name__ == "__main__":
    main()
