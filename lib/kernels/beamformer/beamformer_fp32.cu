/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer_tile.cuh"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int tile_beams = 32;
constexpr int warps = 4, warp_times = 16, tile_times = warps * warp_times;
constexpr int threads = 32 * warps;
constexpr int chunk = 16; // inputs

struct extents {
    int inputs, beams, times, channels, tiles;
    int parts; // parts of the time of a block, one for each thread block
};

//! A thread block: 64 times of 32 beams of a channel.
template <class Target>
__global__ void __launch_bounds__(threads) form_beams(const float2* __restrict__ voltages,
                                                      const float2* __restrict__ weights,
                                                      const float* __restrict__ gains,
                                                      const Target target,
                                                      const extents x)
{
    __shared__ float2 v[chunk][tile_times], w[chunk][tile_beams + 2];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int g = lane / 4, t = lane % 4;
    const int tile = blockIdx.x % x.tiles;
    const int part = blockIdx.x / x.tiles % x.parts;
    const int64_t frame_channel = blockIdx.x / x.tiles / x.parts;
    const int64_t channel = frame_channel % x.channels;
    const float2* from = voltages + frame_channel * x.inputs * x.times;
    float2 sums[tile_beams / 4][2] = {};
    for (int first = 0; first < x.inputs; first += chunk) {
        __syncthreads();
        for (int i = threadIdx.x; i < chunk * tile_times; i += threads) {
            const int input = first + i / tile_times;
            const int time = part * tile_times + i % tile_times;
            v[i / tile_times][i % tile_times] =
                input < x.inputs && time < x.times ? from[int64_t(input) * x.times + time]
                                                   : make_float2(0, 0);
        }
        for (int i = threadIdx.x; i < chunk * tile_beams; i += threads) {
            const int input = first + i % chunk, beam = tile * tile_beams + i / chunk;
            float2 weight = make_float2(0, 0);
            if (input < x.inputs && beam < x.beams) {
                weight = weights[(channel * x.beams + beam) * x.inputs + input];
                weight = make_float2(weight.x * gains[beam], weight.y * gains[beam]);
            }
            w[i % chunk][i / chunk] = weight;
        }
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < chunk; k++) {
            const float4 both =
                *reinterpret_cast<const float4*>(&v[k][warp * warp_times + 2 * g]);
            const float2 voltage[2] = { make_float2(both.x, both.y),
                                        make_float2(both.z, both.w) };
#pragma unroll
            for (int i = 0; i < tile_beams / 4; i++) {
                const float2 weight = w[k][i / 2 * 8 + 2 * t + i % 2];
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    sums[i][h].x += weight.x * voltage[h].x;
                    sums[i][h].x -= weight.y * voltage[h].y;
                    sums[i][h].y += weight.x * voltage[h].y;
                    sums[i][h].y += weight.y * voltage[h].x;
                }
            }
        }
    }
    const beam_place place{ frame_channel,
                            tile * tile_beams,
                            part * tile_times + warp * warp_times,
                            x.beams,
                            x.times };
    target.template operator()<tile_beams>(
        [&](int column, int c, int h) { return sums[2 * column + c][h]; },
        place,
        1.f,
        nullptr);
}

class fp32_former : public beam_former
{
public:
    explicit fp32_former(const beam_extents& x) : d_x(x) {}

    weight_packing packing() const override { return {}; }
    bool sums_over(int piece) const override { return piece == 16 || piece == 1; }

    void load(const beam_target& target) override
    {
        with_target<false, false>(target, d_x.times, [](const auto& what) {
            cuda::load(form_beams<std::decay_t<decltype(what)>>);
        });
    }

    void form(const void* voltages,
              int frames,
              const device_weights& weights,
              const beam_target& target,
              cudaStream_t s) override
    {
        extents x;
        x.inputs = d_x.inputs;
        x.beams = d_x.beams;
        x.times = d_x.times;
        x.channels = d_x.channels;
        x.tiles = (d_x.beams + tile_beams - 1) / tile_beams;
        x.parts = blocks_for(d_x.times, tile_times);
        const int64_t grid = int64_t(frames) * x.channels * x.parts * x.tiles;
        with_target<false, false>(target, d_x.times, [&](const auto& what) {
            form_beams<<<unsigned(grid), threads, 0, s>>>(
                static_cast<const float2*>(voltages),
                reinterpret_cast<const float2*>(weights.values),
                weights.gains,
                what,
                x);
            check_launch("fp32 beamformer");
        });
    }

private:
    const beam_extents d_x;
};

} // namespace

std::unique_ptr<beam_former> make_fp32_former(const beam_extents& x, gpu_facts)
{
    return std::make_unique<fp32_former>(x);
}

} // namespace gr::aperture::kernels::cuda
