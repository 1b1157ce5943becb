#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measures how fast packets are received by each transport that is built and permitted (as root): over
loopback, over veth between two network namespaces, and, without a system between, in a ring of
DPDK's; beside iperf3, and whether any are lost at half of that rate.

    cmake --build build --target bench_packets && python3 bench/packets.py [SECONDS [LONG]]

SECONDS: of each run, default 3; LONG: of the run at half the rate, default 60. A core's rate is
what came over the processor time of the thread that receives and orders, and "us" that time for
each packet. "copy" is that of a copy alone, of memory that is not in the core's caches, as packets
are not: no receiver can take less. Prints a table, then JSON.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "build", "bench", "bench_packets")
SIZES = 1024, 4096, 8192
TRANSPORTS = "socket", "xdp", "dpdk"
SENDER, RECEIVER = "bench_packets_a", "bench_packets_b"


def within(namespace, command):
    return (["ip", "netns", "exec", namespace] if namespace else []) + list(map(str, command))


class Path:
    """The way from a namespace to another one, or over loopback."""

    def __init__(self, name, sender=None, receiver=None, address="127.0.0.1", interface=""):
        self.name, self.sender, self.receiver, self.address = name, sender, receiver, address
        self.interface = interface

    def ours(self, size, seconds, gbit, transport):
        """Returns what the receiver and the sender print; None if it cannot be had."""
        place = f"{self.address}:4015"
        command = [BENCH, "receive", place, size, transport, self.interface]
        if transport == "ring":
            command = [BENCH, "ring", size, seconds, gbit]
        receiver = subprocess.Popen(
            within(self.receiver, command),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if receiver.stdout.readline() != "ready\n":
            print(f"{self.name}, {transport}: {receiver.communicate()[1].strip()}")
            return None
        sent = None
        if transport != "ring":
            sent = subprocess.run(
                within(self.sender, [BENCH, "send", place, size, seconds, gbit]),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
        said = receiver.communicate()[0]
        if sent is None:
            sent, _, said = said.partition("\n")
        return json.loads(said), json.loads(sent)

    def iperf3(self, size, seconds):
        """Gbit/s and the fraction lost."""
        server = subprocess.Popen(
            within(self.receiver, ["iperf3", "-s", "-1", "-p", 4016]), stdout=subprocess.DEVNULL
        )
        time.sleep(0.5)
        done = subprocess.run(
            within(
                self.sender,
                [
                    "iperf3",
                    *f"-c {self.address} -p 4016 -u -b 0 -l {size} -w 4M -t {seconds} -J".split(),
                ],
            ),
            stdout=subprocess.PIPE,
            text=True,
        )
        server.wait(20)
        said = json.loads(done.stdout)["end"]["sum"]
        return (
            said["bits_per_second"] * (1 - said["lost_percent"] / 100) / 1e9,
            said["lost_percent"] / 100,
        )


def make_namespaces():
    for command in (
        f"netns add {SENDER}",
        f"netns add {RECEIVER}",
        f"link add bpa mtu 9000 netns {SENDER} type veth peer name bpb mtu 9000 netns {RECEIVER}",
        f"-n {SENDER} addr add 10.99.0.1/24 dev bpa",
        f"-n {SENDER} link set bpa up",
        f"-n {RECEIVER} addr add 10.99.0.2/24 dev bpb",
        f"-n {RECEIVER} link set bpb up",
        f"-n {RECEIVER} link set lo up",
    ):
        subprocess.run(["ip", *command.split()], check=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3
    long = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    runs, results = [(Path("loopback"), "socket")], []
    ours = os.geteuid() == 0 and shutil.which("ip")
    if ours:
        make_namespaces()
        veth = Path("veth", SENDER, RECEIVER, "10.99.0.2", "bpb")
        runs += [(veth, transport) for transport in TRANSPORTS]
        runs += [(Path("memory"), "ring")]
    try:
        print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores; Gbit/s\n")
        print(
            "path      by      bytes  came   a core     us  copy  lost    "
            f"at half, for {long:g} s: lost   iperf3 (lost)"
        )
        for (path, transport), size in itertools.product(runs, SIZES):
            full = path.ours(size, seconds, 0, transport)
            if not full:
                continue
            got, sent = full
            rate = got["gbit"] / got["seconds"]
            half, half_sent = path.ours(size, long, rate / 2, transport)
            copied = subprocess.run([BENCH, "copy", str(size)], stdout=subprocess.PIPE, text=True)
            copy = float(copied.stdout)
            other = None
            if transport == "socket" and shutil.which("iperf3"):
                other = path.iperf3(size, seconds)
            results.append(
                {
                    "path": path.name,
                    "transport": transport,
                    "bytes": size,
                    "full": got,
                    "sent": sent,
                    "half": half,
                    "half_sent": half_sent,
                    "copy_us": copy,
                    "iperf3": other,
                }
            )
            lost = sent["sent"] - got["packets"]
            half_lost = half_sent["sent"] - half["packets"]
            print(
                f"{path.name:9} {transport:7} {size:5}  {rate:5.2f}  "
                f"{got['gbit'] / got['receiver_cpu']:6.1f}  "
                f"{1e6 * got['receiver_cpu'] / got['packets']:5.2f} {copy:5.2f}  "
                f"{lost / sent['sent']:6.1%}  "
                f"{rate / 2:5.2f}: {half_lost} of {half_sent['sent']} (overrun "
                f"{half['overrun']}, dropped {half['dropped']}), "
                f"{half['receiver_cpu'] / half['seconds']:.0%} of a core"
                + (f"   {other[0]:.2f} ({other[1]:.1%})" if other else ""),
                flush=True,
            )
    finally:
        for namespace in (SENDER, RECEIVER) if ours else ():
            subprocess.run(["ip", "netns", "del", namespace])
    print(json.dumps({"load": os.getloadavg(), "cores": os.cpu_count(), "runs": results}))


if __name__ == "__main__":
    main()
