#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sends heaps by spead2: those of one time slot at once, from memory that is used again."""

import contextlib
import random
import time

import numpy as np

from .heaps import (
    FLAVOUR,
    HEADER,
    IMMEDIATE,
    IMMEDIATE_TYPE,
    KINDS,
    TIMESTAMP,
    flavour,
    load_spead2,
)

CNT_STEP = 1 << 16  # between numbers of heaps of one that sends, so that others have theirs
STOPS = 3  # heaps that end a stream, in case that some are lost


class HeapSender:
    """
    Sends heaps of a kind.

    Parameters
    ----------
    kind : str
        One of heaps.KINDS.
    addresses : list of (host, port)
        A substream each.
    heaps : list of dict
        For each heap of a slot its immediate items, {Item: value}, and as "substream" the number of
        its address.
    payload : array
        [heap][...]: what the payload of each is, whose memory stays and is filled anew.
    packet_size : int
        Bytes of the payload of a packet.
    rate : float
        Bytes of payload a second at most, of all substreams; 0: without a limit.
    number : int
        The sender's number, which is in the numbers of its heaps.
    ttl, interface : int, str
        Routers on the way, and the network interface, of multicast.
    descriptor : dict
        `shape`, and `dtype` or `format`, of the payload.
    """

    def __init__(
        self,
        kind,
        addresses,
        heaps,
        payload,
        packet_size,
        rate,
        number,
        ttl,
        interface,
        descriptor,
        buffer_size,
        interval,
    ):
        spead2 = load_spead2()
        self._spead2, self._kind, self._addresses = spead2, KINDS[kind], addresses
        self._interval, self._next = interval, 0.0
        self._flavour = flavour(spead2)
        self.timestamp = np.zeros((), IMMEDIATE_TYPE)
        self.sent_heaps = self.unsent = 0
        send = spead2.send
        config = send.StreamConfig(
            max_packet_size=packet_size + HEADER,
            rate=rate * (packet_size + HEADER) / packet_size,
            max_heaps=max(4, len(heaps) + 2 * len(addresses)),
        )
        more = {}
        if interface or ttl != 1:
            more = dict(ttl=ttl, interface_address=interface) if interface else dict(ttl=ttl)
        self._stream = send.UdpStream(
            spead2.ThreadPool(1), addresses, config, buffer_size=buffer_size, **more
        )
        # heaps of before a restart may still be under way
        self._stream.set_cnt_sequence(
            number % CNT_STEP + CNT_STEP * random.randrange(1 << 30), CNT_STEP
        )
        self._values, self._references = [], []
        for items, data in zip(heaps, payload):
            items = dict(items)
            substream = items.pop("substream")
            heap = send.Heap(self._flavour)
            values = {}
            for item in self._kind.immediates:
                values[item] = (
                    self.timestamp
                    if item == TIMESTAMP
                    else np.array(items.get(item, 0), IMMEDIATE_TYPE)
                )
                heap.add_item(self._item(item, values[item]))
            heap.add_item(
                spead2.Item(
                    self._kind.payload.number,
                    "",
                    "",
                    shape=data.shape,
                    dtype=data.dtype,
                    value=data,
                )
            )
            heap.repeat_pointers = True
            self._values.append(values)
            self._references.append((heap, substream))
        group = send.ItemGroup(flavour=self._flavour)
        for item in self._kind.immediates:
            group.add_item(item.number, item.name, item.description, shape=(), format=IMMEDIATE)
        item = self._kind.payload
        group.add_item(item.number, item.name, item.description, **descriptor)
        self._descriptors = group.get_heap(descriptors="all", data="none")

    def _item(self, item, value):
        return self._spead2.Item(item.number, item.name, "", (), format=IMMEDIATE, value=value)

    def set(self, heap, item, value):
        """An immediate item of the heap of a number, from now on."""
        self._values[heap][item][()] = value

    def _send(self, references):
        """Sends heaps; an address that cannot be reached costs what was for it only."""
        send = self._spead2.send
        if not references:
            return
        try:
            self._stream.send_heaps(
                [
                    send.HeapReference(heap, substream_index=substream)
                    for heap, substream in references
                ],
                send.GroupMode.ROUND_ROBIN,
            )
            return True
        except OSError:
            # the rest of the group may not have been sent, whichever failed
            good = True
            for heap, substream in references:
                try:
                    self._stream.send_heap(heap, substream_index=substream)
                except OSError:
                    self.unsent += 1
                    good = False
            return good

    def send(self, timestamp, heaps, slot=None):
        """Sends the heaps of these numbers with a timestamp; slot: added to each one's substream,
        where several addresses take turns."""
        now = time.monotonic()
        if now >= self._next and self._interval:
            self._next = now + self._interval
            self.send_descriptors()
        self.timestamp[()] = timestamp % (1 << FLAVOUR[2])
        before = self.unsent
        chosen = [self._references[number] for number in heaps]
        if slot is not None:
            chosen = [(heap, substream + slot) for heap, substream in chosen]
        self._send(chosen)
        self.sent_heaps += len(chosen) - (self.unsent - before)

    def send_descriptors(self):
        """Sends what the items are to all addresses."""
        with contextlib.suppress(OSError):
            for substream in range(len(self._addresses)):
                self._stream.send_heap(self._descriptors, substream_index=substream)

    def send_stop(self):
        """Says to all addresses that nothing more comes of the senders that have heaps here."""
        senders = {}
        for values, (_, substream) in zip(self._values, self._references):
            value = values.get(self._kind.sender)
            senders[None if value is None else int(value)] = substream
        for _ in range(STOPS if None not in senders else 1):
            for value in senders:
                heap = self._spead2.send.Heap(self._flavour)
                if value is not None:
                    heap.add_item(self._item(self._kind.sender, value))
                heap.add_end()
                for substream in range(len(self._addresses)):
                    with contextlib.suppress(OSError):
                        self._stream.send_heap(heap, substream_index=substream)


def descriptor_of(kind, shape, sample_bits=8):
    """Returns the `descriptor` of HeapSender for a payload of so many samples or such a shape."""
    if kind == "samples":
        return dict(shape=(shape,), format=[("i", sample_bits)])
    return dict(shape=shape, dtype=np.int32 if kind == "visibilities" else np.int8)
