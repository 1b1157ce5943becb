#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A live display of powers over frequency and time."""

from .display_block import display_block
from .displays.band import Times, channels_of
from .displays.waterfall_record import WaterfallRecord, occupancy, powers
from .parameters.description import Anything, Integer, Text
from .parameters.rules import item_bytes, names_of
from .parameters.sample_types import SAMPLE_TYPES

#: items a second that are taken at most, of which those that come together make a line
MOST_RATE = 320.0
MOST_TOGETHER = 32


class waterfall_display(display_block):
    """
    Shows the powers of the channels of any edge over time: spectra of the channeliser, of a
    beamformer's detector, or any other vectors. For masks it shows how much is flagged.

    One port in, of items [row][channel]: one spectrum, or several as those of the inputs of a port
    or the [beam][product] of power_detector. No port out. On fast edges some items are taken, and
    those that come together are averaged. The widget is `qwidget()`; docs/displays.md says what it
    shows.

    Tags: rx_time and rx_rate give the axis of time (UTC), rx_freq and bandwidth the frequencies.
    Without them, times are those of this computer's clock, and channels have numbers.

    Raises:
        ValueError: names the parameter, its value and what is allowed
    """

    def __init__(
        self,
        channels: Integer("of a spectrum", 1, 2**24) = 1024,
        rows: Integer("spectra in an item; of masks their inputs", 1, 65536) = 1,
        type: Text(
            "f32 (values that are powers), fc32 or sc8 (the squares of whose magnitudes are), "
            "or mask: items [channel][input][byte] of flagger, as percent of the slices",
            "fc32",
            "sc8",
            "f32",
            "mask",
        ) = "fc32",
        names: Anything("of the rows, a list of str; by default their numbers from 0") = None,
        scale: Text(
            "dB or linear; Stokes Q, U and V can be below 0, which has no dB", "dB", "linear"
        ) = "dB",
        unit: Text(
            'of the power: the axis says "dB of it", or the unit itself if the scale is '
            "linear; by default none"
        ) = "",
        history: Integer("lines that are drawn, 10 to 10000", 10, 10000) = 200,
        device: Text("that of the block before it: auto, cpu, cuda or cuda:N") = "auto",
        slices: Integer(
            "in a mask, spectra_per_frame / spectra_per_slice of the flagger", 1, 1048576
        ) = 1,
    ):
        self._channels = int(channels)
        self._rows = int(rows)
        self._slices = int(slices)
        self._type = type
        if type == "mask":
            scale, unit = "linear", "%"
        element = (slices + 7) // 8 if type == "mask" else SAMPLE_TYPES[type].size
        size = item_bytes("channels", element, channels=channels, rows=rows)
        #: the quantity that is shown
        self.quantity = "flagged" if type == "mask" else "power"
        self.names, self.scale, self.unit = names_of(names, rows, "row"), scale, str(unit)
        self._times = Times()
        self._before = None  # number and time of the newest item
        #: a WaterfallRecord: what is drawn
        self.record = WaterfallRecord(self._rows, self._channels, int(history))
        super().__init__("waterfall_display", size, MOST_RATE, device, MOST_TOGETHER)

    def update(self):
        """
        Takes what has come since the last call into the record, as one line if items come faster
        than they are drawn; of the thread that draws.

        Returns whether anything has come.
        """
        items = self.new_items()
        if not items:
            return False
        slow = [item.rate for item in items if item.rate is not None and item.rate < 20]
        groups = [[item] for item in items] if len(slow) == len(items) else [items]
        for group in groups:
            channels = channels_of(group[-1], self._channels)
            sums = sum(self._values(item.data) for item in group)
            times = [self._times.of(item) for item in (group[0], group[-1])]
            rate = group[-1].rate
            self.record.add(
                sum(times) / 2,
                1 / rate if rate and len(slow) == len(items) else None,
                channels,
                sums / len(group),
                self._follows(group),
            )
        return True

    def _values(self, data):
        if self._type == "mask":
            return occupancy(data, self._slices, self._rows, self._channels)
        return powers(data, self._type, self._rows, self._channels)

    def _follows(self, group):
        """Returns whether the stream's time runs at its rate from the items before to these."""
        before, self._before = self._before, (group[-1].number, self._times.of(group[-1]))
        if before is None or group[0].rate is None:
            return True
        expected = (group[0].number - before[0]) / group[0].rate
        return abs(self._times.of(group[0]) - before[1] - expected) < 0.05

    @property
    def told_time(self):
        """True if times are those of the stream, and not of the host's clock."""
        return self._times.told

    def _make_widget(self):
        from .displays.waterfall_widget import WaterfallWidget

        return WaterfallWidget(self)
