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
#include <algorithm>
#include <cstddef>
#include <vector>

namespace gr::aperture::kernels::cuda {

namespace {

/*
 * Three products of integers make a complex one. All are numbers without a sign, which
 * take the fewest instructions to make:
 *
 *     of a row a      R = re + 8,  I = im + 8,  16 R + 15 - I
 *     of a column b   U = re + 8,  V = im + 8,  16 U + V
 *
 * The third ones are the packed samples as they lie in a byte, but for bits that are
 * flipped. With sums over T times, third that of (16 R + 15 - I) (16 U + V),
 *
 *     R V + (15 - I) U = (third - 256 R U + I V - 15 V) / 16
 *     re of a conj(b)  = R U + I V - 8 (R + I + U + V) + 128 T
 *     im               = -(R V + (15 - I) U) + 8 (R - I + V) + 7 U
 *
 * where R, I, U, V are sums of an input alone. In bytes R and U are 16 times their value:
 * they stay where they are, in the upper half.
 */
constexpr int forms = 3, third_form = 2;
constexpr uint32_t upper = 0xf0f0f0f0, lower = 0x0f0f0f0f;
constexpr uint32_t column_flip = 0x88888888;

constexpr int tile_row = 64;  // inputs a of a warp group: the rows of its instructions
constexpr int tile = 16;      // columns b, of which a warp group has up to
constexpr int most_tiles = 8; // there are registers for as many
constexpr int tile_row_tiles = tile_row / tile;
constexpr int most_tile_rows = 3; // rows of columns that a thread block has
constexpr int consumers = 2;      // warp groups
constexpr int producers = 8;      // warps that make bytes of packed samples
constexpr int piece_rows = 8;     // rows of half a step that a warp expands at once
constexpr int threads = 128 * consumers + 32 * producers;

constexpr int step_times = box_row; // times of a stage: a row of packed samples is full
constexpr int half_times = step_times / 2; // the last step of a frame may be half of one
constexpr int k_times = 32;                // times of an instruction: its summed axis
constexpr int tile_row_bytes =
    tile_row * box_row; // packed samples of a row of tiles, or bytes of one form
constexpr int most_byte_stages = 3, least_packed_stages = 3, most_packed_stages = 8;
constexpr int memory_tile_rows = 28; // bytes and packed samples in shared memory

//! Registers of a consumer thread: its sums, and what else it needs.
constexpr int consumer_registers(int tiles)
{
    return tiles > 6 ? 232 : tiles > 4 ? 184 : 136;
}
// Registers of a producer thread: what the consumers leave.
constexpr int few_registers = 24, more_registers = 72;
constexpr bool roomy(int tiles, int other_tiles)
{
    return 128 * (consumer_registers(tiles) + consumer_registers(other_tiles)) +
               32 * producers * more_registers <=
           65536;
}

//! The work of a consumer warp group: products of one row of tiles of the thread block
//! with some tiles of its columns.
struct row_part {
    int8_t tile_row, first, tiles;
};

//! A work tile, which a thread block makes for one channel: products of some columns b
//! with rows a that are among the columns, or rows of its own.
struct work_tile {
    int column, row;       // first inputs; negative ones are absent
    int8_t tile_rows, own; // rows of columns; own rows behind them
    row_part consumer[consumers];

