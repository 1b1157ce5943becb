#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Looks at the integrations of a correlator, and makes them small enough to be sent."""

import numpy as np
import pmt

from .. import tags
from ..aperture_python import snapshot
from ..displays.band import Times, channels_of
from ..parameters.constructors import values_of

#: integrations a second that are looked at, and bytes a second, at most
MOST_RATE, BYTES_A_SECOND = 2.0, 32e6
#: the most that is sent of one look
MOST_INPUTS, MOST_CHANNELS, MOST_BYTES = 64, 512, 4 << 20


class VisibilityLook:
    """
    Connects a snapshot behind an X-engine before the flowgraph starts; take() gives what came.

    top: the gr.top_block; block: xengine, or fx_correlator.
    """

    def __init__(self, top, name, block):
        inner = getattr(block, "xengine", block)
        about = values_of(inner)
        self.name = name
        self.channels, self.inputs = int(about["channels"]), int(about["inputs"])
        #: type of the voltages, whose levels are judged by it
        self.type = about["type"]
        self._products = self.inputs * (self.inputs + 1) // 2
        size = self.channels * self._products * 8
        self._look = snapshot(
            item_size=size,
            depth=2,
            device=about["device"],
            rate=max(0.02, min(MOST_RATE, BYTES_A_SECOND / size)),
        )
        top.connect(block, self._look)
        self._serial, self._times = 0, Times()
        #: numbers of the inputs of which products are sent: evenly spread where there are many
        self.chosen = np.unique(
            np.linspace(0, self.inputs - 1, min(self.inputs, MOST_INPUTS)).round().astype(int)
        )
        rows, columns = np.tril_indices(len(self.chosen))
        first, second = self.chosen[rows], self.chosen[columns]
        self._taken = first * (first + 1) // 2 + second
        most = max(1, min(MOST_CHANNELS, MOST_BYTES // (8 * len(self._taken))))
        #: channels that are averaged to one
        self._together = -(-self.channels // most)

    def items(self):
        """Integrations since the start."""
        return self._look.items()

    def take(self):
        """The newest integration since the last call, as a message and its bytes, complex64
        [channel][product]; None without one."""
        items = self._look.read_after(self._serial)
        if not items:
            return None
        item = items[-1]
        self._serial = items[-1].serial
        values = item.data.view(np.complex64).reshape(self.channels, self._products)
        if len(self._taken) < self._products:
            values = values[:, self._taken]
        counts = np.full(-(-self.channels // self._together), self._together)
        counts[-1] = self.channels - self._together * (len(counts) - 1)
        if self._together > 1:
            values = np.add.reduceat(values, np.arange(0, self.channels, self._together), axis=0)
            values /= counts[:, np.newaxis].astype(np.float32)
        channels = channels_of(item, self.channels)
        counted, spectra = item.tags.get(tags.counted), item.tags.get(tags.spectra)
        if counted is not None:
            counted = np.array(pmt.u64vector_elements(counted), float)
            counted = counted[self._taken] if len(counted) > 1 else counted
        return {
            "kind": "visibilities",
            "block": self.name,
            "number": item.number,
            "time": self._times.of(item),
            "told": self._times.told,
            "type": self.type,
            "interval": 1 / item.rate if item.rate else None,
            "inputs": self.chosen.tolist(),
            "channels": len(counts),
            # Hz, of the middle of the first channel that is sent, and from one to the next
            "first": None
            if channels is None
            else channels.first + channels.width * (self._together - 1) / 2,
            "width": None if channels is None else channels.width * self._together,
            "counted": None if counted is None else counted.tolist(),
            "spectra": None if spectra is None else pmt.to_uint64(spectra),
        }, np.ascontiguousarray(values, np.complex64)
