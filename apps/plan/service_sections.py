#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sections of plans of several hosts, and of a service: what each field means, and the rules
between fields."""

from dataclasses import dataclass, fields

from .. import spead_sink
from ..network.addresses import parse_addresses
from ..parameters.description import Integer, Number, Switch, Text
from ..parameters.times import read_time
from . import texts
from .fields import Form, Seconds, key, like
from .signal_sections import METHODS

DEFAULT_HEAP = 64  # spectra
DEFAULT_WINDOW = 1.0  # s
ROLES = ("fx", "f", "x")
#: fields of the network that only a part of a correlator has
OF_PARTS = ("to", "listen", "inputs", "channels")


def addresses(meaning):
    """One address, or several with commas between them."""
    return Form(meaning, lambda text: parse_addresses("address", text), "HOST:PORT, ...")


def PartOf(meaning):
    """Part K of N equal ones, as K/N."""
    return Text(
        meaning,
        reader=texts.part,
        allowed="K/N: part K, from 0, of N",
        form={"type": "string", "pattern": "^[0-9]{1,6}/[0-9]{1,6}$"},
    )


@dataclass(frozen=True)
class Network:
    """The part of a correlator that this host has of several, and the network between them."""

    role: Text(
        "role of this host: f channelises inputs and sends their voltages to X-engines, x "
        "correlates a part of the channels, fx does all",
        *ROLES,
    ) = key("fx", "--role")
    channels: PartOf("with role x: takes part K (from 0) of N of the channels") = key(
        None, "--channels-of", metavar="K/N", otherwise="0/1"
    )
    inputs: PartOf("with role f: takes part K (from 0) of N of the array's inputs") = key(
        None, "--inputs-of", metavar="K/N", otherwise="0/1"
    )
    listen: addresses("with role x: address that voltages come to, or a group of multicast") = key(
        None, "--listen", metavar="HOST:PORT"
    )
    to: addresses("with role f: addresses of all X-engines, in the order of their channels") = key(
        None, "--to", metavar="HOST:PORT,..."
    )
    sync_time: Form("UTC, or seconds since 1970, from which all hosts count samples", read_time) = (
        key(
            None,
            "--sync-time",
            metavar="TIME",
            otherwise="that of the input, or of its first sample, which all hosts have to agree on",
        )
    )
    spectra_per_heap: Integer("spectra that an F-engine sends at once", 1, 1 << 20) = key(
        DEFAULT_HEAP, "--spectra-per-heap", metavar="N"
    )
    window: Seconds("time that an X-engine waits for voltages that are late") = key(
        DEFAULT_WINDOW, "--heap-window", metavar="SECONDS"
    )
    rate_factor: like(
        spead_sink,
        "rate_factor",
        most=1e6,
        meaning="packets are sent at so many times the rate of the signal; 0: as fast as they come",
    ) = key(1.05, "--rate-factor", metavar="FACTOR")
    interface: Text("address of the network interface, for multicast") = key(
        "", "--interface", metavar="ADDRESS", otherwise="the system's choice"
    )

    def check(self, plan):
        """Refuses what does not fit the role."""
        if self.role == "fx":
            for name in OF_PARTS:
                if getattr(self, name) is not None:
                    raise plan.error(
                        f"network.{name}", f"needs a {plan.naming('network.role')} of a part"
                    )
            return
        if plan.engines.format != "sc8":
            raise plan.error("engines.format", "between hosts voltages are sc8", shown=True)
        if plan.engines.oversampling != "1":
            raise plan.error(
                "engines.oversampling",
                "between hosts channels are critically sampled: it must be 1",
                shown=True,
            )
        for name in METHODS:
            if getattr(plan.flagging, name) is not None:
                raise plan.error(
                    f"flagging.{name}",
                    "flags do not go between hosts; flag where all is one process",
                )
        if self.role == "f" and self.to is None:
            raise plan.error(
                "network.role",
                f"needs {plan.naming('network.to')}, the addresses of the X-engines",
                shown=True,
            )
        if self.role == "x":
            if self.listen is None:
                raise plan.error(
                    "network.role",
                    f"needs {plan.naming('network.listen')}, the address that voltages come to",
                    shown=True,
                )
            if plan.voltages.file is not None:
                raise plan.error("voltages.file", "are written by the hosts with the role f")
            if plan.outputs.file is None:
                raise plan.error("outputs.file", "is missing")


@dataclass(frozen=True)
class Host:
    """One host of several: its part of the correlator, and what it has in the place of what the
    plan says for all."""

    role: Text("f, x or fx", *ROLES) = "fx"
    channels: PartOf("which part of the channels an X-engine takes") = None
    inputs: PartOf("which part of the inputs an F-engine takes") = None
    address: addresses("where an X-engine listens, and F-engines send to") = None
    device: Form("as the section device has its name", texts.device_name) = None
    input: Text("as the section input has its source") = None
    output: Text("as the section outputs has its file") = None


#: field of a host -> field of a plan that it takes the place of
HOST_PLACES = {
    "role": "network.role",
    "channels": "network.channels",
    "inputs": "network.inputs",
    "address": "network.listen",
    "device": "device.name",
    "input": "input.source",
    "output": "outputs.file",
}


def values_of_host(plan, name):
    """{field of a plan: value} of a host: what it has itself, and where it sends to."""
    host = plan.hosts[name]
    found = {
        HOST_PLACES[entry.name]: getattr(host, entry.name)
        for entry in fields(host)
        if getattr(host, entry.name) is not None or HOST_PLACES[entry.name].startswith("network.")
    }
    if host.role == "f":
        found["network.to"] = destinations(plan)
    return found


def destinations(plan):
    """Addresses of all X-engines, in the order of their channels, with commas between them."""
    engines = {}
    for name, host in plan.hosts.items():
        if host.role != "x":
            continue
        if host.address is None:
            raise plan.error(f"hosts.{name}", "has no address, to which F-engines could send")
        which = host.channels or texts.Part(0, 1)
        if which.number in engines or any(
            which.count != other.count for other, _ in engines.values()
        ):
            raise plan.error(
                f"hosts.{name}.channels", f"{which} does not fit what other hosts have"
            )
        engines[which.number] = which, host.address
    count = max([1, *(which.count for which, _ in engines.values())])
    if len(engines) != count:
        raise plan.error(
            "hosts", f"{len(engines)} of {count} parts of the channels have an X-engine"
        )
    return ",".join(engines[number][1] for number in range(count))


@dataclass(frozen=True)
class Service:
    """Actions when something fails."""

    restart: Switch(
        "true if the flowgraph is made anew when a receiver fails or integrations stop"
    ) = False
    restart_after: Seconds("the first wait before that; each one is twice the one before") = 1.0
    restart_longest: Seconds("the longest of these waits") = 60.0
    watchdog: Number(
        "time without an integration after which something has failed; 0: nothing is looked after",
        0,
        1e6,
        unit="seconds",
    ) = key(None, otherwise="10 s, and five integrations")
