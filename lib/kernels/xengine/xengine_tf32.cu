/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/gpu/async_copy.cuh"
#include "kernels/gpu/memory.h"
#include "kernels/xengine/integer_xengine.h"
#include "kernels/xengine/real_xengine.h"
#include "kernels/xengine/tf32_tile.cuh"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int warps = 4;
constexpr int threads = 32 * warps;
constexpr int mma_times = 8;    // times that add_products() takes
constexpr int most_parts = 128; // sums over so many times, added in single precision

struct extents {
    int times, inputs, channels;
    int work_tiles_inputs; // tile_channels of the triangle, tiles of the squares
    int steps;             // steps of a frame
    int total;             // steps of all frames
    int splits;            // splits of the time
    int length;            // steps of a split; the last may be shorter, or empty
    __device__ int64_t products() const { return int64_t(inputs) * (inputs + 1) / 2; }
    //! Returns where the sums of a split go: each has memory of its own, unless it is the
    //! only one.
    __device__ double2* sums_of(int split, int channel, double* sums, double* parts) const
    {
        double* const to =
            splits > 1 ? parts + 2 * int64_t(split) * channels * products() : sums;
        return reinterpret_cast<double2*>(to) + channel * products();
    }
};

//! The steps that a thread block takes, one after the other, through the frames.
struct walk {
    const float2* from; // the first input of the first channel, in a frame
    int step;           // there
    int left;

    __device__ walk(const float2* voltages, const extents& x, int split, int channel)
    {
        const int begin = split * x.length;
        left = max(0, min(x.length, x.total - begin));
        step = begin % x.steps;
        from = voltages +
               (int64_t(begin / x.steps) * x.channels + channel) * x.inputs * x.times;
    }
    __device__ void advance(const extents& x, int by)
    {
        left -= by;
        for (step += by; step >= x.steps; step -= x.steps)
            from += int64_t(x.channels) * x.inputs * x.times;
    }
};

//! Copies 2 times of an input, at once if its rows are aligned, with zeros behind the
//! last time.
template <bool Aligned>
__device__ __forceinline__ void
copy_times(float4* to, const float2* from, int time, int times)
{
    if constexpr (Aligned) {
        copy_async<16>(to, from, time < times);
    } else {
        auto* each = reinterpret_cast<float2*>(to);
        const bool second = time + 1 < times;
        copy_async<8>(each, from, time < times);
        copy_async<8>(each + 1, second ? from + 1 : from, second);
    }
}

//! Adds to a product, or sets it. In the product of an input with itself all terms of the
//! imaginary part cancel, but their rounding does not.
__device__ __forceinline__ void
add_product(double2* sums, int a, int b, double re, double im, bool first)
{
    double2& sum = sums[int64_t(a) * (a + 1) / 2 + b];
    const double2 old = first ? make_double2(0, 0) : sum;
    sum = make_double2(old.x + re, a == b ? 0 : old.y + im);
}

// Up to 8 Groups inputs -----------------------------------------------------------------

template <int Groups>
struct triangle {
    static constexpr int tiles = Groups * (Groups + 1) / 2;
    static constexpr int pieces = Groups == 1 ? 4 : 2; // pieces of 8 times, in a step
    static constexpr int depth = Groups <= 4 ? 4 : 3;  // steps on their way
    static constexpr int step_times = pieces * mma_times;
    static constexpr int row_words = step_times / 2; // words of 16 bytes
    static constexpr int step_words = 8 * Groups * row_words;
    static constexpr int sums_bytes = tiles * 4 * 32 * int(sizeof(double));
    static constexpr int shared =
        sums_bytes + warps * depth * step_words * int(sizeof(float4));

    //! Place in shared memory: [piece][group][lane that multiplies it].
    __device__ static int place_of(int row, int word)
    {
        return (word / 4 * Groups + row / 8) * 32 + row % 8 * 4 + word % 4;
    }
};

