/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/beamformer_tile.cuh"
#include "kernels/cuda/beamformer_wgmma.cuh"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/integer_xengine.h"
#include "kernels/cuda/wgmma.cuh"
#include <algorithm>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

namespace {

constexpr int crew_times = 64; // of a warp group: the rows of its matrix instructions
constexpr int most_stages = 8;
constexpr int most_slots = 48;
constexpr int packed_row = beam_chunk * sizeof(__half);

//! Warp groups that form beams; each has 64 times of the same beams. As many as registers
//! allow.
constexpr int crews_for(int beams) { return beams == 128 ? 2 : 3; }
constexpr int registers_of_crew(int beams) { return beams == 128 ? 240 : 160; }
constexpr int registers_of_feeder = 24;

/*!
 * A job is the beams of a tile, a channel, and a part of the time, in steps of 64 times
 * for each warp group. The inputs come in chunks of 32. Stages of shared memory hold
 * chunks of voltages, slots hold chunks of weights: if there are as many slots as chunks,
 * weights stay for all steps of a job, otherwise they come anew in each step.
 */
struct extents {
    int beams, times, channels;
    int chunks, tiles, splits, jobs;
    int steps;  // in a block of voltages
    int total;  // steps of all blocks
    int length; // steps of a split; the last may be shorter, or empty
    int stages, slots;
};

struct job {
    int channel, tile, begin, end;

    __device__ job(int number, const extents& x)
        : channel(number / x.tiles / x.splits),
          tile(number % x.tiles),
          begin(number / x.tiles % x.splits * x.length),
          end(min(begin + x.length, x.total))
    {
    }
};

//! Which place of a ring is next, and how often it has been round.
struct ring_place {
    int index = 0, parity = 0;
    __device__ void advance(int count)
    {
        if (++index == count) {
            index = 0;
            parity ^= 1;
        }
    }
};

template <class Voltage, int Beams>
struct layout {
    static constexpr int crews = crews_for(Beams);
    static constexpr int row = crew_times * Voltage::bytes; // of a box
    static constexpr int box = beam_chunk * row;
    static constexpr int stage = crews * box;
    static constexpr int form = Beams * packed_row;
    static constexpr int slot = beam_forms * form;

    //! Of word w of a warp's 16 times of an input, in a box that the copy engine
    //! swizzled.
    static __device__ __forceinline__ uint32_t place(int input, int byte)
    {
        const int swizzle = row == 128 ? input % 8 : input / 2 % 4;
        return input * row + (byte ^ (swizzle << 4));
    }
};

struct barriers {
    uint64_t full[most_stages], empty[most_stages]; // of stages
    uint64_t full_slot[most_slots], empty_slot[most_slots];
};

/*!
 * Asks for voltages and weights, in the order in which they are used, as far ahead as
 * there is room.
 */
template <class Voltage, int Beams>
__device__ __forceinline__ void feed(const CUtensorMap& map,
                                     const __half* weights,
                                     const extents& x,
                                     barriers& b,
                                     uint32_t stages,
                                     uint32_t slots)
{
    using memory = layout<Voltage, Beams>;
    const bool stay = x.chunks <= x.slots;
    ring_place stage, slot;
    for (int number = blockIdx.x; number < x.jobs; number += gridDim.x) {
        const job j(number, x);
        const __half* from = weights + (int64_t(j.channel) * x.tiles + j.tile) *
                                           x.chunks * (memory::slot / sizeof(__half));
        for (int step = j.begin; step < j.end; step++)
            for (int chunk = 0; chunk < x.chunks; chunk++) {
                if (step == j.begin || !stay) {
                    wait_for(b.empty_slot + slot.index, slot.parity ^ 1);
                    arrive_expecting(b.full_slot + slot.index, memory::slot);
                    copy_bytes(slots + slot.index * memory::slot,
                               from + chunk * (memory::slot / sizeof(__half)),
                               b.full_slot + slot.index,
                               memory::slot);
                    slot.advance(x.slots);
                }
                wait_for(b.empty + stage.index, stage.parity ^ 1);
                arrive_expecting(b.full + stage.index, memory::stage);
#pragma unroll
                for (int crew = 0; crew < memory::crews; crew++)
                    copy_box(stages + stage.index * memory::stage + crew * memory::box,
                             &map,
                             b.full + stage.index,
                             (step % x.steps * memory::crews + crew) * memory::row,
                             chunk * beam_chunk,
                             j.channel,
                             step / x.steps);
                stage.advance(x.stages);
            }
    }
}

//! Loads 16 inputs at the warp's 16 times.
template <class Voltage, int Beams>
__device__ __forceinline__ void load(operand_words& to, uint32_t box, int k)
{
    using memory = layout<Voltage, Beams>;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const int g = lane / 4, t = lane % 4;
    const int byte = (16 * warp + 2 * g) * Voltage::bytes;
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t at = box + memory::place(16 * k + 2 * t + i % 2 + i / 2 * 8, byte);
        if constexpr (Voltage::bytes == 2)
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(words[i]) : "r"(at) : "memory");
        else {
            uint16_t word;
            asm volatile("ld.shared.b16 %0, [%1];" : "=h"(word) : "r"(at) : "memory");
            words[i] = word;
        }
    }
    Voltage::join(to, 0, words[0], words[1]);
    Voltage::join(to, 1, words[2], words[3]);
}

