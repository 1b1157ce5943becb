/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer_tile.cuh"
#include "kernels/gpu/half_tile.cuh"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int tile_beams = 32;
constexpr int warps = 4, warp_times = 16;

struct extents {
    int inputs, beams, times, channels, frames, chunks, tiles;
    int parts; // parts of the time of a block, one for each thread block
};

//! Two times of an input, zeros beyond the last of either.
template <class Voltage>
__device__ __forceinline__ uint32_t
load(const uint8_t* channel, int input, int time, const extents& x)
{
    if (input >= x.inputs)
        return 0;
    const uint8_t* at = channel + (int64_t(input) * x.times + time) * Voltage::bytes;
    uint32_t word = 0;
    // the rows of an odd number of times do not start at even addresses
#pragma unroll
    for (int h = 0; h < 2; h++)
        if (time + h < x.times) {
            if constexpr (Voltage::bytes == 2)
                word |= uint32_t(__ldg(reinterpret_cast<const uint16_t*>(at) + h))
                        << 16 * h;
            else
                word |= uint32_t(__ldg(at + h)) << 8 * h;
        }
    return word;
}

//! A warp: 16 times of 32 beams of a channel.
template <class Voltage, class Target>
__global__ void __launch_bounds__(32 * warps)
    form_beams(const uint8_t* __restrict__ voltages,
               const __half* __restrict__ weights,
               const float* __restrict__ factor,
               const Target target,
               const extents x)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int g = lane / 4, t = lane % 4;
    const int tile = blockIdx.x % x.tiles;
    const int part = blockIdx.x / x.tiles % x.parts;
    const int64_t frame_channel = blockIdx.x / x.tiles / x.parts;
    const int channel = int(frame_channel % x.channels);
    const int first_time = (part * warps + warp) * warp_times;
    const uint8_t* from = voltages + frame_channel * x.inputs * x.times * Voltage::bytes;
    constexpr int form = tile_beams * beam_chunk; // numbers
    const __half* chunks =
        weights + (int64_t(channel) * x.tiles + tile) * x.chunks * beam_forms * form;

    float sums[beam_forms][tile_beams / 2] = {};
    for (int chunk = 0; chunk < x.chunks; chunk++, chunks += beam_forms * form)
#pragma unroll
        for (int k = 0; k < 2; k++) {
            operand_words both, operand[beam_forms];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int input = chunk * beam_chunk + 16 * k + 8 * half + 2 * t;
                const int time = first_time + 2 * g;
                Voltage::join(both,
                              half,
                              load<Voltage>(from, input, time, x),
                              load<Voltage>(from, input + 1, time, x));
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                operand[1][i] = Voltage::re(both[i]);
                operand[2][i] = Voltage::im(both[i]);
                operand[0][i] = half_pair::plus(operand[1][i], operand[2][i]);
            }
#pragma unroll
            for (int f = 0; f < beam_forms; f++)
#pragma unroll
                for (int j = 0; j < tile_beams / 8; j++) {
                    const int row = 8 * j + g;
                    const auto word = [&](int piece) {
                        const int at = row * beam_chunk + (piece ^ (row / 2 % 4)) * 8;
                        return __ldg(reinterpret_cast<const uint32_t*>(chunks + f * form +
                                                                       at + 2 * t));
                    };
                    multiply_add(
                        &sums[f][4 * j], operand[f], word(2 * k), word(2 * k + 1));
                }
        }
    const beam_place place{
        frame_channel, tile * tile_beams, first_time, x.beams, x.times
    };
    const auto value = [&](int column, int c, int h) {
        const int i = 4 * column + 2 * h + c;
        return make_float2(sums[0][i] + sums[2][i], sums[0][i] + sums[1][i]);
    };
    target.template operator()<tile_beams>(value, place, *factor, nullptr);
}

class mma_former : public beam_former
{
public:
    explicit mma_former(const beam_extents& x) : d_x(x) {}

    weight_packing packing() const override { return weight_packing::three(tile_beams); }
    bool sums_over(int piece) const override { return piece == 16 || piece == 1; }

    void load(const beam_target& target) override
    {
        with_kernel(target, [](auto kernel, const auto&) { cuda::load(kernel); });
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
        x.frames = frames;
        x.chunks = (d_x.inputs + beam_chunk - 1) / beam_chunk;
        x.tiles = (d_x.beams + tile_beams - 1) / tile_beams;
        x.parts = blocks_for(d_x.times, warps * warp_times);
        const int64_t grid = int64_t(frames) * x.channels * x.parts * x.tiles;
        with_kernel(target, [&](auto kernel, const auto& what) {
            kernel<<<unsigned(grid), 32 * warps, 0, s>>>(
                static_cast<const uint8_t*>(voltages),
                weights.packed.values,
                weights.packed.factor,
                what,
                x);
            check_launch("mma f16 beamformer");
        });
    }

private:
    const beam_extents d_x;

    //! Calls run(kernel, the object that does what `target` says).
    template <class Run>
    void with_kernel(const beam_target& target, const Run& run) const
    {
        with_target<false, false>(target, d_x.times, [&](const auto& what) {
            using sink = std::decay_t<decltype(what)>;
            if (d_x.input == sample_type::sc8)
                run(form_beams<voltage_sc8, sink>, what);
            else
                run(form_beams<voltage_sc4, sink>, what);
        });
    }
};

} // namespace

std::unique_ptr<beam_former> make_mma_former(const beam_extents& x, gpu_facts)
{
    return std::make_unique<mma_former>(x);
}

} // namespace gr::aperture::kernels::cuda
