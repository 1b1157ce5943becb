#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The flags of a plan, as parameters of the engines."""

import math

from ..plan.signal_sections import BEST_SLICE
from ..plan.texts import numbers_of

LEAST_SLICE = 64  # spectra that spectral kurtosis needs
MOST_SLICE = 65536  # spectra that a slice may have


def choose_slice(spectra_per_frame, least=1):
    """The divisor of a frame's spectra that is nearest to BEST_SLICE, and not less than `least`
    unless the frame is."""
    most = min(spectra_per_frame, MOST_SLICE)
    divisors = [n for n in range(min(least, most), most + 1) if spectra_per_frame % n == 0]
    return min(divisors, key=lambda n: abs(math.log2(n / BEST_SLICE)), default=spectra_per_frame)


def flagging_parameters(plan, sizes):
    """Returns the parameters of the F-engine for flags; empty: nothing is flagged."""
    flags = plan.flagging
    if not flags.wanted:
        return {}
    channels = [] if flags.bad_channels is None else numbers_of(flags.bad_channels)
    if channels and max(channels) >= sizes.channels:
        raise plan.error(
            "flagging.bad_channels", f"the channels are 0 to {sizes.channels - 1}", shown=True
        )
    spectra, chance = sizes.spectra_per_frame, flags.kurtosis_false_alarms
    length = flags.spectra_per_slice or choose_slice(spectra, LEAST_SLICE if chance else 1)
    frames = plan.naming("engines.spectra_per_frame")
    if spectra % length:
        raise plan.error(
            "flagging.spectra_per_slice",
            f"a frame has {spectra} spectra, which is no multiple ({frames})",
            shown=True,
        )
    if chance and length < LEAST_SLICE:
        raise plan.error(
            "flagging.kurtosis_false_alarms",
            f"spectral kurtosis needs slices of at least {LEAST_SLICE} spectra, not {length} "
            f"({plan.naming('flagging.spectra_per_slice')}, {frames})",
            shown=True,
        )
    return dict(
        spectra_per_slice=length,
        kurtosis_false_alarms=chance or 0.0,
        time_sum_sigma=flags.time_sum_sigma or 0.0,
        channel_sum_sigma=flags.channel_sum_sigma or 0.0,
        bad_channels=channels,
        grown_slices=flags.grown_slices or 0,
        grown_channels=flags.grown_channels or 0,
    )
