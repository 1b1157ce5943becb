/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PFB_FUSED_CUH
#define INCLUDED_APERTURE_KERNELS_CUDA_PFB_FUSED_CUH

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/fft_registers.cuh"
#include "kernels/cuda/pfb_fused.h"
#include "kernels/cuda/pfb_samples.cuh"
#include "kernels/cuda/phasor.cuh"
#include "kernels/cuda/warp.cuh"
#include <type_traits>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

/*!
 * A block of threads makes Spectra spectra of one input at a time. It filters them, a
 * column of samples of several spectra a thread, into lines of N complex numbers in
 * shared memory; transforms each line in passes of radix R1, R2 (and R3), each thread 32
 * points in registers; and stores.
 *
 * For blocks [channel][input][time], threads change places before the last pass: a warp
 * then has the same channels of up to 16 spectra, that is of times in a row.
 *
 * Real samples are taken as half as many complex ones, and the two halves of their
 * spectrum are told apart afterwards.
 *
 * Between passes, point p of a line lies at place p + 2 (p / R1): neither the writes of
 * the first pass, two points each, nor any other access meet a bank twice.
 */
template <int N_, int Spectra_, int R1_, int R2_, int R3_ = 1>
struct fused_shape {
    static constexpr int N = N_, spectra = Spectra_, R1 = R1_, R2 = R2_, R3 = R3_;
    static_assert(N == R1 * R2 * R3);
    static constexpr int points = fused_call::points_of_thread;
    static constexpr int line_threads = N / points; // that transform a line together
    static constexpr int threads = spectra * line_threads;
    static constexpr int blocks = 512 / threads; // of a multiprocessor
    // so that eight lines, or all, by two points or more lie in all banks
    static constexpr int pitch = N + 2 * N / R1 + (spectra < 8 ? 16 / spectra : 2);
    static constexpr int line_bytes = pitch * spectra * int(sizeof(float2));
    static constexpr int gain_bytes = N * int(sizeof(float2)); // behind the lines
    static constexpr int filtered_together = spectra < 8 ? spectra : 8;
    // threads that follow each other write whole sectors of a spectrum
    static constexpr bool direct = line_threads >= 16;
    // twiddles of the second and the third pass, and those that part real spectra
    static constexpr int twiddles_2 = 0;
    static constexpr int twiddles_3 = R1 * R2 / 2;
    static constexpr int twiddles_real = twiddles_3 + (R3 > 1 ? N / 2 : 0);
};

template <class Shape>
__device__ __forceinline__ int place(int point)
{
    return point + 2 * (point / Shape::R1);
}

//! All threads that work on a line.
template <class Shape>
__device__ __forceinline__ void line_sync(int line)
{
    if constexpr (Shape::line_threads <= 32)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(1 + line), "n"(Shape::line_threads)
                     : "memory");
}

//! A line and a thread's place among those that work on it.
struct place_in_line {
    int number, lane;
};

/*!
 * A line's threads follow each other. Where half a warp works on several lines, these are
 * so far apart that it meets no bank twice.
 */
template <class Shape>
__device__ __forceinline__ place_in_line along_line()
{
    const int line = threadIdx.x / Shape::line_threads;
    const int lane = threadIdx.x % Shape::line_threads;
    if constexpr (Shape::line_threads >= 16) {
        return { line, lane };
    } else {
        constexpr int apart = Shape::line_threads / 2, together = 8 / apart;
        return { line / 8 * 8 + line % together * apart + line % 8 / together, lane };
    }
}

//! Threads of up to 16 lines, with the same place in all of these, are in a warp.
template <class Shape>
__device__ __forceinline__ place_in_line across_lines()
{
    const int thread = threadIdx.x;
    if constexpr (Shape::spectra < 16) {
        return { thread % Shape::spectra, thread / Shape::spectra };
    } else {
        // half a warp has eight lines and two places
        constexpr int groups = Shape::spectra / 16;
        const int warp = thread / 32;
        return { warp % groups * 16 + thread / 16 % 2 * 8 + thread % 8,
                 warp / groups * 2 + thread / 8 % 2 };
    }
}

/*!
 * Keeps new lines out of shared memory until every thread has read the old ones. From
 * Hopper on it need not wait for what the others then do with them.
 */
struct line_guard {
    uint64_t* barrier; // of all threads

#if __CUDA_ARCH__ >= 900
    __device__ void start(int threads) const
    {
        init_barrier(barrier, threads);
        fence_barriers();
    }
    __device__ void wait(int step) const { wait_for(barrier, step % 2 ^ 1); }
    //! Each thread for itself: racecheck does not see one that arrives for its warp.
    __device__ void read() const { arrive(barrier); }
#else
    __device__ void start(int) const {}
    __device__ void wait(int) const { __syncthreads(); }
    __device__ void read() const {}
#endif
};

// ---------------------------------------------------------------------------------------
// Filter

//! The samples of an input, wherever they lie; numbers count from the first that is used.
struct sample_view {
    const void* numbers; // of the port
    int64_t first;       // sample of the port
    int inputs_per_port, input;

    //! Four numbers from i on. \param lowest bits of those that were the lowest
    template <class In>
    __device__ float4 quad(int64_t i, uint32_t& lowest) const
    {
        constexpr int parts = In::complex ? 2 : 1;
        const int64_t sample = (first + i / parts) * inputs_per_port + input;
        float v[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            bool found = false;
            v[k] = In::number(numbers,
                              (sample + k / parts * inputs_per_port) * parts + k % parts,
                              found);
            lowest |= found << k;
        }
        return { v[0], v[1], v[2], v[3] };
    }
};

