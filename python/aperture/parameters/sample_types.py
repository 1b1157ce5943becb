#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The sample types, and how their samples lie in memory."""

from typing import NamedTuple

import numpy as np


class SampleType(NamedTuple):
    """
    A type of samples, as NumPy has them.

    component: type of a component; shape: of a sample in an array of them; number: type of a sample
    as one number; largest: component, to which larger ones are clamped. The components of sc4 share
    a byte.
    """

    component: type
    shape: tuple
    number: type
    largest: float

    @property
    def size(self):
        """Bytes of a sample."""
        return np.dtype(self.number).itemsize


SAMPLE_TYPES = {
    "fc32": SampleType(np.float32, (2,), np.complex64, np.inf),
    "sc16": SampleType(np.int16, (2,), np.uint32, 32767),
    "sc8": SampleType(np.int8, (2,), np.uint16, 127),
    "sc4": SampleType(np.uint8, (), np.uint8, 7),
    "f32": SampleType(np.float32, (), np.float32, np.inf),
    "s16": SampleType(np.int16, (), np.int16, 32767),
    "s8": SampleType(np.int8, (), np.int8, 127),
}
#: types of voltages of channels and beams
FRAME_TYPES = ("fc32", "sc8", "sc4")
