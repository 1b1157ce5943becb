#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The phase of a pulsar at the telescope, as polynomials of the time: what `folder` takes.

As TEMPO's polyco: within a segment

    phase(t) = turns + phase + sum_k coefficients[k] (t - reference)^(k + 1).

Phases are computed in longdouble: with x86's, a pulsar of 1 ms is right to 1e-7 revolutions after
30 years.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..parameters.rules import as_number, refuse
from ..parameters.times import as_time
from .barycentre import barycentric_time

SEGMENT = 3600  # s
COEFFICIENTS = 12  # coefficients of a segment's polynomial
#: revolutions by which a polynomial may be off; where an orbit is too fast for a segment, it has
#: halves, which end at whole minutes, as the entries of TEMPO's and PSRFITS's tables do
ACCURACY = 1e-6
SHORTEST = 60  # s


@dataclass(frozen=True)
class Segment:
    """Times are UTC since 1970, (whole seconds, fraction); length: s, 0: for ever."""

    start: tuple
    length: float
    reference: tuple
    turns: int
    phase: float
    coefficients: tuple

    def at(self, seconds, fraction=0.0):
        """Returns revolutions since those of the reference (float64 is good to 1e-8 within a
        segment) and revolutions/s at times."""
        t = (
            np.asarray(seconds, np.int64)
            - self.reference[0]
            + (np.asarray(fraction, np.longdouble) - self.reference[1])
        )
        powers = [np.longdouble(c) * t ** (k + 1) for k, c in enumerate(self.coefficients)]
        slopes = [(k + 1) * np.longdouble(c) * t**k for k, c in enumerate(self.coefficients)]
        return np.longdouble(self.phase) + sum(powers), sum(slopes)


def period_segments(period, period_derivative=0.0, epoch=(0, 0.0), phase=0.0):
    """
    The one segment of a period: phase + t/P - P' t^2 / (2 P^2), t the time since the epoch.

    Parameters
    ----------
    period, period_derivative : float
        Seconds at the telescope, and seconds a second.
    epoch : number or (whole seconds, fraction)
        Since 1970, UTC; leap seconds are not counted.
    phase : float
        Returns the revolutions at the epoch.

    Raises ParameterError.
    """
    as_number("period", period, 1e-6, 1e6, "seconds")
    as_number("period_derivative", period_derivative, -1e-3, 1e-3)
    as_number("phase", phase, -1e15, 1e15)
    epoch = as_time("epoch", epoch)
    frequency = 1 / np.longdouble(period)
    # the double nearest to it is off by up to 1e-16 of it, 3e-6 revolutions a year at 1 ms
    coefficients = (float(frequency), float(-period_derivative * frequency**2 / 2))
    revolutions = math.floor(phase)
    return [
        Segment(
            epoch,
            0.0,
            epoch,
            revolutions,
            float(phase - revolutions),
            coefficients if period_derivative else coefficients[:1],
        )
    ]


def _segments(model, site, start, length):
    """The segments that cover a length from a whole second on, as short as an orbit needs."""
    segment = _segment(model, site, start, length)
    parts = length // SHORTEST
    if model.orbit is None or parts < 2:
        return [segment]
    # between the nodes, to which the polynomial was fitted
    seconds = start + np.linspace(0, length, 4 * COEFFICIENTS + 1).astype(np.int64)
    found, _ = segment.at(seconds)
    wanted = model.phase(
        *barycentric_time(seconds, np.zeros(len(seconds)), model, site, model.units)
    )
    if np.max(np.abs(np.asarray(wanted - segment.turns - found, float))) <= ACCURACY:
        return [segment]
    first = parts // 2 * SHORTEST
    return [
        *_segments(model, site, start, first),
        *_segments(model, site, start + first, length - first),
    ]


def _segment(model, site, start, length):
    """One segment that begins at a whole second."""
    half = length / 2
    reference = start + length // 2
    nodes = np.cos(np.pi * (np.arange(COEFFICIENTS) + 0.5) / COEFFICIENTS)
    offsets = np.append(np.longdouble(half) * nodes, 0)
    whole = np.floor(offsets).astype(np.int64)
    fraction = np.asarray(offsets - whole, float)
    phases = model.phase(*barycentric_time(reference + whole, fraction, model, site, model.units))
    revolutions = int(np.floor(phases[-1]))
    phases = phases - revolutions
    t = whole + np.asarray(fraction, np.longdouble)
    # the residual of a straight line is small, and keeps its digits in a double
    slope = np.longdouble(float((phases[0] - phases[-2]) / (t[0] - t[-2])))
    left = np.asarray(phases - slope * t, float)[:-1]
    series = (
        np.polynomial.Chebyshev.fit(
            np.asarray(t[:-1], float), left, COEFFICIENTS - 1, domain=[-half, half]
        )
        .convert(kind=np.polynomial.Polynomial)
        .coef
    )
    coefficients = np.zeros(COEFFICIENTS)
    coefficients[: len(series)] = series
    constant = math.floor(coefficients[0])
    first = float(slope + np.longdouble(coefficients[1]))
    return Segment(
        (start, 0.0),
        float(length),
        (reference, 0.0),
        revolutions + constant,
        float(coefficients[0] - constant),
        (first, *map(float, coefficients[2:])),
    )


def par_segments(model, site, start_time, duration, length=SEGMENT):
    """
    Segments of a timing model as seen from a site, at infinite frequency.

    Parameters
    ----------
    model : TimingModel
    site : ArrayDescription, or anything with latitude, longitude and height
    start_time : number or (whole seconds, fraction)
        UTC since 1970.
    duration : float
        Seconds that are covered at least.
    length : int
        Seconds of a segment, 60 to 7200. With an hour the polynomials are good to a nanosecond; a
        segment of a pulsar whose orbit is too fast for that is made of shorter ones.

    Raises ParameterError.
    """
    start = as_time("start_time", start_time)[0]
    as_number("duration", duration, 0, 3.2e7, "seconds", above=True)
    if not 60 <= length <= 7200 or length != int(length):
        refuse("length", length, "a whole number of seconds, 60 to 7200")
    count = int(math.ceil((duration + 1) / length))
    return [
        segment
        for i in range(count)
        for segment in _segments(model, site, start + i * int(length), int(length))
    ]
