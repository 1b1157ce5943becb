#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Joins UVH5 files of parts of the channels, and of times, into one."""

import contextlib

import h5py
import numpy as np

from ...files.checked_file import whole_file
from ...parameters.times import SECONDS_PER_DAY
from .header import (
    GAINS,
    NOT_APPLIED,
    OF_ROWS,
    POLARIZATIONS,
    ascii_entry,
    clear_not_numbers,
    create_data,
    entry_text,
    gains_of,
    has_bitshuffle,
    load_bitshuffle,
)
from .reader import Uvh5Error

#: the entries that all parts must have alike
ALIKE = (
    "antenna_names",
    "antenna_numbers",
    "antenna_positions",
    "polarization_array",
    "Nbls",
    "telescope_name",
    "latitude",
    "longitude",
    "altitude",
)
OF_CHANNELS = ("freq_array", "channel_width", "flex_spw_id_array")
EPHEMERIS = ("cat_times", "cat_lon", "cat_lat")
#: entries of a phase centre that say where its name is from, and the like
OF_NO_PLACE = ("info_source", "cat_epoch")
MOST_EMPTY = 16  # times the channels that the files have, of the whole band
SAME_TIME = 0.25  # parts of an integration
SAME_CHANNEL = 1e-3  # parts of a channel


class _Field:
    """A phase centre of a file: the group of its entry, its name, and what makes it this one."""

    def __init__(self, entry):
        self.entry, self.name = entry, entry_text(ascii_entry(entry["cat_name"][()]))
        moves = EPHEMERIS if "cat_times" in entry else ()
        self.key = {
            name: np.asarray(ascii_entry(entry[name][()])).tolist()
            for name in entry
            if name not in moves and name not in OF_NO_PLACE
        }
        self.moves = bool(moves)


class _Part:
    """One file. times: of its integrations; lengths: s; first: of its channels, set later."""

    def __init__(self, path):
        self.path = path
        try:
            self.file = h5py.File(path, "r")
        except OSError as error:
            raise Uvh5Error(f"{path}: not a readable HDF5 file ({error})") from None
        try:
            self.header, self.data = self.file["Header"], self.file["Data"]
            self.frequencies = self._numbers("freq_array")
            self.widths = self._numbers("channel_width", above_0=True)
            if not 0 < len(self.frequencies) == len(self.widths):
                raise Uvh5Error(
                    f"{path}: freq_array and channel_width are of {len(self.frequencies)} and "
                    f"{len(self.widths)} channels"
                )
            self.baselines = int(self.header["Nbls"][()])
            if self.baselines < 1:
                raise Uvh5Error(f"{path}: Nbls is {self.baselines}, expected 1 or more")
            rows = self._numbers("time_array")
            if (
                len(rows) % self.baselines
                or (rows.reshape(-1, self.baselines) != rows[:: self.baselines, None]).any()
            ):
                raise Uvh5Error(f"{path}: its rows are not all baselines of a time after another")
            self.times = rows[:: self.baselines]
            self.lengths = self._numbers("integration_time", above_0=True)[:: self.baselines]
            if len(self.lengths) != len(self.times):
                raise Uvh5Error(
                    f"{path}: integration_time has {len(self.lengths)} integrations, time_array "
                    f"{len(self.times)}"
                )
            self.antennas = [
                self.header[name][: self.baselines] for name in ("ant_1_array", "ant_2_array")
            ]
            self.keywords = {
                name: entry_text(entry[()])
                for name, entry in self.header.get("extra_keywords", {}).items()
            }
            self.gains = gains_of(self.keywords.get(GAINS, ""))
            catalogue = self.header.get("phase_center_catalog", {})
            self.fields = {int(number): _Field(entry) for number, entry in catalogue.items()}
            #: the number of the phase centre of each integration
            self.field_of = np.zeros(len(self.times), int)
            if self.fields:
                ids = self.header["phase_center_id_array"][()].reshape(-1, self.baselines)
                self.field_of = ids[:, 0]
                if (ids != ids[:, :1]).any() or not set(self.field_of) <= set(self.fields):
                    raise Uvh5Error(f"{path}: its baselines have different phase centres")
            if has_bitshuffle(self.data["visdata"]):
                load_bitshuffle()
        except (KeyError, ValueError, TypeError) as error:
            self.file.close()
            if isinstance(error, Uvh5Error):
                raise
            raise Uvh5Error(f"{path}: damaged, or not a UVH5 file: {error}") from None

    def _numbers(self, name, above_0=False):
        """An entry of the header of one axis; refuses what is no finite number, or not above 0."""
        values = np.asarray(self.header[name][()], float)
        if values.ndim != 1:
            raise Uvh5Error(f"{self.path}: {name} has {values.ndim} axes instead of one")
        wrong = ~np.isfinite(values) | (above_0 & (values <= 0))
        if wrong.any():
            place = int(np.argmax(wrong))
            rule = "finite, and above 0" if above_0 else "finite"
            raise Uvh5Error(
                f"{self.path}: {name}[{place}] is {values[place]:g}, which is to be {rule}"
            )
        return values

    @property
    def calibrated(self):
        """By which calibration the visibilities were corrected; "": by none."""
        if self.keywords.get("CALSTATE", NOT_APPLIED) == NOT_APPLIED:
            return ""
        return self.keywords.get("CALIB") or "a calibration without a name"

    @property
    def unit(self):
        """The unit of the visibilities, for people."""
        return (
            self.keywords.get("VISUNITS") or entry_text(self.header["vis_units"][()])
            if "vis_units" in self.header
            else "unknown units"
        )

    def levels(self):
        """The gains for 8 bits that each product has been multiplied with, [baseline][product]."""
        header = self.header
        names = dict(
            zip(
                header["antenna_numbers"][()].tolist(), map(entry_text, header["antenna_names"][()])
            )
        )
        letters = {code: pair for pair, code in POLARIZATIONS.items()}
        pairs = [letters.get(int(code), "??") for code in header["polarization_array"]]
        level = lambda antenna, letter: self.gains.get(names.get(int(antenna), "") + letter, 1.0)
        return np.array(
            [[level(one, p) * level(two, q) for p, q in pairs] for one, two in zip(*self.antennas)]
        )

    def check_alike(self, other):
        for name in ALIKE:
            if name in self.header and (
                name not in other.header
                or not np.array_equal(
                    ascii_entry(self.header[name][()]), ascii_entry(other.header[name][()])
                )
            ):
                raise Uvh5Error(
                    f"{self.path} and {other.path}: {name} differs: they are not parts "
                    "of one observation"
                )
        if any((a != b).any() for a, b in zip(self.antennas, other.antennas)):
            raise Uvh5Error(f"{self.path} and {other.path}: the order of baselines differs")
        if abs(self.widths[0] - other.widths[0]) > SAME_CHANNEL * abs(other.widths[0]):
            raise Uvh5Error(f"{self.path} and {other.path}: channels have different widths")


