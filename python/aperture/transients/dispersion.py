#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Delays of dispersed signals, as lib/kernels/dedispersion/dispersion.h has them."""

import numpy as np

# K of the cold plasma's delay K DM / f^2, in s MHz^2 cm^3 / pc: 1 / 2.41e-4 by the convention
# of pulsar timing (Manchester and Taylor 1972), and not the value from the electron's charge
# and mass, which is 1.4e-4 of it smaller.
DISPERSION_CONSTANT = 1e4 / 2.41


def delay(dm, frequency_hz, reference_hz=np.inf):
    """
    Returns how much later a signal arrives at one frequency than at another.

    Parameters
    ----------
    dm : float or array
        Dispersion measure, pc/cm^3.
    frequency_hz, reference_hz : float or array
        Frequencies, Hz. The reference is infinite frequency unless it is given.

    Returns
    -------
    float or array
        Seconds; negative where the reference is the lower frequency.
    """
    f, r = np.asarray(frequency_hz) * 1e-6, np.asarray(reference_hz) * 1e-6
    return DISPERSION_CONSTANT * np.asarray(dm) * (1 / (f * f) - 1 / (r * r))


def channel_frequencies(channels, center_frequency, bandwidth):
    """
    Centres of channels in order of increasing frequency, Hz: that of channel channels // 2 is
    the centre frequency, which is `rx_freq`.
    """
    return center_frequency + (np.arange(channels) - channels // 2) * (bandwidth / channels)


def rounded_delays(dms, channels, center_frequency, bandwidth, sample_time, decimations=()):
    """
    Delays in whole items after the highest channel.

    Parameters
    ----------
    dms : sequence of float
        Dispersion measures of the trials, pc/cm^3.
    channels, center_frequency, bandwidth
        The band; frequencies in Hz. See channel_frequencies().
    sample_time : float
        Seconds from one item of powers to the next.
    decimations : sequence of int
        One for each trial; none: all 1.

    Returns
    -------
    int64 array [trial][channel]
        K DM (f_k^-2 - f_ref^-2) in items of powers, rounded (half to even) to a multiple of
        the trial's decimation.
    """
    frequencies = channel_frequencies(channels, center_frequency, bandwidth)
    dms = np.asarray(dms, np.float64)[:, np.newaxis]
    steps = np.ones(len(dms), np.int64) if len(decimations) == 0 else np.asarray(decimations)
    exact = delay(dms, frequencies, frequencies[-1]) / sample_time
    steps = steps.astype(np.int64)[:, np.newaxis]
    return np.rint(exact / steps).astype(np.int64) * steps
