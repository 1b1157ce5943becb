#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Delays that keep an array on a direction, as straight lines in time.

An input hears a source with the delay tau = -r.s/c (+ its cable's), s being the direction that its
antenna sees, with the aberration by the Earth's orbit and rotation (geometry.py): the projection
of a baseline on it is pyuvdata's w. To line the inputs up each is delayed by d = max tau - tau, and
its phase at the frequency f of channel n/2 is rotated by -2 pi f d, so that what remains of all
channels is the same in all inputs.

A straight line between two times h apart strays from the delay by w^2 b/c h^2/8 at most, b being a
baseline and w the Earth's rotation.

Of a satellite, or a transmitter at a distance d, tau is the difference of the paths, (|d s - r| -
d)/c: closer than 2 b^2/lambda (Fraunhofer's distance) a plane wave would be wrong by more than a
sixteenth of a wave. A satellite's w is at most 2 v/d (directions.angular_rate).

What is left out: the ionosphere and the troposphere, tides of the solid Earth, the curvature of
the wavefronts of bodies (for the Moon b^2/(2 x 384000 km): 1.3 mm at 1 km), and the way by which an
antenna moves while the wave passes the array (w b^2/c: 0.02 mm at 10 km).
"""

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import geometry
from .directions import angular_rate, azimuth_elevation, distance

LONGEST_INTERVAL = 60.0  # s, also of small arrays, so that a change of the direction soon shows


@dataclass(frozen=True)
class Segment:
    """Delays from `time` on: delay + rate (t - time), [input], seconds and seconds a second."""

    time: float
    delays: np.ndarray
    rates: np.ndarray


class DelayModel:
    """
    The delays of an array's inputs towards a direction.

    Parameters
    ----------
    array : ArrayDescription
        Cable delays are part of the delays.
    direction : Direction
    """

    def __init__(self, array, direction):
        self.array, self.direction = array, direction
        self._cables = np.array([entry.cable_delay for entry in array.inputs])
        self._positions = array.input_positions()
        self._baseline = geometry.longest_baseline(self._positions)

    def interval(self, frequency, phase_error, time=None):
        """
        Seconds between two exact delays, for which a straight line between them is off by at most
        `phase_error` (degrees) at a frequency (Hz) on the longest baseline.

        time: UTC seconds since 1970 from which on it counts, which matters for satellites; None:
        at any time.

        Infinite where the direction stands still.
        """
        rate = angular_rate(self.direction, time, self.array)
        if rate == 0:
            return math.inf
        cycles = frequency * self._baseline / geometry.SPEED_OF_LIGHT
        curvature = 360 * cycles * rate**2
        longest = min(LONGEST_INTERVAL, 1 / rate)
        if curvature == 0:
            return longest
        return min(longest, math.sqrt(8 * phase_error / curvature))

    def delays(self, time):
        """tau [...][input] in seconds at times (UTC seconds since 1970)."""
        towards = geometry.direction(*azimuth_elevation(self.direction, time, self.array))
        away = distance(self.direction, time, self.array)
        return geometry.delays(self._positions, towards, away) + self._cables

    def compensation(self, time):
        """d = max tau - tau, [...][input], in seconds."""
        tau = self.delays(time)
        return tau.max(axis=-1, keepdims=True) - tau

    def segment(self, begin, end):
        """The Segment from one time to another; the latter may be infinite."""
        if math.isinf(end):
            delays = self.compensation(begin)
            return Segment(begin, delays, np.zeros_like(delays))
        first, last = self.compensation(np.array([begin, end]))
        return Segment(begin, first, (last - first) / (end - begin))

    def azimuth_elevation(self, time):
        """Azimuth and elevation, degrees."""
        return tuple(float(value) for value in azimuth_elevation(self.direction, time, self.array))
