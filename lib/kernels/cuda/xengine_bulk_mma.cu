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

struct extents {
    int inputs, channels, splits;
    int box_channels; // that share a group of 8 rows
    int box_rows;     // that a copy writes
    int steps;        // of box_row bytes, in a block of voltages
    int64_t total;    // steps of all blocks of voltages
};

//! Boxes on their way to each warp, and how many blocks share a multiprocessor.
template <int Groups>
constexpr int stages = Groups == 1   ? 6
                       : Groups == 2 ? 4
                                     : 3;
template <int Groups>
constexpr int residents = Groups == 1   ? 4
                          : Groups == 2 ? 3
                          : Groups <= 4 ? 2
                                        : 1;

//! 1024 bytes more: boxes start at multiples of that
template <int Groups>
constexpr int shared_bytes = 1024 + warps* stages<Groups>*(Groups * 8 * box_row + 8);

/*!
 * A block: all products of one channel (of some channels where there are few inputs) and
 * a part of the time, whose steps its warps take in turn: rows are read in long pieces.
 * Each warp feeds itself through a ring of boxes of its own.
 */
template <int Groups>
__global__ void __launch_bounds__(32 * warps, residents<Groups>)
    sum_triangle(const __grid_constant__ CUtensorMap map,
                 unsigned long long* sums,
                 extents x)
{
    constexpr int tiles = Groups * (Groups + 1) / 2;
    constexpr int box = Groups * 8 * box_row;
    constexpr int depth = stages<Groups>;
    static_assert(tiles * 128 * sizeof(int) <= warps * depth * box);
    extern __shared__ uint8_t unaligned[];
    uint8_t* memory = unaligned + (-shared_address(unaligned) & 1023);
    auto* barriers = reinterpret_cast<uint64_t*>(memory + warps * depth * box);

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint8_t* ring = memory + warp * depth * box;
    uint64_t* full = barriers + warp * depth;
    // rows that no copy reaches
    for (int i = 16 * threadIdx.x; i < warps * depth * box; i += 16 * blockDim.x)
        *reinterpret_cast<uint4*>(memory + i) = make_uint4(0, 0, 0, 0);
    if (lane < depth)
        init_barrier(full + lane, 1);
    fence_barriers();
    fence_async();
    __syncthreads();

    const int first_channel = blockIdx.x / x.splits * x.box_channels;
    const int split = blockIdx.x % x.splits;
    const int64_t begin = x.total * split / x.splits + warp;
    const int64_t end = x.total * (split + 1) / x.splits;
    // the block and the byte of the next box to ask for
    int block = int(begin / x.steps), step = int(begin % x.steps);
    const auto request = [&](int stage) {
        arrive_expecting(full + stage, x.box_rows * box_row);
        copy_box(shared_address(ring + stage * box),
                 &map,
                 full + stage,
                 step * box_row,
                 0,
                 first_channel,
                 block);
        for (step += warps; step >= x.steps; step -= x.steps)
            block++;
    };
    const int count = end > begin ? int((end - begin + warps - 1) / warps) : 0;
    if (lane == 0)
        for (int i = 0; i < depth && i < count; i++)
            request(i);

    int warp_sums[tiles][4] = {};
    const int row = lane / 4, piece = 2 * (lane % 4);
    int stage = 0, parity = 0;
    for (int i = 0; i < count; i++) {
        wait_for(full + stage, parity);
        const uint8_t* rows = ring + stage * box + row * box_row;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            // lanes take every other piece, for odd and even rows to lie in other banks
            uint4 v[Groups];
#pragma unroll
            for (int g = 0; g < Groups; g++)
                v[g] = *reinterpret_cast<const uint4*>(rows + g * 8 * box_row +
                                                       16 * ((piece + half) ^ row));
            multiply_add_triangle<Groups>(warp_sums, v);
        }
        __syncwarp();
        if (lane == 0 && i + depth < count)
            request(stage);
        if (++stage == depth) {
            stage = 0;
            parity ^= 1;
        }
    }

    // the rings are empty now, and their memory free
    add_triangle<Groups>(reinterpret_cast<int*>(memory),
                         warp_sums,
                         sums,
                         { x.inputs, x.channels, first_channel, x.box_channels });
}

class bulk_mma_xengine : public integer_xengine
{
public:
    bulk_mma_xengine(const xengine::parameters& p, gpu_facts gpu) : d_p(p), d_gpu(gpu)
    {
        for_groups([](auto kernel, int, int bytes) {
            check(cudaFuncSetAttribute(
                      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                  "asking for shared memory");
        });
    }

    void accumulate(const void* voltages,
                    int blocks,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.inputs = d_p.inputs;
        x.channels = d_p.channels;
        x.box_channels = std::max(1, 8 / d_p.inputs);
        const int box_inputs = x.box_channels > 1 ? d_p.inputs : (d_p.inputs + 7) / 8 * 8;
        x.box_rows = box_inputs * x.box_channels;
        x.steps = (2 * d_p.times + box_row - 1) / box_row;
        x.total = int64_t(x.steps) * blocks;
        const int64_t jobs = (d_p.channels + x.box_channels - 1) / x.box_channels;
        const CUtensorMap map =
            make_tensor_map(voltages,
                            { d_p.times, d_p.inputs, d_p.channels, blocks },
                            box_inputs,
                            x.box_channels);
        for_groups([&](auto kernel, int residents, int bytes) {
            x.splits = choose_splits(jobs,
                                     x.total,
                                     2 * exact_times / box_row,
                                     d_gpu.multiprocessors * residents,
                                     4 * warps);
            kernel<<<unsigned(jobs * x.splits), 32 * warps, bytes, s>>>(map, sums, x);
        });
        check_launch("bulk mma s8 X-engine");
    }

private:
    //! Calls f with the kernel for the number of inputs.
    template <class F>
    void for_groups(F&& f) const
    {
        switch ((d_p.inputs + 7) / 8) {
        case 1:
            return f(sum_triangle<1>, residents<1>, shared_bytes<1>);
        case 2:
            return f(sum_triangle<2>, residents<2>, shared_bytes<2>);
        case 3:
            return f(sum_triangle<3>, residents<3>, shared_bytes<3>);
        case 4:
            return f(sum_triangle<4>, residents<4>, shared_bytes<4>);
        case 5:
            return f(sum_triangle<5>, residents<5>, shared_bytes<5>);
        case 6:
            return f(sum_triangle<6>, residents<6>, shared_bytes<6>);
        case 7:
            return f(sum_triangle<7>, residents<7>, shared_bytes<7>);
        case 8:
            return f(sum_triangle<8>, residents<8>, shared_bytes<8>);
        }
        throw std::logic_error("bulk mma s8 X-engine: more than 64 inputs");
    }

    const xengine::parameters d_p;
    const gpu_facts d_gpu;
};

} // namespace

std::unique_ptr<integer_xengine> make_bulk_mma_xengine(const xengine::parameters& p,
                                                       gpu_facts gpu)
{
    return std::make_unique<bulk_mma_xengine>(p, gpu);
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
