#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that shows the bandpasses and levels of all inputs while a flowgraph runs."""

import threading

import numpy as np
import pmt

from . import tags
from .arrays.array_description import load_array
from .display_block import display_block
from .displays.band import channels_of
from .displays.bandpass_view import BandpassView
from .parameters.description import Anything, Integer, Number, Text
from .parameters.rules import as_number, inputs_of, item_bytes, names_of
from .parameters.sample_types import SAMPLE_TYPES
from .streams.python_block import text_of
from .streams.tag_values import dict_value

#: bytes of a complex value
EDGES = ("visibilities", "frames")
#: items a second that are taken at most, and bytes
RATE, BYTES = 5.0, 128e6
COUNTS = ("spectra", "channels", "clamped", "clamped_samples", "missing")


class bandpass_display(display_block):
    """
    Shows the bandpasses of all inputs, and for each its level, and what is clamped and missing.

    One port in: integrations [channel][product] of xengine in fc32, or frames
    [channel][input][time] of f_engine or corner_turn. No port out. On fast edges five items a
    second are looked at. Message port `status`, from f_engine or pfb_channelizer: what they count;
    without it, clamped is how many values of a frame are at the limit of their type, and of
    visibilities it is not known. The widget is `qwidget()`; docs/displays.md says what it shows.

    Tags that are used: rx_freq and bandwidth, for the sky frequency; counted and spectra, for what
    is missing in visibilities.

    Raises:
        ValueError: names the parameter, its value and what is allowed
    """

    def __init__(
        self,
        channels: Integer("of an item", 1, 2**24) = 1024,
        inputs: Integer("of an item", 1, 4096) = 2,
        edge: Text("visibilities or frames", *EDGES) = "visibilities",
        type: Text(
            "of the voltages: sc8 or sc4, whose level is in steps, or fc32; the visibilities "
            "are taken as those of such voltages, divided by what was counted, as xengine "
            "does by default",
            "fc32",
            "sc8",
            "sc4",
        ) = "fc32",
        spectra_per_frame: Integer("of frames", 1, 2**24) = 256,
        array: Text(
            "an ArrayDescription, the path of a YAML file or the name of a shipped "
            'description, for names; "" or None: names are numbers from 0'
        ) = "",
        names: Anything("of the inputs, a list of str, instead of those of the array") = None,
        averaging: Number(
            "seconds; 0: the newest item only", 0, 3600, unit="s", settable=True
        ) = 1.0,
        dynamic_range: Number(
            "dB between the upper and the lower edge of the plots; 0: as the curves need",
            0,
            200,
            unit="dB",
            settable=True,
        ) = 0.0,
        device: Text("that of the block before it: auto, cpu, cuda or cuda:N") = "auto",
        title: Text("of the window") = "",
    ):
        self._channels = int(channels)
        self._inputs = int(inputs)
        self._spectra = int(spectra_per_frame)
        self._frames = edge == "frames"
        each = SAMPLE_TYPES[type].size
        size = (
            item_bytes("channels", each, channels=channels, inputs=inputs, spectra=self._spectra)
            if self._frames
            else item_bytes("channels", 8, channels=channels, products=inputs * (inputs + 1) // 2)
        )
        #: names of the inputs
        self.names = self._names(names, array)
        self._lock = threading.Lock()
        self._text, self._shown = "", None
        self._averaging = float(averaging)
        self.set_dynamic_range(dynamic_range)
        self._view = BandpassView(self.names, self._channels, type, self._averaging)
        self._title = str(title) or (
            "bandpasses of the visibilities"
            if not self._frames
            else f"bandpasses of the voltages ({type})"
        )
        super().__init__("bandpass_display", size, min(RATE, max(BYTES / size, 0.5)), device, 1)
        self.take_status(self._take_counts)

    def _names(self, names, array):
        if array and (names is None or len(names) == 0):
            array = load_array(array)
            inputs_of(array, self._inputs)
            names = array.input_names
        return names_of(names, self._inputs, "input")

    def set_averaging(self, averaging):
        """Sets seconds; 0: the newest item only."""
        self._view.set_averaging(as_number("averaging", averaging, 0, 3600, "seconds"))

    def set_dynamic_range(self, dynamic_range):
        """Sets dB between the upper and the lower edge of the plots; 0: as much as the curves
        need."""
        self._dynamic_range = as_number("dynamic_range", dynamic_range, 0, 200, "dB")

    def _take_counts(self, event, message):
        if event != "counts":
            return
        values = [dict_value(message, key) for key in COUNTS]
        try:
            counts = [
                pmt.u64vector_elements(value)
                if pmt.is_u64vector(value)
                else int(pmt.to_python(value))
                for value in values
            ]
        except (TypeError, ValueError, RuntimeError):
            return
        with self._lock:
            try:
                self._view.add_counts(dict(zip(COUNTS, counts)))
            except ValueError as error:
                self._text = text_of(error)

    def update(self):
        """
        Looks at what has come since the last call; of the thread that draws.

        Returns the newest displays.bandpass_view.Bandpasses, or None before anything has come, and
        a text where something is wrong.
        """
        items = self.new_items()
        with self._lock:
            for item in items:
                self._add(item)
            if items:
                self._shown = self._view.picture(self._dynamic_range)
            return self._shown, self._text

    def _add(self, item):
        channels = channels_of(item, self._channels)
        frequencies = None if channels is None or item.frequency is None else channels.frequencies()
        if self._frames:
            self._view.add_frame(item.data, self._spectra, frequencies)
            return
        counted, spectra = item.tags.get(tags.counted), item.tags.get(tags.spectra)
        self._view.add_visibilities(
            item.data.view(np.complex64).reshape(self._channels, -1),
            None if counted is None else np.array(pmt.u64vector_elements(counted), float),
            None if spectra is None else pmt.to_uint64(spectra),
            frequencies,
        )

    def _make_widget(self):
        from .displays.bandpass_widget import BandpassPanel

        return BandpassPanel(self.update, self._title)
