/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_WORDS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_WORDS_CUH

#include "kernels/gpu/bulk_copy.cuh"
#include <cstdint>

namespace gr::aperture::kernels::cuda::tensor {

// Loads and stores that the compiler leaves where they are written, neither earlier nor
// later.

__device__ __forceinline__ uint2 load_eight_bytes(uint32_t address)
{
    uint2 v;
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "r"(address)
                 : "memory");
    return v;
}

__device__ __forceinline__ uint32_t load_word(uint32_t address)
{
    uint32_t v;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}

__device__ __forceinline__ uint32_t load_short(uint32_t address)
{
    uint16_t v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(address) : "memory");
    return v;
}

__device__ __forceinline__ uint32_t load_byte(uint32_t address)
{
    uint32_t v;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}

//! Counts in shared memory from 0 up to a limit, and begins with 0 again.
//! \return the count before
__device__ __forceinline__ int count_around(unsigned* counter, int limit)
{
    unsigned before;
    asm volatile("atom.acq_rel.cta.shared::cta.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"(shared_address(counter)), "r"(limit - 1)
                 : "memory");
    return int(before);
}

//! Loads four floats from memory that nothing changes while the kernel runs.
__device__ __forceinline__ float4 load_numbers(const float4* from)
{
    float4 v;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}
//! Loads four floats from shared memory.
__device__ __forceinline__ float4 load_numbers(uint32_t from)
{
    const uint4 v = load_shared(from);
    return { __uint_as_float(v.x),
             __uint_as_float(v.y),
             __uint_as_float(v.z),
             __uint_as_float(v.w) };
}

__device__ __forceinline__ void store_word(uint32_t address, uint32_t word)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
__device__ __forceinline__ void store_short(uint32_t address, uint32_t word)
{
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(uint16_t(word))
                 : "memory");
}
__device__ __forceinline__ void store_words(uint32_t address, uint32_t a, uint32_t b)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b)
                 : "memory");
}

//! Returns a word of two numbers in half precision, x in the lower half.
__device__ __forceinline__ uint32_t halves(float x, float y)
{
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
    return word;
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_WORDS_CUH */
