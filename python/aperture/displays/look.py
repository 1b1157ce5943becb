#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The style of displays: one set of fonts, colours and axes, with a label and a unit on each axis.

Qt and pyqtgraph are needed to import this module, and a QApplication to use it. What a display
computes belongs into modules that do not import this one.
"""

import datetime
import functools
import math
import os
import traceback

# GNU Radio's QT GUI is PyQt5's, whatever else there is for pyqtgraph to take
os.environ.setdefault("PYQTGRAPH_QT_LIB", "PyQt5")

import numpy as np
import pyqtgraph
from PyQt5 import QtCore, QtGui, QtWidgets

from .. import logged
from ..plots.style import COLOURS
from ..plots.time_axis import STEPS

INK, PAPER, FAINT = "#202020", "#FFFFFF", "#A0A0A0"
HEADLINE_POINTS, TITLE_POINTS, LABEL_POINTS, TICK_POINTS = 11, 11, 10, 9
#: colours of amplitudes and powers; and of phases, where both ends are the same
AMPLITUDE_MAP, PHASE_MAP = "viridis", "CET-C6"
ERROR_PAUSE = 300  # ms from one look for errors to the next
LEAST_PAUSE = 100  # ms from one drawing to the next
#: at most this part of the time is spent with drawing, as long as that takes
LARGEST_SHARE = 0.1
#: pixels. Qt takes 1 ms of a processor for a smooth curve of a thousand points, and 100 ms where
#: it is any wider
LINE_WIDTH = 1

pyqtgraph.setConfigOptions(
    background=PAPER, foreground=INK, antialias=True, imageAxisOrder="row-major"
)


def font(points, bold=False):
    """The displays' font in one of the sizes above."""
    made = QtGui.QFont("DejaVu Sans", points)
    made.setBold(bold)
    return made


def colour(number):
    """The colour of the curve with this number, of any number."""
    return COLOURS[number % len(COLOURS)]


def pen(number, width=LINE_WIDTH, dashed=False):
    """The pen of the curve with this number."""
    style = QtCore.Qt.DashLine if dashed else QtCore.Qt.SolidLine
    return pyqtgraph.mkPen(colour(number), width=width, style=style)


def label_text(name, unit=""):
    """Returns the label of an axis: "frequency (MHz)"; no unit for pure numbers."""
    return f"{name} ({unit})" if unit else name


def set_label(plot, side, name, unit=""):
    """
    Labels an axis of a plot.

    side: "left", "bottom", "right" or "top"; values are drawn in just this unit, without prefixes
    of pyqtgraph's own
    """
    axis = plot.getAxis(side)
    axis.enableAutoSIPrefix(False)
    axis.setLabel(label_text(name, unit), **{"font-size": f"{LABEL_POINTS}pt", "color": INK})
    axis.setStyle(tickFont=font(TICK_POINTS))
    axis.setTextPen(INK)


def set_title(plot, text):
    """Writes a title above a plot, in the place of the one before."""
    plot.setTitle(text, size=f"{TITLE_POINTS}pt", color=INK)


#: seconds between the marks of an axis of UTC
UTC_SPACINGS = (0.1, 0.2, 0.5, *STEPS[:-1])


def utc_spacing(length, most):
    """Seconds between marks of so many seconds, such that at most so many fit, and one more at the
    end: round times of a day. It depends on the length alone, so that marks of an axis that moves
    on stay where they are."""
    for spacing in UTC_SPACINGS:
        if length <= most * spacing:
            return spacing
    return 86400 * math.ceil(length / 86400 / most)


class UtcAxis(pyqtgraph.DateAxisItem):
    """An axis of UTC seconds since 1970, labelled with times and, at its label, the date."""

    LABEL = 90  # pixels that a label needs, with what parts it from the next one

    def __init__(self, orientation="bottom"):
        super().__init__(orientation, utcOffset=0)

    def tickValues(self, minVal, maxVal, size):
        """pyqtgraph's: two to seven labels in all, however long the axis is in time."""
        room = self.LABEL if self.orientation in ("bottom", "top") else self.LABEL / 3
        most = max(3, min(6, int(size / room)))
        spacing = utc_spacing(maxVal - minVal, most)
        first = math.ceil(minVal / spacing)
        return [(spacing, [n * spacing for n in range(first, math.floor(maxVal / spacing) + 1)])]

    def tickStrings(self, values, scale, spacing):
        """pyqtgraph's: always with the hour, and as fine as the ticks lie."""
        form = "%H:%M" if spacing >= 60 else "%H:%M:%S"
        texts = []
        for value in values:
            try:
                time = datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
            except (ValueError, OverflowError, OSError):
                texts.append("")
                continue
            tenths = f".{time.microsecond // 100000}" if spacing < 1 else ""
            texts.append(time.strftime("%m-%d" if spacing >= 86400 else form) + tenths)
        return texts

    def set_date(self, seconds):
        """Labels the axis with the date of a time; seconds: since 1970, None: not known."""
        text = "UTC"
        if seconds is not None and np.isfinite(seconds):
            date = QtCore.QDateTime.fromMSecsSinceEpoch(int(1000 * seconds), QtCore.Qt.UTC)
            text = f"UTC, {date.toString('yyyy-MM-dd')}"
        self.setLabel(text, **{"font-size": f"{LABEL_POINTS}pt", "color": INK})


