/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "signal/folding/profile_sums.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture::kernels {

namespace {

//! Returns whether a power was measured: noise is never exactly 0, unless zeros count.
bool is_there(float power, bool zeros)
{
    return std::abs(power) > 0 || (zeros && power == 0);
}
bool is_there(int8_t, bool) { return true; }
bool is_there(uint8_t, bool) { return true; }

} // namespace

profile_sums::profile_sums(const parameters& p)
    : d_p(p),
      d_sums(size_t(p.bins) * p.rows * p.channels),
      d_counts(size_t(p.bins) * p.rows)
{
}

template <typename power>
void profile_sums::add_row(const power* powers, double factor, double* sums) const
{
    for (int channel = 0; channel < d_p.channels; channel++)
        sums[channel] += factor * double(powers[channel]);
}

template <typename power>
void profile_sums::add_gaps(const power* powers,
                            uint64_t count,
                            const uint32_t* cells,
                            size_t place)
{
    d_lost.resize(d_sums.size());
    for (int channel = 0; channel < d_p.channels; channel++) {
        const size_t cell = place * d_p.channels + channel;
        uint64_t here = cells ? std::min<uint64_t>(cells[channel], count) : count;
        if (!is_there(powers[channel], d_p.zeros))
            here = 0;
        if (here > 0)
            d_sums[cell] += (d_p.mean ? double(here) : 1) * double(powers[channel]);
        d_lost[cell] += count - here;
    }
}

template <typename power>
void profile_sums::add_powers(const power* powers,
                              uint64_t count,
                              const uint32_t* cells,
                              size_t place)
{
    int there = 0;
    for (int channel = 0; channel < d_p.channels; channel++)
        there += is_there(powers[channel], d_p.zeros);
    if (there == d_p.channels && !cells)
        add_row(
            powers, d_p.mean ? double(count) : 1, d_sums.data() + place * d_p.channels);
    else
        add_gaps(powers, count, cells, place);
}

void profile_sums::add(const void* powers,
                       int bin,
                       const std::vector<uint64_t>& counts,
                       const uint32_t* cells)
{
    for (int row = 0; row < d_p.rows; row++) {
        const uint64_t count = counts[size_t(row)];
        if (count == 0)
            continue;
        const size_t place = size_t(bin) * d_p.rows + row;
        d_counts[place] += count;
        const size_t first = size_t(row) * d_p.channels;
        const uint32_t* of_beam =
            cells ? cells + size_t(row / d_p.products) * d_p.channels : nullptr;
        switch (d_p.type) {
        case power_type::f32:
            add_powers(static_cast<const float*>(powers) + first, count, of_beam, place);
            break;
        case power_type::s8:
            add_powers(static_cast<const int8_t*>(powers) + first, count, of_beam, place);
            break;
        case power_type::u8:
            add_powers(
                static_cast<const uint8_t*>(powers) + first, count, of_beam, place);
            break;
        }
    }
}

void profile_sums::dump(float* profile, uint32_t* counts)
{
    constexpr uint64_t most = std::numeric_limits<uint32_t>::max();
    const size_t bins = d_p.bins;
    for (int row = 0; row < d_p.rows; row++) {
        for (size_t bin = 0; bin < bins; bin++) {
            const size_t place = bin * d_p.rows + row;
            const double* sums = d_sums.data() + place * d_p.channels;
            for (int channel = 0; channel < d_p.channels; channel++) {
                const size_t to = (size_t(row) * d_p.channels + channel) * bins + bin;
                const uint64_t lost =
                    d_lost.empty() ? 0 : d_lost[place * d_p.channels + channel];
                const uint64_t count = d_counts[place] - lost;
                profile[to] = count ? float(sums[channel] / double(count)) : 0;
                if (counts)
                    counts[to] = uint32_t(std::min(count, most));
            }
        }
    }
    clear();
}

void profile_sums::clear()
{
    std::fill(d_sums.begin(), d_sums.end(), 0.0);
    std::fill(d_counts.begin(), d_counts.end(), 0);
    d_lost.clear();
}

} // namespace gr::aperture::kernels
