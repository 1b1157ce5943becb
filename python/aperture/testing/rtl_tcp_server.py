#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A double of rtl_tcp, written from its protocol: it sends bytes to one client after the other."""

import contextlib
import socket
import struct
import threading
import time

import numpy as np

R820T, GAINS = 5, 29  # a type of tuners, and the number of its gains
#: commands
FREQUENCY, RATE, GAIN_MODE, GAIN, CORRECTION, AGC, BIAS_TEE, WRITE_PIN = 1, 2, 3, 4, 5, 8, 14, 82


class RtlTcpServer:
    """
    Sends `header` and what `samples(connection, sent)` gives: bytes, of the number of the
    connection, from 0 on, and the bytes that were sent to it; None ends the connection, Ellipsis
    sends nothing more, and no bytes are asked for again. `commands` are (connection, number, value)
    in their order, and `switches` {pin: level} of now, the bias tee being pin 0. Entered and left
    by `with`.

    pace: bytes a second, 0: as fast as they are taken. The first samples wait for a gain, which is
    set last, so that a test sees all settings.
    """

    def __init__(self, samples, header=b"RTL0" + struct.pack(">II", R820T, GAINS), pace=0):
        self._samples, self._header, self._pace = samples, header, pace
        self.commands, self.switches, self.connections = [], {}, 0
        self._set_up = set()  # connections that may send
        self._client = None  # address of who takes samples now
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def address(self):
        """The text of the server's address."""
        return f"127.0.0.1:{self.port}"

    def told(self, number):
        """The values of a command, in their order."""
        return [value for _, found, value in self.commands if found == number]

    @property
    def streaming(self):
        """True where somebody takes samples."""
        return self._client is not None

    def unread(self):
        """The bytes that were sent to the client and that it has not read, as Linux says."""
        ends = self._client, ("127.0.0.1", self.port)
        waiting = 0
        with open("/proc/net/tcp", encoding="ascii") as table:
            next(table)
            for line in table:
                _, *found, _, queues = line.split()[:5]
                found = [
                    (socket.inet_ntoa(bytes.fromhex(place[:8])[::-1]), int(place[9:], 16))
                    for place in found
                ]
                sending, receiving = (int(queue, 16) for queue in queues.split(":"))
                if found == list(ends):
                    waiting += receiving
                elif found == list(ends[::-1]):
                    waiting += sending
        return waiting

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self):
        while not self._ended.is_set():
            try:
                connection, client = self._listening.accept()
            except OSError:
                return
            number, self.connections = self.connections, self.connections + 1
            with connection:
                reader = threading.Thread(target=self._take, args=(connection, number))
                reader.start()
                with contextlib.suppress(OSError):
                    self._stream(connection, number, client)
                self._client = None
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
                reader.join()

    def _stream(self, connection, number, client):
        connection.sendall(self._header)
        while len(self._header) == 12 and number not in self._set_up:
            if self._ended.wait(0.001):
                return
        connection.settimeout(0.1)
        self._client = client
        sent, begin = 0, time.monotonic()
        while not self._ended.is_set():
            block = self._samples(number, sent)
            if block is None:
                return
            if block is Ellipsis:
                self._ended.wait()
                return
            if not block:
                self._ended.wait(0.001)
            view = memoryview(block)
            while view and not self._ended.is_set():
                with contextlib.suppress(TimeoutError):
                    view = view[connection.send(view) :]
            sent += len(block)
            if self._pace:
                self._ended.wait(max(0, begin + sent / self._pace - time.monotonic()))

    def _take(self, connection, number):
        """Takes commands until the client ends."""
        held = b""
        while not self._ended.is_set():
            try:
                part = connection.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                break
            if not part:
                break
            held += part
            while len(held) >= 5:
                command, value = struct.unpack_from(">BI", held)
                held = held[5:]
                self.commands.append((number, command, value))
                if command == GAIN:
                    self._set_up.add(number)
                elif command == BIAS_TEE:
                    self.switches[0] = value
                elif command == WRITE_PIN:
                    self.switches[value >> 16] = value & 0xFFFF
        self._set_up.add(number)


class Desk:
    """
    Two dongles that hear one noise source, where the bias tee of the second feeds it, and the sky,
    with a coherence of 0.01. Each has a start of its own, and the second one's phase is `phase`
    and that times the tunings.

    Their time passes with what their clients read, at most as fast as the clock: a computer that
    is busy finds no more samples between a command and the next than one that is not, and neither
    dongle hears the source before the other does.
    """

    LENGTH = 399_989
    RATE = 250_000
    BLOCK = 5000
    SWITCH_DELAY = 3 * BLOCK  # samples in which a switch acts after its command
    MOST_UNREAD = 2 * 4 * BLOCK  # bytes

    def __init__(self, phase):
        rng = np.random.default_rng(7)
        noise = rng.normal(size=(6, self.LENGTH))
        self._common, *own = noise[0::2] + 1j * noise[1::2]
        self._own, self._phase = own, phase
        self._switched = [(0, 0)]  # (sample of the second, level)
        self._next = [0, 0]  # sample that each sends next
        self.servers = [
            RtlTcpServer(lambda _, sent, n=number: self._samples(n, sent), pace=2 * self.RATE)
            for number in range(2)
        ]

    def _samples(self, number, sent):
        this, other = self.servers[number], self.servers[1 - number]
        if sent == 0:  # both hear the source at one time, whenever they were connected
            self._next[number] = max(self._next)
        behind = other.streaming and self._next[1 - number] < self._next[number]
        if behind or this.unread() > self.MOST_UNREAD:
            return b""
        first, count = self._next[number], self.BLOCK
        level = self.servers[1].switches.get(0, 0)
        if self._switched[-1][1] != level:
            self._switched.append((first + self.SWITCH_DELAY, level))
        at = np.arange(first, first + count)
        on = np.zeros(count, bool)
        for begin, value in list(self._switched):
            on[at >= begin] = value
        tuned = len(set(self.servers[number].told(FREQUENCY)))
        share = np.where(on, 0.9, 0.01)
        values = np.sqrt(share) * self._common[at % self.LENGTH]
        values += np.sqrt(1 - share) * self._own[number][(at + 17 * number) % self.LENGTH]
        if number:
            values = values * np.exp(1j * self._phase * tuned)
        parts = np.empty(2 * count)
        parts[0::2], parts[1::2] = values.real, values.imag
        self._next[number] = first + count
        return np.clip(np.round(127.5 + 25 * parts), 0, 255).astype(np.uint8).tobytes()
