/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_FILTER_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_FILTER_CUH

#include "kernels/gpu/samples.cuh"
#include "kernels/gpu/warp.cuh"
#include "kernels/pfb/fused/shape.cuh"

namespace gr::aperture::kernels::cuda {

//! Bytes from one line of samples to the next, of one input.
template <class Shape, class In>
inline constexpr int line_step = Shape::N * 2 * In::bits / 8;

//! Coefficients of the filter from one tap to the next.
template <class Shape, class In>
inline constexpr int tap_step = In::complex ? Shape::N : 2 * Shape::N;

/*!
 * Loads four coefficients of the filter; of complex samples both components have the
 * same. All steps use the same coefficients, so that they stay in the cache, through
 * which samples only pass.
 */
template <class In>
__device__ __forceinline__ float4 coefficients(const float* h)
{
    float4 v;
    if constexpr (In::complex) {
        asm("ld.global.nc.L1::evict_last.v2.f32 {%0, %1}, [%2];"
            : "=f"(v.x), "=f"(v.z)
            : "l"(h));
        v.y = v.x;
        v.w = v.z;
    } else {
        asm("ld.global.nc.L1::evict_last.v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
            : "l"(h));
    }
    return v;
}

__device__ __forceinline__ float4 product(float4 a, float4 b)
{
    return {
        __fmul_rn(a.x, b.x), __fmul_rn(a.y, b.y), __fmul_rn(a.z, b.z), __fmul_rn(a.w, b.w)
    };
}

//! A multiply-add by name, so that the same samples give the same bits on each way
//! through the filter.
__device__ __forceinline__ void add_product(float4& sum, float4 a, float4 b)
{
    sum.x = __fmaf_rn(a.x, b.x, sum.x);
    sum.y = __fmaf_rn(a.y, b.y, sum.y);
    sum.z = __fmaf_rn(a.z, b.z, sum.z);
    sum.w = __fmaf_rn(a.w, b.w, sum.w);
}

/*!
 * Adds `Taps` taps to the sums of a column of quads, or begins the sums with them. Each
 * sample is read and converted once for all spectra that it is in.
 * \param from the first quad of the column under these taps
 */
template <class Shape, class In, int Taps, bool First>
__device__ __forceinline__ void add_taps(float4 (&sums)[Shape::filtered_together],
                                         const char* from,
                                         const float* prototype,
                                         uint32_t& suspects)
{
    constexpr int count = Shape::filtered_together;
    float4 h[Taps];
#pragma unroll
    for (int t = 0; t < Taps; t++)
        h[t] = coefficients<In>(prototype + t * tap_step<Shape, In>);
    typename In::quad raw[count + Taps - 1];
#pragma unroll
    for (int u = 0; u < count + Taps - 1; u++)
        raw[u] = In::load(from + u * line_step<Shape, In>);
#pragma unroll
    for (int u = 0; u < count + Taps - 1; u++) {
        suspects |= In::suspects(raw[u]);
        const float4 x = In::unpack(raw[u]);
#pragma unroll
        for (int s = 0; s < count; s++)
            if (First && u == s)
                sums[s] = product(h[0], x);
            else if (u - s >= 0 && u - s < Taps)
                add_product(sums[s], h[u - s], x);
    }
}

template <class Shape, class In>
__device__ __forceinline__ void filter_in_row(float4 (&sums)[Shape::filtered_together],
                                              const char* from,
                                              const float* prototype,
                                              int taps,
                                              uint32_t& suspects)
{
    constexpr int most = 8, half = most / 2;
    const auto next = [&](int done) {
        from += done * line_step<Shape, In>;
        prototype += done * tap_step<Shape, In>;
        taps -= done;
    };
    if (taps >= most) {
        add_taps<Shape, In, most, true>(sums, from, prototype, suspects);
        if (taps == most)
            return;
        next(most);
    } else if (taps >= half) {
        add_taps<Shape, In, half, true>(sums, from, prototype, suspects);
        next(half);
    } else {
        add_taps<Shape, In, 1, true>(sums, from, prototype, suspects);
        next(1);
    }
#pragma unroll 1
    for (; taps >= most; next(most))
        add_taps<Shape, In, most, false>(sums, from, prototype, suspects);
#pragma unroll 1
    for (; taps > 0; next(1))
        add_taps<Shape, In, 1, false>(sums, from, prototype, suspects);
}

//! The value that sums of products begin with: -0, because 0 would change a sum of
//! nothing but -0.
inline constexpr float nothing = -0.f;

/*!
 * Filters samples that do not lie where four of them can be read at once. It is a
 * function of its own, so that it leaves the registers of the others alone.
 * \param row if not nullptr, the samples lie in a row from there on
 * \return bits of `suspect`, if so
 */
template <class Shape, class In>
__device__ __noinline__ uint32_t filter_unaligned(float4* all,
                                                  const char* row,
                                                  const sample_view& view,
                                                  int64_t time,
                                                  int column,
                                                  const float* prototype,
                                                  int taps)
{
    constexpr int count = Shape::filtered_together;
    float4 sums[count];
#pragma unroll
    for (int s = 0; s < count; s++)
        sums[s] = { nothing, nothing, nothing, nothing };
    uint32_t suspects = 0, lowest = 0; // counted elsewhere
    prototype += column * (2 * tap_step<Shape, In> / Shape::N);
    const auto add = [&](int tap, auto number_of_taps) {
        constexpr int together = decltype(number_of_taps)::value;
        float4 h[together];
#pragma unroll
        for (int t = 0; t < together; t++)
            h[t] = coefficients<In>(prototype + (tap + t) * tap_step<Shape, In>);
#pragma unroll
        for (int u = 0; u < count + together - 1; u++) {
            float4 x;
            if (row) {
                const auto raw =
                    In::load_unaligned(row + (tap + u) * line_step<Shape, In>);
                suspects |= In::suspects(raw);
                x = In::unpack(raw);
            } else {
                const int64_t i = (time + tap + u) * (2 * Shape::N) + 4 * column;
                x = view.quad<In>(i, lowest);
            }
#pragma unroll
            for (int s = 0; s < count; s++)
                if (u - s >= 0 && u - s < together)
                    add_product(sums[s], h[u - s], x);
        }
    };
    constexpr int most = 4;
    int tap = 0;
#pragma unroll 1
    for (; tap + most <= taps; tap += most)
        add(tap, std::integral_constant<int, most>());
#pragma unroll 1
    for (; tap < taps; tap++)
        add(tap, std::integral_constant<int, 1>());
#pragma unroll
    for (int s = 0; s < count; s++)
        all[s] = sums[s];
    return suspects & In::suspect;
}

//! Filters component by component, at the end of a call and where the lowest value
//! occurs.
template <class Shape, class In>
__device__ __noinline__ void filter_carefully(float4* sums,
                                              const sample_view& view,
                                              int64_t time,
                                              int column,
                                              const fused_call& call)
{
    const float* prototype =
        call.prototype + column * (2 * tap_step<Shape, In> / Shape::N);
    uint32_t lowest = 0;
#pragma unroll 1
    for (int s = 0; s < Shape::filtered_together; s++) {
        float4 sum{ nothing, nothing, nothing, nothing };
#pragma unroll 1
        for (int t = 0; time + s < call.spectra && t < call.taps; t++)
            add_product(
                sum,
                coefficients<In>(prototype + t * tap_step<Shape, In>),
                view.quad<In>((time + s + t) * (2 * Shape::N) + 4 * column, lowest));
        sums[s] = sum;
    }
}

//! Counts samples with the lowest value: each one with the spectrum that it is the first
//! of, or with the last one of the call.
template <class Shape, class In>
__device__ __noinline__ int count_lowest(const sample_view& view,
                                         int64_t time,
                                         int column,
                                         int64_t counted,
                                         const fused_call& call)
{
    constexpr int parts = In::complex ? 2 : 1;
    int64_t end = time + Shape::filtered_together;
    if (time >= call.spectra)
        return 0;
    if (end >= call.spectra)
        end = call.spectra + call.taps - 1;
    int found = 0;
#pragma unroll 1
    for (; time < end; time++) {
        const int64_t i = time * (2 * Shape::N) + 4 * column;
        uint32_t lowest = 0;
        view.quad<In>(i, lowest);
#pragma unroll
        for (int k = 0; k < 4; k += parts)
            found += (lowest >> k & (In::complex ? 3 : 1)) && (i + k) / parts >= counted;
    }
    return found;
}

//! Counts them where samples lie in a row.
template <class Shape, class In>
__device__ __forceinline__ int count_lowest_in_row(
    const char* from, int64_t time, int column, int64_t counted, const fused_call& call)
{
    const bool last = time + Shape::filtered_together == call.spectra;
    const int lines = Shape::filtered_together + (last ? call.taps - 1 : 0);
    int found = 0;
    for (int u = 0; u < lines; u++) {
        // Both samples of a quad count, or none: what was counted before ends with a
        // line.
        if ((time + u) * Shape::N + 2 * column >= counted)
            found += In::count_lowest(In::load(from + u * line_step<Shape, In>));
    }
    return found;
}

//! Prefetches samples of the next step that no step has read yet into the second-level
//! cache.
template <class Shape, class In>
__device__ __forceinline__ void fetch_ahead(const fused_step& next, int taps)
{
    if (In::bits > 16 || !next.wanted || !next.samples)
        return; // wide ones would push others out
    constexpr int at_once = 128;
    const char* from = next.samples + next.known * line_step<Shape, In>;
    const int bytes = (next.wanted + taps - 1 - next.known) * line_step<Shape, In>;
    for (int i = threadIdx.x * at_once; i < bytes; i += Shape::threads * at_once)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(
            reinterpret_cast<uintptr_t>(from + i) & ~uintptr_t(at_once - 1)));
}

