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
constexpr int residents =
    2; // thread blocks of a multiprocessor: one starts, another ends
constexpr int most_depth = 6; // pieces of rows on their way to each warp

struct extents {
    int inputs, channels, splits;
    int tile_channels; // channels that share a group of 8 rows
    int row_bytes;
    int piece; // bytes of a row that are copied at once
    int depth;
    int steps;  // steps of a piece, in a frame
    int total;  // steps of all frames
    int length; // steps of a split; the last may be shorter, or empty
    //! Bytes from one row to the next in shared memory, so that 16 bytes of two rows of
    //! each of 8 lanes lie in different banks.
    __host__ __device__ int pitch() const { return piece + 64; }
    __host__ __device__ int stage() const { return tile_channels * inputs * pitch(); }
};

/*!
 * The kernel. A thread block makes all products of one channel (of some channels where
 * there are few inputs) over a part of the time, whose steps its warps share. Each
 * warp is producer and consumer in one, and each lane copies one row: for few rows, long
 * pieces of rows come faster than boxes of many short ones.
 */
template <int Groups, bool Packed>
__global__ void __launch_bounds__(32 * warps, residents)
    sum_triangle(const uint8_t* __restrict__ voltages,
                 unsigned long long* sums,
                 const __grid_constant__ extents x)
{
    extern __shared__ __align__(128) uint8_t memory[];
    __shared__ uint64_t barriers[warps][most_depth];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint8_t* const ring = memory + warp * x.depth * x.stage();
    uint64_t* const full = barriers[warp];
    if (lane < x.depth)
        init_barrier(full + lane, 1);
    fence_barriers();
    __syncwarp();

    const int first_channel = blockIdx.x / x.splits * x.tile_channels;
    const int begin = blockIdx.x % x.splits * x.length + warp;
    const int end = min(x.total, blockIdx.x % x.splits * x.length + x.length);
    int count = end > begin ? (end - begin + warps - 1) / warps : 0;
    const int rows = min(x.tile_channels, x.channels - first_channel) * x.inputs;
    // The inputs of a channel follow those of the channel before.
    const int64_t frame_bytes = int64_t(x.row_bytes) * x.inputs * x.channels;
    const uint8_t* from = voltages +
                          (int64_t(first_channel) * x.inputs + lane) * x.row_bytes +
                          begin / x.steps * frame_bytes;
    int step = begin % x.steps, asked = 0;
    const auto bytes_of = [&](int step) {
        return min(x.piece, x.row_bytes - step * x.piece);
    };
    const auto advance = [&](int& step) { // returns how many frames it went on
        int frames = 0;
        for (step += warps; step >= x.steps; step -= x.steps)
            frames++;
        return frames;
    };
    const auto request = [&](int stage) {
        const int bytes = bytes_of(step);
        if (lane == 0)
            arrive_expecting(full + stage, rows * bytes);
        __syncwarp();
        if (lane < rows)
            copy_bytes(shared_address(ring + stage * x.stage() + lane * x.pitch()),
                       from + step * x.piece,
                       full + stage,
                       bytes);
        from += advance(step) * frame_bytes;
        asked++;
    };
    for (int i = 0; i < x.depth && i < count; i++)
        request(i);

    int warp_sums[Groups * (Groups + 1) / 2][4] = {};
    // Rows of inputs that do not exist give products that nobody uses, whatever these
    // rows hold.
    int at[Groups];
#pragma unroll
    for (int g = 0; g < Groups; g++)
        at[g] = min(8 * g + lane / 4, rows - 1) * x.pitch() + lane % 4 * 16;
    stage_place place;
    int here = begin % x.steps;
    for (int i = 0; i < count; i++) {
        wait_for(full + place.stage(), place.parity());
        const uint8_t* const pieces = ring + place.stage() * x.stage();
        const int bytes = bytes_of(here);
        const auto multiply = [&](int byte, bool there) {
            uint4 v[Groups];
#pragma unroll
            for (int g = 0; g < Groups; g++) {
                v[g] = *reinterpret_cast<const uint4*>(pieces + at[g] + byte);
                if (!there)
                    v[g] = make_uint4(0, 0, 0, 0);
            }
            multiply_add_triangle<Groups, Packed>(warp_sums, v);
        };
        int byte = 0;
#pragma unroll 2
        for (; byte + 64 <= bytes; byte += 64)
            multiply(byte, true);
        if (byte < bytes) // behind the last 16 bytes there are older ones
            multiply(byte, byte + lane % 4 * 16 < bytes);
        __syncwarp();
        if (asked < count)
            request(place.stage());
        advance(here);
        place.advance(x.depth);
    }
    __syncthreads();
    add_triangle<Groups, Packed>(
        reinterpret_cast<int*>(memory),
        warp_sums,
        sums,
        { x.inputs, x.channels, first_channel, x.tile_channels });
}

class row_mma_xengine : public integer_xengine
{
public:
    row_mma_xengine(const xengine::parameters& p, gpu_facts gpu) : d_p(p), d_gpu(gpu)
    {
        const bool packed = p.type == sample_type::sc4;
        if (p.inputs <= 8)
            d_kernel = packed ? sum_triangle<1, true> : sum_triangle<1, false>;
        else
            d_kernel = packed ? sum_triangle<2, true> : sum_triangle<2, false>;
        d_x.inputs = p.inputs;
        d_x.channels = p.channels;
        d_x.tile_channels = std::max(1, 8 / p.inputs);
        d_x.row_bytes = int(size_of(p.type)) * p.spectra_per_frame;
        const int rows = d_x.tile_channels * p.inputs;
        d_x.piece = rows <= 12 ? 512 : 256;
        d_x.steps = (d_x.row_bytes + d_x.piece - 1) / d_x.piece;
        constexpr int most = 226 * 1024 / residents; // bytes
        d_x.depth = std::min(most_depth, most / (warps * d_x.stage()));
        d_shared = std::max(warps * d_x.depth * d_x.stage(), 3 * 128 * int(sizeof(int)));
        load(d_kernel, d_shared);
    }

    void accumulate(const void* voltages,
                    int frames,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x = d_x;
        x.total = x.steps * frames;
        const int64_t tiles = (d_p.channels + x.tile_channels - 1) / x.tile_channels;
        x.splits = choose_splits(tiles,
                                 x.total,
                                 exact_bytes(d_p) / x.piece,
                                 d_gpu.multiprocessors * residents,
                                 warps);
        x.length = (x.total + x.splits - 1) / x.splits;
        d_kernel<<<unsigned(tiles * x.splits), 32 * warps, d_shared, s>>>(
            static_cast<const uint8_t*>(voltages), sums, x);
        check_launch("row mma s8 X-engine");
    }

private:
    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    void (*d_kernel)(const uint8_t*, unsigned long long*, extents);
    extents d_x;
    int d_shared;
};

} // namespace

std::unique_ptr<integer_xengine> make_row_mma_xengine(const xengine::parameters& p,
                                                      gpu_facts gpu)
{
    return std::make_unique<row_mma_xengine>(p, gpu);
}

} // namespace gr::aperture::kernels::cuda
