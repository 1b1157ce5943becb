#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Axes of time: UTC and local time below a picture, local sidereal time above it."""

import datetime
import math
import zoneinfo

import numpy as np
from matplotlib.ticker import Formatter, Locator

from ..arrays.earth_rotation import sidereal_time, unix_seconds
from .style import PlotError

DAY = 86400.0
SIDEREAL = 1.0027379  # sidereal seconds in a second
SMALL = 7
#: seconds between marks, above a second; below it 1, 2 and 5 times powers of ten
STEPS = (
    1,
    2,
    5,
    10,
    15,
    20,
    30,
    60,
    120,
    300,
    600,
    900,
    1200,
    1800,
    3600,
    7200,
    10800,
    14400,
    21600,
    43200,
    86400,
)


class Zone:
    """
    A time zone: that of the system, or one by its IANA name, such as Europe/Berlin.

    Raises
    ------
    PlotError
        There is no such zone.
    """

    def __init__(self, name=None):
        self._zone = None
        if name is not None:
            try:
                self._zone = zoneinfo.ZoneInfo(name)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
                raise PlotError(
                    f"--time-zone {name}: no such zone is known here; expected an IANA "
                    "name such as Europe/Berlin or UTC"
                ) from None

    def _at(self, seconds):
        utc = datetime.datetime.fromtimestamp(math.floor(seconds), datetime.timezone.utc)
        return utc.astimezone(self._zone)

    def offset(self, seconds):
        """Seconds that it is ahead of UTC at a time, seconds since 1970."""
        return self._at(seconds).utcoffset().total_seconds()

    def name(self, seconds):
        """Returns the zone's name at a time, such as CET."""
        return self._at(seconds).tzname()

    def text(self, seconds):
        """Date, time in whole seconds and name of the zone; a Julian date is good to 0.1 ms."""
        return self._at(seconds + 1e-3).strftime("%Y-%m-%d %H:%M:%S %Z")


def step_for(span, most):
    """Seconds between at most `most` + 1 marks on an axis of so many seconds."""
    least = span / most
    if least > STEPS[-1]:
        return DAY * math.ceil(least / DAY)
    for step in STEPS:
        if least <= step and least > 0.5:
            return step
    power = 10.0 ** math.floor(math.log10(max(least, 1e-9)))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))


def clock_text(seconds, step):
    """Hours, minutes and what else a time needs, on an axis with marks that are `step` seconds
    apart."""
    digits = max(0, math.ceil(-math.log10(step) - 1e-9))
    seconds = round(seconds, digits) % DAY
    text = f"{int(seconds // 3600):02d}:{int(seconds // 60 % 60):02d}"
    if step % 60:
        text += f":{seconds % 60:0{3 + digits if digits else 2}.{digits}f}"
    return text


class ClockLocator(Locator):
    """Marks at round times; an axis in units of so many seconds."""

    def __init__(self, unit, most=5):
        self._unit, self._most = unit, most

    @property
    def step(self):
        """Seconds between marks."""
        low, high = sorted(self.axis.get_view_interval())
        return step_for((high - low) * self._unit, self._most)

    def __call__(self):
        return self.tick_values(*sorted(self.axis.get_view_interval()))

    def tick_values(self, vmin, vmax):
        step = step_for((vmax - vmin) * self._unit, self._most)
        first, last = (value * self._unit / step for value in (vmin, vmax))
        return np.arange(math.ceil(first - 1e-6), math.floor(last + 1e-6) + 1) * step / self._unit


class ClockFormatter(Formatter):
    """Times of day of a ClockLocator's marks; zone: in a second line, the time there."""

    def __init__(self, locator, unit, zone=None):
        self._locator, self._unit, self._zone = locator, unit, zone

    def __call__(self, x, pos=None):
        seconds, step = x * self._unit, self._locator.step
        text = clock_text(seconds, step)
        if self._zone is not None:
            text += "\n" + clock_text(seconds + self._zone.offset(seconds), step)
        return text


def dates_of(times):
    """Days since 1970, matplotlib's numbers, of Julian dates."""
    return unix_seconds(np.asarray(times)) / DAY


def time_axis(axis, times, longitude, zone):
    """
    UTC and local time below, and local sidereal time above.

    Parameters
    ----------
    axis : matplotlib's, over dates_of(times)
    times : array
        Julian dates of what is drawn.
    longitude : float
        Degrees; None: not known, and then there is no sidereal time.
    zone : Zone
    """
    numbers = dates_of(times)
    begin, end = numbers[0] * DAY, numbers[-1] * DAY
    local = zone if zone.offset(begin) or zone.offset(end) else None
    locator = ClockLocator(DAY)
    axis.xaxis.set_major_locator(locator)
    axis.xaxis.set_major_formatter(ClockFormatter(locator, DAY, local))
    first, last = (str(np.datetime64(int(seconds // DAY), "D")) for seconds in (begin, end))
    text = f"UTC, {first}" + (f" to {last}" if last != first else "")
    if local is not None:
        text += f"; below it {local.name(begin)}"
    axis.set_xlabel(text, fontsize=8)
    axis.tick_params(labelsize=SMALL)
    if longitude is None or len(times) < 2:
        return
    sidereal = np.unwrap(sidereal_time(times, longitude)) * 12 / np.pi
    upper = axis.secondary_xaxis(
        "top",
        functions=(
            lambda date: sidereal[0] + (date - numbers[0]) * 24 * SIDEREAL,
            lambda hours: numbers[0] + (hours - sidereal[0]) / 24 / SIDEREAL,
        ),
    )
    upper.set_xlabel("LST", fontsize=8)
    upper.tick_params(labelsize=SMALL)
    locator = ClockLocator(3600)
    upper.xaxis.set_major_locator(locator)
    upper.xaxis.set_major_formatter(ClockFormatter(locator, 3600))
