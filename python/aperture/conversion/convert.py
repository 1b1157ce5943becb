#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Visibilities from one file to another: some of them, calibrated, phased to a place, averaged.

Measurement sets and UVFITS files hold visibilities that are phased to a place on the sky. Those
that are not (phase centre `unprojected`, as the X-engine makes them) are phased to one here: the
phase of a source there becomes 0, and u, v, w are along its east, north and line of sight.
"""

import os
from dataclasses import dataclass

import numpy as np

from ..arrays import geometry
from ..parameters.ascii_text import ascii_text
from ..parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_JD
from .changes import LETTERS, Corrections, average_channels, average_times, is_phased, phase
from .targets import Target
from .visibility_files import ConversionError, VisibilityReader, format_of

#: characters of an antenna's name that UVFITS has room for
UVFITS_NAME = 8
#: m; antennas that are this near have no places of their own, see uvh5_writer.nominal_places
TOGETHER = 0.1
#: parts of an integration; where the next one begins later, nothing is averaged with it
GAP = 0.5
MOST_NAMES = 12  # antennas that a message names


@dataclass(frozen=True)
class Selection:
    """
    The visibilities that are taken.

    integrations, channels: slices of numbers from 0, in order of time and of frequency; antennas:
    names, both ends of a baseline are among them; baselines: texts such as A1-A2; polarizations:
    names such as xx. What is None is not restricted.
    """

    integrations: slice | None = None
    channels: slice | None = None
    antennas: tuple | None = None
    baselines: tuple | None = None
    polarizations: tuple | None = None


@dataclass(frozen=True)
class Averages:
    """Integrations and channels that are averaged, numbers of neighbours."""

    integrations: int = 1
    channels: int = 1


def zenith(seconds, latitude, longitude, height):
    """ICRS right ascension and declination, in degrees, of what is in the zenith."""
    return geometry.azel_to_radec(0.0, 90.0, seconds, latitude, longitude, height)


def _taken(chosen, count, option, what):
    """Numbers that a slice takes of `count`."""
    first, end = chosen.start or 0, count if chosen.stop is None else chosen.stop
    if not 0 <= first < end <= count:
        raise ConversionError(
            f"{option} {first}:{end - 1}: the file has {count} {what}, 0 to {count - 1}, both ends "
            "of a range included"
        )
    return np.arange(first, end)


def _pair(text, numbers):
    """The two antennas of a baseline such as "A1-A2", the lower number first; names may have a - in
    them."""
    parts = text.split("-")
    for cut in range(1, len(parts)):
        pair = "-".join(parts[:cut]).strip(), "-".join(parts[cut:]).strip()
        if all(name in numbers for name in pair):
            return tuple(sorted(numbers[name] for name in pair))
    raise ConversionError(
        f"--baselines {text}: expected two antennas (A-B) of these: {_shown(numbers)}"
    )


def _shown(names):
    """Names for a message."""
    return ", ".join(list(names)[:MOST_NAMES]) + ", ..." * (len(names) > MOST_NAMES)


def _pairs_taken(meta, selection):
    """A function of ant_1, ant_2 that says which rows are taken; None: all."""
    if selection.antennas is None and selection.baselines is None:
        return None
    telescope = meta.telescope
    numbers = dict(zip(map(str, telescope.antenna_names), telescope.antenna_numbers.tolist()))

    for name in selection.antennas or ():
        if name not in numbers:
            raise ConversionError(
                f"--antennas {name}: the file has no such antenna, only {_shown(numbers)}"
            )
    antennas = selection.antennas and [numbers[name] for name in selection.antennas]
    pairs = selection.baselines and {_pair(text, numbers) for text in selection.baselines}

    def taken(ant_1, ant_2):
        found = np.ones(len(ant_1), bool)
        if antennas:
            found &= np.isin(ant_1, antennas) & np.isin(ant_2, antennas)
        if pairs:
            both = np.stack([np.minimum(ant_1, ant_2), np.maximum(ant_1, ant_2)], axis=1)
            each, which = np.unique(both, axis=0, return_inverse=True)
            found &= np.array([tuple(pair) in pairs for pair in each.tolist()])[np.ravel(which)]
        return found

    return taken


def _choose(reader, selection, averages):
    """Restricts what a reader gives; returns the numbers of integrations."""
    meta = reader.meta
    channels = polarizations = None
    if selection.channels is not None:
        ascending = np.argsort(meta.freq_array, kind="stable")
        taken = _taken(selection.channels, meta.Nfreqs, "--select-channels", "channels")
        channels = np.sort(ascending[taken])
    count = meta.Nfreqs if channels is None else len(channels)
    if count % averages.channels:
        first = (selection.channels.start or 0) if selection.channels else 0
        whole = count - count % averages.channels
        raise ConversionError(
            f"--average-channels {averages.channels}: {count} channels are no multiple of it"
            + (f"; --select-channels {first}:{first + whole - 1} would be" if whole else "")
        )
    if selection.polarizations is not None:
        codes = {LETTERS.get(code, str(code)): code for code in meta.polarization_array.tolist()}
        for name in selection.polarizations:
            if name not in codes:
                raise ConversionError(f"--polarizations {name}: the file has {', '.join(codes)}")
        polarizations = [codes[name] for name in selection.polarizations]
    if averages.integrations > 1 and reader.is_baseline_dependent:
        raise ConversionError(
            f"{reader.path}: its baselines have integrations of different lengths "
            "(baseline-dependent averages), which --average-integrations does not average"
        )
    reader.choose(_pairs_taken(meta, selection), channels, polarizations)
    if selection.integrations is None:
        return np.arange(len(reader.times))
    return _taken(selection.integrations, len(reader.times), "--integrations", "integrations")


def _groups(reader, numbers, count):
    """Lists of integrations that become one: `count` of them that follow on each other, of one
    phase centre; fewer before a gap and at the end."""
    groups = []
    for number in numbers.tolist():
        if groups and len(groups[-1]) < count:
            last = groups[-1][-1]
            apart = (reader.times[number] - reader.times[last]) * SECONDS_PER_DAY
            length = (reader.lengths[number] + reader.lengths[last]) / 2
            if apart < (1 + GAP) * length and reader.fields[number] == reader.fields[last]:
                groups[-1].append(number)
                continue
        groups.append([number])
    return groups


def _pieces(groups, most):
    """Lists of groups, of no more than `most` integrations together if one group is not more."""
    piece, size = [], 0
    for group in groups:
        if piece and size + len(group) > most:
            yield piece
            piece, size = [], 0
        piece.append(group)
        size += len(group)
    if piece:
        yield piece


def _averaged(reader, groups, most, change):
    """A piece with its groups averaged; a group that is too large for memory, bit by bit."""
    count = max(map(len, groups))
    if count == 1 or len(groups) > 1 or count <= most:
        numbers = [number for group in groups for number in group]
        data = reader.piece(numbers)
        if data is None:
            return None
        data = change(data)
        if count == 1:
            return data
        # a copy of a measurement set's times may be rounded otherwise: the nearest is meant
        place_of = {reader.times[number]: i for i, group in enumerate(groups) for number in group}
        times = np.array(sorted(place_of))
        nearest = lambda time: place_of[times[np.argmin(np.abs(times - time))]]
        return average_times(data, {time: nearest(time) for time in np.unique(data.time_array)})
    total = None
    for start in range(0, count, most):
        part = _averaged(reader, [groups[0][start : start + most]], most, change)
        if part is None:
            continue
        if total is not None:
            part = total.fast_concat(part, axis="blt", inplace=False, run_check=False)
            part = average_times(part, dict.fromkeys(np.unique(part.time_array), 0))
        total = part
    return total


def _notes_on(data, ending):
    """Returns what the user is to know of data in a file of a format."""
    notes = []
    antennas = data.telescope
    used = np.isin(antennas.antenna_numbers, np.unique([data.ant_1_array, data.ant_2_array]))
    places = antennas.antenna_positions[used]
    extent = np.linalg.norm(places - places.mean(axis=0), axis=1).max() if len(places) else 0
    if len(places) > 1 and extent < TOGETHER:
        notes.append(
            "the antennas are all at one place: their positions were not known when the "
            "file was made (aperture_fx --array), and no image can be made of it"
        )
    if ending == ".uvfits":
        long = [name for name in antennas.antenna_names if len(name) > UVFITS_NAME]
        short = [name[:UVFITS_NAME] for name in antennas.antenna_names]
        if len(set(short)) < len(short):
            raise ConversionError(
                f"UVFITS keeps {UVFITS_NAME} characters of the names of "
                f"antennas, by which {', '.join(sorted(long)[:4])} would not be "
                "told apart: write a measurement set"
            )
        if long:
            notes.append(
                f"UVFITS keeps {UVFITS_NAME} characters of the names of antennas: "
                f"{long[0]} becomes {long[0][:UVFITS_NAME]}"
                + (" and so on" if len(long) > 1 else "")
            )
    return notes


def convert(
    source,
    target,
    centre=None,
    name="centre",
    overwrite=True,
    compression="none",
    selection=Selection(),
    averages=Averages(),
    calibrations=None,
):
    """
    Converts a file, of which a piece at a time is in memory.

    Parameters
    ----------
    source, target : str
        Paths; their endings choose the formats.
    centre : callable
        centre(seconds, latitude, longitude, height): ICRS right ascension and declination in
        degrees of the place to which visibilities are phased, in the middle of the observation as
        seen from there; None: those that are phased to the sky stay as they are, and others are
        phased to the zenith if the format asks for a phase centre.
    name : str
        Name of the place.
    overwrite : bool
        True if an existing target is replaced.
    compression : str
        Compression of UVH5, one of `COMPRESSIONS`.
    selection : Selection
    averages : Averages
        After the phases were rotated to the centre.
    calibrations : Series
        They are applied before all else; None: none is.

    Returns
    -------
    summary : str
    notes : list of str
        Texts for the user.

    Raises
    ------
    ConversionError, CalibrationError, OSError
    """
    ending = format_of(target)
    written = Target(target, overwrite, compression)
    reader = VisibilityReader(source, written.folder)
    numbers = _choose(reader, selection, averages)
    done, told = [], []
    ends = [
        (reader.times[number] - UNIX_EPOCH_JD) * SECONDS_PER_DAY + sign * reader.lengths[number] / 2
        for number, sign in ((numbers[0], -1), (numbers[-1], 1))
    ]
    corrections = None
    if calibrations is not None:
        corrections = Corrections(calibrations, reader.meta)
        told += [f"{reader.path}: {text}" for text in corrections.warnings(*ends)]
        done.append(f"calibrated by {calibrations.name}")
    place = None
    if centre is not None or (ending != ".uvh5" and not is_phased(reader.meta)):
        centre, name = (centre, name) if centre else (zenith, "zenith")
        middle = (reader.times[numbers[0]] + reader.times[numbers[-1]]) / 2
        place = centre(
            (middle - UNIX_EPOCH_JD) * SECONDS_PER_DAY,
            *reader.meta.telescope.location_lat_lon_alt_degrees,
        )
        done.append(f"phased to {name}: RA {place[0]:.5f}°, Dec {place[1]:+.5f}° (ICRS)")
    for count, what in ((averages.integrations, "integrations"), (averages.channels, "channels")):
        if count > 1:
            done.append(f"{count} {what} averaged")
    history = (
        reader.meta.history
        + ascii_text(f"; converted from {os.path.basename(reader.path)} by gr-aperture")
        + ascii_text("".join(f", {text}" for text in done))
    )

    def change(data):
        if corrections is not None:
            corrections.apply(data)
        if place is not None:
            phase(data, *place, name)
        average_channels(data, averages.channels)
        return data

    most = reader.integrations_of_a_piece()
    notes = []
    with written:
        first = True
        for groups in _pieces(_groups(reader, numbers, averages.integrations), most):
            data = _averaged(reader, groups, most, change)
            if data is None:
                continue
            data.history = history
            if first:
                notes = _notes_on(data, ending)
                first = False
            written.add(data)
        if first:
            raise ConversionError(f"{reader.path}: nothing in it is of these baselines")
    return "; ".join([written.summary, *done]), told + reader.notes + notes + written.notes
