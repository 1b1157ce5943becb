#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
join_channels, and what it is for: F-engines of ranges of inputs, exchange, and X-engines of ranges
of channels give the same bits as one of each.
"""

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.qa_exchange import devices, ranges
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.qa_tools import EPOCH, Flowgraph, frame_tags, rx_time, tags_of

aperture = qa_tools.on_device(aperture)


class qa_join_channels(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(88)

    def test_places_and_tags(self):
        channels, inputs, parts = 7, 3, 3
        for kind, bytes_ in (("fc32", 8), ("u32", 4)):
            whole = self.rng.integers(0, 256, (13, channels, 6 * bytes_), np.uint8)
            block = aperture.join_channels(channels, inputs, parts, kind)
            ports, port_tags = [], []
            for part in ranges(channels, parts):
                count = part.stop - part.start
                shift = (part.start + count // 2 - channels // 2) * 1e6
                ports.append(np.ascontiguousarray(whole[:, part]).reshape(13, -1))
                port_tags.append(
                    [
                        (0, "rx_time", rx_time(EPOCH)),
                        (0, "rx_freq", 1.4e9 + shift),
                        (0, "bandwidth", count * 1e6),
                        (0, "spectra", 640),
                        (4, "rx_freq", 1.5e9 + shift),
                        (4, "counted", np.arange(6)),
                        (12, "partial", True),
                    ]
                )
            # a port may say again what holds already
            port_tags[-1].append((7, "counted", np.arange(6)))
            (data,), (found,) = qa_tools.run(
                block, ports, [channels * 6 * bytes_], tags=port_tags, chunks=4
            )
            np.testing.assert_array_equal(data.reshape(whole.shape), whole)
            self.assertEqual(block.error(), None)
            self.assertEqual(tags_of(found, "rx_freq"), [(0, 1.4e9), (4, 1.5e9)])
            self.assertEqual(tags_of(found, "bandwidth"), [(0, 7e6)])
            self.assertEqual(tags_of(found, "rx_time"), [(0, (EPOCH, 0.0))])
            self.assertEqual(tags_of(found, "partial"), [(12, True)])
            np.testing.assert_array_equal(tags_of(found, "counted")[0][1], np.arange(6))

    def test_of_different_integrations(self):
        """An error, and not a band of which half is of another time."""
        whole = np.zeros((5, 2 * 8), np.uint8)
        good = frame_tags() + [(0, "spectra", 5)]
        second = [*good[:2], (0, "rx_freq", 408e6 + 2e6), *good[3:]]
        for text, other in (
            ("rx_time of item 0", frame_tags(1.0) + [(0, "spectra", 5)]),
            ("spectra of item 0", frame_tags() + [(0, "spectra", 6)]),
            ("rx_freq of item 0", [(0, "rx_freq", 3e8), *good[:2], *good[3:]]),
            ("item 0 has no rx_freq", [*good[:2], *good[3:]]),
            ("partial of item 3", [*second, (3, "partial", True)]),
            ("counted of item 2", [*second, (2, "counted", np.array([0]))]),
            ("rx_time of item 4", [*second, (4, "rx_time", rx_time(EPOCH, 1 / 512))]),
        ):
            block = aperture.join_channels(4, 1, 2)
            graph = Flowgraph(block, [whole, whole], [4 * 8], tags=[good, other])
            graph.run()
            self.assertIn(text, str(block.error()))

    def test_refused(self):
        for text, wrong in (
            ("channels: 0 is not", dict(channels=0)),
            ("inputs: 0 is not", dict(inputs=0)),
            ("ranges: 5 is not", dict(channels=4, ranges=5)),
            ("type: 'sc8' is not", dict(type="sc8")),
            ("channels: an item would be 65536 channels", dict(channels=65536, inputs=1024)),
        ):
            with self.assertRaisesRegex(ValueError, text):
                aperture.join_channels(**wrong)

    # ---- the chain

    def chain(self, samples, tags, groups, parts, flags, inputs, channels=12, times=16):
        """
        Returns what the X-engines give, and its tags. samples: of each input, uint8 [sample][2];
        groups: F-engines; parts: X-engines; 1 and 1: without exchange and join.
        """
        common = dict(channels=channels, spectra_per_frame=times)
        masked = dict(spectra_per_slice=4) if flags else {}
        found = dict(kurtosis_false_alarms=0.0, time_sum_sigma=3.0) if flags else {}
        whole = (groups, parts) == (1, 1)
        on_f, on_x = devices(groups), devices(parts, 1)
        engines = [
            aperture.f_engine(
                inputs=part.stop - part.start,
                input_type="sc8",
                output_type="sc8",
                taps=4,
                most_gap=0.5,
                device=on,
                **common,
                **masked,
                **found,
            )
            for part, on in zip(ranges(inputs, groups), on_f)
        ]
        correlators = [
            aperture.xengine(
                inputs=inputs,
                type="sc8",
                integration=3,
                device=on,
                channels=part.stop - part.start,
                spectra_per_frame=times,
                **masked,
            )
            for part, on in zip(ranges(channels, parts), on_x)
        ]
        size = channels * inputs * (inputs + 1) // 2
        graph = Flowgraph(engines[0], [], [])
        for part, engine in zip(ranges(inputs, groups), engines):
            for port, number in enumerate(range(part.start, part.stop)):
                graph.sources.append(
                    qa_tools.ByteSource(samples[number], tags[number], 999, seed=number)
                )
                graph.top.connect((graph.sources[-1], 0), (engine, port))
        for port, (kind, bytes_) in enumerate((("fc32", 8), ("u32", 4))[: 2 if flags else 1]):
            last = (correlators[0], port)
            if whole:
                graph.top.connect((engines[0], port), (correlators[0], port))
            else:
                exchange = aperture.exchange(
                    inputs=inputs,
                    type="sc8",
                    input_devices=on_f,
                    output_devices=on_x,
                    spectra_per_slice=4 if port else 0,
                    **common,
                )
                join = aperture.join_channels(channels, inputs, parts, kind)
                for number, engine in enumerate(engines):
                    graph.top.connect((engine, port), (exchange, number))
                for number, correlator in enumerate(correlators):
                    graph.top.connect((exchange, number), (correlator, port))
                    graph.top.connect((correlator, port), (join, number))
                last = join
                graph.blocks = [*getattr(graph, "blocks", []), exchange, join]
            graph.sinks.append(qa_tools.ByteSink(size * bytes_, 3))
            graph.top.connect(last, graph.sinks[-1])
        data, tags_out = graph.run()
        for block in [*engines, *correlators, *getattr(graph, "blocks", [])]:
            self.assertFalse(block.error())
        return data, tags_out

    def test_several_devices_are_one(self):
        """Bit for bit and tag for tag, with lost samples, an input that begins late, and flags."""
        inputs, late, rate = 5, 12 * 16, 2.0**20
        for flags in (False, True):
            samples = [
                self.rng.normal(0, 20, (12 * 16 * 20 + 100, 2))
                .clip(-127, 127)
                .astype(np.int8)
                .view(np.uint8)
                for _ in range(inputs)
            ]
            samples[3][1500:1800] = 100  # interference
            tags = [frame_tags(rate=rate)[:3] for _ in range(inputs)]
            tags[4].append((700, "rx_time", rx_time(EPOCH, 1000 / rate)))
            # all end at the same time, or F-engines of some inputs would have more
            samples[4] = samples[4][:-300]
            if not flags:  # flags look back at earlier spectra
                # F-engines of the others begin a frame earlier, which exchange drops
                tags[3][0] = (0, "rx_time", rx_time(EPOCH, late / rate))
                samples[3] = samples[3][:-late]
            expected, expected_tags = self.chain(samples, tags, 1, 1, flags, inputs)
            self.assertGreater(len(expected[0]), 4)
            for groups, parts in ((2, 2), (3, 4)):
                data, found = self.chain(samples, tags, groups, parts, flags, inputs)
                for ours, whole in zip(data, expected):
                    np.testing.assert_array_equal(ours, whole)
                for ours, whole in zip(found, expected_tags):
                    self.assertEqual(self.comparable(ours), self.comparable(whole))

    @staticmethod
    def comparable(tags):
        """Tags in an order, numbers to 12 digits."""
        return sorted(
            (
                tag.offset,
                tag.key,
                np.format_float_scientific(tag.value, 12)
                if isinstance(tag.value, float)
                else str(tag.value),
            )
            for tag in tags
        )


if __name__ == "__main__":
    gr_unittest.run(qa_join_channels)