template <class Voltage, int Beams, class Target>
__device__ __forceinline__ void form(const Target& target,
                                     const float* factor_at,
                                     const extents& x,
                                     barriers& b,
                                     uint32_t stages,
                                     uint32_t slots,
                                     float* scratch)
{
    using memory = layout<Voltage, Beams>;
    const bool stay = x.chunks <= x.slots;
    const int crew = threadIdx.x / 128;
    const bool speaks = threadIdx.x % 32 == 0; // for its warp
    const float factor = *factor_at;
    // only the lower half of a descriptor depends on the address
    const uint64_t first_rows = half_rows_descriptor(slots);
    const auto rows_at = [&](int i) {
        return (first_rows & ~0xffffffffull) |
               uint32_t(uint32_t(first_rows) + i * (memory::slot >> 4));
    };
    ring_place stage, slot;
    for (int number = blockIdx.x; number < x.jobs; number += gridDim.x) {
        const job j(number, x);
        const ring_place first_slot = slot;
        for (int step = j.begin; step < j.end; step++) {
            if (stay)
                slot = first_slot;
            const bool come = step == j.begin || !stay; // weights, in this step
            const bool go = step + 1 == j.end || !stay;
            float sums[beam_forms][Beams / 2];
            operand_words sum, re, im; // as the tensor cores read them
            int before = -1;           // slot of the chunk before, if it can go
            for (int chunk = 0; chunk < x.chunks; chunk++) {
                wait_for(b.full + stage.index, stage.parity);
                const uint32_t box =
                    stages + stage.index * memory::stage + crew * memory::box;
#pragma unroll
                for (int k = 0; k < beam_chunk / 16; k++) {
                    operand_words both;
                    load<Voltage, Beams>(both, box, k);
                    if (k == 0 && come)
                        wait_for(b.full_slot + slot.index, slot.parity);
                    const bool add = chunk > 0 || k > 0;
                    const uint64_t at = rows_at(slot.index) + 2 * k;
                    const auto multiply = [&](int f, const operand_words& a) {
                        wgmma_fence();
                        wgmma_half<Beams>(sums[f], a, at + f * (memory::form >> 4), add);
                        wgmma_commit();
                    };
                    // two of the three are under way while the third's operand is made
                    wgmma_wait<2>();
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        re[i] = Voltage::re(both[i]);
                    multiply(1, re);
                    wgmma_wait<2>();
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        im[i] = Voltage::im(both[i]);
                    multiply(2, im);
                    wgmma_wait<2>();
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        sum[i] = half_pair::plus(re[i], im[i]);
                    multiply(0, sum);
                    if (k == 0 && before >= 0 &&
                        speaks) // all of the chunk before is done
                        arrive(b.empty_slot + before);
                }
                __syncwarp();
                if (speaks)
                    arrive(b.empty + stage.index);
                before = go ? slot.index : -1;
                stage.advance(x.stages);
                slot.advance(x.slots);
            }
            wgmma_wait<0>();
            if (before >= 0 && speaks)
                arrive(b.empty_slot + before);
            const int block = step / x.steps;
            const int warp = threadIdx.x / 32 % 4;
            const beam_place place{ int64_t(block) * x.channels + j.channel,
                                    j.tile * Beams,
                                    (step % x.steps * memory::crews + crew) * crew_times +
                                        16 * warp,
                                    x.beams,
                                    x.times };
            const auto value = [&](int column, int c, int h) {
                const int i = 4 * column + 2 * h + c;
                return make_float2(sums[2][i], sums[1][i]);
            };
#pragma unroll
            for (int i = 0; i < Beams / 2; i++) {
                sums[2][i] += sums[0][i];
                sums[1][i] += sums[0][i];
            }
            target.template operator()<Beams>(value, place, factor, scratch);
        }
    }
}

