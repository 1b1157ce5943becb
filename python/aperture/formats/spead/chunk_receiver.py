#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Receives heaps into chunks of memory, by spead2's chunk receiver and our place function."""

import contextlib
import select

import numpy as np

from ... import spead
from ...network.addresses import listening_socket
from .heaps import FREQUENCY, STREAM_CONTROL, TIMESTAMP, load_spead2

QUEUED = 4  # chunks that wait for who reads them, or are read
FEWEST_HEAPS, MOST_HEAPS = 16, 8192  # unfinished at a time, in each stream
SPEAD2_COUNTS = {
    "heaps": "heaps",
    "packets": "packets",
    "incomplete_heaps_evicted": "incomplete",
    "too_old_heaps": "late",
    "worker_blocked": "blocked",
}


def read_by_ibverbs(spead2, stream, addresses, interface, packet_size, buffer_size):
    """Lets a stream read what comes to some addresses of a card by ibverbs; RuntimeError says why
    it cannot."""
    if not hasattr(spead2.recv, "UdpIbvConfig"):
        raise RuntimeError(
            "transport: ibverbs is not allowed; it must be socket, as this spead2 "
            f"({spead2.__version__}) was built without ibverbs"
        )
    try:
        stream.add_udp_ibv_reader(
            spead2.recv.UdpIbvConfig(
                endpoints=addresses,
                interface_address=interface,
                max_size=packet_size,
                buffer_size=buffer_size,
            )
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise RuntimeError(
            f"transport: ibverbs cannot be had at {interface}: {error}. It needs librdmacm1 and "
            "libibverbs1, a card that has it, and CAP_NET_RAW"
        ) from None


class Ended(Exception):
    """All senders have ended, and all that came has been read."""


class ChunkReceiver:
    """
    A running receiver. A chunk has `data`, bytes of its heaps one after another, `present`, a byte
    for each of them, and `chunk_id`; it is to be given back.

    Parameters
    ----------
    placement : aperture_python.spead.placement
        An object that finds the place of each heap, and the sizes of the chunks.
    streams : list of (list of (host, port), int)
        Addresses of each stream, which has a thread, and the place of the sender of its heaps,
        -1: they say so.
    sender : heaps.Item or None
        The one that says so.
    chunk_bytes, heaps, window : int
        Bytes and heaps of a chunk, and chunks that are open at a time.
    unfinished : int
        Heaps that may come at the same time.
    packet_size, buffer_size : int
        Bytes of the longest packet, and that wait in the kernel, for all addresses together.
    interface, allowed
        As addresses.listening_socket has them.
    cores : list of int
        Processor of each stream's thread; empty: any.
    silence : float
        Seconds after which a sender that sends nothing is not waited for at the end.
    transport : str
        "socket", or "ibverbs": packets go from the card to memory past the system, by spead2;
        interface is the card's address then.

    Raises
    ------
    OSError
        An address is not this computer's, or is in use.
    RuntimeError
        There is no ibverbs; the message says what is missing.
    """

    def __init__(
        self,
        placement,
        streams,
        sender,
        chunk_bytes,
        heaps,
        window,
        unfinished,
        packet_size,
        buffer_size,
        interface,
        allowed,
        cores,
        silence,
        transport="socket",
    ):
        spead2 = load_spead2()
        self._spead2, self.placement, self._silence = spead2, placement, silence
        recv = spead2.recv
        count = window + QUEUED
        self._ready, self._free = recv.ChunkRingbuffer(count), recv.ChunkRingbuffer(count)
        items = [
            TIMESTAMP.number,
            spead2.HEAP_LENGTH_ID,
            # an item that no heap has, where there is none
            sender.number if sender else 0x7FFE,
            FREQUENCY.number,
            STREAM_CONTROL,
        ]
        config = recv.StreamConfig(
            max_heaps=min(MOST_HEAPS, max(FEWEST_HEAPS, 2 * unfinished)),
            memcpy=spead2.MEMCPY_NONTEMPORAL,
            stop_on_stop_item=False,
            allow_out_of_order=True,
        )
        base = config.next_stat_index()
        for name in spead.placement.names():
            config.add_stat(f"aperture.{name}")
        self._open = []
        if len(streams) > 1:
            group = recv.ChunkStreamRingGroup(
                recv.ChunkStreamGroupConfig(
                    max_chunks=window, eviction_mode=recv.ChunkStreamGroupConfig.EvictionMode.LOSSY
                ),
                self._ready,
                self._free,
            )
        self._streams = []
        for number, (_, place) in enumerate(streams):
            pool = spead2.ThreadPool(1, cores[number : number + 1])
            chunks = recv.ChunkStreamConfig(
                items=items, max_chunks=window, place=(placement.capsule(base, place),)
            )
            self._streams.append(
                group.emplace_back(pool, config, chunks)
                if len(streams) > 1
                else recv.ChunkRingStream(pool, config, chunks, self._ready, self._free)
            )
        # all members of a group; they are stopped together
        self._all = group if len(streams) > 1 else self._streams[0]
        for _ in range(count):
            self._all.add_free_chunk(
                recv.Chunk(data=np.empty(chunk_bytes, np.uint8), present=np.zeros(heaps, np.uint8))
            )
        each = max(4096, buffer_size // sum(len(addresses) for addresses, _ in streams))
        self._poll = select.poll()
        self._poll.register(self._ready.data_fd, select.POLLIN)
        self.buffer_size = 0
        try:
            for stream, (addresses, _) in zip(self._streams, streams):
                if transport == "ibverbs":
                    size = each * len(addresses)
                    read_by_ibverbs(spead2, stream, addresses, interface, packet_size, size)
                    self.buffer_size += size
                    continue
                for host, port in addresses:
                    with contextlib.closing(
                        listening_socket(host, port, each, interface, allowed)
                    ) as listener:
                        # the reader takes a copy of the descriptor
                        stream.add_udp_reader(listener, max_size=packet_size)
                        self.buffer_size += listener.getsockopt(1, 8)  # SO_RCVBUF
        except Exception:
            self._all.stop()
            raise
        self._stopped = False

    def get(self, timeout):
        """
        A chunk; None if none comes within so many seconds.

        Raises
        ------
        Ended
        """
        if not self._poll.poll(1000 * timeout):
            if not self._stopped and self.placement.ended(self._silence):
                self.finish()
            return None
        try:
            return self._ready.get_nowait()
        except self._spead2.Empty:
            return None
        except self._spead2.Stopped:
            raise Ended() from None

    def give_back(self, chunk):
        """The chunk's memory is used again."""
        with contextlib.suppress(self._spead2.Stopped):
            self._all.add_free_chunk(chunk)

    def finish(self):
        """Ends the reception; what has come can still be read, up to Ended."""
        if not self._stopped:
            self._stopped = True
            for stream in self._streams:
                # a reader that comes to its end ends the stream, and what is in the window comes
                stream.add_buffer_reader(b"")

    def stop(self):
        """Ends the reception, and drops what has come."""
        self._stopped = True
        self._all.stop()

    def counts(self):
        """Returns what was counted since the start, a dictionary of whole numbers."""
        found = dict.fromkeys([*SPEAD2_COUNTS.values(), *spead.placement.names()], 0)
        for stream in self._streams:
            stats = stream.stats
            for name, ours in SPEAD2_COUNTS.items():
                found[ours] += stats[name]
            for name in spead.placement.names():
                found[name] += stats[f"aperture.{name}"]
        return found
