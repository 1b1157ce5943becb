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
#include <type_traits>
#include <climits>
#include <vector>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

constexpr int unit = 32;  // inputs of a strip: 64 rows of an operand, turned ones too
constexpr int wide = 8;   // units of columns that a strip has at most
constexpr int narrow = 4; // the same where bytes of columns are made of nibbles
constexpr int crews =
    3; // warp groups of a block that multiply: what the registers are for
constexpr int threads = 128 * (crews + 1);
// of a thread, once the fourth warp group has given away what it does not need
constexpr int crew_registers = 160, helper_registers = 32;
constexpr int most_stages = 12;
constexpr int step_times = 64; // that a stage of the ring holds of each input
constexpr int expanders = 3;   // warps that make bytes of nibbles
constexpr int packed_row = 64; // bytes of a step of a row of nibbles

/*!
 * A strip is the products of 32 inputs a with some units of inputs b. A warp group has up
 * to two, whose sums fill its registers: first and second are their units of columns. Its
 * rows are unit `row` of the columns, or, from `wide` on, one of the job's own.
 */
struct strips {
    int8_t first, second; // units of columns, 0 for none
    int8_t row, second_row;
};

/*!
 * What a thread block does for one channel: strips that share their columns, the inputs
 * from `column` on. Their rows are among the same inputs (on the diagonal) or among the
 * `own` units of inputs from `row` on.
 */
struct job {
    int column, row, own;
    strips crew[crews];
};

struct extents {
    int inputs, channels, splits;
    int jobs;    // of a channel, a multiple of shared
    int shared;  // jobs one after the other that have the same columns
    int columns; // inputs in a stage, and behind them the jobs' own
    int stages, stage_bytes;
    int steps;  // of step_times, in a block of voltages
    int total;  // steps of all blocks of voltages
    int length; // steps of a split; the last may be shorter, or empty
};

using crew_units = std::initializer_list<std::initializer_list<int>>;

/*!
 * Strips on the diagonal: that of unit k has k + 1 units of columns. Numbers above `wide`
 * stand for strips of `wide` units whose rows are the job's own.
 */
job diagonal_job(int column, int row, const crew_units& crew)
{
    job made{ column, row, 0, {} };
    int number = 0;
    for (const auto& units : crew) {
        strips& mine = made.crew[number++];
        int8_t* const width[] = { &mine.first, &mine.second };
        int8_t* const rows[] = { &mine.row, &mine.second_row };
        int i = 0;
        for (int n : units) {
            *width[i] = int8_t(std::min(n, wide));
            *rows[i++] = int8_t(n - 1);
            made.own = std::max(made.own, n - wide);
        }
    }
    return made;
}

//! A triangle of up to 6 strips in one job.
std::vector<job> one_diagonal_job(int column, int strips_in_triangle)
{
    const auto make = [column](const crew_units& crew) {
        return std::vector<job>{ diagonal_job(column, column, crew) };
    };
    switch (strips_in_triangle) {
    case 1:
        return make({ { 1 } });
    case 2:
        return make({ { 2 }, { 1 } });
    case 3:
        return make({ { 3 }, { 2 }, { 1 } });
    case 4:
        return make({ { 4 }, { 3 }, { 2, 1 } });
    case 5:
        return make({ { 5 }, { 4, 1 }, { 3, 2 } });
    default:
        return make({ { 6, 1 }, { 5, 2 }, { 4, 3 } });
    }
}

/*!
 * A triangle of up to 8 strips in two jobs that take about the same time, 9 with the
 * strip below it, whose rows are the inputs from `row` on.
 */
