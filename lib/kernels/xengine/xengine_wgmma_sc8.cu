/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/gpu/pipeline.cuh"
#include "kernels/gpu/warp.cuh"
#include "kernels/gpu/wgmma.cuh"
#include "kernels/xengine/integer_tile.cuh"
#include "kernels/xengine/integer_xengine.h"
#include "kernels/xengine/product_rows.cuh"
#include "kernels/xengine/schedule.cuh"
#include <type_traits>
#include <algorithm>
#include <array>
#include <climits>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int tile =
    32; // inputs of a row of tiles: 64 rows of an operand, multiplied by -i ones too
constexpr int wide = 8; // tiles of columns that a row of tiles has at most
constexpr int consumers =
    3; // warp groups of a thread block that multiply: what registers are for
constexpr int threads = 128 * (consumers + 1);
// Registers of a thread, once the producer warp group has given away what it does not
// need.
constexpr int consumer_registers = 160, producer_registers = 32;
constexpr int most_stages = 12;

constexpr int stage_times = box_row / 2; // a row of bytes is full
constexpr int group_bytes = 8 * box_row; // from 8 rows of operands to the next 8
/*!
 * Products of 32 inputs a (a row of tiles) with some tiles of inputs b. The row of tiles
 * is tile `row` of the columns, or, from `wide` on, one of the rows of the work tile's
 * own; the tiles of columns begin with `column`.
 */
struct row_part {
    int8_t row, column, tiles; // no tiles: nothing
};

//! A consumer has up to two such parts, whose sums fill its registers.
using consumer_row_parts = std::array<row_part, 2>;

/*!
 * A work tile, which a thread block makes for one channel: products that share their
 * columns, the inputs from `column` on. Their rows are among the same inputs (on the
 * diagonal) or among the `own` tiles of inputs from `row` on.
 */
struct work_tile {
    int column, row, own;
    consumer_row_parts consumer[consumers];
};

struct extents {
    schedule clusters; // schedule of clusters of `shared` thread blocks
    int inputs;
    int shared;  // work tiles one after the other that have the same columns
    int columns; // inputs in a stage, and behind them the work tiles' own
    int stages, stage_bytes;
    int steps; // in a frame
};

//! Returns the whole of row of tiles `row` of a triangle, which has row + 1 tiles of
//! columns.
constexpr row_part whole(int row) { return { int8_t(row), 0, int8_t(row + 1) }; }
constexpr row_part tiles(int row, int first, int end)
{
    return { int8_t(row), int8_t(first), int8_t(end - first) };
}
using work_tile_row_parts = std::vector<consumer_row_parts>;

//! Returns a triangle of up to 6 rows of tiles as one work tile.
work_tile_row_parts one_diagonal_work_tile(int tile_rows_in_triangle)
{
    switch (tile_rows_in_triangle) {
    case 1:
        return { { whole(0) } };
    case 2:
        return { { whole(1) }, { whole(0) } };
    case 3:
        return { { whole(2) }, { whole(1) }, { whole(0) } };
    case 4:
        return { { whole(3) }, { whole(2) }, { whole(1), whole(0) } };
    case 5:
        return { { whole(4) }, { whole(3), whole(0) }, { whole(2), whole(1) } };
    default:
        return { { whole(5), whole(0) }, { whole(4), whole(1) }, { whole(3), whole(2) } };
    }
}

/*!
 * Returns a triangle of up to 8 rows of tiles as two work tiles that take about the same
 * time; of 9, with the row of tiles below it.
 */
std::array<work_tile_row_parts, 2> two_diagonal_work_tiles(int tile_rows_in_triangle)
{
    switch (tile_rows_in_triangle) {
    case 1:
        return { { { { whole(0) } }, {} } };
    case 2:
        return { { { { whole(1) } }, { { whole(0) } } } };
    case 3:
        return { { { { whole(2) } }, { { whole(1) }, { whole(0) } } } };
    case 4:
        return { { { { whole(3) }, { whole(0) } }, { { whole(2) }, { whole(1) } } } };
    case 5:
        return { { { { whole(4) }, { whole(1) } },
                   { { whole(3) }, { whole(2) }, { whole(0) } } } };
    case 6:
        return { { { { whole(5) }, { whole(3) } },
                   { { whole(4) }, { whole(2) }, { whole(1), whole(0) } } } };
    case 7:
        return {
            { { { tiles(6, 0, 5) }, { whole(2), tiles(6, 5, 7) }, { tiles(5, 0, 4) } },
              { { whole(4) }, { tiles(5, 4, 6), whole(1) }, { whole(3), whole(0) } } }
        };
    case 8:
        return { { { { tiles(7, 0, 6) },
                     { tiles(6, 0, 4), tiles(7, 6, 8) },
                     { tiles(6, 4, 7), whole(2) } },
                   { { whole(5) }, { whole(4), whole(0) }, { whole(3), whole(1) } } } };
    default:
        return {
            { { { whole(7) }, { whole(6) }, { whole(5), whole(0) } },
              { { tiles(8, 0, 8) }, { whole(4), whole(1) }, { whole(3), whole(2) } } }
        };
    }
}

