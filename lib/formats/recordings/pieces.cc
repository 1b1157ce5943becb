/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/pieces.h"
#include <algorithm>
#include <limits>

namespace gr::aperture::formats {

std::optional<int64_t> end_of_long_gap(pieces& from,
                                       const std::vector<int>& sets,
                                       int64_t position,
                                       int64_t most_gap)
{
    int64_t end = std::numeric_limits<int64_t>::max();
    for (const int set : sets) {
        const auto found = from.find(set, position);
        end = std::min(end, found.next ? found.next->first : found.none_before);
    }
    if (end == std::numeric_limits<int64_t>::max() || end - position <= most_gap)
        return {};
    return end;
}

listed_pieces::listed_pieces(std::vector<std::vector<piece>> list)
    : d_list(std::move(list))
{
    for (const auto& set : d_list)
        if (!set.empty())
            d_end = std::max(d_end, set.back().end());
}

pieces::answer listed_pieces::find(int set, int64_t sample)
{
    const auto& all = d_list[set];
    const auto next = std::partition_point(
        all.begin(), all.end(), [=](const piece& p) { return p.end() <= sample; });
    if (next == all.end())
        return { {}, std::numeric_limits<int64_t>::max() };
    return { *next, 0 };
}

} // namespace gr::aperture::formats
