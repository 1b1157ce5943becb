#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""spectrometer and hydrogen_source: kelvin, the radiometer equation, switching, faults."""

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.arrays.array_description import load_array
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.spectrometer import clipped_part
from gnuradio.aperture.spectrometry import galaxy
from gnuradio.aperture.spectrometry.kelvin import hot_and_cold
from gnuradio.aperture.spectrometry.velocity import lsr_correction, velocities
from gnuradio.aperture.streams.tag_values import dictionary
from gnuradio.aperture.testing.qa_tools import ByteSink, from_pmt, tags_of
from gnuradio.aperture.tracking.directions import parse_direction

CHANNELS, RATE = 64, 500e3
START = 1718967600


class Observation:
    """Spectra [item][channel] of a dish, their tags, and what was told."""

    def __init__(self, seconds, scale=None, source=None, **options):
        values = {"channels": CHANNELS, "integration": 0.5, "t_cold": 10.0, **options}
        self.block = aperture.spectrometer(**values)
        if scale is not None:
            self.block.take_scale(scale)
        self.spectra = []
        self.block.on_spectrum(self.spectra.append)
        source = {"sample_rate": RATE, "drift": 0.0, **(source or {})}
        top = gr.top_block()
        made = aperture.hydrogen_source(samples=round(seconds * source["sample_rate"]), **source)
        sink = ByteSink(values["channels"] * 4)
        self.debug = blocks.message_debug()
        top.connect(made, self.block, sink)
        top.msg_connect(self.block, "status", self.debug, "store")
        top.run()
        assert self.block.error() == "", self.block.error()
        self.kelvin = sink.data().view(np.float32).reshape(-1, values["channels"])
        self.tags = sink.tags

    def told(self, event):
        """The dictionaries of an event."""
        found = [from_pmt(self.debug.get_message(n)) for n in range(self.debug.num_messages())]
        return [values for values in found if values["event"] == event]


def measured(**source):
    """The Scale that hot and cold give, with 4 s each."""
    loads = {}
    for target in ("hot", "cold"):
        loads.update(Observation(4, look=target, source={"target": target, **source}).block.loads())
    return hot_and_cold(loads["hot"], loads["cold"], 290.0, 10.0)


