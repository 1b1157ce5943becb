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
#include <utility>
#include <vector>

namespace gr::aperture {

//! The times of items: that of number 0, and how many there are a second (0: not known).
struct item_clock {
    timestamp start;
    double rate;

    //! The first item that is not before a time, but for `tolerance` items: a time that
    //! was computed is rounded.
    int64_t first_at(const timestamp& time, double tolerance) const
    {
        const double number = std::ceil(time.since(start) * rate - tolerance);
        return std::llround(std::clamp(number, -1e15, 1e15));
    }
};

//! Settings with a time, from when they come until they are due.
template <class setting>
class timed_settings
{
public:
    void add(const timestamp& time, setting s)
    {
        d_waiting.emplace_back(time, std::move(s));
    }

    //! Takes one off, wherever it is.
    void remove(const setting& s)
    {
        d_waiting.erase(std::remove_if(d_waiting.begin(),
                                       d_waiting.end(),
                                       [&](const auto& w) { return w.second == s; }),
                        d_waiting.end());
    }

    //! Those with the earliest time.
    std::vector<setting> earliest() const
    {
        std::vector<setting> found;
        const timestamp* time = nullptr;
        for (const auto& [at, s] : d_waiting) {
            const double later = time ? at.since(*time) : -1;
            if (later < 0)
                found.clear();
            if (later <= 0) {
                found.push_back(s);
                time = &at;
            }
        }
        return found;
    }

    /*!
     * Takes those off that are due at an item, in the order of their times, so that the
     * later one counts.
     *
     * \param tolerance see item_clock
     * \param late is told by how many items a setting comes too late
     * \param apply gets the settings, to keep
     * \returns how many items, with this one, share all settings
     */
    template <class report_late, class apply_setting>
    int64_t take_due(int64_t item,
                     const item_clock& clock,
                     double tolerance,
                     report_late late,
                     apply_setting apply)
    {
        std::stable_sort(
            d_waiting.begin(), d_waiting.end(), [](const auto& a, const auto& b) {
                return a.first.since(b.first) < 0;
            });
        int64_t sharing = std::numeric_limits<int64_t>::max();
        size_t due = 0;
        for (; due < d_waiting.size(); due++) {
            const int64_t first = clock.rate > 0
                                      ? clock.first_at(d_waiting[due].first, tolerance)
                                      : item - 1;
            if (first > item) {
                sharing = first - item;
                break;
            }
            if (first < item)
                late(std::min(item - first, int64_t(1) << 40));
            apply(std::move(d_waiting[due].second));
        }
        d_waiting.erase(d_waiting.begin(), d_waiting.begin() + due);
        return sharing;
    }

private:
    std::vector<std::pair<timestamp, setting>> d_waiting; // as they came
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_TIMED_SETTINGS_H */