    int tiles() const { return consumer[0].tiles + consumer[1].tiles; }
    __device__ int column_of(int s) const { return column + s * tile_row; }
    __device__ bool owns(int s) const { return s >= tile_rows; }
    __device__ int row_of(int s) const
    {
        return owns(s) ? row + (s - tile_rows) * tile_row : column_of(s);
    }
};

struct extents {
    schedule blocks;
    int inputs;
    int steps;       // steps of step_times, in a frame
    int last_halves; // halves of the last one
    uint32_t one;    // 1, which the compiler is not to know
};

/*!
 * Returns the work tiles of all products of so many inputs, the longest first. Rows of
 * tiles go in pairs. If the inputs do not fill all rows of tiles the first row is the one
 * that is not full; if the number of rows is odd, the first pair is a triple. The copy
 * engine delivers zeros for inputs with a negative index, and tiles of columns that hold
 * nothing else are left out.
 */
std::vector<work_tile> all_work_tiles(int inputs)
{
    const int tile_rows = (inputs + tile_row - 1) / tile_row, odd = tile_rows % 2;
    const auto input = [&](int s) { return inputs - (tile_rows - s) * tile_row; };
    const auto absent = [&](int s) { return std::max(0, -input(s)) / tile; };
    std::vector<work_tile> work_tiles;
    const auto add =
        [&](int column, int count, int row, int own, row_part a, row_part b) {
            work_tiles.push_back(
                { input(column), input(row), int8_t(count), int8_t(own), { a, b } });
        };
    const auto tiles = [&](int tile_row, int first, int end) {
        return row_part{ int8_t(tile_row), int8_t(first), int8_t(end - first) };
    };
    const auto add_triangle = [&](int s) {
        const int first = absent(s);
        add(s,
            2,
            s,
            0,
            tiles(0, first, tile_row_tiles),
            tiles(1, first, 2 * tile_row_tiles));
    };
    if (tile_rows == 1)
        add(0, 1, 0, 0, tiles(0, absent(0), tile_row_tiles), {});
    else
        add_triangle(0);
    if (odd && tile_rows > 1) { // the third row of tiles, with all columns
        const int first = absent(0), end = 3 * tile_row_tiles, middle = (first + end) / 2;
        add(0, 3, 0, 0, tiles(2, first, middle), tiles(2, middle, end));
    }
    for (int row = 2 + odd; row < tile_rows; row += 2) {
        add_triangle(row);
        for (int column = 0, count; column < row; column += count) {
            count = odd && column == 0 ? 1 : 2;
            const int first = absent(column), end = count * tile_row_tiles;
            add(column,
                count,
                row,
                2,
                tiles(count, first, end),
                tiles(count + 1, first, end));
        }
    }
    std::stable_sort(
        work_tiles.begin(), work_tiles.end(), [](const work_tile& a, const work_tile& b) {
            return a.tiles() > b.tiles();
        });
    return work_tiles;
}

//! Alignment of dynamic shared memory, as the copy engine and the tensor cores need it.
__device__ __forceinline__ uint32_t first_stage()
{
    extern __shared__ uint8_t unaligned[];
    return (shared_address(unaligned) + 1023) & ~1023u;
}

//! A thread block's part of the work.
struct part : work_tile {
    int channel, begin, count; // steps of time
    int times;                 // times of its steps, with those that a frame lacks
    // Kept in shared memory: the compiler would look it up again in each step.
    int steps, last_halves;
    uint32_t barriers, stages, one; // addresses where they begin; extents::one

    part() = default;
    __device__
    part(const extents& x, const work_tile* work_tiles, const schedule::part& p)
        : work_tile(work_tiles[p.work_tile]),
          channel(p.channel),
          begin(p.begin),
          count(p.count)
    {
        const int ends = (begin + count) / x.steps - begin / x.steps;
        times = count * step_times - ends * (2 - x.last_halves) * half_times;
        steps = x.steps;
        last_halves = x.last_halves;
        stages = first_stage();
        one = x.one;
    }
};

//! Goes through the steps of a part and tells of how many halves each is.
class step_halves
{
public:
    __device__ explicit step_halves(const part& p)
        : d_steps(uniform(p.steps)),
          d_last(uniform(p.last_halves)),
          d_left(d_steps - uniform(p.begin) % d_steps)
    {
    }
    __device__ __forceinline__ int next()
    {
        if (--d_left > 0)
            return 2;
        d_left = d_steps;
        return d_last;
    }

private:
    int d_steps, d_last;
    int d_left; // steps that the frame has left
};

/*!
 * The barriers of two pipelines: of packed samples of columns and own rows, which the
 * copy engine brings; and of bytes of the columns in three forms, which the producers
 * make of them. Stages of packed samples are released with the bytes that are made of
 * them, and have no barrier for that.
 */
struct pipelines {
    uint64_t packed_full[most_packed_stages];
    pipeline<most_byte_stages> bytes;
};

//! The shared memory of a thread block, besides the stages.
struct shared_memory : pipelines {
    uint64_t done; // sums of columns are there, and nobody needs stages any more
    alignas(16) int2 column_sums[most_tile_rows * tile_row]; // sums of U and V
    part mine;
};

/*!
 * The places of the stages of a thread block in its dynamic shared memory.
 * \param Wide for a work tile with 128 columns and 128 own rows, which leaves little room
 */
template <bool Wide>
struct stages {
    uint32_t bytes, packed;
    int form_bytes, byte_stages, packed_bytes, packed_stages;

