/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/gpu/bulk_copy.cuh"
#include "kernels/gpu/ring_place.cuh"
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

constexpr int unit = 32; // inputs of a strip: 64 rows of an operand, turned ones too
constexpr int wide = 8;  // units of columns that a strip has at most
constexpr int crews = 3; // warp groups of a block that multiply: what registers are for
constexpr int threads = 128 * (crews + 1);
// of a thread, once the fourth warp group has given away what it does not need
constexpr int crew_registers = 160, helper_registers = 32;
constexpr int most_stages = 12;

constexpr int stage_times = box_row / 2; // a row of bytes is full
constexpr int group_bytes = 8 * box_row; // from 8 rows of operands to the next 8
/*!
 * Products of 32 inputs a, a strip, with some units of inputs b: unit `row` of the
 * columns, or, from `wide` on, one of the job's own, and units of columns from `column`
 * on.
 */
struct share {
    int8_t row, column, units; // no units: nothing
};

//! A warp group has up to two, whose sums fill its registers.
using crew_shares = std::array<share, 2>;

/*!
 * What a thread block does for one channel: products that share their columns, the inputs
 * from `column` on. Their rows are among the same inputs (on the diagonal) or among the
 * `own` units of inputs from `row` on.
 */
struct job {
    int column, row, own;
    crew_shares crew[crews];
};

struct extents {
    schedule clusters; // of `shared` thread blocks
    int inputs;
    int shared;  // jobs one after the other that have the same columns
    int columns; // inputs in a stage, and behind them the jobs' own
    int stages, stage_bytes;
    int steps; // in a block of voltages
};

//! Strip `row` of a triangle has row + 1 units of columns.
constexpr share whole(int row) { return { int8_t(row), 0, int8_t(row + 1) }; }
constexpr share units(int row, int first, int end)
{
    return { int8_t(row), int8_t(first), int8_t(end - first) };
}
using job_shares = std::vector<crew_shares>;

