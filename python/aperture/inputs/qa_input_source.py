#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Inputs as one block."""

import numpy as np
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import array_source, input_source
from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import run_chain
from gnuradio.aperture.testing.recordings import noise, small_array, write_dada


class qa_input_source(InFolder, gr_unittest.TestCase):
    def read(self, source):
        sink = blocks.vector_sink_b(source.output_signature().sizeof_stream_item(0))
        run_chain(source, sink)
        return np.array(sink.data(), np.uint8)

    def test_recording(self):
        samples = noise(3001)
        write_dada(self.path("a.dada"), samples)
        source = input_source(f"dada:{self.path('a.dada')}", type="sc8")
        np.testing.assert_array_equal(self.read(source).view(np.int8).reshape(-1, 2, 2), samples)
        self.assertEqual((source.sample_rate(), source.center_frequency()), (16e6, 320e6))
        self.assertEqual(source.start_time()[1], 0.0)
        self.assertEqual(
            (source.array().name, source.error(), source.inverted()), ("Effelsberg", "", False)
        )
        part = input_source(f"dada:{self.path('a.dada')}", type="sc8", samples=17)
        self.assertEqual(len(self.read(part)), 17 * 4)

    def test_simulation(self):
        """The same samples as array_source gives for the default seed."""
        found = self.read(input_source(samples=1001))
        expected = self.read(array_source(samples=1001, inputs_per_port=2))
        np.testing.assert_array_equal(found, expected)

    def test_array(self):
        write_dada(self.path("a.dada"), noise(100))
        save_array(small_array(), self.path("line.yaml"))
        source = input_source(f"dada:{self.path('a.dada')}", "sc8", array=self.path("line.yaml"))
        self.assertEqual(source.array().name, "line")

    def test_end(self):
        """An endless simulation ends where it is told to."""
        source = input_source()
        sink = blocks.null_sink(16)
        top = gr.top_block()
        top.connect(source, sink)
        top.start()
        source.finish()
        top.wait()

    def test_errors(self):
        write_dada(self.path("a.dada"), noise(100))
        text = f"dada:{self.path('a.dada')}"
        for arguments, problem in (
            (dict(input="wav:x"), "^input wav:x: expected KIND:NAME, where KIND is dada"),
            (dict(input=3), "^input: 3 is not allowed; it must be a text, KIND:NAME"),
            (dict(input=text), "^type: 'fc32' is not allowed; it must be 'sc8', which is what"),
            (dict(input=text, type="sc8", inputs=3), "^inputs: 3 is not allowed; it must be 2"),
            (
                dict(input=text, type="sc8", samples=101),
                "^samples: 101 is not allowed; it must be from 0 to the 100 that",
            ),
            (
                dict(samples=-1),
                "^samples: -1 is not allowed; it must be a whole number of 0 or more",
            ),
            (dict(array="y8"), "^array y8: a simulation has its array in its input"),
        ):
            with self.subTest(arguments=arguments), self.assertRaisesRegex(ValueError, problem):
                input_source(**arguments)


if __name__ == "__main__":
    gr_unittest.run(qa_input_source)
