#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block join_averages: each average in its place, with its count and its time."""

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.qa_tools import EPOCH, Flowgraph, rx_time, tags_of

PRODUCTS, LENGTHS = [[(2, 0), (2, 1)], [(1, 0)], [(0, 0), (1, 1), (2, 2)]], [1, 2, 4]
CHANNELS = 5
SPECTRA, RATE = 100, 1000.0  # the shortest averages have so many


class qa_join_averages(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(77)

    def ports(self, ends):
        """Values [item][channel][product] and tags of each port, where averages of all lengths end
        at multiples of theirs and at `ends`, units of the shortest."""
        found = []
        for pairs, length in zip(PRODUCTS, LENGTHS):
            edges = sorted({*range(0, max(ends) + 1, length), *ends})
            shape = len(edges) - 1, CHANNELS, len(pairs), 2
            values = self.rng.normal(size=shape).astype(np.float32).view(np.complex64)[..., 0]
            tags = [(0, "rx_rate", RATE / SPECTRA / length), (0, "spectrum_rate", RATE)]
            for item, (begin, end) in enumerate(zip(edges, edges[1:])):
                spectra = round((end - begin) * SPECTRA)
                tags += [
                    (item, "rx_time", rx_time(EPOCH, begin * SPECTRA / RATE)),
                    (item, "spectra", spectra),
                    (item, "counted", np.arange(len(pairs)) + spectra - 9),
                ]
            found.append((values, tags, edges))
        return found

    def run_with(self, ports, block, chunks=3):
        data = [values.reshape(len(values), -1).view(np.uint8) for values, _, _ in ports]
        size = 8 * CHANNELS * len(block.parts())
        (out,), (tags,) = qa_tools.run(
            block, data, [size], tags=[tags for _, tags, _ in ports], chunks=chunks
        )
        self.assertEqual(block.error(), None)
        return np.frombuffer(out.tobytes(), np.complex64).reshape(-1, CHANNELS, size // 40), tags

    def test_places(self):
        """Whole averages, averages that ended early, and those that followed on them."""
        for ends in ([16], [16, 5], [19], [16, 9.5]):
            for chunks in (3, 1, 1000):
                ports = self.ports(ends)
                block = aperture.join_averages(CHANNELS, PRODUCTS, LENGTHS)
                parts = block.parts()
                self.assertEqual(len(parts), 2 * 4 + 1 * 2 + 3)
                self.assertEqual(parts[:3], [(2, 0, 0, 4), (2, 1, 0, 4), (2, 0, 1, 4)])
                out, tags = self.run_with(ports, block, chunks)
                edges = ports[-1][2]
                self.assertEqual(len(out), len(edges) - 1)
                counted = [value for _, value in tags_of(tags, "counted")]
                places = [np.reshape(value, (-1, 2)) for _, value in tags_of(tags, "parts")]
                for item, (begin, end) in enumerate(zip(edges, edges[1:])):
                    first = row = 0
                    for (values, _, own), pairs, length in zip(ports, PRODUCTS, LENGTHS):
                        within = [n for n, at in enumerate(own[:-1]) if begin <= at < end]
                        count, width = 4 // length, len(pairs)
                        for number in range(count):
                            part = slice(first, first + width)
                            if number < len(within):
                                n = within[number]
                                np.testing.assert_array_equal(out[item, :, part], values[n])
                                spectra = round((own[n + 1] - own[n]) * SPECTRA)
                                self.assertEqual(
                                    list(counted[item][part]),
                                    list(range(spectra - 9, spectra - 9 + width)),
                                )
                                np.testing.assert_allclose(
                                    places[item][row],
                                    [(own[n] - begin) * SPECTRA, spectra],
                                    atol=1e-3,
                                )
                            else:
                                self.assertEqual(np.abs(out[item, :, part]).max(), 0)
                                self.assertEqual(max(counted[item][part]), 0)
                                self.assertLess(places[item][row][0], (end - begin) * SPECTRA)
                            first, row = first + width, row + 1
                times = tags_of(tags, "rx_time")
                self.assertEqual(times[0], (0, rx_time(EPOCH)))

    def test_restart(self):
        ports = self.ports([16])
        block = aperture.join_averages(CHANNELS, PRODUCTS, LENGTHS)
        graph = Flowgraph(
            block,
            [values.reshape(len(values), -1).view(np.uint8) for values, _, _ in ports],
            [8 * CHANNELS * 13],
            tags=[tags for _, tags, _ in ports],
        )
        first, again = (graph.run()[0][0] for _ in range(2))
        self.assertEqual(len(first), 4)
        np.testing.assert_array_equal(first, again)

    def test_not_together(self):
        """Averages that do not belong together end the flowgraph with an error."""
        ports = self.ports([16])
        values, tags, edges = ports[0]
        late = [
            (item, key, rx_time(EPOCH, item * SPECTRA / RATE - 0.05) if key == "rx_time" else value)
            for item, key, value in tags
        ]
        block = aperture.join_averages(CHANNELS, PRODUCTS, LENGTHS)
        data = [each.reshape(len(each), -1).view(np.uint8) for each, _, _ in ports]
        Flowgraph(
            block, data, [8 * CHANNELS * 13], tags=[late, *(said for _, said, _ in ports[1:])]
        ).run()
        self.assertIn("do not begin and end together", str(block.error()))

    def test_refused(self):
        for text, wrong in (
            ("lengths: 3 is not allowed", dict(lengths=[3, 4])),
            ("lengths: .* is not allowed", dict(lengths=[1])),
            ("channels: 0 is not", dict(channels=0)),
            ("type: 'sc8'", dict(type="sc8")),
        ):
            with self.assertRaisesRegex(ValueError, text):
                aperture.join_averages(**wrong)


if __name__ == "__main__":
    gr_unittest.run(qa_join_averages)
