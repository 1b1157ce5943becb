#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sources that have a name, where they are in an image."""

import re

import numpy as np

from ..tracking.directions import catalogue, unit_vectors

#: the catalogue's sources that a small array sees; its pulsars are too weak
BRIGHT = re.compile(r"Sun|Moon|Jupiter|\w{3} A\*?")


def named_sources(bright):
    """Directions of the catalogue; bright: only those that a small array may see."""
    return [
        source
        for source in catalogue()
        if source.name != "zenith" and (not bright or BRIGHT.fullmatch(source.name))
    ]


def names_near(field, time, array, to_uvw, whole_sky, more=()):
    """
    Names of the catalogue's sources, and of more, that are above the horizon and in a field, and
    their direction cosines to the east and to the north.

    Parameters
    ----------
    field : Field
    time : float
        UTC seconds since 1970.
    array : ArrayDescription
        Its site counts.
    to_uvw : array [3][3]
        From east, north, up to (l, m, n) of the field.
    whole_sky : bool
        Only bright sources of the catalogue are named then.
    more : list of Direction
    """
    sources = [*named_sources(whole_sky), *more]
    places = unit_vectors(sources, time, array)
    return [
        (source.name, float(l), float(m))
        for source, place, (l, m, n) in zip(sources, places, places @ to_uvw.T)
        if n > 0 and place[2] > 0 and max(abs(l), abs(m)) < field.width / 2
    ]


def nearest_name(towards, time, array, bright=True):
    """
    The named source above the horizon that is nearest to a direction, a unit vector (east, north,
    up), and the angle between them in degrees; None where none is up.
    """
    sources = named_sources(bright)
    places = unit_vectors(sources, time, array)
    up = np.flatnonzero(places[:, 2] > 0)
    if not len(up):
        return None
    # by the chord: the arc cosine of a small angle has few digits
    chords = np.linalg.norm(places[up] - towards, axis=1)
    best = int(np.argmin(chords))
    angle = 2 * np.degrees(np.arcsin(np.clip(chords[best] / 2, 0, 1)))
    return sources[up[best]].name, float(angle)
