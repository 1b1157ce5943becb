#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The window of direction_finder: a spectrum over azimuth or the sky, and the last directions."""

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
#: degrees of elevation that have a ring where the sky is shown, the zenith in the middle
HEIGHTS = (30, 60)
CELL = 5  # degrees of azimuth that are one cell of the sky
DARKEST = 0.55  # opacity of a maximum of the sky
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
    places = ", ".join(_place_of(fix.found, number) for number in range(min(count, MOST_SOURCES)))
    return f"{count} source{'s'[: count > 1]}: {places}"


def _place_of(found, number):
    """The text of where a source is."""
    text = f"azimuth {found.azimuths[number]:.1f}°"
    if found.heights is not None:
        text += f" at elevation {found.elevations[number]:.1f}°"
    return text


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
        found = self._fixes[-1].found if self._fixes else None
        sky = found is not None and found.heights is not None
        if sky:
            self._paint_sky(painter, box, found)
        self._paint_rose(painter, box, sky)
        if found is not None:
            self._paint_trail(painter, box)
            if not sky:
                self._paint_spectrum(painter, box, found)
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

    @staticmethod
    def _reaches(found, level):
        """Distances of sources from the middle: at the level where azimuths alone are known, and
        otherwise by their elevations, the zenith being in the middle."""
        if found.heights is None:
            return np.full(len(found.azimuths), level)
        return 1 - found.elevations / 90

    def _paint_sky(self, painter, box, found):
        """The spectrum over the sky, the darker the higher."""
        decibels = 10 * np.log10(found.spectrum / found.spectrum.max())
        edges = np.append(found.heights, 90.0)
        painter.setPen(QtCore.Qt.NoPen)
        for column in range(0, len(found.grid), CELL):
            levels = decibels[:, column : column + CELL].max(axis=1)
            for row, level in enumerate(np.clip(1 + 2 * levels / RANGE, 0, 1)):
                if level < 0.02:
                    continue
                colour = QtGui.QColor(CURVE)
                colour.setAlphaF(DARKEST * float(level))
                painter.setBrush(colour)
                sides = [
                    self._place(box, found.grid[column] + far, 1 - edges[row + up] / 90)
                    for far, up in ((-0.5, 0), (CELL - 0.5, 0), (CELL - 0.5, 1), (-0.5, 1))
                ]
                painter.drawPolygon(QtGui.QPolygonF(sides))

    def _paint_rose(self, painter, box, sky=False):
        painter.setBrush(QtCore.Qt.NoBrush)
        painter.setPen(QtGui.QPen(LIGHT, 1))
        for azimuth in range(0, 360, 30):
            painter.drawLine(box.center(), self._place(box, azimuth, 1))
        rings = (
            [(1 - height / 90, f"{height}°") for height in HEIGHTS]
            if sky
            else [(1 + level / RANGE, f"{level} dB") for level in RINGS]
        )
        for reach, _ in rings:
            half = box.width() / 2 * reach
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
        for reach, name in rings:
            at = self._place(box, 15, reach)
            text(painter, around(at, 50, 14), name, GREY, FINE, align=CENTER)

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
        """A dot for each direction before the newest, the older the fainter: at the rim, or at its
        place on the sky."""
        before = self._fixes[:-1]
        painter.setPen(QtCore.Qt.NoPen)
        for number, fix in enumerate(before):
            colour = QtGui.QColor(MARK)
            colour.setAlphaF(0.1 + 0.5 * (number + 1) / len(before))
            painter.setBrush(colour)
            for azimuth, reach in zip(fix.found.azimuths, self._reaches(fix.found, 0.95)):
                painter.drawEllipse(self._place(box, azimuth, reach), 2.5, 2.5)

    def _paint_sources(self, painter, box, fix):
        for azimuth, reach in zip(fix.found.azimuths, self._reaches(fix.found, 1.0)):
            painter.setPen(QtGui.QPen(MARK, 2))
            if fix.found.heights is None:
                painter.drawLine(box.center(), self._place(box, azimuth, 1))
            painter.setBrush(MARK)
            painter.drawEllipse(self._place(box, azimuth, reach), 5, 5)

    def _paint_side(self, painter, left, top):
        rows = []
        if self._fixes:
            fix = self._fixes[-1]
            rows.append(("time", f"{utc_text(fix.time, 1, between=' ')} UTC"))
            sky = fix.found.heights is not None
            rows += [
                (
                    f"source {number + 1}",
                    f"{_place_of(fix.found, number)}, {power:.1f} dB over the noise",
                )
                for number, power in enumerate(fix.decibels[:MOST_SOURCES])
            ]
            where = "dots" if sky else "dots at the rim"
            rows.append(("estimates", f"the last {len(self._fixes)} are {where}"))
        rows += [("" if n else "good to know", remark) for n, remark in enumerate(self._remarks)]
        for name, words in rows:
            room = text_height(words, SIDE, FINE)
            if name:
                text(painter, QtCore.QRectF(left, top, SIDE, 14), name, GREY, FINE)
                top += 14
            text(painter, QtCore.QRectF(left, top, SIDE, room), words, points=FINE, align=WRAPPED)
            top += 6 + room
