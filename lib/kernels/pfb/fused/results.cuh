/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_RESULTS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_RESULTS_CUH

#include "kernels/pfb/fft_registers.cuh"
#include "kernels/pfb/fused/shape.cuh"

namespace gr::aperture::kernels::cuda {

//! Returns the larger of two values, or NaN if one is NaN.
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

//! Returns real and imaginary part rounded half to even, as bytes: -128 to 127, NaN as 0.
//! \param above goes into the higher half of the word
__device__ __forceinline__ uint32_t rounded(float2 y, uint32_t above = 0)
{
    uint32_t both;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;"
        : "=r"(both)
        : "r"(__float2int_rn(y.y)), "r"(__float2int_rn(y.x)), "r"(above));
    return both;
}

//! The largest value that is not clamped: the next one above is rounded to 128.
constexpr float most_fitting = 0x1.fdfffep6f;

//! Returns the value clamped to what is rounded to within +-127.
__device__ __forceinline__ float2 fitting(float2 y)
{
    const auto clamped = [](float v) {
        return isnan(v) ? 0.f : fminf(fmaxf(v, -127.f), 127.f);
    };
    return { clamped(y.x), clamped(y.y) };
}

/*!
 * Calls put(e, y, z) with the results e and e + 1 of a thread, multiplied by their gains,
 * for all even e.
 * \param gains of the points of the thread, two in a row each
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
        // The question whether they are wanted, as they always are, is asked for each
        // eight points: else the compiler loads all gains first, and has no registers
        // left.
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

//! Returns whether a value is clamped because it is too large, or is NaN.
__device__ __forceinline__ bool is_clamped(float2 y)
{
    return !(largest(y) <= most_fitting);
}

/*!
 * Amplifies results that become bytes: they are put once more, clamped, if some do not
 * fit.
 * \return how many do not
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

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_RESULTS_CUH */
