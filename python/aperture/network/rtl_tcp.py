#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The protocol of rtl_tcp, which serves the samples of one RTL-SDR to one client.

The server sends 12 bytes, `RTL0`, the type of the tuner and the number of its gains, and then
samples without end: unsigned bytes, re then im. The client sends commands, a byte and 32 bits,
big-endian, which nothing answers. There is no time, and no word of samples that were dropped.

Commands up to BIAS_TEE are those of osmocom's and rtl-sdr-blog's rtl_tcp; those above are of
github.com/librtlsdr/librtlsdr alone, and others ignore them.
"""

import collections
import struct
import threading
import time
from dataclasses import dataclass

import numpy as np

from .addresses import address_text
from .tcp_client import ProtocolError, TcpClient

PORT = 1234
MAGIC = b"RTL0"
HEADER = struct.Struct(">4sII")
COMMAND = struct.Struct(">BI")
FREQUENCY, RATE, GAIN_MODE, GAIN, CORRECTION, AGC = 1, 2, 3, 4, 5, 8
BIAS_TEE = 0x0E
BANDWIDTH, WRITE_PIN = 0x40, 0x52
PINS = 8
MOST_FREQUENCY = 2**32 - 1
#: Hz, rates that the RTL2832 can make
RATES = ((225_001, 300_000), (900_001, 3_200_000))
_R82XX = (
    *(0, 9, 14, 27, 37, 77, 87, 125, 144, 157, 166, 197, 207, 229, 254, 280, 297, 328, 338, 364),
    *(372, 386, 402, 421, 434, 439, 445, 480, 496),
)

#: bytes of samples that a USB transfer of the server has at most
TRANSFER_BYTES = 16 * 32 * 512
CHUNK = 1 << 16  # bytes that are read at once
PARTING = 0.2  # s that a server has to read the last commands
RETRY = 0.5  # s from one attempt to reach a server that was lost to the next
#: s of samples that wait for the flowgraph; what comes while there are so many is dropped
WAITING = 1.0
#: s by which samples come too late before it is said, beside what crystals make of it
LATE, CRYSTAL = 1.0, 2e-4


@dataclass(frozen=True)
class Tuner:
    """A kind of tuner. gains: 0.1 dB, in librtlsdr's order; ranges: MHz, (low, high)."""

    name: str
    gains: tuple
    ranges: tuple = ()


#: by the number in the header; gains and numbers as librtlsdr has them
TUNERS = {
    0: Tuner("unknown", (0,)),
    1: Tuner(
        "E4000", (-10, 15, 40, 65, 90, 115, 140, 165, 190, 215, 240, 290, 340, 420), ((52, 2200),)
    ),
    2: Tuner("FC0012", (-99, -40, 71, 179, 192), ((22, 948.6),)),
    3: Tuner(
        "FC0013",
        (
            *(-99, -73, -65, -63, -60, -58, -54, 58, 61, 63, 65, 67, 68, 70, 71, 179, 181),
            *(182, 184, 186, 188, 191, 197),
        ),
        ((22, 1100),),
    ),
    4: Tuner("FC2580", (0,), ((146, 308), (438, 924))),
    5: Tuner("R820T", _R82XX, ((24, 1766),)),
    6: Tuner("R828D", _R82XX, ((0.5, 1766),)),
}


def nearest_gain(gains, decibels):
    """Returns the gain of a list that is nearest to one in dB, in 0.1 dB."""
    return min(gains, key=lambda gain: abs(gain - 10 * decibels))


def settling(rate):
    """Returns the samples after a command that may be from before it: a transfer of USB, which
    was being filled, and a tenth of a second for the network and the tuner."""
    return TRANSFER_BYTES // 2 + round(0.1 * rate)


def too_late(seconds, samples, rate):
    """Returns by how many seconds samples come later than a receiver makes them, 0 where a crystal
    explains it. seconds: since the first of them."""
    late = seconds - samples / rate
    return late if late > LATE + CRYSTAL * seconds else 0.0


class Client(TcpClient):
    """
    A connection to rtl_tcp. tuner: a Tuner; told: what the header says, (type of the tuner, number
    of its gains).

    Raises
    ------
    OSError
        It cannot be reached.
    ProtocolError
        It is no rtl_tcp.
    """

    def __init__(self, host, port, patience):
        super().__init__(host, port, patience, "is rtl_tcp running there, with -a and its address?")
        raw = np.empty(HEADER.size, np.uint8)
        try:
            self.fill(raw, "a header")
            magic, kind, gains = HEADER.unpack(raw.tobytes())
            if magic != MAGIC:
                raise ProtocolError(f"{self.name}: {magic!r} is not {MAGIC!r}: this is no rtl_tcp")
        except OSError:
            self.close()
            raise
        self.told = kind, gains
        self.tuner = TUNERS.get(kind, TUNERS[0])

    def command(self, number, value):
        """Sends a command; value: a whole number, which may be negative."""
        self.send(COMMAND.pack(number, value & 0xFFFFFFFF))


@dataclass(frozen=True)
class Piece:
    """
    Samples in a row. values: uint8 [2 × sample], re then im; before: samples that were dropped
    before them; unknown: whether an unknown number was lost there, beside these; frequency: to
    which the receiver was tuned, Hz; time: of the host's clock when they came, s.
    """

    values: np.ndarray
    before: int
    unknown: bool
    frequency: int
    time: float


