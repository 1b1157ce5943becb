#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The progress bar of the commands."""


import math
import shutil
import time

from .tables import with_prefix
from .terminal import show


class ProgressBar:
    """One line on a terminal that is written over and over; silent on anything else, and when the
    terminal is gone.

    stream: where to; total: samples of each input, None for an endless input;
    sample_rate: Hz, of each input.
    """

    def __init__(self, stream, total, sample_rate):
        self._stream = stream
        self._total = total
        self._sample_rate = sample_rate
        self._start = time.monotonic()
        self._width = 0
        self.visible = stream.isatty()

    def show(self, samples, note=""):
        """Draws the state after `samples` of each input."""
        if not self.visible:
            return
        columns = shutil.get_terminal_size().columns - 1
        line = self._text(samples, note, columns)[:columns]
        self.visible = show(self._stream, "\r" + line.ljust(min(self._width, columns)))
        self._width = len(line)

    def _text(self, samples, note, columns):
        elapsed = max(time.monotonic() - self._start, 1e-9)
        rate = samples / elapsed
        text = f" {with_prefix(rate, 'sample/s')}, {rate / self._sample_rate:.3g} x real time"
        if note:
            text += f", {note}"
        if not self._total:
            return f"{samples / self._sample_rate:.1f} s of signal," + text
        done = min(1.0, samples / self._total)
        if not note and 0 < done < 1:
            text += f", {math.ceil(elapsed * (1 - done) / done)} s left"
        cells = max(10, min(40, columns - len(text) - 8))
        full = int(done * cells)
        return "[" + "#" * full + "-" * (cells - full) + f"] {100 * done:3.0f} %" + text

    def clear(self):
        """Removes the line."""
        if self.visible and self._width:
            self.visible = show(self._stream, "\r" + " " * self._width + "\r")
