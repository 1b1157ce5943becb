/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_QUANTISE_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_QUANTISE_CUH

#include <cstdint>

namespace gr::aperture::kernels::cuda {

//! Rounds half to even, within +-127, NaN as 0.
__device__ __forceinline__ int8_t quantise(float v, bool& outside)
{
    // beyond int32 there is no defined rounding: 128 overflows as well
    const int rounded = isnan(v) ? 0 : __float2int_rn(fminf(fmaxf(v, -128.f), 128.f));
    const int fitting = min(max(rounded, -127), 127);
    outside |= fitting != rounded || isnan(v);
    return int8_t(fitting);
}

//! Store a sample as the type of the output; the flag is set where it does not fit.
__device__ __forceinline__ void store_result(float2 y, float2& to, bool&) { to = y; }
__device__ __forceinline__ void store_result(float2 y, char2& to, bool& outside)
{
    to = make_char2(quantise(y.x, outside), quantise(y.y, outside));
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_QUANTISE_CUH */
