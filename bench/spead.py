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
    tools/run build/venv/bin/python bench/spead.py chain [GBIT_PER_SECOND ...] [threads=4]
        [device=auto] [senders=4] [cores=0+1+2+3] [sender_cores=8+9+10+11] [seconds=10]
        [packet=8192]

`chain` is heaps to a file: spead_source with so many receiving threads, each with an address and a
process that sends to it, an X-engine, and uvh5_sink. It says what each thread of the receiving
process took of a core, and so where the time goes: the busiest one bounds the rate, or, where it
had time to spare and heaps are lost all the same, there are too few cores for all. Lost is what is
not in the frames. In the same run it measures what a core copies. As
root, the kernel's buffers may be as large as they are asked for; otherwise
`sysctl -w net.core.rmem_max=67108864` before.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

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
MISPLACED = ("late", "jumped")  # counts of heaps that came outside the window


def send(seconds, rate, packet, first=0, count=SENDERS, port=PORT):
    """Sends heaps of some senders for a while, from a line of standard input on; prints how
    many."""
    flavour = spead2.Flavour(4, 64, 48, 0)
    stream = spead2.send.UdpStream(
        spead2.ThreadPool(1),
        [("127.0.0.1", port)],
        spead2.send.StreamConfig(
            max_packet_size=packet + 72, rate=rate / 8 * (packet + 72) / packet, max_heaps=4 * count
        ),
        buffer_size=8 << 20,
    )
    timestamp = np.zeros((), ">u8")
    item = lambda number, value: spead2.Item(number, "", "", (), format=[("u", 48)], value=value)
    data, heaps = np.zeros((CHANNELS, SPECTRA, 2, 2), np.int8), []
    for sender in range(first, first + count):
        heap = spead2.send.Heap(flavour)
        for number, value in ((0x1600, timestamp), (0x4101, sender), (0x4103, 0)):
            heap.add_item(item(number, value))
        heap.add_item(spead2.Item(0x4300, "", "", shape=data.shape, dtype=data.dtype, value=data))
        heap.repeat_pointers = True
        heaps.append(spead2.send.HeapReference(heap))
    print("ready", flush=True)
    sys.stdin.readline()
    begin, slot = time.monotonic(), 0
    while time.monotonic() < begin + seconds:
        timestamp[()] = slot * HOP * SPECTRA
        stream.send_heaps(heaps, spead2.send.GroupMode.SERIAL)
        slot += 1
    for sender in range(first, first + count):
        heap = spead2.send.Heap(flavour)
        heap.add_item(item(0x4101, sender))
        heap.add_end()
        stream.send_heap(heap)
    print(
        json.dumps(
            {"heaps": slot * count, "rate": slot * count * HEAP * 8 / (time.monotonic() - begin)}
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


def threads_used():
    """{"NAME ID": seconds of processor time} of this process's threads."""
    found, tick = {}, os.sysconf("SC_CLK_TCK")
    for task in Path("/proc/self/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            fields = (task / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the thread has just ended
        found[f"{name} {task.name}"] = (int(fields[11]) + int(fields[12])) / tick
    return found


def copied_by_a_core():
    """Gbit/s of memory, which no cache holds, that a core copies."""
    data = np.ones(1 << 28, np.uint8)
    out, best = np.empty_like(data), 0.0
    for _ in range(5):
        begin = time.thread_time()
        np.copyto(out, data)
        best = max(best, 8e-9 * len(data) / (time.thread_time() - begin))
    return best


def receive_chain(values):
    """Heaps to a file; prints what came and where the time went."""
    threads, senders = int(values["threads"]), int(values["senders"])
    inputs, folder = 2 * senders, tempfile.mkdtemp(dir="/dev/shm")
    top = gr.top_block()
    source = aperture.spead_source(
        address=[f"127.0.0.1:{PORT + number}" for number in range(threads)],
        threads=threads,
        cores=[int(core) for core in values.get("cores", "").split("+") if core],
        sample_rate=1e9,
        inputs=inputs,
        channels=CHANNELS,
        spectra_per_frame=SLOTS * SPECTRA,
        spectra_per_heap=SPECTRA,
        window=64,
        silence=0.5,
        buffer_size=threads << 26,
    )
    array = aperture.ArrayDescription(
        name="bench",
        latitude=52.0,
        longitude=5.0,
        height=0.0,
        sample_rate=1e9,
        center_frequency=1.4e9,
        antennas=[
            aperture.Antenna(f"A{number}", (10.0 * number, 0.0, 0.0)) for number in range(senders)
        ],
        inputs=[
            aperture.Input(f"A{number}", polarization)
            for number in range(senders)
            for polarization in "xy"
        ],
    )
    xengine = aperture.xengine(
        channels=CHANNELS,
        inputs=inputs,
        spectra_per_frame=SLOTS * SPECTRA,
        type="sc8",
        integration=1024,
        device=values.get("device", "auto"),
    )
    sink = aperture.uvh5_sink(os.path.join(folder, "a.uvh5"), array, channels=CHANNELS)
    top.connect(source, xengine, sink)
    copied = copied_by_a_core()
    try:
        top.start()
        while not source.counts().get("buffer"):
            time.sleep(0.01)
        print("listens", flush=True)
        before, used, counts = threads_used(), {}, {}
        waiter = threading.Thread(target=top.wait)
        waiter.start()
        begin = None
        while waiter.is_alive():
            waiter.join(0.2)
            # threads that end take their times along
            used = {**used, **threads_used()}
            counts = source.counts() or counts
            if begin is None and counts.get("heaps"):
                begin = time.monotonic()
        seconds = time.monotonic() - (begin or time.monotonic())
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    finally:
        shutil.rmtree(folder)
    names = {name: used[name] - before.get(name, 0.0) for name in used}
    print(
        json.dumps(
            {
                "heaps": counts["heaps"] - counts["stops"] - counts["other"],
                **{name: counts[name] for name in ("missing", *MISPLACED, "restarts")},
                "seconds": seconds,
                "copy": copied,
                "bytes": size,
                "threads": {
                    name: round(time_, 2)
                    for name, time_ in sorted(names.items(), key=lambda entry: -entry[1])
                    if time_ > 0.01
                },
            }
        )
    )


def chain(rates, seconds, packet, values):
    """Runs `chain` at each rate, and prints a table, then JSON."""
    threads = int(values.setdefault("threads", "4"))
    senders = int(values.setdefault("senders", str(max(4, threads))))
    cores = [core for core in values.get("sender_cores", "").split("+") if core]
    if senders % threads:
        raise SystemExit(f"senders={senders}: must be a multiple of threads={threads}")
    print(
        f"heaps of {HEAP >> 10} KiB of {senders} senders to {threads} threads, packets of {packet} "
        f"bytes, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    results = []
    for rate in rates:
        words = [f"{key}={value}" for key, value in values.items()]
        receiver = subprocess.Popen(
            [sys.executable, __file__, "receive=chain", *words], stdout=subprocess.PIPE, text=True
        )
        # the log of the flowgraph comes by the same way
        if not any(line == "listens\n" for line in iter(receiver.stdout.readline, "")):
            raise SystemExit("the receiver does not listen")
        each = senders // threads
        sending = [
            subprocess.Popen(
                [
                    *(["taskset", "-c", cores[number % len(cores)]] if cores else []),
                    sys.executable,
                    __file__,
                    f"send={rate * 1e9 / threads}",
                    f"seconds={seconds}",
                    f"packet={packet}",
                    f"first={number * each}",
                    f"count={each}",
                    f"port={PORT + number}",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(threads)
        ]
        # One that began later than the others, as Python starts slowly, would send heaps of
        # before the window until its end.
        for process in sending:
            process.stdout.readline()
        for process in sending:
            process.stdin.write("\n")
            process.stdin.flush()
        sent = [json.loads(process.communicate()[0]) for process in sending]
        got = json.loads(receiver.communicate()[0].splitlines()[-1])
        heaps = sum(entry["heaps"] for entry in sent)
        gbit = 8e-9 * HEAP * got["heaps"]
        # heaps that are in frames, and those that zeros stand for
        misplaced = sum(got[name] for name in MISPLACED)
        busiest, most = max(got["threads"].items(), key=lambda entry: entry[1], default=("", 0.0))
        frames = 8e-9 * HEAP * (got["heaps"] - misplaced + got["missing"])
        got |= {
            "sent": heaps,
            "asked": rate,
            "sent_gbit_s": sum(entry["rate"] for entry in sent) / 1e9,
            "lost": 1 - (got["heaps"] - misplaced) / heaps,
            "bound": busiest,
            "bound_gbit_s": gbit / most if most else None,
            "frames_gbit": frames,
            "cpu_s_a_gbit": {name: used / gbit for name, used in got["threads"].items()},
        }
        results.append(got)
        print(
            f"{got['sent_gbit_s']:6.2f} Gbit/s sent, {100 * got['lost']:6.2f} % lost, "
            f"{sum(got['threads'].values()) / max(got['seconds'], 1e-3):5.2f} cores, a copy "
            f"{got['copy']:.0f} Gbit/s a core\n    received {gbit:.2f} Gbit, of which "
            f"{8e-9 * HEAP * misplaced:.2f} outside the window; frames of {frames:.2f} Gbit, zeros "
            f"where heaps are missing; {got['restarts']} restarts of time\n    bound: thread "
            f"{busiest}, of which a core takes {gbit / max(most, 1e-3):.1f} Gbit/s, and it was "
            f"busy {100 * most / max(got['seconds'], 1e-3):.0f} % of the time\n"
            "    s of CPU a Gbit: "
            + ", ".join(
                f"{name} {used:.4f}" for name, used in list(got["cpu_s_a_gbit"].items())[:8]
            ),
            flush=True,
        )
    print(json.dumps(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    words = parser.parse_args().words
    values = dict(word.split("=") for word in words if "=" in word)
    plain = [word for word in words if "=" not in word and word != "chain"]
    rates = [float(word) for word in plain] or [4.0, 8.0, 0.0]
    seconds, packet = float(values.get("seconds", 4)), int(values.get("packet", 8192))
    if "send" in values:
        place = {name: int(values[name]) for name in ("first", "count", "port") if name in values}
        return send(seconds, float(values["send"]), packet, **place)
    if values.get("receive") == "chain":
        return receive_chain(values)
    if "receive" in values:
        return receive(values["receive"])
    if "chain" in words:
        return chain(rates, float(values.get("seconds", 10)), packet, values)
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
                    input="\n",
                    stdout=subprocess.PIPE,
                    text=True,
                ).stdout.splitlines()[-1]
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
