#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Weights that point beams, and what beams with such weights see.

An input hears a source with the delay tau = -r.s/c (+ its cable's), so that at the sky frequency
f its voltage has the phase -2 pi f tau and is gain times larger (geometry.py, array_model.py). A
beam is y = sum_i w_i x_i, without any conjugate, and

    w_i(f) = taper_i / gain_i exp(+2 pi i f tau_i)

lines all inputs up. f is that of each channel: there is no phase for the whole band.
"""

import numpy as np

from ..arrays import geometry
from ..parameters.rules import refuse
from ..tracking.directions import distances, unit_vectors

TAPERS = ("none", "gaussian", "hamming")
NORMS = ("noise", "signal", "none")
CHUNK = 1 << 20  # exponentials at a time


def channel_frequencies(channels, center_frequency, bandwidth):
    """Sky frequencies [channel] in Hz: channel channels//2 is at `center_frequency`."""
    width = bandwidth / channels
    return center_frequency + (np.arange(channels) - channels // 2) * width


def array_frequencies(array, channels):
    """Returns the frequencies of channels of complex samples at the description's rate and
    frequency."""
    return channel_frequencies(channels, array.center_frequency, array.sample_rate)


def input_delays(array, directions, distances=np.inf):
    """Seconds [...][input] by which waves from directions [...][east, north, up] come late, at
    distances [...] in metres."""
    cables = np.array([entry.cable_delay for entry in array.inputs])
    return geometry.delays(array.input_positions(), directions, distances) + cables


def _delays_towards(array, directions, time):
    """Seconds [direction][input] of a list of Direction."""
    return input_delays(
        array, unit_vectors(directions, time, array), distances(directions, time, array)
    )


def find_polarizations(array):
    """The polarisations that the array has, as a string: x before y, r before l.

    Each makes a beam of its own, so that the beams 2m and 2m + 1 are a pair.
    """
    there = {entry.polarization for entry in array.inputs}
    if not (there <= set("xy") or there <= set("rl")):
        refuse("array", array.name, "one with linear or with circular polarisations, not both")
    return "".join(letter for letter in "xyrl" if letter in there)


def beam_masks(array, beams):
    """Returns which inputs each beam adds: bool [beam x polarisation][input].

    Beams of an array with two polarisations come in pairs: beam 0 in the first, beam 0 in the
    second, beam 1 in the first, ...
    """
    masks = []
    for beam in beams:
        unknown = set(beam.antennas or ()) - {antenna.name for antenna in array.antennas}
        if unknown:
            refuse(
                f"beam {beam.name!r}: antennas",
                sorted(unknown)[0],
                f"the name of an antenna of array {array.name!r}",
            )
        for letter in find_polarizations(array):
            mask = np.array(
                [
                    entry.polarization == letter
                    and (beam.antennas is None or entry.antenna in beam.antennas)
                    for entry in array.inputs
                ]
            )
            if not mask.any():
                refuse(
                    f"beam {beam.name!r}: antennas",
                    list(beam.antennas),
                    f"antennas of which one at least has an input of polarisation {letter}",
                )
            masks.append(mask)
    return np.array(masks)


def live_beams(array, beams):
    """
    Returns for coherent beams: boolean [beam][polarisation], whether an input of the beam has a
    gain other than 0. All voltages of the others are 0.
    """
    live = beam_masks(array, beams) & [entry.gain != 0 for entry in array.inputs]
    return live.any(axis=1).reshape(len(beams), -1)


def incoherent_masks(array, beams):
    """
    Returns masks as beam_masks() does, for beams that add powers: without the antennas that have an
    input of gain 0.

    The k-th input of a pair's first mask and the k-th of its second are an antenna, for XY*.
    """
    dead = {entry.antenna for entry in array.inputs if entry.gain == 0}
    masks = beam_masks(array, beams) & [entry.antenna not in dead for entry in array.inputs]
    names = np.array([entry.antenna for entry in array.inputs])
    step = len(find_polarizations(array))
    for number, beam in enumerate(beams):
        ours = masks[step * number : step * (number + 1)]
        if not ours.any():
            refuse(
                f"incoherent beam {beam.name!r}: antennas",
                list(beam.antennas or names),
                "antennas of which one at least has no gain of 0",
            )
        if any(list(names[mask]) != list(names[ours[0]]) for mask in ours):
            refuse(
                "array",
                array.name,
                f"one with both polarisations of each antenna of the "
                f"incoherent beam {beam.name!r}, its antennas in one order",
            )
    return masks


def _numbers(name, values, kind, rule):
    """An array of this kind of what a user gives."""
    try:
        return np.asarray(values, dtype=kind)
    except (TypeError, ValueError, OverflowError):
        refuse(name, values, rule)


def taper_of(array, taper="none"):
    """Real weights [input] that fall off from the middle of the array to its edge.

    taper: "none"; "gaussian" (power down by 10 dB at the outermost antenna); "hamming"; or
    the weights themselves.
    """
    if not isinstance(taper, str):
        rule = f"{len(array.inputs)} numbers, one for each input"
        values = _numbers("taper", taper, float, rule)
        if values.shape != (len(array.inputs),) or not np.all(np.isfinite(values)):
            refuse("taper", taper, rule)
        return values
    if taper not in TAPERS:
        refuse("taper", taper, f"{', '.join(TAPERS)} or a number for each input")
    positions = array.input_positions()
    distance = np.linalg.norm(positions - positions.mean(axis=0), axis=1)
    reach = distance / max(distance.max(), 1e-12)
    return {
        "none": np.ones_like(reach),
        "gaussian": 10 ** (-0.5 * reach**2),
        "hamming": 0.54 + 0.46 * np.cos(np.pi * reach),
    }[taper]


def _calibration_of(array, calibration, channels):
    """Complex [channel or 1][input] that voltages are multiplied with."""
    if calibration is None:
        gains = np.array([entry.gain for entry in array.inputs])
        # an input of gain 0 is dead, and left out
        return np.divide(1, gains, out=np.zeros_like(gains), where=gains != 0)[None]
    allowed = ((len(array.inputs),), (channels, len(array.inputs)))
    rule = f"finite numbers of shape {allowed[0]} or {allowed[1]}: [input] or [channel][input]"
    values = _numbers("calibration", calibration, complex, rule)
    if values.shape not in allowed:
        refuse("calibration", values.shape, rule)
    if not np.all(np.isfinite(values)):
        refuse("calibration", values[~np.isfinite(values)][0], rule)
    return np.atleast_2d(values)


def beam_directions(array, beams, time=None):
    """Unit vectors [beam][east, north, up] in which beams look.

    time: UTC seconds since 1970, which beams that move with the sky need.
    """
    return unit_vectors(beams, time, array)


def beam_weights(
    array,
    beams,
    frequencies,
    time=None,
    calibration=None,
    taper="none",
    normalise="noise",
    tracked=None,
):
    """
    The weights of beams, as the block `beamformer` wants them.

    Parameters
    ----------
    array : ArrayDescription
    beams : list of Beam
        Each makes one beam for each polarisation of the array; see `beam_masks`.
    frequencies : array of float
        Sky frequencies [channel], Hz.
    time : float
        UTC seconds since 1970, which beams that move with the sky need.
    calibration : array of complex
        [input] or [channel][input]: factors that make the inputs equal. None: one over the
        description's gains. The description's cable delays are always taken out.
    taper : str or array of float
        See `taper_of`.
    normalise : str
        "noise": the sum of |w|^2 is 1, so that a beam has the noise of an input; "signal": the sum
        of |taper| is 1, so that a source has the same power in the beam as in an input of gain 1;
        "none": weights as at the top of this module.
    tracked : Direction
        The direction that the F-engine's delays follow, cables included (see `delay_tracker`): only
        the rest is left to the weights. None: there are no such delays.

    Returns
    -------
    complex64 [channel][beam x polarisation][input]

    Raises
    ------
    ValueError
        Naming what is not allowed.
    """
    if normalise not in NORMS:
        refuse("normalise", normalise, ", ".join(NORMS))
    frequencies = np.atleast_1d(np.asarray(frequencies, dtype=float))
    if not beams:
        refuse("beams", beams, "a list of one at least")
    polarizations = len(find_polarizations(array))
    factors = beam_masks(array, beams) * taper_of(array, taper)  # [beam][input]
    calibration = _calibration_of(array, calibration, len(frequencies))  # [channel or 1][input]
    delays = np.repeat(_delays_towards(array, beams, time), polarizations, axis=0)
    if tracked is not None:
        delays -= _delays_towards(array, [tracked], time)[0]
    if normalise == "signal":
        factors = factors / np.maximum(np.abs(factors).sum(axis=-1, keepdims=True), 1e-300)
    found = np.empty((len(frequencies), *delays.shape), np.complex64)
    step = max(1, CHUNK // delays.size)
    for first in range(0, len(frequencies), step):
        part = slice(first, first + step)
        weights = np.exp(2j * np.pi * frequencies[part, None, None] * delays) * factors
        weights *= (calibration[part] if len(calibration) > 1 else calibration)[:, None]
        if normalise == "noise":
            weights /= np.maximum(np.linalg.norm(weights, axis=-1, keepdims=True), 1e-300)
        found[part] = weights
    return found


def array_factor(array, weights, directions, frequencies):
    """
    Voltages that sources of unit power give in beams.

    Parameters
    ----------
    array : ArrayDescription
        Its gains and cable delays count as well.
    weights : array of complex
        [channel][beam][input].
    directions : array of float
        Unit vectors [direction][east, north, up].
    frequencies : array of float
        Sky frequencies [channel], Hz.

    Returns
    -------
    complex128 [channel][beam][direction]
    """
    delays = input_delays(array, directions).T  # [input][direction]
    gains = np.array([entry.gain for entry in array.inputs])
    found = np.empty((len(weights), weights.shape[1], delays.shape[1]), complex)
    for channel, frequency in enumerate(np.atleast_1d(frequencies)):
        voltages = gains[:, None] * np.exp(-2j * np.pi * frequency * delays)
        found[channel] = np.asarray(weights[channel], complex) @ voltages
    return found
