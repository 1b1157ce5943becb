#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Common parts of spead_source and spead_sink: parameters and their checks, and tags."""

import numpy as np

from ...parameters.rules import LARGEST_ITEM, as_whole, one_of, refuse
from ...streams.python_block import vector_of
from .heaps import KINDS, SAMPLE_BITS, packed_item

MOST_ID = 2**48 - 1


def sender_ids(senders, count):
    """Values of the item that tells who sends; None: 0, 1, ..."""
    if senders is None:
        return list(range(count))
    try:
        found = [as_whole("senders", value, 0, MOST_ID) for value in senders]
    except TypeError:
        refuse("senders", senders, "None or a list of whole numbers")
    if len(found) != count or len(set(found)) < count:
        refuse("senders", senders, f"{count} different numbers, one for each that sends")
    return found


class HeapShape:
    """
    Sizes of the heaps of a kind, and of the items that they make, with checks of the parameters of
    these names. `items`: bytes of an item of each port; `heap_bytes`; `heap_ticks`: timestamps of a
    heap; `senders`: how many; `ranges`: of channels; `width`: Hz of a channel.
    """

    def __init__(
        self,
        kind,
        *,
        sample_rate,
        channels,
        first_channel,
        total_channels,
        inputs,
        polarizations,
        spectra_per_frame,
        spectra_per_heap,
        channels_per_heap,
        samples_per_spectrum,
        taps,
        sample_type,
        samples_per_heap,
        heaps_per_chunk,
    ):
        self.kind = one_of("kind", kind, KINDS)
        self.inputs = as_whole("inputs", inputs, 1, 65536)
        self.slots, self.ranges, self.channels_per_heap = 1, 1, 0
        self.sample_type = one_of("sample_type", sample_type, SAMPLE_BITS)
        if kind == "samples":
            samples, size = packed_item(sample_type)
            self.samples_per_heap = as_whole("samples_per_heap", samples_per_heap, samples, 1 << 24)
            if samples_per_heap % samples:
                refuse(
                    "samples_per_heap",
                    samples_per_heap,
                    f"a multiple of {samples}, which are {size} bytes of {sample_type}",
                )
            self.slots = as_whole("heaps_per_chunk", heaps_per_chunk, 1, 1 << 20)
            self.heap_bytes = samples_per_heap // samples * size
            self.heap_ticks, self.senders, self.items = samples_per_heap, inputs, [size] * inputs
            self.items_per_heap, self.offset = samples_per_heap // samples, 0
            self.item_ticks = samples
            return
        self.channels = as_whole("channels", channels, 1)
        self.first_channel = as_whole("first_channel", first_channel, 0)
        total = as_whole("total_channels", total_channels, 0) or first_channel + channels
        if first_channel + channels > total:
            refuse(
                "total_channels",
                total_channels,
                f"at least first_channel + channels = {first_channel + channels}",
            )
        self.total_channels = total
        self.hop = as_whole("samples_per_spectrum", samples_per_spectrum, 0) or 2 * total
        self.width = float(sample_rate) / self.hop
        # to the middle of the samples that a spectrum is made of
        self.offset = (as_whole("taps", taps, 0, 1024) * self.hop - 1) / 2 if taps else 0
        self.channels_per_heap = (
            as_whole("channels_per_heap", channels_per_heap, 0, channels) or channels
        )
        if channels % self.channels_per_heap:
            refuse("channels_per_heap", channels_per_heap, f"a divisor of {channels} channels")
        self.ranges = channels // self.channels_per_heap
        self.spectra_per_heap = as_whole("spectra_per_heap", spectra_per_heap, 1)
        self.heap_ticks = self.hop * spectra_per_heap
        if kind == "visibilities":
            self.senders = 1
            self.polarizations = as_whole("polarizations", polarizations, 1, 2)
            if inputs % polarizations:
                refuse("inputs", inputs, f"a multiple of {polarizations} polarisations")
            self.antennas = inputs // polarizations
            products = inputs * (inputs + 1) // 2
            sent = self.antennas * (self.antennas + 1) // 2 * polarizations**2
            self.heap_bytes = self.channels_per_heap * sent * 8
            self.items, self.sent_products = [channels * products * 8], sent
            self.item_ticks = self.heap_ticks
        else:
            self.polarizations = (
                1 if kind == "beams" else as_whole("polarizations", polarizations, 1, 16)
            )
            if inputs % self.polarizations:
                refuse("inputs", inputs, f"a multiple of {polarizations} polarisations")
            self.senders = inputs // self.polarizations
            self.spectra_per_frame = as_whole("spectra_per_frame", spectra_per_frame, 1)
            self.heap_bytes = self.channels_per_heap * spectra_per_heap * self.polarizations * 2
            self.items = [channels * inputs * spectra_per_frame * 2]
            self.item_ticks = self.hop * spectra_per_frame
        if self.items[0] > LARGEST_ITEM:
            refuse(
                "channels",
                channels,
                f"such that an item, of {self.items[0]} bytes, has at most {LARGEST_ITEM}",
            )

    def frequency(self, center):
        """rx_freq of these channels; center: of channel n // 2 of all n."""
        return (
            center
            + (self.first_channel + self.channels // 2 - self.total_channels // 2) * self.width
        )

    def signature(self):
        """A type for each port, as GNU Radio has them."""
        if self.kind == "visibilities":
            size = self.items[0] // 8
            return [vector_of(np.complex64, size)]
        return [vector_of(np.uint8, size) for size in self.items]


def runs(present):
    """(first, count) of each run of False in a vector."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], present, [True]))))
    return [(int(a), int(b - a)) for a, b in zip(edges[::2], edges[1::2])]
