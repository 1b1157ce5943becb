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
 * Three products of integers make a complex one. With a = x + i y and b = u + i v,
 *
 *     re of a conj(b) = x u + y v,  im = y u - x v = x u - y v - (x - y) (u + v)
 *
 * Sums and differences of nibbles fit into bytes, those of bytes would not.
 */
constexpr int forms = 3; // of an input: re, im, and their difference (a) or sum (b)

constexpr int tile = 128; // inputs a and b of which a thread block makes the products
constexpr int strip = 64; // inputs a of a warp group: the rows of its instructions
constexpr int crews = tile / strip; // warp groups that multiply
constexpr int unit = 32;            // columns, of which a warp group has up to 4 times as many
constexpr int helpers = 8;          // warps that make bytes
constexpr int threads = 128 * crews + 32 * helpers;
// of a thread, once the helpers have given away what they do not need
constexpr int crew_registers = 232, helper_registers = 24;

constexpr int step_times = box_row;        // of a stage: a row of nibbles is full
constexpr int tile_bytes = tile * box_row; // nibbles of a tile, or bytes of one form
constexpr int byte_stages = 2;
constexpr int most_nibble_stages = 8;

struct extents {
    unsigned one;
    int inputs, channels, splits;
    int tiles;       // along a side of the triangle
    int jobs;        // tiles of a channel
    int absent;      // inputs that the first tile lacks: it is the one that is not full
    int nibble_stages;     // a power of two
    int nibble_stage_tiles; // columns, and rows where there is more than one tile
    int steps;       // of step_times, in a block of voltages
    int total;       // steps of all blocks of voltages
    int length;      // steps of a split; the last may be shorter, or empty
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
    __device__ bool on_diagonal() const { return row == column; }
    //! Of the tile of columns: what comes before is absent.
    __device__ int first_column(const extents& x) const
    {
        return column == 0 ? x.absent / unit * unit : 0;
    }
};

/*!
 * Barriers of two rings of stages: nibbles, which the copy engine brings, of a tile of
 * columns and a tile of rows; and bytes of the columns in three forms, which the helpers
 * make. Who multiplies is done with the nibbles of a step when he is with its bytes.
 */
