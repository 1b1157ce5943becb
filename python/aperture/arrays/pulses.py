#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pulses of a source in an array description, for the simulator."""

import math
from dataclasses import dataclass

from ..parameters.times import FIRST_TIME, as_time, whole_and_fraction
from .description_error import ArrayDescriptionError, as_number

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
    object.__setattr__(
        pulse,
        given[0],
        as_number(given[0], getattr(pulse, given[0]), 0, 1e15, "times the receiver noise"),
    )


@dataclass(frozen=True)
class Pulsar:
    """A train of pulses, or one component of them: Gaussians that peak where the phase

        phase + (t - epoch) / period - period_derivative (t - epoch)^2 / (2 period^2)

    is whole, at infinite frequency and the array's origin. `epoch` is UTC, seconds since 1970, a
    number or (whole seconds, fraction); below 10^8 s (and None: 0) it counts from the first sample.
    `width` (s) is at half of the peak. Either `mean_flux` (over a period) or `peak_flux` is given,
    in units of the receiver noise."""

    period: float
    width: float
    mean_flux: float | None = None
    peak_flux: float | None = None
    period_derivative: float = 0.0
    epoch: tuple | None = None
    phase: float = 0.0

    def __post_init__(self):
        for name, low, high, unit in (
            ("period", 1e-9, 1e6, "seconds"),
            ("width", 1e-12, 1e4, "seconds"),
            ("period_derivative", -1e-3, 1e-3, "seconds a second"),
            ("phase", -1e15, 1e15, "cycles"),
        ):
            object.__setattr__(self, name, as_number(name, getattr(self, name), low, high, unit))
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

    time: tuple
    width: float
    fluence: float | None = None
    peak_flux: float | None = None

    def __post_init__(self):
        object.__setattr__(self, "time", as_time("time", self.time, error=ArrayDescriptionError))
        object.__setattr__(self, "width", as_number("width", self.width, 1e-12, 1e4, "seconds"))
        _one_of(self, "fluence", "peak_flux")

    @property
    def energy(self):
        """Fluence, s times the power of the receiver noise."""
        if self.fluence is not None:
            return self.fluence
        return self.peak_flux * self.width / PEAK_TIMES_WIDTH
