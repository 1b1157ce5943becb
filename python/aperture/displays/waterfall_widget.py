#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The window of waterfall_display."""

import numpy as np
from PyQt5 import QtWidgets

from ..plots.style import decibels, minus_signs
from . import look
from .waterfall_record import levels_of

SIZE = (900, 560)
MOST_COLUMNS = 1024  # more than a window has pixels


class WaterfallWidget(look.Panel):
    """Draws what a display with `record`, `names`, `scale`, `unit`, `quantity` and `update()` has:
    see waterfall_display."""

    def __init__(self, display):
        super().__init__(SIZE)
        self._display, self._record = display, display.record
        if display.scale == "dB":
            unit = f"dB of {display.unit}" if display.unit else "dB"
        else:
            unit = display.unit
        self._row = QtWidgets.QComboBox()
        if len(display.names) > 1:
            label = QtWidgets.QLabel("spectrum of")
            for part in (label, self._row):
                part.setFont(look.font(look.LABEL_POINTS))
                self.choices.addWidget(part)
            self.choices.addStretch(1)
        self._row.addItems(display.names)
        self._row.currentIndexChanged.connect(lambda _: self._draw())
        values = (display.quantity, unit)
        self.spectrum = look.plot("newest spectrum", ("", ""), values)
        self.waterfall = look.Picture(
            f"{display.quantity} over time", ("", ""), ("", ""), utc="left", values=values
        )
        self._curve = self.spectrum.plot(pen=look.pen(0), connect="finite")
        self.grid.addWidget(self.spectrum, 0, 0)
        self.grid.addWidget(self.waterfall.widget, 1, 0)
        self.grid.setRowStretch(0, 2)
        self.grid.setRowStretch(1, 3)
        for plot in (self.spectrum, self.waterfall.widget):
            # one below the other: the same frequencies at the same places
            plot.getPlotItem().getAxis("left").setWidth(98)
        # the width of the bar of colours
        self.spectrum.getPlotItem().setContentsMargins(0, 0, 88, 0)
        self._unit = unit
        self.headline.setText("no spectra yet")
        self._ticker = look.Ticker(self._tick, self.headline.setText, self)

    def _tick(self):
        if self._display.update() and self.isVisible():
            self._draw()

    def showEvent(self, event):
        """Qt's: draws what came while it was hidden."""
        super().showEvent(event)
        self._draw()

    def closeEvent(self, event):
        """Qt's: a closed window draws no more."""
        self._ticker.stop()
        super().closeEvent(event)

    def text(self):
        """Returns what the headline says."""
        return self.headline.text()

    def _scaled(self, power):
        return decibels(power) if self._display.scale == "dB" else power

    def _draw(self):
        if self._record.newest_time is None:
            return
        row = self._row.currentIndex()
        channels = self._record.channels
        newest = self._record.spectrum(row)
        count = len(newest)
        if channels is None:
            first, width, axis = 0.0, 1.0, ("channel", "")
        elif channels.middle == 0 or abs(channels.first) < channels.width * count:
            first, width, axis = channels.first / 1e3, channels.width / 1e3, ("frequency", "kHz")
        else:
            first, width, axis = channels.first / 1e6, channels.width / 1e6, ("frequency", "MHz")
        for plot in (self.spectrum, self.waterfall.widget):
            look.set_label(plot.getPlotItem(), "bottom", *axis)
        places = first + width * np.arange(count)
        self._curve.setData(places, self._scaled(newest))
        self._say(newest, places, axis[1])
        values, begin, step = self._record.picture(row)
        together = -(-count // MOST_COLUMNS)
        kept = count // together * together
        values = self._scaled(values[:, :kept].reshape(len(values), -1, together).mean(axis=-1))
        self.waterfall.set_levels(*levels_of(values))
        self.waterfall.show(values, first - width / 2, begin, kept * width, len(values) * step)
        self.waterfall.item.getAxis("left").set_date(begin + len(values) * step)
        self.spectrum.setXRange(first - width / 2, first - width / 2 + kept * width, padding=0)

    def _say(self, newest, places, unit):
        finite = newest[np.isfinite(newest)]
        name = self._display.names[self._row.currentIndex()]
        text = f"{name}: " if len(self._display.names) > 1 else ""
        if not finite.size:
            self.headline.setText(text + "no power")
            return
        highest = int(np.nanargmax(newest))
        mean, top = (self._scaled(value) for value in (finite.mean(), newest[highest]))
        where = f"{places[highest]:.7g} {unit}" if unit else f"channel {highest}"
        text += minus_signs(
            f"mean {mean:.1f} {self._unit}".rstrip()
            + f", highest {top:.1f} {self._unit}".rstrip()
            + f" at {where}"
        )
        if not self._display.told_time:
            text += " (times by this computer's clock)"
        self.headline.setText(text)
