#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""visibility_averager against means in float64: time, channels, lengths, phase centres, gates."""

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pmt
from astropy.time import Time
from astropy.utils import iers
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture import Pulsar, Source, array_source, delay_tracker
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.folder import block_segments
from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    Flowgraph,
    each_of,
    rx_time,
    seconds_between,
    tags_of,
    to_pmt,
)
from gnuradio.aperture.testing.sky_model import geometric_delays
from gnuradio.aperture.tracking.averages import products_of, time_loss
from gnuradio.aperture.tracking.directions import Direction
from gnuradio.aperture.transients.phase_model import period_segments

iers.conf.auto_download = False
aperture = qa_tools.on_device(aperture)

SPECTRA = 1000  # spectra of an integration
RATE = 8.0  # integrations a second: times are exact
CENTER, WIDTH = 408e6, 2e6


class Stream:
    """
    Integrations of an X-engine, in float64: values and weights [item][channel][product].

    numbers: which integrations there are, counted from the first; None: all
    by_channel: whether weights differ from channel to channel
    """

    def __init__(self, items, channels, inputs, numbers=None, by_channel=False, seed=5, **tags):
        rng = np.random.default_rng(seed)
        self.channels, self.inputs, self.seconds = channels, inputs, 0.0
        self.numbers = list(range(items)) if numbers is None else list(numbers)
        shape = len(self.numbers), channels, inputs * (inputs + 1) // 2
        parts = rng.standard_normal((2, *shape))
        self.values = (parts[0] + 1j * parts[1] + 3).astype(np.complex64)
        rows = rng.integers(0, SPECTRA + 1, (len(self.numbers), 1, shape[2]))
        rows[rng.random(rows.shape) < 0.2] = 0
        rows[:2] = SPECTRA  # one count for all at first
        self.weights = np.broadcast_to(rows, shape).copy()
        self.counted = rows[:, 0]
        if by_channel:
            self.weights = rng.integers(0, 1 + self.weights)
        self.values[self.weights == 0] = 0
        self.states = {"rx_freq": CENTER, "bandwidth": WIDTH, "samples_per_item": 640, **tags}

    def tags(self):
        found = [(0, "rx_time", rx_time(EPOCH, self.seconds)), (0, "rx_rate", RATE)]
        found += [(0, key, value) for key, value in self.states.items() if value is not None]
        if "spectrum_rate" not in self.states:
            found.append((0, "spectrum_rate", SPECTRA * RATE))
        found.append((0, "spectra", SPECTRA))
        for item, counted in enumerate(self.counted):
            same = (counted == counted[0]).all()
            found.append((item, "counted", counted[:1] if same else counted))
            if item and self.numbers[item] != self.numbers[item - 1] + 1:
                found.append((item, "rx_time", self.time(self.numbers[item])))
        return found

    def time(self, number):
        """rx_time of an integration."""
        return rx_time(EPOCH, self.seconds + number / RATE)

    def ports(self, counts=False):
        items = len(self.numbers)
        ports = [self.values.reshape(items, -1).view(np.uint8)]
        if counts:
            ports.append(self.weights.astype(np.uint32).reshape(items, -1).view(np.uint8))
        return ports

    def average(self, of, products=None, channels=1, mean=True, factors=None):
        """
        Value and count [channel][product] of some items, which may be none.

        of: bool [item]; factors: complex [item][channel][product]
        """
        pairs = products or reference.products(self.inputs)
        place = [max(pair) * (max(pair) + 1) // 2 + min(pair) for pair in pairs]
        values = self.values[of][..., place].astype(complex)
        turned = [a < b for a, b in pairs]
        values[..., turned] = values[..., turned].conj()
        if factors is not None:
            values = values * factors[of]
        weights = self.weights[of][..., place]
        there = np.isfinite(values) & (weights > 0)
        counts = np.where(there, weights, 0)
        scale = counts if mean else there
        total = np.where(there, values, 0) * scale
        wide = (-1, self.channels // channels, channels, len(pairs))
        total, counts = (np.reshape(part, wide).sum((0, 2)) for part in (total, counts))
        return (
            np.divide(total, counts, where=counts > 0, out=0 * total) if mean else total
        ), counts


def delays_of(rng, inputs):
    """delay (s), rate (s/s), phase (rad) and phase rate (rad/s) of each input"""
    return (
        rng.uniform(-3e-6, 3e-6, inputs),
        rng.uniform(-1e-8, 1e-8, inputs),
        rng.uniform(-3, 3, inputs),
        rng.uniform(-2, 2, inputs),
    )


class qa_visibility_averager(gr_unittest.TestCase):
    def run_with(self, stream, chunks=5, tags=(), before=None, times=1, counts=False, **parameters):
        """Returns the values and counts [item][channel][product] of each port, and its tags."""
        block = aperture.visibility_averager(
            channels=stream.channels, inputs=stream.inputs, counts=counts, **parameters
        )
        wide = stream.channels // parameters.get("average_channels", 1)
        shapes = [(wide, len(block.products(port))) for port in range(block.outputs())]
        sizes = [8 * a * b for a, b in shapes] + [4 * a * b for a, b in shapes if counts]
        given = stream.tags() + list(tags)
        graph = Flowgraph(
            block,
            stream.ports(counts),
            sizes,
            tags=[given, [tag for tag in given if tag[1] != "settings"]],
            chunks=chunks,
        )
        if before:
            before(block, graph)
        for _ in range(times):
            data, tags_out = graph.run()
        self.block, self.graph = block, graph
        self.assertEqual(block.error(), "")
        values = [
            np.frombuffer(part.tobytes(), np.complex64).reshape(-1, *shape)
            for part, shape in zip(data, shapes)
        ]
        found = [
            np.frombuffer(part.tobytes(), np.uint32).reshape(-1, *shape)
            for part, shape in zip(data[len(shapes) :], shapes)
        ]
        if counts:
            for port in range(len(shapes)):
                both = (tags_out[port], tags_out[len(shapes) + port])
                said = [[str(tag) for tag in tags if tag.key != "settings"] for tags in both]
                self.assertEqual(*said)
        return values, found, tags_out

    def compare(self, stream, port, found, slots, length, starts=None, ends=None, **how):
        """
        One port with the means of the items of each slot, whose first integrations are `slots`.

        starts, ends: integrations at which averages begin and end, where it is not in their slots
        """
        values, counts, tags = (part[port] if part else None for part in found)
        channels = how.get("channels", 1)
        numbers = np.array(stream.numbers)
        used = how.pop("used", np.ones(len(numbers), bool))
        starts = slots if starts is None else starts
        ends = [slot + length for slot in slots] if ends is None else ends
        self.assertEqual(len(values), len(slots))
        counted = [value for _, value in each_of(tags, "counted", len(slots))]
        for item, (start, end) in enumerate(zip(starts, ends)):
            of = (numbers >= start) & (numbers < end) & used
            expected, weights = stream.average(of, **how)
            size = np.abs(stream.values[of]).max(initial=1) * (1 if how.get("mean", True) else 50)
            np.testing.assert_allclose(values[item], expected, rtol=0, atol=3e-7 * size)
            if counts is not None:
                np.testing.assert_array_equal(counts[item], weights)
            pairs = how.get("products") or reference.products(stream.inputs)
            place = [max(pair) * (max(pair) + 1) // 2 + min(pair) for pair in pairs]
            sums = channels * stream.counted[of][:, place].sum(0)
            np.testing.assert_array_equal(np.broadcast_to(counted[item], sums.shape), sums)
        spectra = [round(channels * SPECTRA * (end - start)) for start, end in zip(starts, ends)]
        self.assertEqual([v for _, v in each_of(tags, "spectra", len(slots))], spectra)
        early = (1 - 1 / channels) / 2 / (SPECTRA * RATE)
        for (_, value), start in zip(each_of(tags, "rx_time", len(slots)), starts, strict=True):
            self.assertLess(abs(seconds_between(value, stream.time(start)) + early), 1e-12)
        return tags

    # ---- time and channels

    def test_averages(self):
        """Odd sizes, means and sums, and a last average that is a part."""
        for items, channels, inputs, length, wide, mean in [
            (11, 15, 3, 4, 3, True),
            (11, 15, 3, 4, 5, False),
            (7, 1, 1, 1, 1, True),
            (9, 6, 2, 100, 2, True),
            (8, 7, 5, 2, 7, True),
            (301, 3, 9, 300, 1, True),
        ]:
            with self.subTest(items=items, channels=channels, length=length, wide=wide):
                stream = Stream(items, channels, inputs)
                found = self.run_with(
                    stream, integration=length, average_channels=wide, mean=mean, times=2
                )
                slots = list(range(0, items, length))
                ends = [min(slot + length, items) for slot in slots]
                tags = self.compare(
                    stream, 0, found, slots, length, ends=ends, channels=wide, mean=mean
                )
                partial = [(len(slots) - 1, True)] if items % length else []
                self.assertEqual(tags_of(tags, "partial"), partial)
                self.assertEqual(tags_of(tags, "rx_rate"), [(0, RATE / length)])
                self.assertEqual(tags_of(tags, "bandwidth"), [(0, WIDTH)])
                self.assertEqual(tags_of(tags, "spectrum_rate"), [(0, SPECTRA * RATE * wide)])
                self.assertEqual(tags_of(tags, "samples_per_item"), [(0, 640 * length)])
                # the new channel n/2 lies in the middle of those of which it was made
                frequencies = CENTER + WIDTH / channels * (np.arange(channels) - channels // 2)
                middle = frequencies.reshape(-1, wide).mean(1)[channels // wide // 2]
                ((_, frequency),) = tags_of(tags, "rx_freq")
                self.assertAlmostEqual(frequency, middle, 4)

    def test_chunks(self):
        """However calls are cut, the same."""
        stream = Stream(53, 4, 3)
        for chunks in (1, 3, 0):
            found = self.run_with(stream, chunks=chunks, integration=6)
            self.compare(stream, 0, found, range(0, 53, 6), 6, ends=[*range(6, 53, 6), 53])

    def test_counts(self):
        """With the X-engine's counts each channel is weighted by its own."""
        stream = Stream(11, 12, 3, by_channel=True)
        for wide in (1, 4):
            found = self.run_with(stream, integration=5, average_channels=wide, counts=True)
            self.compare(stream, 0, found, [0, 5, 10], 5, ends=[5, 10, 11], channels=wide)

    def test_selected(self):
        """Products in the order that was asked for, and of the other sign where a < b."""
        pairs = [(3, 1), (0, 2), (2, 2), (1, 3), (0, 0)]
        stream = Stream(9, 6, 4, by_channel=True)
        found = self.run_with(stream, integration=3, products=pairs, counts=True)
        self.assertEqual(self.block.products(0), pairs)
        self.compare(stream, 0, found, [0, 3, 6], 3, products=pairs)

    def test_lengths(self):
        """A port for each length; the longer ones span whole shorter ones."""
        lengths = [1, 4, 2, 1, 4, 1]
        stream = Stream(21, 5, 3)
        found = self.run_with(stream, integration=3, lengths=lengths)
        pairs = list(reference.products(3))
        self.assertEqual(self.block.outputs(), 3)
        for port, length in enumerate((1, 2, 4)):
            own = [pair for pair, each in zip(pairs, lengths) if each == length]
            self.assertEqual(self.block.products(port), own)
            self.assertEqual(self.block.length(port), length)
            self.assertEqual(self.block.items_per_average(port), 3 * length)
            slots = list(range(0, 21, 3 * length))
            ends = [min(slot + 3 * length, 21) for slot in slots]
            self.compare(stream, port, found, slots, 3 * length, ends=ends, products=own)

    def test_seconds(self):
        stream = Stream(12, 2, 2)
        found = self.run_with(stream, integration=0.49, integration_unit="seconds")
        self.compare(stream, 0, found, [0, 4, 8], 4)
        self.assertEqual(self.block.items_per_average(0), 4)

    # ---- time lines

    def test_gap(self):
        """Integrations that are not there are not counted; times stay, and an average without any
        is left out."""
        numbers = [0, 1, 3, 4, 6, 7, 17, 18, 19, 20]
        stream = Stream(0, 3, 2, numbers)
        found = self.run_with(stream, integration=4)
        self.compare(stream, 0, found, [0, 4, 16, 20], 4, ends=[4, 8, 20, 21])

    def test_align(self):
        """Averages end at multiples of the longest since 1970."""
        stream = Stream(23, 2, 2)
        stream.seconds = 3 / RATE + 1e-4 / RATE  # behind a multiple, as a spectrum may be
        found = self.run_with(stream, integration=4, lengths=[1, 1, 2], align=True)
        starts = [0, *range(5, 23, 8)]
        self.compare(stream, 1, found, starts, 8, starts, [*starts[1:], 23], products=[(1, 1)])
        starts = [0, *range(1, 23, 4)]
        self.compare(
            stream, 0, found, starts, 4, starts, [*starts[1:], 23], products=[(0, 0), (1, 0)]
        )

    def test_changes(self):
        """Another frequency, or a setting, ends an average; later ones end as they would have."""
        stream = Stream(19, 2, 2)
        gain = {"setting": pmt.intern("gains"), "gain": 2.0}
        vector = pmt.make_vector(1, to_pmt(gain))
        tags = [(6, "rx_freq", CENTER + 1e6), (13, "settings", vector)]
        found = self.run_with(stream, integration=4, tags=tags)
        starts = [0, 4, 6, 8, 12, 13, 16]
        tags = self.compare(stream, 0, found, starts, 4, starts, [*starts[1:], 19])
        self.assertEqual([f for _, f in tags_of(tags, "rx_freq")], [CENTER, CENTER + 1e6])
        self.assertEqual(tags_of(tags, "rx_freq")[1][0], 2)
        self.assertEqual([item for item, _ in tags_of(tags, "settings")], [5])

    def test_longer_integrations(self):
        """Other lengths of the X-engine's integrations begin averages of their own."""
        stream = Stream(12, 2, 2)
        stream.numbers = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16]
        tags = [(6, "rx_rate", RATE / 2), (6, "spectra", 2 * SPECTRA)]
        found = self.run_with(stream, integration=4, tags=tags)
        starts = [0, 4, 6, 14]
        tags = self.compare(stream, 0, found, starts, 4, starts, [4, 6, 14, 18])
        self.assertEqual(tags_of(tags, "rx_rate"), [(0, RATE / 4), (2, RATE / 8)])
        self.assertEqual([item for item, _ in tags_of(tags, "partial")], [3])

    def test_times_of_other_clocks(self):
        """A time that is a guess, or of a clock that is followed, stays so."""
        stream = Stream(9, 2, 2, rx_time_approximate=True, rx_time_clock=pmt.intern("followed"))
        _, _, (tags,) = self.run_with(stream, integration=4)
        self.assertEqual(tags_of(tags, "rx_time_clock"), [(0, "followed")])
        self.assertEqual(
            [item for item, _ in tags_of(tags, "rx_time_approximate")],
            [item for item, _ in tags_of(tags, "rx_time")],
        )

    def test_parts(self):
        """An integration in two parts, as where another direction is tracked."""
        stream = Stream(9, 2, 2)
        direction = {"setting": pmt.intern("direction"), "direction": {"name": pmt.intern("b")}}
        # item 5 begins 0.6 integrations behind item 4, which is as long
        stream.numbers = [0, 1, 2, 3, 4, 4.6, 5, 6, 7]
        stream.counted = np.minimum(stream.counted, 400)
        stream.weights = np.minimum(stream.weights, 400)
        tags = [
            (4, "spectra", 600),
            (5, "spectra", 400),
            (6, "spectra", SPECTRA),
            (5, "settings", pmt.make_vector(1, to_pmt(direction))),
        ]
        found = self.run_with(stream, integration=3, tags=tags)
        starts = [0, 3, 4.6, 6]
        self.compare(stream, 0, found, starts, 3, starts, [3, 4.6, 6, 8])

    def test_not_a_number(self):
        """Values that are no numbers weigh nothing; where all are such, so is the average."""
        stream = Stream(4, 3, 2)
        stream.weights[:], stream.counted[:] = SPECTRA, SPECTRA
        stream.values[1, 2, 1] = np.nan
        stream.values[2:, 0, 0] = np.inf
        values, counts, _ = self.run_with(stream, integration=2, counts=True)
        expected, weights = stream.average(np.array([True, True, False, False]))
        np.testing.assert_allclose(values[0][0], expected, atol=1e-6)
        np.testing.assert_array_equal(counts[0][0], weights)
        self.assertEqual(weights[2, 1], SPECTRA)
        self.assertTrue(np.isnan(values[0][1, 0, 0]))
        self.assertEqual(counts[0][1, 0, 0], 0)
        self.assertTrue(np.isfinite(values[0][1].ravel()[1:]).all())

    # ---- phase centres

    def factors(self, stream, models):
        """
        Factors that an F-engine's delays make of products, complex128 [item][channel][product], by
        exp(i (phase - 2 pi (f_k - f_c) d)) of each input at the middle of each integration.

        models: (sign, time since EPOCH, delays_of()) each
        """
        channels = np.arange(stream.channels) - stream.channels // 2
        offsets = channels * WIDTH / stream.channels
        middle = np.array(stream.numbers) / RATE + (SPECTRA - 1) / 2 / (SPECTRA * RATE)
        phases = 0
        for sign, time, (delay, delay_rate, phase, phase_rate) in models:
            after = (stream.seconds + middle - time)[:, None]
            d, p = delay + delay_rate * after, phase + phase_rate * after
            phases = phases + sign * (
                p[:, None, :] - 2 * np.pi * offsets[None, :, None] * d[:, None, :]
            )
        a, b = np.tril_indices(stream.inputs)
        return np.exp(1j * (phases[..., a] - phases[..., b]))

    def test_phase_centers(self):
        """Each product is rotated as the F-engine would have done, before it is averaged."""
        stream = Stream(13, 7, 4)
        stream.seconds = 0.375
        rng = np.random.default_rng(3)
        first, second, tracked = (delays_of(rng, 4) for _ in range(3))

        def before(block, graph):
            block.take_delays(0, *first, time=rx_time(EPOCH, 0.25))
            block.take_delays(1, *second)
            block.take_delays(-1, *tracked, time=rx_time(EPOCH, -0.5), model="geometry")

        found = self.run_with(stream, integration=4, centers=2, before=before, times=2)
        self.assertEqual([self.block.center(port) for port in (0, 1)], [0, 1])
        for port, (time, model) in enumerate([(0.25, first), (0.375, second)]):
            factors = self.factors(stream, [(1, time, model), (-1, -0.5, tracked)])
            self.assertGreater(np.abs(np.angle(factors)).max(), 3)
            self.compare(
                stream, port, found, [0, 4, 8, 12], 4, ends=[4, 8, 12, 13], factors=factors
            )

    def test_messages(self):
        """A message as delay_tracker sends it; its direction is told, and another one ends an
        average."""
        stream = Stream(12, 3, 3)
        rng = np.random.default_rng(4)
        models = [delays_of(rng, 3) for _ in range(2)]
        names = "delay", "delay_rate", "phase", "phase_rate"

        def message(model, time, name):
            made = pmt.make_dict()
            for key, value in zip(names, model):
                made = pmt.dict_add(made, pmt.intern(key), pmt.init_f64vector(3, value.tolist()))
            for key, value in {
                "model": pmt.intern("geometry"),
                "time": to_pmt(rx_time(EPOCH, time)),
                "direction": to_pmt({"name": pmt.intern(name)}),
            }.items():
                made = pmt.dict_add(made, pmt.intern(key), value)
            return made

        def before(block, graph):
            graph.post("delays", message(models[0], 0.0, "first"))
            graph.post("delays", message(models[1], 5 / RATE, "second"))
            graph.post("delays", {"delay": pmt.intern("no")})

        found = self.run_with(stream, integration=4, centers=1, before=before)
        factors = self.factors(stream, [(1, 0.0, models[0])])
        factors[5:] = self.factors(stream, [(1, 5 / RATE, models[1])])[5:]
        starts = [0, 4, 5, 8]
        tags = self.compare(stream, 0, found, starts, 4, starts, [4, 5, 8, 12], factors=factors)
        self.assertEqual([item for item, _ in tags_of(tags, "settings")], [0, 2])
        events = [message["event"] for message in self.graph.messages()]
        self.assertEqual(events, ["refused"])

    def test_no_delays(self):
        """Items of a phase centre without delays are missing, and it is said."""
        stream = Stream(8, 2, 2)

        def before(block, graph):
            block.take_delays(1, [0.0], time=rx_time(EPOCH, 6 / RATE))

        values, _, tags = self.run_with(stream, integration=4, centers=2, before=before)
        self.assertFalse(values[0].any())
        self.assertEqual([list(v) for _, v in each_of(tags[0], "counted", 2)], [[0], [0]])
        found = values, None, tags
        used = np.arange(8) >= 6
        # the delays are told, which ends an average
        starts = [0, 4, 6]
        self.compare(stream, 1, found, starts, 4, starts, [4, 6, 8], used=used)
        events = [message["event"] for message in self.graph.messages()]
        self.assertEqual(events, ["no_delays", "no_delays"])

    # ---- gates

    def test_gates(self):
        """An item is in the gates of the phase at its middle; the other spectra are not counted."""
        stream = Stream(64, 4, 2)
        period = 0.893
        segment = aperture.aperture_python.folder.segment(
            (EPOCH - 10, 0.0), 0.0, (EPOCH - 3, 0.5), 0, 0.3, [1 / period, 1e-4]
        )
        gates = [(0.0, 0.25), (0.25, 0.5), (0.9, 0.1)]
        found = self.run_with(stream, integration=16, segments=[segment], gates=gates)
        middle = np.arange(64) / RATE + (SPECTRA - 1) / 2 / (SPECTRA * RATE)
        after = middle + 2.5
        phase = (0.3 + after / period + 1e-4 * after**2) % 1
        for port, (begin, end) in enumerate(gates):
            self.assertEqual(self.block.gate(port), port)
            inside = (phase >= begin) & (phase < end)
            if end < begin:
                inside = (phase >= begin) | (phase < end)
            self.assertTrue(0.1 < inside.mean() < 0.4)
            self.compare(stream, port, found, [0, 16, 32, 48], 16, used=inside)

    def test_everything(self):
        """Lengths, centres and gates at once, with counts: each port is its own."""
        stream = Stream(17, 6, 3, by_channel=True)
        rng = np.random.default_rng(8)
        models = [delays_of(rng, 3) for _ in range(2)]
        segment = aperture.aperture_python.folder.segment(
            (EPOCH, 0.0), 0.0, (EPOCH, 0.0), 0, 0.0, [3.3]
        )
        gates = [(0.0, 0.5), (0.5, 1.0)]

        def before(block, graph):
            for center, model in enumerate(models):
                block.take_delays(center, *model)

        found = self.run_with(
            stream,
            before=before,
            integration=2,
            average_channels=2,
            lengths=[1, 1, 2, 2, 2, 1],
            centers=2,
            segments=[segment],
            gates=gates,
            counts=True,
        )
        self.assertEqual(self.block.outputs(), 8)
        middle = np.arange(17) / RATE + (SPECTRA - 1) / 2 / (SPECTRA * RATE)
        late = (3.3 * middle) % 1 >= 0.5
        for port in range(8):
            length, center, gate = 2 * (1 + port // 4), port // 2 % 2, port % 2
            self.assertEqual(self.block.center(port), center)
            self.assertEqual(self.block.gate(port), gate)
            pairs = self.block.products(port)
            place = [a * (a + 1) // 2 + b for a, b in pairs]
            factors = self.factors(stream, [(1, 0.0, models[center])])[..., place]
            slots = list(range(0, 17, length))
            self.compare(
                stream,
                port,
                found,
                slots,
                length,
                ends=[min(slot + length, 17) for slot in slots],
                products=pairs,
                channels=2,
                used=late == bool(gate),
                factors=factors,
            )

    # ---- errors

    def test_refused(self):
        for parameters, words in [
            (dict(average_channels=3), "average_channels: 3 .* divisor of the 1024 channels"),
            (dict(products=[(0, 2)]), r"products: \(0, 2\)"),
            (dict(lengths=[1, 3, 1]), r"lengths\[1\]: 3"),
            (dict(lengths=[1]), "lengths: 1 numbers"),
            (dict(integration=1.5), "integration: 1.5 items"),
            (dict(gates=[(0.2, 0.2)]), r"gates\[0\]"),
            (dict(gates=[(0.2, 0.3)]), "segments: an empty list"),
            (dict(integration_unit="hours"), "integration_unit"),
            (dict(channels=2**22, inputs=64), "channels x|channels"),
        ]:
            with self.subTest(parameters=parameters):
                with self.assertRaisesRegex(ValueError, words):
                    aperture.visibility_averager(**parameters)

    def test_memory(self):
        """Sums that do not fit are refused with how much they take and how much there is."""
        with self.assertRaisesRegex(
            RuntimeError,
            r"sums of 1024 .* need [\d.]+ MB of memory, which could not be had: [\d.]+ MB are free",
        ):
            aperture.visibility_averager(
                8192, 64, centers=1024, products=[(1, 0)] * 20000, device="cpu"
            )

    def test_bad_streams(self):
        """One clear error where a tag is missing or contradicts another."""
        for change, words in [
            ({"rx_rate": None}, "rx_rate: the first item has none"),
            ({"rx_time": None}, "rx_time: the first item has none"),
            ({"spectra": None}, "spectra: no tag is not allowed"),
            ({"spectra": 2 * SPECTRA}, "spectra: 2000 are more than rx_rate leaves time for"),
            ({"counted": np.array([1001])}, "counted: 1001 are more than the 1000"),
            ({"counted": np.array([1, 2])}, "counted: 2 numbers"),
            ({"counted": None}, "counted: an item must have"),
            ({"bandwidth": None}, "bandwidth: the first item has none"),
            ({"bandwidth": -1.0}, "bandwidth: -1"),
        ]:
            with self.subTest(change=change):
                stream = Stream(3, 4, 2)
                tags = [tag for tag in stream.tags() if tag[1] not in change and tag[0] == 0]
                tags += [(0, key, value) for key, value in change.items() if value is not None]
                block = aperture.visibility_averager(channels=4, inputs=2, average_channels=2)
                Flowgraph(block, stream.ports(), [8 * 2 * 3], tags=[tags]).run()
                self.assertRegex(block.error(), words)

    def test_counts_of_others(self):
        """Counts that end before, or have another time, are an error."""
        stream = Stream(6, 2, 2)
        for ports, tags, words in [
            ((6, 4), [], "counts: they end before"),
            ((6, 6), [(3, "rx_time", rx_time(EPOCH, 3.5 / RATE))], "counts: item 3 has another"),
        ]:
            block = aperture.visibility_averager(channels=2, inputs=2, counts=True)
            data = [port[:count] for port, count in zip(stream.ports(True), ports)]
            Flowgraph(block, data, [8 * 2 * 3, 4 * 2 * 3], tags=[stream.tags(), tags]).run()
            self.assertRegex(block.error(), words)


class qa_averages_of_chains(gr_unittest.TestCase):
    """Averages behind a simulated array, an F-engine and an X-engine."""

    START, RATE, CHANNELS = 1577934245, 2000.0, 16  # samples a second; 125 Hz a channel

    def array_of(self, extent, sources):
        places = {"A": (0, 0, 0), "B": (extent, -0.2 * extent, 0), "C": (-0.4 * extent, extent, 5)}
        return make_array(places, rate=self.RATE, center=1.4e9, sources=sources)

    def chain(self, array, seconds, times, averagers, tracked=None, centers=()):
        """
        Runs them; `times` spectra are an integration.

        averagers: blocks that fan out behind the X-engine
        tracked: the direction of the F-engine's delays
        centers: (block, direction, port) each

        Returns the integrations [item][channel][product], and those of all ports of each block.
        """
        top, inputs, keep = gr.top_block(), len(array.inputs), []
        source = array_source(
            array,
            samples=int(seconds * self.RATE) + 7 * self.CHANNELS,
            start_time=self.START,
            inputs_per_port=inputs,
        )
        engine = aperture.f_engine(
            channels=self.CHANNELS,
            inputs=inputs,
            inputs_per_port=inputs,
            spectra_per_frame=times,
            most_delay=1000,
        )
        xengine = aperture.xengine(self.CHANNELS, inputs, times, "fc32", 1, "frames")
        top.connect(source, engine, xengine)
        if tracked is not None:
            centers = [*centers, (engine, tracked, "delays")]
            centers += [(block, tracked, "tracked") for block in averagers]
        for block, direction, port in centers:
            tracker = delay_tracker(array, direction, self.CHANNELS, item_size=8 * inputs)
            top.connect(source, tracker)
            top.msg_connect(tracker, "delays", block, port)
            keep.append(tracker)
        plain = blocks.vector_sink_c(self.CHANNELS * inputs * (inputs + 1) // 2)
        top.connect(xengine, plain)
        sinks = []
        for block in averagers:
            top.connect(xengine, block)
            sinks.append([])
            for port in range(block.outputs()):
                size = len(block.products(port)) * self.CHANNELS
                sinks[-1].append(blocks.vector_sink_c(size))
                top.connect((block, port), sinks[-1][-1])
        top.run()
        for block in [*averagers, *keep]:
            self.assertFalse(block.error())
        values = lambda sink, count: np.reshape(sink.data(), (-1, self.CHANNELS, count))
        return values(plain, inputs * (inputs + 1) // 2), [
            [(values(sink, len(block.products(port))), sink.tags()) for port, sink in enumerate(of)]
            for block, of in zip(averagers, sinks)
        ]

    def place(self, array, azimuth, elevation):
        ra, dec = geometry.azel_to_radec(
            azimuth, elevation, self.START, array.latitude, array.longitude, array.height
        )
        return dict(ra=float(ra), dec=float(dec))

    def test_fan_out(self):
        """Several averagers behind one X-engine: each is the mean of the full correlation."""
        array = self.array_of(10.0, [])
        quick = aperture.visibility_averager(self.CHANNELS, 3, 2, products=products_of([2, 0]))
        slow = aperture.visibility_averager(self.CHANNELS, 3, 5)
        plain, ((fast,), (full,)) = self.chain(array, 8.0, 20, [quick, slow])
        plain = plain.astype(complex)
        place = [5, 3, 0]  # products (2, 2), (0, 2), (0, 0)
        expected = plain[..., place][: len(plain) // 2 * 2].reshape(-1, 2, self.CHANNELS, 3).mean(1)
        expected[..., 1] = expected[..., 1].conj()
        np.testing.assert_allclose(fast[0][: len(expected)], expected, atol=1e-6)
        expected = plain[: len(plain) // 5 * 5].reshape(-1, 5, self.CHANNELS, 6).mean(1)
        np.testing.assert_allclose(full[0][: len(expected)], expected, atol=1e-6)

    def test_source_off_center(self):
        """
        A source 5 degrees from where the F-engine tracks: averaged as it is, it loses no more than
        time_loss() says; about its own place only what a single integration loses, and its phases
        are those of a model that shares nothing with what is tested.
        """
        array = self.array_of(3000.0, [])
        source = Source("s", flux=25.0, **self.place(array, 110.0, 50.0))
        array.sources.append(source)
        center = Direction("c", **self.place(array, 110.0, 55.0))
        own = Direction("s", ra=source.ra, dec=source.dec)
        averager = aperture.visibility_averager(self.CHANNELS, 3, 4, centers=2)
        plain, (found,) = self.chain(
            array,
            32.0,
            125,
            [averager],
            center,
            [(averager, center, "delays0"), (averager, own, "delays1")],
        )
        pairs = [(1, 0), (2, 0), (2, 1)]
        crosses, autos = [1, 3, 4], [0, 2, 5]
        strength = lambda v: (
            np.abs(v[:, 1:, crosses]).mean((0, 1)) / (25 / 26) / np.abs(v[:, 1:, autos].mean())
        )
        off, at = (values[:7] for values, _ in found)
        most = time_loss(array, pairs, 1.401e9, 4.0, 5.0)
        once = time_loss(array, pairs, 1.401e9, 1.0, 5.0)
        self.assertTrue((1 - strength(off) < most + 0.005).all())
        self.assertGreater((1 - strength(off)).max(), 0.05)
        self.assertTrue((1 - strength(at) < once + 0.005).all())
        self.assertLess(np.abs(np.angle(at[:, 1:, crosses].mean(1), deg=True)).max(), 2)
        # each integration is rotated by the difference of the two directions' delays
        hop = self.CHANNELS / self.RATE
        times = self.START + (8 * self.CHANNELS - 1) / 2 / self.RATE
        times = times + (np.arange(28) * 125 + 62) * hop
        tau = np.array(
            [
                [
                    geometric_delays(array, d.ra, d.dec, Time(time, format="unix", scale="utc"))
                    for time in times
                ]
                for d in (center, own)
            ]
        )
        frequencies = 1.4e9 + (np.arange(self.CHANNELS) - self.CHANNELS // 2) * 125.0
        a, b = np.tril_indices(3)
        turned = (tau[1] - tau[0])[:, a] - (tau[1] - tau[0])[:, b]
        factors = np.exp(2j * np.pi * frequencies[:, None] * turned[:, None, :])
        expected = (plain[:28] * factors).reshape(7, 4, self.CHANNELS, 6).mean(1)
        # delay_tracker's lines are good to 0.1 degrees each
        np.testing.assert_allclose(at, expected, atol=26 * np.radians(0.25))
        np.testing.assert_allclose(
            off, plain[:28].reshape(7, 4, self.CHANNELS, 6).mean(1), atol=1e-4
        )
        # the stream of each centre says its direction
        told = [
            [pmt.to_python(tag.value) for tag in tags if str(tag.key) == "settings"]
            for _, tags in found
        ]
        self.assertEqual([len(each) for each in told], [1, 1])
        self.assertIn("'c'", str(told[0]))
        self.assertIn("'s'", str(told[1]))

    def test_another_direction(self):
        """
        The F-engine follows another direction from within an integration on: its delays are taken
        out on both sides, and the average that ends there and the next one are together as if
        nothing had changed.
        """
        array = self.array_of(10.0, [Source("s", azimuth=30.0, elevation=60.0)])
        rng = np.random.default_rng(6)
        # below half a sample, so that only phases change
        models = [(rng.uniform(-1e-4, 1e-4, 3), rng.uniform(-3, 3, 3)) for _ in range(3)]

        def message(model, seconds, name):
            made = pmt.make_dict()
            for key, value in {
                "delay": pmt.init_f64vector(3, model[0].tolist()),
                "phase": pmt.init_f64vector(3, model[1].tolist()),
                "time": to_pmt(rx_time(self.START, seconds)),
                "direction": to_pmt({"name": pmt.intern(name)}),
            }.items():
                made = pmt.dict_add(made, pmt.intern(key), value)
            return made

        def averages(tracked):
            """[item][channel][product], counts and settings."""
            top = gr.top_block()
            source = array_source(array, samples=9000, start_time=self.START, inputs_per_port=3)
            engine = aperture.f_engine(
                channels=self.CHANNELS, inputs=3, inputs_per_port=3, spectra_per_frame=10
            )
            xengine = aperture.xengine(self.CHANNELS, 3, 10, "fc32", 2, "frames")
            averager = aperture.visibility_averager(self.CHANNELS, 3, 6, centers=1)
            averager.take_delays(0, *[models[0][0], [], models[0][1]])
            for seconds, model in tracked:
                told = message(model, seconds, f"at {seconds}")
                engine.to_basic_block()._post(pmt.intern("delays"), told)
                averager.to_basic_block()._post(pmt.intern("tracked"), told)
            sink = blocks.vector_sink_c(self.CHANNELS * 6)
            top.connect(source, engine, xengine, averager, sink)
            top.run()
            self.assertFalse(averager.error())
            values = np.reshape(sink.data(), (-1, self.CHANNELS, 6))
            said = [(t.offset, str(t.key), qa_tools.from_pmt(t.value)) for t in sink.tags()]
            tags = [qa_tools.Tag(*tag) for tag in said]
            counted = [v[0] for _, v in each_of(tags, "counted", len(values))]
            return values, np.array(counted), [v for _, v in each_of(tags, "spectra", len(values))]

        plain, counts, _ = averages([])
        self.assertGreaterEqual(len(plain), 4)
        # another one from a frame on that is neither the first of an integration nor of an average
        found, parts, spectra = averages([(0.0, models[1]), (1.7, models[2])])
        self.assertEqual(len(found), len(plain) + 1)
        cut = int(np.flatnonzero(np.array(spectra) < 120)[0])
        self.assertEqual(spectra[cut] + spectra[cut + 1], 120)
        self.assertEqual(spectra[cut] % 20, 10)
        joined = (found * parts[:, None, None])[cut : cut + 2].sum(0) / parts[cut : cut + 2].sum()
        found = np.concatenate([found[:cut], [joined], found[cut + 2 :]])
        size = np.abs(plain).max()
        np.testing.assert_allclose(found, plain, rtol=0, atol=2e-5 * size)
        self.assertGreater(np.abs(np.angle(plain[0, :, 1])).max(), 0.1)

    def test_files(self):
        """A file of averages is one of the full correlation, averaged: values, times, channels."""
        array = self.array_of(100.0, [])
        folder = Path(tempfile.mkdtemp())
        averager = aperture.visibility_averager(self.CHANNELS, 3, 4, average_channels=4)
        top = gr.top_block()
        source = array_source(array, samples=29000, start_time=self.START, inputs_per_port=3)
        engine = aperture.f_engine(
            channels=self.CHANNELS, inputs=3, inputs_per_port=3, spectra_per_frame=50
        )
        xengine = aperture.xengine(self.CHANNELS, 3, 50, "fc32", 2, "frames")
        sinks = [
            aperture.uvh5_sink(str(folder / name), array, channels)
            for name, channels in (("full.uvh5", self.CHANNELS), ("mean.uvh5", self.CHANNELS // 4))
        ]
        top.connect(source, engine, xengine, sinks[0])
        top.connect(xengine, averager, sinks[1])
        top.run()
        full, mean = (h5py.File(folder / name) for name in ("full.uvh5", "mean.uvh5"))
        rows = lambda file, name, shape: np.reshape(file[name][()], (-1, *shape))
        values = [rows(f, "Data/visdata", (6, n, 1)) for f, n in ((full, 16), (mean, 4))]
        groups = len(values[0]) // 4
        self.assertGreaterEqual(groups, 4)
        expected = values[0][: 4 * groups].reshape(groups, 4, 6, 4, 4, 1).mean((1, 4))
        np.testing.assert_allclose(values[1][:groups], expected, atol=1e-6)
        times = [rows(f, "Header/time_array", (6,))[:, 0] for f in (full, mean)]
        expected = times[0][: 4 * groups].reshape(groups, 4).mean(1)
        np.testing.assert_allclose(times[1][:groups], expected, rtol=0, atol=1e-9)
        lengths = [rows(f, "Header/integration_time", (6,))[:, 0] for f in (full, mean)]
        np.testing.assert_allclose(lengths[1][:groups], 4 * lengths[0][0], rtol=1e-12)
        frequencies = [f["Header/freq_array"][()] for f in (full, mean)]
        np.testing.assert_allclose(frequencies[1], frequencies[0].reshape(4, 4).mean(1))
        widths = [f["Header/channel_width"][()] for f in (full, mean)]
        np.testing.assert_allclose(widths[1], 4 * widths[0][0])

    def test_pulsar(self):
        """A pulsar is in its gate, and not beside it."""
        period = 0.97
        pulse = Pulsar(period, 0.05, peak_flux=20.0, epoch=(self.START, 0.25))
        array = self.array_of(10.0, [])
        array.sources.append(Source("p", pulsars=[pulse], **self.place(array, 110.0, 50.0)))
        averager = aperture.visibility_averager(
            self.CHANNELS,
            3,
            1.6,
            "seconds",
            segments=block_segments(period_segments(period, epoch=(self.START, 0.25))),
            gates=[(0.92, 0.08), (0.3, 0.7)],
        )
        plain, ((on, off),) = self.chain(array, 16.0, 4, [averager])
        self.assertEqual(averager.items_per_average(0), 50)
        hop = self.CHANNELS / self.RATE
        middle = (8 * self.CHANNELS - 1) / 2 / self.RATE + (4 * np.arange(500) + 1.5) * hop
        phase = (middle - 0.25) / period % 1
        inside, beside = (phase >= 0.92) | (phase < 0.08), (phase >= 0.3) & (phase < 0.7)
        plain = plain[:500].reshape(10, 50, self.CHANNELS, 6)
        for (values, _), used in ((on, inside), (off, beside)):
            for found, items, of in zip(values, plain, used.reshape(10, 50)):
                np.testing.assert_allclose(found, items[of].mean(0), atol=1e-5)
        power = lambda values: values[..., [0, 2, 5]].real.mean() - 1
        self.assertGreater(power(on[0]), 4)
        self.assertAlmostEqual(power(off[0]), 0, delta=0.05)
        # all of the pulsar's power is in the gate
        self.assertAlmostEqual(power(on[0][:10]) * inside.mean() / power(plain), 1, delta=0.05)


if __name__ == "__main__":
    gr_unittest.run(qa_visibility_averager)