def plot(title, x=("", ""), y=("", ""), utc=None):
    """
    A plot with a title, labels and a grid.

    Parameters
    ----------
    title : str
    x, y : tuple of str
        Name and unit of the axes.
    utc : str, optional
        Side ("bottom" or "left") of an axis that shows UTC, for seconds since 1970.

    Returns
    -------
    pyqtgraph.PlotWidget
    """
    axes = {utc: UtcAxis(utc)} if utc else {}
    made = pyqtgraph.PlotWidget(axisItems=axes)
    item = made.getPlotItem()
    set_title(item, title)
    for side, (name, unit) in (("bottom", x), ("left", y)):
        set_label(item, side, name, unit)
    if utc:
        axes[utc].set_date(None)
    item.showGrid(x=True, y=True, alpha=0.2)
    item.hideButtons()
    item.setMenuEnabled(False)
    return made


def legend(made, columns=2):
    """A legend in the upper left of a plot, for curves with names; add curves afterwards."""
    item = made.getPlotItem().addLegend(
        offset=(8, 4), colCount=columns, labelTextSize="9pt", labelTextColor=INK
    )
    item.setBrush(pyqtgraph.mkBrush(255, 255, 255, 200))
    return item


def round_values(low, high, most=6):
    """At most so many values between two limits that are easy to read: multiples of 1, 2 or 5
    times a power of ten; quarters of a cycle for -180 to 180."""
    if (low, high) == (-180, 180):
        return [-180, -90, 0, 90, 180]
    step = 10.0 ** np.floor(np.log10((high - low) / most))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= most)
    return [
        float(step * number)
        for number in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)
    ]


class Picture:
    """
    A plot that shows an array in colours, with a bar that says what they mean.

    widget: to be put into a layout; item: the plot's, for axes and marks on it.
    """

    def __init__(
        self,
        title,
        x=("", ""),
        y=("", ""),
        values=("", ""),
        utc=None,
        colours=AMPLITUDE_MAP,
        levels=(0.0, 1.0),
    ):
        self.widget = plot(title, x, y, utc)
        self.item = self.widget.getPlotItem()
        self.item.showGrid(x=False, y=False)
        self.item.getViewBox().setDefaultPadding(0)
        self.image = pyqtgraph.ImageItem()
        self.item.addItem(self.image)
        self._bar = pyqtgraph.ColorBarItem(
            values=levels,
            width=14,
            colorMap=pyqtgraph.colormap.get(colours),
            label=label_text(*values),
            interactive=False,
        )
        self._bar.setImageItem(self.image, insert_in=self.item)
        self._bar.getAxis("right").setStyle(tickFont=font(TICK_POINTS))
        self.set_values(*values)
        self.set_levels(*levels)

    def set_values(self, name, unit=""):
        """Labels the bar of colours."""
        set_label(self._bar, "left", name, unit)

    def set_levels(self, low, high):
        """The values that have the first and the last colour."""
        if low < high:
            self._bar.setLevels((low, high))
            self._bar.getAxis("right").setTicks(
                [[(value, f"{value:g}".replace("-", "−")) for value in round_values(low, high)]]
            )

    def set_colours(self, name):
        """One of pyqtgraph's maps of colours."""
        self._bar.setColorMap(pyqtgraph.colormap.get(name))

    def show(self, values, left, bottom, width, height):
        """
        Draws an array [row][column], row 0 at the bottom; NaN is transparent.

        left, bottom: outer edges of the first column and row, in the units of the axes; width and
        height: of all of them
        """
        self.image.setImage(np.asarray(values, np.float32), autoLevels=False)
        self.image.setRect(QtCore.QRectF(left, bottom, width, height))


def headline(text=""):
    """A line of text in large letters, which says in words what the display shows."""
    made = QtWidgets.QLabel(text)
    made.setFont(font(HEADLINE_POINTS, bold=True))
    made.setStyleSheet(f"color: {INK}; background: {PAPER}; padding: 4px;")
    made.setTextInteractionFlags(QtCore.Qt.TextSelectableByMouse)
    # a long text must not widen the window
    made.setSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Preferred)
    return made


def note(text=""):
    """A line of text in small letters."""
    made = headline(text)
    made.setFont(font(TICK_POINTS))
    return made


#: widgets by number. The garbage collector may run in the thread of a block in Python, where a
#: widget must not be destroyed: so they live until Qt destroys them
_alive = {}


