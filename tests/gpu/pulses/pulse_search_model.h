/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_GPU_PULSES_PULSE_SEARCH_MODEL_H
#define INCLUDED_APERTURE_TESTS_GPU_PULSES_PULSE_SEARCH_MODEL_H

#include "kernels/pulses/pulse_search.h"
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

namespace {

/*!
 * The S/N of any boxcar of one series in double precision, as pulse_search.h defines it:
 * a sum over the samples themselves, each with the baseline and sigma that held when it
 * came.
 */
class pulse_search_model
{
public:
    explicit pulse_search_model(const gr::aperture::kernels::window_bins& w) : d_window(w)
    {
    }

    void search(const float* values, int count)
    {
        d_item = d_sums.size() - 1 + d_waiting.size();
        d_waiting.insert(d_waiting.end(), values, values + count);
        while (d_waiting.size() >= group) {
            const size_t all = d_waiting.size() / group;
            add_tile(std::min<size_t>(all, gr::aperture::kernels::tile_groups));
        }
    }

    void flush()
    {
        d_item = d_sums.size() - 1 + d_waiting.size();
        if (!d_waiting.empty()) {
            d_waiting.resize(group, std::nanf(""));
            add_tile(1);
        }
        d_flushed.push_back(d_sums.size() - 1);
    }

    //! Returns where the last item began, in samples since the first one.
    size_t item() const { return d_item; }

    //! \param end in samples since the first one
    double snr(size_t end, int width) const
    {
        return sum_up_to(end, width) / std::sqrt(double(width));
    }

    //! Returns the largest sum, in sigma, up to `end` of a tile with its history.
    double largest_sum(size_t end) const
    {
        double largest = 0;
        for (int length = 1; length <= 2 * gr::aperture::kernels::tile_values; length++)
            largest = std::max(largest, std::abs(sum_up_to(end, length)));
        return largest;
    }

private:
    static constexpr size_t group = gr::aperture::kernels::group_values;
    struct bin {
        double mean, variance;
    };

    double sum_up_to(size_t end, size_t length) const
    {
        size_t begin = end > length ? end - length : 0;
        for (const size_t flushed : d_flushed) // no boxcar reaches across
            if (flushed < end)
                begin = std::max(begin, flushed);
        return d_sums[end] - d_sums[begin];
    }

    void add_tile(size_t groups)
    {
        std::vector<bool> there;
        for (size_t g = 0; g < groups; g++)
            there.push_back(add_group(&d_waiting[g * group]));
        const double baseline = median(&bin::mean);
        const double sigma =
            std::sqrt(median(&bin::variance) /
                      gr::aperture::kernels::median_of_variance(d_window.groups));
        for (size_t i = 0; i < groups * group; i++) {
            const double off = (d_waiting[i] - baseline) / sigma;
            const double most = gr::aperture::kernels::most_sigma;
            const bool counts =
                there[i / group] && std::isfinite(d_waiting[i]) && !std::isnan(baseline);
            d_sums.push_back(d_sums.back() + (counts ? std::clamp(off, -most, most) : 0));
        }
        d_waiting.erase(d_waiting.begin(), d_waiting.begin() + groups * group);
    }

    //! \returns whether the group is there
    bool add_group(const float* x)
    {
        int finite = 0, there = 0;
        double mean = 0, square = 0;
        for (size_t i = 0; i < group; i++)
            if (std::isfinite(x[i])) {
                finite++;
                there += x[i] != 0;
                mean += x[i];
            }
        mean /= std::max(finite, 1);
        for (size_t i = 0; i < group; i++)
            square += std::isfinite(x[i]) ? (x[i] - mean) * (x[i] - mean) : 0;
        const bool ok = there >= gr::aperture::kernels::least_values && square > 0;
        if (ok) {
            d_filling.mean += mean;
            d_filling.variance += square / (finite - 1);
            d_there++;
        }
        if (++d_seen == d_window.groups) {
            if (2 * d_there >= d_seen)
                d_bins.push_back(
                    { d_filling.mean / d_there, d_filling.variance / d_there });
            if (int(d_bins.size()) > d_window.bins)
                d_bins.erase(d_bins.begin());
            d_filling = {};
            d_seen = d_there = 0;
        }
        return ok;
    }

    //! Returns the median over the bins, the present one included; NaN without one.
    double median(double bin::*part) const
    {
        std::vector<double> all;
        for (const auto& b : d_bins)
            all.push_back(b.*part);
        if (d_there)
            all.push_back(d_filling.*part / d_there);
        if (all.empty())
            return std::nan("");
        std::sort(all.begin(), all.end());
        return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
    }

    const gr::aperture::kernels::window_bins d_window;
    std::vector<float> d_waiting; // for the rest of their group
    std::vector<bin> d_bins;
    bin d_filling{}; // sums of its groups
    int d_seen = 0, d_there = 0;
    std::vector<double> d_sums{ 0 }; // sums of the samples before each, in sigma
    size_t d_item = 0;
    std::vector<size_t> d_flushed; // places of flushes
};

} // namespace

#endif /* INCLUDED_APERTURE_TESTS_GPU_PULSES_PULSE_SEARCH_MODEL_H */
