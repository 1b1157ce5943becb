#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The progress of a command: a bar on a terminal, a line from time to time in a log."""

import math
import shutil
import time

from .tables import with_prefix
from .terminal import show

LINE_PERIOD = 60  # s, between two lines in what is no terminal


def left_text(seconds):
    """The rest of a run, in words: 59 s left, 12 min left, 3 h 05 min left."""
    seconds = math.ceil(seconds)
    if seconds < 120:
        return f"{seconds} s left"
    minutes = -(-seconds // 60)
    if minutes < 120:
        return f"{minutes} min left"
    return f"{minutes // 60} h {minutes % 60:02} min left"


class ProgressBar:
    """One line on a terminal that is written over and over; on anything else a line a minute.
    Silent when the terminal is gone.

    stream: where to; total: samples of each input, None for an endless input;
    sample_rate: Hz, of each input.
    """

    def __init__(self, stream, total, sample_rate):
        self._stream = stream
        self._total = total
        self._sample_rate = sample_rate
        self._start = time.monotonic()
        self._width = 0
        self._next_line = self._start + LINE_PERIOD
        self.visible = stream.isatty()
        self._lines = not self.visible

    def show(self, samples, note="", losses=""):
        """
        Draws the state after `samples` of each input; `losses` is what was missing or clamped.
        """
        if self._lines and time.monotonic() >= self._next_line:
            self._next_line += LINE_PERIOD
            text = f"{samples / self._sample_rate:.1f} s of signal," + self._rate_text(samples)
            if not note:
                text += self._left(samples)
            self._lines = show(self._stream, text + (f", {losses}" if losses else "") + "\n")
        if not self.visible:
            return
        columns = shutil.get_terminal_size().columns - 1
        line = self._text(samples, ", ".join(filter(None, [note, losses])), columns)[:columns]
        self.visible = show(self._stream, "\r" + line.ljust(min(self._width, columns)))
        self._width = len(line)

    def _rate_text(self, samples):
        rate = samples / max(time.monotonic() - self._start, 1e-9)
        return f" {with_prefix(rate, 'sample/s')}, {rate / self._sample_rate:.3g} x real time"

    def _left(self, samples):
        """The rest, by the share that is done; empty where that is not known."""
        done = samples / self._total if self._total else 0
        if not 0 < done < 1:
            return ""
        return ", " + left_text((time.monotonic() - self._start) * (1 - done) / done)

    def _text(self, samples, note, columns):
        text = self._rate_text(samples)
        if note:
            text += f", {note}"
        if not self._total:
            return f"{samples / self._sample_rate:.1f} s of signal," + text
        done = min(1.0, samples / self._total)
        if not note:
            text += self._left(samples)
        cells = max(10, min(40, columns - len(text) - 8))
        full = int(done * cells)
        return "[" + "#" * full + "-" * (cells - full) + f"] {100 * done:3.0f} %" + text

    def clear(self):
        """Removes the line."""
        if self.visible and self._width:
            self.visible = show(self._stream, "\r" + " " * self._width + "\r")