class Panel(QtWidgets.QWidget):
    """
    The widget of a display: white, with a headline, `choices` below and a `grid` for plots.

    size: width and height in pixels that it has by itself, and which it never goes below two
    thirds of

    Errors that GNU Radio logs from now on are told above the plots, since they end a flowgraph and
    leave its window. A window that is too small for what is in it is enlarged as it opens.

    It lives until its parent is destroyed, or deleteLater() is called.
    """

    def __init__(self, size, parent=None):
        super().__init__(parent)
        _alive[id(self)] = self
        self.destroyed.connect(functools.partial(_alive.pop, id(self), None))
        self._size = QtCore.QSize(*size)
        self.setMinimumSize(self._size * 2 / 3)
        self.setAutoFillBackground(True)
        palette = self.palette()
        palette.setColor(QtGui.QPalette.Window, QtGui.QColor(PAPER))
        palette.setColor(QtGui.QPalette.WindowText, QtGui.QColor(INK))
        self.setPalette(palette)
        self.setSizePolicy(QtWidgets.QSizePolicy.Expanding, QtWidgets.QSizePolicy.Expanding)
        box = QtWidgets.QVBoxLayout(self)
        box.setContentsMargins(4, 4, 4, 4)
        box.setSpacing(4)
        self.headline = headline()
        box.addWidget(self.headline)
        self.errors = headline()
        self.errors.setWordWrap(True)
        self.errors.setStyleSheet(f"color: {PAPER}; background: {COLOURS[1]}; padding: 4px;")
        self.errors.hide()
        box.addWidget(self.errors)
        self._logged = logged.count()
        watch = QtCore.QTimer(self)
        watch.timeout.connect(self._look_for_errors)
        watch.start(ERROR_PAUSE)
        self._is_new = True
        self.choices = QtWidgets.QHBoxLayout()  # below it: what the user chooses
        box.addLayout(self.choices)
        self.grid = QtWidgets.QGridLayout()
        self.grid.setSpacing(4)
        box.addLayout(self.grid, 1)

    def sizeHint(self):
        """Qt's name of the size that a widget has by itself."""
        return self._size

    def _look_for_errors(self):
        """The first one is the cause of those that follow."""
        if self.errors.isVisibleTo(self):
            return
        found = logged.after(self._logged)
        if found:
            name, text = (part.decode("utf-8", "backslashreplace") for part in found[0])
            self.errors.setText(f"Error in {name}: {text}")
            self.errors.setToolTip(self.errors.text())
            # without this the layout would give plots the heights that they have by themselves, and
            # scroll
            policy = self.errors.sizePolicy()
            policy.setHeightForWidth(False)
            self.errors.setSizePolicy(policy)
            self.errors.setFixedHeight(self.errors.heightForWidth(max(self.width() - 8, 200)))
            self.errors.show()

    def showEvent(self, event):
        """Qt's: as it opens, the window gets room for all that is in it."""
        super().showEvent(event)
        if self._is_new:
            self._is_new = False
            # not before all of the window is laid out
            QtCore.QTimer.singleShot(0, functools.partial(enlarge, self.window()))


def enlarge(window):
    """
    Makes a window as large as what scrolls in it, so that nothing has to, as far as the screen
    goes: GNU Radio Companion's opens with a size that knows nothing of what is in it.

    One that fills the screen, or that GNU Radio Companion opens as the user has left it, stays.
    """
    settings = getattr(window, "settings", None)
    if (
        window.isMaximized()
        or window.isFullScreen()
        or (isinstance(settings, QtCore.QSettings) and settings.contains("geometry"))
    ):
        return
    size = QtCore.QSize(window.size())
    for area in window.findChildren(QtWidgets.QScrollArea):
        if area.widget() is not None and area.findChildren(Panel):
            missing = area.widget().sizeHint() - area.viewport().size()
            size += QtCore.QSize(max(missing.width(), 0), max(missing.height(), 0))
    screen = (
        window.screen().availableGeometry()
        if hasattr(window, "screen")
        else QtWidgets.QApplication.desktop().availableGeometry(window)
    )
    border = window.frameGeometry().size() - window.size()
    size = size.boundedTo(screen.size() - border)
    if size == window.size():
        return
    window.resize(size)
    # the window stays on the screen
    frame = window.frameGeometry()
    window.move(
        max(screen.left(), min(frame.left(), screen.right() - frame.width() + 1)),
        max(screen.top(), min(frame.top(), screen.bottom() - frame.height() + 1)),
    )


class Ticker(QtCore.QObject):
    """
    Calls a function in Qt's thread at most ten times a second, and less often where it takes
    long: drawing never takes more than a tenth of the time, so that the flowgraph's blocks in
    Python, which wait for it, are not held up.

    An exception in the function is written to the log once and handed to `failed` (the text);
    it ends the ticking, not the program.
    """

    def __init__(self, function, failed, parent=None):
        super().__init__(parent)
        self._function, self._failed = function, failed
        self._clock = QtCore.QElapsedTimer()
        self._timer = QtCore.QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tick)
        self._timer.start(LEAST_PAUSE)

    def stop(self):
        """Ends the calls."""
        self._timer.stop()

    def _tick(self):
        self._clock.start()
        try:
            self._function()
        except Exception as error:
            traceback.print_exc()
            self._failed(f"{type(error).__name__}: {error}")
            return
        took = self._clock.nsecsElapsed() / 1e6
        self._timer.start(max(LEAST_PAUSE, int(took / LARGEST_SHARE)))
