#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A picture of what is up: elevations over time, with UTC below and sidereal time above."""

import matplotlib.pyplot as plt
import numpy as np

from ..arrays.earth_rotation import julian_date
from ..tracking.directions import azimuth_elevation
from ..tracking.passes import times_of
from .style import COLOURS
from .time_axis import dates_of, time_axis

LINES = ("-", "--", ":", "-.")
PLANE_MARKS = 8  # galactic longitudes that are written at the plane


def _dates(times):
    return dates_of(julian_date(times))


def passes_figure(directions, plane, array, start, seconds, zone, title, lowest=0.0):
    """
    A matplotlib figure of elevations over time.

    Parameters
    ----------
    directions : list of Direction
        Those that never come up are left out.
    plane : passes.Plane
        The galactic plane; None: it is left out.
    array : ArrayDescription
        Its site counts.
    start, seconds : float
        UTC seconds since 1970, and how long.
    zone : time_axis.Zone
    title : str
    lowest : float
        Elevation, degrees, at which a line is drawn where it is not 0.
    """
    figure, axis = plt.subplots(figsize=(10, 5.6), layout="constrained")
    if plane is not None:
        dates = _dates(plane.times)
        axis.fill_between(
            dates, 0, plane.elevation, color="0.93", label="galactic plane", linewidth=0
        )
        axis.plot(dates, plane.elevation, color="0.75", linewidth=1)
        for index in np.linspace(0, len(dates) - 1, PLANE_MARKS + 2).astype(int)[1:-1]:
            axis.annotate(
                f"l {plane.longitude[index]:.0f}°",
                (dates[index], plane.elevation[index]),
                fontsize=6,
                color="0.45",
                ha="center",
                va="bottom",
            )
    number = 0
    for direction in directions:
        times = times_of(direction, start, seconds)
        elevation = azimuth_elevation(direction, times, array)[1]
        if not (elevation > 0).any():
            continue
        axis.plot(
            _dates(times),
            np.where(elevation > 0, elevation, np.nan),
            color=COLOURS[number % len(COLOURS)],
            linestyle=LINES[number // len(COLOURS) % len(LINES)],
            linewidth=1.2,
            label=direction.name,
        )
        number += 1
    if lowest > 0:
        axis.axhline(lowest, color="0.4", linewidth=0.6, linestyle=":")
    ends = julian_date(np.linspace(start, start + seconds, 25))
    axis.set_xlim(*dates_of(ends)[[0, -1]])
    axis.set_ylim(0, 92)
    axis.set_yticks(range(0, 91, 15))
    axis.set_ylabel("elevation, degrees", fontsize=8)
    axis.grid(alpha=0.3)
    time_axis(axis, ends, array.longitude, zone)
    axis.set_title(title, fontsize=10)
    if number or plane is not None:
        axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
