#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The window of direction_finder: a spectrum over azimuth, and the last directions."""

import numpy as np
from PyQt5 import QtCore, QtGui

from ..parameters.times import utc_text
from . import look
from .painting import BAD, CENTER, GREY, INK, LIGHT, WRAPPED, Canvas, around, text, text_height

SIZE = 720, 520
SIDE, MARGIN = 210, 8
#: dB from the rim to the middle of the spectrum
RANGE = 60.0
RINGS = (-20, -40)
COMPASS = (("N", 0), ("E", 90), ("S", 180), ("W", 270))
FINE = look.TICK_POINTS - 1
CURVE = QtGui.QColor(look.COLOURS[0])
MARK = QtGui.QColor(look.COLOURS[1])
MOST_SOURCES = 6  # sources in the list


def words_of(fix):
    """Returns what was found, in words."""
    if fix is None:
        return "waiting for integrations"
    count = len(fix.found.azimuths)
    if not count:
        return "no source: all that comes is noise"
    places = ", ".join(f"{azimuth:.1f}°" for azimuth in fix.found.azimuths[:MOST_SOURCES])
    return f"{count} source{'s'[: count > 1]}: azimuth {places}"


class DirectionPanel(look.Panel):
    """
    Shows fixes.

    Parameters
    ----------
    newest : callable
        Gives the last fixes (direction_finder.Fix), a list of remarks, and an error or "".
    title : str
    """

    def __init__(self, newest, title, parent=None):
        super().__init__(SIZE, parent)
        self._newest, self._title = newest, title
        self._fixes, self._remarks, self._shown = [], [], None
        self._canvas = Canvas(self._paint)
        self.grid.addWidget(self._canvas, 0, 0)
        self.headline.setWordWrap(True)
        self.headline.setFont(look.font(look.TITLE_POINTS, bold=True))
        self._look()
        self._ticker = look.Ticker(self._look, self.headline.setText, self)

    def text(self):
        """Returns what the display says, in words."""
        return self.headline.text()

    def _look(self):
        fixes, remarks, error = self._newest()
        state = (fixes[-1].time if fixes else None, len(fixes), tuple(remarks), error)
        if state == self._shown:
            return
        self._shown, self._fixes, self._remarks = state, fixes, remarks
        colour = BAD.name() if error else look.INK
        self.headline.setStyleSheet(f"color: {colour}; background: {look.PAPER}; padding: 4px;")
        self.headline.setText(error or words_of(fixes[-1] if fixes else None))
        self._canvas.repaint()

    def _paint(self, painter, width, height):
        text(painter, QtCore.QRectF(MARGIN, 0, width, 18), self._title, points=look.TITLE_POINTS)
        room = QtCore.QRectF(28, 42, width - SIDE - MARGIN - 60, height - 70)
        size = max(60.0, min(room.width(), room.height()))
        box = QtCore.QRectF(room.center().x() - size / 2, room.top(), size, size)
        self._paint_rose(painter, box)
        if self._fixes:
            self._paint_trail(painter, box)
            self._paint_spectrum(painter, box, self._fixes[-1].found)
            self._paint_sources(painter, box, self._fixes[-1])
        self._paint_side(painter, width - SIDE - MARGIN, 30.0)

    @staticmethod
    def _place(box, azimuth, reach):
        """A point at an azimuth (degrees), reach 0 in the middle and 1 at the rim."""
        angle = np.radians(azimuth)
        half = box.width() / 2
        return box.center() + QtCore.QPointF(
            half * reach * np.sin(angle), -half * reach * np.cos(angle)
        )

    def _paint_rose(self, painter, box):
        painter.setBrush(QtCore.Qt.NoBrush)
        painter.setPen(QtGui.QPen(LIGHT, 1))
        for azimuth in range(0, 360, 30):
            painter.drawLine(box.center(), self._place(box, azimuth, 1))
        for level in RINGS:
            half = box.width() / 2 * (1 + level / RANGE)
            painter.drawEllipse(box.center(), half, half)
        painter.setPen(QtGui.QPen(INK, 1.6))
        painter.drawEllipse(box)
        for name, azimuth in COMPASS:
            at = self._place(box, azimuth, 1) + 11 * QtCore.QPointF(
                np.sin(np.radians(azimuth)), -np.cos(np.radians(azimuth))
            )
            text(painter, around(at, 24, 18), name, INK, look.TITLE_POINTS, bold=True, align=CENTER)
        for azimuth in range(0, 360, 30):
            if azimuth % 90:
                at = self._place(box, azimuth, 1) + 15 * QtCore.QPointF(
                    np.sin(np.radians(azimuth)), -np.cos(np.radians(azimuth))
                )
                text(painter, around(at, 40, 14), f"{azimuth}°", GREY, FINE, align=CENTER)
        for level in RINGS:
            at = self._place(box, 15, 1 + level / RANGE)
            text(painter, around(at, 50, 14), f"{level} dB", GREY, FINE, align=CENTER)

    def _paint_spectrum(self, painter, box, found):
        decibels = 10 * np.log10(found.spectrum / found.spectrum.max())
        reach = np.clip(1 + decibels / RANGE, 0, 1)
        line = QtGui.QPolygonF(
            [self._place(box, azimuth, part) for azimuth, part in zip(found.grid, reach)]
        )
        if len(found.grid) >= 359:
            line.append(line[0])
        painter.setPen(QtGui.QPen(CURVE, 1.8))
        painter.setBrush(QtCore.Qt.NoBrush)
        painter.drawPolyline(line)

    def _paint_trail(self, painter, box):
        """A dot at the rim for each direction before the newest, the older the fainter."""
        before = self._fixes[:-1]
        painter.setPen(QtCore.Qt.NoPen)
        for number, fix in enumerate(before):
            colour = QtGui.QColor(MARK)
            colour.setAlphaF(0.1 + 0.5 * (number + 1) / len(before))
            painter.setBrush(colour)
            for azimuth in fix.found.azimuths:
                painter.drawEllipse(self._place(box, azimuth, 0.95), 2.5, 2.5)

    def _paint_sources(self, painter, box, fix):
        for azimuth in fix.found.azimuths:
            painter.setPen(QtGui.QPen(MARK, 2))
            painter.drawLine(box.center(), self._place(box, azimuth, 1))
            painter.setBrush(MARK)
            painter.drawEllipse(self._place(box, azimuth, 1), 5, 5)

    def _paint_side(self, painter, left, top):
        rows = []
        if self._fixes:
            fix = self._fixes[-1]
            rows.append(("time", f"{utc_text(fix.time, 1, between=' ')} UTC"))
            found = list(zip(fix.found.azimuths, fix.decibels))[:MOST_SOURCES]
            rows += [
                (f"source {number}", f"azimuth {azimuth:.1f}°, {power:.1f} dB over the noise")
                for number, (azimuth, power) in enumerate(found, 1)
            ]
            rows.append(("estimates", f"the last {len(self._fixes)} are dots at the rim"))
        rows += [("good to know", remark) for remark in self._remarks]
        for name, words in rows:
            room = text_height(words, SIDE, FINE)
            text(painter, QtCore.QRectF(left, top, SIDE, 14), name, GREY, FINE)
            box = QtCore.QRectF(left, top + 14, SIDE, room)
            text(painter, box, words, points=FINE, align=WRAPPED)
            top += 20 + room
