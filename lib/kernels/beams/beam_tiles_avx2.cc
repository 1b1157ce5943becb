/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled with -mavx2 -mfma
#include "kernels/beams/beam_tiles.h"
#include <immintrin.h>

namespace gr::aperture::kernels::host {

namespace {

struct integers {
    using element = int32_t;
    using voltages = __m256i;
    using sum = __m256i;
    struct weight {
        __m256i re, im;
    };
    static constexpr int lanes = 8, elements = 8;
    static sum zero() { return _mm256_setzero_si256(); }
    static voltages load(const element* p)
    {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    static weight load_weight(const element* p)
    {
        return { _mm256_set1_epi32(p[0]), _mm256_set1_epi32(p[1]) };
    }
    static sum add_re(sum s, voltages x, weight w)
    {
        return _mm256_add_epi32(s, _mm256_madd_epi16(x, w.re));
    }
    static sum add_im(sum s, voltages x, weight w)
    {
        return _mm256_add_epi32(s, _mm256_madd_epi16(x, w.im));
    }
    static void store(float* to, sum s, float scale)
    {
        _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtepi32_ps(s), _mm256_set1_ps(scale)));
    }
    static void add_to(float* to, sum s, float scale)
    {
        _mm256_storeu_ps(to,
                         _mm256_fmadd_ps(_mm256_cvtepi32_ps(s),
                                         _mm256_set1_ps(scale),
                                         _mm256_loadu_ps(to)));
    }
};

struct reals {
    using element = float;
    struct voltages {
        __m256 re, im;
    };
    using sum = __m256;
    struct weight {
        __m256 re, im;
    };
    static constexpr int lanes = 8, elements = 16;
    static sum zero() { return _mm256_setzero_ps(); }
    static voltages load(const element* p)
    {
        return { _mm256_loadu_ps(p), _mm256_loadu_ps(p + lanes) };
    }
    static weight load_weight(const element* p)
    {
        return { _mm256_set1_ps(p[0]), _mm256_set1_ps(p[1]) };
    }
    static sum add_re(sum s, voltages x, weight w)
    {
        return _mm256_fnmadd_ps(x.im, w.im, _mm256_fmadd_ps(x.re, w.re, s));
    }
    static sum add_im(sum s, voltages x, weight w)
    {
        return _mm256_fmadd_ps(x.im, w.re, _mm256_fmadd_ps(x.re, w.im, s));
    }
    static void store(float* to, sum s, float scale)
    {
        _mm256_storeu_ps(to, _mm256_mul_ps(s, _mm256_set1_ps(scale)));
    }
    static void add_to(float* to, sum s, float scale)
    {
        _mm256_storeu_ps(to,
                         _mm256_fmadd_ps(s, _mm256_set1_ps(scale), _mm256_loadu_ps(to)));
    }
};

bool supported()
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

} // namespace

// 4 sums of two parts, voltages and a weight: 12 of 16 registers
const beam_kernels avx2_beams = {
    "avx2", supported, make_beam_kernel<integers, 4, 1>(), make_beam_kernel<reals, 4, 1>()
};

} // namespace gr::aperture::kernels::host
