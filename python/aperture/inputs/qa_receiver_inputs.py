#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The text that names receivers, what is allowed, and packages that are missing.

tests/test_receivers.py runs receivers.
"""

import importlib
from unittest import mock

from gnuradio import gr_unittest

from gnuradio.aperture.inputs import receivers, registry
from gnuradio.aperture.inputs.debian import MissingPackageError
from gnuradio.aperture.inputs.input_format import InputError


class qa_receiver_inputs(gr_unittest.TestCase):
    def parse(self, text):
        found, rest = registry.find_kind(text)
        return found.parse(rest)

    def test_texts(self):
        """Keys of the table are for all, wherever they stand; others belong to their device."""
        request = self.parse(
            "soapy:driver=a,serial=1,rate=2.4e6;gain=20,driver=b\\,c,x=1;y,freq=1e9"
        )
        self.assertEqual(request.names, ("driver=a,serial=1", "driver=b,c,x=1", "y"))
        self.assertEqual(request.values, {"rate": 2.4e6, "gain": 20, "freq": 1e9})
        request = self.parse("uhd:rate=1e6,freq=0")
        self.assertEqual(request.names, ("",))
        self.assertEqual(request.values, {"rate": 1e6, "freq": 0})

    def test_what_is_wrong_in_a_text(self):
        for text, problem in (
            ("soapy:driver=a,freq=1e9", "rate is missing, samples a second of each input: rate=HZ"),
            (
                "soapy:driver=a,rate=1e6",
                "freq is missing, frequency of the middle of the band on the sky: freq=HZ",
            ),
            ("soapy:driver=a,rate=1e6;driver=b,rate=2e6", "rate is given twice"),
            ("soapy:driver=a,,rate=1e6,freq=1e9", "there is nothing between two commas"),
            ("soapy:driver=a;driver=a,rate=1e6,freq=1e9", "driver=a is named twice"),
            ("soapy:rate=1e6,freq=1e9;", "one receiver is named twice"),
            ("soapy:driver=a,rate=0,freq=1e9", "rate=0: expected a number from 1 to 1e"),
            ("soapy:driver=a,rate=1e6,freq=1e9,channels=0", "channels=0: expected a whole"),
            ("soapy:driver=a,rate=1e6,freq=1e9,clock=", "clock=: expected a name"),
            ("soapy:driver=a,rate=1e6,freq=1e9,noise=", "noise=: expected SETTING or gpio:BANK"),
            ("soapy:driver=a,rate=1e6,freq=1e9,noise=gpio:FP0", "expected SETTING or gpio:BANK"),
            ("soapy:driver=a,rate=1e6,freq=1e9,noise=x@0", "with @N for the Nth receiver"),
        ):
            with self.subTest(text=text), self.assertRaises(InputError) as caught:
                self.parse(text)
            self.assertIn(problem, str(caught.exception))
            self.assertTrue(str(caught.exception).startswith(f"input {text}: "))

    def test_noise_switches(self):
        for text, switch in (
            ("biastee", receivers.NoiseSwitch(0, "biastee")),
            ("biastee@2", receivers.NoiseSwitch(1, "biastee")),
            ("gpio:FP0:3", receivers.NoiseSwitch(0, "FP0", 3)),
            ("gpio:MAIN:0@3", receivers.NoiseSwitch(2, "MAIN", 0)),
        ):
            self.assertEqual(receivers.NoiseSwitch.read(text), switch)
            self.assertEqual(str(switch), text.partition("@")[0])

    def test_ranges(self):
        ranges = receivers.Ranges(((225001.0, 300000.0), (900001.0, 3.2e6), (1420.4e6, 1420.4e6)))
        self.assertEqual(str(ranges), "225.001 kHz to 300 kHz, 900.001 kHz to 3.2 MHz, 1420.4 MHz")
        for value, allowed in ((225001, True), (2.4e6, True), (5e5, False), (1420.4e6, True)):
            self.assertEqual(ranges.allow(value), allowed)
        # a driver that does not say is asked
        self.assertTrue(receivers.Ranges(()).allow(1.0))
        self.assertEqual(receivers.quantity(-1.5, "dB"), "-1.5 dB")

    def test_missing_packages(self):
        """The error names the package of the distribution."""
        found = importlib.import_module
        for text, module, package in (
            ("soapy:a", "SoapySDR", "python3-soapysdr"),
            ("soapy:a", "gnuradio.soapy", "gnuradio"),
            ("uhd:a", "gnuradio.uhd", "gnuradio"),
            ("osmosdr:a", "osmosdr", "gr-osmosdr"),
        ):

            def without(name, *arguments, missing=module):
                if name == missing:
                    raise ImportError(f"No module named '{name}'")
                return (
                    mock.MagicMock()
                    if name in ("gnuradio.soapy", "SoapySDR")
                    else found(name, *arguments)
                )

            with (
                self.subTest(module=module),
                mock.patch.object(importlib, "import_module", without),
                self.assertRaisesRegex(
                    MissingPackageError, f"this needs {module} .*: sudo apt install {package}$"
                ),
            ):
                registry.open_input(text + ",rate=1e6,freq=1e9")


if __name__ == "__main__":
    gr_unittest.run(qa_receiver_inputs)
