#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Faults that show over a whole recording: images, steps of the gain, phases that walk, carriers.

Limits are far beyond what noise does: qa_faults.py counts false alarms over many seeds.
"""

from dataclasses import dataclass

import numpy as np

from .pairs import plain

CHANNELS = 256  # channels of spectra in which images are sought
FEWEST_SPECTRA = 64
SURE = 8.0  # standard deviations of a fault that is told
LEAST_IMAGE = 0.01  # amplitude of an image over that of what it is of: -40 dB
LEAST_STEP = 0.5  # dB
LEAST_WALK = 0.5  # radians
PIECES = 256  # the most of a recording
FEWEST_PIECES = 16
BESIDE = 5  # pieces on either side of a step
CLEAR = 8.0  # coherence times the root of the samples of a piece
WANDERS = 0.3  # radians rms from a straight line
COMMON = 0.5  # coherence of a carrier that two inputs have in common


def image_of(values):
    """
    The amplitude by which what is at a frequency f shows at -f, too, and its standard deviation.

    A receiver whose two components differ by a gain 1 + g and an angle p makes y = x + k conj(x) of
    x, |k| = |g + i p| / 2. Spectra of x at f and -f are independent; of y, the mean of
    Y(f) Y(-f) is k (P(f) + P(-f)). The deviation is that of the mean over the spectra.

    values: complex, without their mean. Returns (0, infinity) for too few.
    """
    count = len(values) // CHANNELS
    if count < FEWEST_SPECTRA:
        return 0.0, np.inf
    window = np.hanning(CHANNELS).astype(np.float32)
    spectra = np.fft.fft(values[: count * CHANNELS].reshape(count, CHANNELS) * window, axis=1)
    # beside the middle, where the mean was, and the edges, which are their own images
    up = np.arange(4, CHANNELS // 2 - 2)
    here, there = spectra[:, up], spectra[:, -up]
    products = np.sum(here * there, axis=1)
    power = np.sum(np.abs(here) ** 2 + np.abs(there) ** 2) / count
    if power == 0:
        return 0.0, np.inf
    found = np.mean(products) / power
    return abs(found), float(np.std(products) / power / np.sqrt(count))


def pieces_of(samples, least):
    """Cuts a recording into pieces of at least so many samples: their number and length."""
    count = int(min(PIECES, samples // max(1, least)))
    return count, samples // count if count else 0


def powers_of(parts, count, length):
    """The mean power of each piece; parts: [sample][component]."""
    whole = parts[: count * length].reshape(count, length, -1)
    return np.array([np.mean(np.square(piece, dtype=np.float64)) for piece in whole])


def steps_of(powers):
    """
    Steps of a level: [(number of the piece in which it is, dB)], the largest first.

    Medians of some pieces on either side are compared, so that a burst is none; their deviation is
    that of neighbouring pieces, in which a slow change is none.
    """
    if len(powers) < FEWEST_PIECES or np.min(powers) <= 0:
        return []
    levels = 10 * np.log10(powers)
    beside = np.diff(levels)
    # the deviation of Gaussian noise, by the median; a median of five has 0.54 of that of one
    sigma = 1.4826 * np.median(np.abs(beside - np.median(beside))) / np.sqrt(2)
    limit = max(LEAST_STEP, SURE * sigma * 0.54 * np.sqrt(2))
    places = np.arange(BESIDE, len(levels) - BESIDE)
    jumps = np.array(
        [
            np.median(levels[at + 1 : at + 1 + BESIDE]) - np.median(levels[at - BESIDE : at])
            for at in places
        ]
    )
    weights = np.arange(BESIDE) - (BESIDE - 1) / 2
    weights /= np.sum(weights**2)
    found = []
    for best in np.argsort(-np.abs(jumps)):
        if abs(jumps[best]) < limit:
            break
        # medians are alike for some places; means are not
        around = places[max(0, best - BESIDE + 1) : best + BESIDE]
        means = [
            abs(np.mean(levels[at + 1 : at + 1 + BESIDE]) - np.mean(levels[at - BESIDE : at]))
            for at in around
        ]
        at = int(around[np.argmax(means)])
        if any(abs(at - other) <= 2 * BESIDE for other, _ in found):
            continue
        # without the slope of the pieces on either side, which has 0.22 of the deviation of one
        sides = levels[at - BESIDE : at], levels[at + 1 : at + 1 + BESIDE]
        slope = np.mean([np.sum(weights * side) for side in sides])
        left = jumps[best] - slope * (BESIDE + 1)
        if abs(left) > max(LEAST_STEP, SURE / 2 * sigma * 1.5) and left * jumps[best] > 0:
            found.append((at, float(jumps[best])))
    return found


@dataclass(frozen=True)
class Walk:
    """
    The phase of a pair in time.

    rate: cycles a second; sigma: of that; total: radians from the first to the last piece along a
    straight line; wander: rms radians from that line, beyond the noise; noise: rms radians of
    noise in a piece.
    """

    rate: float
    sigma: float
    total: float
    wander: float
    noise: float

    @property
    def walks(self):
        """True if it goes in one direction, beyond doubt."""
        return abs(self.total) > LEAST_WALK and abs(self.rate) > SURE * self.sigma

    @property
    def wanders(self):
        """True if it leaves a straight line, beyond doubt."""
        return self.wander > max(WANDERS, 3 * self.noise)


def walk_of(samples, pair, rate):
    """The Walk of a Pair that was found and did not lose samples, or None where it is too faint for
    pieces; rate: Hz."""
    late, early = max(pair.lag, 0), max(-pair.lag, 0)
    there = samples.count - late - early
    count, length = pieces_of(there, max(1024, (CLEAR / max(pair.coherence, 1e-3)) ** 2))
    if count < FEWEST_PIECES:
        return None
    phases, before, quality = np.zeros(count), 1.0, 0.0
    for piece in range(count):
        a = plain(samples.series(pair.reference, late + piece * length, length))
        b = plain(samples.series(pair.number, early + piece * length, length))
        product = np.vdot(b, np.conj(a) if pair.reversed else a)
        phases[piece] = (phases[piece - 1] if piece else 0) + np.angle(product * np.conj(before))
        before = product
        quality += abs(product) / length / count
    if quality * np.sqrt(length) < CLEAR / 2:
        return None
    places = np.arange(count) - (count - 1) / 2
    slope = np.sum(places * phases) / np.sum(places**2)
    left = phases - np.mean(phases) - slope * places
    noise = np.sqrt(max(0.0, 1 - quality**2) / (2 * length)) / quality
    scatter = np.sqrt(np.sum(left**2) / (count - 2))
    return Walk(
        float(slope / (2 * np.pi) * rate / length),
        float(max(noise, scatter) / np.sqrt(np.sum(places**2)) / (2 * np.pi) * rate / length),
        float(slope * (count - 1)),
        float(np.sqrt(max(0.0, scatter**2 - noise**2))),
        float(noise),
    )


def carrier_of(a, b, first, second, rate):
    """
    The carrier that two inputs have in common: (Hz from the middle of the band, the smaller share
    of the power, coherence there); None if there is none.

    a, b: complex samples; first, second: lines of each, [(Hz, share)]; rate: Hz.
    """
    best = None
    length = 1024
    count = min(len(a), len(b)) // length
    if count < 16:
        return None
    times = np.arange(length)
    for offset, share in first:
        near = [line for line in second if abs(line[0] - offset) < 1.5 * rate / length]
        if not near:
            continue
        tone = np.hanning(length) * np.exp(-2j * np.pi * offset / rate * times)
        one, two = (values[: count * length].reshape(count, length) @ tone for values in (a, b))
        scale = np.sqrt(np.sum(np.abs(one) ** 2) * np.sum(np.abs(two) ** 2))
        coherence = abs(np.vdot(two, one)) / scale if scale > 0 else 0.0
        smaller = min(share, max(line[1] for line in near))
        if coherence > COMMON and (best is None or smaller > best[1]):
            best = offset, smaller, float(coherence)
    return best
