/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/detection.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::alignment {

double strength_of(double coherence_squared, double samples)
{
    // rounding may bring two equal signals to 1 and above
    const double x = std::min(coherence_squared, 1 - 1e-12);
    return -std::max(samples - 1, 0.) * std::log1p(-x);
}

double searched_lags::independent(double strength) const
{
    return lags * std::erf(M_PI * rms_bandwidth * spacing * std::sqrt(strength));
}

double searched_lags::false_alarms(double strength) const
{
    return -std::expm1(independent(strength) * std::log1p(-std::exp(-strength)));
}

double searched_lags::threshold(double wanted) const
{
    double low = 1e-3, high = 745; // exp(-745) is the smallest double
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        (false_alarms(middle) > wanted ? low : high) = middle;
    }
    return high;
}

} // namespace gr::aperture::kernels::alignment
