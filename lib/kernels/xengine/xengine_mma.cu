/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/gpu/async_copy.cuh"
#include "kernels/gpu/bulk_copy.cuh"
#include "kernels/gpu/memory.h"
#include "kernels/xengine/integer_tile.cuh"
#include "kernels/xengine/integer_xengine.h"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int groups = 4; // groups of 8 inputs, on each side of a warp's products
constexpr int warp_inputs = 8 * groups;
constexpr int warps = 4;
constexpr int depth = 4;       // steps on their way
constexpr int step_bytes = 64; // bytes of a row that a thread block takes at a time

struct extents {
    int inputs, channels, frames, splits;
    int row_bytes;
    int tiles; // tiles of the triangle
    int steps; // steps of a frame
};

//! Copies 16 bytes to shared memory, in the way that Turing can or by copy_async(); zeros
//! where there is nothing to copy.
template <bool Turing>
__device__ __forceinline__ void copy_16(uint32_t to, const uint8_t* from, bool there)
{
    if constexpr (Turing)
        store_shared(to, there ? __ldg(reinterpret_cast<const uint4*>(from)) : uint4{});
    else
        copy_async<16>(to, from, there);
}

/*!
 * The rows of a tile in shared memory. Of each 64 bytes of a row, piece p is at place p ^
 * (row / 2 % 4), so that 16 bytes of each of 8 lanes lie in different banks.
 */
__device__ __forceinline__ int place_of(int row, int piece)
{
    return row * step_bytes + 16 * (piece ^ row / 2 % 4);
}

/*!
 * The kernel. A thread block makes Side x 32 inputs squared of the products of one
 * channel, over a part of the time. Each warp makes 32 x 32 of them; where there are more
 * warps than that, they divide the time among them.
 */
template <int Side, bool Packed, bool Turing>
__global__ void __launch_bounds__(32 * warps)
    sum_tile(const uint8_t* __restrict__ voltages, unsigned long long* sums, extents x)
{
    constexpr int side = Side * warp_inputs;
    constexpr int sharing = warps / (Side * Side); // warps that share the time
    constexpr int step = sharing * step_bytes;
    constexpr int rows = Side > 1 ? 2 * side : side; // on the diagonal half of them
    constexpr int pieces = rows * sharing * 4;       // pieces of 16 bytes that a step has
    static_assert(pieces % (32 * warps) == 0);
    __shared__ __align__(128) uint8_t ring[depth][pieces * 16];
    int tile_b = blockIdx.x % x.tiles, tile_a = 0;
    for (; tile_b > tile_a; tile_a++)
        tile_b -= tile_a + 1;
    const int split = blockIdx.x / x.tiles % x.splits;
    const int channel = blockIdx.x / x.tiles / x.splits;
    const bool diagonal = tile_a == tile_b;
    const int64_t total = int64_t(x.steps) * x.frames;
    const int64_t begin = total * split / x.splits;
    const int count = int(total * (split + 1) / x.splits - begin);
    const int64_t channel_bytes = int64_t(x.row_bytes) * x.inputs;

    int asked_frame = int(begin / x.steps), asked_step = int(begin % x.steps);
    const auto request = [&](int stage) {
        const uint8_t* from =
            voltages + (int64_t(asked_frame) * x.channels + channel) * channel_bytes;
        const uint32_t to = uint32_t(__cvta_generic_to_shared(ring[stage]));
#pragma unroll
        for (int i = 0; i < pieces / (32 * warps); i++) {
            const int number = i * 32 * warps + threadIdx.x;
            const int row = number / (4 * sharing), piece = number % (4 * sharing);
            if (diagonal && row >= side)
                break;
            const int input =
                row < side ? tile_a * side + row : (tile_b - 1) * side + row;
            const int byte = asked_step * step + 16 * piece;
            const bool there = input < x.inputs && byte < x.row_bytes;
            copy_16<Turing>(to + piece / 4 * rows * step_bytes + place_of(row, piece % 4),
                            there ? from + int64_t(input) * x.row_bytes + byte : voltages,
                            there);
        }
        if (++asked_step == x.steps) {
            asked_step = 0;
            asked_frame++;
        }
    };
#pragma unroll
    for (int i = 0; i < depth - 1; i++) {
        if (i < count)
            request(i);
        commit_async();
    }

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int place = warp / sharing; // among the squares of 32 x 32 inputs
    const int row_a = place / Side * warp_inputs, row_b = place % Side * warp_inputs;
    const bool wanted = !diagonal || row_b <= row_a;
    const bool triangle = diagonal && row_a == row_b;
    const int at_a = row_a + lane / 4;
    const int at_b = (diagonal ? 0 : rows - side) + row_b + lane / 4;
    int warp_sums[groups * groups][4] = {};
    for (int i = 0; i < count; i++) {
        wait_async<depth - 2>();
        __syncthreads(); // arrived for all, and all are done with what comes next
        if (i + depth - 1 < count)
            request((i + depth - 1) % depth);
        commit_async();
        const uint8_t* stage = ring[i % depth] + warp % sharing * rows * step_bytes;
        uint4 a[groups], b[groups];
        if (wanted) {
#pragma unroll
            for (int g = 0; g < groups; g++) {
                a[g] = *reinterpret_cast<const uint4*>(stage +
                                                       place_of(at_a + 8 * g, lane % 4));
                b[g] = *reinterpret_cast<const uint4*>(stage +
                                                       place_of(at_b + 8 * g, lane % 4));
            }
#pragma unroll
            for (int part = 0; part < mma_operand<Packed>::steps; part++) {
                mma_operand<Packed> columns[groups];
#pragma unroll
                for (int g = 0; g < groups; g++)
                    columns[g] = mma_operand<Packed>(b[g], part);
#pragma unroll
                for (int g = 0; g < groups; g++) {
                    const mma_operand<Packed> row(a[g], part);
                    const uint2 times_minus_i = row.times_minus_i();
#pragma unroll
                    for (int h = 0; h < groups; h++)
                        if (h <= g || !triangle)
                            multiply_add<Turing>(warp_sums[g * groups + h],
                                                 row.words,
                                                 times_minus_i,
                                                 columns[h].words);
                }
            }
        }
    }

    // The sums of warps that had different times are added up, and then written,
    // neighbouring products together.
    __shared__ int block_sums[Side * Side][groups * 128];
    const int64_t products = product_index(x.inputs, 0);
#pragma unroll
    for (int g = 0; g < groups; g++) {
        __syncthreads();
        for (int i = threadIdx.x; i < Side * Side * groups * 128; i += 32 * warps)
            block_sums[0][i] = 0;
        __syncthreads();
        int(&row_sums)[groups][4] =
            *reinterpret_cast<int(*)[groups][4]>(warp_sums[g * groups]);
        add_to_block(block_sums[place], row_sums);
        __syncthreads();
        for (int i = threadIdx.x; i < Side * Side * groups * 128; i += 32 * warps) {
            const int square = i / (groups * 128);
            const tile_element e(i % (groups * 128));
            const int a = tile_a * side + square / Side * warp_inputs + 8 * g + e.a;
            const int b = tile_b * side + square % Side * warp_inputs + 8 * e.tile + e.b;
            if (a < x.inputs && b <= a)
                add_atomically(
                    &sums[2 * (channel * products + product_index(a, b)) + e.part],
                    unscaled<Packed>(block_sums[square][e.place()]));
        }
    }
}

