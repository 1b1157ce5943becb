#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The report of aperture_beams to its user, at the start and at the end."""

import os

from ..arrays.satellites import satellite
from .receivers_report import receivers_table
from .tables import (
    clamped_row,
    device_text,
    input_text,
    seconds_text,
    signal_rows,
    table,
    unused_rows,
    voltages_row,
    with_prefix,
)


def beam_text(beam):
    """Returns where a beam looks, in one cell of a table."""
    if beam.incoherent:
        return "incoherent"
    if beam.body is not None:
        return f"{beam.body}, follows"
    if beam.tle is not None:
        return f"satellite {satellite(beam.tle).number}, follows"
    if beam.moving:
        return f"ra {beam.ra:.4f}° dec {beam.dec:+.4f}°, follows"
    near = "" if beam.distance is None else f", {beam.distance:.6g} m away"
    return f"az {beam.azimuth:.3f}° el {beam.elevation:.3f}°{near}"


def antennas_text(beam):
    """Returns which antennas it adds, in one cell."""
    if beam.antennas is None:
        return "all antennas"
    return f"{len(beam.antennas)} antenna{'s'[: len(beam.antennas) != 1]}"


def beam_table(beams):
    """Lines on each beam, of at most 16."""
    rows = [(beam.name, beam_text(beam), antennas_text(beam)) for beam in beams[:16]]
    text = table([("beam", "direction", "of"), *rows])
    return text if len(beams) <= 16 else f"{text}\n  ... {len(beams)} in all"


def start_lines(graph):
    """Returns the lines that are said before anything is added."""
    sizes, beams = graph.sizes, graph.beams
    searching, count = beams.searching, len(beams.beams)
    return [
        input_text(graph),
        f"{count} beam{'s'[: count > 1]}, {sizes.channels} channels of "
        f"{with_prefix(sizes.width, 'Hz')}, integrations of "
        f"{seconds_text(sizes.power_integration)}: {sizes.powers} spectra; frames of "
        f"{sizes.spectra_per_frame}",
        beam_table(beams.beams),
        *([f"search: {searching.text()}"] if searching else []),
        *([f"VDIF: {beams.vlbi.text()}"] if beams.vlbi else []),
        *("note: " + text for text in (*sizes.notes, *(searching.notes if searching else ()))),
    ]


def summary(graph, run):
    """The table at the end, as text."""
    plan, sizes, beams, engines = graph.plan, graph.sizes, graph.beams, graph.front.f_engines
    files = beams.sink.files() if beams.sink else []
    size = sum(os.path.getsize(path) for path in files)
    filled = beams.sink.filled() if beams.sink else 0
    moving = sum(beam.moving and not beam.incoherent for beam in beams.beams)
    incoherent = sum(beam.incoherent for beam in beams.beams)
    updates = beams.pointing.updates() if beams.pointing else 0
    error = beams.pointing.largest_error() if beams.pointing else 0
    summed = plan.beams.sum_channels
    rows = [
        ("inputs", f"{graph.signals.inputs}"),
        (
            "beams",
            f"{len(beams.beams)}, {moving} of which follow the sky"
            + (f", {incoherent} incoherent" if incoherent else ""),
        ),
        (
            "weights",
            f"sent {updates} time{'s'[: updates != 1]}"
            + (f", phases wrong by {error:.2g}° at most" if error else ""),
        ),
        (
            "channels",
            f"{sizes.channels} of {with_prefix(sizes.width, 'Hz')}"
            + (f", {summed} summed" if summed > 1 else ""),
        ),
        ("products", beams.products),
        (
            "integrations",
            f"{graph.integrations()} of {seconds_text(sizes.power_integration)} "
            f"({sizes.powers} spectra)",
        ),
        (
            "missing",
            f"{sum(engines.missing())} spectra of all inputs"
            + (f"; {filled} integrations filled" if filled else ""),
        ),
        *unused_rows(graph.source),
        clamped_row(graph),
        *signal_rows(graph, run),
        ("device", device_text((engines.label, engines), ("beams", beams.beamformer))),
        *([voltages_row(beams.voltages)] if beams.voltages else []),
        *(beams.vlbi.rows() if beams.vlbi else []),
        *[row for part in (beams.searching, beams.folding) if part for row in part.rows()],
    ]
    if files:
        names = files[0] if len(files) == 1 else f"{files[0]} ... {files[-1]}"
        rows.append(("file" + "s" * (len(files) > 1), f"{names}, {with_prefix(size, 'B')}"))
    names = graph.signals.description.input_names
    lines = [table(rows), receivers_table(graph.source, names)]
    return "\n\n".join(line for line in lines if line)
