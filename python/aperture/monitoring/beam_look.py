#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Looks at the powers of beams, and makes them small enough to be sent."""

import numpy as np

from ..aperture_python import snapshot
from ..displays.band import Times, channels_of
from ..parameters.constructors import values_of
from ..streams.item_formats import item_format
from .beam_values import direction_text

#: integrations a second that are looked at, and bytes a second, at most
MOST_RATE, BYTES_A_SECOND = 2.0, 16e6
#: the most that is sent of one look
MOST_BEAMS, MOST_POINTS = 64, 256
#: blocks whose items are `[beam][product][channel]`
DETECTORS = ("beam_power", "power_detector")


class BeamLook:
    """
    Connects a snapshot behind a block that detects beams before the flowgraph starts; take() gives
    what came. A row of an item is a beam here: of `power`, one polarisation of a beam.

    top: the gr.top_block; block: beam_power, or power_detector; pointing: the block that points
    them, or None.
    """

    def __init__(self, top, name, block, pointing=None):
        about = values_of(block)
        size = block.output_signature().sizeof_stream_item(0)
        _, (self.beams, self._products, self.channels) = item_format(block, 0, size)
        self.name, self._kind = name, about["products"]
        #: the rows of beams that have weights
        self._pointed = (
            self.beams * about["beams"] // (about["beams"] + about.get("incoherent_beams", 0))
        )
        self._pointing = pointing
        self._look = snapshot(
            item_size=size,
            depth=2,
            device=about["device"],
            rate=max(0.02, min(MOST_RATE, BYTES_A_SECOND / size)),
        )
        top.connect((block, 0), self._look)
        self._serial, self._times = 0, Times()
        #: rows that are sent: evenly spread where there are many
        self.chosen = np.unique(
            np.linspace(0, self.beams - 1, min(self.beams, MOST_BEAMS)).round().astype(int)
        )
        #: channels of which the strongest is sent
        self._together = -(-self.channels // MOST_POINTS)

    def items(self):
        """Integrations since the start."""
        return self._look.items()

    def take(self):
        """
        The newest integration since the last call, as a message and its bytes, float32
        [beam][point]: in each point the power of the strongest of its channels. `powers` of the
        message are the means over the channels that have power. None without an integration.
        """
        items = self._look.read_after(self._serial)
        if not items:
            return None
        item = items[-1]
        self._serial = item.serial
        powers = item.data.view(np.float32).reshape(self.beams, self._products, self.channels)
        # Stokes I; XX + YY are I, too
        chosen = powers[self.chosen, 0]
        if self._kind == "coherency":
            chosen = chosen + powers[self.chosen, 1]
        channels = channels_of(item, self.channels)
        return {
            "kind": "powers",
            "block": self.name,
            "number": item.number,
            "time": self._times.of(item),
            "told": self._times.told,
            "interval": 1 / item.rate if item.rate else None,
            "beams": self.chosen.tolist(),
            "all": self.beams,
            "channels": self.channels,
            "together": self._together,
            "powers": mean_powers(chosen),
            # Hz, of the first channel, and from one to the next
            "first": None if channels is None else channels.first,
            "width": None if channels is None else channels.width,
            "directions": self._directions(),
        }, np.ascontiguousarray(
            np.fmax.reduceat(chosen, np.arange(0, self.channels, self._together), axis=1)
        )

    def _directions(self):
        """Texts for the rows that are sent, None of those that are not pointed by a block."""
        beams = [] if self._pointing is None else self._pointing.beams()
        each, rest = divmod(self._pointed, max(1, len(beams)))
        if not beams or rest:
            return [None] * len(self.chosen)
        return [
            direction_text(beams[row // each]) if row < self._pointed else None
            for row in self.chosen
        ]


def mean_powers(powers):
    """float32 [beam][channel] -> list [beam] of means over the channels that are above zero and
    finite: those that are flagged have no power. None where there is no such channel."""
    good = np.isfinite(powers) & (powers > 0)
    counts = good.sum(axis=1)
    sums = np.add.reduce(powers, axis=1, dtype=float, where=good)
    return [float(total / count) if count else None for total, count in zip(sums, counts)]