class qa_spectrometer(gr_unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scale = measured()

    def test_hot_and_cold(self):
        """The receiver's 100 K, from Y = 390/110; the noise of 4 s in 7.8 kHz."""
        self.assertAlmostEqual(float(self.scale.y[0]), 390 / 110, delta=0.02)
        inner = self.scale.receiver[0, 8:-8]
        self.assertAlmostEqual(float(np.median(inner)), 100.0, delta=1.5)

    def test_sky(self):
        """The model's line comes out in kelvin, at its place, with the tags of its time and band;
        and its noise is that of the radiometer equation."""
        found = Observation(
            6, self.scale, source={"direction": "l=120, b=0", "center_frequency": 1420.4e6}
        )
        self.assertEqual(len(found.kelvin), 11)
        self.assertEqual(tags_of(found.tags, "rx_freq")[0], (0, 1420.4e6))
        self.assertEqual(tags_of(found.tags, "bandwidth")[0], (0, RATE))
        self.assertAlmostEqual(tags_of(found.tags, "rx_rate")[0][1], 2.0, delta=0.15)
        inner = slice(8, -8)
        frequencies = 1420.4e6 + (np.arange(CHANNELS) - CHANNELS // 2) * RATE / CHANNELS
        speeds = velocities(
            frequencies,
            lsr_correction(parse_direction("l=120, b=0"), START + 3.0, load_array("one-dish")),
        )
        expected = 10.0 + galaxy.brightness(120.0, 0.0, speeds)
        self.assertGreater(expected[inner].max(), 45)
        mean = found.kelvin.mean(axis=0)
        # a channel is 1.6 km/s wide; noise of the mean and of hot and cold: 1.1 K
        np.testing.assert_allclose(mean[inner], expected[inner], atol=6.0)
        self.assertLess(np.abs((mean - expected)[inner]).mean(), 1.5)
        # radiometer: T_sys/sqrt(B t), of channels that the filter bank makes nearly independent
        spread = found.kelvin.std(axis=0, ddof=1)[inner]
        system = (100 + expected)[inner]
        ratio = spread / (system / np.sqrt(RATE / CHANNELS * 0.5))
        self.assertAlmostEqual(float(np.sqrt(np.mean(ratio**2))), 1.0, delta=0.12)

    def test_load_switching(self):
        """A gain that drifts by a fifth leaves the sky and T_sys as they are."""
        found = Observation(
            5,
            self.scale,
            mode="load",
            period=1.0,
            integration=1.0,
            source={
                "switching": "load",
                "period": 1.0,
                "drift": 0.4,
                "start_time": START + 40,  # a gain of 1.3
                "direction": "l=120, b=0",
                "center_frequency": 1422.0e6,
            },
        )
        self.assertGreaterEqual(len(found.kelvin), 2)
        self.assertEqual([values["fault"] for values in found.told("fault")], ["band"])
        self.assertAlmostEqual(float(np.median(found.kelvin[:, 8:-8])), 10.0, delta=2.0)
        for spectrum in found.spectra:
            self.assertAlmostEqual(float(spectrum.system[0]), 110.0, delta=3.0)

    def test_frequency_switching(self):
        """The line is at the signal's frequency, on a baseline of 0, without hot and cold."""
        # at night: in June the Sun stands near the galaxy's anticentre
        rate, frequency, start = 1.2e6, 1420.3e6, START + 43200
        found = Observation(
            5,
            mode="frequency",
            period=1.0,
            integration=1.0,
            t_receiver=100.0,
            source={
                "switching": "frequency",
                "period": 1.0,
                "throw": rate * 24 / CHANNELS,
                "sample_rate": rate,
                "direction": "l=180, b=0",
                "center_frequency": frequency,
                "start_time": start,
            },
        )
        self.assertGreaterEqual(len(found.kelvin), 2)
        self.assertEqual({value for _, value in tags_of(found.tags, "rx_freq")}, {frequency})
        mean = found.kelvin.mean(axis=0)
        speeds = velocities(
            frequency + (np.arange(CHANNELS) - CHANNELS // 2) * rate / CHANNELS,
            lsr_correction(parse_direction("l=180, b=0"), start + 3.0, load_array("one-dish")),
        )
        line = galaxy.brightness(180.0, 0.0, speeds)
        peak = int(np.argmax(line[8:-8])) + 8
        self.assertGreater(line[peak], 30)
        # T_sys of the assumed scale has the median channel at 10 K
        self.assertAlmostEqual(float(mean[peak] / line[peak]), 1.0, delta=0.15)
        quiet = (line < 0.05) & (np.roll(line, 24) < 0.05) & (np.roll(line, -24) < 0.05)
        quiet[:8] = quiet[-8:] = False
        self.assertLess(np.abs(mean[quiet]).mean(), 2.5)

    def test_left_at_the_reference(self):
        """A receiver that the last run left where it was tuned away to begins there, and is told to
        come back; the signal stays what it was."""
        home, throw = 1420.3e6, 0.1e6
        # 0.4 s, which end with the reference
        source = aperture.hydrogen_source(sample_rate=RATE, center_frequency=home, samples=200000)
        block = aperture.spectrometer(
            CHANNELS, 0.5, "frequency", period=0.5, throw=throw, spectra_per_frame=64
        )
        sink, debug, top = ByteSink(CHANNELS * 4), blocks.message_debug(), gr.top_block()
        top.connect(source, block, sink)
        top.msg_connect(block, "command", debug, "store")
        for frequency in (home, home + throw):
            source._command(dictionary({"freq": frequency}))
            top.run()
            self.assertEqual(block._kelvin._spectra._tuned[0], home)
        told = [from_pmt(debug.get_message(number)) for number in range(debug.num_messages())]
        self.assertEqual([values["freq"] for values in told], [home, home + throw] * 2)

    def test_by_hand(self):
        """Messages tell what the antenna looks at; an unknown one is refused."""
        block = aperture.spectrometer(CHANNELS, 0.5)
        for message, target in (
            (pmt.intern("hot"), "hot"),
            (pmt.cons(pmt.intern("look"), pmt.intern("cold")), "cold"),
            (pmt.dict_add(pmt.make_dict(), pmt.intern("look"), pmt.intern("sky")), "sky"),
            (pmt.intern("moon"), "sky"),
        ):
            block._kelvin._look(message)
            self.assertEqual(block._kelvin._spectra.target, target)

    def test_clipping(self):
        """Clipped samples are told, and only they."""
        rng = np.random.default_rng(3)
        noise = rng.standard_normal(8192)
        for rms, limit, clipped in ((20, 127, 0), (200, 127, 0.525), (60, 127, 0.034), (1, 127, 0)):
            values = np.clip(np.rint(rms * noise), -limit, limit)
            self.assertAlmostEqual(clipped_part(values), clipped, delta=0.02, msg=rms)
        self.assertEqual(clipped_part(np.zeros(100)), 0.0)
        found = Observation(2, source={"gain": 22.0, "center_frequency": 1420.4e6})
        self.assertIn("clipped", found.told("fault")[0]["reason"])
        self.assertEqual({values["fault"] for values in found.told("fault")}, {"clipping"})
        self.assertEqual(Observation(2, source={"center_frequency": 1420.4e6}).told("fault"), [])

    def test_input_of_commands(self):
        """The input hydrogen: is the block; it refuses by name what it does not know."""
        signals = open_input("hydrogen:l=30,b=0,rate=250e3,switching=load,receiver=80")
        self.assertEqual((signals.sample_rate, signals.inputs), (250e3, 1))
        top, sink = gr.top_block(), blocks.vector_sink_c()
        top.connect(signals.source(1000), sink)
        top.run()
        self.assertEqual(len(sink.data()), 1000)
        for text, words in (
            ("hydrogen:nowhere", "direction: 'nowhere' is not known"),
            ("hydrogen:zenith,target=moon", "target=moon: expected sky, hot or cold"),
            ("hydrogen:zenith,rate=1", "rate=1: that is 1 Hz"),
            ("hydrogen:zenith,dish=1000", "dish: 1000"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                open_input(text)

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(channels=7), "channels: 7 .*even"),
            (dict(integration=0), "integration: 0"),
            (dict(mode="beam"), "mode: 'beam'"),
            (dict(look="moon"), "look: 'moon'"),
            (dict(t_hot=5.0), "t_hot: 5.0 .*above t_cold"),
            (dict(mode="load", settling=1.0), "settling: 1.0 .*below half the period"),
            (dict(inputs=0), "inputs: 0"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.spectrometer(**values)
        for values, message in (
            (dict(direction="nowhere"), "direction: 'nowhere'"),
            (dict(throw=-2e9), "throw"),
            (dict(sample_rate=0), "sample_rate: 0"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.hydrogen_source(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_spectrometer)
