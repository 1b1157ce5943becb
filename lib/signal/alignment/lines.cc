/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/interruption.h"
#include "signal/alignment/lines.h"
#include "signal/alignment/spectrum.h"
#include <volk/volk.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::alignment {

namespace {

constexpr int fewest_channels = 64, most_channels = 4096;
constexpr int64_t most_windows = 4096;
//! Half of the width of a line under the window, in channels.
constexpr int half_width = 4;
//! Fraction of the power that remains where there were only lines: more than floats
//! round, and less than the noise of any receiver.
constexpr double nothing_left = 1e-9;

//! Returns a Blackman-Harris window: at least 92 dB below its peak from four channels on.
std::vector<float> window_of(int channels)
{
    std::vector<float> window(channels);
    for (int j = 0; j < channels; j++) {
        const double a = 2 * M_PI * j / channels;
        window[j] = float(0.35875 - 0.48829 * std::cos(a) + 0.14128 * std::cos(2 * a) -
                          0.01168 * std::cos(3 * a));
    }
    return window;
}

int channels_for(int64_t count)
{
    int channels = fewest_channels;
    while (channels < most_channels && 2 * 16 * int64_t(channels) <= count)
        channels *= 2;
    return channels;
}

/*!
 * Returns factors of the channels: 0 at lines and around them, and else 1. A line stands
 * out from the median of the channels around it, so that neither a slope nor an edge of
 * the band is one. It is empty without lines, or where most channels would be lines.
 */
std::vector<float> factors_of(const std::vector<double>& spectrum, double windows)
{
    const int channels = int(spectrum.size());
    const auto medians = running_median(spectrum, std::max(17, channels / 128 | 1));
    const double least = std::max(2., 1 + 10 / std::sqrt(windows));
    std::vector<float> factors(channels, 1);
    bool any = false;
    for (int k = 0; k < channels; k++) {
        if (spectrum[k] <= least * medians[k])
            continue;
        any = true;
        for (int j = -half_width - 1; j <= half_width + 1; j++)
            factors[(k + j + channels) % channels] = 0;
    }
    if (!any)
        factors.clear();
    return factors;
}

//! Makes a filter's taps from factors, one for each channel, the middle one first.
void fill_response(const std::vector<float>& factors, complex_buffer& response)
{
    const int channels = int(factors.size());
    const auto window = window_of(channels);
    complex_buffer taps(channels);
    std::copy(factors.begin(), factors.end(), taps.data());
    transform(channels, 1).execute(taps);
    const int64_t points = 8 * int64_t(channels);
    std::fill(response.data(), response.data() + points, cfloat(0));
    for (int j = -channels / 2; j < channels / 2; j++) {
        const float weight = window[j + channels / 2] / float(channels) / float(points);
        response[(j + points) % points] = weight * taps[(j + channels) % channels];
    }
    transform(points, -1).execute(response);
}

double power_of(const std::vector<double>& spectrum)
{
    double sum = 0;
    for (const double power : spectrum)
        sum += power;
    return sum;
}

} // namespace

std::vector<cfloat> without_lines(const cfloat* samples, int64_t count)
{
    if (count < 16 * fewest_channels)
        return {};
    const int channels = channels_for(count);
    const auto window = window_of(channels);
    const auto before = mean_spectrum(samples, count, window, most_windows);
    const int64_t windows = std::min(2 * count / channels - 1, most_windows);
    const auto factors = factors_of(before, double(windows));
    if (factors.empty())
        return {};

    const int64_t points = 8 * int64_t(channels), edge = channels / 2;
    complex_buffer response(points), part(points);
    fill_response(factors, response);
    const transform forward(points, -1), backward(points, 1);
    std::vector<cfloat> result(count);
    for (int64_t first = 0; first + 2 * edge < count; first += points - 2 * edge) {
        interruption_point();
        const int64_t there = std::min(points, count - first);
        std::copy_n(samples + first, there, part.data());
        std::fill(part.data() + there, part.data() + points, cfloat(0));
        forward.execute(part);
        volk_32fc_x2_multiply_32fc(
            part.data(), part.data(), response.data(), unsigned(points));
        backward.execute(part);
        std::copy_n(part.data() + edge, there - 2 * edge, result.data() + first + edge);
    }
    const auto after = mean_spectrum(result.data(), count, window, most_windows);
    if (power_of(after) < nothing_left * power_of(before))
        std::fill(result.begin(), result.end(), cfloat(0));
    return result;
}

} // namespace gr::aperture::kernels::alignment
