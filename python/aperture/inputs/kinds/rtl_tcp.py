#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`rtl_tcp:`, RTL-SDRs that rtl_tcp serves over a network."""

from dataclasses import replace

from ...network import rtl_tcp
from ...parameters.errors import ParameterError
from ...parameters.rules import whole_reader
from ...rtl_tcp_source import rtl_tcp_source
from ...streams.silent_block import silent
from ..input_format import Option
from ..receivers import OPTIONS, Driver, Ranges, ReceiverFormat, choice

#: options of a single server: the parameter of the source, and how it is written
OF_A_SERVER = {
    "bias": (
        "bias_tee",
        Option(whole_reader(0, 1), "1: 4.5 V on the cable from the start (default: 0)", "0|1"),
    ),
    "ppm": (
        "correction",
        Option(whole_reader(-1000, 1000), "error of the dongle's crystal in ppm (default: 0)", "N"),
    ),
}
#: one server is one dongle, of one connector and one input, whose clock nobody chooses and whose
#: samples have no times
LACKING = ("antenna", "channels", "clock", "time", "follow_clock")
PINS = "gpio"  # the name of the bank
SETTERS = {
    "rate": "use_rate",
    "bandwidth": "use_bandwidth",
    "freq": "set_frequency",
    "gain": "set_gain",
}


class RtlTcpDriver(Driver):
    """A server of rtl_tcp: what it is told, since it tells nothing."""

    patience = 12.0  # the source tries for 10 s to reach a server that was lost
    tags_tuning = True

    def __init__(self, block, text):
        self.block, self.text = block, text
        self._values = {"bandwidth": 0.0}

    def ranges(self, key, channel):
        if key == "rate":
            return Ranges(rtl_tcp.RATES)
        if key == "freq":
            return Ranges(((1, rtl_tcp.MOST_FREQUENCY),))
        if key == "gain":
            gains = self.block.gains()
            return Ranges(((gains[0], gains[-1]),) if len(gains) > 1 else (), "dB")
        return Ranges(((0, rtl_tcp.RATES[-1][1]),))

    def set(self, key, channel, value):
        if key in SETTERS:
            getattr(self.block, SETTERS[key])(value)
        self._values[key] = float(round(value)) if key in ("rate", "freq") else value

    def get(self, key, channel):
        return self.block.gain() if key == "gain" else self._values[key]

    def switch_off_automatic_gain(self, channel):
        pass  # the source does

    def noise_switch(self, switch):
        if switch.pin is None:
            choice(f"{self.text} has the settings", switch.name, ["biastee"])
            return self.block.switch_bias_tee
        choice(f"{self.text} has the banks", switch.name, [PINS])
        if switch.pin >= rtl_tcp.PINS:
            raise ValueError(f"{self.text} has the pins 0 to {rtl_tcp.PINS - 1}")
        return lambda on: self.block.switch_pin(switch.pin, on)

    def close(self):
        self.block.close()

    def error(self):
        return self.block.error() or ""


class RtlTcp(ReceiverFormat):
    kind = "rtl_tcp"
    summary = "RTL-SDRs that rtl_tcp serves over a network, as roof:1234"
    names = "HOST[:PORT][;HOST[:PORT]...]"
    options = {key: option for key, option in OPTIONS.items() if key not in LACKING} | {
        "bandwidth": replace(
            OPTIONS["bandwidth"],
            help="bandwidth of the tuner; only the rtl_tcp of github.com/librtlsdr/librtlsdr sets "
            "it, others ignore it (default: the server's)",
        )
    }
    options_of_a_name = {key: option for key, (_, option) in OF_A_SERVER.items()}

    def open_devices(self, request, channels):
        drivers = []
        try:
            for name in request.names:
                drivers.append(self._driver(request, name))
        except BaseException:
            for driver in drivers:
                driver.close()
            raise
        return drivers

    @staticmethod
    def _driver(request, name):
        address, *more = name.split(",")
        values = {}
        for entry in more:
            key, _, text = entry.partition("=")
            try:
                if key not in OF_A_SERVER:
                    raise ValueError(
                        f"expected {' or '.join(OF_A_SERVER)} behind an address, or one of "
                        + ", ".join(RtlTcp.options)
                    )
                parameter, option = OF_A_SERVER[key]
                values[parameter] = option.read(text)
            except ValueError as error:
                raise request.error(f"{entry}: {error}") from None
        try:
            block = silent(rtl_tcp_source, address=address, **values)
            block.open()
        except (ParameterError, OSError) as error:
            raise request.error(str(error)) from None
        return RtlTcpDriver(block, address)


FORMAT = RtlTcp()