//! A block: warp groups that form beams, and one whose first thread feeds them.
template <class Voltage, int Beams, class Target>
__global__ void __launch_bounds__(128 * (crews_for(Beams) + 1), 1)
    form_beams(const __grid_constant__ CUtensorMap map,
               const __half* __restrict__ weights,
               const float* __restrict__ factor,
               const __grid_constant__ Target target,
               const __grid_constant__ extents x)
{
    using memory = layout<Voltage, Beams>;
    __shared__ barriers b;
    extern __shared__ uint8_t unaligned[];
    const uint32_t stages = (shared_address(unaligned) + 1023) & ~1023u;
    const uint32_t slots = stages + x.stages * memory::stage;
    if (threadIdx.x == 0) {
        for (int i = 0; i < x.stages; i++) {
            init_barrier(b.full + i, 1);
            init_barrier(b.empty + i, 4 * memory::crews);
        }
        for (int i = 0; i < x.slots; i++) {
            init_barrier(b.full_slot + i, 1);
            init_barrier(b.empty_slot + i, 4 * memory::crews);
        }
        fence_barriers();
    }
    __syncthreads();
    const int crew = threadIdx.x / 128;
    if (crew == memory::crews) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers_of_feeder));
        if (threadIdx.x % 128 == 0)
            feed<Voltage, Beams>(map, weights, x, b, stages, slots);
    } else {
        asm volatile(
            "setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers_of_crew(Beams)));
        float* scratch = reinterpret_cast<float*>(
            unaligned + (slots + x.slots * memory::slot - shared_address(unaligned)));
        if constexpr (requires_scratch<Target>::value)
            scratch += crew * Target::scratch(Beams);
        form<Voltage, Beams>(target, factor, x, b, stages, slots, scratch);
    }
}

struct machine {
    int multiprocessors, shared;
};

//! How the shared memory of a block of threads is used.
struct rings {
    int stages, slots, bytes;
};

template <class Voltage, int Beams, class Target>
rings rings_for(const beam_extents& e, const machine& gpu)
{
    using memory = layout<Voltage, Beams>;
    int scratch = 0;
    if constexpr (requires_scratch<Target>::value)
        scratch = memory::crews * Target::scratch(Beams) * int(sizeof(float));
    const int chunks = (e.inputs + beam_chunk - 1) / beam_chunk;
    // weights that stay come first, then voltages on their way, then the next job's
    // weights
    const int room = gpu.shared - int(sizeof(barriers)) - 2048 - scratch;
    constexpr int least_stages = 3;
    const int most = (room - least_stages * memory::stage) / memory::slot;
    const int slots = std::min({ most, 2 * chunks, most_slots });
    const int stages =
        std::min((room - slots * memory::slot) / memory::stage, most_stages);
    return { stages,
             slots,
             1024 + stages * memory::stage + slots * memory::slot + scratch };
}

