#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Simulated pulses from voltages to candidates: how many are found, in which beam, when, and how
strong, against what theory expects.

    tools/run python3 bench/voltage_survey.py [PULSES [DEVICE]]

Each of nine directions has a source of its own dispersion measure, whose pulses come at random
times, 40 ms to 80 ms after the one before it, with fluences for a S/N of 5 to 25.
"""

import sys
from dataclasses import replace

import numpy as np
import pmt
from gnuradio import aperture, gr

from gnuradio.aperture.arrays.array_description import Source
from gnuradio.aperture.arrays.pulses import Pulse
from gnuradio.aperture.beams.beams import load_beams
from gnuradio.aperture.transients.candidates import Candidate
from gnuradio.aperture.transients.dispersion import delay
from gnuradio.aperture.transients.trials import plan_trials

START, RATE, CENTER = 1704067200, 2e5, 408e6
CHANNELS, FRAME, SPECTRA, WIDTH = 64, 500, 2, 2e-3
THRESHOLD = 7.0
TIME = SPECTRA * CHANNELS / RATE


class Keeper(gr.basic_block):
    """Keeps candidates."""

    def __init__(self):
        gr.basic_block.__init__(self, "keeper", None, None)
        self.found = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.take)

    def take(self, message):
        """Takes a message of the port."""
        self.found.append(Candidate.of_message(message))


def expected_ratio(fluence, antennas):
    """S/N of a Gaussian pulse in the best boxcar; channels smear it little."""
    widths = np.arange(1, 200) * TIME
    sigma = WIDTH / np.sqrt(8 * np.log(2))
    grid = np.linspace(-0.5, 0.5, 2001)[None] * widths[:, None]
    inside = np.exp(-0.5 * (grid / sigma) ** 2).mean(axis=1) * widths / (sigma * np.sqrt(2 * np.pi))
    signal = CHANNELS * fluence * antennas / TIME * inside
    return (signal / np.sqrt(CHANNELS / SPECTRA * widths / TIME)).max()


def simulated(array, beams, count, rng):
    """Sources, and (time in the middle of the band, beam, dm, expected S/N) of each pulse."""
    unit = expected_ratio(1.0, len(array.inputs))
    dms = np.linspace(400, 1600, len(beams))
    pulses, truth, time = [[] for _ in beams], [], 0.8
    for _ in range(count):
        time += rng.uniform(0.04, 0.08)
        beam, ratio = int(rng.integers(len(beams))), rng.uniform(5, 25)
        before = float(delay(dms[beam], CENTER))
        pulses[beam].append(Pulse(START + time - before, WIDTH, fluence=ratio / unit))
        truth.append((time, beam, dms[beam], ratio))
    return (
        [
            Source(
                f"s{i}",
                azimuth=beam.azimuth,
                elevation=beam.elevation,
                dm=float(dms[i]),
                pulses=pulses[i],
            )
            for i, beam in enumerate(beams)
            if pulses[i]
        ],
        truth,
        time,
    )


def main(count=1000, device="auto"):
    array = replace(aperture.load_array("y8"), sample_rate=RATE, center_frequency=CENTER)
    beams = load_beams("grid:az=40,el=75,columns=3,rows=3,spacing=0.5", array)
    sources, truth, last = simulated(array, beams, count, np.random.default_rng(1))
    array = replace(array, sources=sources)
    inputs = len(array.inputs)
    plan = plan_trials("300:1700:5", CHANNELS, CENTER, RATE, TIME)
    trials = dict(
        channels=CHANNELS,
        center_frequency=CENTER,
        bandwidth=RATE,
        sample_time=TIME,
        beams=len(beams),
        dms=plan.dms,
        decimations=plan.decimations,
        times_per_item=256,
        device=device,
    )
    feed = aperture.array_source(
        array, samples=int((last + 1.5) * RATE), start_time=START, inputs_per_port=inputs
    )
    points = aperture.pointing(array, beams, CHANNELS, item_size=8 * inputs)
    frames = aperture.f_engine(
        channels=CHANNELS,
        inputs=inputs,
        inputs_per_port=inputs,
        spectra_per_frame=FRAME,
        device=device,
    )
    power = aperture.beam_power(
        channels=CHANNELS,
        inputs=inputs,
        beams=len(beams),
        type="fc32",
        spectra_per_frame=FRAME,
        spectra=SPECTRA,
        device=device,
    )
    normal = aperture.power_normalizer(
        channels=CHANNELS, beams=len(beams), sample_time=TIME, window=1.0, device=device
    )
    dedisperse = aperture.dedisperser(**trials)
    search = aperture.pulse_search(threshold=THRESHOLD, baseline=1.0, widest=32, **trials)
    keeper = Keeper()
    top = gr.top_block()
    top.connect(feed, points)
    top.connect(feed, frames, power, normal, dedisperse, search)
    top.msg_connect(points, "weights", power, "weights")
    top.msg_connect(search, "candidates", keeper, "in")
    top.run()
    found = [(c.time[0] - START + c.time[1] + float(delay(c.dm, CENTER)), c) for c in keeper.found]
    rows = [
        (ratio, beam, [(c, t - time) for t, c in found if abs(t - time) < 4 * WIDTH])
        for time, beam, _, ratio in truth
    ]
    more = len(found) - sum(bool(near) for *_, near in rows)
    print(
        f"{device}: {count} pulses, {len(found)} candidates, {more} of them of pulses that were "
        "found twice, or of none"
    )
    print("expected S/N   pulses   found   right beam   S/N of expected   time off, ms rms")
    for low in range(5, 25, 2):
        part = [row for row in rows if low <= row[0] < low + 2]
        best = [
            (ratio, beam, *max(near, key=lambda entry: entry[0].snr))
            for ratio, beam, near in part
            if near
        ]
        if not best:
            continue
        print(
            f"{low:5} to {low + 2:2}   {len(part):9}   {len(best) / len(part):5.2f}   "
            f"{np.mean([beam == c.beam for _, beam, c, _ in best]):10.2f}   "
            f"{np.mean([c.snr / ratio for ratio, _, c, _ in best]):15.2f}   "
            f"{1e3 * np.sqrt(np.mean([off**2 for *_, off in best])):16.2f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, *sys.argv[2:3])
