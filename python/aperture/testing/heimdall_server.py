#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A double of heimdall_daq_fw's servers, written from its protocol: frames that a test lists."""

import socket
import struct
import threading

import numpy as np

RATE, START = 2_400_000, 1_704_067_200_123  # Hz, ms


def frame(samples, index, time_stamp=None, **changes):
    """A frame as it is sent: samples, complex64 [channel][sample]; changes: of the header."""
    fields = dict(
        sync=0x2BF7B95A, kind=0, unit=0, frequency=1_420_400_000, rate=RATE, delay=1, iq=1, state=6,
        noise=0, overdrive=0, bits=32, version=7, length=samples.shape[1], channels=len(samples),
    )  # fmt: skip
    fields.update(changes)
    if time_stamp is None:
        time_stamp = START + round(1000 * index * fields["length"] / RATE)
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


class HeimdallServer:
    """
    Serves the frames to one client after the other, and then ends the connection; `commands` are
    those of the controller, (4 characters, payload). Entered and left by `with`. keep_open: it
    waits for the client to go, and serves no more frames.
    """

    def __init__(self, frames, answer=b"FNSD", keep_open=False):
        self.frames, self.commands, self.requests = frames, [], []
        self._answer, self._keep_open = answer, keep_open
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
        wanted = b"streaming"
        for each in self.frames:
            request = connection.recv(1024)
            self.requests.append(request)
            # the firmware compares the text of one call of recv()
            if request != wanted:
                return
            wanted = b"IQDownload"
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
