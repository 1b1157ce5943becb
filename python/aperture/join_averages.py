#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that joins averages of visibilities that are shorter than others."""

from collections import deque

import numpy as np
import pmt
from gnuradio import gr

from . import tags
from .join_channels import TYPES
from .parameters.description import Anything, Integer, Text
from .parameters.rules import item_bytes, refuse
from .streams.python_block import rate_block, vector_of
from .streams.tag_values import require, tag_value, time_of

#: f64vector, on each item: of each part the spectra from the item's beginning to its own, and those
#: that it spans, in the order of the ports
PARTS = "parts"
#: part of a short average by which times may be off, which are added up
SAME = 0.01


class join_averages(rate_block):
    """
    Joins averages of visibilities that are shorter than others, of the lengths that a
    `visibility_averager` gives, so that a `uvh5_sink` writes all of them into one file.

    In: a port for each length, fc32 `[channel][product]` of its products, the shortest length
    first. Out: an item for each of the longest averages, fc32 `[channel][product]`, which has the
    products of the first port for the first of its averages, for the second and so on, then those
    of the next port. `parts()` names them, as `products` of `uvh5_sink` takes them.

    Tags are those of the last port, but for `counted`, which has what was counted of each product,
    and 0 of those that did not come: averages may end early, all of them at once. `parts` says on
    each item where its parts begin.

    Raises:
        ValueError: A parameter is not allowed.
    """

    def __init__(
        self,
        channels: Integer("Channels of an item.", 1, 2**24) = 1024,
        products: Anything(
            "For each port a list of the pairs of inputs of its products, in their order."
        ) = (((0, 0),), ((1, 0), (1, 1))),
        lengths: Anything("For each port how long its averages are, a divisor of the last one.") = (
            1,
            2,
        ),
        type: Text("fc32, visibilities; u32, the counts beside them.", *TYPES) = "fc32",
    ):
        products, lengths = [list(map(tuple, each)) for each in products], list(lengths)
        if len(lengths) != len(products) or not products:
            refuse(
                "lengths", lengths, "as many as there are ports, which products have, one at least"
            )
        for length in lengths:
            if not 1 <= length <= lengths[-1] or lengths[-1] % length:
                refuse("lengths", length, f"a divisor of the last one, {lengths[-1]}")
        self._counts = [lengths[-1] // length for length in lengths]
        self._products = products
        total = sum(count * len(each) for count, each in zip(self._counts, products))
        kind = np.dtype(TYPES[type])
        item_bytes("channels", kind.itemsize, channels=channels, products=total)
        self._channels, self._total = int(channels), total
        super().__init__(
            "join_averages",
            [vector_of(kind.type, channels * len(each)) for each in products],
            [vector_of(kind.type, channels * total)],
        )
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self._start()

    def parts(self):
        """The products of an item, (a, b, number, count): part `number`, from 0, of `count`."""
        return [
            (a, b, number, count)
            for count, pairs in zip(self._counts, self._products)
            for number in range(count)
            for a, b in pairs
        ]

    def forecast(self, noutput_items, ninputs):
        """GNU Radio's: one of the longest averages, and behind it what belongs to it and is not
        there yet."""
        needed = [0] * ninputs
        needed[(self._lacking() or [-1])[0]] = 1
        return needed

    def _lacking(self):
        """Ports on which an average of the oldest of the longest ones has not come."""
        if not self._waiting[-1]:
            return []
        begin, spectra, *_ = self._waiting[-1][0]
        lacking = []
        for port, waiting in enumerate(self._waiting):
            reached = 0
            if waiting:
                time, length, *_ = waiting[-1]
                reached = ((time[0] - begin[0]) + (time[1] - begin[1])) / self._hop + length
            if reached < spectra - 0.5:
                lacking.append(port)
        return lacking

    def _start(self):
        # [port]: (rx_time, spectra, counts of its products, item)
        self._waiting = [deque() for _ in self._products]
        self._hop = None

    def _work(self, input_items, output_items):
        longest = len(input_items) - 1
        for port, items in enumerate(input_items):
            if port == longest:
                room = len(output_items[0]) - len(self._waiting[port])
                items = items[: max(0, room)]
            self._take(port, items)
            self.consume(port, len(items))
        made = 0
        while made < len(output_items[0]) and self._waiting[longest] and not self._lacking():
            self._join(output_items[0][made], self.nitems_written(0) + made)
            made += 1
        return made

    def _take(self, port, items):
        """Takes the items of a port, with what their tags say of each."""
        said = self.tags_by_item(port, len(items))
        width = len(self._products[port])
        for number, found in enumerate(self.described(port, len(items))):
            require(found, (tags.rx_time, tags.spectra, tags.counted), "visibility_averager")
            spectra = tag_value(found, tags.spectra, pmt.to_uint64)
            counted = np.array(tag_value(found, tags.counted, pmt.u64vector_elements), np.uint64)
            if tags.spectrum_rate in found:
                self._hop = 1 / tag_value(found, tags.spectrum_rate, pmt.to_double)
            if self._hop is None:
                require(found, (tags.spectrum_rate,), "visibility_averager")
            seconds, fraction = tag_value(found, tags.rx_time, time_of)
            self._waiting[port].append(
                (
                    (seconds, fraction),
                    spectra,
                    np.broadcast_to(counted, width),
                    np.array(items[number]).reshape(self._channels, width),
                    said.get(number, {}),
                )
            )

    def _join(self, out, offset):
        """Makes an item of the oldest of the longest averages, and of those within it."""
        begin, spectra, _, _, said = self._waiting[-1][0]
        values = out.reshape(self._channels, self._total)
        values[:] = 0
        counts, first = np.zeros(self._total, np.uint64), 0
        places = []  # spectra from the beginning to that of a part, and those of the part
        for waiting, count, pairs in zip(self._waiting, self._counts, self._products):
            width, found = len(pairs), []
            while waiting:
                time, length, counted, item, _ = waiting[0]
                since = ((time[0] - begin[0]) + (time[1] - begin[1])) / self._hop
                if since > spectra - SAME * length:
                    break
                waiting.popleft()
                if since < -SAME * length or len(found) == count:
                    raise ValueError(
                        f"averages of port {len(self._products) - 1} and of one that has {count} "
                        "of them do not begin and end together"
                    )
                part = slice(first + len(found) * width, first + (len(found) + 1) * width)
                values[:, part], counts[part] = item, counted
                found.append((max(0.0, since), length))
            # averages that have not come stand at its end, and nothing is in them
            left = count - len(found)
            for number in range(left):
                late = spectra * (1 - (left - number) / (left + 1) / (2 * count))
                found.append((late, spectra / count))
            places += found
            first += count * width
        for key, value in said.items():
            if key != tags.counted:
                self.add_item_tag(0, offset, pmt.intern(key), value)
        for key, value in (
            (tags.counted, pmt.init_u64vector(self._total, counts.tolist())),
            (PARTS, pmt.init_f64vector(2 * len(places), np.ravel(places).tolist())),
        ):
            self.add_item_tag(0, offset, pmt.intern(key), value)
