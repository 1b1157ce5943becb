#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pulses of a source in an array description, for the simulator."""

import math
from dataclasses import dataclass

from ..parameters.times import FIRST_TIME, as_time, whole_and_fraction
from .description_error import ArrayDescriptionError
from .description_keys import Quantity, Time, check_numbers

#: peak x width (full, at half of the peak) of a Gaussian of integral 1
PEAK_TIMES_WIDTH = math.sqrt(4 * math.log(2) / math.pi)


def after_start(time, start):
    """A time as of as_time() as one since 1970, where it counts from the first sample."""
    if time[0] >= FIRST_TIME:
        return time
    return whole_and_fraction((*time, *start))


def _one_of(pulse, first, second):
    """Makes sure that one of two fields is given, and not less than 0."""
    given = [name for name in (first, second) if getattr(pulse, name) is not None]
    if len(given) != 1:
        raise ArrayDescriptionError(
            "",
            f"a {type(pulse).__name__.lower()} has "
            f"{' and '.join(given) or 'no flux'}; it "
            f"must have one of {first} and {second}",
        )
    check_numbers(pulse)


@dataclass(frozen=True)
class Pulsar:
    """A train of pulses, or one component of them: Gaussians that peak where the phase

        phase + (t - epoch) / period - period_derivative (t - epoch)^2 / (2 period^2)

    is whole, at infinite frequency and the array's origin. `epoch` is UTC, seconds since 1970, a
    number or (whole seconds, fraction); below 10^8 s (and None: 0) it counts from the first sample.
    `width` (s) is at half of the peak. Either `mean_flux` (over a period) or `peak_flux` is given,
    in units of the receiver noise."""

    period: Quantity("Time from one pulse to the next.", 1e-9, 1e6, "seconds")
    width: Quantity("Full width of a pulse at half of its peak.", 1e-12, 1e4, "seconds")
    mean_flux: Quantity("Power averaged over a period.", 0, 1e15, "times the receiver noise") = None
    peak_flux: Quantity(
        "Power at the peak, instead of mean_flux.", 0, 1e15, "times the receiver noise"
    ) = None
    period_derivative: Quantity(
        "By how much the period grows.", -1e-3, 1e-3, "seconds a second"
    ) = 0.0
    epoch: Time(
        "Time of the phase, UTC, since 1970, or below 10^8 s since the first sample; 0 if not "
        "given."
    ) = None
    phase: Quantity("Phase at the epoch; pulses peak where it is whole.", -1e15, 1e15, "cycles") = (
        0.0
    )

    def __post_init__(self):
        object.__setattr__(
            self, "epoch", as_time("epoch", self.epoch or 0, error=ArrayDescriptionError)
        )
        _one_of(self, "mean_flux", "peak_flux")

    @property
    def mean(self):
        """Power over a period, in units of the receiver noise."""
        if self.mean_flux is not None:
            return self.mean_flux
        return self.peak_flux * self.width / PEAK_TIMES_WIDTH / self.period


@dataclass(frozen=True)
class Pulse:
    """A single pulse: a Gaussian that peaks at `time` (as a Pulsar's epoch), at infinite frequency
    and the array's origin. `width` (s) is at half of the peak; either `fluence` (s times the power
    of the receiver noise) or `peak_flux` is given."""

    time: Time("Time of its peak, UTC, since 1970, or below 10^8 s since the first sample.")
    width: Quantity("Full width at half of its peak.", 1e-12, 1e4, "seconds")
    fluence: Quantity("Integral of its power over time.", 0, 1e15, "s times the receiver noise") = (
        None
    )
    peak_flux: Quantity(
        "Power at its peak, instead of fluence.", 0, 1e15, "times the receiver noise"
    ) = None

    def __post_init__(self):
        object.__setattr__(self, "time", as_time("time", self.time, error=ArrayDescriptionError))
        _one_of(self, "fluence", "peak_flux")

    @property
    def energy(self):
        """Fluence, s times the power of the receiver noise."""
        if self.fluence is not None:
            return self.fluence
        return self.peak_flux * self.width / PEAK_TIMES_WIDTH