//! Bytes from one line of samples to the next, of one input in a row.
template <class Shape, class In>
inline constexpr int line_step = Shape::N * 2 * In::bits / 8;

//! Coefficients of the filter from one tap to the next.
template <class Shape, class In>
inline constexpr int tap_step = In::complex ? Shape::N : 2 * Shape::N;

/*!
 * A quad of filter coefficients: of complex samples both numbers have the same. All steps
 * use the same ones, so that they stay in the cache where samples only pass.
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

//! By name, so that the same samples give the same bits on each way through the filter.
__device__ __forceinline__ void add_product(float4& sum, float4 a, float4 b)
{
    sum.x = __fmaf_rn(a.x, b.x, sum.x);
    sum.y = __fmaf_rn(a.y, b.y, sum.y);
    sum.z = __fmaf_rn(a.z, b.z, sum.z);
    sum.w = __fmaf_rn(a.w, b.w, sum.w);
}

/*!
 * Adds Taps taps to the sums of a column of quads, or starts these with them. Each sample
 * is read and converted once for all spectra that it is in. \param from the column's
 * first quad under these taps
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

//! What sums of products begin with: with 0, a sum of nothing but -0 would be another
//! one.
inline constexpr float nothing = -0.f;

/*!
 * The same of samples that do not lie where quads of them can be read: a function of its
 * own, which leaves the registers of the others alone. \param row if not nullptr, the
 * samples lie in a row from there on \return bits of `suspect`, if so
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

//! The same number by number, for the end of a call and where the lowest number occurs.
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

//! Counts samples that are the lowest: each one with the spectrum that it is the first
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

//! The same where samples lie in a row.
template <class Shape, class In>
__device__ __forceinline__ int count_lowest_in_row(
    const char* from, int64_t time, int column, int64_t counted, const fused_call& call)
{
    const bool last = time + Shape::filtered_together == call.spectra;
    const int lines = Shape::filtered_together + (last ? call.taps - 1 : 0);
    int found = 0;
    for (int u = 0; u < lines; u++) {
        // both samples of a quad, or none: what was counted before ends with a line
        if ((time + u) * Shape::N + 2 * column >= counted)
            found += In::count_lowest(In::load(from + u * line_step<Shape, In>));
    }
    return found;
}

/*!
 * A block of threads goes from step to step: the spectra that it makes at a time, of one
 * input. What a step is about lies in shared memory, written once for all threads.
 */
struct fused_step {
    const char* samples; // of the first line, if they lie in a row; else nullptr
    bool aligned;        // so that quads can be read
    sample_view view;    // of all samples; without numbers if they were lost
    int64_t counted;     // samples that an earlier call has counted
    int64_t first;       // spectrum
    int wanted;          // spectra from there on, not more than there are; 0: the end
    int input;
    bool other_input; // than that of the step before
    int known;        // lines of samples that the step before has read, too
    int round;        // of the steps whose results are turned together
    bool last;        // of them
    char* spectra;    // where results go; of a block: those of its channel 0
    int64_t spacing;  // of these, in bytes
    const float4* gains;
};

//! Samples of the next step that no step has read yet, into the second-level cache.
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

/*!
 * Gains of an input into shared memory, in the order of the threads that use them. Where
 * blocks of threads take inputs by turns, each step may want others: nobody waits for
 * them before the last pass.
 */
template <class Shape>
__device__ __forceinline__ void load_gains(float4* to, const fused_step& step)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < Shape::N / 2; i += Shape::threads) {
#if __CUDA_ARCH__ >= 800
        copy_async<16>(to + i, step.gains + i, true);
#else
        to[i] = __ldg(step.gains + i);
#endif
    }
    commit_async();
}

//! Lines of filtered samples into shared memory.
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
            __syncwarp(); // or all would be negated under a condition
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

// ---------------------------------------------------------------------------------------
// Transform. Of a pass of radix R, butterfly b has points b + r N/R and is one of the
// thread's 32/R: those from its place in the line on, in steps of N/32.

//! Points from shared memory; Done is the product of the radices so far.
template <class Shape, int R, int Done>
__device__ __forceinline__ void
load_points(float2 (&v)[Shape::points], const float2* line, int lane)
{
#pragma unroll
    for (int q = 0; q < Shape::points / R; q++) {
        const int b = lane + q * Shape::line_threads;
        constexpr int step = Shape::N / R;
#pragma unroll
        for (int r = 0; r < R; r++)
            v[q * R + r] =
                Done == 1 ? line[b + r * step]
                          : line[place<Shape>(b) + r * (step + 2 * (step / Shape::R1))];
    }
}

//! The first pass.
template <class Shape>
__device__ __forceinline__ void transform_points(float2 (&v)[Shape::points])
{
#pragma unroll
    for (int q = 0; q < Shape::points / Shape::R1; q++)
        transform<Shape::R1>(v + q * Shape::R1);
}

