#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Recordings of channels become one: the bands of nodes in the order of frequency, antennas side by
side, lined up by their times, and read by channel_source.

Where the sky frequency of a channel, and the antennas of a file, are in its headers, nobody has to
name files in any order: `bands_of` finds which place each has in the table [antennas][band].
"""

from dataclasses import replace

from .. import aperture_python
from ..formats.recordings import oversampling_of
from ..parameters.times import elapsed, utc_after, whole_and_fraction
from ..streams.silent_block import silent
from .input_format import InputError
from .line_up import LARGEST_TERM, line_up
from .recordings import describe, encoded, listed
from .signals import Signals

MOST_OFF = 1e-3  # channels: bands that are less apart are neighbours
NARROW = ("levels2_be", "s4_be", "offset4", "offset8", "s8")  # codings that become sc8


def _megahertz(hertz):
    return f"{hertz / 1e6:.9g} MHz"


def _band_text(entry):
    last = entry.end_frequency - entry.width
    return f"{_megahertz(entry.first_frequency)} to {_megahertz(last)}"


def _agree(recordings):
    """Refuses recordings that cannot be read side by side."""
    first = recordings[0]
    for other in recordings[1:]:
        for what, here, there in (
            ("voltages of", other.coding, first.coding),
            ("channels of", _megahertz(other.width), _megahertz(first.width)),
            ("spectra at", f"{float(other.rate):.12g} Hz", f"{float(first.rate):.12g} Hz"),
            (
                "bands that are",
                *("inverted" if entry.inverted else "not inverted" for entry in (other, first)),
            ),
        ):
            if here != there:
                raise ValueError(
                    f"{other.name}: has {what} {here}, but {first.name} has {there}: "
                    "inputs are correlated only if they agree"
                )


def oversampled(entry):
    """Returns what to tell of a recording whose spectra come faster than its channels are apart."""
    ratio = float(entry.rate) / entry.width
    if abs(ratio - 1) <= MOST_OFF:
        return []
    fraction = oversampling_of(ratio)
    return [
        f"{entry.name}: its channels are oversampled by {fraction or f'{ratio:.6g}'}: spectra come "
        f"at {float(entry.rate):.9g} Hz, and channels are {_megahertz(entry.width)} apart"
    ]


def _length(entry):
    """(start, end) of a recording, s since 1970."""
    last = entry.pieces[-1]
    return entry.pieces[0].start, utc_after(last.start, last.samples / entry.rate)


def _is_antenna(entry):
    """Returns what says whose recording it is."""
    return entry.telescope, tuple(entry.antennas or ()), entry.inputs, entry.part


def continued(recordings):
    """Recordings of the same band and antennas, of which one follows the other, become one."""
    kept = []
    for entry in sorted(recordings, key=lambda entry: entry.pieces[0].start):
        for number, before in enumerate(kept):
            if (
                _is_antenna(before) == _is_antenna(entry)
                and before.places == entry.places
                and before.channels == entry.channels
                and before.first_frequency == entry.first_frequency
                and elapsed(_length(before)[1], entry.pieces[0].start) * entry.rate > -1
            ):
                kept[number] = replace(
                    before,
                    pieces=[*before.pieces, *entry.pieces],
                    warnings=[*before.warnings, *entry.warnings],
                )
                break
        else:
            kept.append(entry)
    order = {(entry.name, entry.part): number for number, entry in enumerate(recordings)}
    return sorted(kept, key=lambda entry: order[entry.name, entry.part])


def bands_of(recordings):
    """
    The places of recordings: list [antennas][band] of recordings.

    Raises
    ------
    ValueError
        Bands overlap, or are no neighbours, or one has other antennas than the others: the message
        names two files and the difference.
    """
    bands = {}
    for entry in sorted(recordings, key=lambda entry: entry.first_frequency):
        found = next(
            (key for key in bands if abs(key - entry.first_frequency) < MOST_OFF * entry.width),
            entry.first_frequency,
        )
        bands.setdefault(found, []).append(entry)
    order = {id(entry): number for number, entry in enumerate(recordings)}
    columns = [sorted(column, key=lambda entry: order[id(entry)]) for column in bands.values()]
    for column in columns:
        for entry in column[1:]:
            if entry.channels != column[0].channels:
                raise ValueError(
                    f"{entry.name}: has {entry.channels} channels from "
                    f"{_megahertz(entry.first_frequency)} on, but {column[0].name} has "
                    f"{column[0].channels}"
                )
    for (before, *_), (behind, *_) in zip(columns, columns[1:]):
        apart = behind.first_frequency - before.end_frequency
        if abs(apart) >= MOST_OFF * before.width:
            raise ValueError(
                f"{behind.name}: its channels, {_band_text(behind)}, "
                + ("overlap with" if apart < 0 else "are no neighbours of")
                + f" those of {before.name}, {_band_text(before)}: they are "
                + f"{_megahertz(abs(apart))} "
                + ("too low" if apart < 0 else "too high")
            )
    table = []
    for entry in columns[0]:
        row = [entry]
        for column in columns[1:]:
            same = [
                other
                for other in column
                if _is_antenna(other) == _is_antenna(entry)
                and not any(other is each[len(row)] for each in table)
            ]
            if not same:
                other = column[0]
                raise ValueError(
                    f"{other.name}: has no inputs of {_antenna_text(entry)} that {entry.name} has, "
                    f"but of {', '.join(map(_antenna_text, column))}"
                )
            row.append(same[0])
        table.append(row)
    for column in columns[1:]:
        if len(column) > len(table):
            used = {id(row[columns.index(column)]) for row in table}
            entry = next(entry for entry in column if id(entry) not in used)
            raise ValueError(
                f"{entry.name}: no file has the channels from "
                f"{_megahertz(columns[0][0].first_frequency)} on of its {_antenna_text(entry)}, "
                f"as {columns[0][0].name} has them of others"
            )
    return table


def _antenna_text(entry):
    names = ", ".join(entry.antennas or [])
    return f"{entry.inputs} inputs of {entry.telescope or 'an unknown telescope'}" + (
        f" ({names})" if names else ""
    )


def select(rows, first, last):
    """Rows of a `layout` of the channels from first to last alone, which become 0 and so on."""
    kept = []
    for set_, input_, begin, count, offset, stride, time, offset_rows, rows_ in rows:
        low, high = max(first, begin), min(last, begin + count - 1)
        if low > high:
            continue
        left = low - begin
        kept.append(
            (
                set_,
                input_,
                low - first,
                high - low + 1,
                offset + left * stride,
                stride,
                time,
                offset_rows + left * rows_,
                rows_,
            )
        )
    return kept


def _antennas_of(rows):
    """Names of all antennas, or None where the recordings tell of none."""
    if len(rows) == 1:
        return rows[0][0].antennas
    # two inputs of a telescope that were recorded apart are polarisations of one antenna
    parts = {(row[0].telescope, row[0].part) for row in rows}
    telescopes = list(dict.fromkeys(row[0].telescope for row in rows))
    whole = len(parts) == len(rows) and len(rows) % len(telescopes) == 0
    if whole and len(rows) // len(telescopes) == 2 and all(row[0].inputs == 1 for row in rows):
        return telescopes
    names = [name for row in rows for name in row[0].antennas or [row[0].telescope]]
    known = all(names) and len(set(names)) == len(names)
    if any(row[0].antennas is None and row[0].inputs > 2 for row in rows):
        return None
    return names if known else [f"A{number + 1}" for number in range(len(names))]


def signals_of_channels(request, recordings, warnings=()):
    """
    The Signals of recordings of channels.

    Parameters
    ----------
    request : Request
        Its `selected` are the channels to be read.
    recordings : list of ChannelRecording
        Antennas come in their order.
    warnings : sequence of str
        Further texts for the user.

    Raises
    ------
    ValueError
        They do not agree, or have no place beside each other.
    InputError
        There are no such channels.
    """
    _agree(recordings)
    recordings = continued(recordings)
    table = bands_of(recordings)
    entries = [entry for row in table for entry in row]
    start, rows, more = line_up(entries, within=False)
    more += oversampled(entries[0])
    warnings = [*warnings, *(text for entry in entries for text in entry.warnings), *more]
    first, inputs = entries[0], sum(row[0].inputs for row in table)
    layout, set_, input_ = [], 0, 0
    for row in table:
        channel = 0
        for entry in row:
            layout += [
                (set_, input_ + place[0], channel + place[1], *place[2:]) for place in entry.places
            ]
            set_, channel = set_ + 1, channel + entry.channels
        input_ += row[0].inputs
    channels = sum(entry.channels for entry in table[0])
    low, high = chosen_channels(request, channels)
    layout, count = select(layout, low, high), high - low + 1
    files = list(dict.fromkeys(piece.file for row in rows for piece, _ in row))
    places = {name: number for number, name in enumerate(files)}
    used = {row[0] for row in layout}
    pieces = [
        (places[piece.file], piece.byte, piece.samples, number, set_, piece.row)
        for set_, row in enumerate(rows)
        for piece, number in row
        if set_ in used
    ]
    rate = first.rate
    if max(rate.numerator, rate.denominator) > LARGEST_TERM:
        rate = rate.limit_denominator(10**6)
    center = table[0][0].first_frequency + (low + count // 2) * first.width
    narrow = first.coding in NARROW
    parameters = dict(
        files=encoded(files),
        pieces=pieces,
        layout=layout,
        channels=count,
        inputs=inputs,
        coding=first.coding,
        width=first.width,
        rate=(rate.numerator, rate.denominator),
        start_time=whole_and_fraction(start),
        center_frequency=center,
        inverted=first.inverted,
        approximate=any(entry.approximate for entry in entries),
        readers=request.values.get("readers") or 0,
    )

    return signals_of_spectra(
        request,
        listed([entry.name for entry in entries]),
        aperture_python.channel_source,
        parameters,
        "sc8" if narrow else "fc32",
        rate=rate,
        files=files,
        warnings=warnings,
        unused=max(entry.unused for entry in entries),
        telescope=first.telescope,
        place=first.place,
        antennas=_antennas_of(table),
    )


def chosen_channels(request, channels):
    """(first, last) of the channels that are read, of so many."""
    low, high = request.selected or (0, channels - 1)
    if high >= channels:
        problem = f"expected channels from 0 to {channels - 1}, which the input has"
        raise InputError("selected", f"{low}:{high}", problem)
    return low, high


def signals_of_spectra(
    request, what, block, parameters, type, *, rate, files, warnings=(), unused=0.0, **about
):
    """
    The Signals of a block that sends spectra of each input, channel_source or packaged_source.

    Parameters
    ----------
    request : Request
    what : str
        The recording's name in messages.
    block : callable
        Makes the block from the parameters, a dictionary, with `type`, `begin` and `samples`.
    type : str
        Of the voltages that it sends where nobody asks for another.
    rate : Fraction
        Spectra a second.
    files, warnings, unused
        Those of Signals.
    about
        What else describe() takes.
    """
    count, width = parameters["channels"], parameters["width"]

    def source_from(samples, first, type=type):
        return silent(
            block, **parameters, type=type, begin=first // count, samples=-(-samples // count)
        )

    made = source_from(0, 0)
    center = parameters["center_frequency"]
    description, told = describe(
        request,
        what,
        inputs=made.inputs(),
        sample_rate=width * count,
        center_frequency=center,
        **about,
    )
    return Signals(
        description,
        made.type(),
        float(rate * count),
        center,
        made.samples() * count,
        lambda samples, *more: source_from(samples, 0, *more),
        made.start_time(),
        files=list(files),
        warnings=[*warnings, *told],
        unused=unused,
        source_from=source_from,
        channels=count,
        channel_width=width,
    )
