#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The beam of a dish that stands still while the Sun goes by, of a file of aperture_spectrum
--over-time.

Run it with tools/run python3 examples/lab/drift_scan.py sun.ecsv --dish 2.3 [-o sun.png]
"""

import argparse
from types import SimpleNamespace

import drawing
import numpy as np
from astropy.table import QTable
from drawing import BLUE, ORANGE, panels
from gnuradio import aperture
from scipy.optimize import curve_fit

from gnuradio.aperture.arrays.geometry import SPEED_OF_LIGHT, direction
from gnuradio.aperture.tracking.directions import azimuth_elevation

BOLTZMANN = 1.380649e-23
FREQUENCY = 1420e6


def beam(angle, base, height, width):
    """Kelvin at an angle from the beam's middle: a Gaussian of a width at half power."""
    return base + height * np.exp(-4 * np.log(2) * (angle / width) ** 2)


def angles(times, meta):
    """Degrees between the Sun and the middle of the beam, below 0 before it is nearest."""
    site = SimpleNamespace(
        latitude=meta["latitude_deg"], longitude=meta["longitude_deg"], height=meta["height_m"]
    )
    there = direction(*azimuth_elevation(aperture.parse_direction("sun"), times, site))
    here = direction(*azimuth_elevation(aperture.parse_direction(meta["direction"]), times, site))
    apart = 2 * np.degrees(np.arcsin(np.linalg.norm(there - here, axis=-1) / 2))
    return np.where(np.arange(len(times)) < np.argmin(apart), -1, 1) * apart


def measure(times, kelvin, meta):
    """Base, height (K) and width (degrees) of the beam, and the angles."""
    apart = angles(times, meta)
    start = (np.median(kelvin), np.ptp(kelvin), 5.0)
    return curve_fit(beam, apart, kelvin, start)[0], apart


def read(name):
    """Times, kelvin, system temperatures and meta of a file."""
    table = QTable.read(name)
    columns = ("time", "s"), ("temperature", "K"), ("system", "K")
    return *(table[column].to_value(unit) for column, unit in columns), table.meta


def picture(scan):
    """A figure of the beam; scan: as read() has it."""
    times, kelvin, _, meta = scan
    (base, height, width), apart = measure(times, kelvin, meta)
    figure, axis = panels(1, size=(6.4, 3.2))
    axis.plot(apart, kelvin, ".", color=BLUE)
    axis.plot(apart, beam(apart, base, height, width), color=ORANGE, lw=1.0)
    axis.set(xlabel="degrees from the Sun", ylabel="antenna temperature (K)")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n\n")[0])
    parser.add_argument("file", metavar="FILE.ecsv")
    parser.add_argument("--dish", type=float, required=True, metavar="M", help="its diameter")
    parser.add_argument("-o", "--output", metavar="FILE.png", help="draw a picture")
    options = parser.parse_args()
    scan = times, kelvin, system, meta = read(options.file)
    (base, height, width), apart = measure(times, kelvin, meta)
    wavelength = SPEED_OF_LIGHT / FREQUENCY
    area = np.pi * options.dish**2 / 4
    off = np.median(system[np.abs(apart) > 1.5 * width])
    print(f"nearest to the Sun    {np.abs(apart).min():.2f}°")
    print(f"Sun                   {height:.1f} K, on {base:.1f} K")
    print(
        f"beam, half power      {width:.2f}°, {np.radians(width) * options.dish / wavelength:.2f}"
        " wavelengths/diameter"
    )
    print(f"T_sys beside the Sun  {off:.1f} K, Y = {1 + height / off:.2f}")
    print(f"efficiency            {2 * BOLTZMANN * height / (area * 50e-22):.2f}, for 50 sfu")
    if options.output:
        drawing.save(picture(scan), options.output)


if __name__ == "__main__":
    main()