//! A later one. \param twiddles [R/4][Done][2]: what transform_by() needs
template <class Shape, int R, int Done>
__device__ __forceinline__ void
transform_points(float2 (&v)[Shape::points], int lane, const float2* twiddles)
{
    float2 w[R / 2];
#pragma unroll
    for (int q = 0; q < Shape::points / R; q++) {
        const int b = lane + q * Shape::line_threads;
        if (q == 0 || Shape::line_threads % Done != 0) {
            const auto* here = reinterpret_cast<const float4*>(twiddles) +
                               (Done < Shape::N / R ? b % Done : b);
            // one address, and constants to add: not as many addresses as points
            asm volatile("" : "+l"(here));
#pragma unroll
            for (int i = 0; i < R / 2; i += 2) {
                const float4 two = __ldg(here + i / 2 * Done);
                w[i] = { two.x, two.y };
                w[i + 1] = { two.z, two.w };
            }
        }
        transform_by<R>(v + q * R, w);
    }
}

template <class Shape, int R, int Done>
__device__ __forceinline__ void
store_points(const float2 (&v)[Shape::points], float2* line, int lane)
{
#pragma unroll
    for (int q = 0; q < Shape::points / R; q++) {
        const int b = lane + q * Shape::line_threads;
        if constexpr (Done == 1) {
            float2* to = line + b * (R + 2);
#pragma unroll
            for (int r = 0; r < R; r += 2)
                *reinterpret_cast<float4*>(to + r) = {
                    v[q * R + r].x, v[q * R + r].y, v[q * R + r + 1].x, v[q * R + r + 1].y
                };
        } else {
            float2* to = line + place<Shape>(b / Done * (Done * R) + b % Done);
#pragma unroll
            for (int r = 0; r < R; r++)
                to[r * (Done + 2 * (Done / Shape::R1))] = v[q * R + r];
        }
    }
}

//! Radix of the last pass: v[q R + r] is channel lane + (q + r 32/R) N/32.
template <class Shape>
inline constexpr int last_radix = Shape::R3 > 1 ? Shape::R3 : Shape::R2;

/*!
 * A line from shared memory into registers, transformed. \param at whose points the
 * thread has, at last \param read is called when the memory was read for the last time
 */
template <class Shape, store Stored, class Read>
__device__ __forceinline__ void transform_line(float2 (&v)[Shape::points],
                                               float2* lines,
                                               place_in_line& at,
                                               const float2* __restrict__ twiddles,
                                               Read read)
{
    constexpr int R1 = Shape::R1, R2 = Shape::R2, R3 = Shape::R3;
    constexpr int last = last_radix<Shape>;
    float2* line = lines + at.number * Shape::pitch;
    load_points<Shape, R1, 1>(v, line, at.lane);
    transform_points<Shape>(v);
    line_sync<Shape>(at.number);
    store_points<Shape, R1, 1>(v, line, at.lane);
    if constexpr (R3 > 1) {
        line_sync<Shape>(at.number);
        load_points<Shape, R2, R1>(v, line, at.lane);
        transform_points<Shape, R2, R1>(v, at.lane, twiddles + Shape::twiddles_2);
        line_sync<Shape>(at.number);
        store_points<Shape, R2, R1>(v, line, at.lane);
    }
    if constexpr (Stored == store::blocks) {
        wait_async<0>(); // gains
        __syncthreads();
        at = across_lines<Shape>();
        line = lines + at.number * Shape::pitch;
    } else {
        line_sync<Shape>(at.number);
    }
    load_points<Shape, last, Shape::N / last>(v, line, at.lane);
    read();
    transform_points<Shape, last, Shape::N / last>(
        v, at.lane, twiddles + (R3 > 1 ? Shape::twiddles_3 : Shape::twiddles_2));
}

//! Index into v of channel lane + e N/32.
template <class Shape>
__device__ __forceinline__ constexpr int point_of(int e)
{
    constexpr int R = last_radix<Shape>, others = Shape::points / R;
    return e % others * R + e / others;
}

/*!
 * Spectrum of 2N real numbers from that of N complex ones:
 * y[k] = (z[k] + conj z[N-k]) / 2 + w_k (z[k] - conj z[N-k]), w_k = -i/2 exp(-pi i k/N)
 */
template <class Shape, store Stored, class Read>
__device__ __forceinline__ void part_real(float2 (&v)[Shape::points],
                                          float2* lines,
                                          const place_in_line& at,
                                          const float2* __restrict__ twiddles,
                                          Read read)
{
    constexpr int N = Shape::N, threads = Shape::line_threads;
    float2* line = lines + at.number * Shape::pitch;
    // each thread where its points of the last pass were, which nobody else has read
    float2* own = line + place<Shape>(at.lane);
#pragma unroll
    for (int e = 0; e < Shape::points; e++)
        own[place<Shape>(e * threads)] = v[point_of<Shape>(e)];
    if constexpr (Stored == store::blocks)
        __syncthreads();
    else
        line_sync<Shape>(at.number);
    const float2* others = line + place<Shape>(threads - at.lane);
    const float2* w = twiddles + Shape::twiddles_real + at.lane;
#pragma unroll
    for (int e = 0; e < Shape::points; e++) {
        const float2 z = v[point_of<Shape>(e)];
        const int k = e * threads; // and the lane
        // lane 0 has its others in the next places
        const bool next = at.lane == 0 && (e == 0 || threads < Shape::R1);
        const float2 m = next ? line[place<Shape>((N - k) % N)]
                              : others[place<Shape>(N - k - threads)];
        const float2 u = times(__ldg(w + k), make_float2(z.x - m.x, z.y + m.y));
        v[point_of<Shape>(e)] = sum(u, .5f, make_float2(z.x + m.x, z.y - m.y));
    }
    read();
}

// ---------------------------------------------------------------------------------------
// Output

