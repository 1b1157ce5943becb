#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what a fast X-engine of some of the inputs costs beside one of all.

    tools/run python3 bench/products.py [DEVICE [INPUTS [FAST [CHANNELS [ROUNDS]]]]]

Frames of 1000 spectra of sc8, rounded to 1008 on a GPU, come out of the device's memory. The slow
X-engine sums 8 of them, the fast one, behind select_inputs, each by itself. Of each pair of rounds,
with the fast one and without, there is a ratio of times: those of the clock and, of the CPU, those
of the processors, which do not depend on what else the machine does. Prints the medians, beside the
goal: 1.2 for 48 of 256 inputs on a GPU.
"""

import statistics
import sys
import time

import numpy as np
from gnuradio import aperture, gr

SLOW = 8  # frames in an integration of all inputs


def seconds_of(device, inputs, fast, channels, spectra, count):
    """Seconds by the clock and of the processors for so many frames; fast: inputs of the fast
    X-engine, 0: there is none."""
    shared = dict(channels=channels, spectra_per_frame=spectra, type="sc8", device=device)
    size = channels * spectra * 2
    rng = np.random.default_rng(1)
    frames = rng.integers(-60, 60, (2, size * inputs), np.int8)
    top = gr.top_block()
    source = aperture.replay(
        frames.tobytes(), size * inputs, repeats=count // 2, rate=1e3, device=device
    )
    engine = aperture.xengine(inputs=inputs, integration=SLOW, **shared)
    ends = [aperture.discard(8 * channels * inputs * (inputs + 1) // 2, device)]
    top.connect(source, engine, ends[0])
    if fast:
        select = aperture.select_inputs(inputs=inputs, selected=range(fast), **shared)
        quick = aperture.xengine(inputs=fast, integration=1, **shared)
        ends.append(aperture.discard(8 * channels * fast * (fast + 1) // 2, device))
        top.connect(source, select, quick, ends[1])
    begin, busy = time.monotonic(), time.process_time()
    top.run()
    spent = time.monotonic() - begin, time.process_time() - busy
    assert [end.items() for end in ends] == [count // SLOW, count][: len(ends)]
    return spent


def main(device="cpu", inputs="256", fast="48", channels="64", rounds="5"):
    inputs, fast, channels = int(inputs), int(fast), int(channels)
    spectra = 1000 if device == "cpu" else 1008
    count = 4 * SLOW
    once = seconds_of(device, inputs, fast, channels, spectra, count)[0]
    # rounds of a second at least
    count = max(1, round(1 / once)) * count
    rates, ratios = {0: [], fast: []}, [[], []]
    for number in range(int(rounds)):
        # in both orders, for machines that become slower or faster
        found = {
            each: seconds_of(device, inputs, each, channels, spectra, count)
            for each in ((0, fast) if number % 2 else (fast, 0))
        }
        for each, spent in found.items():
            rates[each].append(count / spent[0])
        for kind in range(2):
            ratios[kind].append(found[fast][kind] / found[0][kind])
    for each, what in ((0, "alone"), (fast, f"with {fast} fast")):
        rate = statistics.median(rates[each])
        print(
            f"{device}, {inputs} inputs, {channels} channels, {what}: {rate:.1f} frames of "
            f"{spectra} spectra a second, {rate * spectra * channels / 1e6:.3f} Mchannel/s"
        )
    clock, processors = map(statistics.median, ratios)
    print(
        f"{device}, {fast} of {inputs} fast beside all: {clock:.3f} of the time of all by the "
        f"clock, {processors:.3f} by the processors"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
