#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block discard: it takes and counts all items, on every device."""

import numpy as np
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture.testing.qa_tools import DEVICE, comes_true, run

DEVICES = sorted({"cpu", "emulated", DEVICE})


class qa_discard(gr_unittest.TestCase):
    def test_counts(self):
        rng = np.random.default_rng(5)
        for device in DEVICES:
            for item_size, count in ((1, 1000003), (7, 1000), (8, 123457), (100000, 37)):
                with self.subTest(device=device, item_size=item_size):
                    block = aperture.discard(item_size=item_size, device=device)
                    data = rng.integers(0, 256, (count, item_size), dtype=np.uint8)
                    for _ in range(2):  # counts begin at the start
                        run(block, [data], [])
                        self.assertEqual(block.items(), count)
                    self.assertEqual(block.error(), "")

    def test_while_running(self):
        for device in DEVICES:
            with self.subTest(device=device):
                source = aperture.replay(bytes(800), 8, repeats=0, device=device)
                block = aperture.discard(8, device)
                top = gr.top_block()
                top.connect(source, block)
                top.start()
                comes_true(lambda block=block: block.items() >= 10**6)
                source.finish()
                top.wait()
                self.assertGreaterEqual(block.items(), 10**6)

    def test_parameters_that_are_refused(self):
        for values, message in (
            (dict(item_size=0), "item_size.*0.*1"),
            (dict(device="toaster"), "device.*toaster.*cpu"),
        ):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.discard(**values)


if __name__ == "__main__":
    gr_unittest.run(qa_discard)