std::vector<job> two_diagonal_jobs(int column, int row, int strips_in_triangle)
{
    const auto make = [column, row](const crew_units& a, const crew_units& b) {
        return std::vector<job>{ diagonal_job(column, row, a),
                                 diagonal_job(column, row, b) };
    };
    switch (strips_in_triangle) {
    case 1:
        return make({ { 1 } }, {});
    case 2:
        return make({ { 2 } }, { { 1 } });
    case 3:
        return make({ { 3 } }, { { 2 }, { 1 } });
    case 4:
        return make({ { 4 }, { 1 } }, { { 3 }, { 2 } });
    case 5:
        return make({ { 5 }, { 2 } }, { { 4 }, { 3 }, { 1 } });
    case 6:
        return make({ { 6 }, { 4 } }, { { 5 }, { 3 }, { 2, 1 } });
    case 7:
        return make({ { 7 }, { 4 }, { 3 } }, { { 6 }, { 5 }, { 2, 1 } });
    case 8:
        return make({ { 8 }, { 6 }, { 4 } }, { { 7 }, { 5, 1 }, { 3, 2 } });
    default:
        return make({ { 8 }, { 7 }, { 6, 1 } }, { { 9 }, { 5, 2 }, { 4, 3 } });
    }
}

/*!
 * All products of so many strips: triangles of up to 8 on the diagonal, and what
 * is below them. Jobs that share their columns follow each other, `shared` at a time.
 */
std::vector<job> all_jobs(int strip_count)
{
    constexpr int shared = 2;
    std::vector<job> jobs;
    for (int column = 0; column < strip_count; column += wide) {
        const int in_triangle = std::min(wide, strip_count - column);
        int row = column + wide;
        int below = std::max(0, strip_count - row);
        const bool one_more = below % (shared * crews) == 1;
        for (const auto& j : two_diagonal_jobs(
                 column * unit, row * unit, one_more ? wide + 1 : in_triangle))
            jobs.push_back(j);
        row += one_more;
        below -= one_more;
        const int count = (below + shared * crews - 1) / (shared * crews) * shared;
        for (int i = 0; i < count; i++) {
            const int first = below * i / count, end = below * (i + 1) / count;
            job j{ column * unit, (row + first) * unit, end - first, {} };
            for (int crew = 0; crew < j.own; crew++)
                j.crew[crew] = { wide, 0, int8_t(wide + crew), 0 };
            jobs.push_back(j);
        }
    }
    return jobs;
}

/*!
 * All products of so many strips in jobs of up to `narrow` units of columns and 6 strips,
 * two for each crew: where bytes of columns are made of nibbles, few columns are little
 * work.
 */
std::vector<job> narrow_jobs(int strip_count)
{
    constexpr int most = 2 * crews;
    std::vector<job> jobs;
    for (int column = 0; column < strip_count; column += narrow) {
        const int count = strip_count - column;
        const int parts = (count + most - 1) / most;
        for (int i = 0; i < parts; i++) {
            const int begin = (count * i + parts - 1) / parts;
            const int end = (count * (i + 1) + parts - 1) / parts;
            const int own =
                std::max(begin, narrow); // the first that is not a column, too
            job j{ column * unit, (column + own) * unit, std::max(0, end - own), {} };
            // from wide to narrow, and back to the first crew
            for (int strip = end - 1, n = 0; strip >= begin; strip--, n++) {
                const auto width = int8_t(std::min(strip + 1, narrow));
                const auto row = int8_t(strip < narrow ? strip : wide + strip - own);
                if (n < crews) {
                    j.crew[n].first = width;
                    j.crew[n].row = row;
                } else {
                    j.crew[2 * crews - 1 - n].second = width;
                    j.crew[2 * crews - 1 - n].second_row = row;
                }
            }
            jobs.push_back(j);
        }
    }
    return jobs;
}

template <int Units>
using units_of = std::integral_constant<int, Units>;

/*!
 * The sums of a strip. One instruction for the columns of more than 6 units would need
 * more registers than a thread has when the kernel starts.
 */
template <int Units>
struct strip_sums {
    static constexpr int left_units = Units > 6 ? 4 : Units;
    static constexpr int right_units = Units - left_units;
    int left[16 * left_units];
    int right[right_units ? 16 * right_units : 1];
};

