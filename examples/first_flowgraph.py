#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Two dishes, 10 m apart, look at one source: one second of samples, correlated into 256
channels. Prints the phase of the baseline, which slopes over the band by the source's delay.
Run it with tools/run python3 examples/first_flowgraph.py
"""

# the ten lines of README.md
from gnuradio import aperture, blocks, gr

flowgraph = gr.top_block()
source = aperture.array_source("two-dish", samples=2_400_000, inputs_per_port=2)
f_engine = aperture.pfb_channelizer(channels=256, inputs=2, inputs_per_port=2)
corner_turn = aperture.corner_turn(channels=256, inputs=2, inputs_per_port=2, spectra_per_frame=128)
x_engine = aperture.xengine(channels=256, inputs=2, spectra_per_frame=128, integration=10)
baseline = aperture.select(channels=256, inputs=2, products=[(1, 0)])
sink = blocks.vector_sink_c(256)
flowgraph.connect(source, f_engine, corner_turn, x_engine, baseline, sink)
flowgraph.run()

import numpy as np

# [integration][channel], each divided by its number of spectra
visibilities = np.reshape(sink.data(), (-1, 256))
print(f"{len(visibilities)} integrations of 256 channels")
for channel in range(16, 256, 32):
    mean = visibilities[:, channel].mean()
    print(
        f"channel {channel:3d}: amplitude {abs(mean):.3f}, "
        f"phase {np.degrees(np.angle(mean)):7.2f} degrees"
    )
