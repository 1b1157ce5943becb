#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Comparison of two inputs: their offset, coherence and rates of phase."""

from dataclasses import dataclass, replace

import numpy as np

from .. import measure_offsets

COMPARED = 1 << 20  # samples of each input, with which it begins
MOST_COMPARED = 1 << 23  # the limit where fewer show nothing
FEWEST_COMPARED = 4096
MOST_DRIFTING = 1 << 17  # samples in which receivers on two crystals are sought
MOST_PPM = 100.0  # by which two crystals differ at most
WEAK = 0.3  # coherence below which the phase may have run through many cycles


@dataclass(frozen=True)
class Pair:
    """
    An input beside the reference, both by their numbers.

    found: whether they have anything in common; reversed: whether they do so only when the band of
    one is reversed; offset: samples by which the input begins later; phase: radians to be added to
    it; coherence: share of the amplitude that is common; equal: 1 where the samples are the same,
    -1 where they are of opposite sign, and 0; lag: whole samples of the offset; drift: Hz, by
    which their phase runs, where it does; compared: samples in which it was sought; first: the
    first of them.
    """

    reference: int
    number: int
    found: bool
    reversed: bool = False
    offset: float = 0.0
    phase: float = 0.0
    coherence: float = 0.0
    equal: int = 0
    lag: int = 0
    drift: float = 0.0
    compared: int = 0
    first: int = 0


def analytic(values):
    """Complex samples; of real ones at half the rate, with the middle of the band at 0."""
    if np.iscomplexobj(values):
        return values
    count = len(values) // 4 * 4
    spectrum = np.fft.rfft(values[:count])[: count // 2]
    return np.fft.ifft(np.roll(spectrum, -(count // 4))).astype(np.complex64)


def _equal(reference, other, lag):
    """1, -1 or 0, see Pair: `other` begins `lag` samples after the reference."""
    late, early = max(lag, 0), max(-lag, 0)
    count = len(reference) - late - early
    a, b = reference[late : late + count], other[early : early + count]
    if count < FEWEST_COMPARED or not a.any():
        return 0
    return 1 if np.array_equal(a, b) else -1 if np.array_equal(a, -b) else 0


def plain(values):
    """Returns samples without what no antenna received: the mean, and levels that floats cannot
    square."""
    values = values - np.mean(values)
    scale = np.sqrt(np.mean(np.abs(values) ** 2))
    return (values / scale).astype(np.complex64) if scale > 0 else values.astype(np.complex64)


def _drifting(a, b, cycles, reference, number, factor, rate):
    """A Pair on two crystals, or None; cycles: of the sky frequency in a sample."""
    a, b = a[:MOST_DRIFTING], b[:MOST_DRIFTING]
    most = MOST_PPM * 1e-6
    found = measure_offsets(
        [a, b],
        reference=0,
        most_delay_rate=most,
        # phases that fit into a narrow band
        most_phase_rate=min(2 * np.pi * most * max(cycles, 1.0), np.pi / 2),
    ).inputs[1]
    if not found.found or abs(found.phase_rate) < 6 * found.sigma_phase_rate:
        return None
    delay = factor * (found.lag + found.fraction)
    return Pair(
        reference,
        number,
        True,
        False,
        delay,
        found.phase,
        found.coherence,
        0,
        round(delay),
        found.phase_rate / (2 * np.pi) * rate / factor,
    )


def compare(samples, reference, number, frequency, rate, most=MOST_COMPARED):
    """A Pair of two inputs, of a sky frequency and a sample rate in Hz, of so many samples at most;
    None where they have too few samples of one time."""
    count = min(samples.count, COMPARED)
    pair = _compare(samples, reference, number, frequency, rate, count)
    # one of them may begin later than that
    if pair is not None and not pair.found and min(samples.count, most) > count:
        pair = _compare(samples, reference, number, frequency, rate, min(samples.count, most))
    return pair


def _compare(samples, reference, number, frequency, rate, count):
    """Compares the first `count` samples that both have, or the last, as compare() does."""
    first = samples.count - count
    if first:
        both = np.flatnonzero(~(samples.missing[reference] | samples.missing[number]))
        first = min(first, int(both[0])) if len(both) else first
    there = ~samples.missing[[reference, number], first : first + count]
    if np.min(np.sum(there, axis=1)) < FEWEST_COMPARED:
        return None
    values = [samples.series(entry, first, count) for entry in (reference, number)]
    factor = 1 if np.iscomplexobj(values[0]) else 2
    a, b = (plain(analytic(entry)) for entry in values)
    if not (a.any() and b.any()):
        return None
    where = {"compared": count, "first": first}
    for other, is_reversed in ((b, False), (np.conj(b), True)):
        offset = measure_offsets([a, other], reference=0).inputs[1]
        if offset.found:
            drifting = (
                offset.coherence < WEAK
                and not is_reversed
                and _drifting(a, b, frequency / rate * factor, reference, number, factor, rate)
            )
            if drifting and drifting.coherence > 2 * offset.coherence:
                return replace(drifting, **where)
            delay = factor * (offset.lag + offset.fraction)
            return Pair(
                reference,
                number,
                True,
                is_reversed,
                delay,
                offset.phase,
                offset.coherence,
                0 if is_reversed else _equal(*values, round(delay)),
                round(delay),
                **where,
            )
    return replace(
        _drifting(a, b, frequency / rate * factor, reference, number, factor, rate)
        or Pair(reference, number, False),
        **where,
    )
