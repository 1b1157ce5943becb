#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Recordings that the package `baseband` reads: Mark 4, Mark 5B, and those of GMRT's software backend.

Its stream readers decode a frame at a time. What they cannot decode, and what a frame's header says
is invalid, comes as NaN, which is missing.
"""

import io
import os
import warnings
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from fractions import Fraction

import numpy as np

from ..parameters.times import length_text, read_time, time_text
from .recordings import Piece, Recording

LONGEST = 200  # characters of what baseband says
MOST_BAD = 64  # frames in a row that cannot be read, after which reading ends
FINEST = Fraction(1, 500_000_000)  # s, by which the times of headers are rounded
MOST_APART = 1e-3  # part of a rate by which timestamps may contradict it
#: bytes of a GSB payload, and frames a second, which its hardware sets
GSB_PAYLOAD, GSB_FRAMES = 1 << 22, Fraction(10**8, 6 * 2**22)
ZONE = timezone(timedelta(hours=5, minutes=30))  # the zone of GSB's timestamps


@dataclass
class BasebandFile:
    """
    A file, as reader of a Recording's pieces: see inputs.packaged_source.

    name: for messages; opened: a function that makes a stream reader of it; channels: the inputs
    that are read, as an index; shape: of a sample, (inputs,) or (inputs, channels).
    """

    name: str
    opened: object
    channels: object = ...
    shape: tuple = ()

    def open(self):
        return _Stream(self)


class _Stream:
    """The opened BasebandFile."""

    def __init__(self, file):
        self._file, self._stream, self._bad = file, _quietly(file.opened), 0

    def close(self):
        self._stream.close()

    def read(self, first, count):
        """Samples [count][inputs][components] of float32, NaN where there are none."""
        stream = self._stream
        made = np.empty((count, *stream.sample_shape), stream.dtype)
        done, each = 0, stream.samples_per_frame
        while done < count:
            # a frame at a time, so that one that cannot be read loses no other
            length = min(count - done, each - (first + done) % each)
            part = made[done : done + length]
            try:
                stream.seek(first + done)
                _quietly(stream.read, out=part)
                self._bad = 0
            except Exception as error:  # baseband raises anything
                self._bad += 1
                if self._bad >= MOST_BAD:
                    raise ValueError(
                        f"{self._file.name}: {MOST_BAD} frames in a row cannot be read, up to "
                        f"sample {first + done + length} ({reason(error)})"
                    ) from error
                part[...] = np.nan
            done += length
        chosen = self._file.channels
        chosen = chosen if isinstance(chosen, tuple) else (chosen,)
        made = made.reshape(count, *self._file.shape)[(slice(None), *chosen)]
        components = 2 if np.iscomplexobj(made) else 1
        return np.ascontiguousarray(made).view(np.float32).reshape(count, -1, components)


def _quietly(function, **arguments):
    """Calls a function whose warnings, of frames that are missing, are counted by who reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(**arguments)


def reason(error):
    """Returns what an exception of baseband says, in one line."""
    text = " ".join(" ".join(map(str, error.args)).split())
    return text[:LONGEST] or type(error).__name__


def _exact_time(time, rate=None):
    """
    Seconds since 1970 of a Time of astropy as a Fraction, to the nanosecond; where that is a
    sample's time, as those of VLBI are, which begin with a second, exactly.
    """
    copy = time.utc.copy(format="isot")
    copy.precision = 9
    found = read_time(copy.value + "Z")
    whole = found.__floor__()
    near = None if rate is None else whole + Fraction(round((found - whole) * rate)) / rate
    return near if near is not None and abs(near - found) <= FINEST else found


def _rate_of(stream):
    """Samples a second, a Fraction."""
    return Fraction(float(stream.sample_rate.to_value("Hz"))).limit_denominator(10**4)


def _hertz(rate):
    from astropy import units

    return None if rate is None else float(rate) * units.Hz


def _made(names, make):
    """Returns what make(*files) makes of files, which are closed where it fails: baseband leaves
    them open."""
    files = []
    try:
        files += [open(name, "rb") for name in names]
        return make(*files)
    except BaseException:
        for file in files:
            file.close()
        raise