class Dongle:
    """
    A receiver behind rtl_tcp: a connection that is made anew where it is lost, and a thread that
    reads what comes, always, so that what is dropped is dropped here, and counted.

    patience: s without a sample after which it is given up. Settings may be made at any time,
    and are made again after a loss. `lost_connections`, `dropped` samples and `late`, s, are
    counted from begin() on. clock: of seconds, for tests.
    """

    def __init__(self, host, port, patience, clock=time.monotonic):
        self.name = address_text(host, port)
        self._where, self._patience, self._clock = (host, port), patience, clock
        self._settings, self._rest = {}, {}  # (command, pin) -> value
        self._lock, self._changed = threading.RLock(), threading.Condition()
        self._client = self._thread = self._error = None
        self._ended = threading.Event()
        self._keeping, self._skip = False, 0
        self._begin()

    # ---- settings

    def set(self, command, value):
        """Makes a setting; what comes for a while after a frequency or rate is dropped."""
        with self._lock:
            self._settings[command, None] = value
            if self._client is not None:
                if command in (FREQUENCY, RATE):
                    self._skip = settling(self._settings.get((RATE, None), 0))
                self._send(command, value)

    def switch(self, on, pin=None):
        """Switches the bias tee, or a pin; close() sets it back to what rest() says, off."""
        key = (BIAS_TEE, None) if pin is None else (WRITE_PIN, pin)
        value = int(on) if pin is None else pin << 16 | int(on)
        with self._lock:
            self._rest.setdefault(key, value - int(on))
            self._settings[key] = value
            if self._client is not None:
                self._send(key[0], value)

    def rest(self, on):
        """Says how the bias tee is when nobody switches it, and sets it so."""
        with self._lock:
            self.switch(on)
            self._rest[BIAS_TEE, None] = int(on)

    def _send(self, command, value):
        try:
            self._client.command(command, value)
        except OSError:
            pass  # the thread sees it, too, and sends all settings to the next connection

    # ---- the connection

    def connect(self):
        """Connects, where there is no connection, and returns the Client. Raises OSError."""
        with self._lock:
            if self._client is None:
                self._ended.clear()
                self._error = None
                self._client = self._connected(self._patience)
                self._thread = threading.Thread(target=self._receive, daemon=True)
                self._thread.start()
            return self._client

    def _connected(self, patience):
        client = Client(*self._where, patience)
        with self._lock:
            for (command, _), value in self._settings.items():
                client.command(command, value)
            if (RATE, None) in self._settings:
                self._skip = settling(self._settings[RATE, None])
        return client

    def close(self):
        """Sets switches back, and ends the connection."""
        with self._lock:
            self._keeping = False
            back = {k: v for k, v in self._rest.items() if self._settings.get(k) != v}
            self._settings.update(back)
            for (command, _), value in back.items():
                if self._client is not None:
                    self._send(command, value)
        if back:
            # the server forgets what it has not read when it can send no more
            self._ended.wait(PARTING)
        with self._lock:
            self._ended.set()
            client, self._client = self._client, None
            if client is not None:
                client.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None

    # ---- samples

    def _begin(self):
        self._queue, self._held = collections.deque(), 0
        self._before, self._unknown = 0, False
        self._first, self._came = None, 0
        self.lost_connections, self.dropped, self.late = 0, 0, 0.0

    def begin(self):
        """Connects, and keeps what comes from now on."""
        with self._lock:
            self._begin()
            self._keeping = True
            self.connect()

    def take(self, patience):
        """Returns the next Piece, None where none comes within some seconds. Raises OSError where
        none will come any more."""
        with self._changed:
            if not self._queue and self._error is None and patience:
                self._changed.wait(patience)
            if not self._queue:
                if self._error is not None:
                    raise self._error
                return None
            piece = self._queue.popleft()
            self._held -= len(piece.values) // 2
            return piece

    def _receive(self):
        """The thread."""
        good, odd = self._clock(), b""
        while not self._ended.is_set():
            buffer = np.empty(CHUNK + 1, np.uint8)
            buffer[: len(odd)] = np.frombuffer(odd, np.uint8)
            try:
                client = self._client
                if client is None:
                    if self._ended.is_set():
                        return
                    client = self._again()
                count = client.receive(memoryview(buffer)[len(odd) :])
                if count == 0:
                    raise ProtocolError(f"{self.name}: the server ended the connection")
            except OSError as error:
                if self._ended.is_set() or self._lose(error, good):
                    return
                odd = b""
                continue
            good = self._clock()
            total = len(odd) + count
            odd = buffer[total - total % 2 : total].tobytes()
            self._keep(buffer[: total - total % 2], good)

    def _again(self):
        """Connects anew, in the thread."""
        client = self._connected(min(self._patience, 2.0))
        with self._lock:
            if self._ended.is_set():
                client.close()
            else:
                self._client = client
        return client

    def _lose(self, error, good):
        """Drops a connection that has failed; returns whether to give up."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None
                self.lost_connections += 1
            self._unknown = True
            self._first, self._came = None, 0
        if self._clock() - good > self._patience:
            with self._changed:
                self._error = error
                self._changed.notify_all()
            return True
        self._ended.wait(RETRY)
        return False

    def _keep(self, values, now):
        """Puts samples into the queue; now: s of the thread's clock."""
        with self._lock:
            count = len(values) // 2
            skipped = min(self._skip, count)
            self._skip -= skipped
            self._before += skipped
            rate, frequency = (self._settings.get((key, None), 0) for key in (RATE, FREQUENCY))
            if self._first is None:
                self._first = now
            elif rate:
                self.late = max(self.late, too_late(now - self._first, self._came, rate))
            self._came += count
            count -= skipped
            if not count or not self._keeping:
                return
            piece = Piece(
                values[2 * skipped :], self._before, self._unknown, frequency, time.time()
            )
            with self._changed:
                if rate and self._held >= max(WAITING * rate, CHUNK):
                    self._before += count
                    self.dropped += count
                    return
                self._queue.append(piece)
                self._held += count
                self._changed.notify_all()
            self._before, self._unknown = 0, False
