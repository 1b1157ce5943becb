#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The theory of how often interference is found: what docs/interference.md and tests compare
with."""

import numpy as np
from scipy import special

from .flagging_model import kurtosis_limits


def power_moments(ratio, duty=1.0, noise=False):
    """
    Mean of |x|^2k, k = 1 to 4: noise of power 1, and interference that is on for the fraction
    `duty`, then with `ratio` times the power of the noise. It is a carrier, or Gaussian noise.
    """
    factorials = np.array([1, 2, 6, 24], dtype=float)
    if noise:
        on = factorials * (1 + ratio) ** np.arange(1, 5)
    else:
        # Laguerre polynomials: of a non-central chi-squared distribution
        on = np.array([factorials[k - 1] * special.eval_laguerre(k, -ratio) for k in range(1, 5)])
    return duty * on + (1 - duty) * factorials


def kurtosis_distribution(spectra, *interference, **more):
    """(mean, standard deviation) of the spectral kurtosis, normal for many spectra."""
    e1, e2, e3, e4 = power_moments(*interference, **more)
    mean = e2 / e1**2 - 1
    # by how much S2/S1^2 changes with each sample: p^2/e1^2 - 2 e2 p/e1^3
    variance = (
        (e4 - e2**2) / e1**4 + 4 * e2**2 * (e2 - e1**2) / e1**6 - 4 * e2 * (e3 - e1 * e2) / e1**5
    ) / spectra
    return mean, np.sqrt(variance)


def kurtosis_detection(spectra, false_alarms, *interference, **more):
    """Probability that spectral kurtosis flags a cell."""
    low, high = kurtosis_limits(spectra, false_alarms)
    mean, deviation = kurtosis_distribution(spectra, *interference, **more)
    return special.ndtr((low - mean) / deviation) + special.ndtr((mean - high) / deviation)


def power_detection(spectra, sigma, *interference, **more):
    """Probability that the mean power lies more than `sigma` above that of the noise alone."""
    e1, e2, _, _ = power_moments(*interference, **more)
    return special.ndtr((e1 - 1 - sigma / np.sqrt(spectra)) / np.sqrt((e2 - e1**2) / spectra))
