#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Dirty images of small arrays by exact sums, for displays that make one after the other.

With visibilities V[a,b] of antennas and the phasor A_a(s) = exp(2 pi i f/c r_a.s) of an antenna at
r_a towards s, an image is I(s) = sum over a, b of conj(A_a) V[a,b] A_b: for all pixels at once that
is one matrix product V A, and a sum over antennas. Nothing is gridded and no direction is
approximated, so that w (the third dimension of the baselines) costs nothing, and the work goes
with antennas squared times pixels.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from ..arrays.geometry import SPEED_OF_LIGHT
from .dirty_image import DirtyImage, Field, find_peak, fit_beam
from .visibilities import ImagingError
from .weighting import UVDensity

#: pixels of which phasors and products fit a processor's cache together, for tens of antennas
CHUNK = 2048
#: pixels along each side of the part of the dirty beam to which a Gaussian is fitted, and of them
#: for the narrowest fringe
BEAM_PIXELS, BEAM_FRACTION = 48, 10
#: maxima of the image that are looked at closely for the highest one, in so many pixels each
CANDIDATES, ZOOM_PIXELS = 4, 16
#: pixels to the narrowest fringe, at least: maxima between pixels are seen
FRINGE_PIXELS = 3


@dataclass
class BinnedVisibilities:
    """
    Visibilities of all pairs of antennas, phased to a centre and averaged over bins of channels.

    sums: complex64 [bin][antenna][antenna], weights times x_a conj(x_b), Hermitian, with zeros for
    autocorrelations; weights: float32 of the same shape; frequencies: Hz [bin]; places: metres
    [antenna][u, v, w] seen from the centre.
    """

    sums: np.ndarray
    weights: np.ndarray
    frequencies: np.ndarray
    places: np.ndarray

    @property
    def longest(self):
        """The longest baseline in use, in wavelengths of the highest frequency."""
        lengths = self.lengths() * (self.weights > 0).any(axis=0)
        return float(lengths.max() * self.frequencies.max() / SPEED_OF_LIGHT)

    def lengths(self):
        """Metres [antenna][antenna]."""
        return np.linalg.norm(self.places[:, np.newaxis] - self.places, axis=-1)

    def within(self, longest):
        """These visibilities without the baselines longer than so many metres."""
        kept = self.lengths() <= longest
        return BinnedVisibilities(
            self.sums * kept, self.weights * kept, self.frequencies, self.places
        )


def longest_for(cell, frequency):
    """Metres of the longest baseline whose fringes pixels of `cell` radians show."""
    return SPEED_OF_LIGHT / frequency / (FRINGE_PIXELS * cell)


def direct_sum(sums, frequencies, places, l, m):
    """
    sum over bins and pairs of antennas of Re(sums exp(-2 pi i f/c (u l + v m + w (n - 1)))).

    Parameters
    ----------
    sums : complex64 [bin][antenna][antenna]
        Hermitian; that of (a, b) belongs to the baseline places[a] - places[b].
    frequencies : [bin]
        Hz.
    places : [antenna][u, v, w]
        Metres.
    l, m : float64 [direction]
        Direction cosines to the east and to the north.

    Returns
    -------
    float32 [direction]
        NaN below the horizon.
    """
    image = np.full(l.shape, np.nan, np.float32)
    seen = np.flatnonzero(l * l + m * m < 1)
    sums = np.ascontiguousarray(sums, np.complex64)
    waves = np.asarray(frequencies) / SPEED_OF_LIGHT
    for begin in range(0, len(seen), CHUNK):
        chosen = seen[begin : begin + CHUNK]
        x, y = l[chosen], m[chosen]
        n = np.sqrt(1 - x * x - y * y) - 1
        lengths = places @ np.stack([x, y, n])  # metres [antenna][direction]
        phasors, parts = np.empty((2, len(places), len(chosen)), np.complex64)
        total = np.zeros(2 * len(chosen), np.float32)
        for bin_sums, wave in zip(sums, waves):
            cycles = lengths * wave
            cycles -= np.rint(cycles)
            angles = cycles.astype(np.float32)
            angles *= np.float32(2 * np.pi)
            np.cos(angles, out=phasors.real)
            np.sin(angles, out=phasors.imag)
            np.matmul(bin_sums, phasors, out=parts)
            # Re(conj(A) V A): real parts by real ones, imaginary by imaginary ones
            total += np.einsum("ap,ap->p", phasors.view(np.float32), parts.view(np.float32))
        image[chosen] = total.reshape(-1, 2).sum(axis=1)
    return image


