/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_INTERVALS_H
#define INCLUDED_APERTURE_STREAM_INTERVALS_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gr::aperture {

//! A set of whole numbers, as intervals in order that do not touch.
class intervals
{
public:
    struct interval {
        int64_t first, end;
    };

    void add(int64_t first, int64_t end)
    {
        if (first >= end)
            return;
        // most come in order, so that their place is at the back
        auto at = d_parts.end();
        while (at != d_parts.begin() && (at - 1)->end >= first)
            --at;
        auto last = at;
        for (; last != d_parts.end() && last->first <= end; ++last) {
            first = std::min(first, last->first);
            end = std::max(end, last->end);
        }
        d_parts.insert(d_parts.erase(at, last), { first, end });
    }

    void drop_before(int64_t number)
    {
        auto kept = std::find_if(d_parts.begin(), d_parts.end(), [=](const interval& i) {
            return i.end > number;
        });
        d_parts.erase(d_parts.begin(), kept);
        if (!d_parts.empty())
            d_parts.front().first = std::max(d_parts.front().first, number);
    }

    //! Adds a number to all members.
    void shift(int64_t by)
    {
        for (auto& i : d_parts) {
            i.first += by;
            i.end += by;
        }
    }

    //! Returns the members from `first` to before `end`.
    std::vector<interval> within(int64_t first, int64_t end) const
    {
        std::vector<interval> found;
        for (const auto& i : d_parts)
            if (i.first < end && i.end > first)
                found.push_back({ std::max(i.first, first), std::min(i.end, end) });
        return found;
    }

    bool empty() const { return d_parts.empty(); }

private:
    std::vector<interval> d_parts;
};

inline int64_t size_of(const std::vector<intervals::interval>& parts)
{
    int64_t size = 0;
    for (const auto& i : parts)
        size += i.end - i.first;
    return size;
}

//! Returns how many numbers are in either of two lists of intervals, each in order.
inline int64_t size_of_union(const std::vector<intervals::interval>& a,
                             const std::vector<intervals::interval>& b)
{
    int64_t both = 0;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        both += std::max<int64_t>(
            0, std::min(a[i].end, b[j].end) - std::max(a[i].first, b[j].first));
        a[i].end < b[j].end ? i++ : j++;
    }
    return size_of(a) + size_of(b) - both;
}

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_INTERVALS_H */
