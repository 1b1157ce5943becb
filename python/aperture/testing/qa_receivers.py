#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The simulated receivers against the formulas that they are made of."""

import tempfile

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture.testing.receivers import (
    BLOCK,
    Loss,
    Noise,
    Receiver,
    Receivers,
    random_losses,
)


def direct(noise, times):
    """The sum of windowed exponentials at these times, one term after the other."""
    result = np.zeros(len(times), complex)
    for i, time in enumerate(times):
        last = int(np.floor(time / (BLOCK // 2)))
        for window in (last - 1, last):
            offset = time - window * (BLOCK // 2)
            phases = 2 * np.pi * noise._frequencies * offset / BLOCK
            result[i] += np.sin(np.pi * offset / BLOCK) * np.sum(
                noise._amplitudes(window) * np.exp(1j * phases)
            )
    return result


class qa_receivers(gr_unittest.TestCase):
    def test_noise_at_any_time(self):
        """Whole and fractional times, negative ones, and steps that are not 1."""
        noise = Noise([3, 1])
        for first, step in (
            (-20.0, 1),
            (0.3, 1),
            (-1e7 + 0.25, 1),
            (4090.5, 1 + 1e-4),
            (8185.9, 1 - 9.7e-5),
        ):
            found = noise.at(first, step, 37)
            np.testing.assert_allclose(
                found, direct(noise, first + step * np.arange(37)), atol=1e-7
            )

    def test_noise_is_white_in_its_band(self):
        samples = Noise(5, 0.5).at(-1000.0, 1, 200003)
        self.assertAlmostEqual(np.mean(abs(samples) ** 2), 1, delta=0.02)
        power = abs(np.fft.fft(samples)) ** 2
        inside = abs(np.fft.fftfreq(len(samples))) < 0.249
        outside = abs(np.fft.fftfreq(len(samples))) > 0.251
        self.assertLess(power[outside].sum() / power.sum(), 1e-4)
        parts = power[inside].reshape(-1)[:99000].reshape(99, -1).mean(axis=1)
        self.assertLess(parts.std() / parts.mean(), 0.06)  # 1000 values: 0.032

    def test_any_part_is_the_same(self):
        """Pieces of any size are those of the whole stream; losses leave samples out."""
        losses = [Loss(700, 33), Loss(9000, 1, False)]
        both = Receivers(
            [
                Receiver(start=-5000.3, ppm=20, gain=2, losses=losses),
                Receiver(start=-5000.3, ppm=20, gain=2),
            ]
        )
        whole = both.samples(0, 0, 12000)
        parts = [both.samples(0, at, min(1117, 12000 - at)) for at in range(0, 12000, 1117)]
        np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-5)
        # the other one lost nothing, but has noise of its own
        items = both.device_sample(0, np.arange(12000))
        np.testing.assert_array_equal(items[[699, 700, 8966, 8967]], [699, 733, 8999, 9001])
        alone = Receivers([Receiver(start=-5000.3, ppm=20, gain=2)])
        np.testing.assert_allclose(alone.samples(0, 0, 12034)[items], whole, atol=1e-5)

    def test_truth(self):
        """Without noise, what is done to one by the truth makes it the other: by formula."""
        receivers = Receivers(
            [
                Receiver(start=123.25, phase=1.0, ppm=-40, share=1),
                Receiver(start=-77.5, phase=-2.0, gain=3.0, ppm=60, share=1),
            ],
            retunes=[(2000.0, 1.5e9)],
            seed=4,
        )
        for sample in (0, 1500, 5000):
            truth = receivers.truth(1, 0, sample)
            # the time at which both hear the same
            other = sample - truth["delay"]
            self.assertAlmostEqual(
                float(receivers.time_of(1, other)), float(receivers.time_of(0, sample)), places=6
            )
            reference = receivers.samples(0, sample, 1)[0]
            signal = receivers._signal.at(float(receivers.time_of(0, sample)), 1, 1)[0]
            there = (
                3.0 * signal * np.exp(1j * receivers._oscillator(1, receivers.time_of(0, sample)))
            )
            self.assertAlmostEqual(
                abs(truth["gain"] * np.exp(1j * truth["phase"]) * there - reference), 0, places=4
            )
            later = receivers.truth(1, 0, sample + 100)
            self.assertAlmostEqual(
                later["delay"] - truth["delay"], 100 * truth["delay_rate"], places=6
            )
            rotated = np.exp(1j * (later["phase"] - truth["phase"] - 100 * truth["phase_rate"]))
            self.assertAlmostEqual(abs(rotated - 1), 0, places=6)

    def test_tags(self):
        receivers = Receivers(
            [
                Receiver(start=240000.0, losses=[Loss(50, 7), Loss(90, 2, False)]),
                Receiver(stamps="private", start=0.5),
                Receiver(stamps="none"),
            ],
            sample_rate=1e6,
            center_frequency=1e8,
            retunes=[(240150.0, 2e8)],
            start_time=1000000000,
        )
        tags = receivers.tags(0, 0, 1000)
        self.assertEqual(
            [(item, key) for item, key, _ in tags],
            [(0, "rx_freq"), (0, "rx_rate"), (0, "rx_time"), (50, "rx_time"), (141, "rx_freq")],
        )
        self.assertEqual(tags[2][2], (1000000000, 0.24))
        self.assertAlmostEqual(tags[3][2][1], 0.240057, places=9)
        self.assertEqual(tags[4][2], 2e8)
        self.assertEqual(receivers.tags(1, 0, 9)[2][2], (0, 0.0))
        self.assertEqual([tag[1] for tag in receivers.tags(2, 0, 9)], ["rx_freq", "rx_rate"])
        self.assertEqual(receivers.tags(0, 1, 49), [])

    def test_files_and_source(self):
        receivers = Receivers(
            [
                Receiver(stamps="private", losses=random_losses(3, 2000, 50)),
                Receiver(start=3e6 + 0.1, gain=0.5),
            ]
        )
        wanted = [receivers.samples(i, 0, 3001) for i in range(2)]
        with tempfile.TemporaryDirectory() as folder:
            for name, samples in zip(receivers.write(folder, 3001), wanted):
                np.testing.assert_array_equal(np.fromfile(name, np.complex64), samples)
            name = receivers.write(folder, 3001, "u8")[1]
            parts = np.fromfile(name, np.uint8) - 127.5
            np.testing.assert_allclose(
                parts, wanted[1].view(np.float32) * 30 * np.sqrt(2), atol=0.51
            )
        top, source = gr.top_block(), receivers.source(3001, at_once=701)
        sinks = [blocks.vector_sink_c() for _ in wanted]
        for port, sink in enumerate(sinks):
            top.connect((source, port), sink)
        top.run()
        for i, (sink, samples) in enumerate(zip(sinks, wanted)):
            np.testing.assert_allclose(np.array(sink.data()), samples, atol=1e-5)
            tags = sorted((tag.offset, pmt.symbol_to_string(tag.key)) for tag in sink.tags())
            self.assertEqual(tags, [tag[:2] for tag in receivers.tags(i, 0, 3001)])


if __name__ == "__main__":
    gr_unittest.run(qa_receivers)
