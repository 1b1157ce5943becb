/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "stream/timeline.h"
#include <algorithm>

namespace gr::aperture {

namespace {
constexpr int64_t long_ago = -timeline::none;
}

timeline::timeline(int ports, int64_t window, int64_t hop)
    : d_window(window),
      d_hop(hop),
      d_reach(ports),
      d_segments(ports),
      d_passed(ports, long_ago),
      d_covered(ports, long_ago)
{
}

void timeline::reset()
{
    d_position = 0;
    std::fill(d_reach.begin(), d_reach.end(), reach());
    for (size_t port = 0; port < d_segments.size(); port++)
        clear(int(port));
}

void timeline::clear(int port)
{
    d_segments[port].clear();
    d_passed[port] = d_covered[port] = long_ago;
}

int64_t timeline::end_of(int port) const
{
    const auto& segments = d_segments[port];
    const int64_t end = segments.empty() ? long_ago : segments.back().end_tick();
    return std::max({ d_passed[port], d_covered[port], end });
}

int64_t timeline::known_until(int port, int64_t end) const
{
    const auto& segments = d_segments[port];
    if (!is_open(port))
        return end_of(port);
    const auto& last = segments.back();
    return std::max(
        { d_passed[port], d_covered[port], last.tick, last.tick + end - last.item });
}

int64_t timeline::next_known(int port) const
{
    const auto& segments = d_segments[port];
    if (!is_open(port))
        return none;
    return segments.back().item + d_position - segments.back().tick + 1;
}

int64_t timeline::open(int port, int64_t item, int64_t tick)
{
    close(port, item);
    const int64_t overlap = std::max<int64_t>(0, end_of(port) - tick);
    const int64_t passed = std::max<int64_t>(0, d_passed[port] - tick);
    d_segments[port].push_back({ item, item + passed, none, tick + passed });
    d_passed[port] = std::max(d_passed[port], tick);
    return overlap;
}

bool timeline::is_open(int port) const
{
    return !d_segments[port].empty() && d_segments[port].back().end == none;
}

void timeline::close(int port, int64_t item)
{
    if (!is_open(port))
        return;
    auto& segments = d_segments[port];
    auto& last = segments.back();
    last.end = item;
    if (last.end <= last.item) // all of it was left out
        segments.pop_back();
    else
        d_covered[port] = std::max(d_covered[port], last.end_tick());
}

void timeline::pass(int port, int64_t tick)
{
    d_passed[port] = std::max({ d_passed[port], d_covered[port], tick });
}

void timeline::shift(int port, int64_t ticks)
{
    for (auto& s : d_segments[port])
        s.tick += ticks;
    for (auto* tick : { &d_passed[port], &d_covered[port] })
        if (*tick != long_ago)
            *tick += ticks;
}

void timeline::forget_before(int port, int64_t item)
{
    auto& segments = d_segments[port];
    for (auto& s : segments)
        if (s.item < item) {
            const int64_t first = std::min(item, s.end);
            s.tick += first - s.item;
            s.item = first;
        }
    while (segments.size() > 1 && segments.front().item == segments.front().end)
        segments.pop_front();
}

int64_t timeline::tick_of(int port, int64_t item) const
{
    const auto& segments = d_segments[port];
    if (segments.empty())
        return item;
    size_t i = segments.size() - 1;
    while (i > 0 && segments[i].from > item)
        i--;
    return segments[i].tick + item - segments[i].item;
}

const timeline::segment* timeline::holder(int port, int64_t tick) const
{
    const reach& r = d_reach[port];
    for (const auto& s : d_segments[port])
        if (s.tick <= tick - r.before && tick + d_window + r.after <= s.end_tick())
            return &s;
    return nullptr;
}

int64_t timeline::missing_until(int port) const
{
    const int64_t before = d_reach[port].before;
    for (const auto& s : d_segments[port])
        if (s.item != s.end && s.tick + before > d_position)
            return s.tick + before;
    return end_of(port) + before;
}

timeline::run timeline::next(const std::vector<int64_t>& end, int64_t most) const
{
    run r{ most, std::vector<int64_t>(d_segments.size(), -1) };
    for (size_t port = 0; port < d_segments.size(); port++) {
        if (const segment* s = holder(port, d_position)) {
            const int64_t there = s->tick + end[port] - s->item;
            const int64_t last =
                std::min(s->end_tick(), there) - d_window - d_reach[port].after;
            if (d_reach[port].usable)
                r.first_item[port] =
                    s->item + d_position - d_reach[port].before - s->tick;
            r.windows = std::min(r.windows,
                                 last < d_position ? 0 : (last - d_position) / d_hop + 1);
        } else {
            r.windows = std::min(r.windows, windows_before(missing_until(port)));
        }
    }
    return r;
}

void timeline::advance(int64_t windows)
{
    d_position += windows * d_hop;
    for (auto& segments : d_segments)
        while (segments.size() > 1 && segments.front().end_tick() + d_kept <= d_position)
            segments.pop_front();
}

int64_t timeline::needed_from(int port) const
{
    // Stretches that are too short for a window, or lie before the next one, are dropped:
    // an input buffer that is full of them would never hold later items.
    for (const auto& s : d_segments[port]) {
        const int64_t window = next_window(port, s);
        if (window != none)
            return s.item + window - s.tick;
    }
    return none;
}

int64_t timeline::next_window(int port, const segment& s) const
{
    const reach& r = d_reach[port];
    const int64_t behind = std::max<int64_t>(0, s.tick + r.before - d_position);
    const int64_t window = d_position + (behind + d_hop - 1) / d_hop * d_hop;
    return window + d_window + r.after <= s.end_tick() ? window : none;
}

void timeline::release()
{
    for (size_t port = 0; port < d_segments.size() && d_kept > 0; port++)
        for (auto& s : d_segments[port])
            if (next_window(int(port), s) == none) {
                s.tick = s.end_tick();
                s.item = s.end;
            }
}

int64_t timeline::kept_from(int port) const
{
    if (d_kept == 0)
        return needed_from(port);
    for (const auto& s : d_segments[port]) {
        const int64_t first = std::max(s.tick, d_position - d_kept);
        if (first + d_window <= s.end_tick())
            return s.item + first - s.tick;
    }
    return none;
}

int64_t timeline::next_end(int port) const
{
    const segment* s = holder(port, d_position);
    return s ? s->item + d_position - s->tick + d_window + d_reach[port].after : none;
}

bool timeline::next_is_missing(int port) const
{
    return !holder(port, d_position) && missing_until(port) > d_position;
}

} // namespace gr::aperture
