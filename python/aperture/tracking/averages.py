#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Averages of visibilities, as `visibility_averager` takes them: products of some inputs, gates of a
pulsar, and lengths that depend on the baseline.

Lengths follow from the cycles by which the phase of a source changes at most, and from what an
average over them keeps: see `smearing`. Wijnholds, Willis and Salvini (2018, "Baseline-dependent
averaging in radio interferometry", MNRAS 476, 2029) choose lengths in this way.
"""

import numpy as np

from ..arrays.array_description import ArrayDescription, load_array
from ..parameters.rules import as_number, as_whole, refuse
from .smearing import across_pole, direction_distance, fringe_frequency, kept


def products_of(inputs):
    """
    The products of some inputs, in the order of an X-engine that has these inputs only.

    Parameters
    ----------
    inputs : iterable of int
        Numbers of inputs, in the order that they are to have.

    Returns
    -------
    list of (int, int)
        For `products` of `visibility_averager`: what comes out is then as of an X-engine behind a
        selection of these inputs, and `uvh5_sink` writes it with a description of them.
    """
    inputs = [as_whole("inputs", number, 0) for number in inputs]
    if len(set(inputs)) < len(inputs):
        refuse("inputs", inputs, "numbers of which no two are the same")
    return [(inputs[a], inputs[b]) for a in range(len(inputs)) for b in range(a + 1)]


def phase_bins(count):
    """
    The gates that divide the phase of a pulsar into bins of one length, for `gates` of
    `visibility_averager`.

    Returns
    -------
    list of (float, float)
        Begin and end of each, in cycles from 0 to 1.
    """
    count = as_whole("count", count, 2, 1024)
    return [(number / count, (number + 1) / count) for number in range(count)]


def fringe_frequencies(array, products, frequency, radius=None):
    """
    The cycles a second by which phases change at most, beside those of the phase centre.

    Parameters
    ----------
    array : ArrayDescription, or what load_array() takes
    products : iterable of (int, int)
        Pairs of inputs by their numbers.
    frequency : float
        Hz, the highest of the band.
    radius : float
        Degrees from the phase centre, up to 180; None: nothing is tracked: any direction.

    Returns
    -------
    array of float
        Cycles a second of each product.

    Raises
    ------
    ValueError
    """
    array = array if isinstance(array, ArrayDescription) else load_array(array)
    frequency = as_number("frequency", frequency, 0, 1e15, "Hz", above=True)
    if radius is not None:
        radius = np.deg2rad(as_number("radius", radius, 0, 180, "degrees"))
    pairs = [(array.find_input(int(a)), array.find_input(int(b))) for a, b in products]
    a, b = np.reshape(pairs, (-1, 2)).T
    across = across_pole(array.input_positions(), array.latitude)
    lengths = np.linalg.norm(across[a] - across[b], axis=1)
    return fringe_frequency(lengths, direction_distance(radius), frequency)


def time_loss(array, products, frequency, seconds, radius=None):
    """
    The part of a source's amplitude that averaging in time costs at most, 0 to 1, of each product.

    Parameters
    ----------
    seconds : float
        Length of the averages.

    The others are those of fringe_frequencies().
    """
    seconds = as_number("seconds", seconds, 0, 1e9, "s")
    cycles = fringe_frequencies(array, products, frequency, radius) * seconds
    # averages over more than a cycle may lose all of a source that turns more slowly
    return np.where(cycles < 1, 1 - kept(cycles), 1.0)


def average_lengths(array, products, frequency, integration, loss, radius=None, most=1024):
    """
    The lengths of averages that cost no product more than a given part of a source's amplitude.

    Parameters
    ----------
    integration : float
        Seconds of the shortest averages.
    loss : float
        The part that may be lost, above 0 and below 1, at `radius` from the phase centre.
    most : int
        The longest length, a power of two.

    The others are those of fringe_frequencies().

    Returns
    -------
    list of int
        For `lengths` of `visibility_averager`: powers of two, one for each product.

    Raises
    ------
    ValueError
        The shortest averages lose more than that.
    """
    loss = as_number("loss", loss, 0, 1, above=True)
    integration = as_number("integration", integration, 0, 1e9, "s", above=True)
    most = as_whole("most", most, 1, 1 << 20)
    products = list(products)
    worst = time_loss(array, products, frequency, integration, radius)
    if (worst > loss).any():
        pair = products[int(np.argmax(worst))]
        refuse(
            "integration",
            f"{integration:g} s",
            f"shorter: the product of inputs {pair[0]} and {pair[1]} would lose {worst.max():.3g} "
            f"of a source, and `loss` is {loss:g}",
        )
    lengths = np.ones(len(products), int)
    length = 2
    while length <= most:
        lost = time_loss(array, products, frequency, length * integration, radius)
        if not (lost <= loss).any():
            break
        lengths[lost <= loss] = length
        length *= 2
    return lengths.tolist()