//! The larger one, or NaN if one is.
__device__ __forceinline__ float larger(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
#else
    return a > b || isnan(a) ? a : b;
#endif
}

//! Real and imaginary part, half to even, as bytes; -128 to 127, NaN as 0. \param above
//! goes into the higher half of the word
__device__ __forceinline__ uint32_t rounded(float2 y, uint32_t above = 0)
{
    uint32_t both;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;"
        : "=r"(both)
        : "r"(__float2int_rn(y.y)), "r"(__float2int_rn(y.x)), "r"(above));
    return both;
}

//! Largest number that is not clamped: the next one above is rounded to 128.
constexpr float most_fitting = 0x1.fdfffep6f;

//! What is rounded to a number within +-127.
__device__ __forceinline__ float2 fitting(float2 y)
{
    const auto clamped = [](float v) {
        return isnan(v) ? 0.f : fminf(fmaxf(v, -127.f), 127.f);
    };
    return { clamped(y.x), clamped(y.y) };
}

//! Of a port without samples.
template <class Shape, store Stored, class voltage>
__device__ __noinline__ void store_zeros(const fused_step& of, const fused_call& call)
{
    constexpr bool block = Stored == store::blocks;
    const int channels = block ? call.selected : Shape::N;
    const int64_t step = block ? int64_t(call.inputs) * call.times : 1; // of channels
    for (int i = threadIdx.x; i < channels * of.wanted; i += Shape::threads) {
        const int number = block ? i % of.wanted : i / channels;
        const int channel = block ? i / of.wanted : i % channels;
        reinterpret_cast<voltage*>(of.spectra + number * of.spacing)[channel * step] = {};
    }
}

//! The phases of delays. \param start, step channel of the thread's first point, and of
//! each next one from there
template <class Shape>
__device__ __forceinline__ void turn_phases(
    float2 (&v)[Shape::points], const phase_slope& p, double m, int start, int step)
{
    const double slope = p.slope0 + m * p.slope_rate;
    const double begin = p.start0 + m * p.start_rate;
    const float2 turn = phasor(step * slope);
    float2 factor;
#pragma unroll
    for (int e = 0; e < Shape::points; e++) {
        factor =
            e % 8 == 0 ? phasor(begin + (start + e * step) * slope) : times(factor, turn);
        float2& y = v[point_of<Shape>(e)];
        y = times(y, factor);
    }
}

/*!
 * Calls put(e, y, z) with the thread's results e and e + 1, times their gains, for all
 * even e. \param gains of the thread's points, two in a row each
 */
template <class Shape, class Put>
__device__ __forceinline__ void amplify(const float2 (&v)[Shape::points],
                                        const float4* gains,
                                        const fused_call& call,
                                        Put put)
{
    float4 next = gains[0]; // on its way while those before are multiplied
#pragma unroll
    for (int e = 0; e < Shape::points; e += 2) {
        // Each eight points ask whether they are wanted, as they always are: else the
        // compiler loads all gains first, and has no registers left.
        if (e % 8 == 0 && e >= call.points)
            break;
        const float4 g = next;
        if (e + 2 < Shape::points)
            next = gains[(e / 2 + 1) * Shape::line_threads];
        put(e,
            times(v[point_of<Shape>(e)], { g.x, g.y }),
            times(v[point_of<Shape>(e + 1)], { g.z, g.w }));
    }
}

__device__ __forceinline__ float largest(float2 y)
{
    return larger(fabsf(y.x), fabsf(y.y));
}

//! Whether it is rounded to something else for being too large, or is NaN.
__device__ __forceinline__ bool is_clamped(float2 y)
{
    return !(largest(y) <= most_fitting);
}

/*!
 * The same for results that become bytes: they are put once more, clamped, if some do not
 * fit. \return how many
 */
template <class Shape, class Put>
__device__ __forceinline__ int amplify_fitting(const float2 (&v)[Shape::points],
                                               const float4* gains,
                                               const fused_call& call,
                                               Put put)
{
    float most = 0;
    amplify<Shape>(v, gains, call, [&](int e, float2 y, float2 z) {
        most = larger(most, larger(largest(y), largest(z)));
        put(e, y, z);
    });
    if (most <= most_fitting)
        return 0;
    int found = 0;
    amplify<Shape>(v, gains, call, [&](int e, float2 y, float2 z) {
        found += is_clamped(y) + is_clamped(z);
        put(e, fitting(y), fitting(z));
    });
    return found;
}

//! Elements of a line as they are.
template <class Shape, class element>
__device__ __forceinline__ void store_line(const float2* line, element* to, int lane)
{
    constexpr int together = 16 / sizeof(element);
    if (reinterpret_cast<uintptr_t>(to) % 16 == 0) {
#pragma unroll
        for (int i = 0; i < Shape::N / together / Shape::line_threads; i++) {
            const int at = lane + i * Shape::line_threads;
            reinterpret_cast<uint4*>(to)[at] = reinterpret_cast<const uint4*>(line)[at];
        }
    } else {
        for (int k = lane; k < Shape::N; k += Shape::line_threads)
            to[k] = reinterpret_cast<const element*>(line)[k];
    }
}

/*!
 * Gains, conversion of a line in registers, and where it goes: into its spectrum, by way
 * of shared memory if that has narrow lines. \return numbers that did not fit
 */
