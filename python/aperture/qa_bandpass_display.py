#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""bandpass_display without its window: levels, what is clamped and missing, and what it refuses."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.displays import bandpass_view
from gnuradio.aperture.displays.bandpass_view import (
    BAD,
    GOOD,
    NEUTRAL,
    WARN,
    BandpassView,
    outline,
    percent,
)
from gnuradio.aperture.streams.levels import RANGES, mean_power
from gnuradio.aperture.testing.qa_tools import DEVICE, Flowgraph, comes_true

# values enough that a single frame tells rms to 1 %
CHANNELS, SPECTRA = 16, 240


def frame_of(values, type):
    """The bytes of complex integers [channel][input][time]."""
    if type == "fc32":
        return values.astype(np.complex64).reshape(-1).view(np.uint8)
    re, im = (part.astype(np.int64) for part in (values.real, values.imag))
    if type == "sc4":
        return (((re & 15) << 4) | (im & 15)).astype(np.uint8).reshape(-1)
    return np.stack([re, im], -1).astype(np.int8).reshape(-1).view(np.uint8)


def noise(rng, inputs, rms, type, channels=25):
    """Gaussian voltages [channel][input][time], rounded and clamped as the F-engine does it."""
    re, im = rng.normal(size=(2, channels, inputs, 301))
    values = re + 1j * im
    values *= np.reshape(rms, (1, -1, 1))
    if type == "fc32":
        return values
    limit = RANGES[type].limit
    return np.clip(np.rint(values.real), -limit, limit) + 1j * np.clip(
        np.rint(values.imag), -limit, limit
    )


