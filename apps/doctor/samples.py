#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The first samples of an input, in memory."""

import math
import threading
from dataclasses import dataclass, field

import numpy as np
import pmt
from gnuradio import gr

from .. import tags
from ..parameters.sample_types import SAMPLE_TYPES
from ..streams.python_block import python_block, vector_of
from ..streams.tag_values import missing_run

PATIENCE = 3.0  # s longer than its samples last, that are waited for what comes from a network


@dataclass(frozen=True)
class Samples:
    """
    The samples that were read: parts, [sample][input][component] as they are; missing, bool
    [input][sample]; error: why there are no more, or ""; packets: of inputs that are packets, what
    became of them, as packet_source.counts(); frames: of files of frames, likewise, as
    vdif_source.counts().
    """

    parts: np.ndarray
    missing: np.ndarray
    error: str = ""
    packets: dict = field(default_factory=dict)
    frames: dict = field(default_factory=dict)

    @property
    def count(self):
        return len(self.parts)

    def of(self, number):
        """An input's samples that are there, [sample][component]."""
        return self.parts[~self.missing[number], number]

    def series(self, number, first=0, count=None):
        """An input's samples in a row, complex64 or float32, 0 where missing."""
        part = self.parts[first : None if count is None else first + count, number]
        values = np.ascontiguousarray(part, np.float32)
        return values.view(np.complex64)[:, 0] if part.shape[1] == 2 else values[:, 0]


class _Collector(python_block):
    """Keeps all bytes that come, of so many items at most, and the tags `missing`."""

    def __init__(self, size, count):
        python_block.__init__(self, "collector", [vector_of(np.uint8, size)], None)
        self._room, self._used = np.empty((count, size), np.uint8), 0
        self.missing = []

    @property
    def items(self):
        return self._room[: self._used]

    def _work(self, input_items, output_items):
        items = input_items[0]
        there = items[: len(self._room) - self._used].reshape(-1, self._room.shape[1])
        self._room[self._used : self._used + len(there)] = there
        self._used += len(there)
        first = self.nitems_read(0)
        for tag in self.get_tags_in_range(0, first, first + len(items), pmt.intern(tags.missing)):
            self.missing.append(missing_run(tag.value))
        return len(items)


def read_samples(signals, count):
    """
    The first `count` samples of each input, or as many as there are.

    Parameters
    ----------
    signals : inputs.signals.Signals
        Signals with all inputs in one port.
    count : int

    Raises
    ------
    RuntimeError
        Reading failed.
    """
    kind = SAMPLE_TYPES[signals.sample_type]
    collector = _Collector(kind.size * signals.inputs, count)
    source = signals.source(count)
    flowgraph = gr.top_block("aperture_doctor")
    flowgraph.connect(source, collector)
    flowgraph.handle_sigint = False
    # samples from a network may never come
    limit = threading.Timer(count / signals.sample_rate + PATIENCE, source.finish)
    if signals.endless:
        limit.start()
    try:
        flowgraph.run()
    except KeyboardInterrupt:
        flowgraph.stop()
        raise
    finally:
        limit.cancel()
    error = getattr(source, "error", lambda: "")()
    if collector.error() or (error and not len(collector.items)):
        raise RuntimeError(collector.error() or error)
    counts = getattr(source, "counts", dict)()
    if signals.endless and not len(collector.items):
        found = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
        raise RuntimeError(
            "no packets came that can be used" + (f": {found}" if found else ", nor any others")
        )
    components = math.prod(kind.shape)
    parts = collector.items.reshape(-1).view(kind.component)
    parts = parts.reshape(-1, signals.inputs, components)
    missing = np.zeros((signals.inputs, len(parts)), bool)
    for number, first, length in collector.missing:
        missing[number, first : first + length] = True
    return Samples(
        parts, missing, error, counts if signals.endless else {}, {} if signals.endless else counts
    )
