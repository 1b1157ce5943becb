/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/kaiser.h"
#include "kernels/common/types.h"
#include "kernels/pfb/prototype.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <numeric>

namespace gr::aperture::kernels {

namespace {

//! A window as a function of position, -1 at its first sample and 1 at its last one.
using window_shape = std::function<double(double)>;

//! Returns a0 + a1 cos(pi u) + a2 cos(2 pi u).
window_shape cosine_sum(double a0, double a1, double a2)
{
    return [=](double u) { return a0 + a1 * cos(M_PI * u) + a2 * cos(2 * M_PI * u); };
}

window_shape parse_window(const std::string& name)
{
    static const std::map<std::string, window_shape> fixed{
        { "rect", cosine_sum(1, 0, 0) },
        { "hann", cosine_sum(0.5, 0.5, 0) },
        { "hamming", cosine_sum(0.54, 0.46, 0) },
        { "blackman", cosine_sum(0.42, 0.5, 0.08) },
    };
    if (auto found = fixed.find(name); found != fixed.end())
        return found->second;

    const std::string rule =
        "hann, hamming, blackman, rect or kaiser(beta), beta from 0 to 100";
    const std::string start = "kaiser(";
    require(name.rfind(start, 0) == 0 && name.back() == ')',
            "window",
            "'" + name + "'",
            rule);
    const std::string number = name.substr(start.size(), name.size() - start.size() - 1);
    double beta = -1;
    size_t used = 0;
    try {
        beta = std::stod(number, &used);
    } catch (const std::exception&) {
        // used stays 0: refused below
    }
    require(used > 0 && used == number.size() && beta >= 0 && beta <= 100,
            "window",
            "'" + name + "'",
            rule);
    return [beta](double u) { return kaiser_window(u, beta); };
}

} // namespace

std::vector<float> prototype(int hop, int taps, const std::string& window)
{
    require_range("taps", taps, 1, 64);
    const auto shape = parse_window(window);
    const int64_t length = int64_t(hop) * taps;
    std::vector<double> h(length);
    double energy = 0;
    for (int64_t j = 0; j < length; j++) {
        const double offset = j - (length - 1) / 2.;
        const double x = M_PI * offset / hop;
        // one of an odd number of samples lies in the middle
        h[j] = (x == 0 ? 1 : sin(x) / x) * shape(offset / ((length - 1) / 2.));
        energy += h[j] * h[j];
    }
    require(energy > 0,
            "window",
            "'" + window + "' of " + std::to_string(length) + " samples",
            "other than zero somewhere: more taps make it longer");
    std::vector<float> scaled(length);
    for (int64_t j = 0; j < length; j++)
        scaled[j] = h[j] / sqrt(energy);
    return scaled;
}

prototype_response::prototype_response(const std::vector<float>& prototype, int length)
{
    // some spacings from the middle the sums of 1/128 of a tap are as good as its samples
    const size_t together = std::max(1, length / 128);
    for (size_t first = 0; first < prototype.size(); first += together) {
        const size_t end = std::min(prototype.size(), first + together);
        d_sums.push_back(std::accumulate(&prototype[first], &prototype[0] + end, 0.));
        d_places.push_back((double(first) + double(end - 1)) / 2 / length);
    }
}

double prototype_response::power(double spacings) const
{
    std::complex<double> sum;
    for (size_t i = 0; i < d_sums.size(); i++)
        sum += std::polar(d_sums[i], -2 * M_PI * spacings * d_places[i]);
    return std::norm(sum);
}

double alias_of(const std::vector<float>& prototype, int length, int hop)
{
    const prototype_response response(prototype, length);
    constexpr int steps = 32, most_images = 3;
    double own = 0, images = 0; // at negative frequencies they are the same
    for (int step = 0; step < steps; step++) {
        const double frequency = 0.5 * (step + 0.5) / steps;
        own += response.power(frequency);
        for (int image = -most_images; image <= most_images; image++)
            if (image != 0)
                images += response.power(frequency + double(image) * length / hop);
    }
    return 10 * std::log10(images / own);
}

} // namespace gr::aperture::kernels
