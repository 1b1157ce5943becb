/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/detection.h"
#include "signal/alignment/phase_line.h"
#include "signal/alignment/transform.h"
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::alignment {

namespace {

using cdouble = std::complex<double>;

constexpr double nearly_one = 1 - 1e-9; // coherence of two equal signals, with rounding

struct channel_line {
    double phase, delay;
    double of(double f) const { return phase - 2 * M_PI * f * delay; }
};

//! Returns the highest point of the correlation within +-most_delay, and the phase there.
channel_line highest(const std::vector<cdouble>& coherences,
                     const std::vector<char>& used,
                     double most_delay)
{
    constexpr size_t finer = 8;
    const size_t channels = coherences.size(), points = finer * channels;
    complex_buffer values(points);
    std::fill(values.data(), values.data() + points, cfloat(0));
    for (size_t k = 0; k < channels; k++)
        if (used[k])
            values[k < channels - channels / 2 ? k : points - channels + k] =
                cfloat(coherences[k]);
    transform(points, 1).execute(values);
    channel_line best{ 0, 0 };
    double most = -1;
    const auto reach =
        std::min<int64_t>(std::ceil(most_delay * finer), int64_t(points) / 2 - 1);
    for (int64_t m = -reach; m <= reach; m++) {
        const auto value = values[(m + int64_t(points)) % int64_t(points)];
        if (std::norm(value) > most) {
            most = std::norm(value);
            best = { std::arg(cdouble(value)), double(m) / finer };
        }
    }
    return best;
}

//! Returns means of 2 half + 1 used neighbours, around the circle.
std::vector<double>
smooth(const std::vector<double>& values, const std::vector<char>& used, int half)
{
    const int channels = int(values.size());
    half = std::min(half, (channels - 1) / 2);
    std::vector<double> means(channels);
    double sum = 0;
    int count = 0;
    const auto add = [&](int k, int sign) {
        k = (k + channels) % channels;
        if (used[k]) {
            sum += sign * values[k];
            count += sign;
        }
    };
    for (int k = -half; k < half; k++)
        add(k, 1);
    for (int k = 0; k < channels; k++) {
        add(k + half, 1);
        means[k] = count ? sum / count : 0;
        add(k - half, -1);
    }
    return means;
}

} // namespace

double phase_line::signal_to_noise() const { return std::sqrt(known[0] / 2); }

phase_line fit_phase_line(const std::vector<cdouble>& coherences,
                          const std::vector<char>& used,
                          double samples,
                          double most_delay)
{
    const size_t channels = coherences.size();
    channel_line line = highest(coherences, used, most_delay);
    std::vector<double> weights(channels), along(channels), across(channels);
    for (size_t k = 0; k < channels; k++)
        weights[k] = used[k] ? 1 : 0;
    const double count = std::max<double>(1, std::count(used.begin(), used.end(), 1));
    phase_line result;
    constexpr int alike = 4, rounds = 10; // with equal weights first
    for (int round = 0; round < rounds; round++) {
        double mean = 0;
        for (size_t k = 0; k < channels; k++) {
            const auto c =
                coherences[k] * std::polar(1., -line.of(frequency_of(k, channels)));
            along[k] = c.real();
            across[k] = c.imag();
            if (used[k])
                mean += along[k] / count;
        }
        mean = std::clamp(mean, 1e-9, nearly_one);
        result.coherence = mean;
        if (round >= alike) {
            // the width in which channels have a signal-to-noise of 8 together
            const double one = mean * mean * samples / (1 - mean * mean);
            const double half = std::clamp(64 / one / 2, 2., double(channels));
            const auto means = smooth(along, used, int(half));
            for (size_t k = 0; k < channels; k++) {
                const double g = std::clamp(means[k], 0., nearly_one);
                // weight of the imaginary part; times g, of the phase
                weights[k] = used[k] ? g / (1 - g * g) : 0;
                along[k] = g;
            }
        } else {
            std::fill(along.begin(), along.end(), mean);
        }
        information known{};
        double phase = 0, delay = 0;
        for (size_t k = 0; k < channels; k++) {
            const double slope = -2 * M_PI * frequency_of(k, channels);
            const double weight = 2 * samples * weights[k];
            phase += weight * across[k];
            delay += weight * across[k] * slope;
            known[0] += weight * along[k];
            known[1] += weight * along[k] * slope;
            known[2] += weight * along[k] * slope * slope;
        }
        result.known = known;
        const double determinant = known[0] * known[2] - known[1] * known[1];
        if (!(determinant > 0))
            break;
        // a step of more than the peak's width would be no longer linear
        line.phase += (phase * known[2] - delay * known[1]) / determinant;
        line.delay +=
            std::clamp((delay * known[0] - phase * known[1]) / determinant, -0.5, 0.5);
    }
    result.phase = std::remainder(line.phase, 2 * M_PI);
    result.delay = line.delay;
    result.strength = strength_of(result.coherence * result.coherence, samples * count);
    return result;
}

} // namespace gr::aperture::kernels::alignment
