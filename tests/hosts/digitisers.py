# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Usage: digitisers.py SAMPLES.npy. Sends samples [input] of 8 bits as digitisers do, in real time,
again and again, those of each antenna to the host of its F-engine, by spead2's own sender, until a
file `stop` is beside them; then the file `sent` has their number.
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from places import enter_environment

enter_environment("network")

import numpy as np
import spead2
import spead2.send

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hosts import HOSTS, PORT, RATE, SAMPLES

LONGEST = 600  # s, if nobody stops it


def item(number, value):
    return spead2.Item(number, "", "", (), format=[("u", 48)], value=value)


def main():
    samples = np.load(sys.argv[1])
    folder, sent = pathlib.Path(sys.argv[1]).parent, 0
    addresses = [(f"10.37.0.{HOSTS[host]}", PORT) for host in ("f0", "f1")]
    stream = spead2.send.UdpStream(
        spead2.ThreadPool(1),
        addresses,
        spead2.send.StreamConfig(max_packet_size=SAMPLES + 72),
        buffer_size=1 << 20,
    )
    stopped = spead2.Flavour(4, 64, 48, 0)
    start = time.monotonic()
    for first in range(0, int(LONGEST * RATE), SAMPLES):
        time.sleep(max(0, start + first / RATE - time.monotonic()))
        if (folder / "stop").exists():
            break
        sent = first + SAMPLES
        for number, row in enumerate(samples):
            heap = spead2.send.Heap(stopped)
            for each in (item(0x1600, first), item(0x3101, number), item(0x3102, 0)):
                heap.add_item(each)
            heap.add_item(
                spead2.Item(
                    0x3300,
                    "",
                    "",
                    shape=(SAMPLES,),
                    dtype=np.int8,
                    value=row.take(range(first, first + SAMPLES), mode="wrap"),
                )
            )
            heap.repeat_pointers = True
            try:
                stream.send_heap(heap, substream_index=number // 2)
            except OSError:
                pass  # the cable was cut
    (folder / "sent").write_text(str(sent))
    for _ in range(3):
        for number in range(len(samples)):
            heap = spead2.send.Heap(stopped)
            heap.add_item(item(0x3101, number))
            heap.add_end()
            try:
                stream.send_heap(heap, substream_index=number // 2)
            except OSError:
                pass
        time.sleep(0.3)


main()
