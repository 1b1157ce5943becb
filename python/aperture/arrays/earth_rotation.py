#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sidereal time without a download.

Sidereal time follows the Earth's rotation (UT1), which no formula predicts, and which the
astropy of a stable distribution knows up to its release only. A table of ten-day steps from
the year 2000 on comes along instead.
"""

import numpy as np

from . import earth_rotation_table as table

UNIX_EPOCH_JD = 2440587.5  # Julian date of 1970-01-01, 0 h
MJD_ZERO_JD = 2400000.5
SECONDS_PER_DAY = 86400
TT_MINUS_TAI = 32.184      # seconds, by definition


def _tai_minus_utc(mjd):
    """Leap seconds at modified Julian dates in UTC."""
    import erfa  # not needed by those who only connect blocks
    steps = erfa.leap_seconds.get()
    dates = [erfa.cal2jd(int(step["year"]), int(step["month"]), 1)[1] for step in steps]
    return steps["tai_utc"][np.searchsorted(dates, mjd, side="right") - 1]


def _day_length(mjd):
    """Seconds of the UTC day that a modified Julian date is in: 86401 with a leap second.

    A fraction of a Julian date in UTC is one of that day, as in SOFA and astropy.
    """
    day = np.floor(mjd)
    return SECONDS_PER_DAY + _tai_minus_utc(day + 1) - _tai_minus_utc(day)


def in_table(jd):
    """
    Whether UT1 is known (or predicted by the IERS) at all of these times.

    Parameters
    ----------
    jd : float or array of float
        Julian dates in UTC.
    """
    mjd = np.asarray(jd) - MJD_ZERO_JD
    last = table.FIRST + table.STEP * (len(table.UT1_MINUS_TAI) - 1)
    return bool(np.all((mjd >= table.FIRST) & (mjd <= last)))


def warning(jd):
    """What a user is to be told of these times, None if all is well; jd as in `in_table`."""
    if in_table(jd):
        return None
    return (f"the rotation of the Earth at Julian date {np.max(jd):.1f} is not known to "
            "gr-aperture: sidereal times may be wrong by a second")


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
    mjd = day + fraction
    dates = table.FIRST + table.STEP * np.arange(len(table.UT1_MINUS_TAI))
    ut1_minus_tai = np.interp(mjd, dates, table.UT1_MINUS_TAI) * 1e-4
    return ut1_minus_tai + _tai_minus_utc(np.floor(day) + np.floor(day % 1 + fraction))


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
    seconds = (date - day + fraction) * _day_length(day)
    ut1 = (seconds + ut1_minus_utc(jd, fraction)) / SECONDS_PER_DAY
    tt = (seconds + _tai_minus_utc(day) + TT_MINUS_TAI) / SECONDS_PER_DAY
    midnight = MJD_ZERO_JD + day
    greenwich = erfa.gst06a(midnight, ut1, midnight, tt)
    return np.mod(greenwich + erfa.sp00(midnight, tt) + np.deg2rad(longitude), 2 * np.pi)


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
    return midnight, (rest + fraction) / _day_length(midnight)


def modified_julian_date(seconds, fraction=0.0):
    """Modified Julian date (UTC), a double, which is good to 0.3 us; see day_and_fraction()."""
    midnight, part = day_and_fraction(seconds, fraction)
    return midnight + part


def julian_date(seconds, fraction=0.0):
    """Julian date (UTC), a double, which is good to 20 us; see day_and_fraction()."""
    midnight, part = day_and_fraction(seconds, fraction)
    return midnight + MJD_ZERO_JD + part
