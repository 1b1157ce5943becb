#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that receives SPEAD heaps."""

import ipaddress
import math

import numpy as np
import pmt

from . import spead, tags
from .formats.spead.chunk_receiver import QUEUED, ChunkReceiver, Ended
from .formats.spead.chunk_times import ChunkTimes
from .formats.spead.heap_shape import HeapShape, runs, sender_ids
from .formats.spead.heaps import KINDS, MISSING_PRODUCT, product_order
from .formats.spead.sample_clock import SampleClock
from .network.addresses import parse_addresses, parse_senders
from .parameters.description import Anything, Integer, Number, Text, Together, fields_of
from .parameters.groups import HeapSizes
from .parameters.rules import as_whole, refuse
from .streams.python_block import python_block
from .streams.status_port import StatusPort
from .streams.tag_values import missing_value, time_value

MOST_MEMORY = 1 << 36  # bytes of all chunks
WAIT = 0.05  # s that a call waits for heaps
TRANSPORTS = ("socket", "ibverbs")
#: descriptions of the arguments that both blocks of SPEAD have
SIZES = fields_of(HeapSizes)


def check_ibverbs(addresses, interface, allowed):
    """Refuses what ibverbs cannot do: it knows no routes, and no filter of senders."""
    try:
        ipaddress.IPv4Address(interface)
    except ValueError:
        refuse("interface", interface, "the IPv4 address of the card with ibverbs, as 10.0.0.5")
    for host, _ in addresses:
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            refuse("address", host, "of IPv4 addresses in digits with ibverbs, as 239.10.10.1")
    if allowed:
        refuse("allowed", allowed, "empty with ibverbs, which filters no senders")


