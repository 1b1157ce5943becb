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

constexpr int unit = 32; // inputs of a strip: 64 rows of an operand, turned ones too
constexpr int wide = 8;  // units of columns that a strip has at most
constexpr int crews =
    3; // warp groups of a block that multiply: what the registers are for
constexpr int threads = 128 * (crews + 1);
// of a thread, once the fourth warp group has given away what it does not need
constexpr int crew_registers = 160, feeder_registers = 32;
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
    int jobs;                  // of a channel, a multiple of shared
    int shared;                // jobs one after the other that have the same columns
    int columns;               // inputs in a stage, and behind them the jobs' own
    int stages, packed_stages; // of the rings of bytes and of nibbles
    int stage_rows;
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
 * All products of so many inputs: triangles of up to 8 strips on the diagonal, and what
 * is below them. Jobs that share their columns follow each other, `shared` at a time.
 */
std::vector<job> all_jobs(int inputs, int shared)
{
    const int strip_count = (inputs + unit - 1) / unit;
    if (shared == 1)
        return one_diagonal_job(0, strip_count);
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
 * Words of 32 inputs' rows for `Products` products along the summed axis, 1 or 2 of the 4
 * that a box has.
 */
template <int Products>
struct operand {
    uint32_t as_is[2 * Products], turned_[2 * Products];

    //! Where a lane's row begins, from the start of the box: the pieces of part 0.
    __device__ static uint32_t lane_offset(int first_row)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int row = lane % 8, piece = lane / 8 % (2 * Products);
        return (first_row + 8 * warp + row) * box_row + 16 * (piece ^ row);
    }

    //! address: of the box, a multiple of 1024, and the lane's offset
    __device__ __forceinline__ void load(uint32_t address, int part)
    {
        load_matrices(as_is, address ^ (32 * Products * part));
#pragma unroll
        for (int i = 0; i < 2 * Products; i++)
            turned_[i] = turned(as_is[i]);
    }

    //! columns: where the box's are
    template <int Units>
    __device__ __forceinline__ void
    multiply(strip_sums<Units>& sums, uint64_t columns, int part, int k, bool add) const
    {
        const auto some = [&](auto units, auto& of, uint64_t from) {
            wgmma<decltype(units)::value>(of,
                                          as_is[2 * k],
                                          turned_[2 * k],
                                          as_is[2 * k + 1],
                                          turned_[2 * k + 1],
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
 * The rings of a thread block. The copy engine fills stages of bytes, or of nibbles from
 * which some warps make stages of bytes, with some inputs' voltages of step_times.
 */
struct rings {
    uint64_t full[most_stages], empty[most_stages];               // of bytes
    uint64_t packed_full[most_stages], packed_empty[most_stages]; // of nibbles
};

//! Of a thread block's dynamic shared memory.
__device__ __forceinline__ uint32_t stage_address(const extents& x, int stage)
{
    extern __shared__ uint8_t unaligned[];
    return ((shared_address(unaligned) + 1023) & ~1023u) + stage * x.stage_rows * box_row;
}
__device__ __forceinline__ uint32_t packed_address(const extents& x, int stage)
{
    return stage_address(x, x.stages) + stage * x.stage_rows * packed_row;
}

/*!
 * One thread's: asks for the boxes of all parts of the work. Thread blocks that share
 * their columns get a part of them each, and send it to all.
 */
template <bool Packed>
__device__ __forceinline__ void feed(const extents& x,
                                     const CUtensorMap& columns,
                                     const CUtensorMap& rows,
                                     const job* jobs,
                                     rings& r)
{
    constexpr int row_bytes = Packed ? packed_row : box_row;
    uint64_t* const full = Packed ? r.packed_full : r.full;
    uint64_t* const empty = Packed ? r.packed_empty : r.empty;
    const int stages = Packed ? x.packed_stages : x.stages;
    const int rank = int(rank_in_cluster()), share = x.columns / x.shared;
    place at;
    const part p(x, blockIdx.x);
    const job j = jobs[p.number];
    int block = p.begin(x) / x.steps, step = p.begin(x) % x.steps;
    for (int i = p.count(x); i > 0; i--) {
        wait_for(empty + at.stage(), at.parity() ^ 1);
        uint64_t* const barrier = full + at.stage();
        const uint32_t to =
            Packed ? packed_address(x, at.stage()) : stage_address(x, at.stage());
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
        at.advance(stages);
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

//! The same of bytes, which only this thread block's warps fill if they come from
//! nibbles.
template <bool Packed>
__device__ __forceinline__ void free_stage(const extents& x, uint64_t* empty)
{
    if constexpr (Packed) {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            arrive(empty);
    } else {
        release(x, empty);
    }
}

/*!
 * Some warps', each for every so many stages: makes bytes of nibbles, 16 times their
 * value, so that sums are 256 times theirs. 16 samples become two pieces of a row of the
 * tensor cores' box, real parts and imaginary parts.
 */
__device__ __forceinline__ void expand(const extents& x, const job* jobs, rings& r)
{
    constexpr int row_step = 8; // rows that lanes take at once, all swizzled alike
    constexpr int together = 2; // loads on their way
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4 - (4 - expanders);
    const uint32_t left = lane / 4 * box_row + 16 * (lane % 4 * 2 ^ lane / 4);
    const part p(x, blockIdx.x);
    const int rows = x.columns + jobs[p.number].own * unit;
    const int count = p.count(x);
    place from, to;
    for (int i = 0; i < count; i++) {
        if (i % expanders == warp) {
            wait_for(r.packed_full + from.stage(), from.parity());
            wait_for(r.empty + to.stage(), to.parity() ^ 1);
            uint32_t piece = packed_address(x, from.stage()) + 16 * lane;
            uint32_t row = stage_address(x, to.stage());
            for (int done = 0; done < rows; done += together * row_step) {
                uint4 v[together];
#pragma unroll
                for (int k = 0; k < together; k++)
                    v[k] = load_shared(piece + k * row_step * packed_row);
#pragma unroll
                for (int k = 0; k < together; k++) {
                    const uint4 w = {
                        clamped(v[k].x), clamped(v[k].y), clamped(v[k].z), clamped(v[k].w)
                    };
                    const uint32_t at = row + k * row_step * box_row;
                    store_shared(at + left,
                                 { low_pairs(w.x),
                                   high_pairs(w.x),
                                   low_pairs(w.y),
                                   high_pairs(w.y) });
                    store_shared(at + (left ^ 16),
                                 { low_pairs(w.z),
                                   high_pairs(w.z),
                                   low_pairs(w.w),
                                   high_pairs(w.w) });
                }
                piece += together * row_step * packed_row;
                row += together * row_step * box_row;
            }
            fence_async();
            release(x, r.packed_empty + from.stage());
            if (lane == 0)
                arrive(r.full + to.stage());
        }
        from.advance(x.packed_stages);
        to.advance(x.stages);
    }
}

/*!
 * What a warp group does for a part of the work: its strips' sums over all steps. While
 * the tensor cores work on a part of a stage, the operands of the next part are made.
 */
template <int First, int Second, bool Packed>
__device__ __forceinline__ void
sum_strips(const extents& x, const job* jobs, rings& r, unsigned long long* sums)
{
    // with many sums there are registers for small operands only
    constexpr int products = First + (Second ? Second + 1 : 0) <= 5 ? 2 : 1;
    constexpr int parts = 4 / products;
    // 8 units leave none for operands that are made while others are multiplied
    constexpr int buffers = First + Second < wide ? 2 : 1;
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
                return operand<products>::lane_offset(
                    row < wide ? row * unit : x.columns + (row - wide) * unit);
            };
            first_at = offset(mine.row);
            second_at = offset(mine.second_row);
        }
        if (left == first_step)
            return;
        operand<products> rows[buffers], second_rows[buffers];
        const auto load = [&](int part) {
            const uint32_t box = stage_address(x, at.stage());
            rows[part % buffers].load(box + first_at, part);
            if constexpr (Second > 0)
                second_rows[part % buffers].load(box + second_at, part);
        };
        wait_for(r.full + at.stage(), at.parity());
        load(0);
        while (true) {
            const bool add = left >= 0;
            const uint64_t columns = rows_descriptor(stage_address(x, at.stage()));
#pragma unroll
            for (int part = 0; part < parts; part++) {
                wgmma_fence();
#pragma unroll
                for (int k = 0; k < products; k++) {
                    const bool not_first = add || part > 0 || k > 0;
                    rows[part % buffers].multiply(first, columns, part, k, not_first);
                    if constexpr (Second > 0)
                        second_rows[part % buffers].multiply(
                            second, columns, part, k, not_first);
                }
                wgmma_commit();
                wgmma_wait<buffers - 1>(); // the part before is done, its operands can go
                if (part == 0 && add)      // and the stage that it was the last part of
                    free_stage<Packed>(x, r.empty + at.before(x.stages));
                if (part + 1 < parts)
                    load(part + 1);
            }
            at.advance(x.stages);
            left = (left & ~first_step) - 1;
            if (left == 0)
                break;
            wait_for(r.full + at.stage(), at.parity());
            load(0);
        }
        wgmma_wait<0>();
        free_stage<Packed>(x, r.empty + at.before(x.stages));
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

//! A warp group's part of the work.
template <bool Packed>
__device__ __forceinline__ void
multiply(const extents& x, const job* jobs, rings& r, unsigned long long* sums)
{
    const part p(x, blockIdx.x);
    const strips& mine = jobs[p.number].crew[threadIdx.x / 128];
    switch (mine.first * 8 + mine.second) {
#define APERTURE_STRIPS(first, second)                       \
    case first * 8 + second:                                 \
        sum_strips<first, second, Packed>(x, jobs, r, sums); \
        break;
        APERTURE_STRIPS(1, 0)
        APERTURE_STRIPS(2, 0)
        APERTURE_STRIPS(2, 1)
        APERTURE_STRIPS(3, 0)
        APERTURE_STRIPS(3, 2)
        APERTURE_STRIPS(4, 0)
        APERTURE_STRIPS(4, 1)
        APERTURE_STRIPS(4, 3)
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
            free_stage<Packed>(x, r.empty + at.stage());
            at.advance(x.stages);
        }
    }
}

/*!
 * A block: one job of one channel and a part of the time. Three warp groups multiply, all
 * from the same stages; of the fourth one warp feeds them, and the others expand nibbles.
 */
template <bool Packed>
__global__ void __launch_bounds__(threads, 1)
    sum_jobs(const __grid_constant__ CUtensorMap columns,
             const __grid_constant__ CUtensorMap rows,
             const job* __restrict__ jobs,
             unsigned long long* sums,
             const __grid_constant__ extents x)
{
    __shared__ rings r;
    if (threadIdx.x < most_stages) {
        const int i = threadIdx.x;
        init_barrier(r.full + i, 1);
        init_barrier(r.empty + i, 4 * crews * (Packed ? 1 : x.shared));
        init_barrier(r.packed_full + i, 1);
        init_barrier(r.packed_empty + i, x.shared);
    }
    fence_barriers();
    __syncthreads();
    sync_cluster();
    if (threadIdx.x < 128 * crews) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(crew_registers));
        multiply<Packed>(x, jobs, r, sums);
        sync_cluster(); // nobody tells a thread block that has gone
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(feeder_registers));
        const int warp = threadIdx.x / 32 % 4;
        if (warp == 0) {
            if (threadIdx.x % 32 == 0)
                feed<Packed>(x, columns, rows, jobs, r);
            __syncwarp();
        } else if (Packed && warp >= 4 - expanders) {
            expand(x, jobs, r);
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
        d_shared_jobs = strip_count > 6 ? 2 : 1;
        d_columns = std::min(wide, strip_count) * unit;
        const auto jobs = all_jobs(p.inputs, d_shared_jobs);
        int own = 0;
        for (const auto& j : jobs)
            own = std::max(own, j.own);
        d_stage_rows = d_columns + own * unit;
        d_jobs = device_array<job>(jobs.size());
        check(cudaMemcpy(
                  d_jobs.data(), jobs.data(), d_jobs.bytes(), cudaMemcpyHostToDevice),
              "copying the X-engine's jobs");
        int device, most;
        check(cudaGetDevice(&device), "asking for the current GPU");
        check(cudaDeviceGetAttribute(
                  &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
              "asking for the shared memory of a block");
        const int stage = d_stage_rows * box_row, packed = d_stage_rows * packed_row;
        d_packed_stages = d_packed ? 4 : 0;
        d_stages =
            std::min(most_stages, (most - 2048 - d_packed_stages * packed) / stage);
        d_bytes = 1024 + d_stages * stage + d_packed_stages * packed;
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
        x.packed_stages = d_packed_stages;
        x.stage_rows = d_stage_rows;
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
        const auto order = d_packed ? box_order::plain : box_order::swizzled;
        const CUtensorMap columns =
            make_tensor_map(voltages, shape, box, x.columns / x.shared, 1, order);
        const CUtensorMap rows = make_tensor_map(voltages, shape, box, unit, 1, order);
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
    int d_shared_jobs, d_columns, d_stage_rows, d_stages, d_packed_stages, d_bytes;
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
