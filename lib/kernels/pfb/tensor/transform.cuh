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
 * Whether the consumers take turns: one starts its first product when the other has
 * started its second one, and so uses the time that the other waits for it. Otherwise
 * both wait at the same time for as long as they keep step. With delays, turns made some
 * calls faster and others slower; of real samples they make frames slower.
 */
template <store Store, class Call>
inline constexpr bool takes_turns = Call::real        ? Store == store::spectra
                                    : Call::ranks > 1 ? false
                                                      : !Call::delayed;
constexpr int turn_barrier =
    1 + consumers; // the first consumer's; those before are the consumers' own

__device__ __forceinline__ void sync_consumer(int consumer)
{
    asm volatile("bar.sync %0, %1;" ::"r"(1 + consumer), "n"(consumer_threads)
                 : "memory");
}
//! Waits for the turn of a consumer. Called by that consumer.
__device__ __forceinline__ void wait_for_turn(int consumer)
{
    asm volatile("bar.sync %0, %1;" ::"r"(turn_barrier + consumer),
                 "n"(consumers * consumer_threads)
                 : "memory");
}
//! Gives the turn to a consumer. Called by the other one.
__device__ __forceinline__ void give_turn(int consumer)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(turn_barrier + consumer),
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

//! The mainloop of the consumers: takes slots of filtered samples, transforms them, and
//! stores the results.
//! \param boxes tensor map of the frames, if they are stored in boxes
template <store Store, class Call>
__device__ __forceinline__ void
transform(memory<Store, Call>& m, const Call& c, const CUtensorMap& boxes)
{
    constexpr bool as_frames = Store == store::frames;
    using memory_type = memory<Store, Call>;
    const int consumer = uniform(int(threadIdx.x / consumer_threads));
    const int thread = threadIdx.x % consumer_threads;
    const int lane = thread % 32, warp = uniform(thread / 32);
    // The segment whose spectra this lane stores.
    const int segment = Call::segments == 1 ? 0
                        : Call::in_a_row    ? warp * Call::segments_of_warp + lane
                                            : lane;
    int leads = lane == 0; // its warp; kept, or it would be found out again and again
    asm volatile("" : "+r"(leads));
    const rows first_matrix(shared_address(m.matrices[0]));
    const rows second_matrix(shared_address(m.matrices[1]));
    const uint32_t results =
        shared_address(m.results) + (as_frames ? 0 : consumer * 2 * Call::result_bytes);
    const auto stores_spectra = [&] {
        return Call::segments == 1 ? leads : lane < Call::segments_of_warp;
    };
    // Address of the column that this lane stores: column 2 t + spectrum of matrix i has
    // element e = 4 i + t.
    uint32_t column =
        Call::real  ? 0
        : as_frames ? (warp * 2 + lane / 16) * box_bytes + lane % 4 * sector_row +
                          lane / 4 % box_channels * sector + lane % 2 * (sector / 2) +
                          consumer * slot_spectra * 2
                    : lane % 2 * Call::result_pitch +
                          Call::result_place(lane / 8 * 4 + lane % 8 / 2) + warp * 16;
    asm volatile("" : "+r"(column)); // kept, too
    mirrored_place<Store, Call> mirrored(consumer, thread, c.inverted);
    uint32_t twiddles = shared_address(&m.twiddles[0][thread]);
    asm volatile("" : "+r"(twiddles));
    int rank = 0, residue = 0;
    if constexpr (Call::ranks > 1) {
        rank = int(rank_in_cluster());
        residue = residue_of(rank, Call::ranks, c.inverted);
    }
    const auto own = own_numbers(residue, c);
    first_row first;
    if constexpr (Call::real)
        first = first_row(shared_address(m.first_rows.of[consumer]));
    ring_place<slots<Store, Call>> slot{};
    slot.advance(consumer);
    using samples = std::conditional_t<(Call::ranks > 1), cores_matrix, rows>;
    constexpr int samples_step =
        Call::ranks > 1 ? 2 * core_column : step_bytes; // to the next step
    constexpr int samples_pair =
        pair * (Call::ranks > 1 ? core_spectrum : filtered_bytes);
    const auto start_first = [&](float(&sums)[32], samples filtered) {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++)
            multiply_shared(sums,
                            first_matrix.descriptor(i * step_bytes),
                            filtered.descriptor(i * samples_step),
                            i > 0);
        wgmma_commit();
    };
    const auto start_second = [&](float(&sums)[32], const second_operand& operand) {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++)
            wgmma_half<2 * radix>(
                sums, operand[i], second_matrix.descriptor(i * step_bytes), i > 0);
        wgmma_commit();
    };
    const auto load_twiddles = [&](int step) {
        return load_numbers(twiddles + step % steps * int(sizeof m.twiddles[0]));
    };
    int buffer = 0;       // of spectra, for a slot's results
    ring_place<sets> set; // of times
    set = {};
    bool leaving = false; // the set before is being stored
    bool set_begins = true;
    // Consumers that take turns need the room of a set when the next one is complete,
    // others sooner.
    constexpr bool leaves_late = takes_turns<Store, Call>;
    const auto wait_for_set = [] { // to have left
        if (leaves_late)
            commit_stores();
        wait_for_stores();
    };
    const auto leave_set = [&] {
        if (leads)
            wait_for_set();
        arrive(&m.stored[set.index ^ 1][set_part<Call>(warp)]);
    };
    const auto store_set = [&](const time_set& times) {
        const bool boxed =
            c.boxed && times.first == 0 && times.end_of(c.last_segment, c) == set_times;
        fence_async();
        arrive(&m.kept[set.index][set_part<Call>(warp)]);
        if (boxed && consumer < consumers - 1)
            return;
        // The spectra of the last consumer are the last of a group.
        wait_for(&m.kept[set.index][set_part<Call>(warp)], set.parity);
        const uint32_t from = results + set.index * set_bytes;
        if (!boxed)
            store_sectors(from, consumer, thread, residue, times, c);
        else if (leads) {
#pragma unroll
            for (int i = 0; i < boxes_of_warp<Call>; i++) {
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
            // This waits until the copy engine has taken the results.
            if (!leaves_late)
                commit_stores();
        }
    };
    constexpr bool exchanged = memory<Store, Call>::exchanged;
    spectra_exchange<Store, Call> exchange(m, c, consumer, thread, rank, results);
    using sums = slice_sums<Call>;
    const auto own_sums = [&] { // found from another address that is kept
        return twiddles +
               uint32_t(offsetof(memory_type, sums) - offsetof(memory_type, twiddles)) +
               uint32_t(consumer) * sums::bytes;
    };
    if constexpr (Call::summed)
        sums::clear(own_sums());
    constexpr bool by_turns = takes_turns<Store, Call>;
    if (by_turns && consumer == 1)
        give_turn(0);
    pieces all(c);
    piece p;
#pragma unroll 1
    while (all.take(p, c)) {
        const int input = input_of<Store>(p.input, c);
        uint32_t gains_place = uint32_t(input * Call::ranks + rank) *
                                   (Call::gain_words * Call::gain_threads) +
                               thread;
        char* to = nullptr; // of the consumer's next spectrum
        if (!as_frames)
            to = static_cast<char*>(c.spectra_of[p.input]) +
                 (p.first + first_spectrum(segment, c) + consumer * slot_spectra +
                  (Call::in_a_row || exchanged ? 0 : warp)) *
                     c.pitch;
        int time = p.first;
        const int end = time + p.groups * group;
        // Halves of the first set of times that the piece does not have; and times of the
        // next half that are not wanted.
        int lacking = unsigned(c.first_time + time) % set_times / group;
        int unwanted = Call::delayed ? max(0, -time) : 0;
        int found = 0;
        int end_of_sums = 0; // spectrum before which they are added to those in memory
        if constexpr (Call::summed)
            end_of_sums = sums::end_of_slice(time, end, c);
#pragma unroll 1
        for (; time < end; time += group) {
            const int half = unsigned(c.first_time + time) % set_times / group;
            const int wanted = int(c.spectra) - time - consumer * slot_spectra;
            const int slot_time = time + consumer * slot_spectra;
            float low[32], high[32]; // of the slot's pairs
            const samples filtered(shared_address(m.filtered[slot.index]));
            wait_for(&m.full[slot.index], slot.parity);
            if constexpr (by_turns)
                wait_for_turn(consumer);
            start_first(low, filtered);
            start_first(high, filtered.after(samples_pair));
            if constexpr (Call::delayed)
                m.phases.keep(
                    c.turns + p.input, c.number + uint64_t(int64_t(slot_time)), own);
            // Registers are scarce: the twiddles of each step are loaded when they are
            // wanted, twice, and most of the second pair's operand is made when the first
            // one has been used.
            second_operand even, odd;
            float4 now = load_twiddles(0), next = load_twiddles(1);
            const auto twiddle_step =
                [&](second_operand& to, const float(&sums)[32], int i) {
                    twiddle(to, sums, i, now);
                    now = next;
                    next = load_twiddles(i + 2);
                };
            wgmma_wait<0>();
            if constexpr (Call::ranks > 1) {
                if (lane < Call::ranks)
                    arrive_at(&m.empty[slot.index], lane);
            } else if (leads)
                arrive(&m.empty[slot.index]);
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
            if constexpr (by_turns)
                give_turn(1 - consumer);
            slot.advance(consumers);
            if constexpr (as_frames) {
                if (leaves_late ? set_begins : leaving) // what was there
                    wait_for(&m.stored[set.index][set_part<Call>(warp)], set.parity ^ 1);
            }
            if constexpr (exchanged)
                exchange.wait_for_room();
            asm volatile("" : "+r"(gains_place)); // so that no register has the address
            const auto* gains = reinterpret_cast<const float4*>(c.gains) + gains_place;
            const auto place_in_set = [&](int i) { // of words of both pairs
                const uint32_t in_set = results + set.index * set_bytes;
                if constexpr (Call::real)
                    return in_set + mirrored.of_number(i, half);
                else
                    return in_set + (column ^ half * (sector / 2)) + i * 4 * sector_row;
            };
            const auto put_in_set = [&](int i, uint32_t low_word, uint32_t high_word) {
                if (!Call::real || thread >= 4) // those of c = 0 are not wanted
                    store_words(place_in_set(i), low_word, high_word);
            };
            // Elements i to i + 3 of a pair, as spectra.
            const auto store_four = [&](int k, int i, const uint32_t* words) {
                const uint32_t at =
                    results + buffer * Call::result_bytes + k * pair * Call::result_pitch;
                if constexpr (Call::real)
                    mirrored.store_four(at, i, words);
                else
                    store_columns(at + column + Call::result_place(4 * i), words);
            };
            const int e = 8 * warp + lane / 4; // of c = 0
            uint32_t first_word = 0;
            if constexpr (Call::real) {
                sync_consumer(consumer); // all know what has been kept
                first_word = first_result(first,
                                          e,
                                          gains - thread,
                                          m.phases,
                                          own,
                                          Call::delayed ? -slot_time : 0,
                                          wanted,
                                          found,
                                          c);
                first.advance();
            }
            // The spectra of a pair that are wanted of element i.
            const auto begin_of = [&](int k) {
                return [&, k](int i) {
                    return Call::delayed
                               ? -slot_time - k * pair -
                                     first_spectrum(Call::segment_of(4 * i + lane % 4), c)
                               : 0;
                };
            };
            const auto end_of = [&](int k) {
                return [&, k](int i) {
                    return wanted - k * pair -
                           first_spectrum(Call::segment_of(4 * i + lane % 4), c);
                };
            };
            if constexpr (Call::delayed) {
                wgmma_wait<0>();
                __syncwarp(); // all know what the warp keeps
                found += quantise_rotated<Call>(
                    low,
                    high,
                    gains,
                    [&] { return m.phases.series(own); },
                    begin_of(0),
                    end_of(0),
                    c.harmless_squares,
                    [&](int from, const uint32_t(&words)[pairs][4]) {
#pragma unroll
                        for (int i = 0; i < 4 && as_frames; i++)
                            put_in_set(from + i, words[0][i], words[1][i]);
                        if constexpr (Call::summed)
                            sums::add(own_sums(), from, words[0], words[1]);
#pragma unroll
                        for (int k = 0; k < pairs && !as_frames; k++)
                            store_four(k, from, words[k]);
                    });
            } else {
                float4 factors[Call::gain_words];
#pragma unroll
                for (int i = 0; i < Call::gain_words; i++)
                    factors[i] = load_numbers(gains + i * Call::gain_threads);
                uint32_t words[pairs][8];
                const auto put = [&](int k) { // of frames, once both pairs are here
#pragma unroll
                    for (int i = 0; i < 8 && as_frames && k > 0; i++)
                        put_in_set(i, words[0][i], words[1][i]);
#pragma unroll
                    for (int i = 0; i < 8 && !as_frames; i += 4)
                        store_four(k, i, words[k] + i);
                };
                wgmma_wait<0>();
                found += quantise(
                    words[0], low, factors, begin_of(0), end_of(0), c.harmless_squares);
                put(0);
                found += quantise(
                    words[1], high, factors, begin_of(1), end_of(1), c.harmless_squares);
                put(1);
                if constexpr (Call::summed) {
                    sums::add(own_sums(), 0, words[0], words[1]);
                    sums::add(own_sums(), 4, words[0] + 4, words[1] + 4);
                }
            }
            if constexpr (Call::real && as_frames) {
                if (lane % 4 < slot_spectra / 2)
                    store_word(
                        results + set.index * set_bytes +
                            mirrored.of_first(e, half, consumer, lane % 4, c.inverted),
                        first_word);
            } else if constexpr (Call::real) {
                sync_consumer(consumer); // what this takes the place of has been put
                if (lane % 4 < slot_spectra / 2)
                    mirrored.store_first(results + buffer * Call::result_bytes +
                                             lane % 4 * pair * Call::result_pitch,
                                         e,
                                         c.inverted,
                                         first_word);
            }
            if constexpr (Call::summed)
                if (time + group >= end_of_sums) {
                    sums::leave(own_sums(), own.first, p.input, time, c);
                    end_of_sums = sums::end_of_slice(time + group, end, c);
                }
            if constexpr (as_frames) {
                if (!leaves_late && leaving) {
                    leave_set();
                    leaving = false;
                }
                set_begins = half == 1 || time + group >= end;
                if (set_begins) {
                    if (leaves_late && leaving)
                        leave_set();
                    store_set({ p.input,
                                c.first_time + time - half * group,
                                lacking * group + unwanted,
                                half * group + min(group, int(c.spectra) - time),
                                half * group + int(c.spectra) - time });
                    set.advance();
                    leaving = true;
                    lacking = 0;
                    unwanted = 0;
                }
            } else {
                fence_async();
                // Each warp stores a line, because the tensor cores wait for the slowest
                // warp. The line before, in the other buffer, has left when all threads
                // are here.
                if (!exchanged && stores_spectra())
                    wait_for_stores();
                sync_consumer(consumer);
                const int there = wanted - first_spectrum(segment, c);
                const int unwanted_there =
                    Call::delayed ? -slot_time - first_spectrum(segment, c) : 0;
                const uint32_t from =
                    results + buffer * Call::result_bytes + segment * Call::segment_pitch;
                if constexpr (exchanged)
                    exchange.send(to, unwanted_there, there);
                else if constexpr (Call::in_a_row) {
                    if (stores_spectra())
                        store_segment(to, from, unwanted_there, there, c);
                } else if (stores_spectra() && warp < there && warp >= unwanted_there)
                    store_bytes(
                        to, from + warp * Call::result_pitch, Call::spectrum_bytes);
                buffer ^= 1;
                to += group * c.pitch;
            }
        }
        add_of_warp(c.clamped + input_of<Store>(p.input, c), found);
    }
    if (by_turns && consumer == 0)
        wait_for_turn(0); // the last one that was given
    if constexpr (exchanged)
        exchange.finish();
    else if (as_frames) {
        if (leads)
            wait_for_set();
    } else if (stores_spectra())
        wait_for_stores();
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_TRANSFORM_CUH */
