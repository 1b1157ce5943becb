/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_GAINS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_GAINS_CUH

#include "kernels/pfb/tensor/tensor.cuh"
#include "kernels/pfb/tensor/words.cuh"

namespace gr::aperture::kernels::cuda::tensor {

// The epilogue: gains and conversion of what comes out of the transform.

//! Returns the sum of the squares of eight components of 8 bits, four in a word.
__device__ __forceinline__ int sum_of_squares(uint32_t low, uint32_t high)
{
    const int a = int(low), b = int(high);
    return __dp4a(a, a, __dp4a(b, b, 0));
}

/*!
 * Multiplies the sums of a pair of spectra by gains and converts them to sc8: words[i]
 * has element e = 4 i + t of the first spectrum in the lower half and of the second one
 * in the upper half.
 * \param gains of elements i and i + 1 in one float4; they repeat after Words of them
 * \param begin, end called with i, return the first spectrum of the pair that is wanted
 * and the one behind the last
 * \param harmless_squares no component is clamped where the sums of squares of two words
 * are not larger
 * \return how many of the elements wanted were clamped
 */
template <int Words, class Begin, class End>
__device__ __forceinline__ int quantise(uint32_t (&words)[8],
                                        const float (&sums)[32],
                                        const float4 (&gains)[Words],
                                        Begin begin,
                                        End end,
                                        int harmless_squares)
{
    const auto amplify = [&](int i, int spectrum) {
        const float* y = sums + 4 * i + 2 * spectrum;
        const float4 g = gains[i / 2 % Words];
        return times({ y[0], y[1] }, i % 2 ? float2{ g.z, g.w } : float2{ g.x, g.y });
    };
#pragma unroll
    for (int i = 0; i < 8; i++)
        words[i] = rounded(amplify(i, 0), rounded(amplify(i, 1)));
    // Most often this test is enough.
    int squares = 0;
#pragma unroll
    for (int i = 0; i < 8; i += 2)
        squares = max(squares, sum_of_squares(words[i], words[i + 1]));
    if (squares <= harmless_squares)
        return 0;
    float most = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        most = larger(most, larger(largest(amplify(i, 0)), largest(amplify(i, 1))));
    if (most <= most_fitting)
        return 0;
    int found = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float2 a = amplify(i, 0), b = amplify(i, 1);
        found += (begin(i) <= 0 && end(i) > 0 && is_clamped(a)) +
                 (begin(i) <= 1 && end(i) > 1 && is_clamped(b));
        words[i] = rounded(fitting(a), rounded(fitting(b)));
    }
    return found;
}

/*!
 * The same for both pairs of spectra of a slot, where the gains of each spectrum are
 * rotated by phases of its own.
 * \param gains in memory, each of two elements; they repeat after gain_words of them
 * \param series makes the series of phasors of the slot from its beginning
 * \param begin, end as above, of the slot
 * \param put_words is called with the words of i, i + 1, ... of both pairs as soon as
 * these are made
 */
template <class Call, class Series, class Begin, class End, class Put>
__device__ __forceinline__ int quantise_rotated(const float (&low)[32],
                                                const float (&high)[32],
                                                const float4* gains,
                                                Series series,
                                                Begin begin,
                                                End end,
                                                int harmless_squares,
                                                Put put_words)
{
    constexpr int together = 4; // elements that are tested and stored at a time
    // Calls put(i, y) with element i of all four spectra.
    const auto amplify = [&](auto& phases, int from, auto put) {
        float4 g;
#pragma unroll
        for (int i = from; i < from + together; i++) {
            const float *y = low + 4 * i, *z = high + 4 * i;
            if (i % 2 == 0)
                g = load_numbers(gains + i / 2 % Call::gain_words * Call::gain_threads);
            const float2 gain = i % 2 ? float2{ g.z, g.w } : float2{ g.x, g.y };
            const auto [first, second, twice_cosine] = phases.take();
            const float2 a = times(first, gain);
            const float2 b = times(second, gain);
            const float2 c = reflected(a, b, twice_cosine);
            const float2 d = reflected(b, c, twice_cosine);
            const float2 all[slot_spectra] = { times({ y[0], y[1] }, a),
                                               times({ y[2], y[3] }, b),
                                               times({ z[0], z[1] }, c),
                                               times({ z[2], z[3] }, d) };
            put(i, all);
        }
    };
    int found = 0;
    auto phases = series();
#pragma unroll
    for (int from = 0; from < 8; from += together) {
        uint32_t words[pairs][together];
        int squares = 0;
        amplify(phases, from, [&](int i, const float2(&y)[slot_spectra]) {
#pragma unroll
            for (int k = 0; k < pairs; k++)
                words[k][i - from] = rounded(y[2 * k], rounded(y[2 * k + 1]));
            squares =
                max(squares, sum_of_squares(words[0][i - from], words[1][i - from]));
        });
        if (squares > harmless_squares) {
            auto again = series();
#pragma unroll
            for (int i = 0; i < from; i++)
                again.take();
            amplify(again, from, [&](int i, const float2(&y)[slot_spectra]) {
#pragma unroll
                for (int s = 0; s < slot_spectra; s++)
                    found += s >= begin(i) && s < end(i) && is_clamped(y[s]);
#pragma unroll
                for (int k = 0; k < pairs; k++)
                    words[k][i - from] =
                        rounded(fitting(y[2 * k]), rounded(fitting(y[2 * k + 1])));
            });
        }
        __syncwarp();
        put_words(from, words);
    }
    return found;
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_GAINS_CUH */
