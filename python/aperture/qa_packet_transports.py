#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
packet_source by each of its transports: what comes by a wire is where its packets say.

Frames are sent at one end of a virtual wire (veth) and received at the other, in a network
namespace of this process. Where that, or a transport, is not permitted or was not built, the tests
say so and are skipped.
"""

import contextlib
import ctypes
import os
import re
import socket
import struct
import subprocess
import sys
import unittest

import numpy as np
import qa_packet_source
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import packets as net
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import PATIENCE, missing_of, tags_of

START = qa_packet_source.START
CLONE_NEWNET = 0x40000000
FAR, NEAR = "qafar", "qanear"  # ends of the wire: of the senders, and of the source
QUEUES = 2
#: a rate at which packets that are missing are waited for 2 s, as threads may wait for a core
PATIENT = 44.0
HOST, HOST6, GROUP = "10.0.0.2", "fd00::2", "239.4.5.6"


def make_wire():
    """Moves this process into a network namespace with a wire; returns why it cannot be."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        return f"no network namespace: {os.strerror(ctypes.get_errno())} (it needs root)"
    ends = " ".join(
        f"{name} mtu 9000 numrxqueues {QUEUES} numtxqueues {QUEUES}{kind}"
        for name, kind in ((FAR, " type veth peer name"), (NEAR, ""))
    )
    for command in (
        "link set lo up",
        f"link add {ends}",
        f"addr add {HOST}/24 dev {NEAR}",
        f"addr add {HOST6}/64 dev {NEAR} nodad",
        f"link set {FAR} addrgenmode none",
        f"link set {FAR} up",
        f"link set {NEAR} up",
    ):
        made = subprocess.run(["ip", *command.split()], capture_output=True, text=True)
        if made.returncode:
            return f"no virtual wire: ip {command}: {made.stderr.strip()}"
    return ""


NO_WIRE = make_wire()


def address_of(interface):
    """The six bytes of its Ethernet address."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as probe:
        probe.bind((interface, 0))
        return probe.getsockname()[4]


class Wire:
    """The end of the wire that frames are sent at."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((FAR, 0))
        self.to, self.own = address_of(NEAR), address_of(FAR)

    def send(self, frame):
        self.socket.send(self.to + self.own + frame[12:])

    def sends_within(self, pattern):
        """Waits for a frame that comes out at this end."""
        self.socket.settimeout(PATIENCE)
        while not re.search(pattern, self.socket.recv(65536), re.DOTALL):
            pass

    def close(self):
        self.socket.close()


def numbers_of(frames):
    """The numbers of packets of `plain` without tags of VLANs."""
    return [
        struct.unpack_from(">Q", frame, 62 if frame[12:14] == b"\x86\xdd" else 42)[0]
        for frame in frames
    ]


