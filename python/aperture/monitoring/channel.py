#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Messages between the process with the flowgraph and the server: JSON and bytes, each with its
length before it."""

import json
import struct

LENGTHS = struct.Struct("!II")
#: bytes of a message's JSON and of what follows it: more than what is ever sent
MOST_JSON, MOST_BYTES = 64 << 20, 256 << 20


class ChannelError(OSError):
    """An error: the received bytes are no message."""


def packed(message, payload=b""):
    """The bytes before the payload. message: a dictionary of plain, finite values."""
    text = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    return LENGTHS.pack(len(text), len(payload)) + text


def lengths_of(head):
    """Bytes of the JSON and of the payload that follow LENGTHS.size bytes."""
    lengths = LENGTHS.unpack(head)
    if lengths[0] > MOST_JSON or lengths[1] > MOST_BYTES:
        raise ChannelError(f"a message of {lengths[0]} and {lengths[1]} bytes")
    return lengths


def receive(sock):
    """The next message of a blocking socket and its payload; None at the end."""
    head = _exactly(sock, LENGTHS.size)
    if head is None:
        return None
    text, payload = (_exactly(sock, length) for length in lengths_of(head))
    if text is None or payload is None:
        return None
    return json.loads(text), payload


def _exactly(sock, count):
    data = bytearray()
    while len(data) < count:
        part = sock.recv(min(count - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)
