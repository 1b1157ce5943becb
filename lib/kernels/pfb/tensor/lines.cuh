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

// Loading of lines of samples into shared memory by the copy engine (the producers'
// prologue and mainloop).

//! Returns where the samples of a piece begin in memory: those of its first segment, with
//! the lines before the piece that its first spectra need.
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

//! Returns how many bytes are copied before the first sample of a stage: copies begin and
//! end at multiples of copy_unit, and bring bytes of other samples where they have to.
template <class Call>
__device__ __forceinline__ int skew_of(const piece& p, const Call& c)
{
    if constexpr (Call::delayed)
        return int(reinterpret_cast<uintptr_t>(samples_of(p, c)) % copy_unit);
    else
        return 0;
}

//! Returns whether a thread is one of those that load lines together: one thread for each
//! segment. In a cluster all threads of the warp are, because there are many pieces of
//! lines, whose places the lanes compute together.
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

//! Returns the sum of the bytes of all threads that load together.
template <class Call>
__device__ __forceinline__ int sum_of_segments(int bytes, const Call&)
{
    if constexpr (Call::segments > 1)
        bytes = __reduce_add_sync((1u << Call::segments) - 1, bytes);
    return bytes;
}

//! Loads a rank's pieces of the lines of a stage. Called by all threads of a warp.
//! \param from the first piece
//! \param begin, end lines
//! \param bytes of a piece
template <store Store, class Call>
__device__ __forceinline__ void load_pieces(memory<Store, Call>& m,
                                            const char* from,
                                            int begin,
                                            int end,
                                            int bytes,
                                            fixed_stage_place<stages<Store, Call>> at)
{
    constexpr int pieces = Call::ranks; // pieces of a line
    wait_together(m.samples_pipeline.empty(at.stage()), at.parity() ^ 1);
    if (threadIdx.x % 32 == 0)
        m.samples_pipeline.producer_expect(at, max(0, end - begin) * pieces * bytes);
    __syncwarp();
    uint32_t to = shared_address(m.samples[at.stage()]) + begin * Call::line_pitch;
#pragma unroll 1
    for (int line = begin; line < end; line++) {
#pragma unroll
        for (int j = 0; j < pieces; j++)
            copy_bytes_together(to + j * Call::piece_pitch,
                                from + j * Call::points_bytes,
                                m.samples_pipeline.full(at.stage()),
                                bytes);
        from += Call::input_bytes;
        to += Call::line_pitch;
    }
}

/*!
 * Loads one stage: a part of the lines of a piece.
 * \param part counts stages: first those of the lines before the piece, then its groups
 * of spectra. The last group may have fewer lines, and the last segments none
 */
template <store Store, class Call>
__device__ __forceinline__ void load_lines(memory<Store, Call>& m,
                                           const Call& c,
                                           const piece& p,
                                           int part,
                                           fixed_stage_place<stages<Store, Call>> at)
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
    // Lines before a call's first sample are not read.
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
        m.samples_pipeline.producer_acquire(at);
        if (segment == 0)
            m.samples_pipeline.producer_expect(at, all);
        if constexpr (Call::segments > 1)
            __syncwarp((1u << Call::segments) - 1);
        if (bytes > 0)
            copy_bytes(shared_address(m.samples[at.stage()]) +
                           segment * Call::segment_bytes + lacking * Call::input_bytes,
                       samples_of(p, c) +
                           int64_t(begin + first + lacking) * Call::input_bytes - skew,
                       m.samples_pipeline.full(at.stage()),
                       with_skew);
    }
}

//! True if the first lines of a piece are prefetched into the second-level cache: those
//! of the first piece while the call before this one ends, later ones with the last group
//! of the piece before.
template <class Call>
inline constexpr bool foresees = Call::ranks == 1 && !Call::delayed;

//! Prefetches the lines before a piece and those of its first group. Called by the
//! threads that load together.
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

//! Loads the stage that comes `ahead` stages behind a part of a piece, which may belong
//! to the next piece, if there is one.
//! \param at place of the part in the ring of stages
template <store Store, class Call>
__device__ __forceinline__ void load_ahead(memory<Store, Call>& m,
                                           const Call& c,
                                           const piece& p,
                                           int part,
                                           pieces others,
                                           fixed_stage_place<stages<Store, Call>> at)
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

//! Prefetches the lines of the first piece. The calls before may still write these
//! samples: the cache is coherent, and has what they write, too.
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

//! Loads the first `ahead` stages.
template <store Store, class Call>
__device__ __forceinline__ void start_loading(memory<Store, Call>& m, const Call& c)
{
    pieces all(c);
    piece p;
    if (!all.take(p, c))
        return;
    fixed_stage_place<stages<Store, Call>> at{};
    for (int part = 0; part < ahead; part++, at.advance())
        load_lines(m, c, p, part, at);
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_LINES_CUH */
