#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block copy: items of any size and their tags come out as they went in, on every device."""

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing.qa_tools import DEVICE, run, rx_time

DEVICES = sorted({"cpu", "emulated", DEVICE})


class qa_copy(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(20090401)

    def check(self, item_size, items, device, tags=()):
        data = self.rng.integers(0, 256, (items, item_size), dtype=np.uint8)
        block = aperture.copy(item_size=item_size, device=device)
        (copied,), (copied_tags,) = run(block, [data], [item_size], tags=[list(tags)])
        np.testing.assert_array_equal(copied, data)
        self.assertEqual(block.error(), "")
        return copied_tags

    def test_items_of_all_sizes(self):
        for device in DEVICES:
            for item_size in (2, 3, 4, 8, 12, 1000, 4096, 8000, 65537, 440000, 524288):
                with self.subTest(device=device, item_size=item_size):
                    self.check(item_size, max(10, 1000000 // item_size), device)

    def test_tags(self):
        tags = [(0, "rx_time", rx_time(1700000000, 0.25)), (0, "rx_rate", 1e6)]
        tags += [(item, "number", item) for item in range(7, 100000, 997)]
        for device in DEVICES:
            with self.subTest(device=device):
                copied = self.check(8, 100000, device, tags)
                self.assertEqual(sorted(copied), sorted(tags))

    def test_settings_of_all_blocks_on_devices(self):
        block = aperture.copy(device="cpu", latency=0.25)
        self.assertEqual(block.device_name(), "cpu")
        self.assertEqual(block.latency(), 0.25)
        block.set_latency(0)
        self.assertEqual(block.latency(), 0)
        with self.assertRaisesRegex(ValueError, "latency.*10.5"):
            block.set_latency(10.5)
        self.assertEqual(block.latency(), 0)

    def test_device_of_its_own_choice(self):
        """A GPU if there is one."""
        names = aperture.devices()
        self.assertEqual(aperture.copy().device_name(), names[min(1, len(names) - 1)])

    def test_what_the_device_is(self):
        self.assertEqual(aperture.copy(device="cpu").device_description(), "")
        self.assertEqual(aperture.copy(device="emulated").device_description(), "emulated device")
        for name in aperture.devices()[1:]:
            self.assertRegex(aperture.copy(device=name).device_description(), r"\w")

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(item_size=0), "item_size.*0.*1"),
            (dict(item_size=-8), "item_size.*-8"),
            (dict(latency=-0.5), "latency.*-0.5.*0 to 10"),
            (dict(latency=-1e-9), "latency: -1e-09 .*0 to 10"),
            (dict(latency=11), "latency.*11"),
            (dict(latency=float("nan")), "latency.*nan"),
            (dict(device="toaster"), "device.*toaster.*cpu"),
            (dict(device="cuda:99"), "device.*cuda:99"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.copy(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_copy)
