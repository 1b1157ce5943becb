/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beamformer_store.cuh"
#include "kernels/beamformer/beamformer_tile.cuh"
#include "kernels/gpu/pipeline.cuh"
#include "kernels/gpu/warp.cuh"
#include "kernels/gpu/wgmma.cuh"
#include "kernels/gpu/wgmma_half.cuh"
#include <algorithm>
#include <cstddef>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int consumer_times = 64; // rows of a warp group's matrix instructions
constexpr int most_consumers = 3;
constexpr int most_stages = 8;
constexpr int most_slots = 34; // more would leave 256 inputs a stage less
constexpr int packed_row = beam_chunk * sizeof(__half);

constexpr int piece = 16; // inputs, of an instruction

/*!
 * The number of real products that make a complex one; see weight_packing. `pieces` of 16
 * inputs of a chunk are multiplied.
 */
struct three_products {
    static constexpr int pieces = beam_chunk / piece;
    static constexpr bool leaves_registers = false;
    //! The weights are crossed, so that sums which finish() adds lie in different
    //! banks of registers: the tensor cores use both meanwhile.
    static constexpr weight_packing packing(int tile)
    {
        return weight_packing::three(tile, true);
    }
};
template <int Pieces>
struct four_products {
    static constexpr int pieces = Pieces;
    static constexpr bool leaves_registers = true;
    static constexpr weight_packing packing(int tile)
    {
        return weight_packing::four(tile);
    }
};

//! Number of consumers: warp groups that form beams. Each has 64 times of the same beams,
//! and there are as many as registers allow.
constexpr int consumers_for(int beams) { return beams == 128 ? 2 : 3; }
constexpr int registers_of_consumer(int beams) { return beams == 128 ? 240 : 160; }
constexpr int registers_of_producer = 24;

//! Divides successive steps evenly: `length` for each part, and one more for the first
//! `longer` parts.
struct even_parts {
    int length, longer;
    __device__ int first(int i) const { return i * length + min(i, longer); }
    __device__ int count(int i) const { return length + (i < longer); }
};

/*!
 * A work tile is the beams of a tile in a channel, in steps of 64 times for each
 * consumer. The inputs come in chunks of 32. Pipeline stages hold chunks of voltages,
 * slots hold chunks of weights: if there are as many slots as chunks, weights stay for
 * all steps of a work tile; otherwise they are loaded anew in each step.
 */
struct extents {
    int beams, times, channels;
    int chunks, tiles;
    int steps; // in a frame
    int total; // steps of all frames
    even_parts of_groups, of_others;
    int rest;          // place where the others' steps of a row begin
    int stages, slots; // stages: of each consumer
};

/*!
 * Tile scheduler: a thread block takes work tiles or parts of them, one after the other.
 * All steps of a tile, channel by channel, are a row. As many thread blocks as there are
 * tiles are a group, and have the same steps of all tiles: they read the same voltages at
 * about the same time, once from memory. Every other group goes through its channels
 * backwards: where one group ends in a channel that the next begins with, both are there
 * at the same time, and the weights of that channel are read from memory once, too.
 * Groups come to new channels at different times. The thread blocks that are in no group
 * share what the groups leave: the end of the row, tile by tile.
 */
class work_tile
{
public:
    int channel, tile;
    int begin, end; // steps; there are none if there is no such work tile

