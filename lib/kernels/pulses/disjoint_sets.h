/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_DISJOINT_SETS_H
#define INCLUDED_APERTURE_KERNELS_PULSES_DISJOINT_SETS_H

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace gr::aperture::kernels {

//! A partition of elements 0 to count - 1, each alone until some are joined.
class disjoint_sets
{
public:
    explicit disjoint_sets(size_t count) : d_parents(count)
    {
        std::iota(d_parents.begin(), d_parents.end(), 0);
    }

    size_t root(size_t element)
    {
        while (d_parents[element] != element)
            element = d_parents[element] = d_parents[d_parents[element]];
        return element;
    }
    //! Joins two sets; the least element of a set is its root.
    void join(size_t a, size_t b)
    {
        const std::pair<size_t, size_t> ends = std::minmax({ root(a), root(b) });
        d_parents[ends.second] = ends.first;
    }
    //! Returns each set with its elements, ascending, in the order of their least ones.
    std::vector<std::vector<size_t>> sets()
    {
        std::map<size_t, std::vector<size_t>> found;
        for (size_t i = 0; i < d_parents.size(); i++)
            found[root(i)].push_back(i);
        std::vector<std::vector<size_t>> all;
        for (auto& [least, elements] : found)
            all.push_back(std::move(elements));
        return all;
    }

private:
    std::vector<size_t> d_parents;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_DISJOINT_SETS_H */
