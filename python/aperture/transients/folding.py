#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Folded profiles: what is in them, and channels lined up."""

from dataclasses import dataclass

import numpy as np

from .dispersion import delay


@dataclass
class FoldedProfiles:
    """
    A pulsar that was folded.

    powers: float [subintegration][product][channel][bin], mean powers; counts: float, of the same
    shape or one that broadcasts to it, what was counted (0: nothing, the power is 0 then); times:
    tuples (whole seconds, fraction) of UTC since 1970 near the middle of each sub-integration, at
    which the phase is a whole number of revolutions; lengths: s; frequencies: revolutions/s then;
    channels: Hz, ascending; dm: pc/cm^3 that channels are to be lined up with (they are not yet);
    segments: of the model of the phase, or None; beam: its name; source: its name; start: (whole
    seconds, fraction) of UTC since 1970 when the observation began, or None.
    """

    powers: np.ndarray
    counts: np.ndarray
    times: list
    lengths: np.ndarray
    frequencies: np.ndarray
    channels: np.ndarray
    dm: float = 0.0
    source: str = ""
    beam: str = ""
    products: tuple = ("power",)
    segments: list = None
    start: tuple = None

    @property
    def period(self):
        """Seconds, in the middle of the observation."""
        return 1 / float(np.median(self.frequencies))


def rotate(profiles, revolutions):
    """
    Shifts profiles [...][bin] to earlier phases, by fractions of a bin too (in their Fourier
    transform, so that what is summed stays the same).

    revolutions: of each profile, [...] or what broadcasts to it.
    """
    profiles = np.asarray(profiles, float)
    bins = profiles.shape[-1]
    spectrum = np.fft.rfft(profiles)
    shift = np.exp(2j * np.pi * np.asarray(revolutions)[..., None] * np.arange(spectrum.shape[-1]))
    if bins % 2 == 0:
        shift[..., -1] = shift[..., -1].real  # the highest frequency has only a real part
    return np.fft.irfft(spectrum * shift, bins)


def combined(powers, counts, axis):
    """Mean over axes of powers, weighted with counts, and the counts: what was counted nowhere is
    0."""
    counts = np.broadcast_to(counts, np.shape(powers))
    total = counts.sum(axis=axis)
    return np.sum(powers * counts, axis=axis) / np.maximum(total, 1), total


def flattened(powers, counts):
    """
    Profiles [...][channel][bin] over the mean of each channel, less 1: what is pulsed. A channel
    that received nothing is 0.
    """
    mean, seen = combined(powers, counts, axis=-1)
    level = np.where(seen > 0, mean, 1)[..., None]
    level = np.where(level == 0, 1, level)
    return np.where((seen > 0)[..., None], powers / level - 1, 0)


def dedispersed(folded, dm=None, reference=np.inf):
    """
    Powers [subintegration][product][channel][bin] with the channels' delays taken out. Bins of
    which nothing was counted have the mean of the others, so that no hole is shifted into these.

    Parameters
    ----------
    folded : FoldedProfiles
    dm : float
        pc/cm^3; None: that of the profiles.
    reference : float
        Hz: the frequency whose phase stays as it is.
    """
    late = delay(folded.dm if dm is None else dm, folded.channels, reference)
    mean, _ = combined(folded.powers, folded.counts, axis=-1)
    powers = np.where(np.asarray(folded.counts) > 0, folded.powers, mean[..., None])
    return rotate(powers, (folded.frequencies[:, None] * late)[:, None, :])


def profile(folded, dm=None, product=0):
    """
    Returns the pulse profile, summed over channels and sub-integrations: float [bin], relative to
    the mean power (channels that received nothing are left out).
    """
    powers = dedispersed(folded, dm)[:, product]
    counts = np.broadcast_to(folded.counts, folded.powers.shape)[:, product]
    pulsed = flattened(powers, counts)
    weights = counts.mean(axis=-1)
    return np.einsum("scb,sc->b", pulsed, weights) / max(weights.sum(), 1e-300)


def signal_to_noise(values):
    """Peak of a profile over the deviation of its quieter half (by the median of what is below
    the median: pulses do not count)."""
    values = np.asarray(values, float)
    median = np.median(values)
    below = median - values[values < median]
    deviation = 1.4826 * np.median(below) if len(below) else 0
    return float((values.max() - median) / deviation) if deviation > 0 else 0.0
