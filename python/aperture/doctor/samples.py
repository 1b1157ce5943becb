#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The first samples of an input, in memory."""

from dataclasses import dataclass

import numpy as np
import pmt
from gnuradio import gr

from .. import tags
from ..streams.python_block import python_block
from ..streams.tag_values import missing_run

#: sample type -> type of a component, whether it is complex, and the largest value of it
TYPES = {"fc32": (np.float32, True, None), "sc16": (np.int16, True, 32767),
         "sc8": (np.int8, True, 127), "f32": (np.float32, False, None),
         "s16": (np.int16, False, 32767), "s8": (np.int8, False, 127)}


@dataclass(frozen=True)
class Samples:
    """
    What was read: parts, [sample][input][component] as they are; missing, bool [input][sample];
    error: why there are no more, or "".
    """
    parts: np.ndarray
    missing: np.ndarray
    error: str = ""

    @property
    def count(self):
        return len(self.parts)

    def of(self, number):
        """An input's samples that are there, [sample][component]."""
        return self.parts[~self.missing[number], number]

    def series(self, number, first=0, count=None):
        """An input's samples in a row, complex64 or float32, 0 where missing."""
        part = self.parts[first:None if count is None else first + count, number]
        values = np.ascontiguousarray(part, np.float32)
        return values.view(np.complex64)[:, 0] if part.shape[1] == 2 else values[:, 0]


class _Collector(python_block):
    """Keeps all bytes that come, and the tags `missing`."""

    def __init__(self, size):
        python_block.__init__(self, "collector", [(np.uint8, size)], None)
        self.pieces, self.missing = [], []

    def _work(self, input_items, output_items):
        items = input_items[0]
        self.pieces.append(items.copy())
        first = self.nitems_read(0)
        for tag in self.get_tags_in_range(0, first, first + len(items),
                                          pmt.intern(tags.missing)):
            self.missing.append(missing_run(tag.value))
        return len(items)


def read_samples(signals, count):
    """
    The first `count` samples of each input, or as many as there are.

    Parameters
    ----------
    signals : inputs.signals.Signals
        With all inputs in one port.
    count : int

    Raises
    ------
    RuntimeError
        Reading failed.
    """
    kind, is_complex, _ = TYPES[signals.sample_type]
    width = 2 if is_complex else 1
    collector = _Collector(np.dtype(kind).itemsize * width * signals.inputs)
    source = signals.source(count)
    flowgraph = gr.top_block("aperture_doctor")
    flowgraph.connect(source, collector)
    flowgraph.handle_sigint = False
    try:
        flowgraph.run()
    except KeyboardInterrupt:
        flowgraph.stop()
        raise
    error = getattr(source, "error", lambda: "")()
    if collector.error() or (error and not collector.pieces):
        raise RuntimeError(collector.error() or error)
    data = np.concatenate(collector.pieces) if collector.pieces else np.zeros((0, 0), np.uint8)
    parts = data.reshape(-1).view(kind).reshape(-1, signals.inputs, width)
    missing = np.zeros((signals.inputs, len(parts)), bool)
    for number, first, length in collector.missing:
        missing[number, first:first + length] = True
    return Samples(parts, missing, error)
