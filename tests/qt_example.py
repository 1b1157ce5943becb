# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
qt_example.py FLOWGRAPH.py SECONDS PICTURE.png [--curve R,G,B [--points N]] [--says PATTERN] ...

Runs a flowgraph that GRC generated for QT: for so many seconds, with every range moved and every
button pressed on the way, and grabs its window. On a busy machine these are seconds of what its
throttles have let through, and it goes on until every QT sink has got something, a curve of this
colour (each of 0 to 1) has more than N points where the window had none before anything came, and
what the sinks say matches every regular expression. Fails if that has not come after --patience
more seconds, if anything raises, in the window's slots too, or if a part of the window as it opens
is hidden.
"""

import argparse
import importlib.util
import pathlib
import re
import sys
import time
import traceback

import numpy as np
from gnuradio import blocks, qtgui
from PyQt5 import Qt

LOOK = 100  # ms


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


def coloured(pixels, colour):
    """Returns which points [y][x] of a picture [y][x][channel], 0 to 1, have about this colour."""
    return abs(pixels[..., :3] - np.array(colour)).sum(axis=-1) < 0.3


def pixels_of(window):
    """Returns what a window shows."""
    image = window.grab().toImage().convertToFormat(Qt.QImage.Format_RGB32)
    data = image.constBits().asstring(image.byteCount())
    blue_first = np.frombuffer(data, np.uint8).reshape(image.height(), image.width(), 4)
    return blue_first[..., 2::-1] / 255


def options_of(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=pathlib.Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("picture")
    parser.add_argument("--curve", type=lambda text: [float(part) for part in text.split(",")])
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--says", action="append", default=[])
    parser.add_argument("--patience", type=float, default=120)
    return parser.parse_args(words)


def main(words):
    options = options_of(words)
    application, raised = Qt.QApplication(sys.argv[:1]), []

    def raises(*what):
        """Takes an exception in a slot, which would not end exec_()."""
        raised.append(what)
        traceback.print_exception(*what)
        Qt.QTimer.singleShot(0, application.quit)

    sys.excepthook = raises
    module = load(options.path)
    window = getattr(module, options.path.stem)()
    # the generated main() calls snippets, where there are any
    getattr(module, "snippets_main_after_init", lambda _: None)(window)

    # legends, and sinks of GNU Radio that draw zeros until items come
    window.show()
    application.processEvents()
    blank = coloured(pixels_of(window), options.curve) if options.curve else None
    window.start()
    wrong = []

    def drawn():
        points = coloured(pixels_of(window), options.curve)
        if points.shape == blank.shape:
            return int((points & ~blank).sum())
        # a text that came has made the window larger, and lines of zeros longer
        larger = np.maximum(1, np.divide(points.shape, blank.shape))
        return int(points.sum() - blank.sum() * larger.prod())

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

    def not_come():
        """Says what has not come, as a list of texts."""
        text, counts = said(), items()
        found = [f"nothing arrived at {name}" for name, count in counts.items() if count < 2]
        found += [f"no sink says {like}" for like in options.says if not re.search(like, text)]
        if not sinks:
            found.append("there is no QT sink")
        if options.curve and not found and drawn() <= options.points:
            found.append(f"the curve has {drawn()} points; more than {options.points} are expected")
        return found

    def finish():
        # the window opens on a laptop's screen: all of every plot and slider is in the window
        if window.width() > 1366 or window.height() > 700:
            wrong.append(f"the window has {window.width()} x {window.height()}")
        for name, part in vars(window).items():
            if name.endswith("_win") and isinstance(part, Qt.QWidget):
                seen = part.visibleRegion().boundingRect()
                if seen != part.rect() or part.rect().isEmpty():
                    wrong.append(f"{name}: {seen.size()} of {part.size()} are seen")
        if not window.grab().save(options.picture):
            raise OSError(f"{options.picture} could not be written")
        application.quit()

    signal = Signal(window)
    give_up = time.monotonic() + options.seconds + options.patience
    steps = [(0.4 * options.seconds, move_ranges), (0.6 * options.seconds, press_buttons)]

    def look():
        late = time.monotonic() > give_up
        now = signal.seconds()
        while steps and (now >= steps[0][0] or late):
            steps.pop(0)[1]()
        if late or now >= options.seconds and not not_come():
            timer.stop()
            wrong.extend(not_come() if late else [])
            finish()

    timer = Qt.QTimer()
    timer.timeout.connect(look)
    timer.start(LOOK)
    application.exec_()

    print("items:", items())
    print(said())
    window.stop()
    window.wait()
    print("\n".join(wrong))
    return int(bool(raised or wrong))


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.exit(status)
