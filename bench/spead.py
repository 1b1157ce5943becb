#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measures what receiving heaps of an F-engine costs: spead_source in a flowgraph, beside spead2's own
chunk receiver with the same place function and nothing behind it. The sender is spead2's, on the
same computer, by loopback.

    tools/run build/venv/bin/python bench/spead.py [GBIT_PER_SECOND ...] [seconds=4] [packet=8192]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time

from gnuradio.aperture.packages.environment import make_importable

make_importable("network")

import numpy as np
import spead2
import spead2.send
from gnuradio import aperture, blocks, gr

from gnuradio.aperture import spead
from gnuradio.aperture.formats.spead.chunk_receiver import ChunkReceiver
from gnuradio.aperture.formats.spead.heaps import FENG_ID

PORT = 17148
CHANNELS, SPECTRA, SENDERS = 128, 64, 4
SLOTS = 8  # heaps of a sender in a frame, of 1 MiB
HOP = 2 * CHANNELS
HEAP = CHANNELS * SPECTRA * 4


def send(seconds, rate, packet):
    """Sends heaps for a while; prints how many."""
    flavour = spead2.Flavour(4, 64, 48, 0)
    stream = spead2.send.UdpStream(
        spead2.ThreadPool(1),
        [("127.0.0.1", PORT)],
        spead2.send.StreamConfig(
            max_packet_size=packet + 72,
            rate=rate / 8 * (packet + 72) / packet,
            max_heaps=4 * SENDERS,
        ),
        buffer_size=8 << 20,
    )
    timestamp = np.zeros((), ">u8")
    item = lambda number, value: spead2.Item(number, "", "", (), format=[("u", 48)], value=value)
    data, heaps = np.zeros((CHANNELS, SPECTRA, 2, 2), np.int8), []
    for sender in range(SENDERS):
        heap = spead2.send.Heap(flavour)
        for number, value in ((0x1600, timestamp), (0x4101, sender), (0x4103, 0)):
            heap.add_item(item(number, value))
        heap.add_item(spead2.Item(0x4300, "", "", shape=data.shape, dtype=data.dtype, value=data))
        heap.repeat_pointers = True
        heaps.append(spead2.send.HeapReference(heap))
    begin, slot = time.monotonic(), 0
    while time.monotonic() < begin + seconds:
        timestamp[()] = slot * HOP * SPECTRA
        stream.send_heaps(heaps, spead2.send.GroupMode.SERIAL)
        slot += 1
    for sender in range(SENDERS):
        heap = spead2.send.Heap(flavour)
        heap.add_item(item(0x4101, sender))
        heap.add_end()
        stream.send_heap(heap)
    print(
        json.dumps(
            {
                "heaps": slot * SENDERS,
                "rate": slot * SENDERS * HEAP * 8 / (time.monotonic() - begin),
            }
        )
    )


def cpu():
    """Seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def receive_alone():
    """spead2's receiver alone; returns heaps that are whole, the kernel's buffer, and CPU until
    then."""
    placement = spead.placement(
        heap_bytes=HEAP,
        heap_ticks=HOP * SPECTRA,
        slots_per_chunk=SLOTS,
        senders=list(range(SENDERS)),
        with_sender=True,
        channels_per_heap=CHANNELS,
        window=8,
    )
    receiver = ChunkReceiver(
        placement,
        [([("127.0.0.1", PORT)], -1)],
        FENG_ID,
        HEAP * SENDERS * SLOTS,
        SENDERS * SLOTS,
        8,
        SENDERS,
        9200,
        1 << 26,
        "",
        [],
        [],
        0.5,
    )
    print("listens", flush=True)
    heaps, before = 0, cpu()
    try:
        while True:
            chunk = receiver.get(0.05)
            if chunk is not None:
                heaps += int(chunk.present.sum())
                receiver.give_back(chunk)
    except Exception as error:
        if type(error).__name__ != "Ended":
            raise
    return heaps, receiver.buffer_size, before


def receive_in_flowgraph():
    """Receives by spead_source and a sink that takes nothing."""
    top = gr.top_block()
    source = aperture.spead_source(
        address=f"127.0.0.1:{PORT}",
        sample_rate=1e9,
        inputs=2 * SENDERS,
        channels=CHANNELS,
        spectra_per_frame=SLOTS * SPECTRA,
        spectra_per_heap=SPECTRA,
        window=8,
        silence=0.5,
    )
    top.connect(source, blocks.null_sink(source.output_signature().sizeof_stream_item(0)))
    waiter = threading.Thread(target=top.wait)
    top.start()
    while not source.counts().get("buffer"):
        time.sleep(0.01)
    print("listens", flush=True)
    before = cpu()
    waiter.start()
    waiter.join()
    counts = source.counts()
    return counts["heaps"] - counts["stops"] - counts["other"], counts["buffer"], before


def receive(how):
    heaps, buffer, before = (receive_alone if how == "alone" else receive_in_flowgraph)()
    print(json.dumps({"heaps": heaps, "cpu": cpu() - before, "buffer": buffer}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    words = parser.parse_args().words
    values = dict(word.split("=") for word in words if "=" in word)
    rates = [float(word) for word in words if "=" not in word] or [4.0, 8.0, 0.0]
    seconds, packet = float(values.get("seconds", 4)), int(values.get("packet", 8192))
    if "send" in values:
        return send(seconds, float(values["send"]), packet)
    if "receive" in values:
        return receive(values["receive"])
    print(
        f"heaps of {HEAP >> 10} KiB of {SENDERS} senders, packets of {packet} bytes, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for rate in rates:
        for how in ("alone", "flowgraph"):
            receiver = subprocess.Popen(
                [sys.executable, __file__, f"receive={how}"], stdout=subprocess.PIPE, text=True
            )
            receiver.stdout.readline()
            sent = json.loads(
                subprocess.run(
                    [
                        sys.executable,
                        __file__,
                        f"send={rate * 1e9}",
                        f"seconds={seconds}",
                        f"packet={packet}",
                    ],
                    stdout=subprocess.PIPE,
                    text=True,
                ).stdout
            )
            got = json.loads(receiver.communicate()[0])
            print(
                f"{how:9s}  {sent['rate'] / 1e9:5.2f} Gbit/s sent, "
                f"{100 - 100 * got['heaps'] / sent['heaps']:5.2f} % lost, receiver "
                f"{1e9 * got['cpu'] / (got['heaps'] * HEAP * 8):.3f} s of CPU a Gbit, kernel's "
                f"buffer {got['buffer'] >> 20} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
