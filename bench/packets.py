#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measures how fast packets are received, over loopback and over veth between two network namespaces
(as root), beside iperf3, and whether any are lost at half of that rate.

    cmake --build build --target bench_packets && python3 bench/packets.py [SECONDS [LONG]]

SECONDS: of each run, default 3; LONG: of the run at half the rate, default 60. A core's rate is
what came over the processor time of the thread that receives and orders. Prints a table, then JSON.
"""

import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "build", "bench", "bench_packets")
SIZES = 1024, 4096, 8192
SENDER, RECEIVER = "bench_packets_a", "bench_packets_b"


def within(namespace, command):
    return (["ip", "netns", "exec", namespace] if namespace else []) + list(map(str, command))


class Path:
    """The way from a namespace to another one, or over loopback."""

    def __init__(self, name, sender=None, receiver=None, address="127.0.0.1"):
        self.name, self.sender, self.receiver, self.address = name, sender, receiver, address

    def ours(self, size, seconds, gbit):
        """Returns what the receiver and the sender print."""
        place = f"{self.address}:4015"
        receiver = subprocess.Popen(
            within(self.receiver, [BENCH, "receive", place, size]),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert receiver.stdout.readline() == "ready\n"
        sent = subprocess.run(
            within(self.sender, [BENCH, "send", place, size, seconds, gbit]),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(receiver.communicate()[0]), json.loads(sent.stdout)

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
    paths, results = [Path("loopback")], []
    if os.geteuid() == 0 and shutil.which("ip"):
        make_namespaces()
        paths.append(Path("veth", SENDER, RECEIVER, "10.99.0.2"))
    try:
        print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores; Gbit/s\n")
        print(
            f"path      bytes  came   a core  lost    at half, for {long:g} s: lost   iperf3 (lost)"
        )
        for path in paths:
            for size in SIZES:
                got, sent = path.ours(size, seconds, 0)
                rate = got["gbit"] / got["seconds"]
                half, half_sent = path.ours(size, long, rate / 2)
                other = path.iperf3(size, seconds) if shutil.which("iperf3") else None
                results.append(
                    {
                        "path": path.name,
                        "bytes": size,
                        "full": got,
                        "sent": sent,
                        "half": half,
                        "half_sent": half_sent,
                        "iperf3": other,
                    }
                )
                lost = sent["sent"] - got["packets"]
                half_lost = half_sent["sent"] - half["packets"]
                print(
                    f"{path.name:9} {size:5}  {rate:5.2f}  "
                    f"{got['gbit'] / got['receiver_cpu']:6.1f}  {lost / sent['sent']:6.1%}  "
                    f"{rate / 2:5.2f}: {half_lost} of {half_sent['sent']} (overrun "
                    f"{half['overrun']}, dropped {half['dropped']}), "
                    f"{half['receiver_cpu'] / half['seconds']:.0%} of a core"
                    + (f"   {other[0]:.2f} ({other[1]:.1%})" if other else ""),
                    flush=True,
                )
    finally:
        for namespace in (SENDER, RECEIVER) if len(paths) > 1 else ():
            subprocess.run(["ip", "netns", "del", namespace])
    print(json.dumps({"load": os.getloadavg(), "cores": os.cpu_count(), "runs": results}))


if __name__ == "__main__":
    main()
