/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/integer_tile.cuh"
#include "kernels/cuda/integer_xengine.h"
#include "kernels/cuda/wgmma.cuh"

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

/*
 * Three products of integers make a complex one, because the sum of two nibbles fits into
 * a byte. All are numbers without a sign, which take the fewest instructions to make:
 *
 *     of a row a      R = re + 8,  C = 7 - im,  R + C
 *     of a column b   U = re + 8,  V = im + 8,  U + V
 *
 * With the sums of R U, C V and (R + C) (U + V) over T times,
 *
 *     re of a conj(b) = R U - C V - 8 R + 8 C - 8 U + 7 V + 8 T
 *     im              = R U + C V - (R + C) (U + V) + 8 R + 8 C + 7 U + 8 V - 120 T
 *
 * where R, C, U, V are sums of an input alone. In bytes R and U are 16 times their value:
 * they stay where they are, in the upper half.
 */
constexpr int forms = 3;
constexpr uint32_t row_flip = 0x87878787, column_flip = 0x88888888;

constexpr int tile = 128; // inputs a and b of which a thread block makes the products
constexpr int strip = 64; // inputs a of a warp group: the rows of its instructions
constexpr int unit = 32;  // columns, of which a warp group has up to 4 times as many
constexpr int crews = tile / strip; // warp groups that multiply
constexpr int helpers = 8;          // warps that make bytes
constexpr int threads = 128 * crews + 32 * helpers;
// of a thread, once the helpers have given away what they do not need
constexpr int crew_registers = 232, helper_registers = 24;

constexpr int step_times = box_row;        // of a stage: a row of nibbles is full
constexpr int half_times = step_times / 2; // the last step of a block may be half of one
constexpr int turn_times = 32;             // of an instruction
constexpr int tile_bytes = tile * box_row; // nibbles of a tile, or bytes of one form
constexpr int byte_stages = 2;
constexpr int nibble_tiles = 8; // in shared memory

struct extents {
    int inputs, channels, splits;
    int jobs;               // tiles of a channel's triangle
    int absent;             // inputs that the first tile lacks, and only that one
    int nibble_stages;      // a power of two
    int nibble_stage_tiles; // columns, and rows where there is more than one tile
    int steps;              // of step_times, in a block of voltages
    int last_halves;        // of the last one
    int total;              // steps of all blocks of voltages
    int length;             // steps of a split; the last may be shorter, or empty
    uint32_t one;           // 1, which the compiler is not to know
};

//! A thread block's part of the work: a tile of a channel's triangle, and of the time.
struct part {
    int row, column; // tiles
    int split, channel;
    __device__ part(const extents& x, int block)
    {
        column = block % x.jobs;
        for (row = 0; column > row; row++)
            column -= row + 1;
        split = block / x.jobs % x.splits;
        channel = block / x.jobs / x.splits;
    }
    __device__ int begin(const extents& x) const { return split * x.length; }
    __device__ int count(const extents& x) const
    {
        return max(0, min(x.length, x.total - begin(x)));
    }
    //! Times of its steps, with those that a block of voltages lacks.
    __device__ int times(const extents& x) const
    {
        const int ends = (begin(x) + count(x)) / x.steps - begin(x) / x.steps;
        return count(x) * step_times - ends * (2 - x.last_halves) * half_times;
    }
    __device__ bool on_diagonal() const { return row == column; }
    //! The first input of a tile, negative if it is absent.
    __device__ int input(const extents& x, int of_tile) const
    {
        return of_tile * tile - x.absent;
    }
    //! Of the tile of columns: those before are absent.
    __device__ int first_column(const extents& x) const
    {
        return column == 0 ? x.absent / unit * unit : 0;
    }
};

//! Of how many halves the steps of a part are, one after the other.
class step_halves
{
public:
    __device__ step_halves(const extents& x, const part& p)
        : d_left(x.steps - p.begin(x) % x.steps)
    {
    }
    __device__ __forceinline__ int next(const extents& x)
    {
        if (--d_left > 0)
            return 2;
        d_left = x.steps;
        return x.last_halves;
    }

private:
    int d_left; // steps of the block of voltages
};

/*!
 * Barriers of two rings of stages: nibbles, which the copy engine brings, of a tile of
 * columns and a tile of rows; and bytes of the columns in three forms, which the helpers
 * make. Who multiplies is done with the nibbles of a step when he is with its bytes.
 */
