#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""stream_states in Python, as blocks of users have it: what tags say holds until it changes."""

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.streams.python_block import python_block
from gnuradio.aperture.testing.qa_tools import EPOCH, ByteSource, Flowgraph, rx_time

COUNTED = [9, 9, 9, 0, 0, 0, 0, 9, 9, 4, 4, 9, 9]
RATE = 3.3


def tags_of(counted, spectra=9):
    """The tags of integrations: states where they change, and an event on item 5."""
    found = [
        (0, "rx_time", rx_time(EPOCH, 0.5)),
        (0, "rx_rate", RATE),
        (0, "spectra", spectra),
        (5, "partial", True),
    ]
    return found + [
        (item, "counted", np.array([count]))
        for item, count in enumerate(counted)
        if item == 0 or counted[item - 1] != count
    ]


class watcher(gr.sync_block):
    """A user's block: it notes what was counted in each item, its time, and its events."""

    def __init__(self):
        gr.sync_block.__init__(self, "watcher", [(np.uint8, 4)], None)
        self.states = aperture.stream_states()
        self.counted, self.times, self.events = [], [], {}

    def work(self, input_items, output_items):
        count, first = len(input_items[0]), self.nitems_read(0)
        for run in self.states.take(self.get_tags_in_window(0, 0, count), first, first + count):
            said = run.states.get(aperture.tags.counted)
            each = None if said is None else pmt.u64vector_elements(said)[0]
            self.counted += [each] * len(run)
            self.times += [run.time(item) for item in range(run.first, run.end)]
            if run.events:
                self.events[run.first] = sorted(run.events)
        return count


class reader(python_block):
    """One of ours, by described()."""

    def __init__(self):
        self.counted, self.partial = [], []
        super().__init__("reader", [(np.uint8, 4)], None)

    def _work(self, input_items, output_items):
        for here in self.described(0, len(input_items[0])):
            self.counted.append(pmt.u64vector_elements(here["counted"])[0])
            self.partial.append("partial" in here)
        return len(input_items[0])


class qa_stream_states(gr_unittest.TestCase):
    def run_graph(self, block, found, chunks):
        Flowgraph(
            block, [np.zeros((len(COUNTED), 4), np.uint8)], [], tags=[found], chunks=chunks
        ).run()

    def test_block(self):
        """Lost items are lost until one is said to be whole, however calls are cut."""
        for chunks in (1, 2, 3, 100):
            block = watcher()
            for _ in range(2):  # a second start begins with nothing
                block.counted, block.times = [], []
                self.run_graph(block, tags_of(COUNTED), chunks)
                self.assertEqual(block.counted, COUNTED)
                self.assertEqual(block.events, {5: ["partial"]})
                off = [
                    seconds - EPOCH + fraction - 0.5 - item / RATE
                    for item, (seconds, fraction) in enumerate(block.times)
                ]
                np.testing.assert_allclose(off, 0, atol=4e-15)
            ours = reader()
            self.run_graph(ours, tags_of(COUNTED), chunks)
            self.assertIsNone(ours.error())
            self.assertEqual(ours.counted, COUNTED)
            self.assertEqual(np.flatnonzero(ours.partial).tolist(), [5])

    def test_that_begins_later(self):
        """Behind skip_head nothing is known until it is said, and the reader can say so."""
        block = watcher()
        top = gr.top_block()
        source = ByteSource(np.zeros((len(COUNTED), 4), np.uint8), tags_of(COUNTED), 3)
        top.connect(source, blocks.skiphead(4, 2), block)
        top.run()
        # item 0 is the source's item 2
        self.assertEqual(block.counted, [None] + COUNTED[3:])
        self.assertEqual(block.times, [None] * (len(COUNTED) - 2))
        self.assertEqual(block.states.since("counted"), 1)
        self.assertIsNone(block.states.since("spectra"))

    def test_values(self):
        """States that a user adds, events of which an item has several, what was said last."""
        self.assertTrue(aperture.stream_states.is_state("rx_freq"))
        self.assertFalse(aperture.stream_states.is_state("missing"))
        states = aperture.stream_states({"gain"})
        tags = []
        for item, key, value in ((1, "gain", 3), (2, "missing", 4), (2, "missing", 5)):
            tag = gr.tag_t()
            tag.offset, tag.key, tag.value = item, pmt.intern(key), pmt.from_long(value)
            tags.append(tag)
        runs = states.take(tags, 0, 4)
        self.assertEqual([(run.first, run.end) for run in runs], [(0, 1), (1, 2), (2, 3), (3, 4)])
        there = [sorted(run.at(run.first)) for run in runs]
        self.assertEqual(there, [[], ["gain"], ["gain", "missing"], ["gain"]])
        self.assertEqual([pmt.to_long(one) for one in runs[2].events["missing"]], [4, 5])
        self.assertEqual(sorted(states.said), ["gain"])
        states.forget()
        self.assertEqual(states.said, {})


if __name__ == "__main__":
    gr_unittest.run(qa_stream_states)
