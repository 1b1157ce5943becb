#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A live display of the fringes of an interferometer."""

import threading

import numpy as np
import pmt

from . import tags
from .arrays.array_description import load_array
from .display_block import display_block
from .displays.band import Times, channels_of
from .parameters.description import Anything, Integer, Text
from .parameters.rules import inputs_of, item_bytes, names_of, refuse
from .streams.tag_values import dict_value

#: baselines that are followed by default, at most
MOST_BASELINES = 6
#: integrations a second that are taken at most
MOST_RATE = 640.0
#: events of `status` of an input that is not lined up, and what is said where they do not
NOT_ALIGNED = {
    "not_aligned": "nobody knows by how much one is later",
    "doubted": "they no longer correlate, and are searched for",
}
#: the event of `status` of an input whose phase rotates, and is not followed
DRIFT = "clock_drift"


class fringe_display(display_block):
    """
    Shows coherence, phase, delay and a waterfall of the fringes of some baselines while they are
    measured.

    One port in, of the integrations [channel][product] of xengine, in fc32. No port out. What is
    shown is documented in docs/displays.md. The widget is `qwidget()`. Message port `status`, from
    stream_align, or from an F-engine with an input on each port: which inputs are not aligned, and
    why, which the window says of them.

    Tags: rx_time and rx_rate give the axis of time (UTC), rx_freq and bandwidth the frequencies;
    missing integrations are gaps.

    Raises:
        ValueError: names the parameter, its value and what is allowed
    """

    def __init__(
        self,
        channels: Integer("of an integration", 1, 2**24) = 1024,
        inputs: Integer("of the correlator", 2, 4096) = 2,
        names: Anything(
            "of the inputs, a list of str; by default those of `array`, or the inputs' "
            "numbers from 0"
        ) = None,
        array: Anything(
            "an ArrayDescription, the path of a YAML file or the name of a shipped "
            "description, for names; None: there is none"
        ) = None,
        baselines: Anything(
            "pairs of inputs, by number or name, whose curves are drawn, each first and "
            "second; by default the first ones of all pairs. Any other can be chosen in the "
            "window"
        ) = None,
        history: Integer("integrations that are drawn, 10 to 10000", 10, 10000) = 300,
        window: Integer(
            "of the newest integrations, of which coherence, delay and rate are taken", 1, 256
        ) = 16,
        device: Text("that of xengine: auto, cpu, cuda or cuda:N") = "auto",
    ):
        self._channels = int(channels)
        self._inputs = int(inputs)
        size = item_bytes("channels", 8, channels=channels, products=inputs * (inputs + 1) // 2)
        self.names = self._names(names, array)
        #: all pairs of inputs (first, second), as the window offers them
        self.pairs = [(b, a) for a in range(inputs) for b in range(a)]
        self.pairs.sort()
        chosen = self.pairs[:MOST_BASELINES] if not baselines else self._pairs(baselines)
        # not before one is made: it brings SciPy, which most flowgraphs do without
        from .displays.fringe_record import FringeRecord

        self._times = Times()
        #: a FringeRecord: what is drawn
        self.record = FringeRecord(self._inputs, chosen, int(history), int(window))
        super().__init__("fringe_display", size, MOST_RATE, device)
        self._lock, self._not_aligned, self._drifting = threading.Lock(), {}, {}
        self.take_status(self._take_status)

    def _names(self, names, array):
        if array and (names is None or len(names) == 0):
            array = load_array(array)
            inputs_of(array, self._inputs)
            several = len({entry.polarization for entry in array.inputs}) > 1
            names = [
                entry.antenna + (entry.polarization if several else "") for entry in array.inputs
            ]
        return names_of(names, self._inputs, "input")

    def _pairs(self, baselines):
        pairs = []
        for entry in baselines:
            pair = []
            try:
                for one in entry:
                    pair.append(self.names.index(one) if isinstance(one, str) else int(one))
            except (TypeError, ValueError):
                pair = []
            if (
                len(pair) != 2
                or pair[0] == pair[1]
                or not all(0 <= one < self._inputs for one in pair)
            ):
                refuse(
                    "baselines",
                    entry,
                    "a list of pairs of different inputs, by number from 0 "
                    f"to {self._inputs - 1} or by name: {', '.join(self.names[:12])}",
                )
            pairs.append(tuple(pair))
        return list(dict.fromkeys(pairs))

    def _take_status(self, event, message):
        keys = (tags.port, tags.reason, "aligned")
        port, reason, aligned = (dict_value(message, key) for key in keys)
        number = pmt.to_long(port) if pmt.is_integer(port) else None
        with self._lock:
            if event in NOT_ALIGNED and number is not None:
                self._not_aligned[number] = (
                    pmt.symbol_to_string(reason) if pmt.is_symbol(reason) else NOT_ALIGNED[event]
                )
            elif event == DRIFT and number is not None and pmt.is_symbol(reason):
                self._drifting[number] = pmt.symbol_to_string(reason)
            elif event in ("aligned", "first_stamp"):
                self._not_aligned.pop(number, None)
                self._drifting.pop(number, None)
            elif event == "state" and pmt.is_u64vector(aligned):
                for number, is_aligned in enumerate(pmt.u64vector_elements(aligned)):
                    if is_aligned:
                        self._not_aligned.pop(number, None)

    def not_aligned(self, pair):
        """Returns why one of two inputs is not lined up with the others, as the port `status` was
        told; empty if nothing was."""
        with self._lock:
            return next(
                (self._not_aligned[number] for number in pair if number in self._not_aligned), ""
            )

    def drifting(self, pair):
        """Returns what the port `status` was told of the clock of one of two inputs, whose phase
        rotates and is not followed; empty if nothing was."""
        with self._lock:
            return next((self._drifting[number] for number in pair if number in self._drifting), "")

    def update(self):
        """
        Takes the integrations that have come since the last call into the record; of the thread
        that draws.

        Returns whether there were any, or the text of what is wrong with the stream.
        """
        items = self.new_items()
        for item in items:
            channels = channels_of(item, self._channels)
            if channels is None:
                return (
                    "the visibilities do not say their bandwidth: the sources say no sample "
                    "rate (Receiver Tags behind each source says it, as does Sample Rate of FX "
                    "Correlator), or what is connected is not the output of an X-engine"
                )
            self.record.add(
                self._times.of(item),
                1 / item.rate if item.rate else None,
                channels,
                item.data.view(np.complex64).reshape(self._channels, -1),
            )
        return bool(items)

    @property
    def told_time(self):
        """True if times are those of the stream, and not of the host's clock."""
        return self._times.told

    def fringe(self, pair=None):
        """The displays.fringe_record.LiveFringe of a pair of inputs (first, second) that is
        followed, by default the first one; None without data."""
        return self.record.fringe(pair or self.record.baselines[0])

    def _make_widget(self):
        from .displays.fringe_widget import FringeWidget

        return FringeWidget(self)
