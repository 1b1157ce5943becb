#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The tags of an integration of the X-engine, for blocks that look at integrations."""

from dataclasses import dataclass

import numpy as np
import pmt

from .. import tags
from .tag_values import require, spectrum_interval, tag_value, time_of

NEEDED = (tags.rx_time, tags.rx_freq, tags.bandwidth, tags.spectra, tags.counted)


@dataclass(frozen=True)
class Integration:
    """
    An integration, as its tags describe it.

    begin, end: UTC seconds since 1970; frequencies: Hz [channel], of the sky; spectra: that the
    integration spans; counted: that were summed [product], or [1] where all products agree.
    """

    begin: float
    end: float
    frequencies: np.ndarray
    spectra: int
    counted: np.ndarray

    @property
    def middle(self):
        """UTC seconds since 1970."""
        return (self.begin + self.end) / 2


class IntegrationTags:
    """
    Follows the tags of a stream of integrations.

    Parameters
    ----------
    channels, products : int
        Channels and products of an integration.
    """

    def __init__(self, channels, products):
        self._channels, self._products = channels, products
        self._frequencies = self._band = self._interval = None
        self._next = None

    def take(self, found):
        """
        The Integration of an item.

        Parameters
        ----------
        found : dict
            Key to value of the tags on the item.

        Raises
        ------
        ValueError
            A tag is missing, or its value is not allowed.
        """
        if self._band is None:
            require(found, NEEDED, "X-engine")
        if tags.rx_freq in found or tags.bandwidth in found:
            self._tune(found)
        spectra = tag_value(found, tags.spectra, pmt.to_uint64)
        counted = np.array(tag_value(found, tags.counted, pmt.u64vector_elements), np.float64)
        if spectra == 0 or len(counted) not in (1, self._products) or counted.max() > spectra:
            raise ValueError(
                f"tags: spectra {spectra} and {len(counted)} counts up to "
                f"{counted.max(initial=0):.0f} do not fit {self._products} products"
            )
        hop = spectrum_interval(found, self._channels, self._band[1], self._interval)
        self._interval = hop
        # rx_time is the middle of the first spectrum
        begin = self._next
        if tags.rx_time in found:
            begin = sum(tag_value(found, tags.rx_time, time_of)) - hop / 2
        self._next = begin + spectra * hop
        return Integration(begin, self._next, self._frequencies, spectra, counted)

    def _tune(self, found):
        last = {} if self._band is None else dict(zip((tags.rx_freq, tags.bandwidth), self._band))
        center, width = (
            tag_value(found, key, pmt.to_double, last) for key in (tags.rx_freq, tags.bandwidth)
        )
        if not (0 <= center < np.inf and 0 < width < np.inf):
            raise ValueError(
                f"tags: rx_freq {center} and bandwidth {width} are not allowed: both "
                "finite, rx_freq from 0, bandwidth above 0"
            )
        if self._band != (center, width):
            if self._band is not None and self._band[1] != width:
                self._interval = None
            self._band = center, width
            self._frequencies = center + (np.arange(self._channels) - self._channels // 2) * (
                width / self._channels
            )
