/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/event_log.h"
#include <algorithm>

namespace gr::aperture {

void event_log::add(int64_t first, int64_t end, const event_sptr& e)
{
    constexpr size_t most = 64, few = 8;
    // a query costs as much as giving work to a stream: none while there is little to
    // drop
    while (d_entries.size() >= few && d_entries.front().done->done()) {
        d_done = std::max(d_done, d_entries.front().end);
        d_entries.pop_front();
    }
    if (!e) {
        d_done = std::max(d_done, end);
        return;
    }
    // The newest entries need precision: the oldest two become one that begins with the
    // first and ends with the second.
    if (d_entries.size() == most)
        for (size_t i = 0; i < most / 4; i++) {
            d_entries[i + 1].first = d_entries[i].first;
            d_entries.erase(d_entries.begin() + i);
        }
    d_entries.push_back({ first, end, e });
}

event_sptr event_log::last_use_below(int64_t limit) const
{
    auto next = std::find_if(d_entries.begin(), d_entries.end(), [=](const entry& e) {
        return e.first >= limit;
    });
    return next == d_entries.begin() ? nullptr : std::prev(next)->done;
}

event_sptr event_log::completion_of(int64_t end) const
{
    if (end <= d_done)
        return nullptr;
    auto found = std::find_if(
        d_entries.begin(), d_entries.end(), [=](const entry& e) { return e.end >= end; });
    return found == d_entries.end() ? last() : found->done;
}

event_sptr event_log::last() const
{
    return d_entries.empty() ? nullptr : d_entries.back().done;
}

void event_log::clear()
{
    d_entries.clear();
    d_done = INT64_MIN;
}

} // namespace gr::aperture
