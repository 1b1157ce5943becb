#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""stream_states in Python, as blocks of users have it: what tags say holds until it changes."""

import threading
from collections import Counter

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.streams.python_block import python_block
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    ByteSource,
    Flowgraph,
    comes_true,
    frame_tags,
    rx_time,
)

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

    def __init__(self, size=4):
        gr.sync_block.__init__(self, "watcher", [(np.uint8, size)], None)
        self.states = aperture.stream_states()
        self.counted, self.times, self.events = [], [], {}
        self.said, self.first = Counter(), None

    def work(self, input_items, output_items):
        count, first = len(input_items[0]), self.nitems_read(0)
        if self.first is None:
            self.first = first
        tags = self.get_tags_in_window(0, 0, count)
        self.said.update(pmt.symbol_to_string(tag.key) for tag in tags)
        for run in self.states.take(tags, first, first + count):
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

    def detector(self, frames, losses=(), **options):
        """A source of frames of 4 spectra, 50 spectra a second, and power_detector with
        integrations of one. losses: an item, and how many frames are lost up to it."""
        tags = frame_tags(rate=12.5)
        for item, lost in losses:
            tags.append((item, "rx_time", rx_time(EPOCH, (item + lost) / 12.5)))
        source = ByteSource(np.ones((frames, 2 * 4 * 8), np.uint8), tags, 3, **options)
        block = aperture.power_detector(
            channels=2, beams=1, spectra_per_frame=4, spectra=1, type="fc32", device="cpu"
        )
        return source, block

    def test_detector(self):
        """Lost integrations in a row, of power_detector: what its tags say of each, which it says
        where they change, and again once a second."""
        source, detector = self.detector(70, [(10, 2), (30, 3)])
        block, top = watcher(8), gr.top_block()
        top.connect(source, detector, block)
        top.run()
        expected = np.ones((70 + 2 + 1) * 4, int)
        expected[40:48] = expected[128:132] = 0
        self.assertEqual(block.counted, expected.tolist())
        off = [
            seconds - EPOCH + fraction - item / 50
            for item, (seconds, fraction) in enumerate(block.times)
        ]
        np.testing.assert_allclose(off, 0, atol=1e-12)
        # 292 integrations are 5.84 s
        said = {"rx_time": 6, "spectra": 6, "counted": 6 + 4, "rx_rate": 1}
        self.assertEqual({key: block.said[key] for key in said}, said)

    def test_detector_that_is_read_later(self):
        """Behind skip_head time and counts are known after a second of the stream."""
        source, detector = self.detector(40)
        block, top = watcher(8), gr.top_block()
        top.connect(source, detector, blocks.skiphead(8, 7), block)
        top.run()
        self.assertEqual(block.counted, [None] * 43 + [1] * (160 - 50))
        self.assertEqual(block.states.since("spectra"), 43)

    def test_detector_that_is_connected_later(self):
        """A block that comes between lock() and unlock() knows all from its first item on."""
        gate = threading.Event()
        source, detector = self.detector(4000, gates={20: gate})
        block, other, top = watcher(8), watcher(8), gr.top_block()
        top.connect(source, detector, other)
        top.start()
        comes_true(lambda: len(other.counted) == 80)
        top.lock()
        top.connect(detector, block)
        gate.set()
        top.unlock()
        comes_true(lambda: len(block.counted) > 100)
        top.stop()
        top.wait()
        for each in (block, other):
            self.assertEqual(set(each.counted), {1})
        self.assertEqual(block.states.since("spectra"), block.first)

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
