#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The base of blocks that show a stream in a window."""

import pmt
from gnuradio import gr

from . import tags
from .aperture_python import snapshot
from .streams.tag_values import dict_value

#: bytes of items on the host that a display keeps at most until they are drawn
MOST_BYTES = 64 << 20
#: items that a display reads at once, at most
MOST_ITEMS = 64


class _status_reader(gr.basic_block):
    """Takes messages of a port `status`."""

    def __init__(self, take):
        gr.basic_block.__init__(self, "status", in_sig=None, out_sig=None)
        self._take = take
        self.message_port_register_in(pmt.intern("status"))
        self.set_msg_handler(pmt.intern("status"), self._read)

    def _read(self, message):
        event = dict_value(message, tags.event) if pmt.is_dict(message) else pmt.PMT_NIL
        if pmt.is_symbol(event):
            self._take(pmt.symbol_to_string(event), message)


class display_block(gr.hier_block2):
    """
    Takes items out of an edge, on the host or a device, and shows them in a widget of Qt's.

    The stream is never held up: what the display has no time for is left out. A flowgraph runs
    with it also where its widget is never made.

    Subclasses have _make_widget(), which returns it.
    """

    def __init__(self, name, item_size, rate, device, depth=MOST_ITEMS):
        gr.hier_block2.__init__(
            self, name, gr.io_signature(1, 1, item_size), gr.io_signature(0, 0, 0)
        )
        self._snapshot = snapshot(
            item_size=item_size,
            rate=rate,
            depth=max(1, min(depth, MOST_BYTES // item_size)),
            device=device,
        )
        self._serial, self._widget = 0, None
        self.connect(self, self._snapshot)

    def take_status(self, take):
        """Registers the port `status`: take(event, message) is called with each of its messages,
        by a thread of GNU Radio's."""
        self.message_port_register_hier_in("status")
        self._status = _status_reader(take)
        self.msg_connect(self, "status", self._status, "status")

    def new_items(self):
        """The items that were taken since the last call, oldest first."""
        items = self._snapshot.read_after(self._serial)
        if items:
            self._serial = items[-1].serial
        return items

    def nitems_read(self, port=0):
        """Returns how many items have come since the start, as blocks do that have none inside."""
        return self._snapshot.items()

    def qwidget(self):
        """
        The QWidget that shows the stream, which is made at the first call and belongs to the block;
        there must be a QApplication, and the caller must be its thread.
        """
        if self._widget is None:
            self._widget = self._make_widget()
        return self._widget

    def _make_widget(self):
        raise NotImplementedError
