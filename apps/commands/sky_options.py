#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Options that name a place on the sky."""

from types import SimpleNamespace

import numpy as np

from ..arguments.argument_types import argument
from ..tracking.directions import icrs, parse_direction

CENTRE_HELP = (
    "a name (Cas A, sun, B0329+54, zenith), ICRS right ascension and declination "
    "('23:23:24 +58:48:54', or '350.85, 58.815' in degrees), or 'az=180, el=45' in the "
    "middle of the observation"
)
SECONDS_PER_YEAR = 365.25 * 86400
#: the epoch of catalogues, 2000.0, in seconds since 1970
EPOCH = 946728000


direction = argument(parse_direction, named=True)


def place_of(direction):
    """
    A function of (seconds, latitude, longitude, height) that gives a direction's ICRS right
    ascension and declination, in degrees, at that time, as seen from there.
    """

    def place(seconds, latitude, longitude, height):
        site = SimpleNamespace(latitude=latitude, longitude=longitude, height=height)
        ra, dec, pm_ra, pm_dec = icrs(direction, seconds, site)
        moved = (seconds - EPOCH) / SECONDS_PER_YEAR / 3.6e6  # degrees for 1 mas a year
        return (
            float(ra + moved * pm_ra / np.cos(np.radians(dec))) % 360,
            float(dec + moved * pm_dec),
        )

    return place
