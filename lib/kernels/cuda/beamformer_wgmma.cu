/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/cuda/beamformer_store.cuh"
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
constexpr int packed_row = packed_numbers * sizeof(__half);

//! How many real products make a complex one; see weight_packing.
struct three_products {
    static constexpr weight_packing packing(int tile)
    {
        return weight_packing::three(tile);
    }
};
struct four_products {
    static constexpr weight_packing packing(int tile)
    {
        return weight_packing::four(tile);
    }
};

//! Warp groups that form beams; each has 64 times of the same beams. As many as registers
//! allow.
constexpr int crews_for(int beams) { return beams == 128 ? 2 : 3; }
constexpr int registers_of_crew(int beams) { return beams == 128 ? 240 : 160; }
constexpr int registers_of_feeder = 24;

/*!
 * A job is the beams of a tile, a channel, and a part of the time, in steps of 64 times
 * for each warp group. The inputs come in chunks of 32 or 16. Stages of shared memory
 * hold chunks of voltages, slots hold chunks of weights: if there are as many slots as
 * chunks, weights stay for all steps of a job, otherwise they come anew in each step.
 */
struct extents {
    int beams, times, channels;
    int chunks, tiles, splits, jobs;
    int steps;  // in a block of voltages
    int total;  // steps of all blocks
    int length; // steps of a split; the last may be shorter, or empty
    int stages, slots;
    int skew; // chunks that all warp groups but the first are behind it
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

template <class Voltage, class Products, int Beams>
struct layout {
    static constexpr int crews = crews_for(Beams);
    static constexpr int forms = Products::packing(Beams).forms;
    static constexpr int chunk = Products::packing(Beams).chunk; // inputs
    static constexpr int row = crew_times * Voltage::bytes;      // of a box
    static constexpr int box = chunk * row;
    static constexpr int stage = crews * box;
    static constexpr int form = Beams * packed_row;
    static constexpr int slot = forms * form;

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
template <class Voltage, class Products, int Beams>
__device__ __forceinline__ void feed(const CUtensorMap& map,
                                     const __half* weights,
                                     const extents& x,
                                     barriers& b,
                                     uint32_t stages,
                                     uint32_t slots)
{
    using memory = layout<Voltage, Products, Beams>;
    const bool stay = x.chunks <= x.slots;
    ring_place stage, slot;
    // of the first warp group, and of those behind it as long as they are still there;
    // what comes before the first step, and for the first after the last, is not used
    struct place {
        int channel, step;
    } now{}, before{};
    const auto bring = [&](int chunk) {
        wait_for(b.empty + stage.index, stage.parity ^ 1);
        arrive_expecting(b.full + stage.index, memory::stage);
#pragma unroll
        for (int crew = 0; crew < memory::crews; crew++) {
            const int behind = crew > 0 ? x.skew : 0;
            const place& at = chunk < behind ? before : now;
            copy_box(stages + stage.index * memory::stage + crew * memory::box,
                     &map,
                     b.full + stage.index,
                     (at.step % x.steps * memory::crews + crew) * memory::row,
                     (chunk - behind + (chunk < behind ? x.chunks : 0)) * memory::chunk,
                     at.channel,
                     at.step / x.steps);
        }
        stage.advance(x.stages);
    };
    for (int number = blockIdx.x; number < x.jobs; number += gridDim.x) {
        const job j(number, x);
        const __half* from = weights + (int64_t(j.channel) * x.tiles + j.tile) *
                                           x.chunks * (memory::slot / sizeof(__half));
        for (int step = j.begin; step < j.end; step++) {
            now = { j.channel, step };
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
                bring(chunk);
            }
            before = now;
        }
    }
    for (int chunk = 0; chunk < x.skew; chunk++)
        bring(chunk);
}

//! The weights of a chunk: where the tensor cores find them, and whether sums begin.
struct chunk_weights {
    uint64_t rows;
    bool first;
};

/*!
 * The sums of a warp group, for its times and the beams of a tile.
 *
 *     multiply(box, ready, weights, done)   adds a chunk. ready() waits for its weights;
 *                                           done() is called when the chunk before is
 *     finish(), beam(i)                     when all products are there: the sum of
 *                                           column and row i as wgmma_half() orders them
 */
template <class Voltage, class Products, int Beams>
class multiplier;

//! 32 inputs, of which each makes three products.
template <class Voltage, int Beams>
class multiplier<Voltage, three_products, Beams>
{
public:
    float sums[beam_forms][Beams / 2];

