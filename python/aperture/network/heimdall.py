#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The protocol of heimdall_daq_fw, the data acquisition of the KrakenSDR, as its IQ server and its
hardware controller have it: frames of coherent samples, and settings of the receivers.

A frame is a header of 1024 bytes and, where there are samples, complex64 [channel][sample]. The
client sends `streaming` and gets one; for each further frame it sends `IQDownload`, never two at
once: the server compares the text of one recv(). It serves one client.

Two frames wait in shared memory for a client, however long nobody comes, so that the first two that
one gets may be hours old. A client that leaves while the server is to send it a frame ends the
server, and with it the whole chain: write() to a connection that was closed is a SIGPIPE there.
"""

import socket
import struct
import time
from dataclasses import dataclass

import numpy as np

from .tcp_client import ProtocolError, TcpClient

PORT, CONTROL_PORT = 5000, 5001
SYNC_WORD = 0x2BF7B95A
HEADER_BYTES = 1024
VERSION = 7
MOST_CHANNELS, MOST_SAMPLES = 32, 1 << 26
#: types of frames
TYPES = ("data", "dummy", "ramp", "calibration", "trigger")
#: gains of the tuner R820T, 0.1 dB: others are refused by the controller
GAINS = (
    *(0, 9, 14, 27, 37, 77, 87, 125, 144, 157, 166, 197, 207, 229, 254, 280, 297, 328, 338, 364),
    *(372, 386, 402, 421, 434, 439, 445, 480, 496),
)
#: frames that may have waited since the last client left
OLD_FRAMES = 2
DATA_PATIENCE = 60.0  # s in which a frame of data has to come: a calibration takes some of them
COMMAND_BYTES = 128
ANSWER = b"FNSD"
_FIELDS = {
    "sync_word": ("<u4", 0),
    "frame_type": ("<u4", 4),
    "channels": ("<u4", 28),
    "frequency": ("<u8", 40),
    "rate": ("<u8", 56),
    "samples": ("<u4", 64),
    "time_stamp": ("<u8", 72),
    "index": ("<u4", 84),
    "bits": ("<u4", 100),
    "overdriven": ("<u4", 104),
    "delay_sync": ("<u4", 236),
    "iq_sync": ("<u4", 240),
    "sync_state": ("<u4", 244),
    "noise_source": ("<u4", 248),
    "version": ("<u4", 1020),
}
HEADER = np.dtype(
    {
        "names": list(_FIELDS),
        "formats": [kind for kind, _ in _FIELDS.values()],
        "offsets": [offset for _, offset in _FIELDS.values()],
        "itemsize": HEADER_BYTES,
    }
)


@dataclass(frozen=True)
class Header:
    """
    A frame's header. frequency, rate: Hz, the rate of frames of calibration being that of the
    converters, whatever data are decimated by; samples: of each channel; time_stamp: ms since 1970
    by the server's clock, when the last sample had come; index: of the frame; overdriven: a bit for
    each channel; delay_sync, iq_sync: whether delays and phases are corrected; noise_source:
    whether it is on.
    """

    frame_type: int
    channels: int
    frequency: int
    rate: int
    samples: int
    time_stamp: int
    index: int
    overdriven: int
    delay_sync: int
    iq_sync: int
    sync_state: int
    noise_source: int

    @property
    def kind(self):
        """The type of the frame as a word."""
        return TYPES[self.frame_type] if self.frame_type < len(TYPES) else str(self.frame_type)

    def reason(self, calibrated):
        """Returns why the samples are not of the sky, "" if they are. calibrated: whether their
        phases have to be corrected."""
        if self.frame_type != 0:
            return f"{self.kind} frame"
        if self.noise_source:
            return "the noise source is on"
        if not self.delay_sync:
            return "delays are not corrected"
        if calibrated and not self.iq_sync:
            return "phases are not corrected"
        return "" if self.samples else "no samples"


class Client(TcpClient):
    """
    A connection to the IQ server. patience: seconds that it waits for bytes. To be closed between
    frames, as the server does not outlive anything else.

    Raises
    ------
    OSError
        It cannot be reached.
    ProtocolError
        It sends something else than frames, or nothing.
    """

    def __init__(self, host, port, patience):
        super().__init__(
            host,
            port,
            patience,
            "is heimdall_daq_fw running there, with out_data_iface_type = eth?",
        )
        self._command, self._old = b"streaming", OLD_FRAMES

    def next(self):
        """Returns the next frame that is not an old one: its Header, and its samples, complex64
        [channel][sample]."""
        while self._old:
            self._take()
            self._old -= 1
        return self._take()

    def next_data(self):
        """Returns the header of the next frame of data, corrected or not. Raises ProtocolError
        where none comes for DATA_PATIENCE seconds."""
        begin = time.monotonic()
        while time.monotonic() < begin + DATA_PATIENCE:
            header, _ = self.next()
            if header.frame_type == 0:
                return header
        raise ProtocolError(
            f"{self.name}: no frame of data came for {DATA_PATIENCE:g} s, but {header.kind} frames"
        )

    def _take(self):
        self.send(self._command)
        self._command = b"IQDownload"
        raw = np.empty(1, HEADER)
        self.fill(raw, "a header")
        header = self._header(raw[0])
        samples = np.empty((header.channels, header.samples), np.complex64)
        self.fill(samples, f"the samples of frame {header.index}")
        return header, samples

    def _header(self, raw):
        """A Header, of one that can be."""
        found = {key: int(raw[key]) for key in _FIELDS}
        for key, allowed, text in (
            ("sync_word", found["sync_word"] == SYNC_WORD, f"{SYNC_WORD:#x}"),
            ("version", found["version"] == VERSION, str(VERSION)),
            ("channels", 1 <= found["channels"] <= MOST_CHANNELS, f"1 to {MOST_CHANNELS}"),
            ("samples", found["samples"] <= MOST_SAMPLES, f"0 to {MOST_SAMPLES}"),
            ("rate", 1 <= found["rate"] <= 1e9, "1 to 1000000000 Hz"),
            ("bits", found["bits"] == 32 or not found["samples"], "32"),
        ):
            if not allowed:
                raise ProtocolError(
                    f"{self.name}: header's {key}: {found[key]} is not allowed; it must be {text}: "
                    "this is no frame of heimdall_daq_fw, or of another version"
                )
        del found["sync_word"], found["version"], found["bits"]
        return Header(**found)


def command(host, port, text, payload, patience):
    """Sends a command to the hardware controller. text: 4 characters, as `FREQ`. Raises OSError
    where nothing takes it, or answers."""
    message = (text.encode() + payload).ljust(COMMAND_BYTES, b"\0")
    with socket.create_connection((host, port), patience) as connection:
        connection.sendall(message)
        answer = b""
        while len(answer) < COMMAND_BYTES:
            part = connection.recv(COMMAND_BYTES - len(answer))
            if not part:
                break
            answer += part
    if not answer.startswith(ANSWER):
        raise OSError(f"{host}:{port}: answered {answer[:4]!r} to {text!r}, not {ANSWER!r}")


def frequency_payload(hertz):
    """The payload of FREQ."""
    return struct.pack("<Q", round(hertz))


def nearest_gain(decibels):
    """Returns the gain that the tuner has nearest to one in dB, in 0.1 dB."""
    return min(GAINS, key=lambda gain: abs(gain - 10 * decibels))


def gain_payload(gains):
    """The payload of GAIN: 0.1 dB of each channel."""
    return struct.pack(f"<{len(gains)}I", *gains)
