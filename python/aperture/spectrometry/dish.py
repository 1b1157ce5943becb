#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A simulated dish and its receiver: which power comes at which frequency."""

import math

import numpy as np

from ..arrays import geometry
from ..tracking.directions import Direction, azimuth_elevation, icrs, parse_direction
from .galaxy import brightness
from .velocity import lsr_correction, velocities

#: K: of the loads; of the background and the atmosphere; of the ground that the feed sees
HOT, BACKGROUND, GROUND = 290.0, 5.0, 5.0
#: W/m^2/Hz, of the quiet Sun at 1.4 GHz: 50 solar flux units
SUN_FLUX = 50e-22
BOLTZMANN = 1.380649e-23
#: part of a dish's area that counts, and width of its beam in units of wavelength/diameter
EFFICIENCY, BEAM = 0.6, 1.2
#: s, of the gain's drift
DRIFT_PERIOD = 300.0
_SUN = Direction("Sun", body="sun")


class Dish:
    """
    A dish that points somewhere, and its receiver.

    Parameters
    ----------
    array : ArrayDescription
        Its site counts.
    diameter : float
        Metres.
    t_receiver : float
        Kelvin.
    drift : float
        Part by which the gain drifts to both sides.
    """

    def __init__(self, array, diameter, t_receiver, drift):
        self._array, self._diameter = array, diameter
        self._receiver, self._drift = t_receiver, drift

    @property
    def quiet(self):
        """Kelvin, with the cold sky, and with the receiver's."""
        return self._receiver + BACKGROUND + GROUND

    def point(self, direction):
        """Points it, to whatever parse_direction() takes."""
        self._direction = parse_direction(direction)

    def beam_width(self, frequency):
        """Radians, between the points of half power."""
        return BEAM * geometry.SPEED_OF_LIGHT / frequency / self._diameter

    def sun_temperature(self, frequency):
        """Kelvin of the Sun in the middle of the beam, in one polarisation: A S/2k."""
        area = EFFICIENCY * math.pi * self._diameter**2 / 4
        return area * SUN_FLUX / (2 * BOLTZMANN)

    def sky(self, frequency, frequencies, time):
        """Kelvin of the sky where it points, at frequencies (Hz) as they are observed."""
        ra, dec = (float(value) for value in icrs(self._direction, time, self._array)[:2])
        speeds = velocities(frequencies, lsr_correction(self._direction, time, self._array))
        kelvin = (
            BACKGROUND
            + GROUND
            + brightness(*(float(value) for value in geometry.radec_to_galactic(ra, dec)), speeds)
        )
        here = geometry.direction(*azimuth_elevation(self._direction, time, self._array))
        sun = geometry.direction(*azimuth_elevation(_SUN, time, self._array))
        if sun[2] > 0:
            angle = 2 * math.asin(min(1.0, np.linalg.norm(here - sun) / 2))
            beam = math.exp(-4 * math.log(2) * (angle / self.beam_width(frequency)) ** 2)
            kelvin = kelvin + self.sun_temperature(frequency) * beam
        return kelvin

    def power(self, source, frequency, offsets, rate, time):
        """
        Power in kelvin at frequencies (offsets from the one that it is tuned to, Hz), with the
        receiver's own and its bandpass; source: sky, hot, cold or load.
        """
        if source == "sky":
            kelvin = self.sky(frequency, frequency + offsets, time)
        else:
            kelvin = BACKGROUND + GROUND if source == "cold" else HOT
        return (kelvin + self._receiver) * bandpass(offsets / rate)

    def gain_at(self, time):
        """The amplitude's factor at a time."""
        return math.sqrt(1 + self._drift * math.sin(2 * math.pi * time / DRIFT_PERIOD))


def bandpass(offset):
    """The power of a receiver's band at parts of the sample rate from its middle, -0.5 to 0.5: flat
    with a ripple, and falling over the outer tenths."""
    ripple = 1 + 0.06 * np.cos(2 * np.pi * 3.3 * offset + 0.7) + 0.1 * offset
    return ripple / (1 + (np.abs(offset) / 0.46) ** 40) + 1e-3
