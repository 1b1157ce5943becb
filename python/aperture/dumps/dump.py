#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""One dump: what a trigger asked for, out of the ring into files."""

import contextlib
import errno
import json
import time as host
from fractions import Fraction

import numpy as np

from .. import tags
from ..files.checked_file import PartFile
from ..streams.python_block import text_of
from ..streams.settings import HeldSettings
from .exact_clock import moment_of, time_entry

PAUSE = 0.1  # s, after which also little is written that has come
RUNS_TOLD = 5000  # missing runs that the description lists
ROOM = 16384  # bytes that are kept for the description at a time,
RUN_BYTES = 400  # bytes of a run or a recording in it
OVERWRITTEN, NOT_RECEIVED = "overwritten", "missing"
BEFORE, AFTER = "before the stream began", "after the stream ended"
NO_TIME = "without a time"
#: reason that is not that of zeros in a file -> what it is to people
MEANING = {OVERWRITTEN: "overwritten before it could be written", NOT_RECEIVED: "not received"}


class Budget:
    """Bytes that all dumps together may put on disk. limit: None, or so many."""

    def __init__(self, limit):
        self.limit, self.used = limit, 0

    @property
    def left(self):
        """Bytes."""
        return float("inf") if self.limit is None else self.limit - self.used

    def take(self, count):
        """Takes so many bytes; OSError: there are not so many any more."""
        if count > self.left:
            raise OSError(
                errno.EDQUOT,
                f"disk_limit of {self.limit} bytes: {self.used} are "
                f"written, and {count} more would be too many",
            )
        self.used += count


