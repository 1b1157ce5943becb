/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_FILTER_CUH

#include "kernels/gpu/warp.cuh"
#include "kernels/pfb/pfb_samples.cuh"
#include "kernels/pfb/tensor/clusters.cuh"
#include "kernels/pfb/tensor/dots.cuh"
#include "kernels/pfb/tensor/lines.cuh"
#include "kernels/pfb/tensor/real.cuh"
#include "kernels/pfb/tensor/words.cuh"

namespace gr::aperture::kernels::cuda::tensor {

// The filter, and the samples that it reads.

//! From an even address.
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

//! Four samples of a row of bits, the highest first. \param bits before the first one, of
//! the byte with this address
template <class Call>
__device__ __forceinline__ uint64_t load_packed(uint32_t address, int bits)
{
    constexpr int bytes = Call::sample_bits / 2; // of four samples
    const uint32_t byte = address & 3;
    const uint32_t first = load_word(address & ~3u),
                   second = load_word((address & ~3u) + 4);
    const uint32_t high = __byte_perm(first, second, 0x0123 + 0x1111 * byte);
    if constexpr (Call::delayed) {
        // of those that begin late in the first word, the last bits are in a third one
        const uint32_t last = load_word((address + bytes) & ~3u);
        const uint32_t low = __byte_perm(second, last, 0x0123 + 0x1111 * byte);
        return (uint64_t(high) << 32 | low) << bits;
    } else
        return uint64_t(high) << 32 | __byte_perm(second, 0, 0x0123 + 0x1111 * byte);
}

//! A thread's samples of a spectrum, as they are in memory: eight bytes; of real ones
//! four samples, and four of the second half; of nibbles one word, of shorts four.
template <class Call>
using raw_samples = std::conditional_t<Call::packed,
                                       packed_halves<Call::sample_bits>,
                                       std::conditional_t<Call::shorts, uint4, uint2>>;

//! \param bits of the first byte, before the first sample
template <class Call>
__device__ __forceinline__ raw_samples<Call> load_samples(uint32_t address, int bits)
{
    const auto load_four = [](uint32_t from) {
        return Call::delayed ? load_word_unaligned(from) : load_word(from);
    };
    if constexpr (Call::packed)
        return { load_packed<Call>(address, bits),
                 load_packed<Call>(address + Call::input_bytes / 2, bits) };
    else if constexpr (Call::real)
        return { load_four(address), load_four(address + Call::input_bytes / 2) };
    else if constexpr (Call::nibbles)
        return { load_four(address), 0 };
    else if constexpr (Call::shorts && Call::delayed)
        return { load_word(address),
                 load_word(address + 4),
                 load_word(address + 8),
                 load_word(address + 12) };
    else if constexpr (Call::shorts)
        return load_shared(address);
    else if constexpr (Call::delayed)
        return load_eight_unaligned(address);
    else
        return load_eight_bytes(address);
}

//! The highest bit of bytes that are -128.
__device__ __forceinline__ uint32_t lowest_bytes(uint32_t v)
{
    return v & ~((v & 0x7f7f7f7f) + 0x7f7f7f7f) & 0x80808080;
}

//! Samples with -128 as -127, of nibbles -8 as -7; others as they are.
template <class Call>
__device__ __forceinline__ raw_samples<Call> clamped_samples(raw_samples<Call> v)
{
    if constexpr (!Call::bytes)
        return v;
    else if constexpr (Call::nibbles) {
        const uint2 bytes = bytes_of_nibbles(v.x);
        return { v.x | lowest_bytes(bytes.x) >> 3 | lowest_bytes(bytes.y) >> 7, 0 };
    } else
        return { v.x | lowest_bytes(v.x) >> 7, v.y | lowest_bytes(v.y) >> 7 };
}

//! Samples that are clamped. \param number of the first one; those from `counted` on
//! before `end` count
template <class Call>
__device__ __noinline__ int
count_clamped(uint2 v, int64_t number, int64_t counted, int64_t end)
{
    if (Call::nibbles)
        v = bytes_of_nibbles(v.x);
    uint32_t words[] = { lowest_bytes(v.x), lowest_bytes(v.y) };
    if (Call::nibbles)
        words[0] |= words[1];
    constexpr int bits = Call::sample_bits, of_word = 32 / bits;
    int found = 0;
#pragma unroll
    for (int k = 0; k < (Call::nibbles ? 1 : 2) * of_word; k++)
        found += (words[k / of_word] >> k % of_word * bits & ((1 << bits) - 1)) != 0 &&
                 number + Call::samples_on(k) >= counted &&
                 number + Call::samples_on(k) < end;
    return found;
}
//! Others are not.
template <class Call>
__device__ __forceinline__ int
count_clamped(packed_halves<Call::sample_bits>, int64_t, int64_t, int64_t)
{
    return 0;
}
template <class Call>
__device__ __forceinline__ int count_clamped(uint4, int64_t, int64_t, int64_t)
{
    return 0;
}

//! The same of lines of shared memory.
template <class Place, class Call>
__device__ __noinline__ int
count_clamped(uint32_t from, int lines, int64_t number, int64_t counted, int64_t end)
{
    int found = 0;
    for (int line = 0; line < lines; line++)
        found += count_clamped<Call>(Place::load(from + line * Call::line_pitch, 0),
                                     number + line * Call::step,
                                     counted,
                                     end);
    return found;
}

//! The highest bit of each number that is clamped if it is the lowest.
template <class Call>
inline constexpr uint32_t lowest_bits = !Call::bytes    ? 0
                                        : Call::nibbles ? 0x88888888
                                                        : 0x80808080;

//! Not 0 in a bit of these where a number may be the lowest, always where it is. Made of
//! all that was read.
template <class Call>
__device__ __forceinline__ uint32_t suspects(raw_samples<Call> v)
{
    if constexpr (Call::packed)
        return uint32_t(v.low | v.low >> 32 | v.high | v.high >> 32);
    else if constexpr (Call::shorts)
        return v.x | v.y | v.z | v.w;
    else if constexpr (Call::nibbles)
        return v.x & ~(v.x - 0x11111111);
    else
        return byte_samples<true>::suspects(v.x) | byte_samples<true>::suspects(v.y);
}

//! Of those that are not bytes.
template <class Call>
__device__ __forceinline__ void unpack_samples(float (&x)[8], raw_samples<Call> v)
{
    if constexpr (Call::packed)
        unpack_halves(x, v);
    else {
        const float4 low = short_samples<true>::unpack({ v.x, v.y });
        const float4 high = short_samples<true>::unpack({ v.z, v.w });
        x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
        x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
    }
}

/*!
 * The four samples in a row that a thread filters; of real ones four and those of the
 * second half. Of line s of a slot, sample R a + b of a segment is a word of row 32 s +
 * column, see column_of() and a_of_word(); rows have 128 bytes and are swizzled. The 32
 * words that a warp writes at a time lie in different banks.
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
            constexpr int rows = Call::second_radix / 4; // of a segment
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

    //! Of the first one.
    __device__ __forceinline__ int in_spectrum() const { return d_in_spectrum; }
    //! In a stage.
    __device__ __forceinline__ int in_stage() const
    {
        return Call::segment_bytes * segment + d_in_spectrum * Call::sample_bits / 8;
    }
    __device__ __forceinline__ static raw_samples<Call> load(uint32_t address, int bits)
    {
        return load_samples<Call>(address, bits);
    }
    //! A spectrum's words. \param slot its address
    __device__ __forceinline__ void
    store(uint32_t slot, int spectrum, const float (&z)[8]) const
    {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            uint32_t digits[Call::digits];
            halves(digits, z[2 * k], z[2 * k + 1]);
#pragma unroll
            for (int i = 0; i < Call::digits; i++)
                store(slot + i * digit_bytes, spectrum, k, digits[i]);
        }
    }
    //! The k-th one.
    __device__ __forceinline__ void
    store(uint32_t slot, int spectrum, int k, uint32_t word) const
    {
        store_word(of(slot + d_word, k) + spectrum * filtered_bytes, word);
    }

private:
    //! Place of the k-th one. \param first place of the first one
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
struct thread_coefficients {
    float h[Call::most_taps][4];
};
//! The last lines of a thread.
template <class Call>
struct float_window {
    float lines[Call::most_taps][8];
};
//! What a filtering thread has of the prototype.
template <class Call>
using coefficients = std::conditional_t<
    Call::bytes,
    paired_coefficients<Call>,
    std::conditional_t<Call::real, half_coefficients<Call>, thread_coefficients<Call>>>;

//! Of a thread that filters.
template <store Store, class Call>
__device__ __forceinline__ void
load_coefficients(memory<Store, Call>& m, half_coefficients<Call>& h, const Call& c)
{
    constexpr int quads = Call::channels / 4;
    const auto quad_of = [&](int t, int j, int quad) -> float4 {
        const float* from = c.prototype + t * Call::step + 4 * quad + 2 * j;
        return { from[0], from[Call::channels], from[1], from[Call::channels + 1] };
    };
    for (int i = threadIdx.x - loading_thread; i < shared_taps<Call> * 2 * quads;
         i += 32 * filter_warps)
        m.coefficients.of[0][0][i] = quad_of(i / quads / 2, i / quads % 2, i % quads);
    const int own = filter_place<Call>().in_spectrum() / 4;
    h.shared = shared_address(&m.coefficients.of[0][0][own]);
#pragma unroll
    for (int i = 0; i < 2 * (Call::most_taps - shared_taps<Call>); i++)
        h.last[i / 2][i % 2] = quad_of(shared_taps<Call> + i / 2, i % 2, own);
}
template <store Store, class Call>
__device__ __forceinline__ void
load_coefficients(memory<Store, Call>&, thread_coefficients<Call>& all, const Call& c)
{
    const float* from = c.prototype + filter_place<Call>().in_spectrum();
#pragma unroll
    for (int t = 0; t < Call::most_taps; t++) {
        const float4 v = *reinterpret_cast<const float4*>(from + t * Call::step);
        auto& h = all.h[t];
        h[0] = v.x, h[1] = v.y, h[2] = v.z, h[3] = v.w;
    }
}
template <store Store, class Call>
__device__ __forceinline__ void
load_coefficients(memory<Store, Call>&, paired_coefficients<Call>& h, const Call& c)
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

//! Whether a stage is left when its last samples have been filtered, or as soon as they
//! have been read: what was faster.
template <class Call>
inline constexpr bool leaves_stage_late =
    Call::channels == points && !Call::real && !Call::delayed;

//! Of one of the lines before a piece. \param stages where those of each stage begin
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
filter(memory<Store, Call>& m, const coefficients<Call>& h, const Call& c)
{
    const int lane = threadIdx.x % 32;
    const filter_place<Call> at;
    const int place = at.in_stage();
    constexpr bool spare_stage = ahead < stages<Store, Call>;
    ring_place<stages<Store, Call>> stage{};
    ring_place<slots<Store, Call>> slot{};
    int skew = 0, bit_skew = 0;
    const auto samples = [&] {
        return shared_address(m.samples[stage.index]) + place + skew;
    };
    // each thread for itself: racecheck does not see one that arrives for its warp
    const auto leave_samples = [&](uint32_t read) {
        arrive_after(&m.stage_empty[stage.index], read);
    };
    const auto wait_for_samples = [&] {
        if constexpr (Call::ranks > 1)
            wait_together(&m.stage_full[stage.index], stage.parity);
        else
            wait_for(&m.stage_full[stage.index], stage.parity);
    };
    const int64_t end = (c.spectra + c.taps - 1) * Call::step; // of samples
    pieces all(c);
    piece p;
    // by all warps in turn, or others wait for the one that has this to do, too
    const auto load_later_ones = [&](int part) {
        if (loads_in(part % filter_warps, c))
            load_ahead(m, c, p, part, all, stage);
        __syncwarp();
    };
#pragma unroll 1
    while (all.take(p, c)) {
        int found = 0;
        // found out when it is wanted, as that is rare, and registers are, too
        const auto counted = [&] { return int64_t(c.sources[p.input].counted); };
        const auto number_of = [&](int line) { // of the piece and those before it
            const int spectrum = p.first + first_spectrum(at.segment, c);
            return int64_t(spectrum + line) * Call::step + at.in_spectrum();
        };
        skew = skew_of(p, c);
        bit_skew = bit_skew_of(p, c);
        // the last lines; the first spectrum's first tap is tap `skipped` here
        std::conditional_t<Call::bytes, byte_window<Call>, float_window<Call>> x;
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
            raw_samples<Call> raw{};
            if (i >= skipped)
                raw = at.load(place_of_line(before, i - skipped, Call::line_pitch),
                              bit_skew);
            suspect |= suspects<Call>(raw);
            if constexpr (Call::bytes)
                x.begin_with(i, clamped_samples<Call>(raw));
            else
                unpack_samples<Call>(x.lines[i], raw);
        }
        if constexpr (Call::bytes)
            x.begin();
        // of later pieces and segments, those before have counted these
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
                raw_samples<Call> raw[slot_spectra];
                uint32_t suspect = 0;
#pragma unroll
                for (int s = 0; s < slot_spectra; s++) {
                    raw[s] = at.load(from + s * Call::line_pitch, bit_skew);
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
                wait_for(&m.empty[slot.index], slot.parity ^ 1);
                const uint32_t to = shared_address(m.filtered[slot.index]);
                uint32_t words[4];
                if constexpr (Call::ranks > 1) {
                    at.find_words(words);
#pragma unroll
                    for (uint32_t& word : words)
                        word += to;
                }
                if constexpr (Call::bytes)
                    x.filter(raw, h, [&](int s, const float(&z)[8]) {
                        if constexpr (Call::ranks > 1)
                            at.store(words, s, z);
                        else
                            at.store(to, s, z);
                    });
                else if constexpr (Call::real)
                    filter_halves<Call>(
                        x.lines, part, raw, h, [&](int k, int spectrum, uint32_t word) {
                            at.store(to, spectrum, k, word);
                        });
                else {
#pragma unroll
                    for (int s = 0; s < slot_spectra; s++) {
                        constexpr int window = Call::most_taps;
                        unpack_samples<Call>(x.lines[(part + s + window - 1) % window],
                                             raw[s]);
                        float z[8];
#pragma unroll
                        for (int k = 0; k < 8; k++) {
                            z[k] =
                                __fmul_rn(h.h[0][k / 2], x.lines[(part + s) % window][k]);
#pragma unroll
                            for (int t = 1; t < window; t++)
                                z[k] = __fmaf_rn(h.h[t][k / 2],
                                                 x.lines[(part + s + t) % window][k],
                                                 z[k]);
                        }
                        at.store(to, s, z);
                    }
                }
                if (leaving && leaves_stage_late<Call>)
                    leave_samples(suspect);
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    if constexpr (Call::ranks > 1)
                        leave_words(m, slot.index);
                    else
                        arrive(&m.full[slot.index]);
                }
                slot.advance();
                // when all have left the stage that these will fill
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