    template <class Ready, class Done>
    __device__ __forceinline__ void
    multiply(uint32_t box, const Ready& ready, const chunk_weights& w, const Done& done)
    {
#pragma unroll
        for (int k = 0; k < beam_chunk / 16; k++) {
            operand_words both;
            load(both, box, k);
            if (k == 0)
                ready();
            const bool add = !w.first || k > 0;
            const auto multiply = [&](int f, const operand_words& a) {
                wgmma_fence();
                wgmma_half<Beams>(
                    sums[f], a, w.rows + 2 * k + f * (memory::form >> 4), add);
                wgmma_commit();
            };
            // two of the three are under way while the third's operand is made
            wgmma_wait<2>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                d_re[i] = Voltage::re(both[i]);
            multiply(1, d_re);
            wgmma_wait<2>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                d_im[i] = Voltage::im(both[i]);
            multiply(2, d_im);
            wgmma_wait<2>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                d_sum[i] = half_pair::plus(d_re[i], d_im[i]);
            multiply(0, d_sum);
            if (k == 0)
                done();
        }
    }

    __device__ __forceinline__ void finish()
    {
#pragma unroll
        for (int i = 0; i < Beams / 2; i++) {
            sums[2][i] += sums[0][i];
            sums[1][i] += sums[0][i];
        }
    }
    __device__ __forceinline__ float2 beam(int i) const
    {
        return make_float2(sums[2][i], sums[1][i]);
    }

private:
    using memory = layout<Voltage, three_products, Beams>;
    operand_words d_sum, d_re, d_im; // as the tensor cores read them

    //! Loads 16 inputs at the warp's 16 times.
    static __device__ __forceinline__ void load(operand_words& to, uint32_t box, int k)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int g = lane / 4, t = lane % 4;
        const int byte = (16 * warp + 2 * g) * Voltage::bytes;
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            words[i] = Voltage::load(
                box + memory::place(16 * k + 2 * t + i % 2 + i / 2 * 8, byte));
        Voltage::join(to, 0, words[0], words[1]);
        Voltage::join(to, 1, words[2], words[3]);
    }
};

//! 16 inputs, of which each makes four products.
template <class Voltage, int Beams>
class multiplier<Voltage, four_products, Beams>
{
public:
    float sums[2][Beams / 2];

    template <class Ready, class Done>
    __device__ __forceinline__ void
    multiply(uint32_t box, const Ready& ready, const chunk_weights& w, const Done& done)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int g = lane / 4, t = lane % 4;
        const int byte = (16 * warp + 2 * g) * Voltage::bytes;
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; i++) // 8 inputs in a step
            words[i] =
                Voltage::load(box + memory::place(i / 2 * 8 + 2 * t + i % 2, byte));
        ready();
#pragma unroll
        for (int k = 0; k < 2; k++) {
            wgmma_wait<1>(); // one is under way while the operand of the other is made
#pragma unroll
            for (int i = 0; i < 2; i++) {
                uint32_t pair[2];
                Voltage::pairs(pair, words[2 * k + i]);
                d_a[k][2 * i] = pair[0];
                d_a[k][2 * i + 1] = pair[1];
            }
            wgmma_fence();
#pragma unroll
            for (int f = 0; f < 2; f++)
                wgmma_half<Beams>(sums[f],
                                  d_a[k],
                                  w.rows + 2 * k + f * (memory::form >> 4),
                                  !w.first || k > 0);
            wgmma_commit();
            if (k == 1)
                done();
        }
    }

    __device__ __forceinline__ void finish() {}
    __device__ __forceinline__ float2 beam(int i) const
    {
        return make_float2(sums[0][i], sums[1][i]);
    }

private:
    using memory = layout<Voltage, four_products, Beams>;
    operand_words d_a[2]; // as the tensor cores read them
};

