/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/phase_centers.h"
#include <algorithm>

namespace gr::aperture {

phase_centers::phase_centers(int centers, int inputs)
    : d_inputs(inputs), d_tracked(inputs)
{
    for (int center = 0; center < centers; center++)
        d_centers.emplace_back(inputs);
}

void phase_centers::set(int center, delay_models::setting s)
{
    require_range("center", center, tracked, int64_t(d_centers.size()) - 1);
    const size_t bytes = s.values.size() * sizeof(delay_model);
    const std::lock_guard<std::mutex> guard(d_mutex);
    of(center).add(std::move(s), bytes);
}

void phase_centers::receive(int center, const pmt::pmt_t& message)
{
    set(center, setting_of_delays(message, d_inputs));
}

void phase_centers::start()
{
    const std::lock_guard<std::mutex> guard(d_mutex);
    for (auto& models : d_centers)
        models.start();
    d_tracked.start();
}

void phase_centers::update(int64_t item, const item_clock& clock, const callbacks& c)
{
    const std::lock_guard<std::mutex> guard(d_mutex);
    for (int center = tracked; center < int(d_centers.size()); center++) {
        auto& models = of(center);
        models.update(
            item,
            clock,
            [&](int64_t items) { c.late(center, items); },
            [](const delay_models::setting&) { return true; });
        // the F-engine tells of its own settings itself
        for (const auto& news : models.take_news())
            if (center != tracked)
                c.tell(center, news);
    }
}

bool phase_centers::knows(int center) const
{
    const std::lock_guard<std::mutex> guard(d_mutex);
    for (int input = 0; input < d_inputs; input++)
        if (d_centers[center].of(input).empty())
            return false;
    return true;
}

void phase_centers::append(const timestamp& middle,
                           double spacing,
                           std::vector<rotation>& to) const
{
    const std::lock_guard<std::mutex> guard(d_mutex);
    std::vector<delay_sum> had;
    for (int input = 0; input < d_inputs; input++)
        had.push_back(delay_sum::of(d_tracked.of(input), middle));
    for (const auto& models : d_centers)
        for (int input = 0; input < d_inputs; input++) {
            const auto sum = delay_sum::of(models.of(input), middle);
            const long double cycles = sum.cycles - had[input].cycles;
            to.push_back({ double(cycles - std::round(cycles)),
                           double(-(sum.delay - had[input].delay) * spacing) });
        }
}

} // namespace gr::aperture
