#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block replay: what is sent is the data, again and again, on every device."""

import numpy as np
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture.testing.qa_tools import DEVICE, ByteSink, Running, rx_time, tags_of

DEVICES = sorted({"cpu", "emulated", DEVICE})


class Sending(Running):
    """A replay block, read in pieces of random sizes."""

    def __init__(self, data, item_size, **parameters):
        self.block = aperture.replay(data, item_size, **parameters)
        self.sources, self.sinks = [], [ByteSink(item_size, chunks=10000)]
        self.top = gr.top_block()
        self.top.connect(self.block, self.sinks[0])

    def received(self):
        (data,), (tags,) = self.run()
        return data, tags


class qa_replay(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(20261120)

    def items(self, count, item_size):
        return self.rng.integers(0, 256, (count, item_size), dtype=np.uint8)

    def check(self, item_size, count, repeats, device):
        data = self.items(count, item_size)
        sending = Sending(data, item_size, repeats=repeats, device=device)
        received, _ = sending.received()
        self.assertEqual(sending.block.error(), "")
        self.assertEqual(received.shape, (count * repeats, item_size))
        self.assertTrue((received.reshape(repeats, count, item_size) == data).all())

    def test_items_of_all_sizes(self):
        for device in DEVICES:
            for item_size, count, repeats in (
                (1, 1, 100003),
                (2, 3, 333333),
                (3, 1000, 77),
                (8, 12345, 17),
                (4096, 1, 999),
                (8000, 7, 100),
                (65537, 300, 1),
                (440000, 3, 13),
            ):
                with self.subTest(device=device, item_size=item_size, count=count):
                    self.check(item_size, count, repeats, device)

    def test_long_data(self):
        """Longer than the copies, and no multiple of anything."""
        for device in DEVICES:
            with self.subTest(device=device):
                self.check(6, 1900001, 3, device)

    def test_data_that_stays_in_the_ring(self):
        """Data whose length in bytes divides a page or is a multiple of one is sent many times."""
        for device in DEVICES:
            for item_size, count in ((2, 2048), (4, 65536), (16, 64), (4096, 21)):
                with self.subTest(device=device, item_size=item_size, count=count):
                    self.check(item_size, count, 3000000 // (item_size * count) + 3, device)

    def test_data_of_any_type(self):
        numbers = np.arange(12, dtype=np.complex64).reshape(3, 4)
        for data in (numbers, numbers.tobytes(), bytearray(numbers.tobytes())):
            received, _ = Sending(data, 32).received()
            np.testing.assert_array_equal(received.view(np.complex64), numbers)
        with self.assertRaisesRegex(ValueError, "data.*ascontiguousarray"):
            aperture.replay(numbers.T, 24)

    def test_tags(self):
        for device in DEVICES:
            with self.subTest(device=device):
                _, tags = Sending(
                    self.items(100, 16),
                    16,
                    repeats=100,
                    start_time=(1700000000, 0.25),
                    center_frequency=1.4e9,
                    rate=1e4,
                    bandwidth=2.5e5,
                    samples_per_item=1024,
                    device=device,
                ).received()
                self.assertEqual(
                    sorted(tags),
                    sorted(
                        [
                            (0, "rx_time", rx_time(1700000000, 0.25)),
                            (0, "rx_freq", 1.4e9),
                            (0, "rx_rate", 1e4),
                            (0, "bandwidth", 2.5e5),
                            (0, "samples_per_item", 1024),
                        ]
                    ),
                )
        # default tags
        _, tags = Sending(bytes(8), 8).received()
        self.assertEqual(sorted(tag.key for tag in tags), ["rx_freq", "rx_time"])

    def test_restart(self):
        data = self.items(5000, 4)
        for device in DEVICES:
            with self.subTest(device=device):
                sending = Sending(data, 4, repeats=3, device=device)
                for _ in range(3):
                    received, tags = sending.received()
                    np.testing.assert_array_equal(received, np.tile(data, (3, 1)))
                    self.assertEqual(len(tags_of(tags, "rx_time")), 1)

    def test_finish(self):
        for device in DEVICES:
            with self.subTest(device=device):
                sending = Sending(self.items(1000, 8), 8, repeats=0, device=device)
                for _ in range(2):
                    with sending.running():
                        sending.sinks[0].wait_for(100000)
                        sending.block.finish()
                # the next start of a block that was not running ends at once
                sending.block.finish()
                self.assertEqual(len(sending.received()[0]), 0)

    def test_fan_out(self):
        """Blocks of the device and of the host read the same edge."""
        data = self.items(7000, 32)
        for device in DEVICES:
            with self.subTest(device=device):
                sending = Sending(data, 32, repeats=11, device=device)
                counter = aperture.discard(32, device)
                copy = aperture.copy(32, device)
                sending.sinks.append(ByteSink(32))
                sending.top.connect(sending.block, counter)
                sending.top.connect(sending.block, copy, sending.sinks[1])
                received, _ = sending.run()
                for each in received:
                    np.testing.assert_array_equal(each, np.tile(data, (11, 1)))
                self.assertEqual(counter.items(), 77000)

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(data=b""), "data.*0 bytes.*8 bytes"),
            (dict(data=bytes(12)), "data.*12 bytes.*8 bytes"),
            (dict(item_size=0), "item_size.*0.*1"),
            (dict(repeats=-1), "repeats.*-1"),
            (dict(repeats=2**62), "repeats.*4611686018427387904"),
            (dict(start_time=(1700000000, 1.0)), "start_time.*fraction"),
            (dict(start_time=(2**60, 0.0)), "start_time.*year 10000"),
            (dict(center_frequency=float("nan")), "center_frequency.*nan"),
            (dict(rate=-1.0), "rate.*-1.*at least 0 Hz"),
            (dict(bandwidth=float("inf")), "bandwidth.*inf"),
            (dict(samples_per_item=-1), "samples_per_item.*-1"),
            (dict(device="toaster"), "device.*toaster.*cpu"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.replay(**{"data": bytes(16), "item_size": 8, **values})


if __name__ == "__main__":
    gr_unittest.run(qa_replay)
