#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The window of bandpass_display: a small plot for each input, with its level beside its name."""

import numpy as np
from PyQt5 import QtCore, QtGui, QtWidgets

from ..plots.style import minus_signs
from . import look, painting
from .bandpass_view import BAD, GOOD, NEUTRAL, WARN, outline, percent
from .painting import CENTER, GREY, INK, LEFT, LIGHT, RIGHT, Canvas, text, text_width

SIZE = 720, 450
#: inputs in the window at a time
MOST = 64
INKS = {GOOD: painting.GOOD, WARN: painting.WARN, BAD: painting.BAD, NEUTRAL: INK}
FINE, TINY = look.TICK_POINTS - 1, look.TICK_POINTS - 2
#: pixels: left of the plots, below them, above each, between them
LEFT_EDGE, FOOT, HEAD, GAP = 62, 54, 15, 5


def columns_of(count):
    """Columns of the plots of so many inputs: two are one above the other."""
    return 1 if count <= 3 else int(np.ceil(np.sqrt(count)))


def polygon(x, y):
    """The QPolygonF of points, filled as one piece of memory, which is faster than one by one."""
    made = QtGui.QPolygonF(len(x))
    memory = made.data()
    memory.setsize(16 * len(x))
    points = np.frombuffer(memory, np.float64).reshape(-1, 2)
    points[:, 0], points[:, 1] = x, y
    return made


