#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A correlator of several hosts: which part each one has, and where the parts send.

F-engines have some of the inputs and all channels, X-engines some of the channels and all inputs.
Between them go heaps as MeerKAT's F-engines send them.
"""

from fractions import Fraction

from ..parameters.times import read_time
from .running import CommandError


def polarizations_of(description):
    """2 where each antenna has two inputs, one after the other; else 1. All hosts find the same."""
    inputs = description.inputs
    pairs = len(inputs) % 2 == 0 and all(
        a.antenna == b.antenna for a, b in zip(inputs[::2], inputs[1::2])
    )
    return 2 if pairs else 1


def sync_of(signals, options):
    """Seconds since 1970 at timestamp 0."""
    if options.sync_time is not None:
        return read_time(options.sync_time)
    if signals.sync_time is not None:
        return signals.sync_time
    if signals.live or signals.endless:
        raise CommandError(
            "--sync-time: must be given, as this input does not say from when its "
            "hosts count samples"
        )
    seconds, fraction = signals.start_time
    return seconds + Fraction(fraction)
