#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Tests of the samples of inputs."""

import numpy as np
import pmt
from gnuradio import blocks

from .qa_tools import run_chain

NUMBERS = {"sc8": "i1", "s8": "i1", "sc16": "<i2", "s16": "<i2", "fc32": "<f4", "f32": "<f4"}


def read_all(signals, samples=0):
    """
    Returns what the source of some Signals sends.

    samples: of each input, 0: all. Returns [time][input] or [time][input][re, im], and a list of
    tags as (offset, key, value).
    """
    source = signals.source(samples)
    sink = blocks.vector_sink_b(source.output_signature().sizeof_stream_item(0))
    run_chain(source, sink)
    shape = (-1, signals.inputs, *(() if signals.real else (2,)))
    return (
        np.array(sink.data(), np.uint8).view(NUMBERS[signals.sample_type]).reshape(shape),
        [
            (tag.offset, pmt.symbol_to_string(tag.key), pmt.to_python(tag.value))
            for tag in sink.tags()
        ],
    )
