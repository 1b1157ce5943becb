#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Computes what six arrays take, on paper, with the rates of docs/performance.md: the tables of
docs/design/scale.md.

    bench/scale.py          prints the tables
    bench/scale.py --write  puts them into the page

tests/test_scale.py checks that the page has them.
"""

import math
import pathlib
import re
import sys
from dataclasses import dataclass

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/design/scale.md"

# ---- what was measured (docs/performance.md, one H200)
#: antennas of two inputs -> useful TOP/s of the X-engine, sc8, hot
XENGINE = {
    2: 39.5,
    4: 74.0,
    8: 132.7,
    16: 261.6,
    32: 454.3,
    64: 757.4,
    128: 1087.9,
    256: 1180.6,
    512: 1292.2,
}
#: (type of samples, channels) -> Gsample/s of f_engine, with delays where they were measured
FENGINE = {
    ("sc8", 1024): 431,
    ("sc8", 4096): 331,
    ("sc4", 1024): 442,
    ("sc4", 4096): 332,
    ("s8", 1024): 581,
    ("s8", 8192): 204,
    ("s10", 1024): 367,
    ("sc4", 8192): 265,
}
PCIE = 51.6e9  # bytes a second, host to device, pinned
NVLINK = 217e9  # bytes/s of an all-to-all of two H100 (anchors.md), the slowest size
DEVICE_COPY = 4.05e12  # read plus written
KERNEL_UDP = 14.0e9 / 8  # a core, 8 KiB packets, where the sender was the limit
BYPASS = 8192 / 1.70e-6  # a core, of packets of 8 KiB: DPDK's net_ring, docs/performance-network.md
LINK = 0.9 * 100e9 / 8  # bytes/s of 100 Gbit/s Ethernet, less headers and pauses
SOCKET = 64 << 20  # bytes in the kernel


@dataclass(frozen=True)
class Array:
    """An array and what is asked of it. bandwidth: Hz; bits: of a sample; real: samples are real,
    of twice the rate; voltage: bytes of a complex voltage between F and X; integration: s; like:
    key of FENGINE."""

    name: str
    inputs: int
    bandwidth: float
    channels: int
    bits: int
    real: bool
    voltage: int
    integration: float
    like: tuple

    @property
    def rate(self):
        return self.bandwidth * (2 if self.real else 1)

    @property
    def raw(self):
        """Bytes a second of the digitisers."""
        return self.inputs * self.rate * self.bits / 8

    @property
    def voltages(self):
        return self.inputs * self.bandwidth * self.voltage

    @property
    def visibilities(self):
        return self.channels * self.inputs * (self.inputs + 1) / 2 * 8 / self.integration

    @property
    def f_gpus(self):
        """GPUs that channelise, of their time."""
        return self.inputs * self.rate / (1e9 * FENGINE[self.like])

    @property
    def x_gpus(self):
        """GPUs that correlate, of their time."""
        antennas = self.inputs / 2
        rate = XENGINE[max(size for size in XENGINE if size <= max(2, antennas))]
        return 8 * self.inputs * (self.inputs + 1) / 2 * self.bandwidth / (1e12 * rate)

    @property
    def ports(self):
        """100 GbE ports: of F-engines, which take samples and send voltages at once, and of
        X-engines."""
        return (max(self.raw, self.voltages) + self.voltages) / LINK

    @property
    def pcie_gpus(self):
        """GPUs whose buses samples, and voltages from the network, take."""
        return (self.raw + self.voltages) / PCIE


ARRAYS = (
    Array("BEST-2", 32, 20e6, 1024, 8, False, 1, 1.0, ("sc4", 1024)),
    Array("MWA-128", 256, 30.72e6, 3072, 16, False, 2, 0.5, ("sc8", 4096)),
    Array("MeerKAT, 64 antennas", 128, 856e6, 4096, 10, True, 2, 0.5, ("s10", 1024)),
    Array("DSA-110", 220, 187.5e6, 6144, 8, False, 1, 0.1, ("sc4", 8192)),
    Array("CHIME-size, 1024 inputs", 1024, 400e6, 1024, 8, True, 1, 10.0, ("s8", 1024)),
    Array("2048 antennas", 4096, 1300e6, 8192, 8, True, 2, 1.0, ("s8", 8192)),
)


def size(value):
    """Bytes a second with a unit."""
    for unit, factor in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} B/s"


def count(value):
    return str(max(1, math.ceil(value - 1e-9)))


def part(value):
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def markdown(head, rows):
    return "\n".join(
        [
            "| " + " | ".join(head) + " |",
            "|" + "---|" * len(head),
            *("| " + " | ".join(row) + " |" for row in rows),
        ]
    )


def edges():
    """Bytes a second on every edge."""
    rows = []
    for array in ARRAYS:
        rows.append(
            (
                array.name,
                f"{array.inputs} × {array.bandwidth / 1e6:g} MHz",
                size(array.raw),
                size(array.voltages),
                size(array.raw + array.voltages),
                size(array.visibilities),
            )
        )
    return markdown(
        ("array", "inputs", "digitisers to F", "F to X", "into GPUs (PCIe)", "visibilities"), rows
    )


def gpus():
    """Prints how many GPUs and links are needed, and what is short first."""
    rows = []
    for array in ARRAYS:
        compute = array.f_gpus + array.x_gpus
        least = max(compute, array.pcie_gpus)
        network = array.ports
        needs = {
            "F-engine": array.f_gpus,
            "X-engine": array.x_gpus,
            "PCIe": array.pcie_gpus,
            "network": network,
        }
        rows.append(
            (
                array.name,
                part(array.f_gpus),
                part(array.x_gpus),
                part(array.pcie_gpus),
                count(least),
                count(network),
                count((array.raw + array.voltages) / KERNEL_UDP),
                count((array.raw + array.voltages) / BYPASS),
                max(needs, key=needs.get),
            )
        )
    return markdown(
        (
            "array",
            "F-engine",
            "X-engine",
            "PCIe",
            "GPUs",
            "100 GbE ports",
            "cores, kernel UDP",
            "cores, DPDK",
            "short first",
        ),
        rows,
    )


def one_host():
    """The exchange between the GPUs of a host, where all of an array is in one."""
    rows = []
    for array in ARRAYS:
        number = max(2, math.ceil(max(array.f_gpus + array.x_gpus, array.pcie_gpus)))
        each = array.voltages * (number - 1) / number / number
        fits = "yes" if number <= 8 else "no"
        rows.append(
            (
                array.name,
                str(number),
                size(each),
                f"{100 * each / NVLINK:.2g} %",
                f"{100 * 2 * array.voltages / number / DEVICE_COPY:.2g} %",
                fits,
            )
        )
    return markdown(
        (
            "array",
            "GPUs",
            "each sends by NVLink",
            "of it",
            "device memory for the corner turn",
            "in one host of 8",
        ),
        rows,
    )


def windows():
    """Prints how much memory a window of time takes in a receiver, and what a socket bridges."""
    rows = []
    for array in ARRAYS:
        hosts = max(1, math.ceil(array.voltages / (4 * LINK)))
        each = array.voltages / hosts
        rows.append(
            (
                array.name,
                str(hosts),
                size(each),
                *(f"{each * seconds / 1e9:.2g} GB" for seconds in (0.01, 0.1, 1.0)),
                f"{1e3 * SOCKET / each:.3g} ms",
            )
        )
    return markdown(
        (
            "array",
            "X hosts of four ports",
            "each receives",
            "10 ms",
            "100 ms",
            "1 s",
            "64 MiB in the kernel last",
        ),
        rows,
    )


def losses():
    """Prints which fraction of spectra is missing where packets are lost by chance."""
    rows = []
    for packets in (1, 4, 16, 64):
        rows.append(
            (
                f"{packets * 8} KiB",
                *(f"{1 - (1 - lost) ** packets:.2g}" for lost in (1e-6, 1e-4, 1e-2)),
            )
        )
    return markdown(("heap", "1 packet of 10⁶ lost", "of 10⁴", "of 100"), rows)


TABLES = {"edges": edges, "gpus": gpus, "one host": one_host, "windows": windows, "losses": losses}


def filled(text):
    """The page's text with the tables of today."""
    for name, make in TABLES.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text, found = re.subn(
            pattern, lambda match, make=make: match[1] + make() + "\n" + match[2], text, flags=re.S
        )
        if found != 1:
            raise ValueError(f"{PAGE}: no place for the table {name!r}")
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(filled(PAGE.read_text()))
    else:
        for title, table in TABLES.items():
            print(f"{title}\n\n{table()}\n")
