#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""power_normalizer against its model: bandpass, flags, missing powers, pulses that survive."""

import functools
import threading

import numpy as np
import pmt
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import normalization, qa_tools
from gnuradio.aperture.testing.qa_tools import EPOCH, Flowgraph, from_pmt, rx_time, tags_of

power_normalizer = functools.partial(aperture.power_normalizer, device=qa_tools.DEVICE)

SAMPLE_TIME = 2.0**-10  # times are exact


class qa_power_normalizer(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1967)

    def noise(self, items, beams, channels, spectra=16):
        """Powers of Gaussian voltages, means of so many spectra, below a bandpass."""
        angles = np.arange(channels) / 60 + np.arange(beams)[:, None]
        self.bandpass = 1e6 * (1 + 0.3 * np.sin(angles))
        values = self.rng.gamma(spectra, 1 / spectra, (items, beams, channels))
        return (self.bandpass * values).astype(np.float32)

    def make(self, powers, segment=16, segments=8, integers=None, **parameters):
        items, beams, channels = powers.shape
        return power_normalizer(
            channels=channels,
            beams=beams,
            sample_time=SAMPLE_TIME,
            window=segment * segments * SAMPLE_TIME,
            segments=segments,
            **({"type": "s8", "steps": integers} if integers else {}),
            **parameters,
        )

    def run_block(self, powers, tags=(), **parameters):
        """Returns what comes out [item][beam][channel], its tags, and the block."""
        block = self.make(powers, **parameters)
        item = block.output_signature().sizeof_stream_item(0)
        (data,), (out_tags,) = qa_tools.run(
            block,
            [powers.reshape(len(powers), -1).view(np.uint8)],
            [item],
            tags=[list(tags)],
            chunks=37,
        )
        kind = np.int8 if "integers" in parameters else np.float32
        return data.view(kind).reshape((-1,) + powers.shape[1:]), out_tags, block

    def check(self, powers, present=None, tags=(), segment=16, segments=8, integers=None, **chosen):
        """Checks against the model; returns what came out."""
        parameters = dict(segment=segment, segments=segments, **chosen)
        if integers:
            parameters["integers"] = integers
        made, out_tags, block = self.run_block(powers, tags, **parameters)
        expected, counts = normalization.normalize(
            powers.astype(float),
            present,
            segment=segment,
            segments=segments,
            steps=integers,
            **chosen,
        )
        self.assertEqual(len(made), len(powers))
        if integers:
            # a value between two steps may become either
            off = abs(made - expected)
            self.assertLessEqual(off.max(), 1)
            self.assertLess((off > 0).mean(), 1e-3)
        else:
            # bandpass in fp32: of 16 to 128 values, whose mean is some rms
            np.testing.assert_allclose(made, expected, rtol=2e-5, atol=2e-5)
        self.assertEqual(block.counts(), counts)
        self.assertIn(
            block.implementation().split(",")[0].split()[0],
            {"cpu": ("host",), "emulated": ("emulated",)}.get(qa_tools.DEVICE, ("cuda",)),
        )
        return made, out_tags

    def test_bandpass(self):
        """Odd sizes, a last segment that is short, and more segments than the window has."""
        for beams, channels, items in ((1, 1, 50), (3, 37, 333), (2, 300, 128), (1, 1100, 70)):
            with self.subTest(beams=beams, channels=channels, items=items):
                made, _ = self.check(self.noise(items, beams, channels))
                self.assertLess(abs(made[16:].mean()), 5 / np.sqrt(made[16:].size))
                self.assertLess(abs(made[16:].std() - 1), 0.03 + 3 / np.sqrt(made[16:].size))

    def test_integers(self):
        powers = self.noise(200, 2, 33)
        self.check(powers, integers=8)
        powers[100, 1, 7:9] *= 40  # no single cell; it does not fit
        made, _ = self.check(powers, integers=8, spectrum_threshold=0)
        self.assertEqual(made[100, 1, 7], 127)
        self.check(powers, integers=2.5)

    def test_flags(self):
        """Cells, channels, spectra; each found, and nothing else."""
        powers = self.noise(400, 2, 65)
        rms = self.bandpass / 4
        powers[150, 0, 20] += 40 * rms[0, 20]
        powers[151, 0, 30:32] += 40 * rms[0, 30:32]  # two beside each other may be a pulse
        powers[200, 1] += 4 * rms[1]
        powers[:, 0, 40] += 3 * rms[0, 40]
        powers[:, 1, 50] += 3 * rms[1, 50] * self.rng.standard_normal(400)
        made, _ = self.check(powers)
        found = made == 0
        expected = np.zeros(made.shape, dtype=bool)
        expected[150, 0, 20] = expected[200, 1] = True
        expected[:, 0, 40] = expected[:, 1, 50] = True
        np.testing.assert_array_equal(found[48:], expected[48:])
        made, _ = self.check(powers, cell_threshold=0, channel_threshold=0, spectrum_threshold=0)
        self.assertTrue(made[48:].all())

    def test_known_bad(self):
        made, _ = self.check(self.noise(100, 2, 20), bad_channels=[0, 7, 19])
        self.assertFalse(made[:, :, [0, 7, 19]].any())

    def test_zero_dm(self):
        made, _ = self.check(self.noise(100, 2, 20), zero_dm=True, bad_channels=[3])
        np.testing.assert_allclose(made.sum(axis=2), 0, atol=1e-4)

    def test_not_finite(self):
        powers = self.noise(200, 2, 33)
        bad = self.rng.random(powers.shape) < 0.02
        powers[bad] = self.rng.choice([np.nan, np.inf, -np.inf], bad.sum())
        powers[60, 0] = np.nan
        powers[:, 1, 9] = np.nan
        powers[:, 1, 10] = 7  # no noise
        made, _ = self.check(powers)
        self.assertTrue(np.isfinite(made).all())
        self.assertFalse(made[bad].any())

    def test_missing(self):
        """Items that were lost are zeros, and no part of the bandpass."""
        powers = self.noise(300, 3, 21)
        counts = self.rng.choice([64, 64, 64, 40, 31, 0], (300, 3))
        counts[70:130] = 0
        powers[counts == 0] = 0
        tags = [(i, "spectra", 64) for i in range(300)]
        tags += [(i, "counted", row.astype(np.uint64)) for i, row in enumerate(counts)]
        for found in (tags, qa_tools.said(tags)):
            made, _ = self.check(powers, counts >= 32, found)
            self.assertFalse(made[counts < 32].any())
            self.assertLess(abs(made[counts >= 32].std() - 1), 0.1)
        # one number for all
        same = np.repeat(counts[:, :1], 3, axis=1)
        tags = [(i, "spectra", 64) for i in range(300)]
        tags += [(i, "counted", row[:1].astype(np.uint64)) for i, row in enumerate(same)]
        for found in (tags, qa_tools.said(tags)):
            self.check(self.noise(300, 3, 21), same >= 32, found)

    def test_gain_step(self):
        """A step of the gain is followed after half of the window."""
        powers = self.noise(512, 1, 64)
        powers[256:] *= 2
        made, _ = self.check(powers)
        self.assertFalse(made[256:300].any())  # spectra are flagged
        self.assertLess(abs(made[400:].std() - 1), 0.1)

    def test_pulse(self):
        """
        A dispersed pulse of S/N 15 in each channel, 170 in all, keeps its signal, while
        interference that is as strong in all channels at once goes.
        """
        channels, items, segment, segments = 128, 2048, 32, 16
        powers = self.noise(items, 1, channels, 32)
        clean, _, _ = self.run_block(powers, segment=segment, segments=segments)
        at = 1000 + 3 * np.arange(channels)[::-1]  # falls through the band
        rms = self.bandpass[0] / np.sqrt(32)
        for width in (1, 4):
            with_pulse = powers.copy()
            for k in range(channels):
                with_pulse[at[k] : at[k] + width, 0, k] += 15 * rms[k] / np.sqrt(width)
            with_pulse[500 : 500 + width, 0] += (15 * rms / np.sqrt(width)).astype(np.float32)
            made, _, _ = self.run_block(
                with_pulse, segment=segment, segments=segments, spectrum_threshold=6
            )
            gained = (made - clean)[:, 0]
            signal = sum(gained[at[k] : at[k] + width, k].sum() for k in range(channels))
            true = 15 * np.sqrt(width) * channels
            self.assertGreater(signal, 0.95 * true)
            self.assertLess(signal, 1.02 * true)
            self.assertFalse(made[500 : 500 + width].any())

    def test_bright_pulse(self):
        """One so bright that each cell is above the threshold is left, as its cells are
        neighbours."""
        powers = self.noise(1024, 1, 64, 32)
        rms = self.bandpass[0] / np.sqrt(32)
        for k in range(64):  # two channels at a time
            at = 600 + 2 * ((63 - k) // 2)
            powers[at : at + 3, 0, k] += (30 * rms[k]).astype(np.float32)
        made, _, block = self.run_block(powers, segment=32, segments=16)
        for k in range(64):
            at = 600 + 2 * ((63 - k) // 2)
            self.assertGreater(made[at : at + 3, 0, k].min(), 20)
        self.assertEqual(block.counts()["cell"], [0])

    def test_new_frequency(self):
        """Another rx_freq begins a new bandpass, a restated one does not."""
        powers = self.noise(300, 2, 17)
        tags = [(0, "rx_freq", 408e6), (50, "rx_freq", 408e6), (105, "rx_freq", 450e6)]
        made, out_tags, _ = self.run_block(powers, tags)
        for part in (slice(0, 105), slice(105, 300)):
            expected, _ = normalization.normalize(
                powers[part].astype(float), segment=16, segments=8
            )
            np.testing.assert_allclose(made[part], expected, rtol=2e-5, atol=2e-5)
        self.assertEqual(tags_of(out_tags, "rx_freq"), [tag[::2] for tag in tags])

    def test_tags(self):
        """All stay on their items."""
        tags = [
            (0, "rx_time", rx_time(EPOCH)),
            (0, "rx_rate", 1 / SAMPLE_TIME),
            (0, "rx_freq", 408e6),
            (0, "bandwidth", 2e6),
            (17, "rx_time", rx_time(EPOCH, 0.5)),
            (99, "partial", True),
        ]
        tags += [(i, "spectra", 64) for i in range(100)]
        _, out_tags, _ = self.run_block(self.noise(100, 1, 9), tags)
        found = sorted((tag.offset, tag.key, tag.value) for tag in out_tags)
        self.assertEqual(found, sorted(tags))

    def test_errors_in_tags(self):
        for tag, text in (
            ((3, "rx_rate", 999.0), "sample_time: 0.0009765625 s contradicts"),
            ((3, "counted", np.array([1, 2, 3], np.uint64)), "beams: 2 do not fit"),
        ):
            powers = self.noise(100, 2, 5)
            block = self.make(powers)
            graph = Flowgraph(block, [powers.reshape(100, -1).view(np.uint8)], [40], tags=[[tag]])
            graph.run()
            self.assertIn(text, block.error())

    def test_status(self):
        """The counts are published within a second, when they change."""
        powers = self.noise(100, 2, 20)
        powers[50, 1] = np.nan
        block = self.make(powers, bad_channels=[4])
        gate = threading.Event()
        graph = Flowgraph(block, [powers.reshape(100, -1).view(np.uint8)], [160], gates={96: gate})
        keep = Keeper()
        graph.top.msg_connect(block, "status", keep, "in")
        with graph.running():
            self.assertTrue(keep.came.wait(qa_tools.PATIENCE))
        message = next(m for m in keep.messages if list(m["channel"]) == [96, 96])
        self.assertEqual(message["event"], "flagged")
        self.assertEqual(list(message["cell"]), [0, 19])
        self.assertEqual(list(message["clamped"]), [0, 0])

    def test_restart(self):
        """Nothing is left of the run before."""
        powers = self.noise(200, 2, 20)
        gate = threading.Event()
        block = self.make(powers)
        graph = Flowgraph(block, [powers.reshape(200, -1).view(np.uint8)], [160], gates={90: gate})
        with graph.running():
            graph.sinks[0].wait_for(64)
            graph.top.stop()
        expected, counts = normalization.normalize(powers.astype(float), segment=16, segments=8)
        for _ in range(2):
            (data,), _ = graph.run()
            np.testing.assert_allclose(
                data.view(np.float32).reshape(powers.shape), expected, rtol=2e-5, atol=2e-5
            )
            self.assertEqual(block.counts(), counts)

    def test_errors(self):
        cases = (
            ({"channels": 0}, "channels: 0 is not allowed"),
            ({"beams": 0}, "beams: 0 is not allowed"),
            ({"sample_time": 0}, "sample_time: 0 is not allowed; it must be above 0"),
            ({"sample_time": float("nan")}, "sample_time: nan is not allowed"),
            ({"window": 0.1}, "window: 0.1 is not allowed; it must be at least 0.256 s"),
            ({"segments": 3}, "segments: 3 is not allowed"),
            ({"type": "u8"}, "type: 'u8' is not allowed; it must be f32 or s8"),
            ({"type": "s8", "steps": 0}, "steps: 0 is not allowed"),
            ({"cell_threshold": -1}, "cell_threshold: -1 is not allowed; it must be at least 0"),
            ({"channel_threshold": float("inf")}, "channel_threshold: inf is not allowed"),
            ({"spectrum_threshold": float("nan")}, "spectrum_threshold: nan is not allowed"),
            ({"bad_channels": [1024]}, "bad_channels: 1024 is not allowed"),
            ({"beams": 60000}, "items"),
        )
        for parameters, message in cases:
            with self.assertRaises(ValueError) as caught:
                aperture.power_normalizer(**parameters)
            self.assertIn(message, str(caught.exception))


class Keeper(qa_tools.gr.basic_block):
    """Keeps messages, as Python's types."""

    def __init__(self):
        qa_tools.gr.basic_block.__init__(self, "keeper", None, None)
        self.messages, self.came = [], threading.Event()
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.handle)

    def handle(self, message):
        self.messages.append(from_pmt(message))
        if list(self.messages[-1]["channel"]) == [96, 96]:
            self.came.set()


if __name__ == "__main__":
    gr_unittest.run(qa_power_normalizer)
