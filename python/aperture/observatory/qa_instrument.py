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

    def test_settings_are_kept(self):
        """Another one of the same target takes its place; the next flowgraph gets them in their
        order, and one that it refuses is told, and is gone."""
        events, done = [], []
        self.instrument.on_publish(events.append)
        keep = self.instrument.keep
        keep("f_engine", "gains", {"gain": 2, "input": 0})
        keep("f_engine", "gains", {"gain": 3, "input": 1})
        keep("f_engine", "gains", {"gain": 4, "input": 0})
        keep("f_engine", "delays", {"delay": 1, "model": "a"})
        keep("f_engine", "delays", {"delay": 2, "model": "b", "input": 0})
        keep("beams", "weights", {"gain": 2, "beam": 1})
        keep("beams", "weights", {"mask": [1, 0]})

        def set_one(block, port, value):
            if block == "beams":
                raise ValueError("no such beam")
            done.append((port, *value.values()))

        self.instrument.restore(set_one)
        expected = [("gains", 3, 1), ("gains", 4, 0), ("delays", 1, "a"), ("delays", 2, "b", 0)]
        self.assertEqual(expected, done)
        alarms = [event["text"] for event in events if event["event"] == "alarm"]
        self.assertEqual(2, len(alarms))
        self.assertRegex(alarms[0], r"^not kept: beams/weights .*gain.*, set at 2.*: no such beam$")
        self.assertEqual(4, len(self.instrument.describe()["settings"]))
        # one for all takes the place of those of each
        keep("f_engine", "gains", {"gain": 5})
        done.clear()
        self.instrument.restore(port="gains")
        self.assertEqual([("gains", 5)], done)

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
