#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The items of a block's output: type and shape of their arrays."""

import re

import numpy as np

from ..parameters.constructors import values_of
from ..parameters.sample_types import SAMPLE_TYPES

#: GNU Radio's letters at the end of names of blocks
LETTERS = {"c": np.complex64, "f": np.float32, "i": np.int32, "s": np.int16, "b": np.uint8}
WORDS = {
    "complex": np.complex64,
    "float": np.float32,
    "int": np.int32,
    "short": np.int16,
    "char": np.int8,
    "uchar": np.uint8,
}


def _of(sample, *shape):
    kind = SAMPLE_TYPES[sample]
    if sample == "fc32":
        return np.dtype(kind.number), shape
    # complex integers are pairs, re and im, on the last axis
    return np.dtype(kind.component), (*shape, *kind.shape)


def _together(p):
    """Inputs of a port, as an axis where there are several."""
    return (p["inputs_per_port"],) if p["inputs_per_port"] > 1 else ()


def _channels(p):
    return p["selected_channels"] or p["channels"]


def _powers(p, beams):
    pairs = beams if p["products"] == "power" else beams // 2
    products = 4 if p["products"] in ("IQUV", "coherency") else 1
    return _of("f32", pairs, products, p["channels"] // p["summed_channels"])


#: the first output of our blocks, by their parameters
OURS = {
    "array_source": lambda p: _of(p["type"], *_together(p)),
    "stream_align": lambda p: _of(p["type"]),
    "pfb_channelizer": lambda p: _of(p["output_type"], *_together(p), p["channels"]),
    "f_engine": lambda p: _of(p["output_type"], _channels(p), p["inputs"], p["spectra_per_frame"]),
    "corner_turn": lambda p: _of(p["type"], _channels(p), p["inputs"], p["spectra_per_frame"]),
    "beamformer": lambda p: _of(
        p["output_type"], p["channels"], p["beams"], p["spectra_per_frame"]
    ),
    "xengine": lambda p: _of("fc32", p["channels"], p["inputs"] * (p["inputs"] + 1) // 2),
    "select": lambda p: _of("fc32", p["channels"]),
    "power_detector": lambda p: _powers(p, p["beams"]),
    "beam_power": lambda p: _powers(p, p["beams"] + p["incoherent_beams"]),
}
#: blocks all of whose outputs are alike
ALL_PORTS = {"array_source", "stream_align", "pfb_channelizer", "select"}


def _by_name(name, size):
    """Returns the item of one of GNU Radio's blocks by its name: multiply_cc, fir_filter_ccf,
    fft_vfc, char_to_float."""
    letters = re.search(r"_v?([cfisb]{1,3})$", name)
    words = re.search(f"_to_({'|'.join(WORDS)})$", name)
    if letters:
        kind = np.dtype(LETTERS[(letters[1] * 2)[1] if len(letters[1]) == 1 else letters[1][1]])
    elif words:
        kind = np.dtype(WORDS[words[1]])
    else:
        return None
    count = size // kind.itemsize
    return kind, (count,) if count > 1 else ()


def item_format(block, port, size):
    """
    (dtype, shape) of the items of a block's output; None if it cannot be known.

    size: bytes of an item, which the format must have.
    """
    name = type(block).__name__
    signature = getattr(block, "out_sig", None)
    if hasattr(block, "item_formats"):  # device_block
        kind, shape = block.item_formats[min(port, len(block.item_formats) - 1)]
        found = np.dtype(kind), tuple(shape)
    elif callable(signature):  # gr.sync_block and its kin, in Python
        kind = signature().port_types(port + 1)[-1]
        found = kind.subdtype or (kind, ())
    elif name in OURS and (port == 0 or name in ALL_PORTS) and values_of(block):
        found = OURS[name](values_of(block))
    else:
        found = _by_name(name, size)
    if found is None or found[0].itemsize * int(np.prod(found[1])) != size:
        return None
    return found
