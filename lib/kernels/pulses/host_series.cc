/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/simd.h"
#include "kernels/pulses/host_series.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gr::aperture::kernels::host {

namespace {

constexpr float unknown = std::numeric_limits<float>::quiet_NaN();

struct group_sums {
    int there; // samples that are finite and not 0
    double mean, variance;
};

APERTURE_SIMD group_sums sums_of(const float* x)
{
    constexpr int lanes = 16;
    constexpr float largest = std::numeric_limits<float>::max();
    int there[lanes] = {}, finite[lanes] = {};
    double sums[lanes] = {};
    for (int part = 0; part < group_values; part += lanes)
        for (int i = 0; i < lanes; i++) {
            const float v = x[part + i];
            const bool ok = std::abs(v) <= largest; // false for NaN
            sums[i] += ok ? v : 0;
            finite[i] += ok;
            there[i] += ok && v != 0;
        }
    const int count = std::accumulate(finite, finite + lanes, 0);
    const double mean = count ? std::accumulate(sums, sums + lanes, 0.) / count : 0;
    const float middle = float(mean);
    float squares[lanes] = {};
    for (int part = 0; part < group_values; part += lanes)
        for (int i = 0; i < lanes; i++) {
            const float v = x[part + i];
            const float off = std::abs(v) <= largest ? v - middle : 0;
            squares[i] += off * off;
        }
    const double square = std::accumulate(squares, squares + lanes, 0.);
    return { std::accumulate(there, there + lanes, 0),
             mean,
             count > 1 ? square / (count - 1) : 0 };
}

//! Computes (x - baseline) factor, where it is a number.
APERTURE_SIMD void
normalise(const float* x, int count, float baseline, float factor, float* to)
{
    for (int i = 0; i < count; i++) {
        const float v = (x[i] - baseline) * factor;
        const float above = v > -most_sigma ? v : -most_sigma;
        const float within = above < most_sigma ? above : most_sigma;
        to[i] = std::abs(x[i]) <= std::numeric_limits<float>::max() ? within : 0;
    }
}

float median(std::vector<float>& values)
{
    const size_t half = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + half, values.end());
    const float upper = values[half];
    if (values.size() % 2)
        return upper;
    return (upper + *std::max_element(values.begin(), values.begin() + half)) / 2;
}

} // namespace

boxcar_set::boxcar_set(const std::vector<boxcar>& all) : d_size(all.size())
{
    for (size_t i = 0; i < all.size(); i++) {
        const boxcar& b = all[i];
        if (size_t(b.level) >= d_levels.size())
            d_levels.push_back({ int(i), {}, {} });
        d_levels.back().units.push_back(b.units);
        d_levels.back().scales.push_back(1 / std::sqrt(float(b.width)));
    }
}

running_baseline::running_baseline(const window_bins& w)
    : d_window(w), d_median(median_of_variance(w.groups))
{
    d_bins.reserve(w.bins);
}

void running_baseline::reset()
{
    d_bins.clear();
    d_next = 0;
    d_mean = d_variance = 0;
    d_seen = d_there = 0;
}

bool running_baseline::add(const float* group)
{
    const auto sums = sums_of(group);
    const bool there = sums.there >= least_values && sums.variance > 0 &&
                       std::isfinite(sums.variance) && std::isfinite(sums.mean);
    if (there) {
        d_mean += sums.mean;
        d_variance += sums.variance;
        d_there++;
    }
    if (++d_seen < d_window.groups)
        return there;
    if (2 * d_there >= d_seen) {
        const bin made{ float(d_mean / d_there), float(d_variance / d_there) };
        if (int(d_bins.size()) < d_window.bins) {
            d_bins.push_back(made);
        } else {
            d_bins[d_next] = made;
            d_next = (d_next + 1) % d_bins.size();
        }
    }
    d_mean = d_variance = 0;
    d_seen = d_there = 0;
    return there;
}

bool running_baseline::level(float& baseline, float& sigma)
{
    if (d_bins.empty() && d_there == 0)
        return false;
    auto take = [&](float bin::*part, double filling) {
        d_sorted.clear();
        for (const auto& b : d_bins)
            d_sorted.push_back(b.*part);
        if (d_there)
            d_sorted.push_back(float(filling / d_there));
        return median(d_sorted);
    };
    baseline = take(&bin::mean, d_mean);
    sigma = float(std::sqrt(take(&bin::variance, d_variance) / d_median));
    return true;
}

host_series::host_series(const window_bins& w, int number)
    : d_number(number), d_baseline(w)
{
}

void host_series::reset()
{
    d_baseline.reset();
    d_left = 0;
    d_history = {};
}

