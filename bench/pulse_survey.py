#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Counts how many pulses pulse_search finds: rectangular pulses of random width and S/N in the noise
of dedispersed powers, and how many candidates are none. Prints a table.

tools/run python3 bench/pulse_survey.py [PULSES [THRESHOLD [DEVICE]]]

The S/N of a pulse is that of the boxcar that fits it, without the noise: with the noise the
chance that this one boxcar is above the threshold is the Gaussian integral in the last column; the
search takes the best of all boxcars, and so finds a few more.
"""

import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr

SAMPLE_TIME = 51.2e-6
TIMES = 16384  # values of an item
SPACING = 8192  # values from one pulse to the next
AT_ONCE = 2000  # pulses
SHAPE = 512  # powers in a value: chi^2 of 1024 degrees of freedom
WIDEST = 256
EPOCH = 1700000000


def survey(rng, pulses, threshold, device, path):
    """S/N of the pulses that were put in, whether they were found, and how many others were."""
    values = rng.standard_gamma(SHAPE, (pulses * SPACING // TIMES + 12) * TIMES)
    begins = 10 * TIMES + SPACING * np.arange(pulses) + rng.integers(0, SPACING // 2, pulses)
    widths = np.exp(rng.uniform(0, np.log(WIDEST), pulses)).astype(int)
    snrs = rng.uniform(threshold - 4, threshold + 5, pulses)
    for begin, width, snr in zip(begins, widths, snrs):
        values[begin : begin + width] += snr * math.sqrt(SHAPE / width)
    values.astype(np.float32).tofile(path)
    search = aperture.pulse_search(
        dms=[0.0],
        sample_time=SAMPLE_TIME,
        times_per_item=TIMES,
        threshold=threshold,
        widest=1024,
        device=device,
    )
    source = blocks.file_source(4 * TIMES, str(path), False)
    stamp = aperture.receiver_tags(
        item_size=4 * TIMES, rate=1 / (SAMPLE_TIME * TIMES), clock="given", start_time=(EPOCH, 0.0)
    )
    top, store = gr.top_block(), blocks.message_debug()
    top.connect(source, stamp, search)
    top.msg_connect((search, "candidates"), (store, "store"))
    top.run()
    found, others = np.zeros(pulses, bool), 0
    for i in range(store.num_messages()):
        message = store.get_message(i)
        time, width = (
            pmt.dict_ref(message, pmt.intern(key), pmt.PMT_NIL) for key in ("time", "width")
        )
        middle = (
            pmt.to_uint64(pmt.tuple_ref(time, 0)) - EPOCH + pmt.to_double(pmt.tuple_ref(time, 1))
        ) / SAMPLE_TIME
        near = np.argmin(np.abs(begins + widths / 2 - middle))
        if (
            abs(begins[near] + widths[near] / 2 - middle)
            <= (widths[near] + pmt.to_double(width) / SAMPLE_TIME) / 2
        ):
            found[near] = True
        else:
            others += 1
    return snrs, found, others, len(values)


def main():
    pulses = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
    threshold = float(sys.argv[2]) if len(sys.argv) > 2 else 7.0
    device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
    rng, parts = np.random.default_rng(1), []
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, pulses, AT_ONCE):
            parts.append(
                survey(
                    rng, min(AT_ONCE, pulses - first), threshold, device, Path(folder) / "powers"
                )
            )
    snrs, found = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    print(
        f"{pulses} pulses of 1 to {WIDEST} values, threshold {threshold:g}, on {device}: "
        f"{sum(part[2] for part in parts)} other candidates in "
        f"{sum(part[3] for part in parts):.3g} values\n"
    )
    print("| S/N | pulses | found | one boxcar |\n|---|---|---|---|")
    for low in np.arange(threshold - 4, threshold + 5, 0.5):
        here = (snrs >= low) & (snrs < low + 0.5)
        chance = 0.5 * math.erfc((threshold - low - 0.25) / math.sqrt(2))
        print(
            f"| {low:g} to {low + 0.5:g} | {here.sum()} | {found[here].mean():.4f} | {chance:.4f} |"
        )


if __name__ == "__main__":
    main()
