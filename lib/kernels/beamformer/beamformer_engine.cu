/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer_engine.h"
#include "kernels/beamformer/beamformer_tile.cuh"
#include "kernels/gpu/implementations.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

//! A way to form beams, and the GPUs and voltages that it is for; the first that fits is
//! the fastest.
struct choice {
    const char* name;
    architectures gpus;
    bool integers;  // 8 or 4 bit; else fc32
    int even_bytes; // a row of an input is a multiple of so many
    std::unique_ptr<beam_former> (*make)(const beam_extents&, gpu_facts);
};

constexpr choice choices[] = {
#if defined(APERTURE_CUDA_SM_90A)
    { "wgmma f16", { 90, 90 }, true, 16, make_wgmma_former },
#endif
    { "mma f16", { 75, any }, true, 1, make_mma_former },
    { "fp32", { 0, any }, false, 1, make_fp32_former },
};

bool fits(const choice& c, const beam_extents& x, gpu_facts gpu)
{
    const auto row = int64_t(x.times) * int64_t(size_of(x.input));
    return c.gpus.have(gpu) && c.integers == (x.input != sample_type::fc32) &&
           row % c.even_bytes == 0;
}

constexpr int threads = 256;

//! The largest part of all weights, as the integer that its bits are.
__global__ void __launch_bounds__(threads)
    find_largest(const float2* __restrict__ weights,
                 const float* __restrict__ gains,
                 unsigned* largest,
                 int64_t count,
                 int beams,
                 int inputs)
{
    float most = 0;
    for (int64_t i = blockIdx.x * int64_t(threads) + threadIdx.x; i < count;
         i += int64_t(gridDim.x) * threads) {
        const float2 w = weights[i];
        const float gain = fabsf(gains[i / inputs % beams]);
        most = fmaxf(most, fmaxf(fabsf(w.x), fabsf(w.y)) * gain);
    }
    for (int distance = 16; distance > 0; distance /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, distance));
    if (threadIdx.x % 32 == 0)
        atomicMax(largest, __float_as_uint(most)); // positive: in order as integers
}

//! See weight_packing. A thread: all forms of one weight.
__global__ void __launch_bounds__(threads)
    pack_weights(const float2* __restrict__ weights,
                 const float* __restrict__ gains,
                 const unsigned* largest,
                 float* factor,
                 __half* __restrict__ packed,
                 int64_t count,
                 int beams,
                 int inputs,
                 const weight_packing packing)
{
    const int64_t i = blockIdx.x * int64_t(threads) + threadIdx.x;
    const float most = __uint_as_float(*largest);
    const int exponent = most > 0 ? max(-100, min(100, 13 - ilogbf(most))) : 0;
    if (i == 0)
        *factor = ldexpf(1, -exponent);
    if (i >= count)
        return;
    const int tile = packing.tile;
    const int k = int(i % beam_chunk), n = int(i / beam_chunk % tile);
    const int64_t place = i / beam_chunk / tile; // channel, tile, chunk
    const int tiles = (beams + tile - 1) / tile;
    const int chunks = (inputs + beam_chunk - 1) / beam_chunk;
    const int input = int(place % chunks) * beam_chunk + k;
    const int beam = int(place / chunks % tiles) * tile + n;
    const int64_t channel = place / chunks / tiles;
    float2 w = make_float2(0, 0);
    if (input < inputs && beam < beams) {
        w = weights[(channel * beams + beam) * inputs + input];
        const float gain = ldexpf(gains[beam], exponent);
        w = make_float2(w.x * gain, w.y * gain);
    }
    const auto put = [&](int form, __half value) {
        const int row = packing.crossed && form == 0 ? n ^ 1 : n;
        packed[((place * packing.forms + form) * tile + row) * beam_chunk +
               ((k / 8) ^ (n / 2 % 4)) * 8 + k % 8] = value;
    };
    const __half re = __float2half_rn(w.x);
    if (packing.forms == 3) {
        // The others correct the rounding of the first.
        const float rounded = __half2float(re);
        put(0, re);
        put(1, __float2half_rn(w.y - rounded));
        put(2, __float2half_rn(-(rounded + w.y)));
    } else {
        put(0, re);
        put(1, __float2half_rn(w.y));
    }
}

