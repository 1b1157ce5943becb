#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The server's main program."""

import argparse
import asyncio
import itertools
import json
import logging
import os
import signal
import socket
import time

from aiohttp import web

from ...system import linux
from .. import channel
from ..section import Section, SectionError
from . import connections
from .access import Access, log
from .beam_drawings import BeamDrawings
from .connections import LARGEST_BODY, MOST, MOST_OF_ONE, Connections
from .drawings import Drawings
from .machine import watch_gpus
from .metrics import Metrics
from .pages import Pages
from .state import Observed

#: commands that wait for an answer, and s that they wait
MOST_COMMANDS, COMMAND_TIME = 16, 5.0
DESCRIPTORS = 512
NICE = 19
#: messages of which the newest is drawn -> part of one processor that this takes, at most
DRAWING_SHARES = {"visibilities": 0.008, "powers": 0.002}
HANDSHAKE_TIME = 5.0


class Server:
    """
    Reads what the publisher sends, draws, and answers.

    section: a checked Section; flowgraph: its process' id; sock: to the publisher; pause: s from
    one drawing, and one update of a page, to the next.
    """

    def __init__(self, section, flowgraph, sock, pause=1.0):
        self.section, self.flowgraph, self.pid = section, flowgraph, os.getpid()
        self.observed, self.drawings, self.beams = Observed(), Drawings(), BeamDrawings()
        self.metrics = Metrics(self)
        self.access = self.connections = None
        self.pause = pause
        self.gpus, self.connected = [], True
        #: integrations that came while others were drawn
        self.skipped = 0
        self.ending = asyncio.Event()
        self._sock = sock
        self._newest = {}
        self._wanted = {kind: asyncio.Event() for kind in DRAWING_SHARES}
        self._commands, self._ids = {}, itertools.count(1)
        self._writer = None

    @staticmethod
    def now():
        """UTC, seconds since 1970."""
        return time.time()

    async def run(self):
        """Serves until the publisher is gone, or a signal."""
        reader, self._writer = await asyncio.open_connection(sock=self._sock)
        listening = _listen(*self.section.address())
        port = listening.getsockname()[1]
        self.access = Access(self.section, port)
        app = web.Application(middlewares=[self.access.check], client_max_size=LARGEST_BODY)
        app.on_response_prepare.append(self.access.add_headers)
        app.add_routes(Pages(self).routes())
        runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            keepalive_timeout=15,
            max_line_size=4096,
            max_field_size=4096,
        )
        await runner.setup()
        proxies = self.section.proxy_addresses() if self.section.proxy else None
        self.connections = Connections(
            runner.server, proxies, MOST_OF_ONE if proxies is None else MOST
        )
        context = self.section.tls_context()
        server = await asyncio.get_running_loop().create_server(
            self.connections,
            sock=listening,
            ssl=context,
            backlog=64,
            **({"ssl_handshake_timeout": HANDSHAKE_TIME} if context else {}),
        )
        host = listening.getsockname()[0]
        url = f"http{'s' if context else ''}://{f'[{host}]' if ':' in host else host}:{port}/"
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.ending.set)
        self._tell({"kind": "ready", "url": url})
        tasks = [
            asyncio.create_task(work)
            for work in (
                self._read(reader),
                watch_gpus(self._take_gpus),
                *(self._draw(kind) for kind in DRAWING_SHARES),
            )
        ]
        await self.ending.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.wait_for(runner.cleanup(), 3.0)

    def _take_gpus(self, gpus):
        self.gpus = gpus

    # ---- the publisher

    def _tell(self, message):
        self._writer.write(channel.packed(message))

    async def _read(self, reader):
        try:
            while True:
                lengths = channel.lengths_of(await reader.readexactly(channel.LENGTHS.size))
                text, payload = [await reader.readexactly(length) for length in lengths]
                self._take(json.loads(text), payload)
        except (asyncio.IncompleteReadError, OSError):
            pass  # the flowgraph's process has ended
        except Exception as error:
            log(f"what came from the flowgraph was not understood: {type(error).__name__}: {error}")
        finally:
            self.connected = False
            self.ending.set()

    def _take(self, message, payload):
        kind = message["kind"]
        if kind in DRAWING_SHARES:
            self.skipped += kind in self._newest
            self._newest[kind] = message, payload
            self._wanted[kind].set()
        elif kind == "answer":
            waiting = self._commands.pop(message["id"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result((message.get("status", 422), message["error"]))
        else:
            self.observed.take(message, payload)

    async def _draw(self, kind):
        """Draws the newest integration in a thread; what comes meanwhile but for the last is
        skipped."""
        wanted = self._wanted[kind]
        while True:
            await wanted.wait()
            wanted.clear()
            message, payload = self._newest.pop(kind)
            begin, took = time.monotonic(), 0.0
            observed = self.observed
            try:
                took = await asyncio.get_running_loop().run_in_executor(
                    None,
                    self._draw_one,
                    message,
                    payload,
                    observed.about,
                    [value for _, value in observed.counts()],
                    observed.figures.get("tracked"),
                )
            except Exception as error:  # a picture less
                log(f"drawing: {type(error).__name__}: {error}")
            observed.touch()
            least = max(self.pause, took / DRAWING_SHARES[kind]) if self.pause else 0.0
            await asyncio.sleep(max(0.0, least - (time.monotonic() - begin)))

    def _draw_one(self, message, payload, about, counts, tracked):
        """Returns how long it had a processor."""
        begin = time.thread_time()
        if message["kind"] == "powers":
            self.beams.draw(message, payload, about)
        else:
            self.drawings.follow(tracked)
            self.drawings.draw(message, payload, about, counts)
        return time.thread_time() - begin

    async def command(self, block, port, value):
        """Sends a command; returns 200 and "", or what status and words say what went wrong."""
        if not self.connected or self.observed.about.get("state", "running") != "running":
            return 409, "the instrument does not run"
        if len(self._commands) >= MOST_COMMANDS:
            return 503, "too many commands wait"
        number = next(self._ids)
        waiting = self._commands[number] = asyncio.get_running_loop().create_future()
        self._tell({"kind": "command", "id": number, "block": block, "port": port, "value": value})
        try:
            status, error = await asyncio.wait_for(waiting, COMMAND_TIME)
        except asyncio.TimeoutError:
            return 504, "the instrument did not answer in time"
        finally:
            self._commands.pop(number, None)
        return (200, "") if error is None else (status, error)


def _listen(address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind((address, port))
    return sock


def main(arguments=None):
    """Runs the server on the socket that the publisher made; returns an exit status."""
    parser = argparse.ArgumentParser(
        prog="gnuradio.aperture.monitoring.server",
        description="The server of control and monitoring. It is started by "
        "gnuradio.aperture.monitoring.start(), which hands it a socket: see docs/monitoring.md.",
    )
    parser.add_argument(
        "--channel",
        type=int,
        required=True,
        metavar="DESCRIPTOR",
        help="descriptor of the socket to the process with the flowgraph",
    )
    parser.add_argument(
        "--request-time",
        type=float,
        default=connections.REQUEST_TIME,
        metavar="SECONDS",
        help="within which a request must have come (default: %(default)s)",
    )
    parser.add_argument(
        "--pause",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="from one drawing, and one update of a page, to the next (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    connections.REQUEST_TIME = options.request_time
    # aiohttp writes a page about each invalid request, which anybody can send
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    os.umask(0o077)
    os.nice(NICE)  # data come first
    linux.limit_process(DESCRIPTORS)  # the token would be in an image of the memory
    try:
        sock = socket.socket(fileno=options.channel)
        first, _ = channel.receive(sock)
        section = Section.of(first["section"])
        sock.setblocking(False)

        async def serve():
            await Server(section, first["process"], sock, options.pause).run()

        asyncio.run(serve())
    except SectionError as error:
        log(str(error))
        return 2
    except (OSError, TypeError) as error:
        log(f"{error}")
        return 3
    except (asyncio.TimeoutError, KeyboardInterrupt):
        pass
    return 0
