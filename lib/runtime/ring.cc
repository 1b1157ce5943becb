/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/ring.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace gr::aperture {

ring::ring(memory m, size_t size, layout l)
    : d_memory(std::move(m)), d_size(size), d_layout(l)
{
}

size_t ring::footprint() const { return d_layout == layout::twin ? 2 * d_size : d_size; }

std::vector<ring::piece> ring::pieces(size_t offset, size_t bytes) const
{
    if (d_layout == layout::twice_mapped)
        return { { offset, 0, bytes } };
    const size_t before = std::min(bytes, d_size - offset);
    std::vector<piece> all{ { offset, 0, d_layout == layout::twin ? bytes : before } };
    if (d_layout == layout::twin)
        for (piece t : twins(offset, bytes))
            all.push_back({ t.to, t.from - offset, t.bytes });
    else if (bytes > before)
        all.push_back({ 0, before, bytes - before });
    return all;
}

std::vector<ring::piece> ring::twins(size_t offset, size_t bytes) const
{
    std::vector<piece> all;
    if (d_layout != layout::twin)
        return all;
    const size_t before = std::min(bytes, d_size - offset);
    all.push_back({ offset + d_size, offset, before });
    if (bytes > before)
        all.push_back({ 0, d_size, bytes - before });
    return all;
}

ring allocate_ring(const backend& on, size_t size, ring::layout l)
{
    memory m = l == ring::layout::twice_mapped ? on.allocate_twice_mapped(size)
               : l == ring::layout::twin       ? on.allocate(2 * size)
                                               : on.allocate(size);
    return { std::move(m), size, l };
}

std::pair<size_t, bool>
ring_items(size_t wanted, size_t item, size_t granularity, size_t period)
{
    constexpr size_t small = 1 << 20; // bytes that are not wasteful
    constexpr size_t countable =
        std::numeric_limits<int>::max(); // items that GNU Radio can count
    const size_t most = std::min(countable, std::max(small / item, 4 * wanted));
    const size_t mapped = granularity / std::gcd(item, granularity);
    const auto whole = [](size_t items, size_t unit) {
        return (items + unit - 1) / unit * unit;
    };
    // if a call must end at the end of the ring, one item more would be a call by itself
    const std::pair<size_t, bool> sizes[] = {
        { whole(wanted + 1, std::lcm(mapped, period)), true },
        { whole(wanted + 1, mapped), true },
        { whole(wanted, period), false },
    };
    for (const auto& size : sizes)
        if (size.first <= most)
            return size;
    return { wanted, false };
}

} // namespace gr::aperture
