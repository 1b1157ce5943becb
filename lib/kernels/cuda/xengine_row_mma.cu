/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/integer_xengine.h"
#include "kernels/cuda/triangle.cuh"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

constexpr int warps = 8;
constexpr int piece = 512; // bytes of a row that are copied at once
constexpr int pitch =
    piece + 64;          // so that 8 lanes' 16 bytes of two rows lie in all banks
constexpr int depth = 3; // pieces on their way to each warp

struct extents {
    int times, inputs, channels, splits;
    int tile_channels; // that share a group of 8 rows
    int steps;         // of a piece, in a block of voltages
    int total;         // steps of all blocks of voltages
    int length;        // steps of a split; the last may be shorter, or empty
};

template <int Groups>
constexpr int stage_bytes = Groups * 8 * pitch;
template <int Groups>
constexpr int shared_bytes = warps* depth*(stage_bytes<Groups> + 8);

/*!
 * A block: all products of one channel (of some channels where there are few inputs) and
 * a part of the time, whose steps its warps take in turn. Each warp feeds itself, each
 * lane one row: for few rows, long pieces of rows come faster than boxes of many short
 * ones.
 */
template <int Groups>
__global__ void __launch_bounds__(32 * warps)
    sum_triangle(const uint8_t* __restrict__ voltages,
                 unsigned long long* sums,
                 extents x)
{
    constexpr int tiles = Groups * (Groups + 1) / 2;
    constexpr int stage_size = stage_bytes<Groups>;
    static_assert(tiles * 128 * sizeof(int) <= warps * depth * stage_size);
    extern __shared__ __align__(128) uint8_t memory[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint8_t* ring = memory + warp * depth * stage_size;
    uint64_t* full =
        reinterpret_cast<uint64_t*>(memory + warps * depth * stage_size) + warp * depth;
    // rows that no copy reaches, and what lies behind a short piece
    for (int i = 16 * threadIdx.x; i < warps * depth * stage_size; i += 16 * blockDim.x)
        *reinterpret_cast<uint4*>(memory + i) = make_uint4(0, 0, 0, 0);
    if (lane < depth)
        init_barrier(full + lane, 1);
    fence_barriers();
    fence_async();
    __syncthreads();

    const int first_channel = blockIdx.x / x.splits * x.tile_channels;
    const int begin = blockIdx.x % x.splits * x.length + warp;
    const int end = min(x.total, blockIdx.x % x.splits * x.length + x.length);
    const int count = end > begin ? (end - begin + warps - 1) / warps : 0;
    const int rows = min(x.tile_channels, x.channels - first_channel) * x.inputs;
    const int64_t row_bytes = 2 * int64_t(x.times);
    const int64_t block_bytes = row_bytes * x.inputs * x.channels;
    // a channel's inputs follow those of the channel before
    const uint8_t* row =
        voltages + (int64_t(first_channel) * x.inputs + lane) * row_bytes;
    const auto bytes_of = [&](int step) {
        return min(piece, int(row_bytes) - step % x.steps * piece);
    };
    const auto request = [&](int i) {
        const int step = begin + i * warps, stage = i % depth;
        const int bytes = bytes_of(step);
        if (lane == 0)
            arrive_expecting(full + stage, rows * bytes);
        __syncwarp();
        if (lane < rows)
            copy_bytes(shared_address(ring + stage * stage_size + lane * pitch),
                       row + step / x.steps * block_bytes + step % x.steps * piece,
                       full + stage,
                       bytes);
    };
    for (int i = 0; i < depth && i < count; i++)
        request(i);

    int warp_sums[tiles][4] = {};
    const int at = lane / 4 * pitch + lane % 4 * 16;
    for (int i = 0; i < count; i++) {
        wait_for(full + i % depth, i / depth % 2);
        const uint8_t* stage = ring + i % depth * stage_size + at;
        const int bytes = bytes_of(begin + i * warps);
#pragma unroll 2
        for (int byte = 0; byte < bytes; byte += 64) {
            // rows are multiples of 32 bytes: behind the last there are older ones
            const bool there = byte + lane % 4 * 16 < bytes;
            uint4 v[Groups];
#pragma unroll
            for (int g = 0; g < Groups; g++) {
                v[g] = *reinterpret_cast<const uint4*>(stage + g * 8 * pitch + byte);
                if (!there)
                    v[g] = make_uint4(0, 0, 0, 0);
            }
            multiply_add_triangle<Groups>(warp_sums, v);
        }
        __syncwarp();
        if (i + depth < count)
            request(i + depth);
    }
    add_triangle<Groups>(reinterpret_cast<int*>(memory),
                         warp_sums,
                         sums,
                         { x.inputs, x.channels, first_channel, x.tile_channels });
}

class row_mma_xengine : public integer_xengine
{
public:
    row_mma_xengine(const xengine::parameters& p, gpu_facts gpu)
        : d_p(p),
          d_multiprocessors(gpu.multiprocessors),
          d_groups((p.inputs + 7) / 8),
          d_kernel(d_groups == 1 ? sum_triangle<1> : sum_triangle<2>),
          d_shared(d_groups == 1 ? shared_bytes<1> : shared_bytes<2>)
    {
        check(cudaFuncSetAttribute(
                  d_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, d_shared),
              "asking for shared memory");
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                  &d_residents, d_kernel, 32 * warps, d_shared),
              "asking for the blocks of a multiprocessor");
    }

    void accumulate(const void* voltages,
                    int blocks,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.times = d_p.times;
        x.inputs = d_p.inputs;
        x.channels = d_p.channels;
        x.tile_channels = std::max(1, 8 / d_p.inputs);
        x.steps = (2 * d_p.times + piece - 1) / piece;
        x.total = x.steps * blocks;
        const int64_t jobs = (d_p.channels + x.tile_channels - 1) / x.tile_channels;
        x.splits = choose_splits(jobs,
                                 x.total,
                                 2 * exact_times / piece,
                                 d_multiprocessors * d_residents,
                                 warps);
        x.length = (x.total + x.splits - 1) / x.splits;
        d_kernel<<<unsigned(jobs * x.splits), 32 * warps, d_shared, s>>>(
            static_cast<const uint8_t*>(voltages), sums, x);
        check_launch("row mma s8 X-engine");
    }

private:
    const xengine::parameters d_p;
    const int d_multiprocessors;
    const int d_groups;
    void (*const d_kernel)(const uint8_t*, unsigned long long*, extents);
    const int d_shared;
    int d_residents; // blocks that a multiprocessor runs at a time
};

} // namespace

std::unique_ptr<integer_xengine> make_row_mma_xengine(const xengine::parameters& p,
                                                      gpu_facts gpu)
{
    return std::make_unique<row_mma_xengine>(p, gpu);
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
