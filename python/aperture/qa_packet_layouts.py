#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Layouts of packets as YAML files: headers that Python makes are read as they were made, samples
come to their places whatever the order of a payload is, and wrong files are refused by line."""

import itertools
import struct
import textwrap

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.aperture_python import packet_layouts
from gnuradio.aperture.qa_packet_source import START, Receiving
from gnuradio.aperture.testing import packets as net
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import Flowgraph, missing_of, rx_time, tags_of

BOARDS = """
    packet_layout: boards
    header: 5
    byte_order: little
    fields:
      board: {offset: 0, width: 1, bits: 6-4}
      kind: {offset: 0, width: 1, bits: 3-0, value: 9}
      sample: {offset: 1, width: 3}
      shape: {offset: 4, width: 1, value: inputs, add: 2}
    input: board
    time: {counter: sample, counts: samples, first: 700}
    payload: {order: [time, input], inputs: 3}
"""
CHANNELS = """
    packet_layout: channels
    header: 20
    fields:
      seq: {offset: 0, width: 8, bits: 50-3}
      sync: {offset: 8, width: 4}
      chan0: {offset: 12, width: 2, byte_order: little}
      pol0: {offset: 14, width: 2}
      nchan: {offset: 16, width: 4, value: channels}
    channel: chan0
    input: pol0
    time: {counter: seq, counts: samples, begins: at_seconds, seconds: sync}
    payload: {order: [ORDER], samples: 4}
"""


def board_packet(board, sample, payload):
    """A packet of BOARDS, written from its bits."""
    return bytes([board << 4 | 9]) + (700 + sample).to_bytes(3, "little") + b"\x05" + payload


def channel_packet(sync, seq, chan0, pol0, nchan, payload):
    """A packet of CHANNELS; the bits around the sequence number are not the layout's."""
    word = 5 << 51 | seq << 3 | 6
    head = struct.pack(">QI", word, sync) + struct.pack("<H", chan0)
    return head + struct.pack(">HI", pol0, nchan) + payload


