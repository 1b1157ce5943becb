#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The samples of a recording, as metadata of SigMF describe them; the package sigmf knows the
schema and types."""

import hashlib
import re
from fractions import Fraction

import jsonschema
import sigmf
from sigmf.sigmffile import dtype_info

from ...parameters.rules import is_number, is_whole
from ...parameters.times import TIME_RULE, exact, read_time, resolution
from ..recordings import (
    HIGHEST_FREQUENCY,
    HIGHEST_RATE,
    LOWEST_RATE,
    MOST_SAMPLES,
    Piece,
    Recording,
    time_of_file,
)
from .files import find_files

MOST_CHANNELS = 65536
MOST_BYTES = 1 << 50  # most bytes of headers
DATATYPE = r"[rc](f32|f64|i32|i16|u32|u16)_[lb]e|[rc][iu]8"


class _Reader:
    """Takes values out of metadata; every error names file, key, value and what is allowed."""

    def __init__(self, name, meta):
        self.name = name
        for key, kind, rule in (("global", dict, "an object"), ("captures", list, "a list")):
            if not isinstance(meta.get(key), kind):
                raise ValueError(
                    f"{name}: {key} must be {rule}" if key in meta else f"{name}: {key} is missing"
                )
        self.part = meta["global"]
        self.captures = meta["captures"]
        for index, capture in enumerate(self.captures):
            if not isinstance(capture, dict):
                self.refuse(f"captures[{index}]", capture, "an object")

    def refuse(self, key, value, rule):
        text = repr(value)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        raise ValueError(f"{self.name}: {key} {text}: must be {rule}")

    def number(self, where, part, key, low, high, default=None):
        """Returns the Fraction that is written."""
        value = part.get(f"core:{key}", default)
        if value is None:
            return None
        if not is_number(value, low, high):
            self.refuse(f"{where}.core:{key}", value, f"a number from {low:g} to {high:g}")
        return exact(value)

    def whole(self, where, part, key, low, high, default):
        value = part.get(f"core:{key}", default)
        if not is_whole(value, low, high):
            self.refuse(f"{where}.core:{key}", value, f"a whole number from {low} to {high}")
        return value


def read_recordings(request):
    """
    Returns the recordings of a request for sigmf: names.

    Returns
    -------
    recordings : list of Recording
    files : list of str
        All that were read.
    warnings : list of str
    """
    recordings, files, warnings, untimed = [], [], [], []
    for name in request.names:
        for found in find_files(name):
            recording, timed = _recording(found, request.values)
            recordings.append(recording)
            if not timed:
                untimed.append(recording)
            files += [path for path in found.read if path not in files]
    if untimed and len(untimed) < len(recordings):
        timed = next(entry for entry in recordings if entry not in untimed)
        raise ValueError(
            f"{untimed[0].name}: captures[0].core:datetime is missing, and "
            f"{timed.name} has one: they cannot be lined up; time= says when all of "
            "them began"
        )
    if untimed:
        rate = recordings[0].rate
        longest = max(piece.samples for entry in recordings for piece in entry.pieces)
        start, text = time_of_file(recordings[0].pieces[0].file, longest / rate, "time=")
        warnings.append(text)
        if len(recordings) > 1:
            warnings.append("the recordings are taken to have begun at the same moment")
        for entry in recordings:
            entry.approximate = True
            entry.pieces = [
                Piece(piece.file, piece.byte, piece.samples, start + piece.start)
                for piece in entry.pieces
            ]
    return recordings, files, warnings


def _recording(files, options):
    """The Recording of some Files, and whether its times are known (else they count from 0)."""
    read = _Reader(files.name, files.meta)
    part, captures, warnings = read.part, read.captures, []
    datatype = part.get("core:datatype")
    if not isinstance(datatype, str) or not re.fullmatch(DATATYPE, datatype):
        read.refuse("global.core:datatype", datatype, "one of SigMF, as cf32_le, ri16_be or cu8")
    kind = dtype_info(datatype)
    channels = read.whole("global", part, "num_channels", 1, MOST_CHANNELS, 1)
    rate = options.get("rate") or read.number(
        "global", part, "sample_rate", LOWEST_RATE, HIGHEST_RATE
    )
    if rate is None:
        raise ValueError(f"{files.name}: global.core:sample_rate is missing; rate= gives it, in Hz")
    if part.get("core:metadata_only") is True:
        raise ValueError(f"{files.name}: global.core:metadata_only: it has no samples")
    item = kind["sample_size"] * channels
    if options.get("sha512") == "check":
        _check_sum(read, files)
    pieces, timed = _pieces(read, files, item, rate, options, warnings)
    center = options.get("freq")
    if center is None:
        center = _frequency(read)
        if center is None:
            raise ValueError(
                f"{files.name}: captures[0].core:frequency is missing; freq= gives it, in Hz"
            )
        pieces = _at_frequency(read, pieces, center, warnings)
    warnings += _complaints(files)
    coding = "".join(
        (
            "u" if kind["is_unsigned"] else "s" if kind["is_fixedpoint"] else "f",
            str(8 * kind["component_size"]),
            "_be" if datatype.endswith("_be") else "",
        )
    )
    return Recording(
        files.name,
        channels,
        coding,
        kind["is_complex"],
        rate,
        float(center),
        [piece for _, piece in pieces],
        options.get("inverted") == "yes",
        place=_place(part, captures),
        warnings=warnings,
    ), timed


def _pieces(read, files, item, rate, options, warnings):
    """
    [(index of the capture, Piece)] with times that count from 0 where none is known, and whether
    they are known.
    """
    captures = read.captures or [{"core:sample_start": 0}]
    starts = [
        read.whole(
            f"captures[{index}]",
            capture,
            "sample_start",
            0,
            MOST_SAMPLES,
            0 if index == 0 else None,
        )
        for index, capture in enumerate(captures)
    ]
    for index in range(1, len(starts)):
        if starts[index] < starts[index - 1]:
            read.refuse(
                f"captures[{index}].core:sample_start",
                starts[index],
                f"at least that of the capture before it, {starts[index - 1]}",
            )
    for index, capture in enumerate(captures):
        read.whole(f"captures[{index}]", capture, "header_bytes", 0, MOST_BYTES, 0)
    trailing = read.whole("global", read.part, "trailing_bytes", 0, MOST_BYTES, 0)
    end = files.size - trailing
    times = _times(read, captures, starts, rate, options)
    pieces, first, before = [], 0, 0
    for index, start in enumerate(starts):
        # headers lie before the samples of their captures
        first += captures[index].get("core:header_bytes", 0) + (start - before) * item
        before = start
        held, rest = divmod(max(0, end - first), item)
        wanted = starts[index + 1] - start if index + 1 < len(starts) else held
        if index + 1 == len(starts) and rest:
            warnings.append(
                f"{files.name}: the last {rest} bytes of the samples are not the "
                f"{item} of a whole sample of each channel"
            )
        if held < wanted:
            warnings.append(
                f"{files.name}: captures[{index}] has {held} of {wanted} samples: the "
                "file of the samples ends too early"
            )
        if min(held, wanted) > 0:
            pieces.append(
                (index, Piece(files.data, files.first + first, min(held, wanted), times[index]))
            )
    if not pieces:
        raise ValueError(
            f"{files.name}: its samples have {files.size} bytes: at least one sample "
            f"of {item} bytes must be there"
        )
    return pieces, "time" in options or any("core:datetime" in capture for capture in captures)


def _times(read, captures, starts, rate, options):
    """
    When each capture begins, as Fractions: core:global_index counts samples of the receiver, and
    is exact; core:datetime is written with few digits, so that one that agrees with the samples
    before it within its last digit moves nothing.
    """
    given, units = [], []
    for index, capture in enumerate(captures):
        text = capture.get("core:datetime")
        if text is None:
            given.append(None)
            units.append(None)
            continue
        try:
            given.append(read_time(text if isinstance(text, str) else ""))
        except ValueError:
            read.refuse(f"captures[{index}].core:datetime", text, TIME_RULE.split(",")[0])
        units.append(max(resolution(text), Fraction(1, 2) / rate))
    counts = [
        read.whole(f"captures[{index}]", capture, "global_index", 0, 2**63 - 1, 0)
        if "core:global_index" in capture
        else None
        for index, capture in enumerate(captures)
    ]
    known = next((index for index, time in enumerate(given) if time is not None), 0)
    times = [None] * len(captures)
    times[known] = given[known] if given[known] is not None else Fraction(0)
    if options.get("time") is not None:
        known, times[0] = 0, options["time"]
    for index in range(known, 0, -1):
        times[index - 1] = times[index] - _between(starts, counts, index) / rate
    if times[0] < 0:
        raise ValueError(
            f"{read.name}: captures[{known}].core:datetime "
            f"{captures[known]['core:datetime']}: must be so late that the samples "
            "before it are from after 1970"
        )
    for index in range(known + 1, len(captures)):
        times[index] = times[index - 1] + _between(starts, counts, index) / rate
        if (
            given[index] is None
            or options.get("time") is not None
            or (counts[index] is not None and counts[index - 1] is not None)
        ):
            continue
        off = given[index] - times[index]
        if abs(off) > units[index]:
            times[index] = given[index]
    return times


def _between(starts, counts, index):
    """Samples from the beginning of the capture before to that of a capture."""
    if counts[index] is not None and counts[index - 1] is not None:
        return Fraction(counts[index] - counts[index - 1])
    return Fraction(starts[index] - starts[index - 1])


def _frequency(read):
    """Returns the frequency of the first capture that has one, Hz, or None."""
    for index, capture in enumerate(read.captures):
        found = read.number(f"captures[{index}]", capture, "frequency", 0, HIGHEST_FREQUENCY)
        if found is not None:
            return found
    return None


def _at_frequency(read, pieces, center, warnings):
    """The pieces at one frequency; a capture without one goes on at that before it."""
    kept, current = [], center
    frequencies = []
    for index, capture in enumerate(read.captures):
        found = read.number(f"captures[{index}]", capture, "frequency", 0, HIGHEST_FREQUENCY)
        current = current if found is None else found
        frequencies.append(current)
    for index, piece in pieces:
        if frequencies and frequencies[index] != center:
            warnings.append(
                f"{read.name}: captures[{index}] is tuned to "
                f"{float(frequencies[index]):.12g} Hz, and not to {float(center):.12g}"
                f" Hz: its {piece.samples} samples are left out"
            )
        else:
            kept.append((index, piece))
    if not kept:
        raise ValueError(f"{read.name}: no capture at {float(center):.12g} Hz has samples")
    return kept


def _place(part, captures):
    """(latitude, longitude, height) of core:geolocation, or None."""
    for holder in (part, *captures):
        point = holder.get("core:geolocation")
        values = point.get("coordinates") if isinstance(point, dict) else None
        if (
            isinstance(values, list)
            and len(values) in (2, 3)
            and all(map(is_number, values))
            and abs(values[0]) <= 180
            and abs(values[1]) <= 90
        ):
            height = float(values[2]) if len(values) == 3 else 0.0
            if -1000 <= height <= 10000:
                return float(values[1]), float(values[0]), height
    return None


def _complaints(files):
    """Warns of what the schema of SigMF does not allow: what is needed was looked at."""
    part = {"global": files.meta["global"], "captures": files.meta["captures"], "annotations": []}
    try:
        jsonschema.validate(part, sigmf.SigMFFile().get_schema())
    except jsonschema.ValidationError as error:
        key = ".".join(map(str, error.absolute_path)) or "the metadata"
        return [f"{files.name}: is not quite SigMF: {key}: {error.message[:120]}"]
    return []


def _check_sum(read, files):
    wanted = read.part.get("core:sha512")
    if not isinstance(wanted, str):
        raise ValueError(f"{files.name}: global.core:sha512 is missing: sha512=check compares it")
    found = hashlib.sha512()
    with open(files.data, "rb") as file:
        file.seek(files.first)
        left = files.size
        while left and (piece := file.read(min(left, 1 << 24))):
            found.update(piece)
            left -= len(piece)
    if found.hexdigest() != wanted.lower():
        read.refuse(
            "global.core:sha512", wanted, f"that of the samples, {found.hexdigest()[:16]}..."
        )
