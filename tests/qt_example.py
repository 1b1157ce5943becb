# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
qt_example.py FLOWGRAPH.py SECONDS PICTURE.png [R,G,B [PATTERN ...]]

Runs a flowgraph that GRC generated for QT: for so many seconds, with every range moved and every
button pressed on the way, and grabs its window. On a busy machine these are seconds of what its
throttles have let through, and it goes on, for PATIENCE at most, until every QT sink has got
something, a curve of this colour (each of 0 to 1) is drawn, and what the sinks say matches every
regular expression. Fails if anything raises, in the window's slots too, if nothing arrives at a QT
sink, or if a part of the window as it opens is hidden.
"""

import importlib.util
import pathlib
import re
import sys
import time
import traceback

import numpy as np
from gnuradio import blocks, qtgui
from PyQt5 import Qt

PATIENCE = 120  # s
LOOK = 100  # ms
CURVE = 400  # points of its colour; legends alone have 64


def load(path):
    """The module of a flowgraph, which takes itself for the program that was started, as when GNU
    Radio Companion starts it."""
    path = path.resolve()
    sys.modules["__main__"].__file__ = str(path)
    # embedded Python blocks are modules beside it
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Signal:
    """The seconds of signal that have come through the throttles of a flowgraph, whose rates may
    change; of the clock's where there is none."""

    def __init__(self, window):
        self._throttles = [
            block for block in vars(window).values() if isinstance(block, blocks.throttle)
        ]
        self._items, self._seconds = [0] * len(self._throttles), [0.0] * len(self._throttles)
        self._start = time.monotonic()

    def seconds(self):
        for number, throttle in enumerate(self._throttles):
            items = throttle.nitems_written(0)
            self._seconds[number] += (items - self._items[number]) / throttle.sample_rate()
            self._items[number] = items
        return min([time.monotonic() - self._start, *self._seconds])


def points_of(pixels, colour):
    """Returns how many points of a picture [y][x][channel], 0 to 1, have about this colour."""
    return int((abs(pixels[..., :3] - np.array(colour)).sum(axis=-1) < 0.3).sum())


def pixels_of(window):
    """Returns what a window shows."""
    image = window.grab().toImage().convertToFormat(Qt.QImage.Format_RGB32)
    data = image.constBits().asstring(image.byteCount())
    blue_first = np.frombuffer(data, np.uint8).reshape(image.height(), image.width(), 4)
    return blue_first[..., 2::-1] / 255


def main(path, seconds, picture, colour=None, patterns=()):
    raised = []
    # exceptions in slots end here, and not in exec_()
    sys.excepthook = lambda *what: (raised.append(what), traceback.print_exception(*what))

    application = Qt.QApplication(sys.argv[:1])
    path = pathlib.Path(path)
    module = load(path)
    window = getattr(module, path.stem)()
    # the generated main() calls snippets, where there are any
    getattr(module, "snippets_main_after_init", lambda _: None)(window)
    window.start()
    window.show()

    def move_ranges():
        for slider in window.findChildren(Qt.QSlider):
            slider.setValue((slider.minimum() + 3 * slider.maximum()) // 4)

    def press_buttons():
        for button in window.findChildren(qtgui.MsgPushButton):
            button.click()

    sinks = {
        name: block
        for name, block in vars(window).items()
        if hasattr(block, "qwidget") and hasattr(block, "nitems_read")
    }

    def items():
        return {name: block.nitems_read(0) for name, block in sinks.items()}

    def said():
        return "\n".join(
            f"{name} says: {block.qwidget().text()}"
            for name, block in sinks.items()
            if hasattr(block.qwidget(), "text")
        )

    def everything_came():
        text = said()
        return (
            min(items().values(), default=0) >= 2
            and all(re.search(pattern, text) for pattern in patterns)
            and (colour is None or points_of(pixels_of(window), colour) > CURVE)
        )

    hidden = []

    def finish():
        # the window opens on a laptop's screen: all of every plot and slider is in the window
        if window.width() > 1366 or window.height() > 700:
            hidden.append(f"the window has {window.width()} x {window.height()}")
        for name, part in vars(window).items():
            if name.endswith("_win") and isinstance(part, Qt.QWidget):
                seen = part.visibleRegion().boundingRect()
                if seen != part.rect() or part.rect().isEmpty():
                    hidden.append(f"{name}: {seen.size()} of {part.size()} are seen")
        if not window.grab().save(picture):
            raise OSError(f"{picture} could not be written")
        application.quit()

    signal, give_up = Signal(window), time.monotonic() + seconds + PATIENCE
    steps = [(0.4 * seconds, move_ranges), (0.6 * seconds, press_buttons)]

    def look():
        late = time.monotonic() > give_up
        now = signal.seconds()
        while steps and (now >= steps[0][0] or late):
            steps.pop(0)[1]()
        if late or now >= seconds and everything_came():
            timer.stop()
            finish()

    timer = Qt.QTimer()
    timer.timeout.connect(look)
    timer.start(LOOK)
    application.exec_()

    came = items()
    print("items:", came)
    print(said())
    window.stop()
    window.wait()
    if raised:
        return 1
    if hidden:
        print("\n".join(hidden))
        return 1
    if not came or min(came.values()) < 2:
        print("nothing arrived at a QT sink")
        return 1
    return 0


if __name__ == "__main__":
    curve = [float(part) for part in sys.argv[4].split(",")] if len(sys.argv) > 4 else None
    status = main(sys.argv[1], float(sys.argv[2]), sys.argv[3], curve, sys.argv[5:])
    sys.stdout.flush()
    sys.exit(status)
