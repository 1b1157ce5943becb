/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/gpu/memory.h"
#include "kernels/xengine/real_xengine.h"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int tile = 32;  // inputs on each side of a tile of products
constexpr int chunk = 32; // times that are summed in single precision
constexpr int side = 16;  // threads on each side, each with 2 x 2 products

struct extents {
    int times, inputs, channels, frames, tiles;
};

//! Loads 32 times of 32 inputs as [time][input], with zeros beyond the last of either.
__device__ void load(float2 (&rows)[chunk][tile + 1],
                     const float2* channel,
                     const extents& x,
                     int first_input,
                     int first_time)
{
    for (int i = threadIdx.x; i < tile * chunk; i += side * side) {
        const int input = first_input + i / chunk, time = first_time + i % chunk;
        rows[i % chunk][i / chunk] = input < x.inputs && time < x.times
                                         ? channel[int64_t(input) * x.times + time]
                                         : make_float2(0, 0);
    }
}

//! The kernel. A thread block makes 32 x 32 products of one channel.
__global__ void __launch_bounds__(side* side)
    sum_tile(const float2* __restrict__ voltages, double* sums, extents x)
{
    __shared__ float2 a[chunk][tile + 1], b[chunk][tile + 1];
    const int channel = blockIdx.x / x.tiles;
    int tile_b = blockIdx.x % x.tiles, tile_a = 0;
    for (; tile_b > tile_a; tile_a++)
        tile_b -= tile_a + 1;
    const int thread_a = threadIdx.x / side, thread_b = threadIdx.x % side;
    double total[2][2][2] = {};
    for (int frame = 0; frame < x.frames; frame++) {
        const float2* from =
            voltages + (int64_t(frame) * x.channels + channel) * x.inputs * x.times;
        for (int time = 0; time < x.times; time += chunk) {
            __syncthreads();
            load(a, from, x, tile_a * tile, time);
            load(b, from, x, tile_b * tile, time);
            __syncthreads();
            float part[2][2][2] = {};
            for (int t = 0; t < chunk; t++)
#pragma unroll
                for (int i = 0; i < 2; i++)
#pragma unroll
                    for (int j = 0; j < 2; j++) {
                        const float2 u = a[t][thread_a + side * i];
                        const float2 v = b[t][thread_b + side * j];
                        part[i][j][0] += u.x * v.x;
                        part[i][j][0] += u.y * v.y;
                        part[i][j][1] += u.y * v.x;
                        part[i][j][1] -= u.x * v.y;
                    }
#pragma unroll
            for (int i = 0; i < 8; i++)
                total[i / 4][i / 2 % 2][i % 2] += part[i / 4][i / 2 % 2][i % 2];
        }
    }
    const int64_t products = int64_t(x.inputs) * (x.inputs + 1) / 2;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const int input_a = tile_a * tile + thread_a + side * i;
            const int input_b = tile_b * tile + thread_b + side * j;
            if (input_a < x.inputs && input_b <= input_a) {
                double* sum = sums + 2 * (channel * products +
                                          int64_t(input_a) * (input_a + 1) / 2 + input_b);
                sum[0] += total[i][j][0];
                // In the product of an input with itself all terms of the imaginary part
                // cancel, but their rounding does not.
                sum[1] += input_a == input_b ? 0 : total[i][j][1];
            }
        }
}

class fp32_xengine : public real_xengine
{
public:
    explicit fp32_xengine(const xengine::parameters& p) : d_p(p) { cuda::load(sum_tile); }

    void
    accumulate(const void* voltages, int frames, double* sums, cudaStream_t s) override
    {
        const int tiles_a = (d_p.inputs + tile - 1) / tile;
        const extents x{ d_p.spectra_per_frame,
                         d_p.inputs,
                         d_p.channels,
                         frames,
                         tiles_a * (tiles_a + 1) / 2 };
        const int64_t grid = int64_t(d_p.channels) * x.tiles;
        sum_tile<<<unsigned(grid), side * side, 0, s>>>(
            static_cast<const float2*>(voltages), sums, x);
        check_launch("fp32 X-engine");
    }

private:
    const xengine::parameters d_p;
};

} // namespace

std::unique_ptr<real_xengine> make_fp32_xengine(const xengine::parameters& p, gpu_facts)
{
    return std::make_unique<fp32_xengine>(p);
}

} // namespace gr::aperture::kernels::cuda
