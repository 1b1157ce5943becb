#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""What aperture_fx tells its user: a progress bar and tables."""

import math
import shutil
import time

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def with_prefix(value, unit):
    """For example 16 Msample/s of 1.6e7 and "sample/s"; three to four digits."""
    for size, letter in PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.4g} {letter}{unit}"
    return f"{value:.3g} {unit}"


def seconds_text(seconds, digits=6):
    """A length of time with the unit that fits it."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.{digits}g} {unit}"
    return f"{seconds * 1e9:.{digits}g} ns"


class ProgressBar:
    """One line on a terminal that is written over and over; silent on anything else.

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
        self._stream.write("\r" + line.ljust(min(self._width, columns)))
        self._stream.flush()
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
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()


def device_text(*blocks):
    """Where blocks run, all on one device, and how; blocks: (what it is, block) of each."""
    _, block = blocks[0]
    what = block.device_description()
    return (block.device_name() + (f" ({what})" if what else "") + ": "
            + ", ".join(f"{name} {one.implementation()}" for name, one in blocks))


def table(rows):
    """Rows of texts, the first of each a name, as lines of aligned columns."""
    widths = [max(len(row[i]) for row in rows if i < len(row))
              for i in range(max(map(len, rows)))]
    return "\n".join("  " + "  ".join(cell.ljust(width)
                                      for cell, width in zip(row, widths)).rstrip()
                     for row in rows)