template <class Voltage, class Products, int Beams, class Target>
__device__ __forceinline__ void form(const Target& target,
                                     const float* factor_at,
                                     const extents& x,
                                     barriers& b,
                                     uint32_t stages,
                                     uint32_t slots,
                                     uint8_t* scratch)
{
    using memory = layout<Voltage, Products, Beams>;
    const bool stay = x.chunks <= x.slots;
    // the same in all lanes, which the compiler must know: what follows from it then
    // stays in uniform registers, where the tensor cores' instructions want it
    const int crew = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const bool speaks = threadIdx.x % 32 == 0; // for its warp
    const float factor = *factor_at;
    // only the lower half of a descriptor depends on the address
    const uint64_t first_rows = half_rows_descriptor(slots);
    const auto rows_at = [&](int i) {
        return (first_rows & ~0xffffffffull) |
               uint32_t(uint32_t(first_rows) + i * (memory::slot >> 4));
    };
    ring_place stage, slot;
    const auto skip = [&] { // what is there for others only
        for (int chunk = 0; chunk < x.skew; chunk++) {
            wait_for(b.full + stage.index, stage.parity);
            if (speaks)
                arrive(b.empty + stage.index);
            stage.advance(x.stages);
        }
    };
    if (crew > 0)
        skip();
    for (int number = blockIdx.x; number < x.jobs; number += gridDim.x) {
        const job j(number, x);
        const ring_place first_slot = slot;
        for (int step = j.begin; step < j.end; step++) {
            if (stay)
                slot = first_slot;
            const bool come = step == j.begin || !stay; // weights, in this step
            const bool go = step + 1 == j.end || !stay;
            multiplier<Voltage, Products, Beams> all;
            int before = -1; // slot of the chunk before, if it can go
            const auto let_go = [&] {
                if (before >= 0 && speaks)
                    arrive(b.empty_slot + before);
            };
            for (int chunk = 0; chunk < x.chunks; chunk++) {
                wait_for(b.full + stage.index, stage.parity);
                all.multiply(
                    stages + stage.index * memory::stage + crew * memory::box,
                    [&] {
                        if (come)
                            wait_for(b.full_slot + slot.index, slot.parity);
                    },
                    { rows_at(slot.index), chunk == 0 },
                    let_go);
                __syncwarp();
                if (speaks)
                    arrive(b.empty + stage.index);
                before = go ? slot.index : -1;
                stage.advance(x.stages);
                slot.advance(x.slots);
            }
            wgmma_wait<0>();
            let_go();
            const int block = step / x.steps;
            const int warp = threadIdx.x / 32 % 4;
            const beam_place place{ int64_t(block) * x.channels + j.channel,
                                    j.tile * Beams,
                                    (step % x.steps * memory::crews + crew) * crew_times +
                                        16 * warp,
                                    x.beams,
                                    x.times };
            all.finish();
            target.template operator()<Beams>(
                [&](int column, int c, int h) {
                    return all.beam(4 * column + 2 * h + c);
                },
                place,
                factor,
                scratch);
        }
    }
    if (crew == 0)
        skip();
    wait_for_stores();
}

//! A block: warp groups that form beams, and one whose first thread feeds them.
template <class Voltage, class Products, int Beams, class Target>
__global__ void __launch_bounds__(128 * (crews_for(Beams) + 1), 1)
    form_beams(const __grid_constant__ CUtensorMap map,
               const __half* __restrict__ weights,
               const float* __restrict__ factor,
               const __grid_constant__ Target target,
               const __grid_constant__ extents x)
{
    using memory = layout<Voltage, Products, Beams>;
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
    const int crew = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (crew == memory::crews) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers_of_feeder));
        if (threadIdx.x % 128 == 0)
            feed<Voltage, Products, Beams>(map, weights, x, b, stages, slots);
    } else {
        asm volatile(
            "setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers_of_crew(Beams)));
        uint8_t* scratch = unaligned +
                           (slots + x.slots * memory::slot - shared_address(unaligned)) +
                           crew * Target::scratch(Beams);
        form<Voltage, Products, Beams>(target, factor, x, b, stages, slots, scratch);
    }
}

template <class T>
struct type {
    using value = T;
};

struct machine {
    int multiprocessors, shared;
};

//! How the shared memory of a block of threads is used.
struct rings {
    int stages, slots, bytes;
};

template <class Voltage, class Products, int Beams, class Target>
rings rings_for(const beam_extents& e, const machine& gpu)
{
    using memory = layout<Voltage, Products, Beams>;
    constexpr int scratch = memory::crews * Target::scratch(Beams);
    const int chunks = Products::packing(Beams).chunks(e.inputs);
    // weights that stay come first, then voltages on their way, then the next job's
    // weights
    const int room = gpu.shared - int(sizeof(barriers)) - 1024 - scratch;
    constexpr int least_stages = 3;
    const int most = (room - least_stages * memory::stage) / memory::slot;
    const int slots = std::min({ most, 2 * chunks, most_slots });
    const int stages =
        std::min((room - slots * memory::slot) / memory::stage, most_stages);
    return { stages,
             slots,
             1024 + stages * memory::stage + slots * memory::slot + scratch };
}

/*!
 * Half of a tile's chunks if beams take about as long to write as to form, so that one
 * warp group writes while the other multiplies; a quarter if there is less to do with
 * them. With fewer inputs there are stages for more than a tile, and warp groups come
 * apart by themselves. In smaller tiles weights may not stay, and would have to wait for
 * those behind.
 */
template <class Products, int Beams, class Target>
int skew_for(int chunks)
{
    if (Beams < 128 || !std::is_same_v<Products, three_products>)
        return 0;
    return std::is_same_v<Target, write_fc32<true>> ? chunks / 2 : chunks / 4;
}

