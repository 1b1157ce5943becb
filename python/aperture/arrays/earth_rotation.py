#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sidereal time and the motion of the pole without a download.

Sidereal time follows the Earth's rotation (UT1), which no formula predicts, and which the
astropy of a stable distribution knows up to its release only; the same holds for the place of the
pole on the Earth. A table of ten-day steps from the year 2000 on comes along instead.
"""

import functools

import numpy as np

from ..parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_JD
from . import earth_rotation_table as table

MJD_ZERO_JD = 2400000.5
TT_MINUS_TAI = 32.184  # seconds, by definition


MILLI_ARC_SECOND = np.pi / 180 / 3600e3
ORIGINS_A_DAY = 144
#: arc seconds by which the sky rotates in a second of UT1
ARC_SECONDS_PER_SECOND = 15.041


def _last():
    """Modified Julian date of the last value of the table."""
    return table.FIRST + table.STEP * (len(table.UT1_MINUS_TAI) - 1)


def _in_table(jd, fraction, values):
    """Linear interpolation in one of the table's lists; beyond its ends the last value holds."""
    dates = table.FIRST + table.STEP * np.arange(len(values))
    return np.interp(np.asarray(jd) - MJD_ZERO_JD + fraction, dates, values)


def tai_minus_utc(mjd):
    """Leap seconds at modified Julian dates in UTC."""
    import erfa  # not needed by those who only connect blocks

    steps = erfa.leap_seconds.get()
    return steps["tai_utc"][np.searchsorted(_dates(len(steps)), mjd, side="right") - 1]


@functools.lru_cache(4)
def _dates(count):
    """Modified Julian dates of the leap seconds, of which there are so many."""
    import erfa

    steps = erfa.leap_seconds.get()
    assert len(steps) == count
    return erfa.cal2jd(steps["year"].astype(int), steps["month"].astype(int), 1)[1]


def day_length(mjd):
    """Seconds of the UTC day that a modified Julian date is in: 86401 with a leap second.

    A fraction of a Julian date in UTC is one of that day, as in SOFA and astropy.
    """
    day = np.floor(mjd)
    return SECONDS_PER_DAY + tai_minus_utc(day + 1) - tai_minus_utc(day)


def in_table(jd):
    """
    Returns whether UT1 is known (or predicted by the IERS) at all of these times.

    Parameters
    ----------
    jd : float or array of float
        Julian dates in UTC.
    """
    mjd = np.asarray(jd) - MJD_ZERO_JD
    return bool(np.all((mjd >= table.FIRST) & (mjd <= _last())))


def direction_error(jd):
    """
    Arc seconds by which directions on the sky may be wrong at a time.

    Where the table was measured these are 0.05, the fortnightly tide in UT1. For predictions the
    IERS states 0.25 ms times the days since the last measurement to the power of 3/4. After the end
    of the table, days have been up to 2 ms longer and 1.5 ms shorter than 86400 s in all years
    since 1990.
    """
    mjd = float(np.max(np.asarray(jd))) - MJD_ZERO_JD
    seconds = 0.003 + 0.25e-3 * max(0.0, min(mjd, _last()) - table.MEASURED) ** 0.75
    if mjd < table.FIRST:
        seconds = 0.5 + 2e-3 * (table.FIRST - mjd)
    return ARC_SECONDS_PER_SECOND * (seconds + 2e-3 * max(0.0, mjd - _last()))


def warning(jd):
    """Returns what a user is to be told of these times, None if all is well; jd as in
    `in_table`."""
    if in_table(jd):
        return None
    return (
        f"the rotation of the Earth at Julian date {np.max(jd):.1f} is not known to "
        "gr-aperture: directions on the sky may be wrong by "
        f"{direction_error(jd):.2g} arc seconds"
    )


def ut1_minus_utc(jd, fraction=0.0):
    """
    UT1 - UTC in seconds.

    Linear interpolation in steps of ten days is good to 3 ms (the fortnightly tide); outside
    of the table (see `in_table`) the value at its end holds, without further leap seconds.

    Parameters
    ----------
    jd : float or array of float
        Julian dates in UTC.
    fraction : float or array of float
        Days to be added. In the last 20 us before a leap second, a sum of both would be
        rounded to the time after it.
    """
    day = np.asarray(jd) - MJD_ZERO_JD
    ut1_minus_tai = _in_table(jd, fraction, table.UT1_MINUS_TAI) * 1e-4
    return ut1_minus_tai + tai_minus_utc(np.floor(day) + np.floor(day % 1 + fraction))


