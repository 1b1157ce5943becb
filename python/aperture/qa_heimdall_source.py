#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Samples of a KrakenSDR, against a double of its servers."""

import struct
import threading
from fractions import Fraction

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.inputs.input_format import InputError
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.testing.heimdall_server import RATE, START, HeimdallServer, frame
from gnuradio.aperture.testing.qa_tools import comes_true

CHANNELS, LENGTH = 3, 1237


def noise(seed, length=LENGTH, channels=CHANNELS):
    values = np.random.default_rng(seed).normal(size=(2, channels, length))
    return (values[0] + 1j * values[1]).astype(np.complex64)


class qa_heimdall_source(gr_unittest.TestCase):
    def receive(self, frames, error="the server ended the connection", **parameters):
        """The samples of each channel, the tags of each port, and the block."""
        with HeimdallServer(frames) as server:
            source = aperture.heimdall_source(
                server.address, channels=CHANNELS, control_port=server.control_port, **parameters
            )
            flowgraph = gr.top_block()
            sinks = [blocks.vector_sink_c() for _ in range(CHANNELS)]
            for port, sink in enumerate(sinks):
                flowgraph.connect((source, port), sink)
            flowgraph.run()
        self.server = server
        if error:
            self.assertRegex(source.error() or "", error)
        else:
            self.assertIsNone(source.error())
        tags = [
            sorted((tag.offset, pmt.symbol_to_string(tag.key), tag.value) for tag in sink.tags())
            for sink in sinks
        ]
        return np.array([sink.data() for sink in sinks], np.complex64), tags, source

    def times(self, tags, since=None):
        """{item: samples} of the rx_time tags of a port, since a time, s, or since the first."""
        found = {
            offset: pmt.to_uint64(pmt.tuple_ref(value, 0))
            + Fraction(pmt.to_double(pmt.tuple_ref(value, 1)))
            for offset, key, value in tags
            if key == "rx_time"
        }
        since = found[0] if since is None else since
        return {offset: round((time - since) * RATE, 2) for offset, time in found.items()}

    def test_samples(self):
        """All channels of frames that follow each other, one request for each; tags on the first
        sample alone; a flowgraph that starts again begins anew."""
        frames = [noise(i) for i in range(4)]
        sent = [frame(samples, 7 + i) for i, samples in enumerate(frames)]
        for _ in range(2):
            got, tags, source = self.receive(sent)
            np.testing.assert_array_equal(got, np.concatenate(frames, axis=1))
            for port in range(CHANNELS):
                found = {key: value for offset, key, value in tags[port] if offset == 0}
                self.assertEqual(len(found), len(tags[port]))
                self.assertEqual(pmt.to_double(found["rx_rate"]), RATE)
                self.assertEqual(pmt.to_double(found["rx_freq"]), 1420.4e6)
                self.assertTrue(pmt.to_bool(found["rx_time_approximate"]))
            # two more frames, which are old
            self.assertEqual(self.server.requests, [b"streaming", *[b"IQDownload"] * 6])
            self.assertEqual(source.counts()["frames"], 4)
            self.assertEqual(source.counts()["lost"], 0)

    def test_flagged(self):
        """Frames that are not of the sky are missing time of their length; two and more in a row;
        the time of a dummy, which has no length, is that of the stamps, to a millisecond."""
        off = dict(length=LENGTH)
        for flags in ({"kind": 3}, {"noise": 1}, {"delay": 0}, {"iq": 0}, {"kind": 4}):
            sent = [
                frame(noise(0), 0),
                frame(noise(1), 1, **off, **flags),
                frame(noise(2), 2, **off, **flags),
                frame(noise(3), 3, overdrive=2),
            ]
            got, tags, source = self.receive(sent)
            np.testing.assert_array_equal(got, np.concatenate([noise(0), noise(3)], axis=1))
            for each in tags:
                times = self.times(each)
                self.assertEqual(list(times), [0, LENGTH])
                self.assertAlmostEqual(times[LENGTH], 3 * LENGTH, 1)
            counts = source.counts()
            self.assertEqual((counts["flagged"], counts["overdriven"]), (2 * LENGTH, 1))
        nothing = np.zeros((CHANNELS, 0), np.complex64)
        sent = [frame(noise(0), 0, START), frame(nothing, 1, START + 500, kind=1)]
        sent += [frame(noise(3), 2, START + 1000)]
        _, tags, source = self.receive(sent)
        self.assertAlmostEqual(self.times(tags[1])[LENGTH], RATE, 1)
        self.assertEqual(source.counts()["unknown"], 1)
        # phases are not corrected where that is switched off
        got, _, _ = self.receive([frame(noise(0), 0, iq=0)], calibrated=False)
        np.testing.assert_array_equal(got, noise(0))

    def test_time(self):
        """The first sample's time: the server stamps a frame when its last sample has come."""
        _, tags, _ = self.receive([frame(noise(i), i, START + i) for i in range(2)])
        for each in tags:
            found = self.times(each, Fraction(START, 1000))
            self.assertEqual(list(found), [0])
            self.assertAlmostEqual(found[0], -LENGTH, 1)

    def test_decimated(self):
        """Frames of calibration have the rate of the converters, 4 times that of the data, and are
        as long as a quarter of so many samples of data."""
        quick = dict(kind=3, noise=1, rate=4 * RATE)
        sent = [frame(noise(0), 0, START)]
        sent += [frame(noise(i), i, **quick) for i in (1, 2)]
        sent += [frame(noise(3), 3, START + 1)]
        got, tags, source = self.receive(sent)
        np.testing.assert_array_equal(got, np.concatenate([noise(0), noise(3)], axis=1))
        pending = 2 * round(LENGTH / 4)
        self.assertAlmostEqual(self.times(tags[0])[LENGTH], LENGTH + pending, 1)
        self.assertEqual(source.counts()["flagged"], pending)
        # a calibration comes first: it says nothing of the data
        with HeimdallServer([frame(noise(0), 0, **quick), frame(noise(1), 1)]) as server:
            signals = open_input(f"heimdall:{server.address}")
        self.assertEqual(signals.sample_rate, RATE)

    def test_leaving(self):
        """The flowgraph stops while the server is to send a frame, which is waited for: the real
        one ends where its client has left."""
        asked, stopping = threading.Event(), threading.Event()

        def before(number):
            if number == 1:
                asked.set()
                stopping.wait(30)

        with HeimdallServer([frame(noise(i), i) for i in range(3)], before=before) as server:
            source = aperture.heimdall_source(server.address, CHANNELS)
            flowgraph = gr.top_block()
            for port in range(CHANNELS):
                flowgraph.connect((source, port), blocks.null_sink(8))
            flowgraph.start()
            self.assertTrue(asked.wait(30))
            flowgraph.stop()
            comes_true(source._ending.is_set)
            stopping.set()
            flowgraph.wait()
            # four frames were asked for, and nothing more
            self.assertEqual((server.left, sum(map(bool, server.requests))), (0, 4))
            self.assertIsNone(source.error())

    def test_lost(self):
        """Frames that the server dropped are missing time; the count of a 32 bit number that
        wraps is none; where the stamps contradict it, these say how long it was."""
        sent = [frame(noise(0), 2**32 - 1, START), frame(noise(1), 0, START + 1)]
        sent += [frame(noise(2), 3, START + 2), frame(noise(3), 5, START + 5002)]
        got, tags, source = self.receive(sent)
        self.assertEqual(got.shape[1], 4 * LENGTH)
        for each in tags:
            times = self.times(each)
            self.assertEqual(list(times), [0, 2 * LENGTH, 3 * LENGTH])
            self.assertAlmostEqual(times[2 * LENGTH], 4 * LENGTH, 1)
            # the third frame began at 4 lengths, and this is 5 s after it
            self.assertAlmostEqual(times[3 * LENGTH], 4 * LENGTH + 5 * RATE, 1)
        counts = source.counts()
        self.assertEqual((counts["lost"], counts["unknown"]), (3, 1))

    def test_frequency(self):
        """A frequency is said where it changes; settings go to the controller."""
        sent = [frame(noise(0), 0), frame(noise(1), 1, frequency=1_600_000_000)]
        _, tags, _ = self.receive(sent, frequency=1.6e9, gain=20.0)
        found = [
            (offset, pmt.to_double(value)) for offset, key, value in tags[2] if key == "rx_freq"
        ]
        self.assertEqual(found, [(0, 1420.4e6), (LENGTH, 1.6e9)])
        self.assertIn(LENGTH, self.times(tags[2]))
        (tune, hertz), (gain, decibels) = self.server.commands
        self.assertEqual((tune, struct.unpack_from("<Q", hertz)[0]), (b"FREQ", 1_600_000_000))
        self.assertEqual((gain, struct.unpack_from("<3I", decibels)), (b"GAIN", (197,) * 3))

    def test_command(self):
        """A message tunes; one that cannot be meant is refused, and changes nothing."""
        with HeimdallServer([]) as server:
            source = aperture.heimdall_source(server.address, control_port=server.control_port)
            source.set_log_level("off")
            source._client = object()  # stands for that of a flowgraph that runs
            post = lambda message: source._command(pmt.to_pmt(message))
            post({"freq": 1e9})
            post({"speed": 1})
            post(7)
            post({"gain": 1e9})
        self.assertEqual([text for text, _ in server.commands], [b"FREQ"])

    def test_length(self):
        """The stream ends after the number of samples, in the middle of a frame."""
        got, _, _ = self.receive([frame(noise(i), i) for i in range(3)], None, samples=1500)
        np.testing.assert_array_equal(got, np.concatenate([noise(0), noise(1)], axis=1)[:, :1500])

    def test_hostile(self):
        """A server that sends something else ends the stream with what is wrong; samples from
        before come out."""
        good = frame(noise(0), 0)
        for other, problem in (
            (b"HTTP/1.1 400 Bad Request".ljust(1024), "header's sync_word: .* is not allowed"),
            (frame(noise(1), 1, version=8), "header's version: 8 is not allowed; it must be 7"),
            (frame(noise(1), 1, channels=0), "header's channels: 0"),
            (frame(noise(1), 1, length=2**31), "header's samples: 2147483648"),
            (frame(noise(1), 1, bits=8), "header's bits: 8"),
            (frame(noise(1), 1, rate=0), "header's rate: 0"),
            (frame(noise(1), 1)[:5000], "after 3976 of 29688 bytes of the samples of frame 1"),
            (frame(noise(1), 1)[:100], "after 100 of 1024 bytes of a header"),
            (frame(noise(1), 1, rate=1_000_000), "rate has changed from 2400000 to 1000000"),
            (frame(noise(1, channels=2), 1), "channels: 3 is not what .* has: 2"),
        ):
            with self.subTest(problem=problem):
                # a server that has sent part of a frame ends
                got, _, _ = self.receive([good, other], problem)
                np.testing.assert_array_equal(got, noise(0))

    def test_silence(self):
        """A server that serves another one says nothing."""
        with HeimdallServer([frame(noise(0), 0)], keep_open=True) as server:
            source = aperture.heimdall_source(server.address, CHANNELS, silence=0.2)
            source.set_log_level("off")
            flowgraph = gr.top_block()
            for port in range(CHANNELS):
                flowgraph.connect((source, port), blocks.null_sink(8))
            flowgraph.run()
        self.assertRegex(source.error(), "nothing came for 0.2 s .*it serves one")

    def test_nobody(self):
        """Nothing listens: the error names the address, and the setting of the firmware."""
        with HeimdallServer([]) as server:
            pass
        source = aperture.heimdall_source(server.address, 1)
        source.set_log_level("off")
        flowgraph = gr.top_block()
        flowgraph.connect(source, blocks.null_sink(8))
        flowgraph.run()
        self.assertRegex(source.error(), rf"{server.address}: Connection refused: is heimdall")

    def test_refused(self):
        for values, rule in (
            (dict(address="a b"), "address: 'a b' is not allowed; it must be HOST:PORT"),
            (dict(address="host:0"), "address: 'host:0'"),
            (dict(address=5), "address: 5 is"),
            (dict(channels=0), "channels: 0"),
            (dict(gain="much"), "gain: '?much"),
            (dict(silence=0), "silence: 0"),
        ):
            with self.assertRaisesRegex(ValueError, rule):
                aperture.heimdall_source(**values)

    def test_input(self):
        """`heimdall:` as an input of commands: channels, rate and frequency are the server's."""
        with HeimdallServer([frame(noise(i), i) for i in range(3)]) as server:
            text = f"heimdall:{server.address},control={server.control_port}"
            signals = open_input(text)
            self.assertEqual(
                (signals.inputs, signals.ports, signals.sample_rate, signals.center_frequency),
                (CHANNELS, CHANNELS, RATE, 1420.4e6),
            )
            self.assertTrue(signals.endless)
            source = signals.source(2000)
            flowgraph = gr.top_block()
            sink = blocks.vector_sink_c()
            flowgraph.connect((source, 1), sink)
            for port in (0, 2):
                flowgraph.connect((source, port), blocks.null_sink(8))
            flowgraph.run()
            self.assertIsNone(source.error())
            np.testing.assert_array_equal(
                np.array(sink.data(), np.complex64),
                np.concatenate([noise(0), noise(1)], axis=1)[1, :2000],
            )
            for wrong, rule in (
                (f"heimdall:{server.address},b:1", "one KrakenSDR is an input"),
                ("heimdall:a b", "HOST:PORT"),
                ("heimdall:a,freq=1.42", "MHz may be meant"),
            ):
                with self.assertRaisesRegex(InputError, rule):
                    open_input(wrong)


if __name__ == "__main__":
    gr_unittest.run(qa_heimdall_source)
