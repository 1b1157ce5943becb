#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`udp:`, packets that come from a network."""

import time

from ..input_format import InputFormat, Option, one_of
from ..packet_options import OPTIONS, parameters_of, signals_of_packets

TRANSPORTS = ("socket", "xdp", "dpdk", "auto")


def interface(text):
    if not text:
        raise ValueError("expected the name of an interface, or its address")
    return text


class Udp(InputFormat):
    kind = "udp"
    summary = "packets of samples from a network (UDP), until Ctrl-C"
    names = "ADDRESS:PORT[,ADDRESS:PORT...]"
    live = True
    options = {
        **OPTIONS,
        "interface": Option(
            interface,
            "network interface that multicast or xdp comes by, as eth1, or a device of dpdk; "
            "default: the system's choice",
            "NAME",
        ),
        "transport": Option(
            one_of(*TRANSPORTS),
            "way in which packets come: socket, or past the system by xdp or dpdk, which need "
            "rights; auto: xdp where it can be had; default: socket",
            "|".join(TRANSPORTS),
        ),
    }

    def parse(self, text, array=None, seed=None):
        request = super().parse(text, array, seed)
        parameters_of(request)  # complains of what is missing
        return request

    def open(self, request):
        parameters = dict(parameters_of(request), addresses=list(request.names))
        for key in ("interface", "transport"):
            if key in request.values:
                parameters[key] = request.values[key]
        now = time.time()
        return signals_of_packets(request, parameters, lambda _: (int(now), now % 1))


FORMAT = Udp()
