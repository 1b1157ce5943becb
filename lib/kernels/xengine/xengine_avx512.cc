/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled with -mavx512f -mavx512bw -mavx512vnni
#include "kernels/xengine/xengine_tiles.h"
#include <immintrin.h>

namespace gr::aperture::kernels::host {

namespace {

// _mm512_reduce_add_*() warns of uninitialised values inside of GCC 12's own header
template <class number>
number added(const number (&parts)[16])
{
    number half[8], quarter[4];
    for (int i = 0; i < 8; i++)
        half[i] = parts[i] + parts[i + 8];
    for (int i = 0; i < 4; i++)
        quarter[i] = half[i] + half[i + 4];
    return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

struct integers {
    using element = int16_t;
    using sum = int32_t;
    using vector = __m512i;
    static constexpr int lanes = 32;
    static vector zero() { return _mm512_setzero_si512(); }
    static vector load(const element* p) { return _mm512_loadu_si512(p); }
    static vector multiply_add(vector s, vector a, vector b)
    {
        return _mm512_dpwssd_epi32(s, a, b);
    }
    static sum total(vector v)
    {
        alignas(64) sum parts[16];
        _mm512_store_si512(parts, v);
        return added(parts);
    }
};

struct reals {
    using element = float;
    using sum = float;
    using vector = __m512;
    static constexpr int lanes = 16;
    static vector zero() { return _mm512_setzero_ps(); }
    static vector load(const element* p) { return _mm512_loadu_ps(p); }
    static vector multiply_add(vector s, vector a, vector b)
    {
        return _mm512_fmadd_ps(a, b, s);
    }
    static sum total(vector v)
    {
        alignas(64) sum parts[16];
        _mm512_store_ps(parts, v);
        return added(parts);
    }
};

bool supported()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vnni");
}

} // namespace

// 2 x 4 products of two parts and five rows: 21 of 32 registers
const tile_kernels avx512_tiles = { "avx512 vnni",
                                    supported,
                                    make_tile_kernel<integers, 2, 4>(),
                                    make_tile_kernel<reals, 2, 4>() };

} // namespace gr::aperture::kernels::host