    //! The first work tile of this thread block.
    __device__ explicit work_tile(const extents& x)
    {
        const int groups = gridDim.x / x.tiles, others = groups * x.tiles;
        const int block = blockIdx.x, group = block / x.tiles;
        int first; // step of the row
        if (group < groups) {
            tile = block % x.tiles;
            first = x.of_groups.first(group);
            d_left = x.of_groups.count(group);
            d_way = group % 2 ? -1 : 1;
        } else {
            const int at = x.of_others.first(block - others);
            const int row = max(x.channels * x.total - x.rest, 1);
            tile = at / row;
            first = x.rest + at % row;
            d_left = x.of_others.count(block - others);
            d_way = 1;
        }
        if (d_way < 0)
            first += d_left - 1;
        channel = first / x.total;
        begin = first % x.total;
        take(d_way < 0 ? max(begin + 1 - d_left, 0) : begin,
             d_way < 0 ? begin + 1 : min(begin + d_left, x.total));
    }
    //! Goes on to the next work tile.
    __device__ void advance(const extents& x)
    {
        channel += d_way;
        int from = 0;
        if (channel == x.channels) {
            tile++;
            channel = x.rest / x.total;
            from = x.rest % x.total;
        }
        take(d_way < 0 ? max(x.total - d_left, 0) : from,
             d_way < 0 ? x.total : min(from + d_left, x.total));
    }
    __device__ bool exists() const { return begin < end; }

private:
    int d_left, d_way; // steps of later work tiles; of the channels: 1 or, backwards, -1

    __device__ void take(int from, int to)
    {
        begin = from;
        end = to;
        d_left -= to - from;
    }
};

//! A step of a frame.
struct moment {
    int frame, step;

    __device__ moment(int step_of_all, const extents& x)
        : frame(step_of_all / x.steps), step(step_of_all % x.steps)
    {
    }
    __device__ void advance(const extents& x)
    {
        if (++step == x.steps) {
            step = 0;
            frame++;
        }
    }
};

template <class Voltage, class Products, int Beams>
struct layout {
    static constexpr int consumers = consumers_for(Beams);
    static constexpr int forms = Products::packing(Beams).forms;
    static constexpr int row = consumer_times * Voltage::bytes; // bytes of a row of a box
    static constexpr int stage = beam_chunk * row;              // a box
    static constexpr int form = Beams * packed_row;
    static constexpr int slot = forms * form;

    //! Returns the place of a byte of an input in a box that the copy engine has
    //! swizzled.
    static __device__ __forceinline__ uint32_t place(int input, int byte)
    {
        const int swizzle = row == 128 ? input % 8 : input / 2 % 4;
        return input * row + (byte ^ (swizzle << 4));
    }
};

//! The barriers of a thread block.
struct barriers {
    pipeline<most_stages> voltages[most_consumers];
    pipeline<most_slots> weights;
    //! Consumers wait for each other: before they store, and before they begin a step.
    uint64_t storing[most_consumers], middle[most_consumers];
};

//! The same by their addresses, for one consumer.
class barrier_places
{
public:
    __device__ barrier_places(const barriers& b, int consumer)
        : d_at(uniform(shared_address(&b))),
          voltages(uniform(shared_address(b.voltages + consumer)))
    {
    }
    __device__ pipeline_at<most_slots> weights() const
    {
        return pipeline_at<most_slots>(d_at + offsetof(barriers, weights));
    }
    __device__ uint32_t storing(int consumer) const
    {
        return of(offsetof(barriers, storing), consumer);
    }
    __device__ uint32_t middle(int consumer) const
    {
        return of(offsetof(barriers, middle), consumer);
    }

private:
    uint32_t d_at;

    __device__ uint32_t of(size_t first, int consumer) const
    {
        return d_at + uint32_t(first) + consumer * uint32_t(sizeof(uint64_t));
    }

public:
    pipeline_at<most_stages> voltages;
};

/*!
 * Reads what a thread needs of 16 inputs: lane 4 g + t of a warp needs two times of
 * inputs 2 t and 2 t + 1, and of those that are 8 later. read(words, stage, k) reads the
 * inputs from 16 k on; join(both, words, constant) makes operand_words of them, before
 * they are converted; `constant` is what that and the conversion need.
 */
