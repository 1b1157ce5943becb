/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_RESULTS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_RESULTS_CUH

#include "kernels/pfb/tensor/tensor.cuh"

namespace gr::aperture::kernels::cuda::tensor {

// The epilogue: spectra of sc8 on their way from shared memory to memory.

//! Stores four matrices of 8 x 8 halves of words, transposed (stmatrix). Lane 8 i + r
//! gives the address of column r of matrix i.
__device__ __forceinline__ void store_columns(uint32_t address, const uint32_t* words)
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
            address),
        "r"(words[0]),
        "r"(words[1]),
        "r"(words[2]),
        "r"(words[3])
        : "memory");
}

//! Lets the copy engine copy bytes of shared memory to memory. Called by one thread.
__device__ __forceinline__ void store_bytes(char* to, uint32_t from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;" ::"l"(to),
                 "r"(from),
                 "r"(bytes)
                 : "memory");
}

//! Stores spectra `begin` to before `end` of a segment's spectra of a slot. Called by one
//! thread.
template <class Call>
__device__ __forceinline__ void
store_segment(char* to, uint32_t from, int begin, int end, const Call& c)
{
    begin = max(begin, 0), end = min(end, slot_spectra);
    if (begin >= end)
        return;
    if (c.pitch == Call::spectrum_bytes)
        store_bytes(to + begin * Call::spectrum_bytes,
                    from + begin * Call::spectrum_bytes,
                    (end - begin) * Call::spectrum_bytes);
    else
        for (int i = begin; i < end; i++)
            store_bytes(
                to + i * c.pitch, from + i * Call::spectrum_bytes, Call::spectrum_bytes);
}

//! Stores the first `wanted` of eight times of a channel, without those before `first` if
//! that is given.
template <class... First>
__device__ __noinline__ void
store_times(uint16_t* to, uint4 words, int wanted, First... first)
{
    const uint32_t list[] = { words.x, words.y, words.z, words.w };
#pragma unroll
    for (int t = 0; t < 8; t++)
        if (t < wanted && (true && ... && (t >= first)))
            to[t] = uint16_t(list[t / 2] >> 16 * (t % 2));
}

//! A set of times: those of a frame that are stored together, in each segment.
struct time_set {
    int input, time; // place in the frame; the first segment's
    int first, end;  // times of the set that there are, of the first segment
    int left;        // times of the call from the first one's on

    //! Returns where the set ends in a segment; later ones may have fewer times.
    //! \param begin first spectrum of the segment in the call
    template <class Call>
    __device__ __forceinline__ int end_of(int begin, const Call&) const
    {
        return Call::segments == 1 ? end : min(end, left - begin);
    }
};

/*!
 * Stores half of the channels of a set into the frame, where boxes do not fit. Two lanes
 * store a sector together, first that of the channel of the one, then that of the other.
 * \param from sectors of the set in shared memory
 * \param residue of channels, see residue_of()
 */
template <class Call>
__device__ __forceinline__ void store_sectors(uint32_t from,
                                              int consumer,
                                              int thread,
                                              int residue,
                                              const time_set& set,
                                              const Call& c)
{
    constexpr int own = radix / consumers; // elements e
    const int half = thread % 2, lane = thread % 32;
    // An even element; of real samples the e of this function is R segment + D.
    const int in_warp = lane / 4, e = lane % 4 / 2 * 2 + consumer * own;
    const int place =
        (thread / 32 * warp_channels + in_warp + Call::d_of(e) * radix) * Call::ranks +
        residue - c.first_channel;
    const int64_t pitch = int64_t(c.inputs) * c.times;
    const int wanted = set.end - group * half;
    // The times that a call makes before its first one belong to another call.
    const int unwanted = Call::delayed ? max(0, set.first - group * half) : 0;
    if (wanted <= 0 || (Call::delayed ? unwanted >= group : set.first > group * half))
        return;
    // Only the first segment has such times.
    const auto unwanted_of = [&](int segment_begin) {
        return Call::segments == 1 || segment_begin == 0 ? unwanted : 0;
    };
    const bool whole = (c.times | (c.first_time - lead_of(c))) % group == 0 &&
                       reinterpret_cast<uintptr_t>(c.frame) % 16 == 0 &&
                       wanted >= group && unwanted == 0;
    const int begin = first_spectrum(Call::segment_of(e), c);
    const auto [input, frame] = c.of_frame[set.input];
    uint16_t* to = static_cast<uint16_t*>(c.frame) +
                   (int64_t(frame) * c.selected + place) * pitch +
                   int64_t(input) * c.times + set.time + begin + group * half;
    from += (thread / 32 * 2 + in_warp / box_channels) * box_bytes +
            (Call::real ? e / 2 : e) * sector_row + in_warp % box_channels * sector;
    // True if the halves of a sector are swapped, for elements with even and with odd e.
    const int swapped[] = { Call::real ? e / 2 % 2 : 0, Call::real ? e / 2 % 2 : 1 };
#pragma unroll 2
    for (int i = 0; i < own / 2; i++) { // the even one's, the odd one's, and others
        const int next = i / 2 * 4 + i % 2;
        const int channels_on = Call::channels_apart * Call::d_of(next);
        if (unsigned(place + channels_on) < unsigned(c.selected)) {
            const int rows_on = Call::real ? next / 2 + next % 2 * (box_rows / 2) : next;
            const uint4 words = load_shared(from + rows_on * sector_row +
                                            (half ^ swapped[i % 2]) * (sector / 2));
            const int times_on = first_spectrum(Call::segment_of(next), c);
            uint16_t* times = to + channels_on * pitch + times_on;
            const int there = set.end_of(begin + times_on, c) - group * half;
            if (whole && (Call::segments == 1 || there >= group))
                __stcg(reinterpret_cast<uint4*>(times), words);
            else if constexpr (Call::delayed)
                store_times(times, words, there, unwanted_of(begin + times_on));
            else
                store_times(times, words, there);
        }
    }
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_RESULTS_CUH */