def _opened(name, what, function):
    """The stream reader that a function makes, and its warnings."""
    stream = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            stream = function()
            _ = stream.sample_rate, stream.shape, stream.start_time
        except Exception as error:  # baseband raises anything
            if stream is not None:
                stream.close()
            if isinstance(error, OSError) and error.errno:
                raise
            text = reason(error)
            if type(error).__name__ == "HeaderNotFoundError":
                # the words of baseband name arguments of its functions
                text = "no header of a frame is found: it is of another kind, or damaged"
            advice = "; rate= says it" if "sample rate could not" in text else ""
            raise ValueError(f"{name}: cannot be read as {what}: {text}{advice}") from None
    texts = dict.fromkeys(" ".join(str(entry.message).split()) for entry in caught)
    return stream, [f"{name}: {text}" for text in texts if "leap-second" not in text]


def _vlbi(name, what, function, choose, center, inverted, checks):
    """A Recording of a file of Mark 4 or 5B, and its BasebandFile."""
    stream, told = _opened(name, what, function)
    try:
        found = _rate_of(stream)
        for check in checks:
            told += [f"{name}: {text}" for text in check(stream, found) or []]
        total = int(np.prod(stream.sample_shape, dtype=int))
        chosen = list(range(total)) if choose is None else choose
        if max(chosen) >= total:
            raise ValueError(
                f"{name}: there is no channel {max(chosen)}: expected some of 0 to {total - 1}"
            )
        start = _exact_time(stream.start_time, found)
        piece = Piece(name, 0, int(stream.shape[0]), start)
    finally:
        stream.close()
    recording = Recording(
        name, len(chosen), "f32", False, found, center, [piece], inverted, warnings=told
    )
    return recording, BasebandFile(name, function, chosen, (total,))


def _year_check(name, year):
    """A check that the recording is of a year, if one was given."""

    def check(stream, _):
        found = stream.start_time.utc.ymdhms["year"]
        if year is not None and found != year:
            raise ValueError(
                f"{name}: date={year}, but what its header says is of {found}: "
                f"{stream.start_time.isot}"
            )

    return check


def open_mark4(name, near, year, rate, choose, center, inverted):
    """
    A Recording of a Mark 4 file, and the BasebandFile of its pieces.

    Parameters
    ----------
    name : str
    near : astropy.time.Time
        Within 4 years of the recording, whose headers have the last digit of the year only.
    year : int or None
        The year that it has to be of.
    rate : Fraction or None
        Samples a second; None: as the times of the first two frames say.
    choose : list of int or None
        Channels that are read; None: all.
    center : float
        Hz.
    inverted : bool or None
        None: nobody said it.

    Raises
    ------
    ValueError
        It is no such file, or contradicts itself or what is said.
    """
    from baseband import mark4

    def function():
        settings = dict(ref_time=near, sample_rate=_hertz(rate), squeeze=False, fill_value=np.nan)
        return _made([name], lambda file: mark4.open(file, "rs", **settings))

    def sidebands(stream, _):
        marks = stream.header0.converters["lsb"]
        chosen = range(len(marks)) if choose is None else [n for n in choose if n < len(marks)]
        kinds = {bool(marks[number]) for number in chosen}
        if len(kinds) > 1 and inverted is None:
            of_kind = lambda lower: "+".join(str(n) for n in chosen if bool(marks[n]) is lower)
            raise ValueError(
                f"{name}: its header marks channels {of_kind(False)} and {of_kind(True)} as "
                "different sidebands, which are not inverted alike: channel= chooses those of "
                "one, or inverted= says that all are"
            )

    def frames(stream, found):
        # the first one need not be at the beginning
        there = (os.path.getsize(name) - stream._raw_offsets[0]) // stream.header0.frame_nbytes
        apart = Fraction(int(stream.shape[0]), stream.samples_per_frame) - 1
        if there - 1 > apart + Fraction(1, 4):
            raise ValueError(
                f"{name}: has {there} frames, of {stream.samples_per_frame} samples, but the last "
                f"begins {length_text(apart * stream.samples_per_frame / found)} after the first, "
                f"which is {float(apart):.4g} frames at {float(found):.12g} samples a second: "
                "rate= says the right one"
            )

    checks = [_year_check(name, year), sidebands, frames]
    return _vlbi(name, "Mark 4", function, choose, center, bool(inverted), checks)