//! Returns `own` rows of tiles below the diagonal, of `wide` tiles each, in even parts.
work_tile_row_parts rectangle_work_tile(int own)
{
    work_tile_row_parts made;
    for (int consumer = 0; consumer < consumers; consumer++) {
        int first = own * wide * consumer / consumers;
        const int end = own * wide * (consumer + 1) / consumers;
        consumer_row_parts mine{};
        for (auto& s : mine)
            if (const int count = std::min(end - first, wide - first % wide); count > 0) {
                s = tiles(wide + first / wide, first % wide, first % wide + count);
                first += count;
            }
        if (mine[0].tiles < mine[1].tiles)
            std::swap(mine[0], mine[1]);
        made.push_back(mine);
    }
    return made;
}

work_tile made_of(int column, int row, const work_tile_row_parts& row_parts)
{
    work_tile made{ column, row, 0, {} };
    int number = 0;
    for (const auto& consumer : row_parts) {
        for (const auto& s : consumer)
            made.own = std::max(made.own, s.tiles ? s.row - wide + 1 : 0);
        made.consumer[number++] = consumer;
    }
    return made;
}

/*!
 * Returns the work tiles of all products of so many rows of tiles: triangles of up to 8
 * on the diagonal, and rectangles below them. Work tiles that share their columns follow
 * each other, `shared` at a time.
 */
std::vector<work_tile> all_work_tiles(int tile_row_count)
{
    constexpr int shared = 2;
    std::vector<work_tile> work_tiles;
    for (int column = 0; column < tile_row_count; column += wide) {
        const int in_triangle = std::min(wide, tile_row_count - column);
        int row = column + wide;
        int below = std::max(0, tile_row_count - row);
        const bool one_more = below % (shared * consumers) == 1;
        for (const auto& row_parts :
             two_diagonal_work_tiles(one_more ? wide + 1 : in_triangle))
            work_tiles.push_back(made_of(column * tile, row * tile, row_parts));
        row += one_more;
        below -= one_more;
        // Both work tiles of a pair have as many rows of tiles, unless their number is
        // odd.
        const int half = (below + 1) / 2, pairs = (half + consumers - 1) / consumers;
        for (int i = 0; i < pairs; i++) {
            const int first = 2 * (half * i / pairs);
            const int end = std::min(2 * (half * (i + 1) / pairs), below);
            const int middle = (first + end + 1) / 2;
            for (const auto& [from, to] : { std::pair(first, middle), { middle, end } })
                work_tiles.push_back(made_of(
                    column * tile, (row + from) * tile, rectangle_work_tile(to - from)));
        }
    }
    return work_tiles;
}

template <int Tiles>
using tiles_of = std::integral_constant<int, Tiles>;

/*!
 * The sums of a row of tiles, in registers. One instruction for the columns of more than
 * 6 tiles would need more registers than a thread has when the kernel starts.
 */
template <int Tiles>
struct tile_row_sums {
    static constexpr int left_tiles = Tiles > 6 ? 4 : Tiles;
    static constexpr int right_tiles = Tiles - left_tiles;
    int left[16 * left_tiles];
    int right[right_tiles ? 16 * right_tiles : 1];
};

/*!
 * The place in a stage of a lane's part of the rows of a row of tiles, from which
 * operands are made.
 */
template <int Products>
struct stage_rows {
    uint32_t address;

    //! Returns where the row of a lane begins, from the start of a stage.
    __device__ static uint32_t lane_offset(int first_row)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int row = lane % 8, piece = lane / 8 % (2 * Products);
        return (first_row + 8 * warp + row) * box_row + 16 * (piece ^ row);
    }
    //! \param from address of a stage, a multiple of 1024, plus the offset of the lane
    __device__ __forceinline__ void read(uint32_t from, int part)
    {
        address = from ^ (32 * Products * part);
    }
};

