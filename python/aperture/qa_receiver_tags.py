#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""receiver_tags: which tags are added, kept and replaced, and that samples are untouched."""

import threading
import time

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture import references
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.qa_tools import Flowgraph, rx_time, seconds_between, tags_of

RATE = 1000.0  # items a second: times of items are decimal numbers
START = (1700000000, 0.25)


class qa_receiver_tags(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(11)
        self.data = self.rng.integers(0, 256, (997, 3), dtype=np.uint8)

    def run_block(self, tags=(), chunks=100, **parameters):
        """The tags that come out of 997 items of 3 bytes, which pass unchanged."""
        block = aperture.receiver_tags(item_size=3, **parameters)
        outputs, out_tags = qa_tools.run(block, [self.data], [3], tags=[tags], chunks=chunks)
        np.testing.assert_array_equal(outputs[0], self.data)
        return out_tags[0]

    def check_times(self, tags, expected):
        """(item, seconds after START) of all rx_time, to a nanosecond."""
        found = [(item, seconds_between(value, START)) for item, value in tags_of(tags, "rx_time")]
        self.assertEqual([item for item, _ in found], [item for item, _ in expected])
        np.testing.assert_allclose(
            [seconds for _, seconds in found], [seconds for _, seconds in expected], atol=1e-9
        )

    def test_nothing_there(self):
        """A source without tags: all three are added, once."""
        tags = self.run_block(rate=RATE, center_frequency=1.42e9, clock="given", start_time=START)
        self.check_times(tags, [(0, 0)])
        self.assertEqual(tags_of(tags, "rx_rate"), [(0, RATE)])
        self.assertEqual(tags_of(tags, "rx_freq"), [(0, 1.42e9)])
        self.assertEqual(len(tags), 3)

    def test_host_clock(self):
        """By default the time is the host's, and said to be approximate."""
        before = time.time()
        tags = self.run_block(rate=RATE)
        after = time.time()
        ((item, (seconds, fraction)),) = tags_of(tags, "rx_time")
        self.assertEqual(item, 0)
        self.assertTrue(before - 1e-3 <= seconds + fraction <= after + 1e-3)
        self.assertEqual(tags_of(tags, "rx_time_approximate"), [(0, True)])
        self.assertEqual(tags_of(tags, "rx_freq"), [])

    def test_nothing_given(self):
        self.assertEqual(self.run_block(clock="none"), [])

    def test_keep(self):
        """Tags of the source stay as they are, and those that it lacks are added."""
        source = [
            (0, "rx_time", rx_time(5, 0.5)),
            (0, "rx_freq", 100e6),
            (300, "rx_time", rx_time(6, 0.0)),
            (300, "rx_rate", 7.0),
            (17, "mine", 3.0),
        ]
        tags = self.run_block(source, rate=RATE, center_frequency=1.42e9)
        expected = sorted(source + [(0, "rx_rate", RATE)])
        self.assertEqual(sorted((t.offset, t.key, t.value) for t in tags), expected)

    def test_replace(self):
        """The epoch is replaced; jumps of the source's clock are the same as before."""
        source = [
            (0, "rx_time", rx_time(5, 0.5)),
            (0, "rx_rate", 900.0),
            (0, "rx_freq", 100e6),
            (300, "rx_time", rx_time(6, 0.8)),  # a second lost
            (300, "rx_rate", 900.0),
            (300, "rx_freq", 100e6),
            (400, "rx_rate", 900.0),  # a loss of unknown length stays one
        ]
        tags = self.run_block(
            source,
            rate=RATE,
            center_frequency=1.42e9,
            clock="given",
            start_time=START,
            replace=True,
        )
        self.check_times(tags, [(0, 0), (300, 1.3)])
        self.assertEqual(tags_of(tags, "rx_rate"), [(0, RATE), (300, RATE), (400, RATE)])
        self.assertEqual(tags_of(tags, "rx_freq"), [(0, 1.42e9), (300, 1.42e9)])

    def run_changing(self, change, gate=501, **parameters):
        """Tags where change(block, graph) is called between items 500 and 501."""
        block = aperture.receiver_tags(item_size=3, **parameters)
        opened = threading.Event()
        graph = Flowgraph(block, [self.data], [3], gates={gate: opened})
        with graph.running():
            graph.sinks[0].wait_for(gate)
            change(block)
        np.testing.assert_array_equal(graph.sinks[0].data(), self.data)
        return graph.sinks[0].tags

    def test_tuning(self):
        """A frequency set while it runs is tagged at the next item, with its time: no loss."""
        tags = self.run_changing(
            lambda block: block.set_center_frequency(1.3e9),
            rate=RATE,
            center_frequency=1.42e9,
            clock="given",
            start_time=START,
        )
        self.assertEqual(tags_of(tags, "rx_freq"), [(0, 1.42e9), (501, 1.3e9)])
        self.check_times(tags, [(0, 0), (501, 0.501)])

    def test_frequency_that_is_said_again(self):
        """A frequency that is said again is no loss: the time is still known, which another one or
        the rate would end."""
        for key, value, known in (
            ("rx_freq", 1.42e9, True),
            ("rx_freq", 1.4e9, False),
            ("rx_rate", RATE, False),
        ):
            block = aperture.receiver_tags(item_size=3)
            opened = threading.Event()
            tags = [
                (0, "rx_time", START),
                (0, "rx_rate", RATE),
                (0, "rx_freq", 1.42e9),
                (100, key, value),
            ]
            graph = Flowgraph(block, [self.data], [3], tags=[tags], gates={501: opened})
            with graph.running():
                graph.sinks[0].wait_for(501)
                block.set_center_frequency(1.3e9)
            self.check_times(graph.sinks[0].tags, [(0, 0)] + [(501, 501 / RATE)] * known)

    def test_tuning_with_the_time_of_the_host(self):
        """A time reckoned from the host's clock is no truer than that."""
        tags = self.run_changing(lambda block: block.set_center_frequency(1.3e9), rate=RATE)
        self.assertEqual([item for item, _ in tags_of(tags, "rx_time")], [0, 501])
        self.assertEqual(tags_of(tags, "rx_time_approximate"), [(0, True), (501, True)])

    def test_tuning_by_message(self):
        """The messages that Soapy's and osmosdr's sources take; what is not ours is ignored."""
        for message in (
            pmt.cons(pmt.mp("freq"), pmt.from_double(1.3e9)),
            pmt.dict_add(
                pmt.dict_add(pmt.make_dict(), pmt.mp("freq"), pmt.from_double(1.3e9)),
                pmt.mp("gain"),
                pmt.from_double(20),
            ),
        ):

            def send(block):
                block.to_basic_block()._post(pmt.mp("command"), message)
                qa_tools.comes_true(lambda: block.center_frequency() == 1.3e9)

            tags = self.run_changing(
                send, rate=RATE, center_frequency=1.42e9, clock="given", start_time=START
            )
            self.assertEqual(tags_of(tags, "rx_freq"), [(0, 1.42e9), (501, 1.3e9)])
            self.check_times(tags, [(0, 0), (501, 0.501)])

    def test_rate_and_time(self):
        """A new rate counts from its item on, and a given time takes the place of the host's."""
        tags = self.run_changing(
            lambda block: (block.set_rate(2 * RATE), block.set_time((1700000009, 0.5))), rate=RATE
        )
        self.assertEqual(tags_of(tags, "rx_rate"), [(0, RATE), (501, 2 * RATE)])
        self.assertEqual(tags_of(tags, "rx_time")[1], (501, (1700000009, 0.5)))
        self.assertEqual(tags_of(tags, "rx_time_approximate"), [(0, True)])

    def test_correlator_sees_no_loss(self):
        """A change of frequency behind a channeliser neither moves nor loses anything."""
        tags = self.run_changing(
            lambda block: block.set_center_frequency(1.3e9),
            rate=RATE,
            center_frequency=1.42e9,
            clock="given",
            start_time=START,
        )
        block = aperture.pfb_channelizer(channels=4, taps=1, inputs=1, device="cpu")
        samples = np.zeros((len(self.data), 8), np.uint8)
        _, out_tags = qa_tools.run(block, [samples], [32], tags=[tags])
        self.assertEqual(
            tags_of(out_tags[0], "rx_freq")[0][1] - tags_of(out_tags[0], "rx_freq")[1][1],
            1.42e9 - 1.3e9,
        )
        self.assertEqual(sum(block.missing()), 1)  # the spectrum with both frequencies

    def test_restart(self):
        """Each start begins anew: the same tags, at the frequency that was set last."""
        block = aperture.receiver_tags(
            item_size=3, rate=RATE, center_frequency=1e9, clock="given", start_time=START
        )
        graph = Flowgraph(block, [self.data], [3])
        first = graph.run()[1]
        self.assertEqual(len(first[0]), 3)
        self.assertEqual(graph.run()[1], first)

    def test_assumed(self):
        """The port status and the log say what was assumed."""
        block = aperture.receiver_tags(item_size=3, rate=RATE, clock="given", start_time=START)
        graph = Flowgraph(block, [self.data], [3])
        graph.run()
        (said,) = [m for m in graph.messages() if m["event"] == "assumed"]
        self.assertEqual(said["rx_time"], START)
        self.assertEqual(said["rx_rate"], RATE)
        self.assertIn("no rx_freq is known", said["reason"])

    def test_wrong_tags(self):
        """A source's tags that cannot be what they say are refused, and are as if not there."""
        tuple_of = lambda seconds, rest: pmt.make_tuple(
            pmt.from_uint64(seconds), pmt.from_double(rest)
        )
        for key, wrong in (
            ("rx_rate", (0.0, -1.0, float("nan"), float("inf"), pmt.intern("x"))),
            ("rx_freq", (float("nan"), float("inf"), pmt.intern("x"))),
            ("rx_time", (tuple_of(0, -5.0), tuple_of(2**60, 0.0), pmt.intern("x"))),
        ):
            for value in wrong:
                block = aperture.receiver_tags(
                    item_size=3, rate=RATE, center_frequency=1e9, clock="given", start_time=START
                )
                tags = [(0, key, value), (100, key, value)]
                graph = Flowgraph(block, [self.data], [3], tags=[tags])
                found = graph.run()[1][0]
                self.assertEqual(tags_of(found, "rx_rate"), [(0, RATE)])
                self.assertEqual(tags_of(found, "rx_freq"), [(0, 1e9)])
                self.check_times(found, [(0, 0)])
                refused = [m for m in graph.messages() if m["event"] == "refused"]
                self.assertEqual(len(refused), 2)
                self.assertIn(key, refused[0]["reason"])

    def test_jump_out_of_time(self):
        """A source's clock that jumps to where no time is begins anew with what was reckoned."""
        tags = [
            (0, "rx_time", rx_time(2**31)),
            (100, "rx_time", rx_time(5)),
            (200, "rx_time", rx_time(5, 0.5)),
        ]
        found = self.run_block(tags, rate=RATE, clock="given", start_time=START, replace=True)
        self.check_times(found, [(0, 0), (100, 0.1), (200, 0.6)])

    def test_losses(self):
        """A rate that is said again and a time that jumps are losses, a time that agrees is not."""
        block = aperture.receiver_tags(item_size=3, rate=RATE)
        source = [
            (0, "rx_time", rx_time(5, 0.5)),
            (0, "rx_rate", RATE),
            (100, "rx_time", rx_time(5, 0.6004)),  # 0.4 items late: within its resolution
            (200, "rx_freq", 1e9),
            (300, "rx_time", rx_time(5, 0.801)),  # 0.6 items after what was said last
            (400, "rx_rate", RATE),
            (500, "rx_rate", RATE),
            (500, "rx_time", rx_time(6, 0.5)),
        ]
        qa_tools.run(block, [self.data], [3], tags=[source])
        self.assertEqual(block.losses(), 3)

    def test_finish(self):
        """The stream ends where the source sends nothing any more, and where it goes on."""
        block = aperture.receiver_tags(item_size=3)
        gates = {500: threading.Event()}
        graph = Flowgraph(block, [self.data], [3], gates=gates)
        graph.start()
        graph.sinks[0].wait_for(500)
        block.finish()
        self.assertTrue(qa_tools.comes_true(lambda: references.ended(block)))
        self.assertEqual(block.waiting(), 0)
        gates[500].set()
        graph.wait()
        self.assertEqual(graph.sinks[0].count, 500)
        # the source begins anew
        graph.sources[0].gates = {}
        graph.run()
        self.assertEqual(graph.sinks[0].count, len(self.data))

        endless, sink = blocks.null_source(3), blocks.null_sink(3)
        top = gr.top_block()
        top.connect(endless, block, sink)
        top.start()
        qa_tools.comes_true(lambda: sink.nitems_read(0))
        block.finish()
        waiter = threading.Thread(target=top.wait, daemon=True)
        waiter.start()
        waiter.join(qa_tools.PATIENCE)
        ended = not waiter.is_alive()
        top.stop()
        waiter.join()
        self.assertTrue(ended)

    def test_refused(self):
        for parameters in (
            {"item_size": 0},
            {"rate": -1},
            {"rate": float("inf")},
            {"center_frequency": float("nan")},
            {"clock": "gps"},
            {"start_time": (1, 1.0)},
        ):
            with self.assertRaisesRegex(ValueError, next(iter(parameters))):
                aperture.receiver_tags(**parameters)
        block = aperture.receiver_tags()
        for call in (
            lambda: block.set_rate(-1),
            lambda: block.set_center_frequency(float("inf")),
            lambda: block.set_time((2**60, 0.0)),
        ):
            with self.assertRaises(ValueError):
                call()


if __name__ == "__main__":
    gr_unittest.run(qa_receiver_tags)