template <class Shape>
__device__ __forceinline__ int put_line(const float2 (&v)[Shape::points],
                                        float2* line,
                                        const float4* gains,
                                        char* spectrum,
                                        int start,
                                        int step,
                                        bool wanted,
                                        const fused_call& call)
{
    if constexpr (Shape::direct) {
        if (!wanted)
            return 0;
        if (!call.eight_bit) {
            auto* to = reinterpret_cast<float2*>(spectrum) + start;
            amplify<Shape>(v, gains, call, [&](int e, float2 y, float2 z) {
                __stcg(to + e * step, y);
                __stcg(to + (e + 1) * step, z);
            });
            return 0;
        }
        auto* to = reinterpret_cast<uint16_t*>(spectrum) + start;
        return amplify_fitting<Shape>(v, gains, call, [&](int e, float2 y, float2 z) {
            __stcg(to + e * step, uint16_t(rounded(y)));
            __stcg(to + (e + 1) * step, uint16_t(rounded(z)));
        });
    }
    if (!call.eight_bit) {
        auto* to = line + start;
        amplify<Shape>(v, gains, call, [&](int e, float2 y, float2 z) {
            to[e * step] = y;
            to[(e + 1) * step] = z;
        });
        return 0;
    }
    auto* to = reinterpret_cast<uint16_t*>(line) + start;
    const int found =
        amplify_fitting<Shape>(v, gains, call, [&](int e, float2 y, float2 z) {
            to[e * step] = uint16_t(rounded(y));
            to[(e + 1) * step] = uint16_t(rounded(z));
        });
    return wanted ? found : 0;
}

//! A result as it is stored.
template <class voltage>
__device__ __forceinline__ voltage result(float2 y)
{
    if constexpr (std::is_same_v<voltage, float2>)
        return y;
    else
        return voltage(rounded(y));
}

/*!
 * Where a thread's results go in a block: each next one steps on to its next channel.
 * Channels that are not wanted are left out.
 */
struct block_rows {
    char* to;
    int64_t stride; // from channel to channel, in bytes
    int channel, step, selected;

    template <class element>
    __device__ __forceinline__ void put(element results)
    {
        if (unsigned(channel) < unsigned(selected))
            __stcg(reinterpret_cast<element*>(to), results);
        to += stride;
        channel += step;
    }
};

//! \param start, step channel of the thread's first result, and to the next \param time
//! of its first result, counted from the first of this step
template <class voltage>
__device__ __forceinline__ block_rows
rows_of(const fused_step& of, int start, int step, int time, const fused_call& call)
{
    const int64_t spacing = int64_t(call.inputs) * call.times * int(sizeof(voltage));
    const int channel = start - call.first_channel;
    return { of.spectra + channel * spacing + time * of.spacing,
             step * spacing,
             channel,
             step,
             call.selected };
}

/*!
 * Bit i of the lane, from 0 on, changes places with a bit of the index: of numbers of
 * times [round][spectrum] each lane of Spectra gets Rounds in a row.
 */
template <int Spectra, int Rounds>
__device__ __forceinline__ void exchange(uint32_t (&v)[Rounds], int lane)
{
    constexpr int together = Spectra < Rounds ? Spectra : Rounds;
#pragma unroll
    for (int bit = 1; bit < together; bit *= 2) {
        const int index_bit = bit * (Rounds / together);
        const bool high = lane & bit;
#pragma unroll
        for (int i = 0; i < Rounds; i++)
            if (!(i & index_bit)) {
                uint32_t &a = v[i], &b = v[i | index_bit];
                const uint32_t got = __shfl_xor_sync(~0u, high ? a : b, bit);
                a = high ? got : a;
                b = high ? b : got;
            }
    }
}

/*!
 * Results of steps whose spectra do not fill a sector of a row wait, in memory that each
 * thread has for itself, for those of the steps after. Then neighbouring lanes exchange
 * theirs, and write whole sectors.
 */
template <class Shape, class voltage, int Rounds>
struct row_pieces {
    static constexpr int of_piece = int(sizeof(uint4) / sizeof(voltage));
    static constexpr int pieces = Shape::points / of_piece;
    static constexpr int words = 4 * pieces;
    // that exchange with each other; then each has so many times in a row
    static constexpr int lanes = Shape::spectra < Rounds ? Shape::spectra : Rounds;
    uint4* aside; // [round][piece][thread of the block]

    __device__ explicit row_pieces(const fused_call& call)
        : aside(static_cast<uint4*>(call.scratch) +
                int64_t(blockIdx.x) * (Rounds * pieces * Shape::threads) + threadIdx.x)
    {
    }

    __device__ __forceinline__ uint4* piece(int round, int number) const
    {
        return aside + (round * pieces + number) * Shape::threads;
    }

    //! The first of the times that a lane has then.
    static __device__ __forceinline__ int first_time(int lane)
    {
        return lane % lanes * (Shape::spectra * Rounds / lanes) + lane / lanes * lanes;
    }

    __device__ __forceinline__ void
    put_piece_aside(const uint32_t* v, int round, int number) const
    {
        __stcg(piece(round, number), { v[0], v[1], v[2], v[3] });
    }
    __device__ __forceinline__ void put_aside(const uint32_t (&v)[words], int round) const
    {
#pragma unroll
        for (int i = 0; i < pieces; i++)
            put_piece_aside(v + 4 * i, round, i);
    }

    //! A piece of the rounds before the last one.
    using waiting = uint4[Rounds - 1];
    __device__ __forceinline__ void fetch(waiting& kept, int number) const
    {
#pragma unroll
        for (int r = 0; r < Rounds - 1; r++)
            kept[r] = __ldcg(piece(r, number));
    }

