#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Flags in a plan, and the parameters of the engines for them."""

import math

from ..plan.texts import numbers_of
from .running import CommandError

LEAST_SLICE = 64  # spectra that spectral kurtosis needs
MOST_SLICE = 65536  # spectra that a slice may have
BEST_SLICE = 256  # 10 % more power in a cell are three standard deviations


def choose_slice(spectra_per_frame, least=1):
    """The divisor of a frame's spectra that is nearest to BEST_SLICE, and not less than `least`
    unless the frame is."""
    most = min(spectra_per_frame, MOST_SLICE)
    divisors = [n for n in range(min(least, most), most + 1) if spectra_per_frame % n == 0]
    return min(divisors, key=lambda n: abs(math.log2(n / BEST_SLICE)), default=spectra_per_frame)


def flagging_parameters(options, plan):
    """Returns the parameters of the F-engine for flags; empty: nothing is flagged."""
    if not options.plan.flagging.wanted:
        return {}
    channels = [] if options.bad_channels is None else numbers_of(options.bad_channels)
    if channels and max(channels) >= plan.channels:
        raise CommandError(
            f"--bad-channels {options.bad_channels}: the channels are 0 to {plan.channels - 1}"
        )
    length = options.flag_slice or choose_slice(
        plan.spectra_per_frame, LEAST_SLICE if options.flag else 1
    )
    if plan.spectra_per_frame % length:
        raise CommandError(
            f"--flag-slice {length}: a frame has {plan.spectra_per_frame} spectra, "
            "which is no multiple (--spectra-per-frame)"
        )
    if options.flag and length < LEAST_SLICE:
        raise CommandError(
            f"--flag {options.flag:g}: spectral kurtosis needs slices of at least "
            f"{LEAST_SLICE} spectra, not {length} (--flag-slice, "
            "--spectra-per-frame)"
        )
    return dict(
        spectra_per_slice=length,
        kurtosis_false_alarms=options.flag or 0.0,
        time_sum_sigma=options.flag_time or 0.0,
        channel_sum_sigma=options.flag_channels or 0.0,
        bad_channels=channels,
        grown_slices=options.grow_slices or 0,
        grown_channels=options.grow_channels or 0,
    )


def occupancies(engine):
    """Returns for each input the fraction of the slices of a channel that was flagged, so far."""
    return [
        flagged / max(cells, 1)
        for flagged, cells in zip(engine.flagged_of_inputs(), engine.cells())
    ]


def flagging_row(engine, parameters):
    """A row of the table at the end."""
    flagged, cells = sum(engine.flagged_of_inputs()), sum(engine.cells())
    return "flagged", (
        f"{100 * flagged / max(cells, 1):.3g} % of all inputs, in slices of "
        f"{parameters['spectra_per_slice']} spectra of a channel"
    )
