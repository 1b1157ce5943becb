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

//! What all threads of a warp have, together; all of them get it.
template <class number>
__device__ __forceinline__ number sum_of_warp(number value)
{
    for (int other = 16; other > 0; other /= 2)
        value += __shfl_xor_sync(~0u, value, other);
    return value;
}

//! Adds what all threads of a warp have found, with one access to memory, if any.
__device__ __forceinline__ void add_of_warp(unsigned long long* total, int found)
{
    if (!__any_sync(~0u, found))
        return;
    found = sum_of_warp(found);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, (unsigned long long)(found));
}

/*!
 * A number that is the same in all lanes of a warp. The compiler learns that it is, and
 * keeps what follows from it in uniform registers, where the tensor cores' instructions
 * want it; and it keeps the number, in place of finding it anew each time.
 */
__device__ __forceinline__ int uniform(int value) { return __shfl_sync(~0u, value, 0); }
__device__ __forceinline__ uint32_t uniform(uint32_t value)
{
    return __shfl_sync(~0u, value, 0);
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_WARP_CUH */
