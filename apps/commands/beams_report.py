#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The report of aperture_beams to its user at the end."""

import os

import numpy as np

from .fx_plan import spectra_of
from .receivers_report import receivers_table
from .tables import device_text, seconds_text, speed_text, table, unused_rows, with_prefix
from .voltages import voltages_row


def beam_text(beam):
    """Returns where a beam looks, in one cell of a table."""
    if beam.incoherent:
        return "incoherent"
    if beam.body is not None:
        return f"{beam.body}, follows"
    return (
        f"ra {beam.ra:.4f}° dec {beam.dec:+.4f}°, follows"
        if beam.moving
        else f"az {beam.azimuth:.3f}° el {beam.elevation:.3f}°"
    )


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


def summary(chain, signals, plan, options, run):
    """The table at the end, as text."""
    samples = chain.samples_done()
    spectra = spectra_of(samples, plan.hop, plan.taps)
    clamped = np.add(chain.f_engine.clamped(), chain.f_engine.clamped_samples())
    missing = chain.f_engine.missing()
    values = max(1, spectra * plan.channels * signals.inputs)
    rate, real_time = speed_text(run.speed, plan.sample_rate)
    files = chain.sink.files() if chain.sink else []
    size = sum(os.path.getsize(path) for path in files)
    filled = chain.sink.filled() if chain.sink else 0
    moving = sum(beam.moving and not beam.incoherent for beam in chain.beams)
    incoherent = sum(beam.incoherent for beam in chain.beams)
    updates = chain.pointing.updates() if chain.pointing else 0
    error = chain.pointing.largest_error() if chain.pointing else 0
    rows = [
        ("inputs", f"{signals.inputs}"),
        (
            "beams",
            f"{len(chain.beams)}, {moving} of which follow the sky"
            + (f", {incoherent} incoherent" if incoherent else ""),
        ),
        (
            "weights",
            f"sent {updates} time{'s'[: updates != 1]}"
            + (f", phases wrong by {error:.2g}° at most" if error else ""),
        ),
        (
            "channels",
            f"{plan.channels} of {with_prefix(plan.sample_rate / plan.hop, 'Hz')}"
            + (f", {options.sum_channels} summed" if options.sum_channels > 1 else ""),
        ),
        ("products", options.products),
        (
            "integrations",
            f"{chain.integrations()} of {seconds_text(plan.integration)} "
            f"({plan.integrated} spectra)",
        ),
        (
            "missing",
            f"{sum(missing)} spectra of all inputs"
            + (f"; {filled} integrations filled" if filled else ""),
        ),
        *unused_rows(chain.source),
        (
            "clamped",
            f"{sum(clamped)} voltages and samples of all inputs, "
            f"{100 * sum(clamped) / values:.3g} %",
        ),
        ("signal", f"{seconds_text(samples / plan.sample_rate)} of each input"),
        ("rate", rate),
        ("real time", real_time),
        ("device", device_text(("F-engine", chain.f_engine), ("beams", chain.beamformer))),
        *([voltages_row(chain.voltages)] if chain.voltages else []),
        *[row for part in chain.more for row in part.rows()],
        *(
            [
                (
                    "file" if len(files) == 1 else "files",
                    (files[0] if len(files) == 1 else f"{files[0]} ... {files[-1]}")
                    + f", {with_prefix(size, 'B')}",
                )
            ]
            if files
            else []
        ),
    ]
    lines = [table(rows), receivers_table(chain.source, signals.description.input_names)]
    return "\n\n".join(line for line in lines if line)