def _check_scales(parts, places):
    """Refuses parts whose visibilities are not of one kind; places: as of _union()."""
    first = parts[0]
    for part in parts[1:]:
        pair = f"{first.path} and {part.path}"
        if bool(first.calibrated) != bool(part.calibrated):
            which = first if first.calibrated else part
            raise Uvh5Error(
                f"{pair}: the visibilities of {which.path} are calibrated (by "
                f"{which.calibrated}), those of the other are not"
            )
        if first.unit != part.unit:
            raise Uvh5Error(
                f"{pair}: the visibilities of one are in {first.unit}, those of the "
                f"other in {part.unit}"
            )
    times = [set(each.tolist()) for each in places]
    for number, part in enumerate(parts):
        for other, earlier in enumerate(parts[:number]):
            if part.calibrated != earlier.calibrated and times[number] & times[other]:
                raise Uvh5Error(
                    f"{earlier.path} and {part.path}: visibilities of the same times are "
                    f"calibrated by {earlier.calibrated}, and by {part.calibrated}"
                )


def _join_fields(parts, places):
    """
    Returns the _Fields of all parts; their numbers there are in `joined` of each part, by its own.

    Parts are of one field, or of several one after the other; places: as of _union().
    """
    fields = []
    for part in parts:
        part.joined = {0: 0}
        for number, field in part.fields.items():
            for place, other in enumerate(fields):
                if field.key == other.key:
                    part.joined[number] = place
                    break
                if field.name == other.name:
                    raise Uvh5Error(
                        f"{part.path}: its phase centre {field.name} is at another place than that "
                        "of the same name in other files"
                    )
            else:
                part.joined[number] = len(fields)
                fields.append(field)
    first = {}
    for part, each in zip(parts, places):
        for time, number in zip(each.tolist(), part.field_of.tolist()):
            other, field = first.setdefault(time, (part, part.joined[number]))
            if field != part.joined[number]:
                raise Uvh5Error(
                    f"{other.path} and {part.path}: phase centres differ at the same time: "
                    f"{fields[field].name}, {fields[part.joined[number]].name}"
                )
    return fields


def _bring_to_one_scale(parts):
    """
    Sets `scale` of each part, [baseline][product], which brings its visibilities to the gains for 8
    bits of the first part, or None where they are so; returns what there is to say of it.
    """
    levels = [part.levels() for part in parts]
    for part, level in zip(parts, levels):
        part.scale = None if np.array_equal(level, levels[0]) else levels[0] / level
    scaled = [part.path for part in parts if part.scale is not None]
    return (
        [
            f"{', '.join(scaled)}: had gains for 8 bits of its own, and is brought to those of "
            f"{parts[0].path}"
        ]
        if scaled
        else []
    )