/*!
 * A lane's part of a strip's rows in a stage, from which operands are made: of bytes,
 * where it lies.
 */
template <bool Packed, int Products>
struct stage_rows {
    uint32_t address;

    //! Where a lane's row begins, from the start of a stage.
    __device__ static uint32_t lane_offset(int first_row)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int row = lane % 8, piece = lane / 8 % (2 * Products);
        return (first_row + 8 * warp + row) * box_row + 16 * (piece ^ row);
    }
    //! from: a stage, a multiple of 1024, and the lane's offset
    __device__ __forceinline__ void read(uint32_t from) { address = from; }
};

//! Of nibbles, all of them, a word for each product: reading and clamping takes long.
template <int Products>
struct stage_rows<true, Products> {
    uint32_t words[4];

    __device__ static uint32_t lane_offset(int first_row)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int row = lane % 8, piece = lane / 8;
        return (first_row + 8 * warp + row) * packed_row + 16 * (piece ^ row / 2);
    }
    __device__ __forceinline__ void read(uint32_t from)
    {
        load_matrices(words, from);
#pragma unroll
        for (auto& nibbles : words)
            nibbles = clamped(nibbles);
    }
};

/*!
 * Words of 32 inputs' rows for `Products` products along the summed axis, 1 or 2 of the 4
 * that a stage has; in the order of wgmma().
 */
template <int Products>
struct operand {
    uint32_t words[Products][4];

    __device__ __forceinline__ void make(const stage_rows<false, Products>& rows,
                                         int part)
    {
        uint32_t loaded[2 * Products];
        load_matrices(loaded, rows.address ^ (32 * Products * part));
#pragma unroll
        for (int k = 0; k < Products; k++) {
            words[k][0] = loaded[2 * k];
            words[k][1] = turned(loaded[2 * k]);
            words[k][2] = loaded[2 * k + 1];
            words[k][3] = turned(loaded[2 * k + 1]);
        }
    }
    //! Real parts of 16 times, then imaginary parts: as in the columns.
    __device__ __forceinline__ void make(const stage_rows<true, Products>& rows, int part)
    {
#pragma unroll
        for (int k = 0; k < Products; k++) {
            const uint32_t nibbles = rows.words[part * Products + k];
            uint32_t(&made)[4] = words[k];
            made[0] = real_parts(nibbles);
            made[1] = made[2] = imaginary_parts(nibbles);
            made[3] = negative_real_parts(nibbles);
            // here, and not between the instructions that read them: wgmma would wait
            asm volatile("" : "+r"(made[0]), "+r"(made[1]), "+r"(made[2]), "+r"(made[3]));
        }
    }

    //! columns: where the stage's are
    template <int Units>
    __device__ __forceinline__ void
    multiply(strip_sums<Units>& sums, uint64_t columns, int part, int k, bool add) const
    {
        const auto some = [&](auto units, auto& of, uint64_t from) {
            wgmma<decltype(units)::value>(of,
                                          words[k][0],
                                          words[k][1],
                                          words[k][2],
                                          words[k][3],
                                          // 32 bytes on are 2 in the descriptor
                                          from + 2 * (part * Products + k),
                                          add);
        };
        using s = strip_sums<Units>;
        some(units_of<s::left_units>(), sums.left, columns);
        if constexpr (s::right_units > 0)
            some(units_of<s::right_units>(),
                 sums.right,
                 columns + s::left_units * unit * box_row / 16);
    }
};

/*!
 * Adds a strip to the sums of its channel.
 * \param alone no other thread block adds to them: reading and writing 16 bytes at a time
 * is a good deal faster than atomic additions
 */
