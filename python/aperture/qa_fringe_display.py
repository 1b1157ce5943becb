#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""fringe_display: what its window says is what was simulated, on every device."""

import dataclasses
import os
import re
import tempfile
import time
import warnings

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest
from PyQt5 import QtCore, QtWidgets

from gnuradio.aperture.streams.python_block import python_block
from gnuradio.aperture.testing.qa_tools import DEVICE, PATIENCE, run_chain

DEVICES = sorted({"cpu", "emulated", DEVICE})
CHANNELS, SPECTRA = 62, 33
#: the delay of two-dish: B is 10 m east of A, the source at azimuth 150, elevation 30, degrees
DELAY = -10 * np.sin(np.radians(150)) * np.cos(np.radians(30)) / 299792458

application = QtWidgets.QApplication([])


def chain(display, device="cpu", samples=2_000_000, **options):
    """A simulated interferometer, its correlator with integrations of 0.1 s, and a display."""
    top = gr.top_block()
    source = aperture.array_source(samples=samples, **options)
    engine = aperture.f_engine(
        channels=CHANNELS, spectra_per_frame=SPECTRA, device=device, inputs=display.record._inputs
    )
    correlator = aperture.xengine(
        channels=CHANNELS,
        spectra_per_frame=SPECTRA,
        integration=0.1,
        integration_unit="seconds",
        device=device,
        inputs=display.record._inputs,
    )
    for port in range(display.record._inputs):
        top.connect((source, port), (engine, port))
    top.connect(engine, correlator, display)
    return top


