#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The window of sky_display: an image of the sky with its horizon, compass and named sources."""

import numpy as np
from PyQt5 import QtCore, QtGui

from ..arrays import geometry
from ..plots.style import minus_signs
from ..tracking.angle_text import angle_unit
from . import look
from .painting import (
    BAD,
    CENTER,
    GREY,
    INK,
    RIGHT,
    WRAPPED,
    Canvas,
    around,
    text,
    text_height,
    text_width,
)
from .sky_image import colours, limits

SIZE = 760, 540
COMPASS = (("N", 0), ("E", 90), ("S", 180), ("W", 270))
RINGS = (30, 60)
#: pixels of the screen
SIDE, BAR, MARGIN, RADIUS = 222, 14, 8, 7
GRID = QtGui.QColor(255, 255, 255, 105)
MARK = QtGui.QColor("#7FD1FF")
PEAK = QtGui.QColor("#3DFF8B")
SHADE = QtGui.QColor(0, 0, 0, 170)
WHITE = QtGui.QColor("white")
FINE = look.TICK_POINTS - 1
#: places of a colour bar's numbers
STEPS = 5


class SkyPanel(look.Panel):
    """
    Shows SkyPictures.

    Parameters
    ----------
    newest : callable
        Gives the newest SkyPicture, or None, and a text where there is something to say instead
        of what is brightest.
    title : str
    dynamic_range : float
        dB from the highest to the lowest colour; 0: linear, from the lowest value to the highest.
    """

    def __init__(self, newest, title, dynamic_range=0.0, parent=None):
        super().__init__(SIZE, parent)
        self._newest, self._title = newest, title
        self._range = float(dynamic_range)
        self._picture, self._text, self._pixels = None, None, None
        self._canvas = Canvas(self._paint)
        self.grid.addWidget(self._canvas, 0, 0)
        self.headline.setWordWrap(True)
        self.headline.setFont(look.font(look.TITLE_POINTS, bold=True))
        self._look()
        self._ticker = look.Ticker(self._look, self._fail, self)

    def set_dynamic_range(self, dynamic_range):
        """Sets dB; 0: linear."""
        self._range, self._pixels = float(dynamic_range), None
        self._canvas.update()

    def _fail(self, words):
        self.headline.setText(words)

    def text(self):
        """Returns what the display says, in words."""
        return self.headline.text()

    def _look(self):
        picture, words = self._newest()
        if picture is self._picture and words == self._text:
            return
        self._picture, self._text, self._pixels = picture, words, None
        bad = BAD.name() if words else look.INK
        self.headline.setStyleSheet(f"color: {bad}; background: {look.PAPER}; padding: 4px;")
        self.headline.setText(
            words or (picture.brightest if picture is not None else "waiting for visibilities")
        )
        self.headline.setToolTip(self.headline.text())
        self._canvas.repaint()  # now, so that the ticker knows how long it takes

    def _paint(self, painter, width, height):
        picture = self._picture
        text(
            painter,
            QtCore.QRectF(MARGIN, 0, width, 18),
            self._title
            if picture is None
            else f"{self._title}: "
            + ("the whole sky" if picture.whole else picture.image.field.centre.name),
            points=look.TITLE_POINTS,
        )
        if picture is None:
            return
        left, top, right, bottom = (24, 42, 24, 24) if picture.whole else (58, 26, 14, 42)
        room = QtCore.QRectF(
            left, top, width - SIDE - MARGIN - 16 - left - right, height - top - bottom
        )
        size = max(60.0, min(room.width(), room.height()))
        box = QtCore.QRectF(room.center().x() - size / 2, room.top(), size, size)
        self._paint_image(painter, picture, box)
        self._paint_side(painter, picture, width - SIDE - MARGIN, 26.0, height)

    # ---- parts

    def _paint_image(self, painter, picture, box):
        field = picture.image.field
        low, high = limits(picture.image.image, self._range)
        if self._pixels is None:
            # [x][y], x to the west and y to the north -> rows from the top
            pixels = np.ascontiguousarray(
                colours(picture.image.image, low, high, self._range).transpose(1, 0, 2)[::-1]
            )
            self._pixels = QtGui.QImage(
                pixels.data,
                pixels.shape[1],
                pixels.shape[0],
                4 * pixels.shape[1],
                QtGui.QImage.Format_RGBA8888,
            ).copy()
        # direction cosines at the edges of the box; pixel n // 2 is the centre
        size, cell, half = field.pixels, field.cell, field.pixels // 2
        if picture.whole:
            scale = box.width() / 2.0
            extent = QtCore.QRectF(
                box.center().x() - (half + 0.5) * cell * scale,
                box.center().y() - (size - half - 0.5) * cell * scale,
                size * cell * scale,
                size * cell * scale,
            )
            clip = QtGui.QPainterPath()
            clip.addEllipse(box)
            painter.save()
            painter.setClipPath(clip)
            painter.fillRect(box, QtCore.Qt.black)
            painter.drawImage(extent, self._pixels)
            painter.restore()

            def place(l, m):
                return QtCore.QPointF(box.center().x() - l * scale, box.center().y() - m * scale)
        else:
            scale = box.width() / (size * cell)
            painter.drawImage(box, self._pixels)

            def place(l, m):
                return QtCore.QPointF(
                    box.left() + ((half + 0.5) * cell - l) * scale,
                    box.top() + ((size - half - 0.5) * cell - m) * scale,
                )

        if picture.whole:
            self._paint_horizon(painter, place, box)
        else:
            self._paint_axes(painter, picture, place, box)
        taken = [around(place(l, m), 2 * RADIUS, 2 * RADIUS) for _, l, m in picture.sources]
        for name, l, m in picture.sources:
            self._paint_mark(painter, place(l, m), name, box, taken)
        peak = place(picture.peak.l, picture.peak.m)
        painter.setPen(QtGui.QPen(PEAK, 1.6))
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            painter.drawLine(
                peak + QtCore.QPointF(5 * x, 5 * y), peak + QtCore.QPointF(13 * x, 13 * y)
            )
        self._paint_beam(painter, picture.image.beam, box, scale, picture.whole)

    def _paint_horizon(self, painter, place, box):
        painter.setBrush(QtCore.Qt.NoBrush)
        painter.setPen(QtGui.QPen(GRID, 1))
        for elevation in RINGS:
            reach = box.width() / 2 * np.cos(np.radians(elevation))
            painter.drawEllipse(box.center(), reach, reach)
        for azimuth in range(0, 360, 45):
            ends = geometry.direction(np.full(2, float(azimuth)), np.array([0.0, 82.0]))
            painter.drawLine(place(*ends[0, :2]), place(*ends[1, :2]))
        for elevation in RINGS:
            east, north, _ = geometry.direction(202.5, float(elevation))
            text(
                painter,
                around(place(east, north), 34, 14),
                f"{elevation}°",
                WHITE,
                FINE,
                align=CENTER,
            )
        painter.setPen(QtGui.QPen(INK, 1.6))
        painter.drawEllipse(box)
        for name, azimuth in COMPASS:
            east, north, _ = 1.0 * geometry.direction(float(azimuth), 0.0)
            at = place(east, north) + QtCore.QPointF(-11 * east, -11 * north)
            text(painter, around(at, 24, 18), name, INK, look.TITLE_POINTS, bold=True, align=CENTER)
        for azimuth in range(45, 360, 90):
            east, north, _ = geometry.direction(float(azimuth), 0.0)
            at = place(east, north) + QtCore.QPointF(-18 * east, -12 * north)
            text(painter, around(at, 40, 14), f"{azimuth}°", GREY, FINE, align=CENTER)

    def _paint_axes(self, painter, picture, place, box):
        """The edges of a field with offsets from its centre."""
        field = picture.image.field
        name, unit = angle_unit(field.width / 2)
        painter.setPen(QtGui.QPen(INK, 1))
        painter.setBrush(QtCore.Qt.NoBrush)
        painter.drawRect(box)
        half = field.width / 2 / unit
        for offset in look.round_values(-half, half):
            at = place(offset * unit, offset * unit)
            label = minus_signs(f"{round(offset, 9):g}")
            painter.setPen(QtGui.QPen(INK, 1))
            painter.drawLine(
                QtCore.QPointF(at.x(), box.bottom()), QtCore.QPointF(at.x(), box.bottom() + 4)
            )
            painter.drawLine(
                QtCore.QPointF(box.left() - 4, at.y()), QtCore.QPointF(box.left(), at.y())
            )
            text(
                painter,
                around(QtCore.QPointF(at.x(), box.bottom() + 11), 44, 14),
                label,
                INK,
                FINE,
                align=CENTER,
            )
            text(
                painter,
                QtCore.QRectF(box.left() - 46, at.y() - 7, 39, 14),
                label,
                INK,
                FINE,
                align=RIGHT,
            )
        text(
            painter,
            QtCore.QRectF(box.left(), box.bottom() + 19, box.width(), 15),
            f"offset to the east ({name}), from {picture.image.field.centre.name}",
            INK,
            FINE,
            align=CENTER,
        )
        painter.save()
        painter.translate(box.left() - 38, box.center().y())
        painter.rotate(-90)
        text(
            painter,
            around(QtCore.QPointF(0, 0), box.height(), 14),
            f"offset to the north ({name})",
            INK,
            FINE,
            align=CENTER,
        )
        painter.restore()

    def _paint_mark(self, painter, at, name, box, taken):
        """A circle around a source and its name, where that hides no other one."""
        painter.setBrush(QtCore.Qt.NoBrush)
        painter.setPen(QtGui.QPen(MARK, 1.4))
        painter.drawEllipse(at, RADIUS, RADIUS)
        wide = text_width(name, FINE) + 4
        best, least = None, np.inf
        for across in (RADIUS + 1 + wide / 2, -RADIUS - 1 - wide / 2, 0):
            for down in (-9, 9) if across else (-RADIUS - 9, RADIUS + 9):
                frame = around(at + QtCore.QPointF(across, down), wide, 15)
                hidden = sum(
                    part.width() * part.height()
                    for part in (frame.intersected(other) for other in taken)
                )
                hidden += wide * 15 * (not box.adjusted(-12, -12, 12, 12).contains(frame))
                if hidden < least:
                    best, least = frame, hidden
        painter.fillRect(best, SHADE)
        text(painter, best, name, MARK, FINE, align=CENTER)
        taken.append(best)

    def _paint_beam(self, painter, beam, box, scale, whole):
        """The beam's ellipse in the lower right corner; angles run from north through east, and
        east is on the left."""
        major, minor = max(beam.major * scale, 2.0), max(beam.minor * scale, 2.0)
        if major > box.width() / 3:
            return
        painter.save()
        painter.translate(box.right() - major / 2 - 6, box.bottom() - major / 2 - 6)
        painter.rotate(-beam.angle)
        painter.setPen(QtGui.QPen(INK if whole else WHITE, 1.2))
        painter.setBrush(QtGui.QColor(160, 160, 160, 200) if whole else QtCore.Qt.NoBrush)
        painter.drawEllipse(QtCore.QPointF(0, 0), minor / 2, major / 2)
        painter.restore()

    def _paint_side(self, painter, picture, left, top, height):
        """Colours, and what is known of the image."""
        low, high = limits(picture.image.image, self._range)
        bar = QtCore.QRectF(left, top + 22, BAR, min(150.0, max(60.0, height * 0.3)))
        text(
            painter,
            QtCore.QRectF(left, top - 2, SIDE, 16),
            "correlation coefficient" + (" (dB)" if self._range else ""),
            points=FINE,
        )
        shades = colours(np.linspace(high, low, 128, dtype=np.float32)[:, np.newaxis], low, high)
        painter.drawImage(
            bar,
            QtGui.QImage(
                np.ascontiguousarray(shades).data, 1, 128, 4, QtGui.QImage.Format_RGBA8888
            ),
        )
        painter.setPen(QtGui.QPen(INK, 1))
        painter.setBrush(QtCore.Qt.NoBrush)
        painter.drawRect(bar)
        ends = (-self._range, 0.0) if self._range else (low, high)
        for value in look.round_values(*ends, STEPS):
            y = bar.bottom() - (value - ends[0]) / (ends[1] - ends[0]) * bar.height()
            painter.setPen(QtGui.QPen(INK, 1))
            painter.drawLine(QtCore.QPointF(bar.right(), y), QtCore.QPointF(bar.right() + 4, y))
            text(
                painter,
                QtCore.QRectF(bar.right() + 7, y - 8, 60, 16),
                minus_signs(f"{round(value, 9):g}"),
                points=FINE,
            )
        text(
            painter,
            QtCore.QRectF(bar.right() + 70, bar.top(), SIDE - BAR - 70, bar.height()),
            f"highest: {picture.peak.value:.2g},\n{picture.peak.contrast:.0f} times the\n"
            "scatter of\nthe picture",
            GREY,
            FINE,
            align=WRAPPED,
        )
        y = bar.bottom() + 12
        tall = [text_height(words, SIDE, FINE) for _, words in picture.lines]
        if y + sum(tall) + 18 * len(tall) <= height:
            for (name, words), room in zip(picture.lines, tall):
                text(painter, QtCore.QRectF(left, y, SIDE, 14), name, GREY, FINE)
                text(
                    painter,
                    QtCore.QRectF(left, y + 14, SIDE, room),
                    words,
                    points=FINE,
                    align=WRAPPED,
                )
                y += 18 + room
            return
        # a small window
        for name, words in picture.lines:
            words = f"{name}: {words}"
            room = text_height(words, SIDE, FINE)
            text(painter, QtCore.QRectF(left, y, SIDE, room), words, points=FINE, align=WRAPPED)
            y += room + 3
