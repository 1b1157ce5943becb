/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_XENGINE_TRIANGLE_CUH
#define INCLUDED_APERTURE_KERNELS_XENGINE_TRIANGLE_CUH

#include "kernels/xengine/integer_tile.cuh"

namespace gr::aperture::kernels::cuda {

/*!
 * Which products a triangle of 8 x 8 tiles holds: all of one channel, or, where there are
 * at most 4 inputs, those of some channels whose inputs share a tile.
 */
struct triangle_place {
    int inputs, channels;
    int first_channel;
    int tile_channels;
};

/*!
 * Adds the products of 16 bytes of each of a lane's rows, 8 samples of sc8 or 16 of sc4
 * (Packed), to the sums of its warp. Tiles of groups a >= b in the order a (a + 1) / 2 +
 * b. \param v a row of each group of 8 inputs
 */
template <int Groups, bool Packed>
__device__ __forceinline__ void
multiply_add_triangle(int (&warp_sums)[Groups * (Groups + 1) / 2][4],
                      const uint4 (&v)[Groups])
{
#pragma unroll
    for (int step = 0; step < mma_operand<Packed>::steps; step++) {
        mma_operand<Packed> rows[Groups];
        int tile = 0;
#pragma unroll
        for (int a = 0; a < Groups; a++) {
            rows[a] = mma_operand<Packed>(v[a], step);
            const uint2 times_minus_i = rows[a].times_minus_i();
#pragma unroll
            for (int b = 0; b <= a; b++, tile++)
                multiply_add(
                    warp_sums[tile], rows[a].words, times_minus_i, rows[b].words);
        }
    }
}

/*!
 * Epilogue: adds the sums of all warps of a thread block to those of the channel. Called
 * by all threads.
 * \param block_sums shared memory for Groups (Groups + 1) / 2 tiles of 128 sums
 */
template <int Groups, bool Packed>
__device__ __forceinline__ void
add_triangle(int* block_sums,
             const int (&warp_sums)[Groups * (Groups + 1) / 2][4],
             unsigned long long* sums,
             const triangle_place& place)
{
    constexpr int tiles = Groups * (Groups + 1) / 2;
    __syncthreads();
    for (int i = threadIdx.x; i < tiles * 128; i += blockDim.x)
        block_sums[i] = 0;
    __syncthreads();
    add_to_block(block_sums, warp_sums);
    __syncthreads();
    const int64_t products = product_index(place.inputs, 0);
    for (int i = threadIdx.x; i < tiles * 128; i += blockDim.x) {
        const tile_element e(i);
        int group_a = 0, group_b = e.tile;
        for (; group_b > group_a; group_a++)
            group_b -= group_a + 1;
        int a = 8 * group_a + e.a, b = 8 * group_b + e.b, channel = 0;
        if (place.tile_channels > 1) {
            channel = a / place.inputs;
            a %= place.inputs;
            b -= channel * place.inputs; // negative if it is of a channel before
        }
        const bool wanted = a < place.inputs && b >= 0 && b <= a &&
                            channel < place.tile_channels &&
                            place.first_channel + channel < place.channels;
        if (wanted)
            add_atomically(&sums[2 * ((place.first_channel + channel) * products +
                                      product_index(a, b)) +
                                 e.part],
                           unscaled<Packed>(block_sums[e.place()]));
    }
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_XENGINE_TRIANGLE_CUH */
