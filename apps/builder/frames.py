#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Frames that fit integrations of visibilities and of powers together."""

import math
from dataclasses import dataclass

import numpy as np

from ..parameters.errors import ParameterError

MAX_FRAME = 128_000_000  # bytes: above, rings of four frames become too large
BEST_FRAME = 8 << 20
FRAME_MULTIPLE = 2 << 20  # granularity of device memory
#: fraction by which an integration may differ from what was asked for
TOLERANCE = 0.01
#: fraction up to which lengths that are not the wanted one are as good as each other, so that frames
#: have a size that is fast: kernels sum multiples of 32 spectra
ALIKE = 0.001
MOST_FRAMES = 20_000  # in an integration, where that can be
MOST_PARTS = 16  # into which frames are divided so that several integrations have whole ones
MOST_TRIES = 100  # lengths of an integration of powers that are tried


def round_up(number, multiple):
    """The least multiple that is not below."""
    return -(-number // multiple) * multiple


class Wanted:
    """
    An integration that is wanted.

    field: of the plan that asks for it; asked: seconds, or None: the default; rate: spectra a
    second, as samples a second and samples of a spectrum; spectra: those of the input, None if it
    is endless; firm: whether the result must be near to what was asked.

    Attributes: `seconds`; `exact`, spectra as a fraction; `spectra`, as a whole number; `whole`:
    the input is shorter, and all of it is one integration.
    """

    def __init__(self, field, asked, default, rate, spectra, firm=True):
        self.field, self.firm, self.rate = field, firm and asked is not None, rate
        self.seconds = default if asked is None else asked
        self.exact = self.seconds * rate[0] / rate[1]
        self.spectra = max(1, round(self.exact))
        self.whole = spectra is not None and self.spectra > spectra
        if self.whole:
            self.spectra = spectra
            if asked is None:
                self.seconds = self.length(spectra)

    def length(self, spectra):
        """Seconds of so many spectra."""
        return spectra * self.rate[1] / self.rate[0]

    def instead(self, count, spectra):
        """The same where so many spectra are wanted."""
        return Wanted(self.field, self.length(count), None, self.rate, spectra)

    def far(self, spectra):
        """Returns whether so many are more than 1 % from what is wanted."""
        if self.whole:
            return np.zeros(np.shape(spectra), bool)
        return np.abs(spectra - self.exact) > TOLERANCE * self.exact * (1 + 1e-9)

    def off(self, spectra):
        """By which fraction so many are not the spectra that are wanted: 0 where they are, at least
        ALIKE elsewhere."""
        fraction = np.abs(spectra - self.spectra) / self.spectra
        return np.where(fraction > 0, np.maximum(fraction, ALIKE), 0)

    def refused(self, spectra):
        """Returns whether so many must not take the place of what was asked."""
        return self.far(spectra) & self.firm

    def near(self, tries):
        """Whole numbers of spectra up to 1 % from what is wanted, the nearest first; at most so
        many."""
        first = max(1, math.ceil(self.exact * (1 - TOLERANCE)), self.spectra - tries // 2)
        last = min(math.floor(self.exact * (1 + TOLERANCE)), self.spectra + tries // 2)
        return sorted(range(first, last + 1), key=lambda count: abs(count - self.exact))

    def round_numbers(self, *units):
        """Multiples of `units` and of powers of two around what is wanted, the nearest first."""
        steps = {*units, *(1 << power for power in range(max(1, self.spectra.bit_length())))}
        found = {step * max(1, math.floor(self.exact / step)) for step in steps}
        found |= {step * math.ceil(self.exact / step) for step in steps}
        return sorted(found, key=lambda count: abs(count - self.exact))


@dataclass(frozen=True)
class Frames:
    """
    The rules for frames. spectrum: bytes of all inputs and channels; cheap: spectra from which on
    the cost of calls does not show; multiple: of their spectra; most: spectra that they have at
    most, where that can be, None: any number; fixed: spectra that were asked for, or None.
    """

    spectrum: int
    cheap: int
    multiple: int = 1
    most: int | None = None
    fixed: int | None = None

    @property
    def best(self):
        """Bytes of the best ones."""
        if self.most is None:
            return BEST_FRAME
        return min(BEST_FRAME, max(self.most, self.multiple) * self.spectrum)

    @property
    def largest(self):
        """Spectra that they have at most."""
        most = max(1, MAX_FRAME // self.spectrum)
        return max(self.multiple, most if self.most is None else min(most, self.most))

    def broken(self, times):
        """Returns whether so many spectra must not be in a frame, and their number where it is more
        than should be."""
        huge = (times > self.multiple) & (times * self.spectrum > MAX_FRAME)
        return huge & (self.fixed is None), np.where(times > self.largest, times, 0)

    def shorter(self, times, _, part):
        """Spectra in frames that fit what choose_frames() has found, the same and parts of them, the
        longest first."""
        if self.fixed is not None:
            return [times]
        return [
            times // count
            for count in range(1, MOST_PARTS + 1)
            if times % (count * self.multiple) == 0
            and (part is None or times // count % part == 0 or part % (times // count) == 0)
        ] or [times]

    def candidates(self, longest, unit):
        """Spectra in a frame, multiples of `unit`, from an eighth of the best size to eight times
        it, for integrations of at least `longest` spectra."""
        if self.fixed is not None:
            return np.array([self.fixed])
        best = longest * self.spectrum / self.best
        fewest = max(1, -(-longest // self.largest), int(best / 8))
        most = max(fewest, min(longest // min(self.cheap, self.largest), math.ceil(best * 8)))
        first = round_up(max(1, longest // min(most, fewest + MOST_FRAMES)), unit)
        return np.arange(first, max(first, round_up(-(-longest // fewest), unit)) + 1, unit)

    def filled(self, wanted, unit):
        """
        Cuts integrations into whole frames of a multiple of `unit` spectra; wanted: list of Wanted.

        An integration that fits into a frame of up to 8 MiB is one. In a longer one the frames have
        1 to 128 MB, where a single spectrum is not larger, and together exactly the wanted length,
        where it has such a divisor; else they are as large as is fast, within 0.1 % of it where
        that can be.

        Returns
        -------
        rank : tuple
            Zeros where all is well; else what must not be so, how many integrations are far from
            what is wanted, and the spectra of a frame that has too many.
        times : int
            Spectra in a frame.
        counts : list of int
            Spectra in each integration.
        """
        longest = min(each.spectra for each in wanted)
        times = self.candidates(longest, unit)
        if self.fixed is None and len(wanted) == 1 and longest * self.spectrum <= self.best:
            # not less than wanted, where that can be, or the end of a short input would be an
            # integration of its own
            ones = np.array([round_up(longest, unit), longest // unit * unit])
            ones = ones[(ones > 0) & ~wanted[0].refused(ones)]
            times = ones[:1] if len(ones) else times
        counts = [times * np.maximum(1, np.rint(each.spectra / times)) for each in wanted]
        huge, large = self.broken(times)
        keys = [
            sum(each.refused(count) for each, count in zip(wanted, counts)) + huge,
            sum(each.far(count) for each, count in zip(wanted, counts)),
            large,
            sum(each.off(count) for each, count in zip(wanted, counts)),
            times * self.spectrum % FRAME_MULTIPLE != 0,
            times % 32 != 0,
            np.abs(np.log2(times * self.spectrum / self.best)),
        ]
        left = np.arange(len(times))
        for key in keys:
            left = left[key[left] == np.min(key[left])]
        best = left[0]
        rank = tuple(int(key[best]) for key in keys[:3])
        return rank, int(times[best]), [int(count[best]) for count in counts]

    def in_parts(self, whole, powers, part, spectra):
        """
        Frames of which an integration of powers is a part, of `part` spectra, and which an
        integration of visibilities is made of, if there is one (whole: Wanted, or None); spectra:
        of the input, or None. Returns the same as filled().
        """
        unit = math.lcm(self.multiple, part)
        if self.fixed is not None:
            unit, times = part, self.fixed
        else:
            units = max(1, self.best // (self.spectrum * part))
            if spectra is not None:
                units = min(units, -(-spectra // part))
            step = unit // part
            times = max(step, units // step * step) * part
        rank, counts = tuple(int(each) for each in (*self.broken(times), 0))[:2], []
        rank = (rank[0], 0, rank[1])
        if whole is not None:
            rank, times, counts = self.filled([whole], unit)
        wrong = int(powers.refused(part)) + int(times % part != 0)
        return (rank[0] + wrong, rank[1] + int(powers.far(part)), rank[2]), times, [*counts, part]


def attempts(frames, visibilities, powers, spectra, tries):
    """Ways to cut the stream into frames, the most wanted first; as Frames.filled() returns them.
    tries: most lengths of an integration of powers to try; else as choose_frames() has them."""
    wanted = [each for each in (visibilities, powers) if each]
    if powers is None:
        yield frames.filled(wanted, frames.multiple)
        return
    if frames.fixed is not None:
        short = powers.spectra <= frames.fixed
    else:
        short = powers.spectra * frames.spectrum <= frames.best
        if frames.most is not None:
            unit = math.lcm(frames.multiple, powers.spectra)
            short &= unit <= max(frames.most, frames.multiple)
    parts = [powers.spectra, *powers.near(tries)]
    if not powers.firm and tries > 1:
        parts += powers.round_numbers(frames.multiple)
    if short:
        yield from (frames.in_parts(visibilities, powers, part, spectra) for part in parts)
    yield frames.filled(wanted, frames.multiple)
    if not short:
        yield from (frames.in_parts(visibilities, powers, part, spectra) for part in parts)


def find_frames(*arguments):
    """The best of attempts()."""
    best = None
    for found in attempts(*arguments):
        if best is None or found[0] < best[0]:
            best = found
        if not any(found[0]):
            break
    return best


def choose_frames(frames, visibilities, powers, spectra):
    """
    Spectra in a frame, in an integration of visibilities and in one of powers.

    frames: Frames; visibilities, powers: Wanted, or None; spectra: of the input, or None.

    Returns
    -------
    times, visibilities, powers : int or None

    Raises
    ------
    ParameterError
        An integration that was asked for cannot be had; it says which can.
    """
    wanted = (visibilities, powers)
    rank, times, counts = find_frames(frames, *wanted, spectra, MOST_TRIES)
    if rank[0] and any(each and each.firm for each in wanted):
        refuse(frames, visibilities, powers, spectra)
    found = iter(counts)
    return times, *(None if each is None else next(found) for each in wanted)


def what_would_do(each, frames, visibilities, powers, spectra):
    """The nearest integrations, in seconds, that can be had in the place of one of the two (each),
    as text; empty: none is known. Else as choose_frames() has them."""
    units = {frames.multiple, frames.fixed or 1}
    if each is visibilities and powers:
        units |= {math.lcm(unit, powers.spectra) for unit in units}
    found = {}  # True: more than what was asked, False: less -> spectra
    for count in each.round_numbers(*units):
        if (count > each.exact) in found:
            continue
        pair = [
            each.instead(count, spectra) if one is each else one for one in (visibilities, powers)
        ]
        rank, _, counts = find_frames(frames, *pair, spectra, 1)
        if not rank[0]:
            there = counts[0 if each is visibilities else -1]
            found.setdefault(there > each.exact, there)
    seconds = [f"{each.length(count):.9g}" for count in sorted(found.values())]
    return " or ".join(seconds) + " s" if seconds else ""


def refuse(frames, visibilities, powers, spectra):
    """Raises the error that says which integrations can be had; arguments as choose_frames()."""
    asked = [each for each in (visibilities, powers) if each and each.firm]
    texts = {each: what_would_do(each, frames, visibilities, powers, spectra) for each in asked}
    joint = not any(texts.values())
    if joint:
        # both must change: the nearest of the first, and the second as that one wants it
        first, second = asked
        for count in first.round_numbers(frames.multiple):
            near = first.instead(count, spectra)
            text = what_would_do(second, frames, near, second, spectra)
            if text:
                texts = {first: f"{near.seconds:.9g} s", second: text}
                break
    first = next(each for each in asked if texts.get(each))
    expected = (", with " if joint else ", or ").join(
        text if each is first else f"{each.field} of {text}" for each, text in texts.items() if text
    )
    unit = "whole spectra" if frames.multiple == 1 else f"multiples of {frames.multiple} spectra"
    if frames.fixed is not None:
        unit = f"{frames.fixed} spectra"
    fit = ", and an integration is a whole number of frames" + ", or of powers a part of one" * (
        powers is not None
    )
    raise ParameterError(
        first.field,
        f"cannot be had within {100 * TOLERANCE:g} %: frames are {unit} of {first.length(1):.6g} s"
        f"{fit}; expected {expected}",
    )
