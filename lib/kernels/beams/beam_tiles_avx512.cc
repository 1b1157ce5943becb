/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

// compiled with -mavx512f -mavx512bw -mavx512vnni
#include "kernels/beams/beam_tiles.h"
#include <immintrin.h>

namespace gr::aperture::kernels::host {

namespace {

// _mm512_cvtepi32_ps() warns of uninitialised values inside of GCC 12's own header
__m512 floats(__m512i v)
{
    typedef int32_t integers __attribute__((vector_size(64)));
    typedef float floats __attribute__((vector_size(64)));
    return __m512(__builtin_convertvector(integers(v), floats));
}

// for _mm512_dpwssd_epi32() GCC 12 copies the sums around, into memory, too
__m512i dot_added(__m512i s, __m512i a, __m512i b)
{
    asm("vpdpwssd %2, %1, %0" : "+v"(s) : "v"(a), "v"(b));
    return s;
}

struct integers {
    using element = int32_t;
    using voltages = __m512i;
    using sum = __m512i;
    struct weight {
        __m512i re, im;
    };
    static constexpr int lanes = 16, elements = 16;
    static sum zero() { return _mm512_setzero_si512(); }
    static voltages load(const element* p) { return _mm512_loadu_si512(p); }
    static weight load_weight(const element* p)
    {
        return { _mm512_set1_epi32(p[0]), _mm512_set1_epi32(p[1]) };
    }
    static sum add_re(sum s, voltages x, weight w) { return dot_added(s, x, w.re); }
    static sum add_im(sum s, voltages x, weight w) { return dot_added(s, x, w.im); }
    static void store(float* to, sum s, float scale)
    {
        _mm512_storeu_ps(to, _mm512_mul_ps(floats(s), _mm512_set1_ps(scale)));
    }
    static void add_to(float* to, sum s, float scale)
    {
        _mm512_storeu_ps(
            to, _mm512_fmadd_ps(floats(s), _mm512_set1_ps(scale), _mm512_loadu_ps(to)));
    }
};

struct reals {
    using element = float;
    struct voltages {
        __m512 re, im;
    };
    using sum = __m512;
    struct weight {
        __m512 re, im;
    };
    static constexpr int lanes = 16, elements = 32;
    static sum zero() { return _mm512_setzero_ps(); }
    static voltages load(const element* p)
    {
        return { _mm512_loadu_ps(p), _mm512_loadu_ps(p + lanes) };
    }
    static weight load_weight(const element* p)
    {
        return { _mm512_set1_ps(p[0]), _mm512_set1_ps(p[1]) };
    }
    static sum add_re(sum s, voltages x, weight w)
    {
        return _mm512_fnmadd_ps(x.im, w.im, _mm512_fmadd_ps(x.re, w.re, s));
    }
    static sum add_im(sum s, voltages x, weight w)
    {
        return _mm512_fmadd_ps(x.im, w.re, _mm512_fmadd_ps(x.re, w.im, s));
    }
    static void store(float* to, sum s, float scale)
    {
        _mm512_storeu_ps(to, _mm512_mul_ps(s, _mm512_set1_ps(scale)));
    }
    static void add_to(float* to, sum s, float scale)
    {
        _mm512_storeu_ps(to,
                         _mm512_fmadd_ps(s, _mm512_set1_ps(scale), _mm512_loadu_ps(to)));
    }
};

bool supported()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vnni");
}

} // namespace

// 6 x 2 sums of two parts, voltages and a weight: 28 and 30 of 32 registers
const beam_kernels avx512_beams = { "avx512 vnni",
                                    supported,
                                    make_beam_kernel<integers, 6, 2>(),
                                    make_beam_kernel<reals, 6, 2>() };

} // namespace gr::aperture::kernels::host