def open_mark5b(name, near, year, rate, nchan, bits, choose, center, inverted):
    """
    A Recording of a Mark 5B file, and the BasebandFile of its pieces; as open_mark4(), `near`
    within 500 days, as headers have the last three digits of the day. nchan, bits: channels, and
    bits of a sample, which headers do not say.
    """
    from baseband import mark5b

    def function():
        settings = dict(ref_time=near, sample_rate=_hertz(rate), squeeze=False, fill_value=np.nan)
        settings.update(nchan=nchan, bps=bits)
        return _made([name], lambda file: mark5b.open(file, "rs", **settings))

    def frames(stream, found):
        # the numbers of frames and their times say the rate whatever is lost between them
        header = stream._last_header
        number, digits = header["frame_nr"], f"{header['bcd_fraction']:x}"
        if not digits.isdecimal():
            return
        seconds = Fraction(int(digits), 10**4)
        per_second = found / stream.samples_per_frame
        time = number / per_second
        if number and not seconds - Fraction(2, 10**4) <= time <= seconds + Fraction(2, 10**4):
            low, high = (
                float(number * stream.samples_per_frame / (seconds + Fraction(n, 10**4)))
                for n in (1, 0 if seconds else Fraction(1, 2))
            )
            raise ValueError(
                f"{name}: its frame {number} of a second is {float(seconds):.4f} s behind the "
                f"second's beginning, which {float(found):.12g} samples a second contradict: "
                f"rate= says the right one, from {low:.6g} to {high:.6g}, where nchan= and bps= "
                "are right"
            )

    checks = [_year_check(name, year), frames]
    return _vlbi(name, "Mark 5B", function, choose, center, bool(inverted), checks)


@dataclass
class GsbFiles:
    """
    A recording of GMRT's software backend. name: of the timestamps; files: of the data; file: the
    BasebandFile; rate: samples, or spectra, a second; start: s since 1970; samples: of each input;
    inputs; channels: 0 where it has samples, which are real; warnings.
    """

    name: str
    files: list
    file: BasebandFile
    rate: Fraction
    start: Fraction
    samples: int
    inputs: int
    channels: int
    warnings: list


