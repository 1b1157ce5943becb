/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/coherence_meter.h"
#include <cmath>
#include <limits>

namespace gr::aperture::kernels::alignment {

void coherence_meter::begin(int inputs, int reference, int64_t window)
{
    d_sums.assign(size_t(inputs), {});
    d_reference = reference;
    d_window = window;
    d_count = 0;
}

void coherence_meter::add(const std::vector<const cfloat*>& samples,
                          int64_t count,
                          const std::vector<double>& phase_rates)
{
    const cfloat* const y = samples[size_t(d_reference)];
    for (size_t input = 0; input < d_sums.size(); input++) {
        auto& s = d_sums[input];
        const cfloat* const x = samples[input];
        s.complete = s.complete && x && y;
        if (!s.complete)
            continue;
        const double rate = phase_rates[input] - phase_rates[size_t(d_reference)];
        std::complex<double> factor = std::polar(1.0, rate * double(d_count));
        const std::complex<double> rotation = std::polar(1.0, rate);
        for (int64_t i = 0; i < count; i++, factor *= rotation) {
            const std::complex<double> a(x[i].real(), x[i].imag());
            const std::complex<double> b(y[i].real(), y[i].imag());
            s.product += a * std::conj(b) * factor;
            s.power += std::norm(a);
        }
    }
    d_count += count;
}

std::vector<double> coherence_meter::take()
{
    std::vector<double> found(d_sums.size(), std::numeric_limits<double>::quiet_NaN());
    const auto& y = d_sums[size_t(d_reference)];
    for (size_t input = 0; input < d_sums.size(); input++) {
        const auto& s = d_sums[input];
        const double powers = s.power * y.power;
        if (int(input) != d_reference && s.complete && powers > 0)
            found[input] = std::abs(s.product) / std::sqrt(powers);
    }
    begin(int(d_sums.size()), d_reference, d_window);
    return found;
}

} // namespace gr::aperture::kernels::alignment
