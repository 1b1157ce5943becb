/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_DELAYS_CUH
#define INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_DELAYS_CUH

#include <cstdint>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {
namespace tensor {

/*
 * Delays of the filter bank on tensor cores. By whole samples lines are read from another
 * sample on. What is left is a factor exp(2 pi i (start(m) + k slope(m))) of channel k in
 * spectrum m, worked out from these two numbers alone, so that it is the same wherever a
 * call begins.
 */

/*!
 * phase_slope of an input, in turns of 2^-64; whole turns fall away. So start(m) and
 * slope(m) are exact sums, however large m.
 */
struct phase_turns {
    uint64_t start, start_rate, slope, slope_rate;
};

//! What a call with delays is told besides.
struct delay_call {
    const int64_t* shifts;    // [input], samples
    const phase_turns* turns; // [input]
    uint64_t number;          // of the first spectrum, since the delays were set
};

//! exp(2 pi i turns / 2^32), to 5e-7
__device__ __forceinline__ float2 phasor_of(uint32_t turns)
{
    const float angle = __fmul_rn(float(int32_t(turns)), 0x1.921fb6p-30f);
    float2 p;
    asm("cos.approx.ftz.f32 %0, %1;" : "=f"(p.x) : "f"(angle));
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(p.y) : "f"(angle));
    return p;
}

//! A spectrum's factors of channels that are equally far apart, one after the other:
//! the next but one is 2 cos(step) times the next one less this one.
struct phase_series {
    float2 now, next;
    float twice_cosine;

    __device__ __forceinline__ float2 take()
    {
        const float2 v = now;
        now = next;
        next = { __fmaf_rn(twice_cosine, now.x, -v.x),
                 __fmaf_rn(twice_cosine, now.y, -v.y) };
        return v;
    }
};

/*!
 * Of the spectra of a slot: lane l of a warp knows spectrum l % 4, and the others ask it.
 * \tparam Step channels from one factor of a series to the next
 */
template <int Step>
class slot_phases
{
public:
    //! \param m number of the slot's first spectrum
    __device__ __forceinline__ slot_phases(const phase_turns* of, uint64_t m)
    {
        m += threadIdx.x % 4;
        phase_turns p;
        asm volatile("ld.global.nc.v2.u64 {%0, %1}, [%2];"
                     : "=l"(p.start), "=l"(p.start_rate)
                     : "l"(&of->start)
                     : "memory");
        asm volatile("ld.global.nc.v2.u64 {%0, %1}, [%2];"
                     : "=l"(p.slope), "=l"(p.slope_rate)
                     : "l"(&of->slope)
                     : "memory");
        constexpr uint64_t half = uint64_t(1) << 31; // to the nearest
        d_start = uint32_t((p.start + m * p.start_rate) >> 32);
        d_slope = uint32_t((p.slope + m * p.slope_rate + half) >> 32);
        // 2 cos a = 2 - 4 sin^2 a/2, for near 2 it wants all digits
        const float half_step =
            __fmul_rn(float(int32_t(d_slope * Step)), 0x1.921fb6p-31f);
        float sine;
        asm("sin.approx.ftz.f32 %0, %1;" : "=f"(sine) : "f"(half_step));
        d_twice_cosine = __fmaf_rn(__fmul_rn(-4, sine), sine, 2);
    }
    //! Of a spectrum of the slot, from a channel on.
    __device__ __forceinline__ phase_series series(int spectrum, int channel) const
    {
        const uint32_t slope = __shfl_sync(~0u, d_slope, spectrum, 4);
        const uint32_t at =
            __shfl_sync(~0u, d_start, spectrum, 4) + uint32_t(channel) * slope;
        return { phasor_of(at),
                 phasor_of(at + Step * slope),
                 __shfl_sync(~0u, d_twice_cosine, spectrum, 4) };
    }

private:
    uint32_t d_start, d_slope;
    float d_twice_cosine;
};

} // namespace tensor
} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_PFB_TENSOR_DELAYS_CUH */
