#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Recordings of several files become one: lined up by their times, and read by recording_source."""

from fractions import Fraction

from .. import aperture_python
from ..formats.recordings import MOST_SAMPLES
from ..parameters.times import elapsed, length_text, time_text, whole_and_fraction
from .recordings import encoded, listed, signals_of_block

MOST_OFF = Fraction(1, 100)  # part of a sample: inputs that are less apart are as one
LARGEST_TERM = 10**18  # largest term of a rate as a fraction


def agree(recordings):
    """Refuses recordings that cannot be read side by side."""
    first = recordings[0]
    for other in recordings[1:]:
        for what, here, there in (
            ("samples of", _type_text(other), _type_text(first)),
            ("a sample rate of", f"{float(other.rate):.12g} Hz", f"{float(first.rate):.12g} Hz"),
            (
                "a centre frequency of",
                f"{other.center_frequency:.12g} Hz",
                f"{first.center_frequency:.12g} Hz",
            ),
            (
                "a band that is",
                *("inverted" if entry.inverted else "not inverted" for entry in (other, first)),
            ),
        ):
            if here != there:
                raise ValueError(
                    f"{other.name}: has {what} {here}, but {first.name} has {there}: "
                    "inputs are correlated only if they agree"
                )


def _type_text(recording):
    return f"{'complex' if recording.complex else 'real'} {recording.coding}"


def line_up(recordings, within=True):
    """
    Numbers of the samples on one clock.

    within: whether gaps within a file are said, too, as those between files are.

    Returns
    -------
    start : Fraction
        When sample 0 was taken, s since 1970.
    rows : list of list of tuple
        Lists, for each recording, of (Piece, number of its first sample), in order and without
        overlaps.
    warnings : list of str
        On what is missing, left out, or between samples.

    Raises
    ------
    ValueError
        Two have no samples of the same time, or one ends too long after the beginning.
    """
    rate = recordings[0].rate
    start = min(entry.pieces[0].start for entry in recordings)
    rows, warnings = [], []
    for entry in recordings:
        row, end = [], None
        for piece in entry.pieces:
            place = elapsed(start, piece.start) * rate
            first = round(place)
            if first + piece.samples > MOST_SAMPLES:
                raise ValueError(
                    f"{entry.name}: ends {length_text(piece.start - start)} after the "
                    f"beginning: expected at most {MOST_SAMPLES} samples"
                )
            if end is not None and first < end:
                warnings.append(
                    f"{entry.name}: the samples of {time_text(piece.start)} begin before those in "
                    f"front of them end: {piece.samples} samples are left out"
                )
                continue
            if not row and abs(place - first) > MOST_OFF:
                warnings.append(
                    f"{entry.name}: begins {float(place - first):+.3g} of a sample beside the "
                    f"samples of {_first_of(recordings, start).name}: this delay of "
                    f"{length_text((place - first) / rate)} remains"
                )
            if end is not None and first > end and (within or piece.file != row[-1][0].file):
                warnings.append(
                    f"{entry.name}: {first - end} samples "
                    f"({length_text((first - end) / rate)}) are missing before "
                    f"{time_text(piece.start)}"
                )
            row.append((piece, first))
            end = first + piece.samples
        rows.append(row)
    warnings += _ends(recordings, rows, rate)
    return start, rows, warnings


def _first_of(recordings, start):
    return next(entry for entry in recordings if entry.pieces[0].start == start)


def _ends(recordings, rows, rate):
    """Warnings of recordings that begin late or end early; a ValueError where two have no samples
    of the same time."""
    warnings = []
    begins = [row[0][1] for row in rows]
    ends = [row[-1][1] + row[-1][0].samples for row in rows]
    if max(begins) >= min(ends):
        late, early = begins.index(max(begins)), ends.index(min(ends))
        gap = length_text((begins[late] - ends[early]) / rate)
        raise ValueError(
            f"{recordings[late].name}: begins {gap} after {recordings[early].name} has ended: "
            "files are read side by side only if all of them have samples of the same time"
        )
    for entry, begin, end in zip(recordings, begins, ends):
        if begin > 0:
            warnings.append(
                f"{entry.name}: begins {length_text(begin / rate)} after "
                f"{recordings[begins.index(0)].name}: its first {begin} samples are "
                "missing"
            )
        if end < max(ends):
            warnings.append(
                f"{entry.name}: ends {length_text((max(ends) - end) / rate)} before "
                f"{recordings[ends.index(max(ends))].name}: its last "
                f"{max(ends) - end} samples are missing"
            )
    return warnings


def signals_of(request, recordings, warnings=(), polarizations=False, within=True, antennas=None):
    """
    The Signals of recordings that are read side by side.

    Parameters
    ----------
    request : Request
    recordings : list of Recording
        The inputs of the first come first.
    warnings : sequence of str
        Further texts for the user.
    polarizations : bool
        True if two inputs are the polarisations of one antenna, where nobody says what they are.
    within : bool
        As of line_up().
    antennas : list of str
        Names of the antennas of several recordings, None: nobody says them.

    Raises
    ------
    ValueError
        They do not agree in type, rate or frequency.
    """
    agree(recordings)
    first = recordings[0]
    start, rows, more = line_up(recordings, within)
    warnings = [*warnings, *(text for entry in recordings for text in entry.warnings), *more]
    files = list(dict.fromkeys(piece.file for row in rows for piece, _ in row))
    pieces = [
        (files.index(piece.file), piece.byte, piece.samples, number, place)
        for place, row in enumerate(rows)
        for piece, number in row
    ]
    layout = [
        (place, *each)
        for place, entry in enumerate(recordings)
        for each in entry.places or [(index, entry.inputs) for index in range(entry.inputs)]
    ]
    return signals_of_pieces(
        request,
        listed([entry.name for entry in recordings]),
        files,
        pieces,
        layout,
        first.rate,
        start,
        dict(
            coding=first.coding,
            complex=first.complex,
            center_frequency=first.center_frequency,
            inverted=first.inverted,
            approximate=any(entry.approximate for entry in recordings),
        ),
        warnings=warnings,
        telescope=first.telescope,
        place=first.place,
        polarizations=polarizations,
        antennas=first.antennas if len(recordings) == 1 else antennas,
    )


def signals_of_pieces(request, what, files, pieces, layout, rate, start, parameters, **about):
    """
    The Signals of pieces of files, as recording_source takes them; rate: Hz, start: s since 1970,
    both Fractions; parameters: others of recording_source; about: as of signals_of_block().
    """
    if max(rate.numerator, rate.denominator) > LARGEST_TERM:
        rate = rate.limit_denominator(10**6)
    all_parameters = dict(
        files=encoded(files),
        pieces=pieces,
        inputs=len(layout),
        layout=layout,
        rate=(rate.numerator, rate.denominator),
        start_time=whole_and_fraction(start),
        **parameters,
    )
    block = aperture_python.recording_source
    return signals_of_block(request, what, block, all_parameters, files, **about)