template <class Voltage, class Products, int Beams>
class voltage_reader
{
public:
    __device__ explicit voltage_reader(uint32_t stages)
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int g = lane / 4, t = lane % 4;
        const int byte = (16 * warp + 2 * g) * Voltage::bytes;
        for (int i = 0; i < 2; i++)
            d_at[i] = stages + memory::place(2 * t + i, byte);
    }
    __device__ __forceinline__ void read(uint32_t (&words)[4], int stage, int k) const
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            words[i] = Voltage::load(d_at[i % 2] + stage * memory::stage +
                                     (16 * k + i / 2 * 8) * memory::row);
    }
    static __device__ __forceinline__ void
    join(operand_words& both, const uint32_t (&words)[4], uint32_t bytes_64)
    {
        Voltage::join(both, 0, words[0], words[1], bytes_64);
        Voltage::join(both, 1, words[2], words[3], bytes_64);
    }
    static constexpr uint32_t constant = half_pair::bytes_64;

private:
    using memory = layout<Voltage, Products, Beams>;
    uint32_t d_at[2];
};

//! Reads times g and g + 8, not 2 g and 2 g + 1.
template <class Products, int Beams>
class voltage_reader<voltage_sc8_transposed, Products, Beams>
{
public:
    __device__ explicit voltage_reader(uint32_t stages)
    {
        const int row = threadIdx.x % 8, matrix = threadIdx.x / 8 % 4;
        const int warp = threadIdx.x / 32 % 4;
        d_at = stages + memory::place(matrix / 2 * 8 + row, 32 * warp + matrix % 2 * 16);
    }
    __device__ __forceinline__ void read(uint32_t (&words)[4], int stage, int k) const
    {
        load_transposed(words, d_at + stage * memory::stage + 16 * k * memory::row);
    }
    static __device__ __forceinline__ void
    join(operand_words& both, const uint32_t (&words)[4], uint32_t)
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            both[i] = words[i];
    }
    static constexpr uint32_t constant = 0x64806480;

private:
    using memory = layout<voltage_sc8_transposed, Products, Beams>;
    uint32_t d_at;
};

//! Returns the value in a way that the assembler cannot see through: it would put a
//! constant, or what selects its bytes, into a register for each use.
__device__ __forceinline__ uint32_t unknown(uint32_t number)
{
    uint32_t own_bit;
    asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(own_bit));
    return number * (own_bit >> threadIdx.x % 32);
}

//! Mainloop of the producer of voltages: asks for those of a consumer, as far ahead as it
//! has stages.
template <class Voltage, class Products, int Beams>
__device__ __forceinline__ void load_voltages(
    const CUtensorMap& map, const extents& x, barriers& b, uint32_t stages, int consumer)
{
    using memory = layout<Voltage, Products, Beams>;
    auto& own = b.voltages[consumer];
    stage_place at;
    for (work_tile j(x); j.exists(); j.advance(x)) {
        moment now(j.begin, x);
        for (int step = j.begin; step < j.end; step++, now.advance(x))
            for (int chunk = 0; chunk < x.chunks; chunk++) {
                own.producer_acquire(at);
                copy_box(stages + at.stage() * memory::stage,
                         &map,
                         own.producer_expect(at, memory::stage),
                         (now.step * memory::consumers + consumer) * memory::row,
                         chunk * beam_chunk,
                         j.channel,
                         now.frame);
                at.advance(x.stages);
            }
    }
}

//! Mainloop of the producer of weights: asks for them as far ahead as there are slots.
template <class Voltage, class Products, int Beams>
__device__ __forceinline__ void
load_weights(const __half* weights, const extents& x, barriers& b, uint32_t slots)
{
    using memory = layout<Voltage, Products, Beams>;
    stage_place at;
    for (work_tile j(x); j.exists(); j.advance(x)) {
        const __half* from = weights + (int64_t(j.channel) * x.tiles + j.tile) *
                                           x.chunks * (memory::slot / sizeof(__half));
        const int times = x.chunks <= x.slots ? 1 : j.end - j.begin;
        for (int time = 0; time < times; time++)
            for (int chunk = 0; chunk < x.chunks; chunk++) {
                b.weights.producer_acquire(at);
                copy_bytes(slots + at.stage() * memory::slot,
                           from + chunk * (memory::slot / sizeof(__half)),
                           b.weights.producer_expect(at, memory::slot),
                           memory::slot);
                at.advance(x.slots);
            }
    }
}

