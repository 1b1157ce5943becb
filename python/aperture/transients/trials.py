#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Trials of dispersion: which to make, and where they are in an item of dedispersed powers."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..parameters.rules import as_number, refuse
from .dispersion import channel_frequencies, delay

# A plan with more trials is taken for a mistake in the range or in the step.
MOST_TRIALS = 1 << 20


@dataclass
class TrialPlan:
    """The result of plan_trials(); `dms` and `decimations` are the blocks' parameters."""

    dms: list  # pc/cm^3, ascending
    decimations: list  # one power of two for each
    smearings: list  # seconds, of a narrow pulse: see plan_trials()

    def __len__(self):
        return len(self.dms)


@dataclass
class TrialLayout:
    """An item of dedispersed powers, as lib/kernels/dedispersion/trials.h has it."""

    beams: int
    times_per_item: int
    dms: list
    decimations: list = ()

    def decimation(self, trial):
        """Returns the decimation of a trial."""
        return self.decimations[trial] if len(self.decimations) else 1

    def times(self, trial):
        """Values of a trial in an item."""
        return self.times_per_item // self.decimation(trial)

    @property
    def beam_values(self):
        """Values of a beam in an item."""
        return sum(self.times(trial) for trial in range(len(self.dms)))

    @property
    def item_bytes(self):
        """Bytes of an item."""
        return 4 * self.beams * self.beam_values

    def split(self, items):
        """
        Dedispersed items as an array for each trial.

        Parameters
        ----------
        items : float32 array of any shape
            Whole items, one after the other.

        Returns
        -------
        list of arrays [beam][time]
            One for each trial, the times of all items in a row.
        """
        items = np.asarray(items).reshape(-1, self.beams, self.beam_values)
        found, start = [], 0
        for trial in range(len(self.dms)):
            end = start + self.times(trial)
            part = items[:, :, start:end]
            found.append(part.transpose(1, 0, 2).reshape(self.beams, -1))
            start = end
        return found


def parse_range(text):
    """
    Dispersion measures from "low:high:step".

    Parameters
    ----------
    text : str
        Three decimal numbers. The highest is left out, as in Python's range(): "0:86.4:0.1"
        is 864 trials, the last at 86.3.

    Returns
    -------
    list of float
        low + i step, each the nearest double.

    Raises
    ------
    ParameterError (a ValueError)
        If the text is not such a range.
    """
    rule = "low:high:step with 0 <= low < high and step > 0"
    try:
        low, high, step = (Fraction(part) for part in text.split(":"))
    except (ValueError, ZeroDivisionError):
        refuse("dm", text, rule)
    if not (0 <= low < high and step > 0):
        refuse("dm", text, rule)
    trials = math.ceil((high - low) / step)
    if trials > MOST_TRIALS:
        refuse("dm", text, f"a range of at most {MOST_TRIALS} trials")
    return [float(low + i * step) for i in range(trials)]


def plan_trials(
    dm,
    channels,
    center_frequency,
    bandwidth,
    sample_time,
    tolerance=1.1,
    pulse_width=0.0,
    most_decimation=64,
):
    """
    Dispersion measures and time resolutions of trials.

    A pulse is smeared within a channel, of width b, by t_c = 2 K DM b / f^3, and over the
    band, where its dispersion measure is off by x, by t_b(x) = K x (f_low^-2 - f_high^-2).
    Trials are decimated to the largest power of two that is not longer than
    sqrt(t_c^2 + t_b(step / 4)^2): a quarter of the step is how far pulses are off on average.

    Parameters
    ----------
    dm : str or sequence of float
        "low:high:step" (see parse_range), "low:high" for steps by the tolerance, or the
        dispersion measures themselves, pc/cm^3.
    channels, center_frequency, bandwidth
        The band; frequencies in Hz.
    sample_time : float
        Seconds from one item of powers to the next.
    tolerance : float
        Tolerance of "low:high": a pulse half way between two trials is at most this factor wider
        than one on a trial, whose width is W = sqrt(sample_time^2 + pulse_width^2 + t_c^2):
        t_b(step / 2) = W sqrt(tolerance^2 - 1).
    pulse_width : float
        Width of the narrowest pulse that is searched for, s.
    most_decimation : int
        The largest decimation; 1: none.

    Returns
    -------
    TrialPlan
        Its `smearings` are sqrt(t_c^2 + t_b(step / 4)^2).

    Raises
    ------
    ParameterError (a ValueError)
        If a parameter is not allowed.
    """
    as_number("sample_time", sample_time, 0, unit="seconds", above=True)
    as_number("pulse_width", pulse_width, 0, unit="seconds")
    if most_decimation < 1 or most_decimation & (most_decimation - 1):
        refuse("most_decimation", most_decimation, "a power of two")
    width = bandwidth / channels
    frequencies = channel_frequencies(channels, center_frequency, bandwidth)
    if not (bandwidth > 0 and frequencies[0] > width / 2):
        refuse(
            "center_frequency",
            center_frequency,
            f"such that all of the band of {bandwidth} Hz is above 0 Hz",
        )
    # delays of 1 pc/cm^3: over the band, and within the channel in its middle
    over_band = float(delay(1.0, frequencies[0] - width / 2, frequencies[-1] + width / 2))
    middle = (frequencies[0] + frequencies[-1]) / 2
    in_channel = float(delay(1.0, middle - width / 2, middle + width / 2))

    if isinstance(dm, str) and dm.count(":") == 1:
        dms = _by_tolerance(
            dm, over_band, in_channel, math.hypot(sample_time, pulse_width), tolerance
        )
    else:
        dms = parse_range(dm) if isinstance(dm, str) else [float(one) for one in dm]
    if not dms or not all(math.isfinite(one) and one >= 0 for one in dms):
        refuse("dm", dm, "one dispersion measure or more, each 0 or more")
    dms.sort()

    gaps = np.diff(dms)
    # to the neighbour on each side; a single trial has none
    steps = np.zeros(len(dms))
    if len(gaps):
        steps[:-1] = gaps
        steps[-1] = gaps[-1]
    smearings = np.hypot(in_channel * np.asarray(dms), over_band * steps / 4)
    decimations = []
    for smearing in smearings:
        decimation = 1
        while decimation < most_decimation and 2 * decimation * sample_time <= smearing:
            decimation *= 2
        decimations.append(decimation)
    return TrialPlan(dms, decimations, smearings.tolist())


def _by_tolerance(text, over_band, in_channel, narrowest, tolerance):
    """Dispersion measures from "low:high"; delays in seconds of 1 pc/cm^3."""
    as_number("tolerance", tolerance, 1, above=True)
    rule = "low:high with 0 <= low < high"
    try:
        low, high = (float(Fraction(part)) for part in text.split(":"))
    except (ValueError, ZeroDivisionError):
        refuse("dm", text, rule)
    if not 0 <= low < high:
        refuse("dm", text, rule)
    dms = []
    dm = low
    while dm < high:
        dms.append(dm)
        if len(dms) > MOST_TRIALS:
            refuse("tolerance", tolerance, f"such that {text} is at most {MOST_TRIALS} trials")
        dm += 2 * math.hypot(narrowest, in_channel * dm) * math.sqrt(tolerance**2 - 1) / over_band
    return dms
