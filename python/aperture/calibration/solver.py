#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Complex gains of inputs from the ratios of visibilities to a model, by least squares.

The voltages are x_i = g_i s_i, so that x_i conj(x_j) = g_i conj(g_j) M_ij with the model's M. Per
channel, sum W |R_ij - g_i conj(g_j)|^2 is minimised over the g, where R is the ratio of what was
measured to the model and W one over the variance of R: each g in turn is the least-squares
solution with the others as they are, the mean of two in a row is taken (StEFCal: Salvini and
Wijnholds 2014, A&A 571, A97). Measurements whose residuals are far outside of the others' lose
their weight, step by step (Tukey's biweight). A line is then fitted to each gain's phase over the
channels.
"""

from dataclasses import dataclass

import numpy as np

TUKEY = 6.0  # deviations from where on a residual has no weight
LEAST_SCALE = 0.3  # parts of the noise: residuals of strong signals may exceed it
OUTER, INNER = 4, 200  # times that weights are set, steps for each at most
TOLERANCE = 1e-7  # relative to the gains
LEAST_SIGNAL = 5.0  # to noise, of the gain of a channel that counts
WANTED_SIGNAL = 10.0  # to noise, to which neighbouring channels are averaged
FINER = 8  # lags for each that the band resolves
PIECE = 1 << 22  # elements of matrices at a time


@dataclass(frozen=True)
class Ratios:
    """
    The solver's ratios of inputs of one polarisation.

    inputs: how many; first, second: [pair], inputs i and j of R_ij = x_i conj(x_j) / M_ij; values,
    weights: [time][pair][channel], R and one over the variance of R, 0 where flagged; powers: float
    [input][channel], autocorrelations, or None.
    """

    inputs: int
    first: np.ndarray
    second: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    powers: np.ndarray


@dataclass(frozen=True)
class Gains:
    """
    The gains that a solver found.

    gains: complex [input][channel], 0 where there is none; signal: to noise, [input][channel];
    flagged: [channel], that say nothing; misfits: [input], and misfit; chi_squares: [input], and
    chi_squared, for each degree of freedom, nan without any; averaged: channels that share a gain.
    """

    gains: np.ndarray
    signal: np.ndarray
    flagged: np.ndarray
    misfits: np.ndarray
    misfit: float
    chi_squares: np.ndarray
    chi_squared: float
    averaged: int


def _matrices(ratios, values, weights):
    """Hermitian matrices [channel][input][input] of sums over time: weighted R, and weights."""
    channels = values.shape[-1]
    total = np.zeros((channels, ratios.inputs, ratios.inputs), complex)
    counted = np.zeros(total.shape)
    weighted = (weights * values).sum(axis=0).T
    weight = weights.sum(axis=0).T
    total[:, ratios.first, ratios.second] = weighted
    total[:, ratios.second, ratios.first] = weighted.conj()
    counted[:, ratios.first, ratios.second] = counted[:, ratios.second, ratios.first] = weight
    return total, counted


def _begin(total, counted):
    """Gains [channel][input] to begin with: the principal eigenvector of the mean ratios."""
    mean = np.divide(total, counted, out=np.zeros_like(total), where=counted > 0)
    # the diagonal, which is not known, is what the others of a row say
    size = np.abs(mean).sum(axis=-1) / np.maximum((counted > 0).sum(axis=-1), 1)
    number = np.arange(mean.shape[-1])
    mean[:, number, number] = size
    values, vectors = np.linalg.eigh(mean)
    return vectors[..., -1] * np.sqrt(np.maximum(values[..., -1:], 0))


def _solve(total, counted, gains):
    """Least squares by alternation: gains [channel][input] from those to begin with."""
    for step in range(INNER):
        above = np.einsum("kij,kj->ki", total, gains)
        below = np.einsum("kij,kj->ki", counted, np.abs(gains) ** 2)
        new = np.divide(above, below, out=np.zeros_like(gains), where=below > 0)
        change = np.linalg.norm(new - gains, axis=1)
        size = np.linalg.norm(new, axis=1)
        # every other step the mean with the one before, without which it would go back and forth
        gains = (new + gains) / 2 if step % 2 else new
        if np.all(change <= TOLERANCE * size):
            break
    return gains


def _in_pieces(function, *arrays):
    """function(*arrays) over pieces of the first axis, so that memory does not run out."""
    step = max(1, PIECE // max(1, arrays[0][0].size))
    parts = [
        function(*(array[start : start + step] for array in arrays))
        for start in range(0, len(arrays[0]), step)
    ]
    return np.concatenate(parts)


def _model(ratios, gains):
    """g_i conj(g_j), [pair][channel], of gains [input][channel]."""
    return gains[ratios.first] * gains[ratios.second].conj()


def solve_channels(ratios):
    """
    Gains [input][channel], of each channel by itself, and the robust weights [time][pair][channel].
    """
    weights = ratios.weights
    gains = None
    for _ in range(OUTER):
        total, counted = _matrices(ratios, ratios.values, weights)
        if gains is None:
            gains = _in_pieces(_begin, total, counted)
        gains = _in_pieces(_solve, total, counted, gains)
        deviations = np.abs(ratios.values - _model(ratios, gains.T)) * np.sqrt(ratios.weights)
        there = ratios.weights > 0
        if np.count_nonzero(there) == 0 or len(ratios.values) * len(ratios.first) < ratios.inputs:
            break  # the gains follow the measurements wherever these are
        # the |r|^2 of noise has its median at ln 2 of its mean
        scale = max(np.median(deviations[there]) / np.sqrt(np.log(2)), LEAST_SCALE)
        relative = deviations / (TUKEY * scale)
        weights = ratios.weights * np.where(
            relative < 1, (1 - np.minimum(relative, 1) ** 2) ** 2, 0
        )
    return gains.T, weights


def signal_to_noise(ratios, gains, weights):
    """Returns the magnitude of the gain of each input and channel over its deviation."""
    other = np.zeros(gains.shape)
    weight = weights.sum(axis=0)
    np.add.at(other, ratios.first, weight * np.abs(gains[ratios.second]) ** 2)
    np.add.at(other, ratios.second, weight * np.abs(gains[ratios.first]) ** 2)
    return np.abs(gains) * np.sqrt(other)


@dataclass(frozen=True)
class Line:
    """Phase of a gain over frequency: phase - 2 pi (f - reference) delay; rms: radians around
    it."""

    delay: float
    phase: float
    rms: float


def fit_line(frequencies, gains, weights, reference):
    """
    The line through the phases of gains [channel], weighted: a search over delays up to half of
    what a channel resolves, then least squares of what remains.

    frequencies: Hz, evenly spaced; weights: of the phases, one over their variance; reference: Hz.
    """
    usable = (weights > 0) & (gains != 0)
    if not usable.any():
        return Line(0.0, 0.0, np.nan)
    phasors = np.where(usable, gains / np.maximum(np.abs(gains), 1e-300), 0)
    weights = np.where(usable, weights, 0.0)
    # one bright channel must not be all
    weights = np.minimum(weights, 10 * np.median(weights[usable]))
    delay = 0.0
    away = frequencies - reference
    if np.count_nonzero(usable) > 1:
        width = (frequencies[-1] - frequencies[0]) / (len(frequencies) - 1)
        length = FINER * (1 << (len(frequencies) - 1).bit_length())
        # phase falls with frequency by 2 pi delay: the transform with +i peaks there
        lags = np.abs(np.fft.ifft(weights * phasors, length))
        delay = np.fft.fftfreq(length, width)[np.argmax(lags)]
    phase, robust = 0.0, weights
    for _ in range(20):
        model = np.exp(1j * (phase - 2 * np.pi * away * delay))
        # the mean first: what is left is small, and has no cycles to be found
        phase += np.angle(np.sum(robust * phasors * model.conj()))
        model = np.exp(1j * (phase - 2 * np.pi * away * delay))
        left = np.angle(phasors * model.conj())
        scale = 1.4826 * np.median(np.abs(left[usable]))
        robust = weights * (np.abs(left) <= max(4 * scale, 1e-6)) if scale < 0.5 else weights
        if np.count_nonzero(robust) < 2:
            break
        center = np.average(away, weights=robust)
        mean = np.average(left, weights=robust)
        slope = np.sum(robust * (away - center) * left) / np.sum(robust * (away - center) ** 2)
        delay -= slope / (2 * np.pi)
        phase += mean - slope * center
        if abs(slope) * np.ptp(away) < 1e-10:
            break
    model = np.exp(1j * (phase - 2 * np.pi * away * delay))
    left = np.angle(phasors * model.conj())
    rms = np.sqrt(np.average(left**2, weights=weights))
    return Line(float(delay), float(np.angle(np.exp(1j * phase))), float(rms))


def band_signal(ratios, frequencies):
    """
    Signal to noise [pair] of each pair over the whole band, at the best delay, and that delay.
    """
    sums = ratios.weights * ratios.values
    sums, weights = sums.sum(axis=0), ratios.weights.sum(axis=0)
    root = np.sqrt(weights)
    scaled = np.divide(sums, root, out=np.zeros_like(sums), where=root > 0)  # noise 1 in each
    # interference is clipped at what few channels of a signal reach
    size = np.abs(scaled)
    limit = 4 * np.array([np.median(row[row > 0]) if np.any(row > 0) else 0 for row in size])
    factor = np.minimum(1, limit[:, None] / np.maximum(size, 1e-300))
    length = FINER * (1 << max(0, (scaled.shape[1] - 1).bit_length()))
    lags = np.fft.ifft(scaled * factor, length, axis=1) * length
    counted = np.maximum(np.count_nonzero(size, axis=1), 1)
    peaks = np.argmax(np.abs(lags), axis=1)
    width = 1.0 if len(frequencies) < 2 else frequencies[1] - frequencies[0]
    return (
        np.abs(lags[np.arange(len(lags)), peaks]) / np.sqrt(counted),
        np.fft.fftfreq(length, width)[peaks],
    )


def averaged(ratios, count, delays, frequencies):
    """Ratios with `count` neighbouring channels as one, after a delay of each input (s) was taken
    out."""
    if count == 1:
        return ratios
    away = frequencies - frequencies[len(frequencies) // 2]
    between = delays[ratios.first] - delays[ratios.second]
    stopped = ratios.values * np.exp(2j * np.pi * np.outer(between, away))
    channels = ratios.values.shape[-1]
    starts = np.arange(0, channels, count)
    weights = np.add.reduceat(ratios.weights, starts, axis=-1)
    values = np.add.reduceat(ratios.weights * stopped, starts, axis=-1)
    values = np.divide(values, weights, out=np.zeros_like(values), where=weights > 0)
    powers = (
        None
        if ratios.powers is None
        else np.add.reduceat(ratios.powers, starts, axis=-1) / np.diff(np.append(starts, channels))
    )
    return Ratios(ratios.inputs, ratios.first, ratios.second, values, weights, powers)


def delays_of_pairs(ratios, signal, delays):
    """Delays [input] by weighted least squares of those of pairs, in which d_i - d_j is."""
    used = signal >= LEAST_SIGNAL
    if not used.any():
        return np.zeros(ratios.inputs)
    rows = np.flatnonzero(used)
    matrix = np.zeros((len(rows), ratios.inputs))
    matrix[np.arange(len(rows)), ratios.first[rows]] = 1
    matrix[np.arange(len(rows)), ratios.second[rows]] = -1
    weight = np.minimum(signal[rows], 100)
    for _ in range(5):
        found = np.linalg.lstsq(matrix * weight[:, None], delays[rows] * weight, rcond=None)[0]
        left = np.abs(matrix @ found - delays[rows])
        # the peak of a pair may be another one's altogether
        weight = np.minimum(signal[rows], 100) / (1 + left / max(np.median(left), 1e-12))
    return found


def _quality(ratios, gains, weights, flagged):
    """misfits [input], misfit, chi-squares [input], chi-squared of the residuals."""
    model = _model(ratios, gains)
    there = (ratios.weights > 0) & (np.abs(model) > 0) & ~flagged
    left = np.where(there, np.abs(ratios.values - model) ** 2 * ratios.weights, 0)
    size = np.where(there, np.abs(model) ** 2 * ratios.weights, 0)
    measured = 2 * there.sum(axis=(0, 1))  # [channel], real numbers
    present = np.count_nonzero(np.any(gains != 0, axis=1))
    unknown = 2 * present - 1
    free = np.maximum(measured - unknown, 0)
    # the part of a pair's residual that the fit leaves, on average
    share = np.where(measured > 0, free / np.maximum(measured, 1), 0)

    def of(pairs):
        channels = np.any(there[:, pairs], axis=(0, 1)) & (free > 0)
        if not channels.any():
            return np.nan, np.nan
        number = there[:, pairs].sum(axis=(0, 1))[channels]
        sums = left[:, pairs].sum(axis=(0, 1))[channels]
        sizes = size[:, pairs].sum(axis=(0, 1))[channels]
        noise = number * share[channels]
        # medians: interference of some channels is no misfit of the model
        excess = np.median((sums - noise) / np.maximum(sizes, 1e-300))
        return np.sqrt(max(excess, 0.0)), np.median(sums / noise)

    everything = of(np.arange(len(ratios.first)))
    each = [
        of(np.flatnonzero((ratios.first == number) | (ratios.second == number)))
        for number in range(ratios.inputs)
    ]
    return (
        np.array([pair[0] for pair in each]),
        everything[0],
        np.array([pair[1] for pair in each]),
        everything[1],
    )


def over_channels(values, places, usable, channels):
    """
    Complex values [input][place] at 0 to channels - 1, linearly between the places that are usable
    and as the nearest of these beyond them; zeros where none is.
    """
    found = np.zeros((len(values), channels), complex)
    if np.any(usable):
        for row, part in zip(found, values[:, usable]):
            row.real = np.interp(np.arange(channels), places[usable], part.real)
            row.imag = np.interp(np.arange(channels), places[usable], part.imag)
    return found


def solve(ratios, frequencies, average=0):
    """
    Gains of one polarisation's inputs.

    Parameters
    ----------
    ratios : Ratios
    frequencies : array of float
        [channel], Hz.
    average : int
        Number of channels that share a gain; 0: as many as a signal to noise of WANTED_SIGNAL
        takes.

    Returns
    -------
    Gains
        Of inputs that no other one correlates with, 0.
    """
    channels = len(frequencies)
    signal, delays = band_signal(ratios, frequencies)
    strength = np.zeros(ratios.inputs)
    np.maximum.at(strength, ratios.first, signal)
    np.maximum.at(strength, ratios.second, signal)
    found = strength >= LEAST_SIGNAL
    delays = delays_of_pairs(ratios, signal, delays)
    if average == 0:
        total = np.zeros(ratios.inputs)
        np.add.at(total, ratios.first, signal**2)
        np.add.at(total, ratios.second, signal**2)
        each = np.median(total[found]) / channels if found.any() else np.inf
        average = int(
            np.clip(np.ceil(WANTED_SIGNAL**2 / max(each, 1e-9)), 1, max(1, channels // 4))
        )
    # inputs without a signal take no part
    lost = ~(found[ratios.first] & found[ratios.second])
    kept = np.where(lost[None, :, None], 0, ratios.weights)
    whole = Ratios(ratios.inputs, ratios.first, ratios.second, ratios.values, kept, ratios.powers)
    coarse = averaged(whole, average, delays, frequencies)
    gains, weights = solve_channels(coarse)
    # one pair gives only the product of both magnitudes: powers share it out
    if np.count_nonzero(found) == 2 and coarse.powers is not None:
        i, j = np.flatnonzero(found)
        size = np.abs(gains[i] * gains[j])
        share = np.divide(
            coarse.powers[i],
            coarse.powers[j],
            out=np.ones(size.shape),
            where=(coarse.powers[j] > 0) & (coarse.powers[i] > 0),
        )
        for number, power in ((i, share), (j, 1 / share)):
            phasor = np.exp(1j * np.angle(gains[number]))
            gains[number] = np.where(gains[number] != 0, np.sqrt(size * np.sqrt(power)), 0) * phasor
    ratio = signal_to_noise(coarse, gains, weights)
    flagged = np.ones(gains.shape[1], bool)
    if found.any():
        flagged = np.median(ratio[found], axis=0) < LEAST_SIGNAL
    gains[~found] = 0
    misfits, misfit, chi_squares, chi_squared = _quality(coarse, gains, weights, flagged)
    if average > 1:
        # each average's gains are known but for a common phase
        strongest = np.argmax(np.where(found, strength, -1))
        gains = gains * np.exp(-1j * np.angle(gains[strongest]))
        # between the middles of the averages, and with the delays that were taken out for them
        expand = np.repeat(np.arange(gains.shape[1]), average)[:channels]
        middles = np.array(
            [np.mean(np.flatnonzero(expand == group)) for group in range(gains.shape[1])]
        )
        away = frequencies - frequencies[channels // 2]
        gains = over_channels(gains, middles, ~flagged, channels)
        gains = gains * np.exp(-2j * np.pi * np.outer(delays, away))
        ratio, flagged = ratio[:, expand], flagged[expand]
    return Gains(gains, ratio, flagged, misfits, misfit, chi_squares, chi_squared, average)