def open_gsb(name, data, rate=None, frame=None, nchan=None, polarizations=None, bits=None):
    """
    A recording of GMRT's software backend.

    Parameters
    ----------
    name : str
        The file with timestamps.
    data : list of str
        Files of samples: one of raw ones; of a phased array those of the first polarisation, and
        then of the next, as many of each.
    rate : Fraction, optional
        Samples, or spectra, a second; default: those of the backend's clock.
    frame : int, optional
        Samples, or spectra, from a timestamp to the next; default: those of 4 MiB of each file.
    nchan, polarizations, bits : int, optional
        Channels (512), polarisations (2 of four files, otherwise 1) and bits of a component (4 of
        raw samples, 8 of a phased array).

    Raises
    ------
    ValueError
        They are no such files, or contradict each other.
    """
    from baseband import gsb

    header, lines, times, told = _timestamps(name)
    phased = header.mode == "phased"
    if phased:
        polarizations = polarizations or (2 if len(data) == 4 else 1)
        if len(data) % polarizations:
            raise ValueError(
                f"{name}: {len(data)} files of data are not as many of each of {polarizations} "
                "polarisations: expected those of the first polarisation, and then of the next"
            )
        each = len(data) // polarizations
    elif len(data) != 1:
        raise ValueError(f"{name}: are timestamps of raw samples, of one file, not {len(data)}")
    else:
        each = polarizations = 1
    nchan = nchan or (512 if phased else 1)
    bits = bits or (8 if phased else 4)
    wide = bits * nchan * (2 if phased else 1)  # bits of a sample of an input
    frame = frame or GSB_PAYLOAD * each * 8 // wide
    if frame * wide % (8 * each):
        raise ValueError(
            f"{name}: frame={frame}: expected whole bytes of each of {each} files, at {wide} bits "
            "a sample"
        )
    payload = frame * wide // 8 // each
    sizes = [os.path.getsize(file) for file in data]
    whole = min(sizes) // payload
    shortest = data[sizes.index(min(sizes))]
    if whole < min(2, len(times)) or whole > len(times) + max(1, len(times) // 2):
        raise ValueError(
            f"{shortest}: has {min(sizes)} bytes, {whole} frames of {payload} bytes, but {name} "
            f"has {len(times)} timestamps: frame= says how many samples there are from one to the "
            f"next ({min(sizes) // len(times) * 8 * each // wide} would fit)"
        )
    frames = min(whole, len(times))
    if max(sizes) != payload * len(times) or min(sizes) != max(sizes):
        told.append(
            f"{name}: has {len(times)} timestamps of frames of {payload} bytes, but "
            f"{shortest} has {min(sizes)} bytes: {frames} frames are read"
        )
    rate = rate or frame * GSB_FRAMES
    steps = [float(later - before) for before, later in zip(times, times[1:])]
    if steps:
        step, meant = float(np.median(steps)), float(frame / rate)
        if abs(step / meant - 1) > MOST_APART:
            raise ValueError(
                f"{name}: timestamps are {step:.9g} s apart, but a frame of {frame} samples at "
                f"{float(rate):.12g} Hz lasts {meant:.9g} s: rate= or frame= is wrong"
            )
        jumps = [n for n, found in enumerate(steps[: frames - 1]) if abs(found / step - 1) > 0.5]
        if jumps:
            frames = jumps[0] + 1
            told.append(
                f"{name}: timestamp {frames + 1} is {length_text(Fraction(steps[jumps[0]]))} "
                f"behind the one before it, and not {step:.6g} s: what is behind "
                f"{time_text(times[jumps[0]])} is not read"
            )

    def function():
        settings = dict(sample_rate=_hertz(rate), samples_per_frame=frame, squeeze=False)
        settings.update(nchan=nchan, bps=bits)
        # the lines of frames that are there, and follow each other
        stamps = io.StringIO("\n".join(lines[:frames]) + "\n")

        def make(*files):
            raw = files[0]
            if phased:
                raw = tuple(files[first : first + each] for first in range(0, len(files), each))
            return gsb.open(stamps, "rs", raw=raw, **settings)

        return _made(data, make)

    stream, more = _opened(name, "GSB", function)
    stream.close()
    shape = (polarizations, nchan) if phased else (1,)
    return GsbFiles(
        name,
        [name, *data],
        BasebandFile(name, function, ..., shape),
        rate,
        times[0],
        frames * frame,
        polarizations,
        nchan if phased else 0,
        [*told, *more],
    )


def _timestamps(name):
    """The first header of a file of GSB's timestamps, its lines, their times as Fractions, and
    warnings."""
    from baseband.gsb import GSBHeader

    times, told, first = [], [], None
    with open(name, "rb") as file:
        lines = file.read(1 << 28).decode("latin-1").split("\n")
    lines = [line for line in lines if line.strip()]
    for number, line in enumerate(lines):
        try:
            words = line.split()
            first = first or GSBHeader(tuple(words))
            times.append(_time_of(words, len(first.words)))
        except Exception as error:  # baseband raises anything
            if number and number == len(lines) - 1:
                told.append(f"{name}: its last line is cut off, and not used")
                break
            raise ValueError(
                f"{name}: line {number + 1} is no timestamp of GSB: {reason(error)}"
            ) from None
    if not times:
        raise ValueError(f"{name}: has no timestamps")
    if abs(times[0] - _exact_time(first.time)) > FINEST:
        raise ValueError(f"{name}: baseband reads its first line as {first.time.isot}")
    return first, lines, times, told


def _time_of(words, count):
    """Seconds since 1970 of the last seven words, or the seven before two numbers, of a line: a
    time of India's zone, whose last word is the fraction of a second."""
    if len(words) != count:
        raise ValueError(f"has {len(words)} words, and the first line {count}")
    *whole, fraction = words[7:14] if count > 7 else words
    year, month, day, hour, minute, second = map(int, whole)
    time = datetime(year, month, day, hour, minute, tzinfo=ZONE).timestamp()
    return int(time) + second + Fraction(fraction)