class Transport:
    """The tests, for each transport; parameters: those of packet_source that it needs."""

    transport = "socket"
    parameters = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reason = NO_WIRE or aperture.packet_transports()[cls.transport]
        if reason:
            raise unittest.SkipTest(f"{cls.transport}: {reason}")

    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(20261128)
        self.wire = Wire()
        self.addCleanup(self.wire.close)

    def receiving(self, **parameters):
        parameters = {
            "addresses": [f"{HOST}:4015"],
            "transport": self.transport,
            **self.parameters,
            **parameters,
        }
        made = qa_packet_source.Receiving(**parameters)
        self.assertEqual(made.block.transport(), self.transport)
        return made

    @contextlib.contextmanager
    def running(self, receiving):
        receiving.start()
        try:
            yield receiving
        finally:
            receiving.end()
        self.assertEqual(receiving.block.error(), "")

    def deliver(self, receiving, frames, at_once=10, counted=None):
        """Sends frames, some at a time, so that none is lost and streams do not part."""
        before = receiving.block.counts()["received"]
        counted = counted or [True] * len(frames)
        for i in range(0, len(frames), at_once):
            for frame in frames[i : i + at_once]:
                self.wire.send(frame)
            wanted = before + sum(counted[: i + at_once])
            receiving.wait_until(lambda c, wanted=wanted: c["received"] >= wanted, "received")

    def from_file(self, frames, items=None, **parameters):
        """Does what qa_packet_source does with files, from the wire."""
        receiving = self.receiving(**parameters)
        if items is None:
            numbers = numbers_of(frames)
            items = (max(numbers) - min(numbers) + 1) * parameters["samples"]
        with self.running(receiving):
            self.deliver(receiving, frames)
            for sink in receiving.sinks:
                sink.wait_for(items)
        self.assertEqual(receiving.block.counts()["dropped"], 0)
        return (
            [sink.data() for sink in receiving.sinks],
            [sink.tags for sink in receiving.sinks],
            receiving.block,
        )

    payloads = qa_packet_source.qa_packet_source.payloads
    faulty = qa_packet_source.qa_packet_source.faulty
    check_placed = qa_packet_source.qa_packet_source.check_placed
    host = HOST

    # ---- as in files

    def test_losses(self):
        counts = self.check_placed(*self.faulty(loss=0.05, count=600, rate=PATIENT))
        self.assertGreater(counts["lost"], 30)

    def test_order_and_duplicates(self):
        counts = self.check_placed(
            *self.faulty(
                loss=0.02, reorder=0.3, distance=20, duplicate=0.2, count=600, rate=PATIENT
            )
        )
        self.assertGreater(counts["repeated"], 180)
        self.assertEqual((counts["late"], counts["stray"]), (0, 0))

    def test_gap_and_restart(self):
        """A jump ahead is zeros of that length; a sender that counts anew goes on at once."""
        samples, count = 10, 200
        for to, most_gap in ((5580, 60.0), (17, 60.0)):
            with self.subTest(to=to):
                numbers = [*range(5000, 5080), *range(to, to + count - 80)]
                sent = self.payloads(count, samples * 2)
                ahead = to - 5080 if to > 5080 else 0
                (data,), (tags,), block = self.from_file(
                    [self.frame(net.plain(n, row)) for n, row in zip(numbers, sent)],
                    items=(count + ahead) * samples,
                    samples=samples,
                    rate=1e4,
                    start_time=(START, 0.0),
                    most_gap=most_gap,
                )
                zeros = bytes(ahead * samples * 2)
                self.assertEqual(data.tobytes(), sent[:80].tobytes() + zeros + sent[80:].tobytes())
                lost = missing_of(tags, 1, len(data))
                self.assertEqual(lost.sum(), ahead * samples)
                times = [offset for offset, _ in tags_of(tags, "rx_time")]
                self.assertEqual(times, [0] if ahead else [0, 80 * samples])
                self.assertEqual(block.counts()["restarts"], 1)
                del block  # a device of DPDK has one source

    # ---- of a wire

    def frame(self, payload, **options):
        return net.ethernet(payload, **{"to": HOST, "checksums": True, **options})

    def sent_and_got(self, frames, sent, again=1, **parameters):
        """Good frames come out as they were sent, each time that it is started."""
        receiving = self.receiving(rate=1e4, **parameters)
        for _ in range(again):
            with self.running(receiving):
                self.deliver(receiving, frames)
                receiving.sinks[0].wait_for(len(sent) * parameters["samples"])
            self.assertEqual(receiving.sinks[0].data().tobytes(), sent.tobytes())
        return receiving

    def test_starts_again(self):
        """A source is stopped and started, and a second one comes behind it."""
        sent = self.payloads(50, 32)
        frames = [self.frame(net.plain(i, row)) for i, row in enumerate(sent)]
        for _ in range(2):
            self.sent_and_got(frames, sent, again=2, samples=16)

    def test_long_packets(self):
        """Packets have 4 KiB and 8 KiB, as arrays send them."""
        for samples in (2049, 4091):
            with self.subTest(samples=samples):
                sent = self.payloads(60, 2 * samples)
                frames = [self.frame(net.plain(i, row)) for i, row in enumerate(sent)]
                self.sent_and_got(frames, sent, samples=samples)

    def test_versions_and_tags(self):
        """IPv6; the address of all; and, where the system does not handle them, tags of VLANs."""
        sent = self.payloads(40, 32)
        cases = [
            ("[::]:4015", dict(version=6, to=HOST6, source=("fd00::1", 5000))),
            (f"[{HOST6}]:4015", dict(version=6, to=HOST6, source=("fd00::1", 5000))),
            ("0.0.0.0:4015", {}),
        ]
        if self.transport != "socket":
            cases.append((f"{HOST}:4015", dict(vlans=[0x8100])))
            cases.append((f"{HOST}:4015", dict(vlans=[0x88A8, 0x8100])))
        for address, options in cases:
            with self.subTest(address=address, options=options):
                frames = [self.frame(net.plain(i, row), **options) for i, row in enumerate(sent)]
                self.sent_and_got(
                    frames,
                    sent,
                    samples=16,
                    addresses=[address],
                    **({} if self.parameters.get("interface") else {"interface": NEAR}),
                )

    def test_group(self):
        """A group is joined by the system, which says so on the wire."""
        sent = self.payloads(40, 32)
        frames = [self.frame(net.plain(i, row), to=GROUP) for i, row in enumerate(sent)]
        receiving = self.receiving(
            samples=16,
            rate=1e4,
            addresses=[f"{GROUP}:4015"],
            **{"interface": NEAR, **self.parameters},
        )
        with self.running(receiving):
            # a report of IGMP, of any version, that names the group
            self.wire.sends_within(
                rb"^.{12}\x08\x00.{9}\x02.*" + re.escape(socket.inet_aton(GROUP))
            )
            self.wire.to, kept = b"\1\0\x5e\4\5\6", self.wire.to
            self.deliver(receiving, frames)
            self.wire.to = kept
            receiving.sinks[0].wait_for(len(sent) * 16)
        self.assertEqual(receiving.sinks[0].data().tobytes(), sent.tobytes())

    def test_damaged(self):
        """Wrong checksums and lengths, and packets for others, leave no trace in the output."""
        sent = self.payloads(60, 33)
        good = [self.frame(net.plain(i, row)) for i, row in enumerate(sent)]
        frames, counted = [], []
        for i, frame in enumerate(good):
            spoilt = bytearray(frame)
            spoilt[50 + i % 20] ^= 1 << i % 8
            short = bytearray(frame)
            short[38:40] = (len(frame) - 34 + 1 + i).to_bytes(2, "big")  # UDP's length
            frames += [
                bytes(spoilt),
                bytes(short),
                self.frame(net.plain(i, bytes(33)), port=4016),
                self.frame(net.plain(i, bytes(33)), to="10.0.0.3"),
                frame[:40],
                frame,
            ]
            counted += [False] * 5 + [True]
        receiving = self.receiving(samples=33, complex=False, rate=1e4)
        with self.running(receiving):
            self.deliver(receiving, frames, at_once=30, counted=counted)
            receiving.sinks[0].wait_for(60 * 33)
        self.assertEqual(receiving.sinks[0].data().tobytes(), sent.tobytes())
        counts = receiving.block.counts()
        self.assertEqual(counts["used"], 60)
        self.assertEqual(counts["received"], 60 + counts["wrong"])

    def test_parameters_that_are_refused(self):
        for values, error, message in self.refused:
            with self.subTest(values=values):
                with self.assertRaisesRegex(error, message):
                    aperture.packet_source(
                        **{
                            "addresses": [f"{HOST}:4015"],
                            "transport": self.transport,
                            **self.parameters,
                            **values,
                        }
                    )


