#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Publishes what an instrument does, and takes commands for it.

In the process with the flowgraph are three threads that sleep most of the time: one looks, five
times a second, at what listeners and snapshots have (attachment.py), one writes what it made of
that to the server's socket, one reads commands from there. Between the first two is the one queue,
which is bounded: where the server is slow or gone, the oldest is dropped and counted. No thread of
the flowgraph ever waits for any of them; all computing is done by the server.
"""

import os
import re
import sys
import threading
import time
from collections import deque

from ..parameters.errors import NotNow
from . import channel, schemas
from .attachment import Attachment
from .plain import plain, plain_message
from .section import Section
from .server_process import ServerProcess

#: s between two looks, and between figures
PAUSE, FIGURES = 0.2, 1.0
#: bytes that wait to be sent, at most
MOST_WAITING_BYTES = 64 << 20
#: s within which a server must listen
LONGEST_START = 30.0
#: s before a server that ended is started again, the first and the last of a doubling series
FIRST_PAUSE, LAST_PAUSE = 1.0, 60.0
#: errors of controls -> status of HTTP; that of all others is 422
STATUSES = {NotNow: 409, TimeoutError: 504}
#: bytes of a picture of a candidate
LARGEST_PICTURE = 1 << 20
#: s for which a picture of a candidate is waited for, and how many at most
PICTURE_PATIENCE, MOST_PICTURES = 60.0, 32


class Outbox:
    """The bounded queue: messages with their bytes; puts never wait."""

    def __init__(self, maxsize):
        self._maxsize = maxsize
        self._condition = threading.Condition()
        self._waiting, self._bytes = deque(), 0
        self._closed = False
        #: messages that were dropped because the server did not take them in time
        self.dropped = 0

    def put(self, message, payload=b""):
        """Appends a message; the oldest ones make room for it."""
        size = len(memoryview(payload).cast("B"))
        with self._condition:
            self._waiting.append((message, payload, size))
            self._bytes += size
            while len(self._waiting) > self._maxsize or (
                self._bytes > MOST_WAITING_BYTES and len(self._waiting) > 1
            ):
                self._bytes -= self._waiting.popleft()[2]
                self.dropped += 1
            self._condition.notify()

    def take(self, timeout=None):
        """The oldest message and its bytes; None when nothing came, or it was closed."""
        with self._condition:
            self._condition.wait_for(lambda: self._waiting or self._closed, timeout)
            if self._closed or not self._waiting:
                return None
            message, payload, size = self._waiting.popleft()
            self._bytes -= size
            return message, payload

    def close(self):
        """Ends the waiting of take()."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def __len__(self):
        return len(self._waiting)


