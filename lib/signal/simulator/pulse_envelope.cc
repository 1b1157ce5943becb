/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/simulator/pulse_envelope.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture::kernels::host {

namespace {

//! Ratio of the full width at half maximum of a Gaussian to its standard deviation.
const double fwhm = std::sqrt(8 * std::log(2.0));
//! Standard deviations and scattering times after which only 1e-9 is left.
constexpr double gaussian_reach = 6.5, exponential_reach = 21;

//! Returns exp(z^2) erfc(z) for z >= 3, by the continued fraction of erfc.
double scaled_erfc(double z)
{
    double fraction = z;
    for (int k = 60; k >= 1; k--)
        fraction = z + 0.5 * k / fraction;
    return 1 / (fraction * std::sqrt(M_PI));
}

} // namespace

double pulse_shape(double t, double sigma, double tau)
{
    const double exponent = -t * t / (2 * sigma * sigma);
    if (tau == 0)
        return std::exp(exponent) / (sigma * std::sqrt(2 * M_PI));
    const double z = (sigma / tau - t / sigma) * M_SQRT1_2;
    // neither factor of the closed form stays within the range of a double
    return (z < 3 ? std::exp(exponent + z * z) * std::erfc(z)
                  : std::exp(exponent) * scaled_erfc(z)) /
           (2 * tau);
}

pulse_envelope::pulse_envelope(const pulsed_source& source,
                               double steady,
                               double sample_rate,
                               double scattering_time,
                               double delay)
    : d_source(source),
      d_steady(steady),
      d_rate(sample_rate),
      d_tau(scattering_time),
      d_delay(delay)
{
    double narrowest = std::numeric_limits<double>::infinity();
    for (const auto& p : source.pulsars)
        narrowest = std::min(narrowest, p.width);
    for (const auto& p : source.pulses)
        narrowest = std::min(narrowest, p.width);
    const double samples = narrowest / fwhm * sample_rate / 32;
    d_spacing = int64_t(std::clamp(samples, 1.0, 65536.0));
}

double pulse_envelope::flux(long double t) const
{
    double sum = d_steady;
    for (const auto& p : d_source.pulsars) {
        const double sigma = p.width / fwhm;
        const long double phase =
            p.phase + t * (p.frequency + t * p.frequency_derivative / 2);
        const double period = double(1 / (p.frequency + t * p.frequency_derivative));
        const double before = gaussian_reach * sigma / period;
        const double after = before + exponential_reach * d_tau / period;
        const long double last = std::floor(phase + before);
        for (long double k = std::ceil(phase - after); k <= last; k++)
            sum += p.fluence * pulse_shape(double(phase - k) * period, sigma, d_tau);
    }
    for (const auto& p : d_source.pulses) {
        const double sigma = p.width / fwhm;
        const auto offset = double(t - p.time);
        if (offset > -gaussian_reach * sigma &&
            offset < gaussian_reach * sigma + exponential_reach * d_tau)
            sum += p.fluence * pulse_shape(offset, sigma, d_tau);
    }
    return sum;
}

double pulse_envelope::amplitude_at_node(int64_t node) const
{
    return std::sqrt(flux((long double)(node)*d_spacing / d_rate - d_delay));
}

bool pulse_envelope::fill(int64_t first, size_t count, float* amplitudes) const
{
    const int64_t end = first + int64_t(count);
    // the node at or before the first sample
    int64_t node = first / d_spacing - (first % d_spacing < 0);
    double here = amplitude_at_node(node);
    bool any = false;
    for (int64_t sample = first; sample < end; node++) {
        const double next = amplitude_at_node(node + 1);
        const int64_t start = node * d_spacing, stop = std::min(end, start + d_spacing);
        if (!any && (here > 0 || next > 0)) {
            any = true;
            std::fill_n(amplitudes, sample - first, 0.0f);
        }
        if (any) {
            const double slope = (next - here) / double(d_spacing);
            for (int64_t i = sample; i < stop; i++)
                amplitudes[i - first] = float(here + slope * double(i - start));
        }
        sample = stop;
        here = next;
    }
    return any;
}

} // namespace gr::aperture::kernels::host
