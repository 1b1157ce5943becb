/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_ASYNC_COPY_CUH
#define INCLUDED_APERTURE_KERNELS_GPU_ASYNC_COPY_CUH

#include <type_traits>

namespace gr::aperture::kernels::cuda {

/*!
 * Copies Bytes (8 or 16, both addresses a multiple of it) to shared memory without
 * waiting, or zeros where there is no source. Before Ampere it waits.
 * \tparam With_line brings the whole line of 128 bytes to the second-level cache, as
 * other threads are about to copy the rest
 */
template <int Bytes, bool With_line = false>
__device__ __forceinline__ void copy_async(unsigned to, const void* from, bool there)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (Bytes == 16 && With_line)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to),
                     "l"(from),
                     "r"(there ? 16 : 0)
                     : "memory");
    else if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                     "l"(from),
                     "r"(there ? 16 : 0)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to),
                     "l"(from),
                     "n"(Bytes),
                     "r"(there ? Bytes : 0)
                     : "memory");
#else
    using vector = std::conditional_t<Bytes == 16, uint4, uint2>;
    *static_cast<vector*>(__cvta_shared_to_generic(to)) =
        there ? __ldg(static_cast<const vector*>(from)) : vector{};
#endif
}

template <int Bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool there)
{
    copy_async<Bytes>(unsigned(__cvta_generic_to_shared(to)), from, there);
}

//! Ends a group of the thread's copies.
__device__ __forceinline__ void commit_async()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

//! Waits until all but the thread's last Pending groups have arrived.
template <int Pending>
__device__ __forceinline__ void wait_async()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_ASYNC_COPY_CUH */
