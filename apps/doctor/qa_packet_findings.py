#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_doctor udp:... and pcap:...: packets that contradict a layout, the layout that fits, and
what is lost of them."""

import json
import socket
import threading

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.commands import doctor
from gnuradio.aperture.doctor.packets import examine_packets
from gnuradio.aperture.testing import packets as net
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run

START = 1700000000
ANTENNAS, COUNT = (12, 3), 300


class qa_packet_findings(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(7)

    def ata(self, rows=range(COUNT)):
        """Packets of two antennas of 4+4 bits."""
        return [
            net.ata(antenna, 16 * (5 + row), 352, 8, self.rng.bytes(8 * 16 * 2), False)
            for row in rows
            for antenna in ANTENNAS
        ]

    def capture(self, packets, sources=None):
        name = self.path("a.pcap")
        sources = sources or [("10.0.0.1", 5000)]
        frames = [
            net.ethernet(packet, source=sources[i % len(sources)])
            for i, packet in enumerate(packets)
        ]
        net.write_pcap(name, frames)
        return f"pcap:{name}"

    def examine(self, text, **options):
        """An Examination, and its findings by name; the page fits a terminal."""
        found = examine_packets(text, **options)
        self.assertLessEqual(max(map(len, found.lines), default=0), 79)
        return found, {finding.name: finding for finding in found.findings}

    def test_layouts_that_fit(self):
        """Without a layout, the one that fits is named, with the shape that headers say."""
        payload = self.rng.bytes(1000)
        for packets, settings in (
            (self.ata(), "layout=ata,channels=8,samples=16,inputs=2,coding=sc4"),
            (
                [net.chips(2, row, 1300, 9, self.rng.bytes(9 * 32)) for row in range(COUNT)],
                "layout=chips,channels=9,samples=1,inputs=32,coding=sc4",
            ),
            (
                [net.snap2(START, row, 96, 6, 0, 64, self.rng.bytes(384)) for row in range(COUNT)],
                "layout=snap2,channels=6,samples=1,inputs=64,coding=sc4",
            ),
            (
                [net.best2(32 * row, 7, self.rng.bytes(32 * 5 * 2)) for row in range(COUNT)],
                "layout=best2,channels=1,samples=32,inputs=5",
            ),
            (
                [net.vdif(START, row, 3, payload, 2) for row in range(COUNT)],
                "layout=vdif,samples=4000,inputs=1,coding=offset2,complex=no",
            ),
            (
                [net.plain(row, payload) for row in range(COUNT)],
                "layout=plain,samples=500,inputs=1",
            ),
        ):
            with self.subTest(settings=settings):
                found, names = self.examine(self.capture(packets))
                self.assertEqual(found.things[0]["fit"][0], settings)
                self.assertIn(settings, names["packets-fit"].what)
                self.assertEqual(found.problems, [])

    def test_page(self):
        """The page has a packet in hexadecimal, the fields with their values, and who sends."""
        packets = self.ata()
        found, _ = self.examine(self.capture(packets))
        page = "\n".join(found.lines)
        self.assertIn(f"  0000  {packets[0][:8].hex(' ')}  {packets[0][8:16].hex(' ')}", page)
        self.assertRegex(page, r"\n  8-15 +timestamp +80  counter\n")
        self.assertRegex(page, r"\n  1 +1 +eight_bits +0  bits\n")
        self.assertRegex(page, r"\n  4-5 +chan +352  channel\n")
        # a packet a millisecond, as write_pcap() gives times
        self.assertRegex(page, r"10\.0\.0\.1:5000: 600 packets, 1000 a second, 2\.18 Mbit/s")
        self.assertIn("channels 352; inputs 3, 12; none lost", page)
        code, out, err = run(doctor, self.capture(packets), "--json")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(json.loads(out)["packets"][0]["senders"], ["10.0.0.1:5000"])

    def test_contradictions(self):
        """A layout that is not that of the packets: which field, how many, and which one fits."""
        capture = self.capture(self.ata())
        for options, reason in (
            ("layout=ata,channels=32", "field n_chans says 8, not 32 (channels) (600 packets)"),
            ("layout=ata,coding=s8", "field eight_bits says 0, not 1 (bits) (600 packets)"),
            ("layout=plain,samples=99", "packets have 272 bytes, not 206 (600 packets)"),
            ("layout=vdif,samples=4000,coding=offset2", "field length says 0, not "),
        ):
            with self.subTest(options=options):
                found, names = self.examine(f"{capture},{options}")
                self.assertIn("600 of 600 packets contradict", names["packets-layout"].what)
                self.assertIn(reason, names["packets-layout"].what)
                self.assertIn("layout=ata,channels=8,samples=16", names["packets-layout"].remedy)
        found, names = self.examine(f"{capture},layout=ata,channels=32")
        self.assertRegex("\n".join(found.lines), r"n_chans +8  WRONG, 32 by channels\n")
        code, out, _ = run(doctor, f"{capture},layout=ata,channels=32")
        self.assertEqual(code, 1)
        self.assertLessEqual(max(map(len, out.splitlines())), 79)
        # a few of another sender
        mixed = self.ata() + [b"hello"] * 2
        _, names = self.examine(self.capture(mixed) + ",layout=ata")
        self.assertIn("2 of 602 packets", names["packets-layout"].what)
        self.assertIn("the header has 16 bytes, the packet 5", names["packets-layout"].what)
        # headers that fit, and a counter that does not count
        same = [net.plain(int(self.rng.integers(1 << 40)), bytes(64)) for _ in range(99)]
        _, names = self.examine(self.capture(same) + ",layout=plain")
        self.assertIn("packets-counter", names)
        # noise, and packets that are shorter than any header
        for packets in ([self.rng.bytes(64) for _ in range(99)], [b"hello"] * 3, [b""] * 3):
            _, names = self.examine(self.capture(packets))
            self.assertIn("packets-unknown", names)

    def test_own_layout(self):
        """A file of a user, and what is wrong with it."""
        name = self.path("my.yml")
        with open(name, "w", encoding="utf8") as file:
            file.write(
                "packet_layout: mine\nheader: 3\nfields:\n  n: {offset: 1, width: 2}\n"
                "time: {counter: n, counts: packets}\npayload: {order: [time, input]}\n"
            )
        packets = [b"\xff" + row.to_bytes(2, "big") + bytes(8) for row in range(COUNT)]
        found, names = self.examine(f"{self.capture(packets)},layout={name},samples=4")
        self.assertEqual(names, {})
        self.assertRegex("\n".join(found.lines), r"  1-2 +n +0  counter\n")
        with open(name, "a", encoding="utf8") as file:
            file.write("chanel: n\n")
        with self.assertRaisesRegex(ValueError, "my.yml:7: the file: chanel is not allowed"):
            examine_packets(f"{self.capture(packets)},layout={name}")

    def test_losses(self):
        """Losses, order and repeats are counted exactly."""
        rows = [*range(50), *range(53, 200), 51, *range(200, 300), 250, 250]
        _, names = self.examine(self.capture(self.ata(rows)))
        self.assertRegex(names["packets-lost"].what, r"^4 packets are missing")
        self.assertRegex(names["packets-order"].what, r"^2 packets came behind .* 4 twice")
        rows = [*range(100), *range(1 << 24, (1 << 24) + 100)]
        _, names = self.examine(self.capture(self.ata(rows)))
        self.assertRegex(names["packets-jumps"].what, "jumped far 2 times")
        self.assertNotIn("packets-lost", names)

    def test_two_senders_of_a_stream(self):
        packets = [packet for row in self.ata() for packet in (row, row)]
        capture = self.capture(packets, [("10.0.0.1", 5000), ("10.0.0.9", 5000)])
        _, names = self.examine(capture)
        self.assertIn("10.0.0.1:5000, 10.0.0.9:5000", names["packets-senders"].what)

    def test_socket(self):
        """Packets that come to a port, and a port that nothing comes to."""
        port = net.free_port()
        _, names = self.examine(f"udp:127.0.0.1:{port}", seconds=0.05)
        self.assertEqual(list(names), ["packets-none"])
        packets, ended = self.ata(), threading.Event()

        def send():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                while not ended.wait(0.01):
                    for packet in packets[:20]:
                        sender.sendto(packet, ("127.0.0.1", port))

        thread = threading.Thread(target=send)
        thread.start()
        try:
            found, names = self.examine(f"udp:{port}", seconds=1)
        finally:
            ended.set()
            thread.join()
        self.assertIn("layout=ata,channels=8", found.things[0]["fit"][0])
        self.assertRegex("\n".join(found.lines), r"  127\.0\.0\.1:\d+: \d+ packets, ")
        for text, message in (
            ("udp:0.0.0.0:99999", "99999.*port from 1 to 65535"),
            ("pcap:" + self.path("none.pcap"), "none.pcap"),
        ):
            with self.assertRaisesRegex((ValueError, RuntimeError, OSError), message):
                examine_packets(text)


if __name__ == "__main__":
    gr_unittest.run(qa_packet_findings)
