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
#include <vector>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

constexpr int unit = 32; // inputs of a strip: 64 rows of an operand, turned ones too
constexpr int wide = 8;  // units of columns that a strip has at most
constexpr int crews = 3; // warp groups of a block: what the registers are for
constexpr int most_stages = 12;

/*!
 * A strip is the products of 32 inputs a with some units of inputs b. A warp group has up
 * to two, whose sums fill its registers: first and second are their units of columns.
 */
struct strips {
    int8_t first, second;   // units of columns, 0 for none
    int8_t row, second_row; // units of rows from the block's first row
};

/*!
 * What a thread block does for one channel: strips that share their columns, the inputs
 * from `column` on. Their rows are among the same inputs (own_rows false: on the
 * diagonal) or are the inputs from `row` on.
 */
struct job {
    int column, row;
    bool own_rows;
    strips crew[crews];
};

struct extents {
    int inputs, channels, splits, jobs;
    int columns, rows; // inputs in a box of columns and in a box of rows
    int stages;
    int steps;  // of box_row bytes, in a block of voltages
    int total;  // steps of all blocks of voltages
    int length; // steps of a split; the last may be shorter, or empty
};

/*!
 * On the diagonal, strip k of a triangle of d strips has k + 1 units of columns. They are
 * shared out so that all blocks of a triangle take the same time, for these to run side
 * by side and to find each other's voltages in the cache.
 */
std::vector<job> diagonal_jobs(int column, int strips_in_triangle)
{
    const auto jobs = [column](std::initializer_list<std::initializer_list<int>> shares) {
        job made{ column, column, false, {} };
        int crew = 0;
        for (const auto& share : shares) {
            const int* units = share.begin();
            const int second = share.size() > 1 ? units[1] : 0;
            made.crew[crew++] = { int8_t(units[0]),
                                  int8_t(second),
                                  int8_t(units[0] - 1),
                                  int8_t(second ? second - 1 : 0) };
        }
        return made;
    };
    switch (strips_in_triangle) {
    case 1:
        return { jobs({ { 1 } }) };
    case 2:
        return { jobs({ { 2 }, { 1 } }) };
    case 3:
        return { jobs({ { 3 }, { 2 }, { 1 } }) };
    case 4:
        return { jobs({ { 4 }, { 3 }, { 2, 1 } }) };
    case 5:
        return { jobs({ { 5 }, { 4, 1 }, { 3, 2 } }) };
    case 6:
        return { jobs({ { 6, 1 }, { 5, 2 }, { 4, 3 } }) };
    case 7:
        return { jobs({ { 7 }, { 4 }, { 3 } }), jobs({ { 6 }, { 5 }, { 2, 1 } }) };
    default:
        return { jobs({ { 8 }, { 7 }, { 3 } }), jobs({ { 6 }, { 5, 1 }, { 4, 2 } }) };
    }
}

//! All products of so many inputs: triangles of up to 8 strips on the diagonal, and what
//! is below them.
std::vector<job> all_jobs(int inputs)
{
    const int strip_count = (inputs + unit - 1) / unit;
    std::vector<job> jobs;
    for (int column = 0; column < strip_count; column += wide) {
        // long ones first: short ones fill the gaps at the end
        for (int row = column + wide; row < strip_count; row += crews) {
            job below{ column * unit, row * unit, true, {} };
            for (int crew = 0; crew < std::min(crews, strip_count - row); crew++)
                below.crew[crew] = { wide, 0, int8_t(crew), 0 };
            jobs.push_back(below);
        }
        for (const auto& j :
             diagonal_jobs(column * unit, std::min(wide, strip_count - column)))
            jobs.push_back(j);
    }
    return jobs;
}

/*!
 * Words of 32 inputs' rows for `Products` products along the summed axis, 1 or 2 of the 4
 * that a box has.
 */
template <int Products>
struct operand {
    uint32_t as_is[2 * Products], turned_[2 * Products];