class Publisher:
    """
    Publishes an instrument to a server of its own, if there is a section, and takes its commands.

    Parameters
    ----------
    instrument : observatory.Instrument
        Or what has its `top`, `blocks`, `state`, describe(), before_start() and on_publish().
    section : dict
        The section `monitoring`; None: no server, and what is published can be taken out of
        `outbox`.
    maxsize : int
        Messages that may wait for the server.

    Raises
    ------
    SectionError
        A ValueError that names the key of the section.
    """

    def __init__(self, instrument, section=None, maxsize=256):
        self.section = None if section is None else Section.of(section)
        self.instrument, self.outbox = instrument, Outbox(maxsize)
        #: number of restarts of the server after it had ended
        self.server_restarts = 0
        #: the address where the server listens, once it does
        self.url = ""
        self._server, self._attachment = None, None
        self._about_changed, self._last_figures = True, 0.0
        self._progress = None  # (block, wall clock, stream's time) from which its speed is taken
        self._speed = self._age = None
        self._integrations = 0
        self._pictures = deque(maxlen=MOST_PICTURES)
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._threads = []
        instrument.before_start(self._attach)
        instrument.on_publish(self._take_event)

    # ---- start and stop

    def start(self):
        """Starts the threads and the server. Raises RuntimeError where that does not listen."""
        if self.section is not None:
            self._server = ServerProcess(self.section)
            self._run(self._send, "monitoring send")
        self._run(self._look, "monitoring")
        if self._server is None:
            return
        give_up = time.monotonic() + LONGEST_START
        while not self._ready.wait(0.05):
            status = self._server.ended()
            if status is not None or time.monotonic() > give_up:
                self.stop()
                raise RuntimeError(
                    f"monitoring: the server does not listen on {self.section.listen}: "
                    + (
                        "it is not ready"
                        if status is None
                        else f"it ended with status {status}, and its last line says why"
                    )
                )

    def stop(self):
        """Ends the server and the threads; what waits is not sent."""
        self._stopping.set()
        self.outbox.close()
        with self._lock:
            server = self._server
        if server is not None:
            server.stop()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._threads = []

    def _run(self, function, name, *arguments):
        thread = threading.Thread(target=function, name=name, args=arguments, daemon=True)
        thread.start()
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]

    @property
    def server_pid(self):
        """The number of the server's process; None without one."""
        with self._lock:
            return None if self._server is None else self._server.pid

    # ---- what is published

    def _attach(self, instrument):
        try:
            attachment = Attachment(instrument.top, instrument.blocks)
        except Exception as error:  # the instrument runs, and is not watched
            self._attachment = None
            self._alarm(error)
            return
        # the listeners live as long as the flowgraph
        instrument.top.monitoring = attachment
        self._attachment, self._progress = attachment, None
        self._speed = self._age = None
        self._about_changed = True
        if restore := getattr(instrument, "restore", None):
            restore(lambda block, port, value: attachment.control(block, port).set(value))

    def _take_event(self, event):
        """Puts an event of the instrument's publish() into the queue."""
        about = plain(event)
        if about.get("event") == "released":
            self._attachment = self._speed = self._age = None
            return
        self.outbox.put({"kind": "event", "time": time.time(), "event": about})
        if about.get("event") in ("state", "setting"):
            self._about_changed = True

    def about(self):
        """Returns a message about the instrument, and what may be changed."""
        attachment = self._attachment
        controls = {} if attachment is None else attachment.controls
        return {
            "kind": "about",
            "instrument": plain(self.instrument.describe()),
            "correlates": attachment is not None and attachment.correlates(),
            "controls": {
                name: {
                    port: {"schema": control.schema, "about": control.about}
                    for port, control in ports.items()
                }
                for name, ports in controls.items()
            },
        }

    def _look(self):
        while not self._stopping.wait(PAUSE):
            try:
                self._look_once()
            except Exception as error:  # monitoring less is better than no monitoring
                self._alarm(error)
                self._stopping.wait(1.0)

    def _alarm(self, error):
        text = plain(f"monitoring: {type(error).__name__}: {error}")
        print(text, file=sys.stderr)
        self.outbox.put(
            {"kind": "event", "time": time.time(), "event": {"event": "alarm", "text": text}}
        )

    def _look_once(self):
        attachment = self._attachment
        if self._about_changed:
            self._about_changed = False
            self.outbox.put(self.about())
        if attachment is not None:
            self._look_at(attachment)
        now = time.monotonic()
        if now - self._last_figures >= FIGURES:
            self._last_figures = now
            self.outbox.put(self._figures(attachment))

    def _look_at(self, attachment):
        """Puts what the blocks have said, and made, since the last look into the queue."""
        for name, port, moment, message in attachment.messages():
            self._take_message(name, port, moment, message)
        for look in attachment.looks:
            found = look.take()
            if found is not None:
                if look is attachment.looks[0]:
                    self._follow(found[0])
                self.outbox.put(*found)
        self._send_pictures()

    def _take_message(self, name, port, moment, message):
        value = plain_message(message)
        if port == "candidates":
            self.outbox.put({"kind": "candidate", "block": name, "time": moment, "value": value})
            if isinstance(value, dict) and isinstance(value.get("id"), str):
                self._pictures.append((moment, value["id"]))
            return
        self.outbox.put(
            {
                "kind": "status",
                "block": name,
                "time": moment,
                "value": value if isinstance(value, dict) else {"value": value},
            }
        )

    def _follow(self, message):
        """Measures how fast the stream's time runs, and how old the newest integration is."""
        now, interval = time.monotonic(), message["interval"]
        if interval is None:
            return
        begin = self._progress
        if begin is None or message["number"] < begin[1]:
            self._progress = (now, message["number"])
        elif now - begin[0] >= 1.0:
            self._speed = (message["number"] - begin[1]) * interval / (now - begin[0])
            # over ten seconds or so, and never of the start alone
            if now - begin[0] > 10.0:
                self._progress = (now, message["number"])
        age = time.time() - (message["time"] + interval / 2)
        self._age = age if message["told"] and 0 <= age < 86400 else None

    def _figures(self, attachment):
        """Figures are all that is counted and measured. There are some without a flowgraph
        (attachment is None) as well, so that nobody takes the last ones for those of now."""
        running = (
            attachment is not None and getattr(self.instrument, "state", "running") == "running"
        )
        self._integrations = (
            # counted are the visibilities, or the beams' powers where there are none
            sum(look.items() for look in attachment.looks[:1])
            if attachment is not None
            else self._integrations
        )
        return {
            **plain(getattr(self.instrument, "figures", {})),
            "kind": "figures",
            "time": time.time(),
            "state": plain(getattr(self.instrument, "state", "running")),
            "blocks": attachment.counts() if running else {},
            "edges": attachment.edges() if running else [],
            "tracked": None if attachment is None else plain(attachment.tracked()),
            "integrations": self._integrations,
            "times_real_time": plain(self._speed),
            "latency": plain(self._age),
            "queue": len(self.outbox),
            "dropped": self.outbox.dropped,
            "server_restarts": self.server_restarts,
        }

    def _send_pictures(self):
        """Sends pictures that candidate_sink has drawn meanwhile, of candidates that were told."""
        now, waiting = time.time(), list(self._pictures)
        if not waiting:
            return
        folders = [
            os.path.splitext(path)[0] + "-pictures"
            for block in self._attachment.blocks.values()
            if type(block).__name__ == "candidate_sink"
            for path in block.files()[-2:]
        ]
        for entry in waiting:
            moment, name = entry
            if not re.fullmatch(schemas.ID.strip("^$"), name) or now - moment > PICTURE_PATIENCE:
                self._pictures.remove(entry)
                continue
            for folder in folders:
                data = _picture(os.path.join(folder, name + ".png"))
                if data:
                    self.outbox.put({"kind": "picture", "id": name}, data)
                    self._pictures.remove(entry)
                    break

    # ---- the server

    def _send(self):
        pause, server, begin = FIRST_PAUSE, self._server, time.monotonic()
        self._run(self._receive, "monitoring receive", server)
        sent = None
        while not self._stopping.is_set():
            try:
                if sent is not server:
                    # a connection begins with what the instrument is, whatever happened before
                    server.send(self.about())
                    sent = server
                found = self.outbox.take(1.0)
                if found is not None:
                    server.send(*found)
                elif server.ended() is not None:
                    raise OSError("ended")
                continue
            except OSError:
                pass
            server.stop()
            if not self._ready.is_set():
                return  # start() tells
            # one that ran well is started again soon
            pause = FIRST_PAUSE if time.monotonic() - begin > LAST_PAUSE else pause
            if self._stopping.wait(pause):
                return
            pause, begin = min(2 * pause, LAST_PAUSE), time.monotonic()
            with self._lock:
                if self._stopping.is_set():
                    return
                server = self._server = ServerProcess(self.section)
            self.server_restarts += 1
            self._run(self._receive, "monitoring receive", server)

    def _receive(self, server):
        try:
            while (found := channel.receive(server.socket)) is not None:
                message = found[0]
                if message.get("kind") == "ready":
                    self.url = message["url"]
                    self._ready.set()
                elif message.get("kind") == "command":
                    self.outbox.put(self._command(message))
        except (OSError, ValueError):
            pass  # the sender sees that, too

    def _command(self, message):
        """The answer to a command: error is None, or what is wrong, with a status of HTTP."""
        answer = {"kind": "answer", "id": message["id"], "error": None, "status": 200}
        attachment = self._attachment
        try:
            if attachment is None:
                raise ValueError("there is no such control")
            block, port, value = (message[key] for key in ("block", "port", "value"))
            control = attachment.control(block, port)
            if getattr(self.instrument, "state", "running") != "running":
                raise NotNow("the instrument does not run")
            control.set(value)
            if control.kept and (keep := getattr(self.instrument, "keep", None)):
                keep(block, port, value)
        except Exception as error:  # no setter's error ends this thread
            answer["error"] = plain(" ".join(str(error).split()))[:500] or type(error).__name__
            answer["status"] = next(
                (status for kind, status in STATUSES.items() if isinstance(error, kind)), 422
            )
        return answer


def _picture(path):
    """Returns the bytes of a picture's file; None while there is none."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            data = file.read(LARGEST_PICTURE + 1)
    except OSError:
        return None
    return data if len(data) <= LARGEST_PICTURE and data.endswith(b"IEND\xaeB`\x82") else None


def start(instrument, section):
    """
    Publishes an instrument to a server as its section `monitoring` says; to be called once, before
    the instrument's first start. Returns the Publisher, whose stop() ends it.

    Raises SectionError (a ValueError that names the key), RuntimeError where the server does not
    listen.
    """
    publisher = Publisher(instrument, section if section is not None else {})
    publisher.start()
    print(f"monitoring: {publisher.url}", file=sys.stderr)
    return publisher