def settle(widget, until):
    """Lets the window draw until something holds."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        application.processEvents()
        if until():
            return
        time.sleep(0.01)
    raise AssertionError(f"the window says {widget.text()!r}")


class qa_fringe_display(gr_unittest.TestCase):
    def test_says_what_was_simulated(self):
        for device in DEVICES:
            with self.subTest(device=device):
                display = aperture.fringe_display(CHANNELS, 2, array="two-dish", device=device)
                widget = display.qwidget()
                widget.show()
                self.assertEqual(widget.text(), "no integrations yet")
                top = chain(display, device)
                top.run()
                settle(widget, lambda widget=widget: "coherence" in widget.text())
                said = re.fullmatch(
                    r"inputs A and B: coherence (\S+), delay (\S+) ns, "
                    r"phase standing still",
                    widget.text(),
                )
                self.assertTrue(said, widget.text())
                # a coherence of 1/2 over 8 integrations of 0.1 s of 2.4 MHz: 5e-4, and a delay to
                # 0.3 ns; some of the outer channels are in the simulator's filters
                self.assertAlmostEqual(float(said[1]), 0.5, delta=0.011)
                delay = float(said[2].replace("−", "-")) * 1e-9
                self.assertAlmostEqual(delay, DELAY, delta=1.3e-9)
                self.assertEqual(widget.delay_marked(), f"{said[2]} ns")
                # at the middle of the band
                phase = -2 * np.pi * display.record.channels.middle * DELAY
                self.assertLess(
                    abs(np.angle(np.exp(1j * (display.fringe().phase - phase)))), np.radians(1)
                )
                self.assertEqual(display.record.channels.count, CHANNELS)
                # channel n/2 has that frequency: the middle is half a channel below
                self.assertAlmostEqual(
                    display.record.channels.middle, 1420.4e6 - 1.2e6 / CHANNELS, delta=1
                )
                # the middle of the first integration, of 2009-12-01's ... of 2024-01-01
                times = display.record.curves((0, 1))[0]
                self.assertLess(abs(times[0] - 1704067200.05), 2e-3)
                self.assertEqual(display.nitems_read(0), 9)

    def test_three_inputs(self):
        """Curves of all baselines; another one can be chosen, and changes the sign of its delay."""
        array = aperture.load_array("two-dish")
        array = dataclasses.replace(
            array,
            antennas=[*array.antennas, aperture.Antenna("C", (0.0, 25.0, 0.0))],
            inputs=[*array.inputs, aperture.Input("C", "x")],
        )
        display = aperture.fringe_display(CHANNELS, 3, array=array, baselines=[("C", "A")])
        self.assertEqual(display.names, ["A", "B", "C"])
        widget = display.qwidget()
        widget.show()
        chain(display, array=array).run()
        settle(widget, lambda: "coherence" in widget.text())
        # C hears a source in the south later, so that A is earlier
        north = 25 * np.cos(np.radians(150)) * np.cos(np.radians(30)) / 299792458
        self.assertAlmostEqual(display.fringe().delay, north, delta=2e-9)
        self.assertIn("inputs C and A", widget.text())
        offered = [widget._choice.itemText(i) for i in range(widget._choice.count())]
        self.assertEqual(offered, ["C–A", "A–B", "A–C", "B–C"])
        widget._choice.setCurrentIndex(1)
        self.assertEqual(display.record.baselines, [(2, 0), (0, 1)])
        self.assertEqual(widget.text(), "inputs A and B: no data")
        widget._choice.setCurrentIndex(3)
        self.assertEqual(display.record.baselines, [(2, 0), (1, 2)])
        widget._quantity.setCurrentIndex(1)
        widget._choice.setCurrentIndex(0)
        self.assertEqual(display.record.baselines, [(2, 0)])
        self.assertIn("coherence", widget.text())

    def test_without_a_window(self):
        """A flowgraph runs without the widget, and so does one whose widget is not drawn."""
        display = aperture.fringe_display(CHANNELS, 2)
        chain(display).run()
        self.assertEqual(display.nitems_read(0), 9)
        self.assertIs(display.update(), True)
        self.assertIs(display.update(), False)
        self.assertAlmostEqual(display.fringe((0, 1)).delay, DELAY, delta=1.3e-9)

    def test_no_bandwidth(self):
        """Items that do not say their bandwidth are told to the user."""
        display = aperture.fringe_display(4, 2)
        widget = display.qwidget()
        widget.show()
        run_chain(blocks.null_source(96), blocks.head(96, 3), display)
        settle(widget, lambda: "bandwidth" in widget.text())

    def test_gaps_alone(self):
        """The window is empty, and nothing is warned of, as long as nothing has been counted."""
        display = aperture.fringe_display(4, 2)
        widget = display.qwidget()
        widget.show()
        tags = [gr.tag_t() for _ in range(3)]
        for tag, (key, value) in zip(
            tags,
            (
                ("rx_time", pmt.make_tuple(pmt.from_uint64(1704067200), pmt.from_double(0))),
                ("rx_rate", pmt.from_double(10)),
                ("bandwidth", pmt.from_double(1e6)),
            ),
        ):
            tag.key, tag.value = pmt.intern(key), value
        top = gr.top_block()
        top.connect(blocks.vector_source_c([0] * 36, False, 12, tags), display)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            top.run()
            settle(widget, lambda: widget.text() and display.record.channels is not None)
            application.processEvents()
        self.assertEqual([str(warning.message) for warning in warned], [])

    def test_lags_that_there_are(self):
        """At 97 samples of delay the axis of lags ends at the 128 of 256 channels, and coherences
        are not above 1 anywhere on it."""
        display = aperture.fringe_display(256, 2)
        widget = display.qwidget()
        widget.show()
        rate = 2.4e6
        phase = np.exp(-2j * np.pi * np.arange(256) / 256 * 97)
        products = np.stack([np.ones(256), phase, np.ones(256)], axis=1)
        tags = [gr.tag_t() for _ in range(3)]
        for tag, (key, value) in zip(
            tags,
            (
                ("rx_time", pmt.make_tuple(pmt.from_uint64(1704067200), pmt.from_double(0))),
                ("rx_rate", pmt.from_double(10)),
                ("bandwidth", pmt.from_double(rate)),
            ),
        ):
            tag.key, tag.value = pmt.intern(key), value
        top = gr.top_block()
        top.connect(
            blocks.vector_source_c(np.tile(products.ravel(), 3), False, 256 * 3, tags), display
        )
        top.run()
        settle(widget, lambda: "coherence" in widget.text())
        self.assertIn("µs (or n · 106.667 µs more or less)", widget.text())
        (line,) = [
            curve for curve in widget.lags.getPlotItem().listDataItems() if curve.xData is not None
        ]
        self.assertAlmostEqual(line.xData[-1], 128 / rate * 1e6, places=6)
        self.assertLess(line.yData.max(), 1.001)
        # the middle of a lag is half a channel off that of the axis' 401 points
        self.assertLess(abs(line.xData[np.argmax(line.yData)] - 97 / rate * 1e6), 0.3)
        self.assertIn("repeats every 106.7 µs", widget.lags.getPlotItem().titleLabel.text)

    def test_error_of_another_block(self):
        """An error that ends the flowgraph is in the window, which stays; here that nobody says the
        rate, in the words of GNU Radio Companion, and an exception of a block in Python."""

        class broken(python_block):
            def __init__(self):
                super().__init__("broken", [np.complex64], [np.complex64])

            def _work(self, input_items, output_items):
                raise RuntimeError("no torch")

        for block, said in (
            (None, "Sample Rate of FX Correlator"),
            (None, "Receiver Tags behind"),
            (broken, "broken: RuntimeError: no torch"),
        ):
            display = aperture.fringe_display(CHANNELS, 2)
            widget = display.qwidget()
            widget.show()
            correlator = aperture.fx_correlator(CHANNELS, 0.1, sample_rate=1e6 if block else 0)
            top = gr.top_block()
            for port in range(2):
                source = blocks.vector_source_c(np.ones(100000))
                if block is None:
                    top.connect(source, (correlator, port))
                else:
                    top.connect(source, block(), (correlator, port))
            top.connect(correlator, display)
            self.assertFalse(widget.errors.isVisible())
            top.run()
            settle(widget, lambda widget=widget: widget.errors.isVisible())
            self.assertIn(said, widget.errors.text())

    def test_inputs_that_are_not_aligned(self):
        """The window names them, with the reason, until they are; others are as they were."""
        rng = np.random.default_rng(47)
        display = aperture.fringe_display(CHANNELS, 3, names=["A", "B", "C"])
        widget = display.qwidget()
        widget.show()
        align = aperture.stream_align(inputs=3, search_samples=1 << 14, most_offset=1 << 12)
        correlator = aperture.fx_correlator(CHANNELS, 0.01, inputs=3)
        top = gr.top_block()
        common = rng.normal(size=300_000)
        for port in range(3):
            own = rng.normal(size=(300_000, 2)) @ [1, 1j] + (common if port < 2 else 0)
            tags = aperture.receiver_tags(item_size=8, rate=1e6, center_frequency=1e8)
            top.connect(blocks.vector_source_c(own.astype(np.complex64)), tags, (align, port))
            top.connect((align, port), (correlator, port))
        top.connect(correlator, display)
        top.msg_connect(align, "status", display, "status")
        top.run()
        settle(widget, lambda: display.not_aligned((0, 2)) and "coherence" in widget.text())
        self.assertEqual(display.not_aligned((0, 1)), "")
        self.assertRegex(widget.text(), "inputs A and B: coherence")
        widget._choice.setCurrentIndex(1)
        self.assertRegex(
            widget.text(), "inputs A and C are not aligned: these inputs do not correlate"
        )
        self.assertEqual(widget.headline.toolTip(), widget.text())
        self.assertIn("B–C: not aligned", widget._others.text())
        display._take_status("aligned", pmt.to_pmt({"port": 2}))
        settle(widget, lambda: "not aligned" not in widget.text())
        # a clock that is not followed is said beside the curves, until the input is measured
        message = {"port": 2, "reason": "the phase of inputs 2 and 0 rotates 5 times a second"}
        display._take_status("clock_drift", pmt.to_pmt(message))
        settle(widget, lambda: "rotates 5 times a second" in widget.text())
        self.assertEqual(display.drifting((0, 1)), "")
        display._take_status("aligned", pmt.to_pmt({"port": 2}))
        settle(widget, lambda: "rotates" not in widget.text())

    def test_size_of_the_window(self):
        """A window as GNU Radio Companion makes it opens as large as what is in it, as far as the
        screen goes; one that a user has left at another size stays so."""
        for geometry in (None, QtCore.QByteArray(b"as it was left")):
            display = aperture.fringe_display(CHANNELS, 2)
            window, area, inside = (
                QtWidgets.QWidget(),
                QtWidgets.QScrollArea(),
                QtWidgets.QWidget(),
            )
            QtWidgets.QVBoxLayout(window).addWidget(area)
            area.setWidgetResizable(True)
            area.setWidget(inside)
            QtWidgets.QVBoxLayout(inside).addWidget(display.qwidget())
            window.settings = QtCore.QSettings(
                os.path.join(tempfile.mkdtemp(), "a.ini"), QtCore.QSettings.IniFormat
            )
            if geometry is not None:
                window.settings.setValue("geometry", geometry)
            window.show()
            first = window.size()
            for _ in range(10):
                application.processEvents()
            screen = application.primaryScreen().availableGeometry()
            self.assertLess(first.width(), display.qwidget().sizeHint().width())
            if geometry is not None:
                self.assertEqual(window.size(), first)
                continue
            missing = inside.sizeHint() - area.viewport().size()
            self.assertTrue(
                missing.width() <= 0 or window.frameGeometry().width() == screen.width()
            )
            self.assertTrue(
                missing.height() <= 0 or window.frameGeometry().height() == screen.height()
            )

    def test_error_in_drawing(self):
        """An exception while it draws is shown, and ends neither the program nor the stream."""
        display = aperture.fringe_display(CHANNELS, 2)
        widget = display.qwidget()
        widget.show()

        def fail():
            raise RuntimeError("out of paint")

        display.update = fail
        settle(widget, lambda: "out of paint" in widget.text())
        chain(display).run()
        self.assertEqual(display.nitems_read(0), 9)

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(inputs=1), "inputs: 1 .*2 to 4096"),
            (dict(channels=0), "channels: 0"),
            (dict(channels=1.5), "channels: 1.5"),
            (dict(channels=2**24, inputs=7), "channels.*3758096384"),
            (dict(history=1), "history: 1 "),
            (dict(window=0), "window: 0 "),
            (dict(names=["A"]), "names.*2 different"),
            (dict(array="two-dish", inputs=3), "inputs: 3 .*two-dish"),
            (dict(baselines=[(0, 2)]), r"baselines: \(0, 2\)"),
            (dict(baselines=[("A", "B")]), "baselines.*0, 1"),
            (dict(baselines=[(0, 0)]), "baselines"),
            (dict(baselines=[3]), "baselines: 3"),
            (dict(device="toaster"), "toaster"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.fringe_display(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_fringe_display)
