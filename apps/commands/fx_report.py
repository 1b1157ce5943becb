#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The report of aperture_fx to its user, at the start and at the end."""

import os

import numpy as np

from ..parameters.times import time_text
from ..tracking.directions import azimuth_elevation
from .receivers_report import receivers_table
from .tables import (
    clamped_row,
    device_text,
    gain_text,
    input_text,
    seconds_text,
    signal_rows,
    table,
    unused_rows,
    voltages_row,
    with_prefix,
)


def tracking_text(graph):
    """Returns where the tracked direction is at the start."""
    direction, signals = graph.front.tracker.direction(), graph.signals
    time = sum(signals.start_time)
    azimuth, elevation = azimuth_elevation(direction, time, signals.description)
    return (
        f"tracking {direction}: azimuth {float(azimuth):.1f}°, elevation {float(elevation):.1f}° "
        "at the start"
    )


def product_lines(graph):
    """Returns a line about each of the products beside the correlation of all inputs."""
    return [
        f"{part.name}: integrations of {part.times()}, {part.about()}" for part in graph.products
    ]


def start_lines(graph):
    """Returns the lines that are said before anything is correlated."""
    plan, sizes, split = graph.plan, graph.sizes, graph.split
    width = with_prefix(sizes.width, "Hz")
    frames = f"{sizes.frames} frame{'s'[: sizes.frames > 1]} of {sizes.spectra_per_frame} spectra"
    integrations = f"integrations of {seconds_text(sizes.integration)}: {frames}"
    if sizes.averaged > 1:
        integrations += f", each of {sizes.averaged} of the X-engine"
    notes = ["note: " + text for text in sizes.notes]
    if graph.sender:
        names = graph.signals.description.input_names
        return [
            f"{plan.input.source}: inputs {split.first} to {split.first + split.count - 1} of "
            f"{split.inputs} ({names[0]} ...), {with_prefix(sizes.sample_rate, 'sample/s')}, to "
            f"{plan.network.to}",
            f"{sizes.channels} channels of {width}, heaps of {plan.network.spectra_per_heap} "
            f"spectra since {time_text(split.sync)}",
        ]
    if split:
        return [
            f"{plan.network.listen}: {split.count} of {split.whole.channels} channels of "
            f"{split.inputs} inputs, counted from {time_text(split.sync)}",
            integrations,
            *notes,
        ]
    return [
        input_text(graph),
        f"{sizes.channels} channels of {width}, {integrations}",
        *product_lines(graph),
        *([tracking_text(graph)] if graph.front.tracker else []),
        *notes,
    ]


def delays_in_force(f_engines, inputs):
    """
    Seconds of each input, the sum of the models that hold, each as it was set last (without what
    its rate has added since); None if nothing was set.
    """
    models = [model for model in f_engines.delays() if not model["waiting"]]
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


def summary(graph, run):
    """The table at the end, as text."""
    plan, signals, sizes, front = graph.plan, graph.signals, graph.sizes, graph.front
    sink, samples = graph.correlator.sink, graph.samples_done()
    description, engines = signals.description, front.f_engines
    spectra = sizes.spectra_of(samples)
    clamped, missing = engines.clamped(), engines.missing()
    rows = [
        (
            "inputs",
            f"{signals.inputs}: {', '.join(description.input_names[:16])}"
            + (", ..." if signals.inputs > 16 else ""),
        ),
        (
            "channels",
            f"{sizes.channels} of {with_prefix(sizes.width, 'Hz')}, "
            f"{sizes.made_by(plan.engines.window)}",
        ),
        (
            "integrations",
            f"{sink.integrations()} of {seconds_text(sizes.integration)} "
            f"({sizes.frames} x {sizes.spectra_per_frame} spectra)",
        ),
        ("spectra", f"{spectra} of each input"),
        ("missing", f"{sum(missing)} spectra of all inputs"),
        *unused_rows(graph.source),
        clamped_row(graph),
    ]
    kept = "as recorded" if sizes.recorded else "fc32"
    flagged = None
    if front.flagging:
        found, cells = engines.flags()
        flagged = [each / max(of, 1) for each, of in zip(found, cells)]
        rows.append(
            (
                "flagged",
                f"{100 * sum(found) / max(sum(cells), 1):.3g} % of all inputs, in slices of "
                f"{front.flagging['spectra_per_slice']} spectra of a channel",
            )
        )
    rows += [
        ("gain", gain_text(graph.gains) if graph.gains is not None else f"1 ({kept})"),
        *signal_rows(graph, run, all_inputs=True),
        ("device", device_text((engines.label, engines), ("X-engine", graph.correlator))),
    ]
    if front.tracker:
        rows.append(
            (
                "tracked",
                f"{front.tracker.direction()}, {front.tracker.updates()} models of the delays",
            )
        )
    if graph.voltages:
        rows.append(voltages_row(graph.voltages.sink))
    rows += [
        (part.name, f"{part.writers[0].integrations()} of {part.times()}, {part.about()}")
        for part in graph.products
    ]
    rows += [
        ("file", f"{path}, {with_prefix(os.path.getsize(path), 'B')}")
        for written in (graph.correlator, *graph.products)
        for path in written.files()
    ]
    lines = [table(rows)]
    if len(description.inputs) > 1:
        lines.append(
            input_table(
                description,
                graph.gains,
                clamped,
                missing,
                delays_in_force(engines, signals.inputs),
                sink.statistics(),
                flagged,
            )
        )
    lines.append(receivers_table(graph.source, description.input_names))
    return "\n\n".join(line for line in lines if line)


def count_rows(counts):
    """Rows of what spead_source or spead_sink counted."""
    shown = [
        f"{value} {name.replace('_', ' ')}"
        for name, value in counts.items()
        if value and name not in ("buffer", "heaps", "packets", "stops")
    ]
    return [
        ("heaps", str(counts.get("heaps", 0))),
        *([("of these", ", ".join(shown))] if shown else []),
    ]


def sent_summary(graph, run):
    """The table at the end of a host that sends voltages."""
    engines, sink = graph.front.f_engines, graph.sender.sink
    return table(
        [
            ("sent", f"{sink.nitems_read(0)} frames of {graph.sizes.spectra_per_frame} spectra"),
            *count_rows(sink.counts()),
            ("missing", f"{sum(engines.missing())} spectra of all inputs"),
            ("clamped", f"{sum(engines.clamped())} voltages and samples of all inputs"),
            ("gain", gain_text(graph.gains)),
            ("device", device_text(("F-engine", engines))),
        ]
    )


def received_summary(graph, run):
    """The table at the end of a host that receives voltages."""
    correlator = graph.correlator
    length = seconds_text(graph.sizes.integration)
    return table(
        [
            ("integrations", f"{correlator.sink.integrations()} of {length}"),
            *count_rows(graph.source.counts()),
            ("device", device_text(("X-engine", correlator.engines[0]))),
            *[("file", path) for path in correlator.files()],
        ]
    )