/*!
 * The operand: words of the rows of 32 inputs for `Products` matrix products along the
 * summed axis, 1 or 2 of those that a stage has, in the order of wgmma(): re and im in
 * turn.
 */
template <int Products>
struct operand {
    uint32_t words[Products][4];

    __device__ __forceinline__ void make(const stage_rows<Products>& rows)
    {
        uint32_t loaded[2 * Products];
        load_matrices(loaded, rows.address);
#pragma unroll
        for (int k = 0; k < Products; k++) {
            const uint32_t first = loaded[2 * k], second = loaded[2 * k + 1];
            words[k][0] = first;
            words[k][1] = times_minus_i(first);
            words[k][2] = second;
            words[k][3] = times_minus_i(second);
        }
    }
    //! Starts the matrix products of a row of tiles.
    //! \param columns where the columns are in the stage
    //! \param product which of those that a stage has
    template <int Tiles>
    __device__ __forceinline__ void multiply(tile_row_sums<Tiles>& sums,
                                             rows_matrix<group_bytes> columns,
                                             int product,
                                             int k,
                                             bool add) const
    {
        using s = tile_row_sums<Tiles>;
        const auto some = [&](auto tiles, auto& of, int from) {
            wgmma<int8_t, tile* decltype(tiles)::value>(
                of,
                words[k][0],
                words[k][1],
                words[k][2],
                words[k][3],
                columns.descriptor(from + 32 * product),
                add);
        };
        some(tiles_of<s::left_tiles>(), sums.left, 0);
        if constexpr (s::right_tiles > 0)
            some(tiles_of<s::right_tiles>(),
                 sums.right,
                 s::left_tiles * tile / 8 * group_bytes);
    }
};

//! Epilogue: adds a row of tiles to the sums of its channel, [product][re, im].
template <int Tiles>
__device__ __forceinline__ void add_to_sums(const int (&tile_row)[16 * Tiles],
                                            product_rows& rows,
                                            unsigned long long* sums,
                                            int inputs,
                                            int first_row,
                                            int first_column)
{
    constexpr int most = product_rows::most_columns / 8; // groups of columns at a time
#pragma unroll
    for (int first = 0; first < 4 * Tiles; first += most) {
        const int count = min(most, 4 * Tiles - first);
#pragma unroll
        for (int i = 0; i < count; i++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const int place = (first + i) * 4 + k;
                rows.put(8 * i, k, tile_row[place], tile_row[place + 2]);
            }
        rows.ready();
        rows.add_to(sums,
                    inputs,
                    first_row + threadIdx.x / 32 % 4 * product_rows::inputs,
                    first_column + 8 * first,
                    0,
                    8 * count);
        rows.next();
    }
}

//! A thread block's part of the work.
struct part : schedule::part {
    __device__ part(const extents& x, int block)
        : schedule::part(x.clusters.of(block / x.shared))
    {
        work_tile = work_tile * x.shared + block % x.shared;
    }
};

//! The barriers of a thread block: those of its pipeline, whose stages hold the voltages
//! of stage_times times, and one that completes when no consumer needs a stage any more.
struct barriers {
    pipeline<most_stages> stages;
    uint64_t done;
};

//! Bytes of dynamic shared memory of a thread block.
__device__ __forceinline__ uint32_t stage_address(const extents& x, int stage)
{
    extern __shared__ uint8_t unaligned[];
    return ((shared_address(unaligned) + 1023) & ~1023u) + stage * x.stage_bytes;
}

/*!
 * Mainloop of the producer: asks for the boxes of all steps. Called by one thread. Thread
 * blocks that share their columns get a part of these each, and send it to all
 * (multicast).
 */
__device__ __forceinline__ void load_stages(const extents& x,
                                            const CUtensorMap& columns,
                                            const CUtensorMap& rows,
                                            const work_tile* work_tiles,
                                            barriers& b)
{
    const int rank = int(rank_in_cluster()), row_part = x.columns / x.shared;
    packed_stage_place at;
    const part p(x, blockIdx.x);
    const work_tile j = work_tiles[p.work_tile];
    int frame = p.begin / x.steps, step = p.begin % x.steps;
    for (int i = p.count; i > 0; i--) {
        b.stages.producer_acquire(at);
        const auto barrier =
            b.stages.producer_expect(at, (x.columns + j.own * tile) * box_row);
        const uint32_t to = stage_address(x, at.stage());
        const int byte = step * box_row;
        if (x.shared == 1)
            copy_box(to, &columns, barrier, byte, j.column, p.channel, frame);
        else
            copy_box_to_all(to + rank * row_part * box_row,
                            &columns,
                            barrier,
                            byte,
                            j.column + rank * row_part,
                            p.channel,
                            frame,
                            uint16_t((1 << x.shared) - 1));
        for (int own = 0; own < j.own; own++)
            copy_box(to + (x.columns + own * tile) * box_row,
                     &rows,
                     barrier,
                     byte,
                     j.row + own * tile,
                     p.channel,
                     frame);
        at.advance(x.stages);
        if (++step == x.steps) {
            step = 0;
            frame++;
        }
    }
}

