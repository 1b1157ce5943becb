#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A correlator of several hosts: which part each one has, and where the parts send.

F-engines have some of the inputs and all channels, X-engines some of the channels and all inputs.
Between them go heaps as MeerKAT's F-engines send them.
"""

import argparse
import re
from dataclasses import dataclass
from fractions import Fraction

from ..arguments.argument_types import argument, number, positive_seconds, whole_number
from ..network.addresses import parse_addresses
from ..parameters.times import read_time
from .plan import Named
from .running import CommandError

ROLES = ("fx", "f", "x")
DEFAULT_SPECTRA = 64  # spectra of a heap
DEFAULT_WINDOW = 1.0  # s
KEYS = {
    "role": "f, x or fx",
    "channels": "K/N: which part of the channels an X-engine takes",
    "inputs": "K/N: which part of the inputs an F-engine takes",
    "address": "HOST:PORT where an X-engine listens",
    "device": "as --device",
    "input": "as --input",
    "output": "as --output",
}
HOSTS = {"hosts": Named("hosts", **KEYS)}
NETWORK_SCHEMA = {
    "network": {
        "role": "role",
        "channels": "channels_of",
        "inputs": "inputs_of",
        "listen": "listen",
        "to": "to",
        "sync_time": "sync_time",
        "spectra_per_heap": "spectra_per_heap",
        "window": "heap_window",
        "rate_factor": "rate_factor",
        "interface": "interface",
    }
}


@dataclass(frozen=True, repr=False)
class Part:
    """Part `number`, from 0, of `count` equal ones."""

    number: int
    count: int

    def range_of(self, name, total, multiple=1):
        """(first, how many) of so many things, of which parts are a multiple."""
        if total % self.count or total // self.count % multiple:
            raise CommandError(
                f"{name}: {total} cannot be divided into {self.count} equal parts"
                + (f" of a multiple of {multiple}" if multiple > 1 else "")
            )
        each = total // self.count
        return self.number * each, each

    def __repr__(self):
        # the form of plans
        return f"{self.number}/{self.count}"


def part(text):
    """K/N, as argparse has types."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if not found or int(found[1]) >= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text}: expected K/N, part K of N, from 0/N to (N-1)/N")
    return Part(int(found[1]), int(found[2]))


addresses = argument(lambda text: parse_addresses("address", text), kept=True)
#: a time, which as a text is exact
sync_time = argument(read_time, kept=True)


def add_host_options(add):
    """Adds the options of a correlator of several hosts."""
    add(
        "--role",
        choices=ROLES,
        default="fx",
        help="role of this host: f channelises inputs and sends their voltages to "
        "X-engines, x correlates a part of the channels, fx does all (default: "
        "%(default)s)",
    )
    add(
        "--inputs-of",
        type=part,
        metavar="K/N",
        help="with --role f: takes part K (from 0) of N of the array's inputs (default: 0/1)",
    )
    add(
        "--channels-of",
        type=part,
        metavar="K/N",
        help="with --role x: takes part K (from 0) of N of the channels (default: 0/1)",
    )
    add(
        "--to",
        type=addresses,
        metavar="HOST:PORT,...",
        help="with --role f: addresses of all X-engines, in the order of their channels",
    )
    add(
        "--listen",
        type=addresses,
        metavar="HOST:PORT",
        help="with --role x: address that voltages come to, or a group of multicast",
    )
    add(
        "--host",
        metavar="NAME",
        help="takes what the section `hosts` of the plan says of this host",
    )
    add(
        "--sync-time",
        type=sync_time,
        metavar="TIME",
        help="UTC, or seconds since 1970, from which all hosts count samples (default: that of the "
        "input, or of its first sample, which all hosts have to agree on)",
    )
    add(
        "--spectra-per-heap",
        type=whole_number(1, 1 << 20),
        default=DEFAULT_SPECTRA,
        metavar="N",
        help="spectra that an F-engine sends at once (default: %(default)s)",
    )
    add(
        "--heap-window",
        type=positive_seconds(False),
        default=DEFAULT_WINDOW,
        metavar="SECONDS",
        help="time that an X-engine waits for voltages that are late (default: %(default)g)",
    )
    add(
        "--rate-factor",
        type=number(0, 1e6),
        default=1.05,
        metavar="FACTOR",
        help="packets are sent at so many times the rate of the signal; 0: as fast as they come "
        "(default: %(default)s)",
    )
    add(
        "--interface",
        default="",
        metavar="ADDRESS",
        help="address of the network interface, for multicast (default: the system's choice)",
    )
    add(
        "--gain",
        type=number(0, above=True),
        metavar="GAIN",
        help="gain of all inputs, for sc8, instead of a measured one",
    )


