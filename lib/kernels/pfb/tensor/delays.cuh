/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_DELAYS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_DELAYS_CUH

#include <cstdint>
#include <utility>

namespace gr::aperture::kernels::cuda::tensor {

/*
 * Delays of the filter bank on tensor cores. By whole samples lines are read from another
 * sample on. What is left is a factor exp(2 pi i (start(m) + k slope(m))) of channel k in
 * spectrum m, worked out from these two numbers alone, so that it is the same wherever a
 * call begins.
 */

/*!
 * phase_slope of an input, in cycles of 2^-64; whole cycles fall away. So start(m) and
 * slope(m) are exact sums, however large m.
 */
struct phase_cycles {
    uint64_t start, start_rate, slope, slope_rate;

    //! Returns the start for spectrum m, in cycles of 2^-32.
    __device__ __forceinline__ uint32_t start_of(uint64_t m) const
    {
        return uint32_t((start + m * start_rate) >> 32);
    }
    //! Returns the slope for spectrum m in the same unit, rounded to the nearest.
    __device__ __forceinline__ uint32_t slope_of(uint64_t m) const
    {
        return uint32_t((slope + m * slope_rate + (uint64_t(1) << 31)) >> 32);
    }
};

__device__ __forceinline__ phase_cycles load_cycles(const phase_cycles* from)
{
    phase_cycles p;
    asm volatile("ld.global.nc.v2.u64 {%0, %1}, [%2];"
                 : "=l"(p.start), "=l"(p.start_rate)
                 : "l"(&from->start)
                 : "memory");
    asm volatile("ld.global.nc.v2.u64 {%0, %1}, [%2];"
                 : "=l"(p.slope), "=l"(p.slope_rate)
                 : "l"(&from->slope)
                 : "memory");
    return p;
}

//! The arguments that calls with delays have besides.
struct delay_call {
    const int64_t* shifts;      // [input], samples
    const phase_cycles* cycles; // [input]
    uint64_t number;            // number of the first spectrum, since the delays were set
    int lead; // spectra before the first one, back to where a slot begins in any call
};

//! Returns exp(2 pi i cycles / 2^32), to 5e-7.
__device__ __forceinline__ float2 phasor_of(uint32_t cycles)
{
    const float angle = __fmul_rn(float(int32_t(cycles)), 0x1.921fb6p-30f);
    float2 p;
    asm("cos.approx.ftz.f32 %0, %1;" : "=f"(p.x) : "f"(angle));
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(p.y) : "f"(angle));
    return p;
}

//! Returns 2 cos a as 2 - 4 sin^2 a/2, because near 2 all digits are wanted.
__device__ __forceinline__ float twice_cosine_of(uint32_t cycles)
{
    float sine;
    asm("sin.approx.ftz.f32 %0, %1;"
        : "=f"(sine)
        : "f"(__fmul_rn(float(int32_t(cycles)), 0x1.921fb6p-31f)));
    return __fmaf_rn(__fmul_rn(-4, sine), sine, 2);
}

__device__ __forceinline__ float reflected(float v, float about, float twice_cosine)
{
    return __fmaf_rn(twice_cosine, about, -v);
}
__device__ __forceinline__ float2 reflected(float2 v, float2 about, float twice_cosine)
{
    return { reflected(v.x, about.x, twice_cosine),
             reflected(v.y, about.y, twice_cosine) };
}

//! Phasors, or cosines, equally far apart, one after the other: the next but one is 2
//! cos(step) times the next one less this one.
template <class T>
struct phase_series {
    T now, next;
    float twice_cosine;

    __device__ __forceinline__ T take()
    {
        const T v = now;
        now = next;
        next = reflected(v, now, twice_cosine);
        return v;
    }
};

/*!
 * Phasors of a slot: those of its first two spectra from a channel on, and 2 cos of what
 * they grow by from spectrum to spectrum. The other spectra follow from these. So a slot
 * must begin where it would in any other call.
 */
struct spectra_phasors {
    float2 first, second;
    float twice_cosine;
};
struct slot_series {
    phase_series<float2> first, second;
    phase_series<float> twice_cosines;

    __device__ __forceinline__ spectra_phasors take()
    {
        return { first.take(), second.take(), twice_cosines.take() };
    }
};

//! Channels that a thread has, equally far apart.
struct channels_of_thread {
    int thread, first, step;
};

//! Phases of a slot that the consumers keep in shared memory, from a time when they wait
//! until they are wanted.
template <int Threads>
struct slot_phases {
    float4 phasors[2][Threads];  // phasors of two spectra; two of a series
    float4 common[Threads / 32]; // 2 cos from phasor to phasor of both; rates

