#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The form of the VDIF frames that are written, and files of them."""

import re
from dataclasses import dataclass
from fractions import Fraction

from ...files.checked_file import PartFile
from ...parameters.rules import refuse
from ...parameters.times import elapsed, exact
from .reader import WITH_RATE, begin_of_epoch

#: the unit of the codes of so many bits, in rms of a component, with which noise keeps most of its
#: correlation: 0.637 of it, 0.883, 0.987 and 0.9999
BEST_STEPS = {1: 1.0, 2: 0.98, 4: 0.3534, 8: 0.03087}
HEADER_BYTES = 32
SYNC_WORD = 0xACABFEED  # the second extended word of EDV 1 and 3
DATA_OF_EDV_3 = (1000, 5000)  # bytes, as the VLBA has them
UPPER_SIDEBAND = 1 << 16  # in the last word of EDV 3
EDV_WITH_RATE = WITH_RATE  # extended data versions that say the rate
MOST_FRAMES = 1 << 24  # frames of a second, which headers can count


def station_number(station):
    """
    The station ID of a header, of two characters, of one, or of a number.

    Raises
    ------
    ValueError
        It is none.
    """
    allowed = "two ASCII characters from 0 on, as Ef, or a number from 0 to 65535"
    if isinstance(station, int) and not isinstance(station, bool):
        number = station
    elif isinstance(station, str) and re.fullmatch(r"[0-~][!-~]?", station):
        # a text of digits alone is the number that it says, but for two, which are characters
        number = ord(station[0]) << 8 | ord((station + " ")[1])
    elif isinstance(station, str) and station.isascii() and station.isdigit():
        number = int(station)
    else:
        number = -1
    if not 0 <= number <= 65535:
        refuse("station", station, allowed)
    return number


def epoch_at(time):
    """The reference epoch of a time (seconds since 1970): half years since 2000, as long as 63
    count them."""
    epoch = 0
    while epoch < 63 and begin_of_epoch(epoch + 1) <= time:
        epoch += 1
    return epoch


def frames_fit(size, bits, rate):
    """
    Returns whether a second has a whole number of frames of whole samples.

    Parameters
    ----------
    size : int
        Bytes of data of a frame.
    bits : int
        Bits of a sample of all channels.
    rate : Fraction
        Samples a second.
    """
    if size <= 0 or size % 8 or 8 * size % bits:
        return False
    frames, rest = divmod(rate.numerator * bits, rate.denominator * 8 * size)
    return rest == 0 and 1 <= frames <= MOST_FRAMES


@dataclass(frozen=True)
class FrameForm:
    """
    The form of frames: `bits` of a component, `components` of a sample, `channels` of a frame,
    `data_bytes` of it, and `sample_rate`, Hz.

    Raises
    ------
    ValueError
        Frames do not hold whole samples, or a second not whole frames: the message names sizes
        that fit.
    """

    bits: int
    components: int
    channels: int
    data_bytes: int
    sample_rate: float

    def __post_init__(self):
        rate = exact(self.sample_rate)
        if not self._fits(self.data_bytes):
            near = self._near_sizes()
            names = f": near it {' or '.join(map(str, near))}" if near else "; there is none here"
            refuse(
                "data_bytes",
                self.data_bytes,
                "a multiple of 8 that makes a whole number of frames, at most 2^24, of a second of "
                f"{float(rate):.12g} samples of {self.bits_of_sample} bits{names}",
            )

    @property
    def bits_of_sample(self):
        """Bits of a sample of all channels."""
        return self.bits * self.components * self.channels

    def _fits(self, size):
        return frames_fit(size, self.bits_of_sample, exact(self.sample_rate))

    def _near_sizes(self):
        """The nearest sizes that fit, below and above."""
        begin = self.data_bytes // 8 * 8
        below = (size for size in range(begin, 0, -8) if self._fits(size))
        above = (size for size in range(begin + 8, 16 * begin + 65536, 8) if self._fits(size))
        return [size for size in (next(below, None), next(above, None)) if size is not None]

    @property
    def samples(self):
        """Samples of a channel in a frame."""
        return 8 * self.data_bytes // self.bits_of_sample

    @property
    def frames_per_second(self):
        """Frames of a thread in a second."""
        return int(exact(self.sample_rate) / self.samples)

    def extended_words(self, edv):
        """
        The last four words of a header of an extended data version: 0, or 1 or 3, which say the
        rate (of real samples half of it, the bandwidth).

        Raises
        ------
        ValueError
            There is no such version, or it cannot say this.
        """
        if edv == 0:
            return (0, 0, 0, 0)
        if edv not in EDV_WITH_RATE:
            refuse("edv", edv, "0, 1 or 3")
        if edv == 3 and self.data_bytes not in DATA_OF_EDV_3:
            sizes = " or ".join(map(str, DATA_OF_EDV_3))
            refuse("edv", edv, f"0 or 1: frames of 3 have {sizes} bytes of data")
        width = exact(self.sample_rate) * self.components / 2
        for unit, hertz in ((0, 10**3), (1, 10**6)):
            number = width / hertz
            if number.denominator == 1 and number < 1 << 23:
                word = edv << 24 | unit << 23 | int(number)
                return (word, SYNC_WORD, 0, UPPER_SIDEBAND if edv == 3 else 0)
        return refuse("edv", edv, f"0: a bandwidth of {float(width):.12g} Hz is no whole kHz")

    def number_of(self, epoch, time):
        """The number of the sample at a time (s since 1970, a Fraction) since the beginning of an
        epoch, as a Fraction."""
        return elapsed(Fraction(begin_of_epoch(epoch)), time) * exact(self.sample_rate)


class VdifWriter:
    """
    A file of VDIF frames, which has its name when it is whole.

    Parameters
    ----------
    path : str
    overwrite : bool
        True if an existing file is replaced.
    """

    def __init__(self, path, overwrite=True):
        self._file, self._any = PartFile(path, overwrite), False
        self.paths = [self._file.path]

    def add(self, frames):
        """Adds frames, uint8, contiguous; OSError: none of them are in the file."""
        self._file.add(frames)
        self._any = True

    def finish(self):
        """The file has its name, one of no frames vanishes; OSError: it has not."""
        if not self._any:
            self._file.abandon()
            self.paths = []
            return
        self._file.finish()
