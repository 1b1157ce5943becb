# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Recordings of GUPPI raw as inputs: files that baseband's writer made, and what its reader decodes of
them, against what the source sends, exactly.
"""

import unittest

from places import enter_environment, fresh_folder, main

enter_environment("formats")

import warnings
from fractions import Fraction

import baseband.data
import numpy as np
from astropy import units as u
from astropy.time import Time
from baseband import guppi

from gnuradio.aperture.doctor.recordings import examine_recording
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.parameters.times import exact
from gnuradio.aperture.testing.mutilation import check_reader, mutilate
from gnuradio.aperture.testing.played_inputs import check_after, read_all
from gnuradio.aperture.testing.tiers import ALL
from recorded import gaps, run, wrong_samples

# ERFA calls dates in the future dubious
warnings.simplefilter("ignore")

START = Time("2020-02-29T23:59:59", format="isot", scale="utc")
SECOND = 1583020799


def components(decoded):
    """[time][...] of complex numbers as [time][...][re, im]"""
    return np.stack([decoded.real, decoded.imag], -1)


class TestGuppi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("guppi")
        cls.rng = np.random.default_rng(34)

    def write(
        self,
        name,
        channels=4,
        polarizations=2,
        blocks_of_file=5,
        samples=256,
        overlap=0,
        rate=1e4,
        sideband=True,
        form="1SFA",
        **more,
    ):
        """A file by baseband, and what it decodes, [time][polarisation][channel]."""
        path = self.folder / name
        header = guppi.GUPPIHeader.fromvalues(
            time=START,
            sample_rate=rate * u.Hz,
            samples_per_frame=samples,
            bps=8,
            overlap=overlap,
            pktsize=channels * polarizations * 2 * 16,
            nchan=channels,
            npol=polarizations,
            PKTFMT=form,
            OBSFREQ=1400.5,
            **more,
        )
        header.sideband = sideband
        count = samples + (samples - overlap) * (blocks_of_file - 1)
        data = 30 * (
            self.rng.normal(size=(count, polarizations, channels))
            + 1j * self.rng.normal(size=(count, polarizations, channels))
        )
        if overlap:
            # baseband's writer knows no overlap
            with open(path, "wb") as raw, guppi.open(raw, "wb") as file:
                for i in range(blocks_of_file):
                    begin = i * (samples - overlap)
                    header["PKTIDX"] = begin // 16
                    file.write_frame(data[begin : begin + samples], header)
        else:
            with guppi.open(str(path), "ws", header0=header, squeeze=False) as file:
                file.write(data)
        with guppi.open(str(path), "rs", squeeze=False) as file:
            decoded = file.read()
        return path, decoded

    def test_forms(self):
        number = 0
        for channels, polarizations in ((2, 2), (4, 1), (4, 2), (64, 2)):
            for form in ("1SFA", "SIMPLE"):
                for overlap in (0, 32):
                    for sideband in (True, False):
                        number += 1
                        with self.subTest(
                            channels=channels,
                            polarizations=polarizations,
                            form=form,
                            overlap=overlap,
                            sideband=sideband,
                        ):
                            path, decoded = self.write(
                                f"{number}.raw",
                                channels,
                                polarizations,
                                overlap=overlap,
                                sideband=sideband,
                                form=form,
                            )
                            channel = channels - 1
                            signals = open_input(f"guppi:{path},channel={channel}")
                            self.assertEqual(signals.sample_type, "sc8")
                            self.assertEqual(signals.sample_rate, 1e4)
                            self.assertEqual(signals.start_time, (SECOND, 0.0))
                            width = 1e4 if sideband else -1e4
                            self.assertAlmostEqual(
                                signals.center_frequency,
                                1400.5e6 + width * (channel - (channels - 1) / 2),
                                3,
                            )
                            self.assertFalse(signals.inverted)
                            data, tags, source = run(signals)
                            expected = components(decoded[:, :, channel]) * [
                                1,
                                1 if sideband else -1,
                            ]
                            # the last overlap is no overlap
                            self.assertEqual(len(data), 256 + 4 * (256 - overlap))
                            np.testing.assert_array_equal(
                                data[: len(expected)], np.minimum(expected, 127)
                            )
                            self.assertEqual(len(tags), 3)
                            self.assertEqual(source.error(), "")
                            self.check_all_channels(path, decoded, sideband)

    def check_all_channels(self, path, decoded, sideband):
        """Without channel=, all channels are read, in the order of sky frequency."""
        signals = open_input(f"guppi:{path}")
        channels = decoded.shape[2]
        self.assertEqual((signals.channels, signals.sample_type), (channels, "sc8"))
        # channel n/2 is the one behind the middle
        self.assertAlmostEqual(signals.center_frequency, 1400.505e6, 3)
        data, _ = read_all(signals)
        expected = components(decoded)
        if not sideband:
            expected = np.minimum(expected[:, :, ::-1] * [1, -1], 127)
        np.testing.assert_array_equal(data[: len(decoded)], expected)

    def test_readers(self):
        """Several threads read what one does."""
        path, decoded = self.write("readers.raw", 2, 2, samples=4096, blocks_of_file=40)
        for readers in (1, 2, 7):
            data, _, source = run(open_input(f"guppi:{path},channel=1,readers={readers}"))
            np.testing.assert_array_equal(data, np.minimum(components(decoded[:, :, 1]), 127))
            self.assertEqual(source.error(), "")

    def test_recordings(self):
        """Files of telescopes, which come with baseband; with quoted numbers, DIRECTIO, overlap."""
        for name, channel, rate, _sign in (
            ("SAMPLE_PUPPI", 2, 250, 1),
            ("SAMPLE_VEGAS", 3, 3.125e6, -1),
        ):
            path = getattr(baseband.data, name)
            if name == "SAMPLE_VEGAS":
                # the block is cut off
                signals = open_input(f"guppi:{path},channel=0")
                self.assertEqual((signals.sample_rate, signals.inputs), (rate, 2))
                continue
            with guppi.open(path, "rs", squeeze=False) as file:
                decoded = file.read()
            signals = open_input(f"guppi:{path},channel={channel}")
            self.assertEqual(signals.sample_rate, rate)
            data, _, _ = run(signals)
            np.testing.assert_array_equal(data[: len(decoded)], components(decoded[:, :, channel]))
            self.assertEqual(len(data), len(decoded))

    def test_rounded_interval(self):
        """TBIN has 15 digits, its inverse fewer: a header of Breakthrough Listen's, long after
        its recording has begun."""
        path = self.folder / "rounded.raw"
        path.write_bytes(
            self.header(
                OBSNCHAN=64,
                OBSBW=187.5,
                TBIN="3.41333333333333E-07",
                STT_IMJD=60631,
                STT_SMJD=7222,
                STT_OFFS=0,
                PKTSIZE=8192,
                PKTIDX=27262976,
                BLOCSIZE=25600,
                DIRECTIO="'1       '",
            )
            + bytes(25600)
        )
        signals = open_input(f"guppi:{path},channel=0")
        self.assertEqual(signals.sample_rate, 2929687.5)
        start = (60631 - 40587) * 86400 + 7222 + Fraction(27262976 * 32) / Fraction("2929687.5")
        self.assertEqual(signals.start_time, (int(start), float(start - int(start))))

    def test_choice(self):
        path, _ = self.write("choice.raw", 4)
        with self.assertRaisesRegex(
            ValueError,
            "there is no channel 4; channel= chooses one of 0 at "
            "1400.485 MHz, 1 at 1400.495 MHz, .*3 at 1400.515 MHz$",
        ):
            open_input(f"guppi:{path},channel=4")
        path, _ = self.write("many.raw", 64)
        with self.assertRaisesRegex(ValueError, "of 0 at 1400.185 MHz to 63 at 1400.815 MHz$"):
            open_input(f"guppi:{path},channel=64")

    def header(self, **values):
        header = {
            "BACKEND": "'GUPPI'",
            "OBSNCHAN": 1,
            "NPOL": 4,
            "NBITS": 8,
            "OBSFREQ": 1400.5,
            "OBSBW": 0.01,
            "TBIN": 1e-4,
            "STT_IMJD": 58908,
            "STT_SMJD": 86399,
            "STT_OFFS": 0.5,
            "OVERLAP": 0,
            "PKTSIZE": 64,
            "DIRECTIO": 0,
            "PKTIDX": 0,
            **values,
        }
        cards = "".join(f"{key:8}= {value!s:>20}".ljust(80) for key, value in header.items())
        text = (cards + "END".ljust(80)).encode()
        return text.ljust(-(-len(text) // 512) * 512) if header["DIRECTIO"] else text

    def test_one_channel(self):
        """One channel is read of complex samples, which baseband takes for real ones, and of real
        ones; 16 bits."""
        for bits, is_complex in ((8, True), (16, True), (8, False)):
            dtype = np.dtype(f"<i{bits // 8}")
            data = self.rng.integers(-100, 100, (3, 500, 2, 1 + is_complex)).astype(dtype)
            path = self.folder / f"one-{bits}-{is_complex}.raw"
            values = dict(
                NBITS=bits,
                NPOL=4 if is_complex else 2,
                OBSBW=0.01 if is_complex else 0.005,
                BLOCSIZE=data[0].nbytes,
                PKTSIZE=data[0].nbytes // 5,
                DIRECTIO=1,
            )
            path.write_bytes(
                b"".join(
                    self.header(PKTIDX=5 * i, **values) + block.tobytes()
                    for i, block in enumerate(data)
                )
            )
            signals = open_input(f"guppi:{path}")
            self.assertEqual(signals.sample_type, f"s{'c' if is_complex else ''}{bits}")
            self.assertEqual((signals.center_frequency, signals.sample_rate), (1400.5e6, 1e4))
            self.assertEqual(signals.start_time, (SECOND, 0.5))
            np.testing.assert_array_equal(run(signals)[0], data.reshape(1500, 2, -1))

    def test_antennas(self):
        """[antenna][channel][time][polarisation]"""
        data = self.rng.integers(-100, 100, (2, 3, 4, 200, 2, 2), np.int8)
        path = self.folder / "antennas.raw"
        path.write_bytes(
            b"".join(
                self.header(
                    OBSNCHAN=12,
                    NANTS=3,
                    OBSBW=0.04,
                    BLOCSIZE=block.nbytes,
                    PKTIDX=i,
                    PKTSIZE=block.nbytes,
                )
                + block.tobytes()
                for i, block in enumerate(data)
            )
        )
        signals = open_input(f"guppi:{path},channel=2")
        self.assertEqual(signals.inputs, 6)
        np.testing.assert_array_equal(
            run(signals)[0], data[:, :, 2].transpose(0, 2, 1, 3, 4).reshape(400, 6, 2)
        )

    def test_two_conventions_of_npol(self):
        """NPOL 2 is one polarisation of complex samples (baseband) or two (rawspec); NPOL 1 is
        one. What PKTIDX counts says which."""
        data = self.rng.integers(-100, 100, (3, 2, 4, 512, 2, 2), np.int8)
        path = self.folder / "npol.raw"
        size = data[0].nbytes
        # samples of a block are 512 of two polarisations, 1024 of one
        for values, polarizations, start, word in (
            ({"NPOL": 4, "PIPERBLK": 512, "PKTIDX": 512}, 2, 1000, ""),
            ({"NPOL": 2, "PIPERBLK": 512, "PKTIDX": 512}, 2, 1000, ""),
            ({"NPOL": 2, "PIPERBLK": 1024, "PKTIDX": 1024}, 1, 1000, ""),
            ({"NPOL": 1, "PIPERBLK": 1024, "PKTIDX": 1024}, 1, 1000, ""),
            ({"NPOL": 2, "PKTIDX": 512}, 2, 1000, "PKTSIZE does not say so"),
            ({"NPOL": 2, "PIPERBLK": 32, "PKTNTIME": 16, "PKTIDX": 32}, 2, 1000, ""),
            ({"NPOL": 2, "PIPERBLK": 2, "HNTIME": 256, "PKTIDX": 2}, 2, 1000, ""),
            # packets of 256 bytes are as many either way
            (
                {"NPOL": 2, "PKTIDX": size // 256, "PKTSIZE": 256},
                2,
                1000,
                "taken for two polarisations, as arrays",
            ),
            ({"NPOL": 2, "PKTIDX": size // 256, "PKTSIZE": 256, "npol": 1}, 1, 1000, ""),
            (
                {"NPOL": 2, "PIPERBLK": 500, "PKTIDX": 512, "PKTSIZE": 0},
                2,
                1000,
                "PIPERBLK 500 does not say so",
            ),
        ):
            npol = values.get("npol")
            kept = {key: value for key, value in values.items() if key != "npol"}
            step = kept.pop("PKTIDX")
            for ants in (1, 2) if not word and npol is None else (2,):
                blocks = data[:, :ants]
                kept.update(
                    OBSNCHAN=4 * ants,
                    NANTS=ants,
                    OBSBW=0.04,
                    BLOCSIZE=blocks[0].nbytes,
                    PKTSIZE=kept.get("PKTSIZE", 8192),
                )
                path.write_bytes(
                    b"".join(
                        self.header(**kept, PKTIDX=(start + i) * step) + block.tobytes()
                        for i, block in enumerate(blocks)
                    )
                )
                with self.subTest(**values, antennas=ants):
                    text = f"guppi:{path},channel=1" + (f",npol={npol}" if npol else "")
                    signals = open_input(text)
                    # telescopes that are not known, and places of antennas, are said
                    warned = [w for w in signals.warnings if "--array" not in w]
                    self.assertEqual(bool(warned), bool(word), warned)
                    self.assertIn(word, "".join(warned))
                    samples = 1024 // polarizations
                    late = Fraction(start * samples, 10**4) + Fraction(1, 2)
                    self.assertEqual(
                        signals.start_time[0] + exact(signals.start_time[1]), SECOND + late
                    )
                    right = blocks.reshape(3, ants, 4, samples, polarizations, 2)[:, :, 1]
                    np.testing.assert_array_equal(
                        run(signals)[0],
                        right.transpose(0, 2, 1, 3, 4).reshape(
                            3 * samples, ants * polarizations, 2
                        ),
                    )
                    names = [f"A{i + 1}" for i in range(ants)] if ants > 1 else ["unknown"]
                    self.assertEqual(
                        signals.description.input_names,
                        [f"{name}{letter}" for name in names for letter in "xy"[:polarizations]],
                    )
        with self.assertRaisesRegex(ValueError, "NPOL 4: must be 2 where npol= says"):
            path, _ = self.write("four.raw")
            open_input(f"guppi:{path},channel=1,npol=1")

    def test_names_of_antennas(self):
        data = np.ones((2, 1, 200, 2, 2), np.int8)
        for names, expected in (
            ({"ANTNMS00": "'1cB,1eB'"}, ["1cB", "1eB"]),
            ({"ANTNMS00": "'1cB     '", "ANTNMS01": "'1eB     '"}, ["1cB", "1eB"]),
            ({"ANTNMS00": "'1cB,1eB,1gB'"}, ["A1", "A2"]),
            ({"ANTNMS00": "'1cB,1cB'"}, ["A1", "A2"]),
        ):
            path = self.folder / "names.raw"
            path.write_bytes(
                self.header(OBSNCHAN=2, NANTS=2, BLOCSIZE=data.nbytes, **names) + data.tobytes()
            )
            self.assertEqual(
                open_input(f"guppi:{path}").description.input_names,
                [f"{name}{letter}" for name in expected for letter in "xy"],
            )

    def test_missing_file_of_a_sequence(self):
        path, decoded = self.write("holes.raw", 2, blocks_of_file=6)
        content = path.read_bytes()
        size = len(content) // 6
        for number, begin in ((0, 0), (1, 2), (4, 5)):
            (self.folder / f"holes.{number:04}.raw").write_bytes(
                content[begin * size : (begin + 1) * size]
            )
        signals = open_input(f"guppi:{self.folder / 'holes.0000.raw'},channel=1")
        self.assertRegex(
            " ".join(signals.warnings), "holes.0002.raw to 0003.raw are missing between the files"
        )
        data, tags, _ = run(signals)
        self.check_missing(components(decoded[:, :, 1]), data, gaps(tags), {1, 3, 4})
        check_after(self, signals, 1, 300, len(data) - 1)

    def test_sequence(self):
        path, decoded = self.write("sequence.raw", 2, blocks_of_file=6)
        content = path.read_bytes()
        size = len(content) // 6
        parts = [self.folder / f"sequence.{i:04}.raw" for i in range(3)]
        for part, (begin, end) in zip(parts, ((0, 3), (3, 4), (4, 6))):
            part.write_bytes(content[begin * size : end * size])
        for text in (str(parts[0]), ",".join(map(str, parts))):
            signals = open_input(f"guppi:{text},channel=1")
            self.assertEqual(signals.files, list(map(str, parts)))
            np.testing.assert_array_equal(run(signals)[0], components(decoded[:, :, 1]))

    def blocks(self, name, change, **form):
        """Returns what is sent of a file of 20 blocks that change() has changed."""
        path, decoded = self.write(name, 2, blocks_of_file=20, **form)
        content = path.read_bytes()
        size = len(content) // 20
        path.write_bytes(
            b"".join(change([bytearray(content[i * size : (i + 1) * size]) for i in range(20)]))
        )
        signals = open_input(f"guppi:{path},channel=1")
        data, tags, _ = run(signals)
        return components(decoded[:, :, 1]), data, gaps(tags), signals.warnings

    def check_missing(self, expected, data, found, missing):
        """Checks which blocks are missing. missing: blocks that are to be zeros, and nothing
        else."""
        expected = expected.copy()
        for block in missing:
            expected[256 * block : 256 * (block + 1)] = 0
        np.testing.assert_array_equal(data, expected[: len(data)])
        tagged = {first + i for _, first, count in found for i in range(0, count, 256)}
        self.assertEqual(tagged, {256 * block for block in missing})

    def test_lost(self):
        for lost in ({3}, {7, 8, 9}, {1, 4, 18}):
            expected, data, found, warned = self.blocks(
                "lost.raw", lambda all: [b for i, b in enumerate(all) if i not in lost]
            )
            self.check_missing(expected, data, found, lost)
            self.assertIn(f"{256 * len(lost)} samples are missing", warned[0])

    def replaced(self, blocks, index, old, new):
        self.assertIn(old, blocks[index])
        blocks[index] = blocks[index].replace(old, new, 1)
        return blocks

    def test_damaged(self):
        packet = b"PKTIDX  =                  160"
        for name, change, missing, word in (
            (
                "number",
                lambda b: self.replaced(b, 10, packet, packet[:-3] + b"960"),
                {10},
                "not between those of their neighbours",
            ),
            (
                "number between its neighbours'",
                lambda b: self.replaced(b, 10, packet, packet[:-3] + b"165"),
                {10},
                "does not fit to those of the others",
            ),
            (
                "no number",
                lambda b: self.replaced(b, 10, packet, packet[:-3] + b"1x0"),
                {10},
                "PKTIDX 1x0",
            ),
            (
                "channels",
                lambda b: self.replaced(
                    b, 5, b"OBSNCHAN=                    2", b"OBSNCHAN=                    4"
                ),
                {5},
                "1 of 20 blocks have other headers",
            ),
            (
                "size",
                lambda b: self.replaced(
                    b, 5, b"BLOCSIZE=                 2048", b"BLOCSIZE=                 2040"
                ),
                {5},
                "the block before is not used",
            ),
            ("cut", lambda b: b[:6] + [b[6][:-100]] + b[7:], {6}, "the block before is not used"),
            (
                "no header",
                lambda b: b[:6] + [bytes(len(b[6]))] + b[7:],
                {5, 6},
                "the block before is not used",
            ),
            (
                "noise at the beginning",
                lambda b: [bytearray(self.rng.bytes(777))] + b,
                set(),
                "no header of GUPPI at byte 0",
            ),
        ):
            with self.subTest(name):
                expected, data, found, warned = self.blocks("damaged.raw", change)
                self.check_missing(expected, data, found, missing)
                self.assertIn(word, " ".join(warned))
        # the last block is used as far as it goes: its second channel is cut
        expected, data, found, _ = self.blocks("end.raw", lambda b: b[:19] + [b[19][:-100]])
        np.testing.assert_array_equal(data, expected[: 5120 - 25])

    def test_mutilated(self):
        """A thousand files, most of them spoilt in one of their headers; in the quick tier the
        first of them."""
        files = 1000 if ALL else 200
        path, decoded = self.write("mutilated.raw", 2, blocks_of_file=6)
        expected = components(decoded[:, :, 1])
        good = path.read_bytes()
        size = len(good) // 6
        text, rng, read = f"guppi:{path},channel=1", np.random.default_rng(6), 0
        for number in range(files):
            begin = size * int(rng.integers(0, 6)) if number % 2 else 0
            what, spoilt = mutilate(good[begin:], rng, size - 2048)
            spoilt = good[:begin] + spoilt
            path.write_bytes(spoilt)
            what = f"file {number}, {what} from byte {begin}"
            if not check_reader(self, lambda: open_input(text), str(path), spoilt, what):
                continue
            read += 1
            signals = open_input(text)
            data, tags, source = run(signals)
            wrong = wrong_samples(data, tags, 1e4, expected, Fraction(SECOND))
            # spoilt bytes of samples, or one block whose PKTIDX could be
            self.assertLessEqual(wrong, 256 * 2 if signals.warnings else 64, what)
            self.assertEqual(source.error(), "", what)
        self.assertGreater(read, 0.85 * files)

    def test_doctor(self):
        """The doctor finds it wrong when most of a recording is not used."""
        for bad, expected in ((0, []), (1, ["unused"]), (17, ["unused"])):
            *_, warned = self.blocks(
                "doctor.raw",
                lambda all, bad=bad: [
                    block.replace(b"PKTFMT  = '1SFA", b"PKTFMT  = '%04d" % i) if i < bad else block
                    for i, block in enumerate(all)
                ],
            )
            examination = examine_recording(f"guppi:{self.folder / 'doctor.raw'},channel=1")
            found = [entry for entry in examination.problems if entry.name == "unused"]
            self.assertEqual([entry.name for entry in found], expected, warned)
            for entry in found:
                self.assertIn(f"{bad / 20:.1%} of the blocks", entry.what)

    def test_refused(self):
        good = dict(BLOCSIZE=400)
        path = self.folder / "refused.raw"
        for changes, problem in (
            ({"NBITS": 3}, "NBITS 3: must be 2, 4, 8 or 16"),
            ({"NBITS": "eight"}, "NBITS eight: must be a whole number"),
            ({"OBSNCHAN": 0}, "OBSNCHAN 0: must be a whole number from 1"),
            ({"NANTS": 2}, "OBSNCHAN 1: must be a multiple of NANTS 2"),
            ({"NPOL": 3}, "NPOL 3: must be 1, 2 or 4"),
            ({"OBSBW": 0}, "OBSBW 0: must be"),
            ({"TBIN": 2e-4}, "TBIN 0.0002: disagrees with OBSBW 0.01"),
            ({"TBIN": "nan"}, "TBIN nan: must be"),
            ({"OBSFREQ": "'L'"}, "OBSFREQ L: must"),
            ({"STT_IMJD": 0}, "STT_IMJD 0: must be"),
            ({"STT_OFFS": 5}, "STT_OFFS 5: must be a part of a second, from 0 to below 1"),
            ({"STT_OFFS": 1}, "STT_OFFS 1: must be a part of a second, from 0 to below 1"),
            ({"BLOCSIZE": 399}, "BLOCSIZE 399: must"),
            ({"OVERLAP": 100}, "OVERLAP 100: must be below the 100 samples"),
            ({"BLOCSIZE": 0}, "no block of GUPPI raw"),
            ({"PKTIDX": -1}, "none of its blocks can be used"),
        ):
            values = {**good, **changes}
            path.write_bytes(self.header(**values) + bytes(values["BLOCSIZE"]))
            with self.subTest(**changes), self.assertRaises(ValueError) as caught:
                open_input(f"guppi:{path}")
            self.assertIn(str(path), str(caught.exception))
            self.assertIn(problem, str(caught.exception))
        path.write_bytes(b"")
        with self.assertRaisesRegex(ValueError, "no block of GUPPI raw"):
            open_input(f"guppi:{path}")


main()
