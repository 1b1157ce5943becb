#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`soapy:`, receivers by way of SoapySDR and gr-soapy."""

from ..debian import import_or_name_package
from ..receivers import Driver, ReceiverFormat, choice, ranges_of

NOT_RADIOS = {"audio", "null"}


def label(entry):
    """Returns what tells a receiver from others, as it may be typed."""
    keys = ("driver", "serial") if entry.get("serial") else ("driver", "label")
    return ",".join(f"{key}={entry[key]}" for key in keys if entry.get(key))


class SoapyDriver(Driver):
    """A device of gr-soapy."""

    _names = {"rate": "sample_rate", "freq": "frequency"}

    def __init__(self, block, text):
        self.block, self.text = block, text

    def ranges(self, key, channel):
        if key == "gain":
            return ranges_of([self.block.get_gain_range(channel)], "dB")
        if key == "bandwidth":
            return ranges_of([])  # a nearest one is taken
        return ranges_of(getattr(self.block, f"get_{self._names[key]}_range")(channel))

    def set(self, key, channel, value):
        if key == "freq" and "RF" in self.block.list_frequencies(channel):
            # gr-soapy tags no other way of tuning
            self.block.set_frequency(channel, "RF", value)
        else:
            getattr(self.block, f"set_{self._names.get(key, key)}")(channel, value)

    def get(self, key, channel):
        return getattr(self.block, f"get_{self._names.get(key, key)}")(channel)

    def switch_off_automatic_gain(self, channel):
        if self.block.has_gain_mode(channel):
            self.block.set_gain_mode(channel, False)

    def antennas(self, channel):
        return list(self.block.list_antennas(channel))

    def sources(self, key):
        return list(getattr(self.block, f"list_{key}_sources")())

    def set_source(self, key, name):
        getattr(self.block, f"set_{key}_source")(name)

    def noise_switch(self, switch):
        if switch.pin is not None:
            choice(f"{self.text} has the banks", switch.name, list(self.block.list_gpio_banks()))
            bit = 1 << switch.pin
            self.block.write_gpio_dir(switch.name, bit, bit)
            return lambda on: self.block.write_gpio(switch.name, bit if on else 0, bit)
        of_device = [entry.key for entry in self.block.get_setting_info()]
        of_channel = [entry.key for entry in self.block.get_setting_info(0)]
        choice(f"{self.text} has the settings", switch.name, of_device + of_channel)
        where = () if switch.name in of_device else (0,)
        return lambda on: self.block.write_setting(*where, switch.name, "true" if on else "false")

    def last_pulse(self):
        return (
            self.block.get_hardware_time("PPS") / 1e9
            if self.block.has_hardware_time("PPS")
            else None
        )

    def set_time_at_next_pulse(self, seconds):
        self.block.set_hardware_time(int(seconds) * 10**9, "PPS")


class Soapy(ReceiverFormat):
    kind = "soapy"
    summary = "receivers that SoapySDR knows, as driver=rtlsdr,serial=1"

    def open_devices(self, request, channels):
        soapy = import_or_name_package("gnuradio.soapy", "gnuradio")
        library = import_or_name_package("SoapySDR", "python3-soapysdr")
        # the drivers' chatter
        library.setLogLevel(library.SOAPY_SDR_ERROR)

        def listed(text):
            return [
                entry
                for entry in map(dict, library.Device.enumerate(text))
                if entry.get("driver") not in NOT_RADIOS
            ]

        found = []
        for name in request.names:
            entries = listed(name)
            if not entries:
                there = [label(entry) for entry in listed("")]
                raise request.error(
                    f"no receiver is {name or 'there'}; SoapySDR finds "
                    + (
                        " and ".join(there)
                        if there
                        else "none (aperture_doctor receivers looks for the cause)"
                    )
                )
            if len(entries) > 1 and len({label(entry) for entry in entries}) < len(entries):
                raise request.error(
                    f"{len(entries)} receivers are {label(entries[0])}, and only the first of "
                    "them would be opened; aperture_doctor receivers says how to tell them apart"
                )
            found.append(label(entries[0]))
        if len(set(found)) < len(found):
            same = [name for name, entry in zip(request.names, found) if found.count(entry) > 1]
            raise request.error(
                f"{' and '.join(same)} are one receiver, {found[0]}; name each by its serial number"
            )
        drivers = []
        for name in request.names:
            try:
                block = soapy.source(name, "fc32", channels, "", "", [""], [""])
            except (RuntimeError, ValueError) as error:
                raise request.error(f"{name} cannot be opened: {error}") from None
            drivers.append(SoapyDriver(block, name))
        return drivers


FORMAT = Soapy()