//! Releases a stage, for one warp, to all thread blocks that fill it: those that share
//! columns.
__device__ __forceinline__ void release(const extents& x, uint64_t* empty)
{
    __syncwarp();
    if (const unsigned lane = threadIdx.x % 32; lane < unsigned(x.shared))
        arrive_at(empty, lane);
}

//! Waits until all consumer threads are here, once.
__device__ __forceinline__ void wait_for_consumers(barriers& b)
{
    arrive(&b.done); // each lane for what it read
    wait_for(&b.done, 0);
}

/*!
 * Mainloop of a consumer: sums its rows of tiles over all steps of a part. While the
 * tensor cores work on a part of a stage, the operands of the next part are made.
 */
template <int First, int Second>
__device__ __forceinline__ void sum_tile_rows(const extents& x,
                                              const work_tile* work_tiles,
                                              barriers& b,
                                              unsigned long long* sums)
{
    // With many sums there are registers for small operands only.
    constexpr int products = First + (Second ? Second + 1 : 0) <= 5 ? 2 : 1;
    constexpr int parts = 4 / products;
    // 8 tiles leave no registers for operands that are made while others are multiplied.
    constexpr int buffers = First + Second < wide ? 2 : 1;
    tile_row_sums<First> first;
    tile_row_sums<Second ? Second : 1> second;
    packed_stage_place at;
    {
        constexpr int first_step = INT_MIN; // a bit beside the number of steps
        int left;
        uint32_t rows_at, second_at; // in a stage
        int first_columns, second_columns;
        {
            const part p(x, blockIdx.x);
            left = p.count | first_step;
            const auto& mine = work_tiles[p.work_tile].consumer[threadIdx.x / 128];
            const auto row_number = [&x](int row) {
                return row < wide ? row * tile : x.columns + (row - wide) * tile;
            };
            const int row = row_number(mine[0].row), other = row_number(mine[1].row);
            rows_at = stage_rows<products>::lane_offset(row);
            second_at = stage_rows<products>::lane_offset(other);
            first_columns = uniform(mine[0].column) * tile * box_row;
            second_columns = uniform(mine[1].column) * tile * box_row;
        }
        if (left == first_step)
            return;
        stage_rows<products> rows, second_rows;
        operand<products> operands[buffers], second_operands[buffers];
        const auto read_rows = [&](auto& rows, uint32_t at_row, int part) {
            uint32_t from = stage_address(x, at.stage()) + at_row;
            asm volatile("" : "+r"(from)); // in one register
            rows.read(from, part);
        };
        const auto read = [&](int part) {
            read_rows(rows, rows_at, part);
            if constexpr (Second > 0)
                read_rows(second_rows, second_at, part);
        };
        const auto make = [&](int part) {
            operands[part % buffers].make(rows);
            if constexpr (Second > 0)
                second_operands[part % buffers].make(second_rows);
        };
        const auto begin_step = [&] {
            b.stages.consumer_wait(at);
            read(0);
            make(0);
        };
        begin_step();
        while (true) {
            const bool add = left >= 0;
            const rows_matrix<group_bytes> stage(
                uniform(int(stage_address(x, at.stage()))));
            const auto multiply = [&](auto& sums,
                                      const auto& operands,
                                      int from,
                                      int part) {
                const auto columns = stage.after(from);
#pragma unroll
                for (int k = 0; k < products; k++)
                    operands[part % buffers].multiply(
                        sums, columns, part * products + k, k, add || part > 0 || k > 0);
            };
#pragma unroll
            for (int part = 0; part < parts; part++) {
                wgmma_fence();
                multiply(first, operands, First < wide ? first_columns : 0, part);
                if constexpr (Second > 0)
                    multiply(second, second_operands, second_columns, part);
                wgmma_commit();
                if (part + 1 < parts)
                    read(part + 1);
                wgmma_wait<buffers - 1>(); // the part before is done, its operands can go
                if (part == 0 && add)
                    release(x, b.stages.empty(at.before(x.stages)));
                if (part + 1 < parts)
                    make(part + 1);
            }
            left = (left & ~first_step) - 1;
            at.advance(x.stages);
            if (left == 0)
                break;
            begin_step();
        }
        wgmma_wait<0>();
        wait_for_consumers(
            b); // nobody needs a stage any more: there is room for the sums
    }
    // This is found again, because registers are too scarce to keep it.
    int block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    const part p(x, block);
    const work_tile& j = work_tiles[p.work_tile];
    const auto& mine = j.consumer[threadIdx.x / 128];
    unsigned long long* channel_sums = sums + 2 * p.channel * product_index(x.inputs, 0);
    product_rows rows(stage_address(x, 0) + threadIdx.x / 32 * product_rows::bytes);
    const auto add = [&](auto& tile_row, const row_part& of) {
        using s = std::decay_t<decltype(tile_row)>;
        const int row =
            of.row < wide ? j.column + of.row * tile : j.row + (of.row - wide) * tile;
        const int column = j.column + of.column * tile;
        add_to_sums<s::left_tiles>(
            tile_row.left, rows, channel_sums, x.inputs, row, column);
        if constexpr (s::right_tiles > 0)
            add_to_sums<s::right_tiles>(tile_row.right,
                                        rows,
                                        channel_sums,
                                        x.inputs,
                                        row,
                                        column + s::left_tiles * tile);
    };
    add(first, mine[0]);
    if constexpr (Second > 0)
        add(second, mine[1]);
    rows.finish();
}