    __device__ explicit stages(const part& p) : bytes(uniform(p.stages))
    {
        const int tile_rows = Wide ? 2 : uniform(p.tile_rows),
                  own = Wide ? 2 : uniform(p.own);
        const auto for_packed = [&](int byte_stages) {
            return (memory_tile_rows - byte_stages * forms * tile_rows) /
                   (tile_rows + own);
        };
        byte_stages = most_byte_stages;
        if (for_packed(byte_stages) < least_packed_stages)
            byte_stages--;
        form_bytes = tile_rows * tile_row_bytes;
        packed = bytes_at(byte_stages);
        packed_bytes = (tile_rows + own) * tile_row_bytes;
        packed_stages = min(most_packed_stages, for_packed(byte_stages));
    }
    __device__ uint32_t bytes_at(int stage) const
    {
        return bytes + stage * forms * form_bytes;
    }
    __device__ uint32_t packed_at(int stage) const
    {
        return packed + stage * packed_bytes;
    }
};

//! The barriers of both pipelines, by their address.
struct barriers {
    uint32_t at;

    __device__ explicit barriers(const part& p) : at(uniform(p.barriers)) {}
    __device__ uint32_t packed_full(int stage) const
    {
        return at + offsetof(pipelines, packed_full) + stage * sizeof(uint64_t);
    }
    __device__ pipeline_at<most_byte_stages> bytes() const
    {
        return pipeline_at<most_byte_stages>(at + offsetof(pipelines, bytes));
    }
};

//! Returns whether this is the lane that arrives at barriers for its warp.
__device__ __forceinline__ bool elected()
{
    uint32_t is;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, "
                 "p;\n}"
                 : "=r"(is));
    return is;
}

//! A step of a part: frame and step within the frame of its voltages.
struct step_place {
    int frame, step;
    __device__ step_place(const extents& x, const part& p)
        : frame(p.begin / x.steps), step(p.begin % x.steps)
    {
    }
    __device__ void advance(const extents& x, int steps)
    {
        for (step += steps; step >= x.steps; step -= x.steps)
            frame++;
    }
};

//! Tensor maps by which the copy engine finds the packed samples of one row of tiles, and
//! of two that follow each other.
struct packed_maps {
    CUtensorMap tile_row, pair;
};

//! The members of a part that a producer needs to ask for packed samples, in uniform
//! registers: while it is looked up in shared memory, others wait for the bytes that this
//! warp has to make.
struct wanted {
    int tile_rows, own, channel, column, row;
    __device__ explicit wanted(const part& p)
        : tile_rows(uniform(p.tile_rows)),
          own(uniform(p.own)),
          channel(uniform(p.channel)),
          column(uniform(p.column)),
          row(uniform(p.row))
    {
    }
};

//! Asks for the packed samples of a step, in as few copies as possible. Called by one
//! thread.
template <bool Wide>
__device__ __forceinline__ void ask(const packed_maps& voltages,
                                    shared_memory& m,
                                    const stages<Wide>& at,
                                    const wanted& p,
                                    const step_place& from,
                                    int stage)
{
    const int tile_rows = Wide ? 2 : p.tile_rows, odd = tile_rows % 2;
    uint64_t* const barrier = m.packed_full + stage;
    const uint32_t to = at.packed_at(stage);
    const auto copy = [&](const CUtensorMap& map, int place, int input) {
        copy_box(to + place * tile_row_bytes,
                 &map,
                 barrier,
                 from.step * box_row,
                 input,
                 p.channel,
                 from.frame);
    };
    arrive_expecting(barrier, at.packed_bytes);
    if (odd)
        copy(voltages.tile_row, 0, p.column);
    if (tile_rows > 1)
        copy(voltages.pair, odd, p.column + odd * tile_row);
    if (Wide || p.own > 0)
        copy(voltages.pair, tile_rows, p.row);
}

//! Returns (packed samples ^ flip) & mask, in one instruction where the compiler would
//! take two.
__device__ __forceinline__ uint32_t flipped(uint32_t packed, uint32_t flip, uint32_t mask)
{
    uint32_t bytes;
    asm("lop3.b32 %0, %1, %2, %3, 0x28;"
        : "=r"(bytes)
        : "r"(packed), "r"(flip), "r"(mask));
    return bytes;
}
__device__ __forceinline__ void add_bytes(unsigned& sum, uint32_t bytes)
{
    sum = __dp4a(bytes, 0x01010101u, sum);
}

//! The sums of a row, or of two of its pieces, that a producer lane adds up: 16 U, and V.
struct lane_sums {
    unsigned re = 0, im = 0;
};

/*!
 * Makes 16 bytes of each form, for 16 times of a row, from its packed samples.
 * \param Pieces how many pieces at a time, which are `step_bytes` apart
 * \param read_next is called when the packed samples of a piece leave registers free for
 * the next ones
 */
template <int Pieces, class ReadNext>
__device__ __forceinline__ void make_bytes(const uint4* packed,
                                           uint32_t one,
                                           uint32_t to,
                                           int step_bytes,
                                           int form_bytes,
                                           lane_sums* sums,
                                           ReadNext read_next)
{
    uint32_t words[Pieces][4];
    const auto store = [&](int piece, int form, const uint32_t(&w)[4]) {
        store_shared(to + piece * step_bytes + form * form_bytes,
                     { w[0], w[1], w[2], w[3] });
    };
#pragma unroll
    for (int i = 0; i < Pieces; i++) {
        words[i][0] = packed[i].x;
        words[i][1] = packed[i].y;
        words[i][2] = packed[i].z;
        words[i][3] = packed[i].w;
#pragma unroll
        for (auto& w : words[i])
            w = clamped(w, one) ^ column_flip;
    }
#pragma unroll
    for (int i = 0; i < Pieces; i++) {
        uint32_t bytes[4];
        store(i, third_form, words[i]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            bytes[k] = words[i][k] & upper;
            add_bytes(sums[i].re, bytes[k]);
        }
        store(i, 0, bytes);
        read_next();
#pragma unroll
        for (auto& w : words[i]) {
            w &= lower;
            add_bytes(sums[i].im, w);
        }
        store(i, 1, words[i]);
    }
}

/*!
 * Mainloop of the producers: make bytes of the packed samples of the columns, and the
 * sums of these. Packed samples and bytes have rows of the same length with the same
 * swizzle, so that a piece stays in its place. A warp has pieces of 8 rows and half a
 * step, the same ones in each step. Inputs that do not exist are left as they are, and so
 * are their products. The producers ask for packed samples one after the other. Own rows
 * are released when the bytes of their step are. \param Pieces how many pieces; those of
 * a Wide work tile are in pairs of a whole step
 */
template <bool Wide, int Pieces>
__device__ __forceinline__ void
expand(const extents& x, const packed_maps& voltages, shared_memory& m, int warp)
{
    constexpr int rows = piece_rows, piece_rows_bytes = rows * box_row;
    constexpr int askers = producers / 2; // the last ones: they may have fewer pieces
    const stages<Wide> at(m.mine);
    const int count = uniform(m.mine.count);
    const wanted mine(m.mine);
    const int own = Wide ? 2 : mine.own;
    const int lag = own > 0 ? at.byte_stages : 1; // until packed samples are done with
    const barriers ring(m.mine);
    step_place next(x, m.mine); // step that this warp asks for
    if (warp == 0 && elected()) {
        step_place first = next;
        for (int step = 0; step < min(count, at.packed_stages); step++) {
            ask(voltages, m, at, mine, first, step);
            first.advance(x, 1);
        }
    }
    next.advance(x, at.packed_stages + unsigned(warp) % askers);
    __syncwarp();
    const int lane = threadIdx.x % 32;
    // A Wide warp, with few registers, has both halves of its rows, for one sum each.
    const int group = Wide ? warp : max(0, -uniform(m.mine.column)) / rows + warp / 2;
    const auto group_of = [](int piece) {
        return Wide ? piece / 2 * producers : piece * producers / 2;
    };
    const auto half_of = [&](int piece) { return Wide ? piece % 2 : warp % 2; };
    const uint32_t place = group * piece_rows_bytes + lane % 8 * box_row +
                           (16 * (lane / 8 ^ lane % 8) ^ half_times * half_of(0));
    const auto place_of = [&](int piece) {
        const uint32_t at_half = Wide ? place ^ half_times * half_of(piece) : place;
        return at_half + group_of(piece) * piece_rows_bytes;
    };
    constexpr int sum_count = Wide ? Pieces / 2 : Pieces;
    lane_sums sums[std::max(1, sum_count)];
    step_halves halves(m.mine);
    const uint32_t one = Wide ? x.one : m.mine.one;
    // The warp reads a piece when it makes its bytes; others read so many a step ahead.
    constexpr int ahead = Wide ? 0 : Pieces > 4 ? 2 : Pieces;
    uint4 pieces[Wide ? 1 : std::max(1, Pieces)];
    packed_stage_place packed, bytes;
    const auto read = [&] {
        wait_for(ring.packed_full(packed.stage()), packed.parity());
#pragma unroll
        for (int i = 0; i < ahead; i++)
            pieces[i] = load_shared(at.packed_at(packed.stage()) + place_of(i));
    };
    if (count > 0)
        read();
#pragma unroll 1
    for (int step = 0; step < count; step++) {
        ring.bytes().producer_acquire(bytes);
        const uint32_t from = at.packed_at(packed.stage());
        const uint32_t to = at.bytes_at(bytes.stage());
        const bool whole = halves.next() == 2;
        if constexpr (Wide) {
#pragma unroll
            for (int i = 0; i < Pieces; i++) {
                const auto read_next = [&] {
                    if (i + 1 < Pieces)
                        pieces[0] = load_shared(from + place_of(i + 1));
                };
                if (i == 0)
                    pieces[0] = load_shared(from + place_of(0));
                if (half_of(i) == 0 || whole)
                    make_bytes<1>(pieces,
                                  one,
                                  to + place_of(i),
                                  0,
                                  at.form_bytes,
                                  sums + i / 2,
                                  read_next);
                else
                    read_next();
            }
        } else if (half_of(0) == 0 || whole) {
            constexpr int step_bytes = producers / 2 * piece_rows_bytes;
#pragma unroll
            for (int i = 0; i < Pieces; i++) {
                if (i >= ahead)
                    pieces[i] = load_shared(from + place_of(i));
                if (i % 2)
                    make_bytes<2>(pieces + i - 1,
                                  one,
                                  to + place_of(i - 1),
                                  step_bytes,
                                  at.form_bytes,
                                  sums + i - 1,
                                  [] {});
            }
            if constexpr (Pieces % 2) {
                constexpr int last = Pieces - 1;
                make_bytes<1>(pieces + last,
                              one,
                              to + place_of(last),
                              0,
                              at.form_bytes,
                              sums + last,
                              [] {});
            }
        }
        fence_async();
        ring.bytes().producer_commit(bytes); // each lane for what it wrote
        const int done = step - lag;         // step whose packed samples are done with
        if (done >= 0 && warp == askers + done % askers) {
            if (own == 0) // all who make bytes have read the packed samples, then
                wait_for(ring.bytes().full(bytes.before(at.byte_stages)),
                         bytes.parity_before());
            if (done + at.packed_stages < count && elected())
                ask(voltages,
                    m,
                    at,
                    mine,
                    next,
                    packed.stage() - lag + (packed.stage() < lag ? at.packed_stages : 0));
            next.advance(x, askers);
            __syncwarp();
        }
        if constexpr (Wide) { // constants, for which no register is taken
            packed = packed_stage_place(step + 1, at.packed_stages);
            bytes = packed_stage_place(step + 1, at.byte_stages);
        } else {
            packed.advance(at.packed_stages);
            bytes.advance(at.byte_stages);
        }
        if (step + 1 < count)
            read();
    }
#pragma unroll
    for (int i = 0; i < sum_count; i++) {
        auto& sum = sums[i];
#pragma unroll
        for (int other = 16; other >= 8; other /= 2) {
            sum.re += __shfl_xor_sync(~0u, sum.re, other);
            sum.im += __shfl_xor_sync(~0u, sum.im, other);
        }
        const int piece = Wide ? 2 * i : i;
        int2& of_column = m.column_sums[(group + group_of(piece)) * rows + lane % rows];
        if (lane < rows) {
            atomicAdd(&of_column.x, int(sum.re / 16));
            atomicAdd(&of_column.y, int(sum.im));
        }
    }
    arrive(&m.done);
}

//! Calls expand() for the number of pieces that this warp has, which is found once and
//! not in each step.
__device__ __forceinline__ void
expand_pieces(const extents& x, const packed_maps& voltages, shared_memory& m, int warp)
{
    constexpr int together = producers / 2; // groups of rows
    const int groups = m.mine.tile_rows * tile_row / piece_rows -
                       (max(0, -m.mine.column) / piece_rows + warp / 2);
    switch (uniform((groups + together - 1) / together)) {
#define APERTURE_PIECES(n) \
    case n:                \
        return expand<false, n>(x, voltages, m, warp);
        APERTURE_PIECES(1)
        APERTURE_PIECES(2)
        APERTURE_PIECES(3)
        APERTURE_PIECES(4)
        APERTURE_PIECES(5)
        APERTURE_PIECES(6)
#undef APERTURE_PIECES
    default:
        return expand<false, 0>(x, voltages, m, warp);
    }
}

//! The sums R and I of the two rows of a lane, which are 8 apart.
struct row_sums {
    int re[2], im[2];
};

/*!
 * Epilogue of a consumer: adds its products to the sums of the channel.
 * \param rows of this warp
 * \param inputs of the X-engine
 */
template <int Tiles>
__device__ __forceinline__ void add_to_sums(const int (&products)[forms][8 * Tiles],
                                            const row_sums& row,
                                            const int2* column_sums,
                                            const part& p,
                                            const row_part& mine,
                                            product_rows& rows,
                                            unsigned long long* sums,
                                            int inputs)
{
    constexpr int most = product_rows::most_columns / tile; // tiles at a time
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    column_sums += mine.first * tile;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int R = row.re[half], I = row.im[half];
        const int of_re = 128 * p.times - 8 * (R + I), of_im = 8 * (R - I);
#pragma unroll
        for (int first = 0; first < Tiles; first += most) {
            const int end = min(first + most, Tiles);
#pragma unroll
            for (int i = 2 * first; i < 2 * end; i++) {
                const int4 column =
                    reinterpret_cast<const int4*>(column_sums)[i * 4 + lane % 4];
                const auto put = [&](int k, int U, int V) {
                    const int place = i * 4 + 2 * half + k;
                    const unsigned RU = products[0][place]; // 256 times too large
                    const unsigned IV = products[1][place], third = products[2][place];
                    const int re = int(RU >> 8) + int(IV) + of_re - 8 * (U + V);
                    const int im =
                        of_im + 7 * U + 8 * V - int((third - RU + IV - 15 * V) >> 4);
                    rows.put(8 * i - tile * first, k, re, im);
                };
                put(0, column.x, column.y);
                put(1, column.z, column.w);
            }
            rows.ready();
            for (int from = first, to; from < end;
                 from = to) { // tiles of one row of tiles of columns
                const int column = mine.first + from, s = column / tile_row_tiles;
                to = min(end, (s + 1) * tile_row_tiles - mine.first);
                rows.add_to(sums,
                            inputs,
                            p.row_of(mine.tile_row) +
                                (warp * 2 + half) * product_rows::inputs,
                            p.column_of(s) + column % tile_row_tiles * tile,
                            (from - first) * tile,
                            (to - from) * tile);
            }
            rows.next();
        }
    }
    rows.finish();
}

