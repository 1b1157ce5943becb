/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_TF32_TILE_CUH
#define INCLUDED_APERTURE_KERNELS_XENGINE_TF32_TILE_CUH

#include <cstdint>

namespace gr::aperture::kernels::cuda {

/*
 * Products of 8 inputs a with 8 inputs b in nearly single precision, on tensor cores that
 * read numbers of 11 bits (tf32). Each number is the sum of two such numbers, but for
 * 2^-23 of it, and of the four products of two sums the smallest, 2^-22 of the whole at
 * most, is left out.
 *
 * The 16 rows of the first operand are the real parts of the inputs a, then the imaginary
 * ones; the columns of the second are the real or the imaginary parts of the inputs b. So
 * each number lies once in each operand, and nothing is multiplied by -i. Lane 4 g + t
 * holds two times of row g of each; which times does not matter as long as it is the same
 * of all rows.
 */

//! Two times of an input (re, im, re, im), each component the sum of two numbers of 11
//! bits. The tensor cores ignore the bits behind these.
struct split_voltages {
    uint32_t high[4], low[4];

    split_voltages() = default;
    __device__ explicit split_voltages(float4 v)
    {
        const float whole[4] = { v.x, v.y, v.z, v.w };
#pragma unroll
        for (int i = 0; i < 4; i++) {
            high[i] = __float_as_uint(whole[i]) + 0x1000; // the rest has either sign
            low[i] = __float_as_uint(whole[i] - __uint_as_float(high[i] & 0xffffe000));
        }
    }
};

//! Adds products over 8 times to sums: [0], [1] are those of the real part of input a = g
//! with part b of inputs b = 2 t and 2 t + 1, [2] and [3] those of its imaginary part.
__device__ __forceinline__ void multiply_add_tf32(float (&sums)[4],
                                                  const uint32_t (&a)[4],
                                                  const uint32_t (&b)[4],
                                                  int part)
{
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[part]), "r"(b[2 + part]));
#endif
}

/*!
 * Adds the products of Rows groups of 8 inputs a with Columns groups of 8 inputs b over 8
 * times, tile by tile, to sums: [0], [1] re and [2], [3] im of product (a = g, b = 2 t)
 * and (g, 2 t + 1). Of a triangle, where Rows = Columns, those of groups a >= b.
 *
 * Tensor cores cut sums off where single precision would round them, to one side: so they
 * sum these times only, the small products first, and the rest are additions that round.
 * \param group_a group_a(row) is the row's split_voltages
 */
template <int Rows, int Columns, bool Triangle, class Group>
__device__ __forceinline__ void
add_products(float (*sums)[4], const Group& group_a, const split_voltages (&b)[Columns])
{
#pragma unroll
    for (int row = 0; row < Rows; row++) {
        const split_voltages a = group_a(row);
        const int count = Triangle ? row + 1 : Columns;
        float parts[2 * Columns]
                   [4] = {}; // with the real and the imaginary part of each b
#pragma unroll
        for (int i = 0; i < 2 * count; i++)
            multiply_add_tf32(parts[i], a.low, b[i / 2].high, i % 2);
#pragma unroll
        for (int i = 0; i < 2 * count; i++)
            multiply_add_tf32(parts[i], a.high, b[i / 2].low, i % 2);
#pragma unroll
        for (int i = 0; i < 2 * count; i++)
            multiply_add_tf32(parts[i], a.high, b[i / 2].high, i % 2);
#pragma unroll
        for (int g = 0; g < count; g++, sums++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                (*sums)[i] += parts[2 * g][i] + parts[2 * g + 1][2 + i];
                (*sums)[2 + i] += parts[2 * g][2 + i] - parts[2 * g + 1][i];
            }
    }
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_TF32_TILE_CUH */
