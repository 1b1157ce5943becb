/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/pulses/host_series.h"
#include "kernels/pulses/pulse_search.h"
#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>

namespace gr::aperture::kernels::host {

namespace {

class host_pulse_search : public pulse_search
{
public:
    explicit host_pulse_search(const parameters& p)
        : d_p(p), d_offsets(p.trials.offsets()), d_boxcars(boxcars(p.widest, p.growth))
    {
        const int trials = p.trials.trials();
        for (int series = 0; series < p.trials.beams * trials; series++)
            d_series.emplace_back(
                bins_of(p.window, p.sample_time * p.trials.decimation(series % trials)),
                series);
    }

    std::string implementation() const override { return "host"; }

    void reset(stream&) override
    {
        for (auto& s : d_series)
            s.reset();
        d_results.clear();
    }

    void search(const float* item, stream&) override
    {
        const int trials = d_p.trials.trials();
        for_each_series([&](int number, host_series& s, host_series::workspace& w) {
            const int trial = number % trials;
            s.search(item + number / trials * d_offsets.back() + d_offsets[trial],
                     d_p.trials.times(trial),
                     d_boxcars,
                     float(d_p.threshold),
                     w);
        });
    }

    void flush(stream&) override
    {
        for_each_series([&](int, host_series& s, host_series::workspace& w) {
            s.flush(d_boxcars, float(d_p.threshold), w);
        });
    }

    std::vector<result> collect(bool) override { return std::exchange(d_results, {}); }

private:
    template <class What>
    void for_each_series(const What& what)
    {
        result r;
        r.above.resize(d_boxcars.size());
        std::mutex mutex;
#pragma omp parallel
        {
            host_series::workspace own(d_boxcars);
#pragma omp for schedule(static)
            for (int i = 0; i < int(d_series.size()); i++)
                what(i, d_series[i], own);
            const std::lock_guard<std::mutex> guard(mutex);
            r.cells.insert(r.cells.end(), own.cells.begin(), own.cells.end());
            for (size_t i = 0; i < r.above.size(); i++)
                r.above[i] += own.above[i];
        }
        limit(r);
        d_results.push_back(std::move(r));
    }

    //! Limits the lists to their sizes, in a fixed order.
    void limit(result& r) const
    {
        const int trials = d_p.trials.trials();
        std::sort(r.cells.begin(), r.cells.end(), [=](const cell& a, const cell& b) {
            return std::make_tuple(a.series / trials, -a.snr, a.series, a.end) <
                   std::make_tuple(b.series / trials, -b.snr, b.series, b.end);
        });
        int beam = -1, listed = 0;
        auto fits = [&](const cell& c) {
            if (std::exchange(beam, c.series / trials) != c.series / trials)
                listed = 0;
            return listed++ < d_p.most_cells;
        };
        std::vector<cell> kept;
        for (const auto& c : r.cells)
            if (fits(c))
                kept.push_back(c);
        r.left_out = r.cells.size() - kept.size();
        r.cells = std::move(kept);
    }

    const parameters d_p;
    const std::vector<int64_t> d_offsets;
    const boxcar_set d_boxcars;
    std::vector<host_series> d_series;
    std::vector<result> d_results;
};

} // namespace

//! All is done when search() returns. Of what does not fit into a list the weakest are
//! left out.
template <>
std::unique_ptr<pulse_search> make(const pulse_search::parameters& p, const std::string&)
{
    return std::make_unique<host_pulse_search>(p);
}

} // namespace gr::aperture::kernels::host
