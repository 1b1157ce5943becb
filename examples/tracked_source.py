#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Two correlators side by side on one simulated array: Cas A crosses its fringes in the one, and
stands still in the other, whose delays track it. An hour of a slow array, in a few seconds. Prints
the phase of the longest baseline every five minutes, and writes tracking.png.
Run it with tools/run python3 examples/tracked_source.py
"""

import sys

import numpy as np
from gnuradio import aperture, blocks, gr

RATE, CHANNELS, FRAME, START = 2000.0, 16, 125, 1704067200
ARRAY = aperture.ArrayDescription(
    name="slow",
    latitude=52.0,
    longitude=5.0,
    height=10.0,
    antennas=[aperture.Antenna("A", (0.0, 0.0, 0.0)), aperture.Antenna("B", (40.0, 10.0, 0.0))],
    inputs=[aperture.Input("A", "x"), aperture.Input("B", "x")],
    sample_rate=RATE,
    center_frequency=1.4204e9,
)
CAS_A = aperture.Source("Cas A", ra=350.85, dec=58.815, flux=5.0)


def correlator(flowgraph, source):
    """F-engine, X-engine and what keeps the visibilities; an integration is 10 s."""
    f_engine = aperture.f_engine(
        channels=CHANNELS, inputs=2, inputs_per_port=2, spectra_per_frame=FRAME
    )
    x_engine = aperture.xengine(
        channels=CHANNELS, inputs=2, spectra_per_frame=FRAME, integration=10
    )
    sink = blocks.vector_sink_c(3 * CHANNELS)
    flowgraph.connect(source, f_engine, x_engine, sink)
    return f_engine, sink


def observe(seconds):
    """Complex [integration] of the baseline, all channels together: untracked, and tracked."""
    flowgraph = gr.top_block()
    source = aperture.array_source(
        ARRAY, [CAS_A], samples=int(seconds * RATE), start_time=START, inputs_per_port=2
    )
    # in line: a sample passes after the delays that hold from its time on
    tracker = aperture.delay_tracker(ARRAY, "Cas A", item_size=2 * 8)
    flowgraph.connect(source, tracker)
    _, untracked = correlator(flowgraph, source)
    f_engine, tracked = correlator(flowgraph, tracker)
    flowgraph.msg_connect(tracker, "delays", f_engine, "delays")
    flowgraph.run()
    # products are (A, A), (B, A), (B, B); channel 0 straddles both ends of the band
    return [
        np.reshape(sink.data(), (-1, CHANNELS, 3))[:, 1:, 1].mean(axis=1)
        for sink in (untracked, tracked)
    ]


def draw(path, untracked, tracked):
    """Phases over time as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4))
    minutes = np.arange(len(untracked)) / 6
    for label, values in (("untracked", untracked), ("tracked", tracked)):
        axes.plot(minutes, np.degrees(np.angle(values)), ".", markersize=3, label=label)
    axes.set(
        xlabel="minutes",
        ylabel="phase of A–B (degrees)",
        ylim=(-190, 190),
        title="Cas A on a baseline of 41 m at 1.42 GHz",
    )
    axes.legend(loc="upper right")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    untracked, tracked = observe(3600)
    print("minute  untracked  tracked   (phase in degrees)")
    for integration in range(0, len(untracked), 30):
        print(
            f"{integration / 6:6.0f}  {np.degrees(np.angle(untracked[integration])):9.1f}  "
            f"{np.degrees(np.angle(tracked[integration])):7.1f}"
        )
    draw(sys.argv[1] if len(sys.argv) > 1 else "tracking.png", untracked, tracked)
