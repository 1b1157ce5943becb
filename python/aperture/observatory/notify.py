#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Messages of a service to systemd, by the protocol of sd_notify(3): datagrams to a socket."""

import contextlib
import os
import socket
import time


class Notifier:
    """
    Sends messages to the socket that NOTIFY_SOCKET names; does nothing where there is none. Nothing
    that goes wrong there reaches the data.

    interval: seconds between two signs of life that are wanted, half of what WATCHDOG_USEC asks
    for; None: nobody waits for any.
    """

    def __init__(self, environment=os.environ):
        self._address = environment.get("NOTIFY_SOCKET") or None
        if self._address and self._address.startswith("@"):
            self._address = "\0" + self._address[1:]
        self.interval = self._interval_of(environment)
        self._alive, self._status = 0.0, None

    @staticmethod
    def _interval_of(environment):
        with contextlib.suppress(ValueError):
            pid = environment.get("WATCHDOG_PID")
            if pid is None or int(pid) == os.getpid():
                microseconds = int(environment.get("WATCHDOG_USEC", 0))
                return microseconds / 2e6 if microseconds > 0 else None
        return None

    def send(self, **values):
        """READY=1 and so on; whether it was sent."""
        if self._address is None:
            return False
        text = "\n".join(
            f"{key}={' '.join(str(value).split(chr(10)))}" for key, value in values.items()
        )
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.sendto(text.encode("utf-8", "backslashreplace"), self._address)
        except OSError:
            return False
        return True

    def ready(self, status):
        """The service does its work."""
        self._status = status
        self.send(READY=1, STATUS=status, MAINPID=os.getpid())

    def status(self, text):
        """A line for people, where it is another one than before."""
        if text != self._status:
            self._status = text
            self.send(STATUS=text)

    def reloading(self):
        """The configuration is read once more; ready() follows."""
        self.send(RELOADING=1, MONOTONIC_USEC=time.monotonic_ns() // 1000)

    def stopping(self, status):
        """The service ends."""
        self.send(STOPPING=1, STATUS=status)

    def alive(self):
        """A sign of life, not more often than is asked for."""
        now = time.monotonic()
        if self.interval is not None and now - self._alive >= self.interval / 2:
            self._alive = now
            self.send(WATCHDOG=1)