    //! A piece of all rounds; \param v results of the last one
    static __device__ __forceinline__ void
    store_piece(const uint32_t* v, const waiting& kept, int lane, block_rows& rows)
    {
        uint32_t all[4][Rounds];
#pragma unroll
        for (int r = 0; r < Rounds - 1; r++) {
            const uint4 k = kept[r];
            all[0][r] = k.x, all[1][r] = k.y, all[2][r] = k.z, all[3][r] = k.w;
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            all[j][Rounds - 1] = v[j];
            exchange<Shape::spectra, Rounds>(all[j], lane);
        }
#pragma unroll
        for (int c = 0; c < of_piece; c++)
            put(all, c, rows);
    }

    //! \param v results of the last round
    __device__ __forceinline__ void
    store_whole(const uint32_t (&v)[words], int lane, block_rows rows) const
    {
        constexpr int ahead = Rounds > 4 ? 1 : 4 / (Rounds - 1);
        waiting kept[ahead];
#pragma unroll
        for (int i = 0; i < ahead; i++)
            fetch(kept[i], i);
#pragma unroll
        for (int i = 0; i < pieces; i++) {
            waiting now;
#pragma unroll
            for (int r = 0; r < Rounds - 1; r++)
                now[r] = kept[i % ahead][r];
            if (i + ahead < pieces)
                fetch(kept[i % ahead], i + ahead);
            store_piece(v + 4 * i, now, lane, rows);
        }
    }

    //! The same where rows are not aligned or not all times are wanted.
    __device__ __noinline__ void
    store_each(const fused_step& last, int lane, block_rows rows) const
    {
#pragma unroll 1
        for (int e = 0; e < Shape::points; e++) {
            char* to = rows.to;
#pragma unroll 1
            for (int r = 0; r <= last.round; r++, to += Shape::spectra * last.spacing) {
                const auto* from =
                    reinterpret_cast<const voltage*>(piece(r, e / of_piece));
                if (r < last.round || lane < last.wanted) {
                    const voltage v = __ldcg(from + e % of_piece);
                    if (unsigned(rows.channel) < unsigned(rows.selected))
                        __stcg(reinterpret_cast<voltage*>(to), v);
                }
            }
            rows.to += rows.stride;
            rows.channel += rows.step;
        }
    }

private:
    //! Results of channel c of a piece.
    static __device__ __forceinline__ void
    put(const uint32_t (&all)[4][Rounds], int c, block_rows& rows)
    {
        // where exchange() has left what is of time t
        const auto index = [](int t) { return t % lanes * (Rounds / lanes) + t / lanes; };
        constexpr int count = Rounds * int(sizeof(voltage)) / 4;
        uint32_t w[count];
#pragma unroll
        for (int i = 0; i < count; i++)
            if constexpr (sizeof(voltage) == 2)
                w[i] = __byte_perm(all[c / 2][index(2 * i)],
                                   all[c / 2][index(2 * i + 1)],
                                   c % 2 ? 0x7632 : 0x5410);
            else
                w[i] = all[2 * c + i % 2][index(i / 2)];
        if constexpr (count == 1)
            rows.put(w[0]);
        else if constexpr (count == 2)
            rows.put(make_uint2(w[0], w[1]));
        else
            rows.put(make_uint4(w[0], w[1], w[2], w[3]));
    }
};

/*!
 * Gains and conversion of results in registers, and where they go: into the rows of a
 * block. \param start, step channel of the thread's first result, and to the next
 */
template <class Shape, class voltage>
__device__ __forceinline__ int put_rows(const float2 (&v)[Shape::points],
                                        const float4* gains,
                                        int number,
                                        int start,
                                        int step,
                                        const fused_step& of,
                                        const fused_call& call)
{
    constexpr bool eight_bit = !std::is_same_v<voltage, float2>;
    constexpr int rounds = fused_call::rounds_of(Shape::spectra, sizeof(voltage));
    const auto put_all = [&](auto put) {
        if constexpr (eight_bit)
            return amplify_fitting<Shape>(v, gains, call, put);
        amplify<Shape>(v, gains, call, put);
        return 0;
    };
    const bool wanted = number < of.wanted;
    if constexpr (rounds == 1) {
        if (!wanted)
            return 0;
        const auto first = rows_of<voltage>(of, start, step, number, call);
        auto rows = first;
        return put_all([&](int e, float2 y, float2 z) {
            if (e == 0)
                rows = first;
            rows.put(result<voltage>(y));
            rows.put(result<voltage>(z));
        });
    } else {
        using pieces = row_pieces<Shape, voltage, rounds>;
        const pieces all(call);
        const int before = of.round * Shape::spectra;
        const bool whole =
            of.round == rounds - 1 && of.wanted == Shape::spectra &&
            (call.times | call.first_time) % rounds == 0 &&
            reinterpret_cast<uintptr_t>(call.block) % (rounds * sizeof(voltage)) == 0;
        const auto rows = [&] {
            return rows_of<voltage>(of,
                                    start,
                                    step,
                                    (whole ? pieces::first_time(number) : number) -
                                        before,
                                    call);
        };
        int found = 0;
        if constexpr (eight_bit) {
            uint32_t words[pieces::words];
            found = put_all([&](int e, float2 y, float2 z) {
                words[e / 2] = rounded(y, rounded(z));
            });
            if (whole)
                all.store_whole(words, number, rows());
            else
                all.put_aside(words, of.round);
        } else {
            // piece by piece: there are no registers for all
            typename pieces::waiting kept[2];
            auto to = rows();
            if (whole)
                all.fetch(kept[0], 0);
            put_all([&](int e, float2 y, float2 z) {
                const int i = e / 2;
                const uint32_t words[] = { __float_as_uint(y.x),
                                           __float_as_uint(y.y),
                                           __float_as_uint(z.x),
                                           __float_as_uint(z.y) };
                if (whole) {
                    if (i + 1 < pieces::pieces)
                        all.fetch(kept[(i + 1) % 2], i + 1);
                    pieces::store_piece(words, kept[i % 2], number, to);
                } else {
                    all.put_piece_aside(words, of.round, i);
                }
            });
        }
        if (of.last && !whole)
            all.store_each(of, number, rows());
        return wanted ? found : 0;
    }
}

