#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Delays and gains of pfb_channelizer and f_engine: models, times, tags, lost samples."""

import functools
import itertools
import os
import threading
import unittest
from fractions import Fraction

import numpy as np
import pmt
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import EPOCH, Flowgraph, jump, rx_time, tags_of

aperture = qa_tools.on_device(aperture)

RATE = float(2**20)
stream_tags = functools.partial(qa_tools.stream_tags, frequency=None)
#: spectra in a frame of f_engine
TIMES = 7

degrees = np.pi / 180


def f64(*values):
    return pmt.init_f64vector(len(values), list(values))


def comb(n, length, rng, real=False, inputs=1):
    """
    Samples [input][time] with a tone in the middle of each channel but the first, of equal
    strengths and random phases: each channel has the phase of its own tone, and of the others
    what leaks, less than -60 dB.
    """
    t = np.arange(2 * n if real else n)
    k = np.arange(1, n)
    cycles = k / (2 * n) if real else (k - n // 2) / n
    phase = rng.uniform(0, 2 * np.pi, (inputs, n - 1, 1))
    x = np.exp(1j * (phase + 2 * np.pi * cycles[:, None] * t)).sum(axis=1) / np.sqrt(n)
    x = np.tile(x, -(-length // len(t)))[:, :length]
    return x.real * np.sqrt(2) if real else x


def to_type(x, sample_type, rng):
    """fc32 and f32 as they are; of 8 bits with noise of a step, so that errors average."""
    if sample_type in ("fc32", "f32"):
        return x.astype(np.complex64 if sample_type == "fc32" else np.float32)
    parts = [x.real, x.imag] if np.iscomplexobj(x) else [x]
    steps = [20 * part + rng.standard_normal(x.shape) for part in parts]
    steps = np.clip(np.rint(steps), -127, 127).astype(np.int8)
    return np.moveaxis(steps, 0, -1) if np.iscomplexobj(x) else steps[0]


class Delays:
    """Tests of a block that makes spectra: pfb_channelizer, or f_engine where in_frames."""

    in_frames = False

    def setUp(self):
        self.rng = np.random.default_rng(8510)

    # ---- running

    def make(self, **options):
        options = {"channels": 16, "inputs": 2, "taps": 8, **options}
        if self.in_frames:
            return aperture.f_engine(spectra_per_frame=TIMES, **options)
        return aperture.pfb_channelizer(**options)

    def graph(self, block, samples, tags="clock", chunks=200, **options):
        """
        Builds a flowgraph of these samples.

        samples: [input][time], of integers complex [input][time][2]
        tags: of each port; "clock" is stream_tags() on all
        """
        o = {"channels": 16, "inputs_per_port": 1, "input_type": "fc32", "output_type": "fc32"}
        o.update({key: value for key, value in options.items() if key in o})
        self.options = o
        each, inputs = o["inputs_per_port"], len(samples)
        ports = [
            reference.samples_to_bytes(np.swapaxes(samples[i : i + each], 0, 1), o["input_type"])
            for i in range(0, inputs, each)
        ]
        if tags == "clock":
            packed = reference.samples_in_item(o["input_type"], each)
            tags = [stream_tags(rate=options.get("rate", RATE) / packed)] * len(ports)
        size = (2 if o["output_type"] == "sc8" else 8) * o["channels"]
        sizes = [size * inputs * TIMES] if self.in_frames else [size * each] * len(ports)
        return Flowgraph(block, ports, sizes, tags=tags, chunks=chunks)

    def spectra(self, data, inputs):
        """Bytes of the outputs -> complex128 [input][spectrum][channel], with padding."""
        o = self.options
        n, each = o["channels"], inputs if self.in_frames else o["inputs_per_port"]
        parts = []
        for port in data:
            length = n * each * (TIMES if self.in_frames else 1)
            flat = reference.samples_from_bytes(port, o["output_type"], length)
            values = reference.decode(flat, o["output_type"])[0]
            if self.in_frames:  # [frame][channel][input][time]
                values = values.reshape(-1, n, each, TIMES)
                values = np.moveaxis(values, (2, 0, 3, 1), (0, 1, 2, 3)).reshape(each, -1, n)
            else:
                values = np.swapaxes(values.reshape(-1, each, n), 0, 1)
            parts.append(values)
        return np.concatenate(parts)

    def run_block(self, block, samples, **options):
        """complex128 [input][spectrum][channel] of graph(); its tags, too."""
        graph = self.graph(block, samples, **options)
        data, tags = graph.run()
        self.assertEqual(block.error(), "")
        self.messages = graph.messages()
        return self.spectra(data, len(samples)), tags

    def phases(self, delayed, plain):
        """Radians [input][channel] by which spectra are rotated, those without samples left out."""
        count = min(delayed.shape[1], plain.shape[1])
        there = np.abs(delayed[:, :count]).max(axis=(0, 2)) > 0
        there &= (np.abs(delayed[:, :count]).min(axis=2) > 0).all(axis=0)
        self.assertGreater(there.sum(), 10)
        ratio = (delayed[:, :count] * plain[:, :count].conj())[:, there]
        return np.angle(ratio.mean(axis=1))

    @staticmethod
    def wanted(n, delay, phase=0.0, rate=RATE, real=False):
        """Radians [channel] by the formula in docs/delays.md."""
        f = (np.arange(n) - n // 2) * rate / n / (2 if real else 1)
        return phase - 2 * np.pi * f * delay

    def assert_phases(self, actual, expected, limit, **where):
        """Compares phases but in the channel without a tone: the lowest one at baseband."""
        apart = np.angle(np.exp(1j * (actual - expected)))[self.with_tones(**where)]
        self.assertLess(np.abs(apart).max() / degrees, limit, where)

    @staticmethod
    def with_tones(input_type, inverted=False, **_):
        """The channels that comb() has tones in."""
        mirrored = inverted and not reference.is_complex(input_type)
        return slice(None, -1) if mirrored else slice(1, None)

    # ---- acceptance, after MeerKAT's qualification tests

    KINDS = [
        {"input_type": "fc32"},
        {"input_type": "fc32", "inverted": True},
        {"input_type": "f32"},
        {"input_type": "f32", "inverted": True},
        {"input_type": "sc8", "output_type": "sc8", "gain": 1.5},
        {"input_type": "s8", "output_type": "sc8", "gain": 1.5},
    ]

    def plain_and_delayed(self, delays, phases=(0.0, 0.0), rate=RATE, n=64, count=60, **options):
        """Spectra of a comb, with delays and without."""
        real = not reference.is_complex(options["input_type"])
        hop = 2 * n if real else n
        room = int(np.ceil(np.abs(delays).max() * rate)) + hop
        length = (count + 8) * hop + 2 * room
        samples = to_type(comb(n, length, self.rng, real, 2), options["input_type"], self.rng)
        results = []
        for given in (None, delays):
            block = self.make(channels=n, most_delay=room, **options)
            if given is not None:
                block.set_delays(given, phases=phases)
            y, _ = self.run_block(block, samples, chunks=9973, rate=rate, channels=n, **options)
            self.assertEqual(self.messages, [])
            results.append(y)
        # spectra where all inputs have samples, also the one that is delayed the most
        skipped = -(-room // hop)
        return [y[:, skipped : skipped + count] for y in results]

    def test_delays(self):
        """0, +-79.53 us, 2.75 samples: within a degree in every channel but the first."""
        for kind, rate in itertools.product(self.KINDS, (RATE, 1.712e9)):
            many = rate > RATE
            if many and kind["input_type"] != "s8":
                continue
            for delays in ([0.0, 79.53e-6], [-79.53e-6, 2.75 / rate], [-2.75 / rate, 0.0]):
                count = 600 if "gain" in kind else 60
                plain, delayed = self.plain_and_delayed(delays, rate=rate, count=count, **kind)
                actual = self.phases(delayed, plain)
                real = not reference.is_complex(kind["input_type"])
                for i, delay in enumerate(delays):
                    self.assert_phases(
                        actual[i],
                        self.wanted(64, delay, 0, rate, real),
                        1,
                        delay=delay,
                        rate=rate,
                        **kind,
                    )

    def test_phases(self):
        """+-pi, 2/3 pi and 0.01 rad: within a degree, and 0.01 is not nothing."""
        for kind in self.KINDS:
            for phases in ([np.pi, -np.pi], [2 * np.pi / 3, 0.01]):
                plain, delayed = self.plain_and_delayed([0.0, 0.0], phases, count=300, **kind)
                actual = self.phases(delayed, plain)
                for i, phase in enumerate(phases):
                    self.assert_phases(actual[i], phase, 1, phase=phase, **kind)
                    if phase == 0.01:
                        phase = actual[i][self.with_tones(**kind)].mean()
                        self.assertAlmostEqual(phase, 0.01, delta=0.001)

    def test_picoseconds(self):
        """The slope over channels of a delay of 2.5 ps is right to a tenth."""
        rate = 1.712e9
        for kind in self.KINDS:
            real = not reference.is_complex(kind["input_type"])
            count = 3000 if "gain" in kind else 100
            plain, delayed = self.plain_and_delayed([2.5e-12, 0.0], rate=rate, count=count, **kind)
            actual = self.phases(delayed, plain)
            channels = self.with_tones(**kind)
            f = -self.wanted(64, 1.0, 0, rate, real)[channels] / (2 * np.pi)
            for i, wanted in enumerate((2.5e-12, 0.0)):
                slope = -np.polyfit(f, actual[i][channels], 1)[0] / (2 * np.pi)
                self.assertAlmostEqual(slope, wanted, delta=0.25e-12, msg=str(kind))

    def check_rates(self, delay_rate, phase_rate, seconds, integration, limit, n=64, **kind):
        """
        Phases of integrations against the model, each within `limit` degrees, of two inputs of
        which the second has the opposite rates.
        """
        real = not reference.is_complex(kind["input_type"])
        hop = 2 * n if real else n
        length = int(seconds * RATE)
        samples = to_type(comb(n, length, self.rng, real, 2), kind["input_type"], self.rng)
        blocks = [self.make(channels=n, **kind) for _ in range(2)]
        signs = np.array([1, -1])
        # the models begin long before the first sample
        before = 1000.25
        start = rx_time(EPOCH, -before)
        blocks[1].set_delays(
            -signs * delay_rate * before,
            signs * delay_rate,
            [0.0, 0.0],
            signs * phase_rate,
            time=start,
        )
        plain, delayed = (
            self.run_block(b, samples, chunks=0, channels=n, **kind)[0] for b in blocks
        )
        count = int(integration * RATE / hop)
        spectra = min(plain.shape[1], delayed.shape[1]) // count * count
        self.assertGreaterEqual(spectra // count, 3)
        if self.in_frames and spectra > plain.shape[1] - TIMES:
            spectra -= count  # the last frame is padded
        middle = (8 * hop - 1) / 2
        t = (np.arange(spectra) * hop + middle) / RATE
        f = -self.wanted(n, 1.0, 0, RATE, real) / (2 * np.pi)
        for i, sign in enumerate(signs):
            phase = sign * phase_rate * (t + before)
            model = np.exp(1j * (phase[:, None] - 2 * np.pi * sign * delay_rate * t[:, None] * f))
            ratio = delayed[i, :spectra] * plain[i, :spectra].conj()
            ratio, model = (x.reshape(-1, count, n).sum(axis=1) for x in (ratio, model))
            apart = np.angle(ratio * model.conj())[:, self.with_tones(**kind)]
            self.assertLess(np.abs(apart).max() / degrees, limit, (i, kind))

    def test_rates(self):
        """+-2.56 ns/s at a sky frequency of 1.4 GHz: each half second within 2 degrees."""
        self.check_rates(2.56e-9, -2 * np.pi * 1.4e9 * 2.56e-9, 2.01, 0.5, 2, input_type="fc32")

    def test_fast_rates(self):
        """
        Through many whole samples, which are shifted a few spectra late or early by half a
        sample at most: each spectrum within a degree of the model.
        """
        for kind in self.KINDS[:4]:
            self.check_rates(1e-4, 7.0, 0.1, 64 * 2 / RATE, 1, **kind)

    # ---- values

    def test_model(self):
        """Delays agree with the model in float64, for all types, odd sizes, several inputs of a
        port."""
        limits = []
        for input_type in reference.SAMPLE_TYPES:
            for n, taps, each, ratio in (
                (10, 3, 1, "1"),
                (6, 5, 3, "1"),
                (34, 1, 2, "1"),
                (24, 4, 3, "6/5"),
            ):
                inverted = each == 3
                inputs = 2 * each
                real = not reference.is_complex(input_type)
                hop = 2 * n if real else n
                step = int(hop / Fraction(ratio))
                length = 40 * hop + 12
                length -= length % reference.samples_in_item(input_type, each)
                x = qa_tools.random_samples(self.rng, input_type, (inputs, length))
                delays = self.rng.uniform(-50, 50, inputs)
                phases = self.rng.uniform(-4, 4, inputs)
                options = dict(channels=n, inputs_per_port=each, input_type=input_type)
                block = self.make(
                    inputs=inputs, taps=taps, inverted=inverted, oversampling=ratio, **options
                )
                block.set_delays(delays / RATE, phases=phases)
                y, _ = self.run_block(block, x, chunks=61, **options)
                h = reference.prototype(hop, taps)
                values, _ = reference.decode(x, input_type)
                packed = reference.samples_in_item(input_type, each)
                # in items of a port, of which the inputs have samples together
                ports = np.rint(delays).astype(int).reshape(-1, each)
                starts = np.arange(reference.spectra_of(length, hop, taps, ratio)) * step // packed
                end = -(ports.min() // packed) + taps * hop // packed
                starts = starts[starts + max(end, taps * hop // packed) <= length // packed]
                for i in range(inputs):
                    there = starts >= -(-ports[i // each].max() // packed)
                    model = reference.delayed_pfb(
                        values[i], n, h, delays[i], phases[i], inverted, ratio
                    )[: len(there)]
                    model = np.where(there[:, None], model, 0)
                    found = y[i, : len(model)]
                    self.assertGreater(there.sum(), 20)
                    rms = np.sqrt(np.mean(np.abs(model) ** 2))
                    limits.append(np.abs(found - model).max() / rms)
                    self.assertLess(limits[-1], 1e-5, (input_type, n, i))

    # ---- times

    def noise(self, inputs=2, length=4003, sample_type="fc32"):
        return qa_tools.random_samples(self.rng, sample_type, (inputs, length))

    def constant(self, samples, *settings, **options):
        """Spectra with some settings, each the arguments of set_delays()."""
        block = self.make(inputs=len(samples), **options)
        for setting in settings:
            block.set_delays(**setting)
        return self.run_block(block, samples, **options)[0]

    @staticmethod
    def time_of(spectrum, taps=8, hop=16):
        return (spectrum * hop + (taps * hop - 1) / 2) / RATE

    def test_change_at_a_time(self):
        """Bit by bit from the first spectrum at or after the time, whatever the calls."""
        x = self.noise()
        first = {"delays": [3.3 / RATE, 0.0], "phases": [0.0, 1.0]}
        second = {"delays": [-20.7 / RATE, 40e-6], "phases": [2.0, 0.0]}
        apart = [self.constant(x, s) for s in (first, second)]
        for late, at in ((0.0, 101), (1e-3, 101), (0.4, 102), (1 - 1e-3, 102)):
            for chunks in (17, 0):
                block = self.make()
                block.set_delays(**first)
                time = rx_time(EPOCH, self.time_of(101) + late * 16 / RATE)
                # a tolerance of a thousandth of a spectrum is for times that were computed
                block.set_delays(**second, time=time)
                y, _ = self.run_block(block, x, chunks=chunks)
                at = 101 if late <= 1e-3 else 102
                expected = np.concatenate([apart[0][:, :at], apart[1][:, at:]], axis=1)
                count = min(y.shape[1], expected.shape[1])
                self.assertGreater(count, 200)
                np.testing.assert_array_equal(y[:, :count], expected[:, :count])
                self.assertEqual(self.messages, [])

    def test_messages(self):
        """Messages set what the setters do: for all, one of each, and one input; models; times."""
        x = self.noise()
        block = self.make()
        graph = self.graph(block, x)
        time = rx_time(EPOCH, self.time_of(100))
        graph.post("delays", {"delay": 5e-6, "phase": 0.5})
        graph.post(
            "delays",
            {"delay": f64(1e-6, -2e-6), "phase": f64(0.0, 1.0), "model": pmt.intern("calibration")},
        )
        graph.post(
            "delays", {"delay": -3e-6, "input": 1, "model": pmt.intern("geometry"), "time": time}
        )
        data, _ = graph.run()
        self.assertEqual(graph.messages(), [])
        y = self.spectra(data, 2)
        early = self.constant(x, {"delays": [6e-6, 3e-6], "phases": [0.5, 1.5]})
        later = self.constant(x, {"delays": [6e-6, 0.0], "phases": [0.5, 1.5]})
        expected = np.concatenate([early[:, :100], later[:, 100:]], axis=1)
        count = min(y.shape[1], expected.shape[1]) - TIMES
        np.testing.assert_allclose(y[:, :count], expected[:, :count], atol=1e-5 * 4)

    def test_wrong_messages(self):
        """Wrong messages are refused, and the flowgraph goes on."""
        x = self.noise()
        block = self.make()
        graph = self.graph(block, x)
        wrong = [
            ({"phase": 1.0}, "delay"),
            ({"delay": f64(0.0, 0.0, 0.0)}, "3 numbers.*2 inputs"),
            ({"delay": f64(0.0, 0.0), "input": 1}, "2 numbers"),
            ({"delay": 0.0, "input": 2}, "input: 2"),
            ({"delay": float("nan")}, "delay: nan.*finite"),
            ({"delay": 0.0, "phase": float("inf")}, "phase: inf.*finite"),
            ({"delay": 0.0, "phase_rate": f64(0.0, 0.0)}, "phase_rate: 2 numbers"),
            ({"delay": 1j}, "delay"),
            ({"delay": 0.0, "time": 3.0}, "time"),
            ({"delay": 0.0, "model": 3.0}, "model"),
            ({"delay": 0.0, "model": pmt.intern("tags")}, "model.*tags"),
        ]
        for message, _ in wrong:
            graph.post("delays", message)
        data, _ = graph.run()
        found = graph.messages()
        self.assertEqual(len(found), len(wrong))
        for (_, reason), message in zip(wrong, found):
            self.assertEqual(message["event"], "refused")
            self.assertRegex(message["reason"], reason)
        np.testing.assert_array_equal(self.spectra(data, 2), self.constant(x))

    def test_too_many_models(self):
        """A new name with each message is refused before it takes much memory."""
        block = self.make()
        with self.assertRaisesRegex(ValueError, "model: a name of 1000 characters"):
            block.set_delays([0.0], model="x" * 1000)
        for model in range(60):
            block.set_delays([0.0], model=str(model))
        with self.assertRaisesRegex(ValueError, "model: .* of the 64 "):
            for model in range(60, 70):
                block.set_delays([0.0], model=str(model))
        block.set_delays([0.0], model="7")

    def test_before_the_start(self):
        """A setting for a time before the first spectrum holds from that on, and counts from its
        own time; it is not late, since no spectrum was made without it."""
        x = self.noise()
        block = self.make()
        early = rx_time(EPOCH - 1000, self.time_of(0))
        block.set_delays([4e-6, 0.0], [1e-9, 0.0], time=early)
        y, _ = self.run_block(block, x)
        self.assertEqual(self.messages, [])
        settings = block.delays(0)[0]
        self.assertEqual(settings["time"], early)
        self.assertEqual(settings["holds_from"], rx_time(EPOCH, self.time_of(0)))
        expected = self.constant(x, {"delays": [5e-6, 0.0]})
        np.testing.assert_allclose(y[:, :200], expected[:, :200], atol=1e-3)

    # ---- models

    def test_models_add(self):
        x = self.noise(3, 3001)
        total = self.constant(x, {"delays": [7e-6, -1.5e-6, 30e-6], "phases": [0.5, 0.25, 3.0]})
        parts = self.constant(
            x,
            {"delays": [4e-6, -1e-6, 10e-6], "phases": [0.5, 0.0, 1.0]},
            {"delays": [99e-6, 0.0, 0.0], "model": "geometry"},
            {"delays": 3e-6, "input": 0, "model": "geometry"},
            {"delays": -0.5e-6, "phases": 0.25, "input": 1, "model": "calibration"},
            {"delays": 20e-6, "phases": 2.0, "input": 2, "model": "calibration"},
        )
        np.testing.assert_allclose(parts, total, atol=4e-5)
        # a model of zeros is none at all
        none = self.constant(x, {"delays": 5e-6, "model": "a"}, {"delays": -5e-6, "model": ""})
        np.testing.assert_array_equal(none, self.constant(x))

    def test_gains_of_models(self):
        """Gains of models are multiplied; times; all is read back."""
        x = self.noise()
        block = self.make()
        graph = self.graph(block, x)
        block.set_gain(2.0)
        bandpass = self.rng.standard_normal((16, 2)).astype(np.float32) @ [1, 1j]
        bandpass = bandpass.astype(np.complex64)
        time = rx_time(EPOCH, self.time_of(50))
        graph.post(
            "gains",
            {"gain": bandpass, "input": 1, "model": pmt.intern("calibration"), "time": time},
        )
        before = block.gain_settings(1)
        self.assertEqual([s["waiting"] for s in before], [False])
        data, _ = graph.run()
        y, plain = self.spectra(data, 2), self.constant(x)
        count = plain.shape[1] - TIMES
        expected = 2 * plain[:, :count]
        expected[1, 50:] *= bandpass
        np.testing.assert_allclose(y[:, :count], expected, atol=4e-5)
        first = rx_time(EPOCH, self.time_of(0))
        own, calibration = block.gain_settings(1)
        self.assertEqual(
            (own["model"], own["gains"], own["time"], own["holds_from"]), ("", [2], first, first)
        )
        self.assertEqual(
            (calibration["model"], calibration["time"], calibration["holds_from"]),
            ("calibration", time, time),
        )
        np.testing.assert_array_equal(calibration["gains"], bandpass)
        np.testing.assert_array_equal(block.gains(1), 2 * bandpass)
        np.testing.assert_array_equal(block.gains(0), [2] * 16)

    def test_read_back(self):
        """Before a run, what waits, and what was in force at the end."""
        block = self.make()
        self.assertEqual(block.delays(), [])
        first, second = rx_time(EPOCH, self.time_of(77)), rx_time(EPOCH + 1000)
        block.set_delays(1e-6, phases=[0.5], input=1)
        block.set_delays(
            [2e-6, 3e-6], [1e-9, 2e-9], [1.0, 2.0], [3.0, 4.0], time=first, model="geometry"
        )
        block.set_delays(0.0, time=second)
        self.assertEqual(
            [
                (s["model"], s["input"], s["delay"], s["waiting"], s["time"], s["holds_from"])
                for s in block.delays()
            ],
            [
                ("", 1, 1e-6, False, None, None),
                ("geometry", 0, 2e-6, True, first, None),
                ("geometry", 1, 3e-6, True, first, None),
                ("", 0, 0.0, True, second, None),
                ("", 1, 0.0, True, second, None),
            ],
        )
        self.run_block(block, self.noise())
        start = rx_time(EPOCH, self.time_of(0))
        keys = ("model", "delay", "delay_rate", "phase", "phase_rate", "time", "holds_from")
        self.assertEqual(
            block.delays(1),
            [
                dict(zip(keys, values), input=1, waiting=values[-1] is None)
                for values in (
                    ("", 1e-6, 0.0, 0.5, 0.0, start, start),
                    ("geometry", 3e-6, 2e-9, 2.0, 4.0, first, first),
                    ("", 0.0, 0.0, 0.0, 0.0, second, None),
                )
            ],
        )

    # ---- tags on the samples

    def test_tags(self):
        """
        From the first spectrum whose window begins at or after the sample; rates count from
        it, what is not said again stays, and messages add to it.
        """
        x = self.noise()
        at = (800, 801, 2000)
        tags = [
            stream_tags()
            + [(0, "delay", f64(4e-6)), (at[0], "phase", f64(1.0)), (at[2], "delay", f64(-6e-6))],
            stream_tags()
            + [
                (at[1], "delay", f64(9e-6)),
                (at[1], "delay_rate", f64(1e-3)),
                (at[1], "phase_rate", f64(200.0)),
                (at[1], "phase", f64(0.3)),
            ],
        ]
        block = self.make()
        block.set_delays([1e-6, 0.0])
        y, _ = self.run_block(block, x, tags=tags)
        self.assertEqual(self.messages, [])
        parts = [
            {"delays": [5e-6, 0.0]},
            {"delays": [5e-6, 0.0], "phases": [1.0, 0.0]},
            {"delays": [-5e-6, 0.0], "phases": [1.0, 0.0]},
        ]
        apart = [self.constant(x, part)[0] for part in parts]
        expected = np.concatenate([apart[0][:50], apart[1][50:125], apart[2][125:]])
        np.testing.assert_allclose(y[0, :230], expected[:230], atol=4e-5)
        block = self.make()
        block.set_delays(9e-6, 1e-3, 0.3, 200.0, input=1, time=rx_time(EPOCH, at[1] / RATE))
        late, _ = self.run_block(block, x)
        # the setting holds from the first spectrum whose middle is behind the sample
        plain = self.constant(x)
        np.testing.assert_array_equal(y[1, :51], plain[1, :51])
        np.testing.assert_allclose(y[1, 51:230], late[1, 51:230], atol=4e-5)
        tagged = block.delays(1)
        self.assertEqual([s["model"] for s in tagged], [""])

    def test_tags_of_inverted_samples(self):
        """Tags are made from the samples as they come, before inverted ones are conjugated."""
        x = self.noise(1)[0]
        ahead, phase, phase_rate = 3, 0.7, 40.0  # samples, rad, rad/s
        pair = np.stack([x, np.roll(x, -ahead)])
        rotated = phase + phase_rate * np.arange(len(x)) / RATE
        pair[1] = (pair[1] * np.exp(-1j * rotated)).astype(np.complex64)
        tags = [
            stream_tags(),
            stream_tags()
            + [
                (0, "delay", f64(ahead / RATE)),
                (0, "phase", f64(phase)),
                (0, "phase_rate", f64(phase_rate)),
            ],
        ]
        for inverted in (False, True):
            block = self.make(inverted=inverted)
            y, _ = self.run_block(block, pair, tags=tags)
            # without those that a delayed input misses, and those that see the end; within the
            # 128 samples of a spectrum the phase goes on by up to 64/RATE * 40 rad
            y = y[:, 1:240]
            self.assertLess(64 / RATE * phase_rate, 0.003)
            np.testing.assert_allclose(y[1], y[0], atol=0.01 * np.abs(y[0]).max())

    def test_tags_of_several_inputs(self):
        x = self.noise(3)
        block = self.make(inputs=3, inputs_per_port=3)
        tags = [
            stream_tags()
            + [
                (0, "delay", f64(1e-6, 2e-6, -3e-6)),
                (5, "delay", f64(1e-6, 2e-6)),
                (6, "phase", pmt.from_double(1.0)),
                (7, "phase_rate", f64(0.0, float("nan"), 0.0)),
            ]
        ]
        y, _ = self.run_block(block, x, tags=tags, inputs_per_port=3)
        self.assertEqual([m["event"] for m in self.messages], ["refused"] * 3)
        expected = self.constant(x, {"delays": [1e-6, 2e-6, -3e-6]}, inputs_per_port=3)
        np.testing.assert_array_equal(y, expected)
        settings = block.delays(2)
        self.assertEqual([(s["model"], s["delay"]) for s in settings], [("tags", -3e-6)])
        self.assertEqual(settings[0]["time"], rx_time(EPOCH))

    # ---- inputs that are delayed by more than a spectrum: their samples come before the tags

    def late(self, x, tagged=None, shift=300, chunks=13):
        """Returns the arguments of graph() for inputs that are delayed, with a phase from a sample
        on."""
        tags = [stream_tags() + [(0, "delay", f64(shift / RATE))] for _ in x]
        if tagged is not None:
            tags[-1].append((tagged, "phase", f64(1.0)))
        return self.make(inputs=len(x), most_delay=400), {"tags": tags, "chunks": chunks}

    def assert_late(self, x, y, tagged, shift=300, lengths=None):
        """All spectra are there up to the end, with the phase from the tagged sample on."""
        count = (min(lengths or [x.shape[1]]) + shift - 128) // 16 + 1
        self.assertGreaterEqual(y.shape[1], count)
        self.assertLess(y.shape[1] - count, TIMES if self.in_frames else 1)
        expected = self.constant(x, {"delays": shift / RATE}, most_delay=400)[:, :count]
        expected[-1, -(-tagged // 16) :] *= np.exp(1j)
        np.testing.assert_allclose(y[:, :count], expected, atol=4e-5)

    def test_tags_of_delayed_inputs(self):
        """
        A spectrum is not made before the tags of the samples up to its window, as it would be
        without the delay, have come, though its own samples are there; at the end, all are made.
        """
        x, tagged = self.noise(), 2005
        block, options = self.late(x, tagged)
        graph = self.graph(block, x, **options)
        for source in graph.sources:
            source.gates = {tagged: threading.Event()}
        with graph.running():
            for sink in graph.sinks:
                sink.wait_for((tagged - 16) // 16 // (TIMES if self.in_frames else 1))
            qa_tools.let_work(block)
            made = -(-tagged // 16)
            self.assertLessEqual(block.nitems_written(0) * (TIMES if self.in_frames else 1), made)
        y = self.spectra([sink.data() for sink in graph.sinks], 2)
        self.assert_late(x, y, tagged)

    def test_delayed_input_that_ends_first(self):
        """Nothing is waited for of a port that has ended, and of one that goes on all the same."""
        x, tagged = self.noise(), 2405
        for short in (0, 1):
            for chunks in (13, 200, 0):
                lengths = [4003, 4003]
                lengths[short] = 2500
                pair = [row[:length] for row, length in zip(x, lengths)]
                block, options = self.late(x, tagged, chunks=chunks)
                y, _ = self.run_block(block, pair, **options)
                there = np.where(np.arange(4003) < lengths[short], x, 0)
                self.assert_late(there.astype(x.dtype), y, tagged, lengths=lengths)

    def test_delayed_input_in_a_small_buffer(self):
        """
        Nothing hangs where the samples up to a spectrum's window do not fit beside those that it is
        made of, as the buffer was made too small or as a piece of them came twice.
        """
        x = self.noise(1, 20003)
        tags = [stream_tags() + [(0, "delay", f64(2000 / RATE)), (9000, "phase", f64(1.0))]]
        block = self.make(inputs=1, most_delay=2000)
        graph = self.graph(block, x, tags=tags, chunks=0)
        graph.sources[0].set_max_output_buffer(512)
        data, _ = graph.run()
        y = self.spectra(data, 1)
        count = (20003 + 2000 - 128) // 16 + 1
        self.assertGreaterEqual(y.shape[1], count)
        late = self.constant(x, {"delays": 2000 / RATE}, most_delay=2000)[0, :count]
        # the phase holds a buffer late at most
        np.testing.assert_allclose(y[0, :562], late[:562], atol=4e-5)
        np.testing.assert_allclose(y[0, 720:count], late[720:] * np.exp(1j), atol=4e-5)

        again = 9000
        tags = [
            stream_tags()
            + [
                (0, "delay", f64(380 / RATE)),
                (again, "rx_time", rx_time(EPOCH, (again - 5000) / RATE)),
            ]
        ]
        for chunks in (100, 0):
            block = self.make(inputs=1, most_delay=400)
            graph = self.graph(block, x, tags=tags, chunks=chunks)
            graph.sources[0].set_max_output_buffer(2048)
            y = self.spectra(graph.run()[0], 1)
            there = np.abs(y[0]).max(axis=1) > 0
            count = (20003 - 5000 + 380 - 128) // 16 + 1
            self.assertGreaterEqual(len(there), count)
            wanted = self.lost(380, [[(again, 0)]][0], count, 15003)
            missing = ~there[:count]
            np.testing.assert_array_equal(missing[:200], wanted[:200])
            # spectra across the place, and those whose samples had gone by then
            self.assertLess(missing.sum() - wanted.sum(), (128 + 380) // 16 + 2)

    # ---- lost samples

    def lost(self, shift, losses, count, length, n=16, taps=8):
        """Returns which of `count` spectra an input does not have that is shifted by some
        samples."""
        there = np.ones(length + sum(c for _, c in losses), dtype=bool)
        gone = 0
        for item, c in losses:
            there[item + gone : item + gone + c] = False
            gone += c
        there = np.pad(there, 1000)
        missing = []
        for m in range(count):
            first = 1000 + m * n - shift
            missing.append(not there[first : first + taps * n].all())
        return np.array(missing)

    def test_gaps(self):
        """
        A spectrum is missing where what it is read from was lost, or lies before the start,
        wherever the gap, and however the delay changes meanwhile.
        """
        length = 3000
        for shifts in ((0, 0), (40, -40), (83, 5), (-83, 0), (16, -16), (-7, -90)):
            for losses in (
                [[], [(1003, 217)]],
                [[(777, 16)], [(1111, 1)]],
                [[(40, 3), (60, 100), (1700, 150)], [(5, 1), (1200, 33)]],
            ):
                for chunks in (17, 0):
                    tags = []
                    for port in losses:
                        gone, own = 0, stream_tags()
                        for item, count in port:
                            gone += count
                            own.append(jump(item, (item + gone) / RATE))
                        tags.append(own)
                    block = self.make()
                    block.set_delays(np.array(shifts) / RATE)
                    x = self.noise(2, length)
                    y, found = self.run_block(block, x, tags=tags, chunks=chunks)
                    for i, port in enumerate(losses):
                        wanted = self.lost(shifts[i], port, y.shape[1], length)
                        if self.in_frames:  # the last frame is filled up
                            end = min(
                                (length + sum(c for _, c in losses[j]) - 128 + min(0, shifts[j]))
                                // 16
                                + 1
                                for j in (0, 1)
                            )
                            end = max(end, y.shape[1] - TIMES + 1)
                        else:
                            end = y.shape[1]
                        missing = np.abs(y[i, :end]).max(axis=1) == 0
                        where = (shifts, losses, i, chunks)
                        np.testing.assert_array_equal(
                            np.flatnonzero(missing), np.flatnonzero(wanted[:end]), str(where)
                        )
                        tagged = np.zeros(y.shape[1], dtype=bool)
                        for tag in tags_of(found[0 if self.in_frames else i], "missing"):
                            if tag[1]["input"] == (i if self.in_frames else 0):
                                first = tag[1]["first"]
                                tagged[first : first + tag[1]["count"]] = True
                        np.testing.assert_array_equal(tagged[:end], missing, str(where))
                        if not self.in_frames:
                            self.assertEqual(block.missing()[i], missing.sum())

    def test_clamped_samples(self):
        """Each is counted once, while whole samples come and go."""
        x = qa_tools.random_samples(self.rng, "sc8", (2, 6000))
        x[self.rng.random(x.shape) < 0.02] = -128
        block = self.make(input_type="sc8")
        block.set_delays([0.0, 0.0], [2e-3, -2e-3])
        y, _ = self.run_block(block, x, input_type="sc8")
        low = (x == -128).any(axis=-1)
        drift = 2e-3 * 6000
        for i, counted in enumerate(block.clamped_samples()):
            self.assertLessEqual(counted, low[i].sum())
            self.assertGreater(counted, low[i, : -int(drift) - 32].sum() - 3)

    # ---- range

    def test_range(self):
        """A delay that is too long is refused, with its value and the range."""
        x = self.noise()
        block = self.make(most_delay=100)
        block.set_delays(101 / RATE)
        block.set_delays(100 / RATE, input=0, model="fits")
        y, _ = self.run_block(block, x)
        self.assertEqual([m["event"] for m in self.messages], ["refused"] * 2)
        for message in self.messages:
            self.assertRegex(
                message["reason"], "delay: 9.63.*e-05 s.*9.5367.*e-05.*most_delay, 100 samples"
            )
        np.testing.assert_array_equal(
            y, self.constant(x, {"delays": 100 / RATE, "input": 0}, most_delay=100)
        )
        self.assertEqual([s["model"] for s in block.delays()], ["fits"])

    def test_out_of_range(self):
        """Spectra of an input are missing while its delay or rate, the sum of models, is out of
        range."""
        x = self.noise()
        block = self.make(most_delay=100)
        block.set_delays([90 / RATE, 0.0], model="a")
        block.set_delays([20 / RATE, 0.0], model="b")
        time = rx_time(EPOCH, self.time_of(100))
        block.set_delays([-20 / RATE, 0.0], model="b", time=time)
        y, _ = self.run_block(block, x)
        self.assertEqual([m["event"] for m in self.messages], ["refused"])
        self.assertRegex(self.messages[0]["reason"], "delay of input 0: 110 samples.*100")
        self.assertEqual(np.abs(y[0, :100]).max(), 0)
        expected = self.constant(x, {"delays": [70 / RATE, 0.0]})
        np.testing.assert_allclose(y[:, 100:230], expected[:, 100:230], atol=4e-5)
        np.testing.assert_array_equal(y[1, :100], expected[1, :100])
        self.assertEqual(block.missing(), [100, 0])

    def test_no_rate(self):
        """Without rx_rate phases are possible, delays are not."""
        x = self.noise()
        block = self.make()
        block.set_delays(0.0, phases=np.pi / 2)
        block.set_delays(1e-6, model="other")
        y, _ = self.run_block(block, x, tags=None)
        self.assertEqual(
            [m["event"] for m in self.messages if m["event"] == "refused"], ["refused"] * 2
        )
        self.assertRegex(str(self.messages), "rx_rate")
        np.testing.assert_allclose(y, 1j * self.constant(x), atol=4e-5)

    def test_errors(self):
        for parameters, message in [
            (dict(delays=[0.0] * 3), "delay: 3 numbers.*2 inputs"),
            (dict(delays=[]), "delay: 0 numbers"),
            (dict(delays=0.0, input=2), "input: 2.*1"),
            (dict(delays=0.0, input=-2), "input: -2"),
            (dict(delays=float("inf")), "delay: inf.*finite"),
            (dict(delays=0.0, delay_rates=[0.0, 0.0]), "delay_rate: 2 numbers.*1"),
            (dict(delays=0.0, time=(2**60, 0.0)), "time"),
            (dict(delays=0.0, model="tags"), 'model: "tags"'),
        ]:
            with self.subTest(**parameters):
                with self.assertRaisesRegex(ValueError, message):
                    self.make().set_delays(**parameters)
        with self.assertRaisesRegex(ValueError, "most_delay: -1"):
            self.make(most_delay=-1)
        with self.assertRaisesRegex(ValueError, "input: 2"):
            self.make().delays(2)
        with self.assertRaisesRegex(ValueError, "input: 2"):
            self.make().gain_settings(2)

    # ---- running

    def test_restart(self):
        """The same numbers: what has no time counts from the first spectrum again."""
        x = self.noise()
        block = self.make()
        block.set_delays([5e-6, -5e-6], [1e-3, -3e-4], [0.0, 1.0], [100.0, -50.0])
        tags = [
            stream_tags() + [(1000, "delay", f64(3e-6))],
            stream_tags() + [jump(2000, 2222 / RATE)],
        ]
        graph = self.graph(block, x, tags=tags)
        runs = [graph.run()[0] for _ in range(3)]
        for again in runs[1:]:
            for data, first in zip(again, runs[0]):
                np.testing.assert_array_equal(data, first)

    def test_calls(self):
        """The outputs are the same bit by bit, however calls cut the stream."""
        x = self.noise()
        results = []
        for chunks in (13, 250, 0):
            block = self.make()
            block.set_delays([5e-6, -5e-6], [1e-2, -3e-3], [0.0, 1.0], [100.0, -50.0])
            results.append(self.run_block(block, x, chunks=chunks)[0])
        for y in results[1:]:
            np.testing.assert_array_equal(y, results[0])

    def test_updates(self):
        """
        100 times a second everything is set anew, for some seconds of samples (or as many as
        APERTURE_TEST_UPDATES says): no spectrum is lost, no setting late or refused, and each
        one holds for its hundredth of a second.
        """
        seconds, each = float(os.environ.get("APERTURE_TEST_UPDATES", 3)), 0.01
        x = np.ones((2, int(seconds * RATE)), np.complex64)
        block = self.make(channels=64)
        graph = self.graph(block, x, chunks=0, channels=64)
        count = int(seconds / each)
        rates = self.rng.uniform(-1e-9, 1e-9, (count, 2))
        times = [rx_time(EPOCH, self.time_of(0, 8, 64) + i * each) for i in range(count)]
        for i, time in enumerate(times):
            # ahead of the others, so that none lies before the first sample
            delays = 1e-6 * np.sin(0.1 * i + np.arange(2)) - 2e-6
            graph.post(
                "delays",
                {
                    "delay": f64(*delays),
                    "delay_rate": f64(*rates[i]),
                    "phase": f64(0.1 * i, -0.1 * i),
                    "phase_rate": f64(1.0, 2.0),
                    "time": time,
                },
            )
            block.set_delays(1e-9 * i, time=time, model="geometry")
            graph.post("gains", {"gain": 1 + 0.001 * i, "time": time})
        data, _ = graph.run()
        self.assertEqual(graph.messages(), [])
        self.assertEqual(block.missing(), [0, 0])
        y = self.spectra(data, 2)
        spectra = (x.shape[1] - 8 * 64) // 64
        self.assertGreaterEqual(y.shape[1], spectra)
        t = np.arange(spectra) * 64 / RATE
        i = np.minimum((t / each + 1e-6).astype(int), count - 1)
        for j, sign in enumerate((1, -1)):
            expected = (1 + 0.001 * i) * np.exp(1j * (0.1 * i * sign + (1 + j) * (t - i * each)))
            found = y[j, :spectra, 32] / np.abs(y[j, 0, 32])
            rotated = found / expected
            # one constant: what the comb's only tone has for a phase
            np.testing.assert_allclose(rotated, rotated[0], atol=1e-3)


class qa_delays_of_pfb_channelizer(Delays, gr_unittest.TestCase):
    pass


class qa_delays_of_f_engine(Delays, gr_unittest.TestCase):
    in_frames = True


if __name__ == "__main__":
    unittest.main()