//! The weights of a chunk, as the tensor cores find them, and its place in a step.
struct chunk_weights {
    uint64_t rows;
    int chunk;
};

/*!
 * The sums of a warp group, for its times and the beams of a tile.
 *
 *     multiply(words, read, leave, next, ready, weights, constant, done)
 *                         adds the chunk, of which `words` are the first 16 inputs as
 *                         they were read. read(1) reads 16 more of it; leave() is
 *                         called after the last; next() reads the first of the next
 *                         chunk; ready() waits for the weights; done() is called when
 *                         the chunk before is
 *     finish(), beam(i)   when all products are there: the sum of column and row i as
 *                         wgmma_half() orders them
 */
template <class Voltage, class Products, int Beams>
class multiplier;

//! The beginning of multiply() for 16 inputs: joins `words`, and reads the next ones.
template <class Voltage, class Products, int Beams, class Read, class Ready>
__device__ __forceinline__ void begin_piece(operand_words& both,
                                            const uint32_t (&words)[4],
                                            uint32_t constant,
                                            int k,
                                            const Read& read,
                                            const Ready& ready)
{
    voltage_reader<Voltage, Products, Beams>::join(both, words, constant);
    if (k > 0)
        return;
    if (Products::pieces > 1)
        read(1);
    ready();
}

//! Multiplies 32 inputs, each with three products.
template <class Voltage, int Beams>
class multiplier<Voltage, three_products, Beams>
{
    using products = three_products;
    static constexpr int operands = beam_forms;

public:
    float sums[beam_forms][Beams / 2];

    template <class Read, class Leave, class Next, class Ready, class Done>
    __device__ __forceinline__ void multiply(const uint32_t (&words)[4],
                                             const Read& read,
                                             const Leave& leave,
                                             const Next& next,
                                             const Ready& ready,
                                             const chunk_weights& w,
                                             uint32_t constant,
                                             const Done& done)
    {
#pragma unroll
        for (int k = 0; k < products::pieces; k++) {
            operand_words both;
            begin_piece<Voltage, products, Beams>(both, words, constant, k, read, ready);
            const bool add = w.chunk > 0 || k > 0;
            // Operands are made one after the other, while those before are multiplied.
            auto& [re, im, sum] = d_operands;
            const auto multiply = [&](int f, const operand_words& a) {
                wgmma_fence();
                wgmma_half<Beams>(
                    sums[f], a, w.rows + 2 * k + f * (memory::form >> 4), add);
                wgmma_commit();
            };
            wgmma_wait<operands - 1>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                re[i] = Voltage::re(both[i], constant);
            multiply(1, re);
            if (k > 0)
                leave();
            wgmma_wait<operands - 1>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                im[i] = Voltage::im(both[i], constant);
            multiply(2, im);
            if (k > 0)
                next();
            wgmma_wait<operands - 1>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum[i] = half_pair::plus(re[i], im[i]);
            multiply(0, sum);
            if (k == 0)
                done();
        }
    }

    __device__ __forceinline__ void finish()
    {
#pragma unroll
        for (int i = 0; i < Beams / 2; i++) {
            sums[2][i] += sums[0][i ^ 1];
            sums[1][i] += sums[0][i ^ 1];
        }
    }
    __device__ __forceinline__ float2 beam(int i) const
    {
        return make_float2(sums[2][i], sums[1][i]);
    }

private:
    using memory = layout<Voltage, products, Beams>;
    operand_words d_operands[operands]; // operands as the tensor cores read them
};

//! Multiplies pieces of 16 inputs, each with four products.
template <class Voltage, int Pieces, int Beams>
class multiplier<Voltage, four_products<Pieces>, Beams>
{
public:
    float sums[2][Beams / 2];