struct variant {
    void (*sum)(const uint8_t*, unsigned long long*, extents);
    int side; // inputs of a tile, on each side
    int step; // bytes of a row
};

template <bool Packed, bool Turing>
variant variant_for(int inputs)
{
    if (inputs <= warp_inputs)
        return { sum_tile<1, Packed, Turing>, warp_inputs, warps * step_bytes };
    return { sum_tile<2, Packed, Turing>, 2 * warp_inputs, warps / 4 * step_bytes };
}

template <bool Turing>
class mma_xengine : public integer_xengine
{
public:
    mma_xengine(const xengine::parameters& p, gpu_facts gpu)
        : d_p(p),
          d_variant(p.type == sample_type::sc4 ? variant_for<true, Turing>(p.inputs)
                                               : variant_for<false, Turing>(p.inputs))
    {
        load(d_variant.sum);
        int residents;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                  &residents, d_variant.sum, 32 * warps, 0),
              "asking for the thread blocks of a multiprocessor");
        d_slots = gpu.multiprocessors * residents;
    }

    void accumulate(const void* voltages,
                    int frames,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        const int tiles = (d_p.inputs + d_variant.side - 1) / d_variant.side;
        extents x;
        x.inputs = d_p.inputs;
        x.channels = d_p.channels;
        x.frames = frames;
        x.row_bytes = int(size_of(d_p.type)) * d_p.spectra_per_frame;
        x.tiles = tiles * (tiles + 1) / 2;
        x.steps = (x.row_bytes + d_variant.step - 1) / d_variant.step;
        const int64_t work_tiles = int64_t(d_p.channels) * x.tiles;
        x.splits = choose_splits(work_tiles,
                                 int64_t(x.steps) * frames,
                                 exact_bytes(d_p) / d_variant.step,
                                 d_slots,
                                 32);
        d_variant.sum<<<unsigned(work_tiles * x.splits), 32 * warps, 0, s>>>(
            static_cast<const uint8_t*>(voltages), sums, x);
        check_launch("mma s8 X-engine");
    }

private:
    const xengine::parameters d_p;
    const variant d_variant;
    int d_slots; // blocks that run at the same time
};

} // namespace

std::unique_ptr<integer_xengine> make_mma_xengine(const xengine::parameters& p,
                                                  gpu_facts gpu)
{
    return std::make_unique<mma_xengine<false>>(p, gpu);
}

std::unique_ptr<integer_xengine> make_turing_xengine(const xengine::parameters& p,
                                                     gpu_facts gpu)
{
    return std::make_unique<mma_xengine<true>>(p, gpu);
}

} // namespace gr::aperture::kernels::cuda
