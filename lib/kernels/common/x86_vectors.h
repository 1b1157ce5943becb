/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_X86_VECTORS_H
#define INCLUDED_APERTURE_KERNELS_COMMON_X86_VECTORS_H

#include <immintrin.h>
#include <cstdint>

namespace gr::aperture::kernels::host {

/*!
 * Vectors of 256 bits (AVX2 with FMA) and of 512 bits (AVX-512 with VNNI) under one set
 * of names, so that a kernel is written once for both. `reals` holds Bits / 32 floats,
 * `integers` Bits / 32 int32_t or twice as many int16_t. A file that uses a width is
 * compiled with that width's options, and calls nothing of it where supported() is false.
 */
template <int Bits>
struct x86_vectors;

#ifdef __AVX2__
template <>
struct x86_vectors<256> {
    using reals = __m256;
    using integers = __m256i;
    static constexpr int lanes = 8;

    static bool supported()
    {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
    static reals zero_reals() { return _mm256_setzero_ps(); }
    static integers zero_integers() { return _mm256_setzero_si256(); }
    static reals all(float v) { return _mm256_set1_ps(v); }
    static integers all(int32_t v) { return _mm256_set1_epi32(v); }
    static reals load(const float* p) { return _mm256_loadu_ps(p); }
    static integers load_integers(const void* p)
    {
        return _mm256_loadu_si256(static_cast<const __m256i*>(p));
    }
    static void store(float* p, reals v) { _mm256_storeu_ps(p, v); }
    static reals multiply(reals a, reals b) { return _mm256_mul_ps(a, b); }
    //! Returns a b + s.
    static reals multiply_add(reals s, reals a, reals b)
    {
        return _mm256_fmadd_ps(a, b, s);
    }
    //! Returns s - a b.
    static reals multiply_subtract(reals s, reals a, reals b)
    {
        return _mm256_fnmadd_ps(a, b, s);
    }
    //! Adds a0 b0 + a1 b1 of each pair of int16_t to the int32_t in their place.
    static integers add_dot(integers s, integers a, integers b)
    {
        return _mm256_add_epi32(s, _mm256_madd_epi16(a, b));
    }
    //! Converts int32_t to floats.
    static reals to_reals(integers v) { return _mm256_cvtepi32_ps(v); }
    //! Returns the sum of all lanes.
    static int32_t total(integers v)
    {
        __m128i s =
            _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
        return _mm_cvtsi128_si32(s);
    }
    static float total(reals v)
    {
        __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        s = _mm_add_ps(s, _mm_movehl_ps(s, s));
        return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
    }
};
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__)
template <>
struct x86_vectors<512> {
    using reals = __m512;
    using integers = __m512i;
    static constexpr int lanes = 16;

    static bool supported()
    {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vnni");
    }
    static reals zero_reals() { return _mm512_setzero_ps(); }
    static integers zero_integers() { return _mm512_setzero_si512(); }
    static reals all(float v) { return _mm512_set1_ps(v); }
    static integers all(int32_t v) { return _mm512_set1_epi32(v); }
    static reals load(const float* p) { return _mm512_loadu_ps(p); }
    static integers load_integers(const void* p) { return _mm512_loadu_si512(p); }
    static void store(float* p, reals v) { _mm512_storeu_ps(p, v); }
    static reals multiply(reals a, reals b) { return _mm512_mul_ps(a, b); }
    static reals multiply_add(reals s, reals a, reals b)
    {
        return _mm512_fmadd_ps(a, b, s);
    }
    static reals multiply_subtract(reals s, reals a, reals b)
    {
        return _mm512_fnmadd_ps(a, b, s);
    }
    // for _mm512_dpwssd_epi32() GCC 12 copies the sums around, some of them to memory
    static integers add_dot(integers s, integers a, integers b)
    {
        asm("vpdpwssd %2, %1, %0" : "+v"(s) : "v"(a), "v"(b));
        return s;
    }
    // _mm512_cvtepi32_ps() warns of uninitialised values inside of GCC 12's own header
    static reals to_reals(integers v)
    {
        typedef int32_t from __attribute__((vector_size(64)));
        typedef float to __attribute__((vector_size(64)));
        return reals(__builtin_convertvector(from(v), to));
    }
    static int32_t total(integers v)
    {
        alignas(64) int32_t parts[lanes];
        _mm512_store_si512(parts, v);
        return added(parts);
    }
    static float total(reals v)
    {
        alignas(64) float parts[lanes];
        _mm512_store_ps(parts, v);
        return added(parts);
    }

private:
    // _mm512_reduce_add_*() warn like the conversion above
    template <class number>
    static number added(const number (&parts)[lanes])
    {
        number half[8], quarter[4];
        for (int i = 0; i < 8; i++)
            half[i] = parts[i] + parts[i + 8];
        for (int i = 0; i < 4; i++)
            quarter[i] = half[i] + half[i + 4];
        return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
    }
};
#endif

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_X86_VECTORS_H */