class qa_bandpass_display(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(11)

    def test_frames(self):
        """Powers, levels, and values at the limit, of all types, against sums over the values."""
        for type, rms in (
            ("sc8", [20.0, 3.0, 50.0, 1.0, 80.0, 0.0]),
            ("sc4", [2.4, 1.0, 4.0, 0.5, 6.0, 0.0]),
            ("fc32", [1.0, 1e-3, 1e3, 5.0, 7.0, 0.0]),
        ):
            values = noise(self.rng, 6, rms, type)
            values[:, 1, :30] = 0  # missing spectra
            view = BandpassView(list("abcdef"), 25, type, 0.0)
            self.assertIsNone(view.picture())
            view.add_frame(frame_of(values, type), 301, 1e8 + 1e3 * np.arange(25))
            found = view.picture()
            self.assertEqual([state.name for state in found.inputs], list("abcdef"))
            for number, state in enumerate(found.inputs):
                there = values[:, number, 30:] if number == 1 else values[:, number]
                power = np.mean(np.abs(there) ** 2, axis=1)
                if not power.any():
                    self.assertEqual((state.level, state.rms, state.missing), ("no signal", 0, 1))
                    self.assertEqual(state.grade, BAD)
                    continue
                np.testing.assert_allclose(state.decibels, 10 * np.log10(power), atol=1e-4)
                self.assertAlmostEqual(state.rms / np.sqrt(power.mean() / 2), 1, 5)
                self.assertAlmostEqual(state.missing, 30 / 301 if number == 1 else 0)
                if type == "fc32":
                    self.assertEqual(
                        (state.level, state.clamped, state.grades[0]), ("", None, NEUTRAL)
                    )
                    continue
                limit = RANGES[type].limit
                full = (np.abs(there.real) == limit) | (np.abs(there.imag) == limit)
                self.assertAlmostEqual(state.clamped, full.mean())
            if type != "fc32":
                self.assertEqual(
                    [state.level for state in found.inputs[:5]],
                    ["good", "low", "high", "too low", "too high"],
                )
                self.assertEqual(
                    [state.grades[0] for state in found.inputs[:5]], [GOOD, WARN, WARN, BAD, BAD]
                )
                self.assertRegex(found.words, r"^5 of 6 inputs: .* \([\d.]+ steps, ")
                self.assertTrue(found.words.endswith(", and 3 more"), found.words)

    def test_words(self):
        """One cause is told once."""
        for inputs, rms, words in (
            (3, [78.0] * 3, "all 3 inputs: level too high (78 steps, 20 are best)"),
            (2, [3.0] * 2, "both inputs: level low (3 steps, 20 are best)"),
            (1, [1.0], "the input: level too low (1 steps, 20 are best)"),
            (2, [20.0] * 2, "both inputs: a good level"),
            (2, [20.0, 0.0], "1 of 2 inputs: b: no signal"),
        ):
            view = BandpassView(list("abc")[:inputs], 2, "sc8", 0.0)
            values = np.zeros((2, inputs * (inputs + 1) // 2), np.complex64)
            number = np.arange(inputs)
            values[:, number * (number + 3) // 2] = 2 * np.square(rms)
            view.add_visibilities(values, None, None, None)
            self.assertEqual(view.picture().words, words)

    def test_minus_eight(self):
        """−8 of 4 bits is read as −7."""
        view = BandpassView(["a"], 1, "sc4", 0.0)
        view.add_frame(np.array([0x88], np.uint8), 1, None)
        self.assertAlmostEqual(view.picture().inputs[0].decibels[0], 10 * np.log10(98), 5)

    def test_large_frames(self):
        """A part of a frame with more values than can be looked at tells its level: nothing works
        on more than MOST_VALUES of them."""
        values = noise(self.rng, 64, [20.0] * 64, "sc8", 129)
        view = BandpassView([str(i) for i in range(64)], 129, "sc8", 0.0)
        looked_at = mock.Mock(side_effect=bandpass_view.parts_of)
        with mock.patch.object(bandpass_view, "parts_of", looked_at):
            view.add_frame(frame_of(values, "sc8"), 301, None)
        (data, _, shape), _ = looked_at.call_args
        self.assertEqual(len(data), 2 * np.prod(shape))
        self.assertLessEqual(np.prod(shape), bandpass_view.MOST_VALUES)
        self.assertLess(np.prod(shape), values.size)
        for state in view.picture().inputs:
            # 129 x 127 values: 0.4 %
            self.assertAlmostEqual(state.rms, 20, delta=0.5)

    def test_visibilities(self):
        """Powers are the autocorrelations, missing is what was not counted."""
        spectra, _inputs = 100, 3
        values = np.zeros((4, 6), np.complex64)
        values[:, [0, 2, 5]] = np.outer([1, 2, 3, 4], [800, 200, 0])
        counted = np.array([100, 99, 99, 0, 0, 0.0])
        view = BandpassView(["a", "b", "c"], 4, "sc8", 0.0)
        view.add_visibilities(values, counted, spectra, None)
        a, b, c = view.picture().inputs
        np.testing.assert_allclose(a.decibels, 10 * np.log10(800 * np.arange(1, 5)))
        self.assertAlmostEqual(a.rms, np.sqrt(2000 / 2))
        self.assertAlmostEqual(b.rms, np.sqrt(500 / 2))
        np.testing.assert_allclose((a.missing, b.missing, c.missing), (0, 0.01, 1))
        self.assertEqual((a.clamped, c.level), (None, "no signal"))
        self.assertEqual(b.grades[2], WARN)

    def test_integrations_that_are_lost(self):
        """The first lost integration says so, and not those behind it; the display knows it of the
        last one, too, and that the next one is whole."""
        values = np.zeros((7, 4, 6), np.complex64)
        values[:, :, [0, 2, 5]] = 800
        counted = [(0, [90]), (3, [90, 0, 0, 0, 0, 0]), (6, [90])]
        tags = [(item, "counted", np.array(counts)) for item, counts in counted]
        tags.append((0, "spectra", 90))
        for items, missing in ((3, 0), (5, 1), (6, 1), (7, 0)):
            display = aperture.bandpass_display(4, 3, averaging=0.0, device="cpu")
            data = values[:items].view(np.uint8).reshape(items, -1)
            Flowgraph(display, [data], [], tags=[tags], chunks=2).run()
            shown, text = display.update()
            self.assertEqual(text, "")
            self.assertEqual([state.missing for state in shown.inputs], [0, missing, missing])

    def test_counts(self):
        """The display prefers the F-engine's counts to what a frame shows."""
        view = BandpassView(["a", "b"], 4, "sc8", 0.0)
        view.add_visibilities(np.full((4, 3), 800, np.complex64), None, None, None)
        counts = dict(
            spectra=1000, channels=8, clamped=[5, 5], clamped_samples=[0, 0], missing=[7, 0]
        )
        view.add_counts(counts)
        self.assertIsNone(view.picture().inputs[0].clamped)  # a rate needs two
        view.add_counts(
            dict(counts, spectra=1500, clamped=[5, 25], clamped_samples=[0, 20], missing=[57, 0])
        )
        a, b = view.picture().inputs
        self.assertEqual((a.clamped, a.missing), (0, 0.1))
        self.assertEqual((b.clamped, b.missing), (40 / 4000, 0))
        self.assertEqual((a.grades[1:], b.grades[1:]), ((GOOD, BAD), (WARN, GOOD)))
        with self.assertRaisesRegex(ValueError, "of 3 inputs, and not of 2"):
            view.add_counts(dict(counts, clamped=[1] * 3, clamped_samples=[1] * 3, missing=[1] * 3))

    def test_averaging(self):
        """Older integrations count less; another frequency begins anew."""
        view = BandpassView(["a"], 2, "fc32", 1e6)
        for power in (1.0, 3.0):
            view.add_visibilities(np.full((2, 1), power, np.complex64), None, None, None)
        self.assertAlmostEqual(view.picture().inputs[0].decibels[0], 0, 4)
        view.set_averaging(0)
        view.add_visibilities(np.full((2, 1), 5, np.complex64), None, None, None)
        self.assertAlmostEqual(view.picture().inputs[0].decibels[0], 10 * np.log10(5), 4)
        view.set_averaging(1e6)
        view.add_visibilities(np.full((2, 1), 100, np.complex64), None, None, np.array([1.0, 2.0]))
        self.assertAlmostEqual(view.picture().inputs[0].decibels[0], 20, 4)

    def test_interference(self):
        """One carrier does not count for the level, as for the gain that aperture_fx measures."""
        power = np.full(100, 800.0)
        power[17] = 1e9
        self.assertEqual(mean_power(power), 800)
        places, decibels = outline(10 * np.log10(power), 20)
        self.assertEqual(len(places), 40)
        self.assertAlmostEqual(decibels.max(), 90)
        self.assertEqual(np.argmax(decibels) // 2, 3)
        self.assertEqual(
            [percent(part) for part in (0, 1e-6, 0.0123, 1)], ["0 %", "< 0.01 %", "1.2 %", "100 %"]
        )

    def test_chain(self):
        """The display works behind the F-engine, on frames and on visibilities, with the F-engine's
        counts."""
        array = aperture.load_array("y16")
        inputs = list(array.inputs[:5])
        inputs[1] = replace(inputs[1], gain=0.2)
        inputs[3] = replace(inputs[3], gain=4)
        array = replace(array, inputs=inputs, sources=[])
        top = gr.top_block()
        source = aperture.array_source(array, inputs_per_port=5, seed=3)
        f_engine = aperture.f_engine(
            channels=CHANNELS,
            inputs=5,
            inputs_per_port=5,
            output_type="sc8",
            gain=20 * 2**0.5,
            spectra_per_frame=SPECTRA,
            device=DEVICE,
        )
        frames = aperture.bandpass_display(
            CHANNELS, 5, "frames", "sc8", SPECTRA, array=array, averaging=0.5, device=DEVICE
        )
        visibilities = aperture.bandpass_display(
            CHANNELS, 5, type="sc8", array=array, averaging=0.5, device=DEVICE
        )
        top.connect(source, f_engine, frames)
        top.connect(
            f_engine,
            aperture.xengine(
                channels=CHANNELS,
                inputs=5,
                spectra_per_frame=SPECTRA,
                type="sc8",
                integration=10,
                device=DEVICE,
            ),
            visibilities,
        )
        for display in (frames, visibilities):
            top.msg_connect(f_engine, "status", display, "status")
        top.start()
        shown = []

        def counted():
            shown[:] = [display.update()[0] for display in (frames, visibilities)]
            return all(one is not None and one.inputs[0].clamped is not None for one in shown)

        comes_true(counted, pause=0.05)
        top.stop()
        top.wait()
        for one, display in zip(shown, (frames, visibilities)):
            names = [state.name for state in one.inputs]
            self.assertEqual(names, array.input_names)
            self.assertEqual(one.frequencies[CHANNELS // 2], 150e6)
            levels = [state.level for state in one.inputs]
            self.assertEqual(levels, ["good", "low", "good", "too high", "good"])
            self.assertAlmostEqual(one.inputs[0].rms, 20, delta=1)
            # 80 steps: 1 - (1 - 0.112)^2 of the values have a component beyond 127
            self.assertAlmostEqual(one.inputs[3].clamped, 0.21, delta=0.04)
            # 20 steps: 4e-10
            self.assertLess(one.inputs[0].clamped, 1e-6)
            self.assertEqual(display.update()[1], "")

    def test_untagged(self):
        """An edge without tags is shown by channel numbers."""
        display = aperture.bandpass_display(4, 1)
        top = gr.top_block()
        top.connect(blocks.vector_source_c([2, 2, 2, 2], vlen=4), display)
        # strange messages make no difference
        display.to_basic_block()
        top.run()
        display._status._read(pmt.intern("x"))
        display._status._read(
            pmt.dict_add(pmt.make_dict(), pmt.intern("event"), pmt.intern("counts"))
        )
        shown, words = display.update()
        self.assertIsNone(shown.frequencies)
        self.assertEqual(words, "")
        self.assertEqual(shown.words, "the input")

    def test_refuses(self):
        for arguments, text in (
            (dict(channels=0), "channels: 0 is not allowed"),
            (dict(inputs=0), "inputs: 0 is not allowed"),
            (dict(edge="spectra"), "edge: 'spectra' is not allowed"),
            (dict(type="s8"), "type: 's8' is not allowed"),
            (dict(spectra_per_frame=0), "spectra_per_frame: 0 is not allowed"),
            (dict(channels=90000000), "channels: 90000000 is not allowed"),
            (dict(array="y16"), "inputs: 2 is not allowed; it must be 16"),
            (dict(names=["a"]), "names: .* is not allowed"),
            (dict(names=["a", "a"]), "names: .* is not allowed"),
            (dict(averaging=-1), "averaging: -1 is not allowed"),
            (dict(dynamic_range=1e3), "dynamic_range: 1000.0 is not allowed"),
            (dict(device="gpu"), "device"),
        ):
            with self.assertRaisesRegex((ValueError, RuntimeError), text):
                aperture.bandpass_display(**arguments)


if __name__ == "__main__":
    gr_unittest.run(qa_bandpass_display)
