#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""packet_sink: packets as Python makes them, with the faults that were asked for; and there and
back again by way of packet_source."""

import struct
import time

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.qa_packet_source import EACH, START, Receiving
from gnuradio.aperture.testing import packets as net
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import Flowgraph, as_numbers, missing_of, rx_time


class qa_packet_sink(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(20261127)
        self.file = self.path("sent.pcap")

    def items(self, *shape):
        return self.rng.integers(0, 256, shape, dtype=np.uint8)

    def sent(self, ports, tags=None, **parameters):
        """The packets that a sink writes to a file: [(ns, from, to, payload)], and the sink."""
        sink = aperture.packet_sink(file=self.file, **parameters)
        Flowgraph(sink, ports, [], tags=tags).run()
        self.assertEqual(sink.error(), "")
        return net.read_pcap(self.file), sink

    def test_plain(self):
        """Two ports of three inputs are three streams of two inputs, each to its address."""
        samples, count = 7, 50
        ports = [self.items(samples * count + 3, 12) for _ in range(2)]
        packets, sink = self.sent(
            ports,
            tags=[[(0, "rx_time", rx_time(START, 0.25))], []],
            samples=samples,
            inputs=2,
            coding="s16",
            inputs_per_port=3,
            rate=1e4,
            first_number=9,
            addresses=["10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3"],
        )
        whole = np.concatenate([port[: samples * count].reshape(-1, 3, 4) for port in ports], 1)
        self.assertEqual(len(packets), 3 * count)
        for number, (when, _, to, payload) in enumerate(packets):
            row, stream = divmod(number, 3)
            self.assertEqual(to, (f"10.0.0.{stream + 1}", stream + 1))
            want = whole[row * samples : (row + 1) * samples, 2 * stream : 2 * stream + 2]
            self.assertEqual(payload, net.plain(9 + row, want.tobytes()))
            self.assertAlmostEqual(when, START * 10**9 + 250000000 + row * 700000, delta=2)
        counts = sink.counts()
        self.assertEqual((counts["sent"], counts["bytes"]), (150, 150 * 64))

    def test_vdif_and_best2(self):
        """The headers are those that Python writes; the time of VDIF is rx_time."""
        samples, threads, per_second = 32, [3, 9], 10
        levels = np.array([-30, -9, 9, 30], np.int8)
        codes = self.rng.integers(0, 4, (samples * 20, 2))
        packets, _ = self.sent(
            [levels[codes].view(np.uint8)],
            tags=[[(0, "rx_time", rx_time(START, 0.7))]],
            layout="vdif",
            coding="offset2",
            complex=False,
            samples=samples,
            streams=threads,
            rate=samples * per_second,
            addresses=["[fd00::1]:5"],
        )
        for number, (_, _, to, payload) in enumerate(packets):
            row, thread = divmod(number, 2)
            second, frame = divmod(7 + row, per_second)
            flat = codes[row * samples : (row + 1) * samples, thread].reshape(-1, 4)
            body = (flat << np.array([0, 2, 4, 6])).sum(1).astype(np.uint8).tobytes()
            want = net.vdif(START + second, frame, threads[thread], body, 2)
            self.assertEqual(to, ("fd00::1", 5))
            # the version of VDIF may be any
            self.assertEqual(payload[:11] + payload[12:], want[:11] + want[12:])
        frames = self.items(5, 4, 3, 22)  # [frame][channel][input][time]
        packets, _ = self.sent(
            [frames.reshape(5, -1)],
            layout="best2",
            coding="sc4",
            samples=11,
            inputs=3,
            streams=[5, 6, 7, 8],
            packets_per_frame=2,
            first_number=100,
        )
        self.assertEqual(len(packets), 40)
        for number, (_, _, _, payload) in enumerate(packets):
            row, channel = divmod(number, 4)
            part = frames[row // 2, channel, :, row % 2 * 11 :][:, :11]
            self.assertEqual(payload, net.best2((100 + row) * 11, 5 + channel, part.T.tobytes()))

    def test_there_and_back(self):
        """All codings and layouts, with losses and packets out of order, come back in place."""
        for layout, coding, is_complex, inputs, streams in (
            ("plain", "s8", True, 3, []),
            ("plain", "f32_be", True, 1, []),
            ("plain", "u16_be", False, 2, []),
            ("plain", "sc4", True, 5, []),
            ("vdif", "offset4", True, 2, [1, 0]),
            ("vdif", "u8", False, 1, [7]),
        ):
            with self.subTest(layout=layout, coding=coding):
                samples, rows = 64, 400
                kind = {
                    "s8": "sc8",
                    "f32_be": "fc32",
                    "u16_be": "s16",
                    "sc4": "sc4",
                    "offset4": "sc8",
                    "u8": "s8",
                }[coding]
                all_inputs = inputs * max(1, len(streams))
                data = self.items(samples * rows, all_inputs * EACH[kind])
                if kind == "fc32":
                    data = as_numbers(data)
                if coding == "offset4":
                    data = (7 * (data.astype(int) % 16 - 8)).astype(np.int8).view(np.uint8)
                common = dict(
                    layout=layout,
                    coding=coding,
                    complex=is_complex,
                    samples=samples,
                    inputs=inputs,
                    streams=streams,
                    rate=1e3 * samples,
                )
                _, sink = self.sent(
                    [data],
                    **common,
                    seed=4,
                    loss=0.05,
                    duplicate=0.1,
                    reorder=0.2,
                    distance=9,
                    jitter=2e-3,
                )
                receiving = Receiving(files=[self.file], **common)
                (got,), (tags,) = receiving.run()
                lost = missing_of(tags, all_inputs, len(got))
                counts, faults = receiving.block.counts(), sink.counts()
                self.assertEqual(counts["received"], faults["sent"])
                self.assertEqual(counts["repeated"], faults["duplicated"])
                self.assertGreater(faults["lost"], 5)
                self.assertGreater(faults["reordered"], 40)
                # rows at an end may be lost altogether
                skipped = next(
                    i
                    for i in range(3)
                    if (
                        np.where(
                            np.repeat(lost.T, EACH[kind], axis=1),
                            0,
                            data[i * samples : i * samples + len(got)],
                        )
                        == got
                    ).all()
                )
                behind = rows - skipped - len(got) // samples
                self.assertEqual(
                    lost[::inputs].sum() // samples + (skipped + behind) * max(1, len(streams)),
                    faults["lost"],
                )

    def test_missing_is_not_sent(self):
        samples, count = 8, 20
        data = self.items(samples * count, 4)
        tags = [
            (16, "missing", {"input": 0, "first": 16, "count": 24}),
            (8, "missing", {"input": 1, "first": 8, "count": 31}),
        ]
        packets, sink = self.sent([data], tags=[tags], samples=samples, inputs=2)
        numbers = [struct.unpack(">Q", payload[:8])[0] for *_, payload in packets]
        self.assertEqual(numbers, [0, 1, *range(4, count)])
        self.assertEqual(sink.counts()["missing"], 2)

    def test_faults(self):
        """Each fault alone, as often as was asked for; a seed makes the same ones again."""
        data, samples, count = self.items(4000 * 4, 2), 4, 4000
        clean = [net.plain(i, row.tobytes()) for i, row in enumerate(data.reshape(count, -1))]

        def run(seed=1, **faults):
            packets, sink = self.sent([data], samples=samples, rate=1e4, seed=seed, **faults)
            times = [when for when, *_ in packets]
            self.assertEqual(times, sorted(times))
            return [payload for *_, payload in packets], sink.counts()

        for fault, name in (
            ("loss", "lost"),
            ("duplicate", "duplicated"),
            ("corrupt", "corrupted"),
            ("reorder", "reordered"),
        ):
            with self.subTest(fault=fault):
                packets, counts = run(**{fault: 0.1})
                # five standard deviations of a binomial distribution
                self.assertLess(abs(counts[name] - 400), 95)
                again, _ = run(**{fault: 0.1})
                self.assertEqual(packets, again)
                self.assertNotEqual(packets, run(seed=2, **{fault: 0.1})[0])
                extra = {"loss": -counts["lost"], "duplicate": counts["duplicated"]}
                self.assertEqual(len(packets), count + extra.get(fault, 0))
                if fault == "corrupt":
                    bits = [
                        bin(int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).count("1")
                        for a, b in zip(packets, clean)
                    ]
                    self.assertEqual(sorted(set(bits)), [0, 1])
                    self.assertEqual(sum(bits), counts["corrupted"])
                elif fault == "reorder":
                    places = [struct.unpack(">Q", packet[:8])[0] for packet in packets]
                    late = np.maximum.accumulate(places) - places
                    self.assertEqual((late > 0).sum(), counts["reordered"])
                    self.assertEqual(late.max(), 8)
        packets, _ = run(jitter=1e-3)
        places = [struct.unpack(">Q", packet[:8])[0] for packet in packets]
        self.assertEqual(sorted(places), list(range(count)))
        self.assertIn(max(abs(np.array(places) - np.arange(count))), (2, 3))

    def test_sockets_and_pace(self):
        """Packets go from block to block, by way of a relay that loses some; at twice the rate."""
        samples, count, rate = 100, 300, 1e5
        data = self.items(samples * count, 2)
        port = net.free_port()
        receiving = Receiving(addresses=[f"127.0.0.1:{port}"], samples=samples, rate=rate)
        with net.Relay(port, seed=3, loss=0.1, reorder=0.1, duplicate=0.1) as relay:
            sink = aperture.packet_sink(
                addresses=[f"127.0.0.1:{relay.port}"], samples=samples, rate=rate, pace=2
            )
            receiving.start()
            try:
                begin = time.monotonic()
                Flowgraph(sink, [data], []).run()
                took = time.monotonic() - begin
                receiving.wait_until(
                    lambda c: c["received"] - c["repeated"] >= count - relay.lost, "received"
                )
                # then the last ones, which wait for those that are lost
                receiving.wait_until(
                    lambda c: receiving.sinks[0].count == (c["used"] + c["lost"]) * samples,
                    "passed on",
                )
            finally:
                receiving.end()
        self.assertGreater(took, 0.9 * count * samples / rate / 2)
        self.assertGreater(relay.lost, 10)
        got, lost = receiving.sinks[0].data(), receiving.block.counts()["lost"]
        skipped = next(
            i for i in range(5) if (data[i * samples : (i + 1) * samples] == got[:samples]).all()
        )
        there = missing_of(receiving.sinks[0].tags, 1, len(got))[0] == 0
        part = data[skipped * samples : skipped * samples + len(got)]
        np.testing.assert_array_equal(got[there], part[there])
        self.assertFalse(got[~there].any())
        self.assertEqual((~there).sum(), lost * samples)

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(layout="spead"), "layout: spead is not allowed"),
            (dict(addresses=[]), "addresses: an emp"),
            (dict(addresses=["1.2.3.4:5", "[::1]:5"]), "addresses.*all of IPv4"),
            (dict(coding="f64"), "coding: 'f64'"),
            (dict(loss=1.5), "loss: 1.5"),
            (dict(duplicate=-1.0), "duplicate: -1"),
            (dict(corrupt=2.0), "corrupt: 2"),
            (dict(reorder=float("nan")), "reorder: nan"),
            (dict(distance=0), "distance: 0"),
            (dict(jitter=11.0), "jitter: 11"),
            (dict(pace=-1.0), "pace: -1"),
            (dict(first_number=-2), "first_number: -2"),
        ):
            with self.subTest(values=values), self.assertRaisesRegex(ValueError, message):
                aperture.packet_sink(**values)
        with self.assertRaisesRegex(RuntimeError, "/nowhere/a.pcap.*cannot be written"):
            aperture.packet_sink(file="/nowhere/a.pcap")
        sink = aperture.packet_sink(addresses=["255.255.255.255:9"], pace=0, samples=8)
        Flowgraph(sink, [self.items(800, 2)], []).run()
        self.assertRegex(sink.error(), "255.255.255.255:9: cannot be sent")


if __name__ == "__main__":
    gr_unittest.run(qa_packet_sink)