    template <class Read, class Leave, class Next, class Ready, class Done>
    __device__ __forceinline__ void multiply(const uint32_t (&words)[4],
                                             const Read& read,
                                             const Leave& leave,
                                             const Next& next,
                                             const Ready& ready,
                                             const chunk_weights& w,
                                             uint32_t constant,
                                             const Done& done)
    {
#pragma unroll
        for (int k = 0; k < Pieces; k++) {
            operand_words both;
            begin_piece<Voltage, four_products<Pieces>, Beams>(
                both, words, constant, k, read, ready);
            const uint64_t re = w.rows + 2 * k, im = re + (memory::form >> 4);
            const bool add = w.chunk > 0 || k > 0;
            // The matrix instructions of the other operands are under way while an
            // operand is made.
            wgmma_wait<2 * Pieces - 1>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                d_re[k][i] = Voltage::re(both[i], constant);
            wgmma_fence();
            wgmma_half<Beams>(sums[0], d_re[k], re, add);
            wgmma_half<Beams>(sums[1], d_re[k], im, add);
            wgmma_commit();
            if (k + 1 == Pieces)
                leave();
            wgmma_wait<2 * Pieces - 1>();
#pragma unroll
            for (int i = 0; i < 4; i++)
                d_im[k][i] = Voltage::im(both[i], constant);
            wgmma_fence();
            wgmma_half<Beams, -1>(sums[0], d_im[k], im, true);
            wgmma_half<Beams>(sums[1], d_im[k], re, true);
            wgmma_commit();
        }
        done();
        next();
    }

    __device__ __forceinline__ void finish() {}
    __device__ __forceinline__ float2 beam(int i) const
    {
        return make_float2(sums[0][i], sums[1][i]);
    }

private:
    using memory = layout<Voltage, four_products<Pieces>, Beams>;
    operand_words d_re[Pieces], d_im[Pieces]; // operands as the tensor cores read them
};

//! True if the consumers store one after the other, and multiply meanwhile, because
//! memory is slower. With other targets that costs more than it gains.
template <class Target>
constexpr bool in_turns = false;
template <lane_times Times, bool Even>
constexpr bool in_turns<write_fc32<Times, Even>> = true;

//! The reader of 8-bit voltages: in the order of times that a target needs, or else in
//! the one that is read faster.
template <class Target>
using voltage_sc8_for = std::
    conditional_t<Target::times == lane_times::pair, voltage_sc8, voltage_sc8_transposed>;

//! True if the first voltages of a step are read before the epilogue of the step before.
//! Otherwise there are no registers for them, or the next consumer waits for it.
template <class Products, class Target>
constexpr bool reads_ahead =
    !in_turns<Target> && (Target::times == lane_times::any || Products::leaves_registers);

/*!
 * Whether a consumer begins a step when the other is in the middle of its own. If they
 * began together they would stay together, and leave the tensor cores idle together
 * during the epilogue.
 */
