#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""f_engine against pfb_channelizer and corner_turn, bit by bit and tag by tag."""

import itertools
import threading
import time

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    Flowgraph,
    jump,
    ports_of,
    rx_time,
    stream_tags,
    tags_of,
)

aperture = qa_tools.on_device(aperture)

# A power of two: times are exact in float64, also those of a channel of 16.
RATE = float(2**20)
SIZES = {"sc8": 2, "fc32": 8}

#: parameters of both blocks of the chain, and of one only
BOTH = ("channels", "inputs", "inputs_per_port")
OF_TURN = ("spectra_per_frame", "first_channel", "selected_channels", "align")


class qa_f_engine(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(20121)

    def test_counts_are_said(self):
        """Once a second `status` says what was counted of each input so far."""
        samples = self.rng.integers(-127, 128, (2, 16 * 400, 2))
        samples[1, ::5, 0] = -128
        stop = 16 * 200
        gate = threading.Event()
        block = aperture.f_engine(
            channels=16,
            inputs=2,
            inputs_per_port=2,
            taps=3,
            spectra_per_frame=8,
            input_type="sc8",
            output_type="sc8",
            gain=3.0,
            latency=0.01,
        )
        graph = Flowgraph(
            block,
            ports_of(samples, "sc8", 2),
            [16 * 2 * 8 * 2],
            tags=[stream_tags()],
            gates={stop: gate},
        )
        with graph.running():
            until = time.monotonic() + qa_tools.PATIENCE
            last = now = {}
            # a second may be over while some of the spectra before the gate are still to come
            while time.monotonic() < until and not (
                last
                and last["spectra"] == stop // 16 - 2
                and all(list(last[key]) == now[key] for key in now)
            ):
                time.sleep(0.05)
                last = (
                    [message for message in graph.all_messages() if message["event"] == "counts"]
                    or [{}]
                )[-1]
                now = {
                    "clamped": block.clamped(),
                    "clamped_samples": block.clamped_samples(),
                    "missing": block.missing(),
                }
            gate.set()
        self.assertEqual((last["channels"], last["spectra"]), (16, stop // 16 - 2))
        self.assertEqual(now["missing"], [0, 0])
        for key, value in now.items():
            self.assertEqual(list(last[key]), value)
        self.assertGreater(last["clamped"][0], 100)
        self.assertEqual(last["clamped_samples"][0], 0)
        self.assertGreater(last["clamped_samples"][1], 100)

    def blocks(self, **options):
        """An f_engine, and the two blocks that do the same."""
        options = {"channels": 16, "inputs": 1, "taps": 3, "spectra_per_frame": 8, **options}
        of_filter = {k: v for k, v in options.items() if k not in OF_TURN}
        of_turn = {k: v for k, v in options.items() if k in OF_TURN + BOTH}
        of_turn["type"] = options.get("output_type", "fc32")
        chain = [aperture.pfb_channelizer(**of_filter), aperture.corner_turn(**of_turn)]
        return aperture.f_engine(**options), chain

    def graphs(self, ports, one, chain, tags=None, chunks=200, **options):
        """A flowgraph of the f_engine, and one of the chain."""
        channels, times = options.get("channels", 16), options.get("spectra_per_frame", 8)
        selected = options.get("selected_channels", 0)
        selected = selected or channels - options.get("first_channel", 0)
        size = SIZES[options.get("output_type", "fc32")] * selected * times
        size *= options.get("inputs", 1)
        return [Flowgraph(which, ports, [size], tags=tags, chunks=chunks) for which in (one, chain)]

    def assert_same(self, actual, expected, one, chain, output_type):
        """
        Bit by bit, where the f_engine is made of the same two kernels. Where it is one
        kernel with a transform of its own: as channelisers on different devices.
        """
        self.assertEqual(actual.shape, expected.shape)
        both = " + ".join(block.implementation() for block in chain)
        if one.implementation() == both:
            np.testing.assert_array_equal(actual, expected)
        elif output_type == "sc8":
            qa_tools.assert_steps_agree(actual.view(np.int8), expected.view(np.int8), one, *chain)
        else:
            expected = expected.view(np.complex64)
            rms = np.sqrt(np.mean(np.abs(expected) ** 2)) if expected.size else 0
            np.testing.assert_allclose(actual.view(np.complex64), expected, rtol=0, atol=3e-6 * rms)

    def check(self, samples=None, length=2003, tags=None, chunks=200, gains=None, **options):
        """
        Runs both and compares data, tags and counts.

        Returns the f_engine, its tags, and the number of its frames.
        """
        input_type = options.get("input_type", "fc32")
        inputs = options.get("inputs", 1)
        per_port = options.get("inputs_per_port", 1)
        if samples is None:
            length -= length % reference.samples_in_item(input_type, per_port)
            samples = qa_tools.random_samples(self.rng, input_type, (inputs, length))
        one, chain = self.blocks(**options)
        for block in (one, chain[0]):
            for number, row in enumerate(gains if gains is not None else ()):
                block.set_gains(list(row), number)
        results = [
            graph.run()
            for graph in self.graphs(
                ports_of(samples, input_type, per_port), one, chain, tags, chunks, **options
            )
        ]
        (((data,), (found,)), ((expected,), (wanted,))) = results
        self.assert_same(data, expected, one, chain, options.get("output_type", "fc32"))
        if tags is None:  # the host's clock
            timed = ("rx_time", "settings")
            found = [tag for tag in found if tag.key not in timed]
            wanted = [tag for tag in wanted if tag.key not in timed]
        self.assertEqual(sorted(map(repr, found)), sorted(map(repr, wanted)))
        self.assertEqual(one.missing(), chain[1].missing())
        if not options.get("align"):  # dropped spectra are not counted
            self.assertEqual(one.clamped_samples(), chain[0].clamped_samples())
            clamped = np.array([one.clamped(), chain[0].clamped()])
            self.assertLessEqual(np.ptp(clamped, axis=0).max(), 1e-3 * clamped.max())
        self.assertEqual(one.error(), "")
        return one, found, len(data)

    # ---- values

    def check_types(self, input_types):
        for input_type in input_types:
            for output_type in ("fc32", "sc8"):
                for inputs, inputs_per_port in ((1, 1), (3, 1), (6, 3)):
                    with self.subTest(input_type=input_type, output_type=output_type):
                        self.check(
                            input_type=input_type,
                            output_type=output_type,
                            inputs=inputs,
                            inputs_per_port=inputs_per_port,
                            channels=10,
                            gain=1.2,
                            inverted=inputs == 3,
                        )

    def test_complex_types(self):
        self.check_types(filter(reference.is_complex, reference.SAMPLE_TYPES))

    def test_real_types(self):
        self.check_types(itertools.filterfalse(reference.is_complex, reference.SAMPLE_TYPES))

    def test_oversampled(self):
        """In frames and calls of any length, with gains and what was lost."""
        gains = self.rng.normal(size=(2, 18)) + 1j
        for ratio, input_type, chunks in (
            ("9/8", "sc8", 7),
            ("3/2", "s16", 0),
            ("9/2", "fc32", 31),
        ):
            lost = [stream_tags(0.25), [*stream_tags(0.25), jump(801, 0.25 + 901 / RATE)]]
            block, _, _ = self.check(
                channels=18,
                inputs=2,
                input_type=input_type,
                oversampling=ratio,
                tags=lost,
                chunks=chunks,
                gains=gains,
            )
            self.assertGreater(block.missing()[1], 0)

    def test_model(self):
        """The models of both blocks agree, without the blocks."""
        n, taps, times, inputs = 30, 5, 7, 4
        x = qa_tools.random_samples(self.rng, "sc16", (inputs, 1733))
        block = aperture.f_engine(
            channels=n,
            taps=taps,
            spectra_per_frame=times,
            inputs=inputs,
            inputs_per_port=2,
            input_type="sc16",
            output_type="sc8",
            gain=0.7,
            first_channel=4,
            selected_channels=19,
        )
        (data,), _ = qa_tools.run(block, ports_of(x, "sc16", 2), [2 * 19 * inputs * times])
        y = reference.pfb(reference.decode(x, "sc16")[0], n, reference.prototype(n, taps))
        steps, clamped = reference.quantise(0.7 * y)
        expected, _ = reference.corner_turn(steps, times, 4, 19)
        actual = reference.samples_from_bytes(data, "sc8", 1).reshape(expected.shape)
        qa_tools.assert_steps_agree(actual, expected)
        self.assertEqual(block.clamped(), clamped.sum(axis=(1, 2)).tolist())

    def test_sizes(self):
        """Channels and spectra of a frame: one, odd, more than come at once."""
        for channels, taps, times, length in [
            (4, 1, 1, 97),
            (6, 64, 3, 1001),
            (34, 2, 300, 6000),
            (256, 8, 5, 9000),
            (1024, 4, 33, 80000),
        ]:
            for output_type in ("fc32", "sc8"):
                with self.subTest(channels=channels, spectra_per_frame=times):
                    self.check(
                        channels=channels,
                        taps=taps,
                        spectra_per_frame=times,
                        length=length,
                        inputs=2,
                        inputs_per_port=2,
                        output_type=output_type,
                        gain=1.0,
                        chunks=1777,
                    )

    def test_powers_of_two_of_8_bits(self):
        """Some GPUs transform 8 bits to 8 bits on tensor cores."""
        for channels in (64, 128, 256, 512, 1024, 2048, 4096, 8192):
            frames = 7 if channels <= 1024 else 1
            for taps, times, first in ((8, 48, 0), (3, 50, 10)):
                with self.subTest(channels=channels, spectra_per_frame=times):
                    self.check(
                        channels=channels,
                        taps=taps,
                        spectra_per_frame=times,
                        length=channels * (frames * times + 29),
                        inputs=3,
                        first_channel=first,
                        input_type="sc8",
                        output_type="sc8",
                        chunks=17777,
                    )

    def test_frames_filled_over_many_calls(self):
        """
        Frames of 148500 bytes, of which no ring of whole pages is made: each stays in its place
        while it is filled, also before a block that reads several in a row.
        """
        options = dict(
            channels=250,
            taps=3,
            spectra_per_frame=99,
            inputs=3,
            input_type="sc8",
            output_type="sc8",
        )
        self.check(length=250 * (99 * 13 + 50), chunks=1777, **options)
        samples = qa_tools.random_samples(self.rng, "sc8", (3, 250 * (99 * 13 + 2)))
        ports = ports_of(samples, "sc8", 1)
        detector = dict(channels=250, beams=3, spectra_per_frame=99, spectra=33, type="sc8")
        (alone,), _ = qa_tools.run(
            aperture.f_engine(**options), ports, [250 * 3 * 99 * 2], chunks=1777
        )
        powers = []
        for blocks, data in (([], [alone]), ([aperture.f_engine(**options)], ports)):
            last = aperture.power_detector(**detector)
            size = last.output_signature().sizeof_stream_item(0)
            (found,), _ = qa_tools.run([*blocks, last], data, [size], chunks=1777)
            powers.append(found)
        self.assertEqual(len(powers[0]), 3 * 13)
        np.testing.assert_array_equal(*powers)

    def test_many_spectra_in_a_block(self):
        """More than a kernel filters at once."""
        self.check(
            channels=1024, taps=2, spectra_per_frame=400, length=900000, chunks=0, input_type="sc8"
        )

    def test_channel_range(self):
        for first, selected in [(0, 1), (9, 1), (3, 5), (4, 0), (0, 10), (0, 0)]:
            _, tags, _ = self.check(
                channels=10,
                inputs=2,
                first_channel=first,
                selected_channels=selected,
                tags=[stream_tags()] * 2,
            )
            edge = reference.pfb_edge(408e6, RATE, 10, 3)
            edge = reference.corner_turn_edge(edge, 10, 8, first, selected)
            for key in ("rx_freq", "rx_rate", "bandwidth", "samples_per_item"):
                ((offset, value),) = tags_of(tags, key)
                self.assertEqual(offset, 0)
                self.assertAlmostEqual(value, edge[key], delta=1e-6)

    def test_ends(self):
        """Frames of 8: none, the last one filled up, or just full."""
        for spectra, frames in [(0, 0), (1, 1), (8, 1), (9, 2), (16, 2), (799, 100)]:
            for extra in (0, 15):
                length = (spectra + 2) * 16 + extra if spectra else extra
                for chunks in (0, 13):
                    _, tags, count = self.check(length=length, chunks=chunks)
                    self.assertEqual(count, frames)
                    partial = [(count - 1, True)] if spectra % 8 else []
                    self.assertEqual(tags_of(tags, "partial"), partial)

    def test_lowest_sample(self):
        for input_type, lowest in (("sc8", -128), ("sc4", -8), ("s8", -128)):
            x = qa_tools.random_samples(self.rng, input_type, (4, 5000))
            where = self.rng.random(x.shape) < 0.02
            where[3] = False
            x[where] = lowest
            for chunks in (37, 0):
                block, _, _ = self.check(
                    x, inputs=4, inputs_per_port=2, input_type=input_type, chunks=chunks
                )
                self.assertGreater(block.clamped_samples()[0], 50)
                self.assertEqual(block.clamped_samples()[3], 0)

    # ---- time

    def test_gaps(self):
        """Gaps may be in one port, in all, longer than buffers; spectra are missing in and across
        frames."""
        for losses in (
            [[], [(1003, 217)]],
            [[(777, 16)], []],
            [[(1600, 1)], []],
            [[(800, 100)], [(850, 100)]],
            [[(40, 3), (60, 100), (1111, 1), (2900, 7)], [(5, 1), (1200, 33)]],
            [[], [(1500, 100000)]],
        ):
            for chunks in (17, 0):
                tags = []
                for port in losses:
                    lost, own = 0, stream_tags(0.25)
                    for item, count in port:
                        lost += count
                        own.append(jump(item, 0.25 + (item + lost) / RATE))
                    tags.append(own)
                block, _, _ = self.check(
                    length=3000, inputs=4, inputs_per_port=2, tags=tags, chunks=chunks
                )
                self.assertGreater(sum(block.missing()), 0)

    def test_not_numbers(self):
        """NaN makes the same spectra missing as in the two blocks, in and across frames."""
        for options in (
            {},
            {"output_type": "sc8", "gain": 1.0, "first_channel": 3, "selected_channels": 5},
        ):
            if self.blocks(**options)[0].implementation() != "host + host":
                self.skipTest("is for the CPU")
            for chunks in (17, 0):
                samples = qa_tools.random_samples(self.rng, "fc32", (4, 30000))
                samples[1, 5000:5400] = np.nan
                samples[2, [0, 29999]] = np.inf
                block, found, _ = self.check(
                    samples,
                    inputs=4,
                    inputs_per_port=2,
                    chunks=chunks,
                    tags=[stream_tags()] * 2,
                    **options,
                )
                # windows of 48 samples, each 16
                self.assertEqual(block.missing(), [0, 28, 2, 0])

    def test_long_gap(self):
        """More frames of nothing on one port than its buffer holds."""
        tags = [stream_tags(), stream_tags() + [jump(500, (500 + 100000) / RATE)]]
        self.check(length=150000, inputs=2, tags=tags, chunks=0)

    def test_starts_at_different_times(self):
        for starts in ((0, 37), (1003, 0), (0.3, 37), (0, 2990)):
            tags = [stream_tags(start / RATE) for start in starts]
            self.check(length=3000, inputs=2, tags=tags)

    def test_loss_of_unknown_length(self):
        tags = [stream_tags(), stream_tags() + [(1003, "rx_rate", RATE)]]
        block, _, _ = self.check(length=3000, inputs=2, tags=tags)
        self.assertGreater(block.missing()[1], 0)
        self.assertEqual(block.missing()[0], 0)

    def test_retuned(self):
        """The frame that starts behind it has the new frequency; real bands, mirrored too."""
        for options in (
            {},
            {"first_channel": 3, "selected_channels": 6},
            {"input_type": "s12", "inverted": True},
            {"input_type": "s16"},
        ):
            packed = reference.samples_in_item(options.get("input_type", "fc32"))
            tags = stream_tags(rate=RATE / packed) + [
                jump(1003, 1003 * packed / RATE),
                (1003, "rx_freq", 500e6),
            ]
            _, found, _ = self.check(length=6000, tags=[tags], **options)
            self.assertEqual(len(tags_of(found, "rx_freq")), 2)

    def test_align(self):
        """Frames start at the first spectrum at or after a multiple, on all ports."""
        for align, start in [(0.5, 0.5 - 1000 / RATE), (1 / 1024, 1 / RATE)]:
            tags = [stream_tags(start), stream_tags(start - 40 / RATE)]
            _, found, frames = self.check(length=5000, inputs=2, align=align, tags=tags)
            self.assertGreater(frames, 10)
            ((offset, value),) = tags_of(found, "rx_time")
            self.assertEqual(offset, 0)
            late = value[1] % align
            self.assertLess(late, 16 / RATE)

    def test_align_without_rate(self):
        block = aperture.f_engine(channels=16, taps=3, spectra_per_frame=8, align=1.0, inputs=1)
        x = qa_tools.random_samples(self.rng, "fc32", (1, 1000))
        (data,), _ = qa_tools.run(block, ports_of(x, "fc32", 1), [8 * 16 * 8])
        self.assertEqual(len(data), 0)
        self.assertRegex(block.error(), "align.*rx_rate")

    # ---- gains

    def test_gains(self):
        shape = (3, 16)
        gains = self.rng.standard_normal(shape) + 1j * self.rng.standard_normal(shape)
        block, _, _ = self.check(inputs=3, gains=gains.astype(np.complex64))
        np.testing.assert_array_equal(block.gains(1), gains[1].astype(np.complex64))

    def test_timed_gains(self):
        """Gains hold from the first spectrum at or after their time, in the middle of a frame."""
        x = qa_tools.random_samples(self.rng, "fc32", (2, 5000))
        # the middle of spectrum 101, of three taps of 16 samples
        time = (101 * 16 + (3 * 16 - 1) / 2) / RATE
        one, chain = self.blocks(inputs=2)
        graphs = self.graphs(ports_of(x, "fc32", 1), one, chain, [stream_tags()] * 2, 50, inputs=2)
        results = []
        for graph in graphs:
            # given before the start, so that they cannot be late
            graph.post("gains", {"gain": 3.0, "time": rx_time(EPOCH, time), "input": 1})
            graph.post("gains", {"gain": 2j, "time": rx_time(EPOCH, 2 * time)})
            results.append(graph.run())
            self.assertEqual(graph.messages(), [])
        data, expected = (result[0][0] for result in results)
        self.assert_same(data, expected, one, chain, "fc32")
        y = reference.pfb(x, 16, reference.prototype(16, 3))
        frames = data.view(np.complex64).reshape(-1, 16, 2, 8)
        rows = np.moveaxis(frames, 0, 2).reshape(16, 2, -1)[:, :, : y.shape[1]]
        ratio = np.abs(rows / np.moveaxis(y, 2, 0))
        for input_number, gain in ((0, 1), (1, 3)):
            np.testing.assert_allclose(ratio[:, input_number, :101], 1, rtol=1e-3)
            np.testing.assert_allclose(ratio[:, input_number, 101:200], gain, rtol=1e-3)
            np.testing.assert_allclose(ratio[:, input_number, 210:], 2, rtol=1e-3)

    def test_wrong_messages(self):
        """Wrong messages are refused, and the flowgraph goes on."""
        x = qa_tools.random_samples(self.rng, "fc32", (1, 5000))
        one, _ = self.blocks()
        graph = Flowgraph(one, ports_of(x, "fc32", 1), [8 * 16 * 8])
        graph.post("gains", {"gain": float("nan")})
        graph.post("gains", {"gain": 1.0, "input": 7})
        (data,), _ = graph.run()
        self.assertEqual(len(data), 39)
        self.assertEqual([m["event"] for m in graph.messages()], ["refused"] * 2)

    # ---- running

    def test_restart(self):
        x = qa_tools.random_samples(self.rng, "sc8", (2, 5003))
        one, chain = self.blocks(inputs=2, input_type="sc8", output_type="sc8")
        tags = [stream_tags(), stream_tags() + [jump(2000, 2222 / RATE)]]
        graph, _ = self.graphs(ports_of(x, "sc8", 1), one, chain, tags, inputs=2, output_type="sc8")
        runs = [graph.run() for _ in range(3)]
        self.assertEqual(len(runs[0][0][0]), 39)
        for data, again in runs[1:]:
            np.testing.assert_array_equal(data[0], runs[0][0][0])
            self.assertEqual(sorted(map(repr, again[0])), sorted(map(repr, runs[0][1][0])))

    def test_stopped_half_way(self):
        """stop() within a frame, then all from the start."""
        x = qa_tools.random_samples(self.rng, "fc32", (1, 4001))
        gate = threading.Event()
        one, chain = self.blocks()
        graph = Flowgraph(one, ports_of(x, "fc32", 1), [8 * 16 * 8], gates={1003: gate})
        with graph.running():
            graph.sinks[0].wait_for(7)
            graph.top.stop()
        data, _ = graph.run()
        expected, _ = qa_tools.run(chain, ports_of(x, "fc32", 1), [8 * 16 * 8])
        self.assert_same(data[0], expected[0], one, chain, "fc32")

    # ---- errors

    def test_errors(self):
        """The block has the errors of both blocks."""
        for parameters, message in [
            (dict(channels=5), "channels.*5.*even"),
            (dict(inputs=3, inputs_per_port=2), "inputs_per_port: 2.*3 inputs"),
            (dict(inputs=1024), "1024.*inputs_per_port|inputs_per_port.*1024"),
            (dict(taps=65), "taps.*65.*64"),
            (dict(input_type="u8"), "input_type.*u8.*fc32"),
            (dict(output_type="sc4"), "output_type.*sc4.*sc8"),
            (dict(output_type="sc8"), "gain"),
            (dict(gain=1e39), r"gain: 1e\+39 .*finite"),
            (dict(spectra_per_frame=0), "spectra_per_frame.*0.*1"),
            (dict(first_channel=1024), "first_channel.*1024.*1023"),
            (dict(first_channel=-1), "first_channel.*-1"),
            (dict(first_channel=1000, selected_channels=25), "selected_channels.*25.*24"),
            (dict(align=-1.0), "align.*-1"),
            (dict(align=float("nan")), "align.*nan"),
            (dict(spectra_per_frame=1 << 20), "frame.*1024.*1048576"),
            (dict(device="toaster"), "device.*toaster.*cpu"),
        ]:
            with self.subTest(**parameters):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.f_engine(**parameters)


if __name__ == "__main__":
    gr_unittest.run(qa_f_engine)
