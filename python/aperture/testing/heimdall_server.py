#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A double of heimdall_daq_fw's servers: frames that a test lists.

It does what the firmware was seen to do, whose programs were run on dongles that are not there: a
stamp is of the end of its frame; two frames wait in shared memory for the next client, however old
they are; a server whose client leaves before a frame that it has asked for has ended.
"""

import select
import socket
import struct
import threading

import numpy as np

RATE, START = 2_400_000, 1_704_067_200_123  # Hz, ms
OLD, OLD_TIME = 1000, 3_600_000  # frames, and ms, by which frames that have waited are older
SHORT = 0.2  # s in which a client that leaves at once has left


def frame(samples, index, time_stamp=None, **changes):
    """A frame as it is sent: samples, complex64 [channel][sample]; changes: of the header."""
    fields = dict(
        sync=0x2BF7B95A, kind=0, unit=0, frequency=1_420_400_000, rate=RATE, delay=1, iq=1, state=6,
        noise=0, overdrive=0, bits=32, version=7, length=samples.shape[1], channels=len(samples),
    )  # fmt: skip
    fields.update(changes)
    if time_stamp is None:
        time_stamp = START + round(1000 * (index + 1) * fields["length"] / RATE)
    header = bytearray(1024)
    for form, offset, value in (
        ("<II16sIII4xQQQ", 0, (fields["sync"], fields["kind"], b"kraken5", 0, fields["channels"], 0,
                             fields["frequency"], 2_400_000, fields["rate"])),
        ("<I", 64, (fields["length"],)),
        ("<QIIQIII", 72, (time_stamp, index, index, 0, 3, fields["bits"], fields["overdrive"])),
        ("<IIII", 236, (fields["delay"], fields["iq"], fields["state"], fields["noise"])),
        ("<I", 1020, (fields["version"],)),
    ):  # fmt: skip
        struct.pack_into(form, header, offset, *value)
    return bytes(header) + np.ascontiguousarray(samples, "<c8").tobytes()


def older(one):
    """A frame as it was long before: other samples, an index and a stamp of then."""
    header = bytearray(one[:1024])
    stamp, block, index = struct.unpack_from("<QII", header, 72)
    struct.pack_into("<QII", header, 72, stamp - OLD_TIME, block, (index - OLD) % 2**32)
    return bytes(header) + bytes(len(one) - len(header))


class HeimdallServer:
    """
    Serves two old frames and then the frames to one client after the other, and then ends the
    connection; `commands` are those of the controller, (4 characters, payload). Entered and left by
    `with`. keep_open: it waits for the client to go, and serves no more frames; before: a function
    that is called with the number of a frame, from 0, that was asked for, before it is sent.

    `left`: how often a client has left before a frame that it had asked for.
    """

    def __init__(self, frames, answer=b"FNSD", keep_open=False, before=None):
        self.frames, self.commands, self.requests, self.left = frames, [], [], 0
        self._answer, self._keep_open, self._before = answer, keep_open, before
        self._sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.port, self.control_port = (each.getsockname()[1] for each in self._sockets)
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._serve, args=(each, work), daemon=True)
            for each, work in zip(self._sockets, (self._stream, self._control))
        ]

    @property
    def address(self):
        """The text of the IQ server's address."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        for each in self._sockets:
            each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _serve(self, listening, work):
        while not self._ended.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    work(connection)
                except OSError:
                    pass  # the client was faster

    def _stream(self, connection):
        wanted, old = b"streaming", [older(each) for each in 2 * self.frames[:1]]
        for number, each in enumerate([*old, *self.frames], -len(old)):
            request = connection.recv(1024)
            self.requests.append(request)
            # the firmware compares the text of one call of recv()
            if request != wanted:
                return
            wanted = b"IQDownload"
            if self._before is not None and number >= 0:
                self._before(number)
                if select.select([connection], [], [], SHORT)[0]:
                    self.left += 1
                    return
            connection.sendall(each)
        if not self._keep_open:
            connection.shutdown(socket.SHUT_WR)
        while request := connection.recv(1024):
            self.requests.append(request)

    def _control(self, connection):
        message = b""
        while len(message) < 128:
            part = connection.recv(128 - len(message))
            if not part:
                return
            message += part
        self.commands.append((message[:4], message[4:]))
        connection.sendall(self._answer.ljust(128, b"\0"))