    __device__ __forceinline__ slot_series series(channels_of_thread own) const
    {
        const float4 a = phasors[0][own.thread], b = phasors[1][own.thread];
        const float4 c = common[own.thread / 32];
        const uint32_t slope_rate = __float_as_uint(c.w);
        const uint32_t rate = __float_as_uint(c.z) + uint32_t(own.first) * slope_rate;
        const uint32_t rate_step = uint32_t(own.step) * slope_rate;
        return { { { a.x, a.y }, { a.z, a.w }, c.x },
                 { { b.x, b.y }, { b.z, b.w }, c.y },
                 { twice_cosine_of(rate),
                   twice_cosine_of(rate + rate_step),
                   twice_cosine_of(rate_step) } };
    }

    //! Keeps the phases of a slot. Called by a warp: even lanes work the first spectrum's
    //! start and slope out, odd ones the second's.
    //! \param m number of the slot's first spectrum
    __device__ __forceinline__ void
    keep(const phase_cycles* of, uint64_t m, channels_of_thread own)
    {
        const auto [thread, channel, step] = own;
        m += thread % 2;
        const auto p = load_cycles(of);
        const uint32_t own_start = p.start_of(m), own_slope = p.slope_of(m);
        float twice_cosines[2];
        __syncwarp(); // all have read those of the slot before
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const uint32_t start = __shfl_sync(~0u, own_start, i, 2);
            const uint32_t slope = __shfl_sync(~0u, own_slope, i, 2);
            const uint32_t at = start + uint32_t(channel) * slope;
            const float2 a = phasor_of(at), b = phasor_of(at + uint32_t(step) * slope);
            phasors[i][thread] = { a.x, a.y, b.x, b.y };
            twice_cosines[i] = twice_cosine_of(uint32_t(step) * slope);
        }
        if (thread % 32 == 0)
            common[thread / 32] = {
                twice_cosines[0],
                twice_cosines[1],
                __uint_as_float(uint32_t(p.start_rate >> 32)),
                __uint_as_float(phase_cycles{ 0, 0, p.slope_rate, 0 }.slope_of(0))
            };
    }
};

//! The elements e = t, t + 4, ... of a thread, in several segments.
template <class Arrangement>
struct numbers_of_thread {
    int thread, c, t;
    int segment;   // spectra from one segment to the next
    bool inverted; // real samples
};

/*!
 * Phases of a slot with several segments, which are apart in time. Phasors of one do not
 * follow from those of another, or they would depend on where segments begin: each is
 * worked out when it is wanted, from what the warp keeps. So are those of real samples,
 * whose channels are not equally far apart.
 */
template <class Arrangement, int Warps>
class segment_phases
{
    using numbers = numbers_of_thread<Arrangement>;
    // Cycles of each segment: start and slope of the slot's first two spectra.
    uint4 d_cycles[Warps][Arrangement::segments];
    uint2 d_rates[Warps]; // rates of start and slope

public:
    //! \param m number of the first segment's slot's first spectrum
    __device__ __forceinline__ void
    keep(const phase_cycles* of, uint64_t m, const numbers& own)
    {
        const int lane = own.thread % 32, warp = own.thread / 32;
        const auto p = load_cycles(of);
        m += uint64_t(lane) * own.segment;
        const uint4 cycles{
            p.start_of(m), p.slope_of(m), p.start_of(m + 1), p.slope_of(m + 1)
        };
        __syncwarp(); // all have read those of the slot before
        if (lane < Arrangement::segments)
            d_cycles[warp][lane] = cycles;
        if (lane == 0)
            d_rates[warp] = { uint32_t(p.start_rate >> 32),
                              phase_cycles{ 0, 0, p.slope_rate, 0 }.slope_of(0) };
    }

    //! Returns cycles and channel of a number.
    __device__ __forceinline__ std::pair<uint4, uint32_t> of(const numbers& own,
                                                             int e) const
    {
        return { d_cycles[own.thread / 32][Arrangement::segment_of(e)],
                 uint32_t(Arrangement::channel_of(own.c, e, own.inverted)) };
    }
    __device__ __forceinline__ spectra_phasors spectra_of(const numbers& own, int e) const
    {
        const auto [cycles, channel] = of(own, e);
        const uint2 rates = d_rates[own.thread / 32];
        return { phasor_of(cycles.x + channel * cycles.y),
                 phasor_of(cycles.z + channel * cycles.w),
                 twice_cosine_of(rates.x + channel * rates.y) };
    }

    //! The phasors of the numbers of a thread, one after the other.
    class spectra_series
    {
    public:
        __device__ __forceinline__ spectra_series(const segment_phases& of,
                                                  const numbers& own)
            : d_of(of), d_own(own)
        {
        }
        __device__ __forceinline__ spectra_phasors take()
        {
            return d_of.spectra_of(d_own, 4 * d_next++ + d_own.t);
        }

    private:
        const segment_phases& d_of;
        const numbers& d_own;
        int d_next = 0;
    };
    __device__ __forceinline__ spectra_series series(const numbers& own) const
    {
        return { *this, own };
    }
};

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_DELAYS_CUH */
