/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_LINES_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_LINES_CUH

#include "kernels/gpu/warp.cuh"
#include "kernels/pfb/tensor/clusters.cuh"

namespace gr::aperture::kernels::cuda::tensor {

// Lines of samples, which the copy engine brings to shared memory.

//! Where the samples of a piece begin, with the lines before it that its first spectra
//! need, too; those of its first segment.
template <class Call>
__device__ __forceinline__ const char* samples_of(const piece& p, const Call& c)
{
    const char* from = static_cast<const char*>(c.sources[p.input].samples);
    if constexpr (Call::delayed)
        from -= c.shifts[p.input] * Call::sample_bytes;
    if constexpr (Call::ranks > 1)
        from += rank_in_cluster() * Call::piece_bytes;
    return from + int64_t(p.first) * Call::input_bytes;
}

//! Bytes before the first sample of a stage: what is copied begins and ends at multiples
//! of copy_unit, with bytes of other samples before and behind, if need be.
template <class Call>
__device__ __forceinline__ int skew_of(const piece& p, const Call& c)
{
    if constexpr (Call::delayed)
        return int(reinterpret_cast<uintptr_t>(samples_of(p, c)) % copy_unit);
    else
        return 0;
}

//! Whether a thread is one of those of a warp that load lines together, each a segment.
//! Of a cluster, pieces of lines are so many that the warp finds out together where they
//! are.
template <class Call>
__device__ __forceinline__ bool loads_in(int warp, const Call&)
{
    const int first = loading_thread + 32 * warp;
    if constexpr (Call::ranks > 1)
        return uniform(int(threadIdx.x / 32)) == first / 32;
    else if constexpr (Call::segments == 1)
        return threadIdx.x == first;
    else
        return threadIdx.x - first < unsigned(Call::segments);
}

//! All that the threads that load together have, for the first of them.
template <class Call>
__device__ __forceinline__ int sum_of_segments(int bytes, const Call&)
{
    if constexpr (Call::segments > 1)
        bytes = __reduce_add_sync((1u << Call::segments) - 1, bytes);
    return bytes;
}

//! A rank's pieces of a stage's lines, by a warp. \param from the first one \param begin,
//! end lines \param bytes of a piece
template <store Store, class Call>
__device__ __forceinline__ void load_pieces(memory<Store, Call>& m,
                                            const char* from,
                                            int begin,
                                            int end,
                                            int bytes,
                                            ring_place<stages<Store, Call>> at)
{
    constexpr int pieces = Call::ranks; // of a line
    wait_together(&m.stage_empty[at.index], at.parity ^ 1);
    if (threadIdx.x % 32 == 0)
        arrive_expecting(&m.stage_full[at.index], max(0, end - begin) * pieces * bytes);
    __syncwarp();
    uint32_t to = shared_address(m.samples[at.index]) + begin * Call::line_pitch;
#pragma unroll 1
    for (int line = begin; line < end; line++) {
#pragma unroll
        for (int j = 0; j < pieces; j++)
            copy_bytes_together(to + j * Call::piece_pitch,
                                from + j * Call::points_bytes,
                                &m.stage_full[at.index],
                                bytes);
        from += Call::input_bytes;
        to += Call::line_pitch;
    }
}

/*!
 * A stage's lines of a piece. \param part those before the piece, then its groups; of the
 * last group some lines may lack, and of the last segments all
 */
template <store Store, class Call>
__device__ __forceinline__ void load_lines(memory<Store, Call>& m,
                                           const Call& c,
                                           const piece& p,
                                           int part,
                                           ring_place<stages<Store, Call>> at)
{
    const int before = c.taps - 1;
    const int groups = part - Call::stages_before; // before it
    const int first = groups < 0 ? part * group : before + groups * group;
    const int segment = Call::segments == 1 ? 0 : threadIdx.x % 32;
    const int begin = first_spectrum(segment, c);
    int lines = min(groups < 0 ? min(before - first, group) : group,
                    int(c.spectra - p.first) - begin + before - first);
    if constexpr (Call::segments > 1)
        lines = max(0, lines);
    const int skew = skew_of(p, c);
    // those before a call's first sample are not read
    const int lacking = Call::delayed ? min(max(0, -p.first - begin - first), lines) : 0;
    if constexpr (Call::ranks > 1)
        load_pieces(m,
                    samples_of(p, c) + int64_t(first + lacking) * Call::input_bytes -
                        skew,
                    lacking,
                    lines,
                    Call::piece_bytes + (skew > 0 ? copy_unit : 0),
                    at);
    else {
        const int bytes = (lines - lacking) * Call::input_bytes;
        const int with_skew = bytes > 0 && skew > 0 ? bytes + copy_unit : bytes;
        const int all = sum_of_segments(with_skew, c);
        wait_for(&m.stage_empty[at.index], at.parity ^ 1);
        if (segment == 0)
            arrive_expecting(&m.stage_full[at.index], all);
        if constexpr (Call::segments > 1)
            __syncwarp((1u << Call::segments) - 1);
        if (bytes > 0)
            copy_bytes(shared_address(m.samples[at.index]) +
                           segment * Call::segment_bytes + lacking * Call::input_bytes,
                       samples_of(p, c) +
                           int64_t(begin + first + lacking) * Call::input_bytes - skew,
                       &m.stage_full[at.index],
                       with_skew);
    }
}

//! Whether the first lines of a piece are brought to the second-level cache before they
//! are copied: a call's while the call before it ends, others with the last group before.
template <class Call>
inline constexpr bool foresees = Call::ranks == 1 && !Call::delayed;

//! The lines before a piece and those of its first group, by threads that load together.
template <class Call>
__device__ __forceinline__ void prefetch_lines(const piece& p, const Call& c)
{
    const int segment = Call::segments == 1 ? 0 : threadIdx.x % 32;
    const int begin = first_spectrum(segment, c);
    const int lines =
        min(c.taps - 1 + group, int(c.spectra - p.first) - begin + c.taps - 1);
    if (lines > 0)
        prefetch_bytes(samples_of(p, c) + int64_t(begin) * Call::input_bytes,
                       lines * Call::input_bytes);
}

//! The lines that come `ahead` stages behind a part of a piece, maybe of the piece
//! that comes next, if there is one. \param at stage of the part
template <store Store, class Call>
__device__ __forceinline__ void load_ahead(memory<Store, Call>& m,
                                           const Call& c,
                                           const piece& p,
                                           int part,
                                           pieces others,
                                           ring_place<stages<Store, Call>> at)
{
    at.advance(ahead);
    const int later = part + ahead, parts = Call::stages_before + p.groups;
    if (later < parts) {
        load_lines(m, c, p, later, at);
        if constexpr (foresees<Call>) {
            piece next;
            if (later == parts - 1 && others.take(next, c))
                prefetch_lines(next, c);
        }
        return;
    }
    piece next;
    if (others.take(next, c))
        load_lines(m, c, next, later - parts, at);
}

//! Before others have written the samples, perhaps: what they write reaches the cache,
//! too.
template <class Call>
__device__ __forceinline__ void foresee(const Call& c)
{
    if constexpr (foresees<Call>)
        if (loads_in(0, c)) {
            pieces all(c);
            piece p;
            if (all.take(p, c))
                prefetch_lines(p, c);
        }
}

//! Before the first lines.
template <store Store, class Call>
__device__ __forceinline__ void start_loading(memory<Store, Call>& m, const Call& c)
{
    pieces all(c);
    piece p;
    if (!all.take(p, c))
        return;
    ring_place<stages<Store, Call>> at{};
    for (int part = 0; part < ahead; part++, at.advance())
        load_lines(m, c, p, part, at);
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_LINES_CUH */
