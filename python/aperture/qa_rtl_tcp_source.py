#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Samples of rtl_tcp, against a double of it."""

import struct
import threading
from fractions import Fraction
from unittest import mock

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.network import rtl_tcp
from gnuradio.aperture.streams.tag_values import dictionary
from gnuradio.aperture.testing import rtl_tcp_server as double
from gnuradio.aperture.testing.qa_tools import PATIENCE, comes_true, until_taken
from gnuradio.aperture.testing.rtl_tcp_server import RtlTcpServer

RATE = 250_000.0
#: bytes that repeat after a length that is no multiple of anything
STREAM = np.random.default_rng(1).integers(0, 256, 2 * 99991, dtype=np.uint8)


def bytes_of(first, count):
    """Bytes of the repeated stream."""
    return np.take(STREAM, np.arange(first, first + count), mode="wrap")


def endless(size):
    """A function for RtlTcpServer: the stream in parts of some bytes."""
    return lambda _, sent: bytes_of(sent, size).tobytes()


def place(values):
    """Returns at which byte of the stream a row of bytes begins."""
    rows = np.lib.stride_tricks.sliding_window_view(np.concatenate([STREAM, STREAM[:31]]), 32)
    (found,) = np.flatnonzero((rows == values[:32]).all(axis=1))
    return int(found)


def source_of(server, **parameters):
    block = aperture.rtl_tcp_source(server.address, **{"rate": RATE, **parameters})
    block.set_log_level("off")
    return block


def bytes_back(samples):
    """The bytes that samples were."""
    return np.round(samples.view(np.float32) * 128 + 127.5).astype(np.uint8)


def time_of(value):
    return pmt.to_uint64(pmt.tuple_ref(value, 0)) + Fraction(pmt.to_double(pmt.tuple_ref(value, 1)))


