#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Failures by chance in a correlator of two F-engines and two X-engines, each in a network namespace
(root is needed): hosts killed and started again, stopped for a while, cables taken out, packets
lost, links slowed, noise of a stranger. Nothing may hang, and all that is complete must be what a
single process makes of the same samples.

    tools/run python3 tests/long/host_failures.py [--failures 50] [--seed 1] [--folder FOLDER]
"""

import argparse
import collections
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))
from hosts import CHANNELS, HOSTS, INTEGRATION, PORT, Network, Observation, compare, end

ENGINES = [host for host in HOSTS if host != "d"]


class Failures:
    """The failures of running hosts."""

    def __init__(self, network, observation, rng):
        self.network, self.observation, self.rng = network, observation, rng
        self.running = {}

    def start(self, host):
        self.running[host] = self.observation.start_host(self.network, host)

    def back(self, host):
        """Returns whether a host does its work."""
        return self.running[host].poll() is None and self.network.listens(host)

    def kill(self, host):
        self.running[host].kill()
        self.running[host].wait()
        time.sleep(self.rng.uniform(0, 2))
        self.start(host)

    def freeze(self, host):
        self.running[host].send_signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.2, 2))
        self.running[host].send_signal(signal.SIGCONT)

    def cut(self, host):
        self.network.cut(host, True)
        time.sleep(self.rng.uniform(0.1, 2))
        self.network.cut(host, False)

    def lose(self, host):
        self.network.lose(host, self.rng.randrange(1, 60))
        time.sleep(self.rng.uniform(0.5, 3))
        self.network.lose(host, 0)

    def slow(self, host):
        self.network.slow(host, self.rng.choice((200, 1000, 4000)))
        time.sleep(self.rng.uniform(0.5, 3))
        self.network.slow(host, 0)

    def noise(self, host):
        """Packets of nothing, and of heaps of 2^47 bytes, from the digitisers' host."""
        forged = (
            bytes.fromhex(
                "5304020600000005"
                "8001000000000007"
                "80027fffffffffff"
                "8003000000000000"
                "8004000000000008"
                "9600000000000001"
            )
            + b"x" * 8
        )
        program = (
            "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"for i in range(20000): s.sendto(os.urandom(i % 200) if i % 2 else "
            f"{forged!r}, ('10.37.0.{HOSTS[host]}', {PORT}))"
        )
        self.network.command("d", sys.executable, "-c", program)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--failures", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="host_failures")
    pathlib.Path(folder).mkdir(exist_ok=True, parents=True)
    observation, counts = Observation(folder), collections.Counter()
    began = time.monotonic()
    with Network() as network:
        failures = Failures(network, observation, random.Random(options.seed))
        rng = failures.rng
        try:
            for host in ENGINES:
                failures.start(host)
            network.wait_for(ENGINES)
            digitisers = observation.start_digitisers(network)
            observation.wait_for_files("x?-*.uvh5", 2)
            for number in range(options.failures):
                host = rng.choice([name for name in ENGINES if failures.back(name)] or ENGINES)
                what = rng.choice(("kill", "freeze", "cut", "lose", "slow", "noise"))
                print(f"{time.monotonic() - began:6.1f} s: {number + 1}: {what} {host}", flush=True)
                if what == "kill" and not failures.back(host):
                    what = "cut"
                getattr(failures, what)(host)
                counts[what] += 1
                time.sleep(rng.uniform(0, 2))
            network.wait_for(ENGINES)
            files = len(list(observation.folder.glob("x?-*.uvh5")))
            time.sleep(8 * INTEGRATION)
            observation.stop()
            codes = {host: end(process, 60) for host, process in failures.running.items()}
            end(digitisers)
        finally:
            for process in [*failures.running.values(), digitisers]:
                process.kill()
                process.wait()
    single = observation.single()
    found = compare(single, observation.merged())
    complete = found["complete"]
    last = complete[found["times"] >= len(single[0]) - 5]
    print(
        f"{sum(counts.values())} failures: "
        + ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    )
    print(
        f"{len(single[0])} integrations of {INTEGRATION:g} s, {CHANNELS} channels, {files} "
        f"files; exit codes {codes}"
    )
    print(
        f"complete: {100 * complete.mean():.1f} %, partly: "
        f"{100 * found['partial'].mean():.1f} %, none: {100 * found['flagged'].mean():.1f} %"
    )
    print(
        f"complete and not what a single process makes: {found['wrong']} (and {found['rounded']} "
        f"where a voltage was rounded otherwise); at other times: {found['alien']}"
    )
    good = (
        found["wrong"] == 0
        and found["alien"] == 0
        and set(codes.values()) == {0}
        and last.any(axis=0).all()
        and np.count_nonzero(complete)
    )
    print("good" if good else f"NOT GOOD: logs and files are in {folder}")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}: {error.stderr}")
