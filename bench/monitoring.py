#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what monitoring costs a chain that takes all processors: F- and X-engine of noise, by turns
without and with a publisher, its server and a page that follows. Prints the chain's rate, samples
of each input a second of wall clock and of its processors' time, and what the publisher's threads
and the server took of the processors.

    tools/run python3 bench/monitoring.py [--inputs 8] [--channels 1024] [--seconds 10] [--turns 6]
"""

import argparse
import json
import os
import statistics
import threading
import time
import urllib.request

from gnuradio import aperture, blocks, gr

from gnuradio.aperture import monitoring
from gnuradio.aperture.monitoring import array_section
from gnuradio.aperture.monitoring.server.machine import process_figures
from gnuradio.aperture.observatory.instrument import Instrument
from gnuradio.aperture.testing.monitored import noise

TICKS = os.sysconf("SC_CLK_TCK")


def thread_seconds(threads):
    """Processors' time that threads have taken so far."""
    total = 0
    for thread in threads:
        with open(f"/proc/self/task/{thread.native_id}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def follow(url, ended):
    """Reads what a page reads."""
    with urllib.request.urlopen(url + "api/v1/events", timeout=30) as answer:
        while not ended.is_set():
            answer.readline()


def chain(options):
    """An Instrument of noise that is read over and over."""
    array = aperture.load_array("y8" if options.inputs == 8 else "y16")
    inputs = len(array.inputs)
    top = gr.top_block()
    source = blocks.vector_source_c(noise(inputs * (1 << 16)), True)
    tags = aperture.receiver_tags(
        item_size=8 * inputs, rate=array.sample_rate, center_frequency=array.center_frequency
    )
    engine = aperture.f_engine(
        channels=options.channels,
        inputs=inputs,
        inputs_per_port=inputs,
        output_type="sc8",
        gain=20,
        spectra_per_frame=64,
        device="cpu",
    )
    correlator = aperture.xengine(
        channels=options.channels,
        inputs=inputs,
        spectra_per_frame=64,
        type="sc8",
        integration=options.integration,
        integration_unit="seconds",
        device="cpu",
    )
    top.connect(
        source,
        blocks.stream_to_vector(8, inputs),
        tags,
        engine,
        correlator,
        blocks.null_sink(8 * options.channels * inputs * (inputs + 1) // 2),
    )
    instrument = Instrument("bench")
    instrument.replace(
        top, {"f_engine": engine, "xengine": correlator}, {"array": array_section(array)}
    )
    return instrument


def turn(options, monitored):
    """Figures of one run, as a dictionary."""
    instrument = chain(options)
    engine = instrument.blocks["f_engine"]
    publisher = monitoring.start(instrument, {"listen": "127.0.0.1:0"}) if monitored else None
    ended, page = threading.Event(), None
    instrument.set_state("starting")
    instrument.top.start()
    instrument.set_state("running")
    if monitored:
        page = threading.Thread(target=follow, args=(publisher.url, ended), daemon=True)
        page.start()
    time.sleep(6)  # the rate at the beginning does not last

    def look():
        found = [time.monotonic(), time.process_time(), engine.nitems_read(0)]
        if monitored:
            found += [
                thread_seconds(publisher._threads),
                process_figures(publisher.server_pid)["seconds"],
            ]
        return found

    before = look()
    time.sleep(options.seconds)
    wall, own, samples, *rest = [b - a for a, b in zip(before, look())]
    instrument.top.stop()
    instrument.top.wait()
    ended.set()
    if monitored:
        publisher.stop()
    made = {"samples_a_second": samples / wall, "samples_a_processor_second": samples / own}
    if rest:
        made.update(publisher=rest[0] / (own + rest[1]), server=rest[1] / (own + rest[1]))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=8, choices=(8, 16))
    parser.add_argument("--channels", type=int, default=1024)
    parser.add_argument("--integration", type=float, default=0.5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--turns", type=int, default=6)
    options = parser.parse_args()
    gr.logging().set_default_level(gr.log_levels.err)
    found = {False: [], True: []}
    for _ in range(options.turns):
        for monitored in (False, True):
            found[monitored].append(turn(options, monitored))
    print(
        f"{options.inputs} inputs, {options.channels} channels, {os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    medians = {
        monitored: {key: statistics.median(one[key] for one in turns) for key in turns[0]}
        for monitored, turns in found.items()
    }
    for key in ("samples_a_second", "samples_a_processor_second"):
        ratios = [b[key] / a[key] for a, b in zip(found[False], found[True])]
        print(
            f"{key}: {medians[False][key]:.4g} without, {medians[True][key]:.4g} with; by turns "
            f"{statistics.median(ratios):.4f}, from {min(ratios):.4f} to {max(ratios):.4f}"
        )
    for key in ("publisher", "server"):
        print(f"{key}: {100 * medians[True][key]:.2f} % of all processors' time")
    print(json.dumps({"options": vars(options), "without": medians[False], "with": medians[True]}))


if __name__ == "__main__":
    main()
