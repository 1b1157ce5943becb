/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/simd.h"
#include "kernels/pulses/largest_sum.h"
#include <algorithm>
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

typedef float vector __attribute__((vector_size(64)));
constexpr int lanes = sizeof(vector) / sizeof(float);
static_assert(2 * lanes == segment_ends);

} // namespace

APERTURE_SIMD float largest_sum(
    const float* sums, int count, const int* units, const float* scales, int widths)
{
    vector ends[2], best[2];
    std::memcpy(ends, sums, sizeof ends);
    for (auto& b : best)
        b = vector{} - 1e30f;
    for (int w = 0; w < widths; w++) {
        vector begins[2];
        std::memcpy(begins, sums - units[w], sizeof begins);
        for (int i = 0; i < 2; i++) {
            const vector snr = (ends[i] - begins[i]) * scales[w];
            best[i] = snr > best[i] ? snr : best[i];
        }
    }
    float found[segment_ends];
    std::memcpy(found, best, sizeof found);
    return *std::max_element(found, found + count);
}

} // namespace gr::aperture::kernels::host