template <class Products, int Beams, class Target>
constexpr bool
    half_a_step_apart = consumers_for(Beams) == 2 && reads_ahead<Products, Target>;

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
    const int chunks = x.chunks, slot_count = x.slots, stage_count = x.stages;
    const bool stay = chunks <= slot_count;
    const int consumer = uniform(threadIdx.x / 128);
    const bool speaks = threadIdx.x % 32 == 0; // for its warp
    const float factor = *factor_at;
    // Only the lower half of a descriptor depends on the address.
    const uint32_t first_rows = uniform(uint32_t(half_rows_descriptor(slots)));
    const auto rows_at = [&](int i) {
        return (half_rows_descriptor(0) & ~0xffffffffull) |
               uint32_t(first_rows + i * (memory::slot >> 4));
    };
    barrier_places at(b, consumer);
    const voltage_reader<Voltage, Products, Beams> voltages(stages);
    const uint32_t constant = unknown(voltage_reader<Voltage, Products, Beams>::constant);
    uint32_t words[4]; // voltages of the next 16 inputs
    stage_place stage, slot;
    const auto leave = [&] { // the stage, for the next
        __syncwarp();
        if (speaks)
            at.voltages.consumer_release(stage);
        stage.advance(stage_count);
    };
    // Parities of barriers; the first consumer does not wait at first.
    int storing = consumer == 0, middle = consumer == 0;
    for (work_tile j(x); j.exists(); j.advance(x)) {
        const stage_place first_slot = slot;
        moment now(j.begin, x);
        for (int step = j.begin; step < j.end; step++, now.advance(x)) {
            if (stay)
                slot = first_slot;
            const bool come = uniform(step == j.begin || !stay); // weights, in this step
            const bool go = uniform(step + 1 == j.end || !stay);
            multiplier<Voltage, Products, Beams> all;
            const auto read = [&](int k) { voltages.read(words, stage.stage(), k); };
            const auto begin = [&] { // a chunk
                at.voltages.consumer_wait(stage);
                read(0);
            };
            const auto let_go = [&](int chunk) { // the weights of the one before
                if (go && chunk > 0 && speaks)
                    arrive(at.weights().empty(slot.before(slot_count)));
            };
            if (half_a_step_apart<Products, Beams, Target>) {
                wait_for(at.middle(consumer), middle);
                middle ^= 1;
            }
            if (!reads_ahead<Products, Target> || step == j.begin)
                begin();
            const bool ahead = reads_ahead<Products, Target> && step + 1 < j.end;
#pragma unroll 1
            for (int chunk = 0; chunk < chunks; chunk++) {
                if (half_a_step_apart<Products, Beams, Target> && speaks &&
                    chunk == chunks / 2)
                    arrive(at.middle(1 - consumer));
                all.multiply(
                    words,
                    read,
                    leave,
                    [&] {
                        if (ahead || chunk + 1 < chunks)
                            begin();
                    },
                    [&] {
                        if (come)
                            at.weights().consumer_wait(slot);
                    },
                    { rows_at(slot.stage()), chunk },
                    constant,
                    [&] { let_go(chunk); });
                slot.advance(slot_count);
            }
            wgmma_wait<0>();
            let_go(chunks);
            const int warp = threadIdx.x / 32 % 4;
            const beam_place place{
                int64_t(now.frame) * x.channels + j.channel,
                j.tile * Beams,
                (now.step * memory::consumers + consumer) * consumer_times + 16 * warp,
                x.beams,
                x.times
            };
            all.finish();
            if (in_turns<Target>) {
                wait_for(at.storing(consumer), storing);
                storing ^= 1;
            }
            target.template operator()<Beams>(
                [&](int column, int c, int h) {
                    return all.beam(4 * column + 2 * h + c);
                },
                place,
                factor,
                scratch);
            __syncwarp();
            if (in_turns<Target> && speaks)
                arrive(at.storing((consumer + 1) % memory::consumers));
        }
    }
    wait_for_stores();
}

