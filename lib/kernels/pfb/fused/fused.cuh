/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_CUH

#include "kernels/gpu/async_copy.cuh"
#include "kernels/gpu/phasor.cuh"
#include "kernels/gpu/warp.cuh"
#include "kernels/pfb/fft_registers.cuh"
#include "kernels/pfb/fused/filter.cuh"
#include "kernels/pfb/fused/results.cuh"
#include "kernels/pfb/fused/rows.cuh"
#include "kernels/pfb/fused/shape.cuh"

namespace gr::aperture::kernels::cuda {

/*!
 * Copies the gains of an input into shared memory, in the order of the threads that use
 * them. Where thread blocks go from input to input, each step may need other gains; they
 * are waited for before the last pass only.
 */
template <class Shape>
__device__ __forceinline__ void load_gains(float4* to, const fused_step& step)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < Shape::N / 2; i += Shape::threads)
        copy_async<16>(to + i, step.gains + i, true);
    commit_async();
}

// ---------------------------------------------------------------------------------------
// The transform. In a pass of radix R, butterfly b has the points b + r N/R. A thread has
// 32/R of them: those from its place in the line on, in steps of N/32.

//! Loads points from shared memory. Done is the product of the radices so far.
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

//! Executes the first pass.
template <class Shape>
__device__ __forceinline__ void transform_points(float2 (&v)[Shape::points])
{
#pragma unroll
    for (int q = 0; q < Shape::points / Shape::R1; q++)
        transform<Shape::R1>(v + q * Shape::R1);
}

//! Executes a later pass.
//! \param twiddles [R/4][Done][2]: what transform_by() needs
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
            // One address and constants to add to it: there are no registers for as many
            // addresses as points.
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

/*!
 * Loads a line from shared memory into registers and transforms it.
 * \param at the place whose points the thread has in the end
 * \param read is called when the memory was read for the last time
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
    if constexpr (Stored == store::frames) {
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

/*!
 * Makes the spectrum of 2N real samples from that of N complex ones: y[k] = (z[k] + conj
 * z[N-k]) / 2 + w_k (z[k] - conj z[N-k]), w_k = -i/2 exp(-pi i k/N).
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
    // Each thread writes where its points of the last pass were, which no other thread
    // has read.
    float2* own = line + place<Shape>(at.lane);
#pragma unroll
    for (int e = 0; e < Shape::points; e++)
        own[place<Shape>(e * threads)] = v[point_of<Shape>(e)];
    if constexpr (Stored == store::frames)
        __syncthreads();
    else
        line_sync<Shape>(at.number);
    const float2* others = line + place<Shape>(threads - at.lane);
    const float2* w = twiddles + Shape::twiddles_real + at.lane;
#pragma unroll
    for (int e = 0; e < Shape::points; e++) {
        const float2 z = v[point_of<Shape>(e)];
        const int k = e * threads; // the lane is to be added
        // Lane 0 has its mirrored points in the next places.
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

//! Stores zeros for an input of a port whose samples were lost.
template <class Shape, store Stored, class voltage>
__device__ __noinline__ void store_zeros(const fused_step& of, const fused_call& call)
{
    constexpr bool frames = Stored == store::frames;
    const int channels = frames ? call.selected : Shape::N;
    const int64_t step = frames ? int64_t(call.inputs) * call.times : 1; // channel pitch
    for (int i = threadIdx.x; i < channels * of.wanted; i += Shape::threads) {
        const int number = frames ? i % of.wanted : i / channels;
        const int channel = frames ? i / of.wanted : i % channels;
        reinterpret_cast<voltage*>(of.spectra + number * of.spacing)[channel * step] = {};
    }
}

//! Multiplies the points of a line by the phases of delays.
//! \param start, step channel of the thread's first point, and from there to each next
//! one
template <class Shape>
__device__ __forceinline__ void rotate_phases(
    float2 (&v)[Shape::points], const phase_slope& p, double m, int start, int step)
{
    const double slope = p.slope0 + m * p.slope_rate;
    const double begin = p.start0 + m * p.start_rate;
    const float2 rotation = phasor(step * slope);
    float2 factor;
#pragma unroll
    for (int e = 0; e < Shape::points; e++) {
        factor = e % 8 == 0 ? phasor(begin + (start + e * step) * slope)
                            : times(factor, rotation);
        float2& y = v[point_of<Shape>(e)];
        y = times(y, factor);
    }
}

//! Copies elements of a line as they are.
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
 * Epilogue: multiplies a line in registers by gains, converts it and stores it into its
 * spectrum, by way of shared memory if that has narrow lines.
 * \return how many elements did not fit
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

/*!
 * Stores a line in registers into its spectrum, or into rows of a frame, with the phases
 * of delays and gains.
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
    // With real samples of a mirrored band, the channels are in reverse order, and their
    // phasors are conjugates.
    const int start = mirrored ? Shape::N - 1 - at.lane : at.lane;
    const int step = mirrored ? -Shape::line_threads : Shape::line_threads;
    if (mirrored) {
#pragma unroll
        for (int e = 0; e < Shape::points; e++)
            v[e].y = -v[e].y;
    }
    if (call.slopes)
        rotate_phases<Shape>(v,
                             call.slopes[of.input],
                             double(call.number + of.first + at.number),
                             start,
                             step);
    gains += at.lane;
    int found;
    if constexpr (Stored == store::frames) {
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

//! Stores a line of shared memory into its spectrum.
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

//! The place of a group in [port][batch of spectra][input of the port], found without
//! divisions in each step.
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

//! Returns how many inputs of a port are worked on side by side: those whose samples lie
//! in the same memory.
__device__ __forceinline__ uint32_t side_by_side(const fused_call& call)
{
    return call.rows.samples ? 1 : call.inputs_per_port;
}

//! The place of a thread block in its work; one thread at a time keeps it up to date.
struct fused_schedule {
    group_number group, stride;
    int groups, round; // left; of the group
    int input;         // input of the step before; -1: there was none
    int64_t read;      // lines of its samples
};

template <class Shape>
__device__ __forceinline__ fused_schedule make_schedule(const fused_call& call)
{
    const int together = Shape::spectra * call.rounds;
    const int64_t batches = (call.spectra + together - 1) / together;
    const int64_t groups = batches * call.inputs;
    // If a thread block has successive groups, it finds most samples that spectra share
    // in its cache; if thread blocks take groups in turn, all of them together fill rows
    // of many channels before these leave the cache.
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

//! Plans the next step.
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
    if (Stored == store::frames) {
        const int64_t row = int64_t(input) * call.times + call.first_time + first;
        step.spectra = static_cast<char*>(call.frame) + row * element;
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

//! Returns whether channels are to be in reverse order.
template <class In>
__device__ __forceinline__ bool mirrored(const fused_call& call)
{
    return !In::complex && call.inverted;
}

//! Makes the spectra of a step.
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
    // Three steps: one in use, one that slower warps may still use, one for the next.
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
        // The warps plan one after the other.
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

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_CUH */
