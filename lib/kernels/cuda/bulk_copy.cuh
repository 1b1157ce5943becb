/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_CUDA_BULK_COPY_CUH
#define INCLUDED_APERTURE_KERNELS_CUDA_BULK_COPY_CUH

#include "kernels/cuda/memory.h"
#include <cuda.h>
#include <cstdint>

namespace gr {
namespace aperture {
namespace kernels {
namespace cuda {

//! Bytes of a row of a box: what the swizzle of shared memory works on.
constexpr int box_row = 128;

//! Shape of the voltages [block][channel][input][byte] that boxes are copied from.
struct voltage_shape {
    int times, inputs, channels, blocks;
    int sample = 2; //!< bytes of a voltage
};

/*!
 * How the copy engine finds boxes [channel][input][128 bytes]. What lies outside the
 * voltages arrives as zeros. In shared memory the 16-byte piece p of row r is found at
 * place p ^ (r % 8) of the row, so that a warp reads a column of pieces without
 * conflicts.
 * \param row bytes of a box's rows: box_row, or half of it, where piece p of row r is
 * found at p ^ (r / 2 % 4)
 */
CUtensorMap make_tensor_map(const void* voltages,
                            const voltage_shape& shape,
                            int box_inputs,
                            int box_channels,
                            int row = box_row);

__device__ __forceinline__ uint32_t shared_address(const void* p)
{
    return uint32_t(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void init_barrier(uint64_t* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals));
}

//! Makes initialised barriers known to the copy engine.
__device__ __forceinline__ void fence_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

//! Makes what threads wrote to shared memory known to copy engine and tensor cores.
__device__ __forceinline__ void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(uint64_t* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
}

//! Arrives, and lets the barrier wait for `bytes` of copies.
__device__ __forceinline__ void arrive_expecting(uint64_t* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

//! Until phase `parity` of the barrier is over.
__device__ __forceinline__ void wait_for(uint64_t* barrier, int parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

//! One box from byte, input, channel, block on; the barrier counts its bytes.
__device__ __forceinline__ void copy_box(uint32_t to, // in shared memory
                                         const CUtensorMap* map,
                                         uint64_t* barrier,
                                         int byte,
                                         int input,
                                         int channel,
                                         int block)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
        "l"(map),
        "r"(shared_address(barrier)),
        "r"(byte),
        "r"(input),
        "r"(channel),
        "r"(block)
        : "memory");
}

//! `bytes` that lie one after the other, a multiple of 16, as the addresses are.
__device__ __forceinline__ void
copy_bytes(uint32_t to, const void* from, uint64_t* barrier, int bytes)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from),
                 "r"(bytes),
                 "r"(shared_address(barrier))
                 : "memory");
}

} // namespace cuda
} // namespace kernels
} // namespace aperture
} // namespace gr

#endif /* INCLUDED_APERTURE_KERNELS_CUDA_BULK_COPY_CUH */