/*!
 * A line in registers into its spectrum, or into rows of a block, with the phases of
 * delays and gains.
 */
template <class Shape, store Stored>
__device__ __forceinline__ void finish_line(float2 (&v)[Shape::points],
                                            float2* lines,
                                            const float4* gains,
                                            const place_in_line& at,
                                            bool mirrored,
                                            const fused_step& of,
                                            const fused_call& call)
{
    // of real samples of a mirrored band: channels in reverse, and phasors turn back
    const int start = mirrored ? Shape::N - 1 - at.lane : at.lane;
    const int step = mirrored ? -Shape::line_threads : Shape::line_threads;
    if (mirrored) {
#pragma unroll
        for (int e = 0; e < Shape::points; e++)
            v[e].y = -v[e].y;
    }
    if (call.slopes)
        turn_phases<Shape>(v,
                           call.slopes[of.input],
                           double(call.number + of.first + at.number),
                           start,
                           step);
    gains += at.lane;
    int found;
    if constexpr (Stored == store::blocks) {
        found =
            call.eight_bit
                ? put_rows<Shape, uint16_t>(v, gains, at.number, start, step, of, call)
                : put_rows<Shape, float2>(v, gains, at.number, start, step, of, call);
    } else {
        if (!Shape::direct)
            line_sync<Shape>(at.number); // all have read the line
        found = put_line<Shape>(v,
                                lines + at.number * Shape::pitch,
                                gains,
                                of.spectra + at.number * of.spacing,
                                start,
                                step,
                                at.number < of.wanted,
                                call);
    }
    if (call.eight_bit)
        add_of_warp(call.clamped + of.input, found);
}

//! A line from shared memory into its spectrum.
template <class Shape>
__device__ __forceinline__ void store_own_line(
    const float2* lines, int number, int lane, const fused_step& of, bool eight_bit)
{
    const float2* line = lines + number * Shape::pitch;
    char* to = of.spectra + number * of.spacing;
    line_sync<Shape>(number);
    if (number >= of.wanted)
        return;
    if (eight_bit)
        store_line<Shape>(line, reinterpret_cast<uint16_t*>(to), lane);
    else
        store_line<Shape>(line, reinterpret_cast<float2*>(to), lane);
}

//! A group [port][batch of spectra][input of the port], counted without divisions.
struct group_number {
    uint32_t port, batch, input;
    static __device__ group_number of(uint32_t number, uint32_t inputs, uint32_t batches)
    {
        return { number / inputs / batches, number / inputs % batches, number % inputs };
    }
    __device__ void add(const group_number& other, uint32_t inputs, uint32_t batches)
    {
        input += other.input;
        batch += other.batch;
        port += other.port;
        if (input >= inputs) {
            input -= inputs;
            batch++;
        }
        if (batch >= batches) {
            batch -= batches;
            port++;
        }
    }
};

//! How many inputs of a port are side by side: those that lie in the same memory.
__device__ __forceinline__ uint32_t side_by_side(const fused_call& call)
{
    return call.rows.samples ? 1 : call.inputs_per_port;
}

//! Where a block of threads is in its work; one thread at a time looks after it.
struct fused_schedule {
    group_number group, stride;
    int groups, round; // left; of the group
    int input;         // of the step before; -1: there was none
    int64_t read;      // lines of its samples
};

template <class Shape>
__device__ __forceinline__ fused_schedule make_schedule(const fused_call& call)
{
    const int together = Shape::spectra * call.rounds;
    const int64_t batches = (call.spectra + together - 1) / together;
    const int64_t groups = batches * call.inputs;
    // In a row, a block of threads finds most samples that spectra share in its cache; in
    // turns, all blocks together fill rows of many channels before they leave the cache.
    const int64_t start = call.in_a_row ? groups * blockIdx.x / gridDim.x : blockIdx.x;
    const int64_t end = call.in_a_row ? groups * (blockIdx.x + 1) / gridDim.x : groups;
    const int step = call.in_a_row ? 1 : gridDim.x;
    const uint32_t inputs = side_by_side(call);
    return { group_number::of(uint32_t(start), inputs, uint32_t(batches)),
             group_number::of(uint32_t(step), inputs, uint32_t(batches)),
             int((end - start + step - 1) / step),
             0,
             -1,
             0 };
}

