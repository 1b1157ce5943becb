/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/dedispersion/sub_bands.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace gr::aperture::kernels {

namespace {

//! The delays of a sub-band that trials allow, in whole times.
class sub_band_search
{
public:
    //! \param exact delays [trial][channel of all], in times
    sub_band_search(const std::vector<double>& exact,
                    int trials,
                    int channels,
                    int first,
                    int width,
                    double tolerance)
        : d_trials(trials), d_width(width)
    {
        const size_t size = size_t(trials) * width;
        d_exact.reserve(size);
        d_low.reserve(size);
        d_high.reserve(size);
        for (int t = 0; t < trials; ++t)
            for (int k = first; k < first + width; ++k) {
                const double delay = exact[size_t(t) * channels + k];
                const double nearest = std::nearbyint(delay); // half to even
                const bool rounded = tolerance <= 0.5;
                d_exact.push_back(delay);
                d_low.push_back(int32_t(
                    rounded ? nearest : std::max(0., std::ceil(delay - tolerance))));
                d_high.push_back(
                    int32_t(rounded ? nearest : std::floor(delay + tolerance)));
            }
    }

    struct result {
        std::vector<int32_t> delays;  // [path][width]
        std::vector<int> path_of;     // [trial]
        std::vector<int32_t> offsets; // [trial]
    };

    result search() const
    {
        result found;
        int paths = 0;
        for (int t = 0; t < d_trials; ++t) {
            int path = -1;
            // the newest are the likeliest
            for (int p = paths - 1; p >= 0 && path < 0; --p)
                if (fits(&found.delays[size_t(p) * d_width], t))
                    path = p;
            if (path < 0) {
                path = paths++;
                const auto made = new_path(t);
                found.delays.insert(found.delays.end(), made.begin(), made.end());
            }
            found.path_of.push_back(path);
            found.offsets.push_back(offset(&found.delays[size_t(path) * d_width], t));
        }
        return found;
    }

private:
    //! Returns whether a trial can take a path, from some offset on.
    bool fits(const int32_t* path, int trial) const
    {
        const int32_t *low = row(d_low, trial), *high = row(d_high, trial);
        int32_t from = low[0] - path[0], to = high[0] - path[0];
        for (int k = 1; k < d_width && from <= to; ++k) {
            from = std::max(from, low[k] - path[k]);
            to = std::min(to, high[k] - path[k]);
        }
        return from <= to;
    }

    //! Returns the offset with the least error of all that fit.
    int32_t offset(const int32_t* path, int trial) const
    {
        const int32_t *low = row(d_low, trial), *high = row(d_high, trial);
        const double* exact = &d_exact[size_t(trial) * d_width];
        int32_t from = low[0] - path[0], to = high[0] - path[0];
        double least = exact[0] - path[0], most = least;
        for (int k = 1; k < d_width; ++k) {
            from = std::max(from, low[k] - path[k]);
            to = std::min(to, high[k] - path[k]);
            least = std::min(least, exact[k] - path[k]);
            most = std::max(most, exact[k] - path[k]);
        }
        return std::clamp(int32_t(std::nearbyint((least + most) / 2)), from, to);
    }

    //! Returns delays that this trial and most later ones can take, among the delays of
    //! this trial and of some later ones.
    std::vector<int32_t> new_path(int trial) const
    {
        std::vector<int32_t> best;
        int most = 0;
        const int end = std::min(d_trials, trial + 128);
        for (int from = trial; from < end; from += 1 + (from - trial) / 4) {
            std::vector<int32_t> path(d_width);
            const double* exact = &d_exact[size_t(from) * d_width];
            for (int k = 0; k < d_width; ++k)
                path[k] = int32_t(std::nearbyint(exact[k]) -
                                  std::nearbyint(exact[d_width - 1]));
            if (!fits(path.data(), trial)) {
                if (from > trial + 16)
                    break;
                continue;
            }
            int takers = 0;
            for (int t = trial; t < end; ++t)
                takers += fits(path.data(), t);
            if (takers > most) {
                most = takers;
                best = path;
            }
        }
        return best;
    }

    const int32_t* row(const std::vector<int32_t>& of, int trial) const
    {
        return &of[size_t(trial) * d_width];
    }

    const int d_trials, d_width;
    std::vector<double> d_exact;        // [trial][channel]
    std::vector<int32_t> d_low, d_high; // [trial][channel] allowed delays
};

//! Returns the width with about the least additions, by trying some sub-bands.
int best_width(const std::vector<double>& exact,
               int trials,
               int channels,
               double tolerance)
{
    int best = std::min(channels, 4);
    double least = 1e300;
    for (int width = best; width <= 64 && width <= channels; width *= 2) {
        const int last = channels - width;
        double paths = 0;
        for (const int first : { 0, last / 2, last })
            paths +=
                double(sub_band_search(exact, trials, channels, first, width, tolerance)
                           .search()
                           .delays.size()) /
                width;
        // a path costs its sums, and writing and reading its row
        const double sub_bands = double(channels) / width;
        const double cost = sub_bands * (paths / 3 * (width + 4) + trials);
        if (cost < least) {
            least = cost;
            best = width;
        }
    }
    return best;
}

sub_band_plan
plan_one(const dedisperser::parameters& p, std::vector<int> trials, int decimation)
{
    const int channels = p.band.channels;
    sub_band_plan plan;
    plan.decimation = decimation;
    std::stable_sort(trials.begin(), trials.end(), [&](int a, int b) {
        return p.trials.dms[a] < p.trials.dms[b];
    });
    const int count = int(trials.size());
    std::vector<double> exact;
    exact.reserve(size_t(count) * channels);
    for (const int trial : trials)
        for (int k = 0; k < channels; ++k)
            exact.push_back(p.band.delay(p.trials.dms[trial], k) /
                            (p.sample_time * decimation));
    plan.trials = std::move(trials);
    plan.width = best_width(exact, count, channels, p.tolerance);
    plan.sub_bands = (channels + plan.width - 1) / plan.width;

    std::vector<sub_band_search::result> found(plan.sub_bands);
#pragma omp parallel for schedule(dynamic)
    for (int b = 0; b < plan.sub_bands; ++b)
        found[b] = sub_band_search(exact,
                                   count,
                                   channels,
                                   b * plan.width,
                                   plan.channels_of(b, channels),
                                   p.tolerance)
                       .search();

    plan.path_of.resize(size_t(count) * plan.sub_bands);
    plan.offset_of.resize(plan.path_of.size());
    plan.first_path.push_back(0);
    for (int b = 0; b < plan.sub_bands; ++b) {
        const int width = plan.channels_of(b, channels);
        const auto& r = found[b];
        const int before = plan.first_path.back(), paths = int(r.delays.size()) / width;
        plan.path_delays.resize(size_t(before + paths) * plan.width, 0);
        for (int n = 0; n < paths; ++n)
            std::copy_n(&r.delays[size_t(n) * width],
                        width,
                        &plan.path_delays[size_t(before + n) * plan.width]);
        plan.paths.resize(before + paths, { std::numeric_limits<int32_t>::max(), 0 });
        for (int t = 0; t < count; ++t) {
            const int path = before + r.path_of[t];
            plan.path_of[size_t(t) * plan.sub_bands + b] = path;
            plan.offset_of[size_t(t) * plan.sub_bands + b] = r.offsets[t];
            plan.paths[path].first = std::min(plan.paths[path].first, r.offsets[t]);
            plan.paths[path].last = std::max(plan.paths[path].last, r.offsets[t]);
        }
        plan.first_path.push_back(before + paths);
    }
    return plan;
}

} // namespace

int64_t sub_band_plan::longest_delay(int channels) const
{
    int64_t longest = 0;
    for (int t = 0; t < int(trials.size()); ++t)
        for (int k = 0; k < channels; ++k)
            longest = std::max(longest, delay(t, k));
    return longest;
}

std::vector<sub_band_plan> plan_sub_bands(const dedisperser::parameters& p)
{
    std::map<int, std::vector<int>> groups;
    for (int t = 0; t < p.trials.trials(); ++t)
        groups[p.trials.decimation(t)].push_back(t);
    std::vector<sub_band_plan> plans;
    for (auto& [decimation, trials] : groups)
        plans.push_back(plan_one(p, std::move(trials), decimation));
    return plans;
}

std::vector<int64_t> delays_of(const std::vector<sub_band_plan>& plans,
                               const dedisperser::parameters& p)
{
    const int channels = p.band.channels;
    std::vector<int64_t> delays(size_t(p.trials.trials()) * channels);
    for (const auto& plan : plans)
        for (int t = 0; t < int(plan.trials.size()); ++t)
            for (int k = 0; k < channels; ++k)
                delays[size_t(plan.trials[t]) * channels + k] =
                    plan.delay(t, k) * plan.decimation;
    return delays;
}

int64_t longest_delay_of(const std::vector<sub_band_plan>& plans, int channels)
{
    int64_t longest = 0;
    for (const auto& plan : plans)
        longest = std::max(longest, plan.longest_delay(channels) * plan.decimation);
    return longest;
}

} // namespace gr::aperture::kernels
