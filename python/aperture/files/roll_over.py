#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""When a file that is named by time ends, and the next one begins."""

import contextlib
import math
import threading
from numbers import Real

from ..parameters.rules import refuse
from .file_names import TIME

#: the part of an interval by which times that are meant to be the same may differ
ROUNDING = 1e-6


class RollOver:
    """
    Says when a file is full: at whole multiples of `seconds` since 1970 (of an hour: at each full
    hour, UTC), before it becomes larger than `size` bytes, and when it is asked for.

    set() is called before the flowgraph starts; ask() and record() at any time, from any thread.
    """

    def __init__(self, filename):
        self._filename = filename
        self._seconds = self._size = 0
        self._asked = threading.Event()
        self.recording = True  # otherwise what comes is left out

    def set(self, seconds=0.0, size=0):
        """
        Sets when files end.

        Parameters
        ----------
        seconds : float
            0: time ends no file.
        size : int
            Bytes; 0: size ends no file.

        Raises
        ------
        ValueError
            A value is not allowed, or the name of the files has no {time} in it.
        """
        if not isinstance(seconds, Real) or not (seconds == 0 or 1e-3 <= seconds <= 1e9):
            refuse("seconds", seconds, "0, or 0.001 to 1e9")
        if not isinstance(size, Real) or not 0 <= size < 2**62:
            refuse("size", size, "a number of bytes from 0")
        if seconds or size:
            self.check()
        self._seconds, self._size = seconds, int(size)

    def check(self):
        """Refuses names without {time}: the next file would take the place of this one."""
        if TIME not in self._filename:
            refuse(
                "filename",
                self._filename,
                f"a name with {TIME} in it, where a file may follow on another",
            )

    def ask(self):
        """The next integration (or frame) begins a new file."""
        self.check()
        self._asked.set()

    def record(self, on):
        """Says whether what comes is written, or left out; a file ends where it no longer is."""
        self.check()
        self.recording = bool(on)

    def begun(self):
        """A file begins: what was asked for is done."""
        self._asked.clear()

    def room(self, start, interval, each, together=1):
        """
        Integrations that go into a file, math.inf where nothing says so.

        Parameters
        ----------
        start : tuple of int, float
            Whole seconds since 1970 and a fraction, of its first one.
        interval : float
            Seconds from one to the next.
        each : float
            Bytes of one.
        together : int
            Those that are written together: a file has a whole number of so many. It may begin so
            much later than it otherwise would.
        """
        if self._asked.is_set():
            return 0
        most = math.inf
        if self._seconds:
            # an integration that begins a little before a multiple is meant to begin at it
            time = start[0] % self._seconds + start[1] + ROUNDING * interval
            left = self._seconds - time % self._seconds
            most = together * max(1, math.ceil(left / interval / together))
        if self._size:
            most = min(most, together * max(1, int(self._size // (together * each))))
        return most

    def ends(self, start, time, interval):
        """Returns whether the file that began at `start` ends before what begins at `time`, both as
        in room(); the size is not looked at."""
        if self._asked.is_set():
            return True
        if not self._seconds:
            return False
        number = lambda when: math.floor((when[0] + when[1] + ROUNDING * interval) / self._seconds)
        return number(time) != number(start)

    @property
    def size(self):
        """Bytes of a file at most, 0: any number."""
        return self._size


class RollingSink:
    """The base of blocks that write such files; self._roll is a RollOver, and self._ended_files()
    are the paths of files that have ended."""

    def set_roll_over(self, seconds=0.0, size=0):
        """
        Lets a new file begin at whole multiples of `seconds` since 1970, UTC, and before a file has
        more than `size` bytes; 0: not so. Nothing is lost or written twice by it. To be called
        before the flowgraph starts.

        Raises
        ------
        ValueError
            A value is not allowed, or the name of the files has no {time} in it.
        """
        self._roll.set(seconds, size)

    def roll_over(self):
        """Lets a new file begin with what comes next: an integration, a frame, a sub-integration or
        a candidate."""
        self._roll.ask()

    def whole_files(self):
        """The paths of files that have ended, and do not change any more."""
        return list(self._ended_files())


class RecordingSink(RollingSink):
    """A RollingSink that may leave out what comes."""

    def set_recording(self, on):
        """Sets whether it records. Off: the files end, and what comes is left out and counted
        (`left_out()`) until it is on again, when new files begin."""
        self._roll.record(on)

    def left_out(self):
        """Integrations (or frames) that were not written, as set_recording() asked for."""
        return self._left_out


class WritersSink(RecordingSink):
    """A RecordingSink of several files at a time, each of which has a writer: self._writers are
    those of files that grow, self._ended those of files that are whole."""

    def _ended_files(self):
        return [name for writer in self._ended for name in writer.paths]

    def _finish(self):
        """Makes all files whole, also where one cannot be."""
        writers, self._writers = self._writers, []
        with contextlib.ExitStack() as stack:
            for writer in reversed(writers):
                stack.callback(self._finish_one, writer)

    def _finish_one(self, writer):
        self._ended.append(writer)
        writer.finish()
