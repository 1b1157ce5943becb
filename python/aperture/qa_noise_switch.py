#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""noise_switch: what receivers understand, by the handlers of gr-soapy and gr-uhd."""

import pmt
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture.streams.tag_values import dictionary
from gnuradio.aperture.testing.qa_tools import NO_END, Keeper, until_taken


class qa_noise_switch(gr_unittest.TestCase):
    def run_switch(self, messages, **parameters):
        block, keeper = aperture.noise_switch(**parameters), Keeper()
        top = gr.top_block()
        top.msg_connect(block, "command", keeper, "in")
        top.start()
        for message in messages:
            until_taken(block, "noise", message)
        for one in (block, keeper):
            until_taken(one, *NO_END)  # earlier messages have been dealt with
        top.stop()
        top.wait()
        return keeper.kept

    ON = dictionary({"noise": pmt.PMT_T})
    OFF = dictionary({"noise": pmt.PMT_F})

    def test_settings(self):
        found = self.run_switch([self.ON, self.OFF], by="setting", name="biastee")
        self.assertEqual(
            found, [{"setting": {"key": "biastee", "value": text}} for text in ("true", "false")]
        )
        found = self.run_switch([self.ON, self.OFF], by="setting", name="x", inverted=True)
        self.assertEqual([m["setting"]["value"] for m in found], ["false", "true"])

    def test_several(self):
        """Two blocks ask: it is on as long as one of them wants it."""
        on, off = [
            dictionary({"noise": pmt.from_bool(wanted), "model": "calibration"})
            for wanted in (True, False)
        ]
        asked = [on, self.ON, on, off, self.OFF, self.ON, on, self.OFF, off]
        found = self.run_switch(asked, by="setting", name="x")
        self.assertEqual(
            [m["setting"]["value"] == "true" for m in found],
            [True, True, True, True, False, True, True, True, False],
        )

    def test_pins(self):
        pins = {"bank": "FP0", "mask": 8}
        found = self.run_switch([self.ON, self.OFF], by="uhd", name="FP0", pin=3)
        attributes = [("CTRL", 0), ("DDR", 8), ("OUT", 8), ("OUT", 0)]
        self.assertEqual(
            found, [{"gpio": {**pins, "attr": attr, "value": v}} for attr, v in attributes]
        )
        found = self.run_switch([self.ON, self.OFF], by="gpio", name="FP0", pin=3)
        self.assertEqual(
            found,
            [{"gpio_dir": {**pins, "dir": 8}}] + [{"gpio": {**pins, "value": v}} for v in (8, 0)],
        )

    def test_call(self):
        """A function is called; one that fails ends nothing, and at the end it is off."""
        called = []

        def call(on):
            called.append(on)
            if len(called) == 1:
                raise RuntimeError("there is no such setting")

        button = pmt.cons(pmt.intern("noise"), pmt.from_long(1))
        self.run_switch([button, self.OFF, self.ON], by="call", call=call)
        self.assertEqual(called, [True, False, True, False])

    def test_refused(self):
        for name, parameters in (
            ("call", {"by": "call"}),
            ("call", {"by": "call", "call": 1}),
            ("call", {"call": print}),
            ("name", {"name": ""}),
            ("pin", {"by": "uhd", "pin": 32}),
            ("by", {"by": "soapy"}),
        ):
            with self.subTest(parameters), self.assertRaisesRegex(ValueError, f"^{name}: "):
                aperture.noise_switch(**parameters)


if __name__ == "__main__":
    gr_unittest.run(qa_noise_switch)
