#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A sink of your own that averages visibilities, with what their tags say: how much was counted in
each integration, and when they began. Run it with
tools/run python3 examples/average_integrations.py
"""

import numpy as np
import pmt
from gnuradio import aperture, gr

CHANNELS, SPECTRA = 64, 128


class averager(gr.sync_block):
    """Averages integrations, each with the weight of what was counted in it."""

    def __init__(self, values):
        gr.sync_block.__init__(self, "averager", [(np.complex64, values)], None)
        self.states = aperture.stream_states()
        self.sum, self.weight, self.begin = np.zeros(values, complex), 0, None

    def work(self, input_items, output_items):
        count, first = len(input_items[0]), self.nitems_read(0)
        for run in self.states.take(self.get_tags_in_window(0, 0, count), first, first + count):
            if aperture.tags.counted not in run.states:
                raise ValueError(f"nobody said what was counted in item {run.first}")
            counted = max(pmt.u64vector_elements(run.states[aperture.tags.counted]))
            part = input_items[0][run.first - first : run.end - first]
            self.sum += counted * part.sum(axis=0)
            self.weight += counted * len(run)
            self.begin = self.begin or run.time(run.first)
        return count


if __name__ == "__main__":
    top = gr.top_block()
    sky = aperture.array_source("two-dish", samples=1_000_000)
    frames = dict(channels=CHANNELS, inputs=2, spectra_per_frame=SPECTRA)
    f_engine = aperture.f_engine(input_type="fc32", output_type="fc32", **frames)
    x_engine = aperture.xengine(type="fc32", integration=10, **frames)
    sink = averager(3 * CHANNELS)
    top.connect((sky, 0), (f_engine, 0))
    top.connect((sky, 1), (f_engine, 1))
    top.connect(f_engine, x_engine, sink)
    top.run()
    mean = (sink.sum / sink.weight).reshape(CHANNELS, 3)  # products 00, 10, 11
    powers = mean[:, [0, 2]].real.mean(axis=0)
    coherence = np.abs(mean[:, 1]).mean() / np.sqrt(powers.prod())
    print(f"{sink.weight} spectra from {sink.begin[0]} s on: coherence {coherence:.2f}")
