# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples of recordings, and how many of them are neither what was recorded nor missing."""

from fractions import Fraction

import numpy as np
import pmt
from gnuradio import blocks

from gnuradio.aperture.testing.qa_tools import run_chain


def run(signals, samples=0):
    """Returns what the source sends, as components [item][input][re, im], its tags, and the
    source."""
    source = signals.source(samples)
    dtype = np.dtype(np.int16 if "16" in signals.sample_type else np.int8)
    dimensions = 2 if "c" in signals.sample_type else 1
    sink = blocks.vector_sink_b(signals.inputs * dimensions * dtype.itemsize)
    run_chain(source, sink)
    data = np.array(sink.data(), np.uint8).view(dtype).reshape(-1, signals.inputs, dimensions)
    return data, sink.tags(), source


def gaps(tags):
    """(input, first, count) of each tag `missing`, in order."""
    found = [pmt.to_python(tag.value) for tag in tags if pmt.symbol_to_string(tag.key) == "missing"]
    return sorted((gap["input"], gap["first"], gap["count"]) for gap in found)


def wrong_samples(data, tags, rate, expected, start):
    """
    Returns how many samples were sent that are neither tagged as missing nor those of their time.

    data, expected: components [time][input][re, im]; rate: samples a second; start: of expected,
    s since 1970, a Fraction. rx_time says where the data are.
    """
    if data.shape[1:] != expected.shape[1:]:
        return data.size
    lost = np.zeros(data.shape[:2], bool)
    for number, first, count in gaps(tags):
        lost[first : first + count, number] = True
    stamps = [
        (
            tag.offset,
            pmt.to_uint64(pmt.tuple_ref(tag.value, 0))
            + Fraction(pmt.to_double(pmt.tuple_ref(tag.value, 1))),
        )
        for tag in tags
        if pmt.symbol_to_string(tag.key) == "rx_time"
    ]
    right = np.zeros(data.shape[:2], bool)
    for (begin, time), (end, _) in zip(stamps, [*stamps[1:], (len(data), None)]):
        first = round((time - start) * Fraction(rate))
        # the part of begin..end that lies within what was recorded
        low, high = max(begin, begin - first), min(end, begin + len(expected) - first)
        if low < high:
            there = expected[low - begin + first : high - begin + first]
            right[low:high] = np.all(data[low:high] == there, -1)
    return np.count_nonzero(~right & ~lost)