def _union(parts):
    """Times of all parts, Julian dates, and of each part the place of each of its times."""
    entries = sorted(
        (time, number, place)
        for number, part in enumerate(parts)
        for place, time in enumerate(part.times)
    )
    places = [np.zeros(len(part.times), int) for part in parts]
    times, most = [], 0.0
    for time, number, place in entries:
        most = SAME_TIME * parts[number].lengths[place] / SECONDS_PER_DAY
        if not times or time - times[-1] > most:
            times.append(time)
        places[number][place] = len(times) - 1
    return np.array(times), places


def merge(paths, output):
    """
    Joins files, which aperture_fx wrote, into one that is new, and returns what there is to say.

    The channels of the result go from the lowest to the highest of all files, and its times are all
    of theirs. Files may be of several fields, phase centres one after the other, and the result has
    a catalogue of all of them. What no file has is flagged, with nsamples 0; of what several have,
    that with the most samples is taken, which is the one that was not cut off. Where their gains
    for 8 bits differ, as those of runs that measured them anew do, all are brought to those of the
    first file.

    Parameters
    ----------
    paths : list of str
    output : str
        Written under a hidden name until it is whole, then it takes the place of what is there.

    Returns
    -------
    dict
        `integrations`, `channels`, `flagged` (fraction of the cells that no file has) and `notes`,
        texts.

    Raises
    ------
    Uvh5Error (a ValueError)
        A file is not readable, or they are not of one observation; some are calibrated and others
        not; or two of the same times are calibrated by other calibrations.
    OSError
    """
    with contextlib.ExitStack() as stack:
        parts = [_Part(path) for path in paths]
        for part in parts:
            stack.callback(part.file.close)
        empty = [part.path for part in parts if len(part.times) == 0]
        parts = [part for part in parts if len(part.times)]
        if not parts:
            raise Uvh5Error(f"{', '.join(paths)}: there are no integrations")
        for part in parts[1:]:
            part.check_alike(parts[0])
        width = float(parts[0].widths[0])
        lowest = min(part.frequencies[0] for part in parts)
        for part in parts:
            with np.errstate(over="ignore"):
                exact = (part.frequencies - lowest) / width
            off = exact - np.round(exact[0]) - np.arange(len(exact))
            if not np.abs(off).max() <= SAME_CHANNEL:  # NaN is not below it
                raise Uvh5Error(f"{part.path}: its channels do not continue those of the others")
            part.first = int(round(exact[0]))
        channels = max(part.first + len(part.frequencies) for part in parts)
        _check_gaps(parts, channels)
        times, places = _union(parts)
        _check_scales(parts, places)
        fields = _join_fields(parts, places)
        scaled = _bring_to_one_scale(parts)
        with whole_file(output) as name, h5py.File(name, "w") as file:
            _write_header(file, parts, fields, times, places, lowest, width, channels)
            there = _write_data(file, parts, places, len(times), channels)
        notes = [f"{path}: has no integrations" for path in empty] + scaled
        if any("InputStatistics" in part.file for part in parts):
            notes.append("statistics of the inputs stay in the parts")
        return dict(integrations=len(times), channels=channels, flagged=1 - there, notes=notes)


def _check_gaps(parts, channels):
    """Refuses parts so far from each other in frequency that hardly any channel would be theirs."""
    here = len(
        set().union(*(range(each.first, each.first + len(each.frequencies)) for each in parts))
    )
    if channels <= MOST_EMPTY * here:
        return
    ordered = sorted(parts, key=lambda each: each.first)
    ends = np.maximum.accumulate([each.first + len(each.frequencies) for each in ordered])
    gaps = np.array([each.first for each in ordered[1:]]) - ends[:-1]
    place = int(np.argmax(gaps))
    below = ordered[int(np.flatnonzero(ends == ends[place])[0])]
    raise Uvh5Error(
        f"{below.path} and {ordered[place + 1].path}: {gaps[place]} channels lie between theirs, "
        f"and the files have {here} in all: these are not parts of one band (at most "
        f"{MOST_EMPTY - 1} of {MOST_EMPTY} channels may be in no file)"
    )