class Dump:
    """
    Goes on with each step(), until `finished`.

    trigger: Trigger with absolute times; selection: Selection; ring: item_ring; budget: Budget.
    After that `result` says what became of it: a dictionary, which is also in the file
    `description`, if there is one.
    """

    def __init__(self, trigger, selection, ring, budget):
        self.trigger, self.selection = trigger, selection
        self.next = None  # the item that comes next; None: it is not known yet
        self.finished, self.result, self.began = False, None, False
        self._ring, self._budget = ring, budget
        self._edge = selection.files.edge
        self._offset, self._length = self._edge.bytes_of(selection.channels)
        # items of sc4 grow when they are read
        grown = self._edge.file_dtype.itemsize // self._edge.sample_size
        self._at_once = max(1, ring.longest_read() // (self._length * grown))
        self._stretch = self._section = None
        self._description = None
        self._recordings, self._missing, self._not_told = [], [], 0
        self._missing_seconds = Fraction(0)
        self._bytes, self._approximate = 0, False
        self._stepped = 0.0
        self._error = None

    @property
    def bytes_written(self):
        """The bytes of voltages in the files."""
        return self._bytes

    def first_needed(self, clock, oldest, newest):
        """The first item that is still to be read, which may be still to come."""
        if self.next is not None:
            return self.next
        first = oldest
        for stretch in clock:
            first = max(stretch.item, stretch.item_in_which(self.trigger.start))
            if first < (newest if stretch.end is None else stretch.end):
                break
        return first

    def expected_bytes(self, rate):
        """Returns the bytes of voltages at so many items a second."""
        items = int((self.trigger.end - self.trigger.start) * Fraction(rate)) + 2
        return items * self.selection.item_bytes

    # ---- steps

    def step(self, clock, oldest, newest, final):
        """
        Writes what is there next, if anything is.

        Parameters
        ----------
        clock : list of Stretch
        oldest, newest : int
            The first item that is there, and the one behind the last.
        final : bool
            True if nothing more comes.

        Returns
        -------
        bool
            Whether it did something.
        """
        try:
            return self._step(clock, oldest, newest, final)
        except Exception as error:
            # the other dumps and the chain go on, whatever the error
            self._error = text_of(error)
            self.finish()
            return True

    def _step(self, clock, oldest, newest, final):
        if self.next is None and not self._locate(clock, oldest, newest):
            if final and not self.finished:
                self._lose(self.trigger.start, self.trigger.end, None, AFTER)
                self.finish()
            return self.finished
        if self.finished:
            return True
        stretch = self._stretch_of(self.next, clock)
        end = stretch.item_behind(self.trigger.end)
        if self.next >= end:
            self.finish()
            return True
        limit = min(end, newest) if stretch.end is None else min(end, newest, stretch.end)
        count = min(limit - self.next, self._at_once)
        if count <= 0 or (
            count < self._at_once
            and limit == newest < end
            and not final
            and host.monotonic() < self._stepped + PAUSE
        ):
            if final and count <= 0:
                self._lose(stretch.time(self.next), self.trigger.end, None, AFTER)
                self.finish()
            return self.finished
        self._stepped = host.monotonic()
        self._enter(stretch)
        self._write(stretch, *self._read(count, oldest))
        return True

    def _stretch_of(self, item, clock):
        """The one that an item is in; of items that were overwritten, it may be forgotten."""
        for stretch in reversed(clock):
            if stretch.item <= item:
                return stretch
        end = clock[0].item if clock else None
        self._stretch.end = end
        return self._stretch

    def _locate(self, clock, oldest, newest):
        """Finds the first item; returns whether it is there, or that there will be none."""
        begin, end = self.trigger.start, self.trigger.end
        for number, stretch in enumerate(clock):  # noqa: B007 (used behind the loop)
            first = max(stretch.item_in_which(begin), stretch.item)
            if first >= (newest if stretch.end is None else stretch.end):
                continue
            break
        else:
            return False
        known = min(max(begin, stretch.begin), end)
        if known - begin > stretch.tolerance:
            self._lose(
                begin,
                known,
                None,
                NOT_RECEIVED
                if number
                else BEFORE
                if stretch.item == 0
                else OVERWRITTEN
                if oldest >= stretch.item
                else NO_TIME,
            )
        self.next = max(first, oldest)
        there = self._stretch = self._stretch_of(self.next, clock[number:])
        since = there.time(self.next)
        if self.next > first and stretch.time(first) < end:
            self._lose(max(known, stretch.time(first)), min(since, end), None, OVERWRITTEN)
        self._stretch = None
        if self.next >= there.item_behind(end):
            self.finish()
        return True

    def _enter(self, stretch):
        """Begins files, or another capture, where a stretch begins."""
        before, self._stretch = self._stretch, stretch
        if before is not None and (before.item, before.begin) == (stretch.item, stretch.begin):
            return
        if before is not None and self._section is not None and before.goes_on(stretch):
            if not before.agrees(stretch):
                self._section.capture(stretch, self.next)
            return
        if before is not None:
            gap = stretch.begin - before.time(stretch.item)
            if gap > stretch.tolerance:
                self._lose(
                    before.time(stretch.item),
                    min(stretch.begin, self.trigger.end),
                    None,
                    NOT_RECEIVED,
                )
        self._end_section()
        self._begin_section(stretch)

    def _begin_section(self, stretch):
        edge = self._edge
        for name, value in (
            ("rx_freq", stretch.frequency),
            *(() if edge.of_samples else (("bandwidth", stretch.bandwidth),)),
        ):
            if value is None:
                raise ValueError(f"tags: the stream has no {name}, which the files need")
        seconds = moment_of(stretch.time(self.next)).seconds
        number = self.selection.free_number(self.trigger.id, seconds)
        if self._description is None:
            self._description = PartFile(
                self.selection.description(self.trigger.id, seconds, number), False
            )
            self._description.reserve(ROOM)
        self._section = self.selection.begin(
            self.selection.paths(self.trigger.id, seconds, number),
            stretch,
            self.next,
            self._settings(self.next),
        )
        self._approximate = self._approximate or stretch.approximate
        self._recordings.append(
            {
                "files": self._section.paths,
                "start": time_entry(self._section.start),
                "samples": 0,
                "rate": stretch.samples_a_second,
                "frequency": stretch.frequency,
                "bandwidth": stretch.bandwidth,
            }
        )
        self.began = True

    def _settings(self, item):
        """Settings, each with its time, that hold up to an item."""
        held = HeldSettings()
        for number, value in self._ring.told():
            if number <= item:
                held.take({tags.settings: value})
        return held.lines()

    def _end_section(self):
        section, self._section = self._section, None
        if section is None:
            return
        try:
            section.finish()
        finally:
            self._recordings[-1]["samples"] = section.samples
            self._recordings[-1]["files"] = section.paths

    # ---- voltages

    def _read(self, count, oldest):
        """uint8 [item][byte], and how many of the first items were overwritten."""
        if self.next < oldest:
            count = min(count, oldest - self.next)
            return np.zeros((count, self._length), np.uint8), count
        data, lost = self._ring.read(self.next, count, self._offset, self._length)
        data[:lost] = 0
        return data, lost

    def _write(self, stretch, data, overwritten):
        edge, selection = self._edge, self.selection
        missing = [
            (number, first, count, NOT_RECEIVED)
            for number, first, count in self._ring.missing(self.next, len(data))
            if number in selection.inputs and first + count > overwritten * edge.spectra
        ]
        if overwritten:
            missing.append((None, 0, overwritten * edge.spectra, OVERWRITTEN))
        self._reserve(len(missing))
        size = len(data) * selection.item_bytes
        self._budget.take(size)
        moved = round((stretch.time(self.next) - self._section.start) * stretch.rate * edge.spectra)
        self._section.add(edge.samples_of(data, selection.channels), moved, missing)
        self._bytes += size
        for number, first, count, reason in missing:
            self._lose(
                stretch.time(self.next, first),
                stretch.time(self.next, first + count),
                number,
                reason,
            )
        self.next += len(data)

    def _reserve(self, more):
        """Reserves room on the disk for the description of the dump, so that voltages are never
        without."""
        entries = min(len(self._missing) + more, RUNS_TOLD) + len(self._recordings)
        files = sum(len(path) + 8 for path in self.selection.paths("x" * 64, 0)) * 2
        size = 4096 + RUN_BYTES * entries + files * len(self._recordings)
        size += sum(map(len, self._settings(self.next))) * 2
        self._description.reserve(-(-size // ROOM) * ROOM)

    # ---- what is said

    def _lose(self, begin, end, number, reason):
        """Notes that something is missing between two times, of an input or (None) of all."""
        if end <= begin:
            return
        if number is None:
            self._missing_seconds += end - begin
        for run in reversed(self._missing[-2 * self._edge.inputs - 2 :]):
            if run[2:] == [number, reason] and abs(run[1] - begin) < Fraction(1, 10**9):
                run[1] = end
                return
        if len(self._missing) < RUNS_TOLD:
            self._missing.append([begin, end, number, reason])
        else:
            self._not_told += 1

    def _say(self):
        """The result, for people and programs."""
        trigger, selection = self.trigger, self.selection
        files = [path for recording in self._recordings for path in recording["files"]]
        return {
            "id": trigger.id,
            "requested": {"start": time_entry(trigger.start), "end": time_entry(trigger.end)},
            "files": files,
            "recordings": self._recordings,
            "kind": self._edge.kind,
            "channels": selection.channels,
            "inputs": selection.inputs,
            "names": [selection.files.names[number] for number in selection.inputs],
            "settings": self._settings((self.next or 1) - 1),
            "candidate": dict(trigger.candidate),
            "approximate": self._approximate,
            "bytes": self._bytes,
            "complete": not self._missing and self._error is None,
            "missing_seconds": float(self._missing_seconds),
            "missing": [
                {
                    "from": time_entry(begin),
                    "to": time_entry(end),
                    "input": number,
                    "reason": MEANING.get(reason, reason),
                }
                for begin, end, number, reason in self._missing
            ],
            "missing_runs_left_out": self._not_told,
            "error": self._error,
        }

    def finish(self):
        """Ends it with what is written, as whole files."""
        self.finished = True
        try:
            self._end_section()
        except Exception as error:
            self._error = self._error or text_of(error)
        if not self._bytes and self._error is None:
            self._error = "nothing of it was there: " + (
                ", ".join(sorted({MEANING.get(run[3], run[3]) for run in self._missing}))
                or "no sample lies between start and end"
            )
        self.result = self._say()
        self.result["description"] = None
        if self._description is not None:
            with contextlib.suppress(OSError):
                # an error that cannot even be written is in the log
                if self.result["files"]:
                    self._description.replace(json.dumps(self._say(), indent=1).encode())
                    self._description.finish()
                    self.result["description"] = self._description.path
                else:
                    self._description.abandon()
