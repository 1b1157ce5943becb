/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/folding/profile_sums.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::aperture::kernels {

power_type parse_power_type(const std::string& parameter, const std::string& name)
{
    require(name == "f32" || name == "s8" || name == "u8",
            parameter,
            "'" + name + "'",
            "one of f32, s8, u8");
    return name == "f32"  ? power_type::f32
           : name == "s8" ? power_type::s8
                          : power_type::u8;
}

size_t size_of(power_type type) { return type == power_type::f32 ? 4 : 1; }

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

void profile_sums::add_gaps(const float* powers,
                            double factor,
                            uint64_t count,
                            size_t place)
{
    d_lost.resize(d_sums.size());
    for (int channel = 0; channel < d_p.channels; channel++) {
        const size_t cell = place * d_p.channels + channel;
        if (std::abs(powers[channel]) > 0)
            d_sums[cell] += factor * double(powers[channel]);
        else
            d_lost[cell] += count;
    }
}

void profile_sums::add(const void* powers, int bin, const std::vector<uint64_t>& counts)
{
    for (int row = 0; row < d_p.rows; row++) {
        const uint64_t count = counts[size_t(row)];
        if (count == 0)
            continue;
        const size_t place = size_t(bin) * d_p.rows + row;
        d_counts[place] += count;
        double* sums = d_sums.data() + place * d_p.channels;
        const double factor = d_p.mean ? double(count) : 1;
        const size_t first = size_t(row) * d_p.channels;
        switch (d_p.type) {
        case power_type::f32: {
            const auto* row_powers = static_cast<const float*>(powers) + first;
            // NaN is not above 0
            int there = 0;
            for (int channel = 0; channel < d_p.channels; channel++)
                there += std::abs(row_powers[channel]) > 0;
            if (there == d_p.channels)
                add_row(row_powers, factor, sums);
            else
                add_gaps(row_powers, factor, count, place);
            break;
        }
        case power_type::s8:
            add_row(static_cast<const int8_t*>(powers) + first, factor, sums);
            break;
        case power_type::u8:
            add_row(static_cast<const uint8_t*>(powers) + first, factor, sums);
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
