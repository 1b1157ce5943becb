/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/alignment/spectrum.h"
#include <volk/volk.h>
#include <algorithm>
#include <cmath>

namespace gr::aperture::kernels::alignment {

std::vector<float> sine_window(int channels)
{
    std::vector<float> window(channels);
    for (int j = 0; j < channels; j++)
        window[j] = float(std::sin(M_PI * (j + 0.5) / channels));
    return window;
}

std::vector<double> mean_spectrum(const cfloat* samples,
                                  int64_t count,
                                  const std::vector<float>& window,
                                  int64_t most_windows)
{
    const int channels = int(window.size());
    double energy = 0;
    for (const float w : window)
        energy += double(w) * w;
    const transform forward(channels, -1);
    complex_buffer values(channels);
    std::vector<double> sum(channels);
    const int64_t last = (count - channels) / (channels / 2);
    const int64_t windows = std::min(last + 1, most_windows);
    for (int64_t w = 0; w < windows; w++) {
        const int64_t at = windows == 1 ? 0 : last * w / (windows - 1);
        volk_32fc_32f_multiply_32fc(
            values.data(), samples + at * (channels / 2), window.data(), channels);
        forward.execute(values);
        for (int k = 0; k < channels; k++)
            sum[k] += std::norm(values[k]);
    }
    for (auto& power : sum)
        power /= double(windows) * energy;
    return sum;
}

std::vector<double> running_median(const std::vector<double>& values, int width)
{
    const int count = int(values.size());
    std::vector<double> medians(count), near(width);
    for (int k = 0; k < count; k++) {
        for (int j = 0; j < width; j++)
            near[j] = values[(k + j - width / 2 + count) % count];
        std::nth_element(near.begin(), near.begin() + width / 2, near.end());
        medians[k] = near[width / 2];
    }
    return medians;
}

std::vector<char> used_channels(const std::vector<double>& spectrum)
{
    const int channels = int(spectrum.size());
    const auto medians = running_median(spectrum, std::max(5, channels / 32 | 1));
    const double level = *std::max_element(medians.begin(), medians.end());
    std::vector<char> used(channels, 1);
    for (int k = 0; k < channels; k++) {
        if (spectrum[k] < 0.1 * level || spectrum[k] <= 0)
            used[k] = 0;
        else if (spectrum[k] > 5 * std::max(medians[k], 0.1 * level))
            // the window spreads a line over its neighbours
            for (int j = -1; j <= 1; j++)
                used[(k + j + channels) % channels] = 0;
    }
    return used;
}

} // namespace gr::aperture::kernels::alignment