struct rings {
    uint64_t nibbles_full[most_nibble_stages];
    uint64_t bytes_full[byte_stages], bytes_empty[byte_stages];
    int4 column_sums[tile / 2]; // re, im of two columns
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

__device__ __forceinline__ void wait_for_nibbles(const extents& x, rings& r, unsigned step)
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
    const auto copy = [&](int number, int tile_number) {
        copy_box(to + number * tile_bytes,
                 &voltages,
                 barrier,
                 byte,
                 tile_number * tile - x.absent,
                 p.channel,
                 block);
    };
    arrive_expecting(barrier, p.on_diagonal() ? tile_bytes : 2 * tile_bytes);
    copy(0, p.column);
    if (!p.on_diagonal())
        copy(1, p.row);
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

//! A warp does not need a stage any more.
__device__ __forceinline__ void release(uint64_t* empty)
{
    __syncwarp();
    if (elected())
        arrive(empty);
}

/*
 * Bytes of 4 samples of sc4 from their real_parts() and imaginary_parts(), which are 16
 * times their value: 8 times re + im and re - im.
 */
__device__ __forceinline__ uint32_t sums_of_parts(uint32_t re, uint32_t im)
{
    // the mean of two numbers without a sign is the bits that they share, and half of the
    // others; all are multiples of 16, so that nothing is cut off
    constexpr uint32_t sign = 0x80808080;
    return (((re ^ sign) & (im ^ sign)) + ((re ^ im) >> 1)) ^ sign;
}

__device__ __forceinline__ uint32_t both(uint32_t v, uint32_t mask, uint32_t flip)
{
    uint32_t d;
    asm("lop3.b32 %0, %1, %2, %3, 0x28;" : "=r"(d) : "r"(v), "r"(flip), "r"(mask)); // (a ^ b) & c
    return d;
}

__device__ __forceinline__ uint32_t cleaned(uint32_t nibbles, uint32_t one)
{
    const uint32_t others = (nibbles & 0x77777777) * one + 0x77777777;
    return nibbles + ((nibbles & ~others & 0x88888888) >> 3);
}

/*!
 * Some warps': makes bytes of the columns' nibbles, 16 bytes of each form of 16 times.
 * Nibbles and bytes have rows as long as each other with the same swizzle, so that a piece
 * stays where it is. Warps take 4 rows at a time in turn. The first one asks for nibbles,
 * too: who waits for room for bytes knows that the nibbles of that step before are done
 * with.
 */
__device__ __forceinline__ void
expand(const extents& x, const CUtensorMap& voltages, rings& r, int warp)
{
    const part p(x, blockIdx.x);
    const int count = p.count(x), first = p.first_column(x);
    const bool asks = warp == 0 && elected();
    if (asks)
        for (int step = 0; step < x.nibble_stages; step++)
            ask(x, voltages, r, p, step);
    __syncwarp();
    constexpr int group = 8 * box_row; // 2 pieces a lane
    constexpr int groups = tile / 8 / helpers;
    const int lane = threadIdx.x % 32;
    unsigned re_sums[groups] = {}, im_sums[groups] = {};
    const uint32_t place = warp * group + lane % 8 * box_row + 16 * (lane / 8 ^ lane % 8);
#pragma unroll 1
    for (int step = 0; step < count; step++) {
        wait_for_room(r, step);
        if (asks && step >= byte_stages)
            ask(x, voltages, r, p, step - byte_stages + x.nibble_stages);
        __syncwarp();
        wait_for_nibbles(x, r, step);
        uint32_t from = nibbles_address(x, step) + place;
        uint32_t to = bytes_address(step) + place;
#pragma unroll
        for (int g = 0; g < groups; g++) {
            if ((g * helpers + warp) * 8 >= first) {
#pragma unroll
                for (int piece = 0; piece < 2; piece++) {
                    const uint4 v = load_shared((from ^ 64 * piece) + g * helpers * group);
                    const uint32_t words[4] = { v.x, v.y, v.z, v.w };
                    uint32_t re[4], im[4], sum[4];
#pragma unroll
                    for (int k = 0; k < 4; k++) {
                        const uint32_t w = cleaned(words[k], x.one);
                        re[k] = both(w, 0xf0f0f0f0, 0x88888888);
                        im[k] = both(w, 0x0f0f0f0f, 0x88888888);
                        sum[k] = (re[k] >> 4) + im[k];
                        re_sums[g] = __dp4a(re[k], 0x01010101u, re_sums[g]);
                        im_sums[g] = __dp4a(im[k], 0x01010101u, im_sums[g]);
                    }
                    const uint32_t at = (to ^ 64 * piece) + g * helpers * group;
                    store_shared(at, { re[0], re[1], re[2], re[3] });
                    store_shared(at + tile_bytes, { im[0], im[1], im[2], im[3] });
                    store_shared(at + 2 * tile_bytes, { sum[0], sum[1], sum[2], sum[3] });
                }
            }
        }
        fence_async();
        arrive(r.bytes_full + step % byte_stages); // each lane for what it wrote
    }
#pragma unroll
    for (int g = 0; g < groups; g++) {
#pragma unroll
        for (int other = 16; other >= 8; other /= 2) {
            re_sums[g] += __shfl_xor_sync(~0u, re_sums[g], other);
            im_sums[g] += __shfl_xor_sync(~0u, im_sums[g], other);
        }
        if (lane < 8)
            reinterpret_cast<int2*>(r.column_sums)[(g * helpers + warp) * 8 + lane] = {
                int(re_sums[g]) / 16, int(im_sums[g])
            };
    }
    __syncthreads();
}

//! Adds numbers of 64 bits in shared memory to those in memory, without waiting.
__device__ __forceinline__ void add_bulk(unsigned long long* to, uint32_t from, int bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64"
                 " [%0], [%1], %2;" ::"l"(to),
                 "r"(from),
                 "r"(bytes)
                 : "memory");
}

/*!
 * Adds a warp group's products to the sums of its channel: a warp puts 8 rows of them
 * into shared memory, and the copy engine adds them.
 */