    //! strip: where the rows are in shared memory; part: of the box
    __device__ __forceinline__ void load(uint32_t strip, int part)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int row = lane % 8, piece = lane / 8 % (2 * Products) + 2 * Products * part;
        load_matrices(as_is, strip + (8 * warp + row) * box_row + 16 * (piece ^ row));
#pragma unroll
        for (int i = 0; i < 2 * Products; i++)
            turned_[i] = turned(as_is[i]);
    }

    //! columns: where the box's are
    template <int Units>
    __device__ __forceinline__ void
    multiply(int (&sums)[16 * Units], uint64_t columns, int part, int k, bool add) const
    {
        wgmma<Units>(sums,
                     as_is[2 * k],
                     turned_[2 * k],
                     as_is[2 * k + 1],
                     turned_[2 * k + 1],
                     // 32 bytes on are 2 in the descriptor
                     columns + 2 * (part * Products + k),
                     add);
    }
};

/*!
 * Adds a strip to the sums of its channel.
 * \param alone no other thread block adds to them: reading and writing 16 bytes at a time
 * is a good deal faster than atomic additions
 */
template <int Units>
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
    constexpr int together = Units <= 4 ? 8 : 4; // reads on their way: as registers allow
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
                    v[k].x += strip[place];
                    v[k].y += strip[place + 2];
                    __stcg(row + b, v[k]);
                }
        } else {
#pragma unroll
            for (int k = 0; k < together; k++)
                if (const int b = first_b + number(i + k); b <= a) {
                    const int place = (i + k) / 2 * 4 + k % 2;
                    auto* sum = reinterpret_cast<unsigned long long*>(row + b);
                    atomicAdd(sum, (unsigned long long)(int64_t(strip[place])));
                    atomicAdd(sum + 1, (unsigned long long)(int64_t(strip[place + 2])));
                }
        }
    }
}

/*!
 * The one thread that asks for boxes keeps in shared memory what the next is. Registers
 * are short: sums and operands take 144 of the 168 that a thread can have.
 */
struct feed {
    int left;                 // boxes to ask for
    int block, step;          // where the next one is
    int stage, parity;        // where it goes
    int column, row, channel; // what it has
    int bytes;                // in shared memory
};

//! A thread block's part of the work, and its ring of boxes.
struct ring {
    const extents& x;
    const CUtensorMap &columns, &rows;
    uint64_t *full, *empty;
    feed& next;

    __device__ int number() const { return blockIdx.x % x.jobs; }
    __device__ int split() const { return blockIdx.x / x.jobs % x.splits; }
    __device__ int channel() const { return blockIdx.x / x.jobs / x.splits; }
    __device__ int begin() const { return split() * x.length; }
    __device__ int count() const { return min(x.length, x.total - begin()); }
    __device__ uint32_t memory() const
    {
        extern __shared__ uint8_t unaligned[];
        return (shared_address(unaligned) + 1023) & ~1023u;
    }
    __device__ uint32_t box(int stage) const
    {
        return memory() + stage * (x.columns + x.rows) * box_row;
    }
    //! The thread that feeds is one of the warp group with the least to do.
    __device__ bool feeds() const { return threadIdx.x == 128 * (crews - 1); }

    __device__ void start(const job& j) const
    {
        if (threadIdx.x < x.stages) {
            init_barrier(full + threadIdx.x, 1);
            init_barrier(empty + threadIdx.x, crews);
        }
        fence_barriers();
        __syncthreads();
        if (feeds()) {
            next = { count(),
                     begin() / x.steps,
                     begin() % x.steps,
                     0,
                     0,
                     j.column,
                     j.own_rows ? j.row : -1,
                     channel(),
                     (x.columns + (j.own_rows ? x.rows : 0)) * box_row };
            for (int i = 0; i < x.stages && next.left > 0; i++)
                request();
            next.parity = 0; // of the barrier that says a stage is empty again
        }
        __syncwarp();
    }

