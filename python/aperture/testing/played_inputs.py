#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Tests of the samples of inputs."""

import numpy as np
import pmt
from gnuradio import blocks

from .qa_tools import run_chain, seconds_between

NUMBERS = {"sc8": "i1", "s8": "i1", "sc16": "<i2", "s16": "<i2", "fc32": "<f4", "f32": "<f4"}


def read_all(signals, samples=0):
    """
    Returns what the source of some Signals sends.

    samples: of each input, 0: all. Returns [time][input] or [time][input][re, im], of channels
    [time][input][channel][re, im], and a list of tags as (offset, key, value).
    """
    source = signals.source(samples)
    sink = blocks.vector_sink_b(source.output_signature().sizeof_stream_item(0))
    run_chain(source, sink)
    channels = (signals.channels,) if signals.channels else ()
    shape = (-1, signals.inputs, *channels, *(() if signals.real else (2,)))
    return (
        np.array(sink.data(), np.uint8).view(NUMBERS[signals.sample_type]).reshape(shape),
        [
            (tag.offset, pmt.symbol_to_string(tag.key), pmt.to_python(tag.value))
            for tag in sink.tags()
        ],
    )


def check_after(case, signals, *firsts):
    """Checks, in a test case, that Signals from a sample on are those samples at their times, and
    that none is counted as missing that lies before."""
    everything, found = read_all(signals)
    times = {offset: value for offset, key, value in found if key == "rx_time"}
    lost = [value for _, key, value in found if key == "missing"]
    for first in firsts:
        later = signals.after(first)
        data, found = read_all(later)
        np.testing.assert_array_equal(data, everything[first:])
        case.assertEqual(later.samples, signals.samples - first)
        (time,) = [value for offset, key, value in found if (offset, key) == (0, "rx_time")]
        expected = first / signals.sample_rate
        case.assertAlmostEqual(seconds_between(time, times[0]), expected, delta=2e-9)
        case.assertAlmostEqual(seconds_between(later.start_time, times[0]), expected, delta=2e-9)
        left = sum(value["count"] for _, key, value in found if key == "missing")
        before = sum(min(value["count"], max(0, first - value["first"])) for value in lost)
        case.assertEqual(left, sum(value["count"] for value in lost) - before)
        # a part of a part
        again, _ = read_all(later.after(1)) if later.samples > 1 else (data[1:], None)
        np.testing.assert_array_equal(again, data[1:])
