#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Signal, reference, hot and cold: their order in time, and the spectra that come of them."""

import math
from dataclasses import dataclass, field

import numpy as np

from . import kelvin
from .velocity import HYDROGEN

MODES = ("total", "load", "frequency")
TARGETS = ("sky", "hot", "cold")
#: part of an item by which times may differ from the grid of the cycles
TOLERANCE = 1e-3
#: relative difference of two powers from which on switching is seen
SWITCHED = 0.01
#: seconds that are left out after the antenna was pointed by hand, as samples are on their way
BY_HAND = 1.0
#: cycles without a reference after which it is said
PATIENCE = 3


@dataclass(frozen=True)
class Spectrum:
    """
    A calibrated spectrum.

    kelvin: [input][channel]; power: mean power of the sky [input][channel], before calibration;
    system: system temperature of each input in kelvin, the median of the channels; begin, end: UTC
    seconds since 1970; seconds: how long each input was integrated, the shorter of signal and
    reference where it is switched; frequency, bandwidth: Hz; measured: False while the scale is
    assumed, and not from hot and cold.
    """

    kelvin: np.ndarray
    power: np.ndarray
    system: np.ndarray
    begin: float
    end: float
    seconds: float
    frequency: float
    bandwidth: float
    measured: bool


@dataclass
class _Sum:
    """A weighted mean of powers."""

    power: object = 0.0
    seconds: float = 0.0

    def add(self, power, seconds):
        self.power = self.power + power * seconds
        self.seconds += seconds

    def mean(self):
        return self.power / self.seconds


@dataclass
class _Cycle:
    """The sums of an integration."""

    begin: float | None = None
    end: float = 0.0
    signal: _Sum = field(default_factory=_Sum)
    reference: _Sum = field(default_factory=_Sum)


def in_reference(time, period):
    """Returns whether a time, in seconds since 1970, is in the second half of a cycle, that of the
    reference: cycles begin at multiples of their period since 1970."""
    return period > 0 and math.floor(2 * time / period) % 2 == 1


