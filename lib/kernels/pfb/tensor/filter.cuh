/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_CUH

#include "kernels/gpu/samples.cuh"
#include "kernels/gpu/warp.cuh"
#include "kernels/pfb/tensor/clusters.cuh"
#include "kernels/pfb/tensor/dots.cuh"
#include "kernels/pfb/tensor/lines.cuh"
#include "kernels/pfb/tensor/real.cuh"
#include "kernels/pfb/tensor/words.cuh"

namespace gr::aperture::kernels::cuda::tensor {

// The filter: the mainloop of the producers, and how they read samples.

//! Loads eight bytes of shared memory from an even address.
__device__ __forceinline__ uint2 load_eight_unaligned(uint32_t address)
{
    const uint32_t aligned = address & ~3u, shift = address * 8; // modulo 32
    const uint32_t middle = load_word(aligned + 4);
    return { __funnelshift_r(load_word(aligned), middle, shift),
             __funnelshift_r(middle, load_word(aligned + 8), shift) };
}

__device__ __forceinline__ uint32_t load_word_unaligned(uint32_t address)
{
    const uint32_t aligned = address & ~3u;
    return __funnelshift_r(load_word(aligned), load_word(aligned + 4), address * 8);
}

//! Loads a thread's samples of a spectrum as they are in memory: of sc8 four samples
//! (eight bytes), of s8 four samples and the four that are half a spectrum later, of sc4
//! four samples (one word).
template <class Call>
__device__ __forceinline__ uint2 load_samples(uint32_t address)
{
    const auto load_four = [](uint32_t from) {
        return Call::delayed ? load_word_unaligned(from) : load_word(from);
    };
    if constexpr (Call::real)
        return { load_four(address), load_four(address + Call::input_bytes / 2) };
    else if constexpr (Call::sc4)
        return { load_four(address), 0 };
    else if constexpr (Call::delayed)
        return load_eight_unaligned(address);
    else
        return load_eight_bytes(address);
}

//! Returns the highest bit of each byte that is -128, and zeros elsewhere.
__device__ __forceinline__ uint32_t lowest_bytes(uint32_t v)
{
    return v & ~((v & 0x7f7f7f7f) + 0x7f7f7f7f) & 0x80808080;
}

//! Returns the samples with -128 read as -127 (of sc4: -8 as -7).
template <class Call>
__device__ __forceinline__ uint2 clamped_samples(uint2 v)
{
    if constexpr (Call::sc4) {
        const uint2 bytes = bytes_of_sc4(v.x);
        return { v.x | lowest_bytes(bytes.x) >> 3 | lowest_bytes(bytes.y) >> 7, 0 };
    } else
        return { v.x | lowest_bytes(v.x) >> 7, v.y | lowest_bytes(v.y) >> 7 };
}

//! Returns how many samples of v are clamped.
//! \param number index of the first sample; those from `counted` to before `end` count
template <class Call>
__device__ __noinline__ int
count_clamped(uint2 v, int64_t number, int64_t counted, int64_t end)
{
    if (Call::sc4)
        v = bytes_of_sc4(v.x);
    uint32_t words[] = { lowest_bytes(v.x), lowest_bytes(v.y) };
    if (Call::sc4)
        words[0] |= words[1];
    constexpr int bits = 8 * Call::sample_bytes, of_word = 32 / bits;
    int found = 0;
#pragma unroll
    for (int k = 0; k < (Call::sc4 ? 1 : 2) * of_word; k++)
        found += (words[k / of_word] >> k % of_word * bits & ((1 << bits) - 1)) != 0 &&
                 number + Call::samples_on(k) >= counted &&
                 number + Call::samples_on(k) < end;
    return found;
}
//! The same for a thread's samples of several lines in shared memory.
template <class Place, class Call>
__device__ __noinline__ int
count_clamped(uint32_t from, int lines, int64_t number, int64_t counted, int64_t end)
{
    int found = 0;
    for (int line = 0; line < lines; line++)
        found += count_clamped<Call>(Place::load(from + line * Call::line_pitch),
                                     number + line * Call::step,
                                     counted,
                                     end);
    return found;
}

//! The highest bits of all components in a word, where the lowest value shows.
template <class Call>
inline constexpr uint32_t lowest_bits = Call::sc4 ? 0x88888888 : 0x80808080;

//! Returns a word whose lowest_bits are not all 0 if one of the samples may have the
//! lowest value; it is certain only that samples with the lowest value are found. All
//! that was read enters into it.
template <class Call>
__device__ __forceinline__ uint32_t suspects(uint2 v)
{
    if constexpr (Call::sc4)
        return v.x & ~(v.x - 0x11111111);
    else
        return int8_samples<true>::suspects(v.x) | int8_samples<true>::suspects(v.y);
}

/*!
 * The samples of a spectrum that a producer thread filters: four successive ones; of real
 * samples also the four that are half a spectrum later. Sample R a + b of a segment of
 * line s of a slot is a word of row 32 s + column, see column_of() and a_of_word(). Rows
 * have 128 bytes and are swizzled, so that the 32 words that a warp writes at a time lie
 * in different banks.
 */
template <class Call>
class segment_place
{
    int d_in_spectrum;
    uint32_t d_word;

public:
    int segment;

