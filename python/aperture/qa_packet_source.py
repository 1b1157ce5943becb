#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""packet_source: samples and frames are where their packets say, and nothing else is anywhere."""

import os
import socket
import time

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.testing import packets as net
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import (
    PATIENCE,
    ByteSink,
    Running,
    as_numbers,
    missing_of,
    rx_time,
    tags_of,
)

START = 1700000000
EACH = {"s8": 1, "sc4": 1, "sc8": 2, "s16": 2, "sc16": 4, "f32": 4, "fc32": 8}


class Receiving(Running):
    """A packet_source and byte sinks."""

    def __init__(self, **parameters):
        self.block = aperture.packet_source(**parameters)
        self.top, self.sources, self.sinks = gr.top_block(), [], []
        signature = self.block.output_signature()
        for port in range(signature.max_streams()):
            self.sinks.append(ByteSink(signature.sizeof_stream_item(port), chunks=1 << 20))
            self.top.connect((self.block, port), self.sinks[port])
        self.status = blocks.message_debug()
        self.top.msg_connect((self.block, "status"), (self.status, "store"))

    def wait_until(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition(self.block.counts()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: {self.block.counts()}")
            time.sleep(0.005)

    def end(self):
        self.block.finish()
        self.wait()

    def messages(self):
        return [
            pmt.to_python(self.status.get_message(i)) for i in range(self.status.num_messages())
        ]


class qa_packet_source(InFolder, gr_unittest.TestCase):
    host = "0.0.0.0"
    frame = staticmethod(net.ethernet)

    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(20261126)

    def payloads(self, *shape):
        return self.rng.integers(0, 256, shape, dtype=np.uint8)

    def from_file(self, frames, writer=net.write_pcap, options=None, **parameters):
        """The data of each port, its tags, and the block."""
        filename = self.path("packets.pcap")
        writer(filename, frames, **(options or {}))
        receiving = Receiving(files=[filename], **parameters)
        data, tags = receiving.run()
        self.assertEqual(receiving.block.error(), "")
        counts = receiving.block.counts()
        self.assertEqual(
            counts["received"],
            sum(
                counts[name]
                for name in (
                    "used",
                    "repeated",
                    "late",
                    "stray",
                    "overrun",
                    "wrong",
                    "refused",
                    "unwanted",
                )
            ),
        )
        return data, tags, receiving.block

    # ---- plain

    def test_not_numbers(self):
        """A packet with a sample that is NaN or infinite is missing, and zero."""
        samples, inputs = 33, 2
        for coding in ("f32", "f32_be"):
            values = self.rng.normal(size=(101, samples, inputs, 2)).astype(np.float32)
            bad = [0, 40, 41, 100]
            values[bad, 7, 1, 1] = np.nan, np.inf, -np.inf, np.nan
            frames = [
                net.ethernet(
                    net.plain(i, row.astype(">f4" if coding == "f32_be" else "<f4").tobytes())
                )
                for i, row in enumerate(values)
            ]
            (data,), (tags,), block = self.from_file(
                frames,
                coding=coding,
                complex=True,
                samples=samples,
                inputs=inputs,
                rate=1e5,
                start_time=(START, 0.0),
            )
            values[bad] = 0
            self.assertEqual(data.tobytes(), values.tobytes())
            missing = np.repeat(np.isin(np.arange(101), bad), samples)
            np.testing.assert_array_equal(missing_of(tags, inputs, len(data)), [missing] * inputs)

    def test_plain(self):
        """Packets in order and whole, of all types, come from all kinds of files."""
        for coding, is_complex, kind, samples, inputs in (
            ("s8", True, "sc8", 51, 3),
            ("s8", False, "s8", 77, 1),
            ("s16", True, "sc16", 9, 5),
            ("f32", True, "fc32", 33, 2),
            ("sc4", True, "sc4", 13, 7),
        ):
            for writer, options in (
                (net.write_pcap, {}),
                (net.write_pcap, {"order": ">", "nanoseconds": True}),
                (net.write_pcapng, {}),
                (net.write_pcapng, {"order": ">", "power": 9}),
            ):
                with self.subTest(coding=coding, writer=writer.__name__, options=options):
                    sent = self.payloads(101, samples * inputs * EACH[kind])
                    if coding == "f32":
                        sent = as_numbers(sent)
                    (data,), (tags,), block = self.from_file(
                        [net.ethernet(net.plain(1000 + i, row)) for i, row in enumerate(sent)],
                        writer,
                        options,
                        coding=coding,
                        complex=is_complex,
                        samples=samples,
                        inputs=inputs,
                        rate=1e5,
                        center_frequency=1.4e9,
                        start_time=(START, 0.25),
                    )
                    self.assertEqual(block.type(), kind)
                    self.assertEqual(data.tobytes(), sent.tobytes())
                    late = 0.25 + 1000 * samples / 1e5
                    ((_, time_tag),) = tags_of(tags, "rx_time")
                    self.assertAlmostEqual(time_tag[0] - START + time_tag[1], late, places=9)
                    self.assertEqual(tags_of(tags, "rx_rate"), [(0, 1e5)])
                    self.assertEqual(tags_of(tags, "rx_freq"), [(0, 1.4e9)])
                    self.assertEqual(len(tags), 3)

    def test_headers_around(self):
        """VLANs, IPv6, and captures without Ethernet; what is no packet is passed over."""
        sent = self.payloads(40, 16)
        parameters = dict(samples=8, complex=True, inputs=1, rate=1e3, addresses=["0.0.0.0:4015"])
        for options, make in (
            *(
                ({}, lambda p, vlans=vlans: net.ethernet(p, vlans=vlans))
                for vlans in (
                    [0x8100],
                    [0x9100],
                    [0x88A8, 0x8100],
                    [0x9100, 0x9200, 0x9300, 0x8100],
                )
            ),
            ({"link": 101}, lambda p: net.ethernet(p)[14:]),
            # Linux's cooked frames have 14 bytes before the type, or 18 behind it
            *(
                (
                    {"link": 113},
                    lambda p, vlans=vlans: bytes(14) + net.ethernet(p, vlans=vlans)[12:],
                )
                for vlans in ([], [0x8100], [0x88A8, 0x8100])
            ),
            *(
                (
                    {"link": 276},
                    lambda p, vlans=vlans: (
                        net.ethernet(p, vlans=vlans)[12:14]
                        + bytes(18)
                        + net.ethernet(p, vlans=vlans)[14:]
                    ),
                )
                for vlans in ([], [0x8100], [0x9100, 0x8100])
            ),
            ({"link": 0}, lambda p: b"\2\0\0\0" + net.ethernet(p)[14:]),
        ):
            with self.subTest(options=options):
                frames = [make(net.plain(i, row)) for i, row in enumerate(sent)]
                others = [b"", b"x", net.ethernet(b"abc", port=99) if not options else b"\0" * 9]
                (data,), _, block = self.from_file(
                    frames[:20] + others + frames[20:], options=options, **parameters
                )
                self.assertEqual(data.tobytes(), sent.tobytes())
                self.assertEqual(block.counts()["passed_over"], 3)
        frames = [
            net.ethernet(net.plain(i, row), source=("fd00::1", 7), to="ff15::2", version=6)
            for i, row in enumerate(sent)
        ]
        (data,), _, _ = self.from_file(frames, **{**parameters, "addresses": ["[ff15::2]:4015"]})
        self.assertEqual(data.tobytes(), sent.tobytes())

    def test_sections_that_differ(self):
        """A pcapng file of sections with other byte orders, link types and units, as two captures
        after each other are."""
        sent = self.payloads(40, 16)

        def write(filename, frames):
            with open(filename, "wb") as file:
                for part, options in (
                    (frames[:15], {}),
                    (frames[15:25], {"order": ">", "link": 101, "power": 9}),
                    (frames[25:], {"link": 0}),
                ):
                    net.write_pcapng(f"{filename}.part", part, **options)
                    with open(f"{filename}.part", "rb") as section:
                        file.write(section.read())

        frames = [net.ethernet(net.plain(i, row)) for i, row in enumerate(sent)]
        frames[15:25] = [frame[14:] for frame in frames[15:25]]
        frames[25:] = [b"\2\0\0\0" + frame[14:] for frame in frames[25:]]
        (data,), _, block = self.from_file(
            frames, write, samples=8, complex=True, inputs=1, rate=1e3
        )
        self.assertEqual(data.tobytes(), sent.tobytes())
        self.assertEqual(block.counts()["passed_over"], 0)

    def faulty(self, confirm=16, count=3000, rate=1e6, **faults):
        """Two streams of plain with faults: what comes out is what came in, in place."""
        samples, inputs, first = 11, 3, 12345
        sent = self.payloads(count, 2, samples * inputs * 2)
        places = [(i, s) for i in range(count) for s in range(2)]
        came = net.spoil([net.plain(first + i, sent[i, s]) for i, s in places], seed=5, **faults)
        frames = [
            self.frame(packet, port=4000 + places[number][1], source=("10.0.0.1", 1))
            for number, packet in came
        ]
        (data,), (tags,), block = self.from_file(
            frames,
            addresses=[f"{self.host}:4000", f"{self.host}:4001"],
            samples=samples,
            inputs=inputs,
            rate=rate,
            start_time=(START, 0.0),
            confirm=confirm,
            window=32,
        )
        there = np.zeros((count, 2), bool)
        for number, _ in came:
            there[places[number]] = True
        return sent, there, data, tags, block, (samples, inputs, first)

    def check_placed(self, sent, there, data, tags, block, shape):
        samples, inputs, first = shape
        begin = np.flatnonzero(there.any(1))[0]
        end = np.flatnonzero(there.any(1))[-1] + 1
        want = np.where(there[..., None], sent, 0).reshape(len(sent), 2, samples, inputs, 2)
        want = want.transpose(0, 2, 1, 3, 4)[begin:end]
        self.assertEqual(data.tobytes(), want.tobytes())
        lost = np.repeat(~there[begin:end].T, samples, axis=1).repeat(inputs, axis=0)
        np.testing.assert_array_equal(missing_of(tags, 2 * inputs, lost.shape[1]), lost)
        self.assertEqual(block.missing(), list(lost.sum(1)))
        counts = block.counts()
        self.assertEqual(counts["lost"], (~there[begin:end]).sum())
        self.assertEqual(counts["used"], there.sum())
        return counts

    def test_losses(self):
        counts = self.check_placed(*self.faulty(loss=0.05))
        self.assertGreater(counts["lost"], 200)

    def test_order_and_duplicates(self):
        counts = self.check_placed(*self.faulty(loss=0.02, reorder=0.3, distance=40, duplicate=0.2))
        self.assertGreater(counts["repeated"], 900)
        self.assertEqual((counts["late"], counts["stray"]), (0, 0))

    def test_late(self):
        """Further behind than the window: counted, and missing."""
        sent, there, data, tags, block, shape = self.faulty(reorder=0.01, distance=1000)
        counts = block.counts()
        self.assertGreater(counts["late"], 5)
        self.assertGreater(counts["stray"], 20)
        self.assertEqual(counts["used"] + counts["late"] + counts["stray"], there.sum())
        samples, inputs, _ = shape
        got = data.reshape(-1, samples, 2, inputs * 2).transpose(0, 2, 1, 3)
        sent = sent.reshape(len(sent), 2, samples, inputs * 2)[: len(got)]
        lost = missing_of(tags, 2 * inputs, len(got) * samples).reshape(2, inputs, -1, samples)
        self.assertTrue((lost == lost[:, :1, :, :1]).all())
        lost = lost[:, 0, :, 0].T
        self.assertTrue((got[~lost] == sent[~lost]).all())
        self.assertFalse(got[lost].any())
        self.assertEqual(lost.sum(), counts["lost"])

    def test_streams_that_start_apart(self):
        """Before a stream has begun, and after it has ended, it is missing."""
        count, samples = 500, 16
        sent = self.payloads(2, count, samples * 2)
        frames = []
        for i in range(count):
            if i < 400:
                frames.append(net.ethernet(net.plain(i, sent[0, i]), port=4000))
            if i >= 123:
                frames.append(net.ethernet(net.plain(i, sent[1, i]), port=4001))
        (data, other), (tags, others), _ = self.from_file(
            frames,
            addresses=["0.0.0.0:4000", "0.0.0.0:4001"],
            samples=samples,
            rate=1e6,
            inputs_per_port=1,
        )
        self.assertEqual(data.tobytes(), sent[0, :400].tobytes() + bytes(100 * samples * 2))
        self.assertEqual(other.tobytes(), bytes(123 * samples * 2) + sent[1, 123:].tobytes())
        for found, first, length in ((tags, 400, 100), (others, 0, 123)):
            lost = np.zeros((1, count * samples), bool)
            lost[0, first * samples : (first + length) * samples] = True
            np.testing.assert_array_equal(missing_of(found, 1, count * samples), lost)

    # ---- what moves the window

    def restarts(self, jumps, samples=10, count=200, most_gap=60.0, rate=1e4, **more):
        """A stream that jumps to other numbers; `jumps` are (after so many packets, to)."""
        numbers, at = [], 5000
        places = dict(jumps)
        for i in range(count):
            at = places.get(i, at)
            numbers.append(at)
            at += 1
        sent = self.payloads(count, samples * 2)
        times = [START + 100 + i * samples / rate for i in range(count)]
        frames = [net.ethernet(net.plain(number, row)) for number, row in zip(numbers, sent)]
        frames, times = more.pop("frames", lambda f, t: (f, t))(frames, times)
        return sent, self.from_file(
            frames, options={"times": times}, samples=samples, rate=rate, most_gap=most_gap, **more
        )

    def test_forged_time_moves_nothing(self):
        forged = self.payloads(20)

        def forge(frames, times):
            for at, number in ((50, 2**61), (70, 0), (71, 9000), (90, 5999)):
                frames.insert(at, net.ethernet(net.plain(number, forged), source=("10.0.0.66", 1)))
                times.insert(at, times[at])
            # another sender, who says the same again and again
            for i in range(40):
                frames.insert(
                    120 + 2 * i, net.ethernet(net.plain(8000 + i, forged), source=("10.0.0.67", 1))
                )
                times.insert(120 + 2 * i, times[120 + 2 * i])
            return frames, times

        sent, ((data,), (tags,), block) = self.restarts([], frames=forge, start_time=(START, 0.0))
        self.assertEqual(data.tobytes(), sent.tobytes())
        self.assertEqual(len(tags), 3)
        counts = block.counts()
        self.assertEqual((counts["stray"], counts["restarts"], counts["lost"]), (44, 0, 0))

    def test_gap(self):
        """A jump ahead is zeros of that length, also beyond the window."""
        for ahead in (7, 100, 4000):
            with self.subTest(ahead=ahead):
                sent, ((data,), (tags,), block) = self.restarts(
                    [(80, 5080 + ahead)], start_time=(START, 0.0)
                )
                zeros = bytes(ahead * 20)
                self.assertEqual(data.tobytes(), sent[:80].tobytes() + zeros + sent[80:].tobytes())
                self.assertEqual(len(tags_of(tags, "rx_time")), 1)
                lost = missing_of(tags, 1, len(data))
                self.assertEqual(lost.sum(), ahead * 10)
                self.assertTrue(lost[0, 800 : 800 + ahead * 10].all())
                self.assertEqual(block.counts()["lost"], ahead)

    def test_restart(self):
        """A sender that counts anew goes on at the time when its packets came."""
        for to, gap in ((0, 60.0), (10**9, 60.0), (5700, 0.005)):
            with self.subTest(to=to):
                sent, ((data,), (tags,), block) = self.restarts(
                    [(80, to)], start_time=(START, 0.5), most_gap=gap
                )
                self.assertEqual(data.tobytes(), sent.tobytes())
                self.assertEqual(tags_of(tags, "missing"), [])
                times = tags_of(tags, "rx_time")
                self.assertEqual([offset for offset, _ in times], [0, 800])
                self.assertAlmostEqual(times[0][1][0] + times[0][1][1], START + 5.5, places=6)
                self.assertAlmostEqual(times[1][1][0] + times[1][1][1], START + 100.08, places=5)
                self.assertEqual(tags_of(tags, "rx_time_approximate"), [(800, True)])

    def test_others_hold_the_place(self):
        """One of two senders that jumps is missing, until the other one comes as well."""
        samples, count = 4, 300
        sent = self.payloads(2, count, samples * 2)
        frames = []
        for i in range(count):
            for stream in range(2):
                number = i + (1000 if i >= (100, 200)[stream] else 0)
                frames.append(
                    net.ethernet(
                        net.plain(number, sent[stream, i]),
                        port=4000 + stream,
                        source=("10.0.0.1", 7 + stream),
                    )
                )
        (data,), (tags,), block = self.from_file(
            frames,
            addresses=["0.0.0.0:4000", "0.0.0.0:4001"],
            samples=samples,
            rate=1e3,
            options={"times": [START + i * 1e-3 * samples / 2 for i in range(len(frames))]},
        )
        got = data.reshape(-1, samples, 2, 2).transpose(2, 0, 1, 3).reshape(2, -1, samples * 2)
        np.testing.assert_array_equal(got[:, :100], sent[:, :100])
        np.testing.assert_array_equal(got[1, 100:200], sent[1, 100:200])
        self.assertFalse(got[0, 100:200].any())
        self.assertEqual(got.shape[1], 1300)
        # both are believed a while after the last one at the old place
        believed = np.flatnonzero(got[0, 1200:].any(1))[0]
        self.assertLess(believed, 75)
        np.testing.assert_array_equal(
            got[:, 1200 + believed + 16 :], sent[:, 200 + believed + 16 :]
        )

    def test_short_file(self):
        """Fewer packets than would be believed, at the end of all."""
        sent = self.payloads(5, 20)
        (data,), _, _ = self.from_file(
            [net.ethernet(net.plain(i, row)) for i, row in enumerate(sent)], samples=10
        )
        self.assertEqual(data.tobytes(), sent.tobytes())
        (data,), _, _ = self.from_file([], samples=10)
        self.assertEqual(len(data), 0)

    def test_strangers(self):
        """Wrong lengths, headers of nobody, and senders that are not allowed."""
        samples, count = 10, 300
        sent = self.payloads(count, samples * 2)
        frames = []
        for i, row in enumerate(sent):
            packet = net.plain(i, row)
            frames.append(net.ethernet(packet))
            frames.append(net.ethernet(packet[: -1 - i % 27]))
            frames.append(net.ethernet(packet + bytes(1 + i)))
            frames.append(net.ethernet(struct_number(2**62 + i) + bytes(20)))
            frames.append(net.ethernet(net.plain(i, bytes(20)), source=("10.0.0.9", 5000)))
            frames.append(net.ethernet(net.plain(i + 1, bytes(20)), source=("10.0.0.1", 5001)))
        (data,), _, block = self.from_file(frames, samples=samples, senders=["10.0.0.1:5000"])
        self.assertEqual(data.tobytes(), sent.tobytes())
        counts = block.counts()
        self.assertEqual((counts["wrong"], counts["refused"]), (3 * count, 2 * count))

    # ---- vdif

    def test_vdif(self):
        """Threads of 2 bits, out of order, some lost, across a second; the time is the headers'."""
        per_second, samples, count = 25, 64, 300
        levels = np.array([-30, -9, 9, 30], np.int8)
        codes = self.rng.integers(0, 4, (count, 3, samples, 2))
        threads = (5, 0, 1023)
        came = []
        for i in range(count):
            for t in (2, 0, 1):
                flat = codes[i, t].reshape(-1, 4)
                payload = (flat << np.array([0, 2, 4, 6])).sum(1).astype(np.uint8)
                second, frame = divmod(17 + i, per_second)
                came.append(
                    (
                        (i, t),
                        net.vdif(
                            START + second, frame, threads[t], payload, 2, channels=2, station=77
                        ),
                    )
                )
        there = np.ones((count, 3), bool)
        kept = [packet for place, packet in came]
        for at in (40, 41, 100, 500):
            there[came[at][0]] = False
            kept[at] = None
        kept = [packet for packet in kept if packet]
        second, frame = divmod(17, per_second)
        bad = [
            net.vdif(START, frame, 7, bytes(32), 2, channels=2),  # unwanted
            net.vdif(START, per_second, 5, bytes(32), 2, channels=2),  # no such frame
            net.vdif(START, frame, 5, bytes(32), 1, channels=2),
            net.vdif(START, frame, 5, bytes(32), 2, channels=2, invalid=True),
        ]
        kept[60:60] = bad
        (data,), (tags,), block = self.from_file(
            [net.ethernet(packet) for packet in kept],
            layout="vdif",
            coding="offset2",
            complex=False,
            samples=samples,
            inputs=2,
            streams=threads,
            rate=per_second * samples,
        )
        want = levels[codes] * there[..., None, None]
        self.assertEqual(data.tobytes(), want.transpose(0, 2, 1, 3).tobytes())
        self.assertEqual(tags_of(tags, "rx_time"), [(0, rx_time(START, 17 / per_second))])
        counts = block.counts()
        self.assertEqual((counts["unwanted"], counts["wrong"], counts["lost"]), (1, 3, 4))

    # ---- best2

    def best2(
        self,
        packets_per_frame,
        coding="sc4",
        masks=False,
        samples=48,
        inputs=33,
        channels=5,
        rows=40,
        first=7,
        lose=(),
    ):
        each = 1 if coding == "sc4" else 2
        sent = self.rng.integers(-127, 128, (rows, channels, samples, inputs, each)).astype(np.int8)
        ids = list(range(100, 100 + channels))
        there = np.ones((rows, channels), bool)
        for place in lose:
            there[place] = False
        frames = [
            net.ethernet(net.best2((first + r) * samples, ids[c], sent[r, c].tobytes()))
            for r in range(rows)
            for c in range(channels)
            if there[r, c]
        ]
        data, tags, block = self.from_file(
            frames,
            layout="best2",
            coding=coding,
            complex=True,
            samples=samples,
            inputs=inputs,
            streams=ids,
            packets_per_frame=packets_per_frame,
            masks=masks,
            rate=1e3,
            center_frequency=408e6,
            start_time=(START, 0.0),
        )
        before = first % packets_per_frame
        behind = -(before + rows) % packets_per_frame

        def padded(array):
            return np.concatenate(
                [
                    np.zeros((n, *array.shape[1:]), array.dtype) if n is not None else array
                    for n in (before, None, behind)
                ]
            )

        spectra = packets_per_frame * samples
        want = padded(
            np.where(
                there[..., None, None, None] if masks else there.all(1)[:, None, None, None, None],
                sent,
                0,
            )
        )
        want = want.reshape(-1, packets_per_frame, channels, samples, inputs, each)
        want = want.transpose(0, 2, 4, 1, 3, 5)
        self.assertEqual(data[0].tobytes(), want.tobytes())
        here = padded(there)
        lost = ~(here.any(1) if masks else here.all(1))
        np.testing.assert_array_equal(
            missing_of(tags[0], inputs, len(data[0]) * spectra),
            np.broadcast_to(np.repeat(lost, samples), (inputs, len(lost) * samples)),
        )
        self.assertEqual(
            tags_of(tags[0], "rx_time"), [(0, rx_time(START, (first - before) * samples / 1e3))]
        )
        self.assertEqual(tags_of(tags[0], "rx_rate"), [(0, 1e3 / spectra)])
        self.assertEqual(tags_of(tags[0], "bandwidth"), [(0, channels * 1e3)])
        self.assertEqual(tags_of(tags[0], "samples_per_item"), [(0, channels * spectra)])
        self.assertEqual(tags_of(tags[0], "partial"), [(len(data[0]) - 1, True)] if behind else [])
        if masks:
            flags = (~here & here.any(1)[:, None]).reshape(-1, packets_per_frame, channels)
            flags = np.repeat(flags.transpose(0, 2, 1)[:, :, None], inputs, axis=2)
            self.assertEqual(
                data[1].tobytes(), np.packbits(flags, axis=-1, bitorder="little").tobytes()
            )
        return block

    def test_best2(self):
        for packets_per_frame, coding, shape in (
            (1, "sc4", {}),
            (3, "s8", {}),
            (4, "sc4", dict(samples=128, inputs=32)),
            (9, "sc4", dict(samples=1, inputs=1)),
            (2, "s8", dict(samples=17, inputs=8)),
        ):
            for masks in (False, True):
                with self.subTest(packets=packets_per_frame, coding=coding, masks=masks):
                    self.best2(
                        packets_per_frame,
                        coding,
                        masks,
                        lose=[(3, 1), (3, 2), (10, slice(None)), (11, 4), (39, 0)],
                        **shape,
                    )

    def test_best2_clamps(self):
        """-128 becomes -127, and is counted for its input."""
        payload = np.zeros((4, 3, 2), np.int8)
        payload[1, 2] = -128, 5
        payload[2, 2] = -128, -128
        payload[3, 0] = 1, -128
        frames = [net.ethernet(net.best2(4 * i, 0, payload.tobytes())) for i in range(20)]
        (data,), _, block = self.from_file(frames, layout="best2", samples=4, inputs=3)
        self.assertEqual(block.clamped(), [20, 0, 40])
        got = data.view(np.int8).reshape(20, 1, 3, 4, 2)
        np.testing.assert_array_equal(
            got, np.broadcast_to(np.maximum(payload, -127).transpose(1, 0, 2), got.shape)
        )

    # ---- sockets

    def test_sockets(self):
        """IPv4, IPv6 and a group, two streams each, started twice."""
        group = f"239.255.{os.getpid() % 250}.3"
        cases = [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), (group, group)]
        for host, text in cases:
            with self.subTest(host=host):
                ports = net.free_port(), net.free_port()
                # at this rate it waits 16 s for the packets of a thread that is late
                receiving = Receiving(
                    addresses=[f"{text}:{port}" for port in ports],
                    samples=128,
                    inputs=2,
                    rate=64.0,
                    status_interval=0.05,
                    interface="127.0.0.1" if host == group else "",
                )
                for _ in range(2):
                    self.send_and_check(receiving, host, ports)

    def send_and_check(self, receiving, host, ports):
        count = 200
        sent = self.payloads(2, count, 512)
        senders = [net.Sender(port, host) for port in ports]
        if host.startswith("239"):
            for sender in senders:
                sender.socket.setsockopt(
                    socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1")
                )
        before = len(receiving.messages())
        receiving.start()
        try:
            for i in range(0, count, 10):
                for sender, payloads in zip(senders, sent):
                    sender.send(net.plain(i + k, payloads[i + k]) for k in range(10))
                # neither stream runs ahead of the other
                receiving.wait_until(lambda c: c["received"] == 2 * (i + 10), "received")
            receiving.sinks[0].wait_for(count * 128)
            receiving.wait_until(
                lambda _: any(m["event"] == "counts" for m in receiving.messages()[before:]),
                "counts published",
            )
        finally:
            receiving.end()
            for sender in senders:
                sender.close()
        counts = receiving.block.counts()
        self.assertEqual(receiving.block.error(), "")
        self.assertEqual(counts["senders"], 2)
        got = receiving.sinks[0].data().reshape(-1, 128, 2, 4).transpose(2, 0, 1, 3)
        got = got.reshape(2, -1, 512)
        # packets from before a sender was believed are not all there
        self.assertLess(counts["stray"], 100)
        self.assertEqual(counts["used"] + counts["stray"] + counts["late"], 2 * count)
        skipped = count - got.shape[1]
        lost = ~got.any(2)
        for stream in range(2):
            there = ~lost[stream]
            np.testing.assert_array_equal(got[stream][there], sent[stream, skipped:][there])
        self.assertEqual(lost.sum(), counts["lost"])
        self.assertTrue(any(tag.key == "rx_time_approximate" for tag in receiving.sinks[0].tags))

    def test_last_packets_do_not_wait(self):
        """Received packets are passed on when nothing more comes, also behind a loss."""
        port = net.free_port()
        receiving = Receiving(addresses=[f"127.0.0.1:{port}"], samples=128, rate=1e6)
        sender = net.Sender(port)
        with receiving.running():
            sender.send(net.plain(i, bytes(256)) for i in range(100) if i != 97)
            receiving.sinks[0].wait_for(100 * 128)
            receiving.block.finish()
        sender.close()

    def test_addresses_that_are_taken(self):
        port = net.free_port()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", port))
            with self.assertRaisesRegex(RuntimeError, f"127.0.0.1:{port}.*cannot be bound.*in use"):
                aperture.packet_source(addresses=[f"127.0.0.1:{port}"])
        with self.assertRaisesRegex(RuntimeError, "192.0.2.1:4000.*cannot be bound.*assign"):
            aperture.packet_source(addresses=["192.0.2.1:4000"])
        with self.assertRaisesRegex(RuntimeError, "239.1.1.1:4000.*no interface nowhere0"):
            aperture.packet_source(addresses=["239.1.1.1:4000"], interface="nowhere0")
        with self.assertRaisesRegex(RuntimeError, "nowhere.pcap.*No such file"):
            aperture.packet_source(files=["nowhere.pcap"])
        with self.assertRaisesRegex(RuntimeError, "qa_packet_source.py.*no file of captured"):
            aperture.packet_source(files=[__file__])

    def test_parameters_that_are_refused(self):
        for values, message in (
            (
                dict(layout="spead"),
                "layout: spead is not allowed; it must be .*best2, .*plain, .*vdif",
            ),
            (dict(addresses=[]), "addresses: an empty list"),
            (dict(addresses=["localhost:1"]), "addresses: localhost:1.*digits"),
            (dict(coding="s9"), "coding: 's9'.*s8.*sc4"),
            (dict(samples=0), "samples: 0"),
            (dict(samples=60000), "samples: 60000.*65507"),
            (dict(samples=3, coding="offset2", complex=False), "samples: 3.*whole bytes"),
            (dict(inputs=0), "inputs: 0"),
            (dict(inputs_per_port=3), "inputs_per_port: 3.*divisor"),
            (dict(streams=[1, 1]), "streams: 1, twice"),
            (dict(streams=[-1]), "streams: -1"),
            (dict(rate=0.0), "rate: 0"),
            (dict(rate=float("nan")), "rate: nan"),
            (dict(window=1), "window: 1"),
            (dict(confirm=65), "confirm: 65"),
            (dict(most_gap=-1.0), "most_gap: -1"),
            (dict(senders=["me"]), "senders: me"),
            (dict(cores=[1, 2]), "cores: 2 of them.*1 addresses"),
            (dict(cores=[100000]), "cores: 100000.*may use"),
            (dict(queue=-1), "queue: -1"),
            (dict(start_time=(START, 1.0)), "start_time.*fraction"),
            (dict(packets_per_frame=2), "packets_per_frame: 2.*no frames"),
            (dict(masks=True), "masks.*frames"),
            (dict(layout="vdif", coding="s8"), "coding: s8.*offset2"),
            (dict(layout="vdif", coding="offset2", inputs=3), "inputs: 3.*power of two"),
            (dict(layout="vdif", coding="offset2", rate=1e6), "rate: 1000000.*whole number"),
            (dict(layout="best2", coding="s16"), "coding: s16.*sc4"),
            (
                dict(
                    layout="best2",
                    samples=128,
                    inputs=32,
                    coding="sc4",
                    streams=list(range(1024)),
                    packets_per_frame=512,
                ),
                "a frame.*2147483647",
            ),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.packet_source(**{"addresses": ["127.0.0.1:4015"], **values})


def struct_number(number):
    return number.to_bytes(8, "big")


if __name__ == "__main__":
    gr_unittest.run(qa_packet_source)