class SwitchedSpectra:
    """
    Sorts powers into signal, reference, hot and cold, and makes calibrated spectra of them.

    Parameters
    ----------
    mode : str
        total, load or frequency.
    integration : float
        Seconds of a spectrum, at least; switched ones end with a whole cycle.
    period : float
        Seconds of a cycle of load switching: the antenna, then the load.
    settling : float
        Seconds after each change that are left out.
    t_hot, t_cold, t_load, t_receiver : float
        Kelvin: of the hot and the cold load, of that of the switch, and of the receiver until hot
        and cold were measured.
    notify : callable
        notify(event, dictionary) tells what was found: `measured`, `fault`.
    """

    def __init__(
        self, mode, integration, period, settling, t_hot, t_cold, t_load, t_receiver, notify
    ):
        self.mode, self.integration, self.period = mode, integration, period
        self.settling = settling
        self.t_hot, self.t_cold, self.t_load, self.t_receiver = t_hot, t_cold, t_load, t_receiver
        self._notify = notify
        self._target = "sky"
        #: mean powers [input][channel] with each load, once they were measured
        self.loads = {}
        self.scale = None
        self.clear()

    def clear(self):
        """Begins anew; what was measured of hot and cold stays."""
        self._sum = _Cycle()
        self._measuring, self._noted = _Sum(), 0.0
        self._pending = self._after = self._changed = None
        self._tuned = []  # frequencies: of the signal, and of the reference
        self._since = None  # begin of the first item without a reference
        self._told = set()
        if self.scale is not None and not self.scale.measured:
            self.scale = None

    # ---- what users say

    @property
    def target(self):
        """The antenna looks at this: sky, hot or cold."""
        return self._target

    def look_at(self, target):
        """The antenna looks at the sky, or at the hot or the cold load, from now on."""
        if target == self._target:
            return
        self.note_load()
        self._target = target
        self._measuring, self._noted, self._sum = _Sum(), 0.0, _Cycle()
        self._changed = True

    def signal_at(self, frequency):
        """With frequency switching, the signal has this frequency, also where the reference comes
        first."""
        self._tuned = [frequency]

    def set_scale(self, scale):
        """Takes a Scale that was measured before."""
        self.scale = scale

    # ---- items

    def take(self, power, begin, end, frequency, bandwidth):
        """
        Takes the mean power [input][channel] of some time, of a band; returns a Spectrum or None.
        """
        item = (np.array(power, np.float64), begin, end, frequency, bandwidth)
        last, self._pending = self._pending, item
        if self._changed:
            # items on their way were received before
            self._changed, self._after = False, begin + max(self.settling, BY_HAND)
        if last is None:
            self._check_band(frequency, bandwidth)
            self._check_length(end - begin)
            return None
        if last[3:] != item[3:]:
            # the item before may have both
            self._check_band(frequency, bandwidth)
            self._after = max(self._after or 0.0, begin + self.settling)
            return None
        return self._take(*last)

    def _check_band(self, frequency, bandwidth):
        if not abs(frequency - HYDROGEN) < bandwidth / 2:
            self._fault(
                "band",
                f"the band, {(frequency - bandwidth / 2) / 1e6:.3f} to "
                f"{(frequency + bandwidth / 2) / 1e6:.3f} MHz, does not contain the hydrogen line "
                f"at {HYDROGEN / 1e6:.3f} MHz",
            )

    def _fault(self, key, text):
        """Tells a fault once."""
        if key not in self._told:
            self._told.add(key)
            self._notify("fault", {"fault": key, "reason": text})

    def _state(self, begin, end, frequency):
        """signal, reference, or None of an item that has both or is too close to a change."""
        if self._after is not None and begin < self._after - TOLERANCE * (end - begin):
            return None
        if self.mode == "load":
            slack = TOLERANCE * (end - begin)
            half = math.floor(2 * (begin + slack) / self.period)
            since = begin - half * self.period / 2
            if half != math.floor(2 * (end - slack) / self.period) or (
                since < self.settling - slack
            ):
                return None
            return "reference" if half % 2 else "signal"
        if self.mode == "frequency":
            if frequency not in self._tuned:
                if len(self._tuned) == 2:
                    self._tuned, self._sum = [], _Cycle()
                self._tuned.append(frequency)
            return "signal" if frequency == self._tuned[0] else "reference"
        return "signal"

    def _take(self, power, begin, end, frequency, bandwidth):
        if self.mode != "frequency" and self._tuned != [frequency]:
            self._tuned, self._sum = [frequency], _Cycle()
        state = self._state(begin, end, frequency)
        if state is None:
            return None
        if self._target != "sky":
            # the load before the antenna is seen where the switch and the tuning are as for the sky
            if state == "signal":
                self._measuring.add(power, end - begin)
                self.note_load(every=max(self.integration, 1.0))
            return None
        made = None
        if self.mode != "total" and state == "signal" and self._sum.reference.seconds:
            made = self._finish(begin, bandwidth)
        if self._sum.begin is None:
            self._sum.begin = begin
        getattr(self._sum, state).add(power, end - begin)
        self._sum.end = end
        if self.mode == "total":
            return self._finish(end, bandwidth, end - begin)
        self._watch(state, begin)
        return made

    def _check_length(self, length):
        """Tells where no item fits into half a cycle."""
        if self.mode == "load" and length > self.period / 2 - self.settling:
            self._fault(
                "frames",
                f"an item lasts {length:.3g} s, and half a cycle {self.period / 2:g} s, of which "
                f"{self.settling:g} s settle: take fewer spectra per frame, or a longer period",
            )

    def _watch(self, state, begin):
        """Says that references do not come."""
        if state == "reference":
            self._since = None
        elif self._since is None:
            self._since = begin
        elif begin - self._since > PATIENCE * self.period:
            what = {
                "load": "no load is seen",
                "frequency": "the stream has one frequency all the time, by its tag rx_freq",
            }[self.mode]
            self._fault("switching", f"no switching is seen: {what}")

    def _finish(self, now, bandwidth, item=0.0):
        """Returns the Spectrum of the integration if it is long enough, which then ends."""
        sums = self._sum
        if now - sums.begin < self.integration - max(TOLERANCE, item / 2):
            return None
        self._sum = _Cycle()
        signal = sums.signal.mean()
        seconds = sums.signal.seconds
        if self.scale is None:
            self.scale = kelvin.assumed(signal, self.t_receiver, self.t_cold)
        system = self.scale.system(signal)
        if self.mode == "total":
            values = kelvin.total_power(signal, self.scale)
        else:
            reference, seconds = sums.reference.mean(), min(seconds, sums.reference.seconds)
            ratio = kelvin.middle(signal) / kelvin.middle(reference)
            if self.mode == "load":
                self._check_load(ratio)
                values = kelvin.load_switched(signal, reference, self.scale, self.t_load)
                # the gain has drifted since hot and cold were measured
                system = values + kelvin.middle(self.scale.receiver)
            else:
                width = bandwidth / signal.shape[-1]
                shift = round((self._tuned[1] - self._tuned[0]) / width)
                values = kelvin.frequency_switched(signal, reference, self.scale, shift)
        return Spectrum(
            values,
            signal,
            kelvin.middle(system)[:, 0],
            sums.begin,
            sums.end,
            seconds,
            self._tuned[0],
            bandwidth,
            self.scale.measured,
        )

    def _check_load(self, ratio):
        worst = float(ratio.flat[np.argmax(np.abs(ratio - 1))])
        if abs(worst - 1) < SWITCHED:
            self._fault(
                "switching",
                f"no switching is seen: the load has {100 / worst:.1f} % of the power of the sky",
            )
        elif worst > 1:
            self._fault(
                "load",
                f"the sky has {worst:.2f} times the power of the load: sky and load may be "
                "interchanged, by half a cycle",
            )

    def note_load(self, every=0.0):
        """Takes what was measured of a load so far, where so many seconds are new."""
        measured = self._measuring
        if self._target == "sky" or not measured.seconds - self._noted > every:
            return
        self._noted = measured.seconds
        self.loads[self._target] = measured.mean()
        self._scale_of_loads()

    def _scale_of_loads(self):
        found = {"target": self._target, "seconds": self._measuring.seconds}
        if len(self.loads) == 2:
            try:
                self.scale = kelvin.hot_and_cold(
                    self.loads["hot"], self.loads["cold"], self.t_hot, self.t_cold
                )
            except kelvin.KelvinError as error:
                self._notify("fault", {"fault": "loads", "reason": str(error)})
                return
            found["y"] = self.scale.y
            found["receiver"] = kelvin.middle(self.scale.receiver)[:, 0]
        self._notify("measured", found)
