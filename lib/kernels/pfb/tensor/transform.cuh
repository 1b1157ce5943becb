/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TRANSFORM_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TRANSFORM_CUH

#include "kernels/gpu/warp.cuh"
#include "kernels/pfb/tensor/clusters.cuh"
#include "kernels/pfb/tensor/gains.cuh"
#include "kernels/pfb/tensor/products.cuh"
#include "kernels/pfb/tensor/real.cuh"
#include "kernels/pfb/tensor/results.cuh"
#include "kernels/pfb/tensor/sums.cuh"

namespace gr::aperture::kernels::cuda::tensor {

//! Loads the matrices and the twiddles of this rank into shared memory. Called by all
//! consumer threads.
template <store Store, class Call>
__device__ __forceinline__ void load_tables(memory<Store, Call>& m, const Call& c)
{
    constexpr int all = consumers * consumer_threads;
    int rank = 0;
    if constexpr (Call::ranks > 1)
        rank = int(rank_in_cluster());
    const uint4* matrices = c.matrices + rank * int(sizeof m.matrices / sizeof(uint4));
    const auto* twiddles =
        reinterpret_cast<const float4*>(c.twiddles) + rank * (steps * consumer_threads);
    for (int i = threadIdx.x; i < int(sizeof m.matrices / sizeof(uint4)); i += all)
        reinterpret_cast<uint4*>(m.matrices)[i] = matrices[i];
    for (int i = threadIdx.x; i < steps * consumer_threads; i += all)
        m.twiddles[0][i] = twiddles[i];
    fence_async();
}

//! Returns which elements (channels) of a slot's results this thread has.
//! \param residue of its channels, see residue_of()
template <class Call>
__device__ __forceinline__ auto own_numbers(int residue, const Call& c)
{
    const int thread = threadIdx.x % consumer_threads;
    if constexpr (has_one_series<Call>)
        return channels_of_thread{ int(threadIdx.x),
                                   (thread / 4 + thread % 4 * radix) * Call::ranks +
                                       residue,
                                   4 * radix * Call::ranks };
    else
        return numbers_of_thread<typename Call::shape>{
            int(threadIdx.x), thread / 4, thread % 4, c.segment, c.inverted
        };
}

/*!
 * Whether the consumers alternate: one starts its first product when the other has
 * started its second one, and so uses the time that the other waits for it. Otherwise
 * both wait at the same time, again and again. With delays, this made some calls faster
 * and others slower; with real samples it makes frames slower.
 */
template <store Store, class Call>
inline constexpr bool alternates = Call::real        ? Store == store::spectra
                                   : Call::ranks > 1 ? false
                                                     : !Call::delayed;
constexpr int first_alternation_barrier =
    1 + consumers; // the first consumer's; those before are the consumers' own

__device__ __forceinline__ void sync_consumer(int consumer)
{
    asm volatile("bar.sync %0, %1;" ::"r"(1 + consumer), "n"(consumer_threads)
                 : "memory");
}
//! Waits until a consumer may go on. Called by that consumer.
__device__ __forceinline__ void wait_for_consumer(int consumer)
{
    asm volatile("bar.sync %0, %1;" ::"r"(first_alternation_barrier + consumer),
                 "n"(consumers * consumer_threads)
                 : "memory");
}
//! Lets a consumer go on. Called by the other one.
__device__ __forceinline__ void let_consumer_go(int consumer)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(first_alternation_barrier + consumer),
                 "n"(consumers * consumer_threads)
                 : "memory");
}

//! Returns the products of gain and phasor of element e of c = 0, for spectra 2 t and 2 t
//! + 1 of a slot.
template <class Call, class Phases, class Numbers>
__device__ __forceinline__ std::pair<float2, float2>
first_factors(float2 gain, const Phases& phases, Numbers own, int e)
{
    if constexpr (!Call::delayed) {
        return { gain, gain };
    } else {
        own.c = 0;
        const auto [first, second, twice_cosine] = phases.spectra_of(own, e);
        const float2 a = times(first, gain), b = times(second, gain);
        const float2 c = reflected(a, b, twice_cosine);
        if (own.t == 0)
            return { a, b };
        return { c, reflected(b, c, twice_cosine) };
    }
}

