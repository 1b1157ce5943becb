#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Smearing: the amplitude that visibilities lose where phases change within what is averaged.

The phase of a source in the direction s on a baseline b is 2 pi nu (b . (s - s0)) / c, s0 being the
direction that the delays track; without tracking there is no s0. While the Earth rotates by omega
about its pole p it changes by

    f = omega nu / c  ((p x (s - s0)) . b)   cycles a second,

which without s0 is the fringe frequency omega u cos(declination) of Thompson, Moran & Swenson
(Interferometry and Synthesis in Radio Astronomy, 3rd edition 2017, chapter 4), and at most
omega nu / c |b x p| |s - s0|. Over a channel of width B it changes by B (b . (s - s0)) / c
cycles, at most B |b| |s - s0| / c. An average over n cycles, in time or in frequency, keeps
sin(pi n) / (pi n) of the amplitude (the same, chapter 6; Bridle & Schwab 1999, Bandwidth and
Time-Average Smearing, ASP Conference Series 180, chapter 18, for a rectangular channel). |s - s0|
is 1 without tracking, and 2 sin(theta / 2) at the angle theta from the tracked direction.
"""

from dataclasses import dataclass

import numpy as np

from ..arrays.geometry import EARTH_ROTATION_RATE, SPEED_OF_LIGHT

#: cycles that keep 90 % of the amplitude: more are said
MOST_CYCLES = 0.25
#: cycles that keep 97 % of the amplitude: what is fine
FINE_CYCLES = 0.125


def kept(cycles):
    """The part of the amplitude that an average over so many cycles of the phase keeps."""
    return np.abs(np.sinc(cycles))


def half_power_radius(diameter, frequency):
    """The angle in radians, at most pi, from the centre of a dish's beam to where its power is a
    half: 0.6 of the wavelength over the diameter (m), of a dish that is lit less at its rim."""
    return min(np.pi, 0.6 * SPEED_OF_LIGHT / frequency / diameter)


@dataclass(frozen=True)
class Longest:
    """The longest baseline: numbers of two positions, and metres between them."""

    first: int
    second: int
    length: float


def longest(positions):
    """The Longest of positions [antenna][3]."""
    positions = np.asarray(positions, float)
    found = Longest(0, 0, 0.0)
    for first, place in enumerate(positions):
        lengths = np.linalg.norm(positions[first:] - place, axis=1)
        second = int(lengths.argmax())
        if lengths[second] > found.length:
            found = Longest(first, first + second, float(lengths[second]))
    return found


def across_pole(positions, latitude):
    """The parts of positions [antenna][east, north, up] across the Earth's axis, [antenna][3]."""
    positions = np.asarray(positions, float)
    pole = np.array([0.0, np.cos(np.radians(latitude)), np.sin(np.radians(latitude))])
    return positions - np.multiply.outer(positions @ pole, pole)


def direction_distance(angle):
    """The greatest |s - s0| at an angle in radians from the tracked direction; None: nothing is
    tracked."""
    return 1.0 if angle is None else 2 * np.sin(angle / 2)


def fringe_frequency(across, distance, frequency):
    """Cycles a second by which a phase changes at most, on baselines that are so many metres long
    across the Earth's axis."""
    return EARTH_ROTATION_RATE * across * distance * frequency / SPEED_OF_LIGHT


class Smearing:
    """
    The smearing of an array's visibilities.

    Parameters
    ----------
    positions : array of float, [antenna][east, north, up]
        Metres.
    latitude : float
        Degrees.
    frequency : float
        Hz, the highest.
    angle : float or None
        Radians from the direction that delays track; None: nothing is tracked.

    Attributes
    ----------
    fastest, longest : Longest
        The baseline whose phase changes fastest, its length being that across the pole, and the
        longest one.
    """

    def __init__(self, positions, latitude, frequency, angle=None):
        self.fastest = longest(across_pole(positions, latitude))
        self.longest = longest(positions)
        self._frequency = frequency
        self._distance = direction_distance(angle)

    @property
    def fringe_frequency(self):
        """Cycles a second by which a phase changes at most, on any baseline."""
        return fringe_frequency(self.fastest.length, self._distance, self._frequency)

    @property
    def delay(self):
        """Seconds of the largest delay that is not taken out, on any baseline."""
        return self.longest.length * self._distance / SPEED_OF_LIGHT
