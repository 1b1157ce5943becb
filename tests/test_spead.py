# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
spead_source and spead_sink against spead2's own sender and receiver, with heaps made and read as
katgpucbf's documentation has them, and against packets of a stranger.
"""

import unittest

from places import PATIENCE, enter_environment, main

enter_environment("network")

import itertools
import math
import pathlib
import resource
import socket
import struct
import threading
import time
import types
from collections import namedtuple

import numpy as np
import pmt
import spead2
import spead2.recv
import spead2.send
from gnuradio import aperture, blocks, gr

from gnuradio.aperture.formats.spead.chunk_receiver import read_by_ibverbs
from gnuradio.aperture.formats.spead.chunk_times import ChunkTimes
from gnuradio.aperture.formats.spead.descriptors import read_descriptors
from gnuradio.aperture.network.addresses import parse_addresses
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.packets import free_port
from gnuradio.aperture.testing.qa_tools import comes_true, gr_tag, gr_tags

FLAVOUR = spead2.Flavour(4, 64, 48, 0)
SYNC = 1700000000
RATE = 1e6


def wait_for_listener(port):
    """Waits until somebody listens to a port."""
    end = time.monotonic() + PATIENCE
    while f":{port:04X} " not in pathlib.Path("/proc/net/udp").read_text():
        if time.monotonic() > end:
            raise TimeoutError(f"nobody listens to port {port}")
        time.sleep(0.01)


def immediate(number, value):
    return spead2.Item(number, "", "", (), format=[("u", 48)], value=value)


def heap(items, payload=None, payload_id=None):
    """A heap of {item: value} and a payload."""
    made = spead2.send.Heap(FLAVOUR)
    for number, value in items.items():
        made.add_item(immediate(number, value))
    if payload is not None:
        made.add_item(
            spead2.Item(payload_id, "", "", shape=payload.shape, dtype=payload.dtype, value=payload)
        )
    made.repeat_pointers = True
    return made


def stop_heap(items=()):
    made = heap(dict(items))
    made.add_end()
    return made


class Sender:
    """spead2's own."""

    def __init__(self, *ports, packet=1472):
        self.stream = spead2.send.UdpStream(
            spead2.ThreadPool(1),
            [("127.0.0.1", port) for port in ports],
            spead2.send.StreamConfig(max_packet_size=packet, rate=4e7),
            buffer_size=1 << 20,
        )

    def send(self, made, substream=0):
        self.stream.send_heap(made, substream_index=substream)


