# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
qt_example.py FLOWGRAPH.py SECONDS PICTURE.png

Runs a flowgraph that GRC generated for QT: for so many seconds, with every range moved and every
button pressed on the way, and grabs its window. Fails if anything raises, in the window's slots
too, if nothing arrives at a QT sink, or if a part of the window as it opens is hidden.
"""

import importlib.util
import pathlib
import sys
import traceback

from PyQt5 import Qt
from gnuradio import qtgui


def load(path):
    # embedded Python blocks are modules beside it
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(path, seconds, picture):
    raised = []
    # exceptions in slots end here, and not in exec_()
    sys.excepthook = lambda *what: (raised.append(what), traceback.print_exception(*what))

    application = Qt.QApplication(sys.argv[:1])
    path = pathlib.Path(path)
    module = load(path)
    window = getattr(module, path.stem)()
    # as the generated main() does, where there are any
    getattr(module, "snippets_main_after_init", lambda _: None)(window)
    window.start()
    window.show()

    def move_ranges():
        for slider in window.findChildren(Qt.QSlider):
            slider.setValue((slider.minimum() + 3 * slider.maximum()) // 4)

    def press_buttons():
        for button in window.findChildren(qtgui.MsgPushButton):
            button.click()

    hidden = []

    def finish():
        # as it opens, on a laptop's screen: all of every plot and slider is in the window
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

    Qt.QTimer.singleShot(int(400 * seconds), move_ranges)
    Qt.QTimer.singleShot(int(600 * seconds), press_buttons)
    Qt.QTimer.singleShot(int(1000 * seconds), finish)
    application.exec_()

    sinks = {name: block for name, block in vars(window).items() if hasattr(block, "qwidget")
             and hasattr(block, "nitems_read")}
    items = {name: block.nitems_read(0) for name, block in sinks.items()}
    print("items:", items)
    for name, block in sinks.items():
        if hasattr(block.qwidget(), "text"):
            print(f"{name} says: {block.qwidget().text()}")
    window.stop()
    window.wait()
    if raised:
        return 1
    if hidden:
        print("\n".join(hidden))
        return 1
    if not items or min(items.values()) < 2:
        print("nothing arrived at a QT sink")
        return 1
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
    sys.stdout.flush()
    sys.exit(status)
