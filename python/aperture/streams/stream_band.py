#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The band of a stream, as its tags say it."""

from dataclasses import dataclass

import pmt

from .. import tags
from ..parameters.rules import as_number
from .tag_values import tag_value


@dataclass(frozen=True)
class Band:
    """Hz: sky frequency of the middle (of n channels, of channel n // 2), and width."""

    center: float
    width: float

    def holds(self, other, channel):
        """Returns whether another band lies within this one, but for a channel's width: that of an
        odd number of channels is named after one that is not its middle, and real channels that
        were reversed are off by one."""
        return other.width <= self.width * (1 + 1e-6) and abs(other.center - self.center) <= (
            self.width - other.width
        ) / 2 + channel * (1 + 1e-6)

    def __str__(self):
        return f"{self.center:.10g} Hz, {self.width:.10g} Hz"


class StreamBand:
    """
    Follows rx_freq, rx_rate and bandwidth of a stream whose items are so many samples of each
    input, or come from a channeliser, which says its bandwidth.

    band: a Band, at first what the stream is without these tags; tuned: whether it has said its
    rx_freq. inverted: as the channeliser has it.
    """

    def __init__(self, band, real=False, inverted=False, samples_per_item=1):
        self.band, self.tuned = band, False
        self._bandwidth = False  # true if the stream has said it
        self._hertz_per_item = samples_per_item / (2 if real else 1)
        self._reversed = real and inverted

    def of_channels(self, channels, fine=1):
        """The Band of so many channels that a channeliser makes, or has made, of the stream; fine:
        how many of them an upchanneliser has made of each of its channels."""
        center, width = self.band.center, self.band.width
        if self._reversed and not self._bandwidth:
            # the channel at a quarter of the rate is channel n/2; reversed, the one below that
            center += width / channels * fine
        # fine channel fine//2 of channel n/2 is in the middle of that
        before = channels // fine // 2 * fine + fine // 2
        return Band(center + (channels // 2 - before) * width / channels, width)

    def take(self, found):
        """The tags of an item, key to value; returns the band from there on."""
        center, width = self.band.center, self.band.width
        if tags.rx_freq in found:
            center = as_number(
                "rx_freq", tag_value(found, tags.rx_freq, pmt.to_double), 0, unit="Hz"
            )
            self.tuned = True
        if tags.bandwidth in found:
            width = tag_value(found, tags.bandwidth, pmt.to_double)
            as_number("bandwidth", width, 0, unit="Hz", above=True)
            self._bandwidth = True
        elif tags.rx_rate in found and not self._bandwidth:
            width = tag_value(found, tags.rx_rate, pmt.to_double) * self._hertz_per_item
        self.band = Band(center, width)
        return self.band