template <int Units, bool Packed>
__device__ __forceinline__ void add_to_sums(const int (&strip)[16 * Units],
                                            unsigned long long* sums,
                                            int inputs,
                                            int first_row,
                                            int first_column,
                                            bool alone)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int a = first_row + 8 * warp + lane / 4;
    const int first_b = first_column + 2 * (lane % 4);
    if (a >= inputs)
        return;
    auto* row = reinterpret_cast<longlong2*>(sums + 2 * product_index(a, 0));
    const auto number = [](int i) { return i / 2 * 8 + i % 2; }; // of a lane's column
    constexpr int together = 4; // reads on their way: as registers allow
#pragma unroll
    for (int i = 0; i < 8 * Units; i += together) {
        if (alone) {
            longlong2 v[together];
#pragma unroll
            for (int k = 0; k < together; k++)
                if (const int b = first_b + number(i + k); b <= a)
                    v[k] = __ldcg(row + b);
#pragma unroll
            for (int k = 0; k < together; k++)
                if (const int b = first_b + number(i + k); b <= a) {
                    const int place = (i + k) / 2 * 4 + k % 2;
                    v[k].x += unscaled<Packed>(strip[place]);
                    v[k].y += unscaled<Packed>(strip[place + 2]);
                    __stcg(row + b, v[k]);
                }
        } else {
#pragma unroll
            for (int k = 0; k < together; k++)
                if (const int b = first_b + number(i + k); b <= a) {
                    const int place = (i + k) / 2 * 4 + k % 2;
                    auto* sum = reinterpret_cast<unsigned long long*>(row + b);
                    add_atomically(sum, unscaled<Packed>(strip[place]));
                    add_atomically(sum + 1, unscaled<Packed>(strip[place + 2]));
                }
        }
    }
}

//! Where a warp is in a ring of stages, and which phase of their barriers comes next: in
//! one register, of which warps that multiply have none left.
class place
{
public:
    __device__ int stage() const { return int(d_place & 0xff); }
    __device__ int parity() const { return int(d_place >> 8); }
    __device__ void advance(int stages)
    {
        d_place = stage() + 1 == stages ? ~d_place & 0x100 : d_place + 1;
    }
    __device__ int before(int stages) const { return (stage() ? stage() : stages) - 1; }

private:
    unsigned d_place = 0;
};

//! A thread block's part of the work.
struct part {
    int number, split, channel;
    __device__ part(const extents& x, int block)
    {
        const int groups = x.jobs / x.shared, group = block / x.shared;
        number = group % groups * x.shared + block % x.shared;
        split = group / groups % x.splits;
        channel = group / groups / x.splits;
    }
    __device__ int begin(const extents& x) const { return split * x.length; }
    __device__ int count(const extents& x) const
    {
        return max(0, min(x.length, x.total - begin(x)));
    }
};

/*!
 * The barriers of a thread block's ring of stages, which hold the voltages of step_times:
 * bytes of all rows, which the copy engine fills; or bytes of the columns, which the
 * expanders make, and behind them nibbles of all rows, from the copy engine.
 */
struct ring {
    uint64_t full[most_stages], empty[most_stages];
    uint64_t packed_full[most_stages]; // of nibbles
};

//! Of a thread block's dynamic shared memory.
__device__ __forceinline__ uint32_t stage_address(const extents& x, int stage)
{
    extern __shared__ uint8_t unaligned[];
    return ((shared_address(unaligned) + 1023) & ~1023u) + stage * x.stage_bytes;
}

//! Where the rows are that the copy engine brings, from the start of a stage.
template <bool Packed>
__device__ __forceinline__ uint32_t copied_offset(const extents& x)
{
    return Packed ? x.columns * box_row : 0;
}

/*!
 * One thread's: asks for the boxes of all steps. Thread blocks that share their columns
 * get a part of them each, and send it to all.
 */
