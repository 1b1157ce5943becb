/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/simd.h"
#include "kernels/zoom/host_decimator.h"
#include <algorithm>
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

constexpr size_t lanes =
    16; // floats of a vector; narrower processors use several for one
typedef float vector __attribute__((
    vector_size(lanes * sizeof(float)), aligned(sizeof(float)), may_alias));

//! Filters to y: `count` results, whose samples begin `step` floats apart.
APERTURE_SIMD void decimate(
    const float* x, const float* h, size_t vectors, size_t step, size_t count, float* y)
{
    const auto load = [](const float* p) -> const vector& {
        return *reinterpret_cast<const vector*>(p);
    };
    const auto store = [](const vector& v, float* to) {
        const auto half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                          __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
        const auto quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3) +
                             __builtin_shufflevector(half, half, 4, 5, 6, 7);
        to[0] = quarter[0] + quarter[2];
        to[1] = quarter[1] + quarter[3];
    };
    for (size_t m = 0; m < count; m += 4) { // each tap is loaded once for four results
        // the last ones are computed several times rather than in another way
        const size_t last = count - 1 - m;
        const float* x0 = x + m * step;
        const float* x1 = x0 + std::min<size_t>(1, last) * step;
        const float* x2 = x0 + std::min<size_t>(2, last) * step;
        const float* x3 = x0 + std::min<size_t>(3, last) * step;
        vector a{}, b{}, c{}, d{};
        for (size_t j = 0; j < vectors * lanes; j += lanes) {
            const vector tap = load(h + j);
            a += tap * load(x0 + j);
            b += tap * load(x1 + j);
            c += tap * load(x2 + j);
            d += tap * load(x3 + j);
        }
        float results[8];
        store(a, results);
        store(b, results + 2);
        store(c, results + 4);
        store(d, results + 6);
        std::memcpy(
            y + 2 * m, results, std::min<size_t>(4, last + 1) * 2 * sizeof(float));
    }
}

} // namespace

host_decimator::host_decimator(const zoom_stage& s, size_t most)
    : d_taps(s.taps.size()),
      d_hop(s.decimation),
      d_vectors((2 * d_taps + lanes - 1) / lanes),
      d_h(make_fft_buffer(d_vectors * lanes)),
      d_samples(make_fft_buffer(2 * (d_taps + most) + lanes))
{
    std::fill_n(d_h.get(), d_vectors * lanes, 0.f);
    for (size_t j = 0; j < d_taps; j++)
        d_h[2 * j] = d_h[2 * j + 1] = s.taps[j];
    // samples behind the last one are multiplied with zeros
    std::fill_n(d_samples.get(), 2 * (d_taps + most) + lanes, 0.f);
}

size_t host_decimator::run(size_t count, float* results)
{
    d_held += count;
    if (d_held < d_taps)
        return 0;
    const size_t made = (d_held - d_taps) / d_hop + 1;
    decimate(d_samples.get(), d_h.get(), d_vectors, 2 * d_hop, made, results);
    d_held -= made * d_hop;
    std::memmove(
        d_samples.get(), d_samples.get() + 2 * made * d_hop, 2 * d_held * sizeof(float));
    return made;
}

} // namespace gr::aperture::kernels::host