struct rings {
    uint64_t nibbles_full[nibble_tiles];
    uint64_t bytes_full[byte_stages], bytes_empty[byte_stages];
    uint64_t done; // sums of columns are there, and nobody needs stages any more
    int4 column_sums[tile / 2]; // of U and V of two columns
};

//! Of a thread block's dynamic shared memory, for a step.
__device__ __forceinline__ uint32_t bytes_address(unsigned step)
{
    extern __shared__ uint8_t unaligned[];
    return ((shared_address(unaligned) + 1023) & ~1023u) +
           step % byte_stages * forms * tile_bytes;
}
__device__ __forceinline__ uint32_t nibbles_address(const extents& x, unsigned step)
{
    return bytes_address(0) + byte_stages * forms * tile_bytes +
           (step & (x.nibble_stages - 1)) * x.nibble_stage_tiles * tile_bytes;
}

__device__ __forceinline__ void
wait_for_nibbles(const extents& x, rings& r, unsigned step)
{
    wait_for(r.nibbles_full + (step & (x.nibble_stages - 1)),
             (step & x.nibble_stages) != 0);
}
//! Until bytes have been made for the step, or until there is room for them.
__device__ __forceinline__ void wait_for_bytes(rings& r, unsigned step)
{
    wait_for(r.bytes_full + step % byte_stages, step / byte_stages % 2);
}
__device__ __forceinline__ void wait_for_room(rings& r, unsigned step)
{
    wait_for(r.bytes_empty + step % byte_stages, step / byte_stages % 2 ^ 1);
}

//! Whether this is the one lane of its warp that speaks for all.
__device__ __forceinline__ bool elected()
{
    uint32_t is;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, "
                 "p;\n}"
                 : "=r"(is));
    return is;
}

//! A warp does not need the bytes of a step any more.
__device__ __forceinline__ void release(rings& r, unsigned step)
{
    __syncwarp();
    if (elected())
        arrive(r.bytes_empty + step % byte_stages);
}

//! One thread's: asks for the nibbles of a step of its part, if there is such a step.
__device__ __forceinline__ void
ask(const extents& x, const CUtensorMap& voltages, rings& r, const part& p, int step)
{
    if (step >= p.count(x))
        return;
    uint64_t* const barrier = r.nibbles_full + (step & (x.nibble_stages - 1));
    const uint32_t to = nibbles_address(x, step);
    const int block = (p.begin(x) + step) / x.steps;
    const int byte = (p.begin(x) + step) % x.steps * box_row;
    const auto copy = [&](int place, int of_tile) {
        copy_box(to + place * tile_bytes,
                 &voltages,
                 barrier,
                 byte,
                 p.input(x, of_tile),
                 p.channel,
                 block);
    };
    arrive_expecting(barrier, p.on_diagonal() ? tile_bytes : 2 * tile_bytes);
    copy(0, p.column);
    if (!p.on_diagonal())
        copy(1, p.row);
}

//! As clamped(), with the addition done by the unit that multiplies: that of logic has
//! more to do.
__device__ __forceinline__ uint32_t clamped(const extents& x, uint32_t nibbles)
{
    uint32_t others;
    asm("mad.lo.u32 %0, %1, %2, 0x77777777;"
        : "=r"(others)
        : "r"(nibbles & 0x77777777), "r"(x.one));
    return nibbles + ((nibbles & ~others & 0x88888888) >> 3);
}

//! (nibbles ^ flip) & mask; the compiler would take two instructions.
__device__ __forceinline__ uint32_t flipped(uint32_t nibbles,
                                            uint32_t flip,
                                            uint32_t mask)
{
    uint32_t bytes;
    asm("lop3.b32 %0, %1, %2, %3, 0x28;"
        : "=r"(bytes)
        : "r"(nibbles), "r"(flip), "r"(mask));
    return bytes;
}
//! Bytes of four samples without -8: 16 R or 16 U, C or V, and their sums.
__device__ __forceinline__ uint32_t real_form(uint32_t nibbles, uint32_t flip)
{
    return flipped(nibbles, flip, 0xf0f0f0f0);
}
__device__ __forceinline__ uint32_t imaginary_form(uint32_t nibbles, uint32_t flip)
{
    return flipped(nibbles, flip, 0x0f0f0f0f);
}
__device__ __forceinline__ uint32_t third_form(uint32_t re, uint32_t im)
{
    return (re >> 4) + im;
}
__device__ __forceinline__ void add_bytes(unsigned& sum, uint32_t bytes)
{
    sum = __dp4a(bytes, 0x01010101u, sum);
}