/*!
 * Returns the word of element e of c = 0, which first_row has kept: spectra 2 t and 2 t +
 * 1 of a slot, t < 2.
 * \param gains of the input
 * \param begin, end spectra of the first segment that are wanted
 * \param found grows by how many of them were clamped
 */
template <class Call, class Phases, class Numbers>
__device__ __forceinline__ uint32_t first_result(const first_row& row,
                                                 int e,
                                                 const float4* gains,
                                                 const Phases& phases,
                                                 const Numbers& own,
                                                 int begin,
                                                 int end,
                                                 int& found,
                                                 const Call& c)
{
    float2 sums[2];
    row.multiply(sums, c.first_rows);
    const int i = e / 4 % (2 * Call::gain_words), t = threadIdx.x % 4;
    const float2 gain =
        __ldg(reinterpret_cast<const float2*>(gains) +
              2 * (i / 2 * Call::gain_threads + consumer_threads + e % 4) + i % 2);
    const auto [factor, next_factor] = first_factors<Call>(gain, phases, own, e);
    const float2 y = times(sums[0], factor), z = times(sums[1], next_factor);
    const int earlier = first_spectrum(Call::segment_of(e), c);
    const auto counts = [&](int spectrum) {
        return t < slot_spectra / 2 &&
               spectrum >= (Call::delayed ? begin - earlier : 0) &&
               spectrum < end - earlier;
    };
    found += (is_clamped(y) && counts(2 * t)) + (is_clamped(z) && counts(2 * t + 1));
    return rounded(fitting(y), rounded(fitting(z)));
}

//! Returns a value that the compiler keeps in a register, in place of finding it out
//! again and again.
template <class T>
__device__ __forceinline__ T kept(T value)
{
    asm volatile("" : "+r"(value));
    return value;
}

/*!
 * A consumer: four warps that take slots of filtered samples, transform them, and store
 * the results. Its members are what a thread has in registers from slot to slot.
 */
template <store Store, class Call>
class slot_consumer
{
    static constexpr bool as_frames = Store == store::frames;
    using memory_type = memory<Store, Call>;
    static constexpr bool exchanged = memory_type::exchanged;
    static constexpr bool alternating = alternates<Store, Call>;
    // Consumers that alternate need the room of a set when the next one is complete,
    // others sooner.
    static constexpr bool leaves_late = alternating;
    using samples = std::conditional_t<(Call::ranks > 1), cores_matrix, rows>;
    static constexpr int samples_step = // to the next step
        Call::ranks > 1 ? 2 * core_column : step_bytes;
    static constexpr int samples_pair =
        pair * (Call::ranks > 1 ? core_spectrum : filtered_bytes);
    using sums = slice_sums<Call>;

    //! State that is kept while a piece is worked on.
    struct piece_state {
        int input;            // index in the call
        uint32_t gains_place; // place of the thread's gains
        char* to;             // address of the consumer's next spectrum
        int end;              // spectrum behind the last group
        // Halves of the first set of times that the piece does not have; and times of the
        // next half that are not wanted.
        int lacking, unwanted;
        int found;       // number of elements that were clamped
        int end_of_sums; // spectrum before which they are added to those in memory
    };
    //! The times of a slot, in spectra of the call.
    struct slot_times {
        int group; // first spectrum of the group
        int half;  // half of the set of times
        int wanted, first;
    };

