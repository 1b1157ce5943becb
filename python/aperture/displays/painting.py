#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Text and colours for the displays that paint by themselves, in the fonts of look.py."""

from PyQt5 import QtCore, QtGui, QtWidgets

from . import look

INK = QtGui.QColor(look.INK)
PAPER = QtGui.QColor(look.PAPER)
GREY = QtGui.QColor("#606060")
LIGHT = QtGui.QColor("#DCDCDC")
#: colours: good, wants attention, wrong
GOOD, WARN, BAD = (QtGui.QColor(name) for name in ("#00785A", "#B86E00", "#C82828"))
CENTER = QtCore.Qt.AlignCenter
LEFT = QtCore.Qt.AlignLeft | QtCore.Qt.AlignVCenter
RIGHT = QtCore.Qt.AlignRight | QtCore.Qt.AlignVCenter
WRAPPED = QtCore.Qt.AlignLeft | QtCore.Qt.AlignTop | QtCore.Qt.TextWordWrap


def text(painter, box, words, colour=INK, points=look.TICK_POINTS, bold=False, align=LEFT):
    """Writes words into a QRectF."""
    painter.setFont(look.font(points, bold))
    painter.setPen(colour)
    painter.drawText(box, int(align), words)


def around(point, width, height):
    """The QRectF with a point in its middle."""
    return QtCore.QRectF(point.x() - width / 2, point.y() - height / 2, width, height)


def text_width(words, points=look.TICK_POINTS, bold=False):
    """Pixels of one line."""
    return QtGui.QFontMetricsF(look.font(points, bold)).horizontalAdvance(words)


def text_height(words, width, points=look.TICK_POINTS):
    """Pixels of words that are wrapped at a width."""
    metrics = QtGui.QFontMetricsF(look.font(points))
    return metrics.boundingRect(QtCore.QRectF(0, 0, width, 1e4), int(WRAPPED), words).height()


class Canvas(QtWidgets.QWidget):
    """A white surface that a function paints: paint(painter, width, height)."""

    def __init__(self, paint, parent=None):
        super().__init__(parent)
        self._paint = paint
        self.setSizePolicy(QtWidgets.QSizePolicy.Expanding, QtWidgets.QSizePolicy.Expanding)

    def paintEvent(self, _):
        """Qt's name of what paints a widget."""
        painter = QtGui.QPainter(self)
        painter.setRenderHints(
            QtGui.QPainter.Antialiasing
            | QtGui.QPainter.TextAntialiasing
            | QtGui.QPainter.SmoothPixmapTransform
        )
        painter.fillRect(self.rect(), PAPER)
        self._paint(painter, self.width(), self.height())
        painter.end()
