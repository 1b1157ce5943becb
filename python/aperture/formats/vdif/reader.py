#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Contents of VDIF files, found out from a few of their frames: those at the beginning and at the end.

The `baseband` package reads the first header that is one. What all frames have in common is known
then, and others are only compared with it.
"""

import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timezone
from fractions import Fraction

import numpy as np

from ...parameters.times import elapsed, utc_after

SEARCHED = 1 << 22  # bytes at the beginning of a file, and at the end
FIRST_FRAMES = 4096  # these say which threads there are
SECONDS = 8  # seconds of each file whose ends are read
MOST_AROUND = 1 << 14  # frames on each side of the end of a second
NEAR = 64  # frames of a thread; as vdif_source has it
MOST_ODD = 0.02  # part of the headers, which may be damaged and have another rate
HEADER_WORDS = 4  # common to headers of all kinds
MOST_SAMPLES = 2**61  # the largest number, about as in vdif_source
MARK5B = 0xAB  # extended data version of Mark 5B's payload
WITH_RATE = (1, 3)  # extended data versions whose fifth word is the rate
WIDTHS = (1, 2, 4, 8, 16)


@dataclass
class VdifStream:
    """
    The common properties of the frames of files that follow each other.

    frame_bytes: with the header; channels: of each frame; samples: of a channel in a frame;
    threads: in order; frames_per_second: None if nothing says it; counted: how many seconds'
    ends it was found from, 0 where headers or the user say it; epoch: half years since 2000, of
    the first frame; first: (second of that epoch, frame) of it; start: when its first sample was
    taken, s since 1970, a Fraction; frames: of a thread, from the first to the last one; warnings:
    list of str.
    """

    frame_bytes: int
    legacy: bool
    bits: int
    complex: bool
    channels: int
    samples: int
    station: int
    epoch: int
    frames_per_second: int = None
    counted: int = 0
    threads: tuple = ()
    first: tuple = (0, 0)
    start: Fraction = Fraction(0)
    frames: int = 0
    warnings: list = field(default_factory=list)


def begin_of_epoch(epoch):
    """Seconds from 1970 to the beginning of a reference epoch, in half years since 2000."""
    return int(
        datetime(2000 + epoch // 2, 7 if epoch % 2 else 1, 1, tzinfo=timezone.utc).timestamp()
    )


def _seconds_between(epoch, later):
    """Returns the seconds from the beginning of an epoch to that of another one, leap seconds
    counted."""
    return int(elapsed(Fraction(begin_of_epoch(epoch)), Fraction(begin_of_epoch(later))))


def _fields(words):
    """Returns the common fields of headers from words [...][4], as [...][3]: frame length with
    channels, the rest of its word and of the next but for the thread, legacy."""
    return np.stack(
        [
            words[..., 2] & 0x1FFFFFFF,
            words[..., 3] & ~np.uint32(0x3FF << 16),
            (words[..., 0] >> 30) & 1,
        ],
        -1,
    )


def _epochs(words):
    return (words[..., 1] >> 24 & 63).astype(np.int64)


def _at(data, places):
    """Words [place][4] at bytes of data."""
    places = np.asarray(places, np.int64)
    index = places[:, None] + np.arange(4 * HEADER_WORDS)
    return np.ascontiguousarray(data[index]).view("<u4")


def _alike(words, following):
    """Returns whether headers are of one form, and of one epoch or the one after it."""
    return np.all(_fields(words) == _fields(following), -1) & (
        (_epochs(following) - _epochs(words)) % 64 <= 1
    )


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
        length = (words[:, 2] & 0xFFFFFF).astype(np.int64) * 8
        # a header of zeros would be followed by another one at once
        good = length > np.where(words[:, 0] >> 30 & 1, 16, 32)
        inside = good & (places + length <= most)
        place, following = places[inside], places[inside] + length[inside]
        same = _alike(words[inside], _at(data, following))
        alone = places[good & (places + length == size)]
        found = np.concatenate([place[same], alone])
        if len(found):
            return int(found.min())
    return _first_of_long_frames(name, data, size)


def _first_of_long_frames(name, data, size):
    """0 if the frames are longer than what was searched, and the first two are of one form."""
    words = _at(data, [0])
    length = int(words[0, 2] & 0xFFFFFF) * 8
    if SEARCHED < length <= size - 4 * HEADER_WORDS:
        with open(name, "rb") as file:
            file.seek(length)
            behind = np.frombuffer(file.read(4 * HEADER_WORDS), "<u4")
        if _alike(words[0], behind):
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
        form = (*_fields(words), _epochs(words), *(() if words[0] >> 30 & 1 else words[4:6]))
        found.setdefault(tuple(map(int, form)), []).append(byte + index * step)
    return max(found.values(), key=len)[0] if found else byte


def _read_header(name, byte):
    """The header there, read by baseband, as (a VdifStream without times, its rate or None)."""
    from baseband.vdif import VDIFHeader

    with open(name, "rb") as file:
        file.seek(byte)
        try:
            header = VDIFHeader.fromfile(file)
        except Exception as error:  # baseband raises anything
            reason = f": {error}" if str(error) else " by what baseband expects of one"
            raise ValueError(f"{name}: the header at byte {byte} is none of VDIF{reason}") from None
    if header.edv == MARK5B:
        raise ValueError(
            f"{name}: has Mark 5B data in VDIF frames (EDV 0xab), which are not read: "
            "expected EDV 0, 1, 2, 3 or another one with samples as VDIF has them"
        )
    if header.bps not in WIDTHS:
        raise ValueError(f"{name}: has samples of {header.bps} bits: expected 1, 2, 4, 8 or 16")
    bits = header.bps * header.nchan * (2 if header.complex_data else 1)
    if header.nchan > 65536 or header.payload_nbytes * 8 % bits:
        raise ValueError(
            f"{name}: a frame of {header.payload_nbytes} bytes does not hold whole "
            f"samples of {header.nchan} channels, {bits} bits"
        )
    stream = VdifStream(
        header.frame_nbytes,
        bool(header["legacy_mode"]),
        header.bps,
        bool(header.complex_data),
        header.nchan,
        header.payload_nbytes * 8 // bits,
        int(header["station_id"]),
        int(header["ref_epoch"]),
    )
    rate = None
    try:
        rate = float(header.sample_rate.to_value("Hz"))
    except Exception:  # headers of most kinds say none
        pass
    return header, stream, rate


class _Form:
    """
    Tells the frames of a recording from all else: those of one form, in an epoch or the ones next
    to it, since a recording goes on when a half year begins.

    words: of one of its headers; step: bytes of a frame; has_rate: whether the fifth word is the
    rate.
    """

    def __init__(self, words, step, has_rate):
        words = np.asarray(words, np.uint32)
        self.step, self.has_rate = step, has_rate
        self.rate = int(words[HEADER_WORDS]) if has_rate else None
        self._like, self._epoch = _fields(words[:HEADER_WORDS]), int(_epochs(words))
        self.bytes_of_header = 4 * (HEADER_WORDS + has_rate)
        self._seconds = {0: 0, 1: _seconds_between(self._epoch, self._epoch + 1)}
        if self._epoch > 0:
            self._seconds[63] = -_seconds_between(self._epoch - 1, self._epoch)

    def has(self, words):
        return bool(
            np.all(_fields(words) == self._like)
            and int(_epochs(words) - self._epoch) % 64 in self._seconds
        )

    def frame(self, words):
        """(second of this form's epoch, frame, thread, word with the rate or None)"""
        late = self._seconds[int(_epochs(words) - self._epoch) % 64]
        return (
            int(words[0] & 0x3FFFFFFF) + late,
            int(words[1] & 0xFFFFFF),
            int(words[3] >> 16 & 0x3FF),
            int(words[4]) if self.has_rate else None,
        )

    def places(self, data):
        """Bytes of data, uint8, at which there are headers, wherever they begin."""
        places = []
        # the word with the frame's length, at each of the four bytes that it could begin at
        for shift in range(4):
            words = data[shift : shift + (len(data) - shift) // 4 * 4].view("<u4")
            places += [
                4 * int(i) + shift - 8 for i in np.flatnonzero(words & 0x1FFFFFFF == self._like[0])
            ]
        places = sorted(place for place in places if 0 <= place <= len(data) - self.bytes_of_header)
        return [place for place in places if self.has(self.words(data, place))]

    def words(self, data, place):
        return np.frombuffer(data[place : place + self.bytes_of_header].tobytes(), "<u4")


def _frames(file, byte, count, form):
    """Frames, as of form, from a byte on, of those that are where they should be."""
    found = []
    for index in range(count):
        head = os.pread(file, form.bytes_of_header, byte + index * form.step)
        if len(head) < form.bytes_of_header:
            break
        words = np.frombuffer(head, "<u4")
        if form.has(words):
            found.append(form.frame(words))
    return found


def _last_frames(file, size, form):
    """Returns the frames in the last bytes of a file in the same way, wherever they begin."""
    begin = max(0, size - max(SEARCHED, 4 * form.step))
    data = np.frombuffer(os.pread(file, size - begin, begin), np.uint8)
    places = form.places(data)
    # a frame that is cut off is not read, nor one with something behind it that is no frame
    return [
        form.frame(form.words(data, place))
        for place in places
        if begin + place + form.step == size or place + form.step in places
    ]


def _frame_from(file, byte, form):
    """The byte of the first frame from a byte on, and its second as most of those behind it have
    it; None if there is none near."""
    data = np.frombuffer(os.pread(file, 2 * form.step + form.bytes_of_header, byte), np.uint8)
    for place in form.places(data):
        seconds = sorted(frame[0] for frame in _frames(file, byte + place, 5, form))
        return byte + place, seconds[len(seconds) // 2]
    return None


def _end_of_second(file, begin, high, form):
    """The byte of a frame near the last one of a second; begin: a frame in it, as of _frame_from;
    high: the byte of a frame of a later second, or the end of the file."""
    low, second = begin
    while high - low > 4 * form.step:
        middle = (low + high) // 2
        found = _frame_from(file, middle, form)
        if found and found[0] < high and found[1] <= second:
            low = found[0]
        else:
            high = middle
    return low


def _around_ends(file, byte, last, form, threads):
    """Frames around the ends of some of a file's seconds; byte: of its first frame; last: its
    last ones."""
    size, first = os.fstat(file).st_size, _frame_from(file, byte, form)
    if not first or not last:
        return []
    seconds = Counter(frame[0] for frame in last).most_common(1)[0][0] - first[1]
    if seconds <= 0:
        return []
    around, parts, found = min(MOST_AROUND, 2 * NEAR * threads), min(seconds, SECONDS), []
    for part in range(parts):
        # the first second, and others in equal distances
        begin = _frame_from(file, first[0] + (size - first[0]) * part // parts, form)
        if begin is None:
            continue
        # a frame of a later second bounds the search
        high, length = size, size // seconds + 4 * form.step
        while begin[0] + length < size:
            end = _frame_from(file, begin[0] + length, form)
            if end and end[1] > begin[1]:
                high = end[0]
                break
            length *= 2
        place = _end_of_second(file, begin, high, form)
        before = min(around, (place - first[0]) // form.step)
        found += _frames(file, place - before * form.step, before + around, form)
    return found


@dataclass
class _Ends:
    """The ends of seconds: how many there are, the highest number of a frame in them, the lowest
    one behind them, and the word with the rate that frames have, with how many."""

    seconds: int
    highest: int
    lowest: int
    rates: Counter


def _look_at_ends(names, form, threads):
    """The _Ends of files that follow each other, one of them looked at after the other."""
    # some frames are looked at twice
    seen = set()
    for name in names:
        file = os.open(name, os.O_RDONLY)
        try:
            byte = find_first(name)
            frames = _last_frames(file, os.fstat(file).st_size, form)
            if byte is not None:
                frames += _around_ends(file, byte, frames, form, threads)
                frames += _frames(file, byte, NEAR * threads, form)
        finally:
            os.close(file)
        seen.update(frames)
    numbers = defaultdict(list)
    for second, number, _, _ in seen:
        numbers[second].append(number)
    # a damaged number or time is alone
    numbers = {
        second: _with_company(found)
        for second, found in numbers.items()
        if len(found) > 1 or len(numbers) == 1 or {second - 1, second + 1} & set(numbers)
    }
    numbers = {second: found for second, found in numbers.items() if len(found)}
    ends = [
        second for second in numbers if second + 1 in numbers and numbers[second + 1][0] <= NEAR
    ]
    return _Ends(
        len(ends),
        max((int(found[-1]) for found in numbers.values()), default=0),
        min((int(found[0]) for found in numbers.values()), default=0),
        Counter(rate for *_, rate in seen),
    )


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
    """Returns the numbers that are near another one: a damaged time is alone."""
    numbers = np.sort(np.asarray(numbers, np.int64))
    if len(numbers) < 2:
        return numbers
    near = np.diff(numbers) <= NEAR
    return numbers[np.concatenate([near, [False]]) | np.concatenate([[False], near])]


def stations_of(names, rate=None):
    """
    The files of each station, which follow each other: a list of names for each, in the order of
    their first files. Files of one station that have the same time are taken for stations, too.

    rate: as of read_stream().
    """
    groups = {}
    for name in names:
        byte = find_first(name)
        if byte is None:
            groups.setdefault(None, []).append(name)  # read_stream() says it
            continue
        descriptor = os.open(name, os.O_RDONLY)
        try:
            head = os.pread(descriptor, 16, _usual_header(descriptor, byte))
        finally:
            os.close(descriptor)
        groups.setdefault(int(np.frombuffer(head, "<u4")[3] & 0xFFFF), []).append(name)
    return [found for group in groups.values() for found in _in_a_row(group, rate)]


def _in_a_row(names, rate):
    """The files of a station as lists of those that follow each other, in the order of time."""
    if len(names) == 1:
        return [names]
    try:
        streams = [(read_stream([name], rate), name) for name in names]
    except ValueError:
        return [names]  # files that are too short alone, or that read_stream() refuses
    rows = []
    for stream, name in sorted(streams, key=lambda entry: entry[0].start):
        for row in rows:
            before, _ = row[-1]
            late = elapsed(before.start, stream.start) * before.frames_per_second
            if late >= before.frames - NEAR and stream.samples == before.samples:
                row.append((stream, name))
                break
        else:
            rows.append([(stream, name)])
    rows.sort(key=lambda row: names.index(row[0][1]))
    return [[name for _, name in row] for row in rows]


def name_of_station(station):
    """The two characters of a station's ID, "" if it is a number."""
    letters = chr(station >> 8) + chr(station & 0xFF)
    named = letters[0] >= "0" and letters.isascii() and letters.isprintable()
    return letters.strip() if named else ""


def read_stream(names, rate=None):
    """
    Returns the contents of VDIF files that follow each other.

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
        raise ValueError(
            f"{names[0]}: there is no VDIF frame at its beginning, nor in the "
            f"{SEARCHED >> 20} MiB behind it"
        )
    descriptor = os.open(names[0], os.O_RDONLY)
    try:
        header, stream, header_rate = _read_header(names[0], _usual_header(descriptor, byte))
        form = _Form(
            header.words, stream.frame_bytes, not stream.legacy and header.edv in WITH_RATE
        )
        begin = _frames(descriptor, byte, FIRST_FRAMES, form)
    finally:
        os.close(descriptor)
    counts = Counter(thread for _, _, thread, _ in begin)
    # one frame of a thread among many of others has a damaged header
    stream.threads = tuple(
        sorted(thread for thread, count in counts.items() if count > 1 or max(counts.values()) < 4)
    )
    _find_rate(names, stream, form, rate, header_rate)
    per_second = stream.frames_per_second
    numbers = _numbers(begin, stream)
    if not numbers:
        raise ValueError(f"{names[0]}: its frames have numbers above the {per_second} in a second")
    first = _first_number(numbers)
    stream.frames = _last(names, stream, form, first) - first + 1
    second, frame = divmod(first, per_second)
    if second < 0:  # the header was one of the epoch after that of the first frame
        stream.epoch -= 1
        second += _seconds_between(stream.epoch, stream.epoch + 1)
    stream.first = second, frame
    stream.start = utc_after(
        Fraction(begin_of_epoch(stream.epoch)), second + Fraction(frame, per_second)
    )
    return stream


def _find_rate(names, stream, form, rate, header_rate):
    """Takes the rate that is given, that of the headers, or what is counted, and holds it against
    the ends of seconds in all files."""
    ends = _look_at_ends(names, form, len(stream.threads))
    name = names[0]
    if rate is not None:
        who, given = "rate=", Fraction(rate)
    elif header_rate:
        who, given = "its header has", Fraction(header_rate)
        count = max((count for word, count in ends.rates.items() if word != form.rate), default=0)
        if count > max(2, MOST_ODD * sum(ends.rates.values())):
            raise ValueError(
                f"{name}: headers at its beginning have {header_rate:.12g} samples a "
                f"second, but {count} of the {sum(ends.rates.values())} that were "
                "looked at have another rate; rate= says which one holds"
            )
    else:
        stream.frames_per_second, stream.counted = _counted(name, ends), ends.seconds
        return
    stream.frames_per_second = per_second = _whole_frames(name, given, stream, who)
    if ends.highest >= per_second:
        raise ValueError(
            f"{name}: {who} {float(given):.12g} samples a second, {per_second} frames, whose "
            f"numbers are 0 to {per_second - 1}, but its frames have numbers from {ends.lowest} to "
            f"{ends.highest}"
        )
    if ends.seconds > 1 and ends.highest + 1 < per_second:
        stream.warnings.append(
            f"{who} {float(given):.12g} samples a second, {per_second} frames, but at "
            f"the ends of {ends.seconds} seconds no frame has a number above {ends.highest}: all "
            f"others are missing, or the rate is {(ends.highest + 1) * stream.samples}"
        )


def _counted(name, ends):
    """Returns how many frames a second has: their number starts again after it."""
    if not ends.seconds:
        raise ValueError(
            f"{name}: nothing says its rate: neither its headers, nor a "
            "second that ends in it; add ,rate=, in samples a second"
        )
    if ends.lowest > 0:
        raise ValueError(
            f"{name}: nothing says its rate: the frames of its seconds have numbers from "
            f"{ends.lowest} to {ends.highest}, where VDIF counts from 0: either the first of each "
            "are lost, or they were counted otherwise; add ,rate=, in samples a second, if the "
            "former is so"
        )
    return ends.highest + 1


def _numbers(frames, stream):
    """Returns the numbers of frames, counted from the epoch; without impossible ones."""
    return [
        second * stream.frames_per_second + frame
        for second, frame, _, _ in frames
        if frame < stream.frames_per_second
    ]


def _last(names, stream, form, first):
    """Number of the last frame. Refuses files that do not continue the ones before."""
    last = first
    for index, name in enumerate(names):
        descriptor = os.open(name, os.O_RDONLY)
        try:
            if index > 0:
                _continue(names, index, descriptor, stream, form, last)
            end = _last_frames(descriptor, os.fstat(descriptor).st_size, form)
        finally:
            os.close(descriptor)
        last = max(
            [
                last,
                *(
                    number
                    for number in _with_company(_numbers(end, stream))
                    if (int(number) - first) * stream.samples <= MOST_SAMPLES
                ),
            ]
        )
    return int(last)


def _continue(names, index, descriptor, stream, form, last):
    """Refuses a file that does not continue the ones before; last: number of their last frame."""
    name, byte = names[index], find_first(names[index])
    begin = _numbers([] if byte is None else _frames(descriptor, byte, NEAR, form), stream)
    if not begin:
        raise ValueError(
            f"{name}: has no frames of the station and the form of those of "
            f"{names[0]}: expected files that continue each other"
        )
    late = last - _first_number(begin)
    if late > NEAR:
        raise ValueError(
            f"{name}: begins {late / stream.frames_per_second:g} s before "
            f"{names[index - 1]} ends: expected files that continue each other"
        )


def _whole_frames(name, rate, stream, who):
    frames = rate / stream.samples
    # a header has the rate in kHz or in Hz
    if frames.denominator != 1 or not 1 <= frames <= 1 << 24:
        raise ValueError(
            f"{name}: {who} {float(rate):.12g} samples a second, but frames have "
            f"{stream.samples} samples, and a second a whole number of frames, from 1 "
            "to 2^24"
        )
    return int(frames)
