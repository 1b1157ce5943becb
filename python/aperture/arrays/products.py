#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Products by the names of their inputs, as the `select` block wants them."""

from .array_description import ArrayDescription, load_array


def products(array, pairs):
    """
    Input numbers of products that are given by name.

    Parameters
    ----------
    array : ArrayDescription, or what load_array() takes
        An array description, or the file or shipped name of one.
    pairs : iterable of (input, input)
        Each input by its name (antenna and polarisation, "A1x") or its number, from 0.

    Returns
    -------
    list of (int, int)
        For `aperture.select`: the pair (a, b) is V[a,b] = sum of x_a conj(x_b).

    Raises
    ------
    ValueError
        If a pair does not have two elements, or an input is not one of the array's.

    Example
    -------
    >>> products("two-dish", [("Bx", "Ax"), (0, 0)])
    [(1, 0), (0, 0)]
    """
    if not isinstance(array, ArrayDescription):
        array = load_array(array)
    found = []
    for pair in pairs:
        # a string of two letters has two elements as well
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(
                f"products: {pair!r} is not allowed: a pair of inputs such as "
                f"({array.input_names[0]!r}, {array.input_names[-1]!r})"
            )
        found.append((array.find_input(pair[0]), array.find_input(pair[1])))
    return found