    memory_type& m;
    const Call& c;
    const CUtensorMap& boxes;
    const int consumer = uniform(int(threadIdx.x / consumer_threads));
    const int thread = threadIdx.x % consumer_threads;
    const int lane = thread % 32, warp = uniform(thread / 32);
    // The segment whose spectra this lane stores.
    const int segment = Call::segments == 1 ? 0
                        : Call::in_a_row    ? warp * Call::segments_of_warp + lane
                                            : lane;
    const int leads = kept(int(lane == 0)); // true for the thread that leads its warp
    const rows first_matrix{ shared_address(m.matrices[0]) };
    const rows second_matrix{ shared_address(m.matrices[1]) };
    const uint32_t results =
        shared_address(m.results) + (as_frames ? 0 : consumer * 2 * Call::result_bytes);
    // Address of the column that this lane stores: column 2 t + spectrum of matrix i has
    // element e = 4 i + t.
    const uint32_t column = kept(uint32_t(
        Call::real  ? 0
        : as_frames ? (warp * 2 + lane / 16) * box_bytes + lane % 4 * sector_row +
                          lane / 4 % box_channels * sector + lane % 2 * (sector / 2) +
                          consumer * slot_spectra * 2
                    : lane % 2 * Call::result_pitch +
                          Call::result_place(lane / 8 * 4 + lane % 8 / 2) + warp * 16));
    const mirrored_place<Store, Call> mirrored{ consumer, thread, c.inverted };
    const uint32_t twiddles = kept(shared_address(&m.twiddles[0][thread]));
    const int rank = Call::ranks > 1 ? int(rank_in_cluster()) : 0;
    const int residue = Call::ranks > 1 ? residue_of(rank, Call::ranks, c.inverted) : 0;
    const decltype(own_numbers(0, c)) own = own_numbers(residue, c);
    first_row first;
    fixed_stage_place<slots<Store, Call>> slot{};
    int buffer = 0; // buffer of spectra, for a slot's results
    fixed_stage_place<sets> set{};
    bool leaving = false; // the set before is being stored
    bool set_begins = true;
    spectra_exchange<Store, Call> exchange{ m, c, consumer, thread, rank, results };

public:
    __device__ __forceinline__ slot_consumer(memory_type& of,
                                             const Call& call,
                                             const CUtensorMap& maps)
        : m(of), c(call), boxes(maps)
    {
        if constexpr (Call::real)
            first = first_row(shared_address(m.first_rows.of[consumer]));
        slot.advance(consumer);
    }

    //! The mainloop.
    __device__ __forceinline__ void run()
    {
        if constexpr (Call::summed)
            sums::clear(own_sums());
        if (alternating && consumer == 1)
            let_consumer_go(0);
        pieces all(c);
        piece p;
#pragma unroll 1
        while (all.take(p, c)) {
            piece_state now = begin(p);
#pragma unroll 1
            for (int time = p.first; time < now.end; time += group) {
                const slot_times at{ time,
                                     int(unsigned(c.first_time + time) % set_times /
                                         group),
                                     int(c.spectra) - time - consumer * slot_spectra,
                                     time + consumer * slot_spectra };
                float low[32], high[32]; // sums of the slot's pairs
                multiply(low, high, now, at);
                make_results(low, high, now, at);
                if constexpr (Call::summed)
                    if (time + group >= now.end_of_sums) {
                        sums::leave(own_sums(), own.first, now.input, time, c);
                        now.end_of_sums = sums::end_of_slice(time + group, now.end, c);
                    }
                if constexpr (as_frames)
                    store_times_of(now, at);
                else
                    store_spectra(now, at);
            }
            add_of_warp(c.clamped + input_of<Store>(p.input, c), now.found);
        }
        if (alternating && consumer == 0)
            wait_for_consumer(0); // the last time that it was let go
        if constexpr (exchanged)
            exchange.finish();
        else if (as_frames) {
            if (leads)
                wait_for_set();
        } else if (stores_spectra())
            wait_for_stores();
    }

private:
    __device__ __forceinline__ bool stores_spectra() const
    {
        return Call::segments == 1 ? leads : lane < Call::segments_of_warp;
    }
    //! Returns where the thread's sums of voltages are, found from another address that
    //! is kept.
    __device__ __forceinline__ uint32_t own_sums() const
    {
        return twiddles +
               uint32_t(offsetof(memory_type, sums) - offsetof(memory_type, twiddles)) +
               uint32_t(consumer) * sums::bytes;
    }

    __device__ __forceinline__ piece_state begin(const piece& p) const
    {
        piece_state now;
        now.input = p.input;
        now.gains_place = uint32_t(input_of<Store>(p.input, c) * Call::ranks + rank) *
                              (Call::gain_words * Call::gain_threads) +
                          thread;
        now.to = nullptr;
        if (!as_frames)
            now.to = static_cast<char*>(c.spectra_of[p.input]) +
                     (p.first + first_spectrum(segment, c) + consumer * slot_spectra +
                      (Call::in_a_row || exchanged ? 0 : warp)) *
                         c.pitch;
        now.end = p.first + p.groups * group;
        now.lacking = unsigned(c.first_time + p.first) % set_times / group;
        now.unwanted = Call::delayed ? max(0, -p.first) : 0;
        now.found = 0;
        now.end_of_sums = 0;
        if constexpr (Call::summed)
            now.end_of_sums = sums::end_of_slice(p.first, now.end, c);
        return now;
    }