    //! Asks for the next box.
    __device__ void request() const
    {
        feed f = next;
        uint64_t* barrier = full + f.stage;
        const uint32_t to = box(f.stage);
        const int byte = f.step * box_row;
        arrive_expecting(barrier, f.bytes);
        copy_box(to, &columns, barrier, byte, f.column, f.channel, f.block);
        if (f.row >= 0)
            copy_box(to + x.columns * box_row,
                     &rows,
                     barrier,
                     byte,
                     f.row,
                     f.channel,
                     f.block);
        f.left--;
        if (++f.step == x.steps) {
            f.step = 0;
            f.block++;
        }
        advance(f.stage, f.parity);
        next = f;
    }

    //! To the next box.
    __device__ void advance(int& stage, int& parity) const
    {
        if (++stage == x.stages) {
            stage = 0;
            parity ^= 1;
        }
    }

    /*!
     * A warp group's: it does not need the box in `stage` any more. That of the step
     * before is filled again: the other warp groups have most likely passed it, too.
     */
    __device__ void release(int stage, bool first) const
    {
        if (threadIdx.x % 128 == 0)
            arrive(empty + stage);
        // volatile: not to be read by the other threads, whose reading would be a race
        if (feeds() && !first && static_cast<volatile feed&>(next).left > 0) {
            wait_for(empty + next.stage, next.parity);
            request();
        }
        __syncwarp();
    }
};

/*!
 * What a warp group does: its strips' sums over all boxes of the thread block. While the
 * tensor cores work on a part of a box, the operands of the next part are made.
 */
template <int First, int Second>
__device__ __forceinline__ void
sum_strips(const ring& boxes, const job* jobs, unsigned long long* sums)
{
    // with many sums there are registers for small operands only
    constexpr int products = First + (Second ? Second + 1 : 0) <= 5 ? 2 : 1;
    constexpr int parts = 4 / products;
    int first[16 * First];
    int second[16 * (Second ? Second : 1)];
    const extents& x = boxes.x;
    const job& j = jobs[boxes.number()];
    const strips& mine = j.crew[threadIdx.x / 128];
    {
        const uint32_t rows_at = j.own_rows ? x.columns * box_row : 0;
        const uint32_t first_at = rows_at + mine.row * unit * box_row;
        const uint32_t second_at = rows_at + mine.second_row * unit * box_row;
        operand<products> rows[2], second_rows[2];
        const auto load = [&](int part, int stage) {
            const uint32_t box = boxes.box(stage);
            rows[part % 2].load(box + first_at, part);
            if constexpr (Second > 0)
                second_rows[part % 2].load(box + second_at, part);
        };
        const int count = boxes.count();
        if (count <= 0)
            return;
        int stage = 0, parity = 0, before = 0;
        wait_for(boxes.full, 0);
        load(0, 0);
        for (int i = 0; i < count; i++) {
            const uint64_t columns = rows_descriptor(boxes.box(stage));
#pragma unroll
            for (int part = 0; part < parts; part++) {
                wgmma_fence();
#pragma unroll
                for (int k = 0; k < products; k++) {
                    const bool add = i > 0 || part > 0 || k > 0;
                    rows[part % 2].template multiply<First>(first, columns, part, k, add);
                    if constexpr (Second > 0)
                        second_rows[part % 2].template multiply<Second>(
                            second, columns, part, k, add);
                }
                wgmma_commit();
                wgmma_wait<1>();        // the part before is done, its operands can go
                if (part == 0 && i > 0) // and the box that it was the last part of
                    boxes.release(before, i == 1);
                if (part + 1 < parts)
                    load(part + 1, stage);
            }
            before = stage;
            boxes.advance(stage, parity);
            if (i + 1 < count) {
                wait_for(boxes.full + stage, parity);
                load(0, stage);
            }
        }
        wgmma_wait<0>();
    }
    unsigned long long* channel_sums =
        sums + 2 * boxes.channel() * product_index(x.inputs, 0);
    const int first_row = j.own_rows ? j.row : j.column;
    const bool alone = x.splits == 1;
    add_to_sums<First>(
        first, channel_sums, x.inputs, first_row + mine.row * unit, j.column, alone);
    if constexpr (Second > 0)
        add_to_sums<Second>(second,
                            channel_sums,
                            x.inputs,
                            first_row + mine.second_row * unit,
                            j.column,
                            alone);
}

