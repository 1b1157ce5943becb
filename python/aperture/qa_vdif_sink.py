#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""VDIF that is written and sent, compared bit by bit with a model in NumPy, and read back by
vdif_source; python/aperture/testing/outside has baseband."""

import socket
import sys
from unittest import mock

import numpy as np
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture import tags
from gnuradio.aperture.formats.vdif.writer import BEST_STEPS, FrameForm, station_number
from gnuradio.aperture.testing.disks import small_disk
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import ByteSink, ByteSource, Keeper, run_chain
from gnuradio.aperture.testing.vdif_files import codes_of, read_frames

START = 1704067200  # 2024-01-01, the beginning of epoch 48
RATE = 6400.0
SAMPLES = 160  # a frame of 40 bytes and 2 bits: 40 frames a second
TYPES = {
    "f32": (np.float32, 1),
    "s16": (np.int16, 1),
    "s8": (np.int8, 1),
    "fc32": (np.float32, 2),
    "sc16": (np.int16, 2),
    "sc8": (np.int8, 2),
}


def begin(time=(START, 0.0), rate=RATE, item=0):
    return [(item, tags.rx_time, time), (item, tags.rx_rate, rate)]


def missing(item, number, first, count):
    value = {tags.input: number, tags.first: first, tags.count: count}
    return (item, tags.missing, value)


def model(values, bits, step, frames, samples, level_frames):
    """The codes of an input [sample][component] that fill frames: those of each by the mean power
    of the ones before it."""
    codes, power, count = [], 0.0, 0
    for number in range(frames):
        part = values[number * samples : (number + 1) * samples].astype(np.float64)
        own = np.mean(part**2)
        codes.append(codes_of(part, np.sqrt(power or own), bits, step))
        count += 1
        power += (own - power) * max(1 / count, 1 / level_frames)
    return np.array(codes), np.sqrt(power)


class qa_vdif_sink(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(5)

    def noise(self, count, inputs=2, kind="f32", rms=20.0):
        """[sample][input][component]"""
        dtype, parts = TYPES[kind]
        values = self.rng.normal(size=(count, inputs, parts)) * rms
        return (values if dtype is np.float32 else np.rint(values)).astype(dtype)

    def sink(self, name="v.vdif", **arguments):
        sink = aperture.vdif_sink(
            self.path(name) if name else "", **{"sample_rate": RATE, "data_bytes": 40, **arguments}
        )
        sink.set_log_level("off")
        return sink

    def run_sink(self, values, found=None, name="v.vdif", chunks=4096, sink=None, **arguments):
        """Sends values [sample][input][component]; gives the sink."""
        data = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
        source = ByteSource(data, begin() if found is None else found, chunks)
        sink = sink or self.sink(name, inputs=values.shape[1], **arguments)
        run_chain(source, sink)
        return sink

    def frames(self, name="v.vdif"):
        return read_frames((self.folder / name).read_bytes())

    def left(self):
        return sorted(path.name for path in self.folder.iterdir())

    # ---- codes

    def test_codes(self):
        for number, (kind, bits, inputs, together, polarizations) in enumerate(
            (
                ("f32", 2, 2, 1, 2),
                ("f32", 1, 1, 1, 1),
                ("f32", 4, 2, 2, 1),
                ("f32", 8, 8, 4, 2),
                ("s16", 2, 1, 1, 1),
                ("s8", 8, 2, 1, 2),
                ("fc32", 2, 2, 1, 2),
                ("sc8", 4, 2, 1, 2),
                ("sc16", 1, 4, 2, 2),
            )
        ):
            with self.subTest(kind=kind, bits=bits):
                values = self.noise(1001, inputs, kind) * np.arange(1, inputs + 1)[:, None]
                values = values.astype(TYPES[kind][0])
                size = 5 * 8 * together
                samples = size * 8 // (bits * TYPES[kind][1] * together)
                rate = samples * 16.0
                sink = self.run_sink(
                    values,
                    begin(rate=rate),
                    f"{number}.vdif",
                    type=kind,
                    bits=bits,
                    sample_rate=rate,
                    data_bytes=size,
                    polarizations=polarizations,
                    inputs_per_frame=together,
                    level_time=3 / 16,
                )
                self.assertIsNone(sink.error())
                frames = self.frames(f"{number}.vdif")
                times = 1001 // samples
                self.assertEqual(len(frames), times * polarizations)
                for at in range(inputs):
                    thread, channel = divmod(at, together)
                    expected, level = model(
                        values[:, at], bits, BEST_STEPS[bits], times, samples, 3
                    )
                    found = [f.codes[:, channel] for f in frames if f.thread == thread]
                    wrong = np.count_nonzero(np.array(found) != expected)
                    # values are divided in single precision
                    self.assertLessEqual(wrong, 1e-5 * expected.size + (bits == 8))
                    self.assertAlmostEqual(sink.levels()[at] / level, 1, 5)
                self.assertEqual({(f.bits, f.channels) for f in frames}, {(bits, together)})
                self.assertEqual({f.complex for f in frames}, {TYPES[kind][1] == 2})

    def test_ties(self):
        """Rounding is half to even, both sides of zero and of a threshold belong to one code."""
        values = np.zeros((SAMPLES, 1, 1), np.float32)
        values[:8, 0, 0] = (
            -2,
            np.nextafter(np.float32(-2), np.float32(-9)),
            -0.0,
            0,
            1.999,
            2,
            -1e9,
            1e9,
        )
        self.run_sink(values, level=1, step=2, polarizations=1)
        (frame,) = self.frames()
        self.assertEqual(frame.codes[:9, 0, 0].tolist(), [1, 0, 2, 2, 2, 3, 0, 3, 2])
        values[:6, 0, 0] = 0.5, 1.5, -0.5, -2.5, 99, -99
        self.run_sink(
            values, level=1, step=1, polarizations=1, bits=4, data_bytes=80, name="4.vdif"
        )
        (frame,) = self.frames("4.vdif")
        self.assertEqual(frame.codes[:6, 0, 0].tolist(), [8, 10, 8, 6, 15, 1])

    def test_two_bits_keep_correlation(self):
        """Correlated noise keeps 0.88 of its correlation, with 1, 4 and 8 bits what is said."""
        count, rho = 160 * 2500, 0.1
        common = self.rng.normal(size=count)
        own = self.rng.normal(size=(2, count))
        pair = np.sqrt(rho) * common + np.sqrt(1 - rho) * own
        values = np.ascontiguousarray(pair.T[..., None] * [[7.0], [300.0]]).astype(np.float32)
        true = np.corrcoef(pair)[0, 1]
        for bits, kept in ((1, 0.637), (2, 0.8825), (4, 0.987), (8, 0.9999)):
            self.run_sink(
                values, begin(rate=160e3), bits=bits, sample_rate=160e3, data_bytes=2000 * bits
            )
            x, y = (
                np.concatenate([f.codes[:, 0, 0] for f in self.frames() if f.thread == thread])
                for thread in (0, 1)
            )
            levels = {1: [-1, 1], 2: [-3.3359, -1, 1, 3.3359]}.get(bits)
            if levels is None:
                levels = np.arange(1 << bits) - (1 << bits - 1)
            x, y = np.array(levels)[x], np.array(levels)[y]
            found = np.mean(x * y) / np.sqrt(np.mean(x**2.0) * np.mean(y**2.0)) / true
            # 1 bit keeps 2/pi arcsin(rho); the noise of 4e5 quantised samples is 1 %
            self.assertLess(abs(found - kept), 0.012, bits)

    def test_level(self):
        """The level follows a step slowly, is measured anew after a start, and can be fixed."""
        values = np.concatenate([self.noise(40 * SAMPLES, 1), 4 * self.noise(40 * SAMPLES, 1)])
        sink = self.run_sink(values, polarizations=1, level_time=0.5)
        powers = np.mean(values.reshape(80, SAMPLES).astype(float) ** 2, axis=1)
        power = 0
        for count, own in enumerate(powers, 1):
            power += (own - power) * max(1 / count, 1 / 20)
        self.assertAlmostEqual(sink.levels()[0] / np.sqrt(power), 1, 6)
        self.run_sink(values[:SAMPLES], sink=sink)
        self.assertAlmostEqual(sink.levels()[0] / np.sqrt(powers[0]), 1, 6)
        fixed = self.run_sink(values, polarizations=1, level=20, name="fixed.vdif")
        self.assertEqual(fixed.levels().tolist(), [20.0])
        codes = np.array([f.codes for f in self.frames("fixed.vdif")]).ravel()
        self.assertEqual(np.count_nonzero(codes != codes_of(values.ravel(), 20, 2, 0.98)), 0)

    def test_zeros(self):
        """An input of zeros has the code above the middle, and no level."""
        values = self.noise(3 * SAMPLES)
        values[:, 1] = 0
        sink = self.run_sink(values)
        self.assertEqual(sink.levels()[1], 0)
        self.assertEqual({int(c) for f in self.frames() if f.thread for c in f.codes.flat}, {2})

    # ---- headers and times

    def test_headers(self):
        values = self.noise(90 * SAMPLES, 2)
        sink = self.run_sink(
            values, begin((START + 100, 0.975)), station="Ef", threads=[7, 3], level=20
        )
        self.assertIsNone(sink.error())
        frames = self.frames()
        self.assertEqual([f.thread for f in frames[:4]], [7, 3, 7, 3])
        for number, frame in enumerate(frames):
            second, count = divmod(39 + number // 2, 40)
            self.assertEqual((frame.second, frame.number), (100 + second, count))
            self.assertEqual((frame.epoch, frame.version, frame.legacy), (48, 1, False))
            self.assertEqual((frame.station, frame.size), (ord("E") << 8 | ord("f"), 72))
            self.assertEqual((frame.invalid, frame.extended), (False, (0, 0, 0, 0)))

    def test_extended(self):
        rate = 32e6
        values = self.noise(20000, 1)
        for edv, width, size in ((1, 16, 8000), (3, 16, 5000)):
            self.run_sink(
                values,
                begin(rate=rate),
                polarizations=1,
                sample_rate=rate,
                data_bytes=size,
                edv=edv,
                bits=4,
            )
            word, sync, _, last = self.frames()[0].extended
            # the bandwidth of real samples, in kHz
            self.assertEqual((word, sync), (edv << 24 | width * 1000, 0xACABFEED))
            self.assertEqual(last, 1 << 16 if edv == 3 else 0)

    def test_begins_on_a_frame(self):
        """Samples before the first frame, and those that do not fill the last one, are left out."""
        values = self.noise(5 * SAMPLES, 1)
        time = (START, 0.5 + 13 / RATE)
        sink = self.run_sink(values, begin(time), level=20, polarizations=1)
        self.assertEqual([f.number for f in self.frames()], [21, 22, 23, 24])
        lead = SAMPLES - 13
        self.assertEqual(sink.counts()["skipped"], lead)
        codes = np.array([f.codes for f in self.frames()]).ravel()
        expected = codes_of(values[lead : lead + 4 * SAMPLES].ravel(), 20, 2, 0.98)
        np.testing.assert_array_equal(codes, expected)

    def test_calls_and_restart(self):
        """The same bytes, however calls are cut, and after a restart."""
        values = self.noise(50 * SAMPLES + 17, 2)
        found = begin((START, 1 / RATE)) + [missing(900, 1, 900, 3)]
        found += begin((START, 4001 / RATE), item=3000)
        sink = self.run_sink(values, found)
        expected = (self.folder / "v.vdif").read_bytes()
        for chunks in (1, 37, 1000):
            self.run_sink(values, found, name="other.vdif", chunks=chunks)
            self.assertEqual((self.folder / "other.vdif").read_bytes(), expected)
        self.run_sink(values, found, sink=sink)
        self.assertEqual((self.folder / "v.vdif").read_bytes(), expected)

    def test_leap_second(self):
        """Seconds go on through a leap second, and a time behind it agrees."""
        end = 1483228800  # 2017-01-01, before which there was one
        values = self.noise(4 * 6400, 1)
        found = begin((end - 1, 0.0)) + [(3 * 6400, tags.rx_time, (end + 1, 0.0))]
        sink = self.run_sink(values, found, polarizations=1)
        self.assertEqual(sink.counts()["invalid"], 0)
        frames = self.frames()
        # from 2016-07-01 on, epoch 33: 184 days, of which the last has a second more
        first = 184 * 86400 - 1
        self.assertEqual(sorted({f.second for f in frames}), list(range(first, first + 4)))
        self.assertEqual({f.epoch for f in frames}, {33})

    def test_source_reads_it(self):
        """vdif_source gives the levels of what was written, at its time, and what is missing."""
        values = self.noise(60 * SAMPLES, 2, rms=20)
        found = begin((START + 5, 0.5)) + [missing(0, 1, 3 * SAMPLES + 5, 1)]
        self.run_sink(values, found, level=20)
        source = aperture.vdif_source(
            [self.path("v.vdif")],
            frame_bytes=72,
            frames_per_second=40,
            bits=2,
            selected=[(0, 0), (1, 0)],
            station=ord("A") << 8 | ord("P"),
            samples=60 * SAMPLES,
            first_frame=(48, 5, 20),
            start_time=(START + 5, 0.5),
        )
        sink = ByteSink(2)
        run_chain(source, sink)
        data = sink.data().view(np.int8).reshape(-1, 2)
        self.assertEqual(source.counts()["invalid"], 1)
        expected = np.array([-30, -9, 9, 30])[codes_of(values[..., 0], 20, 2, 0.98)]
        expected[3 * SAMPLES : 4 * SAMPLES, 1] = 0
        np.testing.assert_array_equal(data, expected)
        times = [tag.value for tag in sink.tags if tag.key == "rx_time"]
        self.assertEqual(times, [(START + 5, 0.5)])

    # ---- what is missing

    def invalid(self, name="v.vdif"):
        """(number of the frame since the second of the start, thread) of invalid ones."""
        return [((f.second * 40 + f.number), f.thread) for f in self.frames(name) if f.invalid]

    def test_missing(self):
        values = self.noise(20 * SAMPLES)
        found = begin() + [
            missing(10, 0, 10, 1),
            missing(5 * SAMPLES - 1, 1, 5 * SAMPLES - 1, 2),
            missing(8 * SAMPLES, 0, 8 * SAMPLES, SAMPLES),
            missing(9 * SAMPLES, 9, 9 * SAMPLES, 5),
        ]
        values[8 * SAMPLES : 9 * SAMPLES, 0] = 0
        values[12 * SAMPLES + 3, 1] = np.nan
        values[13 * SAMPLES + 3, 0] = np.inf
        sink = self.run_sink(values, found, chunks=100)
        expected = [(0, 0), (4, 1), (5, 1), (8, 0), (12, 1), (13, 0)]
        self.assertEqual(self.invalid(), expected)
        self.assertEqual(sink.counts()["invalid"], len(expected))
        self.assertEqual(len(self.frames()), 40)
        self.assertTrue(np.isfinite(sink.levels()).all())
        # missing samples are no part of the level
        good = np.delete(values[:, 0, 0].reshape(20, SAMPLES), [0, 8, 13], axis=0)
        self.assertAlmostEqual(sink.levels()[0] / np.sqrt(np.mean(good.astype(float) ** 2)), 1, 5)

    def test_gap(self):
        """A jump is filled with invalid frames, and the count of frames goes on."""
        values = self.noise(10 * SAMPLES)
        at = 4 * SAMPLES + 30
        found = begin() + [(at, tags.rx_time, (START, (at + 3 * SAMPLES) / RATE))]
        sink = self.run_sink(values, found, level=20)
        frames = self.frames()
        self.assertEqual([f.second * 40 + f.number for f in frames[::2]], list(range(13)))
        self.assertEqual(self.invalid(), [(n, t) for n in range(4, 8) for t in (0, 1)])
        self.assertEqual(frames[8].data, bytes.fromhex("44332211") * 10)
        expected = codes_of(values[5 * SAMPLES :].reshape(5, SAMPLES, 2), 20, 2, 0.98)
        for number, frame in enumerate(frames[16:]):
            np.testing.assert_array_equal(
                frame.codes[:, 0, 0], expected[number // 2, :, number % 2]
            )
        self.assertEqual(sink.counts()["invalid"], 8)

    def test_overlap(self):
        """Samples that come a second time are left out."""
        values = self.noise(10 * SAMPLES, 1)
        found = begin() + [(5 * SAMPLES, tags.rx_time, (START, 3 * SAMPLES / RATE))]
        sink = self.run_sink(values, found, level=20, polarizations=1)
        self.assertEqual([f.number for f in self.frames()], list(range(8)))
        self.assertEqual(sink.counts()["repeated"], 2 * SAMPLES)
        self.assertEqual(self.invalid(), [])

    def test_long_gap(self):
        values = self.noise(4 * SAMPLES, 1)
        found = begin() + [(2 * SAMPLES, tags.rx_time, (START + 61, 0.5))]
        sink = self.run_sink(values, found, polarizations=1)
        self.assertRegex(sink.error(), "jumps by 61.4.* s does not fit into one file")
        self.assertEqual(len(self.frames()), 2)
        sink = self.run_sink(values, found, polarizations=1, name="{time}.vdif")
        self.assertIsNone(sink.error())
        self.assertEqual(self.left(), ["20240101T000000Z.vdif", "20240101T000101Z.vdif", "v.vdif"])
        self.assertEqual(self.frames("20240101T000101Z.vdif")[0].number, 20)

    def test_tags(self):
        values = self.noise(4 * SAMPLES, 1)
        for found, text in (
            ([], "the first sample has no rx_time, rx_rate"),
            (begin(rate=6401.0), "rx_rate 6401 contradicts sample_rate 6400"),
            (begin((1000, 0.0)), "is before 2000"),
            (begin((4102444800, 0.0)), "is in 2065 or later"),
            (begin() + [(9, tags.rx_rate, 1.0)], "rx_rate 1 contradicts"),
        ):
            sink = self.run_sink(values, found, polarizations=1)
            self.assertRegex(sink.error(), text)
            self.assertEqual(self.left(), [])

    # ---- files

    def test_beams(self):
        """Each beam has a file, of its polarisations."""
        values = self.noise(5 * SAMPLES, 6)
        sink = self.run_sink(values, name="{beam}-{time}.vdif", names=["Cas A", "B", "C"], level=20)
        names = [f"{name}-20240101T000000Z.vdif" for name in ("B", "C", "Cas_A")]
        self.assertEqual(self.left(), names)
        self.assertEqual(sink.whole_files(), [self.path(names[i]) for i in (2, 0, 1)])
        for name, first in zip(names, (2, 4, 0)):
            for frame in self.frames(name):
                expected = values[frame.number * SAMPLES :][:SAMPLES, first + frame.thread]
                np.testing.assert_array_equal(frame.codes[:, 0], codes_of(expected, 20, 2, 0.98))

    def test_roll_over(self):
        values = self.noise(100 * SAMPLES, 1)
        sink = self.sink("{time}.vdif", inputs=1, polarizations=1, level=20)
        sink.set_roll_over(seconds=1)
        self.run_sink(values, begin((START, 0.5)), sink=sink)
        names = [f"20240101T00000{second}Z.vdif" for second in range(3)]
        self.assertEqual(self.left(), names)
        self.assertEqual([len(self.frames(name)) for name in names], [20, 40, 40])
        self.assertEqual(self.frames(names[1])[0].number, 0)
        codes = np.concatenate([f.codes.ravel() for name in names for f in self.frames(name)])
        np.testing.assert_array_equal(codes, codes_of(values.ravel(), 20, 2, 0.98))

    def test_roll_over_by_size(self):
        sink = self.sink("{time}.vdif", inputs=1, polarizations=1)
        sink.set_roll_over(size=72 * 15 + 71)
        self.run_sink(self.noise(40 * SAMPLES, 1), sink=sink)
        sizes = sorted(path.stat().st_size for path in self.folder.iterdir())
        self.assertEqual(sizes, [72 * 10, 72 * 15, 72 * 15])

    def test_overwrite(self):
        values = self.noise(2 * SAMPLES)
        self.run_sink(values)
        with self.assertRaisesRegex(FileExistsError, "overwrite is False"):
            self.sink(overwrite=False)
        for _ in range(2):
            self.run_sink(values, name="{time}.vdif")
        self.assertEqual(
            self.left(), ["20240101T000000Z-2.vdif", "20240101T000000Z.vdif", "v.vdif"]
        )

    def test_full_disk(self):
        with small_disk(self, 64) as disk:
            sink = self.run_sink(
                self.noise(2000 * SAMPLES, 1), name=disk / "v.vdif", polarizations=1
            )
            self.assertRegex(sink.error(), f"{disk}/v.vdif: No space left on device")
            self.assertEqual([path.name for path in disk.iterdir()], ["v.vdif"])
            data = (disk / "v.vdif").read_bytes()
            self.assertEqual(len(data) % 72, 0)
            self.assertGreater(len(data), 20000)

    def test_no_frames(self):
        self.run_sink(self.noise(SAMPLES - 1))
        self.assertEqual(self.left(), [])

    # ---- packets

    def receiver(self):
        found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(found.close)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        found.bind(("127.0.0.1", 0))
        found.settimeout(60)
        return found, f"127.0.0.1:{found.getsockname()[1]}"

    def test_packets(self):
        """Packets have the frames of the file, in its order, behind their numbers."""
        values = self.noise(10 * SAMPLES)
        receiver, address = self.receiver()
        self.run_sink(values, address=address, rate_factor=0)
        plain = [receiver.recv(9000) for _ in range(20)]
        self.assertEqual(b"".join(plain), (self.folder / "v.vdif").read_bytes())
        self.run_sink(values, address=address, rate_factor=0, name="", sequence_numbers=True)
        packets = [receiver.recv(9000) for _ in range(20)]
        self.assertEqual([packet[8:] for packet in packets], plain)
        numbers = [int.from_bytes(packet[:8], "little") for packet in packets]
        self.assertEqual(numbers, list(range(20)))

    def test_packets_of_beams(self):
        values = self.noise(4 * SAMPLES, 4)
        (first, one), (second, other) = self.receiver(), self.receiver()
        self.run_sink(values, name="{beam}.vdif", address=f"{one},{other}", rate_factor=0)
        for number, receiver in enumerate((first, second)):
            packets = b"".join(receiver.recv(9000) for _ in range(8))
            self.assertEqual(packets, (self.folder / f"{number}.vdif").read_bytes())

    def test_pace(self):
        """Packets are sent rate_factor times as fast as samples were taken."""
        _, address = self.receiver()
        now, waits = [100.0], []

        def wait(seconds):
            waits.append(seconds)
            now[0] += seconds

        module = sys.modules[aperture.vdif_sink.__module__]
        with (
            mock.patch.object(module, "clock", lambda: now[0]),
            mock.patch.object(module, "wait", wait),
        ):
            self.run_sink(self.noise(81 * SAMPLES), name="", address=address, rate_factor=2)
        # 80 intervals of 1/40 s, twice as fast
        self.assertAlmostEqual(sum(waits), 1, 6)
        self.assertLessEqual(max(waits), 1 / 80 + 1e-9)

    def test_status(self):
        sink, keeper = self.sink(inputs=1, polarizations=1, level=3), Keeper()
        source = ByteSource(
            self.noise(2 * SAMPLES, 1).view(np.uint8).reshape(2 * SAMPLES, -1), begin()
        )
        top = gr.top_block()
        top.connect(source, sink)
        top.msg_connect((sink, "status"), (keeper, "in"))
        top.run()
        last = keeper.kept[-1]
        self.assertEqual((last["frames"], last["invalid"]), (2, 0))
        self.assertEqual(list(last["levels"]), [3.0])

    # ---- parameters

    def test_refused(self):
        for text, arguments in (
            ("data_bytes: 48 is not allowed; .* near it 40 or 64", {"data_bytes": 48}),
            ("data_bytes: 7 ", {"data_bytes": 7}),
            ("bits: 3 .* 1, 2, 4, 8", {"bits": 3}),
            ("station: 'Eff' ", {"station": "Eff"}),
            ("station: 65536 ", {"station": 65536}),
            ("inputs: 3 .* a multiple of 2", {"inputs": 3}),
            ("inputs_per_frame: 3 .* power of two", {"inputs": 6, "inputs_per_frame": 3}),
            ("filename: .* a name with {beam}", {"inputs": 4}),
            ("threads: ", {"threads": [1]}),
            ("threads: ", {"threads": [1, 1024]}),
            ("threads: ", {"threads": [1, 1]}),
            ("edv: 2 .* 0, 1 or 3", {"edv": 2}),
            ("edv: 3 .* 1000 or 5000 bytes", {"edv": 3}),
            ("edv: 1 .* no whole kHz", {"edv": 1}),
            ("type: sc4|type: 'sc4'", {"type": "sc4"}),
            ("address: .* in digits", {"address": "example.org:50000"}),
            ("address: .* one address, or one for each of 1", {"address": "127.0.0.1+1:7000"}),
            ("filename: ", {"name": ""}),
            ("names: ", {"names": ["a", "b"]}),
            ("level_time: ", {"level_time": 0}),
            (
                "data_bytes: .* which a packet holds",
                {"data_bytes": 80000, "sample_rate": 64e6, "address": "127.0.0.1:7000"},
            ),
        ):
            with self.subTest(text), self.assertRaisesRegex((ValueError, TypeError), text):
                self.sink(**arguments)
        with self.assertRaisesRegex(ValueError, "filename: .*{word} means nothing"):
            self.sink("{word}.vdif")

    def test_form(self):
        form = FrameForm(2, 1, 1, 8000, 64e6)
        self.assertEqual((form.samples, form.frames_per_second), (32000, 2000))
        for rate in (2.0**n * 1e6 for n in range(2, 13)):
            self.assertEqual(FrameForm(2, 1, 1, 8000, rate).frames_per_second, rate / 32000)
        self.assertEqual(station_number("7"), ord("7") << 8 | ord(" "))
        self.assertEqual(station_number("300"), 300)
        self.assertEqual(station_number(7), 7)


if __name__ == "__main__":
    gr_unittest.run(qa_vdif_sink)