template <bool Packed>
__device__ __forceinline__ void feed(const extents& x,
                                     const CUtensorMap& columns,
                                     const CUtensorMap& rows,
                                     const job* jobs,
                                     ring& r)
{
    constexpr int row_bytes = Packed ? packed_row : box_row;
    uint64_t* const full = Packed ? r.packed_full : r.full;
    const int rank = int(rank_in_cluster()), share = x.columns / x.shared;
    place at;
    const part p(x, blockIdx.x);
    const job j = jobs[p.number];
    int block = p.begin(x) / x.steps, step = p.begin(x) % x.steps;
    for (int i = p.count(x); i > 0; i--) {
        wait_for(r.empty + at.stage(), at.parity() ^ 1);
        uint64_t* const barrier = full + at.stage();
        const uint32_t to = stage_address(x, at.stage()) + copied_offset<Packed>(x);
        const int byte = step * row_bytes;
        arrive_expecting(barrier, (x.columns + j.own * unit) * row_bytes);
        if (x.shared == 1)
            copy_box(to, &columns, barrier, byte, j.column, p.channel, block);
        else
            copy_box_to_all(to + rank * share * row_bytes,
                            &columns,
                            barrier,
                            byte,
                            j.column + rank * share,
                            p.channel,
                            block,
                            uint16_t((1 << x.shared) - 1));
        for (int own = 0; own < j.own; own++)
            copy_box(to + (x.columns + own * unit) * row_bytes,
                     &rows,
                     barrier,
                     byte,
                     j.row + own * unit,
                     p.channel,
                     block);
        at.advance(x.stages);
        if (++step == x.steps) {
            step = 0;
            block++;
        }
    }
}

//! A warp does not need a stage any more, which is filled by all that share columns.
__device__ __forceinline__ void release(const extents& x, uint64_t* empty)
{
    __syncwarp();
    if (const unsigned lane = threadIdx.x % 32; lane < unsigned(x.shared))
        arrive_at(empty, lane);
}

/*!
 * Some warps': makes bytes of the columns' nibbles, 16 times their value, so that sums
 * are 256 times theirs. 16 times become two pieces of a row, real parts and imaginary
 * parts. Warps take 8 rows at a time in turn, from one step to the next.
 */
__device__ __forceinline__ void expand(const extents& x, ring& r, int warp)
{
    constexpr int rows = 8, together = 2;
    const int lane = threadIdx.x % 32, row = lane / 4;
    const int piece = lane % 4 ^ row / 2; // what lies in the lane's place
    const uint32_t from = copied_offset<true>(x) + 16 * lane;
    const uint32_t to = row * box_row + 16 * (2 * piece ^ row);
    const int all = x.columns / rows;
    const auto make = [](uint32_t at, const uint4& v) {
        const uint4 w = { clamped(v.x), clamped(v.y), clamped(v.z), clamped(v.w) };
        store_shared(
            at, { real_parts(w.x), real_parts(w.y), real_parts(w.z), real_parts(w.w) });
        store_shared(at ^ 16,
                     { imaginary_parts(w.x),
                       imaginary_parts(w.y),
                       imaginary_parts(w.z),
                       imaginary_parts(w.w) });
    };
    place at;
    int i = warp;
    for (int left = part(x, blockIdx.x).count(x); left > 0; left--) {
        wait_for(r.packed_full + at.stage(), at.parity());
        const uint32_t stage = stage_address(x, at.stage());
        uint32_t nibbles = stage + from + i * rows * packed_row;
        uint32_t bytes = stage + to + i * rows * box_row;
        constexpr int more = expanders * rows;
#pragma unroll 1
        for (; i + expanders < all; i += together * expanders) {
            const uint4 v = load_shared(nibbles);
            const uint4 w = load_shared(nibbles + more * packed_row);
            make(bytes, v);
            make(bytes + more * box_row, w);
            nibbles += together * more * packed_row;
            bytes += together * more * box_row;
        }
        if (i < all) {
            make(bytes, load_shared(nibbles));
            i += expanders;
        }
        i -= all;
        fence_async();
        __syncwarp();
        if (lane == 0)
            arrive(r.full + at.stage());
        at.advance(x.stages);
    }
}