//! Numbers of tiles of the two parts that a consumer may have; there is code for each
//! pair.
#define APERTURE_ALL_ROWS \
    APERTURE_ROWS(1, 0)   \
    APERTURE_ROWS(2, 0)   \
    APERTURE_ROWS(2, 1)   \
    APERTURE_ROWS(2, 2)   \
    APERTURE_ROWS(3, 0)   \
    APERTURE_ROWS(3, 2)   \
    APERTURE_ROWS(3, 3)   \
    APERTURE_ROWS(4, 0)   \
    APERTURE_ROWS(4, 1)   \
    APERTURE_ROWS(4, 2)   \
    APERTURE_ROWS(4, 3)   \
    APERTURE_ROWS(5, 0)   \
    APERTURE_ROWS(5, 1)   \
    APERTURE_ROWS(5, 2)   \
    APERTURE_ROWS(6, 0)   \
    APERTURE_ROWS(6, 1)   \
    APERTURE_ROWS(7, 0)   \
    APERTURE_ROWS(8, 0)

bool has_code(const consumer_row_parts& consumer)
{
#define APERTURE_ROWS(a, b) || (consumer[0].tiles == a && consumer[1].tiles == b)
    return (consumer[0].tiles == 0 && consumer[1].tiles == 0) APERTURE_ALL_ROWS;
#undef APERTURE_ROWS
}

//! A consumer's part of the work.
__device__ __forceinline__ void multiply(const extents& x,
                                         const work_tile* work_tiles,
                                         barriers& b,
                                         unsigned long long* sums)
{
    const part p(x, blockIdx.x);
    const auto& mine = work_tiles[p.work_tile].consumer[threadIdx.x / 128];
    switch (mine[0].tiles * (wide + 1) + mine[1].tiles) {
#define APERTURE_ROWS(first, second)                          \
    case first*(wide + 1) + second:                           \
        sum_tile_rows<first, second>(x, work_tiles, b, sums); \
        break;
        APERTURE_ALL_ROWS
#undef APERTURE_ROWS
    default: // nothing to sum; the stages still pass
        packed_stage_place at;
        for (int left = p.count; left > 0; left--) {
            b.stages.consumer_wait(at);
            release(x, b.stages.empty(at.stage()));
            at.advance(x.stages);
        }
        if (p.count > 0)
            wait_for_consumers(b);
    }
}

/*!
 * The kernel. A thread block makes one work tile of one channel over a part of the time.
 * Three consumer warp groups multiply, all from the same stages; the fourth is the
 * producer.
 */
