#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The heaps of MeerKAT's correlator and beamformer, as katgpucbf's documentation of its data
interfaces has them: items, their numbers, and what the payload is.
"""

from dataclasses import dataclass

import numpy as np

#: bits of an item's address, and so of an immediate value
FLAVOUR = (4, 64, 48)
IMMEDIATE = [("u", FLAVOUR[2])]
#: an immediate value of which a heap holds a reference
IMMEDIATE_TYPE = np.dtype(">u8")
#: bytes in front of the payload of a packet: a header, and items of 8 bytes
HEADER = 72
STREAM_CONTROL = 0x6
#: real and imaginary part of a product that is missing
MISSING_PRODUCT = (-(2**31), 1)


@dataclass(frozen=True)
class Item:
    """An item of SPEAD. number: its identifier; name, description: of its descriptor."""

    number: int
    name: str
    description: str


TIMESTAMP = Item(
    0x1600,
    "timestamp",
    "Samples of the digitisers since the time of synchronisation, at the start of the heap.",
)
DIGITISER_ID = Item(
    0x3101, "digitiser_id", "Which digitiser sends; the lowest bit is the polarisation."
)
DIGITISER_STATUS = Item(
    0x3102, "digitiser_status", "Flags; from bit 32 on the number of saturated samples."
)
FENG_ID = Item(0x4101, "feng_id", "Which F-engine sends.")
FREQUENCY = Item(0x4103, "frequency", "Number of the first channel of the heap.")
BEAM_ANTS = Item(0x5004, "beam_ants", "Number of antennas in the beam.")


@dataclass(frozen=True)
class HeapKind:
    """
    A kind of heaps. payload: the item with the data; immediates: the others; sender: the one that
    tells who sends, None if there is none; ranges: whether a heap has a range of channels.
    """

    payload: Item
    immediates: tuple
    sender: object
    ranges: bool


KINDS = {
    "samples": HeapKind(
        Item(0x3300, "adc_samples", "Samples of one polarisation."),
        (TIMESTAMP, DIGITISER_ID, DIGITISER_STATUS),
        DIGITISER_ID,
        False,
    ),
    "voltages": HeapKind(
        Item(
            0x4300,
            "feng_raw",
            "Voltages of an antenna, [channel][spectrum][polarisation][real, imaginary].",
        ),
        (TIMESTAMP, FENG_ID, FREQUENCY),
        FENG_ID,
        True,
    ),
    "visibilities": HeapKind(
        Item(0x1800, "xeng_raw", "Integrated products, [channel][product][real, imaginary]."),
        (TIMESTAMP, FREQUENCY),
        None,
        True,
    ),
    "beams": HeapKind(
        Item(0x5000, "bf_raw", "Voltages of a beam, [channel][spectrum][real, imaginary]."),
        (TIMESTAMP, FREQUENCY, BEAM_ANTS),
        None,
        True,
    ),
}

#: type of samples -> bits of each; they are packed with the first sample in the highest bits
SAMPLE_BITS = {"s8": 8, "s10": 10, "s12": 12}


def packed_item(sample_type):
    """Samples and bytes of an item of one input."""
    return {"s8": (1, 1), "s10": (4, 5), "s12": (2, 3)}[sample_type]


def product_order(antennas, polarizations=2):
    """
    The order of the products of baselines in a heap, of inputs antenna * polarizations +
    polarisation.

    MeerKAT has the baselines (0,0), (0,1), (1,1), (0,2), ... of antennas a <= b, and of two
    polarisations the products (a0,b0), (a1,b0), (a0,b1), (a1,b1), of the first and the conjugate of
    the second. (Those of an antenna with itself have both cross-hands.)

    Returns
    -------
    index : array of int, [product of a heap]
        Index of the product V[i,j] = x_i conj(x_j), i >= j, in `xengine`'s order.
    conjugate : array of bool, [product of a heap]
        True if the heap has its conjugate.
    pairs : list of (int, int)
        The inputs (i, j) of which the heap has x_i conj(x_j), which is what MeerKAT's sensor
        bls-ordering says in names.
    """
    pairs = [
        (a * polarizations + p, b * polarizations + q)
        for b in range(antennas)
        for a in range(b + 1)
        for q in range(polarizations)
        for p in range(polarizations)
    ]
    first, second = np.array(pairs).T
    high, low = np.maximum(first, second), np.minimum(first, second)
    return high * (high + 1) // 2 + low, first < second, pairs


def load_spead2():
    """The module spead2 with its parts `recv` and `send`; PackageError where it is not there."""
    from ...packages.environment import make_importable, require

    make_importable("network")
    require("network")
    import spead2.recv
    import spead2.send

    return spead2


def flavour(spead2):
    """SPEAD-64-48."""
    return spead2.Flavour(*FLAVOUR, 0)