//! The kernel. A thread block has consumers and a producer warp group: one warp for the
//! voltages of each consumer, and the last warp for the weights of all.
template <class Voltage, class Products, int Beams, class Target>
__global__ void __launch_bounds__(128 * (consumers_for(Beams) + 1), 1)
    form_beams(const __grid_constant__ CUtensorMap map,
               const __half* __restrict__ weights,
               const float* __restrict__ factor,
               const __grid_constant__ Target target,
               const __grid_constant__ extents x)
{
    using memory = layout<Voltage, Products, Beams>;
    static_assert(memory::consumers <= most_consumers);
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t stages = shared_address(shared);
    const uint32_t slots = stages + memory::consumers * x.stages * memory::stage;
    uint8_t* scratch = shared + (slots - stages) + x.slots * memory::slot;
    auto& b = *reinterpret_cast<barriers*>(scratch +
                                           memory::consumers * Target::scratch(Beams));
    if (threadIdx.x == 0) {
        for (int consumer = 0; consumer < memory::consumers; consumer++) {
            init_barrier(b.storing + consumer, 4);
            init_barrier(b.middle + consumer, 4);
            for (int i = 0; i < x.stages; i++)
                b.voltages[consumer].init(i, 1, 4);
        }
        for (int i = 0; i < x.slots; i++)
            b.weights.init(i, 1, 4 * memory::consumers);
        fence_barriers();
    }
    __syncthreads();
    const int consumer = uniform(threadIdx.x / 128);
    if (consumer == memory::consumers) {
        give_registers<registers_of_producer>();
        const int warp = uniform(threadIdx.x % 128 / 32);
        if (threadIdx.x % 32 == 0) {
            if (warp < memory::consumers)
                load_voltages<Voltage, Products, Beams>(
                    map, x, b, stages + warp * x.stages * memory::stage, warp);
            else if (warp == most_consumers)
                load_weights<Voltage, Products, Beams>(weights, x, b, slots);
        }
    } else {
        take_registers<registers_of_consumer(Beams)>();
        form<Voltage, Products, Beams>(target,
                                       factor,
                                       x,
                                       b,
                                       stages + consumer * x.stages * memory::stage,
                                       slots,
                                       scratch + consumer * Target::scratch(Beams));
    }
}

template <class T>
struct type {
    using value = T;
};

struct machine {
    int multiprocessors, shared;
};

//! The division of the shared memory of a thread block.
struct rings {
    int stages, slots, bytes;
};

template <class Voltage, class Products, int Beams, class Target>
rings rings_for(const beam_extents& e, const machine& gpu)
{
    using memory = layout<Voltage, Products, Beams>;
    constexpr int scratch = memory::consumers * Target::scratch(Beams);
    const int chunks = Products::packing(Beams).chunks(e.inputs);
    // Room goes first to weights that stay, then to stages of voltages, then to the
    // weights of the next work tile.
    const int room = gpu.shared - int(sizeof(barriers)) - scratch;
    constexpr int least_stages = 3;
    constexpr int stage = memory::consumers * memory::stage;
    const int most = (room - least_stages * stage) / memory::slot;
    const int slots = std::min({ most, 2 * chunks, most_slots });
    const int stages = std::min((room - slots * memory::slot) / stage, most_stages);
    return { stages, slots, gpu.shared - room + stages * stage + slots * memory::slot };
}

template <class Voltage, class Products, int Beams, class Target>
void launch(const beam_extents& e,
            const machine& gpu,
            const void* voltages,
            int frames,
            const packed_weights& weights,
            const Target& target,
            cudaStream_t s)
{
    using memory = layout<Voltage, Products, Beams>;
    constexpr int step = consumers_for(Beams) * consumer_times;
    const auto shared = rings_for<Voltage, Products, Beams, Target>(e, gpu);
    extents x;
    x.beams = e.beams;
    x.times = e.times;
    x.channels = e.channels;
    x.chunks = Products::packing(Beams).chunks(e.inputs);
    x.tiles = (e.beams + Beams - 1) / Beams;
    x.steps = (e.times + step - 1) / step;
    x.total = x.steps * frames;
    const int64_t row = int64_t(e.channels) * x.total, all = row * x.tiles;
    const int grid = int(std::min<int64_t>(all, gpu.multiprocessors));
    const int groups = grid / x.tiles, others = grid % x.tiles;
    const auto in_groups = [&](int64_t steps) {
        return int(std::min<int64_t>((steps + x.tiles - 1) / x.tiles, groups));
    };
    x.of_groups = { int(all / grid), in_groups(all % grid) };
    x.rest = groups * x.of_groups.length + x.of_groups.longer;
    if (others > 0) {
        const int64_t left = (row - x.rest) * x.tiles;
        x.of_others = { int(left / others), int(left % others) };
    }
    x.stages = shared.stages;
    x.slots = shared.slots;
    const voltage_shape shape{
        int64_t(e.times) * Voltage::bytes, e.inputs, e.channels, frames
    };
    const CUtensorMap map = make_tensor_map(voltages, shape, memory::row, beam_chunk, 1);
    form_beams<Voltage, Products, Beams, Target>
        <<<grid, 128 * (consumers_for(Beams) + 1), shared.bytes, s>>>(
            map, weights.values, weights.factor, target, x);
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
              "asking for the shared memory of a thread block");
        d_gpu.multiprocessors = gpu.multiprocessors;
    }

    weight_packing packing() const override
    {
        return few_inputs() ? weight_packing::four(tile())
                            : three_products::packing(tile());
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
              int frames,
              const device_weights& weights,
              const beam_target& target,
              cudaStream_t s) override
    {
        with_types(
            target, frames, [&](auto voltage, auto products, auto beams, auto& what) {
                launch<typename decltype(voltage)::value,
                       typename decltype(products)::value,
                       beams.value>(
                    d_x, d_gpu, voltages, frames, weights.packed, what, s);
            });
    }