/*!
 * Some warps': makes bytes of the columns' nibbles, 16 bytes of each form of 16 times,
 * and their sums. Nibbles and bytes have rows as long as each other with the same
 * swizzle, so that a piece stays where it is. A warp has 8 rows at a time, the same ones
 * in each step. What is absent is left as it is: its products are, too.
 *
 * They ask for nibbles in turn: who has waited for room for bytes knows that the nibbles
 * of the step that had been there are done with.
 */
__device__ __forceinline__ void
expand(const extents& x, const CUtensorMap& voltages, rings& r, int warp)
{
    constexpr int group_rows = 8, group = group_rows * box_row; // 2 pieces a lane
    constexpr int groups = tile / group_rows / helpers;         // of a warp
    const part p(x, blockIdx.x);
    const int count = p.count(x);
    const int absent_groups = p.column == 0 ? x.absent / group_rows : 0;
    if (warp == 0 && elected())
        for (int step = 0; step < x.nibble_stages; step++)
            ask(x, voltages, r, p, step);
    __syncwarp();
    const int lane = threadIdx.x % 32;
    const uint32_t place = warp * group + lane % 8 * box_row + 16 * (lane / 8 ^ lane % 8);
    unsigned re_sums[groups] = {}, im_sums[groups] = {};
    step_halves halves(x, p);
#pragma unroll 1
    for (int step = 0; step < count; step++) {
        wait_for_room(r, step);
        wait_for_nibbles(x, r, step);
        const uint32_t from = nibbles_address(x, step) + place;
        const uint32_t to = bytes_address(step) + place;
        const bool whole = halves.next(x) == 2;
#pragma unroll
        for (int g = 0; g < groups; g++) {
            if (g * helpers + warp < absent_groups)
                continue;
#pragma unroll
            for (int half = 0; half < 2; half++) {
                if (half == 1 && !whole)
                    continue;
                const auto at = [&](uint32_t place) {
                    return (place ^ 64 * half) + g * helpers * group;
                };
                const uint4 v = load_shared(at(from));
                const uint32_t words[4] = { v.x, v.y, v.z, v.w };
                uint32_t re[4], im[4], sum[4];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const uint32_t nibbles = clamped(x, words[i]);
                    re[i] = real_form(nibbles, column_flip);
                    im[i] = imaginary_form(nibbles, column_flip);
                    sum[i] = third_form(re[i], im[i]);
                    add_bytes(re_sums[g], re[i]);
                    add_bytes(im_sums[g], im[i]);
                }
                store_shared(at(to), { re[0], re[1], re[2], re[3] });
                store_shared(at(to) + tile_bytes, { im[0], im[1], im[2], im[3] });
                store_shared(at(to) + 2 * tile_bytes, { sum[0], sum[1], sum[2], sum[3] });
            }
        }
        fence_async();
        arrive(r.bytes_full + step % byte_stages); // each lane for what it wrote
        if (warp == step % helpers && step >= byte_stages) { // when all else is done
            if (elected())
                ask(x, voltages, r, p, step - byte_stages + x.nibble_stages);
            __syncwarp();
        }
    }
#pragma unroll
    for (int g = 0; g < groups; g++) {
#pragma unroll
        for (int other = 16; other >= 8; other /= 2) {
            re_sums[g] += __shfl_xor_sync(~0u, re_sums[g], other);
            im_sums[g] += __shfl_xor_sync(~0u, im_sums[g], other);
        }
        const int column = (g * helpers + warp) * group_rows + lane;
        if (lane < group_rows)
            reinterpret_cast<int2*>(r.column_sums)[column] = { int(re_sums[g] / 16),
                                                               int(im_sums[g]) };
    }
    arrive(&r.done);
}

//! What a lane's rows, 8 apart, add up to: 16 R, and C.
struct row_sums {
    unsigned re[2], im[2];
};

/*!
 * Adds a warp group's products to the sums of its channel: a warp puts 8 rows of them
 * into shared memory, and the copy engine adds them to memory.
 * \param first_row, first_column inputs
 */
