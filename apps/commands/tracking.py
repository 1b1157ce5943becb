#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Tracking in a plan, and the parameters of the engines for it."""

import math

import numpy as np

from ..arrays.geometry import SPEED_OF_LIGHT
from ..delay_tracker import delay_tracker
from ..streams.silent_block import silent
from ..tracking.delay_model import fastest_fringe, longest_baseline
from ..tracking.directions import azimuth_elevation
from .tables import seconds_text

#: cycles of a fringe in an integration, from which on a third or more of it is lost
WASHED_OUT = 0.5


def untracked_texts(options, description, integration):
    """Returns what to tell a user whose integrations (seconds) are longer than the fringes of what
    moves with the sky, if nothing is tracked."""
    if options.track is not None:
        return []
    rate = fastest_fringe(
        description.input_positions(), description.latitude, description.center_frequency
    )
    if rate * integration < WASHED_OUT:
        return []
    length = longest_baseline(description.input_positions())
    return [
        f"--integration {seconds_text(integration)}: on a baseline of {length:.4g} m the "
        f"fringes of a source on the sky make up to {rate * integration:.2g} cycles meanwhile, "
        "and are washed out: --track follows a source, or take "
        f"{seconds_text(WASHED_OUT / 4 / rate, 2)} or less"
    ]


def most_delay(description, sample_rate):
    """Samples by which the F-engine may have to delay an input of an array."""
    cables = np.ptp([entry.cable_delay for entry in description.inputs])
    longest = longest_baseline(description.input_positions()) / SPEED_OF_LIGHT + cables
    return math.ceil(longest * sample_rate) + 1


def make_tracker(options, signals, channels, source):
    """The delay_tracker of --track; None without, and where a command has no such option."""
    if getattr(options, "track", None) is None:
        return None
    return silent(
        delay_tracker,
        array=signals.description,
        direction=options.track,
        channels=channels,
        real=signals.real,
        inverted=signals.inverted,
        item_size=source.output_signature().sizeof_stream_item(0),
    )


def start_text(direction, signals):
    """Returns where a direction is at the start, and whether that is below the horizon."""
    time = sum(signals.start_time)
    azimuth, elevation = azimuth_elevation(direction, time, signals.description)
    return (
        f"azimuth {float(azimuth):.1f}°, elevation {float(elevation):.1f}° at the start",
        bool(elevation < 0),
    )