    __device__ __forceinline__ segment_place()
    {
        const int row = threadIdx.x % 8, other = threadIdx.x / 8 - loading_thread / 8;
        if constexpr (whole_rows) {                      // b to b + 3 of one a
            constexpr int rows = Call::second_radix / 4; // rows of a segment
            segment = Call::segments == 1 ? 0 : row / rows;
            d_in_spectrum = Call::second_radix * other + 4 * (row % rows);
            d_word = row * matrix_row + ((other / 4) ^ row) * 16 + other % 4 * 4;
        } else { // both b of two a
            segment = row + other / 16 * 8;
            d_in_spectrum = 4 * (other % 16);
            d_word = (row + other / 16 * 16) * matrix_row +
                     ((other / 4 % 4 * 2) ^ row) * 16 + other % 4 * 4;
        }
    }

    //! Index of the first sample in its spectrum.
    __device__ __forceinline__ int in_spectrum() const { return d_in_spectrum; }
    //! Place of the first sample in a stage, in bytes.
    __device__ __forceinline__ int in_stage() const
    {
        return Call::segment_bytes * segment + d_in_spectrum * Call::sample_bytes;
    }
    __device__ __forceinline__ static uint2 load(uint32_t address)
    {
        return load_samples<Call>(address);
    }
    //! Stores the filtered components of a spectrum.
    //! \param slot address of the slot in shared memory
    __device__ __forceinline__ void
    store(uint32_t slot, int spectrum, const float (&z)[8]) const
    {
#pragma unroll
        for (int k = 0; k < 4; k++)
            store_word(of(slot + d_word, k) + spectrum * filtered_bytes,
                       halves(z[2 * k], z[2 * k + 1]));
    }

private:
    //! Returns the place of the k-th word.
    //! \param first place of the first word
    __device__ __forceinline__ static uint32_t of(uint32_t first, int k)
    {
        if constexpr (whole_rows)
            return first + k * 8 * matrix_row;
        else
            return (first ^ k / 2 * 16) + k % 2 * 8 * matrix_row;
    }
    static constexpr bool whole_rows = Call::second_radix >= 4;
};
template <class Call>
using filter_place =
    std::conditional_t<(Call::ranks > 1), cluster_place<Call>, segment_place<Call>>;

template <class Call>
__device__ __forceinline__ void load_coefficients(paired_coefficients<Call>& h,
                                                  const Call& c)
{
    const filter_place<Call> at;
#pragma unroll
    for (int k = 0; k < h.samples; k++) {
        const float* from = c.prototype + at.in_spectrum() + Call::samples_on(k);
        int taps[Call::most_taps];
#pragma unroll
        for (int t = 0; t < Call::most_taps; t++) {
            taps[t] = int(from[t * Call::step]);
            if constexpr (Call::ranks > 1)
                taps[t] *= at.sign(k);
        }
        h.set(k, taps);
    }
}

//! True if a stage is released when its last samples have been filtered, false if as soon
//! as they have been read; what was faster.
template <class Call>
inline constexpr bool leaves_stage_late =
    Call::channels == points && !Call::real && !Call::delayed;

//! Returns the address of one of the lines before a piece.
//! \param stages where the lines of each stage begin
template <int Stages>
__device__ __forceinline__ uint32_t place_of_line(const uint32_t (&stages)[Stages],
                                                  int line,
                                                  int pitch)
{
    if constexpr (Stages == 1)
        return stages[0] + line * pitch;
    else
        return (line < group ? stages[0] : stages[1]) + line % group * pitch;
}

template <store Store, class Call>
__device__ __forceinline__ void
filter(memory<Store, Call>& m, const paired_coefficients<Call>& h, const Call& c)
{
    const int lane = threadIdx.x % 32;
    const filter_place<Call> at;
    const int place = at.in_stage();
    constexpr bool spare_stage = ahead < stages<Store, Call>;
    fixed_stage_place<stages<Store, Call>> stage{};
    fixed_stage_place<slots<Store, Call>> slot{};
    int skew = 0;
    const auto samples = [&] {
        return shared_address(m.samples[stage.stage()]) + place + skew;
    };
    // Each thread arrives for itself: racecheck does not understand one that arrives for
    // its warp.
    const auto leave_samples = [&](uint32_t read) {
        arrive_after(m.samples_pipeline.empty(stage.stage()), read);
    };
    const auto wait_for_samples = [&] {
        if constexpr (Call::ranks > 1)
            wait_together(m.samples_pipeline.full(stage.stage()), stage.parity());
        else
            m.samples_pipeline.consumer_wait(stage);
    };
    const int64_t end = (c.spectra + c.taps - 1) * Call::step; // end of samples
    pieces all(c);
    piece p;
    // All warps load, one after the other, or the others would wait for the one that
    // does it.
    const auto load_later_ones = [&](int part) {
        if (loads_in(part % filter_warps, c))
            load_ahead(m, c, p, part, all, stage);
        __syncwarp();
    };
#pragma unroll 1
    while (all.take(p, c)) {
        int found = 0;
        // This is looked up when it is wanted, which is rare, because registers are
        // scarce.
        const auto counted = [&] { return int64_t(c.sources[p.input].counted); };
        const auto number_of = [&](int line) { // samples of the piece and those before it
            const int spectrum = p.first + first_spectrum(at.segment, c);
            return int64_t(spectrum + line) * Call::step + at.in_spectrum();
        };
        skew = skew_of(p, c);
        // The window of the last lines. The first tap of the prototype is tap `skipped`
        // of the window.
        sample_window<Call> x;
        const int skipped = Call::most_taps - c.taps;
        const auto first_stage = stage;
        uint32_t before[Call::stages_before];
#pragma unroll
        for (uint32_t& from : before) {
            wait_for_samples();
            from = samples();
            stage.advance();
        }
        uint32_t suspect = 0;
#pragma unroll
        for (int i = 0; i < Call::most_taps - 1; i++) {
            uint2 raw{};
            if (i >= skipped)
                raw = at.load(place_of_line(before, i - skipped, Call::line_pitch));
            suspect |= suspects<Call>(raw);
            x.begin_with(i, clamped_samples<Call>(raw));
        }
        x.begin();
        // The samples before later pieces and segments were counted with the pieces and
        // segments before.
        bool any = suspect & lowest_bits<Call>;
        if constexpr (Call::ranks > 1) // lanes read samples together
            any = __any_sync(~0u, any);
        if (p.first == -lead_of(c) && (Call::segments == 1 || at.segment == 0) && any)
#pragma unroll
            for (int part = 0; part < Call::stages_before; part++)
                found += count_clamped<filter_place<Call>, Call>(
                    before[part],
                    min(group, c.taps - 1 - part * group),
                    number_of(part * group),
                    counted(),
                    end);
        stage = first_stage;
#pragma unroll
        for (int part = 0; part < Call::stages_before; part++) {
            leave_samples(suspect);
            load_later_ones(part);
            stage.advance();
        }
#pragma unroll 1
        for (int g = 0; g < p.groups; g++) {
            wait_for_samples();
#pragma unroll
            for (int part = 0; part < group; part += slot_spectra) {
                const uint32_t from = samples() + part * Call::line_pitch;
                const bool leaving = part + slot_spectra == group;
                if constexpr (reads_together<Call>)
                    __syncwarp(); // a lane may still be sending what they wrote before
                uint2 raw[slot_spectra];
                uint32_t suspect = 0;
#pragma unroll
                for (int s = 0; s < slot_spectra; s++) {
                    raw[s] = at.load(from + s * Call::line_pitch);
                    suspect |= suspects<Call>(raw[s]);
                }
                if (leaving && !leaves_stage_late<Call>)
                    leave_samples(suspect);
                if (suspect & lowest_bits<Call>) {
#pragma unroll
                    for (int s = 0; s < slot_spectra; s++) {
                        found += count_clamped<Call>(
                            raw[s],
                            number_of(c.taps - 1 + g * group + part + s),
                            counted(),
                            end);
                        raw[s] = clamped_samples<Call>(raw[s]);
                    }
                }
                m.filtered_pipeline.producer_acquire(slot);
                const uint32_t to = shared_address(m.filtered[slot.stage()]);
                uint32_t words[4];
                if constexpr (Call::ranks > 1) {
                    at.find_words(words);
#pragma unroll
                    for (uint32_t& word : words)
                        word += to;
                }
                x.filter(raw, h, [&](int s, const float(&z)[8]) {
                    if constexpr (Call::ranks > 1)
                        at.store(words, s, z);
                    else
                        at.store(to, s, z);
                });
                if (leaving && leaves_stage_late<Call>)
                    leave_samples(suspect);
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    if constexpr (Call::ranks > 1)
                        leave_words(m, slot.stage());
                    else
                        m.filtered_pipeline.producer_commit(slot);
                }
                slot.advance();
                // This waits until all threads have released the stage that is filled
                // next.
                if (part == (spare_stage ? 0 : slot_spectra))
                    load_later_ones(Call::stages_before + g);
            }
            stage.advance();
        }
        add_of_warp(c.lowest + input_of<Store>(p.input, c), found);
    }
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_CUH */