template <int Units>
__device__ __forceinline__ void add_to_sums(const int (&products)[forms][16 * Units],
                                            const row_sums& row,
                                            const int4* column_sums,
                                            int times,
                                            unsigned long long* sums,
                                            int first_row,
                                            int first_column)
{
    constexpr int product_bytes = 16;
    // a multiple of 128 and 16: what lanes write at once lies in different banks
    constexpr int row_bytes = tile * product_bytes + 16;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t rows = bytes_address(0) + warp * 8 * row_bytes;
    const uint32_t to = rows + lane / 4 * row_bytes + lane % 4 * 2 * product_bytes;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int R = row.re[half] / 16, C = row.im[half];
        const int of_re = 8 * (C - R + times), of_im = 8 * (C + R - 15 * times);
#pragma unroll
        for (int i = 0; i < 4 * Units; i++) {
            const int4 column = column_sums[i * 4 + lane % 4];
            const auto put = [&](int k, int U, int V) {
                const int place = i * 4 + 2 * half + k;
                const int RU = unsigned(products[0][place]) >> 8; // as both are 16 times
                const int CV = products[1][place], third = products[2][place];
                const int re = RU - CV + of_re + 7 * V - 8 * U;
                const int im = RU + CV - third + of_im + 7 * U + 8 * V;
                store_shared(to + (8 * i + k) * product_bytes,
                             { unsigned(re),
                               unsigned(re >> 31),
                               unsigned(im),
                               unsigned(im >> 31) });
            };
            put(0, column.x, column.y);
            put(1, column.z, column.w);
        }
        fence_async();
        __syncwarp();
        const int a = first_row + warp % 4 * 16 + half * 8 + lane;
        const int begin = max(first_column, 0);
        const int end = min(first_column + unit * Units, a + 1);
        if (lane < 8 && begin < end) {
            add_bulk(sums + 2 * product_index(a, begin),
                     rows + lane * row_bytes + (begin - first_column) * product_bytes,
                     (end - begin) * product_bytes);
            wait_for_stores();
        }
        __syncwarp();
    }
}

/*!
 * What a warp group does for a part of the work: the products of a strip with Units units
 * of columns. While two of its three products are under way the operand of the third is
 * made.
 */
template <int Units>
__device__ __forceinline__ void
sum_strip(const extents& x, rings& r, unsigned long long* sums)
{
    int products[forms][16 * Units];
    row_sums row = {};
    {
        const part p(x, blockIdx.x);
        const unsigned count = p.count(x);
        const int lane = threadIdx.x % 32, lane_row = lane % 16;
        const uint32_t lane_offset = (p.on_diagonal() ? 0 : tile_bytes) +
                                     (threadIdx.x / 32 * 16 + lane_row) * box_row +
                                     16 * (lane / 16 ^ lane_row % 8);
        const uint32_t columns_offset = p.first_column(x) * box_row;
        if (count == 0)
            return;
        step_halves halves(x, p);
        uint32_t words[4], re[4], im[4], sum[4];
#pragma unroll 1
        for (unsigned step = 0; step < count; step++) {
            // who made the bytes had waited for the nibbles of the rows, too
            wait_for_bytes(r, step);
            const rows_matrix<8 * box_row> step_columns(bytes_address(step) +
                                                        columns_offset);
            const uint32_t from = nibbles_address(x, step) + lane_offset;
            const int turns = halves.next(x) * (half_times / turn_times);
            // unrolled it would take operands for four products at a time, for which
            // there are no registers
#pragma unroll 1
            for (int turn = 0; turn < turns; turn++) {
                const auto columns = step_columns.after(turn_times * turn);
                const auto multiply = [&](int form, const uint32_t(&a)[4]) {
                    wgmma_fence();
                    wgmma_unsigned<Units>(products[form],
                                          a[0],
                                          a[1],
                                          a[2],
                                          a[3],
                                          columns.descriptor(form * tile_bytes),
                                          step > 0 || turn > 0);
                    wgmma_commit();
                };
                load_matrices(words, from ^ (turn_times * turn));
#pragma unroll
                for (auto& w : words)
                    w = clamped(x, w);
                wgmma_wait<2>();
#pragma unroll
                for (int i = 0; i < 4; i++)
                    re[i] = real_form(words[i], row_flip);
                multiply(0, re);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    add_bytes(row.re[i % 2], re[i]);
                wgmma_wait<2>();
#pragma unroll
                for (int i = 0; i < 4; i++)
                    im[i] = imaginary_form(words[i], row_flip);
                multiply(1, im);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    add_bytes(row.im[i % 2], im[i]);
                wgmma_wait<2>();
                if (turn == 0 && step > 0)
                    release(r, step - 1);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    sum[i] = third_form(re[i], im[i]);
                multiply(2, sum);
            }
        }
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int other = 2; other > 0; other /= 2) {
                row.re[half] += __shfl_xor_sync(~0u, row.re[half], other);
                row.im[half] += __shfl_xor_sync(~0u, row.im[half], other);
            }
        wgmma_wait<0>();
    }
    arrive(&r.done); // each lane for what it read
    wait_for(&r.done, 0);
    // found again: registers are too short to keep it
    int block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    const part p(x, block);
    add_to_sums<Units>(products,
                       row,
                       r.column_sums + p.first_column(x) / 2,
                       p.times(x),
                       sums + 2 * p.channel * product_index(x.inputs, 0),
                       p.input(x, p.row) + int(threadIdx.x / 128) * strip,
                       p.input(x, p.column) + p.first_column(x));
}

