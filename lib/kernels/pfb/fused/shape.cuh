/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_SHAPE_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_SHAPE_CUH

#include "kernels/gpu/bulk_copy.cuh"
#include "kernels/pfb/fused/fused.h"

namespace gr::aperture::kernels::cuda {

/*!
 * A thread block makes Spectra spectra of one input at a time. It filters them, a
 * column of samples of several spectra a thread, into lines of N complex numbers in
 * shared memory; transforms each line in passes of radix R1, R2 (and R3), each thread 32
 * points in registers; and stores.
 *
 * For frames [channel][input][time], threads change places before the last pass: a warp
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
    static constexpr int line_threads = N / points; // threads of a line
    static constexpr int threads = spectra * line_threads;
    static constexpr int blocks = 512 / threads; // thread blocks of a multiprocessor
    // Elements from one line to the next, so that two points or more of eight lines, or
    // of all, lie in different banks.
    static constexpr int pitch = N + 2 * N / R1 + (spectra < 8 ? 16 / spectra : 2);
    static constexpr int line_bytes = pitch * spectra * int(sizeof(float2));
    static constexpr int gain_bytes = N * int(sizeof(float2)); // behind the lines
    static constexpr int filtered_together = spectra < 8 ? spectra : 8;
    // Successive threads write whole sectors of a spectrum.
    static constexpr bool direct = line_threads >= 16;
    // The places where the twiddles of the second and of the third pass begin, and those
    // that separate real spectra.
    static constexpr int twiddles_2 = 0;
    static constexpr int twiddles_3 = R1 * R2 / 2;
    static constexpr int twiddles_real = twiddles_3 + (R3 > 1 ? N / 2 : 0);
};

template <class Shape>
__device__ __forceinline__ int place(int point)
{
    return point + 2 * (point / Shape::R1);
}

//! Radix of the last pass: v[q R + r] is channel lane + (q + r 32/R) N/32.
template <class Shape>
inline constexpr int last_radix = Shape::R3 > 1 ? Shape::R3 : Shape::R2;

//! Returns the index into v of channel lane + e N/32.
template <class Shape>
__device__ __forceinline__ constexpr int point_of(int e)
{
    constexpr int R = last_radix<Shape>, others = Shape::points / R;
    return e % others * R + e / others;
}

//! Synchronises all threads that work on a line.
template <class Shape>
__device__ __forceinline__ void line_sync(int line)
{
    if constexpr (Shape::line_threads <= 32)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(1 + line), "n"(Shape::line_threads)
                     : "memory");
}

//! The index of a line, and the place of a thread among those that work on it.
struct place_in_line {
    int number, lane;
};

/*!
 * Returns the place of a thread when lines are transformed: the threads of a line follow
 * each other. Where half a warp works on several lines, these are so far apart that it
 * meets no bank twice.
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

//! Returns the place of a thread when frames are stored: the threads with the same place
//! in up to 16 lines are in one warp.
template <class Shape>
__device__ __forceinline__ place_in_line across_lines()
{
    const int thread = threadIdx.x;
    if constexpr (Shape::spectra < 16) {
        return { thread % Shape::spectra, thread / Shape::spectra };
    } else {
        // Half a warp has eight lines and two places.
        constexpr int groups = Shape::spectra / 16;
        const int warp = thread / 32;
        return { warp % groups * 16 + thread / 16 % 2 * 8 + thread % 8,
                 warp / groups * 2 + thread / 8 % 2 };
    }
}

/*!
 * Keeps new lines out of shared memory until every thread has read the old ones. From
 * Hopper on a thread need not wait for what the others do with what they have read.
 */
struct line_guard {
    uint64_t* barrier; // barrier of all threads

#if __CUDA_ARCH__ >= 900
    __device__ void start(int threads) const
    {
        init_barrier(barrier, threads);
        fence_barriers();
    }
    __device__ void wait(int step) const { wait_for(barrier, step % 2 ^ 1); }
    //! Each thread arrives for itself: racecheck does not understand one that arrives for
    //! its warp.
    __device__ void read() const { arrive(barrier); }
#else
    __device__ void start(int) const {}
    __device__ void wait(int) const { __syncthreads(); }
    __device__ void read() const {}
#endif
};

//! The samples of an input, wherever they lie. Components are counted from the first one
//! that is used.
struct sample_view {
    const void* numbers; // components of the port
    int64_t first;       // sample of the port
    int inputs_per_port, input;

    //! Returns four components from i on.
    //! \param lowest gets the bits of those that have the lowest value
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

/*!
 * A step of a thread block: the spectra of one input that it makes at a time. What a step
 * is about lies in shared memory, written once for all threads.
 */
struct fused_step {
    const char* samples; // samples of the first line, if they lie in a row; else nullptr
    bool aligned;        // true if quads can be read
    sample_view view;    // view of all samples; without numbers if they were lost
    int64_t counted;     // samples that an earlier call has counted
    int64_t first;       // spectrum
    int wanted;          // spectra from there on, not more than there are; 0: the end
    int input;
    bool other_input; // true if the step before had another one
    int known;        // lines of samples that the step before has read, too
    int round;        // number of the steps whose results are transposed together
    bool last;        // true for the last of them
    char* spectra;    // place of results; with a frame: that of its channel 0
    int64_t spacing;  // distance of these, in bytes
    const float4* gains;
};

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_SHAPE_CUH */
