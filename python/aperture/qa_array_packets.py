#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Packets of arrays, CHIPS, SNAP2 and the ATA's: what Python sends by their descriptions comes to
the frames that were sent, with losses and out of order."""

import socket

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.aperture_python import packet_layouts
from gnuradio.aperture.qa_packet_source import START, Receiving
from gnuradio.aperture.testing import packets as net
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import tags_of


class Arrived:
    """Rows of packets that are sent: whole, [row][channel][input][spectrum][byte], and what of it
    is to come."""

    def __init__(self, rng, rows, channels, inputs, spectra, each):
        self.whole = rng.integers(-120, 128, (rows, channels, inputs, spectra, each), dtype=np.int8)
        self.mask = np.zeros(self.whole.shape[:3], bool)

    def lose(self, row, channels, inputs):
        self.mask[row, channels, inputs] = True
        self.whole[row, channels, inputs] = 0

    def frames(self, rows):
        shape = self.whole.shape
        split = self.whole.reshape(shape[0] // rows, rows, *shape[1:])
        return split.transpose(0, 2, 3, 1, 4, 5).reshape(-1)

    def masks(self, rows):
        shape = self.mask.shape
        return self.mask.reshape(shape[0] // rows, rows, -1).transpose(0, 2, 1)


class qa_array_packets(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1412)

    def check(self, packets, arrived, together, rows, **parameters):
        """Packets, with some lost and out of order, are received as these frames; they are
        [(row, channels, inputs, bytes)], so many of one time together. Returns tags, and the
        block."""
        count = len(packets)
        lost = self.rng.choice(np.arange(40 * together, count - 40 * together), count // 50, False)
        for number in lost:
            arrived.lose(*packets[number][:3])
        keys = np.arange(count) + self.rng.uniform(0, 6 * together, count)
        keys[: 20 * together] = np.arange(20 * together) - count
        order = [number for number in np.argsort(keys) if number not in set(lost)]
        filename = self.path("packets.pcap")
        net.write_pcap(filename, [net.ethernet(packets[number][3]) for number in order])
        receiving = Receiving(files=[filename], masks=True, packets_per_frame=rows, **parameters)
        (data, masks), (tags, _) = receiving.run()
        self.assertEqual(receiving.block.error(), "")
        np.testing.assert_array_equal(data.view(np.int8).reshape(-1), arrived.frames(rows))
        rows_of = masks.reshape(len(data), -1, (rows + 7) // 8)
        bits = np.unpackbits(rows_of, axis=2, bitorder="little")[..., :rows]
        np.testing.assert_array_equal(bits.astype(bool), arrived.masks(rows))
        counts = receiving.block.counts()
        self.assertEqual((counts["lost"], counts["used"]), (len(lost), len(order)))
        self.assertEqual(counts["wrong"], 0)
        return tags, receiving.block

    def test_chips(self):
        """Three boards of 32 inputs, numbered from 1, and two groups of 11 channels."""
        rows, channels, chan0 = 200, 11, [1300, 1311]
        arrived, packets = Arrived(self.rng, rows, 22, 96, 1, 1), []
        for row in range(rows):
            for c, first in enumerate(chan0):
                for board in range(3):
                    place = np.s_[11 * c : 11 * c + 11], np.s_[32 * board : 32 * board + 32]
                    payload = arrived.whole[row][place].tobytes()
                    packet = net.chips(board + 1, 7000 + row, first, channels, payload)
                    self.assertEqual(len(packet), 16 + 11 * 32)
                    packets.append((row, *place, packet))
        tags, _ = self.check(
            packets,
            arrived,
            6,
            8,
            layout="chips",
            coding="sc4",
            samples=0,
            inputs=0,
            channels=channels,
            streams=chan0,
            input_groups=[1, 2, 3],
            rate=25e3,
            start_time=(START, 0.0),
        )
        at = 7000 / 25e3
        (_, time), *_ = tags_of(tags, "rx_time")
        self.assertAlmostEqual(time[0] - START + time[1], at, places=9)

    def test_snap2(self):
        """Two boards of 64 inputs; headers say the second at which they were synchronised."""
        rows, channels, chan0, pol0 = 240, 6, [96, 102], [0, 64]
        arrived, packets = Arrived(self.rng, rows, 12, 128, 1, 1), []
        for row in range(rows):
            for c, first in enumerate(chan0):
                for i, first_input in enumerate(pol0):
                    place = np.s_[6 * c : 6 * c + 6], np.s_[64 * i : 64 * i + 64]
                    payload = arrived.whole[row][place].tobytes()
                    packet = net.snap2(START, 4800 + row, first, channels, first_input, 64, payload)
                    self.assertEqual(len(packet), 32 + 6 * 64)
                    packets.append((row, *place, packet))
        tags, _ = self.check(
            packets,
            arrived,
            4,
            6,
            layout="snap2",
            coding="sc4",
            samples=0,
            inputs=64,
            channels=channels,
            input_groups=pol0,
            rate=196e6 / 8192,
            streams=chan0,
        )
        (_, time), *_ = tags_of(tags, "rx_time")
        self.assertAlmostEqual(time[0] - START + time[1], 4800 * 8192 / 196e6, places=9)
        self.assertEqual(tags_of(tags, "rx_time_approximate"), [])

    def test_ata(self):
        """Antennas of two polarisations, 16 spectra a packet, of both kinds of bits."""
        for eight_bits in (True, False):
            with self.subTest(eight_bits=eight_bits):
                rows, channels, chan0, antennas = 120, 16, [352, 368], [12, 3, 40]
                each = 2 if eight_bits else 1
                arrived, packets = Arrived(self.rng, rows, 32, 6, 16, each), []
                for row in range(rows):
                    for c, first in enumerate(chan0):
                        for i, antenna in enumerate(antennas):
                            place = np.s_[16 * c : 16 * c + 16], np.s_[2 * i : 2 * i + 2]
                            part = arrived.whole[row][place].transpose(0, 2, 1, 3)
                            packet = net.ata(
                                antenna,
                                16 * (100 + row),
                                first,
                                channels,
                                part.tobytes(),
                                eight_bits,
                            )
                            packets.append((row, *place, packet))
                self.check(
                    packets,
                    arrived,
                    6,
                    5,
                    layout="ata",
                    coding="s8" if eight_bits else "sc4",
                    samples=16,
                    inputs=2,
                    channels=channels,
                    input_groups=antennas,
                    rate=250e3,
                    start_time=(START, 0.0),
                    streams=chan0,
                )
        wrong = packet_layouts.HeaderTable("ata", channels=16, coding="sc4")
        good = net.ata(1, 160, 0, 16, b"", False)
        self.assertEqual(wrong.read(good)["number"], 10)
        for place, byte in ((0, 0x21), (1, 3), (1, 0), (3, 17), (15, 161)):
            with self.subTest(place=place):
                packet = bytearray(good)
                packet[place] = byte
                self.assertIsNone(wrong.read(bytes(packet)))

    def test_by_a_socket(self):
        """The same packets by UDP."""
        port = net.free_port()
        arrived = Arrived(self.rng, 64, 4, 32, 1, 1)
        receiving = Receiving(
            addresses=[f"127.0.0.1:{port}"],
            layout="chips",
            coding="sc4",
            samples=1,
            inputs=32,
            channels=4,
            streams=[8],
            input_groups=[2],
            packets_per_frame=4,
            rate=1e3,
            items=16,
        )
        receiving.start()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for row in range(64):
                packet = net.chips(2, row, 8, 4, arrived.whole[row].tobytes())
                sender.sendto(packet, ("127.0.0.1", port))
        receiving.wait()
        data = receiving.sinks[0].data()
        np.testing.assert_array_equal(data.view(np.int8).reshape(-1), arrived.frames(4))


if __name__ == "__main__":
    gr_unittest.run(qa_array_packets)
