#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`rtl_tcp:` against doubles of rtl_tcp, written from its protocol."""

import re

import numpy as np
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture.inputs.input_format import InputError
from gnuradio.aperture.inputs.registry import open_input, options_text
from gnuradio.aperture.testing import rtl_tcp_server as double
from gnuradio.aperture.testing.qa_tools import comes_true
from gnuradio.aperture.testing.rtl_tcp_server import Desk, RtlTcpServer

RATE = Desk.RATE


class qa_rtl_tcp(gr_unittest.TestCase):
    def test_noise_source(self):
        """Two servers are lined up by a noise source that a bias tee feeds: at the start, after a
        tuning, and when told; what passes has nothing of it, and it is off at the end."""
        desk = Desk(phase=0.7)
        with desk.servers[0] as first, desk.servers[1] as second:
            signals = open_input(
                f"rtl_tcp:{first.address};{second.address},rate={RATE},freq=100e6,gain=29.7,"
                "search=0.1,most_offset=0.4,noise=biastee@2"
            )
            self.assertEqual((signals.inputs, signals.sample_rate), (2, RATE))
            source = signals.source(0)
            top, sinks = gr.top_block(), [blocks.vector_sink_c(), blocks.vector_sink_c()]
            for port, sink in enumerate(sinks):
                top.connect((source, port), sink)
            top.start()
            phases = []
            for count, step in enumerate(("start", "tune", "measure"), 1):
                if step == "tune":
                    source.tune(101e6)
                elif step == "measure":
                    source.measure()
                self.assertTrue(
                    comes_true(
                        lambda n=count: (
                            source.align.measurements() >= n and not source.align.noise_on()
                        )
                    )
                )
                passed = source.nitems_written(0) + 30000
                self.assertTrue(comes_true(lambda n=passed: source.nitems_written(0) > n))
                phases.append(source.states()[1].phase)
            source.finish()
            top.wait()
            top.stop()
            self.assertEqual(source.error(), "")
            self.assertEqual(second.told(double.BIAS_TEE)[:7], [0] + [1, 0] * 3)
            self.assertEqual(first.told(double.BIAS_TEE), [0])
            self.assertEqual(set(second.told(double.FREQUENCY)), {100_000_000, 101_000_000})
        for phase, tunings in zip(phases, (1, 2, 2)):
            self.assertAlmostEqual(np.angle(np.exp(1j * (phase + 0.7 * tunings))), 0, delta=0.02)
        said = [str(tag.value) for tag in sinks[1].tags() if str(tag.key) == "rx_freq"]
        self.assertEqual(said, ["1e+08", "1.01e+08"])
        # all that passed has the coherence of the sky, 0.01, in every window
        data = [np.array(sink.data()) for sink in sinks]
        there = (data[0] != 0) & (data[1] != 0)
        x, y = (entry[there][: there.sum() // 4096 * 4096].reshape(-1, 4096) for entry in data)
        self.assertGreater(len(x), 10)
        coherence = np.abs(np.sum(x * y.conj(), axis=1)) / np.sqrt(
            np.sum(np.abs(x) ** 2, axis=1) * np.sum(np.abs(y) ** 2, axis=1)
        )
        # exponentially distributed squares of mean 1/4096: none of some hundreds is above this
        self.assertLess(coherence.max(), 0.01 + 4 / np.sqrt(4096))

    def test_refused(self):
        def slowly(*_):
            return bytes(1000)

        with RtlTcpServer(slowly, pace=1e5) as server, RtlTcpServer(slowly, pace=1e5) as other:
            name, rest = f"rtl_tcp:{server.address}", ",rate=2.4e6,freq=1e9"
            for text, problem in (
                (name + rest + ",channels=2", "channels=2: expected bias or ppm .* one of rate, "),
                ("rtl_tcp:127.0.0.1,freq=1e9", "rate is missing"),
                (name + ",speed=1" + rest, "speed=1: expected bias or ppm behind an address"),
                (name + ",bias=2" + rest, "bias=2: expected a whole number from 0 to 1"),
                (name + ",rate=5e5,freq=1e9", "rate=500000: .* allows 225.001 kHz to 300 kHz, "),
                (name + ",rate=1e6,freq=5e9", "freq=5000000000: .* allows 1 Hz to 4294.967295 MHz"),
                (name + rest + ",gain=60", "gain=60: .* allows 0 dB to 49.6 dB"),
                (name + rest + ",antenna=TX", "antenna=TX: expected bias or ppm"),
                (name + rest + ",clock=external", "clock=external: expected bias or ppm"),
                (name + rest + ",time=gpsdo", "time=gpsdo: expected bias or ppm"),
                (
                    f"{name};{other.address}{rest},noise=amplifier",
                    "has the settings biastee, and no amplifier",
                ),
                (f"{name};{other.address}{rest},noise=gpio:gpio:8", "has the pins 0 to 7"),
                (f"{name};{other.address}{rest},noise=gpio:A:1", "has the banks gpio, and no A"),
                (name + rest + ",noise=biastee", "one input has nothing to be measured with"),
            ):
                with self.assertRaisesRegex(InputError, problem):
                    open_input(text)
        # nobody listens there any more
        with self.assertRaisesRegex(
            InputError, f"{server.address}: Connection refused: is rtl_tcp"
        ):
            open_input(name + rest)

    def test_help(self):
        """The options that are listed are those that a server has, its own apart."""
        common, own = options_text("rtl_tcp").split("behind one name, for it alone:\n")
        listed = [re.findall(r"^  (\w+)=", text, re.M) for text in (common, own)]
        self.assertEqual(listed[1], ["bias", "ppm"])
        self.assertLess({"rate", "freq", "gain", "bandwidth", "noise", "search"}, set(listed[0]))
        self.assertFalse({"antenna", "channels", "clock", "time", "follow_clock"} & set(listed[0]))
        self.assertNotIn("for it alone", options_text("soapy"))

    def test_settings(self):
        """The bias tee and the crystal's error of one server; a gain that the tuner lacks is
        said."""
        # a server that ends is connected to again, and told all again
        with RtlTcpServer(lambda *_: bytes(50000)) as server:
            signals = open_input(
                f"rtl_tcp:{server.address},bias=1,ppm=-12,rate={RATE},freq=100e6,gain=30"
            )
            self.assertIn("gain=29.7, the nearest to 30 dB", " ".join(signals.warnings))
            source, sink = signals.source(2000), blocks.vector_sink_c()
            top = gr.top_block()
            top.connect(source, sink)
            top.run()
            self.assertEqual(len(sink.data()), 2000)
        self.assertEqual(server.told(double.BIAS_TEE), [1])
        self.assertEqual(server.told(double.CORRECTION), [2**32 - 12])


if __name__ == "__main__":
    gr_unittest.run(qa_rtl_tcp)
