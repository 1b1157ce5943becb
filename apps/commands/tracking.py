#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Tracking in a plan, and the parameters of the engines for it."""

import math

import numpy as np

from ..arguments.argument_types import argument
from ..arrays.geometry import SPEED_OF_LIGHT
from ..delay_tracker import delay_tracker
from ..streams.silent_block import silent
from ..tracking.delay_model import fastest_fringe, longest_baseline
from ..tracking.directions import azimuth_elevation, parse_direction
from .tables import seconds_text

#: cycles of a fringe in an integration, from which on a third or more of it is lost
WASHED_OUT = 0.5

#: the plan's section: key -> attribute of the options
TRACKING_SCHEMA = {"tracking": {"direction": "track", "phase_centers": "phase_centers"}}


direction_text = argument(parse_direction, kept=True, named=True)


def direction_texts(text):
    """A type of argparse: texts that say directions, with semicolons between them."""
    for part in text.split(";"):
        direction_text(part)
    return text


def add_tracking_options(add):
    """The options of a command that may track."""
    add(
        "--track",
        type=direction_text,
        metavar="DIRECTION",
        help="keep the delays on this direction, so that its fringes stop: sun, 'Cas A', "
        "'23:23:24 +58:48:54' (ICRS), '350.85, 58.815' (degrees), 'az=180, el=45'",
    )
    add(
        "--phase-centers",
        type=direction_texts,
        metavar="DIRECTION[;...]",
        help="rotate the phases to these directions, each in a file of its own ({phase_center} in "
        "the name), whatever is tracked",
    )


def phase_centers_of(options):
    """A list of Direction, empty where phases are left as they are."""
    texts = options.phase_centers.split(";") if options.phase_centers else []
    return [parse_direction(text) for text in texts]


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
