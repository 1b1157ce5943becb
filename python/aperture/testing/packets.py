#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Packets as Python makes them: layouts, files of captured packets, senders, and faults.

Nothing here comes from the library: it is what packet_source and packet_sink are tested against.
"""

import heapq
import itertools
import os
import socket
import struct
import threading
import time

import numpy as np

HALF_YEARS = [
    int(np.datetime64(f"{2000 + half // 2}-{'07' if half % 2 else '01'}-01", "s").astype(np.int64))
    for half in range(64)
]


# ---- layouts


def plain(number, payload):
    """A sequence number of 64 bits, the high byte first, then samples."""
    return struct.pack(">Q", number) + bytes(payload)


def best2(spectrum, channel, payload):
    """48 bits of the first spectrum's number, 16 of the channel, the high byte first."""
    return struct.pack(">Q", spectrum << 16 | channel) + bytes(payload)


def vdif(
    second, frame, thread, payload, bits, channels=1, is_complex=False, station=0, invalid=False
):
    """A frame with a header of 32 bytes; second: since 1970."""
    epoch = max(half for half, start in enumerate(HALF_YEARS) if start <= second)
    words = (
        invalid << 31 | second - HALF_YEARS[epoch],
        epoch << 24 | frame,
        1 << 29 | (channels.bit_length() - 1) << 24 | (32 + len(payload)) // 8,
        is_complex << 31 | bits - 1 << 26 | thread << 16 | station,
        0,
        0,
        0,
        0,
    )
    return struct.pack("<8I", *words) + bytes(payload)


def chips(board, spectrum, first_channel, channels, payload, boards=16):
    """
    A packet of CHIPS, after chips_hdr_type of bifrost's src/formats/chips.hpp.

    spectrum: from 0; the wire counts from 1. payload: [channel][32 inputs] of 4+4 bits.
    """
    head = struct.pack(">6BHQ", board, 0, channels, 11, 3, boards, first_channel, spectrum + 1)
    return head + bytes(payload)


def snap2(sync, spectrum, first_channel, channels, first_input, inputs, payload, all_inputs=704):
    """
    A packet of SNAP2, after snap2_hdr_type of bifrost's src/formats/snap2.hpp.

    sync: s since 1970 at which the spectrum's number was 0. payload: [channel][input] of 4+4 bits.
    """
    head = struct.pack(
        ">QI4H3I",
        spectrum,
        sync,
        inputs,
        all_inputs,
        channels,
        2 * channels,
        first_channel // channels,
        first_channel,
        first_input,
    )
    return head + bytes(payload)


def ata(antenna, spectrum, first_channel, channels, payload, eight_bits, version=0x21):
    """
    A voltage packet of the ATA's F-engines, after docs/source/f_manual-rfsoc.rst of ata_snap.

    payload: [channel][16 spectra][2 polarisations], 4+4 or 8+8 bits; type has bit 0 for that order
    and bit 1 for 8 bits; bit 7 of version says that these are voltages.
    """
    kind = 1 | eight_bits << 1
    head = struct.pack(">BBHHHQ", 0x80 | version, kind, channels, first_channel, antenna, spectrum)
    return head + bytes(payload)


# ---- files of captured packets


