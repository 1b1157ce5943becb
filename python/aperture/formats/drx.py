#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
DRX of the Long Wavelength Array: frames of 4096 samples of one tuning and one polarisation of a
beam, each behind a header of 32 bytes, high bytes first:

    sync (0xDEC0DE5C), id and frame count, seconds: 4 bytes each; decimation, time offset: 2 each;
    time tag: 8; tuning word, flags: 4 each

The id has the beam in its three lowest bits, the tuning in the next three, and the polarisation in
the highest one. A clock of 196 MHz counts time tags since 1970; a sample is a byte, re in the high
four bits, im in the low ones, or, in frames of 8224 bytes (DRX8), two bytes, re and im.

Other frames of the array have the same sync word (TBF, COR, TBX). Their ids are none of a beam.
"""

import os
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

CLOCK = 196_000_000  # Hz
HEADER, SAMPLES = 32, 4096
#: bytes of a sample -> its coding, as recording_source has it
CODINGS = {1: "s4_be", 2: "s8"}
SYNC = 0xDEC0DE5C
CHUNK = 16384  # frames that are read at a time
SEARCHED = 1 << 22  # bytes in which a frame is looked for where none is
MOST_FRAMES = 1 << 22  # frames that a recording may have

_HEADER = np.dtype(
    [
        ("sync", ">u4"),
        ("id", "u1"),
        ("count", "u1", 3),
        ("seconds", ">u4"),
        ("decimation", ">u2"),
        ("offset", ">u2"),
        ("tag", ">u8"),
        ("tuning", ">u4"),
        ("flags", ">u4"),
    ]
)


@dataclass
class DrxStream:
    """
    Frames of one tuning of one beam.

    beam, tuning; polarizations: in order; rate: samples a second, a Fraction; frequency: Hz, of the
    middle of the band; start: of sample 0, s since 1970, a Fraction; coding: of a component;
    pieces: rows (file, byte, samples, first sample, set) of recording_source, a set for each
    polarisation; warnings.
    """

    beam: int
    tuning: int
    polarizations: list
    rate: Fraction
    frequency: float
    start: Fraction
    coding: str
    pieces: list = field(default_factory=list)
    warnings: list = field(default_factory=list)


def _is_ours(frames):
    """Returns whether headers are those of frames of DRX."""
    return (frames["sync"] == SYNC) & (frames["id"] & 7 > 0) & (frames["id"] >> 3 & 7 > 0)


def _bytes_of_sample(name):
    """Bytes of a sample of a file, as the first frames lie, that follow each other."""
    size = os.path.getsize(name)
    with open(name, "rb") as file:
        first = _search(file, 0, size)
        for count in CODINGS:
            file.seek(first + HEADER + SAMPLES * count)
            head = file.read(HEADER)
            if len(head) == HEADER and _is_ours(np.frombuffer(head, _HEADER))[0]:
                return count
    # a single frame, or one behind which bytes are missing
    return 2 if size - first == HEADER + 2 * SAMPLES else 1


def _headers(name, frame):
    """Headers of the frames of a file, of so many bytes each, the byte of each, and how many bytes
    are in none."""
    size, found, places, skipped = os.path.getsize(name), [], [], 0
    with open(name, "rb") as file:
        byte = 0
        while size - byte >= frame:
            file.seek(byte)
            data = np.fromfile(file, np.uint8, frame * min(CHUNK, (size - byte) // frame))
            frames = np.ascontiguousarray(data.reshape(-1, frame)[:, :HEADER]).view(_HEADER)[:, 0]
            good = _is_ours(frames)
            whole = len(good) if good.all() else int(np.argmin(good))
            if whole:
                found.append(frames[:whole])
                places.append(byte + frame * np.arange(whole))
                byte += frame * whole
            else:
                after = _search(file, byte + 1, size)
                skipped, byte = skipped + after - byte, after
    skipped += size - byte
    if not found:
        return np.zeros(0, _HEADER), np.zeros(0, np.int64), skipped
    return np.concatenate(found), np.concatenate(places), skipped


def _search(file, byte, size):
    """Byte of the next header at or behind a byte, or the size of the file."""
    word = SYNC.to_bytes(4, "big")
    while byte < size:
        file.seek(byte)
        at = file.read(SEARCHED + len(word) - 1).find(word)
        if at >= 0:
            return byte + at
        byte += SEARCHED
    return size


def read_streams(names):
    """
    The DrxStreams of files that follow each other: of each beam and tuning.

    Raises
    ------
    ValueError
        There are no frames, none of them has a time, or there are more than can be listed.
    """
    headers, places, files, warnings = [], [], [], []
    size, *others = (_bytes_of_sample(name) for name in names)
    for name, other in zip(names[1:], others):
        if other != size:
            raise ValueError(
                f"{name}: has samples of {other} bytes, but {names[0]} of {size}: they do not "
                "follow each other"
            )
    frame = HEADER + SAMPLES * size
    for number, name in enumerate(names):
        found, at, skipped = _headers(name, frame)
        headers.append(found)
        places.append(at)
        files.append(np.full(len(found), number))
        if skipped:
            warnings.append(f"{name}: {skipped} bytes are in no frame of DRX")
    headers, places = np.concatenate(headers), np.concatenate(places)
    files = np.concatenate(files)
    if not len(headers):
        raise ValueError(
            f"{names[0]}: has no frame of DRX: expected {frame} bytes that begin with {SYNC:#x}, "
            "of a beam and a tuning"
        )
    if len(headers) > MOST_FRAMES:
        raise ValueError(
            f"{names[0]}: {len(headers)} frames: expected at most {MOST_FRAMES}, "
            f"{MOST_FRAMES * frame / 1e9:.3g} GB"
        )
    beams, tunings = headers["id"] & 7, headers["id"] >> 3 & 7
    streams = []
    for beam, tuning in sorted(set(zip(beams.tolist(), tunings.tolist()))):
        chosen = np.flatnonzero((beams == beam) & (tunings == tuning))
        # most frames have what all frames of a stream should have
        of_stream = headers[chosen]
        keys = np.stack([of_stream["decimation"], of_stream["tuning"]], 1).astype(np.int64)
        values, counts = np.unique(keys, axis=0, return_counts=True)
        decimation, word = map(int, values[np.argmax(counts)])
        same = np.all(keys == (decimation, word), axis=1)
        told = list(warnings) if not streams else []
        where = f"{names[0]}: beam {beam}, tuning {tuning}"
        if not same.all():
            told.append(
                f"{where}: {int(np.sum(~same))} frames have another decimation or frequency, and "
                "are not used"
            )
        if not decimation:
            raise ValueError(f"{where}: decimation 0: must be above 0")
        chosen = chosen[same]
        streams.append(_stream(where, headers, places, files, chosen, told, CODINGS[size]))
    return streams


def _stream(where, headers, places, files, chosen, warnings, coding):
    """A DrxStream of the chosen ones of all frames."""
    of_stream = headers[chosen]
    decimation = int(of_stream["decimation"][0])
    ticks = of_stream["tag"].astype(np.int64) - of_stream["offset"].astype(np.int64)
    # a frame that begins between most others, or far from them, has a damaged time
    rests, counts = np.unique(ticks % (decimation * SAMPLES), return_counts=True)
    rest = int(rests[np.argmax(counts)])
    numbers, away = np.divmod(ticks - rest, decimation * SAMPLES)
    good = (away == 0) & (ticks >= 0)
    if not good.any():
        raise ValueError(f"{where}: no frame has a time tag since 1970")
    near = 2 * len(chosen) + 64
    good &= np.abs(numbers - int(np.median(numbers[good]))) <= near
    begin = int(numbers[good].min())
    numbers -= begin
    first = begin * decimation * SAMPLES + rest
    parts = sorted(set((of_stream["id"] >> 7).tolist()))
    stream = DrxStream(
        int(of_stream["id"][0] & 7),
        int(of_stream["id"][0] >> 3 & 7),
        parts,
        Fraction(CLOCK, decimation),
        int(of_stream["tuning"][0]) * CLOCK / 2**32,
        Fraction(first, CLOCK),
        coding,
        warnings=warnings,
    )
    if not good.all():
        warnings.append(f"{where}: {int(np.sum(~good))} frames have times that do not fit")
    for number, part in enumerate(parts):
        own = np.flatnonzero(good & (of_stream["id"] >> 7 == part))
        _, once = np.unique(numbers[own], return_index=True)
        own = own[once]
        lost = int(numbers[good].max()) + 1 - len(own)
        if lost:
            warnings.append(f"{where}: {lost} frames of polarisation {part} are missing")
        stream.pieces += [
            (file, byte + HEADER, SAMPLES, number_ * SAMPLES, number)
            for file, byte, number_ in zip(
                files[chosen[own]].tolist(), places[chosen[own]].tolist(), numbers[own].tolist()
            )
        ]
    return stream