class Receiving(gr.top_block):
    """A spead_source and what comes out of it."""

    def __init__(self, **parameters):
        super().__init__()
        self.port = free_port()
        parameters.setdefault("address", f"127.0.0.1:{self.port}")
        # longer than a sender here may be late with the end of its stream
        parameters.setdefault("silence", PATIENCE)
        self.source = aperture.spead_source(sync_time=SYNC, sample_rate=RATE, **parameters)
        self.sinks = []
        self.statuses = blocks.message_debug()
        self.msg_connect(self.source, "status", self.statuses, "store")
        for port in range(self.source.output_signature().max_streams()):
            size = self.source.output_signature().sizeof_stream_item(port)
            self.sinks.append(
                blocks.vector_sink_c(size // 8)
                if parameters.get("kind") == "visibilities"
                else blocks.vector_sink_b(size)
            )
            self.connect((self.source, port), self.sinks[-1])

    def __enter__(self):
        self.start()
        end = time.monotonic() + PATIENCE
        while not self.source.counts().get("buffer"):
            if time.monotonic() > end:
                raise TimeoutError(f"it does not listen: {self.source.error()}")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.stop()
        self.wait()

    def end(self, test):
        """Waits for the end of the stream."""
        waiter = threading.Thread(target=self.wait, daemon=True)
        waiter.start()
        waiter.join(PATIENCE)
        test.assertFalse(waiter.is_alive(), f"it does not end: {self.source.counts()}")
        test.assertIsNone(self.source.error())

    def bytes(self, port=0):
        return np.array(self.sinks[port].data(), np.uint8)

    def tags(self, port=0):
        """[(item, key, value)] in Python's types."""
        return sorted(
            (
                (
                    tag.offset,
                    pmt.symbol_to_string(tag.key),
                    list(pmt.u64vector_elements(tag.value))
                    if pmt.is_u64vector(tag.value)
                    else pmt.to_python(tag.value),
                )
                for tag in self.sinks[port].tags()
            ),
            key=lambda tag: tag[:2],
        )


def time_tag(samples):
    """The tag of a first item that begins so many samples after the epoch."""
    return gr_tag(0, "rx_time", (SYNC, samples / RATE))


class Sending(gr.top_block):
    """A spead_sink, and the items of int8 or complex64 [item][...] that it sends."""

    def __init__(self, values, tags, **parameters):
        super().__init__()
        self.sink = spead_sink(**parameters)
        make, values = blocks.vector_source_c, values.reshape(len(values), -1)
        if not np.iscomplexobj(values):
            make, values = blocks.vector_source_b, values.view(np.uint8)
        self.connect(make(values.ravel().tolist(), False, values.shape[1], tags), self.sink)

    def send(self, test):
        self.run()
        test.assertIsNone(self.sink.error())


def spead_sink(**parameters):
    """A spead_sink of this epoch and rate that waits for nothing."""
    return aperture.spead_sink(sync_time=SYNC, sample_rate=RATE, rate_factor=0, **parameters)


def ordinary_receiver(port, heaps=256):
    """The heaps of a stream that spead2 receives at a port."""
    stream = spead2.recv.Stream(
        spead2.ThreadPool(),
        spead2.recv.StreamConfig(max_heaps=64),
        spead2.recv.RingStreamConfig(heaps=heaps),
    )
    stream.add_udp_reader(port, bind_hostname="127.0.0.1")
    return stream


def pack(samples, bits):
    """Big-endian, first sample in the highest bits."""
    unsigned = np.asarray(samples) & ((1 << bits) - 1)
    shifts = np.arange(bits - 1, -1, -1)
    return np.packbits((unsigned[:, np.newaxis] >> shifts & 1).astype(np.uint8).ravel())


def missing_of(tags):
    return [
        (item, value["input"], value["first"], value["count"])
        for item, key, value in tags
        if key == "missing"
    ]


class TestSamples(unittest.TestCase):
    def test_digitisers(self):
        """10-bit samples of two inputs by spead2's sender: out of order, lost, of strangers."""
        rng = np.random.default_rng(37)
        heaps, samples = 24, 64
        values = rng.integers(-512, 512, (2, heaps, samples))
        ids = [0x1234 * 2, 0x1234 * 2 + 1]
        lost = {(0, 5), (1, 5), (1, 6), (0, 17)}
        with Receiving(
            kind="samples",
            inputs=2,
            senders=ids,
            samples_per_heap=samples,
            heaps_per_chunk=4,
            center_frequency=1.2e9,
            window=3,
        ) as chain:
            sender = Sender(chain.port)
            order = [(i, k) for k in range(heaps) for i in range(2)]
            for a in range(0, len(order) - 8, 16):  # neighbours are swapped
                order[a], order[a + 7] = order[a + 7], order[a]
            first = 8 * samples
            for i, k in order:
                if (i, k) not in lost:
                    sender.send(
                        heap(
                            {0x1600: first + k * samples, 0x3101: ids[i], 0x3102: 0},
                            pack(values[i, k], 10),
                            0x3300,
                        )
                    )
            for number, length in ((77, samples), (ids[0], 32)):
                sender.send(
                    heap(
                        {0x1600: first, 0x3101: number, 0x3102: 0},
                        pack(values[0, 0, :length], 10),
                        0x3300,
                    )
                )
            for each in ids:
                sender.send(stop_heap({0x3101: each}))
            chain.end(self)
            counts = chain.source.counts()
        for i in range(2):
            expected = np.array(
                [
                    pack(values[i, k], 10)
                    if (i, k) not in lost
                    else np.zeros(samples * 5 // 4, np.uint8)
                    for k in range(heaps)
                ]
            )
            np.testing.assert_array_equal(chain.bytes(i), expected.ravel())
            tags = chain.tags(i)
            self.assertEqual(
                [value for item, key, value in tags if key == "rx_time"], [(SYNC, first / RATE)]
            )
            self.assertIn((0, "rx_rate", RATE / 4), tags)
            self.assertIn((0, "rx_freq", 1.2e9), tags)
            spans = sorted((item, value["count"]) for item, key, value in tags if key == "missing")
            self.assertEqual(spans, [[(80, 16), (272, 16)], [(80, 32)]][i])
        self.assertEqual(
            (counts["missing"], counts["wrong_sender"], counts["wrong_size"], counts["stops"]),
            (4, 1, 1, 2),
        )

    def test_to_f_engine(self):
        """Lost heaps are missing spectra, and nothing slips."""
        samples, heaps = 64, 32
        with Receiving(
            kind="samples", inputs=1, samples_per_heap=samples, sample_type="s10", heaps_per_chunk=4
        ) as chain:
            engine = aperture.f_engine(
                channels=16, inputs=1, input_type="s10", taps=2, spectra_per_frame=4, device="cpu"
            )
            sink = blocks.vector_sink_c(16 * 4)
            chain.lock()
            chain.connect(chain.source, engine, sink)
            chain.unlock()
            sender = Sender(chain.port)
            for k in range(heaps):
                if k not in (10, 11):
                    sender.send(
                        heap(
                            {0x1600: k * samples, 0x3101: 0, 0x3102: 0},
                            pack(np.full(samples, 100), 10),
                            0x3300,
                        )
                    )
            sender.send(stop_heap())
            chain.end(self)
        # 2 heaps are 4 spectra of 32 samples; with 2 taps one more
        self.assertEqual(list(engine.missing()), [5])
        self.assertEqual(len(sink.data()), 16 * 4 * (heaps * 2 // 4))

    def test_sink(self):
        """spead2's ordinary receiver reads what we send of 10-bit samples, by our descriptors."""
        rng = np.random.default_rng(1)
        values = rng.integers(-512, 512, (2, 40 * 32))
        port = free_port()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
            listener.bind(("127.0.0.1", port))
            stream = spead2.recv.Stream(
                spead2.ThreadPool(),
                spead2.recv.StreamConfig(max_heaps=64),
                spead2.recv.RingStreamConfig(heaps=256),
            )
            stream.add_udp_reader(listener)
        # 3 items of 4 samples before a heap begins; lost from item 100 on
        begin = 5 * 32 - 12
        found, sent = [], self.send(values, port, begin, lost=(100, 20))
        group = spead2.ItemGroup()
        for each in stream:
            updated = group.update(each)
            if "adc_samples" in updated:
                found.append(
                    (
                        int(group["timestamp"].value),
                        int(group["digitiser_id"].value),
                        np.array(group["adc_samples"].value),
                    )
                )
        self.assertEqual(sent.counts()["heaps"], len(found))
        expected = [
            (time, i)
            for time in range(160, begin + values.shape[1] - 31, 32)
            for i in range(2)
            if not (i == 1 and time < begin + 480 and time + 32 > begin + 400)
        ]
        self.assertEqual([entry[:2] for entry in found], [(t, 6 + i) for t, i in expected])
        for time_, number, got in found:
            np.testing.assert_array_equal(got, values[number - 6][time_ - begin :][:32])

    def send(self, values, port, begin, lost):
        top = gr.top_block()
        sink = spead_sink(
            kind="samples",
            address=f"127.0.0.1:{port}",
            inputs=2,
            senders=[6, 7],
            samples_per_heap=32,
        )
        tags = [time_tag(begin), gr_tag(lost[0], "missing", {"count": lost[1]})]
        for i in range(2):
            packed = pack(values[i], 10).tolist()
            top.connect(blocks.vector_source_b(packed, False, 5, tags[: 1 + i]), (sink, i))
        top.run()
        self.assertIsNone(sink.error())
        return sink


class TestVoltages(unittest.TestCase):
    CHANNELS, SPECTRA, ANTENNAS = 6, 8, 3
    HOP = 2 * 24

    def heaps(self, rng, slots):
        """[slot][antenna][channel][spectrum][polarisation][re, im]"""
        return rng.integers(
            -127, 128, (slots, self.ANTENNAS, self.CHANNELS, self.SPECTRA, 2, 2), np.int8
        )

    def receiving(self, **more):
        return Receiving(
            **{
                **dict(
                    kind="voltages",
                    inputs=2 * self.ANTENNAS,
                    senders=[5, 9, 2],
                    channels=self.CHANNELS,
                    first_channel=12,
                    total_channels=24,
                    spectra_per_frame=2 * self.SPECTRA,
                    spectra_per_heap=self.SPECTRA,
                    channels_per_heap=3,
                    taps=4,
                    center_frequency=1.4e9,
                    window=2,
                ),
                **more,
            }
        )

    def frames(self, values, there):
        """Returns frames as the block is to give them: [frame][channel][input][time][re, im]."""
        values = np.where(there[:, :, None, None, None, None], values, 0)
        values = np.maximum(values, -127)
        slots = len(values)
        # [frame, half, antenna, channel, spectrum, pol, part]
        split = values.reshape(slots // 2, 2, *values.shape[1:])
        return split.transpose(0, 3, 2, 5, 1, 4, 6)

    def one(self, values, slot, antenna, part, first=0, sender=None, **items):
        number = [5, 9, 2][antenna] if sender is None else sender
        return heap(
            {
                0x1600: (first + slot) * self.HOP * self.SPECTRA,
                0x4101: number,
                0x4103: 12 + 3 * part,
                **items,
            },
            np.ascontiguousarray(values[slot, antenna, 3 * part : 3 * part + 3]),
            0x4300,
        )

    def test_source(self):
        """Frames of what came, in any order; times, frequencies, and what is missing."""
        rng = np.random.default_rng(2)
        values = self.heaps(rng, 12)
        values[3, 1, 2, 4, 0, 0] = -128
        there = np.ones((12, 3), bool)
        there[4, 1] = there[5, 1] = there[7, 2] = False
        with self.receiving() as chain:
            sender = Sender(chain.port)
            for slot in range(12):
                for antenna in rng.permutation(3):
                    for part in range(2):
                        # one half of the channels of slot 7 is lost, which costs both
                        if there[slot, antenna] or (slot == 7 and part == 0):
                            sender.send(self.one(values, slot, antenna, part))
            sender.send(self.one(values, 11, 0, 0))
            sender.send(self.one(values, 11, 0, 0, sender=1))
            sender.send(heap({0x1600: 7, 0x4101: 5, 0x4103: 12}, values[0, 0, :3].copy(), 0x4300))
            sender.send(heap({0x1600: 0, 0x4101: 5, 0x4103: 13}, values[0, 0, :3].copy(), 0x4300))
            for number in (5, 9, 2):
                sender.send(stop_heap({0x4101: number}))
            chain.end(self)
            counts = chain.source.counts()
        expected = self.frames(values, there)
        got = chain.bytes().view(np.int8).reshape(expected.shape)
        np.testing.assert_array_equal(got, expected)
        tags = chain.tags()
        self.assertEqual(
            missing_of(tags), [(2, 2, 32, 16), (2, 3, 32, 16), (3, 4, 56, 8), (3, 5, 56, 8)]
        )
        first = {key: value for item, key, value in tags if item == 0}
        self.assertEqual(first["rx_time"], (SYNC, (2 * self.HOP - 0.5) / RATE))  # half of 4 taps
        width = RATE / self.HOP
        self.assertAlmostEqual(first["rx_freq"], 1.4e9 + (12 + 3 - 12) * width, 6)
        self.assertAlmostEqual(first["bandwidth"], 6 * width, 6)
        self.assertEqual(first["samples_per_item"], 2 * self.SPECTRA * self.HOP)
        self.assertAlmostEqual(first["rx_rate"], RATE / (16 * self.HOP), 9)
        self.assertEqual(len([1 for tag in tags if tag[1] == "rx_time"]), 1)
        self.assertEqual(
            {
                key: counts[key]
                for key in (
                    "missing",
                    "clamped",
                    "duplicate",
                    "wrong_sender",
                    "wrong_time",
                    "wrong_channels",
                    "stops",
                )
            },
            dict(
                missing=5,
                clamped=1,
                duplicate=1,
                wrong_sender=1,
                wrong_time=1,
                wrong_channels=1,
                stops=3,
            ),
        )

    def test_several_threads(self):
        """Addresses are spread over threads, which fill the same frames."""
        rng = np.random.default_rng(12)
        values, there = self.heaps(rng, 12), np.ones((12, 3), bool)
        there[5, 1] = there[8, 0] = False
        ports = [free_port() for _ in range(3)]
        address = [f"127.0.0.1:{port}" for port in ports]
        with self.receiving(address=address, threads=2, window=8) as chain:
            senders = [Sender(port) for port in ports]
            for slot in range(12):
                for antenna in np.flatnonzero(there[slot]):
                    for part in range(2):
                        senders[antenna].send(self.one(values, slot, antenna, part))
            for sender, number in zip(senders, (5, 9, 2)):
                sender.send(stop_heap({0x4101: number}))
            chain.end(self)
            counts = chain.source.counts()
        expected = self.frames(values, there)
        got = chain.bytes().view(np.int8).reshape(expected.shape)
        np.testing.assert_array_equal(got, expected)
        self.assertEqual((counts["missing"], counts["stops"], counts["late"]), (4, 3, 0))

    def test_ibverbs(self):
        """An error says what is missing for ibverbs, and the flowgraph ends."""
        without = types.SimpleNamespace(recv=object(), __version__="4.0")
        with self.assertRaisesRegex(RuntimeError, "must be socket, as this spead2 .4.0. was built"):
            read_by_ibverbs(without, None, [], "10.0.0.5", 9200, 4096)
        source = aperture.spead_source(
            transport="ibverbs", interface="127.0.0.1", address="127.0.0.1:7148"
        )
        top = gr.top_block()
        top.connect(source, blocks.null_sink(source.output_signature().sizeof_stream_item(0)))
        top.run()
        self.assertRegex(str(source.error()), "ibverbs cannot be had at 127.0.0.1: .*librdmacm1")

    def test_align_and_gaps(self):
        """Frames begin at a multiple; gaps are filled, or end what was begun and start anew."""
        rng = np.random.default_rng(3)
        values = self.heaps(rng, 400)
        with self.receiving(align=3, most_gap=10 * 16 * self.HOP / RATE, restart=4) as chain:
            sender = Sender(chain.port)

            def send(*slots):
                for slot in slots:
                    for antenna in range(3):
                        for part in range(2):
                            sender.send(self.one(values, slot, antenna, part))

            send(*range(2, 20))  # frames 1 to 9: 3 to 9 go out
            send(*range(30, 40))  # 15 to 19, of which 15 and 16 count as jumped
            send(*range(300, 330))  # 150: a long gap, 152 is the first that is taken
            for number in (5, 9, 2):
                sender.send(stop_heap({0x4101: number}))
            chain.end(self)
            counts = chain.source.counts()
        tags = chain.tags()
        times = [
            (item, round((value[0] - SYNC + value[1]) * RATE + 0.5))
            for item, key, value in tags
            if key == "rx_time"
        ]
        frame = 16 * self.HOP
        half = 2 * self.HOP
        # 3 to 19 and 20, which is added, then 153 on
        self.assertEqual(times, [(0, 3 * frame + half), (18, 153 * frame + half)])
        frames = self.frames(values, np.ones((400, 3), bool))
        got = chain.bytes().view(np.int8).reshape(-1, *frames.shape[1:])
        np.testing.assert_array_equal(got[:7], frames[3:10])
        self.assertFalse(got[7:12].any())
        np.testing.assert_array_equal(got[14:17], frames[17:20])
        self.assertFalse(got[17].any())
        np.testing.assert_array_equal(got[18:30], frames[153:165])
        self.assertEqual(counts["restarts"], 2)

    def test_forged_and_restarted(self):
        """A far timestamp moves nothing; a time that begins again is followed."""
        rng = np.random.default_rng(4)
        values = self.heaps(rng, 64)
        with self.receiving(restart=16) as chain:
            sender = Sender(chain.port)

            def send(slots, first):
                for slot in slots:
                    for antenna in range(3):
                        for part in range(2):
                            sender.send(self.one(values, slot, antenna, part, first))

            send(range(16), 10**6)
            for far in (10**9, 0, 2 * 10**9, 5):
                for _ in range(20):
                    sender.send(self.one(values, 0, 0, 0, far))
            send(range(16, 32), 10**6)
            send(range(64), 1000)  # a new epoch
            for number in (5, 9, 2):
                sender.send(stop_heap({0x4101: number}))
            chain.end(self)
            counts = chain.source.counts()
        frames = self.frames(values, np.ones((64, 3), bool))
        got = chain.bytes().view(np.int8).reshape(-1, *frames.shape[1:])
        np.testing.assert_array_equal(got[:16], frames[:16])
        # 16 heaps of a sender are 16 slots; the rest of that frame and all behind it are there
        np.testing.assert_array_equal(got[-24:], frames[-24:])
        self.assertEqual(counts["restarts"], 1)
        self.assertGreaterEqual(counts["jumped"], 40)
        self.assertGreaterEqual(counts["late"], 40)

    def test_to_and_fro(self):
        """Senders of two times, which move the window to and fro, make no zeros each time."""
        rng = np.random.default_rng(13)
        values = self.heaps(rng, 48)
        ahead = 2000  # slots
        with self.receiving(restart=4, most_gap=1e6) as chain:
            sender = Sender(chain.port)
            for begin, first in itertools.product((0, 16, 32), (ahead, 0)):
                for slot in range(begin, begin + 16):
                    for antenna in range(3):
                        for part in range(2):
                            sender.send(self.one(values, slot, antenna, part, first))
            for number in (5, 9, 2):
                sender.send(stop_heap({0x4101: number}))
            chain.end(self)
            counts = chain.source.counts()
        frame = 16 * self.HOP
        begins = {
            item: int(((value[0] - SYNC + value[1]) * RATE) // frame)
            for item, key, value in chain.tags()
            if key == "rx_time"
        }
        frames = self.frames(values, np.ones((48, 3), bool))
        got = chain.bytes().view(np.int8).reshape(-1, *frames.shape[1:])
        far = ahead // 2  # frames
        # the fourth heap of a sender moves the window: the first frame of each time but the very
        # first is not there, nor is half of the second
        expected = [
            *range(far, far + 8),
            *range(1, 8),
            *range(far + 9, far + 16),
            *range(9, 16),
            *range(far + 17, far + 24),
            *range(17, 24),
        ]
        self.assertEqual(begins, {0: far, 8: 1, 15: far + 9, 22: 9, 29: far + 17, 36: 17}, expected)
        for item, number in enumerate(expected):
            if item not in begins or item == 0:
                np.testing.assert_array_equal(got[item], frames[number % far])
        self.assertEqual((len(got), counts["restarts"]), (len(expected), 5))

    def test_sink(self):
        """spead2's ordinary receiver reads our heaps by our descriptors."""
        rng = np.random.default_rng(5)
        frames, times = 4, 20
        values = rng.integers(-127, 128, (frames, self.CHANNELS, 6, times, 2), np.int8)
        ports = [free_port(), free_port()]
        streams = [ordinary_receiver(port) for port in ports]
        first = 3 * self.SPECTRA - 5  # spectra since timestamp 0
        gap = {"input": 4, "first": 2 * times + 3, "count": 1}
        sending = Sending(
            values,
            [time_tag((first + 2) * self.HOP - 0.5), gr_tag(2, "missing", gap)],
            kind="voltages",
            address=[f"127.0.0.1:{port}" for port in ports],
            inputs=6,
            first_input=2,
            senders=[70, 71],
            channels=self.CHANNELS,
            first_channel=12,
            spectra_per_frame=times,
            spectra_per_heap=self.SPECTRA,
            samples_per_spectrum=self.HOP,
            taps=4,
        )
        sending.send(self)
        spectra = values.transpose(0, 3, 1, 2, 4).reshape(frames * times, self.CHANNELS, 6, 2)
        slots = range(3, (first + frames * times) // self.SPECTRA)
        lost = (first + 2 * times + 3) // self.SPECTRA
        for number, stream in enumerate(streams):
            group, found = spead2.ItemGroup(), {}
            for each in stream:
                if "feng_raw" in group.update(each):
                    self.assertEqual(int(group["frequency"].value), 12 + 3 * number)
                    found[int(group["timestamp"].value), int(group["feng_id"].value)] = np.array(
                        group["feng_raw"].value
                    )
            expected = {
                (slot * self.SPECTRA * self.HOP, 70 + antenna)
                for slot in slots
                for antenna in range(2)
                if (slot, antenna) != (lost, 1)
            }
            self.assertEqual(set(found), expected)
            for (time_, number_), got in found.items():
                begin = time_ // self.HOP - first
                part = spectra[
                    begin : begin + self.SPECTRA,
                    3 * number : 3 * number + 3,
                    2 * (number_ - 69) : 2 * (number_ - 69) + 2,
                ]
                np.testing.assert_array_equal(got, part.transpose(1, 0, 2, 3))
        self.assertEqual(sending.sink.counts()["missing"], 2)

    def test_between_ours(self):
        """The spead_source gives what spead_sink sends, twice (a flowgraph started again)."""
        rng = np.random.default_rng(6)
        values = rng.integers(-127, 128, (6, self.CHANNELS, 6, 16, 2), np.int8)
        for _ in range(2):
            with self.receiving(
                senders=None, address=f"127.0.0.1:{free_port()}", allowed=["127.0.0.1"]
            ) as chain:
                port = chain.source._addresses[0][1]
                Sending(
                    values,
                    [time_tag((18 * 16 + 2) * self.HOP - 0.5)],
                    kind="voltages",
                    address=f"127.0.0.1:{port}",
                    inputs=6,
                    first_channel=12,
                    channels=self.CHANNELS,
                    spectra_per_frame=16,
                    spectra_per_heap=self.SPECTRA,
                    channels_per_heap=3,
                    samples_per_spectrum=self.HOP,
                    taps=4,
                ).run()
                chain.end(self)
            np.testing.assert_array_equal(chain.bytes().view(np.int8).reshape(values.shape), values)

    def test_senders_allowed(self):
        """Packets of hosts that are not listed do not even reach spead2."""
        rng = np.random.default_rng(7)
        values = self.heaps(rng, 4)
        with (
            self.receiving(allowed=["127.0.0.2", "fd00::1"]) as chain,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listed,
        ):
            sender = Sender(chain.port)
            for slot in range(4):
                sender.send(self.one(values, slot, 0, 0))
            # one packet that may come, behind those that may not
            listed.bind(("127.0.0.2", 0))
            packet = spead2.send.BytesStream(spead2.ThreadPool(1))
            packet.send_heap(self.one(values, 0, 0, 0))
            listed.sendto(packet.getvalue(), ("127.0.0.1", chain.port))
            self.assertTrue(comes_true(lambda: chain.source.counts()["packets"]))
            self.assertEqual(chain.source.counts()["packets"], 1)

    def test_hostile(self):
        """Heaps of 2^48 bytes, heaps that never end and noise cost counts, and no memory."""
        rng = np.random.default_rng(8)
        values = self.heaps(rng, 60)
        # the first of the antennas never ends its stream
        with self.receiving(silence=0.5) as chain:
            sender = Sender(chain.port)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.connect(("127.0.0.1", chain.port))

                def packet(cnt, length, offset, payload, size=None, **items):
                    pointers = [
                        (0x1, cnt),
                        (0x2, length),
                        (0x3, offset),
                        (0x4, len(payload) if size is None else size),
                        (0x1600, items.get("timestamp", 0)),
                        (0x4101, 5),
                        (0x4103, 12),
                    ]
                    head = struct.pack(">BBBBHH", 0x53, 4, 2, 6, 0, len(pointers) + 1)
                    body = b"".join(
                        struct.pack(">Q", 1 << 63 | number << 48 | value)
                        for number, value in pointers
                    )
                    return head + body + struct.pack(">Q", 0x4300 << 48) + payload

                length = values[0, 0, :3].size
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                slot = 0
                for i in range(20000):
                    choice = i % 4
                    if choice == 0:
                        stranger.send(packet(10**6 + i, 2**48 - 1, 0, b"x" * 64))
                    elif choice == 1:
                        # the right size, one byte of it
                        stranger.send(
                            packet(
                                10**6 + i, length, 0, b"x", timestamp=(slot // 2 * 2) * self.HOP * 8
                            )
                        )
                    elif choice == 2:
                        stranger.send(rng.bytes(rng.integers(0, 200)))
                    else:
                        stranger.send(packet(10**6 + i, length, 2**47, b"x" * 32, size=2**40))
                    if i % 400 == 399 and slot < 48:
                        for antenna in range(1, 3):
                            for part in range(2):
                                sender.send(self.one(values, slot, antenna, part))
                        slot += 1
                for number in (9, 2):
                    sender.send(stop_heap({0x4101: number}))
            chain.end(self)
            counts = chain.source.counts()
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(used, 50000)  # kB
        self.assertGreaterEqual(counts["wrong_size"], 4900)
        self.assertGreaterEqual(counts["incomplete"], 4900)
        frames = self.frames(values, np.ones((60, 3), bool))[:24]
        got = chain.bytes().view(np.int8).reshape(-1, *frames.shape[1:])
        # the stranger's heaps are for the first of the antennas, and of one frame more
        np.testing.assert_array_equal(got[:24, :, 1:], frames[:, :, 1:])
        self.assertFalse(got[:, :, 0].any())


Chunk = namedtuple("Chunk", "chunk_id time present")


class Chunks:
    """A receiver that gives chunks of a list."""

    def __init__(self, chunks):
        self.left, self.back = list(chunks), []
        times = {chunk.chunk_id: chunk.time for chunk in chunks}
        self.placement = types.SimpleNamespace(time_of=times.__getitem__)

    def get(self, timeout):
        return self.left.pop(0) if self.left else None

    def give_back(self, chunk):
        self.back.append(chunk.chunk_id)


def pieces_of(chunks, ticks, align, most_gap):
    """
    The pieces of a list of chunks, [(time, number or None, anew)], by the definition of ChunkTimes:
    the list is divided into stretches of time, and each of them is written down as a whole.
    """
    there = [
        (chunk.time // ticks, chunk.chunk_id, place)
        for place, chunk in enumerate(chunks)
        if chunk.present.any()
    ]

    def goes_on(before, after, given):
        (time, number, place), (next_time, next_number, next_place) = before, after
        missing = next_time - time - 1
        if missing < 0:
            return False
        jumps = next_number - number != next_place - place
        if jumps and time + 1 < given:
            most_missing = 0
        else:
            most_missing = most_gap
        # the frames of an integration that was begun last until then anyway
        return missing <= most_missing or next_time <= math.ceil((time + 1) / align) * align

    found, given = [], -math.inf
    while there:
        if there[0][0] % align:
            there = there[1:]
            continue
        count = 1
        while count < len(there) and goes_on(there[count - 1], there[count], given):
            count += 1
        stretch, there = there[:count], there[count:]
        begin, end = stretch[0][0], stretch[-1][0] + 1
        if there:
            end = math.ceil(end / align) * align
        numbers = {time: number for time, number, _ in stretch}
        found += [(time * ticks, numbers.get(time), time == begin) for time in range(begin, end)]
        given = max(given, end)
    return found


class TestChunkTimes(unittest.TestCase):
    TICKS = 32

    def given(self, chunks, align, most_gap):
        receiver = Chunks(chunks)
        times = ChunkTimes(receiver, self.TICKS, align, most_gap)
        found = []
        while piece := times.next(0):
            number = piece.chunk and piece.chunk.chunk_id
            found.append((piece.time, number, piece.anew))
        # no chunk is lost: each went out or back
        out = [number for _, number, _ in found if number is not None]
        self.assertEqual(sorted(out + receiver.back), sorted(chunk.chunk_id for chunk in chunks))
        return found

    def chunks(self, *runs):
        """Chunks of runs (number, time, count or which are present)."""
        return [
            Chunk(number + i, (time + i) * self.TICKS, np.array([there]))
            for number, time, present in runs
            for i, there in enumerate([1] * present if isinstance(present, int) else present)
        ]

    def test_table(self):
        """Times that are begun, and zeros, of gaps, jumps and restarts."""
        for about, runs, align, most_gap, begun, zeros in (
            ("a gap", [(9, 0, 3), (22, 13, 2)], 1, 10, [0], 10),
            ("a longer one", [(9, 0, 3), (23, 14, 2)], 1, 10, [0, 14], 0),
            # chunks that came without heaps are as those that did not come
            ("partly without heaps", [(9, 0, 3), (20, 11, [0, 0, 0, 1])], 1, 10, [0, 14], 0),
            ("in the window", [(9, 0, [1, 0, 0, 1])], 1, 1, [0, 3], 0),
            ("what is begun ends", [(9, 0, 3), (23, 16, 2)], 4, 10, [0, 16], 1),
            ("less than what is begun lacks", [(9, 0, 5), (23, 7, 2)], 4, 1, [0], 2),
            ("a restart", [(9, 50, 3), (23, 10, 2)], 1, 10, [50, 10], 0),
            ("a gap after a restart", [(9, 50, 3), (23, 10, [1, 0, 0, 1])], 1, 9, [50, 10], 2),
            ("there and back", [(9, 50, 3), (23, 10, 2), (40, 56, 3)], 1, 99, [50, 10, 56], 0),
            (
                "a gap in times that are given for the first time",
                [(9, 50, 3), (23, 10, 50), (80, 67, 2)],
                1,
                99,
                [50, 10],
                7,
            ),
        ):
            with self.subTest(about):
                found = self.given(self.chunks(*runs), align, most_gap)
                times = [time // self.TICKS for time, _, anew in found if anew]
                self.assertEqual(times, begun)
                self.assertEqual(sum(number is None for _, number, _ in found), zeros)

    def test_random(self):
        """Any walk of times gives what the definition says."""
        rng = np.random.default_rng(14)
        given = again = 0
        for _ in range(300):
            align, most_gap = int(rng.integers(1, 5)), int(rng.choice([0, 3, 20]))
            runs, number, time = [], 0, 100
            for _ in range(rng.integers(1, 9)):
                present = (rng.random(rng.integers(1, 9)) < 0.7).astype(int)
                runs.append((number, time, present))
                step = len(present) + int(rng.choice([0, 1, 4, 30]))
                number, time = number + step, time + step
                if rng.random() < 0.4:  # a restart, behind numbers that are left out
                    number, time = number + 8, max(0, time - int(rng.integers(1, 60)))
            chunks = self.chunks(*runs)
            expected = pieces_of(chunks, self.TICKS, align, most_gap)
            self.assertEqual(self.given(chunks, align, most_gap), expected)
            given += len(expected)
            again += sum(anew for _, _, anew in expected)
        self.assertGreater(given, 3000)
        self.assertGreater(again, 600)


class TestProducts(unittest.TestCase):
    ANTENNAS, CHANNELS = 3, 4

    def products(self, voltages):
        """MeerKAT's order, by its definition: [channel][product], of [channel][antenna][pol][time],
        and ours of the same, sums of integers."""
        theirs, ours = [], []
        for b in range(self.ANTENNAS):
            for a in range(b + 1):
                for q in range(2):
                    for p in range(2):
                        theirs.append(np.sum(voltages[:, a, p] * voltages[:, b, q].conj(), -1))
        flat = voltages.reshape(self.CHANNELS, -1, voltages.shape[-1])
        for i in range(flat.shape[1]):
            for j in range(i + 1):
                ours.append(np.sum(flat[:, i] * flat[:, j].conj(), -1))
        return np.array(theirs).T, np.array(ours).T

    def setUp(self):
        rng = np.random.default_rng(9)
        shape = (3, self.CHANNELS, self.ANTENNAS, 2, 40)
        voltages = rng.integers(-127, 128, shape) + 1j * rng.integers(-127, 128, shape)
        self.theirs, self.ours = zip(*(self.products(each) for each in voltages))

    def test_source(self):
        """Integrations as MeerKAT's X-engines send them."""
        with Receiving(
            kind="visibilities",
            inputs=6,
            channels=self.CHANNELS,
            first_channel=8,
            total_channels=16,
            channels_per_heap=2,
            spectra_per_heap=40,
            taps=16,
            center_frequency=1e9,
        ) as chain:
            sender = Sender(chain.port)
            for number, sums in enumerate(self.theirs):
                parts = np.stack([sums.real, sums.imag], -1).astype(np.int32)
                if number == 1:
                    parts[:, 5] = (-(2**31), 1)
                for half in range(2):
                    if (number, half) != (2, 1):
                        sender.send(
                            heap(
                                {0x1600: (7 + number) * 40 * 32, 0x4103: 8 + 2 * half},
                                parts[2 * half : 2 * half + 2].copy(),
                                0x1800,
                            )
                        )
            sender.send(stop_heap())
            chain.end(self)
        got = np.array(chain.sinks[0].data(), np.complex64).reshape(3, self.CHANNELS, -1)
        for number in range(2):
            expected = self.ours[number] / 40
            if number == 1:
                # product 5 of theirs: (a1, b0) of antennas 0 and 1
                expected[:, 4] = 0
            np.testing.assert_allclose(got[number], expected, rtol=2e-7)
        tags = chain.tags()
        counted = [value for _, key, value in tags if key == "counted"]
        self.assertEqual([list(each).count(0) for each in counted], [0, 1, 21])
        self.assertEqual(list(counted[1]).index(0), 4)
        self.assertIn((0, "rx_time", (SYNC, ((7 * 40 + 8) * 32 - 0.5) / RATE)), tags)

    def test_sink(self):
        """Integrations of ours, read by spead2's ordinary receiver."""
        port = free_port()
        stream = ordinary_receiver(port, heaps=64)
        tags = [time_tag((7 * 40 + 8) * 32 - 0.5)]
        for item in range(3):
            counts = [40] * 21
            if item == 1:
                counts[4], counts[20] = 0, 30
            tags += gr_tags(item, {"spectra": 40, "counted": np.array(counts)})
        tags = qa_tools.said(tags)
        means = [each / 40 for each in self.ours]
        means[1] = means[1] * 40 / np.where(np.arange(21) == 20, 30, 40)
        means[2][3, 4] = np.nan  # is as what was not there
        Sending(
            np.array([each.ravel() for each in means], np.complex64),
            tags,
            kind="visibilities",
            address=f"127.0.0.1:{port}",
            inputs=6,
            channels=self.CHANNELS,
            first_channel=8,
            spectra_per_heap=40,
            samples_per_spectrum=32,
            taps=16,
        ).send(self)
        group, found = spead2.ItemGroup(), []
        for each in stream:
            if "xeng_raw" in group.update(each):
                self.assertEqual(int(group["frequency"].value), 8)
                found.append((int(group["timestamp"].value), np.array(group["xeng_raw"].value)))
        self.assertEqual([time_ for time_, _ in found], [(7 + i) * 40 * 32 for i in range(3)])
        for number, (_, got) in enumerate(found):
            sums = np.stack([self.theirs[number].real, self.theirs[number].imag], -1)
            if number == 1:
                sums[:, 5] = (-(2**31), 1)
            if number == 2:
                sums[3, 5] = (-(2**31), 1)
            np.testing.assert_allclose(got, sums, atol=1)


class TestBeams(unittest.TestCase):
    def test_both_ways(self):
        """Two beams at addresses of their own; spead2's receiver reads one, ours both."""
        rng = np.random.default_rng(10)
        values = rng.integers(-127, 128, (5, 6, 2, 16, 2), np.int8)
        ports = [free_port(), free_port()]
        parameters = dict(
            kind="beams",
            inputs=2,
            channels=6,
            spectra_per_frame=16,
            spectra_per_heap=8,
            samples_per_spectrum=12,
            taps=0,
        )
        for own in (True, False):
            addresses = [f"127.0.0.1:{port}" for port in ports]
            if not own:
                stream = ordinary_receiver(ports[1], heaps=64)
            top = Sending(values, [time_tag(32 * 12)], address=addresses, antennas=64, **parameters)
            if own:
                # all frames are in the window: nobody knows which beam's thread is the first
                with Receiving(address=addresses, window=8, **parameters) as chain:
                    top.run()
                    chain.end(self)
                np.testing.assert_array_equal(
                    chain.bytes().view(np.int8).reshape(values.shape), values
                )
                continue
            top.run()
            group, found = spead2.ItemGroup(), []
            for each in stream:
                if "bf_raw" in group.update(each):
                    self.assertEqual(int(group["beam_ants"].value), 64)
                    found.append(np.array(group["bf_raw"].value))
            got = np.concatenate(found, axis=1)
            np.testing.assert_array_equal(
                got, values[:, :, 1].transpose(1, 0, 2, 3).reshape(6, -1, 2)
            )


#: a small sink of voltages, and a frame for it
SMALL = dict(inputs=2, channels=4, spectra_per_frame=8, spectra_per_heap=8, taps=0)
ZEROS = np.zeros((1, 128), np.int8)


class TestParameters(unittest.TestCase):
    def test_refused(self):
        """Errors name the parameter, its value and what is allowed."""
        for parameters, text in (
            (dict(kind="voltage"), "kind: 'voltage'"),
            (dict(address="10.0.0.1:99999"), "address"),
            (dict(address="host+3:7148"), "address"),
            (dict(inputs=3), "inputs: 3"),
            (dict(spectra_per_frame=100, spectra_per_heap=64), "spectra_per_frame: 100"),
            (dict(channels=10, channels_per_heap=4), "channels_per_heap: 4"),
            (dict(sync_time=-1), "sync_time: -1"),
            (dict(sample_rate="fast"), "sample_rate: 'fast'"),
            (dict(senders=[1, 1], inputs=4), "senders"),
            (dict(window=0), "window: 0"),
            (dict(allowed=["example.org"]), "allowed"),
            (dict(kind="beams", inputs=2), "address"),
            (dict(transport="dpdk"), "transport: 'dpdk'"),
            (dict(threads=2), "threads: 2"),
            (dict(transport="ibverbs"), "interface: ''"),
            (dict(transport="ibverbs", interface="eth1"), "interface: 'eth1'"),
            (dict(transport="ibverbs", interface="10.0.0.5"), "address: ''"),
            (
                dict(
                    transport="ibverbs",
                    interface="10.0.0.5",
                    address="239.1.1.1",
                    allowed=["10.0.0.1"],
                ),
                "allowed: ",
            ),
        ):
            with self.assertRaises(ValueError) as caught:
                aperture.spead_source(**parameters)
            self.assertIn(text, str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            aperture.spead_sink(address="10.0.0.1+2:7148", channels=1024)
        self.assertIn("address", str(caught.exception))

    def test_descriptors(self):
        """Descriptors of spead_sink are read; a port without any is an error."""
        port = free_port()
        with self.assertRaisesRegex(TimeoutError, f"127.0.0.1:{port}"):
            read_descriptors(f"127.0.0.1:{port}", 0.1)
        top = Sending(ZEROS, [time_tag(0)], address=f"127.0.0.1:{port}", **SMALL)

        def send():
            wait_for_listener(port)
            top.run()

        later = threading.Thread(target=send)
        later.start()
        found = read_descriptors(f"127.0.0.1:{port}", PATIENCE)
        later.join()
        self.assertEqual(
            (found["feng_raw"].number, found["feng_raw"].shape, found["feng_raw"].type),
            (0x4300, (4, 8, 2, 2), "int8"),
        )
        self.assertEqual(found["timestamp"].type, "u48")

    def test_addresses(self):
        self.assertEqual(
            parse_addresses("a", "239.1.1.255+1:7148, [ff02::1]:9,:10"),
            [("239.1.1.255", 7148), ("239.1.2.0", 7148), ("ff02::1", 9), ("", 10)],
        )

    def test_off_the_grid(self):
        """Spectra that do not begin at a multiple of their length would never fit others'."""
        top = Sending(ZEROS, [time_tag(3)], **SMALL)
        top.run()
        self.assertIn("3.000 samples behind a multiple of 8", top.sink.error())


if __name__ == "__main__":
    main()
