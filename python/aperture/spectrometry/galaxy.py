#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A model of the hydrogen of the galaxy, for simulations: what a small dish sees in the 21 cm line.

Gas goes about the centre in circles, at the same speed everywhere: at the distance R the Sun
sees it with the velocity (km/s, LSR; l, b: galactic longitude and latitude)

    v = (Theta R0/R - Theta0) sin l cos b

Along the line of sight the gas has a density n, and its cells move with a dispersion of SIGMA. The
column density a km/s, N(v), gives the optical depth tau = N/(1.823e18 T_s) (cm^-2, km/s, K), and
the brightness T_s (1 - exp(-tau)) (Wilson, Rohlfs, Huettemeister, section 13.1). There are no
spiral arms, no bar, and the telescope's beam is not smeared over.
"""

import functools

import numpy as np

#: kpc and km/s, those that the International Astronomical Union recommended in 1985
SUN_DISTANCE, SUN_SPEED = 8.5, 220.0
#: km/s
SIGMA = 7.0
#: K, spin temperature
SPIN = 130.0
#: kpc: the disc's middle has its full density out to EDGE, then falls by e every SCALE; within HOLE
#: there is little
EDGE, SCALE, HOLE = 9.0, 3.5, 2.0
DENSITY = 0.35  # atoms in a cubic centimetre
LAYER = 0.15  # kpc, rms height above the plane; it flares outside of EDGE
FARTHEST, STEP = 30.0, 0.01  # kpc
_KPC = 3.0857e21  # cm
_N_PER_K = 1.823e18  # cm^-2 for a K km/s
#: km/s, of the table
LIMIT, FINE = 320.0, 0.5


def orbital_speed(radius):
    """km/s, of gas at a distance from the centre in kpc: SUN_SPEED, less within 1 kpc."""
    return SUN_SPEED * np.minimum(np.asarray(radius, float), 1.0)


def density(radius, height):
    """Atoms in a cubic centimetre, at a distance from the centre and above the plane, kpc."""
    beyond = np.maximum(radius - EDGE, 0.0)
    layer = LAYER * (1 + beyond / SCALE)
    n = DENSITY * np.exp(-beyond / SCALE) * np.where(radius < HOLE, 0.2, 1.0)
    return n * np.exp(-((height / layer) ** 2) / 2)


@functools.lru_cache(maxsize=64)
def profile(longitude, latitude):
    """
    The line in a direction.

    longitude, latitude: galactic, degrees. Returns velocities in km/s, LSR, from -LIMIT to LIMIT,
    and brightness temperatures in kelvin.
    """
    l, b = np.radians(longitude), np.radians(latitude)
    path = np.arange(STEP / 2, FARTHEST, STEP)
    flat = path * np.cos(b)
    radius = np.maximum(
        np.sqrt(SUN_DISTANCE**2 + flat**2 - 2 * SUN_DISTANCE * flat * np.cos(l)), 1e-3
    )
    speed = (orbital_speed(radius) * SUN_DISTANCE / radius - SUN_SPEED) * np.sin(l) * np.cos(b)
    column = density(radius, path * np.sin(b)) * STEP * _KPC
    grid = np.arange(-LIMIT, LIMIT + FINE / 2, FINE)
    counts, _ = np.histogram(speed, np.append(grid - FINE / 2, grid[-1] + FINE / 2), weights=column)
    kernel_at = np.arange(-6 * SIGMA, 6 * SIGMA + FINE / 2, FINE)
    kernel = np.exp(-((kernel_at / SIGMA) ** 2) / 2)
    a_km_s = np.convolve(counts / FINE, kernel / kernel.sum(), "same")
    return grid, SPIN * -np.expm1(-a_km_s / (_N_PER_K * SPIN))


def brightness(longitude, latitude, speeds):
    """Kelvin at velocities in km/s, LSR; directions are taken to a twentieth of a degree."""
    grid, values = profile(round(20 * longitude) / 20, round(20 * latitude) / 20)
    return np.interp(speeds, grid, values, left=0.0, right=0.0)