def on_grid(sums, frequencies, places, field, middle=(0.0, 0.0)):
    """direct_sum() of the pixels [x][y] of a field, whose middle is at these direction cosines."""
    l, m = (axis + moved for axis, moved in zip(field.cosines(), middle))
    l, m = (axis.ravel() for axis in np.meshgrid(l, m, indexing="ij"))
    return direct_sum(sums, frequencies, places, l, m).reshape((field.pixels,) * 2)


def weigh(visibilities, width, weighting):
    """The weights [bin][antenna][antenna] in an image of that width (direction cosines)."""
    if weighting.robustness is None:
        return visibilities.weights
    a, b = np.triu_indices(len(visibilities.places), 1)
    waves = visibilities.frequencies / SPEED_OF_LIGHT
    baselines = visibilities.places[a] - visibilities.places[b]
    u, v = (np.multiply.outer(waves, baselines[:, axis]) for axis in (0, 1))
    natural = visibilities.weights[:, a, b]
    # the plane of all antennas, whose cells are asked for whether they are used or not
    density = UVDensity(width, float(visibilities.lengths().max() * waves.max()))
    density.add(u, v, natural)
    weights = np.zeros_like(visibilities.weights)
    weights[:, a, b] = weights[:, b, a] = density.weigh(weighting, u, v, natural)
    return weights


@dataclass(frozen=True)
class Peak:
    """The brightest place: value, as in the image; l, m: direction cosines to the east and north;
    contrast: value above the median in units of the image's scatter (1.48 times the median
    deviation, which is sigma of Gaussian noise)."""

    value: float
    l: float
    m: float
    contrast: float


def make_direct_image(visibilities, field, weighting):
    """
    The DirtyImage of BinnedVisibilities and its Peak, which is looked for between pixels.

    It is as make_image() makes it of those of a file, but for the averaging over channels, and
    with a psf of another size: of the middle only, in finer pixels.

    Raises ImagingError where there is nothing to make it of.
    """
    weights = weigh(visibilities, field.width, weighting)
    total = float(weights.sum(dtype=float))
    if not total > 0:
        raise ImagingError("nothing is there of any pair of antennas")
    factors = np.divide(
        weights,
        visibilities.weights * np.float32(total),
        out=np.zeros_like(weights),
        where=visibilities.weights > 0,
    )
    sums = visibilities.sums * factors
    frequencies, places = visibilities.frequencies, visibilities.places
    image = on_grid(sums, frequencies, places, field)
    fine = Field(field.centre, BEAM_PIXELS, 1 / (BEAM_FRACTION * visibilities.longest))
    psf = on_grid(weights / np.float32(total), frequencies, places, fine)
    found = DirtyImage(
        field, image, psf, fit_beam(psf, fine.cell), int(np.count_nonzero(weights)) // 2
    )
    value, l, m = max(
        _between_pixels(sums, frequencies, places, field, *pixel) for pixel in _candidates(image)
    )
    middle = float(np.nanmedian(image))
    scatter = 1.4826 * float(np.nanmedian(np.abs(image - middle)))
    return found, Peak(value, l, m, (value - middle) / scatter if scatter > 0 else 0.0)


def _candidates(image):
    """Pixels [x, y] of the highest maxima: between pixels another one may be the highest."""
    values = np.nan_to_num(image, nan=-np.inf)
    tops = np.argwhere((ndimage.maximum_filter(values, 3) == values) & np.isfinite(values))
    order = np.argsort(values[tops[:, 0], tops[:, 1]])
    return tops[order[-CANDIDATES:]]


def _between_pixels(sums, frequencies, places, field, x, y):
    """Value, l and m of the maximum near a pixel of the image, by finer pixels around it."""
    zoom = Field(field.centre, ZOOM_PIXELS, 3 * field.cell / ZOOM_PIXELS)
    l, m = (axis[index] for axis, index in zip(field.cosines(), (x, y)))
    near = on_grid(sums, frequencies, places, zoom, (l, m))
    value, more_l, more_m = find_peak(near, zoom)
    return value, float(l + more_l), float(m + more_m)
