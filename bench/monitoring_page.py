#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures what the page of monitoring keeps in memory when it is open for long: 24 hours' worth of
updates, one a second, as fast as server and browser take them, every fifth with an integration.
Prints what JavaScript uses, and how many nodes and listeners there are, from time to time.

    tools/run python3 bench/monitoring_page.py [UPDATES]
    tools/run python3 bench/monitoring_page.py --picture FILE.png

The second makes the picture of docs/monitoring.md, of a simulated array, in a minute.
"""

import argparse
import asyncio
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))

from gnuradio import gr

from browser import Browser
from gnuradio.aperture import monitoring
from gnuradio.aperture.testing.fed_server import FedServer
from gnuradio.aperture.testing.monitored import run, simulated, stop
from test_monitoring_page import follow

DAY = 86400
TIMES = 24


def resident(process):
    """Megabytes of memory of a process."""
    return int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 1e6


async def measure(updates):
    """Prints what is kept after each part of so many updates."""
    with FedServer(pause=0.0) as server:
        async with Browser() as browser:
            begin = time.monotonic()
            for part in range(TIMES):
                ((heap, nodes, listeners),) = await follow(
                    browser, server, updates // TIMES, updates // TIMES, 50, 5, part == 0
                )
                print(
                    f"{(part + 1) * updates // TIMES:6d} updates, "
                    f"{time.monotonic() - begin:5.0f} s: heap {heap / 1e6:.2f} MB, "
                    f"{nodes} nodes, {listeners} listeners; "
                    f"server {resident(server.pid):.0f} MB",
                    flush=True,
                )


async def draw(path):
    """A picture of the page of an array that has run for a minute."""
    gr.logging().set_default_level(gr.log_levels.err)
    instrument = simulated("y16", rate=2e4, channels=128, type="sc8")
    publisher = monitoring.start(instrument, {"listen": "127.0.0.1:0"})
    run(instrument)
    try:
        async with Browser(1280, 1345) as browser:
            await browser.open(publisher.url)
            await asyncio.sleep(60)
            await browser.picture(path)
    finally:
        stop(instrument)
        publisher.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("updates", nargs="?", type=int, default=DAY)
    parser.add_argument("--picture", metavar="FILE.png")
    options = parser.parse_args()
    asyncio.run(draw(options.picture) if options.picture else measure(options.updates))


if __name__ == "__main__":
    main()
