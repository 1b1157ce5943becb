#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`osmosdr:`, receivers by way of gr-osmosdr."""

from ..debian import import_or_name_package
from ..receivers import NamedDriver, ReceiverFormat


class OsmosdrDriver(NamedDriver):
    """A device of gr-osmosdr."""

    _names = {"rate": "sample_rate", "freq": "center_freq"}
    _ranges = {"rate": "get_sample_rates", "freq": "get_freq_range", "gain": "get_gain_range"}

    def __init__(self, osmosdr, block, text):
        self.block, self.text, self._osmosdr = block, text, osmosdr

    def switch_off_automatic_gain(self, channel):
        self.block.set_gain_mode(False, channel)

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
