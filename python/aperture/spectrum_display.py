#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that shows calibrated spectra over velocity while a flowgraph runs."""

import threading

import numpy as np
import pmt

from . import tags
from .arrays.array_description import load_array
from .displays.spectrum_view import SpectrumView
from .parameters.description import Anything, Integer, Number, Text
from .parameters.rules import as_number, names_of
from .spectrometry.switching import Spectrum
from .spectrometry.velocity import HYDROGEN
from .streams.python_block import python_block
from .streams.tag_values import dict_value, time_of
from .tracking.directions import parse_direction


class spectrum_display(python_block):
    """
    Shows the spectra of a spectrometer: in kelvin over velocity, with what is wrong.

    It has message ports only. In: `spectra` and `status`, to be connected with those of
    `spectrometer`. Out: `look`, a symbol (sky, hot or cold) when a button is pressed, for the port
    `look` of spectrometer, and of hydrogen_source where the dish is simulated. The widget is
    `qwidget()`; docs/displays.md says what it shows. Times and frequencies are those that the
    tags of the spectrometer's input say.

    Raises:
        ValueError, OSError: names the parameter, its value and what is allowed
    """

    def __init__(
        self,
        inputs: Integer("of the spectrometer", 1, 64) = 1,
        direction: Text(
            "where the antenna points, for velocities in the local standard of rest: l=30, b=0, "
            "az=180, el=45, a name, ...; empty: velocities are as observed",
            settable=True,
        ) = "",
        array: Text(
            "an ArrayDescription, or the file or shipped name of one: the place"
        ) = "one-dish",
        rest_frequency: Number(
            "Hz, of the line; 0: the axis is of frequency", 0, 1e12, unit="Hz"
        ) = HYDROGEN,
        averaging: Number(
            "seconds of the newest spectra of which the mean is drawn; 0: all",
            0,
            1e6,
            unit="s",
            settable=True,
        ) = 0.0,
        names: Anything("of the inputs, a list of str; by default numbers from 0") = None,
    ):
        self.names = names_of(names, int(inputs), "input")
        #: true if the axis is of velocity, false if it is of frequency
        self.line = rest_frequency > 0
        self._lock = threading.Lock()
        self._view = SpectrumView(
            self.names,
            averaging,
            float(rest_frequency),
            self._direction(direction),
            load_array(array),
        )
        self._new, self._shown, self._widget = False, None, None
        super().__init__("spectrum_display", None, None)
        for name, handler in (("spectra", self._take), ("status", self._hear)):
            self.message_port_register_in(pmt.intern(name))
            self.set_msg_handler(pmt.intern(name), handler)
        self._look = pmt.intern("look")
        self.message_port_register_out(self._look)

    @staticmethod
    def _direction(direction):
        if isinstance(direction, str) and not direction.strip():
            return None
        return parse_direction(direction)

    def set_direction(self, direction):
        """The antenna points elsewhere: the mean begins anew."""
        found = self._direction(direction)
        with self._lock:
            self._view.set_direction(found)
            self._new = True

    def set_averaging(self, averaging):
        """Sets seconds of the newest spectra of which the mean is drawn; 0: all."""
        value = as_number("averaging", averaging, 0, 1e6, "seconds")
        with self._lock:
            self._view.set_averaging(value)

    def start_anew(self):
        """Forgets what was averaged, and that samples were clipped, which comes again if they
        are."""
        with self._lock:
            self._view.forget()
            self._view.drop_fault("clipping")
            self._shown = None

    def look_at(self, target):
        """Tells others what the antenna looks at: sky, hot or cold."""
        with self._lock:
            self._view.forget()
        self.message_port_pub(self._look, pmt.intern(target))

    def _take(self, message):
        try:
            spectrum, mode = self._spectrum(message)
        except Exception as error:
            self.logger.error(f"spectra: this is no spectrum of a spectrometer: {error}")
            return
        with self._lock:
            self._view.add(spectrum, mode)
            self._new = True

    def _spectrum(self, message):
        inputs = pmt.to_long(dict_value(message, "inputs"))
        if inputs != len(self.names):
            raise ValueError(f"it has {inputs} inputs, and the display {len(self.names)}")
        vector = lambda key: np.array(pmt.f64vector_elements(dict_value(message, key)))
        number = lambda key: pmt.to_double(dict_value(message, key))
        return Spectrum(
            vector("kelvin").reshape(inputs, -1),
            vector("power").reshape(inputs, -1),
            vector("system"),
            sum(time_of(dict_value(message, tags.rx_time))),
            sum(time_of(dict_value(message, "end"))),
            number("seconds"),
            number(tags.rx_freq),
            number(tags.bandwidth),
            pmt.to_bool(dict_value(message, "measured")),
        ), pmt.symbol_to_string(dict_value(message, "mode"))

    def _hear(self, message):
        if not pmt.is_dict(message):
            return
        found = pmt.to_python(message)
        with self._lock:
            if found.get(tags.event) == "fault":
                self._view.add_fault(str(found.get("fault")), str(found.get("reason")))
            elif found.get(tags.event) == "measured":
                self._view.add_measured(
                    found.get("target"),
                    float(found.get("seconds", 0.0)),
                    found.get("y"),
                    found.get("receiver"),
                )

    def update(self):
        """
        Looks at what has come since the last call; of the thread that draws.

        Returns the newest displays.spectrum_view.ShownSpectrum or None, a text on the load that was
        measured last, and a list of texts on what is wrong.
        """
        with self._lock:
            if self._new:
                self._shown, self._new = self._view.picture(), False
            wrong = list(self._shown.wrong) if self._shown else []
            wrong += [text for text in self._view.faults if text not in wrong]
            return self._shown, self._view.measuring, wrong

    def qwidget(self):
        """
        The QWidget that shows the spectra, which is made at the first call and belongs to the
        block; there must be a QApplication, and the caller must be its thread.
        """
        if self._widget is None:
            from .displays.spectrum_widget import SpectrumWidget

            self._widget = SpectrumWidget(self)
        return self._widget
