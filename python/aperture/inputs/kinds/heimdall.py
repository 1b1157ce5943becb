#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`heimdall:`, the coherent channels of a KrakenSDR."""

import contextlib
import time

from ...heimdall_source import heimdall_source
from ...network.addresses import address_text, server_address
from ...network.heimdall import CONTROL_PORT, PORT, Client
from ...parameters.errors import ParameterError
from ...parameters.rules import number_reader, whole_reader
from ...streams.silent_block import silent
from ..input_format import InputFormat, Option, one_of
from ..receivers import array_of_receivers
from ..recordings import describe_with
from ..signals import Signals
from ..values import hertz

PATIENCE = 10.0  # s without a frame


class Heimdall(InputFormat):
    kind = "heimdall"
    summary = "a KrakenSDR by way of heimdall_daq_fw (TCP), until Ctrl-C"
    names = "HOST[:PORT]"
    options = {
        "freq": Option(
            hertz(1, 1e12, 10_000), "frequency on the sky; default: to which it is tuned", "HZ"
        ),
        "gain": Option(
            number_reader(-100, 100, "dB"),
            "gain of all channels, the nearest that the tuners have; default: as it is",
            "DB",
        ),
        "control": Option(
            whole_reader(1, 65535), f"port of its controller; default: {CONTROL_PORT}", "PORT"
        ),
        "calibrated": Option(
            one_of("yes", "no"),
            "yes: phases have to be corrected; no: delays alone, where its en_iq_cal is 0; "
            "default: yes",
            "yes|no",
        ),
    }

    def open(self, request):
        values = request.values
        if len(request.names) != 1:
            raise request.error("one KrakenSDR is an input, of all its channels")
        try:
            host, port = server_address("address", request.names[0], PORT)
        except ParameterError as error:
            raise request.error(str(error)) from None
        with contextlib.closing(Client(host, port, PATIENCE)) as client:
            header = client.next_data()
        frequency = float(values.get("freq", header.frequency))
        description, warnings = describe_with(
            request,
            "the KrakenSDR",
            lambda: array_of_receivers(header.channels, header.rate, frequency),
            header.channels,
            header.rate,
            frequency,
        )
        parameters = dict(
            address=address_text(host, port),
            channels=header.channels,
            frequency=float(values.get("freq", 0)),
            gain=values.get("gain"),
            control_port=values.get("control", CONTROL_PORT),
            calibrated=values.get("calibrated", "yes") == "yes",
            silence=PATIENCE,
        )
        now = time.time()
        return Signals(
            description,
            "fc32",
            float(header.rate),
            frequency,
            None,
            lambda samples: silent(heimdall_source, samples=samples, **parameters),
            (int(now), now % 1),
            warnings=warnings,
            ports=header.channels,
            endless=True,
        )


FORMAT = Heimdall()