//! A warp group's part of the work.
__device__ __forceinline__ void
multiply(const extents& x, rings& r, unsigned long long* sums)
{
    const part p(x, blockIdx.x);
    const int crew = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int end = p.on_diagonal() ? (crew + 1) * strip : tile;
    switch ((end - p.first_column(x)) / unit) {
    case 1:
        return sum_strip<1>(x, r, sums);
    case 2:
        return sum_strip<2>(x, r, sums);
    case 3:
        return sum_strip<3>(x, r, sums);
    case 4:
        return sum_strip<4>(x, r, sums);
    default: // no inputs; the stages still pass
        for (int step = 0; step < p.count(x); step++) {
            wait_for_bytes(r, step);
            release(r, step);
        }
        arrive(&r.done);
    }
}

//! A block: one tile of one channel and a part of the time.
__global__ void __launch_bounds__(threads, 1)
    sum_tiles(const __grid_constant__ CUtensorMap voltages,
              unsigned long long* sums,
              const __grid_constant__ extents x)
{
    __shared__ rings r;
    if (threadIdx.x == 0) {
        for (int i = 0; i < x.nibble_stages; i++)
            init_barrier(r.nibbles_full + i, 1);
        for (int i = 0; i < byte_stages; i++) {
            init_barrier(r.bytes_full + i, 32 * helpers);
            init_barrier(r.bytes_empty + i, 4 * crews);
        }
        init_barrier(&r.done, threads);
        fence_barriers();
    }
    __syncthreads();
    // the same in all lanes, which the compiler must know
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp < 4 * crews) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(crew_registers));
        multiply(x, r, sums);
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(helper_registers));
        expand(x, voltages, r, warp - 4 * crews);
    }
}

class nibbles_xengine : public integer_xengine
{
public:
    nibbles_xengine(const xengine::parameters& p, gpu_facts gpu)
        : d_p(p), d_gpu(gpu), d_tiles((p.inputs + tile - 1) / tile)
    {
        load(sum_tiles, shared_bytes);
    }

    void accumulate(const void* voltages,
                    int blocks,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.inputs = d_p.inputs;
        x.channels = d_p.channels;
        x.jobs = d_tiles * (d_tiles + 1) / 2;
        x.absent = d_tiles * tile - d_p.inputs;
        x.nibble_stage_tiles = d_tiles > 1 ? 2 : 1;
        x.nibble_stages = nibble_tiles / x.nibble_stage_tiles;
        x.steps = (d_p.times + step_times - 1) / step_times;
        x.last_halves = (d_p.times - 1) % step_times < half_times ? 1 : 2;
        x.total = x.steps * blocks;
        x.one = 1;
        constexpr int start = 8; // and end of a thread block, in steps
        const int64_t jobs = int64_t(d_p.channels) * x.jobs;
        x.splits = choose_splits(
            jobs, x.total, exact_times / step_times, d_gpu.multiprocessors, start);
        x.length = (x.total + x.splits - 1) / x.splits;
        const CUtensorMap map = make_tensor_map(
            voltages, { d_p.times, d_p.inputs, d_p.channels, blocks }, box_row, tile, 1);
        sum_tiles<<<unsigned(jobs * x.splits), threads, shared_bytes, s>>>(map, sums, x);
        check_launch("wgmma X-engine of nibbles");
    }

private:
    // and what alignment takes
    static constexpr int shared_bytes =
        (byte_stages * forms + nibble_tiles) * tile_bytes + 1024;
    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    const int d_tiles; // along a side of the triangle
};

} // namespace

std::unique_ptr<integer_xengine> make_nibbles_xengine(const xengine::parameters& p,
                                                      gpu_facts gpu)
{
    return std::make_unique<nibbles_xengine>(p, gpu);
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