template <int Units>
__device__ __forceinline__ void add_to_sums(const int (&products)[forms][16 * Units],
                                            unsigned long long* sums,
                                            int first_row,
                                            int first_column,
                                            const int4* column_sums,
                                            const unsigned (&row_re)[2],
                                            const unsigned (&row_im)[2],
                                            int times)
{
    constexpr int product_bytes = 16;
    // of products; a multiple of 128 and 16, so that neither rows nor columns share banks
    constexpr int row_bytes = tile * product_bytes + 16;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t rows = bytes_address(0) + warp * 8 * row_bytes;
    const uint32_t to = rows + lane / 4 * row_bytes + lane % 4 * 2 * product_bytes;
    column_sums += lane % 4;
    first_row += warp % 4 * 16 + lane % 8;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row_of_re = 8 * (row_im[half] - row_re[half] + times);
        const int row_of_im = 8 * (row_im[half] + row_re[half] - 15 * times);
#pragma unroll
        for (int i = 0; i < 4 * Units; i++) {
            const int4 s = column_sums[i * 4];
            const auto put = [&](int k, int column_re, int column_im) {
                const int place = i * 4 + 2 * half + k;
                const int xu = unsigned(products[0][place]) >> 8;
                const int re = xu - products[1][place] + row_of_re + 7 * column_im -
                               8 * column_re;
                const int im = xu + products[1][place] - products[2][place] + row_of_im +
                               7 * column_re + 8 * column_im;
                store_shared(to + (8 * i + k) * product_bytes,
                             { unsigned(re), unsigned(re >> 31), unsigned(im), unsigned(im >> 31) });
            };
            put(0, s.x, s.y);
            put(1, s.z, s.w);
        }
        fence_async();
        __syncwarp();
        if (const int a = first_row + 8 * half; lane < 8 && a >= 0) {
            const int begin = max(first_column, 0);
            const int end = min(first_column + unit * Units, a + 1);
            if (end > begin)
                add_bulk(sums + 2 * product_index(a, begin),
                         rows + lane * row_bytes + (begin - first_column) * product_bytes,
                         (end - begin) * product_bytes);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
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
    constexpr int turns = step_times / 32; // of a step
    int products[forms][16 * Units];
    unsigned row_re[2] = {}, row_im[2] = {};
    {
        uint32_t lane_offset, columns_offset;
        int count;
        {
            const part p(x, blockIdx.x);
            const int lane = threadIdx.x % 32, row = lane % 16;
            count = p.count(x);
            lane_offset = (p.on_diagonal() ? 0 : tile_bytes) +
                          (threadIdx.x / 32 * 16 + row) * box_row +
                          16 * (lane / 16 ^ row % 8);
            columns_offset = p.first_column(x) * box_row;
        }
        if (count == 0) {
            __syncthreads();
            return;
        }
        uint32_t words[4], re[4], im[4], difference[4];
#pragma unroll 1
        for (unsigned step = 0; step < unsigned(count); step++) {
            wait_for_bytes(r, step);
            const rows_matrix<8 * box_row> columns(bytes_address(step) + columns_offset);
            uint32_t from = nibbles_address(x, step) + lane_offset;
#pragma unroll 1
            for (int turn = 0; turn < turns; turn++) {
                const auto multiply = [&](int form, const uint32_t(&a)[4]) {
                    wgmma_fence();
                    wgmma_unsigned<Units>(products[form],
                                          a[0],
                                          a[1],
                                          a[2],
                                          a[3],
                                          columns.descriptor(form * tile_bytes + 32 * turn),
                                          step > 0 || turn > 0);
                    wgmma_commit();
                };
                load_matrices(words, from ^ (32 * turn));
#pragma unroll
                for (auto& w : words)
                    w = cleaned(w, x.one);
                wgmma_wait<2>();
#pragma unroll
                for (int i = 0; i < 4; i++)
                    re[i] = both(words[i], 0xf0f0f0f0, 0x87878787);
                multiply(0, re);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    row_re[i % 2] = __dp4a(re[i], 0x01010101u, row_re[i % 2]);
                wgmma_wait<2>();
#pragma unroll
                for (int i = 0; i < 4; i++)
                    im[i] = both(words[i], 0x0f0f0f0f, 0x87878787);
                multiply(1, im);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    row_im[i % 2] = __dp4a(im[i], 0x01010101u, row_im[i % 2]);
                wgmma_wait<2>();
                if (turn == 0 && step > 0)
                    release(r.bytes_empty + (step ^ 1) % byte_stages);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    difference[i] = (re[i] >> 4) + im[i];
                multiply(2, difference);
            }
        }
        wgmma_wait<0>();
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        row_re[h] /= 16;
#pragma unroll
        for (int other = 2; other > 0; other /= 2) {
            row_re[h] += __shfl_xor_sync(~0u, row_re[h], other);
            row_im[h] += __shfl_xor_sync(~0u, row_im[h], other);
        }
    }
    __syncthreads();
    // found again: registers are too short to keep it
    int block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    const part p(x, block);
    add_to_sums<Units>(products,
                       sums + 2 * p.channel * product_index(x.inputs, 0),
                       p.row * tile + int(threadIdx.x / 128) * strip - x.absent,
                       p.column * tile + p.first_column(x) - x.absent,
                       r.column_sums + p.first_column(x) / 2,
                       row_re,
                       row_im,
                       p.count(x) * step_times);
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
            release(r.bytes_empty + step % byte_stages);
        }
        __syncthreads();
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
        fence_barriers();
    }
    __syncthreads();
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
        // 224 KiB either way
        d_stage_tiles = d_tiles > 1 ? 2 : 1;
        d_stages = most_nibble_stages / d_stage_tiles;
        d_bytes = 1024 + (byte_stages * forms + most_nibble_stages) * tile_bytes;
        load(sum_tiles, d_bytes);
    }

    void accumulate(const void* voltages,
                    int blocks,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.one = 1;
        x.inputs = d_p.inputs;
        x.channels = d_p.channels;
        x.tiles = d_tiles;
        x.jobs = d_tiles * (d_tiles + 1) / 2;
        x.absent = d_tiles * tile - d_p.inputs;
        x.nibble_stages = d_stages;
        x.nibble_stage_tiles = d_stage_tiles;
        x.steps = (d_p.times + step_times - 1) / step_times;
        x.total = x.steps * blocks;
        constexpr int start = 8; // and end of a thread block, in steps
        const int64_t jobs = int64_t(d_p.channels) * x.jobs;
        x.splits = choose_splits(
            jobs, x.total, exact_times / step_times, d_gpu.multiprocessors, start);
        x.length = (x.total + x.splits - 1) / x.splits;
        const CUtensorMap map = make_tensor_map(
            voltages, { d_p.times, d_p.inputs, d_p.channels, blocks }, box_row, tile, 1);
        sum_tiles<<<unsigned(jobs * x.splits), threads, d_bytes, s>>>(map, sums, x);
        check_launch("wgmma X-engine of nibbles");
    }

private:
    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    const int d_tiles;
    int d_stages, d_stage_tiles, d_bytes;
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
