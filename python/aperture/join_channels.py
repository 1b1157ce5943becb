#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that joins the visibilities of several X-engines with a range of the channels each."""

import numpy as np
import pmt
from gnuradio import gr

from . import tags
from .aperture_python import exchange
from .parameters.description import Integer, Text
from .parameters.rules import as_whole, item_bytes
from .streams.python_block import python_block, vector_of
from .streams.tag_values import time_of

TYPES = {"fc32": np.complex64, "u32": np.uint32}
#: the tags in which the ranges of an integration must agree
SAME = (tags.rx_time, tags.spectra, tags.counted, tags.partial)


def _same_time(one, other):
    """Returns whether two values of rx_time are the same to a nanosecond: each port's clock runs
    from where its rx_time was said."""
    try:
        (seconds, fraction), (others, rest) = time_of(one), time_of(other)
    except (RuntimeError, TypeError, ValueError):
        return pmt.equal(one, other)
    return abs((seconds - others) + (fraction - rest)) < 1e-9


class join_channels(python_block):
    """
    Joins the visibilities of X-engines that have a range of the channels each.

    In: a port for each range, `[channel][product]` of its channels, an item an integration, the
    first port with the lowest channels, as `exchange` shares them out (`exchange.range_of()`). Out:
    `[channel][product]` of all channels. It runs on the CPU: integrations are few.

    Tags: rx_freq and bandwidth become those of all channels. All others are those of port 0; where
    rx_time, spectra, counted or partial of another port is not the same, or its rx_freq is not that
    of its range, the flowgraph ends with an error (`error()`), because it is of another integration
    or band.

    Raises:
        ValueError: Names the parameter, its value and what is allowed.
    """

    def __init__(
        self,
        channels: Integer("Channels of all ranges.", 1, 2**24) = 1024,
        inputs: Integer("Inputs of the X-engines.", 1, 65536) = 2,
        ranges: Integer("Number of ranges: 1 to channels.", 1, 2**24) = 2,
        type: Text(
            "fc32, visibilities; u32, the counts of X-engines that take masks.", "fc32", "u32"
        ) = "fc32",
    ):
        as_whole("ranges", ranges, 1, channels)
        kind = np.dtype(TYPES[type])
        products = inputs * (inputs + 1) // 2
        item_bytes("channels", kind.itemsize, channels=channels, products=products)
        self._channels = channels
        self._ranges = [exchange.range_of(part, ranges, channels) for part in range(ranges)]
        super().__init__(
            "join_channels",
            [vector_of(kind.type, count * products) for _, count in self._ranges],
            [vector_of(kind.type, channels * products)],
        )
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def _work(self, input_items, output_items):
        count = len(output_items[0])
        out = output_items[0].reshape(count, -1)
        end = 0
        for items in input_items:
            items = items[:count].reshape(count, -1)
            out[:, end : end + items.shape[1]] = items
            end += items.shape[1]
        first = self.nitems_read(0)
        runs = [self.runs(port, count) for port in range(len(input_items))]
        said = self.tags_by_item(0, count)
        edges = sorted({run.first for of_port in runs for run in of_port})
        for item in edges:
            for of_port in runs:
                while of_port[0].end <= item:
                    del of_port[0]
            joined = self._joined([of_port[0].at(item) for of_port in runs], item)
            # the tags of port 0 are passed on
            for key, value in said.get(item - first, {}).items():
                self.add_item_tag(0, item, pmt.intern(key), joined.get(key, value))
        return count

    def _joined(self, found, offset):
        """The tags of the item at an offset that are those of all ports. found: of each port, key
        -> value."""
        for port, others in enumerate(found[1:], 1):
            for key in SAME:
                values = [of_port.get(key, pmt.PMT_NIL) for of_port in (found[0], others)]
                if not (_same_time(*values) if key == tags.rx_time else pmt.equal(*values)):
                    of = [pmt.write_string(value) for value in values]
                    raise ValueError(
                        f"ports 0 and {port}: {key} of item {offset} is {of[0]} and "
                        f"{of[1]}: they are not of the same integration"
                    )
        joined = {}
        if tags.bandwidth in found[0]:
            self._width = pmt.to_double(found[0][tags.bandwidth]) / self._ranges[0][1]
            joined[tags.bandwidth] = pmt.from_double(self._width * self._channels)
        if tags.rx_freq in found[0]:
            joined[tags.rx_freq] = pmt.from_double(self._center(found, offset))
        return joined

    _width = 0.0  # Hz, of a channel

    def _center(self, found, offset):
        """rx_freq of all channels."""
        centers = []
        for port, ((first, count), of_port) in enumerate(zip(self._ranges, found)):
            if tags.rx_freq not in of_port:
                raise ValueError(f"port {port}: item {offset} has no rx_freq, but port 0 has")
            shift = first + count // 2 - self._channels // 2
            centers.append(pmt.to_double(of_port[tags.rx_freq]) - shift * self._width)
        for port, center in enumerate(centers):
            if abs(center - centers[0]) > 1e-3 * self._width:
                raise ValueError(
                    f"port {port}: rx_freq of item {offset} is {center - centers[0]:g}"
                    " Hz from that of its range of channels beside port 0"
                )
        return centers[0]

    def _start(self):
        self._width = 0.0
