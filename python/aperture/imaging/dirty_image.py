#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Dirty images and dirty beams, by the gridder of ducc0 (Ye, Gull, Tan and Nikolic 2022)."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from ..arrays import geometry
from ..arrays.geometry import SPEED_OF_LIGHT
from ..system import linux
from ..tracking.directions import Direction
from .visibilities import ImagingError
from .weighting import UVDensity

#: accuracy of the result, against an exact sum over all visibilities
ACCURACY = 1e-5
#: direction cosines across an image of all that is above the horizon, and a little more
WHOLE_SKY = 2.04


@dataclass(frozen=True)
class Field:
    """
    The field of an image: centre, a Direction; pixels along each side, an even number; cell: of a
    pixel in direction cosines, which are radians near the centre.

    An image is [x][y], x from east to west (right ascension decreases), y from south to north, and
    the centre is pixel pixels // 2 of both.
    """

    centre: Direction
    pixels: int
    cell: float

    @property
    def width(self):
        """In direction cosines: 2 is the whole sky above a horizon."""
        return self.pixels * self.cell

    def cosines(self):
        """l (to the east) [x] and m (to the north) [y] of the pixels' middles."""
        steps = (np.arange(self.pixels) - self.pixels // 2) * self.cell
        return -steps, steps


@dataclass(frozen=True)
class Beam:
    """Full widths at half maximum, in radians, and the position angle of the longer one from north
    through east, in degrees."""

    major: float
    minor: float
    angle: float


@dataclass(frozen=True)
class DirtyImage:
    """A dirty image and its beam. image, psf: float32 [x][y] of a Field, psf being 1 in the centre;
    NaN below the horizon; beam: a Beam; visibilities: how many were used."""

    field: Field
    image: np.ndarray
    psf: np.ndarray
    beam: Beam
    visibilities: int


def fit_beam(psf, cell):
    """The Beam of a psf [x][y]: a Gaussian through what is above half of it in the main lobe."""
    centre = psf.shape[0] // 2, psf.shape[1] // 2
    labels, _ = ndimage.label(np.nan_to_num(psf) > 0.5)
    x, y = np.nonzero(labels == labels[centre])
    # east and north of the centre
    east, north = (centre[0] - x) * cell, (y - centre[1]) * cell
    if len(x) < 6:
        return Beam(2 * cell, 2 * cell, 0.0)
    fall = np.log(psf[x, y].astype(float))
    terms = np.array([east**2, 2 * east * north, north**2]).T
    a, b, c = -np.linalg.lstsq(terms, fall, rcond=None)[0]
    values, vectors = np.linalg.eigh([[a, b], [b, c]])
    # the beam of an array in a line has no end in one direction
    least = np.log(2) * 4 / (psf.shape[0] * cell) ** 2
    major, minor = np.sqrt(4 * np.log(2) / np.maximum(values, least))
    return Beam(major, minor, float(np.degrees(np.arctan2(vectors[0, 0], vectors[1, 0])) % 180))


def make_image(visibilities, field, weighting):
    """
    The dirty image of visibilities.

    I(l, m) = sum w V exp(-2 pi i f/c (u l + v m + w (n - 1))) / sum w, with V phased to the centre:
    a point source has its visibility's amplitude at its place, and there is no correction for the
    antennas' response.

    Parameters
    ----------
    visibilities : SkyVisibilities
    field : Field
    weighting : Weighting

    Returns
    -------
    DirtyImage
    """
    from ducc0.wgridder import vis2dirty  # from PyPI: the rest can do without it

    frequencies = visibilities.frequencies
    waves = frequencies / SPEED_OF_LIGHT
    density = UVDensity(field.width, visibilities.longest)
    if weighting.robustness is not None:
        for batch in visibilities.batches(field.centre):
            density.add(
                np.multiply.outer(batch.uvw[:, 0], waves),
                np.multiply.outer(batch.uvw[:, 1], waves),
                batch.weights,
            )
    image = np.zeros((field.pixels,) * 2)
    psf = np.zeros_like(image)
    total, used = 0.0, 0
    common = dict(
        freq=frequencies,
        npix_x=field.pixels,
        npix_y=field.pixels,
        pixsize_x=field.cell,
        pixsize_y=field.cell,
        epsilon=ACCURACY,
        do_wgridding=True,
        flip_v=True,
        divide_by_n=False,
        nthreads=linux.usable_cores(),
    )
    for batch in visibilities.batches(field.centre):
        weights = density.weigh(
            weighting,
            np.multiply.outer(batch.uvw[:, 0], waves),
            np.multiply.outer(batch.uvw[:, 1], waves),
            batch.weights,
        )
        weights = weights.astype(np.float32)
        image += vis2dirty(uvw=batch.uvw, vis=batch.values, wgt=weights, **common)
        psf += vis2dirty(uvw=batch.uvw, vis=np.ones_like(batch.values), wgt=weights, **common)
        total += float(weights.sum(dtype=float))
        used += int(np.count_nonzero(weights))
    if not used:
        raise ImagingError("all visibilities between antennas are flagged")
    l, m = field.cosines()
    below = l[:, np.newaxis] ** 2 + m**2 >= 1
    image, psf = (np.where(below, np.nan, sums / total).astype(np.float32) for sums in (image, psf))
    return DirtyImage(field, image, psf, fit_beam(psf, field.cell), used)


def find_peak(image, field):
    """
    The highest pixel, refined by parabolas through it and its neighbours.

    Returns
    -------
    value, l, m : float
        Direction cosines to the east and to the north.
    """
    x, y = np.unravel_index(np.nanargmax(image), image.shape)
    offsets = []
    for axis, place in enumerate((x, y)):
        line = image[:, y] if axis == 0 else image[x]
        offset = 0.0
        if 0 < place < len(line) - 1:
            before, top, after = (float(value) for value in line[place - 1 : place + 2])
            bend = before - 2 * top + after
            if bend < 0:
                offset = 0.5 * (before - after) / bend
        offsets.append(place + offset - field.pixels // 2)
    return float(image[x, y]), -offsets[0] * field.cell, offsets[1] * field.cell


def towards(l, m, to_uvw):
    """Unit vector (east, north, up) of direction cosines; to_uvw: from the former to (l, m, n)."""
    return np.array([l, m, np.sqrt(max(0.0, 1 - l * l - m * m))]) @ to_uvw


def horizontal(l, m, to_uvw):
    """Azimuth (0 to 360) and elevation, in degrees, of direction cosines, as towards() has them."""
    azimuth, elevation = geometry.azimuth_elevation(towards(l, m, to_uvw))
    return float(azimuth), float(elevation)


def to_sky(l, m, ra, dec):
    """ICRS right ascension and declination (degrees) of direction cosines seen from ra, dec: the
    orthographic projection (SIN of FITS)."""
    n = np.sqrt(np.maximum(1 - l * l - m * m, 0))
    ra, dec = np.radians(ra), np.radians(dec)
    found = np.arcsin(np.clip(m * np.cos(dec) + n * np.sin(dec), -1, 1))
    along = np.arctan2(l, n * np.cos(dec) - m * np.sin(dec))
    return np.degrees(ra + along) % 360, np.degrees(found)