class qa_packet_layouts(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(52)

    def layout(self, text, name="my.yml"):
        filename = self.path(name)
        with open(filename, "w", encoding="utf8") as file:
            file.write(textwrap.dedent(text))
        return filename

    def receive(self, packets, **parameters):
        """Data and tags of each port, and the block, of packets that come by a file."""
        filename = self.path("packets.pcap")
        net.write_pcap(filename, [net.ethernet(packet) for packet in packets])
        receiving = Receiving(files=[filename], **parameters)
        data, tags = receiving.run()
        self.assertEqual(receiving.block.error(), "")
        return data, tags, receiving.block

    def disorder(self, packets, streams, lose):
        """Packets without those at places `lose`, out of order by up to eight times."""
        keys = np.arange(len(packets)) + self.rng.uniform(0, 8 * streams, len(packets))
        keys[: 16 * streams] = np.arange(16 * streams) - len(packets)  # a quiet beginning
        return [packets[i] for i in np.argsort(keys) if i not in lose]

    def test_built_in(self):
        """Headers of the layouts that are built in, as Python makes them."""
        plain = packet_layouts.HeaderTable("plain", samples=4, inputs=1)
        self.assertEqual(plain.read(net.plain(2**61 + 5, b""))["number"], 2**61 + 5)
        self.assertIsNone(plain.read(net.plain(2**62, b"")))
        self.assertEqual(plain.packet_bytes, 16)
        best2 = packet_layouts.HeaderTable("best2", samples=128, inputs=32, coding="sc4")
        found = best2.read(net.best2(128 * 77, 513, b""))
        self.assertEqual((found["number"], found["channel"]), (77, 513))
        self.assertIsNone(best2.read(net.best2(128 * 77 + 1, 513, b"")))
        payload = bytes(1000)
        vdif = packet_layouts.HeaderTable(
            "vdif", samples=4000, inputs=1, coding="offset2", complex=False, rate=32e6
        )
        for second in (START, net.HALF_YEARS[41] - 1, net.HALF_YEARS[41], net.HALF_YEARS[63]):
            packet = net.vdif(second, 7999, 1023, payload, 2, station=0xFFFF)
            found = vdif.read(packet)
            self.assertEqual((found["number"], found["input"]), (second * 8000 + 7999, 1023))
        for wrong in (
            net.vdif(START, 8000, 0, payload, 2),
            net.vdif(START, 0, 0, payload, 2, invalid=True),
            net.vdif(START, 0, 0, payload, 2, is_complex=True),
            net.vdif(START, 0, 0, payload, 4),
            net.vdif(START, 0, 0, payload, 2, channels=2),
            net.vdif(START, 0, 0, payload[8:], 2),
        ):
            self.assertIsNone(vdif.read(wrong))

    def test_samples(self):
        """Bits of a short header, low byte first, with losses and disorder."""
        samples, rows, boards = 16, 300, [5, 0, 7]
        data = self.rng.integers(0, 256, (3, rows, samples, 3, 2), dtype=np.uint8)
        packets = [
            board_packet(board, row * samples, data[place, row].tobytes())
            for row in range(rows)
            for place, board in enumerate(boards)
        ]
        # not of this layout: another kind, another shape, between two packets
        wrong = [
            bytes([5 << 4 | 8]) + packets[0][1:],
            packets[0][:4] + b"\x06" + packets[0][5:],
            board_packet(5, 100 * samples + 1, data[0, 0].tobytes()),
            packets[0][:-1],
        ]
        lost = set(self.rng.choice(np.arange(60, 3 * rows - 60), 40, replace=False))
        order = self.disorder(packets, 3, lost)
        (found,), (tags,), block = self.receive(
            order[:-9] + wrong + order[-9:],
            layout=self.layout(BOARDS),
            samples=samples,
            inputs=0,
            streams=boards,
            rate=1e5,
            start_time=(START, 0.5),
        )
        for number in lost:
            data[number % 3, number // 3] = 0
        want = data.transpose(1, 2, 0, 3, 4).reshape(rows * samples, -1)
        np.testing.assert_array_equal(found, want)
        there = np.ones((rows, 3), bool)
        there.flat[list(lost)] = False
        missing = np.repeat(np.repeat(~there, samples, 0), 3, 1).T
        np.testing.assert_array_equal(missing_of(tags, 9, len(found)), missing)
        self.assertEqual(block.counts()["wrong"], len(wrong))
        self.assertEqual(tags_of(tags, "rx_time")[0][1], (START, 0.5))

    def test_channels(self):
        """Payloads of channels in all orders come to frames; so do both types of samples."""
        channels, samples, inputs, chan0, pol0 = 3, 4, 2, [600, 3], [9, 0, 4]
        for order, coding in zip(
            itertools.permutations(("channel", "time", "input")), 3 * ("s8", "sc4")
        ):
            with self.subTest(order=order, coding=coding):
                layout = self.layout(CHANNELS.replace("ORDER", ", ".join(order)))
                rows, each = 120, 2 if coding == "s8" else 1
                # [frame row][channel][input][time]
                whole = self.rng.integers(-120, 128, (rows, 6, 6, samples, each), dtype=np.int8)
                axes = [("channel", "input", "time").index(name) for name in order]
                packets = []
                for row, c, i in itertools.product(range(rows), range(2), range(3)):
                    part = whole[row, 3 * c : 3 * c + 3, 2 * i : 2 * i + 2]
                    payload = part.transpose(*axes, 3).tobytes()
                    packets.append(
                        channel_packet(START, row * samples, chan0[c], pol0[i], 3, payload)
                    )
                lost = set(self.rng.choice(np.arange(120, 6 * rows - 60), 20, replace=False))
                (found, masks), (tags, _), block = self.receive(
                    self.disorder(packets, 6, lost),
                    layout=layout,
                    coding=coding,
                    samples=0,
                    channels=channels,
                    inputs=inputs,
                    streams=chan0,
                    input_groups=pol0,
                    packets_per_frame=5,
                    masks=True,
                    rate=1e4,
                )
                mask = np.zeros((rows, 6, 6), bool)
                for number in lost:
                    row, c, i = np.unravel_index(number, (rows, 2, 3))
                    mask[row, 3 * c : 3 * c + 3, 2 * i : 2 * i + 2] = True
                whole[mask] = 0
                want = whole.reshape(rows // 5, 5, 6, 6, samples, each).transpose(0, 2, 3, 1, 4, 5)
                np.testing.assert_array_equal(found.view(np.int8).reshape(-1), want.reshape(-1))
                bits = np.unpackbits(masks.reshape(-1, 36, 1), axis=2, bitorder="little")[..., :5]
                np.testing.assert_array_equal(
                    bits.astype(bool), mask.reshape(rows // 5, 5, 36).transpose(0, 2, 1)
                )
                # headers say the time: nothing is approximate
                self.assertEqual(tags_of(tags, "rx_time"), [(0, (START, 0.0))])
                self.assertEqual(tags_of(tags, "rx_time_approximate"), [])
                self.assertEqual(block.counts()["lost"], len(lost))

    def test_another_epoch(self):
        """A packet is never put by the second of before, where senders are synchronised anew."""
        parameters = dict(
            layout=self.layout(CHANNELS.replace("ORDER", "channel, time, input")),
            samples=0,
            channels=2,
            inputs=1,
            rate=1e4,
        )
        data = self.rng.integers(-120, 128, (2, 100, 2, 4, 2), dtype=np.int8)

        def packet(again, row):
            return channel_packet(START + 5 * again, 4 * row, 0, 0, 2, data[again, row].tobytes())

        # the number that comes next is that of the second's time, too
        packets = [packet(0, row) for row in range(50)] + [packet(1, row) for row in range(50, 100)]
        (found,), (tags,), block = self.receive(packets, **parameters)
        want = np.concatenate([data[0, :50], data[1, 50:]])
        np.testing.assert_array_equal(found.view(np.int8).reshape(-1), want.reshape(-1))
        (_, first), (second_at, second) = tags_of(tags, "rx_time")
        self.assertEqual((first, second_at), ((START, 0.0), 50))
        self.assertAlmostEqual(second[0] + second[1] - START, 5 + 200 / 1e4, places=6)
        self.assertEqual(block.counts()["restarts"], 1)

    def test_there_and_back(self):
        """packet_sink writes the headers that Python writes, and packet_source reads them."""
        layout = self.layout(CHANNELS.replace("ORDER", "time, channel, input"))
        common = dict(
            layout=layout,
            coding="sc4",
            samples=4,
            channels=3,
            inputs=2,
            streams=[7, 1],
            input_groups=[0, 2],
            packets_per_frame=2,
            rate=1e3,
        )
        frames = self.rng.integers(-120, 128, (9, 6, 4, 8), dtype=np.int8)
        filename = self.path("sent.pcap")
        sink = aperture.packet_sink(file=filename, **common)
        tags = [[(0, "rx_time", rx_time(START, 0.016))]]
        Flowgraph(sink, [frames.view(np.uint8).reshape(9, -1)], [], tags=tags).run()
        sent = net.read_pcap(filename)
        self.assertEqual(len(sent), 9 * 2 * 4)
        for place, (_, _, _, payload) in enumerate(sent):
            row, c, i = np.unravel_index(place, (18, 2, 2))
            part = frames[row // 2, 3 * c : 3 * c + 3, 2 * i : 2 * i + 2, row % 2 * 4 :][..., :4]
            want = channel_packet(
                START, 16 + 4 * row, [7, 1][c], [0, 2][i], 3, part.transpose(2, 0, 1).tobytes()
            )
            # bits that are no field's are 0
            word = struct.pack(">Q", 16 + 4 * row << 3)
            self.assertEqual(payload, word + want[8:])
        receiving = Receiving(files=[filename], **common)
        (found,), (tags,) = receiving.run()
        np.testing.assert_array_equal(found.view(np.int8).reshape(-1), frames.reshape(-1))
        self.assertEqual(tags_of(tags, "rx_time")[0][1], (START, 0.016))

    def test_wrong_files(self):
        """An error names file, line and field, and what is allowed."""
        good = textwrap.dedent(BOARDS)
        for old, new, line, words in (
            ("header: 5", "header: 0", 3, "header: 0 is not allowed; it must be a whole number "),
            (
                "header: 5",
                "heather: 5",
                3,
                "the file: heather is not allowed; it must be one of byte_o",
            ),
            ("header: 5\n", "", 1, "header is missing: the bytes of the header"),
            ("header: 5", "header: 5\nheader: 6", 4, "header: given twice"),
            ("little", "middle", 4, "byte_order: middle is not allowed; it must be big or little"),
            (
                "bits: 6-4",
                "bits: 8-4",
                6,
                "fields.board.bits: 8-4 is not allowed; it must be a bit",
            ),
            ("bits: 6-4", "bits: 4-6", 6, "fields.board.bits: 4-6 is not allowed"),
            (
                "offset: 1, width: 3",
                "offset: 3, width: 3",
                8,
                "fields.sample.width: 3 bytes from 3",
            ),
            (
                "value: 9",
                "value: 16",
                7,
                "fields.kind.value: 16 is not allowed; it must be a number",
            ),
            ("value: inputs", "value: boards", 9, "fields.shape.value: boards is not allowed"),
            ("value: inputs, add", "add", 9, "fields.shape.add: this without value"),
            (
                "input: board",
                "input: bored",
                10,
                "input: bored is not allowed; it must be address,",
            ),
            (
                "input: board",
                "input: kind",
                10,
                "input: kind is not allowed; it must be a field wi",
            ),
            (
                "offset: 1, width: 3",
                "offset: 0, width: 4",
                8,
                "fields.sample: a field with bits of ",
            ),
            (
                "input: board",
                "input: sample",
                11,
                "time.counter: sample is not allowed; it must be a field that is nothing else yet",
            ),
            ("counts: samples, ", "", 11, "time.counts is missing: packets or samples"),
            ("first: 700", "seconds: board", 11, "time.seconds: this is not allowed"),
            ("first: 700", "begins: each_second", 11, "time.seconds is missing"),
            ("[time, input]", "[input, time]", 12, "payload.order: this order is not allowed; it "),
            ("[time, input]", "[time, time]", 12, "payload.order[1]: time is not allowed"),
            ("inputs: 3", "codings: [s9]", 12, "payload.codings[0]: s9 is not allowed"),
            ("inputs: 3", "channels: 3", 12, "payload.channels: this is not allowed"),
            ("inputs: 3}", "inputs: 3", 13, "not YAML"),
        ):
            with self.subTest(new=new):
                self.assertEqual(good.count(old), 1)
                filename = self.layout(good.replace(old, new))
                with self.assertRaises(ValueError) as caught:
                    aperture.packet_source(layout=filename, addresses=["127.0.0.1:4015"])
                self.assertTrue(
                    str(caught.exception).startswith(f"{filename}:{line}: {words}"),
                    caught.exception,
                )
        for name, words in (
            ("plane", "layout: plane is not allowed; it must be "),
            (self.path("none.yml"), f"layout: {self.path('none.yml')}: No such file"),
            (self.path("") + "/", "layout: "),
        ):
            with self.assertRaises(ValueError) as caught:
                packet_layouts.find(name)
            self.assertIn(words, str(caught.exception))

    def test_parameters_against_the_layout(self):
        """Parameters of a block have to be what its layout says."""
        samples = dict(layout=self.layout(BOARDS), addresses=["127.0.0.1:4015"])
        channels = dict(
            samples, layout=self.layout(CHANNELS.replace("ORDER", "time, channel, input"), "b.yml")
        )
        for parameters, more, words in (
            (
                samples,
                dict(inputs=2),
                "inputs: 2 is not allowed; it must be 3 \\(or 0\\), as layout",
            ),
            (samples, dict(inputs=3, channels=2), "channels: 2 is not allowed; it must be 0 or 1"),
            (samples, dict(inputs=3, input_groups=[1]), "input_groups: 1 of them is not allowed"),
            (samples, dict(inputs=0, samples=0), "samples: 0 is not allowed; it must be 1 to 1048"),
            (
                channels,
                dict(samples=8),
                "samples: 8 is not allowed; it must be 4 \\(or 0\\), as la",
            ),
            (channels, dict(samples=4, coding="s16"), "coding: s16, complex is not allowed; it mu"),
            (
                channels,
                dict(samples=4, input_groups=[2, 2]),
                "input_groups: 2, twice is not allowe",
            ),
            (channels, dict(samples=4, streams=[70000]), "streams: 70000 is not allowed"),
        ):
            with self.subTest(more=more), self.assertRaisesRegex(ValueError, "^" + words):
                aperture.packet_source(**parameters, **more)


if __name__ == "__main__":
    gr_unittest.run(qa_packet_layouts)
