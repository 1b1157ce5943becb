#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A watcher of an instrument sees its blocks, and is told of what happens."""

import json

from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture.observatory.instrument import Instrument


class qa_instrument(gr_unittest.TestCase):
    def setUp(self):
        self.instrument = Instrument("lab", {"input": {"source": "sim:y8"}}, "1.2.3")
        self.top = gr.top_block()

    def test_describes_its_blocks_in_plain_values(self):
        self.instrument.replace(self.top, {"debug": blocks.message_debug()}, {"array": {"n": 2}})
        about = json.loads(json.dumps(self.instrument.describe()))
        self.assertEqual("lab", about["name"])
        self.assertEqual("1.2.3", about["version"])
        self.assertEqual({"n": 2}, about["array"])
        self.assertEqual("message_debug", about["blocks"]["debug"]["type"])
        self.assertIn("print", about["blocks"]["debug"]["in"])
        self.assertEqual("sim:y8", about["configuration"]["input"]["source"])

    def test_refuses_names_that_a_path_could_be(self):
        for name in ("", "a/b", "../x", "x" * 65, "ä"):
            with self.assertRaisesRegex(ValueError, "blocks"):
                self.instrument.replace(self.top, {name: blocks.message_debug()})

    def test_hooks_see_each_flowgraph_before_it_starts(self):
        seen = []
        self.instrument.before_start(lambda instrument: seen.append(instrument.top))
        self.assertEqual([], seen)
        other = gr.top_block()
        for top in (self.top, other):
            self.instrument.replace(top, {})
        self.assertEqual([self.top, other], seen)

    def test_one_that_fails_is_not_called_again(self):
        events = []

        def fails(event):
            raise RuntimeError("gone")

        self.instrument.on_publish(fails)
        self.instrument.on_publish(events.append)
        self.instrument.set_state("running")
        self.instrument.publish("alarm", text="x")
        self.assertEqual(
            [("state", "running"), ("alarm", None)],
            [(event["event"], event.get("state")) for event in events],
        )
        self.assertEqual(["RuntimeError: gone"], self.instrument.failed_hooks)


if __name__ == "__main__":
    gr_unittest.run(qa_instrument)
