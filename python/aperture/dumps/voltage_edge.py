#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The items of an edge of voltages: samples of inputs, or frames of inputs or beams."""

import math
from dataclasses import dataclass

import numpy as np

from .. import file_order
from ..formats.voltages import sc4_to_sc8
from ..parameters.rules import as_whole, item_bytes, one_of
from ..parameters.sample_types import FRAME_TYPES, SAMPLE_TYPES

SAMPLES = "samples"
#: the kind of an item's rows -> their field in a file's name
ROWS = {SAMPLES: "input", "inputs": "input", "beams": "beam"}


@dataclass(frozen=True)
class VoltageEdge:
    """
    An edge of voltages.

    kind: samples ([input], an item for each time), inputs ([channel][input][time]) or beams
    ([channel][beam][time]); type: of a sample; channels, inputs (or beams) and spectra: of an item,
    one channel and one spectrum of samples.
    """

    kind: str
    type: str
    channels: int
    inputs: int
    spectra: int

    @classmethod
    def checked(cls, kind, type, channels, inputs, spectra_per_frame):
        """Refuses what is no edge. For samples, channels and spectra are not looked at."""
        if one_of("kind", kind, ROWS) == SAMPLES:
            channels = spectra_per_frame = 1
        edge = cls(
            kind,
            one_of("type", type, SAMPLE_TYPES if kind == SAMPLES else FRAME_TYPES),
            as_whole("channels", channels, 1),
            as_whole("inputs", inputs, 1),
            as_whole("spectra_per_frame", spectra_per_frame, 1),
        )
        item_bytes(
            "spectra_per_frame",
            edge.sample_size,
            channels=channels,
            inputs=inputs,
            spectra=spectra_per_frame,
        )
        return edge

    @property
    def sample_size(self):
        """Bytes of a sample of one input."""
        return SAMPLE_TYPES[self.type].size

    @property
    def item_size(self):
        """Bytes."""
        return math.prod((self.channels, self.inputs, self.spectra)) * self.sample_size

    @property
    def of_samples(self):
        """True if an item is a sample of each input."""
        return self.kind == SAMPLES

    @property
    def field(self):
        """The field of a name that makes a file for each input or beam."""
        return f"{{{ROWS[self.kind]}}}"

    @property
    def rows(self):
        """The kind of the rows, for people."""
        return "beams" if self.kind == "beams" else "inputs"

    @property
    def file_dtype(self):
        """The type of a sample in files: of sc4 that of sc8."""
        return np.dtype(np.uint16 if self.type == "sc4" else SAMPLE_TYPES[self.type].number)

    def bytes_of(self, channels):
        """The first byte, and how many there are, of these channels in an item."""
        row = self.inputs * self.spectra * self.sample_size
        return min(channels) * row, (max(channels) + 1 - min(channels)) * row

    def samples_of(self, data, channels):
        """
        Returns the samples of some channels of items.

        Parameters
        ----------
        data : array of uint8
            [item][byte] of bytes_of(channels).
        channels : list of int

        Returns
        -------
        array
            [item][channel, from the lowest of these to the highest][input][time] of samples as they
            are in files; of samples [item][1][input][1].
        """
        found = data.view(SAMPLE_TYPES[self.type].number).reshape(
            len(data), max(channels) + 1 - min(channels), self.inputs, self.spectra
        )
        return sc4_to_sc8()[found] if self.type == "sc4" else found


def arranged(samples, channels, inputs):
    """
    [channel][time][input] of some of [item][channel][input][time], contiguous; channels and inputs
    by their place.
    """
    items, _, _, spectra = samples.shape
    if (
        len(inputs) == samples.shape[2] == 1
        or spectra == 1
        and inputs == list(range(samples.shape[2]))
    ):
        # in this order already, but for the channels
        found = samples[:, channels] if len(channels) < samples.shape[1] else samples
        return np.ascontiguousarray(found.transpose(1, 0, 3, 2)).reshape(
            len(channels), items * spectra, len(inputs)
        )
    out = np.empty((len(channels), items, spectra, len(inputs)), samples.dtype)
    for item, part in enumerate(samples):
        inputs_last(_some(part, channels), inputs, out[:, item])
    return out.reshape(len(channels), items * spectra, len(inputs))


def inputs_last(samples, inputs, out):
    """Puts some inputs, by their place, of [channel][input][time] into an array
    [channel][time][input]."""
    part = samples.swapaxes(0, 1)
    part = _some(part, inputs).swapaxes(0, 1)
    if len(inputs) == 1:
        np.copyto(out[..., 0], part[:, 0])
    else:
        file_order.transpose(part if part.strides[2] == part.itemsize else part.copy(), out)


def time_first(samples, channels, inputs):
    """[time][channel][input] of the same, contiguous."""
    items, _, _, spectra = samples.shape
    part = samples.swapaxes(0, 1)
    part = _some(part, channels).swapaxes(0, 1)
    if inputs != list(range(samples.shape[2])):
        part = part[:, :, inputs]
    if spectra == 1:
        return np.ascontiguousarray(part).reshape(-1, len(channels), len(inputs))
    out = np.empty((items, spectra, len(channels) * len(inputs)), samples.dtype)
    file_order.transpose(part.reshape(items, -1, spectra), out)
    return out.reshape(-1, len(channels), len(inputs))


def _some(samples, places):
    """Samples at places of the first axis, without a copy where they are neighbours."""
    if _neighbours(places):
        return samples[places[0] : places[0] + len(places)]
    return samples[places]


def _neighbours(channels):
    return list(channels) == list(range(channels[0], channels[0] + len(channels)))
