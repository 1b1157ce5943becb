#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""pfb_channelizer against the reference model: numbers, tags, gains, lost samples."""

import threading
import time
from fractions import Fraction

import numpy as np
import pmt
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    Flowgraph,
    jump,
    ports_of,
    run_chain,
    rx_time,
    stream_tags,
    tags_of,
)

aperture = qa_tools.on_device(aperture)

# A power of two: all times below are exact in float64.
RATE = float(2**20)
FREQUENCY = 408e6


def spectra_of(outputs, sample_type, inputs_per_port, channels):
    """Bytes of each port -> [input][spectrum][channel] (sc8: [...][2])."""
    inputs = []
    for data in outputs:
        flat = reference.samples_from_bytes(data, sample_type, inputs_per_port * channels)
        shape = (len(data), inputs_per_port, channels) + flat.shape[2:]
        inputs.extend(np.swapaxes(flat.reshape(shape), 0, 1))
    return np.array(inputs)


class qa_pfb_channelizer(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(19670806)

    # ---- comparisons

    def assert_equal_fc32(self, actual, expected):
        """
        Within 3e-6 of the rms: fp32 sums and FFTs are wrong by about 2e-7 of it (a few
        times 2^-24), and 1e5 values reach five times that.
        """
        self.assertEqual(actual.shape, expected.shape)
        rms = np.sqrt(np.mean(np.abs(expected) ** 2)) if expected.size else 0
        np.testing.assert_allclose(actual, expected, rtol=0, atol=3e-6 * rms)

    def check(
        self,
        channels=16,
        taps=3,
        inputs=1,
        inputs_per_port=1,
        input_type="fc32",
        output_type="fc32",
        samples=None,
        count=7,
        gain=0.0,
        gains=None,
        prototype=None,
        chunks=61,
        limit=0,
        **options,
    ):
        """Runs a block, compares it with the model; returns the block."""
        hop = channels if reference.is_complex(input_type) else 2 * channels
        oversampling = options.get("oversampling", "1")
        step = int(hop / Fraction(oversampling))
        if samples is None:
            length = (count - 1) * step + taps * hop + step - 1
            length -= length % reference.samples_in_item(input_type, inputs_per_port)
            samples = qa_tools.random_samples(self.rng, input_type, (inputs, length))
        h = prototype
        if h is None:
            h = reference.prototype(hop, taps, options.get("window", "hann"))
        else:
            options["prototype"] = list(h)
        block = aperture.pfb_channelizer(
            channels=channels,
            taps=taps,
            inputs=inputs,
            inputs_per_port=inputs_per_port,
            input_type=input_type,
            output_type=output_type,
            gain=gain,
            **options,
        )
        if limit:
            block.set_max_noutput_items(limit)
        if gains is not None:
            for number, row in enumerate(gains):
                block.set_gains(list(row), number)
        size = (2 if output_type == "sc8" else 8) * channels * inputs_per_port
        outputs, _ = qa_tools.run(
            block,
            ports_of(samples, input_type, inputs_per_port),
            [size] * (inputs // inputs_per_port),
            chunks=chunks,
        )
        values, low = reference.decode(samples, input_type)
        expected = reference.pfb(
            values, channels, h, options.get("inverted", False), oversampling=oversampling
        )
        expected *= (gain or 1) if gains is None else np.asarray(gains)[:, None]
        actual = spectra_of(outputs, output_type, inputs_per_port, channels)
        if output_type == "sc8":
            expected, clamped = reference.quantise(expected)
            qa_tools.assert_steps_agree(actual, expected, block)
            self.assertEqual(block.clamped(), clamped.sum(axis=(1, 2)).tolist())
        else:
            self.assert_equal_fc32(actual, expected)
            self.assertEqual(block.clamped(), [0] * inputs)
        used = (expected.shape[1] - 1) * step + taps * hop if expected.shape[1] else 0
        self.assertEqual(block.clamped_samples(), low[:, :used].sum(axis=1).tolist())
        self.assertEqual(block.missing(), [0] * inputs)
        return block

    # ---- values

    def test_types(self):
        for input_type in reference.SAMPLE_TYPES:
            for output_type, gain in (("fc32", 0.0), ("sc8", 1.2)):
                for inputs, inputs_per_port in ((1, 1), (3, 1), (6, 3)):
                    with self.subTest(input_type=input_type, output_type=output_type):
                        self.check(
                            inputs=inputs,
                            inputs_per_port=inputs_per_port,
                            input_type=input_type,
                            output_type=output_type,
                            gain=gain,
                            channels=10,
                        )

    def test_oversampled(self):
        """All types and ratios, in pieces that begin anywhere in the transform's period: hops of
        one sample, of odd length, and longer than half a transform."""
        for n, ratio in (
            (12, "4/3"),
            (32, "32/27"),
            (10, "5/2"),
            (10, "10"),
            (6, "3/1"),
            (8, "2/2"),
        ):
            for input_type in reference.SAMPLE_TYPES:
                packed = reference.samples_in_item(input_type, 3)
                real = not reference.is_complex(input_type)
                if int((1 + real) * n / Fraction(ratio)) % packed:
                    continue
                with self.subTest(channels=n, oversampling=ratio, input_type=input_type):
                    self.check(
                        channels=n,
                        oversampling=ratio,
                        input_type=input_type,
                        inputs=3,
                        inputs_per_port=3,
                        count=75,
                        inverted=n == 12,
                        output_type="sc8" if n == 32 else "fc32",
                        gain=0.8 if n == 32 else 0.0,
                    )
        self.check(channels=2048, taps=24, oversampling="32/27", count=9)

    def test_oversampled_tone(self):
        """In the middle of a channel it keeps its phase; at the edge of the channel what aliases is
        as far down as the prototype lets it be, by the definition of both."""
        n, taps, ratio = 64, 24, Fraction(32, 27)
        t = np.arange(8000)

        def channel(frequency, k=40):
            tone = np.exp(2j * np.pi * frequency / n * t).astype(np.complex64)
            block = aperture.pfb_channelizer(
                channels=n, taps=taps, inputs=1, oversampling=str(ratio)
            )
            data, _ = qa_tools.run(block, ports_of(tone[None], "fc32", 1), [8 * n])
            return spectra_of(data, "fc32", 1, n)[0][:, k]

        k = 40 - n // 2
        middle = channel(k)
        np.testing.assert_allclose(middle, middle[0], atol=1e-5 * abs(middle[0]))
        # a rate above the channel's own edge, which it is taken for
        alias = np.abs(channel(k + 0.5 - float(ratio))).max() / abs(middle[0])
        self.assertLess(20 * np.log10(alias), -67)
        for place, level in ((0.5, -6), (0.45, -3.5)):
            inside = np.abs(channel(k + place)).max() / abs(middle[0])
            self.assertGreater(20 * np.log10(inside), level - 0.1)

    def test_sizes(self):
        """The smallest, odd factors, one tap, many."""
        for channels, taps, count in [
            (4, 1, 1001),
            (6, 64, 5),
            (22, 5, 33),
            (34, 1, 20),
            (90, 7, 15),
            (210, 2, 11),
            (1024, 8, 9),
        ]:
            for input_type in ("fc32", "s16"):
                with self.subTest(channels=channels, taps=taps, input_type=input_type):
                    self.check(
                        channels=channels,
                        taps=taps,
                        count=count,
                        input_type=input_type,
                        chunks=1777,
                    )

    def test_powers_of_two_of_8_bits(self):
        """Some GPUs transform 8 bits to 8 bits on tensor cores."""
        for channels in (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192):
            for taps, inputs, count in ((8, 1, 301), (3, 3, 77), (1, 2, 1)):
                if channels > 1024:
                    count = min(count, 29)
                with self.subTest(channels=channels, taps=taps):
                    self.check(
                        channels=channels,
                        taps=taps,
                        inputs=inputs,
                        inputs_per_port=inputs,
                        count=count,
                        input_type="sc8",
                        output_type="sc8",
                        chunks=17777,
                        inverted=taps == 3,
                    )

    def test_largest(self):
        self.check(channels=65536, taps=2, count=3, chunks=100003, input_type="sc8")
        self.check(channels=65536, taps=1, count=2, chunks=100003, input_type="f32")

    def test_chunks(self):
        """Any pieces in, and any number of spectra out of a call."""
        samples = qa_tools.random_samples(self.rng, "sc16", (2, 5003))
        for chunks, limit in [(1, 0), (7, 1), (5000, 3), (0, 0), (16, 2)]:
            with self.subTest(chunks=chunks, limit=limit):
                self.check(inputs=2, input_type="sc16", samples=samples, chunks=chunks, limit=limit)

    def test_windows(self):
        for window in ("hann", "hamming", "blackman", "rect", "kaiser(0)", "kaiser(9.5)"):
            for hop, taps in ((16, 3), (12, 1), (64, 8)):
                h = aperture.pfb_prototype(hop, taps, window)
                # float32 of numbers below 1
                np.testing.assert_allclose(
                    h, reference.prototype(hop, taps, window), rtol=0, atol=1e-7
                )
            with self.subTest(window=window):
                self.check(window=window)
                self.check(window=window, input_type="f32")

    def test_prototype_vector(self):
        """No symmetry, no scale of its own."""
        for input_type, length in (("fc32", 48), ("f32", 96)):
            h = self.rng.standard_normal(length).astype(np.float32)
            self.check(prototype=h, input_type=input_type)

    def test_inverted(self):
        for input_type in reference.SAMPLE_TYPES:
            with self.subTest(input_type=input_type):
                self.check(inverted=True, input_type=input_type, inputs=2)
        self.check(inverted=True, input_type="s8", output_type="sc8", gain=2.0)

    def test_edge_channels(self):
        """
        A tone on the middle of the first and of the last channel: all power there, and the
        phase of the tone at the first sample, rotated by the middle of the prototype.
        """
        n, taps = 12, 8
        for real, k, f in [
            (False, 0, -0.5),
            (False, n - 1, 0.5 - 1 / n),
            (True, 0, 0.0),
            (True, n - 1, 0.5 - 0.5 / n),
        ]:
            hop = 2 * n if real else n
            t = np.arange((taps + 2) * hop)
            x = np.exp(2j * np.pi * f * t + 0.5j).astype(np.complex64)
            x = x.real.copy() if real else x
            block = aperture.pfb_channelizer(
                channels=n, taps=taps, input_type="f32" if real else "fc32", inputs=1
            )
            data, _ = qa_tools.run(block, ports_of(x[None], "f32" if real else "fc32", 1), [8 * n])
            y = spectra_of(data, "fc32", 1, n)[0]
            h = reference.prototype(hop, taps)
            # the tone rotates by whole cycles from spectrum to spectrum
            expected = np.sum(h) * np.exp(0.5j)
            if real:
                image = reference.response(h, -2 * f) * np.exp(-0.5j)
                expected = (expected + image) / 2
            np.testing.assert_allclose(y[:, k], expected, rtol=3e-6)
            others = np.delete(np.abs(y), k, axis=1)
            self.assertLess(others.max(), 10 ** (-53 / 20) * abs(expected))

    def test_number_of_spectra(self):
        """floor(N/n) - T + 1 of N samples, whatever the pieces, nothing lost at the end."""
        n, taps = 8, 3
        for input_type, hop in (("sc8", n), ("s16", 2 * n)):
            for length in [0, 1, taps * hop - 1, taps * hop, taps * hop + 1] + [
                taps * hop + extra for extra in (hop - 1, hop, 10 * hop + 5, 999)
            ]:
                for chunks in (0, 5):
                    samples = qa_tools.random_samples(self.rng, input_type, (2, length))
                    block = aperture.pfb_channelizer(
                        channels=n, taps=taps, inputs=2, input_type=input_type
                    )
                    data, _ = qa_tools.run(
                        block, ports_of(samples, input_type, 1), [8 * n] * 2, chunks=chunks
                    )
                    count = max(0, length // hop - taps + 1)
                    self.assertEqual([len(port) for port in data], [count] * 2)

    # ---- quantiser and clamping

    def test_saturation_is_counted(self):
        """Complex samples that do not fit, once each, for each input."""
        samples = qa_tools.random_samples(self.rng, "sc16", (4, 4000), rms=50)
        samples[2] //= 100
        block = self.check(
            inputs=4,
            inputs_per_port=2,
            input_type="sc16",
            output_type="sc8",
            samples=samples,
            gain=2.0,
        )
        self.assertGreater(block.clamped()[0], 100)
        self.assertEqual(block.clamped()[2], 0)

    def test_far_out_of_range(self):
        """Values that do not fit into int32 are clamped, too, without a wrap at +-128."""
        samples = qa_tools.random_samples(self.rng, "fc32", (1, 300), rms=1e30)
        self.check(samples=samples, output_type="sc8", gain=1.0)
        samples = qa_tools.random_samples(self.rng, "fc32", (1, 30000), rms=90)
        self.check(samples=samples, output_type="sc8", gain=1.0)

    def test_lowest_sample(self):
        """-128 is read as -127 and counted once, however often a sample is used."""
        for input_type, lowest in (("sc8", -128), ("s8", -128), ("sc4", -8)):
            samples = qa_tools.random_samples(self.rng, input_type, (4, 2000))
            where = self.rng.random(samples.shape) < 0.02
            where[3] = False
            samples[where] = lowest
            for chunks in (7, 0):
                for inverted in (False, True):
                    block = self.check(
                        inputs=4,
                        inputs_per_port=2,
                        input_type=input_type,
                        samples=samples,
                        chunks=chunks,
                        inverted=inverted,
                    )
                    self.assertGreater(block.clamped_samples()[0], 10)
                    self.assertEqual(block.clamped_samples()[3], 0)

    def test_packed_samples(self):
        """
        Four samples of 10 bits of 3 inputs a port make an item. The rate in rx_rate is that of
        items; a gap is a whole number of them.
        """
        n, taps, inputs, length, lost = 12, 3, 3, 4000, 52
        for input_type in ("s10", "s12"):
            items = reference.samples_in_item(input_type, inputs)
            self.assertEqual(items, {"s10": 4, "s12": 2}[input_type])
            x = qa_tools.random_samples(self.rng, input_type, (inputs, length), 200)
            x[0, 7], x[1, 8] = -(2 ** (int(input_type[1:]) - 1)), 1
            first = 2000
            tags = stream_tags(rate=RATE / items)
            tags.append(jump(first // items, (first + lost) / RATE))
            block = aperture.pfb_channelizer(
                channels=n, taps=taps, inputs=3, inputs_per_port=3, input_type=input_type
            )
            data, (out_tags,) = qa_tools.run(
                block, ports_of(x, input_type, 3), [8 * n * 3], tags=[tags], chunks=71
            )
            laid_out, stretch = reference.lay_out(x.T, [(first, lost)])
            missing = reference.missing_spectra(stretch, 2 * n, taps)
            values, low = reference.decode(laid_out.T, input_type)
            self.assertFalse(low.any())
            expected = reference.pfb(values, n, reference.prototype(2 * n, taps), missing=missing)
            self.assertGreater(missing.sum(), taps)
            self.assert_equal_fc32(spectra_of(data, "fc32", 3, n), expected)
            edge = reference.pfb_edge(FREQUENCY, RATE, n, taps, real=True)
            for key in ("rx_freq", "rx_rate", "bandwidth", "samples_per_item"):
                ((offset, value),) = tags_of(out_tags, key)
                self.assertEqual(offset, 0)
                self.assertAlmostEqual(value, edge[key], delta=1e-6)
            ((_, value),) = tags_of(out_tags, "rx_time")
            error = qa_tools.seconds_between(value, rx_time(EPOCH, edge["delay"]))
            self.assertAlmostEqual(error, 0, delta=1e-12)

    def test_gain_of_8_bits_is_1(self):
        self.check(input_type="sc8", output_type="sc8")

    # ---- gains

    def test_gains(self):
        """One for each input and channel."""
        shape = (2, 16)
        gains = self.rng.standard_normal(shape) + 1j * self.rng.standard_normal(shape)
        gains = gains.astype(np.complex64)
        block = self.check(inputs=2, gains=gains)
        np.testing.assert_array_equal(block.gains(1), gains[1])
        self.check(inputs=2, gains=gains, output_type="sc8", gain=1.0)
        block = aperture.pfb_channelizer(channels=8, inputs=3, gain=2.5)
        np.testing.assert_array_equal(block.gains(2), [2.5] * 8)
        block.set_gain(1 - 2j, 1)
        np.testing.assert_array_equal(block.gains(0), [2.5] * 8)
        np.testing.assert_array_equal(block.gains(1), [1 - 2j] * 8)
        block.set_gain(0.5)
        block.set_gains(list(range(8)), 2)
        np.testing.assert_array_equal(block.gains(1), [0.5] * 8)
        np.testing.assert_array_equal(block.gains(2), range(8))
        block.set_gains(list(range(1, 9)))
        np.testing.assert_array_equal(block.gains(0), range(1, 9))

    def gain_run(self, inputs, actions, count=40, sources=None):
        """
        Runs 16 channels, 3 taps, and calls actions {spectrum: function(flowgraph)} when all
        spectra before that one are out and none of those behind can be.

        Returns the ratio to the spectra at gain 1, [input][spectrum][channel], and the
        flowgraph.
        """
        n, taps = 16, 3
        x = qa_tools.random_samples(self.rng, "fc32", (inputs, (count + taps - 1) * n))
        block = aperture.pfb_channelizer(channels=n, taps=taps, inputs=inputs)
        gates = {(m - 1 + taps) * n: threading.Event() for m in actions}
        graph = Flowgraph(
            block,
            ports_of(x, "fc32", 1),
            [8 * n] * inputs,
            tags=[stream_tags()] * inputs,
            gates=gates,
            chunks=100,
        )
        with graph.running():
            for m, action in sorted(actions.items()):
                for sink in graph.sinks:
                    sink.wait_for(m)
                action(graph)
                gates[(m - 1 + taps) * n].set()
        y = spectra_of([sink.data() for sink in graph.sinks], "fc32", 1, n)
        return y / reference.pfb(x, n, reference.prototype(n, taps)), graph

    def assert_gains(self, ratio, expected):
        """Compares the gains of spectra. expected: [input][spectrum]; 1e-4: where a spectrum is a
        small difference."""
        expected = np.asarray(expected)[..., None] * np.ones(16)
        np.testing.assert_allclose(ratio, expected, rtol=0, atol=3e-4)

    @staticmethod
    def spectrum_time(m, n=16, taps=3):
        """Seconds behind EPOCH of the middle of spectrum m."""
        return (m * n + (taps * n - 1) / 2) / RATE

    def test_set_gain_while_running(self):
        ratio, graph = self.gain_run(
            2,
            {
                11: lambda graph: graph.block.set_gain(2j, 1),
                23: lambda graph: graph.block.set_gains([0.5] * 16),
            },
        )
        expected = np.ones((2, 40), dtype=complex)
        expected[1, 11:] = 2j
        expected[:, 23:] = 0.5
        self.assert_gains(ratio, expected)

    def test_message_while_running(self):
        """Gains without a time are set of all inputs, of one input, and for each channel."""
        ramp = np.arange(1, 17).astype(np.complex64)
        ratio, _ = self.gain_run(
            2,
            {
                5: lambda graph: graph.post_and_wait("gains", {"gain": 2.0}),
                12: lambda graph: graph.post_and_wait("gains", {"gain": 1j, "input": 1}),
                20: lambda graph: graph.post_and_wait("gains", {"gain": ramp, "input": 0}),
            },
        )
        expected = np.ones((2, 40, 16), dtype=complex)
        expected[:, 5:] = 2
        expected[1, 12:] = 1j
        expected[0, 20:] = ramp
        np.testing.assert_allclose(ratio, expected, rtol=0, atol=5e-3)

    def test_message_before_its_samples(self):
        """A setting that a block before this one sends holds for the samples that it sends
        afterwards."""
        n, count = 16, 500
        x = qa_tools.random_samples(self.rng, "fc32", (1, count * n))
        block = aperture.pfb_channelizer(channels=n, taps=1, inputs=1)

        class source(qa_tools.ByteSource):
            """Says the number of the first sample before each piece."""

            def work(self, inputs, outputs):
                gain = qa_tools.to_pmt({"gain": 1.0 + self.sent})
                block.to_basic_block()._post(pmt.intern("gains"), gain)
                return super().work(inputs, outputs)

        feed, sink = source(*ports_of(x, "fc32", 1), chunks=n), qa_tools.ByteSink(8 * n)
        run_chain(feed, block, sink)
        y = spectra_of([sink.data()], "fc32", 1, n)
        ratio = (y / reference.pfb(x, n, reference.prototype(n, 1))).real[0].mean(axis=1)
        # the last sample of a spectrum is in a piece that begins at its first one or later
        self.assertEqual(np.flatnonzero(ratio < 0.99 + n * np.arange(count)).tolist(), [])

    def test_timed_message(self):
        """Gains hold from the first spectrum at or after their time; sent in any order."""

        def send(graph):
            exactly = rx_time(EPOCH, self.spectrum_time(21))
            behind = rx_time(EPOCH, self.spectrum_time(30) + 1 / RATE)
            before = rx_time(EPOCH, self.spectrum_time(12) - 1 / RATE)
            graph.post_and_wait("gains", {"gain": 4.0, "input": 0, "time": behind})
            graph.post_and_wait("gains", {"gain": 3.0, "time": exactly})
            graph.post_and_wait("gains", {"gain": 2.0, "input": 1, "time": before})

        ratio, graph = self.gain_run(2, {5: send})
        expected = np.ones((2, 40))
        expected[1, 12:] = 2
        expected[:, 21:] = 3
        expected[0, 31:] = 4
        self.assert_gains(ratio, expected)
        self.assertEqual(graph.messages(), [])

    def test_late_message(self):
        """Holds at once, and status says so."""
        late = rx_time(EPOCH, self.spectrum_time(2))
        ratio, graph = self.gain_run(
            1, {10: lambda graph: graph.post_and_wait("gains", {"gain": 3.0, "time": late})}
        )
        expected = np.ones((1, 40))
        expected[:, 10:] = 3
        self.assert_gains(ratio, expected)
        events = graph.messages()
        self.assertEqual(len(events), 1, events)
        self.assertIn("late", events[0]["event"])

    def test_bad_messages(self):
        """Leave the gains as they are and the flowgraph running; status says so."""
        bad = [
            {"input": 0},
            {"gain": 2.0, "input": 2},
            {"gain": 2.0, "input": -2},
            {"gain": 2.0, "input": 2**32},
            {"gain": float("nan")},
            {"gain": np.ones(15, dtype=np.complex64)},
            {"gain": pmt.intern("loud")},
            {"gain": 2.0, "time": pmt.intern("noon")},
            pmt.from_long(7),
        ]

        def send(graph):
            for message in bad:
                graph.post_and_wait("gains", message)

        ratio, graph = self.gain_run(2, {3: send})
        self.assert_gains(ratio, np.ones((2, 40)))
        self.assertEqual(len(graph.messages()), len(bad), graph.messages())

    # ---- tags

    def test_tags(self):
        n, taps = 10, 3
        for input_type, ratio in (("sc8", "1"), ("s8", "1"), ("sc8", "5/2"), ("s8", "5/4")):
            for inverted in (False, True):
                real = input_type == "s8"
                block = aperture.pfb_channelizer(
                    channels=n,
                    taps=taps,
                    inputs=4,
                    inputs_per_port=2,
                    input_type=input_type,
                    inverted=inverted,
                    oversampling=ratio,
                )
                x = qa_tools.random_samples(self.rng, input_type, (4, 900))
                _, tags = qa_tools.run(
                    block, ports_of(x, input_type, 2), [16 * n] * 2, tags=[stream_tags(0.75)] * 2
                )
                edge = reference.pfb_edge(FREQUENCY, RATE, n, taps, real, inverted, ratio)
                for port in tags:
                    found = {tag.key: tag.value for tag in port}
                    self.assertTrue(all(tag.offset == 0 for tag in port))
                    self.assertEqual(len(found), len(port))
                    self.assertEqual(
                        set(found),
                        {"rx_time", "rx_freq", "rx_rate", "bandwidth", "samples_per_item"}
                        | ({"first_spectrum"} if ratio != "1" else set()),
                    )
                    self.assertEqual(found.get("first_spectrum", 0), 0)
                    late = qa_tools.seconds_between(
                        found["rx_time"], rx_time(EPOCH, 0.75 + edge["delay"])
                    )
                    self.assertAlmostEqual(late, 0, delta=1e-12)
                    # sums of a few float64 below 1e9
                    self.assertAlmostEqual(found["rx_freq"], edge["rx_freq"], delta=1e-6)
                    self.assertAlmostEqual(found["rx_rate"], edge["rx_rate"], delta=1e-9)
                    self.assertAlmostEqual(found["bandwidth"], edge["bandwidth"], delta=1e-6)
                    self.assertEqual(found["samples_per_item"], edge["samples_per_item"])

    def test_without_tags(self):
        """Nothing is made up."""
        block = aperture.pfb_channelizer(channels=8, taps=2, inputs=1)
        _, tags = qa_tools.run(block, [np.zeros((100, 8), np.uint8)], [64])
        keys = {tag.key for tag in tags[0]}
        self.assertFalse(keys & {"rx_rate", "rx_freq", "bandwidth", "missing"}, tags[0])

    def test_retuned(self):
        """
        A new rx_freq with an rx_time that fits: nothing is lost, but spectra of samples of
        both frequencies are missing, on each port that says so.
        """
        new = [jump(1003, 1003 / RATE), (1003, "rx_freq", 500e6)]
        for others in ([], new):
            graph = self.lossy(
                [[(1003, 0)], [(1003, 0)] if others else []], tags=[new, others], changes=1
            )
            for sink in graph.sinks:
                changes = tags_of(sink.tags, "rx_freq")
                # sample 1003 lies under spectra 60 to 62
                self.assertEqual(changes, [(0, FREQUENCY), (63, 500e6)])
                times = tags_of(sink.tags, "rx_time")
                self.assertEqual([offset for offset, _ in times], [0, 63])
                elapsed = qa_tools.seconds_between(times[1][1], times[0][1])
                self.assertAlmostEqual(elapsed, 63 * 16 / RATE, delta=1e-12)

    def test_seconds_since_the_start(self):
        """An rx_time before 2000 counts from the start: the host's clock is the epoch."""
        n = 8
        block = aperture.pfb_channelizer(channels=n, taps=2, inputs=2)
        x = qa_tools.random_samples(self.rng, "fc32", (2, 400))
        tags = [
            [(0, "rx_time", rx_time(5, offset / RATE)), (0, "rx_rate", RATE)] for offset in (0, 24)
        ]
        began = time.time()
        data, out = qa_tools.run(block, ports_of(x, "fc32", 1), [8 * n] * 2, tags=tags)
        ended = time.time()
        for port in out:
            ((offset, value),) = tags_of(port, "rx_time")
            self.assertEqual(offset, 0)
            self.assertGreater(value[0] + value[1], began - 1)
            self.assertLess(value[0] + value[1], ended + 1)
            self.assertEqual(tags_of(port, "rx_time_approximate"), [(0, True)])
        x = np.stack([x[0, 24:], x[1, :-24]])
        expected = reference.pfb(x, n, reference.prototype(n, 2))
        self.assert_equal_fc32(spectra_of(data, "fc32", 1, n), expected)

    # ---- lost samples

    def lossy(
        self, losses, starts=(0, 0), tags=None, length=3000, chunks=100, changes=0, **options
    ):
        """
        Two ports of two inputs; compares spectra and missing tags with the model.

        losses: for each port, what reference.lay_out() takes
        starts: samples that a port starts late
        tags: further tags of each port
        changes: how often rx_time is said again behind the first spectrum
        Returns the flowgraph.
        """
        n, taps = 16, 3
        input_type = options.get("input_type", "fc32")
        output_type = options.get("output_type", "fc32")
        x = qa_tools.random_samples(self.rng, input_type, (4, length))
        block = aperture.pfb_channelizer(
            channels=n, taps=taps, inputs=4, inputs_per_port=2, **options
        )
        port_tags, laid_out, stretches = [], [], []
        latest = round(max(starts))
        for port in range(2):
            own = stream_tags(starts[port] / RATE)
            lost = 0
            for item, count in losses[port]:
                lost += count
                if count:
                    own.append(jump(item, (starts[port] + item + lost) / RATE))
            port_tags.append(own + list(tags[port] if tags else ()))
            for number in (2 * port, 2 * port + 1):
                items, stretch = reference.lay_out(
                    x[number], losses[port], round(starts[port]) - latest
                )
                laid_out.append(items)
                stretches.append(stretch)
        size = (2 if output_type == "sc8" else 8) * n * 2
        graph = Flowgraph(
            block, ports_of(x, input_type, 2), [size] * 2, tags=port_tags, chunks=chunks
        )
        outputs, out_tags = graph.run()
        common = min(len(stretch) for stretch in stretches)
        hop = n if reference.is_complex(input_type) else 2 * n
        ratio = options.get("oversampling", "1")
        missing = np.array(
            [reference.missing_spectra(s[:common], hop, taps, ratio) for s in stretches]
        )
        values, _ = reference.decode(np.array([items[:common] for items in laid_out]), input_type)
        h = reference.prototype(hop, taps)
        expected = reference.pfb(values, n, h, missing=missing, oversampling=ratio)
        actual = spectra_of(outputs, output_type, 2, n)
        if output_type == "sc8":
            qa_tools.assert_steps_agree(actual, reference.quantise(expected)[0])
        else:
            self.assert_equal_fc32(actual, expected)
        self.assertTrue((actual[missing] == 0).all())
        for port in range(2):
            for offset, entry in tags_of(out_tags[port], "missing"):
                self.assertEqual(offset, entry["first"])
            found = qa_tools.missing_of(out_tags[port], 2, expected.shape[1])
            np.testing.assert_array_equal(found, missing[2 * port : 2 * port + 2])
            # the clock of the output goes on
            times = tags_of(out_tags[port], "rx_time")
            self.assertEqual(len(times), 1 + changes if expected.shape[1] else 0)
            if not times:
                continue
            self.assertEqual(times[0][0], 0)
            late = latest + (taps * hop - 1) / 2
            if all(start == int(start) for start in starts):
                error = qa_tools.seconds_between(times[0][1], rx_time(EPOCH, late / RATE))
                self.assertAlmostEqual(error, 0, delta=1e-12)
        self.assertEqual(block.missing(), missing.sum(axis=1).tolist())
        return graph

    def test_not_numbers(self):
        """
        All spectra whose windows hold NaN or infinite samples are missing, on their input alone,
        and zero; the others are as they would be. On a GPU they are left to the flags.
        """
        n, taps, length = 16, 3, 3000
        for input_type in ("fc32", "f32"):
            for output_type in ("fc32", "sc8"):
                for chunks, gain in ((17, 1.0), (1000, 0.7)):
                    with self.subTest(input_type=input_type, output_type=output_type, gain=gain):
                        x = qa_tools.random_samples(self.rng, input_type, (4, length))
                        clean = x.copy()
                        bad = np.zeros(x.shape, bool)
                        bad[1, [100, 1501]] = bad[2, 700:811] = bad[3, length - 1] = True
                        clean[bad] = 0
                        x[bad] = self.rng.choice([np.nan, np.inf, -np.inf], bad.sum())
                        if input_type == "fc32":
                            x[1, 100] = complex(0, np.nan)
                            x[1, 1501] = complex(np.inf, 2)
                        block = aperture.pfb_channelizer(
                            channels=n,
                            taps=taps,
                            inputs=4,
                            inputs_per_port=2,
                            gain=gain,
                            input_type=input_type,
                            output_type=output_type,
                        )
                        if block.implementation() != "host":
                            self.skipTest(f"is for the CPU, and not {block.implementation()}")
                        size = (2 if output_type == "sc8" else 8) * n * 2
                        outputs, found = qa_tools.run(
                            block,
                            ports_of(x, input_type, 2),
                            [size] * 2,
                            tags=[stream_tags()] * 2,
                            chunks=chunks,
                        )
                        hop = n if input_type == "fc32" else 2 * n
                        missing = np.array(
                            [
                                [
                                    row[m * hop : (m + taps) * hop].any()
                                    for m in range(length // hop - taps + 1)
                                ]
                                for row in bad
                            ]
                        )
                        self.assertEqual(missing[0].sum(), 0)
                        expected = gain * reference.pfb(
                            clean, n, reference.prototype(hop, taps), missing=missing
                        )
                        actual = spectra_of(outputs, output_type, 2, n)
                        if output_type == "sc8":
                            expected, clamped = reference.quantise(expected)
                            qa_tools.assert_steps_agree(actual, expected)
                            self.assertEqual(block.clamped(), clamped.sum(axis=(1, 2)).tolist())
                        else:
                            self.assert_equal_fc32(actual, expected)
                        tagged = np.concatenate(
                            [qa_tools.missing_of(tags, 2, len(missing[0])) for tags in found]
                        )
                        np.testing.assert_array_equal(tagged, missing)
                        self.assertEqual(block.missing(), missing.sum(axis=1).tolist())

    def test_gap(self):
        """One port loses samples: zeros of the right length, the ports stay aligned."""
        graph = self.lossy([[], [(1003, 217)]])
        self.assertGreaterEqual(len(graph.messages()), 1)
        self.assertIn("event", graph.messages()[0])

    def test_gap_between_oversampled_spectra(self):
        """Phases count on through what is lost."""
        self.lossy([[(430, 237)], []], oversampling="16/11")
        self.lossy([[(300, 100)], [(301, 99)]], oversampling="4/3", input_type="s8")

    def test_gap_on_the_first_port(self):
        self.lossy([[(777, 16)], []])

    def test_gap_of_one_sample(self):
        self.lossy([[(1600, 1)], []])
        self.lossy([[], [(1601, 1)]])

    def test_gap_on_all_ports(self):
        self.lossy([[(800, 100)], [(800, 100)]])
        self.lossy([[(800, 100)], [(850, 100)]])

    def test_gap_longer_than_buffers(self):
        self.lossy([[], [(500, 100000)]], length=150000, chunks=0)

    def test_gap_longer_than_the_rest(self):
        """The ports end with the one that ends first."""
        self.lossy([[], [(500, 100000)]])

    def test_many_gaps(self):
        for chunks in (17, 1000):
            self.lossy(
                [[(40, 3), (60, 100), (1111, 1), (2900, 7)], [(5, 1), (1200, 33)]], chunks=chunks
            )

    def test_gaps_of_other_types(self):
        losses = [[(100, 31)], [(999, 1), (1400, 333)]]
        self.lossy(losses, input_type="s16")
        self.lossy(losses, input_type="sc8", output_type="sc8")
        self.lossy(losses, input_type="s8", output_type="sc8", gain=1.0)

    def test_starts_at_different_times(self):
        """Samples before the latest start are dropped."""
        self.lossy([[], []], starts=(0, 37))
        self.lossy([[], []], starts=(1003, 0))
        # to the nearest sample
        self.lossy([[], []], starts=(0.3, 37))
        self.lossy([[], [(600, 50)]], starts=(0, 36.8))

    def test_gap_before_the_common_start(self):
        self.lossy([[(100, 50)], []], starts=(0, 300))
        self.lossy([[(100, 500)], []], starts=(0, 300))

    def test_starts_before_another_ends(self):
        """A port that starts when the other is over: no spectra, and an end."""
        self.lossy([[], []], starts=(0, 2990))

    def test_repeated_clock(self):
        """Tags that say what is known already, or jitter by less than half a sample."""
        repeated = [jump(1000, 1000 / RATE), (1000, "rx_rate", RATE)]
        repeated += [(1000, "rx_freq", FREQUENCY), jump(2001, 2001.2 / RATE)]
        graph = self.lossy([[], []], tags=[repeated, []])
        self.assertEqual(graph.messages(), [])

    def test_loss_of_unknown_length(self):
        """rx_rate or another rx_freq without rx_time: spectra across are missing; reported."""
        for key, value, changes in (("rx_rate", RATE, 0), ("rx_freq", FREQUENCY + 1e6, 1)):
            graph = self.lossy([[], [(1003, 0)]], tags=[[], [(1003, key, value)]], changes=changes)
            self.assertGreaterEqual(len(graph.messages()), 1)

    def test_loss_of_unknown_length_of_some(self):
        """A loss is of unknown length, at a multiple of the hop; one of known length follows."""
        again = [(1600, "rx_rate", RATE)]
        self.lossy([[(1600, 0)], []], tags=[again, []])
        self.lossy([[(1600, 0), (2000, 37)], []], tags=[again, []])

    # ---- running

    def test_restart(self):
        """The same numbers and tags, of a flowgraph with losses."""
        n = 16
        x = qa_tools.random_samples(self.rng, "sc8", (2, 5000))
        block = aperture.pfb_channelizer(
            channels=n, taps=3, inputs=2, input_type="sc8", output_type="sc8"
        )
        graph = Flowgraph(
            block,
            ports_of(x, "sc8", 1),
            [2 * n] * 2,
            tags=[stream_tags(), stream_tags() + [jump(2000, 2222 / RATE)]],
        )
        runs = [graph.run() for _ in range(3)]
        for data, tags in runs[1:]:
            for port in range(2):
                np.testing.assert_array_equal(data[port], runs[0][0][port])
                first = qa_tools.missing_of(runs[0][1][port], 1, len(data[port]))
                again = qa_tools.missing_of(tags[port], 1, len(data[port]))
                np.testing.assert_array_equal(again, first)
                for key in ("rx_time", "rx_rate", "rx_freq", "bandwidth"):
                    self.assertEqual(tags_of(tags[port], key), tags_of(runs[0][1][port], key))
        self.assertGreater(len(runs[0][0][0]), 300)

    def test_stopped_half_way(self):
        """stop() before the end, then all from the start."""
        n, taps = 16, 3
        x = qa_tools.random_samples(self.rng, "fc32", (1, 4001))
        gate = threading.Event()
        block = aperture.pfb_channelizer(channels=n, taps=taps, inputs=1)
        graph = Flowgraph(
            block, ports_of(x, "fc32", 1), [8 * n], gates={1003: gate}, tags=[stream_tags()]
        )
        with graph.running():
            graph.sinks[0].wait_for(60)
            graph.top.stop()
        data, _ = graph.run()
        expected = reference.pfb(x, n, reference.prototype(n, taps))
        self.assert_equal_fc32(spectra_of(data, "fc32", 1, n), expected)

    def test_two_at_once(self):
        """Blocks of different sizes share nothing."""
        cases = []
        for n, taps in ((16, 3), (30, 8)):
            x = qa_tools.random_samples(self.rng, "fc32", (1, 60000))
            block = aperture.pfb_channelizer(channels=n, taps=taps, inputs=1)
            graph = Flowgraph(block, ports_of(x, "fc32", 1), [8 * n])
            cases.append((graph, x, n, taps))
        qa_tools.run_at_once([graph for graph, *_ in cases])
        for graph, x, n, taps in cases:
            expected = reference.pfb(x, n, reference.prototype(n, taps))
            data = spectra_of([graph.sinks[0].data()], "fc32", 1, n)
            self.assert_equal_fc32(data, expected)

    # ---- errors

    def test_streams_that_contradict(self):
        """Ports of different rates or frequencies, or a rate that is none: an end, no numbers."""
        x = qa_tools.random_samples(self.rng, "fc32", (2, 1001))
        for second in (
            stream_tags(frequency=1.001 * FREQUENCY),
            stream_tags(rate=2 * RATE),
            stream_tags(rate=0.0),
            stream_tags(rate=float("nan")),
        ):
            with self.subTest(second=second):
                block = aperture.pfb_channelizer(channels=16, inputs=2)
                graph = Flowgraph(
                    block, ports_of(x, "fc32", 1), [128, 128], tags=[stream_tags(), second]
                )
                data, _ = graph.run()
                self.assertEqual([len(port) for port in data], [0, 0])

    def test_errors(self):
        """Each names the parameter, its value, and what is allowed."""
        wrong = [
            (dict(channels=5), "channels.*5.*even"),
            (dict(channels=2), "channels.*2.*4"),
            (dict(channels=65538), "channels.*65538.*65536"),
            (dict(channels=-4), "channels.*-4"),
            (dict(taps=0), "taps.*0.*1.*64"),
            (dict(taps=65), "taps.*65.*64"),
            (dict(window="sine"), "window.*sine.*hann"),
            (dict(window="kaiser"), "window.*kaiser.*kaiser\\(beta\\)"),
            (dict(window="kaiser(x)"), "window.*kaiser\\(x\\)"),
            (dict(window="kaiser(-1)"), "window.*kaiser\\(-1\\)"),
            (dict(window="kaiser(nan)"), "window.*kaiser\\(nan\\)"),
            (dict(prototype=[1.0] * 7), "prototype.*7.*8192"),
            (dict(channels=4, taps=1, prototype=[1, float("nan"), 1, 1]), "prototype.*finite"),
            (dict(channels=4, taps=1, prototype=[1, float("inf"), 1, 1]), "prototype.*finite"),
            (dict(oversampling="27/32"), "oversampling: '27/32' .*at least 1"),
            (dict(oversampling="1.2"), "oversampling: '1.2' .*32/27"),
            (dict(oversampling="4/0"), "oversampling: '4/0' "),
            (dict(oversampling=""), "oversampling: '' "),
            (dict(oversampling="5/3"), "oversampling: 5/3 of 1024 channels .*whole number"),
            (
                dict(channels=36, oversampling="4/3", input_type="s10"),
                "oversampling: 4/3, a spectrum every 54 samples.*multiple of 4",
            ),
            (dict(inputs=0), "inputs.*0.*1"),
            (dict(inputs=-2), "inputs.*-2"),
            (dict(inputs_per_port=0), "inputs_per_port.*0"),
            (dict(inputs=3, inputs_per_port=2), "inputs_per_port: 2.*3 inputs"),
            (dict(input_type="u8"), "input_type.*u8.*fc32"),
            (dict(output_type="sc16"), "output_type.*sc16.*sc8"),
            (dict(output_type="sc8"), "gain"),
            (dict(output_type="sc8", input_type="s16"), "gain"),
            (dict(output_type="sc8", input_type="s8"), "gain"),
            (dict(output_type="sc8", input_type="sc4"), "gain"),
            (dict(input_type="s11"), "input_type.*s11.*s12, s10"),
            (dict(gain=float("nan")), "gain.*nan"),
            (dict(gain=float("inf")), "gain.*inf"),
            # not as a float
            (dict(gain=1e39), r"gain: 1e\+39 .*finite"),
            (dict(gain=-1e39), r"gain: -1e\+39 .*finite"),
            (dict(device="toaster"), "device.*toaster.*cpu"),
            (dict(device="cuda:99"), "device.*cuda:99"),
            # size of a spectrum: 65536 x 8192 x 8 bytes
            (dict(channels=65536, inputs=8192, inputs_per_port=8192), "65536.*8192|8192.*65536"),
            # more ports than GNU Radio's buffers allow
            (dict(inputs=1024), "1024.*inputs_per_port|inputs_per_port.*1024"),
        ]
        for parameters, message in wrong:
            with self.subTest(**parameters):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.pfb_channelizer(**parameters)
        for arguments in ((5, 8), (64, 0), (64, 8, "sine")):
            with self.assertRaises(ValueError):
                aperture.pfb_prototype(*arguments)

    def test_errors_of_setters(self):
        block = aperture.pfb_channelizer(channels=8, inputs=2)
        with self.assertRaisesRegex(ValueError, "input.*2"):
            block.set_gain(1, 2)
        with self.assertRaisesRegex(ValueError, "input.*-2"):
            block.set_gain(1, -2)
        with self.assertRaisesRegex(ValueError, "gain.*nan"):
            block.set_gain(float("nan"))
        with self.assertRaisesRegex(ValueError, "gains.*7.*8"):
            block.set_gains([1] * 7)
        with self.assertRaisesRegex(ValueError, "input.*5"):
            block.gains(5)
        np.testing.assert_array_equal(block.gains(0), [1] * 8)


if __name__ == "__main__":
    gr_unittest.run(qa_pfb_channelizer)
