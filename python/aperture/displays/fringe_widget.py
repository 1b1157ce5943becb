#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The window of fringe_display."""

import numpy as np
import pyqtgraph
from PyQt5 import QtWidgets

from ..plots.style import delay_text, delay_unit
from ..visibilities.lags import finer_lags
from . import look
from .fringe_record import MOST_DECIMALS, fringe_text, live_delay

SIZE = (1040, 580)
#: columns of the waterfall at most: more than a window has pixels
MOST_COLUMNS = 1024
LEAST_DEGREES = 40.0  # the smallest range of the axis of phases
PHASE, COHERENCE = "phase", "coherence"


class FringeWidget(look.Panel):
    """
    Draws what a display with `record`, `names`, `pairs` and `update()` has: see fringe_display.

    The baseline that is chosen is the one of the headline, of the lag spectrum's mark and of the
    waterfall; the other ones that are followed have their curves, too.
    """

    def __init__(self, display):
        super().__init__(SIZE)
        self._display, self._record = display, display.record
        self._own = list(self._record.baselines)  # baselines that stay when another is chosen
        self._chosen = self._own[0]
        self._reason = ""  # the reason why the fringes are not aligned
        self._drifting = ""  # the text on a clock that is not followed
        self._others = look.note("")
        self._make_choices()
        self._make_plots()
        self._ticker = look.Ticker(self._tick, self._say, self)
        self._say("no integrations yet")

    # ---- what is there

    def _make_choices(self):
        self._choice = QtWidgets.QComboBox()
        for pair in dict.fromkeys(self._own + self._display.pairs):
            self._choice.addItem(self._name(pair), pair)
        self._choice.currentIndexChanged.connect(self._choose)
        self._quantity = QtWidgets.QComboBox()
        self._quantity.addItems([PHASE, COHERENCE])
        self._quantity.currentIndexChanged.connect(lambda _: self._draw_waterfall())
        for title, choice in (("baseline", self._choice), ("waterfall", self._quantity)):
            choice.setFont(look.font(look.LABEL_POINTS))
            label = QtWidgets.QLabel(title)
            label.setFont(look.font(look.LABEL_POINTS))
            self.choices.addWidget(label)
            self.choices.addWidget(choice)
        self.choices.addWidget(self._others, 1)

    def _make_plots(self):
        self.phases = look.plot("phase at mid-band", ("", ""), ("phase", "°"), utc="bottom")
        self.coherences = look.plot("coherence", ("", ""), ("coherence", ""), utc="bottom")
        self.lags = look.plot("lag spectrum", ("delay", "ns"), ("coherence", ""))
        self.waterfall = look.Picture(
            "fringes",
            ("frequency", "MHz"),
            ("", ""),
            utc="left",
            values=("phase", "°"),
            colours=look.PHASE_MAP,
            levels=(-180, 180),
        )
        for row, column, widget in (
            (0, 0, self.phases),
            (0, 1, self.coherences),
            (1, 0, self.lags),
            (1, 1, self.waterfall.widget),
        ):
            self.grid.addWidget(widget, row, column)
        for index in (0, 1):
            self.grid.setRowStretch(index, 1)
            self.grid.setColumnStretch(index, 1)
        self._mark = pyqtgraph.InfiniteLine(
            angle=90,
            pen=look.pen(1, dashed=True),
            label="",
            labelOpts={"color": look.COLOURS[1], "position": 0.92, "fill": "#FFFFFFD0"},
        )
        self._mark.label.setFont(look.font(look.LABEL_POINTS, bold=True))
        self._mark.hide()
        self.lags.addItem(self._mark)
        self._curves = {}
        self._add_curves()

    def _add_curves(self):
        for plot in (self.phases, self.coherences, self.lags):
            legend = plot.getPlotItem().legend
            if legend is None:
                legend = look.legend(plot, 3)
            legend.clear()
            # a single curve is the headline's
            legend.setVisible(len(self._record.baselines) > 1)
        for lines in self._curves.values():
            for plot, line in zip((self.phases, self.coherences, self.lags), lines):
                plot.removeItem(line)
        self._curves = {}
        for number, pair in enumerate(self._record.baselines):
            name = self._name(pair)
            pen = look.pen(number)
            # dots: an integration between two gaps has no line
            dots = {
                "symbol": "o",
                "symbolSize": 4,
                "symbolPen": None,
                "symbolBrush": look.colour(number),
            }
            self._curves[pair] = (
                self.phases.plot(name=name, pen=pen, connect="finite", **dots),
                self.coherences.plot(name=name, pen=pen, connect="finite", **dots),
                self.lags.plot(name=name, pen=pen),
            )

    def _name(self, pair):
        return "–".join(self._display.names[number] for number in pair)

    # ---- what the user does

    def _choose(self, _):
        pair = tuple(self._choice.currentData())
        for followed in self._record.baselines:
            if followed not in self._own and followed != pair:
                self._record.leave(followed)
        self._record.follow(pair)
        self._chosen = pair
        self._add_curves()
        self._draw()

    # ---- what comes

    def _tick(self):
        found = self._display.update()
        if isinstance(found, str):
            self._say(found)
        elif self.isVisible() and (
            found
            or self._reason != self._display.not_aligned(self._chosen)
            or self._drifting != self._display.drifting(self._chosen)
        ):
            self._draw()

    def _say(self, text):
        self.headline.setText(text)
        self.headline.setToolTip(text)  # the text may be wider than the window

    def showEvent(self, event):
        """Qt's: draws what came while it was hidden."""
        super().showEvent(event)
        if self._record.channels is not None:
            self._draw()

    # ---- drawing

    def _draw(self):
        self._reason = self._display.not_aligned(self._chosen)
        self._drifting = self._display.drifting(self._chosen)
        if self._record.channels is None:
            if self._reason:
                self._say(self._not_aligned())
            return
        fringes = {pair: self._record.fringe(pair) for pair in self._record.baselines}
        names = [self._display.names[number] for number in self._chosen]
        text = self._not_aligned() if self._reason else fringe_text(names, fringes[self._chosen])
        if self._drifting:
            text += f": {self._drifting}"
        if not self._display.told_time:
            text += " (times by this computer's clock)"
        self._say(text)
        self._others.setText(
            "     ".join(
                self._short(pair, fringe)
                for pair, fringe in fringes.items()
                if pair != self._chosen
            )
        )
        newest, largest, lowest, highest = None, 0.05, np.inf, -np.inf
        for pair, (phase, coherence, _) in self._curves.items():
            times, coherences, phases = self._record.curves(pair)
            if len(times):
                newest = times[-1]
            # gaps alone have no bounds, which pyqtgraph would warn of
            seen = np.isfinite(phases).any()
            phase.setData(*((times, phases) if seen else ([], [])))
            coherence.setData(*((times, coherences) if seen else ([], [])))
            if seen:
                largest = max(largest, np.nanmax(coherences))
                lowest, highest = min(lowest, np.nanmin(phases)), max(highest, np.nanmax(phases))
        self.coherences.setYRange(0, 1.15 * largest, padding=0)
        if lowest <= highest:
            # the curve of a source that stands still is a straight line, not magnified noise
            half = max((highest - lowest) / 2, LEAST_DEGREES / 2)
            middle = (highest + lowest) / 2
            self.phases.setYRange(middle - half, middle + half)
        for plot in (self.phases, self.coherences):
            plot.getPlotItem().getAxis("bottom").set_date(newest)
        self._draw_lags(fringes[self._chosen])
        self._draw_waterfall()

    def _not_aligned(self):
        first, second = (self._display.names[number] for number in self._chosen)
        return f"inputs {first} and {second} are not aligned: {self._reason}"

    def _short(self, pair, fringe):
        if self._display.not_aligned(pair):
            return f"{self._name(pair)}: not aligned"
        if fringe is None:
            return f"{self._name(pair)}: no data"
        if not fringe.clear:
            return f"{self._name(pair)}: no clear fringe"
        return f"{self._name(pair)}: {fringe.coherence:.2f}, {live_delay(fringe)}"

    def _draw_lags(self, fringe):
        channels = self._record.channels
        # the range from 0 to the peak, and as much beyond; at least some widths of the peak, and no
        # more than all lags
        span = 12 / (channels.width * channels.count)
        if fringe is not None and fringe.clear:
            span = max(span, 2 * abs(fringe.delay))
        span = min(span, channels.period / 2)
        size, unit = delay_unit(span)
        look.set_title(
            self.lags.getPlotItem(),
            "lag spectrum"
            if channels.count < 2
            else f"lag spectrum, repeats every {channels.period / size:.4g} {unit}",
        )
        look.set_label(self.lags.getPlotItem(), "bottom", "delay", unit)
        for pair, lines in self._curves.items():
            delays, amplitudes = self._record.lag_spectrum(pair)
            if len(delays):
                delays, amplitudes = finer_lags(delays, amplitudes, span)
            lines[2].setData(delays / size, amplitudes)
        self._mark.setVisible(fringe is not None and fringe.clear)
        if fringe is not None and fringe.clear:
            self._mark.setValue(fringe.delay / size)
            self._mark.label.setFormat(
                delay_text(fringe.delay, fringe.delay_error, most=MOST_DECIMALS)
            )

    def _draw_waterfall(self):
        values, begin, step = self._record.waterfall(self._chosen)
        quantity = self._quantity.currentText()
        look.set_title(self.waterfall.item, f"{quantity} of {self._name(self._chosen)}")
        if not values.size:
            self.waterfall.image.clear()
            return
        channels = self._record.channels
        together = -(-channels.count // MOST_COLUMNS)
        kept = channels.count // together * together
        values = values[:, :kept].reshape(len(values), -1, together).mean(axis=-1)
        if quantity == PHASE:
            self.waterfall.set_colours(look.PHASE_MAP)
            self.waterfall.set_values("phase", "°")
            self.waterfall.set_levels(-180, 180)
            shown = np.degrees(np.angle(values))
            shown[np.isnan(values)] = np.nan
        else:
            shown = np.abs(values)
            self.waterfall.set_colours(look.AMPLITUDE_MAP)
            self.waterfall.set_values("coherence")
            finite = shown[np.isfinite(shown)]
            if finite.size:
                self.waterfall.set_levels(0.0, float(np.percentile(finite, 99)))
        self.waterfall.show(
            shown,
            (channels.first - channels.width / 2) / 1e6,
            begin,
            kept * channels.width / 1e6,
            len(values) * step,
        )
        self.waterfall.item.getAxis("left").set_date(begin + len(values) * step)

    # for tests and screen readers

    def text(self):
        """Returns what the headline says."""
        return self.headline.text()

    def delay_marked(self):
        """Text at the mark of the peak's delay; empty without one."""
        return self._mark.label.toPlainText() if self._mark.isVisible() else ""

    def closeEvent(self, event):
        """Qt's: a closed window draws no more."""
        self._ticker.stop()
        super().closeEvent(event)
