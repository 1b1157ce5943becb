#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that sends SPEAD heaps."""

import numpy as np
import pmt

from . import spead, tags
from .formats.spead.heap_sender import HeapSender, descriptor_of
from .formats.spead.heap_shape import HeapShape, sender_ids
from .formats.spead.heaps import (
    BEAM_ANTS,
    DIGITISER_ID,
    FENG_ID,
    FREQUENCY,
    KINDS,
    MISSING_PRODUCT,
    SAMPLE_BITS,
    product_order,
)
from .formats.spead.sample_clock import SampleClock
from .network.addresses import parse_addresses
from .parameters.description import Anything, Integer, Number, Switch, Text, Together, fields_of
from .parameters.groups import HeapSizes
from .parameters.rules import as_whole, refuse
from .streams.python_block import python_block
from .streams.status_port import StatusPort
from .streams.tag_values import dict_value, missing_run, tag_value, time_of

MOST_MEMORY = 1 << 34  # bytes of the heaps of a slot
BESIDE = 0.25  # timestamps that rx_time may be beside a whole one
INT32 = 2**31 - 1
SENDER = "source or engine"
#: descriptions of the arguments that both blocks of SPEAD have
SIZES = fields_of(HeapSizes)


class spead_sink(python_block):
    """
    Sends heaps of SPEAD-64-48 by spead2, which MeerKAT's tools and `spead_source` read.

    `kind` says what comes in and goes out, as in `spead_source`: "samples" of s10, s12 or s8, a
    port for each input; "voltages", frames `[channel][input][time]` of sc8 from `f_engine` or
    `corner_turn`; "beams", frames `[channel][beam][time]` of sc8; "visibilities", integrations
    `[channel][product]` of fc32 from `xengine`, which become sums of int32.

    Heaps begin at multiples of their length since `sync_time`, however the items that come in do:
    what many senders send fits together. What was before the first such time is dropped. A heap of
    which a sample or a spectrum is missing is not sent (of visibilities, a product without any
    spectra is marked as MeerKAT does), as is one that the stream ends or jumps within. An address
    that cannot be reached costs what was for it only, and is counted.

    Tags: rx_time on the first item and where it jumps; `missing`; of visibilities `spectra` and
    `counted`. A descriptor goes to each address at the start and every `descriptor_interval`
    seconds, and an end of stream when the flowgraph ends. Message port `status`: what was counted,
    once a second (`counts()` gives the same).

    Raises:
        ValueError: A parameter is not allowed. (Where spead2 is not installed, the start of
            the flowgraph logs the command that installs it, and it ends.)
    """

    def __init__(
        self,
        kind: Text("samples, voltages, visibilities or beams.", *KINDS) = "voltages",
        address: Text(
            "HOST:PORT, as 239.10.10.1+7:7148 for eight in a row. With voltages and "
            "visibilities each address gets an equal range of the channels, in order; with "
            "beams each gets one beam; with samples each input has as many, which take turns, "
            "or all have one."
        ) = "127.0.0.1:7148",
        sample_rate: Anything(
            "Hz: timestamps a second; a text is taken as exactly what it says."
        ) = 1712e6,
        sync_time: Anything(
            "Seconds since 1970 at timestamp 0; a text is taken as exactly what it says."
        ) = 0,
        inputs: Integer("Inputs, or beams, of what comes in.", 1, 65536) = 2,
        first_input: Integer("The first input of voltages that is sent.", 0, 65535) = 0,
        sent_inputs: Integer(
            "How many inputs of voltages are sent; 0: all from the first on.", 0, 65536
        ) = 0,
        senders: Anything(
            "digitiser_id of each input, or feng_id of each `polarizations` inputs, that are "
            "sent; None: 0, 1, ..."
        ) = None,
        channels: SIZES.channels = 1024,
        first_channel: SIZES.first_channel = 0,
        polarizations: SIZES.polarizations = 2,
        spectra_per_frame: SIZES.spectra_per_frame = 256,
        spectra_per_heap: SIZES.spectra_per_heap = 256,
        channels_per_heap: SIZES.channels_per_heap = 0,
        samples_per_spectrum: SIZES.samples_per_spectrum = 0,
        taps: SIZES.taps = 8,
        sample_type: SIZES.sample_type = "s10",
        samples_per_heap: SIZES.samples_per_heap = 4096,
        normalised: Switch("True if products that come in were divided by their counts.") = True,
        antennas: Integer("The number of antennas in each beam, beam_ants.", 0, 2**31 - 1) = 1,
        packet_size: Integer(
            "Bytes of payload of a packet. Samples are sent with a packet for each heap by "
            "their size.",
            64,
            65000,
        ) = 8192,
        rate_factor: Number(
            "Packets are paced to so many times the rate of the signal, so that receivers get "
            "no bursts; 0: they are sent as fast as they come.",
            0,
        ) = 1.05,
        descriptor_interval: Number("Seconds; 0: none are sent.", 0) = 5.0,
        ttl: Integer("Routers that multicast passes at most.", 0, 255) = 1,
        interface: Text(
            'Address of the network interface for multicast; "": the system chooses.'
        ) = "",
        buffer_size: Anything("Bytes that wait in the kernel.") = 1 << 22,
        sizes: Together(
            HeapSizes, "The sizes of heaps in one object; None: by their arguments."
        ) = None,
    ):
        rate = SampleClock(sync_time, sample_rate).rate
        addresses = parse_addresses("address", address)
        if kind in ("voltages", "visibilities"):
            if isinstance(channels, int) and channels % len(addresses):
                refuse(
                    "address", address, f"a number of addresses that divides {channels} channels"
                )
            channels_per_heap = channels_per_heap or channels // len(addresses)
        self._shape = shape = HeapShape(
            kind,
            sample_rate=rate,
            channels=channels,
            first_channel=first_channel,
            total_channels=0,
            inputs=inputs,
            polarizations=polarizations,
            spectra_per_frame=spectra_per_frame,
            spectra_per_heap=spectra_per_heap,
            channels_per_heap=channels_per_heap,
            samples_per_spectrum=samples_per_spectrum,
            taps=taps,
            sample_type=sample_type,
            samples_per_heap=samples_per_heap,
            heaps_per_chunk=1,
        )
        self._clock = SampleClock(sync_time, sample_rate, shape.offset)
        self._addresses, self._turns = addresses, 1
        self._first_input = as_whole("first_input", first_input, 0, inputs - 1)
        most = inputs - first_input
        self._sent = as_whole("sent_inputs", sent_inputs, 0, most) or most
        if kind != "voltages":
            self._first_input, self._sent = 0, inputs
        elif self._sent % shape.polarizations:
            refuse("sent_inputs", sent_inputs, f"a multiple of {polarizations} polarisations")
        if (
            kind in ("voltages", "visibilities")
            and (channels // len(addresses)) % shape.channels_per_heap
        ):
            refuse(
                "channels_per_heap",
                channels_per_heap,
                f"a divisor of the {channels // len(addresses)} channels of an address",
            )
        self._antennas = int(antennas)
        self._make_heaps(
            sender_ids(senders, self._senders()) if kind in ("samples", "voltages") else None,
            address,
        )
        self._normalised = bool(normalised)
        seconds = shape.heap_ticks / rate
        factor = float(rate_factor)
        if kind == "samples":
            packet_size = min(65000, shape.heap_bytes)
        self._sending = dict(
            kind=kind,
            addresses=addresses,
            heaps=self._items,
            payload=self._payload,
            packet_size=packet_size,
            rate=float(factor * self._payload.nbytes / seconds),
            number=self._number,
            ttl=int(ttl),
            interface=interface,
            buffer_size=as_whole("buffer_size", buffer_size, 4096),
            descriptor=descriptor_of(
                kind,
                shape.samples_per_heap if kind == "samples" else self._payload.shape[1:],
                SAMPLE_BITS[shape.sample_type],
            ),
            interval=float(descriptor_interval),
        )
        self._sender, self._last_counts = None, {}
        super().__init__("spead_sink", in_sig=shape.signature(), out_sig=None)
        self._status = StatusPort(self)

    def _senders(self):
        shape = self._shape
        return self._sent // shape.polarizations if shape.kind == "voltages" else shape.senders

    def _make_heaps(self, ids, address):
        """Memory of the heaps of a slot, [sender][range], and their items."""
        shape, count = self._shape, len(self._addresses)
        senders = self._senders()
        if shape.heap_bytes * senders * shape.ranges > MOST_MEMORY:
            refuse(
                "channels",
                shape.channels,
                f"such that the heaps of a time have at most {MOST_MEMORY} bytes",
            )
        self._number = ids[0] if ids else shape.first_channel if shape.kind == "visibilities" else 0
        if shape.kind == "samples":
            if count != 1 and count % senders:
                refuse(
                    "address",
                    address,
                    f"one, or a multiple of {senders} addresses, as many for each input",
                )
            self._turns = max(1, count // senders)
            self._payload = np.zeros((senders, shape.heap_bytes), np.uint8)
            self._items = [
                {"substream": i * self._turns if count > 1 else 0, DIGITISER_ID: ids[i]}
                for i in range(senders)
            ]
            return
        ranges = [shape.first_channel + i * shape.channels_per_heap for i in range(shape.ranges)]
        place = lambda number: number * count // shape.ranges
        if shape.kind == "visibilities":
            self._payload = np.zeros(
                (shape.ranges, shape.channels_per_heap, shape.sent_products, 2), np.int32
            )
            self._items = [
                {"substream": place(i), FREQUENCY: first} for i, first in enumerate(ranges)
            ]
            self._order = product_order(shape.antennas, shape.polarizations)[:2]
            return
        if shape.kind == "beams":
            if count != shape.inputs or shape.ranges != 1:
                refuse(
                    "address",
                    address,
                    f"{shape.inputs} addresses, one for each beam, and channels_per_heap 0",
                )
            self._payload = np.zeros(
                (senders, shape.channels_per_heap, shape.spectra_per_heap, 2), np.int8
            )
            self._items = [
                {"substream": i, FREQUENCY: ranges[0], BEAM_ANTS: self._antennas}
                for i in range(senders)
            ]
        else:
            self._payload = np.zeros(
                (
                    senders * shape.ranges,
                    shape.channels_per_heap,
                    shape.spectra_per_heap,
                    shape.polarizations,
                    2,
                ),
                np.int8,
            )
            self._items = [
                {"substream": place(i), FENG_ID: number, FREQUENCY: first}
                for number in ids
                for i, first in enumerate(ranges)
            ]
        self._layout = spead.voltage_heaps(
            1,
            senders,
            shape.ranges,
            shape.channels_per_heap,
            shape.spectra_per_heap,
            shape.polarizations,
        )

    def counts(self):
        """
        Returns what was counted since the start: `heaps` that were sent, heaps that were `missing`,
        since some of what they were to have was missing, or `unsent`, since their address could not
        be reached; `clamped`: components of products that do not fit into 32 bits.
        """
        if self._sender is not None:
            self._last_counts = {
                "heaps": self._sender.sent_heaps,
                "missing": self._missing,
                "unsent": self._sender.unsent,
                "clamped": self._clamped,
            }
        return dict(self._last_counts)

    # ---- inside

    def _start(self):
        self._sender = HeapSender(**self._sending)
        self._missing = self._clamped = 0
        self._next = None  # the next spectrum or item of samples since timestamp 0
        self._slot, self._filled = None, 0
        self._lost = np.zeros(self._senders(), bool)
        self._gaps = []  # gaps in samples: port, first, count

    def _stop(self):
        if self._sender is None:
            return
        self._sender.send_stop()
        self._status.tick(self.counts, last=True)
        self.counts()
        self._sender = None

    def _work(self, input_items, _):
        if self._sender is None:
            return -1
        self._status.tick(self.counts)
        first, count = self.nitems_read(0), len(input_items[0])
        if self._shape.kind == "visibilities":
            for item, here in zip(input_items[0], self.described(0, count)):
                self._take_integration(item, here)
            return count
        found, lost = {}, []
        for port in range(len(self._shape.items)):
            for tag in self.get_tags_in_window(port, 0, count):
                key = pmt.symbol_to_string(tag.key)
                if key == tags.missing:
                    lost.append((tag.offset - first, port, tag.value))
                elif port == 0:
                    found.setdefault(tag.offset - first, {})[key] = tag.value
        if self._shape.kind == "samples":
            self._take_samples(input_items, found, lost)
            return count
        for item in range(count):
            self._take_frame(
                input_items[0][item],
                found.get(item, {}),
                [value for at, _, value in lost if at == item],
            )
        return count

    def _place(self, here, unit):
        """Reads an rx_time: the number of the item that has it, in units of so many timestamps."""
        if tags.rx_time not in here:
            if self._next is None:
                raise ValueError(
                    "tags: the first item has no rx_time, by which heaps get their "
                    f"timestamps: the {SENDER} has to send it (docs/tags.md)"
                )
            return
        seconds, fraction = tag_value(here, tags.rx_time, time_of, None, SENDER, "an item")
        timestamp, beside = self._clock.timestamp(seconds, fraction)
        if abs(beside) > BESIDE or timestamp % unit:
            raise ValueError(
                f"tags: rx_time {seconds + fraction:.9f} is {timestamp % unit + beside:.3f} "
                f"samples behind a multiple of {unit} since sync_time "
                f"{float(self._clock.sync):.9g}: the first sample must be at such a time, so "
                "that what several hosts send fits"
            )
        if timestamp < 0:
            raise ValueError(
                f"tags: rx_time {seconds + fraction:.9f} is before sync_time "
                f"{float(self._clock.sync):.9g}"
            )
        if self._next is not None and timestamp // unit != self._next:
            self._drop()
        self._next = timestamp // unit

    def _drop(self):
        """Drops the heaps of the slot, which are not whole, and never will be."""
        if self._slot is not None:
            self._missing += len(self._items)
        self._slot, self._filled = None, 0
        self._lost[:] = False

    def _advance(self, length, count, fill, lost):
        """
        Fills heaps of `length` with `count` items from self._next on: fill(first, place, count)
        copies some of them; lost: {sender: [(first, count)]} of these items.
        """
        done = 0
        while done < count:
            slot, place = divmod(self._next, length)
            part = min(length - place, count - done)
            # items before the first whole heap are left out
            if self._slot is not None or place == 0:
                if self._slot is None:
                    self._slot, self._filled = slot, 0
                fill(done, place, part)
                for sender, spans in lost.items():
                    if any(a < done + part and a + b > done for a, b in spans):
                        self._lost[sender] = True
                self._filled += part
                if self._filled == length:
                    self._flush()
            done += part
            self._next += part

    def _flush(self):
        shape = self._shape
        ranges = len(self._items) // len(self._lost)
        chosen = [
            sender * ranges + i for sender in np.flatnonzero(~self._lost) for i in range(ranges)
        ]
        self._missing += len(self._items) - len(chosen)
        self._sender.send(
            self._slot * shape.heap_ticks,
            chosen,
            self._slot % self._turns if self._turns > 1 else None,
        )
        self._slot, self._filled = None, 0
        self._lost[:] = False

    def _take_frame(self, frame, here, lost):
        shape = self._shape
        self._place(here, shape.hop)
        spans, times = {}, shape.spectra_per_frame
        for value in lost:
            number, first, count = tag_value(
                {tags.missing: value}, tags.missing, missing_run, None, SENDER, "a frame"
            )
            sender = (number - self._first_input) // shape.polarizations
            if 0 <= sender < len(self._lost):
                spans.setdefault(sender, []).append((first % times, count))

        def fill(first, place, count):
            spead.frame_to_heaps(
                frame,
                times,
                shape.inputs,
                self._first_input,
                first,
                place,
                count,
                self._layout,
                self._bytes(),
            )

        self._advance(shape.spectra_per_heap, times, fill, spans)

    def _bytes(self):
        return self._payload.reshape(-1).view(np.uint8)

    def _take_samples(self, input_items, found, lost):
        shape, size = self._shape, self._shape.items[0]
        count = len(input_items[0])
        edges = sorted(item for item in {0, *found, count} if item < count) + [count]
        for begin, end in zip(edges, edges[1:]):
            here = found.get(begin, {})
            self._place(here, shape.item_ticks)
            for item, port, value in lost:
                if begin <= item < end:
                    length = pmt.to_uint64(dict_value(value, tags.count))
                    self._gaps.append((port, self._next + item - begin, length))
            # a gap may reach into later calls
            self._gaps = [gap for gap in self._gaps if gap[1] + gap[2] > self._next]
            spans = {}
            for port, first, length in self._gaps:
                spans.setdefault(port, []).append((first - self._next, length))

            def fill(first, place, part, begin=begin):
                for port, items in enumerate(input_items):
                    items = items[begin + first : begin + first + part].reshape(-1)
                    self._payload[port, place * size : (place + part) * size] = items

            self._advance(shape.items_per_heap, end - begin, fill, spans)

    def _take_integration(self, item, here):
        shape = self._shape
        self._place(here, shape.heap_ticks)
        spectra = tag_value(here, tags.spectra, pmt.to_uint64, None, "X-engine", "an integration")
        counted = np.array(
            tag_value(
                here, tags.counted, pmt.u64vector_elements, None, "X-engine", "an integration"
            ),
            np.float64,
        )
        products = shape.inputs * (shape.inputs + 1) // 2
        if spectra > shape.spectra_per_heap or len(counted) not in (1, products):
            raise ValueError(
                f"tags: spectra {spectra} and {len(counted)} counts do not fit "
                f"spectra_per_heap {shape.spectra_per_heap} and {products} products"
            )
        counted = np.broadcast_to(counted, products)
        index, conjugate = self._order
        values = np.reshape(item, (shape.channels, products)).astype(np.complex128)
        if self._normalised:
            values = values * counted
        values = values[:, index]
        values[:, conjugate] = values[:, conjugate].conj()
        sums = np.rint(np.stack([values.real, values.imag], axis=-1))
        self._clamped += int(np.count_nonzero(~(np.abs(sums) <= INT32)))
        sums = np.clip(np.nan_to_num(sums), -INT32, INT32).astype(np.int32)
        sums[:, counted[index] == 0] = MISSING_PRODUCT
        sums[~np.isfinite(values)] = MISSING_PRODUCT
        self._payload[:] = sums.reshape(self._payload.shape)
        # the end of a stream may be less than a heap, and has counts of its own
        self._slot, self._lost[:] = self._next, False
        if spectra == shape.spectra_per_heap:
            self._flush()
        else:
            self._drop()
        self._next += 1
