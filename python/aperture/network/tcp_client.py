#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A connection to a server of samples over TCP, whose errors name the server."""

import socket

import numpy as np

from .addresses import address_text


class ProtocolError(OSError):
    """The server sends what is not its protocol, or nothing more; the message names it."""


class TcpClient:
    """
    A connection. patience: seconds that it waits for bytes; hint: a question that tells a user
    what may be wrong where nothing listens.

    Raises
    ------
    OSError
        The server cannot be reached.
    ProtocolError
        By its functions: nothing comes, or the server has ended the connection.
    """

    def __init__(self, host, port, patience, hint):
        self.name = address_text(host, port)
        try:
            self._socket = socket.create_connection((host, port), patience)
        except OSError as error:
            raise OSError(f"{self.name}: {error.strerror or error}: {hint}") from None
        self._patience = patience

    def close(self):
        """Ends the connection, from any thread."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side was faster
        self._socket.close()

    def send(self, message):
        """Sends bytes."""
        self._guarded(self._socket.sendall, message)

    def receive(self, view):
        """Receives bytes into a view of them, and returns how many; 0 where the server has ended
        the connection."""
        return self._guarded(self._socket.recv_into, view)

    def fill(self, buffer, what):
        """Fills an array; what: its name in an error."""
        view, got = memoryview(buffer.reshape(-1).view(np.uint8)), 0
        while got < len(view):
            count = self.receive(view[got:])
            if count == 0:
                raise ProtocolError(
                    f"{self.name}: the server ended the connection after {got} of {len(view)} "
                    f"bytes of {what}"
                )
            got += count

    def _guarded(self, function, argument):
        try:
            return function(argument)
        except TimeoutError:
            raise ProtocolError(
                f"{self.name}: nothing came for {self._patience:g} s (another client may have the "
                "server: it serves one)"
            ) from None
        except OSError as error:
            raise ProtocolError(f"{self.name}: {error.strerror or error}") from None