def checksum(data):
    """The checksum of the Internet: the complement of the sum of 16-bit words."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    return ~(total % 0xFFFF or (0xFFFF if total else 0)) & 0xFFFF


def ethernet(
    payload,
    port=4015,
    source=("10.0.0.1", 5000),
    to="10.0.0.2",
    vlans=(),
    version=4,
    checksums=False,
    number=0,
):
    """
    An Ethernet frame with a UDP datagram; of IPv4 or IPv6; vlans: types of their tags; checksums:
    whether they are there, as on a wire; number: identification, of IPv4.
    """
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    addresses = socket.inet_pton(family, source[0]), socket.inet_pton(family, to)
    udp = struct.pack(">4H", source[1], port, 8 + len(payload), 0) + payload
    if checksums:
        pseudo = b"".join(addresses) + struct.pack(">HH", 17, len(udp))
        udp = udp[:6] + struct.pack(">H", checksum(pseudo + udp) or 0xFFFF) + udp[8:]
    if version == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0)
        if checksums:
            head = head[:10] + struct.pack(">H", checksum(head + b"".join(addresses)))
    else:
        head = struct.pack(">IHBB", 6 << 28, len(udp), 17, 64)
    tags = b"".join(struct.pack(">HH", kind, 7 + number) for number, kind in enumerate(vlans))
    kind = struct.pack(">H", 0x0800 if version == 4 else 0x86DD)
    return bytes(12) + tags + kind + head + b"".join(addresses) + udp


def fragments(frame, size):
    """The frames of IPv4 that a datagram's frame becomes on a way that lets `size` bytes pass."""
    link, head, data = frame[:14], frame[14:34], frame[34:]
    made = []
    for at in range(0, len(data), size):
        part = data[at : at + size]
        more = 0x2000 if at + size < len(data) else 0
        fields = head[:2] + struct.pack(">H", 20 + len(part)) + head[4:6]
        fields += struct.pack(">H", more | at // 8) + head[8:10] + bytes(2) + head[12:]
        fields = fields[:10] + struct.pack(">H", checksum(fields)) + fields[12:]
        made.append(link + fields + part)
    return made


def write_pcap(filename, frames, order="<", nanoseconds=False, link=1, times=None):
    """Writes captured packets. frames: link-layer frames; times: s of each, default a millisecond
    after each other."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    with open(filename, "wb") as file:
        file.write(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link))
        for number, frame in enumerate(frames):
            t = times[number] if times is not None else 1700000000 + number / 1000
            units = round(t % 1 * (1e9 if nanoseconds else 1e6))
            file.write(struct.pack(order + "IIII", int(t), units, len(frame), len(frame)) + frame)


def write_pcapng(filename, frames, order="<", link=1, power=6):
    """Writes captured packets as pcapng. power: times are in 10^-power s."""

    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = 12 + len(body)
        return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)

    with open(filename, "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)))
        options = struct.pack(order + "HHB3xHH", 9, 1, power, 0, 0)
        file.write(block(1, struct.pack(order + "HHI", link, 0, 0) + options))
        for number, frame in enumerate(frames):
            t = (1700000000 * 1000 + number) * 10 ** (power - 3)
            file.write(
                block(
                    6,
                    struct.pack(order + "IIIII", 0, t >> 32, t & 0xFFFFFFFF, len(frame), len(frame))
                    + frame,
                )
            )


def read_pcap(filename):
    """[(time in ns, from, to, payload)] of the UDP datagrams of a file that packet_sink wrote."""
    with open(filename, "rb") as file:
        data = file.read()
    magic, *_, link = struct.unpack_from("<IHHiIII", data)
    assert magic == 0xA1B23C4D and link == 1, (hex(magic), link)
    found, at = [], 24
    while at < len(data):
        seconds, units, size, whole = struct.unpack_from("<IIII", data, at)
        assert size == whole
        frame = data[at + 16 : at + 16 + size]
        at += 16 + size
        six = frame[12:14] == b"\x86\xdd"
        head = 54 if six else 34
        family = socket.AF_INET6 if six else socket.AF_INET
        places = frame[22:38], frame[38:54] if six else None
        if not six:
            places = frame[26:30], frame[30:34]
            words = struct.unpack(">10H", frame[14:34])
            assert sum(words) % 0xFFFF == 0, "checksum of IP"
        source, port, length, _ = struct.unpack(">4H", frame[head : head + 8])
        assert length == size - head, (length, size)
        found.append(
            (
                seconds * 10**9 + units,
                (socket.inet_ntop(family, places[0]), source),
                (socket.inet_ntop(family, places[1]), port),
                frame[head + 8 :],
            )
        )
    return found


# ---- sockets

#: sockets whose names keep the ports that free_port() gave from other processes
_kept = []


def free_port():
    """
    A port of UDP that nobody has, and that nobody gets before it is used: none that another process
    was given here, and where there are others not one of those that the kernel gives to who asks
    for any.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        lowest = int(file.read().split()[0])
    ports = list(range(max(1024, min(10000, lowest // 2)), lowest)) or [0] * 100
    first = os.getpid() * 16 % len(ports)  # not at once that of a test that has just ended
    for port in [*ports[first:], *ports[:first]]:
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("127.0.0.1", port))
                port = probe.getsockname()[1]
                name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                try:
                    name.bind(f"\0port {port} of a test of gr-aperture")
                except OSError:
                    name.close()
                    raise
        except OSError:
            continue
        _kept.append(name)
        return port
    raise RuntimeError("no port is free")


class Sender:
    """Sends datagrams to a port of this host, some at a time so that no buffer overflows."""

    def __init__(self, port, host="127.0.0.1", at_once=32, pause=0.002):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.to = host, port
        self.at_once, self.pause = at_once, pause

    def send(self, packets):
        for number, packet in enumerate(packets, 1):
            self.socket.sendto(packet, self.to)
            if number % self.at_once == 0:
                time.sleep(self.pause)

    def close(self):
        self.socket.close()


# ---- faults


def spoil(packets, seed=0, loss=0.0, duplicate=0.0, corrupt=0.0, reorder=0.0, distance=8):
    """
    Packets as a bad network passes them on.

    loss, duplicate, corrupt, reorder: probabilities of each packet; distance: how many others may
    pass one that is reordered. Returns a list of (number of the packet, bytes).
    """
    rng = np.random.default_rng(seed)
    events = []
    for number, packet in enumerate(packets):
        for copy in range(2):
            if copy == 0 and rng.random() < loss:
                break
            if copy == 1 and rng.random() >= duplicate:
                break
            place = number + copy / 2
            if rng.random() < reorder:
                place += rng.integers(1, distance + 1) + 0.25
            sent = bytearray(packet)
            if rng.random() < corrupt:
                sent[rng.integers(len(sent))] ^= 1 << rng.integers(8)
            events.append((place, number, bytes(sent)))
    events.sort(key=lambda event: event[0])
    return [(number, packet) for _, number, packet in events]


class Relay:
    """
    Receives UDP at a port of this host and sends it on to another, with faults.

    port, to: the ports; rates as of spoil(); jitter: s, of which each packet waits a random part
    longer; rate: bytes a second that pass at most, 0: all; seed. `faults` may be changed while it
    runs: it is the dictionary of the rates. `passed`, `lost`: packets so far.
    """

    def __init__(self, to, port=None, host="127.0.0.1", seed=0, jitter=0.0, rate=0.0, **faults):
        self.port = port or free_port()
        self.faults = {
            "loss": 0.0,
            "duplicate": 0.0,
            "corrupt": 0.0,
            "reorder": 0.0,
            "delay": 0.001,
            **faults,
        }
        self.jitter, self.rate = jitter, rate
        self.passed = self.lost = 0
        self._rng = np.random.default_rng(seed)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._socket.bind((host, self.port))
        self._to = to if isinstance(to, tuple) else (host, to)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Sends what waits, and ends."""
        self._ends.set()
        self._thread.join()
        self._socket.close()

    def _run(self):
        waiting, order, free_at = [], itertools.count(), 0.0
        while True:
            now = time.monotonic()
            while waiting and (waiting[0][0] <= now or self._ends.is_set()):
                self._socket.sendto(heapq.heappop(waiting)[2], self._to)
                self.passed += 1
            if self._ends.is_set() and not waiting:
                return
            self._socket.settimeout(max(1e-4, min(0.02, waiting[0][0] - now)) if waiting else 0.02)
            try:
                packet = self._socket.recv(65536)
            except TimeoutError:
                continue
            now, rng, faults = time.monotonic(), self._rng, self.faults
            if rng.random() < faults["loss"]:
                self.lost += 1
                continue
            for copy in range(1 + (rng.random() < faults["duplicate"])):
                sent = bytearray(packet)
                if rng.random() < faults["corrupt"]:
                    sent[rng.integers(len(sent))] ^= 1 << rng.integers(8)
                due = now + copy * faults["delay"] / 2 + self.jitter * rng.random()
                if rng.random() < faults["reorder"]:
                    due += faults["delay"]
                if self.rate:
                    free_at = due = max(due, free_at + len(sent) / self.rate)
                heapq.heappush(waiting, (due, next(order), bytes(sent)))