/*!
 * What a warp group does for a part of the work: its strips' sums over all steps. While
 * the tensor cores work on a part of a stage, the operands of the next part are made.
 */
template <int First, int Second, bool Packed>
__device__ __forceinline__ void
sum_strips(const extents& x, const job* jobs, ring& r, unsigned long long* sums)
{
    // with many sums there are registers for small operands only
    constexpr int products = !Packed && First + (Second ? Second + 1 : 0) <= 5 ? 2 : 1;
    constexpr int parts = 4 / products;
    // 8 units leave none for operands that are made while others are multiplied; those of
    // two strips are made in turn
    constexpr int buffers = First + Second < wide ? 2 : 1;
    constexpr bool in_turn = Second > 0 && buffers == 1;
    strip_sums<First> first;
    strip_sums<Second ? Second : 1> second;
    place at;
    {
        constexpr int first_step = INT_MIN; // a bit beside the number of steps
        int left;
        uint32_t first_at, second_at; // where its rows are in a stage
        {
            const part p(x, blockIdx.x);
            left = p.count(x) | first_step;
            const strips& mine = jobs[p.number].crew[threadIdx.x / 128];
            const auto offset = [&x](int row) {
                return copied_offset<Packed>(x) +
                       stage_rows<Packed, products>::lane_offset(
                           row < wide ? row * unit : x.columns + (row - wide) * unit);
            };
            first_at = offset(mine.row);
            second_at = offset(mine.second_row);
        }
        if (left == first_step)
            return;
        stage_rows<Packed, products> rows, second_rows;
        operand<products> operands[buffers], second_operands[buffers];
        const auto make = [&](int part) { operands[part % buffers].make(rows, part); };
        const auto make_second = [&](int part) {
            if constexpr (Second > 0)
                second_operands[part % buffers].make(second_rows, part);
        };
        const auto begin_stage = [&] {
            // whoever expanded the columns had waited for the nibbles of the rows, too
            wait_for(r.full + at.stage(), at.parity());
            rows.read(stage_address(x, at.stage()) + first_at);
            if constexpr (Second > 0)
                second_rows.read(stage_address(x, at.stage()) + second_at);
            make(0);
            if constexpr (!in_turn)
                make_second(0);
        };
        begin_stage();
        while (true) {
            const bool add = left >= 0;
            const uint64_t columns = rows_descriptor(stage_address(x, at.stage()));
            const auto multiply = [&](auto& sums, const auto& operands, int part) {
#pragma unroll
                for (int k = 0; k < products; k++)
                    operands[part % buffers].multiply(
                        sums, columns, part, k, add || part > 0 || k > 0);
            };
            const auto leave_stage_before = [&] { // its last part is done
                if (add)
                    release(x, r.empty + at.before(x.stages));
            };
#pragma unroll
            for (int part = 0; part < parts; part++) {
                wgmma_fence();
                multiply(first, operands, part);
                if constexpr (in_turn) {
                    wgmma_commit();
                    wgmma_wait<0>();
                    if (part == 0)
                        leave_stage_before();
                    make_second(part);
                    wgmma_fence();
                }
                if constexpr (Second > 0)
                    multiply(second, second_operands, part);
                wgmma_commit();
                wgmma_wait<buffers - 1>(); // the part before is done, its operands can go
                if (part == 0 && !in_turn)
                    leave_stage_before();
                if (part + 1 < parts) {
                    make(part + 1);
                    if constexpr (!in_turn)
                        make_second(part + 1);
                }
            }
            at.advance(x.stages);
            left = (left & ~first_step) - 1;
            if (left == 0)
                break;
            begin_stage();
        }
        wgmma_wait<0>();
        release(x, r.empty + at.before(x.stages));
    }
    // found again: registers are too short to keep it
    int block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    const part p(x, block);
    const job& j = jobs[p.number];
    const strips& mine = j.crew[threadIdx.x / 128];
    unsigned long long* channel_sums = sums + 2 * p.channel * product_index(x.inputs, 0);
    const auto add = [&](auto& strip, int row) {
        using s = std::decay_t<decltype(strip)>;
        const int input =
            row < wide ? j.column + row * unit : j.row + (row - wide) * unit;
        const bool alone = x.splits == 1;
        add_to_sums<s::left_units, Packed>(
            strip.left, channel_sums, x.inputs, input, j.column, alone);
        if constexpr (s::right_units > 0)
            add_to_sums<s::right_units, Packed>(strip.right,
                                                channel_sums,
                                                x.inputs,
                                                input,
                                                j.column + s::left_units * unit,
                                                alone);
    };
    add(first, mine.row);
    if constexpr (Second > 0)
        add(second, mine.second_row);
}

