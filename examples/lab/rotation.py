#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Rotation of the galaxy, of spectra at several longitudes that aperture_spectrum has written: the
fastest gas of each is at the tangent point.

Run it with tools/run python3 examples/lab/rotation.py l20.ecsv l30.ecsv ... [-o rotation.png]
"""

import argparse

import drawing
import numpy as np
from astropy.table import QTable
from drawing import BLUE, GREY, ORANGE, panels

#: kpc and km/s: the distance of the galaxy's centre, and the speed of the Sun about it
SUN_DISTANCE, SUN_SPEED = 8.5, 220.0


def fastest(speeds, kelvin):
    """
    The velocity, in km/s, at which the line's fast edge has fallen to half of its last maximum.

    speeds: km/s, of any order; kelvin: above any constant, that of the channels beyond the line.
    """
    order = np.argsort(speeds)
    speeds, kelvin = np.asarray(speeds)[order], np.asarray(kelvin)[order]
    kelvin = np.convolve(kelvin, np.ones(3) / 3, "same")
    kelvin = kelvin - np.median(kelvin[(speeds > 200) & (speeds < 300)])
    # the edge is what is last above four tenths of all, and its maximum at most 30 km/s before
    high = np.flatnonzero(kelvin > 0.4 * kelvin[(speeds > 0) & (speeds < 200)].max())[-1]
    peak = kelvin[(speeds > speeds[high] - 30) & (speeds <= speeds[high])].max()
    high = np.flatnonzero(kelvin > 0.5 * peak)[-1]
    below = high + np.flatnonzero(kelvin[high:] < peak / 2)[0]
    part = (kelvin[below - 1] - peak / 2) / (kelvin[below - 1] - kelvin[below])
    return speeds[below - 1] + part * (speeds[below] - speeds[below - 1])


def tangent(longitude, speed, dispersion):
    """Distance from the centre (kpc) and orbital speed (km/s) at the tangent point of a longitude
    in degrees, of the velocity of the edge; dispersion: km/s by which its gas seems faster."""
    sine = np.sin(np.radians(longitude))
    return SUN_DISTANCE * sine, speed - dispersion + SUN_SPEED * sine


def read(name):
    """Galactic longitude, velocities and kelvin of a file."""
    table = QTable.read(name)
    if table.meta.get("velocity_frame") != "LSRK":
        raise SystemExit(f"{name}: has no velocities in the LSR: give --direction")
    inner = slice(len(table) // 10, -(len(table) // 10))
    return (
        table.meta["galactic_longitude_deg"],
        table["velocity"].to_value("km/s")[inner],
        table["temperature"].to_value("K")[inner],
    )


def picture(spectra, dispersion):
    """A figure of all spectra, and of the rotation curve; spectra: as read() has them."""
    figure, (left, right) = panels(2, size=(8.0, 4.4))
    radii, orbits = [], []
    for number, (longitude, speeds, kelvin) in enumerate(spectra):
        edge = fastest(speeds, kelvin)
        radius, orbit = tangent(longitude, edge, dispersion)
        radii.append(radius)
        orbits.append(orbit)
        left.plot(speeds, kelvin + 60 * number, color=BLUE, lw=0.8)
        left.plot([edge] * 2, [60 * number, 60 * number + 45], color=ORANGE, lw=1.2)
        left.text(-95, 60 * number + 18, f"{longitude:.0f}°", fontsize=8)
    left.set(xlim=(-100, 200), xlabel="velocity (km/s, LSR)", ylabel="K, each 60 K higher")
    right.plot(radii, orbits, "o", color=BLUE, markersize=5)
    right.axhline(SUN_SPEED, color=GREY, lw=0.8)
    right.set(
        xlim=(0, 9),
        ylim=(0, 280),
        xlabel="distance from the centre (kpc)",
        ylabel="orbital speed (km/s)",
    )
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE.ecsv")
    parser.add_argument("-o", "--output", metavar="FILE.png", help="draw a picture")
    parser.add_argument(
        "--dispersion",
        type=float,
        default=7.0,
        metavar="KM/S",
        help="of the gas, by which its edge is too fast (default: %(default)g)",
    )
    options = parser.parse_args()
    spectra = sorted((read(name) for name in options.files), key=lambda entry: entry[0])
    print("longitude   edge     R      speed")
    for longitude, speeds, kelvin in spectra:
        edge = fastest(speeds, kelvin)
        radius, orbit = tangent(longitude, edge, options.dispersion)
        print(f"{longitude:7.1f}°  {edge:6.1f}  {radius:5.2f}    {orbit:5.0f}")
    if options.output:
        drawing.save(picture(spectra, options.dispersion), options.output)


if __name__ == "__main__":
    main()