__global__ void __launch_bounds__(threads, 1)
    sum_work_tiles(const __grid_constant__ CUtensorMap columns,
                   const __grid_constant__ CUtensorMap rows,
                   const work_tile* __restrict__ work_tiles,
                   unsigned long long* sums,
                   const __grid_constant__ extents x)
{
    __shared__ barriers b;
    if (threadIdx.x < most_stages) {
        b.stages.init(threadIdx.x, 1, 4 * consumers * x.shared);
        if (threadIdx.x == 0)
            init_barrier(&b.done, 128 * consumers);
    }
    fence_barriers();
    __syncthreads();
    sync_cluster();
    if (threadIdx.x < 128 * consumers) {
        take_registers<consumer_registers>();
        multiply(x, work_tiles, b, sums);
        sync_cluster(); // nobody tells a thread block that has gone
    } else {
        give_registers<producer_registers>();
        if (threadIdx.x == 128 * consumers)
            load_stages(x, columns, rows, work_tiles, b);
        __syncwarp();
        sync_cluster();
    }
}

class wgmma_sc8_xengine : public integer_xengine
{
public:
    wgmma_sc8_xengine(const xengine::parameters& p, gpu_facts gpu) : d_p(p), d_gpu(gpu)
    {
        const int tile_row_count = (p.inputs + tile - 1) / tile;
        const bool one_work_tile = tile_row_count <= 6;
        d_shared_work_tiles = one_work_tile ? 1 : 2;
        d_columns = tile * std::min(wide, tile_row_count);
        const auto work_tiles =
            one_work_tile
                ? std::vector{ made_of(0, 0, one_diagonal_work_tile(tile_row_count)) }
                : all_work_tiles(tile_row_count);
        int own = 0;
        for (const auto& j : work_tiles) {
            own = std::max(own, j.own);
            if (!std::all_of(std::begin(j.consumer), std::end(j.consumer), has_code))
                throw std::logic_error("wgmma s8 X-engine: " + std::to_string(p.inputs) +
                                       " inputs have tile_rows without code");
        }
        d_rows = d_columns + own * tile;
        d_work_tiles = device_array<work_tile>(work_tiles.size());
        start_with(d_work_tiles.data(), work_tiles);
        int device, most;
        check(cudaGetDevice(&device), "asking for the current GPU");
        check(cudaDeviceGetAttribute(
                  &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
              "asking for the shared memory of a thread block");
        most -= 2048; // barriers, and what alignment takes
        d_stage_bytes = d_rows * box_row;
        d_stages = std::min(most_stages, most / d_stage_bytes);
        d_bytes = 1024 +
                  std::max(d_stages * d_stage_bytes, 4 * consumers * product_rows::bytes);
        load(sum_work_tiles, d_bytes);
    }

    void accumulate(const void* voltages,
                    int frames,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.inputs = d_p.inputs;
        x.shared = d_shared_work_tiles;
        x.columns = d_columns;
        x.stages = d_stages;
        x.stage_bytes = d_stage_bytes;
        x.steps = (d_p.spectra_per_frame + stage_times - 1) / stage_times;
        x.clusters = schedule(d_p.channels,
                              int(d_work_tiles.size()) / x.shared,
                              x.steps * frames,
                              exact_times / stage_times,
                              d_gpu.multiprocessors / x.shared,
                              1024 / stage_times);
        const voltage_shape shape{ int64_t(size_of(d_p.type)) * d_p.spectra_per_frame,
                                   d_p.inputs,
                                   d_p.channels,
                                   frames };
        const CUtensorMap columns =
            make_tensor_map(voltages, shape, box_row, x.columns / x.shared, 1);
        const CUtensorMap rows = make_tensor_map(voltages, shape, box_row, tile, 1);
        cudaLaunchAttribute cluster;
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim = { unsigned(x.shared), 1, 1 };
        cudaLaunchConfig_t launch = {};
        launch.gridDim = unsigned(x.clusters.blocks() * x.shared);
        launch.blockDim = threads;
        launch.dynamicSmemBytes = size_t(d_bytes);
        launch.stream = s;
        launch.attrs = &cluster;
        launch.numAttrs = 1;
        check(cudaLaunchKernelEx(
                  &launch, sum_work_tiles, columns, rows, d_work_tiles.data(), sums, x),
              "wgmma s8 X-engine");
    }

private:
    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    device_array<work_tile> d_work_tiles;
    int d_shared_work_tiles, d_columns, d_rows, d_stages, d_stage_bytes, d_bytes;
};

} // namespace

std::unique_ptr<integer_xengine> make_wgmma_sc8_xengine(const xengine::parameters& p,
                                                        gpu_facts gpu)
{
    return std::make_unique<wgmma_sc8_xengine>(p, gpu);
}

} // namespace gr::aperture::kernels::cuda
