#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures how often flagger finds interference, over its power, beside theory: the table and the
figure of docs/interference.md.

    tools/run /usr/bin/python3 bench/flagging_curve.py [FIGURE.png]

Cells of 2000 spectra of noise, with a carrier all the time, a carrier 10 % of the time, and noise
10 % of the time. Interference is in one slice of 32, for the methods that compare with others.
"""

import sys

import numpy as np
from gnuradio import aperture

from gnuradio.aperture.testing import flagging_model as model
from gnuradio.aperture.testing import flagging_theory as theory
from gnuradio.aperture.testing import qa_tools, reference

qa_tools.PATIENCE = 600  # seconds for a flowgraph, whatever else the computer does

SPECTRA, CELLS, SLICES = 2000, 400, 32
FALSE_ALARMS, SIGMA = 0.0013, 3.2
KINDS = {"carrier": (1.0, False), "carrier, 10 %": (0.1, False), "noise, 10 %": (0.1, True)}


def cells(rng, ratio, duty, noise):
    """fc32 [slice][cell][spectrum]; only the last slice has interference."""
    shape = (SLICES, CELLS, 1, SPECTRA, 2)
    values = rng.standard_normal(shape, dtype=np.float32) * np.float32(np.sqrt(0.5))
    voltages = values.view(np.complex64)[..., 0]
    on = slice(0, int(duty * SPECTRA))
    if noise:
        voltages[-1, :, :, on] *= np.sqrt(1 + ratio)
    else:
        cycles = rng.uniform(0.05, 0.95, (CELLS, 1, 1)) * np.arange(SPECTRA)[on]
        voltages[-1, :, :, on] += np.sqrt(ratio) * np.exp(2j * np.pi * cycles)
    return voltages


def found(voltages, **methods):
    """Fractions of cells of the last slice that are flagged, and of the one before."""
    block = aperture.flagger(
        channels=CELLS,
        inputs=1,
        spectra_per_frame=SPECTRA,
        **{"kurtosis_false_alarms": 0, **methods},
    )
    (_, masks), _ = qa_tools.run(
        block, [reference.samples_to_bytes(voltages, "fc32")], [voltages[0].nbytes, CELLS]
    )
    flags = model.unpack(masks.reshape(SLICES, CELLS, 1), 1)
    return flags[-1].mean(), flags[8:-1].mean()


def main():
    rng = np.random.default_rng(2010)
    rows = []
    print("| interference | dB | kurtosis: theory | found | power over time: theory | found |")
    print("|---|---|---|---|---|---|")
    for kind, (duty, noise) in KINDS.items():
        for decibels in (-9, -6, -3, 0, 3, 6):
            ratio = 10 ** (decibels / 10)
            voltages = cells(rng, ratio, duty, noise)
            row = (
                kind,
                decibels,
                theory.kurtosis_detection(SPECTRA, FALSE_ALARMS, ratio, duty, noise=noise),
                found(voltages, kurtosis_false_alarms=FALSE_ALARMS)[0],
                theory.power_detection(SPECTRA, SIGMA, ratio, duty, noise=noise),
                found(voltages, time_sigma=SIGMA)[0],
            )
            rows.append(row)
            print("| {} | {:+d} | {:.4f} | {:.4f} | {:.4f} | {:.4f} |".format(*row), flush=True)
    voltages = cells(rng, 0, 0, True)
    print(
        "false alarms:",
        found(voltages, kurtosis_false_alarms=FALSE_ALARMS)[1],
        "of kurtosis,",
        found(voltages, time_sigma=SIGMA)[1],
        "of power over time",
    )
    if len(sys.argv) > 1:
        draw(rows, sys.argv[1])


def draw(rows, path):
    """Curves of theory, points of what was found."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    levels = np.linspace(-10, 7, 120)
    for axes, column, title in ((both[0], 3, "spectral kurtosis"), (both[1], 5, "power over time")):
        for number, (kind, (duty, noise)) in enumerate(KINDS.items()):
            how = (
                (theory.kurtosis_detection, FALSE_ALARMS)
                if column == 3
                else (theory.power_detection, SIGMA)
            )
            axes.plot(
                levels,
                [how[0](SPECTRA, how[1], 10 ** (d / 10), duty, noise=noise) for d in levels],
                color=f"C{number}",
                label=kind,
            )
            axes.plot(
                [r[1] for r in rows if r[0] == kind],
                [r[column] for r in rows if r[0] == kind],
                "o",
                color=f"C{number}",
            )
        axes.set_title(title)
        axes.set_xlabel("interference over noise, while it is on (dB)")
        axes.axhline(0.99, color="0.6", linewidth=0.8)
    both[0].set_ylabel("probability to be flagged")
    both[1].legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