template <int Tiles>
using tile_row_products = int[forms][tile * Tiles / 2];

/*!
 * Mainloop of a consumer: makes the products of a row of tiles. Rows that are among the
 * columns are read as bytes of the third form, own ones as packed samples, with -8. While
 * two of the three products are under way the operand of the third is made.
 */
template <int Tiles, bool Own>
__device__ __forceinline__ void multiply_tile_row(const extents& x,
                                                  shared_memory& m,
                                                  const row_part& mine,
                                                  tile_row_products<Tiles>& products,
                                                  row_sums& row)
{
    constexpr uint32_t flip = Own ? column_flip : 0, third_flip = flip ^ lower;
    const stages<Own && !roomy(Tiles, Tiles)> at(m.mine);
    const barriers ring(m.mine);
    const int count = uniform(m.mine.count);
    const int lane = threadIdx.x % 32, lane_row = lane % 16;
    const uint32_t lane_offset = uniform(mine.tile_row) * tile_row_bytes +
                                 (Own ? 0 : third_form * at.form_bytes) +
                                 (threadIdx.x / 32 % 4 * 16 + lane_row) * box_row +
                                 16 * (lane / 16 ^ lane_row % 8);
    const uint32_t columns_offset = uniform(mine.first) * tile * box_row;
    step_halves halves(m.mine);
    uint32_t words[4], re[4], im[4], third[4];
    unsigned re_sums[2] = {}, im_sums[2] = {};
    const uint32_t one = m.mine.one;
    int stage = 0; // stage of packed samples
    packed_stage_place at_bytes;
#pragma unroll 1
    for (int step = 0; step < count; step++) {
        const int k_steps = halves.next() * (half_times / k_times);
        // The producers have waited for the packed samples of the rows, too, before they
        // made the bytes.
        ring.bytes().consumer_wait(at_bytes);
        const uint32_t bytes = at.bytes_at(at_bytes.stage());
        const rows_matrix<8 * box_row> step_columns(bytes + columns_offset);
        const uint32_t from = (Own ? at.packed_at(stage) : bytes) + lane_offset;
        load_matrices(words, from);
        // Not unrolled: operands for four products at a time would need more registers
        // than there are.
#pragma unroll 1
        for (int k = 0; k < k_steps; k++) {
            const auto columns = step_columns.after(k_times * k);
            const auto multiply = [&](int form, const uint32_t(&a)[4]) {
                wgmma_fence();
                wgmma<uint8_t, tile * Tiles>(products[form],
                                             a[0],
                                             a[1],
                                             a[2],
                                             a[3],
                                             columns.descriptor(form * at.form_bytes),
                                             step > 0 || k > 0);
                wgmma_commit();
            };
            if constexpr (Own)
#pragma unroll
                for (auto& w : words)
                    w = clamped(w, one);
            wgmma_wait<2>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                re[i] = flipped(words[i], flip, upper);
            multiply(0, re);
            wgmma_wait<2>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                im[i] = flipped(words[i], flip, lower);
            multiply(1, im);
            wgmma_wait<2>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                third[i] = words[i] ^ third_flip;
            if (k + 1 < k_steps)
                load_matrices(words, from ^ (k_times * (k + 1)));
            multiply(2, third);
            if constexpr (Own)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    add_bytes(re_sums[i % 2], re[i]);
                    add_bytes(im_sums[i % 2], im[i]);
                }
        }
        // Not while the next step is multiplied: for that, its bytes must be there first.
        wgmma_wait<0>();
        ring.bytes().consumer_release(at_bytes); // each lane for what it read
        at_bytes.advance(at.byte_stages);
        if (Own && ++stage == at.packed_stages)
            stage = 0;
    }
    if constexpr (Own)