//! The next step.
template <class Shape, class In, store Stored>
__device__ __forceinline__ void
plan(fused_step& step, fused_schedule& schedule, const fused_call& call)
{
    step.wanted = 0;
    if (schedule.groups == 0)
        return;
    const int together = Shape::spectra * call.rounds;
    const int input = schedule.group.port * side_by_side(call) + schedule.group.input;
    const int port = input / call.inputs_per_port;
    const int within = input % call.inputs_per_port;
    const int64_t first =
        int64_t(schedule.group.batch) * together + schedule.round * Shape::spectra;
    const int64_t left = call.spectra - first;
    const auto source = call.source_of(port);
    const int64_t shift = call.shifts ? call.shifts[input] : 0;
    constexpr int sample_bits = In::bits * (In::complex ? 2 : 1);
    sample_view view{ source.samples, -shift, call.inputs_per_port, within };
    if (source.samples && call.rows.samples)
        view = { call.rows.samples + input * call.rows.bytes, 0, 1, 0 };
    const char* samples =
        static_cast<const char*>(view.numbers) + (view.first * sample_bits >> 3);
    const bool in_row =
        view.numbers && view.inputs_per_port == 1 && view.first * sample_bits % 8 == 0;
    const size_t element = call.eight_bit ? sizeof(uint16_t) : sizeof(float2);
    step.aligned = reinterpret_cast<uintptr_t>(samples) % In::alignment == 0;
    step.samples = in_row ? samples + first * line_step<Shape, In> : nullptr;
    step.view = view;
    step.counted = int64_t(source.counted);
    step.first = first;
    step.wanted = int(min(int64_t(Shape::spectra), left));
    step.input = input;
    step.other_input = input != schedule.input;
    step.known =
        step.other_input || first >= schedule.read ? 0 : int(schedule.read - first);
    step.round = schedule.round;
    step.last = schedule.round == call.rounds - 1 || left <= Shape::spectra;
    if (Stored == store::blocks) {
        const int64_t row = int64_t(input) * call.times + call.first_time + first;
        step.spectra = static_cast<char*>(call.block) + row * element;
        step.spacing = element;
    } else {
        step.spectra = static_cast<char*>(call.spectra_of(port)) +
                       (first * call.inputs_per_port + within) * (Shape::N * element);
        step.spacing = call.inputs_per_port * (Shape::N * element);
    }
    step.gains = reinterpret_cast<const float4*>(call.gains + int64_t(input) * Shape::N);
    schedule.input = input;
    schedule.read = first + step.wanted + call.taps - 1;
    schedule.round++;
    if (step.last) {
        const auto batches = uint32_t((call.spectra + together - 1) / together);
        schedule.round = 0;
        schedule.groups--;
        schedule.group.add(schedule.stride, side_by_side(call), batches);
    }
}

//! Whether channels are to be in reverse.
template <class In>
__device__ __forceinline__ bool mirrored(const fused_call& call)
{
    return !In::complex && call.inverted;
}

//! The spectra of a step.
template <class Shape, class In, store Stored>
__device__ __forceinline__ void make_spectra(float2* lines,
                                             float4* gains,
                                             int number_of_step,
                                             const fused_step& step,
                                             const fused_step& next,
                                             const line_guard& guard,
                                             const fused_call& call)
{
    constexpr bool by_lines = Stored == store::spectra && !Shape::direct;
    auto at = along_line<Shape>();
    filter_lines<Shape, In>(lines, step, number_of_step, guard, call);
    __syncthreads();
    if (step.other_input)
        load_gains<Shape>(gains, step); // nobody uses those of the one before
    fetch_ahead<Shape, In>(next, call.taps);
    const auto read = [&] {
        if constexpr (!by_lines)
            guard.read();
    };
    float2 v[Shape::points];
    if constexpr (In::complex) {
        transform_line<Shape, Stored>(v, lines, at, call.twiddles, read);
    } else {
        transform_line<Shape, Stored>(v, lines, at, call.twiddles, [] {});
        part_real<Shape, Stored>(v, lines, at, call.twiddles, read);
    }
    if (Stored == store::spectra && step.other_input) {
        wait_async<0>(); // gains
        __syncthreads();
    }
    finish_line<Shape, Stored>(v, lines, gains, at, mirrored<In>(call), step, call);
    if constexpr (by_lines) {
        store_own_line<Shape>(lines, at.number, at.lane, step, call.eight_bit);
        guard.read();
    }
}

template <class Shape, class In, store Stored>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    fused(const __grid_constant__ fused_call call)
{
    extern __shared__ float2 lines[];
    auto* gains = reinterpret_cast<float4*>(lines + Shape::line_bytes / sizeof(float2));
    __shared__ uint64_t all_read;
    __shared__ fused_schedule schedule;
    // one in use, one that slower warps may still use, one for the next
    __shared__ fused_step steps[3];
    const line_guard guard{ &all_read };
    if (threadIdx.x == 0) {
        guard.start(Shape::threads);
        schedule = make_schedule<Shape>(call);
        plan<Shape, In, Stored>(steps[0], schedule, call);
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 0; steps[i % 3].wanted > 0; i++) {
        const auto& step = steps[i % 3];
        auto& next = steps[(i + 1) % 3];
        // each warp in turn
        if (threadIdx.x == i % (Shape::threads / 32) * 32)
            plan<Shape, In, Stored>(next, schedule, call);
        if (step.view.numbers) {
            make_spectra<Shape, In, Stored>(lines, gains, i, step, next, guard, call);
        } else {
            __syncthreads(); // the next step is planned
            guard.wait(i);   // at once; synccheck wants it between two arrivals
            if (call.eight_bit)
                store_zeros<Shape, Stored, uint16_t>(step, call);
            else
                store_zeros<Shape, Stored, float2>(step, call);
            guard.read();
        }
    }
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PFB_FUSED_CUH */
