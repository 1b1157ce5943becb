#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`rtl_tcp:`, RTL-SDRs that rtl_tcp serves over a network, by way of gr-osmosdr."""

from dataclasses import replace

from .osmosdr import Osmosdr


class RtlTcp(Osmosdr):
    kind = "rtl_tcp"
    summary = "RTL-SDRs that rtl_tcp serves over a network, as roof:1234"
    names = "HOST[:PORT][;HOST[:PORT]...]"

    def open_devices(self, request, channels):
        if channels != 1:
            raise request.error(f"channels={channels}: a server of rtl_tcp has one")
        named = replace(request, names=tuple(f"rtl_tcp={name}" for name in request.names))
        drivers = super().open_devices(named, channels)
        for driver, name in zip(drivers, request.names):
            driver.text = name
        return drivers


FORMAT = RtlTcp()