struct uploaded_weights : prepared_weights {
    using filled = exchanged_array<cfloat>::filled;
    explicit uploaded_weights(std::shared_ptr<const filled> v) : values(std::move(v)) {}
    const std::shared_ptr<const filled> values;
};

} // namespace

std::vector<std::string> beam_former_names(const beam_extents& x, int device)
{
    const auto gpu = facts_of(device);
    const auto names = names_of(choices, [&](const auto& c) { return fits(c, x, gpu); });
    require_any(names, gpu);
    return names;
}

beam_engine::beam_engine(const beam_extents& x, int device, const std::string& wanted)
    : d_x(x),
      d_weights(size_t(x.channels) * x.beams * x.inputs),
      d_gains(x.beams, 2),
      d_factor(2)
{
    const auto name = chosen_name(beam_former_names(x, device), wanted);
    const auto gpu = facts_of(device);
    d_former = entry_of(choices, name).make(x, gpu);
    d_implementation = "cuda sm_" + std::to_string(gpu.architecture) + " " + name;
    const auto packing = d_former->packing();
    if (packing.tile) {
        d_packed = device_array<__half>(size_t(x.channels) * packing.tiles(x.beams) *
                                        packing.chunks(x.inputs) * packing.forms *
                                        packing.tile * beam_chunk);
        cuda::load(find_largest);
        cuda::load(pack_weights);
    }
    start_with(d_gains.data(), std::vector<float>(x.beams, 1));
}

void beam_engine::load(beam_target::kind what, int piece)
{
    d_former->load({ what, nullptr, nullptr, piece });
}

prepared_weights_sptr beam_engine::prepare(const cfloat* weights)
{
    return std::make_shared<uploaded_weights>(d_weights.fill(weights));
}

void beam_engine::use(const prepared_weights_sptr& weights, cudaStream_t s)
{
    d_weights.use(static_cast<const uploaded_weights&>(*weights).values, s);
    d_changed = true;
}

void beam_engine::set_gains(const float* gains, cudaStream_t s)
{
    d_gains.set(gains, s);
    d_changed = true;
}

void beam_engine::pack(cudaStream_t s)
{
    const auto* weights = reinterpret_cast<const float2*>(d_weights.data());
    auto* largest = reinterpret_cast<unsigned*>(d_factor.data() + 1);
    check(cudaMemsetAsync(largest, 0, sizeof *largest, s), "clearing the largest weight");
    const int64_t count = int64_t(d_x.channels) * d_x.beams * d_x.inputs;
    find_largest<<<std::min(blocks_for(count, threads), 2048u), threads, 0, s>>>(
        weights, d_gains.data(), largest, count, d_x.beams, d_x.inputs);
    check_launch("beamformer, largest weight");
    const auto packing = d_former->packing();
    const int64_t places = int64_t(d_x.channels) * packing.tiles(d_x.beams) *
                           packing.chunks(d_x.inputs) * beam_chunk * packing.tile;
    pack_weights<<<blocks_for(places, threads), threads, 0, s>>>(weights,
                                                                 d_gains.data(),
                                                                 largest,
                                                                 d_factor.data(),
                                                                 d_packed.data(),
                                                                 places,
                                                                 d_x.beams,
                                                                 d_x.inputs,
                                                                 packing);
    check_launch("beamformer, weights");
}

void beam_engine::form(const void* voltages,
                       int frames,
                       const beam_target& target,
                       cudaStream_t s)
{
    if (d_changed && d_former->packing().tile)
        pack(s);
    d_changed = false;
    d_former->form(
        voltages,
        frames,
        { d_weights.data(), d_gains.data(), { d_packed.data(), d_factor.data() } },
        target,
        s);
}

} // namespace gr::aperture::kernels::cuda