/*!
 * The kernel for up to 64 inputs. A thread block makes all products of one channel (of
 * some channels where there are few inputs) over a part of the time, whose steps its
 * warps take in turn. Each warp is producer and consumer in one.
 */
template <int Groups, bool Aligned>
__global__ void __launch_bounds__(threads) sum_triangle(
    const float2* __restrict__ voltages, double* sums, double* parts, const extents x)
{
    using shape = triangle<Groups>;
    extern __shared__ __align__(16) uint8_t memory[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Sums [tile][value][lane] of the thread block in double precision, to which the
    // warps add in turn.
    double* const block_sums = reinterpret_cast<double*>(memory) + lane;
    float4* const ring = reinterpret_cast<float4*>(memory + shape::sums_bytes) +
                         warp * shape::depth * shape::step_words;
    for (int i = warp; i < 4 * shape::tiles; i += warps)
        block_sums[32 * i] = 0;

    const int tile_channels = x.work_tiles_inputs;
    const int split = blockIdx.x % x.splits;
    const int first_channel = int(blockIdx.x / x.splits) * tile_channels;
    const int rows = min(tile_channels, x.channels - first_channel) * x.inputs;
    walk asked(voltages, x, split, first_channel);
    const int rounds = (asked.left + warps - 1) / warps; // all warps take as many
    asked.advance(x, warp);
    const int own = (asked.left + warps - 1) / warps;
    const int first_row = lane / shape::row_words, word = lane % shape::row_words;
    const int first_place = shape::place_of(first_row, word);
    const auto request = [&](int stage) {
        if (asked.left > 0) {
            const int time = asked.step * shape::step_times + 2 * word;
            const float2* const from =
                asked.from + int64_t(first_row) * x.times + (time < x.times ? time : 0);
            float4* const to = ring + stage * shape::step_words + first_place;
#pragma unroll
            for (int i = 0; i < shape::step_words / 32; i++) {
                constexpr int rows_at_once = 32 / shape::row_words;
                if (first_row + i * rows_at_once < rows) // else nobody wants the products
                    copy_times<Aligned>(to + shape::place_of(i * rows_at_once, 0),
                                        from + int64_t(i * rows_at_once) * x.times,
                                        time,
                                        x.times);
            }
            asked.advance(x, warps);
        }
        commit_async();
    };
    for (int i = 0; i < shape::depth - 1; i++)
        request(i);

    float warp_sums[shape::tiles][4] = {};
    const auto add_to_block = [&] {
        __syncthreads();
        for (int turn = 0; turn < warps; turn++) {
            if (turn == warp)
#pragma unroll
                for (int i = 0; i < 4 * shape::tiles; i++) {
                    block_sums[32 * i] += warp_sums[i / 4][i % 4];
                    warp_sums[i / 4][i % 4] = 0;
                }
            __syncthreads();
        }
    };
    int stage = 0, added = 0;
    for (int round = 0; round < rounds; round++) {
        wait_async<shape::depth - 2>();
        __syncwarp(); // all have what they asked for, and have read the stage before
        request(stage == 0 ? shape::depth - 1 : stage - 1);
        if (round < own)
#pragma unroll
            for (int p = 0; p < shape::pieces; p++) {
                split_voltages v[Groups];
#pragma unroll
                for (int g = 0; g < Groups; g++)
                    v[g] = split_voltages(
                        ring[stage * shape::step_words + (p * Groups + g) * 32 + lane]);
                add_products<Groups, Groups, true>(
                    warp_sums, [&](int g) { return v[g]; }, v);
            }
        if (++stage == shape::depth)
            stage = 0;
        if ((added += shape::pieces) == most_parts) {
            add_to_block();
            added = 0;
        }
    }
    add_to_block();
    for (int tile = warp; tile < shape::tiles; tile += warps) {
        int group_a = 0, group_b = tile;
        for (; group_b > group_a; group_a++)
            group_b -= group_a + 1;
        const int row = 8 * group_a + lane / 4, channel = row / x.inputs;
        if (row >= rows)
            continue;
        double2* const to = x.sums_of(split, first_channel + channel, sums, parts);
        for (int i = 0; i < 2; i++) {
            const int a = row - channel * x.inputs;
            const int b = 8 * group_b + lane % 4 * 2 + i - channel * x.inputs;
            if (b >= 0 && b <= a) // else it is of a channel before
                add_product(to,
                            a,
                            b,
                            block_sums[32 * (4 * tile + i)],
                            block_sums[32 * (4 * tile + 2 + i)],
                            x.splits > 1);
        }
    }
}

// Any number of inputs ------------------------------------------------------------------

namespace square {

constexpr int side = 64;  // inputs on each side of a thread block's products
constexpr int groups = 4; // groups of 8 inputs, on each side of a warp's
constexpr int pieces = 2; // pieces of 8 times, in a step
constexpr int depth = 4;  // steps on their way
constexpr int step_times = pieces * mma_times;
constexpr int row_words = step_times / 2;
constexpr int step_words = 2 * side * row_words;
constexpr int shared = depth * step_words * int(sizeof(float4));

//! Place of a word in a tile. Of rows of 128 bytes every other one has its halves
//! exchanged, so that the words of two rows of each of 8 lanes lie in different banks.
__device__ __forceinline__ int place_of(int row, int word)
{
    return row * row_words + (word ^ row % 2 * 4);
}

} // namespace square

/*!
 * Which of a thread block's 64 x 64 products a warp makes: 32 x 32 of them; on the
 * diagonal a triangle of 32 inputs, or 32 x 16.
 */
enum class region { square, triangle, half };

/*!
 * The kernel for any number of inputs. A thread block makes 64 x 64 products of one
 * channel over a part of the time. Sums are added to memory after each 1024 times; no
 * other thread block adds to them.
 */
template <bool Aligned>
__global__ void __launch_bounds__(threads, 2) sum_square(
    const float2* __restrict__ voltages, double* sums, double* parts, const extents x)
{
    using namespace square;
    extern __shared__ __align__(16) uint8_t memory[];
    float4* const ring = reinterpret_cast<float4*>(memory);
    const int tiles = x.work_tiles_inputs;
    int tile_b = blockIdx.x % tiles, tile_a = 0;
    for (; tile_b > tile_a; tile_a++)
        tile_b -= tile_a + 1;
    const int split = blockIdx.x / tiles % x.splits;
    const int channel = blockIdx.x / tiles / x.splits;
    const bool diagonal = tile_a == tile_b;

    walk asked(voltages, x, split, channel);
    const int count = asked.left;
    constexpr int rows_at_once = threads / row_words;
    const int first_row = threadIdx.x / row_words, word = threadIdx.x % row_words;
    const int first_place = place_of(first_row, word);
    const auto request = [&](int stage) {
        if (asked.left > 0) {
            const int time = asked.step * step_times + 2 * word;
            const float2* const from = asked.from + (time < x.times ? time : 0);
            float4* const to = ring + stage * step_words + first_place;
            const auto copy_side = [&](float4* to, int first_input) {
                const float2* const rows = from + int64_t(first_input) * x.times;
#pragma unroll
                for (int i = 0; i < side; i += rows_at_once)
                    if (first_input + i < x.inputs) // else nobody wants the products
                        copy_times<Aligned>(to + i * row_words,
                                            rows + int64_t(i) * x.times,
                                            time,
                                            x.times);
            };
            copy_side(to, tile_a * side + first_row);
            if (!diagonal)
                copy_side(to + side * row_words, tile_b * side + first_row);
            asked.advance(x, 1);
        }
        commit_async();
    };
    for (int i = 0; i < depth - 1; i++)
        request(i);

    // A thread block with little to do leaves its work to other warps than the next one
    // does.
    const int warp = (threadIdx.x / 32 + tile_b) % warps, lane = threadIdx.x % 32;
    const region what = !diagonal  ? region::square
                        : warp < 2 ? region::triangle
                                   : region::half;
    // Rows of the warp's first inputs in the ring of stages.
    const int row_a = what == region::square     ? warp / 2 * 32
                      : what == region::triangle ? warp * 32
                                                 : 32;
    const int row_b = what == region::square     ? side + warp % 2 * 32
                      : what == region::triangle ? row_a
                                                 : warp % 2 * 16;
    const int first_a = tile_a * side + row_a;
    const int first_b =
        what == region::square ? (tile_b - 1) * side + row_b : tile_b * side + row_b;
    const int groups_a = (x.inputs - first_a + 7) / 8; // groups that there are

    float warp_sums[groups * groups][4] = {};
    double2* const to = x.sums_of(split, channel, sums, parts);
    bool first = x.splits > 1;
    const auto add_tile = [&](float(&tile)[4], int a, int b) {
        const int input_a = first_a + 8 * a + lane / 4;
        for (int i = 0; i < 2; i++) {
            const int input_b = first_b + 8 * b + lane % 4 * 2 + i;
            if (input_a < x.inputs && input_b <= input_a)
                add_product(to, input_a, input_b, tile[i], tile[2 + i], first);
            tile[i] = tile[2 + i] = 0;
        }
    };
    const auto add_to_memory = [&] {
        if (what == region::triangle) {
#pragma unroll
            for (int a = 0, tile = 0; a < groups; a++)
#pragma unroll
                for (int b = 0; b <= a; b++, tile++)
                    add_tile(warp_sums[tile], a, b);
        } else {
#pragma unroll
            for (int i = 0; i < groups * groups; i++)
                if (what == region::square)
                    add_tile(warp_sums[i], i / groups, i % groups);
                else if (i < groups * groups / 2)
                    add_tile(warp_sums[i], i / (groups / 2), i % (groups / 2));
        }
        first = false;
    };

    int added = 0;
    for (int i = 0; i < count; i++) {
        wait_async<depth - 2>();
        __syncthreads();
        request((i + depth - 1) % depth);
        const float4* const rows = ring + i % depth * step_words;
#pragma unroll
        for (int p = 0; p < pieces; p++) {
            const auto group = [&](int row, int g) {
                return split_voltages(
                    rows[place_of(row + 8 * g + lane / 4, 4 * p + lane % 4)]);
            };
            const auto group_a = [&](int g) { return group(row_a, g); };
            if (what == region::half) {
                const split_voltages b[groups / 2] = { group(row_b, 0), group(row_b, 1) };
                add_products<groups, groups / 2, false>(warp_sums, group_a, b);
                continue;
            }
            const split_voltages b[groups] = {
                group(row_b, 0), group(row_b, 1), group(row_b, 2), group(row_b, 3)
            };
            if (what == region::triangle)
                add_products<groups, groups, true>(warp_sums, group_a, b);
            else if (groups_a >= groups)
                add_products<groups, groups, false>(warp_sums, group_a, b);
            else if (groups_a > 1)
                add_products<groups - 1, groups, false>(warp_sums, group_a, b);
            else if (groups_a > 0)
                add_products<1, groups, false>(warp_sums, group_a, b);
        }
        if ((added += pieces) == most_parts) {
            add_to_memory();
            added = 0;
        }
    }
    add_to_memory();
}

//! Adds up the sums of all splits, in their order.
__global__ void add_parts(double* sums, const double* parts, int64_t count, int splits)
{
    const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i >= count)
        return;
    double sum = 0;
    for (int split = 0; split < splits; split++)
        sum += parts[split * count + i];
    sums[i] += sum;
}

