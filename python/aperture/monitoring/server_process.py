#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The server process, as the process with the flowgraph sees it."""

import os
import pathlib
import socket
import subprocess
import sys

from . import channel

PROGRAM = pathlib.Path(__file__).parent / "server" / "__main__.py"
#: the environment that the server needs: nothing that could lead it to other modules
KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
PATIENCE = 5.0  # s, until a server that was asked to end is killed
BUFFER = 1 << 20  # bytes


class ServerProcess:
    """
    Starts the server of a Section; `socket` is what messages go through, both ways.

    Its standard error is the caller's: it logs there who changed what. options: of its command
    line, for tests.
    """

    def __init__(self, section, *options):
        self.socket, other = socket.socketpair()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(PROGRAM), "--channel", str(other.fileno()), *options],
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                cwd="/",
                start_new_session=True,  # Ctrl-C is for the flowgraph
                env={
                    **{key: os.environ[key] for key in KEPT if key in os.environ},
                    "OPENBLAS_NUM_THREADS": "1",
                    "OMP_NUM_THREADS": "1",
                },
            )
        self.send({"kind": "section", "section": vars(section), "process": os.getpid()})

    @property
    def pid(self):
        """The number of the process."""
        return self._process.pid

    def send(self, message, payload=b""):
        """Sends a message; waits as long as the server does not read. Raises OSError where it is
        gone."""
        self.socket.sendall(channel.packed(message, memoryview(payload).cast("B")))
        if len(payload):
            self.socket.sendall(payload)

    def ended(self):
        """Returns its exit status, None while it runs."""
        return self._process.poll()

    def stop(self):
        """Asks the process to end, by closing the socket, and sees that it does."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the process is gone
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.socket.close()
