/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/simd.h"
#include "kernels/conditioning/host_baseline.h"
#include <algorithm>
#include <cstring>

namespace gr::aperture::kernels::host {

using namespace conditioning;

namespace {

constexpr int most_columns =
    512; // columns of a beam at a time: their sums stay in the cache

//! The both_sums of columns, as arrays for vector instructions.
struct sums_of_columns {
    float count[most_columns], sum[most_columns], squares[most_columns];
    float inner_count[most_columns], inner_sum[most_columns], inner_squares[most_columns];

    both_sums of(int column) const
    {
        both_sums made;
        made.all.count = count[column];
        made.all.sum = sum[column];
        made.all.squares = squares[column];
        made.inner.count = inner_count[column];
        made.inner.sum = inner_sum[column];
        made.inner.squares = inner_squares[column];
        return made;
    }
};

//! Adds the powers of a time to the sums of columns.
APERTURE_SIMD void add_row(const float* __restrict__ values,
                           const float* __restrict__ references,
                           const float* __restrict__ limits,
                           int columns,
                           sums_of_columns& s)
{
    for (int k = 0; k < columns; k++) {
        const float d = values[k] - references[k];
        const float off = std::fabs(d);
        const float all = off < 1e15f ? 1.f : 0.f;
        const float value = off < 1e15f ? d : 0.f;
        s.count[k] += all;
        s.sum[k] += value;
        s.squares[k] += value * value;
        const float inner = off <= limits[k] ? 1.f : 0.f;
        const float inner_value = off <= limits[k] ? d : 0.f;
        s.inner_count[k] += inner;
        s.inner_sum[k] += inner_value;
        s.inner_squares[k] += inner_value * inner_value;
    }
}

} // namespace

baseline::baseline(int beams, int columns, int segment, int segments)
    : d_beams(beams),
      d_columns(columns),
      d_segment(segment),
      d_segments(segments),
      d_references(size_t(beams) * columns),
      d_limits(size_t(beams) * columns),
      d_history(size_t(segments) * beams * columns),
      d_moments(size_t(beams) * columns)
{
    clear();
}

void baseline::clear()
{
    d_added = 0;
    std::fill(d_limits.begin(), d_limits.end(), -1.f);
    std::fill(d_moments.begin(), d_moments.end(), conditioning::moments{ 0, -1 });
}

int64_t baseline::items() const
{
    return std::min<int64_t>(d_added, d_segments) * d_segment;
}

void baseline::first_references(const float* values, int items, const uint8_t* present)
{
    const size_t cells = d_references.size();
    for (size_t c = 0; c < cells; c++) {
        if (d_limits[c] >= 0)
            continue;
        float first[first_values];
        int count = 0;
        for (int t = 0; t < items && count < first_values; t++)
            if (const float v = values[t * cells + c];
                usable(v) && (!present || present[t * d_beams + c / d_columns]))
                first[count++] = v;
        d_references[c] = count ? median_of(count, [&](int i) { return first[i]; }) : 0;
    }
}

void baseline::add(const float* values, int items, const uint8_t* present)
{
    first_references(values, items, present);
    const size_t cells = d_references.size();
    auto* slot = d_history.data() + d_added % d_segments * cells;
    d_added++;
    const int known = int(std::min<int64_t>(d_added, d_segments));
    sums_of_columns s;
    for (int beam = 0; beam < d_beams; beam++)
        for (int k = 0; k < d_columns; k += most_columns) {
            const size_t first = size_t(beam) * d_columns + k;
            const int columns = std::min(most_columns, d_columns - k);
            std::memset(&s, 0, sizeof s);
            for (int t = 0; t < items; t++)
                if (!present || present[t * d_beams + beam])
                    add_row(values + t * cells + first,
                            d_references.data() + first,
                            d_limits.data() + first,
                            columns,
                            s);
            for (int i = 0; i < columns; i++) {
                const size_t c = first + i;
                slot[c] = moments_of(s.of(i), d_references[c], d_segment);
                conditioning::moments past[64];
                int valid = 0;
                for (int segment = 0; segment < known; segment++)
                    if (const auto m = d_history[segment * cells + c]; m.variance >= 0)
                        past[valid++] = m;
                d_moments[c] =
                    agreement_of(valid, d_segment, [&](int p) { return past[p]; });
                const auto r = reference_of(d_moments[c]);
                d_references[c] = r.value;
                d_limits[c] = r.limit;
            }
        }
}

} // namespace gr::aperture::kernels::host