//! Makes lines of filtered samples in shared memory.
template <class Shape, class In>
__device__ __forceinline__ void filter_lines(float2* __restrict__ lines,
                                             const fused_step& step,
                                             int number_of_step,
                                             const line_guard& guard,
                                             const fused_call& call)
{
    constexpr int count = Shape::filtered_together;
    constexpr unsigned columns = Shape::N / 2;
    constexpr int items = columns * (Shape::spectra / count) / Shape::threads;
    const char* start = step.samples;
    const int left = step.wanted;
    int found = 0;
#pragma unroll 1
    for (int i = 0; i < items; i++) {
        const unsigned item = threadIdx.x + i * Shape::threads;
        const int column = item % columns;
        const int line = count == Shape::spectra ? 0 : item / columns * count;
        float4 sums[count];
        uint32_t suspects = 0;
        const bool complete = line + count <= left;
        const bool in_row = start && step.aligned && complete;
        const char* from = start + line * line_step<Shape, In> + column * (In::bits / 2);
        if (in_row)
            filter_in_row<Shape, In>(sums,
                                     from,
                                     call.prototype +
                                         column * (2 * tap_step<Shape, In> / Shape::N),
                                     call.taps,
                                     suspects);
        suspects &= In::suspect;
        if (!in_row || (suspects && !In::clamps)) {
            const int64_t time = step.first + line;
            const sample_view view = step.view;
            float4 others[count];
            if (!in_row && complete)
                suspects = filter_unaligned<Shape, In>(others,
                                                       start ? from : nullptr,
                                                       view,
                                                       time,
                                                       column,
                                                       call.prototype,
                                                       call.taps);
            if (!complete || (start && suspects && !In::clamps))
                filter_carefully<Shape, In>(others, view, time, column, call);
            if (In::suspect && (suspects || !complete || !start))
                found += count_lowest<Shape, In>(view, time, column, step.counted, call);
#pragma unroll
            for (int s = 0; s < count; s++)
                sums[s] = others[s];
        } else if constexpr (In::suspect && In::clamps) {
            found += count_lowest_in_row<Shape, In>(
                from, step.first + line, column, step.counted, call);
        }
        if (In::complex && call.inverted) {
            __syncwarp(); // all would be negated under a condition otherwise
#pragma unroll
            for (int s = 0; s < count; s++) {
                sums[s].y = -sums[s].y;
                sums[s].w = -sums[s].w;
            }
        }
        if (i == 0)
            guard.wait(number_of_step);
#pragma unroll
        for (int s = 0; s < count; s++)
            *reinterpret_cast<float4*>(lines + (line + s) * Shape::pitch + 2 * column) =
                sums[s];
    }
    if (In::suspect)
        add_of_warp(call.lowest + step.input, found);
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_FILTER_CUH */
