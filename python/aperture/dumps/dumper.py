#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Takes triggers, and writes their dumps, several at a time."""

import contextlib
import itertools
import os
import threading
import time as host
from dataclasses import replace
from fractions import Fraction

from ..parameters.errors import NotNow
from ..streams.python_block import text_of
from ..system import linux
from .dump import MEANING, OVERWRITTEN, Budget, Dump
from .exact_clock import stretches
from .trigger import asked_of, read_trigger

IDLE = 0.02  # s between two looks
GRACE = 0.3  # s in which messages may come whose senders have just ended
NICE = 10  # by which the thread is behind those of the chain
DUMPS_KEPT = 1000  # kept for results()
PROBLEMS_KEPT = 100  # kept for problems()
EVERYTHING = 2**62  # an item that never comes
PATIENCE = 60.0  # s in which a stream that waits must have gone on
CLOSED = "voltage_ring takes triggers while its flowgraph runs"
ACCEPTED = "accepted"


class Dumper:
    """
    Takes triggers, and writes their dumps in a thread.

    Parameters
    ----------
    ring : item_ring
    files : DumpFiles
    queue : int
        Dumps that wait or are written, at most.
    disk_limit : int or None
        Bytes of all dumps together.
    longest_wait : float
        Seconds by which a trigger's end may be ahead of the stream.
    publish : callable
        A function of the event's name and the dump's result or parts of it.
    warn : callable
        A function of a text.
    hold : bool
        True if the ring waits until it is told from where on its items are needed.
    """

    def __init__(self, ring, files, queue, disk_limit, longest_wait, publish, warn, hold=False):
        self._ring, self._files, self._hold = ring, files, hold
        #: gives the seconds of the stream before which no trigger asks for any more; None: nothing
        #: but the dumps that are known is waited for
        self.follow = None
        self._queue, self._longest_wait = queue, longest_wait
        self._budget = Budget(disk_limit)
        self._publish, self._warn = publish, warn
        self._dumps = []
        self._stood = self._stands_since = None
        self._lock = threading.Lock()  # guards the members below
        self._results, self._counts = [], {"written": 0, "failed": 0, "refused": 0}
        self._problems = []
        self._pending, self._closed = 0, True
        #: number of a question -> what became of it, None while that is not known
        self._questions, self._numbers = {}, itertools.count(1)
        self._answered = threading.Condition(self._lock)

    def ask(self, send):
        """Calls the function, which sends a trigger to the ring, unless the thread has ended:
        RuntimeError."""
        with self._lock:
            if self._closed:
                raise RuntimeError(CLOSED)
            send()

    def ask_and_wait(self, send, seconds):
        """
        Sends a trigger by send(number), which puts the number under ASKED into the message, and
        waits until the thread has accepted it.

        Raises
        ------
        ValueError
            It was refused, for this reason (NotNow: at present).
        TimeoutError
            Nothing was known of it within so many seconds.
        RuntimeError
            The thread has ended.
        """
        with self._lock:
            number = next(self._numbers)
            self._questions[number] = None
        try:
            self.ask(lambda: send(number))
            with self._answered:
                self._answered.wait_for(lambda: self._questions[number] or self._closed, seconds)
                answer = self._questions[number]
                closed = self._closed
        finally:
            with self._lock:
                del self._questions[number]
        if answer is None and closed:
            raise RuntimeError(CLOSED)
        if answer is None:
            raise TimeoutError(
                f"nothing is known of the trigger after {seconds:g} s; the port status will tell"
            )
        if isinstance(answer, Exception):
            raise answer

    def _answer(self, number, answer):
        with self._answered:
            if number in self._questions:
                self._questions[number] = answer
                self._answered.notify_all()

    def open(self):
        """Opens the dumper before run(): triggers will be taken."""
        with self._lock:
            self._closed = False

    def results(self):
        """Returns the results of the dumps, the last ones."""
        with self._lock:
            return list(self._results)

    def counts(self):
        """Returns how many were written, failed (nothing was there, or an error) or refused."""
        with self._lock:
            return dict(self._counts)

    def problems(self):
        """Returns what was lost or refused, and why: texts, the first ones."""
        with self._lock:
            return list(self._problems)

    def _tell(self, text):
        with self._lock:
            if len(self._problems) < PROBLEMS_KEPT:
                self._problems.append(text)
        self._warn(text)

    def pending(self):
        """Returns how many dumps wait or are being written."""
        with self._lock:
            return self._pending

    def bytes_written(self):
        """Returns the bytes of voltages of all dumps."""
        return self._budget.used

    # ---- the thread

    def run(self, stopping, starts):
        """
        Works until the stream has ended and all dumps are written.

        stopping: an Event; starts: what ring.starts() was when the last run ended.
        """
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, NICE)
            # the thread's name where the system lists threads
            linux.name_thread(thread, "voltage_dumps")
        # the ring may be started after this
        while self._ring.starts() == starts and not stopping.wait(IDLE / 10):
            pass
        try:
            while not self._work(stopping):
                pass
        finally:
            self._ring.keep_from(EVERYTHING)
            with self._answered:
                self._closed = True
                self._answered.notify_all()

    def _work(self, stopping):
        """Works until nothing is left to be done; False if something came at that moment."""
        waited = before = None
        position = self._position()
        while True:
            final = stopping.is_set() or self._ring.ended()
            # senders that still run may ask for what is in the ring
            last = stopping.is_set() or not self._ring.awaits_triggers()
            for message in self._ring.take_triggers():
                self._take(message)
                waited = None
            worked = self._go_on(final)
            if self._hold:
                self._let_go(before, worked)
            if worked:
                continue
            if not self._dumps and last:
                # items that senders sent in their last moments may still come
                waited = 0.0 if waited is None else waited + IDLE
                if stopping.is_set() or waited >= GRACE or not self._ring.has_senders():
                    break
            stopping.wait(IDLE)
            # everything that was sent before this position has come by now
            before, position = position, self._position()
        with self._lock:
            came = self._ring.take_triggers()
            self._closed = not came
        for message in came:
            self._take(message)
        return not came

    # ---- what the stream waits for

    def _position(self):
        """Seconds of the stream before which no trigger asks for any more."""
        return self.follow() if self._hold and self.follow else None

    def _let_go(self, position, worked):
        """Tells the ring which items are needed no more."""
        clock, oldest, newest = self._view()
        kept = newest
        if self.follow is not None:
            kept = int(position * float(clock[-1].rate)) if clock and position is not None else 0
        for dump in self._dumps:
            kept = min(kept, dump.first_needed(clock, oldest, newest))
        kept = min(max(kept, oldest), newest)
        self._ring.keep_from(kept)
        if worked or newest - kept < self._ring.capacity() or self._stood != (newest, kept):
            self._stood, self._stands_since = (newest, kept), host.monotonic()
        elif host.monotonic() - self._stands_since > PATIENCE and not self._ring.ended():
            # better than to stand for ever
            self._hold = False
            self._ring.keep_from(EVERYTHING)
            self._tell(
                "the ring is too short for what sends its triggers: the stream waited in "
                "vain, and goes on; dumps may lack what is overwritten from now on"
            )

    def _view(self):
        """Returns the ring's Stretches, its oldest item, and the one behind its newest."""
        newest = self._ring.items()
        clock = stretches(self._ring.settings(), self._files.edge.spectra)
        return clock, self._ring.oldest(), newest

    def _go_on(self, final):
        """Works on the dump that is in the greatest danger; returns whether there was anything."""
        if not self._dumps:
            return False
        view = self._view()
        order = sorted(self._dumps, key=lambda dump: (dump.next is None, dump.next or 0))
        for dump in order:
            began = dump.began
            worked = dump.step(*view, final)
            if dump.began and not began:
                self._publish("writing", {"id": dump.trigger.id})
            if dump.finished:
                self._end(dump)
            if worked:
                return True
        return False

    def _end(self, dump):
        self._dumps.remove(dump)
        result = dump.result
        event = "written" if result["files"] else "failed"
        with self._lock:
            self._pending = len(self._dumps)
            self._counts[event] += 1
            self._results = [*self._results, result][-DUMPS_KEPT:]
        if result["error"] is not None:
            self._tell(f"dump {dump.trigger.id}: {result['error']}")
        elif not result["complete"]:
            first = result["missing"][0]
            # items that the stream never had are no loss of the ring's
            lost = any(run["reason"] == MEANING[OVERWRITTEN] for run in result["missing"])
            (self._tell if lost else self._warn)(
                f"dump {dump.trigger.id}: {result['missing_seconds']:.6g} s of all inputs are "
                f"missing; the first run, from {first['from']['utc']} to {first['to']['utc']}: "
                f"{first['reason']}"
            )
        self._publish(event, result)

    # ---- triggers

    def _take(self, message):
        id = None
        try:
            trigger = read_trigger(message)
            id = trigger.id
            self._accept(trigger)
            answer = ACCEPTED
        except Exception as error:
            self._refuse(id or getattr(error, "id", None), text_of(error))
            answer = error
        self._answer(asked_of(message), answer)

    def _refuse(self, id, reason):
        with self._lock:
            self._counts["refused"] += 1
        self._tell(f"trigger {id or 'without an id'} is refused: {reason}")
        self._publish("refused", {"id": id or "", "error": reason})

    def _accept(self, trigger):
        if len(self._dumps) >= self._queue:
            raise NotNow(f"queue: {self._queue} dumps wait or are written, more are not allowed")
        selection = self._files.select(trigger.channels, trigger.inputs)
        clock, oldest, newest = self._view()
        if not clock and newest:
            raise NotNow(
                "tags: the stream has no rx_time or no rx_rate, so that nobody knows "
                "which samples these are; receiver_tags adds them"
            )
        if trigger.relative and not clock:
            raise NotNow("before: nothing has come yet")
        if clock:
            now = clock[-1].time(newest)
            if trigger.relative:
                trigger = replace(
                    trigger, start=now + trigger.start, end=now + trigger.end, relative=False
                )
            if trigger.end - now > Fraction(self._longest_wait):
                raise NotNow(
                    f"end: it is {float(trigger.end - now):.6g} s ahead of the stream, "
                    f"and longest_wait is {self._longest_wait:g} s"
                )
        dump = Dump(trigger, selection, self._ring, self._budget)
        if clock:
            self._check_room(dump, clock[-1].rate)
        self._dumps.append(dump)
        with self._lock:
            self._pending = len(self._dumps)
        self._publish("accepted", {"id": trigger.id})

    def _check_room(self, dump, rate):
        promised = sum(
            max(0, other.expected_bytes(rate) - other.bytes_written) for other in self._dumps
        )
        wanted, left = dump.expected_bytes(rate), self._budget.left - promised
        if wanted > left:
            raise NotNow(
                f"disk_limit: {wanted} bytes were asked for, and "
                f"{max(0, int(left))} of {self._budget.limit} are left"
            )
