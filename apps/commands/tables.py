#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Tables of numbers with units, as the commands print them."""

import os

import numpy as np

from ..builder.units import seconds_text, with_prefix


def gain_text(gains):
    """The gains in one cell of a table."""
    low, high = np.min(gains), np.max(gains)
    return (
        f"{low:.4g}" if len(gains) == 1 or high - low < 1e-3 * high else f"{low:.4g} to {high:.4g}"
    )


def input_text(graph):
    """A line about the input of a flowgraph and how long it is taken."""
    signals, sizes = graph.signals, graph.sizes
    zoomed = graph.plan.input.zoomed
    zoom = "" if zoomed is None else f" (1/{zoomed[1]} of the band, {zoomed[0]:+.10g} Hz)"
    length = "until Ctrl-C" if sizes.samples is None else seconds_text(sizes.seconds(sizes.spectra))
    return (
        f"{graph.plan.input.source}: {signals.inputs} input{'s'[: signals.inputs > 1]}, "
        f"{signals.sample_type}, {with_prefix(sizes.sample_rate, 'sample/s')}{zoom}, {length}"
    )


def speed_text(speed, sample_rate):
    """Cells for how fast samples of each input were taken, and for how much faster than they came;
    speed, sample_rate: samples a second, the former None if the run was too short to measure."""
    if speed is None:
        return "too short to measure", "too short to measure"
    return f"{with_prefix(speed, 'sample/s')} of each input", f"x {speed / sample_rate:.3g}"


def device_text(*blocks):
    """Returns where blocks run, all on one device, and how; blocks: (what it is, block) of each."""
    _, block = blocks[0]
    what = block.device_description()
    return (
        block.device_name()
        + (f" ({what})" if what else "")
        + ": "
        + ", ".join(f"{name} {one.implementation()}" for name, one in blocks)
    )


def table(rows):
    """Rows of texts, the first of each a name, as lines of aligned columns."""
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        for row in rows
    )


def clamped_row(graph):
    """A row of the voltages and samples that were clamped."""
    sizes, clamped = graph.sizes, sum(graph.front.f_engines.clamped())
    spectra = sizes.spectra_of(graph.samples_done())
    values = max(1, spectra * sizes.channels * graph.signals.inputs)
    return (
        "clamped",
        f"{clamped} voltages and samples of all inputs, {100 * clamped / values:.3g} %",
    )


def signal_rows(graph, run, all_inputs=False):
    """Rows of how much was taken, and how fast; all_inputs: of all of them together, too."""
    sizes = graph.sizes
    rate, real_time = speed_text(run.speed, sizes.sample_rate)
    if all_inputs and run.speed is not None:
        rate += f", {with_prefix(run.speed * graph.signals.inputs, 'sample/s')} of all"
    return [
        ("signal", f"{seconds_text(graph.samples_done() / sizes.sample_rate)} of each input"),
        ("rate", rate),
        ("real time", real_time),
    ]


def voltages_row(sink):
    """A row of files of voltages."""
    files = sink.files()
    size = sum(os.path.getsize(path) for path in files)
    text = files[0] if len(files) == 1 else f"{files[0]} ... {files[-1]}, {len(files)} files"
    return "voltages", f"{text}, {with_prefix(size, 'B')}"


def unused_rows(source):
    """Returns what a source found in its files, or what came to it, and was not used, as rows of
    the table at the end; none if it counts nothing, or there was nothing."""
    counts = {what: count for what, count in getattr(source, "counts", dict)().items() if count}
    if "received" in counts or "dropped" in counts:
        return _packet_rows(counts)
    skipped = counts.pop("skipped", 0)
    texts = [f"{count} {what} frame{'s'[: count != 1]}" for what, count in counts.items()]
    texts += [f"{skipped} bytes between frames"] if skipped else []
    return [("not used", ", ".join(texts))] if texts else []


def _packet_rows(counts):
    """Returns the rows of packet_source."""
    senders = counts.pop("senders", 0)
    came = ", ".join(f"{counts.pop(name, 0)} {name}" for name in ("received", "used"))
    lost = [f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items())]
    return [
        ("packets", f"{came}, of {senders} sender{'s'[: senders != 1]}"),
        *([("", ", ".join(lost))] if lost else []),
    ]


def shown(name):
    """The name of a file as a line of text."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