#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
            for (int other = 2; other > 0; other /= 2) {
                re_sums[half] += __shfl_xor_sync(~0u, re_sums[half], other);
                im_sums[half] += __shfl_xor_sync(~0u, im_sums[half], other);
            }
            row.re[half] = re_sums[half] / 16;
            row.im[half] = im_sums[half];
        }
}

//! The part of the work of a consumer: a row of tiles with Tiles tiles of
//! columns.
template <int Tiles, bool Own>
__device__ __forceinline__ void
sum_tile_row(const extents& x, shared_memory& m, unsigned long long* sums)
{
    take_registers<consumer_registers(Tiles)>();
    const int consumer = uniform(threadIdx.x / 128);
    tile_row_products<Tiles> products;
    row_sums row;
    if (uniform(m.mine.count) == 0)
        return;
    multiply_tile_row<Tiles, Own>(x, m, m.mine.consumer[consumer], products, row);
    arrive(&m.done); // each lane for what it read
    wait_for(&m.done, 0);
    const part& p = m.mine;
    const row_part& mine = p.consumer[consumer];
    if constexpr (!Own)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int2 as_column =
                m.column_sums[mine.tile_row * tile_row + threadIdx.x / 32 % 4 * 16 +
                              8 * half + threadIdx.x % 32 / 4];
            row.re[half] = as_column.x;
            row.im[half] = as_column.y;
        }
    product_rows rows(first_stage() + threadIdx.x / 32 * product_rows::bytes);
    add_to_sums<Tiles>(products,
                       row,
                       m.column_sums,
                       p,
                       mine,
                       rows,
                       sums + 2 * p.channel * product_index(x.inputs, 0),
                       x.inputs);
}