//! Whether a warp group may have such strips: others are not compiled.
constexpr bool occurs(bool packed, int first, int second)
{
    const bool in_narrow_jobs_only = first == narrow && (second == 2 || second == 4);
    return packed ? first <= 6 : !in_narrow_jobs_only;
}

//! A warp group's part of the work.
template <bool Packed>
__device__ __forceinline__ void
multiply(const extents& x, const job* jobs, ring& r, unsigned long long* sums)
{
    const part p(x, blockIdx.x);
    const strips& mine = jobs[p.number].crew[threadIdx.x / 128];
    switch (mine.first * (wide + 1) + mine.second) {
#define APERTURE_STRIPS(first, second)                           \
    case first*(wide + 1) + second:                              \
        if constexpr (occurs(Packed, first, second))             \
            sum_strips<first, second, Packed>(x, jobs, r, sums); \
        break;
        APERTURE_STRIPS(1, 0)
        APERTURE_STRIPS(2, 0)
        APERTURE_STRIPS(2, 1)
        APERTURE_STRIPS(3, 0)
        APERTURE_STRIPS(3, 2)
        APERTURE_STRIPS(4, 0)
        APERTURE_STRIPS(4, 1)
        APERTURE_STRIPS(4, 2)
        APERTURE_STRIPS(4, 3)
        APERTURE_STRIPS(4, 4)
        APERTURE_STRIPS(5, 0)
        APERTURE_STRIPS(5, 1)
        APERTURE_STRIPS(5, 2)
        APERTURE_STRIPS(6, 0)
        APERTURE_STRIPS(6, 1)
        APERTURE_STRIPS(7, 0)
        APERTURE_STRIPS(8, 0)
#undef APERTURE_STRIPS
    default: // nothing to sum; the stages still pass
        place at;
        for (int left = p.count(x); left > 0; left--) {
            wait_for(r.full + at.stage(), at.parity());
            release(x, r.empty + at.stage());
            at.advance(x.stages);
        }
    }
}

/*!
 * A block: one job of one channel and a part of the time. Three warp groups multiply, all
 * from the same stages; the fourth feeds them, and expands nibbles.
 */
template <bool Packed>
__global__ void __launch_bounds__(threads, 1)
    sum_jobs(const __grid_constant__ CUtensorMap columns,
             const __grid_constant__ CUtensorMap rows,
             const job* __restrict__ jobs,
             unsigned long long* sums,
             const __grid_constant__ extents x)
{
    __shared__ ring r;
    if (threadIdx.x < most_stages) {
        const int i = threadIdx.x;
        init_barrier(r.full + i, Packed ? expanders : 1);
        init_barrier(r.empty + i, 4 * crews * x.shared);
        init_barrier(r.packed_full + i, 1);
    }
    fence_barriers();
    __syncthreads();
    sync_cluster();
    if (threadIdx.x < 128 * crews) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(crew_registers));
        multiply<Packed>(x, jobs, r, sums);
        sync_cluster(); // nobody tells a thread block that has gone
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(helper_registers));
        const int warp = threadIdx.x / 32 % 4;
        if (warp == 0) {
            if (threadIdx.x % 32 == 0)
                feed<Packed>(x, columns, rows, jobs, r);
            __syncwarp();
        } else if (Packed) {
            expand(x, r, warp - 1);
        }
        sync_cluster();
    }
}

