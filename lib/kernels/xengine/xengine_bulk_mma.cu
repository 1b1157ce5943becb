/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/gpu/pipeline.cuh"
#include "kernels/xengine/integer_xengine.h"
#include "kernels/xengine/triangle.cuh"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int warps = 8;

struct extents {
    int inputs, channels, splits;
    int steps;     // steps of box_row bytes, in a frame
    int64_t total; // steps of all frames
};

constexpr int least_groups = 2;
//! Pipeline stages of each warp, one box each: twice as many of boxes that are half as
//! large.
template <int Groups>
constexpr int depth = Groups == 2 ? 6 : 3;
//! The number of thread blocks that share a multiprocessor.
template <int Groups>
constexpr int residents = Groups <= 4 ? 2 : 1;

//! Shared memory of a thread block. 1024 bytes more than needed: boxes begin at multiples
//! of that.
template <int Groups>
constexpr int shared_bytes = 1024 + warps* depth<Groups>*(Groups * 8 * box_row + 8);

/*!
 * The kernel. A thread block makes all products of one channel over a part of the time,
 * whose steps its warps take one by one, so that rows are read in long pieces. Each warp
 * is producer and consumer in one, with a ring of boxes of its own. Rows of inputs that
 * do not exist arrive as zeros.
 */
template <int Groups, bool Packed>
__global__ void __launch_bounds__(32 * warps, residents<Groups>)
    sum_triangle(const __grid_constant__ CUtensorMap map,
                 unsigned long long* sums,
                 extents x)
{
    constexpr int tiles = Groups * (Groups + 1) / 2;
    constexpr int box = Groups * 8 * box_row;
    constexpr int depth = cuda::depth<Groups>;
    static_assert(tiles * 128 * sizeof(int) <= warps * depth * box);
    extern __shared__ uint8_t unaligned[];
    uint8_t* memory = unaligned + (-shared_address(unaligned) & 1023);
    auto* barriers = reinterpret_cast<uint64_t*>(memory + warps * depth * box);

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint8_t* ring = memory + warp * depth * box;
    uint64_t* full = barriers + warp * depth;
    if (lane < depth)
        init_barrier(full + lane, 1);
    fence_barriers();
    __syncwarp();

    const int channel = blockIdx.x / x.splits;
    const int split = blockIdx.x % x.splits;
    const int64_t begin = x.total * split / x.splits + warp;
    const int64_t end = x.total * (split + 1) / x.splits;
    // Frame and step of the next box that is asked for.
    int frame = int(begin / x.steps), step = int(begin % x.steps);
    const auto request = [&](int stage) {
        arrive_expecting(full + stage, box);
        copy_box(shared_address(ring + stage * box),
                 &map,
                 full + stage,
                 step * box_row,
                 0,
                 channel,
                 frame);
        for (step += warps; step >= x.steps; step -= x.steps)
            frame++;
    };
    const int count = end > begin ? int((end - begin + warps - 1) / warps) : 0;
    if (lane == 0)
        for (int i = 0; i < depth && i < count; i++)
            request(i);

    int warp_sums[tiles][4] = {};
    const int row = lane / 4, piece = 2 * (lane % 4);
    stage_place at;
    for (int i = 0; i < count; i++) {
        wait_for(full + at.stage(), at.parity());
        const uint8_t* rows = ring + at.stage() * box + row * box_row;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            // Lanes take every other piece, so that odd and even rows lie in different
            // banks.
            uint4 v[Groups];
#pragma unroll
            for (int g = 0; g < Groups; g++)
                v[g] = *reinterpret_cast<const uint4*>(rows + g * 8 * box_row +
                                                       16 * ((piece + half) ^ row));
            multiply_add_triangle<Groups, Packed>(warp_sums, v);
        }
        __syncwarp();
        if (lane == 0 && i + depth < count)
            request(at.stage());
        at.advance(depth);
    }

    // The rings are empty now, and their memory is free.
    add_triangle<Groups, Packed>(reinterpret_cast<int*>(memory),
                                 warp_sums,
                                 sums,
                                 { x.inputs, x.channels, channel, 1 });
}

using kernel = void (*)(CUtensorMap, unsigned long long*, extents);

struct variant {
    kernel sum;        // kernel for sc8
    kernel sum_packed; // kernel for sc4
    int residents, shared_bytes;
};

template <int Groups>
constexpr variant variant_for()
{
    return { sum_triangle<Groups, false>,
             sum_triangle<Groups, true>,
             residents<Groups>,
             shared_bytes<Groups> };
}

//! 16 inputs of sc8 have a kernel that is faster: see xengine_row_mma.cu.
template <>
constexpr variant variant_for<2>()
{
    constexpr int Groups = 2;
    return {
        nullptr, sum_triangle<Groups, true>, residents<Groups>, shared_bytes<Groups>
    };
}

class bulk_mma_xengine : public integer_xengine
{
public:
    bulk_mma_xengine(const xengine::parameters& p, gpu_facts gpu)
        : d_p(p),
          d_gpu(gpu),
          d_groups((p.inputs + 7) / 8),
          d_variant(variant_of(d_groups)),
          d_kernel(p.type == sample_type::sc4 ? d_variant.sum_packed : d_variant.sum),
          d_row_bytes(int64_t(size_of(p.type)) * p.spectra_per_frame)
    {
        load(d_kernel, d_variant.shared_bytes);
    }

    void accumulate(const void* voltages,
                    int frames,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.inputs = d_p.inputs;
        x.channels = d_p.channels;
        x.steps = (d_row_bytes + box_row - 1) / box_row;
        x.total = int64_t(x.steps) * frames;
        const CUtensorMap map =
            make_tensor_map(voltages,
                            { d_row_bytes, d_p.inputs, d_p.channels, frames },
                            box_row,
                            8 * d_groups,
                            1);
        x.splits = choose_splits(d_p.channels,
                                 x.total,
                                 exact_bytes(d_p) / box_row,
                                 d_gpu.multiprocessors * d_variant.residents,
                                 4 * warps);
        d_kernel<<<unsigned(d_p.channels * x.splits),
                   32 * warps,
                   d_variant.shared_bytes,
                   s>>>(map, sums, x);
        check_launch("bulk mma s8 X-engine");
    }

private:
    static variant variant_of(int groups)
    {
        constexpr variant variants[] = { variant_for<2>(), variant_for<3>(),
                                         variant_for<4>(), variant_for<5>(),
                                         variant_for<6>(), variant_for<7>(),
                                         variant_for<8>() };
        return variants[groups - least_groups];
    }

    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    const int d_groups; // groups of 8 inputs
    const variant d_variant;
    const kernel d_kernel;
    const int64_t d_row_bytes;
};

} // namespace

std::unique_ptr<integer_xengine> make_bulk_mma_xengine(const xengine::parameters& p,
                                                       gpu_facts gpu)
{
    return std::make_unique<bulk_mma_xengine>(p, gpu);
}

} // namespace gr::aperture::kernels::cuda