//! A consumer's part of the work.
__device__ __forceinline__ void
multiply(const extents& x, shared_memory& m, unsigned long long* sums)
{
    const int consumer = uniform(threadIdx.x / 128);
    const int tiles = uniform(m.mine.consumer[consumer].tiles);
    const bool own = uniform(m.mine.owns(m.mine.consumer[consumer].tile_row));
    switch (own ? most_tiles + tiles : tiles) {
#define APERTURE_TILES(n)                          \
    case n:                                        \
        return sum_tile_row<n, false>(x, m, sums); \
    case most_tiles + n:                           \
        return sum_tile_row<n, true>(x, m, sums);
        APERTURE_TILES(1)
        APERTURE_TILES(2)
        APERTURE_TILES(3)
        APERTURE_TILES(4)
        APERTURE_TILES(5)
        APERTURE_TILES(6)
        APERTURE_TILES(7)
        APERTURE_TILES(8)
#undef APERTURE_TILES
    default: // nothing to multiply; the stages still pass
        const barriers ring(m.mine);
        const int byte_stages = stages<false>(m.mine).byte_stages;
        packed_stage_place at;
        for (int step = 0; step < m.mine.count; step++) {
            ring.bytes().consumer_wait(at);
            ring.bytes().consumer_release(at);
            at.advance(byte_stages);
        }
        arrive(&m.done);
    }
}

