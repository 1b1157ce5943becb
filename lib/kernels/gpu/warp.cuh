/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_WARP_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_WARP_CUH

#include <cstdint>

namespace gr::aperture::kernels::cuda {

//! Sums over all threads of a warp; all of them get the sum.
template <class number>
__device__ __forceinline__ number sum_of_warp(number value)
{
    for (int other = 16; other > 0; other /= 2)
        value += __shfl_xor_sync(~0u, value, other);
    return value;
}

//! Adds the counts of all threads of a warp, with one access to memory, if any.
__device__ __forceinline__ void add_of_warp(unsigned long long* total, int found)
{
    if (!__any_sync(~0u, found))
        return;
    found = sum_of_warp(found);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, (unsigned long long)(found));
}

/*!
 * Returns a number that is the same in all lanes of a warp. The compiler learns that it
 * is, and keeps its results in uniform registers, where the tensor cores' instructions
 * need them; and it keeps the number, instead of computing it each time.
 */
__device__ __forceinline__ int uniform(int value) { return __shfl_sync(~0u, value, 0); }
__device__ __forceinline__ uint32_t uniform(uint32_t value)
{
    return __shfl_sync(~0u, value, 0);
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_WARP_CUH */