def pole(jd, fraction=0.0):
    """
    Coordinates x and y of the Earth's pole, as the IERS has them, in radians.

    Linear interpolation in steps of ten days is good to 3 milli arc seconds. The pole moves by 0.6
    arc seconds at most; arguments as in `ut1_minus_utc`.
    """
    return tuple(
        _in_table(jd, fraction, values) * MILLI_ARC_SECOND
        for values in (table.POLE_X, table.POLE_Y)
    )


def sidereal_time(jd, longitude, fraction=0.0):
    """
    Local apparent sidereal time, IAU 2006/2000A, in radians from 0 to 2 pi.

    Parameters
    ----------
    jd : float or array of float
        Julian dates in UTC.
    longitude : float
        Degrees, positive to the east.
    fraction : float or array of float
        Days to be added.
    """
    import erfa

    date = np.asarray(jd, float) - MJD_ZERO_JD
    day = np.floor(date) + np.floor(date % 1 + fraction)
    seconds = (date - day + fraction) * day_length(day)
    ut1 = (seconds + ut1_minus_utc(jd, fraction)) / SECONDS_PER_DAY
    tt = (seconds + tai_minus_utc(day) + TT_MINUS_TAI) / SECONDS_PER_DAY
    midnight = MJD_ZERO_JD + day
    greenwich = erfa.era00(midnight, ut1) + _equation_of_the_origins(day + tt)
    return np.mod(greenwich + erfa.sp00(midnight, tt) + np.deg2rad(longitude), 2 * np.pi)


def _equation_of_the_origins(mjd):
    """
    Radians from the Earth rotation angle to the apparent sidereal time of Greenwich, at modified
    Julian dates in TT.

    It comes from a thousand terms of nutation of which the fastest take days: linear interpolation
    between steps of ten minutes is good to 2e-12 radians.
    """
    steps = np.asarray(mjd) * ORIGINS_A_DAY
    below = np.floor(steps)
    near = np.unique([below, below + 1])
    if not len(near):
        return np.zeros(0)
    return np.interp(steps, near, [_origins(int(step)) for step in near])


@functools.lru_cache(4096)
def _origins(step):
    import erfa

    day, rest = divmod(step, ORIGINS_A_DAY)
    date = MJD_ZERO_JD + day, rest / ORIGINS_A_DAY
    return erfa.anpm(erfa.gst06a(*date, *date) - erfa.era00(*date))


def day_and_fraction(seconds, fraction=0.0):
    """
    UTC as SOFA, ERFA and astropy take it: a day, and a fraction of that day.

    Days with a leap second are 86401 s long, so that a fraction of theirs is less. Every date
    that is made from seconds since 1970 is made here.

    Parameters
    ----------
    seconds : int, float or array of them
        Seconds since 1970-01-01, 0 h UTC. Whole ones lose nothing; a double of today is good
        to 0.2 us.
    fraction : float or array of float
        Seconds to be added.

    Returns
    -------
    midnight, fraction : float or array of float
        The modified Julian date at which the day began, and the fraction of the day.
    """
    days, rest = np.divmod(seconds, SECONDS_PER_DAY)
    midnight = UNIX_EPOCH_JD - MJD_ZERO_JD + days
    return midnight, (rest + fraction) / day_length(midnight)


def modified_julian_date(seconds, fraction=0.0):
    """Modified Julian date (UTC), a double, which is good to 0.3 us; see day_and_fraction()."""
    midnight, part = day_and_fraction(seconds, fraction)
    return midnight + part


def julian_date(seconds, fraction=0.0):
    """Julian date (UTC), a double, which is good to 20 us; see day_and_fraction()."""
    midnight, part = day_and_fraction(seconds, fraction)
    return midnight + MJD_ZERO_JD + part


def unix_seconds(jd):
    """UTC seconds since 1970 of a Julian date: the inverse of julian_date(), as good as that."""
    date = np.asarray(jd, float) - MJD_ZERO_JD
    day = np.floor(date)
    return (day - (UNIX_EPOCH_JD - MJD_ZERO_JD)) * SECONDS_PER_DAY + (date - day) * day_length(day)
