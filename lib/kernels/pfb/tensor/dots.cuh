/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_DOTS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_DOTS_CUH

#include "kernels/pfb/tensor/tables.h"
#include "kernels/pfb/tensor/tensor.cuh"

namespace gr::aperture::kernels::cuda::tensor {

/*
 * The filter of samples with components of 8 or 4 bits: one instruction (dp2a) multiplies
 * two of them by coefficients of 16 bits and adds up, in integers, without any rounding.
 * For this a word holds one component at four successive times, which also makes the
 * window of the last lines small.
 */

//! Returns the real and the imaginary parts of four sc4 samples as bytes, each 16 times
//! its value.
__device__ __forceinline__ uint2 bytes_of_sc4(uint32_t four)
{
    return { four & 0xf0f0f0f0, four << 4 & 0xf0f0f0f0 };
}

//! Transposes 4 x 4 bytes: byte i of word k becomes byte k of word i.
__device__ __forceinline__ void
transpose_bytes(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d)
{
    const uint32_t ab[] = { __byte_perm(a, b, 0x5140), __byte_perm(a, b, 0x7362) };
    const uint32_t cd[] = { __byte_perm(c, d, 0x5140), __byte_perm(c, d, 0x7362) };
    a = __byte_perm(ab[0], cd[0], 0x5410);
    b = __byte_perm(ab[0], cd[0], 0x7632);
    c = __byte_perm(ab[1], cd[1], 0x5410);
    d = __byte_perm(ab[1], cd[1], 0x7632);
}

//! The coefficients of the samples that a producer thread filters, taps by twos in a
//! word: once for spectra at odd times, whose first tap meets the first byte of a pair of
//! times, and once for those at even times, whose taps are shifted by one.
template <class Call>
struct paired_coefficients {
    static constexpr int samples = Call::real ? 8 : 4, taps = Call::most_taps;
    static constexpr int pairs = taps / 2;
    //! True if the shifted coefficients are kept as well. With more than 8 taps they are
    //! made from the others each time, as there are not enough registers.
    static constexpr bool keeps_even = taps <= 8;
    uint32_t odd[samples][pairs], kept[keeps_even ? samples : 1][pairs + 1];

    __device__ __forceinline__ void set(int k, const int (&h)[taps])
    {
#pragma unroll
        for (int i = 0; i < pairs; i++)
            odd[k][i] = (h[2 * i] & 0xffff) | h[2 * i + 1] << 16;
        if constexpr (keeps_even) {
#pragma unroll
            for (int i = 0; i <= pairs; i++)
                kept[k][i] = shifted(k, i);
        }
    }
    __device__ __forceinline__ uint32_t even(int k, int i) const
    {
        if constexpr (keeps_even)
            return kept[k][i];
        else
            return shifted(k, i);
    }

private:
    //! Returns the second tap of pair i - 1 and the first tap of pair i. It is volatile,
    //! or the compiler would keep all of them, in local memory.
    __device__ __forceinline__ uint32_t shifted(int k, int i) const
    {
        const uint32_t low = i > 0 ? odd[k][i - 1] : 0, high = i < pairs ? odd[k][i] : 0;
        uint32_t both;
        asm volatile("prmt.b32 %0, %1, %2, 0x5432;" : "=r"(both) : "r"(low), "r"(high));
        return both;
    }
};

/*!
 * The window of a producer thread: the last lines of its eight components, one word for
 * four successive times of each. The lines of a slot are one word, and those of the
 * most_taps lines before it are kept.
 */
template <class Call>
class sample_window
{
    static constexpr int before = Call::most_taps / slot_spectra;
    uint32_t d_last[before][8];

    // A sum begins as the mantissa of a float, so that it becomes one without a
    // conversion.
    static constexpr int no_sum = 0x4b400000;
    static constexpr float no_sum_as_float = 3 << 22;

    static __device__ __forceinline__ void put(uint32_t (&lines)[8], int line, uint2 raw)
    {
        if constexpr (Call::sc4)
            raw = bytes_of_sc4(raw.x);
        lines[2 * line] = raw.x;
        lines[2 * line + 1] = raw.y;
    }
    //! Transposes words [4 lines][2] into words of four times of one component each;
    //! place_of() tells which.
    static __device__ __forceinline__ void transpose(uint32_t (&v)[8])
    {
#pragma unroll
        for (int i = 0; i < 2; i++)
            transpose_bytes(v[i], v[2 + i], v[4 + i], v[6 + i]);
    }
    //! Returns the word of component `part` of sample k. Of sc4 and s8 the components of
    //! a sample are in neighbouring words.
    static constexpr __device__ int place_of(int k, int part)
    {
        return Call::sc4 || Call::real ? 2 * k + part : 4 * (k % 2) + 2 * part + k / 2;
    }
    static __device__ __forceinline__ int
    dot(uint32_t two_taps, uint32_t times, int half, int sum)
    {
        return half == 0 ? __dp2a_lo(int(two_taps), int(times), sum)
                         : __dp2a_hi(int(two_taps), int(times), sum);
    }

public:
    //! Puts the i-th line of those before the first spectrum's last line into the window.
    __device__ __forceinline__ void begin_with(int i, uint2 raw)
    {
        put(d_last[(i + 1) / slot_spectra], (i + 1) % slot_spectra, raw);
    }
    //! Makes the window ready when all lines before the first slot have been put there.
    __device__ __forceinline__ void begin()
    {
        put(d_last[0], 0, {});
#pragma unroll
        for (auto& words : d_last)
            transpose(words);
    }
    //! Filters the four lines of a slot.
    //! \param store is called with each spectrum and its eight filtered components
    template <class Store>
    __device__ __forceinline__ void filter(const uint2 (&raw)[slot_spectra],
                                           const paired_coefficients<Call>& h,
                                           Store store)
    {
        uint32_t now[8];
#pragma unroll
        for (int s = 0; s < slot_spectra; s++)
            put(now, s, raw[s]);
        transpose(now);
        float z[slot_spectra][8];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int k = Call::real ? i / 2 + i % 2 * 4 : i / 2; // sample
            const int n = place_of(i / 2, i % 2);
#pragma unroll
            for (int s = 0; s < slot_spectra; s++) {
                const bool odd = s % 2;
                int sum = no_sum;
#pragma unroll
                for (int j = 0; j < h.pairs + !odd; j++) {
                    // Index of the pair of times, counted from the first word of the
                    // window.
                    const int two = s / 2 + odd + j;
                    const uint32_t times = two / 2 < before ? d_last[two / 2][n] : now[n];
                    sum = dot(odd ? h.odd[k][j] : h.even(k, j), times, two % 2, sum);
                }
                z[s][i] = __fmaf_rn(__int_as_float(sum),
                                    float(whole_unit),
                                    float(-no_sum_as_float * whole_unit));
            }
        }
#pragma unroll
        for (int s = 0; s < slot_spectra; s++)
            store(s, z[s]);
#pragma unroll
        for (int n = 0; n < 8; n++) {
#pragma unroll
            for (int i = 1; i < before; i++)
                d_last[i - 1][n] = d_last[i][n];
            d_last[before - 1][n] = now[n];
        }
    }
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_DOTS_CUH */
