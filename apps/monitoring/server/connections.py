#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Limits of connections: how many, and how long each may take to say or to take what it wants."""

import asyncio

#: connections at the same time, and of one address; of a proxy all come from one
MOST, MOST_OF_ONE = 128, 32
#: s from one sign of life to the next: for a request with its headers, and for an answer
REQUEST_TIME, ANSWER_TIME = 15.0, 30.0
#: bytes of a request's head, and what was sent ahead of it
LARGEST_HEAD = 32 << 10
#: size of a body: weights of 4096 inputs fit
LARGEST_BODY = 256 << 10


class Connections:
    """
    Makes the protocols of a listening socket: aiohttp's, each behind a Guard.

    server: aiohttp's web.Server; allowed: IP addresses that may connect, None: all.
    """

    def __init__(self, server, allowed=None, most_of_one=MOST_OF_ONE):
        self._server, self.allowed, self._most_of_one = server, allowed, most_of_one
        self._open = {}
        #: connections that were refused
        self.refused = 0

    def __call__(self):
        return Guard(self, self._server())

    def enter(self, address):
        """Returns whether there is room for one more of an address; if so, it counts."""
        if (
            (self.allowed is not None and address not in self.allowed)
            or sum(self._open.values()) >= MOST
            or self._open.get(address, 0) >= self._most_of_one
        ):
            self.refused += 1
            return False
        self._open[address] = self._open.get(address, 0) + 1
        return True

    def leave(self, address):
        """Counts one connection less."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]

    def __len__(self):
        return sum(self._open.values())


class Guard(asyncio.Protocol):
    """
    Between a connection and aiohttp, which has no limits of its own: ends what is too slow or says
    too much. While a request is answered, begin() to end(), the time is that for the answer, which
    go_on() prolongs.
    """

    def __init__(self, connections, inner):
        self._connections, self._inner = connections, inner
        self._transport = self._timer = self._address = None
        self._answering, self._bytes = False, 0

    def connection_made(self, transport):
        peer = transport.get_extra_info("peername")
        address = plain_address(peer[0] if peer else "")
        if not self._connections.enter(address):
            transport.abort()
            return
        self._transport, self._address = transport, address
        self._wait(REQUEST_TIME)
        self._inner.connection_made(transport)

    def connection_lost(self, exc):
        if self._transport is None:
            return
        self._cancel()
        self._connections.leave(self._address)
        self._transport = None
        self._inner.connection_lost(exc)

    def data_received(self, data):
        if self._transport is None:
            return
        self._bytes += len(data)
        # a body is counted by aiohttp
        if not self._answering and self._bytes > LARGEST_HEAD + LARGEST_BODY:
            self._transport.abort()
            return
        self._inner.data_received(data)

    def eof_received(self):
        return self._inner.eof_received() if self._transport is not None else None

    def pause_writing(self):
        self._inner.pause_writing()

    def resume_writing(self):
        self._inner.resume_writing()

    def begin(self):
        """A request has come, with all headers."""
        self._answering = True
        self._wait(ANSWER_TIME)

    def go_on(self):
        """A part of a long answer has been taken."""
        self._wait(ANSWER_TIME)

    def end(self):
        """The request has been answered; the next one may come."""
        self._answering, self._bytes = False, 0
        self._wait(REQUEST_TIME)

    def _wait(self, seconds):
        self._cancel()
        if self._transport is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._transport.abort)

    def _cancel(self):
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def plain_address(address):
    """An IPv4 address that came by IPv6 as such, and no zone."""
    address = address.partition("%")[0]
    return address[7:] if address.startswith("::ffff:") and "." in address else address
