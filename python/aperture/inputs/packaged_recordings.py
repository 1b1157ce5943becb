#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Recordings that packages of others decode become one, lined up by their times, and read by
packaged_source."""

from ..parameters.times import elapsed, utc_after
from .line_up import agree, line_up
from .packaged_source import packaged_source
from .recordings import listed, signals_of_block


def continued(recordings):
    """Recordings of which one begins when another has ended, with as many inputs, become one;
    those of the same time stay side by side, in their order."""
    kept = []
    for entry in sorted(recordings, key=lambda entry: entry.pieces[0].start):
        for before in kept:
            last = before.pieces[-1]
            end = utc_after(last.start, last.samples / before.rate)
            if (
                before.inputs == entry.inputs
                and before.rate == entry.rate
                and elapsed(end, entry.pieces[0].start) * entry.rate > -1
            ):
                before.pieces += entry.pieces
                before.warnings += entry.warnings
                break
        else:
            kept.append(entry)
    return sorted(kept, key=recordings.index)


def signals_of_packages(request, recordings, readers, files, warnings=(), **about):
    """
    The Signals of recordings that are read side by side.

    Parameters
    ----------
    request : Request
    recordings : list of Recording
        The coding is a type of samples without its `c`; `byte` of a piece is a sample of its file.
    readers : dict
        The `file` of a piece -> its reader, as packaged_source has it.
    files, warnings : sequence of str
        Those of Signals.
    about
        What else describe() takes.

    Raises
    ------
    ValueError
        They do not agree in type, rate or frequency.
    """
    agree(recordings)
    first = recordings[0]
    start, rows, more = line_up(recordings, within=False)
    parameters = dict(
        rows=[
            [(readers[piece.file], piece.byte, piece.samples, number) for piece, number in row]
            for row in rows
        ],
        inputs=[entry.inputs for entry in recordings],
        coding=complex_type(first.coding) if first.complex else first.coding,
        rate=first.rate,
        start_time=start,
        center_frequency=first.center_frequency,
        inverted=first.inverted,
    )
    told = [text for entry in recordings for text in entry.warnings]
    return signals_of_block(
        request,
        listed([entry.name for entry in recordings]),
        packaged_source,
        parameters,
        files,
        [*warnings, *told, *more],
        telescope=first.telescope,
        place=first.place,
        **about,
    )


def complex_type(real):
    """The complex type of samples with components of a real one."""
    return {"f32": "fc32", "s16": "sc16", "s8": "sc8"}[real]