    __device__ __forceinline__ void start_first(float (&to)[32], samples filtered) const
    {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++)
            multiply_shared(to,
                            first_matrix.descriptor(i * step_bytes),
                            filtered.descriptor(i * samples_step),
                            i > 0);
        wgmma_commit();
    }
    __device__ __forceinline__ void start_second(float (&to)[32],
                                                 const second_operand& operand) const
    {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++)
            wgmma_half<2 * radix>(
                to, operand[i], second_matrix.descriptor(i * step_bytes), i > 0);
        wgmma_commit();
    }
    __device__ __forceinline__ float4 load_twiddles(int step) const
    {
        return load_numbers(twiddles + step % steps * int(sizeof m.twiddles[0]));
    }

    //! Waits for a slot, makes the first product of its pairs, and starts the second one.
    __device__ __forceinline__ void multiply(float (&low)[32],
                                             float (&high)[32],
                                             const piece_state& of,
                                             const slot_times& at)
    {
        const samples filtered(shared_address(m.filtered[slot.stage()]));
        m.filtered_pipeline.consumer_wait(slot);
        if constexpr (alternating)
            wait_for_consumer(consumer);
        start_first(low, filtered);
        start_first(high, filtered.after(samples_pair));
        if constexpr (Call::delayed)
            m.phases.keep(
                c.cycles + of.input, c.number + uint64_t(int64_t(at.first)), own);
        // Registers are scarce: the twiddles of each step are loaded when they are
        // wanted, twice, and most of the second pair's operand is made when the first
        // one has been used.
        second_operand even, odd;
        float4 now = load_twiddles(0), next = load_twiddles(1);
        const auto twiddle_step = [&](second_operand& to, const float(&from)[32], int i) {
            twiddle(to, from, i, now);
            now = next;
            next = load_twiddles(i + 2);
        };
        wgmma_wait<0>();
        if constexpr (Call::ranks > 1) {
            if (lane < Call::ranks)
                arrive_at(m.filtered_pipeline.empty(slot.stage()), lane);
        } else if (leads)
            m.filtered_pipeline.consumer_release(slot);
#pragma unroll
        for (int i = 0; i < steps; i++)
            twiddle_step(even, low, i);
        if constexpr (Call::real)
            first.keep(0, even);
        start_second(low, even);
        twiddle_step(odd, high, 0); // no more has registers yet
        wgmma_wait<0>();
#pragma unroll
        for (int i = 1; i < steps; i++)
            twiddle_step(odd, high, i);
        if constexpr (Call::real)
            first.keep(1, odd);
        start_second(high, odd);
        if constexpr (alternating)
            let_consumer_go(1 - consumer);
        slot.advance(consumers);
    }

    //! Stores the words of element i of both pairs into the set of times.
    __device__ __forceinline__ void
    put_in_set(int i, uint32_t low_word, uint32_t high_word, int half) const
    {
        if (Call::real && thread < 4) // elements of c = 0 are not wanted
            return;
        const uint32_t in_set = results + set.stage() * set_bytes;
        uint32_t place;
        if constexpr (Call::real)
            place = in_set + mirrored.of_number(i, half);
        else
            place = in_set + (column ^ half * (sector / 2)) + i * 4 * sector_row;
        store_words(place, low_word, high_word);
    }
    //! Stores the words of elements i to i + 3 of pair k as spectra.
    __device__ __forceinline__ void
    put_in_spectra(int k, int i, const uint32_t* words) const
    {
        const uint32_t at =
            results + buffer * Call::result_bytes + k * pair * Call::result_pitch;
        if constexpr (Call::real)
            mirrored.store_four(at, i, words);
        else
            store_columns(at + column + Call::result_place(4 * i), words);
    }

    //! The first half of the epilogue: multiplies the sums of a slot by gains and puts
    //! them into shared memory as sc8.
    __device__ __forceinline__ void make_results(float (&low)[32],
                                                 float (&high)[32],
                                                 piece_state& of,
                                                 const slot_times& at)
    {
        if constexpr (as_frames) {
            if (leaves_late ? set_begins : leaving) // a set may still be here
                wait_for(&m.stored[set.stage()][set_part<Call>(warp)], set.parity() ^ 1);
        }
        if constexpr (exchanged)
            exchange.wait_for_room();
        // The compiler does not know the value, so that no register has the address.
        asm volatile("" : "+r"(of.gains_place));
        const auto* gains = reinterpret_cast<const float4*>(c.gains) + of.gains_place;
        const int e = 8 * warp + lane / 4; // element of c = 0
        uint32_t first_word = 0;
        if constexpr (Call::real) {
            sync_consumer(consumer); // all know what has been kept
            first_word = first_result(first,
                                      e,
                                      gains - thread,
                                      m.phases,
                                      own,
                                      Call::delayed ? -at.first : 0,
                                      at.wanted,
                                      of.found,
                                      c);
            first.advance();
        }
        if constexpr (Call::delayed)
            quantise_delayed(low, high, gains, of, at);
        else
            quantise_plain(low, high, gains, of, at);
        if constexpr (Call::real && as_frames) {
            if (lane % 4 < slot_spectra / 2)
                store_word(
                    results + set.stage() * set_bytes +
                        mirrored.of_first(e, at.half, consumer, lane % 4, c.inverted),
                    first_word);
        } else if constexpr (Call::real) {
            sync_consumer(consumer); // results are there
            if (lane % 4 < slot_spectra / 2)
                mirrored.store_first(results + buffer * Call::result_bytes +
                                         lane % 4 * pair * Call::result_pitch,
                                     e,
                                     c.inverted,
                                     first_word);
        }
    }
    //! Returns functions of i: the first spectrum of pair k that is wanted of element i,
    //! and the one behind the last.
    __device__ __forceinline__ auto begin_of(int k, const slot_times& at) const
    {
        return [=](int i) {
            return Call::delayed
                       ? -at.first - k * pair -
                             first_spectrum(Call::segment_of(4 * i + lane % 4), c)
                       : 0;
        };
    }
    __device__ __forceinline__ auto end_of(int k, const slot_times& at) const
    {
        return [=](int i) {
            return at.wanted - k * pair -
                   first_spectrum(Call::segment_of(4 * i + lane % 4), c);
        };
    }
    __device__ __forceinline__ void quantise_delayed(const float (&low)[32],
                                                     const float (&high)[32],
                                                     const float4* gains,
                                                     piece_state& of,
                                                     const slot_times& at) const
    {
        wgmma_wait<0>();
        __syncwarp(); // all know what the warp keeps
        of.found += quantise_rotated<Call>(
            low,
            high,
            gains,
            [&] { return m.phases.series(own); },
            begin_of(0, at),
            end_of(0, at),
            c.harmless_squares,
            [&](int from, const uint32_t(&words)[pairs][4]) {
#pragma unroll
                for (int i = 0; i < 4 && as_frames; i++)
                    put_in_set(from + i, words[0][i], words[1][i], at.half);
                if constexpr (Call::summed)
                    sums::add(own_sums(), from, words[0], words[1]);
#pragma unroll
                for (int k = 0; k < pairs && !as_frames; k++)
                    put_in_spectra(k, from, words[k]);
            });
    }
    __device__ __forceinline__ void quantise_plain(const float (&low)[32],
                                                   const float (&high)[32],
                                                   const float4* gains,
                                                   piece_state& of,
                                                   const slot_times& at) const
    {
        float4 factors[Call::gain_words];
#pragma unroll
        for (int i = 0; i < Call::gain_words; i++)
            factors[i] = load_numbers(gains + i * Call::gain_threads);
        uint32_t words[pairs][8];
        const auto put = [&](int k) { // words of frames are put once both pairs are here
#pragma unroll
            for (int i = 0; i < 8 && as_frames && k > 0; i++)
                put_in_set(i, words[0][i], words[1][i], at.half);
#pragma unroll
            for (int i = 0; i < 8 && !as_frames; i += 4)
                put_in_spectra(k, i, words[k] + i);
        };
        wgmma_wait<0>();
        of.found += quantise(
            words[0], low, factors, begin_of(0, at), end_of(0, at), c.harmless_squares);
        put(0);
        of.found += quantise(
            words[1], high, factors, begin_of(1, at), end_of(1, at), c.harmless_squares);
        put(1);
        if constexpr (Call::summed) {
            sums::add(own_sums(), 0, words[0], words[1]);
            sums::add(own_sums(), 4, words[0] + 4, words[1] + 4);
        }
    }

    //! The second half of the epilogue, for frames: stores a set of times when it is
    //! complete.
    __device__ __forceinline__ void store_times_of(piece_state& of, const slot_times& at)
    {
        if (!leaves_late && leaving) {
            leave_set();
            leaving = false;
        }
        set_begins = at.half == 1 || at.group + group >= of.end;
        if (!set_begins)
            return;
        if (leaves_late && leaving)
            leave_set();
        store_set({ of.input,
                    c.first_time + at.group - at.half * group,
                    of.lacking * group + of.unwanted,
                    at.half * group + min(group, int(c.spectra) - at.group),
                    at.half * group + int(c.spectra) - at.group });
        set.advance();
        leaving = true;
        of.lacking = 0;
        of.unwanted = 0;
    }
    //! Waits until a set has left shared memory.
    __device__ __forceinline__ static void wait_for_set()
    {
        if (leaves_late)
            commit_stores();
        wait_for_stores();
    }
    __device__ __forceinline__ void leave_set() const
    {
        if (leads)
            wait_for_set();
        arrive(&m.stored[set.stage() ^ 1][set_part<Call>(warp)]);
    }
    __device__ __forceinline__ void store_set(const time_set& times) const
    {
        const bool boxed =
            c.boxed && times.first == 0 && times.end_of(c.last_segment, c) == set_times;
        fence_async();
        arrive(&m.kept[set.stage()][set_part<Call>(warp)]);
        if (boxed && consumer < consumers - 1)
            return;
        // The spectra of the last consumer are the last of a group.
        wait_for(&m.kept[set.stage()][set_part<Call>(warp)], set.parity());
        const uint32_t from = results + set.stage() * set_bytes;
        if (!boxed)
            store_sectors(from, consumer, thread, residue, times, c);
        else if (leads) {
#pragma unroll
            for (int i = 0; i < boxes_of_warp<Call>; i++)
                store_box_of(times, from, i);
            // This waits until the copy engine has taken the results.
            if (!leaves_late)
                commit_stores();
        }
    }
    __device__ __forceinline__ void
    store_box_of(const time_set& times, uint32_t from, int i) const
    {
        const input_of_frame of = c.of_frame[times.input];
        const auto store = [&](auto... segment_and_input) {
            store_staying_box(&boxes,
                              from + warp * 2 * box_bytes +
                                  i * (2 * box_bytes / boxes_of_warp<Call>),
                              2 * times.time,
                              first_of_box<Call>(warp, i),
                              of.frame * rows_of_frame<Call>,
                              segment_and_input...);
        };
        if constexpr (Call::ranks > 1)
            store(residue, of.input);
        else if constexpr (Call::segments == 1 && !Call::real)
            store(of.input);
        else
            store(0, of.input);
    }

    //! The same for spectra: stores those of a slot. Each warp stores a line, because the
    //! tensor cores wait for the slowest warp.
    __device__ __forceinline__ void store_spectra(piece_state& of, const slot_times& at)
    {
        fence_async();
        // The line before, in the other buffer, has left when all threads are here.
        if (!exchanged && stores_spectra())
            wait_for_stores();
        sync_consumer(consumer);
        const int there = at.wanted - first_spectrum(segment, c);
        const int unwanted = Call::delayed ? -at.first - first_spectrum(segment, c) : 0;
        const uint32_t from =
            results + buffer * Call::result_bytes + segment * Call::segment_pitch;
        if constexpr (exchanged)
            exchange.send(of.to, unwanted, there);
        else if constexpr (Call::in_a_row) {
            if (stores_spectra())
                store_segment(of.to, from, unwanted, there, c);
        } else if (stores_spectra() && warp < there && warp >= unwanted)
            store_bytes(of.to, from + warp * Call::result_pitch, Call::spectrum_bytes);
        buffer ^= 1;
        of.to += group * c.pitch;
    }
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TRANSFORM_CUH */
