#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The input that --input names, and how much of it is read."""

import math
import os

from ..inputs import registry
from ..inputs.input_format import InputError
from .running import CommandError
from .tables import seconds_text

MOST_SAMPLES = 2**62  # most of an input without an end
DEFAULT_DURATION = 1.0  # s, of simulations


def open_input(options):
    """Returns the Signals of the input that --input names."""
    try:
        return registry.open_input(options.input, options.array, options.seed)
    except InputError as error:
        # the error begins with the name of the option
        raise CommandError(f"--{error}") from None


def keep_what_is_read(options, signals, outputs, written="-o"):
    """Refuses files to write, which the option `written` names, that are among those to read, and
    would be lost."""
    read = [
        *(("--input", name) for name in signals.files),
        ("--array", options.array),
        ("--beams", getattr(options, "beams", None)),
        ("--calibration", options.calibration),
    ]
    for option, name in read:
        for path in outputs:
            if (
                name
                and os.path.exists(path)
                and os.path.exists(os.path.expanduser(name))
                and os.path.samefile(path, os.path.expanduser(name))
            ):
                raise CommandError(
                    f"{written} {path}: is the file that {option} names, and would be replaced"
                )


def length_of(signals, duration):
    """Samples of a recording and seconds of a simulation or of receivers to read: (samples,
    duration), both None for what ends by Ctrl-C."""
    if signals.samples is None:
        if duration is None:
            duration = math.inf if signals.live or signals.endless else DEFAULT_DURATION
        longest = MOST_SAMPLES / signals.sample_rate
        if longest < duration < math.inf:
            raise CommandError(f"--duration {duration:g}: expected at most {longest:g} s, or inf")
        return None, None if math.isinf(duration) else duration
    if duration is None or math.isinf(duration):
        return signals.samples, None
    samples = max(1, round(duration * signals.sample_rate))
    if samples > signals.samples:
        signals.warnings.append(
            f"--duration {duration:g}: the recording ends after "
            f"{seconds_text(signals.samples / signals.sample_rate)}"
        )
    return min(samples, signals.samples), None
