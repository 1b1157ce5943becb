/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/xengine/xengine_tiles.h"

namespace gr::aperture::kernels::host {

namespace {

//! Operations on four elements: vectors of 16 bytes are what every 64-bit processor has.
template <class element_type, class sum_type>
struct four {
    using element = element_type;
    using sum = sum_type;
    typedef sum_type vector __attribute__((vector_size(4 * sizeof(sum_type))));
    static constexpr int lanes = 4;
    static vector zero() { return vector{}; }
    static vector load(const element* p)
    {
        vector v;
        for (int i = 0; i < lanes; i++)
            v[i] = p[i];
        return v;
    }
    static vector multiply_add(vector s, vector a, vector b) { return s + a * b; }
    static sum total(vector v)
    {
        sum all = 0;
        for (int i = 0; i < lanes; i++)
            all += v[i];
        return all;
    }
};

bool always() { return true; }

// Sums, rows and a column lie in registers: there are 32 on ARM, and 16 elsewhere.
#ifdef __aarch64__
constexpr int rows = 4, columns = 2;
#else
constexpr int rows = 1, columns = 2;
#endif

} // namespace

const tile_kernels generic_tiles = {
    "generic",
    always,
    make_tile_kernel<four<int16_t, int32_t>, rows, columns>(),
    make_tile_kernel<four<float, float>, rows, columns>()
};

} // namespace gr::aperture::kernels::host
