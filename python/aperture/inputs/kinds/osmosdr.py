#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`osmosdr:`, receivers by way of gr-osmosdr."""

from ..debian import import_or_name_package
from ..receivers import Driver, ReceiverFormat, ranges_of


class OsmosdrDriver(Driver):
    """A device of gr-osmosdr."""

    _names = {"rate": "sample_rate", "freq": "center_freq"}
    _ranges = {"rate": "get_sample_rates", "freq": "get_freq_range", "gain": "get_gain_range"}

    def __init__(self, osmosdr, block, text):
        self.block, self.text, self._osmosdr = block, text, osmosdr

    def ranges(self, key, channel):
        if key == "bandwidth":
            return ranges_of([])
        found = getattr(self.block, self._ranges[key])(*(() if key == "rate" else (channel,)))
        unit = "dB" if key == "gain" else "Hz"
        try:
            return ranges_of([found], unit)
        except RuntimeError:  # the source has no such setting
            return ranges_of([], unit)

    def set(self, key, channel, value):
        if key == "rate":
            self.block.set_sample_rate(value)
        else:
            getattr(self.block, f"set_{self._names.get(key, key)}")(value, channel)

    def get(self, key, channel):
        if key == "rate":
            return self.block.get_sample_rate()
        return getattr(self.block, f"get_{self._names.get(key, key)}")(channel)

    def switch_off_automatic_gain(self, channel):
        self.block.set_gain_mode(False, channel)

    def antennas(self, channel):
        return list(self.block.get_antennas(channel))

    def sources(self, key):
        return list(getattr(self.block, f"get_{key}_sources")(0))

    def set_source(self, key, name):
        getattr(self.block, f"set_{key}_source")(name, 0)

    def last_pulse(self):
        return self.block.get_time_last_pps().get_real_secs()

    def set_time_at_next_pulse(self, seconds):
        self.block.set_time_next_pps(self._osmosdr.time_spec_t(float(seconds)))


class Osmosdr(ReceiverFormat):
    kind = "osmosdr"
    summary = "receivers that gr-osmosdr knows, as rtl=1 or hackrf=0"

    def open_devices(self, request, channels):
        osmosdr = import_or_name_package("osmosdr", "gr-osmosdr")
        drivers = []
        for name in request.names:
            try:
                block = osmosdr.source(f"numchan={channels} {name}")
            except (RuntimeError, ValueError) as error:
                there = [device.to_string() for device in osmosdr.device.find()]
                raise request.error(
                    f"{name or 'a receiver'} cannot be opened: {error}; gr-osmosdr finds "
                    + (" and ".join(there) if there else "none")
                ) from None
            drivers.append(OsmosdrDriver(osmosdr, block, name or "the receiver"))
        return drivers


FORMAT = Osmosdr()