//! The kernel. A thread block makes one work tile of one channel over a part of the time.
__global__ void __launch_bounds__(threads, 1)
    sum_work_tiles(const __grid_constant__ packed_maps voltages,
                   const work_tile* __restrict__ work_tiles,
                   unsigned long long* sums,
                   const __grid_constant__ extents x)
{
    __shared__ shared_memory m;
    if (threadIdx.x < most_tile_rows * tile_row)
        m.column_sums[threadIdx.x] = {};
    if (threadIdx.x == 0) {
        m.mine = part(x, work_tiles, x.blocks.of(blockIdx.x));
        m.mine.barriers = shared_address(static_cast<pipelines*>(&m));
        for (int i = 0; i < most_packed_stages; i++)
            init_barrier(m.packed_full + i, 1);
        for (int i = 0; i < most_byte_stages; i++) {
            m.bytes.init(i, 32 * producers, 128 * consumers);
        }
        init_barrier(&m.done, threads);
        fence_barriers();
    }
    __syncthreads();
    const int warp = uniform(threadIdx.x / 32);
    if (warp < 4 * consumers)
        multiply(x, m, sums);
    else if (uniform(roomy(m.mine.consumer[0].tiles, m.mine.consumer[1].tiles))) {
        give_registers<more_registers>();
        expand_pieces(x, voltages, m, warp - 4 * consumers);
    } else {
        give_registers<few_registers>();
        expand<true, 2 * tile_row / piece_rows * 2 / producers>(
            x, voltages, m, warp - 4 * consumers);
    }
}

