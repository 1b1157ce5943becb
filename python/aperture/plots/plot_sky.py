#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures of dirty images: around a place, or of the whole sky with its horizon."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Ellipse

from ..arrays import geometry
from ..tracking.angle_text import angle_unit

IMAGE_MAP = "inferno"
GRID = dict(color="white", lw=0.5, alpha=0.5)
MARK = "#56B4E9"
COMPASS = (("N", 0), ("E", 90), ("S", 180), ("W", 270))


def _extent(field, size=1.0):
    """Returns the extent of image.T for imshow: east on the left, pixels' edges."""
    half = field.pixels // 2
    west, east = -(field.pixels - half - 0.5), half + 0.5
    return (
        east * field.cell / size,
        west * field.cell / size,
        -(half + 0.5) * field.cell / size,
        (field.pixels - half - 0.5) * field.cell / size,
    )


def _draw_beam(axis, beam, field, size):
    """The beam's ellipse in the lower left corner."""
    corner = 0.46 * field.width / size
    reach = max(beam.major / size / 2, 0.01 * field.width / size)
    place = corner - reach, -corner + reach
    # angles run from north through east, and east is where x decreases on the page
    axis.add_patch(
        Ellipse(
            place,
            beam.minor / size,
            beam.major / size,
            angle=-beam.angle,
            facecolor="none",
            edgecolor="white",
            lw=1.2,
        )
    )


def _draw_sources(axis, field, sources, size):
    for name, l, m in sources:
        inside = max(abs(l), abs(m)) < 0.49 * field.width
        if not inside:
            continue
        axis.plot(l / size, m / size, "o", ms=11, mfc="none", mec=MARK, mew=1.2)
        left = l > 0.3 * field.width  # the label still fits on the right
        axis.annotate(
            name,
            (l / size, m / size),
            xytext=(9 if left or l > 0 else -9, 7),
            textcoords="offset points",
            color="white",
            fontsize=9,
            ha="left" if left or l > 0 else "right",
        )


def draw_field(axis, image, sources):
    """The image of a small field, with offsets from its centre."""
    field = image.field
    unit, size = angle_unit(field.width / 2)
    picture = axis.imshow(
        image.image.T,
        origin="lower",
        extent=_extent(field, size),
        cmap=IMAGE_MAP,
        interpolation="nearest",
    )
    axis.set_xlabel(f"offset to the east ({unit})")
    axis.set_ylabel(f"offset to the north ({unit})")
    _draw_sources(axis, field, sources, size)
    _draw_beam(axis, image.beam, field, size)
    return picture


def draw_sky(axis, image, sources, to_uvw):
    """
    The whole sky as seen from the ground, looking up: horizon, rings of elevation, compass.

    to_uvw: matrix [3][3] from east, north, up to (l, m, n) of the image.
    """
    field = image.field
    picture = axis.imshow(
        image.image.T,
        origin="lower",
        extent=_extent(field),
        cmap=IMAGE_MAP,
        interpolation="nearest",
    )
    azimuths = np.arange(0, 361, 3)
    for elevation in (0, 30, 60):
        ring = geometry.direction(azimuths, np.full(azimuths.shape, float(elevation))) @ to_uvw.T
        axis.plot(ring[:, 0], ring[:, 1], **(GRID if elevation else dict(color="black", lw=1.5)))
        if elevation:
            l, m, _ = to_uvw @ geometry.direction(225.0, float(elevation))
            axis.annotate(
                f"{elevation}°", (l, m), color="white", fontsize=8, ha="center", va="center"
            )
    for azimuth in range(0, 360, 45):
        line = geometry.direction(np.full(2, float(azimuth)), np.array([0.0, 85.0])) @ to_uvw.T
        axis.plot(line[:, 0], line[:, 1], **GRID)
    for name, azimuth in COMPASS:
        l, m, _ = 1.06 * to_uvw @ geometry.direction(float(azimuth), 0.0)
        axis.text(l, m, name, ha="center", va="center", fontsize=12, fontweight="bold")
    for azimuth in range(45, 360, 90):
        l, m, _ = 1.08 * to_uvw @ geometry.direction(float(azimuth), 0.0)
        axis.text(l, m, f"{azimuth}°", ha="center", va="center", fontsize=9, color="0.35")
    _draw_sources(axis, field, sources, 1.0)
    corner = 1.0 - image.beam.major / 2
    axis.add_patch(
        Ellipse(
            (max(corner, 0.9), -max(corner, 0.9)),
            image.beam.minor,
            image.beam.major,
            angle=-image.beam.angle,
            facecolor="0.75",
            edgecolor="black",
            lw=1,
        )
    )
    axis.set_xlim(1.14, -1.14)
    axis.set_ylim(-1.14, 1.14)
    axis.set_axis_off()
    return picture


def sky_figure(image, sources, title, lines, unit, to_uvw=None):
    """
    Image, dirty beam, and what is known of both.

    Parameters
    ----------
    image : DirtyImage
    sources : list of (str, float, float)
        Names, and direction cosines to the east and to the north.
    title, lines : str, list of str
    unit : str
        Unit of the image.
    to_uvw : array [3][3]
        The matrix of draw_sky(), for an image of the whole sky; None: a field.
    """
    figure = plt.figure(figsize=(11.5, 8.6))
    axis = figure.add_axes((0.075, 0.08, 0.62, 0.80))
    picture = (
        draw_field(axis, image, sources)
        if to_uvw is None
        else draw_sky(axis, image, sources, to_uvw)
    )
    figure.canvas.draw()
    place = axis.get_position()
    bar = figure.colorbar(
        picture, cax=figure.add_axes((place.x1 + 0.015, place.y0, 0.016, place.height))
    )
    bar.set_label(unit)
    # the dirty beam: what a point source in the centre looks like
    field = image.field
    reach = min(field.pixels // 2, max(16, int(8 * image.beam.major / field.cell)))
    middle = field.pixels // 2
    cut = slice(max(middle - reach, 0), middle + reach + 1)
    angle, size = angle_unit(reach * field.cell)
    side = figure.add_axes((0.815, 0.60, 0.165, 0.22))
    east = (middle - cut.start + 0.5) * field.cell / size
    west = (middle - min(cut.stop, field.pixels) + 0.5) * field.cell / size
    side.imshow(
        image.psf[cut, cut].T,
        origin="lower",
        cmap="RdBu_r",
        vmin=-1,
        vmax=1,
        extent=(east, west, -east, -west),
        interpolation="nearest",
    )
    side.set_title("dirty beam", fontsize=10)
    side.set_xlabel(f"east ({angle})", fontsize=9)
    side.set_ylabel(f"north ({angle})", fontsize=9, labelpad=1)
    side.tick_params(labelsize=8)
    figure.text(0.075, 0.955, title.replace("$", r"\$"), fontsize=14, fontweight="bold")
    figure.text(0.075, 0.915, lines[0].replace("$", r"\$"), fontsize=10)
    figure.text(
        0.795, 0.50, "\n".join(lines[1:]).replace("$", r"\$"), fontsize=9, va="top", linespacing=1.5
    )
    return figure
