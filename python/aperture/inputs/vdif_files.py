#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
What VDIF files hold, found out from a few of their frames: those at the beginning and at the end.

The `baseband` package reads the first header that is one. What all frames have in common is known
then, and others are only compared with it.
"""

import os
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

SEARCHED = 1 << 22     # bytes at the beginning of a file, and at the end
FIRST_FRAMES = 4096    # that say which threads there are
SECOND = 1 << 22       # frames at most that are looked at to find how many a second has
NEAR = 64              # frames of a thread; as vdif_source has it
HEADER_WORDS = 4       # that headers of all kinds have
MOST_SAMPLES = 2**61   # that are counted, about as vdif_source does
MARK5B = 0xab          # extended data version of Mark 5B's payload
WIDTHS = (1, 2, 4, 8, 16)


@dataclass
class VdifStream:
    """
    What the frames of files that follow each other have in common.

    frame_bytes: with the header; channels: of each frame; samples: of a channel in a frame;
    threads: in order; frames_per_second: None if nothing says it; exact: whether a header does;
    first, last: (second, frame) of the first frame and of the last one; epoch: half years since
    2000; start: of the epoch, seconds since 1970.
    """
    frame_bytes: int
    legacy: bool
    bits: int
    complex: bool
    channels: int
    samples: int
    station: int
    epoch: int
    start: int
    frames_per_second: int = None
    exact: bool = False
    threads: tuple = ()
    first: tuple = (0, 0)
    last: tuple = (0, 0)


def _fields(words):
    """What headers have in common, of words [...][4], as [...][5]: frame length with channels,
    the rest of its word and of the next but for the thread, epoch, legacy."""
    return np.stack([words[..., 2] & 0x1fffffff, words[..., 3] & ~np.uint32(0x3ff << 16),
                     (words[..., 1] >> 24) & 63, (words[..., 0] >> 30) & 1], -1)


def _at(data, places):
    """Words [place][4] at bytes of data."""
    places = np.asarray(places, np.int64)
    index = places[:, None] + np.arange(4 * HEADER_WORDS)
    return np.ascontiguousarray(data[index]).view("<u4")


def find_first(name):
    """Byte of the first frame that is followed by one of the same form, or fills the file; None."""
    size = os.path.getsize(name)
    data = np.fromfile(name, np.uint8, min(size, 2 * SEARCHED))
    most = len(data) - 4 * HEADER_WORDS
    if most < 0:
        return None
    for begin in range(0, min(most + 1, SEARCHED), 1 << 16):
        places = np.arange(begin, min(begin + (1 << 16), most + 1, SEARCHED))
        words = _at(data, places)
        length = (words[:, 2] & 0xffffff).astype(np.int64) * 8
        # a header of zeros would be followed by another one at once
        good = length > np.where(words[:, 0] >> 30 & 1, 16, 32)
        inside = good & (places + length <= most)
        place, following = places[inside], places[inside] + length[inside]
        same = np.all(_fields(words[inside]) == _fields(_at(data, following)), -1)
        alone = places[good & (places + length == size)]
        found = np.concatenate([place[same], alone])
        if len(found):
            return int(found.min())
    return _first_of_long_frames(name, data, size)


def _first_of_long_frames(name, data, size):
    """0 if the frames are longer than what was searched, and the first two are of one form."""
    words = _at(data, [0])
    length = int(words[0, 2] & 0xffffff) * 8
    if SEARCHED < length <= size - 4 * HEADER_WORDS:
        with open(name, "rb") as file:
            file.seek(length)
            behind = np.frombuffer(file.read(4 * HEADER_WORDS), "<u4")
        if np.all(_fields(words[0]) == _fields(behind)):
            return 0
    return None


def _usual_header(file, byte):
    """The byte of a header, at or behind one, whose form and rate most have."""
    found, step = {}, int.from_bytes(os.pread(file, 3, byte + 8), "little") * 8
    for index in range(NEAR):
        head = os.pread(file, 32, byte + index * step)
        if len(head) < 32:
            break
        words = np.frombuffer(head, "<u4")
        # the extended words of EDV 1 and 3 begin with the rate
        form = (*_fields(words), *(() if words[0] >> 30 & 1 else words[4:6]))
        found.setdefault(tuple(map(int, form)), []).append(byte + index * step)
    return max(found.values(), key=len)[0] if found else byte


def _read_header(name, byte):
    """The header there, read by baseband, as (a VdifStream without times, its rate or None)."""
    from baseband.vdif import VDIFHeader
    with open(name, "rb") as file:
        file.seek(byte)
        try:
            header = VDIFHeader.fromfile(file)
        except Exception as error:  # what baseband raises depends on what is wrong
            reason = f": {error}" if str(error) else " by what baseband expects of one"
            raise ValueError(f"{name}: the header at byte {byte} is none of VDIF{reason}") \
                from None
    if header.edv == MARK5B:
        raise ValueError(f"{name}: has Mark 5B data in VDIF frames (EDV 0xab), which are not read: "
                         "expected EDV 0, 1, 2, 3 or another one with samples as VDIF has them")
    if header.bps not in WIDTHS:
        raise ValueError(f"{name}: has samples of {header.bps} bits: expected 1, 2, 4, 8 or 16")
    bits = header.bps * header.nchan * (2 if header.complex_data else 1)
    if header.nchan > 65536 or header.payload_nbytes * 8 % bits:
        raise ValueError(f"{name}: a frame of {header.payload_nbytes} bytes does not hold whole "
                         f"samples of {header.nchan} channels, {bits} bits")
    stream = VdifStream(
        header.frame_nbytes, bool(header["legacy_mode"]), header.bps, bool(header.complex_data),
        header.nchan, header.payload_nbytes * 8 // bits, int(header["station_id"]),
        int(header["ref_epoch"]), round(header.ref_time.unix))
    rate = None
    try:
        rate = float(header.sample_rate.to_value("Hz"))
    except Exception:  # headers of most kinds say none
        pass
    return header, stream, rate


def _same(words, like):
    return bool(np.all(_fields(words) == like))


def _frames(file, byte, count, step, like):
    """(invalid, second, frame, thread) of frames from a byte on that are of one form."""
    found = []
    for index in range(count):
        head = os.pread(file, 4 * HEADER_WORDS, byte + index * step)
        if len(head) < 4 * HEADER_WORDS:
            break
        words = np.frombuffer(head, "<u4")
        if _same(words, like):
            found.append((int(words[0] & 0x3fffffff), int(words[1] & 0xffffff),
                          int(words[3] >> 16 & 0x3ff)))
    return found


def _last_frames(file, size, step, like):
    """Likewise, of those in the last bytes of a file, wherever they begin."""
    begin = max(0, size - max(SEARCHED, 4 * step))
    data = np.frombuffer(os.pread(file, size - begin, begin), np.uint8)
    places = []
    # the word with the frame's length, at each of the four bytes that it could begin at
    for shift in range(4):
        words = data[shift:shift + (len(data) - shift) // 4 * 4].view("<u4")
        places += [4 * int(i) + shift - 8 for i in np.flatnonzero(words & 0x1fffffff == like[0])]
    places = [place for place in places if 0 <= place <= len(data) - 4 * HEADER_WORDS]
    places = [place for place, words in zip(places, _at(data, places) if places else [])
              if _same(words, like)]
    # a frame that is cut off is not read, nor one with something behind it that is no frame
    whole = [place for place in places if begin + place + step == size or place + step in places]
    return [(int(words[0] & 0x3fffffff), int(words[1] & 0xffffff), int(words[3] >> 16 & 0x3ff))
            for words in (_at(data, whole) if whole else [])]


def _frames_in_second(file, byte, step, like):
    """How many frames a second has: the frame number starts again after it. None if it does not."""
    most = last = before = None
    for index in range(SECOND):
        head = os.pread(file, 4 * HEADER_WORDS, byte + index * step)
        if len(head) < 4 * HEADER_WORDS:
            return None
        words = np.frombuffer(head, "<u4")
        if not _same(words, like):
            continue
        second, number = int(words[0] & 0x3fffffff), int(words[1] & 0xffffff)
        if before is not None and second == before + 1 and number <= NEAR and last:
            return most + 1
        if second != before:
            most = number
        before, last = second, number
        most = max(most, number)
    return None


def _first_number(numbers):
    """The earliest of those that are near the first one in the file with a time that others have
    as well."""
    numbers = np.asarray(numbers, np.int64)
    for number in numbers:
        near = numbers[np.abs(numbers - number) <= NEAR]
        if len(near) > 1:
            return int(near.min())
    return int(numbers[0])


def _with_company(numbers):
    """Those that are near another one: a damaged time is alone."""
    numbers = np.sort(np.asarray(numbers, np.int64))
    if len(numbers) < 2:
        return numbers
    near = np.diff(numbers) <= NEAR
    return numbers[np.concatenate([near, [False]]) | np.concatenate([[False], near])]


def read_stream(names, rate=None):
    """
    What VDIF files that follow each other hold.

    Parameters
    ----------
    names : sequence of str
    rate : Fraction, optional
        Samples a second, instead of what the headers say.

    Returns
    -------
    VdifStream

    Raises
    ------
    ValueError
        A file has no frames, or frames that are not read; the rate is not a whole number of frames
        a second, or nothing says it.
    """
    byte = find_first(names[0])
    if byte is None:
        raise ValueError(f"{names[0]}: there is no VDIF frame at its beginning, nor in the "
                         f"{SEARCHED >> 20} MiB behind it")
    descriptor = os.open(names[0], os.O_RDONLY)
    try:
        byte = _usual_header(descriptor, byte)
        header, stream, header_rate = _read_header(names[0], byte)
        like = _fields(np.asarray(header.words[:HEADER_WORDS], np.uint32))
        if rate is not None:
            stream.frames_per_second, stream.exact = _whole_frames(
                names[0], Fraction(rate), stream, "rate="), True
        elif header_rate:
            stream.frames_per_second, stream.exact = _whole_frames(
                names[0], Fraction(header_rate), stream, "its header has"), True
        else:
            stream.frames_per_second = _frames_in_second(descriptor, byte, stream.frame_bytes, like)
            if stream.frames_per_second is None:
                raise ValueError(f"{names[0]}: nothing says its rate: neither its headers, nor a "
                                 "second that ends in it; add ,rate=, in samples a second")
        begin = _frames(descriptor, byte, FIRST_FRAMES, stream.frame_bytes, like)
    finally:
        os.close(descriptor)
    per_second = stream.frames_per_second
    begin = [entry for entry in begin if entry[1] < per_second]
    if not begin:
        raise ValueError(f"{names[0]}: its frames have numbers above the {per_second} in a second")
    counts = Counter(thread for _, _, thread in begin)
    # one frame of a thread among many of others has a damaged header
    stream.threads = tuple(sorted(thread for thread, count in counts.items()
                                  if count > 1 or max(counts.values()) < 4))
    first = _first_number(_numbers(begin, stream))
    last = _last(names, stream, like, first)
    stream.first, stream.last = divmod(first, per_second), divmod(last, per_second)
    return stream


def _numbers(frames, stream):
    """Of frames, counted from the epoch; without those that cannot be."""
    return [second * stream.frames_per_second + frame for second, frame, _ in frames
            if frame < stream.frames_per_second]


def _last(names, stream, like, first):
    """Number of the last frame. Refuses files that do not continue the ones before."""
    last = first
    for index, name in enumerate(names):
        descriptor = os.open(name, os.O_RDONLY)
        try:
            if index > 0:
                _continue(names, index, descriptor, stream, like, last)
            end = _last_frames(descriptor, os.fstat(descriptor).st_size, stream.frame_bytes, like)
        finally:
            os.close(descriptor)
        last = max([last, *(number for number in _with_company(_numbers(end, stream))
                            if (int(number) - first) * stream.samples <= MOST_SAMPLES)])
    return int(last)


def _continue(names, index, descriptor, stream, like, last):
    """Refuses a file that does not continue the ones before; last: number of their last frame."""
    name, byte = names[index], find_first(names[index])
    begin = _numbers([] if byte is None else
                     _frames(descriptor, byte, NEAR, stream.frame_bytes, like), stream)
    if not begin:
        raise ValueError(f"{name}: has no frames of the station and the form of those of "
                         f"{names[0]}: expected files that continue each other")
    late = last - _first_number(begin)
    if late > NEAR:
        raise ValueError(f"{name}: begins {late / stream.frames_per_second:g} s before "
                         f"{names[index - 1]} ends: expected files that continue each other")


def _whole_frames(name, rate, stream, who):
    frames = rate / stream.samples
    # a header has the rate in kHz or in Hz
    if frames.denominator != 1 or not 1 <= frames <= 1 << 24:
        raise ValueError(f"{name}: {who} {float(rate):.12g} samples a second, but frames have "
                         f"{stream.samples} samples, and a second a whole number of frames, from 1 "
                         "to 2^24")
    return int(frames)
