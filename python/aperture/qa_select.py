#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block select: which product, conjugated or not, with which count."""

import threading

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import Flowgraph, tags_of


class qa_select(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(6)

    def visibilities(self, items, channels, inputs):
        """[item][channel][product] without a number that is its own conjugate."""
        shape = (items, channels, inputs * (inputs + 1) // 2)
        return qa_tools.random_samples(self.rng, "fc32", shape)

    def check_ports(self, outputs, visibilities, pairs):
        """Bit by bit."""
        expected = reference.select(visibilities, pairs)
        self.assertEqual(len(outputs), len(expected))
        for data, picked in zip(outputs, expected):
            actual = np.frombuffer(data.tobytes(), dtype=np.complex64)
            np.testing.assert_array_equal(actual.reshape(picked.shape), picked)

    def test_every_pair(self):
        channels, inputs = 7, 4
        pairs = [(a, b) for a in range(inputs) for b in range(inputs)]
        visibilities = self.visibilities(23, channels, inputs)
        block = aperture.select(channels, inputs, pairs)
        self.assertEqual([tuple(pair) for pair in block.products()], pairs)
        outputs, _ = qa_tools.run(
            block,
            [reference.samples_to_bytes(visibilities, "fc32")],
            [8 * channels] * len(pairs),
            chunks=5,
        )
        self.check_ports(outputs, visibilities, pairs)

    def test_sizes(self):
        for channels, inputs, pairs in [
            (1, 1, [(0, 0)]),
            (1024, 2, [(0, 1)]),
            (3, 64, [(63, 0), (0, 63), (63, 63), (63, 0)]),
        ]:
            visibilities = self.visibilities(5, channels, inputs)
            block = aperture.select(channels=channels, inputs=inputs, products=pairs)
            outputs, _ = qa_tools.run(
                block,
                [reference.samples_to_bytes(visibilities, "fc32")],
                [8 * channels] * len(pairs),
            )
            self.check_ports(outputs, visibilities, pairs)

    def test_tags(self):
        """All are passed on to all ports; `counted` is that of the port's product."""
        visibilities = self.visibilities(4, 3, 3)
        counts = np.array([10, 11, 12, 13, 14, 15], dtype=np.uint64)
        tags = [
            (0, "rx_rate", 2.0),
            (0, "rx_time", (1700000000, 0.5)),
            (0, "counted", np.array([9], dtype=np.uint64)),
            (1, "counted", counts),
            (1, "spectra", 20),
            (3, "partial", True),
        ]
        pairs = [(2, 0), (0, 1), (2, 2)]
        block = aperture.select(3, 3, pairs)
        _, out_tags = qa_tools.run(
            block,
            [reference.samples_to_bytes(visibilities, "fc32")],
            [24] * 3,
            tags=[tags],
            chunks=1,
        )
        for port, count in zip(out_tags, (13, 11, 15)):
            self.assertEqual(tags_of(port, "rx_rate"), [(0, 2.0)])
            self.assertEqual(tags_of(port, "rx_time"), [(0, (1700000000, 0.5))])
            self.assertEqual(tags_of(port, "spectra"), [(1, 20)])
            self.assertEqual(tags_of(port, "partial"), [(3, True)])
            counted = [(offset, list(value)) for offset, value in tags_of(port, "counted")]
            self.assertEqual(counted, [(0, [9]), (1, [count])])

    def test_set_products(self):
        """Other products are given from some item on, which says how many of them were counted."""
        visibilities = self.visibilities(20, 3, 3)
        gate = threading.Event()
        counts = np.array([10, 11, 12, 13, 14, 15], dtype=np.uint64)
        block = aperture.select(3, 3, [(1, 0), (2, 2)])
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(visibilities, "fc32")],
            [24] * 2,
            tags=[[(3, "counted", counts)]],
            gates={8: gate},
        )
        with graph.running():
            for sink in graph.sinks:
                sink.wait_for(8)
            block.set_products([(0, 2), (1, 1)])
        outputs = [sink.data() for sink in graph.sinks]
        self.check_ports([data[:8] for data in outputs], visibilities[:8], [(1, 0), (2, 2)])
        self.check_ports([data[8:] for data in outputs], visibilities[8:], [(0, 2), (1, 1)])
        for sink, before, after in zip(graph.sinks, (11, 15), (13, 12)):
            said = [(item, list(value)) for item, value in tags_of(sink.tags, "counted")]
            self.assertEqual(said, [(3, [before]), (8, [after])])

    def test_restart(self):
        visibilities = self.visibilities(20, 3, 3)
        block = aperture.select(3, 3, [(1, 0)])
        graph = Flowgraph(block, [reference.samples_to_bytes(visibilities, "fc32")], [24])
        for _ in range(2):
            outputs, _ = graph.run()
            self.check_ports(outputs, visibilities, [(1, 0)])

    def test_errors(self):
        for arguments, message in [
            ((0, 2, [(0, 0)]), "channels.*0"),
            ((4, 0, [(0, 0)]), "inputs.*0"),
            ((4, 2, []), "products"),
            ((4, 2, [(0, 2)]), "products.*2.*1"),
            ((4, 2, [(-1, 0)]), "products.*-1"),
            # 65536 x 524800 x 8 bytes
            ((65536, 1024, [(0, 0)]), "65536.*524800"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                aperture.select(*arguments)
        block = aperture.select(4, 3, [(0, 0), (1, 0)])
        for products, message in [([(0, 0)], "products.*2"), ([(0, 0), (3, 0)], "products.*3")]:
            with self.assertRaisesRegex(ValueError, message):
                block.set_products(products)
        self.assertEqual([tuple(pair) for pair in block.products()], [(0, 0), (1, 0)])


if __name__ == "__main__":
    gr_unittest.run(qa_select)
