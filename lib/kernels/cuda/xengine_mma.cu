/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/integer_tile.cuh"
#include "kernels/cuda/integer_xengine.h"
#include "kernels/cuda/memory.h"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

constexpr int groups = 4; // of 8 inputs, on each side of a tile
constexpr int tile_inputs = 8 * groups;
constexpr int warps = 8;
constexpr int step_bytes = 64; // of a row, that a warp takes at a time

struct extents {
    int times, inputs, channels, blocks, splits;
    int tiles; // of the triangle: on the diagonal, or below it
};

//! 16 bytes of one row of each group, zeros beyond the last input and the last time.
__device__ __forceinline__ void load(uint32_t (&rows)[groups][4],
                                     const int8_t* channel,
                                     const extents& x,
                                     int first_input,
                                     int64_t byte)
{
    const int64_t row = 2 * int64_t(x.times);
#pragma unroll
    for (int i = 0; i < groups; i++) {
        const int input = first_input + 8 * i + threadIdx.x % 32 / 4;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (input < x.inputs && byte < row)
            v = __ldg(reinterpret_cast<const uint4*>(channel + input * row + byte));
        rows[i][0] = v.x;
        rows[i][1] = v.y;
        rows[i][2] = v.z;
        rows[i][3] = v.w;
    }
}

/*!
 * A block: 32 x 32 products of one channel and a part of the time, whose steps its warps
 * take in turn.
 */
template <bool Diagonal>
__global__ void __launch_bounds__(32 * warps)
    sum_tile(const int8_t* __restrict__ voltages, unsigned long long* sums, extents x)
{
    constexpr int tiles = Diagonal ? groups * (groups + 1) / 2 : groups * groups;
    const int warp = threadIdx.x / 32;
    const int split = blockIdx.x / x.tiles % x.splits;
    const int channel = blockIdx.x / x.tiles / x.splits;
    int tile_a = blockIdx.x % x.tiles, tile_b = tile_a;
    if (!Diagonal) {
        // tile number -> (a, b) with a > b
        tile_b = blockIdx.x % x.tiles;
        for (tile_a = 1; tile_b >= tile_a; tile_a++)
            tile_b -= tile_a;
    }
    const int first_a = tile_a * tile_inputs, first_b = tile_b * tile_inputs;

    const int steps =
        (2 * x.times + step_bytes - 1) / step_bytes; // of a block of voltages
    const int64_t total = int64_t(steps) * x.blocks;
    const int64_t begin = total * split / x.splits, end = total * (split + 1) / x.splits;
    const int64_t channel_size = 2 * int64_t(x.times) * x.inputs;

    int warp_sums[tiles][4] = {};
    for (int64_t step = begin + warp; step < end; step += warps) {
        const int8_t* from =
            voltages + (step / steps * x.channels + channel) * channel_size;
        const int64_t byte = step % steps * step_bytes + threadIdx.x % 4 * 16;
        uint32_t a[groups][4], b[groups][4];
        load(a, from, x, first_a, byte);
        if (!Diagonal)
            load(b, from, x, first_b, byte);
#pragma unroll
        for (int half = 0; half < 4; half += 2) {
            int tile = 0;
#pragma unroll
            for (int i = 0; i < groups; i++) {
                const uint32_t low = turned(a[i][half]), high = turned(a[i][half + 1]);
#pragma unroll
                for (int j = 0; j < (Diagonal ? i + 1 : groups); j++, tile++) {
                    const auto& column = Diagonal ? a[j] : b[j];
                    multiply_add(warp_sums[tile],
                                 a[i][half],
                                 a[i][half + 1],
                                 low,
                                 high,
                                 column[half],
                                 column[half + 1]);
                }
            }
        }
    }

    __shared__ int block_sums[tiles * 128];
    for (int i = threadIdx.x; i < tiles * 128; i += blockDim.x)
        block_sums[i] = 0;
    __syncthreads();
    add_to_block(block_sums, warp_sums);
    __syncthreads();
    const int64_t products = product_index(x.inputs, 0);
    for (int i = threadIdx.x; i < tiles * 128; i += blockDim.x) {
        const tile_element e(i);
        int group_a = e.tile / groups, group_b = e.tile % groups;
        if (Diagonal) {
            group_b = e.tile;
            for (group_a = 0; group_b > group_a; group_a++)
                group_b -= group_a + 1;
        }
        const int input_a = first_a + 8 * group_a + e.a;
        const int input_b = first_b + 8 * group_b + e.b;
        if (input_a < x.inputs && input_b <= input_a)
            atomicAdd(&sums[2 * (channel * products + product_index(input_a, input_b)) +
                            e.part],
                      (unsigned long long)(int64_t(block_sums[e.place()])));
    }
}

class mma_xengine : public integer_xengine
{
public:
    mma_xengine(const xengine::parameters& p, gpu_facts gpu) : d_p(p), d_gpu(gpu) {}

    void accumulate(const void* voltages,
                    int blocks,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        const int side = (d_p.inputs + tile_inputs - 1) / tile_inputs;
        launch<true>(voltages, blocks, side, sums, s);
        if (side > 1)
            launch<false>(voltages, blocks, side * (side - 1) / 2, sums, s);
    }

private:
    template <bool Diagonal>
    void launch(const void* voltages,
                int blocks,
                int tiles,
                unsigned long long* sums,
                cudaStream_t s) const
    {
        const int64_t steps =
            (2 * int64_t(d_p.times) + step_bytes - 1) / step_bytes * blocks;
        extents x{ d_p.times, d_p.inputs, d_p.channels, blocks, 1, tiles };
        x.splits = choose_splits(int64_t(d_p.channels) * tiles,
                                 steps,
                                 2 * exact_times / step_bytes,
                                 d_gpu.multiprocessors,
                                 32);
        const int64_t grid = int64_t(d_p.channels) * x.splits * tiles;
        sum_tile<Diagonal><<<unsigned(grid), 32 * warps, 0, s>>>(
            static_cast<const int8_t*>(voltages), sums, x);
        check_launch("mma s8 X-engine");
    }

    const xengine::parameters d_p;
    const gpu_facts d_gpu;
};

} // namespace

std::unique_ptr<integer_xengine> make_mma_xengine(const xengine::parameters& p,
                                                  gpu_facts gpu)
{
    return std::make_unique<mma_xengine>(p, gpu);
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
