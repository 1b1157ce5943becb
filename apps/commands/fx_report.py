#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The report of aperture_fx to its user at the end."""

import os

import numpy as np

from .flagging import flagging_row, occupancies
from .fx_plan import spectra_of
from .levels import gain_text
from .receivers_report import receivers_table
from .tables import device_text, seconds_text, speed_text, table, unused_rows, with_prefix
from .voltages import voltages_row


def delays_in_force(f_engine, inputs):
    """
    Seconds of each input, the sum of the models that hold, each as it was set last (without what
    its rate has added since); None if nothing was set.
    """
    models = [model for model in f_engine.delays() if not model["waiting"]]
    delays = np.zeros(inputs)
    for model in models:
        delays[model["input"]] += model["delay"]
    return delays if models else None


def statistics_cells(statistics, number):
    """The rms of re and im, and the kurtosis, of an input."""
    re, im, kurtosis = (
        float(getattr(statistics, name)[number]) for name in ("rms_re", "rms_im", "kurtosis")
    )
    if np.isnan(re):
        return "-", "-"
    return f"{re:.4g}, {im:.4g}", "-" if np.isnan(kurtosis) else f"{kurtosis:.3f}"


def input_table(description, gains, clamped, missing, delays=None, statistics=None, flagged=None):
    """Lines on each input, of at most 16; of more, those that lost or clamped something. flagged:
    the fraction of each input; None: nothing flags."""
    names = list(description.input_names)
    head = ("input", "gain", "clamped", "missing")
    rows = [
        (
            names[i],
            f"{gains[i]:.4g}" if gains is not None else "-",
            str(clamped[i]),
            str(missing[i]),
        )
        + (() if flagged is None else (f"{100 * flagged[i]:.3g} %",))
        + (() if delays is None else (f"{1e9 * delays[i]:.6g} ns",))
        for i in range(len(names))
        if len(names) <= 16 or clamped[i] or missing[i]
    ]
    head += () if flagged is None else ("flagged",)
    head += () if delays is None else ("delay",)
    if statistics is not None:
        head = (*head[:2], "rms", "kurtosis", *head[2:])
        number = {name: i for i, name in enumerate(names)}
        rows = [(*row[:2], *statistics_cells(statistics, number[row[0]]), *row[2:]) for row in rows]
    return table([head, *rows[:16]]) if rows else ""


def summary(chain, signals, plan, options, gains, run):
    """The table at the end, as text."""
    samples = chain.samples_done()
    spectra = spectra_of(samples, plan.hop, plan.taps)
    clamped = np.add(chain.f_engine.clamped(), chain.f_engine.clamped_samples())
    missing = chain.f_engine.missing()
    values = max(1, spectra * plan.channels * signals.inputs)
    paths = chain.sink.files()
    rate, real_time = speed_text(run.speed, plan.sample_rate)
    if run.speed is not None:
        rate += f", {with_prefix(run.speed * signals.inputs, 'sample/s')} of all"
    rows = [
        (
            "inputs",
            f"{signals.inputs}: {', '.join(signals.description.input_names[:16])}"
            + (", ..." if signals.inputs > 16 else ""),
        ),
        (
            "channels",
            f"{plan.channels} of "
            f"{with_prefix(plan.sample_rate / plan.hop, 'Hz')}, {options.taps} taps, "
            f"{options.window}",
        ),
        (
            "integrations",
            f"{chain.sink.integrations()} of {seconds_text(plan.integration)} "
            f"({plan.frames} x {plan.spectra_per_frame} spectra)",
        ),
        ("spectra", f"{spectra} of each input"),
        ("missing", f"{sum(missing)} spectra of all inputs"),
        *unused_rows(chain.source),
        (
            "clamped",
            f"{sum(clamped)} voltages and samples of all inputs, "
            f"{100 * sum(clamped) / values:.3g} %",
        ),
        *([flagging_row(chain.f_engine, chain.flagging)] if chain.flagging else []),
        ("gain", gain_text(gains) if gains is not None else "1 (fc32)"),
        ("signal", f"{seconds_text(samples / plan.sample_rate)} of each input"),
        ("rate", rate),
        ("real time", real_time),
        ("device", device_text(("F-engine", chain.f_engine), ("X-engine", chain.correlator))),
    ]
    if chain.tracker:
        rows.append(
            (
                "tracked",
                f"{chain.tracker.direction()}, {chain.tracker.updates()} models of the delays",
            )
        )
    if chain.voltages:
        rows.append(voltages_row(chain.voltages))
    rows += [("file", f"{path}, {with_prefix(os.path.getsize(path), 'B')}") for path in paths]
    lines = [table(rows)]
    if len(signals.description.inputs) > 1:
        lines.append(
            input_table(
                signals.description,
                gains,
                clamped,
                missing,
                delays_in_force(chain.f_engine, signals.inputs),
                chain.sink.statistics(),
                occupancies(chain.f_engine) if chain.flagging else None,
            )
        )
    lines.append(receivers_table(chain.source, signals.description.input_names))
    return "\n\n".join(line for line in lines if line)
