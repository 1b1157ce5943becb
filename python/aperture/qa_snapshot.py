#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block snapshot: it takes the newest items, with what the tags say of them, and holds nothing
up."""

import threading
import time

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.testing.qa_tools import (
    DEVICE,
    PATIENCE,
    ByteSink,
    ByteSource,
    Flowgraph,
    Running,
    from_pmt,
    rx_time,
)

DEVICES = sorted({"cpu", "emulated", DEVICE})
TAKES_ALL = 1e6  # items a second


def items_of(count, size, seed=3):
    """uint8 [item][byte]; the first four bytes of each are its number."""
    data = np.random.default_rng(seed).integers(0, 256, (count, size), dtype=np.uint8)
    data[:, :4] = np.arange(count, dtype="<u4")[:, None].view(np.uint8)
    return data


def number_in(item):
    return int(item.data[:4].view("<u4")[0])


class FanOut(Running):
    """A source, perhaps through a block, into two snapshots, a block on the device and a sink on
    the host."""

    def __init__(self, data, device, through, chunks):
        size = data.shape[1]
        self.top = gr.top_block()
        self.sources = [ByteSource(data, chunks=chunks)]
        last = self.sources[0]
        if through:
            last = aperture.copy(size, device=device)
            self.top.connect(self.sources[0], last)
        self.snapshots = [
            aperture.snapshot(size, rate=10, device=device),
            aperture.snapshot(size, rate=TAKES_ALL, depth=7, device=device),
        ]
        self.sinks = [ByteSink(size)]
        for end in [*self.snapshots, aperture.discard(size, device=device), *self.sinks]:
            self.top.connect(last, end)


class qa_snapshot(gr_unittest.TestCase):
    def test_last_item(self):
        """The last item is there after the end, whatever was taken before; after each start."""
        for device in DEVICES:
            for size, count in ((5, 100003), (4096, 1000), (100003, 37), (3000000, 5), (9, 1)):
                for rate in (0, 0.001, 10):
                    with self.subTest(device=device, size=size, rate=rate):
                        data = items_of(count, size)
                        block = aperture.snapshot(size, rate=rate, device=device)
                        self.assertIsNone(block.read())
                        graph = Flowgraph(block, [data], [], chunks=997)
                        for _ in range(2):
                            begin = time.monotonic()
                            graph.run()
                            lasted = time.monotonic() - begin
                            self.assertEqual(block.items(), count)
                            item = block.read()
                            self.assertEqual(item.number, count - 1)
                            np.testing.assert_array_equal(item.data, data[-1])
                        self.assertEqual(block.error(), "")
                        # the first one, those of that time, and the last one
                        self.assertLessEqual(block.taken(), min(count, 3 + rate * lasted))

    def test_all_are_taken(self):
        """With a rate that is high enough, each of the last `depth` items is there, right."""
        for device in DEVICES:
            with self.subTest(device=device):
                data = items_of(101, 1237)
                block = aperture.snapshot(1237, rate=TAKES_ALL, depth=7, device=device)
                gates = {at: threading.Event() for at in range(0, 101, 7)}
                graph = Flowgraph(block, [data], [], gates=gates)
                seen = []
                serial = 0
                with graph.running():
                    for at in sorted(gates):
                        # enough for all that comes at once
                        time.sleep(0.002)
                        gates[at].set()
                        deadline = time.monotonic() + PATIENCE
                        while time.monotonic() < deadline:
                            for item in block.read_after(serial):
                                serial = item.serial
                                seen.append(item.number)
                                np.testing.assert_array_equal(item.data, data[item.number])
                            if seen and seen[-1] == min(at + 7, 101) - 1:
                                break
                self.assertEqual(seen, list(range(101)))
                self.assertEqual(serial, 101)

    def test_in_fan_out(self):
        """Snapshots work beside other readers, on the device and on the host, of host and device
        writers."""
        for device in DEVICES:
            for through in (False, True):
                for size, count in ((1001, 20011), (300000, 101)):
                    with self.subTest(device=device, through=through, size=size):
                        data = items_of(count, size)
                        graph = FanOut(data, device, through, 503)
                        for _ in range(2):
                            sinks, _ = graph.run()
                            np.testing.assert_array_equal(sinks[0], data)
                            for block in graph.snapshots:
                                for item in [block.read(), *block.read_after(0)]:
                                    np.testing.assert_array_equal(item.data, data[item.number])
                                self.assertEqual(block.read().number, count - 1)

    def test_read_while_running(self):
        """Items that threads read while others rush by are whole, and never go backwards."""
        for device in DEVICES:
            with self.subTest(device=device):
                size, count = 40000, 1000
                data = items_of(count, size)
                data[:, 4:] = (np.arange(count) % 251)[:, None]
                source = aperture.replay(data.tobytes(), size, repeats=0, device=device)
                block = aperture.snapshot(size, rate=2000, device=device)
                top = gr.top_block()
                top.connect(source, block)
                wrong, seen = [], set()

                def read(block=block, wrong=wrong, seen=seen):
                    newest, begin = -1, time.monotonic()
                    while time.monotonic() < begin + 0.6 or (
                        len(seen) <= 3 and time.monotonic() < begin + PATIENCE
                    ):
                        item = block.read()
                        if item is None:
                            continue
                        if (
                            item.number < newest
                            or item.number % count != number_in(item)
                            or np.any(item.data[4:] != number_in(item) % 251)
                        ):
                            wrong.append(item.number)
                        newest = item.number
                        seen.add(newest)

                readers = [threading.Thread(target=read) for _ in range(3)]
                top.start()
                for reader in readers:
                    reader.start()
                for reader in readers:
                    reader.join()
                source.finish()
                top.wait()
                self.assertEqual(wrong, [])
                self.assertGreater(len(seen), 3)
                self.assertEqual(block.read().number, block.items() - 1)

    def test_rate(self):
        """At most so many a second, and not many fewer; 0: one for each time it was asked."""
        for device in DEVICES:
            with self.subTest(device=device):
                top = gr.top_block()
                source = aperture.replay(bytes(4000), 8, repeats=0, device=device)
                slow = aperture.snapshot(8, rate=20, device=device)
                asked = aperture.snapshot(8, rate=0, device=device)
                top.connect(source, slow)
                top.connect(source, asked)
                begin = time.monotonic()
                top.start()
                numbers, reads = set(), 0
                while (len(numbers) < 5 or slow.taken() < 3 or time.monotonic() < begin + 0.5) and (
                    time.monotonic() < begin + PATIENCE
                ):
                    time.sleep(0.1)
                    item = asked.read()
                    reads += 1
                    numbers.add(item.number if item else None)
                source.finish()
                top.wait()
                lasted = time.monotonic() - begin
                self.assertLessEqual(slow.taken(), 2 + 20 * lasted)
                # fewer, where other programs have the processors
                self.assertGreaterEqual(slow.taken(), 3)
                self.assertGreaterEqual(len(numbers), 5)
                # the first one, one for each time, and the stream's last
                self.assertLessEqual(asked.taken(), reads + 2)

    def test_stopped(self):
        """A flowgraph that is stopped leaves a whole item, and starts again."""
        for device in DEVICES:
            with self.subTest(device=device):
                data = items_of(1000, 4000)
                source = aperture.replay(data.tobytes(), 4000, repeats=0, device=device)
                block = aperture.snapshot(4000, rate=TAKES_ALL, device=device)
                top = gr.top_block()
                top.connect(source, block)
                serial = 0
                for _ in range(3):
                    top.start()
                    deadline = time.monotonic() + PATIENCE
                    while not block.read_after(serial) and time.monotonic() < deadline:
                        time.sleep(0.001)
                    top.stop()
                    top.wait()
                    item = block.read()
                    np.testing.assert_array_equal(item.data, data[item.number % 1000])
                    self.assertGreater(item.serial, serial)
                    serial = item.serial

    def test_tags(self):
        """Time, rate, frequency and other states are those of the item; events are on it."""
        tags = [
            (3, "rx_time", rx_time(1700000000, 0.25)),
            (3, "rx_rate", 8.0),
            (3, "rx_freq", 1.4e9),
            (3, "bandwidth", 2e6),
            (3, "partial", True),
            (5, "counted", np.array([7])),
            (7, "counted", np.array([9])),
            (7, "rx_rate", 16.0),
            (9, "rx_freq", 1.5e9),
            (10, "rx_time", rx_time(1700000100, 0.5)),
            (10, "rx_rate", 4.0),
            (12, "rx_freq", pmt.intern("high")),
            (12, "rx_time", 5.0),
        ]
        # 3 + 4 items at 8 a second and 3 at 16; a new clock at item 10
        expected = {2: None, 3: 0.25, 5: 0.5, 7: 0.75, 9: 0.875, 10: 100.5, 12: 101.0}
        for device in DEVICES:
            block = aperture.snapshot(17, rate=TAKES_ALL, depth=13, device=device)
            graph = Flowgraph(
                block,
                [items_of(13, 17)],
                [],
                tags=[tags],
                gates={at: threading.Event() for at in range(13)},
            )
            with graph.running():
                for gate in graph.sources[0].gates.values():
                    gate.set()
                    time.sleep(0.005)
            taken = {item.number: item for item in block.read_after(0)}
            self.assertEqual(sorted(taken), list(range(13)))
            for number, seconds in expected.items():
                with self.subTest(device=device, number=number):
                    item = taken[number]
                    if seconds is None:
                        self.assertEqual(
                            (item.time, item.rate, item.frequency, item.tags),
                            (None, None, None, {}),
                        )
                        continue
                    self.assertEqual(item.time[0] - 1700000000 + item.time[1], seconds)
                    self.assertEqual(item.rate, 8 if number < 7 else 16 if number < 10 else 4)
                    self.assertEqual(item.frequency, 1.4e9 if number < 9 else 1.5e9)
                    self.assertEqual(pmt.to_double(item.tags["bandwidth"]), 2e6)
                    self.assertEqual("partial" in item.tags, number == 3)
                    self.assertEqual("counted" in item.tags, number >= 5)
                    said = item.tags["rx_time"]
                    if number < 12:  # a value that is no time stays as it is
                        self.assertEqual(from_pmt(said), item.time)
            counts = [
                pmt.u64vector_elements(taken[number].tags["counted"]) for number in range(5, 13)
            ]
            self.assertEqual(counts, [[7], [7]] + 6 * [[9]])

    def test_nothing_is_held_up(self):
        """A chain whose snapshot nobody reads goes to its end, and so does one in fan-out whose
        other reader has ended before."""
        for device in DEVICES:
            with self.subTest(device=device):
                top = gr.top_block()
                source = ByteSource(items_of(5000, 801), chunks=100)
                block = aperture.snapshot(801, rate=1000, device=device)
                head = blocks.head(801, 50)
                top.connect(source, block)
                top.connect(source, head, blocks.null_sink(801))
                thread = threading.Thread(target=top.run, daemon=True)
                thread.start()
                thread.join(PATIENCE)
                self.assertFalse(thread.is_alive())
                item = block.read()
                np.testing.assert_array_equal(item.data, source.data[item.number])

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(item_size=0), "item_size.*0.*1"),
            (dict(rate=-1), "rate.*-1.*0 to 1000000"),
            (dict(rate=float("nan")), "rate.*nan.*0 to 1000000"),
            (dict(depth=0), "depth.*0.*1"),
            (dict(depth=5000), "depth.*5000.*4096"),
            (dict(device="toaster"), "device.*toaster.*cpu"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.snapshot(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_snapshot)
