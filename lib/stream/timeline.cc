/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/timeline.h"
#include <algorithm>
#include <limits>

namespace gr::aperture {

namespace {
constexpr int64_t far_away = std::numeric_limits<int64_t>::max() / 2;
}

timeline::timeline(int ports, int64_t window, int64_t step)
    : d_window(window), d_step(step), d_segments(ports)
{
}

void timeline::reset()
{
    d_position = 0;
    for (auto& segments : d_segments)
        segments.clear();
}

void timeline::add_segment(int port, int64_t item, int64_t tick)
{
    d_segments[port].push_back({ item, tick });
}

int64_t timeline::tick_of(int port, int64_t item) const
{
    const auto& segments = d_segments[port];
    size_t i = segments.size() - 1;
    while (i > 0 && segments[i].item > item)
        i--;
    return segments[i].tick + item - segments[i].item;
}

int64_t timeline::end_tick(int port, size_t index) const
{
    const auto& segments = d_segments[port];
    if (index + 1 == segments.size())
        return far_away;
    return segments[index].tick + segments[index + 1].item - segments[index].item;
}

int timeline::holder(int port, int64_t tick) const
{
    const auto& segments = d_segments[port];
    for (size_t i = 0; i < segments.size(); i++)
        if (segments[i].tick <= tick && tick + d_window <= end_tick(port, i))
            return i;
    return -1;
}

timeline::run timeline::next(const std::vector<int64_t>& end, int64_t most) const
{
    run r{ most, std::vector<int64_t>(d_segments.size(), -1) };
    for (size_t port = 0; port < d_segments.size(); port++) {
        const auto& segments = d_segments[port];
        if (int i = holder(port, d_position); i >= 0) {
            const auto& s = segments[i];
            const int64_t there = s.tick + end[port] - s.item;
            const int64_t last = std::min(end_tick(port, i), there) - d_window;
            r.first_item[port] = s.item + d_position - s.tick;
            r.windows = std::min(
                r.windows, last < d_position ? 0 : (last - d_position) / d_step + 1);
        } else {
            // missing at least until a later segment begins
            int64_t begin = far_away;
            for (const auto& s : segments)
                if (s.tick > d_position)
                    begin = std::min(begin, s.tick);
            r.windows = std::min(r.windows, (begin - d_position + d_step - 1) / d_step);
        }
    }
    return r;
}

void timeline::advance(int64_t windows)
{
    d_position += windows * d_step;
    for (size_t port = 0; port < d_segments.size(); port++)
        while (d_segments[port].size() > 1 && end_tick(port, 0) <= d_position)
            d_segments[port].pop_front();
}

int64_t timeline::needed_from(int port) const
{
    const auto& segments = d_segments[port];
    for (size_t i = 0; i < segments.size(); i++)
        if (d_position < end_tick(port, i))
            return segments[i].item + std::max<int64_t>(0, d_position - segments[i].tick);
    return 0; // not reached: the last segment has no end
}

bool timeline::next_is_missing(int port) const { return holder(port, d_position) < 0; }

} // namespace gr::aperture
