#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Times of items in exact arithmetic, from what the tags of a stream say."""

import math
from fractions import Fraction

from ..formats.sigmf.writer import datetime_text
from ..formats.voltages import Moment
from ..parameters.times import exact_seconds, whole_and_fraction

ROUNDING = Fraction(1, 1000)  # samples, by which times that agree may differ
LOSS = Fraction(3, 4)  # samples: a lost one with a rounded stamp; corrections are half of one


def moment_of(time):
    """The Moment of exact seconds since 1970."""
    return Moment(*whole_and_fraction(time))


def time_entry(time):
    """Exact seconds as they are in a JSON file: text for people, and whole seconds and fraction."""
    moment = moment_of(time)
    return {"utc": datetime_text(moment), "seconds": moment.seconds, "fraction": moment.fraction}


class Stretch:
    """
    Items from `item` to before `end` (None: it is not known yet), of which all tags say the same.

    Parameters
    ----------
    setting : item_ring_setting
        A setting with time and rate.
    end : int or None
    spectra : int
        Samples of a channel in an item.
    """

    def __init__(self, setting, end, spectra):
        self.item, self.end = setting.item, end
        self.begin = exact_seconds(tuple(setting.time))
        self.rate, self.spectra = Fraction(setting.rate), spectra
        self.frequency, self.bandwidth = setting.frequency, setting.bandwidth
        self.approximate = setting.approximate

    def time(self, item, spectrum=0):
        """When a spectrum of an item was received."""
        return self.begin + (item - self.item + Fraction(spectrum, self.spectra)) / self.rate

    @property
    def samples_a_second(self):
        """The samples of a channel in a second, a double."""
        return float(self.rate) * self.spectra

    @property
    def tolerance(self):
        """Seconds, by which times that agree may differ."""
        return ROUNDING / (self.rate * self.spectra)

    def item_in_which(self, time):
        """The item that lasts until after a time: of samples the first one from then on."""
        items = (time - self.begin) * self.rate
        if self.spectra == 1:
            return self.item + math.ceil(items - ROUNDING)
        return self.item + math.floor(items + ROUNDING / self.spectra)

    def item_behind(self, time):
        """The first item that begins at a time or later."""
        return self.item + math.ceil((time - self.begin) * self.rate - ROUNDING / self.spectra)

    def goes_on(self, other):
        """Returns whether a stretch behind this one is of the same recording: no sample was lost,
        or came twice, between where this one's clock has it and where it lies."""
        same = all(
            (mine is None) == (theirs is None)
            and (mine is None or math.isclose(mine, theirs, rel_tol=1e-9))
            for mine, theirs in (
                (self.frequency, other.frequency),
                (self.bandwidth, other.bandwidth),
                (self.rate, other.rate),
            )
        )
        step = (other.begin - self.time(other.item)) * self.rate * self.spectra
        return same and abs(step) < LOSS

    def agrees(self, other):
        """Returns whether its times are those that this one's clock gives."""
        return abs(other.begin - self.time(other.item)) < self.tolerance


def stretches(settings, spectra):
    """A list of Stretch, of the settings that say time and rate."""
    found = []
    for number, setting in enumerate(settings):
        if setting.time is None or setting.rate is None:
            continue
        end = settings[number + 1].item if number + 1 < len(settings) else None
        if end is None or end > setting.item:
            found.append(Stretch(setting, end, spectra))
    return found