using kernel = void (*)(const float2*, double*, double*, extents);

//! A kernel for rows that are aligned to 16 bytes, and one for any rows.
struct variant {
    kernel aligned, any;
    int step_times, shared;
};

template <int Groups>
constexpr variant triangle_variant{ sum_triangle<Groups, true>,
                                    sum_triangle<Groups, false>,
                                    triangle<Groups>::step_times,
                                    triangle<Groups>::shared };

constexpr variant triangles[] = {
    // The kernels for as many groups of 8 inputs.
    triangle_variant<1>, triangle_variant<2>, triangle_variant<3>,
    triangle_variant<4>, triangle_variant<5>, triangle_variant<6>,
};
constexpr variant squares{
    sum_square<true>, sum_square<false>, square::step_times, square::shared
};

class tf32_xengine : public real_xengine
{
public:
    tf32_xengine(const xengine::parameters& p, gpu_facts gpu) : d_p(p)
    {
        const int groups = (p.inputs + 7) / 8;
        const bool few = groups <= int(std::size(triangles));
        d_variant = few ? triangles[groups - 1] : squares;
        d_x.times = p.spectra_per_frame;
        d_x.inputs = p.inputs;
        d_x.channels = p.channels;
        d_x.steps =
            (p.spectra_per_frame + d_variant.step_times - 1) / d_variant.step_times;
        if (few) {
            d_x.work_tiles_inputs = std::max(1, 8 / p.inputs);
            d_work_tiles =
                (p.channels + d_x.work_tiles_inputs - 1) / d_x.work_tiles_inputs;
        } else {
            const int side = (p.inputs + square::side - 1) / square::side;
            d_x.work_tiles_inputs = side * (side + 1) / 2;
            d_work_tiles = int64_t(p.channels) * d_x.work_tiles_inputs;
        }
        load(d_variant.aligned, d_variant.shared);
        load(d_variant.any, d_variant.shared);
        load(add_parts);
        int residents = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                  &residents, d_variant.aligned, threads, d_variant.shared),
              "asking for the thread blocks of a multiprocessor");
        d_slots = residents * gpu.multiprocessors;
        // The work is split so that a few thread blocks follow each other on each
        // multiprocessor.
        d_most_splits = int((4 * d_slots + d_work_tiles - 1) / d_work_tiles);
        if (d_most_splits > 1)
            d_parts = device_array<double>(d_most_splits * sum_count());
    }

    void
    accumulate(const void* voltages, int frames, double* sums, cudaStream_t s) override
    {
        extents x = d_x;
        x.total = x.steps * frames;
        constexpr int overhead = 8; // overhead of a thread block, in steps
        x.splits =
            std::min(d_most_splits,
                     choose_splits(d_work_tiles, x.total, x.total, d_slots, overhead));
        x.length = (x.total + x.splits - 1) / x.splits;
        const bool aligned =
            x.times % 2 == 0 && reinterpret_cast<uintptr_t>(voltages) % 16 == 0;
        (aligned ? d_variant.aligned : d_variant.any)<<<unsigned(d_work_tiles * x.splits),
                                                        threads,
                                                        d_variant.shared,
                                                        s>>>(
            static_cast<const float2*>(voltages), sums, d_parts.data(), x);
        check_launch("tf32 X-engine");
        if (x.splits > 1) {
            add_parts<<<blocks_for(sum_count(), 256), 256, 0, s>>>(
                sums, d_parts.data(), sum_count(), x.splits);
            check_launch("tf32 X-engine, splits");
        }
    }

private:
    int64_t sum_count() const { return 2 * d_p.products() * d_p.channels; }

    const xengine::parameters d_p;
    variant d_variant;
    extents d_x{};
    int64_t d_work_tiles;
    int d_slots, d_most_splits;
    device_array<double> d_parts; // [split][channel][product][re, im]
};

} // namespace

std::unique_ptr<real_xengine> make_tf32_xengine(const xengine::parameters& p,
                                                gpu_facts gpu)
{
    return std::make_unique<tf32_xengine>(p, gpu);
}

} // namespace gr::aperture::kernels::cuda
