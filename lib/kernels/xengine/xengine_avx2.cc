/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled with -mavx2 -mfma
#include "kernels/xengine/xengine_tiles.h"
#include <immintrin.h>

namespace gr::aperture::kernels::host {

namespace {

struct integers {
    using element = int16_t;
    using sum = int32_t;
    using vector = __m256i;
    static constexpr int lanes = 16;
    static vector zero() { return _mm256_setzero_si256(); }
    static vector load(const element* p)
    {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    static vector multiply_add(vector s, vector a, vector b)
    {
        return _mm256_add_epi32(s, _mm256_madd_epi16(a, b));
    }
    static sum total(vector v)
    {
        __m128i s =
            _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
        return _mm_cvtsi128_si32(s);
    }
};

struct reals {
    using element = float;
    using sum = float;
    using vector = __m256;
    static constexpr int lanes = 8;
    static vector zero() { return _mm256_setzero_ps(); }
    static vector load(const element* p) { return _mm256_loadu_ps(p); }
    static vector multiply_add(vector s, vector a, vector b)
    {
        return _mm256_fmadd_ps(a, b, s);
    }
    static sum total(vector v)
    {
        __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        s = _mm_add_ps(s, _mm_movehl_ps(s, s));
        return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
    }
};

bool supported()
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

} // namespace

// 2 x 2 products of two parts and four rows: 13 of 16 registers
const tile_kernels avx2_tiles = {
    "avx2", supported, make_tile_kernel<integers, 2, 2>(), make_tile_kernel<reals, 2, 2>()
};

} // namespace gr::aperture::kernels::host
