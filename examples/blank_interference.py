#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A block of your own between two of gr-aperture's: it blanks the channels with interference
before they are correlated. With a GPU and CuPy the frames stay on the GPU; without, the same
block runs on the CPU. Run it with tools/run python3 examples/blank_interference.py
"""

import numpy as np
from gnuradio import analog, aperture, blocks, gr

CHANNELS, INPUTS, SPECTRA = 64, 2, 128


class blanker(aperture.device_block):
    """Sets to zero the channels of a frame that have 3 times the power of most channels."""

    def __init__(self, device):
        frame = (np.complex64, (CHANNELS, INPUTS, SPECTRA))
        super().__init__("blanker", [frame], [frame], device=device, arrays="cupy")

    def work(self, inputs, outputs):
        xp = self.xp  # CuPy on a GPU, otherwise NumPy
        power = xp.mean(xp.abs(inputs[0]) ** 2, axis=-1, keepdims=True)
        good = power < 3 * xp.median(power, axis=1, keepdims=True)
        xp.multiply(inputs[0], good, out=outputs[0])


def correlate(blank):
    """Mean amplitude of the baseline in each channel."""
    try:
        import cupy  # noqa: F401

        device = "auto"
    except ImportError:
        device = "cpu"
    top = gr.top_block()
    sky = aperture.array_source("two-dish", samples=1_000_000)
    rate = aperture.load_array("two-dish").sample_rate
    carrier = analog.sig_source_c(rate, analog.GR_COS_WAVE, 10 * rate / CHANNELS, 1)
    f_engine = aperture.f_engine(
        channels=CHANNELS,
        inputs=INPUTS,
        spectra_per_frame=SPECTRA,
        input_type="fc32",
        output_type="fc32",
        device=device,
    )
    x_engine = aperture.xengine(
        channels=CHANNELS,
        inputs=INPUTS,
        spectra_per_frame=SPECTRA,
        type="fc32",
        integration=10,
        device=device,
    )
    sink = blocks.vector_sink_c(CHANNELS * 3)
    for port in range(INPUTS):
        add = blocks.add_cc()
        top.connect((sky, port), (add, 0))
        top.connect(carrier, (add, 1))
        top.connect(add, (f_engine, port))
    top.connect(f_engine, *([blanker(device)] if blank else []), x_engine, sink)
    top.run()
    products = np.reshape(sink.data(), (-1, CHANNELS, 3))
    return np.abs(products[:-1, :, 1].mean(axis=0))  # the last one is shorter


for blank in (False, True):
    amplitude = correlate(blank)
    print(
        f"{'blanked' if blank else 'as it comes'}: amplitude in the carrier's channel "
        f"{amplitude[CHANNELS // 2 + 10]:.2f}, in most channels {np.median(amplitude):.2f}"
    )