//! A triangle of up to 6 strips in one job.
job_shares one_diagonal_job(int strips_in_triangle)
{
    switch (strips_in_triangle) {
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
 * A triangle of up to 8 strips in two jobs that take about the same time, 9 with the
 * strip below it.
 */
std::array<job_shares, 2> two_diagonal_jobs(int strips_in_triangle)
{
    switch (strips_in_triangle) {
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
            { { { units(6, 0, 5) }, { whole(2), units(6, 5, 7) }, { units(5, 0, 4) } },
              { { whole(4) }, { units(5, 4, 6), whole(1) }, { whole(3), whole(0) } } }
        };
    case 8:
        return { { { { units(7, 0, 6) },
                     { units(6, 0, 4), units(7, 6, 8) },
                     { units(6, 4, 7), whole(2) } },
                   { { whole(5) }, { whole(4), whole(0) }, { whole(3), whole(1) } } } };
    default:
        return {
            { { { whole(7) }, { whole(6) }, { whole(5), whole(0) } },
              { { units(8, 0, 8) }, { whole(4), whole(1) }, { whole(3), whole(2) } } }
        };
    }
}

//! Strips of `wide` units below the diagonal, in even shares.
job_shares rectangle_job(int own)
{
    job_shares made;
    for (int crew = 0; crew < crews; crew++) {
        int first = own * wide * crew / crews;
        const int end = own * wide * (crew + 1) / crews;
        crew_shares mine{};
        for (auto& s : mine)
            if (const int count = std::min(end - first, wide - first % wide); count > 0) {
                s = units(wide + first / wide, first % wide, first % wide + count);
                first += count;
            }
        if (mine[0].units < mine[1].units)
            std::swap(mine[0], mine[1]);
        made.push_back(mine);
    }
    return made;
}

job made_of(int column, int row, const job_shares& shares)
{
    job made{ column, row, 0, {} };
    int number = 0;
    for (const auto& crew : shares) {
        for (const auto& s : crew)
            made.own = std::max(made.own, s.units ? s.row - wide + 1 : 0);
        made.crew[number++] = crew;
    }
    return made;
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
        for (const auto& shares : two_diagonal_jobs(one_more ? wide + 1 : in_triangle))
            jobs.push_back(made_of(column * unit, row * unit, shares));
        row += one_more;
        below -= one_more;
        // both of a pair have as many strips, but for an odd one
        const int half = (below + 1) / 2, pairs = (half + crews - 1) / crews;
        for (int i = 0; i < pairs; i++) {
            const int first = 2 * (half * i / pairs);
            const int end = std::min(2 * (half * (i + 1) / pairs), below);
            const int middle = (first + end + 1) / 2;
            for (const auto& [from, to] : { std::pair(first, middle), { middle, end } })
                jobs.push_back(made_of(
                    column * unit, (row + from) * unit, rectangle_job(to - from)));
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
 * A lane's part of a strip's rows in a stage, from which operands are made: where it
 * lies.
 */
template <int Products>
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
    __device__ __forceinline__ void read(uint32_t from, int part)
    {
        address = from ^ (32 * Products * part);
    }
};

/*!
 * Words of 32 inputs' rows for `Products` products along the summed axis, 1 or 2 of those
 * that a stage has; in the order of wgmma(): re and im in turn.
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
            words[k][1] = turned(first);
            words[k][2] = second;
            words[k][3] = turned(second);
        }
    }
    //! columns: where the stage's are; product: of those that a stage has
    template <int Units>
    __device__ __forceinline__ void multiply(strip_sums<Units>& sums,
                                             rows_matrix<group_bytes> columns,
                                             int product,
                                             int k,
                                             bool add) const
    {
        using s = strip_sums<Units>;
        const auto some = [&](auto units, auto& of, int from) {
            wgmma<int8_t, unit* decltype(units)::value>(
                of,
                words[k][0],
                words[k][1],
                words[k][2],
                words[k][3],
                columns.descriptor(from + 32 * product),
                add);
        };
        some(units_of<s::left_units>(), sums.left, 0);
        if constexpr (s::right_units > 0)
            some(units_of<s::right_units>(),
                 sums.right,
                 s::left_units * unit / 8 * group_bytes);
    }
};

//! Adds a strip to the sums of its channel, [product][re, im].
template <int Units>
__device__ __forceinline__ void add_to_sums(const int (&strip)[16 * Units],
                                            product_rows& rows,
                                            unsigned long long* sums,
                                            int inputs,
                                            int first_row,
                                            int first_column)
{
    constexpr int most = product_rows::most_columns / 8; // groups of columns at a time
#pragma unroll
    for (int first = 0; first < 4 * Units; first += most) {
        const int count = min(most, 4 * Units - first);
#pragma unroll
        for (int i = 0; i < count; i++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const int place = (first + i) * 4 + k;
                rows.put(8 * i, k, strip[place], strip[place + 2]);
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
        job = job * x.shared + block % x.shared;
    }
};

//! The barriers of a thread block's ring of stages, which hold the voltages of
//! stage_times.
struct ring {
    uint64_t full[most_stages], empty[most_stages];
    uint64_t done; // nobody who multiplies needs a stage any more
};

//! Of a thread block's dynamic shared memory.
__device__ __forceinline__ uint32_t stage_address(const extents& x, int stage)
{
    extern __shared__ uint8_t unaligned[];
    return ((shared_address(unaligned) + 1023) & ~1023u) + stage * x.stage_bytes;
}

/*!
 * One thread's: asks for the boxes of all steps. Thread blocks that share their columns
 * get a part of them each, and send it to all.
 */
__device__ __forceinline__ void feed(const extents& x,
                                     const CUtensorMap& columns,
                                     const CUtensorMap& rows,
                                     const job* jobs,
                                     ring& r)
{
    const int rank = int(rank_in_cluster()), share = x.columns / x.shared;
    ring_place at;
    const part p(x, blockIdx.x);
    const job j = jobs[p.job];
    int block = p.begin / x.steps, step = p.begin % x.steps;
    for (int i = p.count; i > 0; i--) {
        wait_for(r.empty + at.stage(), at.parity() ^ 1);
        uint64_t* const barrier = r.full + at.stage();
        const uint32_t to = stage_address(x, at.stage());
        const int byte = step * box_row;
        arrive_expecting(barrier, (x.columns + j.own * unit) * box_row);
        if (x.shared == 1)
            copy_box(to, &columns, barrier, byte, j.column, p.channel, block);
        else
            copy_box_to_all(to + rank * share * box_row,
                            &columns,
                            barrier,
                            byte,
                            j.column + rank * share,
                            p.channel,
                            block,
                            uint16_t((1 << x.shared) - 1));
        for (int own = 0; own < j.own; own++)
            copy_box(to + (x.columns + own * unit) * box_row,
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

//! Until all who multiply are here, once.
__device__ __forceinline__ void wait_for_crews(ring& r)
{
    arrive(&r.done); // each lane for what it read
    wait_for(&r.done, 0);
}

/*!
 * What a warp group does for a part of the work: its strips' sums over all steps. While
 * the tensor cores work on a part of a stage, the operands of the next part are made.
 */
template <int First, int Second>
__device__ __forceinline__ void
sum_strips(const extents& x, const job* jobs, ring& r, unsigned long long* sums)
{
    // with many sums there are registers for small operands only
    constexpr int products = First + (Second ? Second + 1 : 0) <= 5 ? 2 : 1;
    constexpr int parts = 4 / products;
    // 8 units leave none for operands that are made while others are multiplied
    constexpr int buffers = First + Second < wide ? 2 : 1;
    strip_sums<First> first;
    strip_sums<Second ? Second : 1> second;
    ring_place at;
    {
        constexpr int first_step = INT_MIN; // a bit beside the number of steps
        int left;
        uint32_t rows_at, second_at; // in a stage
        int first_columns, second_columns;
        {
            const part p(x, blockIdx.x);
            left = p.count | first_step;
            const auto& mine = jobs[p.job].crew[threadIdx.x / 128];
            const auto row_number = [&x](int row) {
                return row < wide ? row * unit : x.columns + (row - wide) * unit;
            };
            const int row = row_number(mine[0].row), other = row_number(mine[1].row);
            rows_at = stage_rows<products>::lane_offset(row);
            second_at = stage_rows<products>::lane_offset(other);
            first_columns = uniform(mine[0].column) * unit * box_row;
            second_columns = uniform(mine[1].column) * unit * box_row;
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
            wait_for(r.full + at.stage(), at.parity());
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
                    release(x, r.empty + at.before(x.stages));
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
        wait_for_crews(r); // nobody needs a stage any more: there is room for the sums
    }
    // found again: registers are too short to keep it
    int block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    const part p(x, block);
    const job& j = jobs[p.job];
    const auto& mine = j.crew[threadIdx.x / 128];
    unsigned long long* channel_sums = sums + 2 * p.channel * product_index(x.inputs, 0);
    product_rows rows(stage_address(x, 0) + threadIdx.x / 32 * product_rows::bytes);
    const auto add = [&](auto& strip, const share& of) {
        using s = std::decay_t<decltype(strip)>;
        const int row =
            of.row < wide ? j.column + of.row * unit : j.row + (of.row - wide) * unit;
        const int column = j.column + of.column * unit;
        add_to_sums<s::left_units>(strip.left, rows, channel_sums, x.inputs, row, column);
        if constexpr (s::right_units > 0)
            add_to_sums<s::right_units>(strip.right,
                                        rows,
                                        channel_sums,
                                        x.inputs,
                                        row,
                                        column + s::left_units * unit);
    };
    add(first, mine[0]);
    if constexpr (Second > 0)
        add(second, mine[1]);
    rows.finish();
}

//! Units of the two strips that a warp group may have: there is code for each pair.
#define APERTURE_ALL_STRIPS \
    APERTURE_STRIPS(1, 0)   \
    APERTURE_STRIPS(2, 0)   \
    APERTURE_STRIPS(2, 1)   \
    APERTURE_STRIPS(2, 2)   \
    APERTURE_STRIPS(3, 0)   \
    APERTURE_STRIPS(3, 2)   \
    APERTURE_STRIPS(3, 3)   \
    APERTURE_STRIPS(4, 0)   \
    APERTURE_STRIPS(4, 1)   \
    APERTURE_STRIPS(4, 2)   \
    APERTURE_STRIPS(4, 3)   \
    APERTURE_STRIPS(5, 0)   \
    APERTURE_STRIPS(5, 1)   \
    APERTURE_STRIPS(5, 2)   \
    APERTURE_STRIPS(6, 0)   \
    APERTURE_STRIPS(6, 1)   \
    APERTURE_STRIPS(7, 0)   \
    APERTURE_STRIPS(8, 0)

bool has_code(const crew_shares& crew)
{
#define APERTURE_STRIPS(a, b) || (crew[0].units == a && crew[1].units == b)
    return (crew[0].units == 0 && crew[1].units == 0) APERTURE_ALL_STRIPS;
#undef APERTURE_STRIPS
}

//! A warp group's part of the work.
__device__ __forceinline__ void
multiply(const extents& x, const job* jobs, ring& r, unsigned long long* sums)
{
    const part p(x, blockIdx.x);
    const auto& mine = jobs[p.job].crew[threadIdx.x / 128];
    switch (mine[0].units * (wide + 1) + mine[1].units) {
#define APERTURE_STRIPS(a, b)               \
    case a*(wide + 1) + b:                  \
        sum_strips<a, b>(x, jobs, r, sums); \
        break;
        APERTURE_ALL_STRIPS
#undef APERTURE_STRIPS
    default: // nothing to sum; the stages still pass
        ring_place at;
        for (int left = p.count; left > 0; left--) {
            wait_for(r.full + at.stage(), at.parity());
            release(x, r.empty + at.stage());
            at.advance(x.stages);
        }
        if (p.count > 0)
            wait_for_crews(r);
    }
}

/*!
 * A block: one job of one channel and a part of the time. Three warp groups multiply, all
 * from the same stages; the fourth feeds them.
 */
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
        init_barrier(r.full + i, 1);
        init_barrier(r.empty + i, 4 * crews * x.shared);
        if (i == 0)
            init_barrier(&r.done, 128 * crews);
    }
    fence_barriers();
    __syncthreads();
    sync_cluster();
    if (threadIdx.x < 128 * crews) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(crew_registers));
        multiply(x, jobs, r, sums);
        sync_cluster(); // nobody tells a thread block that has gone
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(helper_registers));
        if (threadIdx.x == 128 * crews)
            feed(x, columns, rows, jobs, r);
        __syncwarp();
        sync_cluster();
    }
}

class wgmma_sc8_xengine : public integer_xengine
{
public:
    wgmma_sc8_xengine(const xengine::parameters& p, gpu_facts gpu) : d_p(p), d_gpu(gpu)
    {
        const int strip_count = (p.inputs + unit - 1) / unit;
        const bool one_job = strip_count <= 6;
        d_shared_jobs = one_job ? 1 : 2;
        d_columns = unit * std::min(wide, strip_count);
        const auto jobs =
            one_job ? std::vector{ made_of(0, 0, one_diagonal_job(strip_count)) }
                    : all_jobs(strip_count);
        int own = 0;
        for (const auto& j : jobs) {
            own = std::max(own, j.own);
            if (!std::all_of(std::begin(j.crew), std::end(j.crew), has_code))
                throw std::logic_error("wgmma s8 X-engine: " + std::to_string(p.inputs) +
                                       " inputs have strips without code");
        }
        d_rows = d_columns + own * unit;
        d_jobs = device_array<job>(jobs.size());
        start_with(d_jobs.data(), jobs);
        int device, most;
        check(cudaGetDevice(&device), "asking for the current GPU");
        check(cudaDeviceGetAttribute(
                  &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
              "asking for the shared memory of a block");
        most -= 2048; // barriers, and what alignment takes
        d_stage_bytes = d_rows * box_row;
        d_stages = std::min(most_stages, most / d_stage_bytes);
        d_bytes =
            1024 + std::max(d_stages * d_stage_bytes, 4 * crews * product_rows::bytes);
        load(sum_jobs, d_bytes);
    }

    void accumulate(const void* voltages,
                    int blocks,
                    unsigned long long* sums,
                    cudaStream_t s) override
    {
        extents x;
        x.inputs = d_p.inputs;
        x.shared = d_shared_jobs;
        x.columns = d_columns;
        x.stages = d_stages;
        x.stage_bytes = d_stage_bytes;
        x.steps = (d_p.spectra_per_frame + stage_times - 1) / stage_times;
        x.clusters = schedule(d_p.channels,
                              int(d_jobs.size()) / x.shared,
                              x.steps * blocks,
                              exact_times / stage_times,
                              d_gpu.multiprocessors / x.shared,
                              1024 / stage_times);
        const voltage_shape shape{ int64_t(size_of(d_p.type)) * d_p.spectra_per_frame,
                                   d_p.inputs,
                                   d_p.channels,
                                   blocks };
        const CUtensorMap columns =
            make_tensor_map(voltages, shape, box_row, x.columns / x.shared, 1);
        const CUtensorMap rows = make_tensor_map(voltages, shape, box_row, unit, 1);
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
        check(
            cudaLaunchKernelEx(&launch, sum_jobs, columns, rows, d_jobs.data(), sums, x),
            "wgmma s8 X-engine");
    }

private:
    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    device_array<job> d_jobs;
    int d_shared_jobs, d_columns, d_rows, d_stages, d_stage_bytes, d_bytes;
};

} // namespace

std::unique_ptr<integer_xengine> make_wgmma_sc8_xengine(const xengine::parameters& p,
                                                        gpu_facts gpu)
{
    return std::make_unique<wgmma_sc8_xengine>(p, gpu);
}

} // namespace gr::aperture::kernels::cuda
