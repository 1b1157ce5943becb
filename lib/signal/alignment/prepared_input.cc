/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/float_environment.h"
#include "signal/alignment/lines.h"
#include "signal/alignment/prepared_input.h"
#include <volk/volk.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::alignment {

namespace {
constexpr int64_t most_energies = 1 << 16; // half a megabyte
constexpr int64_t most_windows = 4096;     // a channel's power to 1.6%
//! Samples from 2^-20 to 2^20, as receivers send them, are not scaled: their fourth
//! powers, summed over any search, are floats.
constexpr int usual_exponent = 20;
} // namespace

int prepared_input::channels_for(int64_t count)
{
    int channels = 16;
    while (channels < 1024 && channels * 2 * 16 <= count)
        channels *= 2;
    return channels;
}

prepared_input::prepared_input(const cfloat* samples, int64_t count)
    : d_samples(samples), d_count(count)
{
    scale_samples();
    if (!d_finite)
        return;
    sum_energies();
    if (zero())
        return;
    d_without_lines = alignment::without_lines(d_samples, count);
    if (!d_without_lines.empty()) {
        d_samples = d_without_lines.data();
        sum_energies();
        if (zero())
            return;
    }
    d_spectrum =
        mean_spectrum(d_samples, count, sine_window(channels_for(count)), most_windows);
    const auto used = used_channels(d_spectrum);
    const auto channels = double(d_spectrum.size());
    for (size_t k = 0; k < d_spectrum.size(); k++) {
        d_power += d_spectrum[k] / channels;
        d_used += used[k] / channels;
        d_whitening.push_back(used[k] ? float(1 / std::sqrt(d_spectrum[k])) : 0.f);
    }
}

void prepared_input::scale_samples()
{
    // the last input's transforms may have made this thread read small numbers as zeros
    const usual_float_environment environment;
    double sum = 0; // no square of a float is too large or too small for a double
    const auto* parts = reinterpret_cast<const float*>(d_samples);
    for (int64_t i = 0; i < 2 * d_count; i++)
        sum += double(parts[i]) * double(parts[i]);
    d_finite = std::isfinite(sum);
    const int exponent = d_finite && sum > 0 ? std::ilogb(sum / double(d_count)) / 2 : 0;
    if (std::abs(exponent) <= usual_exponent)
        return;
    d_scale = std::ldexp(1., -exponent);
    d_scaled.resize(size_t(d_count));
    for (int64_t i = 0; i < d_count; i++)
        d_scaled[size_t(i)] = { float(d_samples[i].real() * d_scale),
                                float(d_samples[i].imag() * d_scale) };
    d_samples = d_scaled.data();
}

void prepared_input::sum_energies()
{
    const int64_t stride = (d_count + most_energies - 1) / most_energies;
    d_per_stride = 1. / double(stride);
    d_energies = { 0 };
    for (int64_t at = 0; at < d_count; at += stride) {
        const auto length = std::min(stride, d_count - at);
        const auto* parts = reinterpret_cast<const float*>(d_samples + at);
        float energy;
        volk_32f_x2_dot_prod_32f(&energy, parts, parts, unsigned(2 * length));
        d_energies.push_back(d_energies.back() + energy);
    }
    d_energies.push_back(d_energies.back()); // to interpolate from the last one
}

} // namespace gr::aperture::kernels::alignment