template <class Voltage, int Beams, class Target>
void launch(const beam_extents& e,
            const machine& gpu,
            const void* voltages,
            int blocks,
            const packed_weights& weights,
            const Target& target,
            cudaStream_t s)
{
    using memory = layout<Voltage, Beams>;
    const auto shared = rings_for<Voltage, Beams, Target>(e, gpu);
    extents x;
    x.beams = e.beams;
    x.times = e.times;
    x.channels = e.channels;
    x.chunks = (e.inputs + beam_chunk - 1) / beam_chunk;
    x.tiles = (e.beams + Beams - 1) / Beams;
    x.steps = (e.times + memory::crews * crew_times - 1) / (memory::crews * crew_times);
    x.total = x.steps * blocks;
    x.splits = choose_splits(
        int64_t(e.channels) * x.tiles, x.total, x.total, gpu.multiprocessors, 4);
    x.length = (x.total + x.splits - 1) / x.splits;
    x.jobs = e.channels * x.tiles * x.splits;
    x.stages = shared.stages;
    x.slots = shared.slots;
    const voltage_shape shape{
        int64_t(e.times) * Voltage::bytes, e.inputs, e.channels, blocks
    };
    const CUtensorMap map = make_tensor_map(voltages, shape, memory::row, beam_chunk, 1);
    form_beams<Voltage, Beams, Target>
        <<<std::min(x.jobs, gpu.multiprocessors),
           128 * (memory::crews + 1),
           shared.bytes,
           s>>>(map, weights.values, weights.factor, target, x);
    check_launch("wgmma f16 beamformer");
}

class wgmma_former : public beam_former
{
public:
    wgmma_former(const beam_extents& x, gpu_facts gpu) : d_x(x)
    {
        int device;
        check(cudaGetDevice(&device), "asking for the current GPU");
        check(cudaDeviceGetAttribute(
                  &d_gpu.shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
              "asking for the shared memory of a block");
        d_gpu.multiprocessors = gpu.multiprocessors;
    }

    //! Wide tiles are faster as long as their weights can stay in shared memory.
    int tile() const override
    {
        if (d_x.beams <= 32 || d_x.inputs > 512)
            return 32;
        return d_x.beams <= 64 || d_x.inputs > 256 ? 64 : 128;
    }

    bool sums_over(int piece) const override
    {
        return piece == 64 || piece == 16 || piece == 1;
    }

    void load(const beam_target& target) override
    {
        with_types(target, [&](auto voltage, auto beams, const auto& what) {
            using sink = std::decay_t<decltype(what)>;
            cuda::load(form_beams<decltype(voltage), beams.value, sink>,
                       rings_for<decltype(voltage), beams.value, sink>(d_x, d_gpu).bytes);
        });
    }

    void form(const void* voltages,
              int blocks,
              const beam_weights& weights,
              const beam_target& target,
              cudaStream_t s) override
    {
        with_types(target, [&](auto voltage, auto beams, const auto& what) {
            launch<decltype(voltage), beams.value>(
                d_x, d_gpu, voltages, blocks, weights.packed, what, s);
        });
    }

private:
    const beam_extents d_x;
    machine d_gpu;

    //! Calls run(voltage, std::integral_constant of a tile's beams, the object that does
    //! what `target` says).
    template <class Run>
    void with_types(const beam_target& target, const Run& run) const
    {
        with_target<true, true>(target, d_x.times, [&](const auto& what) {
            const auto of_tile = [&](auto voltage) {
                switch (tile()) {
                case 32:
                    return run(voltage, std::integral_constant<int, 32>{}, what);
                case 64:
                    return run(voltage, std::integral_constant<int, 64>{}, what);
                default:
                    return run(voltage, std::integral_constant<int, 128>{}, what);
                }
            };
            if (d_x.input == sample_type::sc8)
                of_tile(voltage_sc8{});
            else
                of_tile(voltage_sc4{});
        });
    }
};

} // namespace

std::unique_ptr<beam_former> make_wgmma_former(const beam_extents& x, gpu_facts gpu)
{
    return std::make_unique<wgmma_former>(x, gpu);
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr
