#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The blocks of one flowgraph that monitoring is connected to, before it starts."""

import time
from collections import deque

import pmt
from gnuradio import gr

from ..streams.python_block import keep_while_connected
from .beam_look import DETECTORS, BeamLook
from .controls import controls_of
from .visibility_look import VisibilityLook

#: messages of all blocks that wait to be read
MOST_WAITING = 4096
#: message ports that are listened to
LISTENED = ("status", "candidates")
#: hierarchical blocks do not tell their ports
HIERARCHICAL = {"fx_correlator": ("status",), "voltage_ring": ("status",)}
CORRELATORS = ("xengine", "fx_correlator")


class _Listener(gr.basic_block):
    """Puts messages as they are into a list that many share; the work is done elsewhere."""

    def __init__(self, name, port, waiting):
        gr.basic_block.__init__(self, "monitoring", in_sig=None, out_sig=None)
        self._about, self._waiting = (name, port), waiting
        self.message_port_register_in(pmt.intern(port))
        self.set_msg_handler(pmt.intern(port), self._take)

    def _take(self, message):
        self._waiting.append((*self._about, time.time(), message))

    def to_basic_block(self):
        keep_while_connected(self)
        return super().to_basic_block()


class Attachment:
    """
    Listeners, looks and controls of one flowgraph.

    top: a gr.top_block that has not started; blocks: name -> block.
    """

    def __init__(self, top, blocks):
        self.top, self.blocks = top, dict(blocks)
        self._waiting = deque(maxlen=MOST_WAITING)
        self.listeners = []
        for name, block in self.blocks.items():
            for port in LISTENED:
                if port in _ports_of(block):
                    listener = _Listener(name, port, self._waiting)
                    top.msg_connect(block, port, listener, port)
                    self.listeners.append(listener)
        beams = self._first("pointing")
        self.controls = {
            name: found
            for name, block in self.blocks.items()
            if (found := controls_of(block, beams))
        }
        self.looks = [
            VisibilityLook(top, name, block)
            for name, block in self.blocks.items()
            if type(block).__name__ in CORRELATORS
        ][:1]
        self.looks += [
            BeamLook(top, name, block, self._first("pointing"))
            for name, block in self.blocks.items()
            if type(block).__name__ in DETECTORS
        ][:1]
        self._edges = None

    def _first(self, kind):
        """The first block of a type, or None."""
        return next((block for block in self.blocks.values() if type(block).__name__ == kind), None)

    def control(self, block, port):
        """The Control of these names; ValueError: there is none."""
        found = self.controls.get(block, {}).get(port)
        if found is None:
            raise ValueError("there is no such control")
        return found

    def messages(self):
        """(block, port, time, message) of what was sent since the last call."""
        while True:
            try:
                yield self._waiting.popleft()
            except IndexError:
                return

    def counts(self):
        """{block: {items_in, items_out, waiting}} of blocks with streams; of a flowgraph that
        runs."""
        found = {}
        for name, block in self.blocks.items():
            one = {}
            for key, function in (("items_in", "nitems_read"), ("items_out", "nitems_written")):
                try:
                    one[key] = int(getattr(block, function)(0))
                except Exception:  # no such port, or a hierarchical block
                    continue
            found[name] = one
        return found

    def correlates(self):
        """Returns whether visibilities are looked at."""
        return any(isinstance(look, VisibilityLook) for look in self.looks)

    def tracked(self):
        """Returns what delays follow, as a dictionary of directions; None without a
        delay_tracker."""
        block = self._first("delay_tracker")
        return (
            None
            if block is None
            else {key: value for key, value in vars(block.direction()).items() if value is not None}
        )

    def edges(self):
        """[(name of the writer, name of the reader, items that wait between)] of the blocks with
        names, of a flowgraph that runs."""
        if self._edges is None:
            names = {}
            for name, block in self.blocks.items():
                if not isinstance(block, (gr.hier_block2,)):
                    names[block.symbol_name()] = name
            self._edges = []
            for line in self.top.edge_list().splitlines():
                ends = [end.rpartition(":") for end in line.split("->")]
                if len(ends) == 2 and all(end[0] in names for end in ends):
                    self._edges.append(tuple((names[end[0]], int(end[2])) for end in ends))
        found = []
        for (writer, out), (reader, into) in self._edges:
            try:
                waiting = self.blocks[writer].nitems_written(out) - self.blocks[reader].nitems_read(
                    into
                )
            except Exception:  # the process has just ended
                continue
            found.append((writer, reader, max(0, int(waiting))))
        return found


def _ports_of(block):
    kind = type(block).__name__
    if kind in HIERARCHICAL:
        return HIERARCHICAL[kind]
    try:
        return list(map(str, pmt.to_python(block.message_ports_out())))
    except Exception:  # a block that has none
        return []