private:
    const beam_extents d_x;
    machine d_gpu;

    //! Returns whether the epilogue takes longer than the mainloop.
    bool few_inputs() const { return d_x.inputs <= 128; }
    //! Returns the beams of a tile: wide tiles are faster as long as their weights can
    //! stay in shared memory.
    int tile() const
    {
        if (d_x.beams <= 32 || d_x.inputs > 512)
            return 32;
        return d_x.beams <= 64 || d_x.inputs > 256 ? 64 : 128;
    }

    //! Calls run(type of voltages, type of products, std::integral_constant of the beams
    //! of a tile, target object) for what `target` says.
    template <class Run>
    void with_types(const beam_target& target, int frames, const Run& run) const
    {
        const auto of_tile = [&](auto beams) {
            const auto of_target = [&](auto products, const auto& what) {
                using sink = std::decay_t<decltype(what)>;
                if (d_x.input == sample_type::sc8)
                    run(type<voltage_sc8_for<sink>>{}, products, beams, what);
                else if constexpr (sink::times != lane_times::apart)
                    run(type<voltage_sc4>{}, products, beams, what);
            };
            const auto of_three = [&](const auto& what) {
                of_target(type<three_products>{}, what);
            };
            const auto of_four = [&](auto products) {
                if (target.what == beam_target::kind::sc8)
                    of_target(products,
                              store_sc8{ boxes(target, frames), target.clamped });
                else
                    with_target<true, true>(target, d_x.times, [&](const auto& what) {
                        of_target(products, what);
                    });
            };
            if (!few_inputs() && target.what == beam_target::kind::fc32 &&
                d_x.input == sample_type::sc8)
                of_three(write_fc32<lane_times::apart, true>{
                    static_cast<float2*>(target.to) });
            else if (!few_inputs())
                with_target<true, true>(target, d_x.times, of_three);
            else if (d_x.inputs > piece)
                of_four(type<four_products<beam_chunk / piece>>{});
            else
                of_four(type<four_products<1>>{});
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

    //! Returns the tensor map by which 8-bit beams are stored; an empty one for load(),
    //! which has no memory for them yet.
    CUtensorMap boxes(const beam_target& target, int frames) const
    {
        if (!target.to)
            return {};
        const voltage_shape shape{
            2 * int64_t(d_x.times), d_x.beams, d_x.channels * frames, 1
        };
        return make_tensor_map(target.to, shape, box_row, tile(), 1);
    }
};

} // namespace

std::unique_ptr<beam_former> make_wgmma_former(const beam_extents& x, gpu_facts gpu)
{
    return std::make_unique<wgmma_former>(x, gpu);
}

} // namespace gr::aperture::kernels::cuda
