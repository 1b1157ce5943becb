#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Recordings that are read: pieces of files, and when their samples were taken."""

import os
from dataclasses import dataclass, field
from fractions import Fraction

from ..parameters.regular_file import check_regular
from ..parameters.times import time_text

LOWEST_RATE, HIGHEST_RATE = 1, 10**12  # Hz, as array descriptions have them
HIGHEST_FREQUENCY = 10**15
MOST_SAMPLES = 2**62  # the largest number of a sample
#: Q of an oversampling P/Q at most, and by what a header's rounded numbers may be off
LARGEST_Q, OVERSAMPLING_TOLERANCE = 32, 1e-5


def oversampling_of(ratio):
    """
    By what the channels of a filter bank are oversampled, a Fraction P/Q such as 32/27 between 1
    and 2.

    ratio: spectra a second for each Hz from a channel to the next, as a header's rounded numbers
    have it. None if it is no such P/Q.
    """
    found = Fraction(ratio).limit_denominator(LARGEST_Q)
    return found if 1 < found < 2 and abs(ratio / found - 1) <= OVERSAMPLING_TOLERANCE else None


@dataclass(frozen=True)
class Piece:
    """Samples in a row: file; byte of the first; how many there are of each input; start: when the
    first was taken, s since 1970 as a Fraction; row: as channel_source's pieces have it, of
    channels, whose spectra are called samples here."""

    file: str
    byte: int
    samples: int
    start: Fraction
    row: int = 0


@dataclass
class Recording:
    """
    A recording of inputs that were recorded together.

    name: for messages; inputs: interleaved sample by sample; coding, complex: as recording_source
    has them; rate: samples a second, a Fraction; center_frequency: Hz; pieces: in the order of
    time; telescope: by name; place: (latitude, longitude, height) in degrees and m, or None;
    antennas: names of those that it tells of, or None; approximate: the times are a guess; places:
    (offset, stride) of each input, as recording_source has them, None: they are interleaved.
    """

    name: str
    inputs: int
    coding: str
    complex: bool
    rate: Fraction
    center_frequency: float
    pieces: list
    inverted: bool = False
    telescope: str = ""
    place: tuple = None
    antennas: list = None
    warnings: list = field(default_factory=list)
    approximate: bool = False
    places: list = None


@dataclass
class ChannelRecording:
    """
    A recording of the channels of some inputs that were recorded together.

    name: for messages; inputs, channels: how many; coding: as channel_source has it; rate: spectra
    a second, a Fraction; width: Hz, of a channel; first_frequency: Hz, of the channel with the
    lowest; pieces: in the order of time; places: rows of channel_source's `layout` without their
    set, channels in the order of sky frequency; inverted: the sky frequency falls within a channel
    where that of its voltages rises; telescope, place, antennas, approximate: as of Recording;
    part: number of what was recorded apart, as a polarisation of an antenna.
    """

    name: str
    inputs: int
    channels: int
    coding: str
    rate: Fraction
    width: float
    first_frequency: float
    pieces: list
    places: list
    inverted: bool = False
    telescope: str = ""
    place: tuple = None
    antennas: list = None
    warnings: list = field(default_factory=list)
    approximate: bool = False
    unused: float = 0.0
    part: int = 0

    @property
    def end_frequency(self):
        """Hz, of the channel that would be behind the last one."""
        return self.first_frequency + self.channels * self.width


def check_recording(filename):
    """Refuses what is no file on a disk, or cannot be read."""
    check_regular(filename, "a recording")
    # Python says why a file cannot be read, and can say every name
    with open(filename, "rb"):
        pass


def time_of_file(filename, length, option):
    """
    When a recording began that does not say it, taken from when its file was written.

    length: of the recording, s; option: that says it better. Returns s since 1970 as a Fraction,
    and a warning.
    """
    start = max(Fraction(0), Fraction(os.stat(filename).st_mtime_ns, 10**9) - length)
    return start, (
        f"{filename}: does not say when it began: {time_text(start)} is taken, its "
        f"length before it was last written; {option} gives the right time"
    )
