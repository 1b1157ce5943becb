#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""corner_turn against the reference model: places, padding, tags, lost spectra."""

import re
import threading

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    ByteSink,
    ByteSource,
    Flowgraph,
    ports_of,
    rx_time,
    stream_tags,
    tags_of,
)

aperture = qa_tools.on_device(aperture)

# Spectra a second. A power of two: all times below are exact in float64.
RATE = 4096.0
SIZES = {"sc8": 2, "sc4": 1, "fc32": 8}


def spectrum_tags(channels, seconds=0.0):
    """Returns the tags of an edge behind the channeliser: n samples a spectrum."""
    return [
        (0, "rx_time", rx_time(EPOCH, seconds)),
        (0, "rx_rate", RATE),
        (0, "rx_freq", 408e6),
        (0, "bandwidth", RATE * channels),
        (0, "samples_per_item", channels),
    ]


def missing_tags(missing):
    """bool [input][spectrum] of a port -> its tags, one for each run."""
    tags = []
    for number, row in enumerate(missing):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row, [0]])))
        for first, end in edges.reshape(-1, 2):
            entry = {"input": number, "first": int(first), "count": int(end - first)}
            tags.append((int(first), "missing", entry))
    return tags


class qa_corner_turn(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1609)

    def frames_of(self, data, sample_type, channels, inputs, spectra_per_frame):
        """bytes -> [frame][channel][input][time]"""
        flat = reference.samples_from_bytes(
            data, sample_type, channels * inputs * spectra_per_frame
        )
        return flat.reshape((-1, channels, inputs, spectra_per_frame) + flat.shape[2:])

    def check(
        self,
        channels=6,
        inputs=2,
        inputs_per_port=1,
        spectra_per_frame=5,
        sample_type="sc8",
        count=23,
        first_channel=0,
        selected_channels=0,
        tags=None,
        missing=None,
        spectra=None,
        chunks=17,
        limit=0,
    ):
        """
        Runs a block and compares it with the model, bit by bit.

        missing: bool [input][spectrum]: those are zeros and have `missing` tags
        Returns the block and its tags.
        """
        if spectra is None:
            spectra = qa_tools.random_samples(self.rng, sample_type, (inputs, count, channels))
        if missing is not None:
            spectra[missing] = 0
        block = aperture.corner_turn(
            channels=channels,
            inputs=inputs,
            inputs_per_port=inputs_per_port,
            spectra_per_frame=spectra_per_frame,
            type=sample_type,
            first_channel=first_channel,
            selected_channels=selected_channels,
        )
        if limit:
            block.set_max_noutput_items(limit)
        selected = selected_channels or channels - first_channel
        port_tags = []
        for first in range(0, inputs, inputs_per_port):
            own = list(tags or [])
            if missing is not None:
                own += missing_tags(missing[first : first + inputs_per_port])
            port_tags.append(own)
        (data,), (out_tags,) = qa_tools.run(
            block,
            ports_of(spectra, sample_type, inputs_per_port),
            [SIZES[sample_type] * selected * inputs * spectra_per_frame],
            tags=port_tags,
            chunks=chunks,
        )
        expected, lost = reference.corner_turn(
            spectra, spectra_per_frame, first_channel, selected_channels, missing
        )
        if sample_type in ("sc8", "sc4"):
            np.maximum(expected, {"sc8": -127, "sc4": -7}[sample_type], out=expected)
        actual = self.frames_of(data, sample_type, selected, inputs, spectra_per_frame)
        np.testing.assert_array_equal(actual, expected)
        # [frame][input][time] -> [input][spectrum]
        self.assert_missing(out_tags, lost, spectra_per_frame)
        partial = [] if count % spectra_per_frame == 0 else [(len(expected) - 1, True)]
        self.assertEqual(tags_of(out_tags, "partial"), partial)
        real = np.zeros(inputs, int) if missing is None else missing.sum(axis=1)
        self.assertEqual(block.missing(), real.tolist())
        return block, out_tags

    def assert_missing(self, tags, lost, spectra_per_frame):
        """Compares the missing spectra. lost: bool [frame][input][time]"""
        for offset, entry in tags_of(tags, "missing"):
            self.assertEqual(offset, entry["first"] // spectra_per_frame)
        found = qa_tools.missing_of(tags, lost.shape[1], len(lost) * spectra_per_frame)
        expected = lost.swapaxes(0, 1).reshape(lost.shape[1], -1)
        np.testing.assert_array_equal(found, expected)

    # ---- values

    def test_shapes(self):
        for sample_type in SIZES:
            for channels, inputs, inputs_per_port, times, count in [
                (1, 1, 1, 1, 7),
                (6, 2, 1, 5, 23),
                (7, 6, 3, 4, 40),
                (64, 3, 1, 33, 100),
                (33, 16, 16, 32, 65),
                (100, 5, 5, 17, 50),
                (256, 8, 4, 64, 129),
                (5, 2, 2, 300, 299),
            ]:
                with self.subTest(sample_type=sample_type, channels=channels, frame=times):
                    self.check(channels, inputs, inputs_per_port, times, sample_type, count=count)

    def test_chunks(self):
        for chunks, limit in [(1, 0), (3, 1), (0, 0), (100, 2)]:
            for sample_type in ("sc8", "fc32"):
                with self.subTest(chunks=chunks, limit=limit):
                    self.check(sample_type=sample_type, count=113, chunks=chunks, limit=limit)

    def test_channel_range(self):
        for first, selected in [(0, 1), (10, 1), (3, 5), (4, 0), (0, 11), (0, 0)]:
            for sample_type in ("sc8", "fc32"):
                self.check(
                    channels=11,
                    inputs=6,
                    inputs_per_port=2,
                    first_channel=first,
                    selected_channels=selected,
                    sample_type=sample_type,
                )

    def test_lowest_value(self):
        """-128 becomes -127, counted once for a complex value."""
        spectra = qa_tools.random_samples(self.rng, "sc8", (4, 400, 9))
        where = self.rng.random(spectra.shape) < 0.01
        where[2] = False
        spectra[where] = -128
        expected = where.any(axis=-1).sum(axis=(1, 2)).tolist()
        for chunks in (7, 0):
            block, _ = self.check(9, 4, 2, 16, count=400, spectra=spectra.copy(), chunks=chunks)
            self.assertEqual(block.clamped(), expected)
        self.check(
            9, 4, 2, 16, count=400, spectra=spectra.copy(), first_channel=3, selected_channels=4
        )

    def test_lowest_value_of_4_bits(self):
        """-8 becomes -7."""
        spectra = qa_tools.random_samples(self.rng, "sc4", (4, 400, 9))
        where = self.rng.random(spectra.shape) < 0.01
        spectra[where] = -8
        block, _ = self.check(9, 4, 2, 16, "sc4", count=400, spectra=spectra)
        self.assertEqual(block.clamped(), where.any(axis=-1).sum(axis=(1, 2)).tolist())

    def test_not_numbers(self):
        """A spectrum with a value that is NaN or infinite is missing on its input, and zero."""
        channels, inputs, frame, count = 19, 4, 8, 100
        for first, selected in ((0, 19), (3, 9)):
            spectra = qa_tools.random_samples(self.rng, "fc32", (inputs, count, channels))
            bad = np.zeros(spectra.shape, bool)
            bad[1, 20:31, 7] = bad[2, [0, 99], [18, 3]] = bad[3, 50] = True
            missing = bad[..., first : first + selected].any(axis=-1)
            clean = np.where(missing[..., np.newaxis], 0, spectra)
            spectra[bad] = self.rng.choice([np.nan, complex(1, np.inf)], bad.sum())
            block = aperture.corner_turn(
                channels=channels,
                inputs=inputs,
                inputs_per_port=2,
                spectra_per_frame=frame,
                type="fc32",
                first_channel=first,
                selected_channels=selected,
            )
            if block.implementation() != "host":
                self.skipTest(f"is for the CPU, and not {block.implementation()}")
            (data,), (tags,) = qa_tools.run(
                block,
                ports_of(spectra, "fc32", 2),
                [8 * selected * inputs * frame],
                tags=[spectrum_tags(channels)] * 2,
                chunks=7,
            )
            expected, lost = reference.corner_turn(clean, frame, first, selected, missing)
            np.testing.assert_array_equal(
                self.frames_of(data, "fc32", selected, inputs, frame), expected
            )
            self.assert_missing(tags, lost, frame)
            self.assertEqual(block.missing(), missing.sum(axis=1).tolist())

    def test_last_block(self):
        """Filled with zeros, whatever lay in the buffer before: 1000 blocks go through."""
        for extra in (0, 1, 7):
            self.check(spectra_per_frame=8, count=8000 + extra, chunks=0)

    def test_nothing(self):
        self.check(count=0)

    # ---- tags

    def test_tags(self):
        channels, times = 12, 7
        for first, selected in [(0, 0), (3, 5), (11, 1), (2, 4)]:
            _, tags = self.check(
                channels,
                inputs=4,
                inputs_per_port=2,
                spectra_per_frame=times,
                first_channel=first,
                selected_channels=selected,
                tags=spectrum_tags(channels, 0.25),
                count=50,
            )
            edge = {
                "rx_freq": 408e6,
                "rx_rate": RATE,
                "bandwidth": RATE * channels,
                "samples_per_item": channels,
                "delay": 0,
            }
            edge = reference.corner_turn_edge(edge, channels, times, first, selected)
            ((offset, value),) = tags_of(tags, "rx_time")
            self.assertEqual((offset, value), (0, rx_time(EPOCH, 0.25)))
            for key in ("rx_freq", "rx_rate", "bandwidth"):
                ((offset, value),) = tags_of(tags, key)
                self.assertEqual(offset, 0)
                self.assertAlmostEqual(value, edge[key], delta=1e-6)
            ((offset, value),) = tags_of(tags, "samples_per_item")
            self.assertEqual((offset, value), (0, edge["samples_per_item"]))

    def test_without_tags(self):
        _, tags = self.check(count=20)
        self.assertFalse({tag.key for tag in tags} - {"rx_time", "rx_time_approximate"})

    def test_missing(self):
        """Missing spectra are counted of two inputs a port, in runs within and across frames."""
        for density in (0.02, 0.5):
            missing = np.repeat(self.rng.random((4, 50)) < density, 3, axis=1)
            missing[1, 17:118] = True
            for chunks in (1, 40):
                self.check(
                    inputs=4,
                    inputs_per_port=2,
                    count=150,
                    spectra_per_frame=11,
                    missing=missing,
                    tags=spectrum_tags(6),
                    chunks=chunks,
                )

    # ---- lost spectra

    def lossy(self, losses, starts=(0, 0), tags=None, missing=None, count=300, chunks=20):
        """
        Two ports of one input; compares blocks and missing tags with the model.

        losses: for each port, what reference.lay_out() takes
        starts: spectra that a port starts late
        missing: bool [port][spectrum] that have `missing` tags already
        Returns the flowgraph and the common spectra.
        """
        channels, times = 6, 8
        spectra = qa_tools.random_samples(self.rng, "sc8", (2, count, channels))
        spectra[spectra == 0] = 1  # none that looks like a lost one
        if missing is None:
            missing = np.zeros((2, count), dtype=bool)
        spectra[missing] = 0
        block = aperture.corner_turn(
            channels=channels, inputs=2, spectra_per_frame=times, type="sc8"
        )
        port_tags, laid_out, lost = [], [], []
        for port in range(2):
            own = spectrum_tags(channels, starts[port] / RATE)
            own += missing_tags(missing[port : port + 1])
            total = 0
            for item, length in losses[port]:
                total += length
                if length:
                    now = rx_time(EPOCH, (starts[port] + item + total) / RATE)
                    own.append((item, "rx_time", now))
            port_tags.append(own + list(tags[port] if tags else ()))
            start = round(starts[port]) - round(max(starts))
            laid_out.append(reference.lay_out(spectra[port], losses[port], start)[0])
            present, stretch = reference.lay_out(~missing[port], losses[port], start)
            lost.append(~present | (stretch < 0))
        common = min(len(row) for row in laid_out)
        graph = Flowgraph(
            block,
            ports_of(spectra, "sc8", 1),
            [2 * channels * 2 * times],
            tags=port_tags,
            chunks=chunks,
        )
        (data,), (out_tags,) = graph.run()
        lost = np.array([row[:common] for row in lost])
        expected, padded = reference.corner_turn(
            np.array([row[:common] for row in laid_out]), times, missing=lost
        )
        actual = self.frames_of(data, "sc8", channels, 2, times)
        np.testing.assert_array_equal(actual, expected)
        self.assert_missing(out_tags, padded, times)
        self.assertEqual(block.missing(), lost.sum(axis=1).tolist())
        ((offset, value),) = tags_of(out_tags, "rx_time")
        self.assertEqual(offset, 0)
        if all(start == int(start) for start in starts):
            error = qa_tools.seconds_between(value, rx_time(EPOCH, max(starts) / RATE))
            self.assertAlmostEqual(error, 0, delta=1e-12)
        return graph, common

    def test_gap(self):
        graph, _ = self.lossy([[], [(101, 37)]])
        self.assertGreaterEqual(len(graph.messages()), 1)
        self.lossy([[(3, 1), (40, 2), (250, 20)], [(40, 9)]])
        self.lossy([[(16, 8)], [(16, 8)]])

    def test_gap_longer_than_buffers(self):
        self.lossy([[], [(50, 20000)]], count=30000, chunks=0)

    def test_starts_at_different_times(self):
        self.lossy([[], []], starts=(0, 13))
        self.lossy([[], []], starts=(24, 0))
        self.lossy([[], []], starts=(0.3, 4.8))
        self.lossy([[(5, 30)], [(100, 3)]], starts=(0, 13))

    def test_oversampled_from_other_samples(self):
        """Phases of oversampled spectra count from the first sample: ports that count from others
        are not correlated; those that count alike are, wherever they begin."""

        def run(starts, numbers):
            spectra = qa_tools.random_samples(self.rng, "sc8", (2, 100, 6))
            block = aperture.corner_turn(channels=6, inputs=2, spectra_per_frame=8, type="sc8")
            block.set_log_level("off")
            tags = [
                [*spectrum_tags(6, start / RATE), (0, "first_spectrum", number)]
                for start, number in zip(starts, numbers)
            ]
            _, (found,) = qa_tools.run(
                block, ports_of(spectra, "sc8", 1), [2 * 6 * 2 * 8], tags=tags, chunks=20
            )
            return tags_of(found, "first_spectrum"), block.error()

        self.assertEqual(run((0, 0), (7, 7)), ([(0, 7)], ""))
        self.assertEqual(run((0, 13), (0, 13)), ([(0, 13)], ""))
        self.assertEqual(run((13, 0), (20, 7)), ([(0, 20)], ""))
        for starts, numbers, words in [
            ((0, 13), (0, 0), "port 1 count from one that is 13 later than that of port 0"),
            ((13, 0), (0, 0), "port 1 count from one that is 13 earlier than that of port 0"),
            ((0, 0), (5, 7), "port 1 count from one that is 2 earlier"),
        ]:
            found, error = run(starts, numbers)
            self.assertEqual(found, [])
            self.assertIn(words, error)

    def begun_apart(self, starts, samples_per_item=64, tags=((), ()), runs=1):
        """
        Runs two ports that begin at times in spectra; returns the messages of each run that
        tell of it.
        """
        spectra = qa_tools.random_samples(self.rng, "sc8", (2, 400, 6))
        begin = [
            (*spectrum_tags(6, start / RATE)[:-1], (0, "samples_per_item", samples_per_item))
            for start in starts
        ]
        block = aperture.corner_turn(channels=6, inputs=2, spectra_per_frame=8, type="sc8")
        graph = Flowgraph(
            block,
            ports_of(spectra, "sc8", 1),
            [2 * 6 * 2 * 8],
            tags=[[*own, *more] for own, more in zip(begin, tags)],
            chunks=20,
        )
        found = []
        for _ in range(runs):
            before = len(graph.messages())
            graph.run()
            new = graph.messages()[before:]
            found.append([m for m in new if m["event"] == "between_spectra"])
        return found

    def test_begun_between_spectra(self):
        """
        Ports that begin a part of a hop apart are said so, once in each run, if it is more
        than half a sample: a whole number of spectra leaves no slope, nor does what rounding
        of stamps explains.
        """
        for starts, words in [
            ((0, 0.25), "begin 16 samples later than those of port 0"),
            ((0.25, 0), "begin 16 samples earlier than those of port 0"),
            ((0, 13 + 5 / 64), "begin 5 samples later"),
            ((20.75, 3), "begin 16 samples later"),
            ((0, 1 / 64), "begin 1 sample later"),
        ]:
            for found in self.begun_apart(starts, runs=2):
                (message,) = found
                self.assertEqual(message["port"], 1)
                self.assertIn(words, message["reason"])
        for starts in [(0, 0), (0, 13), (5, 3), (0, 0.4 / 64), (7 - 0.4 / 64, 0)]:
            self.assertEqual(self.begun_apart(starts), [[]])

        # The time of one port is a guess: nobody knows where its spectra begin.
        guess = [(0, "rx_time_approximate", True)]
        self.assertEqual(self.begun_apart((0, 0.25), tags=(guess, guess)), [[]])

    def test_begun_anew_between_spectra(self):
        """Said again where a jump changes it, and not where the ports jump alike."""

        def again(item, seconds):
            return [
                (item, "rx_time", rx_time(EPOCH, seconds)),
                (item, "rx_rate", RATE),
                (item, "rx_freq", 408e6),
            ]

        alike = again(200, 300.3 / RATE)
        self.assertEqual(self.begun_apart((0, 0), tags=(alike, alike)), [[]])
        (found,) = self.begun_apart((0, 0.25), tags=(alike, again(200, 300.55 / RATE)))
        self.assertEqual(len(found), 1)
        (found,) = self.begun_apart((0, 0), tags=(alike, again(200, 300.425 / RATE)))
        (message,) = found
        self.assertIn("begin 8 samples later", message["reason"])
        # a jump without a new beginning, by part of a spectrum
        jump = [(200, "rx_time", rx_time(EPOCH, 210.25 / RATE))]
        self.assertEqual(self.begun_apart((0, 0), tags=(jump, jump)), [[]])
        (found,) = self.begun_apart((0, 0), tags=((), jump))
        (message,) = found
        self.assertIn("begin 16 samples later", message["reason"])

    def test_slope_of_banks_that_began_apart(self):
        """The slope that is stated is that of products behind two filter banks."""
        channels, taps, rate, count = 32, 4, float(2**20), 32 * 3000
        noise = qa_tools.random_samples(self.rng, "fc32", (1, count))[0]
        for later in (11, -7):
            first = [max(0, -later), max(0, later)]
            top = gr.top_block()
            block = aperture.corner_turn(
                channels=channels, inputs=2, spectra_per_frame=16, type="fc32"
            )
            block.set_log_level("off")
            sources = []  # GNU Radio does not keep blocks of Python alive
            for port in range(2):
                (data,) = ports_of(noise[np.newaxis, first[port] :], "fc32", 1)
                source = ByteSource(data, stream_tags(first[port] / rate, rate), 1000, None, port)
                bank = aperture.pfb_channelizer(
                    channels=channels, taps=taps, inputs=1, input_type="fc32", output_type="fc32"
                )
                sources.append(source)
                top.connect(source, bank, (block, port))
            sink, status = ByteSink(8 * channels * 2 * 16, 10**9, 5), blocks.message_debug()
            top.connect(block, sink)
            top.msg_connect((block, "status"), (status, "store"))
            top.run()
            frames = self.frames_of(sink.data(), "fc32", channels, 2, 16)
            products = np.sum(frames[:, :, 1] * np.conj(frames[:, :, 0]), axis=(0, 2))
            # cycles from each channel to the next
            slope = np.angle(np.sum(products[1:] * np.conj(products[:-1]))) / (2 * np.pi)
            messages = [
                qa_tools.from_pmt(status.get_message(i)) for i in range(status.num_messages())
            ]
            (said,) = [m["reason"] for m in messages if m["event"] == "between_spectra"]
            words = r"(rises|falls) by ([\d.]+) cycles a MHz, ([\d.]+) over the band"
            way, per_megahertz, over_band = re.search(words, said).groups()
            sign = 1 if way == "rises" else -1
            self.assertAlmostEqual(sign * float(over_band), later, delta=1e-3)
            spacing = rate / channels / 1e6
            # 3000 spectra of one noise, of which the windows differ by later / (taps channels)
            self.assertAlmostEqual(slope, sign * float(per_megahertz) * spacing, delta=0.005)

    def test_missing_before_the_common_start(self):
        """Tags of spectra that are dropped, in part or as a whole; others are renumbered."""
        missing = np.zeros((2, 300), dtype=bool)
        missing[0, 2:5] = missing[0, 10:20] = missing[0, 200:203] = True
        missing[1, :3] = missing[1, 250:] = True
        self.lossy([[], []], starts=(0, 13), missing=missing)
        self.lossy([[(100, 50)], []], starts=(0, 13), missing=missing)

    def test_loss_of_unknown_length(self):
        """No spectrum lies across it; it is reported."""
        graph, _ = self.lossy([[], [(100, 0)]], tags=[[], [(100, "rx_rate", RATE)]])
        self.assertGreaterEqual(len(graph.messages()), 1)

    def test_repeated_clock(self):
        again = [
            (100, "rx_time", rx_time(EPOCH, 100 / RATE)),
            (100, "rx_rate", RATE),
            (100, "rx_freq", 408e6),
        ]
        graph, _ = self.lossy([[], []], tags=[again, again])
        self.assertEqual(graph.messages(), [])

    # ---- align

    def test_align(self):
        """Frames start at the first spectrum at or after a multiple, on all ports."""
        channels, times = 4, 8
        for align, start, dropped in [
            (0.5, 0.5 - 100 / RATE, 100),
            (0.5, 0.5 - 99.5 / RATE, 100),
            (0.5, 0.5 - 0.25 / RATE, 1),
            (0.5, 0.0, 0),
            (1 / 64, 1 / RATE, 63),
            (0.0, 0.3, 0),
        ]:
            spectra = qa_tools.random_samples(self.rng, "sc8", (2, 1000, channels))
            block = aperture.corner_turn(
                channels=channels, inputs=2, spectra_per_frame=times, align=align, type="sc8"
            )
            # the second port starts 3 spectra earlier
            tags = [spectrum_tags(channels, start), spectrum_tags(channels, start - 3 / RATE)]
            tags[0] += missing_tags(np.arange(1000)[None] % 200 == 199)
            spectra[0, 199::200] = 0
            (data,), (out_tags,) = qa_tools.run(
                block, ports_of(spectra, "sc8", 1), [2 * channels * 2 * times], tags=tags
            )
            missing = np.zeros((2, 1000), dtype=bool)
            missing[0, 199::200] = True
            kept = 997 - dropped
            part = np.stack([spectra[0, dropped:997], spectra[1, 3 + dropped :]])
            expected, lost = reference.corner_turn(
                part, times, missing=[missing[0, dropped:997], np.zeros(kept, bool)]
            )
            actual = self.frames_of(data, "sc8", channels, 2, times)
            np.testing.assert_array_equal(actual, expected)
            self.assert_missing(out_tags, lost, times)
            ((_, value),) = tags_of(out_tags, "rx_time")
            error = qa_tools.seconds_between(value, rx_time(EPOCH, start + dropped / RATE))
            self.assertAlmostEqual(error, 0, delta=1e-12)

    # ---- running

    def test_restart(self):
        spectra = qa_tools.random_samples(self.rng, "sc8", (2, 1003, 6))
        block = aperture.corner_turn(channels=6, inputs=2, spectra_per_frame=8, type="sc8")
        tags = [
            spectrum_tags(6) + [(500, "rx_time", rx_time(EPOCH, 513 / RATE))],
            spectrum_tags(6) + missing_tags(np.arange(1003)[None] % 50 == 3),
        ]
        graph = Flowgraph(block, ports_of(spectra, "sc8", 1), [192], tags=tags)
        runs = [graph.run() for _ in range(3)]
        self.assertEqual(len(runs[0][0][0]), 126)
        for data, again in runs[1:]:
            np.testing.assert_array_equal(data[0], runs[0][0][0])
            self.assertEqual(sorted(map(repr, again[0])), sorted(map(repr, runs[0][1][0])))

    def test_stopped_half_way(self):
        spectra = qa_tools.random_samples(self.rng, "sc8", (1, 1003, 6))
        gate = threading.Event()
        block = aperture.corner_turn(channels=6, inputs=1, spectra_per_frame=8, type="sc8")
        graph = Flowgraph(block, ports_of(spectra, "sc8", 1), [96], gates={500: gate})
        with graph.running():
            graph.sinks[0].wait_for(62)
            graph.top.stop()
        (data,), _ = graph.run()
        expected, _ = reference.corner_turn(spectra, 8)
        np.testing.assert_array_equal(self.frames_of(data, "sc8", 6, 1, 8), expected)

    def test_two_at_once(self):
        cases = []
        for channels, times in ((6, 8), (10, 3)):
            spectra = qa_tools.random_samples(self.rng, "fc32", (2, 3001, channels))
            block = aperture.corner_turn(
                channels=channels, inputs=2, spectra_per_frame=times, type="fc32"
            )
            graph = Flowgraph(block, ports_of(spectra, "fc32", 1), [8 * channels * 2 * times])
            cases.append((graph, spectra, channels, times))
        qa_tools.run_at_once([graph for graph, *_ in cases])
        for graph, spectra, channels, times in cases:
            actual = self.frames_of(graph.sinks[0].data(), "fc32", channels, 2, times)
            expected, _ = reference.corner_turn(spectra, times)
            np.testing.assert_array_equal(actual, expected)

    # ---- errors

    def test_errors(self):
        wrong = [
            (dict(channels=0), "channels.*0"),
            (dict(inputs=0), "inputs.*0"),
            (dict(inputs_per_port=0), "inputs_per_port.*0"),
            (dict(inputs=5, inputs_per_port=2), "inputs_per_port: 2.*5 inputs"),
            (dict(spectra_per_frame=0), "spectra_per_frame.*0"),
            (dict(type="sc16"), "type.*sc16.*sc8"),
            (dict(channels=8, first_channel=8), "first_channel.*8.*7"),
            (dict(channels=8, first_channel=-1), "first_channel.*-1"),
            (dict(channels=8, selected_channels=9), "selected_channels.*9.*8"),
            (dict(channels=8, first_channel=5, selected_channels=4), "selected_channels.*4.*3"),
            (dict(channels=8, selected_channels=-1), "selected_channels.*-1"),
            (dict(align=-1.0), "align.*-1"),
            (dict(align=float("nan")), "align.*nan"),
            (dict(align=float("inf")), "align.*inf"),
            (dict(device="toaster"), "device.*toaster.*cpu"),
            # 65536 x 1024 x 256 x 2 bytes
            (dict(channels=65536, inputs=1024, inputs_per_port=1024), "65536.*1024.*256"),
        ]
        for parameters, message in wrong:
            with self.subTest(**parameters):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.corner_turn(**parameters)


if __name__ == "__main__":
    gr_unittest.run(qa_corner_turn)