/*!
 * A block: one job of one channel and a part of the time. The warp groups multiply, all
 * from the same boxes.
 */
__global__ void __launch_bounds__(128 * crews, 1)
    sum_job(const __grid_constant__ CUtensorMap column_map,
            const __grid_constant__ CUtensorMap row_map,
            const job* __restrict__ jobs,
            unsigned long long* sums,
            const __grid_constant__ extents x)
{
    __shared__ uint64_t full[most_stages], empty[most_stages];
    __shared__ feed next;
    const ring boxes{ x, column_map, row_map, full, empty, next };
    const job& j = jobs[boxes.number()];
    boxes.start(j);
    const strips& mine = j.crew[threadIdx.x / 128];
    switch (mine.first * 8 + mine.second) {
#define APERTURE_STRIPS(first, second)                \
    case first * 8 + second:                          \
        sum_strips<first, second>(boxes, jobs, sums); \
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
        APERTURE_STRIPS(5, 0)
        APERTURE_STRIPS(5, 1)
        APERTURE_STRIPS(5, 2)
        APERTURE_STRIPS(6, 0)
        APERTURE_STRIPS(6, 1)
        APERTURE_STRIPS(7, 0)
        APERTURE_STRIPS(8, 0)
#undef APERTURE_STRIPS
    default: // nothing to sum; the boxes still pass
        int stage = 0, parity = 0;
        for (int i = 0; i < boxes.count(); i++) {
            wait_for(full + stage, parity);
            boxes.release(stage, i == 0);
            boxes.advance(stage, parity);
        }
    }
}

class wgmma_xengine : public integer_xengine
{
public:
    wgmma_xengine(const xengine::parameters& p, gpu_facts gpu)
        : d_p(p),
          d_gpu(gpu),
          d_columns(std::min(wide * unit, (p.inputs + unit - 1) / unit * unit)),
          d_rows(p.inputs > wide * unit ? crews * unit : 0)
    {
        const auto jobs = all_jobs(p.inputs);
        d_jobs = device_array<job>(jobs.size());
        check(cudaMemcpy(
                  d_jobs.data(), jobs.data(), d_jobs.bytes(), cudaMemcpyHostToDevice),
              "copying the X-engine's jobs");
        int device, most;
        check(cudaGetDevice(&device), "asking for the current GPU");
        check(cudaDeviceGetAttribute(
                  &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
              "asking for the shared memory of a block");
        const int stage = (d_columns + d_rows) * box_row;
        d_stages = std::min(most_stages, (most - 2048) / stage);
        d_shared = 1024 + d_stages * stage;
        check(cudaFuncSetAttribute(
                  sum_job, cudaFuncAttributeMaxDynamicSharedMemorySize, d_shared),
              "asking for shared memory");
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
        x.columns = d_columns;
        x.rows = d_rows;
        x.stages = d_stages;
        x.steps = (2 * d_p.times + box_row - 1) / box_row;
        x.total = x.steps * blocks;
        const int64_t jobs = int64_t(d_p.channels) * x.jobs;
        x.splits = choose_splits(
            jobs, x.total, 2 * exact_times / box_row, d_gpu.multiprocessors, 16);
        x.length = (x.total + x.splits - 1) / x.splits;
        const voltage_shape shape{ d_p.times, d_p.inputs, d_p.channels, blocks };
        const CUtensorMap columns = make_tensor_map(voltages, shape, d_columns, 1);
        const CUtensorMap rows =
            d_rows ? make_tensor_map(voltages, shape, d_rows, 1) : columns;
        sum_job<<<unsigned(jobs * x.splits), 128 * crews, d_shared, s>>>(
            columns, rows, d_jobs.data(), sums, x);
        check_launch("wgmma s8 X-engine");
    }

private:
    const xengine::parameters d_p;
    const gpu_facts d_gpu;
    const int d_columns, d_rows; // inputs in a box
    device_array<job> d_jobs;
    int d_stages, d_shared;
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