template <class Voltage, class Products, int Beams, class Target>
void launch(const beam_extents& e,
            const machine& gpu,
            const void* voltages,
            int blocks,
            const packed_weights& weights,
            const Target& target,
            cudaStream_t s)
{
    using memory = layout<Voltage, Products, Beams>;
    const auto shared = rings_for<Voltage, Products, Beams, Target>(e, gpu);
    extents x;
    x.beams = e.beams;
    x.times = e.times;
    x.channels = e.channels;
    x.chunks = Products::packing(Beams).chunks(e.inputs);
    x.tiles = Products::packing(Beams).tiles(e.beams);
    x.steps = (e.times + memory::crews * crew_times - 1) / (memory::crews * crew_times);
    x.total = x.steps * blocks;
    x.splits = choose_splits(
        int64_t(e.channels) * x.tiles, x.total, x.total, gpu.multiprocessors, 4);
    x.length = (x.total + x.splits - 1) / x.splits;
    x.jobs = e.channels * x.tiles * x.splits;
    x.stages = shared.stages;
    x.slots = shared.slots;
    x.skew = skew_for<Products, Beams, Target>(x.chunks);
    const voltage_shape shape{
        int64_t(e.times) * Voltage::bytes, e.inputs, e.channels, blocks
    };
    const CUtensorMap map =
        make_tensor_map(voltages, shape, memory::row, memory::chunk, 1);
    form_beams<Voltage, Products, Beams, Target>
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

    weight_packing packing() const override
    {
        return few_inputs() ? weight_packing::four(tile())
                            : weight_packing::three(tile());
    }

    bool sums_over(int piece) const override
    {
        return piece == 64 || piece == 16 || piece == 1;
    }

    void load(const beam_target& target) override
    {
        with_types(target, 1, [&](auto voltage, auto products, auto beams, auto& what) {
            using v = typename decltype(voltage)::value;
            using p = typename decltype(products)::value;
            using sink = std::decay_t<decltype(what)>;
            cuda::load(form_beams<v, p, beams.value, sink>,
                       rings_for<v, p, beams.value, sink>(d_x, d_gpu).bytes);
        });
    }

    void form(const void* voltages,
              int blocks,
              const beam_weights& weights,
              const beam_target& target,
              cudaStream_t s) override
    {
        with_types(
            target, blocks, [&](auto voltage, auto products, auto beams, auto& what) {
                launch<typename decltype(voltage)::value,
                       typename decltype(products)::value,
                       beams.value>(
                    d_x, d_gpu, voltages, blocks, weights.packed, what, s);
            });
    }

private:
    const beam_extents d_x;
    machine d_gpu;

    //! Whether there is less to multiply than to do with the sums.
    bool few_inputs() const { return d_x.inputs <= 128; }
    //! Wide tiles are faster as long as their weights can stay in shared memory.
    int tile() const
    {
        if (d_x.beams <= 32 || d_x.inputs > 512)
            return 32;
        return d_x.beams <= 64 || d_x.inputs > 256 ? 64 : 128;
    }

    //! Calls run(type of voltages, type of products, std::integral_constant of a tile's
    //! beams, the object that does what `target` says).
    template <class Run>
    void with_types(const beam_target& target, int blocks, const Run& run) const
    {
        const auto of_tile = [&](auto beams) {
            const auto of_target = [&](auto products, const auto& what) {
                if (d_x.input == sample_type::sc8)
                    run(type<voltage_sc8>{}, products, beams, what);
                else
                    run(type<voltage_sc4>{}, products, beams, what);
            };
            const auto of_products = [&](auto products) {
                with_target<true, true>(target, d_x.times, [&](const auto& what) {
                    of_target(products, what);
                });
            };
            if (!few_inputs())
                of_products(type<three_products>{});
            else if (target.what == beam_target::kind::sc8)
                of_target(type<four_products>{},
                          store_sc8{ boxes(target, blocks), target.clamped });
            else
                of_products(type<four_products>{});
        };
        switch (tile()) {
        case 32:
            return of_tile(std::integral_constant<int, 32>{});
        case 64:
            return of_tile(std::integral_constant<int, 64>{});
        default:
            return of_tile(std::integral_constant<int, 128>{});
        }
    }

    //! Where 8-bit beams are stored; load() has no memory for them yet.
    CUtensorMap boxes(const beam_target& target, int blocks) const
    {
        if (!target.to)
            return {};
        const voltage_shape shape{
            2 * int64_t(d_x.times), d_x.beams, d_x.channels * blocks, 1
        };
        return make_tensor_map(target.to, shape, box_row, tile(), 1);
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
