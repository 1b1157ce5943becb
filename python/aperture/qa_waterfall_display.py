#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""waterfall_display: powers, their places in frequency and time, of every type of edge."""

import os
import time
from collections import namedtuple
from unittest import mock

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest
from PyQt5 import QtWidgets

from gnuradio.aperture.displays import look
from gnuradio.aperture.displays.waterfall_record import WaterfallRecord, levels_of
from gnuradio.aperture.testing.qa_tools import (
    DEVICE,
    PATIENCE,
    ByteSource,
    comes_true,
    run_chain,
    rx_time,
)

DEVICES = sorted({"cpu", "emulated", DEVICE})

#: the members of a snapshot_item that waterfall_display reads
Item = namedtuple("Item", "number time rate frequency tags data")

application = QtWidgets.QApplication([])


def run(display, items, tags=(), chunks=4):
    """Sends items [item][...] into a display."""
    data = np.ascontiguousarray(items).view(np.uint8).reshape(len(items), -1)
    source = ByteSource(data, tags, chunks)
    run_chain(source, display)


def settle(widget, until):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        application.processEvents()
        if until():
            return
        time.sleep(0.01)
    raise AssertionError(f"the window says {widget.text()!r}")


def tags(rate):
    return [
        (0, "rx_time", rx_time(1700000000)),
        (0, "rx_rate", rate),
        (0, "rx_freq", 1420.4e6),
        (0, "bandwidth", 2.1e6),
    ]


class qa_waterfall_display(gr_unittest.TestCase):
    def test_curves_are_one_pixel_wide(self):
        """Qt draws a noisy curve of 1024 points in 1 ms, and in 100 where it is wider than that."""
        widget = aperture.waterfall_display(21).qwidget()
        curves = widget.spectrum.getPlotItem().listDataItems()
        self.assertEqual([curve.opts["pen"].widthF() for curve in curves], [1.0])
        self.assertEqual({look.pen(number).widthF() for number in range(20)}, {1.0})

    def test_types(self):
        """The newest spectrum is the powers of the last item, of each type."""
        rng = np.random.default_rng(4)
        for device in DEVICES:
            for kind, rows in (("f32", 3), ("fc32", 1), ("sc8", 2)):
                with self.subTest(device=device, type=kind):
                    values = rng.integers(-100, 100, (5, rows, 21, 2)).astype(np.int8)
                    numbers = values.astype(float)
                    expected = numbers[..., 0] ** 2 + numbers[..., 1] ** 2
                    items = values
                    if kind == "fc32":
                        items = (numbers[..., 0] + 1j * numbers[..., 1]).astype(np.complex64)
                    elif kind == "f32":
                        items = expected.astype(np.float32)
                    display = aperture.waterfall_display(21, rows, kind, device=device)
                    # a slow edge: a line for each item that was taken
                    run(display, items, tags(2.0))
                    self.assertTrue(display.update())
                    for row in range(rows):
                        np.testing.assert_allclose(
                            display.record.spectrum(row), expected[-1, row], rtol=1e-6
                        )
                    # the middle of the last item
                    self.assertEqual(display.record.newest_time, 1700000002.25)

    def test_masks(self):
        """The waterfall of masks is the percentage of the slices that are flagged."""
        rng = np.random.default_rng(6)
        flags = rng.random((5, 21, 3, 10)) < 0.3
        display = aperture.waterfall_display(21, 3, "mask", slices=10)
        run(display, np.packbits(flags, axis=-1, bitorder="little"), tags(2.0))
        self.assertTrue(display.update())
        for row in range(3):
            np.testing.assert_allclose(
                display.record.spectrum(row), 100 * flags[-1, :, row].mean(axis=-1), rtol=1e-6
            )
        self.assertEqual((display.quantity, display.unit), ("flagged", "%"))

    def test_says_the_highest(self):
        """The headline names the power and the frequency of the strongest channel."""
        items = np.ones((3, 2, 21), np.float32)
        items[:, 1, 4] = 1000
        display = aperture.waterfall_display(21, 2, "f32", names=["x", "y"])
        widget = display.qwidget()
        widget.show()
        run(display, items, tags(2.0))
        settle(widget, lambda: "highest" in widget.text())
        widget._row.setCurrentIndex(1)
        # (20 + 1000) / 21; channel 4 lies 6 channels of 0.1 MHz below channel 10
        self.assertEqual(widget.text(), "y: mean 16.9 dB, highest 30.0 dB at 1419.8 MHz")

    def test_without_tags(self):
        """Channels have numbers, and times are this computer's."""
        display = aperture.waterfall_display(21, scale="linear")
        widget = display.qwidget()
        widget.show()
        items = np.ones((30, 21), np.complex64)
        items[:, 13] = 5
        before = time.time()
        run(display, items)
        settle(widget, lambda: "highest" in widget.text())
        self.assertEqual(
            widget.text(), "mean 2.1, highest 25.0 at channel 13 (times by this computer's clock)"
        )
        self.assertTrue(before <= display.record.newest_time <= time.time())

    def test_fast_edge(self):
        """Items that are taken of a fast edge together are averaged, so that noise becomes
        smooth."""
        rng = np.random.default_rng(5)
        top = gr.top_block()
        noise = rng.standard_normal((500, 2, 101)).astype(np.float32)
        items = (noise[:, 0] + 1j * noise[:, 1]).astype(np.complex64)
        display = aperture.waterfall_display(101)
        source = aperture.replay(items.tobytes(), 808, repeats=0, rate=100e3, device="cpu")
        top.connect(source, blocks.throttle(808, 5e3), display)
        top.start()
        for _ in range(2):
            enough = display._snapshot.taken() + 32
            comes_true(lambda enough=enough: display._snapshot.taken() >= enough)
            self.assertTrue(display.update())
        source.finish()
        top.stop()
        top.wait()
        # 32 spectra of chi-squared powers with a mean of 2; six standard deviations of the scatter
        # of 101 channels
        newest = display.record.spectrum(0)
        self.assertAlmostEqual(newest.mean(), 2, delta=6 * 2 / np.sqrt(32 * 101))
        self.assertAlmostEqual(newest.std(), 2 / np.sqrt(32), delta=6 * 0.354 / np.sqrt(202))

    def test_record(self):
        """Missing lines of a slow edge are gaps; lines of a fast one cover what lies between."""
        record = WaterfallRecord(1, 3, history=50)
        for second in (0, 1, 2, 5, 6):
            record.add(1e9 + second, 1.0, None, np.full((1, 3), second))
        values, begin, step = record.picture(0)
        self.assertEqual((begin, step), (1e9 - 0.5, 1.0))
        np.testing.assert_array_equal(values[:, 0], [0, 1, 2, np.nan, np.nan, 5, 6])
        record.clear()
        for second in (0, 1, 2, 4, 5, 9):
            record.add(1e9 + second, None, None, np.full((1, 3), second), second != 4)
        np.testing.assert_array_equal(
            record.picture(0)[0][:, 0], [0, 1, 2, np.nan, 4, 5, 5, 5, 5, 9]
        )
        # a time before begins anew
        record.add(1e9, None, None, np.zeros((1, 3)))
        self.assertEqual(len(record.picture(0)[0]), 1)

    def test_gap_of_a_fast_edge(self):
        """A jump of the stream's time is a gap, whenever lines are drawn; a pause in drawing is
        none."""
        display = aperture.waterfall_display(21)
        data = np.ones(21, np.complex64).view(np.uint8)

        def item(number):
            seconds = number / 100 + 10 * (number >= 2000)
            return Item(number, rx_time(1700000000, seconds), 100.0, None, {}, data)

        # items that were taken in the last half second before each drawing
        for at in (500, 1000, 2000, 2500, 3000):
            taken = [item(number) for number in range(at - 50, at, 10)]
            with mock.patch.object(display, "new_items", return_value=taken):
                self.assertTrue(display.update())
        picture, _, step = display.record.picture(0)
        missing = np.isnan(picture[:, 0])
        # about 5, 10 and 20 s, then 35 and 40 s: nothing between the third and the fourth
        self.assertGreater(missing.sum() * step, 5)
        self.assertEqual(np.count_nonzero(np.diff(missing.astype(int)) == 1), 1)

    def test_levels(self):
        values = np.linspace(0, 100, 10001)
        values[-1] = 1e6
        np.testing.assert_allclose(levels_of(values), (1, 99.5), atol=0.01)
        self.assertEqual(levels_of(np.full(5, np.nan)), (0, 1))
        low, high = levels_of(np.full(5, 3.0))
        self.assertTrue(low < 3 < high)

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(channels=0), "channels: 0"),
            (dict(rows=0), "rows: 0"),
            (dict(type="s16"), "type: 's16'.*sc8"),
            (dict(scale="log"), "scale: 'log'"),
            (dict(names=["a", "b"]), "names.*1 different"),
            (dict(history=3), "history: 3"),
            (dict(channels=2**24, rows=16), "channels.*2147483648"),
            (dict(device="toaster"), "toaster"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.waterfall_display(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_waterfall_display)