class spead_source(python_block):
    """
    Receives heaps of SPEAD-64-48, as MeerKAT's digitisers, F-engines, X-engines and beamformers
    send them, by spead2. `kind` says which, and what comes out:

    - "samples": heaps of packed real samples of one input each (item `adc_samples`, told apart by
      `digitiser_id`); a port for each input, of s10 (4 samples in 5 bytes), s12 or s8.
    - "voltages": heaps `[channel][spectrum][polarization]` of sc8 (`feng_raw`, `feng_id`,
      `frequency`); frames `[channel][input][time]`, where input is sender * polarizations +
      polarization.
    - "beams": heaps `[channel][spectrum]` of sc8 (`bf_raw`), of each beam at an address of its own;
      frames `[channel][beam][time]`.
    - "visibilities": heaps `[channel][product]` of int32 (`xeng_raw`), products in MeerKAT's order
      of baselines; `[channel][product]` of fc32 as from `xengine`, sums divided by their spectra.

    Heaps are placed by their timestamps into chunks (frames, or `heaps_per_chunk` heaps of
    samples), of which `window` are open: so late a heap may be. What is not there when the window
    has passed is zeros, with `missing` tags (of visibilities, 0 in `counted`); inputs never slip.
    Whole chunks that nobody sent are filled likewise up to `most_gap`; a longer gap is an rx_time
    that jumps.

    A heap that is further ahead than the window is long, and one of before it, is dropped and
    counted, until `restart` of them in a row came from one sender while nothing else fitted: then
    time goes on with these. So neither one forged packet nor one wrong clock moves the others.
    Heaps of a wrong size, sender, channel or time are counted and dropped, without memory for them.

    The stream ends when every sender has ended its own, or was silent for `silence` seconds while
    another ended. Memory: window + 4 chunks. Message port `status`: what was counted, once a second
    (`counts()` gives the same).

    Raises:
        ValueError: A parameter is not allowed. (Where spead2 is not installed, the start of
            the flowgraph logs the command that installs it, and it ends.)
    """

    def __init__(
        self,
        kind: Text("samples, voltages, visibilities or beams.", *KINDS) = "voltages",
        address: Text(
            "HOST:PORT, as 239.10.10.1+7:7148 for eight in a row; of groups of multicast, "
            'which are joined, or of this computer (":7148" is any of its addresses). With '
            "beams one for each."
        ) = ":7148",
        sample_rate: Anything("Hz: timestamps a second, the samples of the digitisers.") = 1712e6,
        sync_time: Anything(
            "Seconds since 1970 at timestamp 0; a text is taken as exactly what it says."
        ) = 0,
        center_frequency: Number(
            "Hz on the sky: of samples, of the middle of the band; else of channel n // 2 of "
            "all `total_channels` n."
        ) = 0.0,
        inputs: Integer("Inputs, or beams.", 1, 65536) = 2,
        senders: Anything(
            "The values of digitiser_id (of each input) or feng_id, in the order of the "
            "inputs; None: 0, 1, ..."
        ) = None,
        channels: SIZES.channels = 1024,
        first_channel: SIZES.first_channel = 0,
        total_channels: Integer(
            "All channels of the array; 0: no more than the last that is received.", 0, 2**31 - 1
        ) = 0,
        polarizations: SIZES.polarizations = 2,
        spectra_per_frame: SIZES.spectra_per_frame = 256,
        spectra_per_heap: SIZES.spectra_per_heap = 256,
        channels_per_heap: SIZES.channels_per_heap = 0,
        samples_per_spectrum: SIZES.samples_per_spectrum = 0,
        taps: SIZES.taps = 8,
        sample_type: SIZES.sample_type = "s10",
        samples_per_heap: SIZES.samples_per_heap = 4096,
        heaps_per_chunk: Integer(
            "Heaps of an input of samples that are one chunk.", 1, 2**31 - 1
        ) = 64,
        window: Integer("Chunks that are open.", 1, 65536) = 4,
        align: Integer(
            "The first chunk, also after a long gap, is at a multiple of so many since "
            "timestamp 0: the frames of an integration, so that those of several receivers "
            "begin together.",
            1,
            2**31 - 1,
        ) = 1,
        most_gap: Number("Seconds that are filled with zeros at most.", 0, unit="s") = 60.0,
        restart: Integer(
            "Heaps of one sender, in a row, that move the window by a jump.", 1, 65536
        ) = 16,
        silence: Number(
            "Seconds after which a sender is not waited for at the end.", 0, unit="s"
        ) = 3.0,
        packet_size: Integer("Bytes of the longest packet.", 64, 65536) = 9200,
        buffer_size: Anything(
            "Bytes that may wait in the kernel (at most net.core.rmem_max, unless root)."
        ) = 1 << 26,
        interface: Text(
            'Address of the network interface for multicast; "": the system chooses; with '
            "ibverbs that of the card."
        ) = "",
        allowed: Anything("Addresses of hosts whose packets are taken; empty: all.") = (),
        cores: Anything(
            "Processors of the receiving threads, one for each (of beams, one a beam)."
        ) = (),
        sizes: Together(
            HeapSizes, "The sizes of heaps in one object; None: by their arguments."
        ) = None,
        transport: Text(
            "socket, or ibverbs: heaps come past the system, by a card that has it; spead2 has "
            "to be built with it.",
            *TRANSPORTS,
        ) = "socket",
        threads: Integer(
            "Threads that receive, over which the addresses are spread; beams have one each.",
            1,
            1024,
        ) = 1,
    ):
        clock = SampleClock(sync_time, sample_rate)
        self._shape = shape = HeapShape(
            kind,
            sample_rate=clock.rate,
            channels=channels,
            first_channel=first_channel,
            total_channels=total_channels,
            inputs=inputs,
            polarizations=polarizations,
            spectra_per_frame=spectra_per_frame,
            spectra_per_heap=spectra_per_heap,
            channels_per_heap=channels_per_heap,
            samples_per_spectrum=samples_per_spectrum,
            taps=taps,
            sample_type=sample_type,
            samples_per_heap=samples_per_heap,
            heaps_per_chunk=heaps_per_chunk,
        )
        self._clock = SampleClock(sync_time, sample_rate, shape.offset)
        self._addresses = parse_addresses("address", address)
        self._frequency = float(center_frequency)
        if kind in ("voltages", "beams"):
            if spectra_per_frame % spectra_per_heap:
                refuse(
                    "spectra_per_frame",
                    spectra_per_frame,
                    f"a multiple of spectra_per_heap, {spectra_per_heap}",
                )
            shape.slots = spectra_per_frame // spectra_per_heap
            self._layout = spead.voltage_heaps(
                shape.slots,
                shape.senders,
                shape.ranges,
                shape.channels_per_heap,
                spectra_per_heap,
                shape.polarizations,
            )
        elif kind == "visibilities":
            self._order = product_order(shape.antennas, shape.polarizations)[:2]
        if kind == "beams":
            if len(self._addresses) != inputs:
                refuse("address", address, f"{inputs} addresses, one for each beam")
            streams = [([each], place) for place, each in enumerate(self._addresses)]
            ids = list(range(inputs))
        else:
            if threads > len(self._addresses):
                refuse("threads", threads, f"at most {len(self._addresses)}, as many as addresses")
            streams = [(self._addresses[first::threads], -1) for first in range(threads)]
            ids = sender_ids(senders, shape.senders)
        self._window = int(window)
        heaps = shape.slots * shape.senders * shape.ranges
        self._chunk_bytes, self._heaps = heaps * shape.heap_bytes, heaps
        if (self._window + QUEUED) * self._chunk_bytes > MOST_MEMORY:
            refuse(
                "window",
                window,
                f"such that window + {QUEUED} chunks of {self._chunk_bytes} "
                f"bytes are at most {MOST_MEMORY} bytes",
            )
        self._ticks = shape.heap_ticks * shape.slots
        self._placed = dict(
            heap_bytes=shape.heap_bytes,
            heap_ticks=shape.heap_ticks,
            slots_per_chunk=shape.slots,
            senders=ids,
            with_sender=KINDS[kind].sender is not None,
            first_channel=first_channel if KINDS[kind].ranges else 0,
            channels_per_heap=shape.channels_per_heap,
            ranges=shape.ranges,
            window=self._window,
            restart=int(restart),
        )
        spead.placement(**self._placed)  # complains now
        self._align = int(align)
        self._most_gap = int(min(2**40, float(most_gap) * self._clock.rate // self._ticks))
        if transport == "ibverbs":
            check_ibverbs(self._addresses, interface, allowed)
        self._receiving = dict(
            streams=streams,
            transport=transport,
            sender=KINDS[kind].sender,
            chunk_bytes=self._chunk_bytes,
            heaps=heaps,
            window=self._window,
            unfinished=shape.senders * shape.ranges,
            packet_size=int(packet_size),
            buffer_size=as_whole("buffer_size", buffer_size, 4096),
            interface=interface,
            allowed=parse_senders("allowed", allowed),
            cores=[as_whole("cores", core, 0, 65535) for core in cores],
            silence=float(silence),
        )
        self._receiver, self._last_counts = None, {}
        self._finish = False
        super().__init__("spead_source", in_sig=None, out_sig=shape.signature())
        self._status = StatusPort(self)

    def counts(self):
        """
        Returns what was counted since the start: `heaps` and `packets` that came, and heaps that
        were `missing` of what went out, `incomplete`, `late`, `jumped`, `duplicate`, of a
        `wrong_size`, `wrong_time`, `wrong_sender` or `wrong_channels`, or of no known kind
        (`other`); `restarts` of time, `stops` that came, `clamped` values of -128; `blocked`: times
        that the receiver waited for the flowgraph; `buffer`: bytes that may wait in the kernel.
        """
        if self._receiver is not None:
            self._last_counts = {
                **self._receiver.counts(),
                "missing": self._missing,
                "clamped": self._clamped,
                "buffer": self._receiver.buffer_size,
            }
        return dict(self._last_counts)

    def silences(self):
        """Seconds since the last heap of each sender; negative: none came."""
        return self._receiver.placement.silences() if self._receiver else []

    def align_to(self, timestamps):
        """Sets that the output begins at a multiple of so many, from the next start on."""
        self._align = timestamps // math.gcd(timestamps, self._ticks)

    def finish(self):
        """Ends the stream: what has come goes out."""
        self._finish = True

    # ---- inside

    def _start(self):
        self._finish = False
        self._missing = self._clamped = 0
        placement = spead.placement(**self._placed)
        self._receiver = ChunkReceiver(placement, **self._receiving)
        self._times = ChunkTimes(self._receiver, self._ticks, self._align, self._most_gap)
        self._piece, self._done = None, 0  # items of it that went out
        self._said = None  # integration of which all was said, and what was counted last
        self._shown = {}

    def _stop(self):
        if self._receiver is None:
            return
        self._receiver.stop()
        self.counts()
        self._status.tick(self.counts, last=True)
        self._receiver = None

    def _work(self, _, output_items):
        if self._receiver is None:
            return -1
        if self._finish:
            self._finish = False
            self._receiver.finish()
        self._status.tick(self.counts)
        room, produced = len(output_items[0]), 0
        while produced < room:
            if self._piece is None:
                try:
                    piece = self._times.next(0 if produced else WAIT)
                except Ended:
                    return produced or -1
                if piece is None:
                    break
                self._take(piece)
            produced += self._give(output_items, produced)
        return produced

    def _take(self, piece):
        """Takes the next piece, and what is missing of it."""
        self._piece, self._done = piece, 0
        shape = self._shape
        present = np.zeros(self._heaps, np.uint8) if piece.chunk is None else piece.chunk.present
        present = present.reshape(shape.slots, shape.senders, shape.ranges)
        self._missing += present.size - np.count_nonzero(present)
        if shape.kind != "visibilities":
            # a missing heap is missing in all channels
            whole_ones = present.all(axis=2)
            present[~whole_ones] = 0
            self._gaps = (
                []
                if whole_ones.all()
                else [
                    (sender, *run)
                    for sender in range(shape.senders)
                    for run in runs(whole_ones[:, sender])
                ]
            )
        self._present = present

    def _give(self, output_items, at):
        """Puts items of the piece into the output; returns how many."""
        shape, piece = self._shape, self._piece
        if shape.kind == "samples":
            count = self._give_samples(output_items, at)
            done = self._done == shape.slots * shape.items_per_heap
        else:
            item = self.nitems_written(0) + at
            if piece.anew:
                self._tag(item)
            out = output_items[0][at]
            if shape.kind == "visibilities":
                self._give_visibilities(out, item)
            else:
                self._give_frame(out, item)
            count, done = 1, True
        if done:
            if piece.chunk is not None:
                self._receiver.give_back(piece.chunk)
            self._piece = None
        return count

    def _tag(self, item):
        """Tags an item with time and frequency, on all ports."""
        shape = self._shape
        found = {
            tags.rx_time: time_value(self._clock.seconds(self._piece.time)),
            tags.rx_rate: pmt.from_double(float(self._clock.rate / shape.item_ticks)),
            tags.rx_freq: pmt.from_double(self._frequency),
        }
        if shape.kind != "samples":
            found[tags.rx_freq] = pmt.from_double(shape.frequency(self._frequency))
            found[tags.bandwidth] = pmt.from_double(shape.channels * shape.width)
            found[tags.samples_per_item] = pmt.from_uint64(shape.item_ticks)
        for port in range(len(shape.items)):
            for key, value in found.items():
                self.add_item_tag(port, item, pmt.intern(key), value)

    def _give_samples(self, output_items, at):
        shape, piece = self._shape, self._piece
        per_heap = shape.items_per_heap
        if self._done == 0:
            item = self.nitems_written(0) + at
            if piece.anew:
                self._tag(item)
            for sender, first, count in self._gaps:
                # a heap may begin in the next call, where the tag waits for it
                self.add_item_tag(
                    sender,
                    item + first * per_heap,
                    pmt.intern(tags.missing),
                    missing_value(0, 0, count * per_heap),
                )
        count = min(len(output_items[0]) - at, shape.slots * per_heap - self._done)
        size = shape.items[0]
        begin, end = self._done, self._done + count
        if piece.chunk is not None:
            data = piece.chunk.data.reshape(shape.slots, shape.senders, shape.heap_bytes)
        for sender, out in enumerate(output_items):
            out = out[at : at + count].reshape(-1)
            slot, place = divmod(begin, per_heap)
            left, to = count, 0
            while left:
                part = min(left, per_heap - place)
                target = out[to * size : (to + part) * size]
                if self._present[slot, sender, 0]:
                    target[:] = data[slot, sender, place * size : (place + part) * size]
                else:
                    target[:] = 0
                left, to, slot, place = left - part, to + part, slot + 1, 0
        self._done = end
        return count

    def _give_frame(self, out, item):
        shape, piece = self._shape, self._piece
        if piece.chunk is None:
            out[:] = 0
        else:
            self._clamped += spead.heaps_to_frame(
                piece.chunk.data, self._present, self._layout, out
            )
        first = item * shape.spectra_per_frame
        for sender, slot, count in self._gaps:
            for number in range(sender * shape.polarizations, (sender + 1) * shape.polarizations):
                self.add_item_tag(
                    0,
                    item,
                    pmt.intern(tags.missing),
                    missing_value(
                        number,
                        first + slot * shape.spectra_per_heap,
                        count * shape.spectra_per_heap,
                    ),
                )

    def _give_visibilities(self, out, item):
        shape, piece = self._shape, self._piece
        index, conjugate = self._order
        products = shape.inputs * (shape.inputs + 1) // 2
        counted = np.zeros(products, np.uint64)
        out = out.reshape(shape.channels, products)
        out[:] = 0
        if piece.chunk is not None:
            sums = piece.chunk.data.view(np.int32).reshape(
                shape.ranges, shape.channels_per_heap, shape.sent_products, 2
            )
            there = np.ones(shape.sent_products, bool)
            for number in range(shape.ranges):
                if not self._present[0, 0, number]:
                    there[:] = False
                    continue
                there &= ~np.all(sums[number] == MISSING_PRODUCT, axis=2).any(axis=0)
            values = sums.reshape(shape.channels, shape.sent_products, 2).astype(
                np.float64
            ) @ np.array([1, 1j])
            values[:, conjugate] = values[:, conjugate].conj()
            counted[index[there]] = shape.spectra_per_heap
            out[:, index[there]] = values[:, there] / shape.spectra_per_heap
        self._tag_counts(item, counted.tolist())

    def _tag_counts(self, item, counted):
        """Tags what was counted in an integration, where it is not as before; and once a second of
        the stream all that readers do not know who begin there."""
        shape = self._shape
        again = (
            self._piece.anew
            or self._said is None
            or item - self._said[0] >= self._clock.rate / shape.item_ticks
        )
        found = {}
        if again:
            found[tags.rx_time] = time_value(self._clock.seconds(self._piece.time))
            found[tags.spectra] = pmt.from_uint64(shape.spectra_per_heap)
        if again or self._said[1] != counted:
            found[tags.counted] = pmt.init_u64vector(len(counted), counted)
        if self._piece.anew:
            del found[tags.rx_time]  # _tag() has said it
        for key, value in found.items():
            self.add_item_tag(0, item, pmt.intern(key), value)
        self._said = item if again else self._said[0], counted