void host_series::search(const float* values,
                         int count,
                         const boxcar_set& boxcars,
                         float threshold,
                         workspace& w)
{
    int first = -d_left;
    while (count - first >= group_values) {
        const int groups = std::min((count - first) / group_values, tile_groups);
        const float* from = values + first;
        if (first < 0) {
            std::copy_n(d_waiting.begin(), d_left, w.raw.begin());
            std::copy_n(values, groups * group_values - d_left, w.raw.begin() + d_left);
            from = w.raw.data();
            d_left = 0;
        }
        search_tile(from, groups, first, boxcars, threshold, w);
        first += groups * group_values;
    }
    const int begin = std::max(first, 0);
    std::copy_n(values + begin, count - begin, d_waiting.begin() + d_left);
    d_left += count - begin;
}

void host_series::flush(const boxcar_set& boxcars, float threshold, workspace& w)
{
    if (d_left) {
        std::fill(d_waiting.begin() + d_left, d_waiting.end(), unknown);
        search_tile(d_waiting.data(), 1, -d_left, boxcars, threshold, w);
    }
    d_left = 0;
    d_history = {};
}

void host_series::search_tile(const float* values,
                              int groups,
                              int first,
                              const boxcar_set& boxcars,
                              float threshold,
                              workspace& w)
{
    make_sums(values, groups, boxcars.levels().size(), w);
    find_cells(groups, first, boxcars, threshold, w);
    for (size_t level = 0; level < boxcars.levels().size(); level++) {
        const float* end =
            w.sums[level].data() + most_units + (groups * group_values >> level);
        for (int i = 0; i < most_units; i++)
            d_history[level][i] = end[i - most_units] - end[0];
    }
}

void host_series::make_sums(const float* values, int groups, size_t levels, workspace& w)
{
    bool there[tile_groups];
    for (int g = 0; g < groups; g++)
        there[g] = d_baseline.add(values + g * group_values);
    float baseline = 0, sigma = 0;
    const bool known = d_baseline.level(baseline, sigma);

    // sums of level 0, and from them those of the others
    for (size_t level = 0; level < levels; level++) {
        std::copy_n(d_history[level].begin(), most_units, w.sums[level].begin());
        w.sums[level][most_units] = 0;
    }
    float* sums = w.sums[0].data() + most_units;
    float sum = 0;
    for (int g = 0; g < groups; g++) {
        float x[group_values] = {};
        if (there[g] && known)
            normalise(values + g * group_values, group_values, baseline, 1 / sigma, x);
        for (int i = 0; i < group_values; i++)
            *++sums = sum += x[i];
    }
    for (size_t level = 1; level < levels; level++) {
        const float* finer = w.sums[level - 1].data() + most_units;
        float* to = w.sums[level].data() + most_units;
        for (int i = 1; i <= groups * group_values >> level; i++)
            to[i] = finer[2 * i];
    }
}

void host_series::find_cells(
    int groups, int first, const boxcar_set& boxcars, float threshold, workspace& w)
{
    const auto& levels = boxcars.levels();
    float largest = -1e30f;
    for (size_t k = 0; k < levels.size(); k++) {
        const int ends = groups * group_values >> k;
        w.largest[k].resize((ends + segment_ends - 1) / segment_ends);
        for (size_t s = 0; s < w.largest[k].size(); s++) {
            w.largest[k][s] =
                largest_sum(w.sums[k].data() + most_units + 1 + s * segment_ends,
                            std::min(ends - int(s) * segment_ends, segment_ends),
                            levels[k].units.data(),
                            levels[k].scales.data(),
                            int(levels[k].units.size()));
            largest = std::max(largest, w.largest[k][s]);
        }
    }
    if (largest <= threshold)
        return;
    for (size_t k = 0; k < levels.size(); k++) {
        const int ends = groups * group_values >> k;
        for (size_t s = 0; s < w.largest[k].size(); s++) {
            const float best = w.largest[k][s];
            if (best <= threshold)
                continue;
            pulse_search::cell found{ d_number, 0, 0, best };
            bool seen = false;
            for (size_t i = 0; i < levels[k].units.size(); i++)
                for (int e = int(s) * segment_ends + 1;
                     e <= std::min(ends, int(s + 1) * segment_ends);
                     e++) {
                    const float* end = w.sums[k].data() + most_units + e;
                    const float snr =
                        (end[0] - end[-levels[k].units[i]]) * levels[k].scales[i];
                    if (snr > threshold)
                        w.above[levels[k].first + i]++;
                    if (snr >= best && !seen) {
                        found.boxcar = levels[k].first + int(i);
                        found.end = first + (e << k);
                        seen = true;
                    }
                }
            bool listed = seen;
            // segments that hold it must not have better cells, and segments that it
            // holds at most equal ones
            for (size_t j = k + 1; j < levels.size(); j++)
                listed = listed && w.largest[j][s >> (j - k)] <= best;
            for (size_t j = 0; j < k && listed; j++)
                for (size_t i = s << (k - j);
                     i < std::min((s + 1) << (k - j), w.largest[j].size());
                     i++)
                    listed = listed && w.largest[j][i] < best;
            if (listed)
                w.cells.push_back(found);
        }
    }
}

} // namespace gr::aperture::kernels::host
