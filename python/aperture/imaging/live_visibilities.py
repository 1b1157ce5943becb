#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Integrations of the X-engine, as they come, as an image wants them."""

import numpy as np

from ..arrays.geometry import SPEED_OF_LIGHT
from .direct_image import BinnedVisibilities
from .visibilities import ImagingError

#: cycles by which the phase of the longest baseline may change within a bin of channels, from one
#: end of it to the other, at the edge of the field: 6 % of such a source are lost there
MOST_CYCLES = 0.2
#: bins of channels, whatever the bandwidth: what is beyond is smeared
MOST_BINS = 32


class VisibilityMatrices:
    """
    Makes BinnedVisibilities of what the X-engine sends.

    Parallel hands of a pair of antennas are averaged. Visibilities are divided by the root of the
    powers of both inputs, channel by channel, so that gains and bandpasses do not matter and the
    unit is a correlation coefficient.

    Parameters
    ----------
    array : ArrayDescription
        Its inputs are the X-engine's.
    channels : int
        Channels of an integration.
    """

    def __init__(self, array, channels):
        self._array, self._channels = array, channels
        self._inputs = len(array.inputs)
        names = list(dict.fromkeys(entry.antenna for entry in array.inputs))
        self._antenna_of = np.array([names.index(entry.antenna) for entry in array.inputs])
        positions = array.input_positions()
        first = [int(np.flatnonzero(self._antenna_of == number)[0]) for number in range(len(names))]
        #: metres [antenna][east, north, up]
        self.places = positions[first]
        a, b = np.tril_indices(self._inputs)
        letters = np.array([entry.polarization for entry in array.inputs])
        wanted = (letters[a] == letters[b]) & (self._antenna_of[a] != self._antenna_of[b])
        self._products = np.flatnonzero(wanted)
        self._a, self._b = a[wanted], b[wanted]
        # the places where the hands of a pair are one after the other, for sums over them
        key = self._pair_keys()
        self._order = np.argsort(key, kind="stable")
        self._starts = np.flatnonzero(np.diff(key[self._order], prepend=-1))
        self._pairs = key[self._order][self._starts]
        self._autos = np.arange(self._inputs) * (np.arange(self._inputs) + 3) // 2
        if not len(self._products):
            raise ImagingError(
                f"array {array.name!r} has no two antennas with inputs of one "
                "polarization, of which there could be an image"
            )
        if self.lengths().max() < 0.1:
            raise ImagingError(
                f"array {array.name!r} has all its antennas at one place, so that "
                "there is no image: give their positions"
            )

    def _pair_keys(self):
        """A number of each product's pair of antennas, without regard to its order."""
        antennas = len(self.places)
        one, two = self._antenna_of[self._a], self._antenna_of[self._b]
        return np.maximum(one, two) * antennas + np.minimum(one, two)

    def lengths(self):
        """Metres of the baselines between antennas, [pair]."""
        antennas = len(self.places)
        return np.linalg.norm(
            self.places[self._pairs // antennas] - self.places[self._pairs % antennas], axis=-1
        )

    def bins(self, frequencies, width, longest=np.inf):
        """
        Returns how many bins of channels an image of a width in direction cosines needs, with
        baselines of up to `longest` metres.
        """
        lengths = self.lengths()
        lengths = lengths[lengths <= longest]
        if not len(lengths):
            return 1
        step = (frequencies[-1] - frequencies[0]) / max(1, len(frequencies) - 1)
        band = step * len(frequencies)
        cycles = band * lengths.max() * min(width / 2, 1.0) / SPEED_OF_LIGHT
        # twice: from one edge of a bin to the other, the phase is right in its middle
        return int(np.clip(np.ceil(cycles / MOST_CYCLES), 1, min(MOST_BINS, len(frequencies))))

    def reduce(self, values, weights, frequencies, to_uvw, bins, tracked=None):
        """
        The BinnedVisibilities of one integration.

        Parameters
        ----------
        values : complex64 [channel][product]
        weights : [product], or a number
            Such as counted spectra; 0: nothing is there.
        frequencies : [channel]
            Hz.
        to_uvw : array [3][3]
            From (east, north, up) to (u, v, w) of the centre to which they are phased.
        bins : int
            Numbers of neighbouring channels.
        tracked : array [place]
            Seconds by which a wave from where phases are zero, as they come, is late at `places`;
            None: nowhere (unprojected).
        """
        if values.shape != (self._channels, self._inputs * (self._inputs + 1) // 2):
            raise ImagingError(
                f"an integration has {values.shape[0]} channels and "
                f"{values.shape[1]} products, which are not those of the array"
            )
        weights = np.broadcast_to(np.asarray(weights, np.float32), values.shape[1:])
        waves = np.asarray(frequencies) / SPEED_OF_LIGHT
        paths = self.places @ to_uvw[2]
        if tracked is not None:
            paths = paths + SPEED_OF_LIGHT * tracked
        powers = values[:, self._autos].real
        there = (powers > 0) & np.isfinite(powers) & (weights[self._autos] > 0)
        cycles = np.multiply.outer(waves, paths[self._antenna_of])
        angles = (2 * np.pi * (cycles - np.rint(cycles))).astype(np.float32)
        # each input's own part: phased to the centre, and of power 1 [channel][input]
        scale = np.zeros(powers.shape, np.float32)
        np.divide(1, np.sqrt(powers, where=there, out=np.ones_like(powers)), out=scale, where=there)
        factors = scale * np.cos(angles) - 1j * (scale * np.sin(angles))
        factors = factors.astype(np.complex64)
        edges = np.arange(bins) * self._channels // bins
        cross = values[:, self._products]
        cross *= factors[:, self._a]
        cross *= factors[:, self._b].conj()
        cross[~np.isfinite(cross)] = 0
        cross = np.add.reduceat(cross, edges, axis=0) * weights[self._products]
        used = self._both(there, edges) * weights[self._products]
        return self._matrices(cross, used, frequencies, edges, to_uvw)

    def _both(self, there, edges):
        """Channels in which both inputs have power, [bin][product]."""
        if there.all():
            sizes = np.diff(edges, append=self._channels).astype(np.float32)
            return np.broadcast_to(sizes[:, np.newaxis], (len(edges), len(self._products)))
        both = there[:, self._a] & there[:, self._b]
        return np.add.reduceat(both.astype(np.float32), edges, axis=0)

    def _matrices(self, cross, used, frequencies, edges, to_uvw):
        """BinnedVisibilities of sums and weights [bin][product of different antennas]."""
        antennas = len(self.places)
        one, two = self._antenna_of[self._a], self._antenna_of[self._b]
        cross = np.where(one > two, cross, cross.conj())[:, self._order]
        cross = np.add.reduceat(cross, self._starts, axis=1)
        used = np.add.reduceat(used[:, self._order], self._starts, axis=1)
        a, b = np.divmod(self._pairs, antennas)
        sums = np.zeros((len(edges), antennas, antennas), np.complex64)
        weights = np.zeros(sums.shape, np.float32)
        sums[:, a, b], sums[:, b, a] = cross, cross.conj()
        weights[:, a, b] = weights[:, b, a] = used
        ends = np.append(edges[1:], self._channels)
        middles = np.array([np.mean(frequencies[begin:end]) for begin, end in zip(edges, ends)])
        return BinnedVisibilities(sums, weights, middles, self.places @ to_uvw.T)


def add_up(parts):
    """One BinnedVisibilities of several, of the same bins; seen as in the middle one of them."""
    if len(parts) == 1:
        return parts[0]
    return BinnedVisibilities(
        sum(part.sums for part in parts),
        sum(part.weights for part in parts),
        parts[-1].frequencies,
        parts[len(parts) // 2].places,
    )