class wgmma_sc4_xengine : public integer_xengine
{
public:
    wgmma_sc4_xengine(const xengine::parameters& p, gpu_facts gpu) : d_p(p), d_gpu(gpu)
    {
        const auto work_tiles = all_work_tiles(p.inputs);
        d_work_tiles = device_array<work_tile>(work_tiles.size());
        start_with(d_work_tiles.data(), work_tiles);
        load(sum_work_tiles, shared_bytes);
    }

    void accumulate(const void* voltages,
                    int frames,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.inputs = d_p.inputs;
        x.steps = (d_p.spectra_per_frame + step_times - 1) / step_times;
        x.last_halves = (d_p.spectra_per_frame - 1) % step_times < half_times ? 1 : 2;
        x.one = 1;
        x.blocks = schedule(d_p.channels,
                            int(d_work_tiles.size()),
                            x.steps * frames,
                            exact_times / step_times,
                            d_gpu.multiprocessors,
                            1024 / step_times);
        const auto map_of = [&](int inputs) {
            return make_tensor_map(
                voltages,
                { d_p.spectra_per_frame, d_p.inputs, d_p.channels, frames },
                box_row,
                inputs,
                1);
        };
        const packed_maps maps{ map_of(tile_row), map_of(2 * tile_row) };
        sum_work_tiles<<<x.blocks.blocks(), threads, shared_bytes, s>>>(
            maps, d_work_tiles.data(), sums, x);
        check_launch("wgmma X-engine of packed");
    }

private:
    static constexpr int shared_bytes =
        memory_tile_rows * tile_row_bytes + 1024; // the last bytes are for alignment
    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    device_array<work_tile> d_work_tiles;
};

} // namespace

std::unique_ptr<integer_xengine> make_wgmma_sc4_xengine(const xengine::parameters& p,
                                                        gpu_facts gpu)
{
    return std::make_unique<wgmma_sc4_xengine>(p, gpu);
}

} // namespace gr::aperture::kernels::cuda
