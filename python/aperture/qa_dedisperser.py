#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""dedisperser against sums in float64 along the delays: values, times, tags, ends."""

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.qa_tools import EPOCH, Flowgraph, rx_time, tags_of
from gnuradio.aperture.transients import TrialLayout, channel_frequencies, delay, rounded_delays

aperture = qa_tools.on_device(aperture)

# a power of two: all times below are exact in float64
SAMPLE_TIME = 1 / 1024
TYPES = {"f32": np.float32, "s8": np.int8, "u8": np.uint8}


class Case:
    """Parameters of a block and of its input."""

    def __init__(self, **changes):
        self.parameters = dict(
            beams=3,
            channels=45,
            center_frequency=410e6,
            bandwidth=32e6,
            sample_time=SAMPLE_TIME,
            dms=[17, 0, 4.5, 30, 9],
            decimations=[2, 1, 1, 4, 1],
            times_per_item=60,
            type="s8",
        )
        self.parameters.update(changes)
        p = self.parameters
        self.layout = TrialLayout(p["beams"], p["times_per_item"], p["dms"], p["decimations"])

    def block(self):
        return aperture.dedisperser(**self.parameters)

    def tags(self, item=0, seconds=0.0):
        p = self.parameters
        return [
            (item, "rx_time", rx_time(EPOCH, seconds)),
            (item, "rx_rate", 1 / SAMPLE_TIME),
            (item, "rx_freq", p["center_frequency"]),
            (item, "bandwidth", p["bandwidth"]),
            (item, "samples_per_item", 64),
        ]

    def powers(self, rng, times):
        """[time][beam][channel]"""
        p = self.parameters
        low = 0 if p["type"] == "u8" else -127
        shape = (times, p["beams"], p["channels"])
        return rng.integers(low, low + 255, shape).astype(TYPES[p["type"]])

    def bytes_of(self, powers):
        return np.ascontiguousarray(powers).view(np.uint8).reshape(len(powers), -1)

    def expected(self, powers, delays):
        """Returns for each trial [beam][time], of all times that no channel lacks."""
        powers = powers.astype(np.float64)
        times = len(powers) - delays.max()
        found = []
        for trial, row in enumerate(delays):
            sums = sum(powers[d : d + times, :, k] for k, d in enumerate(row))
            decimation = self.layout.decimation(trial)
            whole = times // decimation * decimation
            found.append(sums[:whole].reshape(-1, decimation, sums.shape[1]).sum(1).T)
        return found, times


