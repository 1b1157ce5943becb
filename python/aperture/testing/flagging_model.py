#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The model of flagger, in float64 and the plainest of loops. It is written from the definitions, and
shares nothing with the blocks.
"""

import numpy as np
from scipy import integrate, optimize, special

WINDOW = 32
LEAST_WINDOW = 8
LONGEST = 16


def kurtosis_moments(spectra):
    """Central moments 2, 3, 4 of the spectral kurtosis of noise: Nita and Gary 2010, N = d = 1."""
    m = float(spectra)

    # moments of q = sum p_i^2, p uniform on the simplex: E q^k by Dirichlet's integral
    def rising(k):
        return np.prod([m + j for j in range(k)])

    e1 = m * 2 / rising(2)
    e2 = (m * 24 + m * (m - 1) * 4) / rising(4)
    e3 = (m * 720 + 3 * m * (m - 1) * 48 + m * (m - 1) * (m - 2) * 8) / rising(6)
    e4 = (
        m * 40320
        + m * (m - 1) * (4 * 720 * 2 + 3 * 24 * 24)
        + 6 * m * (m - 1) * (m - 2) * 24 * 4
        + m * (m - 1) * (m - 2) * (m - 3) * 16
    ) / rising(8)
    scale = (m + 1) / (m - 1) * m
    return (
        scale**2 * (e2 - e1**2),
        scale**3 * (e3 - 3 * e1 * e2 + 2 * e1**3),
        scale**4 * (e4 - 4 * e1 * e3 + 6 * e1**2 * e2 - 3 * e1**4),
    )


def kurtosis_limits(spectra, false_alarms):
    """(low, high): quantiles of the Pearson IV distribution, by its closed form."""
    m2, m3, m4 = kurtosis_moments(spectra)
    b1, b2 = m3**2 / m2**3, m4 / m2**2
    r = 6 * (b2 - b1 - 1) / (2 * b2 - 3 * b1 - 6)
    root = 16 * (r - 1) - b1 * (r - 2) ** 2
    assert root > 0, "not of type IV"
    m = (r + 2) / 2
    nu = -r * (r - 2) * np.sqrt(b1) / np.sqrt(root)
    a = np.sqrt(m2 * root) / 4
    middle = 1 - (r - 2) * np.sqrt(m2 * b1) / 4

    # x = middle + a tan(t); log of the largest density for the scale
    def log_density(t):
        return (2 * m - 2) * np.log(np.cos(t)) - nu * t

    top = log_density(np.arctan(-nu / (2 * m - 2)))

    def density(t):
        return np.exp(log_density(t) - top)

    mode = np.arctan(-nu / (2 * m - 2))
    edge = np.pi / 2 - 1e-12

    def between(low, high):
        return integrate.quad(density, low, high, epsabs=0, epsrel=1e-10, limit=400)[0]

    total = between(-edge, mode) + between(mode, edge)
    low = optimize.brentq(lambda t: between(-edge, t) / total - false_alarms / 2, -edge, mode)
    high = optimize.brentq(lambda t: between(t, edge) / total - false_alarms / 2, mode, edge)
    return middle + a * np.tan(low), middle + a * np.tan(high)


def quantised_kurtosis(mean_power, limit):
    """(bias, scale) for Gaussian noise that was rounded and clamped to +-limit."""
    levels = np.arange(-limit, limit + 1)

    def probabilities(rms):
        edges = np.concatenate([[-np.inf], levels[:-1] + 0.5, [np.inf]])
        return np.diff(special.ndtr(edges / rms))

    def power(rms):
        return 2 * probabilities(rms) @ levels**2.0

    if mean_power > power(limit):
        return 0.0, 1.0
    rms = optimize.brentq(lambda x: power(x) - mean_power, 0.05, limit)
    one = probabilities(rms)
    squares = levels**2.0
    both = np.outer(one, one)
    powers = squares[:, None] + squares
    e = [np.sum(both * powers**k) for k in range(5)]
    # S2/S1^2 changes by this much with each sample
    influence = powers**2 / e[1] ** 2 - 2 * e[2] * powers / e[1] ** 3
    variance = np.sum(both * influence**2) - np.sum(both * influence) ** 2
    return e[2] / e[1] ** 2 - 2, 2 / np.sqrt(variance)


def _deviation(power, others, spectra, there):
    """Standard deviations from the median of some powers; 0 where these are too few."""
    others = np.sort([p for p in others if p is not None])
    if power is None or len(others) < LEAST_WINDOW:
        return 0.0
    middle = (len(others) - 1) // 2
    median = others[middle]
    mad = np.sort(np.abs(others - median))[middle]
    sigma = max(1.4826 * mad, median / np.sqrt(spectra))
    return (power - median) / sigma * np.sqrt(there / spectra) if sigma > 0 else 0.0


def _sum_threshold(values, flags, sigma):
    """A row of flags after all lengths."""
    flags = np.array(flags, dtype=bool)
    length = 1
    while length <= min(LONGEST, len(values)):
        threshold = sigma / 1.5 ** np.log2(length)
        found = flags.copy()
        for start in range(len(values) - length + 1):
            part = slice(start, start + length)
            unflagged = values[part][~flags[part]]
            if len(unflagged) and abs(unflagged.mean()) > threshold:
                found[part] = True
        flags = found
        length *= 2
    return flags


def flag(
    voltages,
    spectra_per_slice,
    sample_type="fc32",
    there=None,
    kurtosis_false_alarms=0,
    least_power=0,
    most_power=0,
    time_sigma=0,
    channel_sigma=0,
    time_sum_sigma=0,
    channel_sum_sigma=0,
    bad_channels=(),
    grown_slices=0,
    grown_channels=0,
):
    """
    Flags of frames.

    voltages: complex [frame][channel][input][time]; missing ones are zero
    there: spectra that are not missing, int [frame][input][slice]; None: all
    Returns bool [frame][channel][input][slice].
    """
    frames, channels, inputs, times = voltages.shape
    slices = times // spectra_per_slice
    full = spectra_per_slice
    if there is None:
        there = np.full((frames, inputs, slices), full)
    power = np.abs(voltages.astype(np.complex128)) ** 2
    power = power.reshape(frames, channels, inputs, slices, full)
    s1, s2 = power.sum(axis=-1), (power**2).sum(axis=-1)
    limit = {"sc8": 127, "sc4": 7}.get(sample_type)

    means = np.full(s1.shape, None)
    flags = np.zeros(s1.shape, dtype=bool)
    limits = {}
    for f, c, i, s in np.ndindex(s1.shape):
        n = there[f, i, s]
        if c in bad_channels or 4 * n < full or n == 0:
            continue
        mean = s1[f, c, i, s] / n
        if not np.isfinite(mean):
            flags[f, c, i, s] = True
            continue
        means[f, c, i, s] = mean
        if mean < least_power or (most_power > 0 and mean > most_power):
            flags[f, c, i, s] = True
        if kurtosis_false_alarms > 0 and mean > 0 and (limit is None or mean >= 0.125):
            value = (n + 1) / (n - 1) * (n * s2[f, c, i, s] / s1[f, c, i, s] ** 2 - 1)
            if limit is not None:
                bias, scale = quantised_kurtosis(mean, limit)
                value = 1 + (value - 1 - bias) * scale
            if n not in limits:
                limits[n] = kurtosis_limits(n, kurtosis_false_alarms)
            low, high = limits[n]
            flags[f, c, i, s] |= not low <= value <= high

    # one row of slices over all frames
    count = frames * slices
    means = means.transpose(0, 3, 1, 2).reshape(count, channels, inputs)
    flags = flags.transpose(0, 3, 1, 2).reshape(count, channels, inputs)
    n = there.transpose(0, 2, 1).reshape(count, inputs)
    in_time = np.zeros((count, channels, inputs))
    grown = np.zeros_like(flags)
    for f in range(frames):
        now = range(f * slices, (f + 1) * slices)
        for t in now:
            for c, i in np.ndindex(channels, inputs):
                z = (
                    _deviation(
                        means[t, c, i], means[max(0, t - WINDOW + 1) : t + 1, c, i], full, n[t, i]
                    )
                    if time_sigma or time_sum_sigma
                    else 0.0
                )
                in_time[t, c, i] = z
                flags[t, c, i] |= 0 < time_sigma < abs(z)
        if time_sum_sigma:
            # slices before the first one are there, with deviation 0
            first = now[0] - (LONGEST - 1)
            lead = max(0, -first)
            for c, i in np.ndindex(channels, inputs):
                part = slice(max(0, first), now[-1] + 1)
                z = np.concatenate([np.zeros(lead), in_time[part, c, i]])
                old = np.concatenate([np.zeros(lead, dtype=bool), flags[part, c, i]])
                flags[now[0] : now[-1] + 1, c, i] = _sum_threshold(z, old, time_sum_sigma)[
                    LONGEST - 1 :
                ]
        for t in now:
            if not (channel_sigma or channel_sum_sigma):
                break
            known = flags[t].copy()
            z = np.zeros((channels, inputs))
            for c, i in np.ndindex(channels, inputs):
                around = range(max(0, c - WINDOW // 2), min(channels, c + WINDOW // 2))
                others = [means[t, k, i] for k in around if not known[k, i]]
                z[c, i] = _deviation(means[t, c, i], others, full, n[t, i])
                flags[t, c, i] |= 0 < channel_sigma < abs(z[c, i])
            for i in range(inputs if channel_sum_sigma else 0):
                flags[t, :, i] = _sum_threshold(z[:, i], flags[t, :, i], channel_sum_sigma)
        for t in now:
            for c, i in np.ndindex(channels, inputs):
                near = flags[
                    max(0, t - grown_slices) : min(now[-1], t + grown_slices) + 1,
                    max(0, c - grown_channels) : c + grown_channels + 1,
                    i,
                ]
                grown[t, c, i] = n[t, i] > 0 and (near.any() or c in bad_channels)
    return grown.reshape(frames, slices, channels, inputs).transpose(0, 2, 3, 1)


def pack(flags):
    """bool [frame][channel][input][slice] -> masks, uint8 [frame][channel][input][byte]."""
    return np.packbits(flags, axis=-1, bitorder="little")


def unpack(masks, slices):
    """The opposite of pack()."""
    return np.unpackbits(masks, axis=-1, bitorder="little", count=slices).astype(bool)