class qa_rtl_tcp_source(gr_unittest.TestCase):
    def receive(self, source):
        """The samples, and the tags: [(item, {key: value})]."""
        flowgraph, sink = gr.top_block(), blocks.vector_sink_c()
        flowgraph.connect(source, sink)
        flowgraph.run()
        tags = {}
        for tag in sink.tags():
            tags.setdefault(tag.offset, {})[pmt.symbol_to_string(tag.key)] = tag.value
        return np.array(sink.data(), np.complex64), sorted(tags.items())

    def test_samples(self):
        """Bytes in their order however packets cut them; what may be from before the settings is
        left out; tags on the first sample; settings; a flowgraph that starts again."""
        count = 30011
        with RtlTcpServer(endless(7777)) as server:
            source = source_of(server, frequency=1420.4e6, gain=29.0, samples=count, correction=-3)
            for number in range(2):
                got, tags = self.receive(source)
                self.assertIsNone(source.error())
                self.assertEqual(len(got), count)
                values = bytes_back(got)
                begin = place(values)
                self.assertEqual(begin % 2, 0)
                np.testing.assert_array_equal(values, bytes_of(begin, 2 * count))
                self.assertEqual(got.view(np.float32).min(), -127.5 / 128)
                self.assertEqual([item for item, _ in tags], [0])
                self.assertEqual(pmt.to_double(tags[0][1]["rx_rate"]), RATE)
                self.assertEqual(pmt.to_double(tags[0][1]["rx_freq"]), 1420.4e6)
                self.assertTrue(pmt.to_bool(tags[0][1]["rx_time_approximate"]))
                told = [(c, v) for n, c, v in server.commands if n == number]
                self.assertEqual(dict(told)[double.FREQUENCY], 1_420_400_000)
                self.assertEqual(dict(told)[double.RATE], RATE)
                self.assertEqual((dict(told)[double.GAIN_MODE], dict(told)[double.AGC]), (1, 0))
                self.assertEqual(dict(told)[double.GAIN], 297)
                self.assertEqual(dict(told)[rtl_tcp.CORRECTION], 2**32 - 3)
            self.assertEqual(server.connections, 2)

    def test_settled(self):
        """The samples that are left out at the start are exactly those of settling()."""
        with RtlTcpServer(endless(1 << 15)) as server:
            dongle = rtl_tcp.Dongle("127.0.0.1", server.port, 10)
            dongle.set(rtl_tcp.RATE, 250_000)
            dongle.set(rtl_tcp.GAIN, 0)
            dongle.begin()
            piece = dongle.take(10)
            dongle.close()
        self.assertEqual(piece.before, 131072 + 25000)
        np.testing.assert_array_equal(
            piece.values, bytes_of(2 * piece.before, len(piece.values)) if piece else None
        )

    def test_slow_reader(self):
        """Samples for which the flowgraph is too slow are dropped here, and counted."""
        with RtlTcpServer(endless(9999)) as server:
            dongle = rtl_tcp.Dongle("127.0.0.1", server.port, 10)
            dongle.set(rtl_tcp.RATE, 250_000)
            dongle.set(rtl_tcp.GAIN, 0)
            dongle.begin()
            at = 0
            for pause in (True, False, True):
                if pause:
                    dropped = dongle.dropped
                    self.assertTrue(comes_true(lambda: dongle.dropped > dropped + 50000))
                for _ in range(40):
                    piece = dongle.take(10)
                    at += 2 * piece.before
                    np.testing.assert_array_equal(piece.values, bytes_of(at, len(piece.values)))
                    at += len(piece.values)
                    self.assertFalse(piece.unknown)
            dongle.close()

    def test_dropped(self):
        """A gap of known length is said by rx_time, and by nothing else."""
        pieces = [
            rtl_tcp.Piece(bytes_of(0, 200), 77, False, 100_000_000, 1e9 + 0.25),
            rtl_tcp.Piece(bytes_of(200, 100), 0, False, 100_000_000, 1e9 + 0.3),
            rtl_tcp.Piece(bytes_of(0, 60), 12345, False, 100_000_000, 1e9 + 7),
            rtl_tcp.Piece(bytes_of(0, 60), 5, True, 100_000_000, 1e9 + 9),
            rtl_tcp.Piece(bytes_of(0, 60), 5, False, 100_000_000, 1e9 + 10),
        ]
        with RtlTcpServer(endless(100)) as server:
            source = source_of(server, samples=240)
            with mock.patch.object(source._dongle, "take", lambda _: pieces.pop(0)):
                got, tags = self.receive(source)
        self.assertEqual(len(got), 240)
        self.assertEqual([item for item, _ in tags], [0, 150, 180, 210])
        self.assertEqual(float(time_of(tags[0][1]["rx_time"])), 1e9 + 0.25)
        self.assertEqual(set(tags[1][1]), {"rx_time", "rx_time_approximate", "rx_time_clock"})
        self.assertAlmostEqual(
            float(time_of(tags[1][1]["rx_time"]) - 10**9), 0.25 + (150 + 12345) / RATE, 9
        )
        # gaps of unknown length, after which no time is known
        for _, found in tags[2:]:
            self.assertEqual(set(found), {"rx_rate", "rx_freq"})

    def test_tuned(self):
        """Samples from before a tuning do not come under the new frequency."""

        # while a command is on its way the server sends nothing, and all is taken that it has sent:
        # a loaded machine may take longer for it than the tenth of a second that is left out
        sends = threading.Event()
        sends.set()
        left_out = rtl_tcp.settling(round(RATE))

        def waiting(sent):
            """The bytes of so many that wait for the flowgraph; all but a second's are dropped."""
            tunings = len(server.told(double.FREQUENCY))
            return sent - 2 * (source.nitems_written(0) + tunings * left_out)

        def samples(_, sent):
            samples.sent = sent
            sends.wait(PATIENCE)
            comes_true(lambda: waiting(sent) < RATE)
            # a transfer holds what came before a command
            tuned = server.told(double.FREQUENCY)
            if len(tuned) != len(samples.seen):
                samples.seen.append(sent + rtl_tcp.TRANSFER_BYTES)
            new = len(samples.seen) > 1 and sent >= samples.seen[-1]
            return bytes([200 if new else 50]) * 4096

        samples.seen, samples.sent = [], 0
        with RtlTcpServer(samples, pace=2e6) as server:
            source = source_of(server, frequency=100e6)
            flowgraph, sink = gr.top_block(), blocks.vector_sink_c()
            flowgraph.connect(source, sink)
            flowgraph.start()
            self.assertTrue(comes_true(lambda: source.nitems_written(0) > 10000))
            sends.clear()
            self.assertTrue(comes_true(lambda: waiting(samples.sent) == 0), waiting(samples.sent))
            until_taken(source, "command", pmt.to_pmt({"freq": 101e6}))
            self.assertTrue(comes_true(lambda: 101_000_000 in server.told(double.FREQUENCY)))
            sends.set()
            before = source.nitems_written(0)
            self.assertTrue(comes_true(lambda: source.nitems_written(0) > before + 300000))
            source.finish()
            flowgraph.wait()
        (at,) = [t.offset for t in sink.tags() if str(t.key) == "rx_freq" and t.offset]
        values = bytes_back(np.array(sink.data(), np.complex64))
        self.assertTrue((values[: 2 * at] == 50).all())
        self.assertTrue((values[2 * at :] == 200).all())
        first, second = (time_of(t.value) for t in sink.tags() if str(t.key) == "rx_time")
        self.assertAlmostEqual(float((second - first) * round(RATE)), at + 156072, 1)

    def test_lost_connection(self):
        """A connection that ends is made anew, with all settings; what was lost is a gap of
        unknown length; half a sample before it is no sample."""

        def samples(number, sent):
            size = 1 << 15
            return None if number == 0 and sent > 400000 else bytes_of(sent, size - 1).tobytes()

        with RtlTcpServer(samples) as server:
            source = source_of(server, gain=20.0, samples=160000)
            source.switch_bias_tee(True)
            got, tags = self.receive(source)
        self.assertIsNone(source.error())
        self.assertEqual(len(got), 160000)
        self.assertEqual(source.counts()["lost_connections"], 1)
        (_, first), (at, again) = tags
        self.assertEqual(set(again), {"rx_rate", "rx_freq"})
        self.assertIn("rx_time", first)
        for values in (bytes_back(got[:at]), bytes_back(got[at:])):
            begin = place(values)
            self.assertEqual(begin % 2, 0)
            np.testing.assert_array_equal(values, bytes_of(begin, len(values)))
        settings = [
            {command: value for n, command, value in server.commands if n == number}
            for number in range(2)
        ]
        settings[1].pop(double.BIAS_TEE)
        self.assertEqual(settings[0].pop(double.BIAS_TEE), 1)
        self.assertEqual(*settings)
        self.assertEqual(server.told(double.BIAS_TEE), [1, 1, 0])

    def test_gone(self):
        """A server that does not come back ends the stream, after what came."""
        with RtlTcpServer(lambda _, sent: None if sent > 500000 else bytes(10000)) as server:
            source = source_of(server, silence=0.2)
            flowgraph, sink = gr.top_block(), blocks.vector_sink_c()
            flowgraph.connect(source, sink)
            flowgraph.start()
            self.assertTrue(comes_true(lambda: sink.nitems_read(0) > 0))
        flowgraph.wait()
        self.assertRegex(source.error(), "Connection refused: is rtl_tcp running|ended the conn")
        self.assertGreater(len(sink.data()), 50000)
        with RtlTcpServer(lambda *_: ...) as server:
            source = source_of(server, silence=0.2)
            self.receive(source)
        self.assertRegex(source.error(), "nothing came for 0.2 s .*it serves one")

    def test_no_rtl_tcp(self):
        """Something else that listens there, and nothing."""
        for header, problem in (
            (b"HTTP/1.1 400 Bad Request", "b'HTTP' is not b'RTL0': this is no rtl_tcp"),
            (b"RTL0\0\0", "the server ended the connection after 6 of 12 bytes of a header"),
        ):
            with RtlTcpServer(lambda *_: None, header) as server:
                source = source_of(server)
                self.receive(source)
            self.assertRegex(source.error(), f"{server.address}: {problem}")
        source = source_of(server)
        self.receive(source)
        self.assertRegex(source.error(), "Connection refused: is rtl_tcp running there")

    def test_gains(self):
        """Gains are of the tuner's list, where the number of them is that of the list."""
        for kind, count, asked, told in (
            (1, 14, 30.0, 290),
            (1, 14, -5.0, 2**32 - 10),
            (2, 5, None, 71),
            (3, 23, 19.0, 191),
            (5, 29, 49.6, 496),
            (6, 29, None, 372),
            (5, 16, 20.7, 207),  # another library's list
            (99, 3, 12.3, 123),
        ):
            with RtlTcpServer(endless(100), b"RTL0" + struct.pack(">II", kind, count)) as server:
                source = source_of(server, gain=asked)
                source.open()
                source.close()
                self.assertTrue(comes_true(lambda s=server: s.told(double.GAIN)))
            self.assertEqual(server.told(double.GAIN), [told], (kind, asked))
            self.assertEqual(source.gain(), (told if told < 2**31 else told - 2**32) / 10)

    def test_switched(self):
        """noise_switch sends to the port `command`; at the end switches are as they were."""
        on, off = (dictionary({"noise": value}) for value in (pmt.PMT_T, pmt.PMT_F))
        for options, number, levels in (
            (dict(by="setting", name="biastee"), double.BIAS_TEE, [1, 0]),
            (dict(by="gpio", name="gpio", pin=5), double.WRITE_PIN, [5 << 16 | 1, 5 << 16]),
        ):
            with RtlTcpServer(lambda *_: ...) as server:
                source, switch = source_of(server), aperture.noise_switch(**options)
                flowgraph = gr.top_block()
                flowgraph.connect(source, blocks.null_sink(8))
                flowgraph.msg_connect(switch, "command", source, "command")
                flowgraph.start()
                for message, level in zip((on, off, on), levels + levels):
                    until_taken(switch, "noise", message)
                    self.assertTrue(comes_true(lambda v=level: server.told(number)[-1:] == [v]))
                source.finish()
                flowgraph.stop()
                flowgraph.wait()
                self.assertTrue(comes_true(lambda: server.told(number)[-1:] == [levels[1]]))

    def test_commands(self):
        """Messages that cannot be meant are refused, and change nothing."""
        with RtlTcpServer(lambda *_: ...) as server:
            source = source_of(server, bias_tee=True)
            source.open()
            for message in (
                {"gain": 49.6},
                {"freq": 1e10},
                {"freq": 1e8 + 1j},
                {"speed": 1},
                7,
                {"setting": {"key": "biastee", "value": "maybe"}},
                {"setting": {"key": "other", "value": "true"}},
                {"gpio": {"value": 1, "mask": 256}},
                {"gpio": {"value": 1.5, "mask": 1}},
                {"gpio_dir": {"bank": "gpio", "dir": 1, "mask": 1}},
                {"gpio": {"bank": "gpio", "value": 2, "mask": 3}},
            ):
                source._command(pmt.to_pmt(message))
            source.close()
            self.assertTrue(comes_true(lambda: len(server.told(double.WRITE_PIN)) == 3))
        self.assertEqual(server.told(double.GAIN), [372, 496])
        self.assertEqual(server.told(double.FREQUENCY), [100_000_000])
        # the bias tee stays as the parameter says, pins are low
        self.assertEqual(server.told(double.BIAS_TEE), [1])
        self.assertEqual(server.told(double.WRITE_PIN), [0, 1 << 16 | 1, 1 << 16])

    def test_too_late(self):
        """A network that is too slow is told from a crystal that is."""
        self.assertEqual(rtl_tcp.too_late(1e5, 1e5 * RATE * (1 - 1e-4), RATE), 0)
        self.assertEqual(rtl_tcp.too_late(10, 9.1 * RATE, RATE), 0)
        self.assertAlmostEqual(rtl_tcp.too_late(100, 95 * RATE, RATE), 5)

    def test_refused(self):
        for values, rule in (
            (dict(address="a b"), "address: 'a b' is not allowed; it must be HOST:PORT"),
            (dict(address="host:0"), "address: 'host:0'"),
            (dict(rate=500e3), "rate: 500000.0 .* from 225001 to 300000 or from 900001 to 3200000"),
            (dict(frequency=5e9), "frequency: 5e\\+?0?9|frequency: 5000000000"),
            (dict(gain="much"), "gain: '?much"),
            (dict(silence=0), "silence: 0"),
        ):
            with self.assertRaisesRegex(ValueError, rule):
                aperture.rtl_tcp_source(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_rtl_tcp_source)
