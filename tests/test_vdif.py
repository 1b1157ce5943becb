# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
VDIF recordings as inputs: files that baseband's writer made, and what its reader decodes of them,
against what the source sends, exactly.
"""

import unittest

from places import enter_environment, fresh_folder, main, run_or_fail

enter_environment("formats")

import struct
import warnings
from fractions import Fraction

import baseband.data
import numpy as np
from astropy import units as u
from astropy.time import Time
from baseband import vdif
from baseband.base.encoding import EIGHT_BIT_1_SIGMA, FOUR_BIT_1_SIGMA
from gnuradio import blocks, gr

from gnuradio.aperture.doctor.findings import NOTICE, PROBLEM
from gnuradio.aperture.doctor.recordings import examine_recording
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.parameters.times import exact, read_time
from gnuradio.aperture.testing.mutilation import check_reader, mutilate
from gnuradio.aperture.testing.played_inputs import check_after
from gnuradio.aperture.testing.tiers import ALL
from recorded import gaps, run, wrong_samples

# ERFA calls dates in the future dubious
warnings.simplefilter("ignore")

START = Time("2020-02-29T23:59:59.75", format="isot", scale="utc")


def expected_levels(bits, decoded):
    """Returns what the source is to send for what baseband decodes, as components [...]."""
    if bits == 1:
        return np.where(decoded > 0, 20, -20)
    if bits == 2:
        return np.where(np.abs(decoded) > 2, 30, 9) * np.sign(decoded)
    if bits == 4:
        return np.rint(7 * FOUR_BIT_1_SIGMA * decoded)
    return np.rint(decoded * EIGHT_BIT_1_SIGMA + 127.5) - 128


class TestVdif(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("vdif")
        cls.rng = np.random.default_rng(34)

    def write(
        self,
        name,
        bits,
        is_complex=False,
        threads=1,
        channels=1,
        edv=1,
        frames=5,
        samples_per_frame=640,
        rate=6.4e4,
        start=START,
        **more,
    ):
        """A file of noise by baseband, and what it decodes of that, as [time][input][re, im]."""
        path = self.folder / name
        samples = frames * samples_per_frame
        shape = (samples, threads, channels)
        data = 2.2 * self.rng.normal(size=shape)
        if is_complex:
            data = data + 2.2j * self.rng.normal(size=shape)
        settings = dict(
            edv=edv,
            samples_per_frame=samples_per_frame,
            nchan=channels,
            complex_data=is_complex,
            bps=bits,
            station=more.pop("station", "Ab"),
        )
        header = vdif.VDIFHeader.fromvalues(
            **settings,
            **({"sample_rate": rate * u.Hz} if edv in (1, 3) else {}),
            **({"frame_length": 629} if edv == 3 else {}),
            time=start,
            **({} if edv in (1, 3) else {"frame_rate": rate / samples_per_frame * u.Hz}),
        )
        with vdif.open(
            str(path), "ws", header0=header, nthread=threads, sample_rate=rate * u.Hz, squeeze=False
        ) as file:
            file.write(data)
        with vdif.open(str(path), "rs", sample_rate=rate * u.Hz, squeeze=False) as file:
            decoded = file.read()
        decoded = decoded.reshape(samples, threads * channels)
        parts = np.stack([decoded.real, decoded.imag], -1) if is_complex else decoded[..., None]
        return path, expected_levels(bits, parts)

    def test_all_forms(self):
        number = 0
        for bits in (1, 2, 4, 8):
            for is_complex in (False, True):
                for threads, channels in ((1, 1), (3, 1), (1, 4), (2, 2), (5, 8)):
                    for edv in (1, 0, False):
                        number += 1
                        with self.subTest(
                            bits=bits,
                            complex=is_complex,
                            threads=threads,
                            channels=channels,
                            edv=edv,
                        ):
                            path, expected = self.write(
                                f"{number}.vdif", bits, is_complex, threads, channels, edv
                            )
                            rate = "" if edv == 1 else ",rate=64e3"
                            signals = open_input(f"vdif:{path}{rate},freq=1.4e9")
                            self.assertEqual(signals.sample_type, "sc8" if is_complex else "s8")
                            self.assertEqual(signals.inputs, threads * channels)
                            self.assertEqual((signals.samples, signals.sample_rate), (3200, 64e3))
                            self.assertEqual(signals.start_time, (1583020799, 0.75))
                            data, tags, source = run(signals)
                            np.testing.assert_array_equal(data, expected)
                            self.assertEqual(len(tags), 3)
                            self.assertEqual(source.error(), "")
                            self.assertEqual(set(source.counts().values()), {0})

    def test_readers(self):
        """Several threads read what one does, with frames that are lost and swapped."""
        path, expected = self.write("readers.vdif", 2, threads=3, channels=2, frames=1000)
        frame = 32 + 320
        content = path.read_bytes()
        frames = [content[i : i + frame] for i in range(0, len(content), frame)]
        del frames[1500]  # a thread lacks time 500 then
        frames[2000], frames[2007] = frames[2007], frames[2000]
        path.write_bytes(b"".join(frames))
        results = []
        for readers in (1, 2, 7):
            data, tags, source = run(
                open_input(f"vdif:{path},freq=1e9,inverted=yes,readers={readers}")
            )
            results.append((gaps(tags), source.counts(), source.missing()))
            lost = np.zeros((len(data), 6, 1), bool)
            for number, first, count in gaps(tags):
                lost[first : first + count, number] = True
            self.assertEqual(np.count_nonzero(lost), 2 * 640)
            np.testing.assert_array_equal(data, np.where(lost, 0, expected))
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])

    def test_edv_3_and_a_station_of_numbers(self):
        path, expected = self.write(
            "edv3.vdif", 2, edv=3, samples_per_frame=20000, rate=1e6, station=65
        )
        data, _, _ = run(open_input(f"vdif:{path},freq=1e9"))
        np.testing.assert_array_equal(data, expected)

    def test_16_bits(self):
        """baseband has no 16 bits: the payload is made here."""
        header = vdif.VDIFHeader.fromvalues(
            edv=1,
            samples_per_frame=100,
            nchan=2,
            complex_data=True,
            bps=16,
            station=3,
            sample_rate=1e4 * u.Hz,
            time=START,
        )
        values = self.rng.integers(0, 65536, (2, 100, 2, 2), dtype="<u2")
        path = self.folder / "16.vdif"
        with open(path, "wb") as file:
            for frame, part in enumerate(values):
                header["frame_nr"] = 75 + frame
                header.tofile(file)
                file.write(part.tobytes())
        signals = open_input(f"vdif:{path},freq=1e9")
        self.assertEqual(signals.sample_type, "sc16")
        data, _, _ = run(signals)
        np.testing.assert_array_equal(data, values.reshape(200, 2, 2).astype(int) - 32768)

    def test_choice(self):
        path, expected = self.write("choice.vdif", 2, True, 4, 2)
        data, _, _ = run(open_input(f"vdif:{path},thread=3+0,channel=1,freq=1e9"))
        np.testing.assert_array_equal(data, expected[:, [7, 1]])
        data, _, _ = run(open_input(f"vdif:{path},thread=2,freq=1e9,inverted=yes"))
        np.testing.assert_array_equal(data, expected[:, 4:6] * [1, -1])
        for text, problem in (
            ("thread=4", "there is no thread 4: expected some of 0, 1, 2, 3"),
            ("channel=2", "there is no channel 2: expected some of 0 to 1"),
            ("thread=1+1", "thread=1+1: expected each number once"),
            ("thread=a", "thread=a: expected whole numbers from 0 to 1023"),
            ("rate=1e3", "rate= 1000 samples a second, but frames have 640"),
        ):
            with self.assertRaises(ValueError) as caught:
                open_input(f"vdif:{path},{text}")
            self.assertIn(problem, str(caught.exception))

    def test_rate_that_is_counted(self):
        """No header says it, but a second ends in the file; or none does."""
        path, expected = self.write("counted.vdif", 2, threads=3, edv=0, frames=120, rate=6.4e4)
        signals = open_input(f"vdif:{path},freq=1e9")
        self.assertEqual((signals.sample_rate, signals.samples), (64e3, 76800))
        self.assertIn("64000 samples a second were found by counting", signals.warnings[0])
        np.testing.assert_array_equal(run(signals)[0], expected)
        check_after(self, signals, 1, 640, 70001)
        path, _ = self.write("short.vdif", 2, edv=0)
        with self.assertRaisesRegex(ValueError, "nothing says its rate.*add ,rate=,"):
            open_input(f"vdif:{path}")

    def frames(
        self,
        count,
        threads=1,
        per_second=100,
        second=1000,
        epoch=48,
        first_number=0,
        epoch_seconds=None,
    ):
        """Frames, without a rate, of 800 samples of 8 bits, as a list; and the samples
        [frame][thread][time]. After so many seconds of an epoch the next one begins."""
        data = self.rng.integers(0, 256, (count, threads, 800), np.uint8)
        made = []
        for i in range(count):
            late, number = divmod(i, per_second)
            now, half_year = second + late, epoch
            if epoch_seconds is not None and now >= epoch_seconds:
                now, half_year = now - epoch_seconds, epoch + 1
            made += [
                struct.pack(
                    "<8I",
                    now,
                    number + first_number | half_year << 24,
                    832 // 8 | 1 << 29,
                    0x4141 | 7 << 26 | thread << 16,
                    0,
                    0,
                    0,
                    0,
                )
                + data[i, thread].tobytes()
                for thread in range(threads)
            ]
        return made, data

    def test_rate_is_compared_with_the_whole_file(self):
        """The rate is that of the whole file, whatever is lost or exchanged at the end of the first
        second: others end in the file."""
        for threads in (1, 3):
            good, data = self.frames(450, threads)
            expected = data.transpose(0, 2, 1).reshape(-1, threads).astype(int) - 128
            end = 100 * threads
            for name, order, lost in (
                ("whole", good, []),
                ("lost", good[: end - threads] + good[end:], [99]),
                (
                    "two lost",
                    good[: end - threads] + good[end : 2 * end - threads] + good[2 * end :],
                    [99, 199],
                ),
                (
                    "exchanged",
                    [
                        *good[: end - threads],
                        *good[end : end + threads],
                        *good[end - threads : end],
                        *good[end + threads :],
                    ],
                    [],
                ),
                (
                    "many bytes too few",
                    good[: end - threads] + good[end + 9 * threads :],
                    range(99, 109),
                ),
                ("begins at the end of a second", good[end - threads :], range(99)),
                # the frames behind it are not where they would be in a whole file
                ("bytes too many", [*good[: 2 * end], bytes(333), *good[2 * end :]], None),
            ):
                with self.subTest(name, threads=threads):
                    path = self.folder / "rate.vdif"
                    path.write_bytes(b"".join(order))
                    signals = open_input(f"vdif:{path},freq=1e9")
                    self.assertEqual(signals.sample_rate, 80000)
                    self.assertRegex(signals.warnings[0], "found by counting .* of [345] seconds")
                    sent, tags, _ = run(signals)
                    if lost is None:
                        continue
                    begin = 99 * 800 if name.startswith("begins") else 0
                    self.assertEqual(signals.start_time, (1704068200, begin / 80000))
                    right = expected.copy()
                    for frame in lost:
                        right[800 * frame : 800 * (frame + 1)] = 0
                    np.testing.assert_array_equal(sent[..., 0], right[begin:])

    def test_rate_that_the_frames_contradict(self):
        path = self.folder / "contradiction.vdif"
        path.write_bytes(b"".join(self.frames(350, first_number=1)[0]))
        with self.assertRaisesRegex(ValueError, "numbers from 1 to 100, where VDIF counts from 0"):
            open_input(f"vdif:{path},freq=1e9")
        with self.assertRaisesRegex(
            ValueError,
            "rate= 80000 samples a second, 100 frames, whose "
            "numbers are 0 to 99, but its .* numbers from 1 to 100",
        ):
            open_input(f"vdif:{path},freq=1e9,rate=80e3")
        path.write_bytes(b"".join(self.frames(350)[0]))
        with self.assertRaisesRegex(ValueError, "rate= 40000 samples .* numbers from 0 to 99"):
            open_input(f"vdif:{path},freq=1e9,rate=40e3")
        self.assertIn(
            "at the ends of 3 seconds no frame has a number above 99: all others are "
            "missing, or the rate is 80000",
            open_input(f"vdif:{path},freq=1e9,rate=160e3").warnings[0],
        )
        self.assertNotIn("seconds", str(open_input(f"vdif:{path},freq=1e9,rate=80e3").warnings))

    def test_rate_of_headers_that_change(self):
        first, _ = self.write("rate-1.vdif", 2, frames=100)
        other, _ = self.write("rate-2.vdif", 2, frames=400, rate=12.8e4)
        both = self.folder / "rates.vdif"
        both.write_bytes(first.read_bytes() + other.read_bytes())
        with self.assertRaisesRegex(ValueError, "headers .* 64000 .* have another rate; rate="):
            open_input(f"vdif:{both},freq=1e9")

    def test_half_years(self):
        """The reference epoch changes in a recording, at a leap second, too; baseband says when
        frames were taken."""
        for name, epoch, days, leap in (
            ("July", 48, 182, 0),
            ("January", 49, 184, 0),
            ("leap second", 33, 184, 1),
        ):
            seconds = 86400 * days + leap
            frames, data = self.frames(
                450, second=seconds - 2 - leap, epoch=epoch, epoch_seconds=seconds
            )
            path = self.folder / "epoch.vdif"
            for cut in (0, 50, 150, 199, 200, 300):
                path.write_bytes(b"".join(frames[cut:]))
                with self.subTest(name, cut=cut), open(path, "rb") as file:
                    signals = open_input(f"vdif:{path},freq=1e9")
                    self.assertEqual(
                        (signals.sample_rate, signals.samples), (80000, 800 * (450 - cut))
                    )
                    sent, tags, source = run(signals)
                    np.testing.assert_array_equal(
                        sent[:, 0, 0], data[cut:].reshape(-1).astype(int) - 128
                    )
                    self.assertEqual(gaps(tags), [])
                    self.assertEqual(set(source.counts().values()), {0})
                    time = vdif.VDIFHeader.fromfile(file).get_time(100 * u.Hz)
                    whole, rest = signals.start_time
                    self.assertEqual(whole + exact(rest), read_time(time.isot))

    def test_seconds_that_go_on_behind_a_leap_second(self):
        """A recorder may stay in its epoch."""
        frames, _ = self.frames(250, second=184 * 86400 + 5, epoch=33)
        path = self.folder / "stays.vdif"
        path.write_bytes(b"".join(frames))
        with open(path, "rb") as file:
            time = vdif.VDIFHeader.fromfile(file).get_time(100 * u.Hz)
        self.assertEqual(time.isot, "2017-01-01T00:00:04.000000000")
        self.assertEqual(open_input(f"vdif:{path},freq=1e9").start_time, (1483228804, 0.0))

    def test_doctor(self):
        """The doctor says which frames are not used, and that this is wrong where they are many."""
        frames, _ = self.frames(250)
        path = self.folder / "doctor.vdif"
        for bad, kind in ((1, NOTICE), (9, PROBLEM)):
            path.write_bytes(
                b"".join(
                    frame[:12] + b"\0\0" + frame[14:] if i % 20 == 3 and i < 20 * bad else frame
                    for i, frame in enumerate(frames)
                )
            )
            found = {
                entry.name: entry for entry in examine_recording(f"vdif:{path},freq=1e9").findings
            }
            self.assertEqual(found["unused"].kind, kind)
            self.assertIn(f"{bad} damaged frame", found["unused"].what)

    def test_frequency(self):
        path, _ = self.write("frequency.vdif", 2)
        signals = open_input(f"vdif:{path}")
        self.assertEqual(signals.center_frequency, 0)
        self.assertIn("freq= or --array says it", signals.warnings[0])

    def test_files_in_a_row(self):
        path, expected = self.write("row.vdif", 4, True, 3, frames=10)
        content = path.read_bytes()
        frame = len(content) // 30
        parts = [self.folder / f"row.{i}" for i in range(3)]
        for part, (begin, end) in zip(parts, ((0, 7), (7, 8), (8, 30))):
            part.write_bytes(content[begin * frame : end * frame])
        data, _, _ = run(open_input("vdif:" + ",".join(map(str, parts)) + ",freq=1e9"))
        np.testing.assert_array_equal(data, expected)

    def test_files_that_do_not_continue(self):
        first, _ = self.write("first.vdif", 2, frames=100)
        for name, form, problem in (
            ("bits.vdif", {"bits": 4}, "has samples of real integers of 4 bits, but .*first.vdif"),
            ("single.vdif", {"frames": 1, "edv": 0}, "begins 0.99 s before .*first.vdif ends"),
        ):
            second, _ = self.write(name, **{"bits": 2, **form})
            with self.assertRaisesRegex(ValueError, f"{name}: .*{problem}"):
                open_input(f"vdif:{first},{second},freq=1e9")

    # ---- frames that are not as they should be

    def changed(self, name, change, **form):
        """Returns what is sent of a file of 40 frames of two threads that change() has changed."""
        path, expected = self.write(name, 2, threads=2, frames=40, **form)
        content = path.read_bytes()
        size = len(content) // 80
        frames = [bytearray(content[i * size : (i + 1) * size]) for i in range(80)]
        path.write_bytes(b"".join(change(frames)))
        signals = open_input(f"vdif:{path},freq=1e9")
        data, tags, source = run(signals)
        self.assertEqual(source.error(), "")
        return expected[..., 0], data[..., 0], gaps(tags), source, signals

    def check_missing(self, expected, data, found, missing):
        """Checks which frames are missing. missing: (frame, thread) that are to be zeros, and
        nothing else."""
        expected = expected.copy()
        for frame, thread in missing:
            expected[640 * frame : 640 * (frame + 1), thread] = 0
        np.testing.assert_array_equal(data, expected[: len(data)])
        tagged = {
            (first + i, thread) for thread, first, count in found for i in range(0, count, 640)
        }
        self.assertEqual(tagged, {(640 * frame, thread) for frame, thread in missing})

    def test_lost(self):
        for lost in ({7}, {0}, {1}, {79}, {10, 11, 12, 13}, {20, 22, 24, 51}, set(range(4, 60))):
            expected, data, found, source, _ = self.changed(
                "lost.vdif", lambda all: [f for i, f in enumerate(all) if i not in lost]
            )
            self.check_missing(expected, data, found, {divmod(i, 2) for i in lost})
            self.assertEqual(len(data), 40 * 640)
            self.assertEqual(sum(source.missing()), 640 * len(lost))

    def test_invalid(self):
        def change(frames):
            for i in (5, 8, 9):
                frames[i][3] |= 0x80
            return frames

        expected, data, found, source, _ = self.changed("invalid.vdif", change)
        self.check_missing(expected, data, found, {(2, 1), (4, 0), (4, 1)})
        self.assertEqual(source.counts()["invalid"], 3)

    def test_command(self):
        """aperture_fx counts what was lost, and says which frames it did not use."""
        path, _ = self.write(
            "command.vdif", 2, threads=2, frames=200, samples_per_frame=1600, rate=1.6e5
        )
        content = bytearray(path.read_bytes())
        size = len(content) // 400
        content[100 * size + 3] |= 0x80
        content[200 * size + 8] ^= 1
        path.write_bytes(content[: 300 * size] + content[301 * size :] + content[-5:])
        output = run_or_fail(
            self,
            "aperture_fx",
            "--input",
            f"vdif:{path},freq=1e9",
            "--channels",
            64,
            "-o",
            self.folder / "command.uvh5",
        )
        # 1600 samples are 12.5 spectra, to which 7 under the prototype filter come
        self.assertRegex(output, r"(?m)^  missing +1\d\d spectra of all inputs$")
        self.assertRegex(
            output,
            r"(?m)^  not used +2 damaged frames, 1 invalid frame, "
            f"{2 * size + 5} bytes between frames$",
        )

    def test_order(self):
        order = np.concatenate(
            [np.random.default_rng(i).permutation(20) + 20 * i for i in range(4)]
        )
        expected, data, found, source, _ = self.changed(
            "order.vdif", lambda frames: [frames[i] for i in order]
        )
        self.check_missing(expected, data, found, set())
        self.assertEqual(set(source.counts().values()), {0})

    def test_repeated(self):
        expected, data, found, source, _ = self.changed(
            "repeated.vdif", lambda frames: frames[:30] + frames[20:]
        )
        self.check_missing(expected, data, found, set())
        self.assertGreaterEqual(source.counts()["repeated"] + source.counts()["late"], 10)

    def test_damaged_headers(self):
        """One bit of a header that all frames share, or one in the time."""
        for byte, bit in (
            (8, 0),
            (10, 7),
            (11, 1),
            (15, 2),
            (15, 7),
            (7, 0),
            (2, 5),
            (5, 1),
            (3, 6),
        ):

            def change(frames):
                frames[33][byte] ^= 1 << bit
                return frames

            with self.subTest(byte=byte, bit=bit):
                expected, data, found, source, _ = self.changed("damaged.vdif", change)
                self.check_missing(expected, data, found, {(16, 1)})
                self.assertEqual(source.counts()["damaged"], 1)

    def test_times_that_cannot_be_counted(self):
        """Seconds that are late by 17 years, at a rate at which samples are counted for 11."""
        path, expected = self.write("late.vdif", 2, samples_per_frame=6400, rate=6.4e9, frames=6)
        content = path.read_bytes()
        size, second = len(content) // 6, int.from_bytes(content[:4], "little")
        frames = [bytearray(content[i * size : (i + 1) * size]) for i in range(6)]
        for i in (4, 5):
            frames[i][:4] = (second ^ 1 << 29).to_bytes(4, "little")
        path.write_bytes(b"".join(frames))
        data, tags, source = run(open_input(f"vdif:{path},freq=1e9"))
        # the last two frames would say how long the recording is
        np.testing.assert_array_equal(data, expected[: 4 * 6400])
        self.assertEqual(gaps(tags), [])
        self.assertEqual(source.counts()["damaged"], 2)

    def test_bytes_that_are_missing_or_more(self):
        # 32 bytes of header and 2 bits of 640 samples
        size = 192
        for name, change, missing, skipped in (
            (
                "some are cut out of a frame",
                lambda f: f[:21] + [f[21][:77]] + f[22:],
                {(10, 1)},
                77,
            ),
            (
                "more than the header is cut out",
                lambda f: f[:21] + [f[21][40:]] + f[22:],
                {(10, 0), (10, 1)},
                2 * size - 40,
            ),
            (
                "samples that look like a header in what is left of a frame",
                lambda f: f[:21] + [f[21][:50] + f[40][:32]] + f[22:],
                {(10, 1)},
                82,
            ),
            # nobody knows whether they are in the frame before
            (
                "zeros between frames",
                lambda f: f[:30] + [bytes(1001)] + f[30:],
                {(14, 1)},
                size + 1001,
            ),
            ("noise at the beginning", lambda f: [self.rng.bytes(12347)] + f, set(), 12347),
            ("the last one is cut off", lambda f: f[:79] + [f[79][:100]], {(39, 1)}, 100),
        ):
            with self.subTest(name):
                expected, data, found, source, _ = self.changed("bytes.vdif", change)
                self.check_missing(expected, data, found, missing)
                self.assertEqual(source.counts()["skipped"], skipped)

    def test_restart_and_part(self):
        path, expected = self.write("restart.vdif", 2, True, 2, frames=30)
        signals = open_input(f"vdif:{path},freq=1e9")
        source, sink = signals.source(10001), blocks.vector_sink_b(4)
        top = gr.top_block()
        top.connect(source, sink)
        for _ in range(2):
            sink.reset()
            top.run()
            data = np.array(sink.data(), np.uint8).view(np.int8).reshape(-1, 2, 2)
            np.testing.assert_array_equal(data, expected[:10001])
            self.assertEqual(len(sink.tags()), 3)

    def test_recordings(self):
        """Files of telescopes, which come with baseband."""
        for name, rate, options in (
            ("SAMPLE_VDIF", 32e6, ""),
            ("SAMPLE_BPS1_VDIF", 8e6, ",rate="),
            ("SAMPLE_AROCHIME_VDIF", 390625, ",rate="),
            ("SAMPLE_MWA_VDIF", 1.28e6, ",rate="),
        ):
            path = getattr(baseband.data, name)
            with vdif.open(path, "rs", sample_rate=rate * u.Hz, squeeze=False) as file:
                decoded, bits = file.read(), file.header0.bps
                # baseband fills what a file marks as invalid
                invalid = not file.header0["invalid_data"] == 0
            decoded = decoded.reshape(len(decoded), -1)
            parts = (
                np.stack([decoded.real, decoded.imag], -1)
                if np.iscomplexobj(decoded)
                else decoded[..., None]
            )
            signals = open_input(f"vdif:{path},freq=1e9{options}{rate if options else ''}")
            data, _, _ = run(signals)
            if not invalid:
                np.testing.assert_array_equal(data, expected_levels(bits, parts)[: len(data)], name)
        # half of its threads have another second than the others
        signals = open_input(f"vdif:{baseband.data.SAMPLE_VLBI_VDIF},freq=1e9")
        data, _, source = run(signals)
        self.assertEqual(signals.samples, 40000)
        self.assertEqual([bool(count) for count in source.missing()], [True, False] * 4)

    def test_stations(self):
        """Files of two stations side by side, of other frames, that begin and end at other times,
        with a frame that is lost: lined up, and named by their IDs. Files of one station that have
        the same time are side by side, too, and others follow each other."""
        east, left = self.write("ef.vdif", 2, threads=2, frames=12, station="Ef")
        later = START + 0.05 * u.s
        form = dict(channels=2, samples_per_frame=320, start=later)
        west, right = self.write("wb.vdif", 2, frames=20, station="Wb", **form)
        # 160 bytes of samples behind 32 of a header
        data = west.read_bytes()
        west.write_bytes(data[: 3 * 192] + data[4 * 192 :])
        expected, lost = np.zeros((9600, 4, 1), int), np.ones((9600, 4), bool)
        expected[:7680, :2], lost[:7680, :2] = left, False
        expected[3200:, 2:], lost[3200:, 2:] = right, False
        expected[4160:4480, 2:], lost[4160:4480, 2:] = 0, True
        signals = open_input(f"vdif:{east},{west},freq=1e9")
        self.assertEqual((signals.samples, signals.inputs), (9600, 4))
        self.assertEqual(signals.description.input_names, ["Efx", "Efy", "Wbx", "Wby"])
        said = " ".join(signals.warnings)
        self.assertIn("wb.vdif: begins 50 ms after", said)
        self.assertIn("ef.vdif: ends 30 ms before", said)
        data, tags, source = run(signals)
        np.testing.assert_array_equal(data, expected)
        told = np.zeros(lost.shape, bool)
        for number, first, count in gaps(tags):
            told[first : first + count, number] = True
        np.testing.assert_array_equal(told, lost)
        self.assertEqual(source.counts()["damaged"], 0)
        check_after(self, signals, 1, 3199, 8000)
        # the station that begins later, named first, and a part of its channels
        data, _, _ = run(open_input(f"vdif:{west},{east},channel=0,freq=1e9"))
        np.testing.assert_array_equal(data, expected[:, [2, 0, 1]])
        # halves of a station's file, in the wrong order
        whole = east.read_bytes()
        halves = self.folder / "ef1.vdif", self.folder / "ef2.vdif"
        cut = len(whole) // 2
        for path, part in zip(halves, (whole[:cut], whole[cut:])):
            path.write_bytes(part)
        data, _, _ = run(open_input(f"vdif:{halves[1]},{west},{halves[0]},freq=1e9"))
        np.testing.assert_array_equal(data, expected)
        # one station, one time
        twin, other = self.write("twin.vdif", 2, frames=70, station="Ef")
        single, first = self.write("first.vdif", 2, frames=72, station="Ef")
        data, _, _ = run(open_input(f"vdif:{single},{twin},freq=1e9"))
        other = np.concatenate([other, np.zeros((2 * 640, 1, 1), int)])
        np.testing.assert_array_equal(data, np.concatenate([first, other], axis=1))
        for form, wrong in (
            (
                dict(rate=3.2e4, samples_per_frame=320),
                "on.vdif: has a sample rate of 32000 Hz, but .*ef.vdif has 64000 Hz",
            ),
            (
                dict(is_complex=True),
                "on.vdif: has samples of complex integers of 2 bits, but .*ef.vdif has real",
            ),
        ):
            path, _ = self.write("on.vdif", 2, station="On", **form)
            with self.assertRaisesRegex(ValueError, wrong):
                open_input(f"vdif:{east},{path},freq=1e9")

    def test_mutilated(self):
        """A thousand files, most of them spoilt in one of their headers; in the quick tier the
        first of them."""
        files = 1000 if ALL else 200
        path, expected = self.write(
            "mutilated.vdif", 2, threads=2, frames=8, samples_per_frame=2560, rate=25.6e4
        )
        good, start = path.read_bytes(), Fraction(1583020799) + Fraction(3, 4)
        size = len(good) // 16
        text, rng, read = f"vdif:{path},freq=1e9", np.random.default_rng(5), 0
        for number in range(files):
            # the first frame is what all are compared with
            begin = size * int(rng.integers(0, 16)) if number % 2 else 0
            what, spoilt = mutilate(good[begin:], rng, 32)
            spoilt = good[:begin] + spoilt
            path.write_bytes(spoilt)
            what = f"file {number}, {what} from byte {begin}"
            if not check_reader(self, lambda: open_input(text), str(path), spoilt, what):
                continue
            read += 1
            data, tags, source = run(open_input(text))
            # one thread is left of a file with a single frame
            wrong = min(
                wrong_samples(data, tags, 256e3, those, start)
                for those in (
                    [expected] if data.shape[1] == 2 else [expected[:, :1], expected[:, 1:]]
                )
            )
            # spoilt bytes of samples, or one frame whose time is another one's
            self.assertLessEqual(wrong, 64 * 4 if not sum(source.missing()) else 2560, what)
            self.assertEqual(source.error(), "", what)
        # an unreadable file has no two frames, or is all zeros
        self.assertGreater(read, 0.85 * files)

    def test_mark5b(self):
        with vdif.open(baseband.data.SAMPLE_VDIF, "rb") as file:
            frame = file.read_frame()
        with open(baseband.data.SAMPLE_VDIF, "rb") as file:
            content = bytearray(file.read())
        size = frame.header.frame_nbytes
        for i in range(len(content) // size):
            content[i * size + 19] = 0xAB
        path = self.folder / "mark5b.vdif"
        path.write_bytes(content)
        with self.assertRaisesRegex(ValueError, "VDIF"):
            open_input(f"vdif:{path},freq=1e9")


main()