class qa_socket(Transport, InFolder, gr_unittest.TestCase):
    refused = [(dict(cores=[0, 0]), ValueError, "cores: 2 of them.*1 addresses")]


class qa_xdp(Transport, InFolder, gr_unittest.TestCase):
    transport = "xdp"
    refused = [
        (dict(queues=[QUEUES]), ValueError, f"queues: {QUEUES} .*0 to {QUEUES - 1}, as {NEAR} has"),
        (dict(queues=[0, 0]), ValueError, "queues: 0, twice"),
        (dict(cores=[0]), ValueError, f"cores: 1 of them.*{QUEUES} queues"),
        (dict(interface="nowhere0"), ValueError, "interface: nowhere0.*of this host"),
        (dict(addresses=["0.0.0.0:4015"]), ValueError, "interface: none.*name of the interface"),
        (dict(addresses=[f"{GROUP}:4015"]), ValueError, "interface: none"),
    ]

    def test_others_go_on(self):
        """Packets to other ports come to the system, and so do fragments of ours."""
        sent = self.payloads(40, 1000)
        receiving = self.receiving(samples=500, rate=1e4)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.settimeout(PATIENCE)
            other.bind((HOST, 4016))
            with self.running(receiving):
                self.wire.send(self.frame(b"for another", port=4016))
                self.assertEqual(other.recv(100), b"for another")
                frames, counted = [], []
                for i, row in enumerate(sent):
                    frames += net.fragments(self.frame(net.plain(i, row), number=i + 1), 496)
                    counted += [False] * (len(frames) - len(counted) - 1) + [True]
                self.deliver(receiving, frames, counted=counted)
                receiving.sinks[0].wait_for(len(sent) * 500)
        self.assertEqual(receiving.sinks[0].data().tobytes(), sent.tobytes())

    def test_one_source_of_an_interface(self):
        """A second one is refused, and once the first has ended it is not."""
        receiving = self.receiving(samples=16)
        with self.running(receiving):
            with self.assertRaisesRegex(RuntimeError, f"xdp: {NEAR}: there is another program"):
                self.receiving(samples=16, addresses=[f"{HOST}:4016"])
            made = aperture.packet_source(addresses=[f"{HOST}:4016"], transport="auto")
            self.assertEqual(made.transport(), "socket")
        self.receiving(samples=16, addresses=[f"{HOST}:4016"])

    def test_queues(self):
        """One of two queues is read; what comes to the other goes the system's way."""
        sent = self.payloads(200, 32)
        frames = [
            self.frame(net.plain(i, row), source=("10.0.0.1", 5000 + i % 50))
            for i, row in enumerate(sent)
        ]
        for queues in ([0], [1], [0, 1]):
            with self.subTest(queues=queues):
                receiving = self.receiving(samples=16, rate=1e4, queues=queues, confirm=1)
                with self.running(receiving):
                    self.deliver(receiving, frames)
                    receiving.sinks[0].wait_for(200 * 16)
                self.assertEqual(receiving.sinks[0].data().tobytes(), sent.tobytes())

    def test_rights(self):
        """The error names the rights that are missing, and `auto` takes sockets and says so."""
        script = (
            "import os; os.setgid(65534); os.setuid(65534)\n"
            "from gnuradio import aperture\n"
            f"made = aperture.packet_source(addresses=['{HOST}:4015'], transport='auto')\n"
            "assert made.transport() == 'socket', made.transport()\n"
            f"aperture.packet_source(addresses=['{HOST}:4015'], transport='xdp')\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        said = done.stdout + done.stderr
        self.assertRegex(said, "by sockets, as AF_XDP cannot be had: .*rights CAP_NET_RAW")
        self.assertRegex(said, f"RuntimeError: transport xdp: {NEAR}: .*CAP_NET_ADMIN and CAP_BPF")


class qa_dpdk(Transport, InFolder, gr_unittest.TestCase):
    """DPDK has a device for an interface of the system (net_af_packet)."""

    transport = "dpdk"
    parameters = {"interface": NEAR}
    refused = [
        (dict(interface=""), RuntimeError, "dpdk: `interface` has to name the device.* 0 of them"),
        (dict(interface="nowhere0"), RuntimeError, "dpdk: nowhere0: there is no such device"),
        (dict(queues=[1]), ValueError, "queues: 1 .*0 to 0"),
        (dict(cores=[0, 0]), ValueError, "cores: 2 of them.*1 queues"),
        (dict(dpdk_arguments=["--no-huge"]), RuntimeError, "dpdk: .*other dpdk_arguments"),
    ]

    def test_one_source_of_a_device(self):
        first = self.receiving(samples=16)
        with self.assertRaisesRegex(RuntimeError, f"dpdk: net_af_packet_{NEAR}: another source"):
            self.receiving(samples=16, addresses=[f"{HOST}:4016"])
        del first
        self.receiving(samples=16, addresses=[f"{HOST}:4016"])


if __name__ == "__main__":
    gr_unittest.run(qa_xdp)