def _write_header(file, parts, fields, times, places, lowest, width, channels):
    first, baselines = parts[0], parts[0].baselines
    header = file.create_group("Header")
    for name, entry in first.header.items():
        if name not in OF_ROWS and name not in OF_CHANNELS and name != "phase_center_catalog":
            first.file.copy(entry, header, name)
    # the part that has a time says all of it
    source = {}
    for number, each in enumerate(places):
        for place, time in enumerate(each):
            source.setdefault(time, (number, place))
    for name in OF_ROWS:
        if name not in first.header:
            continue
        rows = [
            parts[number].header[name][place * baselines : (place + 1) * baselines]
            for number, place in (source[time] for time in range(len(times)))
        ]
        header[name] = np.concatenate(rows)
    source = [source[time] for time in range(len(times))]
    if fields:
        number_of = [parts[part].joined[int(parts[part].field_of[place])] for part, place in source]
        header["phase_center_id_array"][...] = np.repeat(number_of, baselines)
        header["Nphase"][...] = len(fields)
        _write_catalogue(header, parts, fields, source, number_of)
    header["freq_array"] = lowest + width * np.arange(channels)
    header["channel_width"] = np.full(channels, width)
    header["flex_spw_id_array"] = np.zeros(channels, int)
    history = first.header["history"][()] if "history" in first.header else b""
    del header["history"]
    header["history"] = np.bytes_(
        history + f"; joined of {len(parts)} files of parts of the channels or times".encode()
    )
    for name in ("CALIB", "CALSTATE"):
        texts = list(dict.fromkeys(part.keywords[name] for part in parts if name in part.keywords))
        if len(texts) > 1:
            keywords = header.require_group("extra_keywords")
            if name in keywords:
                del keywords[name]
            keywords[name] = np.bytes_("; ".join(texts).encode())
    _make_ascii(header)
    for name, value in (
        ("Nfreqs", channels),
        ("Ntimes", len(times)),
        ("Nblts", len(times) * baselines),
    ):
        header[name][()] = value


def _make_ascii(header):
    """Writes the texts again, which may be those of another program."""
    texts = []
    header.visititems(
        lambda name, entry: (
            texts.append(name)
            if isinstance(entry, h5py.Dataset) and entry.dtype.kind in "SO"
            else None
        )
    )
    for name in texts:
        value = ascii_entry(header[name][()])
        del header[name]
        header[name] = value


def _write_catalogue(header, parts, fields, source, number_of):
    """Writes the catalogue of phase centres, with the places of a body at all its times; source:
    part and place in it, number_of: the field, of each integration."""
    catalogue = header.create_group("phase_center_catalog")
    for number, field in enumerate(fields):
        field.entry.file.copy(field.entry, catalogue, str(number))
        if not field.moves:
            continue
        made = catalogue[str(number)]
        rows = {name: [] for name in EPHEMERIS}
        for (which, place), of in zip(source, number_of):
            if of == number:
                part = parts[which]
                mine = part.field_of[place]
                # an entry has a row for each integration of its field
                row = np.count_nonzero(part.field_of[:place] == mine)
                for name, values in rows.items():
                    values.append(part.fields[mine].entry[name][row])
        for name, values in rows.items():
            del made[name]
            made[name] = np.array(values)


def _write_data(file, parts, places, count, channels):
    """Writes an integration at a time; returns which fraction of the cells there is."""
    first, baselines = parts[0], parts[0].baselines
    data = file.create_group("Data")
    polarizations = first.data["visdata"].shape[-1]
    shape = (baselines, channels, polarizations)
    like = first.data["visdata"]
    kept = ("compression", "compression_opts", "shuffle") if like.compression else ()
    create_data(data, shape, count, **{name: getattr(like, name) for name in kept})
    having = [[] for _ in range(count)]
    for number, each in enumerate(places):
        for place, time in enumerate(each):
            having[time].append((number, place))
    there = 0
    for time, entries in enumerate(having):
        values = np.zeros(shape, np.complex64)
        flags, samples = np.ones(shape, bool), np.zeros(shape, np.float32)
        known = np.zeros(channels, bool)
        for number, place in entries:
            part = parts[number]
            rows = slice(place * baselines, (place + 1) * baselines)
            where = slice(part.first, part.first + len(part.frequencies))
            visibilities, found, flagged = (
                part.data[name][rows] for name in ("visdata", "nsamples", "flags")
            )
            clear_not_numbers(visibilities, found, flagged)
            # the one of two files of the same time and channel that has more samples counts
            better = ~known[where] | (found.sum(axis=(0, 2)) > samples[:, where].sum(axis=(0, 2)))
            chosen = np.flatnonzero(better) + part.first
            new = visibilities[:, better]
            values[:, chosen] = new if part.scale is None else new * part.scale[:, np.newaxis]
            flags[:, chosen] = flagged[:, better]
            samples[:, chosen] = found[:, better]
            known[where] = True
        there += np.count_nonzero(known)
        rows = slice(time * baselines, (time + 1) * baselines)
        data["visdata"][rows], data["flags"][rows], data["nsamples"][rows] = values, flags, samples
    return there / (count * channels)
