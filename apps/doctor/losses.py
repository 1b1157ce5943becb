#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Samples that one of two inputs lost on the way, without a word: from there on it is ahead."""

from dataclasses import dataclass

import numpy as np

from .. import measure_offsets
from .pairs import COMPARED, FEWEST_COMPARED, analytic, plain

LONGEST = 1 << 18  # samples of a place at which two inputs are compared
SHORTEST = 1 << 14
SURE = 40.0  # coherence times the root of the samples, in a place
SMALLEST = 2  # samples that are a loss; crystals and geometry move an offset by less
KEPT = 0.5  # the part of the coherence with which an offset still holds
CLEAR = 2.0  # times as much in common as with the offset before: a carrier has as much
MOST = 4  # losses of a pair, above which it is taken for two clocks that drift


@dataclass(frozen=True)
class Loss:
    """
    Samples that an input does not have.

    number: of the input; samples: how many; begin, end: samples of the recording between which
    they were lost.
    """

    number: int
    samples: int
    begin: int
    end: int


def _piece(samples, number, first, count):
    return plain(analytic(samples.series(number, first, count)))


class _Places:
    """
    Offsets of a pair at places of a recording.

    A place is the number of a sample of the later input; its offset is by how many samples the
    reference is ahead of it there.
    """

    def __init__(self, samples, pair):
        self._samples, self._pair = samples, pair
        self._factor = 1 if samples.parts.shape[2] == 2 else 2
        size = (SURE / max(pair.coherence, 1e-3)) ** 2
        self.count = int(min(LONGEST, max(SHORTEST, 2 ** np.ceil(np.log2(size)))))

    def _has(self, place, offset, count, lacking=0.1):
        samples, pair = self._samples, self._pair
        first = place + offset
        if place < 0 or first < 0 or max(place, first) + count > samples.count:
            return False
        missing = np.mean(samples.missing[pair.number, place : place + count]) + np.mean(
            samples.missing[pair.reference, first : first + count]
        )
        return missing < lacking

    def _found(self, place, offset, count, lacking=0.1):
        """The offset that is found near an offset, or None; lacking: the fraction of the samples
        below which they may be missing."""
        # with real samples, an offset between two of a half rate
        offset -= offset % self._factor
        if not self._has(place, offset, count, lacking):
            return None
        a = _piece(self._samples, self._pair.reference, place + offset, count)
        b = _piece(self._samples, self._pair.number, place, count)
        if not (a.any() and b.any()):
            return None
        found = measure_offsets([a, np.conj(b) if self._pair.reversed else b], reference=0).inputs[
            1
        ]
        if not found.found:
            return None
        return offset + round(self._factor * (found.lag + found.fraction))

    def offset(self, place, offset):
        """The offset at a place, whose last one is known; None: it is not found."""
        if self.strength(place, offset) > KEPT * self._pair.coherence:
            return offset
        found = self._found(place, offset, self.count)
        if found is None:
            # a receiver loses whole buffers
            count = min(COMPARED, self._samples.count - place - max(offset, 0))
            if count > self.count:
                found = self._found(place, offset, count, 0.7)
        return found

    def strength(self, place, offset):
        """The coherence at a place with an offset; 0 where too few samples are there."""
        if not self._has(place, offset, self.count):
            return 0.0
        a = _piece(self._samples, self._pair.reference, place + offset, self.count)
        b = _piece(self._samples, self._pair.number, place, self.count)
        return abs(np.vdot(a, np.conj(b) if self._pair.reversed else b)) / len(a)


def find_losses(samples, pair, places):
    """
    The Losses of a Pair, at the beginning of which it was found to be lined up with its offset.

    places: at how many of them, from the beginning to the end, the two are compared.
    """
    if not pair.found or pair.drift or pair.equal or samples.count < 2 * FEWEST_COMPARED:
        return []
    at = _Places(samples, pair)
    first = max(0, -pair.lag) + pair.first
    last = samples.count - max(0, pair.lag) - at.count
    steps = np.unique(np.linspace(first, max(first, last), places).astype(int))
    # the offset of the whole is the one that most have
    found = at.offset(int(steps[0]), pair.lag)
    losses, known, before = [], pair.lag if found is None else found, int(first)
    for place in map(int, steps[1:]):
        offset = at.offset(place, known)
        if offset is None:
            continue
        if abs(offset - known) >= SMALLEST:
            if at.strength(place, offset) < CLEAR * at.strength(place, known):
                continue
            losses.append(_locate(at, pair, before, place, known, offset))
            if len(losses) > MOST:
                return []
        known, before = offset, place
    return losses


def _locate(at, pair, begin, end, old, new):
    """The Loss between a place with an old offset and one with a new one."""
    while end - begin > at.count:
        middle = (begin + end) // 2
        if at.strength(middle, old) >= at.strength(middle, new):
            begin = middle
        else:
            end = middle
    # the input that lost samples is ahead: the later input's losses make the offset larger
    number = pair.number if new > old else pair.reference
    shift = 0 if number == pair.number else max(old, 0)
    return Loss(number, abs(new - old), begin + shift, end + at.count + shift)
