#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
VDIF whose channels are neighbours of a band, as CHIME records 1024 of them.

All headers of a file are read at the beginning: where frames follow each other regularly, they are
a single piece, however many there are.
"""

import os
from fractions import Fraction

import numpy as np

from ...parameters.times import utc_after
from ..recordings import ChannelRecording, Piece
from .reader import _seconds_between, find_first

CHUNK = 1 << 26  # bytes that are read at a time
MOST_PIECES = 1 << 22  # pieces that a file may have
WINDOW = 64  # frames of a thread by which the order of a file may be wrong, as in vdif_source
#: bits of a component -> coding
CODINGS = {1: "offset1", 2: "offset2", 4: "offset4", 8: "offset8", 16: "u16"}


def _headers(name, begin, size):
    """Words [frame][4] of the frames of a file, of so many bytes each, from a byte on."""
    found = []
    with open(name, "rb") as file:
        file.seek(begin)
        while True:
            data = np.fromfile(file, np.uint8, max(1, CHUNK // size) * size)
            frames = len(data) // size
            if frames:
                words = data[: frames * size].reshape(frames, size)[:, :16]
                found.append(np.ascontiguousarray(words).view("<u4"))
            if frames * size < max(1, CHUNK // size) * size:
                return np.concatenate(found) if found else np.zeros((0, 4), np.uint32)


def _numbers(words, stream):
    """Numbers of frames, counted from the stream's first one; -1 of epochs that are another's."""
    seconds = (words[:, 0] & 0x3FFFFFFF).astype(np.int64)
    later = (words[:, 1] >> 24 & 63).astype(np.int64) - stream.epoch
    seconds += np.where(later == 1, _seconds_between(stream.epoch, stream.epoch + 1), 0)
    numbers = (seconds - stream.first[0]) * stream.frames_per_second
    numbers += (words[:, 1] & 0xFFFFFF).astype(np.int64) - stream.first[1]
    return np.where((later == 0) | (later == 1), numbers, -1)


def _near(numbers):
    """
    Tells of each frame, in the order of the file, whether its number is near that of one of the
    two before or behind it: a damaged time stands alone, and times behind a gap do not.
    """
    near = np.zeros(len(numbers), bool)
    all_of_them = np.concatenate([[0, 0], numbers])  # the first frame has number 0
    for shift in (1, 2):
        close = np.abs(numbers - all_of_them[2 - shift : len(all_of_them) - shift]) <= WINDOW
        near |= close
        near[:-shift] |= close[shift:]
    return near


def _runs(places, numbers):
    """
    Frames of a thread at some places, as runs of frames whose numbers follow each other, and that
    are equally far apart: rows (place, number, count), and how far that is.
    """
    order = np.argsort(numbers, kind="stable")
    places, numbers = places[order], numbers[order]
    first = np.concatenate([[True], np.diff(numbers) > 0])  # a frame that comes twice is used once
    places, numbers = places[first], numbers[first]
    steps = np.diff(places)
    apart = int(np.median(steps)) if len(steps) else 1
    apart = max(1, apart)
    begins = np.concatenate([[True], (np.diff(numbers) != 1) | (steps != apart)])
    at = np.flatnonzero(begins)
    counts = np.diff(np.concatenate([at, [len(places)]]))
    return np.stack([places[at], numbers[at], counts], axis=1), apart


def channels_of(name, stream, center, falling, inverted, width=None):
    """
    The ChannelRecordings of a file: one for each thread, which is an input.

    Parameters
    ----------
    name : str
    stream : VdifStream
        Of this file alone.
    center : float
        Hz, sky frequency of the middle of the band.
    falling : bool
        The sky frequency falls with the number of the channel.
    inverted : bool
        It falls within a channel where that of its voltages rises.
    width : float, optional
        Hz, from a channel to the next, where they are oversampled; default: as many as spectra
        come a second.

    Raises
    ------
    ValueError
        The file has no such frames, or too many pieces of them.
    """
    if not stream.complex:
        raise ValueError(f"{name}: has real samples: channels of a band are complex")
    begin, size = find_first(name), stream.frame_bytes
    words = _headers(name, begin, size)
    header = 16 if stream.legacy else 32
    ours = (words[:, 2] & 0xFFFFFF) * 8 == size
    ours &= (words[:, 3] & 0xFFFF) == stream.station
    numbers, threads = _numbers(words, stream), words[:, 3] >> 16 & 0x3FF
    # a number that lies behind all that could be there is damaged
    ours &= (numbers >= 0) & (numbers <= 2 * len(words) + WINDOW)
    ours[ours] = _near(numbers[ours])
    damaged, invalid = int(np.sum(~ours)), int(np.sum(ours & (words[:, 0] >> 31 == 1)))
    ours &= words[:, 0] >> 31 == 0
    warnings = [
        f"{name}: {count} frames {what}: they are missing"
        for count, what in ((damaged, "have damaged headers"), (invalid, "are marked as invalid"))
        if count
    ]
    rest = (os.path.getsize(name) - begin) % size
    if rest:
        warnings.append(f"{name}: the last {rest} bytes are no whole frame of {size}")
    bits = 2 * stream.bits
    rate = Fraction(stream.frames_per_second * stream.samples)
    count, width = stream.channels, float(rate) if width is None else width
    if not width <= rate < 2 * width:
        raise ValueError(
            f"{name}: width= is {width:.9g} Hz, but spectra come at {float(rate):.9g} Hz: expected "
            "as many, or less, down to more than half as many where channels are oversampled"
        )
    head, sign = (count - 1, -1) if falling else (0, 1)
    recordings = []
    for thread in stream.threads:
        places = np.flatnonzero(ours & (threads == thread))
        if not len(places):
            continue
        rows, apart = _runs(places, numbers[places])
        lost = int(np.sum(np.diff(rows[:, 1]) - rows[:-1, 2]))
        if lost:
            warnings.append(f"{name}: {lost} frames of thread {thread} are missing")
        if stream.samples > 1:
            # frames of several spectra are a piece each
            run = np.repeat(np.arange(len(rows)), rows[:, 2])
            within = np.arange(len(run)) - np.repeat(np.cumsum(rows[:, 2]) - rows[:, 2], rows[:, 2])
            rows = np.stack(
                [rows[run, 0] + apart * within, rows[run, 1] + within, np.ones_like(run)], axis=1
            )
        if len(rows) > MOST_PIECES:
            raise ValueError(f"{name}: has {len(rows)} pieces: expected at most {MOST_PIECES}")
        stride = apart * size * 8 // bits if stream.samples == 1 else count
        pieces = [
            Piece(
                name,
                int(begin + place * size + header),
                int(n * stream.samples),
                utc_after(stream.start, int(number) * stream.samples / rate),
            )
            for place, number, n in rows
        ]
        recordings.append(
            ChannelRecording(
                name,
                1,
                count,
                CODINGS[stream.bits],
                rate,
                width,
                center - width * (count - 1) / 2,
                pieces,
                [(0, 0, count, head, sign, stride, 0, 0)],
                inverted,
                part=int(thread),
                telescope=f"station {stream.station}",
                warnings=warnings,
            )
        )
        warnings = []
    if not recordings:
        raise ValueError(f"{name}: has no frames that can be used")
    return recordings
