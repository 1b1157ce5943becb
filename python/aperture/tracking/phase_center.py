#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Phase centres of visibilities: where their phases are zero, and the baselines seen from there.

Coordinates u, v, w are pyuvdata's: w towards the phase centre, v in the plane of w and the pole of
the frame (ICRS), u towards the east. A visibility conj(x_1) x_2 of a source there has the phase
2 pi f/c w of the baseline from 1 to 2.
"""

from dataclasses import dataclass

import numpy as np

from ..arrays import geometry
from ..arrays.earth_rotation import unix_seconds
from ..parameters.rules import refuse
from .directions import azimuth_elevation, icrs, parse_direction

#: radians to the north and to the south at which pyuvdata takes the direction of the frame's pole
OFFSET = np.pi / 360


def parse_phase_centers(value):
    """A list of Direction of one direction or of a list of them, each as parse_direction() has it;
    None is an empty list."""
    if value is None:
        return []
    pair = isinstance(value, tuple) and len(value) == 2 and not isinstance(value[0], str)
    if not isinstance(value, (list, tuple)) or pair:
        value = [value]
    found = [parse_direction(entry, "phase_centers") for entry in value]
    for entry in found:
        if entry.distance is not None:
            refuse("phase_centers", str(entry), "far away: phases are rotated for plane waves")
    return found


@dataclass(frozen=True)
class Place:
    """
    A phase centre at one time.

    app_ra, app_dec: apparent right ascension and declination; frame_pa: position angle of the
    frame's north against the apparent north; ra, dec: ICRS; all in radians. to_uvw: matrix [3][3]
    from (east, north, up) to (u, v, w).
    """

    app_ra: float
    app_dec: float
    frame_pa: float
    ra: float
    dec: float
    to_uvw: np.ndarray


def _frame_angle(hour_angle, dec, time, array):
    """Position angle of the ICRS north at an apparent place, as pyuvdata computes it."""
    import erfa

    latitude = np.radians(array.latitude)
    places = []
    for offset in (-OFFSET, OFFSET):
        azimuth, elevation = erfa.hd2ae(hour_angle, dec + offset, latitude)
        places.append(
            geometry.azel_to_radec(
                np.degrees(azimuth),
                np.degrees(elevation),
                time,
                array.latitude,
                array.longitude,
                array.height,
            )
        )
    return -float(erfa.pas(*np.radians(places[0]), *np.radians(places[1])))


def place_at(direction, time, array):
    """
    The Place of a direction.

    Parameters
    ----------
    direction : Direction
    time : float
        UTC seconds since 1970.
    array : ArrayDescription
    """
    import erfa

    azimuth, elevation = azimuth_elevation(direction, time, array)
    hour_angle, dec = erfa.ae2hd(
        np.radians(azimuth), np.radians(elevation), np.radians(array.latitude)
    )
    sidereal = np.radians(geometry.local_sidereal_time(time, array.longitude))
    angle = _frame_angle(hour_angle, dec, time, array)
    towards = geometry.direction(azimuth, elevation)
    latitude = np.radians(array.latitude)
    # to the east along the apparent circle of declination, which the pole has, too
    east = np.array(
        [
            np.cos(hour_angle),
            -np.sin(hour_angle) * np.sin(latitude),
            np.sin(hour_angle) * np.cos(latitude),
        ]
    )
    north = np.cross(towards, east)
    u = np.cos(angle) * east - np.sin(angle) * north
    v = np.sin(angle) * east + np.cos(angle) * north
    ra, dec_icrs = icrs(direction, time, array)[:2]
    return Place(
        float((sidereal - hour_angle) % (2 * np.pi)),
        float(dec),
        angle,
        float(np.radians(ra)),
        float(np.radians(dec_icrs)),
        np.array([u, v, towards]),
    )


def has_ephemeris(direction):
    """
    Returns whether a direction moves against the stars.

    One that stands still over the ground does. The format's own type for these, `driftscan`, is
    not used, since pyuvdata 3.2 adds the hour angle to the sidereal time there and looks in the
    mirrored place.
    """
    return direction.ra is None


def catalogue_entry(direction):
    """
    Returns the entry of a phase centre in a UVH5 file's catalogue: a dictionary.

    The places of one that moves against the stars are those of ephemeris().
    """
    entry = {
        "cat_name": direction.name,
        "cat_epoch": 2000.0,
        "cat_frame": "icrs",
        "info_source": "gr-aperture",
    }
    if has_ephemeris(direction):
        return {**entry, "cat_type": "ephem"}
    entry.update(
        cat_type="sidereal", cat_lon=np.radians(direction.ra), cat_lat=np.radians(direction.dec)
    )
    if direction.pm_ra or direction.pm_dec:
        # the format has the change of the right ascension itself
        entry["cat_pm_ra"] = direction.pm_ra / max(np.cos(np.radians(direction.dec)), 1e-9)
        entry["cat_pm_dec"] = direction.pm_dec
    return entry


def ephemeris(direction, times, array):
    """Datasets of the catalogue for a body at times (Julian dates): these, and ICRS in radians."""
    times = np.asarray(times, float)
    ra, dec = icrs(direction, unix_seconds(times), array)[:2]
    return {"cat_times": times, "cat_lon": np.radians(ra), "cat_lat": np.radians(dec)}
