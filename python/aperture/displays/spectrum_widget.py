#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The window of spectrum_display."""

import numpy as np
from PyQt5 import QtWidgets

from . import look

SIZE = (900, 600)
TARGETS = (("sky", "the sky"), ("hot", "hot load"), ("cold", "cold load"))


class SpectrumWidget(look.Panel):
    """Draws what a display with `names`, `line`, `update()`, `look_at(target)` and `start_anew()`
    has: see spectrum_display."""

    def __init__(self, display):
        super().__init__(SIZE)
        self._display, self._shown = display, None
        self._make_choices()
        self.wrong = look.note("")
        self.wrong.setWordWrap(True)
        self.wrong.setStyleSheet(
            f"color: {look.COLOURS[1]}; background: {look.PAPER}; padding: 2px 4px;"
        )
        self.wrong.hide()
        self.layout().insertWidget(1, self.wrong)
        self.spectrum = look.plot(
            "calibrated spectrum", self._axis(False), ("antenna temperature", "K")
        )
        self.band = look.plot("newest power", ("frequency", "MHz"), ("power", "dB"))
        self.system = look.plot("system temperature", ("", ""), ("T_sys", "K"), utc="bottom")
        self.grid.addWidget(self.spectrum, 0, 0, 1, 2)
        self.grid.addWidget(self.band, 1, 0)
        self.grid.addWidget(self.system, 1, 1)
        self.grid.setRowStretch(0, 3)
        self.grid.setRowStretch(1, 2)
        if len(display.names) > 1:
            look.legend(self.spectrum)
        self._curves = []
        for number, name in enumerate(display.names):
            pen = look.pen(number)
            self._curves.append(
                (
                    self.spectrum.plot(name=name, pen=pen, connect="finite"),
                    self.spectrum.plot(pen=look.pen(number, dashed=True), connect="finite"),
                    self.band.plot(pen=pen, connect="finite"),
                    self.system.plot(pen=pen, connect="finite"),
                )
            )
        self.headline.setText("no spectra yet")
        self._ticker = look.Ticker(self._tick, self.headline.setText, self)

    def _axis(self, corrected):
        if not self._display.line:
            return ("frequency", "MHz")
        return ("velocity, LSR" if corrected else "velocity as observed", "km/s")

    def _make_choices(self):
        label = QtWidgets.QLabel("the antenna looks at")
        label.setFont(look.font(look.LABEL_POINTS))
        self.choices.addWidget(label)
        self._buttons = {}
        for target, text in TARGETS:
            button = QtWidgets.QPushButton(text)
            button.setCheckable(True)
            button.setAutoExclusive(True)
            button.setChecked(target == "sky")
            button.clicked.connect(lambda _, target=target: self._look_at(target))
            self._buttons[target] = button
            self.choices.addWidget(button)
        anew = QtWidgets.QPushButton("start anew")
        anew.clicked.connect(lambda _: self._display.start_anew())
        self.choices.addSpacing(12)
        self.choices.addWidget(anew)
        for button in (*self._buttons.values(), anew):
            button.setFont(look.font(look.LABEL_POINTS))
        self._load = look.note("")
        self.choices.addWidget(self._load, 1)

    def _look_at(self, target):
        self._display.look_at(target)
        if target != "sky":
            self.headline.setText(f"measuring the {target} load ...")

    def text(self):
        """Returns what the headline says."""
        return self.headline.text()

    def _tick(self):
        shown, load, wrong = self._display.update()
        self._load.setText(load)
        self._warn("\n".join(wrong))
        if shown is not None and shown is not self._shown:
            self._shown = shown
            self._draw(shown)

    def _warn(self, text):
        if text != self.wrong.text():
            self.wrong.setText(text)
            # without this the layout would give plots the heights that they have by themselves; a
            # new text sets it again
            policy = self.wrong.sizePolicy()
            policy.setHeightForWidth(False)
            self.wrong.setSizePolicy(policy)
            self.wrong.setToolTip(text)
        self.wrong.setVisible(bool(text))
        if text:
            self.wrong.setFixedHeight(self.wrong.heightForWidth(max(self.width() - 8, 200)))

    def _draw(self, shown):
        self.headline.setText(shown.words)
        self.headline.setToolTip(shown.words)
        look.set_label(self.spectrum.getPlotItem(), "bottom", *self._axis(shown.corrected))
        for number, (spectrum, baseline, band, system) in enumerate(self._curves):
            seen = np.isfinite(shown.kelvin[number]).any()
            spectrum.setData(*((shown.places, shown.kelvin[number]) if seen else ([], [])))
            baseline.setData(*((shown.places, shown.baseline[number]) if seen else ([], [])))
            band.setData(shown.frequencies / 1e6, shown.power[number])
            system.setData(shown.times, shown.system[:, number])
        drawn = shown.places[np.isfinite(shown.kelvin).any(axis=0)]
        if len(drawn):
            self.spectrum.setXRange(drawn.min(), drawn.max(), padding=0.01)
        self.system.getPlotItem().getAxis("bottom").set_date(shown.times[-1])
        # without this a temperature that is constant to 1e-3 would fill its plot with noise
        middle = float(np.nanmedian(shown.system))
        spread = max(float(np.nanmax(np.abs(shown.system - middle))), 0.02 * abs(middle), 1e-3)
        self.system.setYRange(middle - 1.1 * spread, middle + 1.1 * spread, padding=0)
