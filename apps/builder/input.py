#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The input of a plan, and how much of it is read."""

import math
import os
from fractions import Fraction

from ..files.growing_file import check_path
from ..inputs import registry
from ..inputs.input_format import InputError
from ..parameters.times import elapsed, exact, exact_seconds, length_text, time_text
from ..plan import texts
from ..plan.fields import OBSERVE
from ..plan.names import is_measurement_set
from ..plan.signal_sections import DEFAULT_DURATION
from .units import seconds_text
from .zooming import zoomed

MOST_SAMPLES = 2**62  # most of an input without an end
EXACT = Fraction(1, 1000)  # part of a sample by which a time that is meant may be off


class InputFailure(RuntimeError):
    """The input could not be opened; it may be there a moment later."""


def open_input(plan):
    """
    The Signals of a plan's input.

    Raises
    ------
    InputFailure
        It could not be opened, and may be there a moment later: receivers and networks.
    ValueError, RuntimeError, OSError
        It could not be opened, and waiting would not help.
    """
    source = plan.input.source
    try:
        signals = registry.open_input(
            source, plan.array.description, plan.input.seed, plan.input.selected
        )
    except (ValueError, RuntimeError, OSError) as error:
        if isinstance(error, InputError):
            error = plan.input_error(error)
        if registry.find_kind(source)[0].live:
            raise InputFailure(str(error)) from error
        raise error from None
    return zoomed(plan, signals if plan.input.start is None else begin_at(plan, signals))


def begin_at(plan, signals):
    """The Signals of a recording from where the plan says on: its first sample that is not before
    that time."""
    refuse = lambda problem: plan.error("input.start", problem, shown=True)
    if signals.source_from is None or signals.samples is None:
        simulated = registry.find_kind(plan.input.source)[0].simulates
        what = "a receiver" if signals.live else "a simulation" if simulated else "this input"
        raise refuse(f"{what} is read from its beginning only: {plan.input.source}")
    begin, end = exact_seconds(signals.start_time), signals.time_of(signals.samples)
    from_begin, wanted = texts.start(plan.input.start)
    length = Fraction(signals.samples) / exact(signals.sample_rate)
    seconds = wanted if from_begin else elapsed(begin, wanted) if wanted >= begin else -1
    if not 0 <= seconds < length:
        raise refuse(
            f"the recording lasts from {time_text(begin)} to {time_text(end)}, "
            f"{length_text(length)}"
        )
    samples = seconds * exact(signals.sample_rate)
    # a time is written with some digits only
    first = round(samples) if abs(samples - round(samples)) < EXACT else math.ceil(samples)
    each = signals.channels or 1  # a recording of channels has whole spectra only
    return signals.after(min(-(-first // each) * each, signals.samples - each))


def keep_what_is_read(plan, signals, field, paths, source="input.source"):
    """Refuses files to write, which a field of the plan names, that are among those to read, and
    would be lost."""
    read = [
        *((source, name) for name in signals.files),
        *(
            (name, plan.value(name))
            for name in ("array.description", "beams.directions", "calibration.file")
        ),
    ]
    for other, name in read:
        for path in paths:
            if (
                name
                and os.path.exists(path)
                and os.path.exists(os.path.expanduser(name))
                and os.path.samefile(path, os.path.expanduser(name))
            ):
                raise plan.error(
                    field,
                    f"is the file that {plan.naming(other)} names, and would be replaced",
                    shown=path,
                )


def check_writable(plan, field, paths):
    """Refuses, before anything is computed, files that could not be written in the end, which a
    field of the plan names."""
    overwrite = plan.outputs.overwrite
    for path in paths:
        if not overwrite and os.path.lexists(path):
            keeps = plan.naming("outputs.overwrite")
            raise plan.error(field, f"the file exists, and {keeps} keeps it", shown=path)
        if not is_measurement_set(path):
            check_path(path, overwrite)


def is_recording(signals):
    """Returns whether an input is read as fast as others take it, and not when it comes."""
    return not signals.live and (not signals.endless or bool(signals.files))


def length_of(plan, signals):
    """Samples of a recording and seconds of a simulation or of receivers to read: (samples,
    duration), both None for what has no end."""
    duration = plan.input.duration
    if signals.samples is None:
        if duration is None:
            endless = signals.live or signals.endless or plan.program == OBSERVE
            duration = math.inf if endless else DEFAULT_DURATION
        longest = MOST_SAMPLES / signals.sample_rate
        if longest < duration < math.inf:
            raise plan.error(
                "input.duration", f"expected at most {longest:g} s, or inf", shown=True
            )
        return None, None if math.isinf(duration) else duration
    if duration is None or math.isinf(duration):
        return signals.samples, None
    samples = max(1, round(duration * signals.sample_rate))
    if samples > signals.samples:
        signals.warnings.append(
            f"{plan.naming('input.duration')} {duration:g}: the recording ends after "
            f"{seconds_text(signals.samples / signals.sample_rate)}"
        )
    return min(samples, signals.samples), None