def take_host(options):
    """Puts what the plan says of --host into the options."""
    hosts = getattr(options, "hosts", None) or {}
    readers = {"role": _role, "channels": part, "inputs": part, "address": addresses}
    found = {}
    for name, keys in hosts.items():
        found[name] = {}
        for key, text in keys.items():
            try:
                found[name][key] = readers.get(key, str)(text)
            except argparse.ArgumentTypeError as error:
                raise CommandError(f"hosts.{name}.{key}: {error}") from None
    if options.host is None:
        return
    if options.host not in found:
        raise CommandError(
            f"--host {options.host}: the plan has " + (", ".join(found) or "no section `hosts`")
        )
    mine = found[options.host]
    options.role = mine.get("role", "fx")
    options.channels_of, options.inputs_of = mine.get("channels"), mine.get("inputs")
    options.listen = mine.get("address")
    for key in ("device", "input", "output"):
        if key in mine:
            setattr(options, key, mine[key])
    if options.role == "f":
        options.to = _destinations(found)


def _role(text):
    if text not in ROLES:
        raise argparse.ArgumentTypeError(f"{text}: expected {', '.join(ROLES)}")
    return text


def _destinations(hosts):
    """Addresses of all X-engines, in the order of their channels."""
    engines = {}
    for name, keys in hosts.items():
        if keys.get("role") != "x":
            continue
        if "address" not in keys:
            raise CommandError(f"hosts.{name}: has no address, to which F-engines could send")
        which = keys.get("channels", Part(0, 1))
        if which.number in engines or any(
            which.count != other.count for other, _ in engines.values()
        ):
            raise CommandError(f"hosts.{name}.channels: {which} does not fit what other hosts have")
        engines[which.number] = which, keys["address"]
    count = next((which.count for which, _ in engines.values()), 0)
    if len(engines) != max(1, count):
        raise CommandError(
            f"hosts: {len(engines)} of {max(1, count)} parts of the channels have an X-engine"
        )
    return ",".join(engines[number][1] for number in range(count))


def check_role(options):
    """Refuses options that do not fit the role."""
    if options.role == "fx":
        for name in ("to", "listen", "inputs_of", "channels_of"):
            if getattr(options, name) is not None:
                raise CommandError(f"--{name.replace('_', '-')}: needs a --role of a part")
        return
    if getattr(options, "devices", None) is not None:
        raise CommandError(
            f"--devices {options.devices}: not with --role {options.role}: a part "
            "of a correlator has one device"
        )
    if options.format != "sc8":
        raise CommandError(f"--format {options.format}: between hosts voltages are sc8")
    if options.flag:
        raise CommandError("--flag: flags do not go between hosts; flag where all is one process")
    if options.role == "f" and options.to is None:
        raise CommandError("--role f: needs --to, the addresses of the X-engines")
    if options.role == "x" and options.listen is None:
        raise CommandError("--role x: needs --listen, the address that voltages come to")
    if options.role == "x" and options.voltages is not None:
        raise CommandError("--voltages: are written by the hosts with --role f")


def polarizations_of(description):
    """2 where each antenna has two inputs, one after the other; else 1. All hosts find the same."""
    inputs = description.inputs
    pairs = len(inputs) % 2 == 0 and all(
        a.antenna == b.antenna for a, b in zip(inputs[::2], inputs[1::2])
    )
    return 2 if pairs else 1


def sync_of(signals, options):
    """Seconds since 1970 at timestamp 0."""
    if options.sync_time is not None:
        return read_time(options.sync_time)
    if signals.sync_time is not None:
        return signals.sync_time
    if signals.live or signals.endless:
        raise CommandError(
            "--sync-time: must be given, as this input does not say from when its "
            "hosts count samples"
        )
    seconds, fraction = signals.start_time
    return seconds + Fraction(fraction)