class qa_dedisperser(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1974)

    def compare(self, case, powers, data, delays):
        """Values of a stretch of input; returns the times that came out."""
        parts = case.layout.split(np.frombuffer(data.tobytes(), np.float32))
        expected, times = case.expected(powers, delays)
        for trial, (part, values) in enumerate(zip(parts, expected)):
            np.testing.assert_array_equal(part[:, : values.shape[1]], values, f"trial {trial}")
            # the rest of the last item
            self.assertFalse(part[:, values.shape[1] :].any())
            self.assertLess(
                part.shape[1] * case.layout.decimation(trial) - times, case.layout.times_per_item
            )
        return times

    def check(self, case, times, tags=None):
        """Runs it and compares; returns the tags that came out."""
        powers = case.powers(self.rng, times)
        block = case.block()
        (data,), (out,) = qa_tools.run(
            block,
            [case.bytes_of(powers)],
            [case.layout.item_bytes],
            tags=[case.tags() if tags is None else tags],
            chunks=50,
        )
        self.assertEqual(block.error(), "")
        self.compare(case, powers, data, block.delays())
        return out

    def test_values(self):
        """Sums of integers are exact, in f32 too; whole items, a part of one, less than one."""
        for kind in TYPES:
            for times in (700, 60 * 5, 190):
                with self.subTest(kind, times=times):
                    self.check(Case(type=kind), times)

    def test_sizes(self):
        self.check(Case(channels=1, decimations=[]), 130)
        self.check(Case(beams=1, channels=200, dms=[11], decimations=[], type="f32"), 400)
        self.check(Case(times_per_item=4, type="u8"), 200)
        self.check(Case(times_per_item=1024, tolerance=5), 1500)

    def test_delays(self):
        """Delays are within the tolerance of the exact ones; rounded half to even with 0.5."""
        for tolerance in (0.5, 1, 3):
            case = Case(tolerance=tolerance)
            block = case.block()
            p = case.parameters
            band = (p["channels"], p["center_frequency"], p["bandwidth"])
            delays = block.delays()
            if tolerance == 0.5:
                np.testing.assert_array_equal(
                    delays, rounded_delays(p["dms"], *band, SAMPLE_TIME, p["decimations"])
                )
            f = channel_frequencies(*band)
            exact = delay(np.array(p["dms"])[:, None], f, f[-1]) / SAMPLE_TIME
            off = abs(delays - exact) / np.array(p["decimations"])[:, None]
            self.assertLessEqual(off.max(), tolerance + 1e-9)
            self.assertEqual(block.longest_delay(), delays.max())
            self.assertEqual(delays[0].tolist(), (delays[0] // 2 * 2).tolist())
            self.check(case, 300)

    def test_pulse(self):
        """A dispersed pulse is at its time at the reference frequency, in its trial."""
        case = Case(beams=2, channels=128, dms=[0, 10, 20, 30], decimations=[], type="f32")
        p = case.parameters
        f = channel_frequencies(p["channels"], p["center_frequency"], p["bandwidth"])
        powers = np.zeros((800, 2, 128), np.float32)
        at = 333  # items after the start
        for k, late in enumerate(np.rint(delay(20, f, f[-1]) / SAMPLE_TIME).astype(int)):
            powers[at + late, 1, k] = 1
        (data,), (out,) = qa_tools.run(
            case.block(),
            [case.bytes_of(powers)],
            [case.layout.item_bytes],
            tags=[case.tags(seconds=0.25)],
        )
        parts = case.layout.split(np.frombuffer(data.tobytes(), np.float32))
        best = parts[2][1]
        self.assertLessEqual(abs(int(best.argmax()) - at), 1)
        # no delay is off by more than 1, so the pulse is within 3 values
        self.assertEqual(best[at - 1 : at + 2].sum(), 128)
        self.assertLess(max(parts[i].max() for i in (0, 1, 3)), best.max() / 2)
        self.assertFalse(parts[2][0].any())
        item = at // p["times_per_item"]
        time = dict(qa_tools.each_of(out, "rx_time", len(data)))[item]
        found = time[0] - EPOCH + time[1] + (at % p["times_per_item"]) * SAMPLE_TIME
        self.assertEqual(found, 0.25 + at * SAMPLE_TIME)

    def test_tags(self):
        """Times, rate and band; lost times are counted; the last item is partial."""
        case = Case()
        longest = case.block().longest_delay()
        times = 60 * 2 + 23
        tags = case.tags(seconds=0.5)
        counted = [
            (i, "counted", np.array([0 if i in (3, 61, 62) else 8])) for i in range(times + longest)
        ]
        self.check_tags(self.check(case, times + longest, tags + counted))
        self.check_tags(self.check(case, times + longest, tags + qa_tools.said(counted)))

    def check_tags(self, out):
        """Compares the tags of test_tags()."""
        self.assertEqual(
            qa_tools.each_of(out, "rx_time", 3),
            [(i, rx_time(EPOCH, 0.5 + 60 * i * SAMPLE_TIME)) for i in range(3)],
        )
        self.assertEqual(tags_of(out, "rx_rate"), [(0, 1 / SAMPLE_TIME / 60)])
        self.assertEqual(tags_of(out, "rx_freq"), [(0, 410e6)])
        self.assertEqual(tags_of(out, "bandwidth"), [(0, 32e6)])
        self.assertEqual(tags_of(out, "samples_per_item"), [(0, 64 * 60)])
        self.assertEqual(qa_tools.each_of(out, "spectra", 3), [(0, 60), (1, 60), (2, 23)])
        self.assertEqual(
            [(i, list(n)) for i, n in tags_of(out, "counted")], [(0, [59]), (1, [58]), (2, [23])]
        )
        self.assertEqual(tags_of(out, "partial"), [(2, True)])

    def test_nothing(self):
        """An input that no time of has all channels, and one that has one such time."""
        case = Case()
        longest = case.block().longest_delay()
        for times, items in ((longest, 0), (longest + 1, 1)):
            (data,), (out,) = qa_tools.run(
                case.block(),
                [case.bytes_of(case.powers(self.rng, times))],
                [case.layout.item_bytes],
                tags=[case.tags()],
            )
            self.assertEqual(len(data), items)
            self.assertEqual(tags_of(out, "spectra"), [(0, 1)] * items)

    def test_gap(self):
        """Dedispersion ends before a jump of the clock as at the end of the input, and begins
        anew."""
        case = Case()
        longest = case.block().longest_delay()
        first, second = 100 + longest, 150 + longest
        powers = case.powers(self.rng, first + second)
        tags = case.tags() + [(first, "rx_time", rx_time(EPOCH, 7.0))]
        block = case.block()
        (data,), (out,) = qa_tools.run(
            block, [case.bytes_of(powers)], [case.layout.item_bytes], tags=[tags], chunks=50
        )
        self.assertEqual(block.error(), "")
        delays = block.delays()
        self.assertEqual(len(data), 2 + 3)
        self.compare(case, powers[:first], data[:2], delays)
        self.compare(case, powers[first:], data[2:], delays)
        self.assertEqual(
            qa_tools.each_of(out, "spectra", 5), [(0, 60), (1, 40), (2, 60), (3, 60), (4, 30)]
        )
        self.assertEqual(tags_of(out, "partial"), [(1, True), (4, True)])
        times = [time[0] - EPOCH + time[1] for _, time in qa_tools.each_of(out, "rx_time", 5)]
        self.assertEqual(times, [0, 60 / 1024, 7, 7 + 60 / 1024, 7 + 120 / 1024])

    def test_restart(self):
        case = Case(type="f32")
        powers = case.powers(self.rng, 400)
        block = case.block()
        graph = Flowgraph(
            block, [case.bytes_of(powers)], [case.layout.item_bytes], tags=[case.tags()], chunks=50
        )
        for _ in range(2):
            (data,), (out,) = graph.run()
            self.compare(case, powers, data, block.delays())
            self.assertEqual(tags_of(out, "rx_rate"), [(0, 1 / SAMPLE_TIME / 60)])

    def test_contradictions(self):
        """Tags that say otherwise end it, with what they say and what is wanted."""
        for key, value, texts in (
            ("rx_rate", 1000.0, ("rx_rate: 1000 ", "1024", "sample_time")),
            ("rx_freq", 411e6, ("rx_freq: 411000000 ", "410000000", "center_frequency")),
            ("bandwidth", 30e6, ("bandwidth: ", "30000000", "32000000")),
        ):
            with self.subTest(key):
                case = Case()
                tags = [tag for tag in case.tags() if tag[1] != key] + [(0, key, value)]
                block = case.block()
                (data,), _ = qa_tools.run(
                    block,
                    [case.bytes_of(case.powers(self.rng, 900))],
                    [case.layout.item_bytes],
                    tags=[tags],
                )
                self.assertEqual(len(data), 0)
                for text in texts:
                    self.assertIn(text, block.error())

    def test_parameters(self):
        for name, change in (
            ("channels", dict(channels=0)),
            ("beams", dict(beams=0)),
            ("bandwidth", dict(bandwidth=0)),
            ("sample_time", dict(sample_time=-1)),
            ("center_frequency", dict(center_frequency=15e6)),
            ("dms", dict(dms=[])),
            ("dms", dict(dms=[-1] * 5)),
            ("decimations", dict(decimations=[3] * 5)),
            ("decimations", dict(decimations=[1])),
            ("decimations", dict(decimations=[8] * 5)),
            ("times_per_item", dict(times_per_item=0, decimations=[])),
            ("type", dict(type="s16")),
            ("tolerance", dict(tolerance=0.1)),
        ):
            with self.assertRaisesRegex(ValueError, f"^{name}"):
                Case(**change).block()


if __name__ == "__main__":
    gr_unittest.run(qa_dedisperser)