class wgmma_xengine : public integer_xengine
{
public:
    wgmma_xengine(const xengine::parameters& p, gpu_facts gpu)
        : d_p(p),
          d_gpu(gpu),
          d_packed(p.type == sample_type::sc4),
          d_kernel(d_packed ? sum_jobs<true> : sum_jobs<false>)
    {
        const int strip_count = (p.inputs + unit - 1) / unit;
        const bool one_job = strip_count <= 6;
        d_shared_jobs = one_job || d_packed ? 1 : 2;
        d_columns = unit * std::min(one_job || !d_packed ? wide : narrow, strip_count);
        const auto jobs = one_job    ? one_diagonal_job(0, strip_count)
                          : d_packed ? narrow_jobs(strip_count)
                                     : all_jobs(strip_count);
        int own = 0;
        for (const auto& j : jobs)
            own = std::max(own, j.own);
        d_rows = d_columns + own * unit;
        d_jobs = device_array<job>(jobs.size());
        start_with(d_jobs.data(), jobs);
        int device, most;
        check(cudaGetDevice(&device), "asking for the current GPU");
        check(cudaDeviceGetAttribute(
                  &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
              "asking for the shared memory of a block");
        most -= 2048; // barriers, and what alignment takes
        d_stage_bytes =
            d_packed ? d_columns * box_row + d_rows * packed_row : d_rows * box_row;
        d_stages = std::min(most_stages, most / d_stage_bytes);
        d_bytes = 1024 + d_stages * d_stage_bytes;
        load(d_kernel, d_bytes);
    }

    void accumulate(const void* voltages,
                    int blocks,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.inputs = d_p.inputs;
        x.channels = d_p.channels;
        x.jobs = int(d_jobs.size());
        x.shared = d_shared_jobs;
        x.columns = d_columns;
        x.stages = d_stages;
        x.stage_bytes = d_stage_bytes;
        x.steps = (d_p.times + step_times - 1) / step_times;
        x.total = x.steps * blocks;
        const int64_t groups = int64_t(d_p.channels) * x.jobs / x.shared;
        const int slots = d_gpu.multiprocessors / x.shared;
        x.splits = choose_splits(groups, x.total, exact_times / step_times, slots, 16);
        x.length = (x.total + x.splits - 1) / x.splits;
        const voltage_shape shape{
            int64_t(size_of(d_p.type)) * d_p.times, d_p.inputs, d_p.channels, blocks
        };
        const int box = d_packed ? packed_row : box_row;
        const CUtensorMap columns =
            make_tensor_map(voltages, shape, box, x.columns / x.shared, 1);
        const CUtensorMap rows = make_tensor_map(voltages, shape, box, unit, 1);
        cudaLaunchAttribute cluster;
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim = { unsigned(x.shared), 1, 1 };
        cudaLaunchConfig_t launch = {};
        launch.gridDim = unsigned(groups * x.splits * x.shared);
        launch.blockDim = threads;
        launch.dynamicSmemBytes = size_t(d_bytes);
        launch.stream = s;
        launch.attrs = &cluster;
        launch.numAttrs = 1;
        check(
            cudaLaunchKernelEx(&launch, d_kernel, columns, rows, d_jobs.data(), sums, x),
            "wgmma s8 X-engine");
    }

private:
    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    const bool d_packed;
    void (*const d_kernel)(
        CUtensorMap, CUtensorMap, const job*, unsigned long long*, extents);
    device_array<job> d_jobs;
    int d_shared_jobs, d_columns, d_rows, d_stages, d_stage_bytes, d_bytes;
};

} // namespace

std::unique_ptr<integer_xengine> make_wgmma_xengine(const xengine::parameters& p,
                                                    gpu_facts gpu)
{
    return std::make_unique<wgmma_xengine>(p, gpu);
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
