#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A noise source with a switch: stream_align switches it on, measures, and switches it off; no sample
with the source in it passes for one of the antennas', and what is missing is counted.

The receivers are a double: what they make of the sky and of the source is known of each sample,
and so is in which the source was on, as it keeps when its switch acted.
"""

import threading

import numpy as np
import pmt
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture.streams.tag_values import dictionary
from gnuradio.aperture.testing.qa_tools import (
    ByteSink,
    Keeper,
    Running,
    comes_true,
    ends_flowgraph,
    from_pmt,
    gr_tags,
    rx_time,
    tags_of,
    until_taken,
)

RATE = 2.0**20
SEARCH, OFFSET = 1 << 14, 1 << 12
PIECE = 4096
SETTLE = 0.06  # s: the buffers hold 2 (SEARCH + OFFSET) samples, and pieces
START, PHASE = 1000, 1.0
SKY, NOISE = 0.2, 0.9  # coherences


def random(rng, count):
    parts = rng.standard_normal(2 * count, dtype=np.float32)
    return parts.view(np.complex64) / np.float32(np.sqrt(2))


class SwitchedReceivers(gr.sync_block):
    """
    Two receivers of `count` samples each, the second of which begins START samples later and has
    another phase, PHASE more after each of `retunes` (samples of the first one). Message port
    `noise`: {"noise": true} switches the source on from `delay` samples behind those that were
    sent; dead: it does not.

    It waits while `busy()`, so that what passes does not depend on how fast a search is.

    `deaf`: sample of the sky's clock from which on the second one hears nothing in common.

    `on`: bool [sample of the sky's clock], whether the source was on; the first receiver's
    samples are those of that clock.
    """

    def __init__(self, count, delay=500, dead=False, sky=SKY, retunes=(), deaf=None, seed=1):
        gr.sync_block.__init__(self, "switched receivers", None, [np.complex64] * 2)
        rng = np.random.default_rng(seed)
        self.count, self.delay, self.dead, self.retunes = count, delay, dead, retunes
        clock = np.arange(count + START)
        tuned = np.searchsorted(retunes, clock, side="right")
        common = [(coherence, random(rng, count + START)) for coherence in (sky, NOISE)]
        # [port]: complex64 of all of the sky's clock, without and with the source
        self.heard = []
        for port in range(2):
            own, phases = random(rng, count + START), np.exp(1j * port * PHASE * (1 + tuned))
            heard = []
            for coherence, signal in common:
                mixed = np.sqrt(coherence) * phases * signal + np.sqrt(1 - coherence) * own
                if deaf is not None and port == 1:
                    mixed[deaf:] = own[deaf:]
                heard.append(mixed.astype(np.complex64))
            self.heard.append(heard)
        self.on = np.zeros(count + START, bool)
        self.told, self.sent, self.error, self.gates = [], 0, None, {}
        self.busy = lambda: False
        self.lock = threading.Lock()
        self.message_port_register_in(pmt.intern("noise"))
        self.set_msg_handler(pmt.intern("noise"), self.switch)

    def switch(self, message):
        on = from_pmt(message)["noise"]
        with self.lock:
            self.told.append(on)
            if not self.dead:
                # behind what any of the two has sent
                self.on[self.sent + START + self.delay :] = on

    def made(self, port, first, count):
        """complex64 of a port's samples, as the source is known to be at the moment."""
        clock = slice(first + port * START, first + port * START + count)
        without, with_source = self.heard[port]
        return np.where(self.on[clock], with_source[clock], without[clock])

    @ends_flowgraph
    def work(self, input_items, output_items):
        comes_true(lambda: not self.busy())
        with self.lock:
            count = min(len(output_items[0]), self.count - self.sent, PIECE)
            if count == 0:
                return -1
            for port, out in enumerate(output_items):
                out[:count] = self.made(port, self.sent, count)
                tags = {0: {"rx_time": rx_time(0), "rx_rate": RATE, "rx_freq": 1e9}}
                for at in self.retunes:
                    item = at - port * START
                    # without a time it would be a loss
                    stamp = rx_time(item // int(RATE), item % int(RATE) / RATE)
                    tags[item] = {"rx_time": stamp, "rx_freq": 1e9 + at}
                for item, values in tags.items():
                    if self.sent <= item < self.sent + count:
                        for tag in gr_tags(item, values):
                            self.add_item_tag(port, item, tag.key, tag.value)
            self.sent += count
        return count


class Run(Running):
    """A flowgraph of such receivers and a stream_align; `steps`: functions that are called once so
    many samples were sent, {samples: function of self}."""

    def __init__(self, receivers, steps=None, switched=True, **parameters):
        self.receivers, self.steps = receivers, dict(steps or {})
        self.align = aperture.stream_align(
            **{
                "inputs": 2,
                "search_samples": SEARCH,
                "most_offset": OFFSET,
                "watch": 0.05,
                "noise_source": "message",
                "noise_settle": SETTLE,
                "noise_patience": 0.5,
                **parameters,
            }
        )
        receivers.busy = self.align.searching
        self.top = gr.top_block()
        self.sources = [receivers]
        self.sinks = [ByteSink(8, seed=port) for port in range(2)]
        self.status = Keeper()
        for port, sink in enumerate(self.sinks):
            self.top.connect((receivers, port), (self.align, port))
            self.top.connect((self.align, port), sink)
        if switched:
            self.top.msg_connect(self.align, "noise", receivers, "noise")
        self.top.msg_connect(self.align, "status", self.status, "in")
        with self.running():
            for samples, step in sorted(self.steps.items()):
                comes_true(lambda: receivers.sent >= samples)
                step(self)
        self.data = [sink.data().view(np.complex64)[:, 0] for sink in self.sinks]
        self.missing = np.zeros((2, len(self.data[0])), bool)
        for port, sink in enumerate(self.sinks):
            for item, entry in tags_of(sink.tags, "missing"):
                self.missing[port, item : item + entry["count"]] = True

    def events(self, name):
        return [message for message in self.status.kept if message["event"] == name]


class qa_noise_source(gr_unittest.TestCase):
    def check(self, run, cycles=1):
        """
        Samples that pass are those that the receivers made of the sky; all others are missing, and
        counted. Returns [(first, behind)] of what was flagged in each cycle, which is missing
        on all inputs.
        """
        receivers, align = run.receivers, run.align
        self.assertEqual(receivers.told, [True, False] * cycles)
        np.testing.assert_array_equal(run.missing.sum(axis=1), align.zeros())
        # the first receiver's samples are those of the clock; where the output is held back until
        # both have a place, those that the second one has not are dropped
        count, held = len(run.data[0]), align.dropped()[0]
        self.assertEqual(count, receivers.count - held)
        for port in range(2):
            there = np.flatnonzero(~run.missing[port])
            self.assertFalse(np.any(receivers.on[there + held]))
            wanted = receivers.made(port, held - port * START, count)
            np.testing.assert_array_equal(run.data[port][there], wanted[there])
            self.assertFalse(np.any(run.data[port][run.missing[port]]))
        both = run.missing.all(axis=0)
        edges = np.flatnonzero(np.diff(np.r_[0, both.astype(np.int8), 0])).reshape(-1, 2)
        counts = [event["count"] for event in run.events("noise_ended")]
        self.assertEqual(counts, (edges[:, 1] - edges[:, 0]).tolist())
        self.assertEqual(sum(counts), align.noise_samples())
        self.assertEqual([m["noise"] for m in run.events("noise")], [True, False] * cycles)
        return edges

    def aligned(self, run, phases):
        self.assertEqual(run.align.aligned(), [True, True])
        self.assertAlmostEqual(run.align.offsets()[1], START, delta=0.01)
        wrapped = np.angle(np.exp(1j * (run.align.phases()[1] + phases * PHASE)))
        # SEARCH samples of a coherence of 0.9: 0.003 rad
        self.assertAlmostEqual(wrapped, 0, delta=0.02)
        self.assertFalse(run.align.noise_on())
        self.assertEqual(run.events("noise_silent") + run.events("noise_stays"), [])

    def test_start(self):
        """On, measured, off; what comes after is aligned, and nothing of it has the source."""
        run = Run(SwitchedReceivers(600000))
        ((first, behind),) = self.check(run)
        self.aligned(run, 1)
        self.assertEqual(first, 0)
        # settling, a search, three windows of 8192 samples, and what waits in buffers each time
        self.assertLess(behind, 400000)
        # the true off lies in the windows before the end
        self.assertGreaterEqual(behind - np.flatnonzero(run.receivers.on)[-1], 8192)

    def test_tuned(self):
        """From the first sample of another frequency on, all is missing until it was measured."""
        run = Run(SwitchedReceivers(1200000, retunes=(600001,)))
        cycles = self.check(run, 2)
        self.assertEqual(cycles[1][0], 600001)
        self.aligned(run, 2)

    def test_tuned_while_it_is_on(self):
        """One cycle, which is measured anew: the source is not switched in between."""
        run = Run(SwitchedReceivers(700000, retunes=(50001,)))
        self.check(run)
        self.aligned(run, 2)

    def test_told(self):
        """Measured on request, and by an interval."""
        run = Run(SwitchedReceivers(1000000), {500000: lambda run: run.align.measure()})
        cycles = self.check(run, 2)
        # not before the request; the receivers are ahead by what waits in buffers
        self.assertGreater(cycles[1][0], 400000)
        self.aligned(run, 1)
        run = Run(SwitchedReceivers(1500000), interval=0.4)
        cycles = self.check(run, len(run.events("noise_ended")))
        self.assertGreaterEqual(len(cycles), 2)
        gaps = cycles[1:, 0] - cycles[:-1, 1]
        # cycles begin and end with calls, which take what is there
        self.assertTrue(np.all((gaps >= 0.35 * RATE) & (gaps < 0.6 * RATE)), gaps)

    def test_dead_switch(self):
        """Nothing correlates: said once, however often it is tried, and the flowgraph goes on."""
        run = Run(SwitchedReceivers(1500000, dead=True, sky=0), noise_patience=0.1)
        self.assertGreaterEqual(len(run.events("noise_silent")), 1)
        self.assertIn("does not answer", run.events("noise_silent")[0]["reason"])
        tried = len(run.receivers.told) // 2
        self.assertEqual(run.receivers.told, [True, False] * tried)
        self.assertEqual(run.align.aligned(), [True, False])
        self.assertEqual(len(run.data[0]), 1500000)
        # the reference, whose place is known, passes between the tries
        self.assertEqual(run.align.zeros(), [run.align.noise_samples(), 1500000])
        self.assertLess(run.align.noise_samples(), 1000000)

    def test_sky_as_strong(self):
        """A sky of the same coherence lines inputs up as well, and nobody can say that the switch
        acts: the samples pass once the patience is over."""
        run = Run(SwitchedReceivers(900000, dead=True, sky=0.95))
        self.assertEqual(len(run.events("noise_stays")), 1)
        self.assertEqual(run.align.aligned(), [True, True])
        ((first, behind),) = self.check(run)
        off = next(m["item"] for m in run.events("noise") if not m["noise"])
        # within the call that the patience ends in
        self.assertGreaterEqual(behind - off, 0.5 * RATE)
        self.assertLess(behind - off, 0.6 * RATE)

    def test_by_hand(self):
        """Somebody switches, and says so, on the command port or by a method."""

        def switched(run, on):
            run.receivers.switch(dictionary({"noise": pmt.from_bool(on)}))

        def on(run):
            name = pmt.intern("command")
            command = pmt.cons(name, pmt.intern("noise_on"))
            until_taken(run.align, "command", command)
            switched(run, True)

        def off(run):
            switched(run, False)
            run.align.switch_noise(False)

        run = Run(
            SwitchedReceivers(1200000, sky=0.5),
            {300000: on, 700000: off},
            switched=False,
            noise_source="none",
        )
        ((first, behind),) = self.check(run)
        heard = np.flatnonzero(run.receivers.on) - run.align.dropped()[0]
        self.assertLess(first, heard[0])
        self.assertGreater(behind, heard[-1])
        self.aligned(run, 1)

    def test_tuned_twice_by_hand(self):
        """Tuned again before there are samples to search all offsets for an input that is no
        longer heard: the search ends, and the flowgraph goes on."""
        run = Run(
            SwitchedReceivers(700000, sky=0.5, deaf=300000, retunes=(400001, 412001)),
            {300000: lambda run: run.align.switch_noise(True)},
            switched=False,
            noise_source="none",
            most_offset=SEARCH,
            watch=0,
        )
        self.assertEqual(len(run.data[0]), 700000 - run.align.dropped()[0])
        self.assertEqual(run.align.aligned(), [True, True])
        self.assertTrue(run.align.noise_on())
        self.assertGreaterEqual(len(run.events("not_aligned")), 1)

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "noise_source: message is not allowed"):
            aperture.stream_align(inputs=1, noise_source="message")
        for name, value in (("noise_settle", -1), ("noise_patience", 0), ("noise_source", "gpio")):
            with self.assertRaisesRegex(ValueError, name):
                aperture.stream_align(**{name: value})


if __name__ == "__main__":
    gr_unittest.run(qa_noise_source)
