/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_TIMED_SETTINGS_H
#define INCLUDED_APERTURE_CONTROL_TIMED_SETTINGS_H

#include "stream/timestamp.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gr::aperture {

//! The times of items: the time of item 0, and the items a second (0: not known).
struct item_clock {
    timestamp start;
    double rate;

    //! Returns the first item that is not before a time, but for `tolerance` items: a
    //! time that was computed is rounded.
    int64_t first_at(const timestamp& time, double tolerance) const
    {
        const double number = std::ceil(time.since(start) * rate - tolerance);
        return std::llround(std::clamp(number, -1e15, 1e15));
    }
};

//! Limit of the settings of one block that wait for their time: they take memory, and
//! nobody plans so many ahead.
constexpr size_t most_timed_settings = 65536;
//! Limit of the bytes of all these settings: one with an element for each channel can be
//! large. A single setting may be larger, as the one in force may be.
constexpr size_t most_timed_bytes = size_t(256) << 20;

//! Orders times.
struct earlier {
    bool operator()(const timestamp& a, const timestamp& b) const
    {
        return a.seconds != b.seconds ? a.seconds < b.seconds : a.fraction < b.fraction;
    }
};

/*!
 * Settings with a time, from when they come until they are due. They are sorted when they
 * come, with O(log n) comparisons, so that each call of a block only examines the first.
 */
template <class setting, class order = earlier>
class timed_settings
{
public:
    //! \param bytes memory of the setting until it is taken
    //! \throws std::invalid_argument if there are most_timed_settings, or it is too large
    //! beside the others
    void add(const timestamp& time, setting s, size_t bytes)
    {
        if (d_waiting.size() >= most_timed_settings)
            throw std::invalid_argument("time: " + std::to_string(most_timed_settings) +
                                        " settings wait for theirs, and no more may");
        if (!d_waiting.empty() &&
            bytes > most_timed_bytes - std::min(most_timed_bytes, d_bytes))
            throw std::invalid_argument(
                "time: settings of " + std::to_string(d_bytes >> 20) +
                " MiB wait for theirs, and one of " + std::to_string(bytes) +
                " bytes more may not: at most " + std::to_string(most_timed_bytes >> 20) +
                " MiB in all");
        // behind the settings of the same time
        d_waiting.emplace(time, entry{ std::move(s), bytes });
        d_bytes += bytes;
    }

    //! Removes a setting, if it is there.
    void remove(const timestamp& time, const setting& s)
    {
        const auto [first, end] = d_waiting.equal_range(time);
        const auto found =
            std::find_if(first, end, [&](const auto& w) { return w.second.what == s; });
        if (found != end)
            take(found);
    }

    size_t size() const { return d_waiting.size(); }

    //! Visits the settings in the order of their times and of their coming.
    template <class use>
    void for_each(use u) const
    {
        for (const auto& [time, s] : d_waiting)
            u(s.what);
    }

    //! Returns the settings with the earliest time.
    std::vector<setting> earliest() const
    {
        std::vector<setting> found;
        if (d_waiting.empty())
            return found;
        const auto end = d_waiting.upper_bound(d_waiting.begin()->first);
        for (auto w = d_waiting.begin(); w != end; ++w)
            found.push_back(w->second.what);
        return found;
    }

    /*!
     * Takes the settings that are due at an item, in the order of their times and of
     * their coming, so that the later one counts.
     *
     * \param clock, tolerance see item_clock
     * \param late gets by how many items a setting comes too late; before the first item
     * none does, as no item should have had it
     * \param apply gets the settings, to keep
     * \returns how many items, with this one, share all settings
     */
    template <class clock_of_items, class report_late, class apply_setting>
    int64_t take_due(int64_t item,
                     const clock_of_items& clock,
                     double tolerance,
                     report_late late,
                     apply_setting apply)
    {
        while (!d_waiting.empty()) {
            const auto next = d_waiting.begin();
            const int64_t first =
                clock.rate > 0 ? clock.first_at(next->first, tolerance) : item - 1;
            if (first > item)
                return first - item;
            if (first < item && item > 0)
                late(std::min(item - first, int64_t(1) << 40));
            apply(take(next));
        }
        return std::numeric_limits<int64_t>::max();
    }

private:
    struct entry {
        setting what;
        size_t bytes;
    };
    using entries = std::multimap<timestamp, entry, order>;

    setting take(typename entries::const_iterator e)
    {
        d_bytes -= e->second.bytes;
        return std::move(d_waiting.extract(e).mapped().what);
    }

    entries d_waiting;
    size_t d_bytes = 0; // bytes of all settings
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_TIMED_SETTINGS_H */
