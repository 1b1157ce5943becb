#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The descriptors of a stream, by an ordinary receiver of spead2."""

import time
from dataclasses import dataclass

from ...network.addresses import listening_socket, parse_addresses
from .heaps import load_spead2


@dataclass(frozen=True)
class Described:
    """
    An item of a stream. number: its identifier; shape; type: as NumPy has it, or bits of packed
    numbers as "i10"; value: of an immediate item whose heap came meanwhile, or None.
    """

    number: int
    shape: tuple
    type: str
    value: object


def read_descriptors(address, seconds=10.0, interface=""):
    """
    Listens to a stream until it has described its items, which senders do every few seconds.

    The chunks of `spead_source` need the sizes of heaps beforehand, and have their payload alone:
    this tells them from the network. The address must not be received by anything else meanwhile,
    unless it is a group of multicast.

    Parameters
    ----------
    address : str
        The addresses of a `spead_source`.
    seconds : float
        Within which a descriptor must come.
    interface : str
        The interface of a `spead_source`.

    Returns
    -------
    dict
        name -> Described

    Raises
    ------
    TimeoutError
        No descriptor came.
    ValueError, OSError
        The address is not allowed, or not this computer's.
    """
    spead2 = load_spead2()
    addresses = parse_addresses("address", address)
    stream = spead2.recv.Stream(
        spead2.ThreadPool(1),
        spead2.recv.StreamConfig(max_heaps=16),
        spead2.recv.RingStreamConfig(heaps=16),
    )
    end = time.monotonic() + seconds
    group = spead2.ItemGroup()
    try:
        for host, port in addresses:
            with listening_socket(host, port, 1 << 22, interface) as listener:
                stream.add_udp_reader(listener, max_size=9200)
        while not group:
            try:
                heap = stream.get_nowait()
            except spead2.Empty:
                if time.monotonic() > end:
                    raise TimeoutError(
                        f"{address}: no descriptor came within {seconds:g} s"
                    ) from None
                time.sleep(0.01)
                continue
            except spead2.Stopped:
                raise TimeoutError(f"{address}: the stream ended without a descriptor") from None
            group.update(heap)
    finally:
        stream.stop()
    return {
        item.name: Described(
            item.id,
            tuple(item.shape),
            str(item.dtype)
            if item.dtype is not None
            else "".join(f"{a}{b}" for a, b in item.format),
            item.value if not item.shape else None,
        )
        for item in group.values()
    }