class BandpassPanel(look.Panel):
    """
    Shows Bandpasses.

    Parameters
    ----------
    newest : callable
        Gives the newest Bandpasses, or None, and a text where something is wrong.
    title : str
    """

    def __init__(self, newest, title, parent=None):
        super().__init__(SIZE, parent)
        self._newest, self._title = newest, title
        self._shown, self._first = None, 0
        self.headline.setWordWrap(True)
        self.headline.setFont(look.font(look.TITLE_POINTS, bold=True))
        self._choice = QtWidgets.QComboBox()
        self._choice.setVisible(False)
        self._choice.currentIndexChanged.connect(self._choose)
        self.choices.addWidget(self._choice)
        self.choices.addStretch(1)
        self._canvas = Canvas(self._paint)
        self.grid.addWidget(self._canvas, 0, 0)
        self._look()
        self._ticker = look.Ticker(self._look, self._fail, self)

    def _fail(self, words):
        self.headline.setText(words)

    def text(self):
        """Returns what the display says, in words."""
        return self.headline.text()

    def _choose(self, number):
        self._first = MOST * max(number, 0)
        self._canvas.update()

    def _look(self):
        shown, words = self._newest()
        self.headline.setText(words or (shown.words if shown else "waiting for data"))
        self.headline.setToolTip(self.headline.text())
        worst = (
            BAD
            if words
            else max(
                (state.grade for state in shown.inputs if state.grade != NEUTRAL), default=GOOD
            )
            if shown
            else GOOD
        )
        ink = INK if worst == GOOD else INKS[worst]
        self.headline.setStyleSheet(f"color: {ink.name()}; background: {look.PAPER}; padding: 4px;")
        if shown is self._shown:
            return
        if shown is not None and len(shown.inputs) > MOST and not self._choice.count():
            for first in range(0, len(shown.inputs), MOST):
                last = min(first + MOST, len(shown.inputs)) - 1
                self._choice.addItem(f"{shown.inputs[first].name} to {shown.inputs[last].name}")
            self._choice.setVisible(True)
        self._shown = shown
        self._canvas.repaint()  # now, so that the ticker knows how long it takes

    # ---- painting

    def _paint(self, painter, width, height):
        text(painter, QtCore.QRectF(8, 0, width - 16, 18), self._title, points=look.TITLE_POINTS)
        shown = self._shown
        if shown is None:
            return
        inputs = shown.inputs[self._first : self._first + MOST]
        columns = columns_of(len(inputs))
        rows = -(-len(inputs) // columns)
        area = QtCore.QRectF(LEFT_EDGE, 22, width - LEFT_EDGE - 10, height - 22 - FOOT)
        wide, tall = area.width() / columns, area.height() / rows
        for number, state in enumerate(inputs):
            row, column = divmod(number, columns)
            cell = QtCore.QRectF(
                area.left() + column * wide, area.top() + row * tall, wide - GAP, tall - GAP
            )
            box = cell.adjusted(0, HEAD, 0, 0)
            self._paint_head(painter, state, cell)
            self._paint_curve(painter, shown, state, box)
            if column == 0:
                self._paint_powers(painter, shown, box)
            # below are no others
            if number + columns >= len(inputs):
                self._paint_frequencies(painter, shown, box)
        self._paint_words(painter, shown, area, width, height)

    def _paint_head(self, painter, state, cell):
        """The name, and the level at the right."""
        small = cell.width() < 150
        points = TINY if small else FINE
        head = QtCore.QRectF(cell.left(), cell.top(), cell.width(), HEAD)
        level = "" if state.level == "no signal" else f"{state.rms:.3g}"
        if state.level and not small and state.level != "good":
            level = f"{level} {state.level}".strip()
        room = head.width() - text_width(level, points, True) - 16
        name = QtGui.QFontMetricsF(look.font(points, True)).elidedText(
            state.name, QtCore.Qt.ElideRight, max(room, 20)
        )
        text(painter, head, name, INK, points, True, LEFT)
        ink = INKS[state.grades[0]]
        text(painter, head.adjusted(0, 0, -11, 0), level, ink, points, True, RIGHT)
        painter.setPen(QtCore.Qt.NoPen)
        painter.setBrush(INKS[state.grade] if state.grade != NEUTRAL else LIGHT)
        painter.drawEllipse(QtCore.QPointF(head.right() - 4, head.center().y()), 4, 4)

    def _paint_curve(self, painter, shown, state, box):
        painter.fillRect(box, QtGui.QColor("#FAFAFA"))
        painter.setPen(QtGui.QPen(LIGHT, 1))
        for value in look.round_values(shown.low, shown.high, self._marks(box.height(), 30)):
            y = self._height(shown, value, box)
            painter.drawLine(QtCore.QPointF(box.left(), y), QtCore.QPointF(box.right(), y))
        places, values = outline(state.decibels, max(2, int(box.width())))
        seen = np.isfinite(values)
        if seen.any():
            x = box.left() + places[seen] * box.width()
            y = self._height(shown, np.clip(values[seen], shown.low, shown.high), box)
            painter.setPen(QtGui.QPen(QtGui.QColor(look.colour(0)), 1.2))
            # smooth lines would take most of the time of many small plots
            painter.setRenderHint(QtGui.QPainter.Antialiasing, box.width() >= 150)
            painter.drawPolyline(polygon(x, y))
            painter.setRenderHint(QtGui.QPainter.Antialiasing, True)
        painter.setPen(QtGui.QPen(GREY, 1))
        painter.setBrush(QtCore.Qt.NoBrush)
        painter.drawRect(box)
        # warnings across the plot
        said = []
        if state.level == "no signal":
            said.append(("no signal", BAD))
        if state.grades[1] in (WARN, BAD):
            said.append((f"clamped {percent(state.clamped)}", state.grades[1]))
        if state.grades[2] in (WARN, BAD):
            said.append((f"missing {percent(state.missing)}", state.grades[2]))
        bold = box.width() >= 150
        points = FINE if bold else TINY
        y = box.bottom() - 14 * len(said) - 1
        for words, grade in said:
            frame = QtCore.QRectF(box.left() + 3, y, text_width(words, points, bold) + 4, 14)
            painter.fillRect(frame, QtGui.QColor(255, 255, 255, 215))
            text(painter, frame.adjusted(2, 0, 2, 0), words, INKS[grade], points, bold)
            y += 14

    @staticmethod
    def _marks(length, each):
        return int(np.clip(length // each, 2, 6))

    @staticmethod
    def _height(shown, value, box):
        return box.bottom() - (value - shown.low) / (shown.high - shown.low) * box.height()

    def _paint_powers(self, painter, shown, box):
        for value in look.round_values(shown.low, shown.high, self._marks(box.height(), 30)):
            y = self._height(shown, value, box)
            text(
                painter,
                QtCore.QRectF(18, y - 7, LEFT_EDGE - 22, 14),
                minus_signs(f"{value:g}"),
                points=FINE,
                align=RIGHT,
            )

    def _paint_frequencies(self, painter, shown, box):
        """Labels the lower edge: MHz, or numbers of channels."""
        low, high, _ = self._edges(shown)
        for most in range(self._marks(box.width(), 75), 12):
            marks = [
                (box.left() + (value - low) / (high - low) * box.width(), f"{value:.10g}")
                for value in look.round_values(low, high, most)
            ]
            # labels that would run into their neighbour's are left out
            marks = [
                (x, words)
                for x, words in marks
                if box.left() - 8 < x - text_width(words, FINE) / 2
                and x + text_width(words, FINE) / 2 < box.right() + 8
            ]
            if marks:
                break
        for x, words in marks:
            painter.setPen(QtGui.QPen(GREY, 1))
            painter.drawLine(QtCore.QPointF(x, box.bottom()), QtCore.QPointF(x, box.bottom() + 3))
            text(
                painter,
                painting.around(QtCore.QPointF(x, box.bottom() + 10), 80, 14),
                words,
                points=FINE,
                align=CENTER,
            )

    @staticmethod
    def _edges(shown):
        """Lowest and highest value of the lower axis, and its label."""
        frequencies = shown.frequencies
        count = len(shown.inputs[0].decibels)
        if frequencies is None:
            return -0.5, count - 0.5, "channel (the stream does not say its frequency)"
        half = (frequencies[-1] - frequencies[0]) / max(count - 1, 1) / 2
        if not half:
            half = max(frequencies[0] * 1e-6, 1.0)
        low, high = (frequencies[0] - half) / 1e6, (frequencies[-1] + half) / 1e6
        return low, high, "sky frequency (MHz)"

    def _paint_words(self, painter, shown, area, width, height):
        """Labels of the axes, and what the colours mean."""
        text(
            painter,
            QtCore.QRectF(area.left(), area.bottom() + 14, area.width(), 15),
            self._edges(shown)[2],
            points=FINE,
            align=CENTER,
        )
        painter.save()
        painter.translate(10, area.center().y())
        painter.rotate(-90)
        unit = "power (dB of one step²)" if shown.range is not None else "power (dB)"
        text(
            painter,
            painting.around(QtCore.QPointF(0, 0), area.height(), 15),
            unit,
            points=FINE,
            align=CENTER,
        )
        painter.restore()
        parts = [
            ("rms" + (f" in steps: {shown.range.target:g} are best" if shown.range else ""), INK)
        ]
        if shown.range is not None:
            parts += [
                (f"● good: {shown.range.low:g} to {shown.range.high:g}", INKS[GOOD]),
                ("● low, high, clamped, missing", INKS[WARN]),
                ("● wrong", INKS[BAD]),
            ]
        x = 8.0
        for words, ink in parts:
            wide = text_width(words, TINY)
            text(painter, QtCore.QRectF(x, height - 18, wide + 4, 15), words, ink, TINY)
            x += wide + 14
