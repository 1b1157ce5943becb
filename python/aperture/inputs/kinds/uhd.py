#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`uhd:`, USRPs by way of gr-uhd."""

from ...noise_switch import UHD_SETUP
from ..debian import import_or_name_package
from ..receivers import NamedDriver, ReceiverFormat, choice


class UhdDriver(NamedDriver):
    """A device of gr-uhd, which may be several boards that work as one."""

    _names = {"rate": "samp_rate", "freq": "center_freq"}
    _ranges = {"rate": "get_samp_rates", "freq": "get_freq_range", "gain": "get_gain_range"}

    def __init__(self, uhd, block, text):
        self.block, self.text, self._uhd = block, text, uhd
        self._timed = False

    def set(self, key, channel, value):
        if key == "freq" and self._timed:
            # all channels of the device at one moment, which brings their oscillators together
            self.block.set_command_time(self.block.get_time_now() + self._uhd.time_spec(0.1))
            self.block.set_center_freq(value, channel)
            self.block.clear_command_time()
        else:
            super().set(key, channel, value)

    def switch_off_automatic_gain(self, channel):
        try:
            self.block.set_rx_agc(False, channel)
        except RuntimeError:
            pass  # has none

    def set_source(self, key, name):
        for board in range(self.block.get_num_mboards()):
            getattr(self.block, f"set_{key}_source")(name, board)

    def noise_switch(self, switch):
        if switch.pin is None:
            return super().noise_switch(switch)
        choice(f"{self.text} has the banks", switch.name, list(self.block.get_gpio_banks(0)))
        bit = 1 << switch.pin
        for attribute, value in UHD_SETUP:
            self.block.set_gpio_attr(switch.name, attribute, bit if value else 0, bit)
        return lambda on: self.block.set_gpio_attr(switch.name, "OUT", bit if on else 0, bit)

    def set_time_at_next_pulse(self, seconds):
        self.block.set_time_next_pps(self._uhd.time_spec(float(seconds)))
        self._timed = True

    def now(self):
        return self.block.get_time_now().get_real_secs() if self._timed else None

    def start_at(self, seconds):
        self.block.set_start_time(self._uhd.time_spec(seconds))


class Uhd(ReceiverFormat):
    kind = "uhd"
    summary = "USRPs, as serial=31B5F27 or addr=192.168.10.2"

    def open_devices(self, request, channels):
        uhd = import_or_name_package("gnuradio.uhd", "gnuradio")
        drivers = []
        for name in request.names:
            try:
                block = uhd.usrp_source(
                    name, uhd.stream_args("fc32", channels=list(range(channels)))
                )
            except (RuntimeError, ValueError) as error:
                there = [device.to_string() for device in uhd.find(uhd.device_addr(""))]
                problem = str(error).strip().splitlines()[0]
                raise request.error(
                    f"{name or 'a USRP'} cannot be opened: {problem}; UHD finds "
                    + (" and ".join(there) if there else "none")
                ) from None
            drivers.append(UhdDriver(uhd, block, name or "the USRP"))
        return drivers


FORMAT = Uhd()
