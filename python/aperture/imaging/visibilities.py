#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Visibilities of a file as an image wants them: phased to its centre, in batches."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from ..arrays.earth_rotation import unix_seconds
from ..arrays.geometry import SPEED_OF_LIGHT
from ..tracking.phase_center import place_at

#: visibilities of a batch
BATCH = 4_000_000


class ImagingError(ValueError):
    """A file or an argument of which no image can be made; the message is for the user."""


@dataclass
class Batch:
    """Some visibilities, phased to a centre. uvw: metres [row][u, v, w] seen from the centre;
    values: complex64 [row][channel], phased to it; weights: float32 [row][channel], 0 where
    flagged."""

    uvw: np.ndarray
    values: np.ndarray
    weights: np.ndarray


class SkyVisibilities:
    """
    The cross-correlations of a UVH5 file.

    Parameters
    ----------
    file : VisibilityFile
    hands : list of str
        The polarisations (of the file) whose mean is taken.
    coherence : bool
        True if visibilities are divided by the root of the two autocorrelations.
    channels, integrations : slice
        Channels and integrations of the file.

    Attributes
    ----------
    array : latitude, longitude, height
    frequencies : Hz [channel]
    times : UTC seconds since 1970 [integration], middles
    """

    def __init__(self, file, hands, coherence, channels=slice(None), integrations=slice(None)):
        self._file, self._hands, self._coherence = file, hands, coherence
        self._channels = channels
        self._chosen = np.arange(len(file.times))[integrations]
        self.frequencies = file.frequencies[channels]
        if not len(self._chosen) or not len(self.frequencies):
            raise ImagingError("no integrations, or no channels, are chosen")
        self._places = file.places()
        missing = [file.names[antenna] for antenna in file.antennas if antenna not in self._places]
        if missing:
            raise ImagingError(f"the file does not say where antenna {missing[0]} is")
        self.array = SimpleNamespace(**dict(zip(("latitude", "longitude", "height"), file.site)))
        self.times = np.atleast_1d(unix_seconds(file.times[self._chosen]))
        self._removed = file.phase_lengths()
        used = np.array([self._places[antenna] for antenna in file.antennas])
        #: metres
        self.longest_baseline = max(
            (np.linalg.norm(used - place, axis=1).max() for place in used), default=0.0
        )
        if self.longest_baseline < 0.1:
            raise ImagingError(
                "the antennas are all at one place: their positions were not known "
                "when the file was made (aperture_fx --array)"
            )

    @property
    def middle(self):
        """UTC seconds since 1970 of the middle of the observation."""
        return (self.times[0] + self.times[-1]) / 2

    @property
    def longest(self):
        """The longest baseline in wavelengths of the highest frequency."""
        return self.longest_baseline * self.frequencies[-1] / SPEED_OF_LIGHT

    def batches(self, centre):
        """Batch by batch, all visibilities, phased to a centre (a Direction)."""
        parts, count = [], 0
        for number, rows, data, weights in self._file.integrations(self._chosen):
            part = self._part(
                centre, number, rows, data[:, self._channels], weights[:, self._channels]
            )
            if part is None:
                continue
            parts.append(part)
            count += part.values.size
            if count >= BATCH:
                yield self._joined(parts)
                parts, count = [], 0
        if parts:
            yield self._joined(parts)

    @staticmethod
    def _joined(parts):
        return Batch(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("uvw", "values", "weights")
            )
        )

    def _part(self, centre, number, rows, data, weights):
        file = self._file
        first, second = file.first[rows], file.second[rows]
        places = [file.polarizations.index(hand) for hand in self._hands]
        values, weights = data[..., places].astype(complex), weights[..., places].astype(float)
        if self._coherence:
            powers = {
                int(antenna): np.where(weights[row] > 0, values[row].real, 0)
                for row, antenna in enumerate(first)
                if antenna == second[row]
            }
            none = np.zeros(values.shape[1:])
            power = np.array(
                [powers.get(int(a), none) * powers.get(int(b), none) for a, b in zip(first, second)]
            )
            weights = np.where(power > 0, weights, 0)
            values = np.divide(values, np.sqrt(power), out=np.zeros_like(values), where=power > 0)
        crosses = np.flatnonzero(first != second)
        if not len(crosses):
            return None
        total = weights[crosses].sum(axis=-1)
        mean = np.divide(
            (values[crosses] * weights[crosses]).sum(axis=-1),
            total,
            out=np.zeros(total.shape, complex),
            where=total > 0,
        )
        time = float(np.atleast_1d(unix_seconds(file.times[number]))[0])
        to_uvw = place_at(centre, time, self.array).to_uvw
        enu = np.array(
            [
                self._places[int(b)] - self._places[int(a)]
                for a, b in zip(first[crosses], second[crosses])
            ]
        )
        uvw = enu @ to_uvw.T
        cycles = np.multiply.outer(
            self._removed[rows[crosses]] - uvw[:, 2], self.frequencies / SPEED_OF_LIGHT
        )
        mean *= np.exp(2j * np.pi * (cycles % 1))
        return Batch(uvw, mean.astype(np.complex64), total.astype(np.float32))
